/* Tables of a section: what it shows, and each row that it rests on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/unit.h"
#include "report/page/emit.h"
#include "report/page/html.h"

enum { TEXT_MOST = 512, BAR_WIDTH = 120 };

/* --- what a section shows --------------------------------------------------------------------- */

/* A picture of a ladder stands in the figure; a column without heading and cells would be empty. */
static bool is_shown(const struct grid *grid, size_t column)
{
    for (size_t i = 0; i < grid_rows(grid); i++) {
        const struct cell *cell = grid_at(grid, i, column);
        if (cell && cell->kind == CELL_LADDER)
            return false;
    }
    return true;
}

static void put_headings(FILE *out, const struct grid *grid)
{
    char heading[TEXT_MOST];

    fputs("<thead><tr>", out);
    for (size_t i = 0; i < grid->n_columns; i++) {
        if (!is_shown(grid, i))
            continue;
        fprintf(out, "<th scope=\"col\"%s>", grid->column[i].align == 'r' ? " class=\"r\"" : "");
        const struct column *c = &grid->column[i];
        if (c->over && *c->over && c->head && *c->head) {
            html_prose(out, c->over);
            fputs("<br>", out);
            html_prose(out, c->head);
        } else if (c->head && c->head[0] >= '0' && c->head[0] <= '9')
            html_prose(out, c->head); /* a batch: the unit stands in the first column */
        else
            html_prose(out, emit_heading(heading, sizeof heading, grid, i));
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void put_cell(FILE *out, const struct grid *grid, size_t row, size_t column)
{
    const struct cell *cell = grid_at(grid, row, column);
    char text[TEXT_MOST];

    fputs(grid->column[column].align == 'r' ? "<td class=\"r\">"
          : column == 0                     ? "<td class=\"w\">"
                                            : "<td class=\"l\">",
          out);
    html_prose(out, emit_cell(text, sizeof text, &grid->column[column], cell));
    if (cell && cell->kind == CELL_BAR && cell->number.value > 0)
        fprintf(out, "<span class=\"bar\" style=\"width:%.0fpx\"></span>",
                fmin(cell->number.value, 1) * BAR_WIDTH);
    fputs("</td>", out);
}

static void put_grid(FILE *out, const struct grid *grid)
{
    fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n", out);
    if (grid->caption) {
        fputs("<caption>", out);
        html_prose(out, grid->caption);
        fputs("</caption>\n", out);
    }
    put_headings(out, grid);
    for (size_t row = 0; row < grid_rows(grid); row++) {
        if (row < grid->n_rows && grid->split[row]) {
            fprintf(out, "<tr><td class=\"split\" colspan=\"%zu\">", grid->n_columns);
            html_prose(out, grid->split[row]);
            fputs("</td></tr>\n", out);
        }
        fputs("<tr>", out);
        for (size_t i = 0; i < grid->n_columns; i++)
            if (is_shown(grid, i))
                put_cell(out, grid, row, i);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* Where a figure shows all of a table, it waits until it is asked for. */
static bool is_drawn(const struct section *section)
{
    static const char *const drawn[] = {"memory", "flight", "ladder"};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++)
        if (!strcmp(section->name, drawn[i]))
            return true;
    return false;
}

void html_tables(FILE *out, const struct section *section)
{
    const bool waits = section->n_grids > 0 && is_drawn(section);

    if (section->n_grids == 0)
        return;
    fputs("<div class=\"tables\">\n", out);
    fputs(waits ? "<details><summary>As a table</summary>\n" : "", out);
    for (size_t i = 0; i < section->n_grids; i++)
        put_grid(out, &section->grid[i]);
    fputs(waits ? "</details>\n</div>\n" : "</div>\n", out);
}

/* --- the rows it rests on --------------------------------------------------------------------- */

void html_value(FILE *out, double value, const char *unit)
{
    char text[64];
    enum { DIGITS = 4 };

    fputs("<td>", out);
    html_text(out, isfinite(value) ? unit_format(text, sizeof text, value, unit, DIGITS) : "-");
    fputs("</td>", out);
}

static void put_row(FILE *out, const struct page *page, const struct page_row *row)
{
    const struct number *number = row->number;
    const struct row *is = rows_find(&page->summary->bundle->rows, number->id);
    const struct number whole = is && !number->quoted ? number_of(is) : *number;

    fputs("<tr id=\"", out);
    html_text(out, row->anchor);
    fputs("\"><td>", out);
    html_prose(out, row->what);
    fputs("</td>", out);
    html_value(out, whole.value, whole.unit);
    html_value(out, whole.low, whole.unit);
    html_value(out, whole.high, whole.unit);
    fprintf(out, "<td>%zu</td><td>%s%s</td><td class=\"id\">", whole.n,
            row_status_name(whole.status), number->quoted ? ", quoted" : "");
    html_text(out, number->id);
    fputs("</td></tr>\n", out);
}

void html_rows(FILE *out, const struct page *page, size_t section)
{
    size_t n = 0;

    for (size_t i = 0; i < page->n_rows; i++)
        n += page->row[i].section == section;
    if (n == 0)
        return;
    fprintf(
        out,
        "<details class=\"rows\"><summary>The %zu row%s this rests on: interval, runs, "
        "status, id</summary>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>"
        "<th>what</th><th class=\"r\">centre</th><th class=\"r\">low</th><th class=\"r\">high</th>"
        "<th class=\"r\">runs</th><th>status</th><th>id</th></tr></thead>\n<tbody>\n",
        n, n == 1 ? "" : "s");
    for (size_t i = 0; i < page->n_rows; i++)
        if (page->row[i].section == section)
            put_row(out, page, &page->row[i]);
    fputs("</tbody></table></div></details>\n", out);
}
