// The steps of a decoder layer as kernels of their own (fused/common/decoder/steps.cuh), and one
// kernel for each operator.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "fused/common/decoder/steps.cuh"

// O and down add to the residual in memory.
template <enum decoder_matrix M, uint32_t B, bool IS_DEPENDENT>
static __device__ __forceinline__ void add(const struct decoder_args &a)
{
    step_rows<M, B, IS_DEPENDENT>(a, [&](uint32_t row, uint32_t b, float sum) {
        a.output[b * a.shape.hidden + row] += sum;
    });
}

// The best of the head's blocks is the next token; its embedding is the next step's residual.
template <bool IS_DEPENDENT>
static __device__ __forceinline__ void choose(const struct decoder_args &a, uint32_t batch)
{
    auto k = step_block_of(a, batch);
    step_begin_next<IS_DEPENDENT>();
    step_wait_for_last<IS_DEPENDENT>();
    for (uint32_t b = 0; b < batch; b++) {
        const uint32_t token = decoder_take_best(k, b).row;
        if (threadIdx.x == 0)
            a.tokens[(a.steps + 1) * batch + b] = token;
        decoder_embed(k, b, token, a.shape.vocabulary);
    }
}

/* --- a kernel for each operator --------------------------------------------------------------- */

// x = norm(residual) in bf16; with HAS_RAW the residual first becomes residual + raw. One block for
// a sequence.
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

    step_product<M, B, false>(a, NULL, [&](auto &k) {
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

template <uint32_t B>
static __device__ __forceinline__ void multiply_head(const struct decoder_args &a)
{
    step_product<DECODER_HEAD, B, false>(a, NULL, [&](auto &k) {
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
    auto k = step_block_of(a, batch);
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

/* --- the kernels ------------------------------------------------------------------------------ */

#define KERNEL_OF(threads, name, blocks, call)                                                     \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        decoder_##name(const __grid_constant__ struct decoder_args a)                              \
    {                                                                                              \
        call;                                                                                      \
    }
#define KERNEL(name, call) KERNEL_OF(DECODER_THREADS, name, 1, call)
#define PRODUCT(name, call) KERNEL_OF(PRODUCT_THREADS, name, PRODUCT_BLOCKS, call)

#define STEPS(suffix, dependent)                                                                   \
    STEPS_OF(b1##suffix, 1, dependent)                                                             \
    STEPS_OF(b2##suffix, 2, dependent)                                                             \
    STEPS_OF(b4##suffix, 4, dependent)                                                             \
    ATTENTION(64_4##suffix, 64, 4, dependent)                                                      \
    ATTENTION(128_4##suffix, 128, 4, dependent)                                                    \
    ATTENTION(128_8##suffix, 128, 8, dependent)                                                    \
    KERNEL(merge##suffix, step_merge<dependent>(a, a.batch))                                       \
    KERNEL(choose##suffix, choose<dependent>(a, a.batch))
#define STEPS_OF(suffix, b, dependent)                                                             \
    PRODUCT(qkv_##suffix, (step_qkv<b, dependent>(a)))                                             \
    PRODUCT(o_##suffix, (add<DECODER_O, b, dependent>(a)))                                         \
    PRODUCT(gate_up_##suffix, (step_gate_up<b, dependent>(a)))                                     \
    PRODUCT(down_##suffix, (add<DECODER_DOWN, b, dependent>(a)))                                   \
    PRODUCT(head_##suffix, (step_head<b, dependent>(a)))
#define ATTENTION(suffix, d, g, dependent)                                                         \
    KERNEL_OF(DECODER_THREADS, attention_##suffix, 2, (step_attention<d, g, dependent>(a, a.batch)))
#define MULTIPLY(b)                                                                                \
    PRODUCT(multiply_qkv_b##b, (multiply<DECODER_QKV, b>(a)))                                      \
    PRODUCT(multiply_o_b##b, (multiply<DECODER_O, b>(a)))                                          \
    PRODUCT(multiply_gate_b##b, (multiply<DECODER_GATE, b>(a)))                                    \
    PRODUCT(multiply_up_b##b, (multiply<DECODER_UP, b>(a)))                                        \
    PRODUCT(multiply_down_b##b, (multiply<DECODER_DOWN, b>(a)))                                    \
    PRODUCT(multiply_head_b##b, (multiply_head<b>(a)))

// Products: the body counted is that of a chunk of 32 rows. Attention: that of a tile of keys and
// values.
// sass-loop: kernel=decoder_*_b1 ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 arch=80,86,89
// sass-loop: kernel=decoder_*_b1 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b2 ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 arch=80,86,89
// sass-loop: kernel=decoder_*_b2 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b4 ldg128na=16 hmma=16 guarded<=16 other<=300 local=0 arch=80,86,89
// sass-loop: kernel=decoder_*_b4 lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b1_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b2_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=decoder_*_b4_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// The next kernel may begin, and this one waits for the last, once each; meanwhile it asks for what
// no kernel writes.
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
// sass-loop: kernel=decoder_attention_64_4 ldg128na=4 hmma=10 guarded<=4 other<=250 local=0 arch=80+
// sass-loop: kernel=decoder_attention_64_4_dependent ldg128na=4 hmma=10 guarded<=4 other<=250 local=0
// sass-and: arch=90a+
// sass-loop: kernel=decoder_attention_128_4 ldg128na=8 hmma=20 guarded<=8 other<=400 local=0 arch=80+
// sass-loop: kernel=decoder_attention_128_4_dependent ldg128na=8 hmma=20 guarded<=8 other<=400 local=0
// sass-and: arch=90a+
// sass-loop: kernel=decoder_attention_128_8 ldg128na=8 hmma=24 guarded<=8 other<=500 local=0 arch=80+
// sass-loop: kernel=decoder_attention_128_8_dependent ldg128na=8 hmma=24 guarded<=8 other<=500 local=0
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
KERNEL(norm_attention, norm<false>(a, step_layer_norm(a, 0)))
KERNEL(norm_ffn, norm<false>(a, step_layer_norm(a, 1)))
KERNEL(norm_head, norm<false>(a, a.head_norm))
KERNEL(add_norm, norm<true>(a, step_layer_norm(a, 1)))
KERNEL(rotate, (pairs<true, false>(a, a.batch)))
KERNEL(append, (pairs<false, true>(a, a.batch)))
KERNEL(rotate_append, (pairs<true, true>(a, a.batch)))
KERNEL(add, add_raw(a, a.batch))
KERNEL(activate, activate(a, a.batch))
KERNEL(embed, step_embed(a, a.batch, a.shape.vocabulary))

#endif
