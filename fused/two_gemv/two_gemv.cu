// Kernels of two_gemv: y = W2 silu(scale W1 x) with the intermediate in one place or another.
#include <cuda_bf16.h>

#include "core/device/grid_barrier.cuh"
#include "core/device/verdict.cuh"
#include "fused/common/gemv_rows.cuh"
#include "fused/two_gemv/args.h"

enum : uint32_t { WARPS = TWO_THREADS / 32, BUDGET_NS = 20000000 };

__device__ __forceinline__ float silu(float z) { return __fdividef(z, 1 + __expf(-z)); }

__device__ __forceinline__ float round_bf16(float z)
{
    return __bfloat162float(__float2bfloat16_rn(z));
}

// --- kernels that come and go --------------------------------------------------------------------

// Two rows a block (common/gemv_rows.cuh).
template <typename X = from_before, typename WAIT = at_once, typename FINISH>
__device__ __forceinline__ void two_rows(const void *weights, const void *x, void *y, uint32_t rows,
                                         uint32_t columns, FINISH finish)
{
    __shared__ float scratch[TWO_ROWS][WARPS];
    const uint32_t first = blockIdx.x * TWO_ROWS;
    const uint4 *row[TWO_ROWS];
    float sum[TWO_ROWS] = {};

    gemv_rows_at(row, weights, first, rows, columns / 8);
    gemv_rows<TWO_LOADS, X, WAIT>(sum, row, (const uint4 *)x, columns / 8);
    const float all = gemv_rows_sum(sum, scratch);
    if (threadIdx.x < TWO_ROWS && first + threadIdx.x < rows)
        ((__nv_bfloat16 *)y)[first + threadIdx.x] = __float2bfloat16_rn(finish(all));
}

// sass-loop: ldg128na=8 ldg128=12 other<=208 local=0 together
extern "C" __global__ void __launch_bounds__(TWO_THREADS, 1)
    two_gemv_up(const __grid_constant__ struct two_gemv_args a)
{
    two_rows(a.up, a.x, a.h, a.hidden, a.model, [&](float z) {
        return a.has_activation ? silu(a.scale * z) : z;
    });
}

// sass-all: ldg=1 stg=1 local=0
extern "C" __global__ void __launch_bounds__(TWO_THREADS)
    two_gemv_activate(const __grid_constant__ struct two_gemv_args a)
{
    const uint32_t i = blockIdx.x * TWO_THREADS + threadIdx.x;
    __nv_bfloat16 *h = (__nv_bfloat16 *)a.h;
    if (i < a.hidden)
        h[i] = __float2bfloat16_rn(silu(a.scale * __bfloat162float(h[i])));
}

// sass-loop: ldg128na=8 ldg128=12 other<=208 local=0 together
extern "C" __global__ void __launch_bounds__(TWO_THREADS, 1)
    two_gemv_down(const __grid_constant__ struct two_gemv_args a)
{
    two_rows(a.down, a.h, a.y, a.model, a.hidden, [](float z) { return z; });
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
// Both as programmatic dependents: a kernel's blocks start when all blocks of the one before have,
// ask for their first weights, and wait until it is over before they look at what it wrote, or
// write.
struct for_kernel_before {
    __device__ __forceinline__ void operator()() const
    {
        asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
        asm volatile("griddepcontrol.wait;" ::: "memory");
    }
};

// sass-loop: ldg128na=8 ldg128=12 other<=203 local=0 together arch=90a+
extern "C" __global__ void __launch_bounds__(TWO_THREADS, 1)
    two_gemv_up_dependent(const __grid_constant__ struct two_gemv_args a)
{
    two_rows<from_before, for_kernel_before>(a.up, a.x, a.h, a.hidden, a.model,
                                             [&](float z) { return silu(a.scale * z); });
}

// sass-loop: ldg128na=8 ldg128=12 other<=203 local=0 together arch=90a+
extern "C" __global__ void __launch_bounds__(TWO_THREADS, 1)
    two_gemv_down_dependent(const __grid_constant__ struct two_gemv_args a)
{
    two_rows<from_this_kernel, for_kernel_before>(a.down, a.h, a.y, a.model, a.hidden,
                                                  [](float z) { return z; });
}
#endif

// --- kernels that stay ---------------------------------------------------------------------------

// ROWS rows of `model` elements, LOADS vectors of each in a thread. Beyond the end of a row its
// last vector again, and beyond the last row that again: x is zero there, or nobody stores what
// comes of it. Under a condition, the compiler would put these loads off until the sums are made.
template <int ROWS, int LOADS> struct some_rows {
    uint4 w[ROWS][LOADS];

    __device__ __forceinline__ void load(const void *weights, uint32_t first, uint32_t rows,
                                         uint32_t vectors)
    {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int l = 0; l < LOADS; l++) {
                const uint32_t at = min(threadIdx.x + l * TWO_THREADS, vectors - 1);
                const uint64_t row = min(first + r, rows - 1);
                w[r][l] = load_once((const uint4 *)weights + row * vectors + at);
            }
    }
};

// A thread's own vectors of x, for all rows.
template <int LOADS>
__device__ __forceinline__ void load_x(uint4 (&x)[LOADS], const void *from, uint32_t vectors)
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        const uint32_t at = threadIdx.x + l * TWO_THREADS;
        x[l] = at < vectors ? __ldg((const uint4 *)from + at) : make_uint4(0, 0, 0, 0);
    }
}

// The intermediate's elements of ROWS rows, in every thread. Alternate `scratch` from call to call:
// then one barrier of the block is enough.
template <int ROWS, int LOADS>
__device__ __forceinline__ void intermediate(float (&h)[ROWS], const some_rows<ROWS, LOADS> &up,
                                             const uint4 (&x)[LOADS], float scale,
                                             float (&scratch)[ROWS][WARPS])
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
#pragma unroll
        for (int l = 0; l < LOADS; l++)
            gemv_multiply(sum, up.w[r][l], x[l]);
        sum = warp_reduce<adding>(sum);
        if (threadIdx.x % 32 == 0)
            scratch[r][threadIdx.x / 32] = sum;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < WARPS; i++)
            sum += scratch[r][i];
        h[r] = round_bf16(silu(scale * sum));
    }
}

// y += h times a row of the transposed W2, in the columns of this thread.
template <int ROWS, int LOADS>
__device__ __forceinline__ void spread(float (&y)[LOADS][8], const float (&h)[ROWS],
                                       const some_rows<ROWS, LOADS> &down)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int l = 0; l < LOADS; l++) {
            float w[8];
            widen<bf16>(down.w[r][l], w);
#pragma unroll
            for (int i = 0; i < 8; i++)
                y[l][i] = fmaf(h[r], w[i], y[l][i]);
        }
}

// As grid_barrier_join, but without finding out which counter is nearer, which takes longer than is
// gained where there is one barrier in a launch.
__device__ __forceinline__ struct grid_barrier join_for_one(struct grid_barrier_state *state)
{
    const uint64_t both = 2 * GRID_BARRIER_TWIN, room = (uint64_t)state->room;
    uint32_t *counter = (uint32_t *)((room + both - 1) & ~(both - 1));
    uint32_t *twin = counter + GRID_BARRIER_TWIN / sizeof *counter;
    const uint32_t share = blockIdx.x == 0 ? GRID_BARRIER_PHASE - (gridDim.x - 1) : 1;
    const uint32_t phase = ~load_relaxed(counter) & GRID_BARRIER_PHASE;
    return {state, counter, twin, share, phase, BUDGET_NS, false};
}

__device__ __forceinline__ void add_to(float4 &sum, float4 part)
{
    sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
}

// The blocks' sums of y lie in memory as whole warps store them: of the columns 8 v to 8 v + 7 the
// first four as vector v, the others as vector model / 8 + v; and between two blocks' sums a gap,
// or all of a column's would meet in few places of the L2.
__device__ __forceinline__ float4 *sums_of(const two_gemv_args &a, uint32_t block)
{
    return (float4 *)a.partial + (uint64_t)block * (a.model / 4 + TWO_GAP);
}

// They are added up in a fixed order. A block takes four vectors, 64 bytes of every block's sums; a
// warp eight blocks' at a time, and all of a lane's loads are under way together.
__device__ __forceinline__ void add_up(const two_gemv_args &a)
{
    __shared__ float4 of_warp[WARPS][4];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, half = a.model / 8;
#pragma unroll 1
    for (uint32_t v = blockIdx.x * 4 + lane % 4; v - lane % 4 < 2 * half; v += gridDim.x * 4) {
        float4 sum = make_float4(0, 0, 0, 0), part[TWO_TOGETHER];
#pragma unroll 1
        for (uint32_t first = 8 * warp + lane / 4; first < gridDim.x;
             first += 8 * WARPS * TWO_TOGETHER) {
#pragma unroll
            for (uint32_t i = 0; i < TWO_TOGETHER; i++) {
                const uint32_t block = first + 8 * WARPS * i;
                part[i] = block < gridDim.x && v < 2 * half ? __ldcg(sums_of(a, block) + v)
                                                            : make_float4(0, 0, 0, 0);
            }
#pragma unroll
            for (uint32_t i = 0; i < TWO_TOGETHER; i++)
                add_to(sum, part[i]);
        }
#pragma unroll
        for (int lanes = 4; lanes < 32; lanes *= 2)
            add_to(sum, make_float4(__shfl_xor_sync(~0u, sum.x, lanes),
                                    __shfl_xor_sync(~0u, sum.y, lanes),
                                    __shfl_xor_sync(~0u, sum.z, lanes),
                                    __shfl_xor_sync(~0u, sum.w, lanes)));
        if (lane < 4)
            of_warp[warp][lane] = sum;
        __syncthreads();
        sum = make_float4(0, 0, 0, 0);
        for (uint32_t i = 0; threadIdx.x < 4 && i < WARPS; i++)
            add_to(sum, of_warp[i][lane]);
        if (threadIdx.x < 4 && v < 2 * half)
            ((uint2 *)a.y)[v < half ? 2 * v : 2 * (v - half) + 1] =
                make_uint2(bf16::narrow(make_float2(sum.x, sum.y)),
                           bf16::narrow(make_float2(sum.z, sum.w)));
        __syncthreads();
    }
}

template <int LOADS>
__device__ __forceinline__ void add_up_blocks(const two_gemv_args &a, const float (&y)[LOADS][8])
{
    struct grid_barrier barrier = join_for_one(a.barrier);
    const uint32_t half = a.model / 8;
    float4 *own = sums_of(a, blockIdx.x);
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        const uint32_t at = threadIdx.x + l * TWO_THREADS;
        if (at < half) {
            own[at] = make_float4(y[l][0], y[l][1], y[l][2], y[l][3]);
            own[half + at] = make_float4(y[l][4], y[l][5], y[l][6], y[l][7]);
        }
    }
    grid_barrier(barrier);
    add_up(a);
}

// The intermediate in registers: an element is made of a row of W1, multiplied into a row of the
// transposed W2 at once, and gone. What W2 has for these rows, and W1 for the next, is on its way
// while the block adds up.
template <int ROWS, int LOADS>
__device__ __forceinline__ void in_registers(const two_gemv_args &a)
{
    __shared__ float scratch[2][ROWS][WARPS];
    const uint32_t vectors = a.model / 8, step = gridDim.x * ROWS;
    some_rows<ROWS, LOADS> up, down;
    uint4 x[LOADS];
    float y[LOADS][8] = {}, h[ROWS];
    uint32_t turn = 0;

    up.load(a.up, blockIdx.x * ROWS, a.hidden, vectors);
    load_x(x, a.x, vectors);
#pragma unroll 1
    for (uint32_t row = blockIdx.x * ROWS; row < a.hidden; row += step, turn ^= 1) {
        const some_rows<ROWS, LOADS> now = up;
        down.load(a.down, row, a.hidden, vectors);
        if (row + step < a.hidden)
            up.load(a.up, row + step, a.hidden, vectors);
        intermediate(h, now, x, a.scale, scratch[turn]);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            h[r] = row + r < a.hidden ? h[r] : 0;
        spread(y, h, down);
    }
    add_up_blocks(a, y);
}

// In shared memory: all of a block's elements first, then their rows of W2.
template <int ROWS, int LOADS>
__device__ __forceinline__ void in_shared(const two_gemv_args &a)
{
    extern __shared__ float kept[]; // ROWS for every turn
    __shared__ float scratch[2][ROWS][WARPS];
    const uint32_t vectors = a.model / 8, step = gridDim.x * ROWS, first = blockIdx.x * ROWS;
    some_rows<ROWS, LOADS> rows;
    uint4 x[LOADS];
    float y[LOADS][8] = {}, h[ROWS];
    uint32_t turn = 0;

    rows.load(a.up, first, a.hidden, vectors);
    load_x(x, a.x, vectors);
#pragma unroll 1
    for (uint32_t row = first; row < a.hidden; row += step, turn++) {
        const some_rows<ROWS, LOADS> now = rows;
        if (row + step < a.hidden)
            rows.load(a.up, row + step, a.hidden, vectors);
        else
            rows.load(a.down, first, a.hidden, vectors);
        intermediate(h, now, x, a.scale, scratch[turn % 2]);
        if (threadIdx.x == 0)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                kept[turn * ROWS + r] = row + r < a.hidden ? h[r] : 0;
    }
    __syncthreads();
    turn = 0;
#pragma unroll 1
    for (uint32_t row = first; row < a.hidden; row += step, turn++) {
        const some_rows<ROWS, LOADS> now = rows;
        if (row + step < a.hidden)
            rows.load(a.down, row + step, a.hidden, vectors);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            h[r] = kept[turn * ROWS + r];
        spread(y, h, now);
    }
    add_up_blocks(a, y);
}

// Two rows of W2 from vector `at` on, four vectors of each in a thread.
struct some_of_two {
    uint4 w[TWO_ROWS][TWO_LOADS];
    __device__ __forceinline__ void load(const void *weights, uint32_t first, uint32_t rows,
                                         uint32_t vectors, uint32_t at)
    {
#pragma unroll
        for (int r = 0; r < TWO_ROWS; r++)
#pragma unroll
            for (int l = 0; l < TWO_LOADS; l++) {
                const uint32_t v = at + l * TWO_THREADS;
                const uint64_t row = min(first + r, rows - 1);
                w[r][l] = make_uint4(0, 0, 0, 0);
                if (v < vectors)
                    w[r][l] = load_once((const uint4 *)weights + row * vectors + v);
            }
    }
};

// In the L2: the first product as above, stored; a barrier of the grid; the second by rows. Its
// first weights are on their way before the barrier.
template <int ROWS, int LOADS>
__device__ __forceinline__ void in_l2(const two_gemv_args &a)
{
    extern __shared__ uint4 all_of_h[];
    __shared__ float scratch[2][ROWS][WARPS], of_two[2][TWO_ROWS][WARPS];
    const uint32_t vectors = a.model / 8, longer = a.hidden / 8, step = gridDim.x * ROWS;
    struct grid_barrier barrier = join_for_one(a.barrier);
    some_rows<ROWS, LOADS> up;
    some_of_two down;
    uint4 x[LOADS];
    float h[ROWS];
    uint32_t turn = 0;

    up.load(a.up, blockIdx.x * ROWS, a.hidden, vectors);
    load_x(x, a.x, vectors);
#pragma unroll 1
    for (uint32_t row = blockIdx.x * ROWS; row < a.hidden; row += step, turn ^= 1) {
        const some_rows<ROWS, LOADS> now = up;
        if (row + step < a.hidden)
            up.load(a.up, row + step, a.hidden, vectors);
        intermediate(h, now, x, a.scale, scratch[turn]);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (threadIdx.x == r && row + r < a.hidden)
                ((__nv_bfloat16 *)a.h)[row + r] = __float2bfloat16_rn(h[r]);
    }
    const uint32_t pairs = (a.model + TWO_ROWS - 1) / TWO_ROWS;
    down.load(a.down, blockIdx.x * TWO_ROWS, a.model, longer, threadIdx.x);
    grid_barrier(barrier);
    for (uint32_t i = threadIdx.x; i < longer; i += TWO_THREADS)
        all_of_h[i] = load_cg_128((const uint4 *)a.h + i);
    __syncthreads();

    float sum[TWO_ROWS] = {};
    uint32_t pair = blockIdx.x, at = threadIdx.x;
#pragma unroll 1
    while (pair < pairs) {
        const some_of_two now = down;
        const uint32_t from = at, done = pair;
        at += TWO_LOADS * TWO_THREADS;
        if (at - threadIdx.x >= longer) {
            at = threadIdx.x;
            pair += gridDim.x;
        }
        if (pair < pairs)
            down.load(a.down, pair * TWO_ROWS, a.model, longer, at);
#pragma unroll
        for (int l = 0; l < TWO_LOADS; l++)
            if (from + l * TWO_THREADS < longer) {
                const uint4 part = all_of_h[from + l * TWO_THREADS];
#pragma unroll
                for (int r = 0; r < TWO_ROWS; r++)
                    gemv_multiply(sum[r], now.w[r][l], part);
            }
        if (pair == done)
            continue;
        const float all = gemv_rows_sum(sum, of_two[turn]);
        if (threadIdx.x < TWO_ROWS && done * TWO_ROWS + threadIdx.x < a.model)
            ((__nv_bfloat16 *)a.y)[done * TWO_ROWS + threadIdx.x] = __float2bfloat16_rn(all);
        turn ^= 1;
        sum[0] = sum[1] = 0;
    }
}

#define PLACES(model, rows, loads)                                                                \
    extern "C" __global__ void __launch_bounds__(TWO_THREADS, TWO_BLOCKS)                         \
        two_gemv_registers_##model(const __grid_constant__ struct two_gemv_args a)                \
    {                                                                                             \
        in_registers<rows, loads>(a);                                                             \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(TWO_THREADS, TWO_BLOCKS)                         \
        two_gemv_shared_##model(const __grid_constant__ struct two_gemv_args a)                   \
    {                                                                                             \
        in_shared<rows, loads>(a);                                                                \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(TWO_THREADS, TWO_BLOCKS)                         \
        two_gemv_l2_##model(const __grid_constant__ struct two_gemv_args a)                       \
    {                                                                                             \
        in_l2<rows, loads>(a);                                                                    \
    }
// sass-loop: kernel=two_gemv_registers_2048 ldg128na=8 other<=367 local=0
// sass-loop: kernel=two_gemv_shared_2048 ldg128na=8 other<=332 local=0
// sass-loop: kernel=two_gemv_l2_2048 ldg128na>=8 guarded<=8 other<=453 local=0
PLACES(2048, 4, 1)
// sass-loop: kernel=two_gemv_registers_4096 ldg128na=12 other<=401 local=0
// sass-loop: kernel=two_gemv_shared_4096 ldg128na=12 other<=335 local=0
// sass-loop: kernel=two_gemv_l2_4096 ldg128na>=8 guarded<=8 other<=446 local=0
PLACES(4096, 3, 2)
// sass-loop: kernel=two_gemv_registers_8192 ldg128na=8 other<=233 local=0
// sass-loop: kernel=two_gemv_shared_8192 ldg128na=8 other<=176 local=0
// sass-loop: kernel=two_gemv_l2_8192 ldg128na>=8 guarded<=8 other<=446 local=0
PLACES(8192, 1, 4)

// --- checks --------------------------------------------------------------------------------------

// sass: none not a timed kernel
extern "C" __global__ void
two_gemv_transpose(const __grid_constant__ struct two_gemv_transpose_args a)
{
    const uint64_t all = (uint64_t)a.rows * a.columns, step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step)
        ((uint16_t *)a.to)[i] = ((const uint16_t *)a.from)[i % a.rows * a.columns + i / a.rows];
}

// The intermediate in fp64, an element a warp.
// sass: none not a timed kernel
extern "C" __global__ void two_gemv_reference(const __grid_constant__ struct two_gemv_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (uint32_t j = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; j < a.hidden; j += warps) {
        const __nv_bfloat16 *w = (const __nv_bfloat16 *)a.up + (uint64_t)j * a.model;
        double z = 0;
        for (uint32_t k = lane; k < a.model; k += 32)
            z += (double)__bfloat162float(w[k]) *
                 (double)__bfloat162float(((const __nv_bfloat16 *)a.x)[k]);
        z = a.scale * warp_reduce<adding>(z);
        if (lane == 0)
            a.h[j] = z / (1 + exp(-z));
    }
}

// And y, with the bound of a sum in fp32 rounded once, and of `roundings` of every element of the
// intermediate to bf16, which are independent: six standard deviations of what they come to.
// sass: none not a timed kernel
extern "C" __global__ void two_gemv_verify(const __grid_constant__ struct two_gemv_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    struct verdict own = {};
    for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < a.model; i += warps) {
        const __nv_bfloat16 *w = (const __nv_bfloat16 *)a.down + (uint64_t)i * a.hidden;
        double sum = 0, absolute = 0, squared = 0;
        for (uint32_t j = lane; j < a.hidden; j += 32) {
            const double product = (double)__bfloat162float(w[j]) * a.h[j];
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        sum = warp_reduce<adding>(sum);
        absolute = warp_reduce<adding>(absolute);
        squared = warp_reduce<adding>(squared);
        if (lane == 0)
            judge(&own, __bfloat162float(((const __nv_bfloat16 *)a.y)[i]), sum,
                  2 * 0x1p-8 * fabs(sum) + 8 * sqrt((double)a.hidden) * 0x1p-24 * absolute +
                      6 * a.roundings * 0x1p-9 * sqrt(squared) + 0x1p-25);
    }
    if (lane == 0)
        deliver(a.verdict, &own);
}
