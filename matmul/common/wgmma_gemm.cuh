/*
 * The wgmma matrix product as device code, for the kernels of wgmma_gemm.cu and for kernels that
 * put several products into one launch. Compute capability 9.0 only. wgmma_gemm.h has the table of
 * tiles and the arguments, wgmma_store.cuh the code that writes C, wgmma_gemm.cu what limits the
 * product.
 *
 * Division of work
 *   One warp fetches; the others, in warpgroups of four, compute. A k-step is 64 columns of A and
 *   64 rows of B. Dynamic shared memory is a ring of `stages` slots of one k-step each. A slot has
 *   two barriers: one opens when all bytes of the slot have arrived, the other when all warps that
 *   read it have left. There is no __syncthreads after the start, and the first copies are in
 *   flight before that one. Waits have no budget: they depend on this block or its cluster alone,
 *   whatever else the GPU does.
 *
 * C is computed transposed
 *   wgmma multiplies 64 rows by n columns. Here its rows are 64 columns of C, and its columns are
 *   all rows of the tile: C^T = B^T x A^T. For a tile of 128x64 that is one m64n128 per slice of k,
 *   which reads 6 KiB of shared memory where two m64n64 would read 8. It also lets a tile have any
 *   multiple of 16 rows (48, 96): A, whose k is contiguous, may have any number of rows in a slot,
 *   while B, whose n is contiguous, comes in blocks of 64 columns. stmatrix transposes the result
 *   back.
 *
 * Shared memory
 *   Copies store rows of 128 bytes with the 128-byte swizzle: chunk c of row r is at place c ^ (r %
 *   8). wgmma undoes it. An operand with contiguous k has 64 elements of k in a row, and its rows
 *   follow one another. An operand whose k runs across has 64 columns in a row and 64 k in a block
 *   of 8 KiB, and its blocks follow one another. Either way 64 rows or columns take 8 KiB.
 */
#ifndef MATMUL_COMMON_WGMMA_GEMM_CUH
#define MATMUL_COMMON_WGMMA_GEMM_CUH

#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#include "matmul/common/wgmma_gemm.h"

#if defined __CUDA_ARCH_FEAT_SM90_ALL

extern __shared__ __align__(1024) unsigned char ring[];

enum layout { NN, NT, TN };
enum mode { FULL, LOADS, PRODUCTS }; /* LOADS: no products. PRODUCTS: no copies */
enum type { FP16, BF16, FP16_SUMS }; /* FP16_SUMS also adds in fp16 */

/* --- the table's row, and what follows from it ----------------------------------------------- */

/* Sizes are in elements unless named bytes. */
template <int m, int n, int stages_, int wgs_, int cm, int cn, int multicast_, int split_,
          int persistent_, int spare_>
struct shape {
    static constexpr int tile_m = m, tile_n = n, stages = stages_, wgs = wgs_;
    static constexpr int cluster_m = cm, cluster_n = cn, split = split_;
    static constexpr bool multicast = multicast_, persistent = persistent_, spare = spare_;
    static constexpr int cluster = cm * cn * split;
    static constexpr int threads = WGMMA_GEMM_THREADS(wgs, spare), computing = 128 * wgs;
    static constexpr int blocks = n / 64 / wgs; /* of 64 columns, per warpgroup */
    static constexpr int rows = m / split;      /* that this block of a split tile writes */
    static constexpr int out = WGMMA_GEMM_OUT(m, n, split, persistent);
    static constexpr bool small = WGMMA_GEMM_SMALL(m, n, split, persistent);
    static constexpr int a_bytes = 128 * m, slot_bytes = 128 * (m + n);
    static constexpr int out_at = WGMMA_GEMM_RING(m, n, stages);
    static constexpr int sums_at = out_at + WGMMA_GEMM_OUT_BYTES(m, n, wgs, split, persistent);
    static constexpr int barriers_at = sums_at + WGMMA_GEMM_SUMS(m, n, split);
    static constexpr int a_parts = multicast ? cn : 1, b_parts = multicast ? cm : 1;
    static constexpr int readers = a_parts + b_parts - 1; /* blocks that read one block's fetches */
    /* Slots filled before it is known that the other blocks of a cluster have their barriers. */
    static constexpr int ahead = multicast ? 4 : stages;

    static_assert(m % 16 == 0 && m <= 256 && n % (64 * wgs) == 0, "wgmma's shapes");
    static_assert(m % (8 * a_parts) == 0 && n % (8 * b_parts) == 0, "parts of whole swizzles");
    static_assert(split == 1 || (cm * cn == 1 && !multicast), "one use of a cluster");
    static_assert(cm <= 2 && cn <= 2, "post::same_rows");
    static_assert(rows % out == 0 && out % 16 == 0, "whole stores");
    static_assert(!(persistent && split > 1), "the sums of a split tile come once");
    static_assert(barriers_at + 16 * stages + 16 <= 232448, "shared memory of a block");
};

#define WGMMA_SHAPE(name, ...) using row_##name = shape<__VA_ARGS__>;
WGMMA_GEMM_TILES(WGMMA_SHAPE)

static __device__ __forceinline__ uint32_t at(uint32_t byte)
{
    return shared_address(ring) + byte;
}
template <class s> static __device__ __forceinline__ uint32_t full(uint32_t slot)
{
    return at(s::barriers_at) + 16 * slot;
}
template <class s> static __device__ __forceinline__ uint32_t left(uint32_t slot)
{
    return at(s::barriers_at) + 16 * slot + 8;
}
template <class s> static __device__ __forceinline__ uint32_t sums_came(void)
{
    return at(s::barriers_at) + 16 * s::stages;
}

/* A walk around the ring. The parity of a round is 0, 1, 0, ... */
template <class s> struct walk {
    uint32_t slot, parity;
    __device__ __forceinline__ void step()
    {
        slot++;
        if (slot == s::stages) {
            slot = 0;
            parity ^= 1;
        }
    }
};

/* This block's place in its cluster, its tile, and its part of k. */
template <class s> struct post {
    uint32_t rank_m, rank_n, part; /* place along the cluster's cm, cn, split */
    uint32_t first, stride, tiles; /* persistent: in tiles of a cluster */
    int row, column;               /* of C */
    int k_first, steps;

    __device__ __forceinline__ explicit post(const struct wgmma_gemm_args &args)
    {
        const uint32_t rank = s::cluster > 1 ? blockIdx.x % s::cluster : 0;
        const int all = (args.k + 63) / 64;

        rank_m = rank % s::cluster_m;
        rank_n = rank / s::cluster_m % s::cluster_n;
        part = s::split > 1 ? rank : 0;
        k_first = s::split > 1 ? all * part / s::split : 0;
        steps = s::split > 1 ? all * (part + 1) / s::split - k_first : all;
        first = blockIdx.x / s::cluster;
        stride = gridDim.x / s::cluster;
        if constexpr (s::persistent) {
            tiles = high(args) * wide(args);
            if (args.tiles && args.tiles < tiles)
                tiles = args.tiles;
            go_to(args, first);
        } else {
            tiles = 1;
            set_corner(first, blockIdx.y);
        }
    }
    /* Height of C in tiles of a cluster. */
    static __device__ __forceinline__ uint32_t high(const struct wgmma_gemm_args &args)
    {
        constexpr uint32_t m = s::tile_m * s::cluster_m;
        return (args.m + m - 1) / m;
    }
    static __device__ __forceinline__ uint32_t wide(const struct wgmma_gemm_args &args)
    {
        constexpr uint32_t n = s::tile_n * s::cluster_n;
        return (args.n + n - 1) / n;
    }
    __device__ __forceinline__ void set_corner(uint32_t x, uint32_t y)
    {
        row = (y * s::cluster_m + rank_m) * s::tile_m;
        column = (x * s::cluster_n + rank_n) * s::tile_n;
    }
    /* The blocks of the cluster with the same rows or the same columns, as bits. */
    __device__ __forceinline__ uint32_t same_rows() const
    {
        return (s::cluster_n == 2 ? 1 | 1 << s::cluster_m : 1) << rank_m;
    }
    __device__ __forceinline__ uint32_t same_columns() const
    {
        return ((1 << s::cluster_m) - 1) << (rank_n * s::cluster_m);
    }
    /* The i-th of the blocks whose fetches this one reads: those of its rows, then the others of
     * its columns. */
    __device__ __forceinline__ uint32_t reader(uint32_t i) const
    {
        if (i < s::a_parts)
            return rank_m + s::cluster_m * i;
        return rank_n * s::cluster_m + (rank_m + 1 + i - s::a_parts) % s::cluster_m;
    }
    /* Persistent: tiles are walked in bands of args.group along m, and each band along n. What is
     * computed at one time then needs few panels of A and B, which the L2 keeps. */
    __device__ __forceinline__ void go_to(const struct wgmma_gemm_args &args, uint32_t tile)
    {
        const uint32_t per_band = args.group * wide(args);
        const uint32_t band = tile / per_band, in = tile % per_band;
        const uint32_t left = high(args) - band * args.group;
        const uint32_t rows = left < args.group ? left : args.group;
        set_corner(in / rows, band * args.group + in % rows);
    }
};

/* --- fetching -------------------------------------------------------------------------------- */

/* Copies a box of a tensor map, from element (row, column), into shared memory. */
static __device__ __forceinline__ void copy_box(uint32_t to, const void *map, int row, int column,
                                                uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

/* The same into all blocks of the cluster whose bit is set, at the same place in each; each copy
 * reports to its block's own barrier. */
static __device__ __forceinline__ void copy_box_to(uint32_t to, const void *map, int row,
                                                   int column, uint32_t barrier, uint32_t blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier), "h"((uint16_t)blocks)
                 : "memory");
}

/*
 * Fetches one operand's k-step: `extent` of its rows or columns from `first` on, and 64 of k.
 * across: k runs across its rows. Where `parts` blocks share it, every box is cut into as many
 * parts. shared: this block fetches its own part for all of them; else it fetches all parts for
 * itself.
 */
template <int extent, bool across, int parts, bool shared>
static __device__ __forceinline__ void fetch_operand(uint32_t to, const void *map, int first, int k,
                                                     uint32_t barrier, uint32_t part,
                                                     uint32_t blocks)
{
    constexpr int high = (across ? 64 : extent) / parts; /* rows of a box */

#pragma unroll
    for (int i = 0; i < (across ? extent / 64 : 1); i++) {
#pragma unroll
        for (int j = 0; j < (shared ? 1 : parts); j++) {
            const uint32_t row = (shared ? part : j) * high, box = to + 8192 * i + 128 * row;
            const int y = across ? k + row : first + row, x = across ? first + 64 * i : k;

            if constexpr (shared && parts > 1)
                copy_box_to(box, map, y, x, barrier, blocks);
            else
                copy_box(box, map, y, x, barrier);
        }
    }
}

template <class s, enum layout layout, bool shared>
static __device__ __forceinline__ void fetch(const struct wgmma_gemm_args &args,
                                             const struct post<s> &p, int step, uint32_t slot)
{
    const unsigned char *a_map = (const unsigned char *)args.maps;
    const unsigned char *b_map = a_map + WGMMA_GEMM_MAP_BYTES;
    const int k = 64 * (p.k_first + step);
    const uint32_t a = at(slot * s::slot_bytes), b = a + s::a_bytes;

    mbarrier_expect(full<s>(slot), s::slot_bytes);
    fetch_operand<s::tile_m, layout == TN, s::a_parts, shared>(a, a_map, p.row, k, full<s>(slot),
                                                               p.rank_n, p.same_rows());
    fetch_operand<s::tile_n, layout != NT, s::b_parts, shared>(b, b_map, p.column, k, full<s>(slot),
                                                               p.rank_m, p.same_columns());
}

/* Elects one lane of the warp in a form that tells the compiler it is one. */
static __device__ __forceinline__ bool elected(void)
{
    uint32_t yes;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "elect.sync _|p, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(yes));
    return yes;
}

/* Makes the barriers of these slots. */
template <class s> static __device__ __forceinline__ void make_barriers(int first, int end)
{
#pragma unroll
    for (int i = first; i < end; i++) {
        mbarrier_make(full<s>(i), 1);
        mbarrier_make(left<s>(i), 4 * s::wgs * s::readers);
    }
}

/* Makes the barriers and starts the first copies. Where there are many barriers, most are made
 * while the first copies are under way. */
template <class s, enum layout layout, enum mode mode>
static __device__ __forceinline__ void begin(const struct wgmma_gemm_args &args,
                                             const struct post<s> &p)
{
    constexpr int few = s::stages > 8 ? 4 : s::stages;

    make_barriers<s>(0, few);
    if (s::split > 1)
        mbarrier_make(sums_came<s>(), 1);
    mbarrier_made();
    if (s::split > 1)
        mbarrier_expect(sums_came<s>(), WGMMA_GEMM_SUMS(s::tile_m, s::tile_n, s::split));
    /* In a dependent launch, the next kernel may now start up, and this one waits for the one
     * before it. In any other launch this does nothing. */
    asm volatile("griddepcontrol.launch_dependents;\n"
                 "griddepcontrol.wait;" ::: "memory");
    if (mode != PRODUCTS) {
#pragma unroll 1
        for (int i = 0; i < few && i < s::ahead && i < p.steps; i++)
            fetch<s, layout, false>(args, p, i, i);
    }
    if (few < s::stages) {
        make_barriers<s>(few, s::stages);
        mbarrier_made();
        if (mode != PRODUCTS) {
#pragma unroll 1
            for (int i = few; i < s::ahead && i < p.steps; i++)
                fetch<s, layout, false>(args, p, i, i);
        }
    }
}

/* Fetches the remaining k-steps of all tiles, each into the next slot as soon as it is left. */
template <class s, enum layout layout>
static __device__ __forceinline__ void fetch_rest(const struct wgmma_gemm_args &args,
                                                  struct post<s> p)
{
    int step = s::ahead < p.steps ? s::ahead : p.steps;
    struct walk<s> w = {(uint32_t)step % s::stages, (uint32_t)step / s::stages};
    uint32_t tile = p.first;

    do {
        if (tile != p.first)
            p.go_to(args, tile);
#pragma unroll 1
        for (; step < p.steps; step++) {
            mbarrier_wait(left<s>(w.slot), w.parity ^ 1); /* open in the first round */
            fetch<s, layout, s::multicast>(args, p, step, w.slot);
            w.step();
        }
        step = 0;
        tile += p.stride;
    } while (s::persistent && tile < p.tiles);
}

/* --- products -------------------------------------------------------------------------------- */

/* Registers 0 to n - 1 of a sum, as text of the instruction and as operands of asm. */
#define T8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define T16 T8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define T24 T16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define T32 T24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define T48                                                                                        \
    T32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define T64                                                                                        \
    T48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define T96                                                                                        \
    T64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, "  \
        "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define T128                                                                                       \
    T64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, "  \
        "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "    \
        "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "       \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "     \
        "%126, %127"
#define O4(l, i) l(d[i]), l(d[i + 1]), l(d[i + 2]), l(d[i + 3])
#define O8(l, i) O4(l, i), O4(l, i + 4)
#define O16(l, i) O8(l, i), O8(l, i + 8)
#define O24(l, i) O16(l, i), O8(l, i + 16)
#define O32(l, i) O16(l, i), O16(l, i + 16)
#define O48(l, i) O32(l, i), O16(l, i + 32)
#define O64(l, i) O32(l, i), O32(l, i + 32)
#define O96(l, i) O64(l, i), O32(l, i + 64)
#define O128(l, i) O64(l, i), O64(l, i + 64)

/* d (64 x n) = x (64 x 16) x y (16 x n) + d, or without d if `add` is 0. x and y are descriptors;
 * x_across: k runs across the rows of x. `type` is an enum type. */
template <int n, enum type type> struct wgmma;

#define WGMMA(n, regs, type, sum, letter, words, x, y, add, xt, yt)                                \
    template <> struct wgmma<n, type> {                                                            \
        using D = sum;                                                                             \
        template <bool x_across, bool y_across>                                                    \
        static __device__ __forceinline__ void apply(sum (&d)[regs], uint64_t xd, uint64_t yd,     \
                                                     uint32_t plus)                                \
        {                                                                                          \
            asm volatile("{\n"                                                                     \
                         ".reg .pred p;\n"                                                         \
                         "setp.ne.u32 p, " add ", 0;\n"                                            \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16." words " {" T##regs "}, " x  \
                         ", " y ", p, 1, 1, " xt ", " yt ";\n"                                     \
                         "}"                                                                       \
                         : O##regs(letter, 0)                                                      \
                         : "l"(xd), "l"(yd), "r"(plus), "n"(x_across), "n"(y_across)               \
                         : "memory");                                                              \
        }                                                                                          \
    };
#define WGMMA_BOTH(n, regs, ...)                                                                   \
    WGMMA(n, regs, FP16, float, "+f", "f32.f16.f16", __VA_ARGS__)                                  \
    WGMMA(n, regs, BF16, float, "+f", "f32.bf16.bf16", __VA_ARGS__)
WGMMA_BOTH(16, 8, "%8", "%9", "%10", "%11", "%12")
WGMMA_BOTH(32, 16, "%16", "%17", "%18", "%19", "%20")
WGMMA_BOTH(48, 24, "%24", "%25", "%26", "%27", "%28")
WGMMA_BOTH(64, 32, "%32", "%33", "%34", "%35", "%36")
WGMMA_BOTH(96, 48, "%48", "%49", "%50", "%51", "%52")
WGMMA_BOTH(128, 64, "%64", "%65", "%66", "%67", "%68")
WGMMA_BOTH(192, 96, "%96", "%97", "%98", "%99", "%100")
WGMMA_BOTH(256, 128, "%128", "%129", "%130", "%131", "%132")
WGMMA(128, 32, FP16_SUMS, uint32_t, "+r", "f16.f16.f16", "%32", "%33", "%34", "%35", "%36")

static __device__ __forceinline__ void wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Waits until at most `pending` k-steps are in flight. */
template <int pending> static __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/* A thread's sums: for each block of 64 columns and every 16 rows of the tile, 8 registers of C^T
 * in fp32 or 4 in fp16. */
template <class s, enum type type> struct sums {
    using D = typename wgmma<s::tile_m, type>::D;
    static constexpr int n = s::tile_m / (type == FP16_SUMS ? 4 : 2);
    static constexpr int kept = n / s::split; /* registers that the block keeps in the end */
    D d[s::blocks][n];
};

/*
 * The wgmma descriptor of an operand that starts at this byte of the ring. k contiguous: groups of
 * 8 rows are 1 KiB apart. k across: groups of 8 k are 1 KiB apart, blocks of 64 columns 8 KiB.
 * Addresses are those in the block itself; in the cluster's window they have more bits.
 */
static __device__ __forceinline__ uint64_t descriptor(uint32_t byte)
{
    return (uint64_t)((at(byte) & 0x3ffff) >> 4) | (uint64_t)(8192 >> 4) << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/* One k-step of this warpgroup. */
template <class s, enum layout layout, enum type type>
static __device__ __forceinline__ void multiply(struct sums<s, type> &sum, uint64_t x, uint64_t y,
                                                bool add)
{
    constexpr bool x_across = layout != NT, y_across = layout == TN;
    /* distance of two slices of 16 k, in the descriptor's units of 16 bytes */
    constexpr int x_slice = (x_across ? 2048 : 32) / 16, y_slice = (y_across ? 2048 : 32) / 16;

    wgmma_begin();
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < s::blocks; j++)
            wgmma<s::tile_m, type>::template apply<x_across, y_across>(
                sum.d[j], x + i * x_slice + j * (8192 / 16), y + i * y_slice, add || i > 0);
    }
    wgmma_commit();
}

/* Tells all blocks that fill this slot that this warp has left it. */
template <class s>
static __device__ __forceinline__ void leave(const struct post<s> &p, uint32_t slot)
{
    const uint32_t lane = threadIdx.x % 32;

    if (!s::multicast) {
        if (lane == 0)
            mbarrier_arrive(left<s>(slot));
    } else if (lane < s::readers) {
        const uint32_t to = cluster_map(left<s>(slot), p.reader(lane));
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(to) : "memory");
    }
}

/* The k-steps of one tile. The products of a step run while the code waits for the next step's
 * data. A slot is left when its products are done, which is one step later. `more` k-steps follow
 * in later tiles. A persistent block passes its watch with its first tile only. */
template <class s, enum layout layout, enum type type, enum mode mode, bool watched>
static __device__ __forceinline__ void accumulate(struct sums<s, type> &sum,
                                                  const struct post<s> &p, struct walk<s> &w,
                                                  uint32_t more, struct wgmma_gemm_watch *watch)
{
    const uint32_t group = threadIdx.x / 128;
    const uint64_t x = descriptor(s::a_bytes + group * s::blocks * 8192), y = descriptor(0);
    const int refills = p.steps + (int)more - s::stages; /* steps whose slot is filled again */
    uint32_t before = 0;

#pragma unroll 1
    for (int step = 0; step < p.steps; step++) {
        if (mode != PRODUCTS)
            mbarrier_wait(full<s>(w.slot), w.parity);
        if (watched && step == 0 && threadIdx.x == 0 && (!s::persistent || watch))
            watch->first_data = clock_cycles();
        if (mode != LOADS) {
            const uint32_t slot = w.slot * (s::slot_bytes >> 4);

            multiply<s, layout, type>(sum, x + slot, y + slot, step > 0);
            wgmma_wait<1>();
        }
        if (s::multicast && step == 0)
            cluster_wait_relaxed();
        if (mode != PRODUCTS && step > 0 && step - 1 < refills)
            leave<s>(p, before);
        before = w.slot;
        w.step();
    }
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < s::blocks; i++) {
#pragma unroll
        for (int j = 0; j < sums<s, type>::n; j++) {
            if constexpr (type == FP16_SUMS)
                asm volatile("" : "+r"(sum.d[i][j])::"memory");
            else
                asm volatile("" : "+f"(sum.d[i][j])::"memory");
        }
    }
    if (mode != PRODUCTS && p.steps - 1 < refills)
        leave<s>(p, before);
}

#endif
#endif
