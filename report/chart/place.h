/* Labels: of the places where one may stand, the first that is free and crosses no line, else the
 * first that is free; else none. */
#ifndef REPORT_CHART_PLACE_H
#define REPORT_CHART_PLACE_H

#include "report/chart/svg.h"

/* Where a label's first line begins, and at which end of it the place is. A label far from its
 * point gets a leader to it. */
struct place {
    double x, y;
    enum svg_at at;
    bool far;
};

enum { PLACES = 96 };
struct places {
    struct place list[PLACES];
    size_t n;
    struct svg_box within;  /* no label leaves it */
    double to_x, to_y;      /* what a far label's leader goes to */
    bool one_line;          /* a row's text has no second line */
};

void place_add(struct places *places, double x, double y, enum svg_at at);

/* The places around a mark of that radius, the preferred side first; far ones only where `far`. */
void place_around(struct places *places, double x, double y, double radius, size_t lines,
                  enum chart_side side, bool far);

/* Lines of a label. */
size_t place_lines(const char *text);

/* Writes a label at the best of its places, and takes its room; false: there is none. */
bool place_label(struct svg *svg, const struct places *places, const char *text,
                 struct svg_style style);

#endif
