/* The words of CUDA C++ that the kernels use, in plain C++: qualifiers, vector types, 16-bit
 * floats, intrinsics. fibers.h has those that wait for other threads. See shim.h. */
#ifndef TESTS_SHIM_LANGUAGE_H
#define TESTS_SHIM_LANGUAGE_H

#ifndef SHIM_ARCH
#define SHIM_ARCH 800
#endif
#define __CUDACC__ 13
#define __CUDA_ARCH__ SHIM_ARCH
#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))

/* --- vectors, aligned as on the GPU, so that UBSan sees a misaligned access ------------------- */

#define SHIM_VECTORS(type, name)                                                                   \
    struct alignas(2 * sizeof(type)) name##2 {                                                     \
        type x, y;                                                                                 \
    };                                                                                             \
    struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 {                        \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                        \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
SHIM_VECTORS(short, short)
SHIM_VECTORS(unsigned short, ushort)
SHIM_VECTORS(int, int)
SHIM_VECTORS(unsigned, uint)
SHIM_VECTORS(long long, longlong)
SHIM_VECTORS(unsigned long long, ulonglong)
SHIM_VECTORS(float, float)
SHIM_VECTORS(double, double)

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* --- bits ------------------------------------------------------------------------------------ */

template <typename TO, typename FROM> static inline TO shim_bits(FROM from)
{
    static_assert(sizeof(TO) == sizeof(FROM), "as many bits");
    TO to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline float __uint_as_float(unsigned x) { return shim_bits<float>(x); }
static inline float __int_as_float(int x) { return shim_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return shim_bits<unsigned>(x); }
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which)
{
    const uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned made = 0;
    for (int i = 0; i < 4; i++)
        made |= (unsigned)(bytes >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return made;
}
static inline int __float_as_int(float x) { return shim_bits<int>(x); }
static inline double __longlong_as_double(long long x) { return shim_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return shim_bits<long long>(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x)
{
    unsigned y = 0;
    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1) << (31 - i);
    return y;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)((((uint64_t)high << 32 | low) << (by & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (by & 31));
}

/* --- arithmetic ------------------------------------------------------------------------------ */

#define SHIM_LESSER(type)                                                                          \
    static inline type min(type a, type b) { return a < b ? a : b; }                               \
    static inline type max(type a, type b) { return a > b ? a : b; }
SHIM_LESSER(int)
SHIM_LESSER(unsigned)
SHIM_LESSER(long)
SHIM_LESSER(unsigned long)
SHIM_LESSER(long long)
SHIM_LESSER(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
/* Names that glibc already uses itself. */
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __sinf sinf
#define __cosf cosf
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return (float)(1 / sqrt((double)x)); }
static inline float shim_rsqrtf(float x) { return (float)(1 / sqrt((double)x)); }
static inline double shim_rsqrt(double x) { return 1 / sqrt(x); }
#define rsqrtf shim_rsqrtf /* some C libraries have their own */
#define rsqrt shim_rsqrt
static inline float __saturatef(float x) { return x > 0 ? fminf(x, 1) : 0; }
static inline int __float2int_rn(float x) { return (int)lrintf(x); }
static inline int __float2int_rd(float x) { return (int)floorf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline unsigned __float2uint_rz(float x) { return (unsigned)x; }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }

/* --- memory: the caches make no difference; one thread runs at a time ------------------------- */

/* What a thread may wait for is loaded by shim_load(): other threads run before or after it. Who
 * stores it calls shim_stored() afterwards. */
template <typename T> static T shim_load(const T *p);
static void shim_stored(bool has_changed);

template <typename T> static inline T __ldg(const T *p) { return *p; }
template <typename T> static inline T __ldcs(const T *p) { return *p; }
template <typename T> static inline T __ldcg(const T *p) { return *p; }
template <typename T> static inline T __ldcv(const T *p) { return shim_load(p); }
template <typename T> static inline void __stcg(T *p, T x) { *p = x; }
template <typename T> static inline void __stwb(T *p, T x) { *p = x; }
template <typename T> static inline void __stwt(T *p, T x) { *p = x; }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}

#define SHIM_ATOMIC(name, expression)                                                              \
    template <typename T, typename U> static inline T name(T *p, U by)                             \
    {                                                                                              \
        const T old = *p, x = (T)by;                                                               \
        *p = (T)(expression);                                                                      \
        shim_stored(memcmp(&old, p, sizeof old) != 0);                                             \
        return old;                                                                                \
    }
SHIM_ATOMIC(atomicAdd, old + x)
SHIM_ATOMIC(atomicSub, old - x)
SHIM_ATOMIC(atomicMax, old > x ? old : x)
SHIM_ATOMIC(atomicMin, old < x ? old : x)
SHIM_ATOMIC(atomicOr, old | x)
SHIM_ATOMIC(atomicAnd, old & x)
SHIM_ATOMIC(atomicXor, old ^ x)
SHIM_ATOMIC(atomicExch, x)
SHIM_ATOMIC(atomicInc, old >= x ? 0 : old + 1)
template <typename T, typename U, typename V> static inline T atomicCAS(T *p, U expected, V x)
{
    const T old = *p;
    if (old == (T)expected)
        *p = (T)x;
    shim_stored(memcmp(&old, p, sizeof old) != 0);
    return old;
}

#endif
