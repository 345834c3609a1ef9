/* memory_latency: how long does one dependent load take, from each level of the memory?
 *
 * Method. A ring of absolute pointers, one in each 128-byte line, in pseudo-random order; one thread
 * follows it, so that each load's address is the value of the load before. Two stretches of 32 and
 * 64 loads stand between three reads of the SM's cycle counter; the latency is the slope,
 * (T_64 - T_32) / 32, which frees it from the cost of the clock reads and of the loop around them.
 * The value of the last load is used before each closing read, or that load would not be timed at
 * all. The levels:
 *     shared  a 16 KiB ring in shared memory
 *     l1      a 16 KiB ring, ld.global.ca, walked once before
 *     l2      a 4 MiB ring, ld.global.cg (not in L1), walked before
 *     hbm     a ring of 4 x L2, ld.global.cg, never walked before: the device memory
 * and the curve over footprints from 4 KiB to 2 GiB, ld.global.ca, from whose plateaus the report
 * derives capacities. Footprints that can stay in a cache are first walked by 256 threads of the same
 * SM, in the order in which the chase will go; the chase then goes on where it stopped. The same SM
 * (%smid 0) chases in every launch.
 *
 * Inside the timed region: the loads, and at most three other instructions (tests/kernels).
 * Expected on Hopper: 23-30, 32-34, 250-290 cycles, 280-380 ns. Cycles mean something inside the
 * SM only; beyond it, quote ns. ns = cycles over the SM clock of the same launch, which is read at
 * edges of %globaltimer.
 *
 * Traps. One byte of shared memory in the kernel takes 8 KiB from the L1: the kernels for global
 * memory use none, and ask for a carve-out of zero. Device memory is measured on a compact ring,
 * still above 3x the L2: what TLB misses add shows in the curve's tail. A ring just built lies in
 * the L2, dirty: it is swept out. */
#include "probes/memory_latency.h"

#include <math.h>
#include <stdlib.h>

#include "core/gpu.h"

PROBE_IMAGE(memory_latency);
GPU_ARGS_SIZE(struct chase_args, 88);
GPU_ARGS_SIZE(struct ring_args, 32);

enum { LOAD, LOAD_TIME, CURVE, CURVE_TIME, CONTROL };
static const struct probe_metric metrics[] = {
    [LOAD] = {"load", "cycles", PROBE_LOWER, PROBE_SLOPE, NULL, "level",
              "dependent load from this level, in cycles of the SM clock"},
    [LOAD_TIME] = {"load_time", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "level",
                   "the same in ns"},
    [CURVE] = {"curve", "cycles", PROBE_LOWER, PROBE_SLOPE, NULL, "bytes",
               "dependent load from a ring of this footprint"},
    [CURVE_TIME] = {"curve_time", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "bytes",
                    "the same in ns"},
    [CONTROL] = {"control", "cycles", PROBE_LOWER, PROBE_SLOPE, NULL, "path",
                 "the 16 KiB ring through L2 only: must not read like an L1 hit"},
};

static const struct probe_parameter parameters[] = {
    {"max_bytes", (int64_t)2 << 30, 1 << 20, INT64_MAX, "largest footprint of the curve"},
};

enum {
    SM = 0,
    RING_BYTES = 16 << 10, /* inside every L1 */
    L2_RING_BYTES = 4 << 20,
    REWARM_BYTES = 2 << 20, /* up to here L1 matters, and L1 is emptied by every launch */
    LAPS = 3,
    TRIES = 20,
};

enum kind { BY_L1, BY_L2, BY_SHARED, N_KINDS };

struct chaser {
    cudaKernel_t kernel[N_KINDS], ring_kernel;
    char *ring;
    size_t room;
    struct chase_sample *samples; /* device */
    struct chase_result *result;  /* mapped */
    uint32_t *claim, ticket;
};

/* Where one case's chase stands: its ring, and the address at which the next launch goes on. */
struct walk {
    enum kind kind;
    struct permutation order;
    bool rewarm;        /* before every launch, or before the first only */
    uint64_t warm_laps; /* 0: this ring is to be cold */
    uint64_t at;
};

static struct chaser prepare(struct probe_run *r)
{
    static const char *const names[] = {"memory_latency_l1", "memory_latency_l2",
                                        "memory_latency_shared"};
    const struct gpu_facts *gpu = gpu_facts(r);
    size_t widest = (size_t)probe_parameter(r, "max_bytes"), cold = 4 * gpu->l2_bytes;
    struct chaser c = {0};

    if (!probe_parameter_given(r, "max_bytes") && widest > gpu->free_bytes / 2)
        widest = gpu->free_bytes / 2;
    for (int i = 0; i < N_KINDS; i++) {
        c.kernel[i] = gpu_kernel(r, &image_memory_latency, names[i], sizeof(struct chase_args));
        gpu_kernel_shared(c.kernel[i], 0, i == BY_SHARED ? -1 : 0);
    }
    c.ring_kernel =
        gpu_kernel(r, &image_memory_latency, "memory_latency_ring", sizeof(struct ring_args));
    c.room = widest > cold ? widest : cold;
    c.ring = gpu_alloc(r, c.room, "--set max_bytes: a ring");
    c.samples = gpu_alloc(r, CHASE_REPEATS * sizeof *c.samples, "samples");
    c.claim = gpu_alloc(r, sizeof *c.claim, "a claim");
    c.result = gpu_mapped(r, sizeof *c.result);
    return c;
}

/* Follows a ring that was copied to the host: every line once, and back to the start. */
static void check_ring(struct probe_run *r, const struct chaser *c, uint64_t lines)
{
    size_t bytes = lines * CHASE_SPACING;
    char *copy = probe_host_alloc(r, bytes), *seen = calloc(lines, 1);
    uint64_t place = 0, visited = 0;

    gpu_to_host(r, copy, c->ring, bytes);
    while (seen && place < lines && !seen[place]) {
        seen[place] = 1;
        visited++;
        uint64_t next = *(const uint64_t *)(const void *)(copy + place * CHASE_SPACING);
        place = (next - (uint64_t)(uintptr_t)c->ring) / CHASE_SPACING;
    }
    probe_check(r, visited == lines && place == 0, "the ring of %zu bytes visits every line once",
                bytes);
    free(seen);
    free(copy);
}

/* Builds the ring of a case in device memory, and leaves none of it in the L2. */
static struct walk ring_of(struct probe_run *r, const struct chaser *c, enum kind kind,
                           size_t bytes)
{
    uint64_t lines = bytes / CHASE_SPACING;
    bool fits_some_cache = bytes < 3 * gpu_facts(r)->l2_bytes;
    struct ring_args a = {.ring = c->ring, .order = permutation_of(lines, probe_seed(r) + lines)};

    gpu_launch(r, c->ring_kernel, (unsigned)gpu_facts(r)->n_sm * 4, 256, 0, &a);
    if (bytes <= 1 << 20 && probe_in_full(r))
        check_ring(r, c, lines);
    gpu_sweep_l2(r);
    return (struct walk){.kind = kind,
                         .order = a.order,
                         .rewarm = bytes <= REWARM_BYTES,
                         .warm_laps = fits_some_cache ? LAPS : 0};
}

/* One launch: warms as the walk asks, chases, and leaves CHASE_REPEATS samples on the host. */
static void chase(struct probe_run *r, struct chaser *c, struct walk *w,
                  struct chase_sample samples[CHASE_REPEATS])
{
    struct chase_args a = {.ring = w->kind == BY_SHARED ? NULL : c->ring,
                           .order = w->order,
                           .start = w->at,
                           .warm_laps = w->rewarm || w->at == 0 ? w->warm_laps : 0,
                           .samples = c->samples,
                           .result = c->result,
                           .claim = c->claim,
                           .sm = SM,
                           .repeats = CHASE_REPEATS};

    c->result->end = 0;
    for (int i = 0; i < TRIES && c->result->end == 0; i++) {
        a.ticket = ++c->ticket;
        gpu_launch(r, c->kernel[w->kind], (unsigned)gpu_facts(r)->n_sm, CHASE_THREADS, 0, &a);
        gpu_wait(r);
    }
    if (c->result->end == 0)
        probe_fail(r, "no block of %d launches came to run on SM %d", TRIES, SM);
    gpu_to_host(r, samples, c->samples, CHASE_REPEATS * sizeof *samples);
    w->at = w->kind == BY_SHARED || w->rewarm ? 0 : c->result->end;
}

/* Second method: all loads of a launch over all its cycles, which can only be more than the slope,
 * and by no more than the clock reads and the loop cost. */
static void check_whole(struct probe_run *r, const struct chaser *c, double slope)
{
    double cycles = (double)(c->result->tail.cycles - c->result->lead.cycles);
    double each = cycles / (CHASE_REPEATS * (1 + CHASE_SHORT + CHASE_LONG));
    if (isfinite(slope))
        probe_check(r, each > 0.9 * slope && each < 1.1 * slope + 4,
                    "whole launch %.1f cycles a load, slope %.1f", each, slope);
}

static void measure_walk(struct probe_run *r, struct chaser *c, struct walk w, int in_cycles,
                         int in_ns)
{
    struct chase_sample s[CHASE_REPEATS];

    while (probe_more(r)) {
        chase(r, c, &w, s);

        const struct chase_result *at = c->result;
        double ns = (double)(at->tail.ns - at->lead.ns);
        double mhz = 1e3 * (double)(at->tail.cycles - at->lead.cycles) / ns;
        probe_clock(r, mhz);
        for (int i = 0; i < CHASE_REPEATS; i++) {
            double few = (double)s[i].short_cycles, many = (double)s[i].long_cycles;
            probe_sample(r, in_cycles, CHASE_SHORT, few);
            probe_sample(r, in_cycles, CHASE_LONG, many);
            if (in_ns >= 0) {
                probe_sample(r, in_ns, CHASE_SHORT, few * 1e3 / mhz);
                probe_sample(r, in_ns, CHASE_LONG, many * 1e3 / mhz);
            }
        }
    }
    probe_fact(r, "sm", "%d", SM);
}

static void measure_level(struct probe_run *r, struct chaser *c, const char *level, enum kind kind,
                          size_t bytes)
{
    if (!probe_case(r, 0, "level=%s", level))
        return;
    struct walk shared = {.kind = BY_SHARED, .order = permutation_of(CHASE_WORDS, probe_seed(r))};
    struct walk w = kind == BY_SHARED ? shared : ring_of(r, c, kind, bytes);
    if (bytes >= 3 * gpu_facts(r)->l2_bytes)
        w.warm_laps = 0;
    measure_walk(r, c, w, LOAD, LOAD_TIME);
    check_whole(r, c, probe_median(r, LOAD));
    probe_fact(r, "footprint_bytes", "%zu", bytes);
}

/* Footprints of the curve: eight an octave where capacities of today's L1s and L2s lie, two
 * elsewhere; whole lines. */
static size_t next_footprint(size_t bytes)
{
    bool knees =
        (bytes >= 64 << 10 && bytes < 512 << 10) || (bytes >= 2 << 20 && bytes < (size_t)128 << 20);
    double next = (double)bytes * exp2(knees ? 1.0 / 8 : 1.0 / 2);
    return (size_t)(next / CHASE_SPACING + 0.5) * CHASE_SPACING;
}

/* Steps of half and eighth octaves, back on the power of two where rounding left it. */
static size_t snapped(size_t bytes)
{
    size_t power = (size_t)exp2(round(log2((double)bytes)));
    double ratio = (double)bytes / (double)power;
    return ratio > 0.99 && ratio < 1.01 ? power : bytes;
}

static void measure(struct probe_run *r)
{
    struct chaser c = prepare(r);
    size_t l2 = gpu_facts(r)->l2_bytes;
    size_t l2_ring = L2_RING_BYTES < l2 / 4 ? L2_RING_BYTES : l2 / 4;

    measure_level(r, &c, "shared", BY_SHARED, CHASE_WORDS * sizeof(uint32_t));
    measure_level(r, &c, "l1", BY_L1, RING_BYTES);
    measure_level(r, &c, "l2", BY_L2, l2_ring);
    measure_level(r, &c, "hbm", BY_L2, 4 * l2);

    if (probe_case(r, 0, "path=l2"))
        measure_walk(r, &c, ring_of(r, &c, BY_L2, RING_BYTES), CONTROL, -1);

    for (size_t bytes = 4 << 10; bytes <= c.room; bytes = snapped(next_footprint(bytes))) {
        if (bytes > (size_t)probe_parameter(r, "max_bytes"))
            break;
        if (probe_case(r, 0, "bytes=%zu", bytes))
            measure_walk(r, &c, ring_of(r, &c, BY_L1, bytes), CURVE, CURVE_TIME);
    }
}

const struct probe probe = {
    .name = "memory_latency",
    .what = "How long does one dependent load take from shared memory, L1, L2 and device memory?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
