// Exchanges of vectors between ranks: all-reduce in one shot or two, reduce-scatter, all-gather.
//
// Everybody pushes: a rank stores its data into a mailbox in the receiver's memory, and the
// receiver polls its own. The data is the flag: no fence, no flag behind the data, no barrier. One
// trip between GPUs is all the latency there is in one shot, two trips in two. There are two ways
// for a slot of 16 bytes to say that it is filled:
//     packets  each half is four bytes of data and the round's number. A half is one 8-byte access,
//              which is never torn; that all 16 bytes come together is not relied on. Twice the
//              bytes pass the link.
//     plain    four words of data. A word that is still what no vector holds (PLAIN_EMPTY) has not
//              come. The reader puts that back. Only words are relied on. What holds this very NaN
//              gets another NaN in its place before it is sent.
// When may a slot be written again? A thread has the same part of the vector in all ranks, in each
// round of a launch. It sends its part of round t + 1 after it has read all of its slots of round
// t. So once it has the other ranks' data of round t + 1, their threads have read what it sent in
// round t: in round t + 2 it may use the slot again, and two generations are enough for packets. If
// the launches differ in shape, the same holds for whole launches, as they follow each other. Plain
// slots have four: what the reader puts back into a slot must reach its own L2 before the next data
// from another GPU does. No fence says so. But three rounds lie between the two, where it takes one
// trip to the L2. If it went wrong all the same, data would be lost, and the reader would give up
// with a message: a wrong sum cannot come of it, since a thread reads what it stored there itself
// or what came after.
//
// Sums are made in fp32, in the order of ranks, by everybody or by one rank for all: all ranks have
// the same bits.
#ifndef LINKS_COMMON_EXCHANGE_CUH
#define LINKS_COMMON_EXCHANGE_CUH

#include "core/device/order.cuh"
#include "fused/common/vector.cuh"
#include "links/common/exchange.h"
#include "links/common/team.cuh"

// --- types: two or one numbers in a word --------------------------------------------------------

struct fp32 {
    static __device__ __forceinline__ float2 widen(uint32_t word)
    {
        return make_float2(__uint_as_float(word), 0);
    }
    static __device__ __forceinline__ uint32_t narrow(float2 x) { return __float_as_uint(x.x); }
};

enum : uint32_t {
    PLAIN_EMPTY = 0xffffffffu, // a NaN in every type, and what memory is poisoned with
    PLAIN_NAN = 0x7fffffffu,   // NaNs, too: of such payloads it does not matter which
};

__device__ __forceinline__ uint32_t plain_word(uint32_t word)
{
    return word == PLAIN_EMPTY ? PLAIN_NAN : word;
}

// --- what travels in a slot ----------------------------------------------------------------------

template <int WORDS> struct alignas(4 * WORDS) exchange_unit {
    uint32_t word[WORDS];
};

struct packets {
    enum { WORDS = PACKET_PAYLOAD / 4, GENERATIONS = PACKET_GENERATIONS };
    typedef exchange_unit<WORDS> unit;
    typedef ulonglong2 slot;

    static __device__ __forceinline__ const struct exchange_box &box(const struct exchange &x)
    {
        return x.packets;
    }
    static __device__ __forceinline__ unit fit(unit u) { return u; }
    static __device__ __forceinline__ uint64_t half(uint32_t word, uint32_t number)
    {
        return (uint64_t)number << 32 | word;
    }
    static __device__ __forceinline__ void put(slot *to, unit u, uint32_t number)
    {
        ulonglong2 both;
        both.x = half(u.word[0], number);
        both.y = half(u.word[1], number);
        store_relaxed_sys_2x64(to, both);
    }
    static __device__ __forceinline__ slot get(const slot *from)
    {
        return load_relaxed_sys_2x64(from);
    }
    static __device__ __forceinline__ bool is_there(slot s, uint32_t number)
    {
        return (uint32_t)(s.x >> 32) == number && (uint32_t)(s.y >> 32) == number;
    }
    static __device__ __forceinline__ unit open(slot s)
    {
        return {{(uint32_t)s.x, (uint32_t)s.y}};
    }
    static __device__ __forceinline__ void put_back(slot *) {}
};

struct plain {
    enum { WORDS = PLAIN_PAYLOAD / 4, GENERATIONS = PLAIN_GENERATIONS };
    typedef exchange_unit<WORDS> unit;
    typedef uint4 slot;

    static __device__ __forceinline__ const struct exchange_box &box(const struct exchange &x)
    {
        return x.plain;
    }
    static __device__ __forceinline__ unit fit(unit u)
    {
        return {{plain_word(u.word[0]), plain_word(u.word[1]), plain_word(u.word[2]),
                 plain_word(u.word[3])}};
    }
    static __device__ __forceinline__ void put(slot *to, unit u, uint32_t)
    {
        store_relaxed_sys_4x32(to, make_uint4(u.word[0], u.word[1], u.word[2], u.word[3]));
    }
    static __device__ __forceinline__ slot get(const slot *from)
    {
        return load_relaxed_sys_4x32(from);
    }
    static __device__ __forceinline__ bool is_there(slot s, uint32_t)
    {
        return s.x != PLAIN_EMPTY && s.y != PLAIN_EMPTY && s.z != PLAIN_EMPTY &&
               s.w != PLAIN_EMPTY;
    }
    static __device__ __forceinline__ unit open(slot s) { return {{s.x, s.y, s.z, s.w}}; }
    static __device__ __forceinline__ void put_back(slot *to)
    {
        store_relaxed_sys_4x32(to, make_uint4(PLAIN_EMPTY, PLAIN_EMPTY, PLAIN_EMPTY, PLAIN_EMPTY));
    }
};

// --- rounds --------------------------------------------------------------------------------------

// A thread's place in the rounds of a launch.
struct exchange_turn {
    uint64_t round;  // since the team began; the first is 1
    // the first thread's: blocks of this launch that had read the counter before its own
    uint32_t before;
    struct team_watch watch;
};

// Once in a launch, with all threads. The counter of rounds is the GPU's own, so that a graph can
// be replayed. One thread of a block reads it, hands it on by `shared`, a word of shared memory,
// and then counts its block: a barrier alone would not make it wait until all threads have what
// they asked for.
__device__ __forceinline__ struct exchange_turn exchange_join(const struct team &t,
                                                              uint64_t *shared)
{
    if (threadIdx.x == 0)
        *shared = load_relaxed_64(&t.mine->turn) + 1;
    __syncthreads();
    struct exchange_turn turn = {*shared, 0, {0, 0, false}};
    if (threadIdx.x == 0)
        turn.before = team_arrive(&t.mine->asked, gridDim.x);
    return turn;
}

// Once in a launch of so many rounds, with all threads, whenever they like. The block that counted
// last moves the counter on: nobody reads it any more. Only here does a thread wait for its count.
__device__ __forceinline__ void exchange_leave(const struct team &t,
                                               const struct exchange_turn &turn, uint32_t rounds)
{
    if (threadIdx.x == 0 && turn.before == gridDim.x - 1)
        atomicAdd((unsigned long long *)&t.mine->turn, (unsigned long long)rounds);
}

// Under test, some warps come late to some rounds: one in 64, by up to t.linger_ns.
__device__ __forceinline__ void exchange_linger(const struct team &t, uint64_t round)
{
    if (t.linger_ns == 0)
        return;
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    uint32_t h = (uint32_t)round * 0x9e3779b9u + (warp * LINKS_MOST + t.rank) * 0x85ebca6bu;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    h ^= h >> 15;
    if (h % 64 != 0)
        return;
    const uint64_t began = clock_ns();
    while (clock_ns() - began < (h >> 6) % t.linger_ns)
        ;
}

// The slots of one round. Peers are the other ranks, in their order.
template <typename WIRE, int RANKS> struct exchange_slots_of {
    enum { PEERS = RANKS - 1 };
    typedef typename WIRE::unit unit;
    typedef typename WIRE::slot slot;
    const struct team &team;
    uint32_t me, number;
    slot *mine[PEERS];   // what each peer writes for this rank
    slot *theirs[PEERS]; // what this rank writes for each peer

    __device__ __forceinline__ exchange_slots_of(const struct exchange &x, uint64_t round)
        : exchange_slots_of(x.team, WIRE::box(x), round)
    {
    }
    __device__ __forceinline__ exchange_slots_of(const struct team &t,
                                                 const struct exchange_box &box, uint64_t round)
        : team(t), me(t.rank), number((uint32_t)round)
    {
        const uint64_t first = round % WIRE::GENERATIONS * RANKS * box.slots;
#pragma unroll
        for (uint32_t p = 0; p < PEERS; p++) {
            mine[p] = (slot *)box.of[me] + (first + rank(p) * box.slots);
            theirs[p] = (slot *)(p >= me ? box.of[p + 1] : box.of[p]) + (first + me * box.slots);
        }
    }
    __device__ __forceinline__ uint32_t rank(uint32_t p) const { return p + (p >= me ? 1 : 0); }
    // rank(p) x length, without a multiplication where p is known.
    __device__ __forceinline__ uint64_t before(uint32_t p, uint64_t length) const
    {
        return p * length + (p >= me ? length : 0);
    }
    __device__ __forceinline__ uint64_t before_me(uint64_t length) const
    {
        uint64_t sum = 0;
#pragma unroll
        for (uint32_t p = 0; p < PEERS; p++)
            sum += p < me ? length : 0;
        return sum;
    }

    // The same unit, into slot i of every peer.
    __device__ __forceinline__ void tell(uint64_t i, unit u) const
    {
#pragma unroll
        for (uint32_t p = 0; p < PEERS; p++)
            WIRE::put(theirs[p] + i, u, number);
    }
    // Slot i of every peer p of which `has` is true, when all have come; the rest of `got` is left
    // as it is. All are asked for at once.
    template <typename HAS>
    __device__ __forceinline__ void hear(uint64_t i, struct team_watch &watch, const HAS &has,
                                         unit (&got)[PEERS]) const
    {
        slot s[PEERS];
        bool there = false;

        watch.came_ns = 0;
        while (!watch.given_up) {
            uint32_t awaited = RANKS;
#pragma unroll
            for (uint32_t p = 0; p < PEERS; p++)
                if (has(p))
                    s[p] = WIRE::get(mine[p] + i);
#pragma unroll
            for (uint32_t p = 0; p < PEERS; p++)
                if (has(p) && !WIRE::is_there(s[p], number))
                    awaited = rank(p);
            there = awaited == RANKS;
            if (there || team_gives_up(team, watch, awaited))
                break;
        }
        if (!there)
            return;
#pragma unroll
        for (uint32_t p = 0; p < PEERS; p++)
            if (has(p)) {
                got[p] = WIRE::open(s[p]);
                WIRE::put_back(mine[p] + i);
            }
    }
};

// Units in the order of ranks, times `scale`, rounded once. `got` holds the peers' in their order.
template <typename TYPE> struct exchange_sum {
    template <typename UNIT, int PEERS>
    static __device__ __forceinline__ UNIT of(UNIT own, const UNIT (&got)[PEERS], uint32_t me,
                                              float scale)
    {
        UNIT sum;
#pragma unroll
        for (uint32_t w = 0; w < sizeof sum.word / sizeof sum.word[0]; w++) {
            float2 s = TYPE::widen(me == 0 ? own.word[w] : got[0].word[w]);
#pragma unroll
            for (uint32_t k = 1; k <= PEERS; k++) {
                const uint32_t before = got[k - 1].word[w], after = got[k % PEERS].word[w];
                const float2 more = TYPE::widen(k == me ? own.word[w] : k > me ? before : after);
                s = make_float2(s.x + more.x, s.y + more.y);
            }
            sum.word[w] = TYPE::narrow(make_float2(s.x * scale, s.y * scale));
        }
        return sum;
    }
};

// A vector in this GPU's memory.
template <typename UNIT> struct exchange_vector {
    UNIT *at;
    __device__ __forceinline__ UNIT operator()(uint64_t i) const { return at[i]; }
    __device__ __forceinline__ void operator()(uint64_t i, UNIT u) const { at[i] = u; }
};

// Each does one round. `from` gives unit i of this rank's vector, and is asked for some of them
// again; `to` takes unit i of the result. A vector may be its own result: a thread puts a unit only
// after it has taken it for the last time.

struct exchange_everyone {
    __device__ __forceinline__ bool operator()(uint32_t) const { return true; }
};

// The whole vector to everybody, and everybody adds: one trip, (ranks - 1) x the bytes.
template <typename WIRE, typename TYPE, int RANKS> struct push_all_reduce {
    template <typename FROM, typename TO>
    static __device__ __forceinline__ void round(const struct exchange &x, struct exchange_turn &t,
                                                 uint64_t units, float scale, const FROM &from,
                                                 const TO &to)
    {
        const exchange_slots_of<WIRE, RANKS> slots(x, t.round);
        const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
        const uint64_t step = gridDim.x * (uint64_t)blockDim.x;

        for (uint64_t i = first; i < units; i += step)
            slots.tell(i, WIRE::fit(from(i)));
        for (uint64_t i = first; i < units; i += step) {
            const typename WIRE::unit own = WIRE::fit(from(i));
            typename WIRE::unit got[RANKS - 1] = {};
            slots.hear(i, t.watch, exchange_everyone(), got);
            to(i, exchange_sum<TYPE>::of(own, got, slots.me, scale));
        }
    }
};

// A part of the vector to each rank, which adds it and sends the sum to everybody: two trips,
// 2 (ranks - 1) / ranks x the bytes. Parts differ in length where the ranks do not divide the
// units.
template <typename WIRE, typename TYPE, int RANKS> struct two_shot_all_reduce {
    template <typename FROM, typename TO>
    static __device__ __forceinline__ void round(const struct exchange &x, struct exchange_turn &t,
                                                 uint64_t units, float scale, const FROM &from,
                                                 const TO &to)
    {
        const exchange_slots_of<WIRE, RANKS> slots(x, t.round);
        const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
        const uint64_t step = gridDim.x * (uint64_t)blockDim.x;
        const uint64_t part = (units + RANKS - 1) / RANKS, my_part = slots.before_me(part);

#pragma unroll 1 // else the number of turns is computed first, by a division
        for (uint64_t i = first; i < part; i += step)
#pragma unroll
            for (uint32_t p = 0; p < RANKS - 1; p++) {
                const uint64_t at = slots.before(p, part) + i;
                if (at < units)
                    WIRE::put(slots.theirs[p] + i, WIRE::fit(from(at)), slots.number);
            }
#pragma unroll 1
        for (uint64_t i = first; i < part && my_part + i < units; i += step) {
            const typename WIRE::unit own = WIRE::fit(from(my_part + i));
            typename WIRE::unit got[RANKS - 1] = {};
            slots.hear(i, t.watch, exchange_everyone(), got);
            const typename WIRE::unit sum =
                WIRE::fit(exchange_sum<TYPE>::of(own, got, slots.me, scale));
            slots.tell(part + i, sum);
            to(my_part + i, sum);
        }
#pragma unroll 1
        for (uint64_t i = first; i < part; i += step) {
            const auto has = [&](uint32_t p) { return slots.before(p, part) + i < units; };
            typename WIRE::unit got[RANKS - 1] = {};
            slots.hear(part + i, t.watch, has, got);
#pragma unroll
            for (uint32_t p = 0; p < RANKS - 1; p++)
                if (has(p))
                    to(slots.before(p, part) + i, got[p]);
        }
    }
};

// Rank k gets the sum of everybody's part k, each `units` long; from(k * units + i) is asked for.
template <typename WIRE, typename TYPE, int RANKS> struct push_reduce_scatter {
    template <typename FROM, typename TO>
    static __device__ __forceinline__ void round(const struct exchange &x, struct exchange_turn &t,
                                                 uint64_t units, float scale, const FROM &from,
                                                 const TO &to)
    {
        const exchange_slots_of<WIRE, RANKS> slots(x, t.round);
        const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
        const uint64_t step = gridDim.x * (uint64_t)blockDim.x;

        for (uint64_t i = first; i < units; i += step)
#pragma unroll
            for (uint32_t p = 0; p < RANKS - 1; p++)
                WIRE::put(slots.theirs[p] + i, WIRE::fit(from(slots.before(p, units) + i)),
                          slots.number);
        for (uint64_t i = first; i < units; i += step) {
            const typename WIRE::unit own = WIRE::fit(from(slots.me * units + i));
            typename WIRE::unit got[RANKS - 1] = {};
            slots.hear(i, t.watch, exchange_everyone(), got);
            to(i, exchange_sum<TYPE>::of(own, got, slots.me, scale));
        }
    }
};

// Everybody gets all vectors, each `units` long: to(k * units + i) takes those of rank k.
template <typename WIRE, int RANKS> struct push_all_gather {
    template <typename FROM, typename TO>
    static __device__ __forceinline__ void round(const struct exchange &x, struct exchange_turn &t,
                                                 uint64_t units, float, const FROM &from,
                                                 const TO &to)
    {
        const exchange_slots_of<WIRE, RANKS> slots(x, t.round);
        const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
        const uint64_t step = gridDim.x * (uint64_t)blockDim.x;

        for (uint64_t i = first; i < units; i += step) {
            const typename WIRE::unit own = WIRE::fit(from(i));
            slots.tell(i, own);
            to(slots.me * units + i, own);
        }
        for (uint64_t i = first; i < units; i += step) {
            typename WIRE::unit got[RANKS - 1] = {};
            slots.hear(i, t.watch, exchange_everyone(), got);
#pragma unroll
            for (uint32_t p = 0; p < RANKS - 1; p++)
                to(slots.before(p, units) + i, got[p]);
        }
    }
};

#endif
