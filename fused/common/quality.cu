// Kernels of quality.c: distances, digests and planted faults. None of them is timed.
#include "fused/common/quality.h"

__device__ __forceinline__ uint32_t element(const void *base, uint64_t i, uint32_t size)
{
    return size == 1   ? ((const uint8_t *)base)[i]
           : size == 2 ? ((const uint16_t *)base)[i]
                       : ((const uint32_t *)base)[i];
}

__device__ __forceinline__ void put(void *base, uint64_t i, uint32_t size, uint32_t bits)
{
    if (size == 1)
        ((uint8_t *)base)[i] = (uint8_t)bits;
    else if (size == 2)
        ((uint16_t *)base)[i] = (uint16_t)bits;
    else
        ((uint32_t *)base)[i] = bits;
}

// Maps floats of any width to integers in the order of their values. Neighbouring numbers are one
// apart; -0 and the smallest positive number are one apart, too; +0 and -0 are the same.
__device__ __forceinline__ int64_t ordered(uint32_t bits, uint32_t size)
{
    const uint32_t sign = 1u << (8 * size - 1);
    const int64_t magnitude = bits & (sign - 1);
    return bits & sign ? -magnitude : magnitude;
}

// sass: none not a timed kernel
extern "C" __global__ void quality_compare(const __grid_constant__ struct quality_args a)
{
    uint64_t differ = 0, most = 0, digest = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t x = element(a.a, i, a.size);
        uint64_t mixed = (i << 32 | x) * 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
        digest += mixed ^ mixed >> 32;
        if (a.b) {
            const uint32_t y = element(a.b, i, a.size);
            const int64_t apart = ordered(x, a.size) - ordered(y, a.size);
            const uint64_t ulps = (uint64_t)(apart < 0 ? -apart : apart);
            differ += x != y;
            most = ulps > most ? ulps : most;
        }
    }
    atomicAdd((unsigned long long *)&a.found->differ, (unsigned long long)differ);
    atomicMax((unsigned long long *)&a.found->most_ulps, (unsigned long long)most);
    atomicAdd((unsigned long long *)&a.found->digest, (unsigned long long)digest);
}

// One block. Faults are small, and all threads together walk a row of any length. Where one thread
// writes what another reads, a barrier separates the reads from the writes.
// sass: none not a timed kernel
extern "C" __global__ void quality_plant(const __grid_constant__ struct quality_fault_args a)
{
    const uint64_t last = a.rows - 1, middle = a.rows / 2, t = threadIdx.x, all = blockDim.x;
    const uint32_t sign = 1u << (8 * a.size - 1);
    const uint64_t at = middle * a.columns;

    switch (a.fault) {
    case QUALITY_NAN:
        if (t == 0)
            put(a.memory, at + a.columns / 3, a.size, ~0u);
        break;
    case QUALITY_ZERO:
        if (t < 16 / a.size && t < a.columns)
            put(a.memory, at + t, a.size, 0);
        break;
    case QUALITY_LAST_COLUMN:
        for (uint64_t row = t; a.columns > 1 && row < a.rows; row += all) {
            const uint64_t end = (row + 1) * a.columns - 1;
            put(a.memory, end, a.size, element(a.memory, end - 1, a.size));
        }
        break;
    case QUALITY_LAST_ROW:
        for (uint64_t i = t; last > 0 && i < a.columns; i += all)
            put(a.memory, last * a.columns + i, a.size,
                element(a.memory, (last - 1) * a.columns + i, a.size));
        break;
    case QUALITY_SWAPPED:
        for (uint64_t i = t; i < a.columns; i += all) {
            const uint32_t first = element(a.memory, i, a.size);
            put(a.memory, i, a.size, element(a.memory, last * a.columns + i, a.size));
            put(a.memory, last * a.columns + i, a.size, first);
        }
        break;
    case QUALITY_SHIFTED:
        for (uint64_t from = 0; from + 1 < a.columns; from += all) {
            const uint64_t i = from + t;
            const bool inside = i + 1 < a.columns;
            const uint32_t next = inside ? element(a.memory, at + i + 1, a.size) : 0;
            __syncthreads();
            if (inside)
                put(a.memory, at + i, a.size, next);
        }
        break;
    case QUALITY_SIGN:
        if (t == 0) {
            uint64_t most = at;
            for (uint64_t i = at; i < at + a.columns; i++)
                if ((element(a.memory, i, a.size) & (sign - 1)) >
                    (element(a.memory, most, a.size) & (sign - 1)))
                    most = i;
            put(a.memory, most, a.size, element(a.memory, most, a.size) ^ sign);
        }
        break;
    case QUALITY_SCALED: // +1 in the exponent of bf16, fp32, e4m3; + 1/8 in fp16
        for (uint64_t i = t; i < a.columns; i += all) {
            const uint32_t one = a.size == 4 ? 1u << 23 : a.size == 2 ? 1u << 7 : 1u << 3;
            put(a.memory, at + i, a.size, element(a.memory, at + i, a.size) + one);
        }
        break;
    }
}
