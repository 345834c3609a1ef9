/* peer_memory: how far away is another GPU's memory, and how fast is the way there?
 *
 * Method. One process a GPU, each of which has opened the others' memory (links/common/links.h).
 *   load_time, atomic_time  a pointer chase round a ring in the next rank's memory, by one thread:
 *       loads (ld.relaxed.sys), or atomic additions of nothing. level=l2: a ring of 1 MiB that the
 *       owner's L2 holds, walked once before; level=hbm: one of four times its L2, of which every
 *       step of a launch is a new line. All ranks chase at once, each in the next rank's memory:
 *       a chase has one load under way, which disturbs no other. The slowest rank counts.
 *   pair_time  the same for one pair of ranks after the other; the diagonal is a GPU's own memory
 *   sm_time    the same by every SM of rank 0 in its turn, for every peer
 *   fence_time a store to the next rank's memory and a fence behind it, again and again. A store
 *       brings no value to wait for. scope=sys: the fence waits until the store is there, so that
 *       others=idle, where nobody else stores, bounds the latency of a store. scope=gpu: it need
 *       not wait for that, and is no such bound. others=storing: all other SMs store to that peer
 *       as fast as they can, at a rate of stored_meanwhile, and for 100 ms at most: where fences
 *       take longer, there is no such row. Only rank 0 does this
 *   first_time one load by rank 0 after its GPU has done nothing for a while, and the mean of the
 *       eight that follow it (next_time). idle=0us: right behind the same kernel. of=own: from its
 *       own L2, a control, which must not show what of=peer does: then it is the link that slept
 *   stale      share of rounds in which a load gave an older value than the owner had written and
 *       announced. load=ca is the control, which must see old values: it keeps lines in its L1, of
 *       which the owner knows nothing. load=cg and load=sys must see none
 *   transfer_time, rate, sms_rate, counted, raw: see rates.c
 *
 * Inside the timed region: 32 or 64 steps between two reads of the SM clock, the last waited for;
 * the slope is the time of one. Behind the steps of a fence comes one load of the GPU's own memory,
 * which cannot run before the fence, since a fence itself brings no value to wait for; it cancels.
 * Of the first load, the one load and two clock reads: no slope removes these few cycles.
 * Expected on two H200 [four in brackets]: load 852 ns, atomic 862 [835], from memory about 150
 * more; a fence of the system about as long as a load, and far longer while stores drain, even on
 * an SM that stores nothing; rates 369 GB/s by loads and stores, 374 by the copy engine. Measured
 * on two: load 850 ns, atomic 867, a store and a fence of the system 873, of the GPU 292; rates
 * 373 GB/s by loads, 369 by stores, 395 by the copy engine.
 *
 * Traps. Capability is not function: what a peer writes may be lost, so links_open() proves it. The
 * owner's L2 answers or misses, never the requester's. Its line was last written by the owner,
 * whose ring it is. A ring of four times the L2 also misses in the TLB. Every line that a launch
 * visits comes once, hence an L1 could not help. */
#include "links/peer_memory/peer_memory.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "core/nvml.h"
#include "links/peer_memory/args.h"

PROBE_IMAGE(peer_memory);

static const struct probe_metric metrics[] = {
    [LOAD_TIME] = {"load_time", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "gpus,level",
                   "dependent load from the next GPU's L2, or from its memory"},
    [ATOMIC_TIME] = {"atomic_time", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "gpus,level",
                     "dependent atomic addition in the next GPU's L2, or in its memory"},
    [PAIR_TIME] =
        {"pair_time", "ns", PROBE_LOWER, .timer = "device", .keys = "gpus,level",
         .what = "dependent load of every rank (rows) from the memory of every rank (columns)"},
    [SM_TIME] = {"sm_time", "ns", PROBE_LOWER, .timer = "device", .keys = "gpus,level",
                 .what =
                     "dependent load of every SM of rank 0 (rows) from the memory of every peer"},
    [FENCE_TIME] = {"fence_time", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "gpus,scope,others",
                    "a store to the next GPU's memory, and a fence; scope=sys, others=idle bounds "
                    "its latency"},
    [STORED] = {"stored_meanwhile", "bytes/s", PROBE_HIGHER, .keys = "gpus,scope,others",
                .what = "what the other SMs stored to that GPU during the fences"},
    [FIRST_TIME] = {"first_time", "ns", PROBE_LOWER, .timer = "device", .keys = "gpus,of,idle",
                    .what =
                        "the first load from the next GPU's L2, or the own, after so long a pause"},
    [NEXT_TIME] = {"next_time", "ns", PROBE_LOWER, .timer = "device", .keys = "gpus,of,idle",
                   .what = "mean of the eight dependent loads behind it"},
    [STALE] = {"stale", "ratio", PROBE_LOWER, .keys = "gpus,load",
               .what = "rounds in which a load gave an older value than its owner had announced"},
    [TRANSFER_TIME] = {"transfer_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event",
                       "gpus,by,directions,bytes",
                       "a copy to or from the next GPU, in a chain of copies"},
    [RATE] = {"rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, .keys = "gpus,by,directions,bytes",
              .what =
                  "the same as a rate; in both directions, bytes that a GPU sends and receives"},
    [SMS_RATE] = {"sms_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, .keys = "gpus,by,sms,bytes",
                  .what = "rate of a copy by so many SMs, a block on each"},
    [COUNTED] = {"counted", "ratio", PROBE_LOWER, .keys = "gpus,by,directions,bytes",
                 .what =
                     "bytes that the links' own counters of data saw, over those that were copied"},
    [RAW] = {"raw", "ratio", PROBE_LOWER, .keys = "gpus,by,directions,bytes",
             .what = "the same of all bytes that passed in that direction: data, headers, "
                     "requests, answers"},
};

static const struct probe_parameter parameters[] = {LINKS_PARAMETERS};

enum {
    L2_RING_BYTES = 1 << 20,
    REPEATS = 8,
    MAP_BUDGET_NS = 400000000,
    BUDGET_NS = 100000000,
    STALE_BUDGET_NS = 400000000,
    STALE_ROUNDS = 200,
    STALE_ROUNDS_LOOPBACK = 4, /* two processes on one GPU take turns, of milliseconds */
};

struct peers {
    struct links *l;
    struct links_memory ring, out, words;
    size_t hbm_bytes;
    int ring_kernel, load, atomic, fence[2], first, map, read[3], write;
    struct chase_out *seen; /* what a launch left, a rank each */
    uint64_t launches;      /* each chases from another place of its ring */
    uint32_t fences, began; /* launches of a fence kernel; other blocks that they had in all */
};

static int kernel_of(struct links *l, const char *name, size_t args_size)
{
    return links_kernel(l, &image_peer_memory, name, args_size);
}

static struct peers prepare(struct probe_run *r, struct links *l)
{
    struct peers p = {.l = l, .hbm_bytes = 4 * gpu_facts(r)->l2_bytes};

    p.ring_kernel = kernel_of(l, "peer_memory_ring", sizeof(struct ring_args));
    p.load = kernel_of(l, "peer_memory_load", sizeof(struct chase_args));
    p.atomic = kernel_of(l, "peer_memory_atomic", sizeof(struct chase_args));
    p.fence[0] = kernel_of(l, "peer_memory_fence_gpu", sizeof(struct fence_args));
    p.fence[1] = kernel_of(l, "peer_memory_fence_sys", sizeof(struct fence_args));
    p.first = kernel_of(l, "peer_memory_first", sizeof(struct first_args));
    p.map = kernel_of(l, "peer_memory_map", sizeof(struct map_args));
    p.read[0] = kernel_of(l, "peer_memory_read_ca", sizeof(struct stale_args));
    p.read[1] = kernel_of(l, "peer_memory_read_cg", sizeof(struct stale_args));
    p.read[2] = kernel_of(l, "peer_memory_read_sys", sizeof(struct stale_args));
    p.write = kernel_of(l, "peer_memory_write", sizeof(struct stale_args));
    const size_t pieces = (size_t)gpu_facts(r)->n_sm * FENCE_PIECE;
    p.ring = links_alloc(l, p.hbm_bytes > pieces ? p.hbm_bytes : pieces, "a ring");
    p.out = links_alloc(l, 1 << 20, "results");
    p.words = links_alloc(l, 1 << 20, "words");
    p.seen = probe_host_alloc(r, LINKS_MOST * sizeof *p.seen);
    for (int rank = 0; rank < links_gpus(l); rank++)
        links_fill(l, rank, p.words.at[rank][rank], 0, p.words.bytes);
    links_wait(l);
    return p;
}

/* --- chases ----------------------------------------------------------------------------------- */

/* A ring in the memory of `owner`, written by it, with the addresses that `rank` has for it. */
static struct permutation make_ring(struct probe_run *r, struct peers *p, int rank, int owner,
                                    size_t bytes)
{
    struct ring_args a = {
        .ring = p->ring.at[owner][owner],
        .base = (uint64_t)(uintptr_t)p->ring.at[rank][owner],
        .order = permutation_of(bytes / CHASE_SPACING, probe_seed(r) + (uint64_t)rank),
    };
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1}, .block = 256};

    links_launch_at(p->l, owner, p->ring_kernel, &shape, &a, sizeof a);
    if (bytes > L2_RING_BYTES)
        links_sweep_l2(p->l, owner);
    return a.order;
}

static double mhz_of(const struct chase_result *at)
{
    return 1e3 * (double)(at->tail.cycles - at->lead.cycles) /
           (double)(at->tail.ns - at->lead.ns);
}

/* One launch in the ranks from `first` to `last`, each in the memory of the rank that it has in
 * `owner`. Each chase ends where its ring says, or the run is failed. */
static void chase_once(struct probe_run *r, struct peers *p, int kernel, int first, int last,
                       const int owner[], const struct permutation order[])
{
    const struct gpu_shape shape = {.grid = {1, 1, 1}, .block = CHASE_THREADS};
    const uint64_t steps = (uint64_t)REPEATS * CHASE_LOADS, turn = p->launches++;

    for (int rank = first; rank <= last; rank++) {
        struct chase_args a = {
            .ring = p->ring.at[rank][owner[rank]],
            .order = order[rank],
            .warm_laps = order[rank].n * CHASE_SPACING <= L2_RING_BYTES,
            .skip = turn * steps % order[rank].n,
            .out = (struct chase_out *)(void *)p->out.at[rank][rank],
            .repeats = REPEATS,
        };
        links_fill(p->l, rank, a.out, 0xff, sizeof *a.out);
        links_launch_at(p->l, rank, kernel, &shape, &a, sizeof a);
    }
    links_wait(p->l);
    for (int rank = first; rank <= last; rank++) {
        const struct permutation o = order[rank];
        const uint64_t line = permute(o, (turn * steps % o.n + steps) % o.n);
        links_read(p->l, rank, &p->seen[rank], p->out.at[rank][rank], sizeof p->seen[rank]);
        if (p->seen[rank].result.end !=
            (uint64_t)(uintptr_t)p->ring.at[rank][owner[rank]] + line * CHASE_SPACING)
            probe_fail(r, "rank %d: a chase ended elsewhere than its ring says", rank);
    }
}

/* The samples of one launch: of each repetition, the slowest rank's two times. */
static void hand_over(struct probe_run *r, const struct peers *p, int ranks, int metric)
{
    for (int i = 0; i < REPEATS; i++) {
        double few = 0, many = 0;
        for (int rank = 0; rank < ranks; rank++) {
            const struct chase_out *seen = &p->seen[rank];
            const double cycle_ns = 1e3 / mhz_of(&seen->result);
            few = fmax(few, (double)seen->samples[i].short_cycles * cycle_ns);
            many = fmax(many, (double)seen->samples[i].long_cycles * cycle_ns);
        }
        probe_sample(r, metric, CHASE_SHORT, few);
        probe_sample(r, metric, CHASE_LONG, many);
    }
    probe_clock(r, mhz_of(&p->seen[0].result));
}

static void measure_chase(struct probe_run *r, struct peers *p, int metric, int kernel,
                          const char *level, size_t bytes)
{
    struct permutation order[LINKS_MOST];
    int owner[LINKS_MOST];

    if (!probe_begin_case(r, 0, "gpus=%d,level=%s", links_gpus(p->l), level))
        return;
    for (int rank = 0; rank < links_gpus(p->l); rank++) {
        owner[rank] = links_next(p->l, rank);
        order[rank] = make_ring(r, p, rank, owner[rank], bytes);
    }
    links_wait(p->l);
    while (probe_more(r)) {
        chase_once(r, p, kernel, 0, links_gpus(p->l) - 1, owner, order);
        hand_over(r, p, links_gpus(p->l), metric);
    }
    probe_fact(r, "footprint_bytes", "%zu", bytes);
}

/* The time of one load, from one launch of one rank. NaN where twice the loads took no longer: the
 * link slept, or something stalled, in the first stretch. */
static double load_ns(const struct chase_result *at, const struct chase_sample *sample)
{
    const double cycles = (double)sample->long_cycles - (double)sample->short_cycles;
    return cycles > 0 ? cycles / (CHASE_LONG - CHASE_SHORT) * 1e3 / mhz_of(at) : (double)NAN;
}

/* The least of each length, and not of their differences: a stall in the short one would make a
 * difference small. */
static struct chase_sample least_of(const struct chase_sample *sample, int n)
{
    struct chase_sample least = sample[0];

    for (int i = 1; i < n; i++) {
        if (sample[i].short_cycles < least.short_cycles)
            least.short_cycles = sample[i].short_cycles;
        if (sample[i].long_cycles < least.long_cycles)
            least.long_cycles = sample[i].long_cycles;
    }
    return least;
}

static void measure_pairs(struct probe_run *r, struct peers *p)
{
    const int ranks = links_gpus(p->l);
    double ns[LINKS_MOST * LINKS_MOST];

    if (!probe_begin_case(r, PROBE_TWICE, "gpus=%d,level=l2", ranks))
        return;
    for (int rank = 0; rank < ranks; rank++)
        for (int owner = 0; owner < ranks; owner++) {
            struct permutation order[LINKS_MOST];
            int owners[LINKS_MOST];
            owners[rank] = owner;
            order[rank] = make_ring(r, p, rank, owner, L2_RING_BYTES);
            links_wait(p->l);
            chase_once(r, p, p->load, rank, rank, owners, order);
            const struct chase_sample least = least_of(p->seen[rank].samples, REPEATS);
            ns[rank * ranks + owner] = load_ns(&p->seen[rank].result, &least);
            if (isnan(ns[rank * ranks + owner]))
                probe_note(r, "pair_time: no time of rank %d in the memory of rank %d: %d loads "
                           "took no longer than %d", rank, owner, CHASE_LONG, CHASE_SHORT);
        }
    probe_grid(r, PAIR_TIME, (struct probe_axis){"rank", (size_t)ranks, NULL},
               (struct probe_axis){"owner", (size_t)ranks, NULL}, ns);
}

/* Every SM of rank 0 in its turn, in the memory of one peer; an SM without a block stays NaN. Each
 * chase ends where its ring says, or the run is failed. */
static void map_peer(struct probe_run *r, struct peers *p, int owner, double ns[], size_t columns)
{
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    struct map_out *seen = probe_host_alloc(r, n_sm * sizeof *seen);
    struct links_meeting meeting[LINKS_MOST];
    struct map_args a = {.ring = p->ring.at[0][owner],
                         .order = make_ring(r, p, 0, owner, L2_RING_BYTES),
                         .out = (struct map_out *)(void *)p->out.at[0][0],
                         .turn = (uint32_t *)(void *)p->words.at[0][0],
                         .budget_ns = MAP_BUDGET_NS};
    const struct gpu_shape shape = {
        .grid = {n_sm, 1, 1}, .block = 32, .shared = gpu_facts(r)->shared_per_block};

    links_wait(p->l);
    links_meeting(p->l, meeting);
    a.late = meeting[0].late;
    links_fill(p->l, 0, a.turn, 0, sizeof *a.turn);
    links_fill(p->l, 0, a.out, 0xff, n_sm * sizeof *a.out);
    links_launch_at(p->l, 0, p->map, &shape, &a, sizeof a);
    links_wait(p->l);
    links_read(p->l, 0, seen, a.out, n_sm * sizeof *seen);
    const uint64_t end = (uint64_t)(uintptr_t)a.ring +
                         permute(a.order, CHASE_LOADS % a.order.n) * CHASE_SPACING;
    unsigned asleep = 0;
    for (unsigned i = 0; i < n_sm; i++) {
        if (seen[i].result.sm >= n_sm)
            continue;
        if (seen[i].result.end != end)
            probe_fail(r, "SM %u: a chase ended elsewhere than its ring says",
                       (unsigned)seen[i].result.sm);
        const double one = load_ns(&seen[i].result, &seen[i].sample);
        asleep += isnan(one) ? 1u : 0u;
        ns[seen[i].result.sm * columns] = one;
    }
    if (asleep > 0)
        probe_note(r, "sm_time: no time of %u SMs in the memory of rank %d: %d loads took no "
                   "longer than %d", asleep, owner, CHASE_LONG, CHASE_SHORT);
    free(seen);
}

static void measure_sms(struct probe_run *r, struct peers *p)
{
    const size_t n_sm = (size_t)gpu_facts(r)->n_sm, peers = (size_t)links_gpus(p->l) - 1;
    double *ns = probe_host_alloc(r, n_sm * peers * sizeof *ns), at[LINKS_MOST];

    if (!probe_begin_case(r, PROBE_TWICE, "gpus=%d,level=l2", links_gpus(p->l)))
        return;
    links_kernel_shared(p->l, p->map, gpu_facts(r)->shared_per_block, -1);
    for (size_t i = 0; i < n_sm * peers; i++)
        ns[i] = NAN;
    for (size_t i = 0; i < peers; i++) {
        at[i] = (double)i + 1;
        map_peer(r, p, (int)i + 1, ns + i, peers);
    }
    probe_grid(r, SM_TIME, (struct probe_axis){"sm", n_sm, NULL},
               (struct probe_axis){"peer", peers, at}, ns);
}

/* --- fences ----------------------------------------------------------------------------------- */

/* Bytes a nanosecond that the other blocks stored, each in its own time; NaN if one stopped at the
 * end of its budget, and perhaps before the fences, or left nothing. */
static double stored_rate(struct probe_run *r, const struct peers *p, const struct fence_args *a)
{
    struct fence_stored *stored = probe_host_alloc(r, (a->others + 1) * sizeof *stored);
    double sum = 0;

    links_read(p->l, 0, stored, a->stored, (a->others + 1) * sizeof *stored);
    for (uint32_t i = 1; i <= a->others; i++)
        sum = stored[i].ns >= a->budget_ns ? (double)NAN
                                           : sum + (double)stored[i].bytes / (double)stored[i].ns;
    free(stored);
    return sum;
}

/* False if others should store meanwhile, and did not to the end. */
static bool fence_once(struct probe_run *r, struct peers *p, int kernel, uint32_t others)
{
    char *words = p->words.at[0][0];
    struct links_meeting meeting[LINKS_MOST];
    struct fence_args a = {
        .word = (uint64_t *)(void *)(p->words.at[0][1] + 4096),
        .area = p->ring.at[0][1],
        .began = (uint32_t *)(void *)(words + 8192),
        .over = (uint32_t *)(void *)(words + 8192 + LINKS_APART),
        .out = (struct chase_out *)(void *)p->out.at[0][0],
        .stored = (struct fence_stored *)(void *)(words + 16384),
        .repeats = REPEATS, .others = others, .before = p->began, .number = ++p->fences,
        .budget_ns = BUDGET_NS,
    };
    const struct gpu_shape shape = {
        .grid = {others + 1, 1, 1}, .block = FENCE_THREADS, .cooperative = true};
    uint64_t last = 0;

    links_fill(p->l, 1, p->words.at[1][1] + 4096, 0, sizeof last); /* of the launch before */
    links_wait(p->l);
    links_meeting(p->l, meeting);
    a.late = meeting[0].late;
    links_fill(p->l, 0, a.out, 0xff, sizeof *a.out);
    links_fill(p->l, 0, a.stored, 0xff, (others + 1) * sizeof *a.stored);
    links_launch_at(p->l, 0, kernel, &shape, &a, sizeof a);
    links_wait(p->l);
    p->began += others;
    links_read(p->l, 0, &p->seen[0], a.out, sizeof p->seen[0]);
    links_read(p->l, 1, &last, p->words.at[1][1] + 4096, sizeof last);
    if (last != (uint64_t)REPEATS * CHASE_LOADS || p->seen[0].result.end != last)
        probe_fail(r, "of %d stores before fences, the peer holds number %llu",
                   REPEATS * CHASE_LOADS, (unsigned long long)last);
    const struct chase_result *at = &p->seen[0].result;
    const double ns = (double)(at->tail.ns - at->lead.ns);
    const double rate = others > 0 ? stored_rate(r, p, &a) : 0;
    if (others > 0 && !isnan(rate))
        probe_sample(r, STORED, rate * ns, ns);
    return !isnan(rate);
}

static void measure_fences(struct probe_run *r, struct peers *p)
{
    static const char *const scopes[] = {"gpu", "sys"}, *const states[] = {"idle", "storing"};

    for (int scope = 0; scope < 2; scope++)
        for (int storing = 0; storing < 2; storing++) {
            const uint32_t others = storing ? (uint32_t)gpu_facts(r)->n_sm - 1 : 0;
            if (!probe_begin_case(r, 0, "gpus=%d,scope=%s,others=%s", links_gpus(p->l),
                                  scopes[scope], states[storing]))
                continue;
            bool throughout = true;
            while (probe_more(r)) {
                throughout = fence_once(r, p, p->fence[scope], others) && throughout;
                hand_over(r, p, 1, FENCE_TIME);
            }
            if (!throughout) {
                static const char why[] = "the other SMs stopped storing before the fences ended";
                probe_missing(r, FENCE_TIME, why);
                probe_missing(r, STORED, why);
            }
            probe_fact(r, "other_blocks", "%u", others);
        }
}

/* --- after a pause ---------------------------------------------------------------------------- */

static void sleep_us(int64_t us)
{
    struct timespec pause = {us / 1000000, us % 1000000 * 1000};
    while (us > 0 && nanosleep(&pause, &pause) != 0)
        ;
}

static void measure_first(struct probe_run *r, struct peers *p, int owner, int64_t idle_us,
                          unsigned flags)
{
    const struct gpu_shape shape = {.grid = {1, 1, 1}, .block = 32};
    struct first_out seen;

    if (!probe_begin_case(r, flags, "gpus=%d,of=%s,idle=%lldus", links_gpus(p->l),
                          owner == 0 ? "own" : "peer", (long long)idle_us))
        return;
    const struct permutation order = make_ring(r, p, 0, owner, L2_RING_BYTES);
    links_wait(p->l);
    for (uint64_t i = 0; probe_more(r); i++) {
        const uint64_t step = i * (1 + FIRST_NEXT) % order.n;
        struct first_args a = {
            .at = (uint64_t)(uintptr_t)p->ring.at[0][owner] + permute(order, step) * CHASE_SPACING,
            .out = (struct first_out *)(void *)p->out.at[0][0],
        };
        links_fill(p->l, 0, a.out, 0xff, sizeof *a.out);
        if (idle_us > 0)
            links_wait(p->l);
        else
            links_launch_at(p->l, 0, p->first, &shape, &a, sizeof a);
        sleep_us(idle_us);
        links_launch_at(p->l, 0, p->first, &shape, &a, sizeof a);
        links_wait(p->l);

        links_read(p->l, 0, &seen, a.out, sizeof seen);
        const struct chase_result at = {.lead = seen.lead, .tail = seen.tail};
        const double mhz = mhz_of(&at);
        const uint64_t end = permute(order, (step + 1 + FIRST_NEXT) % order.n);
        if (seen.end != (uint64_t)(uintptr_t)p->ring.at[0][owner] + end * CHASE_SPACING)
            probe_fail(r, "loads after a pause ended elsewhere than their ring says");
        probe_sample(r, FIRST_TIME, 1, (double)seen.first_cycles * 1e3 / mhz);
        probe_sample(r, NEXT_TIME, FIRST_NEXT, (double)seen.next_cycles * 1e3 / mhz);
    }
}

/* --- the stale line --------------------------------------------------------------------------- */

/* Rank 0 reads, rank 1 owns the word and writes. */
static struct stale_out play(struct peers *p, int reader)
{
    const struct gpu_shape shape = {.grid = {1, 1, 1}, .block = 1};
    enum { WORD = 1 << 16, ASKED = WORD + LINKS_APART, ANSWER = ASKED + LINKS_APART };
    struct links_meeting meeting[LINKS_MOST];
    struct stale_args a[2];
    struct stale_out out;

    links_meeting(p->l, meeting);
    for (int rank = 0; rank < 2; rank++) {
        links_fill(p->l, rank, p->words.at[rank][rank] + WORD, 0, 3 * LINKS_APART);
        a[rank] = (struct stale_args){
            .word = (uint32_t *)(void *)(p->words.at[rank][1] + WORD),
            .asked = (uint32_t *)(void *)(p->words.at[rank][1] + ASKED),
            .answer = (uint32_t *)(void *)(p->words.at[rank][0] + ANSWER),
            .out = (struct stale_out *)(void *)p->out.at[rank][rank],
            .late = meeting[rank].late,
            .rounds = links_is_loopback(p->l) ? STALE_ROUNDS_LOOPBACK : STALE_ROUNDS,
            .budget_ns = STALE_BUDGET_NS,
        };
    }
    links_fill(p->l, 0, a[0].out, 0xff, sizeof out);
    links_wait(p->l);
    links_launch_at(p->l, 1, p->write, &shape, &a[1], sizeof a[1]);
    links_launch_at(p->l, 0, p->read[reader], &shape, &a[0], sizeof a[0]);
    links_wait(p->l);
    links_read(p->l, 0, &out, a[0].out, sizeof out);
    return out;
}

/* Without a stale line under .ca, that the others see none shows nothing. */
static void measure_stale(struct probe_run *r, struct peers *p)
{
    static const char *const loads[] = {"ca", "cg", "sys"};
    const struct stale_out control = play(p, 0);

    for (int i = 0; i < 3; i++) {
        if (!probe_begin_case(r, PROBE_TWICE, "gpus=%d,load=%s", links_gpus(p->l), loads[i]))
            continue;
        const struct stale_out seen = i == 0 ? control : play(p, i);
        probe_require(r, seen.wrong == 0, "%u of %u loads of the system's scope were stale",
                      seen.wrong, seen.rounds);
        probe_require(r, i == 0 || seen.stale == 0, "%u of %u loads past the L1 were stale",
                      seen.stale, seen.rounds);
        if (control.stale > 0)
            probe_value(r, STALE, (double)seen.stale / seen.rounds);
        else
            probe_missing(r, STALE, "the L1 kept no stale line here: the control did not fail");
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

/* What lies between the GPUs, as NVML has it: a fact of the first case. */
static void describe(struct probe_run *r, const struct links *l)
{
    static const char *const ends[] = {"a GPU", "an NPU", "a switch", "unknown"};
    char why[NVML_WHY];

    for (int rank = 0; rank < links_gpus(l); rank++) {
        struct nvml *nvml = nvml_open(links_pci_bus(l, rank), why);
        const struct nvml_links n = nvml_links(nvml);
        nvml_close(nvml);
        probe_note(r, "rank %d: %d of %d NVLinks are up, version %u, to %s", rank, n.n_active, n.n,
                   n.version, ends[n.far_end]);
    }
}

static void measure(struct probe_run *r)
{
    struct links *l = links_open(r);
    if (!l)
        return;
    struct peers p = prepare(r, l);

    describe(r, l);
    measure_chase(r, &p, LOAD_TIME, p.load, "l2", L2_RING_BYTES);
    measure_chase(r, &p, LOAD_TIME, p.load, "hbm", p.hbm_bytes);
    measure_chase(r, &p, ATOMIC_TIME, p.atomic, "l2", L2_RING_BYTES);
    measure_chase(r, &p, ATOMIC_TIME, p.atomic, "hbm", p.hbm_bytes);
    measure_pairs(r, &p);
    measure_sms(r, &p);
    measure_first(r, &p, 1, 0, 0);
    for (int owner = 1; owner >= 0; owner--) {
        measure_first(r, &p, owner, 1000, PROBE_THRICE);
        measure_first(r, &p, owner, 10000, PROBE_TWICE);
        measure_first(r, &p, owner, 100000, PROBE_TWICE);
        measure_first(r, &p, owner, 1000000, PROBE_DEEP);
    }
    measure_stale(r, &p);
    measure_fences(r, &p);
    measure_rates(r, l);
    links_close(l);
}

const struct probe probe = {
    .name = "peer_memory",
    .what = "How far away is another GPU's memory, and how fast is the way there?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .fixed =
        "its curves have powers of 16 from 16 bytes to 256 MiB, with --deep every power of four",
    .measure = measure,
};
