// Layers of a decoder, or whole steps of one token each, in one kernel that stays: one block on every
// SM, launched cooperatively.
//
//   decoder_barrier_*  weights straight from memory; a barrier of the grid at each edge
//   decoder_ring_*     weights, old keys and old values through a ring in shared memory, which a ninth
//                      warp keeps full across steps and layers; a barrier of the grid at each edge
//   decoder_values_*   the ring; at each edge the words are polled by those who need them
//
// The name goes on with the head dimension, the greatest group of heads to a kv head, the batch, and
// "watched": a twin that writes stamps and lets blocks wait at random, for the timeline and for checks.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/clock.cuh"
#include "core/device/dependent.cuh"
#include "fused/common/decoder/layer.cuh"

/* --- watching ------------------------------------------------------------------------------------ */

// A moment of a step of this block, by the SM's clock.
template <bool WATCHED, typename BLOCK>
__device__ __forceinline__ void stamp(const BLOCK &k, enum decoder_step step, enum decoder_stamp what,
                                      uint64_t value)
{
    if (WATCHED && k.a.stamps && threadIdx.x == 0 && step < DECODER_STEPS)
        k.a.stamps[((k.layer * DECODER_STEPS + step) * (uint64_t)gridDim.x + blockIdx.x) *
                       DECODER_STAMPS +
                   what] = value;
}
template <bool WATCHED, typename BLOCK>
__device__ __forceinline__ void stamp_now(const BLOCK &k, enum decoder_step step,
                                          enum decoder_stamp what)
{
    if (WATCHED)
        stamp<WATCHED>(k, step, what, clock_cycles());
}

// The block waits, up to skew_ns, by a hash of where and when it is.
template <bool WATCHED, typename BLOCK>
__device__ __forceinline__ void skew(const BLOCK &k, enum decoder_step step)
{
    if (!WATCHED || k.a.skew_ns == 0)
        return;
    uint32_t hash = (k.layer * DECODER_STEPS + step) * 0x9e3779b9u + blockIdx.x * 0x85ebca6bu;
    hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
    hash = (hash ^ hash >> 12) * 0x297a2d39u;
    const uint64_t until = clock_ns() + (hash ^ hash >> 15) % k.a.skew_ns;
    while (clock_ns() < until) {
    }
}

/* --- one step after the other ---------------------------------------------------------------------- */

// The step that computes, between its stamps: WAIT gets what it needs, DO computes and hands over.
template <bool WATCHED, typename BLOCK, typename WAIT, typename DO>
__device__ __forceinline__ void step(BLOCK &k, enum decoder_step which, WAIT wait, DO compute)
{
    stamp_now<WATCHED>(k, which, DECODER_BEGUN);
    skew<WATCHED>(k, which);
    wait();
    stamp_now<WATCHED>(k, which, DECODER_ARRIVED);
    k.source.starved = 0;
    compute();
    stamp<WATCHED>(k, which, DECODER_STARVED, k.source.starved);
    stamp_now<WATCHED>(k, which, DECODER_COMPUTED);
    k.edge.close();
    stamp_now<WATCHED>(k, which, DECODER_PUBLISHED);
}

// Mail, epoch and set of a layer of this launch; the block takes the words of the layer before until
// it opens this one's.
template <typename BLOCK> __device__ __forceinline__ void open(BLOCK &k, uint32_t step_of_launch)
{
    const uint32_t bytes = sizeof *k.edge.mail;
    k.edge.open((char *)k.a.mail + (uint64_t)(k.layer % k.a.generations) * k.mail.words * bytes,
                k.a.epoch + step_of_launch * k.a.layers + k.layer);
}

// Which step a matrix is; the head is none of a layer's.
__device__ __forceinline__ enum decoder_step step_of(enum decoder_matrix m)
{
    static_assert((int)DECODER_STEP_O - DECODER_O == 2 && (int)DECODER_STEPS - DECODER_HEAD == 2,
                  "attention and its merge are between");
    return (enum decoder_step)(m == DECODER_QKV ? DECODER_STEP_QKV : m + 2);
}

// What a product needs of the step before.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void take(BLOCK &k, enum decoder_matrix m, uint32_t step_of_launch)
{
    if (m == DECODER_O || m == DECODER_DOWN) {
        decoder_take_x<B>(k, m == DECODER_O ? k.mail.attention : k.mail.h, k.plans[m].columns);
        return;
    }
    decoder_take_residual<B>(k, m != DECODER_QKV || k.layer > 0,
                             m == DECODER_GATE_UP ? k.mail.o : k.mail.down,
                             m == DECODER_HEAD ? k.a.head_norm
                                               : decoder_norm_of(k, m == DECODER_GATE_UP));
    if (m == DECODER_QKV)
        open(k, step_of_launch);
}

template <uint32_t D, uint32_t G, uint32_t B, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void attend(BLOCK &k)
{
    step<WATCHED>(k, DECODER_STEP_ATTENTION, [&] { decoder_take_q<D>(k, B); },
                  [&] { decoder_step_attention<D, G, WATCHED>(k, B); });
    if (k.a.splits > 1)
        step<WATCHED>(k, DECODER_STEP_MERGE, [] {}, [&] { decoder_step_merge(k, B); });
}

// The residual at the beginning of a launch.
template <uint32_t B, typename BLOCK> __device__ __forceinline__ void begin(BLOCK &k)
{
    const float2 *input = (const float2 *)k.a.input;
    if (k.a.embedding)
        for (uint32_t b = 0; b < B; b++)
            decoder_embed(k, b, k.a.tokens[b]);
    else
        for (uint32_t i = threadIdx.x; i < B * k.a.shape.hidden / 2; i += DECODER_THREADS)
            ((float2 *)k.residual)[i] = input[i];
    decoder_sync(); // another thread may take an element than the one that put it there
}

// The choice of a token, and the residual of the next step.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void choose_next(BLOCK &k, uint32_t step_of_launch)
{
#pragma unroll 1
    for (uint32_t b = 0; b < B; b++) {
        const uint32_t token = decoder_take_token(k, b);
        if (blockIdx.x == 0 && threadIdx.x == 0)
            k.a.tokens[(step_of_launch + 1) * B + b] = token;
        if (k.a.embedding)
            decoder_embed(k, b, token);
    }
}

// All layers, and as one more turn the head. A product's code stands once: see decoder_product().
template <uint32_t D, uint32_t G, uint32_t B, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void compute(BLOCK &k)
{
    begin<B>(k);
#pragma unroll 1
    for (uint32_t i = 0; i < k.a.steps; i++) {
#pragma unroll 1
        for (k.layer = 0, k.set = 0; k.layer < k.a.layers + (k.a.head != NULL); k.layer++) {
            const bool is_head = k.layer == k.a.layers;
#pragma unroll 1
            for (uint32_t n = is_head ? DECODER_HEAD : DECODER_QKV;
                 n <= (is_head ? DECODER_HEAD : DECODER_DOWN); n++) {
                const enum decoder_matrix m = (enum decoder_matrix)n;
                step<WATCHED>(k, step_of(m), [&] { take<B>(k, m, i); },
                              [&] { decoder_product<B, WATCHED>(k, m); });
                if (m == DECODER_QKV)
                    attend<D, G, B, WATCHED>(k);
            }
            k.set = k.set + 1 < k.a.sets ? k.set + 1 : 0;
        }
        if (k.a.head)
            choose_next<B>(k, i);
        else
            decoder_take_last<B>(k, k.mail.down);
    }
    for (uint32_t i = blockIdx.x * DECODER_THREADS + threadIdx.x; i < B * k.a.shape.hidden;
         i += gridDim.x * DECODER_THREADS)
        k.a.output[i] = k.residual[i];
}

/* --- a block -------------------------------------------------------------------------------------- */

extern __shared__ uint4 decoder_memory[];

template <typename EDGE, typename SOURCE>
__device__ __forceinline__ struct decoder_block<EDGE, SOURCE>
block_of(const struct decoder_args &a, uint32_t batch, const struct decoder_shared &place)
{
    char *memory = (char *)decoder_memory;
    const float2 *angles = (const float2 *)a.rope;
    float2 *rope = (float2 *)(memory + place.rope);
    for (uint32_t i = threadIdx.x; i < a.shape.head_dim / 2; i += blockDim.x)
        rope[i] = angles[i];
    struct decoder_block<EDGE, SOURCE> k = {a,
                                            decoder_mail_of(&a.shape, batch, a.splits, a.blocks),
                                            {},
                                            {},
                                            memory + place.x,
                                            (float *)(memory + place.residual),
                                            (float *)(memory + place.sums),
                                            (float *)(memory + place.few),
                                            rope,
                                            (struct decoder_plan *)(memory + place.plans),
                                            0,
                                            0,
                                            0};
    decoder_plan(k);
    return k;
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// All that this block will read, in that order.
template <uint32_t D, uint32_t G, uint32_t B, typename BLOCK>
__device__ __forceinline__ void produce(BLOCK &k)
{
    struct ring &ring = k.source.ring;
    const struct decoder_shape &s = k.a.shape;
    const struct decoder_part part = decoder_part_of(k);
    const struct decoder_share keys = decoder_keys_of(k.a.context, k.a.splits, part.split);
    constexpr uint32_t TILE = attention_width<D, G>::TILE;

#pragma unroll 1
    for (uint32_t i = 0; i < k.a.steps; i++)
#pragma unroll 1
        for (k.layer = 0, k.set = 0; k.layer < k.a.layers + (k.a.head != NULL); k.layer++) {
            const bool is_head = k.layer == k.a.layers;
            if (!is_head && blockIdx.x == k.layer % gridDim.x && threadIdx.x % 32 < 2)
                prefetch_bulk(decoder_norm_of(k, threadIdx.x % 32), 2 * s.hidden);
#pragma unroll 1
            for (uint32_t m = is_head ? DECODER_HEAD : DECODER_QKV;
                 m <= (is_head ? DECODER_HEAD : DECODER_DOWN); m++) {
                rows_fill(ring, decoder_rows(k, (enum decoder_matrix)m), s);
                if (m == DECODER_QKV && part.b < B)
#pragma unroll 1
                    for (uint32_t piece = 0; piece / 2 * TILE < keys.count; piece++)
                        ring_fill(ring, 1,
                                  decoder_cache_of(k, B, part.b, part.kv, piece % 2) +
                                      (uint64_t)(keys.first + piece / 2 * TILE) * (2 * D),
                                  min(keys.count - piece / 2 * TILE, TILE) * (2 * D));
            }
            k.set = k.set + 1 < k.a.sets ? k.set + 1 : 0;
        }
}

template <typename EDGE, uint32_t D, uint32_t G, uint32_t B, bool WATCHED>
__device__ __forceinline__ void with_ring(const struct decoder_args &a)
{
    const struct decoder_shared place = decoder_shared_of(&a.shape, B, a.stages, 1);
    struct decoder_block<EDGE, source_ring> k = block_of<EDGE, source_ring>(a, B, place);

    k.source.ring = ring_of((char *)decoder_memory, place, a.stages, a.in_flight);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS)
        produce<D, G, B>(k);
    else {
        k.edge.join(a);
        compute<D, G, B, WATCHED>(k);
    }
}

#endif

template <uint32_t D, uint32_t G, uint32_t B, bool WATCHED>
__device__ __forceinline__ void from_memory(const struct decoder_args &a)
{
    const struct decoder_shared place = decoder_shared_of(&a.shape, B, 0, 1);
    struct decoder_block<edge_barrier, source_memory> k =
        block_of<edge_barrier, source_memory>(a, B, place);

    __syncthreads();
    k.edge.join(a);
    compute<D, G, B, WATCHED>(k);
}

/* --- the kernels ---------------------------------------------------------------------------------- */

#define DECODER_BARRIER(name, d, g, b, watched)                                                    \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS, 1)                               \
        decoder_barrier_##name(const __grid_constant__ struct decoder_args a)                      \
    {                                                                                              \
        from_memory<d, g, b, watched>(a);                                                          \
    }
#define DECODER_RING(kind, name, d, g, b, watched)                                                 \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS + 32, 1)                          \
        decoder_##kind##_##name(const __grid_constant__ struct decoder_args a)                     \
    {                                                                                              \
        with_ring<edge_of_##kind, d, g, b, watched>(a);                                            \
    }
typedef edge_barrier edge_of_ring;
typedef edge_values edge_of_values;

// The body counted is that of a chunk of 32 rows, in the ring four tiles of eight, and of x.
// sass-loop: kernel=decoder_barrier_* ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 together arch=80+
// sass-loop: kernel=decoder_ring_*_4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_ring_*_8 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_ring_*_watched lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a,100
// sass-loop: kernel=decoder_values_*_4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_values_*_8 lds128=18 hmma=16 guarded<=2 other<=250 local=0 regs<=168 arch=90a+
// sass-loop: kernel=decoder_values_*_watched lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_values_*_b2 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_values_*_b4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// Edges: a barrier has one fence before its arrival, and polls the L2; words with epochs have no fence,
// and all that a thread needs is polled at once. Tiles are asked for as data that is used once, in the
// two places of the producer, and nothing else waits for them; the norms' weights are asked for ahead.
// sass-all: kernel=decoder_barrier_* membar.gpu=3 reds=6 ldg32.gpu=7 ldg64.gpu>=41 ldg128na=20
// sass-and: looped calls arch=90a+
// sass-all: kernel=decoder_ring_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar.gpu=3 reds=6 ldg32.gpu=7
// sass-and: ldg64.gpu>=41 syncs<=56 looped calls arch=90a
// sass-all: kernel=decoder_ring_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar.gpu=3 reds=6 ldg32.gpu=7
// sass-and: ldg64.gpu>=41 syncs<=104 looped calls arch=100+
// sass-all: kernel=decoder_values_* ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0 stg64.gpu>=11
// sass-and: ldg128.gpu=26 syncs<=57 looped calls arch=90a,100
// sass-all: kernel=decoder_values_*_[48] ublkcp.hinted=2 ublkcp=2 ublkpf=1 membar=0 cctl=0
// sass-and: stg64.gpu>=11 ldg128.gpu=26 syncs<=57 looped calls arch=120
// sass-loop: kernel=decoder_values_* ldg128.gpu=8 guarded<=7 other<=69 arch=90a+
DECODER_BARRIER(64_4, 64, 4, 1, false)
DECODER_BARRIER(64_4_watched, 64, 4, 1, true)
DECODER_BARRIER(128_4, 128, 4, 1, false)
DECODER_BARRIER(128_4_watched, 128, 4, 1, true)
DECODER_BARRIER(128_8, 128, 8, 1, false)
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
DECODER_RING(ring, 64_4, 64, 4, 1, false)
DECODER_RING(ring, 128_4, 128, 4, 1, false)
DECODER_RING(ring, 128_8, 128, 8, 1, false)
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ < 1200 // there ptxas writes an opcode that the table lacks
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
#endif

#endif
