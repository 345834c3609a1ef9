#include "report/cli/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/page/out.h"

/* Local loads and flags are part of remote ones; a graph's edge is part of a collective in a graph;
 * copies, and memory of the host, are what the links are held against. */
static const char *const explaining[] = {"null",      "spin",        "timers",    "memory_latency",
                                         "bandwidth", "barriers",    "sm_to_sm",  "launch",
                                         "edges",     "host_memory", "host_link", NULL};

const char *const *devices_explaining(void)
{
    return explaining;
}

static bool explains(const char *name)
{
    for (size_t i = 0; explaining[i]; i++)
        if (!strcmp(explaining[i], name))
            return true;
    return false;
}

bool devices_take(const struct listed *program, size_t n_gpus)
{
    return n_gpus > 1 ? program->takes_gpus || explains(program->name)
                      : !program->takes_gpus && !program->is_draft;
}

/* --- which GPUs ------------------------------------------------------------------------------- */

void devices_entry(const char *list, int at, char *text, size_t size)
{
    const char *word;
    size_t length;

    snprintf(text, size, "%d", at);
    for (int i = 0; text_word(&list, &word, &length); i++)
        if (i == at)
            snprintf(text, size, "%.*s", (int)length, word);
}

void devices_show(struct run_options *options)
{
    const char *before = getenv("CUDA_VISIBLE_DEVICES");
    char list[SESSION_DEVICES_MAX * 64] = "", one[64];
    size_t used = 0;

    if (options->n_devices == 0)
        return;
    for (size_t i = 0; i < options->n_devices && used < sizeof list; i++) {
        devices_entry(before, options->devices[i], one, sizeof one);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? "," : "", one);
    }
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    options->device = 0;
}

static const char *fact(const json_t *environment, const char *name)
{
    return document_get_text(json_object_get(environment, "gpu"), name, "");
}

/* The whole of it has a board's name of its own: its rows are no other board's. */
static void name_board(json_t *environment, size_t n)
{
    json_t *gpu = json_object_get(environment, "gpu");
    json_object_set_new(gpu, "board", json_sprintf("%zux-%s", n, fact(environment, "board")));
    json_object_set_new(gpu, "name", json_sprintf("%zu x %s", n, fact(environment, "name")));
}

static bool find_one(struct session *s, json_t *gpus, size_t i)
{
    char why[DOCUMENT_WHY];
    json_t *document = session_ask(s, (int)i), *gpu = NULL;
    const json_t *environment = json_object_get(document, "environment");
    bool found = false;

    if (json_object_get(document, "gpu_state") || !(gpu = json_object_get(environment, "gpu")))
        out_say("gpufloor run: --devices: GPU %d cannot be measured\n", s->options.devices[i]);
    else if (strcmp(fact(environment, "board"), fact(s->environment, "board")))
        out_say("gpufloor run: --devices: GPU %d is a %s, GPU %d a %s: all must be one board\n",
                s->options.devices[i], fact(environment, "board"), s->options.devices[0],
                fact(s->environment, "board"));
    else
        found = json_array_append(gpus, gpu) == 0;
    if (found)
        s->beside[i - 1] = session_open_nvml((int)i, why);
    json_decref(document);
    return found;
}

bool devices_find(struct session *s)
{
    const size_t n = s->options.n_devices;
    bool found = true;

    if (n < 2)
        return true;
    json_t *gpus = json_array();
    json_array_append_new(gpus, json_copy(json_object_get(s->environment, "gpu")));
    for (size_t i = 1; i < n && found; i++)
        found = find_one(s, gpus, i);
    json_object_set_new(s->environment, "gpus", gpus);
    name_board(s->environment, n);
    return found;
}

bool devices_same(const json_t *environment, const json_t *other)
{
    const json_t *ours = json_object_get(environment, "gpus"),
                 *theirs = json_object_get(other, "gpus");
    bool same = json_array_size(ours) == json_array_size(theirs);

    for (size_t i = 0; same && i < json_array_size(ours); i++)
        same = !strcmp(document_get_text(json_array_get(ours, i), "id_hash", ""),
                       document_get_text(json_array_get(theirs, i), "id_hash", ""));
    return same;
}

/* --- watching them ---------------------------------------------------------------------------- */

struct nvml_state devices_state(const struct session *s)
{
    struct nvml_state all = nvml_state(s->nvml);

    for (size_t i = 0; i + 1 < s->options.n_devices; i++) {
        const struct nvml_state one = nvml_state(s->beside[i]);
        all.n_processes = one.n_processes > all.n_processes ? one.n_processes : all.n_processes;
        all.n_mps = one.n_mps > all.n_mps ? one.n_mps : all.n_mps;
        all.reasons |= one.reasons;
    }
    return all;
}
