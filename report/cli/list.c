/* gpufloor list: the probes next to this program, as each describes itself. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "report/bundle/derive.h"
#include "report/cli/catalogue.h"
#include "report/cli/command.h"
#include "report/cli/table.h"
#include "report/page/out.h"

enum { KEY_FORMAT = 256, KEY_QUESTIONS, KEY_NAMES };

static const struct argp_option options_table[] = {
    {.name = "format", .key = KEY_FORMAT, .arg = "text|md|json", .doc = "Default: text; md is "
     "docs/METRICS.md"},
    {.name = "questions", .key = KEY_QUESTIONS, .doc = "Only what each program asks and needs, by "
     "folder; as md it is docs/PROBES.md"},
    {.name = "names", .key = KEY_NAMES, .doc = "Only the names, one a line"},
    {.name = "json", .key = 'j', .doc = "The same as --format json"},
    {0},
};

static const struct exclusion excluded[] = {
    {"questions", "json format=json names", NULL},
    {"json", "format names", NULL},
    {"names", "format", NULL},
    {0},
};

struct list_options {
    enum table_format format;
    bool questions, names_only;
    char **names; /* of probes; none: all of them, and the derived metrics */
    size_t n_names;
};

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct list_options *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        o->format = command_format(state, argument, "text, md or json");
        break;
    case KEY_QUESTIONS: o->questions = true; break;
    case KEY_NAMES: o->names_only = true; break;
    case 'j': o->format = TABLE_JSON; break;
    case ARGP_KEY_ARGS:
        o->names = state->argv + state->next;
        o->n_names = (size_t)(state->argc - state->next);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool is_asked(const struct list_options *o, const char *name)
{
    for (size_t i = 0; i < o->n_names; i++)
        if (!strcmp(o->names[i], name))
            return true;
    return o->n_names == 0;
}

static json_t *derived_list(void)
{
    json_t *metrics = json_array();
    for (size_t i = 0; derived_metric(i); i++) {
        const struct derived_metric *m = derived_metric(i);
        json_array_append_new(metrics, json_pack(
            "{s:s, s:s, s:s, s:s, s:s}", "name", m->name + strlen("derived."), "unit", m->unit,
            "better", m->better, "keys", m->keys, "what", m->what));
    }
    return json_pack("{s:s, s:s, s:o}", "name", "derived", "what",
                     "What the report works out from several cases or probes", "metrics", metrics);
}

static void print_json(const struct catalogue *catalogue, const struct list_options *o)
{
    json_t *probes = json_array();
    for (size_t i = 0; i < catalogue->n; i++)
        if (catalogue->probes[i].list && is_asked(o, catalogue->probes[i].name))
            json_array_append(probes, catalogue->probes[i].list);
    json_t *document = json_pack("{s:s, s:i, s:o}", "schema", "list", "schema_version",
                                 DOCUMENT_SCHEMA_VERSION, "probes", probes);
    if (is_asked(o, "derived"))
        json_object_set_new(document, "derived", derived_list());
    document_print(stdout, document, JSON_INDENT(1));
    putchar('\n');
    json_decref(document);
}

/* "probe.metric{keys,timer=...}" */
static void id_cell(struct table *table, const char *probe, const json_t *metric)
{
    const char *keys = document_get_text(metric, "keys", "");
    const char *timer = document_get_text(metric, "timer", "");
    char braces[300] = "";

    if (*keys || *timer)
        snprintf(braces, sizeof braces, "{%s%s%s%s}", keys, *keys && *timer ? "," : "",
                 *timer ? "timer=" : "", timer);
    table_name(table, "%s.%s%s", probe, document_get_text(metric, "name", "?"), braces);
}

static void print_metrics(const char *probe, const json_t *list, enum table_format format)
{
    static const char *const heads[] = {"metric", "unit", "better", "what"};
    struct table table = table_new("llll");
    const json_t *metric;
    size_t i;

    for (i = 0; i < 4; i++)
        table_cell(&table, "%s", heads[i]);
    json_array_foreach(json_object_get(list, "metrics"), i, metric) {
        id_cell(&table, probe, metric);
        table_cell(&table, "%s", document_get_text(metric, "unit", "?"));
        table_cell(&table, "%s", document_get_text(metric, "better", "-"));
        table_cell(&table, "%s", document_get_text(metric, "what", ""));
    }
    table_print(stdout, &table, format, NULL);
}

/* A number, or the word that the parameter has for it. */
static void put_parameter_value(struct table *table, const json_t *parameter, const char *field)
{
    const json_t *words = json_object_get(parameter, "words");
    const json_int_t value = json_integer_value(json_object_get(parameter, field));
    const json_int_t first = json_integer_value(json_object_get(parameter, "min"));
    const char *word =
        value < first ? NULL : json_string_value(json_array_get(words, (size_t)(value - first)));
    if (word)
        table_cell(table, "%s", word);
    else
        table_cell(table, "%lld", (long long)value);
}

static void print_parameters(const json_t *list, enum table_format format)
{
    static const char *const heads[] = {"parameter", "default", "from", "to", "what"};
    static const char *const fields[] = {"default", "min", "max"};
    struct table table = table_new("lrrrl");
    const json_t *parameter;
    size_t i;

    for (i = 0; i < 5; i++)
        table_cell(&table, "%s", heads[i]);
    json_array_foreach(json_object_get(list, "parameters"), i, parameter) {
        table_cell(&table, "%s", document_get_text(parameter, "name", "?"));
        for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++)
            put_parameter_value(&table, parameter, fields[k]);
        table_cell(&table, "%s", document_get_text(parameter, "what", ""));
    }
    table_print(stdout, &table, format, NULL);
}

/* Why a run leaves a draft out, or why an operator takes no sizes; nothing where it says
 * neither. */
static void print_why(const json_t *list, const char *field, const char *what,
                      enum table_format format)
{
    const char *why = document_get_text(list, field, NULL);
    if (!why)
        return;
    putchar(format == TABLE_MD ? toupper(*what) : *what);
    printf("%s: ", what + 1);
    table_put(stdout, why, format);
    fputs(format == TABLE_MD ? ".\n\n" : "\n", stdout);
}

static void print_probe(const char *name, const json_t *list, const char *needs, int method,
                        enum table_format format)
{
    const bool is_md = format == TABLE_MD;

    fputs(is_md ? "## " : "", stdout);
    table_put(stdout, name, format);
    fputs(is_md ? "\n\n" : ": ", stdout);
    table_put(stdout, document_get_text(list, "what", ""), format);
    fputs(is_md ? "\n\n" : "\n", stdout);
    if (needs) {
        out_printf(stdout, table_out(format),
                   is_md ? "Needs: %s. Method %d." : "needs %s, method %d", needs, method);
        fputs(is_md ? "\n\n" : "\n", stdout);
    }
    print_why(list, "draft", "a draft, run only by its name", format);
    print_metrics(name, list, format);
    print_why(list, "fixed", "no sizes by --set", format);
    print_parameters(list, format);
}

/* "gpu", "gpu of compute capability 8.0 or later", "two gpus or four" */
static char *needs_text(char *text, size_t size, const struct listed *probe)
{
    const json_t *list = probe->list;
    const json_int_t cc = json_integer_value(json_object_get(list, "min_cc"));
    const char *gpu = probe->takes_gpus ? "two gpus or four" : "gpu";
    if (cc > 0)
        snprintf(text, size, "%s of compute capability %d.%d or later", gpu, (int)(cc / 10),
                 (int)(cc % 10));
    else if (probe->takes_gpus)
        snprintf(text, size, "%s", gpu);
    else
        snprintf(text, size, "%s", document_get_text(list, "needs", "?"));
    return text;
}

/* --- questions -------------------------------------------------------------------------------- */

/* The folder of a program: "probes" of "build/bin/probes/spin". */
static const char *folder_of(const struct listed *probe, char *text, size_t size)
{
    const char *end = strrchr(probe->path, '/'), *begin = end;
    while (begin && begin > probe->path && begin[-1] != '/')
        begin--;
    snprintf(text, size, "%.*s", end ? (int)(end - begin) : 0, begin ? begin : "");
    return text;
}

static const char *subject_of(const char *folder)
{
    static const char *const subjects[][2] = {
        {"probes", "The chip: memory, occupancy, synchronisation, launch, layout, host"},
        {"matmul", "Products"},
        {"fused", "Fused operators against separate kernels"},
        {"links", "Between GPUs"},
    };
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        if (!strcmp(subjects[i][0], folder))
            return subjects[i][1];
    return folder;
}

static bool is_word(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            return false;
    return *name;
}

static void print_folder(const struct catalogue *catalogue, const struct list_options *o,
                         const char *folder)
{
    const bool is_md = o->format == TABLE_MD;
    struct table table = table_new("lll");
    char text[80], title[200];

    table_cell(&table, "program");
    table_cell(&table, "question");
    table_cell(&table, "needs");
    for (size_t i = 0; i < catalogue->n; i++) {
        const struct listed *probe = &catalogue->probes[i];
        if (!probe->list || !is_asked(o, probe->name) ||
            strcmp(folder_of(probe, text, sizeof text), folder))
            continue;
        if (is_md && is_word(probe->name))
            table_markup(&table, "[`%s`](METRICS.md#%s)", probe->name, probe->name);
        else
            table_cell(&table, "%s", probe->name);
        table_cell(&table, "%s", document_get_text(probe->list, "what", ""));
        table_cell(&table, "%s%s", needs_text(text, sizeof text, probe),
                   probe->is_draft ? "; a draft" : "");
    }
    snprintf(title, sizeof title, "%s (%s/)", subject_of(folder), folder);
    if (is_md) {
        fputs("## ", stdout);
        table_put(stdout, title, o->format);
        fputs("\n\n", stdout);
    }
    table_print(stdout, &table, o->format, is_md ? NULL : title);
}

static void print_questions(const struct catalogue *catalogue, const struct list_options *o)
{
    char folder[80], before[80] = "";

    if (o->format == TABLE_MD)
        printf("# What is measured\n\nGenerated by `gpufloor list --questions --format md`. Each "
               "program asks one question. Its name leads to its\nmetrics. Its method is in the "
               "comment at the top of `FOLDER/NAME/NAME.c`.\n\n");
    for (size_t i = 0; i < catalogue->n; i++) { /* they are in the order of their folders */
        folder_of(&catalogue->probes[i], folder, sizeof folder);
        if (strcmp(folder, before))
            print_folder(catalogue, o, folder);
        memcpy(before, folder, sizeof before);
    }
}

static void print_all(const struct catalogue *catalogue, const struct list_options *o)
{
    const enum table_format format = o->format;

    if (format == TABLE_MD)
        printf(
            "# Metrics\n\nGenerated by `gpufloor list --format md`. How each is measured stands at "
            "the top of the\nprobe's source; what a number means, in READING.md.\n\n");
    for (size_t i = 0; i < catalogue->n; i++) {
        const struct listed *probe = &catalogue->probes[i];
        char needs[80];
        if (probe->list && is_asked(o, probe->name))
            print_probe(probe->name, probe->list, needs_text(needs, sizeof needs, probe),
                        probe->method, format);
    }
    if (is_asked(o, "derived")) {
        json_t *derived = derived_list();
        print_probe("derived", derived, NULL, 0, format);
        json_decref(derived);
    }
}

/* "derived" is none of the probes, and can be asked for as one. */
static bool names_known(const struct catalogue *catalogue, const struct list_options *o)
{
    bool known = catalogue_knows(catalogue, "list", NULL, 0);
    for (size_t i = 0; i < o->n_names && known; i++)
        known = !strcmp(o->names[i], "derived") ||
                catalogue_knows(catalogue, "list", &o->names[i], 1);
    return known;
}

static void print_names(const struct catalogue *catalogue, const struct list_options *o)
{
    for (size_t i = 0; i < catalogue->n; i++)
        if (is_asked(o, catalogue->probes[i].name))
            printf("%s\n", catalogue->probes[i].name);
}

int list_main(int argc, char **argv)
{
    struct list_options o = {.format = TABLE_TEXT};
    struct catalogue catalogue;
    int status = EXIT_FINE;
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "[PROBE...]",
        .doc = "Probes, their metrics and parameters, and what each needs; of all, or of those "
               "named. \"derived\" is what the report works out.\vExit: 0; 1 when a probe does "
               "not describe itself; 2 when there is none, or none of a name."};
    command_parse(&parser, excluded, argc, argv, &o);

    catalogue_open(&catalogue, !o.names_only);
    if (!names_known(&catalogue, &o)) {
        catalogue_free(&catalogue);
        return EXIT_TROUBLE;
    }
    for (size_t i = 0; i < catalogue.n && !o.names_only; i++)
        if (!catalogue.probes[i].list && is_asked(&o, catalogue.probes[i].name)) {
            out_say("gpufloor list: %s: %s\n", catalogue.probes[i].name,
                    catalogue.probes[i].why);
            status = EXIT_WORSE;
        }
    if (o.names_only)
        print_names(&catalogue, &o);
    else if (o.format == TABLE_JSON)
        print_json(&catalogue, &o);
    else if (o.questions)
        print_questions(&catalogue, &o);
    else
        print_all(&catalogue, &o);
    catalogue_free(&catalogue);
    return status;
}
