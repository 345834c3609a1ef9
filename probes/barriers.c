/* barriers: what does it cost to wait for others, in a block, in a cluster, on the whole GPU; and
 * do they see what was written?
 *
 * Cost. Inside a block and a cluster: 32 and 64 barriers in a row between three reads of the SM's
 * cycle counter, slope over the 32 between them. On the whole GPU: one block on each SM, a
 * cooperative launch, N and 2N rounds between three clock reads on one SM. The barriers:
 *     block    syncthreads; named (bar.sync with a count); handoff (half of the warps wait for the
 *              other half's bar.arrive, then the other way round; the cost of one way);
 *              mbarrier_test and mbarrier_try (one thread a warp arrives, all wait, polling or by
 *              the hardware's wait)
 *     cluster  barrier.cluster, arrival relaxed or ordered (release), by itself or each time
 *              after a store of every thread: to global memory, or to the next block's shared one
 *     grid     grid_sync (cooperative groups, as shipped); counter (everyone adds one, and polls);
 *              cluster (pairs of blocks meet, one of each adds and polls, pairs meet again); twin,
 *              ours: see core/device/grid_barrier.cuh
 *
 * Order. Each round every member stores the round's number with an ordinary store, crosses the
 * barrier, and loads what all members stored, with ordinary loads. The same without the barrier
 * must show violations.
 *
 * What becomes of a barrier to which not all can come is the probe deadlock's.
 *
 * Inside the timed region: the barriers, and the stores that the case names (tests/kernels); for
 * the grid also the loop round them.
 * Expected on Hopper: syncthreads 14 cycles and 2 for each further warp; a relaxed cluster barrier
 * 75 to 80, an ordered one 350, since it waits for the L2, and 500 to 700 after a store; grid.sync
 * 1.0 us, ours 0.82 with one block on each SM.
 *
 * Traps. A cluster barrier "with release" is a fence of the whole GPU: published figures from 102
 * to 1300 cycles differ in that, and in the stores before. Samples that went to host memory between
 * the repeats were such stores, and made 560 cycles of 350: they stay in shared memory. Where the
 * compiler does not know that a kernel is launched in clusters, each barrier first asks. A fence
 * takes longer after loads and stores than after nothing. __syncwarp is not here: in converged code
 * it is no instruction. */
#include "probes/barriers.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(barriers);
GPU_ARGS_SIZE(struct near_args, 16);
GPU_ARGS_SIZE(struct far_args, 40);
GPU_ARGS_SIZE(struct order_args, 56);

enum { BLOCK, BLOCK_TIME, CLUSTER, CLUSTER_TIME, GRID, GRID_TIME, VIOLATIONS, CONTROL, SMS };
#define SLOPE PROBE_LOWER, PROBE_SLOPE
static const struct probe_metric metrics[] = {
    [BLOCK] = {"block", "cycles", SLOPE, NULL, "barrier,warps", "a barrier of one block"},
    [BLOCK_TIME] = {"block_time", "ns", SLOPE, "device", "barrier,warps", "the same in ns"},
    [CLUSTER] = {"cluster", "cycles", SLOPE, NULL, "order,blocks,threads,store",
                 "a barrier of one cluster, after such a store of every thread"},
    [CLUSTER_TIME] = {"cluster_time", "ns", SLOPE, "device", "order,blocks,threads,store",
                      "the same in ns"},
    [GRID] = {"grid", "cycles", SLOPE, NULL, "barrier,per_sm,threads,store",
              "a barrier of all blocks, so many on each SM"},
    [GRID_TIME] = {"grid_time", "ns", SLOPE, "device", "barrier,per_sm,threads,store",
                   "the same in ns"},
    [VIOLATIONS] = {"violations", "count", PROBE_EXACT, PROBE_EACH, NULL,
                    "scope,barrier,blocks,rounds", "stores before the barrier not seen after it"},
    [CONTROL] = {"control_violates", "count", PROBE_EXACT, PROBE_EACH, NULL,
                 "scope,barrier,blocks,rounds", "1: without a barrier there are violations"},
    [SMS] = {"sms", "count", PROBE_EXACT, PROBE_EACH, NULL, "scope,barrier,blocks,rounds",
             "SMs over which the barrier reached"},
};

enum {
    THREADS = 256,
    ROUNDS = 256,       /* of a grid barrier between the first two clock reads */
    PLACES = 1 << 20,   /* words to store to */
    LAUNCH = 100000,    /* rounds of the oracle in one launch */
    BUDGET_NS = 500000000,
};

struct meeting {
    const struct gpu_facts *gpu;
    struct barriers_result *result; /* mapped */
    uint32_t *place, *slots;
    uint32_t *counters; /* [0] a barrier's, [1] violations */
    uint32_t *sm;
    struct grid_barrier_state *state;
};

static struct meeting prepare(struct probe_run *r)
{
    struct meeting m = {.gpu = gpu_facts(r)};
    m.result = gpu_mapped(r, sizeof *m.result);
    m.place = gpu_alloc(r, PLACES * sizeof *m.place, "words to store to");
    m.slots = gpu_alloc(r, 2 * GRID_BARRIER_BLOCKS * sizeof *m.slots * 32, "slots");
    m.counters = gpu_alloc(r, 2 * sizeof *m.counters, "counters");
    m.sm = gpu_alloc(r, GRID_BARRIER_BLOCKS * sizeof *m.sm, "the census");
    m.state = gpu_alloc(r, sizeof *m.state, "the state of a grid barrier");
    CUDA(cudaMemsetAsync(m.state, 0, sizeof *m.state, gpu_stream(r)));
    return m;
}

/* Counters that count from zero, and no barrier given up. Our barrier's need no reset. */
static void reset(struct probe_run *r, const struct meeting *m)
{
    CUDA(cudaMemsetAsync(m->counters, 0, 2 * sizeof *m->counters, gpu_stream(r)));
    CUDA(cudaMemsetAsync(&m->state->aborted, 0, sizeof m->state->aborted, gpu_stream(r)));
}

static void check_patience(struct probe_run *r, const struct meeting *m)
{
    uint32_t aborted = 0;
    gpu_to_host(r, &aborted, &m->state->aborted, sizeof aborted);
    probe_check(r, aborted == 0, "nobody waited for more than %d ms", BUDGET_NS / 1000000);
}

/* --- cost ------------------------------------------------------------------------------------- */

/* Shared memory that a block must ask for, so that per_sm of them fit an SM and not one more. */
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

/* Hands over what one launch left; the two amounts of work are `few` and `many` barriers. */
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

/* Second method: the whole launch over all its barriers, which can only be more than the slope, by
 * no more than the clock reads and the loops take. */
static void check_whole(struct probe_run *r, const struct barriers_result *x, double barriers,
                        double slope)
{
    double each = (double)(x->tail.cycles - x->lead.cycles) / barriers;
    if (isfinite(slope))
        probe_check(r, each > 0.9 * slope && each < 1.15 * slope + 8,
                    "whole launch %.1f cycles a barrier, slope %.1f", each, slope);
}

/* Barriers of one block or one cluster; `handed` of them in a step of the kernel. */
static void measure_near(struct probe_run *r, const struct meeting *m, cudaKernel_t kernel,
                         const struct gpu_shape *shape, int handed, int in_cycles, int in_ns)
{
    struct near_args a = {.result = m->result, .place = m->place};
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
            if (!probe_case(r, 0, "barrier=%s,warps=%u", kinds[i].barrier, warps))
                continue;
            snprintf(name, sizeof name, "barriers_block_%s", kinds[i].barrier);
            cudaKernel_t kernel = kernel_of(r, name, sizeof(struct near_args), 0);
            if (kernel)
                measure_near(r, m, kernel, &shape, kinds[i].handed, BLOCK, BLOCK_TIME);
            else
                probe_missing(r, BLOCK, "needs a newer compute capability");
        }
}

/* Does such a launch start at all? A cluster of 16 blocks on SMs of their own needs a large GPC. */
static bool fits(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                 const void *args)
{
    cudaError_t result = gpu_try_launch(r, kernel, shape, args);
    cudaGetLastError();
    gpu_wait(r);
    return result == cudaSuccess;
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
        struct near_args a = {.result = m->result, .place = m->place};

        snprintf(name, sizeof name, "barriers_cluster_%s_%s", order, store);
        cudaKernel_t kernel = kernel_of(r, name, sizeof a, shared);
        if (!kernel || !probe_case(r, threads == THREADS ? 0 : PROBE_DEEP,
                                   "order=%s,blocks=%u,threads=%u,store=%s", order, blocks, threads,
                                   store))
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
    struct far_args a = {.result = m->result, .state = m->state, .counter = m->counters,
                         .place = stores ? m->place : NULL, .budget_ns = BUDGET_NS};
    char name[64];

    snprintf(name, sizeof name, "barriers_grid_%s", barrier);
    cudaKernel_t kernel = kernel_of(r, name, sizeof a, shared);
    if (!kernel || !probe_case(r, standard ? 0 : PROBE_DEEP, "barrier=%s,per_sm=%u,threads=%u,"
                               "store=%s", barrier, per_sm, threads, stores ? "global" : "none"))
        return;
    reset(r, m);
    if (!fits(r, kernel, &shape, &a)) {
        probe_missing(r, GRID, "the grid does not fit the GPU at once");
        return;
    }
    a.rounds = probe_checking(r) ? 16 : ROUNDS;
    while (probe_more(r)) {
        reset(r, m);
        gpu_launch_shape(r, kernel, &shape, &a);
        gpu_wait(r);
        sample(r, m->result, 1, a.rounds, 2.0 * a.rounds, GRID, GRID_TIME);
    }
    check_whole(r, m->result, 3.0 * a.rounds + 2, probe_median(r, GRID));
    check_patience(r, m);
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
    const char *scope, *barrier, *kernel;
    unsigned cluster;   /* blocks in one, or 0 */
    unsigned threads;
    bool cooperative;
    uint32_t rounds;
};

/* Members on one SM each; a block's are its warps. */
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

/* All rounds, so many to a launch that no display's watchdog minds. False when refused. */
static bool run_rounds(struct probe_run *r, const struct meeting *m, cudaKernel_t kernel,
                       const struct gpu_shape *shape, uint32_t rounds)
{
    struct order_args a = {.slots = m->slots, .violations = m->counters + 1, .sm = m->sm,
                           .state = m->state, .counter = m->counters, .budget_ns = BUDGET_NS};
    reset(r, m);
    CUDA(cudaMemsetAsync(m->sm, 0, GRID_BARRIER_BLOCKS * sizeof *m->sm, gpu_stream(r)));
    for (; a.first < rounds; a.first += a.rounds) {
        a.rounds = rounds - a.first < LAUNCH ? rounds - a.first : LAUNCH;
        if (!fits(r, kernel, shape, &a))
            return false;
    }
    return true;
}

static void measure_order(struct probe_run *r, const struct meeting *m, const struct order_case *c)
{
    bool control = !strcmp(c->barrier, "none");
    size_t shared = share_of_sm(m->gpu, 1);
    unsigned blocks = (unsigned)m->gpu->n_sm;
    uint32_t rounds = probe_checking(r) ? 32 : c->rounds, wrong = 0;
    cudaKernel_t kernel = kernel_of(r, c->kernel, sizeof(struct order_args), shared);

    if (c->cluster)
        blocks = !strcmp(c->scope, "cluster") ? c->cluster : blocks / c->cluster * c->cluster;
    struct gpu_shape shape = {.grid = {blocks, 1, 1}, .block = c->threads, .shared = shared,
                              .cluster = c->cluster, .cooperative = c->cooperative};
    unsigned members = !strcmp(c->scope, "block") ? 1 : blocks;
    char relation[16] = "sm";
    if (!strcmp(c->scope, "cluster") || members == 1)
        snprintf(relation, sizeof relation, "%u", members);
    if (!kernel || !probe_case(r, PROBE_ONCE, "scope=%s,barrier=%s,blocks=%s,rounds=%u", c->scope,
                               c->barrier, relation, c->rounds))
        return;
    if (c->cluster > 8)
        gpu_kernel_clusters(kernel);
    if (!run_rounds(r, m, kernel, &shape, rounds)) {
        probe_missing(r, control ? CONTROL : VIOLATIONS, "the launch was refused");
        return;
    }
    gpu_to_host(r, &wrong, m->counters + 1, sizeof wrong);
    check_patience(r, m);
    if (control)
        probe_value(r, CONTROL, wrong > 0);
    else
        probe_value(r, VIOLATIONS, wrong);
    if (!control)
        probe_value(r, SMS, distinct_sms(r, m, members));
    if (probe_checking(r) && !control)
        probe_check(r, wrong == 0, "%u violations of the order in %u rounds", wrong, rounds);
    probe_fact(r, "blocks_at_once", "%u", blocks);
    probe_fact(r, "reads_that_violate", "%u", wrong);
}

static void measure_orders(struct probe_run *r, const struct meeting *m)
{
    static const struct order_case cases[] = {
        {"block", "syncthreads", "barriers_order_block_sync", 0, 1024, false, 100000},
        {"block", "none", "barriers_order_block_none", 0, 1024, false, 10000},
        {"cluster", "ordered", "barriers_order_cluster_ordered", 2, 256, false, 100000},
        {"cluster", "ordered", "barriers_order_cluster_ordered", 4, 256, false, 100000},
        {"cluster", "ordered", "barriers_order_cluster_ordered", 8, 256, false, 100000},
        {"cluster", "ordered", "barriers_order_cluster_ordered", 16, 256, false, 100000},
        {"cluster", "none", "barriers_order_cluster_none", 8, 256, false, 10000},
        {"grid", "counter", "barriers_order_grid_counter", 0, 256, true, 100000},
        {"grid", "cluster", "barriers_order_through_clusters", 2, 256, true, 100000},
        {"grid", "sync", "barriers_order_grid_sync", 0, 256, true, 1000000},
        {"grid", "twin", "barriers_order_grid_twin", 0, 256, true, 1000000},
        {"grid", "none", "barriers_order_grid_none", 0, 256, true, 10000},
    };
    for (size_t i = 0; i < PROBE_LENGTH(cases); i++)
        measure_order(r, m, &cases[i]);
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
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
