#include "report/floor/primitives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/needs.h"

enum {
    STREAM, GRAPH, DEPENDENT, BARRIER, FLAG, READ_RATE, SHUFFLE, BLOCK, SHARED_RATE, PEAK_WGMMA,
    PEAK_MMA, READ, PRODUCT, LIBRARY, ATTENTION, MATRIX, PREFILL, CAPACITY,
};
const char *const primitives_needs[] = {
    [STREAM] = "edges.step{mode=stream,blocks=sm,body=0,span=64-512,timer=event}",
    [GRAPH] = "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}",
    [DEPENDENT] = "edges.step{mode=graph_pdl_early,blocks=sm,body=0,span=64-512,timer=event}",
    [BARRIER] = "edges.step{mode=counter,blocks=sm,body=0,span=64-512,timer=event}",
    [FLAG] = "sm_to_sm.flag_time{path=%s,by=relaxed,timer=device}",
    [READ_RATE] = "bandwidth.rate{level=hbm,op=read,path=ld,bytes=*}",
    [SHUFFLE] = "instructions.latency{op=shfl,type=b32}",
    [BLOCK] = "barriers.block_time{barrier=syncthreads,warps=8,timer=device}",
    [SHARED_RATE] = "bandwidth.rate{level=shared,op=read,path=ld,bytes=*}",
    [PEAK_WGMMA] = "instructions.tensor_peak{op=wgmma,shape=m64n256k16,*}",
    [PEAK_MMA] = "instructions.tensor_peak{op=mma,shape=m16n8k16,*}",
    [READ] = "gemv.read{bytes=*,path=ld,l2=cold}",
    [PRODUCT] = "gemv.time{m=*,k=*,type=bf16,acc=fp32,impl=own,l2=cold,timer=event}",
    [LIBRARY] = "gemv.time{m=*,k=*,type=bf16,acc=fp32,impl=cublas_gemm,l2=cold,timer=event}",
    [ATTENTION] = "attention_decode.time{batch=1,context=*,heads=32,kv_heads=8,d=%u,type=bf16,"
                  "impl=attention,mode=graph,l2=cold,timer=event}",
    [MATRIX] = "gemm_sizes.time{m=*,n=*,k=*,type=fp16,acc=fp32,layout=nn,impl=cublaslt,tile=best,"
               "l2=warm,timer=event}",
    [PREFILL] = "attention_prefill.time{heads=*,kv_heads=*,depth=*,context=*,mask=*,type=*,"
                "impl=fused,mode=graph,l2=warm,timer=event}",
    [CAPACITY] = "bandwidth.capacity{level=%s}",
    NULL,
};

static const struct corners none = {{NAN, NAN, NAN}};

/* A row's centre, its fast end and its slow end; a row without an interval has its centre thrice. */
static struct corners figure_of(const struct row *row)
{
    if (!row || !row_usable(row) || !(row->centre > 0))
        return none;
    const bool has_ends = row->low > 0 && row->high > 0;
    const double low = has_ends ? row->low : row->centre, high = has_ends ? row->high : row->centre;
    return row->better == ROW_HIGHER ? (struct corners){{row->centre, high, low}}
                                     : (struct corners){{row->centre, low, high}};
}

static const struct row *first(const struct bundle *bundle, const char *need, const char *text)
{
    char id[DOCUMENT_ID];
    size_t next = 0;
    const struct row *row;

    snprintf(id, sizeof id, need, text);
    while ((row = rows_match(&bundle->rows, id, &next)))
        if (row_usable(row) && row->centre > 0)
            return row;
    return NULL;
}

static double key_of(const struct row *row, const char *key)
{
    char text[32];
    return row_key(row, key, text, sizeof text) ? strtod(text, NULL) : (double)NAN;
}

/* --- curves ----------------------------------------------------------------------------------- */

/* Two rows of one amount (a matrix and its transpose) become one point between them. */
static void curve_add(struct node_curve *curve, double amount, const struct corners *time)
{
    size_t i = 0;

    if (!(amount > 0) || isnan(time->at[CENTRE]))
        return;
    while (i < curve->n && curve->amount[i] < amount)
        i++;
    if (i < curve->n && curve->amount[i] <= amount) {
        for (size_t c = 0; c < CORNERS; c++)
            curve->time[i].at[c] = (curve->time[i].at[c] + time->at[c]) / 2;
        return;
    }
    if (curve->n == CURVE_POINTS)
        return;
    memmove(&curve->amount[i + 1], &curve->amount[i], (curve->n - i) * sizeof curve->amount[0]);
    memmove(&curve->time[i + 1], &curve->time[i], (curve->n - i) * sizeof curve->time[0]);
    curve->amount[i] = amount;
    curve->time[i] = *time;
    curve->n++;
}

double curve_at(const struct node_curve *curve, double amount, double rate, enum corner corner)
{
    const size_t n = curve->n;

    if (n == 0)
        return (double)NAN;
    if (amount <= curve->amount[0])
        return fmax(curve->time[0].at[corner] - (curve->amount[0] - amount) / rate * 1e9, 0);
    if (amount >= curve->amount[n - 1])
        return curve->time[n - 1].at[corner] + (amount - curve->amount[n - 1]) / rate * 1e9;
    size_t i = 1;
    while (curve->amount[i] < amount)
        i++;
    const double share =
        (amount - curve->amount[i - 1]) / (curve->amount[i] - curve->amount[i - 1]);
    return curve->time[i - 1].at[corner] +
           share * (curve->time[i].at[corner] - curve->time[i - 1].at[corner]);
}

/* The amount of work that a row's keys state. */
typedef double amount_of(const struct row *row);

static void take_curve(struct node_curve *curve, const struct bundle *bundle, const char *glob,
                       amount_of *amount)
{
    size_t next = 0;
    const struct row *row;

    while ((row = rows_match(&bundle->rows, glob, &next))) {
        struct corners figure = figure_of(row);
        curve_add(curve, amount(row), &figure);
    }
}

static double weights_of(const struct row *row)
{
    return 2 * key_of(row, "m") * key_of(row, "k");
}

static double cache_of(const struct row *row)
{
    return 2 * 2 * key_of(row, "kv_heads") * key_of(row, "d") * key_of(row, "context");
}

static double flops_of(const struct row *row)
{
    return 2 * key_of(row, "m") * key_of(row, "n") * key_of(row, "k");
}

static double prefill_flops_of(const struct row *row)
{
    char mask[16];
    const double context = key_of(row, "context");
    const double whole = 4 * key_of(row, "heads") * key_of(row, "depth") * context * context;
    return row_key(row, "mask", mask, sizeof mask) && !strcmp(mask, "causal") ? whole / 2 : whole;
}

/* gemv.read is a rate; a node's time is its bytes over it. */
static void take_read(struct node_curve *curve, const struct bundle *bundle)
{
    size_t next = 0;
    const struct row *row;

    while ((row = rows_match(&bundle->rows, primitives_needs[READ], &next))) {
        const double bytes = key_of(row, "bytes");
        struct corners figure = figure_of(row);
        for (size_t c = 0; c < CORNERS; c++)
            figure.at[c] = bytes / figure.at[c] * 1e9;
        curve_add(curve, bytes, &figure);
    }
}

/* --- single figures --------------------------------------------------------------------------- */

/* The longest stream is the one that knows no start. */
static void take_read_rate(struct primitives *p, const struct bundle *bundle)
{
    double longest = 0;
    size_t next = 0;
    const struct row *row;

    while ((row = rows_match(&bundle->rows, "bandwidth.rate{level=hbm,op=read,*}", &next))) {
        const double bytes = key_of(row, "bytes");
        const struct corners figure = figure_of(row);
        if (isnan(figure.at[CENTRE]))
            continue;
        p->read_rate_best = fmax(p->read_rate_best, fmax(figure.at[FAST], row->best));
        if (bytes > longest && need_covers(primitives_needs[READ_RATE], row->id)) {
            longest = bytes;
            p->read_rate = figure;
        }
    }
}

/* A flag to the far side of the L2, where there are two sides: the last block decides. */
static void take_flag(struct primitives *p, const struct bundle *bundle)
{
    static const char *const paths[] = {"l2_other", "l2", "l2_same"};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const struct row *row = first(bundle, primitives_needs[FLAG], paths[i]);
        if (!row)
            continue;
        const struct corners figure = figure_of(row);
        if (isnan(p->edge[EDGE_FLAG].at[CENTRE]))
            p->edge[EDGE_FLAG] = figure;
        p->edge_least = fmin(p->edge_least, fmin(figure.at[FAST], row->best));
    }
}

static double peak_of(const struct bundle *bundle)
{
    double peak = 0;
    for (size_t need = PEAK_WGMMA; need <= PEAK_MMA; need++) {
        size_t next = 0;
        const struct row *row;
        while ((row = rows_match(&bundle->rows, primitives_needs[need], &next)))
            if (row_usable(row))
                peak = fmax(peak, fmax(row->centre, row->best));
    }
    return peak > 0 ? peak : (double)NAN;
}

static double capacity_of(const struct bundle *bundle, const char *level)
{
    const struct row *row = first(bundle, primitives_needs[CAPACITY], level);
    return row ? row->centre : (double)NAN;
}

/* Cycles become ns by the highest clock that the board states: the fast end of what they take. */
static struct corners in_ns(struct corners cycles, const struct bundle *bundle)
{
    const json_t *gpu = json_object_get(json_object_get(bundle->head, "environment"), "gpu");
    const double mhz = document_get_number(gpu, "sm_clock_max_mhz");
    for (size_t c = 0; c < CORNERS; c++)
        cycles.at[c] = cycles.at[c] / mhz * 1e3;
    return cycles;
}

void primitives_take(struct primitives *p, const struct bundle *bundle)
{
    static const unsigned depths[] = {64, 128};
    static const size_t steps[] = {
        [EDGE_STREAM] = STREAM, [EDGE_GRAPH] = GRAPH, [EDGE_DEPENDENT] = DEPENDENT,
        [EDGE_BARRIER] = BARRIER,
    };
    const json_t *gpu = json_object_get(json_object_get(bundle->head, "environment"), "gpu");

    *p = (struct primitives){.read_rate = none, .edge_least = (double)INFINITY,
                             .edge[EDGE_FLAG] = none};
    for (size_t edge = 0; edge < sizeof steps / sizeof steps[0]; edge++)
        p->edge[edge] = figure_of(rows_find(&bundle->rows, primitives_needs[steps[edge]]));
    take_flag(p, bundle);
    take_read_rate(p, bundle);
    p->shuffle = in_ns(figure_of(rows_find(&bundle->rows, primitives_needs[SHUFFLE])), bundle);
    p->block = figure_of(rows_find(&bundle->rows, primitives_needs[BLOCK]));
    p->shared_rate = figure_of(first(bundle, primitives_needs[SHARED_RATE], ""));
    p->tensor_peak = peak_of(bundle);
    take_read(&p->read, bundle);
    take_curve(&p->product, bundle, primitives_needs[PRODUCT], weights_of);
    take_curve(&p->library, bundle, primitives_needs[LIBRARY], weights_of);
    for (size_t i = 0; i < 2; i++) {
        char glob[DOCUMENT_ID];
        snprintf(glob, sizeof glob, primitives_needs[ATTENTION], depths[i]);
        take_curve(&p->attention[i], bundle, glob, cache_of);
    }
    take_curve(&p->matrix, bundle, primitives_needs[MATRIX], flops_of);
    take_curve(&p->prefill, bundle, primitives_needs[PREFILL], prefill_flops_of);
    p->sms = document_get_number(gpu, "n_sm");
    p->memory_bytes = document_get_number(gpu, "memory_bytes");
    p->shared_bytes = capacity_of(bundle, "shared");
    p->register_bytes = capacity_of(bundle, "register");
}
