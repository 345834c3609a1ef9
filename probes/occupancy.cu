// Kernels of occupancy: read, with a fixed number of 16-byte loads of each thread in flight.
#include "core/device/clock.cuh"
#include "probes/occupancy.h"

// LOADS loads that are cached in L2 only, written as one block, or the assembler would begin to use
// the first before it has issued the last: then fewer are in flight than the case's name says.
template <int LOADS>
__device__ __forceinline__ void load_l2(uint4 (&v)[LOADS], const uint4 *const (&p)[LOADS]);

#define LOAD_TEXT(x, y, z, w, at) \
    "ld.global.cg.v4.u32 {%" #x ", %" #y ", %" #z ", %" #w "}, [%" #at "];\n\t"
#define LOAD_OUT(i) "=&r"(v[i].x), "=&r"(v[i].y), "=&r"(v[i].z), "=&r"(v[i].w)

template <> __device__ __forceinline__ void load_l2<1>(uint4 (&v)[1], const uint4 *const (&p)[1])
{
    asm volatile(LOAD_TEXT(0, 1, 2, 3, 4) : LOAD_OUT(0) : "l"(p[0]));
}

template <> __device__ __forceinline__ void load_l2<2>(uint4 (&v)[2], const uint4 *const (&p)[2])
{
    asm volatile(LOAD_TEXT(0, 1, 2, 3, 8) LOAD_TEXT(4, 5, 6, 7, 9)
                 : LOAD_OUT(0), LOAD_OUT(1)
                 : "l"(p[0]), "l"(p[1]));
}

template <> __device__ __forceinline__ void load_l2<4>(uint4 (&v)[4], const uint4 *const (&p)[4])
{
    asm volatile(LOAD_TEXT(0, 1, 2, 3, 16) LOAD_TEXT(4, 5, 6, 7, 17)
                 LOAD_TEXT(8, 9, 10, 11, 18) LOAD_TEXT(12, 13, 14, 15, 19)
                 : LOAD_OUT(0), LOAD_OUT(1), LOAD_OUT(2), LOAD_OUT(3)
                 : "l"(p[0]), "l"(p[1]), "l"(p[2]), "l"(p[3]));
}

// Two blocks of four: 40 operands in one are more than the compiler takes.
template <> __device__ __forceinline__ void load_l2<8>(uint4 (&v)[8], const uint4 *const (&p)[8])
{
    load_l2<4>(*(uint4(*)[4])&v[0], *(const uint4 *const(*)[4])&p[0]);
    load_l2<4>(*(uint4(*)[4])&v[4], *(const uint4 *const(*)[4])&p[4]);
}

// All threads of the grid read neighbouring elements; each turn of the loop issues LOADS loads
// before it uses the first. Not unrolled: a second turn's loads would be in flight too.
template <int LOADS> __device__ __forceinline__ void read(const struct occupancy_args &a)
{
    uint32_t threads = gridDim.x * blockDim.x;
    uint32_t at = a.first + blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 *in = (const uint4 *)a.in;
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        const uint4 *p[LOADS];
        uint4 v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            p[i] = in + ((at + i * threads) & a.mask);
        load_l2<LOADS>(v, p);
#pragma unroll
        for (int i = LOADS - 1; i >= 0; i--)
            sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
        at += LOADS * threads;
    }
    if (sum == 0x5eedf100u)
        *a.sink = sum;
    if (a.census && threadIdx.x == 0)
        atomicAdd(a.census + sm_id(), 1u);
}

// sass-loop: ldg128=1 local=0 regs<=14
extern "C" __global__ void __launch_bounds__(1024, 1)
occupancy_read_1(const __grid_constant__ struct occupancy_args a)
{
    read<1>(a);
}

// sass-loop: ldg128=2 local=0 together regs<=22
extern "C" __global__ void __launch_bounds__(1024, 1)
occupancy_read_2(const __grid_constant__ struct occupancy_args a)
{
    read<2>(a);
}

// sass-loop: ldg128=4 local=0 together regs<=26
extern "C" __global__ void __launch_bounds__(1024, 1)
occupancy_read_4(const __grid_constant__ struct occupancy_args a)
{
    read<4>(a);
}

// sass-loop: ldg128=8 local=0 together regs<=42
extern "C" __global__ void __launch_bounds__(1024, 1)
occupancy_read_8(const __grid_constant__ struct occupancy_args a)
{
    read<8>(a);
}
