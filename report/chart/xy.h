/* chart_xy() with all that a form says; see struct svg_form. */
#ifndef REPORT_CHART_XY_H
#define REPORT_CHART_XY_H

#include "report/chart/svg.h"

void xy_draw(FILE *out, const struct chart_xy *chart, struct svg_form form);

#endif
