/* Texts: what may stand in XML, how wide a text is, and how it is written. */
#include "report/chart/svg.h"

#include <stdlib.h>
#include <string.h>

/* --- characters ------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character that begins here, or 0 where none does that XML allows. */
static size_t character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    unsigned code = n == 2 ? c[0] & 0x1fu : n == 3 ? c[0] & 0xfu : c[0] & 7u;

    if (n == 1)
        return c[0] >= 0x20 && c[0] != 0x7f;
    if (n == 0 || c[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3fu);
    }
    /* Control characters, forms longer than needed, surrogates, what is no character; and marks
     * that turn the direction of what follows. */
    const bool refused = code < 0xa0 || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
                         (code >= 0xd800 && code <= 0xdfff) || (code & 0xfffe) == 0xfffe ||
                         code > 0x10ffff || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f;
    return refused ? 0 : n;
}

static void escape_bytes(FILE *out, const char *text, size_t size)
{
    for (const char *c = text; c < text + size;) {
        const size_t n = character(c);

        switch (n == 1 ? *c : n ? 'a' : '\0') {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\0': fputc(*c == '\n' ? ' ' : '?', out); break;
        default: fwrite(c, 1, n, out); break;
        }
        c += n ? n : 1;
    }
}

void svg_escape(FILE *out, const char *text)
{
    if (text)
        escape_bytes(out, text, strlen(text));
}

/* Of a sans-serif face, in em: narrow letters, wide ones, and digits, which are all as wide. */
static double character_em(const char *c)
{
    if ((unsigned char)*c >= 0xe3)
        return 1.1; /* Chinese, Japanese, Korean, pictures */
    if (strchr("mwMW@%", *c))
        return 0.9;
    if (*c >= 'A' && *c <= 'Z')
        return 0.7;
    if (*c >= '0' && *c <= '9')
        return 0.63;
    return strchr("iljtf.,:;'!|() ", *c) ? 0.33 : 0.57;
}

static double width_of(const char *text, size_t size, struct svg_style style)
{
    double em = 0;
    size_t n = 0;

    for (const char *c = text; c < text + size; n++) {
        const size_t bytes = character(c);
        em += bytes ? character_em(c) : 0.63;
        c += bytes ? bytes : 1;
    }
    if (em < SVG_EM_WIDTH * (double)n)
        em = SVG_EM_WIDTH * (double)n;
    return em * (style.size > 0 ? style.size : SVG_EM) * (style.bold ? 1.05 : 1);
}

double svg_text_width(const char *text, struct svg_style style)
{
    return text ? width_of(text, strlen(text), style) : 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct svg_box box_of(double x, double y, double width, struct svg_style style)
{
    const double size = style.size > 0 ? style.size : SVG_EM;
    const double left = style.at == SVG_START    ? x
                        : style.at == SVG_MIDDLE ? x - width / 2
                                                 : x - width;
    return (struct svg_box){left, y - 0.8 * size, left + width, y + 0.25 * size};
}

struct svg_box svg_text_box(double x, double y, const char *text, struct svg_style style)
{
    return box_of(x, y, svg_text_width(text, style), style);
}

static void open_text(struct svg *svg, double x, double y, struct svg_style style)
{
    FILE *out = svg->out;
    const struct svg_colour *colour = svg_colour(style.colour);

    fputs("<text x=\"", out);
    svg_number(out, x);
    fputs("\" y=\"", out);
    svg_number(out, y);
    fputc('"', out);
    if (style.at != SVG_START)
        fprintf(out, " text-anchor=\"%s\"", style.at == SVG_MIDDLE ? "middle" : "end");
    if (style.size > 0)
        fprintf(out, " font-size=\"%.1f\"", style.size);
    if (!svg->form.standalone) {
        fprintf(out, " class=\"c-%s%s%s\">", colour->name, style.bold ? " b" : "",
                style.bare ? " on" : "");
        return;
    }
    fprintf(out, " fill=\"%s\"%s", colour->light, style.bold ? " font-weight=\"600\"" : "");
    if (!style.bare)
        fprintf(out,
                " stroke=\"%s\" stroke-width=\"4\" stroke-linejoin=\"round\" "
                "paint-order=\"stroke\"",
                svg_colour(SVG_BACKGROUND)->light);
    fputc('>', out);
}

void svg_text(struct svg *svg, double x, double y, const char *text, struct svg_style style)
{
    if (!text || !*text)
        return;
    open_text(svg, x, y, style);
    svg_escape(svg->out, text);
    fputs("</text>\n", svg->out);
    svg_take(svg, svg_text_box(x, y, text, style));
}

void svg_text_cut(struct svg *svg, double x, double y, const char *text, double room,
                  struct svg_style style)
{
    static const char ellipsis[] = "\u2026";
    const double dots = svg_text_width(ellipsis, style);
    size_t size = 0;

    if (!text || svg_text_width(text, style) <= room) {
        svg_text(svg, x, y, text, style);
        return;
    }
    for (size_t n = 0; text[n];) {
        n += character(text + n) ? character(text + n) : 1;
        if (width_of(text, n, style) + dots > room)
            break;
        size = n;
    }
    if (size == 0)
        return;
    open_text(svg, x, y, style);
    escape_bytes(svg->out, text, size);
    fputs(ellipsis, svg->out);
    svg_title(svg, text);
    fputs("</text>\n", svg->out);
    svg_take(svg, box_of(x, y, width_of(text, size, style) + dots, style));
}
