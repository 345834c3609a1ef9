#include "report/floor/estimate.h"

#include <math.h>
#include <stdio.h>

const char *const packaging_names[PACKAGINGS] = {PACKAGING_NAMES};

const struct packaging packagings[PACKAGINGS] = {
    [PACKAGING_STREAM] = {.what = "a kernel per operator, by stream",
                          .edge = EDGE_STREAM,
                          .kernels = KERNELS_SPLIT},
    [PACKAGING_GRAPH] = {.what = "a kernel per operator, by graph",
                         .edge = EDGE_GRAPH,
                         .kernels = KERNELS_SPLIT},
    [PACKAGING_CUBLAS] = {.what = "cuBLAS, and a kernel per operator between",
                          .edge = EDGE_GRAPH,
                          .kernels = KERNELS_LIBRARY},
    [PACKAGING_FUSED] = {.what = "six fused kernels a layer, by graph", .edge = EDGE_GRAPH},
    [PACKAGING_DEPENDENT] = {.what = "the same, with programmatic dependent launch",
                             .edge = EDGE_DEPENDENT,
                             .held = HELD_BY_NEXT},
    [PACKAGING_BARRIER] = {.what = "one kernel, a barrier of all SMs per step",
                           .edge = EDGE_BARRIER,
                           .kernels = KERNELS_ONE},
    [PACKAGING_RING] = {.what = "the same, weights streaming ahead of the steps",
                        .edge = EDGE_BARRIER,
                        .kernels = KERNELS_ONE,
                        .held = HELD_BY_RING,
                        .is_told_by_overlap = true},
    [PACKAGING_VALUES] = {.what = "the same, with values that tell their readers",
                          .edge = EDGE_FLAG,
                          .kernels = KERNELS_ONE,
                          .held = HELD_BY_RING,
                          .is_told_by_overlap = true},
    [PACKAGING_NEAR] = {.what = "the same, with weights behind each SM's half of the L2",
                        .edge = EDGE_FLAG,
                        .kernels = KERNELS_ONE,
                        .held = HELD_BY_RING,
                        .is_near = true,
                        .is_told_by_overlap = true},
};

/* --- the design of the kernels ---------------------------------------------------------------- */

/* As fused/common/decoder/ has it. A block has eight warps, one block an SM. A ring has tiles of
 * 16 KiB, thirteen at most, and leaves room for a step's vectors; a kernel that comes and goes has
 * half of the SM's shared memory, less what the system takes of it. Rows are taken eight at a time:
 * a thread then has four loads in flight for each eight, for 32 rows at most. */
enum {
    WARPS = 8,
    TILE_BYTES = 16384,
    TILES_MOST = 13,
    TILES_LEAST = 3,
    TILE_ROWS = 8,
    ALIGN = 256,
    SUMS_BYTES = 8192,   /* two rounds of 128 rows of each warp's sums */
    TABLES_BYTES = 480,  /* of plans and a few numbers */
    SHARED_SYSTEM = 1024 /* bytes of an SM's shared memory for each of its blocks */
};

/* Attention: a block takes a split of the keys of one kv head, which has 16 at most, of 32 keys at
 * least. In a turn of its loop a warp loads 8 keys and their values and then uses them, before it
 * asks for more: 64 keys a block. A warp's turn is so many instructions: tests/contract/floor.py
 * counts them in the cubin of sm_90a. */
enum { SPLITS_MOST = 16, SPLIT_KEYS = 32, TURN_KEYS = 64, TURN_HEADS = 4 };
static double turn_bytes(const struct model_decode *m)
{
    return 2 * TURN_KEYS * m->head_dim * m->cache_bytes;
}
static double turn_instructions(const struct model_decode *m)
{
    return m->heads > TURN_HEADS * m->kv_heads ? 354 : m->head_dim > 64 ? 225 : 139;
}

/* The dependent steps of a layer. A merge is none where attention has one split. A packaging of a
 * kernel per operator has gate and up apart, and besides: two norms, rope, append, two additions,
 * SiLU. Beside the library's products there are two norms, one of which adds, rope with append,
 * SiLU, and an addition. After the layers come the head and the choice of a token. */
enum { QKV, ATTENTION, MERGE, OUT, GATE_UP, DOWN, STEPS };
enum { STEPS_AFTER_LAYERS = 2, FLOOR_STEPS = STEPS - 1 };

struct step {
    double bytes; /* that it reads; merge: 0 */
    double units; /* in which a product's rows are dealt out; 0: no product */
    double unit_rows;
    double taken; /* bytes that every SM takes of what the step before handed over */
};

static void steps_of(struct step steps[STEPS], const struct model_decode *m, double context,
                     double batch)
{
    enum { FP32 = 4, BF16 = 2 };
    const double width = m->heads * m->head_dim, kv_width = m->kv_heads * m->head_dim;
    const double size = m->weight_bytes, qkv = width + 2 * kv_width;

    steps[QKV] = (struct step){qkv * m->hidden * size, qkv / 2, 2, FP32 * m->hidden * batch};
    steps[ATTENTION] = (struct step){2 * kv_width * context * batch * m->cache_bytes, 0, 0, 0};
    steps[MERGE] = (struct step){0, 0, 0, 0};
    steps[OUT] = (struct step){width * m->hidden * size, m->hidden, 1, BF16 * width * batch};
    steps[GATE_UP] =
        (struct step){2 * m->ffn * m->hidden * size, m->ffn / 2, 4, FP32 * m->hidden * batch};
    steps[DOWN] = (struct step){m->ffn * m->hidden * size, m->hidden, 1, BF16 * m->ffn * batch};
}

static struct step head_of(const struct model_decode *m, double batch)
{
    return (struct step){m->vocabulary * m->hidden * m->weight_bytes, m->vocabulary, 1,
                         4 * m->hidden * batch};
}

static double layer_bytes(const struct step steps[STEPS])
{
    double bytes = 0;
    for (size_t i = 0; i < STEPS; i++)
        bytes += steps[i].bytes;
    return bytes;
}

/* What an estimate is made for. */
struct work {
    const struct primitives *p;
    const struct packaging *packaging;
    const struct model_decode *m;
    double context, batch;
    struct step steps[STEPS], head;
};

static double splits_of(const struct work *w)
{
    const double room = floor(w->p->sms / (w->batch * w->m->kv_heads));
    return fmax(fmin(fmin(SPLITS_MOST, room), floor((w->context - 1) / SPLIT_KEYS)), 1);
}

/* Turns of a block's loop over so many bytes of keys and values. */
static double turns_of(const struct work *w, double bytes, double blocks)
{
    return ceil(bytes / blocks / turn_bytes(w->m));
}

static double turns(const struct work *w)
{
    return turns_of(w, w->steps[ATTENTION].bytes, splits_of(w) * w->batch * w->m->kv_heads);
}

/* Rows are dealt out to SMs whole: the SM with most of them decides. */
static double imbalance(double units, double sms)
{
    return units > 0 && sms > 0 ? ceil(units / sms) * sms / units : 1;
}

static double aligned(double bytes)
{
    return ceil(bytes / ALIGN) * ALIGN;
}

/* Of a ring with so much room, beside the vectors: those of the longest product, or what attention
 * needs, and, in a kernel that stays, the residual. */
static double tiles_in(const struct work *w, double room, bool stays)
{
    const struct model_decode *m = w->m;
    const double group = m->heads / m->kv_heads;
    const double x = 2 * w->batch * fmax(fmax(m->ffn, m->heads * m->head_dim), m->hidden);
    const double states = 4 * ((group + 2) * m->head_dim + WARPS * group * (2 + m->head_dim));

    for (double tiles = TILES_MOST; tiles >= TILES_LEAST; tiles--) {
        const double residual = aligned(tiles * (TILE_BYTES + 16));
        const double vectors = aligned(residual + (stays ? 4 * w->batch * m->hidden : 0));
        const double sums = aligned(vectors + fmax(x, states));
        if (aligned(sums + SUMS_BYTES + 4 * m->head_dim) + TABLES_BYTES <= room)
            return tiles;
    }
    return isnan(room) ? (double)NAN : 0;
}

static double tiles_of(const struct work *w)
{
    const bool stays = w->packaging->held == HELD_BY_RING;
    const double room = w->p->shared_bytes / w->p->sms - SHARED_SYSTEM;
    const double of_two = stays ? 0 : tiles_in(w, room / 2 - SHARED_SYSTEM / 2.0, false);
    return of_two > 0 ? of_two : tiles_in(w, room, stays);
}

/* --- parts of a step -------------------------------------------------------------------------- */

/* What a product takes beyond a read of its bytes, at the smallest size that both were measured at:
 * its vector, its sums, its results. */
static double product_work(const struct primitives *p, enum corner corner)
{
    if (p->product.n == 0 || p->read.n == 0)
        return (double)NAN;
    const double bytes = p->product.amount[0];
    const double work =
        p->product.time[0].at[corner] - curve_at(&p->read, bytes, p->read_rate.at[CENTRE], CENTRE);
    return work < 0 ? 0 : work;
}

/* All SMs take the same bytes out of the L2. Words that say whether they are there are twice as
 * long, and a poll that misses the last one is followed by a whole one. */
static double taking(const struct work *w, double bytes, enum corner corner)
{
    const double polls = w->packaging->edge == EDGE_FLAG ? 4 : 1;
    return w->p->waits * polls * bytes * w->p->sms / w->p->l2_rate.at[corner] * 1e9;
}

/* From the last word that a step hands over to the moment when the next one has all of them, so
 * many bytes in every SM, within a kernel: the edge, and the words' way apart from it. */
static double edge_and_words(const struct work *w, double bytes, double loaded, enum corner corner)
{
    return w->p->waits * w->p->edge[w->packaging->edge].at[corner] * loaded +
           taking(w, bytes, corner);
}

static const struct node_curve *exchange_of(const struct work *w, enum beside beside)
{
    return &w->p->exchange[w->packaging->edge == EDGE_FLAG ? EXCHANGE_VALUES : EXCHANGE_COUNTER]
                          [beside];
}

/* The same by a row that has both in one. */
static double exchange(const struct work *w, double bytes, enum beside beside, enum corner corner)
{
    enum { WORD = 4, PAIR_OF_WORDS = 8 };
    const struct node_curve *rows = exchange_of(w, beside);
    const double word = w->packaging->edge == EDGE_FLAG ? PAIR_OF_WORDS : WORD;
    const double rate = w->p->l2_rate.at[corner] / (word * w->p->sms); /* words/s to all SMs */
    return w->p->waits * curve_at(rows, fmax(bytes / WORD, rows->amount[0]), rate, corner);
}

/* The same beside a stream: of near memory it is known for so many words, and the way of others
 * differs from that as in an idle memory. */
static double exchange_beside(const struct work *w, double bytes, enum corner corner)
{
    enum { NEAR_BYTES = 2048 * 4 };
    if (!w->packaging->is_near)
        return exchange(w, bytes, BESIDE_STREAM, corner);
    return w->p->waits * w->p->near_exchange.at[corner] +
           exchange(w, bytes, BESIDE_NOTHING, corner) -
           exchange(w, NEAR_BYTES, BESIDE_NOTHING, corner);
}

static const struct node_curve *attention_curve(const struct work *w)
{
    const struct node_curve *both = w->p->attention;
    const bool is_long = (w->m->head_dim > 64 && both[1].n > 0) || both[0].n == 0;
    return &both[is_long];
}

/* Instructions of all warps of a block in one turn of attention's loop. */
static double turn_issue(const struct work *w, enum corner corner)
{
    return WARPS * turn_instructions(w->m) * w->p->issue.at[corner];
}

/* Attention as a node of a graph: the shortest that was measured, whose keys a block takes in one
 * turn, and the further turns, each of which waits for its loads and then computes. */
static double attention_node(const struct work *w, enum corner corner)
{
    enum { MEASURED_BLOCKS = 128 }; /* 8 kv heads of 16 splits */
    const struct node_curve *curve = attention_curve(w);
    const enum flight flight = w->m->head_dim > 64 ? FLIGHT_8 : FLIGHT_4;
    const double loads = turn_bytes(w->m) * w->p->sms / w->p->flight[flight].at[corner] * 1e9;

    if (curve->n == 0)
        return (double)NAN;
    const double more = turns(w) - turns_of(w, curve->amount[0], MEASURED_BLOCKS);
    return curve->time[0].at[corner] + fmax(more, 0) * (loads + turn_issue(w, corner));
}

/* What of attention no stream of keys and values hides. */
static double attention_work(const struct work *w, enum corner corner)
{
    const struct node_curve *curve = attention_curve(w);

    if (curve->n == 0)
        return (double)NAN;
    return w->p->waits *
           (curve->time[0].at[corner] - w->p->edge[EDGE_GRAPH].at[CENTRE] -
            w->p->memory.at[CENTRE] - curve->amount[0] / w->p->read_rate.at[CENTRE] * 1e9);
}

static double merge_work(const struct primitives *p, enum corner corner)
{
    const double work = p->merge.at[corner] - p->edge[EDGE_GRAPH].at[CENTRE];
    return p->waits * (work < 0 ? 0 : work);
}

/* What a node of the graph takes before its stream of bytes flows, the edge left out. */
static double ramp_of(const struct primitives *p, enum corner corner)
{
    if (p->read.n == 0)
        return (double)NAN;
    return fmax(p->read.time[0].at[corner] - p->read.amount[0] / p->read_rate.at[corner] * 1e9 -
                    p->edge[EDGE_GRAPH].at[corner],
                0);
}

/* What a kernel takes longer among the others of a layer than where it is repeated. Of dependents
 * nothing: docs/FLOOR.md says why. */
static double cold_code(const struct work *w, enum corner corner)
{
    const bool comes_and_goes = w->packaging->kernels != KERNELS_ONE;
    return comes_and_goes && w->packaging->edge != EDGE_DEPENDENT ? w->p->cold.at[corner] : 0;
}

/* --- serial ----------------------------------------------------------------------------------- */

/* A product as a kernel of its own: it asks for its first tiles at once, its rows come through a
 * ring. A dependent has asked for them before. */
static double own_node(const struct work *w, const struct step *step, enum corner corner)
{
    const struct primitives *p = w->p;
    const double first = w->packaging->held == HELD_BY_NEXT ? 0 : p->memory.at[corner];

    return p->edge[w->packaging->edge].at[corner] + cold_code(w, corner) + first +
           product_work(p, corner) +
           step->bytes * imbalance(step->units, p->sms) / p->bulk_rate.at[corner] * 1e9;
}

/* The rate at which a block of eight warps reads its rows, by how many it has. */
static double rows_rate(const struct primitives *p, const struct step *step, enum corner corner)
{
    const double rows = ceil(step->units / p->sms) * step->unit_rows;
    const double tiles = fmin(ceil(rows / TILE_ROWS), 4);
    return tiles <= 1   ? p->flight[FLIGHT_4].at[corner]
           : tiles <= 2 ? p->flight[FLIGHT_8].at[corner]
           : tiles <= 3 ? (p->flight[FLIGHT_8].at[corner] + p->flight[FLIGHT_16].at[corner]) / 2
                        : p->flight[FLIGHT_16].at[corner];
}

/* A product of a kernel that stays and has no ring: it asks for weights behind the edge. */
static double product_behind(const struct work *w, const struct step *step, enum corner corner)
{
    const struct primitives *p = w->p;
    const double over = exchange_of(w, BESIDE_NOTHING)->n > 0
                            ? exchange(w, step->taken, BESIDE_NOTHING, corner)
                            : edge_and_words(w, step->taken, 1, corner);
    return over + p->ramp.at[corner] + product_work(p, corner) +
           step->bytes * imbalance(step->units, p->sms) / rows_rate(p, step, corner) * 1e9;
}

static double product_serial(const struct work *w, const struct step *step, enum corner corner)
{
    switch (w->packaging->kernels) {
    case KERNELS_ONE: return product_behind(w, step, corner);
    case KERNELS_LIBRARY:
        return curve_at(&w->p->library, step->bytes, w->p->read_rate.at[corner], corner) +
               cold_code(w, corner);
    default: return own_node(w, step, corner);
    }
}

/* A node with the packaging's edge in place of the graph's. */
static double node_by(const struct work *w, double node, enum corner corner)
{
    const struct primitives *p = w->p;
    if (w->packaging->edge == EDGE_GRAPH)
        return node + cold_code(w, corner);
    return node - p->edge[EDGE_GRAPH].at[CENTRE] + p->edge[w->packaging->edge].at[corner] +
           cold_code(w, corner);
}

static double attention_serial(const struct work *w, enum corner corner)
{
    const double merge = splits_of(w) > 1 ? node_by(w, w->p->merge.at[corner], corner) : 0;
    const double ramp = w->packaging->kernels == KERNELS_ONE ? w->p->ramp.at[corner] : 0;
    return node_by(w, attention_node(w, corner), corner) + ramp + merge;
}

/* The kernels of operators that other packagings have within their steps. */
static double operators_serial(const struct work *w, enum corner corner)
{
    const struct primitives *p = w->p;
    const double norm = node_by(w, p->norm.at[corner], corner);
    const double point = node_by(w, p->point.at[corner], corner);

    if (w->packaging->kernels == KERNELS_LIBRARY)
        return 2 * norm + node_by(w, p->pairs.at[corner], corner) + 2 * point;
    if (w->packaging->kernels == KERNELS_SPLIT)
        return 2 * norm + 2 * node_by(w, p->pair.at[corner], corner) + 3 * point;
    return 0;
}

static double serial_layer(const struct work *w, enum corner corner)
{
    const struct step *steps = w->steps;
    struct step one = steps[GATE_UP]; /* gate or up */
    double time = product_serial(w, &steps[QKV], corner) + attention_serial(w, corner) +
                  product_serial(w, &steps[OUT], corner) + product_serial(w, &steps[DOWN], corner) +
                  operators_serial(w, corner);

    one.bytes /= 2;
    one.units = w->m->ffn;
    return time + (w->packaging->kernels == KERNELS_SPLIT
                       ? 2 * product_serial(w, &one, corner)
                       : product_serial(w, &steps[GATE_UP], corner));
}

/* The library's packaging has our head. */
static double serial_head(const struct work *w, enum corner corner)
{
    const enum kernels kernels = w->packaging->kernels;
    const double edge = w->p->edge[w->packaging->edge].at[corner];

    if (kernels == KERNELS_ONE)
        return product_behind(w, &w->head, corner) + edge;
    const bool has_norm = kernels == KERNELS_SPLIT || kernels == KERNELS_LIBRARY;
    return own_node(w, &w->head, corner) + edge + cold_code(w, corner) +
           (has_norm ? node_by(w, w->p->norm.at[corner], corner) : 0);
}

/* --- overlap ---------------------------------------------------------------------------------- */

/* The stream of weights and old keys and values, in the order in which steps take them. `arrived`
 * and `taken` count bytes from the start of the pass, `now` is in ns. */
struct stream {
    double rate, held; /* bytes per ns; bytes that may be ahead of the steps */
    double again;      /* ns: a load of the memory */
    double now, arrived, taken;
};

/* What lies between two steps, in ns: the way of what is handed over, while the memory streams and
 * while it idles, and work. */
struct gap {
    double beside, idle, work;
};

/* As long as the ring fills, the way goes at the pace of one beside a stream, then at that of one
 * in an idle memory. */
static double way_of(const struct stream *s, const struct gap *gap)
{
    const double fills = fmax(s->taken + s->held - s->arrived, 0) / s->rate;
    return fills >= gap->beside ? gap->beside : fills + (1 - fills / gap->beside) * gap->idle;
}

/* One step: it begins a gap after the one before has ended, and takes its bytes as they come, but
 * in no less than `least`. Where the ring stands full, or will before more is asked for, the next
 * bytes come a load of the memory after the step has begun. */
static void stream_step(struct stream *s, double bytes, const struct gap *between, double least)
{
    const double gap = way_of(s, between) + between->work;
    const double room = fmax(s->taken + s->held, s->arrived), comes = s->arrived + s->rate * gap;
    s->arrived = fmin(comes, room);
    s->now += gap;
    s->taken += bytes;
    const double missing = fmax(s->taken - s->arrived, 0);
    const double full_for = (comes - room) / s->rate; /* negative: until it is full */
    const double idle = missing > 0 ? fmin(fmax(s->again + full_for, 0), s->again) : 0;
    const double takes = fmax(missing / s->rate + idle, least);
    s->arrived = fmin(s->arrived + s->rate * (takes - idle), s->taken + s->held);
    s->now += takes;
}

/* From the end of a step to the moment when the next can take its bytes. A bundle that lacks one of
 * the two rows knows an edge under load alone. */
static struct gap gap_of(const struct work *w, size_t step, double taken, enum corner corner)
{
    const struct primitives *p = w->p;
    const bool has_both =
        exchange_of(w, BESIDE_STREAM)->n > 0 && exchange_of(w, BESIDE_NOTHING)->n > 0;
    const double loaded = edge_and_words(w, taken, p->loaded.at[corner], corner);

    return (struct gap){.beside = has_both ? exchange_beside(w, taken, corner) : loaded,
                        .idle = has_both ? exchange(w, taken, BESIDE_NOTHING, corner) : loaded,
                        .work = step == ATTENTION ? attention_work(w, corner)
                                : step == MERGE   ? merge_work(p, corner)
                                                  : p->waits * product_work(p, corner)};
}

static double gap_sum(const struct work *w, size_t step, double taken, enum corner corner)
{
    const struct gap gap = gap_of(w, step, taken, corner);
    return gap.beside + gap.idle + gap.work;
}

static void stream_product(struct stream *s, const struct work *w, const struct step *step,
                           enum corner corner)
{
    const struct gap gap = gap_of(w, QKV, step->taken, corner);
    stream_step(s, step->bytes, &gap, step->bytes / (w->p->shared_rate.at[corner] / 1e9));
}

static void stream_layer(struct stream *s, const struct work *w, enum corner corner)
{
    for (size_t k = 0; k < STEPS; k++) {
        const struct gap gap = gap_of(w, k, 0, corner);
        if (k == ATTENTION)
            stream_step(s, w->steps[k].bytes, &gap, turns(w) * turn_issue(w, corner));
        else if (k != MERGE)
            stream_product(s, w, &w->steps[k], corner);
        else if (splits_of(w) > 1)
            stream_step(s, 0, &gap, 0);
    }
}

/* The whole step, and what one layer in the middle of it takes. */
static double overlap_step(const struct work *w, enum corner corner, double *layer)
{
    const struct primitives *p = w->p;
    const bool is_near = w->packaging->is_near;
    /* The row streams 256 MiB again and again and finds some of it in the L2; layers do not. */
    const double near_rate = isnan(p->near_rate.at[corner])
                                 ? (double)NAN
                                 : fmin(p->near_rate.at[corner], p->read_rate.at[corner]);
    const double rate = is_near ? near_rate : p->bulk_rate.at[corner];
    struct stream s = {.rate = rate / 1e9, .again = p->memory.at[corner]};
    double began = 0;

    *layer = (double)NAN;
    s.held = tiles_of(w) * TILE_BYTES * p->sms;
    /* asked for here, since fmin() and fmax() pass over what is not a number */
    if (w->packaging->held == HELD_NOTHING || !(s.held > 0) ||
        isnan(s.rate + s.again + (is_near ? p->near_exchange.at[corner] : 0) +
              gap_sum(w, QKV, 1, corner) + gap_sum(w, ATTENTION, 0, corner) +
              gap_sum(w, MERGE, 0, corner) + turn_issue(w, corner) + p->shared_rate.at[corner]))
        return (double)NAN;
    s.now = ramp_of(p, corner);
    for (double i = 0; i < w->m->layers; i++) {
        began = s.now;
        stream_layer(&s, w, corner);
    }
    *layer = s.now - began; /* the last: the stream has settled */
    stream_product(&s, w, &w->head, corner);
    const struct gap last = gap_of(w, QKV, 0, corner);
    stream_step(&s, 0, &last, 0);
    return s.now;
}

/* --- all of it -------------------------------------------------------------------------------- */

static struct work work_of(const struct primitives *p, size_t packaging,
                           const struct model_decode *m, double context, double batch)
{
    struct work w = {.p = p,
                     .packaging = &packagings[packaging],
                     .m = m,
                     .context = context,
                     .batch = batch,
                     .head = head_of(m, batch)};
    steps_of(w.steps, m, context, batch);
    return w;
}

double packaging_tiles(size_t packaging, const struct primitives *p, const struct model_decode *m,
                       double batch)
{
    const struct work w = work_of(p, packaging, m, 1, batch);
    return tiles_of(&w);
}

double packaging_splits(const struct primitives *p, const struct model_decode *m, double context,
                        double batch)
{
    const struct work w = work_of(p, PACKAGING_FUSED, m, context, batch);
    return splits_of(&w);
}

static void estimate_decode(struct estimate *estimate, const struct work *w)
{
    const bool is_estimated = w->batch <= BATCH_ESTIMATED;

    for (enum corner c = CENTRE; c < CORNERS; c++) {
        estimate->layer_serial[c] = is_estimated ? serial_layer(w, c) : (double)NAN;
        estimate->serial[c] = w->m->layers * estimate->layer_serial[c] + serial_head(w, c);
        estimate->overlap[c] = overlap_step(w, c, &estimate->layer_overlap[c]);
        if (!is_estimated)
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
    const struct work w = work_of(p, packaging, m, context, batch);
    estimate_decode(&estimate, &w);
    return estimate_told(&estimate, packaging, CENTRE);
}

/* Edges of a decode step in a packaging. */
static double edges_of(const struct pass *pass, const struct primitives *p)
{
    static const double extra[] = {
        [KERNELS_SPLIT] = 8, [KERNELS_LIBRARY] = 5, [KERNELS_FUSED] = 0, [KERNELS_ONE] = 0};
    const struct model_decode *m = &pass->model->decode;
    const struct work w = work_of(p, pass->best, m, pass->context, pass->batch);
    const double steps = STEPS - (splits_of(&w) > 1 ? 0 : 1);
    return m->layers * (steps + extra[w.packaging->kernels]) + STEPS_AFTER_LAYERS;
}

/* The prediction without a wait between steps. */
static double without_edges(const struct pass *pass, const struct primitives *p)
{
    const struct packaging *packaging = &packagings[pass->best];
    struct primitives other = *p;

    if (!packaging->is_told_by_overlap)
        return estimate_told(&pass->by[pass->best], pass->best, CENTRE) -
               edges_of(pass, p) * p->edge[packaging->edge].at[CENTRE];
    other.waits = 0;
    return told_of(&other, pass->best, &pass->model->decode, pass->context, pass->batch);
}

/* Each share is what the prediction loses when its cause is taken away; the rest is the
 * weights'. */
static void explain(struct pass *pass, const struct primitives *p)
{
    const struct model_decode *m = &pass->model->decode;
    const double all = estimate_told(&pass->by[pass->best], pass->best, CENTRE);
    struct model_decode half = *m;
    struct primitives fast = *p;

    half.weight_bytes /= 2;
    fast.read_rate.at[CENTRE] *= 2;
    fast.bulk_rate.at[CENTRE] *= 2;
    fast.near_rate.at[CENTRE] *= 2;
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
    const double weights =
        e->layers * (4 * e->hidden * e->hidden + 2 * e->hidden * e->ffn) * e->weight_bytes;
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

    *pass = (struct pass){.model = model,
                          .context = context,
                          .batch = batch,
                          .encode_floor = (double)NAN,
                          .encode_serial = {(double)NAN, (double)NAN, (double)NAN}};
    if (!(p->read_rate_best > 0)) {
        snprintf(why, DOCUMENT_WHY,
                 "no row bandwidth.rate{level=hbm,op=read,*}: no floor without "
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
        m->layers * (layer_bytes(steps) - steps[ATTENTION].bytes) + head_of(m, batch).bytes;
    pass->edges = m->layers * FLOOR_STEPS + STEPS_AFTER_LAYERS; /* a merge is no necessity */
    pass->floor_memory = (pass->weight_bytes + pass->cache_bytes) / p->read_rate_best * 1e9;
    pass->floor_compute = 2 * batch * pass->weight_bytes / m->weight_bytes / p->tensor_peak * 1e9;
    pass->floor_edges = isinf(p->edge_least) ? (double)NAN : pass->edges * p->edge_least;
    pass->floor = fmax(pass->floor_memory, fmax(pass->floor_compute, pass->floor_edges));
    pass->layer_floor = layer_bytes(steps) / p->read_rate_best * 1e9;
    pass->best = PACKAGINGS;
    for (size_t i = 0; i < PACKAGINGS; i++) {
        const struct work w = work_of(p, i, m, context, batch);
        estimate_decode(&pass->by[i], &w);
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
