/* The latency floor of a forward pass, from primitives whose answers are known by hand. */
#include "tests/unit/test_report_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/floor/estimate.h"
#include "report/floor/frozen.h"

/* 4 TB/s, a graph's edge of 1000 ns, a product node of 1500 ns and its stream, attention of
 * 2000. */
static const double RATE = 4e12, GRAPH = 1000, NODE = 1500, ATTENTION_NODE = 2000;
/* ns: from the edge to the first bytes of a read, a load of the memory, a step's bytes behind an
 * edge; and bytes of a tile, of the shared memory of one SM. */
static const double READ_RAMP = 250, MEMORY = 400, RAMP = 700, TILE = 16384, SM_BYTES = 233472;
static const double NORM = 1600, POINT = 1100, PAIR = 1300, PAIRS = 1500, MERGED = 1450;
enum { SMS = 128 }; /* by which all rows of 1B's shape can be divided; 8 kv heads of 16 splits */

static void put_point(struct node_curve *curve, double amount, double time)
{
    curve->amount[curve->n] = amount;
    curve->time[curve->n++] = (struct corners){{time, time, time}};
}

static struct corners all(double value)
{
    return (struct corners){{value, value, value}};
}

static struct primitives primitives_known(void)
{
    struct primitives p = {
        .read_rate = all(RATE),
        .read_rate_best = RATE,
        .edge = {all(2000), all(GRAPH), all(900), all(800), all(300)},
        .edge_least = 200,
        .memory = all(MEMORY),
        .loaded = all(2),
        .ramp = all(RAMP),
        .bulk_rate = all(RATE),
        .flight = {all(RATE / 4), all(RATE / 2), all(RATE)},
        .l2_rate = all(1e30),
        .issue = all(0),
        .norm = all(NORM),
        .point = all(POINT),
        .pair = all(PAIR),
        .pairs = all(PAIRS),
        .merge = all(MERGED),
        .shared_rate = all(1e30),
        .tensor_peak = 1e15,
        .sms = SMS,
        .shared_bytes = SMS * SM_BYTES,
        .memory_bytes = 1e12,
        .waits = 1,
    };
    const double amounts[] = {1e6, 1e8};
    for (size_t i = 0; i < 2; i++) {
        const double stream = amounts[i] / RATE * 1e9;
        put_point(&p.read, amounts[i], GRAPH + READ_RAMP + stream);
        put_point(&p.product, amounts[i], NODE + stream);
        put_point(&p.library, amounts[i], NODE + 500 + stream);
        put_point(&p.attention[0], amounts[i], ATTENTION_NODE + stream);
    }
    return p;
}

/* What a product takes beyond a read; attention of one turn, as a node, and what no stream hides of
 * it; what a merge takes beyond its edge. */
static const double WORK = 250, ATTENTION_ONE = 2250, ATTENTION_WORK = 600, MERGE_WORK = 450;

/* 1B's shape with two layers. */
static const struct model two_layers = {
    .name = "two", .decode = {2, 2048, 32, 8, 64, 8192, 128256, 2, 2}};
static const double LAYER_WEIGHTS = 121634816, HEAD = 525336576, CACHE_1024 = 2097152;
static const double QKV = 12582912, OUT = 8388608, GATE_UP = 67108864, DOWN = 33554432;

static double ns_of(double bytes)
{
    return bytes / RATE * 1e9;
}

static struct pass estimate(const struct model *model, const struct primitives *p, double context)
{
    struct pass pass;
    char why[DOCUMENT_WHY];
    assert_true(pass_estimate(&pass, model, context, 1, p, why));
    return pass;
}

static void bytes_are_those_of_the_model(void **unused)
{
    static const struct {
        const char *name;
        double layers, layer, head, cache; /* at a context of 1024, of a layer */
    } known[] = {{"llama-1b", 16, 121634816, 525336576, 2097152},
                 {"llama-8b", 32, 436207616, 1050673152, 4194304},
                 {"llama-3b", 28, 201326592, 788004864, 4194304},
                 {"llama-70b", 80, 1711276032, 2101346304, 4194304}};
    const struct primitives p = primitives_known();
    struct model model;
    char why[DOCUMENT_WHY];
    (void)unused;

    for (size_t i = 0; i < CHECK_LENGTH(known); i++) {
        assert_true(model_read(&model, known[i].name, why));
        const struct pass pass = estimate(&model, &p, 1024);
        assert_same(pass.weight_bytes, known[i].layers * known[i].layer + known[i].head);
        assert_same(pass.cache_bytes, known[i].layers * known[i].cache);
        assert_same(pass.edges, 5 * known[i].layers + 2);
        assert_close(pass.floor, (pass.weight_bytes + pass.cache_bytes) / RATE * 1e9, 1e-12);
    }
}

static void the_floor_is_the_longest_of_three(void **unused)
{
    struct primitives p = primitives_known();
    (void)unused;

    p.edge_least = 1e9;
    assert_close(estimate(&two_layers, &p, 1024).floor, 12e9, 1e-12);
    p = primitives_known();
    p.tensor_peak = 1e9;
    const double flops = 2 * (2 * LAYER_WEIGHTS + HEAD) / 2;
    assert_close(estimate(&two_layers, &p, 1024).floor, flops, 1e-12);
}

/* Serial: an edge, the start of the bytes, their stream, and the work beside it, of six steps; and
 * the nodes of operators that are kernels of their own. */
static void serial_estimates_are_sums(void **unused)
{
    const struct primitives p = primitives_known();
    const struct pass pass = estimate(&two_layers, &p, 1024);
    const double weights = ns_of(LAYER_WEIGHTS), head = ns_of(HEAD);
    const double node = GRAPH + MEMORY + WORK, attention = ATTENTION_ONE + MERGED;
    const double split = 5 * node + attention + weights + 2 * NORM + 2 * PAIR + 3 * POINT;
    /* 24 rows of a block in three tiles, 16 in two, 128 in four at a time */
    const double rows = ns_of(QKV / 0.75 + OUT / 0.5 + GATE_UP + DOWN / 0.5);
    const double layers[] = {
        [PACKAGING_STREAM] = split + 14 * (2000 - GRAPH),
        [PACKAGING_GRAPH] = split,
        [PACKAGING_CUBLAS] = 4 * (NODE + 500) + weights + attention + 2 * NORM + PAIRS + 2 * POINT,
        [PACKAGING_FUSED] = 4 * node + attention + weights,
        [PACKAGING_DEPENDENT] = 4 * (900 + WORK) + attention - 2 * (GRAPH - 900) + weights,
        [PACKAGING_BARRIER] = 4 * (800 + RAMP + WORK) + rows + attention - 2 * (GRAPH - 800) + RAMP,
    };
    const double heads[] = {
        [PACKAGING_STREAM] = 2000 + MEMORY + WORK + head + 2000 + NORM + 2000 - GRAPH,
        [PACKAGING_GRAPH] = node + head + GRAPH + NORM,
        [PACKAGING_CUBLAS] = node + head + GRAPH + NORM,
        [PACKAGING_FUSED] = node + head + GRAPH,
        [PACKAGING_DEPENDENT] = 900 + WORK + head + 900,
        [PACKAGING_BARRIER] = 800 + RAMP + WORK + head + 800,
    };
    (void)unused;

    for (size_t i = 0; i < CHECK_LENGTH(layers); i++) {
        assert_close(pass.by[i].layer_serial[CENTRE], layers[i], 1e-9);
        assert_close(pass.by[i].serial[CENTRE], 2 * layers[i] + heads[i], 1e-9);
        assert_close(estimate_told(&pass.by[i], i, CENTRE), pass.by[i].serial[CENTRE], 0);
    }
    assert_nan(pass.by[PACKAGING_FUSED].overlap[CENTRE]);
    assert_nan(pass.by[PACKAGING_BARRIER].overlap[CENTRE]);
}

/* Each SM takes all of what the step before handed over: two residuals in fp32, attention's row and
 * the intermediate in bf16. */
static void every_sm_takes_what_is_handed_over(void **unused)
{
    struct primitives p = primitives_known();
    const double before =
        estimate(&two_layers, &p, 1024).by[PACKAGING_BARRIER].layer_serial[CENTRE];
    (void)unused;

    p.l2_rate = all(8e12);
    const double after = estimate(&two_layers, &p, 1024).by[PACKAGING_BARRIER].layer_serial[CENTRE];
    assert_close(after - before, (2 * 4 * 2048 + 2 * 2048 + 2 * 8192) * SMS / 8e3, 1e-9);
}

/* A further turn of attention's loop waits for its loads, and then computes. */
static void long_attention_goes_by_turns(void **unused)
{
    struct primitives p = primitives_known();
    struct model model = two_layers;
    (void)unused;

    p.issue = all(2);
    const double loads = TILE * SMS / (RATE / 4) * 1e9;
    const double one = estimate(&model, &p, 1024).by[PACKAGING_FUSED].layer_serial[CENTRE];
    const double two = estimate(&model, &p, 2048).by[PACKAGING_FUSED].layer_serial[CENTRE];
    assert_close(two - one, loads + 8 * 139 * 2, 1e-9);
    assert_close(estimate(&model, &p, 128).by[PACKAGING_FUSED].layer_serial[CENTRE], one, 1e-12);
    model.decode.heads = 64; /* eight share each kv head: more instructions a turn, as many keys */
    const double shared = estimate(&model, &p, 2048).by[PACKAGING_FUSED].layer_serial[CENTRE] -
                          estimate(&model, &p, 1024).by[PACKAGING_FUSED].layer_serial[CENTRE];
    assert_close(shared, loads + 8 * 354 * 2, 1e-9);
}

/* A ring that holds more than the gaps between two long steps hides all but the last, once the
 * stream is over. Under load an edge takes twice as long as alone. */
static void overlap_is_between_a_stream_and_a_sum(void **unused)
{
    struct primitives p = primitives_known();
    struct pass pass = estimate(&two_layers, &p, 1024);
    const double stream = ns_of(2 * (LAYER_WEIGHTS + CACHE_1024) + HEAD);
    const double edge = 2 * 300, layer = ns_of(LAYER_WEIGHTS + CACHE_1024);
    (void)unused;

    assert_close(packaging_tiles(PACKAGING_RING, &p, &two_layers.decode, 1), 12, 0);
    assert_close(pass.by[PACKAGING_RING].overlap[CENTRE], READ_RAMP + stream + 2 * 800 + WORK,
                 1e-9);
    assert_close(pass.by[PACKAGING_VALUES].overlap[CENTRE], READ_RAMP + stream + edge + WORK, 1e-9);
    assert_close(pass.by[PACKAGING_VALUES].layer_overlap[CENTRE], layer, 1e-9);

    /* Three tiles fill up while attention merges. Until O takes some nothing is asked for, and what
     * is asked for then comes a load of the memory later. */
    p.shared_bytes = SMS * 91024.0;
    pass = estimate(&two_layers, &p, 1024);
    const double held = ns_of(3 * TILE * SMS);
    const double before_merge = edge + ATTENTION_WORK - ns_of(CACHE_1024);
    const double lost = before_merge + edge + MERGE_WORK - held + edge + WORK + MEMORY;
    assert_close(packaging_tiles(PACKAGING_VALUES, &p, &two_layers.decode, 1), 3, 0);
    assert_close(pass.by[PACKAGING_VALUES].layer_overlap[CENTRE], layer + lost, 1e-9);

    p.shared_bytes = SMS * 60000.0; /* no room for three tiles */
    pass = estimate(&two_layers, &p, 1024);
    assert_nan(pass.by[PACKAGING_VALUES].overlap[CENTRE]);
    assert_nan(pass.by[PACKAGING_RING].layer_overlap[CENTRE]);
}

/* On chip, what is ahead is still taken at the rate of the shared memory, and keys and values no
 * faster than a turn's instructions: then steps add up. Words with epochs are twice as long and are
 * polled once more. */
static void what_is_ahead_is_taken_at_a_rate(void **unused)
{
    struct primitives p = primitives_known();
    const double edge = 2 * 800, product = edge + WORK, bytes = 2 * ns_of(2 * LAYER_WEIGHTS + HEAD);
    const double layer = 4 * product + edge + ATTENTION_WORK + edge + MERGE_WORK;
    (void)unused;
    p.shared_rate = all(RATE / 2); /* slower than the memory: it decides alone */
    const double ring = estimate(&two_layers, &p, 1024).by[PACKAGING_RING].overlap[CENTRE];
    const double values = estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE];
    assert_close(ring, READ_RAMP + 2 * layer + 2 * product + bytes, 1e-9);
    assert_close(ring - values, 14 * 2 * (800 - 300), 1e-9);

    p.issue = all(1);
    p.l2_rate = all(8e12);
    const double takes = (2 * (2 * 4 * 2048 + 2 * 2048 + 2 * 8192) + 4 * 2048) * SMS / 8e3;
    const double turns = 2 * 8 * 139;
    const struct pass pass = estimate(&two_layers, &p, 1024);
    assert_close(pass.by[PACKAGING_RING].overlap[CENTRE] - ring, takes + turns, 1e-9);
    assert_close(pass.by[PACKAGING_VALUES].overlap[CENTRE] - values, 4 * takes + turns, 1e-9);
    p.waits = 0;
    assert_close(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE],
                 READ_RAMP + bytes + turns, 1e-9);
}

/* Rows of exchanges have the edge and the words' way in one: 4096 words behind gate and up, 2048 of
 * the residual, 1024 of attention, and no fewer than were measured. Here they take
 * as long beside a stream as in an idle memory. */
static void exchanges_take_the_place_of_edges(void **unused)
{
    struct primitives p = primitives_known();
    struct node_curve *values = &p.exchange[EXCHANGE_VALUES][BESIDE_NOTHING];
    struct node_curve *counter = &p.exchange[EXCHANGE_COUNTER][BESIDE_NOTHING];
    const double bytes = 2 * ns_of(2 * LAYER_WEIGHTS + HEAD), fewest = 700, more = 900, most = 1300;
    const double layer = fewest + 2 * more + most + 4 * WORK + fewest + ATTENTION_WORK + fewest +
                         MERGE_WORK;
    (void)unused;
    p.shared_rate = all(RATE / 2); /* slower than the memory: steps add up */
    p.l2_rate = all(8e12);
    const struct pass before = estimate(&two_layers, &p, 1024);

    put_point(values, 1024, fewest);
    put_point(values, 2048, more);
    put_point(values, 4096, most);
    assert_close(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE],
                 before.by[PACKAGING_VALUES].overlap[CENTRE], 0); /* half of the rows is none */
    p.exchange[EXCHANGE_VALUES][BESIDE_STREAM] = *values;
    p.loaded = all((double)NAN);
    struct pass pass = estimate(&two_layers, &p, 1024);
    assert_close(pass.by[PACKAGING_VALUES].overlap[CENTRE],
                 READ_RAMP + 2 * layer + more + fewest + 2 * WORK + bytes, 1e-9);
    assert_nan(pass.by[PACKAGING_RING].overlap[CENTRE]); /* it has the flag's way still */
    /* beyond the last, 8 bytes of each further word */
    values->n = p.exchange[EXCHANGE_VALUES][BESIDE_STREAM].n = 2;
    const double fewer = estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE];
    assert_close(fewer - pass.by[PACKAGING_VALUES].overlap[CENTRE],
                 2 * (more + 2048 * 8 * SMS / 8e3 - most), 1e-9);
    p.l2_rate = all((double)NAN); /* it is asked beyond the last point alone */
    assert_nan(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE]);
    values->n = p.exchange[EXCHANGE_VALUES][BESIDE_STREAM].n = 3;
    assert_close(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE],
                 pass.by[PACKAGING_VALUES].overlap[CENTRE], 1e-9);
    p.l2_rate = all(8e12);
    p.waits = 0;
    assert_close(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE],
                 READ_RAMP + bytes, 1e-9);

    p.waits = 1;
    put_point(counter, 1024, 1500);
    put_point(counter, 4096, 2100);
    pass = estimate(&two_layers, &p, 1024);
    const double taken = (2 * 4 * 2048 + 2 * 2048 + 2 * 8192) * SMS / 8e3;
    assert_close(pass.by[PACKAGING_BARRIER].layer_serial[CENTRE] -
                     before.by[PACKAGING_BARRIER].layer_serial[CENTRE],
                 2 * 1700 + 1500 + 2100 - 4 * 800 - taken, 1e-9);
}

/* Beside a stream the words' way is long only until the ring stands full. Three tiles do so in each
 * gap but the one behind the merge: attention took less than a third of them, and the merge
 * nothing. */
static void a_way_is_slow_while_the_ring_fills(void **unused)
{
    struct primitives p = primitives_known();
    struct node_curve *values = p.exchange[EXCHANGE_VALUES];
    const double beside = 10000, idle = 1000, held = ns_of(3 * TILE * SMS);
    const double cache = ns_of(CACHE_1024);
    const double whole = held + (1 - held / beside) * idle;
    const double part = cache + (1 - cache / beside) * idle;
    const double gaps = 4 * whole + part + idle + 4 * WORK + ATTENTION_WORK + MERGE_WORK;
    (void)unused;

    p.shared_bytes = SMS * 91024.0;
    put_point(&values[BESIDE_STREAM], 1024, beside);
    put_point(&values[BESIDE_NOTHING], 1024, idle);
    assert_close(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].layer_overlap[CENTRE],
                 gaps + ns_of(LAYER_WEIGHTS) - 4 * held + 4 * MEMORY, 1e-9);
    values[BESIDE_STREAM].time[0] = all(held / 2); /* over before the ring is full */
    const double quick = estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].layer_overlap[CENTRE];
    values[BESIDE_NOTHING].time[0] = all(held / 4);
    const double idler = estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].layer_overlap[CENTRE];
    /* two ways, behind a ring that is full */
    assert_true(idler < quick && quick - idler < 2 * held / 4);
    values[BESIDE_STREAM].n = 0; /* the other alone says nothing of a stream */
    const double without = estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE];
    values[BESIDE_NOTHING].n = 0;
    assert_same(estimate(&two_layers, &p, 1024).by[PACKAGING_VALUES].overlap[CENTRE], without);
}

/* A kernel among others pays for its code, in packagings that have several; dependents do not. */
static void kernels_among_others_are_cold(void **unused)
{
    static const struct {
        enum packaging_name packaging;
        double layer, head; /* kernels */
    } known[] = {{PACKAGING_FUSED, 6, 2},   {PACKAGING_GRAPH, 14, 3}, {PACKAGING_CUBLAS, 11, 3},
                 {PACKAGING_BARRIER, 0, 0}, {PACKAGING_RING, 0, 0},   {PACKAGING_STREAM, 14, 3},
                 {PACKAGING_DEPENDENT, 0, 0}};
    struct primitives p = primitives_known();
    const struct pass warm = estimate(&two_layers, &p, 1024);
    (void)unused;

    p.cold = all(100);
    const struct pass cold = estimate(&two_layers, &p, 1024);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct estimate *a = &warm.by[known[i].packaging], *b = &cold.by[known[i].packaging];
        assert_close(b->layer_serial[CENTRE] - a->layer_serial[CENTRE], 100 * known[i].layer, 1e-9);
        assert_close(b->serial[CENTRE] - a->serial[CENTRE],
                     100 * (2 * known[i].layer + known[i].head), 1e-9);
    }
    assert_same(cold.by[PACKAGING_VALUES].overlap[CENTRE],
                warm.by[PACKAGING_VALUES].overlap[CENTRE]);
}

/* On 100 SMs 1536 units of QKV are 16 for some, 2048 rows 21, 4096 units of gate and up 41; keys
 * of a head have 12 splits, of two turns each. */
static void rows_are_dealt_out_whole(void **unused)
{
    struct primitives p = primitives_known();
    const double even = estimate(&two_layers, &p, 1024).by[PACKAGING_FUSED].layer_serial[CENTRE];
    const double more = QKV * (1600 / 1536.0 - 1) + (OUT + DOWN) * (2100 / 2048.0 - 1) +
                        GATE_UP * (4100 / 4096.0 - 1);
    (void)unused;

    p.sms = 100;
    const double uneven = estimate(&two_layers, &p, 1024).by[PACKAGING_FUSED].layer_serial[CENTRE];
    assert_close(packaging_splits(&p, &two_layers.decode, 1024, 1), 12, 0);
    assert_close(uneven - even, ns_of(more) + TILE * 100 / (RATE / 4) * 1e9, 1e-9);
}

static void causes_are_told_apart(void **unused)
{
    struct primitives p = primitives_known();
    struct pass pass = estimate(&two_layers, &p, 1024);
    (void)unused;

    assert_int_equal(pass.best, PACKAGING_VALUES);
    assert_close(pass.share_weights + pass.share_cache + pass.share_edges, 1, 1e-12);
    assert_close(pass.share_cache, 2 * CACHE_1024 / RATE * 1e9 /
                 pass.by[PACKAGING_VALUES].overlap[CENTRE], 1e-9);
    assert_close(pass.what_if.half_weights, 0.5, 0.02);
    assert_close(pass.what_if.twice_bandwidth, 0.5, 0.02);
    assert_close(pass.what_if.no_edges,
                 1 - (2 * 300 + WORK) / pass.by[PACKAGING_VALUES].overlap[CENTRE], 1e-9);

    for (size_t beside = 0; beside < BESIDES; beside++) {
        put_point(&p.exchange[EXCHANGE_VALUES][beside], 1024, 300);
        put_point(&p.exchange[EXCHANGE_VALUES][beside], 4096, 300);
    }
    p.near_rate = all(RATE); /* a rate of its own: twice the bandwidth is twice that, too */
    p.near_exchange = all(200);
    pass = estimate(&two_layers, &p, 1024);
    assert_int_equal(pass.best, PACKAGING_NEAR);
    assert_close(pass.what_if.twice_bandwidth, 0.5, 0.02);

    p.shared_bytes = (double)NAN; /* no ring: the sums remain */
    pass = estimate(&two_layers, &p, 1024);
    assert_int_equal(pass.best, PACKAGING_DEPENDENT);
    assert_close(pass.share_edges, 14 * 900 / pass.by[PACKAGING_DEPENDENT].serial[CENTRE], 1e-9);
    assert_nan(pass.what_if.twice_bandwidth);
}

/* What a bundle lacks makes what rests on it unknown, and nothing else. */
static void what_is_missing_is_not_guessed(void **unused)
{
    struct primitives p = primitives_known();
    struct pass pass;
    char why[DOCUMENT_WHY];
    (void)unused;

    p.edge[EDGE_DEPENDENT] = all((double)NAN);
    p.library.n = 0;
    pass = estimate(&two_layers, &p, 1024);
    assert_nan(pass.by[PACKAGING_DEPENDENT].serial[CENTRE]);
    assert_nan(pass.by[PACKAGING_CUBLAS].serial[CENTRE]);
    assert_true(pass.by[PACKAGING_FUSED].serial[CENTRE] > 0);
    p.read_rate_best = 0;
    assert_false(pass_estimate(&pass, &two_layers, 1024, 1, &p, why));
    assert_non_null(strstr(why, "bandwidth.rate"));
    p = primitives_known();
    assert_true(pass_estimate(&pass, &two_layers, 1024, BATCH_ESTIMATED + 1, &p, why));
    assert_nan(pass.by[PACKAGING_FUSED].serial[CENTRE]);
    assert_nan(pass.by[PACKAGING_RING].overlap[CENTRE]);
    assert_int_equal(pass.best, PACKAGINGS);
}

static void curves_are_lines_between_points(void **unused)
{
    struct node_curve curve = {0};
    (void)unused;
    assert_nan(curve_at(&curve, 1, 1, CENTRE));
    put_point(&curve, 100, 1000);
    put_point(&curve, 200, 1600);
    assert_close(curve_at(&curve, 150, 1e9, CENTRE), 1300, 1e-12);
    assert_close(curve_at(&curve, 100, 1e9, CENTRE), 1000, 1e-12);
    assert_close(curve_at(&curve, 60, 1e9, CENTRE), 960, 1e-12);
    assert_close(curve_at(&curve, 300, 1e9, CENTRE), 1700, 1e-12);
    assert_same(curve_at(&curve, 0, 1e7, CENTRE), 0); /* never less than nothing */
}

/* --- from rows -------------------------------------------------------------------------------- */

#define PART_ROW(impl)                                                                             \
    "attention_decode.time{batch=1,context=8192,heads=32,kv_heads=8,d=128,type=bf16,impl=" impl    \
    ",mode=graph,l2=cold,timer=event}"

static void rows_become_primitives(void **unused)
{
    struct bundle bundle = {0};
    struct primitives p;
    const double values[] = {10, 11, 12, 10, 11, 12, 11};
    (void)unused;

    bundle.head = json_pack("{s:{s:{s:i, s:i, s:f}}}", "environment", "gpu", "n_sm", 132,
                            "sm_clock_max_mhz", 2000, "memory_bytes", 1e11);
    put_values(&bundle.rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}",
               "ns", ROW_LOWER, values, 7);
    put_spread(&bundle.rows, "gemv.read{bytes=1000000,path=ld,l2=cold}", "bytes/s", ROW_HIGHER,
               2e12, 0, 7);
    put_spread(&bundle.rows, "gemv.time{m=10,k=20,type=bf16,acc=fp32,impl=own,l2=cold,timer=event}",
               "ns", ROW_LOWER, 100, 0, 7);
    put_spread(&bundle.rows, "gemv.time{m=20,k=10,type=bf16,acc=fp32,impl=own,l2=cold,timer=event}",
               "ns", ROW_LOWER, 200, 0, 7);
    put_spread(&bundle.rows, "gemv.time{m=20,k=20,type=bf16,acc=fp32,impl=own,l2=warm,timer=event}",
               "ns", ROW_LOWER, 1, 0, 7);
    put_spread(&bundle.rows, "bandwidth.rate{level=hbm,op=read,path=ld,bytes=1000}", "bytes/s",
               ROW_HIGHER, 4e12, 0, 7);
    put_spread(&bundle.rows, "bandwidth.rate{level=hbm,op=read,path=bulk,bytes=500}", "bytes/s",
               ROW_HIGHER, 5e12, 0, 7);
    put_spread(&bundle.rows, "sm_to_sm.flag_time{path=l2,by=relaxed,timer=device}", "ns", ROW_LOWER,
               250, 0, 7);
    put_spread(&bundle.rows, "instructions.throughput{op=fma,type=fp32}", "ops/cycle", ROW_HIGHER,
               128, 0, 7);
    put_spread(&bundle.rows, "memory_latency.load_time{level=hbm,timer=device}", "ns", ROW_LOWER,
               340, 0, 7);
    put_spread(&bundle.rows, "memory_latency.load_time{level=l2,timer=device}", "ns", ROW_LOWER,
               140, 0, 7);
    put_spread(&bundle.rows, "bandwidth.loaded_latency{level=hbm,load=0,timer=device}", "ns",
               ROW_LOWER, 350, 0, 7);
    put_spread(&bundle.rows, "bandwidth.loaded_latency{level=hbm,load=100,timer=device}", "ns",
               ROW_LOWER, 700, 0, 7);
    put_spread(&bundle.rows, "bandwidth.rate{level=l2,op=read,path=ld,bytes=1000}", "bytes/s",
               ROW_HIGHER, 33554432e6, 0, 7);
    put_spread(&bundle.rows, "edges.step{mode=counter,blocks=sm,body=0,span=64-512,timer=event}",
               "ns", ROW_LOWER, 1000, 0, 7);
    put_spread(&bundle.rows,
               "edges.step{mode=counter,blocks=sm,body=33554432,span=64-512,timer=event}", "ns",
               ROW_LOWER, 2700, 0, 7);
    put_spread(&bundle.rows, "occupancy.read_rate{level=hbm,warps=8,loads=8}", "bytes/s",
               ROW_HIGHER, 2e12, 0, 7);
    put_spread(&bundle.rows, "occupancy.read_rate{level=hbm,warps=4,loads=16}", "bytes/s",
               ROW_HIGHER, 1e12, 0, 7);
    put_spread(&bundle.rows, "occupancy.read_rate{level=hbm,warps=4,loads=8}", "bytes/s",
               ROW_HIGHER, 3e12, 0, 7);
    put_spread(&bundle.rows, PART_ROW("attention"), "ns", ROW_LOWER, 5000, 0, 7);
    put_spread(&bundle.rows, PART_ROW("merge"), "ns", ROW_LOWER, 6500, 0, 7);
    put_spread(&bundle.rows, PART_ROW("unfused"), "ns", ROW_LOWER, 7600, 0, 7);
    rows_finish(&bundle.rows);
    primitives_take(&p, &bundle);
    assert_same(p.edge[EDGE_GRAPH].at[CENTRE], 11);
    assert_same(p.edge[EDGE_GRAPH].at[FAST], 10);
    assert_same(p.edge[EDGE_GRAPH].at[SLOW], 12);
    assert_nan(p.edge[EDGE_STREAM].at[CENTRE]);
    assert_int_equal(p.read.n, 1);
    assert_close(p.read.time[0].at[CENTRE], 500, 1e-12);
    assert_int_equal(p.product.n, 1); /* a matrix and its transpose are one point; warm is none */
    assert_same(p.product.amount[0], 400);
    assert_same(p.product.time[0].at[CENTRE], 150);
    assert_same(p.read_rate.at[CENTRE], 4e12);
    assert_same(p.read_rate_best, 5e12);
    assert_same(p.edge[EDGE_FLAG].at[CENTRE], 250);
    assert_close(p.issue.at[CENTRE], 0.125, 1e-12); /* a quarter of a cycle */
    assert_same(p.memory.at[CENTRE], 340);
    assert_close(p.loaded.at[CENTRE], 2, 1e-12);
    assert_close(p.ramp.at[CENTRE], 2700 - 1000 - 1000 - 140 + 340, 1e-9);
    assert_same(p.flight[FLIGHT_4].at[CENTRE], 3e12); /* by half the warps, with twice the loads */
    assert_same(p.flight[FLIGHT_8].at[CENTRE], 2e12);
    assert_nan(p.flight[FLIGHT_16].at[CENTRE]);
    assert_same(p.merge.at[CENTRE], 1500);
    assert_same(p.pair.at[CENTRE], 1300); /* rope and append are two */
    assert_nan(p.pairs.at[CENTRE]);
    assert_nan(p.point.at[CENTRE]);
    assert_same(p.sms, 132);
    rows_free(&bundle.rows);
    json_decref(bundle.head);
}

#define EXCHANGE_ROW(mode, words, stream)                                                          \
    "edges.exchange{mode=" mode ",words=" words ",stream=" stream ",span=32-256,timer=event}"
#define STREAMING_ROW(mode)                                                                        \
    "edges.step{mode=" mode ",blocks=sm,body=268435456,span=8-64,timer=event}"
#define DIFFERENT_ROW(mode, kernels, reads)                                                        \
    "edges.different{mode=" mode ",kernels=" kernels ",reads=" reads ",span=56-280,timer=event}"

/* Rows that the first bundles lack. */
static void later_rows_are_taken_where_they_are(void **unused)
{
    static const struct {
        const char *id;
        double ns;
    } rows[] = {
        {"edges.step{mode=counter,blocks=sm,body=0,span=64-512,timer=event}", 1000},
        {STREAMING_ROW("counter"), 66000},
        {STREAMING_ROW("unwaited"), 62000},
        {EXCHANGE_ROW("values", "2048", "hbm"), 1300},
        {EXCHANGE_ROW("values", "1024", "hbm"), 1100},
        {EXCHANGE_ROW("values", "1024", "none"), 800},
        {EXCHANGE_ROW("counter", "2048", "hbm"), 3000},
        {"edges.exchange_beside{among=all,words=2048,stream=hbm,tile=16384,in_flight=65536,"
         "span=32-256,timer=event}", 5700}, /* counts nowhere */
        {DIFFERENT_ROW("graph", "1", "16777216"), 6500},
        {DIFFERENT_ROW("graph", "14", "16777216"), 7200},
        {DIFFERENT_ROW("graph", "14", "0"), 2300},
        {DIFFERENT_ROW("graph_pdl_early", "1", "16777216"), 6200}, /* counts nowhere */
        {DIFFERENT_ROW("graph_pdl_early", "14", "16777216"), 9900},
    };
    struct bundle bundle = {0};
    struct primitives p;
    (void)unused;

    bundle.head = json_pack("{}");
    primitives_take(&p, &bundle);
    assert_same(p.cold.at[CENTRE], 0);
    assert_int_equal(p.exchange[EXCHANGE_VALUES][BESIDE_STREAM].n, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        put_spread(&bundle.rows, rows[i].id, "ns", ROW_LOWER, rows[i].ns, 0, 7);
    rows_finish(&bundle.rows);
    primitives_take(&p, &bundle);
    assert_same(p.ramp.at[CENTRE], 3000); /* no rate, and no load of the memory, is needed */
    assert_same(p.cold.at[CENTRE], 700);
    assert_int_equal(p.exchange[EXCHANGE_VALUES][BESIDE_STREAM].n, 2);
    assert_same(p.exchange[EXCHANGE_VALUES][BESIDE_STREAM].amount[0], 1024);
    assert_same(p.exchange[EXCHANGE_VALUES][BESIDE_STREAM].time[1].at[CENTRE], 1300);
    assert_same(p.exchange[EXCHANGE_VALUES][BESIDE_NOTHING].time[0].at[CENTRE], 800);
    assert_same(p.exchange[EXCHANGE_COUNTER][BESIDE_STREAM].time[0].at[CENTRE], 3000);
    assert_int_equal(p.exchange[EXCHANGE_COUNTER][BESIDE_NOTHING].n, 0);
    rows_free(&bundle.rows);
    json_decref(bundle.head);
}

/* --- files ------------------------------------------------------------------------------------ */

static bool read_text(const char *text, struct model *model, char why[DOCUMENT_WHY])
{
    char path[] = "/tmp/test_floor_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    const bool read = model_read(model, path, why);
    unlink(path);
    return read;
}

#define FILE_HEAD "{\"schema\": \"model\", \"schema_version\": 1, \"name\": \"mine\", "
#define FILE_DECODE(heads, bytes)                                                              \
    "\"decode\": {\"layers\": 2, \"hidden\": 64, \"heads\": " heads ", \"kv_heads\": 2, "         \
    "\"head_dim\": 16, \"ffn\": 128, \"vocabulary\": 100, \"weight_bytes\": " bytes            \
    ", \"cache_bytes\": 2}}"

static void files_are_read_or_refused(void **unused)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"", "empty"},
        {"[1]", "object"},
        {"{\"schema\": \"bundle\", \"schema_version\": 1}", "model"},
        {FILE_HEAD "\"x\": 1}", "decode"},
        {FILE_HEAD FILE_DECODE("3", "2"), "multiple"},
        {FILE_HEAD FILE_DECODE("4", "0"), "weight_bytes"},
        {FILE_HEAD FILE_DECODE("4.5", "2"), "whole"},
        {FILE_HEAD FILE_DECODE("\"4\"", "2"), "heads"},
        {FILE_HEAD FILE_DECODE("1e99", "2"), "heads"},
        {FILE_HEAD "\"encode\": {\"layers\": 1}}", "encode.hidden"},
    };
    struct model model;
    char why[DOCUMENT_WHY];
    (void)unused;

    assert_true(read_text(FILE_HEAD FILE_DECODE("4", "0.5"), &model, why));
    assert_string_equal(model.name, "mine");
    assert_same(model.decode.weight_bytes, 0.5);
    for (size_t i = 0; i < CHECK_LENGTH(wrong); i++) {
        assert_false(read_text(wrong[i].text, &model, why));
        if (!strstr(why, wrong[i].said))
            fail_msg("%s: '%s' lacks '%s'", wrong[i].text, why, wrong[i].said);
    }
    assert_false(model_read(&model, "llama-2b", why));
    assert_non_null(strstr(why, "llama-1b"));
    assert_false(model_read(&model, "./none.json", why));
}

/* --- predictions that were written down ------------------------------------------------------- */

#define FROZEN_HEAD                                                                                \
    "model\tcontext\tbatch\tpackaging\tlayer_ns\tlayer_fast_ns\tlayer_slow_ns\tstep_ns\t"          \
    "step_fast_ns\tstep_slow_ns\tlayer_floor_ns\tstep_floor_ns\n"

/* In the folder of a board that the working folder holds. */
static void freeze(const char *name, const char *text)
{
    char path[120];
    snprintf(path, sizeof path, "frozen/board/floor/%s.tsv", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool read_frozen(struct frozen *frozen, const char *day)
{
    return frozen_read(frozen, "frozen", "board", day);
}

static void frozen_predictions_are_found_or_refused(void **unused)
{
    static const char *const wrong[] = {"", "model\n", FROZEN_HEAD, FROZEN_HEAD "a\t1\n",
                                        FROZEN_HEAD "a\t1\t1\tring\t1\t1\t1\t1\t1\t1\t1\t1\t1\n"};
    struct frozen *frozen = calloc(1, sizeof *frozen);
    char folder[] = "/tmp/gpufloor-frozen-XXXXXX", back[4096];
    (void)unused;

    assert_non_null(frozen);
    assert_non_null(getcwd(back, sizeof back));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_false(read_frozen(frozen, "2026-11-22"));
    assert_false(frozen_read(frozen, NULL, "board", "2026-11-22"));
    assert_int_equal(mkdir("frozen", 0777) + mkdir("frozen/board", 0777), 0);
    assert_int_equal(mkdir("frozen/board/floor", 0777), 0);
    freeze("2026-11-20-1", FROZEN_HEAD "a\t1024\t1\tring\t10\t9\t11\t100\t90\t110\t8\t80\n");
    freeze("2026-11-22-from-2026-11-20-1",
           FROZEN_HEAD "a\t1024\t1\tring\t12\t9\t13\t-\t-\t-\tx\t-"
                       "1\na\t1024\t2\tvalues\t1\t1\t1\t1\t1\t1\t1\t1\n");
    assert_true(
        read_frozen(frozen, "2026-11-22T23:59:59Z")); /* what came with it was no prediction */
    assert_string_equal(frozen->name, "2026-11-20-1");
    assert_string_equal(frozen->day, "2026-11-20");
    assert_string_equal(frozen->bundle, "2026-11-20-1");
    assert_same(frozen_find(frozen, "a", 1024, "ring")->step, 100);
    assert_true(read_frozen(frozen, "2026-11-23T00:00:00Z"));
    assert_string_equal(frozen->day, "2026-11-22");
    assert_string_equal(frozen->bundle, "2026-11-20-1");
    assert_int_equal(frozen->n, 2);
    const struct frozen_cell *cell = frozen_find(frozen, "a", 1024, "ring");
    assert_same(cell->layer, 12);
    assert_nan(cell->step);
    assert_nan(cell->layer_floor);
    assert_nan(cell->step_floor);
    assert_null(frozen_find(frozen, "a", 1024, "values")); /* of batch 2 */
    assert_null(frozen_find(frozen, "a", 128, "ring"));
    assert_false(read_frozen(frozen, "2026-11-20"));
    assert_false(read_frozen(frozen, ""));
    assert_false(frozen_read(frozen, "frozen", "../frozen/board", "2026-11-23"));
    for (size_t i = 0; i < CHECK_LENGTH(wrong); i++) {
        freeze("2026-11-22-from-2026-11-20-1", wrong[i]);
        assert_false(read_frozen(frozen, "2026-11-23"));
    }
    unlink("frozen/board/floor/2026-11-20-1.tsv");
    unlink("frozen/board/floor/2026-11-22-from-2026-11-20-1.tsv");
    assert_int_equal(rmdir("frozen/board/floor") + rmdir("frozen/board") + rmdir("frozen"), 0);
    assert_int_equal(chdir(back), 0);
    rmdir(folder);
    free(frozen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_model),
        cmocka_unit_test(the_floor_is_the_longest_of_three),
        cmocka_unit_test(serial_estimates_are_sums),
        cmocka_unit_test(every_sm_takes_what_is_handed_over),
        cmocka_unit_test(long_attention_goes_by_turns),
        cmocka_unit_test(overlap_is_between_a_stream_and_a_sum),
        cmocka_unit_test(what_is_ahead_is_taken_at_a_rate),
        cmocka_unit_test(exchanges_take_the_place_of_edges),
        cmocka_unit_test(a_way_is_slow_while_the_ring_fills),
        cmocka_unit_test(kernels_among_others_are_cold),
        cmocka_unit_test(rows_are_dealt_out_whole),
        cmocka_unit_test(causes_are_told_apart),
        cmocka_unit_test(what_is_missing_is_not_guessed),
        cmocka_unit_test(curves_are_lines_between_points),
        cmocka_unit_test(rows_become_primitives),
        cmocka_unit_test(later_rows_are_taken_where_they_are),
        cmocka_unit_test(files_are_read_or_refused),
        cmocka_unit_test(frozen_predictions_are_found_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
