#include "report/bundle/setting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const json_t *gpu_of(const struct bundle *bundle)
{
    return json_object_get(json_object_get(bundle->head, "environment"), "gpu");
}

/* 1, 0, or -1: not recorded. NVML's modes are numbers in some bundles and booleans in others. */
static int mode_of(const struct bundle *bundle, const char *key)
{
    const json_t *value = json_object_get(gpu_of(bundle), key);
    if (json_is_boolean(value))
        return json_is_true(value);
    return json_is_integer(value) ? json_integer_value(value) != 0 : -1;
}

static enum setting say(enum setting setting, char text[SETTING_TEXT], const char *what)
{
    snprintf(text, SETTING_TEXT, "%s", what);
    return setting;
}

/* A mode that is off as shipped. */
static enum setting off_as_shipped(int mode, const char *name, char text[SETTING_TEXT])
{
    snprintf(text, SETTING_TEXT, mode < 0 ? "%s: not recorded" : mode ? "%s is on" : "no %s", name);
    return mode < 0 ? SETTING_UNKNOWN : mode ? SETTING_CHANGED : SETTING_SHIPPED;
}

enum setting setting_mig(const struct bundle *bundle, char text[SETTING_TEXT])
{
    return off_as_shipped(mode_of(bundle, "mig"), "MIG", text);
}

enum setting setting_mps(const struct bundle *bundle, char text[SETTING_TEXT])
{
    return off_as_shipped(mode_of(bundle, "mps"), "MPS", text);
}

/* Boards with HBM are shipped with ECC on, and their memory has it without cost. */
enum setting setting_ecc(const struct bundle *bundle, char text[SETTING_TEXT])
{
    const int ecc = mode_of(bundle, "ecc");
    const bool has_hbm = document_get_number(gpu_of(bundle), "bus_bits") >= 1024;
    const int shipped = has_hbm ? 1 : -1;

    if (ecc < 0)
        return say(SETTING_UNKNOWN, text, "ECC: not recorded");
    snprintf(text, SETTING_TEXT, "ECC is %s%s", ecc ? "on" : "off",
             shipped < 0      ? "; how this board is shipped is not recorded"
             : ecc == shipped ? ", as shipped"
                              : "; the board is shipped otherwise");
    return shipped < 0 ? SETTING_UNKNOWN : ecc == shipped ? SETTING_SHIPPED : SETTING_CHANGED;
}

enum setting setting_power(const struct bundle *bundle, char text[SETTING_TEXT])
{
    const double limit = document_get_number(gpu_of(bundle), "power_limit_w");
    const double shipped = document_get_number(gpu_of(bundle), "power_limit_default_w");

    if (isnan(limit))
        return say(SETTING_UNKNOWN, text, "power limit: not recorded");
    if (isnan(shipped)) {
        snprintf(text, SETTING_TEXT, "power limit %.0f W; its default is not recorded", limit);
        return SETTING_UNKNOWN;
    }
    const bool is_same = fabs(limit - shipped) < 1;
    snprintf(text, SETTING_TEXT, "power limit %.0f W, by default %.0f W", limit, shipped);
    return is_same ? SETTING_SHIPPED : SETTING_CHANGED;
}

/* Application clocks below the greatest one; a lock shows in no field (report/bundle/machine.c). */
enum setting setting_clocks(const struct bundle *bundle, char text[SETTING_TEXT])
{
    const json_t *gpu = gpu_of(bundle);
    const double most = document_get_number(gpu, "sm_clock_max_mhz");
    const double set = document_get_number(gpu, "application_clock_mhz");

    if (set < most) {
        snprintf(text, SETTING_TEXT, "the application clock is %.0f of %.0f MHz", set, most);
        return SETTING_CHANGED;
    }
    return isnan(set) ? say(SETTING_UNKNOWN, text, "application clocks: not recorded")
                      : say(SETTING_SHIPPED, text, "the application clock is the greatest one");
}
