#include "report/floor/frozen.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, LINE_MOST = 1024 };
static const char heads[] = "model\tcontext\tbatch\tpackaging\tlayer_ns\tlayer_fast_ns\t"
                            "layer_slow_ns\tstep_ns\tstep_fast_ns\tstep_slow_ns\tlayer_floor_ns\t"
                            "step_floor_ns\n";
static const char ending[] = ".tsv", from[] = "-from-";

/* Is it a file of predictions, named by a day before the other? */
static bool is_before(const char *name, const char *day)
{
    const size_t length = strlen(name), tail = sizeof ending - 1;
    return length > FROZEN_DAY + tail && length - tail < FROZEN_NAME &&
           strcmp(name + length - tail, ending) == 0 && strncmp(name, day, FROZEN_DAY) < 0;
}

/* Into text without its ending: names begin with their day, so the last by letters is the
 * newest. */
static bool newest(const char *folder, const char *day, char text[FROZEN_NAME])
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;

    text[0] = '\0';
    while (entries && (entry = readdir(entries)))
        if (is_before(entry->d_name, day) && strcmp(entry->d_name, text) > 0)
            snprintf(text, FROZEN_NAME, "%.*s", (int)(strlen(entry->d_name) - sizeof ending + 1),
                     entry->d_name);
    if (entries)
        closedir(entries);
    return text[0] != '\0';
}

/* The day on which they were made, and the bundle that they rest on. */
static void take_name(struct frozen *frozen)
{
    const char *rest = frozen->name + FROZEN_DAY;

    snprintf(frozen->day, sizeof frozen->day, "%.*s", FROZEN_DAY, frozen->name);
    frozen->bundle =
        strncmp(rest, from, sizeof from - 1) == 0 ? rest + sizeof from - 1 : frozen->name;
}

/* A number that is not negative; NaN for "-" and for anything else. */
static double number_in(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    return end == text || *end || !isfinite(value) || value < 0 ? (double)NAN : value;
}

/* A line of twelve columns. */
static bool take_line(struct frozen_cell *cell, char *line)
{
    char *column[COLUMNS], *rest = line;

    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < COLUMNS; i++)
        if (!(column[i] = strsep(&rest, "\t")))
            return false;
    *cell = (struct frozen_cell){.context = number_in(column[1]),
                                 .batch = number_in(column[2]),
                                 .layer = number_in(column[4]),
                                 .step = number_in(column[7]),
                                 .layer_floor = number_in(column[10]),
                                 .step_floor = number_in(column[11])};
    snprintf(cell->model, sizeof cell->model, "%.31s", column[0]);
    snprintf(cell->packaging, sizeof cell->packaging, "%.15s", column[3]);
    return !rest;
}

bool frozen_read(struct frozen *frozen, const char *results, const char *board,
                 const char *measured)
{
    char folder[PATH_MAX], path[PATH_MAX + FROZEN_NAME + sizeof ending], line[LINE_MOST];

    frozen->n = 0;
    if (!results || !board || !measured || strchr(board, '/') || board[0] == '.' ||
        snprintf(folder, sizeof folder, "%s/%s/floor", results, board) >= PATH_MAX ||
        !newest(folder, measured, frozen->name))
        return false;
    take_name(frozen);
    snprintf(path, sizeof path, "%s/%s%s", folder, frozen->name, ending);
    FILE *file = fopen(path, "r");
    bool holds = file && fgets(line, sizeof line, file) && strcmp(line, heads) == 0;
    while (holds && frozen->n < FROZEN_CELLS && fgets(line, sizeof line, file))
        holds = take_line(&frozen->cell[frozen->n++], line);
    if (file)
        fclose(file);
    frozen->n = holds ? frozen->n : 0;
    return frozen->n > 0;
}

const struct frozen_cell *frozen_find(const struct frozen *frozen, const char *model,
                                      double context, const char *packaging)
{
    for (size_t i = 0; i < frozen->n; i++) {
        const struct frozen_cell *cell = &frozen->cell[i];
        if (strcmp(cell->model, model) == 0 && cell->context == context && cell->batch == 1 &&
            strcmp(cell->packaging, packaging) == 0)
            return cell;
    }
    return NULL;
}
