/* cubins: the hash alone identifies code, whatever its image is called; images not built are
 * ignored. */
#include "report/bundle/cubins.h"
#include "tests/unit/check.h"

static size_t changed(const char *old, const char *new)
{
    json_t *a = json_loads(old, 0, NULL), *b = json_loads(new, 0, NULL);
    size_t n = cubins_changed(a, b);
    json_decref(a);
    json_decref(b);
    return n;
}

static void code_counts_and_not_its_name(void **unused)
{
    (void)unused;
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{\"a.sm_90a\":\"1\"}"), 0);
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{\"a.sm_90a\":\"2\"}"), 1);
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{\"b.sm_90a\":\"1\"}"), 0);
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{\"b.sm_90a\":\"2\"}"), 1);
    assert_int_equal(changed("{\"a.sm_90a\":\"1\",\"b.sm_90a\":\"2\"}", "{\"a.sm_90a\":\"1\"}"), 1);
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{\"a.sm_90a\":\"1\",\"b.sm_90a\":\"2\"}"), 0);
}

static void what_was_not_built_is_not_compared(void **unused)
{
    (void)unused;
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{\"a.sm_80\":\"2\"}"), 0);
    assert_int_equal(changed("{\"a.sm_80\":\"1\"}", "{\"a.sm_80\":\"2\",\"a.sm_90a\":\"1\"}"), 1);
    assert_int_equal(changed("{\"a.sm_90a\":\"1\"}", "{}"), 0);
    assert_int_equal(cubins_changed(NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_counts_and_not_its_name),
        cmocka_unit_test(what_was_not_built_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
