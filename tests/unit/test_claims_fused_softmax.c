/* Claims about softmax: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

/* --- C33 ------------------------------------------------------------------------------------- */

static void put_once(struct bundle *b, const char *id, const char *unit, enum row_better better,
                     double value)
{
    const double values[] = {value, value};
    struct row *row = put_values(&b->rows, id, unit, better, values, 2);
    row->once = true;
    row_finish(row);
}

struct c33 {
    double fp32, fp16, shared, online;
};

static enum claim_verdict c33(struct c33 c)
{
    struct bundle b = {0};
    put_once(&b, "softmax.longest{type=fp32,impl=resident}", "count", ROW_EXACT, c.fp32);
    put_once(&b, "softmax.longest{type=fp16,impl=resident}", "count", ROW_EXACT, c.fp16);
    put_once(&b, "softmax.longest{type=fp32,impl=shared}", "count", ROW_EXACT, c.shared);
    put_once(&b, "softmax.longest{type=fp16,impl=shared}", "count", ROW_EXACT, 2 * c.shared);
    put_once(&b, "softmax.longest{type=fp32,impl=online}", "count", ROW_EXACT, 1048576);
    put_once(&b, "softmax.longest{type=fp16,impl=online}", "count", ROW_EXACT, c.online);
    return verdict("C33", &b);
}

static void one_block_holds(void **unused)
{
    (void)unused;
    assert_int_equal(c33((struct c33){60000, 120000, 58096, 1048576}), CLAIM_REPRODUCED);
    assert_int_equal(c33((struct c33){111344, 222688, 58096, 1048576}), CLAIM_MIXED);
    assert_int_equal(c33((struct c33){131072, 262144, 58096, 1048576}), CLAIM_REFUTED);
    assert_int_equal(c33((struct c33){60000, 120000, 5000, 1048576}), CLAIM_NOT_TESTABLE);
    assert_int_equal(c33((struct c33){60000, 120000, 58096, 111344}),
                     CLAIM_NOT_TESTABLE); /* the search ends there */
}

/* --- C34 ------------------------------------------------------------------------------------- */

static void put_one(struct bundle *b, int cols, const char *impl, double error, double us)
{
    char id[160];
    snprintf(id, sizeof id, "softmax.error{rows=1,cols=%d,type=fp16,impl=%s,mode=graph,l2=warm}",
             cols, impl);
    put_once(b, id, "ratio", ROW_LOWER, error);
    snprintf(id, sizeof id,
             "softmax.time{rows=1,cols=%d,type=fp16,impl=%s,mode=graph,l2=warm,timer=event}", cols,
             impl);
    const double values[] = {1e3 * us, 1e3 * us, 1e3 * us};
    struct row *row = put_values(&b->rows, id, "ns", ROW_LOWER, values, 3);
    row->thrice = true;
    row_finish(row);
}

struct c34 {
    double longest, online, two, resident, unmerged; /* errors */
    double us, shorter_us;                           /* of one block; two kernels take 8 */
};
static const struct c34 right = {222000, 3e-4, 3e-4, 3e-4, 2, 90, 25};

static enum claim_verdict c34_of(struct c34 c, struct finding *f)
{
    struct bundle b = {0};
    put_once(&b, "softmax.longest{type=fp16,impl=resident}", "count", ROW_EXACT, c.longest);
    put_one(&b, 16384, "resident", c.resident, 3);
    put_one(&b, 16384, "online", c.resident, 3);
    put_one(&b, 16384, "two", c.resident, 4);
    put_one(&b, 65536, "online", c.online, 6);
    put_one(&b, 65536, "two", c.two, 4);
    put_one(&b, 131072, "fused", c.online, c.shorter_us);
    put_one(&b, 1048576, "online", c.online, c.us);
    put_one(&b, 1048576, "two", c.two, 8);
    put_one(&b, 1048576, "last", c.two, 60);
    put_one(&b, 1048576, "unmerged", c.unmerged, 8);
    return verdict_of("C34", &b, f);
}

static enum claim_verdict c34(struct c34 c)
{
    struct finding f;
    return c34_of(c, &f);
}

static void one_row(void **unused)
{
    struct finding f;
    struct c34 c = right;
    (void)unused;
    assert_int_equal(c34_of(c, &f), CLAIM_MIXED); /* right, and eleven times slower */
    assert_non_null(strstr(f.evidence, "two 65536"));
    assert_non_null(strstr(f.evidence, "grid never"));
    c.us = 15, c.shorter_us = 5;
    assert_int_equal(c34(c), CLAIM_REFUTED);
    c.shorter_us = 15; /* four times the row in the same time */
    assert_int_equal(c34(c), CLAIM_NOT_TESTABLE);
    c = right;
    c.online = 0.5;
    assert_int_equal(c34(c), CLAIM_REPRODUCED);
    c.two = 0.5; /* no way is right: the row is a bad one */
    assert_int_equal(c34(c), CLAIM_NOT_TESTABLE);
    c = right;
    c.unmerged = 1e-4; /* the wrong results are not noticed */
    assert_int_equal(c34(c), CLAIM_NOT_TESTABLE);
    c = right;
    c.resident = 0.5;
    assert_int_equal(c34(c), CLAIM_NOT_TESTABLE);
    c = right;
    c.longest = 2e6; /* nothing lies beyond */
    assert_int_equal(c34(c), CLAIM_NOT_TESTABLE);
}

/* --- C41 ------------------------------------------------------------------------------------- */

/* Bytes of one kernel of the chain, by counters, over the fused one's; 0: not counted. */
static double counted_one = 1;

struct c41 {
    double unfused, stored, scale, share; /* times over the fused kernel's; share of a copy */
    double counted;                       /* bytes, unfused over fused; 0: not counted */
};

#define TIME(impl)                                                                                 \
    "softmax.time{rows=131072,cols=4096,type=fp16,impl=" impl ",mode=graph,l2=cold,timer=event}"

static enum claim_verdict c41(const char *claim, struct c41 c)
{
    const struct {
        const char *id;
        double us;
    } rows[] = {{TIME("fused"), 500},
                {TIME("unfused"), 500 * c.unfused},
                {TIME("unfused_stored"), 500 * c.stored},
                {TIME("scale"), 500 * c.scale}};
    struct bundle b = {0};
    for (size_t i = 0; i < 4; i++)
        put_spread(&b.rows, rows[i].id, "ns", ROW_LOWER, 1e3 * rows[i].us, 500 + 1000 * (double)i,
                   7);
    put_spread(&b.rows,
               "softmax.share_of_copy{rows=131072,cols=4096,type=fp16,impl=fused,mode=graph,"
               "l2=cold}",
               "ratio", ROW_HIGHER, c.share, 0.01, 7);
    if (c.counted > 0) {
        put_counted(&b, "dram_bytes", TIME("fused"), 2.1e9);
        put_counted(&b, "dram_bytes", TIME("unfused"), 2.1e9 * c.counted);
        if (counted_one > 0)
            put_counted(&b, "dram_bytes", TIME("scale"), 2.1e9 * counted_one);
    }
    return verdict(claim, &b);
}

static const struct c41 usual = {3, 4, 1, 0.95, 0};

static void traffic(void **unused)
{
    struct c41 c = usual;
    (void)unused;
    assert_int_equal(c41("C41", c), CLAIM_REPRODUCED);
    c.counted = 1.05; /* counters see what time does not */
    assert_int_equal(c41("C41", c), CLAIM_REFUTED);
    c.counted = 1.3;
    assert_int_equal(c41("C41", c), CLAIM_MIXED);
    c.counted = 3, counted_one = 3; /* they see three whatever runs */
    assert_int_equal(c41("C41", c), CLAIM_NOT_TESTABLE);
    c.counted = 1, counted_one = 0; /* without that kernel's bytes time decides */
    assert_int_equal(c41("C41", c), CLAIM_REPRODUCED);
    counted_one = 1;
    c = usual;
    c.share = 0.8;
    assert_int_equal(c41("C41", c), CLAIM_NOT_TESTABLE);
    c = usual;
    c.scale = 2; /* one of the kernels alone reads 2 */
    assert_int_equal(c41("C41", c), CLAIM_NOT_TESTABLE);
    c = (struct c41){1, 1, 1, 0.95, 0}; /* a stuck timer */
    assert_int_equal(c41("C41", c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c41("C41b", c), CLAIM_NOT_TESTABLE);
}

static void passes(void **unused)
{
    const struct c41 low = {2, 4, 0.9, 0.95, 0}, edge = {3.45, 4, 1, 0.95, 0};
    const struct c41 cheap = {3, 3, 1, 0.95, 0}, blind = {3, 4, 3, 0.95, 0};
    (void)unused;
    assert_int_equal(c41("C41b", usual), CLAIM_REPRODUCED);
    assert_int_equal(c41("C41b", low), CLAIM_REFUTED);
    assert_int_equal(c41("C41b", edge), CLAIM_MIXED);
    assert_int_equal(c41("C41b", cheap), CLAIM_MIXED); /* as counted only without a stored mask */
    assert_int_equal(c41("C41b", blind), CLAIM_NOT_TESTABLE);
}

/* --- C82 ------------------------------------------------------------------------------------- */

struct c82 {
    double softmax, prefill, decode; /* right of the kernels' rows */
    double near32, near16, far, finite, prefill_naive, decode_naive; /* of the controls' */
};
static const struct c82 stable = {1, 1, 1, 1, 0, 0, 0, 0.5, 0};

static void put_stable(struct bundle *b, const char *keys, double value)
{
    char id[160];
    snprintf(id, sizeof id, "%s}", keys);
    put_once(b, id, "ratio", ROW_HIGHER, value);
}

static enum claim_verdict c82_without(struct c82 c, int left_out)
{
    const struct {
        const char *keys;
        double value;
    } rows[] = {{"softmax.stable{case=by_60,type=fp16,impl=fused", 1},
                {"softmax.stable{case=by_6e4,type=fp16,impl=fused", c.softmax},
                {"softmax.stable{case=by_60,type=fp32,impl=naive", c.near32},
                {"softmax.stable{case=by_60,type=fp16,impl=naive", c.near16},
                {"softmax.stable{case=by_6e4,type=fp32,impl=naive", c.far},
                {"softmax.stable{case=by_6e4,type=fp16,impl=naive", c.far},
                {"softmax.stable{case=all_below,type=fp32,impl=finite", c.finite},
                {"attention_prefill.stable{case=6e4,type=bf16,impl=fused", c.prefill},
                {"attention_prefill.stable{case=6e4,type=bf16,impl=naive", c.prefill_naive},
                {"attention_decode.stable{case=6e4,type=bf16,impl=fused", c.decode},
                {"attention_decode.stable{case=6e4,type=bf16,impl=naive", c.decode_naive}};
    struct bundle b = {0};
    for (int i = 0; i < 11; i++)
        if (i != left_out)
            put_stable(&b, rows[i].keys, rows[i].value);
    return verdict("C82", &b);
}

static enum claim_verdict c82(struct c82 c)
{
    return c82_without(c, -1);
}

static void stays_in_range(void **unused)
{
    struct c82 c = stable;
    (void)unused;
    assert_int_equal(c82(c), CLAIM_REPRODUCED);
    c.softmax = 0.99;
    assert_int_equal(c82(c), CLAIM_REFUTED);
    c = stable;
    c.prefill = 0.5;
    assert_int_equal(c82(c), CLAIM_REFUTED);
    c = stable;
    c.decode = 0;
    assert_int_equal(c82(c), CLAIM_REFUTED);
}

static void what_must_go_wrong(void **unused)
{
    struct c82 c = stable;
    (void)unused;
    c.near32 = 0.5;
    assert_int_equal(c82(c), CLAIM_NOT_TESTABLE);
    c = stable;
    c.near16 = 1;
    assert_int_equal(c82(c), CLAIM_NOT_TESTABLE);
    c = stable;
    c.far = 0.5;
    assert_int_equal(c82(c), CLAIM_NOT_TESTABLE);
    c = stable;
    c.finite = 1;
    assert_int_equal(c82(c), CLAIM_NOT_TESTABLE);
    c = stable;
    c.prefill_naive = 1;
    assert_int_equal(c82(c), CLAIM_NOT_TESTABLE);
    c = stable;
    c.decode_naive = 1;
    assert_int_equal(c82(c), CLAIM_NOT_TESTABLE);
    for (int i = 2; i < 11; i++)
        assert_int_equal(c82_without(stable, i), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_holds), cmocka_unit_test(one_row),
        cmocka_unit_test(traffic),         cmocka_unit_test(passes),
        cmocka_unit_test(stays_in_range),  cmocka_unit_test(what_must_go_wrong),
    };
    return cmocka_run_group_tests_name("claims on softmax", tests, NULL, NULL);
}
