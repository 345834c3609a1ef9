// One exchange a launch: a node of a graph, or one of many launches in a stream.
#include "links/all_reduce/exchanges.cuh"

#if __CUDA_ARCH__ >= 800

template <typename OP, typename UNIT>
__device__ __forceinline__ void node(const struct exchange_args &a)
{
    __shared__ uint64_t shared;
    struct exchange_turn turn = exchange_join(a.x.team, &shared, 1);
    const exchange_vector<const UNIT> from = {(const UNIT *)a.from};
    const exchange_vector<UNIT> to = {(UNIT *)a.to};
    OP::round(a.x, turn, a.units, a.scale, from, to);
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
