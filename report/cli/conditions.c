#include "report/cli/conditions.h"

#include <string.h>

#include "core/text.h"
#include "report/bundle/cubins.h"
#include "report/page/summary.h"

/* `forbids`: if it differs, the bundles come from different kinds of machine. */
static const struct condition {
    const char *key, *section, *field;
    bool forbids;
} conditions[] = {
    {"board", "gpu", "board", true},
    {"n_sm", "gpu", "n_sm", true},
    {"ecc", "gpu", "ecc", true},
    {"mig", "gpu", "mig", true},
    {"mps", "gpu", "mps", true},
    {"card", "gpu", "id_hash", false},
    {"power_limit", "gpu", "power_limit_w", false},
    {"application_clock", "gpu", "application_clock_mhz", false},
    {"sm_clock_max", "gpu", "sm_clock_max_mhz", false},
    {"memory_clock", "gpu", "memory_clock_mhz", false},
    {"persistence", "gpu", "persistence", false},
    {"links", "links", "nvlinks", false},
    {"driver", "driver", "version", false},
    {"runtime", "runtime", "cuda", false},
    {"nvcc", "runtime", "nvcc", false},
    {"cpu", "host", "cpu", false},
    {"kernel", "host", "kernel", false},
    {"governor", "host", "governor", false},
    {"virtualisation", "host", "virtualisation", false},
    {"version", "suite", "version", false},
    {"commit", "suite", "commit", false},
    {"build", "suite", "build", false},
};
enum { BOARD = 0, N_CONDITIONS = sizeof conditions / sizeof conditions[0] };

bool condition_known(const char *key)
{
    for (size_t i = 0; i < N_CONDITIONS; i++)
        if (conditions[i].forbids && !strcmp(conditions[i].key, key))
            return true;
    return false;
}

const char *condition_keys(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < N_CONDITIONS && used < size; i++)
        if (conditions[i].forbids)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
                                     conditions[i].key);
    return text;
}

/* "18+18 NVLinks, 478 GB/s": those that are up of each GPU, and the least rate of one of them. */
static const char *links_of(const struct bundle *bundle, char *text, size_t size)
{
    const json_t *environment = json_object_get(bundle->head, "environment");
    const json_t *gpus = json_object_get(json_object_get(environment, "links"), "nvlinks"), *gpu;
    const struct summary summary = {.bundle = bundle};
    const double rate = summary_links(&summary);
    size_t i;

    text[0] = '\0';
    json_array_foreach(gpus, i, gpu)
        text_append(text, size, "%s%.3g", i ? "+" : "", document_get_number(gpu, "up"));
    if (!*text)
        return "none";
    text_append(text, size, " NVLinks");
    if (rate > 0)
        text_append(text, size, ", %.4g GB/s", rate * 1e-9);
    return text;
}

/* What a bundle says about a condition; "none" if nothing. */
static const char *value_of(const struct bundle *bundle, const struct condition *condition,
                            char *text, size_t size)
{
    char cards[BUNDLE_CARDS];

    if (!strcmp(condition->section, "suite")) {
        const json_t *suite = json_object_get(bundle->head, "suite");
        bool marked = !strcmp(condition->key, "commit") &&
                      json_is_true(json_object_get(suite, "dirty"));
        snprintf(text, size, "%.*s%s", !strcmp(condition->key, "commit") ? 7 : 120,
                 document_get_text(suite, condition->field, "none"), marked ? "+" : "");
        return text;
    }
    if (!strcmp(condition->key, "card") && *bundle_cards(bundle->head, CARD_WHOLE, cards)) {
        snprintf(text, size, "%s", cards);
        return text;
    }
    if (!strcmp(condition->key, "links"))
        return links_of(bundle, text, size);
    return bundle_fact(bundle, condition->section, condition->field, text, size, "none");
}

const char *condition_at(size_t i, const struct bundle *bundle, char *text, size_t size,
                         const char **value, bool *forbids)
{
    if (i >= N_CONDITIONS)
        return NULL;
    *value = value_of(bundle, &conditions[i], text, size);
    *forbids = conditions[i].forbids;
    return conditions[i].key;
}

static bool differs(const struct bundle *old, const struct bundle *new,
                    const struct condition *condition, char *text, size_t size)
{
    char a[160], b[160];
    const char *was = value_of(old, condition, a, sizeof a);
    const char *is = value_of(new, condition, b, sizeof b);
    snprintf(text, size, "%s (%s, %s)", condition->key, was, is);
    return strcmp(was, is) != 0;
}

static bool unknown(const struct bundle *bundle, const struct condition *condition)
{
    char text[160];
    return !strcmp(value_of(bundle, condition, text, sizeof text), "none");
}

/* A missing statement forbids nothing, except for the board: no GPU is another machine. */
const char *condition_forbids(const struct bundle *old, const struct bundle *new,
                              const char *const allowed[], size_t n, char *text, size_t size)
{
    for (size_t i = 0; i < N_CONDITIONS; i++) {
        const struct condition *c = &conditions[i];
        bool is_allowed = !c->forbids || (i != BOARD && (unknown(old, c) || unknown(new, c)));
        for (size_t k = 0; k < n; k++)
            is_allowed = is_allowed || !strcmp(allowed[k], c->key);
        if (!is_allowed && differs(old, new, c, text, size))
            return c->key;
    }
    return NULL;
}

/* --- changed code ----------------------------------------------------------------------------- */

static const struct part *part_named(const struct bundle *bundle, const char *name)
{
    for (size_t i = 0; i < bundle->n_parts; i++)
        if (!strcmp(bundle->parts[i].name, name))
            return &bundle->parts[i];
    return NULL;
}

static bool code_changed(const struct part *old, const struct part *new, char *text, size_t size)
{
    size_t n = new ? cubins_changed(old->cubins, new->cubins) : 0;
    if (new && old->method != new->method)
        snprintf(text, size, "%s (method %d, %d)", old->name, old->method, new->method);
    else
        snprintf(text, size, "%s (%zu cubin%s)", old->name, n, n == 1 ? "" : "s");
    return new && (n > 0 || old->method != new->method);
}

/* --- printing --------------------------------------------------------------------------------- */

/* One line "label: a, b, c", or nothing when there is nothing to say. */
struct line {
    const char *label;
    bool begun;
};

static void line_add(FILE *out, struct line *line, const char *text, enum table_format format)
{
    fprintf(out, "%s", line->begun ? ", " : line->label);
    table_put(out, text, format);
    line->begun = true;
}

static void line_end(FILE *out, const struct line *line, enum table_format format)
{
    if (line->begun)
        fputs(format == TABLE_MD ? "\n\n" : "\n", out);
}

void conditions_print(FILE *out, const struct bundle *old, const struct bundle *new,
                      enum table_format format)
{
    struct line different = {.label = "differs: "}, same = {.label = "same: "};
    struct line changed = {.label = "changed code: "};
    char text[400];

    for (size_t i = 0; i < N_CONDITIONS; i++)
        if (differs(old, new, &conditions[i], text, sizeof text))
            line_add(out, &different, text, format);
    line_end(out, &different, format);
    for (size_t i = 0; i < N_CONDITIONS; i++)
        if (!differs(old, new, &conditions[i], text, sizeof text) && !strstr(text, "(none, none)"))
            line_add(out, &same, conditions[i].key, format);
    line_end(out, &same, format);
    for (size_t i = 0; i < old->n_parts; i++)
        if (code_changed(&old->parts[i], part_named(new, old->parts[i].name), text, sizeof text))
            line_add(out, &changed, text, format);
    line_end(out, &changed, format);
}

json_t *conditions_json(const struct bundle *old, const struct bundle *new)
{
    json_t *different = json_object(), *same = json_array(), *changed = json_array();
    char a[160], b[160], text[400];

    for (size_t i = 0; i < N_CONDITIONS; i++) {
        if (differs(old, new, &conditions[i], text, sizeof text))
            json_object_set_new(different, conditions[i].key,
                                json_pack("[o, o]",
                                          out_json(value_of(old, &conditions[i], a, sizeof a)),
                                          out_json(value_of(new, &conditions[i], b, sizeof b))));
        else if (!unknown(old, &conditions[i])) /* what neither says is not the same */
            json_array_append_new(same, json_string(conditions[i].key));
    }
    for (size_t i = 0; i < old->n_parts; i++)
        if (code_changed(&old->parts[i], part_named(new, old->parts[i].name), text, sizeof text))
            json_array_append_new(changed, json_string(old->parts[i].name));
    return json_pack("{s:o, s:o, s:o}", "differs", different, "same", same, "changed_code",
                     changed);
}
