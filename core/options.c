#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter_sets.h"
#include "core/help.h"
#include "core/image.h"
#include "core/run.h"
#include "core/unit.h"
#include "core/version.h"

enum { KEY_CHECK = 256, KEY_DEEP, KEY_JSON, KEY_LIST, KEY_RAW, KEY_CASE, KEY_ROUND, KEY_ROUNDS,
       KEY_SEED, KEY_COUNTERS, KEY_QUICK, KEY_ENERGY };

static const struct argp_option table[] = {
    {.name = "device", .key = 'd', .arg = "N", .doc = "GPU to measure (default 0)"},
    {.name = "set", .key = 's', .arg = "NAME=VALUE", .doc = "Set a parameter (see --list); sizes "
     "may end in K, M, G, T"},
    {.name = "case", .key = KEY_CASE, .arg = "GLOB", .doc = "Only cases whose keys match, for "
     "example 'level=l1*'"},
    {.name = "check", .key = KEY_CHECK, .doc = "Correctness only: every kernel once, fresh shapes, "
     "guard bands; no timing"},
    {.name = "deep", .key = KEY_DEEP, .doc = "Every sweep; never part of 'gpufloor run'"},
    {.name = "energy", .key = KEY_ENERGY, .doc = "Power and energy of each operator "
     "or product in a graph, too, by NVML's energy counter: half a second a case"},
    {.name = "json", .key = 'j', .doc = "Print the run document instead of the table"},
    {.name = "counters", .key = KEY_COUNTERS, .arg = "SET", .doc = "Hardware counters instead of "
     "times, as 'gpufloor counters' reads them: sm, loads, memory, paths, pipes or stalls; or "
     "launches: what became of each launch"},
    {.name = "raw", .key = KEY_RAW, .arg = "FILE", .doc = "Append every raw sample to FILE (TSV: "
     "probe, metric, case, timer, round, work, value, loop: of a case that began anew, the last "
     "loop counts)"},
    {.name = "seed", .key = KEY_SEED, .arg = "N", .doc = "Seed of the random inputs (default: "
     "drawn from the clock)"},
    {.name = "round", .key = KEY_ROUND, .arg = "N", .doc = "This is round N, from 0 (set by "
     "'gpufloor run')"},
    {.name = "rounds", .key = KEY_ROUNDS, .arg = "N", .doc = "of N rounds"},
    {.name = "quick", .key = KEY_QUICK, .doc = "Without the cases of which two rounds must agree, "
     "and slow ones (set by 'gpufloor run --quick')"},
    {.name = "list", .key = KEY_LIST, .doc = "Print metrics, parameters and needs; with --json for "
     "programs"},
    {0},
};

static bool whole(const char *text, long long least, long long most, long long *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !errno && end != text && !*end && *value >= least && *value <= most;
}

static void set_counters(struct options *o, const char *text, struct argp_state *state)
{
    if (strcmp(text, "launches") && !counter_set_find(text, strlen(text)))
        argp_error(state, "--counters %s: expected sm, loads, memory, paths, pipes, stalls or "
                   "launches", text);
    o->counters = text;
}

/* A number, or one of the parameter's words. */
static bool parse_value(const struct probe_parameter *p, const char *text, int64_t *value)
{
    for (int i = 0; p->words && p->words[i]; i++)
        if (!strcmp(p->words[i], text))
            return (*value = p->min + i) <= p->max;
    return !p->words && unit_parse_size(text, value) && *value >= p->min && *value <= p->max;
}

static void refuse_value(const struct probe_parameter *p, const char *text,
                         struct argp_state *state)
{
    char words[128] = "";
    for (int64_t i = 0; p->words && i <= p->max - p->min; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? ", " : "",
                 p->words[i]);
    if (p->words)
        argp_error(state, "--set %s: expected one of %s", text, words);
    argp_error(state, "--set %s: expected a whole number from %lld to %lld", text,
               (long long)p->min, (long long)p->max);
}

static void refuse_name(const char *text, struct argp_state *state)
{
    char names[256] = "";
    for (size_t i = 0; i < probe.n_parameters; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 i ? ", " : "; it has ", probe.parameters[i].name);
    argp_error(state, "--set %s: %s has no such parameter%s", text, probe.name, names);
}

/* --set NAME=VALUE, against the probe's own table. */
static void set_parameter(struct options *o, const char *text, struct argp_state *state)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        argp_error(state, "--set %s: expected NAME=VALUE", text);
    for (size_t i = 0; equals && i < probe.n_parameters; i++) {
        const struct probe_parameter *p = &probe.parameters[i];
        int64_t value;
        if (strlen(p->name) != (size_t)(equals - text) ||
            strncmp(p->name, text, (size_t)(equals - text)))
            continue;
        if (!parse_value(p, equals + 1, &value))
            refuse_value(p, text, state);
        o->parameters[i] = value;
        o->given[i] = true;
        return;
    }
    refuse_name(text, state);
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    long long value;

    switch (key) {
    case 'd':
        if (!whole(argument, 0, 255, &value))
            argp_error(state, "--device %s: expected a whole number from 0", argument);
        o->device = (int)value;
        break;
    case 's': set_parameter(o, argument, state); break;
    case 'j': o->json = true; break;
    case KEY_CASE: o->only = argument; break;
    case KEY_CHECK: o->check = true; break;
    case KEY_DEEP: o->deep = true; break;
    case KEY_ENERGY: o->energy = true; break;
    case KEY_QUICK: o->quick = true; break;
    case KEY_COUNTERS: set_counters(o, argument, state); break;
    case KEY_RAW: o->raw = argument; break;
    case KEY_LIST: o->list = true; break;
    case KEY_SEED:
        if (!whole(argument, 0, INT64_MAX, &value))
            argp_error(state, "--seed %s: expected a whole number from 0", argument);
        o->seed = (uint64_t)value;
        break;
    case KEY_ROUND:
    case KEY_ROUNDS:
        if (!whole(argument, key == KEY_ROUNDS, 1000, &value))
            argp_error(state, "--round%s %s: expected a whole number", key == KEY_ROUNDS ? "s" : "",
                       argument);
        *(key == KEY_ROUND ? &o->round : &o->rounds) = (int)value;
        break;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", argument); break;
    case ARGP_KEY_END:
        if (o->counters && o->check)
            argp_error(state, "--counters: not together with --check");
        if (o->energy && (o->check || o->counters))
            argp_error(state, "--energy: not together with --%s", o->check ? "check" : "counters");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void options_read(struct options *options, int argc, char **argv)
{
    static char text[640];
    snprintf(text, sizeof text, "%s: %s%s%s\vExit: 0 measured, 1 a check or call failed, 2 usage, "
             "77 cannot be measured here.", probe.name, probe.what,
             probe.fixed ? "\n\nNo sizes by --set: " : "", probe.fixed ? probe.fixed : "");
    const struct argp parser = {.options = table, .parser = take, .doc = text,
                                .children = help_children};

    if (probe.n_parameters > RUN_PARAMETERS_MAX) {
        fprintf(stderr, "%s: harness: %zu parameters, expected at most %d\n", probe.name,
                probe.n_parameters, (int)RUN_PARAMETERS_MAX);
        exit(RUN_EXIT_FAILED);
    }
    *options = (struct options){.rounds = 1, .seed = probe_host_ns() >> 10 & 0xffffffff};
    for (size_t i = 0; i < probe.n_parameters; i++)
        options->parameters[i] = probe.parameters[i].standard;
    argp_program_version = version_line;
    argp_err_exit_status = RUN_EXIT_USAGE;
    argp_parse(&parser, argc, argv, 0, NULL, options);
    if (options->round >= options->rounds)
        options->rounds = options->round + 1;
}

const char *better_name(enum probe_better better)
{
    static const char *const names[] = {"lower", "higher", "exact"};
    return names[better];
}

static const char *const needs_names[] = {"host", "gpu if any", "gpu"};
static const char *const forms[] = {"each", "slope", "p99", "p999"};

static json_t *list_document(void)
{
    json_t *metrics = json_array(), *parameters = json_array();
    for (size_t i = 0; i < probe.n_metrics; i++) {
        const struct probe_metric *m = &probe.metrics[i];
        json_array_append_new(metrics, json_pack(
            "{s:s, s:s, s:s, s:s, s:s?, s:s, s:s}", "name", m->name, "unit", m->unit, "better",
            better_name(m->better), "form", forms[m->form], "timer",
            m->timer, "keys", m->keys ? m->keys : "", "what", m->what));
    }
    for (size_t i = 0; i < probe.n_parameters; i++) {
        const struct probe_parameter *p = &probe.parameters[i];
        json_t *words = json_array();
        for (int64_t k = 0; p->words && k <= p->max - p->min; k++)
            json_array_append_new(words, json_string(p->words[k]));
        json_array_append_new(
            parameters, json_pack("{s:s, s:I, s:I, s:I, s:o, s:s}", "name", p->name, "default",
                                  (json_int_t)p->standard, "min", (json_int_t)p->min, "max",
                                  (json_int_t)p->max, "words", words, "what", p->what));
    }
    return json_pack("{s:s, s:i, s:s, s:s, s:i, s:s*, s:s*, s:s, s:i, s:o, s:o, s:o}", "schema",
                     "probe", "schema_version", DOCUMENT_SCHEMA_VERSION, "name", probe.name, "what",
                     probe.what, "method", probe.method, "draft", probe.draft, "fixed",
                     probe.fixed, "needs",
                     needs_names[probe.needs], "min_cc", probe.min_cc, "metrics", metrics,
                     "parameters", parameters, "cubins", image_all_hashes());
}

void options_list(FILE *out, bool json)
{
    if (json) {
        json_t *document = list_document();
        json_dumpf(document, out, JSON_INDENT(1));
        fputc('\n', out);
        json_decref(document);
        return;
    }
    fprintf(out, "%s: %s\nmethod %d, needs %s\n", probe.name, probe.what, probe.method,
            needs_names[probe.needs]);
    fprintf(out, probe.draft ? "a draft, run only by its name: %s\n\n" : "\n", probe.draft);
    for (size_t i = 0; i < probe.n_metrics; i++) {
        const struct probe_metric *m = &probe.metrics[i];
        const char *keys = m->keys ? m->keys : "", *timer = m->timer ? m->timer : "";
        bool braces = *keys || *timer;
        fprintf(out, "  %s.%s%s%s%s%s%s%s\n      %s, %s%s: %s\n", probe.name, m->name,
                braces ? "{" : "", keys, *keys && *timer ? "," : "", *timer ? "timer=" : "", timer,
                braces ? "}" : "", m->unit, better_name(m->better),
                m->better == PROBE_EXACT ? "" : " is better", m->what);
    }
    if (probe.fixed)
        fprintf(out, "\n  no sizes by --set: %s\n", probe.fixed);
    for (size_t i = 0; i < probe.n_parameters; i++) {
        const struct probe_parameter *p = &probe.parameters[i];
        fprintf(out, "%s  --set %s=", i ? "" : "\n", p->name);
        if (p->words)
            fprintf(out, "%s   %s\n", p->words[p->standard - p->min], p->what);
        else
            fprintf(out, "%lld   %s\n", (long long)p->standard, p->what);
    }
}
