/* A report as Markdown. */
#include <string.h>

#include "report/page/emit.h"
#include "report/page/out.h"

enum { TEXT_MOST = 512, BAR = 20 };

static void put(FILE *out, const char *text)
{
    out_put(out, text, OUT_MD);
}

static void put_head(FILE *out, const struct section *section)
{
    for (size_t i = 0; i < section->n_lines; i++) {
        put(out, section->lines[i]);
        fputs("\n\n", out);
    }
    fputs("**", out);
    put(out, section->title);
    fputs("**: ", out);
    put(out, section->finding);
    fputs("\n\n", out);
    for (size_t i = 0; section->n_grids > 0 && i < grid_rows(&section->grid[0]); i++) {
        const struct cell *key = grid_at(&section->grid[0], i, 0);
        const struct cell *text = grid_at(&section->grid[0], i, 1);
        fputs("- ", out);
        put(out, key ? key->text : "");
        fputs(": ", out);
        put(out, text ? text->text : "");
        fputc('\n', out);
    }
}

/* A ladder is a picture: in a table of Markdown its time stands beside it. */
static bool is_shown(const struct grid *grid, size_t column)
{
    const struct cell *cell = grid_at(grid, 0, column);
    return !cell || cell->kind != CELL_LADDER;
}

static void put_cell(FILE *out, const struct grid *grid, size_t row, size_t column)
{
    char text[TEXT_MOST];
    const struct cell *cell = grid_at(grid, row, column);

    emit_cell(text, sizeof text, &grid->column[column], cell);
    put(out, text);
    if (cell && cell->kind == CELL_BAR)
        for (int i = 0; i < BAR && i + 0.5 < cell->number.value * BAR; i++)
            fputc('#', out);
}

/* A line that text draws above a row is a row of its own: its first cell. */
static void put_split(FILE *out, const struct grid *grid, size_t row)
{
    if (row >= grid->n_rows || !grid->split[row])
        return;
    fputs("| *", out);
    put(out, grid->split[row]);
    fputs("* ", out);
    for (size_t i = 1; i < grid->n_columns; i++)
        fputs(is_shown(grid, i) ? "| " : "", out);
    fputs("|\n", out);
}

static void put_grid(FILE *out, const struct grid *grid)
{
    char heading[TEXT_MOST];

    if (grid->caption) {
        put(out, grid->caption);
        fputs("\n\n", out);
    }
    for (size_t i = 0; i < grid->n_columns; i++)
        if (is_shown(grid, i)) {
            fputs("| ", out);
            put(out, emit_heading(heading, sizeof heading, grid, i));
            fputc(' ', out);
        }
    fputs("|\n", out);
    for (size_t i = 0; i < grid->n_columns; i++)
        if (is_shown(grid, i))
            fputs(grid->column[i].align == 'r' ? "|---:" : "|---", out);
    fputs("|\n", out);
    for (size_t row = 0; row < grid_rows(grid); row++) {
        put_split(out, grid, row);
        for (size_t i = 0; i < grid->n_columns; i++)
            if (is_shown(grid, i)) {
                fputs("| ", out);
                put_cell(out, grid, row, i);
                fputc(' ', out);
            }
        fputs("|\n", out);
    }
    fputc('\n', out);
}

/* Between fences nothing is markup; each line begins with a word of ours, so that none ends
 * them. */
static void put_lines(FILE *out, const struct section *section)
{
    if (section->n_lines == 0)
        return;
    fputs("```\n", out);
    for (size_t i = 0; i < section->n_lines; i++)
        out_printf(out, OUT_TEXT, "%s\n", section->lines[i]);
    fputs("```\n\n", out);
}

void emit_markdown(FILE *out, const struct section *section, size_t number)
{
    if (number == 0) {
        put_head(out, section);
        return;
    }
    if (section->has_no_number)
        fputs("\n## ", out);
    else
        fprintf(out, "\n## %zu. ", number);
    put(out, section->title);
    fputs("\n\n", out);
    const char *said = section->missing ? section->missing : section->finding;
    if (said) {
        put(out, said);
        fputs("\n\n", out);
    }
    if (section->missing)
        return;
    put_lines(out, section);
    for (size_t i = 0; i < section->n_grids; i++)
        put_grid(out, &section->grid[i]);
    for (size_t i = 0; i < section->n_notes; i++) {
        put(out, section->note[i]);
        fputs("\n\n", out);
    }
}

static void put_evidence(FILE *out, const char *row, const char *column,
                         const struct number *number, const char *shown)
{
    char evidence[TEXT_MOST];

    fputs("| ", out);
    put(out, row);
    fputs(" | ", out);
    put(out, column);
    fputs(" | ", out);
    put(out, emit_evidence(evidence, sizeof evidence, number, shown));
    fputs(" | ", out);
    put(out, number->id);
    fputs(" |\n", out);
}

void emit_markdown_cells(FILE *out, const struct section *section)
{
    char row[TEXT_MOST], column[TEXT_MOST];

    fputs("| row | column | value | metric |\n|---|---|---|---|\n", out);
    for (size_t g = 0; g < section->n_grids; g++) {
        const struct grid *grid = &section->grid[g];
        for (size_t i = 0; i < grid->n_cells; i++) {
            const struct cell *cell = &grid->cell[i];
            if (cell->kind == CELL_TEXT || !number_there(&cell->number))
                continue;
            put_evidence(out, emit_row_name(row, sizeof row, grid, i / grid->n_columns),
                         emit_column(column, sizeof column, grid, i % grid->n_columns),
                         &cell->number, grid->column[i % grid->n_columns].shown);
        }
    }
    for (size_t i = 0; i < section->n_series; i++)
        for (size_t k = 0; k < section->series[i].n; k++) {
            const struct series *series = &section->series[i];
            const struct number *y = &series->point[k].y;
            put_evidence(out, series->name,
                         emit_place(column, sizeof column, series, &series->point[k]), y,
                         emit_series_unit(series, y));
        }
}

void emit_markdown_short(FILE *out, const struct section *section)
{
    const struct grid *numbers = &section->grid[0], *claims = &section->grid[1];

    fputs("| ", out);
    put(out, section->title);
    fputs(" | | |\n|---|---:|---|\n", out);
    for (size_t row = 0; row < grid_rows(numbers); row++) {
        for (size_t i = 0; i < numbers->n_columns; i++) {
            fputs("| ", out);
            put_cell(out, numbers, row, i);
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
    if (section->finding) {
        fputs("\n**", out);
        put(out, section->finding);
        fputs("**", out);
    }
    for (size_t i = 0; i < section->n_notes; i++) {
        fputs(section->finding && i == 0 ? " " : "\n", out);
        put(out, section->note[i]);
    }
    fputs("\n\n", out);
    for (size_t i = 0; i < section->n_lines; i++) {
        fputs("**", out);
        put(out, section->lines[i]);
        fputs("**\n\n", out);
    }
    for (size_t row = 0; section->n_grids > 1 && row < grid_rows(claims); row++) {
        fputs("- ", out);
        put(out, grid_at(claims, row, 0)->text);
        fputs(" **", out);
        put(out, grid_at(claims, row, 1)->text);
        fputs("**: ", out);
        put(out, grid_at(claims, row, 3)->text);
        fputs("  \n  ", out);
        put(out, grid_at(claims, row, 2)->text);
        fputc('\n', out);
    }
}
