/* What the planted faults share; the proper recipe is good_chase.cu. */
typedef unsigned long long u64;

#define CLOCK(t) asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory")
#define STEP(p) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory")
#define CONSUME(p, sink)                                                                           \
    asm volatile("{ .reg .pred q; setp.eq.u64 q, %0, 1; @q st.global.u64 [%1], %0; }" ::"l"(p),    \
                 "l"(sink) : "memory")

struct chase_args {
    u64 *start, *out;
};
