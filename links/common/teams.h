/* The host's side of team.h: the state of all ranks, and whether somebody waited in vain. */
#ifndef LINKS_COMMON_TEAMS_H
#define LINKS_COMMON_TEAMS_H

#include "links/common/links.h"
#include "links/common/team.h"

enum { TEAMS_BUDGET_NS = 900000000 };

struct teams {
    struct links *links;
    struct links_memory state; /* a struct team_state on each GPU */
    struct team team[LINKS_MOST]; /* what each rank's kernels take */
};
struct teams teams_open(struct links *l);

/* Waits for all ranks. Fails the run, and says who waited for whom, if a kernel gave up. */
void teams_wait(struct probe_run *r, const struct teams *t);

#endif
