// Kernels of occupancy. They read with a fixed number of loads in flight per thread, read by other
// paths than loads, chase rings that stay in the SM, and count the resident blocks of an SM.
#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/order.cuh"
#include "probes/occupancy/args.h"

__device__ __forceinline__ void count_block(uint32_t *census)
{
    if (census && threadIdx.x == 0)
        atomicAdd(census + sm_id(), 1u);
}

// The data read goes into registers, and is XORed into *check if that is not NULL: the host knows
// the result.
__device__ __forceinline__ void hand_over(const struct occupancy_args &a, uint32_t sum)
{
    if (a.check)
        atomicXor(a.check, sum);
    count_block(a.census);
}

// --- loads
// -------------------------------------------------------------------------------------------

// Cached in L2 only, each one instruction.
struct load_16 {
    uint4 v;
    __device__ __forceinline__ void load(const void *p) { v = load_cg_128(p); }
    __device__ __forceinline__ uint32_t fold() const { return v.x ^ v.y ^ v.z ^ v.w; }
};
struct load_4 {
    uint32_t v;
    __device__ __forceinline__ void load(const void *p)
    {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    }
    __device__ __forceinline__ uint32_t fold() const { return v; }
};

// All threads of the grid read neighbouring elements. Each turn of the loop issues LOADS loads
// before it uses the first. They are used in reverse order; otherwise the assembler would begin to
// use the first before it has issued the last, and fewer would be in flight than the case's name
// says. The loop is not unrolled: a second turn's loads would be in flight too.
template <typename LOAD, int LOADS>
__device__ __forceinline__ void read(const struct occupancy_args &a)
{
    constexpr uint32_t EACH = 16 / sizeof(LOAD); // loads per element
    uint32_t threads = gridDim.x * blockDim.x, mask = a.mask * EACH + EACH - 1;
    uint32_t at = a.first * EACH + blockIdx.x * blockDim.x + threadIdx.x;
    const LOAD *in = (const LOAD *)a.in;
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        LOAD v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            v[i].load(in + ((at + i * threads) & mask));
#pragma unroll
        for (int i = LOADS - 1; i >= 0; i--)
            sum ^= v[i].fold();
        at += LOADS * threads;
    }
    hand_over(a, sum);
}

#define READ(name, LOAD, LOADS, THREADS)                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                       \
        occupancy_##name(const __grid_constant__ struct occupancy_args a)                          \
    {                                                                                              \
        read<LOAD, LOADS>(a);                                                                      \
    }

// sass-loop: kernel=occupancy_read_1 ldg128.gpu=1 other<=10 exits<=2 local=0 moving regs<=18
// sass-loop: kernel=occupancy_read_2 ldg128.gpu=2 other<=14 exits<=2 local=0 together moving
// sass-and: regs<=24
// sass-loop: kernel=occupancy_read_4 ldg128.gpu=4 other<=25 exits<=2 local=0 together moving
// sass-and: regs<=32
// sass-loop: kernel=occupancy_read_8 ldg128.gpu=8 other<=45 exits<=2 local=0 together moving
// sass-and: regs<=56
// sass-loop: kernel=occupancy_read_16 ldg128.gpu=16 other<=85 exits<=2 local=0 together moving
// sass-and: regs<=128
// sass-loop: kernel=occupancy_read_32 ldg128.gpu=32 other<=165 exits<=2 local=0 together moving
// sass-and: regs<=255
READ(read_1, load_16, 1, 1024)
READ(read_2, load_16, 2, 1024)
READ(read_4, load_16, 4, 1024)
READ(read_8, load_16, 8, 1024)
READ(read_16, load_16, 16, 256)
READ(read_32, load_16, 32, 256)

// sass-loop: kernel=occupancy_words_4 ldg32.gpu=4 other<=19 exits<=2 local=0 together moving
// sass-and: regs<=24
// sass-loop: kernel=occupancy_words_16 ldg32.gpu=16 other<=61 exits<=2 local=0 together moving
// sass-and: regs<=64
READ(words_4, load_4, 4, 1024)
READ(words_16, load_4, 16, 1024)

// --- asynchronous copies
// ------------------------------------------------------------------------------

// Copies fill a ring of stages in shared memory, and the warps only read from there. A turn reads
// one stage: the block's share of what the grid reads in that turn.
__device__ __forceinline__ const char *stage_in_memory(const struct occupancy_args &a,
                                                       uint32_t turn)
{
    uint32_t at = a.first + (turn * gridDim.x + blockIdx.x) * (a.stage / 16);
    return (const char *)a.in + (uint64_t)(at & a.mask) * 16;
}

// A stage is a multiple of what the warps read at a time. Each thread overlaps PIECES loads;
// otherwise a few warps would wait for one load after another.
template <int WARPS, int PIECES>
__device__ __forceinline__ uint32_t fold_stage(const char *stage, uint32_t bytes)
{
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t i = 16 * threadIdx.x; i < bytes; i += 512 * WARPS * PIECES) {
        uint4 v[PIECES];
#pragma unroll
        for (int k = 0; k < PIECES; k++)
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "r"(shared_address(stage + i) + k * 512 * WARPS)
                         : "memory");
#pragma unroll
        for (int k = PIECES - 1; k >= 0; k--)
            sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    return sum;
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

// Each thread reads only what it copied itself: no barrier is needed.
template <int WARPS, int PIECES>
__device__ __forceinline__ void cp_async_ring(const struct occupancy_args &a)
{
    extern __shared__ uint4 ring[];
    uint32_t sum = 0;

    for (uint32_t turn = 0; turn < a.turns + OCCUPANCY_STAGES; turn++) {
        char *stage = (char *)ring + turn % OCCUPANCY_STAGES * a.stage;
        if (turn >= OCCUPANCY_STAGES) {
            cp_async_wait<OCCUPANCY_STAGES - 1>();
            sum ^= fold_stage<WARPS, PIECES>(stage, a.stage);
        }
        if (turn < a.turns) {
            const char *from = stage_in_memory(a, turn);
#pragma unroll 1
            for (uint32_t i = 16 * threadIdx.x; i < a.stage; i += 512 * WARPS * PIECES)
#pragma unroll
                for (int k = 0; k < PIECES; k++)
                    cp_async_16(shared_address(stage + i) + k * 512 * WARPS,
                                from + i + k * 512 * WARPS);
        }
        cp_async_commit();
    }
    hand_over(a, sum);
}

#endif
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

enum { BULK_BUDGET_NS = 100000000 };

// A copy that never comes ends the kernel with an error: a probe never hangs.
__device__ __forceinline__ void bulk_wait(uint32_t barrier, uint32_t parity)
{
    uint64_t began = 0;
    for (;;) {
        if (mbarrier_try_wait(barrier, parity))
            return;
        uint64_t now = clock_ns();
        began = began ? began : now;
        if (now - began > BULK_BUDGET_NS)
            __trap();
    }
}

// One thread requests a whole stage by one instruction, as soon as all have read the one before.
template <int WARPS, int PIECES>
__device__ __forceinline__ void bulk_ring(const struct occupancy_args &a)
{
    extern __shared__ uint4 ring[];
    __shared__ uint64_t barriers[OCCUPANCY_STAGES];
    uint32_t full = shared_address(barriers), sum = 0;

    if (threadIdx.x == 0) {
        for (int i = 0; i < OCCUPANCY_STAGES; i++)
            mbarrier_make(full + 8 * i, 1);
        mbarrier_made();
    }
    __syncthreads();
    for (uint32_t turn = 0; turn < a.turns + OCCUPANCY_STAGES; turn++) {
        uint32_t slot = turn % OCCUPANCY_STAGES;
        char *stage = (char *)ring + slot * a.stage;
        if (turn >= OCCUPANCY_STAGES) {
            bulk_wait(full + 8 * slot, (turn / OCCUPANCY_STAGES - 1) & 1);
            sum ^= fold_stage<WARPS, PIECES>(stage, a.stage);
            __syncthreads();
        }
        if (turn < a.turns && threadIdx.x == 0) {
            mbarrier_expect(full + 8 * slot, a.stage);
            bulk_load(shared_address(stage), stage_in_memory(a, turn), a.stage, full + 8 * slot);
        }
    }
    hand_over(a, sum);
}

#endif

#define RING(path, WARPS, PIECES)                                                                  \
    extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)                                    \
        occupancy_##path##_##WARPS(const __grid_constant__ struct occupancy_args a)                \
    {                                                                                              \
        path##_ring<WARPS, PIECES>(a);                                                             \
    }

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
// sass-loop: kernel=occupancy_cp_async_1 lds128=8 other<=21 local=0 arch=80+
// sass-loop: kernel=occupancy_cp_async_4 lds128=4 other<=13 local=0 together arch=80+
// sass-loop: kernel=occupancy_cp_async_1 ldgsts.bypass.weak=8 other<=13 exits<=2 local=0 moving
// sass-and: arch=80+
// sass-loop: kernel=occupancy_cp_async_4 ldgsts.bypass.weak=4 other<=14 exits<=2 local=0 moving
// sass-and: arch=80+
RING(cp_async, 1, 8)
RING(cp_async, 4, 4)
#endif
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
// sass-loop: kernel=occupancy_bulk_1 lds128=8 other<=21 local=0 arch=90a+
// sass-loop: kernel=occupancy_bulk_4 lds128=4 other<=13 local=0 together arch=90a+
// sass-loop: kernel=occupancy_bulk_? ublkcp=1 lds128>=4 other<=111 exits<=2 local=0 outer moving
// sass-and: arch=90a+
// sass-loop: kernel=occupancy_cp_async_? depbar.3=1 depbar=1 ldgdepbar=1 other<=82 outer arch=80+
RING(bulk, 1, 8)
RING(bulk, 4, 4)
#endif

// --- chases that stay in the SM
// ----------------------------------------------------------------------

struct hit_shared {
    typedef uint32_t address;
    static __device__ __forceinline__ void step(uint32_t &p)
    {
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
    }
};
struct hit_l1 {
    typedef uint64_t address;
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};
struct hit_l2 {
    typedef uint64_t address;
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};

// The address of this lane's element in row i.
template <typename ADDRESS>
__device__ __forceinline__ ADDRESS element(const struct occupancy_ring &r, ADDRESS base, uint32_t i)
{
    ADDRESS lane = threadIdx.x % 32 * r.stride * r.element;
    return base + (ADDRESS)(i % r.layers * r.pitch) +
           (ADDRESS)(i / r.layers * 32 * r.stride * r.element) + lane;
}

// Every warp follows CHAINS chains through the ring, each from another row. Each thread has CHAINS
// loads in flight, and a load's address is the value of the load before it in the chain.
template <typename HIT, int CHAINS>
__device__ __forceinline__ void chase(const struct occupancy_chase_args &a,
                                      typename HIT::address base)
{
    typename HIT::address p[CHAINS];
    uint32_t first = threadIdx.x / 32 * CHAINS, steps = a.turns * OCCUPANCY_STEPS;
#pragma unroll
    for (uint32_t j = 0; j < CHAINS; j++)
        p[j] = element(a.ring, base, (first + j) % a.ring.rows);

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.turns; turn++)
#pragma unroll
        for (int s = 0; s < OCCUPANCY_STEPS; s++)
#pragma unroll
            for (int j = 0; j < CHAINS; j++)
                HIT::step(p[j]);

#pragma unroll
    for (uint32_t j = 0; j < CHAINS; j++)
        if (p[j] != element(a.ring, base, (first + j + steps) % a.ring.rows))
            atomicAdd(a.wrong, 1u);
    count_block(a.census);
}

template <int CHAINS>
__device__ __forceinline__ void chase_shared(const struct occupancy_chase_args &a)
{
    __shared__ uint32_t ring[OCCUPANCY_RING_BYTES / 4];
    uint32_t base = shared_address(ring), n_warps = blockDim.x / 32;
    for (uint32_t i = threadIdx.x / 32; i < a.ring.rows; i += n_warps)
        ring[(element(a.ring, base, i) - base) / 4] = element(a.ring, base, (i + 1) % a.ring.rows);
    __syncthreads();
    chase<hit_shared, CHAINS>(a, base);
}

#define CHASE(name, call)                                                                          \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                          \
        occupancy_chase_##name(const __grid_constant__ struct occupancy_chase_args a)              \
    {                                                                                              \
        call;                                                                                      \
    }

// sass-loop: kernel=occupancy_chase_shared_1 lds32=8 other<=3 exits<=2 local=0
// sass-loop: kernel=occupancy_chase_shared_4 lds32=32 other<=3 exits<=2 local=0
// sass-loop: kernel=occupancy_chase_shared_8 lds32=64 other<=3 exits<=2 local=0
CHASE(shared_1, chase_shared<1>(a))
CHASE(shared_4, chase_shared<4>(a))
CHASE(shared_8, chase_shared<8>(a))

// sass-loop: kernel=occupancy_chase_l1_1 ldg64.cta=8 other<=5 exits<=2 local=0 smem=0
// sass-loop: kernel=occupancy_chase_l2_1 ldg64.gpu=8 other<=5 exits<=2 local=0 smem=0
// sass-loop: kernel=occupancy_chase_l1_4 ldg64.cta=32 other<=3 exits<=2 local=0 smem=0
// sass-loop: kernel=occupancy_chase_l1_8 ldg64.cta=64 other<=3 exits<=2 local=0 smem=0
CHASE(l1_1, (chase<hit_l1, 1>(a, (uint64_t)a.ring.base)))
CHASE(l1_4, (chase<hit_l1, 4>(a, (uint64_t)a.ring.base)))
CHASE(l1_8, (chase<hit_l1, 8>(a, (uint64_t)a.ring.base)))
CHASE(l2_1, (chase<hit_l2, 1>(a, (uint64_t)a.ring.base)))

// sass: none not a timed kernel
extern "C" __global__ void occupancy_ring(const __grid_constant__ struct occupancy_ring a)
{
    uint32_t n_warps = gridDim.x * (blockDim.x / 32);
    for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < a.rows; i += n_warps)
        *(uint64_t *)element(a, (uint64_t)a.base, i) =
            element(a, (uint64_t)a.base, (i + 1) % a.rows);
}

// --- residency
// ---------------------------------------------------------------------------------------

// A block registers with its SM, and stays until no other block has come there for a while: by then
// the SM is full. The most blocks that were there at once is the number that fits.
__device__ __forceinline__ void stay(const struct occupancy_reside_args &a)
{
    if (threadIdx.x == 0) {
        uint32_t sm = sm_id();
        uint64_t came = clock_ns(), now;
        volatile const uint64_t *last = a.last + sm;
        atomicMax((unsigned long long *)a.last + sm, (unsigned long long)came);
        atomicMax(a.most + sm, add_relaxed(a.alive + sm, 1) + 1);
        do
            now = clock_ns();
        while (now < *last + a.settle_ns && now - came < a.budget_ns);
        add_relaxed(a.alive + sm, ~0u);
    }
    __syncthreads();
}

// Keeps VALUES registers alive throughout.
template <int VALUES> __device__ __forceinline__ void reside(const struct occupancy_reside_args &a)
{
    uint32_t v[VALUES], sum = 0;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
        asm volatile("ld.global.u32 %0, [%1];"
                     : "=r"(v[i])
                     : "l"(a.in + 32 * i + threadIdx.x % 32));
    stay(a);
#pragma unroll
    for (int i = 0; i < VALUES; i++)
        sum ^= v[i];
    if (sum == 0x5eedf100u)
        *a.sink = sum;
}

#define RESIDE(registers, VALUES)                                                                  \
    extern "C" __global__ void __maxnreg__(registers)                                              \
        occupancy_reside_##registers(const __grid_constant__ struct occupancy_reside_args a)       \
    {                                                                                              \
        reside<VALUES>(a);                                                                         \
    }

// Registers are allocated in eights: the number is so near to the one in the name that none is left
// over.
// sass-all: kernel=occupancy_reside_32 ldg32=18 atomg=1 reds=3 cs2r>=1 regs>=25 regs<=32 local=0
// sass-and: smem=0 looped
// sass-all: kernel=occupancy_reside_64 ldg32=48 atomg=1 reds=3 cs2r>=1 regs>=57 regs<=64 local=0
// sass-and: smem=0 looped
// sass-all: kernel=occupancy_reside_128 ldg32=112 atomg=1 reds=3 cs2r>=1 regs>=121 regs<=128
// sass-and: local=0 smem=0 looped
// sass-all: kernel=occupancy_reside_255 ldg32=238 atomg=1 reds=3 cs2r>=1 regs>=249 regs<=255
// sass-and: local=0 smem=0 looped
RESIDE(32, 18)
RESIDE(64, 48)
RESIDE(128, 112)
RESIDE(255, 238)

// The same with local memory: a stack of its own for each thread, written and read back.
// sass-all: local>=2 regs<=32 smem=0 looped
extern "C" __global__ void __maxnreg__(32)
occupancy_reside_stack(const __grid_constant__ struct occupancy_reside_args a)
{
    volatile uint32_t *mine = (volatile uint32_t *)__builtin_alloca(a.stack_bytes);
    uint32_t words = a.stack_bytes / 4, wrong = 0;
    for (uint32_t i = 0; i < words; i++)
        mine[i] = a.in[i] + threadIdx.x;
    stay(a);
    for (uint32_t i = 0; i < words; i++)
        wrong |= mine[i] ^ (a.in[i] + threadIdx.x);
    if (wrong)
        *a.sink = wrong;
}
