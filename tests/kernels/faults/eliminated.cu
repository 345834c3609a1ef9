// expect 1: expected a loop with ldg>=1, found no loop with any
/* Nothing uses what is loaded, so nothing is loaded. */

// sass-loop: ldg local=0
extern "C" __global__ void eliminated(const int *__restrict__ in, int *out, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += in[32 * i + threadIdx.x];
    out[threadIdx.x] = n;
}
