/* One child process: its output read in full, a time limit, and a way to stop it. */
#ifndef REPORT_CLI_CHILD_H
#define REPORT_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child_result {
    char *out; /* stdout, n_out bytes and a terminating zero */
    size_t n_out;
    char said[400]; /* the last line of its stderr */
    int exit_code;  /* -1 when a signal ended it */
    int signal;
    pid_t group; /* its process group, which is gone */
    bool timed_out, stopped, too_long;
    double elapsed_s;
};

/* Called about ten times a second while the child runs; the child leads process group `group`.
 * Returning false stops it. */
typedef bool child_tick(void *context, pid_t group);

/* Runs argv[0] in a process group of its own, with nothing on its stdin, and waits for its end. The
 * whole group is killed when the limit passes or tick (which may be NULL) returns false, and when
 * this process dies, by whatever signal. False, with one line in said, if it could not be started.
 * Release with child_free either way. */
bool child_run(const char *const argv[], double limit_s, child_tick *tick, void *context,
               struct child_result *result);
void child_free(struct child_result *result);

/* How it ended, in one line: "timed out after 120 s", "killed by signal 11 (Segmentation fault)".
 * Returns text. */
char *child_end(const struct child_result *result, double limit_s, char *text, size_t size);

/* The SHA-256 of a file in hexadecimal digits, by the program sha256sum. False, with "", if that
 * cannot tell. */
enum { CHILD_HASH = 65 };
bool child_sha256(const char *path, char hash[CHILD_HASH]);

/* Monotonic clock in seconds. */
double child_now_s(void);

#endif
