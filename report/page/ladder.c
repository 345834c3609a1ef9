/* 4 LADDER: what one dependent step costs, from an instruction to the start of a process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/page/sections.h"

/* A step: its time is a named number of the summary, or, of what is told in cycles, these at the
 * clock that spin measured. */
struct step {
    const char *name;   /* in the summary */
    const char *cycles; /* of the same step inside an SM; NULL: none */
    char letter;
};

enum { IN_CYCLES = 2 }; /* the first steps' numbers are cycles */
static const struct step steps[] = {
    {"fma", NULL, 'c'},
    {"mma", NULL, 'c'},
    {"shared-load", "memory_latency.load{level=shared}", 'm'},
    {"l1-load", "memory_latency.load{level=l1}", 'm'},
    {"dsmem-load", "sm_to_sm.dsmem{size=2}", 'm'},
    {"l2-load", NULL, 'm'},
    {"l2-far-load", NULL, 'm'},
    {"hbm-load", NULL, 'm'},
    {"hbm-loaded", NULL, 'm'},
    {"atomic", NULL, 'm'},
    {"block-barrier", "barriers.block{barrier=syncthreads,warps=8}", 's'},
    {"cluster-barrier-relaxed",
     "barriers.cluster{order=relaxed,blocks=8,threads=256,store=none}", 's'},
    {"cluster-barrier", NULL, 's'},
    {"flag", NULL, 's'},
    {"flag-data", NULL, 's'},
    {"grid-barrier", NULL, 's'},
    {"grid-sync", NULL, 's'},
    {"step-kernel", NULL, 's'},
    {"words", NULL, 's'},
    {"words-loaded", NULL, 's'},
    {"step-graph-early", NULL, 'l'},
    {"step-graph", NULL, 'l'},
    {"step-stream", NULL, 'l'},
    {"graph-kernel", NULL, 'l'},
    {"graph-1024", NULL, 'l'},
    {"host-load", NULL, 'h'},
    {"submit", NULL, 'h'},
    {"round-trip", NULL, 'h'},
    {"wakeup", NULL, 'h'},
    {"process", NULL, 'h'},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

#define SUM_OF_16_KIB "all_reduce.time{gpus=*,op=all_reduce,bytes=16384,type=bf16,impl=push,"
enum { PEER_LOAD = 5, PEER_FLAG, PEER_BARRIER, PEER_SUM, PEER_SUM_NODE };
const char *const ladder_needs[] = {
    "memory_latency.load{level=shared}",
    "memory_latency.load{level=l1}",
    "sm_to_sm.dsmem{size=2}",
    "barriers.block{barrier=syncthreads,warps=8}",
    "barriers.cluster{order=relaxed,blocks=8,threads=256,store=none}",
    [PEER_LOAD] = "peer_memory.load_time{gpus=*,level=hbm,timer=device}",
    [PEER_FLAG] = "signal.one_way{gpus=*,order=relaxed,via=peer,timer=device}",
    [PEER_BARRIER] = "signal.barrier{gpus=*,blocks=1,timer=device}",
    [PEER_SUM] = SUM_OF_16_KIB "mode=kernel,timer=device}",
    [PEER_SUM_NODE] = SUM_OF_16_KIB "mode=graph,timer=event}",
    NULL,
};

/* Steps from GPU to GPU, which a bundle of one GPU has not. */
static const struct {
    const char *label;
    int need;
    char letter;
} between[] = {
    {"load, another GPU's memory", PEER_LOAD, 'm'},
    {"flag to another GPU", PEER_FLAG, 's'},
    {"barrier of all GPUs, one block each", PEER_BARRIER, 's'},
    {"16 KiB added over all GPUs, in a kernel", PEER_SUM, 's'},
    {"16 KiB added over all GPUs, as a node", PEER_SUM_NODE, 'l'},
};
enum { BETWEEN = sizeof between / sizeof between[0] };

static const double CYCLES_BELOW_NS = 100; /* beyond, cycles mean nothing */

struct rung {
    const char *label;
    struct number cycles, time;
    char letter;
};

static int by_time(const void *a, const void *b)
{
    const double x = ((const struct rung *)a)->time.value, y = ((const struct rung *)b)->time.value;
    return (x > y) - (x < y);
}

static size_t climb(const struct summary *summary, struct rung *rungs)
{
    size_t n = 0;

    for (size_t i = 0; i < STEPS; i++) {
        struct rung rung = {.label = summary_label(steps[i].name),
                            .cycles = number_none(),
                            .letter = steps[i].letter};
        rung.time = summary_number(summary, steps[i].name);
        if (i < IN_CYCLES) {
            rung.cycles = rung.time;
            rung.time = number_formed(rung.cycles.value * 1e3 / summary_clock_mhz(summary), "ns",
                                      &rung.cycles);
        } else if (steps[i].cycles)
            rung.cycles = summary_take(summary, steps[i].cycles, PICK_FIRST);
        if (!number_there(&rung.time))
            continue;
        if (rung.time.value >= CYCLES_BELOW_NS)
            rung.cycles = number_none();
        rungs[n++] = rung;
    }
    for (size_t i = 0; i < BETWEEN; i++) {
        const struct number time =
            summary_take(summary, ladder_needs[between[i].need], PICK_FIRST);
        if (number_there(&time))
            rungs[n++] = (struct rung){between[i].label, number_none(), time, between[i].letter};
    }
    qsort(rungs, n, sizeof *rungs, by_time);
    return n;
}

/* What the steps are that a kernel of a graph is compared with. */
static void say_step(struct section *section, const struct summary *summary)
{
    const struct number kernel = summary_number(summary, "step-kernel");
    const struct number graph = summary_number(summary, "step-graph");

    if (number_there(&kernel) && number_there(&graph))
        section_note(section, "In a step of all SMs each waits for all.");
}

void section_ladder(const struct summary *summary, struct section *section)
{
    static const struct column columns[] = {{NULL, "", NULL, 'l'},
                                            {NULL, "cycles", "", 'r'},
                                            {NULL, "time", NULL, 'r'},
                                            {NULL, "", NULL, 'l'}};
    struct rung rungs[STEPS + BETWEEN];
    const size_t n = climb(summary, rungs);
    char least[48], most[48];

    section->name = "ladder";
    section->title = "LADDER";
    if (n == 0) {
        section_missing(section, summary, "memory_latency.load_time{level=shared,*}");
        return;
    }
    struct grid *grid = section_grid(section, columns, sizeof columns / sizeof columns[0]);
    struct series *series = section_series(section, "one dependent step", "rank");
    for (size_t i = 0; i < n; i++) {
        const char *label = section_label(section, summary, rungs[i].label);
        grid_text(grid, label);
        if (number_there(&rungs[i].cycles))
            grid_number(grid, &rungs[i].cycles);
        else
            grid_text(grid, "");
        grid_number(grid, &rungs[i].time);
        grid_ladder(grid, &rungs[i].time, rungs[i].letter);
        series_put(series, (double)i, &rungs[i].time, label);
    }
    const struct number *first = &rungs[0].cycles;
    section->finding = section_text(
        section, "One dependent step costs from %s to %s.",
        number_there(first) ? number_say(least, sizeof least, first, NULL)
                            : number_say(least, sizeof least, &rungs[0].time, NULL),
        number_say(most, sizeof most, &rungs[n - 1].time, NULL));
    section_rests(section, number_there(first) ? first : &rungs[0].time);
    section_rests(section, &rungs[n - 1].time);
    section_note(section,
                 "c compute, m memory, s synchronise, l launch, h host.");
    section->key = section->n_notes;
    say_step(section, summary);
    section_doubts(section);
    section->claims = "C01 C05 C29";
}
