#include "report/bundle/setting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"

/* Half a step of what can be set is no difference. */
static const double POWER_STEP_W = 1, CLOCK_STEP_MHZ = 15;
static const double HBM_BUS_BITS = 1024; /* that wide, or wider */

/* 1, 0, or -1: not recorded. NVML's modes are numbers in some bundles and booleans in others. */
static int mode_of(const json_t *gpu, const char *key)
{
    const json_t *value = json_object_get(gpu, key);
    if (json_is_boolean(value))
        return json_is_true(value);
    return json_is_integer(value) ? json_integer_value(value) != 0 : -1;
}

const char *setting_why_unknown(const json_t *gpu, const char *field)
{
    return json_string_value(json_object_get(json_object_get(gpu, "unknown"), field));
}

/* A mode that is off as shipped; `name` is that of people, `meaning` what follows where it is
 * on. */
static enum setting off_as_shipped(const json_t *gpu, const char *field, const char *name,
                                   const char *meaning, char text[SETTING_TEXT])
{
    const int mode = mode_of(gpu, field);
    const char *why = setting_why_unknown(gpu, field);

    if (mode > 0)
        snprintf(text, SETTING_TEXT, "%s is on: %s", name, meaning);
    else if (mode == 0)
        snprintf(text, SETTING_TEXT, "no %s", name);
    else if (why)
        snprintf(text, SETTING_TEXT, "whether %s is on is not known (%.90s)", name, why);
    else
        snprintf(text, SETTING_TEXT, "%s: not recorded", name);
    return mode < 0 ? SETTING_UNKNOWN : mode ? SETTING_CHANGED : SETTING_SHIPPED;
}

enum setting setting_mig(const json_t *gpu, char text[SETTING_TEXT])
{
    return off_as_shipped(gpu, "mig", "MIG", "a slice was measured, not the GPU", text);
}

enum setting setting_mps(const json_t *gpu, char text[SETTING_TEXT])
{
    return off_as_shipped(gpu, "mps", "MPS", "other processes may share the GPU", text);
}

/* What a number is, against what it is as shipped; either may be NaN. */
static enum setting against(double set, double shipped, double step)
{
    if (isnan(set) || isnan(shipped))
        return SETTING_UNKNOWN;
    return fabs(set - shipped) < step / 2 ? SETTING_SHIPPED : SETTING_CHANGED;
}

/* Boards with HBM are shipped with ECC on, and their memory has it without cost. */
enum setting setting_ecc(const json_t *gpu, char text[SETTING_TEXT])
{
    const int ecc = mode_of(gpu, "ecc");
    const bool has_hbm = document_get_number(gpu, "bus_bits") >= HBM_BUS_BITS;

    if (ecc < 0)
        snprintf(text, SETTING_TEXT, "ECC: not recorded");
    else
        snprintf(text, SETTING_TEXT, "ECC is %s%s", ecc ? "on" : "off",
                 !has_hbm ? "; how this board is shipped is not recorded"
                 : ecc    ? ", as shipped"
                          : "; the board is shipped otherwise");
    return ecc < 0 || !has_hbm ? SETTING_UNKNOWN : ecc ? SETTING_SHIPPED : SETTING_CHANGED;
}

enum setting setting_power(const json_t *gpu, char text[SETTING_TEXT])
{
    const double limit = document_get_number(gpu, "power_limit_w");
    const double shipped = document_get_number(gpu, "power_limit_default_w");

    if (isnan(limit))
        snprintf(text, SETTING_TEXT, "power limit: not recorded");
    else if (isnan(shipped))
        snprintf(text, SETTING_TEXT, "power limit %.0f W; its default is not recorded", limit);
    else
        snprintf(text, SETTING_TEXT, "power limit %.0f W, by default %.0f W", limit, shipped);
    return against(limit, shipped, POWER_STEP_W);
}

/* Application clocks below the greatest one; a lock shows in no field (report/bundle/machine.c). */
enum setting setting_clocks(const json_t *gpu, char text[SETTING_TEXT])
{
    const double most = document_get_number(gpu, "sm_clock_max_mhz");
    const double set = document_get_number(gpu, "application_clock_mhz");
    const enum setting setting = against(set > most ? most : set, most, CLOCK_STEP_MHZ);

    if (isnan(set))
        snprintf(text, SETTING_TEXT, "application clocks: not recorded");
    else if (isnan(most))
        snprintf(text, SETTING_TEXT, "application clock %.0f MHz; the greatest is not recorded",
                 set);
    else if (setting == SETTING_CHANGED)
        snprintf(text, SETTING_TEXT, "application clock %.0f MHz of %.0f", set, most);
    else
        snprintf(text, SETTING_TEXT, "the application clock is the greatest one");
    return setting;
}

const char *setting_slowdown(const char *held_back_by, char cause[SETTING_TEXT])
{
    static const char usual[] = "power cap";
    const char *at = held_back_by;

    for (size_t n = strcspn(at, ","); *at; n = strcspn(at, ",")) {
        if (n != strlen(usual) || strncmp(at, usual, n)) {
            snprintf(cause, SETTING_TEXT, "%.*s", (int)n, at);
            return cause;
        }
        at += n + strspn(at + n, ", ");
    }
    cause[0] = '\0';
    return cause;
}
