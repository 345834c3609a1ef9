#include "report/bundle/machine.h"

#include <math.h>
#include <stdarg.h>

#include "core/text.h"
#include "report/bundle/setting.h"

static const double CAPPED = 0.98; /* a measured clock has an error of its own */

static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
    va_list arguments;

    text_append(text, size, "%s", text[0] ? "; " : "");
    va_start(arguments, format);
    text_append_list(text, size, format, arguments);
    va_end(arguments);
}

/* What nobody can say of this GPU although figures depend on it. Of settings, MPS alone: another
 * process may come by it at any time. */
static void add_unknown(char *text, size_t size, const json_t *gpu)
{
    static const struct {
        const char *name, *words;
    } facts[] = {{"nvml", "settings, clocks and other processes are not known"},
                 {"n_processes", "other processes are not seen"},
                 {"held_back_by", "what holds the clock back is not known"}};
    char said[SETTING_TEXT];

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const char *why = setting_why_unknown(gpu, facts[i].name);
        if (why)
            add(text, size, "%s (%.90s)", facts[i].words, why);
    }
    if (setting_mps(gpu, said) == SETTING_UNKNOWN && setting_why_unknown(gpu, "mps"))
        add(text, size, "%s", said);
}

char *machine_settings(const json_t *environment, char *text, size_t size)
{
    static setting_reader *const readers[] = {setting_mig, setting_mps, setting_ecc, setting_power,
                                              setting_clocks};
    const json_t *gpu = json_object_get(environment, "gpu");
    char said[SETTING_TEXT];

    text[0] = '\0';
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (readers[i](gpu, said) == SETTING_CHANGED)
            add(text, size, "%s", said);
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
    const double most = document_get_number(json_object_get(environment, "gpu"),
                                            "sm_clock_max_mhz");
    const double clock = greatest_clock(&bundle->rows);

    machine_settings(environment, text, size);
    if (clock < CAPPED * most)
        add(text, size, "the SM clock never passed %.0f MHz of %.0f: locked, or capped", clock,
            most);
    if (bundle->n_slowed > 0)
        add(text, size, "slowed down in %d of %d runs (%.60s)", bundle->n_slowed, bundle->n_runs,
            bundle->slowed_by);
    if (bundle->n_shared > 0)
        add(text, size, "another process on the GPU in %d of %d runs", bundle->n_shared,
            bundle->n_runs);
    return text;
}
