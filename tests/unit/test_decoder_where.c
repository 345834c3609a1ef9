/* fused/decoder_layer/where.c: the parts of a layer's time add up to it, however skewed the waits
 * are; one odd launch of five moves no figure; a timeline is the mean of the layers. */
#include "fused/decoder_layer/where.h"

#include <math.h>
#include <stdlib.h>

#include "tests/unit/check.h"

enum { LAYERS = 16, LAUNCHES = 5 };
static const double MHZ = 1980;

struct launch {
    struct decoder_problem p;
    uint64_t *stamps;
};

static uint64_t *stamp(const struct launch *l, int layer, int step, uint32_t block)
{
    return l->stamps +
           ((size_t)(layer * DECODER_STEPS + step) * l->p.blocks + block) * DECODER_STAMPS;
}

/* Every tenth wait is twenty times as long: where medians are, there is none. */
static uint64_t skewed(uint64_t *state, uint64_t cycles)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t drawn = *state >> 40;
    return cycles + drawn % 16 + (drawn % 10 == 0 ? 20 * cycles : 0);
}

static struct launch make_launch(uint64_t seed, uint64_t wait)
{
    const struct decoder_machine h200 = {
        .blocks = 132, .shared = 227 << 10, true, .free_bytes = 140e9, .l2_bytes = 50 << 20};
    struct launch l = {
        .p = {.model = decoder_models[MODEL_1B], .batch = 1, .context = 1024}};
    char why[240];

    assert_true(decoder_problem_make(&l.p, &h200, why, sizeof why));
    l.stamps = calloc((size_t)LAYERS * DECODER_STEPS * l.p.blocks * DECODER_STAMPS,
                      sizeof *l.stamps);
    assert_non_null(l.stamps);
    for (uint32_t block = 0; block < l.p.blocks; block++) {
        uint64_t now = 1000000 + 77 * block; /* SMs' clocks differ */
        for (int at = 0; at < LAYERS * DECODER_STEPS; at++) {
            uint64_t *of = stamp(&l, at / DECODER_STEPS, at % DECODER_STEPS, block);
            of[DECODER_BEGUN] = now;
            of[DECODER_ARRIVED] = now += skewed(&seed, wait);
            of[DECODER_COMPUTED] = now += 3000;
            of[DECODER_PUBLISHED] = now += skewed(&seed, 100);
            of[DECODER_STARVED] = 100;
            now += 20;
        }
    }
    return l;
}

static double layer_ns(const struct launch *l)
{
    double sum = 0;
    for (uint32_t block = 0; block < l->p.blocks; block++)
        sum += (double)(stamp(l, LAYERS - 1, 0, block)[DECODER_BEGUN] -
                        stamp(l, 1, 0, block)[DECODER_BEGUN]);
    return 1e3 / MHZ * sum / l->p.blocks / (LAYERS - 2);
}

static void parts_add_up(void **state)
{
    (void)state;
    const struct launch l = make_launch(1, 300);
    struct decoder_where where = {.timeline = NULL};
    double sum = 0;

    decoder_where_of(&l.p, l.stamps, LAYERS, MHZ, &where);
    for (int step = 0; step < DECODER_STEPS; step++)
        for (int part = 0; part < DECODER_PARTS; part++) {
            assert_true(where.ns[step][part] >= 0);
            sum += where.ns[step][part];
        }
    assert_close(sum, layer_ns(&l), 1e-9);
    assert_close(where.sum, sum, 1e-12);
    assert_close(where.starved[0], 100 * 1e3 / MHZ, 1e-9);
    free(l.stamps);
}

/* Of five launches one waits ten times as long: the medians are those of the other four. */
static void one_odd_launch(void **state)
{
    (void)state;
    struct decoder_where of[LAUNCHES] = {{.timeline = NULL}}, all = {.timeline = NULL};
    double sum = 0;
    struct launch l;

    for (int i = 0; i < LAUNCHES; i++) {
        l = make_launch((uint64_t)i + 1, i == 2 ? 3000 : 300);
        decoder_where_of(&l.p, l.stamps, LAYERS, MHZ, &of[i]);
        free(l.stamps);
    }
    decoder_where_median(&l.p, of, LAUNCHES, &all);
    for (int step = 0; step < DECODER_STEPS; step++)
        for (int part = 0; part < DECODER_PARTS; part++) {
            double least = INFINITY, most = 0;
            for (int i = 0; i < LAUNCHES; i++)
                if (i != 2) {
                    least = fmin(least, of[i].ns[step][part]);
                    most = fmax(most, of[i].ns[step][part]);
                }
            assert_true(all.ns[step][part] >= least && all.ns[step][part] <= most);
            sum += all.ns[step][part];
        }
    assert_true(of[2].sum > 1.5 * of[1].sum);
    assert_close(all.sum, sum, 1e-12);
    assert_close(all.sum, of[1].sum, 0.03);
    assert_true(all.edge <= fmax(fmax(of[0].edge, of[1].edge), fmax(of[3].edge, of[4].edge)));
}

static void timeline_is_the_mean(void **state)
{
    (void)state;
    struct decoder_where of[LAUNCHES] = {{.timeline = NULL}}, all = {.timeline = NULL};
    const uint32_t block = 7, row = 2 * (DECODER_STAMPS - 1) + DECODER_COMPUTED;
    double expected[LAUNCHES];
    struct launch l;

    for (int i = 0; i < LAUNCHES; i++) {
        l = make_launch((uint64_t)i + 1, 300 + 50 * (uint64_t)i);
        of[i].timeline = malloc(DECODER_MOMENTS * l.p.blocks * sizeof *of[i].timeline);
        assert_non_null(of[i].timeline);
        decoder_where_of(&l.p, l.stamps, LAYERS, MHZ, &of[i]);
        expected[i] = 0;
        for (int layer = 1; layer < LAYERS - 1; layer++)
            expected[i] += 1e3 / MHZ / (LAYERS - 2) *
                           (double)(stamp(&l, layer, 2, block)[DECODER_COMPUTED] -
                                    stamp(&l, layer, 0, block)[DECODER_BEGUN]);
        assert_close(of[i].timeline[row * l.p.blocks + block], expected[i], 1e-9);
        assert_close(of[i].timeline[block], 0, 1e-9); /* it begins with the layer */
        free(l.stamps);
    }
    all.timeline = malloc(DECODER_MOMENTS * l.p.blocks * sizeof *all.timeline);
    assert_non_null(all.timeline);
    decoder_where_median(&l.p, of, LAUNCHES, &all);
    int below = 0, above = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        below += expected[i] < all.timeline[row * l.p.blocks + block] - 1;
        above += expected[i] > all.timeline[row * l.p.blocks + block] + 1;
        free(of[i].timeline);
    }
    assert_true(below == 2 && above == 2);
    free(all.timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(one_odd_launch),
        cmocka_unit_test(timeline_is_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
