// The steps of a decoder layer as kernels of their own: the six steps with everything fused into them
// that needs no edge, and one kernel for each operator. Both use the device functions of the kernel that
// stays (decoder_layer.cu).
//
// A kernel does its step for layer a.layer. The residual is in a.output. What one hands over to the next
// lies in the first layer's mail, as plain words.
//
// From compute capability 9.0 on a ninth warp of a product's block asks for the weights (ring.cuh), so
// many at a time that two blocks fit an SM. "dependent" kernels are launched as programmatic dependents
// of the kernel before: they let the next one begin, fill their rings, and only then wait for the kernel
// before.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/dependent.cuh"
#include "fused/common/decoder/layer.cuh"

extern __shared__ uint4 decoder_memory[];

// The shared memory and the tables that a step needs.
template <typename SOURCE = source_memory>
static __device__ __forceinline__ struct decoder_block<edge_kernel, SOURCE>
block_of(const struct decoder_args &a, uint32_t batch)
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

static __device__ __forceinline__ const void *layer_norm(const struct decoder_args &a, int which)
{
    return (const char *)a.weights + a.layer % a.sets * decoder_layer_bytes(&a.shape) +
           decoder_norm_place(&a.shape, which);
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

template <bool IS_DEPENDENT> static __device__ __forceinline__ void begin_next(void)
{
    if (IS_DEPENDENT)
        dependent_release();
}
template <bool IS_DEPENDENT> static __device__ __forceinline__ void wait_for_last(void)
{
    if (IS_DEPENDENT)
        dependent_wait();
}

// A product's block: the ninth warp has its rows of M come, the others compute. `norm`: the weights of
// the norm before it, or NULL.
template <enum decoder_matrix M, uint32_t B, bool IS_DEPENDENT, typename COMPUTE>
static __device__ __forceinline__ void product(const struct decoder_args &a, const void *norm,
                                               COMPUTE compute)
{
    const struct decoder_shared place = decoder_shared_of(&a.shape, B, a.stages, 0);
    auto k = block_of<source_ring>(a, B);

    begin_next<IS_DEPENDENT>();
    if (IS_DEPENDENT && norm && threadIdx.x == 0)
        prefetch_bulk(norm, 2 * a.shape.hidden);
    decoder_plan(k);
    k.source.ring = ring_of((char *)decoder_memory, place, a.stages, a.in_flight);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS)
        rows_fill(k.source.ring, decoder_rows(k, M), a.shape);
    else {
        wait_for_last<IS_DEPENDENT>();
        compute(k);
    }
}

// Asks the L2 for the block's old keys and values, which no kernel of this step writes.
template <uint32_t D, typename BLOCK>
static __device__ __forceinline__ void prefetch_keys(const BLOCK &k, uint32_t batch)
{
    const struct decoder_part part = decoder_part_of(k);
    const struct decoder_share keys = decoder_keys_of(k.a.context, k.a.splits, part.split);
    if (part.b < batch && threadIdx.x < 2 && keys.count > 0)
        prefetch_bulk(decoder_cache_of(k, batch, part.b, part.kv, threadIdx.x) +
                          (uint64_t)keys.first * (2 * D),
                      keys.count * (2 * D));
}

#else // no ring, and no kernel of these architectures is dependent

template <bool> static __device__ __forceinline__ void begin_next(void) {}
template <bool> static __device__ __forceinline__ void wait_for_last(void) {}

template <enum decoder_matrix M, uint32_t B, bool, typename COMPUTE>
static __device__ __forceinline__ void product(const struct decoder_args &a, const void *,
                                               COMPUTE compute)
{
    auto k = block_of(a, B);
    decoder_plan(k);
    __syncthreads();
    compute(k);
}
template <uint32_t D, typename BLOCK>
static __device__ __forceinline__ void prefetch_keys(const BLOCK &, uint32_t)
{
}

#endif

/* --- the six steps -------------------------------------------------------------------------------- */

template <uint32_t B, bool IS_DEPENDENT>
static __device__ __forceinline__ void qkv(const struct decoder_args &a)
{
    product<DECODER_QKV, B, IS_DEPENDENT>(a, layer_norm(a, 0), [](auto &k) {
        decoder_take_residual<B>(k, false, 0, decoder_norm_of(k, 0));
        decoder_product<B, false>(k, DECODER_QKV);
    });
}

template <uint32_t D, uint32_t G, bool IS_DEPENDENT>
static __device__ __forceinline__ void attention(const struct decoder_args &a, uint32_t batch)
{
    auto k = block_of(a, batch);
    begin_next<IS_DEPENDENT>();
    if (IS_DEPENDENT)
        prefetch_keys<D>(k, batch);
    wait_for_last<IS_DEPENDENT>();
    decoder_take_q<D>(k, batch);
    decoder_step_attention<D, G, false>(k, batch);
}

template <bool IS_DEPENDENT>
static __device__ __forceinline__ void merge(const struct decoder_args &a, uint32_t batch)
{
    auto k = block_of(a, batch);
    begin_next<IS_DEPENDENT>();
    wait_for_last<IS_DEPENDENT>();
    decoder_step_merge(k, batch);
}

// O and down: each row has one block, which adds to the residual in memory.
template <enum decoder_matrix M, uint32_t B, bool IS_DEPENDENT>
static __device__ __forceinline__ void add(const struct decoder_args &a)
{
    product<M, B, IS_DEPENDENT>(a, NULL, [&](auto &k) {
        decoder_take_x<B>(k, M == DECODER_O ? k.mail.attention : k.mail.h,
                          decoder_columns(&a.shape, M));
        rows_take<B, false>(k.source, decoder_rows(k, M), a.shape, (const uint4 *)k.x, k.sums,
                            [&](uint32_t row, uint32_t b, const float(&sum)[DECODER_UNIT_ROWS]) {
                                a.output[b * a.shape.hidden + row] += sum[0];
                            });
    });
}

template <uint32_t B, bool IS_DEPENDENT>
static __device__ __forceinline__ void gate_up(const struct decoder_args &a)
{
    product<DECODER_GATE_UP, B, IS_DEPENDENT>(a, layer_norm(a, 1), [](auto &k) {
        decoder_take_residual<B>(k, false, 0, decoder_norm_of(k, 1));
        decoder_product<B, false>(k, DECODER_GATE_UP);
    });
}

template <uint32_t B, bool IS_DEPENDENT>
static __device__ __forceinline__ void head(const struct decoder_args &a)
{
    product<DECODER_HEAD, B, IS_DEPENDENT>(a, a.head_norm, [&](auto &k) {
        decoder_take_residual<B>(k, false, 0, a.head_norm);
        decoder_product<B, false>(k, DECODER_HEAD);
    });
}

// The best of the head's blocks is the next token; its embedding is the next step's residual.
template <bool IS_DEPENDENT>
static __device__ __forceinline__ void choose(const struct decoder_args &a, uint32_t batch)
{
    auto k = block_of(a, batch);
    begin_next<IS_DEPENDENT>();
    wait_for_last<IS_DEPENDENT>();
    for (uint32_t b = 0; b < batch; b++) {
        const uint32_t token = decoder_take_token(k, b);
        if (threadIdx.x == 0)
            a.tokens[(a.steps + 1) * batch + b] = token;
        decoder_embed(k, b, token);
    }
}

/* --- a kernel for each operator --------------------------------------------------------------------- */

// x = norm(residual) in bf16; with HAS_RAW the residual first becomes residual + raw. One block for a
// sequence.
template <bool HAS_RAW>
static __device__ __forceinline__ void norm(const struct decoder_args &a, const void *weights)
{
    const struct decoder_mail mail = decoder_mail_of(&a.shape, gridDim.x, a.splits, a.blocks);
    const uint32_t pairs = a.shape.hidden / 2, b = blockIdx.x;
    float2 *residual = (float2 *)(a.output + b * a.shape.hidden);
    const float2 *raw = (const float2 *)((const float *)a.mail + mail.raw + b * a.shape.hidden);
    uint32_t *x = (uint32_t *)a.mail + mail.x + b * pairs;
    __shared__ float scratch[DECODER_WARPS];
    float squares = 0;

    for (uint32_t i = threadIdx.x; i < pairs; i += DECODER_THREADS) {
        float2 two = residual[i];
        if (HAS_RAW) {
            two = make_float2(two.x + raw[i].x, two.y + raw[i].y);
            residual[i] = two;
        }
        squares = fmaf(two.x, two.x, squares);
        squares = fmaf(two.y, two.y, squares);
    }
    squares = block_reduce<adding, DECODER_WARPS>(squares, scratch);
    const float by = rsqrtf(squares / (float)a.shape.hidden + a.epsilon);
    for (uint32_t i = threadIdx.x; i < pairs; i += DECODER_THREADS) {
        const float2 two = residual[i], w = bf16::widen(((const uint32_t *)weights)[i]);
        x[i] = bf16::narrow(make_float2(two.x * by * w.x, two.y * by * w.y));
    }
}

// A product alone: x from the mail's words at `from`, the rows in fp32 at `to`.
template <enum decoder_matrix M, uint32_t B>
static __device__ __forceinline__ void multiply(const struct decoder_args &a)
{
    const uint32_t unit_rows = decoder_unit_rows(M);
    const uint32_t rows = M == DECODER_GATE || M == DECODER_UP
                              ? 2 * a.shape.ffn
                              : decoder_units(&a.shape, M) * unit_rows;

    product<M, B, false>(a, NULL, [&](auto &k) {
        float *raw = (float *)a.mail + k.mail.raw;
        decoder_take_x<B>(k,
                          M == DECODER_O      ? k.mail.attention
                          : M == DECODER_DOWN ? k.mail.h
                                              : k.mail.x,
                          decoder_columns(&a.shape, M));
        rows_take<B, false>(
            k.source, decoder_rows(k, M), a.shape, (const uint4 *)k.x, k.sums,
            [&](uint32_t unit, uint32_t b, const float(&sum)[DECODER_UNIT_ROWS]) {
#pragma unroll
                for (uint32_t i = 0; i < DECODER_UNIT_ROWS; i++)
                    if (i < unit_rows)
                        raw[b * rows + decoder_row(&a.shape, M, unit * unit_rows + i)] = sum[i];
            });
    });
}

template <uint32_t B> static __device__ __forceinline__ void multiply_head(const struct decoder_args &a)
{
    product<DECODER_HEAD, B, false>(a, NULL, [&](auto &k) {
        if (threadIdx.x < B)
            k.few[threadIdx.x] = 1; // x has the norm's factor
        decoder_take_x<B>(k, k.mail.x, a.shape.hidden);
        decoder_product<B, false>(k, DECODER_HEAD);
    });
}

// The pairs of q, k and v: rotated, and appended to the cache, or one of the two.
template <bool ROTATES, bool APPENDS>
static __device__ __forceinline__ void pairs(const struct decoder_args &a, uint32_t batch)
{
    auto k = block_of(a, batch);
    const uint32_t units = decoder_units(&a.shape, DECODER_QKV), half = a.shape.head_dim / 2;
    const float *raw = (const float *)a.mail + k.mail.raw;
    uint32_t *words = (uint32_t *)a.mail + k.mail.qkv;
    for (uint32_t i = blockIdx.x * DECODER_THREADS + threadIdx.x; i < batch * units;
         i += gridDim.x * DECODER_THREADS) {
        const uint32_t unit = i % units, b = i / units;
        const float *row = raw + b * 2 * units + unit / half * 2 * half + unit % half;
        const uint32_t bits =
            ROTATES ? decoder_rotate(k, unit, make_float2(row[0], row[half])) : words[i];
        if (ROTATES)
            words[i] = bits;
        if (APPENDS)
            decoder_append(k, batch, unit, b, bits);
    }
}

static __device__ __forceinline__ void add_raw(const struct decoder_args &a, uint32_t batch)
{
    const struct decoder_mail mail = decoder_mail_of(&a.shape, batch, a.splits, a.blocks);
    const float *raw = (const float *)a.mail + mail.raw;
    for (uint32_t i = blockIdx.x * DECODER_THREADS + threadIdx.x; i < batch * a.shape.hidden;
         i += gridDim.x * DECODER_THREADS)
        a.output[i] += raw[i];
}

static __device__ __forceinline__ void activate(const struct decoder_args &a, uint32_t batch)
{
    const struct decoder_mail mail = decoder_mail_of(&a.shape, batch, a.splits, a.blocks);
    const uint32_t ffn = a.shape.ffn, units = ffn / 2;
    uint32_t *h = (uint32_t *)a.mail + mail.h;
    for (uint32_t i = blockIdx.x * DECODER_THREADS + threadIdx.x; i < batch * units;
         i += gridDim.x * DECODER_THREADS) {
        const float *raw = (const float *)a.mail + mail.raw + i / units * 2 * ffn;
        const float2 gate = ((const float2 *)raw)[i % units];
        const float2 up = ((const float2 *)(raw + ffn))[i % units];
        h[i] = bf16::narrow(make_float2(decoder_silu(gate.x) * up.x, decoder_silu(gate.y) * up.y));
    }
}

// The residual that a chain begins with: given, or the embeddings of the first tokens.
static __device__ __forceinline__ void embed(const struct decoder_args &a, uint32_t batch)
{
    auto k = block_of(a, batch);
    const uint32_t b = blockIdx.x, hidden = a.shape.hidden;
    if (a.embedding) {
        decoder_embed(k, b, a.tokens[a.steps * batch + b]);
        return;
    }
    for (uint32_t i = threadIdx.x; i < hidden; i += DECODER_THREADS)
        a.output[b * hidden + i] = ((const float *)a.input)[b * hidden + i];
}

/* --- the kernels ------------------------------------------------------------------------------------ */

// Two dependents share an SM.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
enum { PRODUCT_THREADS = DECODER_THREADS + 32, PRODUCT_BLOCKS = 2 };
#else
enum { PRODUCT_THREADS = DECODER_THREADS, PRODUCT_BLOCKS = 1 };
#endif

#define KERNEL_OF(threads, name, blocks, call)                                                      \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                   \
        decoder_##name(const __grid_constant__ struct decoder_args a)                               \
    {                                                                                               \
        call;                                                                                       \
    }
#define KERNEL(name, call) KERNEL_OF(DECODER_THREADS, name, 1, call)
#define PRODUCT(name, call) KERNEL_OF(PRODUCT_THREADS, name, PRODUCT_BLOCKS, call)

#define STEPS(suffix, dependent)                                                                    \
    STEPS_OF(b1##suffix, 1, dependent)                                                              \
    STEPS_OF(b2##suffix, 2, dependent)                                                              \
    STEPS_OF(b4##suffix, 4, dependent)                                                              \
    ATTENTION(64_4##suffix, 64, 4, dependent)                                                       \
    ATTENTION(128_4##suffix, 128, 4, dependent)                                                     \
    ATTENTION(128_8##suffix, 128, 8, dependent)                                                     \
    KERNEL(merge##suffix, merge<dependent>(a, a.batch))                                          \
    KERNEL(choose##suffix, choose<dependent>(a, a.batch))
#define STEPS_OF(suffix, b, dependent)                                                              \
    PRODUCT(qkv_##suffix, (qkv<b, dependent>(a)))                                                \
    PRODUCT(o_##suffix, (add<DECODER_O, b, dependent>(a)))                                       \
    PRODUCT(gate_up_##suffix, (gate_up<b, dependent>(a)))                                        \
    PRODUCT(down_##suffix, (add<DECODER_DOWN, b, dependent>(a)))                                 \
    PRODUCT(head_##suffix, (head<b, dependent>(a)))
#define ATTENTION(suffix, d, g, dependent)                                                          \
    KERNEL(attention_##suffix, (attention<d, g, dependent>(a, a.batch)))
#define MULTIPLY(b)                                                                                 \
    PRODUCT(multiply_qkv_b##b, (multiply<DECODER_QKV, b>(a)))                                    \
    PRODUCT(multiply_o_b##b, (multiply<DECODER_O, b>(a)))                                        \
    PRODUCT(multiply_gate_b##b, (multiply<DECODER_GATE, b>(a)))                                  \
    PRODUCT(multiply_up_b##b, (multiply<DECODER_UP, b>(a)))                                      \
    PRODUCT(multiply_down_b##b, (multiply<DECODER_DOWN, b>(a)))                                  \
    PRODUCT(multiply_head_b##b, (multiply_head<b>(a)))

// Products: the body counted is that of a chunk of 32 rows. Attention: that of a tile of keys and values.
// sass-loop: kernel=decoder_*_b1 ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 arch=80,86,89
// sass-loop: kernel=decoder_*_b1 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b2 ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 arch=80,86,89
// sass-loop: kernel=decoder_*_b2 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b4 ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 arch=80,86,89
// sass-loop: kernel=decoder_*_b4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b1_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b2_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b4_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// The next kernel may begin, and this one waits for the last, once each; meanwhile it asks for what no
// kernel writes.
// sass-all: kernel=decoder_*_dependent acqbulk=1 preexit=1 looped calls arch=90a,100
// sass-all: kernel=decoder_[!h]*_dependent acqbulk=1 preexit=1 looped calls arch=120
// sass-all: kernel=decoder_*_b?_dependent ublkcp.hinted=1 ublkcp=1 looped calls arch=90a,100
// sass-all: kernel=decoder_[!h]*_b?_dependent ublkcp.hinted=1 ublkcp=1 looped calls arch=120
// sass-loop: kernel=decoder_*_b? ublkcp.hinted=1 guarded<=1 arch=90a+
// sass-all: kernel=decoder_qkv_*_dependent ublkpf=1 looped calls arch=90a+
// sass-all: kernel=decoder_gate_up_*_dependent ublkpf=1 looped calls arch=90a+
// sass-all: kernel=decoder_head_*_dependent ublkpf=1 looped calls arch=90a,100
// sass-all: kernel=decoder_head_b[12]_dependent acqbulk=1 preexit=1 ublkpf=1 ublkcp.hinted=1 ublkcp=1
// sass-and: looped calls arch=120
// sass-all: kernel=decoder_attention_*_dependent ublkpf=1 looped calls arch=90a+
// sass-loop: kernel=decoder_attention_*_? ldg128na=4 guarded<=4 other<=800 local=0 arch=80+
// sass-loop: kernel=decoder_attention_*_dependent ldg128na=4 guarded<=4 other<=800 local=0
// sass-and: arch=90a+
// sass-loop: kernel=decoder_merge ldg64.gpu=2 shfl=13 other<=120 local=0 guarded<=2 arch=80+
// sass-loop: kernel=decoder_merge_dependent ldg64.gpu=2 shfl=13 other<=120 local=0 guarded<=2
// sass-and: arch=90a+
// sass-all: kernel=decoder_choose ldg64.gpu>=1 shfl=10 local=0 looped calls arch=80+
// sass-all: kernel=decoder_choose_dependent ldg64.gpu>=1 shfl=10 local=0 looped calls arch=90a+
STEPS(, false)
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
STEPS(_dependent, true)
#endif
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(4)

// sass-all: kernel=decoder_norm_* ldg64>=2 ldg32>=1 stg32>=1 shfl=5 local=0 looped calls arch=80+
// sass-all: kernel=decoder_add_norm ldg64>=3 ldg32>=1 stg32>=1 stg64>=1 shfl=5 local=0 looped calls
// sass-and: arch=80+
// sass-all: kernel=decoder_rotate ldg64>=1 ldg32>=2 stg32>=1 local=0 looped arch=80+
// sass-all: kernel=decoder_append ldg32>=1 stg>=2 local=0 looped arch=80+
// sass-all: kernel=decoder_rotate_append ldg64>=1 ldg32>=2 stg32>=1 stg>=2 local=0 looped arch=80+
// sass-all: kernel=decoder_add ldg32>=2 stg32>=1 local=0 looped arch=80+
// sass-all: kernel=decoder_activate ldg64>=2 stg32>=1 mufu>=4 local=0 looped calls arch=80+
// sass-all: kernel=decoder_embed ldg32>=1 stg64>=1 local=0 looped arch=80+
KERNEL(norm_attention, norm<false>(a, layer_norm(a, 0)))
KERNEL(norm_ffn, norm<false>(a, layer_norm(a, 1)))
KERNEL(norm_head, norm<false>(a, a.head_norm))
KERNEL(add_norm, norm<true>(a, layer_norm(a, 1)))
KERNEL(rotate, (pairs<true, false>(a, a.batch)))
KERNEL(append, (pairs<false, true>(a, a.batch)))
KERNEL(rotate_append, (pairs<true, true>(a, a.batch)))
KERNEL(add, add_raw(a, a.batch))
KERNEL(activate, activate(a, a.batch))
KERNEL(embed, embed(a, a.batch))

#endif
