/* Cases and samples: the sample loop, its stopping rule, and how samples become figures. */
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/run.h"
#include "core/unit.h"

enum {
    WARM_PASSES = 2,
    PASSES_MAX = 1000,
    PASSES_MIN = 5,
    FIRST_LOOK = 20,
    CASE_MS = 32,
    CURVE_MS = 20, /* PROBE_THRICE */
    QUICK_MS = 8,  /* a look, from which no verdict follows */
    SETTLE_MS = 50, /* until then the power limit has acted: 30 to 45 ms on an H200 */
    BEST_OF_FIRST = 20, /* "best" uses a fixed number of samples, never an adaptive one */
};
static const double STABLE = 0.002, CONFIDENCE = 0.95, CLOCK_MOVED = 0.01;
/* Large products begin at 80 to 84 % of an H200's clock of small work, and fall by 10 to 20 % when
 * the power limit acts. Small products, and loops of tensor instructions, run at 86 % and more; the
 * limit acts on some of these, later. */
static const double HELD_BACK = 0.85, FALLS = 0.03;

static void *grown(struct probe_run *r, void *old, size_t *room, size_t size)
{
    *room = *room ? *room * 2 : 256;
    void *fresh = realloc(old, *room * size);
    if (!fresh)
        probe_fail(r, "out of host memory for samples");
    return fresh;
}

static const struct probe_metric *metric_of(struct probe_run *r, int metric)
{
    if (metric < 0 || (size_t)metric >= probe.n_metrics || !r->in_case)
        probe_fail(r, "harness: metric %d handed over outside a case or the metric table", metric);
    return &probe.metrics[metric];
}

/* --- the sample loop ------------------------------------------------------------------------- */

bool probe_is_due(const struct probe_run *r, unsigned flags)
{
    const struct options *o = &r->options;
    const int last = o->rounds - 1;
    const bool outer = o->round == 0 || o->round == last;
    if ((flags & PROBE_DEEP) && !o->deep)
        return false;
    if ((flags & (PROBE_TWICE | PROBE_SLOW)) && o->quick)
        return false;
    if (flags & PROBE_TWICE)
        return outer;
    return !(flags & PROBE_THRICE) || outer || o->round == last / 2;
}

bool probe_begin_case(struct probe_run *r, unsigned flags, const char *keys, ...)
{
    va_list arguments;
    samples_close_case(r);

    va_start(arguments, keys);
    vsnprintf(r->keys, sizeof r->keys, keys, arguments);
    va_end(arguments);
    if (!probe_is_due(r, flags))
        return false;
    if (r->options.only && fnmatch(r->options.only, r->keys, FNM_EXTMATCH) != 0)
        return false;
    r->flags = flags;
    r->slow_mhz = 0;
    r->in_case = true;
    r->n_cases++;
    r->loop = (struct loop){.state = LOOP_IDLE};
    return true;
}

/* Is the median's interval narrow enough? Values are of whole samples; `tick` is one timer tick. */
static bool narrow(const double *values, size_t n, double tick)
{
    size_t low, high;
    double *sorted = malloc(n * sizeof *sorted);
    bool is_narrow = false;

    if (sorted && stat_median_ranks(n, CONFIDENCE, &low, &high)) {
        memcpy(sorted, values, n * sizeof *sorted);
        stat_sort(sorted, n);
        double half = (sorted[high - 1] - sorted[low - 1]) / 2, median = stat_median(sorted, n);
        is_narrow = half <= STABLE * fabs(median) || half <= tick / 2;
    }
    free(sorted);
    return is_narrow;
}

/* Splits a slope's samples by their two amounts of work. False when there are not exactly two. */
static bool split(const struct series *s, double work[2], double *side[2], size_t n[2])
{
    work[0] = work[1] = 0;
    n[0] = n[1] = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t which = n[0] == 0 || s->work[i] == work[0] ? 0 : 1;
        if (which == 1 && n[1] > 0 && s->work[i] != work[1])
            return false;
        work[which] = s->work[i];
        side[which][n[which]++] = s->value[i];
    }
    if (n[0] == 0 || n[1] == 0)
        return false;
    if (work[0] > work[1]) {
        double w = work[0], *v = side[0];
        size_t k = n[0];
        work[0] = work[1], work[1] = w;
        side[0] = side[1], side[1] = v;
        n[0] = n[1], n[1] = k;
    }
    return true;
}

static double tick_of(const struct probe_run *r, const struct probe_metric *m)
{
    if (!strcmp(m->unit, "cycles"))
        return 1;
    return m->timer ? probe_tick_ns(r, m->timer) : 0;
}

static bool series_stable(struct probe_run *r, const struct probe_metric *m, const struct series *s)
{
    double work[2], *side[2];
    size_t n[2];
    bool stable = false;

    if (s->n == 0)
        return true;
    if (m->form != PROBE_SLOPE)
        return narrow(s->value, s->n, tick_of(r, m));
    side[0] = malloc(2 * s->n * sizeof **side);
    double *block = side[0];
    if (!block)
        return false;
    side[1] = block + s->n;
    stable = split(s, work, side, n) && narrow(side[0], n[0], tick_of(r, m)) &&
             narrow(side[1], n[1], tick_of(r, m));
    free(block);
    return stable;
}

static bool all_stable(struct probe_run *r)
{
    for (size_t i = 0; i < probe.n_metrics; i++)
        if (!series_stable(r, &probe.metrics[i], &r->series[i]))
            return false;
    return true;
}

static void forget_samples(struct probe_run *r)
{
    for (size_t i = 0; i < probe.n_metrics; i++)
        r->series[i].n = 0;
    r->n_clock = 0;
}

/* Replaces each reading of the clock by the median of itself and its neighbours. A single outlier
 * is an error of the timer, since a clock that moves stays where it went. */
static void drop_glitches(double *mhz, size_t n)
{
    double before = n > 0 ? mhz[0] : 0;
    for (size_t i = 1; i + 1 < n; i++) {
        double three[3] = {before, mhz[i], mhz[i + 1]};
        before = mhz[i];
        stat_sort(three, 3);
        mhz[i] = three[1];
    }
    if (n >= 3) {
        mhz[0] = mhz[1];
        mhz[n - 1] = mhz[n - 2];
    }
}

/* The readings of the clock without glitches. They themselves stay as they are: who asks again
 * filters them once, too. Free what it returns. */
static double *steady_readings(struct probe_run *r)
{
    double *mhz = malloc(r->n_clock * sizeof *mhz + 1);

    if (!mhz)
        probe_fail(r, "out of host memory for samples");
    if (r->n_clock > 0)
        memcpy(mhz, r->clock_mhz, r->n_clock * sizeof *mhz);
    drop_glitches(mhz, r->n_clock);
    return mhz;
}

/* How far the SM clock moved while the case was sampled, relative to its median. */
static double clock_moved(struct probe_run *r, struct stat_summary *clock)
{
    double *mhz = steady_readings(r);

    *clock = stat_summarise(mhz, r->n_clock);
    free(mhz);
    return r->n_clock > 0 ? (clock->max - clock->min) / clock->median : 0;
}

static bool loop_begins(struct probe_run *r)
{
    if (r->settle && !r->watch && !r->options.check && !(r->flags & PROBE_POWER_BOUND))
        r->settle(r);
    r->loop.state = LOOP_WARMING;
    r->loop.dropped_passes += (size_t)r->loop.passes;
    r->loop.passes = 0;
    return true;
}

static bool loop_ends(struct probe_run *r, const char *why)
{
    r->loop.stopped = why;
    r->loop.state = LOOP_DONE;
    return false;
}

static void drop_loop(struct loop *loop, const struct stat_summary *clock)
{
    loop->dropped[loop->n_dropped].least_mhz = clock->min;
    loop->dropped[loop->n_dropped++].most_mhz = clock->max;
}

/* The loop has its samples. If the SM clock moved meanwhile, all of them are dropped for that cause
 * and the loop begins anew: a clock that goes on rising behind heavier work has then arrived. */
static bool loop_is_full(struct probe_run *r, const char *why)
{
    struct loop *loop = &r->loop;
    struct stat_summary clock;
    if ((r->flags & PROBE_POWER_BOUND) || loop->n_dropped == LOOP_DROPPED_MOST ||
        clock_moved(r, &clock) <= CLOCK_MOVED)
        return loop_ends(r, why);
    drop_loop(loop, &clock);
    return loop_begins(r);
}

/* Does the power limit hold the clock back, or has it begun to? Quarters of the readings are
 * compared: a pass may time work of several kinds, each at a clock of its own. */
static bool is_at_limit(struct probe_run *r)
{
    const size_t n = r->n_clock, quarter = n / 4;
    double *mhz = steady_readings(r);
    bool is = false;

    if (quarter > 0) {
        double *last = mhz + n - quarter;
        stat_sort(mhz, quarter);
        stat_sort(last, quarter);
        const double now = stat_median(last, quarter);
        is = now < HELD_BACK * r->steady_mhz || now < (1 - FALLS) * stat_median(mhz, quarter);
    }
    free(mhz);
    return is;
}

static double loop_ms(const struct loop *loop)
{
    return (double)(probe_host_ns() - loop->began_ns) / 1e6;
}

static void sample_from_now(struct probe_run *r)
{
    forget_samples(r);
    r->loop.state = r->watch ? LOOP_WATCHED : LOOP_SAMPLING;
    r->loop.dropped_passes += (size_t)r->loop.passes;
    r->loop.passes = 0;
    r->loop.next_look = FIRST_LOOK;
    r->loop.began_ns = probe_host_ns();
}

/* Power-bound work is sampled at the clock that the power limit leaves it: it goes on until the
 * limit has acted, and what was sampled before is dropped. Work that does not reach the limit has
 * nothing to wait for. */
static bool waits_for_limit(struct probe_run *r)
{
    struct loop *loop = &r->loop;
    struct stat_summary clock;

    if (!(r->flags & PROBE_POWER_BOUND) || r->options.quick || loop->is_settled || !is_at_limit(r))
        return false;
    if (loop_ms(loop) < SETTLE_MS && loop->passes < PASSES_MAX)
        return true;
    (void)clock_moved(r, &clock);
    drop_loop(loop, &clock);
    loop->is_settled = true;
    sample_from_now(r);
    return true;
}

/* 20, 28, 40, 56, 80 ...: each time the square root of two as many passes. */
static int look_after(int passes)
{
    return passes % 7 == 0 ? passes / 7 * 10 : passes / 5 * 7;
}

/* Which rule says that these are enough samples; NULL: none. */
static const char *enough(struct probe_run *r)
{
    struct loop *loop = &r->loop;
    const int most_ms = r->options.quick             ? QUICK_MS
                        : r->flags & PROBE_THRICE ? CURVE_MS
                                                  : CASE_MS;
    bool is_stable = false;

    if (loop->passes >= loop->next_look) {
        loop->next_look = look_after(loop->next_look);
        is_stable = all_stable(r);
    }
    return loop->passes >= PASSES_MAX                                ? "count"
           : loop->passes >= PASSES_MIN && loop_ms(loop) > most_ms ? "time"
           : is_stable                                              ? "stable"
                                                                    : NULL;
}

bool probe_more(struct probe_run *r)
{
    struct loop *loop = &r->loop;
    const char *why;

    switch (loop->state) {
    case LOOP_IDLE:
        if (!r->in_case)
            probe_fail(r, "harness: probe_more() outside a case");
        return loop_begins(r);
    case LOOP_WARMING:
        if (r->options.check) {
            forget_samples(r);
            return loop_ends(r, "check");
        }
        if (++loop->passes < WARM_PASSES)
            return true;
        sample_from_now(r);
        if (r->watch)
            r->watch->begin(r);
        return true;
    case LOOP_SAMPLING:
        loop->passes++;
        why = enough(r);
        return !why || waits_for_limit(r) || loop_is_full(r, why);
    case LOOP_WATCHED:
        loop->passes++;
        if (!r->watch->end(r))
            return loop_ends(r, "watched");
        r->watch->begin(r);
        return true;
    default: return false;
    }
}

size_t probe_dropped_passes(const struct probe_run *r)
{
    return r->loop.dropped_passes;
}

void probe_sample(struct probe_run *r, int metric, double n, double value)
{
    const struct probe_metric *m = metric_of(r, metric);
    struct series *s = &r->series[metric];

    if (!(n > 0) || !isfinite(value))
        probe_fail(r, "harness: sample of %s is %g for %g units of work", m->name, value, n);
    if (s->n == s->room) {
        size_t room = s->room;
        s->value = grown(r, s->value, &room, sizeof *s->value);
        s->work = grown(r, s->work, &s->room, sizeof *s->work);
    }
    s->value[s->n] = value;
    s->work[s->n++] = n;
    if (r->raw && r->loop.state == LOOP_SAMPLING)
        fprintf(r->raw, "%s\t%s\t%s\t%s\t%d\t%.17g\t%.17g\t%zu\n", probe.name, m->name, r->keys,
                m->timer ? m->timer : "-", r->options.round, n, value, r->loop.n_dropped);
}

void probe_clock(struct probe_run *r, double mhz)
{
    if (r->n_clock == r->room_clock)
        r->clock_mhz = grown(r, r->clock_mhz, &r->room_clock, sizeof *r->clock_mhz);
    r->clock_mhz[r->n_clock++] = mhz;
}

void probe_forget_clocks(struct probe_run *r)
{
    r->n_clock = 0;
}

/* --- from samples to figures ----------------------------------------------------------------- */

struct figures {
    struct stat_summary s;
    double best, resolution;
    bool has_sides; /* of a slope: its two amounts of work */
    struct {
        double work;
        struct stat_summary s;
    } side[2];
};

/* Turns a time per unit of work into a rate: the order reverses, relative spreads stay. */
static struct figures to_rate(struct figures t)
{
    struct figures f = {.s = {.n = t.s.n}};
    f.s.median = 1e9 / t.s.median;
    f.s.min = 1e9 / t.s.max;
    f.s.max = 1e9 / t.s.min;
    f.s.q1 = 1e9 / t.s.q3;
    f.s.q3 = 1e9 / t.s.q1;
    f.s.p01 = 1e9 / t.s.p99;
    f.s.p99 = 1e9 / t.s.p01;
    f.s.p999 = NAN;
    f.s.mad = f.s.median * t.s.mad / t.s.median;
    f.best = 1e9 / t.best;
    f.resolution = f.s.median * t.resolution / t.s.median;
    f.has_sides = t.has_sides; /* they stay times */
    memcpy(f.side, t.side, sizeof f.side);
    return f;
}

static struct figures of_each(const struct probe_metric *m, const struct series *s, double tick)
{
    struct figures f = {.has_sides = false};
    double *per_unit = malloc(s->n * sizeof *per_unit), most = 0;
    bool lower = unit_is_rate(m->unit) || m->better != PROBE_HIGHER;

    for (size_t i = 0; per_unit && i < s->n; i++) {
        per_unit[i] = s->value[i] / s->work[i];
        most = s->work[i] > most ? s->work[i] : most;
    }
    f.s = stat_summarise(per_unit, per_unit ? s->n : 0);
    f.best = lower ? stat_least_of_first(per_unit, f.s.n, BEST_OF_FIRST)
                   : stat_largest_of_first(per_unit, f.s.n, BEST_OF_FIRST);
    f.resolution = tick / most;
    free(per_unit);
    if (m->form == PROBE_P99 || m->form == PROBE_P999)
        f.s.median = f.best = m->form == PROBE_P99 ? f.s.p99 : f.s.p999;
    return unit_is_rate(m->unit) ? to_rate(f) : f;
}

/* The slope comes from the medians, `best` from the minima of each side; the spread is kept for
 * each side. The MAD of the slope is the sum of the sides' MADs divided by the work between them:
 * an upper bound. */
static struct figures of_slope(struct probe_run *r, const struct probe_metric *m,
                               const struct series *s, double tick)
{
    double work[2], *side[2], *block = malloc(2 * s->n * sizeof *block);
    size_t n[2];
    struct figures f = {.has_sides = true};

    if (!block)
        probe_fail(r, "out of host memory for samples");
    side[0] = block, side[1] = block + s->n;
    if (!split(s, work, side, n)) {
        free(block);
        probe_fail(r, "harness: %s needs samples at exactly two amounts of work", m->name);
    }
    struct stat_summary low = stat_summarise(side[0], n[0]), high = stat_summarise(side[1], n[1]);
    f.s = (struct stat_summary){.n = n[1],
                                .min = NAN,
                                .max = NAN,
                                .q1 = NAN,
                                .q3 = NAN,
                                .p01 = NAN,
                                .p99 = NAN,
                                .p999 = NAN};
    f.s.median = stat_slope(low.median, work[0], high.median, work[1]);
    f.s.mad = (low.mad + high.mad) / (work[1] - work[0]);
    f.best = stat_slope(stat_least_of_first(side[0], n[0], BEST_OF_FIRST), work[0],
                        stat_least_of_first(side[1], n[1], BEST_OF_FIRST), work[1]);
    if (f.s.median < 0) /* is no time, and no rate */
        f.s.median = f.best = NAN;
    if (f.best < 0)
        f.best = NAN;
    f.resolution = tick / (work[1] - work[0]);
    f.side[0].work = work[0], f.side[0].s = low;
    f.side[1].work = work[1], f.side[1].s = high;
    free(block);
    return unit_is_rate(m->unit) ? to_rate(f) : f;
}

static struct figures figures_of(struct probe_run *r, const struct probe_metric *m,
                                 const struct series *s)
{
    const double tick = tick_of(r, m);
    return m->form == PROBE_SLOPE ? of_slope(r, m, s, tick) : of_each(m, s, tick);
}

/* The metric's value in this run: what probe_median() returns. */
static double median_of(struct probe_run *r, const struct probe_metric *m, const struct series *s)
{
    if (s->has_direct || s->missing[0])
        return s->has_direct ? s->direct : (double)NAN;
    return s->grid ? stat_summarise(s->value, s->n).median : figures_of(r, m, s).s.median;
}

/* A document has no digits that nothing can tell apart: a bundle holds 10^5 numbers. Seven move a
 * figure by less than 10^-6 of it, and no verdict rests on less than 1 %. */
enum { FIGURE_DIGITS = 7, SPREAD_DIGITS = 3, CLOCK_DIGITS = 6, CELL_DIGITS = 5 };

/* Counts and sizes are whole. Far above them a rate may be, by chance. */
static bool is_whole(double value)
{
    return fabs(value) < 1e12 && value == floor(value);
}

static json_t *number(double value)
{
    return is_whole(value) ? json_integer((json_int_t)value) : document_number(value);
}

static json_t *rounded(double value, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return number(strtod(text, NULL));
}

/* What is whole keeps all of its digits. */
static json_t *figure(double value)
{
    return is_whole(value) ? number(value) : rounded(value, FIGURE_DIGITS);
}

static json_t *side_object(double work, const struct stat_summary *s)
{
    return json_pack("{s:o, s:I, s:o, s:o}", "work", figure(work), "n", (json_int_t)s->n, "median",
                     figure(s->median), "mad", rounded(s->mad, SPREAD_DIGITS));
}

/* A map's figures are those of its finite cells. */
static void describe_cells(json_t *object, const struct probe_metric *m, const struct series *s)
{
    struct stat_summary cells = stat_summarise(s->value, s->n);
    json_object_set_new(object, "n", json_integer((json_int_t)cells.n));
    json_object_set_new(object, "median", figure(cells.median));
    json_object_set_new(object, "best",
                        figure(m->better == PROBE_HIGHER ? cells.max : cells.min));
    json_object_set_new(object, "min", figure(cells.min));
    json_object_set_new(object, "max", figure(cells.max));
    json_object_set_new(object, "q1", figure(cells.q1));
    json_object_set_new(object, "q3", figure(cells.q3));
    json_object_set(object, "grid", s->grid);
}

/* Samples and their work, added up. */
struct total {
    double value, work;
};

static struct total total_of(const struct series *s)
{
    struct total t = {0, 0};
    for (size_t i = 0; i < s->n; i++) {
        t.value += s->value[i];
        t.work += s->work[i];
    }
    return t;
}

/* What one pass of a watched loop measured. */
static void describe_pass(struct probe_run *r, json_t *object, const struct series *s)
{
    const struct total t = total_of(s);
    json_object_set_new(object, "pass_value", document_number(t.value / r->loop.passes));
    json_object_set_new(object, "pass_work", document_number(t.work / r->loop.passes));
}

/* Unit and direction of a metric are said once in a run, by its name. Where two metrics of one name
 * differ in them, the second says its own. */
static void say_words(struct probe_run *r, json_t *object, const struct probe_metric *m)
{
    json_t *words = json_pack("{s:s, s:s}", "unit", m->unit, "better", better_name(m->better));
    const json_t *said = json_object_get(r->metrics, m->name);

    if (!said)
        json_object_set(r->metrics, m->name, words);
    else if (!json_equal(said, words))
        json_object_update(object, words);
    json_decref(words);
}

static json_t *metric_object(struct probe_run *r, const struct probe_metric *m,
                             const struct series *s)
{
    json_t *object = json_pack("{s:s}", "name", m->name);
    say_words(r, object, m);
    if (m->timer)
        json_object_set_new(object, "timer", json_string(m->timer));
    if (s->has_direct || s->missing[0]) {
        json_object_set_new(object, "n", json_integer(s->has_direct));
        json_object_set_new(object, "median", figure(s->has_direct ? s->direct : NAN));
        if (s->missing[0])
            json_object_set_new(object, "why", json_string(s->missing));
        return object;
    }
    if (s->grid) {
        describe_cells(object, m, s);
        return object;
    }

    const struct figures f = figures_of(r, m, s);
    const struct {
        const char *name;
        double value;
    } fields[] = {{"median", f.s.median}, {"best", f.best},   {"min", f.s.min}, {"max", f.s.max},
                  {"q1", f.s.q1},         {"q3", f.s.q3},     {"p01", f.s.p01}, {"p99", f.s.p99},
                  {"p999", f.s.p999}};
    json_object_set_new(object, "n", json_integer((json_int_t)f.s.n));
    for (size_t i = 0; i < PROBE_LENGTH(fields); i++)
        if (i < 2 || isfinite(fields[i].value))
            json_object_set_new(object, fields[i].name, figure(fields[i].value));
    if (!isfinite(f.s.median))
        json_object_set_new(
            object, "why",
            json_string(m->form == PROBE_SLOPE
                            ? "more work took less time: something else had the machine"
                            : "too few samples for this percentile"));
    if (isfinite(f.s.mad))
        json_object_set_new(object, "mad", rounded(f.s.mad, SPREAD_DIGITS));
    if (f.resolution > 0)
        json_object_set_new(object, "resolution", figure(f.resolution));
    if (r->watch)
        describe_pass(r, object, s);
    if (f.has_sides)
        json_object_set_new(object, "sides",
                            json_pack("[o, o]", side_object(f.side[0].work, &f.side[0].s),
                                      side_object(f.side[1].work, &f.side[1].s)));
    return object;
}

/* The clock while the case was sampled; `discarded` gets a cause when it moved too far. */
static json_t *clock_object(struct probe_run *r, char *discarded, size_t size)
{
    struct stat_summary c;
    const double moved = clock_moved(r, &c);

    if (moved > CLOCK_MOVED && !(r->flags & PROBE_POWER_BOUND))
        snprintf(discarded, size, "SM clock moved by %.1f %% (%.0f to %.0f MHz)", 100 * moved,
                 c.min, c.max);
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)c.n, "median_mhz",
                     figure(c.median), "min_mhz", rounded(c.min, CLOCK_DIGITS),
                     "max_mhz", rounded(c.max, CLOCK_DIGITS));
}

/* The clocks of the loops whose samples were dropped because it moved. */
static json_t *dropped_loops(const struct loop *loop)
{
    json_t *loops = json_array();
    for (size_t i = 0; i < loop->n_dropped; i++)
        json_array_append_new(
            loops, json_pack("{s:o, s:o}", "min_mhz", document_number(loop->dropped[i].least_mhz),
                             "max_mhz", document_number(loop->dropped[i].most_mhz)));
    return loops;
}

static bool series_empty(const struct series *s)
{
    return s->n == 0 && !s->has_direct && !s->missing[0] && !s->grid;
}

static void close_metrics(struct probe_run *r, json_t *metrics)
{
    for (size_t i = 0; i < probe.n_metrics; i++)
        if (!series_empty(&r->series[i]))
            json_array_append_new(metrics, metric_object(r, &probe.metrics[i], &r->series[i]));
}

void samples_close_case(struct probe_run *r)
{
    char discarded[96] = "";
    if (!r->in_case)
        return;
    r->in_case = false;

    json_t *metrics = json_array();
    close_metrics(r, metrics);
    if (json_array_size(metrics) > 0) {
        json_t *one = json_pack("{s:s, s:o}", "case", r->keys, "metrics", metrics);
        if (r->flags & PROBE_TWICE)
            json_object_set_new(one, "once", json_true());
        else if (r->flags & PROBE_THRICE)
            json_object_set_new(one, "thrice", json_true());
        if (r->flags & PROBE_POWER_BOUND)
            json_object_set_new(one, "power_bound", json_true());
        if (r->loop.stopped)
            json_object_set_new(one, "stopped", json_string(r->loop.stopped));
        if (r->loop.n_dropped > 0)
            json_object_set_new(one, "dropped_loops", dropped_loops(&r->loop));
        if (r->slow_mhz > 0)
            json_object_set_new(one, "slow_mhz", document_number(r->slow_mhz));
        if (r->n_clock > 0)
            json_object_set_new(one, "sm_clock", clock_object(r, discarded, sizeof discarded));
        if (discarded[0])
            json_object_set_new(one, "discarded", json_string(discarded));
        if (r->watch && r->loop.passes > 0)
            r->watch->close_case(r, one);
        if (json_object_size(r->facts) > 0)
            json_object_set(one, "facts", r->facts);
        json_array_append_new(r->cases, one);
    } else {
        json_decref(metrics);
    }

    json_decref(r->facts);
    r->facts = json_object();
    forget_samples(r);
    for (size_t i = 0; i < probe.n_metrics; i++) {
        r->series[i].has_direct = false;
        r->series[i].missing[0] = '\0';
        json_decref(r->series[i].grid);
        r->series[i].grid = NULL;
    }
}

double probe_median(struct probe_run *r, int metric)
{
    const struct series *s = &r->series[metric];
    const struct probe_metric *m = metric_of(r, metric);

    return series_empty(s) || r->watch ? NAN : median_of(r, m, s);
}

double probe_whole(struct probe_run *r, int metric)
{
    const struct series *s = &r->series[metric];
    const struct probe_metric *m = metric_of(r, metric);
    const struct total t = total_of(s);

    if (s->n == 0 || s->grid || s->has_direct || s->missing[0] || r->watch)
        return NAN;
    return unit_is_rate(m->unit) ? 1e9 * t.work / t.value : t.value / t.work;
}

void probe_value(struct probe_run *r, int metric, double value)
{
    metric_of(r, metric);
    r->series[metric].direct = value;
    r->series[metric].has_direct = isfinite(value);
    if (!isfinite(value) && !r->options.check && !r->watch)
        probe_missing(r, metric, "not a finite number in this run");
}

/* A map has thousands of cells, and none is known more precisely. */
static json_t *cell(double value)
{
    return rounded(value, CELL_DIGITS);
}

static json_t *axis_object(struct probe_axis axis)
{
    json_t *at = json_array();
    for (size_t i = 0; i < axis.n; i++)
        json_array_append_new(at, cell(axis.at ? axis.at[i] : (double)i));
    return json_pack("{s:s, s:o}", "name", axis.name, "at", at);
}

void probe_grid(struct probe_run *r, int metric, struct probe_axis rows, struct probe_axis columns,
                const double *values)
{
    struct series *s = &r->series[metric];
    json_t *cells = json_array();

    metric_of(r, metric);
    s->n = 0;
    for (size_t i = 0; i < rows.n * columns.n; i++) {
        json_array_append_new(cells, cell(values[i]));
        if (isfinite(values[i]) && !r->options.check)
            probe_sample(r, metric, 1, values[i]);
    }
    json_decref(s->grid);
    s->grid = json_pack("{s:[o, o], s:o}", "axes", axis_object(rows), axis_object(columns),
                        "values", cells);
}

void probe_missing(struct probe_run *r, int metric, const char *why)
{
    metric_of(r, metric);
    snprintf(r->series[metric].missing, sizeof r->series[metric].missing, "%s", why);
}

void probe_fact(struct probe_run *r, const char *key, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_object_set_new(r->facts, key, json_string(text));
}

void samples_free(struct probe_run *r)
{
    for (size_t i = 0; r->series && i < probe.n_metrics; i++) {
        free(r->series[i].value);
        free(r->series[i].work);
        json_decref(r->series[i].grid);
    }
    free(r->series);
    free(r->clock_mhz);
    json_decref(r->facts);
    json_decref(r->metrics);
}
