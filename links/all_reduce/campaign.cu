// Many rounds whose every result is checked where it arrives. Every rank can compute what every
// other one sends in every round, so a unit of another round, of another place, or of half a store
// is seen. Some words are what the protocol might trip over: its own sign for an empty slot, NaN,
// -0.
#include "links/all_reduce/args.h"
#include "links/common/exchange.cuh"

#if __CUDA_ARCH__ >= 800

__device__ __forceinline__ uint32_t scrambled(uint32_t h)
{
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

// Numbers between 1/2 and 2 with all their digits, either sign, so that the order of additions
// shows.
__device__ __forceinline__ uint32_t campaign_word(fp32, uint32_t h)
{
    return (h & 0x80ffffffu) | 0x3f000000u;
}
__device__ __forceinline__ uint32_t campaign_word(bf16, uint32_t h)
{
    return (h & 0x80ff80ffu) | 0x3f003f00u;
}

// What rank `rank` has at unit i of its vector in a round.
template <typename WIRE, typename TYPE> struct campaign_vector {
    uint32_t seed, round;

    __device__ __forceinline__ typename WIRE::unit at(uint32_t rank, uint64_t i) const
    {
        typename WIRE::unit u;
        const uint32_t place = scrambled((uint32_t)i * LINKS_MOST + rank) ^ round * 0x9e3779b9u;
#pragma unroll
        for (uint32_t w = 0; w < WIRE::WORDS; w++) {
            const uint32_t h = scrambled(place + seed + w * 0x85ebca6bu), kind = h >> 8 & 127;
            u.word[w] = kind == 0   ? PLAIN_EMPTY
                        : kind == 1 ? PLAIN_NAN
                        : kind == 2 ? 0x80000000u
                                    : campaign_word(TYPE(), scrambled(h));
        }
        return u;
    }
};

template <typename UNIT> __device__ __forceinline__ bool same(const UNIT &a, const UNIT &b)
{
    bool all = true;
#pragma unroll
    for (uint32_t w = 0; w < sizeof a.word / sizeof a.word[0]; w++)
        all = all && a.word[w] == b.word[w];
    return all;
}

// The sum of all ranks' units i, as it should be.
template <typename WIRE, typename TYPE, int RANKS>
__device__ __forceinline__ typename WIRE::unit
campaign_sum(const campaign_vector<WIRE, TYPE> &v, uint64_t i)
{
    typename WIRE::unit others[RANKS - 1];
#pragma unroll
    for (uint32_t p = 0; p < RANKS - 1; p++)
        others[p] = WIRE::fit(v.at(p + 1, i));
    return WIRE::fit(exchange_sum<TYPE>::of(WIRE::fit(v.at(0, i)), others, 0, 1));
}

// What unit i of the result is, for each exchange. A unit of PART is one of this rank's part.
enum campaign_result { CAMPAIGN_SUM, CAMPAIGN_PART, CAMPAIGN_ALL };

template <typename OP, typename WIRE, typename TYPE, int RANKS, enum campaign_result RESULT>
__device__ __forceinline__ void campaign(const struct campaign_args &a)
{
    __shared__ uint64_t shared;
    struct exchange_turn turn = exchange_join(a.x.team, &shared);
    const uint32_t me = a.x.team.rank;
    uint32_t wrong = 0;

#pragma unroll 1
    for (uint32_t n = 0; n < a.rounds; n++, turn.round++) {
        const campaign_vector<WIRE, TYPE> v = {a.seed, (uint32_t)turn.round};
        const auto from = [&](uint64_t i) { return v.at(me, i); };
        const auto to = [&](uint64_t i, typename WIRE::unit u) {
            const typename WIRE::unit right =
                RESULT == CAMPAIGN_SUM    ? campaign_sum<WIRE, TYPE, RANKS>(v, i)
                : RESULT == CAMPAIGN_PART ? campaign_sum<WIRE, TYPE, RANKS>(v, me * a.units + i)
                                          : WIRE::fit(v.at(i / a.units, i % a.units));
            wrong += !same(WIRE::fit(u), right);
        };
        exchange_linger(a.x.team, turn.round);
        OP::round(a.x, turn, a.units, 1, from, to);
    }
    exchange_leave(a.x.team, turn, a.rounds);
    if (wrong > 0)
        atomicAdd(a.wrong, wrong);
}

#define CAMPAIGN(name, wire, type, ranks, result, ...)                                             \
    extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS, 1)                              \
        name(const __grid_constant__ struct campaign_args a)                                       \
    {                                                                                              \
        campaign<__VA_ARGS__, wire, type, ranks, result>(a);                                       \
    }
#define CAMPAIGNS(wire, type, ranks)                                                               \
    CAMPAIGN(campaign_push_##wire##_##type##_##ranks, wire, type, ranks, CAMPAIGN_SUM,             \
             push_all_reduce<wire, type, ranks>)                                                   \
    CAMPAIGN(campaign_two_shot_##wire##_##type##_##ranks, wire, type, ranks, CAMPAIGN_SUM,         \
             two_shot_all_reduce<wire, type, ranks>)                                               \
    CAMPAIGN(campaign_reduce_scatter_##wire##_##type##_##ranks, wire, type, ranks, CAMPAIGN_PART,  \
             push_reduce_scatter<wire, type, ranks>)
#define CAMPAIGNS_OF(wire, ranks)                                                                  \
    CAMPAIGNS(wire, bf16, ranks)                                                                   \
    CAMPAIGNS(wire, fp32, ranks)                                                                   \
    CAMPAIGN(campaign_all_gather_##wire##_any_##ranks, wire, fp32, ranks, CAMPAIGN_ALL,            \
             push_all_gather<wire, ranks>)

// sass: kernel=campaign_* none not a timed kernel
CAMPAIGNS_OF(packets, 2)
CAMPAIGNS_OF(packets, 4)
CAMPAIGNS_OF(plain, 2)
CAMPAIGNS_OF(plain, 4)

#endif
