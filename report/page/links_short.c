/* Between GPUs in short, for a README. */
#include <stdio.h>

#include "report/page/links.h"
#include "report/page/sections.h"
#include "report/page/take.h"

static void put(struct section *s, const char *what, const struct number *number,
                const char *beside)
{
    if (!number_there(number))
        return;
    grid_text(&s->grid[0], what);
    grid_number(&s->grid[0], number);
    grid_text(&s->grid[0], beside);
}

/* "by stores 369 GB/s"; "" without that number. */
static const char *say(struct section *s, const char *before, const struct number *number)
{
    if (!number_there(number))
        return "";
    return section_text(s, "%s %s%s", before, section_say(s, number, NULL),
                        number->status == ROW_THRICE ? " (median of three rounds)" : "");
}

static const char *join(struct section *s, const char *a, const char *b)
{
    return section_text(s, "%s%s%s", a, *a && *b ? ", " : "", b);
}

static void put_steps(const struct summary *summary, struct section *s)
{
    const struct number load = take_number(summary, links_needs[LINKS_LOAD], "hbm");
    const struct number flag = take_number(summary, links_needs[LINKS_ONE_WAY], "relaxed", "peer");
    const struct number acquire = take_number(summary, links_needs[LINKS_ONE_WAY], "acquire",
                                              "peer");
    const struct number barrier = take_number(summary, links_needs[LINKS_ORDERED], "sm");

    put(s, "a load from another GPU's memory", &load,
        join(s,
             join(s, say(s, "a flag to it", &flag),
                  say(s, "one behind which stored data are visible", &acquire)),
             say(s, "a barrier of all SMs of all GPUs, with order", &barrier)));
}

static void put_copy(const struct summary *summary, struct section *s)
{
    double size[LINKS_SIZES_FOUND];
    const size_t n = links_sizes(summary, LINKS_RATE, size);
    char bytes[32];

    if (n == 0)
        return;
    snprintf(bytes, sizeof bytes, "%.0f", size[n - 1]);
    const char *const need = links_needs[LINKS_RATE];
    const struct number engine = take_number(summary, need, "copy_engine", "one", bytes);
    const struct number store = take_number(summary, need, "store", "one", bytes);
    put(s,
        section_text(s, "a copy of %s to another GPU, by the copy engine",
                     links_say_bytes(s, size[n - 1])),
        &engine, say(s, "by stores", &store));
}

static void put_sum(const struct summary *summary, struct section *s)
{
    const char *const need = links_needs[LINKS_SUM];
    const struct number kernel = take_number(summary, need, "16384", "push", "kernel", "device");
    const struct number node = take_number(summary, need, "16384", "push", "graph", "event");
    const struct number nccl = take_number(summary, need, "16384", "nccl", "graph", "event");
    const struct number symmetric =
        take_number(summary, need, "16384", "nccl_symmetric", "graph", "event");
    const bool is_symmetric = number_there(&symmetric) && !(nccl.value <= symmetric.value);

    put(s, "16 KiB of bf16 added over all GPUs, in a kernel", &kernel,
        join(s, say(s, "as a node of a graph", &node),
             say(s, is_symmetric ? "by NCCL with symmetric memory" : "by NCCL",
                 is_symmetric ? &symmetric : &nccl)));
}

static void put_layer(const struct summary *summary, struct section *s)
{
    const struct number push = take_number(summary, links_needs[LINKS_LAYER], "push");
    const struct number near = take_number(summary, links_needs[LINKS_LAYER], "near");
    const struct number graph = take_number(summary, links_needs[LINKS_LAYER], "graph_push");
    const struct number nccl = take_number(summary, links_needs[LINKS_LAYER], "graph_nccl");

    put(s, "a layer of Llama 8B over all GPUs, 1024 keys, one kernel",
        near.value < push.value ? &near : &push,
        join(s, say(s, "in a graph", &graph), say(s, "with NCCL's all-reduce", &nccl)));
}

void links_short(const struct summary *summary, struct section *s)
{
    put_steps(summary, s);
    put_copy(summary, s);
    put_sum(summary, s);
    put_layer(summary, s);
}
