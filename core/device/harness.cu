// The harness's own kernels: clock stamps, timer tick, warm-up, random inputs, L2 sweep. None of
// them is measured; the probes' kernels are.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/device/clock.cuh"
#include "core/device/harness.h"

// sass: none not a timed kernel
extern "C" __global__ void harness_stamp(const __grid_constant__ struct harness_stamp_args a)
{
    struct clock_pair now = clock_edge();
    uint32_t sm = sm_id();
    if (sm < a.n_sm)
        a.out[sm] = {now.cycles, now.ns};
}

// sass: none not a timed kernel
extern "C" __global__ void harness_tick(const __grid_constant__ struct harness_tick_args a)
{
    uint64_t first = clock_ns(), last = first, least = ~0ull, now;
    do {
        now = clock_ns();
        if (now != last && now - last < least)
            least = now - last;
        last = now;
    } while (now - first < a.ns);
    *a.out = least;
}

// Busy arithmetic on every SM until the time is up: an idle GPU clocks down.
// sass: none not a timed kernel
extern "C" __global__ void harness_warm(const __grid_constant__ struct harness_warm_args a)
{
    uint64_t first = clock_ns();
    float x = (float)threadIdx.x, y = 0.5f;
    while (clock_ns() - first < a.ns)
#pragma unroll 64
        for (int i = 0; i < 64; i++)
            x = x * y + 1.0f;
    if (x == -1.0f)
        *a.sink = x;
}

// One step of splitmix64 (Steele et al. 2014): 64 well-mixed bits of a counter.
__device__ __forceinline__ uint64_t mixed(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// N(0,1) by Box-Muller from the two halves of one mixed counter.
__device__ __forceinline__ float normal(uint64_t seed, uint64_t i)
{
    uint64_t bits = mixed(seed ^ mixed(i));
    float u = ((uint32_t)bits + 0.5f) * 2.3283064e-10f, v = (uint32_t)(bits >> 32) * 2.3283064e-10f;
    return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

template <typename T, T (*ROUND)(float)>
__device__ __forceinline__ void fill(const struct harness_fill_args &a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step)
        ((T *)a.out)[i] = ROUND(normal(a.seed, i));
}

__device__ __forceinline__ __half to_half(float x) { return __float2half_rn(x); }
__device__ __forceinline__ __nv_bfloat16 to_bf16(float x) { return __float2bfloat16_rn(x); }
__device__ __forceinline__ float to_float(float x) { return x; }

// sass: none not a timed kernel
extern "C" __global__ void harness_fill_fp16(const __grid_constant__ struct harness_fill_args a)
{
    fill<__half, to_half>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void harness_fill_bf16(const __grid_constant__ struct harness_fill_args a)
{
    fill<__nv_bfloat16, to_bf16>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void harness_fill_fp32(const __grid_constant__ struct harness_fill_args a)
{
    fill<float, to_float>(a);
}

// Reads everything once, through L2, keeping nothing.
// sass: none not a timed kernel
extern "C" __global__ void harness_sweep(const __grid_constant__ struct harness_sweep_args a)
{
    const uint4 *in = (const uint4 *)a.in;
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, n = a.bytes / sizeof *in;
    uint32_t sum = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint4 v = __ldcg(in + i);
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x5eedf100u)
        *a.sink = sum;
}
