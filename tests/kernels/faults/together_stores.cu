// expect 1: expected together, found that the stg at
/* Nothing waits for a store's result: whether stores are in flight together cannot be seen. */

// sass-all: stg=1 together
extern "C" __global__ void together_stores(int *out)
{
    out[threadIdx.x] = 1;
}
