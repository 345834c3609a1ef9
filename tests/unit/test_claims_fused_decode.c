/* The claims about decode attention: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <math.h>
#include <stdio.h>

static void put(struct bundle *b, const char *id, double value)
{
    put_spread(&b->rows, id, "ns", ROW_LOWER, value, 0.002 * value, 7);
}

static void put_time(struct bundle *b, int batch, int context, const char *type, const char *impl,
                     double ns)
{
    char id[200];
    snprintf(id, sizeof id,
             "attention_decode.time{batch=%d,context=%d,heads=32,kv_heads=8,d=128,type=%s,impl=%s,"
             "mode=graph,l2=cold,timer=event}",
             batch, context, type, impl);
    put(b, id, ns);
}

static void put_count(struct bundle *b, const char *metric, int batch, int context,
                      const char *impl, double value)
{
    char id[200];
    snprintf(id, sizeof id,
             "attention_decode.%s{batch=%d,context=%d,heads=32,kv_heads=8,d=128,type=bf16,impl=%s,"
             "mode=graph,l2=cold}",
             metric, batch, context, impl);
    put_spread(&b->rows, id, "bytes", ROW_EXACT, value, 0, 7);
}

static void put_edge(struct bundle *b)
{
    put(b, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", 1150);
}

/* --- C59 -------------------------------------------------------------------------------------- */

struct c59 {
    double pages; /* attention over pages of 16; 13 us by head */
    double along_rows, along_columns, across_rows, across_columns;
};
static const struct c59 h200_59 = {13.6e3, 17e3, 143e3, 138e3, 18e3};

static enum claim_verdict c59(struct c59 c)
{
    static const char *const layouts[] = {"rows", "columns"}, *const impls[] = {"along", "across"};
    const double times[] = {c.along_rows, c.along_columns, c.across_rows, c.across_columns};
    struct bundle b = {0};
    char id[160];
    put_time(&b, 1, 8192, "bf16", "attention", 13e3);
    put_time(&b, 1, 8192, "bf16", "by_token", 13e3);
    put_time(&b, 1, 8192, "bf16", "pages_16", c.pages);
    put_time(&b, 1, 8192, "bf16", "pages_64", 13.5e3);
    put_time(&b, 1, 8192, "bf16", "read", 8.8e3);
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof id,
                 "attention_decode.gemv_time{rows=16384,columns=2048,type=bf16,layout=%s,impl=%s,"
                 "l2=cold,timer=event}",
                 layouts[i % 2], impls[i / 2]);
        put(&b, id, times[i]);
    }
    return verdict("C59", &b);
}

static void layouts(void **unused)
{
    struct c59 c = h200_59;
    (void)unused;
    assert_int_equal(c59(c), CLAIM_REPRODUCED);
    c.along_columns = c.along_rows * 1.5; /* neither same nor twofold */
    c.across_rows = c.across_columns * 1.1;
    assert_int_equal(c59(c), CLAIM_MIXED);
    c.along_columns = c.along_rows * 1.1;
    assert_int_equal(c59(c), CLAIM_REFUTED);
    c.pages = 27e3; /* attention alone is enough */
    assert_int_equal(c59(c), CLAIM_REPRODUCED);
    c = h200_59;
    c.along_rows = 30e3; /* not what memory can do: the product is a bad one */
    assert_int_equal(c59(c), CLAIM_NOT_TESTABLE);
    c = h200_59;
    c.across_columns = 40e3; /* suited as they are, they differ twofold */
    assert_int_equal(c59(c), CLAIM_NOT_TESTABLE);
}

/* --- C67 -------------------------------------------------------------------------------------- */

struct c67 {
    double two, one, plain; /* ns for a row */
    double saved;           /* by one kernel instead of three */
};
static const struct c67 h200_67 = {3.0, 2.0, 1.9, 2800};

static enum claim_verdict c67(struct c67 c, struct finding *f)
{
    struct bundle b = {0};
    for (int rows = 512; rows <= 1024; rows *= 2) {
        put_time(&b, rows, 16, "bf16", "rope_then_append", 20 + c.two * rows);
        put_time(&b, rows, 16, "bf16", "append_kv", 10 + c.one * rows);
        put_time(&b, rows, 16, "bf16", "append_plain", 10 + c.plain * rows);
    }
    put_count(&b, "new_row_bytes", 1024, 16, "rope_then_append", 12288.0 * 1024);
    put_count(&b, "new_row_bytes", 1024, 16, "append_kv", 8192.0 * 1024);
    put_count(&b, "new_row_bytes", 1, 8192, "unfused", 16384);
    put_count(&b, "new_row_bytes", 1, 8192, "fused", 8192);
    put_count(&b, "bytes", 1, 8192, "fused", 34e6);
    put_time(&b, 1, 8192, "bf16", "unfused", 13e3 + c.saved);
    put_time(&b, 1, 8192, "bf16", "fused", 13e3);
    put_edge(&b);
    return verdict_of("C67", &b, f);
}

static void passes(void **unused)
{
    struct c67 c = h200_67;
    struct finding f;
    (void)unused;
    assert_int_equal(c67(c, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "immaterial"));
    c.two = 3.5; /* half as much again as the count says */
    assert_int_equal(c67(c, &f), CLAIM_MIXED);
    c.two = 2.4;
    assert_int_equal(c67(c, &f), CLAIM_REFUTED);
    c = h200_67;
    c.plain = 2.8; /* the same number of bytes, and yet a smaller slope */
    assert_int_equal(c67(c, &f), CLAIM_NOT_TESTABLE);
    c = (struct c67){15, 10, 9.5, 2800}; /* 0.8 TB/s: something else than bytes */
    assert_int_equal(c67(c, &f), CLAIM_NOT_TESTABLE);
    c = (struct c67){1.5, 1, 0.95, 2800}; /* 8.2 TB/s: the rows never left the L2 */
    assert_int_equal(c67(c, &f), CLAIM_NOT_TESTABLE);
}

/* --- C91 -------------------------------------------------------------------------------------- */

struct c91 {
    double ratio, longer; /* in registers over beforehand, at 8192 and 32768 keys */
    double saved;         /* by the fused append */
    double clamped, unclamped;
};
static const struct c91 h200_91 = {0.31, 0.2, 1900, 1, 0.01};

static enum claim_verdict c91(struct c91 c)
{
    static const char *const types[] = {"e4m3", "int8"};
    struct bundle b = {0};
    char id[96];
    for (int i = 0; i < 2; i++) {
        put_time(&b, 1, 8192, types[i], "attention", c.ratio * 32e3);
        put_time(&b, 1, 8192, types[i], "dequantised", 32e3);
        put_time(&b, 1, 32768, types[i], "attention", c.longer * 110e3);
        put_time(&b, 1, 32768, types[i], "dequantised", 110e3);
        put_time(&b, 8, 32768, types[i], "attention", 130e3);
        for (int clamped = 0; clamped < 2; clamped++) {
            snprintf(id, sizeof id, "attention_decode.append_right{type=%s,impl=%s}", types[i],
                     clamped ? "clamped" : "unclamped");
            put_spread(&b.rows, id, "ratio", ROW_HIGHER, clamped ? c.clamped : c.unclamped, 0, 7);
        }
    }
    put_time(&b, 8, 32768, "bf16", "attention", 246e3);
    put_time(&b, 1, 8192, "e4m3", "append_separate", 1700 + c.saved);
    put_time(&b, 1, 8192, "e4m3", "append", 1700);
    put_edge(&b);
    return verdict("C91", &b);
}

static void eight_bits(void **unused)
{
    struct c91 c = h200_91;
    (void)unused;
    assert_int_equal(c91(c), CLAIM_REPRODUCED);
    c.saved = 900; /* less than an edge */
    assert_int_equal(c91(c), CLAIM_MIXED);
    c = h200_91;
    c.ratio = 0.8;
    assert_int_equal(c91(c), CLAIM_MIXED);
    c.ratio = c.longer = 1;
    assert_int_equal(c91(c), CLAIM_REFUTED);
    c = h200_91;
    c.clamped = 0.99;
    assert_int_equal(c91(c), CLAIM_NOT_TESTABLE);
    c = h200_91;
    c.unclamped = 1; /* nothing was beyond the range */
    assert_int_equal(c91(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(passes),
        cmocka_unit_test(eight_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
