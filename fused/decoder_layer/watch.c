/* decoder_layer: where does the time go? */
#include "fused/decoder_layer/point.h"

#include <math.h>
#include <stdlib.h>

#include "fused/decoder_layer/where.h"

enum { WATCHED = 5 };
static const double CLOSE = 0.03;

static const char no_sum[] = "the parts do not add up to the layer's time within 3 %";

static void say_where(struct probe_run *r, const struct point *q, const struct decoder_way *way,
                      const struct decoder_where *where, bool adds_up)
{
    for (int step = 0; step < DECODER_STEPS; step++)
        for (int part = 0; part < DECODER_PARTS; part++) {
            if (!probe_begin_case(r, PROBE_THRICE, "model=%s,context=%u,impl=%s,step=%s,part=%s",
                                  q->p.model.name, q->p.context, way_name(way),
                                  decoder_step_names[step], decoder_part_names[part]))
                continue;
            if (adds_up)
                probe_value(r, WHERE, where->ns[step][part]);
            else
                probe_missing(r, WHERE, no_sum);
            if (part == PART_WEIGHTS)
                probe_fact(r, "starved_ns", "%.0f without a tile at hand", where->starved[step]);
        }
}

/* Several launches, one after the other, behind one that warms up. */
static void watch(struct probe_run *r, struct point *q, const struct decoder_packing *p,
                  struct decoder_where *where)
{
    const uint32_t layers = q->t.generations;
    const struct decoder_work work = {.layers = layers, .keeps_mail = true, .is_watched = true};
    const size_t n = (size_t)layers * DECODER_STEPS * q->p.blocks * DECODER_STAMPS;
    const size_t cells = (size_t)DECODER_MOMENTS * q->p.blocks;
    uint64_t *stamps = probe_host_alloc(r, n * sizeof *stamps);
    double *timelines = probe_host_alloc(r, WATCHED * cells * sizeof *timelines);
    struct decoder_where launches[WATCHED];

    decoder_launch(r, p, &work);
    for (size_t i = 0; i < WATCHED; i++) {
        gpu_time_start(r);
        decoder_launch(r, p, &work);
        const double mhz = gpu_time_stop(r).mhz;
        gpu_to_host(r, stamps, q->t.stamps, n * sizeof *stamps);
        launches[i].timeline = timelines + i * cells;
        decoder_where_of(&q->p, stamps, layers, mhz, &launches[i]);
    }
    decoder_where_median(&q->p, launches, WATCHED, where);
    free(stamps);
    free(timelines);
}

static bool begin_watched(struct probe_run *r, const struct point *q, const struct decoder_way *way,
                          unsigned flags)
{
    return probe_begin_case(r, flags, "model=%s,context=%u,impl=%s", q->p.model.name, q->p.context,
                            way_name(way));
}

void point_measure_where(struct probe_run *r, struct point *q, enum decoder_way_name name)
{
    const struct decoder_packing p = {&decoder_ways[name], &q->t, &q->kernels, NULL};
    struct decoder_where where = {.sum = 0};

    if (!decoder_can_watch(&p) || !begin_watched(r, q, p.way, PROBE_THRICE))
        return;
    point_ready(r, q);
    where.timeline =
        probe_host_alloc(r, (size_t)DECODER_MOMENTS * q->p.blocks * sizeof *where.timeline);
    watch(r, q, &p, &where);
    decoder_require_no_abort(r, &q->t, "watched");
    const double ns = q->layer_ns[name], closes = where.sum / ns;
    const bool adds_up = ns > 0 ? fabs(closes - 1) <= CLOSE : true;
    if (ns > 0)
        probe_value(r, CLOSES, closes);
    else
        probe_missing(r, CLOSES, "layer_time was not measured in this process");
    if (adds_up)
        probe_value(r, BARRIER_UNDER_LOAD, where.edge);
    else
        probe_missing(r, BARRIER_UNDER_LOAD, no_sum);
    probe_fact(r, "launches", "%d of %u layers, of each figure the median", (int)WATCHED,
               q->t.generations);
    if (begin_watched(r, q, p.way, PROBE_TWICE))
        probe_grid(r, TIMELINE, (struct probe_axis){"moment", DECODER_MOMENTS, NULL},
                   (struct probe_axis){"block", q->p.blocks, NULL}, where.timeline);
    say_where(r, q, p.way, &where, adds_up);
    free(where.timeline);
}
