/* A section of the report as data: a finding, a table, notes. A builder fills it from a bundle; the
 * emitters (text, Markdown, JSON, LaTeX, the page) print it. Texts belong to the section. */
#ifndef REPORT_PAGE_SECTION_H
#define REPORT_PAGE_SECTION_H

#include "report/page/number.h"
#include "report/page/summary.h"

enum { SECTION_COLUMNS = 12, SECTION_GRIDS = 5, SECTION_SERIES = 12 };

/* A cell holds a text, a number, or a picture made of characters. */
struct cell {
    enum cell_kind { CELL_TEXT, CELL_NUMBER, CELL_BAR, CELL_LADDER } kind;
    const char *text;     /* of CELL_TEXT; after a number: what follows it ("*"); or NULL */
    struct number number; /* CELL_BAR: a share, 0 to 1; CELL_LADDER: a time in ns */
    char letter;          /* CELL_LADDER: the class, 'c' 'm' 's' 'l' 'h' */
};

struct column {
    const char *over, *head; /* two lines of heading; NULL: none */
    const char *shown;       /* of its numbers, see number_scale(); NULL: each says its own unit */
    char align;              /* 'l' or 'r' */
};

/* The first line of heading of one of these columns stands above all of them. */
enum { SECTION_SPANS = 4 };
struct span {
    size_t from, n;
};

struct grid {
    const char *caption; /* a line above it, or NULL */
    struct column column[SECTION_COLUMNS];
    size_t n_columns;
    struct span span[SECTION_SPANS]; /* for formats whose headings can span columns */
    size_t n_spans;
    struct cell *cell; /* row after row */
    size_t n_cells, room;
    const char **split; /* one a row: a line that is drawn above it, or NULL */
    size_t n_rows;
};

/* Points of a curve, for figures and for the line of blocks: x of any scale, y with its id. */
struct point {
    double x;
    struct number y;
    const char *label; /* or NULL */
};
struct series {
    const char *name, *x_unit;
    struct point *point;
    size_t n, room;
};

struct section {
    const char *name;    /* for --section and files: "memory" */
    const char *title;   /* "MEMORY" */
    const char *finding; /* one sentence with its number, formed from rows; NULL: they support
                          * none */
    struct number *rest; /* the numbers that the finding rests on */
    size_t n_rests, rests_room;
    const char *missing; /* "not measured: WHY": then the section has nothing else; or NULL */
    struct grid grid[SECTION_GRIDS];
    size_t n_grids;
    struct series series[SECTION_SERIES];
    size_t n_series;
    const char **lines; /* drawn with characters, between finding and table: not wrapped */
    size_t n_lines;
    const char **note; /* paragraphs after the table, wrapped */
    size_t n_notes;
    bool is_silent;      /* where it is missing, the whole report says nothing of it */
    bool names_columns;  /* its doubts name the column of a row, too: columns are of several
                          * things */
    size_t n_brief;      /* in the whole report as text: so many rows of the first table, and the
                          * first note; 0: all */
    bool has_no_number;  /* its title stands alone: of a report that is no list of answers */
    size_t answer;      /* the paragraph that says what to do, counted from 1; 0: none does */
    size_t key;         /* the one that explains the letters of a drawn table; 0: none does */
    const char *claims; /* "C24 C25": for the page's margin; or NULL */
    char **owned;
    size_t n_owned;
};

/* Builds one section from a bundle. It always sets name and title. */
typedef void section_builder(const struct summary *summary, struct section *section);

/* The i-th section in the order of the report, or NULL past the last one. */
struct section_entry {
    const char *name; /* of --section */
    section_builder *build;
    const char *const *needs; /* the globs that it takes besides those of summary.c, up to NULL */
};
const struct section_entry *section_at(size_t i);

void section_free(struct section *section);

/* --- for builders ----------------------------------------------------------------------------- */

/* A text that lives as long as the section; "" if memory is short. */
const char *section_text(struct section *section, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for one number in a sentence, see number_say(). */
const char *section_say(struct section *section, const struct number *number, const char *shown);

/* The finding rests on this number. It names each that it says, and each that decides its words;
 * what has no value is not taken. tests/contract/often.py asks how often each was measured. */
void section_rests(struct section *section, const struct number *number);

/* The same for a row; NULL: nothing. */
void section_rests_on(struct section *section, const struct row *row);

/* A label with the board's word for its memory: "read, HBM" becomes "read, DRAM". */
const char *section_label(struct section *section, const struct summary *summary,
                          const char *label);

/* The section has nothing but this line: "not measured: WHY", for want of rows that match. */
void section_missing(struct section *section, const struct summary *summary, const char *glob);

/* Notes which of its rows rest on two rounds only, and which scatter by more than 5 %. The section
 * calls it after its tables are filled. */
void section_doubts(struct section *section);

/* A new table with these columns. The pointer holds until section_free(). */
struct grid *section_grid(struct section *section, const struct column *columns, size_t n);

/* One heading above n columns, from that one on. */
void grid_span(struct grid *grid, size_t from, size_t n);

/* Cells fill rows from left to right. */
void grid_text(struct grid *grid, const char *text);
void grid_number(struct grid *grid, const struct number *number);
void grid_number_with(struct grid *grid, const struct number *number, const char *after);
void grid_bar(struct grid *grid, const struct number *share);
void grid_ladder(struct grid *grid, const struct number *time, char letter);
void grid_split(struct grid *grid, const char *text); /* a line above the next row */

struct series *section_series(struct section *section, const char *name, const char *x_unit);
/* The series of that name; NULL: there is none, or it has no point. */
const struct series *section_find(const struct section *section, const char *name);
void series_put(struct series *series, double x, const struct number *y, const char *label);

void section_line(struct section *section, const char *line);
void section_note(struct section *section, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One more sentence in the last paragraph. */
void section_go_on(struct section *section, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
