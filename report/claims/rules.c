#include "report/claims/rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "core/text.h"
#include "core/unit.h"
#include "report/bundle/counted.h"
#include "report/bundle/needs.h"

/* --- evidence --------------------------------------------------------------------------------- */

void rule_say(char text[CLAIM_TEXT], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_append_list(text, CLAIM_TEXT, format, arguments);
    va_end(arguments);
}

static bool is_counted(const struct row *row)
{
    size_t n;
    return row->id && counted_split(row->id, &n);
}

static struct figure *figure_of(struct finding *f, const char *name)
{
    if (f->n_figures == CLAIM_FIGURES)
        return NULL;
    struct figure *figure = &f->figures[f->n_figures++];
    snprintf(figure->name, sizeof figure->name, "%s", name);
    return figure;
}

/* The same row, said before under another name? */
static bool is_same(const struct figure *figure, const struct row *row)
{
    return figure->id == row->id && figure->unit == row->unit && figure->value == row->centre;
}

static struct figure *put_row(struct finding *f, const char *name, const struct row *row)
{
    struct figure *figure = figure_of(f, name);
    if (figure) {
        figure->id = row->id;
        figure->unit = row->unit;
        figure->value = row->centre;
        figure->low = row->low;
        figure->high = row->high;
    }
    return figure;
}

void rule_say_row(struct finding *f, const char *what, const struct row *row)
{
    char centre[48], low[48], high[48], *text = f->evidence;
    rule_say(text, "%s%s %s (%s to %s)%s", text[0] ? "; " : "", what,
             unit_format(centre, sizeof centre, row->centre, row->unit, 4),
             unit_format(low, sizeof low, row->low, row->unit, 4),
             unit_format(high, sizeof high, row->high, row->unit, 4),
             !row->stale       ? ""
             : is_counted(row) ? ", counted with other kernels than the timed ones"
                               : ", by other code than this tree's");
    put_row(f, what, row);
}

void rule_say_figure(struct finding *f, const char *key, const struct row *row)
{
    struct figure *figure = NULL;
    for (size_t i = 0; i < f->n_figures && !figure; i++)
        if (is_same(&f->figures[i], row) && !f->figures[i].key[0])
            figure = &f->figures[i];
    if (!figure)
        figure = put_row(f, key, row);
    if (figure)
        snprintf(figure->key, sizeof figure->key, "%s", key);
}

void rule_say_number(struct finding *f, const char *key, double value, const char *unit)
{
    const struct row row = rule_number(value, unit);
    struct figure *figure = put_row(f, key, &row);
    if (figure)
        snprintf(figure->key, sizeof figure->key, "%s", key);
}

void rule_say_count(struct finding *f, const char *key, size_t count)
{
    rule_say_number(f, key, (double)count, "count");
}

void rule_say_part(struct finding *f, const char *what, enum claim_verdict verdict,
                   const struct row *row, double limit)
{
    if (f->n_parts == CLAIM_PARTS)
        return;
    struct part_of_verdict *part = &f->parts[f->n_parts++];
    *part = (struct part_of_verdict){
        .verdict = verdict, .value = NAN, .low = NAN, .high = NAN, .limit = limit};
    if (row) {
        part->value = row->centre;
        part->low = row->low;
        part->high = row->high;
        part->unit = row->unit;
    }
    snprintf(part->what, sizeof part->what, "%s", what);
}

void rule_say_check(struct finding *f, bool positive, bool as_it_must, const char *what,
                    double value, const char *unit)
{
    if (f->n_controlled == CLAIM_CONTROLS)
        return;
    struct control *control = &f->controlled[f->n_controlled++];
    *control = (struct control){
        .positive = positive, .as_it_must = as_it_must, .value = value, .unit = unit};
    snprintf(control->what, sizeof control->what, "%s", what);
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
    rule_say_check(f, positive, as_it_must, what, row->centre, row->unit);
}

void rule_say_why(struct finding *f, enum claim_why why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->lacks, sizeof f->lacks, format, arguments);
    va_end(arguments);
    f->why = why;
    if (why == WHY_OTHER_GPU || why == WHY_DRAFT || why == WHY_NEVER) /* no run here would help */
        f->decides[0] = '\0';
}

void rule_not_testable(struct finding *f, const char *format, ...)
{
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    f->verdict = CLAIM_NOT_TESTABLE;
    if (f->why == WHY_NONE)
        rule_say_why(f, WHY_MISSING, "%s", why);
    rule_say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", why);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* A time, or work over time. */
static bool is_measured(const struct row *row)
{
    return !strcmp(row->unit, "ns") || !strcmp(row->unit, "cycles") || unit_is_rate(row->unit);
}

/* What would bring a figure: "run `norm` again". Of a glob "*.time{" it is not known which
 * program. */
static void say_decides(struct finding *f, const char *id, const char *again)
{
    const int length = (int)strcspn(id, ".");
    if (row_is_of_baseline(id))
        snprintf(f->decides, sizeof f->decides, "run with `--peers`%s", again);
    else if (strcspn(id, "*?[") > (size_t)length)
        snprintf(f->decides, sizeof f->decides, "run `%.*s`%s", length, id, again);
}

/* What a row that cannot be used lacks: it cannot be had here, needs all rounds, or is not steady.
 * how: the option that measured one round alone, or NULL. */
static void say_why_not(const struct row *row, const char *how, struct finding *f)
{
    const char *why = row->why ? row->why : row_status_name(row->status);
    if (row_usable(row) && !isnan(row->low) && (row->low > 0 || !is_measured(row)))
        return;
    say_decides(f, row->id, row->status == ROW_MISSING || how ? "" : " again");
    if (!row_usable(row) && row->status == ROW_MISSING)
        rule_say_why(f, strstr(why, "compute capability") ? WHY_OTHER_GPU : WHY_MISSING, "%s: %s",
                     row->id, why);
    else if (!row_usable(row))
        rule_say_why(f, WHY_UNSTEADY, "%s: %s", row->id, why);
    else if (isnan(row->low))
        rule_say_why(f, how ? WHY_MISSING : WHY_UNSTEADY, "%s %s%s", row->id,
                     how ? "was measured once, by " : "has too few runs", how ? how : "");
    else if (is_measured(row) && !(row->low > 0))
        rule_say_why(f, WHY_UNSTEADY, "%s reads no time and no rate", row->id);
}

/* Every way to a row, and to a counted figure, passes here. A draft's is none: the finding says so
 * once. */
static bool is_of_draft(const struct bundle *bundle, const char *id, struct finding *f)
{
    const char *draft = bundle_draft(bundle, id);
    if (draft && f->why != WHY_DRAFT) {
        rule_say_why(f, WHY_DRAFT, "%s: %s", id, draft);
        rule_not_testable(f, "%s is of a draft: %s", id, draft);
    }
    return draft != NULL;
}

/* Is it usable, does it have an interval, and is a time or a rate positive? */
static bool is_usable(const struct bundle *bundle, const struct row *row, struct finding *f)
{
    if (is_of_draft(bundle, row->id, f))
        return false;
    const char *how = json_is_true(json_object_get(bundle->head, "quick"))  ? "--quick"
                      : json_is_true(json_object_get(bundle->head, "deep")) ? "--deep"
                                                                            : NULL;
    say_why_not(row, how, f);
    if (!row_usable(row))
        rule_not_testable(f, "%s: %s", row->id, row->why ? row->why : row_status_name(row->status));
    else if (isnan(row->low))
        rule_not_testable(f, "%s has %zu usable run%s; a verdict needs 7, or 6 of them%s%s%s",
                          row->id, row->n, row->n == 1 ? "" : "s", how ? " (measured with " : "",
                          how ? how : "", how ? ")" : "");
    else if (is_measured(row) && !(row->low > 0))
        rule_not_testable(f, "%s reads %g %s: no time, and no rate", row->id, row->low, row->unit);
    else
        return true;
    return false;
}

/* Does a need of the claim cover that id? Counted figures have needs of their own kind. */
static bool is_needed(const char *id, struct finding *f)
{
    size_t n;
    const bool counted = counted_split(id, &n) != NULL;
    for (const struct need *const *list = f->claim->needs; *list; list++)
        for (const struct need *need = *list; need->id; need++)
            if ((need->kind == NEED_COUNTED) == counted && need_covers(need->id, id))
                return true;
    rule_not_testable(f, "%s is none of the claim's needs", id);
    for (struct finding *its = f; its; its = its->of)
        its->n_refused++;
    return false;
}

/* A verdict should rest on times of every round: the ledger names those that it takes from less. */
static void note_seldom(const struct row *row, struct finding *f)
{
    if (f->of || !is_measured(row) || !(row->once || row->thrice))
        return;
    for (size_t i = 0; i < f->n_seldom; i++)
        if (!strcmp(f->seldom[i], row->id))
            return;
    if (f->n_seldom < CLAIM_SELDOM)
        f->seldom[f->n_seldom++] = row->id;
}

static bool take(const struct bundle *bundle, const char *glob, bool best, struct row *row,
                 struct finding *f)
{
    size_t next = 0;

    if (!is_needed(glob, f))
        return false;
    const struct row *first = best ? NULL : rows_match(&bundle->rows, glob, &next);
    if (first)
        *row = *first;
    if (best ? !rows_pick(&bundle->rows, glob, row) : !first) {
        say_decides(f, glob, "");
        rule_not_testable(f, "%s is not in this bundle", glob);
        return false;
    }
    if (!is_usable(bundle, row, f))
        return false;
    note_seldom(row, f);
    return true;
}

bool rule_take(const struct bundle *bundle, const char *glob, struct row *row, struct finding *f)
{
    return take(bundle, glob, false, row, f);
}

bool rule_take_best(const struct bundle *bundle, const char *glob, struct row *row,
                    struct finding *f)
{
    return take(bundle, glob, true, row, f);
}

/* Is the id one that the bundle's counted figures do not have? Says which document lacks. */
static void say_not_counted(const struct bundle *bundle, const char *id, struct finding *f)
{
    size_t n;
    const char *of = counted_split(id, &n);
    const int length = of ? (int)strcspn(of, ".") : 0;

    if (of) {
        rule_say_why(f, WHY_MISSING, "figures by counters");
        snprintf(f->decides, sizeof f->decides, "run `gpufloor counters %.*s`", length, of);
    }
    if (!of)
        rule_not_testable(f, "%s is no counted figure", id);
    else if (counted_find(bundle, of, (size_t)length))
        rule_not_testable(f, "the counters document of %.*s holds no %s", length, of, id);
    else
        rule_not_testable(f, "no counters document holds %.*s", length, of);
}

static bool take_counted(const struct bundle *bundle, const char *id, struct row *row,
                         struct finding *f)
{
    size_t next = 0;

    if (!is_needed(id, f))
        return false;
    const struct row *found = rows_match(&bundle->counted, id, &next);
    if (!found) {
        say_not_counted(bundle, id, f);
        return false;
    }
    *row = *found;
    return is_usable(bundle, row, f);
}

bool rule_take_counted(const struct bundle *bundle, const char *figure, const char *glob,
                       struct row *row, struct finding *f)
{
    char id[2 * DOCUMENT_ID];
    snprintf(id, sizeof id, "%s of %s", figure, glob);
    return take_counted(bundle, id, row, f);
}

bool rule_take_rows(const struct bundle *bundle, const struct need *needs, struct finding *f,
                    struct row *const *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (needs[i].kind == NEED_COUNTED
                ? !take_counted(bundle, needs[i].id, rows[i], f)
                : !take(bundle, needs[i].id, needs[i].kind == NEED_BEST, rows[i], f))
            return false;
    return true;
}

bool rule_take_formed(const struct bundle *bundle, struct row *row, struct finding *f,
                      const char *format, ...)
{
    char glob[DOCUMENT_ID];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(glob, sizeof glob, format, arguments);
    va_end(arguments);
    return take(bundle, glob, false, row, f);
}

bool rule_take_beside(const struct bundle *bundle, const struct row *of, const char *metric,
                      struct row *row, struct finding *f)
{
    const char *keys = strchr(of->id, '{');
    return rule_take_formed(bundle, row, f, "%s%s", metric, keys ? keys : "");
}

struct finding rule_aside(struct finding *f)
{
    return (struct finding){.claim = f->claim, .of = f, .verdict = CLAIM_MIXED};
}

bool rule_look_up(const struct bundle *bundle, const char *glob, struct row *row, struct finding *f)
{
    struct finding aside = rule_aside(f);
    return take(bundle, glob, false, row, &aside);
}

const struct row *rule_next(const struct bundle *bundle, const char *glob, size_t *next,
                            struct finding *f)
{
    const struct row *row = is_needed(glob, f) ? rows_match(&bundle->rows, glob, next) : NULL;
    while (row && is_of_draft(bundle, row->id, f))
        row = rows_match(&bundle->rows, glob, next);
    return row;
}

const struct row *rule_find(const struct bundle *bundle, const char *id, struct finding *f)
{
    const struct row *row = is_needed(id, f) ? rows_find(&bundle->rows, id) : NULL;
    return row && !is_of_draft(bundle, row->id, f) ? row : NULL;
}

const struct row *rule_beside(const struct bundle *bundle, const struct row *row,
                              const char *metric, const char *key, const char *value,
                              struct finding *f)
{
    const struct row *found = rows_beside(&bundle->rows, row, metric, key, value);
    return found && is_needed(found->id, f) && !is_of_draft(bundle, found->id, f) ? found : NULL;
}

double rule_centre_beside(const struct bundle *bundle, const struct row *row, const char *metric,
                          struct finding *f)
{
    const struct row *found = rule_beside(bundle, row, metric, NULL, NULL, f);
    return found && row_usable(found) ? found->centre : (double)NAN;
}

enum { FORMED_MAX = 32 };

struct row rule_formed(struct finding *f, const struct row *const *from, size_t n, const char *unit,
                       double (*of)(const double *value, const void *with), const void *with)
{
    struct row out = {.id = from[0]->id, .unit = unit ? unit : from[0]->unit, .better = ROW_EXACT};
    double value[FORMED_MAX];

    for (size_t i = 0; i < n; i++) {
        out.once = out.once || from[i]->once;
        out.thrice = out.thrice || from[i]->thrice;
        out.better = from[i]->better == ROW_EXACT ? out.better : ROW_LOWER;
    }
    for (size_t k = 0; k < from[0]->n; k++) {
        const int round = from[0]->round[k];
        for (size_t i = 0; i < n; i++)
            value[i] = row_at(from[i], round);
        row_put(&out, round, of(value, with), NAN);
    }
    row_finish(&out);
    if (isnan(out.low) && !f->no_interval)
        f->no_interval = out.id;
    return out;
}

static double ratio_of(const double *value, const void *with)
{
    (void)with;
    return value[0] / value[1];
}

struct row rule_ratio(struct finding *f, const struct row *a, const struct row *b)
{
    return rule_formed(f, (const struct row *const[]){a, b}, 2, "ratio", ratio_of, NULL);
}

static double less_of(const double *value, const void *with)
{
    (void)with;
    return value[0] - value[1];
}

struct row rule_less(struct finding *f, const struct row *a, const struct row *b)
{
    return rule_formed(f, (const struct row *const[]){a, b}, 2, NULL, less_of, NULL);
}

static double rate_of(const double *value, const void *in_1e9)
{
    return *(const double *)in_1e9 / value[0];
}

struct row rule_rate(struct finding *f, const struct row *time, double work, const char *unit)
{
    const double in_1e9 = work * 1e9;
    struct row rate = rule_formed(f, &time, 1, unit, rate_of, &in_1e9);
    rate.better = ROW_HIGHER;
    return rate;
}

struct row rule_number(double value, const char *unit)
{
    return (struct row){.unit = unit, .centre = value, .low = value, .high = value, .best = value};
}

struct row rule_quotient(const struct row *a, const struct row *b)
{
    return (struct row){.id = a->id,
                        .unit = "ratio",
                        .centre = a->centre / b->centre,
                        .low = a->low / b->high,
                        .high = a->high / b->low,
                        .best = NAN,
                        .stale = a->stale || b->stale};
}

bool rule_take_ratio(const struct bundle *bundle, const char *above, const char *below,
                     struct row *ratio, struct finding *f)
{
    struct row a, b;
    if (!rule_take(bundle, above, &a, f) || !rule_take(bundle, below, &b, f))
        return false;
    *ratio = rule_ratio(f, &a, &b);
    return true;
}

void rule_say_ratio_beside(const struct bundle *bundle, struct finding *f, const char *what,
                     const char *above, const char *below)
{
    struct finding aside = rule_aside(f);
    struct row ratio;
    if (rule_take_ratio(bundle, above, below, &ratio, &aside))
        rule_say_row(f, what, &ratio);
}

void rule_say_row_beside(const struct bundle *bundle, struct finding *f, const char *what,
                        const char *id)
{
    struct row row;
    if (rule_look_up(bundle, id, &row, f))
        rule_say_row(f, what, &row);
}

/* --- rules ------------------------------------------------------------------------------------ */

double rule_limit(struct finding *f, const char *name, double value)
{
    while (f->of)
        f = f->of;
    size_t i = 0;
    while (i < f->n_limits && strcmp(f->limit[i], name) != 0)
        i++;
    if (i == f->n_limits && i < CLAIM_LIMITS) {
        f->limit_value[i] = value;
        f->limit[f->n_limits++] = name;
    }
    return f->moved && !strcmp(f->moved, name) ? value * f->by : value;
}

size_t rule_tally(struct finding *f, const char *name, size_t count)
{
    const double moved = rule_limit(f, name, 1);
    while (f->of)
        f = f->of;
    for (size_t i = 0; i < f->n_limits; i++)
        f->is_count[i] = f->is_count[i] || !strcmp(f->limit[i], name);
    return moved < 1 ? count - (count > 0) : moved > 1 ? count + 1 : count;
}

enum place rule_place(const struct row *row, double least, double most)
{
    if (isnan(row->low))
        return PLACE_UNKNOWN;
    if (row->high < least)
        return PLACE_BELOW;
    if (row->low > most)
        return PLACE_ABOVE;
    return row->low >= least && row->high <= most ? PLACE_INSIDE : PLACE_STRADDLES;
}

enum claim_verdict rule_band(enum place place)
{
    if (place == PLACE_UNKNOWN)
        return CLAIM_NOT_TESTABLE;
    if (place == PLACE_STRADDLES)
        return CLAIM_MIXED;
    return place == PLACE_INSIDE ? CLAIM_REPRODUCED : CLAIM_REFUTED;
}

bool rule_faster(struct finding *f, const struct row *a, const struct row *b)
{
    /* Here, and not a constant with a name: the hash of each rule that asks holds the bare
     * number. */
    const double by = rule_limit(f, "FASTER", 0.03);
    return a->high < b->low - fmax(by * b->centre, 1);
}

/* The first control that did not come out as its kind must. */
static const char *failed_control(const struct finding *f)
{
    for (size_t i = 0; i < f->n_controlled; i++)
        if (!f->controlled[i].as_it_must)
            return f->controlled[i].what;
    return "one of several";
}

/* In a list of controls the value follows, "..., at: 1.04"; a sentence ends before it. */
static void say_failed_control(struct finding *f)
{
    static const char value_follows[] = ", at";
    const char *what = failed_control(f);
    size_t length = strlen(what);

    if (length > strlen(value_follows) &&
        !strcmp(what + length - strlen(value_follows), value_follows))
        length -= strlen(value_follows);
    rule_say_why(f, WHY_CONTROL, "%.*s", (int)length, what);
}

void rule_conclude(struct finding *f, enum claim_verdict verdict, bool positive, bool negative)
{
    f->verdict = verdict;
    if (f->no_interval) {
        say_decides(f, f->no_interval, " again");
        rule_say_why(f, WHY_UNSTEADY, "%s: too few runs in common", f->no_interval);
        rule_not_testable(f, "formed with %s: a row without an interval, too few runs in common",
                          f->no_interval);
    } else if (verdict == CLAIM_NOT_TESTABLE) {
        rule_say_why(f, WHY_UNSTEADY, "what is judged has no interval");
        rule_not_testable(f, "what is judged has no interval");
    } else if (!positive || !negative) {
        say_failed_control(f);
        rule_not_testable(f, "%s control did not come out as it must",
                          positive ? "the negative" : "the positive");
    } else {
        f->why = WHY_NONE;
    }
}
