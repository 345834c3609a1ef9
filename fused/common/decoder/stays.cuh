// Layers of a decoder, or whole steps of one token each, in a kernel that stays: one block on every
// SM, launched cooperatively. Between steps words are handed over by EDGE (edge.cuh); weights come
// from SOURCE (ring.cuh). WATCHED: a twin that writes stamps and lets blocks wait at random.
#ifndef FUSED_COMMON_DECODER_STAYS_CUH
#define FUSED_COMMON_DECODER_STAYS_CUH

#include "core/device/clock.cuh"
#include "core/device/dependent.cuh"
#include "fused/common/decoder/layer.cuh"

/* --- watching --------------------------------------------------------------------------------- */

// The moments of a step of this block, by the SM's clock. They are stored once it has handed over:
// a store before that would be one more that the others wait for.
struct stay_moments {
    uint64_t at[DECODER_STAMPS];
};
template <bool WATCHED>
__device__ __forceinline__ void stay_note(struct stay_moments &m, enum decoder_stamp what)
{
    if (WATCHED)
        m.at[what] = clock_cycles();
}
template <bool WATCHED, typename BLOCK>
__device__ __forceinline__ void stay_stamp(const BLOCK &k, enum decoder_step step,
                                           const struct stay_moments &m)
{
    if (!WATCHED || !k.a.stamps || threadIdx.x != 0 || step >= DECODER_STEPS)
        return;
    uint64_t *stamps = k.a.stamps +
                       ((k.layer * DECODER_STEPS + step) * (uint64_t)gridDim.x + blockIdx.x) *
                           DECODER_STAMPS;
    for (int i = 0; i < DECODER_STAMPS; i++)
        stamps[i] = m.at[i];
}

// The block waits, up to skew_ns, by a hash of where and when it is.
template <bool WATCHED, typename BLOCK>
__device__ __forceinline__ void stay_skew(const BLOCK &k, enum decoder_step step)
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

/* --- one step after the other ----------------------------------------------------------------- */

// The step that computes, between its stamps: WAIT gets what it needs, DO computes and hands over.
template <bool WATCHED, typename BLOCK, typename WAIT, typename DO>
__device__ __forceinline__ void stay_step(BLOCK &k, enum decoder_step which, WAIT wait, DO compute)
{
    struct stay_moments moments;

    stay_note<WATCHED>(moments, DECODER_BEGUN);
    stay_skew<WATCHED>(k, which);
    wait();
    stay_note<WATCHED>(moments, DECODER_ARRIVED);
    k.source.starved = 0;
    compute();
    moments.at[DECODER_STARVED] = k.source.starved;
    stay_note<WATCHED>(moments, DECODER_COMPUTED);
    k.edge.close();
    stay_note<WATCHED>(moments, DECODER_PUBLISHED);
    stay_stamp<WATCHED>(k, which, moments);
}

// Mail, epoch and set of a layer of this launch; the block takes the words of the layer before
// until it opens this one's.
template <typename BLOCK>
__device__ __forceinline__ void stay_open(BLOCK &k, uint32_t step_of_launch)
{
    const uint32_t bytes = sizeof *k.edge.mail;
    k.edge.open((char *)k.a.mail + (uint64_t)(k.layer % k.a.generations) * k.mail.words * bytes,
                k.a.epoch + step_of_launch * k.a.layers + k.layer);
}

// Which step a matrix is; the head is none of a layer's.
__device__ __forceinline__ enum decoder_step stay_step_of(enum decoder_matrix m)
{
    static_assert((int)DECODER_STEP_O - DECODER_O == 2 && (int)DECODER_STEPS - DECODER_HEAD == 2,
                  "attention and its merge are between");
    return (enum decoder_step)(m == DECODER_QKV ? DECODER_STEP_QKV : m + 2);
}

// What a product needs of the step before.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void stay_take(BLOCK &k, enum decoder_matrix m, uint32_t step_of_launch)
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
        stay_open(k, step_of_launch);
}

template <uint32_t D, uint32_t G, uint32_t B, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void stay_attend(BLOCK &k)
{
    stay_step<WATCHED>(k, DECODER_STEP_ATTENTION, [&] { decoder_take_q<D>(k, B); },
                  [&] { decoder_step_attention<D, G, WATCHED>(k, B); });
    if (k.a.splits > 1)
        stay_step<WATCHED>(k, DECODER_STEP_MERGE, [] {}, [&] { decoder_step_merge(k, B); });
}

// Of all GPUs: each has as many rows of the head.
template <typename BLOCK> __device__ __forceinline__ uint32_t stay_tokens(const BLOCK &k)
{
    return k.a.shape.vocabulary * decltype(k.edge)::GPUS;
}

// The residual at the beginning of a launch.
template <uint32_t B, typename BLOCK> __device__ __forceinline__ void stay_begin(BLOCK &k)
{
    const float2 *input = (const float2 *)k.a.input;
    if (k.a.embedding)
        for (uint32_t b = 0; b < B; b++)
            decoder_embed(k, b, k.a.tokens[b], stay_tokens(k));
    else
        for (uint32_t i = threadIdx.x; i < B * k.a.shape.hidden / 2; i += DECODER_THREADS)
            ((float2 *)k.residual)[i] = input[i];
    decoder_sync(); // another thread may take an element than the one that put it there
}

// The choice of a token, and the residual of the next step.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void stay_choose_next(BLOCK &k, uint32_t step_of_launch)
{
#pragma unroll 1
    for (uint32_t b = 0; b < B; b++) {
        const uint32_t token = decoder_take_best(k, b).row;
        if (blockIdx.x == 0 && threadIdx.x == 0)
            k.a.tokens[(step_of_launch + 1) * B + b] = token;
        if (k.a.embedding)
            decoder_embed(k, b, token, stay_tokens(k));
    }
    k.edge.chosen();
}

// All layers, and as one more turn the head. A product's code stands once: see decoder_product().
template <uint32_t D, uint32_t G, uint32_t B, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void stay_compute(BLOCK &k)
{
    stay_begin<B>(k);
#pragma unroll 1
    for (uint32_t i = 0; i < k.a.steps; i++) {
#pragma unroll 1
        for (k.layer = 0, k.set = 0; k.layer < k.a.layers + (k.a.head != NULL); k.layer++) {
            const bool is_head = k.layer == k.a.layers;
#pragma unroll 1
            for (uint32_t n = is_head ? DECODER_HEAD : DECODER_QKV;
                 n <= (is_head ? DECODER_HEAD : DECODER_DOWN); n++) {
                const enum decoder_matrix m = (enum decoder_matrix)n;
                stay_step<WATCHED>(k, stay_step_of(m), [&] { stay_take<B>(k, m, i); },
                              [&] { decoder_product<B, WATCHED>(k, m); });
                if (m == DECODER_QKV)
                    stay_attend<D, G, B, WATCHED>(k);
            }
            k.set = k.set + 1 < k.a.sets ? k.set + 1 : 0;
        }
        if (k.a.head)
            stay_choose_next<B>(k, i);
        else
            decoder_take_last<B>(k, k.mail.down);
    }
    for (uint32_t i = blockIdx.x * DECODER_THREADS + threadIdx.x; i < B * k.a.shape.hidden;
         i += gridDim.x * DECODER_THREADS)
        k.a.output[i] = k.residual[i];
}

/* --- a block ---------------------------------------------------------------------------------- */

extern __shared__ uint4 decoder_memory[];

template <typename EDGE, typename SOURCE, typename HOME = home_any>
__device__ __forceinline__ struct decoder_block<EDGE, SOURCE, HOME>
stay_block_of(const struct decoder_args &a, uint32_t batch, const struct decoder_shared &place)
{
    char *memory = (char *)decoder_memory;
    const float2 *angles = (const float2 *)a.rope;
    float2 *rope = (float2 *)(memory + place.rope);
    for (uint32_t i = threadIdx.x; i < a.shape.head_dim / 2; i += blockDim.x)
        rope[i] = angles[i];
    struct decoder_block<EDGE, SOURCE, HOME> k = {a,
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
    k.home.find(a);
    decoder_plan(k);
    return k;
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// All that this block will read, in that order.
template <uint32_t D, uint32_t G, uint32_t B, typename BLOCK>
__device__ __forceinline__ void stay_produce(BLOCK &k)
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
                decoder_fill(k, ring, (enum decoder_matrix)m);
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

template <typename EDGE, typename HOME, uint32_t D, uint32_t G, uint32_t B, bool WATCHED>
__device__ __forceinline__ void stay_with_ring(const struct decoder_args &a)
{
    const struct decoder_shared place = decoder_shared_of(&a.shape, B, a.stages, 1);
    auto k = stay_block_of<EDGE, source_ring, HOME>(a, B, place);

    k.source.ring = ring_of((char *)decoder_memory, place, a.stages, a.in_flight);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS)
        stay_produce<D, G, B>(k);
    else {
        k.edge.join(a);
        stay_compute<D, G, B, WATCHED>(k);
    }
}

#endif

template <uint32_t D, uint32_t G, uint32_t B, bool WATCHED>
__device__ __forceinline__ void stay_from_memory(const struct decoder_args &a)
{
    const struct decoder_shared place = decoder_shared_of(&a.shape, B, 0, 1);
    struct decoder_block<edge_barrier, source_memory> k =
        stay_block_of<edge_barrier, source_memory>(a, B, place);

    __syncthreads();
    k.edge.join(a);
    stay_compute<D, G, B, WATCHED>(k);
}

#endif
