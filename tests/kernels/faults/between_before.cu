// expect 1: expected between, found no way from the atomg to the stg32.sys
/* The flag, then the fence, then the arrival: no turn goes the other way. */

// sass-loop: atomg=1 membar.sys=1 stg32.sys=1 between
extern "C" __global__ void between_before(unsigned *arrived, unsigned *told, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(told), "r"(i) : "memory");
        asm volatile("fence.acq_rel.sys;" ::: "memory");
        told[32 * i] = atomicAdd(arrived, n);
    }
}
