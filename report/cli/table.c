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

void table_cell(struct table *table, const char *format, ...)
{
    va_list arguments;
    char *cell = NULL;

    if (table->n_cells == table->room) {
        size_t room = table->room ? 2 * table->room : 128;
        char **cells = realloc(table->cells, room * sizeof *cells);
        if (!cells)
            return;
        table->cells = cells;
        table->room = room;
    }
    va_start(arguments, format);
    if (vasprintf(&cell, format, arguments) < 0)
        cell = NULL;
    va_end(arguments);
    table->cells[table->n_cells++] = cell;
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

static void put_bytes(FILE *out, const char *text, size_t n, enum table_format format)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '|' && format == TABLE_MD)
            fputc('\\', out);
        fputc(c < 0x20 || c == 0x7f ? '?' : c, out);
    }
}

void table_put(FILE *out, const char *text, enum table_format format)
{
    if (text)
        put_bytes(out, text, strlen(text), format);
}

/* Columns on a screen of `n` bytes: all but the continuation bytes of UTF-8. */
static size_t width_of_bytes(const char *text, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static size_t width_of(const char *text)
{
    return text ? width_of_bytes(text, strlen(text)) : 0;
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
        const size_t length = strcspn(text, " "), width = width_of_bytes(text, length);
        if (!first && at + 1 + width >= within) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        put_bytes(out, text, length, TABLE_TEXT);
        at += width;
        text += length;
        text += strspn(text, " ");
    }
}

static size_t column_width(const struct table *table, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < table->n_cells; i += table->n_columns) {
        size_t width = width_of(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_text(FILE *out, const struct table *table)
{
    size_t widths[sizeof table->align] = {0};
    for (size_t column = 0; column < table->n_columns; column++)
        widths[column] = column_width(table, column);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns, width = width_of(table->cells[i]);
        size_t pad = widths[column] - width;
        bool last = column + 1 == table->n_columns, right = table->align[column] == 'r';
        fprintf(out, "  %*s", right ? (int)pad : 0, "");
        table_put(out, table->cells[i], TABLE_TEXT);
        fprintf(out, "%*s%s", right || last ? 0 : (int)pad, "", last ? "\n" : "");
    }
}

static void print_md(FILE *out, const struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns;
        fputs(column ? " | " : "| ", out);
        table_put(out, table->cells[i], TABLE_MD);
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
        table_put(out, table->cells[i], TABLE_TSV);
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
        free(table->cells[i]);
    free(table->cells);
    *table = (struct table){0};
}
