#include "report/bundle/derive_fusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/needs.h"

/* --- the model -------------------------------------------------------------------------------- */

double derive_fusion_gain(const struct fusion_chip *chip, double unfused_kernels,
                          double unfused_bytes, double fused_kernels, double fused_bytes)
{
    const double warm = isnan(chip->warm_rate) ? chip->rate : chip->warm_rate;
    const double fused = fused_kernels * chip->edge_ns + fused_bytes / chip->rate;
    const double unfused = unfused_kernels * chip->edge_ns + fused_bytes / chip->rate +
                           (unfused_bytes - fused_bytes) / warm;
    return unfused / fused;
}

/* Interpolates between the measured loads; beyond the last one the latency stays the same. */
static double latency_at(const struct fusion_chip *chip, double rate)
{
    const double *at = chip->load, *ns = chip->load_ns;
    for (int i = 0; i < 2; i++)
        if (rate < at[i + 1])
            return ns[i] + (ns[i + 1] - ns[i]) * (rate - at[i]) / (at[i + 1] - at[i]);
    return ns[2];
}

/* The least time that holds this many dependent trips, at the latency under the load that `bytes`
 * in that time make. A shorter time means more load and a longer latency, so there is exactly one
 * such time. */
static double waiting_ns(const struct fusion_chip *chip, double trips, double bytes)
{
    double low = trips * chip->load_ns[0], high = trips * chip->load_ns[2];

    if (!(trips > 0) || isnan(low) || isnan(high) || isnan(chip->load_ns[1]))
        return 0;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (trips * latency_at(chip, bytes / middle) > middle)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* How many SMs' worth of work runs at a time: the busiest SM has a whole number of blocks. */
static double sms_of(const struct fusion_chip *chip, const struct fusion_kernel *k)
{
    return k->blocks > 0 ? k->blocks / ceil(k->blocks / chip->n_sm) : chip->n_sm;
}

static double spilled_ns(const struct fusion_chip *chip, const struct fusion_kernel *k)
{
    const bool fits_l2 = k->local * chip->n_sm <= chip->l2_bytes;
    return k->spilled / (fits_l2 ? chip->l2_rate : chip->rate);
}

/* fmax() ignores NaN: a figure of the chip that was not measured. */
double derive_kernel_ns(const struct fusion_chip *chip, const struct fusion_kernel *k,
                        double cached)
{
    const double warm = isnan(chip->warm_rate) ? chip->rate : chip->warm_rate;
    const double sms = sms_of(chip, k), drawn = k->bytes + k->spilled;
    double memory = k->bytes * ((1 - cached) / chip->rate + cached / warm);
    double arithmetic = fmax(k->operations / (sms * chip->operations * chip->ghz),
                             k->exponentials / (sms * chip->exponentials * chip->ghz));

    if (k->spilled > 0)
        memory += spilled_ns(chip, k);
    memory = fmax(memory, drawn / (sms * chip->sm_rate));
    memory = fmax(memory, waiting_ns(chip, k->trips, k->bytes));
    if (k->flops > 0)
        arithmetic = fmax(arithmetic, k->flops / k->product_rate);
    return k->alone > 0 ? memory + fmax(arithmetic, 0) : fmax(memory, arithmetic);
}

/* --- what it takes ---------------------------------------------------------------------------- */

enum {
    FUSED, /* the forms that are compared: see pairs */
    CAP_64,
    CAP_32,
    RESIDENT,
    TIME, /* of every form of a case; TIME and the next two, and what each of its kernels does */
    BYTES,
    KERNELS,
    KERNEL_BYTES,
    BLOCKS,
    TRIPS,
    ALONE,
    SPILLED,
    SM_LOCAL,
    OPERATIONS,
    EXPONENTIALS,
    FLOPS,
    EDGE, /* of the chip */
    L2_CYCLES,
    L2_TIME,
    IN_STEP,
    LATENCY_IDLE,
    LATENCY_HALF,
    LATENCY_FULL,
    RATE_HALF,
    RATE_FULL,
    ADDS,
    EX2S,
    L2_BYTES,
    ANY_COPY,
};
#define OF_FORM "{*,impl=*,mode=graph,l2=*}"
#define OF_KERNEL "{*,impl=*,mode=graph,l2=*,kernel=*}"
const char *const derive_fusion_needs[] = {
    [FUSED] = "*.time{*,impl=fused,mode=graph,l2=*,timer=event}",
    [CAP_64] = "harm.time{what=streams,rows=32,*,impl=cap_64,mode=graph,*}",
    [CAP_32] = "harm.time{what=streams,rows=32,*,impl=cap_32,mode=graph,*}",
    [RESIDENT] = "softmax.time{*,impl=resident,mode=graph,*}",
    [TIME] = "*.time{*,impl=*,mode=graph,l2=*,timer=event}",
    [BYTES] = "*.bytes" OF_FORM,
    [KERNELS] = "*.kernels" OF_FORM,
    [KERNEL_BYTES] = "*.kernel_bytes" OF_KERNEL,
    [BLOCKS] = "*.blocks" OF_KERNEL,
    [TRIPS] = "*.trips" OF_KERNEL,
    [ALONE] = "*.alone" OF_KERNEL,
    [SPILLED] = "*.spilled" OF_KERNEL,
    [SM_LOCAL] = "*.sm_local" OF_KERNEL,
    [OPERATIONS] = "*.operations" OF_KERNEL,
    [EXPONENTIALS] = "*.exponentials" OF_KERNEL,
    [FLOPS] = "*.flops" OF_KERNEL,
    [EDGE] = "edges.step{mode=graph,blocks=sm,body=0,span=64-512,*",
    [L2_CYCLES] = "memory_latency.load{level=l2}",
    [L2_TIME] = "memory_latency.load_time{level=l2,*}",
    [IN_STEP] = "bandwidth.in_step{level=l2,sms=all,*}",
    [LATENCY_IDLE] = "bandwidth.loaded_latency{level=%s,load=0,*}",
    [LATENCY_HALF] = "bandwidth.loaded_latency{level=%s,load=50,*}",
    [LATENCY_FULL] = "bandwidth.loaded_latency{level=%s,load=100,*}",
    [RATE_HALF] = "bandwidth.loaded_rate{level=%s,load=50}",
    [RATE_FULL] = "bandwidth.loaded_rate{level=%s,load=100}",
    [ADDS] = "instructions.throughput{op=add,type=fp32}",
    [EX2S] = "instructions.throughput{op=ex2,type=fp32}",
    [L2_BYTES] = "bandwidth.capacity{level=l2}",
    [ANY_COPY] = "bandwidth.rate{level=%s,op=copy,path=ld,*}",
    NULL,
};

/* --- what is compared ------------------------------------------------------------------------- */

/* A form of an operation that moves fewer bytes or has fewer kernels, and the form that it
 * replaces: the first of two that was measured. Forms other than `fused` are here for what blocks
 * their SMs. If a probe does not describe their kernels, nothing is predicted. */
struct pair {
    int need;
    const char *impl, *others[2];
};
static const struct pair pairs[] = {
    {FUSED, "fused", {"unfused", "twice"}},
    {CAP_64, "cap_64", {"unfused", NULL}}, /* one kernel that spills */
    {CAP_32, "cap_32", {"unfused", NULL}},
    {RESIDENT, "resident", {"two", NULL}}, /* one block per row */
};

/* The keys of a time, split at the places where other rows of the same size differ from it:
 * "norm" "{op=..,type=fp16" impl=fused ",mode=graph,l2=" "cold". */
struct fusion_case {
    const char *probe, *impl;
    char sizes[DOCUMENT_ID];
    bool cold;
};

static bool case_of(const struct row *fused, const char *name, struct fusion_case *c)
{
    char cut[64];
    snprintf(cut, sizeof cut, ",impl=%s,mode=graph,l2=", name);
    const char *keys = strchr(fused->id, '{'), *impl = strstr(fused->id, cut);

    if (!keys || !impl)
        return false;
    c->probe = fused->probe;
    c->impl = name;
    c->cold = strstr(impl, "l2=cold") != NULL;
    snprintf(c->sizes, sizeof c->sizes, "%.*s", (int)(impl - keys), keys);
    return true;
}

/* end: the rest of the id after the cache state. */
static const struct row *row_of_case(const struct rows *rows, const struct fusion_case *c, int need,
                                     const char *impl, bool cold, const char *end)
{
    char id[3 * DOCUMENT_ID], metric[DOCUMENT_ID];

    need_metric(metric, derive_fusion_needs[need]);
    snprintf(id, sizeof id, "%s.%s%s,impl=%s,mode=graph,l2=%s%s}", c->probe, metric, c->sizes, impl,
             cold ? "cold" : "warm", end);
    const struct row *row = rows_find(rows, id);
    return row && row_usable(row) ? row : NULL;
}

static const struct row *time_of_case(const struct rows *rows, const struct fusion_case *c,
                                      const char *impl, bool cold)
{
    return row_of_case(rows, c, TIME, impl, cold, ",timer=event");
}

static double count_of_case(const struct rows *rows, const struct fusion_case *c, int need,
                            const char *impl, const char *end)
{
    const struct row *row = row_of_case(rows, c, need, impl, c->cold, end);
    return row ? row->centre : (double)NAN;
}

/* --- an operation ----------------------------------------------------------------------------- */

enum { EACH_MAX = 8 };
struct form {
    const struct row *time;
    const char *impl;
    double bytes, kernels;
    bool is_told; /* the probe tells what each of its kernels does */
    struct fusion_kernel each[EACH_MAX];
};

static struct fusion_kernel kernel_of_case(const struct rows *rows, const struct fusion_case *c,
                                           const char *impl, int number)
{
    double value[FLOPS + 1];
    char end[32];

    snprintf(end, sizeof end, ",kernel=%d", number);
    for (int need = KERNEL_BYTES; need <= FLOPS; need++) {
        value[need] = count_of_case(rows, c, need, impl, end);
        value[need] = isnan(value[need]) ? 0 : value[need];
    }
    return (struct fusion_kernel){.bytes = value[KERNEL_BYTES],
                                  .blocks = value[BLOCKS],
                                  .trips = value[TRIPS],
                                  .alone = value[ALONE],
                                  .spilled = value[SPILLED],
                                  .local = value[SM_LOCAL],
                                  .operations = value[OPERATIONS],
                                  .exponentials = value[EXPONENTIALS],
                                  .flops = value[FLOPS]};
}

static bool form_of_case(const struct rows *rows, const struct fusion_case *c, const char *impl,
                         struct form *f)
{
    *f = (struct form){.time = time_of_case(rows, c, impl, c->cold),
                       .impl = impl,
                       .bytes = count_of_case(rows, c, BYTES, impl, ""),
                       .kernels = count_of_case(rows, c, KERNELS, impl, "")};
    if (!f->time || isnan(f->bytes) || isnan(f->kernels))
        return false;
    f->is_told = f->kernels <= EACH_MAX;
    for (int i = 0; f->is_told && i < (int)f->kernels; i++) {
        f->each[i] = kernel_of_case(rows, c, impl, i);
        f->is_told = f->each[i].bytes > 0;
    }
    return true;
}

/* The rate of each kernel's product, measured alone in that round; for a kernel of ours, by our own
 * product. False if a kernel has a product that was not measured. */
static bool set_product_rates(const struct rows *rows, const struct fusion_case *c, double edge_ns,
                              int round, bool is_fused, struct form *f)
{
    const struct row *ours = is_fused ? time_of_case(rows, c, "own_product", c->cold) : NULL;
    const struct row *time = ours ? ours : time_of_case(rows, c, "product", c->cold);

    for (int i = 0; f->is_told && i < (int)f->kernels; i++) {
        const double ns = time ? row_in(time, round) - edge_ns : (double)NAN;
        f->each[i].product_rate = f->each[i].flops / ns;
        if (f->each[i].flops > 0 && !(ns > 0))
            return false;
    }
    return true;
}

/* Does the fused kernel contain a different, slower product than the chain's? Then a comparison
 * would be of products and not of a fusion. */
static bool has_slower_product(const struct rows *rows, const struct fusion_case *c)
{
    const struct row *ours = time_of_case(rows, c, "own_product", c->cold);
    const struct row *time = time_of_case(rows, c, "product", c->cold);
    return ours && (!time || ours->centre > 1.03 * time->centre);
}

/* cached: the share of its bytes that the L2 serves. */
static double form_ns(const struct fusion_chip *chip, const struct form *f, double cached)
{
    const struct fusion_kernel all = {.bytes = f->bytes};
    double ns = f->kernels * chip->edge_ns;

    if (!f->is_told)
        return ns + derive_kernel_ns(chip, &all, cached);
    for (int i = 0; i < (int)f->kernels; i++)
        ns += derive_kernel_ns(chip, &f->each[i], cached);
    return ns;
}

/* --- the chip --------------------------------------------------------------------------------- */

static double centre_of_glob(const struct rows *rows, const char *glob)
{
    size_t next = 0;
    const struct row *row = rows_match(rows, glob, &next);
    return row && row_usable(row) ? row->centre : (double)NAN;
}

/* The centre over all rounds, because the row may come from another bundle. */
static double centre_of(const struct rows *rows, int need)
{
    return centre_of_glob(rows, derive_fusion_needs[need]);
}

static double with_level(const struct rows *rows, int need, bool cold)
{
    char of_level[128];
    snprintf(of_level, sizeof of_level, derive_fusion_needs[need], cold ? "hbm" : "l2");
    return centre_of_glob(rows, of_level);
}

/* All but the rates of copies. */
static struct fusion_chip chip_of(const struct rows *rows, double n_sm, bool cold)
{
    const double sms = n_sm > 0 ? n_sm : (double)NAN;
    return (struct fusion_chip){.edge_ns = centre_of(rows, EDGE),
                                .n_sm = sms,
                                .sm_rate = centre_of(rows, IN_STEP) / 1e9 / sms,
                                .load_ns = {with_level(rows, LATENCY_IDLE, cold),
                                            with_level(rows, LATENCY_HALF, cold),
                                            with_level(rows, LATENCY_FULL, cold)},
                                .load = {0, with_level(rows, RATE_HALF, cold) / 1e9,
                                         with_level(rows, RATE_FULL, cold) / 1e9},
                                .ghz = centre_of(rows, L2_CYCLES) / centre_of(rows, L2_TIME),
                                .operations = centre_of(rows, ADDS),
                                .exponentials = centre_of(rows, EX2S),
                                .l2_bytes = centre_of(rows, L2_BYTES),
                                .l2_rate = with_level(rows, ANY_COPY, false) / 1e9};
}

/* bytes/ns of the better copy beyond one edge; NaN where there is no copy. 0 where none takes 1.5
 * edges: the little that is left beyond the edge is no rate. */
static double copy_rate(const struct rows *rows, const struct fusion_case *c, bool cold,
                        double edge_ns, int round)
{
    static const char *const impls[] = {"copy", "memcpy", "memcpy_longer"};
    double best = NAN;

    for (int i = 0; i < 3; i++) {
        const struct row *time = time_of_case(rows, c, impls[i], cold);
        const struct row *bytes = row_of_case(rows, c, BYTES, impls[i], cold, "");
        const double beyond = time && bytes ? row_in(time, round) - edge_ns : (double)NAN;
        if (!isnan(beyond))
            best = fmax(isnan(best) ? 0 : best, beyond > edge_ns / 2 ? bytes->centre / beyond : 0);
    }
    return best;
}

/* --- the rows --------------------------------------------------------------------------------- */

/* The figures of one fusion in the rounds of its fused time. */
enum figure { GAIN, PREDICTED, ERROR, TRAFFIC, CUT, FIGURES };
struct gains {
    size_t n;
    int round[ROW_RUNS_MAX];
    double value[FIGURES][ROW_RUNS_MAX];
    bool power_bound; /* one of the two times is */
};

static void predict_round(const struct rows *rows, const struct fusion_case *c,
                          struct fusion_chip chip, struct form *fused, struct form *other,
                          int round, struct gains *g)
{
    const double saved = other->bytes - fused->bytes;
    const double cached = fmax(saved / other->bytes, 0);
    double *at[FIGURES];

    for (int i = 0; i < FIGURES; i++)
        at[i] = &g->value[i][g->n];
    chip.rate = copy_rate(rows, c, c->cold, chip.edge_ns, round);
    chip.warm_rate = c->cold ? copy_rate(rows, c, false, chip.edge_ns, round) : (double)NAN;
    if (chip.rate == 0 || (isnan(chip.rate) && fused->is_told && other->is_told))
        chip.rate = with_level(rows, ANY_COPY, c->cold) / 1e9;
    if (chip.warm_rate == 0)
        chip.warm_rate = with_level(rows, ANY_COPY, false) / 1e9;
    if (!set_product_rates(rows, c, chip.edge_ns, round, true, fused) ||
        !set_product_rates(rows, c, chip.edge_ns, round, false, other))
        return;

    *at[GAIN] = row_in(other->time, round) / row_at(fused->time, round);
    *at[PREDICTED] = form_ns(&chip, other, cached) / form_ns(&chip, fused, 0);
    *at[ERROR] = fabs(*at[PREDICTED] / *at[GAIN] - 1);
    *at[TRAFFIC] =
        derive_fusion_gain(&chip, other->kernels, other->bytes, fused->kernels, fused->bytes);
    *at[CUT] = saved / other->bytes;
    g->round[g->n] = round;
    g->n += isfinite(*at[GAIN]) && isfinite(*at[PREDICTED]) && !isnan(chip.rate);
}

static bool predict(const struct rows *rows, const struct fusion_case *c, const struct pair *pair,
                    double n_sm, struct gains *g)
{
    const struct fusion_chip chip = chip_of(rows, n_sm, c->cold);
    struct form fused, other;

    *g = (struct gains){0};
    if (isnan(chip.edge_ns) || !form_of_case(rows, c, pair->impl, &fused))
        return false;
    if (!form_of_case(rows, c, pair->others[0], &other) &&
        (!pair->others[1] || !form_of_case(rows, c, pair->others[1], &other)))
        return false;
    if (strcmp(pair->impl, "fused") && !(fused.is_told && other.is_told))
        return false;
    if (has_slower_product(rows, c))
        return false;
    g->power_bound = fused.time->power_bound || other.time->power_bound;
    for (size_t i = 0; i < fused.time->n; i++)
        predict_round(rows, c, chip, &fused, &other, fused.time->round[i], g);
    return g->n > 0;
}

static struct row *make(struct rows *made, const char *name, const struct fusion_case *c)
{
    char id[2 * DOCUMENT_ID], impl[32] = "";
    if (strcmp(c->impl, "fused"))
        snprintf(impl, sizeof impl, ",impl=%s", c->impl);
    snprintf(id, sizeof id, "derived.%s{probe=%s,%s%s,l2=%s}", name, c->probe, c->sizes + 1, impl,
             c->cold ? "cold" : "warm");
    return strlen(id) < DOCUMENT_ID ? rows_get(made, id, "ratio", ROW_HIGHER) : NULL;
}

static void put(struct rows *made, const struct fusion_case *c, const struct gains *g,
                const struct row *fused)
{
    static const char *const names[FIGURES] = {"fusion_gain", "predicted_gain", "gain_error",
                                               "traffic_gain", "bytes_cut"};

    for (enum figure which = 0; which < FIGURES; which++) {
        struct row *row = make(made, names[which], c);
        if (!row)
            return;
        row->method = fused->method;
        row->once = fused->once;
        row->thrice = fused->thrice;
        row->power_bound = g->power_bound;
        if (which == ERROR) {
            row->better = ROW_LOWER;
            row->resolution = 0.015; /* two rounds may differ by 3 % of the gain */
        }
        for (size_t i = 0; i < g->n; i++)
            row_put(row, g->round[i], g->value[which][i], NAN);
    }
}

void derive_fusions(const struct rows *rows, struct rows *made, double n_sm)
{
    const struct row *fused;
    struct fusion_case c;
    struct gains g;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (size_t next = 0;
             (fused = rows_match(rows, derive_fusion_needs[pairs[i].need], &next));)
            if (row_usable(fused) && case_of(fused, pairs[i].impl, &c) &&
                predict(rows, &c, &pairs[i], n_sm, &g))
                put(made, &c, &g, fused);
}
