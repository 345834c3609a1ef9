/* The latency floor of a forward pass, from primitives whose answers are known by hand. */
#include "tests/unit/test_report_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/floor/estimate.h"
#include "report/floor/frozen.h"

/* 4 TB/s, a graph's edge of 1000 ns, a product node of 1500 ns and its stream, attention of 2000. */
static const double RATE = 4e12, GRAPH = 1000, NODE = 1500, ATTENTION_NODE = 2000;

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
        .read_rate = all(RATE), .read_rate_best = RATE,
        .edge = {all(2000), all(GRAPH), all(900), all(800), all(300)},
        .edge_least = 200, .shuffle = all(0), .block = all(0), .shared_rate = all(1e30),
        .tensor_peak = 1e15, .sms = 1, .shared_bytes = 1e30, .register_bytes = 1e30,
        .memory_bytes = 1e12,
    };
    const double amounts[] = {1e6, 1e8};
    for (size_t i = 0; i < 2; i++) {
        const double stream = amounts[i] / RATE * 1e9;
        put_point(&p.read, amounts[i], GRAPH + 250 + stream);
        put_point(&p.product, amounts[i], NODE + stream);
        put_point(&p.library, amounts[i], NODE + 500 + stream);
        put_point(&p.attention[0], amounts[i], ATTENTION_NODE + stream);
    }
    return p;
}

/* 1B's shape with two layers. */
static const struct model two_layers = {
    .name = "two", .decode = {2, 2048, 32, 8, 64, 8192, 128256, 2, 2}};
static const double LAYER_WEIGHTS = 121634816, HEAD = 525336576, CACHE_1024 = 2097152;

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

/* Serial: nodes, with the graph's edge exchanged for the packaging's. */
static void serial_estimates_are_sums(void **unused)
{
    const struct primitives p = primitives_known();
    const struct pass pass = estimate(&two_layers, &p, 1024);
    const double stream = (LAYER_WEIGHTS + CACHE_1024) / RATE * 1e9;
    const double fused = 4 * NODE + ATTENTION_NODE + stream;
    const double head = NODE - GRAPH + HEAD / RATE * 1e9;
    const double layers[] = {
        [PACKAGING_STREAM] = fused + NODE + 6 * (2000 - GRAPH) + 8 * 2000,
        [PACKAGING_GRAPH] = fused + NODE + 8 * GRAPH,
        [PACKAGING_CUBLAS] = fused + 4 * 500 + 6 * GRAPH,
        [PACKAGING_FUSED] = fused,
        [PACKAGING_DEPENDENT] = fused + 5 * (900 - GRAPH - 250), /* the ramp is hidden */
        [PACKAGING_BARRIER] = fused + 5 * (800 - GRAPH),
    };
    const double edges[] = {2000, GRAPH, GRAPH, GRAPH, 900, 800};
    (void)unused;

    for (size_t i = 0; i < CHECK_LENGTH(layers); i++) {
        const double more = i == PACKAGING_CUBLAS ? 500 : 0;
        assert_close(pass.by[i].layer_serial[CENTRE], layers[i], 1e-9);
        assert_close(pass.by[i].serial[CENTRE], 2 * layers[i] + head + more + 2 * edges[i], 1e-9);
        assert_close(estimate_told(&pass.by[i], i, CENTRE), pass.by[i].serial[CENTRE], 0);
    }
    assert_nan(pass.by[PACKAGING_FUSED].overlap[CENTRE]);
    assert_nan(pass.by[PACKAGING_BARRIER].overlap[CENTRE]);
}

/* A ring without an end hides every edge but the first and, once the stream is over, the last; one
 * that holds nothing hides none. */
static void overlap_is_between_a_stream_and_a_sum(void **unused)
{
    struct primitives p = primitives_known();
    struct pass pass = estimate(&two_layers, &p, 1024);
    const double stream = (2 * (LAYER_WEIGHTS + CACHE_1024) + HEAD) / RATE * 1e9, ramp = 250;
    (void)unused;

    assert_close(pass.by[PACKAGING_RING].overlap[CENTRE], ramp + stream + 800, 1e-9);
    assert_close(pass.by[PACKAGING_VALUES].overlap[CENTRE], ramp + stream + 300, 1e-9);
    p.shared_bytes = 0;
    pass = estimate(&two_layers, &p, 1024);
    assert_close(pass.by[PACKAGING_RING].overlap[CENTRE], ramp + stream + 12 * 800, 1e-9);
    p.shared_bytes = 0.4e-6 * RATE / 0.7; /* seven tenths of it last 400 ns: half of each edge */
    pass = estimate(&two_layers, &p, 1024);
    assert_close(pass.by[PACKAGING_RING].overlap[CENTRE], ramp + stream + 11 * 400 + 800, 1e-9);
    assert_close(pass.by[PACKAGING_RING].layer_overlap[CENTRE],
                 (LAYER_WEIGHTS + CACHE_1024) / RATE * 1e9 + 5 * 400, 1e-9);
}

/* On chip, what is ahead is still taken at the rate of the shared memory. */
static void what_is_ahead_is_taken_at_a_rate(void **unused)
{
    struct primitives p = primitives_known();
    (void)unused;
    p.shared_rate = all(RATE / 2); /* slower than the memory: it decides alone */
    const struct pass pass = estimate(&two_layers, &p, 1024);
    const double bytes = 2 * (LAYER_WEIGHTS + CACHE_1024) + HEAD;
    assert_close(pass.by[PACKAGING_RING].overlap[CENTRE], 250 + bytes / RATE * 2e9 + 12 * 800, 1e-9);
}

/* Two rows on three SMs take as long as three would: no SM has less than one. */
static void rows_are_dealt_out_whole(void **unused)
{
    struct primitives p = primitives_known();
    const struct model model = {.decode = {1, 2, 1, 1, 1, 2, 2, 2, 2}};
    const double qkv = 12, out = 4, gate_up = 16, down = 8, head = 8, cache = 4; /* bytes */
    const double others = out + gate_up + down + head;
    (void)unused;

    p.shared_bytes = 0;
    const double even = estimate(&model, &p, 1).by[PACKAGING_VALUES].overlap[CENTRE];
    assert_close(even, 250 + 7 * 300 + (qkv + others + cache) / RATE * 1e9, 1e-12);
    p.sms = 3; /* 3 rows of QKV, 4 of gate and up (as 6), 2 of O, down and the head (as 3) */
    const double uneven = estimate(&model, &p, 1).by[PACKAGING_VALUES].overlap[CENTRE];
    assert_close(uneven, 250 + 7 * 300 + (qkv + 1.5 * others + cache) / RATE * 1e9, 1e-12);
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
    assert_true(pass.what_if.no_edges > 0.99 && pass.what_if.no_edges < 1);

    p.shared_bytes = p.register_bytes = (double)NAN; /* no ring: the sums remain */
    pass = estimate(&two_layers, &p, 1024);
    assert_int_equal(pass.best, PACKAGING_DEPENDENT);
    assert_close(pass.share_edges, 12 * 900 / pass.by[PACKAGING_DEPENDENT].serial[CENTRE], 1e-9);
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

/* --- from rows ---------------------------------------------------------------------------------- */

static void rows_become_primitives(void **unused)
{
    struct bundle bundle = {0};
    struct primitives p;
    const double values[] = {10, 11, 12, 10, 11, 12, 11};
    (void)unused;

    bundle.head = json_pack("{s:{s:{s:i, s:i, s:f}}}", "environment", "gpu", "n_sm", 132,
                            "sm_clock_max_mhz", 2000, "memory_bytes", 1e11);
    put_values(&bundle.rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", "ns",
               ROW_LOWER, values, 7);
    put_spread(&bundle.rows, "gemv.read{bytes=1000000,path=ld,l2=cold}", "bytes/s", ROW_HIGHER, 2e12, 0, 7);
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
    put_spread(&bundle.rows, "instructions.latency{op=shfl,type=b32}", "cycles", ROW_LOWER, 26, 0, 7);
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
    assert_close(p.shuffle.at[CENTRE], 13, 1e-12);
    assert_same(p.sms, 132);
    rows_free(&bundle.rows);
    json_decref(bundle.head);
}

/* --- files -------------------------------------------------------------------------------------- */

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
    "model\tcontext\tbatch\tpackaging\tlayer_ns\tlayer_fast_ns\tlayer_slow_ns\tstep_ns\t"            \
    "step_fast_ns\tstep_slow_ns\tlayer_floor_ns\tstep_floor_ns\n"

/* Of one day, in the folder of a board that the working folder holds. */
static void freeze(const char *day, const char *text)
{
    char path[120];
    snprintf(path, sizeof path, "frozen/board/floor/%s-1.tsv", day);
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
    freeze("2026-11-20", FROZEN_HEAD "a\t1024\t1\tring\t10\t9\t11\t100\t90\t110\t8\t80\n");
    freeze("2026-11-22", FROZEN_HEAD "a\t1024\t1\tring\t12\t9\t13\t-\t-\t-\tx\t-1\n"
                                     "a\t1024\t2\tvalues\t1\t1\t1\t1\t1\t1\t1\t1\n");
    assert_true(read_frozen(frozen, "2026-11-21T10:00:00Z")); /* what came later was no prediction */
    assert_string_equal(frozen->name, "2026-11-20-1");
    assert_same(frozen_find(frozen, "a", 1024, "ring")->step, 100);
    assert_true(read_frozen(frozen, "2026-11-22T10:00:00Z"));
    assert_int_equal(frozen->n, 2);
    const struct frozen_cell *cell = frozen_find(frozen, "a", 1024, "ring");
    assert_same(cell->layer, 12);
    assert_nan(cell->step);
    assert_nan(cell->layer_floor);
    assert_nan(cell->step_floor);
    assert_null(frozen_find(frozen, "a", 1024, "values")); /* of batch 2 */
    assert_null(frozen_find(frozen, "a", 128, "ring"));
    assert_false(read_frozen(frozen, "2026-11-19"));
    assert_false(frozen_read(frozen, "frozen", "../frozen/board", "2026-11-22"));
    for (size_t i = 0; i < CHECK_LENGTH(wrong); i++) {
        freeze("2026-11-22", wrong[i]);
        assert_false(read_frozen(frozen, "2026-11-22"));
    }
    unlink("frozen/board/floor/2026-11-20-1.tsv");
    unlink("frozen/board/floor/2026-11-22-1.tsv");
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
        cmocka_unit_test(overlap_is_between_a_stream_and_a_sum),
        cmocka_unit_test(what_is_ahead_is_taken_at_a_rate),
        cmocka_unit_test(rows_are_dealt_out_whole),
        cmocka_unit_test(causes_are_told_apart),
        cmocka_unit_test(what_is_missing_is_not_guessed),
        cmocka_unit_test(curves_are_lines_between_points),
        cmocka_unit_test(rows_become_primitives),
        cmocka_unit_test(files_are_read_or_refused),
        cmocka_unit_test(frozen_predictions_are_found_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
