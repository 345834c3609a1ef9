// expect 2: 'between' needs three classes
/* Nothing is named that could stand between. */

// sass-loop: atomg=1 stg32.sys=1 between
extern "C" __global__ void between_two(unsigned *arrived, unsigned *told, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const unsigned before = atomicAdd(arrived, n);
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(told), "r"(before) : "memory");
    }
}
