/* barriers: what does a barrier cost in a block, in a cluster and on the whole GPU, and do its
 * members see what was written before it?
 *
 * Cost. Inside a block and a cluster: 32 and then 64 barriers back to back between three reads of
 * the SM's cycle counter; the slope is over the 32 between them. On the whole GPU: one block per
 * SM, a cooperative launch, N and then 2N rounds between three clock reads on one SM. The barriers:
 *     block    syncthreads; named (bar.sync with a count); handoff (half of the warps wait for the
 *              other half's bar.arrive, then the other way round; the cost of one way);
 *              mbarrier_test and mbarrier_try (one thread per warp arrives, all wait, by polling
 *              or by the hardware's wait)
 *     cluster  barrier.cluster. The arrival of `ordered` releases, that of `relaxed` does not; the
 *              wait acquires in both, as PTX has no other. Measured alone, and after a store of
 *              every thread: to global memory, or to the next block's shared memory
 *     grid     grid_sync (cooperative groups, as shipped); counter (everyone adds one, and polls);
 *              cluster (pairs of blocks meet, one of each pair adds and polls, pairs meet again);
 *              twin, our own: see core/device/grid_barrier.cuh
 *
 * Order. In each round every member stores the round's number with an ordinary store, crosses the
 * barrier, and loads what all members stored, with ordinary loads. The members are the warps of a
 * block, or whole blocks. If they are blocks, the last warp of each stores and all but the first
 * two warps load; of those two, one arrives for the block and the other waits. In one round of 256
 * some stores are late, because additions are queued before them. Controls must show violations.
 * One has no barrier. The others count their members, so that none is ever a round ahead, but each
 * lacks one part of the order:
 *     unreleased  the arrival does not wait for stores: late ones are not seen
 *     unacquired  the wait leaves the L1 as it is: old lines are seen, in any round
 *     unmet       the block's warps do not meet before one arrives for them: late ones are not seen
 *     relaxed     in clusters: as unreleased
 * This cannot show that our twin's wait acquires, because the fence of its arrival has just emptied
 * the L1; tests/kernels count both CCTL instructions. It shows nothing on a GPU whose controls
 * pass.
 *
 * The probe deadlock shows what happens to a barrier that not all blocks can reach.
 *
 * Inside the timed region: the barriers, and the stores that the case names (tests/kernels); for
 * the grid also the loop round them.
 * Expected on Hopper: syncthreads 14 cycles plus 2 for each further warp. A relaxed cluster barrier
 * 60 to 90; an ordered one 337 to 382, since it waits for the L2, and 458 to 725 after a store.
 * grid.sync 1.0 us; ours 0.83 us, with one block per SM.
 *
 * Traps. A cluster barrier "with release" is a fence of the whole GPU. Published figures range from
 * 102 to 1300 cycles; they differ in that fence and in the stores before it. Samples that were
 * written to host memory between the repeats were such stores, and turned 350 cycles into 560:
 * samples stay in shared memory. If the compiler does not know that a kernel is launched in
 * clusters, the code asks before each barrier. A fence takes longer after loads and stores than
 * after nothing. __syncwarp is not measured: in converged code it is no instruction. */
#include "probes/barriers/args.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(barriers);

enum { BLOCK, BLOCK_TIME, CLUSTER, CLUSTER_TIME, GRID, GRID_TIME, VIOLATIONS, CONTROL, SMS };
#define SLOPE PROBE_LOWER, .form = PROBE_SLOPE
static const struct probe_metric metrics[] = {
    [BLOCK] = {"block", "cycles", SLOPE, .keys = "barrier,warps", .what = "a barrier of one block"},
    [BLOCK_TIME] = {"block_time", "ns", SLOPE, .timer = "device", .keys = "barrier,warps",
        .what = "the same in ns"},
    [CLUSTER] = {"cluster", "cycles", SLOPE, .keys = "order,blocks,threads,store",
        .what = "a barrier of one cluster, its arrival relaxed or ordered, after a store"},
    [CLUSTER_TIME] = {"cluster_time", "ns", SLOPE, .timer = "device",
        .keys = "order,blocks,threads,store", .what = "the same in ns"},
    [GRID] = {"grid", "cycles", SLOPE, .keys = "barrier,per_sm,threads,store",
        .what = "a barrier of all blocks, so many on each SM"},
    [GRID_TIME] = {"grid_time", "ns", SLOPE, .timer = "device",
        .keys = "barrier,per_sm,threads,store", .what = "the same in ns"},
    [VIOLATIONS] = {"violations", "count", PROBE_EXACT, .keys = "scope,barrier,blocks,rounds",
        .what = "stores before the barrier not seen after it"},
    [CONTROL] = {"control_violates", "count", PROBE_EXACT, .keys = "scope,barrier,blocks,rounds",
        .what = "1: what this barrier lacks is seen"},
    [SMS] = {"sms", "count", PROBE_EXACT, .keys = "scope,barrier,blocks,rounds",
        .what = "SMs over which the barrier reached"},
};

enum {
    THREADS = 256,
    ROUNDS = 256,       /* of a grid barrier between the first two clock reads */
    WORDS = 1 << 20,    /* for the stores */
    SLOT_WORDS = 2 * GRID_BARRIER_BLOCKS * 32 * ORDER_STRIDE, /* for odd and for even rounds */
    LAUNCH = 100000,    /* rounds of the oracle per launch */
    BUDGET_NS = 500000000,
};

struct meeting {
    const struct gpu_facts *gpu;
    struct barriers_result *result; /* mapped */
    uint32_t *words, *slots;
    uint32_t *counter; /* of a barrier */
    uint32_t *wrong;   /* two counts of the oracle */
    uint32_t *sm;
    struct grid_barrier_state *state;
};

static struct meeting prepare(struct probe_run *r)
{
    struct meeting m = {.gpu = gpu_facts(r)};
    m.result = gpu_mapped(r, sizeof *m.result);
    m.words = gpu_alloc(r, WORDS * sizeof *m.words, "words to store to");
    m.slots = gpu_alloc(r, SLOT_WORDS * sizeof *m.slots, "slots");
    m.counter = gpu_alloc(r, sizeof *m.counter, "a counter");
    m.wrong = gpu_alloc(r, 2 * sizeof *m.wrong, "the oracle's counts");
    m.sm = gpu_alloc(r, GRID_BARRIER_BLOCKS * sizeof *m.sm, "the census");
    m.state = gpu_alloc(r, sizeof *m.state, "the state of a grid barrier");
    CUDA(cudaMemsetAsync(m.state, 0, sizeof *m.state, gpu_stream(r)));
    return m;
}

/* Zeroes the counters that count from zero, and clears `aborted`. Our barrier's counters need no
 * reset. */
static void reset(struct probe_run *r, const struct meeting *m)
{
    CUDA(cudaMemsetAsync(m->counter, 0, sizeof *m->counter, gpu_stream(r)));
    CUDA(cudaMemsetAsync(m->wrong, 0, 2 * sizeof *m->wrong, gpu_stream(r)));
    CUDA(cudaMemsetAsync(&m->state->aborted, 0, sizeof m->state->aborted, gpu_stream(r)));
}

/* Did every member wait for all others? Check it after each launch: after a barrier gives up, its
 * launch runs on without waiting, and its results are meaningless. */
static bool nobody_gave_up(struct probe_run *r, const struct meeting *m)
{
    uint32_t aborted = 0;
    gpu_to_host(r, &aborted, &m->state->aborted, sizeof aborted);
    return aborted == 0;
}

/* Leaves a case without a figure, and fails the run. */
static void given_up(struct probe_run *r, int metric, int beside)
{
    probe_require(r, false, "a barrier was given up after %d ms", BUDGET_NS / 1000000);
    probe_missing(r, metric, "a barrier was given up");
    probe_missing(r, beside, "a barrier was given up");
}

/* --- cost ------------------------------------------------------------------------------------- */

/* Shared memory per block such that exactly per_sm blocks fit an SM. */
static size_t share_of_sm(const struct gpu_facts *gpu, unsigned per_sm)
{
    return (gpu->shared_per_sm / (per_sm + 1) / 128 + 1) * 128;
}

static cudaKernel_t kernel_of(struct probe_run *r, const char *name, size_t args_size,
                              size_t shared)
{
    cudaKernel_t kernel = gpu_kernel_if_any(r, &image_barriers, name, args_size);
    if (kernel && shared)
        gpu_kernel_shared(kernel, shared, 100);
    return kernel;
}

/* Records the samples of one launch; the two amounts of work are `few` and `many` barriers. */
static void sample(struct probe_run *r, const struct barriers_result *x, int n, double few,
                   double many, int in_cycles, int in_ns)
{
    double ns = (double)(x->tail.ns - x->lead.ns);
    double mhz = 1e3 * (double)(x->tail.cycles - x->lead.cycles) / ns;
    probe_clock(r, mhz);
    for (int i = 0; i < n; i++) {
        double shorter = (double)x->sample[i].short_cycles;
        double longer = (double)x->sample[i].long_cycles;
        probe_sample(r, in_cycles, few, shorter);
        probe_sample(r, in_cycles, many, longer);
        probe_sample(r, in_ns, few, shorter * 1e3 / mhz);
        probe_sample(r, in_ns, many, longer * 1e3 / mhz);
    }
}

/* Second method: the time of the whole launch, divided by all its barriers. It is more than the
 * slope, by at most the clock reads and the loops, where the last launch is as the median one; a
 * cluster of 16 with remote stores was seen at 0.913 of it. A miscount by two gives 0.5 or 2. */
static void check_whole(struct probe_run *r, const struct barriers_result *x, double barriers,
                        double slope)
{
    double each = (double)(x->tail.cycles - x->lead.cycles) / barriers;
    if (isfinite(slope))
        probe_require(r, each > 0.85 * slope && each < 1.15 * slope + 8,
                      "whole launch %.1f cycles a barrier, slope %.1f", each, slope);
}

/* Barriers of one block or one cluster; one step of the kernel has `handed` of them. */
static void measure_near(struct probe_run *r, const struct meeting *m, cudaKernel_t kernel,
                         const struct gpu_shape *shape, int handed, int in_cycles, int in_ns)
{
    struct near_args a = {.result = m->result, .words = m->words};
    while (probe_more(r)) {
        gpu_launch_shape(r, kernel, shape, &a);
        gpu_wait(r);
        sample(r, m->result, BARRIERS_REPEATS, BARRIERS_SHORT * handed, BARRIERS_LONG * handed,
               in_cycles, in_ns);
    }
    check_whole(r, m->result, BARRIERS_REPEATS * (2 + BARRIERS_SHORT + BARRIERS_LONG) * handed,
                probe_median(r, in_cycles));
}

static void measure_blocks(struct probe_run *r, const struct meeting *m)
{
    static const struct {
        const char *barrier;
        unsigned fewest; /* warps */
        int handed;
    } kinds[] = {{"syncthreads", 1, 1},
                 {"named", 1, 1},
                 {"handoff", 2, 2},
                 {"mbarrier_test", 1, 1},
                 {"mbarrier_try", 1, 1}};
    char name[64];

    for (size_t i = 0; i < PROBE_LENGTH(kinds); i++)
        for (unsigned warps = kinds[i].fewest; warps <= 32; warps *= 2) {
            struct gpu_shape shape = {.grid = {1, 1, 1}, .block = 32 * warps};
            if (!probe_begin_case(r, 0, "barrier=%s,warps=%u", kinds[i].barrier, warps))
                continue;
            snprintf(name, sizeof name, "barriers_block_%s", kinds[i].barrier);
            cudaKernel_t kernel = kernel_of(r, name, sizeof(struct near_args), 0);
            if (kernel)
                measure_near(r, m, kernel, &shape, kinds[i].handed, BLOCK, BLOCK_TIME);
            else
                probe_missing(r, BLOCK, "needs a newer compute capability");
        }
}

/* Can such a launch start at all? A cluster of 16 blocks, each on its own SM, needs a large GPC. */
static bool fits(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                 const void *args)
{
    const bool does = gpu_grants(gpu_try_launch(r, kernel, shape, args), "cudaLaunchKernelExC",
                                 __FILE__, __LINE__);
    gpu_wait(r);
    return does;
}

static void measure_clusters(struct probe_run *r, const struct meeting *m)
{
    static const char *const orders[] = {"relaxed", "ordered"};
    static const char *const stores[] = {"none", "global", "remote"};
    size_t shared = share_of_sm(m->gpu, 1);
    char name[64];

    for (int i = 0; i < 3 * 2 * 4 * 3; i++) {
        unsigned threads = (unsigned[]){256, 32, 1024}[i / 24], blocks = 2u << i % 4;
        const char *order = orders[i / 4 % 2], *store = stores[i / 8 % 3];
        struct gpu_shape shape = {
            .grid = {blocks, 1, 1}, .block = threads, .shared = shared, .cluster = blocks};
        struct near_args a = {.result = m->result, .words = m->words};

        snprintf(name, sizeof name, "barriers_cluster_%s_%s", order, store);
        cudaKernel_t kernel = kernel_of(r, name, sizeof a, shared);
        /* The sizes on both sides of that in the report are a curve. */
        const unsigned flags = blocks == 8 && i / 8 % 3 == 0 ? 0 : PROBE_THRICE;
        if (!kernel || !probe_begin_case(r, threads == THREADS ? flags : PROBE_DEEP,
                                         "order=%s,blocks=%u,threads=%u,store=%s", order, blocks,
                                         threads, store))
            continue;
        gpu_kernel_clusters(kernel);
        if (fits(r, kernel, &shape, &a))
            measure_near(r, m, kernel, &shape, 1, CLUSTER, CLUSTER_TIME);
        else
            probe_missing(r, CLUSTER, "no room for a cluster of so many SMs");
    }
}

static void measure_grid(struct probe_run *r, const struct meeting *m, const char *barrier,
                         unsigned per_sm, unsigned threads, bool stores)
{
    bool standard = per_sm == 1 && threads == THREADS;
    bool pairs = !strcmp(barrier, "cluster");
    size_t shared = share_of_sm(m->gpu, per_sm);
    unsigned blocks = (unsigned)m->gpu->n_sm * per_sm / 2 * 2;
    struct gpu_shape shape = {.grid = {blocks, 1, 1}, .block = threads, .shared = shared,
                              .cluster = pairs ? 2 : 0, .cooperative = true};
    struct far_args a = {.result = m->result, .state = m->state, .counter = m->counter,
                         .words = stores ? m->words : NULL, .budget_ns = BUDGET_NS};
    char name[64];

    snprintf(name, sizeof name, "barriers_grid_%s", barrier);
    cudaKernel_t kernel = kernel_of(r, name, sizeof a, shared);
    if (!kernel || !probe_begin_case(r, !standard ? PROBE_DEEP : stores ? PROBE_THRICE : 0,
                                     "barrier=%s,per_sm=%u,threads=%u,"
                                     "store=%s",
                                     barrier, per_sm, threads, stores ? "global" : "none"))
        return;
    reset(r, m);
    if (!fits(r, kernel, &shape, &a)) {
        probe_missing(r, GRID, "the grid does not fit the GPU at once");
        return;
    }
    a.rounds = probe_is_check_run(r) ? 16 : ROUNDS;
    bool waited = nobody_gave_up(r, m);
    while (waited && probe_more(r)) {
        reset(r, m);
        gpu_launch_shape(r, kernel, &shape, &a);
        gpu_wait(r);
        waited = nobody_gave_up(r, m);
        if (waited)
            sample(r, m->result, 1, a.rounds, 2.0 * a.rounds, GRID, GRID_TIME);
    }
    if (waited)
        check_whole(r, m->result, 3.0 * a.rounds + 2, probe_median(r, GRID));
    else
        given_up(r, GRID, GRID_TIME);
    probe_fact(r, "blocks", "%u", blocks);
}

static void measure_grids(struct probe_run *r, const struct meeting *m)
{
    static const char *const barriers[] = {"sync", "counter", "cluster", "twin"};
    static const struct {
        unsigned per_sm, threads;
    } shapes[] = {{1, 256}, {1, 32}, {1, 1024}, {2, 256}, {4, 256}, {8, 128}};

    for (size_t i = 0; i < PROBE_LENGTH(shapes); i++)
        for (size_t k = 0; k < PROBE_LENGTH(barriers); k++)
            for (int stores = 0; stores < 2; stores++)
                if ((int)(shapes[i].per_sm * shapes[i].threads) <= 32 * m->gpu->warps_per_sm)
                    measure_grid(r, m, barriers[k], shapes[i].per_sm, shapes[i].threads, stores);
}

/* --- order ------------------------------------------------------------------------------------ */

struct order_case {
    const char *scope, *barrier;
    uint32_t rounds;
    bool control; /* lacks something, and must fail */
};

/* One member per SM; the members of a block are its warps. */
static double distinct_sms(struct probe_run *r, const struct meeting *m, unsigned members)
{
    uint32_t sm[GRID_BARRIER_BLOCKS];
    unsigned distinct = 0;
    gpu_to_host(r, sm, m->sm, members * sizeof *sm);
    for (unsigned i = 0; i < members; i++) {
        bool seen = sm[i] == 0;
        for (unsigned k = 0; k < i && !seen; k++)
            seen = sm[k] == sm[i];
        distinct += !seen;
    }
    return distinct;
}

/* All rounds, LAUNCH of them per launch: short enough for a display's watchdog. */
enum rounds_end { ROUNDS_DONE, ROUNDS_REFUSED, ROUNDS_GIVEN_UP };
static enum rounds_end run_rounds(struct probe_run *r, const struct meeting *m, cudaKernel_t kernel,
                                  const struct gpu_shape *shape, uint32_t rounds)
{
    struct order_args a = {.slots = m->slots, .wrong = m->wrong, .sm = m->sm, .state = m->state,
                           .counter = m->counter, .budget_ns = BUDGET_NS};
    reset(r, m);
    CUDA(cudaMemsetAsync(m->slots, 0, SLOT_WORDS * sizeof *m->slots, gpu_stream(r)));
    CUDA(cudaMemsetAsync(m->sm, 0, GRID_BARRIER_BLOCKS * sizeof *m->sm, gpu_stream(r)));
    for (; a.first < rounds; a.first += a.rounds) {
        a.rounds = rounds - a.first < LAUNCH ? rounds - a.first : LAUNCH;
        if (!fits(r, kernel, shape, &a))
            return ROUNDS_REFUSED;
        if (!nobody_gave_up(r, m))
            return ROUNDS_GIVEN_UP;
    }
    return ROUNDS_DONE;
}

/* Judges what the oracle saw. A control that waits but does not order is never a round ahead. */
static void report_order(struct probe_run *r, const struct meeting *m, const struct order_case *c,
                         unsigned blocks, unsigned members)
{
    uint32_t wrong[2] = {0};
    gpu_to_host(r, wrong, m->wrong, sizeof wrong);
    if (c->control) {
        bool waits = strcmp(c->barrier, "none") != 0;
        probe_value(r, CONTROL, wrong[0] > 0 || (!waits && wrong[1] > 0));
        if (waits)
            probe_require(r, wrong[1] == 0, "%s waits: %u reads of a later round", c->barrier,
                          wrong[1]);
    } else {
        probe_value(r, VIOLATIONS, (double)wrong[0] + wrong[1]);
        probe_value(r, SMS, distinct_sms(r, m, members));
        if (probe_is_check_run(r))
            probe_require(r, wrong[0] + wrong[1] == 0, "violations of the order: %u, %u", wrong[0],
                          wrong[1]);
    }
    probe_fact(r, "blocks_at_once", "%u", blocks);
    probe_fact(r, "reads_of_rounds_before", "%u", wrong[0]);
    probe_fact(r, "reads_of_rounds_to_come", "%u", wrong[1]);
}

/* The members: the warps of a block, `cluster` blocks, or one block per SM. */
static void measure_order(struct probe_run *r, const struct meeting *m, const struct order_case *c,
                          unsigned cluster)
{
    bool grid = !strcmp(c->scope, "grid"), block = !strcmp(c->scope, "block");
    size_t shared = share_of_sm(m->gpu, 1);
    struct gpu_shape shape = {.grid = {(unsigned)m->gpu->n_sm, 1, 1}, .block = block ? 1024 : 256,
                              .shared = shared, .cluster = cluster, .cooperative = grid};
    char name[64], blocks[16] = "sm";

    snprintf(name, sizeof name, "barriers_order_%s_%s", c->scope, c->barrier);
    cudaKernel_t kernel = kernel_of(r, name, sizeof(struct order_args), shared);
    if (cluster)
        shape.grid.x = grid ? shape.grid.x / cluster * cluster : cluster;
    unsigned members = block ? 1 : shape.grid.x;
    if (!grid)
        snprintf(blocks, sizeof blocks, "%u", members);
    if (!kernel || !probe_begin_case(r, PROBE_TWICE, "scope=%s,barrier=%s,blocks=%s,rounds=%u",
                                     c->scope, c->barrier, blocks, c->rounds))
        return;
    if (cluster)
        gpu_kernel_clusters(kernel);
    switch (run_rounds(r, m, kernel, &shape, probe_is_check_run(r) ? 32 : c->rounds)) {
    case ROUNDS_DONE:
        report_order(r, m, c, shape.grid.x, members);
        break;
    case ROUNDS_REFUSED:
        probe_missing(r, c->control ? CONTROL : VIOLATIONS, "the launch was refused");
        break;
    case ROUNDS_GIVEN_UP:
        given_up(r, c->control ? CONTROL : VIOLATIONS, c->control ? CONTROL : SMS);
        break;
    }
}

static void measure_orders(struct probe_run *r, const struct meeting *m)
{
    static const struct order_case cases[] = {
        {"block", "syncthreads", 100000, false}, {"block", "none", 10000, true},
        {"cluster", "ordered", 100000, false},   {"cluster", "none", 10000, true},
        {"cluster", "relaxed", 10000, true},     {"grid", "counter", 100000, false},
        {"grid", "cluster", 100000, false},      {"grid", "sync", 1000000, false},
        {"grid", "twin", 1000000, false},        {"grid", "none", 10000, true},
        {"grid", "unreleased", 10000, true},     {"grid", "unacquired", 10000, true},
        {"grid", "unmet", 10000, true},
    };
    for (size_t i = 0; i < PROBE_LENGTH(cases); i++) {
        const struct order_case *c = &cases[i];
        if (strcmp(c->scope, "cluster") != 0)
            measure_order(r, m, c, !strcmp(c->barrier, "cluster") ? 2 : 0);
        else
            for (unsigned blocks = 2; blocks <= 16; blocks *= 2)
                measure_order(r, m, c, blocks);
    }
}

static void measure(struct probe_run *r)
{
    struct meeting m = prepare(r);
    measure_blocks(r, &m);
    measure_clusters(r, &m);
    measure_grids(r, &m);
    measure_orders(r, &m);
}

const struct probe probe = {
    .name = "barriers",
    .what = "What does it cost to wait for others: in a block, in a cluster, on the whole GPU?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
