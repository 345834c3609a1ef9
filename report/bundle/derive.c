#include "report/bundle/derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "core/stat.h"
#include "report/bundle/derive_fusion.h"
#include "report/bundle/derive_occupancy.h"
#include "report/bundle/derive_product.h"

enum { CURVE, LOAD_TIME, READ_RATE, PRODUCT_TIMES };
static const char *const needs[] = {
    [CURVE] = "memory_latency.curve{bytes=*}",
    [LOAD_TIME] = "memory_latency.load_time{level=%s,*}",
    [READ_RATE] = "occupancy.read_rate{level=*,*}",
    [PRODUCT_TIMES] = "small_gemm.time{m=*,n=*,k=*,*}",
    "gemm_sizes.time{m=*,n=*,k=*,*}",
    "peers.time{m=*,n=*,k=*,*}",
    NULL,
};

const char *derive_need(size_t i, const char **file)
{
    static const struct {
        const char *file;
        const char *const *needs;
    } files[] = {{"derive", needs},
                 {"derive_fits", derive_fits_needs},
                 {"derive_product", derive_product_needs},
                 {"derive_occupancy", derive_occupancy_needs},
                 {"derive_fusion", derive_fusion_needs}};

    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        for (size_t n = 0; files[k].needs[n]; n++)
            if (i-- == 0) {
                *file = files[k].file;
                return files[k].needs[n];
            }
    return NULL;
}

static const struct derived_metric metrics[] = {
    {"derived.capacity", "bytes", "higher", "level=l1|l2_near|l2",
     "footprint at which memory_latency.curve has left one plateau by a tenth of the way to the "
     "next; by its footprints of every round where these say the same as all"},
    {"derived.bytes_in_flight", "bytes", "lower", "level,warps,loads",
     "per SM, what occupancy.read_rate would need in flight at the latency of an idle GPU "
     "(memory_latency.load_time): by Little's law what is in flight, until the memory is the "
     "limit"},
    {"derived.little_rate", "bytes/s", "higher", "level,warps,loads",
     "what Little's law makes of occupancy.read_rate's bytes in flight and the latency of an idle "
     "GPU, at most bandwidth.rate"},
    {"derived.little_hit", "cycles", "lower", "memory,stride,warps,loads",
     "the same of occupancy.hit: the latency, or the time of all loads at bandwidth.sm_rate"},
    {"derived.little_fma", "ops/cycle", "higher", "warps,chains",
     "the same of occupancy.fma_rate, by instructions.latency and instructions.throughput"},
    {"derived.flops", "flop/s", "higher", "keys of the time",
     "2 m n k / time of small_gemm, gemm_sizes, peers"},
    {"derived.fixed_time", "ns", "lower", "keys of gemm_sizes.time but m, n, k",
     "t0 of t(N) = t0 + 2 N^3 / P, fitted over the squares of gemm_sizes.time"},
    {"derived.marginal_flops", "flop/s", "higher", "the same", "P of that fit"},
    {"derived.fit_error", "ratio", "lower", "the same",
     "root mean square of what that fit is off by, relative to the time"},
    {"derived.predicted_time", "ns", "lower", "keys of block_count.time",
     "what rates and latencies of the chip, and the row's empty kernel, make of a warm product"},
    {"derived.prediction_error", "ratio", "lower", "keys of block_count.time",
     "|derived.predicted_time / block_count.time - 1|"},
    {"derived.fusion_gain", "ratio", "higher", "probe,keys of its sizes,impl,l2",
     "time of impl=unfused (impl=twice where there is none) over that of impl=fused, both by "
     "graph; "
     "with impl: of what that form is compared with over that form"},
    {"derived.predicted_gain", "ratio", "higher", "probe,keys of its sizes,impl,l2",
     "the same by counts of what the kernels do, and figures of the chip"},
    {"derived.gain_error", "ratio", "lower", "probe,keys of its sizes,impl,l2",
     "|derived.predicted_gain / derived.fusion_gain - 1|"},
    {"derived.traffic_gain", "ratio", "higher", "probe,keys of its sizes,impl,l2",
     "as derived.predicted_gain, by bytes, kernels, an edge and a copy alone"},
    {"derived.bytes_cut", "ratio", "higher", "probe,keys of its sizes,impl,l2",
     "share of the other form's bytes that the fused one does not move"},
};

const struct derived_metric *derived_metric(size_t i)
{
    return i < sizeof metrics / sizeof metrics[0] ? &metrics[i] : NULL;
}

/* --- steps of a curve --------------------------------------------------------------------------
 *
 * Where one level of the memory ends, latency climbs within a fraction of an octave of footprint.
 * On a plateau it climbs slowly or not at all. So a step is a steep stretch of the curve, and
 * between two steps is a plateau, flat or not. Slopes are relative, per octave:
 *
 *     GH200 (published)      slope per octave
 *     L1 -> near L2          several hundred %      step
 *     near -> far L2         about 100 %            step
 *     far L2, 36 to 60 MB    about 14 %             plateau
 *     far L2 -> DRAM         about 120 %            step
 *     DRAM, TLB misses       about 3 %              plateau
 *
 * A stretch with slopes of at least GENTLE is a step if somewhere in it the slope reaches STEEP. A
 * plateau may be so short that its slope never falls below GENTLE. It still shows as a shoulder: a
 * place where the slope drops to a third of what it is on both sides. */
static const double GENTLE = 0.20, STEEP = 0.40, SHOULDER = 1.0 / 3, LEAST_RISE = 0.10;

/* The height on a rise at which the capacity is read. Not half height: a cache of limited
 * associativity begins to miss when its first set overflows, and misses always only when its last
 * set does. On an H200 half height would give 265 KiB for an L1 of 256. */
static const double KNEE = 0.10;

enum { CURVE_MAX = 512, CURVE_LEAST = 12, LEVEL_POINTS = 3, STEPS_MAX = 16 };

static double median_of(const double *values, size_t n)
{
    double sorted[CURVE_MAX];
    memcpy(sorted, values, n * sizeof *sorted);
    stat_sort(sorted, n);
    return stat_median(sorted, n);
}

/* The median of each point and its neighbours: removes a lone outlier and leaves edges in place. */
static void smooth(struct curve curve, double *smoothed)
{
    for (size_t i = 0; i < curve.n; i++) {
        bool inside = i > 0 && i + 1 < curve.n;
        smoothed[i] = inside ? median_of(curve.cycles + i - 1, 3) : curve.cycles[i];
    }
}

/* slope[i]: relative rise per octave from point i to i + 1. */
static void slopes_of(struct curve curve, const double *smoothed, double *slope)
{
    for (size_t i = 0; i + 1 < curve.n; i++)
        slope[i] = log(smoothed[i + 1] / smoothed[i]) / log2(curve.bytes[i + 1] / curve.bytes[i]);
}

static double largest(const double *values, size_t from, size_t to)
{
    double most = 0;
    for (size_t i = from; i < to; i++)
        most = fmax(most, values[i]);
    return most;
}

/* The level of a plateau right next to a step: the points next to it, as far as the plateau
 * goes. */
static double level_before(const double *smoothed, const double *slope, size_t at)
{
    size_t from = at;
    while (from > 0 && at - from + 1 < LEVEL_POINTS && fabs(slope[from - 1]) < GENTLE)
        from--;
    return median_of(smoothed + from, at - from + 1);
}

static double level_after(const double *smoothed, const double *slope, size_t at, size_t n)
{
    size_t to = at;
    while (to + 1 < n && to - at + 1 < LEVEL_POINTS && fabs(slope[to]) < GENTLE)
        to++;
    return median_of(smoothed + at, to - at + 1);
}

/* The footprint at which the curve passes a height, between points from and to; linear in the
 * logarithm of the footprint. */
static double crossing(struct curve curve, const double *smoothed, size_t from, size_t to,
                       double height)
{
    while (from > 0 && smoothed[from] > height) /* the plateau's last point may be above already */
        from--;
    for (size_t i = from; i < to; i++)
        if (smoothed[i] <= height && smoothed[i + 1] > height) {
            double share = (height - smoothed[i]) / (smoothed[i + 1] - smoothed[i]);
            return curve.bytes[i] * pow(curve.bytes[i + 1] / curve.bytes[i], share);
        }
    return NAN;
}

struct finder {
    struct curve curve;
    double smoothed[CURVE_MAX], slope[CURVE_MAX];
    struct step *steps;
    size_t n, most;
};

/* Adds the rise from point `from` to `to`, cut at its shoulders. */
static void add_steps(struct finder *f, size_t from, size_t to)
{
    for (size_t i = from + 1; i + 1 < to; i++) {
        double sides = fmin(largest(f->slope, from, i), largest(f->slope, i + 1, to));
        bool least = f->slope[i] <= f->slope[i - 1] && f->slope[i] <= f->slope[i + 1];
        bool both_rise = f->smoothed[i] > f->smoothed[from] * (1 + LEAST_RISE) &&
                         f->smoothed[to] > f->smoothed[i + 1] * (1 + LEAST_RISE);
        if (least && both_rise && f->slope[i] < SHOULDER * sides) {
            add_steps(f, from, i);
            add_steps(f, i + 1, to);
            return;
        }
    }
    double below = level_before(f->smoothed, f->slope, from);
    double above = level_after(f->smoothed, f->slope, to, f->curve.n);
    if (f->n == f->most || !(above > below * (1 + LEAST_RISE)))
        return;
    double bytes = crossing(f->curve, f->smoothed, from, to, below + KNEE * (above - below));
    if (!isnan(bytes))
        f->steps[f->n++] = (struct step){below, above, bytes};
}

size_t derive_steps(struct curve curve, struct step *steps, size_t most)
{
    struct finder f = {.curve = curve, .steps = steps, .most = most};

    if (curve.n < CURVE_LEAST || curve.n > CURVE_MAX)
        return 0;
    smooth(curve, f.smoothed);
    slopes_of(curve, f.smoothed, f.slope);
    for (size_t i = 0; i + 1 < curve.n; i++) {
        size_t from = i;
        while (i + 1 < curve.n && f.slope[i] >= GENTLE)
            i++;
        if (i > from && largest(f.slope, from, i) >= STEEP)
            add_steps(&f, from, i);
    }
    return f.n;
}

/* --- capacities ------------------------------------------------------------------------------- */

/* The step out of the L1 more than doubles the latency on every GPU; no later step does. */
static const double LEAVES_L1 = 2.0;

/* A partition of the L2 is at least this part of it. An earlier step is a shoulder of the rise out
 * of the L1, which takes an octave and is not smooth. */
static const double LEAST_PARTITION = 1.0 / 16;

/* The end of the L2 is the step, among those after the L1, nearest to the L2 size that the GPU
 * states. Later steps belong to the TLB, earlier ones to a partition. */
static size_t end_of_l2(const struct step *steps, size_t first, size_t n, double l2_bytes)
{
    size_t end = first + 1 < n ? first + 1 : first;
    for (size_t i = first; l2_bytes > 0 && i < n; i++)
        if (fabs(log(steps[i].bytes / l2_bytes)) < fabs(log(steps[end].bytes / l2_bytes)))
            end = i;
    return end;
}

struct capacities derive_capacities(struct curve curve, double l2_bytes)
{
    struct step steps[STEPS_MAX];
    struct capacities c = {.l1 = NAN, .l2_near = NAN, .l2 = NAN};
    size_t n = derive_steps(curve, steps, STEPS_MAX), first = 0;

    while (first < n && steps[first].to_cycles < LEAVES_L1 * steps[first].from_cycles)
        first++;
    if (first == n)
        return c;
    c.l1 = steps[first++].bytes;
    while (first < n && steps[first].bytes < LEAST_PARTITION * l2_bytes)
        first++;
    if (first == n)
        return c;
    size_t end = end_of_l2(steps, first, n, l2_bytes);
    c.l2 = steps[end].bytes;
    if (end > first)
        c.l2_near = steps[first].bytes;
    return c;
}

struct points {
    const struct row *row[CURVE_MAX]; /* of the curve, footprint ascending */
    double bytes[CURVE_MAX];
    size_t n;
};

static void insert(struct points *points, const struct row *row, double bytes)
{
    size_t at = points->n++;
    for (; at > 0 && points->bytes[at - 1] > bytes; at--) {
        points->bytes[at] = points->bytes[at - 1];
        points->row[at] = points->row[at - 1];
    }
    points->bytes[at] = bytes;
    points->row[at] = row;
}

static void find_points(const struct rows *rows, struct points *points)
{
    const struct row *row;
    char text[32];

    points->n = 0;
    for (size_t next = 0; (row = rows_match(rows, needs[CURVE], &next));) {
        double bytes = row_key(row, "bytes", text, sizeof text) ? strtod(text, NULL) : 0;
        /* On a flank the first and the last round may well disagree; each is used on its own. */
        bool usable = row_usable(row) || row->status == ROW_DISAGREE;
        if (bytes >= 1 && bytes < 1e18 && row->n > 0 && usable && points->n < CURVE_MAX)
            insert(points, row, bytes);
    }
}

/* The curve of one round, without what was discarded in it. */
static struct curve curve_of(const struct points *points, int round, double *bytes, double *cycles)
{
    size_t n = 0;
    for (size_t i = 0; i < points->n; i++) {
        double value = row_at(points->row[i], round);
        if (value > 0 && (n == 0 || points->bytes[i] > bytes[n - 1])) {
            bytes[n] = points->bytes[i];
            cycles[n++] = value;
        }
    }
    return (struct curve){.n = n, .bytes = bytes, .cycles = cycles};
}

static void say_why(struct row *row, const char *why)
{
    if (!row || row->why)
        return;
    row->why = strdup(why);
}

static const char *const capacity_ids[] = {
    "derived.capacity{level=l1}", "derived.capacity{level=l2_near}", "derived.capacity{level=l2}"};
enum { N_CAPACITIES = 3 };

/* A capacity lies between two footprints of the curve and is interpolated between them. It is known
 * to half of their distance, which is its tick. */
static double tick_of(struct curve curve, double bytes)
{
    for (size_t i = 0; i + 1 < curve.n; i++)
        if (curve.bytes[i] <= bytes && bytes <= curve.bytes[i + 1])
            return (curve.bytes[i + 1] - curve.bytes[i]) / 2;
    return 0;
}

/* Gives the capacity rows one round's values. */
static void put_capacities(struct rows *made, const struct points *points, int round,
                           double l2_bytes)
{
    double bytes[CURVE_MAX], cycles[CURVE_MAX];
    struct curve curve = curve_of(points, round, bytes, cycles);
    struct capacities c = derive_capacities(curve, l2_bytes);
    const double values[N_CAPACITIES] = {c.l1, c.l2_near, c.l2};

    for (size_t i = 0; i < N_CAPACITIES; i++) {
        struct row *row = rows_get(made, capacity_ids[i], "bytes", ROW_HIGHER);
        if (!row)
            return;
        row_put(row, round, values[i], values[i]);
        row->resolution = fmax(row->resolution, tick_of(curve, values[i]));
        if (curve.n < CURVE_LEAST)
            say_why(row, "the curve has too few footprints");
        else if (isnan(values[i]))
            say_why(row, i == 1 ? "no plateau between the first L2 level and device memory"
                                : "the curve shows no step there");
    }
}

static bool is_rare(const struct row *row)
{
    return row->once || row->thrice;
}

/* Those of every round. */
static void find_frequent(const struct points *points, struct points *frequent)
{
    frequent->n = 0;
    for (size_t i = 0; i < points->n; i++)
        if (!is_rare(points->row[i]))
            insert(frequent, points->row[i], points->bytes[i]);
}

static bool agree(double few, double whole, double tick)
{
    return isnan(few) || isnan(whole) ? isnan(few) && isnan(whole) : fabs(few - whole) <= tick;
}

/* Do the footprints of every round say what the whole curve says, to its tick, wherever a round has
 * it? They are chosen by what the GPU states of itself, and may miss where a capacity ends. */
static bool are_enough(const struct points *points, const struct points *frequent, double l2_bytes)
{
    double bytes[2][CURVE_MAX], cycles[2][CURVE_MAX];
    bool any = false;

    for (size_t i = 0; i < points->row[0]->n; i++) {
        const int round = points->row[0]->round[i];
        const struct curve whole = curve_of(points, round, bytes[0], cycles[0]);
        const struct curve few = curve_of(frequent, round, bytes[1], cycles[1]);
        const struct capacities w = derive_capacities(whole, l2_bytes);
        const struct capacities f = derive_capacities(few, l2_bytes);
        if (!agree(f.l1, w.l1, tick_of(whole, w.l1)) || !agree(f.l2, w.l2, tick_of(whole, w.l2)) ||
            !agree(f.l2_near, w.l2_near, tick_of(whole, w.l2_near)))
            return false;
        any = any || !isnan(w.l1);
    }
    return any;
}

/* The capacity rows get the rounds of the rare points, of the one that has most; where none is
 * rare, of all points. */
static void put_rounds(struct rows *made, const struct points *points, double l2_bytes)
{
    int rounds[ROW_RUNS_MAX];
    size_t n_rounds = 0;
    bool once = false, thrice = false;
    int method = points->row[0]->method;
    for (size_t i = 0; i < points->n; i++) {
        const struct row *row = points->row[i];
        once = once || row->once;
        thrice = thrice || row->thrice;
    }
    for (size_t i = 0; i < points->n; i++) {
        const struct row *row = points->row[i];
        if (is_rare(row) == (once || thrice) && row->n > n_rounds) {
            n_rounds = row->n;
            memcpy(rounds, row->round, row->n * sizeof *rounds);
        }
    }
    for (size_t i = 0; i < N_CAPACITIES; i++) {
        struct row *row = rows_get(made, capacity_ids[i], "bytes", ROW_HIGHER);
        if (row) {
            row->once = once;
            row->thrice = thrice;
            row->method = method;
        }
    }
    for (size_t i = 0; i < n_rounds; i++)
        put_capacities(made, points, rounds[i], l2_bytes);
}

static void derive_capacity(const struct rows *rows, struct rows *made, const json_t *gpu)
{
    struct points *points = malloc(2 * sizeof *points);
    const double l2_bytes = fmax(document_get_number(gpu, "l2_bytes"), 0);

    if (!points)
        return;
    find_points(rows, points);
    if (points->n > 0) {
        find_frequent(points, points + 1);
        put_rounds(made, points + are_enough(points, points + 1, l2_bytes), l2_bytes);
    }
    free(points);
}

/* --- Little's law, flop/s --------------------------------------------------------------------- */

double derive_in_flight(double rate, double load_ns, double n_sm)
{
    return rate * load_ns * 1e-9 / n_sm;
}

/* The row's id under another metric's name. */
static void renamed(char id[DOCUMENT_ID], const char *name, const struct row *row)
{
    const char *keys = strchr(row->id, '{');
    snprintf(id, DOCUMENT_ID, "%s%s", name, keys ? keys : "");
}

static const struct row *load_time_of(const struct rows *rows, const char *level)
{
    char glob[96];
    size_t next = 0;
    if (strpbrk(level, "*?[\\"))
        return NULL;
    snprintf(glob, sizeof glob, needs[LOAD_TIME], level);
    return rows_match(rows, glob, &next);
}

static void derive_bytes_in_flight(const struct rows *rows, struct rows *made, double n_sm)
{
    const struct row *rate, *load;
    char id[DOCUMENT_ID], level[32];

    for (size_t next = 0; (rate = rows_match(rows, needs[READ_RATE], &next));) {
        row_key(rate, "level", level, sizeof level);
        if (!(load = load_time_of(rows, level)))
            continue;
        renamed(id, "derived.bytes_in_flight", rate);
        struct row *bytes = rows_get(made, id, "bytes", ROW_LOWER); /* needed: a cost */
        if (!bytes)
            return;
        bytes->method = rate->method;
        bytes->power_bound = rate->power_bound || load->power_bound;
        bytes->once = rate->once;
        bytes->thrice = rate->thrice;
        if (!(n_sm > 0))
            say_why(bytes, "the number of SMs is not known");
        for (size_t i = 0; n_sm > 0 && row_usable(rate) && row_usable(load) && i < rate->n; i++)
            row_put(bytes, rate->round[i],
                    derive_in_flight(rate->value[i], row_at(load, rate->round[i]), n_sm), NAN);
    }
}

static double flops_of(const struct row *row)
{
    static const char *const keys[] = {"m", "n", "k"};
    double flops = 2;
    for (size_t i = 0; i < 3; i++)
        flops *= row_key_number(row, keys[i]);
    return flops > 0 && isfinite(flops) ? flops : (double)NAN;
}

static void derive_flops(const struct rows *rows, struct rows *made, const char *times)
{
    const struct row *time;
    char id[DOCUMENT_ID];

    for (size_t next = 0; (time = rows_match(rows, times, &next));) {
        double flops = flops_of(time);
        if (isnan(flops) || !row_usable(time))
            continue;
        renamed(id, "derived.flops", time);
        struct row *rate = rows_get(made, id, "flop/s", ROW_HIGHER);
        if (!rate)
            return;
        rate->method = time->method;
        rate->once = time->once;
        rate->thrice = time->thrice;
        rate->power_bound = time->power_bound;
        for (size_t i = 0; i < time->n; i++)
            if (time->value[i] > 0)
                row_put(rate, time->round[i], flops / time->value[i] * 1e9,
                        flops / time->best_of[i] * 1e9);
        rate->resolution =
            time->centre > 0 ? time->resolution * flops * 1e9 / (time->centre * time->centre) : 0;
    }
}

void derive(struct rows *rows, const json_t *gpu)
{
    const double n_sm = document_get_number(gpu, "n_sm");
    struct rows made = {0};

    derive_capacity(rows, &made, gpu);
    derive_bytes_in_flight(rows, &made, n_sm);
    for (size_t i = PRODUCT_TIMES; needs[i]; i++)
        derive_flops(rows, &made, needs[i]);
    derive_fits(rows, &made);
    derive_products(rows, &made, n_sm);
    derive_occupancy(rows, &made, n_sm);
    derive_fusions(rows, &made, n_sm);
    for (size_t i = 0; i < made.n; i++)
        rows_add(rows, &made.row[i]);
    if (made.n > 0) /* else they are as finished as they were */
        rows_finish(rows);
    rows_free(&made);
}
