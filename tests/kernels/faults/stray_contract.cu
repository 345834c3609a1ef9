// expect 2: stray_contract.cu:4: this contract stands above no kernel
/* A contract that has come loose from its kernel. */

// sass: local=0
__device__ int helper(int x)
{
    return x + 1;
}

// sass: none not a timed kernel
extern "C" __global__ void stray_contract(int *out)
{
    out[threadIdx.x] = helper(1);
}
