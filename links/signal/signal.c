/* signal: how long does a word take from one GPU to another, and a barrier of all of them?
 *
 * Method. One thread on each GPU; a token goes round the ring of the GPUs. Each waits for it in a
 * word of its own memory, and stores it into the memory of the next. N turns, then 2 N, between
 * three reads of the cycle counter of the GPU where a turn begins; the slope is over the N between
 * them. No two clocks are compared: a turn of g GPUs has g one-way trips, and with two GPUs it is a
 * round trip. With four, round_trip is measured between ranks 0 and 1 alone, and round_trip_map
 * between all pairs.
 *     relaxed   a number; nothing is to be seen with it. Stores and polls are relaxed
 *     acquire   a value by an ordinary store, then the number, released: the store of the number
 *               waits until the value has arrived. The polls are relaxed; behind the last one is
 *               one fence that acquires, then an ordinary load of the value
 *     packet    value and number in one store of eight bytes, relaxed: the data is the flag
 * The value is raised by one on each GPU, and must in the end be what the turns make of it. The
 * relay counts what it hands on: a word of each GPU in its turn, and no more than the turns have.
 * A relaxed number carries nothing that could show that it was waited for. Its shortest turn takes
 * at least half of a packet's shortest, which goes the same way.
 *     via=host  the same words lie in memory of the host that all ranks share. Each GPU has it
 *               mapped and polls it across the bus: how GPUs signal that do not reach each other
 *     via=relay the same, but each GPU stores for the host, and a thread of the host, which polls
 *               all of these words, hands each on: how a program signals that decides on the host
 *
 * Barriers. All GPUs tell each other, each polls its own memory. blocks=1: one block on each.
 * blocks=sm: as many blocks as SMs, a cooperative launch; they count their arrivals, and the last
 * one tells the other GPUs and its own blocks. barrier orders nothing: it is what an exchange needs
 * whose data is its own flag. ordered_barrier has one fence of the system's scope before the
 * telling, and what acquires behind the wait. See links/common/team.cuh. In two barriers a word
 * goes there, and another comes back: one takes half of a round trip, but for what polls add, which
 * is less in barriers (two H100: 654 ns of 1501). At a quarter nobody can have waited.
 *
 * Order. In each round every block writes the round's number into the next GPU's memory by an
 * ordinary store, crosses the barrier of all blocks, and reads by ordinary loads what the GPU
 * before it wrote. In one round of 64 the stores are late, behind additions to a peer's memory. The
 * ordered barrier must show no violation in 20000 rounds. The other barrier is the control, and
 * should show some.
 *
 * Inside the timed region: the turns or barriers, and the loop round them (tests/kernels).
 * Expected on H200 over NVSwitch: relaxed 0.67 us one way on two GPUs, 0.80 on four; a remote load,
 * there and back, takes 0.85, of which a local one is 0.14, and a flag within a GPU 0.25. acquire
 * 1.2 to 1.4 us: the fence waits for the value's own round trip. Through the host 1.5 to 2.5 us: a
 * store to it, and on average one and a half reads across the bus, of which each takes about 1 us.
 * Barriers of one block 0.7 to 1.1 us; of whole GPUs 1.5 to 2.1, which is that and the arrivals of
 * a grid. By the relay 2 to 2.5 us: as through the host, and a line that goes from one core's cache
 * to the bus and back. Measured on two (09736e3-1): relaxed 0.73; acquire 1.89, of which the fence
 * and then the flag are 1.6 and the reader's own fence the rest; through the host 1.85, by the
 * relay 2.16; barriers of one block 0.79 and with order 1.40, of whole GPUs 1.20 and 2.12.
 *
 * Traps. Polls that acquire empty the L1 each time. A flag in the sender's memory makes each poll a
 * round trip. Stores are posted: a loop of stores without an answer times a queue. Polls look at a
 * timer and at a word that says that somebody is lost, once in 256 times: nothing hangs if a rank
 * dies. */
#include "links/signal/args.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "links/common/teams.h"

PROBE_IMAGE(signal);

enum { ONE_WAY, ROUND_TRIP, MAP, BARRIER, ORDERED, VIOLATIONS, CONTROL };
#define SLOPE PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device"
static const struct probe_metric metrics[] = {
    [ONE_WAY] = {"one_way", "ns", SLOPE, .keys = "gpus,order,via",
        .what = "a flag from one GPU to the next: a turn of the ring over its GPUs"},
    [ROUND_TRIP] = {"round_trip", "ns", SLOPE, .keys = "gpus,order,via",
        .what = "a flag to another GPU and back"},
    [MAP] = {"round_trip_map", "ns", PROBE_LOWER, .timer = "device", .keys = "gpus",
        .what = "the same of all pairs, relaxed"},
    [BARRIER] = {"barrier", "ns", SLOPE, .keys = "gpus,blocks",
        .what = "a barrier of all GPUs that orders nothing, so many blocks on each"},
    [ORDERED] = {"ordered_barrier", "ns", SLOPE, .keys = "gpus,blocks",
        .what = "the same, after which all see what all wrote before"},
    [VIOLATIONS] = {"violations", "count", PROBE_EXACT, .keys = "gpus,barrier,rounds",
        .what = "stores before the barrier not seen after it"},
    [CONTROL] = {"control_violates", "count", PROBE_EXACT, .keys = "gpus,barrier,rounds",
        .what = "1: what this barrier lacks is seen"},
};

static const struct probe_parameter parameters[] = {LINKS_PARAMETERS};

enum {
    TURNS = 256, /* between the first two clock reads; barriers, too */
    CHECK_TURNS = 2,
    THREADS = 256, /* of a block of a barrier */
    ORDER_ROUNDS = 20000,
    ORDER_CHECK_ROUNDS = 16,
    RELAY_POLLS = 1 << 16, /* of all GPUs' words in vain, some 100 us, before others may have the
                            * core */
};

struct signals {
    struct links *links;
    struct teams teams;
    int gpus;
    unsigned sms;
    uint32_t turns;
    uint32_t number; /* of the last token */
    double trip_ns;  /* the shortest relaxed round trip between two GPUs; NaN: not measured */
    struct links_memory boxes, slots;
    struct links_memory host; /* boxes, too, two a rank; .here is NULL where there is no such
                               * memory */
    char no_host[160];
    struct signal_result *result[LINKS_MOST]; /* mapped, in each rank */
};

static struct signals prepare(struct probe_run *r, struct links *l)
{
    struct signals s = {
        .links = l, .teams = teams_open(l), .gpus = links_gpus(l), .trip_ns = NAN};
    s.sms = (unsigned)gpu_facts(r)->n_sm;
    s.turns = probe_is_check_run(r) ? CHECK_TURNS : TURNS;
    s.boxes = links_alloc(l, sizeof(struct signal_box), "boxes for flags");
    s.slots = links_alloc(l, 2 * s.sms * ORDER_STRIDE * sizeof(uint32_t), "slots");
    for (int rank = 0; rank < s.gpus; rank++) {
        links_fill(l, rank, s.boxes.at[rank][rank], 0, s.boxes.bytes);
        s.result[rank] = links_mapped(l, rank, sizeof **s.result);
    }
    links_share_host(l, 2 * sizeof(struct signal_box), &s.host, s.no_host, sizeof s.no_host);
    links_wait(l);
    return s;
}

/* What one rank measured. */
struct times {
    double few_ns, many_ns, mhz;
    uint32_t value;
};

static struct times times_of(const struct signals *s, int rank)
{
    struct signal_result x;

    links_read(s->links, rank, &x, s->result[rank], sizeof x);
    const double mhz =
        1e3 * (double)(x.tail.cycles - x.lead.cycles) / (double)(x.tail.ns - x.lead.ns);
    return (struct times){.few_ns = (double)x.short_cycles * 1e3 / mhz,
                          .many_ns = (double)x.long_cycles * 1e3 / mhz,
                          .mhz = mhz,
                          .value = x.value};
}

/* A turn, or a barrier, in that one of the two stretches where it was shorter. Other than a slope,
 * it is no less than what was done takes, whatever stalled. */
static double shortest(const struct signals *s, const struct times *t)
{
    return fmin(t->few_ns / s->turns, t->many_ns / (2.0 * s->turns));
}

/* --- the token -------------------------------------------------------------------------------- */

/* The ranks of a ring, in their order; turns begin at the first. */
struct circle {
    int n, rank[LINKS_MOST];
};

/* Where the words are, and who hands them on. */
enum via { BY_PEER, BY_HOST, BY_RELAY };
static const char *const via_names[] = {"peer", "host", "relay"};

/* The box in which a rank hears, in the memory of `rank`; for the relay, the one that it tells. */
static struct signal_box *box_of(const struct signals *s, enum via via, int rank, int owner,
                                 bool tells)
{
    const struct links_memory *boxes = via == BY_PEER ? &s->boxes : &s->host;
    return (struct signal_box *)(void *)boxes->at[rank][owner] + (via == BY_RELAY && tells);
}

static struct times go_round(struct probe_run *r, struct signals *s, int kernel, enum via via,
                             const struct circle *c)
{
    for (int i = c->n - 1; i >= 0; i--) {
        const int me = c->rank[i], next = via == BY_RELAY ? me : c->rank[(i + 1) % c->n];
        struct ring_args a = {.team = s->teams.team[me],
                              .mine = box_of(s, via, me, me, false),
                              .next = box_of(s, via, me, next, true),
                              .result = s->result[me],
                              .first = s->number,
                              .turns = s->turns,
                              .leads = i == 0,
                              .awaited = (uint32_t)c->rank[(i + c->n - 1) % c->n]};
        links_launch_at(s->links, me, kernel,
                        &(struct gpu_shape){.grid = {1, 1, 1}, .block = 1}, &a, sizeof a);
    }
    s->number += SIGNAL_WARM + 3 * s->turns + 1;
    teams_wait(r, &s->teams);
    return times_of(s, c->rank[0]);
}

/* The token came back from n - 1 other GPUs in each turn, and left this one as often. */
static bool token_is_right(const struct signals *s, const struct circle *c, uint32_t value)
{
    return value == (SIGNAL_WARM + 3 * s->turns) * (uint32_t)c->n;
}

/* A thread of the host that takes a token from where a GPU tells it to where the next one hears. It
 * may outlive a run that a failed call ends, so it is not on the stack. */
struct relay {
    struct circle circle;
    _Atomic uint32_t *told[LINKS_MOST], *heard[LINKS_MOST]; /* of each of the circle */
    uint32_t last[LINKS_MOST]; /* handed on */
    uint32_t handed;           /* so many words */
    bool out_of_turn;          /* a GPU told something before it could have heard what it waits
                                * for */
    atomic_bool is_over;
    pthread_t thread;
};

static void *hand_on(void *what)
{
    struct relay *relay = what;

    for (unsigned polls = 1; !atomic_load_explicit(&relay->is_over, memory_order_relaxed);
         polls++) {
        for (int i = 0; i < relay->circle.n; i++) {
            const uint32_t now = atomic_load_explicit(relay->told[i], memory_order_acquire);
            if (now == relay->last[i])
                continue;
            relay->last[i] = now;
            atomic_store_explicit(relay->heard[(i + 1) % relay->circle.n], now,
                                  memory_order_release);
            if (relay->handed++ % (uint32_t)relay->circle.n != (uint32_t)i)
                relay->out_of_turn = true;
            polls = 0;
        }
        if (polls > 0 && polls % RELAY_POLLS == 0)
            sched_yield();
    }
    return NULL;
}

static struct relay *relay_start(struct probe_run *r, const struct signals *s,
                                 const struct circle *c)
{
    struct relay *relay = probe_host_alloc(r, sizeof *relay);
    struct signal_box *boxes = (struct signal_box *)(void *)s->host.here;

    *relay = (struct relay){.circle = *c};
    for (int i = 0; i < c->n; i++) {
        relay->heard[i] = (_Atomic uint32_t *)&boxes[2 * c->rank[i]].flag;
        relay->told[i] = (_Atomic uint32_t *)&boxes[2 * c->rank[i] + 1].flag;
        relay->last[i] = atomic_load(relay->told[i]);
    }
    if (pthread_create(&relay->thread, NULL, hand_on, relay) != 0)
        probe_fail(r, "no thread to hand on what GPUs tell");
    return relay;
}

/* True if it handed on each word of the turns, of one GPU after the other. Behind them comes one
 * more, for which nobody waits. */
static bool relay_end(struct relay *relay, const struct signals *s)
{
    const uint32_t words = (SIGNAL_WARM + 3 * s->turns) * (uint32_t)relay->circle.n;

    atomic_store(&relay->is_over, true);
    pthread_join(relay->thread, NULL);
    const bool right = !relay->out_of_turn && relay->handed - words <= 1;
    free(relay);
    return right;
}

/* Each rank's process waits with a core of its own, and so does the relay. */
static bool has_cores(int n)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) >= n;
}

static struct times go_round_via(struct probe_run *r, struct signals *s, int kernel, enum via via,
                                 const struct circle *c, bool *right)
{
    struct relay *relay = via == BY_RELAY ? relay_start(r, s, c) : NULL;
    const struct times t = go_round(r, s, kernel, via, c);
    if (relay)
        *right = relay_end(relay, s) && *right;
    return t;
}

/* The relaxed round trip is kept, and held against that of packets, whose values are right. Both
 * have the same way, and polls that differ by less than it takes. */
static void judge_trip(struct probe_run *r, struct signals *s, const char *order, double ns)
{
    if (probe_is_check_run(r))
        return;
    if (!strcmp(order, "relaxed"))
        s->trip_ns = ns;
    if (!strcmp(order, "packet"))
        probe_require(r, !(s->trip_ns < ns / 2),
                      "a relaxed round trip of %.0f ns, where a packet's takes %.0f at least: "
                      "nobody waited", s->trip_ns, ns);
}

static void measure_order(struct probe_run *r, struct signals *s, const char *order, enum via via)
{
    const struct circle all = {s->gpus, {0, 1, 2, 3}}, two = {2, {0, 1}};
    char name[64];
    struct times t, pair;
    double least = NAN;

    if (!probe_begin_case(r, via == BY_PEER ? 0 : PROBE_THRICE, "gpus=%d,order=%s,via=%s", s->gpus,
                          order, via_names[via]))
        return;
    if (via != BY_PEER && !s->host.here) {
        probe_missing(r, ONE_WAY, s->no_host);
        probe_missing(r, ROUND_TRIP, s->no_host);
        return;
    }
    if (via == BY_RELAY && !has_cores(s->gpus + 1) && !probe_is_check_run(r)) {
        static const char why[] =
            "the host has too few cores: one for each GPU, and one to hand on";
        probe_missing(r, ONE_WAY, why);
        probe_missing(r, ROUND_TRIP, why);
        return;
    }
    snprintf(name, sizeof name, "signal_ring_%s", order);
    const int kernel = links_kernel(s->links, &image_signal, name, sizeof(struct ring_args));
    const bool carries = strcmp(order, "relaxed") != 0;
    bool right = true;
    while (probe_more(r)) {
        t = go_round_via(r, s, kernel, via, &all, &right);
        pair = s->gpus == 2 ? t : go_round_via(r, s, kernel, via, &two, &right);
        right = right && (!carries || (token_is_right(s, &all, t.value) &&
                                       token_is_right(s, &two, pair.value)));
        least = fmin(least, shortest(s, &pair));
        probe_clock(r, t.mhz);
        probe_sample(r, ONE_WAY, (double)s->turns * s->gpus, t.few_ns);
        probe_sample(r, ONE_WAY, 2.0 * s->turns * s->gpus, t.many_ns);
        probe_sample(r, ROUND_TRIP, s->turns, pair.few_ns);
        probe_sample(r, ROUND_TRIP, 2.0 * s->turns, pair.many_ns);
    }
    if (via == BY_PEER)
        judge_trip(r, s, order, least);
    if (via == BY_RELAY)
        probe_require(r, right, "the host handed on one word of each GPU in its turn");
    else if (carries)
        probe_require(r, right, "the token's value is what the turns make of it");
}

static void measure_map(struct probe_run *r, struct signals *s)
{
    double ns[LINKS_MOST * LINKS_MOST];
    const struct probe_axis ranks = {.name = "rank", .n = (size_t)s->gpus};

    if (!probe_begin_case(r, PROBE_TWICE, "gpus=%d", s->gpus))
        return;
    const int kernel =
        links_kernel(s->links, &image_signal, "signal_ring_relaxed", sizeof(struct ring_args));
    for (int from = 0; from < s->gpus; from++)
        for (int to = 0; to < s->gpus; to++) {
            const struct circle two = {2, {from, to}};
            /* of each length, and not of their differences, which a stall in the shorter lessens */
            struct times least = {.few_ns = NAN, .many_ns = NAN};
            for (int i = 0; i < 5 && from != to; i++) {
                const struct times t = go_round(r, s, kernel, BY_PEER, &two);
                least.few_ns = fmin(least.few_ns, t.few_ns);
                least.many_ns = fmin(least.many_ns, t.many_ns);
            }
            ns[from * s->gpus + to] = (least.many_ns - least.few_ns) / s->turns;
        }
    probe_grid(r, MAP, ranks, ranks, ns);
}

/* --- barriers --------------------------------------------------------------------------------- */

static struct gpu_shape shape_of(const struct signals *s, bool grid)
{
    return (struct gpu_shape){
        .grid = {grid ? s->sms : 1, 1, 1}, .block = THREADS, .cooperative = grid};
}

/* The longest of the ranks' times. They cross together, so that they differ by a trip at most. */
static struct times cross(struct probe_run *r, const struct signals *s, int kernel, bool grid)
{
    const struct gpu_shape shape = shape_of(s, grid);
    struct barrier_args a[LINKS_MOST];
    struct times all = {0};

    for (int rank = 0; rank < s->gpus; rank++)
        a[rank] = (struct barrier_args){
            .team = s->teams.team[rank], .result = s->result[rank], .rounds = s->turns};
    links_launch(s->links, kernel, &shape, a, sizeof *a);
    teams_wait(r, &s->teams);
    for (int rank = 0; rank < s->gpus; rank++) {
        const struct times t = times_of(s, rank);
        all.few_ns = fmax(all.few_ns, t.few_ns);
        all.many_ns = fmax(all.many_ns, t.many_ns);
        all.mhz = rank == 0 ? t.mhz : fmin(all.mhz, t.mhz);
    }
    return all;
}

static void measure_barrier(struct probe_run *r, const struct signals *s, bool grid)
{
    if (!probe_begin_case(r, 0, "gpus=%d,blocks=%s", s->gpus, grid ? "sm" : "1"))
        return;
    const int kernel[] = {
        links_kernel(s->links, &image_signal,
                     grid ? "signal_barrier_grid" : "signal_barrier_block",
                     sizeof(struct barrier_args)),
        links_kernel(s->links, &image_signal,
                     grid ? "signal_barrier_grid_ordered" : "signal_barrier_block_ordered",
                     sizeof(struct barrier_args))};
    double least = NAN;
    while (probe_more(r))
        for (int ordered = 0; ordered < 2; ordered++) {
            const struct times t = cross(r, s, kernel[ordered], grid);
            least = fmin(least, shortest(s, &t));
            probe_clock(r, t.mhz);
            probe_sample(r, ordered ? ORDERED : BARRIER, s->turns, t.few_ns);
            probe_sample(r, ordered ? ORDERED : BARRIER, 2.0 * s->turns, t.many_ns);
        }
    if (!probe_is_check_run(r))
        probe_require(r, !(least < s->trip_ns / 4),
                      "a barrier of %.0f ns, where a word there and back takes %.0f at least: "
                      "nobody waited", least, s->trip_ns);
    probe_fact(r, "blocks_at_once", "%u", shape_of(s, grid).grid.x);
}

static void measure_violations(struct probe_run *r, const struct signals *s, bool ordered)
{
    const struct gpu_shape shape = shape_of(s, true);
    const char *barrier = ordered ? "ordered" : "unordered";
    struct order_args a[LINKS_MOST];
    uint32_t wrong[2] = {0}, seen[2];
    char name[64];

    if (!probe_begin_case(r, PROBE_TWICE, "gpus=%d,barrier=%s,rounds=%d", s->gpus, barrier,
                          ORDER_ROUNDS))
        return;
    snprintf(name, sizeof name, "signal_order_%s", barrier);
    const int kernel = links_kernel(s->links, &image_signal, name, sizeof *a);
    for (int rank = 0; rank < s->gpus; rank++) {
        links_fill(s->links, rank, s->slots.at[rank][rank], 0, s->slots.bytes);
        a[rank] = (struct order_args){
            .team = s->teams.team[rank],
            .mine = (uint32_t *)(void *)s->slots.at[rank][rank],
            .next = (uint32_t *)(void *)s->slots.at[rank][links_next(s->links, rank)],
            .wrong = links_mapped(s->links, rank, sizeof wrong),
            .rounds = probe_is_check_run(r) ? ORDER_CHECK_ROUNDS : ORDER_ROUNDS};
    }
    teams_wait(r, &s->teams);
    links_launch(s->links, kernel, &shape, a, sizeof *a);
    teams_wait(r, &s->teams);
    for (int rank = 0; rank < s->gpus; rank++) {
        links_read(s->links, rank, seen, a[rank].wrong, sizeof seen);
        wrong[0] += seen[0];
        wrong[1] += seen[1];
    }
    if (ordered)
        probe_value(r, VIOLATIONS, (double)wrong[0] + wrong[1]);
    else
        probe_value(r, CONTROL, wrong[0] > 0);
    probe_require(r, wrong[1] == 0 && (!ordered || wrong[0] == 0),
                  "%s barrier: %u reads of an earlier round, %u of a later one", barrier, wrong[0],
                  wrong[1]);
    probe_fact(r, "reads_of_rounds_before", "%u", wrong[0]);
}

static void measure(struct probe_run *r)
{
    static const char *const orders[] = {"relaxed", "acquire", "packet"};
    struct links *l = links_open(r);
    if (!l)
        return;
    struct signals s = prepare(r, l);
    for (size_t i = 0; i < PROBE_LENGTH(orders); i++)
        measure_order(r, &s, orders[i], BY_PEER);
    measure_order(r, &s, "relaxed", BY_HOST);
    measure_order(r, &s, "packet", BY_HOST);
    measure_order(r, &s, "relaxed", BY_RELAY);
    measure_map(r, &s);
    for (int grid = 0; grid < 2; grid++)
        measure_barrier(r, &s, grid);
    for (int ordered = 0; ordered < 2; ordered++)
        measure_violations(r, &s, ordered);
    links_close(l);
}

const struct probe probe = {
    .name = "signal",
    .what = "How long does a word take from one GPU to another, and a barrier of all of them?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .fixed = "what travels is one word",
    .measure = measure,
};
