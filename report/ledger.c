/* gpufloor claims: the ledger of a bundle, as text, Markdown, or tab-separated values. */
#include <limits.h>
#include <stdio.h>

#include "report/catalogue.h"
#include "report/claims.h"
#include "report/command.h"
#include "report/table.h"

enum { KEY_FORMAT = 256 };

static const struct argp_option options_table[] = {
    {.name = "format", .key = KEY_FORMAT, .arg = "text|md|tsv", .doc = "Default: text"},
    {0},
};

struct claims_options {
    enum table_format format;
    const char *path;
};

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct claims_options *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        if (!table_format_read(argument, &o->format) || o->format == TABLE_JSON)
            argp_failure(state, EXIT_TROUBLE, 0, "--format %s: expected text, md or tsv", argument);
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

static void print_tsv(FILE *out, const struct bundle *bundle)
{
    struct table table = table_new("llll");
    struct finding finding;

    table_cell(&table, "id");
    table_cell(&table, "verdict");
    table_cell(&table, "claim");
    table_cell(&table, "evidence");
    for (size_t i = 0; claim_at(i); i++) {
        claim_judge(claim_at(i), bundle, &finding);
        table_cell(&table, "%s", claim_at(i)->id);
        table_cell(&table, "%s", claim_verdict_name(finding.verdict));
        table_cell(&table, "%s", claim_at(i)->statement);
        table_cell(&table, "%s; %s", finding.evidence, finding.controls);
    }
    table_print(out, &table, TABLE_TSV, NULL);
}

static void print_line(FILE *out, const char *label, const char *text, enum table_format format)
{
    fprintf(out, format == TABLE_MD ? "- %s: " : "  %-9s ", label);
    table_put(out, text, TABLE_TEXT);
    fputc('\n', out);
}

static void print_claim(FILE *out, const struct claim *claim, const struct finding *finding,
                        enum table_format format)
{
    if (format == TABLE_MD)
        fprintf(out, "## %s: %s\n\n> %s\n>\n> %s\n\n", claim->id,
                claim_verdict_name(finding->verdict), claim->quote,
                claim_reference(claim->article));
    else
        fprintf(out, "%s  %s  (%s)\n  \"%s\"\n", claim->id, claim_verdict_name(finding->verdict),
                claim->article, claim->quote);
    print_line(out, "judged", claim->statement, format);
    print_line(out, "rule", claim->rule, format);
    print_line(out, "evidence", finding->evidence, format);
    print_line(out, "controls", finding->controls, format);
    fputc('\n', out);
}

static void print_ledger(FILE *out, const struct bundle *bundle, enum table_format format)
{
    char line[640];
    struct finding finding;

    fputs(format == TABLE_MD ? "# Claims\n\n" : "", out);
    table_put(out, bundle_line(bundle, line, sizeof line), format);
    if (bundle_others(bundle, line, sizeof line)[0]) {
        fputs("; ", out);
        table_put(out, line, format);
    }
    fputs("\n\n", out);
    for (size_t i = 0; claim_at(i); i++) {
        claim_judge(claim_at(i), bundle, &finding);
        print_claim(out, claim_at(i), &finding, format);
    }
}

int claims_main(int argc, char **argv)
{
    char standard[PATH_MAX], why[DOCUMENT_WHY];
    struct claims_options o = {.path = catalogue_path(standard, "../../results/nvidia-h200")};
    struct bundle bundle;
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "[BUNDLE]",
        .doc = "The ledger: what a bundle (a file or a folder) says of each "
               "published claim, with the figures and the controls. Default: the "
               "committed results/nvidia-h200.\vExit: 0, whatever the verdicts; 2 "
               "when the bundle cannot be read."};
    argp_parse(&parser, argc, argv, 0, NULL, &o);
    if (!bundle_open(&bundle, o.path, why)) {
        fprintf(stderr, "gpufloor claims: %s\n", why);
        return EXIT_TROUBLE;
    }
    if (o.format == TABLE_TSV)
        print_tsv(stdout, &bundle);
    else
        print_ledger(stdout, &bundle, o.format);
    bundle_free(&bundle);
    return EXIT_FINE;
}
