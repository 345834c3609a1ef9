// The layers of one rank in one kernel that stays: that of decoder_layer with a ring and with
// values as edges, but for the edges behind O and behind down, which are all-reduces (edge.cuh).
//
//   layer_push_*  weights from anywhere
//   layer_near_*  weights that lie behind the block's own half of the L2
//
// The name goes on with the head dimension, the greatest group of heads to a kv head, and the
// ranks.
#include "fused/common/decoder/stays.cuh"
#include "links/layer/args.h"
#include "links/layer/edge.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// In the 64 words of decoder_block::few, of which the steps use 52.
enum { LAYER_ROOM_AT = 52 };
static_assert(LAYER_ROOM_AT * 4 + sizeof(struct edge_room) == 64 * 4, "it fits behind them");

template <typename EDGE, typename HOME, uint32_t D, uint32_t G>
__device__ __forceinline__ void layers_of(const struct layer_args &a)
{
    const struct decoder_args &d = a.decoder;
    const struct decoder_shared place = decoder_shared_of(&d.shape, 1, d.stages, 1);
    auto k = stay_block_of<EDGE, source_ring, HOME>(d, 1, place);

    k.source.ring = ring_of((char *)decoder_memory, place, d.stages, d.in_flight);
    k.edge.meet(a.exchange, k.mail, (struct edge_room *)(k.few + LAYER_ROOM_AT),
                d.steps * (2 * d.layers + (d.head != NULL)));
    if (decoder_warp() == DECODER_WARPS)
        stay_produce<D, G, 1>(k);
    else {
        k.edge.join(d);
        stay_compute<D, G, 1, false>(k);
    }
}

typedef home_any home_of_push;
typedef home_near home_of_near;

#define LAYER(kind, d, g, ranks)                                                                   \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS + 32, 1)                          \
        layer_##kind##_##d##_##g##_##ranks(const __grid_constant__ struct layer_args a)            \
    {                                                                                              \
        layers_of<edge_ranks<ranks>, home_of_##kind, d, g>(a);                                     \
    }

// The bodies counted are that of a chunk of 32 rows, as in decoder_layer; that of a poll of own
// words; and that of a poll of the other ranks. There is no fence, and nothing that empties the L1.
// sass-loop: kernel=layer_push_* lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=layer_push_*_2 ldg128.sys=8 ldg128.gpu=0 guarded<=8 membar=0 cctl=0 other<=99
// sass-and: local=0 together arch=90a+
// sass-loop: kernel=layer_push_*_4 ldg128.sys=12 ldg128.gpu=0 guarded<=12 membar=0 cctl=0 other<=160
// sass-and: local=0 together arch=90a+
// From sm_100 on that of two ranks has an indirect branch, which says nothing of the whole.
// sass-all: kernel=layer_push_*_2 stg64.sys=1 stg128.sys=1 stg64.gpu=7 ldg128.sys=10 ldg128.gpu=21 membar=0 cctl=0
// sass-and: ublkcp.hinted=2 ublkcp=2 ublkpf=1 syncs<=56 clocks=0 local=0 looped calls arch=90a
// sass-all: kernel=layer_push_*_4 stg64.sys=3 stg128.sys=3 stg64.gpu=7 ldg128.sys=30 ldg128.gpu=21 membar=0 cctl=0
// sass-and: ublkcp.hinted=2 ublkcp=2 ublkpf=1 syncs<=56 clocks=0 local=0 looped calls arch=90a
// sass-all: kernel=layer_push_*_4 stg64.sys=3 stg128.sys=3 stg64.gpu=7 ldg128.sys=30 ldg128.gpu=24 membar=0 cctl=0
// sass-and: ublkcp.hinted=2 ublkcp=2 ublkpf=1 syncs<=56 clocks=0 local=0 looped calls arch=100+
// sass-loop: kernel=layer_push_* ldg128.gpu=8 ldg128.sys=0 guarded<=8 other<=80 local=0 together arch=90a+
// sass-loop: kernel=layer_push_* ublkcp.hinted=1 guarded<=1 arch=90a+
// sass-loop: kernel=layer_near_* lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=layer_near_*_2 ldg128.sys=8 ldg128.gpu=0 guarded<=8 membar=0 cctl=0 other<=99
// sass-and: local=0 together arch=90a+
// sass-loop: kernel=layer_near_*_4 ldg128.sys=12 ldg128.gpu=0 guarded<=12 membar=0 cctl=0 other<=160
// sass-and: local=0 together arch=90a+
// sass-all: kernel=layer_near_*_2 stg64.sys=1 stg128.sys=1 stg64.gpu=7 ldg128.sys=10 ldg128.gpu=21 membar=0 cctl=0
// sass-and: ublkcp.hinted=2 ublkcp=2 ublkpf=1 syncs<=56 clocks=0 local=0 looped calls arch=90a
// sass-all: kernel=layer_near_*_4 stg64.sys=3 stg128.sys=3 stg64.gpu=7 ldg128.sys=30 ldg128.gpu=21 membar=0 cctl=0
// sass-and: ublkcp.hinted=2 ublkcp=2 ublkpf=1 syncs<=56 clocks=0 local=0 looped calls arch=90a
// sass-all: kernel=layer_near_*_4 stg64.sys=3 stg128.sys=3 stg64.gpu=7 ldg128.sys=30 ldg128.gpu=24 membar=0 cctl=0
// sass-and: ublkcp.hinted=2 ublkcp=2 ublkpf=1 syncs<=56 clocks=0 local=0 looped calls arch=100+
// sass-loop: kernel=layer_near_* ldg128.gpu=8 ldg128.sys=0 guarded<=8 other<=80 local=0 together arch=90a+
// sass-loop: kernel=layer_near_* ublkcp.hinted=1 guarded<=1 arch=90a+
// A piece is where the parity of its address says; from sm_100 on something else counts bits, too.
// sass-all: kernel=layer_near_* popc>=1 looped calls arch=90a
LAYER(push, 128, 4, 2)
LAYER(push, 128, 4, 4)
LAYER(near, 128, 4, 2)
LAYER(near, 128, 4, 4)

#endif
