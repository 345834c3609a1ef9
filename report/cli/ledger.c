/* gpufloor claims: the ledger of a bundle, as text, Markdown, tab-separated values or JSON. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/bundle/counted.h"
#include "report/cli/catalogue.h"
#include "report/cli/command.h"
#include "report/cli/home.h"
#include "report/cli/ledger.h"
#include "report/cli/needs.h"
#include "report/cli/origin.h"
#include "report/page/out.h"

enum { KEY_FORMAT = 256, KEY_ID, KEY_SEARCH, KEY_NEEDS, KEY_COUNTERS, KEY_VERDICT };
enum { COUNTERS_MAX = 32, BUNDLES_MAX = 8 };

static const struct argp_option options_table[] = {
    {.name = "format", .key = KEY_FORMAT, .arg = "text|md|tsv|json", .doc = "Default: text"},
    {.name = "id",
     .key = KEY_ID,
     .arg = "GLOB",
     .doc = "All of the claims whose id matches, for example C41, 41, 'C4*' or 41,C50b"},
    {.name = "verdict",
     .key = KEY_VERDICT,
     .arg = "yes|no|partly|cant-tell|open",
     .doc = "Only the claims of this verdict"},
    {.name = "search",
     .key = KEY_SEARCH,
     .arg = "TEXT",
     .doc = "The quotes that contain TEXT, in any case, and what is found of them"},
    {.name = "counters",
     .key = KEY_COUNTERS,
     .arg = "FILE",
     .doc = "Takes counted numbers from this document of 'gpufloor counters', before those of the "
            "folder's counters/; may be given several times"},
    {.name = "needs",
     .key = KEY_NEEDS,
     .doc = "Only the metric ids that claims and tables take, each with who takes it"},
    {0},
};

static const struct exclusion excluded[] = {
    {"needs", "counters format id search verdict", NULL},
    {"search", "verdict", "it shows all that is found of a quote"},
    {"search", "id format=md format=tsv format=json", "what it finds is shown as text"},
    {0},
};

struct claims_options {
    enum table_format format;
    const char *paths[BUNDLES_MAX];
    size_t n_paths;
    const char *glob, *search;
    const char *counters[COUNTERS_MAX];
    size_t n_counters;
    bool needs;
    int verdict; /* LEDGER_ALL, or the one that is wanted */
};

/* "can't tell" is also "cant-tell", which needs no quotes in a shell. */
static int verdict_of(const char *word, struct argp_state *state)
{
    for (int verdict = 0; verdict < TELLING_VERDICTS; verdict++)
        if (!strcmp(word, telling_word((enum claim_verdict)verdict)))
            return verdict;
    if (!strcmp(word, "cant-tell"))
        return CLAIM_NOT_TESTABLE;
    command_fail(state, 0, "--verdict %s: expected one of yes no partly cant-tell open", word);
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct claims_options *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        o->format = command_format(state, argument, "text, md, tsv or json");
        break;
    case KEY_SEARCH: o->search = argument; break;
    case KEY_ID: o->glob = argument; break;
    case KEY_VERDICT: o->verdict = verdict_of(argument, state); break;
    case KEY_NEEDS: o->needs = true; break;
    case KEY_COUNTERS:
        if (o->n_counters == COUNTERS_MAX)
            command_fail(state, 0, "--counters %s: %d files at most", argument,
                         COUNTERS_MAX);
        o->counters[o->n_counters++] = argument;
        break;
    case ARGP_KEY_ARG:
        if (o->n_paths == BUNDLES_MAX)
            command_fail(state, 0, "%s: %d bundles at most", argument, BUNDLES_MAX);
        o->paths[o->n_paths++] = argument;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void print_tsv(FILE *out, const struct bundle *bundle, const struct tellings *t)
{
    struct table table = table_new("lllll");
    char dates[CLAIM_DATES];

    table_cell(&table, "id");
    table_cell(&table, "verdict");
    table_cell(&table, "claim");
    table_cell(&table, "evidence");
    table_cell(&table, "dates");
    for (size_t i = 0; i < t->n; i++) {
        const struct claim *claim = t->telling[i].claim;
        const struct finding *finding = &t->telling[i].finding;
        table_cell(&table, "%s", claim->id);
        table_cell(&table, "%s", claim_verdict_name(finding->verdict));
        table_cell(&table, "%s", claim->statement);
        table_cell(&table, "%s; %s", finding->evidence, finding->controls);
        table_cell(&table, "%s", claim_dates(claim, bundle, dates));
    }
    table_print(out, &table, TABLE_TSV, NULL);
}

/* Does a claim take counted figures of that program? */
static bool is_counted_for(const char *program)
{
    const struct claim *claim;
    const size_t length = strlen(program);
    size_t n;

    for (claim = claim_after(NULL); claim; claim = claim_after(claim))
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
void ledger_head(FILE *out, const struct bundle *bundle, enum table_format format)
{
    if (format == TABLE_MD)
        fputs("# Claims\n\nGenerated by `gpufloor claims --format=md`; READING.md "
              "has the words.\n\n",
              out);
    origin_print(out, bundle, NULL, format);
    print_counted(out, bundle, format);
    fputs("\n\n", out);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Is it the id of a claim, and no file? */
static bool is_claim(const char *path)
{
    size_t length;
    return access(path, F_OK) != 0 && !strpbrk(path, "*?[,") && !claim_unknown(path, &length);
}

static bool read_bundle(struct bundle *bundle, const char *path, const struct claims_options *o)
{
    char why[DOCUMENT_WHY];
    if (!catalogue_read(bundle, path, why) ||
        !counted_open(bundle, o->counters, o->n_counters, why)) {
        out_say("gpufloor claims: %s%s%s\n", why,
                is_claim(path) ? "; a claim is named by --id=" : "", is_claim(path) ? path : "");
        return false;
    }
    if (bundle_gpus(bundle) > 1) {
        out_say(
            "gpufloor claims: %s: claims are judged by a bundle of one GPU; this is one of %zu\n",
            path, bundle_gpus(bundle));
        return false;
    }
    return true;
}

static int print_one(const struct bundle *bundle, const struct claims_options *o)
{
    struct tellings t;
    struct elsewhere *elsewhere = NULL;

    if (o->search && ledger_search(stdout, bundle, o->search))
        return EXIT_FINE;
    if (o->search) {
        out_say("gpufloor claims: --search %s: no quote has it\n", o->search);
        return EXIT_TROUBLE;
    }
    if (!tellings_open(&t, bundle, o->glob)) {
        out_say("gpufloor claims: out of memory\n");
        return EXIT_TROUBLE;
    }
    if (o->verdict != LEDGER_ALL)
        tellings_keep(&t, (enum claim_verdict)o->verdict);
    if (o->glob && t.n == 0) {
        out_say("gpufloor claims: --id %s: none of these claims has the verdict %s\n", o->glob,
                telling_word((enum claim_verdict)o->verdict));
        tellings_free(&t);
        return EXIT_TROUBLE;
    }
    if (o->format == TABLE_JSON || o->glob)
        elsewhere = elsewhere_open(bundle);
    if (o->format == TABLE_TSV)
        print_tsv(stdout, bundle, &t);
    else if (o->format == TABLE_JSON)
        ledger_json(stdout, bundle, &t, elsewhere);
    else if (o->format == TABLE_MD || o->glob)
        ledger_details(stdout, bundle, &t, elsewhere, o->format);
    else
        ledger_text(stdout, bundle, &t, o->verdict);
    free(elsewhere);
    tellings_free(&t);
    return EXIT_FINE;
}

static int print_all(const struct claims_options *o)
{
    struct bundle bundles[BUNDLES_MAX] = {0};
    int status = EXIT_FINE;

    for (size_t i = 0; i < o->n_paths && status == EXIT_FINE; i++)
        status = read_bundle(&bundles[i], o->paths[i], o) ? EXIT_FINE : EXIT_TROUBLE;
    if (status == EXIT_FINE)
        status = o->n_paths == 1                                        ? print_one(&bundles[0], o)
                 : ledger_compare(stdout, bundles, o->n_paths, o->glob) ? EXIT_FINE
                                                                        : EXIT_TROUBLE;
    for (size_t i = 0; i < o->n_paths; i++)
        bundle_free(&bundles[i]);
    return status;
}

int claims_main(int argc, char **argv)
{
    char standard[PATH_MAX];
    struct claims_options o = {.verdict = LEDGER_ALL};
    size_t length;
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "[BUNDLE...]",
        .doc = "The ledger: what a bundle (a file, a folder, or - for stdin) says of each "
               "published claim, in a "
               "sentence with its number. Of several bundles it shows the claims whose words "
               "differ. Default: the committed results/nvidia-h200.\vExit: 0, whatever the "
               "verdicts; 2 when a bundle cannot be read or is of several GPUs, or no claim or "
               "quote matches."};
    command_parse(&parser, excluded, argc, argv, &o);
    command_one_stdin("claims", o.paths, o.n_paths);
    if (o.needs) {
        needs_print(stdout);
        return EXIT_FINE;
    }
    const char *unknown = claim_unknown(o.glob, &length);
    if (unknown) {
        out_say("gpufloor claims: --id %.*s: no claim matches\n", (int)length, unknown);
        return EXIT_TROUBLE;
    }
    if (o.n_paths == 0 && !catalogue_standard("claims", standard))
        return EXIT_TROUBLE;
    if (o.n_paths == 0)
        o.paths[o.n_paths++] = standard;
    if (o.n_paths > 1 && (o.search || o.format != TABLE_TEXT || o.verdict != LEDGER_ALL)) {
        out_say("gpufloor claims: several bundles are compared as text, without --search and "
                "--verdict\n");
        return EXIT_TROUBLE;
    }
    return print_all(&o);
}
