/* Starting and ending a child. It dies with this process in two ways. The kernel kills the child
 * itself (PR_SET_PDEATHSIG). Its own children are in its process group, which a keeper kills: a
 * process that reads a pipe whose other end only this process holds, so that it wakes up when this
 * process is gone, by whatever signal. */
#include "report/cli/spawn.h"
#include "report/page/out.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, EXIT_NOT_STARTED = 127 };

/* --- starting --------------------------------------------------------------------------------- */

/* The child's side: never returns. What fails is written into the pipe, which exec closes. */
_Noreturn static void become(const char *const argv[], pid_t parent, int out, int talk, int failed)
{
    sigset_t none;
    int error;

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before it could be watched */
        _exit(EXIT_NOT_STARTED);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(talk, STDERR_FILENO) >= 0)
        execvp(argv[0], (char *const *)argv);
    error = errno;
    if (write(failed, &error, sizeof error) != sizeof error)
        _exit(EXIT_NOT_STARTED + 1);
    _exit(EXIT_NOT_STARTED);
}

/* The keeper is in a group of its own, which no terminal interrupts. It holds nothing open but its
 * end of the pipe. */
_Noreturn static void keep(pid_t group, int life)
{
    char nothing;
    setpgid(0, 0);
    dup2(life, 0);
    for (int descriptor = 1; descriptor < DESCRIPTORS; descriptor++)
        close(descriptor);
    while (read(0, &nothing, 1) < 0 && errno == EINTR)
        ;
    kill(-group, SIGKILL);
    _exit(0);
}

static void start_keeper(struct spawned *child)
{
    int life[2];
    if (pipe2(life, O_CLOEXEC) != 0)
        return;
    child->keeper = fork();
    if (child->keeper == 0)
        keep(child->pid, life[0]);
    close(life[0]);
    child->life = life[1];
}

bool spawn_start(struct spawned *child, const char *const argv[], int out, int talk)
{
    pid_t parent = getpid();
    int failed[2], error = 0;

    *child = (struct spawned){.pid = -1, .keeper = -1, .life = -1};
    if (pipe2(failed, O_CLOEXEC) != 0)
        return false;
    child->pid = fork();
    if (child->pid == 0)
        become(argv, parent, out, talk, failed[1]);
    if (child->pid < 0)
        error = errno;
    close(failed[1]);
    if (child->pid > 0) {
        setpgid(child->pid, child->pid);
        start_keeper(child);
        while (read(failed[0], &error, sizeof error) < 0 && errno == EINTR)
            ;
        if (error != 0)
            spawn_end(child);
    }
    close(failed[0]);
    errno = error;
    return error == 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

static int ended(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* The child is reaped last: until then its number, which names the group, is not given away. */
int spawn_end(struct spawned *child)
{
    kill(-child->pid, SIGKILL);
    if (child->keeper > 0) {
        kill(child->keeper, SIGKILL);
        ended(child->keeper);
    }
    if (child->life >= 0)
        close(child->life);
    return ended(child->pid);
}

/* --- what is left ----------------------------------------------------------------------------- */

void spawn_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Is that process one of ours that runs, outside the group? Its name may hold anything. */
static bool is_orphan(const char *number, pid_t group, struct orphan *orphan)
{
    char path[64], line[512] = "", state = 'Z';
    int parent = 0, of = 0;

    snprintf(path, sizeof path, "/proc/%.20s/stat", number);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    line[fread(line, 1, sizeof line - 1, file)] = '\0';
    fclose(file);
    char *begin = strchr(line, '('), *end = strrchr(line, ')');
    if (!begin || !end || sscanf(end + 1, " %c %d %d", &state, &parent, &of) != 3)
        return false;
    *end = '\0';
    orphan->pid = atoi(number);
    snprintf(orphan->name, sizeof orphan->name, "%.31s", begin + 1);
    out_ascii(orphan->name, sizeof orphan->name);
    return parent == getpid() && of != group && state != 'Z' && state != 'X';
}

size_t spawn_orphans(pid_t group, struct orphan *orphans, size_t max)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    size_t n = 0;

    while (waitpid(-1, NULL, WNOHANG) > 0) /* those of the group, which were killed */
        ;
    while (processes && n < max && (entry = readdir(processes)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            is_orphan(entry->d_name, group, &orphans[n]))
            n++;
    if (processes)
        closedir(processes);
    return n;
}
