// The product of mma.h: the main loop of core/device/mma_ring.cuh, and what is done to its
// sums on their way out.
//
// Sums lie in registers as mma leaves them: a lane has two neighbours of row lane / 4 and two of
// the row eight below. Bias and GELU work on them there. They then pass through the warp's own part
// of the ring, swizzled as the tiles are, which turns them into 16-byte chunks of whole rows; a
// residual comes in by the same way, chunks first, so that its addition too is in fp32, with one
// rounding at the end.
#include "core/device/mma_ring.cuh"
#include "fused/common/gelu.cuh"
#include "fused/common/vector.cuh"
#include "fused/epilogue/mma.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

__device__ __forceinline__ void prefetch_l2(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

#define SUMS float (&sum)[s::mmas_m * s::mmas_n][4]

// What a warp holds in the end: its rows / warps_k of C, from (row, column) on.
template <class s> struct outcome {
    static constexpr int rows = s::warp_m / s::warps_k, tiles = rows / 16 * s::mmas_n;
    static constexpr int chunks = s::warp_n / 8; // of 16 bytes in one of its rows, 16-bit elements
};

// The first of the two rows of which a lane has two neighbours in tile i; the other is 8 below.
template <class s> __device__ __forceinline__ uint32_t row_of(int i)
{
    return i / s::mmas_n * 16 + threadIdx.x % 32 / 4;
}

template <class s> __device__ __forceinline__ void add_bias(SUMS, const void *bias, uint32_t column)
{
    const uint32_t *pairs = (const uint32_t *)bias + column / 2 + threadIdx.x % 4;
    float2 b[s::mmas_n];
#pragma unroll
    for (int j = 0; j < s::mmas_n; j++)
        b[j] = bf16::widen(__ldg(pairs + 4 * j));
#pragma unroll
    for (int i = 0; i < outcome<s>::tiles; i++) {
        sum[i][0] += b[i % s::mmas_n].x;
        sum[i][1] += b[i % s::mmas_n].y;
        sum[i][2] += b[i % s::mmas_n].x;
        sum[i][3] += b[i % s::mmas_n].y;
    }
}

template <class s> __device__ __forceinline__ void activate(SUMS)
{
#pragma unroll
    for (int i = 0; i < outcome<s>::tiles; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            sum[i][j] = gelu(sum[i][j]);
}

// Chunks of a matrix like C into the stage; rows from `left` on do not exist.
template <class s>
__device__ __forceinline__ void add_residual(SUMS, unsigned char *stage, const unsigned char *from,
                                             size_t pitch, uint32_t left)
{
    constexpr int chunks = outcome<s>::chunks, all = outcome<s>::rows * chunks / 32;
    constexpr int at_once = all < 8 ? all : 8; // loads in flight: registers are scarce here
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int first = 0; first < all; first += at_once) {
        uint4 x[at_once] = {};
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const uint32_t at = (first + i) * 32 + lane;
            if (at / chunks < left)
                x[i] = load_cg_128(from + at / chunks * pitch + at % chunks * 16);
        }
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const uint32_t at = (first + i) * 32 + lane;
            *(uint4 *)(stage + swizzled<chunks>(at / chunks, at % chunks)) = x[i];
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < outcome<s>::tiles; i++) {
        const uint32_t row = row_of<s>(i), word = lane % 4 * 4;
        const unsigned char *low = stage + swizzled<chunks>(row, i % s::mmas_n) + word;
        const unsigned char *high = stage + swizzled<chunks>(row + 8, i % s::mmas_n) + word;
        const float2 x = bf16::widen(*(const uint32_t *)low);
        const float2 y = bf16::widen(*(const uint32_t *)high);
        sum[i][0] += x.x;
        sum[i][1] += x.y;
        sum[i][2] += y.x;
        sum[i][3] += y.y;
    }
    __syncwarp();
}

template <class s>
__device__ __forceinline__ void store(SUMS, unsigned char *stage, unsigned char *to, size_t pitch,
                                      uint32_t left)
{
    constexpr int chunks = outcome<s>::chunks;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < outcome<s>::tiles; i++) {
        const uint32_t row = row_of<s>(i), word = lane % 4 * 4;
        *(uint32_t *)(stage + swizzled<chunks>(row, i % s::mmas_n) + word) =
            pack<true>(sum[i][0], sum[i][1]);
        *(uint32_t *)(stage + swizzled<chunks>(row + 8, i % s::mmas_n) + word) =
            pack<true>(sum[i][2], sum[i][3]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < outcome<s>::rows * chunks / 32; i++) {
        const uint32_t row = (i * 32 + lane) / chunks, chunk = (i * 32 + lane) % chunks;
        if (row < left)
            *(uint4 *)(to + row * pitch + chunk * 16) =
                *(const uint4 *)(stage + swizzled<chunks>(row, chunk));
    }
}

__device__ __forceinline__ uint32_t quantise(float left, float right, float scale)
{
    int32_t a, b;
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(a) : "f"(left * scale));
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(b) : "f"(right * scale));
    return (a & 0xff) | (b & 0xff) << 8;
}

// Rows of half as many bytes.
template <class s>
__device__ __forceinline__ void store_quantised(SUMS, float scale, unsigned char *stage,
                                                unsigned char *to, size_t pitch, uint32_t left)
{
    constexpr int chunks = outcome<s>::chunks / 2;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < outcome<s>::tiles; i++) {
        const uint32_t row = row_of<s>(i), j = i % s::mmas_n, byte = j % 2 * 8 + lane % 4 * 2;
        *(uint16_t *)(stage + swizzled<chunks>(row, j / 2) + byte) =
            (uint16_t)quantise(sum[i][0], sum[i][1], scale);
        *(uint16_t *)(stage + swizzled<chunks>(row + 8, j / 2) + byte) =
            (uint16_t)quantise(sum[i][2], sum[i][3], scale);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < outcome<s>::rows * chunks / 32; i++) {
        const uint32_t row = (i * 32 + lane) / chunks, chunk = (i * 32 + lane) % chunks;
        if (row < left)
            *(uint4 *)(to + row * pitch + chunk * 16) =
                *(const uint4 *)(stage + swizzled<chunks>(row, chunk));
    }
}

// (row, column): of the warp's part, in C of the block's part of the grid.
template <class s>
__device__ __forceinline__ void finish(SUMS, const struct mma_epilogue_args &args,
                                       const struct mma_epilogue_part &part, uint32_t mine,
                                       uint32_t row, uint32_t column)
{
    const uint32_t left = row < args.m ? args.m - row : 0;
    const size_t at = (size_t)row * part.ldc + column;
    unsigned char *stage = ring + mine;

    if (args.flags & EPILOGUE_BIAS)
        add_bias<s>(sum, args.bias, part.first * s::tile_n + column);
    if (args.flags & EPILOGUE_GELU)
        activate<s>(sum);
    __syncwarp(); // other lanes may still be taking their sums from the stage
    if (args.flags & EPILOGUE_RESIDUAL)
        add_residual<s>(sum, stage, (const unsigned char *)args.residual + 2 * at,
                        2 * (size_t)part.ldc, left);
    if (args.flags & EPILOGUE_QUANTISE)
        store_quantised<s>(sum, args.scale, stage, (unsigned char *)part.c + at, part.ldc, left);
    else
        store<s>(sum, stage, (unsigned char *)part.c + 2 * at, 2 * (size_t)part.ldc, left);
}

// GELU of A, rounded to bf16 again, as a kernel before the product would leave it.
struct gelu_in {
    template <int n> static __device__ __forceinline__ void of(uint32_t (&a)[n][4])
    {
#pragma unroll
        for (int i = 0; i < n; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float2 x = bf16::widen(a[i][j]);
                a[i][j] = pack<true>(gelu(x.x), gelu(x.y));
            }
    }
};

// The product of the launch that this block works on. By selection of fields: of a choice among the
// three the compiler would make loads with a computed address.
__device__ __forceinline__ struct mma_epilogue_part part_of(const struct mma_epilogue_args &args)
{
    struct mma_epilogue_part part = args.part[0];
#pragma unroll
    for (int i = 1; i < MMA_EPILOGUE_PARTS; i++) {
        const bool later = blockIdx.x >= args.part[i].first;
        part.c = later ? args.part[i].c : part.c;
        part.first = later ? args.part[i].first : part.first;
        part.ldc = later ? args.part[i].ldc : part.ldc;
    }
    return part;
}

// Asks the L2 for what the epilogue will read, a line a thread: at the end of a block nothing else
// would hide the way to memory.
template <class s> __device__ __forceinline__ void prefetch(const struct mma_epilogue_args &args)
{
    constexpr uint32_t lines = (s::tile_n + 63) / 64; // in a row of the tile
    const uint32_t column = blockIdx.x * s::tile_n;
    if ((args.flags & EPILOGUE_BIAS) && threadIdx.x < lines)
        prefetch_l2((const unsigned char *)args.bias + 2 * column + 128 * threadIdx.x);
    if (args.flags & EPILOGUE_RESIDUAL)
        for (uint32_t i = threadIdx.x; i < s::tile_m * lines; i += s::threads) {
            const uint32_t row = blockIdx.y * s::tile_m + i / lines;
            if (row < args.m)
                prefetch_l2((const unsigned char *)args.residual +
                            2 * ((size_t)row * args.part[0].ldc + column) + 128 * (i % lines));
        }
}

template <class s, class prologue>
__device__ __forceinline__ void product_tile(const struct mma_epilogue_args &args)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t warp_m = warp % s::warps_m, warp_n = warp / s::warps_m % s::warps_n;
    const uint32_t warp_k = warp / (s::warps_m * s::warps_n);
    const uint32_t row = lane % 16, side = lane / 16; // of an ldmatrix.x4
    const uint32_t a_addr =
        swizzled<s::a_chunks>(warp_m * s::warp_m + row, warp_k * s::slices * 2 + side);
    const uint32_t b_addr =
        swizzled<s::b_chunks>(warp_n * s::warp_n + row, warp_k * s::slices * 2 + side);
    float sum[s::mmas_m * s::mmas_n][4] = {};
    struct refill r = refill_setup<s>(args);

    refill_start<s>(r);
    prefetch<s>(args);
    accumulate<s, true, prologue>(sum, r, shared_address(ring) + a_addr,
                                  shared_address(ring) + s::a_bytes + b_addr);
    uint32_t mine = warp * (s::warp_m * s::warp_n * 2); // ring bytes of this warp alone
    if constexpr (s::warps_k > 1)
        mine = sum_over_k<s, 1, 0>(sum, warp, warp_k);
    uint32_t c_row = blockIdx.y * s::tile_m + warp_m * s::warp_m;
#pragma unroll
    for (uint32_t d = 1; d < s::warps_k; d *= 2)
        c_row += warp_k & d ? s::warp_m / 2 / d : 0; // the halves that sum_over_k kept
    const struct mma_epilogue_part part = part_of(args);
    finish<s>(sum, args, part, mine, c_row,
              (blockIdx.x - part.first) * s::tile_n + warp_n * s::warp_n);
}

template <int m, int n, class prologue> struct tile_row;
#define TILE_ROW(m, n, stages, wm, wn, wk, blocks)                                                \
    template <>                                                                                   \
    struct tile_row<m, n, as_it_is> : mma_shape<m, n, 64, stages, wm, wn, wk, blocks, 0, 1> {     \
    };
#define GELU_IN_ROW(m, n, stages, wm, wn, wk, blocks)                                             \
    template <>                                                                                   \
    struct tile_row<m, n, gelu_in> : mma_shape<m, n, 64, stages, wm, wn, wk, blocks, 0, 1> {      \
    };
MMA_EPILOGUE_TILES(TILE_ROW)
MMA_EPILOGUE_GELU_IN_TILES(GELU_IN_ROW)

#define KERNEL(m, n, suffix, prologue, hmma)                                                      \
    static_assert(tile_row<m, n, prologue>::hmma_per_step == hmma, "the contract is out of date"); \
    extern "C" __global__ void __launch_bounds__(tile_row<m, n, prologue>::threads,               \
                                                 tile_row<m, n, prologue>::blocks)                \
        mma_epilogue_bf16_##m##x##n##suffix(const __grid_constant__ struct mma_epilogue_args a)   \
    {                                                                                             \
        product_tile<tile_row<m, n, prologue>, prologue>(a);                                      \
    }

// sass-loop: kernel=mma_epilogue_bf16_256x128 hmma>=128 ldgsts mufu=0 guarded<=12 other<=276
// sass-and: local=0 arch=80+
KERNEL(256, 128, , as_it_is, 128)
// sass-loop: kernel=mma_epilogue_bf16_128x128 hmma>=128 ldgsts mufu=0 guarded<=16 other<=284
// sass-and: local=0 arch=80+
KERNEL(128, 128, , as_it_is, 128)
// sass-loop: kernel=mma_epilogue_bf16_64x64 hmma>=64 ldgsts mufu=0 guarded<=16 other<=144 local=0
// sass-and: arch=80,86,89,90a
// sass-loop: kernel=mma_epilogue_bf16_64x64 hmma>=64 ldgsts mufu=0 other<=264 local=0 arch=100+
KERNEL(64, 64, , as_it_is, 64)
// sass-loop: kernel=mma_epilogue_bf16_32x32 hmma>=16 ldgsts mufu=0 guarded<=8 other<=67 local=0
// sass-and: arch=80+
KERNEL(32, 32, , as_it_is, 16)
// The same loop with GELU between ldmatrix and mma: two MUFU an element.
// sass-loop: kernel=mma_epilogue_bf16_128x128_gelu_in hmma>=64 ldgsts mufu>=64 guarded<=8
// sass-and: other<=386 local=0 arch=80+
KERNEL(128, 128, _gelu_in, gelu_in, 64)
// sass-loop: kernel=mma_epilogue_bf16_64x64_gelu_in hmma>=32 ldgsts mufu>=64 guarded<=8 other<=302
// sass-and: local=0 arch=80+
KERNEL(64, 64, _gelu_in, gelu_in, 32)

#endif
