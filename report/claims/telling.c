#include "report/claims/telling.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/unit.h"

enum { DIGITS = 3, VALUE_TEXT = 64 };

/* --- words ------------------------------------------------------------------------------------ */

const char *telling_word(enum claim_verdict verdict)
{
    static const char *const words[] = {"yes", "no", "partly", "can't tell", "open"};
    return words[verdict];
}

const char *telling_class(enum claim_why why)
{
    static const char *const names[] = {"",        "other_gpu", "missing", "unsteady",
                                        "control", "draft",     "never"};
    return names[why];
}

const char *telling_class_line(enum claim_why why)
{
    static const char *const lines[] = {
        "",
        "needs another GPU",
        "not measured here",
        "rows do not repeat: run them again",
        "a control did not come out",
        "of a draft, by which nothing is judged",
        "no run can tell",
    };
    return lines[why];
}

/* A text of limited length that grows at its end. */
struct text {
    char *at;
    size_t used, size;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text->at + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    if (n > 0)
        text->used += (size_t)n < text->size - text->used ? (size_t)n : text->size - text->used - 1;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Three digits with a unit; a million and more in words. */
static const char *shown(char text[VALUE_TEXT], double value, const char *unit)
{
    const double million = 1e6;
    if (!strcmp(unit, "count") && value >= million && fmod(value, million) == 0)
        snprintf(text, VALUE_TEXT, "%.0f million", value / million);
    else if (!strcmp(unit, "count") && value == floor(value))
        snprintf(text, VALUE_TEXT, "%.0f", value);
    else if (!strcmp(unit, "ratio") && fabs(value) >= 0.01)
        snprintf(text, VALUE_TEXT, "%.*f",
                 fabs(value) < 9.995   ? 2
                 : fabs(value) < 99.95 ? 1
                                       : 0,
                 value);
    else
        unit_format(text, VALUE_TEXT, value, unit, strcmp(unit, "ratio") ? DIGITS : DIGITS - 1);
    return text;
}

/* Two digits, and a third from 99 % on, where it tells. */
static void put_percent(struct text *text, double value)
{
    const double percent = 100 * value, size = fabs(percent);
    const int places = size < 0.1 ? 3 : size < 1 ? 2 : size < 9.95 ? 1 : 0;
    const bool is_near = fabs(size - 100) < 1 && size != 100;
    put(text, "%.*f %%", is_near ? 1 : places, percent);
}

static void put_change(struct text *text, double ratio)
{
    if (fabs(ratio - 1) < 0.005)
        put(text, "as much");
    else
        put(text, "%.0f %% %s", 100 * fabs(ratio - 1), ratio < 1 ? "less" : "more");
}

/* "0.48 to 0.51", with the unit behind the second only; more digits where they tell the two
 * apart. */
static void put_range(struct text *text, double low, double high, const char *unit)
{
    enum { MORE = 5 };
    char a[VALUE_TEXT], b[VALUE_TEXT];

    shown(a, low, unit);
    shown(b, high, unit);
    for (int digits = DIGITS; digits <= MORE && !strcmp(a, b); digits++) {
        unit_format(a, sizeof a, low, unit, digits);
        unit_format(b, sizeof b, high, unit, digits);
    }
    char *blank = strchr(a, ' ');
    const char *other = strchr(b, ' ');
    if (!strcmp(a, b)) {
        put(text, "%s", b);
        return;
    }
    if (blank && other && !strcmp(blank, other))
        *blank = '\0';
    put(text, "%s to %s", a, b);
}

static bool put_value(struct text *text, const struct figure *figure, const char *how)
{
    char value[VALUE_TEXT];
    if (!isfinite(figure->value))
        return false;
    if (!strcmp(how, "%"))
        put_percent(text, figure->value);
    else if (!strcmp(how, "change"))
        put_change(text, figure->value);
    else if (!strcmp(how, "range") && isfinite(figure->low) && isfinite(figure->high))
        put_range(text, figure->low, figure->high, figure->unit);
    else if (!*how)
        put(text, "%s", shown(value, figure->value, figure->unit));
    else
        return false;
    return true;
}

static bool put_limit(struct text *text, double limit, const char *how)
{
    char value[VALUE_TEXT];
    if (!strcmp(how, "%"))
        put(text, "%.6g %%", 100 * limit);
    else if (*how)
        put(text, "%s", shown(value, limit, how));
    else
        put(text, "%.6g", limit);
    return true;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void put_part(struct text *text, const struct part_of_verdict *part)
{
    char value[VALUE_TEXT];
    const bool is_between = part->verdict == CLAIM_MIXED && part->low < part->high;

    put(text, "%s", part->what);
    if (!isfinite(part->value))
        return;
    put(text, " (");
    if (is_between)
        put_range(text, part->low, part->high, part->unit);
    else
        put(text, "%s", shown(value, part->value, part->unit));
    put(text, ")");
}

/* The one limit of all parts that did not hold; NaN where they have several, or none. */
static double common_limit(const struct finding *f)
{
    double limit = NAN;
    for (size_t i = 0, n = 0; i < f->n_parts; i++)
        if (f->parts[i].verdict != CLAIM_REPRODUCED)
            limit = n++ == 0 || f->parts[i].limit == limit ? f->parts[i].limit : (double)NAN;
    return limit;
}

/* Of a verdict in part no part holds, and none contains its limit: then they lie between two
 * limits, the one to hold and the one not to. */
static bool are_between(const struct finding *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_parts; i++)
        n += f->parts[i].verdict == CLAIM_REFUTED;
    return f->verdict == CLAIM_MIXED && n == f->n_parts;
}

/* "A (0.97), B (1.2): hold; C (1.01): does not, limit 1.03" */
static bool put_parts(struct text *text, const struct finding *f)
{
    static const char *const one[] = {"holds", "does not", "between"};
    static const char *const more[] = {"hold", "do not", "between"};
    const double limit = common_limit(f);
    size_t groups = 0;

    for (enum claim_verdict v = CLAIM_REPRODUCED; v <= CLAIM_MIXED; v++) {
        size_t n = 0;
        for (size_t i = 0; i < f->n_parts; i++)
            if (f->parts[i].verdict == v) {
                put(text, "%s", n++ ? ", " : groups ? "; " : "");
                put_part(text, &f->parts[i]);
            }
        const enum claim_verdict as = are_between(f) ? CLAIM_MIXED : v;
        if (n > 0)
            put(text, ": %s", n > 1 ? more[as] : one[as]);
        groups += n > 0;
    }
    if (isfinite(limit))
        put(text, ", limit %.4g", limit);
    return groups > 0;
}

/* --- sentences -------------------------------------------------------------------------------- */

static const struct figure *figure_of(const struct finding *f, const char *key)
{
    for (size_t i = f->n_figures; i-- > 0;) /* the last one said under that key */
        if (!strcmp(f->figures[i].key, key))
            return &f->figures[i];
    return NULL;
}

/* slot: "key" or "key:how". */
static bool put_slot(struct text *text, const char *slot, const struct finding *f)
{
    char key[64];
    const size_t length = strcspn(slot, ":");
    const char *how = slot[length] ? slot + length + 1 : "";

    snprintf(key, sizeof key, "%.*s", (int)length, slot);
    if (!strcmp(key, "parts"))
        return put_parts(text, f);
    const struct figure *figure = figure_of(f, key);
    if (figure)
        return put_value(text, figure, how);
    for (size_t i = 0; i < f->n_limits; i++)
        if (!strcmp(f->limit[i], key))
            return put_limit(text, f->limit_value[i], how);
    return false;
}

static bool fill(struct text *text, const char *plain, const struct finding *f)
{
    const bool begins = *plain == '{';
    while (*plain) {
        const size_t before = strcspn(plain, "{");
        put(text, "%.*s", (int)before, plain);
        plain += before;
        if (!*plain)
            break;
        char slot[64];
        const size_t length = strcspn(++plain, "}");
        snprintf(slot, sizeof slot, "%.*s", (int)length, plain);
        if (!plain[length] || !put_slot(text, slot, f))
            return false;
        plain += length + 1;
    }
    if (begins)
        text->at[0] = (char)toupper((unsigned char)text->at[0]);
    return true;
}

/* Without the keys of ids, and that a row is missing: "norm.time" of "norm.time{op=...} is not
 * ...". */
static void put_short(struct text *text, const char *lacks)
{
    while (*lacks && strcmp(lacks, " is not in this bundle") != 0) {
        const size_t before = strcspn(lacks, "{");
        put(text, "%.*s", (int)before, lacks);
        lacks += before;
        lacks += strcspn(lacks, "}") == strlen(lacks) ? strcspn(lacks, " :") : strcspn(lacks, "}");
        lacks += *lacks == '}';
    }
}

/* The class of what cannot be told, in words, and what would decide. */
static void fill_why(struct text *text, const struct finding *f)
{
    static const char *const begin[] = {[WHY_NONE] = "Not measured: ",
                                        [WHY_OTHER_GPU] = "Only ",
                                        [WHY_MISSING] = "Not measured: ",
                                        [WHY_UNSTEADY] = "Not steady: ",
                                        [WHY_CONTROL] = "A control failed: ",
                                        [WHY_DRAFT] = "Of a draft: ",
                                        [WHY_NEVER] = "No run can tell: "};
    put(text, "%s", begin[f->why]);
    put_short(text, f->lacks);
    put(text, "%s%s%s.", f->why == WHY_OTHER_GPU ? " can tell" : "", f->decides[0] ? "; " : "",
        f->decides);
}

/* Of a claim without words of its own, or whose words lack a figure. */
static void fill_generic(struct text *text, const struct telling *t)
{
    static const char *const begin[] = {"Holds: ", "Does not hold: ", "Holds in part: "};
    put(text, "%s%s", begin[t->finding.verdict], t->claim->statement);
}

static const char *words_of(const struct claim *claim, enum claim_verdict verdict)
{
    return verdict == CLAIM_REPRODUCED ? claim->plain.yes
           : verdict == CLAIM_REFUTED  ? claim->plain.no
           : verdict == CLAIM_MIXED    ? claim->plain.partly
                                       : NULL;
}

void telling_form(struct telling *t)
{
    const struct finding *f = &t->finding;
    const char *words = words_of(t->claim, f->verdict);
    struct text text = {t->sentence, 0, sizeof t->sentence};

    if (f->verdict == CLAIM_OPEN) {
        put(&text, "Not measured yet: %s", t->claim->open);
    } else if (f->verdict == CLAIM_NOT_TESTABLE) {
        fill_why(&text, f);
    } else if (!words || !fill(&text, words, f)) {
        text.used = 0;
        fill_generic(&text, t);
        t->is_generic = true;
    }
}

void telling_judge(struct telling *t, const struct claim *claim, const struct bundle *bundle)
{
    t->claim = claim;
    t->is_generic = false;
    claim_judge(claim, bundle, &t->finding);
    telling_form(t);
}

/* --- all claims ------------------------------------------------------------------------------- */

bool tellings_open(struct tellings *t, const struct bundle *bundle, const char *globs)
{
    const struct claim *claim;
    size_t n = 0;

    for (claim = claim_after(NULL); claim; claim = claim_after(claim))
        n++;
    *t = (struct tellings){.telling = calloc(n + 1, sizeof *t->telling)};
    if (!t->telling)
        return false;
    for (claim = claim_after(NULL); claim; claim = claim_after(claim))
        if (claim_is_wanted(globs, claim->id))
            telling_judge(&t->telling[t->n++], claim, bundle);
    return true;
}

void tellings_keep(struct tellings *t, enum claim_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->telling[i].finding.verdict == verdict)
            t->telling[n++] = t->telling[i];
    t->n = n;
}

void tellings_free(struct tellings *t)
{
    free(t->telling);
    *t = (struct tellings){0};
}

const struct telling *tellings_find(const struct tellings *t, const char *id)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->telling[i].claim->id, id))
            return &t->telling[i];
    return NULL;
}

size_t tellings_count(const struct tellings *t, const char *source, size_t count[TELLING_VERDICTS])
{
    size_t all = 0;
    memset(count, 0, TELLING_VERDICTS * sizeof *count);
    for (size_t i = 0; i < t->n; i++)
        if (!source || claim_is_of(t->telling[i].claim, source)) {
            count[t->telling[i].finding.verdict]++;
            all++;
        }
    return all;
}

bool telling_is_beside(const struct claim *a, const struct claim *b)
{
    const size_t number = strcspn(a->id, "abcdefghijklmnopqrstuvwxyz");
    return number == strcspn(b->id, "abcdefghijklmnopqrstuvwxyz") && !strncmp(a->id, b->id, number);
}

static bool is_decided(const struct telling *t)
{
    return t->finding.verdict <= CLAIM_MIXED;
}

/* How many stand before it. */
static size_t place_of(const struct tellings *t, const struct telling *one)
{
    size_t before = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct telling *other = &t->telling[i];
        before +=
            is_decided(other) && (other->claim->surprise > one->claim->surprise ||
                                  (other->claim->surprise == one->claim->surprise && other < one));
    }
    return before;
}

const struct telling *tellings_surprising(const struct tellings *t, size_t wanted)
{
    for (size_t i = 0; i < t->n; i++)
        if (is_decided(&t->telling[i]) && place_of(t, &t->telling[i]) == wanted)
            return &t->telling[i];
    return NULL;
}

char *telling_quote(const struct claim *claim, size_t words, char *text, size_t size)
{
    const char *at = claim->clause && *claim->clause ? claim->clause : claim->quote;
    size_t length = 0;

    for (size_t n = 0; n < words && at[length]; n++) {
        length += strspn(at + length, " ");
        length += strcspn(at + length, " ");
    }
    snprintf(text, size, "%.*s%s", (int)length, at, at[length] ? " [...]" : "");
    return text;
}
