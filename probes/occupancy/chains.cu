// More kernels of occupancy: chases with two and with sixteen chains a warp, as those with one,
// four and eight in occupancy.cu, and dependent multiply-adds.
#include "core/device/clock.cuh"
#include "probes/common/loads.cuh"
#include "probes/occupancy/args.h"
#include "probes/occupancy/chains.h"

__device__ __forceinline__ void count_block(uint32_t *census)
{
    if (census && threadIdx.x == 0)
        atomicAdd(census + sm_id(), 1u);
}

// --- chases -------------------------------------------------------------------------------------

// The address of this lane's element in a row of the ring, which is in one piece.
template <typename ADDRESS>
__device__ __forceinline__ ADDRESS element(const struct occupancy_ring &r, ADDRESS base, uint32_t i)
{
    return base + (ADDRESS)((i % r.rows * 32 + threadIdx.x % 32) * r.element);
}

template <typename LOAD, int CHAINS>
__device__ __forceinline__ void chase(const struct occupancy_chase_args &a,
                                      typename LOAD::address base)
{
    typename LOAD::address p[CHAINS];
    uint32_t first = threadIdx.x / 32 * CHAINS, steps = a.turns * OCCUPANCY_STEPS;
#pragma unroll
    for (uint32_t j = 0; j < CHAINS; j++)
        p[j] = element(a.ring, base, first + j);

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++)
#pragma unroll
        for (int s = 0; s < OCCUPANCY_STEPS; s++)
#pragma unroll
            for (int j = 0; j < CHAINS; j++)
                LOAD::step(p[j]);

#pragma unroll
    for (uint32_t j = 0; j < CHAINS; j++)
        if (p[j] != element(a.ring, base, first + j + steps))
            atomicAdd(a.wrong, 1u);
    count_block(a.census);
}

template <int CHAINS>
__device__ __forceinline__ void chase_shared(const struct occupancy_chase_args &a)
{
    __shared__ uint32_t ring[OCCUPANCY_RING_BYTES / 4];
    uint32_t base = shared_address(ring);
    for (uint32_t i = threadIdx.x / 32; i < a.ring.rows; i += blockDim.x / 32)
        ring[(element(a.ring, base, i) - base) / 4] = element(a.ring, base, i + 1);
    __syncthreads();
    chase<load_shared, CHAINS>(a, base);
}

#define CHASE(name, call)                                                                          \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        occupancy_chase_##name(const __grid_constant__ struct occupancy_chase_args a)              \
    {                                                                                              \
        call;                                                                                      \
    }

// sass-loop: kernel=occupancy_chase_shared_2 lds32=16 other<=3 exits<=2 local=0
// sass-loop: kernel=occupancy_chase_shared_16 lds32=128 other<=3 exits<=2 local=0
CHASE(shared_2, chase_shared<2>(a))
CHASE(shared_16, chase_shared<16>(a))

// sass-loop: kernel=occupancy_chase_l1_2 ldg64.cta=16 other<=5 exits<=2 local=0 smem=0
// sass-loop: kernel=occupancy_chase_l1_16 ldg64.cta=128 other<=5 exits<=2 local=0 smem=0
CHASE(l1_2, (chase<load_l1, 2>(a, (uint64_t)a.ring.base)))
CHASE(l1_16, (chase<load_l1, 16>(a, (uint64_t)a.ring.base)))

// --- multiply-adds
// --------------------------------------------------------------------------------

// Every chain counts: x = x * 1 + 1, by a 1 from memory, which the compiler does not know. What a
// chain ends with is the number of its steps, so that none can be missing. Factor and term are one
// register: a multiply-add of three registers needs two reads of one of the two banks of the
// register file, unless it can reuse an operand of the instruction before. Independent chains can
// reuse none: on an H200 they stop at 64 a cycle, and two chains a warp at 85.
template <int CHAINS> __device__ __forceinline__ void fma_chains(const struct occupancy_fma_args &a)
{
    const float one = a.operands[threadIdx.x % 32];
    const float first = (float)(threadIdx.x * CHAINS);
    float x[CHAINS];
#pragma unroll
    for (int j = 0; j < CHAINS; j++)
        x[j] = first + j;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++)
#pragma unroll
        for (int s = 0; s < OCCUPANCY_FMAS / CHAINS; s++)
#pragma unroll
            for (int j = 0; j < CHAINS; j++)
                asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[j]) : "f"(one));

    const float last = first + (float)(a.turns * (OCCUPANCY_FMAS / CHAINS));
    uint32_t wrong = 0;
#pragma unroll
    for (int j = 0; j < CHAINS; j++)
        wrong += x[j] != last + j;
    if (wrong)
        atomicAdd(a.wrong, wrong);
    count_block(a.census);
}

#define FMA(CHAINS)                                                                                \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        occupancy_fma_##CHAINS(const __grid_constant__ struct occupancy_fma_args a)                \
    {                                                                                              \
        fma_chains<CHAINS>(a);                                                                     \
    }

// Two blocks of 32 warps have 32 registers a thread. An SM of 7.5 holds 32 warps, one of 8.6, 8.9
// and 12.0 holds 48.
// sass-loop: kernel=occupancy_fma_* ffma=512 other<=4 exits<=2 local=0 smem=0 regs<=32
// sass-and: arch=80,90a,100
// sass-loop: kernel=occupancy_fma_* ffma=512 other<=4 exits<=2 local=0 smem=0 regs<=64
// sass-and: arch=75,86,89,120
FMA(1)
FMA(2)
FMA(4)
FMA(8)
FMA(16)
