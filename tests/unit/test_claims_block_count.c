/* The claims on blocks and warps of a 1024^3 product: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

#include "core/document.h"

enum { SMS = 132 };

static void put(struct bundle *b, const char *metric, const char *keys, double ns)
{
    const double spread = strstr(keys, "=64x64,") ? ns / 500 : ns / 1000; /* or ratios are fixed */
    char id[DOCUMENT_ID];
    snprintf(id, sizeof id, "block_count.%s{%s,timer=event}", metric, keys);
    put_spread(&b->rows, id, "ns", ROW_LOWER, ns, spread, 7);
}

static void put_count(struct bundle *b, const char *metric, const char *keys, double count)
{
    const double values[] = {count, count, count, count, count, count, count};
    char id[DOCUMENT_ID];
    snprintf(id, sizeof id, "block_count.%s{%s}", metric, keys);
    put_values(&b->rows, id, "count", ROW_EXACT, values, 7);
}

static const char *cube(const char *tile, int split, const char *grid, const char *resident)
{
    static char keys[256];
    snprintf(keys, sizeof keys,
             "m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,impl=wgmma,tile=%s,split=%d,"
             "grid=%s,tiles=all,resident=%s,l2=warm",
             tile, split, grid, resident);
    return keys;
}

static void put_tile(struct bundle *b, const char *tile, int split, double blocks, double us)
{
    put(b, "time", cube(tile, split, "tiles", "max"), us * 1e3);
    put_count(b, "blocks", cube(tile, split, "tiles", "max"), blocks);
}

static void put_grid(struct bundle *b, const char *grid, double idle, double us)
{
    put(b, "time", cube("128x64_persistent", 1, grid, "max"), us * 1e3);
    put_count(b, "idle_sms", cube("128x64_persistent", 1, grid, "max"), idle);
}

static void put_first(struct bundle *b, const char *tiles, double us)
{
    char keys[256];
    snprintf(keys, sizeof keys,
             "m=4096,n=2048,k=1024,type=fp16,acc=fp32,layout=nn,impl=wgmma,tile=128x64_persistent,"
             "split=1,grid=tiles,tiles=%s,resident=max,l2=warm",
             tiles);
    put(b, "time", keys, us * 1e3);
}

static void put_depth(struct bundle *b, int k, double us)
{
    char keys[256];
    snprintf(keys, sizeof keys,
             "m=1024,n=1024,k=%d,type=fp16,acc=fp32,layout=nn,impl=wgmma,tile=128x64,split=1,"
             "grid=tiles,tiles=all,resident=max,l2=warm",
             k);
    put(b, "time", keys, us * 1e3);
}

static void put_parts(struct bundle *b, const char *tile, const char *resident, double empty,
                      double loads, double products, double warps)
{
    const char *keys = cube(tile, 1, "tiles", resident);
    put(b, "empty", keys, empty * 1e3);
    put(b, "loads", keys, loads * 1e3);
    put(b, "products", keys, products * 1e3);
    put_count(b, "warps", keys, warps);
}

static struct bundle bundle_of(void)
{
    return (struct bundle){
        .head = json_pack("{s:{s:{s:i}}}", "environment", "gpu", "n_sm", (int)SMS)};
}

static enum claim_verdict judged(const char *id, struct bundle *b, struct finding *f)
{
    enum claim_verdict v = verdict_of(id, b, f);
    assert_true(strlen(f->evidence) + 1 < sizeof f->evidence);
    assert_true(strlen(f->controls) + 1 < sizeof f->controls);
    json_decref(b->head);
    return v;
}

/* --- C24 -------------------------------------------------------------------------------------- */

/* us: the tile with fewer blocks and the one with more; split over 256 blocks, and persistent with
 * no SM idle (0: missing); 64 and 128 persistent blocks; 96 tiles, and as many tiles as SMs. */
struct c24 {
    double few, many, split, persistent, half, full, at_96, at_sm;
};
static const struct c24 h200 = {4.81, 5.57, 7.1, 0, 8.5, 5.2, 6.0, 6.1};

static enum claim_verdict c24_found(struct c24 c, struct finding *f)
{
    struct bundle b = bundle_of();

    put_tile(&b, "128x64", 1, 128, c.few);
    put_parts(&b, "128x64", "max", 0.70, 4.37, 4.24, 5);
    put_count(&b, "idle_sms", cube("128x64", 1, "tiles", "max"), 4);
    put_tile(&b, "128x128", 1, 64, 7);
    put_tile(&b, "64x64", 1, 256, c.many);
    put_tile(&b, "32x64", 1, 512, 8);
    put_tile(&b, "128x128_split2", 2, 128, 3); /* fast, but not on every SM: neither (a) nor (b) */
    if (c.split > 0)
        put_tile(&b, "128x128_split4", 4, 256, c.split);
    put_grid(&b, "64", 68, c.half);
    put_grid(&b, "128", 4, c.full);
    put_grid(&b, "sm", c.persistent > 0 ? 0 : 4, c.persistent > 0 ? c.persistent : 3);
    put_first(&b, "96", c.at_96);
    put_first(&b, "sm", c.at_sm);
    put_first(&b, "sm+1", 10);
    put_depth(&b, 512, 3.3);
    put_depth(&b, 2048, 7.8);
    return judged("C24", &b, f);
}

static enum claim_verdict c24(struct c24 c)
{
    struct finding f;
    return c24_found(c, &f);
}

static void more_blocks(void **unused)
{
    struct c24 c = h200;
    (void)unused;
    assert_int_equal(c24(c), CLAIM_REPRODUCED);
    c.many = 4.85; /* slower by less than 3 % */
    assert_int_equal(c24(c), CLAIM_REFUTED);
    c.many = 4.5;
    assert_int_equal(c24(c), CLAIM_REFUTED);
    c.many = 1.03 * c.few; /* its interval contains 3 % */
    assert_int_equal(c24(c), CLAIM_MIXED);
    c = h200;
    c.split = 4.6; /* smaller tiles lose, split ones do not */
    assert_int_equal(c24(c), CLAIM_MIXED);
    c.split = 4.9;
    assert_int_equal(c24(c), CLAIM_MIXED);
    c = h200;
    c.persistent = 4.7;
    assert_int_equal(c24(c), CLAIM_MIXED);
    c.persistent = 5.2;
    c.split = 0;
    assert_int_equal(c24(c), CLAIM_REPRODUCED);
}

static void controls_of_more_blocks(void **unused)
{
    struct c24 c = h200;
    (void)unused;
    c.half = 5.2; /* half the blocks cost nothing: SMs are not seen */
    assert_int_equal(c24(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.at_sm = 9; /* with as many tiles as SMs each takes longer: the rule reads so anywhere */
    assert_int_equal(c24(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.split = 0; /* nothing fills every SM but smaller tiles */
    assert_int_equal(c24(c), CLAIM_NOT_TESTABLE);
}

static void where_the_time_goes(void **unused)
{
    struct finding f;
    (void)unused;
    c24_found(h200, &f);
    assert_non_null(strstr(f.evidence, "128x64 (128 blocks) 4.81"));
    assert_non_null(strstr(f.evidence, "64x64 (256 blocks) 5.57"));
    assert_non_null(strstr(f.evidence, "or more: 128x128_split4 (256 blocks) 7.10"));
    assert_non_null(strstr(f.evidence, "stream-K, every SM at work: none"));
    /* 3.3 us at k = 512, 7.8 at 2048: 1.8 us at k = 0; of the other 3.01 four idle SMs are 1/33 */
    assert_non_null(strstr(f.evidence, "fixed, by times over k, 1.80 us (37 %)"));
    assert_non_null(strstr(f.evidence, "0.70 for the empty kernel"));
    assert_non_null(strstr(f.evidence, "4 idle SMs 0.09 us at most (2 %)"));
    assert_non_null(strstr(f.evidence, "a tile more than SMs would add 3.90 us, 64 %"));
    assert_non_null(strstr(f.evidence, "waiting for operands 0.57 us (12 %)"));
}

/* --- C25 -------------------------------------------------------------------------------------- */

/* The tile with many blocks: whole, loads, products, with one block an SM, warps with as many as
 * fit. What the model predicts for it, for the other tile and for a third one (0: nothing). The
 * controls' times. */
struct c25 {
    double many, loads, products, alone, warps, model_few, model_many, model_other, shallow, wide;
};
static const struct c25 measured = {5.57, 5.1, 4.9, 6.5, 10, 4.76, 5.81, 0, 5.25, 10};

static void put_model(struct bundle *b, const char *tile, double us, double measured_us)
{
    char id[DOCUMENT_ID];
    if (us <= 0)
        return;
    snprintf(id, sizeof id, "derived.predicted_time{%s,timer=event}",
             cube(tile, 1, "tiles", "max"));
    put_spread(&b->rows, id, "ns", ROW_LOWER, us * 1e3, us, 7);
    snprintf(id, sizeof id, "derived.prediction_error{%s,timer=event}",
             cube(tile, 1, "tiles", "max"));
    put_spread(&b->rows, id, "ratio", ROW_LOWER, fabs(us / measured_us - 1), 0, 7);
}

static enum claim_verdict c25_found(struct c25 c, struct finding *f)
{
    struct bundle b = bundle_of();

    put_tile(&b, "128x64", 1, 128, 4.81);
    put_parts(&b, "128x64", "max", 0.70, 4.37, 4.24, 5);
    put_tile(&b, "64x64", 1, 256, c.many);
    put_parts(&b, "64x64", "max", 0.70, c.loads, c.products, c.warps);
    put(&b, "time", cube("64x64", 1, "tiles", "1"), c.alone * 1e3);
    put_count(&b, "warps", cube("64x64", 1, "tiles", "1"), 5);
    put_tile(&b, "48x64", 1, 352, 5.0); /* faster, but it has no parts */
    put_tile(&b, "128x64_4stages", 1, 128, c.shallow);
    put_tile(&b, "32x256_alone", 1, 128, 6.23);
    put_count(&b, "warps", cube("32x256_alone", 1, "tiles", "max"), 17);
    put_tile(&b, "256x128_once", 1, 32, c.wide);
    put_count(&b, "warps", cube("256x128_once", 1, "tiles", "max"), 12);
    put_model(&b, "128x64", c.model_few, 4.81);
    put_model(&b, "64x64", c.model_many, c.many);
    put_model(&b, "48x64", c.model_other, 5.0);
    return judged("C25", &b, f);
}

static enum claim_verdict c25(struct c25 c)
{
    struct finding f;
    return c25_found(c, &f);
}

static void want_of_warps(void **unused)
{
    struct c25 c = measured;
    struct finding f;
    (void)unused;
    /* waiting share 0.119 and 0.120: no rise; exposed, too; and loads take longer */
    assert_int_equal(c25(c), CLAIM_REFUTED);
    c.products = 4.5; /* 0.192: more waiting, for bytes */
    assert_int_equal(c25_found(c, &f), CLAIM_MIXED);
    assert_non_null(strstr(f.evidence, "the cause: REFUTED, more waiting: REPRODUCED"));
    c = measured;
    c.model_many = 7; /* the model fails, and what is exposed rises by 0.01 while loads grow */
    assert_int_equal(c25(c), CLAIM_REFUTED);
    c.loads = 4.36; /* loads do not */
    c.model_many = 0;
    assert_int_equal(c25_found(c, &f), CLAIM_MIXED);
    assert_non_null(strstr(f.evidence, "the cause: MIXED, more waiting: REFUTED"));
    assert_non_null(strstr(f.evidence, "model none"));
    c.model_many = measured.model_many; /* the model says both, and nothing else */
    assert_int_equal(c25(c), CLAIM_MIXED);
    c.model_other = 7; /* of another row 40 % too much */
    assert_int_equal(c25(c), CLAIM_MIXED);
    c.model_other = 5.2;
    assert_int_equal(c25_found(c, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "in view), of the other 1 by 4.0 %"));
}

static void warps_that_do_explain(void **unused)
{
    /* A tile of many blocks with fewer warps than the one of few is beyond this kernel's table: the
     * larger tile is given 40, so that a factor of 4 to 10 warps costs 1.32 of 0.93 us each e. */
    struct bundle b = bundle_of();
    struct finding f;
    (void)unused;
    put_tile(&b, "128x64", 1, 128, 4.81);
    put_parts(&b, "128x64", "max", 0.70, 4.37, 4.24, 40);
    put_tile(&b, "64x64", 1, 256, 6.50);
    put_parts(&b, "64x64", "max", 0.70, 4.6, 4.3, 10);
    put(&b, "time", cube("64x64", 1, "tiles", "1"), 7.43e3);
    put_count(&b, "warps", cube("64x64", 1, "tiles", "1"), 5);
    put_tile(&b, "128x64_4stages", 1, 128, 5.25);
    put_tile(&b, "32x256_alone", 1, 128, 6.23);
    put_count(&b, "warps", cube("32x256_alone", 1, "tiles", "max"), 17);
    put_tile(&b, "256x128_once", 1, 32, 10);
    put_count(&b, "warps", cube("256x128_once", 1, "tiles", "max"), 12);
    /* 0.93 / ln 2 x ln 4 = 1.86 us of 1.69; exposed 0.124 and 0.528; waiting 0.119 and 0.338 */
    assert_int_equal(judged("C25", &b, &f), CLAIM_REPRODUCED);
}

static void controls_of_warps(void **unused)
{
    struct c25 c = measured;
    (void)unused;
    c.shallow = 4.82; /* half the stages cost nothing: hiding of latency is not seen */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.wide = 6.24; /* more work for each block costs nothing: nothing to tell from warps */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.alone = 3; /* fewer warps are faster, and explain what more warps cost */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c.alone = 12; /* warps are worth so much that they explain whatever is slower */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.warps = 5; /* shared memory took no warps away */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.many = 4.85; /* no slowdown */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
}

static void the_model_beside_it(void **unused)
{
    struct finding f;
    (void)unused;
    c25_found(measured, &f);
    assert_non_null(strstr(f.evidence, "the model of all 2 warm rows errs by 2.7 % in the median, "
                                       "4.3 % at most"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_blocks),
        cmocka_unit_test(controls_of_more_blocks),
        cmocka_unit_test(where_the_time_goes),
        cmocka_unit_test(want_of_warps),
        cmocka_unit_test(warps_that_do_explain),
        cmocka_unit_test(controls_of_warps),
        cmocka_unit_test(the_model_beside_it),
    };
    return cmocka_run_group_tests_name("claims on blocks and warps", tests, NULL, NULL);
}
