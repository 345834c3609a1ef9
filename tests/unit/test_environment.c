/* core/environment.c: what the kernel's names say of the machine below. */
#include "core/run.h"

#include <string.h>
#include <sys/utsname.h>

#include "tests/unit/check.h"

static void is_below(const char *release, const char *version, const char *expected)
{
    struct utsname system = {0};
    strcpy(system.release, release);
    strcpy(system.version, version);
    json_t *said = environment_virtualisation(&system);
    const char *word = json_is_null(said) ? "" : json_string_value(said);
    if (expected)
        assert_string_equal(word, expected);
    else /* this host's processor says which */
        assert_true(!strcmp(word, "") || !strcmp(word, "hypervisor"));
    json_decref(said);
}

static void below(void **state)
{
    (void)state;
    is_below("6.1.128-fc", "#1 SMP", "firecracker");
    is_below("4.4.0", "#1 SMP gVisor", "gvisor");
    is_below("6.5.6-300.fc39.x86_64", "#1 SMP", NULL);
    is_below("6.12.9-amd64", "#1 SMP", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
