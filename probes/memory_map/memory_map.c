/* memory_map: where is an address located, and what does that cost?
 *
 * Method. Every figure is a dependent chase, or one load, by one thread on a chosen SM. No other SM
 * does anything meanwhile. There are three parts.
 *
 * Sides of the L2. Large GPUs have their L2 in two partitions, and each SM is attached to one of
 * them. A line has a home: the partition in front of its piece of device memory. The map `l2` (SM x
 * line; the lines are drawn at random and sorted by their homes) has as its cells the latencies of
 *     access=atomic  an atomic addition, which is carried out at the line's home;
 *     access=load    a load repeated on the same line (ld.cg, not in L1): the SM's own partition
 *                    keeps a copy of a line from the other side, so this shows no sides at all;
 *     access=fresh   a load right after an atomic, which removes such copies: atomic and load
 *                    together, less the atomic alone. This is what a first read costs.
 * The cells of the atomic map form two clusters with a gap between them, near and far. SMs that
 * have the same lines near form a group. Two groups must explain all but one cell in a hundred,
 * with what is near to one far from the other; if they do not, this method sees only one partition.
 * `load{level,side}` is the same for one SM by slope, on rings whose lines are all on one side:
 * level=l2 far after atomics removed the copies, level=hbm after a sweep of the L2.
 *
 * TLB. `tlb` compares a ring with one line in each of many consecutive pages, at a random place of
 * its page, with the same number of adjacent lines. All of them stay in the L2, so that any growth
 * is due to the translation. Every pass draws the lines anew and puts the adjacent ones at another
 * place. It matters: over 32 lines, their distances to the SM alone make a difference of 5
 * cycles, and 64 adjacent lines have only two or three homes, so that they read 280 to 286 from run
 * to run.
 *
 * What comes along. One load of a cold word, then one load of another word of the same 512 bytes:
 * `fetch` is the latency of the second for each pair of 32-byte sectors, in blocks whose home is
 * near. The sectors that came along with the first make up `fetch_bytes`: for the L1, and for the
 * L2 by each granularity that the driver accepts (cudaLimitMaxL2FetchGranularity). The L1's line is
 * half of the smallest stride at which a ring through 1.6 times the SM's shared memory begins to
 * hit: the ring spans more than the L1 holds, but at that stride it leaves every second line
 * unused, and the others fit.
 *
 * Inside the timed region: the loads or atomics, and at most three other instructions. `fetch`
 * times one load and the clock read after it, about 20 cycles more than a slope.
 * Expected on an H200: 278 and 458 cycles near and far; from device memory 550 to 610 and 730 to
 * 785, depending on the board; 10 cycles more beyond 256 MiB of pages; one line in each 32 MiB
 * beyond 64 GiB 90 more, on one board of three 150. 32 bytes come into the L1, whose lines have
 * 128, and 64 into the L2.
 *
 * Traps. A chase over more than one partition holds thrashes the near one. It mixes far hits with
 * misses of lines whose home is near, so its plateau is not the latency of a far hit (513 against
 * 458 cycles). A load that repeats itself never shows the far side. The compiler turns an atomic on
 * an address that it takes to be uniform into a vote, one atomic and a shuffle. */
#include "probes/memory_map/memory_map.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"
#include "core/permute.h"
#include "core/stat.h"

PROBE_IMAGE(memory_map);
PROBE_IMAGE(home);

static const struct probe_metric metrics[] = {
    [LOAD] = {"load", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "level,side",
        .what = "dependent load from this side of the L2 or of device memory"},
    [LOAD_TIME] = {"load_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "level,side", .what = "the same in ns"},
    [FAR_SHARE] = {"far_share", "ratio", PROBE_LOWER, .keys = "level,side",
        .what = "share of random lines whose home is on the other side"},
    [HOME_BYTES] = {"home_bytes", "bytes", PROBE_EXACT,
        .what = "largest aligned block whose lines all have the same home"},
    [L2] = {"l2", "cycles", PROBE_LOWER, .keys = "access",
        .what = "map of SM x line: an access to the L2, alone on the GPU"},
    [L2_NEAR] = {"l2_near", "cycles", PROBE_LOWER, .keys = "access",
        .what = "its cells whose line has its home in the SM's own partition, median"},
    [L2_FAR] = {"l2_far", "cycles", PROBE_LOWER, .keys = "access",
        .what = "its cells whose line has its home in the other partition, median"},
    [SM_GROUPS] = {"sm_groups", "count", PROBE_EXACT, .keys = "access",
        .what = "groups of SMs, each with its own partition of the L2"},
    [BEST_SM] = {"best_sm", "cycles", PROBE_LOWER, .keys = "access",
        .what = "mean over the lines, of the SM for which it is least"},
    [WORST_SM] = {"worst_sm", "cycles", PROBE_LOWER, .keys = "access",
        .what = "mean over all lines of the SM for which it is most"},
    [TLB] = {"tlb", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "lines,stride",
        .what = "dependent L2 hit, one line in each stride"},
    [TLB_TIME] = {"tlb_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "lines,stride", .what = "the same in ns"},
    [TLB_REACH] = {"tlb_reach", "bytes", PROBE_HIGHER, .keys = "stride",
        .what = "span of the most lines whose pages the first TLB holds, to half an octave"},
    [FETCH] = {"fetch", "cycles", PROBE_LOWER, .keys = "level,limit",
        .what = "map of sector loaded first x sector loaded next, of a cold block: the second "
                "load"},
    [FETCH_BYTES] = {"fetch_bytes", "bytes", PROBE_EXACT, .keys = "level,limit",
        .what = "what one miss brings in"},
    [SPAN] = {"span", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "level,stride",
        .what = "dependent load, one word in each stride, through more than the cache"},
    [LINE_BYTES] = {"line_bytes", "bytes", PROBE_EXACT, .keys = "level",
        .what = "what one line takes from the cache"},
};

/* --- sides of the L2 -------------------------------------------------------------------------- */

enum { SIDE_REPEATS = 16, SIDE_LINES = SIDE_REPEATS * CHASE_LOADS };
const char map_one_side[] = "the L2 of this GPU shows one partition only";

/* The largest aligned block that has one home throughout, at the beginning of the memory; 0: longer
 * than the range that was examined. */
static size_t find_block(struct probe_run *r, struct mapper *m, double border)
{
    enum { NEIGHBOURS = 1024 };
    double cycles[NEIGHBOURS];
    size_t n = NEIGHBOURS, block = n, i = 0;

    for (size_t k = 0; k < n; k++)
        m->line[k] = (uint64_t)(uintptr_t)m->memory + k * LINE;
    home_ask(r, &m->home, m->line, n, cycles);
    while (block > 1 && i < n) {
        for (i = 0; i < n && (cycles[i] > border) == (cycles[i / block * block] > border);)
            i++;
        block = i < n ? block / 2 : block;
    }
    return block < n ? block * LINE : 0;
}

/* One random line in each stretch of the region, in random order. */
static struct home_sides *find_sides(struct probe_run *r, struct mapper *m)
{
    map_draw(r, m, REGION, HOME_LINES, REGION / HOME_LINES, true);
    struct home_sides *s = home_part(r, &m->home, m->line, HOME_LINES, NAN);
    m->home_bytes = find_block(r, m, s->border);
    return s;
}

/* One lap of a ring whose lines are all on one side. The lines must not be in the SM's own
 * partition: atomics remove copies first, and a sweep removes everything. */
static void measure_side(struct probe_run *r, struct mapper *m, const struct home_sides *s,
                         const char *level, int side)
{
    const uint64_t *line = s->line[side];
    bool cold = !strcmp(level, "hbm");

    if (!probe_begin_case(r, 0, "level=%s,side=%s", level, side == FAR ? "far" : "near"))
        return;
    if (s->n[side] < SIDE_LINES) {
        probe_missing(r, LOAD, map_one_side);
        probe_missing(r, LOAD_TIME, map_one_side);
        return;
    }
    map_link_lines(r, m, line, SIDE_LINES, true);
    while (probe_more(r)) {
        if (cold)
            gpu_sweep_l2(r);
        else
            map_walk(r, m, side == FAR ? ATOMIC : LOAD_L2, line, SIDE_LINES, SIDE_LINES, 0);
        map_walk(r, m, LOAD_L2, line, SIDE_LINES, 0, SIDE_REPEATS);
        chase_hand_over(r, m->result, m->copied, SIDE_REPEATS, LOAD, LOAD_TIME);
    }
    map_check_ends(r, m);
    probe_fact(r, "sm", "%d", SM);
    probe_fact(r, "lines", "%zu of %d", s->n[side], HOME_LINES);
    if (side == FAR && !cold)
        probe_value(r, FAR_SHARE, (double)s->n[FAR] / HOME_LINES);
}

static void measure_homes(struct probe_run *r, const struct mapper *m, const struct home_sides *s)
{
    if (!probe_begin_case(r, PROBE_TWICE, PROBE_NO_KEYS))
        return;
    if (m->home_bytes > 0)
        probe_value(r, HOME_BYTES, (double)m->home_bytes);
    else
        probe_missing(r, HOME_BYTES,
                      isfinite(s->border) ? "longer than was looked at" : map_one_side);
}

/* --- TLB -------------------------------------------------------------------------------------- */

enum { PAGE = 2 << 20, RING_REPEATS = 24, LINES_FEW = 32, LINES_DEFAULT = 4096 };
static const double LEAST_RISE = 0.015;

/* A ring through n strides, walked once before; each pass draws its lines anew. */
static double measure_ring(struct probe_run *r, struct mapper *m, enum kernel kernel, size_t n,
                           size_t stride, bool inside, int in_cycles, int in_ns)
{
    while (probe_more(r)) {
        map_draw(r, m, m->room, n, stride, inside);
        map_link_lines(r, m, m->line, n, true);
        map_walk(r, m, kernel, m->line, n, n, RING_REPEATS);
        chase_hand_over(r, m->result, m->copied, RING_REPEATS, in_cycles, in_ns);
    }
    map_check_ends(r, m);
    probe_fact(r, "span_bytes", "%zu", n * stride);
    probe_fact(r, "sm", "%d", SM);
    return probe_median(r, in_cycles);
}

static double measure_tlb(struct probe_run *r, struct mapper *m, size_t lines, size_t stride,
                          unsigned flags)
{
    if (lines * stride > m->room ||
        !probe_begin_case(r, flags, "lines=%zu,stride=%zu", lines, stride))
        return NAN;
    return measure_ring(r, m, LOAD_L2, lines, stride, true, TLB, TLB_TIME);
}

/* The most pages at which the latency has risen by less than a quarter of the way from few pages to
 * LINES_DEFAULT. Beyond its reach, a TLB that evicts the oldest entry would always miss; this one
 * still hits for as many pages as it holds, and the latency rises over several octaves. */
static void show_reach(struct probe_run *r, const double *cycles, const size_t *lines, size_t n)
{
    double few = n > 2 ? fmin(cycles[0], cycles[2]) : NAN, rise = n > 2 ? cycles[n - 1] - few : NAN;
    size_t i = 0;

    if (!probe_begin_case(r, PROBE_TWICE, "stride=%d", PAGE))
        return;
    while (i + 1 < n && cycles[i + 1] < few + rise / 4)
        i++;
    if (rise > LEAST_RISE * few)
        probe_value(r, TLB_REACH, (double)lines[i] * PAGE);
    else
        probe_missing(r, TLB_REACH, "no step between few pages and many");
}

/* Half octaves of pages; three sizes have packed controls. */
static void measure_tlbs(struct probe_run *r, struct mapper *m)
{
    size_t most = probe_is_check_run(r) ? LINES_FEW : LIST_MAX, n = 0, lines_of[32];
    double cycles[32];

    for (int i = 0; chase_half_octave(LINES_FEW, i) <= most; i++) {
        size_t lines = chase_half_octave(LINES_FEW, i);
        bool always = lines == 64 || lines == 512 || lines == LINES_DEFAULT;
        unsigned flags = lines > LINES_DEFAULT ? PROBE_DEEP : PROBE_THRICE;
        double median = measure_tlb(r, m, lines, PAGE, flags);
        if (isfinite(median) && flags != PROBE_DEEP) {
            lines_of[n] = lines;
            cycles[n++] = median;
        }
        if (always || flags == PROBE_DEEP)
            measure_tlb(r, m, lines, LINE, flags);
        measure_tlb(r, m, lines, (size_t)16 * PAGE, PROBE_DEEP);
        measure_tlb(r, m, lines, PAGE / 32, PROBE_DEEP);
    }
    show_reach(r, cycles, lines_of, n);
}

/* --- what comes along ------------------------------------------------------------------------- */

enum { SECTOR = 32, SECTORS = 16, BLOCK = SECTORS * SECTOR, CELLS = SECTORS * SECTORS };
enum { FETCH_TIMES = 7, FETCH_BLOCKS = FETCH_TIMES * CELLS };

/* The second load's latency for each pair of sectors, on blocks whose home is near and that nobody
 * touched since the L2 was swept. A block serves one pair, in random order, because refreshes come
 * at regular intervals, as the pairs do. The lower quartile excludes loads that met a refresh. */
static void ask_sectors(struct probe_run *r, struct mapper *m, const struct home_sides *s,
                        enum kernel kernel, double *cells)
{
    size_t times = probe_is_check_run(r) ? 1 : FETCH_TIMES, n = times * CELLS;
    struct map_pair *pairs = probe_host_alloc(r, n * sizeof *pairs);
    double *cycles = probe_host_alloc(r, n * sizeof *cycles), of_cell[FETCH_TIMES];
    struct permutation order = permutation_of(n, probe_seed(r) + ++m->drawn);

    for (size_t i = 0; i < n; i++) {
        uint64_t block = s->line[NEAR][i] / BLOCK * BLOCK;
        struct map_pair *pair = &pairs[permute(order, i)];
        pair->touched = block + i % CELLS / SECTORS * SECTOR;
        pair->asked = block + i % SECTORS * SECTOR + sizeof(uint64_t);
    }
    gpu_sweep_l2(r);
    map_ask(r, m, kernel, pairs, n, cycles);
    for (size_t i = 0; i < CELLS; i++) {
        for (size_t k = 0; k < times; k++)
            of_cell[k] = cycles[permute(order, k * CELLS + i)];
        cells[i] = stat_summarise(of_cell, times).q1;
    }
}

/* The largest block of sectors that always come together, and never with others; 0: there is
 * none. */
static size_t block_of(const double *cells)
{
    double same[SECTORS], other = stat_summarise(cells, CELLS).median, hit;

    for (size_t i = 0; i < SECTORS; i++)
        same[i] = cells[i * SECTORS + i];
    hit = sqrt(stat_summarise(same, SECTORS).median * other);
    for (size_t block = 1; block < SECTORS; block *= 2) {
        size_t fit = 0;
        for (size_t i = 0; i < CELLS; i++)
            fit += (cells[i] < hit) == (i / SECTORS / block == i % SECTORS / block);
        if (fit == CELLS)
            return block;
    }
    return 0;
}

static const char few_near[] = "too few blocks of 512 bytes whose home is near";

/* limit 0: the driver's default. */
static void measure_fetch(struct probe_run *r, struct mapper *m, const struct home_sides *s,
                          const char *level, size_t limit)
{
    double cells[CELLS];
    size_t before = 0, block;
    char text[24] = "default";
    struct probe_axis axis = {.name = "sector", .n = SECTORS};

    if (limit > 0)
        snprintf(text, sizeof text, "%zu", limit);
    if (!probe_begin_case(r, PROBE_TWICE, "level=%s,limit=%s", level, text))
        return;
    if (s->n[NEAR] < FETCH_BLOCKS || (s->n[FAR] > 0 && m->home_bytes % BLOCK > 0)) {
        probe_missing(r, FETCH, few_near);
        probe_missing(r, FETCH_BYTES, few_near);
        return;
    }
    CUDA(cudaDeviceGetLimit(&before, cudaLimitMaxL2FetchGranularity));
    if (limit > 0)
        CUDA(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, limit));
    ask_sectors(r, m, s, strcmp(level, "l1") ? ASK_L2 : ASK_L1, cells);
    CUDA(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, before));
    probe_grid(r, FETCH, axis, axis, cells);
    block = block_of(cells);
    if (block > 0)
        probe_value(r, FETCH_BYTES, (double)(block * SECTOR));
    else
        probe_missing(r, FETCH_BYTES, "no aligned block of sectors comes together");
    probe_fact(r, "driver_default", "%zu", before);
}

/* 1.6 times the largest shared memory of an SM is more than its L1, and half of it fits. */
static double measure_span(struct probe_run *r, struct mapper *m, size_t stride)
{
    if (!probe_begin_case(r, PROBE_TWICE, "level=l1,stride=%zu", stride))
        return NAN;
    return measure_ring(r, m, LOAD_L1, gpu_facts(r)->shared_per_sm * 8 / 5 / stride, stride, false,
                        SPAN, -1);
}

static void measure_line(struct probe_run *r, struct mapper *m)
{
    double misses = measure_span(r, m, LINE), cycles = misses;
    size_t stride = LINE;

    while (stride < 4 * LINE && !(cycles < misses / 2))
        cycles = measure_span(r, m, stride *= 2);
    if (!probe_begin_case(r, PROBE_TWICE, "level=l1"))
        return;
    if (cycles < misses / 2)
        probe_value(r, LINE_BYTES, (double)stride / 2);
    else
        probe_missing(r, LINE_BYTES, "no stride at which the ring begins to hit");
}

/* --- all of it -------------------------------------------------------------------------------- */

static struct mapper prepare(struct probe_run *r)
{
    static const char *const names[] = {"memory_map_load",   "memory_map_load_l1",
                                        "memory_map_atomic", "memory_map_both",
                                        "memory_map_ask_l1", "memory_map_ask_l2"};
    size_t free = gpu_facts(r)->free_bytes, pages = LINES_DEFAULT;
    struct mapper m = {0};

    if (probe_deep(r) || pages > free / 2 / PAGE)
        pages = (probe_deep(r) ? free / 16 * 15 : free / 2) / PAGE;
    m.room = (probe_is_check_run(r) ? LINES_FEW : pages) * PAGE;
    for (int i = 0; i < N_KERNELS; i++) {
        size_t args = i < ASK_L1 ? sizeof(struct map_chase_args) : sizeof(struct map_pair_args);
        m.kernel[i] = gpu_kernel(r, &image_memory_map, names[i], args);
        gpu_kernel_shared(m.kernel[i], 0, 0);
    }
    m.link = gpu_kernel(r, &image_memory_map, "memory_map_link", sizeof(struct map_link_args));
    m.memory = gpu_alloc(r, m.room, "lines");
    m.line = probe_host_alloc(r, LIST_MAX * sizeof *m.line);
    m.next = probe_host_alloc(r, LIST_MAX * sizeof *m.next);
    m.copied = probe_host_alloc(r, SAMPLES_MAX * sizeof *m.copied);
    for (int i = 0; i < 2; i++)
        m.lists[i] = gpu_alloc(r, LIST_MAX * sizeof *m.line, "a list of lines");
    m.cycles = gpu_alloc(r, SAMPLES_MAX * sizeof *m.cycles, "cycles");
    m.samples = gpu_alloc(r, SAMPLES_MAX * sizeof *m.samples, "samples");
    m.claim = gpu_alloc(r, sizeof *m.claim, "a claim");
    m.result = gpu_mapped(r, sizeof *m.result);
    m.home = home_prepare(r, &image_home, SM);
    return m;
}

static void measure(struct probe_run *r)
{
    struct mapper m = prepare(r);
    const struct home_sides *sides = find_sides(r, &m);

    measure_side(r, &m, sides, "l2", NEAR);
    measure_side(r, &m, sides, "l2", FAR);
    measure_side(r, &m, sides, "hbm", NEAR);
    measure_side(r, &m, sides, "hbm", FAR);
    measure_homes(r, &m, sides);
    map_measure_sms(r, &m, sides);
    measure_tlbs(r, &m);
    measure_fetch(r, &m, sides, "l1", 0);
    for (size_t limit = 0; limit <= 128; limit = limit ? 2 * limit : SECTOR)
        measure_fetch(r, &m, sides, "l2", limit);
    measure_line(r, &m);
}

const struct probe probe = {
    .name = "memory_map",
    .what = "Where does an address live, and what does that cost?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
