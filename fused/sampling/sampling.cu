// Kernels of sampling: the whole of it in one kernel, for a cluster or a block per row; and one
// kernel for each operator.
#include "fused/sampling/once.cuh"
#include "fused/sampling/sampling.cuh"

using namespace sampling;

// --- in one kernel -------------------------------------------------------------------------------

template <typename TEAM> __device__ __forceinline__ void sample(const sampling_args &a)
{
    __shared__ sampling_room room;
    TEAM team;
    const row<TEAM, true, 4> row(a, team);
    const uint32_t at = blockIdx.x / team.size;

    top_k<true>(team, row, room, a.rule.k);
    if (team.rank != 0 || threadIdx.x >= 32)
        return;
    const uint32_t token = draw_sorted(room, a.rule, a.noise[at]);
    if (threadIdx.x == 0)
        a.tokens[at] = token;
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
// For 16 blocks a row and k up to SAMPLING_ONCE_K.
__device__ __forceinline__ void sample_once(const sampling_args &a)
{
    __shared__ sampling_room room;
    sixteen_blocks team;
    const uint32_t at = blockIdx.x / SAMPLING_CLUSTER, uniform = __ldg(a.noise + at);

    if (__builtin_expect(top_k_once(team, a, room), 1)) {
        if (team.rank != 0 || threadIdx.x >= 32)
            return;
        const uint32_t token = draw_few(room, a.rule, uniform);
        if (threadIdx.x == 0)
            a.tokens[at] = token;
        return;
    }
    const row<sixteen_blocks, true, ONCE_VECTORS> row(a, team);
    top_k<false>(team, row, room, a.rule.k);
    if (team.rank != 0 || threadIdx.x >= 32)
        return;
    const uint32_t token = draw_sorted(room, a.rule, uniform);
    if (threadIdx.x == 0)
        a.tokens[at] = token;
}
#endif

template <typename TEAM> __device__ __forceinline__ void sample_whole(const sampling_args &a)
{
    __shared__ sampling_room room;
    TEAM team;
    const row<TEAM, true, 2> row(a, team);
    const uint32_t at = blockIdx.x / team.size;

    const uint32_t token = draw_whole(team, row, room, a.rule, a.noise[at]);
    if (team.rank == 0 && threadIdx.x == 0)
        a.tokens[at] = token;
}

// The operator top-k by itself: the k highest logits, sorted, and their tokens.
template <typename TEAM> __device__ __forceinline__ void select_top_k(const sampling_args &a)
{
    __shared__ sampling_room room;
    TEAM team;
    const row<TEAM, false, 4> row(a, team);
    const uint32_t first = blockIdx.x / team.size * a.rule.k;

    top_k<true>(team, row, room, a.rule.k);
    if (team.rank != 0)
        return;
    for (uint32_t i = threadIdx.x; i < a.rule.k; i += SAMPLING_THREADS) {
        const uint64_t candidate = room.sorted[i];
        a.values[first + i] = candidate ? logit_of((uint32_t)(candidate >> 32)) : -INFINITY;
        a.ids[first + i] = ~(uint32_t)candidate;
    }
}

#define BLOCK __launch_bounds__(SAMPLING_THREADS, 2)
#define KERNEL(name, team, of)                                                                    \
    extern "C" __global__ void BLOCK name(const __grid_constant__ struct sampling_args a)         \
    {                                                                                             \
        of<team>(a);                                                                              \
    }

// sass-loop: kernel=sampling_block ldg128na=4 guarded<=4 other<=280 local=0 together
KERNEL(sampling_block, one_block, sample)
// sass-loop: kernel=sampling_block_whole ldg128na=2 guarded<=2 other<=142 local=0
KERNEL(sampling_block_whole, one_block, sample_whole)
// sass-loop: kernel=sampling_block_top_k ldg128na=4 guarded<=4 other<=103 local=0 together
KERNEL(sampling_block_top_k, one_block, select_top_k)

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
// sass-loop: kernel=sampling_cluster ldg128na=4 guarded<=4 other<=261 local=0 together arch=90a+
KERNEL(sampling_cluster, one_cluster, sample)
// sass-all: kernel=sampling_cluster_once ldg128na=8 redux>=8 stas=17 ucgabar_arv=1 ucgabar_wait=1 local=0 looped calls
// sass-and: arch=90a
// sass-loop: kernel=sampling_cluster_once ldg128na=4 guarded<=4 other<=261 local=0 together
// sass-and: arch=100,120
extern "C" __global__ void __launch_bounds__(SAMPLING_THREADS, 1)
    sampling_cluster_once(const __grid_constant__ struct sampling_args a)
{
    sample_once(a);
}
// sass-loop: kernel=sampling_cluster_whole ldg128na=2 guarded<=2 other<=143 local=0 together
// sass-and: arch=90a+
KERNEL(sampling_cluster_whole, one_cluster, sample_whole)
// sass-loop: kernel=sampling_cluster_top_k ldg128na=4 guarded<=4 other<=112 local=0 together
// sass-and: arch=90a+
KERNEL(sampling_cluster_top_k, one_cluster, select_top_k)
#endif

// --- a kernel for each operator ------------------------------------------------------------------

struct penalty {
    static __device__ __forceinline__ float of(float x, uint32_t bit, const sampling_rule &rule)
    {
        return penalised(x, bit & 1, rule);
    }
};
struct temperature {
    static __device__ __forceinline__ float of(float x, uint32_t, const sampling_rule &rule)
    {
        return tempered(x, rule);
    }
};

// A vector holds four tokens, a thread takes VECTORS vectors; blockIdx.y is the row.
template <typename OPERATION, bool SEEN, int VECTORS>
__device__ __forceinline__ void each_logit(const sampling_step_args &a)
{
    const float4 *in = (const float4 *)(a.in + blockIdx.y * a.stride);
    float4 *out = (float4 *)(a.out + blockIdx.y * a.stride);
    const uint32_t *seen = a.seen + blockIdx.y * a.seen_stride;
    const uint32_t first = blockIdx.x * (SAMPLING_EACH * VECTORS) + threadIdx.x;
    uint4 x[VECTORS];
    uint32_t bits[VECTORS] = {};

#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const uint32_t v = first + i * SAMPLING_EACH;
        if (4 * v < a.count) {
            x[i] = load_once(in + v);
            if (SEEN)
                bits[i] = __ldg(seen + v / 8) >> v % 8 * 4;
        }
    }
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const uint32_t v = first + i * SAMPLING_EACH;
        if (4 * v < a.count)
            out[v] = make_float4(OPERATION::of(__uint_as_float(x[i].x), bits[i], a.rule),
                                 OPERATION::of(__uint_as_float(x[i].y), bits[i] >> 1, a.rule),
                                 OPERATION::of(__uint_as_float(x[i].z), bits[i] >> 2, a.rule),
                                 OPERATION::of(__uint_as_float(x[i].w), bits[i] >> 3, a.rule));
    }
}

#define EACH_LOGIT(name, operation, seen, vectors)                                                \
    extern "C" __global__ void __launch_bounds__(SAMPLING_EACH)                                   \
        sampling_##name(const __grid_constant__ struct sampling_step_args a)                      \
    {                                                                                             \
        each_logit<operation, seen, vectors>(a);                                                  \
    }

// sass-all: kernel=sampling_penalty ldg128na=4 stg128=4 local=0 together
EACH_LOGIT(penalty, penalty, true, 4)
// sass-all: kernel=sampling_penalty_small ldg128na=1 stg128=1 local=0
EACH_LOGIT(penalty_small, penalty, true, 1)
// sass-all: kernel=sampling_temperature ldg128na=4 stg128=4 local=0 together
EACH_LOGIT(temperature, temperature, false, 4)
// sass-all: kernel=sampling_temperature_small ldg128na=1 stg128=1 local=0
EACH_LOGIT(temperature_small, temperature, false, 1)

// What remains of a row is k sorted logits, for one warp. Probabilities are fp32; their sums are
// integers with 42 fractional bits, as in the fused kernel.
__device__ __forceinline__ uint64_t fixed(float probability)
{
    return (uint64_t)(probability * 0x1p42f);
}

// sass-all: ldg32>=10 shfl=5 stg32>=1 mufu>=10 local=0 looped calls
extern "C" __global__ void __launch_bounds__(32)
    sampling_softmax(const __grid_constant__ struct sampling_step_args a)
{
    const float *in = a.in + blockIdx.x * a.stride;
    float *out = a.out + blockIdx.x * a.stride;
    const float highest = in[0];
    float sum = 0;

    for (uint32_t i = threadIdx.x; i < a.count; i += 32)
        sum += in[i] > -INFINITY ? expf(in[i] - highest) : 0;
#pragma unroll
    for (int with = 16; with > 0; with /= 2)
        sum += __shfl_xor_sync(~0u, sum, with);
    for (uint32_t i = threadIdx.x; i < a.count; i += 32)
        out[i] = in[i] > -INFINITY ? expf(in[i] - highest) / sum : 0;
}

// Finds the first of `count` probabilities at which the sum reaches `need`; returns that sum.
__device__ __forceinline__ uint64_t sum_reaching(const float *in, uint32_t count, uint64_t need,
                                                 uint32_t *where)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i += 32) {
        const uint32_t at = i + threadIdx.x;
        const uint64_t sum = before + warp_sums(at < count ? fixed(in[at]) : 0);
        const uint32_t reached = __ballot_sync(~0u, sum >= need);
        if (reached) {
            *where = i + (uint32_t)__ffs((int)reached) - 1;
            return __shfl_sync(~0u, sum, __ffs((int)reached) - 1);
        }
        before = __shfl_sync(~0u, sum, 31);
    }
    *where = count;
    return before;
}

// sass-all: ldg32>=7 shfl=28 vote=2 stg32>=5 local=0 looped calls
extern "C" __global__ void __launch_bounds__(32)
    sampling_top_p(const __grid_constant__ struct sampling_step_args a)
{
    const float *in = a.in + blockIdx.x * a.stride;
    float *out = a.out + blockIdx.x * a.stride;
    uint32_t last;
    const uint64_t whole = sum_reaching(in, a.count, ~0ull, &last);
    const uint64_t kept = sum_reaching(in, a.count, part_of(whole, a.rule.share) + 1, &last);
    const float scale = kept > 0 ? 0x1p42f / (float)kept : 0;

    for (uint32_t i = threadIdx.x; i < a.count; i += 32)
        out[i] = i <= last ? in[i] * scale : 0;
}

// sass-loop: shfl=12 ldg32=1 vote=1 guarded<=1 other<=44 local=0 arch=75,80,86,89,90a,100
// sass-loop: shfl=12 ldg32=1 vote=1 guarded<=1 other<=28 local=0 arch=120
// sass-all: shfl=26 ldg32=4 vote=2 stg32=1 stg=1 looped calls
extern "C" __global__ void __launch_bounds__(32)
    sampling_draw(const __grid_constant__ struct sampling_step_args a)
{
    const float *in = a.in + blockIdx.x * a.stride;
    uint32_t drawn;
    const uint64_t whole = sum_reaching(in, a.count, ~0ull, &drawn);
    sum_reaching(in, a.count, part_of(whole, a.noise[blockIdx.x]) + 1, &drawn);
    if (threadIdx.x == 0)
        a.tokens[blockIdx.x] = drawn < a.count && whole > 0 ? a.ids[blockIdx.x * a.stride + drawn]
                                                            : SAMPLING_NONE;
}
