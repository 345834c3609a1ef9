#include "fused/epilogue/race.h"

#include <math.h>

enum { REPLAYS = 4 };
static const double RACE_NS = 50e3, NEAR = 1.25;

static struct gpu_graph race_graph(struct probe_run *r, const struct epilogue_race *race,
                                   const struct epilogue_way *way, size_t length)
{
    *race->slot = way;
    gpu_graph_begin(r);
    for (size_t i = 0; i < length; i++)
        race->operation->launch(r, race->operation->self, i % race->operation->sets);
    return gpu_graph_end(r);
}

/* Whole turns through the sets, so that operands come from memory. */
static size_t race_length(struct probe_run *r, const struct epilogue_race *race,
                          const struct epilogue_way *way)
{
    const size_t sets = race->operation->sets;
    struct gpu_graph turn = race_graph(r, race, way, sets);
    const double ns = gpu_replay_ns(r, &turn);
    gpu_graph_free(&turn);
    return ns < RACE_NS ? sets * (size_t)ceil(RACE_NS / ns) : sets;
}

size_t epilogue_fastest(struct probe_run *r, const struct epilogue_ways *ways,
                        const struct epilogue_race *race)
{
    struct gpu_graph graph[WAYS_MAX] = {0};
    double once[WAYS_MAX], sum[WAYS_MAX] = {0}, least = INFINITY;
    size_t best = 0;

    if (ways->n < 2 || probe_is_check_run(r))
        return 0;
    const size_t length = race_length(r, race, &ways->way[0]);
    for (size_t i = 0; i < ways->n; i++) {
        graph[i] = race_graph(r, race, &ways->way[i], length);
        once[i] = gpu_replay_ns(r, &graph[i]);
        least = fmin(least, once[i]);
    }
    for (int turn = 0; turn < REPLAYS; turn++)
        for (size_t i = 0; i < ways->n; i++)
            sum[i] += once[i] <= NEAR * least ? gpu_replay_ns(r, &graph[i]) : INFINITY;
    for (size_t i = 0; i < ways->n; i++) {
        best = sum[i] < sum[best] ? i : best;
        gpu_graph_free(&graph[i]);
    }
    return best;
}

size_t epilogue_checked_way(int m, size_t n)
{
    return m == 1 ? n - 1 : (size_t)m % n;
}
