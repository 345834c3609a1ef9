/* names COUNTERS.SO: checks that every counter of core/counter_sets.c exists on every chip that the
 * table names, with the stated unit and number of passes. CUPTI's host library knows all chips, so
 * this needs neither a GPU nor a driver. Then checks that planted faults are caught. Exits with 77
 * where CUPTI is not available. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/counter_sets.h"
#include "core/counters.h"
#include "tests/unit/check.h"

static const struct counters_plugin *plugin;

/* The name of a counter on the chip at hand; NULL, with a complaint, if it has none. */
static const char *name_on_chip(const struct counter *c, const char *chip, char *wrong, size_t size)
{
    for (int i = 0; i < COUNTER_NAMES; i++) {
        const char *unit;
        if (!c->name[i] || !plugin->knows(c->name[i], &unit))
            continue;
        if (strcmp(unit, c->unit))
            snprintf(wrong, size, "%s: %s is in %s, the table says %s", chip, c->name[i], unit,
                     c->unit);
        return c->name[i];
    }
    if (!c->optional)
        snprintf(wrong, size, "%s does not know %s", chip, c->name[0]);
    return NULL;
}

/* What is wrong with a set on one chip, in one line; "" for nothing. */
static const char *complaint(const struct counter_set *set, size_t chip)
{
    static char wrong[512];
    const char *names[COUNTERS_IN_SET_MAX];
    int passes = 0;
    size_t n = 0;

    wrong[0] = '\0';
    if (set->n > COUNTERS_IN_SET_MAX)
        return "the set is too large";
    const char *why = plugin->choose_chip(counter_chips[chip]);
    for (size_t i = 0; !why && !wrong[0] && i < set->n; i++) {
        const char *name = name_on_chip(&set->counters[i], counter_chips[chip], wrong,
                                        sizeof wrong);
        if (name)
            names[n++] = name;
    }
    if (!why && !wrong[0])
        why = plugin->count_passes(names, n, &passes);
    if (why)
        snprintf(wrong, sizeof wrong, "%s: %s", counter_chips[chip], why);
    else if (!wrong[0] && passes != set->passes[chip])
        snprintf(wrong, sizeof wrong, "%s: set %s takes %d passes, the table says %d",
                 counter_chips[chip], set->name, passes, set->passes[chip]);
    return wrong;
}

static void table_holds(void **state)
{
    (void)state;
    for (size_t chip = 0; chip < COUNTER_CHIPS; chip++)
        for (size_t i = 0; i < COUNTER_SETS; i++)
            assert_string_equal(complaint(&counter_sets[i], chip), "");
}

/* Each alternative and each optional counter must exist on some chip, or it is dead. */
static void nothing_is_dead(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTER_SETS; i++)
        for (size_t k = 0; k < counter_sets[i].n; k++)
            for (int name = 0; name < COUNTER_NAMES && counter_sets[i].counters[k].name[name];
                 name++) {
                const char *unit, *which = counter_sets[i].counters[k].name[name];
                bool known = false;
                for (size_t chip = 0; chip < COUNTER_CHIPS && !known; chip++)
                    known = !plugin->choose_chip(counter_chips[chip]) &&
                            plugin->knows(which, &unit);
                if (!known)
                    fail_msg("no chip knows %s", which);
            }
}

static void ids_are_unique(void **state)
{
    const struct counter *all[COUNTER_SETS * COUNTERS_IN_SET_MAX];
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < COUNTER_SETS; i++)
        for (size_t k = 0; k < counter_sets[i].n; k++)
            all[n++] = &counter_sets[i].counters[k];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(all[i]->id, all[k]->id);
}

/* --- planted faults: each is caught, and the complaint names it ------------------------------- */

static const struct counter dram[] = {
    {"dram_read", "byte", {"dram__bytes_read.sum"}, false},
    {"time", "nanosecond", {"gpu__time_duration.sum"}, false},
};

static void faultless(void **state)
{
    const struct counter_set set = {"dram", "", dram, 2, {1, 1, 2, 1, 1, 0}};
    (void)state;
    assert_string_equal(complaint(&set, 0), "");
}

static void caught(const struct counter_set *set, size_t chip, const char *named)
{
    const char *says = complaint(set, chip);
    if (!strstr(says, named))
        fail_msg("expected a complaint with '%s', got '%s'", named, says);
}

static void a_misspelt_name_is_caught(void **state)
{
    static const struct counter misspelt[] = {
        {"dram_read", "byte", {"dram__bytes_raed.sum"}, false}};
    const struct counter_set set = {"dram", "", misspelt, 1, {1}};
    (void)state;
    caught(&set, 0, "GH100 does not know dram__bytes_raed.sum");
}

static void a_wrong_number_of_passes_is_caught(void **state)
{
    const struct counter_set set = {"dram", "", dram, 2, {2, 1, 2, 1, 1, 0}};
    (void)state;
    caught(&set, 0, "set dram takes 1 passes, the table says 2");
}

static void a_wrong_unit_is_caught(void **state)
{
    static const struct counter sectors[] = {
        {"l1_hits", "byte", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"}, false}};
    const struct counter_set set = {"l1", "", sectors, 1, {1}};
    (void)state;
    caught(&set, 0, "is in l2_sector, the table says byte");
}

static void a_missing_alternative_is_caught(void **state)
{
    const struct counter_set set = {"dram", "", dram, 2, {1, 1, 1, 1, 1, 1}};
    (void)state;
    caught(&set, 5, "GB202 does not know dram__bytes_read.sum"); /* it says op_read */
}

static void an_unknown_chip_is_caught(void **state)
{
    (void)state;
    assert_non_null(plugin->choose_chip("gh100")); /* names are upper case */
    assert_null(plugin->choose_chip("GH100"));
}

/* Refusals that a person can act on, by CUPTI's own numbers. */
static void refusals_say_what_to_do(void **state)
{
    static const struct {
        int result;
        const char *word;
    } table[] = {{35, "NVreg_RestrictProfilingToAdminUsers"},
                 {40, "CAP_SYS_ADMIN"},
                 {26, "dcgmi profile --pause"},
                 {39, "another profiler"},
                 {41, "confidential computing"},
                 {43, "MIG"},
                 {33, "virtual"},
                 {45, "WSL"},
                 {15, "libnvperf_host"},
                 {46, "too old"}};
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        const char *says = plugin->reason(table[i].result);
        if (!says || !strstr(says, table[i].word))
            fail_msg("result %d: expected '%s', got '%s'", table[i].result, table[i].word,
                     says ? says : "nothing");
    }
    assert_null(plugin->reason(1));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_holds),
        cmocka_unit_test(nothing_is_dead),
        cmocka_unit_test(ids_are_unique),
        cmocka_unit_test(faultless),
        cmocka_unit_test(a_misspelt_name_is_caught),
        cmocka_unit_test(a_wrong_number_of_passes_is_caught),
        cmocka_unit_test(a_wrong_unit_is_caught),
        cmocka_unit_test(a_missing_alternative_is_caught),
        cmocka_unit_test(an_unknown_chip_is_caught),
        cmocka_unit_test(refusals_say_what_to_do),
    };
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    plugin = library ? dlsym(library, COUNTERS_PLUGIN_SYMBOL) : NULL;
    if (!plugin) {
        printf("no counters.so: %s\n", argc == 2 ? dlerror() : "expected its path");
        return 77;
    }
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
