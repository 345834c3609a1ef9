// expect 1: expected a straight line, found a loop at
/* One load and one store, but the load runs n times. */

// sass-all: ldg=1 stg=1 local=0
extern "C" __global__ void looped_all(const int *in, int *out, int n)
{
    int sum = 0;

#pragma unroll 1
    for (int i = 0; i < n; i++)
        sum += in[32 * i + threadIdx.x];
    out[threadIdx.x] = sum;
}
