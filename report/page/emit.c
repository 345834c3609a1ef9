/* What the emitters share: the text of a cell, of a heading, of a row's name. */
#include "report/page/emit.h"

#include <math.h>
#include <string.h>

#include "core/unit.h"

size_t grid_rows(const struct grid *grid)
{
    return (grid->n_cells + grid->n_columns - 1) / grid->n_columns;
}

const struct cell *grid_at(const struct grid *grid, size_t row, size_t column)
{
    const size_t at = row * grid->n_columns + column;
    return column < grid->n_columns && at < grid->n_cells ? &grid->cell[at] : NULL;
}

/* A number of another card. What is formed of it, and a count, stand beside it without a mark. */
static bool is_marked(const struct number *number)
{
    return number->quoted && isfinite(number->value) && isfinite(number->low) &&
           strcmp(number->unit, "count") != 0;
}

char *emit_cell(char *text, size_t size, const struct column *column, const struct cell *cell)
{
    char value[64];

    text[0] = '\0';
    if (!cell)
        return text;
    if (cell->kind == CELL_TEXT) {
        snprintf(text, size, "%s", cell->text ? cell->text : "");
    } else if (cell->kind == CELL_NUMBER) {
        if (column->shown)
            number_cell(value, sizeof value, &cell->number, column->shown);
        else
            number_say(value, sizeof value, &cell->number, NULL);
        snprintf(text, size, "%s%s%s", value,
                 is_marked(&cell->number) ? "\u2020" : "",
                 cell->text ? cell->text : "");
    }
    return text;
}

static char *put_heading(char *text, size_t size, const struct column *c, const char *over)
{
    const bool has_over = over && *over, has_head = c->head && *c->head;

    snprintf(text, size, "%s%s%s", has_over ? over : "", has_over && has_head ? ", " : "",
             has_head ? c->head : "");
    if (c->shown && *c->shown && strcmp(c->shown, "x") && !strstr(text, c->shown)) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", c->shown);
    }
    return text;
}

char *emit_heading(char *text, size_t size, const struct grid *grid, size_t column)
{
    return put_heading(text, size, &grid->column[column], grid->column[column].over);
}

char *emit_column(char *text, size_t size, const struct grid *grid, size_t column)
{
    const char *over = grid->column[column].over;

    for (size_t i = 0; i < grid->n_spans && !over; i++)
        if (column >= grid->span[i].from && column - grid->span[i].from < grid->span[i].n)
            over = grid->column[grid->span[i].from].over;
    return put_heading(text, size, &grid->column[column], over);
}

char *emit_row_name(char *text, size_t size, const struct grid *grid, size_t row)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct cell *cell = grid_at(grid, row, i);
        if (!cell || cell->kind != CELL_TEXT)
            break;
        if (!cell->text || !*cell->text || used + 1 >= size)
            continue;
        snprintf(text + used, size - used, "%s%s", used ? " " : "", cell->text);
        used = strlen(text);
    }
    return text;
}

char *emit_evidence(char *text, size_t size, const struct number *number, const char *shown)
{
    enum { DIGITS = 4 };
    const char *const unit = number->unit;
    char value[48], low[48], high[48], runs[48] = "";
    const bool is_whole = isfinite(number->low);

    number_exact(value, sizeof value, number->value, unit, shown, DIGITS);
    if (number->n > 0)
        snprintf(runs, sizeof runs, ", %zu run%s", number->n, number->n == 1 ? "" : "s");
    if (is_whole)
        snprintf(text, size, "%s, %s to %s%s, %s%s", value,
                 number_exact(low, sizeof low, number->low, unit, shown, DIGITS),
                 number_exact(high, sizeof high, number->high, unit, shown, DIGITS), runs,
                 row_status_name(number->status), number->quoted ? ", of another card" : "");
    else
        snprintf(text, size, "%s, no interval%s, %s%s", value, runs,
                 row_status_name(number->status), number->quoted ? ", of another card" : "");
    return text;
}

/* Names of axes, which stand before a number; all others are units, which follow it. */
static bool is_axis(const char *x_unit)
{
    static const char *const axes[] = {"N", "batch", "rank", "part", "level", "factor"};

    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (!strcmp(axes[i], x_unit))
            return true;
    return false;
}

char *emit_place(char *text, size_t size, const struct series *series, const struct point *point)
{
    const bool is_named = is_axis(series->x_unit);
    char x[32];

    snprintf(x, sizeof x, point->x == rint(point->x) ? "%.10g" : "%.6g", point->x);
    const bool has_label = point->label && *point->label && strcmp(point->label, x) != 0;
    snprintf(text, size, "%s%s%s%s%s%s", is_named ? series->x_unit : x, is_named ? " = " : " ",
             is_named ? x : series->x_unit, has_label ? " (" : "", has_label ? point->label : "",
             has_label ? ")" : "");
    return text;
}

const char *emit_series_unit(const struct series *series, const struct number *number)
{
    const char *const comma = strrchr(series->name, ',');
    const char *const unit = comma && comma[1] == ' ' ? comma + 2 : NULL;
    return unit && isfinite(number_scale(number->unit, unit)) ? unit : NULL;
}
