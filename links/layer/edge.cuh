// The edges of a layer that ranks share. A word for this rank's own blocks has the epoch of its
// layer beside it, as in edge_values. A word that is added to the residual is a summand: it goes to
// this rank's mail and into the mailbox of every other rank, and who needs it polls all ranks'
// summands. So what completes O and down is a push all-reduce (links/common/exchange.cuh), and it
// is the edge behind them: there is no other.
//
// A word of the mail and a half of a packet look the same: four bytes, and a number. So a mailbox's
// slot is a pair of words, two rows. O is one exchange of the layer and down the next; the
// exchange's number is the one that its words bear. Behind the head is one more: what each block
// has chosen, a slot of logit and row, in which the row counts from the whole head's first. Epochs
// are numbers of exchanges, too. They go on from launch to launch on the GPU's own counter.
//
// When may a slot be written again? A block hands over rows of O or down after all its threads have
// read all of the exchange before, and each block has rows of both (decoder_problem_make() sees to
// it, and decoder_near_suits() where each SM has rows of its own side). So who has all of exchange
// t + 1 from a rank knows that all its blocks have read exchange t. It hands over rows of t + 2
// only then: two generations are enough. The same holds of a choice: each block puts what it has
// chosen, be it nothing, after all its threads have read all of down, and it hands over rows of O
// after it has read what all blocks of all ranks have chosen. So numbers must be contiguous:
// generations are numbers modulo two.
#ifndef LINKS_LAYER_EDGE_CUH
#define LINKS_LAYER_EDGE_CUH

#include "fused/common/decoder/edge.cuh"
#include "links/common/exchange.cuh"

// In shared memory: the mailboxes, which are picked by rank, and the number of the first exchange.
struct edge_room {
    struct exchange_box box;
    uint64_t turn;
};

template <int RANKS, typename WIRE = packets, typename TYPE = fp32>
struct edge_ranks : edge_alone<edge_values> {
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
        const struct exchange_turn turn = exchange_join(x.team, &room->turn);
        exchange_leave(x.team, turn, exchanges);
        team = &x.team;
        box = &room->box;
        epoch = (uint32_t)turn.round - 2; // as if there was a layer before the first
        o = mail.o;
        down = mail.down;
    }
    // A layer's epoch is the number of its first exchange.
    __device__ __forceinline__ void open(void *layer_mail, uint32_t)
    {
        edge_alone<edge_values>::open(layer_mail, epoch + 2);
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

    // The sums of all ranks' words, in the order of ranks. This rank's own are there first, and are
    // taken first. Those of other ranks are then polled together, as many pairs at a time as
    // registers hold.
    enum { PEERS = RANKS - 1 };
    template <int N>
    __device__ __forceinline__ void take_sum(uint32_t from, uint32_t step, uint32_t end,
                                             uint2 (&word)[N])
    {
        enum { TOGETHER = RANKS == 2 ? N : (N + 1) / 2 };
        const uint32_t is_down = from >= down / 2, number = epoch + is_down;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        const uint32_t at = from - (is_down ? down : o) / 2, left = end - from;

        take(from, step, end, word);
#pragma unroll
        for (int n = 0; n < N; n += TOGETHER) {
            typename WIRE::unit got[TOGETHER][PEERS];
            uint32_t pairs = n == 0;
#pragma unroll
            for (int i = 0; i < TOGETHER; i++)
                pairs |= (n + i < N && (n + i) * step < left) << i;
            poll(slots, number, at + n * step, step, pairs, got);
#pragma unroll
            for (int i = 0; i < TOGETHER && n + i < N; i++) {
                const typename WIRE::unit own = {{word[n + i].x, word[n + i].y}};
                const typename WIRE::unit sum =
                    exchange_sum<TYPE>::of(own, got[i], slots.me, 1);
                word[n + i] = make_uint2(sum.word[0], sum.word[1]);
            }
        }
    }

    // Slots of all peers, `step` apart from the first on, of which pairs has a bit; others are 0.
    // It asks for all that is missing, and for nothing else, as words_take() does.
    template <int N>
    __device__ __forceinline__ void poll(const exchange_slots_of<WIRE, RANKS> &slots,
                                         uint32_t number, uint32_t at, uint32_t step,
                                         uint32_t pairs, typename WIRE::unit (&got)[N][PEERS])
    {
        typename WIRE::slot slot[N][PEERS] = {};
        struct team_watch watch = {0, 0, given_up};
        uint32_t missing = 0; // a bit for each slot of the first peer, then of the next
#pragma unroll
        for (uint32_t p = 0; p < PEERS; p++)
            missing |= pairs << (p * N);
#pragma unroll 1
        while (missing != 0 && !watch.given_up) {
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (uint32_t p = 0; p < PEERS; p++)
                    if (missing >> (p * N + i) & 1)
                        slot[i][p] = WIRE::get(slots.mine[p] + at + i * step);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (uint32_t p = 0; p < PEERS; p++)
                    if (WIRE::is_there(slot[i][p], number))
                        missing &= ~(1u << (p * N + i));
            if (missing != 0)
                team_gives_up(*team, watch, slots.rank((__ffs((int)missing) - 1) / N));
        }
        given_up = watch.given_up;
#pragma unroll
        for (int i = 0; i < N; i++)
#pragma unroll
            for (uint32_t p = 0; p < PEERS; p++)
                got[i][p] = WIRE::open(slot[i][p]);
    }

    // The exchange behind down. Of the same head every rank has `rows`, in the order of ranks.
    __device__ __forceinline__ void put_best(uint32_t i, uint32_t block, uint32_t logit,
                                             uint32_t row, uint32_t rows)
    {
        const uint32_t number = epoch + 2, of_all = row + team->rank * rows;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        slots.tell(block, {{logit, of_all}});
        edge_alone<edge_values>::put_best(i, block, logit, of_all, rows);
    }
    template <typename BETTER>
    __device__ __forceinline__ void take_best(uint32_t first, uint32_t block, const BETTER &better)
    {
        const uint32_t number = epoch + 2;
        const exchange_slots_of<WIRE, RANKS> slots(*team, *box, number);
        typename WIRE::unit got[1][PEERS];
        edge_alone<edge_values>::take_best(first, block, better);
        poll(slots, number, block, 0, 1, got);
#pragma unroll
        for (uint32_t p = 0; p < PEERS; p++)
            better(got[0][p].word[0], got[0][p].word[1]);
    }
    __device__ __forceinline__ void chosen(void) { epoch++; }
};

#endif
