/* A report as text for a terminal. */
#include "report/page/emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/chart/character.h"
#include "report/page/out.h"

enum { WIDTH_LEAST = 80, WIDTH_MOST = 100, INDENT = 2, CELL_TEXT_MOST = 512 };
enum { TEXT_LEAST = 10 }; /* columns that a text has at least */
enum { KEY_WIDTH = 12 }; /* of the head: "NORMAL      44 of 45 ..." */

/* --- style ------------------------------------------------------------------------------------ */

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value)
            continue;
        for (const char *at = value; *at; at++)
            if (!strncasecmp(at, "UTF-8", 5) || !strncasecmp(at, "UTF8", 4))
                return true;
        return false;
    }
    return false;
}

struct text_style text_style_of(FILE *out)
{
    struct text_style style = {.width = WIDTH_MOST, .utf8 = locale_is_utf8()};
    struct winsize size;
    const char *columns = getenv("COLUMNS");

    if (!isatty(fileno(out)))
        return style;
    if (columns && atoi(columns) > 0)
        style.width = (size_t)atoi(columns);
    else if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        style.width = size.ws_col;
    style.width = style.width < WIDTH_LEAST  ? WIDTH_LEAST
                  : style.width > WIDTH_MOST ? WIDTH_MOST
                                             : style.width;
    return style;
}

/* --- letting text out ------------------------------------------------------------------------- */

static char in_ascii(const char *text, size_t length)
{
    static const char steps[] = "._-=+*#@";
    const unsigned char *c = (const unsigned char *)text;

    if (length == 3 && c[0] == 0xe2 && c[1] == 0x96 && c[2] >= 0x81 && c[2] <= 0x88)
        return steps[c[2] - 0x81];
    return length == 3 && !memcmp(text, "\u2020", 3) ? '^' : '?';
}

/* What is let out; without UTF-8 the characters of our own become ASCII, others '?'. */
static void put(FILE *out, const char *text, size_t n, const struct text_style *style)
{
    char shown[CHARACTER_SHOWN];

    for (size_t i = 0, length; i < n; i += length) {
        length = character_take(text + i, n - i, shown);
        if (shown[0] || length == 1 || style->utf8)
            out_bytes(out, text + i, length, OUT_TEXT);
        else
            fputc(in_ascii(text + i, length), out);
    }
}

static size_t columns_of(const char *text, size_t n)
{
    return out_width(text, n);
}

static void pad(FILE *out, size_t n)
{
    fprintf(out, "%*s", (int)n, "");
}

/* The bytes of text that fit into `room` columns: up to a blank if there is one. */
static size_t fitting(const char *text, size_t room)
{
    const size_t n = strlen(text);
    char shown[CHARACTER_SHOWN];
    size_t at = 0, fits = 0, blank = 0;

    if (columns_of(text, n) <= room)
        return n;
    for (size_t columns = 0; at < n && columns <= room;) {
        fits = at;
        if (text[at] == ' ')
            blank = at;
        at += character_take(text + at, n - at, shown);
        columns += shown[0] ? strlen(shown) : 1;
    }
    return blank > 0 ? blank : fits > 0 ? fits : at;
}

/* A paragraph that begins in column `at`, its further lines in column `indent`. */
static void put_wrapped(FILE *out, const char *text, size_t at, size_t indent,
                        const struct text_style *style)
{
    while (*text) {
        const size_t n =
            fitting(text, at + TEXT_LEAST < style->width ? style->width - at : TEXT_LEAST);
        put(out, text, n, style);
        fputc('\n', out);
        text += n;
        text += strspn(text, " ");
        if (*text)
            pad(out, indent);
        at = indent;
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

enum { BAR = 20, BAR_LEAST = 2, DECADES = 9, DECADE = 4, DECADE_LEAST = 2 };

/* How a table is laid out in so many columns. */
struct layout {
    size_t width[SECTION_COLUMNS], gap, bar, decade;
};

static size_t width_of(const struct grid *grid, size_t column, const struct layout *layout)
{
    char text[CELL_TEXT_MOST];
    const char *head = grid->column[column].head;
    size_t widest = head ? columns_of(head, strlen(head)) : 0;

    for (size_t row = 0; row < grid_rows(grid); row++) {
        const struct cell *cell = grid_at(grid, row, column);
        emit_cell(text, sizeof text, &grid->column[column], cell);
        size_t width = columns_of(text, strlen(text));
        if (cell && cell->kind == CELL_BAR)
            width = layout->bar;
        if (cell && cell->kind == CELL_LADDER)
            width = DECADES * layout->decade + 2;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static size_t column_end(const struct layout *layout, size_t column)
{
    size_t end = INDENT;
    for (size_t i = 0; i <= column; i++)
        end += layout->width[i] + (i ? layout->gap : 0);
    return end;
}

/* A column grows where the upper line of its heading would run into the one before it. */
static void widen_for_headings(const struct grid *grid, struct layout *layout)
{
    size_t free_from = INDENT;

    for (size_t i = 0; i < grid->n_columns; i++) {
        const char *over = grid->column[i].over;
        if (!over || !*over)
            continue;
        const size_t wanted = columns_of(over, strlen(over));
        const size_t end = column_end(layout, i), begin = end - layout->width[i];
        if (grid->column[i].align == 'r' && free_from + wanted > end)
            layout->width[i] += free_from + wanted - end;
        free_from = (grid->column[i].align == 'r' ? column_end(layout, i) : begin + wanted) + 2;
    }
}

static void measure(const struct grid *grid, struct layout *layout)
{
    for (size_t i = 0; i < grid->n_columns; i++)
        layout->width[i] = width_of(grid, i, layout);
    widen_for_headings(grid, layout);
}

/* Narrower in this order: gaps, pictures, then the widest text. */
static struct layout lay_out(const struct grid *grid, size_t width)
{
    struct layout layout = {.gap = 2, .bar = BAR, .decade = DECADE};
    const size_t last = grid->n_columns - 1;

    measure(grid, &layout);
    if (column_end(&layout, last) > width) {
        layout.gap = 1;
        measure(grid, &layout);
    }
    while (column_end(&layout, last) > width &&
           (layout.bar > BAR_LEAST || layout.decade > DECADE_LEAST)) {
        layout.bar -= layout.bar > BAR_LEAST;
        layout.decade -= layout.decade > DECADE_LEAST;
        measure(grid, &layout);
    }
    while (column_end(&layout, last) > width) {
        size_t widest = 0;
        for (size_t i = 0; i <= last; i++)
            if (grid->column[i].align == 'l' && layout.width[i] > layout.width[widest])
                widest = i;
        if (layout.width[widest] <= TEXT_LEAST)
            break;
        layout.width[widest]--;
    }
    return layout;
}

/* Blanks are owed, not printed, so that no line ends in them. */
struct line {
    FILE *out;
    const struct text_style *style;
    size_t at;
};

static void line_put(struct line *line, size_t column, const char *text, size_t n)
{
    if (n == 0)
        return;
    if (column > line->at)
        pad(line->out, column - line->at);
    put(line->out, text, n, line->style);
    line->at = (column > line->at ? column : line->at) + columns_of(text, n);
}

static void line_end(struct line *line)
{
    fputc('\n', line->out);
    line->at = 0;
}

/* "1 ns    100 ns  10 us ...": a label where a column of dots stands. */
static void put_scale(struct line *line, size_t begin, const struct layout *layout)
{
    static const char *const wide[] = {"1 ns", "100 ns", "10 us", "1 ms", "100 ms"};
    static const char *const narrow[] = {"1 ns", "1 us", "1 ms", "1 s"};
    const bool is_wide = layout->decade == DECADE;
    const size_t n = is_wide ? sizeof wide / sizeof *wide : sizeof narrow / sizeof *narrow;

    for (size_t i = 0; i < n; i++) {
        const char *label = is_wide ? wide[i] : narrow[i];
        line_put(line, begin + i * (is_wide ? 2 : 3) * layout->decade, label, strlen(label));
    }
}

static void put_headings(struct line *line, const struct grid *grid, const struct layout *layout,
                         bool over)
{
    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct column *column = &grid->column[i];
        const struct cell *cell = grid_at(grid, 0, i);
        const char *text = over ? column->over : column->head;
        const size_t end = column_end(layout, i), begin = end - layout->width[i];

        if (!over && cell && cell->kind == CELL_LADDER)
            put_scale(line, begin, layout);
        else if (text && *text) {
            const size_t n = strlen(text), width = columns_of(text, n);
            line_put(line, column->align == 'r' && end > width ? end - width : begin, text, n);
        }
    }
    if (line->at)
        line_end(line);
}

static void draw_bar(char *text, const struct number *share, size_t width)
{
    const double length = rint(share->value * (double)width);
    const size_t n = !(length > 0) ? 0 : length > (double)width ? width : (size_t)length;
    memset(text, '#', n);
    text[n] = '\0';
}

static void draw_ladder(char *text, const struct cell *cell, size_t decade)
{
    const size_t last = DECADES * decade;
    const double place = floor(log10(cell->number.value) * (double)decade);

    memset(text, ' ', last + 1);
    text[last + 1] = '\0';
    for (size_t i = 0; i <= DECADES; i++)
        text[i * decade] = '.';
    if (number_there(&cell->number) && cell->number.value > 0)
        text[place < 0 ? 0 : place > (double)last ? last : (size_t)place] = cell->letter;
}

/* What is left of each text of a row; a text that is too wide goes on in the next line. */
static bool put_row_line(struct line *line, const struct grid *grid, const struct layout *layout,
                         char text[][CELL_TEXT_MOST])
{
    bool is_left = false;

    for (size_t i = 0; i < grid->n_columns; i++) {
        const size_t end = column_end(layout, i), begin = end - layout->width[i];
        const size_t n = fitting(text[i], layout->width[i]), width = columns_of(text[i], n);
        const size_t rest = n + strspn(text[i] + n, " ");
        line_put(line, grid->column[i].align == 'r' ? end - width : begin, text[i], n);
        memmove(text[i], text[i] + rest, strlen(text[i] + rest) + 1);
        is_left = is_left || *text[i];
    }
    line_end(line);
    return is_left;
}

static void put_row(struct line *line, const struct grid *grid, const struct layout *layout,
                    size_t row)
{
    char text[SECTION_COLUMNS][CELL_TEXT_MOST];

    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct cell *cell = grid_at(grid, row, i);
        emit_cell(text[i], sizeof text[i], &grid->column[i], cell);
        if (cell && cell->kind == CELL_BAR)
            draw_bar(text[i], &cell->number, layout->bar);
        if (cell && cell->kind == CELL_LADDER)
            draw_ladder(text[i], cell, layout->decade);
        for (size_t end = strlen(text[i]); end > 0 && text[i][end - 1] == ' ';)
            text[i][--end] = '\0';
    }
    while (put_row_line(line, grid, layout, text))
        ;
}

static void put_grid(FILE *out, const struct grid *grid, const struct text_style *style)
{
    struct line line = {.out = out, .style = style};
    const struct layout layout = lay_out(grid, style->width);

    if (grid->caption) {
        pad(out, INDENT);
        put_wrapped(out, grid->caption, INDENT, INDENT, style);
    }
    if (grid_rows(grid) == 0)
        return;
    put_headings(&line, grid, &layout, true);
    put_headings(&line, grid, &layout, false);
    for (size_t row = 0; row < grid_rows(grid); row++) {
        if (row < grid->n_rows && grid->split[row]) {
            pad(out, INDENT);
            put_wrapped(out, grid->split[row], INDENT, INDENT, style);
        }
        put_row(&line, grid, &layout, row);
    }
}

/* --- sections --------------------------------------------------------------------------------- */

/* The head: what the board is, then a word and its sentence, then a line for each key. */
static void put_head(FILE *out, const struct section *section, const struct text_style *style)
{
    for (size_t i = 0; i < section->n_lines; i++)
        put_wrapped(out, section->lines[i], 0, INDENT, style);
    put(out, section->title, strlen(section->title), style);
    const size_t title = columns_of(section->title, strlen(section->title));
    const size_t at = title + 2 > KEY_WIDTH ? title + 2 : KEY_WIDTH;
    pad(out, at - title);
    put_wrapped(out, section->finding ? section->finding : "", at, KEY_WIDTH, style);
    for (size_t row = 0; section->n_grids > 0 && row < grid_rows(&section->grid[0]); row++) {
        char key[CELL_TEXT_MOST], text[CELL_TEXT_MOST];
        const struct grid *grid = &section->grid[0];
        emit_cell(key, sizeof key, &grid->column[0], grid_at(grid, row, 0));
        emit_cell(text, sizeof text, &grid->column[1], grid_at(grid, row, 1));
        struct line line = {.out = out, .style = style};
        line_put(&line, INDENT, key, strlen(key));
        pad(out, KEY_WIDTH > line.at ? KEY_WIDTH - line.at : 0);
        put_wrapped(out, text, KEY_WIDTH, KEY_WIDTH, style);
    }
}

static void put_title(FILE *out, const struct section *section, size_t number,
                      const struct text_style *style)
{
    char title[CELL_TEXT_MOST];
    const char *said = section->missing ? section->missing : section->finding;

    if (section->has_no_number)
        snprintf(title, sizeof title, "%s", section->title);
    else
        snprintf(title, sizeof title, "%zu %s", number, section->title);
    put(out, title, strlen(title), style);
    if (said) {
        fputs("   ", out);
        put_wrapped(out, said, columns_of(title, strlen(title)) + 3, INDENT, style);
    } else
        fputc('\n', out);
}

/* All in one paragraph: most are a sentence, and a terminal is short of lines. */
static void put_notes(FILE *out, const struct section *section, const struct text_style *style)
{
    size_t length = 1;
    for (size_t i = 0; i < section->n_notes; i++)
        length += strlen(section->note[i]) + 1;
    char *all = calloc(length, 1), *at = all;

    for (size_t i = 0; all && i < section->n_notes; i++)
        at += sprintf(at, "%s%s", i ? " " : "", section->note[i]);
    if (all && *all) {
        pad(out, INDENT);
        put_wrapped(out, all, INDENT, INDENT, style);
    }
    free(all);
}

void emit_text(FILE *out, const struct section *section, size_t number,
               const struct text_style *style)
{
    if (number == 0) {
        put_head(out, section, style);
        return;
    }
    put_title(out, section, number, style);
    if (section->missing)
        return;
    for (size_t i = 0; i < section->n_lines; i++) {
        pad(out, INDENT);
        put(out, section->lines[i], strlen(section->lines[i]), style);
        fputc('\n', out);
    }
    for (size_t i = 0; i < section->n_grids; i++)
        put_grid(out, &section->grid[i], style);
    put_notes(out, section, style);
}

/* --- every cell ------------------------------------------------------------------------------- */

static void put_evidence(FILE *out, const char *name, const struct number *number,
                         const char *shown, const struct text_style *style)
{
    char text[CELL_TEXT_MOST], evidence[CELL_TEXT_MOST];

    snprintf(text, sizeof text, "%s: %s", name,
             emit_evidence(evidence, sizeof evidence, number, shown));
    pad(out, INDENT);
    put_wrapped(out, text, INDENT, 2 * INDENT, style);
    if (number->id) {
        pad(out, 3 * INDENT);
        put(out, number->id, strlen(number->id), style);
        fputc('\n', out);
    }
}

static void put_cells(FILE *out, const struct grid *grid, const struct text_style *style)
{
    for (size_t row = 0; row < grid_rows(grid); row++)
        for (size_t i = 0; i < grid->n_columns; i++) {
            char name[CELL_TEXT_MOST / 2], heading[CELL_TEXT_MOST / 4];
            char whole[CELL_TEXT_MOST];
            const struct cell *cell = grid_at(grid, row, i);
            if (!cell || cell->kind == CELL_TEXT || !number_there(&cell->number))
                continue;
            emit_row_name(name, sizeof name, grid, row);
            emit_column(heading, sizeof heading, grid, i);
            snprintf(whole, sizeof whole, "%s%s%s", name, *name && *heading ? ", " : "", heading);
            put_evidence(out, whole, &cell->number, grid->column[i].shown, style);
        }
}

void emit_text_cells(FILE *out, const struct section *section, const struct text_style *style)
{
    for (size_t i = 0; i < section->n_grids; i++)
        put_cells(out, &section->grid[i], style);
    for (size_t i = 0; i < section->n_series; i++)
        for (size_t k = 0; k < section->series[i].n; k++) {
            const struct series *series = &section->series[i];
            const struct number *y = &series->point[k].y;
            char name[CELL_TEXT_MOST / 2], place[CELL_TEXT_MOST / 4];
            snprintf(name, sizeof name, "%s at %s", series->name,
                     emit_place(place, sizeof place, series, &series->point[k]));
            put_evidence(out, name, y, emit_series_unit(series, y), style);
        }
}
