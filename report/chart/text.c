/* Texts: what may stand in XML, how wide a text is, and how it is written. */
#include "report/chart/svg.h"

#include <stdlib.h>
#include <string.h>

#include "report/chart/character.h"

/* --- characters ------------------------------------------------------------------------------- */

void chart_escape_bytes(FILE *out, const char *text, size_t size)
{
    char shown[CHARACTER_SHOWN];

    for (size_t i = 0, n; i < size; i += n) {
        n = character_take(text + i, size - i, shown);
        switch (shown[0] && text[i] != '\n' ? 'a' : text[i]) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\n': fputc(' ', out); break;
        default:
            if (shown[0])
                fputs(shown, out);
            else
                fwrite(text + i, 1, n, out);
        }
    }
}

void chart_escape(FILE *out, const char *text)
{
    if (text)
        chart_escape_bytes(out, text, strlen(text));
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
    char shown[CHARACTER_SHOWN];
    double em = 0;
    size_t n = 0;

    for (size_t i = 0; i < size; n += shown[0] ? strlen(shown) : 1) {
        const char *c = text + i;
        i += character_take(c, size - i, shown);
        em += shown[0] ? 0.63 * (double)strlen(shown) : character_em(c);
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
    chart_escape(svg->out, text);
    fputs("</text>\n", svg->out);
    svg_take(svg, svg_text_box(x, y, text, style));
}

void svg_text_cut(struct svg *svg, double x, double y, const char *text, double room,
                  struct svg_style style)
{
    static const char ellipsis[] = "\u2026";
    const double dots = svg_text_width(ellipsis, style);
    char shown[CHARACTER_SHOWN];
    size_t size = 0;

    if (!text || svg_text_width(text, style) <= room) {
        svg_text(svg, x, y, text, style);
        return;
    }
    const size_t whole = strlen(text);
    for (size_t n = 0; n < whole;) {
        n += character_take(text + n, whole - n, shown);
        if (width_of(text, n, style) + dots > room)
            break;
        size = n;
    }
    if (size == 0)
        return;
    open_text(svg, x, y, style);
    chart_escape_bytes(svg->out, text, size);
    fputs(ellipsis, svg->out);
    svg_title(svg, text);
    fputs("</text>\n", svg->out);
    svg_take(svg, box_of(x, y, width_of(text, size, style) + dots, style));
}
