/* sm_to_sm: by which ways can two SMs communicate, and how long does a word take from one to the
 * other?
 *
 * Method. There are two ways from SM to SM. Inside a cluster (compute capability 9.0 and up) a
 * block reads and writes the shared memory of another; anywhere, two blocks meet in the L2.
 *     dsmem      one thread follows a ring of pointers through the shared memory of another block
 *                of its cluster: the dependent load of memory_latency, across SMs. Every block
 *                makes a ring in an order of its own, and every block reads every other's, one at a
 *                time. The value is the median over all pairs of the cluster, and over all clusters
 *                that the GPU holds at once, one per pass. dsmem_self is the block's own ring by
 *                the same path.
 *     dsmem_map  the same for every pair of SMs that met in the largest clusters.
 *     reference  the same chase with the same code, on another SM in every pass: through its own
 *                shared memory (path=own), and through the L2, along a ring in memory that was
 *                walked just before (path=l2); or walked, then written anew by an SM that is on the
 *                same side of the L2 (path=l2_same) or not (path=l2_other). The sides are found
 *                before: SM 0 reads what each SM wrote; there are two sides if these latencies,
 *                sorted, have a gap of more than a tenth (l2_sides, l2_side_of_sm).
 *     flag       a flag sent back and forth between two SMs, half a round trip: by a word of global
 *                memory (path=l2; path=l2_same and l2_other: SMs on the same side of the L2, or
 *                not), or in the shared memory of the side that waits (path=dsmem). by= says how:
 *                relaxed; acq_rel (release and acquire, as a hand-over of data needs it); mbarrier
 *                (remote arrival); async (st.async: a word and its arrival in one). Every pass uses
 *                another pair and other lines.
 *     handover   data from a producer to a consumer: a warp writes `bytes` of payload, then a flag
 *                by release; the other side's warp waits for it by acquire, reads the payload,
 *                which its L1 may keep, and answers in the same way. Half a round trip.
 *                handover_stale: did a word arrive that was older than its flag? By acq_rel never;
 *                by relaxed it must, as the consumer's L1 keeps the line of the trip before: the
 *                control
 *     visible    stores of one thread, one after another, each until other SMs can see it: by a
 *                fence of the GPU or of the system, or until the L2 gives back its own value
 *                (reading_back). by=bulk: 16 bytes in shared memory, stored by the SM's copy engine
 *                (TMA), until its group is complete. That promises only that the storing thread
 *                sees them, and it takes less than the way to the L2. by=nothing does not wait and
 *                must be four times as fast. (A store until another SM has seen it is flag,
 *                path=l2, by=relaxed)
 * All figures are slopes, over 16 loads or 16 round trips. Each chase must end where the
 * permutation of the ring's owner says, which verifies what the rings held.
 *
 * Inside the timed region: the loads, and at most three other instructions (tests/kernels); for
 * flags the polls.
 * Expected on Hopper: dsmem 180 to 215 cycles, own 23 to 30, L2 260 to 290. Flags 80 to 100 ns in
 * shared memory; by the L2 250 ns on one side and 330 ns across. More with a fence: a hand-over of
 * 128 bytes takes the 550 ns of an acq_rel flag and two ways to the L2, about 850 ns. A store with
 * a fence takes the way to the L2 and back, 500 to 900 cycles. One by the copy engine was expected
 * to take 300 more, and takes 78: its group does not wait for the L2.
 *
 * Traps. A 32-bit address in the cluster's window costs two moves per load; a generic address does
 * not. A release at cluster scope compiles to a fence of the whole GPU. A fence waits for every
 * store in flight, and longest for one to the host: the values that side 0 saw stay in shared
 * memory until its last trip is over. A warp polls slowly if its other lanes wait where the polling
 * ends [347 cycles for a flag in shared memory, 180 without them]: a block that signals is one
 * thread. Polls quantise the answer to one poll, and the two sides fall into step. A flag that is
 * swapped is no flag: a swap in flight when the other side's arrives reads and answers in one trip,
 * less than one way. Shared memory limits an SM to one block, and the probe checks %smid of both
 * ends. Every wait has a budget. */
#include "probes/sm_to_sm/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"
#include "probes/sm_to_sm/sm_to_sm.h"

PROBE_IMAGE(sm_to_sm);

static const struct probe_metric metrics[] = {
    [DSMEM] = {"dsmem", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "size",
        .what = "dependent load from another SM's shared memory, median over a cluster's pairs"},
    [DSMEM_TIME] = {"dsmem_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "size", .what = "the same in ns"},
    [DSMEM_SELF] = {"dsmem_self", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "size",
        .what = "the block's own shared memory through the cluster's window"},
    [DSMEM_MAP] = {"dsmem_map", "cycles", PROBE_LOWER, .keys = "size",
        .what = "dsmem for every pair of SMs that met in a cluster"},
    [FASTEST] = {"dsmem_fastest", "cycles", PROBE_LOWER, .keys = "size",
        .what = "the fastest pair of that map"},
    [SLOWEST] = {"dsmem_slowest", "cycles", PROBE_LOWER, .keys = "size",
        .what = "the slowest pair of that map"},
    [REFERENCE] = {"reference", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "path",
        .what = "the same chase through the own shared memory, and through the L2"},
    [REFERENCE_TIME] = {"reference_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "path", .what = "the same in ns"},
    [L2_SIDES] = {"l2_sides", "count", PROBE_EXACT,
        .what = "sides of the L2: a line just written by the other side is farther away"},
    [SIDE_OF_SM] = {"l2_side_of_sm", "count", PROBE_EXACT,
        .what = "the side of each SM: 0 is SM 0's own, 1 the other"},
    [FLAG] = {"flag", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "path,by",
        .what = "one way of a flag from SM to SM: half a round trip"},
    [FLAG_TIME] = {"flag_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "path,by", .what = "the same in ns"},
    [HANDOVER] = {"handover", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "bytes",
        .what = "data written by an SM until another has read them, told by a flag"},
    [HANDOVER_TIME] = {"handover_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "bytes", .what = "the same in ns"},
    [STALE] = {"handover_stale", "count", PROBE_EXACT, .keys = "by",
        .what = "1: data behind a flag were older than it, 0: never"},
    [VISIBLE] = {"visible", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "by",
        .what = "a store until other SMs can see it; by=bulk: until the storing thread can"},
    [VISIBLE_TIME] = {"visible_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "by", .what = "the same in ns"},
};

enum {
    SIZES = 4,
    L2_PLACES = 8192, /* lines of the ring in global memory: 1 MiB */
    CELLS = PAIR_MOST * PAIR_MOST,
    MAP_LAPS = 4,
    BUDGET_NS = 20000000, /* of a place: a slice of time for another process takes about 2 ms */
};
static const int sizes[SIZES] = {2, 4, 8, 16};

/* The ways of a flag. Those in a cluster do not exist below compute capability 9.0. */
static const struct way {
    const char *path, *by, *kernel;
    unsigned flags;
} ways[] = {
    {"l2", "relaxed", "sm_to_sm_flag_relaxed", 0},
    {"l2_same", "relaxed", "sm_to_sm_flag_relaxed", 0},
    {"l2_other", "relaxed", "sm_to_sm_flag_relaxed", 0},
    {"l2", "acq_rel", "sm_to_sm_flag_acq_rel", 0},
    {"l2_same", "acq_rel", "sm_to_sm_flag_acq_rel", PROBE_DEEP},
    {"l2_other", "acq_rel", "sm_to_sm_flag_acq_rel", PROBE_DEEP},
    {"dsmem", "relaxed", "sm_to_sm_there_relaxed", 0},
    {"dsmem", "acq_rel", "sm_to_sm_there_acq_rel", PROBE_DEEP},
    {"dsmem", "mbarrier", "sm_to_sm_there_mbarrier", 0},
    {"dsmem", "async", "sm_to_sm_there_async", 0},
};

struct talk {
    cudaKernel_t own, l2, lay, dsmem;
    size_t shared; /* enough that an SM holds one block */
    char *ring;
    struct permutation ring_order;
    struct chase_sample *samples; /* device */
    uint64_t *sm;                 /* mapped */
    double *fresh;                /* cycles of SM 0 to read what each SM wrote */
    double far;                   /* more cycles: on the other side; INFINITY: one side */
    uint32_t *lines, trip;
    struct flag_result *result;   /* mapped */
    uint64_t random;
};

static uint32_t number_below(struct talk *t, uint32_t n)
{
    return (uint32_t)draw_below(&t->random, n);
}

/* Two different numbers below n. */
static void draw_pair(struct talk *t, uint32_t pair[2], uint32_t n)
{
    pair[0] = number_below(t, n);
    pair[1] = (pair[0] + 1 + number_below(t, n - 1)) % n;
}

static bool is_far(const struct talk *t, size_t sm)
{
    return t->fresh[sm] >= t->far;
}

/* Two different SMs, on the same side of the L2 or not, if the path asks for it. */
static void draw_sms(struct talk *t, uint32_t sm[2], uint32_t n_sm, const char *path)
{
    bool same = !strcmp(path, "l2_same"), other = !strcmp(path, "l2_other");
    do
        draw_pair(t, sm, n_sm);
    while ((same || other) && (is_far(t, sm[0]) == is_far(t, sm[1])) != same);
}

static struct chase_args l2_args(const struct talk *t)
{
    return (struct chase_args){.samples = t->samples,
                               .sm = t->sm,
                               .ring = t->ring,
                               .order = t->ring_order,
                               .walked = 1};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All launches of this probe put one block on every SM that they use. */
static void make_alone(const struct talk *t, cudaKernel_t kernel)
{
    if (!kernel)
        return;
    gpu_kernel_shared(kernel, t->shared, 100);
}

static struct talk prepare(struct probe_run *r)
{
    struct talk t = {.shared = gpu_facts(r)->shared_per_sm / 2 + 128, .random = probe_seed(r)};
    const struct gpu_image *image = &image_sm_to_sm;

    t.own = gpu_kernel(r, image, "sm_to_sm_own", sizeof(struct chase_args));
    t.l2 = gpu_kernel(r, image, "sm_to_sm_l2", sizeof(struct chase_args));
    t.lay = gpu_kernel(r, image, "sm_to_sm_lay", sizeof(struct chase_args));
    t.dsmem = gpu_kernel_if_any(r, image, "sm_to_sm_dsmem", sizeof(struct chase_args));
    make_alone(&t, t.own);
    make_alone(&t, t.l2);
    make_alone(&t, t.lay);
    make_alone(&t, t.dsmem);
    if (t.dsmem)
        gpu_kernel_clusters(t.dsmem);

    t.samples = gpu_alloc(r, CELLS * sizeof *t.samples, "samples");
    t.sm = gpu_mapped(r, PAIR_MOST * sizeof *t.sm);
    t.result = gpu_mapped(r, sizeof *t.result);
    t.fresh = probe_host_alloc(r, (size_t)gpu_facts(r)->n_sm * sizeof *t.fresh);
    t.far = INFINITY;
    t.lines = gpu_alloc(r, (size_t)FLAG_LINES * 128, "lines for flags");
    CUDA(cudaMemsetAsync(t.lines, 0, (size_t)FLAG_LINES * 128, gpu_stream(r)));
    t.ring = gpu_alloc(r, (size_t)L2_PLACES * CHASE_LINE, "a ring");
    t.ring_order = permutation_of(L2_PLACES, probe_seed(r));
    return t;
}

/* --- chases ----------------------------------------------------------------------------------- */

/* Records one chase, after checking that it ended where the ring's owner led it. */
static void take_chase(struct probe_run *r, const struct chase_sample *s, uint64_t end, double mhz,
                       int in_cycles, int in_ns)
{
    double few = (double)s->short_cycles, many = (double)s->long_cycles;

    if (s->end != end)
        probe_require(r, false, "a chase ended at byte %llu of its ring, not at %llu",
                      (unsigned long long)s->end, (unsigned long long)end);
    probe_sample(r, in_cycles, CHASE_SHORT, few);
    probe_sample(r, in_cycles, CHASE_LONG, many);
    if (in_ns >= 0) {
        probe_sample(r, in_ns, CHASE_SHORT, few * 1e3 / mhz);
        probe_sample(r, in_ns, CHASE_LONG, many * 1e3 / mhz);
    }
}

/* Launches a kernel that searches for its SM: one block per SM. */
static void run_everywhere(struct probe_run *r, const struct talk *t, cudaKernel_t kernel,
                           const struct chase_args *a)
{
    struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                              .block = PAIR_THREADS,
                              .shared = t->shared,
                              .cooperative = true};
    gpu_launch_shape(r, kernel, &shape, a);
}

/* The SM that will chase walks the ring, so that it is near; then another SM writes it. */
static void write_anew(struct probe_run *r, const struct talk *t, struct chase_args *a)
{
    a->walked = 1;
    run_everywhere(r, t, t->l2, a);
    a->walked = 0;
    run_everywhere(r, t, t->lay, a);
}

/* How fast SM 0 reads what each SM wrote, and where these latencies, sorted, have their widest
 * gap. */
static void find_sides(struct probe_run *r, struct talk *t)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm, n = probe_is_check_run(r) ? 2 : n_sm;
    struct chase_args a = l2_args(t);
    struct chase_sample s[PAIR_MOST];
    double *sorted = probe_host_alloc(r, n_sm * sizeof *sorted), widest = 0;

    for (size_t i = 0; i < n_sm; i++)
        t->fresh[i] = NAN;
    run_everywhere(r, t, t->lay, &a);
    for (a.writer = 0; a.writer < n; a.writer++) {
        write_anew(r, t, &a);
        run_everywhere(r, t, t->l2, &a);
        gpu_to_host(r, s, t->samples, sizeof s);
        sorted[a.writer] = 0;
        for (int i = 0; i < PAIR_MOST; i++)
            sorted[a.writer] += (double)(s[i].long_cycles - s[i].short_cycles) /
                                (PAIR_MOST * (CHASE_LONG - CHASE_SHORT));
        t->fresh[a.writer] = sorted[a.writer];
    }
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] - sorted[i - 1] > widest) {
            widest = sorted[i] - sorted[i - 1];
            t->far = sorted[i];
        }
    if (widest < 0.1 * sorted[n / 2])
        t->far = INFINITY;
    free(sorted);
}

/* The chase inside one SM, or through the L2: the kernel has one reader. */
static void measure_reference(struct probe_run *r, struct talk *t, const char *path)
{
    bool own = !strcmp(path, "own"), other = !strcmp(path, "l2_other");
    bool fresh = other || !strcmp(path, "l2_same");
    struct chase_args a = l2_args(t);
    uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm, pair[2];
    uint64_t between = own ? 0 : CHASE_STEPS, width = own ? sizeof(uint32_t) : CHASE_LINE;
    struct chase_sample s[PAIR_MOST];

    if (!probe_begin_case(r, 0, "path=%s", path))
        return;
    if (other && !isfinite(t->far)) {
        probe_missing(r, REFERENCE, "the L2 of this GPU has one side");
        probe_missing(r, REFERENCE_TIME, "the L2 of this GPU has one side");
        return;
    }
    if (own)
        a.order = permutation_of(CHASE_WORDS, probe_seed(r));
    while (probe_more(r)) {
        draw_sms(t, pair, n_sm, path);
        a.writer = pair[0];
        a.chosen = pair[1];
        a.first = number_below(t, (uint32_t)a.order.n);
        if (fresh)
            write_anew(r, t, &a);
        t->sm[0] = UINT64_MAX;
        gpu_time_start(r);
        run_everywhere(r, t, own ? t->own : t->l2, &a);
        double mhz = gpu_time_stop(r).mhz;
        gpu_to_host(r, s, t->samples, sizeof s);

        if (t->sm[0] != a.chosen)
            probe_fail(r, "SM %u got no block", a.chosen);
        for (uint64_t i = 0; i < PAIR_MOST; i++) {
            uint64_t step = a.first + i * between + CHASE_STEPS;
            take_chase(r, &s[i], width * permute(a.order, step % a.order.n), mhz, REFERENCE,
                       REFERENCE_TIME);
        }
    }
}

static void report_sides(struct probe_run *r, const struct talk *t)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm, far = 0;

    if (!probe_begin_case(r, PROBE_TWICE, PROBE_NO_KEYS))
        return;
    double *side = probe_host_alloc(r, n_sm * sizeof *side);
    for (size_t i = 0; i < n_sm; i++) {
        side[i] = is_far(t, i);
        far += is_far(t, i);
    }
    probe_value(r, L2_SIDES, isfinite(t->far) ? 2 : 1);
    probe_fact(r, "sms_of_sides", "%zu %zu", n_sm - far, far);
    probe_grid(r, SIDE_OF_SM, (struct probe_axis){"row", 1, NULL},
               (struct probe_axis){"sm", n_sm, NULL}, side);
    free(side);
}

/* One launch: in the chosen cluster, every block reads every block's ring. Returns the SM clock. */
static double chase_cluster(struct probe_run *r, struct talk *t, struct chase_args *a,
                            uint32_t size, uint32_t clusters, struct chase_sample s[CELLS])
{
    struct gpu_shape shape = {.grid = {size * clusters, 1, 1},
                              .block = PAIR_THREADS,
                              .shared = t->shared,
                              .cluster = size};
    bool differ = true;

    a->first = number_below(t, CHASE_WORDS);
    for (uint32_t i = 0; i < size; i++)
        t->sm[i] = UINT64_MAX;
    gpu_time_start(r);
    gpu_launch_shape(r, t->dsmem, &shape, a);
    double mhz = gpu_time_stop(r).mhz;
    gpu_to_host(r, s, t->samples, CELLS * sizeof *s);
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < i; j++)
            differ = differ && t->sm[i] != t->sm[j];
    if (!differ)
        probe_require(r, false, "the %u blocks of a cluster are on %u SMs", size, size);
    return mhz;
}

/* Where a chase of that owner's ring ends. */
static uint64_t end_of(const struct chase_args *a, uint32_t owner)
{
    struct permutation order = a->order;
    order.seed += owner;
    return sizeof(uint64_t) * permute(order, (a->first + CHASE_STEPS) % CHASE_WORDS);
}

static struct chase_args cluster_args(struct probe_run *r, const struct talk *t)
{
    return (struct chase_args){.samples = t->samples,
                               .sm = t->sm,
                               .order = permutation_of(CHASE_WORDS, probe_seed(r))};
}

static void measure_dsmem(struct probe_run *r, struct talk *t, uint32_t size, uint32_t clusters)
{
    struct chase_args a = cluster_args(r, t);
    struct chase_sample s[CELLS];

    if (!probe_begin_case(r, size == 4 ? PROBE_DEEP : 0, "size=%u", size))
        return;
    for (uint32_t pass = 0; probe_more(r); pass++) {
        a.chosen = pass % clusters;
        double mhz = chase_cluster(r, t, &a, size, clusters, s);
        for (uint32_t i = 0; i < size; i++)
            for (uint32_t j = 0; j < size; j++)
                take_chase(r, &s[i * PAIR_MOST + j], end_of(&a, j), mhz,
                           i == j ? DSMEM_SELF : DSMEM, i == j ? -1 : DSMEM_TIME);
    }
    probe_require(r, true, "the blocks of a cluster are on different SMs");
    probe_fact(r, "clusters", "%u", clusters);
}

/* Turns cells from sums over `met` chases into means; the extremes are stored next to the map. */
static void take_map(struct probe_run *r, double *map, const uint32_t *met, size_t n_sm)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < n_sm * n_sm; i++) {
        map[i] = met[i] ? map[i] / (met[i] * (CHASE_LONG - CHASE_SHORT)) : (double)NAN;
        if (met[i] && map[i] < least)
            least = map[i];
        if (met[i] && map[i] > most)
            most = map[i];
    }
    probe_grid(r, DSMEM_MAP, (struct probe_axis){"reader_sm", n_sm, NULL},
               (struct probe_axis){"owner_sm", n_sm, NULL}, map);
    probe_value(r, FASTEST, least);
    probe_value(r, SLOWEST, most);
}

/* Every pair that meets in a cluster, as a map over the SMs. */
static void measure_map(struct probe_run *r, struct talk *t, uint32_t size, uint32_t clusters)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm, cells = n_sm * n_sm;
    struct chase_args a = cluster_args(r, t);
    struct chase_sample s[CELLS];

    uint32_t elsewhere = 0;
    if (!probe_begin_case(r, PROBE_TWICE, "size=%u", size))
        return;
    double *map = probe_host_alloc(r, cells * sizeof *map);
    uint32_t *met = probe_host_alloc(r, cells * sizeof *met);
    memset(map, 0, cells * sizeof *map);
    memset(met, 0, cells * sizeof *met);
    for (uint32_t lap = 0; lap < MAP_LAPS; lap++)
        for (a.chosen = 0; a.chosen < clusters; a.chosen++) {
            chase_cluster(r, t, &a, size, clusters, s);
            for (uint32_t i = 0; i < size * size; i++) {
                const struct chase_sample *c = &s[i / size * PAIR_MOST + i % size];
                size_t cell = t->sm[i / size] * n_sm + t->sm[i % size];
                if (i / size == i % size)
                    continue;
                elsewhere += c->end != end_of(&a, i % size);
                map[cell] += (double)(c->long_cycles - c->short_cycles);
                met[cell]++;
            }
        }
    probe_require(r, elsewhere == 0, "%u chases of the map ended elsewhere", elsewhere);
    take_map(r, map, met, n_sm);
    free(map);
    free(met);
}

/* --- flags ------------------------------------------------------------------------------------ */

static void take_flags(struct probe_run *r, const struct flag_result *got, double mhz)
{
    for (int i = 0; i < FLAG_PLACES; i++) {
        double few = (double)got->sample[i].short_cycles, many = (double)got->sample[i].long_cycles;
        if (got->sample[i].long_cycles == 0) {
            probe_require(r, false, "a flag did not come within %d ms", BUDGET_NS / 1000000);
            continue;
        }
        probe_sample(r, FLAG, 2 * FLAG_SHORT, few);
        probe_sample(r, FLAG, 2 * FLAG_LONG, many);
        probe_sample(r, FLAG_TIME, 2 * FLAG_SHORT, few * 1e3 / mhz);
        probe_sample(r, FLAG_TIME, 2 * FLAG_LONG, many * 1e3 / mhz);
    }
}

/* Can a flag go that way on this GPU? `runs`: there is a kernel, and clusters if it needs them. */
static bool has_way(struct probe_run *r, const struct talk *t, const struct way *way, bool runs)
{
    bool one_side = !strcmp(way->path, "l2_other") && !isfinite(t->far);
    const char *why = one_side ? "the L2 of this GPU has one side"
                               : "needs clusters of 8 blocks, compute capability 9.0";

    if (runs && !one_side)
        return true;
    probe_missing(r, FLAG, why);
    probe_missing(r, FLAG_TIME, why);
    return false;
}

static void measure_flag(struct probe_run *r, struct talk *t, const struct way *way)
{
    bool cluster = !strcmp(way->path, "dsmem"), one_word = !strcmp(way->by, "async");
    struct flag_args a = {.lines = t->lines, .result = t->result, .budget_ns = BUDGET_NS};
    struct gpu_shape shape = {.block = FLAG_THREADS, .shared = t->shared};
    uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm, size = 8, clusters = 0;
    cudaKernel_t kernel = gpu_kernel_if_any(r, &image_sm_to_sm, way->kernel, sizeof a);

    if (!probe_begin_case(r, probe_is_check_run(r) ? 0 : way->flags, "path=%s,by=%s", way->path,
                          way->by))
        return;
    make_alone(t, kernel);
    if (cluster && kernel)
        clusters = gpu_clusters_at_once(kernel, FLAG_THREADS, t->shared, size);
    if (!has_way(r, t, way, kernel && (!cluster || clusters > 0)))
        return;
    shape.grid = (dim3){cluster ? size * clusters : n_sm, 1, 1};
    shape.cluster = cluster ? size : 0;
    shape.cooperative = !cluster;
    while (probe_more(r)) {
        a.order = permutation_of(FLAG_LINES, probe_seed(r) + t->trip);
        a.first = t->trip;
        a.chosen = cluster ? number_below(t, clusters) : 0;
        draw_sms(t, a.side, cluster ? size : n_sm, way->path);
        t->trip += FLAG_PLACES * FLAG_TRIPS;
        memset(t->result, 0, sizeof *t->result);
        gpu_time_start(r);
        gpu_launch_shape(r, kernel, &shape, &a);
        take_flags(r, t->result, gpu_time_stop(r).mhz);
        if (t->result->sm[0] == t->result->sm[1])
            probe_require(r, false, "the two blocks are on different SMs");
        if (one_word && t->result->word[0] != FLAG_PLACES * FLAG_TRIPS)
            probe_require(r, false, "the last word that came is %llu",
                          (unsigned long long)t->result->word[0]);
    }
    probe_require(r, true, "every flag came, between different SMs");
}

static void measure(struct probe_run *r)
{
    static const char *const paths[] = {"own", "l2", "l2_same", "l2_other"};
    struct talk t = prepare(r);
    uint32_t largest = 0, clusters;

    find_sides(r, &t);
    for (size_t i = 0; i < PROBE_LENGTH(paths); i++)
        measure_reference(r, &t, paths[i]);
    for (int i = 0; i < SIZES && t.dsmem; i++) {
        clusters = gpu_clusters_at_once(t.dsmem, PAIR_THREADS, t.shared, (unsigned)sizes[i]);
        if (clusters > 0) {
            largest = (uint32_t)sizes[i];
            measure_dsmem(r, &t, largest, clusters);
        }
    }
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++)
        measure_flag(r, &t, &ways[i]);
    if (largest > 0)
        measure_map(r, &t, largest, gpu_clusters_at_once(t.dsmem, PAIR_THREADS, t.shared, largest));
    report_sides(r, &t);
    sm_to_sm_measure_handovers(r, t.shared);
}

const struct probe probe = {
    .name = "sm_to_sm",
    .what = "How do two SMs talk, and how long does a word take from one to the other?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
