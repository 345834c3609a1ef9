// Kernels of softmax: out = softmax(scale x in) over the columns within a row's length, as one
// kernel and as three; and the ways to spread one row over threads, blocks and SMs.
//
// All share this scheme. A thread takes up to four 16-byte vectors, all loads before any use, and
// keeps their exp2 relative to its own maximum. Parts merge (parts.cuh). Once the row's part is
// known, one multiplication turns an exp2 into a probability. The input bypasses the L1 unless the
// L2 shall keep it (load_group.cuh). Arithmetic is fp32.
#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#include "core/device/order.cuh"
#include "fused/common/load_group.cuh"
#include "fused/softmax/slice.cuh"

// --- one block a row ----------------------------------------------------------------------------

template <typename T> __device__ __forceinline__ void row(const softmax_args &a)
{
    __shared__ part scratch[SOFTMAX_THREADS / 32];
    const slice s = slice_of(a, blockIdx.x, 0);
    float e[SOFTMAX_VECTORS][lanes<T>];

    const part own = take<T>(s, threadIdx.x, e, a.keep);
    const part all = block_merge(own, scratch, s.c);
    give<T>(s, threadIdx.x, e, share(own.most, all, s.c));
}

// Reads the row twice; between the reads it keeps only the row's part.
template <typename T> __device__ __forceinline__ void online(const softmax_args &a)
{
    __shared__ part scratch[SOFTMAX_THREADS / 32];
    const slice s = slice_of(a, blockIdx.x, 0);

    const part all = block_merge(part_of<T>(s), scratch, s.c);
    read_again<T>(s, all);
}

// Reads the row once and keeps as much of it as one block can hold: HELD vectors a thread in
// registers, as 16-bit logits, and with REST the other vectors in shared memory. Every exponential
// is computed twice. In exchange the row takes half the registers, so two blocks fit an SM, and one
// can load while the other stores.
template <typename T, int HELD, bool REST> struct holder {
    uint4 bits[HELD > 0 ? HELD : 1];
    uint4 *shared;
    const slice &s;

    // Calls f(vector, where it is held) for every vector of this thread.
    template <typename F> __device__ __forceinline__ void each(F f)
    {
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const uint32_t at = threadIdx.x + i * SOFTMAX_HELD_THREADS;
            if (at >= s.end)
                return;
            f(at, bits[i]);
        }
        if (!REST)
            return;
#pragma unroll 4
        for (uint32_t at = threadIdx.x + HELD * SOFTMAX_HELD_THREADS; at < s.end;
             at += SOFTMAX_HELD_THREADS)
            f(at, shared[at - HELD * SOFTMAX_HELD_THREADS]);
    }
    __device__ __forceinline__ void logits(uint32_t at, uint4 held, float (&x)[lanes<T>]) const
    {
        unpack<T>(held, x);
        hide<T>(x, s, at);
    }
};

template <typename T, int HELD, bool REST>
__device__ __forceinline__ void held(const softmax_args &a)
{
    __shared__ part scratch[SOFTMAX_HELD_THREADS / 32];
    extern __shared__ uint4 dynamic[];
    const slice s = slice_of(a, blockIdx.x, 0);
    holder<T, HELD, REST> h = {{}, dynamic, s};
    part own = {-CUDART_INF_F, 0};
    float x[lanes<T>];

    // With the rest in shared memory it gains nothing by a choice.
    load_group<REST ? LOAD_ONCE : LOAD_BY_BRANCH, HELD>(a.keep, [&](auto load) {
        h.each([&](uint32_t at, uint4 &held) { held = load(s.in + at); });
    });
    h.each([&](uint32_t at, uint4 &held) {
        h.logits(at, held, x);
        own.most = fmaxf(own.most, of_all<greatest>(x));
    });
    h.each([&](uint32_t at, uint4 &held) {
        h.logits(at, held, x);
        for (int j = 0; j < lanes<T>; j++)
            x[j] = power(x[j], base(own.most), s.c);
        own.sum += of_all<adding>(x);
    });
    const part all = block_merge(own, scratch, s.c);
    h.each([&](uint32_t at, uint4 &held) { s.out[at] = normalised<T>(s, at, held, all); });
}

// --- several blocks a row -----------------------------------------------------------------------

// By a cluster. Every warp writes its part into the shared memory of every block; after one cluster
// barrier each block has all parts.
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void put(uint32_t address, part p)
{
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(p.most), "f"(p.sum)
                 : "memory");
}

template <typename T> __device__ __forceinline__ void cluster(const softmax_args &a)
{
    __shared__ part parts[SOFTMAX_CLUSTER * SOFTMAX_THREADS / 32];
    const uint32_t rank = cluster_rank(), warps = blockDim.x / 32, lane = threadIdx.x % 32;
    cluster_arrive_relaxed();
    const slice s = slice_of(a, blockIdx.x / a.parts, rank);
    float e[SOFTMAX_VECTORS][lanes<T>];

    const part own = take<T>(s, s.begin + threadIdx.x, e);
    const part of_warp = warp_merge(own, s.c);
    cluster_wait_relaxed(); // all blocks must have begun: before, they have no shared memory
    if (lane < a.parts)
        put(cluster_map(shared_address(parts + rank * warps + threadIdx.x / 32), lane), of_warp);
    cluster_arrive();
    cluster_wait();
    const part all = merge_all(parts, a.parts * warps, s.c);
    give<T>(s, s.begin + threadIdx.x, e, share(own.most, all, s.c));
}
#endif

// By two kernels; no block waits for another.
template <typename T> __device__ __forceinline__ void partial(const softmax_args &a)
{
    __shared__ part scratch[SOFTMAX_THREADS / 32];
    const slice s = slice_of(a, blockIdx.x / a.parts, blockIdx.x % a.parts);
    const part own = block_merge(part_of<T>(s), scratch, s.c);
    if (threadIdx.x == 0)
        ((part *)a.partial)[blockIdx.x] = own;
}

template <typename T, bool MERGED> __device__ __forceinline__ void finish(const softmax_args &a)
{
    __shared__ part parts[SOFTMAX_PARTS];
    const uint32_t row = blockIdx.x / a.parts, number = blockIdx.x % a.parts;
    const slice s = slice_of(a, row, number);
    const part *of_row = (const part *)a.partial + (uint64_t)row * a.parts;

    if (MERGED)
        for (uint32_t i = threadIdx.x; i < a.parts; i += blockDim.x)
            parts[i] = of_row[i];
    __syncthreads();
    read_again<T>(s, MERGED ? merge_all(parts, a.parts, s.c) : of_row[number]);
}

// By one launch in which no block waits: the last block to arrive merges all parts, reads the row
// again and writes it alone.
template <typename T> __device__ __forceinline__ void last(const softmax_args &a)
{
    __shared__ part parts[SOFTMAX_PARTS];
    __shared__ bool is_last;
    slice s = slice_of(a, a.row, blockIdx.x);
    part *shared_by_all = (part *)a.partial;
    const part own = block_merge(part_of<T>(s), parts, s.c);

    if (threadIdx.x == 0) {
        shared_by_all[blockIdx.x] = own;
        __threadfence();
        is_last = atomicAdd(&a.state->ticket, 1u) == a.parts - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    for (uint32_t i = threadIdx.x; i < a.parts; i += blockDim.x) {
        const float2 p = __ldcg((const float2 *)shared_by_all + i);
        parts[i] = {p.x, p.y};
    }
    __syncthreads();
    s.begin = 0;
    s.end = a.vectors;
    read_again<T>(s, merge_all(parts, a.parts, s.c));
    if (threadIdx.x == 0)
        a.state->ticket = 0;
}

// By one launch whose blocks are all resident. Each holds its slice, and they wait for each other.
// A part is its own flag: its 8 bytes are written and read in one access. Before that all its bits
// are set, which no part has (`most` is never NaN). Launches alternate between two sets of slots;
// each launch clears the other set.
enum : uint64_t { NOT_YET = ~0ull };

__device__ __forceinline__ void publish(uint64_t *slot, uint64_t bits)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(bits) : "memory");
}

__device__ __forceinline__ uint64_t look(const uint64_t *slot)
{
    uint64_t bits;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(slot) : "memory");
    return bits;
}

// Gives up when the budget is spent; then the part is NaN, and so is the row.
__device__ __forceinline__ part wait_for(const uint64_t *slot, softmax_state *state)
{
    uint64_t bits, came_ns = 0;
    for (uint32_t polls = 1; (bits = look(slot)) == NOT_YET; polls++) {
        if (polls % 64 != 0)
            continue;
        if (came_ns == 0)
            came_ns = clock_ns();
        if (clock_ns() - came_ns > SOFTMAX_BUDGET_NS || load_relaxed(&state->aborted)) {
            store_relaxed(&state->aborted, 1);
            return {CUDART_NAN_F, CUDART_NAN_F};
        }
    }
    return {__uint_as_float((uint32_t)bits), __uint_as_float((uint32_t)(bits >> 32))};
}

template <typename T> __device__ __forceinline__ void grid(const softmax_args &a)
{
    __shared__ part parts[SOFTMAX_PARTS];
    __shared__ uint32_t shared_turn;
    const slice s = slice_of(a, a.row, blockIdx.x);
    float e[SOFTMAX_VECTORS][lanes<T>];

    if (threadIdx.x == 0) {
        shared_turn = load_relaxed(&a.state->turn);
        publish(&a.state->slots[~shared_turn & 1][blockIdx.x], NOT_YET);
    }
    const part own = take<T>(s, s.begin + threadIdx.x, e);
    __syncthreads();
    uint64_t *slots = a.state->slots[shared_turn & 1];
    const part of_block = block_merge(own, parts, s.c);
    if (threadIdx.x == 0)
        publish(slots + blockIdx.x, (uint64_t)__float_as_uint(of_block.sum) << 32 |
                                        __float_as_uint(of_block.most));
    __syncthreads(); // block_merge has read `parts`
    for (uint32_t i = threadIdx.x; i < a.parts; i += blockDim.x)
        parts[i] = wait_for(slots + i, a.state);
    __syncthreads(); // after it, all blocks have arrived and have read `turn`
    if (blockIdx.x == 0 && threadIdx.x == 0)
        store_relaxed(&a.state->turn, shared_turn + 1);
    const part all = merge_all(parts, a.parts, s.c);
    give<T>(s, s.begin + threadIdx.x, e, share(own.most, all, s.c));
}

// --- operator by operator -----------------------------------------------------------------------

// SCALE: y = scale x. MASK: y = x with the mask applied. FILL: the mask as a tensor. ADD: y = x +
// mask. The softmax of the chain is the fused kernel, with neither scale nor mask.
enum operator_ { SCALE, MASK, FILL, ADD };

template <typename T, operator_ OPERATOR>
__device__ __forceinline__ void apply(const softmax_args &a)
{
    const uint32_t row = blockIdx.x / a.parts;
    const slice s = slice_of(a, row, blockIdx.x % a.parts);
    const uint4 *mask = (const uint4 *)a.mask + (uint64_t)row * a.vectors;
    const uint32_t first = s.begin + threadIdx.x;
    uint4 bits[SOFTMAX_VECTORS] = {}, more[SOFTMAX_VECTORS] = {};

    load_group<LOAD_BY_BRANCH, SOFTMAX_VECTORS>(a.keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < SOFTMAX_VECTORS; i++)
            if (first + i * blockDim.x < s.end) {
                if (OPERATOR != FILL)
                    bits[i] = load(s.in + first + i * blockDim.x);
                if (OPERATOR == ADD)
                    more[i] = load(mask + first + i * blockDim.x);
            }
    });
#pragma unroll
    for (int i = 0; i < SOFTMAX_VECTORS; i++)
        if (first + i * blockDim.x < s.end) {
            float x[lanes<T>], y[lanes<T>];
            unpack<T>(bits[i], x);
            unpack<T>(more[i], y);
            if (OPERATOR == MASK || OPERATOR == FILL)
                hide<T>(x, s, first + i * blockDim.x);
#pragma unroll
            for (int j = 0; j < lanes<T>; j++)
                x[j] = OPERATOR == SCALE ? a.scale * x[j] : OPERATOR == ADD ? x[j] + y[j] : x[j];
            s.out[first + i * blockDim.x] = pack<T>(x);
        }
}

// --- the kernels --------------------------------------------------------------------------------

#define KERNEL(type, name, threads, call) KERNEL_OF(type, name, threads, 1, call)
#define KERNEL_OF(type, name, threads, blocks, call)                                              \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                 \
        softmax_##name##_##type(const __grid_constant__ struct softmax_args a)                    \
    {                                                                                             \
        call;                                                                                     \
    }

#define KERNELS(type)                                                                             \
    KERNEL(type, row, SOFTMAX_THREADS, row<type>(a))                                              \
    KERNEL(type, online, SOFTMAX_THREADS, online<type>(a))                                        \
    KERNEL(type, held, SOFTMAX_HELD_THREADS, (held<type, SOFTMAX_HELD, true>(a)))                 \
    KERNEL(type, shared, SOFTMAX_HELD_THREADS, (held<type, 0, true>(a)))                          \
    KERNEL_OF(type, pair, SOFTMAX_HELD_THREADS, 2, (held<type, SOFTMAX_PAIR, false>(a)))          \
    KERNEL(type, partial, SOFTMAX_THREADS, partial<type>(a))                                      \
    KERNEL(type, finish, SOFTMAX_THREADS, (finish<type, true>(a)))                                \
    KERNEL(type, unmerged, SOFTMAX_THREADS, (finish<type, false>(a)))                             \
    KERNEL(type, last, SOFTMAX_THREADS, last<type>(a))                                            \
    KERNEL(type, grid, SOFTMAX_THREADS, grid<type>(a))                                            \
    KERNEL(type, scale, SOFTMAX_SMALL_THREADS, (apply<type, SCALE>(a)))                           \
    KERNEL(type, mask, SOFTMAX_SMALL_THREADS, (apply<type, MASK>(a)))                             \
    KERNEL(type, fill, SOFTMAX_SMALL_THREADS, (apply<type, FILL>(a)))                             \
    KERNEL(type, add, SOFTMAX_SMALL_THREADS, (apply<type, ADD>(a)))

// sass-all: kernel=softmax_row_* ldg128=8 ldg128na=4 stg128=4 local=0 looped together
// sass-all: kernel=softmax_grid_* ldg128na=4 stg128=4 local=0 looped together
// sass-loop: kernel=softmax_held_* ldg128na=4 other<=39 local=0 arch=75,80,86,89,90a
// sass-loop: kernel=softmax_held_* ldg128na=4 other<=25 local=0 arch=100+
// sass-loop: kernel=softmax_shared_* ldg128na=4 other<=37 local=0 arch=75,80,86,89,90a
// sass-loop: kernel=softmax_shared_* ldg128na=4 other<=12 local=0 arch=100+
// sass-all: kernel=softmax_pair_* ldg128=16 ldg128na=8 stg128=8 local=0 regs<=64 looped together
// sass-loop: kernel=softmax_online_* ldg128na=2 guarded<=2 other<=204 local=0 together
// sass-loop: kernel=softmax_partial_* ldg128na=2 guarded<=2 other<=204 local=0 together
// sass-loop: kernel=softmax_finish_* ldg128na=2 stg128=2 guarded<=2 other<=379 local=0 together
// sass-and: arch=75
// sass-loop: kernel=softmax_finish_* ldg128na=2 stg128=2 guarded<=2 other<=192 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=softmax_last_* ldg128na=2 guarded<=2 other<=208 local=0 together
// sass-all: kernel=softmax_scale_* ldg128=8 ldg128na=4 stg128=4 local=0 together
// sass-all: kernel=softmax_mask_* ldg128=8 ldg128na=4 stg128=4 local=0 together
// sass-all: kernel=softmax_fill_* ldg128=0 stg128=4 local=0
// sass-all: kernel=softmax_add_* ldg128=16 ldg128na=8 stg128=4 local=0 together
// sass-loop: kernel=softmax_unmerged_* ldg128na=2 stg128=2 guarded<=2 other<=380 local=0 together
// sass-and: arch=75
// sass-loop: kernel=softmax_unmerged_* ldg128na=2 stg128=2 guarded<=2 other<=192 local=0 together
// sass-and: arch=80+
KERNELS(fp16)
KERNELS(bf16)
KERNELS(fp32)

#if __CUDA_ARCH__ >= 900
// sass-all: kernel=softmax_cluster_* arch=90a+ ldg128na=4 stg128=4 local=0 looped together
KERNEL(fp16, cluster, SOFTMAX_THREADS, cluster<fp16>(a))
KERNEL(bf16, cluster, SOFTMAX_THREADS, cluster<bf16>(a))
KERNEL(fp32, cluster, SOFTMAX_THREADS, cluster<fp32>(a))
#endif
