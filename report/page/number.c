#include "report/page/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/unit.h"

enum { DIGITS = 3 };

/* Beyond these a number is written by its exponent. */
static const double WHOLE_MOST = 1e10, LEAST = 1e-9;

struct number number_none(void)
{
    return (struct number){.value = NAN, .low = NAN, .high = NAN, .unit = "count",
                           .status = ROW_MISSING, .clock_mhz = NAN};
}

struct number number_of(const struct row *row)
{
    if (!row || !row_usable(row))
        return number_none();
    return (struct number){.value = row->centre, .low = row->low, .high = row->high,
                           .unit = row->unit, .id = row->id, .status = row->status,
                           .once = row->once || (row->thrice && row->n == 2),
                           .power_bound = row->power_bound, .n = row->n,
                           .clock_mhz = row->clock_mhz > 0 ? row->clock_mhz : (double)NAN};
}

struct number number_fact(double value, const char *unit)
{
    struct number number = number_none();
    number.value = value;
    number.unit = unit;
    number.status = ROW_OK;
    return number;
}

struct number number_formed(double value, const char *unit, const struct number *from)
{
    struct number number = *from;
    number.value = value;
    number.low = number.high = NAN;
    number.unit = unit;
    number.clock_mhz = NAN;
    return number;
}

struct number number_ratio(const struct number *a, const struct number *b)
{
    struct number ratio = number_formed(a->value / b->value, "ratio", a->n <= b->n ? a : b);

    ratio.id = a->id;
    ratio.low = a->low / b->high;
    ratio.high = a->high / b->low;
    ratio.quoted = a->quoted || b->quoted;
    ratio.once = a->once || b->once;
    return ratio;
}

bool number_there(const struct number *number)
{
    return isfinite(number->value);
}

double number_spread(const struct number *number)
{
    const double half = fmax(number->high - number->value, number->value - number->low);
    return isfinite(half) && number->value != 0 ? half / fabs(number->value) : (double)NAN;
}

double number_scale(const char *unit, const char *shown)
{
    static const struct {
        const char *unit, *shown;
        double factor;
    } scales[] = {
        {"ns", "ns", 1},           {"ns", "us", 1e-3},       {"ns", "ms", 1e-6},
        {"ns", "s", 1e-9},         {"bytes/s", "GB/s", 1e-9}, {"bytes/s", "TB/s", 1e-12},
        {"flop/s", "TFLOP/s", 1e-12}, {"bytes", "B", 1},     {"bytes", "KiB", 1.0 / 1024},
        {"bytes", "MiB", 1.0 / 1048576}, {"bytes", "GiB", 1.0 / 1073741824},
        {"hertz", "MHz", 1e-6},    {"bytes/cycle", "B/cycle", 1}, {"ratio", "%", 100},
        {"ratio", "x", 1},
    };

    if (!*shown)
        return 1;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        if (!strcmp(scales[i].unit, unit) && !strcmp(scales[i].shown, shown))
            return scales[i].factor;
    return !strcmp(unit, shown) ? 1 : (double)NAN;
}

/* Digits behind the point, so that so many are shown and none before the point is lost. */
static int decimals(double value, int digits)
{
    const double size = fabs(value), tie = 0.5 * pow(10, -digits);
    int n = digits - 1;

    if (size == 0)
        return 0;
    for (double least = 1; size >= 10 * least * (1 - tie) && n > 0; least *= 10)
        n--;
    for (double least = 1; size < least * (1 - tie) && n < 9; least /= 10)
        n++;
    return n;
}

/* Whole values of these are exact: 32 cycles, 16 KiB. */
static bool is_counted(const char *unit)
{
    return !strcmp(unit, "count") || !strcmp(unit, "cycles") || !strcmp(unit, "bytes");
}

/* Divided, as unit_format() does: a tie, 2385 ns, is rounded alike in a table and in a sentence. */
static double scaled(double value, double factor)
{
    return factor < 1 ? value / rint(1 / factor) : value * factor;
}

char *number_cell(char *text, size_t size, const struct number *number, const char *shown)
{
    const double value = scaled(number->value, number_scale(number->unit, shown));

    if (!isfinite(value))
        snprintf(text, size, "-");
    else if (fabs(value) >= WHOLE_MOST || (value != 0 && fabs(value) < LEAST))
        snprintf(text, size, "%.*e", DIGITS - 1, value);
    else if (value == rint(value) && (is_counted(number->unit) || fabs(value) >= 1000))
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, "%.*f", decimals(value, DIGITS), value);
    return text;
}

char *number_exact(char *text, size_t size, double value, const char *unit, const char *shown,
                   int digits)
{
    const double factor = shown && *shown && strcmp(shown, "x") ? number_scale(unit, shown)
                                                                : (double)NAN;
    const double there = scaled(value, factor);

    if (!isfinite(there))
        return unit_format(text, size, value, unit, digits);
    if (fabs(there) >= WHOLE_MOST || (there != 0 && fabs(there) < LEAST))
        snprintf(text, size, "%.*e %s", digits - 1, there, shown);
    else if (there == rint(there) && is_counted(unit))
        snprintf(text, size, "%.0f %s", there, shown);
    else
        snprintf(text, size, "%.*f %s", decimals(there, digits), there, shown);
    return text;
}

char *number_say(char *text, size_t size, const struct number *number, const char *shown)
{
    char cell[48];

    if (!number_there(number))
        snprintf(text, size, "-");
    else if (shown)
        snprintf(text, size, "%s%s%s", number_cell(cell, sizeof cell, number, shown),
                 *shown ? " " : "", shown);
    else
        unit_format(text, size, number->value, number->unit, DIGITS);
    return text;
}
