#include "report/chart/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void svg_number(FILE *out, double value)
{
    char text[64];

    snprintf(text, sizeof text, "%.1f", isfinite(value) && fabs(value) < 1e9 ? value : 0.0);
    size_t n = strlen(text);
    if (text[n - 1] == '0')
        text[n - 2] = '\0';
    fputs(!strcmp(text, "-0") ? "0" : text, out);
}

/* Writes ` NAME="VALUE"`. */
static void attribute(const struct svg *svg, const char *name, double value)
{
    fprintf(svg->out, " %s=\"", name);
    svg_number(svg->out, value);
    fputc('"', svg->out);
}

double svg_width(enum chart_width width)
{
    return width == CHART_WIDE ? 900 : 380;
}

void svg_begin(struct svg *svg, FILE *out, struct svg_form form, double height, const char *title)
{
    *svg = (struct svg){.out = out, .form = form, .height = ceil(height)};
    svg->width = svg_width(form.width);
    /* A file of its own has an edge around the figure; in a page that is the page's matter. */
    const double edge = form.standalone ? 10 : 0;
    const double width = svg->width + 2 * edge, tall = svg->height + 2 * edge;
    fprintf(out, "<svg viewBox=\"%.0f %.0f %.0f %.0f\" role=\"group\" aria-label=\"", 0 - edge,
            0 - edge, width, tall);
    svg_escape(out, title);
    if (form.standalone) {
        fprintf(out,
                "\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "font-family=\"Inter, system-ui, sans-serif\" font-size=\"%g\">\n",
                width, tall, SVG_EM);
        fprintf(out, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"%s\"/>\n",
                -edge, -edge, width, tall, svg_colour(SVG_BACKGROUND)->light);
    } else {
        fprintf(out, "\" class=\"chart %s\">\n", form.width == CHART_WIDE ? "wide" : "narrow");
    }
}

void svg_end(struct svg *svg)
{
    fputs("</svg>\n", svg->out);
    free(svg->taken);
    free(svg->lines);
    svg->taken = NULL;
    svg->lines = NULL;
    svg->n_taken = svg->n_lines = 0;
}

/* --- room ------------------------------------------------------------------------------------- */

/* Makes room for one more of `size` bytes. Without memory the array stays as it is. */
static bool grow(void **array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return true;
    void *larger = realloc(*array, (*room ? 2 * *room : 64) * size);
    if (!larger)
        return false;
    *array = larger;
    *room = *room ? 2 * *room : 64;
    return true;
}

void svg_take(struct svg *svg, struct svg_box box)
{
    void *array = svg->taken;
    if (grow(&array, svg->n_taken, &svg->taken_room, sizeof box)) {
        svg->taken = array;
        svg->taken[svg->n_taken++] = box;
    }
}

void svg_take_line(struct svg *svg, struct svg_segment line)
{
    void *array = svg->lines;
    if (grow(&array, svg->n_lines, &svg->lines_room, sizeof line)) {
        svg->lines = array;
        svg->lines[svg->n_lines++] = line;
    }
}

bool svg_is_free(const struct svg *svg, struct svg_box box)
{
    if (box.left < 0 || box.top < 0 || box.right > svg->width || box.bottom > svg->height)
        return false;
    for (size_t i = 0; i < svg->n_taken; i++) {
        const struct svg_box *other = &svg->taken[i];
        if (box.left < other->right && other->left < box.right && box.top < other->bottom &&
            other->top < box.bottom)
            return false;
    }
    return true;
}

/* --- shapes ----------------------------------------------------------------------------------- */

void svg_paint(const struct svg *svg, int colour, enum svg_paint paint)
{
    const struct svg_colour *is = svg_colour(colour);

    if (!svg->form.standalone)
        fprintf(svg->out, " class=\"%c c-%s\"", "fsh"[paint], is -> name);
    else if (paint == SVG_FILL)
        fprintf(svg->out, " fill=\"%s\"", is->light);
    else
        fprintf(svg->out, " stroke=\"%s\" fill=\"%s\"", is->light,
                paint == SVG_STROKE ? "none" : svg_colour(SVG_BACKGROUND)->light);
}

void svg_dashes(struct svg *svg, enum chart_line kind)
{
    if (kind == CHART_DASHED)
        fputs(" stroke-dasharray=\"5 4\"", svg->out);
    else if (kind == CHART_DOTTED)
        fputs(" stroke-dasharray=\"1.5 3\"", svg->out);
}

void svg_line(struct svg *svg, struct svg_segment line, int colour, double width,
              enum chart_line kind)
{
    fputs("<line", svg->out);
    attribute(svg, "x1", line.x0);
    attribute(svg, "y1", line.y0);
    attribute(svg, "x2", line.x1);
    attribute(svg, "y2", line.y1);
    attribute(svg, "stroke-width", width);
    svg_dashes(svg, kind);
    svg_paint(svg, colour, SVG_STROKE);
    fputs("/>\n", svg->out);
}

void svg_rect(struct svg *svg, struct svg_box box, int colour)
{
    fputs("<rect", svg->out);
    attribute(svg, "x", box.left);
    attribute(svg, "y", box.top);
    attribute(svg, "width", box.right - box.left);
    attribute(svg, "height", box.bottom - box.top);
    svg_paint(svg, colour, SVG_FILL);
    fputs("/>\n", svg->out);
}

bool svg_link(struct svg *svg, const char *anchor)
{
    if (!anchor || svg->form.standalone)
        return false;
    fputs("<a href=\"#", svg->out);
    /* An id may hold any character; in an address all but these are written as numbers. */
    for (const unsigned char *c = (const unsigned char *)anchor; *c; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~=,:/@", *c))
            fputc(*c, svg->out);
        else
            fprintf(svg->out, "%%%02X", *c);
    fputs("\">", svg->out);
    return true;
}

void svg_link_end(struct svg *svg, bool open)
{
    if (open)
        fputs("</a>", svg->out);
    fputc('\n', svg->out);
}

void svg_title(struct svg *svg, const char *title)
{
    if (!title)
        return;
    fputs("<title>", svg->out);
    svg_escape(svg->out, title);
    fputs("</title>", svg->out);
}

/* --- marks ------------------------------------------------------------------------------------ */

/* Shapes of one radius cover about the same area. */
static const char *outline(struct svg *svg, struct svg_mark mark)
{
    const double r = mark.radius, half = 0.86 * r, tip = 1.3 * r;

    switch (mark.shape) {
    case CHART_SQUARE:
    case CHART_OPEN_SQUARE:
        fputs("<rect", svg->out);
        attribute(svg, "x", mark.x - half);
        attribute(svg, "y", mark.y - half);
        attribute(svg, "width", 2 * half);
        attribute(svg, "height", 2 * half);
        return "rect";
    case CHART_DIAMOND:
    case CHART_TICK:
        fputs("<path d=\"M", svg->out);
        svg_number(svg->out, mark.x);
        fputc(' ', svg->out);
        svg_number(svg->out, mark.y - tip);
        if (mark.shape == CHART_TICK)
            fprintf(svg->out, "v%.1f\"", 2 * tip);
        else
            fprintf(svg->out, "l%.1f %.1f %.1f %.1f %.1f %.1fz\"", tip, tip, -tip, tip, -tip, -tip);
        return "path";
    default:
        fputs("<circle", svg->out);
        attribute(svg, "cx", mark.x);
        attribute(svg, "cy", mark.y);
        attribute(svg, "r", r);
        return "circle";
    }
}

void svg_mark(struct svg *svg, struct svg_mark mark)
{
    const bool hollow = mark.shape == CHART_CIRCLE || mark.shape == CHART_OPEN_SQUARE;
    const bool stroke = hollow || mark.shape == CHART_TICK;
    const double reach = 1.3 * mark.radius;

    if (mark.shape == CHART_NO_MARK)
        return;
    const bool linked = svg_link(svg, mark.anchor);
    const char *element = outline(svg, mark);
    if (stroke)
        fputs(mark.shape == CHART_TICK ? " stroke-width=\"2.2\"" : " stroke-width=\"1.8\"",
              svg->out);
    svg_paint(svg, mark.colour, hollow ? SVG_HOLLOW : stroke ? SVG_STROKE : SVG_FILL);
    if (mark.title) {
        fputc('>', svg->out);
        svg_title(svg, mark.title);
        fprintf(svg->out, "</%s>", element);
    } else {
        fputs("/>", svg->out);
    }
    svg_link_end(svg, linked);
    svg_take(svg, (struct svg_box){mark.x - reach, mark.y - reach, mark.x + reach, mark.y + reach});
}

/* Draws a box whose left and right corners are rounded by the radii given. */
static void rounded(struct svg *svg, struct svg_box box, double left, double right)
{
    const double width = box.right - box.left - left - right, height = box.bottom - box.top;

    fputs("<path d=\"M", svg->out);
    svg_number(svg->out, box.left + left);
    fputc(' ', svg->out);
    svg_number(svg->out, box.top);
    fprintf(svg->out, "h%.1fa%.1f %.1f 0 0 1 %.1f %.1fv%.1fa%.1f %.1f 0 0 1 %.1f %.1f", width,
            right, right, right, right, height - 2 * right, right, right, -right, right);
    fprintf(svg->out, "h%.1fa%.1f %.1f 0 0 1 %.1f %.1fv%.1fa%.1f %.1f 0 0 1 %.1f %.1fz\"", -width,
            left, left, -left, -left, -(height - 2 * left), left, left, left, -left);
}

void svg_verdict(struct svg *svg, struct svg_box box, enum chart_role role)
{
    const double square = 2, round = (box.bottom - box.top) / 2;

    rounded(svg, box, role == CHART_YES ? round : square,
            role == CHART_YES || role == CHART_PARTLY ? round : square);
    if (role == CHART_UNKNOWN)
        fputs(" stroke-dasharray=\"3 2.5\"", svg->out);
    svg_paint(svg, (int)role, role == CHART_UNKNOWN ? SVG_HOLLOW : SVG_FILL);
    fputs("/>", svg->out);
}

/* --- keys ------------------------------------------------------------------------------------- */

#define KEY_LINE 20.0
#define KEY_GAP 18.0

static double key_sign(const struct chart_key *key)
{
    return key->mark ? 14 : 24;
}

/* Where a key goes, after one that ended at x; a key that does not fit begins a line. */
static void key_place(double width, const struct chart_key *key, double *x, double *y)
{
    const double room = key_sign(key) + svg_text_width(key->name, (struct svg_style){0});
    if (*x > 0 && *x + room > width) {
        *x = 0;
        *y += KEY_LINE;
    }
}

static double key_end(const struct chart_key *key, double x)
{
    return x + key_sign(key) + svg_text_width(key->name, (struct svg_style){0}) + KEY_GAP;
}

double svg_keys_height(enum chart_width width, const struct chart_key *keys, size_t n_keys)
{
    double x = 0, y = 0;
    for (size_t i = 0; i < n_keys; i++) {
        key_place(svg_width(width), &keys[i], &x, &y);
        x = key_end(&keys[i], x);
    }
    return n_keys ? y + KEY_LINE + 8 : 0;
}

double svg_keys(struct svg *svg, double y, const struct chart_key *keys, size_t n_keys)
{
    const double end = y + svg_keys_height(svg->form.width, keys, n_keys);
    double x = 0;

    for (size_t i = 0; i < n_keys; i++) {
        const struct chart_key *key = &keys[i];
        key_place(svg->width, key, &x, &y);
        if (key->mark)
            svg_mark(svg,
                     (struct svg_mark){x + 6, y + 9, 4.5, key->mark, (int)key->role, NULL, NULL});
        else {
            svg_verdict(svg, (struct svg_box){x + 1, y + 3, x + 19, y + 15}, key->role);
            fputc('\n', svg->out);
        }
        svg_text_cut(svg, x + key_sign(key), y + 13.5, key->name, svg->width - x - key_sign(key),
                     (struct svg_style){0});
        x = key_end(key, x);
    }
    return end;
}
