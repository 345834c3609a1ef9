// Two matrix-vector products that depend on each other, for a stream of items. One set of device
// functions, packaged as
//
//   two_stages_up, two_stages_down   a kernel for each stage of one item; *_dependent as
//                                    programmatic dependents
//   two_stages_stay     one kernel for all items
//   two_stages_shared   the same with the weights of set 0 held in shared memory
//
// Weights come through a ring that a ninth warp fills (fused/common/decoder/ring.cuh): it waits for
// no x and no h, so that the next weights come while words go from block to block. Before compute
// capability 9.0 there is no such copy, and weights come straight from memory.
//
// In the two that stay a block does both stages, or that of its half of the SMs. What a stage hands
// over is words with the epoch of their item, which those who need them poll (edge_values): of h a
// word for two neighbours in bf16, of y a word for each element. h lies in a ring of slots; in the
// queue the first stage waits until all blocks of the second have taken what a slot held.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/clock.cuh"
#include "core/device/dependent.cuh"
#include "fused/common/decoder/rows.cuh"
#include "fused/two_stages/args.h"

extern __shared__ uint4 two_stages_memory[];

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
enum : uint32_t {
    TOGETHER = 8, // pairs of words that a thread asks for at a time
    THREADS = STAGES_THREADS_RING,
    BLOCKS = 1,           // on an SM
    BLOCKS_DEPENDENT = 2, // and room for the next kernel's
    IN_FLIGHT = 6, // tiles of the ring: 96 KiB, for half of the SMs are to keep the memory busy
};
#else
enum : uint32_t {
    TOGETHER = 2, // of more ptxas spills some, where two blocks share an SM
    THREADS = DECODER_THREADS,
    BLOCKS = STAGES_BLOCKS_NO_RING,
};
#endif

// Which blocks do a stage, and which of them this one is; blocks = 0: it has no part in it.
struct seat {
    uint32_t block, blocks;
};

// Weights held in shared memory.
struct source_shared {
    enum { IS_RING = 0, IS_KEPT = 1 };
    static __device__ __forceinline__ uint4 load(const void *p)
    {
        return *(const uint4 *)p;
    }
};
// Weights from memory.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
struct source_weights : source_ring {
    enum { IS_KEPT = 0 };
};
#else
struct source_weights : source_memory {
    enum { IS_KEPT = 0 };
};
#endif

// A block's rows of a stage.
struct part {
    struct rows rows;
    uint32_t base;   // the matrix's row that they call 0
    uint32_t blocks; // that do this stage; 0: this one is none of them
    uint32_t kept;   // where the rows begin in shared memory, in bytes
};

// Rows of W1 are dealt out in pairs: a thread has both elements of a word of h. The rows of both
// matrices are taken as they lie, so that one body does for both.
__device__ __forceinline__ struct part part_of(const struct decoder_shape &s, enum decoder_matrix m,
                                               struct seat seat, uint32_t turn = 0)
{
    const uint32_t columns = decoder_columns(&s, m), unit_rows = m == DECODER_GATE ? 2 : 1;
    struct decoder_share share = {0, 0};
    if (seat.blocks > 0)
        share = decoder_share_of(decoder_units(&s, m) / unit_rows, seat.blocks, seat.block, turn);
    return {{nullptr, DECODER_GATE, {0, share.count}, unit_rows, columns, decoder_chunks(columns)},
            share.first * unit_rows,
            seat.blocks,
            0};
}

// Where the block's rows begin in a matrix.
__device__ __forceinline__ const char *begin_of(const struct part &p, const char *matrix)
{
    return matrix + (uint64_t)p.base * (2 * p.rows.columns);
}

// Of a matrix of the item.
__device__ __forceinline__ const char *matrix_of(const struct two_stages_args &a, uint32_t stage,
                                                 uint32_t item)
{
    return stage == 0 ? a.up + item % a.sets * a.up_stride : a.down + item % a.sets * a.down_stride;
}

__device__ __forceinline__ struct decoder_shared place_of(const struct two_stages_args &a)
{
    return decoder_shared_of(&a.shape, 1, a.stages, 0);
}

/* --- the two stages ------------------------------------------------------------------------- */

// x of a product in shared memory, as pairs of bf16. is_h: so it lies in its words; else these are
// floats.
template <typename EDGE>
__device__ __forceinline__ void take_x(EDGE &edge, bool is_h, uint32_t columns, uint32_t *x)
{
    const uint32_t pairs = columns / (is_h ? 4 : 2);
    for (uint32_t i = threadIdx.x; i < pairs; i += TOGETHER * DECODER_THREADS) {
        uint2 word[TOGETHER];
        edge.template take<TOGETHER>(i, DECODER_THREADS, pairs, word);
#pragma unroll
        for (uint32_t n = 0; n < TOGETHER; n++) {
            const uint32_t at = i + n * DECODER_THREADS;
            if (at < pairs && is_h)
                ((uint2 *)x)[at] = word[n];
            else if (at < pairs)
                x[at] = bf16::narrow(
                    make_float2(__uint_as_float(word[n].x), __uint_as_float(word[n].y)));
        }
    }
}

// put(unit, sums) for each of the block's units of rows.
template <typename SOURCE, typename PUT>
__device__ __forceinline__ void multiply(SOURCE &source, const struct rows &rows,
                                         const struct decoder_shape &s, const uint32_t *x,
                                         float *sums, PUT put)
{
    rows_take<1, false>(
        source, rows, s, (const uint4 *)x, sums,
        [&](uint32_t unit, uint32_t, const float(&sum)[DECODER_UNIT_ROWS]) { put(unit, sum); });
}

__device__ __forceinline__ float first_result(const struct two_stages_args &a, float sum)
{
    const float z = a.up_scale * sum;
    return z / (1 + fabsf(z));
}
// A word of h.
__device__ __forceinline__ uint32_t first_results(const struct two_stages_args &a,
                                                  const float (&sum)[DECODER_UNIT_ROWS])
{
    return bf16::narrow(make_float2(first_result(a, sum[0]), first_result(a, sum[1])));
}
__device__ __forceinline__ float second_result(const struct two_stages_args &a, float sum)
{
    return a.down_scale * sum;
}

/* --- a kernel for each stage ---------------------------------------------------------------- */

// The block's own ring; false in the warp that fills it, when it has. A dependent lets the next
// kernel begin, asks for its first weights, and only then waits for the kernel before.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

template <bool IS_DEPENDENT>
__device__ __forceinline__ bool arrive(const struct two_stages_args &a, source_weights &source,
                                       const struct rows &rows)
{
    if (IS_DEPENDENT)
        dependent_release();
    source.ring = ring_of((char *)two_stages_memory, place_of(a), a.stages, IN_FLIGHT);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS) {
        rows_fill(source.ring, rows, a.shape);
        return false;
    }
    if (IS_DEPENDENT)
        dependent_wait();
    return true;
}

#else // no ring, and no kernel of these architectures is dependent

template <bool>
__device__ __forceinline__ bool arrive(const struct two_stages_args &, source_weights &,
                                       const struct rows &)
{
    return true;
}

#endif

template <enum decoder_matrix M, bool IS_DEPENDENT, typename PUT>
__device__ __forceinline__ void one_stage(const struct two_stages_args &a, const char *weights,
                                          const void *from, PUT put)
{
    const struct decoder_shared place = place_of(a);
    uint32_t *x = (uint32_t *)((char *)two_stages_memory + place.x);
    float *sums = (float *)((char *)two_stages_memory + place.sums);
    struct part p = part_of(a.shape, M, {blockIdx.x, gridDim.x});
    struct edge_kernel edge;
    source_weights source;

    p.rows.weights = begin_of(p, weights);
    if (!arrive<IS_DEPENDENT>(a, source, p.rows))
        return;
    edge.open((void *)from, 0);
    take_x(edge, M == DECODER_DOWN, p.rows.columns, x);
    decoder_sync();
    multiply(source, p.rows, a.shape, x, sums,
             [&](uint32_t unit, const float(&sum)[DECODER_UNIT_ROWS]) {
                 put(p.base / p.rows.unit_rows + unit, sum);
             });
}

// The words of h that an item has, where each stage is a kernel.
__device__ __forceinline__ uint32_t *plain_h(const struct two_stages_args &a)
{
    return (uint32_t *)a.h + (uint64_t)(a.item % a.slots) * (a.shape.ffn / 2);
}

template <bool IS_DEPENDENT> __device__ __forceinline__ void up(const struct two_stages_args &a)
{
    const float *x = a.x + (uint64_t)a.item * a.shape.hidden;
    if (a.is_chain && a.item > 0)
        x = a.y + (uint64_t)(a.item - 1) * a.shape.hidden;
    one_stage<DECODER_GATE, IS_DEPENDENT>(a, matrix_of(a, 0, a.item), x,
                                          [&](uint32_t pair, const float(&sum)[DECODER_UNIT_ROWS]) {
                                              plain_h(a)[pair] = first_results(a, sum);
                                          });
}
template <bool IS_DEPENDENT> __device__ __forceinline__ void down(const struct two_stages_args &a)
{
    one_stage<DECODER_DOWN, IS_DEPENDENT>(a, matrix_of(a, 1, a.item), plain_h(a),
                                          [&](uint32_t row, const float(&sum)[DECODER_UNIT_ROWS]) {
                                              a.y[(uint64_t)a.item * a.shape.hidden + row] =
                                                  second_result(a, sum[0]);
                                          });
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
        // Who does both stages has not one row more of both.
        const uint32_t turn = a.first_sms == 0 ? a.shape.ffn / 2 % gridDim.x : 0;
        own.of[1] = part_of(a.shape, DECODER_DOWN, second, turn);
        own.takers = takers;
    }
    __syncthreads();
}

// Does a block have to ask whether a slot may be filled again? Not where every block does both
// stages, and has a word of each item: then who has all words of an item knows that every block
// took those of the item before, or with a lag of the one before that.
__device__ __forceinline__ bool has_to_ask(const struct two_stages_args &a)
{
    return a.first_sms > 0 || a.shape.ffn / 2 < gridDim.x;
}

// How often blocks of the second stage took what this item's slot held, and how often they must
// have before it is filled again.
struct slot {
    const uint32_t *taken;
    uint32_t least, seen;
};

// Asks, and does not wait for the answer.
__device__ __forceinline__ struct slot slot_of(const struct two_stages_args &a, uint32_t item,
                                               uint32_t takers)
{
    struct slot s = {counter(a, STAGES_TAKEN + item % a.slots), item / a.slots * takers, 0};
    if (!has_to_ask(a) || a.blind & BLIND_SLOT)
        s.least = 0;
    if (s.least > 0)
        s.seen = load_relaxed(s.taken);
    return s;
}

// Relaxed: what follows are stores, and no store goes ahead of the branch that it hangs on.
__device__ __forceinline__ void wait_for_slot(const struct two_stages_args &a, struct slot s)
{
    if (s.seen >= s.least)
        return;
    const uint64_t came_ns = clock_ns();
    while (load_relaxed(s.taken) < s.least)
        if (grid_barrier_given_up(a.state, came_ns, a.budget_ns))
            break;
}

// The words were taken: the slot may be filled again.
__device__ __forceinline__ void give_slot_back(const struct two_stages_args &a, uint32_t item)
{
    if (!has_to_ask(a) || threadIdx.x != 0)
        return;
    __threadfence();
    red_relaxed(counter(a, STAGES_TAKEN + item % a.slots), 1);
}

// The words between the stages: of the item's h (stage 0 puts them), or of its y (stage 1 does).
__device__ __forceinline__ struct edge_values words_of(const struct two_stages_args &a,
                                                       uint32_t stage, uint32_t item)
{
    uint64_t *mail = stage == 0 ? (uint64_t *)a.h + (uint64_t)(item % a.slots) * (a.shape.ffn / 2)
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
    struct slot slot = {nullptr, 0, 0};
    if (stage == 0)
        slot = slot_of(a, item, own.takers);
    if (stage == 1 || (a.is_chain && item > 0)) {
        struct edge_values edge = words_of(a, 1 - stage, item - (stage == 0));
        take_x(edge, stage == 1, columns, x);
    } else {
        struct edge_kernel given;
        given.open((void *)(a.x + (uint64_t)item * columns), 0);
        take_x(given, false, columns, x);
    }
    wait_for_slot(a, slot);
    decoder_sync();
    if (stage == 1)
        give_slot_back(a, item);
}

// Returns the turn, which lies in shared memory meanwhile.
template <typename SOURCE>
__device__ __forceinline__ uint32_t do_stage(const struct two_stages_args &a, struct sitting &own,
                                             SOURCE &source, uint32_t stage, uint32_t item,
                                             uint32_t turn)
{
    const struct decoder_shared place = place_of(a);
    uint32_t at = 0; // as if it changed: addresses are not kept from turn to turn
    asm volatile("" : "+r"(at));
    uint32_t *x = (uint32_t *)((char *)two_stages_memory + place.x + at);
    float *sums = (float *)((char *)two_stages_memory + place.sums + at);

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
        rows.weights = begin_of(own.of[stage], matrix_of(a, stage, item));
    multiply(source, rows, a.shape, x, sums,
             [&](uint32_t unit, const float(&sum)[DECODER_UNIT_ROWS]) {
                 struct edge_values words = words_of(a, own.stage, own.item);
                 if (own.stage == 0)
                     words.put(own.of[0].base / 2 + unit, first_results(a, sum));
                 else {
                     const uint32_t row = own.of[1].base + unit;
                     const float y = second_result(a, sum[0]);
                     a.y[(uint64_t)own.item * a.shape.hidden + row] = y;
                     if (a.is_chain)
                         words.put(row, __float_as_uint(y));
                 }
             });
    if (rows.share.count == 0)
        decoder_sync();
    return own.turn;
}

// A turn is a stage of an item. With a lag, the second stage of an item stands behind the first
// stage of a later one. False: this block has no part in it.
__device__ __forceinline__ bool turn_of(const struct two_stages_args &a, const struct sitting &own,
                                        uint32_t turn, uint32_t &stage, uint32_t &item)
{
    stage = turn % 2;
    item = turn / 2 - (stage == 0 ? 0 : a.lag); // before the first one it is huge
    return own.of[stage].blocks > 0 && item < a.items;
}

// All items.
template <typename SOURCE>
__device__ __forceinline__ void run(const struct two_stages_args &a, struct sitting &own,
                                    SOURCE &source)
{
    uint32_t stage, item;
#pragma unroll 1
    for (uint32_t turn = 0; turn < 2 * (a.items + a.lag); turn++)
        if (turn_of(a, own, turn, stage, item))
            turn = do_stage(a, own, source, stage, item, turn);
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// All weights that this block will read, in that order.
__device__ __forceinline__ void produce(const struct two_stages_args &a, const struct sitting &own,
                                        struct ring &ring)
{
    uint32_t stage, item;
#pragma unroll 1
    for (uint32_t turn = 0; turn < 2 * (a.items + a.lag); turn++)
        if (turn_of(a, own, turn, stage, item)) {
            struct rows rows = own.of[stage].rows;
            rows.weights = begin_of(own.of[stage], matrix_of(a, stage, item));
            rows_fill(ring, rows, a.shape);
        }
}

__device__ __forceinline__ void run_from_memory(const struct two_stages_args &a,
                                                struct sitting &own)
{
    source_weights source;
    source.ring = ring_of((char *)two_stages_memory, place_of(a), a.stages, IN_FLIGHT);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS)
        produce(a, own, source.ring);
    else
        run(a, own, source);
}

#else

__device__ __forceinline__ void run_from_memory(const struct two_stages_args &a,
                                                struct sitting &own)
{
    source_weights source;
    run(a, own, source);
}

#endif

// The block's rows of a matrix, to shared memory from vector `to` on; returns where the next ones
// go. There is room for them where the halves have as many blocks as the host believes; else the
// launch gives up.
__device__ __forceinline__ uint32_t keep(const struct two_stages_args &a, struct part &p,
                                         const char *weights, uint32_t to)
{
    const uint32_t row = p.rows.columns / 8, room = (a.shared / 16 - to) / row;
    const uint32_t wanted = p.rows.share.count * p.rows.unit_rows, rows = min(wanted, room);
    const uint4 *from = (const uint4 *)begin_of(p, weights);
    for (uint32_t i = threadIdx.x; i < rows * row; i += blockDim.x)
        two_stages_memory[to + i] = load_once(from + i);
    __syncthreads(); // all have read what changes now
    if (threadIdx.x == 0) {
        if (rows < wanted)
            store_relaxed(&a.state->aborted, 1);
        p.kept = to * sizeof *from;
        p.rows.share.count = rows / p.rows.unit_rows;
    }
    return to + rows * row;
}

/* --- the kernels ---------------------------------------------------------------------------- */

#define STAGE(name, blocks, call)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                  \
        two_stages_##name(const __grid_constant__ struct two_stages_args a)                        \
    {                                                                                              \
        call;                                                                                      \
    }

// The body counted is that of a chunk of 32 rows: from memory 64 KiB in flight, from the ring four
// tiles of eight rows and of x. Tiles are asked for in one place, as data that is used once.
// sass-loop: kernel=two_stages_up ldg128na=16 hmma=16 guarded<=16 other<=220 local=0 together
// sass-and: arch=80,86,89
// sass-loop: kernel=two_stages_down ldg128na=16 hmma=16 guarded<=16 other<=220 local=0 together
// sass-and: arch=80,86,89
// sass-loop: kernel=two_stages_up lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=two_stages_down lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: kernel=two_stages_up ublkcp.hinted=1 guarded<=1 arch=90a+
// sass-loop: kernel=two_stages_down ublkcp.hinted=1 guarded<=1 arch=90a+
// sass-all: kernel=two_stages_up ublkcp=1 ldg64.gpu=8 looped calls arch=90a+
// sass-all: kernel=two_stages_down ublkcp=1 ldg64.gpu=8 looped calls arch=90a+
STAGE(up, BLOCKS, up<false>(a))
STAGE(down, BLOCKS, down<false>(a))
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
// sass-loop: kernel=two_stages_*_dependent lds128=18 hmma=16 guarded<=2 other<=250 local=0
// sass-and: arch=90a+
// sass-loop: kernel=two_stages_*_dependent ublkcp.hinted=1 guarded<=1 arch=90a+
// sass-all: kernel=two_stages_*_dependent acqbulk=1 preexit=1 ublkcp=1 ldg64.gpu=8 looped calls
// sass-and: arch=90a+
STAGE(up_dependent, BLOCKS_DEPENDENT, up<true>(a))
STAGE(down_dependent, BLOCKS_DEPENDENT, down<true>(a))
#endif

// In the two that stay words are polled from the L2, all at once; no store waits behind a fence but
// a slot that is given back. From 10.0 on ptxas makes an indirect branch in the first, and nothing
// but its loops is counted.
// sass-loop: ldg128na=16 hmma=16 guarded<=16 other<=220 local=0 together arch=80,86,89
// sass-loop: lds128=18 hmma=16 guarded<=2 other<=250 local=0 arch=90a+
// sass-loop: ublkcp.hinted=1 guarded<=1 arch=90a+
// sass-loop: ldg128.gpu=2 guarded<=2 other<=50 together arch=80,86,89
// sass-loop: ldg128.gpu=8 guarded<=8 other<=90 together arch=90a+
// sass-all: ldg128.gpu>=2 ldg64.gpu>=2 stg64.gpu=2 membar.gpu=1 reds=1 looped calls arch=80,86,89
// sass-all: ublkcp=1 ldg128.gpu=8 ldg64.gpu=8 stg64.gpu=2 membar.gpu=1 reds=1 looped calls arch=90a
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    two_stages_stay(const __grid_constant__ struct two_stages_args a)
{
    __shared__ struct sitting own;
    sit_down(a, own);
    run_from_memory(a, own);
}

// sass-loop: lds128=18 hmma=16 guarded<=18 other<=190 local=0 arch=80+
// sass-loop: ldg128.gpu=2 guarded<=2 other<=50 together arch=80,86,89
// sass-loop: ldg128.gpu=8 guarded<=8 other<=90 together arch=90a+
// sass-all: ldg128.gpu>=2 ldg64.gpu>=2 stg64.gpu=2 membar.gpu=1 reds=1 looped calls arch=80+
extern "C" __global__ void __launch_bounds__(DECODER_THREADS, 1)
    two_stages_shared(const __grid_constant__ struct two_stages_args a)
{
    __shared__ struct sitting own;
    source_shared source;
    sit_down(a, own);
    const uint32_t begin = place_of(a).bytes / 16 + 1;
    keep(a, own.of[1], a.down, keep(a, own.of[0], a.up, begin));
    __syncthreads();
    run(a, own, source);
}

#endif
