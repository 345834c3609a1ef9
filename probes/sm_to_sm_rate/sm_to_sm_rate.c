/* sm_to_sm_rate: at what rate do SMs pass data to each other, and which SMs can do so directly?
 *
 * Method. Two ways, as in sm_to_sm.
 *     stream   inside clusters (compute capability 9.0 and up): every block moves 64 KiB again and
 *              again out of, or into, the shared memory of the next block of its cluster; the last
 *              block's next is the first. op=read: 16-byte loads, four per thread in flight.
 *              op=write: 16-byte stores. op=bulk: 8 KiB bulk copies that report to a barrier of the
 *              receiver, which frees each place again. active=all: all clusters that the GPU holds
 *              at once, one block per SM. active=one: a single block of a single cluster.
 *     handoff  through the L2: every SM writes a slab of global memory, all meet at a barrier,
 *              every SM reads another's slab by 16-byte loads, four per thread in flight, and all
 *              meet again. from=next: of the next block. from=any: of a block at another distance
 *              in every pass. from=own: its own. `slab` is bytes per SM. Slabs that together exceed
 *              half the L2 are left out. slab=4xl2: together four times the L2, so that most of it
 *              must come back from device memory.
 * Rates are slopes. For streams, over the turns of a loop. For handoff_read, over the bytes read in
 * each round, half the slab or all of it: the barriers cancel, and what remains is the time to read
 * the other half. handoff_round is the slope over whole rounds. handoff_over_pin is handoff_read
 * divided by the rate at the memory's pins (clock x width x 2).
 *
 * Inside the timed region: one launch between two events. For handoff_read, each block's own clock,
 * from one barrier to the next, without the writing: mean over the blocks.
 * Verified in every launch: each thread sums what it read, and compares it with what was written in
 * that very round. After streams of stores the windows are compared word by word.
 * Expected on an H200: streams 14 to 22 bytes per cycle and SM; handoffs 9 to 9.5 TB/s (pins: 4.8),
 * as fast as any reading of the L2; 4xl2 below the pins.
 *
 * Traps. A cluster that does not fit next to the others would run after them: the probe launches as
 * many as the driver says fit, and a census of %smid must find one block per SM. The sum that a
 * reader expects is computed before the first round, which takes longer for more data. And a line
 * of which the other side of the L2 holds a copy is written 2 % more slowly. Events around the
 * launch include both effects; the blocks' clocks include neither. Slabs of 64 KiB, read within a
 * microsecond, look 3 % faster than the L2 is. */
#include "probes/sm_to_sm_rate/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(sm_to_sm_rate);

enum {
    STREAM,
    PER_SM,
    READ,
    OVER_PIN,
    ROUND,
    CLUSTER_SMS,
    DOMAINS,
    LONE,
    PAIRED,
    DOMAIN_OF,
};
static const struct probe_metric metrics[] = {
    [STREAM] = {"stream", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "op,size,active",
        .what = "rate of moving data between shared memories of a cluster, all blocks together"},
    [PER_SM] = {"stream_per_sm", "bytes/cycle", PROBE_HIGHER, .keys = "op,size,active",
        .what = "the same for each SM that moves data"},
    [READ] = {"handoff_read", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "from,slab",
        .what = "rate at which all SMs read what SMs have just written"},
    [OVER_PIN] = {"handoff_over_pin", "ratio", PROBE_HIGHER, .keys = "from,slab",
        .what = "the same over the rate at the pins of the device memory"},
    [ROUND] = {"handoff_round", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "from,slab", .what = "a whole round: write, barrier, read, barrier"},
    [CLUSTER_SMS] = {"cluster_sms", "count", PROBE_HIGHER, .keys = "size",
        .what = "SMs that can be in clusters of this size at a time, one block each"},
    [DOMAINS] = {"domains", "count", PROBE_EXACT,
        .what = "sets of SMs that share clusters of more than two blocks"},
    [LONE] = {"lone_sms", "count", PROBE_EXACT, .what = "SMs that are in no such set"},
    [PAIRED] = {"paired", "ratio", PROBE_EXACT,
        .what = "share of the clusters of two blocks that lie on SMs 2k and 2k + 1"},
    [DOMAIN_OF] = {"domain_of_sm", "count", PROBE_EXACT, .what = "the least SM of each SM's set"},
};

enum {
    TURNS = 64,
    ROUNDS = 24,
    STREAM_SHARED = WINDOW_BYTES + CHUNK_BYTES,
    BUDGET_NS = 20000000,
    CLUSTER_MOST = 16,
};

enum op { OP_READ, OP_WRITE, OP_BULK, N_OPS };
static const char *const op_names[N_OPS] = {"read", "write", "bulk"};

struct mover {
    cudaKernel_t stream[N_OPS], slab; /* stream: NULL without clusters */
    size_t shared;                    /* enough that an SM holds one block */
    uint32_t *errors, *sm, seed;
    uint64_t *cycles, *host_cycles;   /* of every block */
    struct grid_barrier_state *barrier;
};

static struct mover prepare(struct probe_run *r)
{
    static const char *const names[N_OPS] = {"sm_to_sm_rate_read", "sm_to_sm_rate_write",
                                             "sm_to_sm_rate_bulk"};
    const struct gpu_facts *gpu = gpu_facts(r);
    struct mover m = {.shared = gpu->shared_per_sm / 2, .seed = (uint32_t)probe_seed(r)};

    if (m.shared < STREAM_SHARED)
        m.shared = STREAM_SHARED;
    for (int op = 0; op < N_OPS; op++) {
        m.stream[op] = gpu_kernel_if_any(r, &image_sm_to_sm_rate, names[op],
                                         sizeof(struct stream_args));
        if (m.stream[op]) {
            gpu_kernel_shared(m.stream[op], m.shared, 100);
            gpu_kernel_clusters(m.stream[op]);
        }
    }
    m.slab = gpu_kernel(r, &image_sm_to_sm_rate, "sm_to_sm_rate_slab", sizeof(struct slab_args));
    gpu_kernel_shared(m.slab, gpu->shared_per_sm / 2, 100);
    m.errors = gpu_alloc(r, sizeof *m.errors, "a count of errors");
    m.sm = gpu_alloc(r, (size_t)gpu->n_sm * sizeof *m.sm, "the census");
    m.cycles = gpu_alloc(r, (size_t)gpu->n_sm * sizeof *m.cycles, "cycles");
    m.host_cycles = probe_host_alloc(r, (size_t)gpu->n_sm * sizeof *m.host_cycles);
    m.barrier = gpu_alloc(r, sizeof *m.barrier, "a barrier");
    CUDA(cudaMemsetAsync(m.errors, 0, sizeof *m.errors, gpu_stream(r)));
    CUDA(cudaMemsetAsync(m.barrier, 0, sizeof *m.barrier, gpu_stream(r)));
    return m;
}

static void check_errors(struct probe_run *r, const struct mover *m)
{
    uint32_t errors;
    gpu_to_host(r, &errors, m->errors, sizeof errors);
    probe_require(r, errors == 0, "what was read is what was written (%u threads found otherwise)",
                  errors);
    CUDA(cudaMemsetAsync(m->errors, 0, sizeof *m->errors, gpu_stream(r)));
}

/* --- streams ---------------------------------------------------------------------------------- */

/* Was every block on an SM of its own? */
static void check_census(struct probe_run *r, const struct mover *m, uint32_t blocks)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t *sm = probe_host_alloc(r, n_sm * sizeof *sm);
    char *seen = calloc(n_sm, 1);
    bool alone = seen != NULL;

    gpu_to_host(r, sm, m->sm, n_sm * sizeof *sm);
    for (uint32_t i = 0; i < blocks && alone; i++) {
        alone = sm[i] < n_sm && !seen[sm[i]];
        if (alone)
            seen[sm[i]] = 1;
    }
    probe_require(r, alone, "%u blocks on %u SMs", blocks, blocks);
    free(seen);
    free(sm);
}

static void measure_stream(struct probe_run *r, struct mover *m, unsigned flags, enum op op,
                           uint32_t size, bool one)
{
    uint32_t clusters = gpu_clusters_at_once(m->stream[op], RATE_THREADS, m->shared, size);
    struct stream_args a = {.errors = m->errors, .sm = m->sm, .budget_ns = BUDGET_NS};
    struct gpu_shape shape = {.grid = {size * clusters, 1, 1},
                              .block = RATE_THREADS,
                              .shared = m->shared,
                              .cluster = size};
    uint32_t movers = one ? 1 : size * clusters;
    double mhz, sum_mhz = 0, launches = 0;

    if (clusters == 0 || !probe_begin_case(r, flags, "op=%s,size=%u,active=%s", op_names[op], size,
                                           one ? "one" : "all"))
        return;
    a.active = one ? 1 : clusters;
    a.movers = one ? 1 : size;
    for (uint32_t pass = 0; probe_more(r); pass++)
        for (uint32_t i = 0; i < 2; i++) {
            a.turns = (pass + i) % 2 ? 2 * TURNS : TURNS;
            a.seed = m->seed++;
            double ns = gpu_launch_clocked_ns(r, m->stream[op], &shape, &a, &mhz);
            probe_sample(r, STREAM, (double)a.turns * WINDOW_BYTES * movers, ns);
            sum_mhz += mhz;
            launches++;
        }
    double rate = probe_median(r, STREAM);
    if (isfinite(rate))
        probe_value(r, PER_SM, rate / movers / (sum_mhz / launches * 1e6));
    check_errors(r, m);
    check_census(r, m, shape.grid.x);
    probe_fact(r, "clusters", "%u", clusters);
    probe_fact(r, "sms", "%u of %d", shape.grid.x, gpu_facts(r)->n_sm);
}

/* --- slabs ------------------------------------------------------------------------------------ */

/* The time in ns that the blocks spent reading, by their own clocks: the mean. */
static double reading_ns(struct probe_run *r, const struct mover *m, unsigned blocks, double mhz)
{
    double sum = 0;

    gpu_to_host(r, m->host_cycles, m->cycles, blocks * sizeof *m->cycles);
    for (unsigned i = 0; i < blocks; i++)
        sum += (double)m->host_cycles[i];
    return sum / blocks * 1e3 / mhz;
}

/* The rate of reading, by slope over half a slab and all of it, and the time of whole rounds. The
 * three take turns in coming first in a pass. */
static void sample_slabs(struct probe_run *r, struct mover *m, struct slab_args *a,
                         const struct gpu_shape *shape, uint32_t pass)
{
    static const struct {
        uint32_t halves, times;
    } work[3] = {{1, 1}, {2, 1}, {2, 2}};
    uint32_t rounds = a->rounds;
    double bytes = (double)a->slab / 2 * rounds * shape->grid.x, mhz;

    for (uint32_t i = 0; i < 3; i++) {
        uint32_t halves = work[(pass + i) % 3].halves, times = work[(pass + i) % 3].times;
        a->seed = m->seed++;
        a->taken = a->slab / 2 * halves;
        a->rounds = rounds * times;
        double ns = gpu_launch_clocked_ns(r, m->slab, shape, a, &mhz);
        if (times == 1)
            probe_sample(r, READ, bytes * halves, reading_ns(r, m, shape->grid.x, mhz));
        if (halves == 2)
            probe_sample(r, ROUND, a->rounds, ns);
    }
    a->rounds = rounds;
}

static void measure_slab(struct probe_run *r, struct mover *m, const char *from, const char *name,
                         size_t slab)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    bool large = !strcmp(name, "4xl2");
    struct slab_args a = {.barrier = m->barrier,
                          .errors = m->errors,
                          .sm = m->sm,
                          .cycles = m->cycles,
                          .rounds = large ? 1 : ROUNDS,
                          .slab = (uint32_t)slab,
                          .shift = !strcmp(from, "own") ? 0 : 1,
                          .budget_ns = BUDGET_NS};
    struct gpu_shape shape = {.grid = {(unsigned)gpu->n_sm, 1, 1},
                              .block = RATE_THREADS,
                              .shared = gpu->shared_per_sm / 2,
                              .cooperative = true};
    uint32_t aborted;

    if (!probe_begin_case(r, PROBE_THRICE | (large ? PROBE_POWER_BOUND : 0), "from=%s,slab=%s",
                          from, name))
        return;
    a.slabs = gpu_alloc(r, slab * (size_t)gpu->n_sm, "the slabs");
    for (uint32_t pass = 0; probe_more(r); pass++) {
        if (!strcmp(from, "any"))
            a.shift = 1 + m->seed % (shape.grid.x - 1);
        sample_slabs(r, m, &a, &shape, pass);
    }
    double rate = probe_median(r, READ);
    if (isfinite(rate))
        probe_value(r, OVER_PIN, rate / gpu->pin_rate);
    gpu_to_host(r, &aborted, &m->barrier->aborted, sizeof aborted);
    probe_require(r, !aborted, "every block came to every barrier");
    check_errors(r, m);
    check_census(r, m, shape.grid.x);
    probe_fact(r, "slab_bytes", "%zu", slab);
    probe_fact(r, "footprint_bytes", "%zu", slab * (size_t)gpu->n_sm);
    probe_fact(r, "pin_rate", "%.4g", gpu->pin_rate);
    gpu_release(r, a.slabs);
}

static void measure_slabs(struct probe_run *r, struct mover *m)
{
    static const size_t kib[] = {128, 192};
    const struct gpu_facts *gpu = gpu_facts(r);
    size_t n_sm = (size_t)gpu->n_sm, most = 0;
    char name[24];

    for (size_t i = 0; i < PROBE_LENGTH(kib); i++) {
        size_t slab = kib[i] << 10;
        if (slab * n_sm > gpu->l2_bytes / 2)
            continue;
        snprintf(name, sizeof name, "%zu", slab);
        measure_slab(r, m, "next", name, slab);
        most = slab;
    }
    if (most > 0) {
        snprintf(name, sizeof name, "%zu", most);
        measure_slab(r, m, "any", name, most);
        measure_slab(r, m, "own", name, most);
    }
    size_t large = 4 * gpu->l2_bytes / n_sm / (2 * RATE_ROW) * (2 * RATE_ROW);
    measure_slab(r, m, "next", "4xl2", large);
}

/* --- who sits where --------------------------------------------------------------------------- */

/* A set of SMs has the name of its least member. */
static size_t set_of(const double *parent, size_t sm)
{
    while (parent[sm] != (double)sm)
        sm = (size_t)parent[sm];
    return sm;
}

/* Merges the sets of two SMs. */
static void unite(double *parent, size_t a, size_t b)
{
    a = set_of(parent, a);
    b = set_of(parent, b);
    parent[a > b ? a : b] = (double)(a < b ? a : b);
}

/* Launches clusters of one size; sm gets the SM of every block. Returns the number of blocks. */
static uint32_t census(struct probe_run *r, struct mover *m, uint32_t size, uint32_t *sm)
{
    struct stream_args a = {.errors = m->errors, .sm = m->sm};
    cudaKernel_t kernel = m->stream[OP_WRITE];
    uint32_t blocks = size * gpu_clusters_at_once(kernel, RATE_THREADS, m->shared, size);
    struct gpu_shape shape = {.grid = {blocks, 1, 1},
                              .block = RATE_THREADS,
                              .shared = m->shared,
                              .cluster = size};
    if (blocks > 0) {
        gpu_launch_shape(r, kernel, &shape, &a);
        gpu_to_host(r, sm, m->sm, blocks * sizeof *sm);
    }
    for (uint32_t i = 0; i < blocks; i++)
        if (sm[i] >= (uint32_t)gpu_facts(r)->n_sm)
            probe_fail(r, "a block says SM %u of %d", sm[i], gpu_facts(r)->n_sm);
    return blocks;
}

static void report_domains(struct probe_run *r, const double *set, size_t n_sm)
{
    char text[256] = "";
    size_t domains = 0, lone = 0, used = 0;

    for (size_t i = 0; i < n_sm; i++) {
        size_t members = 0;
        for (size_t j = i; j < n_sm && set[i] == (double)i; j++)
            members += set[j] == (double)i;
        if (members > 2) {
            domains++;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", used ? " " : "",
                                     members);
        } else {
            lone += members;
        }
        if (used >= sizeof text)
            break;
    }
    probe_value(r, DOMAINS, (double)domains);
    probe_value(r, LONE, (double)lone);
    probe_fact(r, "sms_of_domains", "%s", text);
    probe_grid(r, DOMAIN_OF, (struct probe_axis){"row", 1, NULL},
               (struct probe_axis){"sm", n_sm, NULL}, set);
}

static void measure_domains(struct probe_run *r, struct mover *m)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t blocks, paired = 0;

    if (!probe_begin_case(r, PROBE_TWICE, PROBE_NO_KEYS))
        return;
    double *set = probe_host_alloc(r, n_sm * sizeof *set);
    uint32_t *sm = probe_host_alloc(r, n_sm * sizeof *sm);
    for (size_t i = 0; i < n_sm; i++)
        set[i] = (double)i;
    blocks = census(r, m, 2, sm);
    for (uint32_t i = 0; i < blocks; i += 2)
        paired += sm[i] / 2 == sm[i + 1] / 2;
    if (blocks > 0)
        probe_value(r, PAIRED, 2.0 * paired / blocks);
    for (uint32_t size = 2; size <= CLUSTER_MOST; size++) {
        blocks = census(r, m, size, sm);
        for (uint32_t i = 0; i < blocks; i++)
            unite(set, sm[i], sm[i / size * size]);
    }
    for (size_t i = 0; i < n_sm; i++)
        set[i] = (double)set_of(set, i);
    report_domains(r, set, n_sm);
    free(set);
    free(sm);
}

static void measure(struct probe_run *r)
{
    struct mover m = prepare(r);

    for (uint32_t size = 2; size <= CLUSTER_MOST && m.stream[OP_READ]; size *= 2) {
        for (enum op op = OP_READ; op < N_OPS; op++) {
            unsigned flags = op == OP_BULK && !probe_is_check_run(r) ? PROBE_DEEP : PROBE_THRICE;
            const bool is_shown = op == OP_READ && size == 2; /* the others are a curve */
            measure_stream(r, &m, is_shown ? 0 : flags, op, size, false);
            measure_stream(r, &m, size == 2 ? flags : PROBE_DEEP, op, size, true);
        }
        if (probe_begin_case(r, PROBE_TWICE, "size=%u", size))
            probe_value(r, CLUSTER_SMS,
                        size * gpu_clusters_at_once(m.stream[OP_READ], RATE_THREADS, m.shared,
                                                    size));
    }
    measure_slabs(r, &m);
    if (m.stream[OP_WRITE])
        measure_domains(r, &m);
}

const struct probe probe = {
    .name = "sm_to_sm_rate",
    .what = "At what rate do SMs hand data to each other, and which can do so directly?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
