/* The commands of gpufloor. Each takes its own argv, whose first word is "gpufloor NAME". */
#ifndef REPORT_CLI_COMMAND_H
#define REPORT_CLI_COMMAND_H

#include <argp.h>

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

/* Reads a whole number within bounds; else exits with one line that names the option. */
long long command_whole(const struct argp_state *state, const char *option, const char *text,
                        long long least, long long most);

#endif
