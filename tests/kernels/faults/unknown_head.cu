// expect 2: unknown_head.cu:4: a comment that looks like a contract
/* Nor must a mistake in its head turn it into a comment. */

// sass-lop: ldg=8
extern "C" __global__ void unknown_head(int *out)
{
    out[threadIdx.x] = 1;
}
