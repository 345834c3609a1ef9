#include "report/page/out.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "report/chart/character.h"
#include "report/chart/chart.h"

/* --- what a format takes for markup ----------------------------------------------------------- */

/* What LaTeX reserves, what its oldest text font lacks, and what may not follow "\\". Braces have
 * names: BibTeX counts those that a backslash precedes, too. */
static const char *const tex[128] = {['&'] = "\\&",
                                     ['%'] = "\\%",
                                     ['$'] = "\\$",
                                     ['#'] = "\\#",
                                     ['_'] = "\\_",
                                     ['{'] = "\\textbraceleft{}",
                                     ['}'] = "\\textbraceright{}",
                                     ['~'] = "\\textasciitilde{}",
                                     ['^'] = "\\textasciicircum{}",
                                     ['\\'] = "\\textbackslash{}",
                                     ['<'] = "\\textless{}",
                                     ['>'] = "\\textgreater{}",
                                     ['|'] = "\\textbar{}",
                                     ['`'] = "\\textasciigrave{}",
                                     ['['] = "{[}",
                                     [']'] = "{]}",
                                     ['*'] = "{*}",
                                     ['"'] = "''"};

/* Would this start a list, a heading, a quotation or a rule at the start of a line? A sign that
 * stands alone, or before a number, is a value. */
static bool starts_block(const char *at, size_t left)
{
    if (*at == '#' || *at == '>')
        return true;
    return (*at == '-' || *at == '+') && left > 1 && (at[1] == ' ' || at[1] == *at);
}

/* The full stop of "1. " at the start of a text. */
static bool ends_ordinal(const char *text, size_t i, size_t n)
{
    for (size_t k = 0; k < i; k++)
        if (!isdigit((unsigned char)text[k]))
            return false;
    return i > 0 && i + 1 < n && (text[i] == '.' || text[i] == ')') && text[i + 1] == ' ';
}

static bool is_word(char c)
{
    return c > 0 && isalnum((unsigned char)c);
}

/* A bar, a bracket, "<" and the rest mean something wherever they stand; "_" within a word and a
 * "&" that begins no name of a character do not. */
static bool is_markup(const char *text, size_t i, size_t n)
{
    const char c = text[i], next = i + 1 < n ? text[i + 1] : '\0';

    if (strchr("\\|<[]`*~", c))
        return true;
    if (c == '_')
        return i == 0 || !is_word(text[i - 1]) || !is_word(next);
    if (c == '&')
        return is_word(next) || next == '#';
    return (i == 0 && starts_block(text, n)) || ends_ordinal(text, i, n);
}

/* What stands for an ordinary character; NULL: itself. `one` holds a backslash and room for it. */
static const char *escaped(const char *text, size_t i, size_t n, enum out_format format,
                           char one[3])
{
    const char c = text[i];

    one[1] = c;
    switch (format) {
    case OUT_TEXT:
    case OUT_HTML: return NULL;
    case OUT_TSV: /* a cell that begins with a quotation mark would swallow the next ones */
    case OUT_DATA:
        if (c == '"' && (i == 0 || format == OUT_DATA))
            return "\\x22";
        return c == '\\' ? one : NULL;
    case OUT_QUOTED: return c == '\'' ? "''" : NULL;
    case OUT_MD: return is_markup(text, i, n) ? one : NULL;
    case OUT_TEX: return c > 0 ? tex[(unsigned char)c] : NULL;
    }
    return NULL;
}

/* --- letting out ------------------------------------------------------------------------------ */

/* A visible number stands for one character: where a backslash is markup it is escaped, but not
 * where it is doubled in order to be told from such a number. */
static void put_shown(FILE *out, const char *shown, enum out_format format)
{
    if (format == OUT_MD || format == OUT_TEX) {
        fputs(format == OUT_MD ? "\\\\" : tex['\\'], out);
        shown++;
    }
    fputs(shown, out);
}

void out_bytes(FILE *out, const char *text, size_t n, enum out_format format)
{
    char shown[CHARACTER_SHOWN], one[3] = "\\";

    if (format == OUT_HTML) {
        chart_escape_bytes(out, text, n);
        return;
    }
    for (size_t i = 0; i < n;) {
        const size_t length = character_take(text + i, n - i, shown);
        const char *as = shown[0] ? NULL : escaped(text, i, n, format, one);

        if (shown[0])
            put_shown(out, shown, format);
        else if (as)
            fputs(as, out);
        else
            fwrite(text + i, 1, length, out);
        i += length;
    }
}

void out_put(FILE *out, const char *text, enum out_format format)
{
    if (text)
        out_bytes(out, text, strlen(text), format);
}

static void put_line(FILE *out, char *text, enum out_format format)
{
    const size_t n = text ? strlen(text) : 0;
    const bool ends = n > 0 && text[n - 1] == '\n';

    out_bytes(out, text ? text : "out of memory", text ? n - ends : strlen("out of memory"),
              format);
    if (ends || !text)
        fputc('\n', out);
    free(text);
}

void out_printf(FILE *out, enum out_format format, const char *text, ...)
{
    va_list arguments;
    char *line = NULL;

    va_start(arguments, text);
    if (vasprintf(&line, text, arguments) < 0)
        line = NULL;
    va_end(arguments);
    put_line(out, line, format);
}

void out_say(const char *format, ...)
{
    va_list arguments;
    char *line = NULL;

    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) < 0)
        line = NULL;
    va_end(arguments);
    char *shown = NULL; /* stderr is not buffered: one line, one write */
    size_t size = 0;
    FILE *memory = open_memstream(&shown, &size);
    put_line(memory ? memory : stderr, line, OUT_TEXT);
    if (memory && fclose(memory) == 0)
        fwrite(shown, 1, size, stderr);
    free(shown);
}

/* --- JSON ------------------------------------------------------------------------------------- */

json_t *out_json(const char *text)
{
    json_t *json = text ? json_string(text) : json_null();
    char *shown = NULL;
    size_t size = 0;
    FILE *memory = json ? NULL : open_memstream(&shown, &size);

    if (!memory)
        return json;
    out_put(memory, text, OUT_TEXT);
    json = fclose(memory) == 0 ? json_string(shown) : NULL;
    free(shown);
    return json;
}

bool out_document(FILE *out, json_t *document, size_t flags)
{
    if (!document)
        return false;
    document_print(out, document, flags); /* main() sees what could not be written */
    fputc('\n', out);
    json_decref(document);
    return true;
}

/* --- in memory -------------------------------------------------------------------------------- */

size_t out_width(const char *text, size_t n)
{
    char shown[CHARACTER_SHOWN];
    size_t width = 0;

    for (size_t i = 0; i < n; width += shown[0] ? strlen(shown) : 1)
        i += character_take(text + i, n - i, shown);
    return width;
}

void out_ascii(char *text, size_t size)
{
    char *from = strdup(text);
    size_t used = 0;

    for (const char *at = from ? from : ""; *at; at++) {
        const bool fits = *at >= 0x20 && *at < 0x7f;
        const size_t length = fits ? 1 : strlen("\\x1b");
        if (used + length >= size)
            break;
        snprintf(text + used, size - used, fits ? "%c" : "\\x%02x", (unsigned char)*at);
        used += length;
    }
    text[used] = '\0';
    free(from);
}
