/* Ranks as the kernels of one of them see them, for C and CUDA alike; team.cuh has the code. */
#ifndef LINKS_COMMON_TEAM_H
#define LINKS_COMMON_TEAM_H

#include <stdint.h>

#include "core/args.h"
#include "links/common/meeting.h"

/* In the memory of each rank, at the same place in all. The host sets it to zero before its first
 * use, and after a wait was given up. Launches of one team follow each other: one at a time may use
 * it, the same in all ranks. */
struct team_state {
    uint32_t lost; /* not 0: somebody waited in vain, see TEAM_LOST; all ranks have it */
    uint32_t pad[31];
    uint32_t arrived; /* blocks of this rank that have come to the barrier */
    uint32_t pad_arrived[31];
    uint32_t inbox[LINKS_MOST]; /* the last barrier to which each rank has come; written by it */
    uint32_t pad_inbox[28];
    uint64_t turn; /* exchange rounds of earlier launches */
    uint64_t pad_turn[15];
    uint32_t asked; /* blocks of this launch that have read it */
    uint32_t pad_asked[31];
};
ARGS_SIZE(struct team_state, 640);

enum {
    TEAM_LOST = 1 << 16, /* `lost` is this, + 256 x the rank that waited, + that for which it did */
};

struct team {
    uint32_t rank, ranks;
    uint32_t budget_ns;      /* no wait takes longer */
    uint32_t linger_ns;      /* 0; or up to how long a warp dallies before some rounds */
    struct team_state *mine; /* state[rank] */
    struct team_state *state[LINKS_MOST]; /* of each rank, as this one addresses it */
};
ARGS_SIZE(struct team, 56);

#endif
