/* ranks: a probe for tests, which makes the calls of links/common/links.h, with each GPU a
 * process. */
#include <stdlib.h>
#include <string.h>

#include "core/device/harness.h"
#include "links/common/links.h"

PROBE_IMAGE(meet);

enum { DONE };
static const struct probe_metric metrics[] = {
    [DONE] = {"done", "count", PROBE_EXACT, .keys = "part", .what = "1: the part went to its end"},
};
static const struct probe_parameter parameters[] = {LINKS_PARAMETERS};
enum { BYTES = 3 << 20, WORD = 64 };

/* Words of each rank's in each other's memory, by kernels, copies and a graph of copies. */
static void measure_memory(struct probe_run *r, struct links *l)
{
    const struct links_memory a = links_alloc(l, BYTES, "words"),
                              b = links_alloc(l, BYTES, "copies");
    if (!probe_begin_case(r, 0, "part=memory"))
        return;
    for (int rank = 0; rank < links_gpus(l); rank++) {
        const int next = links_next(l, rank);
        links_pattern(l, rank, a.at[rank][next], BYTES, (uint64_t)rank);
        links_wait(l);
        probe_require(r, links_wrong(l, next, a.at[next][next], BYTES, (uint64_t)rank) == 0,
                      "rank %d writes into the next one's memory", rank);
        links_graph_begin(l);
        links_copy(l, rank, b.at[rank][rank], a.at[rank][next], BYTES);
        const int graph = links_graph_end(l);
        links_fill(l, rank, b.at[rank][rank], 0, BYTES);
        links_replay(l, graph);
        probe_require(r, links_wrong(l, rank, b.at[rank][rank], BYTES, (uint64_t)rank) == 0,
                      "a graph of rank %d copies from the next one", rank);
        links_graph_free(l, graph);
    }
    links_graph_begin(l);
    links_meet(l);
    const int met = links_graph_end(l);
    const struct gpu_node first = links_first_kernel(l, met);
    probe_require(r, !strcmp(first.kernel, "meet") && first.n_kernels == 1, "its kernel is '%s'",
                  first.kernel);
    probe_value(r, DONE, 1);
}

/* Each rank writes a line into each piece; every rank reads it. */
static void measure_host(struct probe_run *r, struct links *l)
{
    struct links_memory shared;
    char why[160], wrote[WORD], read[WORD];

    if (!probe_begin_case(r, 0, "part=host"))
        return;
    if (!links_share_host(l, WORD, &shared, why, sizeof why)) {
        probe_missing(r, DONE, why);
        return;
    }
    for (int owner = 0; owner < links_gpus(l); owner++)
        for (int writer = 0; writer < links_gpus(l); writer++) {
            memset(wrote, 'a' + owner * LINKS_MOST + writer, sizeof wrote);
            links_write(l, writer, shared.at[writer][owner], wrote, sizeof wrote);
            links_wait(l);
            for (int reader = 0; reader < links_gpus(l); reader++) {
                links_read(l, reader, read, shared.at[reader][owner], sizeof read);
                probe_require(r, !memcmp(read, wrote, sizeof read),
                              "rank %d reads what rank %d wrote", reader, writer);
            }
        }
    probe_value(r, DONE, 1);
}

/* All ranks, with that many of them, under one id. */
static void check_calls(struct probe_run *r, struct links *l, const struct links_memory *to)
{
    struct nccl_call call[LINKS_MOST];
    char first[WORD], mark[WORD], expected[WORD];

    for (int rank = 0; rank < links_gpus(l); rank++)
        call[rank] = (struct nccl_call){
            .op = NCCL_ALL_GATHER, .count = 7, .to = to->at[rank][rank]};
    links_nccl(l, call);
    links_wait(l);
    links_read(l, 0, first, to->at[0][0], sizeof first);
    for (int rank = 0; rank < links_gpus(l); rank++) {
        links_read(l, rank, mark, to->at[rank][rank], sizeof mark);
        snprintf(expected, sizeof expected, "all_gather 7 %d/%d %s", rank, links_gpus(l),
                 strstr(first, "of process"));
        probe_require(r, !strcmp(mark, expected), "rank %d left '%s'", rank, mark);
    }
}

static void measure_nccl(struct probe_run *r, struct links *l, const char *protocol,
                         const char *version)
{
    struct links_memory window, to;
    char why[160], before[32];

    if (!probe_begin_case(r, 0, "part=nccl_%s", protocol ? protocol : "default"))
        return;
    const char *mine = getenv("NCCL_PROTO");
    snprintf(before, sizeof before, "%s", mine ? mine : "");
    struct links *by = protocol ? links_open_beside(l, "NCCL_PROTO", protocol) : l;
    const char *now = getenv("NCCL_PROTO");
    probe_require(r, !now == !mine && !strcmp(now ? now : "", before),
                  "the variable is what it was");
    if (!links_nccl_open(by, why, sizeof why)) {
        probe_missing(r, DONE, why);
        to = links_alloc(by, WORD, "marks"); /* the ranks are there, and go on */
        if (protocol)
            links_close(by);
        return;
    }
    probe_require(r, !strcmp(links_nccl_version(by), version), "its version is %s",
                  links_nccl_version(by));
    to = links_alloc(by, WORD, "marks");
    check_calls(r, by, &to);
    if (links_nccl_window(by, WORD, &window))
        check_calls(r, by, &window);
    else
        probe_fact(r, "window", "none");
    if (protocol)
        links_close(by);
    probe_value(r, DONE, 1);
}

static void measure(struct probe_run *r)
{
    struct links *l = links_open(r);
    if (!l)
        return;
    measure_memory(r, l);
    measure_host(r, l);
    measure_nccl(r, l, NULL, "2.28.9");
    measure_nccl(r, l, "LL", "2.28.1");
    measure_nccl(r, l, "LL128", "2.28.2");
    measure_nccl(r, l, "Simple", "2.28.3");
    links_close(l);
}

const struct probe probe = {
    .name = "ranks", .what = "Do ranks reach each other?", .method = 1, .needs = PROBE_GPU,
    .metrics = metrics, .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters, .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
