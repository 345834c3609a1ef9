/* Which hardware counters are read, under what names on which chip, and in how many passes. Data
 * alone: the probes read them (core/gpu_counters.c), the report turns them into figures
 * (report/cli/counted.c), and tests/counters proves every name, unit and number of passes offline.
 *
 * A set is what one process reads. With one pass all of its values come from the same execution of
 * the loop's body; with more, from as many executions, one after the other. */
#ifndef GPUFLOOR_COUNTER_SETS_H
#define GPUFLOOR_COUNTER_SETS_H

#include <stdbool.h>
#include <stddef.h>

enum { COUNTER_NAMES = 2, COUNTER_CHIPS = 6, COUNTER_SETS = 6, COUNTERS_IN_SET_MAX = 32 };

struct counter {
    const char *id;                  /* ours, the same on every chip: the key in documents */
    const char *unit;                /* as CUPTI words it */
    const char *name[COUNTER_NAMES]; /* CUPTI's; the first that the chip knows counts */
    bool optional;                   /* some chips have no such thing */
};

struct counter_set {
    const char *name, *what;
    const struct counter *counters;
    size_t n;
    int passes[COUNTER_CHIPS];
};

/* The chips for which names and passes are known, as CUPTI calls them: H100 and H200, A100, Turing,
 * Ada, B200, RTX 50. Others are read all the same, where they know the names. */
extern const char *const counter_chips[COUNTER_CHIPS];

extern const struct counter_set counter_sets[COUNTER_SETS];

/* The set of that name (its first `length` characters), or NULL. */
const struct counter_set *counter_set_find(const char *name, size_t length);

#endif
