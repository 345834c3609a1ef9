#include "report/bundle/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static int is_bundle_name(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 5, ".json");
}

/* One that describes documents is none itself. */
static bool is_schema_name(const char *path)
{
    static const char end[] = ".schema.json";
    const size_t length = strlen(path);
    return length >= sizeof end - 1 && !strcmp(path + length - (sizeof end - 1), end);
}

static int is_folder(const struct dirent *entry)
{
    return entry->d_type == DT_DIR && entry->d_name[0] != '.';
}

static char **list(const char *folder, int (*wanted)(const struct dirent *), size_t *n)
{
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, wanted, alphasort);
    char **paths = found > 0 ? calloc((size_t)found, sizeof *paths) : NULL;

    *n = 0;
    for (int i = 0; i < found; i++) {
        if (paths && asprintf(&paths[*n], "%s%s%s", folder,
                              folder[strlen(folder) - 1] == '/' ? "" : "/", entries[i]->d_name) > 0)
            ++*n;
        free(entries[i]);
    }
    free(entries);
    return paths;
}

char **paths_in(const char *folder, size_t *n)
{
    return list(folder, is_bundle_name, n);
}

char **folders_in(const char *folder, size_t *n)
{
    return list(folder, is_folder, n);
}

void paths_free(char **paths, size_t n)
{
    for (size_t i = 0; paths && i < n; i++)
        free(paths[i]);
    free(paths);
}

static int newest_first(const void *a, const void *b)
{
    const struct bundle *x = a, *y = b;
    return strcmp(document_get_text(y->head, "started", ""),
                  document_get_text(x->head, "started", ""));
}

/* --- choosing --------------------------------------------------------------------------------- */

struct choice {
    size_t bundle;
    bool found, current; /* current: measured by this tree's kernels */
    bool sound;          /* no check of it failed */
};

static bool is_current(const struct part *part, const struct folder_tree *tree)
{
    return part->n_ok > 0 &&
           !tree->differs(tree->programs, part->name, part->method, part->cubins);
}

/* Is a better than b, which comes from a newer bundle? */
static bool is_better(const struct choice *a, const struct choice *b)
{
    if (!b->found || a->current != b->current)
        return !b->found || a->current;
    return a->current && a->sound && !b->sound;
}

static struct choice choose(const struct bundle *bundles, size_t n, const char *probe,
                            const struct folder_tree *tree)
{
    struct choice choice = {0};
    for (size_t i = 0; i < n && !(choice.current && choice.sound); i++) {
        const struct part *part = bundle_part(&bundles[i], probe);
        if (!part)
            continue;
        struct choice other = {.bundle = i,
                               .found = true,
                               .current = is_current(part, tree),
                               .sound = part->n_failed == 0};
        if (is_better(&other, &choice))
            choice = other;
    }
    return choice;
}

/* Copies a probe's rows, with copies of their strings. */
static bool copy_rows(struct rows *into, const struct rows *from, const char *probe, bool stale)
{
    size_t end;
    for (size_t i = rows_of(from, probe, &end); i < end; i++) {
        struct row *copy = rows_add(into, &from->row[i]);
        if (!copy)
            return false;
        copy->stale = stale;
    }
    return true;
}

static bool copy_part(struct bundle *into, const struct bundle *from, const char *probe, bool stale)
{
    struct part *parts = realloc(into->parts, (into->n_parts + 1) * sizeof *parts);
    if (!parts)
        return false;
    into->parts = parts;
    const struct part *part = bundle_part(from, probe);
    struct part *copy = &parts[into->n_parts++];
    *copy = *part;
    copy->name = strdup(part->name);
    copy->what = part->what ? strdup(part->what) : NULL;
    copy->why = part->why ? strdup(part->why) : NULL;
    copy->note = part->note ? strdup(part->note) : NULL;
    copy->draft = part->draft ? strdup(part->draft) : NULL;
    copy->from = part->from ? strdup(part->from) : NULL;
    copy->commit = part->commit ? strdup(part->commit) : NULL;
    copy->card = part->card ? strdup(part->card) : NULL;
    copy->cubins = json_incref(part->cubins);
    copy->stale = stale;
    return copy->name && !copy->draft == !part->draft &&
           index_put(&into->programs, copy->name, into->n_parts - 1);
}

/* Bundles are ordered newest first. */
static bool merge(struct bundle *into, const struct bundle *bundles, size_t n, const char *folder,
                  const struct folder_tree *tree)
{
    bool merged = true;

    into->head = json_incref(bundles[0].head);
    into->name = strdup(bundles[0].name);
    into->board = bundles[0].board ? strdup(bundles[0].board) : NULL;
    into->path = strdup(folder);
    for (size_t i = 0; i < n; i++) {
        into->n_runs += bundles[i].n_runs;
        into->n_shared += bundles[i].n_shared;
        into->n_slowed += bundles[i].n_slowed;
        if (!into->slowed_by[0])
            memcpy(into->slowed_by, bundles[i].slowed_by, sizeof into->slowed_by);
    }
    for (size_t i = 0; i < n && merged; i++)
        for (size_t k = 0; k < bundles[i].n_parts && merged; k++) {
            const char *probe = bundles[i].parts[k].name;
            if (bundle_part(into, probe))
                continue;
            struct choice choice = choose(bundles, n, probe, tree);
            const struct bundle *from = &bundles[choice.bundle];
            merged = copy_rows(&into->rows, &from->rows, probe, !choice.current) &&
                     copy_part(into, from, probe, !choice.current);
            into->n_rounds = from->n_rounds > into->n_rounds ? from->n_rounds : into->n_rounds;
        }
    rows_finish(&into->rows);
    bundle_derive(into);
    return merged;
}

void folder_tell_empty(const char *folder, char why[DOCUMENT_WHY])
{
    size_t n_folders, used, n = 0;
    char **folders = folders_in(folder, &n_folders);

    used = (size_t)snprintf(why, DOCUMENT_WHY, "%.300s: holds no .json file; ", folder);
    for (size_t i = 0; i < n_folders; i++) {
        const char *name = strrchr(folders[i], '/') + 1;
        size_t n_paths;
        char **paths = paths_in(folders[i], &n_paths);
        const bool holds = n_paths > 0 && !is_schema_name(paths[0]);
        paths_free(paths, n_paths);
        if (holds && used + strlen(name) + 32 < DOCUMENT_WHY)
            used += (size_t)snprintf(why + used, DOCUMENT_WHY - used, "%s%s",
                                     n++ ? ", " : "folders in it that do: ", name);
    }
    if (n == 0)
        snprintf(why + used, DOCUMENT_WHY - used, "expected gpufloor bundles");
    paths_free(folders, n_folders);
}

static const char *board_of(const struct bundle *bundle)
{
    return bundle->board ? bundle->board : "no GPU";
}

/* False, with one line in why that names two of them, if they are of several boards. */
static bool of_one_board(const struct bundle *bundles, size_t n, const char *folder,
                         char why[DOCUMENT_WHY])
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(board_of(&bundles[i]), board_of(&bundles[0])) != 0) {
            snprintf(why, DOCUMENT_WHY, "%.300s: holds bundles of %.60s and of %.60s; expected one "
                     "board's: name a file", folder, board_of(&bundles[0]), board_of(&bundles[i]));
            return false;
        }
    return true;
}

bool folder_open(struct bundle *bundle, const char *folder, const struct folder_tree *tree,
                 char why[DOCUMENT_WHY])
{
    size_t n_paths, n = 0;
    char **paths = paths_in(folder, &n_paths);
    struct bundle *bundles = calloc(n_paths + 1, sizeof *bundles);
    bool opened = bundles != NULL;

    *bundle = (struct bundle){0};
    if (n_paths == 0)
        folder_tell_empty(folder, why);
    for (size_t i = 0; i < n_paths && opened; i++) {
        opened = bundle_open_measured(&bundles[n], paths[i], why);
        n += opened;
    }
    opened = opened && n > 0;
    if (opened) {
        qsort(bundles, n, sizeof *bundles, newest_first);
        opened = of_one_board(bundles, n, folder, why);
    }
    if (opened) {
        opened = merge(bundle, bundles, n, folder, tree);
        if (!opened)
            snprintf(why, DOCUMENT_WHY, "%.400s: out of memory", folder);
    }
    for (size_t i = 0; i < n; i++)
        bundle_free(&bundles[i]);
    free(bundles);
    paths_free(paths, n_paths);
    if (!opened)
        bundle_free(bundle);
    return opened;
}
