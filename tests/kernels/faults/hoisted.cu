// expect 1: expected ldg=4, found 3
/* A bandwidth loop of four loads, one of which is the same in every turn: ptxas hoists it. */

// sass-loop: ldg=4 local=0
extern "C" __global__ void hoisted(const int *__restrict__ in, int *out, int n)
{
    int sum = 0;

#pragma unroll 1
    for (int i = 0; i < n; i++) {
        sum ^= __ldg(in + 96 * i + threadIdx.x);
        sum += __ldg(in + 96 * i + threadIdx.x + 32);
        sum ^= __ldg(in + 96 * i + threadIdx.x + 64);
        sum += __ldg(in + threadIdx.x);
    }
    out[threadIdx.x] = sum;
}
