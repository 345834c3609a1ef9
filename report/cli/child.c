#include "report/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/document.h"
#include "report/cli/spawn.h"
#include "report/page/out.h"

enum { TICK_MS = 100, READ_BYTES = 1 << 16 };

/* How long a grandchild may outlive the child and hold the pipes open. */
static const double LINGER_S = 0.5;

double child_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void failed_to_start(struct child_result *result, const char *what, int error)
{
    snprintf(result->said, sizeof result->said, "%s: %s", what, strerror(error));
}

/* Appends what a pipe holds. False at its end, or if there is too much. */
static bool take_out(int fd, struct child_result *result, size_t *room)
{
    if (result->n_out + READ_BYTES + 1 > *room) {
        size_t more = 2 * *room + READ_BYTES + 1;
        char *out = more > 2 * (size_t)DOCUMENT_BYTES_MAX ? NULL : realloc(result->out, more);
        if (!out) {
            result->too_long = true;
            return false;
        }
        result->out = out;
        *room = more;
    }
    ssize_t n = read(fd, result->out + result->n_out, READ_BYTES);
    if (n > 0)
        result->n_out += (size_t)n;
    result->out[result->n_out] = '\0';
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Keeps the end of what the child says; keep_last_line() cuts it at the end. */
static bool take_talk(int fd, struct child_result *result)
{
    char bytes[sizeof result->said / 2];
    ssize_t n = read(fd, bytes, sizeof bytes);
    size_t used = strlen(result->said), fresh = n > 0 ? (size_t)n : 0;
    size_t room = sizeof result->said - 1;

    for (size_t i = 0; i < fresh; i++)
        bytes[i] = bytes[i] ? bytes[i] : ' ';
    size_t kept = used + fresh > room ? room - fresh : used;
    memmove(result->said, result->said + used - kept, kept);
    memcpy(result->said + kept, bytes, fresh);
    result->said[kept + fresh] = '\0';
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* The line goes into documents, which accept valid text only. */
static void keep_last_line(char *said, size_t size)
{
    size_t n = strlen(said);
    while (n > 0 && (said[n - 1] == '\n' || said[n - 1] == '\r'))
        said[--n] = '\0';
    const char *line = strrchr(said, '\n');
    if (line)
        memmove(said, line + 1, strlen(line + 1) + 1);
    out_ascii(said, size);
}

/* Reads both pipes until they end, the limit passes, or the child must be stopped. */
static void listen(pid_t pid, int out, int talk, double limit_s, child_tick *tick, void *context,
                   struct child_result *result)
{
    struct pollfd ends[2] = {{.fd = out, .events = POLLIN}, {.fd = talk, .events = POLLIN}};
    double began = child_now_s(), gone_at = 0;
    size_t room = 0;

    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        siginfo_t info = {0};
        int n = poll(ends, 2, TICK_MS);
        if (n > 0 && ends[0].revents && !take_out(out, result, &room))
            ends[0].fd = -1;
        if (n > 0 && ends[1].revents && !take_talk(talk, result))
            ends[1].fd = -1;
        result->timed_out = child_now_s() - began > limit_s;
        result->stopped = tick && !tick(context, pid);
        if (result->timed_out || result->stopped || result->too_long)
            return;
        if (gone_at <= 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid)
            gone_at = child_now_s();
        if (gone_at > 0 && child_now_s() - gone_at > LINGER_S)
            return;
    }
    /* Both pipes are closed: the child now has to exit within the limit. */
    for (siginfo_t info = {0}; !info.si_pid && !result->timed_out && !result->stopped;) {
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
            return;
        if (!info.si_pid)
            usleep(2000);
        result->timed_out = child_now_s() - began > limit_s;
        result->stopped = tick && !tick(context, pid);
    }
}

bool child_run(const char *const argv[], double limit_s, child_tick *tick, void *context,
               struct child_result *result)
{
    int out[2] = {-1, -1}, talk[2] = {-1, -1}, status = 0;
    struct spawned child;
    double began = child_now_s();

    *result = (struct child_result){.exit_code = -1};
    bool piped = pipe2(out, O_CLOEXEC) == 0 && pipe2(talk, O_CLOEXEC) == 0;
    bool started = piped && spawn_start(&child, argv, out[1], talk[1]);
    if (!started)
        failed_to_start(result, piped ? argv[0] : "pipe", errno);
    for (int i = 0; i < 2; i++)
        if ((i ? talk : out)[1] >= 0)
            close((i ? talk : out)[1]);
    if (started) {
        result->group = child.pid;
        listen(child.pid, out[0], talk[0], limit_s, tick, context, result);
        status = spawn_end(&child);
        result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    for (int i = 0; i < 2; i++)
        if ((i ? talk : out)[0] >= 0)
            close((i ? talk : out)[0]);
    keep_last_line(result->said, sizeof result->said);
    result->elapsed_s = child_now_s() - began;
    return started;
}

void child_free(struct child_result *result)
{
    free(result->out);
    result->out = NULL;
}

char *child_end(const struct child_result *result, double limit_s, char *text, size_t size)
{
    if (result->timed_out)
        snprintf(text, size, "timed out after %.0f s", limit_s);
    else if (result->too_long)
        snprintf(text, size, "printed more than a document can be");
    else if (result->stopped)
        snprintf(text, size, "stopped");
    else if (result->signal)
        snprintf(text, size, "killed by signal %d (%s)", result->signal, strsignal(result->signal));
    else
        snprintf(text, size, "exit %d%s%.300s", result->exit_code, result->said[0] ? ": " : "",
                 result->said);
    return text;
}

bool child_sha256(const char *path, char hash[CHILD_HASH])
{
    enum { LIMIT_S = 600 };
    const char *const argv[] = {"sha256sum", "--", path, NULL};
    struct child_result result;
    const bool hashed = child_run(argv, LIMIT_S, NULL, NULL, &result) && result.exit_code == 0 &&
                        result.n_out >= CHILD_HASH;
    const char *digits = hashed && result.out[0] == '\\' ? result.out + 1 : result.out;
    snprintf(hash, CHILD_HASH, "%.64s", hashed ? digits : "");
    child_free(&result);
    return hashed;
}
