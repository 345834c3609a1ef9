/* gpufloor: the command line. Each command is a file of its own; see command.h. */
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/version.h"
#include "report/cli/command.h"
#include "report/cli/memory.h"
#include "report/cli/suggest.h"
#include "report/page/out.h"

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv);
    bool is_held; /* what it prints is made by then, and printed at its end */
    const char *what;
} commands[] = {
    {"list", list_main, true, "probes, their metrics and parameters, and what each needs"},
    {"run", run_main, false, "measure this machine: rounds of every probe, one bundle, a report"},
    {"report", report_main, true, "the answers of a bundle; several side by side; many by date"},
    {"compare", compare_main, true, "two bundles: FASTER, SLOWER, SAME or UNSURE for every metric"},
    {"claims", claims_main, true, "the ledger: what a bundle says of each published claim"},
    {"floor", floor_main, true, "the latency floor of a model's forward pass on a bundle's board"},
    {"check", check_main, true, "may a bundle be contributed to results/?"},
    {"counters", counters_main, false, "the same cases under hardware counters, as a cross-check"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *command_of(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static void list_commands(FILE *out)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
}

static char *help_text(int key, const char *text, void *input)
{
    char *made = NULL;
    size_t size = 0;
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)text;

    FILE *out = open_memstream(&made, &size);
    if (!out)
        return NULL;
    fprintf(out, "Commands:\n");
    list_commands(out);
    fprintf(out, "\n'gpufloor help COMMAND' says more. Results go to stdout, talk to stderr.");
    fclose(out);
    return made;
}

/* Words that the documents use, and no command has: "; the ledger is 'gpufloor claims'". */
static const char *meant_by(const char *name)
{
    static const char *const words[][2] = {
        {"ledger", "; the ledger is 'gpufloor claims'"},
        {"page", "; a page is written by 'gpufloor report --html=FILE'"},
        {"html", "; a page is written by 'gpufloor report --html=FILE'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(words[i][0], name))
            return words[i][1];
    return NULL;
}

_Noreturn static void unknown(const char *name)
{
    struct suggest near = suggest_for(name);
    char meant[SUGGEST_TEXT];

    out_say("gpufloor: unknown command '%s': expected one of", name);
    suggest_try(&near, "help");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        out_say(" %s", commands[i].name);
        suggest_try(&near, commands[i].name);
    }
    out_say("%s\n", meant_by(name) ? meant_by(name) : suggest_text(meant, &near));
    exit(EXIT_TROUBLE);
}

_Noreturn static void no_command(void)
{
    fputs("Usage: gpufloor COMMAND [ARGUMENT...]\n", stderr);
    list_commands(stderr);
    fputs("'gpufloor help COMMAND' says more.\n", stderr);
    exit(EXIT_TROUBLE);
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    (void)state;
    if (key == ARGP_KEY_ARG) /* behind "--" */
        unknown(argument);
    if (key == ARGP_KEY_NO_ARGS)
        no_command();
    return ARGP_ERR_UNKNOWN;
}

static int start(const struct command *command, int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "gpufloor %s", command->name);
    argv[0] = name;
    if (command->is_held)
        memory_hold_stdout();
    return command->main(argc, argv);
}

/* Without a command: --help, --version, or a mistake. */
static int parse(int argc, char **argv)
{
    const struct argp parser = {.parser = take, .args_doc = "COMMAND [ARGUMENT...]",
                                .doc = "How fast can this GPU possibly answer?\v",
                                .help_filter = help_text};
    char name[] = "gpufloor";

    if (argc > 1 && argv[1][0] != '-')
        unknown(argv[1]);
    argv[0] = name;
    command_parse(&parser, NULL, argc, argv, NULL);
    return EXIT_TROUBLE;
}

/* gpufloor help [COMMAND] */
static int help(int argc, char **argv)
{
    char all[] = "gpufloor", option[] = "--help";
    char *words[] = {all, option, NULL};

    if (argc > 2) {
        out_say("gpufloor help: unexpected argument '%s': expected one command\n", argv[2]);
        return EXIT_TROUBLE;
    }
    if (argc < 2)
        return parse(2, words);
    const struct command *command = command_of(argv[1]);
    if (!command)
        unknown(argv[1]);
    return start(command, 2, words);
}

/* A descriptor that is closed would be given to the next file that is opened, and talk would go
 * into a bundle. In its place stands one that cannot be used. */
static void fill_descriptors(void)
{
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 &&
            open("/dev/null", descriptor ? O_RDONLY : O_WRONLY) < 0)
            _exit(EXIT_TROUBLE);
}

/* At every exit, that of --help included: a full disk or a closed pipe shows only when it is
 * flushed. */
static void check_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    out_say("gpufloor: stdout could not be written in full\n");
    _exit(EXIT_TROUBLE);
}

int main(int argc, char **argv)
{
    /* A document is freed as a whole, in small parts. The C library would keep those apart, and
     * join them later in a walk through all of them. */
    mallopt(M_MXFAST, 0);
    fill_descriptors();
    atexit(check_stdout);
    argp_program_version = version_line;
    argp_err_exit_status = EXIT_TROUBLE;

    const struct command *command = argc > 1 ? command_of(argv[1]) : NULL;
    if (command)
        return start(command, argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "help"))
        return help(argc - 1, argv + 1);
    return parse(argc, argv);
}
