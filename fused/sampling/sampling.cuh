// Draws a token: penalty and temperature; the k highest logits; of these the most probable ones
// that together have a given share of the probability (top-p); of those the one that a uniform
// number selects.
//
// Selection. A logit and its token's id form one 64-bit number, a candidate. Its upper half is the
// logit's bits, mapped so that they order as unsigned; its lower half is the complement of the id.
// No two candidates are equal, so there are no ties: of equal logits the lower id comes first.
//
// Only tokens that can still be among the k highest are sorted. A bound for them costs one pass.
// Cut the row into k parts. The least of the parts' maxima has at least k candidates at or above
// it, and on N(0,1) only about k ln k. Parts are interleaved by 128 tokens, because neighbouring
// tokens often have similar logits. If more than 1024 candidates pass the bound (few parts hold all
// the high logits, or most logits are equal), it is narrowed by bisection, and every step counts
// all candidates.
//
// The candidates that pass are sorted by rank: one warp per candidate counts those above it.
//
// Probability. A sorted candidate has a mass: exp(x - x0), where x0 is the highest logit, as an
// integer with 42 fractional bits. Sums of masses are exact and do not depend on their order. The
// same logits and the same uniform number therefore give the same token with any grid. A token with
// less than 2^-42 of the most probable token's probability has no mass and is never drawn. The
// drawn token is the first in sorted order whose running sum of masses exceeds uniform number x
// whole. Without top-k, where sums run over the vocabulary, top-p and the draw are found by
// bisection, too.
//
// row.cuh has the team that works on a row and the way its blocks communicate.
#ifndef FUSED_SAMPLING_SAMPLING_CUH
#define FUSED_SAMPLING_SAMPLING_CUH

#include "fused/sampling/row.cuh"

namespace sampling {

// --- selection -----------------------------------------------------------------------------------

// The lowest candidate, that of minus infinity; a bound above every candidate.
enum : uint64_t { SAMPLING_LOWEST = 0x007fffffull << 32, SAMPLING_ABOVE_ALL = ~0ull };

// Counts the candidates of the row in [low, high). If they are at most SAMPLING_SORTED, they end up
// sorted in the first block, highest first; if there are more, none is moved.
template <typename TEAM, typename ROW>
__device__ __forceinline__ uint32_t sort_between(TEAM &team, const ROW &row, sampling_room &room,
                                                 uint64_t low, uint64_t high)
{
    __syncthreads(); // everyone has read what was found before
    if (threadIdx.x == 0)
        room.n_found = 0;
    __syncthreads();
    row.each(low, high, [&](float4 x, uint32_t id, uint32_t pass) {
        uint32_t at = atomicAdd(&room.n_found, (uint32_t)__popc(pass));
        for (; pass && at < SAMPLING_SORTED; pass &= pass - 1)
            room.found[at++] = candidate_at(x, id, (uint32_t)__ffs((int)pass) - 1);
    });
    __syncthreads();

    const uint32_t own = room.n_found, told = told_by(team, room, own);
    const uint32_t n = warp_all<adding>(told);
    const uint32_t first = warp_all<adding>(threadIdx.x % 32 < team.rank ? told : 0);
    if (n > SAMPLING_SORTED)
        return n;
    for (uint32_t i = threadIdx.x; i < own * team.size; i += SAMPLING_THREADS)
        team.send(&room.list[first + (i >> team.log_size)], room.found[i >> team.log_size],
                  i & (team.size - 1), &room.mail[LISTED]);
    team.receive(room, LISTED, 8 * n);

    for (uint32_t i = threadIdx.x / 32; i < own; i += WARPS) {
        const uint64_t mine = room.found[i];
        uint32_t rank = 0;
#pragma unroll 4
        for (uint32_t j = threadIdx.x % 32; j < n; j += 32)
            rank += room.list[j] > mine;
        rank = warp_all<adding>(rank);
        if (threadIdx.x % 32 == 0)
            team.send(&room.sorted[rank], mine, 0, &room.mail[SORTED]);
    }
    if (team.rank == 0)
        team.receive(room, SORTED, 8 * n);
    return n;
}

// A candidate, and the sum of all weights down to it in the sorted order.
struct summed {
    uint64_t candidate, sum;
};

// One warp walks the sorted candidates; each lane has an equal number of neighbours.
struct walk {
    sampling_room &room;
    const uint32_t n, each, first;

    __device__ __forceinline__ walk(sampling_room &room_, uint32_t n_)
        : room(room_), n(n_), each((n_ + 31) / 32), first(threadIdx.x % 32 * each)
    {
    }

    // Keeps weights in room.list. Returns the sum up to the end of this lane's candidates.
    template <typename F> __device__ __forceinline__ uint64_t sums(F weight) const
    {
        uint64_t own = 0;
        for (uint32_t i = first; i < first + each && i < n; i++)
            own += room.list[i] = weight(i);
        return warp_sums(own);
    }

    // The candidate at which the sum reaches `need`, which is not 0; candidate 0 if it never does.
    __device__ __forceinline__ struct summed to(uint64_t sum, uint64_t need) const
    {
        const uint32_t reached = __ballot_sync(~0u, sum >= need);
        const int lane = __ffs((int)reached) - 1;
        struct summed last = {0, sum};
        if (reached == 0)
            return last;
        if ((int)(threadIdx.x % 32) == lane) { // back from its end while the sum reaches `need`
            uint32_t i = min(first + each, n) - 1;
            for (; last.sum - room.list[i] >= need; i--)
                last.sum -= room.list[i];
            last.candidate = room.sorted[i];
        }
        return {__shfl_sync(~0u, last.candidate, lane), __shfl_sync(~0u, last.sum, lane)};
    }
};

// The sum of what all threads of all blocks have counted.
template <typename TEAM>
__device__ __forceinline__ struct counted sum_up(TEAM &team, sampling_room &room,
                                                 struct counted own)
{
    own = {block_sum(own.n, room), block_sum(own.weight, room)};
    own = told_by<true>(team, room, own);
    return {warp_all<adding>(own.n), warp_all<adding>(own.weight)};
}

// A candidate about half-way between two. For masses: half-way by value, while there are floats in
// between, because masses lie within 30 of the highest logit. For counts: half-way by bits, because
// counts may lie anywhere.
template <bool COUNT> __device__ __forceinline__ uint64_t middle(uint64_t low, uint64_t high)
{
    const float a = logit_of((uint32_t)(low >> 32)), b = logit_of((uint32_t)(high >> 32));
    const uint64_t m = (uint64_t)key_of(0.5f * a + 0.5f * b) << 32;
    return !COUNT && low < m && m < high ? m : low + (high - low) / 2;
}

// Finds where, in descending order, the summed weight reaches `need`. Returns that candidate and
// the sum with it. Weight is 1 (COUNT) or mass. All weight lies in [low, high), which has n
// candidates; together they weigh at least `need`.
template <bool COUNT, typename TEAM, typename ROW>
__device__ __forceinline__ struct summed find(TEAM &team, const ROW &row, sampling_room &room,
                                             uint64_t low, uint64_t high, uint64_t n, uint64_t need,
                                             float highest)
{
    auto weight = [&](uint64_t candidate) { return COUNT ? 1 : mass_of(candidate, highest); };
    uint64_t above = 0; // weight of the candidates from `high` on

    while (n > SAMPLING_SORTED) {
        const uint64_t m = middle<COUNT>(low, high);
        struct counted own = {0, 0};
        row.each(m, high, [&](float4 x, uint32_t id, uint32_t pass) {
            own.n += (uint32_t)__popc(pass);
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                own.weight += pass >> i & 1 ? weight(candidate_at(x, id, i)) : 0;
        });
        const struct counted upper = sum_up(team, room, own);
        if (above + upper.weight >= need) {
            low = m;
            n = upper.n;
        } else {
            high = m;
            above += upper.weight;
            n -= upper.n;
        }
    }
    n = sort_between(team, row, room, low, high);
    if (team.rank == 0 && threadIdx.x < 32) {
        const struct walk walk = {room, (uint32_t)n};
        const struct summed last =
            walk.to(walk.sums([&](uint32_t i) { return weight(room.sorted[i]); }), need - above);
        if (threadIdx.x < team.size) {
            team.send(&room.answer[0], last.candidate, threadIdx.x, &room.mail[ANSWERED]);
            team.send(&room.answer[1], last.sum + above, threadIdx.x, &room.mail[ANSWERED]);
        }
    }
    team.receive(room, ANSWERED, 16);
    return {room.answer[0], room.answer[1]};
}

// --- drawing -------------------------------------------------------------------------------------

__device__ __forceinline__ void nothing_sorted(sampling_room &room)
{
    for (uint32_t i = threadIdx.x; i < SAMPLING_SORTED; i += SAMPLING_THREADS)
        room.sorted[i] = 0;
}

// The k highest, sorted, in room.sorted of the first block; entries beyond k or the vocabulary are
// 0. START: the team has not been started.
template <bool START, typename TEAM, typename ROW>
__device__ __forceinline__ void top_k(TEAM &team, const ROW &row, sampling_room &room, uint32_t k)
{
    if (START)
        team.start(room);
    nothing_sorted(room);
    const uint32_t greatest = row.take();
    uint32_t parts = 1;
    while (parts * team.size < k)
        parts *= 2;
    // With more parts than threads there is no bound.
    const uint32_t own = parts > SAMPLING_THREADS ? 0 : least_maximum(greatest, parts, room);

    if (START)
        team.started();
    const uint32_t told = told_by(team, room, own);
    const uint32_t bound = warp_all<least>(threadIdx.x % 32 < team.size ? told : ~0u);
    uint64_t low = max((uint64_t)bound << 32, (uint64_t)SAMPLING_LOWEST);

    const uint32_t n = sort_between(team, row, room, low, SAMPLING_ABOVE_ALL);
    if (n > SAMPLING_SORTED) {
        low = find<true>(team, row, room, low, SAMPLING_ABOVE_ALL, n, k, 0).candidate;
        nothing_sorted(room);
        sort_between(team, row, room, low, SAMPLING_ABOVE_ALL);
    }
}

// Top-p and draw among the k sorted candidates, by one warp of the first block.
__device__ __forceinline__ uint32_t draw_sorted(sampling_room &room, const sampling_rule &rule,
                                                uint32_t uniform)
{
    const float highest = logit_of((uint32_t)(room.sorted[0] >> 32));
    const struct walk walk = {room, rule.k};
    const uint64_t sum = walk.sums([&](uint32_t i) { return mass_of(room.sorted[i], highest); });
    const uint64_t whole = __shfl_sync(~0u, sum, 31);

    if (whole == 0)
        return SAMPLING_NONE;
    const struct summed last = walk.to(sum, part_of(whole, rule.share) + 1);
    return ~(uint32_t)walk.to(sum, part_of(last.sum, uniform) + 1).candidate;
}

// Top-p and draw in the whole row, without top-k. Every block gets the same token.
template <typename TEAM, typename ROW>
__device__ __forceinline__ uint32_t draw_whole(TEAM &team, const ROW &row, sampling_room &room,
                                               const sampling_rule &rule, uint32_t uniform)
{
    team.start(room);
    // With one part, the least maximum is the maximum.
    const uint32_t own_greatest = least_maximum(row.take(), 1, room);
    team.started();
    const uint32_t told = told_by(team, room, own_greatest);
    const uint32_t greatest = warp_all<most>(told);
    const uint32_t lightest = told ? key_of(logit_of(told) - 29.5f) : 0; // e^-29.1 is 2^-42
    const float highest = logit_of(greatest);
    const uint64_t low = (uint64_t)warp_all<most>(lightest) << 32;
    const uint64_t high = ((uint64_t)greatest + 1) << 32;
    struct counted own = {0, 0};
    row.each(low, high, [&](float4 x, uint32_t id, uint32_t pass) {
        own.n += (uint32_t)__popc(pass);
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            own.weight += pass >> i & 1 ? mass_of(candidate_at(x, id, i), highest) : 0;
    });
    const struct counted all = sum_up(team, room, own);
    if (all.weight == 0)
        return SAMPLING_NONE;

    struct summed last = find<false>(team, row, room, low, high, all.n,
                                    part_of(all.weight, rule.share) + 1, highest);
    return ~(uint32_t)find<false>(team, row, room, low, high, all.n,
                                  part_of(last.sum, uniform) + 1, highest)
                .candidate;
}

} // namespace sampling

#endif
