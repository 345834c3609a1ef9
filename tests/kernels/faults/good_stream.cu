/* Loads that are in flight together, and the control of that check: these kernels must pass on
 * every architecture. Volatile asm keeps their order, but ptxas still moves a load behind a branch
 * that it need not precede: no return, and no condition with a body, stands between the uses. */

#define LOAD2(hint, a, b, p, q)                                                                    \
    asm volatile("ld.global" hint ".v4.u32 {%0, %1, %2, %3}, [%8];\n\t"                            \
                 "ld.global" hint ".v4.u32 {%4, %5, %6, %7}, [%9];"                                \
                 : "=&r"(a.x), "=&r"(a.y), "=&r"(a.z), "=&r"(a.w), "=&r"(b.x), "=&r"(b.y),         \
                   "=&r"(b.z), "=&r"(b.w) : "l"(p), "l"(q))

// sass-loop: ldg128.gpu=2 exits=1 local=0 together moving
// sass-all: ldg128=2 local=0 looped  and the whole kernel has no other
extern "C" __global__ void good_loop(const uint4 *in, unsigned *out, int n)
{
    unsigned sum = 0;

#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const uint4 *p = in + 2 * i * blockDim.x + threadIdx.x;
        uint4 a, b;

        LOAD2(".cg", a, b, p, p + blockDim.x);
        sum ^= b.x ^ b.y ^ b.z ^ b.w ^ a.x ^ a.y ^ a.z ^ a.w;
    }
    out[threadIdx.x] = sum;
}

// sass-all: ldg128na=2 ldg128=2 stg128=2 local=0 together
extern "C" __global__ void good_all(const uint4 *in, uint4 *out, unsigned n)
{
    unsigned i = blockIdx.x * 512 + threadIdx.x;
    uint4 a, b;

    LOAD2(".nc.L1::no_allocate", a, b, in + i, in + i + 256);
    out[i] = make_uint4(a.x + n, a.y, a.z, a.w);
    out[i + 256] = make_uint4(b.x + n, b.y, b.z, b.w);
}
