// A meeting of ranks on their GPUs: all threads that meet leave within one trip between two GPUs.
#ifndef LINKS_COMMON_MEET_CUH
#define LINKS_COMMON_MEET_CUH

#include "core/device/clock.cuh"
#include "core/device/order_sys.cuh"
#include "links/common/meeting.h"

// Thread k of one warp tells rank k and waits for it. All 32 threads must take part. False if it
// waited longer than the budget; the host hears of it. What was written before is not ordered by
// this: no fence, for a meeting is no handshake of data.
__device__ __forceinline__ bool links_meet(const struct links_meeting &m)
{
    bool came = true;
    const uint32_t k = threadIdx.x % 32;
    if (k < m.ranks && k != m.rank) {
        const uint32_t *slot = m.inbox + k * (LINKS_APART / sizeof *m.inbox);
        const uint64_t began = clock_ns();
        store_relaxed_sys(m.theirs[k], m.number);
        while (came && (int32_t)(load_relaxed_sys(slot) - m.number) < 0)
            came = clock_ns() - began < m.budget_ns;
        if (!came)
            store_relaxed_sys(m.late, 1);
    }
    return __all_sync(0xffffffffu, came);
}

#endif
