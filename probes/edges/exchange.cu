// Kernels of edges: a chain of exchanges (exchange.cuh), in each of which all SMs hand words over
// to all SMs, while a warp of each may read from the memory.
#include "probes/edges/exchange.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

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

// --- the stream beside them ----------------------------------------------------------------------

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
        exchange<WAY>(a, share_of_block(),
                      (uint32_t *)(s.tiles + EXCHANGE_TILES * EXCHANGE_TILE_BYTES));
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
    const uint32_t sum = stream_sum(s, min(come, (uint32_t)EXCHANGE_TILES) * EXCHANGE_TILE_BYTES);
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
