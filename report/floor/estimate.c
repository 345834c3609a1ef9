#include "report/floor/estimate.h"

#include <math.h>
#include <stdio.h>

const char *const packaging_names[PACKAGINGS] = {PACKAGING_NAMES};

const struct packaging packagings[PACKAGINGS] = {
    [PACKAGING_STREAM] = {.what = "a kernel per operator, by stream",
     .edge = EDGE_STREAM, .kernels = KERNELS_SPLIT},
    [PACKAGING_GRAPH] = {.what = "a kernel per operator, by graph",
     .edge = EDGE_GRAPH, .kernels = KERNELS_SPLIT},
    [PACKAGING_CUBLAS] = {.what = "cuBLAS, and a kernel per operator between",
     .edge = EDGE_GRAPH, .kernels = KERNELS_LIBRARY},
    [PACKAGING_FUSED] = {.what = "five fused kernels a layer, by graph", .edge = EDGE_GRAPH},
    [PACKAGING_DEPENDENT] = {.what = "the same, with programmatic dependent launch",
     .edge = EDGE_DEPENDENT, .held = HELD_REGISTERS},
    [PACKAGING_BARRIER] = {.what = "one kernel, a barrier of all SMs per step", .edge = EDGE_BARRIER},
    [PACKAGING_RING] = {.what = "the same, weights streaming ahead of the steps",
     .edge = EDGE_BARRIER, .held = HELD_SHARED, .is_told_by_overlap = true},
    [PACKAGING_VALUES] = {.what = "the same, with values that tell their readers",
     .edge = EDGE_FLAG, .held = HELD_SHARED, .is_told_by_overlap = true},
};

/* A quarter of the registers can hold the first loads of the next kernel, while the one before
 * still runs; seven tenths of the shared memory can be a ring: the rest is for activations. */
static const double register_share = 0.25, shared_share = 0.7;

/* The dependent steps of a layer. A packaging of a kernel per operator has gate and up apart, and
 * eight kernels more: norm, rope, append, the merge of attention, add, norm, SiLU, add. Beside the
 * library's products there are six: norm, rope with append, add, norm, SiLU, add. After the layers
 * come the head and the choice of a token. */
enum { QKV, ATTENTION, OUT, GATE_UP, DOWN, STEPS };
enum { STEPS_AFTER_LAYERS = 2 };
static const double extra[] = {[KERNELS_SPLIT] = 8, [KERNELS_LIBRARY] = 6, [KERNELS_FUSED] = 0};

struct step {
    double bytes, rows; /* rows 0: attention */
};

static void steps_of(struct step steps[STEPS], const struct model_decode *m, double context,
                     double batch)
{
    const double width = m->heads * m->head_dim, kv_width = m->kv_heads * m->head_dim;
    const double size = m->weight_bytes;

    steps[QKV] = (struct step){(width + 2 * kv_width) * m->hidden * size, width + 2 * kv_width};
    steps[ATTENTION] = (struct step){2 * kv_width * context * batch * m->cache_bytes, 0};
    steps[OUT] = (struct step){width * m->hidden * size, m->hidden};
    steps[GATE_UP] = (struct step){2 * m->ffn * m->hidden * size, 2 * m->ffn};
    steps[DOWN] = (struct step){m->ffn * m->hidden * size, m->hidden};
}

static double head_bytes(const struct model_decode *m)
{
    return m->vocabulary * m->hidden * m->weight_bytes;
}

static double layer_bytes(const struct step steps[STEPS])
{
    double bytes = 0;
    for (size_t i = 0; i < STEPS; i++)
        bytes += steps[i].bytes;
    return bytes;
}

/* --- serial ----------------------------------------------------------------------------------- */

static double attention_at(const struct primitives *p, const struct model_decode *m, double bytes,
                           enum corner corner)
{
    const struct node_curve *curve = &p->attention[m->head_dim > 64 && p->attention[1].n > 0];
    return curve_at(curve->n ? curve : &p->attention[1], bytes, p->read_rate.at[corner], corner);
}

static double product_at(const struct primitives *p, bool library, double bytes, enum corner corner)
{
    return curve_at(library ? &p->library : &p->product, bytes, p->read_rate.at[corner], corner);
}

/* What a node of the graph takes before its stream of bytes flows, the edge left out. */
static double ramp_of(const struct primitives *p, enum corner corner)
{
    if (p->read.n == 0)
        return (double)NAN;
    return fmax(p->read.time[0].at[corner] - p->read.amount[0] / p->read_rate.at[corner] * 1e9 -
                    p->edge[EDGE_GRAPH].at[corner], 0);
}

static double serial_layer(const struct primitives *p, const struct packaging *packaging,
                           const struct model_decode *m, const struct step steps[STEPS],
                           enum corner corner)
{
    const double edge = p->edge[packaging->edge].at[corner];
    /* What is taken off a node is taken off by its centre: its spread is in the node's already. */
    const double other_edge =
        edge - (packaging->edge == EDGE_GRAPH ? edge : p->edge[EDGE_GRAPH].at[CENTRE]) -
        (packaging->held == HELD_NOTHING ? 0 : ramp_of(p, CENTRE));
    double time = extra[packaging->kernels] * edge;

    for (size_t i = 0; i < STEPS; i++) {
        const bool is_two = packaging->kernels == KERNELS_SPLIT && i == GATE_UP;
        const double bytes = steps[i].bytes / (is_two ? 2 : 1);
        const double node = i == ATTENTION ? attention_at(p, m, bytes, corner)
                                           : product_at(p, packaging->kernels == KERNELS_LIBRARY, bytes, corner);
        time += (is_two ? 2 : 1) * (node + other_edge);
    }
    return time;
}

static double serial_head(const struct primitives *p, const struct packaging *packaging,
                          const struct model_decode *m, enum corner corner)
{
    const double edge = p->edge[packaging->edge].at[corner];
    return product_at(p, packaging->kernels == KERNELS_LIBRARY, head_bytes(m), corner) -
           p->edge[EDGE_GRAPH].at[CENTRE] + STEPS_AFTER_LAYERS * edge;
}

/* --- overlap ---------------------------------------------------------------------------------- */

/* The stream of weights and old keys and values, in the order in which steps take them. `arrived`
 * and `taken` count bytes from the start of the pass, `now` is in ns. */
struct stream {
    double rate, held; /* bytes per ns; bytes that may be ahead of the steps */
    double now, arrived, taken;
};

/* One step: it begins `gap` after the one before has ended, and takes its bytes as they come, but
 * no faster than on_chip. */
static void stream_step(struct stream *s, double bytes, double gap, double on_chip)
{
    s->arrived = fmin(s->arrived + s->rate * gap, fmax(s->taken + s->held, s->arrived));
    s->now += gap;
    s->taken += bytes;
    const double waits = fmax(s->taken - s->arrived, 0) / s->rate;
    const double takes = fmax(waits, bytes / on_chip);
    s->arrived = fmin(s->arrived + s->rate * takes, s->taken + s->held);
    s->now += takes;
}

/* Rows are dealt out to SMs whole: the SM with most of them decides. */
static double imbalance(double rows, double sms)
{
    return rows > 0 && sms > 0 ? ceil(rows / sms) * sms / rows : 1;
}

/* Serial work that no stream hides: per reduction five exchanges within a warp and two barriers of
 * a block. A product has one reduction, attention three: scores, their sum, values. */
static double reductions(const struct primitives *p, size_t step, enum corner corner)
{
    const double one = 5 * p->shuffle.at[corner] + 2 * p->block.at[corner];
    return step == ATTENTION ? 3 * one : one;
}

static double held_bytes(const struct primitives *p, const struct packaging *packaging)
{
    return packaging->held == HELD_REGISTERS ? register_share * p->register_bytes
                                             : shared_share * p->shared_bytes;
}

/* The whole step, and what one layer in the middle of it takes. */
static double overlap_step(const struct primitives *p, const struct packaging *packaging,
                           const struct model_decode *m, const struct step steps[STEPS],
                           enum corner corner, double *layer)
{
    const double edge = p->edge[packaging->edge].at[corner];
    const double on_chip = p->shared_rate.at[corner] / 1e9;
    struct stream s = {.rate = p->read_rate.at[corner] / 1e9, .held = held_bytes(p, packaging)};
    double began = 0;

    *layer = (double)NAN;
    /* asked for here, since fmin() and fmax() pass over what is not a number */
    if (packaging->held == HELD_NOTHING || isnan(s.rate + s.held + edge + on_chip + p->sms))
        return (double)NAN;
    s.now = ramp_of(p, corner);
    for (double i = 0; i < m->layers; i++) {
        began = s.now;
        for (size_t k = 0; k < STEPS; k++)
            stream_step(&s, steps[k].bytes * imbalance(steps[k].rows, p->sms),
                        edge + reductions(p, k, corner), on_chip);
    }
    *layer = s.now - began; /* the last: the stream has settled */
    for (size_t k = 0; k < STEPS_AFTER_LAYERS; k++)
        stream_step(&s, k == 0 ? head_bytes(m) * imbalance(m->vocabulary, p->sms) : 0,
                    edge + reductions(p, QKV, corner), on_chip);
    return s.now;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void estimate_decode(struct estimate *estimate, const struct primitives *p,
                            const struct packaging *packaging, const struct model_decode *m,
                            double context, double batch)
{
    struct step steps[STEPS];

    steps_of(steps, m, context, batch);
    for (enum corner c = CENTRE; c < CORNERS; c++) {
        const bool estimated = batch <= BATCH_ESTIMATED;
        estimate->layer_serial[c] =
            estimated ? serial_layer(p, packaging, m, steps, c) : (double)NAN;
        estimate->serial[c] =
            m->layers * estimate->layer_serial[c] + serial_head(p, packaging, m, c);
        estimate->overlap[c] =
            overlap_step(p, packaging, m, steps, c, &estimate->layer_overlap[c]);
        if (!estimated)
            estimate->overlap[c] = estimate->layer_overlap[c] = (double)NAN;
    }
}

static double told(size_t packaging, double serial, double overlap)
{
    return packagings[packaging].is_told_by_overlap ? overlap : serial;
}

double estimate_told(const struct estimate *estimate, size_t packaging, enum corner corner)
{
    return told(packaging, estimate->serial[corner], estimate->overlap[corner]);
}

double estimate_told_layer(const struct estimate *estimate, size_t packaging, enum corner corner)
{
    return told(packaging, estimate->layer_serial[corner], estimate->layer_overlap[corner]);
}

static double told_of(const struct primitives *p, size_t packaging, const struct model_decode *m,
                      double context, double batch)
{
    struct estimate estimate;
    estimate_decode(&estimate, p, &packagings[packaging], m, context, batch);
    return estimate_told(&estimate, packaging, CENTRE);
}

/* Dependent steps of a decode step, with the kernels that a packaging has between them. */
static double edges_of(const struct pass *pass, const struct packaging *packaging)
{
    const bool is_split = packaging->kernels == KERNELS_SPLIT; /* gate and up are two */
    return pass->edges + pass->model->decode.layers * (extra[packaging->kernels] + is_split);
}

/* The prediction without a wait between steps. */
static double without_edges(const struct pass *pass, const struct primitives *p)
{
    const struct packaging *packaging = &packagings[pass->best];
    struct primitives other = *p;

    if (!packaging->is_told_by_overlap)
        return estimate_told(&pass->by[pass->best], pass->best, CENTRE) -
               edges_of(pass, packaging) * p->edge[packaging->edge].at[CENTRE];
    other.edge[packaging->edge].at[CENTRE] = 0;
    other.shuffle.at[CENTRE] = other.block.at[CENTRE] = 0;
    return told_of(&other, pass->best, &pass->model->decode, pass->context, pass->batch);
}

/* Each share is what the prediction loses when its cause is taken away; the rest is the weights'. */
static void explain(struct pass *pass, const struct primitives *p)
{
    const struct model_decode *m = &pass->model->decode;
    const double all = estimate_told(&pass->by[pass->best], pass->best, CENTRE);
    struct model_decode half = *m;
    struct primitives fast = *p;

    half.weight_bytes /= 2;
    fast.read_rate.at[CENTRE] *= 2;
    pass->what_if = (struct what_if){
        .half_weights = told_of(p, pass->best, &half, pass->context, pass->batch) / all,
        .no_edges = without_edges(pass, p) / all,
        .twice_bandwidth = packagings[pass->best].is_told_by_overlap
                               ? told_of(&fast, pass->best, m, pass->context, pass->batch) / all
                               : (double)NAN, /* its nodes were measured at the bandwidth that is */
    };
    pass->share_cache = 1 - told_of(p, pass->best, m, 0, pass->batch) / all;
    pass->share_edges = 1 - pass->what_if.no_edges;
    pass->share_weights = 1 - pass->share_cache - pass->share_edges;
}

/* --- the encoder ------------------------------------------------------------------------------ */

static void encode_estimate(struct pass *pass, const struct primitives *p)
{
    const struct model_encode *e = &pass->model->encode;
    const double square = 2 * e->positions * e->hidden * e->hidden;
    const double wide = 2 * e->positions * e->hidden * e->ffn;
    const double scores = 4 * e->hidden * e->positions * e->positions;
    const double weights = e->layers * (4 * e->hidden * e->hidden + 2 * e->hidden * e->ffn) *
                           e->weight_bytes;
    const double flops = e->layers * (4 * square + 2 * wide + scores);

    pass->encode_floor = fmax(weights / p->read_rate_best, flops / p->tensor_peak) * 1e9;
    for (enum corner c = CENTRE; c < CORNERS; c++) {
        const double layer = curve_at(&p->matrix, 3 * square, p->tensor_peak, c) +
                             curve_at(&p->matrix, square, p->tensor_peak, c) +
                             2 * curve_at(&p->matrix, wide, p->tensor_peak, c) +
                             curve_at(&p->prefill, scores, p->tensor_peak, c) +
                             2 * p->edge[EDGE_GRAPH].at[c];
        pass->encode_serial[c] = e->layers * layer;
    }
}

bool pass_estimate(struct pass *pass, const struct model *model, double context, double batch,
                   const struct primitives *p, char why[DOCUMENT_WHY])
{
    const struct model_decode *m = &model->decode;
    struct step steps[STEPS];
    double least = (double)INFINITY;

    *pass = (struct pass){.model = model, .context = context, .batch = batch,
                          .encode_floor = (double)NAN,
                          .encode_serial = {(double)NAN, (double)NAN, (double)NAN}};
    if (!(p->read_rate_best > 0)) {
        snprintf(why, DOCUMENT_WHY, "no row bandwidth.rate{level=hbm,op=read,*}: no floor without "
                 "the rate at which the memory can be read");
        return false;
    }
    if (model->encode.layers > 0)
        encode_estimate(pass, p);
    if (!(m->layers > 0))
        return true;
    steps_of(steps, m, context, batch);
    pass->cache_bytes = m->layers * steps[ATTENTION].bytes;
    pass->weight_bytes =
        m->layers * (layer_bytes(steps) - steps[ATTENTION].bytes) + head_bytes(m);
    pass->edges = m->layers * STEPS + STEPS_AFTER_LAYERS;
    pass->floor_memory = (pass->weight_bytes + pass->cache_bytes) / p->read_rate_best * 1e9;
    pass->floor_compute = 2 * batch * pass->weight_bytes / m->weight_bytes / p->tensor_peak * 1e9;
    pass->floor_edges = isinf(p->edge_least) ? (double)NAN : pass->edges * p->edge_least;
    pass->floor = fmax(pass->floor_memory, fmax(pass->floor_compute, pass->floor_edges));
    pass->layer_floor = layer_bytes(steps) / p->read_rate_best * 1e9;
    pass->best = PACKAGINGS;
    for (size_t i = 0; i < PACKAGINGS; i++) {
        estimate_decode(&pass->by[i], p, &packagings[i], m, context, batch);
        const double time = estimate_told(&pass->by[i], i, CENTRE);
        if (time < least) {
            least = time;
            pass->best = i;
        }
    }
    if (pass->best < PACKAGINGS)
        explain(pass, p);
    return true;
}
