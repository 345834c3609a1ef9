// A chain of products in one kernel that stays: each matrix times the vector that the product
// before left, with a barrier of the grid between. And the read of the same bytes, without
// barriers.
//
// A warp takes whole rows, so that warps wait for each other at the barriers only. Of a row it
// asks for CHAIN_LOADS vectors of 16 bytes a lane at a time: 4 KiB. Where a row is a whole number
// of pieces of CHAIN_LOADS_LESS, it is read in these, so that nothing is asked for beyond its end.
// It asks for its next piece when it has multiplied the last one, and at the end of a product for
// the first piece of the next: what does not depend on x is on its way while blocks wait for each
// other. The fence of a thread that arrives may wait for what its own warp has asked for: the first
// `late` warps ask behind the barrier.
//
// The warp's matrix instruction multiplies. A lane's vector is its part of A as it lies in
// memory: its first and third word belong to row g, the others to row g + 8
// (core/device/mma.cuh). B is the same part of x, in two instructions: the first has what belongs
// to words one and three, the second to two and four. So of the first C[g][g] is wanted, of the
// second C[g + 8][g]; the rest is of no use. Sums have an order that only n decides: all grids
// give the same bits.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/clock.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "core/device/mma.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/product_chain/args.h"

extern __shared__ uint4 product_chain_x[];

// The rows of a warp: the first, and the distance to its next.
struct warp_rows {
    uint32_t first, step;
};
__device__ __forceinline__ struct warp_rows rows_of_warp(void)
{
    return {blockIdx.x + gridDim.x * (threadIdx.x / 32), gridDim.x * (blockDim.x / 32)};
}

// Where a warp is: the piece that it has asked for last.
struct piece {
    uint32_t row, at;
};

// A lane's vectors of a piece. Beyond the row's end its last vector again: x is zero there.
template <uint32_t LOADS>
__device__ __forceinline__ void ask(uint4 (&w)[LOADS], const struct product_chain_args &a,
                                    uint32_t set, struct piece p)
{
    const uint32_t vectors = a.n / 8;
    const uint4 *from = (const uint4 *)(a.weights + set * a.stride) + (uint64_t)p.row * vectors;
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
        w[i] = load_once(from + min(p.at + 32 * i, vectors - 1));
}

// The piece behind this one; true: it is of another row.
template <uint32_t LOADS>
__device__ __forceinline__ bool next_piece(struct piece &p, uint32_t vectors, uint32_t step)
{
    const uint32_t lane = threadIdx.x % 32;
    p.at += 32 * LOADS;
    if (p.at - lane < vectors)
        return false;
    p.at = lane;
    p.row += step;
    return true;
}

// The set of the next product.
__device__ __forceinline__ uint32_t set_behind(const struct product_chain_args &a, uint32_t set)
{
    return set + 1 < a.sets ? set + 1 : 0;
}

/* --- the chain ------------------------------------------------------------------------------ */

// x of the product in shared memory, with zeros up to a whole piece; words two and three of each
// vector exchanged, so that each instruction's B lies in neighbours.
template <uint32_t LOADS>
__device__ __forceinline__ void take_x(const struct product_chain_args &a, uint32_t product)
{
    const uint32_t vectors = a.n / 8;
    const uint4 *from =
        product == 0 ? (const uint4 *)a.x : (const uint4 *)a.y + (uint64_t)(product - 1) * vectors;
    const uint32_t piece = 32 * LOADS, all = (vectors + piece - 1) / piece * piece;
    for (uint32_t i = threadIdx.x; i < all; i += blockDim.x) {
        const uint4 v = i < vectors ? load_cg_128(from + i) : make_uint4(0, 0, 0, 0);
        product_chain_x[i] = make_uint4(v.x, v.z, v.y, v.w);
    }
}

template <uint32_t LOADS>
__device__ __forceinline__ void multiply(float (&sum)[2][4], const uint4 (&w)[LOADS],
                                         const uint4 *x)
{
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++) {
        const uint4 v = x[32 * i];
        mma_bf16(sum[0], w[i].x, w[i].y, w[i].z, w[i].w, v.x, v.y);
        mma_bf16(sum[1], w[i].x, w[i].y, w[i].z, w[i].w, v.z, v.w);
    }
}

// The whole row's sum, in every lane. The sums begin anew.
__device__ __forceinline__ float whole(float (&sum)[2][4])
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float own = g % 2 ? sum[0][1] + sum[1][3] : sum[0][0] + sum[1][2];
    const float all = warp_reduce<adding>(t == g / 2 ? own : 0);
#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        sum[i / 4][i % 4] = 0;
    return all;
}

__device__ __forceinline__ void put(const struct product_chain_args &a, uint32_t product,
                                    uint32_t row, float sum)
{
    const float z = a.scale * sum;
    if (threadIdx.x % 32 == 0)
        ((__nv_bfloat16 *)a.y)[(uint64_t)product * a.n + row] = bf16::one(z / (1 + fabsf(z)));
}

__device__ __forceinline__ bool is_late(const struct product_chain_args &a)
{
    return threadIdx.x / 32 < a.late;
}

// The warp's rows of one product. Its first piece is on its way; on return that of the next product
// is, unless the warp asks late.
template <uint32_t LOADS>
__device__ __forceinline__ void one_product(const struct product_chain_args &a, uint4 (&w)[LOADS],
                                            uint32_t product, uint32_t set)
{
    const struct warp_rows rows = rows_of_warp();
    const uint32_t vectors = a.n / 8, behind = set_behind(a, set);
    const struct piece first = {rows.first, threadIdx.x % 32};
    struct piece p = first;
    float sum[2][4] = {};
#pragma unroll 1
    while (p.row < a.n) {
        multiply(sum, w, product_chain_x + p.at);
        const uint32_t row = p.row;
        const bool ended = next_piece<LOADS>(p, vectors, rows.step), over = p.row >= a.n;
        if (!over || !is_late(a))
            ask(w, a, over ? behind : set, over ? first : p);
        if (ended)
            put(a, product, row, whole(sum));
    }
}

template <uint32_t LOADS>
__device__ __forceinline__ void run_chain(const struct product_chain_args &a)
{
    // Of the thread that polls; those that arrive need nothing of their own. Registers are short.
    __shared__ struct grid_barrier barrier;
    const struct grid_barrier joined = grid_barrier_join(a.state, gridDim.x, a.budget_ns);
    if (grid_barrier_polls())
        barrier = joined;
    if (threadIdx.x == 0)
        a.sms[blockIdx.x] = sm_id();
    __syncthreads();

    uint32_t set = a.first;
    uint4 w[LOADS];
    if (!is_late(a) && rows_of_warp().first < a.n)
        ask(w, a, set, {rows_of_warp().first, threadIdx.x % 32});
#pragma unroll 1
    for (uint32_t product = 0; product < a.products; product++, set = set_behind(a, set)) {
        if (product > 0 && !(a.blind & BLIND_BARRIER))
            grid_barrier(barrier);
        else
            __syncthreads(); // x is not to change while warps of the block still use it
        if (blockIdx.x == 0 && threadIdx.x == 0)
            a.stamps[product] = clock_ns();
        if (is_late(a) && rows_of_warp().first < a.n)
            ask(w, a, set, {rows_of_warp().first, threadIdx.x % 32});
        take_x<LOADS>(a, product);
        __syncthreads();
        one_product(a, w, product, set);
    }
}

// The bodies counted are those of a piece, and of a product, which takes x behind the barrier. In
// the whole first pieces are asked for at two places, ahead and late. What other blocks wrote comes
// past the L1. Only what tells the barrier's two counters apart reads the SM's own clock.
// sass-loop: ldg128na=8 lds128=8 hmma=16 other<=145 local=0 regs<=64 moving together arch=80+
// sass-loop: ldg128.gpu>=1 membar.gpu=1 bar.block=4 guarded<=7 outer ahead arch=80+
// sass-all: ldg128na=24 ldg128.weak=0 ldg32.gpu=3 membar.gpu=1 cctl=2 reds=2 bar.block=5 looped
// sass-and: calls arch=80+
// sass-all: clocks=16 looped calls arch=80,86,89
// sass-all: clocks=4 looped calls arch=90a+
extern "C" __global__ void __launch_bounds__(32 * CHAIN_WARPS, 1)
    product_chain(const __grid_constant__ struct product_chain_args a)
{
    run_chain<CHAIN_LOADS>(a);
}

// sass-loop: ldg128na=6 lds128=6 hmma=12 other<=133 local=0 regs<=64 moving together arch=80+
// sass-loop: ldg128.gpu>=1 membar.gpu=1 bar.block=4 guarded<=7 outer ahead arch=80+
// sass-all: ldg128na=18 ldg128.weak=0 ldg32.gpu=3 membar.gpu=1 cctl=2 reds=2 bar.block=5 looped
// sass-and: calls arch=80+
// sass-all: clocks=16 looped calls arch=80,86,89
// sass-all: clocks=4 looped calls arch=90a+
extern "C" __global__ void __launch_bounds__(32 * CHAIN_WARPS, 1)
    product_chain_less(const __grid_constant__ struct product_chain_args a)
{
    run_chain<CHAIN_LOADS_LESS>(a);
}

/* --- the read ------------------------------------------------------------------------------- */

template <uint32_t LOADS>
__device__ __forceinline__ uint32_t words_of(const uint4 (&w)[LOADS], uint32_t at, uint32_t vectors)
{
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
        if (at + 32 * i < vectors)
            sum += w[i].x + w[i].y + w[i].z + w[i].w;
    return sum;
}

template <uint32_t LOADS>
__device__ __forceinline__ void run_read(const struct product_chain_args &a)
{
    const struct warp_rows rows = rows_of_warp();
    const uint32_t vectors = a.n / 8;
    struct piece p = {rows.first, threadIdx.x % 32};
    uint32_t product = 0, set = a.first, sum = 0;
#pragma unroll 1
    while (rows.first < a.n && product < a.products) {
        uint4 w[LOADS];
        ask(w, a, set, p);
        sum += words_of(w, p.at, vectors);
        if (next_piece<LOADS>(p, vectors, rows.step) && p.row >= a.n) {
            p.row = rows.first;
            set = set_behind(a, set);
            product++;
        }
    }
    sum = warp_reduce<adding>(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(a.words, sum);
}

// The same weights by the same warps in the same order, and no wait for anyone.
// sass-loop: ldg128na=8 other<=105 local=0 regs<=64 moving together arch=80+
// sass-all: ldg128na=8 reds=1 bar=0 membar=0 cctl=0 looped arch=80+
extern "C" __global__ void __launch_bounds__(32 * CHAIN_WARPS, 1)
    product_chain_read(const __grid_constant__ struct product_chain_args a)
{
    run_read<CHAIN_LOADS>(a);
}

// sass-loop: ldg128na=6 other<=87 local=0 regs<=64 moving together arch=80+
// sass-all: ldg128na=6 reds=1 bar=0 membar=0 cctl=0 looped arch=80+
extern "C" __global__ void __launch_bounds__(32 * CHAIN_WARPS, 1)
    product_chain_read_less(const __grid_constant__ struct product_chain_args a)
{
    run_read<CHAIN_LOADS_LESS>(a);
}

#endif
