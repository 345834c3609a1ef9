/* A report as JSON, of the kind that results/schema/report.schema.json describes. Values stand in
 * the units of core/unit.h, never scaled. */
#include <math.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/out.h"

static json_t *value_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *number_json(const struct number *number)
{
    json_t *json = json_object();

    json_object_set_new(json, "value", value_json(number->value));
    json_object_set_new(json, "low", value_json(number->low));
    json_object_set_new(json, "high", value_json(number->high));
    json_object_set_new(json, "unit", out_json(number->unit));
    json_object_set_new(json, "id", out_json(number->id));
    json_object_set_new(json, "status", out_json(row_status_name(number->status)));
    json_object_set_new(json, "runs", json_integer((json_int_t)number->n));
    json_object_set_new(json, "once", json_boolean(number->once));
    json_object_set_new(json, "quoted", json_boolean(number->quoted));
    return json;
}

static json_t *cell_json(const struct cell *cell)
{
    static const char *const kinds[] = {"text", "number", "bar", "ladder"};
    json_t *json = cell->kind == CELL_TEXT ? json_object() : number_json(&cell->number);
    const char letter[2] = {cell->letter, '\0'};

    json_object_set_new(json, "kind", json_string(kinds[cell->kind]));
    if (cell->kind == CELL_TEXT || cell->text)
        json_object_set_new(json, cell->kind == CELL_TEXT ? "text" : "after",
                            out_json(cell->text ? cell->text : ""));
    if (cell->kind == CELL_LADDER)
        json_object_set_new(json, "class", out_json(letter));
    return json;
}

static json_t *columns_json(const struct grid *grid)
{
    json_t *columns = json_array();
    for (size_t i = 0; i < grid->n_columns; i++) {
        char heading[512];
        json_t *column = json_object();
        emit_heading(heading, sizeof heading, grid, i);
        json_object_set_new(column, "head", out_json(heading));
        json_object_set_new(column, "shown", out_json(grid->column[i].shown));
        json_array_append_new(columns, column);
    }
    return columns;
}

static json_t *grid_json(const struct grid *grid)
{
    json_t *json = json_object(), *rows = json_array();

    for (size_t row = 0; row < grid_rows(grid); row++) {
        json_t *one = json_object(), *cells = json_array();
        for (size_t i = 0; i < grid->n_columns; i++) {
            const struct cell *cell = grid_at(grid, row, i);
            json_array_append_new(cells, cell ? cell_json(cell) : json_null());
        }
        json_object_set_new(one, "above",
                            out_json(row < grid->n_rows ? grid->split[row] : NULL));
        json_object_set_new(one, "cells", cells);
        json_array_append_new(rows, one);
    }
    json_object_set_new(json, "caption", out_json(grid->caption));
    json_object_set_new(json, "columns", columns_json(grid));
    json_object_set_new(json, "rows", rows);
    return json;
}

static json_t *series_json(const struct series *series)
{
    json_t *json = json_object(), *points = json_array();

    for (size_t i = 0; i < series->n; i++) {
        json_t *point = json_object();
        json_object_set_new(point, "x", value_json(series->point[i].x));
        json_object_set_new(point, "y", number_json(&series->point[i].y));
        json_object_set_new(point, "label", out_json(series->point[i].label));
        json_array_append_new(points, point);
    }
    json_object_set_new(json, "name", out_json(series->name));
    json_object_set_new(json, "x_unit", out_json(series->x_unit));
    json_object_set_new(json, "points", points);
    return json;
}

static json_t *texts_json(const char *const *texts, size_t n)
{
    json_t *json = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(json, out_json(texts[i]));
    return json;
}

/* What the finding rests on. */
static json_t *rests_json(const struct section *section)
{
    json_t *json = json_array();
    for (size_t i = 0; i < section->n_rests; i++)
        json_array_append_new(json, number_json(&section->rest[i]));
    return json;
}

json_t *emit_json(const struct section *section, size_t number)
{
    json_t *json = json_object(), *grids = json_array(), *series = json_array();

    json_object_set_new(json, "number",
                        number && !section->has_no_number ? json_integer((json_int_t)number)
                                                          : json_null());
    json_object_set_new(json, "name", out_json(section->name));
    json_object_set_new(json, "title", out_json(section->title));
    json_object_set_new(json, "finding", out_json(section->finding));
    json_object_set_new(json, "rests", rests_json(section));
    json_object_set_new(json, "missing", out_json(section->missing));
    json_object_set_new(json, "lines",
                        texts_json((const char *const *)section->lines, section->n_lines));
    for (size_t i = 0; i < section->n_grids; i++)
        json_array_append_new(grids, grid_json(&section->grid[i]));
    json_object_set_new(json, "grids", grids);
    for (size_t i = 0; i < section->n_series; i++)
        json_array_append_new(series, series_json(&section->series[i]));
    json_object_set_new(json, "series", series);
    json_object_set_new(json, "notes",
                        texts_json((const char *const *)section->note, section->n_notes));
    json_object_set_new(json, "claims", out_json(section->claims));
    return json;
}
