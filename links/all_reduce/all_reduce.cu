// Exchanges chained in one launch: the next round begins when the last one has ended.
#include "core/device/clock.cuh"
#include "links/all_reduce/exchanges.cuh"

#if __CUDA_ARCH__ >= 800

// In each round a block begins when all its threads have ended the round before; blocks do not wait
// for each other. At the clock reads all blocks of all ranks meet.
template <typename OP, typename UNIT>
__device__ __forceinline__ void rounds(const struct exchange_args &a, struct exchange_turn &turn,
                                       uint32_t n)
{
    const exchange_vector<const UNIT> from = {(const UNIT *)a.from};
    const exchange_vector<UNIT> to = {(UNIT *)a.to};
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        OP::round(a.x, turn, a.units, a.scale, from, to);
        turn.round++;
        __syncthreads();
    }
}

template <typename OP, typename UNIT>
__device__ __forceinline__ void chain(const struct exchange_args &a)
{
    __shared__ uint64_t shared;
    struct team_barrier barrier = team_join(a.x.team);
    struct exchange_turn turn = exchange_join(a.x.team, &shared);
    exchange_leave(a.x.team, turn, EXCHANGE_WARM + 3 * a.rounds);

    struct clock_pair lead = clock_edge();
    rounds<OP, UNIT>(a, turn, EXCHANGE_WARM);
    team_barrier<true, false>(a.x.team, barrier);
    uint64_t t0 = clock_cycles();
    rounds<OP, UNIT>(a, turn, a.rounds);
    team_barrier<true, false>(a.x.team, barrier);
    uint64_t t1 = clock_cycles();
    rounds<OP, UNIT>(a, turn, 2 * a.rounds);
    team_barrier<true, false>(a.x.team, barrier);
    uint64_t t2 = clock_cycles();
    struct clock_pair tail = clock_edge();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, t1 - t0, t2 - t1};
}

// Between two clock reads the rounds of one length, each with its block's barrier, and the meeting
// of all ranks behind them. No fence and nothing that empties the L1, in the whole kernel; polls
// ask for all peers at once.
// sass: kernel=chain_* clocks=7 bar.block=3,3,3 looped closed arch=80+
// sass: kernel=chain_push_*_2 clocks=7 ldg128.sys=1,1,1 stg128.sys>=1,1,1 looped arch=80+
// sass: kernel=chain_push_*_4 clocks=7 ldg128.sys=3,3,3 stg128.sys>=3,3,3 looped arch=80+
// sass-loop: kernel=chain_*_2 ldg128.sys=1 membar=0 cctl=0 other<=48 local=0 together arch=80+
// sass-loop: kernel=chain_*_4 ldg128.sys=3 membar=0 cctl=0 other<=70 local=0 together arch=80+
// sass-all: kernel=chain_* stg128.sys>=1 membar=0 cctl=0 local=0 looped arch=90a+
// sass-all: kernel=chain_* stg128.sys>=1 membar=0 cctl=0 local=0 looped calls arch=80,86,89
#define CHAIN(name, wire, ...)                                                                     \
    extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS, 1)                              \
        chain_##name(const __grid_constant__ struct exchange_args a)                               \
    {                                                                                              \
        chain<__VA_ARGS__, wire::unit>(a);                                                         \
    }

EXCHANGES(CHAIN)

#endif
