// How far is the home of a word from an SM? An atomic is carried out there, whatever copies of its
// line exist. An image of its own, so that only programs that use it contain it.
#include "core/device/sides.h"

#include "core/device/clock.cuh"
#include "core/device/order.cuh"

// The first atomic brings the line into the L2; of those that follow the least counts. None changes
// a word, unless it is NEVER, and then not either.
// sass: none not a timed kernel
extern "C" __global__ void sides_ask(const __grid_constant__ struct sides_ask_args a)
{
    enum { TIMES = 4, NEVER = 0x7fc00001 };
    if (threadIdx.x > 0)
        return;
    for (uint32_t i = a.by_sm ? 0 : blockIdx.x; i < a.n; i += a.by_sm ? 1 : gridDim.x) {
        uint32_t least = ~0u, *word = a.word[i];
        for (int t = 0; t < TIMES; t++) {
            const uint64_t begun = clock_cycles();
            const uint32_t seen = atomicCAS(word, NEVER, NEVER);
            if (seen == NEVER) // so that the clock waits for it
                store_relaxed(word, seen);
            least = min(least, (uint32_t)(clock_cycles() - begun));
        }
        a.cycles[(a.by_sm ? sm_id() * a.n : 0) + i] = least;
        if (!a.by_sm)
            a.sm[i] = sm_id();
    }
}
