/* fused/two_layers/stamps.h: shares of the time in which two operations are at work, made by hand.
 * */
#include "fused/two_layers/stamps.h"

#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

enum { BLOCKS = 2, ITEMS = 1, ALL = BLOCKS * ITEMS * LAYERS_OPERATIONS * LAYERS_TASKS };
static const uint64_t day = 1800000000000000000u; /* a clock that counts since 1970 */

static bool is(double found, double due)
{
    return fabs(found - due) <= 1e-12;
}

static void put(struct two_layers_task *tasks, int block, int operation, int task, double begun,
                double ended)
{
    tasks[(block * LAYERS_OPERATIONS + operation) * LAYERS_TASKS + task] =
        (struct two_layers_task){day + (uint64_t)begun, day + (uint64_t)ended};
}

static void shares(void **unused)
{
    struct two_layers_task tasks[ALL] = {{0}};
    (void)unused;
    assert_true(isnan(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped)); /* nothing was stamped */

    put(tasks, 0, 0, 0, 1000, 2000);
    put(tasks, 1, 0, 0, 1000, 2000);
    put(tasks, 0, 1, 0, 2000, 3000);
    put(tasks, 1, 1, 0, 2000, 3000);
    struct overlap o = overlap_of(tasks, BLOCKS, ITEMS, 1, 0);
    assert_int_equal(o.tasks, 4);
    assert_true(is(o.stamped, 0)); /* one ends when the other begins */

    put(tasks, 1, 1, 0, 1500, 3000); /* for 500 of 2000 */
    o = overlap_of(tasks, BLOCKS, ITEMS, 1, 100);
    assert_true(is(o.stamped, 0.25));
    assert_true(is(o.least, 0.20));
    assert_true(is(o.most, 0.30));

    put(tasks, 1, 0, 0, 1000, 1400); /* block 0 alone is still at the first: the same */
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped, 0.25));
    put(tasks, 0, 0, 0, 1000, 1400); /* nobody is: waiting is no work */
    o = overlap_of(tasks, BLOCKS, ITEMS, 1, 200);
    assert_true(is(o.stamped, 0));
    assert_true(is(o.least, 0));
    assert_true(is(o.most, 100.0 / 2000));
}

/* Two tasks of one operation are no two operations; nor is one block's pause a pause of all. */
static void one_operation(void **unused)
{
    struct two_layers_task tasks[ALL] = {{0}};
    (void)unused;
    put(tasks, 0, 2, 0, 0 + 10, 500);
    put(tasks, 0, 2, 1, 600, 1010);
    put(tasks, 1, 2, 0, 10, 1010);
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped, 0));
    put(tasks, 1, 3, 0, 510, 610); /* in the pause of one, and over its end */
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped, 0.1));
}

/* Two operations of one layer are one layer; the second of one and the first of the next are
 * two. */
static void layers(void **unused)
{
    struct two_layers_task tasks[ALL] = {{0}};
    (void)unused;
    put(tasks, 0, 0, 0, 1000, 2000);
    put(tasks, 1, 1, 0, 1500, 3000); /* beside operation 0, of one layer */
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped, 0.25));
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, LAYERS_JOINED, 0).stamped, 0));
    put(tasks, 0, 2, 0, 2800, 5000); /* beside operation 1, of the layer before */
    const struct overlap o = overlap_of(tasks, BLOCKS, ITEMS, LAYERS_JOINED, 100);
    assert_true(is(o.stamped, 200.0 / 4000));
    assert_true(is(o.least, 100.0 / 4000));
    assert_true(is(o.most, 300.0 / 4000));
    put(tasks, 1, 3, 0, 3000, 5000); /* and with it its own layer's second */
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, LAYERS_JOINED, 0).stamped, 200.0 / 4000));
    assert_true(is(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped, 2700.0 / 4000));
}

static void no_end(void **unused)
{
    struct two_layers_task tasks[ALL] = {{0}};
    (void)unused;
    put(tasks, 0, 0, 0, 10, 500);
    tasks[1].begun_ns = day + 600; /* without an end */
    assert_true(isnan(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped));
    tasks[1] = (struct two_layers_task){0, day + 600};
    assert_true(isnan(overlap_of(tasks, BLOCKS, ITEMS, 1, 0).stamped));
}

static void clocks(void **unused)
{
    struct two_layers_clock found[3] = {
        {.low_ns = -7, .high_ns = 7, .step_ns = 32}, /* it asks nobody: not read */
        {.low_ns = -500, .high_ns = 600, .step_ns = 32},
        {.low_ns = -700, .high_ns = 400, .step_ns = 64}};
    (void)unused;
    assert_true(is(clock_error_ns(found, 3), 700 + 600 + 64));
    assert_true(is(clock_error_ns(found, 1), 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares), cmocka_unit_test(one_operation),
                                       cmocka_unit_test(layers), cmocka_unit_test(no_end),
                                       cmocka_unit_test(clocks)};
    return cmocka_run_group_tests_name("two_layers stamps", tests, NULL, NULL);
}
