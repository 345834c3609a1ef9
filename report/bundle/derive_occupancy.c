#include "report/bundle/derive_occupancy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"

enum { READ_RATE, HIT, FMA_RATE, LOAD_TIME, RATE, LOAD, SM_RATE, FMA_LATENCY, FMA_LANES };
const char *const derive_occupancy_needs[] = {
    [READ_RATE] = "occupancy.read_rate{level=*,*}",
    [HIT] = "occupancy.hit{memory=*,stride=1,*}",
    [FMA_RATE] = "occupancy.fma_rate{*}",
    [LOAD_TIME] = "memory_latency.load_time{level=%s,*}",
    [RATE] = "bandwidth.rate{level=%s,op=read,path=ld,*}",
    [LOAD] = "memory_latency.load{level=%s}",
    [SM_RATE] = "bandwidth.sm_rate{level=%s,op=read,path=ld,*}",
    [FMA_LATENCY] = "instructions.latency{op=fma,type=fp32}",
    [FMA_LANES] = "instructions.throughput{op=fma,type=fp32}",
    NULL,
};

enum { LOAD_BYTES = 32 * 16, SHARED_BYTES = 32 * 4, L1_BYTES = 32 * 8, QUARTERS = 4 };

/* Of two numbers, both of which must be known: fmin() and fmax() would give the other one. */
static double least(double a, double b)
{
    return isnan(a + b) ? (double)NAN : fmin(a, b);
}

static double most(double a, double b)
{
    return isnan(a + b) ? (double)NAN : fmax(a, b);
}

double derive_little_rate(double bytes, double load_ns, double n_sm, double limit)
{
    return least(bytes * n_sm / load_ns * 1e9, limit);
}

double derive_little_hit(double in_flight, double load_cycles, double bytes, double bytes_a_cycle)
{
    return most(load_cycles, in_flight * bytes / bytes_a_cycle);
}

double derive_little_fma(double warps, double chains, double fma_cycles, double lanes)
{
    return least(warps * 32 * chains / fma_cycles, lanes * fmin(warps, QUARTERS) / QUARTERS);
}

/* --- a curve's points ------------------------------------------------------------------------- */

/* The last of a level, the one of most bytes, where a need is met several times. NULL: none that
 * may be used. */
static const struct row *of_level(const struct rows *rows, int need, const char *level)
{
    const struct row *row, *last = NULL;
    char glob[96];
    if (strpbrk(level, "*?[\\"))
        return NULL;
    snprintf(glob, sizeof glob, derive_occupancy_needs[need], level);
    for (size_t next = 0; (row = rows_match(rows, glob, &next));)
        last = row_usable(row) ? row : last;
    return last;
}

static double predict_rate(const struct row *point, double load_ns, double limit, double n_sm)
{
    double bytes = row_key_number(point, "warps") * row_key_number(point, "loads") * LOAD_BYTES;
    return derive_little_rate(bytes, load_ns, n_sm, limit);
}

static double predict_hit(const struct row *point, double load_cycles, double limit, double n_sm)
{
    char memory[16] = "";
    (void)n_sm;
    row_key(point, "memory", memory, sizeof memory);
    return derive_little_hit(row_key_number(point, "warps") * row_key_number(point, "loads"),
                             load_cycles, strcmp(memory, "shared") ? L1_BYTES : SHARED_BYTES,
                             limit);
}

static double predict_fma(const struct row *point, double fma_cycles, double lanes, double n_sm)
{
    (void)n_sm;
    return derive_little_fma(row_key_number(point, "warps"), row_key_number(point, "chains"),
                             fma_cycles, lanes);
}

static const struct curve_kind {
    int points, latency, limit;
    const char *name, *unit, *place; /* of the point's id: which level's figures it takes */
    enum row_better better;
    double (*predict)(const struct row *point, double latency, double limit, double n_sm);
} kinds[] = {
    {READ_RATE, LOAD_TIME, RATE, "derived.little_rate", "bytes/s", "level", ROW_HIGHER,
     predict_rate},
    {HIT, LOAD, SM_RATE, "derived.little_hit", "cycles", "memory", ROW_LOWER, predict_hit},
    {FMA_RATE, FMA_LATENCY, FMA_LANES, "derived.little_fma", "ops/cycle", NULL, ROW_HIGHER,
     predict_fma},
};

static void put_point(const struct rows *rows, struct rows *made, const struct curve_kind *kind,
                      const struct row *point, double n_sm)
{
    char place[32] = "", id[DOCUMENT_ID];
    if (kind->place)
        row_key(point, kind->place, place, sizeof place);
    const struct row *latency = of_level(rows, kind->latency, place);
    const struct row *limit = of_level(rows, kind->limit, place);
    if (!latency || !limit || !row_usable(point))
        return;
    snprintf(id, sizeof id, "%s%s", kind->name, strchr(point->id, '{'));
    struct row *row = rows_get(made, id, kind->unit, kind->better);
    if (!row)
        return;
    row->method = point->method;
    row->once = point->once;
    row->thrice = point->thrice;
    row->power_bound = point->power_bound || limit->power_bound;
    for (size_t i = 0; i < point->n; i++) {
        double value = kind->predict(point, row_in(latency, point->round[i]),
                                     row_in(limit, point->round[i]), n_sm);
        if (isfinite(value))
            row_put(row, point->round[i], value, NAN);
    }
}

void derive_occupancy(const struct rows *rows, struct rows *made, double n_sm)
{
    const struct row *point;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && n_sm > 0; i++)
        for (size_t next = 0;
             (point = rows_match(rows, derive_occupancy_needs[kinds[i].points], &next));)
            put_point(rows, made, &kinds[i], point, n_sm);
}
