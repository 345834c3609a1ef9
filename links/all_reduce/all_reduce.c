/* all_reduce: how long does it take to add a vector over all GPUs, and to gather or scatter its
 * parts?
 *
 * Method. Our kernels push: a rank stores its data into a mailbox in the receiver's memory, and the
 * data is the flag. No fence, no barrier. Up to 64 KiB the data goes in packets, half of which is
 * the round's number; above, plainly, and a word that no vector holds says that nothing has come.
 * links/common/exchange.cuh has the protocol.
 *     impl=push      everybody sends the whole vector to everybody, and all add: one trip
 *     impl=two_shot  everybody adds a part of it, and sends the sum: two trips, 2 / ranks of the
 *     bytes
 *     mode=kernel    rounds chained in one launch. A thread has one slot, or more where slots are
 *                    more than threads. Blocks have 64 threads, and up to 512 where they would be
 *                    more than SMs. A block begins a round when all its threads have ended the last
 *                    one. N rounds, then 2 N, between three clock reads, at each of which all
 *                    blocks of all GPUs meet: the slope holds no meeting. The longest of the ranks'
 *                    times
 *     mode=graph     one round is a node. Graphs of N and 2 N nodes are replayed in all ranks,
 *                    behind a gate and a meeting of the ranks; events; the longest of the ranks'
 *                    times
 *     mode=dependent the same, but a node may start before the one before it has ended, and waits
 *                    for that by itself (programmatic dependent launch, from compute capability 9.0
 *                    on)
 *     mode=stream    the same by launches into the stream, all queued before the first begins
 *     impl=nccl      NCCL as it chooses, one process a GPU, without NVLink multicast; not in a
 *                    kernel
 *     impl=nccl_ll, nccl_ll128, nccl_simple   NCCL by one protocol (NCCL_PROTO, which it reads once
 *                                             a
 *                    process): another process for each GPU, which joins them anew
 *     impl=nccl_symmetric   NCCL in memory of its own that all ranks registered as symmetric, for
 *                           which
 *                    it has kernels without a protocol's copies; null where it took another kernel
 * The name of the kernel that a graph holds is a fact of the case: what NCCL did. It names no
 * protocol but of symmetric kernels (ncclSymk).
 * op says which collective; bytes is what each rank contributes; of reduce_scatter, what each gets.
 * --set bytes takes one length, a multiple of 64 (16 bytes a rank of four), and type its elements.
 *
 * Sums are made in fp32 in the order of ranks, so that all ranks have the same bits. Results of a
 * launch are compared with float64 and with each other before and after timing, on fresh numbers,
 * and so is what the graph that was timed leaves, or as many launches into the stream:
 * the whole vector with --set bytes, else of more than 768 KiB its ends and its middle, 256 KiB of
 * each. NCCL may round each partial sum to the vector's type, which from three ranks on costs more
 * than the one rounding of ours (rounding.h): `error` is in shares of what each may cost.
 * `campaign` checks every unit of many rounds on the GPU, where warps come late at random: 20000,
 * and 10^6 under --deep. If a rank is lost the run ends in one line that says who waited for whom.
 *
 * Inside the timed region: the exchanges, from memory to memory, and the loop round them.
 * Expected on H200, 2 and 4 GPUs: one shot is one trip, 0.6 to 0.85 us, 0.15 to 0.3 to issue and to
 * add, and (ranks - 1) x bytes at 370 GB/s, twice that in packets: 0.9 us at 8 KiB, 1.6 and 3 us at
 * 256 KiB; two shots 2.8 us there on four GPUs, and 6 us at 1 MiB. A node adds the edge of a graph,
 * 0.5 to 1.2 us. Published best, as nodes (SGLang and TensorRT-LLM in NVIDIA's aiconfigurator
 * 0.12.0): 2.3 to 2.9 us up to 16 KiB, 3.6 and 5.4 at 256 KiB. Measured on two: 1.0 us at 8 KiB and
 * 1.2 at 256 KiB; as nodes 2.3 and 3.1.
 *
 * Traps. Chained rounds of a mean do not change after the first, so that old data would look right:
 * that is what the campaign is for. 16 bytes need not come together: each half, or each word, tells
 * for itself. A rank that is a round ahead must not overwrite what is not yet read. A vector may
 * hold the sign for an empty slot. */
#include "links/all_reduce/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "links/all_reduce/judge.h"
#include "links/common/teams.h"

PROBE_IMAGE(all_reduce);
PROBE_IMAGE(all_reduce_nodes);
PROBE_IMAGE(all_reduce_campaign);

enum { TIME, EVENT, ERROR, DIFFER, WRONG };
#define SLOPE PROBE_LOWER, .form = PROBE_SLOPE
#define KEYS "gpus,op,bytes,type,impl,mode"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", SLOPE, .timer = "device", .keys = KEYS, .what = "one collective"},
    [EVENT] = {"time", "ns", SLOPE, .timer = "event", .keys = KEYS, .what = "one collective"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "greatest distance from float64, in shares of what rounding may cost"},
    [DIFFER] = {"differ", "count", PROBE_EXACT, .keys = KEYS,
        .what = "elements that have not the same bits on all GPUs"},
    [WRONG] = {"wrong", "count", PROBE_EXACT, .keys = "gpus,form,wire,type,rounds",
        .what = "units of many rounds that are not what they should be"},
};

static const char *const type_words[] = {"bf16", "fp32", NULL};
static const enum gpu_type types[] = {GPU_BF16, GPU_FP32};
static const struct probe_parameter parameters[] = {
    LINKS_PARAMETERS,
    {.name = "bytes",
     .max = 64 << 20,
     .what = "of the one vector to add; 0: the probe's own lengths"},
    {.name = "type", .max = 1, .what = "of that vector's elements", .words = type_words},
};

enum {
    PACKETS_MOST = 64 << 10,
    BYTES_MOST = 64 << 20,
    PUSH_MOST = 16 << 20, /* more would ask for mailboxes of gigabytes, where two shots win
                           * anyway */
    PIECE = 256 << 10,    /* of a vector, compared at once */
    NODES = 16,
    CAMPAIGN_ROUNDS = 20000,
    CAMPAIGN_DEEP = 1000000,
    CAMPAIGN_CHECK = 32,
    CAMPAIGN_PIECE = 20000, /* rounds of a launch: less than the time after which the host gives
                             * up */
    LINGER_NS = 20000,
};

enum op { PUSH, TWO_SHOT, REDUCE_SCATTER, ALL_GATHER };
static const char *const op_names[] = {"push", "two_shot", "reduce_scatter", "all_gather"};
enum mode { KERNEL, GRAPH, DEPENDENT, STREAM };
static const char *const mode_names[] = {"kernel", "graph", "dependent", "stream"};

/* By whom. NCCL's protocols are measured up to the size at which they lag far behind. */
enum by { OURS, NCCL, NCCL_LL, NCCL_LL128, NCCL_SIMPLE, NCCL_SYMMETRIC, N_BY };
static const struct {
    const char *impl, *protocol;
    size_t most;
} by_whom[] = {
    [NCCL] = {"nccl", NULL, BYTES_MOST},
    [NCCL_LL] = {"nccl_ll", "LL", 256 << 10},
    [NCCL_LL128] = {"nccl_ll128", "LL128", 16 << 20},
    [NCCL_SIMPLE] = {"nccl_simple", "Simple", BYTES_MOST},
    [NCCL_SYMMETRIC] = {"nccl_symmetric", NULL, BYTES_MOST},
};

struct bench {
    struct links *links;
    struct teams teams;
    int gpus;
    unsigned sms;
    bool has_nccl;
    char no_nccl[160]; /* why not */
    struct exchange x[LINKS_MOST];
    struct links_memory from, to; /* BYTES_MOST; of the parts of all ranks */
    struct chain_result *result[LINKS_MOST];
    char *host[2 * LINKS_MOST]; /* pieces of what went in, and of what came out */
    struct bench *other[N_BY];  /* opened at first use: other ranks, or other memory */
};

/* One exchange. */
struct job {
    enum op op;
    enum gpu_type type;
    size_t bytes;
    bool packed;
    enum by by;
    uint64_t units;
    struct gpu_shape shape;
};

static struct job job_of(const struct bench *b, enum op op, enum gpu_type type, size_t bytes)
{
    struct job j = {.op = op, .type = type, .bytes = bytes, .packed = bytes <= PACKETS_MOST};
    j.units = bytes / (j.packed ? PACKET_PAYLOAD : PLAIN_PAYLOAD);
    const uint64_t parts = op == TWO_SHOT ? (uint64_t)b->gpus : 1;
    const uint64_t each = (j.units + parts - 1) / parts;
    unsigned threads = EXCHANGE_THREADS_LEAST;
    while (threads < EXCHANGE_THREADS && each > (uint64_t)b->sms * threads)
        threads *= 2;
    const uint64_t blocks = (each + threads - 1) / threads;
    j.shape = (struct gpu_shape){
        .grid = {(unsigned)(blocks < b->sms ? blocks : b->sms), 1, 1}, .block = threads};
    return j;
}

/* node_push_packets_bf16_2 */
static int kernel_of(struct bench *b, const struct gpu_image *image, const char *form,
                     const struct job *j, size_t args_size)
{
    char name[96];
    snprintf(name, sizeof name, "%s_%s_%s_%s_%d", form, op_names[j->op],
             j->packed ? "packets" : "plain",
             j->op == ALL_GATHER ? "any" : gpu_type_name(j->type), b->gpus);
    return links_kernel(b->links, image, name, args_size);
}

/* A mailbox on every GPU, large enough for vectors of so many bytes, that starts as it must. */
static void open_box(struct bench *b, bool packed, uint64_t units)
{
    const uint64_t slots = exchange_slots(units, (uint32_t)b->gpus);
    const uint64_t generations = packed ? PACKET_GENERATIONS : PLAIN_GENERATIONS;
    const struct links_memory m = links_alloc(
        b->links, generations * (uint64_t)b->gpus * slots * EXCHANGE_SLOT, "mailboxes");

    for (int rank = 0; rank < b->gpus; rank++) {
        struct exchange_box *box = packed ? &b->x[rank].packets : &b->x[rank].plain;
        box->slots = slots;
        for (int k = 0; k < b->gpus; k++)
            box->of[k] = m.at[rank][k];
        links_fill(b->links, rank, m.at[rank][rank], packed ? 0 : 0xff, m.bytes);
    }
}

/* Ranks, and vectors of theirs. */
static struct bench open_bench(struct probe_run *r, struct links *l)
{
    struct bench b = {.links = l, .teams = teams_open(l), .gpus = links_gpus(l)};

    b.sms = (unsigned)gpu_facts(r)->n_sm;
    for (int rank = 0; rank < b.gpus; rank++) {
        b.x[rank].team = b.teams.team[rank];
        b.result[rank] = links_mapped(l, rank, sizeof **b.result);
    }
    b.from = links_alloc(l, BYTES_MOST, "vectors");
    b.to = links_alloc(l, BYTES_MOST, "results");
    b.has_nccl = links_nccl_open(l, b.no_nccl, sizeof b.no_nccl);
    return b;
}

static struct bench prepare(struct probe_run *r, struct links *l)
{
    struct bench b = open_bench(r, l);
    const size_t ranks = (size_t)b.gpus, most = BYTES_MOST;

    open_box(&b, true, PACKETS_MOST / PACKET_PAYLOAD);
    /* Two shots of the longest vector, or one shot of the longest of those. */
    open_box(&b, false, 2 * most / ranks / PLAIN_PAYLOAD > PUSH_MOST / PLAIN_PAYLOAD
                            ? 2 * most / ranks / PLAIN_PAYLOAD
                            : PUSH_MOST / PLAIN_PAYLOAD);
    for (size_t i = 0; i < 2 * ranks; i++)
        b.host[i] = probe_host_alloc(r, PIECE);
    links_wait(l);
    return b;
}

/* The same vectors' pieces on the host; all else is its own. */
static void open_protocol(struct probe_run *r, const struct bench *b, const char *protocol,
                          struct bench *other)
{
    *other = open_bench(r, links_open_beside(b->links, "NCCL_PROTO", protocol));
    memcpy(other->host, b->host, sizeof b->host);
    links_wait(other->links);
}

static void open_symmetric(const struct bench *b, struct bench *other)
{
    *other = *b;
    other->has_nccl = links_nccl_window(b->links, BYTES_MOST, &other->from) &&
                      links_nccl_window(b->links, BYTES_MOST, &other->to);
    snprintf(other->no_nccl, sizeof other->no_nccl, "%s",
             "this NCCL registers no symmetric memory here (it takes 2.27 or newer)");
}

/* The ranks and the memory of who is measured. */
static struct bench *bench_of(struct probe_run *r, struct bench *b, enum by by)
{
    if (by <= NCCL || !b->has_nccl)
        return b;
    if (!b->other[by]) {
        struct bench *other = probe_host_alloc(r, sizeof *other);
        if (by_whom[by].protocol)
            open_protocol(r, b, by_whom[by].protocol, other);
        else
            open_symmetric(b, other);
        b->other[by] = other;
    }
    return b->other[by];
}

static void arguments(const struct bench *b, const struct job *j, bool in_place, float scale,
                      uint32_t rounds, struct exchange_args a[LINKS_MOST])
{
    for (int rank = 0; rank < b->gpus; rank++)
        a[rank] = (struct exchange_args){.x = b->x[rank],
                                         .from = b->from.at[rank][rank],
                                         .to = (in_place ? b->from : b->to).at[rank][rank],
                                         .units = j->units,
                                         .scale = scale,
                                         .rounds = rounds,
                                         .result = b->result[rank]};
}

/* One launch in every rank's stream, ours or NCCL's. */
static void launch(const struct bench *b, const struct job *j, int node,
                   const struct exchange_args a[LINKS_MOST])
{
    static const enum nccl_op ops[] = {[PUSH] = NCCL_ALL_REDUCE,
                                       [TWO_SHOT] = NCCL_ALL_REDUCE,
                                       [REDUCE_SCATTER] = NCCL_REDUCE_SCATTER,
                                       [ALL_GATHER] = NCCL_ALL_GATHER};
    struct nccl_call call[LINKS_MOST];

    if (j->by == OURS) {
        links_launch(b->links, node, &j->shape, a, sizeof *a);
        return;
    }
    for (int rank = 0; rank < b->gpus; rank++)
        call[rank] = (struct nccl_call){.op = ops[j->op],
                                        .type = j->type == GPU_BF16 ? NCCL_BF16 : NCCL_FP32,
                                        .count = j->bytes / gpu_type_size(j->type),
                                        .from = a[rank].from,
                                        .to = a[rank].to};
    links_nccl(b->links, call);
}

/* --- whether it is right ---------------------------------------------------------------------- */

static void read_piece(const void *of, int rank, bool is_result, size_t at, size_t bytes, char *to)
{
    const struct bench *b = of;
    const struct links_memory *m = is_result ? &b->to : &b->from;
    links_read(b->links, rank, to, m->at[rank][rank] + at, bytes);
}

static void require_right(struct probe_run *r, const struct bench *b, const struct job *j,
                          double scale, const char *how)
{
    struct judged all = {.ranks = b->gpus,
                         .bytes = j->bytes,
                         .is_bf16 = j->type == GPU_BF16,
                         .is_part = j->op == REDUCE_SCATTER,
                         .gathers = j->op == ALL_GATHER,
                         .once = j->by == OURS,
                         .whole = probe_parameter(r, "bytes") != 0,
                         .scale = scale,
                         .piece = PIECE,
                         .read = read_piece,
                         .of = b};

    memcpy(all.host, b->host, sizeof all.host);
    const struct judgement v = judge_result(&all);
    probe_value(r, ERROR, v.error);
    if (!all.is_part) /* of a part no other GPU has a copy */
        probe_value(r, DIFFER, v.differ);
    probe_require(r, judge_is_right(v),
                  "%s of %zu bytes%s: error %.3g of what rounding may cost, %.0f elements differ",
                  op_names[j->op], j->bytes, how, v.error, v.differ);
}

/* Fresh numbers for every rank; the result is poisoned, or holds them, too. */
static void fill(struct probe_run *r, const struct bench *b, const struct job *j, uint64_t seed,
                 bool result_too)
{
    const size_t all = j->bytes * (size_t)b->gpus, size = gpu_type_size(j->type);
    const size_t in = j->op == REDUCE_SCATTER ? all : j->bytes;
    const size_t out = j->op == ALL_GATHER ? all : j->bytes;

    for (int rank = 0; rank < b->gpus; rank++) {
        const uint64_t mine = probe_seed(r) + seed + (uint64_t)rank;
        links_fill_normal(b->links, rank, b->from.at[rank][rank], j->type, in / size, mine);
        if (result_too)
            links_fill_normal(b->links, rank, b->to.at[rank][rank], j->type, in / size, mine);
        else
            links_fill(b->links, rank, b->to.at[rank][rank], 0xff, out);
    }
}

/* One launch of one round. */
static void verify(struct probe_run *r, struct bench *b, const struct job *j, int node,
                   uint64_t seed)
{
    struct exchange_args a[LINKS_MOST];

    fill(r, b, j, seed, false);
    arguments(b, j, false, 1, 1, a);
    launch(b, j, node, a);
    teams_wait(r, &b->teams);
    require_right(r, b, j, 1, "");
}

/* --- time ------------------------------------------------------------------------------------- */

static bool works_in_place(const struct job *j)
{
    return (j->op == PUSH || j->op == TWO_SHOT) && j->by == OURS;
}

/* In a chain of all-reduces each works on what the last one left, the mean, in its place. */
static void arguments_of_chain(const struct bench *b, const struct job *j, uint32_t rounds,
                               struct exchange_args a[LINKS_MOST])
{
    const bool in_place = works_in_place(j);
    arguments(b, j, in_place, in_place ? 1 / (float)b->gpus : 1, rounds, a);
}

/* So many rounds that a launch takes a few hundred microseconds. */
static uint32_t rounds_for(const struct probe_run *r, const struct job *j)
{
    const size_t rounds = 128 / (1 + j->bytes / (256 << 10));
    return probe_is_check_run(r) ? 2 : rounds < 4 ? 4 : (uint32_t)rounds;
}

/* A chain leaves the mean, or what one round would: it begins with the numbers in `to`. */
static void verify_chain(struct probe_run *r, struct bench *b, const struct job *j, int kernel,
                         const struct gpu_shape *shape, uint64_t seed)
{
    const bool in_place = works_in_place(j);
    const float scale = in_place ? 1 / (float)b->gpus : 1;
    struct exchange_args a[LINKS_MOST];

    fill(r, b, j, seed, in_place);
    arguments(b, j, false, scale, 2, a);
    for (int rank = 0; rank < b->gpus && in_place; rank++)
        a[rank].from = a[rank].to;
    links_launch(b->links, kernel, shape, a, sizeof *a);
    teams_wait(r, &b->teams);
    require_right(r, b, j, (double)scale, ", in a chain");
}

static void time_kernel(struct probe_run *r, struct bench *b, const struct job *j)
{
    const int kernel = kernel_of(b, &image_all_reduce, "chain", j, sizeof(struct exchange_args));
    const uint32_t n = rounds_for(r, j);
    struct exchange_args a[LINKS_MOST];
    struct gpu_shape shape = j->shape;

    shape.cooperative = true;
    verify_chain(r, b, j, kernel, &shape, 2 * LINKS_MOST);
    arguments_of_chain(b, j, n, a);
    while (probe_more(r)) {
        double few = 0, many = 0, slowest = INFINITY;
        links_launch(b->links, kernel, &shape, a, sizeof *a);
        teams_wait(r, &b->teams);
        for (int rank = 0; rank < b->gpus; rank++) {
            struct chain_result x;
            links_read(b->links, rank, &x, b->result[rank], sizeof x);
            const double mhz =
                1e3 * (double)(x.tail.cycles - x.lead.cycles) / (double)(x.tail.ns - x.lead.ns);
            few = fmax(few, (double)x.short_cycles * 1e3 / mhz);
            many = fmax(many, (double)x.long_cycles * 1e3 / mhz);
            slowest = fmin(slowest, mhz);
        }
        probe_clock(r, slowest);
        probe_sample(r, TIME, n, few);
        probe_sample(r, TIME, 2.0 * n, many);
    }
    verify_chain(r, b, j, kernel, &shape, 3 * LINKS_MOST);
}

/* n rounds in every rank's stream: a graph, or launches. */
static void queue(const struct bench *b, const struct job *j, int node, int graph, uint32_t n)
{
    struct exchange_args a[LINKS_MOST];

    arguments_of_chain(b, j, 1, a);
    if (graph >= 0)
        links_replay(b->links, graph);
    for (uint32_t i = 0; graph < 0 && i < n; i++)
        launch(b, j, node, a);
}

/* The same behind a gate and a meeting. */
static double time_queued(struct probe_run *r, struct bench *b, const struct job *j, int node,
                          int graph, uint32_t n)
{
    links_time_start(b->links);
    queue(b, j, node, graph, n);
    const struct links_time t = links_time_stop(b->links);
    teams_wait(r, &b->teams);
    return t.longest;
}

/* What was timed, once more, on fresh numbers. A chain that works in place leaves the mean where
 * they were: `to` keeps them. */
static void verify_queued(struct probe_run *r, const struct bench *b, const struct job *j, int node,
                          int graph, uint32_t n, uint64_t seed)
{
    const bool in_place = works_in_place(j);
    struct bench seen = *b;

    fill(r, b, j, seed, in_place);
    queue(b, j, node, graph, n);
    teams_wait(r, &b->teams);
    if (in_place) {
        seen.from = b->to;
        seen.to = b->from;
    }
    require_right(r, &seen, j, in_place ? 1.0 / b->gpus : 1, ", as timed");
}

static int graph_of(struct bench *b, const struct job *j, int node, uint32_t n)
{
    struct exchange_args a[LINKS_MOST];

    arguments_of_chain(b, j, 1, a);
    links_graph_begin(b->links);
    for (uint32_t i = 0; i < n; i++)
        launch(b, j, node, a);
    return links_graph_end(b->links);
}

/* What a graph's kernel proves: that NCCL took a symmetric one, and none that uses multicast. */
static bool is_as_asked(struct probe_run *r, const struct job *j, const char *kernel)
{
    char why[240];
    const bool symmetric = strstr(kernel, "ncclSymk") != NULL;

    if (j->by != NCCL_SYMMETRIC || (symmetric && !strstr(kernel, "MC")))
        return true;
    snprintf(why, sizeof why, "NCCL took another kernel: %.160s", kernel);
    probe_missing(r, EVENT, why);
    return false;
}

static void time_nodes(struct probe_run *r, struct bench *b, const struct job *j, int node,
                       enum mode mode)
{
    const uint32_t n = probe_is_check_run(r) ? 2 : j->bytes > 4 << 20 ? 4 : NODES;
    int graph[2] = {-1, -1};
    bool as_asked = true;

    for (uint32_t i = 0; mode != STREAM && i < 2; i++)
        graph[i] = graph_of(b, j, node, n << i);
    if (mode != STREAM) {
        const struct gpu_node first = links_first_kernel(b->links, graph[0]);
        probe_fact(r, "kernel", "%s", first.kernel);
        probe_fact(r, "blocks_at_once", "%u", first.blocks);
        probe_fact(r, "threads", "%u", first.threads);
        as_asked = is_as_asked(r, j, first.kernel);
    }
    while (as_asked && probe_more(r))
        for (uint32_t i = 0; i < 2; i++)
            probe_sample(r, EVENT, n << i, time_queued(r, b, j, node, graph[i], n << i));
    if (as_asked)
        verify_queued(r, b, j, node, graph[0], n, 2 * LINKS_MOST);
    for (uint32_t i = 0; mode != STREAM && i < 2; i++)
        links_graph_free(b->links, graph[i]);
}

static void measure_job(struct probe_run *r, struct bench *all, unsigned flags, enum op op,
                        enum gpu_type type, size_t bytes, enum mode mode, enum by by)
{
    static const char *const ops[] = {"all_reduce", "all_reduce", "reduce_scatter", "all_gather"};
    struct job j = job_of(all, op, type, bytes);

    if (!probe_begin_case(r, flags | (bytes >= 4 << 20 ? PROBE_POWER_BOUND : 0),
                          "gpus=%d,op=%s,bytes=%zu,type=%s,impl=%s,mode=%s", all->gpus, ops[op],
                          bytes, gpu_type_name(type),
                          by != OURS ? by_whom[by].impl : op == TWO_SHOT ? "two_shot" : "push",
                          mode_names[mode]))
        return;
    j.by = by;
    j.shape.dependent = mode == DEPENDENT;
    struct bench *b = bench_of(r, all, by);
    if (by != OURS && !b->has_nccl) {
        probe_missing(r, EVENT, b->no_nccl);
        return;
    }
    const int node = by != OURS ? -1
                                : kernel_of(b, &image_all_reduce_nodes, "node", &j,
                                            sizeof(struct exchange_args));
    verify(r, b, &j, node, 0);
    if (mode == KERNEL)
        time_kernel(r, b, &j);
    else
        time_nodes(r, b, &j, node, mode);
    verify(r, b, &j, node, LINKS_MOST);
    if (by != OURS) {
        probe_fact(r, "nccl", "%s", links_nccl_version(b->links));
        return;
    }
    if (mode == KERNEL || mode == STREAM) {
        probe_fact(r, "blocks_at_once", "%u", j.shape.grid.x);
        probe_fact(r, "threads", "%u", j.shape.block);
    }
    probe_fact(r, "wire", j.packed ? "packets" : "plain");
}

/* --- which of them, how often ----------------------------------------------------------------- */

/* What the report shows first: the all-reduce of bf16 in a kernel and as a node, at four sizes. The
 * curve between and beside them is measured thrice, and fp32 at three sizes. All combinations would
 * take most of a minute in a round: --deep has them. */
enum { FIRST = 1, PARTS = 2, PROTOCOLS = 4, STREAMS = 8, FP32_TOO = 16 };
static const struct {
    size_t bytes;
    unsigned what;
} sizes[] = {{1 << 10, FIRST | PROTOCOLS},
             {8 << 10, 0},
             {16 << 10, FIRST | PARTS | PROTOCOLS | STREAMS | FP32_TOO},
             {64 << 10, 0},
             {256 << 10, FIRST | PROTOCOLS | FP32_TOO},
             {1 << 20, FIRST | PARTS | PROTOCOLS | STREAMS | FP32_TOO},
             {4 << 20, 0},
             {16 << 20, PROTOCOLS},
             {64 << 20, 0}};
enum { TWO_SHOT_LEAST = 64 << 10 /* below, one shot always wins */ };

/* A sum over all ranks, by everybody. */
static void measure_sum(struct probe_run *r, struct bench *b, enum gpu_type type, size_t bytes,
                        unsigned what, enum mode mode)
{
    const bool shown = type == GPU_BF16 && (mode != STREAM || what & STREAMS);
    const bool beside = type == GPU_FP32 && what & FP32_TOO && (mode == KERNEL || mode == GRAPH);
    const unsigned flags = shown && what & FIRST && mode != STREAM ? 0
                           : shown || beside                       ? PROBE_THRICE
                                                                   : PROBE_DEEP;
    const bool is_rare = bytes < TWO_SHOT_LEAST || mode == DEPENDENT || mode == STREAM;
    const unsigned rare = is_rare ? PROBE_DEEP : flags;

    if (bytes <= PUSH_MOST)
        measure_job(r, b, flags, PUSH, type, bytes, mode, OURS);
    measure_job(r, b, rare, TWO_SHOT, type, bytes, mode, OURS);
    if (mode == GRAPH || mode == STREAM)
        measure_job(r, b, flags, PUSH, type, bytes, mode, NCCL);
    for (enum by by = NCCL_LL; by < N_BY && mode == GRAPH; by++)
        if (bytes <= by_whom[by].most)
            measure_job(r, b, shown && what & PROTOCOLS ? PROBE_THRICE : PROBE_DEEP, PUSH, type,
                        bytes, mode, by);
}

static void measure_parts(struct probe_run *r, struct bench *b, enum gpu_type type, size_t bytes,
                          unsigned what, enum mode mode)
{
    const unsigned flags =
        type == GPU_BF16 && (mode == KERNEL || mode == GRAPH) && what & PARTS ? PROBE_THRICE
                                                                              : PROBE_DEEP;

    for (enum op op = REDUCE_SCATTER; op <= ALL_GATHER; op++) {
        measure_job(r, b, flags, op, type, bytes, mode, OURS);
        if (mode == GRAPH)
            measure_job(r, b, flags, op, type, bytes, mode, NCCL);
    }
}

static void measure_size(struct probe_run *r, struct bench *b, enum gpu_type type, size_t bytes,
                         unsigned what)
{
    const bool can_start_early = gpu_facts(r)->cc >= 90;

    for (enum mode mode = KERNEL; mode <= STREAM; mode++) {
        if (mode == DEPENDENT && !can_start_early)
            continue;
        measure_sum(r, b, type, bytes, what, mode);
        measure_parts(r, b, type, bytes / (size_t)b->gpus, what, mode);
    }
}

/* --- many rounds ------------------------------------------------------------------------------ */

static uint32_t run_campaign(struct probe_run *r, struct bench *b, const struct job *j, int kernel,
                             uint32_t rounds)
{
    struct campaign_args a[LINKS_MOST];
    uint32_t wrong = 0, seen;

    for (int rank = 0; rank < b->gpus; rank++) {
        a[rank] = (struct campaign_args){.x = b->x[rank],
                                         .units = j->units,
                                         .seed = (uint32_t)probe_seed(r),
                                         .wrong = (uint32_t *)(void *)b->to.at[rank][rank]};
        a[rank].x.team.linger_ns = LINGER_NS;
        links_fill(b->links, rank, a[rank].wrong, 0, sizeof seen);
    }
    for (uint32_t done = 0; done < rounds; done += a[0].rounds) {
        const uint32_t left = rounds - done;
        for (int rank = 0; rank < b->gpus; rank++)
            a[rank].rounds = left < CAMPAIGN_PIECE ? left : CAMPAIGN_PIECE;
        links_launch(b->links, kernel, &j->shape, a, sizeof *a);
        teams_wait(r, &b->teams);
    }
    for (int rank = 0; rank < b->gpus; rank++) {
        links_read(b->links, rank, &seen, a[rank].wrong, sizeof seen);
        wrong += seen;
    }
    return wrong;
}

/* A length that neither ranks nor blocks divide. */
static void measure_campaign(struct probe_run *r, struct bench *b, enum op op, bool packed,
                             enum gpu_type type)
{
    const uint32_t rounds = probe_deep(r) ? CAMPAIGN_DEEP : CAMPAIGN_ROUNDS;
    struct job j = job_of(b, op, type, packed ? 9352 : 74896);
    if (!probe_begin_case(r, PROBE_TWICE, "gpus=%d,form=%s,wire=%s,type=%s,rounds=%u", b->gpus,
                          op_names[op], packed ? "packets" : "plain", gpu_type_name(type), rounds))
        return;
    const int kernel =
        kernel_of(b, &image_all_reduce_campaign, "campaign", &j, sizeof(struct campaign_args));
    const uint32_t wrong =
        run_campaign(r, b, &j, kernel, probe_is_check_run(r) ? CAMPAIGN_CHECK : rounds);
    probe_value(r, WRONG, wrong);
    probe_require(r, wrong == 0, "%u units are wrong", wrong);
}

/* A part of each of four ranks is whole units of either wire. */
enum { BYTES_STEP = 4 * PLAIN_PAYLOAD };

static void measure(struct probe_run *r)
{
    const size_t bytes = (size_t)probe_parameter(r, "bytes");
    if (bytes % BYTES_STEP)
        probe_usage(r, "bytes=%zu: expected a multiple of %d", bytes, (int)BYTES_STEP);
    struct links *l = links_open(r);
    if (!l)
        return;
    struct bench b = prepare(r, l);
    if (bytes)
        measure_size(r, &b, types[probe_parameter(r, "type")], bytes,
                     FIRST | PARTS | PROTOCOLS | STREAMS | FP32_TOO);
    for (size_t t = 0; !bytes && t < PROBE_LENGTH(types); t++) {
        for (size_t i = 0; i < PROBE_LENGTH(sizes); i++)
            measure_size(r, &b, types[t], sizes[i].bytes, sizes[i].what);
        for (int op = PUSH; op <= ALL_GATHER; op++)
            for (int packed = 0; packed < 2; packed++)
                if (op != ALL_GATHER || types[t] == GPU_FP32)
                    measure_campaign(r, &b, (enum op)op, packed, types[t]);
    }
    for (enum by by = NCCL_LL; by < N_BY; by++)
        if (b.other[by] && by_whom[by].protocol)
            links_close(b.other[by]->links);
    links_close(l);
}

const struct probe probe = {
    .name = "all_reduce",
    .what = "How long does it take to add a vector over all GPUs?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
