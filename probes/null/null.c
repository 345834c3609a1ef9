/* null: what does the harness itself cost?
 *
 * Method. Two figures without a subject. The first is an empty timed region: two readings of the
 * host clock. The second is the time from starting a program of this suite to its end, which
 * `gpufloor run` pays once per probe. Most of it is making a GPU context, so it is measured without
 * one (--list needs none) and, if there is a GPU, with one (--check makes one).
 *
 * Inside the timed region: nothing; or posix_spawn to waitpid of this same program.
 * Expected: 20 to 60 ns; about 1 ms without and 0.2 to 0.4 s with a context.
 *
 * The child with a context is this probe under --check, which starts no child of its own.
 *
 * Check. The host clock must see a sleep of known length: at least as long as asked for, and no
 * longer than the raw clock, read around it, says. */
#include "core/probe.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EMPTY, PROCESS };
static const struct probe_metric metrics[] = {
    [EMPTY] = {"empty", "ns", PROBE_LOWER, .timer = "wall",
        .what = "an empty timed region: two readings of the host clock"},
    [PROCESS] = {"process", "ns", PROBE_LOWER, .timer = "wall", .keys = "context",
        .what = "start to end of a program of this suite, without and with a GPU context"},
};

enum { SLEEP_NS = 1000000 };

extern char **environ;

/* Runs this program with one option, output thrown away. Returns its exit status, or -1. */
static int child(const char *option)
{
    char self[] = "/proc/self/exe", *arguments[] = {self, strdup(option), NULL};
    posix_spawn_file_actions_t quiet;
    pid_t pid;
    int status = -1;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, self, &quiet, NULL, arguments, environ) == 0 &&
        waitpid(pid, &status, 0) == pid)
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    posix_spawn_file_actions_destroy(&quiet);
    free(arguments[1]);
    return status;
}

static double raw_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Other work on the machine can only lengthen the sleep and the reading around it, so that neither
 * bound fails for it. The host clock is slewed by at most 0.05 % against the raw one; 1 % is
 * allowed. */
static void check_clock(struct probe_run *r)
{
    const struct timespec sleep = {.tv_nsec = SLEEP_NS};
    const double around = raw_ns();
    const uint64_t t0 = probe_host_ns();

    if (clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, NULL) != 0)
        return; /* a signal: the run is ending */

    const double slept = (double)(probe_host_ns() - t0), most = raw_ns() - around;

    probe_require(r, slept >= 0.99 * SLEEP_NS && slept <= 1.01 * most,
                  "the host clock sees a sleep of %d ns as %.0f ns, of at most %.0f ns", SLEEP_NS,
                  slept, most);
}

static void measure(struct probe_run *r)
{
    check_clock(r);
    if (probe_begin_case(r, 0, PROBE_NO_KEYS))
        while (probe_more(r)) {
            uint64_t t0 = probe_host_ns();

            uint64_t t1 = probe_host_ns();

            probe_sample(r, EMPTY, 1, (double)(t1 - t0));
        }
    if (probe_is_check_run(r))
        return;

    if (probe_begin_case(r, 0, "context=no"))
        while (probe_more(r)) {
            uint64_t t0 = probe_host_ns();

            int status = child("--list");

            probe_sample(r, PROCESS, 1, (double)(probe_host_ns() - t0));
            if (status != 0)
                probe_fail(r, "a child of this probe left with %d", status);
        }

    if (!probe_has_gpu(r) || !probe_begin_case(r, 0, "context=yes"))
        return;

    /* It takes 0.3 s: one in every round, and no sample loop. */
    uint64_t t0 = probe_host_ns();

    int status = child("--check");

    probe_sample(r, PROCESS, 1, (double)(probe_host_ns() - t0));
    if (status != 0)
        probe_fail(r, "a child of this probe with a context left with %d", status);
}

const struct probe probe = {
    .name = "null",
    .what = "What does the harness itself cost?",
    .method = 1,
    .needs = PROBE_GPU_IF_ANY,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
