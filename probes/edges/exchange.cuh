// A chain of exchanges, in each of which blocks hand words over to each other.
//
// A block puts its share of the words and takes all of them to its own shared memory; each word is
// made of one that another block put in the exchange before. Two rows of the mail, in turn, are
// enough: a block that puts the words of an exchange has those of the one before, so all have left
// the row that it writes. It follows that every block has to put a word: nobody waits for one that
// puts none.
#ifndef PROBES_EDGES_EXCHANGE_CUH
#define PROBES_EDGES_EXCHANGE_CUH

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

// Every block has a share of the words.
struct share_of_block {
    static __device__ __forceinline__ uint32_t own(void) { return blockIdx.x; }
    static __device__ __forceinline__ uint32_t all(void) { return gridDim.x; }
};

// The block has one of so many shares: own() of all().
template <typename WAY, typename SHARE>
__device__ __forceinline__ void exchange(const struct exchange_args &a, const SHARE &share,
                                         uint32_t *words)
{
    WAY way(a);
    const uint32_t begin = share.own() * a.words / share.all();
    const uint32_t end = (share.own() + 1) * a.words / share.all();
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

// The last tiles that came, so many bytes, for the host to compare. All lanes of a warp call this.
__device__ __forceinline__ uint32_t stream_sum(const struct stream &s, uint32_t bytes)
{
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

#endif
#endif
