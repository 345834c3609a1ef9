/* gpufloor check: may a bundle be contributed to results/? */
#include "report/cli/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "report/cli/command.h"
#include "report/cli/home.h"
#include "report/cli/table.h"
#include "report/page/out.h"

enum { QUESTIONS_MOST = 32 };

struct answered {
    enum answer answer;
    char why[ANSWER_WHY];
};

struct check_options {
    const char *results;
    char **paths;
    size_t n_paths;
    bool json;
};

static const char *const answer_names[] = {"ok", "note", "no"};

/* --- printing --------------------------------------------------------------------------------- */

/* "may not: card, checks" */
static void print_sentence(FILE *out, const struct answered *answered, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (answered[i].answer == ANSWER_NO) {
            fprintf(out, "%s%s", any ? ", " : "may not: ", question_at(i)->name);
            any = true;
        }
    fputs(any ? "\n" : "may be contributed\n", out);
}

static void print_text(FILE *out, const struct checked *checked, const struct answered *answered,
                       size_t n)
{
    table_put(out, checked->path, TABLE_TEXT);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "  %-4s  %-16s  ", answer_names[answered[i].answer], question_at(i)->name);
        table_wrap(out, answered[i].why, 26, 26);
        fputc('\n', out);
    }
    print_sentence(out, answered, n);
}

static json_t *json_of(const struct checked *checked, const struct answered *answered, size_t n)
{
    json_t *questions = json_array();
    char name[CHECK_NAME], place[CHECK_NAME + 16];
    bool may = true;

    for (size_t i = 0; i < n; i++) {
        may = may && answered[i].answer != ANSWER_NO;
        json_array_append_new(
            questions, json_pack("{s:s, s:s, s:o}", "question", question_at(i)->name, "answer",
                                 answer_names[answered[i].answer], "why",
                                 out_json(answered[i].why)));
    }
    snprintf(place, sizeof place, "results/%s", check_name(name, checked));
    return json_pack("{s:o, s:b, s:o, s:o}", "path", out_json(checked->path),
                     "may_be_contributed", may, "place", out_json(place), "questions", questions);
}

/* --- asking ----------------------------------------------------------------------------------- */

static int check_one(const struct check_options *o, const struct catalogue *catalogue,
                     const char *path, json_t *all)
{
    struct checked checked = {.path = path, .catalogue = catalogue, .results = o->results};
    struct answered answered[QUESTIONS_MOST];
    char why[DOCUMENT_WHY];
    struct stat facts;
    bool may = true;
    size_t n = 0;

    if (!strcmp(path, "-")) {
        out_say("gpufloor check: -: expected a file: its size and name are asked about, too\n");
        return EXIT_TROUBLE;
    }
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        out_say("gpufloor check: %s: a folder; check takes files: %s%s*.json\n", path, path,
                path[strlen(path) - 1] == '/' ? "" : "/");
        return EXIT_TROUBLE;
    }
    json_t *document = document_load(path, "bundle", why);
    if (document && (stat(path, &facts) != 0 || !bundle_take(&checked.bundle, document, path))) {
        snprintf(why, sizeof why, "%.300s: %s", path, errno ? strerror(errno) : "out of memory");
        json_decref(document);
        document = NULL;
    }
    if (!document) {
        out_say("gpufloor check: %s\n", why);
        return EXIT_TROUBLE;
    }
    checked.document = document;
    checked.bytes = facts.st_size;
    for (; n < QUESTIONS_MOST && question_at(n); n++) {
        answered[n].answer = question_at(n)->ask(&checked, answered[n].why);
        may = may && answered[n].answer != ANSWER_NO;
    }
    if (o->json)
        json_array_append_new(all, json_of(&checked, answered, n));
    else
        print_text(stdout, &checked, answered, n);
    bundle_free(&checked.bundle);
    json_decref(document);
    return may ? EXIT_FINE : EXIT_WORSE;
}

/* --- the command ------------------------------------------------------------------------------ */

enum { KEY_FORMAT = 256, KEY_RESULTS };

static const struct argp_option options_table[] = {
    {.name = "format", .key = KEY_FORMAT, .arg = "text|json", .doc = "Default: text"},
    {.name = "results", .key = KEY_RESULTS, .arg = "DIR",
     .doc = "Where it would go, and the schema (default: results/ of this tree)"},
    {0},
};

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct check_options *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        o->json = command_format(state, argument, "text or json") == TABLE_JSON;
        break;
    case KEY_RESULTS:
        o->results = command_folder(state, "--results", argument);
        break;
    case ARGP_KEY_ARGS:
        o->paths = state->argv + state->next;
        o->n_paths = (size_t)(state->argc - state->next);
        break;
    case ARGP_KEY_NO_ARGS: command_fail(state, 0, "expected a bundle"); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int check_main(int argc, char **argv)
{
    char results[PATH_MAX];
    struct check_options o = {.results = home_path(results, HOME_RESULTS, "")};
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "BUNDLE...",
        .doc = "May a bundle be contributed to results/? A line a question: ok, no, or "
               "a note, which forbids nothing.\vExit: 0 each may be contributed, 1 one may "
               "not, 2 trouble."};
    struct catalogue catalogue;
    int worst = EXIT_FINE;

    command_parse(&parser, NULL, argc, argv, &o);
    json_t *all = json_array();
    catalogue_open(&catalogue, true);
    for (size_t i = 0; i < o.n_paths; i++) {
        const int status = check_one(&o, &catalogue, o.paths[i], all);
        worst = status > worst ? status : worst;
        if (!o.json && i + 1 < o.n_paths)
            putchar('\n');
    }
    catalogue_free(&catalogue);
    if (o.json) {
        json_t *document = json_pack("{s:s, s:i, s:O}", "schema", "check", "schema_version",
                                     DOCUMENT_SCHEMA_VERSION, "bundles", all);
        if (!out_document(stdout, document, JSON_INDENT(1))) {
            out_say("gpufloor check: out of memory\n");
            worst = EXIT_TROUBLE;
        }
    }
    json_decref(all);
    return worst;
}
