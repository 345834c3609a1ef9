#include "links/common/teams.h"

struct teams teams_open(struct links *l)
{
    struct teams t = {.links = l, .state = links_alloc(l, sizeof(struct team_state), "a team")};

    for (int rank = 0; rank < links_gpus(l); rank++) {
        struct team *team = &t.team[rank];
        *team = (struct team){.rank = (uint32_t)rank,
                              .ranks = (uint32_t)links_gpus(l),
                              .budget_ns = TEAMS_BUDGET_NS};
        for (int k = 0; k < links_gpus(l); k++)
            team->state[k] = (struct team_state *)(void *)t.state.at[rank][k];
        team->mine = team->state[rank];
        links_fill(l, rank, team->mine, 0, sizeof *team->mine);
    }
    links_wait(l);
    return t;
}

void teams_wait(struct probe_run *r, const struct teams *t)
{
    uint32_t lost = 0;

    links_wait(t->links);
    links_read(t->links, 0, &lost, &t->team[0].mine->lost, sizeof lost);
    if (lost != 0)
        probe_fail(r, "rank %u waited for rank %u for %d ms in vain", lost >> 8 & 255, lost & 255,
                   TEAMS_BUDGET_NS / 1000000);
}
