/* Sections of what no program of this version measures. */
#include <stdio.h>
#include <string.h>

#include "report/page/sections.h"

const char *const layer_needs[] = {NULL};
const char *const links_needs[] = {NULL};

/* Of a later version, whose rows this one shows in the list only. */
static bool has_part(const struct summary *summary, const char *const *programs)
{
    for (size_t i = 0; i < summary->bundle->n_parts; i++)
        for (const char *const *name = programs; *name; name++)
            if (!strcmp(summary->bundle->parts[i].name, *name))
                return true;
    return false;
}

static void tell(const struct summary *summary, const char *const *programs, struct section *s)
{
    s->missing = has_part(summary, programs)
                     ? "this version does not tell it; its rows are in report --all"
                     : "not measured: no program of this version measures it";
}

void section_layer(const struct summary *summary, struct section *s)
{
    static const char *const programs[] = {"decoder_layer", NULL};
    s->name = "layer";
    s->title = "DECODER LAYER";
    tell(summary, programs, s);
}

void section_links(const struct summary *summary, struct section *s)
{
    static const char *const programs[] = {"peer_memory", "signal", "all_reduce", NULL};
    s->name = "links";
    s->title = "BETWEEN GPUS";
    tell(summary, programs, s);
}
