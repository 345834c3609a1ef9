// expect 1: expected between, found a way from the atomg to the stg32.sys at
/* Who arrives tells the host, in each turn, and what the others wrote is released first; but not by
 * those who came early. */

// sass-loop: atomg=1 membar.sys=1 stg32.sys=1 between
extern "C" __global__ void between_branch(unsigned *arrived, unsigned *told, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        if (atomicAdd(arrived, n) > 100) {
            asm volatile("fence.acq_rel.sys;" ::: "memory");
            told[32 * i] = 1;
        }
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(told), "r"(i) : "memory");
    }
}
