/* The claims on a decoder's layer and a whole step: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

enum { STREAM, GRAPH, FUSED, DEPENDENT, BARRIER, RING, VALUES, NEAR, CUBLAS, READ, WAYS };
static const char *const ways[WAYS] = {"stream", "graph",  "fused", "dependent", "barrier",
                                       "ring",   "values", "near",  "cublas",    "read"};
static const double kernels[WAYS] = {14, 14, 6, 6, 1, 1, 1, 1, 12, 1};

enum { ONE_B, THREE_B, EIGHT_B, MODELS };
static const struct {
    const char *name;
    double layers, megabytes, head_us;
} models[MODELS] = {{"1b", 16, 124, 125}, {"3b", 28, 206, 180}, {"8b", 32, 440, 250}};

enum { CONTEXTS = 4 };
static const int contexts[CONTEXTS] = {128, 1024, 8192, 32768};

/* A board: what a layer of 1B takes beyond a read of its bytes, how that grows with the model and
 * with the context, and what else is measured. */
struct board {
    double beyond_us[WAYS];
    double by_model[MODELS], by_context[CONTEXTS];
    double late_us[WAYS]; /* what a step takes beyond its layers and its head */
    double shaky[WAYS];   /* of the runs of a step of 1B, relative, beside the spread of all */
    bool without_near;    /* the L2 of this GPU has no halves */
    double slower;        /* all times of steps, times this */
    double one;           /* with all other numbers: one number for all; 0: as they are */
    double spread;        /* of the runs of a step or layer of 1B, relative */
    double inside[2];     /* in the large kernel over alone: attention, the products */
    double gain[2][3];    /* of three fusions, at batch 1 and at batch 256 */
    double watts[WAYS];   /* of a board that does steps; 0: not measured */
    double watts_8b[WAYS];
    double watts_spread;  /* of the rounds of joules of 1B, relative */
};
static const struct board h200 = {
    .beyond_us = {48, 36, 25, 22, 21, 14.5, 14, 14.2, 34, 0},
    .by_model = {1, 1.05, 1.1},
    .by_context = {1, 1, 1, 1},
    .slower = 1,
    .spread = 0.002,
    .inside = {1.5, 1},
    .gain = {{1.22, 1.22, 1.34}, {1.1, 1.1, 1.2}},
    .watts = {[GRAPH] = 400, [DEPENDENT] = 450, [VALUES] = 500, [READ] = 600},
    .watts_8b = {[GRAPH] = 500, [VALUES] = 560},
    .watts_spread = 0.005,
};

static void put(struct bundle *b, const struct board *o, const char *id, const char *unit,
                double value, double spread)
{
    value = o->one != 0 ? o->one : value;
    put_spread(&b->rows, id, unit, ROW_LOWER, value, spread * value, 7);
}

static double layer_us(const struct board *o, int model, int context, int way)
{
    static const double cache_mb[CONTEXTS] = {-2, 0, 15, 65};
    const double megabytes = models[model].megabytes + cache_mb[context];
    return megabytes / 4.66 + o->beyond_us[way] * o->by_model[model] * o->by_context[context];
}

static double step_us(const struct board *o, int model, int way)
{
    return o->slower * (layer_us(o, model, 1, way) * models[model].layers + models[model].head_us +
                        o->late_us[way]);
}

static void put_layers(struct bundle *b, const struct board *o)
{
    char keys[120], id[192];
    for (int i = 0; i < MODELS * CONTEXTS * WAYS; i++) {
        const int model = i / WAYS / CONTEXTS, context = i / WAYS % CONTEXTS, way = i % WAYS;
        const double us = layer_us(o, model, context, way);
        const double spread = model == ONE_B ? o->spread : 0.002;
        if (way == NEAR && o->without_near)
            continue;
        snprintf(keys, sizeof keys, "{model=%s,context=%d,batch=1,impl=%s,l2=cold",
                 models[model].name, contexts[context], ways[way]);
        snprintf(id, sizeof id, "decoder_layer.layer_time%s,timer=event}", keys);
        put(b, o, id, "ns", 1e3 * us, spread);
        snprintf(id, sizeof id, "decoder_layer.kernels%s}", keys);
        put(b, o, id, "count", kernels[way], 0);
        snprintf(id, sizeof id, "decoder_layer.bytes%s}", keys);
        put(b, o, id, "bytes", 4.66e6 * layer_us(o, model, context, READ), 0);
        if (contexts[context] != 1024 || way == READ)
            continue;
        snprintf(id, sizeof id, "decoder_layer.step_time%s,timer=event}", keys);
        put(b, o, id, "ns", 1e3 * step_us(o, model, way),
            spread + (model == ONE_B ? o->shaky[way] : 0));
    }
}

/* Of three rounds, which differ by watts_spread to either side. */
static void put_joules(struct bundle *b, const struct board *o)
{
    char id[192];
    for (int i = 0; i < MODELS * WAYS; i++) {
        const int model = i / WAYS, way = i % WAYS;
        const double watts = model == ONE_B     ? o->watts[way]
                             : model == EIGHT_B ? o->watts_8b[way]
                                                : 0;
        const double joules = o->one != 0 ? o->one : 1e-6 * watts * step_us(o, model, way);
        const double spread = model == ONE_B ? o->watts_spread : 0.005;
        if (watts == 0)
            continue;
        snprintf(id, sizeof id,
                 "decoder_layer.energy{model=%s,context=1024,batch=1,impl=%s,l2=cold}",
                 models[model].name, ways[way]);
        struct row *row = rows_get(&b->rows, id, "joules", ROW_LOWER);
        for (int k = 0; k < 3; k++)
            row_put(row, 3 * k, joules * (1 + (way % 2 ? 1 - k : k - 1) * spread), joules);
        row->thrice = true;
        row_finish(row);
    }
}

static void put_operators(struct bundle *b, const struct board *o)
{
    static const char *const steps[] = {"o", "down", "attention", "merge"};
    static const char *const parts[] = {"weights", "activations", "waiting", "tail"};
    static const double us[2][4] = {{3.7, 9.3, 3, 1}, {9.2, 27.7, 4, 1}}; /* alone */
    static const int sizes[2][2] = {{2048, 8192}, {4096, 14336}};
    static const char *const inside[] = {"values", "near"};
    char id[192];

    for (int i = 0; i < 64; i++) { /* near: no step takes longer, but for 8B's attention */
        const int model = i / 16 % 2, step = i / 4 % 4, part = i % 4, near = i / 32;
        snprintf(id, sizeof id,
                 "decoder_layer.where{model=%s,context=1024,impl=%s,step=%s,part=%s,"
                 "timer=device}",
                 model ? "8b" : "1b", inside[near], steps[step], parts[part]);
        put(b, o, id, "ns",
            250 * us[model][step] * (!near ? o->inside[step < 2] : model && step > 1 ? 1.2 : 0.9),
            0.002);
    }
    for (int i = 0; i < 4; i++) {
        const int model = i / 2, step = i % 2;
        snprintf(id, sizeof id,
                 "gemv.time{m=%d,k=%d,type=bf16,acc=fp32,impl=own,l2=cold,timer=event}",
                 sizes[model][0], sizes[model][step]);
        put(b, o, id, "ns", 1e3 * us[model][step], -0.002); /* against the other's runs */
    }
    for (int i = 0; i < 3; i++) {
        snprintf(id, sizeof id,
                 "attention_decode.time{batch=1,context=%d,heads=32,kv_heads=8,d=%d,type=bf16,"
                 "impl=attention,mode=graph,l2=cold,timer=event}",
                 i == 2 ? 8192 : 1024, i == 0 ? 64 : 128);
        put(b, o, id, "ns", i == 0 ? 4000 : i == 1 ? 5000 : 12000, 0.002);
    }
}

static void put_fusions(struct bundle *b, const struct board *o)
{
    static const char *const ops[] = {"bias_gelu", "bias_residual", "qkv"};
    char id[192];
    for (int i = 0; i < 12; i++) {
        const int op = i / 4, large = i / 2 % 2, fused = i % 2;
        snprintf(id, sizeof id,
                 "epilogue.time{m=%d,n=%d,k=4096,op=%s,type=bf16,impl=%s,mode=graph,l2=cold,"
                 "timer=event}",
                 large ? 256 : 1, op == 2 ? 6144 : 4096, ops[op], fused ? "fused" : "unfused");
        put(b, o, id, "ns", (large ? 20e3 : 10e3) * (fused ? 1 : o->gain[large][op]), o->spread);
    }
    for (int fused = 0; fused < 2; fused++) { /* of another type: said */
        snprintf(id, sizeof id,
                 "epilogue.time{m=1,n=4096,k=4096,op=bias_gelu,type=fp16,impl=%s,mode=graph,"
                 "l2=cold,timer=event}",
                 fused ? "fused" : "unfused");
        put(b, o, id, "ns", fused ? 10e3 : 11e3, 0.01);
    }
    for (int i = 0; i < 3; i++) { /* how steady: said */
        static const char *const modes[] = {"stream", "graph", "persistent"};
        snprintf(id, sizeof id, "jitter.layer_tail{mode=%s,rival=none,streams=0,priority=equal}",
                 modes[i]);
        put(b, o, id, "ratio", i == 0 ? 1.5 : 1.02, 0.002);
    }
    for (int i = 0; i < 4; i++) { /* larger batches: said */
        snprintf(id, sizeof id,
                 "batched_layer.layer_time{model=8b,context=1024,batch=%d,impl=%s,l2=cold,"
                 "timer=event}",
                 i < 2 ? 8 : 64, i % 2 ? "fused" : "stream");
        put(b, o, id, "ns", i % 2 ? 100e3 : i < 2 ? 115e3 : 125e3, 0.002);
    }
}

static enum claim_verdict found(const char *claim, struct board o, struct finding *f)
{
    struct bundle b = {0};
    put_layers(&b, &o);
    put_joules(&b, &o);
    put_operators(&b, &o);
    put_fusions(&b, &o);
    return verdict_of(claim, &b, f);
}

static enum claim_verdict judged(const char *claim, struct board o)
{
    struct finding f;
    return found(claim, o, &f);
}

static const char *const ids[] = {"C30", "C31", "C35", "C36", "C47", "C48", "C49",
                                  "C51", "C62", "C70", "C72", "C74", "C88", "C88b"};
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

/* A read that does not see the bytes. */
static void reads_do_not_follow_bytes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < CLAIMS; i++) {
        struct board o = h200;
        o.beyond_us[READ] = 100;
        if (strcmp(ids[i], "C62") != 0 && strcmp(ids[i], "C70") != 0 && strcmp(ids[i], "C88b") != 0)
            assert_int_equal(judged(ids[i], o), CLAIM_NOT_TESTABLE);
    }
}

static void set_one_kernel(struct board *o, double us)
{
    o->beyond_us[BARRIER] = o->beyond_us[RING] = o->beyond_us[VALUES] = us;
    o->beyond_us[NEAR] = us;
}

static void stalls(void **unused)
{
    struct board o = h200;
    (void)unused;
    assert_int_equal(judged("C30", o), CLAIM_REPRODUCED);
    set_one_kernel(&o, 24.5); /* a little less than half */
    assert_int_equal(judged("C30", o), CLAIM_MIXED);
    set_one_kernel(&o, 23.5);
    assert_int_equal(judged("C30", o), CLAIM_REPRODUCED);
    set_one_kernel(&o, 42);
    assert_int_equal(judged("C30", o), CLAIM_REFUTED);
    o = h200;
    o.beyond_us[CUBLAS] = 10; /* better products would do */
    assert_int_equal(judged("C30", o), CLAIM_NOT_TESTABLE);
}

static void boundaries(void **unused)
{
    struct board o = h200;
    (void)unused;
    assert_int_equal(judged("C51", o), CLAIM_REPRODUCED);
    o.beyond_us[RING] = o.beyond_us[VALUES] = 22.5; /* 2.5 us of six boundaries */
    o.beyond_us[NEAR] = 22.5;
    assert_int_equal(judged("C51", o), CLAIM_MIXED);
    o.beyond_us[FUSED] = 0.3;
    o.beyond_us[RING] = o.beyond_us[VALUES] = o.beyond_us[NEAR] = 0.2;
    assert_int_equal(judged("C51", o), CLAIM_REFUTED);
    o = h200;
    o.beyond_us[RING] = 20.5; /* 6.5 us between two forms without a boundary */
    assert_int_equal(judged("C51", o), CLAIM_NOT_TESTABLE);
}

static void the_floor(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C35", o, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "of 8B fit in 50 ms, one after the other, "));
    assert_non_null(strstr(f.evidence, "64 of 1B, 27 of 3B; not judged: a step of 3B 1.8"));
    o.slower = 12; /* no longer 32 layers */
    assert_int_equal(judged("C35", o), CLAIM_NOT_TESTABLE);
    o = h200;
    for (int way = 0; way < READ; way++) /* 52 ms; of 1B 25 */
        o.beyond_us[way] = 1440;
    assert_int_equal(judged("C35", o), CLAIM_REPRODUCED);
    for (int way = 0; way < READ; way++)
        o.beyond_us[way] = 1327; /* 50 ms, give or take */
    assert_int_equal(judged("C35", o), CLAIM_MIXED);
    for (int way = 0; way < READ; way++)
        o.beyond_us[way] = 4000; /* a step of 1B, too */
    assert_int_equal(judged("C35", o), CLAIM_NOT_TESTABLE);

    o = h200;
    assert_int_equal(judged("C36", o), CLAIM_REFUTED);
    set_one_kernel(&o, 40); /* more than half of 1B */
    assert_int_equal(judged("C36", o), CLAIM_MIXED);
    set_one_kernel(&o, 110);
    assert_int_equal(judged("C36", o), CLAIM_REPRODUCED);
    for (int way = 0; way < WAYS; way++)
        o.late_us[way] = 200; /* the head waits as well: the rule sees waiting everywhere */
    assert_int_equal(judged("C36", o), CLAIM_NOT_TESTABLE);
}

static void small_batches(void **unused)
{
    struct board o = h200;
    (void)unused;
    assert_int_equal(judged("C31", o), CLAIM_REFUTED);
    set_one_kernel(&o, 36);
    assert_int_equal(judged("C31", o), CLAIM_REPRODUCED);
    set_one_kernel(&o, 32.5); /* 7 % of 1B, and 3 % of 8B */
    assert_int_equal(judged("C31", o), CLAIM_MIXED);
    o = h200;
    o.beyond_us[GRAPH] = 1; /* as fast as a bare read */
    assert_int_equal(judged("C31", o), CLAIM_NOT_TESTABLE);
}

static void batches(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C70", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "in fp16, gain at batch 1 1.100"));
    assert_non_null(strstr(f.evidence, "the gain of bf16 over it 1.109"));
    assert_non_null(strstr(f.claim->rule, "from run to run the gain of the first at batch 1"));
    o.gain[1][2] = 1.68; /* three products gain more at batch 256 */
    assert_int_equal(judged("C70", o), CLAIM_MIXED);
    o.gain[1][0] = o.gain[1][1] = 1.4;
    assert_int_equal(judged("C70", o), CLAIM_REFUTED);
    o.spread = 0.02; /* of a time; of a ratio of two that move together nothing */
    assert_int_equal(judged("C70", o), CLAIM_REFUTED);
    o = h200;
    o.gain[0][0] = 1.13; /* straddles 1.03 */
    assert_int_equal(judged("C70", o), CLAIM_MIXED);
}

static void sizes(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C72", o, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "of 3B 1.349")); /* by near */
    assert_non_null(strstr(f.evidence, "the kernel takes off, of 1B 352.1 us"));
    assert_non_null(strstr(f.evidence, "of 3B 640.9 us"));
    assert_non_null(strstr(f.evidence, "six fused kernels a layer 1.387"));
    assert_non_null(strstr(f.evidence, "which takes off 368 us"));
    o.without_near = true; /* then by values */
    assert_int_equal(found("C72", o, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "of 3B 646.8 us"));
    o = h200;
    o.by_model[EIGHT_B] = 6; /* what a large model waits grows more than its bytes */
    assert_int_equal(judged("C72", o), CLAIM_REPRODUCED);
    o.by_model[EIGHT_B] = 3;
    assert_int_equal(judged("C72", o), CLAIM_MIXED);
}

static void layers_and_steps(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C74", o, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "0 of 12, and 0 perhaps"));
    assert_non_null(strstr(f.evidence, "not judged: of 3B, in three rounds"));
    o.late_us[DEPENDENT] = 100; /* the head is not as fast in this packaging */
    assert_int_equal(judged("C74", o), CLAIM_REPRODUCED);
    o.late_us[DEPENDENT] = 40; /* 5.3 points of 1B */
    o.spread = 0.02;
    assert_int_equal(judged("C74", o), CLAIM_REPRODUCED); /* its runs move together */
    o = h200;
    o.late_us[NEAR] = 100; /* near is one of the ways */
    assert_int_equal(found("C74", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "the farthest off, of 1B by near"));
    o.without_near = true; /* where there is one */
    assert_int_equal(found("C74", o, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "0 of 10, and 0 perhaps"));
    o = h200;
    o.late_us[CUBLAS] = 100;
    assert_int_equal(judged("C74", o), CLAIM_NOT_TESTABLE);
}

/* What is between is told by a gain that contains the limit, and not by one that is farther off. */
static void between_is_told(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    o.late_us[DEPENDENT] = 35; /* 4.7 points, and steady */
    o.late_us[FUSED] = 25;     /* less, and shaky */
    o.shaky[FUSED] = 0.02;
    assert_int_equal(found("C74", o, &f), CLAIM_MIXED);
    assert_non_null(strstr(f.evidence, "0 of 12, and 1 perhaps"));
    assert_non_null(strstr(f.evidence, "contain the limit the farthest off, of 1B by fused"));
    assert_int_equal(f.n_parts, 1);
    assert_true((f.parts[0].low < 0.05 && f.parts[0].high > 0.05) ||
                (f.parts[0].low < -0.05 && f.parts[0].high > -0.05));
    o.late_us[DEPENDENT] = 100; /* and what is off by one that is off */
    assert_int_equal(found("C74", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "the farthest off, of 1B by dependent"));
}

static void tokens(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(found("C88", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "a step of 1B kernel by kernel 1.319 ms"));
    assert_non_null(strstr(f.evidence, "by dependent kernels 902.8 us"));
    assert_non_null(strstr(f.evidence, "at batch 8, kernel by kernel over fused 1.150"));
    assert_non_null(strstr(f.evidence, "at batch 64 1.250"));
    set_one_kernel(&o, 25);
    assert_int_equal(judged("C88", o), CLAIM_REFUTED);
    set_one_kernel(&o, 22); /* 1B alone */
    assert_int_equal(judged("C88", o), CLAIM_MIXED);
    o = h200;
    o.spread = 0.02; /* one packaging moves by as much */
    assert_int_equal(judged("C88", o), CLAIM_NOT_TESTABLE);
}

static void joules(void **unused)
{
    struct board o = h200;
    (void)unused;
    assert_int_equal(judged("C88b", o), CLAIM_REPRODUCED);
    o.watts[VALUES] = 560; /* the graph's joules, give or take */
    assert_int_equal(judged("C88b", o), CLAIM_MIXED);
    o.watts_8b[VALUES] = 660;
    assert_int_equal(judged("C88b", o), CLAIM_REFUTED);
    o = h200;
    o.watts[DEPENDENT] = 320; /* a slower one takes fewer than the fastest */
    assert_int_equal(judged("C88b", o), CLAIM_MIXED);
    o.watts_8b[DEPENDENT] = 400;
    assert_int_equal(judged("C88b", o), CLAIM_REFUTED);
    o.watts[DEPENDENT] = 450; /* fewer than the graph, and more than the fastest */
    o.watts_8b[DEPENDENT] = 540;
    assert_int_equal(judged("C88b", o), CLAIM_REPRODUCED);
    o = h200;
    o.watts_8b[VALUES] = 582; /* 1.05, give or take */
    assert_int_equal(judged("C88b", o), CLAIM_MIXED);
}

/* What a meter that errs would show, and what is not measured. */
static void joules_are_doubted(void **unused)
{
    struct board o = h200;
    (void)unused;
    o.watts_spread = 0.03; /* from round to round by 1.06 */
    assert_int_equal(judged("C88b", o), CLAIM_NOT_TESTABLE);
    o = h200;
    o.watts[READ] = 1000; /* to read takes more than to read and compute */
    assert_int_equal(judged("C88b", o), CLAIM_NOT_TESTABLE);
    o = h200;
    o.watts_8b[GRAPH] = 150; /* 8B takes as much as 1B */
    o.watts_8b[VALUES] = 120;
    assert_int_equal(judged("C88b", o), CLAIM_NOT_TESTABLE);
    o = h200;
    o.watts[VALUES] = 0; /* the fastest was not measured */
    assert_int_equal(judged("C88b", o), CLAIM_NOT_TESTABLE);
    o = h200;
    o.watts[READ] = 0;
    assert_int_equal(judged("C88b", o), CLAIM_NOT_TESTABLE);
    o = h200;
    set_one_kernel(&o, 36); /* nothing is faster than the graph */
    o.beyond_us[DEPENDENT] = o.beyond_us[FUSED] = o.beyond_us[CUBLAS] = 36;
    assert_int_equal(judged("C88b", o), CLAIM_NOT_TESTABLE);
}

static void launches(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(judged("C47", o), CLAIM_REPRODUCED);
    o.by_context[3] = 2.5; /* no less in long sequences */
    o.by_context[2] = 1.2;
    assert_int_equal(judged("C47", o), CLAIM_MIXED);
    o.by_model[THREE_B] = 2;
    o.by_model[EIGHT_B] = 4;
    assert_int_equal(judged("C47", o), CLAIM_REFUTED);

    o = h200;
    assert_int_equal(found("C48", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "eight reads of 4 MiB, kernel by kernel 1.500"));
    assert_non_null(strstr(f.evidence, "in a graph 1.020"));
    assert_non_null(strstr(f.evidence, "in one kernel 1.020"));
    o.beyond_us[CUBLAS] = 8; /* much better products */
    assert_int_equal(judged("C48", o), CLAIM_REFUTED);
    o.beyond_us[CUBLAS] = 20.5;
    assert_int_equal(judged("C48", o), CLAIM_REFUTED);
    o.beyond_us[CUBLAS] = 22;
    assert_int_equal(judged("C48", o), CLAIM_REPRODUCED);
    o = h200;
    o.beyond_us[BARRIER] = 35; /* kernels are not what a layer waits for */
    assert_int_equal(judged("C48", o), CLAIM_NOT_TESTABLE);
}

static void number_of_kernels(void **unused)
{
    struct board o = h200;
    (void)unused;
    assert_int_equal(judged("C49", o), CLAIM_MIXED); /* it costs, but sizes explain more */
    o.beyond_us[GRAPH] = 200;
    o.beyond_us[DEPENDENT] = 90;
    o.beyond_us[BARRIER] = 15;
    assert_int_equal(judged("C49", o), CLAIM_REPRODUCED);
    o.beyond_us[GRAPH] = o.beyond_us[DEPENDENT] = 20; /* more of them, and less time */
    o.beyond_us[BARRIER] = 21;
    assert_int_equal(judged("C49", o), CLAIM_REFUTED);
}

static void operators_inside(void **unused)
{
    struct board o = h200;
    struct finding f;
    (void)unused;
    o.inside[0] = 0.9;
    assert_int_equal(judged("C62", o), CLAIM_REFUTED);
    o.inside[1] = 1.2;
    assert_int_equal(judged("C62", o), CLAIM_REPRODUCED);
    o.inside[1] = 1.1; /* straddles */
    assert_int_equal(judged("C62", o), CLAIM_MIXED);
    o = h200;
    assert_int_equal(found("C62", o, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "inside near 1 of 6 take 1.1 times as long; at worst "
                                       "attention, 8B 1.200"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_seen),  cmocka_unit_test(reads_do_not_follow_bytes),
        cmocka_unit_test(stalls),           cmocka_unit_test(boundaries),
        cmocka_unit_test(the_floor),        cmocka_unit_test(small_batches),
        cmocka_unit_test(batches),          cmocka_unit_test(sizes),
        cmocka_unit_test(layers_and_steps), cmocka_unit_test(tokens),
        cmocka_unit_test(launches),         cmocka_unit_test(number_of_kernels),
        cmocka_unit_test(operators_inside), cmocka_unit_test(joules),
        cmocka_unit_test(joules_are_doubted),
        cmocka_unit_test(between_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
