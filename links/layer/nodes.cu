// The steps of one rank's layer as kernels, and the kernel that adds all ranks' summands to the
// residual: nodes of a graph. With NCCL in place of the last one, one rank's summand has its
// residual in it, and what NCCL leaves is the residual. Of a whole step: the head of this rank's
// rows, and the choice of a token among all ranks' best, which are exchanged in the kernel that
// chooses, or by NCCL between two.
#include "fused/common/decoder/steps.cuh"
#include "links/common/exchange.cuh"
#include "links/layer/args.h"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// O and down of this rank's share.
template <enum decoder_matrix M>
static __device__ __forceinline__ void give_share(const struct layer_args &a)
{
    step_rows<M, 1, false>(a.decoder, [&](uint32_t row, uint32_t, float sum) {
        a.share[row] = a.has_residual ? a.decoder.output[row] + sum : sum;
    });
}

// One push all-reduce, from the summands to the residual. A thread's first unit has its residual
// before it waits.
template <int RANKS> static __device__ __forceinline__ void add_shares(const struct layer_args &a)
{
    typedef packets::unit unit;
    const uint64_t units = a.decoder.shape.hidden / 2;
    const uint64_t mine = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const exchange_vector<const unit> from = {(const unit *)a.share};
    float2 *residual = (float2 *)a.decoder.output;
    const float2 early = residual[mine < units ? mine : units - 1];
    __shared__ uint64_t shared;
    struct exchange_turn turn = exchange_join(a.exchange.team, &shared);

    push_all_reduce<packets, fp32, RANKS>::round(
        a.exchange, turn, units, 1, from, [&](uint64_t i, unit sum) {
            const float2 was = i == mine ? early : residual[i];
            residual[i] = make_float2(was.x + __uint_as_float(sum.word[0]),
                                      was.y + __uint_as_float(sum.word[1]));
        });
    exchange_leave(a.exchange.team, turn, 1);
}

// The best of this rank's blocks, in every thread; its row counts from the whole head's first.
template <typename BLOCK>
static __device__ __forceinline__ struct decoder_best best_of_rank(const struct layer_args &a,
                                                                   BLOCK &k)
{
    struct decoder_best best = decoder_take_best(k, 0);
    best.row += a.exchange.team.rank * a.decoder.shape.vocabulary;
    return best;
}

static __device__ __forceinline__ uint32_t tokens_of(const struct layer_args &a)
{
    return a.exchange.team.ranks * a.decoder.shape.vocabulary;
}

// The token of the next step. All threads have the same.
template <typename BLOCK>
static __device__ __forceinline__ void give_token(const struct layer_args &a, BLOCK &k,
                                                  uint32_t token)
{
    if (threadIdx.x == 0)
        a.decoder.tokens[a.decoder.steps + 1] = token;
    decoder_embed(k, 0, token, tokens_of(a));
}

// One block: the bests of all ranks, by one exchange.
template <int RANKS> static __device__ __forceinline__ void choose(const struct layer_args &a)
{
    __shared__ uint64_t shared;
    __shared__ uint32_t token;
    auto k = step_block_of(a.decoder, 1);
    struct exchange_turn turn = exchange_join(a.exchange.team, &shared);
    typedef packets::unit unit;
    const struct decoder_best own = best_of_rank(a, k);
    struct decoder_best best = {-INFINITY, ~0u};

    push_all_gather<packets, RANKS>::round(
        a.exchange, turn, 1, 1,
        [&](uint64_t) {
            return unit{{__float_as_uint(own.logit), own.row}};
        },
        [&](uint64_t, unit one) {
            decoder_better(best, __uint_as_float(one.word[0]), one.word[1]);
        });
    exchange_leave(a.exchange.team, turn, 1);
    if (threadIdx.x == 0) // whose unit it was
        token = best.row;
    __syncthreads();
    give_token(a, k, token);
}

// One block each: this rank's best goes into the share, and what NCCL gathers comes back behind it.
static __device__ __forceinline__ void give_best(const struct layer_args &a)
{
    auto k = step_block_of(a.decoder, 1);
    const struct decoder_best best = best_of_rank(a, k);
    if (threadIdx.x == 0)
        *(float2 *)a.share = make_float2(best.logit, __uint_as_float(best.row));
}
static __device__ __forceinline__ void choose_gathered(const struct layer_args &a)
{
    auto k = step_block_of(a.decoder, 1);
    const float2 *all = (const float2 *)(a.share + LAYER_GATHERED_AT);
    struct decoder_best best = {-INFINITY, ~0u};
    for (uint32_t rank = 0; rank < a.exchange.team.ranks; rank++)
        decoder_better(best, all[rank].x, __float_as_uint(all[rank].y));
    give_token(a, k, best.row);
}

#define NODE(threads, name, blocks, call)                                                          \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        layer_##name(const __grid_constant__ struct layer_args a)                                  \
    {                                                                                              \
        call;                                                                                      \
    }
#define PRODUCT(name, call) NODE(PRODUCT_THREADS, name, PRODUCT_BLOCKS, call)

// Products: the body counted is that of a chunk of 32 rows. Attention: that of a tile of keys and
// values. The sum: that of a poll, which asks for all peers at once; no fence, and nothing that
// empties the L1.
// sass-loop: kernel=layer_qkv lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=layer_o lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=layer_gate_up lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=layer_down lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=layer_attention_* ldg128na=8 hmma=20 guarded<=8 other<=400 local=0 arch=90a+
// sass-loop: kernel=layer_merge ldg64.gpu=2 shfl=13 other<=120 local=0 guarded<=2 arch=90a+
// sass-all: kernel=layer_qkv ublkcp.hinted=1 ublkcp=1 syncs<=45 bar=3 looped calls arch=90a+
// sass-all: kernel=layer_o ublkcp.hinted=1 ublkcp=1 ldg64.gpu=8 syncs<=45 bar=3 looped calls arch=90a+
// sass-all: kernel=layer_gate_up ublkcp.hinted=1 ublkcp=1 syncs<=45 bar=3 looped calls arch=90a+
// sass-all: kernel=layer_down ublkcp.hinted=1 ublkcp=1 ldg64.gpu=8 syncs<=45 bar=3 looped calls arch=90a+
// sass-all: kernel=layer_embed ldg32>=1 stg64>=1 local=0 looped arch=90a+
// sass-loop: kernel=layer_add_2 ldg128.sys=1 membar=0 cctl=0 other<=52 local=0 together arch=90a+
// sass-loop: kernel=layer_add_4 ldg128.sys=3 membar=0 cctl=0 other<=90 local=0 together arch=90a+
// sass-all: kernel=layer_add_* stg128.sys>=1 stg64>=1 ldg64.weak=4 membar=0 cctl=0 local=0 looped
// sass-and: arch=90a
// sass-all: kernel=layer_add_* stg128.sys>=1 stg64>=1 ldg64.weak=8 membar=0 cctl=0 local=0 looped calls
// sass-and: arch=100+
// sass-loop: kernel=layer_head lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-all: kernel=layer_head ublkcp.hinted=1 ublkcp=1 looped calls arch=90a+
// sass-loop: kernel=layer_choose_2 ldg128.sys=1 membar=0 cctl=0 other<=52 local=0 together arch=90a+
// sass-loop: kernel=layer_choose_4 ldg128.sys=3 membar=0 cctl=0 other<=90 local=0 together arch=90a+
// sass-all: kernel=layer_choose_[24] stg128.sys>=1 ldg64.gpu>=1 shfl=10 membar=0 cctl=0 local=0 looped
// sass-and: calls arch=90a+
// sass-all: kernel=layer_best ldg64.gpu>=1 shfl=10 stg64>=1 local=0 looped calls arch=90a+
// sass-all: kernel=layer_choose_gathered ldg64.weak>=1 stg64>=1 local=0 looped calls arch=90a+
PRODUCT(qkv, (step_qkv<1, false>(a.decoder)))
PRODUCT(o, give_share<DECODER_O>(a))
PRODUCT(gate_up, (step_gate_up<1, false>(a.decoder)))
PRODUCT(down, give_share<DECODER_DOWN>(a))
NODE(DECODER_THREADS, attention_128_4, 1, (step_attention<128, 4, false>(a.decoder, 1)))
NODE(DECODER_THREADS, merge, 1, step_merge<false>(a.decoder, 1))
NODE(DECODER_THREADS, embed, 1, step_embed(a.decoder, 1, tokens_of(a)))
NODE(LAYER_SUM_THREADS, add_2, 1, add_shares<2>(a))
NODE(LAYER_SUM_THREADS, add_4, 1, add_shares<4>(a))
PRODUCT(head, (step_head<1, false>(a.decoder)))
NODE(DECODER_THREADS, choose_2, 1, choose<2>(a))
NODE(DECODER_THREADS, choose_4, 1, choose<4>(a))
NODE(DECODER_THREADS, best, 1, give_best(a))
NODE(DECODER_THREADS, choose_gathered, 1, choose_gathered(a))

#endif
