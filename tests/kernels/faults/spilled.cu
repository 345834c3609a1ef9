// expect 1: expected local=0, found
/* 96 values that live through a loop in 32 registers: the rest goes to local memory. */

// sass: local=0
extern "C" __global__ void __launch_bounds__(1024, 2) spilled(float *data, int n)
{
    float v[96];

#pragma unroll
    for (int i = 0; i < 96; i++)
        v[i] = data[1024 * i + threadIdx.x];
    for (int k = 0; k < n; k++)
#pragma unroll
        for (int i = 0; i < 96; i++)
            v[i] = v[i] * v[(i + 7) % 96] + 1.0f;
#pragma unroll
    for (int i = 0; i < 96; i++)
        data[1024 * i + threadIdx.x] = v[i];
}
