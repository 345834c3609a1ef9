/* C54 and what we add to it: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

struct c54 {
    double latency[4], rate[4]; /* device memory, L2, shared memory, registers */
    double banks, l1, registers, shared, global;
};
static const struct c54 h200 = {
    {690, 283, 29, 4}, {4.6e12, 9e12, 33e12, 390e12}, 127, 32.9e12, 132 * 256, 132 * 228, 150e6};

static void put(struct bundle *b, const char *id, const char *unit, enum row_better better,
                double centre)
{
    put_spread(&b->rows, id, unit, better, centre, centre / 200, 7);
}

static void put_size(struct bundle *b, const char *id, double kib)
{
    put_values(&b->rows, id, "bytes", ROW_EXACT, (double[]){kib, kib, kib, kib, kib, kib}, 6);
}

static enum claim_verdict judged(const char *claim, struct c54 c)
{
    static const char *const latency[] = {
        "memory_latency.load{level=hbm}", "memory_latency.load{level=l2}",
        "memory_latency.load{level=shared}", "instructions.latency{op=fma,type=fp32}"};
    static const char *const rate[] = {
        "bandwidth.rate{level=hbm,op=read,path=ld,bytes=536870912}",
        "bandwidth.rate{level=l2,op=read,path=ld,bytes=25952256}",
        "bandwidth.rate{level=shared,op=read,path=ld,bytes=32768}",
        "bandwidth.rate{level=register,op=read,path=ffma,bytes=229376}"};
    struct bundle b = {0};
    struct finding f;

    for (int i = 0; i < 4; i++) {
        put_spread(&b.rows, latency[i], "cycles", ROW_LOWER, c.latency[i],
                   i < 3 ? c.latency[i] / 200 : 0, 7);
        put(&b, rate[i], "bytes/s", ROW_HIGHER, c.rate[i]);
    }
    put(&b, "bandwidth.rate{level=l1,op=read,path=ld,bytes=65536}", "bytes/s", ROW_HIGHER, c.l1);
    put(&b, "bandwidth.sm_rate{level=shared,op=read,path=ld,bytes=32768}", "bytes/cycle",
        ROW_HIGHER, c.banks);
    put_size(&b, "bandwidth.capacity{level=register}", c.registers);
    put_size(&b, "bandwidth.capacity{level=shared}", c.shared);
    put_size(&b, "bandwidth.capacity{level=l2}", 61440);
    put_size(&b, "bandwidth.capacity{level=hbm}", c.global);
    verdict_of(claim, &b, &f);
    assert_true(strlen(f.evidence) < CLAIM_TEXT - 1);
    return f.verdict;
}

static void beside_global_memory(void **unused)
{
    struct c54 c = h200;
    (void)unused;
    assert_int_equal(judged("C54", c), CLAIM_REPRODUCED);
    c.global = 10 * c.registers; /* fast, but not tiny */
    assert_int_equal(judged("C54", c), CLAIM_MIXED);
    c.latency[0] = 4 * c.latency[3];
    assert_int_equal(judged("C54", c), CLAIM_MIXED);
    c.rate[3] = 4 * c.rate[0]; /* neither fast nor tiny */
    assert_int_equal(judged("C54", c), CLAIM_REFUTED);
    c.global = h200.global;
    assert_int_equal(judged("C54", c), CLAIM_MIXED);
}

static void ladder(void **unused)
{
    struct c54 c = h200;
    (void)unused;
    assert_int_equal(judged("C54b", c), CLAIM_REPRODUCED);
    c.latency[2] = 19; /* less than 5 times by latency, more by rate */
    assert_int_equal(judged("C54b", c), CLAIM_MIXED);
    c.rate[3] = 4 * c.rate[2];
    assert_int_equal(judged("C54b", c), CLAIM_REFUTED);
    c = h200;
    c.latency[0] = 200; /* device memory before L2 */
    c.rate[0] = 10e12;
    assert_int_equal(judged("C54b", c), CLAIM_REFUTED);
    c = h200;
    c.rate[0] = 8.99e12; /* no more than 3 % apart */
    assert_int_equal(judged("C54b", c), CLAIM_MIXED);
    c = h200;
    c.latency[2] = 20.05; /* 5 times, straddling */
    assert_int_equal(judged("C54b", c), CLAIM_MIXED);
}

static void sizes(void **unused)
{
    struct c54 c = h200;
    (void)unused;
    assert_int_equal(judged("C54c", c), CLAIM_REFUTED);
    c.shared = c.registers;
    assert_int_equal(judged("C54c", c), CLAIM_REFUTED);
    c.shared = c.registers + 1;
    assert_int_equal(judged("C54c", c), CLAIM_REPRODUCED);
    c.global = c.registers; /* device memory is no larger: these are no sizes */
    assert_int_equal(judged("C54c", c), CLAIM_NOT_TESTABLE);
}

static void controls(void **unused)
{
    static const char *const ids[] = {"C54", "C54b"};
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        struct c54 c = h200;
        c.banks = 140; /* more than the banks can give */
        assert_int_equal(judged(ids[i], c), CLAIM_NOT_TESTABLE);
        c.banks = 115;
        assert_int_equal(judged(ids[i], c), CLAIM_NOT_TESTABLE);
        c = h200;
        c.l1 = 36e12; /* the rule finds a step where there is none */
        assert_int_equal(judged(ids[i], c), CLAIM_NOT_TESTABLE);
        c.l1 = 30e12;
        assert_int_equal(judged(ids[i], c), CLAIM_NOT_TESTABLE);
        c = h200;
        c.latency[1] = c.latency[2]; /* a clock that sees no difference */
        assert_int_equal(judged(ids[i], c), CLAIM_NOT_TESTABLE);
        c = h200;
        c.rate[i ? 1 : 0] = NAN;
        assert_int_equal(judged(ids[i], c), CLAIM_NOT_TESTABLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_global_memory),
        cmocka_unit_test(ladder),
        cmocka_unit_test(sizes),
        cmocka_unit_test(controls),
    };
    return cmocka_run_group_tests_name("claims about the hierarchy", tests, NULL, NULL);
}
