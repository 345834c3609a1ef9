/* gpufloor claims: the ledger of a bundle, as text, Markdown, or tab-separated values. */
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "report/bundle/counted.h"
#include "report/claims/claims.h"
#include "report/cli/catalogue.h"
#include "report/cli/command.h"
#include "report/cli/needs.h"
#include "report/cli/origin.h"
#include "report/cli/table.h"

enum { KEY_FORMAT = 256, KEY_ID, KEY_NEEDS, KEY_COUNTERS };
enum { COUNTERS_MAX = 32, CLAIM_NUMBER = 3 /* "C50" of "C50b" */ };

static const struct argp_option options_table[] = {
    {.name = "format", .key = KEY_FORMAT, .arg = "text|md|tsv", .doc = "Default: text"},
    {.name = "id",
     .key = KEY_ID,
     .arg = "GLOB",
     .doc = "Only claims whose id matches, for example C41 or 'C4*'"},
    {.name = "counters",
     .key = KEY_COUNTERS,
     .arg = "FILE",
     .doc = "Takes counted figures from this document of 'gpufloor counters', before those of the "
            "folder's counters/; may be given several times"},
    {.name = "needs",
     .key = KEY_NEEDS,
     .doc = "Only the metric ids that claims and tables take, each with who takes it"},
    {0},
};

struct claims_options {
    enum table_format format;
    const char *path, *glob;
    const char *counters[COUNTERS_MAX];
    size_t n_counters;
    bool needs;
};

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct claims_options *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        if (!table_format_read(argument, &o->format) || o->format == TABLE_JSON)
            argp_failure(state, EXIT_TROUBLE, 0, "--format %s: expected text, md or tsv", argument);
        break;
    case KEY_ID: o->glob = argument; break;
    case KEY_NEEDS: o->needs = true; break;
    case KEY_COUNTERS:
        if (o->n_counters == COUNTERS_MAX)
            argp_failure(state, EXIT_TROUBLE, 0, "--counters %s: %d files at most", argument,
                         COUNTERS_MAX);
        o->counters[o->n_counters++] = argument;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_failure(state, EXIT_TROUBLE, 0, "unexpected argument '%s': expected one BUNDLE",
                         argument);
        o->path = argument;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The next claim, from *i on, whose id matches; NULL after the last. */
static const struct claim *next_claim(size_t *i, const char *glob)
{
    const struct claim *claim;

    while ((claim = claim_at((*i)++)) && glob && fnmatch(glob, claim->id, 0) != 0)
        ;
    return claim;
}

static void print_tsv(FILE *out, const struct bundle *bundle, const char *glob)
{
    const struct claim *claim;
    struct table table = table_new("lllll");
    struct finding finding;
    char dates[CLAIM_DATES];

    table_cell(&table, "id");
    table_cell(&table, "verdict");
    table_cell(&table, "claim");
    table_cell(&table, "evidence");
    table_cell(&table, "dates");
    for (size_t i = 0; (claim = next_claim(&i, glob));) {
        claim_judge(claim, bundle, &finding);
        table_cell(&table, "%s", claim->id);
        table_cell(&table, "%s", claim_verdict_name(finding.verdict));
        table_cell(&table, "%s", claim->statement);
        table_cell(&table, "%s; %s", finding.evidence, finding.controls);
        table_cell(&table, "%s", claim_dates(claim, bundle, dates));
    }
    table_print(out, &table, TABLE_TSV, NULL);
}

static void print_line(FILE *out, const char *label, const char *text, enum table_format format)
{
    enum { INDENT = 12 };
    fprintf(out, format == TABLE_MD ? "- %s: " : "  %-9s ", label);
    if (format == TABLE_MD)
        table_put(out, text, TABLE_TEXT);
    else
        table_wrap(out, text, INDENT, INDENT);
    fputc('\n', out);
}

/* The words of the quote that the rule tests, where they are not all of it. */
static void print_clause(FILE *out, const struct claim *claim, enum table_format format)
{
    char ours[80];

    if (!claim->clause)
        return;
    snprintf(ours, sizeof ours, "ours, beside %.*s", CLAIM_NUMBER, claim->id);
    print_line(out, "clause", *claim->clause ? claim->clause : ours, format);
}

static void print_quote(FILE *out, const struct claim *claim, const struct finding *finding,
                        enum table_format format)
{
    if (format == TABLE_MD) {
        fprintf(out, "## %s: %s\n\n> %s\n>\n> %s\n\n", claim->id,
                claim_verdict_name(finding->verdict), claim->quote,
                claim_reference(claim->article));
        return;
    }
    fprintf(out, "%s  %s  (%s)\n  \"", claim->id, claim_verdict_name(finding->verdict),
            claim->article);
    table_wrap(out, claim->quote, 3, 3);
    fputs("\"\n", out);
}

static void print_claim(FILE *out, const struct claim *claim, const struct bundle *bundle,
                        const struct finding *finding, enum table_format format)
{
    char dates[CLAIM_DATES];

    print_quote(out, claim, finding, format);
    print_clause(out, claim, format);
    if (claim->open) {
        print_line(out, "to judge", claim->statement, format);
        print_line(out, "decides", claim->open, format);
    } else {
        print_line(out, "judged", claim->statement, format);
        print_line(out, "rule", claim->rule, format);
        print_line(out, "dates", claim_dates(claim, bundle, dates), format);
        print_line(out, "evidence", finding->evidence, format);
        print_line(out, "controls", finding->controls, format);
    }
    fputc('\n', out);
}

/* Does a claim take counted figures of that program? */
static bool is_counted_for(const char *program)
{
    const struct claim *claim;
    const size_t length = strlen(program);
    size_t n;

    for (size_t i = 0; (claim = claim_at(i)); i++)
        for (const struct need *const *needs = claim->needs; *needs; needs++)
            for (size_t k = 0; (*needs)[k].id; k++) {
                const char *of =
                    (*needs)[k].kind == NEED_COUNTED ? counted_split((*needs)[k].id, &n) : NULL;
                if (of && !strncmp(of, program, length) && of[length] == '.')
                    return true;
            }
    return false;
}

/* "counted: norm (gpufloor 0123abc, 2026-11-22), ...", where documents of counters were taken. */
static void print_counted(FILE *out, const struct bundle *bundle, enum table_format format)
{
    char line[BUNDLE_LINE] = "";
    FILE *text = bundle->n_counted > 0 ? fmemopen(line, sizeof line, "w") : NULL;

    if (!text)
        return;
    for (size_t i = 0; i < bundle->n_counted; i++) {
        const struct counted *from = &bundle->counted_from[i];
        if (!is_counted_for(from->program))
            continue;
        fprintf(text, "%s%s (gpufloor %.7s, %.10s%s)",
                ftell(text) ? ", " : "counted: ", from->program, from->commit, from->from,
                from->stale ? ", other kernels than the timed ones" : "");
    }
    fclose(text);
    if (!line[0])
        return;
    fputc('\n', out);
    if (format == TABLE_MD) {
        fputc('\n', out);
        table_put(out, line, format);
    } else {
        table_wrap(out, line, 0, 0);
    }
}

/* The machine, the versions, what was measured elsewhere, and what was counted. */
static void print_head(FILE *out, const struct bundle *bundle, enum table_format format)
{
    if (format == TABLE_MD)
        fputs("# Claims\n\nGenerated by `gpufloor claims --format=md`; READING.md "
              "has the words.\n\n",
              out);
    origin_print(out, bundle, NULL, format);
    print_counted(out, bundle, format);
    fputs("\n\n", out);
}

static void print_ledger(FILE *out, const struct bundle *bundle, enum table_format format,
                         const char *glob)
{
    const struct claim *claim;
    struct finding finding;

    print_head(out, bundle, format);
    for (size_t i = 0; (claim = next_claim(&i, glob));) {
        claim_judge(claim, bundle, &finding);
        print_claim(out, claim, bundle, &finding, format);
    }
}

int claims_main(int argc, char **argv)
{
    char standard[PATH_MAX], why[DOCUMENT_WHY];
    struct claims_options o = {.path = catalogue_path(standard, "../../results/nvidia-h200")};
    struct bundle bundle;
    size_t first = 0;
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "[BUNDLE]",
        .doc = "The ledger: what a bundle (a file or a folder) says of each "
               "published claim, with the figures and the controls. Default: the "
               "committed results/nvidia-h200.\vExit: 0, whatever the verdicts; 2 "
               "when the bundle cannot be read, or no claim matches."};
    argp_parse(&parser, argc, argv, 0, NULL, &o);
    if (o.needs) {
        needs_print(stdout);
        return EXIT_FINE;
    }
    if (!next_claim(&first, o.glob)) {
        fprintf(stderr, "gpufloor claims: --id %s: no claim matches\n", o.glob);
        return EXIT_TROUBLE;
    }
    if (!catalogue_read(&bundle, o.path, why) ||
        !counted_open(&bundle, o.counters, o.n_counters, why)) {
        fprintf(stderr, "gpufloor claims: %s\n", why);
        bundle_free(&bundle);
        return EXIT_TROUBLE;
    }
    if (o.format == TABLE_TSV)
        print_tsv(stdout, &bundle, o.glob);
    else
        print_ledger(stdout, &bundle, o.format, o.glob);
    bundle_free(&bundle);
    return EXIT_FINE;
}
