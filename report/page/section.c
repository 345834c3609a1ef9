#include "report/page/section.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* Room for one more of `n`; false if memory is short. */
static bool has_room(void *array, size_t n, size_t *room, size_t each)
{
    void **held = array;
    if (n < *room)
        return true;
    const size_t wanted = *room ? 2 * *room : 32;
    void *grown = realloc(*held, wanted * each);
    if (!grown)
        return false;
    *held = grown;
    *room = wanted;
    return true;
}

/* --- texts ------------------------------------------------------------------------------------ */

static const char *own(struct section *s, char *text)
{
    char **owned = text ? realloc(s->owned, (s->n_owned + 1) * sizeof *owned) : NULL;

    if (!owned) {
        free(text);
        return "";
    }
    s->owned = owned;
    s->owned[s->n_owned++] = text;
    return text;
}

static const char *own_format(struct section *s, const char *format, va_list arguments)
{
    char *text = NULL;
    return own(s, vasprintf(&text, format, arguments) < 0 ? NULL : text);
}

const char *section_text(struct section *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = own_format(s, format, arguments);
    va_end(arguments);
    return text;
}

const char *section_say(struct section *s, const struct number *number, const char *shown)
{
    char text[64];
    return section_text(s, "%s", number_say(text, sizeof text, number, shown));
}

void section_rests(struct section *s, const struct number *number)
{
    if (number_there(number) && has_room(&s->rest, s->n_rests, &s->rests_room, sizeof *s->rest))
        s->rest[s->n_rests++] = *number;
}

void section_rests_on(struct section *s, const struct row *row)
{
    const struct number number = number_of(row);
    section_rests(s, &number);
}

const char *section_label(struct section *s, const struct summary *summary, const char *label)
{
    const char *at = strstr(label, "HBM");
    return !at ? label
               : section_text(s, "%.*s%s%s", (int)(at - label), label,
                              summary_memory_name(summary), at + strlen("HBM"));
}

void section_missing(struct section *s, const struct summary *summary, const char *glob)
{
    char why[200];
    s->missing = section_text(s, "not measured: %s", summary_why(summary, glob, why, sizeof why));
}

static void add_line(const char ***lines, size_t *n, const char *text)
{
    const char **grown = realloc(*lines, (*n + 1) * sizeof *grown);
    if (!grown)
        return;
    *lines = grown;
    (*lines)[(*n)++] = text;
}

void section_line(struct section *s, const char *line)
{
    add_line(&s->lines, &s->n_lines, section_text(s, "%s", line));
}

void section_note(struct section *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_line(&s->note, &s->n_notes, own_format(s, format, arguments));
    va_end(arguments);
}

void section_go_on(struct section *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = own_format(s, format, arguments);
    va_end(arguments);
    if (s->n_notes == 0)
        add_line(&s->note, &s->n_notes, text);
    else
        s->note[s->n_notes - 1] = section_text(s, "%s %s", s->note[s->n_notes - 1], text);
}

/* --- tables ----------------------------------------------------------------------------------- */

struct grid *section_grid(struct section *s, const struct column *columns, size_t n)
{
    struct grid *grid = &s->grid[s->n_grids < SECTION_GRIDS ? s->n_grids++ : SECTION_GRIDS - 1];

    grid->n_columns = n < SECTION_COLUMNS ? n : SECTION_COLUMNS;
    memcpy(grid->column, columns, grid->n_columns * sizeof *columns);
    return grid;
}

static void put(struct grid *grid, const struct cell *cell)
{
    if (grid->n_cells % grid->n_columns == 0) {
        const size_t rows = grid->n_cells / grid->n_columns + 1;
        if (rows > grid->n_rows) {
            const char **split = realloc(grid->split, rows * sizeof *split);
            if (!split)
                return;
            grid->split = split;
            grid->split[grid->n_rows++] = NULL;
        }
    }
    if (has_room(&grid->cell, grid->n_cells, &grid->room, sizeof *cell))
        grid->cell[grid->n_cells++] = *cell;
}

void grid_split(struct grid *grid, const char *text)
{
    const char **split = realloc(grid->split, (grid->n_rows + 1) * sizeof *split);
    if (!split)
        return;
    grid->split = split;
    grid->split[grid->n_rows++] = text;
}

void grid_span(struct grid *grid, size_t from, size_t n)
{
    if (grid->n_spans < SECTION_SPANS && n > 0 && from + n <= grid->n_columns)
        grid->span[grid->n_spans++] = (struct span){from, n};
}

void grid_text(struct grid *grid, const char *text)
{
    put(grid, &(struct cell){.kind = CELL_TEXT, .text = text, .number = number_none()});
}

void grid_number(struct grid *grid, const struct number *number)
{
    put(grid, &(struct cell){.kind = CELL_NUMBER, .number = *number});
}

void grid_number_with(struct grid *grid, const struct number *number, const char *after)
{
    put(grid, &(struct cell){.kind = CELL_NUMBER, .number = *number, .text = after});
}

void grid_bar(struct grid *grid, const struct number *share)
{
    put(grid, &(struct cell){.kind = CELL_BAR, .number = *share});
}

void grid_ladder(struct grid *grid, const struct number *time, char letter)
{
    put(grid, &(struct cell){.kind = CELL_LADDER, .number = *time, .letter = letter});
}

/* --- doubts ----------------------------------------------------------------------------------- */

static const double SPREAD_SAID = 0.05;

/* The heading of the only column whose numbers were measured in two rounds only, where some other
 * number of their rows was measured in more. NULL: there is no such column. */
static const char *seldom_column(const struct grid *grid)
{
    size_t column = grid->n_columns;
    bool others = false;

    for (size_t i = 0; i < grid->n_cells; i++) {
        const struct cell *cell = &grid->cell[i];
        if (cell->kind != CELL_NUMBER || !number_there(&cell->number))
            continue;
        others = others || !cell->number.once;
        if (cell->number.once && column < grid->n_columns && column != i % grid->n_columns)
            return NULL;
        if (cell->number.once)
            column = i % grid->n_columns;
    }
    return others && column < grid->n_columns ? grid->column[column].head : NULL;
}

/* The largest spread of a row's numbers, and its column; `once`: is one of them measured in two
 * rounds only? */
static double row_doubts(const struct grid *grid, size_t row, bool *once, size_t *column)
{
    double most = 0;

    *once = false;
    *column = 0;
    for (size_t i = 0; i < grid->n_columns; i++) {
        const size_t at = row * grid->n_columns + i;
        if (at < grid->n_cells && grid->cell[at].kind == CELL_LADDER &&
            grid->cell[at].letter == 'h')
            return 0; /* the CPU's: told in the head */
        if (at >= grid->n_cells || grid->cell[at].kind != CELL_NUMBER ||
            !number_there(&grid->cell[at].number))
            continue;
        *once = *once || grid->cell[at].number.once;
        const double spread = number_spread(&grid->cell[at].number); /* NaN: no interval */
        if (spread > most) {
            most = spread;
            *column = i;
        }
    }
    return most;
}

/* " (1B, near: wait)": the heading of a column, and what stands above it and its neighbours. */
static const char *say_column(struct section *s, const struct grid *grid, size_t column)
{
    const char *over = NULL, *head = grid->column[column].head;

    for (size_t i = column + 1; !over && i-- > 0;)
        over = grid->column[i].over;
    return section_text(s, " (%s%s%s)", over ? over : "", over && head ? ": " : "",
                        head ? head : "");
}

void section_doubts(struct section *s)
{
    char seldom[400] = "", wide[400] = "";
    size_t worst;
    bool once;

    for (size_t g = 0; g < s->n_grids; g++) {
        const char *const column = seldom_column(&s->grid[g]);
        if (column)
            text_append(seldom, sizeof seldom, "%s%s", *seldom ? ", " : "", column);
        for (size_t row = 0; row * s->grid[g].n_columns < s->grid[g].n_cells; row++) {
            const struct cell *first = &s->grid[g].cell[row * s->grid[g].n_columns];
            const double spread = row_doubts(&s->grid[g], row, &once, &worst);
            const char *name = first->kind == CELL_TEXT && first->text ? first->text : "a row";
            if (once && !column)
                text_append(seldom, sizeof seldom, "%s%s", *seldom ? ", " : "", name);
            if (spread > SPREAD_SAID)
                text_append(wide, sizeof wide, "%s%s%s +-%.0f %%", *wide ? ", " : "", name,
                            s->names_columns ? say_column(s, &s->grid[g], worst) : "",
                            100 * spread);
        }
    }
    if (*wide)
        section_note(s, "Spread: %s.", wide);
    if (*seldom)
        section_note(s, "Two rounds only: %s.", seldom);
}

/* --- curves ----------------------------------------------------------------------------------- */

struct series *section_series(struct section *s, const char *name, const char *x_unit)
{
    struct series *series =
        &s->series[s->n_series < SECTION_SERIES ? s->n_series++ : SECTION_SERIES - 1];
    series->name = name;
    series->x_unit = x_unit;
    return series;
}

const struct series *section_find(const struct section *s, const char *name)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->series[i].name, name) && s->series[i].n > 0)
            return &s->series[i];
    return NULL;
}

void series_put(struct series *series, double x, const struct number *y, const char *label)
{
    if (has_room(&series->point, series->n, &series->room, sizeof *series->point))
        series->point[series->n++] = (struct point){.x = x, .y = *y, .label = label};
}

void section_free(struct section *s)
{
    for (size_t i = 0; i < s->n_grids; i++) {
        free(s->grid[i].cell);
        free(s->grid[i].split);
    }
    for (size_t i = 0; i < s->n_series; i++)
        free(s->series[i].point);
    for (size_t i = 0; i < s->n_owned; i++)
        free(s->owned[i]);
    free(s->rest);
    free(s->owned);
    free(s->lines);
    free(s->note);
    *s = (struct section){0};
}
