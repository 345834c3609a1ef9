/* batched_layer: a decoder's layer at batch 1 to 256: what does its time consist of, bytes,
 * arithmetic or launches, and what does fusing take off?
 *
 * Method. A layer of Llama's kind, one new token for each of `batch` sequences: RMSNorm, QKV,
 * rotary embedding, append to the cache, attention by groups of heads, O and residual, RMSNorm,
 * gate and up, SiLU, down and residual. Weights, caches and what goes into a product are bf16, the
 * residual is fp32. Weights are N(0, 1/columns), old keys and values N(0, 1), all sequences at one
 * context. Products are cuBLASLt's, of its algorithms the fastest here; the rest is ours. Packaged
 * as
 *     impl=stream  a kernel for each operator, launched one by one; 12, and a merge of attention's
 *                  splits where sequences x kv heads do not fill the SMs
 *     impl=graph   the same in a graph
 *     impl=fused   what fuses without a product of our own, in a graph, 8 kernels: rope, append,
 *                  attention and merge are one; O and down add to the residual themselves
 *     impl=read    reads as many bytes as a layer must, and drops them
 * operator=... is one operator alone in a graph of itself, over sets of weights and caches; with
 * impl=fused one that fusing makes.
 * requests_time is 64 requests through one layer in micro-batches: cut=64x1 is 64 of one request;
 * all of them need the layer's weights, which the L2 does not hold. 1x64 is the layer at batch 64.
 *
 * share is what of the graph's layer_time is bytes, arithmetic, launches, and none of these. An
 * operator's bytes over the rate of `read`, and its multiply-adds over the rate of a product of
 * 4096 tokens, are floors of its time, of which the greater binds it: it counts as bytes or as
 * arithmetic, the lesser not at all. Launches are the kernels times a kernel that does nothing, in
 * a graph of such. The fact `bound` says the same of an operator alone.
 *
 * Inside the timed region: n and 2n layers, or operators, in a graph, or a row of launches between
 * two events; the slope is the time of one. More than three times the L2 lies between two uses of a
 * set. What operators hand over stays in the L2, as it does in a layer.
 *
 * What is checked: each operator against float64 from what the operator before it handed over
 * (2e-3; half a unit of bf16 where numbers are few), a layer (1e-2), in the first round a chain
 * (1e-2 for each layer). Outputs are poisoned, inputs new in every run. stream and graph give the
 * same bits, and so does every later launch, those that were timed among them; an operator alone
 * leaves the bits that it leaves in a layer. Rows of the cache that no token has reached are NaN.
 * caught: faults planted in what each operator leaves. --check adds small odd shapes, whose layer
 * is compared with the CPU.
 *
 * Expected on an H200, context 1024, before any measurement. 8b: weights 436 MB, 95 us at 4.6
 * TB/s; keys and values 4.2 MB a sequence. batch 1: read 96; graph 128: products 105, as they read
 * at 0.9 of that rate, attention and merge 8, eight small kernels of 2 to 2.5, their launches of
 * 1.2 among it; fused 119, without five of them. batch 8: 134 and 126. batch 64: read 153; graph
 * 195, fused 185. batch 256: read 328, of which attention is 233; products 109 GFLOP, 160 us at 680
 * TFLOP/s; graph 490, fused 470. 70b: 1.71 GB, read 372; graph 415 at batch 1, 490 at 64. share at
 * batch 1: bytes 0.76, launches 0.12; at 64 bytes 0.80, launches 0.07; at 256 bytes 0.5, arithmetic
 * 0.33. So gains of fusing: 1.075 at batch 1 and 1.05 at batch 64. 64 requests: 8.2 ms as 64x1, 1.1
 * ms as 8x8, 0.2 ms as one batch. A product of 4096 tokens: 680 TFLOP/s, bytes 0.08 of its time.
 * Found: graph 138 and fused 133 at batch 1, 204 and 198 at 64, 455 and 445 at 256, in which
 * cuBLASLt has 15 and 10 kernels at batch 1: it splits the sums of O and down. 720 to 820 TFLOP/s,
 * by how far the clock has fallen. In the first trial fused gained 1.01 at batch 1: its merge
 * waited for the L2 eight times one after the other, and does so less now (docs/FINDINGS.md).
 *
 * Traps. cuBLASLt may choose another algorithm in another run, and with splits of the sum more
 * kernels: `kernels` is counted from the graph, and no exact count. Its large product runs at the
 * clock that the power limit leaves, so that the arithmetic floor is high, and a short product may
 * be below it. Small operators work in the L2, and their bytes over the rate of the memory are no
 * floor in the strict sense; they are a few per cent of all bytes. */
#include <math.h>
#include <stdio.h>

#include "fused/batched_layer/odd.h"
#include "fused/batched_layer/point.h"

PROBE_IMAGE(batched_layer);

enum {
    LAYER_TIME,
    BYTES,
    KERNELS,
    ERROR,
    SHARE,
    REQUESTS_TIME,
    OPERATOR_TIME,
    OPERATOR_BYTES,
    OPERATOR_FLOPS,
    OPERATOR_KERNELS,
    TENSOR_RATE,
    BYTES_SHARE,
    NODE_TIME,
    CAUGHT,
};
#define KEYS "model,context,batch,impl,l2"
#define OPERATOR_KEYS "model,context,batch,impl,operator,l2"
static const struct probe_metric metrics[] = {
    [LAYER_TIME] = {"layer_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                    "one layer of a chain"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, .keys = KEYS,
               .what = "that one layer must read: weights, keys and values"},
    [KERNELS] = {"kernels", "count", PROBE_LOWER, .keys = KEYS,
                 .what = "of one layer, by the graph's count"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "of one layer, relative to what it adds to the residual, from float64"},
    [SHARE] = {"share", "ratio", PROBE_LOWER, .keys = "model,context,batch,by",
               .what = "of the graph's layer_time: bytes of operators that bytes bind, arithmetic "
                       "of those that arithmetic binds, launches; what is left is none of these"},
    [REQUESTS_TIME] = {"requests_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event",
                       "model,context,cut,impl,l2",
                       "64 requests through one layer, in micro-batches: cut=COUNTxREQUESTS"},
    [OPERATOR_TIME] = {"operator_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", OPERATOR_KEYS,
                       "one operator of the layer, alone in a graph of itself"},
    [OPERATOR_BYTES] = {"operator_bytes", "bytes", PROBE_EXACT, .keys = OPERATOR_KEYS,
                        .what = "its loads and stores by count, whichever cache serves them"},
    [OPERATOR_FLOPS] = {"operator_flops", "count", PROBE_EXACT, .keys = OPERATOR_KEYS,
                        .what = "its multiply-adds on tensor cores, each counted as two"},
    [OPERATOR_KERNELS] = {"operator_kernels", "count", PROBE_LOWER, .keys = OPERATOR_KEYS,
                          .what = "of the operator, by the graph's count"},
    [TENSOR_RATE] = {"tensor_rate", "flop/s", PROBE_HIGHER, PROBE_SLOPE, "event", "model,tokens",
                     "of a product of so many tokens by the matrix of gate and up"},
    [BYTES_SHARE] = {"bytes_share", "ratio", PROBE_LOWER, .keys = "model,tokens",
                     .what = "of that product's time, what its bytes take at the rate of `read`"},
    [NODE_TIME] = {"node_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", "",
                   "a kernel that does nothing, one block an SM, in a graph of such"},
    [CAUGHT] = {"caught", "ratio", PROBE_HIGHER, .keys = "model,context,batch",
                .what = "share of planted faults that verification sees"},
};

static const char *const model_words[] = {"1b", "3b", "8b", "70b", NULL};
static const struct probe_parameter parameters[] = {
    {"model", MODEL_8B, MODEL_1B, MODEL_70B, "of the one point to measure", model_words},
    {"context", 1024, 2, 1 << 17, "of that point: keys of a sequence, the new one included", NULL},
    {"batch", 64, 1, 1024, "of that point: sequences", NULL},
};

enum {
    TOKENS = 4096, /* of the large product */
    NODES = 64,
    REQUESTS = 64,
    OPERATORS_MOST = 64, /* of one kind in the shorter graph */
    OPERATORS_LEAST = 4,
};
static const double OPERATORS_NS = 400e3, SHORT_NS = 2e3, TENSOR_GUESS = 600e3; /* flops/ns */

/* --- what a layer is compared with ------------------------------------------------------------ */

static void measure_nothing(struct probe_run *r, struct family *f)
{
    const struct batched_nothing_args a = {0};
    struct gpu_graph graph[2];
    if (!probe_begin_case(r, 0, PROBE_NO_KEYS))
        return;
    const cudaKernel_t nothing = gpu_kernel(r, &image_batched_layer, "batched_nothing", sizeof a);
    for (int i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (int node = 0; node < NODES << i; node++)
            gpu_launch(r, nothing, (unsigned)gpu_facts(r)->n_sm, BATCHED_THREADS, 0, &a);
        graph[i] = gpu_graph_end(r);
    }
    gpu_sample_graphs(r, NODE_TIME, NODES, graph);
    f->rates.node = probe_median(r, NODE_TIME);
    for (int i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

static void sample_large(struct probe_run *r, struct family *f, const struct batched_large *large)
{
    while (probe_more(r))
        for (int n = 1; n <= 2; n++) {
            gpu_time_start(r);
            for (int i = 0; i < n; i++)
                batched_large_launch(r, large);
            probe_sample(r, TENSOR_RATE, n * large->flops, gpu_time_stop(r).ns);
        }
    f->rates.tensor = probe_median(r, TENSOR_RATE) / 1e9;
}

/* Its operands and its result, each once. */
static double large_bytes(const struct batched_large *large)
{
    const double m = large->gemm.m, n = large->gemm.n, k = large->gemm.k;
    return 2 * (m * k + n * k + m * n);
}

/* By the weights of a point, which has them, and whose read was measured. */
static void measure_large(struct probe_run *r, struct point *q, uint32_t tokens)
{
    struct family *f = q->family;
    struct batched_large large;
    if (!probe_begin_case(r, PROBE_POWER_BOUND, "model=%s,tokens=%u", q->p.model, tokens))
        return;
    point_ready(r, q);
    if (!f->blas ||
        !batched_large_open(r, &large, f->blas, &f->w, tokens, probe_seed(r) + q->p.batch)) {
        probe_missing(r, TENSOR_RATE, f->blas ? "cuBLASLt offers no algorithm" : f->no_blas);
        return;
    }
    const size_t bytes = 2 * (size_t)large.gemm.m * (size_t)large.gemm.n;
    gpu_poison(r, large.gemm.c, bytes);
    batched_large_launch(r, &large);
    batched_require_large(r, &large, "before timing");
    gpu_poison(r, large.gemm.c, bytes);
    sample_large(r, f, &large);
    batched_require_large(r, &large, "after timing");
    const double ns = large.flops / f->rates.tensor, rate = batched_layer_reads(&q->p) / q->read_ns;
    if (ns > 0 && q->read_ns > 0)
        probe_value(r, BYTES_SHARE, large_bytes(&large) / rate / ns);
    batched_large_close(r, &large);
}

/* --- one packaging ---------------------------------------------------------------------------- */

static bool begin_layer(struct probe_run *r, struct point *q, const char *impl, unsigned flags)
{
    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND,
                          "model=%s,context=%u,batch=%u,impl=%s,l2=cold", q->p.model, q->p.context,
                          q->p.batch, impl))
        return false;
    point_ready(r, q);
    return true;
}

static void measure_read(struct probe_run *r, struct point *q)
{
    const double bytes = batched_layer_reads(&q->p);
    if (!begin_layer(r, q, "read", q->flags))
        return;
    const struct batched_work w = point_work(q);
    gpu_empty_l2(r);
    while (probe_more(r))
        for (uint32_t n = q->p.layers; n <= 2 * q->p.layers; n += q->p.layers) {
            gpu_time_start(r);
            batched_launch_read(r, &w, n * bytes);
            probe_sample(r, LAYER_TIME, n, gpu_time_stop(r).ns);
        }
    q->read_ns = probe_median(r, LAYER_TIME);
    probe_value(r, BYTES, bytes);
}

/* A chain of layers, captured; or launched one by one. */
struct chain {
    uint32_t layers, again;
    struct gpu_graph graph; /* .exec NULL: none */
};

static double time_chain(struct probe_run *r, const struct point *q,
                         const struct batched_pack *pack, const struct chain *chain)
{
    const struct batched_work w = point_work(q);
    if (pack->in_graph)
        return gpu_replay_ns(r, &chain->graph);
    gpu_time_start_ungated(r);
    batched_launch(r, &w, pack, chain->layers, chain->again);
    return gpu_time_stop(r).ns;
}

/* n and 2n layers; a sample's work is `each` for a layer. */
static void time_pack(struct probe_run *r, const struct point *q, const struct batched_pack *pack,
                      int metric, uint32_t again, double each)
{
    const struct batched_work w = point_work(q);
    struct chain chain[2];

    for (uint32_t i = 0; i < 2; i++) {
        chain[i] = (struct chain){.layers = q->p.layers << i, .again = again};
        if (!pack->in_graph)
            continue;
        gpu_graph_begin(r);
        batched_launch(r, &w, pack, chain[i].layers, again);
        chain[i].graph = gpu_graph_end(r);
    }
    batched_poison(r, &q->t);
    gpu_empty_l2(r);
    while (probe_more(r))
        for (int i = 0; i < 2; i++)
            probe_sample(r, metric, chain[i].layers * each, time_chain(r, q, pack, &chain[i]));
    for (int i = 0; i < 2 && pack->in_graph; i++)
        gpu_graph_free(&chain[i].graph);
}

static double count_kernels(struct probe_run *r, const struct point *q,
                            const struct batched_pack *pack)
{
    const struct batched_work w = point_work(q);
    gpu_graph_begin(r);
    batched_launch(r, &w, pack, 1, 1);
    struct gpu_graph graph = gpu_graph_end(r);
    const size_t n = gpu_graph_first_kernel(r, &graph).n_kernels;
    gpu_graph_free(&graph);
    return (double)n;
}

/* Why nothing can be multiplied here, or NULL. */
static const char *lacks(const struct point *q)
{
    return q->has_products    ? NULL
           : !q->family->blas ? q->family->no_blas
                              : "cuBLASLt offers no algorithm for a product";
}

static void measure_pack(struct probe_run *r, struct point *q, enum batched_impl impl)
{
    const struct batched_pack *pack = &batched_packs[impl];
    const bool is_beside = impl == IMPL_STREAM && q->flags == 0; /* no verdict rests on it */
    if (!begin_layer(r, q, pack->name, is_beside ? PROBE_THRICE : q->flags))
        return;
    if (lacks(q)) {
        probe_missing(r, LAYER_TIME, lacks(q));
        return;
    }
    const double error = point_verify(r, q, pack), kernels = count_kernels(r, q, pack);

    time_pack(r, q, pack, LAYER_TIME, 1, 1);

    const double ns = probe_median(r, LAYER_TIME);
    point_require_bits(r, q, pack, POINT_LONG, "after timing");
    if (impl == IMPL_GRAPH && !isnan(ns)) {
        q->graph_ns = ns;
        q->graph_kernels = kernels;
    }
    probe_value(r, ERROR, error);
    probe_value(r, KERNELS, kernels);
    probe_value(r, BYTES, batched_layer_reads(&q->p));
    probe_fact(r, "packaging", "%s", pack->what);
    probe_fact(r, "chain",
               "%u and %u layers, %u sets of weights, %u of caches, %u splits of the keys",
               q->p.layers, 2 * q->p.layers, q->p.weight_sets, q->p.cache_sets, q->p.splits);
}

/* --- what its time consists of ---------------------------------------------------------------- */

static bool rates_of(const struct point *q, struct batched_rates *rates)
{
    *rates = q->family->rates;
    rates->read = batched_layer_reads(&q->p) / q->read_ns;
    return q->read_ns > 0 && rates->tensor > 0 && rates->node > 0;
}

static void measure_shares(struct probe_run *r, struct point *q)
{
    struct batched_rates rates;
    const bool is_known = rates_of(q, &rates) && q->graph_ns > 0;
    struct batched_floors f = {0};
    if (is_known)
        f = batched_layer_floors(&q->p, q->graph_kernels, &rates);
    const struct {
        const char *by;
        double ns;
    } parts[] = {{"bytes", f.bytes}, {"arithmetic", f.arithmetic}, {"launches", f.launches}};
    for (size_t i = 0; i < PROBE_LENGTH(parts); i++) {
        if (!probe_begin_case(r, q->flags, "model=%s,context=%u,batch=%u,by=%s", q->p.model,
                              q->p.context, q->p.batch, parts[i].by))
            continue;
        if (is_known)
            probe_value(r, SHARE, parts[i].ns / q->graph_ns);
        else
            probe_missing(r, SHARE,
                          "layer, read, large product and empty kernel were not all "
                          "measured in this process");
    }
}

/* --- micro-batches ---------------------------------------------------------------------------- */

static void measure_requests(struct probe_run *r, struct point *q, enum batched_impl impl)
{
    const struct batched_pack *pack = &batched_packs[impl];
    const uint32_t cuts = REQUESTS / q->p.batch;
    const struct batched_work w = point_work(q);
    if (cuts == 1 || !probe_begin_case(r, q->flags | PROBE_POWER_BOUND,
                                       "model=%s,context=%u,cut=%ux%u,impl=%s,l2=cold", q->p.model,
                                       q->p.context, cuts, q->p.batch, pack->name))
        return;
    point_ready(r, q);
    if (lacks(q)) {
        probe_missing(r, REQUESTS_TIME, lacks(q));
        return;
    }
    point_verify(r, q, pack);
    batched_poison(r, &q->t);
    batched_launch(r, &w, pack, 2 * q->p.layers, cuts);
    const uint64_t digest = batched_digest(r, &q->t, OP_ADD_DOWN);

    time_pack(r, q, pack, REQUESTS_TIME, cuts, (double)q->p.batch / REQUESTS);

    probe_require(r, batched_digest(r, &q->t, OP_ADD_DOWN) == digest,
                  "%s, %u micro-batches: the same bits after timing", pack->name, cuts);
}

/* --- one operator alone ----------------------------------------------------------------------- */

static uint32_t often(const struct probe_run *r, const struct point *q, enum batched_operator op)
{
    const double ns = fmax(SHORT_NS, fmax(batched_read_ns(batched_bytes(&q->p, op)),
                                          batched_flops(&q->p, op) / TENSOR_GUESS));
    if (probe_is_check_run(r))
        return 2;
    return (uint32_t)fmin(OPERATORS_MOST, fmax(OPERATORS_LEAST, ceil(OPERATORS_NS / ns)));
}

static void say_bound(struct probe_run *r, const struct point *q, enum batched_operator op,
                      double ns, double kernels)
{
    struct batched_rates rates;
    if (!rates_of(q, &rates) || isnan(ns))
        return;
    const struct batched_floors f = batched_floors_of(&q->p, op, kernels, &rates);
    const double most = fmax(f.bytes, f.arithmetic);
    probe_fact(r, "bound",
               "%s: bytes %.2f us, arithmetic %.2f us, launches %.2f us, none of these "
               "%.2f us",
               f.launches >= most        ? "launches"
               : f.bytes >= f.arithmetic ? "bytes"
                                         : "arithmetic",
               f.bytes / 1e3, f.arithmetic / 1e3, f.launches / 1e3, (ns - f.launches - most) / 1e3);
}

/* Behind a layer of that packaging, which leaves what the operator gets; every cache has its new
 * row, but where one operator appends it, too. Returns the bits that the operator has left. */
static uint64_t prepare(struct probe_run *r, struct point *q, const struct batched_pack *pack,
                        enum batched_operator op)
{
    const struct batched_work w = point_work(q);
    batched_poison(r, &q->t);
    batched_launch(r, &w, pack, 1, 1);
    point_require_bits(r, q, pack, POINT_ONE, "before an operator alone");
    if (pack->bits == BITS_APART)
        batched_launch_often(r, &w, OP_APPEND, q->p.cache_sets);
    return batched_digest(r, &q->t, op);
}

static void require_operator(struct probe_run *r, const struct point *q, enum batched_operator op,
                             uint64_t digest, const char *when)
{
    probe_require(r, batched_digest(r, &q->t, op) == digest,
                  "%s: %s alone leaves the bits that it leaves in a layer", when,
                  batched_operator_name(op));
}

static void time_operator(struct probe_run *r, struct point *q, enum batched_operator op,
                          uint64_t digest)
{
    const struct batched_work w = point_work(q);
    const uint32_t n = often(r, q, op);
    struct gpu_graph graph[2];

    for (uint32_t i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        batched_launch_often(r, &w, op, n << i);
        graph[i] = gpu_graph_end(r);
    }
    const double kernels = (double)gpu_graph_first_kernel(r, &graph[0]).n_kernels / n;
    batched_poison_one(r, &q->t, op);
    gpu_empty_l2(r);
    gpu_sample_graphs(r, OPERATOR_TIME, n, graph);
    require_operator(r, q, op, digest, "after timing");
    for (int i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
    probe_value(r, OPERATOR_BYTES, batched_bytes(&q->p, op));
    if (batched_flops(&q->p, op) > 0)
        probe_value(r, OPERATOR_FLOPS, batched_flops(&q->p, op));
    probe_value(r, OPERATOR_KERNELS, kernels);
    say_bound(r, q, op, probe_median(r, OPERATOR_TIME), kernels);
}

static void measure_operator(struct probe_run *r, struct point *q, enum batched_impl impl,
                             enum batched_operator op, unsigned flags)
{
    const struct batched_pack *pack = &batched_packs[impl];
    const struct batched_work w = point_work(q);
    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND,
                          "model=%s,context=%u,batch=%u,impl=%s,operator=%s,l2=cold", q->p.model,
                          q->p.context, q->p.batch, pack->name, batched_operator_name(op)))
        return;
    point_ready(r, q);
    if (lacks(q)) {
        probe_missing(r, OPERATOR_TIME, lacks(q));
        return;
    }
    if (q->digest[pack->bits][POINT_ONE] == 0)
        point_verify(r, q, pack);
    const uint64_t digest = prepare(r, q, pack, op);
    batched_poison_one(r, &q->t, op);
    batched_launch_often(r, &w, op, 1);
    require_operator(r, q, op, digest, "before timing");
    time_operator(r, q, op, digest);
}

/* Norm and add once each; of impl=fused those that are no kernels of the graph's. */
static void measure_operators(struct probe_run *r, struct point *q, bool all, unsigned flags)
{
    static const enum batched_operator alone[] = {OP_QKV,
                                                  OP_ATTENTION,
                                                  OP_O,
                                                  OP_GATE_UP,
                                                  OP_DOWN, /* those below in full only */
                                                  OP_NORM_ATTENTION,
                                                  OP_ROPE,
                                                  OP_APPEND,
                                                  OP_SILU,
                                                  OP_ADD_O};
    enum { LARGE = 5 };
    for (size_t i = 0; i < (all ? PROBE_LENGTH(alone) : LARGE); i++)
        measure_operator(r, q, IMPL_GRAPH, alone[i], flags);
    for (enum batched_operator op = OP_LOOK; op < BATCHED_ALL_OPERATORS && all; op++)
        measure_operator(r, q, IMPL_FUSED, op, flags);
}

/* --- the sweep -------------------------------------------------------------------------------- */

enum {
    WITH_STREAM = 1,
    WITH_REQUESTS = 2,
    WITH_LARGE_OPERATORS = 4,
    WITH_OPERATORS = 8,
    WITH_PRODUCT = 16
};

static void measure_point(struct probe_run *r, struct point *q, unsigned with, unsigned operators)
{
    measure_read(r, q);
    if (with & WITH_PRODUCT)
        measure_large(r, q, probe_is_check_run(r) ? 70 : TOKENS);
    for (enum batched_impl impl = with & WITH_STREAM ? IMPL_STREAM : IMPL_GRAPH;
         impl < BATCHED_IMPLS; impl++)
        measure_pack(r, q, impl);
    measure_shares(r, q);
    for (enum batched_impl impl = IMPL_GRAPH; impl < BATCHED_IMPLS && with & WITH_REQUESTS; impl++)
        measure_requests(r, q, impl);
    if (with & (WITH_OPERATORS | WITH_LARGE_OPERATORS))
        measure_operators(r, q, with & WITH_OPERATORS, operators);
    point_free(r, q);
}

static struct point point_of(struct family *f, const struct decoder_model *model, uint32_t context,
                             uint32_t batch, unsigned flags)
{
    return (struct point){
        .p = {.model = model->name, .shape = model->shape, .batch = batch, .context = context},
        .family = f,
        .flags = flags};
}

struct batch_of {
    uint32_t context, batch;
    unsigned flags, with, operators; /* operators: flags of theirs */
};

/* The batches of a model, which have its weights in common. */
static void measure_model(struct probe_run *r, struct family *f, const struct decoder_model *model,
                          const struct batch_of *of, size_t n)
{
    const struct batched_machine m = batched_machine_of(r);
    char why[240];
    for (size_t i = 0; i < n; i++) {
        struct point q = point_of(f, model, of[i].context, of[i].batch, of[i].flags);
        if (!probe_is_due(r, of[i].flags))
            continue;
        if (batched_problem_make(&q.p, &m, why, sizeof why))
            measure_point(r, &q, of[i].with, of[i].operators);
        else
            probe_note(r, "not measured: %s", why);
    }
    batched_weights_free(r, &f->w);
}

/* Small, with three heads to a kv head. */
static const struct decoder_model small = {"small", {576, 9, 3, 64, 2064, 1003}, 3, 0};

static struct point small_point(struct probe_run *r, struct family *f, uint32_t batch)
{
    const struct batched_machine m = batched_machine_of(r);
    struct point q = point_of(f, &small, 200, batch, 0);
    char why[240];
    q.p.weight_sets = q.p.cache_sets = 2;
    probe_require(r, batched_problem_make(&q.p, &m, why, sizeof why), "%s", why);
    q.p.layers = 2;
    return q;
}

static void measure_faults(struct probe_run *r, struct family *f)
{
    struct point q = small_point(r, f, 5);
    if (!probe_begin_case(r, PROBE_TWICE | PROBE_POWER_BOUND, "model=%s,context=%u,batch=%u",
                          q.p.model, q.p.context, q.p.batch))
        return;
    point_ready(r, &q);
    const struct batched_work w = point_work(&q);
    if (lacks(&q))
        probe_missing(r, CAUGHT, lacks(&q));
    else
        probe_value(r, CAUGHT, batched_check_faults(r, &q.check, &w));
    point_free(r, &q);
}

static void measure_small(struct probe_run *r, struct family *f)
{
    static const uint32_t batches[] = {1, 8, 64};
    for (size_t i = 0; i < PROBE_LENGTH(batches); i++) {
        struct point q = small_point(r, f, batches[i]);
        measure_point(
            r, &q, WITH_STREAM | WITH_REQUESTS | WITH_OPERATORS | (i == 0 ? WITH_PRODUCT : 0), 0);
    }
    if (probe_begin_case(r, 0, "model=odd,context=0,batch=0,impl=all,l2=cold"))
        probe_fact(r, "shapes", "%d of seeded sizes", batched_check_odd_shapes(r));
}

static bool is_given(const struct probe_run *r)
{
    for (size_t i = 0; i < PROBE_LENGTH(parameters); i++)
        if (probe_parameter_given(r, parameters[i].name))
            return true;
    return false;
}

static void measure_given(struct probe_run *r, struct family *f)
{
    const struct decoder_model *model = &decoder_models[probe_parameter(r, "model")];
    const struct batched_machine m = batched_machine_of(r);
    struct point q = point_of(f, model, (uint32_t)probe_parameter(r, "context"),
                              (uint32_t)probe_parameter(r, "batch"), 0);
    char why[240];
    if (!batched_problem_make(&q.p, &m, why, sizeof why))
        probe_usage(r, "%s", why);
    measure_nothing(r, f);
    measure_point(r, &q,
                  WITH_STREAM | WITH_PRODUCT | WITH_OPERATORS |
                      (REQUESTS % q.p.batch == 0 ? WITH_REQUESTS : 0),
                  0);
    batched_weights_free(r, &f->w);
}

static void measure(struct probe_run *r)
{
    enum { EACH_8B = WITH_STREAM | WITH_REQUESTS };
    static const struct batch_of of_8b[] = {
        {1024, 1, 0, EACH_8B | WITH_PRODUCT | WITH_OPERATORS, PROBE_THRICE},
        {1024, 8, 0, EACH_8B, 0},
        {1024, 64, 0, EACH_8B | WITH_OPERATORS, PROBE_THRICE},
        {1024, 256, PROBE_THRICE | PROBE_SLOW, WITH_LARGE_OPERATORS, PROBE_THRICE | PROBE_SLOW},
        {8192, 64, PROBE_DEEP, WITH_STREAM | WITH_OPERATORS, PROBE_DEEP},
    };
    static const struct batch_of of_70b[] = {
        {1024, 1, PROBE_THRICE | PROBE_SLOW, 0, 0},
        {1024, 8, PROBE_THRICE | PROBE_SLOW, 0, 0},
        {1024, 64, PROBE_THRICE | PROBE_SLOW, 0, 0},
        {1024, 256, PROBE_DEEP, WITH_OPERATORS, PROBE_DEEP},
    };
    struct family family = {.blas = NULL};

    if (is_given(r)) {
        measure_given(r, &family);
        return;
    }
    measure_nothing(r, &family);
    measure_faults(r, &family);
    if (probe_is_check_run(r)) {
        measure_small(r, &family);
        batched_weights_free(r, &family.w);
        return;
    }
    batched_weights_free(r, &family.w);
    measure_model(r, &family, &decoder_models[MODEL_8B], of_8b, PROBE_LENGTH(of_8b));
    measure_model(r, &family, &decoder_models[MODEL_70B], of_70b, PROBE_LENGTH(of_70b));
}

const struct probe probe = {
    .name = "batched_layer",
    .what = "A decoder's layer at batch 1 to 256: bytes, arithmetic or launches?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
