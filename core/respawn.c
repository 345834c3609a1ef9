/* A program runs itself in a child process, to survive what the child does or to have several GPUs'
 * work done by processes of their own. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/respawn.h"
#include "core/run.h"

/* The child stays in this process group, so that whoever watches or stops the probe also watches
 * and stops the child; and it dies with the probe. Its stdout is ignored. */
_Noreturn static void become(char *const argv[], pid_t parent, int said, int given)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before it could be watched */
        _exit(127);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    if (given == RESPAWN_GIVEN)
        fcntl(given, F_SETFD, 0);
    else if (given >= 0)
        dup2(given, RESPAWN_GIVEN);
    execv("/proc/self/exe", argv);
    _exit(127);
}

/* Keeps the last line that comes through the pipe, until it is closed or the time is up. */
static bool listen_until(int pipe, uint64_t deadline_ns, char *said, size_t size)
{
    size_t used = 0;
    bool line_over = false;

    for (;;) {
        char text[512];
        uint64_t now = probe_host_ns();
        struct pollfd ready = {.fd = pipe, .events = POLLIN};
        if (now >= deadline_ns)
            return false;
        int n_ready = poll(&ready, 1, (int)((deadline_ns - now) / 1000000) + 1);
        if (n_ready < 0 && errno == EINTR)
            continue;
        ssize_t n = n_ready > 0 ? read(pipe, text, sizeof text) : 0;
        if (n_ready > 0 && n <= 0)
            return true;
        for (ssize_t i = 0; i < n; i++) {
            if (line_over)
                used = 0;
            line_over = text[i] == '\n';
            if (!line_over && used + 1 < size)
                said[used++] = text[i];
            said[used] = '\0';
        }
    }
}

struct respawned respawn_start(struct probe_run *r, char *const argv[], int given)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        probe_fail(r, "no pipe to a child process: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        probe_fail(r, "no child process: %s", strerror(errno));
    if (child == 0)
        become(argv, parent, ends[1], given);
    close(ends[1]);
    return (struct respawned){child, ends[0]};
}

int respawn_end(struct respawned child, int limit_ms, char *said, size_t size)
{
    int status = 0;

    said[0] = '\0';
    bool ended =
        listen_until(child.said, probe_host_ns() + (uint64_t)limit_ms * 1000000, said, size);
    close(child.said);
    if (!ended)
        kill(child.pid, SIGKILL);
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

int probe_respawn(struct probe_run *r, const char *parameter, int64_t value, int limit_ms,
                  char *said, size_t size)
{
    char set[96], device[16];
    char *argv[] = {(char *)(uintptr_t)probe.name, "--device", device, "--set", set, NULL};

    snprintf(set, sizeof set, "%s=%lld", parameter, (long long)value);
    snprintf(device, sizeof device, "%d", r->options.device);
    return respawn_end(respawn_start(r, argv, -1), limit_ms, said, size);
}

/* --- a child that is gone --------------------------------------------------------------------- */

enum { GONE_S = 8 };
static volatile sig_atomic_t may_end;
static char gone_says[160];

static void on_end(int number)
{
    (void)number;
    if (!may_end)
        alarm(GONE_S);
}

_Noreturn static void on_alarm(int number)
{
    (void)number;
    _exit(write(STDERR_FILENO, gone_says, strlen(gone_says)) < 0 ? 2 : 1);
}

void respawn_watch(void)
{
    const struct sigaction end = {.sa_handler = on_end, .sa_flags = SA_RESTART | SA_NOCLDSTOP},
                           late = {.sa_handler = on_alarm};

    snprintf(
        gone_says, sizeof gone_says,
        "%s: a process of its own ended, and a call that waits for it has not returned for %d s\n",
        probe.name, GONE_S);
    may_end = 0;
    sigaction(SIGCHLD, &end, NULL);
    sigaction(SIGALRM, &late, NULL);
}

void respawn_may_end(bool may)
{
    may_end = may;
}
