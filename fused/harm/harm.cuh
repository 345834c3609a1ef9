// The two operators of harm that are compiled twice: as they are, and under a cap on registers that
// makes them spill.
#ifndef FUSED_HARM_HARM_CUH
#define FUSED_HARM_HARM_CUH

#include "core/device/load.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/harm/args.h"

__device__ __forceinline__ float4 load4(const void *p)
{
    const uint4 x = load_once(p);
    return make_float4(__uint_as_float(x.x), __uint_as_float(x.y), __uint_as_float(x.z),
                       __uint_as_float(x.w));
}
__device__ __forceinline__ float4 max4(float4 a, float4 b)
{
    return make_float4(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w));
}
__device__ __forceinline__ float4 exp4(float4 x, float4 less)
{
    return make_float4(__expf(x.x - less.x), __expf(x.y - less.y), __expf(x.z - less.z),
                       __expf(x.w - less.w));
}
__device__ __forceinline__ float4 add4(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ float4 mul4(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ __forceinline__ float4 inverse4(float4 x)
{
    return make_float4(__fdividef(1, x.x), __fdividef(1, x.y), __fdividef(1, x.z),
                       __fdividef(1, x.w));
}

// Softmax across STREAMS arrays: of element e, exp(x[s][e]) over its sum over s. All of a thread's
// 4 x STREAMS values live from the load to the store.
template <int STREAMS> __device__ __forceinline__ void softmax_across(const harm_args &a)
{
    const uint64_t at = 4 * ((uint64_t)blockIdx.x * HARM_STREAM_THREADS + threadIdx.x);
    const float *in = (const float *)a.in + at;
    float *out = (float *)a.out + at;
    float4 x[STREAMS], sum = {}, greatest;

    if (at >= a.columns)
        return;
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
        x[i] = load4(in + i * a.stride);
    greatest = x[0];
#pragma unroll
    for (int i = 1; i < STREAMS; i++)
        greatest = max4(greatest, x[i]);
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
        sum = add4(sum, x[i] = exp4(x[i], greatest));
    sum = inverse4(sum);
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
        __stwb((float4 *)(out + i * a.stride), mul4(x[i], sum));
}

// Softmax of fp16 values that a block holds, 8 x VECTORS a thread.
template <int VECTORS, int THREADS = HARM_ROW_THREADS> struct held {
    float x[VECTORS][8];

    __device__ __forceinline__ float load(const uint4 *in)
    {
        float most = -INFINITY;
        uint4 bits[VECTORS];
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            bits[i] = load_once(in + i * THREADS + threadIdx.x);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            widen<fp16>(bits[i], x[i]);
#pragma unroll
            for (int j = 0; j < 8; j++)
                most = fmaxf(most, x[i][j]);
        }
        return most;
    }

    __device__ __forceinline__ float raise(float most)
    {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                sum += x[i][j] = __expf(x[i][j] - most);
        return sum;
    }

    __device__ __forceinline__ void store(uint4 *out, float scale)
    {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
#pragma unroll
            for (int j = 0; j < 8; j++)
                x[i][j] *= scale;
            out[i * THREADS + threadIdx.x] = narrow<fp16>(x[i]);
        }
    }
};

#endif
