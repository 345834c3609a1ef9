// expect 1: expected together, found a wait for the ldg128
/* A copy, four loads a turn; but out may overlap in, so each is stored before the next is
 * issued. */

// sass-loop: ldg128=4 stg128=4 local=0 together
extern "C" __global__ void together_loop(const uint4 *in, uint4 *out, int n)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += 4 * blockDim.x)
#pragma unroll
        for (int k = 0; k < 4; k++)
            out[i + k * blockDim.x] = in[i + k * blockDim.x];
}
