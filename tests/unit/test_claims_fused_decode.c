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
    c.pages = 27e3; /* layouts of a cache are said and not judged */
    assert_int_equal(c59(c), CLAIM_REFUTED);
    c = (struct c59){1000, 1000, 1000, 1000, 1000}; /* nothing reads 8.8 times as fast as a read */
    assert_int_equal(c59(c), CLAIM_NOT_TESTABLE);
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
};
static const struct c67 h200_67 = {3.0, 2.0, 1.9};

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
    return verdict_of("C67", &b, f);
}

/* What one kernel instead of three saves, and what it takes beyond attention alone, in ns. */
static enum claim_verdict c67b(double saved, double beyond)
{
    struct bundle b = {0};
    put_time(&b, 1, 8192, "bf16", "attention", 12e3);
    put_time(&b, 1, 8192, "bf16", "fused", 12e3 + beyond);
    put_time(&b, 1, 8192, "bf16", "unfused", 12e3 + beyond + saved);
    put_edge(&b);
    return verdict("C67b", &b);
}

static void launches(void **unused)
{
    (void)unused;
    assert_int_equal(c67b(2800, 500), CLAIM_REPRODUCED);
    assert_int_equal(c67b(100, 1000), CLAIM_NOT_TESTABLE); /* two more kernels take no edge */
    assert_int_equal(c67b(150, 1080), CLAIM_REFUTED);
    assert_int_equal(c67b(900, 500), CLAIM_MIXED);
    assert_int_equal(c67b(2800, 2000), CLAIM_NOT_TESTABLE); /* one kernel costs edges, too */
    assert_int_equal(c67b(0, 0), CLAIM_NOT_TESTABLE);       /* all times are equal */
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
    c = (struct c67){15, 10, 9.5}; /* 0.8 TB/s: something else than bytes */
    assert_int_equal(c67(c, &f), CLAIM_NOT_TESTABLE);
    c = (struct c67){1.5, 1, 0.95}; /* 8.2 TB/s: the rows never left the L2 */
    assert_int_equal(c67(c, &f), CLAIM_NOT_TESTABLE);
}

/* --- C91 -------------------------------------------------------------------------------------- */

struct c91 {
    double ratio, grows; /* in registers over beforehand; 32 times the keys */
    double saved;        /* by the fused append */
    double clamped, unclamped;
};
static const struct c91 h200_91 = {0.31, 13, 1900, 1, 0.01};

static enum claim_verdict c91(struct c91 c)
{
    static const char *const types[] = {"e4m3", "int8"};
    struct bundle b = {0};
    char id[96];
    for (int i = 0; i < 2; i++) {
        put_time(&b, 1, 8192, types[i], "attention", c.ratio * 32e3);
        put_time(&b, 1, 8192, types[i], "dequantised", 32e3);
        put_time(&b, 8, 32768, types[i], "attention", c.ratio * 32e3 * c.grows);
        for (int clamped = 0; clamped < 2; clamped++) {
            snprintf(id, sizeof id, "attention_decode.append_right{type=%s,impl=%s}", types[i],
                     clamped ? "clamped" : "unclamped");
            put_spread(&b.rows, id, "ratio", ROW_HIGHER, clamped ? c.clamped : c.unclamped, 0, 7);
        }
    }
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
    c.ratio = 1;
    assert_int_equal(c91(c), CLAIM_REFUTED);
    c = h200_91;
    c.clamped = 0.99;
    assert_int_equal(c91(c), CLAIM_NOT_TESTABLE);
    c = h200_91;
    c.unclamped = 1; /* nothing was beyond the range */
    assert_int_equal(c91(c), CLAIM_NOT_TESTABLE);
    c = h200_91;
    c.grows = 1; /* a stuck timer */
    assert_int_equal(c91(c), CLAIM_NOT_TESTABLE);
}

/* us of 8 sequences of 32768 keys, e4m3 and bf16; of one of 8192; of a read of 65536, whose
 * attention takes 8 times that of 8192. */
static enum claim_verdict c91b(double narrow, double wide, double attention, double read)
{
    struct bundle b = {0};
    put_time(&b, 8, 32768, "e4m3", "attention", narrow * 1e3);
    put_time(&b, 8, 32768, "bf16", "attention", wide * 1e3);
    put_time(&b, 1, 8192, "bf16", "attention", attention * 1e3);
    put_time(&b, 1, 65536, "bf16", "attention", attention * 8e3);
    put_time(&b, 1, 65536, "bf16", "read", read * 8e3);
    return verdict("C91b", &b);
}

static void half_the_bytes(void **unused)
{
    (void)unused;
    assert_int_equal(c91b(130, 246, 11.3, 9), CLAIM_REPRODUCED);
    assert_int_equal(c91b(260, 246, 11.3, 9), CLAIM_REFUTED);
    assert_int_equal(c91b(200, 246, 11.3, 9), CLAIM_MIXED);
    assert_int_equal(c91b(130, 246, 11.3, 5), CLAIM_NOT_TESTABLE);
    assert_int_equal(c91b(10, 10, 10, 10), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),    cmocka_unit_test(passes),         cmocka_unit_test(launches),
        cmocka_unit_test(eight_bits), cmocka_unit_test(half_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
