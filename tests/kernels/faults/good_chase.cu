/*
 * The recipe for a dependent chain between clock reads, and the control of the checker: these
 * kernels must pass on every architecture. What each line is for:
 *
 * - The ring holds pointers (32-bit shared addresses for shared memory), so that a step is one load
 *   and no address arithmetic: "ld %0,[%0]" with "+l" ("+r"), volatile and with a "memory" clobber.
 * - CONSUME compares the loaded value and stores under the predicate, in one asm statement, to an
 *   address that is not loaded between the clocks. Comparing is what waits for the last load.
 *   The value never equals 1, an address that no aligned ring holds.
 * - A warm step, consumed before the first clock, lets ptxas settle everything that the bracket
 *   needs (the sink's address, the descriptor of global memory) before it.
 * - Two intervals of N and 2N loads share the middle clock: their difference is N steps, and what
 *   a clock and a compare cost drops out.
 */
typedef unsigned long long u64;

#define CLOCK(t) asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory")

/* Makes a value opaque, so that it stays in its register instead of being computed again. */
#define PIN(x) asm volatile("" : "+l"(x))

#define STEP_GLOBAL(op, p) asm volatile("ld.global." op ".u64 %0, [%0];" : "+l"(p)::"memory")
#define CONSUME_GLOBAL(p, sink)                                                                    \
    asm volatile("{ .reg .pred q; setp.eq.u64 q, %0, 1; @q st.global.u64 [%1], %0; }" ::"l"(p),    \
                 "l"(sink) : "memory")

#define STEP_SHARED(a) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(a)::"memory")
#define CONSUME_SHARED(a, sink)                                                                    \
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %0, 1; @q st.global.u32 [%1], %0; }" ::"r"(a),    \
                 "l"(sink) : "memory")

struct chase_args {
    u64 *start;   /* a pointer to a pointer to a pointer ... */
    u64 *out;     /* out[0] = cycles of 32 steps, out[1] = of 64, out[2] = the sink */
};

template <int N> __device__ __forceinline__ void steps_ca(u64 &p)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        STEP_GLOBAL("ca", p);
}

template <int N> __device__ __forceinline__ void steps_cg(u64 &p)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        STEP_GLOBAL("cg", p);
}

template <int N> __device__ __forceinline__ void steps_shared(unsigned &a)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        STEP_SHARED(a);
}

// sass: clocks=3 ldg64.cta=32,64 other<=3,3 local=0 waited chain regs<=40 smem=0
extern "C" __global__ void good_ca(struct chase_args args)
{
    u64 p = (u64)args.start, *sink = args.out + 2, t0, t1, t2;

    steps_ca<1>(p);
    CONSUME_GLOBAL(p, sink);
    CLOCK(t0);
    steps_ca<32>(p);
    CONSUME_GLOBAL(p, sink);
    CLOCK(t1);
    steps_ca<64>(p);
    CONSUME_GLOBAL(p, sink);
    CLOCK(t2);
    args.out[0] = t1 - t0;
    args.out[1] = t2 - t1;
}

// sass: clocks=3 ldg64.gpu=32,64 other<=3,3 local=0 waited chain regs<=40 smem=0
extern "C" __global__ void good_cg(struct chase_args args)
{
    u64 p = (u64)args.start, *sink = args.out + 2, t0, t1, t2;

    steps_cg<1>(p);
    CONSUME_GLOBAL(p, sink);
    CLOCK(t0);
    steps_cg<32>(p);
    CONSUME_GLOBAL(p, sink);
    CLOCK(t1);
    steps_cg<64>(p);
    CONSUME_GLOBAL(p, sink);
    CLOCK(t2);
    args.out[0] = t1 - t0;
    args.out[1] = t2 - t1;
}

// sass: clocks=3 lds32=32,64 other<=3,3 local=0 waited chain regs<=40 smem<=4096
extern "C" __global__ void good_shared(struct chase_args args)
{
    __shared__ unsigned ring[1024];
    unsigned base = (unsigned)__cvta_generic_to_shared(ring), a = base;
    u64 *sink = args.out + 2, t0, t1, t2;

#pragma unroll 1
    for (unsigned i = 0; i < 1024; i++)
        ring[i] = base + 4 * ((i + 33) % 1024);
    STEP_SHARED(a);
    CONSUME_SHARED(a, sink);
    CLOCK(t0);
    steps_shared<32>(a);
    CONSUME_SHARED(a, sink);
    CLOCK(t1);
    steps_shared<64>(a);
    CONSUME_SHARED(a, sink);
    CLOCK(t2);
    args.out[0] = t1 - t0;
    args.out[1] = t2 - t1;
}

/*
 * The same with the repetitions in a loop. Without PIN, ptxas loads the sink's address from the
 * constant bank anew inside each bracket (sm_90a and later: one LDC more); without "unroll 1" the
 * code, and so the number of clock reads, is copied up to eight times.
 */
// sass: clocks=3 ldg64.gpu=32,64 other<=3,3 local=0 waited chain regs<=40 smem=0
extern "C" __global__ void good_rounds(struct chase_args args, int rounds)
{
    u64 p = (u64)args.start, *out = args.out + 3, *sink = args.out + 2, t0, t1, t2;

    PIN(sink);
#pragma unroll 1
    for (int r = 0; r < rounds; r++, out += 2) {
        steps_cg<1>(p);
        CONSUME_GLOBAL(p, sink);
        CLOCK(t0);
        steps_cg<32>(p);
        CONSUME_GLOBAL(p, sink);
        CLOCK(t1);
        steps_cg<64>(p);
        CONSUME_GLOBAL(p, sink);
        CLOCK(t2);
        out[0] = t1 - t0;
        out[1] = t2 - t1;
    }
}
