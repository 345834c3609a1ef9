#include "report/page/take.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/needs.h"

const struct row *take_next(const struct summary *summary, const char *need, size_t *next)
{
    const struct row *row;
    char glob[DOCUMENT_ID];

    need_glob(glob, need);
    while ((row = rows_match(&summary->bundle->rows, glob, next)))
        if (row_usable(row))
            return row;
    return NULL;
}

const struct row *take_row(const struct summary *summary, const char *need, ...)
{
    char glob[DOCUMENT_ID];
    size_t next = 0;
    va_list texts;

    va_start(texts, need);
    vsnprintf(glob, sizeof glob, need, texts);
    va_end(texts);
    return take_next(summary, glob, &next);
}

struct number take_number(const struct summary *summary, const char *need, ...)
{
    char glob[DOCUMENT_ID];
    va_list texts;

    va_start(texts, need);
    vsnprintf(glob, sizeof glob, need, texts);
    va_end(texts);
    return summary_take(summary, glob, PICK_FIRST);
}

struct number take_beside(const struct summary *summary, const struct row *row, const char *metric)
{
    char whole[DOCUMENT_ID];

    if (!row)
        return number_none();
    snprintf(whole, sizeof whole, "%s.%s", row->probe, metric);
    return number_of(rows_beside(&summary->bundle->rows, row, whole, NULL, NULL));
}

struct number take_other(const struct summary *summary, const struct row *row, const char *key,
                         const char *value)
{
    return row ? number_of(rows_beside(&summary->bundle->rows, row, NULL, key, value))
               : number_none();
}

static const char unfused[] = "unfused";

struct number take_apart(const struct summary *summary, const struct row *fused)
{
    return take_other(summary, fused, "impl", unfused);
}

struct number take_apart_beside(const struct summary *summary, const struct row *fused,
                                const char *metric)
{
    return take_beside(summary, rows_beside(&summary->bundle->rows, fused, NULL, "impl", unfused),
                       metric);
}

struct number take_gain(const struct summary *summary, const struct row *fused)
{
    char id[2 * DOCUMENT_ID], l2[8];
    const char *keys = strchr(fused->id, '{'), *end = strstr(fused->id, ",impl=fused,mode=graph,");

    if (keys && end && row_key(fused, "l2", l2, sizeof l2)) {
        snprintf(id, sizeof id, "derived.fusion_gain{probe=%s,%.*s,l2=%s}", fused->probe,
                 (int)(end - keys - 1), keys + 1, l2);
        const struct number gain = number_of(rows_find(&summary->bundle->rows, id));
        if (number_there(&gain))
            return gain;
    }
    const struct number apart = take_apart(summary, fused);
    const struct number time = number_of(fused);
    return number_ratio(&apart, &time);
}

double take_key(const struct row *row, const char *key)
{
    char text[64], *end;

    if (!row_key(row, key, text, sizeof text))
        return NAN;
    const double value = strtod(text, &end);
    return *end || end == text ? (double)NAN : value;
}

bool take_has(const struct row *row, const char *key, const char *value)
{
    char text[64];
    return row_key(row, key, text, sizeof text) && !strcmp(text, value);
}
