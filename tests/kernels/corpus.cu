/*
 * The corpus from which opcodes.sh reads the opcode table. It is no probe; it is never run and
 * never shipped. It only has to make ptxas emit as many different instructions, operand forms and
 * memory spaces as kernels of this project could, on each of 75 80 86 89 90a 100 120. When the
 * checker meets an unknown opcode, add what the new kernel needed, and run opcodes.sh where
 * nvdisasm is installed.
 */
#include <cooperative_groups.h>
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
#include <stdint.h>
#include <stdio.h>

namespace cg = cooperative_groups;
typedef unsigned long long u64;
typedef unsigned int u32;

#define ARCH (__CUDA_ARCH__ / 10)
#define KERNEL extern "C" __global__ void

/* Arithmetic: each operator over each type, operands from registers, constants and immediates. */
template <class T> __device__ T arithmetic(T a, T b, T c, int n)
{
    T x = a * b + c;
    x = x - b * T(3) + a;
    x = x > b ? x : b * c;
    x = x < T(7) ? x + T(5) : x - c;
    for (int i = 0; i < n; i++)
        x = x * a + T(i);
    return x == b ? x + b : x / c;
}

template <class T> __device__ T bits(T a, T b, int s)
{
    T x = (a & b) ^ (a | ~b);
    x = (x << s) + (b >> s);
    x += (a << 3) + (b >> 5);
    x ^= x >> 17;
    x = x % (b + 13) + x / 10 + x % 17;
    return x & 0xff00ff ? x : ~a;
}

#define ARITHMETIC(T)                                                                              \
    KERNEL arithmetic_##T(T *o, const T *i, T k, T l, int n)                                       \
    {                                                                                              \
        unsigned t = threadIdx.x + blockIdx.x * blockDim.x;                                        \
        o[t] = arithmetic<T>(i[t], i[t + 1], i[t + 2], n);                                         \
        o[t + 99] = arithmetic<T>(i[t + 5], k, l, n) + arithmetic<T>(k, i[t + 6], l, n);           \
        if (t == 0)                                                                                \
            o[7] = arithmetic<T>(k, l, k, n) - k;                                                  \
    }
ARITHMETIC(int)
ARITHMETIC(u32) ARITHMETIC(int64_t) ARITHMETIC(u64) ARITHMETIC(float) ARITHMETIC(double)
    ARITHMETIC(short) ARITHMETIC(uint8_t) ARITHMETIC(half) ARITHMETIC(__nv_bfloat16)

#define BITS(T)                                                                                    \
    KERNEL bits_##T(T *o, const T *i, T k, T l, int n)                                             \
    {                                                                                              \
        unsigned t = threadIdx.x;                                                                  \
        o[t] = bits<T>(i[t], i[t + 1], n) + bits<T>(i[t], k, (int)t) + bits<T>(k, l, n);           \
        for (T x = 0; x < k; x += l)                                                               \
            o[t + 9] += bits<T>(x, i[t], (int)x);                                                  \
    }
        BITS(int) BITS(u32) BITS(int64_t) BITS(u64) BITS(short)

            KERNEL integer_intrinsics(int *o, const int *i, int k, u64 *w, u64 m)
{
    int t = threadIdx.x, a = i[t], b = i[t + 1], c = i[t + 2];
    int x = __popc(a) + __clz(b) + __ffs(c) + __brev(a) + __byte_perm(a, b, 0x5410);
    x += __byte_perm(a, k, c) + __funnelshift_l(a, b, c) + __funnelshift_r(a, b, 7);
    x += __sad(a, b, c) + __usad(a, b, c) + __mul24(a, b) + __mulhi(a, b) + __umulhi(a, k);
    x += __dp4a(a, b, c) + __dp2a_lo(a, b, c) + __dp2a_hi((u32)a, (u32)b, (u32)c);
    x += min(a, max(b, c)) + min(a, k) + abs(c) + max((u32)a, 17u) + __hadd(a, b) + __rhadd(a, k);
    x += __vadd2(a, b) + __vmaxs2(a, b) + __vabsdiffu4(a, b) + __vcmpeq4(a, k) + __vavgu4(a, c);
    x += __viaddmax_s32(a, b, c) + __vimax3_s32(a, b, c) + __viaddmin_s16x2(a, b, c);
    x += __vimin3_u16x2(a, b, c) + __vimax_s32_relu(a, b) + __vibmax_s16x2(a, b, 0, 0);
    u64 y = w[t], z = w[t + 1];
    y += __popcll(y) + __clzll(z) + __ffsll(y) + __brevll(z) + __mul64hi(y, z) + __umul64hi(y, m);
    y += min(y, z) + max((int64_t)y, (int64_t)z) + (y << c) + (z >> a) + ((int64_t)z >> b);
    asm volatile("bfe.u32 %0,%0,%1,%2;" : "+r"(x) : "r"(a), "r"(b));
    asm volatile("bfi.b32 %0,%0,%1,%2,%3;" : "+r"(x) : "r"(a), "r"(b), "r"(c));
    asm volatile("bmsk.clamp.b32 %0,%0,%1;" : "+r"(x) : "r"(a));
    asm volatile("bfind.shiftamt.u32 %0,%0;" : "+r"(x));
    asm volatile("szext.wrap.s32 %0,%0,%1;" : "+r"(x) : "r"(b));
    asm volatile("lop3.b32 %0,%0,%1,%2,0x96;" : "+r"(x) : "r"(a), "r"(k));
    asm volatile("shf.l.wrap.b32 %0,%0,%1,%2;" : "+r"(x) : "r"(a), "r"(k));
    asm volatile("prmt.b32.f4e %0,%0,%1,%2;" : "+r"(x) : "r"(a), "r"(k));
    asm volatile("mad.lo.cc.u32 %0,%0,%1,%2; madc.hi.u32 %0,%0,%1,%2;" : "+r"(x) : "r"(a), "r"(b));
    asm volatile("add.cc.u32 %0,%0,%1; addc.u32 %0,%0,%2;" : "+r"(x) : "r"(a), "r"(b));
    asm volatile("sub.cc.u32 %0,%0,%1; subc.u32 %0,%0,%2;" : "+r"(x) : "r"(a), "r"(k));
    asm volatile("vadd.u32.u32.u32.sat %0,%0,%1;" : "+r"(x) : "r"(a));
    asm volatile("slct.s32.s32 %0,%0,%1,%2;" : "+r"(x) : "r"(a), "r"(b));
    asm volatile("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0,1,2,p;}" : "+r"(x) : "l"(w));
    asm volatile("{.reg .pred p; isspacep.local p, %1; selp.u32 %0,1,2,p;}" : "+r"(x) : "l"(w));
    o[t] = x / b + x % c + a / 7 + b % 100 + (u32)a / (u32)k;
    w[t + 5] = y / z + y % m + (int64_t)y / (int64_t)z + y / 1000003;
}

/* Special functions, conversions, rounding modes. */
KERNEL float_functions(float *o, const float *i, float k)
{
    int t = threadIdx.x;
    float a = i[t], b = i[t + 1],
          x = exp2f(a) + log2f(b) + sinf(a) + cosf(b) + rsqrtf(a) + sqrtf(b);
    x += __expf(a) + __logf(b) + __sinf(a) + __cosf(b) + __frcp_rn(a) + __fdividef(a, b) + tanhf(a);
    x += __fsqrt_rn(a) + __fsqrt_rz(b) + __fdiv_rz(a, k) + fabsf(a) + fminf(a, k) + fmaxf(b, 3.f);
    x += floorf(a) + ceilf(b) + rintf(a) + truncf(b) + fmodf(a, b) + copysignf(a, b) + ldexpf(a, 3);
    x += erff(a) + powf(a, b) + cbrtf(a) + expf(b) + logf(a) + tanf(b) + __saturatef(a) + atanf(b);
    x += __fadd_rz(a, b) + __fmul_ru(a, b) + __fmaf_rd(a, b, k) + fdimf(a, b) + hypotf(a, b);
    asm volatile("ex2.approx.ftz.f32 %0,%0;" : "+f"(x));
    asm volatile("rcp.approx.ftz.f32 %0,%0;" : "+f"(x));
    asm volatile("tanh.approx.f32 %0,%0;" : "+f"(x));
    asm volatile("lg2.approx.f32 %0,%0;" : "+f"(x));
    asm volatile("rsqrt.approx.ftz.f32 %0,%0;" : "+f"(x));
    asm volatile("sqrt.approx.ftz.f32 %0,%0;" : "+f"(x));
    o[t] = isnan(x) ? a : isinf(x) ? b : x;
    o[t + 1] = a > b && x < k || a != k ? x * k + 2.f : x * 2.f + k;
}

KERNEL double_functions(double *o, const double *i, double k)
{
    int t = threadIdx.x;
    double a = i[t], b = i[t + 1];
    o[t] = sqrt(a) + exp(b) + log(a) + a / b + fma(a, b, k) + fma(a, k, b) + fmin(a, b) + fabs(b);
    o[t + 1] = floor(a) + rint(b) + (a > b ? a : k) + a * 2.5 + (b + 1.0) + 1.0 / a + rsqrt(b);
    o[t + 2] = __dadd_rz(a, k) + __dmul_ru(a, 3.0) + __fma_rd(a, 3.0, b) + sin(a) + pow(a, b);
}

KERNEL conversions(void *out, const void *in, int k, float fk, double dk)
{
    int t = threadIdx.x;
    const int i = ((const int *)in)[t];
    const u64 w = ((const u64 *)in)[t];
    const float f = ((const float *)in)[t], g = ((const float *)in)[t + 1];
    const double d = ((const double *)in)[t];
    const half h = ((const half *)in)[t];
    const half2 hh = ((const half2 *)in)[t];
    const __nv_bfloat16 b = ((const __nv_bfloat16 *)in)[t];
    float *of = (float *)out + 40 * t;
    int *oi = (int *)out + 40 * t + 20;
    double *od = (double *)out + 2000 + 40 * t;
    half2 *oh = (half2 *)out + 9000 + 40 * t;
    of[0] = (float)i, of[1] = (float)(u32)i, of[2] = (float)w, of[3] = (float)(int64_t)w;
    of[4] = (float)d, of[5] = __half2float(h), of[6] = __bfloat162float(b), of[7] = (float)(short)i;
    of[8] = (float)(uint8_t)i, of[9] = (float)(int8_t)k, of[10] = (float)k, of[11] = (float)dk;
    of[12] = __int_as_float(i << 16), of[13] = __low2float(hh), of[14] = __high2float(hh);
    oi[0] = (int)f, oi[1] = (u32)g, oi[2] = (int)d, oi[3] = __float2int_rn(f), oi[4] = (short)g;
    oi[5] = __half2int_rn(h), oi[6] = (uint8_t)f, oi[7] = __float2uint_rd(fk), oi[8] = (int)dk;
    oi[9] = __double2hiint(d), oi[10] = __half_as_short(__int2half_rn(i)), oi[11] = (int8_t)f;
    ((u64 *)oi)[6] = (u64)f, ((int64_t *)oi)[7] = (int64_t)d, ((u64 *)oi)[8] = __half2ull_rz(h);
    od[0] = i, od[1] = (double)w, od[2] = f, od[3] = (double)(int64_t)w, od[4] = (u32)k, od[5] = fk;
    od[6] = __half2float(h);
    oh[0] = __floats2half2_rn(f, g), oh[1] = __float2half2_rn(fk), oh[2] = __hfma2(hh, hh, oh[9]);
    oh[3] = h2exp2(hh), oh[4] = h2rcp(hh), oh[5] = h2tanh(hh), oh[6] = h2sqrt(hh),
    oh[7] = h2log2(hh);
    oh[8] = __hmax2(hh, oh[1]), oh[9] = __habs2(hh), oh[10] = __hfma2_relu(hh, hh, hh);
    oh[11] = h2rint(hh), oh[12] = h2floor(hh), oh[13] = __hgt2(hh, oh[1]), oh[14] = h2exp(hh);
    ((half *)oh)[37] = hexp2(h);
    oh[15] = __halves2half2(h, __float2half_rz(g)), oh[16] = __hmul2(hh, __float2half2_rn(2.f));
    __nv_bfloat162 *ob = (__nv_bfloat162 *)oh + 20;
    ob[0] = __floats2bfloat162_rn(f, g);
#if ARCH >= 80
    ob[1] = __hfma2(ob[5], ob[6], ob[7]), ob[2] = h2exp2(ob[8]);
    ob[3] = __hmax2(ob[5], ob[6]), ob[4] = __bfloat162bfloat162(b), ob[9] = __hadd2(ob[5], ob[6]);
    ob[10] = __hmul2(ob[5], ob[6]), ob[11] = __hgt2(ob[5], ob[6]), ob[12] = h2tanh(ob[5]);
    ob[13] = __float2bfloat162_rn(fk), ob[14] = __hfma2_relu(ob[5], ob[6], ob[7]);
#endif
#if ARCH >= 89
    ((__nv_fp8x2_storage_t *)out)[t] =
        __nv_cvt_float2_to_fp8x2(make_float2(f, g), __NV_SATFINITE, __NV_E4M3);
    ((__half2_raw *)out)[t + 7] = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)i, __NV_E5M2);
    ((__nv_fp8x2_storage_t *)out)[t + 99] =
        __nv_cvt_halfraw2_to_fp8x2(hh, __NV_SATFINITE, __NV_E4M3);
#endif
#if ARCH >= 80
    u32 tf;
    asm volatile("cvt.rna.tf32.f32 %0,%1;" : "=r"(tf) : "f"(f));
    asm volatile("cvt.rn.relu.f16x2.f32 %0,%1,%2;" : "+r"(tf) : "f"(f), "f"(g));
    oi[19] = (int)tf;
#endif
}

/* Memory: every width, space, cache operator and ordering. */
#define LD(type, reg, op, space, ptr)                                                              \
    {                                                                                              \
        type v_;                                                                                   \
        asm volatile("ld" op " %0,[%1+16];" : "=" reg(v_) : space(ptr) : "memory");                \
        asm volatile("st.volatile.global.b32 [%0],%1;" ::"l"(out), "r"((u32)v_) : "memory");       \
    }
#define LD4(op, space, ptr)                                                                        \
    {                                                                                              \
        u32 a_, b_, c_, d_;                                                                        \
        asm volatile("ld" op " {%0,%1,%2,%3},[%4];"                                                \
                     : "=r"(a_), "=r"(b_), "=r"(c_), "=r"(d_)                                      \
                     : space(ptr)                                                                  \
                     : "memory");                                                                  \
        asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};" ::"l"(out), "r"(a_), "r"(b_), "r"(c_), \
                     "r"(d_)                                                                       \
                     : "memory");                                                                  \
    }
KERNEL loads(u32 *out, char *in, u32 k)
{
    __shared__ char s[4096];
    u32 sa = (u32)__cvta_generic_to_shared(s) + threadIdx.x * k;
    in += threadIdx.x * 8;
    LD(u32, "r", ".global.u8", "l", in)
    LD(u32, "r", ".global.s8", "l", in) LD(u32, "r", ".global.u16", "l", in) LD(
        u32, "r", ".global.u32", "l", in) LD(u64, "l", ".global.u64", "l", in)
        LD(u32, "r", ".global.nc.u32", "l", in) LD(u32, "r", ".global.ca.u32", "l", in) LD(
            u32, "r", ".global.cg.u32", "l", in) LD(u64, "l", ".global.cg.u64", "l", in)
            LD(u64, "l", ".global.cv.u64", "l", in) LD(u32, "r", ".global.cs.u32", "l", in) LD(
                u32, "r", ".global.lu.u32", "l", in) LD(u32, "r", ".volatile.global.u32", "l", in)
                LD(u32, "r", ".relaxed.gpu.global.u32", "l",
                   in) LD(u32, "r", ".acquire.gpu.global.u32", "l",
                          in) LD(u32, "r", ".acquire.sys.global.u32", "l",
                                 in) LD(u32, "r", ".global.L1::no_allocate.u32", "l", in)
                    LD(u32, "r", ".u32", "l", in) LD(u64, "l", ".u64", "l", in)
                        LD(u32, "r", ".u8", "l", in) LD(u32, "r", ".volatile.u32", "l", in)
                            LD(u32, "r", ".shared.u8", "r",
                               sa) LD(u32, "r", ".shared.s16", "r",
                                      sa) LD(u32, "r", ".shared.u32", "r", sa)
                                LD(u64, "l", ".shared.u64", "r",
                                   sa) LD(u32, "r", ".volatile.shared.u32", "r", sa)
                                    LD4(".global.v4.u32", "l", in) LD4(".shared.v4.u32", "r", sa)
                                        LD4(".global.nc.v4.u32", "l", in)
                                            LD4(".global.cg.v4.u32", "l", in)
                                                LD4(".v4.u32", "l", in)
                                                    LD4(".global.cs.v4.u32", "l", in) asm volatile(
                                                        "prefetch.global.L2 [%0];" ::"l"(in));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(in));
    asm volatile("prefetchu.L1 [%0];" ::"l"(in));
#if ARCH >= 80
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    asm volatile("createpolicy.range.L2::evict_last.L2::evict_first.b64 %0,[%1],4096,8192;"
                 : "=l"(policy)
                 : "l"(in));
    u32 v;
    asm volatile("ld.global.L2::cache_hint.u32 %0,[%1],%2;" : "=r"(v) : "l"(in), "l"(policy));
    out[9] = v;
    asm volatile("st.global.L2::cache_hint.u32 [%0],%1,%2;" ::"l"(in), "r"(v), "l"(policy));
    asm volatile("discard.global.L2 [%0],128;" ::"l"(in));
    asm volatile("applypriority.global.L2::evict_normal [%0],128;" ::"l"(in));
    asm volatile("ld.global.L2::128B.u32 %0,[%1];" : "=r"(v) : "l"(in));
    out[10] = v;
#endif
#if ARCH >= 100
    u64 a, b, c, d;
    asm volatile("ld.global.v4.u64 {%0,%1,%2,%3},[%4];"
                 : "=l"(a), "=l"(b), "=l"(c), "=l"(d)
                 : "l"(in));
    asm volatile("st.global.v4.u64 [%0],{%1,%2,%3,%4};" ::"l"(out), "l"(a), "l"(b), "l"(c), "l"(d));
#endif
}

#define ST(op, space, ptr, reg, val)                                                               \
    asm volatile("st" op " [%0],%1;" ::space(ptr), reg(val) : "memory");
KERNEL stores(char *out, u32 v, u64 w, u32 k)
{
    __shared__ char s[4096];
    u32 sa = (u32)__cvta_generic_to_shared(s) + threadIdx.x * k;
    v += threadIdx.x, w += v;
    ST(".global.u8", "l", out, "r", v)
    ST(".global.u16", "l", out, "r", v) ST(".global.u32", "l", out, "r", v)
        ST(".global.u64", "l", out, "l", w) ST(".global.cg.u32", "l", out, "r", v)
            ST(".global.cs.u64", "l", out, "l", w) ST(".global.wt.u32", "l", out, "r", v)
                ST(".volatile.global.u32", "l", out, "r", v)
                    ST(".relaxed.gpu.global.u32", "l", out, "r", v) ST(".release.gpu.global.u32",
                                                                       "l", out, "r", v)
                        ST(".release.sys.global.u32", "l", out, "r", v) ST(".u32", "l", out, "r", v)
                            ST(".u64", "l", out, "l", w) ST(".shared.u8", "r", sa, "r", v)
                                ST(".shared.u16", "r", sa, "r", v)
                                    ST(".shared.u32", "r", sa, "r", v)
                                        ST(".shared.u64", "r", sa, "l", w) asm volatile(
                                            "st.shared.v4.u32 [%0],{%1,%1,%1,%1};" ::"r"(sa), "r"(v)
                                            : "memory");
    asm volatile("st.v4.u32 [%0],{%1,%1,%1,%1};" ::"l"(out), "r"(v) : "memory");
    __syncthreads();
    ((int *)out)[threadIdx.x] = s[threadIdx.x * 3];
}

__constant__ int table[1024];
__device__ int global_table[1024];
KERNEL spaces(int *out, int k, const __grid_constant__ int4 p)
{
    int stack[64];
    __shared__ int s[256];
    extern __shared__ int dynamic[];
    for (int i = 0; i < 64; i++)
        stack[i] = out[i + threadIdx.x];
    for (int i = 0; i < k; i++)
        stack[out[i] & 63] += table[(i * out[i]) & 1023] + global_table[i];
    s[threadIdx.x] = stack[k & 63];
    dynamic[threadIdx.x] = stack[(k + 1) & 63];
    __syncthreads();
    int *q = k & 1 ? s : k & 2 ? stack : out;
    out[threadIdx.x] = q[threadIdx.x & 63] + stack[threadIdx.x & 63] + s[k] + dynamic[k ^ 1] + p.z;
    ((int64_t *)stack)[k & 31] = out[3];
    ((int4 *)stack)[(k + 3) & 15] = ((int4 *)out)[k];
    ((int4 *)out)[9] = ((int4 *)stack)[k & 7];
    ((int64_t *)out)[9] = ((int64_t *)stack)[k & 15];
    ((char *)stack)[k & 127] = (char)k;
    out[8] = ((char *)stack)[out[7] & 127] + *(int *)((char *)&table[0] + out[4] * 4) + k;
}

/* Atomics and reductions in every space, with and without a result. */
KERNEL atomics(int *g, u64 *w, float *f, double *d, half2 *h, int k, u64 m)
{
    __shared__ int s[64];
    __shared__ u64 sw[64];
    __shared__ float sf[64];
    int t = threadIdx.x;
    s[t] = k, sw[t] = m, sf[t] = 1.f;
    __syncthreads();
    atomicAdd(g + t, k), atomicMax(g + t, k), atomicXor(g + t, k), atomicAdd(w + t, m);
    atomicAdd(f + t, 1.5f), atomicAdd(d + t, 2.0), atomicAdd(h + t, __float2half2_rn(1.f));
    atomicAdd((half *)h + 5, __float2half(1.f)), atomicMin(w + 3, m), atomicAnd(w + 1, m);
    g[t + 100] = atomicAdd(g + t, k) + atomicMin(g + t + 1, k) + atomicExch(g + 2, t) +
                 atomicInc((u32 *)g, 5u);
    g[t + 200] = atomicCAS(g + t, k, t) + atomicAnd(g + 9, k) + atomicDec((u32 *)g + 3, (u32)k);
    w[t + 100] = atomicAdd(w + t, m) + atomicCAS(w + t, m, 7ull) + atomicExch(w + 3, m);
    f[t + 100] = atomicAdd(f + t, 1.f);
    d[t + 100] = atomicAdd(d + t, 1.);
    g[300] =
        atomicAdd(s + t, k) + atomicCAS(s + 3, k, t) + atomicMax(s + 5, k) + atomicExch(s + 7, k);
    atomicAdd(s + 1, k), atomicAdd(sf + 2, 1.f), atomicAdd(sw + 3, m), atomicOr(s + 2, 4),
        atomicInc((u32 *)s, 4u);
    w[300] = atomicAdd(sw + t, m) + atomicCAS(sw + 4, m, 3ull) + atomicExch(sw + 6, m) +
             atomicMax(sw + 7, m);
    f[300] = atomicAdd(sf + t, 2.f);
    int *p = k & 1 ? s : g;
    g[301] = atomicAdd(p, k) + atomicCAS(p + 1, k, t) + atomicExch(p + 2, 3);
    atomicAdd(p + 3, 5);
    int old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0,[%1],%2;"
                 : "=r"(old)
                 : "l"(g), "r"(k)
                 : "memory");
    asm volatile("atom.relaxed.sys.global.cas.b32 %0,[%1],%2,%3;"
                 : "+r"(old)
                 : "l"(g), "r"(k), "r"(t)
                 : "memory");
    asm volatile("red.release.gpu.global.add.u32 [%0],%1;" ::"l"(g), "r"(old) : "memory");
    asm volatile("red.relaxed.gpu.global.add.u32 [%0],%1;" ::"l"(g), "r"(1) : "memory");
    asm volatile("atom.global.cta.add.u32 %0,[%1],%2;" : "=r"(old) : "l"(g), "r"(k) : "memory");
    g[302] = old;
#if ARCH >= 90
    asm volatile("red.global.add.v4.f32 [%0],{%1,%1,%1,%1};" ::"l"(f), "f"(1.f) : "memory");
    u64 lo = m, hi = m;
    asm volatile("{.reg .b128 a,b,c; mov.b128 a,{%0,%1}; mov.b128 b,{%1,%0}; atom.global.cas.b128 "
                 "c,[%2],a,b; mov.b128 {%0,%1},c;}"
                 : "+l"(lo), "+l"(hi)
                 : "l"(w)
                 : "memory");
    w[301] = lo + hi;
#endif
}

/* Warp, block, cluster and grid: shuffles, votes, barriers, fences, special registers. */
KERNEL warp(int *o, const int *i, int k)
{
    int t = threadIdx.x, x = i[t];
    x += __shfl_sync(~0u, x, 3) + __shfl_sync(~0u, x, k) + __shfl_xor_sync(~0u, x, 16);
    x +=
        __shfl_down_sync(~0u, x, 1, 8) + __shfl_up_sync(~0u, x, k) + __shfl_xor_sync(~0u, x, t & 7);
    x += __shfl_sync(~0u, x, t, k) + __shfl_sync(0xff, x, x);
    x += __ballot_sync(~0u, x > 3) + __any_sync(~0u, x) + __all_sync(~0u, x) + __activemask();
    x += __match_any_sync(~0u, x) + __popc(__ballot_sync(~0u, x & 1));
    int pred;
    x += __match_all_sync(~0u, x, &pred) + pred;
#if ARCH >= 80
    x += __reduce_add_sync(~0u, x) + __reduce_max_sync(~0u, x) + __reduce_or_sync(~0u, x);
#endif
    __syncwarp();
    if (x & 1)
        x += __shfl_xor_sync(__activemask(), x, 1);
    __syncwarp(0xffff);
    u32 mask;
    asm volatile("mov.u32 %0,%%lanemask_lt;" : "=r"(mask));
    x += mask;
    asm volatile("mov.u32 %0,%%lanemask_ge;" : "=r"(mask));
    x += mask;
    if (__shfl_sync(~0u, x, 0) == k)
        o[9] = k;
    o[t] = x;
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    o[t + 1] = tile.shfl_xor(x, 3) + tile.any(x) + tile.thread_rank();
    auto active = cg::coalesced_threads();
    o[t + 2] = active.shfl(x, 0) + active.size();
}

KERNEL barriers(int *o, int k)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = o[t];
    __syncthreads();
    o[t] = s[t ^ 1] + __syncthreads_count(s[t]) + __syncthreads_or(s[t]) + __syncthreads_and(k);
    asm volatile("bar.sync 1,64;" ::: "memory");
    asm volatile("bar.arrive 2,64;" ::: "memory");
    asm volatile("barrier.sync %0,%1;" ::"r"(k), "r"(k * 32) : "memory");
    asm volatile("bar.sync %0,128;" ::"r"(t >> 5) : "memory");
    asm volatile("bar.sync 3,%0; bar.arrive 4,%0;" ::"r"(k * 32) : "memory");
    asm volatile("{.reg .pred p; setp.ne.s32 p,%0,3; bar.red.popc.u32 %0,3,p;}" : "+r"(k));
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("fence.sc.cta;" ::: "memory");
    __nanosleep(100);
    __nanosleep((u32)k);
    if (o[5] == 77)
        __trap();
    if (o[6] == 77)
        __brkpt();
    asm volatile("pmevent 1;");
    if (o[7] == 78)
        asm volatile("exit;");
    o[t + 3] = s[t ^ 2];
}

KERNEL grid_sync(int *o)
{
    cg::this_grid().sync();
    o[cg::this_grid().thread_rank()] += 1;
    cg::this_grid().sync();
    cg::this_thread_block().sync();
    o[1] = cg::this_thread_block().size();
}

#define SREG32(n)                                                                                  \
    asm volatile("mov.u32 %0,%%" n ";" : "=r"(v));                                                 \
    o[j++] = v;
#define SREG64(n)                                                                                  \
    asm volatile("mov.u64 %0,%%" n ";" : "=l"(w));                                                 \
    o[j++] = w;
KERNEL special_registers(u64 *o)
{
    u32 v;
    u64 w;
    int j = 0;
    SREG32("clock")
    SREG32("clock_hi") SREG64("clock64") SREG64("globaltimer") SREG32("globaltimer_lo")
        SREG32("globaltimer_hi") SREG32("smid") SREG32("nsmid") SREG32("warpid") SREG32("nwarpid")
            SREG32("laneid") SREG64("gridid") SREG32("tid.x") SREG32("tid.y") SREG32("tid.z")
                SREG32("ctaid.x") SREG32("ctaid.y") SREG32("ctaid.z") SREG32("ntid.x")
                    SREG32("nctaid.x") SREG32("total_smem_size") SREG32("dynamic_smem_size")
                        SREG32("pm0") SREG64("pm0_64") SREG32("envreg1") SREG32("clock")
                            SREG64("clock64") o[j++] = clock() + clock64();
#if ARCH >= 90
    SREG32("clusterid.x")
    SREG32("cluster_ctarank") SREG32("cluster_nctaid.x") SREG32("nclusterid.x")
#endif
}

/* A clock read under a spin, a budget by the global timer, uniform conditions. */
KERNEL spin(u64 *o, u64 cycles, volatile int *flag, int k)
{
    u64 t0 = clock64(), g0, g;
    asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(g0));
    while (clock64() - t0 < cycles)
        ;
    u32 c = clock();
    do {
        asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(g));
    } while (*flag != k && g - g0 < 1000000);
    o[0] = clock64() - t0;
    o[1] = clock() - c;
    if (threadIdx.x == 0 && k > 3)
        while (atomicAdd((int *)flag, 0) < k)
            __nanosleep(20);
    o[2] = g;
}

/* Control flow: switch tables, calls, recursion, function pointers, divergence, early exits. */
__device__ __noinline__ int called(int a, int b)
{
    return a * b + (a > 3 ? __popc(b) : a / b);
}
__device__ __noinline__ int recursive(int a)
{
    return a < 2 ? 1 : recursive(a - 1) + recursive(a - 2) * called(a, 3);
}
typedef int (*function)(int, int);
__device__ int plus(int a, int b)
{
    return a + b;
}
__device__ int minus(int a, int b)
{
    return a - b;
}
__device__ function functions[2] = { plus, minus };
KERNEL control_flow(int *o, int n, float *f)
{
    int t = threadIdx.x, x = o[t];
    if (t >= n)
        return;
    switch (o[t + 1]) {
    case 0:
        x += 5;
        break;
    case 1:
        x = called(x, n);
        break;
    case 2:
        x ^= o[3];
        break;
    case 3:
        x = x * o[4] + 3;
        break;
    case 4:
        f[1] = sqrtf(f[t]);
        break;
    case 5:
        f[2] = f[t] / f[t + 1];
        break;
    case 6:
        x = __brev(x);
        break;
    case 7:
        x = x / n;
        break;
    case 8:
        o[99] = x;
        return;
    default:
        x = 9;
    }
    for (int i = 0; i < x; i++) {
        if (o[i] == t)
            break;
        if (o[i] == n)
            continue;
        while (o[i] < x)
            x = called(x, i);
    }
    x += functions[x & 1](x, n) + recursive(x & 7);
    if (x > 5 && (t & 1) || n < 3 && o[8] > o[9])
        x += o[x];
    bool p = x > n, q = o[11] < t, r = (x & 3) == 2;
    o[t] = (p ^ q) && (q || !r) ? x : p + q * 2 + r * 4;
    if (o[50] == 3)
        printf("%d\n", x);
    assert(o[51] != 4);
}

KERNEL allocate(void **o, int n)
{
    void *p = malloc((size_t)n);
    o[threadIdx.x] = p;
    free(o[threadIdx.x + 1]);
    char *a = (char *)alloca((size_t)n);
    for (int i = 0; i < n; i++)
        a[i] = ((char *)o)[i];
    o[5] = (void *)(uintptr_t)a[n / 2];
    memcpy(o + 10, p, 64);
    memset(o + 20, 3, (size_t)n);
}

/* Uniform data path: everything here depends on the block or the arguments alone. */
KERNEL uniform(int *o, const int *i, int n, int stride, u64 bytes, float fk, u64 *w)
{
    int b = blockIdx.x * stride + n, limit = (int)(bytes / 64) + b;
    for (int j = b; j < limit; j += gridDim.x) {
        int m = (j * n) ^ (stride << (j & 7)), z = __popc(m) + __clz(m) + min(j, n) + max(m, 5);
        z += (m >> 3) + (int)((u32)m >> (j & 3)) + __brev(j) + __byte_perm(j, m, 0x3210) + abs(m);
        z += j % 7 + j / n + __ffs(j) + (j & n | m) + __funnelshift_l(j, m, 5) + (m > 3 ? j : n);
        if (z > n && (m & 1) == 0)
            o[j * blockDim.x + threadIdx.x] = i[z + threadIdx.x] + (int)((float)z * fk);
        w[(u64)j * bytes + threadIdx.x] = (u64)z * bytes + (bytes >> (z & 31)) + (bytes << 3);
        if (blockIdx.y > 3 || (bytes & 1))
            break;
        if (table[j & 1023] > z)
            w[4] = (u64)((double)j * fk);
    }
}

/* Tensor cores: wmma, mma of each type, ldmatrix, asynchronous copies, and Hopper's units. */
#define MMA(name, shape, a, b, d)                                                                  \
    asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"   \
                 : "+" d(c0), "+" d(c1), "+" d(c2), "+" d(c3)                                      \
                 : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5));
KERNEL tensor(float *o, const u32 *i)
{
    __shared__ alignas(128) char s[8192];
    u32 t = threadIdx.x, x0 = i[t], x1 = i[t + 1], x2 = i[t + 2], x3 = i[t + 3], x4 = i[t + 4],
        x5 = i[t + 5];
    u32 sa = (u32)__cvta_generic_to_shared(s) + t * 16;
    ((u32 *)s)[t] = x0;
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3)
                 : "r"(sa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1},[%2];"
                 : "=r"(x4), "=r"(x5)
                 : "r"(sa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%1];" : "=r"(x4) : "r"(sa + x5));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0,%0;" : "+r"(x4));
    float f0 = o[0], f1 = o[1], f2 = o[2], f3 = o[3];
    {
        float c0 = f0, c1 = f1, c2 = f2, c3 = f3;
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                     : "r"(x0), "r"(x1), "r"(x4));
        o[4] = c0 + c1 + c2 + c3;
#if ARCH >= 80
        MMA(a, "m16n8k16.row.col.f32.f16.f16.f32", 0, 0, "f")
        MMA(a, "m16n8k16.row.col.f32.bf16.bf16.f32", 0, 0, "f")
        MMA(a, "m16n8k8.row.col.f32.tf32.tf32.f32", 0, 0, "f")
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                     "{%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};"
                     : "+r"(x0), "+r"(x1)
                     : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5));
        u32 e = x3;
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%4,%5},{%0,%1,%2,%3},%10,0x0;"
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                     : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(e));
#endif
#if ARCH >= 89
        MMA(a, "m16n8k32.row.col.f32.e4m3.e4m3.f32", 0, 0, "f")
        MMA(a, "m16n8k32.row.col.f32.e5m2.e4m3.f32", 0, 0, "f")
#endif
#if ARCH == 120 && defined(__CUDA_ARCH_FEAT_SM120_ALL)
        MMA(a, "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", 0, 0, "f")
#endif
        f0 = c0 + c1, f1 = c2 + c3;
    }
    {
        int c0 = (int)x0, c1 = (int)x1, c2 = (int)x2, c3 = (int)x3;
#if ARCH >= 80
        MMA(a, "m16n8k32.row.col.s32.s8.s8.s32", 0, 0, "r")
        MMA(a, "m16n8k64.row.col.s32.s4.s4.s32", 0, 0, "r")
        MMA(a, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 0, 0, "r")
        MMA(a, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", 0, 0, "r")
        double d0 = f0, d1 = f1;
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                     : "+d"(d0), "+d"(d1)
                     : "d"((double)f2), "d"((double)f3));
        o[9] = (float)(d0 + d1);
#else
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1},{%2},{%3},{%0,%1};"
                     : "+r"(c0), "+r"(c1)
                     : "r"(x0), "r"(x4));
#endif
        o[t] = f0 + f1 + f2 + f3 + (float)(c0 + c1 + c2 + c3) + __uint_as_float(x0 + x1);
    }
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, (half *)s, 16);
    wmma::load_matrix_sync(fb, (const half *)i, 16);
    wmma::fill_fragment(fc, 0.f);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(o + 999, fc, 16, wmma::mem_row_major);
}

#if ARCH >= 80
KERNEL async_copy(int *o, const char *g, int n)
{
    __shared__ alignas(128) char s[8192];
    __shared__ u64 bar;
    u32 sa = (u32)__cvta_generic_to_shared(s) + threadIdx.x * 16;
    u32 b = (u32)__cvta_generic_to_shared(&bar);
    asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(sa), "l"(g) : "memory");
    asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"(sa), "l"(g) : "memory");
    asm volatile("cp.async.ca.shared.global [%0],[%1],8,%2;" ::"r"(sa), "l"(g), "r"(n) : "memory");
    asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16,%2;" ::"r"(sa), "l"(g), "r"(n)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(b), "r"(n) : "memory");
    __syncthreads();
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(b) : "memory");
    u64 token;
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(token) : "r"(b) : "memory");
    u32 done;
    do {
        asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                     : "=r"(done)
                     : "r"(b), "l"(token)
                     : "memory");
    } while (!done);
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b) : "memory");
    o[threadIdx.x] = s[threadIdx.x ^ 3];
}
#endif

#if ARCH >= 90
KERNEL __cluster_dims__(2, 1, 1)
    cluster(int *o, char *g, const __grid_constant__ int4 map[8], int n)
{
    __shared__ alignas(128) char s[8192];
    __shared__ u64 bar;
    u32 sa = (u32)__cvta_generic_to_shared(s), b = (u32)__cvta_generic_to_shared(&bar);
    auto c = cg::this_cluster();
    ((int *)s)[threadIdx.x] = n;
    c.sync();
    int *peer = c.map_shared_rank((int *)s, 1);
    o[0] = peer[threadIdx.x];
    atomicAdd(peer + 1, 3);
    o[1] = atomicAdd(peer + 2, 3);
    u32 pa, v;
    asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(pa) : "r"(sa), "r"(n));
    asm volatile("ld.shared::cluster.u32 %0,[%1];" : "=r"(v) : "r"(pa) : "memory");
    asm volatile("st.shared::cluster.u32 [%0],%1;" ::"r"(pa), "r"(v) : "memory");
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" ::"r"(pa), "r"(v),
        "r"(pa)
        : "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
    asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(b) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],4096;" ::"r"(b) : "memory");
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0],%1;" ::"r"(b), "r"(n)
                 : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%0];" ::"r"(pa)
                 : "memory");
    asm volatile("mbarrier.arrive.shared.b64 _,[%0],%1;" ::"r"(b), "r"(n) : "memory");
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0],[%1],%2,[%3];" ::"r"(sa),
                     "l"(g), "r"(4096), "r"(b)
                     : "memory");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" ::"l"(g), "r"(sa),
                     "r"(n)
                     : "memory");
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0],[%1],%2;" ::"l"(g),
            "r"(sa), "r"(n)
            : "memory");
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                     "[%0],[%1],%2,[%3];" ::"r"(pa),
                     "r"(sa), "r"(n), "r"(pa)
                     : "memory");
        asm volatile("cp.async.bulk.prefetch.L2.global [%0],%1;" ::"l"(g), "r"(n) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                     "bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(sa),
                     "l"(map), "r"(n), "r"(n), "r"(b)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
            "multicast::cluster.L2::cache_hint [%0],[%1,{%2,%3,%3}],[%4],%5,%6;" ::"r"(sa),
            "l"(map), "r"(n), "r"(n), "r"(b), "h"((short)3), "l"((u64)n)
            : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0,{%1,%2}],[%3];" ::"l"(map),
            "r"(n), "r"(n), "r"(sa)
            : "memory");
        asm volatile(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0,{%1,%2}],[%3];" ::
                "l"(map),
            "r"(n), "r"(n), "r"(sa)
            : "memory");
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0,{%1,%2}];" ::"l"(map), "r"(n),
                     "r"(n)
                     : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0],128;" ::"l"(g) : "memory");
        asm volatile("fence.proxy.alias;" ::: "memory");
    }
    asm volatile(
        "{.reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p,[%0],%1; @!p bra L;}" ::"r"(b),
        "r"(n & 1)
        : "memory");
    u32 ok;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
                 "p,[%1],%2,%3; selp.u32 %0,1,0,p;}"
                 : "=r"(ok)
                 : "r"(b), "r"(0), "r"(1000)
                 : "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%1,%1,%1};" ::"r"(sa), "r"(v)
                 : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0],{%1,%1};" ::"r"(sa), "r"(v)
                 : "memory");
    asm volatile("{.reg .pred p; elect.sync _|p,0xffffffff; selp.u32 %0,1,0,p;}" : "=r"(v));
    o[3] = (int)(v + ok) + s[threadIdx.x ^ 5];
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
KERNEL __launch_bounds__(384, 1) wgmma(float *o, u64 da, u64 db, int n)
{
    float d[4] = { 0, 0, 0, 0 };
    u32 a = (u32)n;
    int e[4] = { 0, 0, 0, 0 };
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        o[threadIdx.x + 9000] = (float)n;
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
    for (int i = 0; i < n; i++, da += 2, db += 2) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3},%4,%5,1,1,1,0,0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "l"(da), "l"(db));
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                     "{%0,%1,%2,%3},{%4,%4,%4,%4},%5,1,1,1,0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a), "l"(db));
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0,%1,%2,%3},%4,%5,1,1,1;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(da), "l"(db));
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3},%4,%5,1,1,1;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "l"(da), "l"(db));
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 "
                     "{%0,%1,%2,%3},{%4,%4,%4,%4},%5,1,1,1;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a), "l"(db));
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3},%4,%5,1;"
                     : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
                     : "l"(da), "l"(db));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    o[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + (float)(e[0] + e[1] + e[2] + e[3]);
}
#endif

/* Packed 32-bit floats and three-input operations of the newest architectures. */
#if ARCH >= 100
KERNEL packed(float2 *o, const float2 *i, float k)
{
    float2 a = i[threadIdx.x], b = i[threadIdx.x + 1], c = i[threadIdx.x + 2];
    u64 &x = (u64 &)a, &y = (u64 &)b, &z = (u64 &)c;
    asm volatile("fma.rn.f32x2 %0,%0,%1,%2;" : "+l"(x) : "l"(y), "l"(z));
    asm volatile("add.rn.f32x2 %0,%0,%1;" : "+l"(x) : "l"(y));
    asm volatile("mul.rn.f32x2 %0,%0,%1;" : "+l"(x) : "l"(y));
    asm volatile("max.f32 %0,%0,%1,%2;" : "+f"(a.x) : "f"(b.x), "f"(k));
    o[threadIdx.x] = a;
}
#endif

/* Textures, surfaces, packing conversions, many predicates at once, in-switch reductions. */
KERNEL textures(float4 *o, cudaTextureObject_t tex, cudaSurfaceObject_t surf, int k)
{
    int t = threadIdx.x;
    o[t] = tex1Dfetch<float4>(tex, t);
    o[t + 1] = tex2D<float4>(tex, (float)t, (float)k);
    o[t + 2] = tex3D<float4>(tex, (float)t, (float)k, 1.f);
    o[t + 3] = tex2DLod<float4>(tex, (float)t, (float)k, 2.f);
    o[t + 4].x = surf2Dread<float>(surf, t * 4, k);
    surf2Dwrite(o[t + 5].x, surf, t * 4, k);
}

KERNEL predicates(int *o, const float *f, int n)
{
    int t = threadIdx.x, x = 0;
    bool p[12];
    for (int i = 0; i < 12; i++)
        p[i] = f[t + i] > (float)i;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 12; i++)
            if (p[i])
                x += o[k + i], p[i] = p[(i + 5) % 12] ^ (x > i);
            else if (p[(i + 1) % 12])
                o[i * 9 + k] = x;
    for (int i = 0; i < 12; i++)
        x = x * 2 + p[i];
    asm volatile("cvt.pack.sat.u8.s32.b32 %0,%0,%1,%0;" : "+r"(x) : "r"(n));
    asm volatile("cvt.pack.sat.s16.s32 %0,%0,%1;" : "+r"(x) : "r"(n));
    asm volatile("vabsdiff4.u32.u32.u32.add %0,%0,%1,%1;" : "+r"(x) : "r"(n));
    asm volatile("vset4.u32.u32.gt %0,%0,%1,%1;" : "+r"(x) : "r"(n));
    o[t] = x;
#if ARCH >= 90
    float v;
    asm volatile("multimem.ld_reduce.relaxed.gpu.global.add.f32 %0,[%1];"
                 : "=f"(v)
                 : "l"(f)
                 : "memory");
    asm volatile("multimem.st.relaxed.gpu.global.f32 [%0],%1;" ::"l"(o), "f"(v) : "memory");
    asm volatile("multimem.red.relaxed.gpu.global.add.f32 [%0],%1;" ::"l"(o), "f"(v) : "memory");
#endif
}

/* More conditions are alive than there are predicate registers: they are packed (P2R) and
 * unpacked. */
KERNEL packed_predicates(int *o, const int *in, int n, int m)
{
    int v[16], rank[16], t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < 16; i++)
        v[i] = in[i * 32 + t];
#pragma unroll
    for (int i = 0; i < 16; i++)
        rank[i] = v[i] < n && (i == 0 || v[i] != v[i - 1]) ? atomicAdd(o + v[i], 1) : -1;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (v[i] < n && (i == 0 || v[i] != v[i - 1]))
            o[rank[i] + m] = v[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (v[i] > m && t + i * 32 < n)
            o[rank[i] * 2 + 7] += v[i] + __shfl_down_sync(~0u, v[i], 1);
}

/* Bits of a word, and conditions kept over a loop, become predicates at once (R2P). */
KERNEL masks(int *o, const int *in, int n)
{
    int x = 0, mask = in[99 + threadIdx.x];
    bool kept[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            x += in[i * 32 + threadIdx.x];
    o[threadIdx.x] = x;
#pragma unroll
    for (int i = 0; i < 16; i++)
        kept[i] = in[i * 32] > n;
    __syncthreads();
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int i = 0; i < 16; i++)
            if (kept[i])
                atomicAdd(o + i + k, in[k + i]);
        __syncthreads();
    }
}

/* Shuffles with clamp and mask in registers, uniform bit masks and minima. */
KERNEL shuffles(int *o, const int *in, int n, unsigned k)
{
    int x = in[threadIdx.x], c = n << 8 | (int)(threadIdx.x & k);
    asm volatile("shfl.sync.down.b32 %0,%0,1,%1,0xffffffff;" : "+r"(x) : "r"(c));
    asm volatile("shfl.sync.up.b32 %0,%0,%1,%2,0xffffffff;" : "+r"(x) : "r"(n), "r"(c));
    asm volatile("shfl.sync.bfly.b32 %0,%0,%1,31,0xffffffff;" : "+r"(x) : "r"(c));
    o[threadIdx.x] = x;
    for (unsigned b = blockIdx.x; b < k; b += gridDim.x) {
        unsigned mask = (1u << (b & 31)) - 1, low = min(b * 7, k), high = max((int)b, n);
        asm volatile("bmsk.wrap.b32 %0,%1,%2;" : "=r"(mask) : "r"(mask & 31), "r"(b & 31));
        o[(mask ^ low) + high + threadIdx.x] = min((int)mask, (int)low) & ((1 << (n & 31)) - 1);
    }
}

/* Registers beyond what the bounds allow: spills of every width. */
KERNEL __launch_bounds__(1024, 2) spill(float4 *o, const float4 *i, int n)
{
    float4 v[24];
    for (int j = 0; j < 24; j++)
        v[j] = i[j * 77 + threadIdx.x];
    for (int k = 0; k < n; k++)
        for (int j = 0; j < 24; j++)
            v[j].x += v[(j + 1) % 24].y * v[(j + 5) % 24].z, v[j].w *= v[j].x, v[j].z -= v[j].w;
    for (int j = 0; j < 24; j++)
        o[j * 99 + threadIdx.x] = v[j];
}

/* Three registers to the greatest: VIMNMX3 on sm_90a and sm_100. */
KERNEL greatest_of_three(u32 *o, const u32 *i)
{
    u32 x = i[threadIdx.x], y = i[threadIdx.x + 1], z = i[threadIdx.x + 2], w = i[threadIdx.x + 3];
    o[threadIdx.x] = max(max(max(x, y), max(z, w)), max(x * y, z * w));
}

/* Sums over a block, and of what its last thread adds up: UFADD on sm_120. */
KERNEL uniform_sum(float *y, float *part, u32 *ticket, const float *in)
{
    __shared__ float scratch[8];
    float v[64], x = in[blockIdx.x * 256 + threadIdx.x], sum = 0;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        x += __shfl_xor_sync(~0u, x, lanes);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = scratch[0];
#pragma unroll
    for (int i = 1; i < 8; i++)
        x += scratch[i];
    if (threadIdx.x != 0)
        return;
    part[blockIdx.y * 64 + blockIdx.x] = x;
    __threadfence();
    if (atomicAdd(ticket + blockIdx.y, 1u) + 1 < 64)
        return;
    __threadfence();
#pragma unroll
    for (int i = 0; i < 64; i++)
        v[i] = __ldcg(part + blockIdx.y * 64 + i);
#pragma unroll
    for (int i = 0; i < 64; i++)
        sum += v[i];
    y[blockIdx.y] = sum;
    ticket[blockIdx.y] = 0;
}

// A quotient that a bulk copy takes: sm_120 multiplies for its high half in uniform registers.
extern "C" __global__ void uniform_quotient(const void *from, uint32_t columns)
{
#if __CUDA_ARCH__ >= 900
    const uint32_t bytes = 2 * columns / ((columns + 2047) / 2048);
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}
