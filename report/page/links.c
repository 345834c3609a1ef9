/* Between GPUs: how far another GPU is, what a collective takes by whom and from which size on, and a
 * model of two terms for each mechanism. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/sections.h"
#include "report/page/take.h"
#include "report/page/two_term.h"

enum { LOAD, ATOMIC, ONE_WAY, BARRIER, ORDERED, COPY, SUM };
const char *const links_needs[] = {
    [LOAD] = "peer_memory.load_time{gpus=*,level=%s,timer=device}",
    [ATOMIC] = "peer_memory.atomic_time{gpus=*,level=%s,timer=device}",
    [ONE_WAY] = "signal.one_way{gpus=*,order=%s,via=%s,timer=device}",
    [BARRIER] = "signal.barrier{gpus=*,blocks=%s,timer=device}",
    [ORDERED] = "signal.ordered_barrier{gpus=*,blocks=%s,timer=device}",
    [COPY] = "peer_memory.transfer_time{gpus=*,by=%s,directions=one,bytes=%s,timer=event}",
    [SUM] = "all_reduce.time{gpus=*,op=all_reduce,bytes=%s,type=bf16,impl=%s,mode=%s,timer=%s}",
    NULL,
};

/* --- one word, one flag ----------------------------------------------------------------------- */

static const struct {
    const char *label;
    int need;
    const char *first, *second;
} steps[] = {
    {"load from the next GPU's L2", LOAD, "l2", NULL},
    {"load from its memory", LOAD, "hbm", NULL},
    {"atomic addition in its L2", ATOMIC, "l2", NULL},
    {"flag, one way", ONE_WAY, "relaxed", "peer"},
    {"flag and value in one store", ONE_WAY, "packet", "peer"},
    {"flag that releases, acquired", ONE_WAY, "acquire", "peer"},
    {"flag through the host", ONE_WAY, "relaxed", "host"},
    {"barrier, a block on each", BARRIER, "1", NULL},
    {"barrier of all SMs", BARRIER, "sm", NULL},
    {"the same, with order", ORDERED, "sm", NULL},
};

static void tabulate_steps(const struct summary *summary, struct section *s)
{
    static const struct column columns[] = {{NULL, "between GPUs", NULL, 'l'},
                                            {NULL, "us", "us", 'r'}};
    struct grid *grid = NULL;

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct number time =
            take_number(summary, links_needs[steps[i].need], steps[i].first, steps[i].second);
        if (!number_there(&time))
            continue;
        grid = grid ? grid : section_grid(s, columns, 2);
        grid_text(grid, steps[i].label);
        grid_number(grid, &time);
    }
}

/* --- by whom, at which size ------------------------------------------------------------------- */

enum { SIZES_MAX = 16 };
enum { PUSH, TWO_SHOT, NCCL, WAYS = 7 };
static const struct {
    const char *head, *impl;
} ways[WAYS] = {
    [PUSH] = {"one shot", "push"},
    [TWO_SHOT] = {"two shots", "two_shot"},
    [NCCL] = {"NCCL", "nccl"}, /* and all behind it */
    {"LL", "nccl_ll"},
    {"LL128", "nccl_ll128"},
    {"Simple", "nccl_simple"},
    {"symmetric", "nccl_symmetric"},
};

/* An all-reduce of one size: in a kernel, and as a node of a graph by each way. */
struct sum {
    double bytes;
    struct number kernel, node[WAYS];
    int best, best_nccl; /* of the nodes; -1: none */
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int best_of(const struct sum *sum, int from, int to)
{
    int best = -1;
    for (int i = from; i < to; i++)
        if (number_there(&sum->node[i]) && (best < 0 || sum->node[i].value < sum->node[best].value))
            best = i;
    return best;
}

/* Sizes of a sweep's usable rows, ascending, each once. */
static size_t find_sizes(const struct summary *summary, const char *need, double *size)
{
    const struct row *row;
    size_t n = 0, kept = 0;

    for (size_t next = 0; n < SIZES_MAX * WAYS && (row = take_next(summary, need, &next));)
        if (!isnan(take_key(row, "bytes")))
            size[n++] = take_key(row, "bytes");
    qsort(size, n, sizeof *size, ascending);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || size[i] > size[kept - 1])
            size[kept++] = size[i];
    return kept < SIZES_MAX ? kept : SIZES_MAX;
}

static size_t find_sums(const struct summary *summary, struct sum *sum)
{
    double size[SIZES_MAX * WAYS];
    const size_t n = find_sizes(summary, links_needs[SUM], size);
    char bytes[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(bytes, sizeof bytes, "%.0f", size[i]);
        sum[i] = (struct sum){.bytes = size[i]};
        const struct number push =
            take_number(summary, links_needs[SUM], bytes, "push", "kernel", "device");
        const struct number two =
            take_number(summary, links_needs[SUM], bytes, "two_shot", "kernel", "device");
        const bool two_wins =
            number_there(&two) && !(number_there(&push) && push.value <= two.value);
        sum[i].kernel = two_wins ? two : push;
        for (int way = 0; way < WAYS; way++)
            sum[i].node[way] =
                take_number(summary, links_needs[SUM], bytes, ways[way].impl, "graph", "event");
        sum[i].best = best_of(&sum[i], PUSH, WAYS);
        sum[i].best_nccl = best_of(&sum[i], NCCL, WAYS);
    }
    return n;
}

static const char *say_bytes(struct section *s, double bytes)
{
    const struct number number = number_fact(bytes, "bytes");
    return section_say(s, &number, bytes >= 1 << 20 ? "MiB" : bytes >= 1 << 10 ? "KiB" : NULL);
}

static void tabulate_sums(const struct sum *sum, size_t n, struct section *s)
{
    struct column columns[2 + WAYS + 1] = {{"all-reduce", "of bf16", NULL, 'l'},
                                           {"in a", "kernel", "us", 'r'}};

    for (size_t i = 0; i < WAYS; i++)
        columns[2 + i] =
            (struct column){i == 0 ? "as a node of a graph, us" : NULL, ways[i].head, "us", 'r'};
    columns[2 + WAYS] = (struct column){"fastest", "node", NULL, 'l'};
    struct grid *grid = section_grid(s, columns, 2 + WAYS + 1);
    grid_span(grid, 2, WAYS);
    for (size_t i = 0; i < n; i++) {
        grid_text(grid, say_bytes(s, sum[i].bytes));
        grid_number(grid, &sum[i].kernel);
        for (int way = 0; way < WAYS; way++)
            grid_number(grid, &sum[i].node[way]);
        grid_text(grid, sum[i].best < 0      ? "-"
                        : sum[i].best > NCCL ? section_text(s, "NCCL %s", ways[sum[i].best].head)
                                             : ways[sum[i].best].head);
    }
}

/* Where the fastest node is NCCL's, and where it is ours: both in words, by size. */
static void say_crossover(const struct sum *sum, size_t n, struct section *s)
{
    size_t compared = 0, ours = 0, changes = 0, at = 0;
    bool last = false;

    for (size_t i = 0; i < n; i++) {
        if (sum[i].best < 0 || sum[i].best_nccl < 0 || best_of(&sum[i], PUSH, NCCL) < 0)
            continue;
        const bool is_ours = sum[i].best < NCCL;
        if (compared++ > 0 && is_ours != last) {
            changes++;
            at = i;
        }
        last = is_ours;
        ours += is_ours;
    }
    if (compared == 0)
        return;
    if (changes == 0)
        section_note(s, "The fastest node is %s at every size that both were measured with.",
                     ours ? "ours" : "NCCL's");
    else if (changes == 1)
        section_note(s, "The fastest node is %s below %s, and %s from there on.",
                     last ? "NCCL's" : "ours", say_bytes(s, sum[at].bytes),
                     last ? "ours" : "NCCL's");
    else
        section_note(s, "The fastest node is ours at %zu of %zu sizes; see the last column.", ours,
                     compared);
}

/* --- two terms -------------------------------------------------------------------------------- */

static const struct {
    const char *label;
    int need;
    const char *by, *mode, *timer;
} mechanisms[] = {
    {"copy by loads", COPY, "load", NULL, NULL},
    {"copy by stores", COPY, "store", NULL, NULL},
    {"bulk copies", COPY, "bulk", NULL, NULL},
    {"copy engine", COPY, "copy_engine", NULL, NULL},
    {"one shot, in a kernel", SUM, "push", "kernel", "device"},
    {"one shot, a node", SUM, "push", "graph", "event"},
    {"two shots, a node", SUM, "two_shot", "graph", "event"},
    {"NCCL, a node", SUM, "nccl", "graph", "event"},
};

/* The two-term model of one mechanism, and the row of its smallest size in *first. */
static struct two_term model_of(const struct summary *summary, size_t mechanism,
                                struct number *first)
{
    double size[SIZES_MAX * WAYS], bytes[SIZES_MAX], ns[SIZES_MAX];
    const int need = mechanisms[mechanism].need;
    const size_t n = find_sizes(summary, links_needs[need], size);
    size_t kept = 0;
    char text[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%.0f", size[i]);
        const char *by = mechanisms[mechanism].by;
        const struct number time =
            need == COPY ? take_number(summary, links_needs[need], by, text)
                         : take_number(summary, links_needs[need], text, by,
                                       mechanisms[mechanism].mode, mechanisms[mechanism].timer);
        if (!number_there(&time))
            continue;
        if (kept == 0)
            *first = time;
        bytes[kept] = size[i];
        ns[kept++] = time.value;
    }
    return two_term_of(bytes, ns, kept);
}

static void tabulate_models(const struct summary *summary, struct section *s)
{
    static const struct column columns[] = {
        {"fixed + bytes / rate", "from the ends of a sweep", NULL, 'l'},
        {"fixed", "us", "us", 'r'},
        {"rate", "GB/s", "GB/s", 'r'},
        {"half of it", "at", NULL, 'r'},
        {"between the ends", "off by %", "%", 'r'},
        {NULL, "at", NULL, 'r'},
    };
    struct grid *grid = NULL;

    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        struct number first;
        const struct two_term m = model_of(summary, i, &first);
        if (isnan(m.rate))
            continue;
        const struct number formed[] = {number_formed(m.fixed_ns, "ns", &first),
                                        number_formed(m.rate, "bytes/s", &first),
                                        number_formed(m.worst, "ratio", &first)};
        grid = grid ? grid : section_grid(s, columns, sizeof columns / sizeof columns[0]);
        grid_text(grid, mechanisms[i].label);
        grid_number(grid, &formed[0]);
        grid_number(grid, &formed[1]);
        grid_text(grid, m.half_bytes > 0 ? say_bytes(s, m.half_bytes) : "-");
        grid_number(grid, &formed[2]);
        grid_text(grid, say_bytes(s, m.worst_bytes));
    }
    if (grid)
        section_note(s,
                     "Off by: the greatest distance of the model from a time between the ends, of "
                     "which it knows nothing; above 0 it predicts too long a time.");
}

/* --- the section ------------------------------------------------------------------------------ */

enum { SHOWN_BYTES = 16 << 10 };

static void find(const struct summary *summary, const struct sum *sum, size_t n, struct section *s)
{
    const struct number flag = take_number(summary, links_needs[ONE_WAY], "relaxed", "peer");
    const char *word = number_there(&flag) ? section_text(s, "A word takes %s to another GPU",
                                                          section_say(s, &flag, NULL))
                                           : "";
    const char *sentence = "";

    for (size_t i = 0; i < n; i++) {
        const int ours = best_of(&sum[i], PUSH, NCCL);
        if (sum[i].bytes != SHOWN_BYTES || ours < 0 || sum[i].best_nccl < 0)
            continue;
        sentence = section_text(
            s, "%s16 KiB are added over all GPUs in %s as a node, by NCCL's best in %s",
            *word ? "; " : "", section_say(s, &sum[i].node[ours], NULL),
            section_say(s, &sum[i].node[sum[i].best_nccl], NULL));
    }
    if (*word || *sentence)
        s->finding = section_text(s, "%s%s.", word, sentence);
}

static bool has_rows(const struct summary *summary)
{
    for (size_t i = 0; links_needs[i]; i++) {
        size_t next = 0;
        if (take_next(summary, links_needs[i], &next))
            return true;
    }
    return false;
}

void section_links(const struct summary *summary, struct section *s)
{
    struct sum sum[SIZES_MAX];

    s->name = "links";
    s->title = "BETWEEN GPUS";
    if (!has_rows(summary)) {
        s->missing = "not measured: it takes two GPUs or four (gpufloor run --devices=0,1)";
        s->is_silent = true;
        return;
    }
    const size_t n = find_sums(summary, sum);
    find(summary, sum, n, s);
    tabulate_steps(summary, s);
    if (n > 0)
        tabulate_sums(sum, n, s);
    tabulate_models(summary, s);
    if (n > 0)
        say_crossover(sum, n, s);
    section_doubts(s);
}
