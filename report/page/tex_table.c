/* A section as a LaTeX table. */
#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/evidence.h"
#include "report/page/tex.h"

enum { TEXT_MOST = 512, LONG_TEXT = 58, LABEL_LONG = 28, WIDE = 80, VERY_WIDE = 100 };
static const char FEW[] = "\\ddagger", QUOTED[] = "\\dagger", STAR[] = "\\ast";

/* How a column is set. A bar is a picture made of characters, and is left out; of a ladder's
 * drawing remains the letter of the class. */
enum kind { KIND_NONE, KIND_LETTER, KIND_NUMBER, KIND_TEXT };

struct layout {
    const struct grid *grid;
    const struct evidence *evidence; /* one a board */
    size_t n_boards;
    enum kind kind[SECTION_COLUMNS];
    char over[SECTION_COLUMNS][80], head[SECTION_COLUMNS][80], unit[SECTION_COLUMNS][16];
    size_t n_shown;
};

/* --- columns ---------------------------------------------------------------------------------- */

static bool is_blank(const struct cell *cell)
{
    return cell->kind == CELL_TEXT && (!cell->text || !*cell->text || !strcmp(cell->text, "-"));
}

static enum kind kind_of(const struct grid *grid, size_t column)
{
    bool all_numbers = grid->column[column].shown != NULL, any = false;

    for (size_t row = 0; row < grid_rows(grid); row++) {
        const struct cell *cell = grid_at(grid, row, column);
        if (!cell)
            continue;
        if (cell->kind == CELL_BAR || cell->kind == CELL_LADDER)
            return cell->kind == CELL_BAR ? KIND_NONE : KIND_LETTER;
        any = any || cell->kind == CELL_NUMBER;
        all_numbers = all_numbers && (cell->kind == CELL_NUMBER || is_blank(cell));
    }
    return all_numbers && any ? KIND_NUMBER : KIND_TEXT;
}

/* A heading without the unit, which has a line of its own: "best us" becomes "best". */
static void without_unit(char *text, const char *unit)
{
    const size_t n = strlen(text), n_unit = strlen(unit);

    if (n_unit == 0 || n < n_unit || strcmp(text + n - n_unit, unit) != 0 ||
        (n > n_unit && text[n - n_unit - 1] != ' '))
        return;
    size_t end = n - n_unit;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ','))
        end--;
    text[end] = '\0';
}

static const struct span *span_of(const struct grid *grid, size_t column)
{
    for (size_t i = 0; i < grid->n_spans; i++)
        if (column >= grid->span[i].from && column < grid->span[i].from + grid->span[i].n)
            return &grid->span[i];
    return NULL;
}

/* What stands above the columns of a span: the first of their overs. */
static const char *over_span(const struct grid *grid, const struct span *span)
{
    for (size_t i = span->from; i < span->from + span->n; i++)
        if (grid->column[i].over && *grid->column[i].over)
            return grid->column[i].over;
    return "";
}

static void head_column(struct layout *l, size_t i)
{
    const struct span *span = span_of(l->grid, i);
    const struct column *column = &l->grid->column[i];
    const bool has_unit = column->shown && *column->shown && strcmp(column->shown, "x") != 0;

    snprintf(l->over[i], sizeof l->over[i], "%s", column->over ? column->over : "");
    snprintf(l->head[i], sizeof l->head[i], "%s", column->head ? column->head : "");
    snprintf(l->unit[i], sizeof l->unit[i], "%s", has_unit ? column->shown : "");
    without_unit(l->over[i], l->unit[i]);
    without_unit(l->head[i], l->unit[i]);
    if (l->kind[i] == KIND_LETTER)
        snprintf(l->head[i], sizeof l->head[i], "class");
    if (span && !strcmp(over_span(l->grid, span), l->unit[i]))
        l->unit[i][0] = '\0';
    if (span || !*l->head[i]) {
        if (!span)
            snprintf(l->head[i], sizeof l->head[i], "%s", l->over[i]);
        l->over[i][0] = '\0';
    }
}

/* What a table of sections is set with: how each board's numbers were measured. */
struct boards_evidence {
    struct evidence of[2];
    size_t n;
};

static struct layout layout_of(const struct grid *grid, const struct boards_evidence *evidence)
{
    struct layout l = {.grid = grid, .evidence = evidence->of, .n_boards = evidence->n};

    for (size_t i = 0; i < grid->n_columns; i++) {
        l.kind[i] = kind_of(grid, i);
        l.n_shown += l.kind[i] != KIND_NONE;
        head_column(&l, i);
    }
    return l;
}

static size_t longest(const struct grid *grid, size_t column)
{
    char text[TEXT_MOST];
    size_t most = 0;

    for (size_t row = 0; row < grid_rows(grid); row++) {
        const size_t n =
            strlen(emit_cell(text, sizeof text, &grid->column[column], grid_at(grid, row, column)));
        most = n > most ? n : most;
    }
    return most;
}

/* Characters of a table's widest line, with two between columns. */
static size_t width_of(const struct layout *l)
{
    size_t width = 0;

    for (size_t i = 0; i < l->grid->n_columns; i++) {
        size_t most = longest(l->grid, i);
        most = most > LONG_TEXT ? LONG_TEXT : most;
        most = strlen(l->over[i]) > most ? strlen(l->over[i]) : most;
        most = strlen(l->head[i]) > most ? strlen(l->head[i]) : most;
        most = strlen(l->unit[i]) > most ? strlen(l->unit[i]) : most;
        width += l->kind[i] == KIND_NONE ? 0 : most + 2;
    }
    return width;
}

/* Of two boards the third column has the numbers of the second; ratios are judged as the
 * first's. */
static size_t board_of(size_t n_boards, size_t column)
{
    return n_boards > 1 && column == 2;
}

static bool is_few(const struct layout *l, size_t column, const struct cell *cell)
{
    return evidence_is_few(&l->evidence[board_of(l->n_boards, column)], &cell->number);
}

static bool has_star(const struct cell *cell)
{
    return cell->text && !strcmp(cell->text, "*");
}

static bool has_mark(const struct layout *l, size_t column, const struct cell *cell)
{
    return number_there(&cell->number) &&
           (cell->number.quoted || has_star(cell) || is_few(l, column, cell));
}

/* S[table-format=4.2]: digits before and behind the point, and room for marks. */
static void put_numeric(FILE *out, const struct layout *l, size_t column)
{
    size_t before = 1, behind = 0;
    bool marked = false;

    for (size_t row = 0; row < grid_rows(l->grid); row++) {
        const struct cell *cell = grid_at(l->grid, row, column);
        char text[64];
        if (!cell || cell->kind != CELL_NUMBER || !number_there(&cell->number))
            continue;
        number_cell(text, sizeof text, &cell->number, l->grid->column[column].shown);
        const char *digits = text + (*text == '-'), *point = strchr(digits, '.');
        const size_t whole = point ? (size_t)(point - digits) : strlen(digits);
        const size_t part = point ? strlen(point + 1) : 0;
        before = whole > before ? whole : before;
        behind = part > behind ? part : behind;
        marked = marked || has_mark(l, column, cell);
    }
    fprintf(out, "S[table-format=%zu.%zu%s%s%s]", before, behind,
            marked ? ",table-align-text-post=false,table-space-text-post={$^{" : "",
            marked ? QUOTED : "", marked ? "}$}" : "");
}

static void put_columns(FILE *out, const struct layout *l)
{
    const bool is_very_wide = width_of(l) > VERY_WIDE;

    fputs("\\begin{tabular}{@{}", out);
    for (size_t i = 0; i < l->grid->n_columns; i++)
        if (l->kind[i] == KIND_NUMBER)
            put_numeric(out, l, i);
        else if (l->kind[i] == KIND_LETTER)
            fputc('c', out);
        else if (l->kind[i] == KIND_TEXT && longest(l->grid, i) > LONG_TEXT)
            fputs("p{0.64\\linewidth}", out);
        else if (l->kind[i] == KIND_TEXT && is_very_wide && longest(l->grid, i) > LABEL_LONG)
            fputs(l->n_boards == 1 ? "p{0.25\\linewidth}"
                  : i == 0         ? "l" /* of two boards: else the table were higher than a page */
                                   : "p{0.23\\linewidth}",
                  out);
        else if (l->kind[i] == KIND_TEXT)
            fputc(l->grid->column[i].align == 'r' ? 'r' : 'l', out);
    fputs("@{}}\n\\toprule\n", out);
}

/* --- headings --------------------------------------------------------------------------------- */

static void put_unit(FILE *out, const char *unit)
{
    if (!strcmp(unit, "us"))
        tex_put(out, "\u00b5s");
    else
        tex_put(out, unit);
}

/* The first line of heading, with rules below what spans columns. */
static void put_over(FILE *out, const struct layout *l)
{
    char rules[160] = "";
    size_t at = 0; /* columns put */
    bool any = false;

    for (size_t i = 0; i < l->grid->n_columns; i++)
        any = any || *l->over[i] != '\0' || span_of(l->grid, i);
    for (size_t i = 0; any && i < l->grid->n_columns;) {
        const struct span *span = span_of(l->grid, i);
        const size_t n = span ? span->n : 1;
        if (l->kind[i] == KIND_NONE) {
            i++;
            continue;
        }
        fputs(at ? " & " : "", out);
        if (n > 1)
            fprintf(out, "\\multicolumn{%zu}{c}", n);
        fputc('{', out);
        tex_put(out, span ? over_span(l->grid, span) : l->over[i]);
        fputc('}', out);
        if (n > 1)
            snprintf(rules + strlen(rules), sizeof rules - strlen(rules), "\\cmidrule(lr){%zu-%zu}",
                     at + 1, at + n);
        at += n;
        i += n;
    }
    if (any)
        fprintf(out, " \\\\%s\n", rules);
}

static void put_line(FILE *out, const struct layout *l, bool units)
{
    bool any = false, first = true;

    for (size_t i = 0; i < l->grid->n_columns; i++)
        any = any || (l->kind[i] != KIND_NONE && *(units ? l->unit[i] : l->head[i]));
    for (size_t i = 0; any && i < l->grid->n_columns; i++) {
        if (l->kind[i] == KIND_NONE)
            continue;
        fputs(first ? "{" : " & {", out);
        if (units)
            put_unit(out, l->unit[i]);
        else
            tex_put(out, l->head[i]);
        fputc('}', out);
        first = false;
    }
    if (any)
        fputs(" \\\\\n", out);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put_marks(FILE *out, const struct layout *l, size_t column, const struct cell *cell)
{
    if (!has_mark(l, column, cell))
        return;
    fprintf(out, "{$^{%s%s%s}$}", has_star(cell) ? STAR : "", is_few(l, column, cell) ? FEW : "",
            cell->number.quoted ? QUOTED : "");
}

static void put_cell(FILE *out, const struct layout *l, size_t row, size_t column)
{
    const struct cell *cell = grid_at(l->grid, row, column);
    const char *shown = l->grid->column[column].shown;
    char text[TEXT_MOST];

    if (!cell)
        return;
    if (cell->kind == CELL_LADDER) {
        fputc(cell->letter >= 'a' && cell->letter <= 'z' ? cell->letter : '-', out);
        return;
    }
    if (cell->kind == CELL_TEXT) {
        tex_put(out, is_blank(cell) && cell->text && *cell->text ? "\u2013" : cell->text);
        return;
    }
    if (!number_there(&cell->number)) {
        fputs("{--}", out);
        return;
    }
    if (shown)
        number_cell(text, sizeof text, &cell->number, shown);
    else
        number_say(text, sizeof text, &cell->number, NULL);
    tex_put(out, text);
    put_marks(out, l, column, cell);
    if (l->kind[column] == KIND_TEXT)
        tex_put(out, cell->text);
}

static void put_rows(FILE *out, const struct layout *l)
{
    for (size_t row = 0; row < grid_rows(l->grid); row++) {
        bool first = true;
        if (row < l->grid->n_rows && l->grid->split[row]) {
            fprintf(out, "%s\\multicolumn{%zu}{@{}l@{}}{\\itshape ", row ? "\\midrule\n" : "",
                    l->n_shown);
            tex_put(out, l->grid->split[row]);
            fputs("} \\\\\n", out);
        }
        for (size_t i = 0; i < l->grid->n_columns; i++) {
            if (l->kind[i] == KIND_NONE)
                continue;
            fputs(first ? "" : " & ", out);
            put_cell(out, l, row, i);
            first = false;
        }
        fputs(" \\\\\n", out);
    }
}

static void put_grid(FILE *out, const struct grid *grid, const struct boards_evidence *evidence)
{
    const struct layout l = layout_of(grid, evidence);

    if (grid->caption) {
        tex_put(out, grid->caption);
        fputs("\\par\\smallskip\n", out);
    }
    put_columns(out, &l);
    put_over(out, &l);
    put_line(out, &l, false);
    put_line(out, &l, true);
    fputs("\\midrule\n", out);
    put_rows(out, &l);
    fputs("\\bottomrule\n\\end{tabular}\n", out);
}

/* --- the table -------------------------------------------------------------------------------- */

static bool has_none(const struct grid *grid)
{
    for (size_t i = 0; i < grid->n_cells; i++)
        if (grid->cell[i].kind == CELL_NUMBER && !number_there(&grid->cell[i].number))
            return true;
    return false;
}

/* The first note explains the columns; the others are sentences for the text. */
static void put_foot(FILE *out, const struct section *section,
                     const struct boards_evidence *evidence)
{
    char text[2048]; /* of the evidence */
    bool lacks = false;

    for (size_t i = 0; i < section->n_grids; i++)
        lacks = lacks || has_none(&section->grid[i]);
    fputs("\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\scriptsize\n", out);
    if (section->n_notes > 0) {
        tex_put(out, section->note[0]);
        fputc('\n', out);
    }
    if (lacks)
        fputs("--: not measured.\n", out);
    for (size_t i = 0; i < evidence->n; i++) {
        if (evidence->n > 1)
            fprintf(out, "%s%c: ", i ? "\n" : "", (int)('A' + i));
        evidence_say(&evidence->of[i], "\u2021:", "\u2020:", text, sizeof text);
        tex_put(out, text);
    }
    fputs("\n\\end{minipage}\n", out);
}

/* A table that is wide in a column of 345 pt, the class article's, is set smaller. */
static void put_size(FILE *out, const struct section *section,
                     const struct boards_evidence *evidence)
{
    size_t width = 0;

    for (size_t g = 0; g < section->n_grids; g++) {
        const struct layout l = layout_of(&section->grid[g], evidence);
        const size_t one = width_of(&l);
        width = one > width ? one : width;
    }
    fprintf(out, "\\centering%s\n",
            width > WIDE ? "\\scriptsize\\setlength{\\tabcolsep}{2pt}"
                         : "\\footnotesize\\setlength{\\tabcolsep}{3pt}");
}

static void take_evidence(struct boards_evidence *evidence, const struct section *section)
{
    for (size_t g = 0; g < section->n_grids; g++) {
        const struct grid *grid = &section->grid[g];
        for (size_t i = 0; i < grid->n_cells; i++)
            if (grid->cell[i].kind == CELL_NUMBER)
                evidence_take(&evidence->of[board_of(evidence->n, i % grid->n_columns)],
                              &grid->cell[i].number);
    }
}

/* What stands below the caption: tables and their foot. */
static void put_body(FILE *out, const struct section *section,
                     const struct boards_evidence *evidence)
{
    put_size(out, section, evidence);
    for (size_t g = 0; g < section->n_grids; g++) {
        fputs(g ? "\\par\\medskip\n" : "\\par\\smallskip\n", out);
        put_grid(out, &section->grid[g], evidence);
    }
    put_foot(out, section, evidence);
    fputs("\\end{table}\n", out);
}

static void put_table(FILE *out, const struct summary *summary, const struct section *section)
{
    struct boards_evidence evidence = {{evidence_new(summary)}, 1};
    char board[80], name[160];

    take_evidence(&evidence, section);
    fputs("\\begin{table}[tbp]\n\\caption{", out);
    tex_put(out,
            bundle_fact(summary->bundle, "gpu", "name", name, sizeof name, summary->bundle->name));
    fputs(": ", out);
    tex_put(out, section->finding ? section->finding : section->title);
    fprintf(out, "}\n\\label{tab:%s-%s}\n", tex_board_name(summary, board, sizeof board),
            section->name);
    put_body(out, section, &evidence);
}

/* Written for a person who edits the paper. */
static void put_more(FILE *out, const struct section *section)
{
    fputs(section->n_notes > 1 ? "% More of what the report says here, for the text:\n" : "", out);
    for (size_t i = 1; i < section->n_notes; i++) {
        fputs("% ", out);
        tex_put(out, section->note[i]);
        fputc('\n', out);
    }
}

static const char needs[] = "% Written by gpufloor report --tex. Needs booktabs and siunitx.\n";

void emit_tex(FILE *out, const struct summary *summary, const struct section *section)
{
    if (section->n_grids == 0) {
        fputs("% ", out);
        tex_put(out, section->missing ? section->missing : "without a table");
        fputc('\n', out);
        return;
    }
    fputs(needs, out);
    put_table(out, summary, section);
    put_more(out, section);
}

void emit_tex_boards(FILE *out, const struct boards *boards, const struct section *section)
{
    struct boards_evidence evidence = {
        {evidence_new(&boards->of[0]), evidence_new(&boards->of[1])}, 2};
    char name[160];

    if (section->n_grids == 0 || grid_rows(&section->grid[0]) == 0) {
        fputs("% no number is measured on any of the two\n", out);
        return;
    }
    take_evidence(&evidence, section);
    fputs(needs, out);
    fputs("\\begin{table}[tbp]\n\\caption{", out);
    for (size_t i = 0; i < 2; i++) {
        const struct bundle *bundle = boards->of[i].bundle;
        tex_put(out, bundle_fact(bundle, "gpu", "name", name, sizeof name, bundle->name));
        fputs(i ? " (B): " : " (A) and ", out);
    }
    tex_put(out, section->finding);
    fprintf(out, "}\n\\label{tab:%s", tex_board_name(&boards->of[0], name, sizeof name));
    fprintf(out, "-%s-compare}\n", tex_board_name(&boards->of[1], name, sizeof name));
    put_body(out, section, &evidence);
    put_more(out, section);
}
