/* Text as LaTeX. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "report/chart/character.h"
#include "report/page/out.h"
#include "report/page/tex.h"

/* --- one character ---------------------------------------------------------------------------- */

/* Above 127. A dagger marks what is quoted, as in the report; a double one marks few rounds. */
static const struct {
    const char *from, *to;
} signs[] = {{"\u00a0", "~"},
             {"\u00a7", "\\S{}"},
             {"\u00b0", "\\ensuremath{^\\circ}"},
             {"\u00b1", "\\ensuremath{\\pm}"},
             {"\u00b2", "\\ensuremath{^2}"},
             {"\u00b3", "\\ensuremath{^3}"},
             {"\u00b5", "\\ensuremath{\\mu}"},
             {"\u03bc", "\\ensuremath{\\mu}"},
             {"\u00b7", "\\ensuremath{\\cdot}"},
             {"\u00d7", "\\ensuremath{\\times}"},
             {"\u2013", "--"},
             {"\u2014", "---"},
             {"\u2018", "`"},
             {"\u2019", "'"},
             {"\u201c", "``"},
             {"\u201d", "''"},
             {"\u2026", "\\ldots{}"},
             {"\u2212", "\\ensuremath{-}"},
             {"\u2020", "\\ensuremath{^\\dagger}"},
             {"\u2021", "\\ensuremath{^\\ddagger}"},
             {"\u2248", "\\ensuremath{\\approx}"},
             {"\u2260", "\\ensuremath{\\neq}"},
             {"\u2264", "\\ensuremath{\\leq}"},
             {"\u2265", "\\ensuremath{\\geq}"}};

/* Letters of Latin-1 that LaTeX forms in any encoding: C3 80 to C3 BF without thorn and eth. */
static bool is_letter(const char *at)
{
    const unsigned char last = (unsigned char)at[1];
    return (unsigned char)at[0] == 0xc3 && last >= 0x80 && last <= 0xbf && last != 0x90 &&
           last != 0x9e && last != 0xb0 && last != 0xbe && last != 0x97 && last != 0xb7;
}

/* Puts a character above 127 and returns how many bytes it took. */
static size_t put_wide(FILE *out, const char *at)
{
    char shown[CHARACTER_SHOWN];
    size_t n;

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (!strncmp(at, signs[i].from, strlen(signs[i].from))) {
            fputs(signs[i].to, out);
            return strlen(signs[i].from);
        }
    if (is_letter(at)) {
        fwrite(at, 1, 2, out);
        return 2;
    }
    n = character_take(at, strlen(at), shown);
    if (shown[0])
        out_bytes(out, at, n, OUT_TEX);
    else
        fputc('?', out);
    return n;
}

/* --- the signs of a paper --------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind a number and a blank: the length of the unit that stands there, or 0. */
static size_t unit_at(const char *at)
{
    static const char *const units[] = {"ns",   "us",   "ms",  "s",       "B",       "KiB",
                                        "MiB",  "GiB",  "KB",  "MB",      "GB/s",    "TB/s",
                                        "MB/s", "KB/s", "B/s", "TFLOP/s", "GFLOP/s", "MHz",
                                        "GHz",  "Hz",   "W",   "%",       "B/cycle"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t n = strlen(units[i]);
        if (!strncmp(at, units[i], n) && !isalnum((unsigned char)at[n]) && at[n] != '/' &&
            at[n] != '_')
            return n;
    }
    return 0;
}

/* Puts a sign that depends on what stands around it; returns how many bytes it took, or 0. */
static size_t put_sign(FILE *out, const char *text, const char *at)
{
    const char before = at > text ? at[-1] : ' ', after = at[1];

    if (!strcmp(at, ", us")) { /* the end of a heading */
        fputs(", \\ensuremath{\\mu}s", out);
        return strlen(at);
    }
    if (*at == ' ' && is_digit(before) && unit_at(at + 1)) {
        const bool is_us = !strncmp(at + 1, "us", 2);
        fputs(is_us ? "~\\ensuremath{\\mu}s" : "~", out);
        return is_us ? 3 : 1;
    }
    if (*at == 'x' && (is_digit(before) || before == ' ') && (is_digit(after) || after == ' ')) {
        fputs("\\ensuremath{\\times}", out);
        return 1;
    }
    if (*at == '^' && (is_digit(before) || isupper((unsigned char)before)) && is_digit(after)) {
        fprintf(out, "\\ensuremath{^%c}", after);
        return 2;
    }
    if (*at == '+' && after == '-') {
        fputs("\\ensuremath{\\pm}", out);
        return 2;
    }
    if (*at == '-' && after == '-') { /* an option, and no dash */
        fputs("-{}", out);
        return 1;
    }
    if (*at == '"' && (before == ' ' || before == '(')) {
        fputs("``", out);
        return 1;
    }
    return 0;
}

void tex_put(FILE *out, const char *text)
{
    for (const char *at = text ? text : ""; *at;) {
        const unsigned char c = (unsigned char)*at;
        size_t n = put_sign(out, text, at);
        if (n == 0 && c >= 0x80) {
            n = put_wide(out, at);
        } else if (n == 0) {
            n = 1;
            out_bytes(out, at, n, OUT_TEX);
        }
        at += n;
    }
}
