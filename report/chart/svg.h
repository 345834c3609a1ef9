/* The paper that charts are drawn on: SVG elements, colours, texts and the room that they take.
 * Nothing outside this folder includes it but its tests. Coordinates are the figure's units. */
#ifndef REPORT_CHART_SVG_H
#define REPORT_CHART_SVG_H

#include "report/chart/chart.h"

/* Colours that no caller names; they go on where the roles end. */
enum {
    SVG_BACKGROUND = CHART_ROLES,
    SVG_GRID,
    SVG_BAND,
    SVG_RULE,
    SVG_ON,        /* what stands on a full colour */
    SVG_ON_PARTLY, /* and on that of CHART_PARTLY */
    SVG_COLOURS
};

struct svg_colour {
    const char *name, *light, *dark;
};
const struct svg_colour *svg_colour(int colour);

double svg_width(enum chart_width width);

#define SVG_EM 12.5      /* size of ticks and labels */
#define SVG_EM_ROW 13.5  /* size of a row's label */
#define SVG_EM_WIDTH 0.55 /* of a character, in em: what a text is taken to be at least */
#define SVG_LINE 15.0    /* from one line of a label to the next */

struct svg_box {
    double left, top, right, bottom;
};

struct svg_segment {
    double x0, y0, x1, y1;
};

/* How a figure is written. `careless` puts every label where it would stand on an empty paper: the
 * tests show by it that they see an overlap. */
struct svg_form {
    enum chart_width width;
    bool standalone, careless;
};

struct svg {
    FILE *out;
    struct svg_form form;
    double width, height;
    struct svg_box *taken; /* by texts and marks: no label may stand there */
    size_t n_taken, taken_room;
    struct svg_segment *lines; /* a label had better not stand there */
    size_t n_lines, lines_room;
};

void svg_begin(struct svg *svg, FILE *out, struct svg_form form, double height, const char *title);
void svg_end(struct svg *svg);

/* What others must not cover, and what they had better not. */
void svg_take(struct svg *svg, struct svg_box box);
void svg_take_line(struct svg *svg, struct svg_segment line);
bool svg_is_free(const struct svg *svg, struct svg_box box);

/* --- texts ------------------------------------------------------------------------------------ */

/* The one way by which a caller's text gets into a figure: without what XML reserves or forbids. */
void svg_escape(FILE *out, const char *text);

enum svg_at { SVG_START, SVG_MIDDLE, SVG_END };

struct svg_style {
    int colour;
    bool bold;
    bool bare; /* without the halo: the text stands in a box */
    enum svg_at at;
    double size; /* 0: SVG_EM */
};

double svg_text_width(const char *text, struct svg_style style);

/* Writes one line with its base line at y, and takes its room. Without text it does nothing. */
void svg_text(struct svg *svg, double x, double y, const char *text, struct svg_style style);

/* The same, cut to `room` with an ellipsis; the whole text is then its tooltip. */
void svg_text_cut(struct svg *svg, double x, double y, const char *text, double room,
                  struct svg_style style);

/* The room that a text takes at x and y. */
struct svg_box svg_text_box(double x, double y, const char *text, struct svg_style style);

/* --- shapes ----------------------------------------------------------------------------------- */

enum svg_paint { SVG_FILL, SVG_STROKE, SVG_HOLLOW };

/* Writes ` class="f c-memory"`, or ` fill="#0a67b0"` in a standalone figure. */
void svg_paint(const struct svg *svg, int colour, enum svg_paint paint);

void svg_line(struct svg *svg, struct svg_segment line, int colour, double width,
              enum chart_line kind);
void svg_dashes(struct svg *svg, enum chart_line kind);
void svg_rect(struct svg *svg, struct svg_box box, int colour);

/* A number with at most one decimal, and never "-0". */
void svg_number(FILE *out, double value);

struct svg_mark {
    double x, y, radius;
    enum chart_mark shape;
    int colour;
    const char *title, *anchor;
};

/* Draws a mark with tooltip and link, and takes its room. */
void svg_mark(struct svg *svg, struct svg_mark mark);

/* Opens a link, if there is an anchor and the figure is in a page; says whether it did. */
bool svg_link(struct svg *svg, const char *anchor);
void svg_link_end(struct svg *svg, bool open);
void svg_title(struct svg *svg, const char *title);

/* Draws keys from (0, y) on and returns the y below them. */
double svg_keys(struct svg *svg, double y, const struct chart_key *keys, size_t n_keys);
double svg_keys_height(enum chart_width width, const struct chart_key *keys, size_t n_keys);

/* A box of an array, with the outline of its role. */
void svg_verdict(struct svg *svg, struct svg_box box, enum chart_role role);

#endif
