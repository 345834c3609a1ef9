// Chains of tensor core products: mma.sync by one warp, wgmma (9.0 only) by four.
//
// Each product is added to the sum of the one before. Every second one (for wgmma: every second set
// of four) is subtracted. The sum then stays as large as one product however long the chain is, in
// fp16 too, and the adders see values as in a real product. wgmma cannot negate integers: they are
// added, and wrap around.
#ifndef PROBES_INSTRUCTIONS_TENSOR_CHAINS_CUH
#define PROBES_INSTRUCTIONS_TENSOR_CHAINS_CUH

#include "core/device/load.cuh"
#include "probes/instructions/args.h"

template <typename T> __device__ __forceinline__ T of_bits(uint64_t bits);
template <> __device__ __forceinline__ uint32_t of_bits(uint64_t bits) { return (uint32_t)bits; }
template <> __device__ __forceinline__ float of_bits(uint64_t bits)
{
    return __uint_as_float((uint32_t)bits);
}
template <> __device__ __forceinline__ double of_bits(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}

// The i-th 32 bits of an array of values.
__device__ __forceinline__ uint32_t word_of(const uint32_t *x, int i) { return x[i]; }
__device__ __forceinline__ uint32_t word_of(const float *x, int i) { return __float_as_uint(x[i]); }
__device__ __forceinline__ uint32_t word_of(const double *x, int i)
{
    return (uint32_t)((uint64_t)__double_as_longlong(x[i / 2]) >> (i % 2 * 32));
}

// --- mma.sync ------------------------------------------------------------------------------------

// One lane's share of a product: AN registers of A, BN of B, DN of the sum.
#define MMA(NAME, SUM, SUMS, OPERAND, AN_, BN_, DN_, TEXT, ...)                                   \
    struct NAME {                                                                                 \
        using D = SUM;                                                                            \
        using W = OPERAND;                                                                        \
        enum { AN = AN_, BN = BN_, DN = DN_, WORDS = DN_ * sizeof(SUM) / 4 };                     \
        static __device__ __forceinline__ void apply(SUM (&d)[DN_], const OPERAND (&a)[AN_],      \
                                                     const OPERAND (&b)[BN_])                     \
        {                                                                                         \
            asm volatile("mma.sync.aligned." TEXT : SUMS(d) : __VA_ARGS__);                       \
        }                                                                                         \
    };

#define F4(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define R4(d) "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define R2(d) "+r"(d[0]), "+r"(d[1])
#define D2(d) "+d"(d[0]), "+d"(d[1])
#define D4(d) "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
#define WORDS_4_2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define FORM_4_4_2 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"

MMA(m16n8k8_fp16_fp32, float, F4, uint32_t, 2, 1, 4,
    "m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};",
    "r"(a[0]), "r"(a[1]), "r"(b[0]))
#if __CUDA_ARCH__ >= 800
MMA(m16n8k16_fp16_fp32, float, F4, uint32_t, 4, 2, 4,
    "m16n8k16.row.col.f32.f16.f16.f32" FORM_4_4_2, WORDS_4_2)
MMA(m16n8k16_bf16_fp32, float, F4, uint32_t, 4, 2, 4,
    "m16n8k16.row.col.f32.bf16.bf16.f32" FORM_4_4_2, WORDS_4_2)
MMA(m16n8k8_tf32_fp32, float, F4, uint32_t, 4, 2, 4, "m16n8k8.row.col.f32.tf32.tf32.f32" FORM_4_4_2,
    WORDS_4_2)
MMA(m16n8k32_int8_int32, uint32_t, R4, uint32_t, 4, 2, 4,
    "m16n8k32.row.col.s32.s8.s8.s32" FORM_4_4_2, WORDS_4_2)
MMA(m16n8k16_fp16_fp16, uint32_t, R2, uint32_t, 4, 2, 2,
    "m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};", WORDS_4_2)
MMA(m8n8k4_fp64_fp64, double, D2, double, 1, 1, 2,
    "m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};", "d"(a[0]), "d"(b[0]))
#endif
// 9.0 and 10.0 have no such instruction: the compiler converts to fp16. It also keeps products that
// it has computed before, which would turn the chain into a chain of additions.
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
MMA(m16n8k32_e4m3_fp32, float, F4, uint32_t, 4, 2, 4,
    "m16n8k32.row.col.f32.e4m3.e4m3.f32" FORM_4_4_2, WORDS_4_2)
#endif
#if __CUDA_ARCH__ == 900 // elsewhere it is eight times m8n8k4
MMA(m16n8k16_fp64_fp64, double, D4, double, 8, 4, 4,
    "m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
    "{%12, %13, %14, %15}, {%0, %1, %2, %3};",
    "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
    "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]))
#endif

// in: for each chain the words of A, B, -B and the initial sum, 32 lanes each.
template <class M> struct mma_chain {
    enum {
        LEAD = 2, // steps before the first clock read; a turn has an even number
        SHORT = MMA_SHORT,
        LONG = MMA_LONG,
        WORDS = M::WORDS,
        IN = M::AN + 2 * M::BN + M::DN
    };
    typename M::D d[M::DN];
    typename M::W a[M::AN], b[2][M::BN];

    __device__ __forceinline__ void load(const struct instructions_args &args, int chain)
    {
        const uint64_t *in = args.in + (size_t)chain * IN * 32 + threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < M::AN; i++, in += 32)
            a[i] = of_bits<typename M::W>(*in);
#pragma unroll
        for (int i = 0; i < 2 * M::BN; i++, in += 32)
            b[i / M::BN][i % M::BN] = of_bits<typename M::W>(*in);
#pragma unroll
        for (int i = 0; i < M::DN; i++, in += 32)
            d[i] = of_bits<typename M::D>(*in);
    }
    __device__ __forceinline__ void step(int i) { M::apply(d, a, b[i % 2]); }
    __device__ __forceinline__ uint32_t word(int i) const { return word_of(d, i); }
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void turned() {}
    __device__ __forceinline__ void end() {}
};

// --- wgmma ---------------------------------------------------------------------------------------

#if defined __CUDA_ARCH_FEAT_SM90_ALL

#define O4(l, d, i) "+" l(d[i]), "+" l(d[i + 1]), "+" l(d[i + 2]), "+" l(d[i + 3])
#define O16(l, d, i) O4(l, d, i), O4(l, d, i + 4), O4(l, d, i + 8), O4(l, d, i + 12)
#define O32(l, d, i) O16(l, d, i), O16(l, d, i + 16)
#define O64(l, d, i) O32(l, d, i), O32(l, d, i + 32)
#define O128(l, d, i) O64(l, d, i), O64(l, d, i + 64)
#define T4 "%0, %1, %2, %3"
#define T32                                                                                       \
    T4 ", %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "   \
       "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define T64                                                                                       \
    T32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, " \
        "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define T128                                                                                      \
    T64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
        "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "   \
        "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "      \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "    \
        "%126, %127"
// Four products of a warpgroup, one for each slice of k. A comes as four descriptors (S) or in four
// times four registers (V), B as four descriptors; their operand numbers follow those of the sum.
#define WGMMA_ONE(A, B, SHAPE, LIST, SIGNS, BEFORE, AFTER)                                        \
    BEFORE "wgmma.mma_async.sync.aligned." SHAPE " {" LIST "}, " A ", " B SIGNS "\n\t" AFTER
#define S4(...)                                                                                   \
    WGMMA_ONE("%4", "%8", __VA_ARGS__)                                                            \
    WGMMA_ONE("%5", "%9", __VA_ARGS__)                                                            \
    WGMMA_ONE("%6", "%10", __VA_ARGS__)                                                           \
    WGMMA_ONE("%7", "%11", __VA_ARGS__)
#define S32(...)                                                                                  \
    WGMMA_ONE("%32", "%36", __VA_ARGS__)                                                          \
    WGMMA_ONE("%33", "%37", __VA_ARGS__)                                                          \
    WGMMA_ONE("%34", "%38", __VA_ARGS__)                                                          \
    WGMMA_ONE("%35", "%39", __VA_ARGS__)
#define S64(...)                                                                                  \
    WGMMA_ONE("%64", "%68", __VA_ARGS__)                                                          \
    WGMMA_ONE("%65", "%69", __VA_ARGS__)                                                          \
    WGMMA_ONE("%66", "%70", __VA_ARGS__)                                                          \
    WGMMA_ONE("%67", "%71", __VA_ARGS__)
#define S128(...)                                                                                 \
    WGMMA_ONE("%128", "%132", __VA_ARGS__)                                                        \
    WGMMA_ONE("%129", "%133", __VA_ARGS__)                                                        \
    WGMMA_ONE("%130", "%134", __VA_ARGS__)                                                        \
    WGMMA_ONE("%131", "%135", __VA_ARGS__)
#define V32(...)                                                                                  \
    WGMMA_ONE("{%32, %33, %34, %35}", "%48", __VA_ARGS__)                                         \
    WGMMA_ONE("{%36, %37, %38, %39}", "%49", __VA_ARGS__)                                         \
    WGMMA_ONE("{%40, %41, %42, %43}", "%50", __VA_ARGS__)                                         \
    WGMMA_ONE("{%44, %45, %46, %47}", "%51", __VA_ARGS__)
#define V128(...)                                                                                 \
    WGMMA_ONE("{%128, %129, %130, %131}", "%144", __VA_ARGS__)                                    \
    WGMMA_ONE("{%132, %133, %134, %135}", "%145", __VA_ARGS__)                                    \
    WGMMA_ONE("{%136, %137, %138, %139}", "%146", __VA_ARGS__)                                    \
    WGMMA_ONE("{%140, %141, %142, %143}", "%147", __VA_ARGS__)

// PLUS and MINUS say that the sum is accumulated, and give the signs of A and B; for 16-bit types
// also that neither is transposed.
#define WGMMA(NAME, SUM, LETTER, DN_, SHAPE, FOUR, PLUS, MINUS, BEFORE, AFTER, ...)               \
    struct NAME {                                                                                 \
        using D = SUM;                                                                            \
        enum { DN = DN_, WAITED = sizeof AFTER > 1 };                                             \
        static __device__ __forceinline__ void apply(SUM (&d)[DN_], const uint64_t (&a)[4],       \
                                                     const uint32_t (&v)[16],                     \
                                                     const uint64_t (&b)[4], bool minus)          \
        {                                                                                         \
            if (minus)                                                                            \
                asm volatile(FOUR(SHAPE, T##DN_, MINUS, BEFORE, AFTER)                            \
                             : O##DN_(LETTER, d, 0) : __VA_ARGS__ : "memory");                    \
            else                                                                                  \
                asm volatile(FOUR(SHAPE, T##DN_, PLUS, BEFORE, AFTER)                             \
                             : O##DN_(LETTER, d, 0) : __VA_ARGS__ : "memory");                    \
        }                                                                                         \
    };
#define L4(x) "l"(x[0]), "l"(x[1]), "l"(x[2]), "l"(x[3])
#define R4_OF(x, i) "r"(x[i]), "r"(x[i + 1]), "r"(x[i + 2]), "r"(x[i + 3])
#define R16(x) R4_OF(x, 0), R4_OF(x, 4), R4_OF(x, 8), R4_OF(x, 12)
#define FENCE "wgmma.fence.sync.aligned;\n\t"
#define COMMIT_AND_WAIT "wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n\t"

// A from shared memory; A from registers; and A from shared memory with a wait for each product
// before the next one starts. END is ", 0, 0" or ", 0" for 16-bit types, else empty.
#define WGMMA_SHARED(NAME, SUM, LETTER, DN, SHAPE, END)                                           \
    WGMMA(NAME##_shared, SUM, LETTER, DN, SHAPE, S##DN, ", 1, 1, 1" END ";", ", 1, -1, 1" END ";", \
          "", "", L4(a), L4(b))
#define WGMMA_REGISTERS(NAME, SUM, LETTER, DN, SHAPE, END)                                        \
    WGMMA(NAME##_registers, SUM, LETTER, DN, SHAPE, V##DN, ", 1, 1, 1" END ";",                   \
          ", 1, -1, 1" END ";", "", "", R16(v), L4(b))
#define WGMMA_WAITED(NAME, DN, SHAPE)                                                             \
    WGMMA(NAME##_waited, float, "f", DN, SHAPE, S##DN, ", 1, 1, 1, 0, 0;", ", 1, -1, 1, 0, 0;",   \
          FENCE, COMMIT_AND_WAIT, L4(a), L4(b))

WGMMA_SHARED(m64n8k16_fp16_fp32, float, "f", 4, "m64n8k16.f32.f16.f16", ", 0, 0")
WGMMA_SHARED(m64n64k16_fp16_fp32, float, "f", 32, "m64n64k16.f32.f16.f16", ", 0, 0")
WGMMA_SHARED(m64n256k16_fp16_fp32, float, "f", 128, "m64n256k16.f32.f16.f16", ", 0, 0")
WGMMA_SHARED(m64n256k16_fp16_fp16, uint32_t, "r", 64, "m64n256k16.f16.f16.f16", ", 0, 0")
WGMMA_SHARED(m64n256k16_bf16_fp32, float, "f", 128, "m64n256k16.f32.bf16.bf16", ", 0, 0")
WGMMA_SHARED(m64n256k8_tf32_fp32, float, "f", 128, "m64n256k8.f32.tf32.tf32", "")
WGMMA_SHARED(m64n256k32_e4m3_fp32, float, "f", 128, "m64n256k32.f32.e4m3.e4m3", "")
WGMMA(m64n256k32_int8_int32_shared, uint32_t, "r", 128, "m64n256k32.s32.s8.s8", S128, ", 1;",
      ", 1;", "", "", L4(a), L4(b))
WGMMA_REGISTERS(m64n64k16_fp16_fp32, float, "f", 32, "m64n64k16.f32.f16.f16", ", 0")
WGMMA_REGISTERS(m64n256k16_fp16_fp32, float, "f", 128, "m64n256k16.f32.f16.f16", ", 0")
WGMMA_REGISTERS(m64n256k32_e4m3_fp32, float, "f", 128, "m64n256k32.f32.e4m3.e4m3", "")
WGMMA_WAITED(m64n8k16_fp16_fp32, 4, "m64n8k16.f32.f16.f16")
WGMMA_WAITED(m64n64k16_fp16_fp32, 32, "m64n64k16.f32.f16.f16")
WGMMA_WAITED(m64n256k16_fp16_fp32, 128, "m64n256k16.f32.f16.f16")

// Operands in shared memory, k contiguous, without swizzle: core matrices of 8 rows x 16 bytes, 128
// bytes each. The two core matrices of a slice's k are adjacent. Groups of eight rows are 256 bytes
// apart.
__device__ __forceinline__ uint64_t wgmma_descriptor(uint32_t shared)
{
    return (shared >> 4) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

// in: the image of shared memory, A slice by slice, then B. All warpgroups read the same. A step is
// four products, one per slice.
template <class M> struct wgmma_chain {
    enum {
        LEAD = 1,
        SHORT = (M::DN < 64 ? WGMMA_NARROW_SHORT : WGMMA_SHORT) / WGMMA_SLICES,
        LONG = 2 * SHORT,
        WORDS = M::DN
    };
    typename M::D d[M::DN];
    uint64_t a_at[WGMMA_SLICES], b_at[WGMMA_SLICES];
    uint32_t a[4 * WGMMA_SLICES];

    __device__ __forceinline__ void load(const struct instructions_args &args, int)
    {
        __shared__ __align__(128) uint64_t image[(A_BYTES + B_BYTES) / 8];
        const char *mine = (const char *)image + threadIdx.x / 32 % 4 * 512 + threadIdx.x % 32 * 4;

        for (uint32_t i = threadIdx.x; i < sizeof image / 8; i += blockDim.x)
            image[i] = args.in[i];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (int i = 0; i < WGMMA_SLICES; i++) {
            a_at[i] = wgmma_descriptor(shared_address(image) + i * A_SLICE_BYTES);
            b_at[i] = wgmma_descriptor(shared_address(image) + A_BYTES + i * B_SLICE_BYTES);
        }
#pragma unroll
        for (int i = 0; i < 4 * WGMMA_SLICES; i++) // rows g and g + 8, then both 16 bytes on
            a[i] = *(const uint32_t *)(mine + i / 4 * A_SLICE_BYTES + i % 2 * 256 +
                                       i / 2 % 2 * 128);
#pragma unroll
        for (int i = 0; i < M::DN; i++)
            d[i] = 0;
    }
    __device__ __forceinline__ void step(int i) { M::apply(d, a_at, a, b_at, i % 2); }
    __device__ __forceinline__ uint32_t word(int i) const { return word_of(d, i); }
    __device__ __forceinline__ void begin()
    {
        if constexpr (!M::WAITED)
            asm volatile(FENCE::: "memory");
    }
    __device__ __forceinline__ void turned() // one turn's products may still be in flight
    {
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 1;" :::
                     "memory");
    }
    __device__ __forceinline__ void end()
    {
        if constexpr (!M::WAITED)
            asm volatile(COMMIT_AND_WAIT::: "memory");
    }
};

#endif
#endif
