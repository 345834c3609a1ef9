#include "fused/epilogue/turns.h"

#include <math.h>
#include <stdlib.h>

enum { LAPS_MAX = 2000 }; /* two a pass, of which a loop makes 1000 */
static const double TURN_NS = 60e3; /* the shorter graph, at least */

struct lap {
    double n, ns, mhz;
};

struct turns {
    const char *keys;
    const struct operation *list;
    size_t n, laps, length[TURNS_MAX]; /* operations in the shorter graph */
    size_t dropped;                    /* passes, as the first case's loop has it */
    struct gpu_graph graph[TURNS_MAX][2];
    struct lap *lap[TURNS_MAX];
    unsigned flags;
    double copy_ns; /* for shares; NaN: none */
};

static bool turn_case(struct probe_run *r, const struct turns *t, size_t i)
{
    return probe_begin_case(r, t->flags | PROBE_POWER_BOUND, "%s,impl=%s,mode=graph,l2=cold",
                            t->keys, t->list[i].name);
}

/* A shorter and a longer graph; one will do where nothing is timed. */
static size_t sides(struct probe_run *r)
{
    return probe_is_check_run(r) ? 1 : 2;
}

/* Whole turns through the sets. */
static struct gpu_graph turn_graph(struct probe_run *r, const struct operation *o, size_t n)
{
    gpu_graph_begin(r);
    for (size_t i = 0; i < n; i++)
        o->launch(r, o->self, i % o->sets);
    return gpu_graph_end(r);
}

/* One replay of a graph of n operations. */
static struct lap replay(struct probe_run *r, const struct gpu_graph *graph, size_t n)
{
    gpu_time_start(r);
    CUDA(cudaGraphLaunch(graph->exec, gpu_stream(r)));
    const struct gpu_time t = gpu_time_stop(r);
    return (struct lap){.n = (double)n, .ns = t.ns, .mhz = t.mhz};
}

static void turn_open(struct probe_run *r, struct turns *t, size_t i)
{
    const struct operation *o = &t->list[i];

    o->poison(r, o->self);
    o->launch(r, o->self, 0);
    o->verify(r, o->self, "before timing");

    t->length[i] = o->sets;
    if (!probe_is_check_run(r)) {
        struct gpu_graph one = turn_graph(r, o, o->sets);
        const double ns = replay(r, &one, 1).ns;
        gpu_graph_free(&one);
        t->length[i] *= ns < TURN_NS ? (size_t)ceil(TURN_NS / ns) : 1;
        t->lap[i] = probe_host_alloc(r, LAPS_MAX * sizeof **t->lap);
    }
    for (size_t side = 0; side < sides(r); side++)
        t->graph[i][side] = turn_graph(r, o, t->length[i] << side);
}

/* Behind the loop: the timed graph once more, over NaN, and what else its case holds. */
static void turn_close(struct probe_run *r, struct turns *t, size_t i)
{
    const struct operation *o = &t->list[i];

    const double ns = probe_median(r, OPERATION_TIME);
    if (!isnan(ns) && !isnan(t->copy_ns))
        probe_value(r, OPERATION_SHARE, t->copy_ns / ns);
    o->poison(r, o->self);
    CUDA(cudaGraphLaunch(t->graph[i][sides(r) - 1].exec, gpu_stream(r)));
    const double error = o->verify(r, o->self, "after timing");
    probe_value(r, OPERATION_ERROR, error);
    probe_value(r, OPERATION_BYTES, o->bytes);
    probe_value(r, OPERATION_KERNELS, o->kernels);
    o->describe(r, o->self);
}

/* `first`: the one whose case is open; what its loop drops is dropped of all. Counters would add up
 * all turns: they see that one alone. */
static void take_turns(struct probe_run *r, struct turns *t, size_t first)
{
    if (probe_dropped_passes(r) != t->dropped)
        t->laps = 0;
    t->dropped = probe_dropped_passes(r);
    for (size_t side = 0; !probe_is_check_run(r) && side < 2; side++, t->laps++)
        for (size_t i = 0; i < t->n; i++) {
            const size_t n = t->length[i] << side;
            if (i != first && probe_is_counted(r))
                continue;
            const struct lap lap = replay(r, &t->graph[i][side], n);
            if (i == first)
                probe_sample(r, OPERATION_TIME, lap.n, lap.ns);
            if (t->laps < LAPS_MAX)
                t->lap[i][t->laps] = lap;
        }
}

/* Under counters: one after another. */
static void count_each(struct probe_run *r, struct turns *t, size_t first)
{
    for (size_t i = first; i < t->n; i++) {
        if (i > first && !turn_case(r, t, i))
            continue;
        while (probe_more(r))
            take_turns(r, t, i);
        turn_close(r, t, i);
    }
}

static size_t kept_laps(const struct turns *t)
{
    return t->laps < LAPS_MAX ? t->laps : LAPS_MAX;
}

/* One loop for all; the others' cases get their samples behind it, and each its own clocks. */
static void time_all(struct probe_run *r, struct turns *t, size_t first)
{
    while (probe_more(r))
        take_turns(r, t, first);

    probe_forget_clocks(r);
    for (size_t k = 0; k < kept_laps(t); k++)
        probe_clock(r, t->lap[first][k].mhz);
    turn_close(r, t, first);
    for (size_t i = first + 1; i < t->n; i++) {
        if (!turn_case(r, t, i))
            continue;
        for (size_t k = 0; k < kept_laps(t); k++) {
            probe_sample(r, OPERATION_TIME, t->lap[i][k].n, t->lap[i][k].ns);
            probe_clock(r, t->lap[i][k].mhz);
        }
        turn_close(r, t, i);
    }
}

void epilogue_measure_in_turn(struct probe_run *r, const char *keys, const struct operation *list,
                              size_t n, unsigned flags, double copy_ns)
{
    struct turns t = {.keys = keys, .list = list, .n = n, .flags = flags, .copy_ns = copy_ns};
    size_t first = 0;

    while (first < n && !turn_case(r, &t, first))
        first++;
    if (first == n)
        return;
    for (size_t i = 0; i < n; i++)
        turn_open(r, &t, i);
    gpu_empty_l2(r); /* of what the poison left there */

    if (probe_is_counted(r))
        count_each(r, &t, first);
    else
        time_all(r, &t, first);
    for (size_t i = 0; i < n; i++)
        operation_count(r, keys, &list[i], (struct condition){.cold = true}, flags);
    for (size_t i = 0; i < n; i++) {
        free(t.lap[i]);
        for (size_t side = 0; side < sides(r); side++)
            gpu_graph_free(&t.graph[i][side]);
    }
}
