/* A child process that does not outlive this one, however this one ends. */
#ifndef REPORT_CLI_SPAWN_H
#define REPORT_CLI_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawned {
    pid_t pid;    /* leads a process group of its own */
    pid_t keeper; /* kills that group when this process is gone; -1: none */
    int life;     /* closed when this process is gone */
};

/* Starts argv[0], looked up in PATH, with nothing on its stdin and with the given descriptors as
 * its stdout and stderr. False, with the error in errno, if it could not be started. */
bool spawn_start(struct spawned *child, const char *const argv[], int out, int talk);

/* Kills the group: the child if it still runs, and what it left there. Returns its wait status. */
int spawn_end(struct spawned *child);

/* From now on, what a child leaves behind outside its group becomes a child of this process. */
void spawn_adopt(void);

struct orphan {
    pid_t pid;
    char name[32];
};

/* Processes that were left behind outside the group of their starter, and still run. At most max
 * are written; returns how many. */
size_t spawn_orphans(pid_t group, struct orphan *orphans, size_t max);

#endif
