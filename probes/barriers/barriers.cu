// Kernels of barriers: what a barrier costs, and whether it orders memory.
#include <cooperative_groups.h>

#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "core/device/order.cuh"
#include "probes/barriers/args.h"
#include "probes/common/counter_barrier.cuh"

// --- barriers of a block -------------------------------------------------------------------------

// What a step needs and knows before the clock starts. The steps of a launch are numbered, for
// barriers whose phases differ in parity.
struct block_site {
    uint32_t threads;  // that take part
    uint32_t mbarrier; // its address in shared memory
    bool leads;        // lane 0 of its warp
};

struct block_syncthreads {
    static __device__ __forceinline__ void step(const struct block_site &, int) { __syncthreads(); }
};

struct block_named {
    static __device__ __forceinline__ void step(const struct block_site &s, int)
    {
        asm volatile("bar.sync 1, %0;" ::"r"(s.threads) : "memory");
    }
};

// The two halves of the block hand a turn to each other: wait for the other half, then signal it.
// One step is two handoffs.
template <int MINE, int THEIRS> struct block_handoff {
    static __device__ __forceinline__ void step(const struct block_site &s, int)
    {
        asm volatile("bar.sync %0, %1;" ::"n"(MINE), "r"(s.threads) : "memory");
        asm volatile("bar.arrive %0, %1;" ::"n"(THEIRS), "r"(s.threads) : "memory");
    }
};

#if __CUDA_ARCH__ >= 800
// One thread of each warp arrives, all wait by polling, as on sm_80.
struct block_mbarrier_test {
    static __device__ __forceinline__ void step(const struct block_site &s, int i)
    {
        if (s.leads)
            asm volatile("{ .reg .b64 phase; mbarrier.arrive.shared.b64 phase, [%0]; }" ::"r"(
                             s.mbarrier)
                         : "memory");
        asm volatile("{ .reg .pred done;\n"
                     "again: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
                     "@!done bra again; }" ::"r"(s.mbarrier),
                     "r"(i & 1)
                     : "memory");
    }
};
#endif

#if __CUDA_ARCH__ >= 900
// The same with a wait that the hardware may put to sleep.
struct block_mbarrier_try {
    static __device__ __forceinline__ void step(const struct block_site &s, int i)
    {
        if (s.leads)
            mbarrier_arrive(s.mbarrier);
        mbarrier_wait(s.mbarrier, i & 1);
    }
};
#endif

template <int STEPS, typename STEP, typename SITE>
__device__ __forceinline__ void steps(const SITE &site)
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        STEP::step(site, i);
}

// The measurement, by every thread. The first thread records it in shared memory and writes it out
// only at the end, because a fence waits for stores in flight. Two untimed steps come first, so
// that parities begin at even.
template <typename STEP, typename SITE>
__device__ __forceinline__ void measure_near(const struct near_args &a, const SITE &site,
                                             bool first)
{
    __shared__ struct barriers_sample samples[BARRIERS_REPEATS];
    struct clock_pair lead = clock_edge();
#pragma unroll 1
    for (uint32_t i = 0; i < BARRIERS_REPEATS; i++) {
        steps<2, STEP>(site);
        uint64_t t0 = clock_cycles();
        steps<BARRIERS_SHORT, STEP>(site);
        uint64_t t1 = clock_cycles();
        steps<BARRIERS_LONG, STEP>(site);
        uint64_t t2 = clock_cycles();
        if (first)
            samples[i] = {t1 - t0, t2 - t1};
    }
    struct clock_pair tail = clock_edge();
    if (!first)
        return;
    a.result->lead = {lead.cycles, lead.ns};
    a.result->tail = {tail.cycles, tail.ns};
    for (uint32_t i = 0; i < BARRIERS_REPEATS; i++)
        a.result->sample[i] = samples[i];
}

template <typename STEP> __device__ __forceinline__ void measure_block(const struct near_args &a)
{
    __shared__ uint64_t phase;
    struct block_site site = {blockDim.x, shared_address(&phase), threadIdx.x % 32 == 0};

#if __CUDA_ARCH__ >= 800
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(site.mbarrier),
                     "r"(blockDim.x / 32)
                     : "memory");
#endif
    __syncthreads();
    measure_near<STEP>(a, site, threadIdx.x == 0);
}

// sass: clocks=7 bar.block=*,32,64 other<=*,0,1
extern "C" __global__ void __launch_bounds__(1024)
barriers_block_syncthreads(const __grid_constant__ struct near_args a)
{
    measure_block<block_syncthreads>(a);
}

// sass: clocks=7 bar.sync.counted=*,32,64 other<=*,0,1
extern "C" __global__ void __launch_bounds__(1024)
barriers_block_named(const __grid_constant__ struct near_args a)
{
    measure_block<block_named>(a);
}

// The second half arrives once before it waits; the first half waits once more at the end.
// ptxas drops the clock reads of the second half, which nobody uses.
// sass: clocks=11 bar.sync.counted=*,*,32,64 bar.arv.counted=*,*,32,64 other<=*,*,0,0 looped
// sass-and: arch=75,80,86,89,90a
// sass: clocks=11 bar.sync.counted=*,32,64,*,* bar.arv.counted=*,32,64,*,* other<=*,0,1,*,* looped
// sass-and: arch=100+
extern "C" __global__ void __launch_bounds__(1024)
barriers_block_handoff(const __grid_constant__ struct near_args a)
{
    struct block_site site = {blockDim.x, 0, false};
    if (threadIdx.x < blockDim.x / 2) {
        measure_near<block_handoff<1, 2>>(a, site, threadIdx.x == 0);
        asm volatile("bar.sync 1, %0;" ::"r"(site.threads) : "memory");
    } else {
        asm volatile("bar.arrive 1, %0;" ::"r"(site.threads) : "memory");
        measure_near<block_handoff<2, 1>>(a, site, false);
    }
}

#if __CUDA_ARCH__ >= 800
// sass: clocks=7 atoms=*,32,64 lds=*,32,64 other<=*,192,383 waited looped arch=80,86,89
// sass: clocks=7 syncs=*,32,64 syncs.guarded=*,32,64 other<=*,32,66 looped arch=90a+
extern "C" __global__ void __launch_bounds__(1024)
barriers_block_mbarrier_test(const __grid_constant__ struct near_args a)
{
    measure_block<block_mbarrier_test>(a);
}
#endif

// --- barriers of a cluster -----------------------------------------------------------------------

#if __CUDA_ARCH__ >= 900

// sass: clocks=7 syncs=*,32,64 syncs.guarded=*,32,64 other<=*,32,66 looped arch=90a+
extern "C" __global__ void __launch_bounds__(1024)
barriers_block_mbarrier_try(const __grid_constant__ struct near_args a)
{
    measure_block<block_mbarrier_try>(a);
}

struct cluster_site {
    uint32_t *global; // this thread's word in global memory
    uint32_t remote;  // its word in the shared memory of the cluster's next block
};

enum store { STORE_NONE, STORE_GLOBAL, STORE_REMOTE };

template <bool ORDERED, enum store STORE> struct cluster_step {
    static __device__ __forceinline__ void step(const struct cluster_site &s, int i)
    {
        if (STORE == STORE_GLOBAL)
            store_relaxed(s.global, i);
        if (STORE == STORE_REMOTE)
            cluster_store(s.remote, i);
        if (ORDERED) {
            cluster_arrive();
            cluster_wait();
        } else {
            cluster_arrive_relaxed();
            cluster_wait();
        }
    }
};

template <bool ORDERED, enum store STORE>
__device__ __forceinline__ void measure_cluster(const struct near_args &a)
{
    __shared__ uint32_t word[1024];
    uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t next = (cluster_rank() + 1) % cluster_size();
    struct cluster_site site = {a.words + me,
                                cluster_map(shared_address(word + threadIdx.x), next)};

    cluster_arrive(); // nobody stores to a block that has not begun,
    cluster_wait();
    measure_near<cluster_step<ORDERED, STORE>>(a, site, me == 0);
    __syncwarp();
    cluster_arrive(); // nor to one that has gone
    cluster_wait();
}

// __cluster_dims__() says that there are clusters, without saying how large. Without it each
// barrier would first test for that.
#define CLUSTER_KERNEL(name, ordered, store)                                                     \
    extern "C" __global__ void __cluster_dims__() __launch_bounds__(1024)                        \
        name(const __grid_constant__ struct near_args a)                                         \
    {                                                                                            \
        measure_cluster<ordered, store>(a);                                                      \
    }

// sass: kernel=barriers_cluster_relaxed_* clocks=7 ucgabar_arv=*,32,64 membar=*,0,0
// sass-and: other<=*,126,225 arch=90a+
// sass: kernel=barriers_cluster_ordered_* clocks=7 ucgabar_arv=*,32,64 membar=*,32,64
// sass-and: other<=*,190,353 arch=90a+
CLUSTER_KERNEL(barriers_cluster_relaxed_none, false, STORE_NONE)
CLUSTER_KERNEL(barriers_cluster_ordered_none, true, STORE_NONE)
// sass: kernel=barriers_cluster_*_global stg=*,32,64 arch=90a+
CLUSTER_KERNEL(barriers_cluster_relaxed_global, false, STORE_GLOBAL)
CLUSTER_KERNEL(barriers_cluster_ordered_global, true, STORE_GLOBAL)
// sass: kernel=barriers_cluster_*_remote st=*,32,64 arch=90a+
CLUSTER_KERNEL(barriers_cluster_relaxed_remote, false, STORE_REMOTE)
CLUSTER_KERNEL(barriers_cluster_ordered_remote, true, STORE_REMOTE)

#endif

// --- barriers of the grid ------------------------------------------------------------------------

// Cooperative groups, as NVIDIA ships them. They have no budget; the launch is cooperative.
struct far_grid_sync {
    __device__ __forceinline__ void cross() { cooperative_groups::this_grid().sync(); }
};

// By the hierarchy: the blocks of a cluster meet, one block of each cluster meets those of the
// others, and the blocks of the cluster meet again.
#if __CUDA_ARCH__ >= 900
struct far_cluster : counter_barrier {
    __device__ __forceinline__ void cross()
    {
        cluster_arrive();
        cluster_wait();
        if (cluster_rank() == 0 && threadIdx.x == 0)
            meet();
        __syncwarp();
        cluster_arrive();
        cluster_wait();
    }
};
#endif

struct far_twin {
    struct grid_barrier barrier;
    __device__ __forceinline__ void cross() { grid_barrier(barrier); }
};

template <typename BARRIER>
__device__ __forceinline__ void crossings(BARRIER &barrier, uint32_t rounds, uint32_t *word)
{
#pragma unroll 1
    for (uint32_t i = 0; i < rounds; i++) {
        if (word)
            store_relaxed(word, i);
        barrier.cross();
    }
}

template <typename BARRIER>
__device__ __forceinline__ void measure_far(const struct far_args &a, BARRIER &barrier)
{
    uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t *word = a.words ? a.words + me : nullptr;

    struct clock_pair lead = clock_edge();
    crossings(barrier, 2, word);
    uint64_t t0 = clock_cycles();
    crossings(barrier, a.rounds, word);
    uint64_t t1 = clock_cycles();
    crossings(barrier, 2 * a.rounds, word);
    uint64_t t2 = clock_cycles();
    struct clock_pair tail = clock_edge();
    if (me == 0) {
        a.result->lead = {lead.cycles, lead.ns};
        a.result->tail = {tail.cycles, tail.ns};
        a.result->sample[0] = {t1 - t0, t2 - t1};
    }
}

// sass-loop: bar.block=2 other<=60 exits<=2 local=0 outer arch=75,80,86,89
// sass-loop: bar.block=6 membar.gpu=3 guarded<=3 other<=153 exits<=2 local=0 outer arch=90a+
extern "C" __global__ void __launch_bounds__(1024)
barriers_grid_sync(const __grid_constant__ struct far_args a)
{
    struct far_grid_sync barrier;
    measure_far(a, barrier);
}

// sass-loop: bar.block=2 membar.gpu=1 reds.gpu=1 ldg32.gpu>=1 other<=57 exits<=2 local=0
// sass-and: arch=75,80,86,89,90a,100
// sass-loop: bar.block=2 membar.gpu=1 reds.gpu=1 ldg32.gpu>=1 other<=42 exits<=2 local=0 arch=120
extern "C" __global__ void __launch_bounds__(1024)
barriers_grid_counter(const __grid_constant__ struct far_args a)
{
    counter_barrier barrier = {a.state, a.counter, gridDim.x, 0, a.budget_ns, false};
    measure_far(a, barrier);
}

// sass-loop: bar.block=2 membar.gpu=1 reds.gpu=2 ldg32.gpu>=1 other<=71 exits<=2 local=0
// sass-and: arch=75,80,86,89,90a,100
// sass-loop: bar.block=2 membar.gpu=1 reds.gpu=2 ldg32.gpu>=1 other<=46 exits<=2 local=0 arch=120
extern "C" __global__ void __launch_bounds__(1024)
barriers_grid_twin(const __grid_constant__ struct far_args a)
{
    struct far_twin barrier = {grid_barrier_join(a.state, gridDim.x, a.budget_ns)};
    measure_far(a, barrier);
}

#if __CUDA_ARCH__ >= 900
// sass-loop: ucgabar_arv=2 reds.gpu=1 ldg32.gpu>=1 guarded<=1 other<=69 exits<=2 local=0 arch=90a+
extern "C" __global__ void __cluster_dims__() __launch_bounds__(1024)
barriers_grid_cluster(const __grid_constant__ struct far_args a)
{
    uint32_t clusters = gridDim.x / cluster_size();
    struct far_cluster barrier = {{a.state, a.counter, clusters, 0, a.budget_ns, false}};
    measure_far(a, barrier);
}
#endif

// --- do they order memory? -----------------------------------------------------------------------

// The members of the oracle. Each has a slot for odd and one for even rounds, in ordinary memory.
struct crowd {
    uint32_t *slots;
    uint32_t members, me;
    bool speaks;     // this thread publishes for its member
    uint32_t reader; // this thread reads the slots from here, in steps of
    uint32_t readers;
    bool delays;     // this thread makes slots late, in some rounds
    uint32_t *apart; // by adding to this word; if NULL, to one of the slots' lines
};

// A store queued after these additions is late, by more than a barrier takes: it exposes a barrier
// that does not wait for it. In a grid, all blocks add to one line, and stores to its slots queue
// in the L2. Each time it is another line, since one slice of the L2 could hold both the first line
// and the barrier's counter, and delay both. In a cluster, one block adds to lines apart, and its
// store queues on its own SM.
__device__ __forceinline__ void delay_slots(const struct crowd &c, uint32_t *slots, uint32_t time)
{
    uint32_t *spare = slots + time * ORDER_NEXT_LINE % c.members * ORDER_STRIDE + 1;
    if (c.apart)
        spare = c.apart;
#pragma unroll 4
    for (uint32_t i = 0; i < ORDER_LATE_ADDS; i++)
        grid_barrier_add(spare, 1);
}

// Ordinary stores and loads, through L1: the barrier has to order them. A slot is written again two
// rounds later, when its readers are one barrier away.
template <typename BARRIER>
__device__ __forceinline__ void keep_order(const struct order_args &a, BARRIER &barrier,
                                           const struct crowd &c)
{
    uint32_t before = 0, ahead = 0;
#pragma unroll 1
    for (uint32_t round = a.first + 1; round <= a.first + a.rounds; round++) {
        uint32_t *slots = c.slots + round % 2 * c.members * ORDER_STRIDE;
        if (c.delays && round % ORDER_LATE_EVERY == 0)
            delay_slots(c, slots, round / ORDER_LATE_EVERY);
        if (c.speaks)
            slots[c.me * ORDER_STRIDE] = round;
        barrier.cross();
        for (uint32_t i = c.reader; i < c.members; i += c.readers) {
            uint32_t seen = slots[i * ORDER_STRIDE];
            before += seen < round;
            ahead += seen > round;
        }
    }
    if (before)
        atomicAdd(&a.wrong[0], before);
    if (ahead)
        atomicAdd(&a.wrong[1], ahead);
    if (threadIdx.x == 0)
        a.sm[blockIdx.x] = sm_id() + 1;
}

// The members are blocks. The last warp writes. All but the first two warps read; of those two, one
// arrives and the other may wait. So a thread reads and writes only what other threads had to make
// visible, or were told of.
__device__ __forceinline__ struct crowd crowd_of_blocks(uint32_t *slots, uint32_t members,
                                                        uint32_t me)
{
    bool reads = threadIdx.x >= 64, leads = threadIdx.x % 32 == 0;
    return {slots, members, me, threadIdx.x == blockDim.x - 32, reads ? threadIdx.x - 64 : members,
            blockDim.x - 64, reads && leads, nullptr};
}

__device__ __forceinline__ struct crowd crowd_of_grid(const struct order_args &a)
{
    return crowd_of_blocks(a.slots, gridDim.x, blockIdx.x);
}

// The control without a barrier. The compiler must not know that there is none.
struct far_none {
    __device__ __forceinline__ void cross() { asm volatile("" ::: "memory"); }
};

struct far_block {
    __device__ __forceinline__ void cross() { __syncthreads(); }
};

#define ORDER_KERNEL(name, attributes, barrier, crowd)                                           \
    extern "C" __global__ void attributes __launch_bounds__(1024)                                \
        name(const __grid_constant__ struct order_args a)                                        \
    {                                                                                            \
        auto meeting = barrier;                                                                  \
        keep_order(a, meeting, crowd);                                                           \
    }
#define COUNTER(members) {a.state, a.counter, members, a.first * (members), a.budget_ns, false}

// sass-loop: kernel=barriers_order_grid_sync bar>=2 membar=1 cctl>=1 stg>=1 ldg>=1 guarded<=2
// sass-and: other<=143 local=0
ORDER_KERNEL(barriers_order_grid_sync, , far_grid_sync(), crowd_of_grid(a))
// sass-loop: kernel=barriers_order_grid_twin bar=2 membar=1 reds>=2 stg>=1 ldg>=2 guarded<=5
// sass-and: other<=140 local=0 arch=75,80,86,89,90a
// sass-loop: kernel=barriers_order_grid_twin bar=2 membar=1 reds>=2 stg>=1 ldg>=2 guarded<=6
// sass-and: other<=124 local=0 arch=100+
// sass-loop: kernel=barriers_order_grid_twin bar=2 cctl=2 arch=90a+   of the fence, of the wait
ORDER_KERNEL(barriers_order_grid_twin, ,
             (far_twin{grid_barrier_join(a.state, gridDim.x, a.budget_ns)}), crowd_of_grid(a))
// sass-loop: kernel=barriers_order_grid_counter bar=2 membar=1 cctl>=1 stg>=1 ldg>=2 guarded<=2
// sass-and: other<=136 local=0
ORDER_KERNEL(barriers_order_grid_counter, , counter_barrier COUNTER(gridDim.x), crowd_of_grid(a))

// Controls: no barrier; and the counter barrier with one part missing in each.
#define LESS_KERNEL(name, lack)                                                                  \
    ORDER_KERNEL(name, , counter_barrier_less<lack> COUNTER(gridDim.x), crowd_of_grid(a))
// sass-loop: kernel=barriers_order_grid_none stg=1 ldg>=1 bar=0 membar=0 cctl=0 guarded<=1
// sass-and: other<=81 local=0
ORDER_KERNEL(barriers_order_grid_none, , far_none(), crowd_of_grid(a))
// sass-loop: kernel=barriers_order_grid_unreleased bar=2 membar=0 cctl>=1 stg>=1 ldg>=2 guarded<=2
// sass-and: other<=135 local=0
LESS_KERNEL(barriers_order_grid_unreleased, LACKS_RELEASE)
// sass-loop: kernel=barriers_order_grid_unacquired bar=2 membar=1 cctl=0 stg>=1 ldg>=2 guarded<=2
// sass-and: other<=136 local=0
LESS_KERNEL(barriers_order_grid_unacquired, LACKS_ACQUIRE)
// sass-loop: kernel=barriers_order_grid_unmet bar=1 membar=1 cctl>=1 stg>=1 ldg>=2 guarded<=2
// sass-and: other<=136 local=0
LESS_KERNEL(barriers_order_grid_unmet, LACKS_MEETING)

// The members are the warps of a block; each block is a group of its own.
__device__ __forceinline__ struct crowd crowd_of_block(const struct order_args &a)
{
    uint32_t warps = blockDim.x / 32, lane = threadIdx.x % 32;
    uint32_t *slots = a.slots + blockIdx.x * 2 * warps * ORDER_STRIDE;
    return {slots, warps, threadIdx.x / 32, lane == 0, lane, 32, false, nullptr};
}

// sass-loop: kernel=barriers_order_block* stg>=1 ldg>=1 guarded<=1 other<=324 local=0
// sass-and: arch=75,80,86,89,90a
// sass-loop: kernel=barriers_order_block* stg>=1 ldg>=1 guarded<=1 other<=27 local=0 arch=100+
ORDER_KERNEL(barriers_order_block_syncthreads, , far_block(), crowd_of_block(a))
ORDER_KERNEL(barriers_order_block_none, , far_none(), crowd_of_block(a))

#if __CUDA_ARCH__ >= 900
template <bool ORDERED> struct near_cluster {
    __device__ __forceinline__ void cross()
    {
        struct cluster_site none = {};
        cluster_step<ORDERED, STORE_NONE>::step(none, 0);
    }
};

__device__ __forceinline__ struct crowd crowd_of_cluster(const struct order_args &a)
{
    uint32_t members = cluster_size(), me = cluster_rank();
    struct crowd c = crowd_of_blocks(a.slots, members, me);
    c.delays = threadIdx.x >= 64 && me == 0;
    c.apart = a.slots + threadIdx.x * 2 * ORDER_NEXT_LINE + 1;
    return c;
}

// sass-loop: kernel=barriers_order_cluster_* stg=1 ldg>=1 guarded<=1 other<=56 local=0 arch=90a+
// sass-loop: kernel=barriers_order_cluster_ordered ucgabar_arv=1 membar=1 cctl>=1 arch=90a+
// sass-loop: kernel=barriers_order_cluster_relaxed ucgabar_arv=1 membar=0 cctl>=1 arch=90a+
ORDER_KERNEL(barriers_order_cluster_ordered, __cluster_dims__(), near_cluster<true>(),
             crowd_of_cluster(a))
ORDER_KERNEL(barriers_order_cluster_relaxed, __cluster_dims__(), near_cluster<false>(),
             crowd_of_cluster(a))
ORDER_KERNEL(barriers_order_cluster_none, __cluster_dims__(), far_none(), crowd_of_cluster(a))
// sass-loop: kernel=barriers_order_grid_cluster ucgabar_arv=2 stg>=1 ldg>=1 guarded<=2 other<=148
// sass-and: local=0 arch=90a+
ORDER_KERNEL(barriers_order_grid_cluster, __cluster_dims__(),
             far_cluster{COUNTER(gridDim.x / cluster_size())}, crowd_of_grid(a))
#endif
