/* Rates of peer_memory: bytes from one GPU's memory into another's.
 *
 * Method. Four ways do the same, a copy of N bytes: threads that load across the link and store at
 * home (load), that load at home and store across it (store), bulk copies by one thread of each
 * block, home to shared memory and from there across (bulk), and the copy engine. Transfers follow
 * each other in a stream, n of them and 2n, queued behind a gate; the slope is the time of one. So
 * it holds what a transfer costs in a chain, its launch included, and not the first launch. In both
 * directions every rank copies to (or from) the next one at the same time, from a common meeting
 * on: each GPU sends and receives, and of each repetition the slowest rank's time counts. Bytes are
 * then those that one GPU sends and receives.
 *
 * sms_rate is the rate of 64 MiB by so many SMs, a block on each. counted and raw are what the
 * links of rank 0 counted, of data and of all bytes, over the bytes that it sent (by loads:
 * received).
 *
 * What was copied is compared with the source, word by word, after the last sample. Beforehand the
 * target is poisoned. */
#include "links/peer_memory/peer_memory.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "core/nvml.h"
#include "links/peer_memory/args.h"
#include "links/peer_memory/sizes.h"

PROBE_IMAGE(peer_memory_rates);

static const size_t MOST_BYTES = (size_t)256 << 20, SMS_BYTES = (size_t)64 << 20,
                    BOTH_LEAST = (size_t)1 << 20;
static const double AGREE = 0.01;
enum { MOST_TRANSFERS = 16, COUNTERS_NS = 50000000 };
enum by { BY_LOAD, BY_STORE, BY_BULK, BY_ENGINE, N_WAYS };
static const char *const names[] = {"load", "store", "bulk", "copy_engine"};

struct rates {
    struct links *l;
    struct links_memory from, to;
    int copy, bulk; /* kernels; bulk may be -1 */
    uint64_t seed;
};

struct transfer {
    enum by by;
    bool both; /* directions */
    size_t bytes;
    unsigned sms;
};

/* One transfer of one rank, queued. Stores and engines push to the next rank, loads pull. */
static void queue(const struct rates *s, const struct transfer *t, int rank)
{
    const int next = links_next(s->l, rank);
    const bool pulls = t->by == BY_LOAD;
    struct copy_args a = {.from = s->from.at[rank][pulls ? next : rank],
                          .to = s->to.at[rank][pulls ? rank : next],
                          .bytes = t->bytes};
    const bool is_bulk = t->by == BY_BULK;
    const size_t share = is_bulk ? BULK_TILE : COPY_THREADS * 16;
    const size_t pieces = (t->bytes + share - 1) / share;
    const struct gpu_shape shape = {
        .grid = {(unsigned)(pieces < t->sms ? pieces : t->sms), 1, 1},
        .block = is_bulk ? BULK_THREADS : COPY_THREADS,
        .shared = is_bulk ? BULK_SHARED : 0,
    };

    if (t->by == BY_ENGINE)
        links_copy(s->l, rank, a.to, a.from, a.bytes);
    else
        links_launch_at(s->l, rank, is_bulk ? s->bulk : s->copy, &shape, &a, sizeof a);
}

/* n transfers of every rank that takes part, in a chain; the longest time of a rank. */
static double chain_ns(const struct rates *s, const struct transfer *t, int n)
{
    links_time_start(s->l);
    for (int i = 0; i < n; i++)
        for (int rank = 0; rank < (t->both ? links_gpus(s->l) : 1); rank++)
            queue(s, t, rank);
    const struct links_time taken = links_time_stop(s->l);
    return t->both ? taken.longest : taken.ns[0];
}

static bool is_alone(const struct transfer *t, int rank)
{
    return !t->both && rank > 0;
}

static void poison(const struct rates *s, const struct transfer *t)
{
    for (int rank = 0; rank < links_gpus(s->l); rank++)
        links_fill(s->l, rank, s->to.at[rank][rank], 0xff, t->bytes);
    links_wait(s->l);
}

/* Every target holds the words of its source, and that of nobody holds none. */
static void check(struct probe_run *r, const struct rates *s, const struct transfer *t)
{
    uint64_t wrong = 0;
    for (int rank = 0; rank < links_gpus(s->l); rank++) {
        const int next = links_next(s->l, rank);
        const int source = t->by == BY_LOAD ? next : rank, target = t->by == BY_LOAD ? rank : next;
        if (!is_alone(t, rank))
            wrong += links_wrong(s->l, target, s->to.at[target][target], t->bytes,
                                 s->seed + (uint64_t)source);
    }
    probe_require(r, wrong == 0, "%s of %zu bytes: %llu words did not arrive", names[t->by],
                  t->bytes, (unsigned long long)wrong);
}

static void sample(struct probe_run *r, const struct rates *s, const struct transfer *t, int rate)
{
    const size_t fit = MOST_BYTES / t->bytes;
    const int n = fit < 1 ? 1 : fit < MOST_TRANSFERS ? (int)fit : MOST_TRANSFERS;
    const double bytes = (double)t->bytes * (t->both ? 2 : 1);

    poison(s, t);
    while (probe_more(r)) {
        for (int times = 1; times <= 2; times++) {
            const double ns = chain_ns(s, t, times * n);
            if (rate == RATE)
                probe_sample(r, TRANSFER_TIME, times * n, ns);
            probe_sample(r, rate, times * n * bytes, ns);
        }
    }
    check(r, s, t);
}

static bool is_there(const struct rates *s, enum by by)
{
    return by != BY_BULK || s->bulk >= 0;
}

/* Every second size, in both directions from 1 MiB on: between them a curve is smooth, and 130
 * cases would take a third of a minute in a round. --deep has all. The longest is what the report
 * shows. */
static unsigned how_often(int i, size_t bytes, bool both)
{
    if (bytes == MOST_BYTES)
        return both ? PROBE_THRICE : 0;
    return i % 2 == 1 || (both && bytes < BOTH_LEAST) ? PROBE_DEEP : PROBE_THRICE;
}

static void sweep_sizes(struct probe_run *r, const struct rates *s, enum by by, bool both)
{
    size_t bytes;
    for (int i = 0; (bytes = rates_size(i)) > 0; i++) {
        const struct transfer t = {by, both, bytes, (unsigned)gpu_facts(r)->n_sm};
        const unsigned often = how_often(i, bytes, both);
        if (is_there(s, by) &&
            probe_begin_case(r, often | PROBE_POWER_BOUND, "gpus=%d,by=%s,directions=%s,bytes=%zu",
                             links_gpus(s->l), names[by], both ? "both" : "one", bytes))
            sample(r, s, &t, RATE);
    }
}

static void sweep_sms(struct probe_run *r, const struct rates *s, enum by by)
{
    const unsigned all = (unsigned)gpu_facts(r)->n_sm;
    unsigned sms;
    for (int i = 0; (sms = rates_sms(all, i)) > 0; i++) {
        const struct transfer t = {by, false, SMS_BYTES, sms};
        char count[16] = "all";
        if (sms < all)
            snprintf(count, sizeof count, "%u", sms);
        if (is_there(s, by) &&
            probe_begin_case(
                r, (i % 2 == 0 || sms == all ? PROBE_THRICE : PROBE_DEEP) | PROBE_POWER_BOUND,
                "gpus=%d,by=%s,sms=%s,bytes=%zu", links_gpus(s->l), names[by], count, SMS_BYTES))
            sample(r, s, &t, SMS_RATE);
    }
}

/* --- the links' own counters ------------------------------------------------------------------ */

/* Rank 0 sends a known number of bytes, and in both directions receives as many. Its links'
 * counters of data should have counted them; drivers differ in what they count, so that another
 * number is a remark. They are read through the driver, which may update them late: 50 ms pass
 * before each reading. The raw counters tell what a byte of data costs on the wire: times the rate,
 * it is what the links carried. */
static void count_bytes(struct probe_run *r, const struct rates *s, enum by by, bool both)
{
    const struct transfer t = {by, both, MOST_BYTES, (unsigned)gpu_facts(r)->n_sm};
    const bool pulls = by == BY_LOAD;
    char why[NVML_WHY];

    if (!is_there(s, by) ||
        !probe_begin_case(r, PROBE_TWICE, "gpus=%d,by=%s,directions=%s,bytes=%zu", links_gpus(s->l),
                          names[by], both ? "both" : "one", t.bytes))
        return;
    struct nvml *nvml = nvml_open(links_pci_bus(s->l, 0), why);
    nanosleep(&(struct timespec){.tv_nsec = COUNTERS_NS}, NULL);
    const struct nvml_link_bytes before = nvml_link_bytes(nvml);
    for (int i = 0; i < MOST_TRANSFERS; i++)
        for (int rank = 0; rank < (both ? links_gpus(s->l) : 1); rank++)
            queue(s, &t, rank);
    links_wait(s->l);
    nanosleep(&(struct timespec){.tv_nsec = COUNTERS_NS}, NULL);
    const struct nvml_link_bytes after = nvml_link_bytes(nvml);
    nvml_close(nvml);
    const double moved = (double)t.bytes * MOST_TRANSFERS,
                 counted = pulls ? after.received - before.received : after.sent - before.sent,
                 raw = pulls ? after.raw_received - before.raw_received
                             : after.raw_sent - before.raw_sent;
    if (isnan(counted))
        probe_missing(r, COUNTED, "this driver shows no counters of its NVLinks' bytes");
    else
        probe_value(r, COUNTED, counted / moved);
    if (isnan(raw))
        probe_missing(r, RAW, "this driver shows no raw counters of its NVLinks' bytes");
    else
        probe_value(r, RAW, raw / moved);
    if (!links_is_loopback(s->l) && fabs(counted / moved - 1) > AGREE)
        probe_note(r, "by=%s: the links counted %.4g bytes of %.4g", names[by], counted, moved);
}

void measure_rates(struct probe_run *r, struct links *l)
{
    struct rates s = {.l = l, .seed = probe_seed(r)};

    s.copy = links_kernel(l, &image_peer_memory_rates, "rates_copy", sizeof(struct copy_args));
    s.bulk = links_kernel_if_any(l, &image_peer_memory_rates, "rates_bulk",
                                 sizeof(struct copy_args));
    if (s.bulk >= 0)
        links_kernel_shared(l, s.bulk, BULK_SHARED, -1);
    s.from = links_alloc(l, MOST_BYTES, "what is copied");
    s.to = links_alloc(l, MOST_BYTES, "where it goes");
    for (int rank = 0; rank < links_gpus(l); rank++)
        links_pattern(l, rank, s.from.at[rank][rank], MOST_BYTES, s.seed + (uint64_t)rank);
    links_wait(l);

    for (enum by by = BY_LOAD; by < N_WAYS; by++) {
        sweep_sizes(r, &s, by, false);
        sweep_sizes(r, &s, by, true);
        if (by != BY_ENGINE)
            sweep_sms(r, &s, by);
        count_bytes(r, &s, by, false);
        count_bytes(r, &s, by, true);
    }
}
