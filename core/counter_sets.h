/* Which hardware counters are read, their names on each chip, and how many passes they need. This
 * is data only. The probes read the counters (core/gpu_counters.c), the report turns them into
 * figures (report/cli/counted.c), and tests/counters proves every name, unit and number of passes
 * offline.
 *
 * One process reads one set. If the set needs one pass, all its values come from the same execution
 * of the loop body. If it needs more, each pass is another execution, one after another. */
#ifndef GPUFLOOR_COUNTER_SETS_H
#define GPUFLOOR_COUNTER_SETS_H

#include <stdbool.h>
#include <stddef.h>

enum { COUNTER_NAMES = 2, COUNTER_CHIPS = 6, COUNTER_SETS = 6, COUNTERS_IN_SET_MAX = 32 };

struct counter {
    const char *id;                  /* ours, the same on every chip: the key in documents */
    const char *unit;                /* as CUPTI words it */
    const char *name[COUNTER_NAMES]; /* CUPTI's; the first that the chip knows is used */
    bool optional;                   /* some chips lack it */
};

struct counter_set {
    const char *name, *what;
    const struct counter *counters;
    size_t n;
    int passes[COUNTER_CHIPS];
};

/* The chips for which names and passes are known, as CUPTI calls them: H100 and H200, A100, Turing,
 * Ada, B200, RTX 50. On any other chip, the counters whose names it knows are still read. */
extern const char *const counter_chips[COUNTER_CHIPS];

extern const struct counter_set counter_sets[COUNTER_SETS];

/* The set of that name (its first `length` characters), or NULL. */
const struct counter_set *counter_set_find(const char *name, size_t length);

#endif
