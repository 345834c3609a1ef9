#include "report/cli/fleet.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"
#include "report/bundle/folder.h"
#include "report/cli/conditions.h"
#include "report/page/sections.h"

static const double ERROR_OF_MEDIAN = 1.2533, SIGMA_OF_MAD = 1.4826; /* of a normal distribution */

/* --- rows ------------------------------------------------------------------------------------- */

/* FNV-1a, continued. */
static unsigned long long mix(unsigned long long hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Method and kernels of a program, in whatever order its runs named them. */
static unsigned long long code_of(const struct bundle *bundle, const struct row *row)
{
    const struct part *part = bundle_part(bundle, row->probe);
    unsigned long long code = (unsigned long long)row->method;
    const char *image;
    json_t *hash;

    json_object_foreach(part ? part->cubins : NULL, image, hash) code += mix(
        mix(0xcbf29ce484222325u, image), json_string_value(hash) ? json_string_value(hash) : "");
    return code;
}

static double own_error(const struct row *row)
{
    const struct stat_summary s = stat_summarise(row->value, row->n);
    return row->n < 2 ? 0 : ERROR_OF_MEDIAN * SIGMA_OF_MAD * s.mad / sqrt((double)row->n);
}

/* The row of that name; its place, or SIZE_MAX when memory is short. */
static size_t place_of(struct fleet *fleet, const char *id, const struct row *row)
{
    const struct row *kept = rows_get(&fleet->rows, id, row->unit, row->better);
    return kept ? (size_t)(kept - fleet->rows.row) : SIZE_MAX;
}

/* Makes an array as long as there are rows. */
static void *grown(void *array, size_t *n, size_t needed, size_t size)
{
    const size_t room = 2 * needed + 64;
    char *more;

    if (needed <= *n)
        return array;
    if (!(more = realloc(array, room * size)))
        return NULL;
    memset(more + *n * size, 0, (room - *n) * size);
    *n = room;
    return more;
}

static bool put(struct fleet *fleet, struct fleet_file *file, const struct bundle *bundle,
                const char *id, const struct row *row)
{
    const size_t place = place_of(fleet, id, row);
    struct reading *readings =
        place == SIZE_MAX ? NULL
                          : grown(file->readings, &file->n_readings, place + 1, sizeof *readings);
    if (!readings)
        return false;
    file->readings = readings;
    readings[place] = (struct reading){.value = row->centre,
                                       .own = own_error(row) / row->centre,
                                       .tick = row->resolution / row->centre,
                                       .code = code_of(bundle, row),
                                       .n = row->n};
    return true;
}

/* --- which rows are shown --------------------------------------------------------------------- */

/* What the CPU paces says nothing of the card. */
static bool is_paced_by_host(const char *id)
{
    return strstr(id, "timer=wall") != NULL;
}

static bool show(struct fleet *fleet, struct fleet_file *file, size_t place, const char *label)
{
    bool *shown = grown(file->shown, &file->n_shown, place + 1, sizeof *shown);
    if (!shown)
        return false;
    file->shown = shown;
    shown[place] = true;
    if (!label)
        return true;
    char **labels = grown(fleet->label, &fleet->n_label, place + 1, sizeof *labels);
    if (!labels)
        return false;
    fleet->label = labels;
    if (!labels[place])
        labels[place] = strdup(label);
    return labels[place] != NULL;
}

/* A number of the summary is the row that the summary takes: of the best of several, it may be
 * another one on another card. Then it stands under its name, "hbm-one-warp". */
static bool put_named(struct fleet *fleet, struct fleet_file *file, const struct bundle *bundle)
{
    const struct summary summary = {.bundle = bundle};
    const struct summary_entry *entry;
    bool fine = true;

    for (size_t i = 0; fine && (entry = summary_at(i)); i++) {
        const struct number number = summary_number(&summary, entry->name);
        const struct row *row = number.id ? rows_find(&bundle->rows, number.id) : NULL;
        if (!row || !number_there(&number) || is_paced_by_host(row->id))
            continue;
        const char *id = entry->pick == PICK_BEST ? entry->name : row->id;
        fine = put(fleet, file, bundle, id, row) &&
               show(fleet, file, place_of(fleet, id, row), entry->label);
    }
    return fine;
}

static bool show_section(struct fleet *fleet, struct fleet_file *file, const struct bundle *bundle,
                         const struct section *section)
{
    bool fine = true;
    for (size_t g = 0; g < section->n_grids; g++)
        for (size_t i = 0; fine && i < section->grid[g].n_cells; i++) {
            const struct cell *cell = &section->grid[g].cell[i];
            const struct row *row = cell->kind != CELL_TEXT && cell->number.id
                                        ? rows_find(&bundle->rows, cell->number.id)
                                        : NULL;
            if (row && row_usable(row) && !is_paced_by_host(row->id))
                fine = show(fleet, file, place_of(fleet, row->id, row), NULL);
        }
    return fine;
}

/* The rows of the report's answers, but for the ledger, which shows others' rows. */
static bool show_answers(struct fleet *fleet, struct fleet_file *file, const struct bundle *bundle)
{
    const struct summary summary = {.bundle = bundle};
    const struct section_entry *entry;
    bool fine = true;

    for (size_t i = 0; fine && (entry = section_at(i)); i++) {
        struct section section = {.name = entry->name};
        if (entry->build == section_claims)
            continue;
        entry->build(&summary, &section);
        fine = show_section(fleet, file, bundle, &section);
        section_free(&section);
    }
    return fine;
}

/* --- files ------------------------------------------------------------------------------------ */

/* What must be equal: what forbids to compare, the commit, and how much was measured. */
static char *group_of(const struct bundle *bundle)
{
    char *text = NULL, value[160], *name = NULL;
    const char *key, *is;
    size_t size = 0;
    bool forbids;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; (key = condition_at(i, bundle, value, sizeof value, &is, &forbids)); i++)
        if (!strcmp(key, "board"))
            fputs(is, out);
        else if (forbids || !strcmp(key, "commit"))
            fprintf(out, ", %s %s", key, is);
    name = json_is_true(json_object_get(bundle->head, "quick"))  ? ", --quick"
           : json_is_true(json_object_get(bundle->head, "deep")) ? ", --deep"
                                                                  : "";
    fputs(name, out);
    return fclose(out) == 0 ? text : NULL;
}

/* NULL: it can be judged. */
static const char *unfit(const struct bundle *bundle)
{
    if (!bundle->board)
        return "no GPU was measured";
    if (json_is_false(json_object_get(bundle->head, "complete")))
        return document_get_text(bundle->head, "why", "not complete");
    return bundle->rows.n == 0 ? "nothing was measured" : NULL;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool leave_out(struct fleet *fleet, const char *path, const char *why)
{
    struct left_out *left = realloc(fleet->left, (fleet->n_left + 1) * sizeof *left);
    const size_t length = strlen(path);

    if (!left)
        return false;
    if (!strncmp(why, path, length) && why[length] == ':') /* the name stands before it */
        why += length + 1 + (why[length + 1] == ' ');
    fleet->left = left;
    left[fleet->n_left] = (struct left_out){strdup(base_of(path)), strdup(why)};
    fleet->n_left++;
    return left[fleet->n_left - 1].name && left[fleet->n_left - 1].why;
}

static bool describe(struct fleet_file *file, const struct bundle *bundle, const char *path)
{
    char text[160];
    const char *value;
    bool forbids;

    file->name = strdup(base_of(path));
    file->group = group_of(bundle);
    file->n_rounds = bundle->n_rounds;
    bundle_cards(bundle->head, CARD_WHOLE, file->card);
    for (size_t i = 0;
         i < FLEET_CONDITIONS && condition_at(i, bundle, text, sizeof text, &value, &forbids); i++)
        if (!(file->condition[i] = strdup(value)))
            return false;
    return file->name && file->group;
}

static bool is_new_group(const struct fleet *fleet, const struct fleet_file *file)
{
    for (size_t i = 0; i < fleet->n_files; i++)
        if (&fleet->files[i] != file && !strcmp(fleet->files[i].group, file->group))
            return false;
    return true;
}

static bool take_file(struct fleet *fleet, const struct bundle *bundle, const char *path)
{
    struct fleet_file *file = &fleet->files[fleet->n_files++];
    bool fine = describe(file, bundle, path) &&
                (!is_new_group(fleet, file) || show_answers(fleet, file, bundle));

    for (size_t i = 0; fine && i < bundle->rows.n; i++)
        if (row_usable(&bundle->rows.row[i]))
            fine = put(fleet, file, bundle, bundle->rows.row[i].id, &bundle->rows.row[i]);
    return fine && put_named(fleet, file, bundle);
}

bool fleet_read(struct fleet *fleet, const char *folder, char why[DOCUMENT_WHY])
{
    struct bundle bundle;
    size_t n = 0;
    char **paths = paths_in(folder, &n);
    bool fine;

    *fleet = (struct fleet){.files = calloc(n + 1, sizeof *fleet->files)};
    fine = fleet->files != NULL;
    for (size_t i = 0; fine && i < n; i++) {
        if (!bundle_open(&bundle, paths[i], why)) {
            fleet->n_unreadable++;
            fine = leave_out(fleet, paths[i], why);
            continue;
        }
        fine = unfit(&bundle) ? leave_out(fleet, paths[i], unfit(&bundle))
                              : take_file(fleet, &bundle, paths[i]);
        bundle_free(&bundle);
    }
    paths_free(paths, n);
    if (!fine)
        snprintf(why, DOCUMENT_WHY, "%.400s: out of memory", folder);
    else if (n == 0)
        folder_tell_empty(folder, why);
    else if (fleet->n_files == 0)
        snprintf(why, DOCUMENT_WHY, "%.200s: no bundle to judge; %.80s: %.150s", folder,
                 fleet->left[0].name, fleet->left[0].why);
    fine = fine && fleet->n_files > 0;
    if (!fine)
        fleet_free(fleet);
    return fine;
}

void fleet_free(struct fleet *fleet)
{
    for (size_t i = 0; fleet->files && i < fleet->n_files; i++) {
        free(fleet->files[i].name);
        free(fleet->files[i].group);
        free(fleet->files[i].readings);
        free(fleet->files[i].shown);
        for (size_t k = 0; k < FLEET_CONDITIONS; k++)
            free(fleet->files[i].condition[k]);
    }
    for (size_t i = 0; i < fleet->n_left; i++) {
        free(fleet->left[i].name);
        free(fleet->left[i].why);
    }
    for (size_t i = 0; i < fleet->n_label; i++)
        free(fleet->label[i]);
    free(fleet->files);
    free(fleet->left);
    free(fleet->label);
    rows_free(&fleet->rows);
    *fleet = (struct fleet){0};
}
