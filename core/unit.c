#include "core/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a unit scales when it is printed: the names of its steps and the size of one step. */
static const struct unit {
    const char *name;
    double step;
    const char *shown[6];
} units[] = {
    {"ns", 1000, {"ns", "us", "ms", "s"}},
    {"cycles", 0, {"cycles"}},
    {"bytes", 1024, {"B", "KiB", "MiB", "GiB", "TiB"}},
    {"bytes/s", 1000, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"}},
    {"bytes/cycle", 0, {"B/cycle"}},
    {"flop/s", 1000, {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"}},
    {"ops/s", 1000, {"op/s", "kop/s", "Mop/s", "Gop/s", "Top/s", "Pop/s"}},
    {"ops/cycle", 0, {"op/cycle"}},
    {"hertz", 1000, {"Hz", "kHz", "MHz", "GHz"}},
    {"count", 0, {""}},
    {"ratio", 0, {""}},
    {"ulps", 0, {"ulp"}},
    {"watts", 1000, {"W", "kW"}},
    {"joules", 1000, {"J", "kJ"}},
    {"celsius", 0, {"C"}},
};

/* Larger values are shown by their exponent: whoever reads one asks for its size first. */
static const double WHOLE_MOST = 1e10;

enum { N_UNITS = sizeof units / sizeof units[0] };

static const struct unit *find(const char *name)
{
    for (size_t i = 0; name && i < N_UNITS; i++)
        if (!strcmp(units[i].name, name))
            return &units[i];
    return NULL;
}

bool unit_known(const char *unit)
{
    return find(unit) != NULL;
}

bool unit_is_rate(const char *unit)
{
    size_t length = unit ? strlen(unit) : 0;
    return length > 2 && !strcmp(unit + length - 2, "/s");
}

const char *unit_at(size_t i)
{
    return i < N_UNITS ? units[i].name : NULL;
}

/* Digits after the point that leave `digits` significant ones, never in exponent form. */
static int decimals(double value, int digits)
{
    double magnitude = fabs(value);
    int whole = magnitude >= 1 ? (int)floor(log10(magnitude)) + 1 : 1;
    if (magnitude > 0 && magnitude < 1)
        whole = (int)floor(log10(magnitude)) + 1;
    return digits > whole ? digits - whole : 0;
}

/* Rounds value to `digits` significant digits, by which its scale is chosen: otherwise 999.96 would
 * print as "1000.0". */
static double rounded(double value, int digits)
{
    if (value == 0)
        return 0;
    double scale = pow(10, digits - 1 - floor(log10(fabs(value))));
    return round(value * scale) / scale;
}

char *unit_format(char *text, size_t size, double value, const char *unit, int digits)
{
    const struct unit *u = find(unit);
    size_t step = 0;
    double shown = value;

    if (!isfinite(value)) {
        snprintf(text, size, "-");
        return text;
    }
    while (u && u->step > 0 && step + 1 < 6 && u->shown[step + 1] &&
           fabs(rounded(shown, digits)) >= u->step) {
        shown /= u->step;
        step++;
    }
    bool whole = shown == floor(shown) && fabs(shown) < 1e6;
    int places = whole ? 0 : decimals(rounded(shown, digits), digits);
    if (places > 9 || fabs(shown) >= WHOLE_MOST)
        snprintf(text, size, "%.*e", digits - 1, shown);
    else
        snprintf(text, size, "%.*f", places, shown);
    if (u && u->shown[step][0]) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, " %s", u->shown[step]);
    }
    return text;
}

char *unit_fixed(char *text, size_t size, double value, int places, bool sign)
{
    if (fabs(value) >= WHOLE_MOST)
        snprintf(text, size, sign ? "%+.2e" : "%.2e", value);
    else
        snprintf(text, size, sign ? "%+.*f" : "%.*f", places, value);
    return text;
}

bool unit_parse_size(const char *text, int64_t *bytes)
{
    char *end = NULL;
    int shift = 0;

    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno)
        return false;
    switch (*end) {
    case 'T': shift = 40; break;
    case 'G': shift = 30; break;
    case 'M': shift = 20; break;
    case 'K': shift = 10; break;
    default: break;
    }
    if (end[shift ? 1 : 0] != '\0' || value > (INT64_MAX >> shift))
        return false;
    *bytes = (int64_t)value << shift;
    return true;
}
