// Layers of a decoder, or whole steps of one token each, in one kernel that stays: one block on
// every SM, launched cooperatively.
//
//   decoder_barrier_*  weights straight from memory; a barrier of the grid at each edge
//   decoder_ring_*     weights, old keys and old values through a ring in shared memory, which a
//                      ninth warp keeps full across steps and layers; a barrier of the grid at each
//                      edge
//   decoder_values_*   the ring; at each edge the words are polled by those who need them
//   decoder_near_*     the same, with weights that lie behind the block's own half of the L2
//
// The name goes on with the head dimension, the greatest group of heads to a kv head, the batch,
// and "watched": a twin that writes stamps and lets blocks wait at random, for the timeline and for
// checks.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "fused/common/decoder/stays.cuh"

/* --- the kernels ------------------------------------------------------------------------------ */

#define DECODER_BARRIER(name, d, g, b, watched)                                                    \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS, 1)                               \
        decoder_barrier_##name(const __grid_constant__ struct decoder_args a)                      \
    {                                                                                              \
        stay_from_memory<d, g, b, watched>(a);                                                     \
    }
#define DECODER_RING(kind, name, d, g, b, watched)                                                 \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS + 32, 1)                          \
        decoder_##kind##_##name(const __grid_constant__ struct decoder_args a)                     \
    {                                                                                              \
        stay_with_ring<edge_of_##kind, home_of_##kind, d, g, b, watched>(a);                       \
    }
typedef edge_barrier edge_of_ring;
typedef edge_alone<edge_values> edge_of_values;
typedef edge_alone<edge_values> edge_of_near;
typedef home_any home_of_ring;
typedef home_any home_of_values;
typedef home_near home_of_near;

// The body counted is that of a chunk of 32 rows, in the ring four tiles of eight, and of x.
// sass-loop: kernel=decoder_barrier_* ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 together arch=80+
// sass-loop: kernel=decoder_ring_*_4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_ring_*_8 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_ring_*_watched lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a,100
// sass-loop: kernel=decoder_values_*_4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_values_*_8 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_values_*_watched lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_near_*_4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_near_*_8 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_near_*_watched lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_values_*_b2 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_values_*_b4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// Edges: a barrier has one fence before its arrival, and polls the L2; words with epochs have no
// fence, and all that a thread needs is polled at once. Tiles are asked for as data that is used
// once, in the two places of the producer, and nothing else waits for them; the norms' weights are
// asked for ahead.
// sass-all: kernel=decoder_barrier_64_* membar.gpu=3 reds=6 ldg32.gpu=7 ldg64.gpu>=41 ldg128na=20
// sass-and: looped calls arch=90a+
// sass-all: kernel=decoder_barrier_128_* membar.gpu=3 reds=6 ldg32.gpu=7 ldg64.gpu>=41 ldg128na=24
// sass-and: looped calls arch=90a+
// sass-all: kernel=decoder_ring_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar.gpu=3 reds=6 ldg32.gpu=7
// sass-and: ldg64.gpu>=41 syncs<=56 looped calls arch=90a
// sass-all: kernel=decoder_ring_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar.gpu=3 reds=6 ldg32.gpu=7
// sass-and: ldg64.gpu>=41 syncs<=104 looped calls arch=100+
// sass-all: kernel=decoder_values_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0 stg64.gpu>=7
// sass-and: stg128.gpu>=2 ldg128.gpu=21 syncs<=57 looped calls arch=90a
// sass-all: kernel=decoder_values_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0 stg64.gpu>=7
// sass-and: stg128.gpu>=2 ldg128.gpu=24 syncs<=57 looped calls arch=100
// sass-all: kernel=decoder_values_*_[48] ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0
// sass-and: stg64.gpu>=7 stg128.gpu>=2 ldg128.gpu=24 syncs<=57 looped calls arch=120
// sass-all: kernel=decoder_near_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0 stg64.gpu>=7
// sass-and: stg128.gpu>=2 ldg128.gpu=21 syncs<=57 looped calls arch=90a
// sass-all: kernel=decoder_near_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0 stg64.gpu>=7
// sass-and: stg128.gpu>=2 ldg128.gpu=24 syncs<=57 looped calls arch=100
// sass-all: kernel=decoder_near_*_[48] ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0
// sass-and: stg64.gpu>=7 stg128.gpu>=2 ldg128.gpu=24 syncs<=57 looped calls arch=120
// sass-loop: kernel=decoder_values_* ldg128.gpu=8 guarded<=8 other<=80 together arch=90a+
// sass-loop: kernel=decoder_near_* ldg128.gpu=8 guarded<=8 other<=80 together arch=90a+
// A piece is where the parity of its address says.
// sass-all: kernel=decoder_near_* popc>=1 looped calls arch=90a+
DECODER_BARRIER(64_4, 64, 4, 1, false)
DECODER_BARRIER(64_4_watched, 64, 4, 1, true)
DECODER_BARRIER(128_4, 128, 4, 1, false)
DECODER_BARRIER(128_4_watched, 128, 4, 1, true)
DECODER_BARRIER(128_8, 128, 8, 1, false)
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
DECODER_RING(ring, 64_4, 64, 4, 1, false)
DECODER_RING(ring, 128_4, 128, 4, 1, false)
DECODER_RING(ring, 128_8, 128, 8, 1, false)
#if !defined __CUDA_ARCH__ ||                                                                      \
    __CUDA_ARCH__ < 1200 // there ptxas writes an opcode that the table lacks
DECODER_RING(ring, 64_4_watched, 64, 4, 1, true)
DECODER_RING(ring, 128_4_watched, 128, 4, 1, true)
#endif
DECODER_RING(values, 64_4, 64, 4, 1, false)
DECODER_RING(values, 64_4_watched, 64, 4, 1, true)
DECODER_RING(values, 64_4_b2, 64, 4, 2, false)
DECODER_RING(values, 64_4_b4, 64, 4, 4, false)
DECODER_RING(values, 128_4, 128, 4, 1, false)
DECODER_RING(values, 128_4_watched, 128, 4, 1, true)
DECODER_RING(values, 128_4_b2, 128, 4, 2, false)
DECODER_RING(values, 128_4_b4, 128, 4, 4, false)
DECODER_RING(values, 128_8, 128, 8, 1, false)
DECODER_RING(near, 64_4, 64, 4, 1, false)
DECODER_RING(near, 64_4_watched, 64, 4, 1, true)
DECODER_RING(near, 128_4, 128, 4, 1, false)
DECODER_RING(near, 128_4_watched, 128, 4, 1, true)
DECODER_RING(near, 128_8, 128, 8, 1, false)
#endif

#endif
