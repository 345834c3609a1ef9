// The steps of a decoder's layer as kernels of their own, with everything fused into them that
// needs no edge. They use the device functions of the kernel that stays (stays.cuh). A kernel does
// its step for layer a.layer. The residual is in a.output. What one hands over to the next lies in
// the first layer's mail, as plain words.
//
// From compute capability 9.0 on a ninth warp of a product's block asks for the weights (ring.cuh),
// so many at a time that two blocks fit an SM. IS_DEPENDENT: a programmatic dependent of the kernel
// before: it lets the next one begin, fills its ring, and only then waits for the kernel before.
#ifndef FUSED_COMMON_DECODER_STEPS_CUH
#define FUSED_COMMON_DECODER_STEPS_CUH

#include "core/device/dependent.cuh"
#include "fused/common/decoder/layer.cuh"

extern __shared__ uint4 decoder_memory[];

// The shared memory and the tables that a step needs.
template <typename SOURCE = source_memory>
__device__ __forceinline__ struct decoder_block<edge_kernel, SOURCE>
step_block_of(const struct decoder_args &a, uint32_t batch)
{
    const struct decoder_shared place =
        decoder_shared_of(&a.shape, batch, SOURCE::IS_RING ? a.stages : 0, 0);
    char *memory = (char *)decoder_memory;
    struct decoder_block<edge_kernel, SOURCE> k = {
        a,
        decoder_mail_of(&a.shape, batch, a.splits, a.blocks),
        {},
        {},
        memory + place.x,
        a.output,
        (float *)(memory + place.sums),
        (float *)(memory + place.few),
        (const float2 *)a.rope,
        (struct decoder_plan *)(memory + place.plans),
        0,
        a.layer,
        a.layer % a.sets};
    k.edge.open(a.mail, 0);
    return k;
}

__device__ __forceinline__ const void *step_layer_norm(const struct decoder_args &a, int which)
{
    return (const char *)a.weights + a.layer % a.sets * decoder_layer_bytes(&a.shape) +
           decoder_norm_place(&a.shape, which);
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

template <bool IS_DEPENDENT> __device__ __forceinline__ void step_begin_next(void)
{
    if (IS_DEPENDENT)
        dependent_release();
}
template <bool IS_DEPENDENT> __device__ __forceinline__ void step_wait_for_last(void)
{
    if (IS_DEPENDENT)
        dependent_wait();
}

// A product's block: the ninth warp has its rows of M come, the others compute. `norm`: the weights
// of the norm before it, or NULL.
template <enum decoder_matrix M, uint32_t B, bool IS_DEPENDENT, typename COMPUTE>
__device__ __forceinline__ void step_product(const struct decoder_args &a, const void *norm,
                                             COMPUTE compute)
{
    const struct decoder_shared place = decoder_shared_of(&a.shape, B, a.stages, 0);
    auto k = step_block_of<source_ring>(a, B);

    step_begin_next<IS_DEPENDENT>();
    if (IS_DEPENDENT && norm && threadIdx.x == 0)
        prefetch_bulk(norm, 2 * a.shape.hidden);
    decoder_plan(k);
    k.source.ring = ring_of((char *)decoder_memory, place, a.stages, a.in_flight);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS)
        rows_fill(k.source.ring, decoder_rows(k, M), a.shape);
    else {
        step_wait_for_last<IS_DEPENDENT>();
        compute(k);
    }
}

// Asks the L2 for the block's old keys and values, which no kernel of this step writes.
template <uint32_t D, typename BLOCK>
__device__ __forceinline__ void step_prefetch_keys(const BLOCK &k, uint32_t batch)
{
    const struct decoder_part part = decoder_part_of(k);
    const struct decoder_share keys = decoder_keys_of(k.a.context, k.a.splits, part.split);
    if (part.b < batch && threadIdx.x < 2 && keys.count > 0)
        prefetch_bulk(decoder_cache_of(k, batch, part.b, part.kv, threadIdx.x) +
                          (uint64_t)keys.first * (2 * D),
                      keys.count * (2 * D));
}

#else // no ring, and no kernel of these architectures is dependent

template <bool> __device__ __forceinline__ void step_begin_next(void) {}
template <bool> __device__ __forceinline__ void step_wait_for_last(void) {}

template <enum decoder_matrix M, uint32_t B, bool, typename COMPUTE>
__device__ __forceinline__ void step_product(const struct decoder_args &a, const void *,
                                             COMPUTE compute)
{
    auto k = step_block_of(a, B);
    decoder_plan(k);
    __syncthreads();
    compute(k);
}
template <uint32_t D, typename BLOCK>
__device__ __forceinline__ void step_prefetch_keys(const BLOCK &, uint32_t)
{
}

#endif

/* --- the six steps ---------------------------------------------------------------------------- */

template <uint32_t B, bool IS_DEPENDENT>
__device__ __forceinline__ void step_qkv(const struct decoder_args &a)
{
    step_product<DECODER_QKV, B, IS_DEPENDENT>(a, step_layer_norm(a, 0), [](auto &k) {
        decoder_take_residual<B>(k, false, 0, decoder_norm_of(k, 0));
        decoder_product<B, false>(k, DECODER_QKV);
    });
}

template <uint32_t D, uint32_t G, bool IS_DEPENDENT>
__device__ __forceinline__ void step_attention(const struct decoder_args &a, uint32_t batch)
{
    auto k = step_block_of(a, batch);
    step_begin_next<IS_DEPENDENT>();
    if (IS_DEPENDENT)
        step_prefetch_keys<D>(k, batch);
    step_wait_for_last<IS_DEPENDENT>();
    decoder_take_q<D>(k, batch);
    decoder_step_attention<D, G, false>(k, batch);
}

template <bool IS_DEPENDENT>
__device__ __forceinline__ void step_merge(const struct decoder_args &a, uint32_t batch)
{
    auto k = step_block_of(a, batch);
    step_begin_next<IS_DEPENDENT>();
    step_wait_for_last<IS_DEPENDENT>();
    decoder_step_merge(k, batch);
}

// O and down: each row has one block. put(row, sequence, sum).
template <enum decoder_matrix M, uint32_t B, bool IS_DEPENDENT, typename PUT>
__device__ __forceinline__ void step_rows(const struct decoder_args &a, PUT put)
{
    step_product<M, B, IS_DEPENDENT>(a, NULL, [&](auto &k) {
        decoder_take_x<B>(k, M == DECODER_O ? k.mail.attention : k.mail.h,
                          decoder_columns(&a.shape, M));
        rows_take<B, false>(k.source, decoder_rows(k, M), a.shape, (const uint4 *)k.x, k.sums,
                            [&](uint32_t row, uint32_t b, const float(&sum)[DECODER_UNIT_ROWS]) {
                                put(row, b, sum[0]);
                            });
    });
}

template <uint32_t B, bool IS_DEPENDENT>
__device__ __forceinline__ void step_gate_up(const struct decoder_args &a)
{
    step_product<DECODER_GATE_UP, B, IS_DEPENDENT>(a, step_layer_norm(a, 1), [](auto &k) {
        decoder_take_residual<B>(k, false, 0, decoder_norm_of(k, 1));
        decoder_product<B, false>(k, DECODER_GATE_UP);
    });
}

template <uint32_t B, bool IS_DEPENDENT>
__device__ __forceinline__ void step_head(const struct decoder_args &a)
{
    step_product<DECODER_HEAD, B, IS_DEPENDENT>(a, a.head_norm, [&](auto &k) {
        decoder_take_residual<B>(k, false, 0, a.head_norm);
        decoder_product<B, false>(k, DECODER_HEAD);
    });
}

// The residual that a chain begins with: given, or the embeddings of the first tokens, of so many.
__device__ __forceinline__ void step_embed(const struct decoder_args &a, uint32_t batch,
                                           uint32_t tokens)
{
    auto k = step_block_of(a, batch);
    const uint32_t b = blockIdx.x, hidden = a.shape.hidden;
    if (a.embedding) {
        decoder_embed(k, b, a.tokens[a.steps * batch + b], tokens);
        return;
    }
    for (uint32_t i = threadIdx.x; i < hidden; i += DECODER_THREADS)
        a.output[b * hidden + i] = ((const float *)a.input)[b * hidden + i];
}

// Two dependents share an SM.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
enum { PRODUCT_THREADS = DECODER_THREADS + 32, PRODUCT_BLOCKS = 2 };
#else
enum { PRODUCT_THREADS = DECODER_THREADS, PRODUCT_BLOCKS = 1 };
#endif

#endif
