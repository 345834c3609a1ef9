// Kernels of edges: a chain of exchanges, in each of which all SMs hand words over to all SMs,
// while a warp of each may read from the memory.
//
// A block puts its share of the words and takes all of them to its own shared memory; each word is
// made of one that another block put in the exchange before. Two rows of the mail, in turn, are
// enough: a block that puts the words of an exchange has those of the one before, so all have left
// the row that it writes. It follows that every block has to put a word: nobody waits for one that
// puts none.
#include "core/device/async.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "core/device/named_barrier.cuh"
#include "core/device/words.cuh"
#include "probes/edges/args.h"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

enum : uint32_t { COMPUTING = 1 }; // the named barrier of the threads that exchange

__device__ __forceinline__ void sync_computing(void)
{
    named_barrier<EXCHANGE_THREADS>(COMPUTING);
}

// --- how words go over ---------------------------------------------------------------------------

// As the decoder's edges do (fused/common/decoder/edge.cuh): open(k), put() and close() by those
// who have a word, take() by all threads.

// A word lies beside its epoch, and each thread polls the words that it takes.
struct by_values {
    uint64_t *mail, *row;
    struct grid_barrier_state *state;
    uint32_t words, first, epoch, budget_ns;
    bool given_up;

    __device__ __forceinline__ by_values(const struct exchange_args &a)
        : mail((uint64_t *)a.mail), row(mail), state(a.barrier), words(a.words), first(a.epoch),
          epoch(a.epoch), budget_ns(a.budget_ns), given_up(false)
    {
    }
    __device__ __forceinline__ void open(uint32_t k)
    {
        epoch = first + k;
        row = mail + (k & 1) * words;
    }
    __device__ __forceinline__ void put(uint32_t i, uint32_t bits)
    {
        words_put(row, i, epoch, bits);
    }
    __device__ __forceinline__ void close(void) {}
    __device__ __forceinline__ void take(uint32_t pair, uint32_t end,
                                         uint2 (&word)[EXCHANGE_TOGETHER])
    {
        words_take(row, epoch, pair, EXCHANGE_THREADS, end, word, state, budget_ns, given_up);
    }
};

// Plain words behind the barrier of the whole grid.
struct by_counter {
    uint32_t *mail, *row, words;
    struct grid_barrier barrier;

    __device__ __forceinline__ by_counter(const struct exchange_args &a)
        : mail((uint32_t *)a.mail), row(mail), words(a.words),
          barrier(grid_barrier_join(a.barrier, gridDim.x, a.budget_ns))
    {
    }
    __device__ __forceinline__ void open(uint32_t k) { row = mail + (k & 1) * words; }
    __device__ __forceinline__ void put(uint32_t i, uint32_t bits) { row[i] = bits; }
    __device__ __forceinline__ void close(void)
    {
        sync_computing();
        if (threadIdx.x == 0)
            grid_barrier_arrive(barrier);
        if (grid_barrier_polls())
            grid_barrier_wait(barrier);
        sync_computing();
    }
    __device__ __forceinline__ void take(uint32_t pair, uint32_t end,
                                         uint2 (&word)[EXCHANGE_TOGETHER])
    {
        const uint2 *from = (const uint2 *)row + pair;
        uint64_t both[EXCHANGE_TOGETHER];
        if (pair + (EXCHANGE_TOGETHER - 1) * EXCHANGE_THREADS < end) // there are 7 predicates
#pragma unroll
            for (int i = 0; i < EXCHANGE_TOGETHER; i++)
                both[i] = load_cg(from + i * EXCHANGE_THREADS);
        else
#pragma unroll
            for (int i = 0; i < EXCHANGE_TOGETHER / 2; i++)
                if (i == 0 || pair + i * EXCHANGE_THREADS < end)
                    both[i] = load_cg(from + i * EXCHANGE_THREADS);
#pragma unroll
        for (int i = 0; i < EXCHANGE_TOGETHER; i++)
            word[i] = make_uint2((uint32_t)both[i], (uint32_t)(both[i] >> 32));
    }
};

// Whatever lies in the row. What comes of it must be wrong.
struct by_nothing : by_values {
    using by_values::by_values;
    __device__ __forceinline__ void take(uint32_t pair, uint32_t end,
                                         uint2 (&word)[EXCHANGE_TOGETHER])
    {
        given_up = true;
        by_values::take(pair, end, word);
    }
};

// --- the exchanges -------------------------------------------------------------------------------

// A thread takes the same words in every exchange, to `to`. Returns the digest that now has them,
// too.
template <typename WAY>
__device__ __forceinline__ uint32_t take_all(WAY &way, uint32_t words, uint32_t *to,
                                             uint32_t digest)
{
    const uint32_t pairs = words / 2;
    uint32_t sum = 0;
    for (uint32_t at = threadIdx.x; at < pairs; at += EXCHANGE_TOGETHER * EXCHANGE_THREADS) {
        uint2 word[EXCHANGE_TOGETHER];
        way.take(at, pairs, word);
#pragma unroll
        for (uint32_t i = 0; i < EXCHANGE_TOGETHER; i++)
            if (at + i * EXCHANGE_THREADS < pairs) {
                ((uint2 *)to)[at + i * EXCHANGE_THREADS] = word[i];
                sum ^= word[i].x ^ word[i].y;
            }
    }
    return exchange_mix(digest ^ sum);
}

template <typename WAY>
__device__ __forceinline__ void exchange(const struct exchange_args &a, uint32_t *words)
{
    WAY way(a);
    const uint32_t begin = blockIdx.x * a.words / gridDim.x;
    const uint32_t end = (blockIdx.x + 1) * a.words / gridDim.x;
    uint32_t digest = 0;

#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < a.words; i += EXCHANGE_THREADS)
        words[i] = a.first[i];
    sync_computing();
#pragma unroll 1
    for (uint32_t k = 0; k < a.exchanges; k++) {
        const uint32_t *before = words + (k & 1) * a.words;
        way.open(k);
#pragma unroll 1
        for (uint32_t i = begin + threadIdx.x; i < end; i += EXCHANGE_THREADS)
            way.put(i, exchange_mix(before[exchange_other(i, a.words)]));
        way.close();
        digest = take_all(way, a.words, words + (~k & 1) * a.words, digest);
        sync_computing();
    }
    a.digests[blockIdx.x * EXCHANGE_THREADS + threadIdx.x] = digest;
    if (a.census && threadIdx.x == 0)
        a.census[blockIdx.x] = sm_id();
}

// --- the stream beside them ----------------------------------------------------------------------

struct stream {
    char *tiles;
    uint32_t first_tile, full; // shared addresses; a tile's barrier is 8 bytes further
};

__device__ __forceinline__ void stream_wait(const struct stream &s, uint32_t tile)
{
    mbarrier_wait(s.full + 8 * (tile % EXCHANGE_TILES), tile / EXCHANGE_TILES & 1);
}

// One lane keeps all tiles on their way until the exchanges are over, and waits for those that
// still come. Returns how many have come.
__device__ __forceinline__ uint32_t stream_on(const struct exchange_args &a, const struct stream &s,
                                              const volatile uint32_t *is_over)
{
    uint32_t asked = 0, come = 0;
#pragma unroll 1
    for (; asked < a.tiles_most && !*is_over; asked++) {
        const uint32_t stage = asked % EXCHANGE_TILES;
        if (asked - come == EXCHANGE_TILES)
            stream_wait(s, come++);
        const uint32_t tile = (asked * gridDim.x + blockIdx.x) % a.body_tiles;
        mbarrier_expect(s.full + 8 * stage, EXCHANGE_TILE_BYTES);
        bulk_load_once(s.first_tile + stage * EXCHANGE_TILE_BYTES,
                       (const char *)a.body + (uint64_t)tile * EXCHANGE_TILE_BYTES,
                       EXCHANGE_TILE_BYTES, s.full + 8 * stage);
    }
#pragma unroll 1
    while (come < asked)
        stream_wait(s, come++);
    return come;
}

// The last tiles that came, for the host to compare.
__device__ __forceinline__ uint32_t stream_sum(const struct stream &s, uint32_t come)
{
    const uint32_t bytes = min(come, (uint32_t)EXCHANGE_TILES) * EXCHANGE_TILE_BYTES;
    uint32_t sum = 0;
    for (uint32_t at = threadIdx.x % 32 * 16; at < bytes; at += 32 * 16) {
        const uint4 v = *(const uint4 *)(s.tiles + at);
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum ^= __shfl_xor_sync(~0u, sum, lanes);
    return sum;
}

// --- a block -------------------------------------------------------------------------------------

extern __shared__ uint4 exchange_memory[];

template <typename WAY> __device__ __forceinline__ void block(const struct exchange_args &a)
{
    __shared__ uint64_t full[EXCHANGE_TILES];
    __shared__ volatile uint32_t is_over;
    const struct stream s = {(char *)exchange_memory, shared_address(exchange_memory),
                             shared_address(full)};

    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < EXCHANGE_TILES; i++)
            mbarrier_make(s.full + 8 * i, 1);
        mbarrier_made();
        is_over = 0;
    }
    __syncthreads();
    if (threadIdx.x < EXCHANGE_THREADS) {
        exchange<WAY>(a, (uint32_t *)(s.tiles + EXCHANGE_TILES * EXCHANGE_TILE_BYTES));
        if (threadIdx.x == 0)
            is_over = 1;
        return;
    }
    if (a.body_tiles == 0)
        return;
    uint32_t come = threadIdx.x == EXCHANGE_THREADS ? stream_on(a, s, &is_over) : 0;
    __syncwarp();
    come = __shfl_sync(~0u, come, 0);
    if (threadIdx.x == EXCHANGE_THREADS)
        a.tiles[blockIdx.x] = come;
    if (!a.tile_sums)
        return;
    const uint32_t sum = stream_sum(s, come);
    if (threadIdx.x == EXCHANGE_THREADS)
        a.tile_sums[blockIdx.x] = sum;
}

// All that a thread needs is polled at once, past the L1, and nothing is fenced; behind the last
// poll comes the barrier of those who exchange. One place asks for tiles, as data that is used
// once.
// sass-loop: ldg128.gpu=8 guarded<=8 other<=85 local=0 regs<=80 together arch=90a+
// sass-loop: stg64.gpu=1 ldg128.gpu=8 sts64=8 bar.sync=1 membar=0 cctl=0 guarded<=20 other<=300
// sass-and: outer arch=90a+
// sass-all: ublkcp.hinted=1 ublkcp=1 syncs>=3 membar=0 cctl=0 looped calls arch=90a+
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS + 32, 1)
edges_exchange_values(const __grid_constant__ struct exchange_args a)
{
    block<by_values>(a);
}

// One fence before the block's arrival, and all words together behind the barrier of the grid.
// sass-loop: ldg64.gpu=12 sts64=8 guarded<=16 other<=80 local=0 together moving regs<=80 arch=90a+
// sass-loop: stg32.weak=1 ldg64.gpu=12 membar.gpu=1 reds.gpu=2 bar.sync=3 guarded<=20 other<=300
// sass-and: outer arch=90a+
// sass-all: ublkcp.hinted=1 ublkcp=1 looped calls arch=90a+
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS + 32, 1)
edges_exchange_counter(const __grid_constant__ struct exchange_args a)
{
    block<by_counter>(a);
}

// Nobody waits for words: what is taken must be wrong.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS + 32, 1)
edges_exchange_unwaited(const __grid_constant__ struct exchange_args a)
{
    block<by_nothing>(a);
}

#endif
