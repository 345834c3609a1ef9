/* --counters: the plugin of core/counters.h observes the sample loop, pass by pass.
 *
 * Hardware counters, of one set (core/counter_sets.c). A pass is everything that the loop body does
 * on the GPU between two moments at which the GPU is idle. The warm-up is not counted. After it the
 * set takes as many passes as its configuration needs, three times over, and of the three values
 * the median, the least and the most are kept. (A pass costs up to 50 ms, more than most bodies,
 * because each slice of the L2 and of the memory is read out.) The body runs exactly as when it is
 * timed, but without the clock stamps around it.
 *
 * Launches. Every case takes the same number of passes. The medians of each launch's stages are
 * kept. */
#include <cuda.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter_sets.h"
#include "core/counters.h"
#include "core/gpu_inside.h"
#include "core/plugin.h"
#include "core/run.h"

enum { ROUNDS = 3, TRACED_PASSES = 20 };

/* State of a run under --counters. */
struct counting {
    const struct counters_plugin *plugin;
    bool is_open;
    const char *why; /* why tracing could not start; NULL: it did */
    /* The set on this chip: which of the table's counters it has, under which names. */
    const struct counter *counters[COUNTERS_IN_SET_MAX];
    const char *names[COUNTERS_IN_SET_MAX];
    size_t n;
    double values[ROUNDS][COUNTERS_IN_SET_MAX]; /* of the current case */
    int round;
    bool round_begins;
};

static void refused(struct probe_run *r, const char *why)
{
    json_decref(r->counters);
    r->counters = json_pack("{s:s, s:s}", "status", "refused", "why", why);
    r->watch = NULL;
    probe_skip(r, "no counters: %s", why);
}

/* Every call of the plugin answers NULL, or says why not. */
static void must(struct probe_run *r, const char *why)
{
    if (why)
        refused(r, why);
}

static void wait_for_all(void)
{
    CUDA(cudaDeviceSynchronize());
}

/* --- counters --------------------------------------------------------------------------------- */

static void counters_begin(struct probe_run *r)
{
    struct counting *c = r->counting;
    wait_for_all();
    if (r->loop.passes == 0)
        c->round = 0;
    if (r->loop.passes == 0 || c->round_begins)
        must(r, c->plugin->restart());
    c->round_begins = false;
    must(r, c->plugin->begin());
}

static bool counters_end(struct probe_run *r)
{
    struct counting *c = r->counting;
    wait_for_all();
    must(r, c->plugin->end(&c->round_begins));
    if (!c->round_begins)
        return true;
    must(r, c->plugin->read(c->values[c->round]));
    return ++c->round < ROUNDS;
}

static void counters_close_case(struct probe_run *r, json_t *one)
{
    const struct counting *c = r->counting;
    json_t *medians = json_object(), *least = json_object(), *most = json_object();
    for (size_t i = 0; i < c->n; i++) {
        const char *id = c->counters[i]->id;
        const size_t n = (size_t)c->round;
        double value[ROUNDS];
        for (size_t k = 0; k < n; k++)
            value[k] = c->values[k][i];
        stat_sort(value, n);
        json_object_set_new(medians, id, document_number(stat_median(value, n)));
        json_object_set_new(least, id, document_number(n > 0 ? value[0] : (double)NAN));
        json_object_set_new(most, id, document_number(n > 0 ? value[n - 1] : (double)NAN));
    }
    json_object_set_new(one, "counters", medians);
    json_object_set_new(one, "counters_least", least);
    json_object_set_new(one, "counters_most", most);
    json_object_set_new(one, "sweeps", json_integer(r->loop.sweeps / r->loop.passes));
    json_object_set_new(one, "passes", json_integer(r->loop.passes));
}

static const struct watch counters_watch = {counters_begin, counters_end, counters_close_case};

/* Picks for each counter of the set the name that this chip knows. */
static void choose_names(struct probe_run *r, const struct counter_set *set)
{
    struct counting *c = r->counting;
    char why[COUNTERS_WHY];
    for (size_t i = 0; i < set->n; i++) {
        const struct counter *counter = &set->counters[i];
        const char *unit, *name = NULL;
        for (int k = 0; k < COUNTER_NAMES && !name; k++)
            if (counter->name[k] && c->plugin->knows(counter->name[k], &unit))
                name = counter->name[k];
        if (name) {
            c->counters[c->n] = counter;
            c->names[c->n++] = name;
        } else if (!counter->optional) {
            snprintf(why, sizeof why, "%s has no counter %s", c->plugin->chip(), counter->name[0]);
            refused(r, why);
        }
    }
}

static void start_counters(struct probe_run *r)
{
    struct counting *c = r->counting;
    const char *name = r->options.counters;
    CUresult (*current)(CUcontext *) = gpu_driver_entry("cuCtxGetCurrent", 4000);
    CUcontext context = NULL;
    int passes = 0;

    if (!current || current(&context) != CUDA_SUCCESS)
        refused(r, "the driver names no current context");
    c->is_open = true;
    must(r, c->plugin->open(context, r->options.device));
    choose_names(r, counter_set_find(name, strlen(name)));
    must(r, c->plugin->configure(c->names, c->n, &passes));

    json_t *names = json_object();
    for (size_t i = 0; i < c->n; i++)
        json_object_set_new(names, c->counters[i]->id, json_string(c->names[i]));
    r->counters = json_pack("{s:s, s:s, s:s, s:i, s:o}", "status", "ok", "chip", c->plugin->chip(),
                            "set", name, "passes", passes, "names", names);
    r->watch = &counters_watch;
}

/* --- launches --------------------------------------------------------------------------------- */

static void launches_begin(struct probe_run *r)
{
    struct counters_launch *before;
    size_t n, dropped;
    if (r->loop.passes > 0)
        return;
    wait_for_all();
    must(r, r->counting->plugin->take(&before, &n, &dropped)); /* of the warm-up */
    free(before);
}

static bool launches_end(struct probe_run *r)
{
    wait_for_all();
    return r->loop.passes < TRACED_PASSES;
}

/* Are all its times recorded? Kernels of a graph lack those before the start. */
static bool usable(const struct counters_launch *l)
{
    return l->called && l->returned && l->queued && l->submitted && l->started && l->ended;
}

/* The median of an interval over the usable launches; the interval from launch to launch, over
 * all. */
static json_t *interval(const struct counters_launch *launches, size_t n, size_t from, size_t to,
                        size_t step)
{
    double *ns = malloc((n + 1) * sizeof *ns);
    size_t m = 0;
    for (size_t i = 0; ns && i + step < n; i++) {
        uint64_t a, b;
        memcpy(&a, (const char *)&launches[i] + from, sizeof a);
        memcpy(&b, (const char *)&launches[i + step] + to, sizeof b);
        if (step > 0 || usable(&launches[i]))
            ns[m++] = (double)(int64_t)(b - a);
    }
    if (ns)
        stat_sort(ns, m);
    json_t *median = document_number(m > 0 ? stat_median(ns, m) : (double)NAN);
    free(ns);
    return median;
}

static void launches_close_case(struct probe_run *r, json_t *one)
{
    static const struct {
        const char *name;
        size_t from, to, step;
    } intervals[] = {
#define MOMENT(name) offsetof(struct counters_launch, name)
        {"call_ns", MOMENT(called), MOMENT(returned), 0},
        {"called_to_queued_ns", MOMENT(called), MOMENT(queued), 0},
        {"queued_to_submitted_ns", MOMENT(queued), MOMENT(submitted), 0},
        {"submitted_to_started_ns", MOMENT(submitted), MOMENT(started), 0},
        {"started_to_ended_ns", MOMENT(started), MOMENT(ended), 0},
        {"start_to_next_start_ns", MOMENT(started), MOMENT(started), 1},
#undef MOMENT
    };
    struct counters_launch *launches;
    size_t n, dropped, n_usable = 0;

    must(r, r->counting->plugin->take(&launches, &n, &dropped));
    for (size_t i = 0; i < n; i++)
        n_usable += usable(&launches[i]);
    json_t *seen = json_pack("{s:I, s:I, s:I}", "kernels", (json_int_t)n, "usable",
                             (json_int_t)n_usable, "dropped", (json_int_t)dropped);
    for (size_t i = 0; i < PROBE_LENGTH(intervals); i++)
        json_object_set_new(
            seen, intervals[i].name,
            interval(launches, n, intervals[i].from, intervals[i].to, intervals[i].step));
    free(launches);
    json_object_set_new(one, "launches", seen);
    json_object_set_new(one, "passes", json_integer(r->loop.passes));
}

static const struct watch launches_watch = {launches_begin, launches_end, launches_close_case};

/* --- open and close --------------------------------------------------------------------------- */

static bool tracing(const struct probe_run *r)
{
    return !strcmp(r->options.counters, "launches");
}

void counters_open(struct probe_run *r)
{
    char why[COUNTERS_WHY];

    if (probe.needs == PROBE_HOST)
        refused(r, "this probe runs nothing on a GPU");
    struct counting *c = r->counting = calloc(1, sizeof *c);
    if (!c)
        probe_fail(r, "out of host memory");
    c->plugin = plugin_open("counters", COUNTERS_PLUGIN_SYMBOL, why, sizeof why);
    if (!c->plugin)
        refused(r, why);
    if (tracing(r))
        c->why = c->plugin->trace(); /* without a GPU, this is the reason */
}

void counters_start(struct probe_run *r)
{
    if (!r->gpu)
        refused(r, "there is no GPU");
    must(r, r->counting->why);
    if (tracing(r)) {
        r->counters = json_pack("{s:s, s:s}", "status", "ok", "set", "launches");
        r->watch = &launches_watch;
    } else {
        start_counters(r);
    }
}

void counters_close(struct probe_run *r)
{
    r->watch = NULL;
    if (r->counting && r->counting->is_open)
        r->counting->plugin->close();
    free(r->counting);
    r->counting = NULL;
}
