// One exchange a launch: a node of a graph, or one of many launches in a stream.
#include "core/device/dependent.cuh"
#include "links/all_reduce/exchanges.cuh"

#if __CUDA_ARCH__ >= 800

// A thread asks for its first unit and for the round's number at once. Where the launch may begin
// before its predecessor has ended, it waits for that here.
template <typename OP, typename UNIT>
__device__ __forceinline__ void node(const struct exchange_args &a)
{
    __shared__ uint64_t shared;
#if __CUDA_ARCH__ >= 900
    dependent_release();
    dependent_wait();
#endif
    const uint64_t mine = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const exchange_vector<const UNIT> all = {(const UNIT *)a.from};
    const exchange_vector<UNIT> to = {(UNIT *)a.to};
    const UNIT early = all(mine < a.units ? mine : 0);
    struct exchange_turn turn = exchange_join(a.x.team, &shared);
    const auto from = [&](uint64_t i) { return i == mine ? early : all(i); };
    OP::round(a.x, turn, a.units, a.scale, from, to);
    exchange_leave(a.x.team, turn, 1);
}

// No fence and nothing that empties the L1, in the whole kernel; polls ask for all peers at once.
// sass-loop: kernel=node_*_2 ldg128.sys=1 membar=0 cctl=0 other<=52 local=0 together arch=80+
// sass-loop: kernel=node_*_4 ldg128.sys=3 membar=0 cctl=0 other<=90 local=0 together arch=80+
// sass-all: kernel=node_* stg128.sys>=1 membar=0 cctl=0 local=0 looped arch=90a+
// sass-all: kernel=node_* stg128.sys>=1 membar=0 cctl=0 local=0 looped calls arch=80,86,89
#define NODE(name, wire, ...)                                                                      \
    extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS, 1)                              \
        node_##name(const __grid_constant__ struct exchange_args a)                                \
    {                                                                                              \
        node<__VA_ARGS__, wire::unit>(a);                                                          \
    }

EXCHANGES(NODE)

#endif
