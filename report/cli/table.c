#include "report/cli/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct table table_new(const char *align)
{
    struct table table = {0};
    snprintf(table.align, sizeof table.align, "%s", align);
    table.n_columns = strlen(table.align);
    return table;
}

static void append(struct table *table, enum table_kind kind, const char *format,
                   va_list arguments)
{
    char *cell = NULL;

    if (table->n_cells == table->room) {
        size_t room = table->room ? 2 * table->room : 128;
        struct table_cell *cells = realloc(table->cells, room * sizeof *cells);
        if (!cells)
            return;
        table->cells = cells;
        table->room = room;
    }
    if (vasprintf(&cell, format, arguments) < 0)
        cell = NULL;
    table->cells[table->n_cells++] = (struct table_cell){cell, kind};
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(table, TABLE_PLAIN, format, arguments);
    va_end(arguments);
}

void table_name(struct table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(table, TABLE_NAME, format, arguments);
    va_end(arguments);
}

void table_markup(struct table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(table, TABLE_MARKUP, format, arguments);
    va_end(arguments);
}

void table_number(struct table *table, double value)
{
    if (isnan(value))
        table_cell(table, "-");
    else
        table_cell(table, "%.9g", value);
}

bool table_format_read(const char *name, enum table_format *format)
{
    static const char *const names[] = {"text", "md", "tsv", "json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name)) {
            *format = (enum table_format)i;
            return true;
        }
    return false;
}

/* --- printing --------------------------------------------------------------------------------- */

enum out_format table_out(enum table_format format)
{
    return format == TABLE_MD ? OUT_MD : format == TABLE_TSV ? OUT_TSV : OUT_TEXT;
}

void table_put(FILE *out, const char *text, enum table_format format)
{
    out_put(out, text, table_out(format));
}

/* Between backticks Markdown escapes nothing: a name that would need it stands without them. */
static void put_md(FILE *out, const struct table_cell *cell)
{
    const char *text = cell->text ? cell->text : "";
    bool is_plain = *text;

    for (const char *c = text; *c; c++)
        is_plain = is_plain && *c >= 0x20 && *c < 0x7f && !strchr("`|\\", *c);
    if (cell->kind == TABLE_NAME && is_plain)
        fprintf(out, "`%s`", text);
    else if (cell->kind == TABLE_MARKUP)
        fputs(text, out);
    else
        out_put(out, text, OUT_MD);
}

static size_t width_of(const struct table_cell *cell)
{
    return cell->text ? out_width(cell->text, strlen(cell->text)) : 0;
}

/* The columns of the terminal, where there is one: 80 to TABLE_WIDTH. */
static size_t screen_width(void)
{
    enum { LEAST = 80 };
    struct winsize screen;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) != 0 ||
        screen.ws_col == 0 || screen.ws_col >= TABLE_WIDTH)
        return TABLE_WIDTH;
    return screen.ws_col < LEAST ? LEAST : screen.ws_col;
}

void table_wrap(FILE *out, const char *text, size_t at, size_t indent)
{
    const size_t within = screen_width();
    for (bool first = true; text && *text; first = false) {
        const size_t length = strcspn(text, " "), width = out_width(text, length);
        if (!first && at + 1 + width >= within) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        out_bytes(out, text, length, OUT_TEXT);
        at += width;
        text += length;
        text += strspn(text, " ");
    }
}

static size_t column_width(const struct table *table, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < table->n_cells; i += table->n_columns) {
        size_t width = width_of(&table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void put_spaces(FILE *out, size_t n)
{
    while (n-- > 0)
        fputc(' ', out);
}

static void print_text(FILE *out, const struct table *table)
{
    size_t widths[sizeof table->align] = {0};
    for (size_t column = 0; column < table->n_columns; column++)
        widths[column] = column_width(table, column);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns, width = width_of(&table->cells[i]);
        size_t pad = widths[column] - width;
        bool last = column + 1 == table->n_columns, right = table->align[column] == 'r';
        put_spaces(out, 2 + (right ? pad : 0));
        out_put(out, table->cells[i].text, OUT_TEXT);
        put_spaces(out, right || last ? 0 : pad);
        if (last)
            fputc('\n', out);
    }
}

static void print_md(FILE *out, const struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns;
        fputs(column ? " | " : "| ", out);
        put_md(out, &table->cells[i]);
        if (column + 1 < table->n_columns)
            continue;
        fputs(" |\n", out);
        for (size_t k = 0; i < table->n_columns && k < table->n_columns; k++)
            fprintf(out, "|%s%s", table->align[k] == 'r' ? "---:" : "---",
                    k + 1 == table->n_columns ? "|\n" : "");
    }
}

static void print_tsv(FILE *out, const struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        out_put(out, table->cells[i].text, OUT_TSV);
        fputc((i + 1) % table->n_columns ? '\t' : '\n', out);
    }
}

void table_print(FILE *out, struct table *table, enum table_format format, const char *title)
{
    bool empty = table->n_cells <= table->n_columns;

    if (format == TABLE_TSV) {
        print_tsv(out, table);
    } else if (!empty) {
        if (title) {
            fputs(format == TABLE_MD ? "### " : "", out);
            table_put(out, title, format);
            fputs(format == TABLE_MD ? "\n\n" : "\n", out);
        }
        if (format == TABLE_MD)
            print_md(out, table);
        else
            print_text(out, table);
        fputc('\n', out);
    }
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i].text);
    free(table->cells);
    *table = (struct table){0};
}
