// A kernel of contention: atomic additions of many SMs at once, each thread waiting for its own.
#include "core/device/clock.cuh"
#include "core/device/order.cuh"
#include "probes/contention/many.h"

// The addend is 1, and made of what the addition before returned, so that each waits for that.
template <int N>
__device__ __forceinline__ void additions(uint32_t *p, uint32_t &v, uint32_t zero)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        v = add_relaxed(p, v & zero | 1);
    asm volatile(
        "{ .reg .pred q; setp.eq.u32 q, %0, 0x5eedf100; @q st.global.u32 [%1], %0; }" ::"r"(v),
        "l"(p)
        : "memory");
}

// A block on each SM. All have arrived before the first adds; who does not come ends the wait.
// sass: clocks=3 atomg.gpu=32,64 other<=66,130 local=0 waited chain arch=75,80,86,89
// sass: clocks=3 atomg.gpu=32,64 other<=35,66 local=0 waited chain arch=90a,100,120
extern "C" __global__ void __launch_bounds__(32, 1)
contention_many(const __grid_constant__ struct many_args a)
{
    uint32_t *p = a.words + (blockIdx.x * a.lanes + threadIdx.x) * a.apart, v = 0;
    if (threadIdx.x >= a.lanes)
        return;
    uint64_t give_up_ns = clock_ns() + a.budget_ns;
    if (threadIdx.x == 0)
        add_release(a.arrived, 1);
    bool came = true;
    while ((int32_t)(load_acquire(a.arrived) - a.due) < 0 && came)
        came = clock_ns() < give_up_ns;

    additions<1>(p, v, a.zero);
    uint64_t t0 = clock_cycles();
    additions<STEPS_SHORT>(p, v, a.zero);
    uint64_t t1 = clock_cycles();
    additions<STEPS_LONG>(p, v, a.zero);
    uint64_t t2 = clock_cycles();
    if (threadIdx.x == 0) {
        a.samples[blockIdx.x] = {came ? t1 - t0 : 0, came ? t2 - t1 : 0};
        a.sm[blockIdx.x] = sm_id();
    }
}
