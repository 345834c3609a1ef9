/* Figures as inline SVG text: data in, one <svg> element out.
 *
 * This folder knows what a chart is and nothing of what it shows. The caller fills plain structs
 * and keeps them until the call returns; a field left out is 0, which always means "none" or "the
 * usual one". Each figure is written once for wide windows (900 units) and once for narrow ones
 * (380); the style sheet of chart_style() shows one of the two, so that a unit is about a pixel and
 * text is never smaller than 12. Lengths are in these units.
 *
 *     static const struct chart_point points[] = {
 *         {32, 12.5, .title = "32 blocks: 12.5 us", .anchor = "small_gemm.time{blocks=32}"},
 *         {128, 4.82, .title = "128 blocks: 4.82 us", .label = "128: 4.82", .strong = true}};
 *     static const struct chart_series series = {
 *         points, 2, "ours", CHART_OURS, CHART_DOT, CHART_SOLID, .strong = true};
 *     static const struct chart_xy chart = {
 *         .title = "Time over the number of blocks", .height = 400,
 *         .x = {"thread blocks", CHART_LOG2}, .y = {"us for one product", .zero = true},
 *         .series = &series, .n_series = 1};
 *     chart_xy(out, &chart, CHART_WIDE, false);
 *     chart_xy(out, &chart, CHART_NARROW, false);
 *
 * Texts need not be trusted: they may hold any bytes. What has no place in a text
 * becomes a visible number (character.h); in labels of points, references and bands '\n' begins a
 * new line. A value that is NaN, infinite, beyond 1e300, or not positive on a logarithmic axis is
 * left out; a chart without any value is an empty frame. The same data give the same bytes.
 *
 * Labels never overlap one another or a mark, and never leave the figure. One that collides goes to
 * another side of its point, then is tried as `brief`, then is left out; the tooltip (`title`)
 * always remains. */
#ifndef REPORT_CHART_CHART_H
#define REPORT_CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum chart_width { CHART_WIDE, CHART_NARROW };

/* What a colour means. The class is c-NAME: c-ink, c-secondary, c-memory, c-launch, c-synchronise,
 * c-host, c-library, c-yes, c-no, c-partly, c-unknown. */
enum chart_role {
    CHART_INK,
    CHART_SECONDARY,
    CHART_MEMORY,
    CHART_LAUNCH,
    CHART_SYNCHRONISE,
    CHART_HOST,
    CHART_LIBRARY,
    CHART_YES,
    CHART_NO,
    CHART_PARTLY,
    CHART_UNKNOWN,
    CHART_ROLES,
    CHART_OURS = CHART_MEMORY,
    CHART_QUOTED = CHART_LAUNCH,
    CHART_COMPUTE = CHART_LIBRARY
};

enum chart_mark {
    CHART_NO_MARK,
    CHART_DOT,         /* filled circle */
    CHART_CIRCLE,      /* hollow circle */
    CHART_SQUARE,      /* filled square */
    CHART_OPEN_SQUARE, /* hollow square */
    CHART_DIAMOND,     /* filled diamond */
    CHART_TICK         /* upright stroke: what a model says */
};

enum chart_line { CHART_NO_LINE, CHART_SOLID, CHART_DASHED, CHART_DOTTED };
enum chart_scale { CHART_LINEAR, CHART_LOG2, CHART_LOG10 };
enum chart_side { CHART_RIGHT, CHART_LEFT, CHART_ABOVE, CHART_BELOW };

/* Writes a tick's label, at most CHART_TEXT bytes with the NUL. */
enum { CHART_TEXT = 48 };
typedef void chart_format(char text[CHART_TEXT], double value);

chart_format chart_number; /* 0.05, 10, 2000, 1e9: the usual one */
chart_format chart_bytes;  /* 512 B, 4 KiB, 27.5 MiB, 1 GiB */
chart_format chart_ns;     /* from nanoseconds: 10 ns, 1 us, 1 ms, 1 s */

struct chart_axis {
    const char *title;
    enum chart_scale scale;
    bool zero;           /* a linear axis begins at 0 */
    double low, high;    /* the range, where high > low; else it comes from the data */
    chart_format *format;
    const double *ticks; /* the ticks, where 1, 2, 5 or powers of two do not serve */
    size_t n_ticks;
};

/* --- a chart of two axes ---------------------------------------------------------------------- */

struct chart_point {
    double x, y;
    const char *title;  /* tooltip, "name: number" */
    const char *anchor; /* id of the element that the mark links to, without '#' */
    const char *label, *brief;
    bool strong;          /* the label is in the series' colour and semi-bold */
    enum chart_side side; /* where the label stands if there is room */
};

/* Points in the order of the line. Without mark and line, labels are notes in the plot. */
struct chart_series {
    const struct chart_point *points;
    size_t n_points;
    const char *name; /* written at the line's end */
    enum chart_role role;
    enum chart_mark mark;
    enum chart_line line;
    bool strong;   /* the name is semi-bold */
    bool faint;    /* a thin line and small marks: not what the figure is about */
    double radius; /* of the marks; 0: 5, or 3.5 where faint */
};

/* A line across the whole plot: at a height, or upright at a value of x. */
struct chart_reference {
    double at;
    bool upright;
    enum chart_line line; /* usually CHART_DOTTED */
    const char *label, *brief;
    bool strong;
    bool low; /* the label of an upright line stands at its foot if there is room, not at its top */
};

/* A shaded range of y, or, upright, of x. */
struct chart_band {
    double from, to;
    bool upright;
    const char *label, *brief;
};

struct chart_xy {
    const char *title; /* what the figure shows, for those who do not see it */
    double height;     /* wide; 0: 360 */
    double height_narrow; /* 0: 300 */
    struct chart_axis x, y;
    /* A second axis at the right: y times right_factor; a factor of 0 means none. */
    struct chart_axis right;
    double right_factor;
    const struct chart_series *series;
    size_t n_series;
    const struct chart_reference *references;
    size_t n_references;
    const struct chart_band *bands;
    size_t n_bands;
};

void chart_xy(FILE *out, const struct chart_xy *chart, enum chart_width width, bool standalone);

/* --- a dot plot by row ------------------------------------------------------------------------ */

enum { CHART_AXES = 2 };

/* What repeats by row is explained once, above the plot. */
struct chart_key {
    const char *name;
    enum chart_role role;
    enum chart_mark mark; /* not of boxes */
};

struct chart_dot {
    double value;
    enum chart_role role;
    enum chart_mark mark;
    const char *title, *anchor;
};

/* The marks of one row on one axis; `text` stands beside them. */
struct chart_dots {
    const struct chart_dot *dots;
    size_t n_dots;
    const char *text, *brief; /* brief: in narrow figures */
    bool joined; /* a dashed line from the first to the last */
    bool strong;
};

struct chart_row {
    const char *label;
    const char *aside; /* in a column of its own at the right */
    const char *anchor;
    struct chart_dots on[CHART_AXES];
    bool strong; /* a semi-bold label */
    bool rule;   /* a line above this row */
};

struct chart_rows {
    const char *title;
    double height; /* wide; 0: 23 a row */
    struct chart_axis axes[CHART_AXES];
    size_t n_axes;
    double share;      /* of the width that the first of two axes gets; 0: 0.68 */
    const char *aside; /* heading of the column at the right */
    double one;        /* a line on the first axis, shaded below: 1 for ratios; 0: none */
    const struct chart_reference *references; /* upright ones of the first axis */
    size_t n_references;
    const struct chart_key *keys;
    size_t n_keys;
    const struct chart_row *rows;
    size_t n_rows;
};

void chart_rows(FILE *out, const struct chart_rows *chart, enum chart_width width, bool standalone);

/* --- stacked bars ----------------------------------------------------------------------------- */

struct chart_segment {
    double value; /* its length, in the unit of all bars; left out unless positive */
    const char *text;        /* inside, usually the number */
    const char *name, *brief; /* below, where there is room */
    const char *title, *anchor;
    enum chart_role role;
    bool soft; /* a light tint of the colour */
};

struct chart_bar {
    const char *label, *total;
    const struct chart_segment *segments;
    size_t n_segments;
};

struct chart_bars {
    const char *title;
    const struct chart_bar *bars;
    size_t n_bars;
};

void chart_bars(FILE *out, const struct chart_bars *chart, enum chart_width width, bool standalone);

/* --- an array of boxes ------------------------------------------------------------------------ */

/* The outline tells roles apart as well as the colour: CHART_NO is square, CHART_YES round,
 * CHART_PARTLY half of each, and CHART_UNKNOWN a dashed outline. */
struct chart_box {
    const char *text, *title, *anchor;
    enum chart_role role;
};

struct chart_group {
    const char *title;
    const struct chart_box *boxes;
    size_t n_boxes;
};

struct chart_boxes {
    const char *title;
    const struct chart_key *keys;
    size_t n_keys;
    const struct chart_group *groups;
    size_t n_groups;
};

void chart_boxes(FILE *out, const struct chart_boxes *chart, enum chart_width width,
                 bool standalone);

/* --- texts ------------------------------------------------------------------------------------ */

/* The one way by which a caller's text gets into a figure, and into a page around it: without what
 * XML reserves or forbids, and without marks that turn its direction. */
void chart_escape(FILE *out, const char *text);
void chart_escape_bytes(FILE *out, const char *text, size_t size);

/* --- colours ---------------------------------------------------------------------------------- */

/* Prints the style sheet of all figures of a page: colours of the light and the dark scheme as
 * custom properties (--bg, --ink, --secondary, --grid, --band, --rule, --memory, ...), classes that
 * take them, and which of a figure's two widths is shown: the wide one from 920 pixels of window
 * on, where its text is 12 pixels at least. Paper is always light. A standalone figure needs none
 * of it: its colours are written into it. */
void chart_style(FILE *out);

/* The light colour of a name of that style sheet, "memory", "grid", ...: "#0a67b0". That of the ink
 * where there is no such name. */
const char *chart_colour(const char *name);

#endif
