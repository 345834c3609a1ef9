// Two matrix-vector products that depend on each other, for a stream of items. One set of device
// functions, packaged as
//
//   two_stages_up, two_stages_down   a kernel for each stage of one item; *_dependent as
//                                    programmatic dependents
//   two_stages_stay     one kernel for all items, weights straight from memory
//   two_stages_shared   the same with the weights of set 0 held in shared memory
//
// In the two that stay a block does both stages, or that of its half of the SMs. What a stage hands
// over is a word with the epoch of its item, which those who need it poll (edge_values). h lies in
// a ring of slots; the first stage waits until all blocks of the second have taken what a slot
// held.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/clock.cuh"
#include "core/device/dependent.cuh"
#include "fused/common/decoder/rows.cuh"
#include "fused/two_stages/args.h"

extern __shared__ uint4 two_stages_memory[];

enum : uint32_t {
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
    TOGETHER = 4, // pairs of words that a thread asks for at a time
#else
    TOGETHER = 2, // of more ptxas spills some, where two blocks share an SM
#endif
    SUMS = 2 * DECODER_ROUND * DECODER_WARPS, // fp32 of scratch
    AHEAD = 32 << 10,               // bytes of weights that a dependent kernel asks the L2 for
};

// Which blocks do a stage, and which of them this one is; blocks = 0: it has no part in it.
struct seat {
    uint32_t block, blocks;
};

// Weights straight from memory, and weights held in shared memory.
struct source_once : source_memory {
    enum { IS_KEPT = 0 };
};
struct source_shared {
    enum { IS_RING = 0, IS_KEPT = 1 };
    static __device__ __forceinline__ uint4 load(const void *p) { return *(const uint4 *)p; }
};

// A block's rows of a stage.
struct part {
    struct rows rows;
    uint32_t base;   // the matrix's row that they call 0
    uint32_t blocks; // that do this stage; 0: this one is none of them
    uint32_t kept;   // where the rows begin in shared memory, in bytes
};

__device__ __forceinline__ struct part part_of(const struct decoder_shape &s, enum decoder_matrix m,
                                               struct seat seat)
{
    const uint32_t columns = decoder_columns(&s, m);
    struct decoder_share share = {0, 0};
    if (seat.blocks > 0)
        share = decoder_share_of(decoder_units(&s, m), seat.blocks, seat.block, 0);
    return {{nullptr, m, {0, share.count}, 1, columns, decoder_chunks(columns)}, share.first,
            seat.blocks, 0};
}

// Where the block's rows begin in a matrix.
__device__ __forceinline__ const char *begin_of(const struct part &p, const char *matrix)
{
    return matrix + (uint64_t)p.base * (2 * p.rows.columns);
}

/* --- the two stages ------------------------------------------------------------------------- */

// x of a product in shared memory, as pairs of bf16, from words that are floats.
template <typename EDGE>
__device__ __forceinline__ void take_x(EDGE &edge, uint32_t columns, uint32_t *x)
{
    const uint32_t pairs = columns / 2;
    for (uint32_t i = threadIdx.x; i < pairs; i += TOGETHER * DECODER_THREADS) {
        uint2 word[TOGETHER];
        edge.template take<TOGETHER>(i, DECODER_THREADS, pairs, word);
#pragma unroll
        for (uint32_t n = 0; n < TOGETHER; n++)
            if (i + n * DECODER_THREADS < pairs)
                x[i + n * DECODER_THREADS] = bf16::narrow(
                    make_float2(__uint_as_float(word[n].x), __uint_as_float(word[n].y)));
    }
}

// put(row, sum) for each of the block's rows. Both matrices are dealt out row by row: one body does
// for both.
template <typename SOURCE, typename PUT>
__device__ __forceinline__ void multiply(struct rows rows, const struct decoder_shape &s,
                                         const uint32_t *x, float *sums, PUT put)
{
    SOURCE source;
    rows.m = DECODER_GATE;
    rows.unit_rows = 1;
    rows_take<1, false>(source, rows, s, (const uint4 *)x, sums,
                        [&](uint32_t row, uint32_t, const float(&sum)[DECODER_UNIT_ROWS]) {
                            put(row, sum[0]);
                        });
}

__device__ __forceinline__ uint32_t first_result(const struct two_stages_args &a, float sum)
{
    const float z = a.up_scale * sum;
    return __float_as_uint(z / (1 + fabsf(z)));
}
__device__ __forceinline__ float second_result(const struct two_stages_args &a, float sum)
{
    return a.down_scale * sum;
}

/* --- a kernel for each stage ---------------------------------------------------------------- */

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// Lets the next kernel begin, asks for this one's first weights, and waits for the kernel before.
template <bool IS_DEPENDENT>
__device__ __forceinline__ void arrive(const struct part &p, const struct decoder_shape &s)
{
    if (!IS_DEPENDENT)
        return;
    dependent_release();
    const uint32_t bytes = 2 * p.rows.columns;
    for (uint32_t i = threadIdx.x; i < p.rows.share.count && i * bytes < AHEAD; i += blockDim.x)
        prefetch_bulk(rows_at(p.rows, s, i, 0), bytes);
    dependent_wait();
}

#else // no kernel of these architectures is dependent

template <bool IS_DEPENDENT>
__device__ __forceinline__ void arrive(const struct part &, const struct decoder_shape &)
{
}

#endif

template <enum decoder_matrix M, bool IS_DEPENDENT, typename PUT>
__device__ __forceinline__ void one_stage(const struct two_stages_args &a, const char *weights,
                                          const void *from, PUT put)
{
    float *sums = (float *)two_stages_memory;
    uint32_t *x = (uint32_t *)(sums + SUMS);
    struct part p = part_of(a.shape, M, {blockIdx.x, gridDim.x});
    struct edge_kernel edge;

    p.rows.weights = begin_of(p, weights);
    arrive<IS_DEPENDENT>(p, a.shape);
    edge.open((void *)from, 0);
    take_x(edge, p.rows.columns, x);
    decoder_sync();
    multiply<source_memory>(p.rows, a.shape, x, sums,
                            [&](uint32_t row, float sum) { put(p.base + row, sum); });
}

template <bool IS_DEPENDENT> __device__ __forceinline__ void up(const struct two_stages_args &a)
{
    const float *x = a.x + (uint64_t)a.item * a.shape.hidden;
    if (a.is_chain && a.item > 0)
        x = a.y + (uint64_t)(a.item - 1) * a.shape.hidden;
    uint32_t *h = (uint32_t *)a.h + (uint64_t)(a.item % a.slots) * a.shape.ffn;
    one_stage<DECODER_GATE, IS_DEPENDENT>(
        a, a.up + a.item % a.sets * a.up_stride, x,
        [&](uint32_t row, float sum) { h[row] = first_result(a, sum); });
}
template <bool IS_DEPENDENT> __device__ __forceinline__ void down(const struct two_stages_args &a)
{
    const uint32_t *h = (const uint32_t *)a.h + (uint64_t)(a.item % a.slots) * a.shape.ffn;
    float *y = a.y + (uint64_t)a.item * a.shape.hidden;
    one_stage<DECODER_DOWN, IS_DEPENDENT>(
        a, a.down + a.item % a.sets * a.down_stride, h,
        [&](uint32_t row, float sum) { y[row] = second_result(a, sum); });
}

/* --- one kernel that stays ------------------------------------------------------------------ */

// What a block that stays has to do in each stage, and how many blocks do the second. In shared
// memory: registers are short.
struct sitting {
    struct part of[2];
    uint32_t takers;
    uint32_t stage, item, turn; // under way
};

__device__ __forceinline__ uint32_t *counter(const struct two_stages_args &a, uint32_t which)
{
    return a.counters + which * STAGES_COUNTER;
}

// How many blocks are in each half: all have said so. Which SM a block is on, only the block knows.
__device__ __forceinline__ uint2 count_halves(const struct two_stages_args &a)
{
    const uint64_t came_ns = clock_ns();
    uint2 found;
    do {
        found.x = load_relaxed(counter(a, STAGES_FIRST));
        found.y = load_relaxed(counter(a, STAGES_SECOND));
    } while (found.x + found.y != gridDim.x &&
             !grid_barrier_given_up(a.state, came_ns, a.budget_ns));
    return found;
}

// This block's seats in both stages.
__device__ __forceinline__ uint32_t sit(const struct two_stages_args &a, struct seat &first,
                                        struct seat &second)
{
    __shared__ uint32_t said[4];
    first = second = {blockIdx.x, gridDim.x};
    if (a.first_sms == 0)
        return gridDim.x;
    if (threadIdx.x == 0) {
        said[0] = sm_id() >= a.first_sms;
        said[1] = add_relaxed(counter(a, said[0] ? STAGES_SECOND : STAGES_FIRST), 1);
        const uint2 found = count_halves(a);
        said[2] = found.x;
        said[3] = found.y;
    }
    __syncthreads();
    first = {said[1], said[0] ? 0 : said[2]};
    second = {said[1], said[0] ? said[3] : 0};
    return said[3];
}

__device__ __forceinline__ void sit_down(const struct two_stages_args &a, struct sitting &own)
{
    struct seat first, second;
    const uint32_t takers = sit(a, first, second);
    if (threadIdx.x == 0) {
        own.of[0] = part_of(a.shape, DECODER_GATE, first);
        own.of[1] = part_of(a.shape, DECODER_DOWN, second);
        own.takers = takers;
    }
    __syncthreads();
}

// Waits until every block of the second stage has taken what this item's slot held.
__device__ __forceinline__ void wait_for_slot(const struct two_stages_args &a, uint32_t item,
                                              uint32_t takers)
{
    const uint32_t turn = item / a.slots;
    const uint32_t *taken = counter(a, STAGES_TAKEN + item % a.slots);
    if (!grid_barrier_polls() || turn == 0 || a.blind & BLIND_SLOT)
        return;
    const uint64_t came_ns = clock_ns();
    while (load_acquire(taken) < turn * takers)
        if (grid_barrier_given_up(a.state, came_ns, a.budget_ns))
            break;
}

// The words were taken: the slot may be filled again.
__device__ __forceinline__ void give_slot_back(const struct two_stages_args &a, uint32_t item)
{
    if (threadIdx.x != 0)
        return;
    __threadfence();
    red_relaxed(counter(a, STAGES_TAKEN + item % a.slots), 1);
}

// The words between the stages: of the item's h (stage 0 puts them), or of its y (stage 1 does).
__device__ __forceinline__ struct edge_values words_of(const struct two_stages_args &a,
                                                       uint32_t stage, uint32_t item)
{
    uint64_t *mail = stage == 0 ? (uint64_t *)a.h + (uint64_t)(item % a.slots) * a.shape.ffn
                                : (uint64_t *)a.back;
    const uint32_t blind = stage == 0 ? BLIND_SECOND : BLIND_CHAIN; // of who takes them
    return {mail, a.state, a.epoch + item, a.budget_ns, (a.blind & blind) != 0};
}

// x of the stage's product, in shared memory.
__device__ __forceinline__ void take_item(const struct two_stages_args &a,
                                          const struct sitting &own, uint32_t stage, uint32_t item,
                                          uint32_t *x)
{
    const uint32_t columns = own.of[stage].rows.columns;
    if (stage == 1 || (a.is_chain && item > 0)) {
        struct edge_values edge = words_of(a, 1 - stage, item - (stage == 0));
        take_x(edge, columns, x);
    } else {
        struct edge_kernel given;
        given.open((void *)(a.x + (uint64_t)item * columns), 0);
        take_x(given, columns, x);
    }
    if (stage == 0)
        wait_for_slot(a, item, own.takers);
    decoder_sync();
    if (stage == 1)
        give_slot_back(a, item);
}

// Returns the turn, which lies in shared memory meanwhile.
template <typename SOURCE>
__device__ __forceinline__ uint32_t do_stage(const struct two_stages_args &a, struct sitting &own,
                                             uint32_t stage, uint32_t item, uint32_t turn)
{
    uint32_t at = 0; // as if it changed: addresses are not kept from turn to turn
    asm volatile("" : "+r"(at));
    float *sums = (float *)two_stages_memory + at;
    uint32_t *x = (uint32_t *)two_stages_memory + SUMS;

    take_item(a, own, stage, item, x);
    if (threadIdx.x == 0) { // read behind the barrier that stands before the sums are put
        own.stage = stage;
        own.item = item;
        own.turn = turn;
    }

    struct rows rows = own.of[stage].rows;
    if (SOURCE::IS_KEPT)
        rows.weights = (const char *)two_stages_memory + own.of[stage].kept;
    else
        rows.weights = begin_of(own.of[stage], stage == 0 ? a.up + item % a.sets * a.up_stride
                                                          : a.down + item % a.sets * a.down_stride);
    multiply<SOURCE>(rows, a.shape, x, sums, [&](uint32_t unit, float sum) {
        const uint32_t row = own.of[own.stage].base + unit;
        struct edge_values words = words_of(a, own.stage, own.item);
        if (own.stage == 0)
            words.put(row, first_result(a, sum));
        else {
            const float y = second_result(a, sum);
            a.y[(uint64_t)own.item * a.shape.hidden + row] = y;
            if (a.is_chain)
                words.put(row, __float_as_uint(y));
        }
    });
    if (rows.share.count == 0)
        decoder_sync();
    return own.turn;
}

// All items. With a lag, the second stage of an item stands behind the first stage of a later one.
template <typename SOURCE>
__device__ __forceinline__ void run(const struct two_stages_args &a, struct sitting &own)
{
#pragma unroll 1
    for (uint32_t turn = 0; turn < 2 * (a.items + a.lag); turn++) {
        const uint32_t stage = turn % 2, item = turn / 2 - (stage == 0 ? 0 : a.lag);
        if (own.of[stage].blocks > 0 && item < a.items) // before the first one it is huge
            turn = do_stage<SOURCE>(a, own, stage, item, turn);
    }
}

// The block's rows of a matrix, to shared memory from vector `to` on; returns where the next ones
// go. There is room for them where the halves have as many blocks as the host believes; else the
// launch gives up.
__device__ __forceinline__ uint32_t keep(const struct two_stages_args &a, struct part &p,
                                         const char *weights, uint32_t to)
{
    const uint32_t row = p.rows.columns / 8, room = (a.shared / 16 - to) / row;
    const uint32_t rows = min(p.rows.share.count, room);
    const uint4 *from = (const uint4 *)begin_of(p, weights);
    for (uint32_t i = threadIdx.x; i < rows * row; i += blockDim.x)
        two_stages_memory[to + i] = load_once(from + i);
    __syncthreads(); // all have read what changes now
    if (threadIdx.x == 0) {
        if (rows < p.rows.share.count)
            store_relaxed(&a.state->aborted, 1);
        p.kept = to * sizeof *from;
        p.rows.share.count = rows;
    }
    return to + rows * row;
}

/* --- the kernels ---------------------------------------------------------------------------- */

#define STAGE(name, call)                                                                          \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS, STAGES_BLOCKS)                   \
        two_stages_##name(const __grid_constant__ struct two_stages_args a)                        \
    {                                                                                              \
        call;                                                                                      \
    }

// The body counted is that of a chunk of 32 rows, once for each stage in the kernels that stay.
// sass-loop: kernel=two_stages_up ldg128na=16 hmma=16 guarded<=16 other<=220 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=two_stages_down ldg128na=16 hmma=16 guarded<=16 other<=220 local=0 together
// sass-and: arch=80+
STAGE(up, up<false>(a))
STAGE(down, down<false>(a))
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
// sass-all: kernel=two_stages_*_dependent acqbulk=1 preexit=1 ublkpf=1 ldg64.gpu=12 looped calls
// sass-and: arch=90a+
// sass-loop: kernel=two_stages_*_dependent ldg128na=16 hmma=16 guarded<=16 other<=220 local=0
// sass-and: together arch=90a+
STAGE(up_dependent, up<true>(a))
STAGE(down_dependent, down<true>(a))
#endif

// In the two that stay words are polled from the L2, all at once; no store waits behind a fence but a
// slot that is given back.
// sass-loop: ldg128na=16 hmma=16 guarded<=16 other<=220 local=0 together arch=80+
// sass-loop: ldg128.gpu=2 guarded<=2 other<=50 together arch=80,86,89
// sass-loop: ldg128.gpu=4 guarded<=4 other<=60 together arch=90a+
// sass-all: ldg128.gpu>=2 ldg64.gpu>=4 stg64.gpu=2 membar.gpu=1 reds=1 looped calls arch=80+
extern "C" __global__ void __launch_bounds__(DECODER_THREADS, STAGES_BLOCKS)
    two_stages_stay(const __grid_constant__ struct two_stages_args a)
{
    __shared__ struct sitting own;
    sit_down(a, own);
    run<source_once>(a, own);
}

// sass-loop: lds128=18 hmma=16 guarded<=18 other<=190 local=0 arch=80+
// sass-loop: ldg128.gpu=2 guarded<=2 other<=50 together arch=80,86,89
// sass-loop: ldg128.gpu=4 guarded<=4 other<=60 together arch=90a+
// sass-all: ldg128.gpu>=2 ldg64.gpu>=4 stg64.gpu=2 membar.gpu=1 reds=1 looped calls arch=80+
extern "C" __global__ void __launch_bounds__(DECODER_THREADS, 1)
    two_stages_shared(const __grid_constant__ struct two_stages_args a)
{
    __shared__ struct sitting own;
    sit_down(a, own);
    const uint32_t most = max(a.shape.hidden, a.shape.ffn);
    keep(a, own.of[1], a.down, keep(a, own.of[0], a.up, (SUMS * 4 + most * 2) / 16));
    __syncthreads();
    run<source_shared>(a, own);
}

#endif
