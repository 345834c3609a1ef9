// Kernels of layout: streaming by loads of every width, strided and random gathers.
#include "core/device/load.cuh"
#include "probes/layout/args.h"

// --- one access of a lane, by its width in bytes
// ------------------------------------------------------

// Loads through L2 only, each one instruction; stores likewise. fold: the bits of a value, as 32.
template <int WIDTH> struct lane;

template <> struct lane<1> {
    uint32_t v;
    __device__ __forceinline__ void load(const char *p)
    {
        asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    }
    __device__ __forceinline__ void store(char *p) const
    {
        asm volatile("st.global.cg.u8 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const { return v; }
};

template <> struct lane<2> {
    uint32_t v;
    __device__ __forceinline__ void load(const char *p)
    {
        asm volatile("ld.global.cg.u16 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    }
    __device__ __forceinline__ void store(char *p) const
    {
        asm volatile("st.global.cg.u16 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const { return v; }
};

template <> struct lane<4> {
    uint32_t v;
    __device__ __forceinline__ void load(const char *p)
    {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    }
    __device__ __forceinline__ void store(char *p) const
    {
        asm volatile("st.global.cg.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const { return v; }
};

template <> struct lane<8> {
    uint2 v;
    __device__ __forceinline__ void load(const char *p)
    {
        asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];"
                     : "=r"(v.x), "=r"(v.y)
                     : "l"(p)
                     : "memory");
    }
    __device__ __forceinline__ void store(char *p) const
    {
        asm volatile("st.global.cg.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const { return v.x ^ v.y; }
};

template <> struct lane<16> {
    uint4 v;
    __device__ __forceinline__ void load(const char *p) { v = load_cg_128(p); }
    __device__ __forceinline__ void store(char *p) const
    {
        asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y),
                     "r"(v.z), "r"(v.w)
                     : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const { return v.x ^ v.y ^ v.z ^ v.w; }
};

// Loads of 32 bytes: from 10.0 on, and in the PTX of CUDA 12.9 (8.8) or newer.
#if !defined __CUDA_ARCH__ ||                                                                      \
    (__CUDA_ARCH__ >= 1000 && (__CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ >= 9))
#define WIDE
#endif

#ifdef WIDE
template <> struct lane<32> {
    uint32_t v[8];
    __device__ __forceinline__ void load(const char *p)
    {
        asm volatile("ld.global.v8.u32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]),
                       "=r"(v[6]), "=r"(v[7])
                     : "l"(p)
                     : "memory");
    }
    __device__ __forceinline__ void store(char *p) const
    {
        asm volatile("st.global.v8.u32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(p), "r"(v[0]),
                     "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7])
                     : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const
    {
        return v[0] ^ v[1] ^ v[2] ^ v[3] ^ v[4] ^ v[5] ^ v[6] ^ v[7];
    }
};
#endif

// --- streaming
// ---------------------------------------------------------------------------------------

// All loads of a turn are issued before the first is used: the chunk is what a block, and an SM,
// has in flight, whatever the width. They are used in reverse order; otherwise the assembler would
// begin to use the first before it has issued the last.
template <int WIDTH, int CHUNK, bool COPY>
__device__ __forceinline__ void stream(const struct layout_stream_args &a)
{
    constexpr int LOADS = CHUNK / LAYOUT_THREADS / WIDTH;
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint32_t chunk = (a.first + turn * a.step + blockIdx.x) & a.mask;
        uint64_t at = blockIdx.x * a.area + chunk * a.pitch + threadIdx.x * WIDTH;
        lane<WIDTH> v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            v[i].load(a.in + at + i * LAYOUT_THREADS * WIDTH);
#pragma unroll
        for (int i = LOADS - 1; i >= 0; i--)
            if (COPY)
                v[i].store(a.out + at + i * LAYOUT_THREADS * WIDTH);
            else
                sum ^= v[i].fold();
    }
    if (!COPY && a.check)
        atomicXor(a.check, sum);
}

#define STREAM(name, WIDTH, KIB, COPY)                                                             \
    extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 1)                                \
        layout_##name##_##WIDTH##_##KIB(const __grid_constant__ struct layout_stream_args a)       \
    {                                                                                              \
        stream<WIDTH, KIB * 1024, COPY>(a);                                                        \
    }

// The contracts of loads of 1 and 2 bytes prove their width by the absence of all wider loads.
// sass-loop: kernel=layout_read_1_16 ldg=16 ldg32=0 ldg64=0 ldg128=0 other<=20 exits<=3 local=0
// sass-and: together moving arch=75
// sass-loop: kernel=layout_read_1_16 ldg=16 ldg32=0 ldg64=0 ldg128=0 other<=19 exits<=2 local=0
// sass-and: together moving arch=80+
// sass-loop: kernel=layout_read_2_16 ldg=8 ldg32=0 ldg64=0 ldg128=0 other<=16 exits<=3 local=0
// sass-and: together moving arch=75
// sass-loop: kernel=layout_read_2_16 ldg=8 ldg32=0 ldg64=0 ldg128=0 other<=16 exits<=2 local=0
// sass-and: together moving arch=80+
// sass-loop: kernel=layout_read_2_64 ldg=32 ldg32=0 ldg64=0 ldg128=0 other<=27 exits<=3 local=0
// sass-and: together moving arch=75
// sass-loop: kernel=layout_read_2_64 ldg=32 ldg32=0 ldg64=0 ldg128=0 other<=27 exits<=2 local=0
// sass-and: together moving arch=80+
// sass-loop: kernel=layout_read_4_16 ldg32=4 ldg=4 other<=14 exits<=3 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_read_4_16 ldg32=4 ldg=4 other<=13 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_read_4_64 ldg32=16 ldg=16 other<=20 exits<=3 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_read_4_64 ldg32=16 ldg=16 other<=19 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_read_8_16 ldg64=2 ldg=2 other<=12 exits<=3 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_read_8_16 ldg64=2 ldg=2 other<=13 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_read_8_64 ldg64=8 ldg=8 other<=18 exits<=3 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_read_8_64 ldg64=8 ldg=8 other<=20 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_read_16_16 ldg128=1 ldg=1 other<=12 exits<=3 local=0 moving arch=75
// sass-loop: kernel=layout_read_16_16 ldg128=1 ldg=1 other<=13 exits<=2 local=0 moving arch=80+
// sass-loop: kernel=layout_read_16_64 ldg128=4 ldg=4 other<=24 exits<=3 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_read_16_64 ldg128=4 ldg=4 other<=19 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_read_32_64 ldg256=2 ldg=2 other<=18 exits<=2 local=0 together moving
// sass-and: arch=100+
STREAM(read, 1, 16, false)
STREAM(read, 2, 16, false)
STREAM(read, 2, 64, false)
STREAM(read, 4, 16, false)
STREAM(read, 4, 64, false)
STREAM(read, 8, 16, false)
STREAM(read, 8, 64, false)
STREAM(read, 16, 16, false)
STREAM(read, 16, 64, false)
#ifdef WIDE
STREAM(read, 32, 64, false)
#endif

// sass-loop: kernel=layout_copy_1_16 ldg=16 stg=16 ldg32=0 stg32=0 ldg64=0 ldg128=0 other<=41
// sass-and: exits<=2 local=0 moving arch=75
// sass-loop: kernel=layout_copy_1_16 ldg=16 stg=16 ldg32=0 stg32=0 ldg64=0 ldg128=0 other<=13
// sass-and: exits<=2 local=0 moving arch=80+
// sass-loop: kernel=layout_copy_2_16 ldg=8 stg=8 ldg32=0 stg32=0 ldg64=0 ldg128=0 other<=26
// sass-and: exits<=2 local=0 together moving arch=75
// sass-loop: kernel=layout_copy_2_16 ldg=8 stg=8 ldg32=0 stg32=0 ldg64=0 ldg128=0 other<=14
// sass-and: exits<=2 local=0 together moving arch=80+
// sass-loop: kernel=layout_copy_4_64 ldg32=16 stg32=16 other<=41 exits<=2 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_copy_4_64 ldg32=16 stg32=16 other<=13 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_copy_8_64 ldg64=8 stg64=8 other<=26 exits<=2 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_copy_8_64 ldg64=8 stg64=8 other<=13 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_copy_16_64 ldg128=4 stg128=4 other<=24 exits<=2 local=0 together moving
// sass-and: arch=75
// sass-loop: kernel=layout_copy_16_64 ldg128=4 stg128=4 other<=13 exits<=2 local=0 together moving
// sass-and: arch=80+
// sass-loop: kernel=layout_copy_32_64 ldg256=2 stg256=2 other<=12 exits<=2 local=0 together moving
// sass-and: arch=100+
STREAM(copy, 1, 16, true)
STREAM(copy, 2, 16, true)
STREAM(copy, 4, 64, true)
STREAM(copy, 8, 64, true)
STREAM(copy, 16, 64, true)
#ifdef WIDE
STREAM(copy, 32, 64, true)
#endif

// --- gathers
// -----------------------------------------------------------------------------------------

// An array of structures of 32 bytes, all of which are used: each lane reads its own structure,
// field by field. Through L1, which has to keep the rest of the sector for the next field.
template <int WIDTH> __device__ __forceinline__ void structures(const struct layout_stream_args &a)
{
    constexpr int EACH = 32 / WIDTH, STRUCTURES = 2;
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint32_t chunk = (a.first + turn * a.step + blockIdx.x) & a.mask;
        const char *in = a.in + chunk * a.pitch + threadIdx.x * 32;
        uint4 v[EACH * STRUCTURES];
#pragma unroll
        for (int i = 0; i < EACH * STRUCTURES; i++) {
            const char *p = in + i / EACH * LAYOUT_THREADS * 32 + i % EACH * WIDTH;
            if (WIDTH == 4)
                asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v[i].x) : "l"(p) : "memory");
            else
                asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w)
                             : "l"(p)
                             : "memory");
        }
#pragma unroll
        for (int i = EACH * STRUCTURES - 1; i >= 0; i--)
            sum ^= WIDTH == 4 ? v[i].x : v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
    }
    if (a.check)
        atomicXor(a.check, sum);
}

// sass-loop: ldg32=16 ldg=16 other<=19 exits<=3 local=0 together moving arch=75
// sass-loop: ldg32=16 ldg=16 other<=20 exits<=2 local=0 together moving arch=80+
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 1)
layout_struct_4(const __grid_constant__ struct layout_stream_args a)
{
    structures<4>(a);
}

// sass-loop: ldg128=4 ldg=4 other<=24 exits<=3 local=0 together moving arch=75
// sass-loop: ldg128=4 ldg=4 other<=19 exits<=2 local=0 together moving arch=80+
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 1)
layout_struct_16(const __grid_constant__ struct layout_stream_args a)
{
    structures<16>(a);
}

// A bijection of 0 .. 2^bits - 1 without a pattern that a cache or a row of the memory could use.
__device__ __forceinline__ uint32_t scattered(uint32_t i, uint32_t bits)
{
    uint32_t mask = (1u << bits) - 1;
    i = i * 0x9e3779b1u & mask;
    i ^= i >> (bits / 2);
    i = i * 0x85ebca6bu & mask;
    return i ^ i >> (bits / 2);
}

template <bool AT_RANDOM> __device__ __forceinline__ void gather(const struct layout_gather_args &a)
{
    uint32_t threads = gridDim.x * blockDim.x, sum = 0;
    uint32_t place = a.first + blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint32_t v[LAYOUT_GATHER];
#pragma unroll
        for (int i = 0; i < LAYOUT_GATHER; i++) {
            uint32_t at = place + i * threads;
            at = AT_RANDOM ? scattered(at, a.bits) : at;
            asm volatile("ld.global.cg.u32 %0, [%1];"
                         : "=r"(v[i])
                         : "l"(a.in + (at * a.stride & a.mask))
                         : "memory");
        }
#pragma unroll
        for (int i = LAYOUT_GATHER - 1; i >= 0; i--)
            sum ^= v[i];
        place += LAYOUT_GATHER * threads;
    }
    if (a.check)
        atomicXor(a.check, sum);
}

// sass-loop: ldg32=16 ldg=16 other<=60 exits<=3 local=0 together moving arch=75
// sass-loop: ldg32=16 ldg=16 other<=60 exits<=2 local=0 together moving arch=80+
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 1)
layout_strided(const __grid_constant__ struct layout_gather_args a)
{
    gather<false>(a);
}

// sass-loop: ldg32=16 ldg=16 other<=193 exits<=3 local=0 together moving arch=75
// sass-loop: ldg32=16 ldg=16 other<=191 exits<=2 local=0 together moving arch=80+
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 1)
layout_random(const __grid_constant__ struct layout_gather_args a)
{
    gather<true>(a);
}
