// Kernels of gemm_chain: several dependent products in one launch, from the device code of the
// wgmma kernel. matmul/common/wgmma_gemm.cuh explains how a block computes a tile. This file has
// what makes a product wait for the one before, and what need not wait.
//
// A block has the same tile in every product. Its fetching thread walks the ring of k-steps without
// a break. When the slots of one product are left, it fills them with the weights of the next, as
// many k-steps as the ring has, while the tile before is still computed and written. Only then does
// it wait for the other blocks; the rows of X follow into the same slots. A slot's barrier opens
// when both have arrived.
//
// How X(i+1) becomes visible. The thread that writes a tile waits until its bulk copy is complete,
// not only read (bulk_store_wait). By PTX (Async Proxy, under the bulk copies), what the copy wrote
// through the async proxy is then visible in the generic proxy. The thread adds to a counter, with
// release. The fetching thread of another block polls that counter, acquires, and executes
// fence.proxy.async: it knows of the data in the generic proxy only, and its next bulk copies read
// through the async proxy. The fence belongs in the block that reads.
#include <cuda_fp16.h>

#include "core/device/grid_barrier.cuh"
#include "matmul/common/wgmma_gemm.cuh"
#include "matmul/common/wgmma_store.cuh"
#include "matmul/gemm_chain/args.h"

#if defined __CUDA_ARCH_FEAT_SM90_ALL

// --- waiting for the other blocks ----------------------------------------------------------------

// The blocks that write what a block reads next: all of them, or those of its rows.
struct meeting {
    struct grid_barrier_state *state;
    uint32_t *counter;
    uint32_t members, before, budget_ns; // before: the counter at some time in the first product
    uint32_t met;                        // number of meetings so far
    bool given_up;
};

// The counter of the blocks that write these rows, if tiles have `high` rows; or that of all
// blocks.
__device__ __forceinline__ uint32_t *counter_of(const struct gemm_chain_args &a, int row, int high)
{
    return a.counters + (a.by_rows ? 1 + row / high : 0) * GEMM_CHAIN_APART;
}

// Does not wait here: the first copies are issued first.
__device__ __forceinline__ struct meeting join(const struct gemm_chain_args &a, int row, int high,
                                               int wide)
{
    uint32_t *counter = counter_of(a, row, high);
    const uint32_t members = a.n / wide * (a.by_rows ? 1 : a.m / high);

    return {a.state, counter, members, load_relaxed(counter), a.budget_ns, 0, false};
}

__device__ __forceinline__ void arrive(uint32_t *counter)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

// Every launch adds a multiple of `members`, and no block gets past the first meeting before this
// one has arrived. So the remainder tells the counter's value at the launch's beginning.
__device__ __forceinline__ void meet(struct meeting &m)
{
    const uint32_t began_at = m.before - m.before % m.members;
    const uint32_t target = began_at + ++m.met * m.members;
    uint64_t came_ns = 0;

    for (uint32_t polls = 1; !m.given_up; polls++) {
        if ((int32_t)(load_relaxed(m.counter) - target) >= 0)
            break;
        if (polls % GRID_BARRIER_POLLS != 0)
            continue;
        if (came_ns == 0)
            came_ns = clock_ns();
        m.given_up = grid_barrier_given_up(m.state, came_ns, m.budget_ns);
    }
    asm volatile("fence.acquire.gpu;" ::: "memory");
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

// --- fetching ------------------------------------------------------------------------------------

// Every product has maps of its own: those of the next product are prefetched.
__device__ __forceinline__ void prefetch_maps(const unsigned char *maps)
{
#pragma unroll
    for (int i = 0; i < 3; i++)
        asm volatile("prefetch.tensormap [%0];" ::"l"(maps + (3 + i) * WGMMA_GEMM_MAP_BYTES)
                     : "memory");
}

// Fetches a k-step's weights once its slot is left, and announces all bytes that will arrive in it.
template <class s>
__device__ __forceinline__ void fetch_weights(const unsigned char *maps, const struct post<s> &p,
                                              int step, const struct walk<s> &w)
{
    const uint32_t to = at(w.slot * s::slot_bytes) + s::a_bytes;

    mbarrier_wait(left<s>(w.slot), w.parity ^ 1); // open in the first round
    mbarrier_expect(full<s>(w.slot), s::slot_bytes);
    fetch_operand<s::tile_n, true, 1, false>(to, maps + WGMMA_GEMM_MAP_BYTES, p.column, 64 * step,
                                             full<s>(w.slot), 0, 0);
}

template <class s>
__device__ __forceinline__ void fetch_x(const unsigned char *maps, const struct post<s> &p,
                                        int step, const struct walk<s> &w)
{
    fetch_operand<s::tile_m, false, 1, false>(at(w.slot * s::slot_bytes), maps, p.row, 64 * step,
                                              full<s>(w.slot), 0, 0);
}

template <class s, bool waits>
__device__ __forceinline__ void fetch_chain(const struct gemm_chain_args &a,
                                            const struct post<s> &p)
{
    const unsigned char *maps = (const unsigned char *)a.maps;
    struct meeting others = join(a, p.row, s::tile_m, s::tile_n);
    struct walk<s> w = {0, 0};

#pragma unroll 1
    for (uint32_t i = 0; i < a.products; i++, maps += 3 * WGMMA_GEMM_MAP_BYTES) {
        const int early = i == 0 ? 0 : s::stages < p.steps ? s::stages : p.steps;
        struct walk<s> behind = w;
        int step = 0;

        if (i + 1 < a.products)
            prefetch_maps(maps);
#pragma unroll 1
        for (; step < early; step++, w.step())
            fetch_weights<s>(maps, p, step, w);
        if (waits && i > 0)
            meet(others);
#pragma unroll 1
        for (step = 0; step < early; step++, behind.step())
            fetch_x<s>(maps, p, step, behind);
#pragma unroll 1
        for (; step < p.steps; step++, w.step()) {
            fetch_weights<s>(maps, p, step, w);
            fetch_x<s>(maps, p, step, w);
        }
    }
}

// --- the kernel ----------------------------------------------------------------------------------

template <class s>
__device__ __forceinline__ void compute_chain(const struct gemm_chain_args &a,
                                              const struct post<s> &p)
{
    uint32_t *counter = counter_of(a, p.row, s::tile_m);
    struct wgmma_gemm_args product = {.maps = a.maps};
    struct walk<s> w = {0, 0};

#pragma unroll 1
    for (uint32_t later = a.products; later-- > 0;) {
        struct sums<s, FP16> sum;

        accumulate<s, NN, FP16, FULL, false>(sum, p, w, later * p.steps, NULL);
        store<s, FP16>(product, sum, p);
        if (threadIdx.x == 0) {
            bulk_store_wait<0>();
            if (later > 0)
                arrive(counter);
        }
        warpgroup_barrier(0); // the staging area is free again
        product.maps = (const unsigned char *)product.maps + 3 * WGMMA_GEMM_MAP_BYTES;
    }
}

// The fetching warp need not wait until the others begin: it made the barriers, and the others must
// not use them before.
template <class s, bool waits>
__device__ __forceinline__ void chain(const struct gemm_chain_args &a)
{
    static_assert(s::wgs == 1 && s::split == 1 && !s::multicast && !s::persistent && s::small,
                  "one thread brings the tile out, and all of it at once");
    const struct wgmma_gemm_args one = {.m = a.m, .n = a.n, .k = a.n};
    const struct post<s> p(one);

    if (threadIdx.x / 32 == 4 * s::wgs) {
        if (elected()) {
            for (int i = 0; i < s::stages; i++) {
                mbarrier_make(full<s>(i), 1);
                mbarrier_make(left<s>(i), 4 * s::wgs);
            }
            mbarrier_made();
        }
        __syncwarp();
        asm volatile("bar.arrive 0, %0;" ::"n"(s::threads) : "memory");
        if (elected())
            fetch_chain<s, waits>(a, p);
    } else {
        asm volatile("bar.sync 0, %0;" ::"n"(s::threads) : "memory");
        compute_chain<s>(a, p);
    }
}

#define CHAIN(kernel, row, waits)                                                                  \
    extern "C" __global__ void __cluster_dims__(row_##row::cluster, 1, 1)                          \
        __launch_bounds__(row_##row::threads, 1)                                                   \
            gemm_chain_##kernel##_##row(const __grid_constant__ struct gemm_chain_args a)          \
    {                                                                                              \
        chain<row_##row, waits>(a);                                                                \
    }

// sass-loop: kernel=gemm_chain_*fp16_128x64 hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=53
// sass-and: local=0 arch=90a
// sass-loop: kernel=gemm_chain_fp16_64x128_alone hgmma=8 syncs<=3 bar=0 ldg=0 guarded<=1 other<=85
// sass-and: local=0 arch=90a
// sass-loop: kernel=gemm_chain_fp16_128x64_halves hgmma=4 syncs<=5 bar=0 ldg=0 guarded<=1 other<=55
// sass-and: local=0 arch=90a
// sass-loop: kernel=gemm_chain_*fp16_* utmaldg>=2 hgmma=0 other<=59 local=0 arch=90a
CHAIN(fp16, 128x64, true)
CHAIN(fp16, 64x128_alone, true)
CHAIN(unwaited_fp16, 128x64, false) // which must give wrong results

// --- the tile in two halves ----------------------------------------------------------------------

// Rows of a chain are independent. So a block computes the upper 64 rows of its tile, and while
// these are written and the other blocks' rows arrive, the lower 64. With the two halves in flight
// in turn, the wait between two products is filled with work. Each half is a pass of its own over
// k, with the same weights, which stay in shared memory for both; X comes through a ring. A
// dedicated warp writes the halves, so that no other warp waits for a copy's completion.
namespace halves {

using half = row_64x64; // its products and maps
using tile = row_128x64; // its place in the grid
enum : uint32_t {
    BOX = GEMM_CHAIN_HALVES_BOX,
    X_AT = BOX * GEMM_CHAIN_HALVES_STEPS,
    OUT_AT = X_AT + BOX * GEMM_CHAIN_HALVES_SLOTS,
};
struct ring_of_x {
    static constexpr uint32_t stages = GEMM_CHAIN_HALVES_SLOTS;
};

__device__ __forceinline__ uint32_t x_full(uint32_t slot)
{
    return at(GEMM_CHAIN_HALVES_BARRIERS + 16 * slot);
}
__device__ __forceinline__ uint32_t x_left(uint32_t slot)
{
    return x_full(slot) + 8;
}
__device__ __forceinline__ uint32_t w_full(uint32_t step)
{
    return at(GEMM_CHAIN_HALVES_BARRIERS + 16 * GEMM_CHAIN_HALVES_SLOTS + 8 * step);
}

// The fetching thread. `left` trails the slots that it refills by `steps`: the pass and the step
// that were computed from a slot before.
struct fetcher {
    const struct gemm_chain_args &a;
    const struct post<tile> &p;
    int steps;
    struct walk<ring_of_x> w;
    uint32_t taken, left_pass;
    int left_step;

    __device__ __forceinline__ const unsigned char *maps(uint32_t product) const
    {
        return (const unsigned char *)a.maps + product * 3 * WGMMA_GEMM_MAP_BYTES;
    }
    __device__ __forceinline__ void weights(uint32_t product, int step) const
    {
        mbarrier_expect(w_full(step), BOX);
        fetch_operand<64, true, 1, false>(at(step * BOX), maps(product) + WGMMA_GEMM_MAP_BYTES,
                                          p.column, 64 * step, w_full(step), 0, 0);
    }
    __device__ __forceinline__ void x(uint32_t product, int row, int step, uint32_t slot) const
    {
        mbarrier_expect(x_full(slot), BOX);
        fetch_operand<64, false, 1, false>(at(X_AT + slot * BOX), maps(product), row, 64 * step,
                                           x_full(slot), 0, 0);
    }
    // The next slot of X. The computation from its last contents is over. If that was a lower half,
    // the weights of its step are done with, and those of the next product replace them.
    __device__ __forceinline__ void take()
    {
        mbarrier_wait(x_left(w.slot), w.parity ^ 1); // open in the first round
        w.step();
        if (taken++ < ring_of_x::stages)
            return;
        const uint32_t next = left_pass / 2 + 1;
        if (left_pass % 2 == 1 && next < a.products)
            weights(next, left_step);
        if (++left_step == steps) {
            left_step = 0;
            left_pass++;
        }
    }
    __device__ __forceinline__ void pass(uint32_t product, int row, bool lower,
                                         struct meeting &others)
    {
        const int early = product == 0 ? 0 : (int)ring_of_x::stages;
        struct walk<ring_of_x> behind = w;
        int step = 0;

#pragma unroll 1
        for (; step < early; step++)
            take();
        if (product > 0)
            meet(others);
#pragma unroll 1
        for (step = 0; step < early; step++, behind.step())
            x(product, row, step, behind.slot);
#pragma unroll 1
        for (; step < steps; step++) {
            const uint32_t slot = w.slot;
            take();
            if (product == 0 && !lower)
                weights(0, step);
            x(product, row, step, slot);
        }
    }
};

__device__ __forceinline__ void fetch(const struct gemm_chain_args &a, const struct post<tile> &p)
{
    struct fetcher f = {a, p, p.steps, {0, 0}, 0, 0, 0};
    struct meeting upper = join(a, p.row, 64, 64), lower = join(a, p.row + 64, 64, 64);

#pragma unroll 1
    for (uint32_t i = 0; i < a.products; i++) {
        if (i + 1 < a.products)
            prefetch_maps(f.maps(i));
        f.pass(i, p.row, false, upper);
        f.pass(i, p.row + 64, true, lower);
    }
}

// One half. `parity` is that of the weights, for which the upper half waits; `more` k-steps follow.
__device__ __forceinline__ void accumulate_half(struct sums<half, FP16> &sum, int steps, bool lower,
                                                uint32_t parity, struct walk<ring_of_x> &w,
                                                uint32_t more)
{
    const uint64_t columns = descriptor(0), rows = descriptor(X_AT);
    const int refills = steps + (int)more - (int)ring_of_x::stages;
    uint32_t before = 0;

#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        if (!lower)
            mbarrier_wait(w_full(step), parity);
        mbarrier_wait(x_full(w.slot), w.parity);
        multiply<half, NN, FP16>(sum, columns + step * (BOX >> 4), rows + w.slot * (BOX >> 4),
                                 step > 0);
        wgmma_wait<1>();
        if (step > 0 && step - 1 < refills && threadIdx.x % 32 == 0)
            mbarrier_arrive(x_left(before));
        before = w.slot;
        w.step();
    }
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < sums<half, FP16>::n; i++)
        asm volatile("" : "+f"(sum.d[0][i])::"memory");
    if (steps - 1 < refills && threadIdx.x % 32 == 0)
        mbarrier_arrive(x_left(before));
}

__device__ __forceinline__ void compute(const struct gemm_chain_args &a,
                                        const struct post<tile> &p)
{
    const uint32_t lane = threadIdx.x % 32, chunk = 2 * (threadIdx.x / 32) + lane / 8 % 2;
    struct walk<ring_of_x> w = {0, 0};

#pragma unroll 1
    for (uint32_t pass = 0; pass < 2 * a.products; pass++) {
        const uint32_t more = (2 * a.products - 1 - pass) * p.steps;
        struct sums<half, FP16> sum;

        accumulate_half(sum, p.steps, pass % 2, pass / 2 % 2, w, more);
        asm volatile("bar.sync 2, 160;" ::: "memory"); // the staging area is free
#pragma unroll
        for (int k = 0; k < 64; k += 16)
            turn<FP16>(at(OUT_AT), k, lane / 16 * 8 + lane % 8, chunk, sum.d[0] + k / 2);
        bulk_store_fence();
        asm volatile("bar.arrive 3, 160;" ::: "memory"); // and filled
    }
}

// The warp that writes the halves and announces them.
__device__ __forceinline__ void bring_out(const struct gemm_chain_args &a,
                                          const struct post<tile> &p)
{
    const unsigned char *map = (const unsigned char *)a.maps + 2 * WGMMA_GEMM_MAP_BYTES;

#pragma unroll 1
    for (uint32_t pass = 0; pass < 2 * a.products; pass++) {
        const int row = p.row + 64 * (pass % 2);

        asm volatile("bar.arrive 2, 160;" ::: "memory"); // the staging area is free
        asm volatile("bar.sync 3, 160;" ::: "memory");   // and filled
        if (elected()) {
            store_box(map, row, p.column, at(OUT_AT));
            bulk_store_wait<0>();
            if (pass + 2 < 2 * a.products)
                arrive(counter_of(a, row, 64));
        }
        __syncwarp();
        if (pass % 2 == 1)
            map += 3 * WGMMA_GEMM_MAP_BYTES;
    }
}

__device__ __forceinline__ void make_barriers(void)
{
    for (uint32_t i = 0; i < ring_of_x::stages; i++) {
        mbarrier_make(x_full(i), 1);
        mbarrier_make(x_left(i), 4);
    }
    for (uint32_t i = 0; i < GEMM_CHAIN_HALVES_STEPS; i++)
        mbarrier_make(w_full(i), 1);
    mbarrier_made();
}

} // namespace halves

extern "C" __global__ void __cluster_dims__(halves::tile::cluster, 1, 1)
    __launch_bounds__(GEMM_CHAIN_HALVES_THREADS, 1)
        gemm_chain_fp16_128x64_halves(const __grid_constant__ struct gemm_chain_args a)
{
    const struct wgmma_gemm_args one = {.m = a.m, .n = a.n, .k = a.n};
    const struct post<halves::tile> p(one);
    const uint32_t warp = threadIdx.x / 32;

    if (warp == 4 && elected())
        halves::make_barriers();
    __syncthreads();
    if (warp == 4) {
        if (elected())
            halves::fetch(a, p);
    } else if (warp == 5) {
        halves::bring_out(a, p);
    } else {
        halves::compute(a, p);
    }
}

#endif

// Weights of N(0,1) are scaled, so that a product of N(0,1) by them is N(0,1) again.
// sass: none not a timed kernel
extern "C" __global__ void gemm_chain_scale(const __grid_constant__ struct gemm_chain_scale_args a)
{
    __half *x = (__half *)a.elements;

    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count;
         i += (uint64_t)gridDim.x * blockDim.x)
        x[i] = __float2half_rn(__half2float(x[i]) * a.factor);
}
