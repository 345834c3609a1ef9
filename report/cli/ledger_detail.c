/* gpufloor claims --id: all of a claim, from quote to rule, as text or Markdown. */
#include <math.h>
#include <string.h>

#include "core/unit.h"
#include "report/cli/ledger.h"

enum { INDENT = 12, CLAIM_NUMBER = 3 /* "C50" of "C50b" */, VALUE = 48 };

static void print_line(FILE *out, const char *label, const char *text, enum table_format format)
{
    fprintf(out, format == TABLE_MD ? "- %s: " : "  %-9s ", label);
    if (format == TABLE_MD)
        table_put(out, text, format);
    else
        table_wrap(out, text, INDENT, INDENT);
    fputc('\n', out);
}

static void print_quote(FILE *out, const struct telling *t, enum table_format format)
{
    const struct claim *claim = t->claim;
    const char *verdict = claim_verdict_name(t->finding.verdict);
    char ours[80];

    if (format == TABLE_MD) {
        fprintf(out, "## %s: %s\n\n%s: ", claim->id, verdict, telling_word(t->finding.verdict));
        table_put(out, t->sentence, format);
        fprintf(out, "\n\n> %s\n>\n> %s\n\n", claim->quote, claim_reference(claim->article));
    } else {
        const size_t indent = (size_t)fprintf(out, "%s  %s  ", claim->id, verdict);
        table_wrap(out, t->sentence, indent, INDENT);
        fputs("\n  quote     \"", out);
        table_wrap(out, claim->quote, INDENT + 1, INDENT + 1);
        fprintf(out, "\"\n%*s%s\n", INDENT, "", claim_reference(claim->article));
    }
    snprintf(ours, sizeof ours, "ours, beside %.*s", CLAIM_NUMBER, claim->id);
    if (claim->clause)
        print_line(out, "clause", *claim->clause ? claim->clause : ours, format);
}

/* --- figures, parts, controls ----------------------------------------------------------------- */

static bool is_range(const struct figure *figure)
{
    return isfinite(figure->low) && isfinite(figure->high) && figure->low < figure->high;
}

/* "4.83 us (4.81 us to 4.84 us)" */
static void format_figure(char *text, size_t size, const struct figure *figure)
{
    char value[VALUE], low[VALUE], high[VALUE];
    unit_format(value, sizeof value, figure->value, figure->unit, 4);
    if (is_range(figure))
        snprintf(text, size, "%s (%s to %s)", value,
                 unit_format(low, sizeof low, figure->low, figure->unit, 4),
                 unit_format(high, sizeof high, figure->high, figure->unit, 4));
    else
        snprintf(text, size, "%s", value);
}

/* Name, value with its interval, and row of each figure; as text, the row on a line of its own. */
static void print_figures(FILE *out, const struct finding *f, enum table_format format)
{
    struct table table = table_new("lll");
    char value[3 * VALUE], line[CLAIM_WORDS + 3 * VALUE + 4];

    table_cell(&table, "figure");
    table_cell(&table, "value");
    table_cell(&table, "row");
    for (size_t i = 0; i < f->n_figures; i++) {
        const struct figure *figure = &f->figures[i];
        format_figure(value, sizeof value, figure);
        if (format == TABLE_MD) {
            table_cell(&table, "%s", figure->name);
            table_cell(&table, "%s", value);
            table_cell(&table, "%s", figure->id ? figure->id : "-");
            continue;
        }
        snprintf(line, sizeof line, "%s: %s", figure->name, value);
        print_line(out, i ? "" : "figures", line, format);
        if (figure->id)
            out_printf(out, OUT_TEXT, "%*s%s\n", 2 * INDENT, "", figure->id);
    }
    if (format == TABLE_MD && f->n_figures)
        fputc('\n', out);
    table_print(out, &table, format, NULL);
}

static void print_parts(FILE *out, const struct finding *f, enum table_format format)
{
    static const char *const words[] = {"holds", "does not hold", "between", "cannot be told"};
    char text[CLAIM_TEXT], value[VALUE];
    size_t used = 0;

    if (f->n_parts == 0)
        return;
    for (size_t i = 0; i < f->n_parts; i++) {
        const struct part_of_verdict *part = &f->parts[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s: %s", i ? " | " : "",
                                 part->what, words[part->verdict]);
        if (isfinite(part->value))
            used += (size_t)snprintf(text + used, sizeof text - used, ", %s",
                                     unit_format(value, sizeof value, part->value, part->unit, 3));
        if (isfinite(part->limit))
            used += (size_t)snprintf(text + used, sizeof text - used, ", limit %.6g", part->limit);
        if (used >= sizeof text)
            break;
    }
    print_line(out, "parts", text, format);
}

static void print_controls(FILE *out, const struct finding *f, enum table_format format)
{
    static const char *const words[2][2] = {{"PASSED", "failed, as it should"},
                                            {"FAILED", "passed"}};
    char text[2 * CLAIM_WORDS + VALUE], value[VALUE];

    for (size_t i = 0; i < f->n_controlled; i++) {
        const struct control *c = &f->controlled[i];
        snprintf(text, sizeof text, "%s: %s, %s", c->what,
                 unit_format(value, sizeof value, c->value, c->unit, 4),
                 words[c->positive][c->as_it_must]);
        print_line(out, c->positive ? "positive" : "negative", text, format);
    }
}

static void print_elsewhere(FILE *out, const struct claim *claim, const struct elsewhere *e,
                            enum table_format format)
{
    char text[CLAIM_TEXT];
    size_t used = 0;

    for (size_t i = 0; e && i < e->n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", i ? ", " : "",
                                 e->of[i].board,
                                 telling_word(e->of[i].verdict[claim_place(claim)]));
    if (used > 0)
        print_line(out, "elsewhere", text, format);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void print_judged(FILE *out, const struct bundle *bundle, const struct telling *t,
                         enum table_format format)
{
    char dates[CLAIM_DATES], why[CLAIM_TEXT];
    const struct finding *f = &t->finding;

    print_line(out, "judged", t->claim->statement, format);
    if (f->verdict == CLAIM_NOT_TESTABLE) {
        snprintf(why, sizeof why, "%s: %s%s%s", telling_class(f->why), f->lacks,
                 f->decides[0] ? "; " : "", f->decides);
        print_line(out, "why", why, format);
    }
    if (format != TABLE_MD) /* whose table stands behind the list */
        print_figures(out, f, format);
    print_parts(out, f, format);
    print_controls(out, f, format);
    print_line(out, "rule", t->claim->rule, format);
    print_line(out, "dates", claim_dates(t->claim, bundle, dates), format);
    print_line(out, "in full", f->evidence, format);
}

void ledger_details(FILE *out, const struct bundle *bundle, const struct tellings *t,
                    const struct elsewhere *elsewhere, enum table_format format)
{
    ledger_head(out, bundle, format);
    if (format == TABLE_MD)
        ledger_totals(out, t, format);
    for (size_t i = 0; i < t->n; i++) {
        const struct telling *one = &t->telling[i];
        print_quote(out, one, format);
        if (one->claim->open) {
            print_line(out, "to judge", one->claim->statement, format);
            print_line(out, "decides", one->claim->open, format);
        } else {
            print_judged(out, bundle, one, format);
        }
        print_elsewhere(out, one->claim, elsewhere, format);
        if (format == TABLE_MD)
            print_figures(out, &one->finding, format);
        fputs(format == TABLE_MD && one->finding.n_figures ? "" : "\n", out);
    }
}
