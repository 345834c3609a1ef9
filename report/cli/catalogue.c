#include "report/cli/catalogue.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/document.h"
#include "core/text.h"
#include "report/bundle/cubins.h"
#include "report/bundle/folder.h"
#include "report/page/out.h"
#include "report/cli/child.h"
#include "report/cli/home.h"
#include "report/cli/suggest.h"

static const char *const folders[] = {"probes", "matmul", "fused", "links"};
static const double LIST_LIMIT_S = 20;

/* --- finding ---------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

static bool append(struct catalogue *catalogue, const char *name, const char *path)
{
    struct listed *probes = realloc(catalogue->probes, (catalogue->n + 1) * sizeof *probes);
    if (!probes)
        return false;
    catalogue->probes = probes;
    probes[catalogue->n] = (struct listed){.name = strdup(name), .path = strdup(path)};
    if (!probes[catalogue->n].name || !probes[catalogue->n].path)
        return false;
    catalogue->n++;
    return true;
}

static void add(struct catalogue *catalogue, const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX && is_program(path))
        append(catalogue, name, path);
}

static int no_dots(const struct dirent *entry)
{
    return strchr(entry->d_name, '.') == NULL;
}

static void find_in(struct catalogue *catalogue, const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, no_dots, alphasort);

    for (int i = 0; i < n; i++) {
        add(catalogue, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* --- asking ----------------------------------------------------------------------------------- */

static enum listed_needs needs_of(const char *text)
{
    if (!strcmp(text, "gpu"))
        return NEEDS_GPU;
    return !strcmp(text, "gpu if any") ? NEEDS_GPU_IF_ANY : NEEDS_HOST;
}

static bool has_parameter(const json_t *list, const char *name)
{
    const json_t *parameters = json_object_get(list, "parameters"), *one;
    size_t i;
    json_array_foreach(parameters, i, one) if (!strcmp(document_get_text(one, "name", ""), name))
        return true;
    return false;
}

static void ask_one(struct listed *probe)
{
    const char *const argv[] = {probe->path, "--list", "--json", NULL};
    struct child_result result;
    json_error_t error;

    if (child_run(argv, LIST_LIMIT_S, NULL, NULL, &result) && result.exit_code == 0)
        probe->list = json_loadb(result.out ? result.out : "", result.n_out, 0, &error);
    if (!json_is_object(probe->list) ||
        strcmp(document_get_text(probe->list, "name", ""), probe->name)) {
        char end[400];
        json_decref(probe->list);
        probe->list = NULL;
        snprintf(probe->why, sizeof probe->why,
                 "--list --json gave no description of itself (%.300s)",
                 child_end(&result, LIST_LIMIT_S, end, sizeof end));
    } else {
        probe->needs = needs_of(document_get_text(probe->list, "needs", ""));
        probe->method = (int)json_integer_value(json_object_get(probe->list, "method"));
        probe->is_draft = json_object_get(probe->list, "draft") != NULL;
        probe->takes_gpus = has_parameter(probe->list, "gpus");
    }
    child_free(&result);
}

void catalogue_open(struct catalogue *catalogue, bool ask)
{
    char path[PATH_MAX];
    *catalogue = (struct catalogue){0};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        find_in(catalogue, home_path(path, HOME_PROGRAMS, folders[i]));
    for (size_t i = 0; ask && i < catalogue->n; i++)
        ask_one(&catalogue->probes[i]);
}

bool catalogue_add(struct catalogue *catalogue, const char *file, char why[DOCUMENT_WHY])
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    char path[PATH_MAX], name[PATH_MAX];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    /* without a slash PATH would be searched */
    if (snprintf(path, sizeof path, "%s%s", slash ? "" : "./", file) >= PATH_MAX ||
        !is_program(path) || !*name) {
        snprintf(why, DOCUMENT_WHY, "%.300s: expected a program that can be run", file);
        return false;
    }
    if (catalogue_find(catalogue, name)) {
        snprintf(why, DOCUMENT_WHY, "%.200s: there is a probe '%.100s' already", file, name);
        return false;
    }
    if (!append(catalogue, name, path)) {
        snprintf(why, DOCUMENT_WHY, "%.300s: out of memory", file);
        return false;
    }
    struct listed *probe = &catalogue->probes[catalogue->n - 1];
    probe->added = true;
    ask_one(probe);
    if (!probe->list)
        snprintf(why, DOCUMENT_WHY, "%.100s: %s", file, probe->why);
    return probe->list != NULL;
}

void catalogue_free(struct catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->n; i++) {
        free(catalogue->probes[i].name);
        free(catalogue->probes[i].path);
        json_decref(catalogue->probes[i].list);
    }
    free(catalogue->probes);
    *catalogue = (struct catalogue){0};
}

const struct listed *catalogue_find(const struct catalogue *catalogue, const char *name)
{
    for (size_t i = 0; i < catalogue->n; i++)
        if (!strcmp(catalogue->probes[i].name, name))
            return &catalogue->probes[i];
    return NULL;
}

bool catalogue_knows(const struct catalogue *catalogue, const char *command, char *const names[],
                     size_t n)
{
    char text[DOCUMENT_WHY];

    if (catalogue->n == 0) {
        out_say("gpufloor %s: no programs belong to this one: expected the folders probes, matmul, "
                "fused and links in %s ('make' builds them, 'make install' installs them)\n",
                command, home_looked(text, sizeof text, HOME_PROGRAMS));
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct suggest near = suggest_for(names[i]);
        char meant[SUGGEST_TEXT];
        if (catalogue_find(catalogue, names[i]))
            continue;
        for (size_t k = 0; k < catalogue->n; k++)
            suggest_try(&near, catalogue->probes[k].name);
        out_say("gpufloor %s: unknown probe '%s': expected one that 'gpufloor list' shows (those "
                "that run kernels are built by 'make', with a CUDA toolkit)%s\n",
                command, names[i], suggest_text(meant, &near));
        return false;
    }
    return true;
}

bool catalogue_differs(const struct catalogue *catalogue, const char *name, int method,
                       const json_t *cubins)
{
    const struct listed *probe = catalogue_find(catalogue, name);
    const json_t *here = probe ? json_object_get(probe->list, "cubins") : NULL;

    if (!probe || !probe->list)
        return false;
    return probe->method != method || cubins_changed(cubins, here) > 0;
}

/* --- bundles against the tree ----------------------------------------------------------------- */

static bool differs(const void *programs, const char *probe, int method, const json_t *cubins)
{
    return catalogue_differs(programs, probe, method, cubins);
}

bool catalogue_standard(const char *command, char path[PATH_MAX])
{
    char text[DOCUMENT_WHY];

    if (access(home_path(path, HOME_RESULTS, "nvidia-h200"), R_OK | X_OK) == 0)
        return true;
    out_say("gpufloor %s: no committed results: expected nvidia-h200 in %s; name a bundle\n",
            command, home_looked(text, sizeof text, HOME_RESULTS));
    return false;
}

/* What may have been meant by a path that was not read, appended to why. */
static void tell_meant(const char *path, char why[DOCUMENT_WHY])
{
    char board[PATH_MAX];

    if (strstr(why, "schema counters")) {
        text_append(why, DOCUMENT_WHY,
                    "; 'gpufloor report' shows such a document alone: name one file");
        return;
    }
    if (access(path, F_OK) == 0 || !*path || strchr(path, '/') || !strcmp(path, "-") ||
        snprintf(board, sizeof board, "results/%s", path) >= PATH_MAX)
        return;
    if (access(board, R_OK | X_OK) == 0 ||
        access(home_path(board, HOME_RESULTS, path), R_OK | X_OK) == 0)
        text_append(why, DOCUMENT_WHY, "; did you mean '%.200s'?", board);
}

static bool read_any(struct catalogue *asked, struct bundle *bundle, const char *path,
                     char why[DOCUMENT_WHY])
{
    struct stat facts;

    if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return bundle_open(bundle, path, why);
    if (asked->n == 0)
        catalogue_open(asked, true);
    const struct folder_tree tree = {.differs = differs, .programs = asked};
    return folder_open(bundle, path, &tree, why);
}

bool catalogue_read_by(struct catalogue *asked, struct bundle *bundle, const char *path,
                       char why[DOCUMENT_WHY])
{
    const bool read = read_any(asked, bundle, path, why);
    if (!read)
        tell_meant(path, why);
    return read;
}

bool catalogue_read(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY])
{
    struct catalogue asked = {0};
    const bool opened = catalogue_read_by(&asked, bundle, path, why);
    catalogue_free(&asked);
    return opened;
}
