/* What all commands do with their words, before argp has them read: options that nobody declared,
 * and options that exclude each other, are refused in one line. */
#include "report/cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/help.h"
#include "report/cli/suggest.h"
#include "report/page/out.h"

_Noreturn void command_fail(const struct argp_state *state, int error, const char *format, ...)
{
    char *said = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&said, format, arguments) < 0)
        said = NULL;
    va_end(arguments);
    out_say("%s: %s%s%s\n", state->name, said ? said : format, error ? ": " : "",
            error ? strerror(error) : "");
    exit(EXIT_TROUBLE);
}

enum table_format command_format(const struct argp_state *state, const char *word,
                                 const char *expected)
{
    enum table_format format;

    if (!table_format_read(word, &format) || !strstr(expected, word))
        command_fail(state, 0, "--format %s: expected %s", word, expected);
    return format;
}

long long command_whole(const struct argp_state *state, const char *option, const char *text,
                        long long least, long long most)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        command_fail(state, 0, "%s %s: expected a whole number from %lld to %lld",
                     option, text, least, most);
    return value;
}

const char *command_folder(const struct argp_state *state, const char *option, const char *path)
{
    struct stat facts;

    if (stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode))
        command_fail(state, 0, "%s %s: is a file; expected a folder", option, path);
    if (access(path, R_OK | X_OK) != 0)
        command_fail(state, errno, "%s %s", option, path);
    return path;
}

/* --- what is given ---------------------------------------------------------------------------- */

enum { OPTIONS_MAX = 48, HELP_OPTIONS = 3, FIRST_INDEX = 1 << 16 };

/* What argp adds to every command. */
static const struct argp_option helps[HELP_OPTIONS] = {{.name = "help", .key = 'h'},
                                                       {.name = "usage"},
                                                       {.name = "version", .key = 'V'}};

struct words {
    const char *command;                           /* "gpufloor run" */
    const struct argp_option *option[OPTIONS_MAX]; /* declared; argp's own are the last ones */
    size_t n_options;
    struct option longs[OPTIONS_MAX + 1]; /* the same, for getopt */
    char shorts[2 * OPTIONS_MAX + 1];
    bool given[OPTIONS_MAX];
    const char *value[OPTIONS_MAX]; /* the last one that was given */
};

static void declare(struct words *w, const struct argp_option *option)
{
    const size_t i = w->n_options;
    if (i == OPTIONS_MAX)
        return;
    w->option[i] = option;
    w->longs[i] = (struct option){option->name, option->arg ? required_argument : no_argument, NULL,
                                  FIRST_INDEX + (int)i};
    if (option->key > ' ' && option->key < 127)
        snprintf(w->shorts + strlen(w->shorts), 3, "%c%s", option->key, option->arg ? ":" : "");
    w->n_options++;
}

static size_t index_of(const struct words *w, int key)
{
    if (key >= FIRST_INDEX)
        return (size_t)(key - FIRST_INDEX);
    for (size_t i = 0; i < w->n_options; i++)
        if (w->option[i]->key == key)
            return i;
    return OPTIONS_MAX;
}

/* One line about a word that getopt does not take. */
_Noreturn static void refuse(const struct words *w, const char *word)
{
    struct suggest near;
    char typed[SUGGEST_WORD], option[SUGGEST_WORD], meant[SUGGEST_TEXT], many[400] = "";
    const size_t length = strcspn(word, "=");
    const struct argp_option *found = NULL;
    size_t n_found = 0;

    snprintf(typed, sizeof typed, "%.*s", (int)length, word);
    near = suggest_for(typed);
    for (size_t i = 0; i < w->n_options; i++) {
        snprintf(option, sizeof option, "--%s", w->option[i]->name);
        const bool exact = !strcmp(option, typed);
        if (strncmp(word, "--", 2) ? optopt == w->option[i]->key
                                   : !strncmp(option, typed, length)) {
            found = w->option[i];
            n_found = exact ? 1 : n_found + 1;
            snprintf(many + strlen(many), sizeof many - strlen(many), " %s", option);
        }
        if (exact && !strncmp(word, "--", 2))
            break;
        suggest_try(&near, option);
    }
    if (n_found > 1)
        out_say("%s: '%s' may be one of%s\n", w->command, typed, many);
    else if (n_found == 1 && found->arg)
        out_say("%s: --%s: expected --%s=%s\n", w->command, found->name, found->name,
                found->arg);
    else if (n_found == 1)
        out_say("%s: --%s: takes no value\n", w->command, found->name);
    else if (near.best[0] && !strncmp(word, "--", 2))
        out_say("%s: unknown option '%s'%s\n", w->command, typed,
                suggest_text(meant, &near));
    else
        out_say("%s: unknown option '%s': expected one that '%s --help' shows\n",
                w->command, typed, w->command);
    exit(EXIT_TROUBLE);
}

/* False if help is asked for, for which nothing is refused. */
static bool look(struct words *w, int argc, char **argv)
{
    const int before = opterr;
    bool helps_only = false;
    int key;

    optind = 0; /* begin anew */
    opterr = 0;
    while (!helps_only && (key = getopt_long(argc, argv, w->shorts, w->longs, NULL)) != -1) {
        helps_only = key == '?' && optopt == '?'; /* -? */
        if (key == '?' && !helps_only) {
            char letter[] = {'-', (char)optopt, '\0'};
            const char *word = argv[optind - 1];
            refuse(w, !strncmp(word, "--", 2) ? word : optopt ? letter : word);
        }
        const size_t i = index_of(w, key);
        helps_only = helps_only || (i >= w->n_options - HELP_OPTIONS && i < w->n_options);
        if (i < w->n_options) {
            w->given[i] = true;
            w->value[i] = optarg;
        }
    }
    opterr = before;
    optind = 0;
    return !helps_only;
}

/* --- what excludes each other ----------------------------------------------------------------- */

/* Is that option given; of "format=json", with that value? */
static bool is_given(const struct words *w, const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    const size_t n = equals ? (size_t)(equals - word) : length;

    for (size_t i = 0; i < w->n_options; i++)
        if (w->given[i] && strlen(w->option[i]->name) == n && !strncmp(w->option[i]->name, word, n))
            return !equals || (w->value[i] && strlen(w->value[i]) == length - n - 1 &&
                               !strncmp(w->value[i], equals + 1, length - n - 1));
    return false;
}

static void judge(const struct words *w, const struct exclusion *exclusions)
{
    for (const struct exclusion *e = exclusions; e && e->option; e++) {
        if (!is_given(w, e->option, strlen(e->option)))
            continue;
        for (const char *at = e->others; *at; at += strspn(at, " ")) {
            const size_t length = strcspn(at, " ");
            if (is_given(w, at, length)) {
                out_say("%s: --%s: not together with --%.*s%s%s\n", w->command, e->option,
                        (int)length, at, e->why ? ": " : "", e->why ? e->why : "");
                exit(EXIT_TROUBLE);
            }
            at += length;
        }
    }
}

void command_parse(const struct argp *argp, const struct exclusion *exclusions, int argc,
                   char **argv, void *input)
{
    struct argp with_help = *argp;
    struct words w = {.command = argv[0]};

    for (const struct argp_option *option = argp->options; option && option->name; option++)
        declare(&w, option);
    for (size_t i = 0; i < HELP_OPTIONS; i++)
        declare(&w, &helps[i]);
    if (look(&w, argc, argv))
        judge(&w, exclusions);
    with_help.children = help_children;
    argp_parse(&with_help, argc, argv, 0, NULL, input);
}

/* --- bundles ---------------------------------------------------------------------------------- */

void command_one_stdin(const char *command, const char *const paths[], size_t n)
{
    size_t n_stdin = 0;
    for (size_t i = 0; i < n; i++)
        n_stdin += !strcmp(paths[i], "-");
    if (n_stdin < 2)
        return;
    out_say("gpufloor %s: '-' stands there %zu times: one bundle can come from stdin\n",
            command, n_stdin);
    exit(EXIT_TROUBLE);
}
