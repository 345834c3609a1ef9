/* memory_map: what a line in the L2 costs each SM, by atomics, loads and fresh loads. */
#include "probes/memory_map/memory_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/stat.h"

enum access { BY_ATOMIC, BY_LOAD, FRESH, N_ACCESS };
enum { MAP_LINES = 48, SM_MAX = 1024, WARM_STEPS = 4 };

struct maps {
    size_t n_sm, n, far; /* rows, columns; the last `far` columns are far from SM 0 */
    double *cells[N_ACCESS], *some, border;
    char group[SM_MAX + 1]; /* '0' or '1' for each SM */
    int groups;
};

static int side_of(const struct maps *x, size_t sm, size_t j)
{
    return x->cells[BY_ATOMIC][sm * x->n + j] > x->border ? FAR : NEAR;
}

static void take_map(struct probe_run *r, struct mapper *m, enum kernel kernel, struct maps *x,
                     enum access access)
{
    double *row = x->cells[access] = probe_host_alloc(r, x->n_sm * x->n * sizeof *row);
    for (size_t sm = 0; sm < x->n_sm; sm++, row += x->n) {
        map_chase(r, m, kernel, (uint32_t)sm, m->line, x->n, WARM_STEPS, 1, m->line[x->n - 1]);
        for (size_t j = 0; j < x->n; j++)
            row[j] = ((double)m->copied[j].long_cycles - (double)m->copied[j].short_cycles) /
                     (CHASE_LONG - CHASE_SHORT);
    }
}

/* An SM joins SM 0 in group 0 if most of the lines near to SM 0 are near to it. */
static void group_sms(struct probe_run *r, struct maps *x)
{
    size_t all = x->n_sm * x->n, fit = 0;

    x->border = home_border(r, x->cells[BY_ATOMIC], all);
    for (size_t sm = 0; sm < x->n_sm; sm++) {
        size_t differ = 0;
        for (size_t j = 0; j < x->n; j++)
            differ += side_of(x, sm, j) != side_of(x, 0, j);
        x->group[sm] = 2 * differ > x->n ? '1' : '0';
        fit += x->group[sm] == '1' ? differ : x->n - differ;
    }
    x->groups = isfinite(x->border) && 100 * (all - fit) <= all ? 2 : 1;
    if (x->groups == 1)
        x->border = INFINITY;
}

/* Second method for the sides, on which near and far rest in this probe and in those that read its
 * maps: chases of atomics must find SM 0's lines where single atomics put them. */
static void check_sides(struct probe_run *r, const struct maps *x)
{
    size_t differ = 0;
    for (size_t j = 0; j < x->n; j++)
        differ += (side_of(x, SM, j) == FAR) != (j >= x->n - x->far);
    if (x->groups == 2 && !probe_is_check_run(r))
        probe_require(r, differ == 0, "%zu of %zu lines lie elsewhere by chase than by one atomic",
                      differ, x->n);
}

static void take_maps(struct probe_run *r, struct mapper *m, const struct home_sides *s,
                      struct maps *x)
{
    x->n_sm = probe_is_check_run(r) ? 4 : (size_t)gpu_facts(r)->n_sm;
    x->n = probe_is_check_run(r) ? 4 : MAP_LINES;
    x->some = probe_host_alloc(r, x->n_sm * x->n * sizeof *x->some);
    x->far = s->n[FAR] > x->n ? x->n / 2 : 0;
    for (size_t j = 0; j < x->n; j++)
        m->line[j] = s->line[j < x->n - x->far ? NEAR : FAR][j];
    map_link_lines(r, m, m->line, x->n, false);
    take_map(r, m, ATOMIC, x, BY_ATOMIC);
    take_map(r, m, LOAD_L2, x, BY_LOAD);
    take_map(r, m, BOTH, x, FRESH);
    for (size_t i = 0; i < x->n_sm * x->n; i++)
        x->cells[FRESH][i] -= x->cells[BY_ATOMIC][i];
    group_sms(r, x);
    check_sides(r, x);
    map_check_ends(r, m);
}

static double median_of_side(const struct maps *x, enum access access, int side)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n_sm * x->n; i++)
        if (side_of(x, i / x->n, i % x->n) == side)
            x->some[n++] = x->cells[access][i];
    return stat_summarise(x->some, n).median;
}

/* The SMs with the lowest and the highest mean latency over the lines. */
static void show_sms(struct probe_run *r, const struct maps *x, enum access access)
{
    double best = INFINITY, worst = 0;
    for (size_t sm = 0; sm < x->n_sm; sm++) {
        double mean = 0;
        for (size_t j = 0; j < x->n; j++)
            mean += x->cells[access][sm * x->n + j] / (double)x->n;
        best = fmin(best, mean);
        worst = fmax(worst, mean);
    }
    probe_value(r, BEST_SM, best);
    probe_value(r, WORST_SM, worst);
}

void map_measure_sms(struct probe_run *r, struct mapper *m, const struct home_sides *s)
{
    static const char *const names[] = {"atomic", "load", "fresh"};
    struct maps x = {0};

    for (enum access access = 0; access < N_ACCESS; access++) {
        if (!probe_begin_case(r, PROBE_TWICE, "access=%s", names[access]))
            continue;
        if (x.n == 0)
            take_maps(r, m, s, &x);
        probe_grid(r, L2, (struct probe_axis){.name = "sm", .n = x.n_sm},
                   (struct probe_axis){.name = "line", .n = x.n}, x.cells[access]);
        probe_value(r, L2_NEAR, median_of_side(&x, access, NEAR));
        if (x.groups == 2)
            probe_value(r, L2_FAR, median_of_side(&x, access, FAR));
        else
            probe_missing(r, L2_FAR, map_one_side);
        if (access == BY_LOAD)
            show_sms(r, &x, access);
        if (access == BY_ATOMIC) {
            probe_value(r, SM_GROUPS, x.groups);
            probe_fact(r, "group_of_sm", "%s", x.group);
        }
    }
}
