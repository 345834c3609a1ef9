/* 2 LATENCY CURVE: a dependent load over the bytes that it walks through. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/unit.h"
#include "report/page/sections.h"

/* 76 columns suit a terminal of 80. */
enum { COLUMNS = 76, HEIGHTS = 8, POINTS_MOST = 256, LEVELS = 3, LABEL_MOST = 24 };

enum { CURVE, CURVE_TIME, FAR, MEMORY };
const char *const curve_needs[] = {[CURVE] = "memory_latency.curve{bytes=*}",
                                   [CURVE_TIME] = "memory_latency.curve_time{bytes=*,*}",
                                   [FAR] = "memory_map.load{level=l2,side=far}",
                                   [MEMORY] = "memory_latency.load{level=hbm}", NULL};

struct walk {
    double bytes[POINTS_MOST], cycles[POINTS_MOST];
    size_t n;
};

static void take(const struct summary *summary, const char *glob, struct series *series,
                 struct walk *walk)
{
    const struct row *row;
    char bytes[24];

    for (size_t next = 0; (row = rows_match(&summary->bundle->rows, glob, &next));) {
        if (!row_usable(row) || !row_key(row, "bytes", bytes, sizeof bytes) || !(atof(bytes) > 0))
            continue;
        const struct number number = number_of(row);
        series_put(series, atof(bytes), &number, NULL);
        if (!walk || walk->n == POINTS_MOST || (walk->n && walk->bytes[walk->n - 1] >= atof(bytes)))
            continue;
        walk->bytes[walk->n] = atof(bytes);
        walk->cycles[walk->n++] = number.value;
    }
}

/* Cycles between two measured footprints. */
static double cycles_at(const struct walk *walk, double bytes)
{
    size_t i = 1;

    while (i + 1 < walk->n && walk->bytes[i] < bytes)
        i++;
    const double from = log2(walk->bytes[i - 1]), to = log2(walk->bytes[i]);
    const double share = fmin(fmax((log2(bytes) - from) / (to - from), 0), 1);
    return walk->cycles[i - 1] + share * (walk->cycles[i] - walk->cycles[i - 1]);
}

static double bytes_of(const struct walk *walk, double column)
{
    const double from = log2(walk->bytes[0]), to = log2(walk->bytes[walk->n - 1]);
    return exp2(from + (to - from) * column / (COLUMNS - 1));
}

static size_t column_of(const struct walk *walk, double bytes)
{
    const double from = log2(walk->bytes[0]), to = log2(walk->bytes[walk->n - 1]);
    const double column = rint((log2(bytes) - from) / (to - from) * (COLUMNS - 1));
    return column < 0 ? 0 : column > COLUMNS - 1 ? COLUMNS - 1 : (size_t)column;
}

static void draw(struct section *section, const struct walk *walk)
{
    char line[3 * COLUMNS + 1];
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < walk->n; i++) {
        least = fmin(least, walk->cycles[i]);
        most = fmax(most, walk->cycles[i]);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        const double share = (cycles_at(walk, bytes_of(walk, (double)i)) - least) /
                             fmax(most - least, 1e-9);
        const double height = floor(share * HEIGHTS);
        memcpy(line + 3 * i, "\u2581", 3);
        line[3 * i + 2] = (char)(line[3 * i + 2] + (height < HEIGHTS ? (int)height : HEIGHTS - 1));
    }
    line[3 * COLUMNS] = '\0';
    section_line(section, line);
}

/* The level between two footprints: the median of the curve in the middle half of them. */
static double plateau(const struct walk *walk, double from, double to)
{
    double inside[POINTS_MOST];
    size_t n = 0;
    const double margin = (log2(to) - log2(from)) / 4;

    for (size_t i = 0; i < walk->n; i++) {
        const double at = log2(walk->bytes[i]);
        if (at >= log2(from) + margin && at <= log2(to) - margin)
            inside[n++] = walk->cycles[i];
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && inside[k] < inside[k - 1]; k--) {
            const double other = inside[k];
            inside[k] = inside[k - 1];
            inside[k - 1] = other;
        }
    return n ? inside[n / 2] : (double)NAN;
}

/* Text at a column of a line of blanks, if nothing stands there. */
static void place(char line[COLUMNS + 1], size_t column, const char *text)
{
    const size_t n = strlen(text);
    if (column + n > COLUMNS)
        return;
    for (size_t i = column > 0 ? column - 1 : 0; i < column + n; i++)
        if (line[i] != ' ')
            return;
    memcpy(line + column, text, n);
}

static void blank(char line[COLUMNS + 1])
{
    memset(line, ' ', COLUMNS);
    line[COLUMNS] = '\0';
}

static void put_line(struct section *section, char line[COLUMNS + 1])
{
    for (size_t end = COLUMNS; end > 0 && line[end - 1] == ' ';)
        line[--end] = '\0';
    section_line(section, line);
}

/* Of what ends at a step. */
static const char *level_name(const double steps[LEVELS], size_t step)
{
    return step == 0               ? "L1"
           : step == LEVELS        ? "memory"
           : step == 1             ? "L2, near side"
           : isfinite(steps[1])    ? "L2, both sides"
                                   : "L2";
}

/* What the curve reads between its steps. Between the L2's near side and its end it reads no level
 * where it lies between a far hit and a miss: *mixed. Where no far hit was timed it may read
 * none. */
static void label_levels(struct section *section, const struct walk *walk,
                         const double steps[LEVELS], const struct number *far,
                         const struct number *miss, bool *mixed)
{
    struct series *levels = section_series(section, "levels", "bytes");
    char line[COLUMNS + 1], text[LABEL_MOST];
    double from = walk->bytes[0];

    blank(line);
    *mixed = false;
    for (size_t i = 0; i <= LEVELS; i++) {
        const double to = i < LEVELS ? steps[i] : walk->bytes[walk->n - 1];
        if (isnan(to))
            continue;
        const double cycles = plateau(walk, from, to);
        const bool is_mixed = i == 2 && !isnan(steps[1]) && cycles < miss->value &&
                              (cycles > far->value || !number_there(far));
        if (!isnan(cycles)) {
            const struct number level = number_fact(cycles, "cycles");
            char value[LABEL_MOST - 12];
            snprintf(text, sizeof text, "%s%s%s%s", from > walk->bytes[0] ? "|" : "",
                     number_cell(value, sizeof value, &level, ""), is_mixed ? "*" : "",
                     from > walk->bytes[0] ? "" : " cycles");
            place(line, column_of(walk, from), text);
            series_put(levels, sqrt(from * to), &level,
                       !is_mixed           ? level_name(steps, i)
                       : number_there(far) ? "no level"
                                           : "perhaps no level");
            *mixed = *mixed || is_mixed;
        }
        from = to;
    }
    put_line(section, line);
}

/* Powers of four. */
static void label_axis(struct section *section, const struct walk *walk)
{
    static const char prefixes[] = " KMGT";
    char line[COLUMNS + 1], text[LABEL_MOST];

    blank(line);
    for (int power = 0; power < 50; power += 2) {
        const double bytes = exp2(power);
        if (bytes < walk->bytes[0] || bytes > walk->bytes[walk->n - 1])
            continue;
        snprintf(text, sizeof text, "%.0f%.*s", exp2(power % 10), power < 10 ? 0 : 1,
                 &prefixes[power / 10]);
        place(line, column_of(walk, bytes), text);
    }
    put_line(section, line);
}

static void find(struct section *section, const struct number sizes[LEVELS])
{
    static const char *const split[] = {"L1", "one side of the L2", "all of it"};
    static const char *const whole[] = {"L1", "", "L2"};
    const bool is_split = number_there(&sizes[1]);
    char text[200] = "";
    size_t n = 0, named = 0;

    for (size_t i = 0; i < LEVELS; i++)
        n += number_there(&sizes[i]);
    for (size_t i = 0; i < LEVELS; i++) {
        const size_t used = strlen(text);
        char size[48];
        if (!number_there(&sizes[i]))
            continue;
        section_rests(section, &sizes[i]);
        snprintf(text + used, sizeof text - used, "%s%s (%s)",
                 named == 0       ? ""
                 : named + 1 == n ? " and "
                                  : ", ",
                 number_say(size, sizeof size, &sizes[i], NULL), (is_split ? split : whole)[i]);
        named++;
    }
    if (n > 0)
        section->finding = section_text(section, "%s at %s.", n == 1 ? "A step" : "Steps", text);
}

void section_curve(const struct summary *summary, struct section *section)
{
    const struct number sizes[LEVELS] = {summary_number(summary, "l1-size"),
                                         summary_number(summary, "l2-near-size"),
                                         summary_number(summary, "l2-size")};
    const double steps[LEVELS] = {sizes[0].value, sizes[1].value, sizes[2].value};
    struct walk walk = {.n = 0};
    bool mixed;

    section->name = "curve";
    section->title = "LATENCY CURVE";
    take(summary, curve_needs[CURVE], section_series(section, "load, cycles", "bytes"), &walk);
    take(summary, curve_needs[CURVE_TIME], section_series(section, "load, ns", "bytes"), NULL);
    if (walk.n < 4) {
        section_missing(section, summary, curve_needs[CURVE]);
        return;
    }
    find(section, sizes);
    struct series *capacities = section_series(section, "capacities", "level");
    for (size_t i = 0; i < LEVELS; i++)
        if (number_there(&sizes[i]))
            series_put(capacities, (double)i, &sizes[i], level_name(steps, i));
    draw(section, &walk);
    const struct number far = summary_take(summary, curve_needs[FAR], PICK_FIRST);
    const struct number miss = summary_take(summary, curve_needs[MEMORY], PICK_FIRST);
    label_levels(section, &walk, steps, &far, &miss, &mixed);
    label_axis(section, &walk);
    if (mixed)
        section_note(
            section,
            number_there(&far)
                ? "* no level: part of the loads hit in the far side, the others miss."
                : "* perhaps no level: no hit in the far side was timed here, and some loads "
                  "may miss.");
}
