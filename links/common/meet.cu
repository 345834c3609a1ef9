// Kernels of links.c: a meeting of ranks, and the proof that a GPU's memory keeps what its peers
// write. None is measured.
#include "links/common/meet.cuh"

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(32)
meet(const __grid_constant__ struct meet_args a)
{
    links_meet(a.meeting);
}

// A word of its own for every place, every seed.
__device__ __forceinline__ uint32_t word_at(uint64_t i, uint64_t seed)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(x >> 32);
}

// sass: none not a timed kernel
extern "C" __global__ void meet_write(const __grid_constant__ struct meet_words_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += step)
        store_relaxed_sys(a.words + i, word_at(i, a.seed));
}

// sass: none not a timed kernel
extern "C" __global__ void meet_count(const __grid_constant__ struct meet_words_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += step)
        if (load_relaxed_sys(a.words + i) != word_at(i, a.seed))
            atomicAdd_system(a.wrong, 1);
}
