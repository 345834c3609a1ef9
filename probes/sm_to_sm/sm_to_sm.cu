// Kernels of sm_to_sm: chases into another SM's shared memory, and flags sent back and forth.
//
// Chases into a cluster's shared memory use generic addresses; cluster_map_generic() explains why.
#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#include "core/device/order.cuh"
#include "core/device/permute.cuh"
#include "probes/common/loads.cuh"
#include "probes/sm_to_sm/args.h"

// --- a chase from one SM into the memory of another ---------------------------------------------

struct load_there { // anywhere in the cluster's shared memory, by a generic address
    typedef uint64_t address;
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.u64 %0, [%0];" : "+l"(p)::"memory");
    }
    static __device__ __forceinline__ void use(uint64_t p)
    {
        asm volatile("{ .reg .pred q; setp.eq.u64 q, %0, 1; @q st.u64 [%0], %0; }" ::"l"(p)
                     : "memory");
    }
};

// One untimed step comes first, so that both stretches begin alike. The value of a stretch's last
// load is used before the clock is read again; otherwise that load would not be timed.
template <typename LOAD>
__device__ __forceinline__ void chase(typename LOAD::address &p, struct chase_sample *sample)
{
    stretch<1, LOAD>(p);
    uint64_t t0 = clock_cycles();
    stretch<CHASE_SHORT, LOAD>(p);
    uint64_t t1 = clock_cycles();
    stretch<CHASE_LONG, LOAD>(p);
    uint64_t t2 = clock_cycles();
    sample->short_cycles = t1 - t0;
    sample->long_cycles = t2 - t1;
}

// All chases of one reader. Owner i's ring begins at ring + i * stride and is entered at its offset
// first[i]; the offset where the chase stopped is kept.
template <typename LOAD>
__device__ __forceinline__ void read_rings(const struct chase_args &a, uint32_t reader,
                                           uint32_t owners, typename LOAD::address ring,
                                           typename LOAD::address stride, const uint32_t *first)
{
#pragma unroll 1
    for (uint32_t owner = 0; owner < owners; owner++) {
        typename LOAD::address begin = ring + owner * stride, p = begin + first[owner];
        struct chase_sample *sample = a.samples + reader * PAIR_MOST + owner;
        chase<LOAD>(p, sample);
        sample->end = p - begin;
    }
    a.sm[reader] = sm_id();
}

// sass: clocks=3 lds32=16,32 other<=2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, 1)
sm_to_sm_own(const __grid_constant__ struct chase_args a)
{
    __shared__ uint32_t ring[CHASE_WORDS];
    __shared__ uint32_t first[PAIR_MOST];
    uint32_t base = shared_address(ring);

    if (sm_id() != a.chosen)
        return;
    for (uint32_t i = threadIdx.x; i < CHASE_WORDS; i += blockDim.x)
        ring[permute(a.order, i)] = base + 4 * (uint32_t)permute(a.order, (i + 1) % CHASE_WORDS);
    if (threadIdx.x < PAIR_MOST)
        first[threadIdx.x] = 4 * (uint32_t)permute(a.order, a.first);
    __syncthreads();
    if (threadIdx.x == 0)
        read_rings<load_shared>(a, 0, PAIR_MOST, base, 0, first);
}

// The ring is in global memory. After a walk by this SM it is near, whatever was before.
// sass: clocks=3 ldg64.gpu=16,32 other<=3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, 1)
sm_to_sm_l2(const __grid_constant__ struct chase_args a)
{
    __shared__ uint32_t first[PAIR_MOST];

    if (sm_id() != a.chosen)
        return;
    if (threadIdx.x < PAIR_MOST)
        first[threadIdx.x] =
            CHASE_LINE *
            (uint32_t)permute(a.order, (a.first + threadIdx.x * CHASE_STEPS) % a.order.n);
    for (uint64_t i = threadIdx.x; i < a.order.n && a.walked; i += blockDim.x)
        load_l2::use(load_cg(a.ring + i * CHASE_LINE));
    __syncthreads();
    if (threadIdx.x == 0)
        read_rings<load_l2>(a, 0, PAIR_MOST, (uint64_t)a.ring, 0, first);
}

// Writes that ring from one SM: line permute(i) points to line permute(i + 1).
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, 1)
sm_to_sm_lay(const __grid_constant__ struct chase_args a)
{
    if (sm_id() != a.writer)
        return;
    for (uint64_t i = threadIdx.x; i < a.order.n; i += blockDim.x)
        *(uint64_t *)(a.ring + permute(a.order, i) * CHASE_LINE) =
            (uint64_t)a.ring + permute(a.order, (i + 1) % a.order.n) * CHASE_LINE;
}

#if __CUDA_ARCH__ >= 900
// Every block makes a ring of its own. Then the blocks of the chosen cluster read all rings of the
// cluster, their own included, one reader at a time, while the others wait in the cluster's
// barrier.
// sass: clocks=3 ld64=16,32 other<=3,3 local=0 waited chain arch=90a+
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, 1)
sm_to_sm_dsmem(const __grid_constant__ struct chase_args a)
{
    __shared__ uint64_t ring[CHASE_WORDS];
    __shared__ uint32_t first[PAIR_MOST];
    uint32_t rank = cluster_rank(), size = cluster_size();
    uint64_t own = cluster_map_generic(ring, rank);
    uint64_t window = cluster_map_generic(ring, 1) - cluster_map_generic(ring, 0);
    struct permutation order = a.order;

    if (blockIdx.x / size != a.chosen)
        return;
    if (threadIdx.x < size) {
        order.seed = a.order.seed + threadIdx.x;
        first[threadIdx.x] = 8 * (uint32_t)permute(order, a.first);
    }
    order.seed = a.order.seed + rank;
    for (uint32_t i = threadIdx.x; i < CHASE_WORDS; i += blockDim.x)
        ring[permute(order, i)] = own + 8 * permute(order, (i + 1) % CHASE_WORDS);
    cluster_arrive();
    cluster_wait();
    for (uint32_t reader = 0; reader < size; reader++) {
        if (rank == reader && threadIdx.x == 0)
            read_rings<load_there>(a, rank, size, cluster_map_generic(ring, 0), window, first);
        cluster_arrive();
        cluster_wait();
    }
}
#endif

// --- a flag to and fro --------------------------------------------------------------------------
//
// A way of signalling: put() makes trip k known to the other side, came() looks once whether the
// other side did. `mine` is written by the other side.

struct by_relaxed {
    typedef uint32_t *flag;
    static __device__ __forceinline__ void put(flag theirs, uint32_t k)
    {
        store_relaxed(theirs, k);
    }
    static __device__ __forceinline__ bool came(flag mine, uint32_t k)
    {
        return load_relaxed(mine) == k;
    }
};

struct by_acq_rel {
    typedef uint32_t *flag;
    static __device__ __forceinline__ void put(flag theirs, uint32_t k)
    {
        store_release(theirs, k);
    }
    static __device__ __forceinline__ bool came(flag mine, uint32_t k)
    {
        return load_acquire(mine) == k;
    }
};

enum { POLLS = 256 }; // between two checks of the timer

template <typename WAY>
__device__ __forceinline__ bool await(typename WAY::flag mine, uint32_t k, uint64_t give_up_ns)
{
    do
#pragma unroll 1
        for (int i = 0; i < POLLS; i++)
            if (WAY::came(mine, k))
                return true;
    while (clock_ns() < give_up_ns);
    return false;
}

// n round trips; side 0 begins. The side is a template parameter, so that no branch comes between
// the flag's arrival and the answer.
template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ bool trips(uint32_t n, uint32_t &k, typename WAY::flag mine,
                                      typename WAY::flag theirs, uint64_t give_up_ns)
{
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        k++;
        if (SIDE == 0)
            WAY::put(theirs, k);
        if (!await<WAY>(mine, k, give_up_ns))
            return false;
        if (SIDE == 1)
            WAY::put(theirs, k);
    }
    return true;
}

// All trips of one place. Side 0 reads its clock and keeps the results in shared memory: a store to
// the host still in flight would delay the fences of the next place.
template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ void play(uint32_t &k, typename WAY::flag mine,
                                     typename WAY::flag theirs, uint64_t budget_ns,
                                     struct flag_sample *sample)
{
    uint64_t give_up_ns = clock_ns() + budget_ns;

    if (SIDE == 1) {
        trips<WAY, 1>(FLAG_TRIPS, k, mine, theirs, give_up_ns);
        return;
    }
    bool came = trips<WAY, 0>(1, k, mine, theirs, give_up_ns);
    uint64_t t0 = clock_cycles();
    came = came && trips<WAY, 0>(FLAG_SHORT, k, mine, theirs, give_up_ns);
    uint64_t t1 = clock_cycles();
    came = came && trips<WAY, 0>(FLAG_LONG, k, mine, theirs, give_up_ns);
    uint64_t t2 = clock_cycles();
    *sample = {came ? t1 - t0 : 0, came ? t2 - t1 : 0};
}

// Called when nothing is timed any more.
template <uint32_t SIDE>
__device__ __forceinline__ void hand_in(const struct flag_args &a, const struct flag_sample *kept)
{
    for (uint32_t place = 0; place < FLAG_PLACES && SIDE == 0; place++)
        a.result->sample[place] = kept[place];
    a.result->sm[SIDE] = sm_id();
}

// The flags of a pair are in two of the lines, at FLAG_PLACES places one after another.
template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ void play_places(const struct flag_args &a, struct flag_sample *kept)
{
    uint32_t k = a.first;
#pragma unroll 1
    for (uint32_t place = 0; place < FLAG_PLACES; place++) {
        uint32_t *flag0 = a.lines + 32 * permute(a.order, 2 * place);
        uint32_t *flag1 = a.lines + 32 * permute(a.order, 2 * place + 1);
        play<WAY, SIDE>(k, SIDE == 0 ? flag0 : flag1, SIDE == 0 ? flag1 : flag0, a.budget_ns,
                        kept + place);
    }
    hand_in<SIDE>(a, kept);
}

template <typename WAY> __device__ __forceinline__ void play_l2(const struct flag_args &a)
{
    __shared__ struct flag_sample kept[FLAG_PLACES];

    if (sm_id() == a.side[0])
        play_places<WAY, 0>(a, kept);
    if (sm_id() == a.side[1])
        play_places<WAY, 1>(a, kept);
}

// Round trips have no fixed number of polls. The contracts prove that a poll is one load, a compare
// and a count. They also prove that side 0, from its first clock read to its last, stores nothing
// to memory but the flag: one store in the code of each of its three stretches.
// sass-loop: ldg32.gpu=1 other<=6 local=0
// sass-loop: clocks=3 stg32.gpu=3 stg=3 st=0 membar=0
extern "C" __global__ void __launch_bounds__(FLAG_THREADS, 1)
sm_to_sm_flag_relaxed(const __grid_constant__ struct flag_args a)
{
    play_l2<by_relaxed>(a);
}

// sass-loop: ldg32.gpu=1 cctl=1 other<=6 local=0
// sass-loop: clocks=3 stg32.gpu=3 stg=3 st=0 membar.gpu=3
extern "C" __global__ void __launch_bounds__(FLAG_THREADS, 1)
sm_to_sm_flag_acq_rel(const __grid_constant__ struct flag_args a)
{
    play_l2<by_acq_rel>(a);
}

#if __CUDA_ARCH__ >= 900
// Ways inside a cluster. A flag is in the shared memory of the side that waits for it, which
// therefore polls locally. k counts from 1 in every launch.

struct mailbox {
    uint64_t phase; // an mbarrier
    uint32_t word, pad;
    struct flag_sample kept[FLAG_PLACES];
};

struct in_cluster {
    uint32_t word, phase; // addresses in own shared memory, or in the cluster's window
    uint64_t generic;     // address of the word
};

struct there_relaxed {
    typedef struct in_cluster flag;
    static __device__ __forceinline__ void put(flag theirs, uint32_t k)
    {
        asm volatile("st.relaxed.cluster.u32 [%0], %1;" ::"l"(theirs.generic), "r"(k) : "memory");
    }
    static __device__ __forceinline__ bool came(flag mine, uint32_t k)
    {
        uint32_t v;
        asm volatile("ld.relaxed.cluster.shared::cta.u32 %0, [%1];"
                     : "=r"(v)
                     : "r"(mine.word)
                     : "memory");
        return v == k;
    }
};

struct there_acq_rel {
    typedef struct in_cluster flag;
    static __device__ __forceinline__ void put(flag theirs, uint32_t k)
    {
        asm volatile("st.release.cluster.u32 [%0], %1;" ::"l"(theirs.generic), "r"(k) : "memory");
    }
    static __device__ __forceinline__ bool came(flag mine, uint32_t k)
    {
        uint32_t v;
        asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];"
                     : "=r"(v)
                     : "r"(mine.word)
                     : "memory");
        return v == k;
    }
};

// Waits until the k-th phase, of parity k - 1, is over.
__device__ __forceinline__ bool phase_over(uint32_t barrier, uint32_t k)
{
    uint32_t over;
    asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%1], %2; "
                 "selp.u32 %0, 1, 0, q; }"
                 : "=r"(over)
                 : "r"(barrier), "r"(k - 1 & 1)
                 : "memory");
    return over;
}

struct there_mbarrier { // the other side's barrier gets its one arrival
    typedef struct in_cluster flag;
    static __device__ __forceinline__ void put(flag theirs, uint32_t)
    {
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                         theirs.phase)
                     : "memory");
    }
    static __device__ __forceinline__ bool came(flag mine, uint32_t k)
    {
        return phase_over(mine.phase, k);
    }
};

struct there_async { // a word, and its four bytes counted by the other side's barrier
    typedef struct in_cluster flag;
    static __device__ __forceinline__ void put(flag theirs, uint32_t k)
    {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::
                         "r"(theirs.word),
                     "r"(k), "r"(theirs.phase)
                     : "memory");
    }
    static __device__ __forceinline__ bool came(flag mine, uint32_t k)
    {
        bool over = phase_over(mine.phase, k);
        if (over)
            mbarrier_expect(mine.phase, sizeof k);
        return over;
    }
};

template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ void play_rank(const struct flag_args &a, struct mailbox *box)
{
    struct in_cluster mine = {shared_address(&box->word), shared_address(&box->phase), 0};
    uint32_t other = a.side[1 - SIDE], k = 0;
    struct in_cluster theirs = {cluster_map(mine.word, other), cluster_map(mine.phase, other),
                                cluster_map_generic(&box->word, other)};
#pragma unroll 1
    for (uint32_t place = 0; place < FLAG_PLACES; place++)
        play<WAY, SIDE>(k, mine, theirs, a.budget_ns, box->kept + place);
    hand_in<SIDE>(a, box->kept);
    a.result->word[SIDE] = box->word;
}

template <typename WAY, bool COUNTS_BYTES>
__device__ __forceinline__ void play_cluster(const struct flag_args &a)
{
    __shared__ struct mailbox box;
    uint32_t phase = shared_address(&box.phase);
    bool plays = blockIdx.x / cluster_size() == a.chosen;

    box.word = 0;
    mbarrier_make(phase, 1);
    mbarrier_made();
    if (COUNTS_BYTES)
        mbarrier_expect(phase, sizeof box.word);
    cluster_arrive();
    cluster_wait();
    if (plays && cluster_rank() == a.side[0])
        play_rank<WAY, 0>(a, &box);
    if (plays && cluster_rank() == a.side[1])
        play_rank<WAY, 1>(a, &box);
    cluster_arrive();
    cluster_wait();
}

// sass-loop: lds=1 other<=6 local=0 arch=90a+
// sass-loop: clocks=3 st=3 stg=0 membar=0 arch=90a+
extern "C" __global__ void __launch_bounds__(FLAG_THREADS, 1)
sm_to_sm_there_relaxed(const __grid_constant__ struct flag_args a)
{
    play_cluster<there_relaxed, false>(a);
}

// sass-loop: lds=1 other<=7 local=0 arch=90a+
// sass-loop: clocks=3 st=3 stg=0 membar=6 arch=90a+
extern "C" __global__ void __launch_bounds__(FLAG_THREADS, 1)
sm_to_sm_there_acq_rel(const __grid_constant__ struct flag_args a)
{
    play_cluster<there_acq_rel, false>(a);
}

// sass-loop: syncs=1 other<=5 local=0 arch=90a+
// sass-loop: clocks=3 st=0 stg=0 arch=90a+
extern "C" __global__ void __launch_bounds__(FLAG_THREADS, 1)
sm_to_sm_there_mbarrier(const __grid_constant__ struct flag_args a)
{
    play_cluster<there_mbarrier, false>(a);
}

// sass-loop: syncs=1 other<=4 local=0 arch=90a+
// sass-loop: clocks=3 stas=3 st=0 stg=0 arch=90a+
extern "C" __global__ void __launch_bounds__(FLAG_THREADS, 1)
sm_to_sm_there_async(const __grid_constant__ struct flag_args a)
{
    play_cluster<there_async, true>(a);
}
#endif
