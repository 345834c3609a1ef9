/* From values to places on the paper, and the ticks between. */
#ifndef REPORT_CHART_AXIS_H
#define REPORT_CHART_AXIS_H

#include "report/chart/chart.h"

/* Values low to high lie at from to to, in units of the figure; from > to: the axis points up. */
struct axis_map {
    enum chart_scale scale;
    double low, high, from, to;
};

/* Ticks in rising order. */
enum { AXIS_TICKS = 32 };
struct axis_ticks {
    double at[AXIS_TICKS];
    size_t n;
};

/* The least and the greatest of the values that an axis must show; none yet: n == 0. */
struct axis_span {
    double low, high;
    size_t n;
};

/* Whether a value can be drawn: neither NaN nor beyond 1e300; positive on a logarithmic axis. */
bool axis_draws(enum chart_scale scale, double value);

void axis_include(struct axis_span *span, enum chart_scale scale, double value);

/* The range of an axis: the caller's, or that of the data with a little room. Where `most` is not
 * 0, a linear range ends at ticks. Never empty. */
struct axis_map axis_map(const struct chart_axis *axis, struct axis_span data, size_t most);

/* The place of a value that axis_draws(). */
double axis_at(const struct axis_map *map, double value);

/* Whether a value lies in the range, up to rounding. */
bool axis_shows(const struct axis_map *map, double value);

/* At most `most` ticks, 1, 2, 5 or powers of two or ten; or those that the caller names. */
struct axis_ticks axis_ticks(const struct axis_map *map, const struct chart_axis *axis,
                             size_t most);

/* Ticks of an axis of that length whose labels stand side by side with a gap. */
struct axis_ticks axis_ticks_beside(const struct axis_map *map, const struct chart_axis *axis,
                                    double gap);

void axis_label(const struct chart_axis *axis, double value, char text[CHART_TEXT]);

#endif
