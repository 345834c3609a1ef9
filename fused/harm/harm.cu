// Kernels of harm: fusions that lose, in pairs with what heals them. Those that spill are in
// spills.cu.
#include "core/device/verdict.cuh"
#include "fused/harm/harm.cuh"

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
#include "core/device/cluster.cuh"
#endif

// --- many live values ----------------------------------------------------------------------------

// As many registers as they need.
// sass-all: kernel=harm_streams_32 ldg128na=32 stg128=32 local=0 regs>=128
extern "C" __global__ void __launch_bounds__(HARM_STREAM_THREADS)
    harm_streams_32(const __grid_constant__ struct harm_args a)
{
    softmax_across<32>(a);
}

// sass-all: kernel=harm_streams_4 ldg128na=4 stg128=4 local=0 together
extern "C" __global__ void __launch_bounds__(HARM_STREAM_THREADS)
    harm_streams_4(const __grid_constant__ struct harm_args a)
{
    softmax_across<4>(a);
}

// The cap alone does no harm: four streams fit into 32 registers.
// sass-all: kernel=harm_streams_4_cap_32 ldg128na=4 stg128=4 local=0 regs<=32
extern "C" __global__ void __maxnreg__(32)
    harm_streams_4_cap_32(const __grid_constant__ struct harm_args a)
{
    softmax_across<4>(a);
}

// One value a thread of each stream, not four: all of 96 streams fit into registers.
// sass-all: kernel=harm_streams_96_narrow ldg32=96 stg32=96 local=0 regs>=96
extern "C" __global__ void __launch_bounds__(HARM_STREAM_THREADS)
    harm_streams_96_narrow(const __grid_constant__ struct harm_args a)
{
    enum { STREAMS = 96 };
    const uint64_t at = (uint64_t)blockIdx.x * HARM_STREAM_THREADS + threadIdx.x;
    const float *in = (const float *)a.in + at;
    float *out = (float *)a.out + at;
    float x[STREAMS], sum = 0;

    if (at >= a.columns)
        return;
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
        x[i] = __ldcs(in + i * a.stride);
    float most = x[0];
#pragma unroll
    for (int i = 1; i < STREAMS; i++)
        most = fmaxf(most, x[i]);
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
        sum += x[i] = __expf(x[i] - most);
    sum = __fdividef(1, sum);
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
        out[i * a.stride] = x[i] * sum;
}

// In two kernels nothing lives long: greatest and sum over the streams, four at a time; then each
// stream by itself. aside: the greatest, and one over the sum.
// sass-loop: ldg128na=4 local=0 together
extern "C" __global__ void __launch_bounds__(HARM_STREAM_THREADS)
    harm_streams_sums(const __grid_constant__ struct harm_args a)
{
    const uint64_t at = 4 * ((uint64_t)blockIdx.x * HARM_STREAM_THREADS + threadIdx.x);
    const float *in = (const float *)a.in + at;
    float *aside = (float *)a.aside + at;
    const float least = -3.402823466e38f;
    float4 sum = {}, most = make_float4(least, least, least, least);

    if (at >= a.columns)
        return;
    for (uint32_t s = 0; s < a.rows; s += 4) {
        float4 x[4], before = most;
#pragma unroll
        for (int i = 0; i < 4; i++)
            x[i] = load4(in + (s + i) * a.stride);
#pragma unroll
        for (int i = 0; i < 4; i++)
            most = max4(most, x[i]);
        sum = mul4(sum, exp4(before, most));
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum = add4(sum, exp4(x[i], most));
    }
    *(float4 *)aside = most;
    *(float4 *)(aside + a.stride) = inverse4(sum);
}

// sass-all: ldg128na=4 stg128=4 local=0
extern "C" __global__ void __launch_bounds__(HARM_STREAM_THREADS)
    harm_streams_apply(const __grid_constant__ struct harm_args a)
{
    const uint64_t at = 4 * ((uint64_t)blockIdx.x * HARM_STREAM_THREADS + threadIdx.x);
    const uint64_t first = at + blockIdx.y * 4 * a.stride;
    const float *in = (const float *)a.in + first, *aside = (const float *)a.aside + at;
    float *out = (float *)a.out + first;
    float4 x[4];

    if (at >= a.columns)
        return;
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = load4(in + i * a.stride);
    const float4 most = *(const float4 *)aside, scale = *(const float4 *)(aside + a.stride);
#pragma unroll
    for (int i = 0; i < 4; i++)
        __stwb((float4 *)(out + i * a.stride), mul4(exp4(x[i], most), scale));
}

// --- a wide row ----------------------------------------------------------------------------------

// One block, which reads its row twice: the second time from the L2, mostly.
// sass-loop: ldg128na=4 local=0 together
extern "C" __global__ void __launch_bounds__(HARM_ROW_THREADS, 1)
    harm_wide_twice(const __grid_constant__ struct harm_args a)
{
    __shared__ float scratch[2][32];
    const uint4 *in = (const uint4 *)((const __half *)a.in + blockIdx.x * a.stride);
    uint4 *out = (uint4 *)((__half *)a.out + blockIdx.x * a.stride);
    const uint32_t turns = a.columns / HARM_ROW_THREADS / 32;
    float most = -3.402823466e38f, sum = 0;

    for (uint32_t turn = 0; turn < turns; turn++) {
        held<4> part;
        const float before = most;
        most = fmaxf(most, part.load(in + turn * 4 * HARM_ROW_THREADS));
        sum = sum * __expf(before - most) + part.raise(most);
    }
    const float greatest_of = block_reduce<greatest, 32>(most, scratch[0]);
    sum = block_reduce<adding, 32>(sum * __expf(most - greatest_of), scratch[1]);
    for (uint32_t turn = 0; turn < turns; turn++) {
        held<4> part;
        part.load(in + turn * 4 * HARM_ROW_THREADS);
        part.raise(greatest_of);
        part.store(out + turn * 4 * HARM_ROW_THREADS, 1 / sum);
    }
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
// A cluster holds the row, 32 values a thread, and its blocks tell each other greatest and sum.
// sass-all: ldg128na=4 stg128=4 ucgabar_arv=2 st=2 bar.block=4 mufu>=34 other<=503 local=0 looped
// sass-and: calls arch=90a+
extern "C" __global__ void __launch_bounds__(HARM_CLUSTER_THREADS, 2)
    harm_wide_cluster(const __grid_constant__ struct harm_args a)
{
    enum { VECTORS = HARM_ROW_COLUMNS / HARM_CLUSTER / HARM_CLUSTER_THREADS / 8 };
    __shared__ float scratch[2][HARM_CLUSTER_THREADS / 32], told[2][HARM_CLUSTER];
    const uint32_t rank = cluster_rank();
    const uint64_t first = blockIdx.x / HARM_CLUSTER * a.stride +
                           rank * (HARM_ROW_COLUMNS / HARM_CLUSTER);
    held<VECTORS, HARM_CLUSTER_THREADS> row;

    float most = row.load((const uint4 *)((const __half *)a.in + first));
    most = block_reduce<greatest, HARM_CLUSTER_THREADS / 32>(most, scratch[0]);
    const float own = block_reduce<adding, HARM_CLUSTER_THREADS / 32>(row.raise(most), scratch[1]);
    cluster_arrive_relaxed();
    cluster_wait_relaxed();
    if (threadIdx.x < HARM_CLUSTER) {
        cluster_store(cluster_map(shared_address(&told[0][rank]), threadIdx.x),
                      __float_as_uint(most));
        cluster_store(cluster_map(shared_address(&told[1][rank]), threadIdx.x),
                      __float_as_uint(own));
    }
    cluster_arrive();
    cluster_wait();
    float greatest_of = told[0][0], sum = 0;
    for (int i = 1; i < HARM_CLUSTER; i++)
        greatest_of = fmaxf(greatest_of, told[0][i]);
    for (int i = 0; i < HARM_CLUSTER; i++)
        sum += told[1][i] * __expf(told[0][i] - greatest_of);
    row.store((uint4 *)((__half *)a.out + first), __expf(most - greatest_of) / sum);
}
#endif

// --- two unlike phases ---------------------------------------------------------------------------

extern __shared__ float tile[];

// Tiles of 96 KiB through shared memory, backwards.
__device__ __forceinline__ void reverse(const harm_args &a)
{
    for (uint32_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const float *in = (const float *)a.in + row * a.stride;
        float *out = (float *)a.out + row * a.stride;
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < HARM_TILE / 4; i += HARM_PHASE_THREADS)
            ((float4 *)tile)[i] = load4(in + 4 * i);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < HARM_TILE; i += HARM_PHASE_THREADS)
            out[i] = tile[HARM_TILE - 1 - i];
        __syncthreads();
    }
}

// 2 x + 1 of whole vectors, IN_FLIGHT of them a thread at a time.
template <int IN_FLIGHT> __device__ __forceinline__ void scale(const harm_args &a)
{
    const uint32_t threads = gridDim.x * HARM_PHASE_THREADS;
    const float4 *in = (const float4 *)a.in2;
    float4 *out = (float4 *)a.out2;
    uint32_t at = blockIdx.x * HARM_PHASE_THREADS + threadIdx.x;

#pragma unroll 1
    for (; at < a.columns; at += IN_FLIGHT * threads) {
        float4 x[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++)
            if (at + i * threads < a.columns)
                x[i] = load4(in + at + i * threads);
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++)
            if (at + i * threads < a.columns)
                __stwb(out + at + i * threads,
                       make_float4(2 * x[i].x + 1, 2 * x[i].y + 1, 2 * x[i].z + 1, 2 * x[i].w + 1));
    }
}

#define PHASES(name, body)                                                                         \
    extern "C" __global__ void __launch_bounds__(HARM_PHASE_THREADS)                               \
        harm_phases_##name(const __grid_constant__ struct harm_args a)                             \
    {                                                                                              \
        body;                                                                                      \
    }
// sass-loop: kernel=harm_phases_reverse ldg128na=4 other<=35 exits<=2 local=0 arch=75,90a
// sass-loop: kernel=harm_phases_reverse ldg128na=4 other<=35 exits<=1 local=0 arch=80,86,89
// sass-loop: kernel=harm_phases_reverse ldg128na=4 other<=12 exits<=2 local=0 arch=100+
// sass-all: kernel=harm_phases_reverse ldg128na=7 bar.block=2 stg32>=7 lds32>=7 sts128=7 stg128=0
// sass-and: looped calls
PHASES(reverse, reverse(a))
// sass-loop: kernel=harm_phases_scale ldg128na=1 stg128=1 guarded<=1 other<=17 exits<=2 local=0
PHASES(scale, scale<1>(a))
// sass-all: kernel=harm_phases_one ldg128na=8 bar.block=2 stg32>=7 lds32>=7 sts128=7 stg128=1
// sass-and: ffma=4 local=0 looped calls
PHASES(one, reverse(a); scale<1>(a))
// The merged kernel healed by what it has in flight instead.
// sass-loop: kernel=harm_phases_deep ldg128na=8 stg128=8 ffma=32 guarded<=8 other<=133 exits<=2
// sass-and: local=0 together
// sass-all: kernel=harm_phases_deep ldg128na=15 bar.block=2 stg32>=7 lds32>=7 sts128=7 stg128=8
// sass-and: looped calls
PHASES(deep, reverse(a); scale<8>(a))

// --- fewer blocks --------------------------------------------------------------------------------

// Sum of squares of `vectors` vectors from `first` on, by a block.
__device__ __forceinline__ float squares(const uint4 *in, uint32_t first, uint32_t last,
                                         float *scratch)
{
    float sum = 0;
#pragma unroll 4
    for (uint32_t i = first + threadIdx.x; i < last; i += HARM_ROW_THREADS) {
        float x[8];
        widen<fp16>(load_once(in + i), x);
#pragma unroll
        for (int j = 0; j < 8; j++)
            sum += x[j] * x[j];
    }
    return block_reduce<adding, 32>(sum, scratch);
}

__device__ __forceinline__ void scaled(const uint4 *in, uint4 *out, uint32_t first, uint32_t last,
                                       float by)
{
#pragma unroll 4
    for (uint32_t i = first + threadIdx.x; i < last; i += HARM_ROW_THREADS) {
        float x[8];
        widen<fp16>(load_once(in + i), x);
#pragma unroll
        for (int j = 0; j < 8; j++)
            x[j] *= by;
        out[i] = narrow<fp16>(x);
    }
}

// A row over its root mean square, in one kernel: one block a row.
// sass-loop: ldg128na=4 stores=0 ffma=32 other<=42 exits<=3 local=0 together moving
// sass-all: ldg128na=10 stg128=5 ffma=45 bar.block=1 looped calls
extern "C" __global__ void __launch_bounds__(HARM_ROW_THREADS, 1)
    harm_serial_row(const __grid_constant__ struct harm_args a)
{
    __shared__ float scratch[32];
    const uint4 *in = (const uint4 *)((const __half *)a.in + blockIdx.x * a.stride);
    uint4 *out = (uint4 *)((__half *)a.out + blockIdx.x * a.stride);
    const float sum = squares(in, 0, a.columns / 8, scratch);
    scaled(in, out, 0, a.columns / 8, rsqrtf(sum / (float)a.columns));
}

// In two: blockIdx.x is one of a.parts parts, blockIdx.y the row. aside: sums of rows x parts.
// sass-loop: ldg128na=4 stores=0 ffma=32 other<=48 exits<=2 local=0 moving
// sass-all: ldg128na>=4 stg32=1 stg=1 bar.block=1 looped calls
extern "C" __global__ void __launch_bounds__(HARM_ROW_THREADS, 1)
    harm_serial_sums(const __grid_constant__ struct harm_args a)
{
    __shared__ float scratch[32];
    const uint4 *in = (const uint4 *)((const __half *)a.in + blockIdx.y * a.stride);
    const uint32_t vectors = a.columns / 8;
    const float sum = squares(in, (uint32_t)((uint64_t)vectors * blockIdx.x / a.parts),
                              (uint32_t)((uint64_t)vectors * (blockIdx.x + 1) / a.parts), scratch);
    if (threadIdx.x == 0)
        ((float *)a.aside)[blockIdx.y * a.parts + blockIdx.x] = sum;
}

// sass-loop: ldg128na=4 stg128=4 other<=132 exits<=5 local=0 moving arch=75,80,86,89,90a
// sass-loop: ldg128na=4 stg128=4 other<=95 exits<=3 local=0 moving arch=100+
// sass-all: ldg128na>=4 ldg32=1 stg128>=4 bar.block=1 looped calls
extern "C" __global__ void __launch_bounds__(HARM_ROW_THREADS, 1)
    harm_serial_scale(const __grid_constant__ struct harm_args a)
{
    __shared__ float scratch[32];
    const uint4 *in = (const uint4 *)((const __half *)a.in + blockIdx.y * a.stride);
    uint4 *out = (uint4 *)((__half *)a.out + blockIdx.y * a.stride);
    const uint32_t vectors = a.columns / 8;
    const float own =
        threadIdx.x < a.parts ? ((const float *)a.aside)[blockIdx.y * a.parts + threadIdx.x] : 0;
    const float sum = block_reduce<adding, 32>(own, scratch);
    scaled(in, out, (uint32_t)((uint64_t)vectors * blockIdx.x / a.parts),
           (uint32_t)((uint64_t)vectors * (blockIdx.x + 1) / a.parts),
           rsqrtf(sum / (float)a.columns));
}

// --- fewer warps ---------------------------------------------------------------------------------

// A chain of multiply-adds on each vector. Unused shared memory decides how many blocks an SM
// holds.
// sass-all: ldg128na=1 stg128=1 ffma=64 other<=19 exits<=2 local=0 looped
extern "C" __global__ void __launch_bounds__(HARM_PHASE_THREADS)
    harm_compute(const __grid_constant__ struct harm_args a)
{
    const uint32_t at = blockIdx.x * HARM_PHASE_THREADS + threadIdx.x;
    if (at >= a.columns)
        return;
    float4 x = load4((const float4 *)a.in2 + at);
#pragma unroll 16
    for (int i = 0; i < HARM_TRIALS; i++)
        x = make_float4(fmaf(x.x, 0.9f, 0.1f), fmaf(x.y, 0.9f, 0.1f), fmaf(x.z, 0.9f, 0.1f),
                        fmaf(x.w, 0.9f, 0.1f));
    ((float4 *)a.out2)[at] = x;
}

// --- the plain method ----------------------------------------------------------------------------

// In fp64, one element a thread at a time, each with all that it depends on.
__device__ double reference_of(const harm_verify_args &a, uint64_t row, uint64_t column)
{
    const float *x = (const float *)a.in;
    const __half *h = (const __half *)a.in + row * a.stride;
    double sum = 0, power = 1;
    switch (a.what) {
    case HARM_STREAMS:
        for (uint32_t s = 0; s < a.rows; s++)
            sum += exp((double)x[s * a.stride + column] - x[row * a.stride + column]);
        return 1 / sum;
    case HARM_WIDE:
        for (uint32_t i = 0; i < a.columns; i++)
            sum += exp((double)__half2float(h[i]));
        return exp((double)__half2float(h[column])) / sum;
    case HARM_SERIAL:
        for (uint32_t i = 0; i < a.columns; i++)
            sum += (double)__half2float(h[i]) * __half2float(h[i]);
        return __half2float(h[column]) / sqrt(sum / a.columns);
    case HARM_REVERSED:
        return x[row * a.stride + HARM_TILE - 1 - column];
    case HARM_SCALED:
        return 2 * (double)x[column] + 1;
    }
    for (int i = 0; i < HARM_TRIALS; i++)
        power *= 0.9f;
    return power * x[column] + 0.1f * (1 - power) / (1 - (double)0.9f);
}

// Every a.step-th column of a row, beginning with another in the next.
// sass: none not a timed kernel
extern "C" __global__ void harm_verify(const __grid_constant__ struct harm_verify_args a)
{
    const bool is_half = a.what == HARM_WIDE || a.what == HARM_SERIAL;
    struct verdict own = {};

    for (uint64_t row = blockIdx.y; row < a.rows; row += gridDim.y)
        for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.columns / a.step;
             i += gridDim.x * blockDim.x) {
            const uint64_t column = i * a.step + row % a.step, at = row * a.stride + column;
            const double reference = reference_of(a, row, column);
            const double value = is_half ? (double)__half2float(((const __half *)a.out)[at])
                                         : (double)((const float *)a.out)[at];
            judge(&own, value, reference,
                  is_half ? 0x1.04p-11 * fabs(reference) + 0x1p-25
                          : 0x1p-19 * fabs(reference) + 0x1p-30);
        }
    deliver(a.verdict, &own);
}
