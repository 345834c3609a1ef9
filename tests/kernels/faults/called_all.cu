// expect 1: expected a straight line, found CALL
/* What the called function does is not counted. */

__device__ __noinline__ int called(const int *in, int n)
{
    return n > 0 ? in[n] + called(in, n / 3) : 1;
}

// sass-all: stg=1
extern "C" __global__ void called_all(const int *in, int *out, int n)
{
    out[threadIdx.x] = called(in, n);
}
