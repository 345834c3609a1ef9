/* fused/batched_layer/problem.c: what a layer and its operators move and compute, as counted by
 * hand; which floor binds them; and each size that no kernel can take is refused with a line that
 * names it. */
#include "fused/batched_layer/problem.h"

#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

static const struct batched_machine h200 = {.n_sm = 132, .free_bytes = 140e9, .l2_bytes = 50 << 20};

static struct batched_problem problem_of(int model, uint32_t batch, uint32_t context)
{
    return (struct batched_problem){.model = decoder_models[model].name,
                                    .shape = decoder_models[model].shape,
                                    .batch = batch,
                                    .context = context};
}

static struct batched_problem accepted(int model, uint32_t batch, uint32_t context)
{
    struct batched_problem p = problem_of(model, batch, context);
    char why[240] = "";
    if (!batched_problem_make(&p, &h200, why, sizeof why))
        fail_msg("%s", why);
    return p;
}

/* Within a thousandth. */
static void near(double found, double expected, const char *what)
{
    if (!(fabs(found - expected) <= 1e-3 * fabs(expected)))
        fail_msg("%s: %g, expected %g", what, found, expected);
}

/* Splits: 528 or 396 blocks at once, 32 keys each, 32 at most; none where pairs fill the SMs. */
static void points(void **state)
{
    (void)state;
    static const struct {
        int model;
        uint32_t batch, context;
        double megabytes; /* to read */
        uint32_t splits, group, weight_sets, layers;
    } expected[] = {
        {MODEL_8B, 1, 1024, 440.4, 16, 4, 6, 5},   {MODEL_8B, 8, 1024, 469.8, 8, 4, 6, 4},
        {MODEL_8B, 64, 1024, 704.7, 1, 4, 6, 3},   {MODEL_8B, 256, 1024, 1510.0, 1, 4, 6, 2},
        {MODEL_70B, 1, 1024, 1715.5, 16, 8, 3, 2}, {MODEL_70B, 8, 1024, 1744.9, 6, 8, 3, 2},
        {MODEL_1B, 1, 100, 121.85, 1, 4, 20, 8}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct batched_problem p =
            accepted(expected[i].model, expected[i].batch, expected[i].context);
        near(batched_layer_reads(&p) / 1e6, expected[i].megabytes, p.model);
        assert_int_equal(p.splits, expected[i].splits);
        assert_int_equal(p.group, expected[i].group);
        assert_int_equal(p.weight_sets, expected[i].weight_sets);
        assert_int_equal(p.layers, expected[i].layers);
        assert_true(p.capacity > p.context);
        assert_true(p.cache_sets >= 2);
    }
}

/* Between two uses of a set lies more than 3 x L2, where 64 sets are enough for it. */
static void cold(void **state)
{
    (void)state;
    for (int model = 0; model < DECODER_MODELS; model++)
        for (uint32_t batch = 1; batch <= 256; batch *= 4) {
            const struct batched_problem p = accepted(model, batch, 1024);
            const double o = (double)decoder_matrix_bytes(&p.shape, DECODER_O);
            assert_true((p.weight_sets - 1) * o >= 3 * h200.l2_bytes);
            assert_true(p.cache_sets == 64 ||
                        (p.cache_sets - 1) * (double)batched_cache_bytes(&p) >= 3 * h200.l2_bytes);
        }
}

/* Of 8b at batch 8, context 1024; splits: 8. */
static void operators(void **state)
{
    (void)state;
    static const struct {
        enum batched_operator op;
        double bytes, flops;
    } expected[] = {
        {OP_NORM_ATTENTION, 8 * 4096 * 6 + 8192, 0},
        {OP_QKV, 2 * (6144. * 4096 + 8 * (6144 + 4096)), 2 * 8 * 6144. * 4096},
        {OP_ROPE, 2 * 2 * 8 * 5120 + 512, 0},
        {OP_APPEND, 2 * 2 * 8 * 2048, 0},
        {OP_ATTENTION, 8 * 1024 * 4096. + 4 * 8 * 4096 + 8. * 8 * 32 * 8 * 130,
         4 * 8 * 4096. * 1024},
        {OP_O, 2 * (4096. * 4096 + 8 * 8192), 2 * 8 * 4096. * 4096},
        {OP_ADD_O, 8 * 4096 * 10, 0},
        {OP_NORM_FFN, 8 * 4096 * 6 + 8192, 0},
        {OP_GATE_UP, 2 * (28672. * 4096 + 8 * (28672 + 4096)), 2 * 8 * 28672. * 4096},
        {OP_SILU, 6. * 8 * 14336, 0},
        {OP_DOWN, 2 * (4096. * 14336 + 8 * (4096 + 14336)), 2 * 8 * 4096. * 14336},
        {OP_ADD_DOWN, 8 * 4096 * 10, 0},
        {OP_LOOK, 2 * 8 * 6144. + 512 + 8 * 1024 * 4096. + 2 * 8 * 4096 + 8. * 8 * 32 * 8 * 130,
         4 * 8 * 4096. * 1024},
        {OP_O_ADDS, 2 * (4096. * 4096 + 8 * 8192) + 8 * 4096 * 6, 2 * 8 * 4096. * 4096},
        {OP_DOWN_ADDS, 2 * (4096. * 14336 + 8 * (4096 + 14336)) + 8 * 4096 * 6,
         2 * 8 * 4096. * 14336}};
    const struct batched_problem p = accepted(MODEL_8B, 8, 1024);
    double bytes = 0;
    assert_int_equal(sizeof expected / sizeof expected[0], BATCHED_ALL_OPERATORS);
    for (int i = 0; i < BATCHED_ALL_OPERATORS; i++) {
        const enum batched_operator op = expected[i].op;
        assert_int_equal(op, i);
        assert_true(batched_bytes(&p, op) == expected[i].bytes);
        assert_true(batched_flops(&p, op) == expected[i].flops);
        if (op < BATCHED_OPERATORS)
            bytes += batched_bytes(&p, op);
    }
    assert_true(bytes > batched_layer_reads(&p) && bytes < 1.02 * batched_layer_reads(&p));
    assert_string_equal(batched_operator_name(OP_NORM_FFN), "norm");
    assert_string_equal(batched_operator_name(OP_LOOK), "look");
}

/* A product is bound by bytes at batch 64, by arithmetic at 256; the lesser floor counts
 * nowhere. */
static void floors(void **state)
{
    (void)state;
    const struct batched_rates rates = {.read = 4500, .tensor = 650e3, .node = 1200};
    const struct batched_problem few = accepted(MODEL_8B, 64, 1024);
    const struct batched_problem many = accepted(MODEL_8B, 256, 1024);
    const struct batched_floors of_few = batched_floors_of(&few, OP_GATE_UP, 1, &rates);
    const struct batched_floors of_many = batched_floors_of(&many, OP_GATE_UP, 2, &rates);
    assert_true(of_few.bytes > of_few.arithmetic && of_many.bytes < of_many.arithmetic);
    near(of_few.bytes, batched_bytes(&few, OP_GATE_UP) / 4500, "bytes");
    near(of_many.arithmetic, 2 * 256 * 28672. * 4096 / 650e3, "arithmetic");
    near(of_many.launches, 2400, "launches");

    const struct batched_floors layer = batched_layer_floors(&few, 12, &rates);
    double bytes = 0;
    for (enum batched_operator op = 0; op < BATCHED_OPERATORS; op++)
        bytes += batched_bytes(&few, op) / 4500;
    near(layer.bytes, bytes, "a layer's bytes");
    assert_true(layer.arithmetic == 0);
    near(layer.launches, 12 * 1200, "a layer's launches");

    const struct batched_floors large = batched_layer_floors(&many, 12, &rates);
    const double products =
        2 * 256 * 4096. * (6144 + 4096 + 28672 + 14336) / 650e3; /* all four of them */
    near(large.arithmetic, products, "a large layer's arithmetic");
    assert_true(large.bytes > batched_bytes(&many, OP_ATTENTION) / 4500 &&
                large.bytes < 1.15 * batched_bytes(&many, OP_ATTENTION) / 4500);
}

static void refused(struct batched_problem p, const char *expected)
{
    char why[240] = "";
    if (batched_problem_make(&p, &h200, why, sizeof why))
        fail_msg("accepted, expected: %s", expected);
    if (!strstr(why, expected))
        fail_msg("'%s', expected: %s", why, expected);
}

static void refusals(void **state)
{
    (void)state;
    const struct batched_problem good = problem_of(MODEL_8B, 8, 1024);
    struct batched_problem p = good;
    p.shape.head_dim = 96;
    refused(p, "head_dim=96");
    p = good, p.shape.heads = 30;
    refused(p, "heads=30");
    p = good, p.shape.heads = 128;
    refused(p, "16 heads");
    p = good, p.shape.hidden = 4100;
    refused(p, "hidden=4100");
    p = good, p.shape.ffn = 0;
    refused(p, "ffn=0");
    p = good, p.batch = 0;
    refused(p, "batch=0");
    p = good, p.context = 1;
    refused(p, "context=1");
    p = good, p.splits = 33;
    refused(p, "splits=33");
    p = problem_of(MODEL_70B, 1024, 32768);
    refused(p, "needs 282.8 GB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points), cmocka_unit_test(cold),     cmocka_unit_test(operators),
        cmocka_unit_test(floors), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
