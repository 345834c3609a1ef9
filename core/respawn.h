/* A program runs itself in another process. probe_respawn() in core/probe.h is for one experiment;
 * these two are for who talks to the process meanwhile. */
#ifndef CORE_RESPAWN_H
#define CORE_RESPAWN_H

#include <sys/types.h>

#include "core/probe.h"

/* The descriptor under which the child finds the one that it was given. */
enum { RESPAWN_GIVEN = 3 };

struct respawned {
    pid_t pid;
    int said; /* what it writes to stderr */
};

/* Starts this program with these arguments, argv[0] first, NULL last. `given` is a descriptor for
 * the child, or -1. It dies with this process. */
struct respawned respawn_start(struct probe_run *r, char *const argv[], int given);

/* Waits until the child has ended; after limit_ms it is killed. `said` gets the last line that it
 * wrote to stderr. Returns its exit status, -1 when it was killed for taking too long, -2 when a
 * signal ended it. */
int respawn_end(struct respawned child, int limit_ms, char *said, size_t size);

/* From here on, the end of a child ends this process, too, some seconds later and with one line: it
 * may be in a call that waits for that child for ever, as NCCL's do. Who notices before ends the
 * run by itself. Between respawn_may_end(true) and (false) children may end. */
void respawn_watch(void);
void respawn_may_end(bool may);

#endif
