#include "core/nccl.h"

#include <stdio.h>

#include "core/plugin.h"
#include "core/run.h"

struct nccl {
    const struct nccl_plugin *plugin;
};

static void lose_rows(struct probe_run *r, const char *why)
{
    char line[400];
    snprintf(line, sizeof line, "no row of NCCL: %.360s", why);
    run_lost(r, line);
}

struct nccl *nccl_open(struct probe_run *r, char *why, size_t size)
{
    char reason[320];
    struct nccl *nccl = probe_host_alloc(r, sizeof *nccl);

    nccl->plugin = plugin_open("nccl", NCCL_PLUGIN_SYMBOL, reason, sizeof reason);
    if (nccl->plugin && nccl->plugin->open(reason, sizeof reason))
        return nccl;
    snprintf(why, size, "NCCL is not to be had: %s", reason);
    lose_rows(r, reason);
    return NULL;
}

const char *nccl_version(const struct nccl *nccl)
{
    return nccl->plugin->version();
}

static bool is_well(const struct nccl *nccl, int status, const char *what, char *why, size_t size)
{
    if (status != 0)
        snprintf(why, size, "NCCL does not %s: %s", what, nccl->plugin->says(status));
    return status == 0;
}

/* Without it there are no rows of NCCL, but all others. */
static bool is_granted(struct probe_run *r, const struct nccl *nccl, int status, const char *what)
{
    char why[320];
    const bool well = is_well(nccl, status, what, why, sizeof why);
    if (!well)
        lose_rows(r, why);
    return well;
}

bool nccl_draw_id(struct probe_run *r, const struct nccl *nccl, unsigned char id[NCCL_ID_BYTES])
{
    return is_granted(r, nccl, nccl->plugin->draw_id(id), "start");
}

bool nccl_join(struct probe_run *r, const struct nccl *nccl, const unsigned char id[NCCL_ID_BYTES],
               int ranks, int rank)
{
    return is_granted(r, nccl, nccl->plugin->join(id, ranks, rank), "connect the ranks");
}

void nccl_enqueue(struct probe_run *r, const struct nccl *nccl, const struct nccl_call *call)
{
    char why[320];
    if (!is_well(nccl, nccl->plugin->enqueue(call), "run", why, sizeof why))
        probe_fail(r, "%s", why);
}

void nccl_leave(const struct nccl *nccl)
{
    nccl->plugin->leave();
}

void *nccl_window(const struct nccl *nccl, size_t bytes)
{
    return nccl->plugin->window(bytes);
}
