/* gpufloor compare: two bundles, metric by metric.
 *
 * The verdict follows the first rule that applies:
 *   - the metric is in one bundle only: NEW, GONE
 *   - another method or unit: n/c
 *   - a failed check: UNSURE
 *   - an exact metric: equality, else CHANGED
 *   - otherwise size and doubt decide. Figures within 1 +- tau count as the same.
 *
 * "Did my change matter?" takes tau = the largest of 1 %, two timer ticks, and three standard
 * deviations of the metric's centre within the committed sets of the board, if there are such
 * sets; see history.h. Ticks and deviations make it 40 % at most; --threshold stands in the place
 * of 1 %. "Is this card normal?" takes three standard deviations between cards, or 3 % if the
 * committed sets are of one card.
 *
 * FASTER and SLOWER require every run of one side beyond every run of the other *and* centres
 * further apart than tau. They are words for times, cycles and rates. Of all else, such as watts,
 * shares and errors, the same is called BETTER and WORSE. SAME requires the 95 % interval of the
 * ratio within tau, and the ratio within 10 %, or within --threshold where that is more. There are
 * no p-values over a thousand cases: seven runs lie beyond seven others by chance once in 1716
 * comparisons, and then the rule of tau still applies.
 *
 * Fewer than six runs have no interval. Two runs lie beyond two others by chance in one
 * comparison of three. Such rows are judged from two runs on, with a slack: tau is at least 2 %,
 * and at least twice the distance between either side's own runs. docs/FINDINGS.md says what
 * that finds and misses.
 *
 * CHANGED has no direction, so it counts as a difference for the exit status only with --strict.
 * Power, energy and the errors of results say nothing of speed: WORSE ones count only with --worse
 * or --strict. */
#include "report/cli/compare.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"
#include "core/unit.h"
#include "report/cli/catalogue.h"
#include "report/cli/command.h"
#include "report/cli/conditions.h"
#include "report/cli/history.h"
#include "report/cli/home.h"
#include "report/cli/suggest.h"
#include "report/cli/table.h"
#include "report/page/out.h"

static const double CONFIDENCE = 0.95, THRESHOLD = 0.01, TICKS = 2, DEVIATIONS = 3;
static const double NEVER_SAME = 0.10;             /* whatever the spread, but for --threshold */
static const double TAU_MOST = 0.40;               /* of spread and ticks: twice the time, half the
                                                      rate are beyond it */
static const double ONE_CARD = 0.03;               /* between cards, where one is known */
static const double SLACK = 0.02, OWN_SPREADS = 2; /* where runs are fewer than six */
enum { ESTIMATE_MOST = 64, LISTED_MOST = 10, RUNS_LEAST = 2 };

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[N_VERDICTS] = {"SAME",    "FASTER", "SLOWER", "BETTER", "WORSE",
                                                  "CHANGED", "UNSURE", "NEW",    "GONE",   "n/c"};
    return names[verdict];
}

/* --- one metric ------------------------------------------------------------------------------- */

static void decide(struct comparison *c, enum verdict verdict, const char *note)
{
    c->verdict = verdict;
    snprintf(c->note, sizeof c->note, "%s", note);
}

/* Equal but for digits that a document does not hold: seven, or those of a whole number, of which
 * older documents hold nine. */
static bool equal(double a, double b)
{
    static const double SEVEN = 5e-7, NINE = 5e-9;
    const bool whole = a == floor(a) && b == floor(b);
    return fabs(a - b) <= (whole ? NINE : SEVEN) * fmax(fabs(a), fabs(b));
}

static bool all_equal(const struct row *a, const struct row *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            if (!equal(a->value[i], b->value[k]))
                return false;
    return true;
}

static bool all_positive(const struct row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (!(row->value[i] > 0))
            return false;
    return true;
}

static bool all_zero(const struct row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->value[i] != 0)
            return false;
    return true;
}

/* Against runs that are all 0 the ratio is 0 or infinite, and its direction is certain. */
static bool has_ratio(const struct row *old, const struct row *new)
{
    return (all_positive(old) || all_zero(old)) && (all_positive(new) || all_zero(new));
}

/* Every run of one side within tau of every run of the other. */
static bool all_within(const struct row *old, const struct row *new, double tau)
{
    for (size_t i = 0; i < new->n; i++)
        for (size_t k = 0; k < old->n; k++)
            if (fabs(new->value[i] / old->value[k] - 1) > tau)
                return false;
    return true;
}

/* The interval narrows with the square root of the runs; so many would make it fit. */
static void estimate_runs(struct comparison *c)
{
    double off = fabs(c->ratio - 1), half = (c->high - c->low) / 2;
    double room = off < c->tau ? c->tau - off : off;
    double runs = ceil((double)c->new_row->n * (half / room) * (half / room));
    char note[40];

    if (!(runs <= ESTIMATE_MOST))
        snprintf(note, sizeof note, "more than %d runs", ESTIMATE_MOST);
    else
        snprintf(note, sizeof note, "~%.0f runs", fmax(runs, (double)c->new_row->n + 1));
    decide(c, VERDICT_UNSURE, note);
}

/* Distance of a side's own runs, over its centre. */
static double own_spread(const struct row *row)
{
    double least = row->value[0], most = row->value[0];
    for (size_t i = 1; i < row->n; i++) {
        least = fmin(least, row->value[i]);
        most = fmax(most, row->value[i]);
    }
    return (most - least) / row->centre;
}

static bool is_beyond(const struct comparison *c)
{
    return stat_disjoint(c->new_row->value, c->new_row->n, c->old_row->value, c->old_row->n) &&
           fabs(c->ratio - 1) > c->tau;
}

/* Is it a time, a number of cycles or a rate? */
static bool is_speed(const char *unit)
{
    return !strcmp(unit, "ns") || !strcmp(unit, "cycles") || strstr(unit, "/cycle") ||
           unit_is_rate(unit);
}

static void decide_direction(struct comparison *c, const char *note)
{
    const bool is_better = (c->ratio < 1) == (c->new_row->better == ROW_LOWER);

    if (is_speed(c->new_row->unit))
        decide(c, is_better ? VERDICT_FASTER : VERDICT_SLOWER, note);
    else
        decide(c, is_better ? VERDICT_BETTER : VERDICT_WORSE, note);
}

/* Fewer than six runs on a side: no interval. */
static void weigh_few(struct comparison *c, double never_same)
{
    const struct row *old = c->old_row, *new = c->new_row;
    const double same = c->tau; /* all runs within it: the same */
    char note[64];

    if (old->n < RUNS_LEAST || new->n < RUNS_LEAST) {
        decide(c, VERDICT_UNSURE, "needs 6 runs");
        return;
    }
    c->tau = fmax(SLACK, OWN_SPREADS * fmax(own_spread(old), own_spread(new)));
    c->tau = fmax(same, fmin(c->tau, TAU_MOST));
    snprintf(note, sizeof note, "%zu and %zu runs", old->n, new->n);
    if (is_beyond(c))
        decide_direction(c, note);
    else if (all_within(old, new, fmin(same, never_same)))
        decide(c, VERDICT_SAME, note);
    else
        decide(c, VERDICT_UNSURE, "needs 6 runs");
}

static void weigh(struct comparison *c, double threshold)
{
    const struct row *old = c->old_row, *new = c->new_row;
    const double never_same = fmax(NEVER_SAME, threshold);
    struct stat_ratio ratio;

    c->ratio = new->centre / old->centre;
    stat_ratio(new->value, new->n, old->value, old->n, CONFIDENCE, &ratio);
    c->low = ratio.low;
    c->high = ratio.high;
    if (old->n < ROW_RUNS_NEEDED || new->n < ROW_RUNS_NEEDED)
        weigh_few(c, never_same);
    else if (is_beyond(c))
        decide_direction(c, "");
    else if (c->low >= 1 - c->tau && c->high <= 1 + c->tau && fabs(c->ratio - 1) <= never_same)
        decide(c, VERDICT_SAME, "");
    else if (fabs(c->ratio - 1) > never_same && fabs(c->ratio - 1) <= c->tau)
        decide(c, VERDICT_UNSURE, "");
    else
        estimate_runs(c);
    if (isinf(c->ratio) && !*c->note)
        snprintf(c->note, sizeof c->note, "from 0");
    if (c->verdict == VERDICT_SAME && c->tau > THRESHOLD && !*c->note)
        snprintf(c->note, sizeof c->note, "within %.1f %%", 100 * c->tau);
    if (c->verdict == VERDICT_UNSURE && !*c->note)
        snprintf(c->note, sizeof c->note, "the board scatters by %.0f %%", 100 * c->tau);
}

/* Runs that disagree are judged all the same, with the slack that they ask for, but for a count. */
static const char *unfit(const struct row *row)
{
    if (row->status == ROW_FAILED)
        return "a check failed";
    if (row->status == ROW_NEGATIVE)
        return "a value below zero";
    return row->status == ROW_DISAGREE && row->better == ROW_EXACT ? "runs disagree" : NULL;
}

/* What counts as the same: what is allowed, or more where the board scatters or a tick is long. */
static double same_within(const struct comparison *c, enum question question,
                          const struct spread *spread, double threshold)
{
    const double ticks = TICKS * fmax(c->old_row->resolution, c->new_row->resolution);
    double scatter = isnan(spread->between) ? ONE_CARD : DEVIATIONS * spread->between;

    if (question == DID_IT_MATTER)
        scatter = spread->within > 0 ? DEVIATIONS * spread->within : 0;
    return fmax(threshold, fmin(fmax(scatter, ticks / c->old_row->centre), TAU_MOST));
}

struct comparison compare_rows(const struct row *old, const struct row *new,
                               enum question question, const struct spread *spread,
                               double threshold)
{
    struct comparison c = {.old_row = old, .new_row = new, .ratio = NAN, .low = NAN, .high = NAN,
                           .tau = NAN};
    if (!old || !new) {
        decide(&c, old ? VERDICT_GONE : VERDICT_NEW, "");
    } else if (old->method != new->method) {
        decide(&c, VERDICT_NC, "");
        snprintf(c.note, sizeof c.note, "method %d, now %d", old->method, new->method);
    } else if (strcmp(old->unit, new->unit)) {
        decide(&c, VERDICT_NC, "another unit");
    } else if (unfit(old) || unfit(new)) {
        decide(&c, VERDICT_UNSURE, unfit(new) ? unfit(new) : unfit(old));
    } else if (old->n == 0 || new->n == 0) {
        decide(&c, old->n == new->n ? VERDICT_NC : old->n ? VERDICT_GONE : VERDICT_NEW,
               row_status_name(new->n ? old->status : new->status));
    } else if (new->better == ROW_EXACT || all_equal(old, new)) {
        decide(&c, all_equal(old, new) ? VERDICT_SAME : VERDICT_CHANGED, "exact");
        c.ratio = old->centre != 0 ? new->centre / old->centre : (double)NAN;
    } else if (!has_ratio(old, new)) {
        decide(&c, VERDICT_UNSURE, "no ratio: a value is not positive");
    } else {
        c.tau = same_within(&c, question, spread, threshold);
        weigh(&c, threshold);
    }
    return c;
}

/* --- all metrics ------------------------------------------------------------------------------ */

struct compared {
    struct comparison *c;
    size_t n, of[N_VERDICTS];
    size_t n_aside; /* that are WORSE, and no matter for the exit status by default */
};

/* Power, energy, and how far a result is from the exact one. */
static bool is_aside(const struct row *row)
{
    return !strcmp(row->unit, "watts") || !strcmp(row->unit, "joules") ||
           !strcmp(row->unit, "ulps") || strstr(row->metric, "error");
}

static void add(struct compared *all, struct comparison c)
{
    all->of[c.verdict]++;
    all->n_aside += c.verdict == VERDICT_WORSE && is_aside(c.new_row);
    all->c[all->n++] = c;
}

static bool wanted(const char *id, const char *glob)
{
    return !glob || fnmatch(glob, id, 0) == 0;
}

static bool compare_all(struct compared *all, const struct bundle *old, const struct bundle *new,
                        enum question question, const struct history *history, double threshold,
                        const char *glob)
{
    const struct spread unknown = SPREAD_UNKNOWN;
    *all = (struct compared){.c = calloc(old->rows.n + new->rows.n + 1, sizeof *all->c)};
    for (size_t i = 0; all->c && i < old->rows.n; i++) {
        const struct row *row = &old->rows.row[i];
        const struct spread spread = history_spread(history, row);
        if (wanted(row->id, glob))
            add(all, compare_rows(row, rows_find(&new->rows, row->id), question, &spread,
                                  threshold));
    }
    for (size_t i = 0; all->c && i < new->rows.n; i++) {
        const struct row *row = &new->rows.row[i];
        if (wanted(row->id, glob) && !rows_find(&old->rows, row->id))
            add(all, compare_rows(NULL, row, question, &unknown, threshold));
    }
    return all->c != NULL;
}

/* --- printing --------------------------------------------------------------------------------- */

struct compare_options {
    enum table_format format;
    const char *glob, *results;
    const char *allowed[CONDITIONS_MAX];
    size_t n_allowed;
    double threshold;
    bool only_changed, strict, worse, explain;
    char *paths[2];
};

/* What is UNSURE may have changed or not: it is of interest where it decides. */
static bool is_shown(const struct comparison *c, const struct compare_options *o)
{
    return !o->only_changed ||
           (c->verdict != VERDICT_SAME && (o->strict || c->verdict != VERDICT_UNSURE));
}

static const struct row *any_row(const struct comparison *c)
{
    return c->new_row ? c->new_row : c->old_row;
}

static void value_cell(struct table *table, const struct row *row, enum table_format format)
{
    char text[48];
    if (format == TABLE_TSV)
        table_number(table, row ? row->centre : (double)NAN);
    else
        table_cell(table, "%s",
                   row ? unit_format(text, sizeof text, row->centre, row->unit, 4) : "-");
}

static void comparison_cells(struct table *table, const struct comparison *c,
                             enum table_format format)
{
    table_cell(table, "%s", any_row(c)->id);
    if (format == TABLE_TSV)
        table_cell(table, "%s", any_row(c)->unit);
    value_cell(table, c->old_row, format);
    value_cell(table, c->new_row, format);
    if (format == TABLE_TSV) {
        table_number(table, c->ratio);
        table_number(table, c->low);
        table_number(table, c->high);
        table_number(table, c->tau);
    } else {
        char low[32], high[32];
        table_cell(table, "%s",
                   isnan(c->ratio) ? "-" : unit_fixed(low, sizeof low, c->ratio, 3, false));
        table_cell(table, isnan(c->low) ? "-" : "%s .. %s",
                   unit_fixed(low, sizeof low, c->low, 3, false),
                   unit_fixed(high, sizeof high, c->high, 3, false));
    }
    table_cell(table, "%s", verdict_name(c->verdict));
    table_cell(table, "%s", c->note);
}

static void print_table(FILE *out, const struct compared *all, const struct compare_options *o)
{
    static const char *const heads[] = {"metric", "old", "new", "ratio", "95 % of ratio",
                                        "verdict", ""};
    static const char *const tsv_heads[] = {"metric", "unit", "old",     "new", "ratio", "low",
                                            "high",   "tau",  "verdict", "note"};
    bool tsv = o->format == TABLE_TSV;
    struct table table = table_new(tsv ? "llrrrrrrll" : "lrrrrll");

    for (size_t i = 0; i < table.n_columns; i++)
        table_cell(&table, "%s", tsv ? tsv_heads[i] : heads[i]);
    for (size_t i = 0; i < all->n; i++)
        if (is_shown(&all->c[i], o))
            comparison_cells(&table, &all->c[i], o->format);
    table_print(out, &table, o->format, NULL);
}

static void print_runs(FILE *out, const char *side, const struct row *row)
{
    fprintf(out, "    %s", side);
    for (size_t i = 0; row && i < row->n; i++)
        fprintf(out, " %.6g", row->value[i]);
    fprintf(out, "%s\n", row && row->n ? "" : " -");
}

/* --explain: the runs behind each row shown, in the metric's unit. */
static void print_explanations(FILE *out, const struct compared *all,
                               const struct compare_options *o)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct comparison *c = &all->c[i];
        if (!is_shown(c, o))
            continue;
        table_put(out, any_row(c)->id, o->format);
        fprintf(out, " (%s): %s", any_row(c)->unit, verdict_name(c->verdict));
        if (!isnan(c->tau))
            fprintf(out, ", same within %.2f %%", 100 * c->tau);
        fputc('\n', out);
        print_runs(out, "old", c->old_row);
        print_runs(out, "new", c->new_row);
    }
    fputc('\n', out);
}

static void print_counts(FILE *out, const struct compared *all)
{
    static const struct {
        enum verdict verdict;
        const char *words;
    } counts[] = {{VERDICT_FASTER, "faster"}, {VERDICT_SLOWER, "slower"}, {VERDICT_SAME, "same"},
                  {VERDICT_UNSURE, "unsure"}, {VERDICT_BETTER, "better"}, {VERDICT_WORSE, "worse"},
                  {VERDICT_CHANGED, "changed"}, {VERDICT_NEW, "new"}, {VERDICT_GONE, "gone"},
                  {VERDICT_NC, "not comparable"}};

    fprintf(out, "%zu metric%s:", all->n, all->n == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (i < 4 || all->of[counts[i].verdict] > 0)
            fprintf(out, "%s %zu %s", i ? "," : "", all->of[counts[i].verdict], counts[i].words);
    fputc('\n', out);
}

static void print_listed(FILE *out, const struct compared *all, enum verdict verdict,
                         enum table_format format)
{
    char text[32];
    size_t listed = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct comparison *c = &all->c[i];
        if (c->verdict != verdict || ++listed > LISTED_MOST)
            continue;
        fprintf(out, "%-8s", verdict_name(verdict));
        table_put(out, any_row(c)->id, format);
        if (isinf(c->ratio))
            fputs("  from 0\n", out);
        else
            fprintf(out, "  %s %%\n",
                    unit_fixed(text, sizeof text, 100 * (c->ratio - 1), 1, true));
    }
    if (listed > LISTED_MOST)
        fprintf(out, "         and %zu more\n", listed - LISTED_MOST);
}

/* What the spread rests on. */
static void print_history(FILE *out, enum question question, const struct history *history)
{
    size_t sets, cards;
    history_count(history, &sets, &cards);
    if (question == DID_IT_MATTER && sets == 0)
        fprintf(out, "spread: no other committed set of this board has two bundles: 1 %% and two "
                     "timer ticks\n");
    else if (question == DID_IT_MATTER)
        fprintf(out, "spread: within %zu other committed set%s of this board\n", sets,
                sets == 1 ? "" : "s");
    else if (cards < 2)
        fprintf(out, "spread: of %s known: 3 %%\n", cards == 1 ? "one card" : "no other card");
    else
        fprintf(out, "spread: between %zu cards\n", cards);
}

static void print_json(FILE *out, const struct compared *all, const struct bundle *old,
                       const struct bundle *new, const struct compare_options *o)
{
    json_t *rows = json_array(), *counts = json_object();
    for (size_t i = 0; i < all->n; i++) {
        const struct comparison *c = &all->c[i];
        if (!is_shown(c, o))
            continue;
        json_array_append_new(rows, json_pack(
            "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "metric", any_row(c)->id, "unit",
            any_row(c)->unit, "old", document_number(c->old_row ? c->old_row->centre : NAN), "new",
            document_number(c->new_row ? c->new_row->centre : NAN), "ratio",
            document_number(c->ratio), "low", document_number(c->low), "high",
            document_number(c->high), "tau", document_number(c->tau), "verdict",
            verdict_name(c->verdict), "note", c->note));
    }
    for (int i = 0; i < N_VERDICTS; i++)
        json_object_set_new(counts, verdict_name((enum verdict)i),
                            json_integer((json_int_t)all->of[i]));
    json_t *document = json_pack("{s:s, s:i, s:o, s:o, s:o}", "schema", "comparison",
                                 "schema_version", DOCUMENT_SCHEMA_VERSION, "conditions",
                                 conditions_json(old, new), "counts", counts, "rows", rows);
    document_print(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(document);
}

static void print_side(FILE *out, const char *side, const struct bundle *bundle,
                       enum table_format format)
{
    char line[640];
    fprintf(out, "%s  ", side);
    bundle_line(bundle, line, sizeof line);
    if (format == TABLE_MD)
        table_put(out, line, format);
    else
        table_wrap(out, line, 5, 5);
    fputs(format == TABLE_MD ? "\n\n" : "\n", out);
}

static void print_all(FILE *out, const struct compared *all, const struct bundle *old,
                      const struct bundle *new, const struct history *history,
                      const struct compare_options *o)
{
    if (o->format == TABLE_JSON) {
        print_json(out, all, old, new, o);
        return;
    }
    if (o->format != TABLE_TSV) {
        print_side(out, "old", old, o->format);
        print_side(out, "new", new, o->format);
        conditions_print(out, old, new, o->format);
        print_history(out, DID_IT_MATTER, history);
        fputc('\n', out);
    }
    print_table(out, all, o);
    if (o->format == TABLE_TSV)
        return;
    if (o->explain)
        print_explanations(out, all, o);
    print_counts(out, all);
    print_listed(out, all, VERDICT_SLOWER, o->format);
    print_listed(out, all, VERDICT_WORSE, o->format);
}

void compare_normal(FILE *out, const struct bundle *committed, const struct bundle *measured,
                    const char *results)
{
    struct history history;
    struct compared all;
    char text[400], why[DOCUMENT_WHY];

    out_printf(out, OUT_TEXT, "Is this card normal? Against the committed results of %s:\n",
               committed->name);
    if (condition_forbids(committed, measured, NULL, 0, text, sizeof text)) {
        out_printf(out, OUT_TEXT, "not comparable: %s\n", text);
        return;
    }
    /* What was just measured is no history; what it is compared with is. */
    if (!history_open(&history, results, NULL, measured, why)) {
        out_printf(out, OUT_TEXT, "not comparable: %s\n", why);
        return;
    }
    if (compare_all(&all, committed, measured, IS_IT_NORMAL, &history, THRESHOLD, NULL)) {
        conditions_print(out, committed, measured, TABLE_TEXT);
        print_history(out, IS_IT_NORMAL, &history);
        print_counts(out, &all);
        print_listed(out, &all, VERDICT_SLOWER, TABLE_TEXT);
        print_listed(out, &all, VERDICT_FASTER, TABLE_TEXT);
        print_listed(out, &all, VERDICT_WORSE, TABLE_TEXT);
        print_listed(out, &all, VERDICT_BETTER, TABLE_TEXT);
        print_listed(out, &all, VERDICT_CHANGED, TABLE_TEXT);
        free(all.c);
    }
    history_close(&history);
}

/* --- the command ------------------------------------------------------------------------------ */

enum { KEY_FORMAT = 256, KEY_METRIC, KEY_THRESHOLD, KEY_ONLY_CHANGED, KEY_ALLOW, KEY_STRICT,
       KEY_WORSE, KEY_EXPLAIN, KEY_RESULTS };

static const struct argp_option options_table[] = {
    {.name = "threshold", .key = KEY_THRESHOLD, .arg = "PERCENT",
     .doc = "Least difference that counts (default 1)"},
    {.name = "only-changed", .key = KEY_ONLY_CHANGED,
     .doc = "Leave out SAME and, without --strict, UNSURE"},
    {.name = "metric", .key = KEY_METRIC, .arg = "GLOB", .doc = "Only metrics whose id matches"},
    {.name = "format", .key = KEY_FORMAT, .arg = "text|md|tsv|json", .doc = "Default: text"},
    {.name = "allow", .key = KEY_ALLOW, .arg = "KEY",
     .doc = "Compare although this condition differs: board, n_sm, ecc, mig or mps"},
    {.name = "worse", .key = KEY_WORSE,
     .doc = "Exit 1 for power, energy and errors that are WORSE, too"},
    {.name = "strict", .key = KEY_STRICT,
     .doc = "Exit 1 for UNSURE, CHANGED and GONE, too, and for all that --worse names"},
    {.name = "explain", .key = KEY_EXPLAIN, .doc = "Show the runs behind each row"},
    {.name = "results", .key = KEY_RESULTS, .arg = "DIR",
     .doc = "Committed results, for the spread between bundles (default: " HOME_RESULTS_WORDS
            ")"},
    {0},
};

static const struct exclusion excluded[] = {
    {"explain", "format=tsv format=json", "the runs are shown as text and md"},
    {0},
};

static void allow(struct compare_options *o, const char *key, struct argp_state *state)
{
    char keys[400];
    if (!condition_known(key))
        command_fail(state, 0, "--allow %s: expected one of %s", key,
                     condition_keys(keys, sizeof keys));
    if (o->n_allowed < CONDITIONS_MAX)
        o->allowed[o->n_allowed++] = key;
}

static double per_cent(const struct argp_state *state, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%")) || !(value >= 0 && value <= 1000))
        command_fail(state, 0, "--threshold %s: expected a percentage from 0 to 1000",
                     text);
    return value / 100;
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct compare_options *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        o->format = command_format(state, argument, "text, md, tsv or json");
        break;
    case KEY_METRIC: o->glob = argument; break;
    case KEY_THRESHOLD: o->threshold = per_cent(state, argument); break;
    case KEY_ONLY_CHANGED: o->only_changed = true; break;
    case KEY_ALLOW: allow(o, argument, state); break;
    case KEY_STRICT: o->strict = true; break;
    case KEY_WORSE: o->worse = true; break;
    case KEY_EXPLAIN: o->explain = true; break;
    case KEY_RESULTS:
        o->results = command_folder(state, "--results", argument);
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num >= 2)
            command_fail(state, 0, "unexpected argument '%s': expected OLD NEW",
                         argument);
        o->paths[state->arg_num] = argument;
        break;
    case ARGP_KEY_END:
        if (state->arg_num < 2)
            command_fail(state, 0, "expected two bundles: OLD NEW");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int compare_bundles(const struct bundle *old, const struct bundle *new,
                           const struct compare_options *o)
{
    struct history history;
    struct compared all;
    char text[400], why[DOCUMENT_WHY];
    const char *key = condition_forbids(old, new, o->allowed, o->n_allowed, text, sizeof text);
    int status = EXIT_TROUBLE;

    if (key) {
        out_say("gpufloor compare: %s: another %s; expected the same, or --allow %s%s\n",
                o->paths[1], text, key,
                strcmp(key, "board") ? "" : "; 'gpufloor report OLD NEW' sets boards side by side");
        return EXIT_TROUBLE;
    }
    if (!history_open(&history, o->results, old, new, why)) {
        out_say("gpufloor compare: history: %s\n", why);
        return EXIT_TROUBLE;
    }
    if (!compare_all(&all, old, new, DID_IT_MATTER, &history, o->threshold, o->glob)) {
        out_say("gpufloor compare: out of memory\n");
    } else if (all.n == 0) {
        char typed[SUGGEST_WORD], meant[SUGGEST_TEXT];
        struct suggest near = suggest_for_metric(typed, o->glob ? o->glob : "");
        suggest_try_metrics(&near, &old->rows);
        suggest_try_metrics(&near, &new->rows);
        out_say("gpufloor compare: %s%s: no metric to compare%s\n",
                o->glob ? "--metric " : "", o->glob ? o->glob : o->paths[1],
                suggest_text(meant, &near));
    } else {
        size_t worse = all.of[VERDICT_SLOWER] + all.of[VERDICT_WORSE];
        if (!o->worse && !o->strict)
            worse -= all.n_aside;
        if (o->strict)
            worse += all.of[VERDICT_UNSURE] + all.of[VERDICT_CHANGED] + all.of[VERDICT_GONE];
        print_all(stdout, &all, old, new, &history, o);
        status = worse ? EXIT_WORSE : EXIT_FINE;
    }
    free(all.c);
    history_close(&history);
    return status;
}

int compare_main(int argc, char **argv)
{
    char results[PATH_MAX], why[DOCUMENT_WHY];
    struct compare_options o = {.threshold = THRESHOLD,
                                .results = home_path(results, HOME_RESULTS, "")};
    struct bundle old, new;
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "OLD NEW",
        .doc = "FASTER, SLOWER, SAME or UNSURE for each metric of two "
               "bundles (files or folders; one may be -, stdin), and every "
               "condition that differs. What is no time, no cycles and no rate is "
               "BETTER or WORSE.\vExit, like diff: 0 nothing is slower or worse, 1 something "
               "is, 2 trouble. Power, energy and errors that are WORSE count with "
               "--worse."};
    command_parse(&parser, excluded, argc, argv, &o);
    command_one_stdin("compare", (const char *const *)o.paths, 2);
    if (!catalogue_read(&old, o.paths[0], why)) {
        out_say("gpufloor compare: %s\n", why);
        return EXIT_TROUBLE;
    }
    int status = EXIT_TROUBLE;
    if (!catalogue_read(&new, o.paths[1], why)) {
        out_say("gpufloor compare: %s\n", why);
    } else {
        status = compare_bundles(&old, &new, &o);
        bundle_free(&new);
    }
    bundle_free(&old);
    return status;
}
