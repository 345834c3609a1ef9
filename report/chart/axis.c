#include "report/chart/axis.h"

#include "report/chart/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GREATEST 1e300
#define ROUNDING 1e-9 /* of a range: what is nearer than this is the same */

bool axis_draws(enum chart_scale scale, double value)
{
    return isfinite(value) && fabs(value) <= GREATEST &&
           (scale == CHART_LINEAR || value >= 1 / GREATEST);
}

void axis_include(struct axis_span *span, enum chart_scale scale, double value)
{
    if (!axis_draws(scale, value))
        return;
    span->low = span->n && span->low < value ? span->low : value;
    span->high = span->n && span->high > value ? span->high : value;
    span->n++;
}

/* A value on a scale on which the axis is linear. */
static double of_scale(enum chart_scale scale, double value)
{
    return scale == CHART_LINEAR ? value : scale == CHART_LOG2 ? log2(value) : log10(value);
}

static double from_scale(enum chart_scale scale, double value)
{
    return scale == CHART_LINEAR ? value : pow(scale == CHART_LOG2 ? 2 : 10, value);
}

/* The least step of 1, 2 or 5 times a power of ten that divides a length into at most `most`. */
static double nice_step(double length, size_t most)
{
    const double least = length / (double)(most ? most : 1);
    const double ten = pow(10, floor(log10(least)));
    const double times = least / ten;
    return ten * (times <= 1 + ROUNDING   ? 1
                  : times <= 2 + ROUNDING ? 2
                  : times <= 5 + ROUNDING ? 5
                                          : 10);
}

struct axis_map axis_map(const struct chart_axis *axis, struct axis_span data, size_t most)
{
    const enum chart_scale scale = axis->scale;
    const bool given =
        axis->high > axis->low && axis_draws(scale, axis->low) && axis_draws(scale, axis->high);
    double low = data.n ? data.low : 1, high = data.n ? data.high : 2;
    struct axis_map map = {.scale = scale, .from = 0, .to = 1};

    if (given) {
        map.low = axis->low;
        map.high = axis->high;
        return map;
    }
    const bool zero = axis->zero && scale == CHART_LINEAR && low >= 0;
    if (zero)
        low = 0;
    low = of_scale(scale, low);
    high = of_scale(scale, high);
    if (high - low <= ROUNDING * fmax(fabs(low), fabs(high)) || high - low < 1e-290) {
        const double half = scale != CHART_LINEAR ? 0.5 : fmax(fabs(low) / 2, 1e-280);
        low -= zero ? 0 : half;
        high += low == 0 && high == 0 ? 1 : half;
    }
    if (most && scale == CHART_LINEAR) {
        const double step = nice_step(high - low, most);
        low = floor(low / step + ROUNDING) * step;
        high = ceil(high / step - ROUNDING) * step;
    } else {
        const double room = 0.04 * (high - low);
        low -= zero ? 0 : room;
        high += room;
    }
    map.low = from_scale(scale, low);
    map.high = from_scale(scale, high);
    if (scale != CHART_LINEAR) { /* the room ends where no value is drawn: 1e312 is no number */
        map.low = fmax(map.low, 1 / GREATEST);
        map.high = fmin(map.high, GREATEST);
    }
    return map;
}

double axis_at(const struct axis_map *map, double value)
{
    const double low = of_scale(map->scale, map->low), high = of_scale(map->scale, map->high);
    const double share = (of_scale(map->scale, value) - low) / (high - low);
    return map->from + fmin(fmax(share, -1e4), 1e4) * (map->to - map->from);
}

bool axis_shows(const struct axis_map *map, double value)
{
    if (!axis_draws(map->scale, value))
        return false;
    const double low = of_scale(map->scale, map->low), high = of_scale(map->scale, map->high);
    const double share = (of_scale(map->scale, value) - low) / (high - low);
    return share >= -1e-6 && share <= 1 + 1e-6;
}

/* --- ticks ------------------------------------------------------------------------------------ */

static void add(struct axis_ticks *ticks, const struct axis_map *map, double value)
{
    if (ticks->n < AXIS_TICKS && axis_shows(map, value))
        ticks->at[ticks->n++] = value;
}

static struct axis_ticks linear_ticks(const struct axis_map *map, size_t most)
{
    struct axis_ticks ticks = {.n = 0};
    const double step = nice_step((map->high - map->low), most > 1 ? most - 1 : 1);
    const double first = ceil(map->low / step - 1e-6);

    for (int i = 0; i < AXIS_TICKS && (first + i) * step <= map->high + 1e-6 * step; i++)
        add(&ticks, map, fabs((first + i) * step) < ROUNDING * step ? 0 : (first + i) * step);
    return ticks;
}

/* Powers of the base, every `stride`th. */
static struct axis_ticks powers(const struct axis_map *map, int stride)
{
    struct axis_ticks ticks = {.n = 0};
    const int low = (int)ceil(of_scale(map->scale, map->low) - 1e-6);
    const int high = (int)floor(of_scale(map->scale, map->high) + 1e-6);

    for (int i = low; i <= high && ticks.n < AXIS_TICKS; i++)
        if (i % stride == 0)
            add(&ticks, map, map->scale == CHART_LOG2 ? ldexp(1, i) : pow(10, i));
    return ticks;
}

static struct axis_ticks log_ticks(const struct axis_map *map, size_t most)
{
    static const double parts[] = {1, 2, 5};
    struct axis_ticks ticks = {.n = 0};

    if (map->scale == CHART_LOG10 && log10(map->high) - log10(map->low) < (double)most / 2) {
        for (int i = (int)floor(log10(map->low)); i <= (int)floor(log10(map->high)); i++)
            for (size_t k = 0; k < 3; k++)
                add(&ticks, map, parts[k] * pow(10, i));
        if (ticks.n >= 2 && ticks.n <= most)
            return ticks;
    }
    for (int stride = 1; stride < 4096; stride++) {
        const struct axis_ticks next = powers(map, stride);
        if (next.n <= most && next.n < AXIS_TICKS)
            return next;
    }
    return ticks;
}

struct axis_ticks axis_ticks(const struct axis_map *map, const struct chart_axis *axis, size_t most)
{
    struct axis_ticks ticks = {.n = 0};

    most = most < AXIS_TICKS - 1 ? most : AXIS_TICKS - 1;
    for (size_t i = 0; i < axis->n_ticks; i++)
        add(&ticks, map, axis->ticks[i]);
    if (axis->n_ticks)
        return ticks;
    if (map->scale != CHART_LINEAR)
        ticks = log_ticks(map, most);
    /* Within an octave or a decade a logarithm has too few round values of its own. */
    return ticks.n >= 2 || most < 2 ? ticks : linear_ticks(map, most);
}

static bool stand_apart(const struct axis_map *map, const struct chart_axis *axis,
                        const struct axis_ticks *ticks, double gap)
{
    double end = -1e9;

    for (size_t i = 0; i < ticks->n; i++) {
        char text[CHART_TEXT];
        axis_label(axis, ticks->at[i], text);
        const double half = svg_text_width(text, (struct svg_style){0}) / 2;
        const double at = axis_at(map, ticks->at[i]);
        if (at - half < end + gap)
            return false;
        end = at + half;
    }
    return true;
}

struct axis_ticks axis_ticks_beside(const struct axis_map *map, const struct chart_axis *axis,
                                    double gap)
{
    size_t most = (size_t)fmax(fabs(map->to - map->from) / 50, 2);
    struct axis_ticks ticks = axis_ticks(map, axis, most);

    while (!axis->n_ticks && most > 2 && !stand_apart(map, axis, &ticks, gap))
        ticks = axis_ticks(map, axis, --most);
    return ticks;
}

void axis_label(const struct chart_axis *axis, double value, char text[CHART_TEXT])
{
    memset(text, 0, CHART_TEXT);
    (axis->format ? axis->format : chart_number)(text, value);
    text[CHART_TEXT - 1] = '\0';
}

/* --- the usual formats ------------------------------------------------------------------------ */

void chart_number(char text[CHART_TEXT], double value)
{
    const double size = fabs(value);
    if (size == 0 || (size >= 1e-4 && size < 1e6))
        snprintf(text, CHART_TEXT, "%.*g", size >= 1e5 ? 6 : 5, value);
    else
        snprintf(text, CHART_TEXT, "%.3g", value);
}

/* Three digits of a value over the greatest unit that it reaches. */
static void in_units(char text[CHART_TEXT], double value, const char *const *units, double step)
{
    while (fabs(value) >= step * 0.9995 && units[1]) {
        value /= step;
        units++;
    }
    snprintf(text, CHART_TEXT, "%.*f",
             fabs(value) < 9.995   ? 2
             : fabs(value) < 99.95 ? 1
                                   : 0,
             value);
    if (strchr(text, '.')) {
        size_t n = strlen(text);
        while (text[n - 1] == '0')
            n--;
        text[text[n - 1] == '.' ? n - 1 : n] = '\0';
    }
    const size_t n = strlen(text);
    snprintf(text + n, CHART_TEXT - n, " %s", units[0]);
}

void chart_bytes(char text[CHART_TEXT], double value)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};
    in_units(text, isfinite(value) && fabs(value) < 1e18 ? value : 0, units, 1024);
}

void chart_ns(char text[CHART_TEXT], double value)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    in_units(text, isfinite(value) && fabs(value) < 1e18 ? value : 0, units, 1000);
}
