// The main loop of a tile of C = A x B on the tensor cores through mma.sync: 16-bit operands, fp32
// sums, which stay in registers. The kernel decides what happens to them: see
// matmul/common/mma_gemm.cu and fused/epilogue/mma.cu.
//
//     float sum[s::mmas_m * s::mmas_n][4] = {};
//     struct refill r = refill_setup<s>(args);
//     refill_start<s>(r);
//     accumulate<s, bf16>(sum, r, a_addr, b_addr);
//     if constexpr (s::warps_k > 1)
//         mine = sum_over_k<s, 1, 0>(sum, warp, warp_k);
//
// s is an mma_shape. B is k x n ("nn"), or stored transposed as n x k ("nt"), which is how a linear
// layer keeps its weights. An activation can be applied to A on its way into the mma.
//
// Pipeline
//   A k-step is k_step columns of A and k_step rows of B. Dynamic shared memory is a ring of
//   `stages` slots of one k-step each: A (tile_m x k_step), then B (k_step x tile_n). cp.async
//   fills the slots 16 bytes at a time, past the L1 cache. A warp splits its part of a k-step into
//   slices 16 elements deep, the depth of one mma. It holds the operands of two slices in
//   registers: ldmatrix loads the next slice while mma works on this one. The first slice of the
//   next k-step is loaded during the last slice of this one, so a k-step's only __syncthreads comes
//   before its last slice. That barrier means two things: the next slot has arrived, and every warp
//   has left the current one. The refill of the current slot therefore starts there and is spread
//   over all slices.
//
// Warps along k
//   Shared memory moves 128 bytes per clock. It is the first limit of a small tile. At 128x64,
//   cp.async writes 6 KiB for one slice of the block. Four warps as 2x2 of 64x32 read another
//   12 KiB of it. As 2x1 of 64x64, with each warp on half of the k-step, they read 8 KiB. So `wk`
//   warps share a warp tile, each with its own slices, and add their sums once at the end. This
//   pays for the smaller tiles; at 128x64 the sum at the end costs as much as the loop gains.
//
// Swizzle
//   Think of a tile in shared memory as lines of 128 bytes, that is all 32 banks, or 8 chunks of 16
//   bytes. Shared memory serves a 16-byte access 8 lanes at a time. It serves those in one clock if
//   they touch 8 different chunk columns. A row of the tile is 2, 4, 8 or 16 chunks. Chunk c of row
//   r is stored at place c ^ s(r) of that row:
//     8 or 16 chunks  s(r) = r % 8        a row is one line or two
//     4 chunks        s(r) = r / 2 % 4    two rows share a line, in its two halves
//     2 chunks        s(r) = r / 4 % 2    four rows share a line, in its quarters
//   ldmatrix reads chunk c of 8 consecutive rows starting at a multiple of 8. With 8 or 16 chunks s
//   takes 8 values, hence 8 columns; with 4, rows of one parity take 4 values of s and parity picks
//   the half; with 2, rows of one quarter take 2 values of s and r % 4 picks the quarter. cp.async
//   writes 8 consecutive chunks starting at a multiple of 8, which is one line, or half of a
//   two-line row; s only permutes places within it. Rows 8 apart have the same s, and
//   c ^ s ^ 2j = (c ^ 2j) ^ s: whole 8-row steps are therefore immediate offsets, and every other
//   move is one xor of the lane's address.
#ifndef GPUFLOOR_MMA_RING_CUH
#define GPUFLOOR_MMA_RING_CUH

#include <stdint.h>

#include "core/device/async.cuh"

/* Compute capability 7.5 has no cp.async, no bf16, and an mma half as deep. Define this by hand to
 * try its code path on later GPUs. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 && !defined(MMA_GEMM_7_5)
#define MMA_GEMM_7_5
#endif

extern __shared__ __align__(1024) unsigned char ring[];

/* Everything that follows from a tile. Sizes are in elements unless named bytes.
 *
 *   m, n      rows and columns of C that one block computes
 *   k_step    columns of A in one stage of the ring;   stages   of the ring
 *   wm,wn,wk  warps along m, n and k: a warp computes m/wm x n/wn over 1/wk of every k-step
 *   blocks    blocks that must fit on one SM; it caps the registers, not the shared memory
 *   rotate    each block starts its walk along k at another step, so that blocks that share a panel
 *             of A or B do not all ask the L2 for the same lines at the same time
 *   nt        B is stored as n x k */
template <int m, int n, int k_step_, int stages_, int wm, int wn, int wk, int blocks_, int rotate_,
          int nt_ = 0>
struct mma_shape {
    static constexpr int tile_m = m, tile_n = n, k_step = k_step_, stages = stages_;
    static constexpr int warps_m = wm, warps_n = wn, warps_k = wk;
    static constexpr int warps = wm * wn * wk;
    static constexpr int threads = 32 * wm * wn * wk, blocks = blocks_;
    static constexpr bool rotate = rotate_, nt = nt_;
    static constexpr int warp_m = m / wm, warp_n = n / wn;
    static constexpr int slices = k_step / 16 / wk;                 /* per warp and k-step */
    static constexpr int mmas_m = warp_m / 16, mmas_n = warp_n / 8; /* per slice */
    /* 16-byte chunks in a row of A or B as they are stored, and such rows of B. */
    static constexpr int a_chunks = k_step / 8, b_chunks = (nt ? k_step : n) / 8;
    static constexpr int b_stored_rows = nt ? n : k_step;
    static constexpr int a_bytes = 2 * m * k_step, slot_bytes = 2 * (m + n) * k_step;
    static constexpr int ring_bytes = slot_bytes * stages;
    /* A pass is one cp.async by every thread; it covers whole rows of A or of B. */
    static constexpr int a_rows = threads / a_chunks, b_rows = threads / b_chunks;
    static constexpr int a_passes = m / a_rows, b_passes = b_stored_rows / b_rows;
    static constexpr int passes = a_passes + b_passes;
    static constexpr int hmma_per_step = slices * mmas_m * mmas_n; /* of a warp */

    static_assert(m % (16 * wm * wk) == 0, "whole rows of mma remain after all sums");
    static_assert(n % (16 * wn) == 0, "one ldmatrix.x4 of B covers 16 columns");
    static_assert(slices >= 2 && (slices & (slices - 1)) == 0, "two register buffers, xor steps");
    static_assert((warp_n & (warp_n - 1)) == 0, "the columns of a warp are reached by xor");
    static_assert((wk & (wk - 1)) == 0, "the sum over wk halves the warp tile each round");
    static_assert(a_rows % 8 == 0 && b_rows % 8 == 0, "passes keep the swizzle of their lane");
    static_assert(m % a_rows == 0 && b_stored_rows % b_rows == 0, "passes fill the slot exactly");
    static_assert(stages >= 2, "the refill of one slot overlaps the use of another");
    static_assert(4 * m * n * (wk - 1) <= ring_bytes, "the sum over wk reuses the ring");
    static_assert(2 * m * n <= ring_bytes, "the tile of C leaves through the ring");
};

/* Copies 16 bytes into the ring if `live`: asynchronously or, on 7.5, through registers. */
static __device__ __forceinline__ void ring_fetch(uint32_t dst, const void *src, bool live)
{
#ifdef MMA_GEMM_7_5
    if (live) {
        const uint4 v = __ldcg((const uint4 *)src);
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(dst), "r"(v.x), "r"(v.y),
                     "r"(v.z), "r"(v.w)
                     : "memory");
    }
#else
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %2, 0;\n"
                 "@p cp.async.cg.shared.global [%0], [%1], 16;\n"
                 "}" ::"r"(dst),
                 "l"(src), "r"((uint32_t)live)
                 : "memory");
#endif
}

static __device__ __forceinline__ void ring_commit(void)
{
#ifndef MMA_GEMM_7_5
    cp_async_commit();
#endif
}

/* Waits until at most `pending` of this thread's groups are still in flight. */
template <int pending> static __device__ __forceinline__ void ring_wait(void)
{
#ifndef MMA_GEMM_7_5
    cp_async_wait<pending>();
#endif
}

static __device__ __forceinline__ void ldmatrix_x4(uint32_t (&d)[4], uint32_t addr)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(addr)
                 : "memory");
}

static __device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&d)[4], uint32_t addr)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(addr)
                 : "memory");
}

/* d (16x8, fp32) += a (16x16) x b (16x8). */
template <bool bf16>
static __device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                           uint32_t b1)
{
#ifdef MMA_GEMM_7_5
    static_assert(!bf16, "compute capability 7.5 has no bf16");
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
#else
    if constexpr (bf16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/* Two neighbours of a row, rounded to nearest, the left one in the low half. */
template <bool bf16> static __device__ __forceinline__ uint32_t pack(float left, float right)
{
    uint32_t word;

#ifdef MMA_GEMM_7_5
    asm("{ .reg .b16 x, y; cvt.rn.f16.f32 x, %1; cvt.rn.f16.f32 y, %2; mov.b32 %0, {y, x}; }"
        : "=r"(word)
        : "f"(right), "f"(left));
#else
    if constexpr (bf16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(right), "f"(left));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(right), "f"(left));
#endif
    return word;
}

/* Byte offset of a chunk in a tile whose rows are `chunks` long; see Swizzle on top. */
template <int chunks>
static __device__ __forceinline__ uint32_t swizzled(uint32_t row, uint32_t chunk)
{
    constexpr uint32_t rows_per_line = chunks < 8 ? 8 / chunks : 1;
    constexpr uint32_t columns = chunks < 8 ? chunks : 8;

    return (row * chunks + (chunk ^ (row / rows_per_line % columns))) * 16;
}

/* What one thread needs to refill the ring: where its chunks come from and where they go. */
struct refill {
    const unsigned char *a, *b; /* this thread's first chunk of the current k-step */
    size_t a_pass, b_pass;      /* bytes in global memory from one pass to the next */
    size_t a_step, b_step;      /* bytes from one k-step to the next */
    uint32_t a_dst, b_dst;      /* shared address of the first chunk, in slot 0 */
    uint32_t steps, place;      /* k-steps in all, and the current one along k */
};

/* For the tile of this block, blockIdx.y down and blockIdx.x across. The kernel's arguments have a,
 * b, k, lda, ldb: both operands, 16-byte aligned, and elements from one stored row to the next. */
template <class s, class arguments>
static __device__ __forceinline__ struct refill refill_setup(const arguments &args)
{
    const uint32_t a_row = threadIdx.x / s::a_chunks, a_chunk = threadIdx.x % s::a_chunks;
    const uint32_t b_row = threadIdx.x / s::b_chunks, b_chunk = threadIdx.x % s::b_chunks;
    const size_t lda = 2 * (size_t)args.lda, ldb = 2 * (size_t)args.ldb; /* bytes */
    struct refill r;

    r.steps = args.k / s::k_step;
    r.a_pass = s::a_rows * lda;
    r.b_pass = s::b_rows * ldb;
    r.a_step = 2 * s::k_step;
    r.b_step = s::nt ? 2 * s::k_step : s::k_step * ldb;
    r.a = (const unsigned char *)args.a + (blockIdx.y * s::tile_m + a_row) * lda + a_chunk * 16;
    if constexpr (s::nt)
        r.b = (const unsigned char *)args.b + (blockIdx.x * s::tile_n + b_row) * ldb + b_chunk * 16;
    else
        r.b = (const unsigned char *)args.b + b_row * ldb +
              (blockIdx.x * s::tile_n + b_chunk * 8) * (size_t)2;
    r.a_dst = shared_address(ring) + swizzled<s::a_chunks>(a_row, a_chunk);
    r.b_dst = shared_address(ring) + s::a_bytes + swizzled<s::b_chunks>(b_row, b_chunk);
    r.place = 0;
    if constexpr (s::rotate) {
        /* A golden-ratio walk spreads the starts of neighbours evenly without a division. */
        r.place = __umulhi((blockIdx.x + blockIdx.y) * 0x9e3779b9u, r.steps);
        r.a += r.place * r.a_step;
        r.b += r.place * r.b_step;
    }
    return r;
}

/* Moves on to the next k-step, which for a rotated walk may be the first one of the block. */
template <class s> static __device__ __forceinline__ void refill_advance(struct refill &r)
{
    r.a += r.a_step;
    r.b += r.b_step;
    if constexpr (s::rotate) {
        if (++r.place == r.steps) {
            r.place = 0;
            r.a -= r.steps * r.a_step;
            r.b -= r.steps * r.b_step;
        }
    }
}

/* Starts passes first to last-1 of a slot's refill, counting those of A before those of B. */
template <class s>
static __device__ __forceinline__ void refill_passes(const struct refill &r, uint32_t slot,
                                                     int first, int last, bool live)
{
#pragma unroll
    for (int i = first; i < last; i++) {
        if (i < s::a_passes) {
            ring_fetch(r.a_dst + slot + i * s::a_rows * s::a_chunks * 16, r.a + i * r.a_pass,
                       live);
        } else {
            const int j = i - s::a_passes;

            ring_fetch(r.b_dst + slot + j * s::b_rows * s::b_chunks * 16, r.b + j * r.b_pass,
                       live);
        }
    }
}

/* The operands of one slice of a warp: each a[i] is 16x16 of A, each b[i] 16x16 of B. */
template <class s> struct operands {
    uint32_t a[s::mmas_m][4];
    uint32_t b[s::mmas_n / 2][4];
};

/* a_addr and b_addr are the lane's addresses of slice 0 in the slot to read. */
template <class s>
static __device__ __forceinline__ void load_slice(struct operands<s> &o, uint32_t a_addr,
                                                  uint32_t b_addr, int slice)
{
#pragma unroll
    for (int i = 0; i < s::mmas_n / 2; i++) {
        if constexpr (s::nt)
            ldmatrix_x4(o.b[i], (b_addr ^ (slice * 32)) + i * 16 * s::b_chunks * 16);
        else
            ldmatrix_x4_trans(o.b[i], (b_addr ^ (i * 32)) + slice * 16 * s::b_chunks * 16);
    }
#pragma unroll
    for (int i = 0; i < s::mmas_m; i++)
        ldmatrix_x4(o.a[i], (a_addr ^ (slice * 32)) + i * 16 * s::a_chunks * 16);
}

/* The column of b[j / 2] that mma takes is in two registers: the upper and the lower half along
 * k. */
template <class s, bool bf16>
static __device__ __forceinline__ void multiply(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                const struct operands<s> &o)
{
#pragma unroll
    for (int i = 0; i < s::mmas_m; i++) {
#pragma unroll
        for (int j = 0; j < s::mmas_n; j++)
            mma<bf16>(sum[i * s::mmas_n + j], o.a[i], o.b[j / 2][s::nt ? j % 2 : j % 2 * 2],
                      o.b[j / 2][s::nt ? j % 2 + 2 : j % 2 * 2 + 1]);
    }
}

/* Exchanges two sets of registers if `really`, by selection: a branch would need local memory. */
static __device__ __forceinline__ void trade_places(float (&x)[4], float (&y)[4], bool really)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float was_x = x[i], was_y = y[i];

        x[i] = really ? was_y : was_x;
        y[i] = really ? was_x : was_y;
    }
}

/*
 * Adds up the wk partial sums of a warp tile. In round d a warp gives one half of what it holds to
 * the warp that differs from it in bit d of warp_k, and takes that warp's part of the other half,
 * so all warps work to the end and then hold 1/wk of the rows each. Halves pass as they lie in
 * registers, 16 bytes per lane, which is free of bank conflicts. Each round has an area of its own,
 * from ring offset `area`. Returns the offset of memory that only this warp still touches.
 */
template <class s, int d, int area>
static __device__ __forceinline__ uint32_t sum_over_k(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                      uint32_t warp, uint32_t warp_k)
{
    constexpr uint32_t stride = d * s::warps_m * s::warps_n;
    constexpr int kept = s::mmas_m * s::mmas_n / (2 * d), half_bytes = kept * 512;
    const uint32_t lane = threadIdx.x % 32;
    const bool upper = warp_k & d;
    const uint32_t theirs = area + (upper ? warp - stride : warp + stride) * half_bytes;
    float4 *give = (float4 *)(ring + area + warp * half_bytes) + lane;
    const float4 *take = (const float4 *)(ring + theirs) + lane;

#pragma unroll
    for (int i = 0; i < kept; i++) {
        float(&rest)[4] = sum[i + kept];

        trade_places(sum[i], rest, upper);
        give[i * 32] = make_float4(rest[0], rest[1], rest[2], rest[3]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kept; i++) {
        const float4 other = take[i * 32];

        sum[i][0] += other.x;
        sum[i][1] += other.y;
        sum[i][2] += other.z;
        sum[i][3] += other.w;
    }
    if constexpr (2 * d < s::warps_k)
        return sum_over_k<s, 2 * d, area + s::warps * half_bytes>(sum, warp, warp_k);
    return theirs;
}

/* What happens to A between shared memory and the mma. */
struct as_it_is {
    template <int n> static __device__ __forceinline__ void of(uint32_t (&)[n][4]) {}
};

/* The main loop: leaves in `sum` the warp's part of the tile, over the warp's slices of k. */
template <class s, bool bf16, class prologue = as_it_is>
static __device__ __forceinline__ void accumulate(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                  struct refill &r, uint32_t a_addr,
                                                  uint32_t b_addr)
{
    struct operands<s> o[2];
    uint32_t slot = 0, freed = 0; /* bytes from the start of the ring */
    /* k-steps that the main loop fetches; the refill that step i starts is the i-th of them. */
    const uint32_t refills = r.steps > s::stages ? r.steps - s::stages : 0;

    ring_wait<s::stages - 2>();
    __syncthreads();
    load_slice<s>(o[0], a_addr, b_addr, 0);
#pragma unroll 1
    for (uint32_t step = 0; step < r.steps; step++) {
#pragma unroll
        for (int i = 0; i < s::slices; i++) {
            const int part = (i + 1) % s::slices; /* the slice to load, the part to refill */
            /* Later parts continue the refill of the step before, which step 0 does not have. */
            const bool live = (part == 0 ? step : step - 1) < refills;

            if (part == 0) {
                /* Once nothing is left to fetch, the groups are empty but keep the count right. */
                ring_commit();
                ring_wait<s::stages - 2>();
                __syncthreads();
                freed = slot;
                slot = slot + s::slot_bytes == s::ring_bytes ? 0 : slot + s::slot_bytes;
                refill_advance<s>(r);
            }
            /* After the last k-step this reads a stale slot into registers that nobody uses. */
            load_slice<s>(o[part % 2], a_addr + slot, b_addr + slot, part);
            refill_passes<s>(r, freed, s::passes * part / s::slices,
                             s::passes * (part + 1) / s::slices, live);
            prologue::of(o[i % 2].a);
            multiply<s, bf16>(sum, o[i % 2]);
        }
    }
}

/* Fills the ring. The last slot's group stays open: the first k-step of the main loop closes it. */
template <class s> static __device__ __forceinline__ void refill_start(struct refill &r)
{
    /* Not unrolled: a block runs this once, and cold instructions cost more than the loop. */
#pragma unroll 1
    for (uint32_t i = 0; i < s::stages; i++) {
        if (i > 0) {
            ring_commit();
            refill_advance<s>(r);
        }
        refill_passes<s>(r, i * s::slot_bytes, 0, s::passes, i < r.steps);
    }
}

#endif
