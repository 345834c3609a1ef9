/* The claims about a chain of dependent products: each verdict, and none without its controls. */
#include "tests/unit/test_claims_help.h"

/* What a bundle says. Times in ns; counts of the campaigns, and of their controls. */
struct chain {
    double all, most, quarter, eighth, eight;     /* 3072, warm: 1xsm, 0.8xsm, ... */
    double small, small_quarter;                  /* 2048, warm */
    double near_read, quarter_read;               /* of 3072, warm, by all and by a quarter */
    double cold, cold_most, cold_eight, cold_few; /* 4096, cold; few: with four warps */
    double read, p99, pins;
    double small_layer, small_read;                      /* of 1B, in one kernel */
    double layer, layer_read, layer_graph, caught_layer; /* of 8B */
    double completed, wrong, few_completed, few_wrong;   /* on all SMs, on 8 */
    double more, plain, refused, caught, few_caught;
    bool without_wrong; /* no row says how many results are wrong */
};
static const struct chain sound = {
    .all = 2800,
    .most = 2900,
    .quarter = 5600,
    .eighth = 10800,
    .eight = 20000,
    .small = 2000,
    .small_quarter = 3200,
    .near_read = 2200,
    .quarter_read = 4600,
    .cold = 7900,
    .cold_most = 8000,
    .cold_eight = 48000,
    .cold_few = 12300,
    .read = 7300,
    .p99 = 8600,
    .pins = 0.95,
    .small_layer = 30000,
    .small_read = 26000,
    .layer = 106000,
    .layer_read = 93600,
    .layer_graph = 137000,
    .caught_layer = 1,
    .completed = 1,
    .few_completed = 1,
    .plain = 1,
    .refused = 1,
    .caught = 1,
    .few_caught = 1,
};

/* --- rows ------------------------------------------------------------------------------------- */

static void put_row(struct bundle *b, const char *metric, const char *of, const char *unit,
                    double value, double spread)
{
    char id[200];
    snprintf(id, sizeof id, "product_chain.%s{%s}", metric, of);
    put_spread(&b->rows, id, unit, strcmp(unit, "ns") ? ROW_HIGHER : ROW_LOWER, value,
               spread * value, 7);
}

static void put_time(struct bundle *b, int n, const char *impl, const char *sms, int warps,
                     const char *l2, double ns)
{
    char of[160];
    snprintf(of, sizeof of, "n=%d,impl=%s,sms=%s,warps=%d,l2=%s,timer=event", n, impl, sms, warps,
             l2);
    /* A ratio has an interval. */
    put_row(b, "product_time", of, "ns", ns,
            !strcmp(impl, "read")  ? 0
            : !strcmp(sms, "1xsm") ? 0.002
                                   : 0.01);
}

static void put_count(struct bundle *b, const char *metric, const char *of, double value)
{
    char id[200];
    const double values[] = {value, value};
    snprintf(id, sizeof id, "product_chain.%s{%s}", metric, of);
    struct row *row = put_values(&b->rows, id, "count", ROW_EXACT, values, 2);
    row->once = true;
    row_finish(row);
}

static void put_times(struct bundle *b, const struct chain *c)
{
    put_time(b, 3072, "ahead", "1xsm", 32, "warm", c->all);
    put_time(b, 3072, "ahead", "1xsm", 16, "warm", 1.1 * c->all);
    put_time(b, 3072, "ahead", "1xsm", 4, "warm", 0.1 * c->all); /* is not asked */
    put_time(b, 3072, "ahead", "0.9xsm", 32, "warm", 0.1 * c->all);
    put_time(b, 3072, "ahead", "0.8xsm", 32, "warm", c->most);
    put_time(b, 3072, "ahead", "0.25xsm", 32, "warm", c->quarter);
    put_time(b, 3072, "ahead", "0.125xsm", 32, "warm", c->eighth);
    put_time(b, 3072, "ahead", "8", 32, "warm", c->eight);
    put_time(b, 2048, "ahead", "1xsm", 32, "warm", c->small);
    put_time(b, 2048, "ahead", "0.25xsm", 32, "warm", c->small_quarter);
    put_time(b, 3072, "read", "1xsm", 32, "warm", c->near_read);
    put_time(b, 3072, "read", "0.25xsm", 32, "warm", c->quarter_read);
    put_time(b, 4096, "ahead", "1xsm", 32, "cold", c->cold);
    put_time(b, 4096, "behind", "1xsm", 32, "cold", 1.1 * c->cold);
    put_time(b, 4096, "ahead", "1xsm", 4, "cold", c->cold_few);
    put_time(b, 4096, "ahead", "0.8xsm", 32, "cold", c->cold_most);
    put_time(b, 4096, "ahead", "0.25xsm", 32, "cold", 1.3 * c->cold); /* is said */
    put_time(b, 4096, "ahead", "8", 32, "cold", c->cold_eight);
    put_time(b, 4096, "read", "1xsm", 32, "cold", c->read);
    put_time(b, 4096, "unwaited", "1xsm", 32, "cold", 0.1 * c->cold);
    put_row(b, "phase_p99", "n=4096,impl=ahead,sms=1xsm,warps=32,l2=cold,timer=device", "ns",
            c->p99, 0.01);
    put_row(b, "share_of_pins", "n=4096,impl=read,sms=1xsm,warps=32,l2=cold", "ratio", c->pins,
            0.01);
}

static void put_campaigns(struct bundle *b, const struct chain *c)
{
#define OF(launch, sms, products) "n=512,launch=" launch ",sms=" sms ",warps=16,products=" products
    put_count(b, "completed", OF("cooperative", "1xsm", "100000"), c->completed);
    put_count(b, "completed", OF("cooperative", "8", "100000"), c->few_completed);
    put_count(b, "wrong", OF("cooperative", "8", "100000"), c->few_wrong);
    if (!c->without_wrong)
        put_count(b, "wrong", OF("cooperative", "1xsm", "100000"), c->wrong);
    put_count(b, "completed", OF("ordinary", "1xsm+1", "1000"), c->more);
    put_count(b, "completed", OF("ordinary", "1xsm", "1000"), c->plain);
    put_count(b, "refused", OF("cooperative", "1xsm+1", "1000"), c->refused);
    put_count(b, "caught", "n=3072,impl=unwaited,sms=1xsm,warps=32,l2=warm", c->caught);
    put_count(b, "caught", "n=3072,impl=unwaited,sms=8,warps=32,l2=warm", c->few_caught);
}

static void put_layer(struct bundle *b, const char *model, const char *impl, double ns)
{
    char id[200];
    snprintf(id, sizeof id,
             "decoder_layer.layer_time{model=%s,context=1024,batch=1,impl=%s,l2=cold,timer=event}",
             model, impl);
    put_spread(&b->rows, id, "ns", ROW_LOWER, ns, strcmp(impl, "values") ? 0 : 0.01 * ns, 7);
}

static void put_layers(struct bundle *b, const struct chain *c)
{
    const double caught[] = {c->caught_layer, c->caught_layer};
    put_layer(b, "1b", "values", c->small_layer);
    put_layer(b, "1b", "read", c->small_read);
    put_layer(b, "8b", "values", c->layer);
    put_layer(b, "8b", "read", c->layer_read);
    put_layer(b, "8b", "graph", c->layer_graph);
    struct row *row =
        put_values(&b->rows, "decoder_layer.caught{model=small,context=200,impl=values}", "ratio",
                   ROW_HIGHER, caught, 2);
    row->once = true;
    row_finish(row);
}

static enum claim_verdict found(const char *claim, struct chain c, struct finding *f)
{
    struct bundle b = {0};
    put_times(&b, &c);
    put_campaigns(&b, &c);
    put_layers(&b, &c);
    return verdict_of(claim, &b, f);
}

static enum claim_verdict judged(const char *claim, struct chain c)
{
    struct finding f;
    return found(claim, c, &f);
}

/* --- controls of all three -------------------------------------------------------------------- */

static void safety_and_controls(void **unused)
{
    static const char *const claims[] = {"C03", "C04", "C19"};
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(claims); i++) {
        const char *id = claims[i];
        struct chain c = sound;
        assert_int_equal(judged(id, c), CLAIM_REFUTED);
        c.wrong = 1; /* all SMs go wrong */
        assert_int_equal(judged(id, c), CLAIM_REPRODUCED);
        c = sound, c.completed = 0, c.without_wrong = true; /* all SMs hang */
        assert_int_equal(judged(id, c), CLAIM_REPRODUCED);
        c.few_completed = 0; /* and so do few: the kernel is at fault */
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.without_wrong = true; /* nobody looked */
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.wrong = c.few_wrong = 1;
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.more = 1; /* what cannot be resident finishes */
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.plain = 0; /* no plain launch does */
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.refused = 0;
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.caught = 0; /* missing barriers are not seen */
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
        c = sound, c.few_caught = 0;
        assert_int_equal(judged(id, c), CLAIM_NOT_TESTABLE);
    }
}

/* Bundles that no instrument made: all times equal, every figure 1. */
static void no_instrument(void **unused)
{
    static const char *const claims[] = {"C03", "C04", "C19"};
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(claims); i++) {
        struct chain c = sound;
        double *const times[] = {&c.all,           &c.most,       &c.quarter,    &c.eighth,
                                 &c.eight,         &c.small,      &c.cold,       &c.cold_most,
                                 &c.cold_eight,    &c.cold_few,   &c.read,       &c.p99,
                                 &c.small_quarter, &c.layer,      &c.layer_read, &c.layer_graph,
                                 &c.small_layer,   &c.small_read, &c.near_read,  &c.quarter_read};
        for (size_t k = 0; k < CHECK_LENGTH(times); k++)
            *times[k] = 1000;
        assert_int_equal(judged(claims[i], c), CLAIM_NOT_TESTABLE);
        c.pins = c.wrong = c.few_wrong = c.more = 1;
        assert_int_equal(judged(claims[i], c), CLAIM_NOT_TESTABLE);
    }
}

/* --- each ------------------------------------------------------------------------------------- */

static void fastest_on_few(void **unused)
{
    struct chain c = sound;
    (void)unused;
    c.most = 0.98 * c.all; /* within the margin */
    assert_int_equal(judged("C03", c), CLAIM_REFUTED);
    c.most = 0.97 * c.all; /* straddles */
    assert_int_equal(judged("C03", c), CLAIM_MIXED);
    c.most = 0.9 * c.all; /* in one place only */
    assert_int_equal(judged("C03", c), CLAIM_MIXED);
    c.cold_most = 0.9 * c.cold;
    assert_int_equal(judged("C03", c), CLAIM_REPRODUCED);
    c = sound, c.quarter = 0.9 * c.all, c.cold_most = 0.9 * c.cold; /* any of the few */
    assert_int_equal(judged("C03", c), CLAIM_REPRODUCED);
    c = sound, c.eight = c.all; /* the clock sees nothing */
    assert_int_equal(judged("C03", c), CLAIM_NOT_TESTABLE);
    c = sound, c.cold_eight = c.cold;
    assert_int_equal(judged("C03", c), CLAIM_NOT_TESTABLE);
}

static void gain_of_all(void **unused)
{
    struct chain c = sound;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C04", c, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "4096 x 4096 from device memory 1.300"));
    c.quarter = 1.3 * c.all; /* between the thresholds */
    assert_int_equal(judged("C04", c), CLAIM_MIXED);
    c.quarter = c.all; /* the smaller one gains */
    assert_int_equal(judged("C04", c), CLAIM_MIXED);
    c.small_quarter = c.small;
    assert_int_equal(judged("C04", c), CLAIM_REPRODUCED);
    c = sound, c.small_quarter = 1.1 * c.small; /* of which less is asked */
    assert_int_equal(judged("C04", c), CLAIM_REFUTED);
    c.small_quarter = c.small;
    assert_int_equal(judged("C04", c), CLAIM_MIXED);
    c = sound, c.eighth = c.quarter; /* more SMs are never faster */
    assert_int_equal(judged("C04", c), CLAIM_NOT_TESTABLE);
    c = sound, c.quarter_read = 1.4 * c.near_read; /* nor is a mere read: the L2 gives no more */
    assert_int_equal(judged("C04", c), CLAIM_NOT_TESTABLE);
}

static void forced_to_idle(void **unused)
{
    struct chain c = sound;
    (void)unused;
    c.cold = 9600, c.p99 = 9900; /* the layers alone reach it: one point is enough */
    assert_int_equal(judged("C19", c), CLAIM_REFUTED);
    c.small_layer = 34000; /* the one of 8B alone */
    assert_int_equal(judged("C19", c), CLAIM_REFUTED);
    c.layer = c.layer_read / 0.8; /* straddles */
    assert_int_equal(judged("C19", c), CLAIM_MIXED);
    c.layer = 130000; /* none */
    assert_int_equal(judged("C19", c), CLAIM_REPRODUCED);
    c.cold = sound.cold, c.p99 = sound.p99; /* the chain alone */
    assert_int_equal(judged("C19", c), CLAIM_REFUTED);
    c.p99 = 9500; /* not in each phase */
    assert_int_equal(judged("C19", c), CLAIM_MIXED);
    c.p99 = c.read / 0.8; /* straddles */
    assert_int_equal(judged("C19", c), CLAIM_MIXED);
}

static void forced_to_idle_controls(void **unused)
{
    struct chain c = sound;
    (void)unused;
    c.pins = 0.7; /* the read is slow, too */
    assert_int_equal(judged("C19", c), CLAIM_NOT_TESTABLE);
    c = sound, c.pins = 1.1; /* it does not come from device memory */
    assert_int_equal(judged("C19", c), CLAIM_NOT_TESTABLE);
    c = sound, c.cold_few = c.cold; /* four warps are as good */
    assert_int_equal(judged("C19", c), CLAIM_NOT_TESTABLE);
    c = sound, c.caught_layer = 0.9; /* a fault of the layer is not seen */
    assert_int_equal(judged("C19", c), CLAIM_NOT_TESTABLE);
    c = sound, c.layer_graph = c.layer; /* any packaging is as good */
    assert_int_equal(judged("C19", c), CLAIM_NOT_TESTABLE);
    c = sound, c.small_layer = 0; /* nobody measured it */
    assert_int_equal(judged("C19", c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safety_and_controls), cmocka_unit_test(no_instrument),
        cmocka_unit_test(fastest_on_few),      cmocka_unit_test(gain_of_all),
        cmocka_unit_test(forced_to_idle),      cmocka_unit_test(forced_to_idle_controls)};
    return cmocka_run_group_tests_name("claims product_chain", tests, NULL, NULL);
}
