/* Claims about warps and what limits them: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

/* `spread` is a share of the centre, to both sides. */
static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    enum row_better better = strcmp(unit, "bytes/s") ? ROW_LOWER : ROW_HIGHER;
    put_spread(&b->rows, id, unit, better, centre, spread * centre, 7);
}

/* --- C12 -------------------------------------------------------------------------------------- */

struct c12 {
    double shared, shared_full, shared_worst, l1, l1_full, l1_worst; /* cycles */
    double in_l1, apart_l1, in_l2, apart_l2, moved;
};
static const struct c12 slow = {23, 256, 128, 35, 512, 128, 35, 35.2, 304, 305, 35.1};

static enum claim_verdict c12(struct c12 c)
{
    struct bundle b = {0};
    put(&b, "cycles", c.shared, 0.002, "occupancy.hit{memory=shared,stride=1,warps=4,loads=1}");
    put(&b, "cycles", c.shared * 1.5, 0, "occupancy.hit{memory=shared,stride=1,warps=4,loads=8}");
    put(&b, "cycles", c.shared_full, 0, "occupancy.hit{memory=shared,stride=1,warps=32,loads=8}");
    put(&b, "cycles", c.shared_worst, 0, "occupancy.hit{memory=shared,stride=32,warps=4,loads=1}");
    put(&b, "cycles", c.l1, 0.002, "occupancy.hit{memory=l1,stride=1,warps=4,loads=1}");
    put(&b, "cycles", c.l1 * 1.8, 0, "occupancy.hit{memory=l1,stride=1,warps=4,loads=8}");
    put(&b, "cycles", c.l1_full, 0, "occupancy.hit{memory=l1,stride=1,warps=32,loads=8}");
    put(&b, "cycles", c.l1_worst, 0, "occupancy.hit{memory=l1,stride=16,warps=4,loads=1}");
    put(&b, "cycles", c.in_l1, 0.002, "occupancy.layers{level=l1,layers=32,placement=contiguous}");
    put(&b, "cycles", c.apart_l1, 0.002, "occupancy.layers{level=l1,layers=32,placement=apart}");
    put(&b, "cycles", c.in_l2, 0.002, "occupancy.layers{level=l2,layers=32,placement=contiguous}");
    put(&b, "cycles", c.apart_l2, 0.002, "occupancy.layers{level=l2,layers=32,placement=apart}");
    put(&b, "cycles", c.in_l1, 0.002, "occupancy.layers{level=l1,layers=1,placement=contiguous}");
    put(&b, "cycles", c.moved, 0.002, "occupancy.layers{level=l1,layers=1,placement=apart}");
    return verdict("C12", &b);
}

static void cost_of_a_hit(void **unused)
{
    struct c12 c = slow;
    (void)unused;
    assert_int_equal(c12(c), CLAIM_MIXED); /* slow, but layers apart are not slower */
    c.apart_l1 = 40;
    assert_int_equal(c12(c), CLAIM_REPRODUCED);
    c.shared = 4; /* 4 warps at the SM's full rate, so that neither part holds */
    c.apart_l1 = 35;
    assert_int_equal(c12(c), CLAIM_REFUTED);
    c.apart_l1 = 40;
    assert_int_equal(c12(c), CLAIM_MIXED);
    c = slow;
    c.apart_l1 = 40;
    c.l1_worst = 35 * 1.5; /* straddles 1.5 */
    assert_int_equal(c12(c), CLAIM_MIXED);
    c = slow;
    c.moved = 40; /* one layer, moved, reads slower: blind to what placement does */
    assert_int_equal(c12(c), CLAIM_NOT_TESTABLE);
    c = slow;
    c.in_l2 = c.apart_l2 = 36; /* L2 like L1: the chase does not see where its rows are */
    assert_int_equal(c12(c), CLAIM_NOT_TESTABLE);
}

/* --- C13 -------------------------------------------------------------------------------------- */

/* TB/s: the best by one warp, by many, and the two controls. */
static enum claim_verdict c13(double single, double many, double full, double one)
{
    struct bundle b = {0};
    struct finding f;
    put(&b, "bytes/s", many * 1e12, 0.001, "occupancy.read_rate{level=hbm,warps=64,loads=4}");
    put(&b, "bytes/s", full * 1e12, 0.001, "occupancy.read_rate{level=hbm,warps=32,loads=8}");
    put(&b, "bytes/s", one * 1e12, 0.001, "occupancy.read_rate{level=hbm,warps=1,loads=1}");
    put(&b, "bytes/s", 0.5 * many * 1e12, 0, "occupancy.read_rate{level=hbm,warps=1,loads=32}");
    put(&b, "bytes/s", many * 1e12, 0, "occupancy.read_rate{level=hbm,warps=4,loads=32}");
    put(&b, "bytes/s", single * 1e12, 0.01,
        "occupancy.path_rate{level=hbm,path=bulk,warps=1,in_flight=131072}");
    put(&b, "bytes/s", 9e12, 0.001, "occupancy.read_rate{level=l2,warps=1,loads=8}");
    enum claim_verdict found = verdict_of("C13", &b, &f);
    if (one < 0.5 * many)
        assert_non_null(strstr(f.evidence, "by plain loads, one warp an SM reaches 0.5"));
    return found;
}

static void one_warp(void **unused)
{
    (void)unused;
    assert_int_equal(c13(4.3, 4.5, 4.4, 0.17), CLAIM_REFUTED);
    assert_int_equal(c13(3.1, 4.5, 4.4, 0.17), CLAIM_REPRODUCED);
    assert_int_equal(c13(4.05, 4.5, 4.4, 0.17), CLAIM_MIXED); /* straddles 0.9 */
    assert_int_equal(c13(4.3, 4.5, 3.0, 0.17), CLAIM_NOT_TESTABLE);
    assert_int_equal(c13(4.3, 4.5, 4.4, 4.4), CLAIM_NOT_TESTABLE);
}

/* --- C15, C16, C17 ------------------------------------------------------------------------------
 * */

static void warps(struct bundle *b, const char *metric, const char *keys, int carveout, double n)
{
    char id[160];
    const double values[] = {n, n};
    snprintf(id, sizeof id, "occupancy.%s{registers=%s,carveout=%d}", metric, keys, carveout);
    struct row *row = put_values(&b->rows, id, "count", ROW_EXACT, values, 2);
    row->once = true;
    row_finish(row);
}

static void agreed(struct bundle *b, const char *keys, double n)
{
    warps(b, "resident_warps", keys, 100, n);
    warps(b, "predicted_warps", keys, 100, n);
}

/* Resident warps with 32 KiB; with 1 KiB and 255 registers; with none, at another carve-out. */
static enum claim_verdict c15_with(double large, double small, double predicted, double again)
{
    struct bundle b = {0};
    warps(&b, "resident_warps", "32,local=0,shared=0,block=256", 75, again);
    agreed(&b, "32,local=0,shared=0,block=256", 64);
    agreed(&b, "32,local=0,shared=32768,block=256", large);
    agreed(&b, "255,local=0,shared=0,block=256", 8);
    warps(&b, "resident_warps", "255,local=0,shared=1024,block=256", 100, small);
    warps(&b, "predicted_warps", "255,local=0,shared=1024,block=256", 100, predicted);
    return verdict("C15b", &b);
}

static enum claim_verdict c15(double large, double small, double predicted)
{
    return c15_with(large, small, predicted, 64);
}

static void what_binds(void **unused)
{
    (void)unused;
    assert_int_equal(c15(48, 8, 8), CLAIM_REFUTED);
    assert_int_equal(c15(48, 4, 4), CLAIM_REPRODUCED);
    assert_int_equal(c15(48, 8, 16), CLAIM_MIXED); /* does it bind? the API disagrees */
    assert_int_equal(c15(64, 8, 8), CLAIM_NOT_TESTABLE); /* 32 KiB do not bind: blind */
    assert_int_equal(c15_with(48, 8, 8, 72), CLAIM_NOT_TESTABLE); /* nor is nothing nothing */
    assert_int_equal(c15_with(48, 8, 8, 56), CLAIM_NOT_TESTABLE);
}

/* Resident warps with 32 KiB at carve-outs of 0 and 100 %, without; bound by registers. */
static enum claim_verdict c15_author(double at_0, double at_100, double without, double registers)
{
    struct bundle b = {0};
    for (int carveout = 0; carveout <= 100; carveout += 25) {
        warps(&b, "resident_warps", "32,local=0,shared=32768,block=256", carveout,
              carveout == 100 ? at_100 : at_0);
        warps(&b, "resident_warps", "128,local=0,shared=0,block=256", carveout,
              carveout == 0 ? registers : 16);
        warps(&b, "resident_warps", "32,local=0,shared=0,block=256", carveout, without);
    }
    warps(&b, "predicted_warps", "32,local=0,shared=0,block=256", 100, 64);
    return verdict("C15", &b);
}

static void what_gates(void **unused)
{
    (void)unused;
    assert_int_equal(c15_author(8, 48, 64, 16), CLAIM_REPRODUCED);
    assert_int_equal(c15_author(64, 64, 64, 16), CLAIM_REFUTED); /* it takes none away */
    assert_int_equal(c15_author(48, 48, 64, 16), CLAIM_MIXED);   /* as many, whatever its share */
    assert_int_equal(c15_author(8, 48, 64, 8), CLAIM_NOT_TESTABLE); /* so does what has none */
    assert_int_equal(c15_author(8, 48, 56, 16), CLAIM_NOT_TESTABLE); /* the API says 64 */
}

struct swings {
    double none, local, registers, shared, split; /* at a carve-out of 0; at 100 below */
};
static const struct swings h200 = {64, 64, 16, 8, 300};

static void sweep(struct bundle *b, const char *keys, double at_0, double from_25)
{
    for (int carveout = 0; carveout <= 100; carveout += 25)
        warps(b, "resident_warps", keys, carveout, carveout == 0 ? at_0 : from_25);
}

static enum claim_verdict swing(const char *claim, struct swings s)
{
    struct bundle b = {0};
    sweep(&b, "32,local=0,shared=0,block=256", s.none, 64);
    sweep(&b, "32,local=256,shared=0,block=256", s.local, 64);
    sweep(&b, "128,local=0,shared=0,block=256", s.registers, 16);
    sweep(&b, "32,local=0,shared=32768,block=256", s.shared, 48);
    put(&b, "cycles", 35, 0.01, "occupancy.split{carveout=0}");
    put(&b, "cycles", s.split, 0.01, "occupancy.split{carveout=100}");
    return verdict(claim, &b);
}

static void context_of_the_warps(void **unused)
{
    struct swings s = h200;
    (void)unused;
    assert_int_equal(swing("C16", s), CLAIM_REFUTED);
    s.local = 32;
    assert_int_equal(swing("C16", s), CLAIM_REPRODUCED);
    s = h200;
    s.none = 32;
    assert_int_equal(swing("C16", s), CLAIM_REPRODUCED);
    s = h200;
    s.split = 36; /* the carve-out did nothing */
    assert_int_equal(swing("C16", s), CLAIM_NOT_TESTABLE);
    s = h200;
    s.shared = 48;
    assert_int_equal(swing("C16", s), CLAIM_NOT_TESTABLE);
    s = h200;
    s.registers = 8;
    assert_int_equal(swing("C16", s), CLAIM_NOT_TESTABLE);
}

static void more_l1_more_warps(void **unused)
{
    struct swings s = h200;
    (void)unused;
    assert_int_equal(swing("C17", s), CLAIM_REPRODUCED);
    s.shared = 48; /* it does not rise */
    assert_int_equal(swing("C17", s), CLAIM_REFUTED);
    s.split = 36; /* but then the carve-out did nothing */
    assert_int_equal(swing("C17", s), CLAIM_NOT_TESTABLE);
    s = h200;
    s.none = 32; /* a full SM gains */
    assert_int_equal(swing("C17", s), CLAIM_NOT_TESTABLE);
    s = h200;
    assert_int_equal(swing("C17b", s), CLAIM_REFUTED);
    s.registers = 8;
    assert_int_equal(swing("C17b", s), CLAIM_REPRODUCED);
    s = h200;
    s.shared = 48; /* not even where it must */
    assert_int_equal(swing("C17b", s), CLAIM_NOT_TESTABLE);
    s = h200;
    s.none = 32;
    assert_int_equal(swing("C17b", s), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost_of_a_hit),        cmocka_unit_test(one_warp),
        cmocka_unit_test(what_binds),           cmocka_unit_test(what_gates),
        cmocka_unit_test(context_of_the_warps), cmocka_unit_test(more_l1_more_warps),
    };
    return cmocka_run_group_tests_name("claims on occupancy", tests, NULL, NULL);
}
