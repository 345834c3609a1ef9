// Attention over a prompt in one kernel, by wgmma: compute capability 9.0, depth 128. The plan is
// that of FlashAttention-3 (Shah et al. 2024), without its ping-pong of warpgroups, which was
// slower here.
//
// A block has 128 queries of one head: two warpgroups compute, with 64 each, and one thread of a
// third fetches, by bulk copies, tiles of 128 keys and of their values into two slots each. Q stays
// in shared memory; scores, probabilities of two tiles and O in registers. While a warpgroup takes
// the exponentials of one tile, its tensor core multiplies the one before with its values: both
// products of a turn are started first, and the scores, which were started before the values, are
// done first. Hardly anything then stands between the end of one turn's products and the next's:
// probabilities are rounded while the values are multiplied, and O is scaled only if a maximum has
// grown by much.
//
//     start   S = Q K(n)^T;   start   O += P(n-1) V(n-1)
//     wait for S;   softmax of S;   P(n) = S rounded to 16 bits;   wait for O;   perhaps scale O
//
// Each slot has two barriers: one opens when all its bytes have come, one when all eight warps have
// left it. Waits have no budget: what they wait for comes from this block, whatever the GPU does.
//
// Shared memory. Copies lay rows of 64 elements (128 bytes) with the 128-byte swizzle, which wgmma
// undoes: a tile is two such boxes of 128 rows, the left and the right half of the dimensions.
#ifndef FUSED_ATTENTION_PREFILL_WGMMA_CUH
#define FUSED_ATTENTION_PREFILL_WGMMA_CUH

#include "fused/attention_prefill/prefill.cuh"

#if defined __CUDA_ARCH_FEAT_SM90_ALL

#define PREFILL_4(d, j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define PREFILL_16(d, j)                                                                           \
    PREFILL_4(d, j), PREFILL_4(d, j + 1), PREFILL_4(d, j + 2), PREFILL_4(d, j + 3)
#define PREFILL_64(d) PREFILL_16(d, 0), PREFILL_16(d, 4), PREFILL_16(d, 8), PREFILL_16(d, 12)
#define PREFILL_NAMES                                                                              \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "  \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "   \
    "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "   \
    "%56, %57, %58, %59, %60, %61, %62, %63}"

// d (64 x 128, fp32) = a (64 x 16) x b (16 x 128), plus d if `add`. a and b in shared memory, both
// with their 16 contiguous; or a in registers, and b with its 128 contiguous.
#define PREFILL_WGMMA(type, word)                                                                  \
    __device__ __forceinline__ void prefill_wgmma(type, float(&d)[16][4], uint64_t a, uint64_t b,  \
                                                  uint32_t add)                                    \
    {                                                                                              \
        asm volatile("{\n"                                                                         \
                     ".reg .pred p;\n"                                                             \
                     "setp.ne.u32 p, %66, 0;\n"                                                    \
                     "wgmma.mma_async.sync.aligned.m64n128k16.f32." word "." word                  \
                     " " PREFILL_NAMES ", %64, %65, p, 1, 1, 0, 0;\n"                              \
                     "}"                                                                           \
                     : PREFILL_64(d)                                                               \
                     : "l"(a), "l"(b), "r"(add)                                                    \
                     : "memory");                                                                  \
    }                                                                                              \
    __device__ __forceinline__ void prefill_wgmma(type, float(&d)[16][4], const uint32_t(&a)[4],   \
                                                  uint64_t b)                                      \
    {                                                                                              \
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." word "." word                  \
                     " " PREFILL_NAMES ", {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"                  \
                     : PREFILL_64(d)                                                               \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                          \
                     : "memory");                                                                  \
    }
PREFILL_WGMMA(bf16, "bf16")
PREFILL_WGMMA(fp16, "f16")

__device__ __forceinline__ void prefill_wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void prefill_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most `pending` groups are under way. What follows uses d, and not before.
template <int pending> __device__ __forceinline__ void prefill_wgmma_wait(float (&d)[16][4])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#pragma unroll
    for (int i = 0; i < 16; i++)
        asm volatile("" : PREFILL_4(d, i)::"memory");
}

// Keeps what x is computed from in front of the wait that follows. Otherwise the assembler, which
// knows of no time that a product takes, waits first, and exponentials then run beside no product.
// x is never minus zero.
__device__ __forceinline__ void stay_here(float x)
{
    asm volatile("{\n"
                 ".reg .pred never;\n"
                 "setp.eq.u32 never, %0, 0x80000000;\n"
                 "@never trap;\n"
                 "}" ::"r"(__float_as_uint(x))
                 : "memory");
}

// An operand with 128-byte rows: groups of 8 rows are 1 KiB apart, the two boxes 16 KiB.
__device__ __forceinline__ uint64_t prefill_operand(uint32_t address)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(16384 >> 4) << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

template <typename TYPE> struct attention_prefill_wgmma {
    static constexpr int keys = ATTENTION_PREFILL_WGMMA_KEYS, rows = ATTENTION_PREFILL_ROWS;
    static constexpr int box = 16384, tile = 2 * box; // bytes
    static constexpr int q_at = 0, k_at = tile, v_at = 3 * tile, barriers_at = 5 * tile;
    enum { Q_CAME, K_CAME, V_CAME = 3, K_LEFT = 5, V_LEFT = 7, BARRIERS = 9 };

    float o[16][4], s[16][4]; // blocks of 8 dimensions, of 8 keys
    uint32_t p[2][8][4];      // probabilities of 16 keys each, of even and odd tiles
    sixteen_rows of;

    static __device__ __forceinline__ uint32_t at(uint32_t byte)
    {
        return shared_address(prefill_shared) + byte;
    }
    static __device__ __forceinline__ uint32_t barrier(uint32_t which)
    {
        return at(barriers_at) + 8 * which;
    }
    // Tile n comes into slot n % 2, the (n / 2)-th time; phases alternate in parity.
    static __device__ __forceinline__ void wait(uint32_t which, uint32_t n)
    {
        mbarrier_wait(barrier(which + n % 2), n / 2 % 2);
    }
    static __device__ __forceinline__ void leave(uint32_t which, uint32_t n)
    {
        if (threadIdx.x % 32 == 0)
            mbarrier_arrive(barrier(which + n % 2));
    }

    // 128 rows from `row` of a head on.
    static __device__ __forceinline__ void fetch(uint32_t to, const void *map, uint32_t head,
                                                 uint32_t row, uint32_t came)
    {
        mbarrier_expect(came, tile);
#pragma unroll
        for (int i = 0; i < 2; i++)
            asm volatile(
                "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(at(to + i * box)),
                "l"(map), "r"(64 * i), "r"(row), "r"(head), "r"(came)
                : "memory");
    }

    static __device__ __forceinline__ void fetch_all(const attention_prefill_wgmma_args &args,
                                                     const prefill_block &b)
    {
        const uint32_t kv_head = b.head / args.of.share;

        fetch(q_at, args.maps[0], b.head, b.first, barrier(Q_CAME));
#pragma unroll 1
        for (uint32_t n = 0; n < b.tiles; n++) {
            wait(K_LEFT, n + 2); // the phase before: open in the first round
            fetch(k_at + n % 2 * tile, args.maps[1], kv_head, n * keys, barrier(K_CAME + n % 2));
            wait(V_LEFT, n + 2);
            fetch(v_at + n % 2 * tile, args.maps[2], kv_head, n * keys, barrier(V_CAME + n % 2));
        }
    }

    __device__ __forceinline__ void start_scores(uint32_t n)
    {
        const uint64_t x = prefill_operand(at(q_at + threadIdx.x / 128 * (box / 2)));
        const uint64_t y = prefill_operand(at(k_at + n % 2 * tile));

        wait(K_CAME, n);
        prefill_wgmma_begin();
#pragma unroll
        for (int i = 0; i < 8; i++) { // slices of 16 dimensions, 32 bytes; four a box
            const uint32_t slice = (i / 4 * box + i % 4 * 32) >> 4;
            prefill_wgmma(TYPE(), s, x + slice, y + slice, i > 0);
        }
        prefill_wgmma_commit();
    }

    template <int ODD> __device__ __forceinline__ void start_values(uint32_t n)
    {
        const uint64_t y = prefill_operand(at(v_at + ODD * tile));

        wait(V_CAME, n);
        prefill_wgmma_begin();
#pragma unroll
        for (int i = 0; i < 8; i++) // slices of 16 keys, 2 KiB
            prefill_wgmma(TYPE(), o, p[ODD][i], y + (i * 2048 >> 4));
        prefill_wgmma_commit();
    }

    // The probabilities are read until here.
    template <int ODD> __device__ __forceinline__ void values_done(uint32_t n)
    {
#pragma unroll
        for (int i = 0; i < 8; i++)
            asm volatile("" : "+r"(p[ODD][i][0]), "+r"(p[ODD][i][1]), "+r"(p[ODD][i][2]),
                         "+r"(p[ODD][i][3])::"memory");
        leave(V_LEFT, n);
    }

    // Scores of a tile become probabilities. True if O has to be scaled.
    template <int ODD>
    __device__ __forceinline__ bool softmax(const attention_prefill_args &a, uint32_t row,
                                            uint32_t n)
    {
        if ((int32_t)(n * keys + keys) > min((int32_t)a.keys, (int32_t)row + a.causal_end))
            sixteen_rows::hide(s, a, row, n * keys);
        const bool is_greater = of.raise_rarely(s, a.scale_log2);
#pragma unroll
        for (int j = 0; j < 16; j++) {
            of.exponentials(s[j], a.scale_log2);
            p[ODD][j / 2][j % 2 * 2] = TYPE::narrow(make_float2(s[j][0], s[j][1]));
            p[ODD][j / 2][j % 2 * 2 + 1] = TYPE::narrow(make_float2(s[j][2], s[j][3]));
        }
        return is_greater;
    }

    // Tile n, behind another one.
    template <int ODD>
    __device__ __forceinline__ void turn(const attention_prefill_args &a, uint32_t row, uint32_t n)
    {
        start_scores(n);
        start_values<1 - ODD>(n - 1);
        prefill_wgmma_wait<1>(s);
        leave(K_LEFT, n);
        const bool is_greater = softmax<ODD>(a, row, n);
        stay_here(of.sum[0] + of.sum[1]);
        prefill_wgmma_wait<0>(o);
        values_done<1 - ODD>(n - 1);
        if (is_greater)
            of.rescale(o);
    }

    __device__ __forceinline__ void all_turns(const attention_prefill_args &a, uint32_t row,
                                              uint32_t tiles)
    {
        uint32_t n = 1;

        start_scores(0);
        prefill_wgmma_wait<0>(s);
        leave(K_LEFT, 0);
        softmax<0>(a, row, 0);
#pragma unroll 1
        for (; n + 1 < tiles; n += 2) {
            turn<1>(a, row, n);
            turn<0>(a, row, n + 1);
        }
        if (n < tiles) {
            turn<1>(a, row, n);
            start_values<1>(n);
        } else {
            start_values<0>(n - 1);
        }
        prefill_wgmma_wait<0>(o);
    }

    __device__ __forceinline__ void compute(const attention_prefill_args &a, const prefill_block &b)
    {
        const uint32_t row = b.first + threadIdx.x / 32 * 16; // this warp's first query

        of.begin();
#pragma unroll
        for (int j = 0; j < 16; j++)
            o[j][0] = o[j][1] = o[j][2] = o[j][3] = 0;
        mbarrier_wait(barrier(Q_CAME), 0);
        if (b.tiles > 0)
            all_turns(a, row, b.tiles);
        asm volatile("bar.sync 1, 256;" ::: "memory"); // nobody reads Q any more
        prefill_store<TYPE>(o, of, prefill_shared + threadIdx.x / 32 * 4096, a, b.head, row);
    }

    static __device__ __forceinline__ void run(const attention_prefill_wgmma_args &args)
    {
        const prefill_block b = prefill_block_of<keys>(args.of);

        if (threadIdx.x == 256) {
            for (int i = 0; i < BARRIERS; i++)
                mbarrier_make(barrier(i), i < K_LEFT ? 1 : 8);
            mbarrier_made();
        }
        __syncthreads();
        // The 64 Ki registers of the SM: 24 x 128 for who fetches, 240 x 256 for who computes.
        if (threadIdx.x >= 256) {
            asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
            if (threadIdx.x == 256)
                fetch_all(args, b);
        } else {
            asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
            attention_prefill_wgmma t;
            t.compute(args.of, b);
        }
    }
};

#endif
#endif
