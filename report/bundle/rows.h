/* Rows: one metric of one case each, with its value in every round and a summary of these.
 *
 * A row's centre is the median of its runs' medians. Its interval is the pair of order statistics
 * that hold the true median with 95 % confidence (for 7 runs: the least and the largest). Its best
 * is the median of the runs' best values. A round gives at most one value: the first that was not
 * discarded. */
#ifndef REPORT_BUNDLE_ROWS_H
#define REPORT_BUNDLE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/document.h"
#include "report/bundle/index.h"

enum { ROW_RUNS_MAX = DOCUMENT_ROUNDS_MAX, ROW_RUNS_NEEDED = 6 };

enum row_better { ROW_LOWER, ROW_HIGHER, ROW_EXACT };

/* The status of a row. Up to ROW_STALE it has a value that may be used. */
enum row_status {
    ROW_OK,
    ROW_ONCE,        /* measured in the first and last round only, and they agree */
    ROW_THRICE,      /* measured in the first, middle and last round only */
    ROW_POWER_BOUND, /* kept although the SM clock moves: the GPU runs at its power limit */
    ROW_FEW,         /* fewer than six usable runs: no interval */
    ROW_STALE,       /* from an older bundle, by other kernels than this tree's */
    ROW_DISAGREE,    /* runs that must agree do not */
    ROW_NEGATIVE,    /* a run of it read less than nothing of what cannot be negative */
    ROW_DISCARDED,   /* every run of it was discarded; why says the cause */
    ROW_MISSING,     /* cannot be had here; why says so */
    ROW_FAILED,      /* a check failed in a run that measured it */
};

struct row {
    char *id;     /* "probe.metric{key=value,...}" */
    char *probe;  /* "probe" */
    char *metric; /* "probe.metric" */
    char *why;    /* NULL, or one line */
    const char *unit;
    enum row_better better;
    enum row_status status;
    int method;

    size_t n; /* usable runs, in the order of their rounds in the bundle */
    int round[ROW_RUNS_MAX];
    double value[ROW_RUNS_MAX], best_of[ROW_RUNS_MAX];
    double clock_of[ROW_RUNS_MAX]; /* median SM clock in MHz while its case ran; NaN: not known */
    double resolution; /* one timer tick in the row's unit; 0 where it has none */
    bool once, thrice, power_bound, stale;
    int n_discarded, n_failed;
    size_t metric_order, order;
    size_t metric_end; /* of sorted rows: the place behind the last one of this metric */

    double centre, low, high, best; /* NaN where there is none */
    double clock_mhz;               /* median of clock_of; NaN where there is none */
};

struct rows {
    struct row *row;
    size_t n, room;
    struct index ids, metrics; /* places; of a metric that of its first row */
    struct index probes;       /* of sorted rows: the place of the first row of each */
    bool is_sorted;            /* the rows of a metric stand together, and those of a probe */
};

/* The row with that id, made if there is none. NULL only when memory is short. The pointer is valid
 * until the next rows_get() of a new id. */
struct row *rows_get(struct rows *rows, const char *id, const char *unit, enum row_better better);

/* Copies a row of another table into these, with copies of its strings; it replaces a row with its
 * id. NULL only when memory is short. */
struct row *rows_add(struct rows *rows, const struct row *row);

/* The place of a probe's first row, and *end behind its last one; of finished rows. Both are the
 * number of rows if it has none. */
size_t rows_of(const struct rows *rows, const char *probe, size_t *end);

/* The row of that id, or NULL. */
const struct row *rows_find(const struct rows *rows, const char *id);

/* The row of the same case under another metric ("probe.metric"; NULL: the same) and, unless key is
 * NULL, with another value of that key. For a time it also finds a metric without a timer. NULL:
 * none. */
const struct row *rows_beside(const struct rows *rows, const struct row *row, const char *metric,
                              const char *key, const char *value);

/* The next row from *next on whose id matches a glob, or NULL; *next moves past it. */
const struct row *rows_match(const struct rows *rows, const char *glob, size_t *next);

/* Gives a row a round's value. Ignored if it has one, or holds ROW_RUNS_MAX. best may be NaN. */
void row_put(struct row *row, int round, double value, double best);

/* The SM clock of the case in a round that has a value. */
void row_put_clock(struct row *row, int round, double mhz);

/* The value of a round; NaN where it has none. */
double row_at(const struct row *row, int round);

/* The same; what is measured in two or three rounds only holds in all rounds. */
double row_in(const struct row *row, int round);

/* Works out centre, interval, best and status. */
void row_finish(struct row *row);

/* Finishes all rows and sorts them by probe ("derived" last), metric and case. Metrics and cases
 * keep the order in which they were first seen. */
void rows_finish(struct rows *rows);

/* The best of the rows that match a glob: the lowest or highest centre, by their direction. The
 * first round chooses it and the other rounds measure it, so that luck in the choice does not
 * flatter it; with one round, that round does both. What was measured in every round goes before
 * points of a curve, which were not, however good these are. *picked then holds a copy whose
 * strings belong to `rows`. False when nothing usable matches. */
bool rows_pick(const struct rows *rows, const char *glob, struct row *picked);

void rows_free(struct rows *rows);

/* "ok", "once", "power_bound" ... */
const char *row_status_name(enum row_status status);
const char *row_better_name(enum row_better better);

/* Does the row have a value that may be used in a verdict or a derived figure? */
bool row_usable(const struct row *row);

/* Is it, or a glob for it, of a program in baselines/? */
bool row_is_of_baseline(const char *id);

/* Copies the value of a key of the id into text: "4096" for "bytes" of "...{bytes=4096}". False,
 * with empty text, if the id has no such key. */
bool row_key(const struct row *row, const char *key, char *text, size_t size);

/* The same as a number: 4096. NaN if the id has no such key. */
double row_key_number(const struct row *row, const char *key);

#endif
