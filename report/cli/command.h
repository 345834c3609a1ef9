/* The commands of gpufloor. Each takes its own argv, whose first word is "gpufloor NAME". */
#ifndef REPORT_CLI_COMMAND_H
#define REPORT_CLI_COMMAND_H

#include <argp.h>
#include <stddef.h>

#include "report/cli/table.h"

/* Exit statuses: fine; worse: a failed probe, a slower metric; trouble: usage, unreadable input. */
enum { EXIT_FINE = 0, EXIT_WORSE = 1, EXIT_TROUBLE = 2 };

int list_main(int argc, char **argv);
int run_main(int argc, char **argv);
int report_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int claims_main(int argc, char **argv);
int floor_main(int argc, char **argv);
int check_main(int argc, char **argv);
int counters_main(int argc, char **argv);

/* What is wrong with the words of a command, in one line behind its name, and why by errno unless
 * that is 0; then exits with EXIT_TROUBLE. Not argp_failure(), which prints what was typed as it
 * is. */
_Noreturn void command_fail(const struct argp_state *state, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads a whole number within bounds; else exits with one line that names the option. */
long long command_whole(const struct argp_state *state, const char *option, const char *text,
                        long long least, long long most);

/* A folder that can be read; else exits with one line that names the option. */
const char *command_folder(const struct argp_state *state, const char *option, const char *path);

/* Reads --format=WORD, which is one of those that `expected` names: "text, md or json"; else exits
 * with one line. */
enum table_format command_format(const struct argp_state *state, const char *word,
                                 const char *expected);

/* Options of a command of which one would have no effect. */
struct exclusion {
    const char *option; /* its long name, or one value of it: "format=json" */
    const char *others; /* the same of those that it excludes, with blanks between them */
    const char *why;    /* follows in the message; may be NULL */
};

/* As argp_parse(), with -h as --help. Leaves with EXIT_TROUBLE and one line for an option that is
 * not declared, which names the one that may have been meant, and for two that exclude each other
 * by a table that ends with {0}. */
void command_parse(const struct argp *argp, const struct exclusion *exclusions, int argc,
                   char **argv, void *input);

/* Leaves with EXIT_TROUBLE and one line if "-", which is stdin, stands there more than once. */
void command_one_stdin(const char *command, const char *const paths[], size_t n);

#endif
