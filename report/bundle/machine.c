#include "report/bundle/machine.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Half a step of what is set is no difference; a measured clock has an error of its own. */
static const double LOWER = 0.995, CAPPED = 0.98;

static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
    const size_t begun = strlen(text), used = begun + (begun ? 2 : 0);
    va_list arguments;

    if (used + 1 >= size)
        return;
    if (begun)
        memcpy(text + begun, "; ", 3);
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static bool is_on(const json_t *gpu, const char *name)
{
    const json_t *value = json_object_get(gpu, name);
    return json_is_true(value) || json_integer_value(value) != 0;
}

/* What nobody can say of this GPU although figures depend on it. */
static void add_unknown(char *text, size_t size, const json_t *gpu)
{
    static const struct {
        const char *name, *words;
    } facts[] = {{"nvml", "settings, clocks and other processes are not known"},
                 {"mps", "whether MPS is on is not known"},
                 {"n_processes", "other processes are not seen"},
                 {"held_back_by", "what holds the clock back is not known"}};
    const json_t *unknown = json_object_get(gpu, "unknown");

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const char *why = json_string_value(json_object_get(unknown, facts[i].name));
        if (why)
            add(text, size, "%s (%.90s)", facts[i].words, why);
    }
}

char *machine_settings(const json_t *environment, char *text, size_t size)
{
    const json_t *gpu = json_object_get(environment, "gpu");
    const double limit = document_get_number(gpu, "power_limit_w");
    const double usual = document_get_number(gpu, "power_limit_default_w");
    const double set = document_get_number(gpu, "application_clock_mhz");
    const double most = document_get_number(gpu, "sm_clock_max_mhz");

    text[0] = '\0';
    if (is_on(gpu, "mig"))
        add(text, size, "MIG is on: a slice was measured, not the GPU");
    if (is_on(gpu, "mps"))
        add(text, size, "MPS is on: other processes may share the GPU");
    if (limit < LOWER * usual)
        add(text, size, "power limit %.0f W, by default %.0f", limit, usual);
    if (set < LOWER * most)
        add(text, size, "application clock %.0f MHz of %.0f", set, most);
    add_unknown(text, size, gpu);
    return text;
}

/* The greatest SM clock of any row; NaN without one. */
static double greatest_clock(const struct rows *rows)
{
    double most = NAN;
    for (size_t i = 0; i < rows->n; i++)
        most = fmax(most, rows->row[i].clock_mhz > 0 ? rows->row[i].clock_mhz : (double)NAN);
    return most;
}

char *machine_states(const struct bundle *bundle, char *text, size_t size)
{
    const json_t *environment = json_object_get(bundle->head, "environment");
    const double most = document_get_number(json_object_get(environment, "gpu"), "sm_clock_max_mhz");
    const double clock = greatest_clock(&bundle->rows);

    machine_settings(environment, text, size);
    if (clock < CAPPED * most)
        add(text, size, "the SM clock never passed %.0f MHz of %.0f: locked, or capped", clock, most);
    if (bundle->n_slowed > 0)
        add(text, size, "slowed down in %d of %d runs (%.60s)", bundle->n_slowed, bundle->n_runs,
            bundle->slowed_by);
    if (bundle->n_shared > 0)
        add(text, size, "another process on the GPU in %d of %d runs", bundle->n_shared,
            bundle->n_runs);
    return text;
}
