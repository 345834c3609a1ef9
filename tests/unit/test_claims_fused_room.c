/* The claim about half of a fused kernel's warps: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

/* Times by plain loads and by copies, all warps being 100, and what is said of the warps. */
struct c18 {
    double half, same, one, pipe_half, pipe_same;
    double warps, halves, without, pipe_warps, pipe_halves;
};
static const struct c18 costly = {130, 100, 300, 125, 100.5, 48, 24, 64, 32, 16};

static void put(struct bundle *b, const char *metric, const char *what, const char *impl,
                double centre)
{
    const bool is_time = !strcmp(metric, "time");
    char id[200];
    snprintf(
        id, sizeof id,
        "shared_room.%s{what=%s,rows=8192,columns=8192,type=bf16,impl=%s,mode=graph,l2=cold%s}",
        metric, what, impl, is_time ? ",timer=event" : "");
    put_spread(&b->rows, id, is_time ? "ns" : "count", is_time ? ROW_LOWER : ROW_EXACT, centre,
               is_time ? 0.005 * centre : 0, 7);
}

/* An intermediate behind the cache part of L1: said, not judged. */
static void put_cached(struct bundle *b)
{
    static const struct {
        const char *carve;
        double time;
    } cached[] = {{"carve_0", 100}, {"carve_50", 103.1}, {"carve_75", 104.2}, {"carve_100", 105}};
    char id[200];
    for (size_t i = 0; i < CHECK_LENGTH(cached); i++) {
        snprintf(
            id, sizeof id,
            "shared_room.time{what=cached,rows=16384,columns=4096,type=bf16,impl=%s,mode=graph,"
            "l2=cold,timer=event}",
            cached[i].carve);
        put_spread(&b->rows, id, "ns", ROW_LOWER, cached[i].time, 0, 7);
    }
}

static enum claim_verdict c18_of(struct c18 c, struct finding *f)
{
    struct bundle b = {0};
    put_cached(&b);
    put(&b, "time", "plain", "all", 100);
    put(&b, "time", "plain", "half", c.half);
    put(&b, "time", "plain", "same", c.same);
    put(&b, "time", "plain", "one", c.one);
    put(&b, "time", "pipe", "all", 100);
    put(&b, "time", "pipe", "half", c.pipe_half);
    put(&b, "time", "pipe", "same", c.pipe_same);
    put(&b, "time", "norm_plain", "all", 70);
    put(&b, "time", "norm_plain", "half", 90);
    put(&b, "warps", "plain", "all", c.warps);
    put(&b, "warps", "plain", "half", c.halves);
    put(&b, "free_warps", "plain", "all", c.without);
    put(&b, "warps", "pipe", "all", c.pipe_warps);
    put(&b, "warps", "pipe", "half", c.pipe_halves);
    put(&b, "free_warps", "pipe", "all", 64);
    return verdict_of("C18", &b, f);
}

static enum claim_verdict c18(struct c18 c)
{
    struct finding f;
    return c18_of(c, &f);
}

static void half_of_the_warps(void **unused)
{
    struct c18 c = costly;
    struct finding f;
    (void)unused;
    assert_int_equal(c18_of(c, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "where that is smallest 0.9524"));
    assert_non_null(strstr(f.evidence, "half of what it can have 0.9699"));
    assert_non_null(strstr(f.evidence, "three quarters 0.9597"));
    c.pipe_half = 101; /* copies hide it */
    assert_int_equal(c18(c), CLAIM_MIXED);
    c.half = 101.5;
    assert_int_equal(c18(c), CLAIM_REFUTED);
    c.half = 106; /* neither a tenth nor nothing */
    assert_int_equal(c18(c), CLAIM_MIXED);
    c.half = 111.1; /* straddles */
    assert_int_equal(c18(c), CLAIM_MIXED);
}

static void controls_of_half(void **unused)
{
    (void)unused;
    struct c18 c = costly;
    c.one = 105; /* few warps are not seen */
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
    c = costly, c.same = 110; /* memory that takes no warps costs */
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
    c = costly, c.pipe_same = 110;
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
    c = costly, c.without = 48; /* something else limits the warps */
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
    c = costly, c.halves = 48; /* they are not halved */
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
    c = costly, c.pipe_halves = 8;
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
    c = (struct c18){100, 100, 100, 100, 100, 48, 24, 64, 32, 16}; /* a timer that is stuck */
    assert_int_equal(c18(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(half_of_the_warps),
                                       cmocka_unit_test(controls_of_half)};
    return cmocka_run_group_tests_name("claims fused room", tests, NULL, NULL);
}
