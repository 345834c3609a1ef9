#include "fused/two_layers/stamps.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A moment at which an operation gets one task more, or one less. */
struct edge {
    double ns;
    int operation, more;
};

static int by_time(const void *a, const void *b)
{
    const struct edge *one = a, *other = b;
    if (one->ns != other->ns)
        return one->ns < other->ns ? -1 : 1;
    return one->more - other->more; /* what ends at this moment ends first */
}

/* The share in which two operations or more have a task, of the time in which any stamp lies. */
static double share_of(struct edge *edges, size_t n, double all_ns)
{
    int at_work[LAYERS_OPERATIONS] = {0}, active = 0;
    double both = 0;
    qsort(edges, n, sizeof *edges, by_time);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && active >= 2)
            both += edges[i].ns - edges[i - 1].ns;
        int *own = &at_work[edges[i].operation];
        active -= *own > 0;
        *own += edges[i].more;
        active += *own > 0;
    }
    return both / all_ns;
}

/* The tasks of all blocks, and how many operations count as one. */
struct stamped {
    const struct two_layers_task *tasks;
    size_t n;
    uint64_t first_ns;
    int joined;
};

/* Every task with `longer_ns` more at both ends. One that has nothing left is left out. */
static size_t edges_of(struct edge *edges, const struct stamped *s, double longer_ns)
{
    size_t found = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->tasks[i].begun_ns == 0)
            continue;
        const int operation = (int)(i / LAYERS_TASKS % LAYERS_OPERATIONS) / s->joined;
        const double begun = (double)(s->tasks[i].begun_ns - s->first_ns) - longer_ns;
        const double ended = (double)(s->tasks[i].ended_ns - s->first_ns) + longer_ns;
        if (begun >= ended)
            continue;
        edges[found++] = (struct edge){begun, operation, 1};
        edges[found++] = (struct edge){ended, operation, -1};
    }
    return found;
}

struct overlap overlap_of(const struct two_layers_task *tasks, size_t blocks, size_t items,
                          int joined, double error_ns)
{
    const size_t n = blocks * items * LAYERS_OPERATIONS * LAYERS_TASKS;
    struct overlap o = {NAN, NAN, NAN, 0};
    uint64_t first = UINT64_MAX, last = 0;
    struct edge *edges;

    for (size_t i = 0; i < n; i++) {
        if (tasks[i].begun_ns == 0 && tasks[i].ended_ns == 0)
            continue;
        if (tasks[i].begun_ns == 0 || tasks[i].ended_ns < tasks[i].begun_ns)
            return o;
        first = tasks[i].begun_ns < first ? tasks[i].begun_ns : first;
        last = tasks[i].ended_ns > last ? tasks[i].ended_ns : last;
        o.tasks++;
    }
    if (o.tasks == 0 || last <= first || !(edges = malloc(2 * o.tasks * sizeof *edges)))
        return o;
    const double all = (double)(last - first);
    const struct stamped s = {tasks, n, first, joined};
    o.stamped = share_of(edges, edges_of(edges, &s, 0), all);
    o.least = share_of(edges, edges_of(edges, &s, -error_ns / 2), all);
    o.most = share_of(edges, edges_of(edges, &s, error_ns / 2), all);
    free(edges);
    return o;
}

double clock_error_ns(const struct two_layers_clock *found, size_t blocks)
{
    int64_t low = 0, high = 0; /* the first block's own */
    uint64_t step = 0;
    for (size_t i = 0; i < blocks; i++) {
        step = found[i].step_ns > step ? found[i].step_ns : step;
        if (i == 0)
            continue;
        low = found[i].low_ns < low ? found[i].low_ns : low;
        high = found[i].high_ns > high ? found[i].high_ns : high;
    }
    return (double)(high - low) + (double)step;
}
