// Two layers of two products each in one kernel that stays; each block writes down when it works on
// what, by the clock that all SMs share.
//
//     two_layers_values   a word of a product's result has its epoch; who needs it polls it. A
//                         block begins an operation with the first 1024 columns that are there
//     two_layers_barrier  the same words, with a barrier of the grid behind each operation
//     two_layers_clock    that clock: its step, and how far the SMs' readings can be apart
//
// A task is a chunk of 1024 columns of a block's first 32 rows, or all its other rows. It begins
// when its words are there, and ends when all threads have done their part, so that waiting is in
// none.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "fused/common/decoder/rows.cuh"
#include "fused/two_layers/args.h"

extern __shared__ uint4 two_layers_memory[];

enum : uint32_t { SUMS = DECODER_BLOCK_ROWS * DECODER_WARPS }; // fp32; twice, one for each turn

// One operation of one item, as a block sees it.
struct step {
    uint32_t operation, item, columns, rows;
    struct decoder_share share;
    const uint64_t *from; // its input's words; NULL: the given input
    uint64_t *to;
    struct two_layers_task *task; // the next one
};

__device__ __forceinline__ uint64_t *words_of(const two_layers_args &a, uint32_t item,
                                              uint32_t operation)
{
    return a.words + ((uint64_t)item * LAYERS_OPERATIONS + operation) * a.width;
}

__device__ __forceinline__ struct step step_of(const two_layers_args &a, uint32_t operation,
                                               uint32_t item)
{
    const bool is_up = operation % 2 == 0;
    const uint32_t blocks = a.by_layer ? gridDim.x / 2 : gridDim.x;
    const uint32_t block = a.by_layer ? blockIdx.x / 2 : blockIdx.x;
    struct step s;
    s.operation = operation;
    s.item = item;
    s.columns = is_up ? a.model : a.hidden;
    s.rows = is_up ? a.hidden : a.model;
    s.share = decoder_share_of(s.rows, blocks, block, 0);
    s.from = operation == 0 ? nullptr : words_of(a, item, operation - 1);
    s.to = words_of(a, item, operation);
    s.task = a.tasks + ((uint64_t)(blockIdx.x * a.items + item) * LAYERS_OPERATIONS + operation) *
                           LAYERS_TASKS;
    return s;
}

// A chunk of the input, in shared memory as pairs of bf16.
__device__ __forceinline__ void take_chunk(const two_layers_args &a, const struct step &s,
                                           uint32_t chunk, uint32_t *x)
{
    enum { TOGETHER = DECODER_CHUNK / 2 / DECODER_THREADS };
    const uint32_t first = chunk * (DECODER_CHUNK / 2) + threadIdx.x;
    const uint32_t end = min((chunk + 1) * (DECODER_CHUNK / 2), s.columns / 2);
    struct edge_values edge = {(uint64_t *)s.from, a.barrier, a.epoch, a.budget_ns,
                               a.is_blind != 0};
    uint2 word[TOGETHER] = {};
    if (first >= end)
        return;
    if (s.from)
        edge.take<TOGETHER>(first, DECODER_THREADS, end, word);
    else
        for (uint32_t n = 0; n < TOGETHER; n++)
            if (first + n * DECODER_THREADS < end) {
                const uint64_t two = load_cg(a.input + (uint64_t)s.item * a.model +
                                             2 * (first + n * DECODER_THREADS));
                word[n] = make_uint2((uint32_t)two, (uint32_t)(two >> 32));
            }
#pragma unroll
    for (uint32_t n = 0; n < TOGETHER; n++)
        if (first + n * DECODER_THREADS < end)
            x[first + n * DECODER_THREADS] =
                bf16::narrow(make_float2(__uint_as_float(word[n].x), __uint_as_float(word[n].y)));
}

__device__ __forceinline__ void begin(struct step &s)
{
    if (threadIdx.x == 0)
        s.task->begun_ns = clock_ns();
}
__device__ __forceinline__ void end(struct step &s)
{
    if (threadIdx.x == 0)
        s.task->ended_ns = clock_ns();
    s.task++;
}

// Rows from `i` on, 32 at most; those of a block that come first wait for each chunk of the input.
template <bool WAITS>
__device__ __forceinline__ void do_rows(const two_layers_args &a, struct step &s,
                                        const struct rows &rows, uint32_t i, uint32_t *x,
                                        float *sums)
{
    const uint32_t n = min(s.share.count - i, (uint32_t)DECODER_BLOCK_ROWS);
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    const struct decoder_shape none = {};
    float sum[ROWS_TILES][4] = {};

#pragma unroll 1
    for (uint32_t c = 0; c < rows.chunks; c++) {
        if (WAITS) {
            take_chunk(a, s, c, x);
            decoder_sync();
            begin(s);
        }
        rows_chunk<1, source_memory>(sum, rows, none, i, n, c, (const uint4 *)x);
        if (WAITS && c + 1 < rows.chunks) {
            decoder_sync();
            end(s);
        }
    }
#pragma unroll
    for (uint32_t q = 0; q < ROWS_TILES; q++)
        if (t == 0 && q * DECODER_TILE_ROWS + g < n)
            sums[(q * DECODER_TILE_ROWS + g) * DECODER_WARPS + warp] =
                g % 2 ? sum[q][2] + sum[q][1] : sum[q][0] + sum[q][3];
    decoder_sync();
    if (threadIdx.x < n) {
        float whole = 0;
#pragma unroll
        for (uint32_t w = 0; w < DECODER_WARPS; w++)
            whole += sums[threadIdx.x * DECODER_WARPS + w];
        const float z = (s.operation % 2 ? a.down_scale : a.up_scale) * whole;
        const float result = z / (1 + fabsf(z));
        store_relaxed_64(s.to + s.share.first + i + threadIdx.x,
                         (uint64_t)a.epoch << 32 | __float_as_uint(result));
    }
    if (WAITS) {
        decoder_sync();
        end(s);
    }
}

__device__ __forceinline__ void do_step(const two_layers_args &a, struct step s)
{
    float *sums = (float *)two_layers_memory;
    uint32_t *x = (uint32_t *)(sums + 2 * SUMS);
    const struct rows rows = {a.weights + s.operation * a.weight_stride +
                                  (uint64_t)s.share.first * (2 * s.columns),
                              DECODER_GATE,
                              {0, s.share.count},
                              1,
                              s.columns,
                              decoder_chunks(s.columns)};
    if (s.share.count > 0)
        do_rows<true>(a, s, rows, 0, x, sums);
    if (s.share.count <= DECODER_BLOCK_ROWS)
        return;
    begin(s);
#pragma unroll 1
    for (uint32_t i = DECODER_BLOCK_ROWS; i < s.share.count; i += DECODER_BLOCK_ROWS)
        do_rows<false>(a, s, rows, i, x, sums + i / DECODER_BLOCK_ROWS % 2 * SUMS);
    decoder_sync();
    end(s);
}

// All operations of all items, in one of two orders.
template <bool HAS_BARRIER> __device__ __forceinline__ void run(const two_layers_args &a)
{
    struct grid_barrier barrier;
    if (HAS_BARRIER)
        barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);
#pragma unroll 1
    for (uint32_t n = 0; n < LAYERS_OPERATIONS * a.items; n++) {
        const uint32_t operation = a.by_items ? n % LAYERS_OPERATIONS : n / a.items;
        const uint32_t item = a.by_items ? n / LAYERS_OPERATIONS : n % a.items;
        if (!a.by_layer || operation / 2 == blockIdx.x % 2)
            do_step(a, step_of(a, operation, item));
        if (HAS_BARRIER)
            grid_barrier(barrier);
    }
}

/* --- the kernels ------------------------------------------------------------------------------ */

// The bodies counted are those of a chunk of 32 rows, with and without a wait; of a poll, which
// from 9.0 on asks for both pairs of words at once; and of a task, with two stamps behind a poll.
// sass-loop: kernel=two_layers_[vb]* ldg128na=16 hmma=16 guarded<=32 other<=270 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=two_layers_[vb]* ldg128.gpu=2 ldg128na=0 membar=0 cctl=0 guarded<=2 other<=46
// sass-and: arch=80+
// sass-loop: kernel=two_layers_[vb]* ldg128.gpu=2 guarded<=2 together arch=90a+
// sass-loop: kernel=two_layers_[vb]* stg64.weak=2 ldg128.gpu=2 ldg128na=16 bar=2 guarded<=16 ahead
// sass-and: arch=80+
// Of the whole: stamps are of the clock that all SMs share. Only a barrier of the grid has fences,
// and it alone reads the SM's own clock.
// sass-all: kernel=two_layers_values ldg64.gpu=2 ldg128.gpu=2 stg64.gpu=2 membar=0 cctl=0 reds=0
// sass-and: clocks=0 looped calls arch=80+
// sass-all: kernel=two_layers_barrier ldg64.gpu=2 ldg128.gpu=2 stg64.gpu=2 membar.gpu=1 cctl=2
// sass-and: reds=2 ldg32.gpu=4 bar.block=2 clocks=4 looped calls arch=80+
// sass-all: kernel=two_layers_values bar=5 stg64.weak=4 looped calls arch=80,86,89
// sass-all: kernel=two_layers_values bar=6 stg64.weak=5 looped calls arch=90a+
// sass-all: kernel=two_layers_barrier bar=7 stg64.weak=4 looped calls arch=80,86,89
// sass-all: kernel=two_layers_barrier bar=8 stg64.weak=5 looped calls arch=90a+
#define TWO_LAYERS(name, has_barrier)                                                              \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS, 1)                               \
        two_layers_##name(const __grid_constant__ struct two_layers_args a)                        \
    {                                                                                              \
        run<has_barrier>(a);                                                                       \
    }
TWO_LAYERS(values, false)
TWO_LAYERS(barrier, true)

/* --- the clock -------------------------------------------------------------------------------- */

__device__ __forceinline__ void read_steps(struct two_layers_clock &found)
{
    uint64_t before = clock_ns(), least = ~0ull;
    uint32_t backwards = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < LAYERS_READS; i++) {
        const uint64_t now = clock_ns();
        backwards += now < before;
        if (now > before)
            least = min(least, now - before);
        before = now;
    }
    found.step_ns = least;
    found.backwards = backwards;
}

// Waits for a word whose last byte says that it is message i.
__device__ __forceinline__ uint64_t wait_for(const uint64_t *word, uint32_t i,
                                             const two_layers_clock_args &a)
{
    const uint64_t came_ns = clock_ns();
    uint64_t seen;
    while ((uint8_t)(seen = load_relaxed_64(word)) != i)
        if (grid_barrier_given_up(a.barrier, came_ns, a.budget_ns))
            break;
    return seen;
}

// What a message says, less a reading of the own clock.
__device__ __forceinline__ int64_t less(uint64_t message, uint64_t ns)
{
    return (int64_t)((message & ~0xffull) - (ns << 8)) >> 8;
}

// A block of one warp on each SM. The answer is the other block's reading, 56 bits of it.
// Between two readings of the shared clock lies nothing but a word's way through the L2.
// sass-all: ldg64.gpu=1 stg64.gpu=2 ldg32.gpu=3 membar=0 cctl=0 clocks=0 local=0 looped arch=80+
extern "C" __global__ void two_layers_clock(const __grid_constant__ struct two_layers_clock_args a)
{
    enum { APART = 16 }; // words
    const uint32_t own = blockIdx.x;
    if (threadIdx.x != 0)
        return;
    read_steps(a.found[own]);
    if (own > 0) {
        for (uint32_t i = 1; i <= LAYERS_TRIES; i++) {
            wait_for(a.question + own * APART, i, a);
            store_relaxed_64(a.answer + own * APART, clock_ns() << 8 | i);
        }
        return;
    }
#pragma unroll 1
    for (uint32_t other = 1; other < gridDim.x; other++) {
        struct two_layers_clock &found = a.found[other];
        int64_t low = -(1ll << 55), high = 1ll << 55;
        uint32_t outside = 0;
#pragma unroll 1
        for (uint32_t i = 1; i <= LAYERS_TRIES; i++) {
            const uint64_t asked = clock_ns();
            store_relaxed_64(a.question + other * APART, i);
            const uint64_t said = wait_for(a.answer + other * APART, i, a);
            const uint64_t came = clock_ns();
            low = max(low, less(said, came));
            high = min(high, less(said, asked));
            outside += less(said, asked) < 0 || less(said, came) > 0;
        }
        found.low_ns = low;
        found.high_ns = high;
        found.outside = outside;
    }
}

#endif
