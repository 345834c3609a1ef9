/* The model of fusions and the claim that rests on it. */
#include "tests/unit/test_claims_help.h"

#include <math.h>
#include <stdio.h>

#include "report/bundle/derive.h"
#include "report/bundle/derive_fusion.h"

static void by_hand(void **unused)
{
    const struct fusion_chip chip = {.edge_ns = 1000, .rate = 4, .warm_rate = NAN};
    const struct fusion_chip warm = {.edge_ns = 1000, .rate = 4, .warm_rate = 8};
    (void)unused;
    /* 3 edges and 12000 / 4 against 1 and 4000 / 4 */
    assert_close(derive_fusion_gain(&chip, 3, 12000, 1, 4000), 6000.0 / 2000, 1e-9);
    /* the 8000 bytes between them come out of the L2 */
    assert_close(derive_fusion_gain(&warm, 3, 12000, 1, 4000), 5000.0 / 2000, 1e-9);
}

/* --- one kernel ------------------------------------------------------------------------------ */

static const struct fusion_chip hand = {.edge_ns = 1000,
                                        .rate = 4,
                                        .warm_rate = NAN,
                                        .n_sm = 10,
                                        .sm_rate = 1,
                                        .load_ns = {100, 200, 400},
                                        .load = {0, 2, 4},
                                        .ghz = 2,
                                        .operations = 50,
                                        .exponentials = 5,
                                        .l2_bytes = 1000,
                                        .l2_rate = 8};

static double ns(struct fusion_kernel k)
{
    return derive_kernel_ns(&hand, &k, 0);
}

static void one_kernel(void **unused)
{
    const struct fusion_kernel warm = {.bytes = 4000};
    struct fusion_chip chip = hand;
    (void)unused;
    assert_close(ns((struct fusion_kernel){.bytes = 4000}), 1000, 1e-9);
    /* one SM, which takes in a byte a ns; two of ten */
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .blocks = 1}), 4000, 1e-9);
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .blocks = 2}), 2000, 1e-9);
    /* ten SMs of 50 x 2 operations a ns; the eleventh block has one of them work twice as long */
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .operations = 3e6}), 3000, 1e-9);
    assert_close(ns((struct fusion_kernel){.bytes = 4, .blocks = 11, .operations = 1.1e6}), 2000,
                 1e-9);
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .exponentials = 5e5}), 5000, 1e-9);
    /* alone: what was loaded is worked on only then */
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .alone = 1, .exponentials = 5e5}), 6000,
                 1e-9);
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .flops = 8000, .product_rate = 2}), 4000,
                 1e-9);
    /* half out of the L2 at twice the rate */
    chip.warm_rate = 8;
    assert_close(derive_kernel_ns(&chip, &warm, 0.5), 750, 1e-9);
}

static void waiting(void **unused)
{
    (void)unused;
    /* Few bytes: ten idle latencies. 4000 bytes in 2000 ns are a load of 2, at which the latency is
     * 200. Then more bytes than any measured load: the last measured latency applies. */
    assert_close(ns((struct fusion_kernel){.bytes = 1e-6, .trips = 10}), 1000, 1e-6);
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .trips = 10}), 2000, 1e-6);
    assert_close(ns((struct fusion_kernel){.bytes = 15999, .trips = 10}), 3999.9, 0.1);
    assert_close(ns((struct fusion_kernel){.bytes = 40000, .trips = 10}), 10000, 1e-6);
}

static void spilling(void **unused)
{
    (void)unused;
    /* Ten SMs have 2000 bytes of local memory, more than an L2 of 1000 holds; then 500, which
     * fit. */
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .spilled = 8000, .local = 200}), 3000,
                 1e-9);
    assert_close(ns((struct fusion_kernel){.bytes = 4000, .spilled = 8000, .local = 50}), 2000,
                 1e-9);
}

/* Missing figures of the chip are left out; without a rate there is no time. */
static void not_measured(void **unused)
{
    const struct fusion_kernel k = {.bytes = 4000,
                                    .blocks = 1,
                                    .trips = 100,
                                    .alone = 1,
                                    .operations = 1e9,
                                    .exponentials = 1e9};
    const struct fusion_chip chip = {.rate = 4,
                                     .warm_rate = NAN,
                                     .n_sm = NAN,
                                     .sm_rate = NAN,
                                     .load_ns = {NAN, NAN, NAN},
                                     .load = {0, NAN, NAN},
                                     .ghz = NAN};
    (void)unused;
    assert_close(derive_kernel_ns(&chip, &k, 0), 1000, 1e-9);
}

/* --- out of rows ------------------------------------------------------------------------------ */

static void put(struct rows *rows, const char *metric, const char *impl, double value)
{
    char id[200];
    snprintf(id, sizeof id, "norm.%s{rows=8,type=fp16,impl=%s,mode=graph,l2=cold%s}", metric, impl,
             strcmp(metric, "time") ? "" : ",timer=event");
    put_spread(rows, id, "ns", ROW_LOWER, value, 0, 7);
}

static void from_rows(void **unused)
{
    struct rows rows = {0};
    (void)unused;
    put_spread(&rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", "ns",
               ROW_LOWER, 1000, 0, 7);
    put(&rows, "time", "copy", 3000); /* 8000 bytes in 2000 ns beyond an edge */
    put(&rows, "bytes", "copy", 8000);
    put(&rows, "time", "fused", 2500);
    put(&rows, "bytes", "fused", 4000);
    put(&rows, "kernels", "fused", 1);
    put(&rows, "time", "unfused", 5000);
    put(&rows, "bytes", "unfused", 12000);
    derive(&rows, NULL);
    assert_null(rows_find(&rows, "derived.fusion_gain{probe=norm,rows=8,type=fp16,l2=cold}"));
    put(&rows, "kernels", "unfused", 3);
    derive(&rows, NULL);
    const struct row *gain =
        rows_find(&rows, "derived.fusion_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    const struct row *predicted =
        rows_find(&rows, "derived.predicted_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    const struct row *error =
        rows_find(&rows, "derived.gain_error{probe=norm,rows=8,type=fp16,l2=cold}");
    assert_non_null(gain);
    assert_non_null(predicted);
    assert_non_null(error);
    assert_close(gain->centre, 2, 1e-9);
    assert_close(predicted->centre, (3000 + 3000.0) / (1000 + 1000.0), 1e-9);
    assert_close(error->centre, 0.5, 1e-9);
    rows_free(&rows);
}

/* Where there is no chain, a kernel that reads twice replaces it. */
static void reading_twice(void **unused)
{
    struct rows rows = {0};
    (void)unused;
    put_spread(&rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", "ns",
               ROW_LOWER, 1000, 0, 7);
    put(&rows, "time", "copy", 3000);
    put(&rows, "bytes", "copy", 8000);
    put(&rows, "time", "fused", 5000);
    put(&rows, "bytes", "fused", 8000);
    put(&rows, "kernels", "fused", 1);
    put(&rows, "time", "twice", 2500);
    put(&rows, "bytes", "twice", 12000);
    put(&rows, "kernels", "twice", 1);
    derive(&rows, NULL);
    const struct row *gain =
        rows_find(&rows, "derived.fusion_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    const struct row *predicted =
        rows_find(&rows, "derived.predicted_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    assert_non_null(gain);
    assert_non_null(predicted);
    assert_close(gain->centre, 0.5, 1e-9);
    assert_close(predicted->centre, 4000.0 / 3000.0, 1e-9);
    rows_free(&rows);
}

static void fact(struct rows *rows, const char *id, double value)
{
    put_spread(rows, id, "count", ROW_EXACT, value, 0, 7);
}

static void row_of(struct rows *rows, const char *probe, const char *metric, const char *sizes,
                   const char *impl, const char *end, double value)
{
    char id[200];
    snprintf(id, sizeof id, "%s.%s{%s,impl=%s,mode=graph,l2=warm%s}", probe, metric, sizes, impl,
             end);
    fact(rows, id, value);
}

/* A form: its time, and its kernels' bytes, which are two of them at most. */
static void form(struct rows *rows, const char *probe, const char *sizes, const char *impl,
                 double time, double first, double second)
{
    row_of(rows, probe, "time", sizes, impl, ",timer=event", time);
    row_of(rows, probe, "bytes", sizes, impl, "", first + second);
    row_of(rows, probe, "kernels", sizes, impl, "", second > 0 ? 2 : 1);
    row_of(rows, probe, "kernel_bytes", sizes, impl, ",kernel=0", first);
    if (second > 0)
        row_of(rows, probe, "kernel_bytes", sizes, impl, ",kernel=1", second);
}

static void chip_rows(struct rows *rows)
{
    fact(rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", 1000);
    fact(rows, "bandwidth.rate{level=l2,op=copy,path=ld,bytes=1}", 4e9);
    fact(rows, "bandwidth.in_step{level=l2,sms=all,bytes=1}", 10e9); /* of ten SMs: one byte/ns */
    fact(rows, "memory_latency.load{level=l2}", 200);
    fact(rows, "memory_latency.load_time{level=l2,timer=device}", 100);
    fact(rows, "instructions.throughput{op=add,type=fp32}", 50);
    fact(rows, "instructions.throughput{op=ex2,type=fp32}", 5);
}

static double derived(const struct rows *rows, const char *name, const char *keys)
{
    char id[200];
    snprintf(id, sizeof id, "derived.%s%s", name, keys);
    const struct row *row = rows_find(rows, id);
    return row ? row->centre : (double)NAN;
}

/* One block against two kernels on all ten SMs, with no copy of that size. */
static void one_block(void **unused)
{
    static const char sizes[] = "rows=1,cols=9,type=fp16";
    static const char keys[] = "{probe=softmax,rows=1,cols=9,type=fp16,impl=resident,l2=warm}";
    struct rows rows = {0};
    json_t *gpu = json_pack("{s:i}", "n_sm", 10);
    (void)unused;
    chip_rows(&rows);
    form(&rows, "softmax", sizes, "resident", 8000, 4000, 0);
    row_of(&rows, "softmax", "blocks", sizes, "resident", ",kernel=0", 1);
    row_of(&rows, "softmax", "alone", sizes, "resident", ",kernel=0", 1);
    row_of(&rows, "softmax", "exponentials", sizes, "resident", ",kernel=0", 3e4);
    form(&rows, "softmax", sizes, "two", 4000, 2000, 4000);
    derive(&rows, gpu);
    /* 2 edges and 6000 / 4; an edge, 4000 bytes at one a ns, 3e4 exponentials at 5 x 2 GHz */
    assert_close(derived(&rows, "predicted_gain", keys), 3500.0 / (1000 + 4000 + 3000), 1e-9);
    assert_close(derived(&rows, "traffic_gain", keys), 3500.0 / 2000, 1e-9);
    assert_close(derived(&rows, "fusion_gain", keys), 0.5, 1e-9);
    assert_close(derived(&rows, "bytes_cut", keys), 1.0 / 3, 1e-9);
    rows_free(&rows);
    json_decref(gpu);
}

/* A product and a pass against the product of ours with the pass inside. */
static void put_product(struct rows *rows, double product_ns, double own_product_ns)
{
    static const char sizes[] = "m=4,op=quantise,type=bf16";

    chip_rows(rows);
    form(rows, "epilogue", sizes, "fused", 9000, 4000, 0);
    row_of(rows, "epilogue", "flops", sizes, "fused", ",kernel=0", 1e6);
    form(rows, "epilogue", sizes, "unfused", 8000, 4000, 2000);
    row_of(rows, "epilogue", "flops", sizes, "unfused", ",kernel=0", 1e6);
    if (product_ns > 0)
        row_of(rows, "epilogue", "time", sizes, "product", ",timer=event", product_ns);
    if (own_product_ns > 0)
        row_of(rows, "epilogue", "time", sizes, "own_product", ",timer=event", own_product_ns);
}

static double predicted_of_product(double product_ns, double own_product_ns)
{
    struct rows rows = {0};
    json_t *gpu = json_pack("{s:i}", "n_sm", 10);

    put_product(&rows, product_ns, own_product_ns);
    derive(&rows, gpu);
    const double predicted =
        derived(&rows, "predicted_gain", "{probe=epilogue,m=4,op=quantise,type=bf16,l2=warm}");
    rows_free(&rows);
    json_decref(gpu);
    return predicted;
}

static void in_a_product(void **unused)
{
    (void)unused;
    /* 2 edges, 4000 of the product, 2000 / 4; an edge, 4100 */
    assert_close(predicted_of_product(5000, 5100), 6500.0 / 5100, 1e-9);
    assert_close(predicted_of_product(5000, 0), 6500.0 / 5000, 1e-9);
    assert_true(isnan(predicted_of_product(5000, 9000))); /* another product */
    assert_true(isnan(predicted_of_product(0, 5100)));
    assert_true(isnan(predicted_of_product(0, 0)));   /* not: no arithmetic */
    assert_true(isnan(predicted_of_product(900, 0))); /* less than an edge */
}

/* A copy that is little more than an edge tells no rate: bandwidth's does. */
static void too_short_a_copy(void **unused)
{
    static const char sizes[] = "rows=1,cols=9,type=fp16";
    static const char keys[] = "{probe=softmax,rows=1,cols=9,type=fp16,l2=warm}";
    (void)unused;
    for (int is_short = 0; is_short < 2; is_short++) {
        struct rows rows = {0};
        json_t *gpu = json_pack("{s:i}", "n_sm", 10);
        chip_rows(&rows);
        form(&rows, "softmax", sizes, "fused", 8000, 40000, 0);
        form(&rows, "softmax", sizes, "unfused", 9000, 40000, 40000);
        row_of(&rows, "softmax", "time", sizes, "copy", ",timer=event", is_short ? 1400 : 6000);
        row_of(&rows, "softmax", "bytes", sizes, "copy", "", 40000);
        derive(&rows, gpu);
        /* 40000 bytes at 4 a ns, or at 8; what ten SMs can take in is no limit: 10 a ns */
        const double ns = is_short ? 10000 : 5000;
        assert_close(derived(&rows, "predicted_gain", keys), 2.0, 1e-9);
        assert_close(derived(&rows, "traffic_gain", keys), (2000 + 2 * ns) / (1000 + ns), 1e-9);
        rows_free(&rows);
        json_decref(gpu);
    }
}

/* No copy of that size, and nothing said of the kernels: no prediction. */
static void nothing_told(void **unused)
{
    static const char sizes[] = "rows=1,cols=9,type=fp16";
    struct rows rows = {0};
    (void)unused;
    chip_rows(&rows);
    form(&rows, "softmax", sizes, "fused", 8000, 4000, 0);
    row_of(&rows, "softmax", "time", sizes, "unfused", ",timer=event", 9000);
    row_of(&rows, "softmax", "bytes", sizes, "unfused", "", 9000);
    row_of(&rows, "softmax", "kernels", sizes, "unfused", "", 3);
    derive(&rows, NULL);
    assert_null(
        rows_find(&rows, "derived.fusion_gain{probe=softmax,rows=1,cols=9,type=fp16,l2=warm}"));
    rows_free(&rows);
}

/* --- C80 -------------------------------------------------------------------------------------- */

static void fusion(struct bundle *b, const char *keys, double gain, double predicted,
                   double traffic, double cut)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"fusion_gain", gain},
               {"predicted_gain", predicted},
               {"traffic_gain", traffic},
               {"bytes_cut", cut}};
    char id[200];
    for (size_t i = 0; i < 4; i++) {
        snprintf(id, sizeof id, "derived.%s{probe=%s}", all[i].name, keys);
        put_spread(&b->rows, id, "ratio", ROW_HIGHER, all[i].value, 0, 7);
    }
}

/* Fifteen fusions that gain 2 and are said to; `losers` that lose, and are said to although they
 * cut bytes; four that cut none. */
struct scene {
    int losers;
    int wrong;         /* of the fifteen lose */
    int winning, tied; /* of the losers win, or neither */
    double off;        /* of all predictions */
    double known;      /* what the positive control gains */
    double traffic;    /* what bytes and edges say of what loses */
    bool none_idle;    /* without the last four */
};

static enum claim_verdict c80(struct scene s, struct finding *f)
{
    struct bundle b = {0};
    char keys[100];

    for (int i = 0; i < 15; i++) {
        snprintf(keys, sizeof keys, "norm,rows=%d,l2=cold", i);
        fusion(&b, keys, i < s.wrong ? 0.5 : 2, 2 * (1 + s.off), 2, 0.5);
        snprintf(keys, sizeof keys, "norm,rows=%d,l2=warm", i); /* again: does not count */
        fusion(&b, keys, 0.1, 2, 2, 0.5);
    }
    for (int i = 0; i < s.losers; i++) {
        snprintf(keys, sizeof keys, "softmax,rows=1,cols=%d,impl=resident,l2=warm", i);
        fusion(&b, keys,
               i < s.winning            ? 2
               : i < s.winning + s.tied ? 1
                                        : 0.5,
               0.5 * (1 + s.off), s.traffic, 0.3);
    }
    for (int i = 0; !s.none_idle && i < 4; i++) {
        snprintf(keys, sizeof keys, "harm,rows=%d,l2=cold", i);
        fusion(&b, keys, 0.5, 0.5 * (1 + s.off), s.traffic, 0);
    }
    fusion(&b, "bias_gelu_scale,rows=16384,cols=8192,type=fp16,l2=cold", s.known, 3, 3, 0.7);
    return verdict_of("C80", &b, f);
}

static void verdicts(void **unused)
{
    const struct scene good = {.losers = 4, .off = 0.05, .known = 3, .traffic = 2};
    struct finding f;
    struct bundle none = {0};
    struct scene s;
    (void)unused;
#define WITH(...) (s = good, __VA_ARGS__, c80(s, &f))
    assert_int_equal(c80(good, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "of 24 fusions the model has the sign of 24 (100 %)"));
    assert_non_null(strstr(f.evidence, "4 move fewer bytes and are said to lose: 4 lose, 0 win"));
    assert_int_equal(WITH(s.wrong = 3), CLAIM_MIXED);   /* losses that are not known: 21 of 24 */
    assert_int_equal(WITH(s.off = 0.30), CLAIM_MIXED);  /* sizes */
    assert_int_equal(WITH(s.tied = 1), CLAIM_MIXED);    /* a blocked one that does not lose */
    assert_int_equal(WITH(s.winning = 1), CLAIM_MIXED); /* and one that wins, of 24 */
    assert_int_equal(WITH(s.winning = 3), CLAIM_REFUTED);
    assert_int_equal(WITH(s.winning = 3, s.wrong = 3), CLAIM_MIXED); /* but not for that alone */
    /* the known one is not seen; nothing blocked; all win; bytes and edges say it all */
    assert_int_equal(WITH(s.known = 2), CLAIM_NOT_TESTABLE);
    assert_int_equal(WITH(s.losers = 0), CLAIM_NOT_TESTABLE);
    assert_int_equal(WITH(s.losers = 1, s.none_idle = true), CLAIM_NOT_TESTABLE);
    assert_non_null(strstr(f.controls, "HELD"));
    assert_int_equal(WITH(s.traffic = 0.5), CLAIM_NOT_TESTABLE);
    assert_non_null(strstr(f.controls, "bytes and edges alone have it: 100 %, HELD"));
    assert_int_equal(verdict_of("C80", &none, &f), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),       cmocka_unit_test(one_kernel),
        cmocka_unit_test(waiting),       cmocka_unit_test(spilling),
        cmocka_unit_test(not_measured),  cmocka_unit_test(from_rows),
        cmocka_unit_test(reading_twice), cmocka_unit_test(one_block),
        cmocka_unit_test(in_a_product),  cmocka_unit_test(too_short_a_copy),
        cmocka_unit_test(nothing_told),  cmocka_unit_test(verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
