// faults: thread epoch half single kept empty arrival alone unadded slot ends
//
// Two and four ranks at once: the exchanges of links/all_reduce over many rounds, with warps that come
// late, sizes that nothing divides, and payloads that hold what the protocol might trip over; against
// double; what the program's own check says of them, and of faults between the pieces that it compares; a
// rank that never comes; flags and barriers of links/signal.
#include "tests/shim/shim.h"

#include "core/half.c"
#include "links/all_reduce/campaign.cu"
#include "links/all_reduce/judge.c"
#include "links/all_reduce/nodes.cu"
#include "links/all_reduce/rounding.c"
#include "links/signal/signal.cu"

// --- ranks ---------------------------------------------------------------------------------------

struct ranks {
    struct exchange x[LINKS_MOST];
};

// Mailboxes of exactly so many slots.
static struct ranks make_ranks(unsigned ranks, uint64_t slots)
{
    struct ranks all = {};
    struct team_state *state[LINKS_MOST];
    char *packet[LINKS_MOST], *plain_box[LINKS_MOST];
    const size_t each = ranks * slots * EXCHANGE_SLOT;

    for (unsigned k = 0; k < ranks; k++) {
        state[k] = (struct team_state *)shim_alloc(sizeof *state[k]);
        memset(state[k], 0, sizeof *state[k]);
        packet[k] = (char *)shim_alloc(PACKET_GENERATIONS * each);
        memset(packet[k], 0, PACKET_GENERATIONS * each);
        plain_box[k] = (char *)shim_alloc(PLAIN_GENERATIONS * each);
    }
    for (unsigned rank = 0; rank < ranks; rank++) {
        struct exchange *x = &all.x[rank];
        x->team.rank = rank;
        x->team.ranks = ranks;
        x->team.budget_ns = 400000000;
        x->team.linger_ns = 3000;
        x->packets.slots = x->plain.slots = slots;
        for (unsigned k = 0; k < ranks; k++) {
            x->team.state[k] = state[k];
            x->packets.of[k] = packet[k];
            x->plain.of[k] = plain_box[k];
        }
        x->team.mine = state[rank];
    }
    return all;
}

static uint32_t lost(const struct ranks &all, unsigned ranks)
{
    uint32_t n = 0;
    for (unsigned k = 0; k < ranks; k++)
        n += all.x[k].team.mine->lost != 0;
    return n;
}

// --- planted faults ------------------------------------------------------------------------------

struct packets_any_epoch : packets {
    static bool is_there(slot s, uint32_t) { return s.x >> 32 != 0 && s.y >> 32 != 0; }
};
struct packets_half : packets {
    static bool is_there(slot s, uint32_t number) { return (uint32_t)(s.x >> 32) == number; }
};
struct packets_single : packets {
    enum { GENERATIONS = 1 };
};
struct plain_kept : plain {
    static void put_back(slot *) {}
};
struct plain_empty : plain {
    static unit fit(unit u) { return u; }
};
struct fp32_arrival : fp32 {};
template <> struct exchange_sum<fp32_arrival> { // what a rank has first is added first
    template <typename UNIT, int PEERS>
    static UNIT of(UNIT own, const UNIT (&got)[PEERS], uint32_t, float)
    {
        for (uint32_t w = 0; w < sizeof own.word / sizeof own.word[0]; w++) {
            float s = __uint_as_float(own.word[w]);
            for (int p = 0; p < PEERS; p++)
                s += __uint_as_float(got[p].word[w]);
            own.word[w] = __float_as_uint(s);
        }
        return own;
    }
};

typedef void campaign_kernel(const struct campaign_args);
template <typename WIRE, typename TYPE> static void push_4(const struct campaign_args a)
{
    campaign<push_all_reduce<WIRE, TYPE, 4>, WIRE, TYPE, 4, CAMPAIGN_SUM>(a);
}

static campaign_kernel *packets_kernel()
{
    return shim_fault("epoch")     ? push_4<packets_any_epoch, fp32>
           : shim_fault("half")    ? push_4<packets_half, fp32>
           : shim_fault("single")  ? push_4<packets_single, fp32>
           : shim_fault("arrival") ? push_4<packets, fp32_arrival>
                                   : push_4<packets, fp32>;
}

static campaign_kernel *plain_kernel()
{
    return shim_fault("kept")    ? push_4<plain_kept, fp32>
           : shim_fault("empty") ? push_4<plain_empty, fp32>
                                 : push_4<plain, fp32>;
}

// --- campaigns -----------------------------------------------------------------------------------

// What a reader puts back into a plain slot must reach its L2 before the next data does: three rounds lie
// between. Here every store is seen at once, so that fewer generations would not fail.
static_assert(PLAIN_GENERATIONS >= 4, "three rounds between a slot's data and the next");

// Twice, with two shapes of launch: the slots of the first are used by other threads in the second.
// Rounds begin behind `before` others.
static void test_campaign(const char *name, campaign_kernel *kernel, unsigned ranks, uint64_t units,
                          uint32_t rounds, uint64_t before = 0)
{
    struct ranks all = make_ranks(ranks, exchange_slots(units, ranks));
    struct campaign_args a[LINKS_MOST];
    uint32_t *wrong = (uint32_t *)shim_alloc(sizeof *wrong * ranks);

    memset(wrong, 0, sizeof *wrong * ranks);
    for (unsigned k = 0; k < ranks; k++)
        all.x[k].team.mine->turn = before;
    for (unsigned shape = 0; shape < 2; shape++) {
        for (unsigned k = 0; k < ranks; k++)
            a[k] = {all.x[k], shape ? units / 2 + 1 : units, rounds, 77 + shape, wrong + k};
        shim_launch_ranks(kernel, a, ranks, shape ? 1 : 2, shape ? 64 : 32, 0);
        for (unsigned k = 0; k < ranks; k++)
            shim_check(wrong[k] == 0, "%s of %u, %u units: rank %u has %u wrong", name, ranks,
                       (unsigned)units, k, wrong[k]);
        shim_check(lost(all, ranks) == 0, "%s of %u, %u units: lost is %x", name, ranks,
                   (unsigned)units, all.x[0].team.mine->lost);
    }
    shim_check(all.x[0].team.mine->turn == before + 2ull * rounds &&
                   all.x[0].team.mine->asked == 0, "%s: %llu turns", name,
               (unsigned long long)all.x[0].team.mine->turn);
}

// One rank does not come: the others end, and all know who waited for whom.
static void test_absent(unsigned ranks, unsigned absent)
{
    struct ranks all = make_ranks(ranks, exchange_slots(70, ranks));
    struct campaign_args a[LINKS_MOST];
    uint32_t *wrong = (uint32_t *)shim_alloc(sizeof *wrong);
    const bool all_come = shim_fault("alone");

    *wrong = 0;
    for (unsigned k = 0; k < ranks; k++) {
        all.x[k].team.budget_ns = 2000000;
        a[k] = {all.x[k], 70, k == absent && !all_come ? 0u : 3u, 5, wrong};
    }
    shim_launch_ranks(ranks == 2 ? campaign_push_packets_bf16_2 : campaign_two_shot_plain_fp32_4,
                      a, ranks, 1, 64, 0);
    const uint32_t seen = all.x[0].team.mine->lost;
    shim_check(lost(all, ranks) == ranks, "%u of %u ranks know of a lost one", lost(all, ranks),
               ranks);
    shim_check((seen & TEAM_LOST) && (seen & 255) < ranks && (seen >> 8 & 255) != absent,
               "rank %u waited for rank %u, and %u was absent", seen >> 8 & 255, seen & 255, absent);
}

// One rank has no patience. The others have, but hear from it that one is lost, and wait no longer.
static void test_hasty(unsigned absent)
{
    enum { RANKS = 4 };
    struct ranks all = make_ranks(RANKS, exchange_slots(70, RANKS));
    struct campaign_args a[LINKS_MOST];
    uint32_t *wrong = (uint32_t *)shim_alloc(sizeof *wrong);

    *wrong = 0;
    for (unsigned k = 0; k < RANKS; k++) {
        all.x[k].team.budget_ns = k == (absent + 1) % RANKS ? 64 : UINT32_MAX;
        a[k] = {all.x[k], 70, k == absent ? 0u : 3u, 5, wrong};
    }
    const uint64_t began = shim.clock;
    shim_launch_ranks(campaign_push_packets_bf16_4, a, RANKS, 1, 32, 0);
    shim_check(lost(all, RANKS) == RANKS, "%u of 4 ranks know of a lost one", lost(all, RANKS));
    shim_check(shim.clock - began < 1 << 28, "all wait no longer than the one without patience");
}

// --- against double ------------------------------------------------------------------------------

enum { NODE_SUM, NODE_PART, NODE_ALL };
typedef void node_kernel(const struct exchange_args);

static double number_at(const void *vector, bool bf, size_t i)
{
    return bf ? half_bf16(((const uint16_t *)vector)[i]) : ((const float *)vector)[i];
}

static void set_number(void *vector, bool bf, size_t i, float x)
{
    if (bf)
        ((uint16_t *)vector)[i] = shim_to_bf16(x);
    else
        ((float *)vector)[i] = x;
}

// N(0,1), and now and then a NaN, -0.0, or what an empty slot holds.
static float payload(size_t i)
{
    return i % 37 == 5 ? __uint_as_float(PLAIN_EMPTY) : i % 41 == 7 ? -0.0f : (float)shim_normal();
}

static void test_node(const char *name, node_kernel *kernel, bool bf, bool packed, int kind,
                      unsigned ranks, uint64_t units)
{
    const size_t n = units * (packed ? PACKET_PAYLOAD : PLAIN_PAYLOAD) / (bf ? 2 : 4);
    const size_t in = kind == NODE_PART ? n * ranks : n, out = kind == NODE_ALL ? n * ranks : n;
    struct ranks all = make_ranks(ranks, exchange_slots(units, ranks));
    struct exchange_args a[LINKS_MOST];
    void *from[LINKS_MOST], *to[LINKS_MOST];
    int wrong = 0, differ = 0;
    const float scale = kind == NODE_ALL || units == 1 ? 1 : 1.f / (float)ranks;

    for (unsigned k = 0; k < ranks; k++) {
        from[k] = shim_alloc(in * (bf ? 2 : 4));
        to[k] = shim_alloc(out * (bf ? 2 : 4));
        for (size_t i = 0; i < in; i++)
            set_number(from[k], bf, i, payload(i));
        a[k] = {all.x[k], from[k], to[k], units, scale, 1, NULL};
    }
    shim_launch_ranks(kernel, a, ranks, 2, 32, 0);
    for (unsigned k = 0; k < ranks; k++)
        for (size_t i = 0; i < out; i++) {
            const size_t at = kind == NODE_PART ? k * n + i : i % n;
            double sum = 0, size = 0;
            for (unsigned p = 0; p < ranks; p++)
                if (kind != NODE_ALL || p == i / n) {
                    sum += scale * number_at(from[p], bf, at);
                    size += scale * fabs(number_at(from[p], bf, at));
                }
            const double got = number_at(to[k], bf, i);
            const double bound = kind == NODE_ALL ? 0 : (bf ? 0x1p-8 * fabs(sum) : 0) + 0x1p-22 * size;
            wrong += isnan(sum) ? !isnan(got) : !(fabs(got - sum) <= bound);
            wrong += sum == 0 && signbit(got) != (at % 41 == 7);
        }
    for (unsigned k = 1; k < ranks && kind != NODE_PART; k++)
        differ += memcmp(to[k], to[0], out * (bf ? 2 : 4)) != 0;
    shim_check(wrong == 0, "%s, %u units: %d numbers are not as in double", name, (unsigned)units,
               wrong);
    shim_check(differ == 0, "%s, %u units: %d ranks have other bits", name, (unsigned)units, differ);
    shim_check(lost(all, ranks) == 0, "%s: a rank was lost", name);
}

#define EVERY(run, wire, type, ranks)                                                              \
    run(push, wire, type, ranks, NODE_SUM);                                                        \
    run(two_shot, wire, type, ranks, NODE_SUM);                                                    \
    run(reduce_scatter, wire, type, ranks, NODE_PART)
#define IS_BF(type) (sizeof(#type) == sizeof "bf16" && #type[0] == 'b')
#define RUN_NODE(op, wire, type, ranks, kind)                                                      \
    test_node(#op " " #wire " " #type, node_##op##_##wire##_##type##_##ranks, IS_BF(type),         \
              #wire[1] == 'a', kind, ranks, units)
#define RUN_CAMPAIGN(op, wire, type, ranks, kind)                                                  \
    test_campaign(#op " " #wire " " #type, campaign_##op##_##wire##_##type##_##ranks, ranks,       \
                  units, 6)

static void test_exchanges(uint64_t units)
{
    EVERY(RUN_NODE, packets, bf16, 2);
    EVERY(RUN_NODE, plain, fp32, 2);
    EVERY(RUN_NODE, packets, fp32, 4);
    EVERY(RUN_NODE, plain, bf16, 4);
    RUN_NODE(all_gather, packets, any, 2, NODE_ALL);
    RUN_NODE(all_gather, plain, any, 4, NODE_ALL);
    EVERY(RUN_CAMPAIGN, packets, fp32, 2);
    EVERY(RUN_CAMPAIGN, plain, bf16, 2);
    EVERY(RUN_CAMPAIGN, packets, bf16, 4);
    EVERY(RUN_CAMPAIGN, plain, fp32, 4);
    RUN_CAMPAIGN(all_gather, plain, any, 2, NODE_ALL);
    RUN_CAMPAIGN(all_gather, packets, any, 4, NODE_ALL);
}

// --- what the program says -----------------------------------------------------------------------

// 13 pieces of a vector in plain slots. One unit is in a middle one: neither the first step of its thread
// nor the last, neither in the first rank's part nor in the last one's of four, and not where the ends
// and the middle are compared.
enum { JUDGED_UNITS = 797, JUDGED_PIECE = 1024, MIDDLE = 470 };

// One rank's numbers of that unit are not added; or the result of that unit is written one slot off, by
// all ranks alike.
enum middle_fault { NO_FAULT, UNADDED, SLOT };
static enum middle_fault planted;

template <typename OP> struct with_fault {
    template <typename FROM, typename TO>
    static void round(const struct exchange &x, struct exchange_turn &t, uint64_t units, float scale,
                      const FROM &from, const TO &to)
    {
        const auto sent = [&](uint64_t i) {
            auto u = from(i);
            if (planted == UNADDED && x.team.rank == 1 && i % units == MIDDLE)
                u = {};
            return u;
        };
        const auto got = [&](uint64_t i, auto u) {
            to(planted == SLOT && i % units == MIDDLE ? i + 1 : i, u);
        };
        OP::round(x, t, units, scale, sent, got);
    }
};

template <typename OP, typename WIRE> static void judged_node(const struct exchange_args a)
{
    node<with_fault<OP>, typename WIRE::unit>(a);
}

static void read_vector(const void *of, int rank, bool is_result, size_t at, size_t bytes, char *to)
{
    const struct exchange_args *a = (const struct exchange_args *)of + rank;
    memcpy(to, (const char *)(is_result ? a->to : a->from) + at, bytes);
}

static struct judgement judge_ranks(const struct exchange_args *a, unsigned ranks, size_t bytes, bool bf,
                                    int kind)
{
    struct judged j = {};
    j.ranks = (int)ranks;
    j.bytes = bytes;
    j.is_bf16 = bf;
    j.is_part = kind == NODE_PART;
    j.gathers = kind == NODE_ALL;
    j.once = true;
    j.whole = !shim_fault("ends");
    j.scale = 1;
    j.piece = JUDGED_PIECE;
    j.read = read_vector;
    j.of = a;
    for (unsigned k = 0; k < 2 * ranks; k++)
        j.host[k] = (char *)shim_alloc(JUDGED_PIECE);
    return judge_result(&j);
}

static void test_judged(const char *name, node_kernel *kernel, bool bf, bool packed, int kind,
                        unsigned ranks, enum middle_fault fault)
{
    const size_t bytes = JUDGED_UNITS * (packed ? PACKET_PAYLOAD : PLAIN_PAYLOAD);
    const size_t in = kind == NODE_PART ? bytes * ranks : bytes;
    const size_t out = kind == NODE_ALL ? bytes * ranks : bytes;
    struct ranks all = make_ranks(ranks, exchange_slots(JUDGED_UNITS, ranks));
    struct exchange_args a[LINKS_MOST];

    for (unsigned k = 0; k < ranks; k++) {
        void *from = shim_alloc(in);
        for (size_t i = 0; i < in / (bf ? 2 : 4); i++)
            set_number(from, bf, i, (float)shim_normal());
        a[k] = {all.x[k], from, shim_alloc(out), JUDGED_UNITS, 1, 1, NULL};
    }
    planted = fault != NO_FAULT       ? fault
              : shim_fault("unadded") ? UNADDED
              : shim_fault("slot")    ? SLOT
                                      : NO_FAULT;
    shim_launch_ranks(kernel, a, ranks, 2, 32, 0);
    const struct judgement v = judge_ranks(a, ranks, bytes, bf, kind);
    shim_check(judge_is_right(v) == (fault == NO_FAULT), "%s of %u, fault %d: error %g, %g differ", name,
               ranks, fault, v.error, v.differ);
    shim_check(lost(all, ranks) == 0, "%s: a rank was lost", name);
}

#define JUDGED(wire, type, ranks, kind, op, ...)                                                   \
    test_judged(#op " " #wire " " #type, judged_node<op<__VA_ARGS__>, wire>, IS_BF(type),          \
                #wire[1] == 'a', kind, ranks, (enum middle_fault)fault)

static void test_middle(void)
{
    for (int fault = NO_FAULT; fault <= SLOT; fault++) {
        JUDGED(packets, bf16, 2, NODE_SUM, push_all_reduce, packets, bf16, 2);
        JUDGED(plain, fp32, 4, NODE_SUM, push_all_reduce, plain, fp32, 4);
        JUDGED(plain, bf16, 4, NODE_SUM, two_shot_all_reduce, plain, bf16, 4);
        JUDGED(plain, fp32, 2, NODE_PART, push_reduce_scatter, plain, fp32, 2);
        JUDGED(plain, bf16, 4, NODE_ALL, push_all_gather, plain, 4);
    }
}

// --- flags and barriers --------------------------------------------------------------------------

static void test_ring(void (*kernel)(const struct ring_args), unsigned ranks, bool carries)
{
    struct ranks all = make_ranks(ranks, 1);
    struct signal_box *box[LINKS_MOST];
    struct signal_result *result = (struct signal_result *)shim_alloc(sizeof *result * ranks);
    struct ring_args a[LINKS_MOST];
    const uint32_t turns = 5, whole = SIGNAL_WARM + 3 * turns;

    for (unsigned k = 0; k < ranks; k++) {
        box[k] = (struct signal_box *)shim_alloc(sizeof *box[k]);
        memset(box[k], 0, sizeof *box[k]);
    }
    for (uint32_t launch = 0; launch < 3; launch++) { // numbers wrap on the way
        const uint32_t first = 0xffffffe0u + launch * (whole + 1);
        for (unsigned k = 0; k < ranks; k++) {
            if (launch == 0)
                box[k]->flag = first, box[k]->packet = (uint64_t)first << 32;
            a[k] = {all.x[k].team, box[k], box[(k + 1) % ranks], result + k, first, turns, k == 0,
                    (k + ranks - 1) % ranks};
        }
        shim_launch_ranks(kernel, a, ranks, 1, 1, 0);
        shim_check(!carries || result[0].value == whole * ranks, "value %u after %u turns of %u",
                   result[0].value, whole, ranks);
        shim_check(lost(all, ranks) == 0, "ring of %u: a rank was lost", ranks);
    }
}

// The last warp's store comes late, when all the others have come to the barrier long ago; that of one
// block of one rank comes later still.
template <bool GRID> static void late_store(const struct order_args a)
{
    struct team_barrier barrier = team_join(a.team);
    const bool is_slow = a.team.rank == 0 && blockIdx.x + 1 == gridDim.x;
    uint32_t late = 0;
    for (uint32_t round = a.first + 1; round != a.first + a.rounds + 1; round++) {
        const uint32_t set = round % 2 * gridDim.x * ORDER_STRIDE;
        if (threadIdx.x == blockDim.x - 1) {
            for (uint32_t k = 0; k < 30 || (is_slow && k < 300); k++)
                load_relaxed_sys(a.mine);
            a.next[set + blockIdx.x * ORDER_STRIDE] = round;
        }
        team_barrier<GRID, true>(a.team, barrier);
        if (threadIdx.x >= 32 && threadIdx.x - 32 < gridDim.x)
            late += (int32_t)(a.mine[set + (threadIdx.x - 32) * ORDER_STRIDE] - round) < 0;
    }
    if (late > 0)
        atomicAdd(&a.wrong[0], late);
}

// Stores into the next rank's memory or, where it is alone, into its own.
static void test_barrier(unsigned ranks, unsigned blocks, void (*kernel)(const struct order_args),
                         bool is_own)
{
    struct ranks all = make_ranks(ranks, 1);
    uint32_t *slots[LINKS_MOST], *wrong = (uint32_t *)shim_alloc(8);
    struct order_args a[LINKS_MOST];

    memset(wrong, 0, 8);
    for (unsigned k = 0; k < ranks; k++) {
        slots[k] = (uint32_t *)shim_alloc(2 * blocks * ORDER_STRIDE * 4);
        memset(slots[k], 0, 2 * blocks * ORDER_STRIDE * 4);
        all.x[k].team.mine->inbox[0] = all.x[k].team.mine->inbox[1] = 0xfffffffcu; // they wrap
        all.x[k].team.mine->inbox[2] = all.x[k].team.mine->inbox[3] = 0xfffffffcu;
    }
    for (unsigned k = 0; k < ranks; k++)
        a[k] = {all.x[k].team, slots[k], slots[is_own ? k : (k + 1) % ranks], wrong, 0, 10};
    shim_launch_ranks(kernel, a, ranks, blocks, 96, 0);
    shim_check(wrong[0] == 0 && wrong[1] == 0, "barrier of %u x %u: %u early, %u late", ranks,
               blocks, wrong[1], wrong[0]);
    shim_check(lost(all, ranks) == 0, "barrier of %u x %u: a rank was lost", ranks, blocks);
}

static void shim_test(void)
{
    test_campaign("push packets", packets_kernel(), 4, 67, 12);
    test_campaign("push plain", plain_kernel(), 4, 67, 12);
    test_campaign("push packets, numbers that wrap", packets_kernel(), 4, 67, 12, 0xfffffff8u);
    test_absent(2, 1);
    test_absent(4, 2);
    test_hasty(2);
    test_exchanges(1);
    test_exchanges(101);
    test_middle();
    test_ring(signal_ring_relaxed, 2, false);
    test_ring(signal_ring_acquire, 4, true);
    test_ring(signal_ring_packet, 2, true);
    for (int is_own = 0; is_own < 2; is_own++) {
        test_barrier(2, 3, signal_order_ordered, is_own);
        test_barrier(4, 2, signal_order_ordered, is_own);
        test_barrier(2, 3, late_store<true>, is_own);
    }
    test_barrier(4, 1, late_store<false>, false);
}
