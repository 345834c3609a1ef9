#include "report/floor/primitives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/needs.h"

enum {
    STREAM,
    GRAPH,
    DEPENDENT,
    BARRIER,
    FLAG,
    READ_RATE,
    SHARED_RATE,
    PEAK_WGMMA,
    PEAK_MMA,
    READ,
    PRODUCT,
    LIBRARY,
    ATTENTION,
    MATRIX,
    PREFILL,
    CAPACITY,
    MEMORY,
    LOADED,
    BODY,
    BULK,
    FLIGHT,
    L2_RATE,
    ISSUE,
    NORM,
    TWO,
    PART,
    EXCHANGE, NEAR_EXCHANGE, NEAR_RATE,
    DIFFERENT,
    STREAMING,
};
const char *const primitives_needs[] = {
    [STREAM] = "edges.step{mode=stream,blocks=sm,body=0,span=64-512,timer=event}",
    [GRAPH] = "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}",
    [DEPENDENT] = "edges.step{mode=graph_pdl_early,blocks=sm,body=0,span=64-512,timer=event}",
    [BARRIER] = "edges.step{mode=counter,blocks=sm,body=0,span=64-512,timer=event}",
    [FLAG] = "sm_to_sm.flag_time{path=%s,by=relaxed,timer=device}",
    [READ_RATE] = "bandwidth.rate{level=hbm,op=read,path=ld,bytes=*}",
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
    [MEMORY] = "memory_latency.load_time{level=%s,timer=device}",
    [LOADED] = "bandwidth.loaded_latency{level=hbm,load=%s,timer=device}",
    [BODY] = "edges.step{mode=counter,blocks=sm,body=33554432,span=64-512,timer=event}",
    [BULK] = "occupancy.path_rate{level=hbm,path=bulk,warps=4,in_flight=65536}",
    [FLIGHT] = "occupancy.read_rate{level=hbm,warps=%u,loads=%u}",
    [L2_RATE] = "bandwidth.rate{level=l2,op=read,path=ld,bytes=*}",
    [ISSUE] = "instructions.throughput{op=fma,type=fp32}",
    [NORM] = "norm.time{op=rmsnorm_bias_silu,rows=1,cols=4096,type=fp16,impl=fused,mode=graph,"
             "l2=warm,timer=event}",
    [TWO] = "two_gemv.time{model=2048,hidden=8192,batch=1,type=bf16,impl=%s,mode=graph,l2=cold,"
            "timer=event}",
    [PART] = "attention_decode.time{batch=1,context=8192,heads=32,kv_heads=8,d=128,type=bf16,"
             "impl=%s,mode=graph,l2=cold,timer=event}",
    [EXCHANGE] = "edges.exchange{mode=%s,words=*,stream=%s,span=32-256,timer=event}",
    [NEAR_EXCHANGE] = "edges.exchange_beside{among=all,words=2048,stream=near,tile=16384,"
                      "in_flight=65536,span=32-256,timer=event}",
    [NEAR_RATE] =
        "edges.streamed_alone{among=all,words=2048,stream=near,tile=16384,in_flight=65536,"
        "span=32-256,timer=event}",
    [DIFFERENT] = "edges.different{mode=graph,kernels=%s,reads=16777216,span=56-280,timer=event}",
    [STREAMING] = "edges.step{mode=%s,blocks=sm,body=268435456,span=8-64,timer=event}",
    NULL,
};

static const struct corners none = {{NAN, NAN, NAN}};

/* A row's centre, its fast end and its slow end; a row without an interval has its centre
 * thrice. */
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
    if (amount < curve->amount[0]) {
        const double time = curve->time[0].at[corner] - (curve->amount[0] - amount) / rate * 1e9;
        return time < 0 ? 0 : time; /* NaN stays */
    }
    if (amount <= curve->amount[0])
        return curve->time[0].at[corner];
    if (amount > curve->amount[n - 1])
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
    return 2 * row_key_number(row, "m") * row_key_number(row, "k");
}

static double cache_of(const struct row *row)
{
    return 2 * 2 * row_key_number(row, "kv_heads") * row_key_number(row, "d") *
           row_key_number(row, "context");
}

static double words_of(const struct row *row)
{
    return row_key_number(row, "words");
}

static double flops_of(const struct row *row)
{
    return 2 * row_key_number(row, "m") * row_key_number(row, "n") * row_key_number(row, "k");
}

static double prefill_flops_of(const struct row *row)
{
    char mask[16];
    const double context = row_key_number(row, "context");
    const double whole =
        4 * row_key_number(row, "heads") * row_key_number(row, "depth") * context * context;
    return row_key(row, "mask", mask, sizeof mask) && !strcmp(mask, "causal") ? whole / 2 : whole;
}

/* gemv.read is a rate; a node's time is its bytes over it. */
static void take_read(struct node_curve *curve, const struct bundle *bundle)
{
    size_t next = 0;
    const struct row *row;

    while ((row = rows_match(&bundle->rows, primitives_needs[READ], &next))) {
        const double bytes = row_key_number(row, "bytes");
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
        const double bytes = row_key_number(row, "bytes");
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

static struct corners figure_at(const struct bundle *bundle, const char *need, const char *text)
{
    return figure_of(first(bundle, need, text));
}

/* What is taken off a figure is taken off by its centre: its spread is in the figure's already. */
static struct corners beyond(struct corners figure, const struct corners *less)
{
    for (size_t c = 0; c < CORNERS; c++) {
        figure.at[c] -= less->at[CENTRE];
        figure.at[c] = figure.at[c] < 0 ? 0 : figure.at[c];
    }
    return figure;
}

/* Nodes that an operation has in one variant and not in another, as nodes of a graph. */
static struct corners node_between(const struct bundle *bundle, const char *need, const char *with,
                                   const char *without)
{
    const struct corners less = figure_at(bundle, need, without);
    return beyond(figure_at(bundle, need, with), &less);
}

/* An SM's four schedulers issue at the rate of multiply-adds. Cycles become ns by the highest clock
 * that the board states. */
static void take_issue(struct primitives *p, const struct bundle *bundle, double mhz)
{
    enum { LANES = 32 };
    p->issue = figure_at(bundle, primitives_needs[ISSUE], "");
    for (size_t c = 0; c < CORNERS; c++)
        p->issue.at[c] = LANES / p->issue.at[c] / mhz * 1e3;
}

/* By 8 warps an SM; where there is no such row, by half as many with twice the loads: as many bytes
 * are in flight. */
static void take_flight(struct primitives *p, const struct bundle *bundle)
{
    enum { WARPS = 8 };
    static const unsigned loads[FLIGHTS] = {4, 8, 16};

    for (size_t i = 0; i < FLIGHTS; i++) {
        p->flight[i] = none;
        for (unsigned part = 1; part <= 2 && isnan(p->flight[i].at[CENTRE]); part++) {
            char id[DOCUMENT_ID];
            snprintf(id, sizeof id, primitives_needs[FLIGHT], WARPS / part, loads[i] * part);
            p->flight[i] = figure_of(rows_find(&bundle->rows, id));
        }
    }
}

/* A chain of steps, each of which reads a body at addresses that depend on the step before: what it
 * takes beyond the edge and the stream. A body of the memory is compared with the same steps
 * without a wait; where there is none, one of the L2 with the L2's rate, and a load of the memory
 * takes the place of one of the L2. */
static void take_ramp(struct primitives *p, const struct bundle *bundle)
{
    enum { BODY_BYTES = 33554432 };
    const struct corners waiting = figure_at(bundle, primitives_needs[STREAMING], "counter");
    const struct corners free = figure_at(bundle, primitives_needs[STREAMING], "unwaited");
    const struct corners l2 = figure_at(bundle, primitives_needs[MEMORY], "l2");
    const struct corners body = figure_at(bundle, primitives_needs[BODY], "");
    const double less =
        p->edge[EDGE_BARRIER].at[CENTRE] + BODY_BYTES / p->l2_rate.at[CENTRE] * 1e9 + l2.at[CENTRE];
    for (size_t c = 0; c < CORNERS; c++)
        p->ramp.at[c] = body.at[c] - less + p->memory.at[c];
    if (isnan(waiting.at[CENTRE] + free.at[CENTRE]))
        return;
    for (size_t c = 0; c < CORNERS; c++)
        p->ramp.at[c] = fmax(waiting.at[c] - free.at[CENTRE] - p->edge[EDGE_BARRIER].at[CENTRE], 0);
}

static void take_exchanges(struct primitives *p, const struct bundle *bundle)
{
    static const char *const modes[EXCHANGES] = {"counter", "values"};
    static const char *const streams[BESIDES] = {"none", "hbm"};
    char id[DOCUMENT_ID];

    for (size_t e = 0; e < EXCHANGES; e++)
        for (size_t b = 0; b < BESIDES; b++) {
            snprintf(id, sizeof id, primitives_needs[EXCHANGE], modes[e], streams[b]);
            take_curve(&p->exchange[e][b], bundle, id, words_of);
        }
    p->near_exchange = figure_at(bundle, primitives_needs[NEAR_EXCHANGE], "");
    p->near_rate = figure_at(bundle, primitives_needs[NEAR_RATE], "");
}

/* Chains that read the memory: one of as many kernels as a layer has, each with code of its own,
 * less one of a single kernel. */
static void take_cold(struct primitives *p, const struct bundle *bundle)
{
    static const char *const kernels[] = {"1", "14"};
    const struct corners less = figure_at(bundle, primitives_needs[DIFFERENT], kernels[0]);
    const struct corners cold =
        beyond(figure_at(bundle, primitives_needs[DIFFERENT], kernels[1]), &less);

    p->cold = isnan(cold.at[CENTRE]) ? (struct corners){{0}} : cold;
}

static void take_latencies(struct primitives *p, const struct bundle *bundle)
{
    const struct corners idle = figure_at(bundle, primitives_needs[LOADED], "0");

    p->memory = figure_at(bundle, primitives_needs[MEMORY], "hbm");
    p->loaded = figure_at(bundle, primitives_needs[LOADED], "100");
    for (size_t c = 0; c < CORNERS; c++)
        p->loaded.at[c] = p->loaded.at[c] / idle.at[CENTRE];
}

/* The kernels between products and attention. Rope and append are two kernels of one variant, and
 * one of another. */
static void take_nodes(struct primitives *p, const struct bundle *bundle)
{
    p->norm = figure_at(bundle, primitives_needs[NORM], "");
    p->point = node_between(bundle, primitives_needs[TWO], "unfused", "kernels");
    p->pairs = node_between(bundle, primitives_needs[PART], "two", "attention");
    p->merge = node_between(bundle, primitives_needs[PART], "merge", "attention");
    p->pair = node_between(bundle, primitives_needs[PART], "unfused", "attention");
    for (size_t c = 0; c < CORNERS; c++)
        p->pair.at[c] /= 2;
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
    p->shared_rate = figure_at(bundle, primitives_needs[SHARED_RATE], "");
    p->l2_rate = figure_at(bundle, primitives_needs[L2_RATE], "");
    p->bulk_rate = figure_at(bundle, primitives_needs[BULK], "");
    take_flight(p, bundle);
    take_latencies(p, bundle);
    take_ramp(p, bundle);
    take_exchanges(p, bundle);
    take_cold(p, bundle);
    take_nodes(p, bundle);
    take_issue(p, bundle, document_get_number(gpu, "sm_clock_max_mhz"));
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
    p->waits = 1;
}
