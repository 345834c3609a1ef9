/* Between GPUs: a decoder's layer that they share, beside one GPU's own where the bundle has it. */
#include <stdio.h>
#include <string.h>

#include "report/page/links.h"
#include "report/page/sections.h"
#include "report/page/take.h"

enum { PUSH, NEAR, GRAPH_PUSH, GRAPH_NCCL, WAYS };
static const struct {
    const char *label, *impl;
} ways[WAYS] = {
    [PUSH] = {"one kernel that stays", "push"},
    [NEAR] = {"the same, weights near", "near"},
    [GRAPH_PUSH] = {"graph, our all-reduce", "graph_push"},
    [GRAPH_NCCL] = {"graph, NCCL's all-reduce", "graph_nccl"},
};

/* Of one GPU, whose layer has twice the bytes of two; the first that the bundle has. */
static const struct {
    const char *label, *impl;
} alone[] = {{"one GPU, one kernel", "near"}, {"one GPU, one kernel", "values"}};

/* What a GPU must read of a layer, at the rate of its memory, over the layer's time. */
static struct number share_of(const struct summary *summary, const char *impl,
                              const struct number *time)
{
    const struct number bytes = take_number(summary, links_needs[LINKS_BYTES], impl);
    const struct number rate = summary_number(summary, "hbm-read");

    if (!number_there(&bytes) || !number_there(&rate))
        return number_none();
    return number_formed(bytes.value / rate.value * 1e9 / time->value, "ratio", time);
}

static struct number tokens_of(const struct number *step)
{
    return number_there(step) ? number_formed(1e9 / step->value, "count", step) : number_none();
}

static void put(struct grid *grid, const char *label, const struct number *time,
                const struct number *share, const struct number *step)
{
    const struct number tokens = tokens_of(step);

    grid_text(grid, label);
    grid_number(grid, time);
    grid_number(grid, share);
    grid_number(grid, step);
    grid_number(grid, &tokens);
}

static void put_alone(const struct summary *summary, struct grid *grid)
{
    const struct number none = number_none();

    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        const struct number time = take_number(summary, links_needs[LINKS_ALONE], alone[i].impl);
        if (!number_there(&time))
            continue;
        put(grid, alone[i].label, &time, &none, &none);
        return;
    }
}

/* "In one kernel it takes 57.9 us, in a graph with NCCL 1.44 times as long." */
static void say_gain(const struct number time[WAYS], struct section *s)
{
    const int best = number_there(&time[NEAR]) && time[NEAR].value < time[PUSH].value ? NEAR : PUSH;

    if (!number_there(&time[best]) || !number_there(&time[GRAPH_NCCL]))
        return;
    const struct number ratio = number_ratio(&time[GRAPH_NCCL], &time[best]);
    section_note(s, "A layer in one kernel takes %s; in a graph with NCCL it takes %s times that.",
                 section_say(s, &time[best], NULL), section_say(s, &ratio, ""));
}

void links_layer(const struct summary *summary, struct section *s)
{
    static const struct column columns[] = {
        {"a layer of Llama 8B", "over all GPUs, 1024 keys", NULL, 'l'},
        {NULL, "us", "us", 'r'},
        {"of a read", "%", "%", 'r'},
        {"whole step", "ms", "ms", 'r'},
        {NULL, "tokens/s", "", 'r'},
    };
    struct number time[WAYS];
    struct grid *grid = NULL;

    for (int way = 0; way < WAYS; way++) {
        time[way] = take_number(summary, links_needs[LINKS_LAYER], ways[way].impl);
        if (!number_there(&time[way]))
            continue;
        const struct number share = share_of(summary, ways[way].impl, &time[way]);
        const struct number step = take_number(summary, links_needs[LINKS_STEP], ways[way].impl);
        grid = grid ? grid : section_grid(s, columns, sizeof columns / sizeof columns[0]);
        put(grid, ways[way].label, &time[way], &share, &step);
    }
    if (!grid)
        return;
    put_alone(summary, grid);
    section_note(s,
                 "Of a read: what each GPU must read of a layer, at the rate of its memory, over "
                 "the time.");
    say_gain(time, s);
}
