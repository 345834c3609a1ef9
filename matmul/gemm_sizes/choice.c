#include "matmul/gemm_sizes/choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matmul/gemm_sizes/check.h"
#include "matmul/gemm_sizes/search.h"

/* Multiples of every tile, so that all of our kernels take all of them. */
static const struct product_shape choice_shapes[] = {
    {.m = 256, .n = 256, .k = 1024},  {.m = 512, .n = 512, .k = 512},
    {.m = 512, .n = 2048, .k = 1024}, {.m = 1024, .n = 1024, .k = 1024},
    {.m = 2048, .n = 1024, .k = 512}, {.m = 1536, .n = 1536, .k = 1536},
    {.m = 256, .n = 2048, .k = 2048}, {.m = 2048, .n = 2048, .k = 2048},
};
enum { CHOICE_SHAPES = PROBE_LENGTH(choice_shapes), CHOICE_WAYS = N_OWN, NAMES_IN_FACT = 8 };

enum chooser { MEASURED, NEIGHBOUR, RULE, ELSEWHERE, FIXED, WORST, CHOOSERS };
static const char *const chooser_names[] = {"measured",        "neighbour", "rule",
                                            "fixed_elsewhere", "fixed",     "worst"};

struct choice {
    size_t n; /* kernels */
    char names[CHOICE_WAYS][32];
    double ns[2][CHOICE_WAYS][CHOICE_SHAPES]; /* by pass; NaN: not available here */
    unsigned blocks[CHOICE_WAYS][CHOICE_SHAPES], area[CHOICE_WAYS];
    bool newest[CHOICE_WAYS];
    double over_best[CHOOSERS]; /* geometric means */
    double slowest;             /* the slowest kernel on any shape over the fastest on it */
    double moved;               /* geometric mean of the distance between the two passes */
};

/* --- what is measured ------------------------------------------------------------------------ */

static void describe_row(const struct probe_run *r, struct choice *c, size_t i, const struct way *w,
                         size_t shape)
{
    const uint32_t m = w->mma ? w->mma->m : w->wgmma->m, n = w->mma ? w->mma->n : w->wgmma->n;
    const struct product_shape *s = &choice_shapes[shape];

    snprintf(c->names[i], sizeof c->names[i], "%s %s", way_names[w->impl], way_tile(w));
    c->area[i] = m * n;
    c->newest[i] = w->wgmma || gpu_facts(r)->cc != 90;
    c->blocks[i][shape] =
        ((unsigned)s->m + m - 1) / m * (((unsigned)s->n + n - 1) / n) * way_split(w);
}

/* Times one kernel on one shape; in full runs verifies its result, too. */
static double time_way(struct probe_run *r, const struct ways *ways, struct subject *s,
                       struct way w, bool verify)
{
    double ns = NAN;
    if (way_open(r, ways, &s->product, &w)) {
        ns = way_quick_ns(r, ways, &s->product, &w, s->sets);
        if (verify) {
            product_poison(r, &s->product);
            way_multiply(r, ways, &s->product, &w, 0);
            probe_require(r, sizes_is_right(r, &s->product), "%s %s computes %d x %d x %d",
                          way_names[w.impl], way_tile(&w), s->shape.m, s->shape.n, s->shape.k);
        }
    }
    way_close(r, &w);
    return ns;
}

/* All kernels in the order of the tables, also those that this GPU lacks: the map keeps its
 * rows. */
static void time_shape(struct probe_run *r, const struct ways *ways, struct choice *c, size_t shape)
{
    struct subject s = {.shape = choice_shapes[shape]};
    s.shape.type = GPU_FP16;
    s.shape.layout = "nn";
    sizes_subject_open(r, &s);
    c->n = N_OWN;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->n; i++) {
            const struct way w = sizes_own_row(i);
            describe_row(r, c, i, &w, shape);
            c->ns[pass][i][shape] = time_way(r, ways, &s, w, pass == 1 && probe_in_full(r));
        }
    sizes_subject_close(r, &s);
}

/* --- how the choosers choose ----------------------------------------------------------------- */

/* The fastest of a pass on one shape among the kernels that also take shape `too`; n: none. */
static size_t fastest_on(const struct choice *c, int pass, size_t shape, size_t too)
{
    size_t best = c->n;
    for (size_t i = 0; i < c->n; i++)
        if (!isnan(c->ns[pass][i][shape]) && !isnan(c->ns[1][i][too]) &&
            (best == c->n || c->ns[pass][i][shape] < c->ns[pass][best][shape]))
            best = i;
    return best;
}

static size_t nearest_other(size_t shape)
{
    const struct product_shape *s = &choice_shapes[shape];
    double least = INFINITY;
    size_t nearest = shape;

    for (size_t i = 0; i < CHOICE_SHAPES; i++) {
        const struct product_shape *t = &choice_shapes[i];
        double far = fabs(log2((double)s->m / t->m)) + fabs(log2((double)s->n / t->n)) +
                     fabs(log2((double)s->k / t->k));
        if (i != shape && far < least) {
            least = far;
            nearest = i;
        }
    }
    return nearest;
}

static size_t by_rule(const struct choice *c, size_t shape, int n_sm)
{
    size_t largest = c->n, most = c->n;
    for (size_t i = 0; i < c->n; i++) {
        if (isnan(c->ns[1][i][shape]) || !c->newest[i])
            continue;
        if (c->blocks[i][shape] * 10.0 >= n_sm * 9.0 &&
            (largest == c->n || c->area[i] > c->area[largest]))
            largest = i;
        if (most == c->n || c->blocks[i][shape] > c->blocks[most][shape])
            most = i;
    }
    return largest < c->n ? largest : most;
}

/* The kernel that the first pass finds fastest, on average, on the other seven shapes: a fixed
 * choice that has not seen this one. n: none. */
static size_t fixed_elsewhere(const struct choice *c, size_t shape)
{
    size_t best = c->n;
    double least = INFINITY;

    for (size_t i = 0; i < c->n; i++) {
        double sum = 0; /* NaN where the kernel does not take them all */
        for (size_t s = 0; s < CHOICE_SHAPES; s++)
            sum += s == shape ? 0 : log(c->ns[0][i][s]);
        if (!isnan(c->ns[1][i][shape]) && sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

/* --- what the choices cost ------------------------------------------------------------------- */

/* The cost of using kernel i for all shapes; NaN if it does not take them all. */
static double of_fixed(const struct choice *c, size_t i)
{
    double sum = 0;
    for (size_t s = 0; s < CHOICE_SHAPES; s++)
        sum += log(c->ns[1][i][s] / c->ns[1][fastest_on(c, 1, s, s)][s]);
    return exp(sum / CHOICE_SHAPES);
}

static double of_chooser(const struct choice *c, enum chooser by, int n_sm)
{
    double sum = 0;
    for (size_t s = 0; s < CHOICE_SHAPES; s++) {
        size_t i = by == MEASURED    ? fastest_on(c, 0, s, s)
                   : by == NEIGHBOUR ? fastest_on(c, 0, nearest_other(s), s)
                   : by == ELSEWHERE ? fixed_elsewhere(c, s)
                                     : by_rule(c, s, n_sm);
        sum += i < c->n ? log(c->ns[1][i][s] / c->ns[1][fastest_on(c, 1, s, s)][s]) : (double)NAN;
    }
    return exp(sum / CHOICE_SHAPES);
}

/* Without a kernel of ours all figures stay NaN. */
static void judge_choices(struct choice *c, int n_sm)
{
    double moved = 0;
    size_t n_moved = 0;

    for (size_t by = 0; by < CHOOSERS; by++)
        c->over_best[by] = NAN;
    c->slowest = c->moved = NAN;
    for (size_t s = 0; s < CHOICE_SHAPES; s++)
        if (fastest_on(c, 1, s, s) == c->n)
            return;
    for (size_t by = MEASURED; by <= ELSEWHERE; by++)
        c->over_best[by] = of_chooser(c, (enum chooser)by, n_sm);
    for (size_t i = 0; i < c->n; i++) {
        c->over_best[FIXED] = fmin(c->over_best[FIXED], of_fixed(c, i));
        c->over_best[WORST] = fmax(c->over_best[WORST], of_fixed(c, i));
        for (size_t s = 0; s < CHOICE_SHAPES; s++) {
            double over = c->ns[1][i][s] / c->ns[1][fastest_on(c, 1, s, s)][s];
            if (isnan(over))
                continue;
            c->slowest = fmax(c->slowest, over);
            moved += fabs(log(c->ns[0][i][s] / c->ns[1][i][s]));
            n_moved++;
        }
    }
    c->moved = exp(moved / (double)n_moved);
}

static struct choice *make_choices(struct probe_run *r, const struct ways *ways)
{
    struct choice *c = probe_host_alloc(r, sizeof *c);
    for (size_t shape = 0; shape < CHOICE_SHAPES; shape++)
        time_shape(r, ways, c, shape);
    judge_choices(c, gpu_facts(r)->n_sm);
    return c;
}

/* --- reporting ------------------------------------------------------------------------------- */

static void say_map(struct probe_run *r, const struct choice *c)
{
    double *cells = probe_host_alloc(r, c->n * CHOICE_SHAPES * sizeof *cells);
    char kernels[256], key[32], shapes[256] = "";

    for (size_t i = 0; i < c->n; i++) { /* as many names to a fact as it holds */
        const size_t first = i % NAMES_IN_FACT == 0, used = first ? 0 : strlen(kernels);
        snprintf(kernels + used, sizeof kernels - used, "%s%s", first ? "" : ", ", c->names[i]);
        snprintf(key, sizeof key, "kernels_from_%zu", i - i % NAMES_IN_FACT);
        probe_fact(r, key, "%s", kernels);
        for (size_t s = 0; s < CHOICE_SHAPES; s++)
            cells[i * CHOICE_SHAPES + s] = c->ns[1][i][s];
    }
    for (size_t s = 0; s < CHOICE_SHAPES; s++)
        snprintf(shapes + strlen(shapes), sizeof shapes - strlen(shapes), "%s%dx%dx%d",
                 s ? ", " : "", choice_shapes[s].m, choice_shapes[s].n, choice_shapes[s].k);
    probe_fact(r, "shapes", "%s", shapes);
    probe_grid(r, VARIANTS, (struct probe_axis){"kernel", c->n, NULL},
               (struct probe_axis){"shape", CHOICE_SHAPES, NULL}, cells);
    free(cells);
}

void sizes_measure_choices(struct probe_run *r, const struct ways *ways)
{
    struct choice *c = NULL;
    const unsigned flags = PROBE_THRICE | PROBE_SLOW | PROBE_POWER_BOUND;

    for (int by = 0; by < CHOOSERS; by++)
        if (probe_begin_case(r, flags, "by=%s", chooser_names[by])) {
            c = c ? c : make_choices(r, ways);
            if (isnan(c->over_best[by]))
                probe_missing(r, OVER_BEST, "none of our kernels runs on this GPU");
            else
                probe_value(r, OVER_BEST, c->over_best[by]);
        }
    if (probe_begin_case(r, flags, "of=all")) {
        c = c ? c : make_choices(r, ways);
        if (!isnan(c->slowest)) {
            probe_value(r, SLOWEST, c->slowest);
            probe_value(r, MOVED, c->moved);
        }
    }
    if (probe_begin_case(r, PROBE_TWICE | PROBE_POWER_BOUND, "of=all")) {
        c = c ? c : make_choices(r, ways);
        if (!isnan(c->slowest))
            say_map(r, c);
    }
    free(c);
}
