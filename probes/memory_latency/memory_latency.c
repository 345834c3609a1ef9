/* memory_latency: how long does one dependent load take, from each level of the memory?
 *
 * Method. A pointer chase: one thread follows a ring of absolute pointers, one in each 128-byte
 * line, in pseudo-random order, so that each load's address is the value of the load before. (The
 * order is that of core/permute.h: made in milliseconds, and no prefetcher can follow it.) The SM's
 * cycle counter is read three times, around stretches of 32 and 64 loads. The latency is the slope,
 * (T_64 - T_32) / 32, which removes the cost of the clock reads and of the loop. An instruction
 * uses the value of the last load before each closing clock read; otherwise that load would not be
 * timed. The levels:
 *     shared  a 16 KiB ring in shared memory
 *     l1      a 16 KiB ring, ld.global.ca, walked once before
 *     l2      a 4 MiB ring, ld.global.cg (not in L1), walked before
 *     hbm     a ring of 4 x L2, ld.global.cg, never walked before: the device memory
 * The curve goes over footprints from 4 KiB to 2 GiB, by ld.global.ca; the report derives
 * capacities from its plateaus. It is measured in three rounds, and in every one at 11 to 15
 * footprints, on the plateaus and where capacities are expected to end by what the GPU states. A
 * footprint that can stay in a cache is first walked three times by 256 threads of the same SM, in
 * the order of the chase. Each chase continues where the last one stopped. The same SM (%smid 0)
 * chases in every launch. Second method: the cycles of a launch divided by all its loads must equal
 * the slope plus the cost of the loop; every run checks that.
 *
 * `async` follows the same rings by asynchronous copies. A step copies 16 bytes of the line into
 * shared memory, waits, and reads the next address there. cp_async_ca is cp.async through the L1,
 * cp_async is cp.async past it, and bulk is cp.async.bulk (TMA without a tensor map) with an
 * mbarrier. A step is thus the copy plus one load from shared memory, as for any program that uses
 * its data.
 *
 * `constant` follows a ring in constant memory by ld.const with the address in a register, one
 * entry in each 64 bytes. constant_miss has one entry in each 256 bytes and is the first lap after
 * the ring was written, so the entries are in the L2. There each side of the L2 is measured
 * separately (common/home.cu finds the home of a line), by stretches of 8 and 16 loads, as a side
 * has few of the lines.
 *
 * Inside the timed region: the loads, and at most three other instructions (tests/kernels). For
 * async, the instructions of a copy, of its group or barrier, and of the wait: 6 to 13 per step.
 * Expected on Hopper: shared 23 to 30 cycles, l1 32 to 34, l2 250 to 290, hbm 280 to 380 ns. async:
 * 75 cycles from the L1; from the L2 and beyond 35 to 50 more than a load. Constants: 28 cycles up
 * to 2 KiB, then 93 to 104 depending on the SM (98 to 104 on SM 0, by card), because the outer
 * cache is outside the SMs; from the L2, by card, 303 to 311 near and 486 to 495 far, 26 to 35 more
 * than a load by the thread. Cycles are meaningful inside the SM only; beyond it, quote ns. ns =
 * cycles divided by the SM clock of the same launch, which is read at edges of %globaltimer.
 *
 * Traps. One byte of shared memory in the kernel takes 8 KiB from the L1: the kernels that load
 * from global memory use none, and ask for a carve-out of zero. Device memory is measured on a
 * compact ring that is still larger than 3x the L2: the curve's tail and memory_map show what TLB
 * misses add. A ring just built is in the L2, dirty: the probe sweeps it out. Between the two
 * capacities of a partitioned L2 the curve is a mixture and not a level: memory_map separates the
 * sides. */
#include "probes/memory_latency/args.h"

#include <math.h>
#include <stdlib.h>

#include "core/gpu.h"
#include "probes/common/home.h"

PROBE_IMAGE(memory_latency);
PROBE_IMAGE(home);

enum {
    LOAD, LOAD_TIME, ASYNC, ASYNC_TIME, CONSTANT, CONSTANT_MISS, CURVE, CURVE_TIME, CONTROL,
};
static const struct probe_metric metrics[] = {
    [LOAD] = {"load", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "level",
        .what = "dependent load from this level, in cycles of the SM clock"},
    [LOAD_TIME] = {"load_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "level", .what = "the same in ns"},
    [ASYNC] = {"async", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "level,path",
        .what = "the same step by an asynchronous copy of 16 bytes, its read from shared included"},
    [ASYNC_TIME] = {"async_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "level,path", .what = "the same in ns"},
    [CONSTANT] = {"constant", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "bytes,spacing",
        .what = "dependent load of a constant, from a ring of this footprint"},
    [CONSTANT_MISS] = {"constant_miss", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "bytes,spacing,side",
        .what = "the same on the first lap: from this side of the L2, in no constant cache"},
    [CURVE] = {"curve", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "bytes",
        .what = "dependent load from a ring of this footprint"},
    [CURVE_TIME] = {"curve_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "bytes", .what = "the same in ns"},
    [CONTROL] = {"control", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "path",
        .what = "the 16 KiB ring through L2 only: must not read like an L1 hit"},
};

static const struct probe_parameter parameters[] = {
    {.name = "max_bytes", .standard = (int64_t)2 << 30, .min = 1 << 20, .max = INT64_MAX,
     .what = "largest footprint of the curve"},
    {.name = "repeats", .standard = 32, .min = 1, .max = 4096,
     .what = "pairs of timed stretches in a launch: 97 loads each"},
};

enum {
    SM = 0,
    RING_BYTES = 16 << 10, /* fits every L1 */
    L2_RING_BYTES = 4 << 20,
    REWARM_BYTES = 2 << 20, /* up to here L1 matters; every launch empties it */
    LAPS = 3,
    CONSTANT_SPACING = 64, /* bytes between constants of a ring: a line of the inner cache */
    CONSTANT_LINE = 256,   /* and of the outer cache */
    CONSTANT_BYTES = CHASE_CONSTANTS * sizeof(uint32_t),
};

enum kind {
    BY_L1, BY_L2, BY_SHARED, BY_CONSTANT, BY_MISS, BY_CP_ASYNC_CA, BY_CP_ASYNC, BY_BULK, N_KINDS,
};

struct chaser {
    cudaKernel_t kernel[N_KINDS], ring_kernel;
    char *ring;
    size_t room;
    int repeats;
    struct chase_sample *samples, *copied; /* device, host: repeats of them */
    struct chase_result *result;  /* mapped */
    uint32_t *claim, ticket;
    uint64_t *constants; /* mapped: where_args.out */
    uint64_t strayed;    /* launches of the case whose chase ended at a wrong place */
};

/* The progress of one case's chase: its ring, and the address at which the next launch
 * continues. */
struct walk {
    enum kind kind;
    struct permutation order;
    int repeats;
    bool rewarm;        /* walk the ring before every launch; else before the first only */
    uint64_t warm_laps; /* 0: the ring must be cold */
    uint64_t at, steps; /* steps: how many steps of the ring come before that address */
    uint64_t origin, spacing; /* line i of memory is at origin + i x spacing */
    const uint64_t *lines;    /* the lines of the ring; NULL: the first order.n */
};

/* The address that a chase reaches after the given number of steps from the ring's first line. */
static uint64_t address_of(const struct walk *w, uint64_t steps)
{
    uint64_t line = permute(w->order, steps % w->order.n);
    return w->origin + (w->lines ? w->lines[line] : line) * w->spacing;
}

static struct chaser prepare(struct probe_run *r)
{
    static const char *const names[] = {"memory_latency_l1",          "memory_latency_l2",
                                        "memory_latency_shared",      "memory_latency_constant",
                                        "memory_latency_constant_miss",
                                        "memory_latency_cp_async_ca", "memory_latency_cp_async",
                                        "memory_latency_bulk"};
    const struct gpu_facts *gpu = gpu_facts(r);
    size_t widest = (size_t)probe_parameter(r, "max_bytes"), cold = 4 * gpu->l2_bytes;
    struct chaser c = {0};

    if (!probe_parameter_given(r, "max_bytes") && widest > gpu->free_bytes / 2)
        widest = gpu->free_bytes / 2;
    for (int i = 0; i < N_KINDS; i++) {
        c.kernel[i] = (i < BY_CP_ASYNC_CA ? gpu_kernel : gpu_kernel_if_any)(
            r, &image_memory_latency, names[i], sizeof(struct chase_args));
        if (c.kernel[i])
            gpu_kernel_shared(c.kernel[i], 0, i == BY_SHARED ? -1 : 0);
    }
    c.ring_kernel =
        gpu_kernel(r, &image_memory_latency, "memory_latency_ring", sizeof(struct ring_args));
    c.room = widest > cold ? widest : cold;
    c.ring = gpu_alloc(r, c.room, "--set max_bytes: a ring");
    c.repeats = (int)probe_parameter(r, "repeats");
    c.samples = gpu_alloc(r, (size_t)c.repeats * sizeof *c.samples, "samples");
    c.copied = probe_host_alloc(r, (size_t)c.repeats * sizeof *c.copied);
    c.claim = gpu_alloc(r, sizeof *c.claim, "a claim");
    c.result = gpu_mapped(r, sizeof *c.result);
    c.constants = gpu_mapped(r, 2 * sizeof *c.constants);
    gpu_launch(r, gpu_kernel(r, &image_memory_latency, "memory_latency_where",
                             sizeof(struct where_args)),
               1, 1, 0, &(struct where_args){c.constants});
    gpu_wait(r);
    return c;
}

/* Follows a ring that was copied to the host. It must visit every line once and return to the
 * start. */
static void check_ring(struct probe_run *r, const struct chaser *c, uint64_t lines)
{
    size_t bytes = lines * CHASE_SPACING;
    char *copy = probe_host_alloc(r, bytes), *seen = calloc(lines, 1);
    uint64_t line = 0, visited = 0;

    gpu_to_host(r, copy, c->ring, bytes);
    while (seen && line < lines && !seen[line]) {
        seen[line] = 1;
        visited++;
        uint64_t next = *(const uint64_t *)(const void *)(copy + line * CHASE_SPACING);
        line = (next - (uint64_t)(uintptr_t)c->ring) / CHASE_SPACING;
    }
    probe_require(r, visited == lines && line == 0, "the ring of %zu bytes visits every line once",
                  bytes);
    free(seen);
    free(copy);
}

/* Builds the ring of a case in device memory, and sweeps it out of the L2. */
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
                         .repeats = c->repeats,
                         .rewarm = bytes <= REWARM_BYTES,
                         .warm_laps = fits_some_cache ? LAPS : 0,
                         .origin = (uint64_t)(uintptr_t)c->ring,
                         .spacing = CHASE_SPACING};
}

/* Builds a ring in constant memory, from its second word on: no line may have the address 0,
 * because as the end of a chase 0 means that no chase ran. `lines` are addresses in global
 * memory. */
static struct walk ring_of_constants(struct probe_run *r, const struct chaser *c,
                                     struct permutation order, const uint64_t *lines,
                                     uint64_t warm_laps)
{
    struct walk w = {.kind = lines ? BY_MISS : BY_CONSTANT,
                     .order = order,
                     .repeats = c->repeats,
                     .rewarm = true,
                     .warm_laps = warm_laps,
                     .origin = c->constants[1] + sizeof(uint32_t) - (lines ? c->constants[0] : 0),
                     .spacing = lines ? 1 : CONSTANT_SPACING,
                     .lines = lines};
    uint32_t words[CHASE_CONSTANTS] = {0};

    for (uint64_t i = 0; i < order.n; i++)
        words[(address_of(&w, i) - c->constants[1]) / sizeof *words] =
            (uint32_t)address_of(&w, i + 1);
    gpu_to_device(r, (void *)(uintptr_t)c->constants[0], words, sizeof words);
    w.at = address_of(&w, 0);
    return w;
}

/* One launch: warms up as the walk asks, chases, and copies its samples to the host. */
static void chase(struct probe_run *r, struct chaser *c, struct walk *w)
{
    struct chase_args a = {.ring = (char *)(uintptr_t)w->origin,
                           .order = w->order,
                           .start = w->at,
                           .warm_laps = w->rewarm || w->at == 0 ? w->warm_laps : 0,
                           .samples = c->samples,
                           .result = c->result,
                           .claim = c->claim,
                           .sm = SM,
                           .repeats = (uint32_t)w->repeats};
    uint64_t steps = (uint64_t)w->repeats * (w->kind == BY_MISS ? MISS_LOADS : CHASE_LOADS);

    chase_launch(r, c->kernel[w->kind], CHASE_THREADS, &a, &a.ticket, &c->ticket, c->result);
    gpu_to_host(r, c->copied, c->samples, (size_t)w->repeats * sizeof *c->copied);
    w->steps = (w->rewarm ? 0 : w->steps) + steps;
    w->at = w->rewarm ? a.start : c->result->end;
    c->strayed += c->result->end != address_of(w, w->steps);
}

/* Known answer: after that number of steps from its start, the ring must have led to this
 * address. */
static void check_ends(struct probe_run *r, struct chaser *c)
{
    probe_require(r, c->strayed == 0, "%llu chases of the case ended elsewhere than the ring says",
                  (unsigned long long)c->strayed);
    c->strayed = 0;
}

/* Second method: the cycles of a launch divided by all its loads. This can only be more than the
 * slope, by at most the cost of the clock reads and the loop. */
static void check_whole(struct probe_run *r, const struct chaser *c, double slope)
{
    double cycles = (double)(c->result->tail.cycles - c->result->lead.cycles);
    double each = cycles / (c->repeats * CHASE_LOADS);
    if (isfinite(slope))
        probe_require(r, each > 0.9 * slope && each < 1.1 * slope + 4,
                      "whole launch %.1f cycles a load, slope %.1f", each, slope);
}

static void measure_walk(struct probe_run *r, struct chaser *c, struct walk w, int in_cycles,
                         int in_ns)
{
    while (probe_more(r)) {
        chase(r, c, &w);
        chase_hand_over(r, c->result, c->copied, (size_t)w.repeats, in_cycles, in_ns);
    }
    check_ends(r, c);
    probe_fact(r, "sm", "%d", SM);
}

static void measure_level(struct probe_run *r, struct chaser *c, const char *level, enum kind kind,
                          size_t bytes)
{
    if (!probe_begin_case(r, 0, "level=%s", level))
        return;
    struct walk shared = {.kind = BY_SHARED,
                          .order = permutation_of(CHASE_WORDS, probe_seed(r)),
                          .repeats = c->repeats,
                          .rewarm = true,
                          .origin = SHARED_ORIGIN,
                          .spacing = sizeof(uint32_t)};
    struct walk w = kind == BY_SHARED ? shared : ring_of(r, c, kind, bytes);
    measure_walk(r, c, w, LOAD, LOAD_TIME);
    check_whole(r, c, probe_median(r, LOAD));
    probe_fact(r, "footprint_bytes", "%zu", bytes);
}

/* Left out if the GPU has no such copies: cp.async came with 8.0, bulk copies with 9.0. */
static void measure_async(struct probe_run *r, struct chaser *c, const char *level,
                          const char *path, enum kind kind, size_t bytes)
{
    if (!c->kernel[kind] || !probe_begin_case(r, 0, "level=%s,path=%s", level, path))
        return;
    measure_walk(r, c, ring_of(r, c, kind, bytes), ASYNC, ASYNC_TIME);
    check_whole(r, c, probe_median(r, ASYNC));
    probe_fact(r, "footprint_bytes", "%zu", bytes);
}

static void measure_constants(struct probe_run *r, struct chaser *c, size_t bytes, unsigned flags)
{
    struct permutation order = permutation_of(bytes / CONSTANT_SPACING, probe_seed(r) + bytes);
    if (probe_begin_case(r, flags, "bytes=%zu,spacing=%d", bytes, CONSTANT_SPACING))
        measure_walk(r, c, ring_of_constants(r, c, order, NULL, LAPS), CONSTANT, -1);
}

/* The lines of the constants, by the side of their homes. A thousand lines at random places of
 * device memory show what is near and what is far. */
static struct home_sides *find_homes(struct probe_run *r, const struct chaser *c)
{
    enum { OTHERS = 1024, LINES = CONSTANT_BYTES / CONSTANT_LINE };
    struct home home = home_prepare(r, &image_home, SM);
    uint64_t line[OTHERS], lines = c->room / CHASE_SPACING, seed = probe_seed(r);

    for (uint64_t i = 0; i < OTHERS; i++)
        line[i] = (uint64_t)(uintptr_t)c->ring +
                  permute_round(i, seed, INT64_MAX) % lines * CHASE_SPACING;
    double border = home_part(r, &home, line, OTHERS, NAN)->border;
    for (uint64_t i = 0; i < LINES; i++)
        line[i] = c->constants[0] + i * CONSTANT_LINE;
    return home_part(r, &home, line, LINES, border);
}

/* Every pass uses other lines in another order, written anew before. */
static void measure_constant_miss(struct probe_run *r, struct chaser *c,
                                  const struct home_sides *s, int side)
{
    size_t n = s->n[side];
    int most = (int)(n / MISS_LOADS);

    if (!probe_begin_case(r, 0, "bytes=%zu,spacing=%d,side=%s", (size_t)CONSTANT_BYTES,
                          CONSTANT_LINE, side == FAR ? "far" : "near"))
        return;
    if (most == 0) {
        probe_missing(r, CONSTANT_MISS, "too few lines of constant memory have their home there");
        return;
    }
    for (uint64_t pass = 0; probe_more(r); pass++) {
        struct permutation order = permutation_of(n, probe_seed(r) + pass);
        struct walk w = ring_of_constants(r, c, order, s->line[side], 0);
        w.repeats = c->repeats < most ? c->repeats : most;
        chase(r, c, &w);
        chase_clock(r, c->result);
        for (int i = 0; i < w.repeats; i++) {
            probe_sample(r, CONSTANT_MISS, MISS_SHORT, (double)c->copied[i].short_cycles);
            probe_sample(r, CONSTANT_MISS, MISS_LONG, (double)c->copied[i].long_cycles);
        }
    }
    check_ends(r, c);
    probe_fact(r, "sm", "%d", SM);
    probe_fact(r, "lines", "%zu of %zu", n, s->n[NEAR] + s->n[FAR]);
}

static void measure_all_constants(struct probe_run *r, struct chaser *c)
{
    const struct home_sides *sides = find_homes(r, c);

    for (int i = 0; chase_half_octave(4, i) * CONSTANT_SPACING <= CONSTANT_BYTES; i++) {
        size_t bytes = chase_half_octave(4, i) * CONSTANT_SPACING;
        bool always = bytes == 1 << 10 || bytes == 16 << 10;
        measure_constants(r, c, bytes, always ? 0 : PROBE_THRICE);
    }
    measure_constant_miss(r, c, sides, NEAR);
    measure_constant_miss(r, c, sides, FAR);
}

/* Footprints of the curve: eight per octave near the capacities of today's L1s and L2s, two per
 * octave elsewhere; whole lines. */
static size_t next_footprint(size_t bytes)
{
    bool knees =
        (bytes >= 64 << 10 && bytes < 512 << 10) || (bytes >= 2 << 20 && bytes < (size_t)128 << 20);
    double next = (double)bytes * exp2(knees ? 1.0 / 8 : 1.0 / 2);
    return (size_t)(next / CHASE_SPACING + 0.5) * CHASE_SPACING;
}

/* Steps of half and eighth octaves. Every power of two is exact, without rounding. */
static size_t snapped(size_t bytes)
{
    size_t power = (size_t)exp2(round(log2((double)bytes)));
    double ratio = (double)bytes / (double)power;
    return ratio > 0.99 && ratio < 1.01 ? power : bytes;
}

static bool is_between(size_t bytes, double low, double high)
{
    return (double)bytes >= low && (double)bytes <= high;
}

/* Is this footprint, with `before` the last one, one of every round? The L1 is what shared memory
 * leaves and 28 KiB more (from compute capability 8.0 on), and its sets overflow below that; half
 * of an L2 may be near. Between lie plateaus: the first footprint from some size on shows each.
 * 16 KiB is also claim C11's: L1 twice. */
static bool is_frequent(const struct probe_run *r, size_t before, size_t bytes)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    const double l1 = (double)gpu->shared_per_sm + (28 << 10), l2 = (double)gpu->l2_bytes;
    const double plateaus[] = {RING_BYTES, 2 * l1, 0.68 * l2, 2 * l2};

    for (size_t i = 0; i < PROBE_LENGTH(plateaus); i++)
        if ((double)before < plateaus[i] && (double)bytes >= plateaus[i])
            return true;
    return is_between(bytes, 0.74 * l1, 0.95 * l1) || is_between(bytes, 0.41 * l2, 0.545 * l2) ||
           is_between(bytes, 0.82 * l2, 1.09 * l2);
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

    measure_async(r, &c, "l1", "cp_async_ca", BY_CP_ASYNC_CA, RING_BYTES);
    measure_async(r, &c, "l2", "cp_async", BY_CP_ASYNC, l2_ring);
    measure_async(r, &c, "l2", "bulk", BY_BULK, l2_ring);
    measure_async(r, &c, "hbm", "cp_async", BY_CP_ASYNC, 4 * l2);
    measure_async(r, &c, "hbm", "bulk", BY_BULK, 4 * l2);

    measure_all_constants(r, &c);

    if (probe_begin_case(r, 0, "path=l2"))
        measure_walk(r, &c, ring_of(r, &c, BY_L2, RING_BYTES), CONTROL, -1);

    for (size_t before = 0, bytes = 4 << 10; bytes <= c.room;
         bytes = snapped(next_footprint(bytes))) {
        if (bytes > (size_t)probe_parameter(r, "max_bytes"))
            break;
        if (probe_begin_case(r, is_frequent(r, before, bytes) ? 0 : PROBE_THRICE, "bytes=%zu",
                             bytes))
            measure_walk(r, &c, ring_of(r, &c, BY_L1, bytes), CURVE, CURVE_TIME);
        before = bytes;
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
