/* fused/common/decoder_model.c: the named models are accepted with the right sizes, and each size
 * that no kernel can take is refused with a line that names it. */
#include "fused/common/decoder/model.h"

#include <math.h>
#include <string.h>

#include "report/floor/estimate.h"
#include "tests/unit/check.h"

static const struct decoder_machine h200 = {
    .blocks = 132, .shared = 227 << 10, true, .free_bytes = 140e9, .l2_bytes = 50 << 20};

static struct decoder_problem problem_of(int model, uint32_t batch, uint32_t context)
{
    return (struct decoder_problem){
        .model = decoder_models[model], .batch = batch, .context = context};
}

static struct decoder_problem accepted(int model, uint32_t batch, uint32_t context)
{
    struct decoder_problem p = problem_of(model, batch, context);
    char why[240] = "";
    if (!decoder_problem_make(&p, &h200, why, sizeof why))
        fail_msg("%s", why);
    return p;
}

/* Bytes of a layer and of a step in MB, and stages of the ring, as counted by hand. */
static void named_models(void **state)
{
    (void)state;
    static const struct {
        int model;
        double megabytes, of_step;
        uint32_t sets, splits, group, stages, product_stages;
    } expected[] = {{MODEL_1B, 123.7, 2505.2, 16, 16, 4, 12, 5},
                    {MODEL_3B, 205.6, 6544.2, 28, 16, 4, 11, 5},
                    {MODEL_8B, 440.4, 15144.6, 32, 16, 4, 10, 4},
                    {MODEL_70B, 1715.5, 139338.7, 70, 16, 8, 8, 10}};
    for (int i = 0; i < DECODER_MODELS; i++) {
        const struct decoder_problem p = accepted(expected[i].model, 1, 1024);
        const double megabytes = decoder_layer_reads(&p) / 1e6;
        if (megabytes < expected[i].megabytes - 0.1 || megabytes > expected[i].megabytes + 0.1)
            fail_msg("%s: %.2f MB, expected %.1f", p.model.name, megabytes, expected[i].megabytes);
        assert_true(fabs(decoder_step_reads(&p) / 1e6 / expected[i].of_step - 1) < 1e-3);
        assert_int_equal(p.sets, expected[i].sets);
        assert_int_equal(p.splits, expected[i].splits);
        assert_int_equal(p.group, expected[i].group);
        assert_int_equal(p.stages, expected[i].stages);
        assert_int_equal(p.product_stages, expected[i].product_stages);
        assert_true(p.capacity > p.context);
        assert_true(decoder_problem_bytes(&p) < h200.free_bytes);
    }
}

/* Splits: no more blocks than there are, and 32 keys each. */
static void splits(void **state)
{
    (void)state;
    static const struct {
        uint32_t batch, context, splits;
    } expected[] = {{1, 2, 1}, {1, 64, 1}, {1, 65, 2}, {1, 513, 16}, {2, 1024, 8}, {4, 1024, 4},
                    {4, 33, 1}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct decoder_problem p =
            accepted(MODEL_1B, expected[i].batch, expected[i].context);
        assert_int_equal(p.splits, expected[i].splits);
        assert_true(p.batch * p.model.shape.kv_heads * p.splits <= p.blocks);
    }
}

/* `gpufloor floor` knows the design, not this program: tiles and splits are the same. */
/* Of 1b 16 layers; of others two, where those are cold: three times an L2 of 50 MiB or more. Of
 * layers that are so small that 64 of them are not, no chain is timed. */
static void chains(void **state)
{
    (void)state;
    static const struct {
        int model;
        double l2_mib;
        uint32_t layers;
    } expected[] = {{MODEL_1B, 50, 16},  {MODEL_3B, 50, 2},    {MODEL_8B, 50, 2},
                    {MODEL_70B, 50, 2},  {MODEL_3B, 200, 4},   {MODEL_8B, 1000, 8},
                    {MODEL_1B, 700, 18}, {MODEL_1B, 2500, 64}, {MODEL_1B, 3000, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct decoder_problem p = accepted(expected[i].model, 1, 1024);
        assert_int_equal(decoder_chain_layers(&p, expected[i].l2_mib * 1048576),
                         expected[i].layers);
    }
}

static void the_floor_has_this_design(void **state)
{
    static const char *const names[DECODER_MODELS] = {[MODEL_1B] = "llama-1b",
                                                      [MODEL_3B] = "llama-3b",
                                                      [MODEL_8B] = "llama-8b",
                                                      [MODEL_70B] = "llama-70b"};
    static const uint32_t contexts[] = {2, 65, 128, 1024, 32768};
    const struct primitives primitives = {.sms = h200.blocks,
                                          .shared_bytes = h200.blocks * (h200.shared + 1024.0)};
    char why[DOCUMENT_WHY] = "";
    (void)state;

    for (int i = 0; i < DECODER_MODELS; i++)
        for (uint32_t batch = 1; batch <= DECODER_BATCH; batch *= 2) {
            struct model model;
            struct decoder_problem p = problem_of(i, batch, 128);
            assert_true(model_read(&model, names[i], why));
            if (!decoder_problem_make(&p, &h200, why, sizeof why))
                continue; /* its vectors leave no room */
            const struct model_decode *m = &model.decode;
            assert_close(packaging_tiles(PACKAGING_VALUES, &primitives, m, batch), p.stages, 0);
            assert_close(packaging_tiles(PACKAGING_DEPENDENT, &primitives, m, batch),
                         p.product_stages, 0);
            for (size_t c = 0; c < sizeof contexts / sizeof contexts[0]; c++)
                assert_close(packaging_splits(&primitives, m, contexts[c], batch),
                             accepted(i, batch, contexts[c]).splits, 0);
        }
    /* a small one has all the tiles that there are */
    const struct model_decode small = {1, 512, 4, 4, 64, 512, 1000, 2, 2};
    struct decoder_problem p = problem_of(MODEL_1B, 1, 128);
    p.model.shape = (struct decoder_shape){512, 4, 4, 64, 512, 1000};
    assert_true(decoder_problem_make(&p, &h200, why, sizeof why));
    assert_int_equal(p.stages, DECODER_STAGES);
    assert_close(packaging_tiles(PACKAGING_RING, &primitives, &small, 1), p.stages, 0);
}

static void refused(struct decoder_problem p, struct decoder_machine m, const char *says)
{
    char why[240] = "";
    if (decoder_problem_make(&p, &m, why, sizeof why))
        fail_msg("accepted, expected \"%s\"", says);
    if (!strstr(why, says))
        fail_msg("\"%s\" does not say \"%s\"", why, says);
}

/* One size of the 1b model is changed at a time; its neighbour that fits is accepted. */
static void refusals(void **state)
{
    (void)state;
    static const struct {
        struct decoder_shape shape;
        const char *says; /* NULL: accepted */
    } cases[] = {
        {{2048, 32, 8, 64, 8192, 1000}, NULL},
        {{2048, 32, 8, 96, 8192, 1000}, "head_dim=96"},
        {{2048, 32, 8, 0, 8192, 1000}, "head_dim=0"},
        {{2048, 30, 8, 64, 8192, 1000}, "heads=30"},
        {{2048, 32, 0, 64, 8192, 1000}, "kv_heads=0"},
        {{2048, 40, 8, 64, 8192, 1000}, "group has 5 heads"},
        {{2048, 64, 8, 128, 8192, 1000}, NULL},
        {{2048, 72, 8, 128, 8192, 1000}, "group has 9 heads"},
        {{2052, 32, 8, 64, 8192, 1000}, "hidden=2052: expected a multiple of 8"},
        {{2056, 32, 8, 64, 8192, 1000}, NULL},
        {{2064, 32, 8, 64, 8192, 1000}, NULL},
        {{2048, 32, 8, 64, 8196, 1000}, "ffn=8196"},
        {{2048, 32, 8, 64, 8208, 1000}, NULL},
        {{2048, 32, 8, 64, 8240, 1000}, NULL},
        {{2048, 32, 8, 64, 0, 1000}, "ffn=0"},
        {{2048, 32, 8, 64, 8192, 1}, "vocabulary=1"},
        {{128, 32, 8, 64, 8192, 1000}, "hidden=128: fewer rows than the 132 blocks"},
        {{136, 32, 8, 64, 8192, 1000}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct decoder_problem p = problem_of(MODEL_1B, 1, 1024);
        char why[240] = "";
        p.model.shape = cases[i].shape;
        if (cases[i].says)
            refused(p, h200, cases[i].says);
        else if (!decoder_problem_make(&p, &h200, why, sizeof why))
            fail_msg("case %zu: %s", i, why);
    }
}

static void other_refusals(void **state)
{
    (void)state;
    struct decoder_problem p = problem_of(MODEL_1B, 1, 1024);
    struct decoder_machine m = h200;

    refused(problem_of(MODEL_1B, 3, 1024), h200, "batch=3");
    refused(problem_of(MODEL_1B, 0, 1024), h200, "batch=0");
    refused(problem_of(MODEL_1B, 1, 1), h200, "context=1");
    p.capacity = 1023;
    refused(p, h200, "context=1024: the cache has 1023 rows");
    p = problem_of(MODEL_1B, 1, 1024);
    p.model.layers = 0;
    refused(p, h200, "layers=0");
    p = problem_of(MODEL_1B, 1, 1024);
    p.splits = 17;
    refused(p, h200, "splits=17");
    m.blocks = 8;
    refused(problem_of(MODEL_1B, 2, 1024), m, "batch x kv_heads=16");
    m = h200;
    m.free_bytes = 2e9;
    refused(problem_of(MODEL_8B, 1, 1024), m, "model=8b, context=1024, batch=1: needs");
    refused(problem_of(MODEL_1B, 1, 1 << 20),
            (struct decoder_machine){132, 227 << 10, true, 5e9, 50e6}, "context=1048576");
    m = h200;
    m.shared = 48 << 10;
    refused(problem_of(MODEL_8B, 4, 1024), m, "of shared memory");
}

/* What fits in part: fewer sets than layers, as long as they are cold; no ring where there is no
 * room. */
static void in_part(void **state)
{
    (void)state;
    struct decoder_machine m = h200;
    struct decoder_problem p = problem_of(MODEL_8B, 1, 1024);
    char why[240];

    m.free_bytes = 8e9;
    assert_true(decoder_problem_make(&p, &m, why, sizeof why));
    assert_true(p.sets < p.model.layers);
    assert_true((double)p.sets * decoder_layer_reads(&p) >= 3 * m.l2_bytes);
    assert_true(decoder_problem_bytes(&p) <= m.free_bytes);
    p = accepted(MODEL_8B, 4, 1024);
    assert_int_equal(p.stages, 0);
    assert_int_equal(p.product_stages, 6); /* one product on an SM */
    m.has_bulk = false;
    m.free_bytes = h200.free_bytes;
    p = problem_of(MODEL_1B, 1, 1024);
    assert_true(decoder_problem_make(&p, &m, why, sizeof why));
    assert_int_equal(p.stages + p.product_stages, 0);
    m = h200;
    m.blocks = 8;
    p = problem_of(MODEL_1B, 1, 1024);
    assert_true(decoder_problem_make(&p, &m, why, sizeof why));
    assert_int_equal(p.splits, 1);
}

/* A copy that lies near has rows for all SMs of a side, or it is of no use. */
static void near_rows(void **state)
{
    (void)state;
    const struct sides_map even = {.count = {66, 66}}, odd = {.count = {4, 128}};
    struct decoder_shape s = decoder_models[MODEL_8B].shape;

    assert_true(decoder_near_suits(&s, &even));
    assert_true(decoder_near_suits(&s, &odd));
    s.hidden = 4 * 66; /* groups of two rows, of which each side has half */
    assert_true(decoder_near_suits(&s, &even));
    assert_false(decoder_near_suits(&s, &odd));
    s.hidden -= 2;
    assert_false(decoder_near_suits(&s, &even)); /* the second side lacks a group */
    s.hidden = 4096;
    s.ffn = 2 * 2 * 65;
    assert_false(decoder_near_suits(&s, &even));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_models), cmocka_unit_test(splits),
        cmocka_unit_test(refusals),     cmocka_unit_test(other_refusals),
        cmocka_unit_test(in_part),      cmocka_unit_test(the_floor_has_this_design),
        cmocka_unit_test(chains),       cmocka_unit_test(near_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
