// The edges of a layer that ranks share. A word for this rank's own blocks has the epoch of its layer
// beside it, as in edge_values. A word that is added to the residual is a summand: it goes to this rank's
// mail and into the mailbox of every other rank, and who needs it polls all ranks' summands. So what
// completes O and down is a push all-reduce (links/common/exchange.cuh), and it is the edge behind them:
// there is no other.
//
// A word of the mail and a half of a packet look the same: four bytes, and a number. So a mailbox's slot
// is a pair of words, two rows. O is one exchange of the layer and down the next; the exchange's number is
// the one that its words bear. Behind the head is one more: what each block has chosen, a slot of logit and
// row, in which the row counts from the whole head's first. Epochs are numbers of exchanges, too. They go
// on from launch to launch on the GPU's own counter.
//
// When may a slot be written again? A block hands over rows of O or down after all its threads have read
// all of the exchange before, and each block has rows of both (decoder_problem_make() sees to it, and
// decoder_near_suits() where each SM has rows of its own side). So who
// has all of exchange t + 1 from a rank knows that all its blocks have read exchange t. It hands over rows
// of t + 2 only then: two generations are enough. The same holds of a choice: each block puts what it has
// chosen, be it nothing, after all its threads have read all of down, and it hands over rows of O after it
// has read what all blocks of all ranks have chosen. So numbers must be contiguous: generations are numbers
// modulo two.
#ifndef LINKS_LAYER_EDGE_CUH
#define LINKS_LAYER_EDGE_CUH

#include "fused/common/decoder/edge.cuh"
#include "links/common/exchange.cuh"

// In shared memory: the mailboxes, which are picked by rank, and the number of the first exchange.
struct edge_room {
    struct exchange_box box;
    uint64_t turn;
};

template <int RANKS, typename WIRE = packets, typename TYPE = fp32> struct edge_ranks : edge_values {
    enum { GPUS = RANKS };
    static_assert(sizeof(typename WIRE::slot) == 2 * sizeof(uint64_t), "a slot is a pair of words");
    const struct team *team;
    const struct exchange_box *box;
    uint32_t o, down; // where their words begin in the mail

    // Call it once in a launch of so many exchanges, with all threads of the block.
    __device__ __forceinline__ void meet(const struct exchange &x, const struct decoder_mail &mail,
                                         struct edge_room *room, uint32_t exchanges)
    {
        if (threadIdx.x < RANKS)
            room->box.of[threadIdx.x] = WIRE::box(x).of[threadIdx.x];
        if (threadIdx.x == 0)
            room->box.slots = WIRE::box(x).slots;
        const struct exchange_turn turn = exchange_join(x.team, &room->turn, exchanges);
        team = &x.team;
        box = &room->box;
        epoch = (uint32_t)turn.round - 2; // as if there was a layer before the first
        o = mail.o;
        down = mail.down;
    }
    // A layer's epoch is the number of its first exchange.
    __device__ __forceinline__ void open(void *layer_mail, uint32_t)
    {
        edge_values::open(layer_mail, epoch + 2);
    }

    __device__ __forceinline__ void put_sum(uint32_t i, uint32_t bits)
    {
        const uint32_t is_down = i >= down, number = epoch + is_down;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        const uint32_t at = i - (is_down ? down : o);
#pragma unroll
        for (uint32_t p = 0; p < RANKS - 1; p++)
            store_relaxed_sys_64((uint64_t *)slots.theirs[p] + at, WIRE::half(bits, number));
        put(i, bits);
    }

    // The sums of all ranks' words, in the order of ranks. What is polled together lies in registers, of each
    // rank: so many pairs at a time that none is spilled.
    enum { TOGETHER = RANKS == 2 ? 3 : 2 };
    template <int N>
    __device__ __forceinline__ void take_sum(uint32_t from, uint32_t step, uint32_t end,
                                             uint2 (&word)[N])
    {
        const uint32_t is_down = from >= down / 2, number = epoch + is_down;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        const ulonglong2 *mine = (const ulonglong2 *)mail + from;
        const uint32_t at = from - (is_down ? down : o) / 2, left = end - from;
#pragma unroll
        for (int n = 0; n < N; n += TOGETHER)
            if (n == 0 || n * step < left)
                take_some<N>(slots, number, mine, at, n, step, left, word);
    }

    template <int N>
    __device__ __forceinline__ void take_some(const exchange_slots_of<WIRE, RANKS> &slots,
                                              uint32_t number, const ulonglong2 *mine, uint32_t at,
                                              int first_pair, uint32_t step, uint32_t left,
                                              uint2 (&word)[N])
    {
        ulonglong2 own[TOGETHER];
        typename WIRE::slot theirs[RANKS - 1][TOGETHER];
        const auto is_there = [&](int i) {
            return first_pair + i < N &&
                   (first_pair + i == 0 || (first_pair + i) * step < left);
        };

        poll(slots, number, mine + first_pair * step, at + first_pair * step, step, is_there, own,
             theirs);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++)
            if (is_there(i)) {
                typename WIRE::unit got[RANKS - 1];
#pragma unroll
                for (uint32_t p = 0; p < RANKS - 1; p++)
                    got[p] = WIRE::open(theirs[p][i]);
                const typename WIRE::unit sum =
                    exchange_sum<TYPE>::of(WIRE::open(own[i]), got, slots.me, 1);
                word[first_pair + i] = make_uint2(sum.word[0], sum.word[1]);
            }
    }

    // Waits for some pairs of words, `step` apart, from this rank's mail and from each other rank.
    template <int N, typename HAS>
    __device__ __forceinline__ void
    poll(const exchange_slots_of<WIRE, RANKS> &slots, uint32_t number, const ulonglong2 *mine,
         uint32_t at, uint32_t step, const HAS &is_there, ulonglong2 (&own)[N],
         typename WIRE::slot (&theirs)[RANKS - 1][N])
    {
        struct team_watch watch = {0, 0, given_up};

#pragma unroll 1
        for (;;) {
            uint32_t awaited = RANKS;
#pragma unroll
            for (int i = 0; i < N; i++)
                if (is_there(i)) {
                    own[i] = load_relaxed_2x64(mine + i * step);
#pragma unroll
                    for (uint32_t p = 0; p < RANKS - 1; p++)
                        theirs[p][i] = WIRE::get(slots.mine[p] + at + i * step);
                }
#pragma unroll
            for (int i = 0; i < N; i++)
                if (is_there(i)) {
                    if ((uint32_t)(own[i].x >> 32) != epoch || (uint32_t)(own[i].y >> 32) != epoch)
                        awaited = slots.me;
#pragma unroll
                    for (uint32_t p = 0; p < RANKS - 1; p++)
                        if (!WIRE::is_there(theirs[p][i], number))
                            awaited = slots.rank(p);
                }
            if (awaited == RANKS || watch.given_up ||
                team_gives_up(*team, watch, awaited))
                break;
        }
        given_up = watch.given_up;
    }

    // The exchange behind down. Of the same head every rank has `rows`, in the order of ranks.
    __device__ __forceinline__ void put_best(uint32_t i, uint32_t block, uint32_t logit,
                                             uint32_t row, uint32_t rows)
    {
        const uint32_t number = epoch + 2, of_all = row + team->rank * rows;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        slots.tell(block, {{logit, of_all}});
        edge_values::put_best(i, block, logit, of_all, rows);
    }
    template <typename BETTER>
    __device__ __forceinline__ void take_best(uint32_t first, uint32_t block, const BETTER &better)
    {
        const uint32_t number = epoch + 2;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        ulonglong2 own[1];
        typename WIRE::slot theirs[RANKS - 1][1];
        poll(slots, number, (const ulonglong2 *)mail + first, block, 0, [](int) { return true; },
             own, theirs);
        better((uint32_t)own[0].x, (uint32_t)own[0].y);
#pragma unroll
        for (uint32_t p = 0; p < RANKS - 1; p++) {
            const typename WIRE::unit got = WIRE::open(theirs[p][0]);
            better(got.word[0], got.word[1]);
        }
    }
    __device__ __forceinline__ void chosen(void) { epoch++; }
};

#endif
