/* probe_respawn(): a probe runs itself in a child process, to survive what the child does. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/run.h"

/* The child stays in this process group, so that whoever watches or stops the probe also watches
 * and stops the child; and it dies with the probe. Its stdout is ignored. */
_Noreturn static void become(char *const argv[], pid_t parent, int said)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before it could be watched */
        _exit(127);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
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

int probe_respawn(struct probe_run *r, const char *parameter, int64_t value, int limit_ms,
                  char *said, size_t size)
{
    char set[96], device[16];
    char *argv[] = {(char *)(uintptr_t)probe.name, "--device", device, "--set", set, NULL};
    int ends[2], status = 0;

    said[0] = '\0';
    snprintf(set, sizeof set, "%s=%lld", parameter, (long long)value);
    snprintf(device, sizeof device, "%d", r->options.device);
    if (pipe2(ends, O_CLOEXEC) != 0)
        probe_fail(r, "no pipe to a child process: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        probe_fail(r, "no child process: %s", strerror(errno));
    if (child == 0)
        become(argv, parent, ends[1]);
    close(ends[1]);

    bool ended = listen_until(ends[0], probe_host_ns() + (uint64_t)limit_ms * 1000000, said, size);
    close(ends[0]);
    if (!ended)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}
