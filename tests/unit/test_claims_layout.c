/* Claims about layout: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#define READ(level, width, kib) \
    "layout.read_rate{level=" level ",offset=0,width=" width ",in_flight=" kib "}"
#define PASS(impl) \
    "transpose.pass_time{rows=8192,columns=8192,ld=8200,type=fp32,impl=" impl ",timer=event}"
#define PRODUCT(layout) \
    "transpose.product_" layout "{m=4096,n=4096,k=4096,type=fp16,l2=cold,timer=event}"

static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    enum row_better better = strcmp(unit, "bytes/s") ? ROW_LOWER : ROW_HIGHER;
    put_spread(&b->rows, id, unit, better, centre, spread * centre, 7);
}

/* --- C56 -------------------------------------------------------------------------------------- */

struct c56 {
    double copy, best, padded, read, nn, tn, nt, after; /* us */
};
static const struct c56 absorbed = {130, 145, 150, 60, 175, 176, 175, 195};

static enum claim_verdict c56(struct c56 c)
{
    struct bundle b = {0};
    put(&b, "ns", c.copy * 1e3, 0.002, PASS("memcpy"));
    put(&b, "ns", c.copy * 1.02e3, 0.002, PASS("copy"));
    put(&b, "ns", c.best * 1e3, 0.002, PASS("vector"));
    put(&b, "ns", c.padded * 1e3, 0.002, PASS("padded"));
    put(&b, "ns", c.read * 1e3, 0.002, PASS("read"));
    put(&b, "ns", c.nn * 1e3, 0.002, PRODUCT("nn"));
    put(&b, "ns", c.tn * 1e3, 0.01, PRODUCT("tn"));
    put(&b, "ns", c.nt * 1e3, 0.002, PRODUCT("nt"));
    put(&b, "ns", c.after * 1e3, 0.002, PRODUCT("after"));
    return verdict("C56", &b);
}

static void forced_movement(void **unused)
{
    struct c56 c = absorbed;
    (void)unused;
    assert_int_equal(c56(c), CLAIM_MIXED); /* it moves, but nothing forces it */
    c.tn = c.nt = 200;
    assert_int_equal(c56(c), CLAIM_REPRODUCED);
    c.best = 110;
    assert_int_equal(c56(c), CLAIM_MIXED);
    c.tn = c.nt = 176;
    assert_int_equal(c56(c), CLAIM_REFUTED);
    c.tn = 175 * 1.05; /* straddles */
    assert_int_equal(c56(c), CLAIM_MIXED);
    c = absorbed;
    c.read = 130; /* reading alone costs a copy: the rule cannot fail */
    assert_int_equal(c56(c), CLAIM_NOT_TESTABLE);
    c = absorbed;
    c.after = 176; /* a transpose of its own is not seen */
    assert_int_equal(c56(c), CLAIM_NOT_TESTABLE);
    c = absorbed;
    c.best = c.padded = 100;
    assert_int_equal(c56(c), CLAIM_NOT_TESTABLE);
}

/* --- C57 -------------------------------------------------------------------------------------- */

/* GB/s at strides 1, 8, 16, 32; 16-byte loads; structures read whole; 1-byte loads
 * from L2. */
static enum claim_verdict c57_with(double s1, double s8, double s16, double s32, double wide,
                                   double whole, double l2)
{
    struct bundle b = {0};
    put(&b, "bytes/s", s1 * 1e9, 0.002, "layout.strided_rate{level=hbm,stride=1}");
    put(&b, "bytes/s", s8 * 1e9, 0.01, "layout.strided_rate{level=hbm,stride=8}");
    put(&b, "bytes/s", s16 * 1e9, 0.002, "layout.strided_rate{level=hbm,stride=16}");
    put(&b, "bytes/s", s32 * 1e9, 0.002, "layout.strided_rate{level=hbm,stride=32}");
    put(&b, "bytes/s", wide * 1e9, 0.002, READ("hbm", "16", "65536"));
    put(&b, "bytes/s", whole * 1e9, 0.002, "layout.struct_rate{level=hbm,fields=8,width=4}");
    put(&b, "bytes/s", 8600e9, 0.002, READ("l2", "16", "16384"));
    put(&b, "bytes/s", l2 * 1e9, 0.002, READ("l2", "1", "16384"));
    return verdict("C57", &b);
}

static enum claim_verdict c57(double s1, double s8, double s16, double s32, double wide,
                              double whole)
{
    return c57_with(s1, s8, s16, s32, wide, whole, 4100);
}

static void strides(void **unused)
{
    (void)unused;
    assert_int_equal(c57(4500, 570, 290, 240, 4550, 4200), CLAIM_REPRODUCED);
    assert_int_equal(c57(4500, 1300, 290, 240, 4550, 4200), CLAIM_REFUTED);
    assert_int_equal(c57(4500, 800, 290, 240, 4550, 4200), CLAIM_MIXED);  /* 1.4 of the model */
    assert_int_equal(c57(4500, 675, 290, 240, 4550, 4200), CLAIM_MIXED);  /* straddles 1.2 */
    assert_int_equal(c57(3000, 370, 290, 240, 4550, 4200), CLAIM_NOT_TESTABLE);
    assert_int_equal(c57(4500, 570, 290, 240, 4550, 600), CLAIM_NOT_TESTABLE);
    assert_int_equal(c57_with(4500, 570, 290, 240, 4550, 4200, 8600), CLAIM_NOT_TESTABLE);
}

/* --- C84 -------------------------------------------------------------------------------------- */

struct c84 {
    double wide, narrow;             /* GB/s of device memory, 64 KiB in flight */
    double l2_wide, l2_narrow;
    double bytes, rows;              /* the controls */
    int fault_at_4, fault_at_8;
};
static const struct c84 seen = {4550, 4500, 9300, 9300, 4100, 4500, 1, 1};

static enum claim_verdict c84(const char *id, struct c84 c)
{
    struct bundle b = {0};
    const double at_4[] = {c.fault_at_4, c.fault_at_4}, at_8[] = {c.fault_at_8, c.fault_at_8};
    put(&b, "bytes/s", c.wide * 1e9, 0.002, READ("hbm", "16", "65536"));
    put(&b, "bytes/s", c.narrow * 1e9, 0.002, READ("hbm", "4", "65536"));
    put(&b, "bytes/s", 3900e9, 0.002, READ("hbm", "16", "16384"));
    put(&b, "bytes/s", 3850e9, 0.002, READ("hbm", "4", "16384"));
    put(&b, "bytes/s", c.l2_wide * 1e9, 0.002, READ("l2", "16", "65536"));
    put(&b, "bytes/s", c.l2_narrow * 1e9, 0.002, READ("l2", "4", "65536"));
    put(&b, "bytes/s", 8600e9, 0.002, READ("l2", "16", "16384"));
    put(&b, "bytes/s", c.bytes * 1e9, 0.002, READ("l2", "1", "16384"));
    put(&b, "bytes/s", c.rows * 1e9, 0.002,
        "layout.rows_rate{level=hbm,columns=16384,ld=16388,width=16}");
    put_values(&b.rows, "layout.faults{offset=4,width=16}", "count", ROW_EXACT, at_4, 2);
    put_values(&b.rows, "layout.faults{offset=8,width=16}", "count", ROW_EXACT, at_8, 2);
    return verdict(id, &b);
}

static void width_of_a_load(void **unused)
{
    static const char *const ids[] = {"C84", "C84b"};
    struct c84 c = seen;
    (void)unused;
    assert_int_equal(c84("C84", c), CLAIM_REPRODUCED);
    c.fault_at_8 = 0;
    assert_int_equal(c84("C84", c), CLAIM_MIXED);
    c.fault_at_4 = 0;
    assert_int_equal(c84("C84", c), CLAIM_REFUTED);
    c = seen;
    assert_int_equal(c84("C84b", c), CLAIM_REFUTED); /* nowhere faster */
    c.l2_narrow = 8000;
    assert_int_equal(c84("C84b", c), CLAIM_REPRODUCED);
    c = seen;
    c.narrow = 4300; /* by more than 3 %, by less than 10 % */
    assert_int_equal(c84("C84b", c), CLAIM_MIXED);
    for (size_t i = 0; i < 2; i++) {
        c = seen;
        c.bytes = 8500; /* one byte is as fast as sixteen: it does not measure the width */
        assert_int_equal(c84(ids[i], c), CLAIM_NOT_TESTABLE);
        c = seen;
        c.rows = 5200;
        assert_int_equal(c84(ids[i], c), CLAIM_NOT_TESTABLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forced_movement),
        cmocka_unit_test(strides),
        cmocka_unit_test(width_of_a_load),
    };
    return cmocka_run_group_tests_name("claims on layout", tests, NULL, NULL);
}
