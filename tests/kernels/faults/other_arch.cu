// expect 1 on 80 120: expected a contract for this architecture, found none
/* Two architectures have no contract, and the kernel is built for them all the same. */

// sass-all: stg32=1 local=0 arch=75,90a
extern "C" __global__ void other_arch(int *out)
{
    out[threadIdx.x] = 1;
}
