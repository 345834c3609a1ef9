/* Products of N x N x N: what decides their time as N grows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/sections.h"
#include "report/page/take.h"

enum { CUBLAS, CUBLASLT, OURS, IMPLS, OVER = IMPLS, FIXED, MARGINAL, FIT, WGMMA, MMA, ALONE };
#define CUBE "{m=%s,n=%s,k=%s,type=fp16,acc=fp32,layout=nn,impl="
#define FITTED "{type=fp16,acc=fp32,layout=nn,impl=%s,*l2=warm,*}"
const char *const sizes_needs[] = {
    [CUBLAS] = "gemm_sizes.time" CUBE "cublas,*l2=warm,*}",
    [CUBLASLT] = "gemm_sizes.time" CUBE "cublaslt,tile=best,l2=warm,*}",
    [OURS] = "gemm_sizes.time" CUBE "own,tile=best,l2=warm,*}",
    [OVER] = "gemm_sizes.over_library" CUBE "own,tile=best,l2=warm}", /* beside OURS */
    [FIXED] = "derived.fixed_time" FITTED,
    [MARGINAL] = "derived.marginal_flops" FITTED,
    [FIT] = "derived.fit_error" FITTED,
    [WGMMA] = "instructions.throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,*}",
    [MMA] = "instructions.throughput{op=mma,shape=m16n8k16,type=fp16,acc=fp32*}",
    [ALONE] = "instructions.tensor_peak{op=%s,*type=fp16,acc=fp32*}",
    NULL,
};
static const char *const impls[] = {[CUBLAS] = "cublas", [CUBLASLT] = "cublaslt", [OURS] = "own"};

/* Fixed cost, the time at N = 0, decides while it is more than this share of the time. The clock
 * has fallen where it is below this share of what the chip runs without load. */
static const double DECIDES = 1.0 / 3, FALLEN = 0.85;

/* --- the sizes -------------------------------------------------------------------------------- */

enum { SIZES_MAX = 15 };
struct size {
    double n;
    const struct row *time[IMPLS], *best;
    int fastest;         /* the implementation of best */
    struct number rate;  /* of the fastest */
    struct number share; /* of what the tensor cores compute at the clock of the fastest */
};
struct sizes {
    size_t n;
    struct size size[SIZES_MAX];
    double per_cycle; /* multiply-adds of the tensor cores of all SMs in a cycle */
};

static struct size *size_of(struct sizes *all, double n)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->size[i].n == n)
            return &all->size[i];
    if (all->n == SIZES_MAX)
        return NULL;
    all->size[all->n] = (struct size){.n = n};
    return &all->size[all->n++];
}

static int by_n(const void *a, const void *b)
{
    const struct size *x = a, *y = b;
    return (x->n > y->n) - (x->n < y->n);
}

/* The unit of throughput is multiply-adds in a cycle of an SM. */
static double tensor_cores(const struct summary *summary)
{
    const struct row *wgmma = take_row(summary, sizes_needs[WGMMA]);
    const struct row *fastest = wgmma ? wgmma : take_row(summary, sizes_needs[MMA]);
    return fastest ? summary_sms(summary) * fastest->centre : (double)NAN;
}

static void find_best(const struct summary *summary, double per_cycle, struct size *size)
{
    for (int impl = 0; impl < IMPLS; impl++) {
        const struct row *time = size->time[impl];
        if (time && (!size->best || time->centre < size->best->centre)) {
            size->best = time;
            size->fastest = impl;
        }
    }
    const struct row *flops =
        rows_beside(&summary->bundle->rows, size->best, "derived.flops", NULL, NULL);
    const double peak = 2 * per_cycle * size->best->clock_mhz * 1e6;
    size->rate = number_of(flops);
    size->share = number_formed(size->rate.value / peak, "ratio", &size->rate);
}

static void find_sizes(const struct summary *summary, struct sizes *all)
{
    const struct row *time;
    struct size *size;

    for (int impl = 0; impl < IMPLS; impl++)
        for (size_t next = 0; (time = take_next(summary, sizes_needs[impl], &next));) {
            const double n = take_key(time, "n");
            if (n == take_key(time, "m") && n == take_key(time, "k") && (size = size_of(all, n)))
                size->time[impl] = time;
        }
    qsort(all->size, all->n, sizeof all->size[0], by_n);
    all->per_cycle = tensor_cores(summary);
    for (size_t i = 0; i < all->n; i++)
        find_best(summary, all->per_cycle, &all->size[i]);
}

/* --- the finding ------------------------------------------------------------------------------ */

static struct number fitted(const struct summary *summary, int need, int impl)
{
    return take_number(summary, sizes_needs[need], impls[impl]);
}

/* The largest size up to which fixed cost decides at every size; NULL: at none. */
static const struct size *last_fixed(const struct summary *summary, const struct sizes *all)
{
    const struct size *last = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const struct number fixed = fitted(summary, FIXED, all->size[i].fastest);
        if (!(fixed.value > DECIDES * all->size[i].best->centre))
            break;
        last = &all->size[i];
    }
    return last;
}

/* The smallest size from which the clock has fallen at every size; NULL: at none. */
static const struct size *first_fallen(const struct summary *summary, const struct sizes *all)
{
    const double least = FALLEN * summary_clock_mhz(summary);
    const struct size *first = NULL;
    for (size_t i = all->n; i-- > 0;) {
        if (!(all->size[i].best->clock_mhz < least))
            break;
        first = &all->size[i];
    }
    return first;
}

static void find(const struct summary *summary, const struct sizes *all, struct section *s)
{
    const struct size *fixed = last_fixed(summary, all), *fallen = first_fallen(summary, all);
    const struct size *largest = &all->size[all->n - 1];

    for (const struct size *size = all->size; fixed && size <= fixed; size++) {
        const struct number its = fitted(summary, FIXED, size->fastest);
        section_rests(s, &its);
        section_rests_on(s, size->best);
    }
    for (const struct size *size = fallen; size && size <= largest; size++) {
        const struct number time = number_of(size->best);
        const struct number clock = number_formed(size->best->clock_mhz * 1e6, "hertz", &time);
        section_rests(s, &clock);
    }
    if (!fixed && !fallen)
        section_rests(s, &largest->rate);
    if (fixed && fallen)
        s->finding = section_text(
            s,
            "To N = %.0f over a third is the time at N = 0; from %.0f the clock "
            "is under %.0f %%.",
            fixed->n, fallen->n, 100 * FALLEN);
    else if (fixed)
        s->finding =
            section_text(s, "To N = %.0f over a third is the time at N = 0.", fixed->n);
    else if (fallen)
        s->finding = section_text(s, "From N = %.0f the clock is under %.0f %%.", fallen->n,
                                  100 * FALLEN);
    else if (number_there(&largest->rate))
        s->finding = section_text(s, "N = %.0f runs at %s.", largest->n,
                                  section_say(s, &largest->rate, "TFLOP/s"));
}

/* --- the table -------------------------------------------------------------------------------- */

static void tabulate(const struct summary *summary, const struct sizes *all, struct section *s)
{
    static const struct column columns[] = {
        {"fp16, warm", "N", NULL, 'r'},
        {"cuBLAS", "us", "us", 'r'},
        {"cuBLASLt", "best us", "us", 'r'},
        {"ours", "us", "us", 'r'},
        {"ours over", "library", "x", 'r'},
        {"best", "TFLOP/s", "TFLOP/s", 'r'},
        {"of tensor cores", "% at this clock", "%", 'r'},
        {NULL, NULL, NULL, 'l'},
        {"clock", "MHz", "MHz", 'r'},
    };
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; i < all->n; i++) {
        const struct size *size = &all->size[i];
        const struct number best = number_of(size->best);
        const struct number clock = number_formed(size->best->clock_mhz * 1e6, "hertz", &best);
        const struct number over = take_beside(summary, size->time[OURS], "over_library");
        grid_text(grid, section_text(s, "%.0f", size->n));
        for (int impl = 0; impl < IMPLS; impl++) {
            const struct number time =
                size->time[impl] ? number_of(size->time[impl]) : number_none();
            grid_number(grid, &time);
        }
        grid_number(grid, &over);
        grid_number(grid, &size->rate);
        grid_number(grid, &size->share);
        grid_bar(grid, &size->share);
        grid_number(grid, &clock);
    }
}

/* The figure: rates over N, and what the tensor cores compute at the clock held. */
static void draw(const struct summary *summary, const struct sizes *all, struct section *s)
{
    static const char *const names[] = {
        [CUBLAS] = "cuBLAS", [CUBLASLT] = "cuBLASLt, best", [OURS] = "ours"};

    for (int impl = 0; impl < IMPLS; impl++) {
        struct series *series = section_series(s, names[impl], "N");
        for (size_t i = 0; i < all->n; i++) {
            const struct row *time = all->size[i].time[impl];
            const struct number rate = time ? number_of(rows_beside(&summary->bundle->rows, time,
                                                                    "derived.flops", NULL, NULL))
                                            : number_none();
            if (number_there(&rate))
                series_put(series, all->size[i].n, &rate, NULL);
        }
    }
    struct series *limit = section_series(s, "the tensor cores at the clock held", "N");
    for (size_t i = 0; i < all->n; i++) {
        const struct size *size = &all->size[i];
        const struct number peak =
            number_formed(size->rate.value / size->share.value, "flop/s", &size->rate);
        if (number_there(&peak))
            series_put(limit, size->n, &peak, NULL);
    }
}

/* --- the notes -------------------------------------------------------------------------------- */

/* Of our best kernel over the better library of the same run: is it surely below 1, or above? */
static bool is_faster(const struct number *over)
{
    return over->high < 1;
}

static bool is_slower(const struct number *over)
{
    return over->low > 1;
}

static bool is_so(const struct summary *summary, const struct size *size,
                  bool (*is)(const struct number *))
{
    const struct number over = take_beside(summary, size->time[OURS], "over_library");
    return is(&over);
}

/* " faster at 128 to 1536": the sizes where it is; "" if it is nowhere. */
static const char *say_where(const struct summary *summary, const struct sizes *all,
                             bool (*is)(const struct number *), const char *word, struct section *s)
{
    const char *list = "";
    bool before = false;

    for (size_t i = 0; i < all->n; i++) {
        const bool here = is_so(summary, &all->size[i], is);
        const bool after = i + 1 < all->n && is_so(summary, &all->size[i + 1], is);
        if (here && before && !after)
            list = section_text(s, "%s to %.0f", list, all->size[i].n);
        else if (here && !before)
            list = section_text(s, "%s%s %.0f", list, *list ? "," : "", all->size[i].n);
        before = here;
    }
    return *list ? section_text(s, " %s at%s", word, list) : "";
}

static void compare(const struct summary *summary, const struct sizes *all, struct section *s)
{
    const char *faster = say_where(summary, all, is_faster, "faster", s);
    const char *slower = say_where(summary, all, is_slower, "slower", s);

    section_note(s,
                 "Ours over library: timed in turn, so that both have one clock; the times are of "
                 "separate loops.");
    if (*faster || *slower)
        section_go_on(s, "Ours is%s%s%s.", faster, *faster && *slower ? ";" : "", slower);
}

/* From where on the clock has fallen, and to what. */
static void note_clock(const struct summary *summary, const struct sizes *all, struct section *s)
{
    double least = INFINITY;

    for (const struct size *size = first_fallen(summary, all); size && size < all->size + all->n;
         size++)
        least = fmin(least, size->best->clock_mhz);
    if (isfinite(least))
        section_go_on(s, "The clock: %.0f %% of %.0f MHz; %.0f at worst.", 100 * FALLEN,
                      summary_clock_mhz(summary), least);
}

/* "Our times follow 1.82 us + 2 N^3 / 711 TFLOP/s; 9 % off, by root mean square. wgmma alone keeps
 * up 883 TFLOP/s." */
static void note(const struct summary *summary, struct section *s)
{
    const struct number fixed = fitted(summary, FIXED, OURS), fit = fitted(summary, FIT, OURS);
    const struct number marginal = fitted(summary, MARGINAL, OURS);
    const bool is_wgmma = take_row(summary, sizes_needs[WGMMA]) != NULL;
    const struct number alone =
        take_number(summary, sizes_needs[ALONE], is_wgmma ? "wgmma" : "mma");
    const char *said = "";

    if (number_there(&fixed) && number_there(&marginal) && number_there(&fit))
        said = section_text(
            s, "Our times follow %s + 2 N^3 / %s; %.0f %% off, by root mean square.",
            section_say(s, &fixed, NULL), section_say(s, &marginal, NULL), 100 * fit.value);
    if (number_there(&alone))
        said = section_text(s, "%s%s%s alone keeps up %s.", said, *said ? " " : "",
                            is_wgmma ? "wgmma" : "mma.sync", section_say(s, &alone, "TFLOP/s"));
    if (*said)
        section_note(s, "%s", said);
}

void section_sizes(const struct summary *summary, struct section *s)
{
    struct sizes all = {0};

    s->name = "sizes";
    s->title = "PRODUCT SIZES";
    find_sizes(summary, &all);
    if (all.n == 0) {
        section_missing(s, summary, sizes_needs[OURS]);
        return;
    }
    find(summary, &all, s);
    tabulate(summary, &all, s);
    draw(summary, &all, s);
    compare(summary, &all, s);
    note_clock(summary, &all, s);
    note(summary, s);
    section_doubts(s);
    s->claims = "C26";
}
