/* The claims on a decoder's layer at batch 1 to 64: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

enum { AT_1, AT_8, AT_64, BATCHES };
static const int batches[BATCHES] = {1, 8, 64};
enum { OF_8B, OF_70B, MODELS };
static const char *const models[MODELS] = {"8b", "70b"};
enum { BYTES, LAUNCHES, ARITHMETIC, PARTS };
static const char *const parts[PARTS] = {"bytes", "launches", "arithmetic"};
enum { OPERATORS = 10 };
static const char *const operators[OPERATORS] = {"norm",      "add", "qkv",     "rope", "append",
                                                 "attention", "o",   "gate_up", "silu", "down"};
static const double operator_us[OPERATORS] = {2.5, 2.5, 13, 2.5, 2, 66, 9, 60, 4, 30};

/* A board: a layer of 8B and what fusing takes off, in microseconds; shares; and what controls
 * ask. */
struct board {
    double read_us[BATCHES], graph_us[BATCHES], off_us[BATCHES];
    double cut_off_us[AT_64]; /* the same, of micro-batches of 1 and 8 */
    double share[MODELS][BATCHES][PARTS];
    double caught, prompt; /* bytes' share of a long prompt's product */
    double alone;          /* operators alone, times this */
    double spread;         /* of the runs of fused, relative */
    double one;            /* one number for all rows; 0: as they are */
};
static const struct board h200 = {
    .read_us = {96, 102, 153},
    .graph_us = {118, 126, 197},
    .off_us = {8, 8, 5},
    .cut_off_us = {8, 8},
    .share = {{{0.83, 0.12, 0}, {0.82, 0.11, 0}, {0.79, 0.06, 0}},
              {{0.92, 0.03, 0}, {0.91, 0.03, 0}, {0.86, 0.02, 0.02}}},
    .caught = 1,
    .prompt = 0.08,
    .alone = 1,
    .spread = 0.0005,
};

static void put(struct bundle *b, const struct board *o, const char *id, const char *unit,
                double value, double spread)
{
    value = o->one != 0 ? o->one : value;
    put_spread(&b->rows, id, unit, ROW_LOWER, value, spread * value, 7);
}

static void put_layers(struct bundle *b, const struct board *o)
{
    static const char *const cuts[AT_64] = {"64x1", "8x8"};
    char id[192];
    for (int i = 0; i < BATCHES; i++)
        for (int way = 0; way < 3; way++) {
            static const char *const ways[] = {"read", "graph", "fused"};
            const double us[] = {o->read_us[i], o->graph_us[i], o->graph_us[i] - o->off_us[i]};
            const double spread = way == 2 ? o->spread : 0;
            snprintf(id, sizeof id,
                     "batched_layer.layer_time{model=8b,context=1024,batch=%d,impl=%s,l2=cold,"
                     "timer=event}",
                     batches[i], ways[way]);
            put(b, o, id, "ns", 1e3 * us[way], spread);
            if (way == 0 || i == AT_64)
                continue;
            const double cut_us = o->graph_us[i] - (way == 2 ? o->cut_off_us[i] : 0);
            snprintf(id, sizeof id,
                     "batched_layer.requests_time{model=8b,context=1024,cut=%s,impl=%s,l2=cold,"
                     "timer=event}",
                     cuts[i], ways[way]);
            put(b, o, id, "ns", 64e3 / batches[i] * cut_us, spread);
        }
}

/* What is said and not judged: points of curves, and the layer launched kernel by kernel. */
static void put_said(struct bundle *b, const struct board *o)
{
    static const struct {
        const char *model, *impl;
        int batch;
        double us;
    } said[] = {{"8b", "stream", 1, 137.5}, {"8b", "stream", 8, 147.5}, {"8b", "stream", 64, 240},
                {"8b", "graph", 256, 440},  {"8b", "fused", 256, 400},  {"70b", "graph", 1, 420},
                {"70b", "fused", 1, 400},   {"70b", "graph", 8, 440},   {"70b", "fused", 8, 420},
                {"70b", "graph", 64, 520},  {"70b", "fused", 64, 512}};
    static const double at_256[PARTS] = {0.55, 0.02, 0.36};
    char id[192];
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        snprintf(id, sizeof id,
                 "batched_layer.layer_time{model=%s,context=1024,batch=%d,impl=%s,l2=cold,"
                 "timer=event}",
                 said[i].model, said[i].batch, said[i].impl);
        put(b, o, id, "ns", 1e3 * said[i].us, 0);
    }
    for (int part = 0; part < PARTS; part++) {
        snprintf(id, sizeof id, "batched_layer.share{model=8b,context=1024,batch=256,by=%s}",
                 parts[part]);
        put(b, o, id, "ratio", at_256[part], 0.01);
    }
}

static void put_shares(struct bundle *b, const struct board *o)
{
    char id[192];
    for (int i = 0; i < MODELS * BATCHES * PARTS; i++) {
        const int model = i / PARTS / BATCHES, batch = i / PARTS % BATCHES, part = i % PARTS;
        snprintf(id, sizeof id, "batched_layer.share{model=%s,context=1024,batch=%d,by=%s}",
                 models[model], batches[batch], parts[part]);
        put(b, o, id, "ratio", o->share[model][batch][part], 0.01);
    }
    for (int i = 0; i < OPERATORS; i++) {
        snprintf(id, sizeof id,
                 "batched_layer.operator_time{model=8b,context=1024,batch=64,impl=graph,"
                 "operator=%s,l2=cold,timer=event}",
                 operators[i]);
        put(b, o, id, "ns", 1e3 * operator_us[i] * o->alone, 0.002);
    }
    put(b, o, "batched_layer.bytes_share{model=8b,tokens=4096}", "ratio", o->prompt, 0.01);
    put(b, o, "batched_layer.caught{model=small,context=200,batch=5}", "ratio", o->caught, 0);
}

static enum claim_verdict found(const char *claim, struct board o, struct finding *f)
{
    struct bundle b = {0};
    put_layers(&b, &o);
    put_said(&b, &o);
    put_shares(&b, &o);
    return verdict_of(claim, &b, f);
}

static enum claim_verdict judged(const char *claim, struct board o)
{
    struct finding f;
    return found(claim, o, &f);
}

static const char *const ids[] = {"C31b", "C47b", "C53"};
enum { CLAIMS = sizeof ids / sizeof ids[0] };

/* A stuck timer, ones, and negative numbers decide nothing; nor does a bundle without rows. */
static void nothing_is_seen(void **unused)
{
    static const double numbers[] = {20000, 1, -1};
    (void)unused;
    for (size_t i = 0; i < CLAIMS; i++) {
        struct board o = h200;
        for (size_t k = 0; k < 3; k++) {
            o.one = numbers[k];
            assert_int_equal(judged(ids[i], o), CLAIM_NOT_TESTABLE);
        }
        struct bundle none = {0};
        assert_int_equal(verdict(ids[i], &none), CLAIM_NOT_TESTABLE);
    }
}

/* A read that does not see the bytes; faults that nobody sees. */
static void controls_of_all(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < CLAIMS; i++) {
        struct board o = h200;
        o.read_us[AT_64] = 130;
        assert_int_equal(judged(ids[i], o), CLAIM_NOT_TESTABLE);
        o = h200;
        o.caught = 0.98;
        assert_int_equal(judged(ids[i], o), CLAIM_NOT_TESTABLE);
    }
}

static void gains(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C31b", o, &f), CLAIM_REFUTED); /* 1.073 and 1.026 */
    assert_non_null(strstr(f.evidence, "8B at batch 8 1.068"));
    assert_non_null(strstr(f.evidence, "at 256 1.100"));
    assert_non_null(strstr(f.evidence, "70B at batch 1 1.050"));
    assert_non_null(strstr(f.evidence, "at 8 1.048"));
    assert_non_null(strstr(f.evidence, "at 64 1.016"));
    o.off_us[AT_64] = 11;                               /* 1.059 */
    assert_int_equal(judged("C31b", o), CLAIM_MIXED);
    o.off_us[AT_64] = 19; /* 1.107 */
    assert_int_equal(judged("C31b", o), CLAIM_REPRODUCED);
    o.off_us[AT_1] = 11; /* 1.103 */
    assert_int_equal(judged("C31b", o), CLAIM_MIXED);
    o = h200;
    o.off_us[AT_64] = 9.2; /* 1.049: 0.978 of it, give or take */
    o.spread = 0.006;
    assert_int_equal(judged("C31b", o), CLAIM_REFUTED); /* its runs move together */
    o.spread = 0.012;                                   /* from run to run by as much */
    assert_int_equal(judged("C31b", o), CLAIM_NOT_TESTABLE);
}

static void shares_of_kernels(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C47b", o, &f), CLAIM_REPRODUCED); /* 0.068, 0.063, 0.025 */
    assert_non_null(strstr(f.evidence, "kernel by kernel, at batch 1 0.2000"));
    assert_non_null(strstr(f.evidence, "at 8 0.2000"));
    assert_non_null(strstr(f.evidence, "at 64 0.2000"));
    assert_non_null(strstr(f.evidence, "of the graph at batch 1 0.1200"));
    assert_non_null(strstr(f.evidence, "at batch 8 0.1100"));
    assert_non_null(strstr(f.evidence, "at batch 256 0.02000"));
    o.cut_off_us[AT_1] = o.cut_off_us[AT_8] = 4;           /* 0.034, 0.032: little in small ones */
    assert_int_equal(judged("C47b", o), CLAIM_MIXED);
    o.off_us[AT_64] = 12;
    assert_int_equal(judged("C47b", o), CLAIM_REFUTED);
    o = h200;
    o.off_us[AT_8] = 12; /* 0.095: it rises on the way */
    assert_int_equal(judged("C47b", o), CLAIM_MIXED);
    o = h200;
    o.spread = 0.011; /* from run to run by as much */
    assert_int_equal(judged("C47b", o), CLAIM_NOT_TESTABLE);
}

static void moving(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C53", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "8B at batch 256 0.5700"));
    assert_non_null(strstr(f.evidence, "operators that arithmetic binds 0.3600"));
    o.share[OF_8B][AT_64][BYTES] = 0.42; /* the rest is none of the three */
    assert_int_equal(judged("C53", o), CLAIM_MIXED);
    o.share[OF_70B][AT_64][BYTES] = 0.3;
    o.share[OF_70B][AT_64][ARITHMETIC] = 0.6;
    assert_int_equal(judged("C53", o), CLAIM_REFUTED);
    o = h200;
    o.share[OF_8B][AT_1][BYTES] = 0.381; /* 0.501, give or take */
    assert_int_equal(judged("C53", o), CLAIM_MIXED);
    o = h200;
    o.share[OF_70B][AT_8][ARITHMETIC] = 0.501;
    o.share[OF_70B][AT_8][BYTES] = 0.4;
    assert_int_equal(judged("C53", o), CLAIM_MIXED);
    o = h200;
    o.alone = 0.8; /* the operators do not add up to the layer */
    assert_int_equal(judged("C53", o), CLAIM_NOT_TESTABLE);
    o.alone = 1.2;
    assert_int_equal(judged("C53", o), CLAIM_NOT_TESTABLE);
    o = h200;
    o.prompt = 0.51; /* the rule sees bytes everywhere */
    assert_int_equal(judged("C53", o), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_seen), cmocka_unit_test(controls_of_all),
        cmocka_unit_test(gains),           cmocka_unit_test(shares_of_kernels),
        cmocka_unit_test(moving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
