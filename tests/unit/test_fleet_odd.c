/* fleet_odd: the scale of a row, the threshold, and the rate of false alarms that it promises: by
 * simulation of clean fleets, whose seeds are fixed. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "core/draw.h"
#include "report/cli/fleet_odd.h"

enum { CARDS_MOST = 100 };

static double uniform(uint64_t *state)
{
    return ((double)draw_below(state, 1u << 30) + 0.5) / (double)(1u << 30);
}

static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * acos(-1) * uniform(state));
}

static void scale_is_exact(void **unused)
{
    const double values[] = {100, 101, 99, 102, 150};
    struct odd_scale s;
    (void)unused;
    assert_true(odd_scale(&s, values, 5, (struct odd_floor){0, 0}, 5));
    assert_same(s.median, 101);
    /* of 1, 0, 2, 1, 49 */
    assert_close(s.scale, 1.4826 * 1 / 101, 1e-12);
    /* a floor of the whole */
    assert_true(odd_scale(&s, values, 5, (struct odd_floor){NAN, 0.2}, 5));
    assert_close(s.scale, 0.04, 1e-12);
    /* a card's own spread */
    assert_true(odd_scale(&s, values, 5, (struct odd_floor){0.07, 0.2}, 5));
    assert_close(s.scale, 0.07, 1e-12);
    assert_false(odd_scale(&s, values, 1, (struct odd_floor){0, 0.01}, 5));
    assert_false(odd_scale(&s, (double[]){0, 0, 0}, 3, (struct odd_floor){0, 0.01}, 5));
    assert_false(odd_scale(&s, (double[]){-1, -1, -1}, 3, (struct odd_floor){0, 0.01}, 5));
    assert_false(odd_scale(&s, (double[]){1, NAN, NAN}, 3, (struct odd_floor){0, 0.01}, 5));
}

static void chance_is_students(void **unused)
{
    (void)unused;
    /* 0.43 x 100 = 43 degrees of freedom: tables of the t distribution. */
    assert_close(odd_chance(2.0167, 100), 0.05, 1e-3);
    assert_close(odd_chance(2.6951, 100), 0.01, 1e-3);
    assert_close(odd_chance(1, 2), 0.5, 1e-12); /* one degree at least */
    for (size_t n = 3; n < CARDS_MOST; n++) {
        assert_true(odd_chance(8, n) > odd_chance(9, n));
        assert_true(odd_chance(8, n) > odd_chance(8, n + 1));
    }
}

static void threshold_grows_with_the_table(void **unused)
{
    (void)unused;
    for (size_t n = ODD_CARDS_LEAST; n <= CARDS_MOST; n++) {
        const double few = odd_threshold(n, 10), many = odd_threshold(n, 1000);
        assert_true(few >= ODD_LEAST && many <= ODD_MOST && few <= many);
        assert_true(odd_threshold(n + 1, 100) <= odd_threshold(n, 100));
        if (many < ODD_MOST) /* else the chance is larger, and is said */
            assert_true((double)n * 1000 * odd_chance(many, n) <= 1.001 / ODD_ONCE_IN);
    }
    assert_close(odd_threshold(16, 300), 11.37, 0.01);
    assert_same(odd_threshold(3, 60), ODD_MOST);
    assert_true(odd_threshold(100, 60) < 6);
}

/* Distances of clean fleets beyond so many sigmas; without any floor. */
static size_t false_alarms(uint64_t *state, size_t n_cards, size_t n_tables, double sigmas)
{
    double values[CARDS_MOST];
    struct odd_scale s;
    size_t found = 0;

    for (size_t k = 0; k < n_tables; k++) {
        for (size_t i = 0; i < n_cards; i++)
            values[i] = 1 + 1e-3 * normal(state);
        assert_true(odd_scale(&s, values, n_cards, (struct odd_floor){0, 0}, sigmas));
        for (size_t i = 0; i < n_cards; i++)
            found += fabs(values[i] / s.median - 1) > sigmas * s.scale;
    }
    return found;
}

/* The calculation never promises fewer false alarms than there are (but for 4 standard deviations
 * of chance), and not ten times as many, from seven cards on. */
static void simulation_agrees(void **unused)
{
    static const size_t cards[] = {3, 4, 5, 6, 7, 8, 12, 16, 32, 100};
    static const double sigmas[] = {5, 8, 15};
    uint64_t state = 20261122;
    (void)unused;
    for (size_t k = 0; k < CHECK_LENGTH(cards); k++)
        for (size_t s = 0; s < CHECK_LENGTH(sigmas); s++) {
            const size_t n_tables = 400000 / cards[k];
            const double found = (double)false_alarms(&state, cards[k], n_tables, sigmas[s]);
            const double expected = (double)(n_tables * cards[k]) * odd_chance(sigmas[s], cards[k]);
            const double slack = 4 * sqrt(expected) + 4;
            if (found > expected * 1.1 + slack ||
                (cards[k] >= 7 && expected > 10 * found + slack)) {
                print_error("%zu cards, %g sigmas: %g found, %g expected\n", cards[k], sigmas[s],
                            found, expected);
                fail();
            }
        }
}

/* At the threshold itself: whole tables of 16 cards and 60 rows. */
static void clean_tables_are_clean(void **unused)
{
    enum { TABLES = 400, ROWS = 60, CARDS = 16 };
    uint64_t state = 1;
    (void)unused;
    const size_t found = false_alarms(&state, CARDS, (size_t)TABLES * ROWS,
                                      odd_threshold(CARDS, ROWS));
    assert_in_range(found, 0, 3 * TABLES / ODD_ONCE_IN / 2); /* 20 expected at most */
    assert_true(false_alarms(&state, CARDS, (size_t)TABLES * ROWS, ODD_LEAST) >
                10 * TABLES / ODD_ONCE_IN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_is_exact),
        cmocka_unit_test(chance_is_students),
        cmocka_unit_test(threshold_grows_with_the_table),
        cmocka_unit_test(simulation_agrees),
        cmocka_unit_test(clean_tables_are_clean),
    };
    return cmocka_run_group_tests_name("fleet odd", tests, NULL, NULL);
}
