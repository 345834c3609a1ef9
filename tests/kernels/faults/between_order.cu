// expect 1: expected between, found a way from the membar.gpu to the stg32.sys at
/* The fences behind an arrival, in the other order. */

// sass-loop: atomg=1 membar.gpu=1 membar.sys=1 stg32.sys=1 between
extern "C" __global__ void between_order(unsigned *arrived, unsigned *told, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const unsigned before = atomicAdd(arrived, n);
        asm volatile("fence.acq_rel.sys;" ::: "memory");
        told[32 * i] = before;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(told), "r"(i) : "memory");
    }
}
