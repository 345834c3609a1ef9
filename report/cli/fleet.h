/* report --fleet: many cards of one board, measured by one commit. Which card is odd, in which
 * rows?
 *
 * Each file is one measurement of one card. Files of one card are one card, with the median of
 * their values. Files of another board, commit, ECC or MIG mode, or of --quick beside seven rounds,
 * form groups of their own: the largest is told, the others are named. Rows of another method or of
 * other kernels than most cards have are left out. */
#ifndef REPORT_CLI_FLEET_H
#define REPORT_CLI_FLEET_H

#include <math.h>

#include "report/bundle/bundle.h"
#include "report/cli/fleet_odd.h"
#include "report/cli/table.h"

enum { FLEET_LINES = 60, FLEET_CONDITIONS = 32, FLEET_SHORT = 8 };

/* --- what is read: fleet_read.c --------------------------------------------------------------- */

/* What a file has of a row. */
struct reading {
    double value, own, tick; /* own: standard error, tick: one of the timer; both over the value */
    unsigned long long code; /* of method and kernels: equal where they are comparable */
    size_t n;                /* rounds; 0: it has no such row */
};

/* One file. */
struct fleet_file {
    char *name;                         /* without its folder */
    char *group;                        /* what must be equal to compare: text to be read */
    char *condition[FLEET_CONDITIONS];  /* values, in the order of condition_at() */
    char card[BUNDLE_CARDS];            /* hash of the UUID; empty: not known */
    int n_rounds;
    struct reading *readings; /* by the row's place */
    size_t n_readings;
    bool *shown; /* is the row one of its report's answers? By the row's place */
    size_t n_shown;
};

struct left_out {
    char *name, *why; /* why: of a file that cannot be read, or has nothing; else NULL */
};

struct fleet {
    struct fleet_file *files;
    size_t n_files;
    struct left_out *left; /* files that are in no group */
    size_t n_left, n_unreadable;
    struct rows rows;      /* ids, units and directions, without values */
    char **label;          /* of a row of the summary, by the row's place; else NULL */
    size_t n_label;
};

/* Reads the bundles of a folder. False, with one line in why, when it holds none, or memory is
 * short. */
bool fleet_read(struct fleet *fleet, const char *folder, char why[DOCUMENT_WHY]);
void fleet_free(struct fleet *fleet);

/* --- what is judged: fleet_weigh.c ------------------------------------------------------------ */

struct fleet_card {
    const struct fleet_file *file; /* its first */
    size_t n_files;
    size_t n_rows, n_odd, n_slower, n_faster, n_lacking; /* lacking: rows that most cards have */
};

struct fleet_row {
    const struct row *row;
    const char *label; /* or NULL */
    size_t n_cards, n_odd;
    double median, scale; /* scale: relative; NaN: the row is not judged */
    struct odd_floor floor;
    double *value, *sigmas;      /* of each card; NaN: it has none */
};

struct verdict_of_fleet {
    const char *group;
    struct fleet_card *cards; /* the odd ones first, by their number of odd rows */
    size_t n_cards, n_files, n_odd;
    struct fleet_row *rows; /* judged ones; those with the largest distances first */
    size_t n_rows, n_other; /* other: values left out, of other kernels or of another method */
    double threshold, expected; /* expected: odd cells of a clean fleet, by chance */
    double agree;               /* 95 of 100 rows: cards that are not odd are within it */
};

/* Judges the largest group. `glob` chooses rows by id; without it `all` takes all, and else the
 * report's answers are taken. False, with one line in why. */
bool fleet_weigh(struct verdict_of_fleet *v, const struct fleet *fleet, bool all, const char *glob,
                 char why[DOCUMENT_WHY]);
void fleet_weighed_free(struct verdict_of_fleet *v);

bool fleet_is_odd(const struct verdict_of_fleet *v, const struct fleet_row *row, size_t card);

/* "slower", "faster"; "more", "less" of what is no time. */
const char *fleet_direction(const struct fleet_row *row, size_t card);

/* "node3.json (98177cd9)"; of several files: "node3.json +2 (98177cd9)". */
char *fleet_card_name(char *text, size_t size, const struct fleet_card *card);

/* --- the command: fleet.c --------------------------------------------------------------------- */

/* Text and Markdown have at most FLEET_LINES lines, TSV and JSON every row and card. False, with
 * one line in why, where there is nothing to tell. *unreadable: so many files could not be read. */
bool fleet_print(FILE *out, const char *folder, bool all, const char *glob,
                 enum table_format format, size_t *unreadable, char why[DOCUMENT_WHY]);

/* fleet_data.c. False: memory is short. */
void fleet_print_tsv(FILE *out, const struct verdict_of_fleet *v);
bool fleet_print_json(FILE *out, const struct verdict_of_fleet *v, const struct fleet *fleet);

#endif
