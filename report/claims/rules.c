#include "report/claims/rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/unit.h"

/* --- saying it -------------------------------------------------------------------------------- */

void rule_say(char text[CLAIM_TEXT], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, CLAIM_TEXT - used, format, arguments);
    va_end(arguments);
}

void rule_say_row(char text[CLAIM_TEXT], const char *what, const struct row *row)
{
    char centre[48], low[48], high[48];
    rule_say(text, "%s%s %s (%s to %s)%s", text[0] ? "; " : "", what,
             unit_format(centre, sizeof centre, row->centre, row->unit, 4),
             unit_format(low, sizeof low, row->low, row->unit, 4),
             unit_format(high, sizeof high, row->high, row->unit, 4),
             row->stale ? ", by other code than this tree's" : "");
}

void rule_say_control(struct finding *f, bool positive, bool as_it_must, const char *what,
                      const struct row *row)
{
    static const char *const words[2][2] = {{"PASSED", "failed, as it must"}, {"FAILED", "passed"}};
    char value[48];
    rule_say(f->controls, "%s%s control: %s: %s, %s", f->controls[0] ? "; " : "",
             positive ? "positive" : "negative", what,
             unit_format(value, sizeof value, row->centre, row->unit, 4),
             words[positive][as_it_must]);
}

void rule_not_testable(struct finding *f, const char *format, ...)
{
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    f->verdict = CLAIM_NOT_TESTABLE;
    rule_say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", why);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Is it usable, and has it an interval? */
static bool is_usable(const struct bundle *bundle, const struct row *row, struct finding *f)
{
    bool quick = json_is_true(json_object_get(bundle->head, "quick"));
    if (!row_usable(row))
        rule_not_testable(f, "%s: %s", row->id, row->why ? row->why : row_status_name(row->status));
    else if (isnan(row->low))
        rule_not_testable(f, "%s has %zu usable run%s; a verdict needs 7, or 6 of them%s", row->id,
                          row->n, row->n == 1 ? "" : "s", quick ? " (measured with --quick)" : "");
    return row_usable(row) && !isnan(row->low);
}

bool rule_take(const struct bundle *bundle, const char *glob, struct row *row, struct finding *f)
{
    size_t next = 0;
    const struct row *found = rows_match(&bundle->rows, glob, &next);
    if (!found) {
        rule_not_testable(f, "%s is not in this bundle", glob);
        return false;
    }
    *row = *found;
    return is_usable(bundle, row, f);
}

bool rule_take_best(const struct bundle *bundle, const char *glob, struct row *row,
                    struct finding *f)
{
    if (!rows_pick(&bundle->rows, glob, row)) {
        rule_not_testable(f, "%s is not in this bundle", glob);
        return false;
    }
    return is_usable(bundle, row, f);
}

struct row rule_ratio(const struct row *a, const struct row *b)
{
    bool exact = a->better == ROW_EXACT && b->better == ROW_EXACT;
    struct row ratio = {.id = a->id,
                        .unit = "ratio",
                        .better = exact ? ROW_EXACT : ROW_LOWER,
                        .once = a->once || b->once};
    for (size_t i = 0; i < a->n; i++)
        row_put(&ratio, a->round[i], a->value[i] / row_at(b, a->round[i]), NAN);
    row_finish(&ratio);
    return ratio;
}

struct row rule_rate(const struct row *time, double work, const char *unit)
{
    struct row rate = {.id = time->id, .unit = unit, .better = ROW_HIGHER, .once = time->once};
    for (size_t i = 0; i < time->n; i++)
        row_put(&rate, time->round[i], work / time->value[i] * 1e9, NAN);
    row_finish(&rate);
    return rate;
}

/* --- rules ------------------------------------------------------------------------------------ */

enum place rule_place(const struct row *row, double least, double most)
{
    if (isnan(row->low))
        return PLACE_STRADDLES;
    if (row->high < least)
        return PLACE_BELOW;
    if (row->low > most)
        return PLACE_ABOVE;
    return row->low >= least && row->high <= most ? PLACE_INSIDE : PLACE_STRADDLES;
}

enum claim_verdict rule_band(enum place place)
{
    if (place == PLACE_STRADDLES)
        return CLAIM_MIXED;
    return place == PLACE_INSIDE ? CLAIM_REPRODUCED : CLAIM_REFUTED;
}

bool rule_faster(const struct row *a, const struct row *b)
{
    return a->high < b->low - fmax(0.03 * b->centre, 1);
}

void rule_conclude(struct finding *f, enum claim_verdict verdict, bool positive, bool negative)
{
    f->verdict = verdict;
    if (!positive || !negative)
        rule_not_testable(f, "%s control did not come out as it must",
                          positive ? "the negative" : "the positive");
}
