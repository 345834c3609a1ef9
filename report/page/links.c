/* Between GPUs: how far another GPU is, what a collective takes by whom and from which size on, and
 * a model of two terms for each mechanism. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/links.h"
#include "report/page/sections.h"
#include "report/page/take.h"
#include "report/page/two_term.h"

#define LAYER_KEYS "{model=8b,context=1024,gpus=*,impl=%s,l2=cold"
const char *const links_needs[] = {
    [LINKS_LOAD] = "peer_memory.load_time{gpus=*,level=%s,timer=device}",
    [LINKS_ATOMIC] = "peer_memory.atomic_time{gpus=*,level=%s,timer=device}",
    [LINKS_ONE_WAY] = "signal.one_way{gpus=*,order=%s,via=%s,timer=device}",
    [LINKS_BARRIER] = "signal.barrier{gpus=*,blocks=%s,timer=device}",
    [LINKS_ORDERED] = "signal.ordered_barrier{gpus=*,blocks=%s,timer=device}",
    [LINKS_COPY] = "peer_memory.transfer_time{gpus=*,by=%s,directions=one,bytes=%s,timer=event}",
    [LINKS_SUM] =
        "all_reduce.time{gpus=*,op=all_reduce,bytes=%s,type=bf16,impl=%s,mode=%s,timer=%s}",
    [LINKS_RATE] = "peer_memory.rate{gpus=*,by=%s,directions=%s,bytes=%s}",
    [LINKS_RAW] = "peer_memory.raw{gpus=*,by=%s,directions=one,bytes=%s}",
    [LINKS_SMS] = "peer_memory.sms_rate{gpus=*,by=%s,sms=%s,bytes=*}",
    [LINKS_LAYER] = "layer.time" LAYER_KEYS ",timer=event}",
    [LINKS_STEP] = "layer.step_time" LAYER_KEYS ",timer=event}",
    [LINKS_BYTES] = "layer.bytes" LAYER_KEYS "}",
    [LINKS_DIFFER] = "all_reduce.differ{gpus=*,op=*,bytes=*,type=*,impl=*,mode=*}",
    [LINKS_LAYER_DIFFER] = "layer.differ{model=*,context=*,gpus=*,impl=*,l2=*}",
    [LINKS_ALONE] =
        "decoder_layer.layer_time{model=8b,context=1024,batch=1,impl=%s,l2=cold,timer=event}",
    NULL,
};

/* --- one word, one flag ----------------------------------------------------------------------- */

static const struct {
    const char *label;
    int need;
    const char *first, *second;
} steps[] = {
    {"load from the next GPU's L2", LINKS_LOAD, "l2", NULL},
    {"load from its memory", LINKS_LOAD, "hbm", NULL},
    {"atomic addition in its L2", LINKS_ATOMIC, "l2", NULL},
    {"flag, one way", LINKS_ONE_WAY, "relaxed", "peer"},
    {"flag and value in one store", LINKS_ONE_WAY, "packet", "peer"},
    {"flag that releases, acquired", LINKS_ONE_WAY, "acquire", "peer"},
    {"flag through the host", LINKS_ONE_WAY, "relaxed", "host"},
    {"flag handed on by the host", LINKS_ONE_WAY, "relaxed", "relay"},
    {"barrier, a block on each", LINKS_BARRIER, "1", NULL},
    {"barrier of all SMs", LINKS_BARRIER, "sm", NULL},
    {"the same, with order", LINKS_ORDERED, "sm", NULL},
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

enum { PUSH, EARLY, TWO_SHOT, NCCL, NCCL_SYMMETRIC = NCCL + 4, WAYS };
static const struct {
    const char *head, *impl, *mode, *line; /* line: its curve; NULL: none */
} ways[WAYS] = {
    [PUSH] = {"one shot", "push", "graph", "one shot"},
    [EARLY] = {"early", "push", "dependent", "one shot, early start"},
    [TWO_SHOT] = {"two shots", "two_shot", "graph", "two shots"},
    [NCCL] = {"NCCL", "nccl", "graph", "NCCL"}, /* and all behind it */
    {"LL", "nccl_ll", "graph", NULL},
    {"LL128", "nccl_ll128", "graph", NULL},
    {"Simple", "nccl_simple", "graph", NULL},
    [NCCL_SYMMETRIC] = {"symmetric", "nccl_symmetric", "graph", "NCCL, symmetric"},
};

/* An all-reduce of one size: in a kernel, and as a node of a graph by each way. */
struct sum {
    double bytes;
    struct number kernel, node[WAYS];
    int best, best_ours, best_nccl; /* of the nodes that start when the one before has ended; -1:
                                     * none */
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the nodes from .. to - 1; an early start is another kind of node. */
static int best_of(const struct sum *sum, int from, int to)
{
    int best = -1;
    for (int i = from; i < to; i++)
        if (i != EARLY && number_there(&sum->node[i]) &&
            (best < 0 || sum->node[i].value < sum->node[best].value))
            best = i;
    return best;
}

size_t links_sizes(const struct summary *summary, int need, double size[LINKS_SIZES_FOUND])
{
    const struct row *row;
    size_t n = 0, kept = 0;

    for (size_t next = 0;
         n < LINKS_SIZES_FOUND && (row = take_next(summary, links_needs[need], &next));)
        if (!isnan(take_key(row, "bytes")))
            size[n++] = take_key(row, "bytes");
    qsort(size, n, sizeof *size, ascending);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || size[i] > size[kept - 1])
            size[kept++] = size[i];
    return kept < LINKS_SIZES ? kept : LINKS_SIZES;
}

static size_t find_sums(const struct summary *summary, struct sum *sum)
{
    const char *const need = links_needs[LINKS_SUM];
    double size[LINKS_SIZES_FOUND];
    const size_t n = links_sizes(summary, LINKS_SUM, size);
    char bytes[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(bytes, sizeof bytes, "%.0f", size[i]);
        sum[i] = (struct sum){.bytes = size[i]};
        const struct number push = take_number(summary, need, bytes, "push", "kernel", "device");
        const struct number two = take_number(summary, need, bytes, "two_shot", "kernel", "device");
        const bool two_wins =
            number_there(&two) && !(number_there(&push) && push.value <= two.value);
        sum[i].kernel = two_wins ? two : push;
        for (int way = 0; way < WAYS; way++)
            sum[i].node[way] =
                take_number(summary, need, bytes, ways[way].impl, ways[way].mode, "event");
        sum[i].best = best_of(&sum[i], PUSH, WAYS);
        sum[i].best_ours = best_of(&sum[i], PUSH, NCCL);
        sum[i].best_nccl = best_of(&sum[i], NCCL, WAYS);
    }
    return n;
}

const char *links_say_bytes(struct section *s, double bytes)
{
    const struct number number = number_fact(bytes, "bytes");
    return section_say(s, &number, bytes >= 1 << 20 ? "MiB" : bytes >= 1 << 10 ? "KiB" : NULL);
}

static bool has_early(const struct sum *sum, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (number_there(&sum[i].node[EARLY]))
            return true;
    return false;
}

static void tabulate_sums(const struct sum *sum, size_t n, struct section *s)
{
    struct column columns[2 + WAYS] = {{"all-reduce", "of bf16", NULL, 'l'},
                                       {"kernel", "us", "us", 'r'}};
    const bool early = has_early(sum, n);
    size_t n_columns = 2;

    for (int way = 0; way < WAYS; way++)
        if (way != EARLY || early)
            columns[n_columns++] =
                (struct column){way == PUSH ? "node, us" : NULL, ways[way].head, "us", 'r'};
    struct grid *grid = section_grid(s, columns, n_columns);
    grid_span(grid, 2, n_columns - 2);
    for (size_t i = 0; i < n; i++) {
        grid_text(grid, links_say_bytes(s, sum[i].bytes));
        grid_number(grid, &sum[i].kernel);
        for (int way = 0; way < WAYS; way++)
            if (way != EARLY || early)
                grid_number_with(grid, &sum[i].node[way], way == sum[i].best ? "*" : NULL);
    }
    section_note(
        s, "kernel: within a kernel that goes on; node: a kernel of its own in a graph; * the "
           "fastest. LL, LL128, Simple: NCCL held to one "
           "protocol; symmetric: memory that all GPUs registered.");
    if (early)
        section_go_on(s, "early: one shot, as a node that may start before the one before it has "
                         "ended; not compared with those that may not.");
}

static void draw_sums(const struct sum *sum, size_t n, struct section *s)
{
    struct series *kernel = section_series(s, "in a kernel", "bytes");

    for (size_t i = 0; i < n; i++)
        if (number_there(&sum[i].kernel))
            series_put(kernel, sum[i].bytes, &sum[i].kernel, NULL);
    for (int way = 0; way < WAYS; way++) {
        struct series *line = ways[way].line ? section_series(s, ways[way].line, "bytes") : NULL;
        for (size_t i = 0; line && i < n; i++)
            if (number_there(&sum[i].node[way]))
                series_put(line, sum[i].bytes, &sum[i].node[way], NULL);
    }
}

/* Where the fastest node is NCCL's, and where it is ours: both in words, by size. */
static void say_crossover(const struct sum *sum, size_t n, struct section *s)
{
    size_t compared = 0, ours = 0, changes = 0, at = 0;
    bool last = false;

    for (size_t i = 0; i < n; i++) {
        if (sum[i].best_nccl < 0 || sum[i].best_ours < 0)
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
                     last ? "NCCL's" : "ours", links_say_bytes(s, sum[at].bytes),
                     last ? "ours" : "NCCL's");
    else
        section_note(s, "The fastest node is ours at %zu of %zu sizes, which have the mark.", ours,
                     compared);
}

/* --- two terms -------------------------------------------------------------------------------- */

static const struct {
    const char *label;
    int need;
    const char *by, *mode, *timer;
} mechanisms[] = {
    {"copy by loads", LINKS_COPY, "load", NULL, NULL},
    {"copy by stores", LINKS_COPY, "store", NULL, NULL},
    {"copy in bulk", LINKS_COPY, "bulk", NULL, NULL},
    {"copy by copy engine", LINKS_COPY, "copy_engine", NULL, NULL},
    {"one shot, in a kernel", LINKS_SUM, "push", "kernel", "device"},
    {"one shot, a node", LINKS_SUM, "push", "graph", "event"},
    {"one shot, early start", LINKS_SUM, "push", "dependent", "event"},
    {"two shots, a node", LINKS_SUM, "two_shot", "graph", "event"},
    {"NCCL, a node", LINKS_SUM, "nccl", "graph", "event"},
};

/* The two-term model of one mechanism, and the row of its smallest size in *first. */
static struct two_term model_of(const struct summary *summary, size_t mechanism,
                                struct number *first)
{
    double size[LINKS_SIZES_FOUND], bytes[LINKS_SIZES], ns[LINKS_SIZES];
    const int need = mechanisms[mechanism].need;
    const size_t n = links_sizes(summary, need, size);
    size_t kept = 0;
    char text[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%.0f", size[i]);
        const char *by = mechanisms[mechanism].by;
        const struct number time =
            need == LINKS_COPY ? take_number(summary, links_needs[need], by, text)
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
        grid_text(grid, m.half_bytes > 0 ? links_say_bytes(s, m.half_bytes) : "-");
        grid_number(grid, &formed[2]);
        grid_text(grid, links_say_bytes(s, m.worst_bytes));
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
    const struct number flag = take_number(summary, links_needs[LINKS_ONE_WAY], "relaxed", "peer");
    const char *word = number_there(&flag) ? section_text(s, "A word takes %s to another GPU",
                                                          section_say(s, &flag, NULL))
                                           : "";
    const char *sentence = "";

    section_rests(s, &flag);
    for (size_t i = 0; i < n; i++) {
        if (sum[i].bytes != SHOWN_BYTES || sum[i].best_ours < 0 || sum[i].best_nccl < 0)
            continue;
        section_rests(s, &sum[i].node[sum[i].best_ours]);
        section_rests(s, &sum[i].node[sum[i].best_nccl]);
        sentence = section_text(
            s, "%s16 KiB are added over all GPUs in %s as a node, by NCCL's best in %s%s",
            *word ? "; " : "", section_say(s, &sum[i].node[sum[i].best_ours], NULL),
            section_say(s, &sum[i].node[sum[i].best_nccl], NULL),
            sum[i].node[sum[i].best_nccl].status == ROW_THRICE ? " (three rounds)" : "");
    }
    if (*word || *sentence)
        s->finding = section_text(s, "%s%s.", word, sentence);
}

static bool has_rows(const struct summary *summary)
{
    for (size_t i = 0; links_needs[i] && i != LINKS_ALONE; i++) { /* that one is of one GPU */
        size_t next = 0;
        if (take_next(summary, links_needs[i], &next))
            return true;
    }
    return false;
}

/* "All GPUs have the same bits in 74 of 74 collectives and layers." What a GPU gets of a
 * reduce-scatter no other one has: older bundles say 0 of it, for which nothing was compared. */
static void say_bits(const struct summary *summary, struct section *s)
{
    static const int needs[] = {LINKS_DIFFER, LINKS_LAYER_DIFFER};
    const struct row *row;
    size_t n = 0, same = 0;

    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        for (size_t next = 0; (row = take_next(summary, links_needs[needs[i]], &next));) {
            const bool is_compared = !take_has(row, "op", "reduce_scatter");
            n += is_compared;
            same += is_compared && row->centre == 0;
        }
    if (n > 0)
        section_note(
            s, "All GPUs have the same bits after %zu of %zu kinds of collectives and layers.",
            same, n);
}

void section_links(const struct summary *summary, struct section *s)
{
    struct sum sum[LINKS_SIZES];

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
    if (n > 0) {
        tabulate_sums(sum, n, s);
        draw_sums(sum, n, s);
        say_crossover(sum, n, s);
    }
    links_rates(summary, s);
    tabulate_models(summary, s);
    links_layer(summary, s);
    say_bits(summary, s);
    section_doubts(s);
}
