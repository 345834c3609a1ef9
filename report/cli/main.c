/* gpufloor: the command line. Each command is a file of its own; see command.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/version.h"
#include "report/cli/command.h"
#include "report/page/out.h"

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *what;
} commands[] = {
    {"list", list_main, "probes, their metrics and parameters, and what each needs"},
    {"run", run_main, "measure this machine: rounds of every probe, one bundle, then the report"},
    {"report", report_main, "the answers of a bundle, rows of several side by side, many by date"},
    {"compare", compare_main, "two bundles: FASTER, SLOWER, SAME or UNSURE for every metric"},
    {"claims", claims_main, "the ledger: what a bundle says of each published claim"},
    {"floor", floor_main, "the latency floor of a model's forward pass on a bundle's board"},
    {"check", check_main, "may a bundle be contributed to results/?"},
    {"counters", counters_main, "the same cases under hardware counters, as a cross-check"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

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
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
    fprintf(out, "\n'gpufloor COMMAND --help' says more. Results go to stdout, talk to stderr.");
    fclose(out);
    return made;
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_ARG:
        argp_failure(state, EXIT_TROUBLE, 0, "unknown command '%s': expected list, run, report, "
                     "compare, claims, check, floor or counters", argument);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, EXIT_TROUBLE, 0, "expected a command: list, run, report, compare, "
                     "claims, check, floor or counters");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
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
    char name[64];
    fill_descriptors();
    atexit(check_stdout);
    argp_program_version = version_line;
    argp_err_exit_status = EXIT_TROUBLE;

    for (size_t i = 0; argc > 1 && i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name))
            continue;
        snprintf(name, sizeof name, "gpufloor %s", commands[i].name);
        argv[1] = name;
        return commands[i].main(argc - 1, argv + 1);
    }
    const struct argp parser = {.parser = take, .args_doc = "COMMAND [ARGUMENT...]",
                                .doc = "How fast can this GPU possibly answer?\v",
                                .help_filter = help_text};
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, NULL);
    return EXIT_TROUBLE;
}
