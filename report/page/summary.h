/* The summary: the numbers of a bundle that have a name, as one table of data. Sections, figures,
 * LaTeX macros, README and the comparison of boards take them from here by their name. */
#ifndef REPORT_PAGE_SUMMARY_H
#define REPORT_PAGE_SUMMARY_H

#include "report/bundle/bundle.h"
#include "report/page/number.h"

struct tellings;

/* What a report is of. */
struct summary {
    const struct bundle *bundle;
    const struct bundle *committed; /* results of its board in this tree; or NULL: there are none,
                                     * or they are the bundle */
    bool is_committed;              /* the bundle is the folder of its board's results */
    const char *results;            /* the folder of all boards' results; or NULL */
    const struct tellings *claims;  /* the bundle's ledger, where it is judged already; or NULL */
    char letter;                    /* 'a', 'b': which of two bundles of one board; else 0 */
};

/* What a number should scale with from one board to the next, see report/page/boards.c. */
enum factor {
    FACTOR_NONE,
    FACTOR_CLOCK, /* what one SM does alone, or with the L2: its clock */
    FACTOR_CHIP,  /* rate of all SMs: SMs x clock */
    FACTOR_PINS,  /* rate of the memory's pins */
    FACTOR_L2,    /* the L2's size: capacities only */
    FACTOR_POWER, /* rate of all SMs at the clock that the power limit leaves */
    FACTOR_HOST,  /* the CPU: nothing of the GPU explains it */
    FACTOR_LINKS, /* what the links of a GPU carry */
    FACTORS,
};

struct summary_entry {
    const char *name;  /* "hbm-read": unique, never reused; papers quote it */
    const char *label; /* "read, HBM" */
    const char *glob;  /* of metric ids */
    enum summary_pick {
        PICK_FIRST, /* the first usable row that matches */
        PICK_BEST,  /* the best by round 1, judged on the others: rows_pick() */
        PICK_LAST,  /* the last usable: of rows that ascend, the largest */
    } pick;
    const char *shown; /* the unit to show it in, see number_scale() */
    enum factor factor[2];
};

/* What the functions below take besides the table, up to NULL. */
extern const char *const summary_needs[];

/* The i-th entry, or NULL past the last one. */
const struct summary_entry *summary_at(size_t i);

/* The number of that name in the bundle. Where the bundle lacks it and its entry is a figure of
 * others (baselines: peers, fused_peers), that of the committed results, as quoted. None if there
 * is no usable row. Asking for a name that is not in the table is a fault of the caller, and
 * ends the program (a test asks for each). */
struct number summary_number(const struct summary *summary, const char *name);

/* The same for a glob that is not in the table: the first usable row, or the best. The glob must be
 * in the needs of a section. */
struct number summary_take(const struct summary *summary, const char *glob, enum summary_pick pick);

/* Why the bundle has no usable row that matches: "no GPU was measured", "memory_latency is not in
 * this bundle", or the cause that the row or its program states. */
char *summary_why(const struct summary *summary, const char *glob, char *text, size_t size);

/* The entry of that name; NULL: there is none. */
const struct summary_entry *summary_find(const char *name);

/* Does it lie between GPUs? A bundle of one GPU has no such number. */
bool summary_is_between(const struct summary_entry *entry);

/* The label of an entry; "" where there is no such name. */
const char *summary_label(const char *name);

/* Facts of the board: environment.gpu; NaN where the bundle does not say. */
double summary_fact(const struct summary *summary, const char *key);
double summary_sms(const struct summary *summary);
double summary_clock_mhz(const struct summary *summary); /* as spin measured it, else the maximum */
double summary_pins(const struct summary *summary);      /* memory clock x 2 x bus, bytes/s */
double summary_links(const struct summary *summary);     /* NVLinks of a GPU, one way, bytes/s */
int summary_cc(const struct summary *summary);           /* 90; 0: unknown */
const char *summary_memory_name(
    const struct summary *summary); /* "HBM"; "DRAM": a bus < 1024 bits */

#endif
