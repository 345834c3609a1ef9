// Kernels of edges that differ: each takes the step of a chain, and has code of its own that it
// runs through once, so that its instructions have to come from somewhere.
#include "core/device/clock.cuh"
#include "core/device/dependent.cuh"
#include "probes/edges/step.cuh"

// DIFFERENT_BYTES of code without a branch. All parts go into the result, and no number of it into
// another kernel's code.
template <uint32_t WHICH> __device__ __forceinline__ uint32_t through(uint32_t x)
{
    uint32_t part[DIFFERENT_PARTS], all = 0;
#pragma unroll
    for (uint32_t j = 0; j < DIFFERENT_PARTS; j++)
        part[j] = x + j;
#pragma unroll
    for (uint32_t i = 0; i < DIFFERENT_TURNS * DIFFERENT_PARTS; i++)
        part[i % DIFFERENT_PARTS] = (part[i % DIFFERENT_PARTS] ^ different_number(WHICH, i)) *
                                    different_factor(WHICH, i);
#pragma unroll
    for (uint32_t j = 0; j < DIFFERENT_PARTS; j++)
        all ^= part[j];
    return all;
}

// The next kernel may begin at once, and waits for this one: where it was launched that way.
template <uint32_t WHICH> __device__ __forceinline__ void different(const struct edges_args &a)
{
    const struct warp_index p = index_of_warp();
    const in_global cells = {a.cells};
#if __CUDA_ARCH__ >= 900
    dependent_release();
    dependent_wait();
#endif
    uint32_t x = cells.load((a.first & 1) * p.warps + p.other);
    if (a.chunks > 0)
        x ^= read_body(a, p.own, p.warps, x);
    x = through<WHICH>(x);
    if (threadIdx.x % 32 == 0)
        cells.store((~a.first & 1) * p.warps + p.own, x);
    if (a.census && threadIdx.x == 0)
        a.census[blockIdx.x] = sm_id();
}

#define DIFFERENT(which)                                                                           \
    extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)                                 \
        edges_different_##which(const __grid_constant__ struct edges_args a)                       \
    {                                                                                              \
        different<which>(a);                                                                       \
    }

// sass-all: kernel=edges_different_* lop3>=384 imad>=384 other<=120 local=0 regs<=64 looped
// sass-loop: kernel=edges_different_* ldg128.gpu=8 guarded=8 other<=89 local=0 together moving
DIFFERENT(0)
DIFFERENT(1)
DIFFERENT(2)
DIFFERENT(3)
DIFFERENT(4)
DIFFERENT(5)
DIFFERENT(6)
DIFFERENT(7)
DIFFERENT(8)
DIFFERENT(9)
DIFFERENT(10)
DIFFERENT(11)
DIFFERENT(12)
DIFFERENT(13)
