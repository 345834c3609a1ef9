// Kernel of edges: a chain of exchanges by values (exchange.cuh) among all SMs or some of them,
// while a warp of each SM, or of some, reads tiles of any size, as many at a time as the host says.
#include "core/device/clock.cuh"
#include "core/device/sides.cuh"
#include "probes/edges/exchange.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

struct share_of_role {
    uint32_t share, shares;
    __device__ __forceinline__ uint32_t own(void) const { return share; }
    __device__ __forceinline__ uint32_t all(void) const { return shares; }
};

// Who has no share waits until the others are through, and looks seldom. Where nobody has one, it
// waits for as long as the stream is to last.
__device__ __forceinline__ void wait_for_others(const struct beside_args &a)
{
    const uint64_t came_ns = clock_ns();
    if (threadIdx.x != 0)
        return;
    if (a.x.census)
        a.x.census[blockIdx.x] = sm_id();
#pragma unroll 1
    while (load_relaxed(a.over) != a.x.epoch &&
           (a.shares == 0 ? clock_ns() - came_ns < a.alone_ns
                          : !grid_barrier_given_up(a.x.barrier, came_ns, a.x.budget_ns))) {
        const uint64_t looked_ns = clock_ns();
        while (clock_ns() - looked_ns < BESIDE_LOOK_NS) {
        }
    }
}

// Which tiles a block streams: first, first + step ... modulo `tiles`, among all or those of its
// side.
struct deal {
    uint32_t first, step, tiles, side;
};
__device__ __forceinline__ struct deal deal_of(const struct beside_args &a)
{
    if (a.pieces == 1)
        return {blockIdx.x % a.x.body_tiles, gridDim.x % a.x.body_tiles, a.x.body_tiles, 0};
    const uint32_t both = __ldg(a.sides.sms + sm_id()), side = both & 1, tiles = a.x.body_tiles / 2;
    return {both / 2 % tiles, a.sides.count[side] % tiles, tiles, side};
}

// A warp keeps all tiles on their way until the exchanges are over, and waits for those that still
// come: a lane for each piece of a tile. Returns how many tiles have come.
__device__ __forceinline__ uint32_t stream_on(const struct beside_args &a, const struct stream &s,
                                              const volatile uint32_t *is_over)
{
    const struct deal deal = deal_of(a);
    const uint32_t bytes = a.tile_bytes / a.pieces, lane = threadIdx.x % 32;
    uint32_t tile = deal.first, stage = 0, parity = 1, asked = 0;
#pragma unroll 1
    for (; asked < a.x.tiles_most && !__shfl_sync(~0u, *is_over, 0); asked++) {
        const uint32_t full = s.full + 8 * stage;
        const char *from = (const char *)a.x.body + (uint64_t)tile * a.tile_bytes;
        if (a.pieces > 1)
            from = sides_piece(a.sides, (const char *)a.x.body, deal.side,
                               tile * a.pieces + min(lane, a.pieces - 1));
        if (asked >= a.stages) // the tile before in this stage
            mbarrier_wait(full, parity);
        if (lane == 0)
            mbarrier_expect(full, a.tile_bytes);
        __syncwarp();
        if (lane < a.pieces)
            bulk_load_once(s.first_tile + stage * a.tile_bytes + lane * bytes, from, bytes, full);
        tile += deal.step;
        if (tile >= deal.tiles)
            tile -= deal.tiles;
        if (++stage == a.stages) {
            stage = 0;
            parity ^= 1;
        }
    }
#pragma unroll 1
    for (uint32_t i = 0; i < a.stages && i < asked; i++)
        mbarrier_wait(s.full + 8 * i, (asked - 1 - i) / a.stages & 1);
    return asked;
}

__device__ __forceinline__ void compute(const struct beside_args &a, uint32_t share,
                                        uint32_t *words, volatile uint32_t *is_over)
{
    if (share < a.shares)
        exchange<by_values>(a.x, share_of_role{share, a.shares}, words);
    else
        wait_for_others(a);
    if (threadIdx.x != 0)
        return;
    *is_over = 1;
    if (share == 0 && a.shares > 0)
        store_relaxed(a.over, a.x.epoch);
}

extern __shared__ uint4 beside_memory[];

// The loops of edges_exchange_values. One place asks for tiles or their pieces, as data that is
// used once, without a division from one tile to the next.
// sass-loop: ldg128.gpu=8 guarded<=8 other<=85 local=0 regs<=80 together arch=90a+
// sass-loop: stg64.gpu=1 ldg128.gpu=8 sts64=8 bar.sync=1 membar=0 cctl=0 guarded<=20 other<=300
// sass-and: outer arch=90a+
// sass-loop: ublkcp.hinted=1 syncs>=2 popc=1 other<=80 guarded<=20 outer arch=90a,100
// sass-loop: ublkcp.hinted=1 syncs>=2 popc=1 other<=108 guarded<=20 outer arch=120
// sass-all: ublkcp.hinted=1 ublkcp=1 membar=0 cctl=0 looped calls arch=90a+
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS + 32, 1)
edges_beside(const __grid_constant__ struct beside_args a)
{
    __shared__ uint64_t full[BESIDE_STAGES_MOST];
    __shared__ volatile uint32_t is_over;
    const struct stream s = {(char *)beside_memory, shared_address(beside_memory),
                             shared_address(full)};
    const uint32_t role = a.roles ? a.roles[sm_id()] : blockIdx.x;

    if (threadIdx.x == 0) {
#pragma unroll 1
        for (uint32_t i = 0; i < a.stages; i++)
            mbarrier_make(s.full + 8 * i, 1);
        mbarrier_made();
        is_over = 0;
    }
    __syncthreads();
    if (threadIdx.x < EXCHANGE_THREADS) {
        compute(a, role & ~BESIDE_QUIET, (uint32_t *)(s.tiles + a.stages * a.tile_bytes), &is_over);
        return;
    }
    if (a.x.body_tiles == 0)
        return;
    uint32_t come = 0;
    if (!(role & BESIDE_QUIET))
        come = stream_on(a, s, &is_over);
    if (threadIdx.x == EXCHANGE_THREADS)
        a.x.tiles[blockIdx.x] = come;
    if (!a.x.tile_sums)
        return;
    const uint32_t sum = stream_sum(s, min(come, a.stages) * a.tile_bytes);
    if (threadIdx.x == EXCHANGE_THREADS)
        a.x.tile_sums[blockIdx.x] = sum;
}

#endif
