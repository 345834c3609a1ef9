/* setting, machine: how a GPU was set is read once, and said in the same words by `check`, which
 * asks for each setting, and by `run` and `report`, which name those that were changed. */
#include "tests/unit/check.h"

#include "core/document.h"
#include "report/bundle/machine.h"
#include "report/bundle/setting.h"

static const struct {
    const char *gpu; /* fields of it, in JSON */
    setting_reader *read;
    enum setting setting;
    const char *said;
} known[] = {
    {"'mig': 1", setting_mig, SETTING_CHANGED, "MIG is on: a slice was measured, not the GPU"},
    {"'mig': true", setting_mig, SETTING_CHANGED, "MIG is on: a slice was measured, not the GPU"},
    {"'mig': 0", setting_mig, SETTING_SHIPPED, "no MIG"},
    {"'mig': null", setting_mig, SETTING_UNKNOWN, "MIG: not recorded"},
    {"'mig': null, 'unknown': {'mig': 'Not Supported'}", setting_mig, SETTING_UNKNOWN,
     "whether MIG is on is not known (Not Supported)"},
    {"'mps': 1", setting_mps, SETTING_CHANGED, "MPS is on: other processes may share the GPU"},
    {"'mps': false", setting_mps, SETTING_SHIPPED, "no MPS"},
    {"'unknown': {'mps': 'a pipe'}", setting_mps, SETTING_UNKNOWN,
     "whether MPS is on is not known (a pipe)"},
    {"'ecc': true, 'bus_bits': 5120", setting_ecc, SETTING_SHIPPED, "ECC is on, as shipped"},
    {"'ecc': false, 'bus_bits': 5120", setting_ecc, SETTING_CHANGED,
     "ECC is off; the board is shipped otherwise"},
    {"'ecc': false, 'bus_bits': 384", setting_ecc, SETTING_UNKNOWN,
     "ECC is off; how this board is shipped is not recorded"},
    {"'bus_bits': 5120", setting_ecc, SETTING_UNKNOWN, "ECC: not recorded"},
    {"'power_limit_w': 500, 'power_limit_default_w': 700", setting_power, SETTING_CHANGED,
     "power limit 500 W, by default 700 W"},
    {"'power_limit_w': 701, 'power_limit_default_w': 700", setting_power, SETTING_CHANGED,
     "power limit 701 W, by default 700 W"},
    {"'power_limit_w': 700.2, 'power_limit_default_w': 700", setting_power, SETTING_SHIPPED,
     "power limit 700 W, by default 700 W"},
    {"'power_limit_w': 700", setting_power, SETTING_UNKNOWN,
     "power limit 700 W; its default is not recorded"},
    {"'power_limit_default_w': 700", setting_power, SETTING_UNKNOWN, "power limit: not recorded"},
    {"'application_clock_mhz': 1965, 'sm_clock_max_mhz': 1980", setting_clocks, SETTING_CHANGED,
     "application clock 1965 MHz of 1980"},
    {"'application_clock_mhz': 1980, 'sm_clock_max_mhz': 1980", setting_clocks, SETTING_SHIPPED,
     "the application clock is the greatest one"},
    {"'application_clock_mhz': 1980", setting_clocks, SETTING_UNKNOWN,
     "application clock 1980 MHz; the greatest is not recorded"},
    {"'sm_clock_max_mhz': 1980", setting_clocks, SETTING_UNKNOWN,
     "application clocks: not recorded"},
};

static json_t *environment_of(const char *gpu)
{
    char text[400];
    snprintf(text, sizeof text, "{'gpu': {%s}}", gpu);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *environment = json_loads(text, 0, NULL);
    assert_non_null(environment);
    return environment;
}

/* What was changed is what a report names, in the same words; and nothing else is. */
static void one_vocabulary(void **state)
{
    char said[SETTING_TEXT], states[MACHINE_TEXT];
    (void)state;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        json_t *environment = environment_of(known[i].gpu);
        assert_int_equal(known[i].read(json_object_get(environment, "gpu"), said),
                         known[i].setting);
        assert_string_equal(said, known[i].said);
        machine_settings(environment, states, sizeof states);
        if (known[i].setting == SETTING_CHANGED)
            assert_string_equal(states, said);
        json_decref(environment);
    }
    assert_int_equal(setting_mig(NULL, said), SETTING_UNKNOWN);
    assert_string_equal(machine_settings(NULL, states, sizeof states), "");
}

static void what_a_report_names(void **state)
{
    char states[MACHINE_TEXT];
    (void)state;

    json_t *environment = environment_of(
        "'mig': 1, 'mps': null, 'power_limit_w': 500, 'power_limit_default_w': 700, "
        "'unknown': {'mps': 'a pipe', 'n_processes': 'Not Supported'}");
    assert_string_equal(
        machine_settings(environment, states, sizeof states),
        "MIG is on: a slice was measured, not the GPU; power limit 500 W, by default 700 W; "
        "other processes are not seen (Not Supported); whether MPS is on is not known (a pipe)");
    json_decref(environment);
    environment = environment_of("'mig': null, 'unknown': {'mig': 'Not Supported'}");
    assert_string_equal(machine_settings(environment, states, sizeof states), "");
    json_decref(environment);
}

static void slowdowns(void **state)
{
    char cause[SETTING_TEXT];
    (void)state;

    assert_string_equal(setting_slowdown("", cause), "");
    assert_string_equal(setting_slowdown("power cap", cause), "");
    assert_string_equal(setting_slowdown("power cap, thermal", cause), "thermal");
    assert_string_equal(setting_slowdown("hardware thermal, power cap", cause), "hardware thermal");
    assert_string_equal(setting_slowdown("power caps", cause), "power caps");
    assert_string_equal(setting_slowdown(", ,", cause), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_vocabulary),
        cmocka_unit_test(what_a_report_names),
        cmocka_unit_test(slowdowns),
    };
    return cmocka_run_group_tests_name("setting", tests, NULL, NULL);
}
