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

#define CUBE "m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"

static const char *impl = "wgmma"; /* of the rows that follow */

static const char *cube(const char *tile, int split, const char *grid, const char *resident)
{
    static char keys[256];
    snprintf(keys, sizeof keys,
             CUBE "impl=%s,tile=%s,split=%d,grid=%s,tiles=all,resident=%s,l2=warm", impl, tile,
             split, grid, resident);
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
    return (struct bundle){.head =
                               json_pack("{s:{s:{s:i}}}", "environment", "gpu", "n_sm", (int)SMS)};
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

/* us of Triton: what its tuner picks and what it is forced to, and with how many blocks; 32 blocks;
 * 64 and 128 blocks of one depth. */
struct triton {
    double tuned, forced, n_tuned, n_forced, starved, half, most;
};
static const struct triton article = {5.9, 8.5, 128, 256, 13, 8.2, 6.6};

static void put_triton(struct bundle *b, const char *tile, double us, double blocks)
{
    const double values[] = {blocks, blocks, blocks, blocks, blocks, blocks, blocks};
    char id[DOCUMENT_ID];
    snprintf(id, sizeof id, "peers.time{" CUBE "impl=triton,tile=%s,l2=warm,timer=event}", tile);
    put_spread(&b->rows, id, "ns", ROW_LOWER, us * 1e3, us, 7);
    snprintf(id, sizeof id, "peers.blocks{" CUBE "impl=triton,tile=%s,l2=warm}", tile);
    put_values(&b->rows, id, "count", ROW_EXACT, values, 7);
}

static enum claim_verdict c24(struct triton t)
{
    struct bundle b = bundle_of();
    struct finding f;
    put_triton(&b, "tuned", t.tuned, t.n_tuned);
    put_triton(&b, "forced", t.forced, t.n_forced);
    put_triton(&b, "128x256x64", t.starved, 32);
    put_triton(&b, "128x128x32", t.half, 64);
    put_triton(&b, "128x64x32", t.most, 128);
    put_tile(&b, "128x64", 1, 128, 4.8); /* ours, which must not decide */
    put_tile(&b, "64x64", 1, 256, 4.8);
    return judged("C24", &b, &f);
}

static void by_triton(void **unused)
{
    struct triton t = article;
    (void)unused;
    assert_int_equal(c24(t), CLAIM_REPRODUCED);
    t.forced = 6.0; /* slower by less than 3 % */
    assert_int_equal(c24(t), CLAIM_REFUTED);
    t.forced = 5;
    assert_int_equal(c24(t), CLAIM_REFUTED);
    t.forced = 1.03 * t.tuned; /* its interval contains 3 % */
    assert_int_equal(c24(t), CLAIM_MIXED);
    t = article;
    t.starved = 6; /* 32 blocks cost nothing: SMs are not seen */
    assert_int_equal(c24(t), CLAIM_NOT_TESTABLE);
    t = article;
    t.most = 9; /* more blocks are slower even where each has an SM */
    assert_int_equal(c24(t), CLAIM_NOT_TESTABLE);
    t = article;
    t.n_tuned = 256; /* it picks no fewer blocks than SMs */
    assert_int_equal(c24(t), CLAIM_NOT_TESTABLE);
    t = (struct triton){5, 5, 128, 256, 5, 5, 5}; /* a stuck timer */
    assert_int_equal(c24(t), CLAIM_NOT_TESTABLE);
}

/* --- C24b ------------------------------------------------------------------------------------- */

/* us: the tile with fewer blocks and the one with more; split over 256 blocks, and persistent with
 * no SM idle (0: missing); the tile with fewest blocks; 96 tiles, and as many as SMs; the portable
 * kernel's two (0: missing); k = 2048 (0: 7.8). */
struct ours {
    double few, many, split, persistent, fewest, at_96, at_sm, mma_few, mma_many, deep;
};
static const struct ours h200 = {4.81, 5.57, 7.1, 0, 7, 6.0, 6.1, 0, 0, 0};

static enum claim_verdict c24_of(const char *id, struct ours c, struct finding *f)
{
    struct bundle b = bundle_of();

    impl = "wgmma";
    put_tile(&b, "128x64", 1, 128, c.few);
    put_parts(&b, "128x64", "max", 0.70, 4.37, 4.24, 5);
    put_count(&b, "idle_sms", cube("128x64", 1, "tiles", "max"), 4);
    put_tile(&b, "128x128", 1, 64, c.fewest);
    put_tile(&b, "64x64", 1, 256, c.many);
    put_tile(&b, "32x64", 1, 512, 8);
    put_tile(&b, "128x128_split2", 2, 128, 3); /* fast, but not on every SM: neither (a) nor (b) */
    if (c.split > 0)
        put_tile(&b, "128x128_split4", 4, 256, c.split);
    put_grid(&b, "sm", c.persistent > 0 ? 0 : 4, c.persistent > 0 ? c.persistent : 3);
    put_first(&b, "96", c.at_96);
    put_first(&b, "sm", c.at_sm);
    put_first(&b, "sm+1", 10);
    put_depth(&b, 512, 3.3);
    put_depth(&b, 2048, c.deep > 0 ? c.deep : 7.8);
    impl = "mma";
    if (c.mma_few > 0) {
        put_tile(&b, "128x64", 1, 128, c.mma_few);
        put_tile(&b, "64x64", 1, 256, c.mma_many);
    }
    impl = "wgmma";
    return judged(id, &b, f);
}

static enum claim_verdict c24b(struct ours c)
{
    struct finding f;
    return c24_of("C24b", c, &f);
}

static void by_our_kernels(void **unused)
{
    struct ours c = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(c24b(c), CLAIM_REPRODUCED);
    c.many = 4.85; /* slower by less than 3 % */
    assert_int_equal(c24b(c), CLAIM_REFUTED);
    c.many = 1.03 * c.few; /* its interval contains 3 % */
    assert_int_equal(c24b(c), CLAIM_MIXED);
    c = h200;
    c.split = 4.6; /* smaller tiles lose, split ones do not */
    assert_int_equal(c24b(c), CLAIM_MIXED);
    assert_int_equal(c24_of("C24", c, &f), CLAIM_NOT_TESTABLE); /* without Triton */
    assert_non_null(strstr(f.evidence, "is not in this bundle"));
    c = h200;
    c.persistent = 4.7;
    assert_int_equal(c24b(c), CLAIM_MIXED);
    c = h200;
    c.mma_few = 7.4, c.mma_many = 7.5; /* by the portable kernel it is not so */
    assert_int_equal(c24b(c), CLAIM_MIXED);
    c.mma_many = 9;
    assert_int_equal(c24b(c), CLAIM_REPRODUCED);
    c = h200;
    c.fewest = 4.9; /* half the blocks cost nothing: SMs are not seen */
    assert_int_equal(c24b(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.at_sm = 9; /* with as many tiles as SMs each takes longer: the rule reads so anywhere */
    assert_int_equal(c24b(c), CLAIM_NOT_TESTABLE);
}

/* A GPU that has the portable kernel alone. */
static enum claim_verdict portable(double few, double many, double fewest)
{
    struct bundle b = bundle_of();
    struct finding f;
    impl = "mma";
    put_tile(&b, "128x64", 1, 128, few);
    put_tile(&b, "64x64", 1, 256, many);
    put_tile(&b, "128x128", 1, 64, fewest);
    impl = "wgmma";
    return judged("C24b", &b, &f);
}

static void by_the_portable_kernel(void **unused)
{
    (void)unused;
    assert_int_equal(portable(7.4, 8, 10.7), CLAIM_REPRODUCED);
    assert_int_equal(portable(7.4, 7.5, 10.7), CLAIM_REFUTED);
    assert_int_equal(portable(7.4, 8, 7.5), CLAIM_NOT_TESTABLE);
    assert_int_equal(portable(7.4, 7.4, 7.4), CLAIM_NOT_TESTABLE);
}

static void where_the_time_goes(void **unused)
{
    struct ours c = h200;
    struct finding f;
    (void)unused;
    c24_of("C24b", c, &f);
    assert_non_null(strstr(f.evidence, "128x64 (128 blocks) 4.81"));
    assert_non_null(strstr(f.evidence, "64x64 (256 blocks) 5.57"));
    assert_non_null(strstr(f.evidence, "split along k 128x128_split4 (256 blocks) 7.10"));
    /* 3.3 us at k = 512, 4.81 at 1024, 7.8 at 2048: at k = 0 2 x 3.3 - 4.81 and 2 x 4.81 - 7.8; of
     * all four idle SMs are 1/33 */
    assert_non_null(strstr(f.evidence, "2048, 1.79 to 1.82 us (37 to 38 %)"));
    assert_non_null(strstr(f.evidence, "0.70 for the empty kernel"));
    assert_non_null(strstr(f.evidence, "4 idle SMs 0.15 us at most (3 %)"));
    assert_non_null(strstr(f.evidence, "a tile more than SMs would add 3.90 us, 64 %"));
    assert_non_null(strstr(f.evidence, "waiting for operands 0.57 us (12 %)"));
    c.deep = 8.62; /* no line: what more of k costs grows, and the pairs of times are told apart */
    c24_of("C24b", c, &f);
    assert_non_null(strstr(f.evidence, "2048, 1.00 to 1.79 us (21 to 37 %)"));
}

/* --- C25 -------------------------------------------------------------------------------------- */

/* us of the tile with few blocks and of the one with many, with its warps on the busiest SM; with
 * one block an SM; the tile with fewest blocks and its warps; one tile with 2, 4 and 8 warps. */
struct c25 {
    double few, warps_few, many, warps_many, alone, warps_alone, fewest, warps_fewest, sweep[3];
};
static const struct c25 reversed = {4.81, 5, 5.57, 10, 7.6, 5, 12, 12, {7.5, 7.4, 7.8}};

static void put_warps(struct bundle *b, const char *tile, const char *resident, double blocks,
                      double us, double warps)
{
    put(b, "time", cube(tile, 1, "tiles", resident), us * 1e3);
    put_count(b, "blocks", cube(tile, 1, "tiles", resident), blocks);
    put_count(b, "warps", cube(tile, 1, "tiles", resident), warps);
}

static enum claim_verdict c25_found(struct c25 c, const char *kernel, struct finding *f)
{
    struct bundle b = bundle_of();

    impl = "mma";
    if (c.sweep[0] > 0) {
        put_warps(&b, "128x64_2warps", "max", 128, c.sweep[0], 2);
        put_warps(&b, "128x64", "max", 128, c.sweep[1], 4);
        put_warps(&b, "128x64_8warps", "max", 128, c.sweep[2], 8);
    }
    impl = kernel;
    put_warps(&b, "256x128_once", "max", 32, c.fewest, c.warps_fewest);
    if (strcmp(kernel, "mma")) /* whose tile of few blocks is that of the sweep */
        put_warps(&b, "128x64", "max", 128, c.few, c.warps_few);
    put_warps(&b, "64x64", "max", 256, c.many, c.warps_many);
    put_warps(&b, "64x64", "1", 256, c.alone, c.warps_alone);
    impl = "wgmma";
    return judged("C25", &b, f);
}

static enum claim_verdict c25(struct c25 c)
{
    struct finding f;
    return c25_found(c, "wgmma", &f);
}

static void want_of_warps(void **unused)
{
    struct c25 c = reversed;
    struct finding f;
    (void)unused;
    assert_int_equal(c25_found(c, "wgmma", &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "warps on the busiest SM 5 and 10: not fewer"));
    c.sweep[0] = 0; /* which needs no sweep */
    assert_int_equal(c25(c), CLAIM_REFUTED);
    c = reversed;
    c.warps_few = c.warps_fewest = 20; /* fewer: a halving costs 1 %, of the 16 % that are lost */
    assert_int_equal(c25(c), CLAIM_REFUTED);
    c.sweep[0] = 8.2; /* 11 % */
    assert_int_equal(c25(c), CLAIM_REPRODUCED);
    c.sweep[0] = 7.4 * (1 + 0.5 * (5.57 / 4.81 - 1)); /* half of it, straddling */
    assert_int_equal(c25(c), CLAIM_MIXED);
    c.sweep[0] = 0; /* nothing tells what a warp is worth */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = reversed;
    c.many = 8.5; /* the portable kernel decides, too: 4 warps and 10 */
    c.alone = 9.5;
    assert_int_equal(c25_found(c, "mma", &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "by mma.sync"));
}

static void controls_of_warps(void **unused)
{
    struct c25 c = reversed;
    (void)unused;
    c.alone = 5.5; /* fewer warps of one tile cost nothing: they are not seen */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = reversed;
    c.warps_alone = 10; /* shared memory took no warps away */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = reversed;
    c.fewest = 4.82; /* more work for each block costs nothing: nothing to tell from warps */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = reversed;
    c.warps_fewest = 4; /* it has fewer warps, too */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
    c = reversed;
    c.many = 4.85; /* no slowdown */
    assert_int_equal(c25(c), CLAIM_NOT_TESTABLE);
}

/* --- C25b ------------------------------------------------------------------------------------- */

/* us: products of the tile with many blocks, which takes 5.57; half the stages; products of the
 * tile that shares its fetches, which takes 4.86. */
static enum claim_verdict c25b(double products, double shallow, double shared)
{
    struct bundle b = bundle_of();
    struct finding f;
    put_tile(&b, "128x64", 1, 128, 4.81);
    put_parts(&b, "128x64", "max", 0.70, 4.37, 4.24, 5);
    put_tile(&b, "64x64", 1, 256, 5.57);
    put_parts(&b, "64x64", "max", 0.70, 5.1, products, 10);
    put_tile(&b, "48x64", 1, 352, 5.0); /* faster, but it has no parts */
    put_tile(&b, "128x64_4stages", 1, 128, shallow);
    put_tile(&b, "128x64_multicast", 1, 128, 4.86);
    put_parts(&b, "128x64_multicast", "max", 0.70, 4.37, shared, 5);
    return judged("C25b", &b, &f);
}

static void more_waiting(void **unused)
{
    (void)unused;
    assert_int_equal(c25b(4.07, 5.25, 4.3), CLAIM_REPRODUCED);   /* 0.119 to 0.269 */
    assert_int_equal(c25b(4.9, 5.25, 4.3), CLAIM_REFUTED);       /* to 0.120 */
    assert_int_equal(c25b(4.07, 4.82, 4.3), CLAIM_NOT_TESTABLE); /* half the stages cost nothing */
    assert_int_equal(c25b(4.07, 5.25, 3.5), CLAIM_NOT_TESTABLE); /* the same tile waits more, too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_triton),
        cmocka_unit_test(by_our_kernels),
        cmocka_unit_test(by_the_portable_kernel),
        cmocka_unit_test(where_the_time_goes),
        cmocka_unit_test(want_of_warps),
        cmocka_unit_test(controls_of_warps),
        cmocka_unit_test(more_waiting),
    };
    return cmocka_run_group_tests_name("claims on blocks and warps", tests, NULL, NULL);
}
