#include "report/cli/counter_figures.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter_sets.h"
#include "core/document.h"
#include "core/unit.h"
#include "report/bundle/counted.h"

static const double HALF = 0.5, BUSY = 0.6, LEAST_BYTES = 1000;

static const char *const bounds[] = {"unknown", "launch", "latency", "bandwidth", "compute"};
static const char *const levels[N_LEVELS] = {"shared", "l1", "l2", "hbm"};

const char *bound_name(enum bound bound)
{
    return bounds[bound];
}

const char *level_name(enum level level)
{
    return levels[level];
}

int counter_claim(const char *keys)
{
    static const char key[] = "level=";
    if (strstr(keys, "path=cp_async") || strstr(keys, "path=bulk"))
        return -1;
    for (const char *at = strstr(keys, key); at; at = strstr(at + 1, key)) {
        const char *value = at + strlen(key);
        size_t length = strcspn(value, ",");
        for (int i = 0; i < N_LEVELS && (at == keys || at[-1] == ','); i++)
            if (strlen(levels[i]) == length && !strncmp(levels[i], value, length))
                return i;
    }
    return -1;
}

/* --- figures ---------------------------------------------------------------------------------- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* Part and whole are counted in different passes, and the body also does work that its metrics do
 * not time: a part may come out slightly larger than the whole. */
static double at_most_all(double part, double whole)
{
    double share = ratio(part, whole);
    return share > 1 ? 1 : share;
}

/* A share of a whole. Of nothing it is nothing, even if the share is not known. */
static double of(double whole, double share)
{
    return whole > 0 || isnan(whole) ? whole * share : 0;
}

static void read_loads(struct counter_figures *c, const json_t *counters)
{
    c->shared_loads = document_get_number(counters, "shared_loads");
    c->global_loads = document_get_number(counters, "global_loads");
    c->l1_hits = at_most_all(document_get_number(counters, "l1_hits"),
                             document_get_number(counters, "l1_sectors"));
    c->l2_hits = at_most_all(document_get_number(counters, "l2_hits"),
                             document_get_number(counters, "l2_sectors"));

    double global = ratio(c->global_loads, c->shared_loads + c->global_loads);
    double past_l1 = of(global, 1 - c->l1_hits);
    c->served[LEVEL_SHARED] = 1 - global;
    c->served[LEVEL_L1] = of(global, c->l1_hits);
    c->served[LEVEL_L2] = of(past_l1, c->l2_hits);
    c->served[LEVEL_MEMORY] = of(past_l1, 1 - c->l2_hits);
}

/* --- the time of the body --------------------------------------------------------------------- */

static const json_t *same_metric(const json_t *one, const json_t *metric)
{
    const json_t *other;
    size_t i;
    json_array_foreach(json_object_get(one, "metrics"), i, other)
        if (!strcmp(document_get_text(other, "name", ""), document_get_text(metric, "name", "?")) &&
            !strcmp(document_get_text(other, "timer", ""), document_get_text(metric, "timer", "")))
            return other;
    return NULL;
}

json_t *counter_case(const json_t *cases, const json_t *like)
{
    const json_t *metric;
    json_t *one;
    size_t i, k;

    json_array_foreach(cases, i, one) {
        if (strcmp(document_get_text(one, "case", ""), document_get_text(like, "case", "?")))
            continue;
        json_array_foreach(json_object_get(like, "metrics"), k, metric)
            if (same_metric(one, metric))
                return one;
    }
    return NULL;
}

/* The samples of a counted pass, in ns, as they would be without counting. If there are two sides,
 * each is scaled by its own, because the part that does not grow with the work is slowed down
 * most. */
static double pass_ns(const json_t *timed, const json_t *counted)
{
    const json_t *before = json_object_get(timed, "sides"), *side;
    double with = 0, without = 0;
    size_t i;

    json_array_foreach(json_object_get(counted, "sides"), i, side) {
        double n = document_get_number(side, "n");
        with += n * document_get_number(side, "median");
        without += n * document_get_number(json_array_get(before, i), "median");
    }
    double speedup = with > 0 ? without / with : 1 / counter_slowdown(timed, counted);
    return document_get_number(counted, "pass_value") * speedup;
}

/* The body's longest metric, because several metrics may describe the same time. */
static double body_ns(const json_t *one, const json_t *timed)
{
    const json_t *metric;
    double longest = NAN;
    size_t i;

    json_array_foreach(json_object_get(one, "metrics"), i, metric) {
        const char *unit = document_get_text(metric, "unit", "");
        if (!strcmp(unit, "ns") || unit_is_rate(unit))
            longest = fmax(longest, pass_ns(same_metric(timed, metric), metric));
    }
    return longest;
}

/* A pass's work of one metric in the process that counted the bytes. */
static double work_of_memory(const json_t *one, const json_t *metric)
{
    const json_t *works = json_object_get(one, "works");
    char name[COUNTED_METRIC];
    return works ? document_get_number(json_object_get(works, "memory"),
                                       counted_metric(name, metric))
                 : document_get_number(metric, "pass_work"); /* an older document */
}

/* The work of the metrics in bytes/s. A rate that the probe hands over ready-made has no work. */
static double own_bytes(const json_t *one)
{
    const json_t *metric;
    double bytes = 0;
    size_t i;

    json_array_foreach(json_object_get(one, "metrics"), i, metric)
        if (!strcmp(document_get_text(metric, "unit", ""), "bytes/s"))
            bytes += work_of_memory(one, metric);
    return bytes > LEAST_BYTES ? bytes : (double)NAN;
}

/* --- SMs -------------------------------------------------------------------------------------- */

static void read_sms(struct counter_figures *c, const json_t *counters)
{
    double most = document_get_number(counters, "sm_active_most");

    c->time_ns = document_get_number(counters, "time");
    c->sm_mhz = document_get_number(counters, "sm_clock") / 1e6;
    c->l2_mhz = document_get_number(counters, "l2_clock") / 1e6;
    c->dram_mhz = document_get_number(counters, "dram_clock") / 1e6;
    c->sys_mhz = document_get_number(counters, "sys_clock") / 1e6;
    c->n_busy = ratio(document_get_number(counters, "sm_active"), most);
    if (isnan(c->body_ns))
        c->body_ns = c->time_ns;
    double cycles = c->body_ns * c->sm_mhz / 1e3;
    c->least_busy = at_most_all(document_get_number(counters, "sm_active_least"), cycles);
    c->busy = at_most_all(most, cycles);
    c->warps = document_get_number(counters, "warps");
    c->issued = document_get_number(counters, "issue") / 100;
}

static int by_share(const void *a, const void *b)
{
    const struct counter_loss *x = a, *y = b;
    return (x->share < y->share) - (x->share > y->share);
}

/* The issue slots in which nothing was issued, divided by what the warps were waiting for at the
 * time. Warps that were selected, or ready but not selected, lost no slot. */
static void read_losses(struct counter_figures *c, const json_t *counters)
{
    static const char prefix[] = "stalled_";
    double all = 0;

    c->n_lost = 0;
    for (size_t i = 0; i < COUNTER_SETS; i++)
        for (size_t k = 0; k < counter_sets[i].n && c->n_lost < COUNTER_LOSSES_MAX; k++) {
            const char *id = counter_sets[i].counters[k].id;
            double waited = document_get_number(counters, id);
            if (strncmp(id, prefix, strlen(prefix)) || strstr(id, "selected") || !(waited > 0))
                continue;
            c->lost[c->n_lost++] = (struct counter_loss){id + strlen(prefix), waited};
            all += waited;
        }
    for (int i = 0; i < c->n_lost; i++)
        c->lost[i].share *= (1 - c->issued) / all;
    qsort(c->lost, (size_t)c->n_lost, sizeof c->lost[0], by_share);
}

/* --- bound by --------------------------------------------------------------------------------- */

/* Something that can be busy, in per cent of its peak. The memories' shares refer to the whole
 * range. The active and elapsed SM cycles of the same pass convert them into shares of the time in
 * which an SM held a warp. */
struct resource {
    const char *id, *name, *active, *elapsed;
};

static double busy_of(const json_t *counters, const struct resource *of)
{
    double busy = document_get_number(counters, of->id) / 100;
    if (of->active)
        busy /= ratio(document_get_number(counters, of->active),
                      document_get_number(counters, of->elapsed));
    return busy > 1 ? 1 : busy;
}

/* The busiest of some resources; NULL if none was counted. */
static const struct resource *busiest(const json_t *counters, const struct resource *of, size_t n,
                                      double *busy)
{
    const struct resource *found = NULL;
    *busy = NAN;
    for (size_t i = 0; i < n; i++) {
        double now = busy_of(counters, &of[i]);
        if (!isnan(now) && !(now <= *busy)) {
            *busy = now;
            found = &of[i];
        }
    }
    return found;
}

static void read_bound(struct counter_figures *c, const json_t *counters)
{
#define WHILE(set) set "_sm_active", set "_sm_elapsed"
    static const struct resource memories[] = {{"dram_busy", "memory", WHILE("memory")},
                                               {"l2_busy", "L2", WHILE("memory")},
                                               {"l1_busy", "L1 and shared", WHILE("memory")},
                                               {"l2_out_busy", "out of L2", WHILE("paths")},
                                               {"l1_in_busy", "into L1", WHILE("paths")}};
#undef WHILE
    static const struct resource pipes[] = {
        {"tensor_busy", "tensor pipe", NULL, NULL}, {"fma_busy", "FMA pipe", NULL, NULL},
        {"alu_busy", "ALU pipe", NULL, NULL},       {"fp64_busy", "FP64 pipe", NULL, NULL},
        {"xu_busy", "XU pipe", NULL, NULL},         {"issue", "issue slots", NULL, NULL}};
    double moved, worked;
    const struct resource *memory =
        busiest(counters, memories, sizeof memories / sizeof memories[0], &moved);
    const struct resource *pipe = busiest(counters, pipes, sizeof pipes / sizeof pipes[0], &worked);

    c->bound = BOUND_UNKNOWN;
    c->limit = NULL;
    c->limit_busy = NAN;
    if (!memory || !pipe || isnan(c->busy) || c->gated)
        return;
    c->limit = moved >= worked ? memory->name : pipe->name;
    c->limit_busy = fmax(moved, worked);
    if (c->busy < HALF)
        c->bound = BOUND_LAUNCH;
    else if (c->limit_busy >= BUSY)
        c->bound = moved >= worked ? BOUND_BANDWIDTH : BOUND_COMPUTE;
    else
        c->bound = BOUND_LATENCY;
}

static bool has_timer(const json_t *one, const char *timer)
{
    const json_t *metric;
    size_t i;
    json_array_foreach(json_object_get(one, "metrics"), i, metric)
        if (!strcmp(document_get_text(metric, "timer", ""), timer))
            return true;
    return false;
}

/* Bodies that hold the GPU with a gate kernel while the host submits the measured work, or before
 * the host has sent its word. Among copies only those that are timed by events. Chains of launches
 * have no gate under counters. */
static bool gated(const char *probe, const json_t *one)
{
    static const struct {
        const char *probe, *keys, *timer; /* of one of its metrics; NULL: any */
    } gates[] = {{"host_link", "by=*,delay_us=*", NULL},
                 {"host_link", "direction=*", "event"}};
    const char *keys = document_get_text(one, "case", "");

    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++)
        if (!strcmp(gates[i].probe, probe) && !fnmatch(gates[i].keys, keys, 0) &&
            (!gates[i].timer || has_timer(one, gates[i].timer)))
            return true;
    return false;
}

void counter_read(struct counter_figures *c, const char *probe, const json_t *one,
                  const json_t *timed)
{
    const json_t *counters = json_object_get(one, "counters");
    c->gated = gated(probe, one);
    c->body_ns = body_ns(one, timed);
    read_loads(c, counters);
    read_sms(c, counters);
    read_losses(c, counters);
    c->dram_read = document_get_number(counters, "dram_read");
    c->dram_written = document_get_number(counters, "dram_write");
    c->read_of_own = ratio(c->dram_read, own_bytes(one));
    c->written_of_own = ratio(c->dram_written, own_bytes(one));
    read_bound(c, counters);
}

double counter_slowdown(const json_t *timed, const json_t *counted)
{
    const char *unit = document_get_text(timed, "unit", "");
    double without = document_get_number(timed, "median");
    double with = document_get_number(counted, "median");
    if (!strcmp(unit, "ns") || !strcmp(unit, "cycles"))
        return ratio(with, without);
    return unit_is_rate(unit) ? ratio(without, with) : (double)NAN;
}

/* --- as an object ----------------------------------------------------------------------------- */

json_t *counter_object(const struct counter_figures *c)
{
    json_t *lost = json_object(), *served = json_object();
    for (int i = 0; i < c->n_lost; i++)
        json_object_set_new(lost, c->lost[i].reason, document_number(c->lost[i].share));
    for (int i = 0; i < N_LEVELS; i++)
        json_object_set_new(served, levels[i], document_number(c->served[i]));

    json_t *object = json_pack("{s:s, s:s?, s:o, s:o, s:o}", "bound_by", bound_name(c->bound),
                               "limit", c->limit, "limit_busy", document_number(c->limit_busy),
                               "served", served, "issue_slots_lost", lost);
    const struct {
        const char *name;
        double value;
    } fields[] = {{"time_ns", c->time_ns},
                  {"body_ns", c->body_ns},
                  {"sm_clock_mhz", c->sm_mhz},
                  {"l2_clock_mhz", c->l2_mhz},
                  {"dram_clock_mhz", c->dram_mhz},
                  {"sys_clock_mhz", c->sys_mhz},
                  {"l1_hit_share", c->l1_hits},
                  {"l2_hit_share", c->l2_hits},
                  {"dram_read_of_own_bytes", c->read_of_own},
                  {"dram_written_of_own_bytes", c->written_of_own},
                  {"busy_sms", c->n_busy},
                  {"least_busy_sm_share", c->least_busy},
                  {"busiest_sm_share", c->busy},
                  {"warps", c->warps},
                  {"issue_slots_used", c->issued}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        json_object_set_new(object, fields[i].name, document_number(fields[i].value));
    return object;
}
