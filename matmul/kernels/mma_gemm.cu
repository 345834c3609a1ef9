/*
 * C = A x B on the tensor cores through mma.sync: 16-bit operands, fp32 sums, 16-bit result rounded
 * to nearest. One block computes one tile of C. The tile table is in mma_gemm.h.
 *
 * Pipeline
 *   A k-step is k_step columns of A and k_step rows of B. Dynamic shared memory is a ring of
 *   `stages` slots of one k-step each, A (tile_m x k_step) then B (k_step x tile_n), which cp.async
 *   fills 16 bytes at a time around the L1 cache. A warp splits its part of a k-step into slices 16
 *   elements deep, the depth of one mma, and holds the operands of two slices in registers:
 *   ldmatrix brings the next slice while mma works on this one. The first slice of the next k-step
 *   is brought during the last slice of this one, so a k-step's only __syncthreads stands before
 *   its last slice. That barrier says two things: the next slot has arrived, and every warp has
 *   left the current one, whose refill therefore starts there and is spread over all slices.
 *
 * Warps along k
 *   Shared memory moves 128 bytes a clock and is what a small tile runs out of first. At 128x64, a
 *   slice of the block takes 6 KiB written by cp.async; four warps as 2x2 of 64x32 read another
 *   12 KiB of it, but as 2x1 of 64x64, with each warp on half of the k-step, they read 8 KiB. So
 *   `wk` warps share a warp tile, each over its own slices, and add their sums once at the end.
 *   That pays for the smaller tiles; at 128x64 the sum at the end takes what the loop gains.
 *
 * Bulk copies
 *   At 128x64 a k-step of this loop takes 1.25 times what it takes when the tensor memory
 *   accelerator (TMA) fills the ring; cp.async from warps of their own is slower still. So from
 *   sm_90 on there is a second 128x64. One thread of a warp that does nothing else starts two
 *   copies a k-step. Each slot has two barriers, one that opens when the slot is full and one when
 *   all warps have left it, and the loop has no __syncthreads. Measured on an H200 at 1024^3:
 *     - The barriers have the block's memory order. A wait or an arrival ordered for a cluster
 *       compiles to a fence of the whole GPU and a cache invalidation: 0.3 us in each k-step.
 *     - A warp asks a slice ahead whether the next slot is full: 0.5 us in all.
 *     - The first copies start before the block's first barrier: 0.25 us.
 *     - stmatrix in place of 4-byte stores, in cold code that runs once: 0.2 us.
 *
 * Compute capability 7.5
 *   has neither cp.async nor bf16, and its mma is 8 deep. There a refill goes through registers and
 *   has arrived when it returns, and a slice takes two mma in a row: the same kernel, slower. Only
 *   the tiles whose ring fits 64 KiB run. (-DMMA_GEMM_7_5 builds that way for any architecture.)
 *
 * Swizzle
 *   Think of a tile in shared memory as lines of 128 bytes, that is all 32 banks, or 8 chunks of 16
 *   bytes. Shared memory serves a 16-byte access 8 lanes at a time, and serves those in one clock
 *   if they touch 8 different chunk columns. A row of the tile is 2, 4, 8 or 16 chunks. Chunk c of
 *   row r is stored at place c ^ s(r) of that row:
 *     8 or 16 chunks  s(r) = r % 8        a row is one line or two
 *     4 chunks        s(r) = r / 2 % 4    two rows share a line, in its two halves
 *     2 chunks        s(r) = r / 4 % 2    four rows share a line, in its quarters
 *   ldmatrix reads chunk c of 8 consecutive rows starting at a multiple of 8. With 8 or 16 chunks
 *   s takes 8 values, hence 8 columns; with 4, rows of one parity take 4 values of s and parity
 *   picks the half; with 2, rows of one quarter take 2 values of s and r % 4 picks the quarter.
 *   cp.async writes 8 consecutive chunks starting at a multiple of 8, which is one line, or half of
 *   a two-line row; s only permutes places within it. Rows 8 apart have the same s, and
 *   c ^ s ^ 2j = (c ^ 2j) ^ s: whole 8-row steps are therefore immediate offsets and every other
 *   move is one xor of the lane's address.
 *
 * SASS
 *   The main loop has, for each slice of a warp of wt_m x wt_n, wt_m/16 * wt_n/8 HMMA.16816.F32 and
 *   wt_m/16 + wt_n/16 LDSM.x4 (those of B transposed, .MT88). Among them stand the refill's
 *   LDGSTS.BYPASS.128, each under a predicate, and a single BAR.SYNC; there is no branch but the
 *   loop's own and no local memory. The tma loop has neither LDGSTS nor BAR, but two questions to a
 *   barrier (SYNCS). Full unrolling within the k-step keeps register indices static.
 */
#include "mma_gemm.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 && !defined(MMA_GEMM_7_5)
#define MMA_GEMM_7_5
#endif

/* Not on sm_120: a block there has not the shared memory that the tma tile takes. */
#if !defined(MMA_GEMM_7_5) && \
    (!defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200))
#define MMA_GEMM_HAS_TMA 1
#else
#define MMA_GEMM_HAS_TMA 0
#endif

extern __shared__ __align__(1024) unsigned char ring[];

/* Everything that follows from a row of the table. Sizes are in elements unless named bytes. */
template <int m, int n, int k_step_, int stages_, int wm, int wn, int wk, int blocks_, int rotate_>
struct shape {
    static constexpr int tile_m = m, tile_n = n, k_step = k_step_, stages = stages_;
    static constexpr int warps_m = wm, warps_n = wn, warps_k = wk;
    static constexpr int warps = wm * wn * wk;
    static constexpr int threads = MMA_GEMM_THREADS(wm, wn, wk), blocks = blocks_;
    static constexpr bool rotate = rotate_;
    static constexpr int warp_m = m / wm, warp_n = n / wn;
    static constexpr int slices = k_step / 16 / wk;                 /* per warp and k-step */
    static constexpr int mmas_m = warp_m / 16, mmas_n = warp_n / 8; /* per slice */
    static constexpr int a_chunks = k_step / 8, b_chunks = n / 8;   /* 16-byte chunks per row */
    static constexpr int a_bytes = 2 * m * k_step, slot_bytes = 2 * (m + n) * k_step;
    static constexpr int ring_bytes = slot_bytes * stages;
    /* A pass is one cp.async by every thread; it covers whole rows of A or of B. */
    static constexpr int a_rows = threads / a_chunks, b_rows = threads / b_chunks;
    static constexpr int a_passes = m / a_rows, b_passes = k_step / b_rows;
    static constexpr int passes = a_passes + b_passes;
    static constexpr int hmma_per_step = slices * mmas_m * mmas_n; /* of a warp */

    static_assert(m % (16 * wm * wk) == 0, "whole rows of mma remain after all sums");
    static_assert(n % (16 * wn) == 0, "one ldmatrix.x4 of B covers 16 columns");
    static_assert(slices >= 2 && (slices & (slices - 1)) == 0, "two register buffers, xor steps");
    static_assert((warp_n & (warp_n - 1)) == 0, "the columns of a warp are reached by xor");
    static_assert((wk & (wk - 1)) == 0, "the sum over wk halves the warp tile each round");
    static_assert(a_rows % 8 == 0 && b_rows % 8 == 0, "passes keep the swizzle of their lane");
    static_assert(m % a_rows == 0 && k_step % b_rows == 0, "passes fill the slot exactly");
    static_assert(stages >= 2, "the refill of one slot overlaps the use of another");
    static_assert(4 * m * n * (wk - 1) <= ring_bytes, "the sum over wk reuses the ring");
    static_assert(2 * m * n <= ring_bytes, "the tile of C leaves through the ring");
};

static __device__ __forceinline__ void cp_async_16(uint32_t dst, const void *src, bool live)
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

static __device__ __forceinline__ void cp_async_commit(void)
{
#ifndef MMA_GEMM_7_5
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most `pending` of this thread's groups are still under way. */
template <int pending> static __device__ __forceinline__ void cp_async_wait(void)
{
#ifndef MMA_GEMM_7_5
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
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

static __device__ __forceinline__ uint32_t sm_id(void)
{
    uint32_t id;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
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
    const unsigned char *a, *b; /* this thread's first chunk of the k-step at hand */
    size_t a_pass, b_pass;      /* bytes in global memory from one pass to the next */
    size_t a_step, b_step;      /* and from one k-step to the next */
    uint32_t a_dst, b_dst;      /* shared address of the first chunk, in slot 0 */
    uint32_t steps, place;      /* k-steps in all, and which one along k is at hand */
};

template <class s>
static __device__ __forceinline__ struct refill refill_setup(const struct mma_gemm_args &args)
{
    const uint32_t a_row = threadIdx.x / s::a_chunks, a_chunk = threadIdx.x % s::a_chunks;
    const uint32_t b_row = threadIdx.x / s::b_chunks, b_chunk = threadIdx.x % s::b_chunks;
    const size_t lda = 2 * (size_t)args.lda, ldb = 2 * (size_t)args.ldb; /* bytes */
    struct refill r;

    r.steps = args.k / s::k_step;
    r.a_pass = s::a_rows * lda;
    r.b_pass = s::b_rows * ldb;
    r.a_step = 2 * s::k_step;
    r.b_step = s::k_step * ldb;
    r.a = (const unsigned char *)args.a + (blockIdx.y * s::tile_m + a_row) * lda + a_chunk * 16;
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
            cp_async_16(r.a_dst + slot + i * s::a_rows * s::a_chunks * 16, r.a + i * r.a_pass,
                        live);
        } else {
            const int j = i - s::a_passes;

            cp_async_16(r.b_dst + slot + j * s::b_rows * s::b_chunks * 16, r.b + j * r.b_pass,
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
    for (int i = 0; i < s::mmas_n / 2; i++)
        ldmatrix_x4_trans(o.b[i], (b_addr ^ (i * 32)) + slice * 16 * s::b_chunks * 16);
#pragma unroll
    for (int i = 0; i < s::mmas_m; i++)
        ldmatrix_x4(o.a[i], (a_addr ^ (slice * 32)) + i * 16 * s::a_chunks * 16);
}

template <class s, bool bf16>
static __device__ __forceinline__ void multiply(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                const struct operands<s> &o)
{
#pragma unroll
    for (int i = 0; i < s::mmas_m; i++) {
#pragma unroll
        for (int j = 0; j < s::mmas_n; j++)
            mma<bf16>(sum[i * s::mmas_n + j], o.a[i], o.b[j / 2][j % 2 * 2],
                      o.b[j / 2][j % 2 * 2 + 1]);
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
 * registers, 16 bytes a lane, which is free of bank conflicts. Each round has an area of its own,
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

/*
 * Stores a warp's rows of C, warp_m/wk x warp_n of them from c onwards. A lane holds two
 * neighbours of a row in each mma; a trip through the warp's own shared memory, swizzled as the
 * tiles are, turns them into 16-byte chunks of whole rows.
 */
template <class s, bool bf16>
static __device__ __forceinline__ void store_rows(const float (&sum)[s::mmas_m * s::mmas_n][4],
                                                  uint32_t mine, unsigned char *c, size_t ldc)
{
    constexpr int rows = s::warp_m / s::warps_k, chunks = s::warp_n / 8;
    const uint32_t lane = threadIdx.x % 32;
    unsigned char *stage = ring + mine;

    __syncwarp(); /* other lanes may still be taking their sums from here */
#pragma unroll
    for (int i = 0; i < rows / 16 * s::mmas_n; i++) {
        const uint32_t row = i / s::mmas_n * 16 + lane / 4, word = lane % 4 * 4;
        const int column = i % s::mmas_n;

        *(uint32_t *)(stage + swizzled<chunks>(row, column) + word) =
            pack<bf16>(sum[i][0], sum[i][1]);
        *(uint32_t *)(stage + swizzled<chunks>(row + 8, column) + word) =
            pack<bf16>(sum[i][2], sum[i][3]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < rows * chunks / 32; i++) {
        const uint32_t row = (i * 32 + lane) / chunks, chunk = (i * 32 + lane) % chunks;

        *(uint4 *)(c + row * ldc + chunk * 16) =
            *(const uint4 *)(stage + swizzled<chunks>(row, chunk));
    }
}

/* The main loop: leaves in `sum` the warp's part of the tile, over the warp's slices of k. */
template <class s, bool bf16>
static __device__ __forceinline__ void accumulate(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                  struct refill &r, uint32_t a_addr,
                                                  uint32_t b_addr)
{
    struct operands<s> o[2];
    uint32_t slot = 0, freed = 0; /* bytes from the start of the ring */
    /* k-steps that the main loop fetches; the refill that step i starts is the i-th of them. */
    const uint32_t refills = r.steps > s::stages ? r.steps - s::stages : 0;

    cp_async_wait<s::stages - 2>();
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
                cp_async_commit();
                cp_async_wait<s::stages - 2>();
                __syncthreads();
                freed = slot;
                slot = slot + s::slot_bytes == s::ring_bytes ? 0 : slot + s::slot_bytes;
                refill_advance<s>(r);
            }
            /* After the last k-step this reads a stale slot into registers that nobody uses. */
            load_slice<s>(o[part % 2], a_addr + slot, b_addr + slot, part);
            refill_passes<s>(r, freed, s::passes * part / s::slices,
                             s::passes * (part + 1) / s::slices, live);
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
            cp_async_commit();
            refill_advance<s>(r);
        }
        refill_passes<s>(r, i * s::slot_bytes, 0, s::passes, i < r.steps);
    }
}

template <class s, bool bf16>
static __device__ __forceinline__ void gemm_tile(const struct mma_gemm_args &args)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t warp_m = warp % s::warps_m, warp_n = warp / s::warps_m % s::warps_n;
    const uint32_t warp_k = warp / (s::warps_m * s::warps_n);
    /* Lane l of an ldmatrix.x4 names row l % 16 of a 16x16 block, and its left or right chunk. */
    const uint32_t row = lane % 16, side = lane / 16;
    const uint32_t a_addr =
        swizzled<s::a_chunks>(warp_m * s::warp_m + row, warp_k * s::slices * 2 + side);
    const uint32_t b_addr =
        swizzled<s::b_chunks>(warp_k * s::slices * 16 + row, warp_n * s::warp_n / 8 + side);
    float sum[s::mmas_m * s::mmas_n][4] = {};
    struct refill r = refill_setup<s>(args);

    refill_start<s>(r);
    accumulate<s, bf16>(sum, r, shared_address(ring) + a_addr,
                        shared_address(ring) + s::a_bytes + b_addr);

    uint32_t mine = warp * (s::warp_m * s::warp_n * 2); /* ring bytes of this warp alone */
    if constexpr (s::warps_k > 1)
        mine = sum_over_k<s, 1, 0>(sum, warp, warp_k);
    size_t c_row = blockIdx.y * s::tile_m + warp_m * s::warp_m;
    const size_t c_column = blockIdx.x * s::tile_n + warp_n * s::warp_n;
#pragma unroll
    for (uint32_t d = 1; d < s::warps_k; d *= 2)
        c_row += warp_k & d ? s::warp_m / 2 / d : 0; /* the halves that sum_over_k kept */
    store_rows<s, bf16>(sum, mine, (unsigned char *)args.c + 2 * (c_row * args.ldc + c_column),
                        2 * (size_t)args.ldc);
    if (args.census && threadIdx.x == 0)
        atomicAdd(args.census + sm_id(), 1u);
}

#if MMA_GEMM_HAS_TMA

/* A row of MMA_GEMM_TMA_TILES. After the ring come the tile of C, then the barriers. */
template <int m, int n, int stages, int wm, int wn>
struct tma_shape : shape<m, n, 64, stages, wm, wn, 1, 1, 0> {
    using base = shape<m, n, 64, stages, wm, wn, 1, 1, 0>;
    static constexpr int block_threads = base::threads + 32; /* one warp only fetches */
    static constexpr int c_chunks = base::warp_n / 8; /* 16-byte chunks in a warp's row of C */
    static constexpr int warp_bytes = 2 * base::warp_m * base::warp_n; /* of C */
    static constexpr int barriers_at = base::ring_bytes + 2 * m * n;

    static_assert(n == 64, "the swizzle of TMA has rows of 128 bytes");
    static_assert(c_chunks == 4, "32 chunks of C are 8 rows, after which the swizzle repeats");
    static_assert(barriers_at + 16 * stages == MMA_GEMM_TMA_SHARED(m, n, stages),
                  "the barriers fit");
};

/* Opens when slot i of the ring is full: once in each turn of the ring. */
template <class s> static __device__ __forceinline__ uint32_t full(uint32_t i)
{
    return shared_address(ring) + s::barriers_at + 8 * i;
}

/* Opens when every warp has left slot i. */
template <class s> static __device__ __forceinline__ uint32_t left(uint32_t i)
{
    return full<s>(s::stages + i);
}

static __device__ __forceinline__ void barrier_make(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Whether the phase of this parity is over. */
static __device__ __forceinline__ bool barrier_open(uint32_t barrier, uint32_t parity)
{
    uint32_t open;

    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(open)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return open;
}

static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* A place in the ring, and the parity of its turn. */
struct place {
    uint32_t slot, parity;
};

template <class s> static __device__ __forceinline__ struct place next_place(struct place p)
{
    const bool turn = p.slot + 1 == s::stages;

    return {turn ? 0 : p.slot + 1, turn ? p.parity ^ 1 : p.parity};
}

/* Copies the box at (x, y) of a map to shared memory, swizzled; counts its bytes at the barrier. */
static __device__ __forceinline__ void copy_box(uint32_t dst, const unsigned char *map, uint32_t x,
                                                uint32_t y, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

template <class s>
static __device__ __forceinline__ void fetch(const struct mma_gemm_tma_args &args, uint32_t step,
                                             uint32_t slot)
{
    const uint32_t at = shared_address(ring) + slot * s::slot_bytes;

    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full<s>(slot)),
                 "r"((uint32_t)s::slot_bytes)
                 : "memory");
    copy_box(at, args.a_map, step * s::k_step, blockIdx.y * s::tile_m, full<s>(slot));
    copy_box(at + s::a_bytes, args.b_map, blockIdx.x * s::tile_n, step * s::k_step, full<s>(slot));
}

/* What the fetching thread does before the block's first barrier. */
template <class s>
static __device__ __forceinline__ void fetch_first(const struct mma_gemm_tma_args &args)
{
#pragma unroll
    for (int i = 0; i < s::stages; i++) {
        barrier_make(full<s>(i), 1);
        barrier_make(left<s>(i), s::warps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fetch<s>(args, 0, 0);
}

/* And after it. */
template <class s>
static __device__ __forceinline__ void fetch_rest(const struct mma_gemm_tma_args &args,
                                                  uint32_t steps)
{
    struct place p = next_place<s>({0, 1});

#pragma unroll 1
    for (uint32_t step = 1; step < steps; step++) {
        if (step >= s::stages)
            barrier_wait(left<s>(p.slot), p.parity);
        fetch<s>(args, step, p.slot);
        p = next_place<s>(p);
    }
}

/* accumulate() of a ring that others fill. */
template <class s, bool bf16>
static __device__ __forceinline__ void accumulate_fed(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                      uint32_t steps, uint32_t a_addr,
                                                      uint32_t b_addr)
{
    struct operands<s> o[2];
    struct place p = {0, 0};

    barrier_wait(full<s>(0), 0);
    load_slice<s>(o[0], a_addr, b_addr, 0);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; step++) {
        const struct place next = next_place<s>(p);
        bool ready = false;

#pragma unroll
        for (int i = 0; i < s::slices; i++) {
            const int part = (i + 1) % s::slices; /* the slice to load */
            const uint32_t slot = (part == 0 ? next.slot : p.slot) * s::slot_bytes;

            if (i == s::slices - 2)
                ready = barrier_open(full<s>(next.slot), next.parity);
            if (part == 0 && step + 1 < steps && !ready)
                barrier_wait(full<s>(next.slot), next.parity);
            /* After the last k-step this reads a stale slot into registers that nobody uses. */
            load_slice<s>(o[part % 2], a_addr + slot, b_addr + slot, part);
            multiply<s, bf16>(sum, o[i % 2]);
        }
        /* The mma above have used all that ldmatrix took from the slot. */
        if (threadIdx.x % 32 == 0 && step + s::stages < steps)
            barrier_arrive(left<s>(p.slot));
        p = next;
    }
}

/* store_rows() with stmatrix, which stores four 8x8 blocks at once. */
template <class s, bool bf16>
static __device__ __forceinline__ void store_blocks(const float (&sum)[s::mmas_m * s::mmas_n][4],
                                                    uint32_t mine, unsigned char *c, size_t ldc)
{
    const uint32_t lane = threadIdx.x % 32, row = lane / s::c_chunks, chunk = lane % s::c_chunks;
    const uint32_t to = shared_address(ring) + mine + swizzled<s::c_chunks>(lane % 16, lane / 16);
    const unsigned char *from = ring + mine + swizzled<s::c_chunks>(row, chunk);

#pragma unroll
    for (int i = 0; i < s::mmas_m; i++) {
#pragma unroll
        for (int j = 0; j < s::mmas_n; j += 2) {
            const float(&x)[4] = sum[i * s::mmas_n + j], (&y)[4] = sum[i * s::mmas_n + j + 1];

            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             (to ^ (j * 16)) + i * 16 * s::c_chunks * 16),
                         "r"(pack<bf16>(x[0], x[1])), "r"(pack<bf16>(x[2], x[3])),
                         "r"(pack<bf16>(y[0], y[1])), "r"(pack<bf16>(y[2], y[3]))
                         : "memory");
        }
    }
    __syncwarp();
    c += row * ldc + chunk * 16;
#pragma unroll
    for (int i = 0; i < s::warp_m * s::c_chunks / 32; i++)
        *(uint4 *)(c + i * (32 / s::c_chunks) * ldc) = *(const uint4 *)(from + i * 512);
}

template <class s, bool bf16>
static __device__ __forceinline__ void tma_tile(const struct mma_gemm_tma_args &args)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t warp_m = warp % s::warps_m, warp_n = warp / s::warps_m;
    const uint32_t row = lane % 16, side = lane / 16; /* as in gemm_tile */
    float sum[s::mmas_m * s::mmas_n][4] = {};

    if (warp == s::warps && lane == 0)
        fetch_first<s>(args);
    __syncthreads();
    const uint32_t steps = args.gemm.k / s::k_step;
    if (warp == s::warps) {
        if (lane == 0)
            fetch_rest<s>(args, steps);
        return;
    }
    accumulate_fed<s, bf16>(
        sum, steps, shared_address(ring) + swizzled<s::a_chunks>(warp_m * s::warp_m + row, side),
        shared_address(ring) + s::a_bytes +
            swizzled<s::b_chunks>(row, warp_n * s::warp_n / 8 + side));

    const size_t c_row = blockIdx.y * s::tile_m + warp_m * s::warp_m,
                 ldc = 2 * (size_t)args.gemm.ldc;
    const uint32_t c_column = blockIdx.x * s::tile_n + warp_n * s::warp_n;
    store_blocks<s, bf16>(sum, s::ring_bytes + warp * s::warp_bytes,
                          (unsigned char *)args.gemm.c + c_row * ldc + 2 * c_column, ldc);
    if (args.gemm.census && threadIdx.x == 0)
        atomicAdd(args.gemm.census + sm_id(), 1u);
}

#endif

/* Kernels: tile_row is a row of the table; each kernel restates the HMMA of its main loop. */

template <int m, int n> struct tile_row;

#define MMA_GEMM_TILE_ROW(m, n, ...)                                                               \
    template <> struct tile_row<m, n> : shape<m, n, __VA_ARGS__> {                                 \
    };
MMA_GEMM_TILES(MMA_GEMM_TILE_ROW)

#define MMA_GEMM_KERNEL(type, is_bf16, m, n, hmma)                                                 \
    static_assert(tile_row<m, n>::hmma_per_step == hmma, "the contract above is out of date");     \
    extern "C" __global__ void __launch_bounds__(tile_row<m, n>::threads, tile_row<m, n>::blocks)  \
        mma_gemm_##type##_##m##x##n(const __grid_constant__ struct mma_gemm_args args)             \
    {                                                                                              \
        gemm_tile<tile_row<m, n>, is_bf16>(args);                                                  \
    }

#ifndef MMA_GEMM_7_5

// sass-loop: kernel=mma_gemm_fp16_256x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 256, 128, 128)
// sass-loop: kernel=mma_gemm_fp16_128x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 128, 128, 128)
// sass-loop: kernel=mma_gemm_fp16_128x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 128, 64, 64)
// sass-loop: kernel=mma_gemm_fp16_64x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 64, 64, 64)

#endif

// sass-loop: kernel=mma_gemm_fp16_64x32 hmma>=32 local=0 arch=80+
// sass-loop: kernel=mma_gemm_fp16_64x32 hmma>=64 local=0 arch=75
MMA_GEMM_KERNEL(fp16, false, 64, 32, 32)
// sass-loop: kernel=mma_gemm_fp16_32x32 hmma>=16 local=0 arch=80+
// sass-loop: kernel=mma_gemm_fp16_32x32 hmma>=32 local=0 arch=75
MMA_GEMM_KERNEL(fp16, false, 32, 32, 16)

#ifndef MMA_GEMM_7_5

// sass-loop: kernel=mma_gemm_bf16_256x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 256, 128, 128)
// sass-loop: kernel=mma_gemm_bf16_128x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 128, 128, 128)
// sass-loop: kernel=mma_gemm_bf16_128x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 128, 64, 64)
// sass-loop: kernel=mma_gemm_bf16_64x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 64, 64, 64)
// sass-loop: kernel=mma_gemm_bf16_64x32 hmma>=32 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 64, 32, 32)
// sass-loop: kernel=mma_gemm_bf16_32x32 hmma>=16 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 32, 32, 16)

#endif

#if MMA_GEMM_HAS_TMA

template <int m, int n> struct tma_row;

#define MMA_GEMM_TMA_TILE_ROW(m, n, ...)                                                           \
    template <> struct tma_row<m, n> : tma_shape<m, n, __VA_ARGS__> {                              \
    };
MMA_GEMM_TMA_TILES(MMA_GEMM_TMA_TILE_ROW)

#define MMA_GEMM_TMA_KERNEL(type, is_bf16, m, n, hmma)                                             \
    static_assert(tma_row<m, n>::hmma_per_step == hmma, "the contract above is out of date");      \
    extern "C" __global__ void __launch_bounds__(tma_row<m, n>::block_threads, 1)                  \
        mma_gemm_##type##_##m##x##n##_tma(const __grid_constant__ struct mma_gemm_tma_args args)   \
    {                                                                                              \
        tma_tile<tma_row<m, n>, is_bf16>(args);                                                    \
    }

// sass-loop: kernel=mma_gemm_fp16_128x64_tma hmma>=64 local=0 arch=90a,100
MMA_GEMM_TMA_KERNEL(fp16, false, 128, 64, 64)

// sass-loop: kernel=mma_gemm_bf16_128x64_tma hmma>=64 local=0 arch=90a,100
MMA_GEMM_TMA_KERNEL(bf16, true, 128, 64, 64)

#endif
