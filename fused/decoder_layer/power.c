/* decoder_layer: how many joules does it take? */
#include "fused/decoder_layer/point.h"

/* What is done again and again: the steps that were timed last, whose bits are known. */
struct again {
    struct point *q;
    const struct decoder_packing *p; /* NULL: a read of as many bytes */
    struct decoder_work work;
    struct gpu_graph graph;
};

static void do_again(struct probe_run *r, void *what)
{
    const struct again *a = what;
    if (!a->p)
        decoder_launch_read(r, &a->q->t, a->work.steps * decoder_step_reads(&a->q->p));
    else if (a->p->way->in_graph)
        CUDA(cudaGraphLaunch(a->graph.exec, gpu_stream(r)));
    else
        decoder_launch(r, a->p, &a->work);
}

static void power_missing(struct probe_run *r, const char *why)
{
    probe_missing(r, POWER, why);
    probe_missing(r, ENERGY, why);
}

/* False: nothing was done. Joules are a step's only where no time passes between steps. What is
 * launched kernel by kernel waits for its launches: that is a part of it. */
static bool say_power(struct probe_run *r, struct again *a, double step_ns)
{
    const double steps = a->work.steps;
    const bool waits = a->p && a->p->way->layer && !a->p->way->in_graph;
    const struct gpu_power power = gpu_power(r, do_again, a, steps * step_ns);
    if (power.why) {
        power_missing(r, power.why);
        return false;
    }
    if (gpu_power_waits(r, &power, steps * step_ns) && !waits) {
        power_missing(r, "in a row, steps take more than 1.1 times the time of one");
        return true;
    }
    return gpu_power_value(r, POWER, ENERGY, &power, steps);
}

void point_measure_power(struct probe_run *r, struct point *q, const struct decoder_packing *p,
                         const char *lacks, double step_ns)
{
    const size_t consumer = p ? (size_t)(p->way - decoder_ways) : BARE_READ;
    const uint32_t steps = 2 * q->steps;
    struct again a = {q, p, {.layers = q->p.model.layers, .steps = steps}, {NULL, NULL}};

    if (!q->is_power_due ||
        !point_begin(r, q, p ? way_name(p->way) : "read",
                     PROBE_SLOW | (q->is_power_due[consumer] ? PROBE_THRICE : PROBE_DEEP)))
        return;
    if (lacks) {
        power_missing(r, lacks);
        return;
    }
    if (p && p->way->in_graph) {
        gpu_graph_begin(r);
        decoder_launch(r, p, &a.work);
        a.graph = gpu_graph_end(r);
    }
    decoder_poison(r, &q->t);
    if (say_power(r, &a, step_ns) && p)
        point_require_bits(r, p, &q->chosen[p->way->bits][1], steps, "after step upon step");
    if (p && p->way->in_graph)
        gpu_graph_free(&a.graph);
}
