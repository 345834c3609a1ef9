/* gpufloor report: the answers of one bundle, the rows of one, or of several side by side. */
#include "report/cli/report.h"

#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/unit.h"
#include "report/bundle/counted.h"
#include "report/cli/answers.h"
#include "report/cli/boards_print.h"
#include "report/cli/catalogue.h"
#include "report/cli/command.h"
#include "report/cli/counter_table.h"
#include "report/cli/fleet.h"
#include "report/cli/headline.h"
#include "report/cli/home.h"
#include "report/cli/origin.h"
#include "report/cli/papers.h"
#include "report/cli/suggest.h"
#include "report/cli/trend.h"
#include "report/page/made.h"
#include "report/page/out.h"
#include "report/page/summary.h"

enum { BUNDLES_MAX = 12, DIGITS = 4, SECTIONS_TEXT = 400 };

/* --- one figure ------------------------------------------------------------------------------- */

/* Half the interval over the centre. A spread below a tick of the timer is shown as one tick, never
 * zero. */
static void spread_text(char *text, size_t size, const struct row *row)
{
    double half = fmax(row->high - row->centre, row->centre - row->low);
    char percent[24];

    if (row->better == ROW_EXACT)
        snprintf(text, size, "exact");
    else if (isnan(half))
        snprintf(text, size, "%zu run%s", row->n, row->n == 1 ? "" : "s");
    else if (row->resolution > 0 && half < row->resolution)
        snprintf(text, size, "\u00b11 tick");
    else if (row->centre != 0 && half < 1e-5 * fabs(row->centre))
        snprintf(text, size, "<0.001 %%");
    else if (row->centre != 0 && half < fabs(row->centre))
        snprintf(text, size, "\u00b1%.2g %%", 100 * half / fabs(row->centre));
    else if (row->centre != 0)
        snprintf(text, size, "\u00b1%s %%",
                 unit_fixed(percent, sizeof percent, 100 * half / fabs(row->centre), 0, false));
    else
        snprintf(text, size, "\u00b1%.2g", half);
}

char *report_value(char *text, size_t size, const struct row *row)
{
    char value[48], spread[32];

    if (row->n == 0) {
        snprintf(text, size, "- (%s)", row_status_name(row->status));
        return text;
    }
    unit_format(value, sizeof value, row->centre, row->unit, DIGITS);
    spread_text(spread, sizeof spread, row);
    snprintf(text, size, "%s %s%s%s", value, spread, row->status > ROW_FEW ? " " : "",
             row->status > ROW_FEW ? row_status_name(row->status) : "");
    return text;
}

static void figure_cells(struct table *table, const struct row *row)
{
    char value[48], spread[32], best[48];

    unit_format(value, sizeof value, row->centre, row->unit, DIGITS);
    unit_format(best, sizeof best, row->best, row->unit, DIGITS);
    spread_text(spread, sizeof spread, row);
    table_cell(table, "%s", value);
    table_cell(table, "%s", row->n ? spread : "-");
    table_cell(table, "%s", best);
    table_cell(table, "%zu", row->n);
    table_cell(table, "%s", row_status_name(row->status));
}

/* --- headings --------------------------------------------------------------------------------- */

/* The board, or the file's name if two columns have the same board. */
static const char *column_name(const struct bundle *const bundles[], size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && !strcmp(bundles[k]->name, bundles[i]->name)) {
            const char *slash = strrchr(bundles[i]->path, '/');
            return slash && slash[1] ? slash + 1 : bundles[i]->path;
        }
    return bundles[i]->name;
}

static struct table value_table(const char *first, const struct bundle *const bundles[], size_t n)
{
    static const char *const heads[] = {"median", "spread", "best", "runs", "status"};
    char align[BUNDLES_MAX + 8] = "lrrrrl";
    if (n > 1) {
        memset(align + 1, 'r', n);
        align[n + 1] = '\0';
    }
    struct table table = table_new(align);
    table_cell(&table, "%s", first);
    for (size_t i = 0; n == 1 && i < sizeof heads / sizeof heads[0]; i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; n > 1 && i < n; i++)
        table_cell(&table, "%s", column_name(bundles, n, i));
    return table;
}

static void print_machines(FILE *out, const struct bundle *const bundles[], size_t n,
                           enum table_format format)
{
    for (size_t i = 0; i < n; i++) {
        origin_print(out, bundles[i], column_name(bundles, n, i), format);
        fputs(format == TABLE_MD ? "\n\n" : "\n", out);
    }
    if (format == TABLE_TEXT)
        fputc('\n', out);
}

/* --- headline --------------------------------------------------------------------------------- */

/* The label, with the name of the board's memory in it. */
static void label_cell(struct table *table, const char *label, const struct bundle *bundle)
{
    const struct summary summary = {.bundle = bundle};
    const char *at = strstr(label, "HBM");

    if (at)
        table_cell(table, "%.*s%s%s", (int)(at - label), label, summary_memory_name(&summary),
                   at + strlen("HBM"));
    else
        table_cell(table, "%s", label);
}

static void headline_cells(struct table *table, const struct row rows[], const bool found[],
                           size_t n)
{
    char text[96];

    if (n == 1) {
        figure_cells(table, &rows[0]);
        return;
    }
    for (size_t i = 0; i < n; i++)
        table_cell(table, "%s", found[i] ? report_value(text, sizeof text, &rows[i]) : "-");
}

/* One of the headline's two tables, if it has any rows here. */
static void headline_part(FILE *out, const struct bundle *const bundles[], size_t n,
                          enum table_format format, bool host)
{
    struct table table = value_table("number", bundles, n);
    struct row rows[BUNDLES_MAX];
    bool found[BUNDLES_MAX], some = false;

    for (size_t k = 0; headline_at(k); k++) {
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            found[i] = headline_row(headline_at(k), &bundles[i]->rows, &rows[i]);
            any = any || found[i];
        }
        if (any && (headline_at(k)->kind == HEADLINE_HOST) == host) {
            label_cell(&table, headline_at(k)->label, bundles[0]);
            headline_cells(&table, rows, found, n);
            some = true;
        }
    }
    if (some && format == TABLE_MD && host)
        fputs("\nPaced by the host:\n\n", out);
    table_print(out, &table, format,
                format == TABLE_MD ? NULL : host ? "Paced by the host" : "Headline");
}

void report_headline(FILE *out, const struct bundle *const bundles[], size_t n,
                     enum table_format format)
{
    if (format != TABLE_TSV)
        print_machines(out, bundles, n, format);
    headline_part(out, bundles, n, format, false);
    headline_part(out, bundles, n, format, true);
}

/* --- every row -------------------------------------------------------------------------------- */

static bool wanted(const struct row *row, const char *glob)
{
    return !glob || fnmatch(glob, row->id, 0) == 0;
}

static bool print_tsv(FILE *out, const struct bundle *const bundles[], size_t n, const char *glob)
{
    struct table table = table_new(n > 1 ? "llrrrrrlrl" : "llrrrrrlr");
    static const char *const heads[] = {"metric", "unit", "centre", "low", "high", "best", "runs",
                                        "status", "clock_mhz", "bundle"};
    bool any = false;

    for (size_t i = 0; i < table.n_columns; i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < bundles[i]->rows.n; k++) {
            const struct row *row = &bundles[i]->rows.row[k];
            if (!wanted(row, glob))
                continue;
            any = true;
            table_cell(&table, "%s", row->id);
            table_cell(&table, "%s", row->unit);
            table_number(&table, row->centre);
            table_number(&table, row->low);
            table_number(&table, row->high);
            table_number(&table, row->best);
            table_cell(&table, "%zu", row->n);
            table_cell(&table, "%s", row_status_name(row->status));
            table_number(&table, row->clock_mhz > 0 ? row->clock_mhz : (double)NAN);
            if (n > 1)
                table_cell(&table, "%s", column_name(bundles, n, i));
        }
    table_print(out, &table, TABLE_TSV, NULL);
    return any || !glob;
}

static const struct row *find_elsewhere(const struct bundle *const bundles[], size_t upto,
                                        const char *id)
{
    for (size_t i = 0; i < upto; i++)
        if (rows_find(&bundles[i]->rows, id))
            return rows_find(&bundles[i]->rows, id);
    return NULL;
}

/* The rows of one probe: those of the first bundle in its order, then those that only later ones
 * have. */
static size_t probe_cells(struct table *table, const struct bundle *const bundles[], size_t n,
                          const char *probe, const char *glob)
{
    char text[96];
    size_t n_rows = 0, end;

    for (size_t i = 0; i < n; i++)
        for (size_t k = rows_of(&bundles[i]->rows, probe, &end); k < end; k++) {
            const struct row *row = &bundles[i]->rows.row[k];
            if (!wanted(row, glob) || find_elsewhere(bundles, i, row->id))
                continue;
            n_rows++;
            const char *dot = strchr(row->id, '.');
            table_cell(table, "%s", dot ? dot + 1 : row->id);
            if (n == 1)
                figure_cells(table, row);
            for (size_t b = 0; n > 1 && b < n; b++) {
                const struct row *here = rows_find(&bundles[b]->rows, row->id);
                table_cell(table, "%s", here ? report_value(text, sizeof text, here) : "-");
            }
        }
    return n_rows;
}

static const struct part *find_part(const struct bundle *const bundles[], size_t n,
                                    const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (bundle_part(bundles[i], name))
            return bundle_part(bundles[i], name);
    return NULL;
}

static bool has_rows(const struct bundle *const bundles[], size_t n, const char *probe)
{
    size_t end;
    for (size_t i = 0; i < n; i++)
        if (rows_of(&bundles[i]->rows, probe, &end) < end)
            return true;
    return false;
}

static bool print_probe(FILE *out, const struct bundle *const bundles[], size_t n,
                        const char *probe, enum table_format format, const char *glob)
{
    char title[400];
    const struct part *part = find_part(bundles, n, probe);
    struct table table = value_table("metric", bundles, n);
    size_t printed = probe_cells(&table, bundles, n, probe, glob);

    snprintf(title, sizeof title, "%s%s%.300s", probe, part && part->what ? ": " : "",
             part && part->what ? part->what : "");
    table_print(out, &table, format, title);
    for (size_t i = 0; printed > 0 && i < n; i++) {
        const struct part *noted = bundle_part(bundles[i], probe);
        if (!noted || !noted->note)
            continue;
        fputs(format == TABLE_MD ? "\n" : "  ", out);
        table_put(out, n > 1 ? column_name(bundles, n, i) : "", format);
        fputs(n > 1 ? ": note: " : "note: ", out);
        table_put(out, noted->note, format);
        fputs(format == TABLE_MD ? "\n" : "\n\n", out);
    }
    return printed > 0;
}

/* Every probe of any bundle once; the derived figures come last. */
static bool print_probes(FILE *out, const struct bundle *const bundles[], size_t n,
                         enum table_format format, const char *glob)
{
    bool any = false;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < bundles[i]->rows.n; k++) {
            const struct row *row = &bundles[i]->rows.row[k];
            bool begun = k > 0 && !strcmp(row[-1].probe, row->probe);
            if (begun || !strcmp(row->probe, "derived") || has_rows(bundles, i, row->probe))
                continue;
            any = print_probe(out, bundles, n, row->probe, format, glob) || any;
        }
    any = print_probe(out, bundles, n, "derived", format, glob) || any;
    return any || !glob;
}

/* --- what is missing -------------------------------------------------------------------------- */

static void missing_rows(struct table *table, const struct bundle *bundle, const char *name)
{
    for (size_t k = 0; k < bundle->n_parts; k++) {
        const struct part *part = &bundle->parts[k];
        if (part->n_ok == part->n_runs)
            continue;
        table_cell(table, "%s", name);
        table_cell(table, "%s", part->name);
        table_cell(table, "%d of %d runs", part->n_ok, part->n_runs);
        table_cell(table, "%s", part->why ? part->why : "no reason given");
    }
    for (size_t k = 0; k < bundle->rows.n; k++) {
        const struct row *row = &bundle->rows.row[k];
        if (row->status < ROW_DISAGREE)
            continue;
        table_cell(table, "%s", name);
        table_cell(table, "%s", row->id);
        table_cell(table, "%s", row_status_name(row->status));
        table_cell(table, "%s", row->why ? row->why
                   : row->status == ROW_NEGATIVE ? "a run read less than nothing"
                   : row->status != ROW_DISAGREE ? "see the program's check"
                   : row->better == ROW_EXACT ? "a count that differs between runs"
                   : "two rounds differ by more than 3 %: measure again");
    }
}

static void print_missing(FILE *out, const struct bundle *const bundles[], size_t n,
                          enum table_format format)
{
    struct table table = table_new("llll");
    table_cell(&table, "bundle");
    table_cell(&table, "what");
    table_cell(&table, "state");
    table_cell(&table, "why");
    for (size_t i = 0; i < n; i++)
        missing_rows(&table, bundles[i], column_name(bundles, n, i));
    table_print(out, &table, format, "Not measured, or not to be relied on");
}

bool report_whole(FILE *out, const struct bundle *const bundles[], size_t n,
                  enum table_format format, const char *glob)
{
    if (format == TABLE_TSV)
        return print_tsv(out, bundles, n, glob);
    if (!glob)
        report_headline(out, bundles, n, format);
    if (!print_probes(out, bundles, n, format, glob))
        return false;
    if (!glob)
        print_missing(out, bundles, n, format);
    return true;
}

/* --- the command ------------------------------------------------------------------------------ */

enum { KEY_FORMAT = 256, KEY_SECTION, KEY_ALL, KEY_GAPS, KEY_METRIC, KEY_HEADLINE, KEY_MAP,
       KEY_SHORT, KEY_QUALITY, KEY_RESULTS, KEY_PUBLISHED, KEY_HTML, KEY_FIGURES, KEY_TEX,
       KEY_PLOTS, KEY_HISTORY, KEY_FLEET };

static const struct argp_option options_table[] = {
    {.name = "section",
     .key = KEY_SECTION,
     .arg = "NAME",
     .doc =
         "Only this section, with interval, runs, status and id of every number: verdict, memory, "
         "curve, flight, ladder, small, sizes, fusion, attention, weights, sampling, right, "
         "claims, "
         "layer, links; several: small,sizes. vital: fifty rows that matter most"},
    {.name = "all", .key = KEY_ALL, .doc = "Every row"},
    {.name = "gaps",
     .key = KEY_GAPS,
     .doc = "Only what was not measured, or is not to be relied on"},
    {.name = "headline", .key = KEY_HEADLINE, .doc = "Only the head and the first section"},
    {.name = "format",
     .key = KEY_FORMAT,
     .arg = "text|md|json|tsv",
     .doc = "Default: text; tsv: every row"},
    {.name = "metric",
     .key = KEY_METRIC,
     .arg = "GLOB",
     .doc = "Only rows whose metric id matches, for "
            "example 'launch.*'"},
    {.name = "history",
     .key = KEY_HISTORY,
     .arg = "DIR",
     .doc = "The bundles of a folder, which are of one board, by date: what moved; with --metric, "
            "only of those metrics"},
    {.name = "fleet",
     .key = KEY_FLEET,
     .arg = "DIR",
     .doc = "The bundles of a folder as many cards of one board: which card is odd, and in which "
            "of the "
            "answers' rows; with --all of all rows, with --metric of those"},
    {.name = "map",
     .key = KEY_MAP,
     .arg = "ID",
     .doc = "The cells of the metric ID, which is a map, as tab-separated values"},
    {.name = "quality",
     .key = KEY_QUALITY,
     .doc = "Only what the results of the fused kernels are worth: errors, bits, faults seen"},
    {.name = "short",
     .key = KEY_SHORT,
     .doc = "Ten numbers, what the small product says, what became of the claims, as Markdown"},
    {.name = "published",
     .key = KEY_PUBLISHED,
     .doc = "What others have published of other GPUs, beside the numbers of the bundles"},
    {.name = "html",
     .key = KEY_HTML,
     .arg = "FILE",
     .doc = "Write the answers with their figures as one page, which needs no other file"},
    {.name = "figures",
     .key = KEY_FIGURES,
     .arg = "DIR",
     .doc = "Write the figures of the page as DIR/NAME.svg"},
    {.name = "tex",
     .key = KEY_TEX,
     .arg = "DIR",
     .doc =
         "Write LaTeX for papers into DIR: macros.tex, board.tex, a table a section, gpufloor.bib"},
    {.name = "plots",
     .key = KEY_PLOTS,
     .arg = "DIR",
     .doc = "Write figures for papers into DIR: NAME.tsv with the points, NAME.gp for gnuplot"},
    {.name = "results",
     .key = KEY_RESULTS,
     .arg = "DIR",
     .doc = "Committed results to compare with (default: " HOME_RESULTS_WORDS ")"},
    {0},
};

/* Each of these is one answer to the question of what is to be shown. */
#define FILES "html figures tex plots"
#define ALL_BUT_FILES \
    "section all gaps headline history fleet map quality short published metric format"

static const struct exclusion excluded[] = {
    {"html", ALL_BUT_FILES, "all answers are written"},
    {"figures", ALL_BUT_FILES, "all figures are written"},
    {"tex", ALL_BUT_FILES, "all answers are written"},
    {"plots", ALL_BUT_FILES, "all figures are written"},
    {"history", "section all gaps headline map quality short published results format=json",
     "only --metric and --format text, md and tsv"},
    {"fleet", "section gaps headline history map quality short published results",
     "only --all or --metric, and --format"},
    {"map", "section all gaps headline quality short published metric results", NULL},
    {"map", "format=text format=md format=json", "its cells are tab-separated values"},
    {"short", "section all gaps headline quality published metric", NULL},
    {"short", "format=text format=json format=tsv", "it is Markdown"},
    {"published", "section all gaps headline quality metric results format=tsv", NULL},
    {"quality", "section all gaps headline metric results format=json", NULL},
    {"gaps", "section all headline metric results format=json", NULL},
    {"headline", "section all metric", NULL},
    {"headline", "format=tsv", "tab-separated values are of rows"},
    {"section", "all metric", NULL},
    {"all", "results", NULL},
    {"metric", "results", NULL},
    {"results", "format=tsv section=vital", NULL},
    {0},
};

static const char vital[] = "vital"; /* a list of rows, and no section of report/page/ */

struct report_options {
    enum table_format format;
    const char *glob, *map, *results, *html, *figures, *tex, *plots, *history, *fleet;
    char section[SECTIONS_TEXT]; /* "small,sizes"; "": none is named */
    bool headline, quality, all, gaps, published, is_short;
    bool any; /* of the above */
    char **paths;
    size_t n_paths;
    bool is_named; /* paths are not the standard ones */
};

static bool writes_files(const struct report_options *o)
{
    return o->html || o->figures || o->tex || o->plots;
}

static void check_section(const char *name, const struct argp_state *state)
{
    struct suggest near = suggest_for(name);
    char names[400], meant[SUGGEST_TEXT];

    if (!strcmp(name, vital) || answers_known(name))
        return;
    suggest_try(&near, vital);
    answers_near(&near);
    command_fail(state, 0, "--section %s: expected one of %s %s%s", name, vital,
                 answers_names(names, sizeof names), suggest_text(meant, &near));
}

/* "small", or several: "small,sizes". Rows of "vital" are another kind of report. */
static void take_sections(struct report_options *o, const char *names, struct argp_state *state)
{
    char name[80];

    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        check_section(name, state);
        if (*o->section && strcmp(o->section, name) &&
            (!strcmp(name, vital) || !strcmp(o->section, vital)))
            command_fail(state, 0, "--section %s: not together with another section", vital);
        if (!answers_is_among(o->section, name))
            text_append(o->section, sizeof o->section, "%s%s", *o->section ? "," : "", name);
    }
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct report_options *o = state->input;

    o->any = o->any || (key >= KEY_FORMAT && key <= KEY_HISTORY);
    switch (key) {
    case KEY_FORMAT:
        o->format = command_format(state, argument, "text, md, json or tsv");
        break;
    case KEY_SECTION: take_sections(o, argument, state); break;
    case KEY_RESULTS:
        o->results = command_folder(state, "--results", argument);
        break;
    case KEY_HTML: o->html = argument; break;
    case KEY_FIGURES: o->figures = argument; break;
    case KEY_TEX: o->tex = argument; break;
    case KEY_PLOTS: o->plots = argument; break;
    case KEY_ALL: o->all = true; break;
    case KEY_PUBLISHED: o->published = true; break;
    case KEY_GAPS: o->gaps = true; break;
    case KEY_SHORT: o->is_short = true; break;
    case KEY_METRIC: o->glob = argument; break;
    case KEY_HEADLINE: o->headline = true; break;
    case KEY_MAP: o->map = argument; break;
    case KEY_HISTORY: o->history = argument; break;
    case KEY_FLEET: o->fleet = argument; break;
    case KEY_QUALITY: o->quality = true; break;
    case ARGP_KEY_ARGS:
        o->paths = state->argv + state->next;
        o->is_named = true;
        o->n_paths = (size_t)(state->argc - state->next);
        if (o->n_paths > BUNDLES_MAX)
            command_fail(state, 0, "at most %d bundles side by side", BUNDLES_MAX);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int print_map(const struct report_options *o)
{
    char why[DOCUMENT_WHY];
    for (size_t i = 0; i < o->n_paths; i++)
        if (!report_map(stdout, o->paths[i], o->map, why)) {
            out_say("gpufloor report: %s\n", why);
            return EXIT_TROUBLE;
        }
    return EXIT_FINE;
}

static int print_history(const struct report_options *o)
{
    char why[DOCUMENT_WHY];
    if (trend_print(stdout, o->history, o->glob, o->format, why))
        return EXIT_FINE;
    out_say("gpufloor report: %s\n", why);
    return EXIT_TROUBLE;
}

static int print_fleet(const struct report_options *o)
{
    char why[DOCUMENT_WHY];
    size_t unreadable;
    if (!fleet_print(stdout, o->fleet, o->all, o->glob, o->format, &unreadable, why)) {
        out_say("gpufloor report: %s\n", why);
        return EXIT_TROUBLE;
    }
    if (unreadable > 0)
        out_say("gpufloor report: %s: %zu file%s could not be read\n", o->fleet, unreadable,
                unreadable == 1 ? "" : "s");
    return unreadable > 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* A document of counters has one form. */
static int print_counters(const struct report_options *o)
{
    char why[DOCUMENT_WHY];
    if (o->any) {
        out_say("gpufloor report: %s: a document of counters is shown as text, and no "
                "option goes with it\n", o->paths[0]);
        return EXIT_TROUBLE;
    }
    if (counter_table_report(stdout, o->paths[0], why))
        return EXIT_FINE;
    out_say("gpufloor report: %s\n", why);
    return EXIT_TROUBLE;
}

static bool print_quality(const struct bundle *const bundles[], size_t n,
                          enum table_format format)
{
    for (size_t i = 0; i < n; i++)
        if (!report_quality(stdout, bundles[i], format)) {
            out_say("gpufloor report: --quality: no fused kernel in bundle %zu\n", i + 1);
            return false;
        }
    return true;
}

/* Is it a list of rows that is wanted, and no answers? */
static bool wants_rows(const struct report_options *o)
{
    return o->format == TABLE_TSV || o->all || o->glob;
}

/* Boards side by side, or what others have published beside them. */
static bool print_boards(struct bundle *bundles, size_t n, const struct report_options *o)
{
    char why[DOCUMENT_WHY];
    const bool fine = o->published ? boards_published(stdout, bundles, n, o->format, why)
                                   : boards_print(stdout, bundles, n, o->format, why);
    if (!fine)
        out_say("gpufloor report: %s\n", why);
    return fine;
}

static bool print_answers(const struct bundle *const bundles[], size_t n,
                          const struct report_options *o)
{
    const enum answers answers = o->is_short   ? ANSWERS_SHORT
                                 : *o->section ? ANSWERS_ONE
                                 : o->headline ? ANSWERS_HEAD
                                               : ANSWERS_ALL;
    for (size_t i = 0; i < n; i++)
        if (!answers_print(stdout, bundles[i], o->results, answers, o->section, o->format)) {
            out_say("gpufloor report: out of memory\n");
            return false;
        }
    return true;
}

/* A page, its figures, LaTeX, figures for gnuplot: all that is asked for. */
static bool write_wanted(const struct bundle *bundle, const struct report_options *o)
{
    char why[DOCUMENT_WHY];
    const bool fine = (!o->html || answers_page(o->html, bundle, o->results, why)) &&
                      (!o->figures || answers_figures(o->figures, bundle, o->results, why)) &&
                      ((!o->tex && !o->plots) ||
                       papers_write(bundle, o->results, o->tex, o->plots, why));
    if (!fine)
        out_say("gpufloor report: %s\n", why);
    return fine;
}

/* The same of two boards. */
static bool write_boards(struct bundle *bundles, const struct report_options *o)
{
    const struct boards_files files = {o->html, o->figures, o->tex, o->plots};
    char why[DOCUMENT_WHY];
    const bool fine = boards_write(bundles, o->results, &files, why);

    if (!fine)
        out_say("gpufloor report: %s\n", why);
    return fine;
}

static void say_no_metric(const struct bundle *const bundles[], size_t n, const char *glob)
{
    char typed[SUGGEST_WORD], meant[SUGGEST_TEXT];
    struct suggest near = suggest_for_metric(typed, glob);

    for (size_t i = 0; i < n; i++)
        suggest_try_metrics(&near, &bundles[i]->rows);
    out_say("gpufloor report: --metric %s: no metric matches%s\n", glob,
            suggest_text(meant, &near));
}

static bool print_wanted(const struct bundle *const bundles[], size_t n,
                         const struct report_options *o)
{
    const bool is_vital = !strcmp(o->section, vital);

    if (writes_files(o))
        return write_wanted(bundles[0], o);
    if (o->quality)
        return print_quality(bundles, n, o->format);
    if (is_vital)
        report_headline(stdout, bundles, n, o->format);
    else if (o->gaps)
        print_missing(stdout, bundles, n, o->format);
    else if (*o->section || o->headline || o->is_short || !wants_rows(o))
        return print_answers(bundles, n, o);
    else if (!report_whole(stdout, bundles, n, o->format, o->glob)) {
        say_no_metric(bundles, n, o->glob);
        return false;
    }
    return true;
}

/* What was to be read, given as what is to be written: `--html BUNDLE`, and no other bundle. */
static bool takes_bundle(const struct report_options *o, char why[DOCUMENT_WHY])
{
    const struct {
        const char *option, *what, *path;
    } of[] = {{"html", "FILE", o->html},
              {"figures", "DIR", o->figures},
              {"tex", "DIR", o->tex},
              {"plots", "DIR", o->plots}};

    for (size_t i = 0; !o->is_named && i < sizeof of / sizeof of[0]; i++)
        if (of[i].path && made_of_bundles(of[i].path)) {
            snprintf(why, DOCUMENT_WHY, "--%s %.300s: holds a bundle; expected --%s=%s BUNDLE",
                     of[i].option, of[i].path, of[i].option, of[i].what);
            return true;
        }
    return false;
}

/* JSON is of one bundle, and of its answers; TSV is of rows. */
static const char *misused(const struct report_options *o)
{
    const bool is_vital = !strcmp(o->section, vital);

    if ((o->history || o->fleet) && o->is_named)
        return "--history, --fleet: of a folder, not together with a bundle";
    if (o->fleet && o->all && o->glob)
        return "--fleet: takes --all or --metric";
    if (o->fleet)
        return NULL;
    if (o->format == TABLE_JSON && (o->all || o->glob || is_vital))
        return "--format json: of the answers only; the rows are the bundle itself";
    if (o->format == TABLE_JSON && o->n_paths > 1 && (*o->section || o->headline))
        return "--format json: a section or the head is of one bundle";
    if (o->format == TABLE_TSV && *o->section && !is_vital)
        return "--format tsv: of rows; sections have text, md and json";
    if (writes_files(o) && o->n_paths > 2)
        return "--html, --figures, --tex, --plots: of one bundle, or of two";
    return NULL;
}

/* Several bundles, of which nothing else is asked. */
static bool is_side_by_side(const struct report_options *o)
{
    return o->n_paths > 1 && !wants_rows(o) && !*o->section && !o->headline && !o->gaps &&
           !o->quality;
}

int report_main(int argc, char **argv)
{
    char standard[PATH_MAX], results[PATH_MAX], why[DOCUMENT_WHY], *only = standard;
    struct report_options o = {.paths = &only, .n_paths = 1,
                               .results = home_path(results, HOME_RESULTS, "")};
    struct bundle bundles[BUNDLES_MAX];
    const struct bundle *columns[BUNDLES_MAX] = {NULL};
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "[BUNDLE...]",
        .doc = "What a bundle says: the answers, in order. Of several "
               "bundles: how many times as good each is as the first, and "
               "what explains it. A BUNDLE is a file, - for stdin, or a "
               "folder of files: then each probe's newest measurement by the kernels of "
               "this tree. Default: the committed results/nvidia-h200. Prints a "
               "document of gpufloor counters, too.\vExit: 0; 2 when a bundle "
               "cannot be read."};
    struct catalogue asked = {0};
    size_t n = 0;
    bool fine = true;

    command_parse(&parser, excluded, argc, argv, &o);
    command_one_stdin("report", (const char *const *)o.paths, o.n_paths);
    if (!o.is_named && !o.history && !o.fleet && !catalogue_standard("report", standard))
        return EXIT_TROUBLE;
    if (misused(&o)) {
        out_say("gpufloor report: %s\n", misused(&o));
        return EXIT_TROUBLE;
    }
    if (takes_bundle(&o, why)) {
        out_say("gpufloor report: %s\n", why);
        return EXIT_TROUBLE;
    }
    if (o.map)
        return print_map(&o);
    if (o.history)
        return print_history(&o);
    if (o.fleet)
        return print_fleet(&o);
    if (o.n_paths == 1 && counter_table_is_for(o.paths[0]))
        return print_counters(&o);
    for (; n < o.n_paths && fine; n += fine) {
        fine = catalogue_read_by(&asked, &bundles[n], o.paths[n], why) &&
               counted_open(&bundles[n], NULL, 0, why); /* for the claims, as `claims` takes them */
        columns[n] = &bundles[n];
    }
    catalogue_free(&asked);
    if (!fine)
        out_say("gpufloor report: %s\n", why);
    else if (writes_files(&o) && n == 2)
        fine = write_boards(bundles, &o);
    else if (o.published || is_side_by_side(&o))
        fine = print_boards(bundles, n, &o);
    else
        fine = print_wanted(columns, n, &o);
    for (size_t i = 0; i < n; i++)
        bundle_free(&bundles[i]);
    return fine ? EXIT_FINE : EXIT_TROUBLE;
}
