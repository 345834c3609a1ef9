// Edges: how one step of a layer hands its words over to the next.
//
//     edge.put(i, bits);                       a thread has word i of this layer's mail
//     edge.put_pair(i, first, second);         a thread has words 2i and 2i + 1
//     edge.close();                            all threads: this block has put all its words
//     edge.take<N>(first, step, end, word);    a thread gets N pairs of words: it waits for them
//     edge.put_sum(i, bits);
//     edge.take_sum<N>(first, step, end, word);
//                                              the same for words that are added to the residual:
//                                              where GPUs share a layer, each puts a summand
//     edge.put_best(i, block, logit, row, rows);
//     edge.take_best(first, block, better);    the same for what a block has chosen of its GPU's
//                                              `rows` of the head, words i and i + 1: better(logit,
//                                              row) is called for each GPU's
//     edge.chosen();                           all threads: they have taken all of that
//
// edge_values  a word lies in the mail with the epoch of its layer, in one store of 8 bytes. Who
//              needs it polls the word itself. close() does nothing.
// edge_plain   a word is only a word: something else must be the edge.
// edge_alone   either of them in a layer of one GPU; links/layer/edge.cuh is for several.
// edge_barrier plain words; close() is a barrier of the whole grid.
// edge_kernel  plain words; the end of the kernel is the edge.
//
// join(), once a launch; then open() with each layer's mail and epoch.
//
// Words are taken in pairs, 8 or 16 bytes at a time: `first`, `step` and `end` count pairs; `first`
// is before `end`. A pair at or beyond `end` is not taken, and word[i] of it is not written. All
// are polled until all are there: to poll one, and then to load the rest, costs a way through the
// L2 more.
#ifndef FUSED_COMMON_DECODER_EDGE_CUH
#define FUSED_COMMON_DECODER_EDGE_CUH

#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "core/device/named_barrier.cuh"
#include "core/device/order.cuh"
#include "core/device/words.cuh"
#include "fused/common/decoder/deal.cuh"

enum : uint32_t { DECODER_COMPUTING = 1 }; // the named barrier of the threads that compute

__device__ __forceinline__ void decoder_sync(void)
{
    named_barrier<DECODER_THREADS>(DECODER_COMPUTING);
}

// The thread's warp, in a form from which the compiler knows that it is the same in all lanes.
__device__ __forceinline__ uint32_t decoder_warp(void)
{
    return __shfl_sync(~0u, threadIdx.x / 32, 0);
}

struct edge_values {
    uint64_t *mail;
    struct grid_barrier_state *state;
    uint32_t epoch, budget_ns;
    bool given_up;

    __device__ __forceinline__ void join(const struct decoder_args &a)
    {
        state = a.barrier;
        budget_ns = a.budget_ns;
        given_up = false;
    }
    __device__ __forceinline__ void open(void *layer_mail, uint32_t layer_epoch)
    {
        mail = (uint64_t *)layer_mail;
        epoch = layer_epoch;
    }
    __device__ __forceinline__ void put(uint32_t i, uint32_t bits)
    {
        words_put(mail, i, epoch, bits);
    }
    __device__ __forceinline__ void put_pair(uint32_t i, uint32_t first, uint32_t second)
    {
        words_put_pair(mail, i, epoch, first, second);
    }
    __device__ __forceinline__ void close(void) {}

    template <int N>
    __device__ __forceinline__ void take(uint32_t first, uint32_t step, uint32_t end,
                                         uint2 (&word)[N])
    {
        words_take(mail, epoch, first, step, end, word, state, budget_ns, given_up);
    }
};

struct edge_plain {
    uint32_t *mail;

    __device__ __forceinline__ void open(void *layer_mail, uint32_t)
    {
        mail = (uint32_t *)layer_mail;
    }
    __device__ __forceinline__ void put(uint32_t i, uint32_t bits) { mail[i] = bits; }
    __device__ __forceinline__ void put_pair(uint32_t i, uint32_t first, uint32_t second)
    {
        ((uint2 *)mail)[i] = make_uint2(first, second);
    }

    template <int N>
    __device__ __forceinline__ void take(uint32_t first, uint32_t step, uint32_t end,
                                         uint2 (&word)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (i == 0 || first + i * step < end) {
                const uint64_t both = load_cg((const uint2 *)mail + first + i * step);
                word[i] = make_uint2((uint32_t)both, (uint32_t)(both >> 32));
            }
    }
};

// A layer of one GPU: a summand is the sum, and what a block has chosen is two words.
template <typename WORDS> struct edge_alone : WORDS {
    enum { GPUS = 1 };

    __device__ __forceinline__ void put_sum(uint32_t i, uint32_t bits) { this->put(i, bits); }
    template <int N>
    __device__ __forceinline__ void take_sum(uint32_t first, uint32_t step, uint32_t end,
                                             uint2 (&word)[N])
    {
        this->take(first, step, end, word);
    }
    __device__ __forceinline__ void put_best(uint32_t i, uint32_t, uint32_t logit, uint32_t row,
                                             uint32_t)
    {
        this->put(i, logit);
        this->put(i + 1, row);
    }
    template <typename BETTER>
    __device__ __forceinline__ void take_best(uint32_t first, uint32_t, const BETTER &better)
    {
        uint2 word[1];
        this->take(first, 0, first + 1, word);
        better(word[0].x, word[0].y);
    }
    __device__ __forceinline__ void chosen(void) {}
};

struct edge_barrier : edge_alone<edge_plain> {
    struct grid_barrier barrier;

    __device__ __forceinline__ void join(const struct decoder_args &a)
    {
        barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);
    }
    __device__ __forceinline__ void close(void)
    {
        decoder_sync();
        if (threadIdx.x == 0)
            grid_barrier_arrive(barrier);
        if (grid_barrier_polls())
            grid_barrier_wait(barrier);
        decoder_sync();
    }
};

struct edge_kernel : edge_alone<edge_plain> {
    __device__ __forceinline__ void close(void) {}
};

#endif
