/* A number as a reader sees it: a value, the row it rests on, and how sure it is. Text, Markdown,
 * JSON, LaTeX and the page print the same numbers; none of them forms one. */
#ifndef REPORT_PAGE_NUMBER_H
#define REPORT_PAGE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "report/bundle/rows.h"

struct number {
    double value, low, high; /* in `unit`; NaN: there is none. low and high: the interval */
    const char *unit;        /* of core/unit.h, never scaled */
    const char *id;          /* of its row; of what is formed from several: of the first */
    enum row_status status;
    bool quoted; /* measured on another card of this board: shown with a dagger, ranked nowhere */
    bool once;   /* measured in two rounds only */
    bool power_bound; /* its case is declared as one that reaches the power limit */
    size_t n;    /* usable runs */
    double clock_mhz; /* the SM clock while it was measured; NaN: not recorded */
};

/* None: NaN, printed as "-". */
struct number number_none(void);

/* A row's centre and interval; none where the row is NULL or has no usable value. */
struct number number_of(const struct row *row);

/* What the bundle states of the board, without a row: a size, a limit. */
struct number number_fact(double value, const char *unit);

/* A number formed from others: by hand, without an interval. It is measured as seldom as `from`,
 * whose id it has. */
struct number number_formed(double value, const char *unit, const struct number *from);

/* a over b, with the interval that their intervals allow. */
struct number number_ratio(const struct number *a, const struct number *b);

bool number_there(const struct number *number);

/* Half the interval over the value; NaN without an interval. */
double number_spread(const struct number *number);

/* A unit to show numbers in: "ns", "us", "ms", "s", "TB/s", "GB/s", "TFLOP/s", "KiB", "MiB", "GiB",
 * "MHz", "B/cycle", "%" (of a ratio), "x" (a ratio), "" (as it stands). The factor by which a value
 * of `unit` is multiplied; NaN if the one is not a scale of the other. */
double number_scale(const char *unit, const char *shown);

/* For a column: without its unit, three digits or all those before the point: "0.171", "16.2",
 * "1145". "-" for none. Returns text. */
char *number_cell(char *text, size_t size, const struct number *number, const char *shown);

/* For evidence: so many digits at least, with a unit: that of its column, "1320 us" where it is
 * headed with us. A ratio in "x", and what "" or NULL shows, stand as unit_format() writes them.
 * Returns text. */
char *number_exact(char *text, size_t size, double value, const char *unit, const char *shown,
                   int digits);

/* For a sentence: with the unit that suits its size, "16.2 ns", "4.63 TB/s", "27.5 MiB", three
 * digits at most; in `shown` if that is not NULL. Returns text. */
char *number_say(char *text, size_t size, const struct number *number, const char *shown);

#endif
