// expect 1: expected ldg128na=1, found 0
/* A load that passes by the L1, in the contract only. */

// sass-all: ldg128na=1 ldg128=1 stg128=1 local=0
extern "C" __global__ void cached(const uint4 *__restrict__ in, uint4 *out)
{
    out[threadIdx.x] = in[threadIdx.x];
}
