/*
 * C = A x B through wgmma by stream-K: any number of blocks, each with an equal share of the work,
 * whatever the number of tiles. Compute capability 9.0 only. wgmma_gemm.cuh explains how a block
 * computes; wgmma_gemm.h has the tile and the arguments.
 *
 * Shares
 *   All k-steps of all tiles are numbered, tile after tile. Block b of B blocks has those from
 *   all x b / B on. So a block may begin within one tile and end within another. The block with a
 *   tile's first k-step owns the tile. It adds what the others computed of it, in the order of the
 *   blocks, so that the sum is the same every time, and writes the tile. A block that begins within
 *   a tile does that part first. The tile's owner reaches the end of its own share later, and
 *   hardly ever waits. Only a block's first part may belong to another block, so each leaves at
 *   most one partial tile.
 *
 * How a partial tile becomes visible. The threads of its block store it and synchronise, and one of
 * them sets a flag with release. One thread of the owner polls the flag, acquires, and synchronises
 * with the others, which then read the tile from the L2. The owner clears the flag, so that the
 * next launch finds zero. All blocks must be resident, which a cooperative launch guarantees. A
 * wait beyond its budget makes this C, and every later one, NaN.
 */
#include "core/device/grid_barrier.cuh"
#include "matmul/common/wgmma_gemm.cuh"
#include "matmul/common/wgmma_store.cuh"

#if defined __CUDA_ARCH_FEAT_SM90_ALL

/* --- shares ----------------------------------------------------------------------------------- */

/* The k-steps of a block, first to end - 1; each tile has `each` of them. */
struct share {
    uint32_t first, end, each;
};

/* all x blocks stays below 2^32; the host ensures it. */
static __device__ __forceinline__ uint32_t first_of(uint32_t all, uint32_t block)
{
    return all * block / gridDim.x;
}

template <class s>
static __device__ __forceinline__ uint32_t all_steps(const struct wgmma_gemm_args &args)
{
    return post<s>::high(args) * post<s>::wide(args) * s::cluster * ((args.k + 63) / 64);
}

template <class s>
static __device__ __forceinline__ struct share share_of(const struct wgmma_gemm_args &args)
{
    const uint32_t all = all_steps<s>(args);

    return {first_of(all, blockIdx.x), first_of(all, blockIdx.x + 1), (args.k + 63) / 64};
}

/* Tiles in the same order as in the plain kernel. */
template <class s>
static __device__ __forceinline__ void go_to_plain(struct post<s> &p,
                                                const struct wgmma_gemm_args &args, uint32_t tile)
{
    const uint32_t pair = tile / s::cluster, wide = post<s>::wide(args);

    p.rank_m = tile % s::cluster;
    p.set_corner(pair % wide, pair / wide);
}

/* --- fetching --------------------------------------------------------------------------------- */

template <class s>
static __device__ __forceinline__ void fetch_share(const struct wgmma_gemm_args &args,
                                                   struct post<s> p, const struct share &mine)
{
    struct walk<s> w = {0, 0};
    uint32_t tile = mine.first / mine.each, step = mine.first % mine.each;

    go_to_plain<s>(p, args, tile);
#pragma unroll 1
    for (uint32_t i = mine.first; i < mine.end; i++, w.step()) {
        mbarrier_wait(left<s>(w.slot), w.parity ^ 1); /* open in the first round */
        fetch<s, NN, false>(args, p, step, w.slot);
        if (++step == mine.each) {
            step = 0;
            go_to_plain<s>(p, args, ++tile);
        }
    }
}

/* --- partial tiles ---------------------------------------------------------------------------- */

static __device__ __forceinline__ bool warpgroup_any(bool mine)
{
    uint32_t any;

    asm volatile("{\n"
                 ".reg .pred p, q;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "bar.red.or.pred q, 1, 128, p;\n"
                 "selp.u32 %0, 1, 0, q;\n"
                 "}"
                 : "=r"(any)
                 : "r"((uint32_t)mine)
                 : "memory");
    return any;
}

/* A thread's sums, 16 bytes at a time, adjacent to those of its neighbours. */
template <class s>
static __device__ __forceinline__ float4 *partial_of(const struct wgmma_stream_args &a,
                                                     uint32_t block)
{
    return (float4 *)(a.partials + (size_t)block * s::tile_m * s::tile_n) + threadIdx.x;
}

template <class s, enum type type>
static __device__ __forceinline__ void leave_partial(const struct wgmma_stream_args &a,
                                                     const struct sums<s, type> &sum)
{
    float4 *to = partial_of<s>(a, blockIdx.x);

#pragma unroll
    for (int i = 0; i < sums<s, type>::n; i += 4)
        to[i / 4 * s::computing] =
            make_float4(sum.d[0][i], sum.d[0][i + 1], sum.d[0][i + 2], sum.d[0][i + 3]);
    warpgroup_barrier(0);
    if (threadIdx.x == 0)
        store_release(a.came + blockIdx.x, 1);
}

/* One thread waits until the block has left its part. False once a wait has taken too long. */
static __device__ __forceinline__ bool wait_for(const struct wgmma_stream_args &a, uint32_t block)
{
    uint64_t came_ns = 0;
    bool given_up = load_relaxed(&a.state->aborted) != 0;

    for (uint32_t polls = 1; !given_up; polls++) {
        if (load_relaxed(a.came + block) != 0)
            break;
        if (polls % GRID_BARRIER_POLLS != 0)
            continue;
        if (came_ns == 0)
            came_ns = clock_ns();
        given_up = grid_barrier_given_up(a.state, came_ns, a.budget_ns);
    }
    asm volatile("fence.acquire.gpu;" ::: "memory");
    store_relaxed(a.came + block, 0);
    return !given_up;
}

/* Adds what the blocks after this one have of the tile that ends before step `tile_end`. */
template <class s, enum type type>
static __device__ __forceinline__ void add_partials(const struct wgmma_stream_args &a,
                                                    struct sums<s, type> &sum, uint32_t all,
                                                    uint32_t tile_end)
{
#pragma unroll 1
    for (uint32_t block = blockIdx.x + 1; first_of(all, block) < tile_end; block++) {
        if (first_of(all, block) == first_of(all, block + 1)) /* it has no share */
            continue;
        const bool late = warpgroup_any(threadIdx.x == 0 && !wait_for(a, block));
        const float4 *from = partial_of<s>(a, block);
#pragma unroll
        for (int i = 0; i < sums<s, type>::n; i += 4) {
            const uint4 bits = load_cg_128(from + i / 4 * s::computing);
            sum.d[0][i] += late ? NAN : __uint_as_float(bits.x);
            sum.d[0][i + 1] += late ? NAN : __uint_as_float(bits.y);
            sum.d[0][i + 2] += late ? NAN : __uint_as_float(bits.z);
            sum.d[0][i + 3] += late ? NAN : __uint_as_float(bits.w);
        }
    }
}

/* --- the kernel ------------------------------------------------------------------------------- */

template <class s, enum type type>
static __device__ __forceinline__ void compute_share(const struct wgmma_stream_args &a,
                                                     const struct wgmma_gemm_args &args,
                                                     struct post<s> p, const struct share &mine)
{
    struct walk<s> w = {0, 0};

#pragma unroll 1
    for (uint32_t i = mine.first; i < mine.end;) {
        const uint32_t tile = i / mine.each, k = i % mine.each;
        const uint32_t tile_end = i - k + mine.each;
        const uint32_t end = tile_end < mine.end ? tile_end : mine.end;
        struct sums<s, type> sum;

        go_to_plain<s>(p, args, tile);
        p.steps = end - i;
        accumulate<s, NN, type, FULL, false>(sum, p, w, mine.end - end, NULL);
        i = end;
        if (k > 0) {
            leave_partial<s, type>(a, sum);
            continue;
        }
        add_partials<s, type>(a, sum, all_steps<s>(args), tile_end);
        store<s, type>(args, sum, p);
        if (threadIdx.x == 0)
            bulk_store_read_wait<0>();
        warpgroup_barrier(0); /* the staging area is free again */
    }
}

/* The fetching warp made the barriers, so it need not wait until the others begin. */
template <class s, enum type type>
static __device__ __forceinline__ void stream(const struct wgmma_stream_args &a)
{
    static_assert(s::wgs == 1 && s::blocks == 1 && s::split == 1 && s::cluster_n == 1 &&
                      !s::multicast && !s::persistent && s::small,
                  "one thread brings the tile out, and all of it at once");
    const struct wgmma_gemm_args args = {.maps = a.maps, .m = a.m, .n = a.n, .k = a.k};

    if (a.k == 0)
        return;
    const struct post<s> p(args);
    const struct share mine = share_of<s>(args);
    if (threadIdx.x / 32 == 4) {
        if (elected()) {
            for (int i = 0; i < s::stages; i++) {
                mbarrier_make(full<s>(i), 1);
                mbarrier_make(left<s>(i), 4);
            }
            mbarrier_made();
        }
        __syncwarp();
        asm volatile("bar.arrive 0, %0;" ::"n"(s::threads) : "memory");
        if (elected())
            fetch_share<s>(args, p, mine);
    } else {
        asm volatile("bar.sync 0, %0;" ::"n"(s::threads) : "memory");
        compute_share<s, type>(a, args, p, mine);
    }
}

#define STREAM_KERNEL(name, type_name, type)                                                       \
    extern "C" __global__ void __cluster_dims__(stream_##name::cluster, 1, 1)                      \
        __launch_bounds__(stream_##name::threads, 1)                                               \
            wgmma_stream_##type_name##_##name(const __grid_constant__ struct wgmma_stream_args a)  \
    {                                                                                              \
        stream<stream_##name, type>(a);                                                            \
    }
#define STREAM_ROW(name, ...)                                                                      \
    using stream_##name = shape<__VA_ARGS__>;                                                      \
    STREAM_KERNEL(name, fp16, FP16)                                                                \
    STREAM_KERNEL(name, bf16, BF16)

// sass-loop: kernel=wgmma_stream_* hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=52 local=0
// sass-and: arch=90a
// sass-loop: kernel=wgmma_stream_* utmaldg>=2 hgmma=0 other<=58 local=0 arch=90a
// sass-loop: kernel=wgmma_stream_* ldg128=16 hgmma=0 other<=227 local=0 together arch=90a
WGMMA_STREAM_TILES(STREAM_ROW)

#endif
