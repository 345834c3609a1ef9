/* Reads a figure back: is it XML, which boxes do its texts take, what leaves it? Widths go by the
 * design's rule of 0.55 em a character, not by the charts' own. */
#ifndef GPUFLOOR_CHART_READ_H
#define GPUFLOOR_CHART_READ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

struct read_box {
    double left, top, right, bottom;
    bool text;
};

enum { READ_BOXES = 4096 };
struct read_figure {
    double width, height;
    struct read_box boxes[READ_BOXES];
    size_t n, overlaps, outside, points_outside;
};

/* Whether a document is well-formed: tags close in order, attributes are quoted, no character
 * stands there that XML forbids, and '<' and '&' only where they may. `where`: the first fault. */
static inline bool read_is_xml(const char *text, const char **where)
{
    const char *open[64];
    size_t lengths[64], depth = 0;

    for (const char *c = text; *c; c++) {
        *where = c;
        if ((unsigned char)*c < 0x20 && *c != '\n')
            return false;
        if (*c == '&' && strncmp(c, "&lt;", 4) && strncmp(c, "&gt;", 4) && strncmp(c, "&amp;", 5) &&
            strncmp(c, "&quot;", 6) && strncmp(c, "&#39;", 5))
            return false;
        if (*c == '>')
            return false;
        if (*c != '<')
            continue;
        const char *end = ++c;
        for (bool quoted = false; *end && (quoted || *end != '>'); end++) {
            quoted ^= *end == '"';
            if (quoted && *end == '<')
                return false;
        }
        if (!*end)
            return false;
        const bool closes = *c == '/';
        const char *name = c + closes;
        const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        if (length == 0)
            return false;
        if (closes) {
            if (depth == 0 || lengths[depth - 1] != length ||
                strncmp(open[depth - 1], name, length))
                return false;
            depth--;
        } else if (end[-1] != '/') {
            if (depth == 64)
                return false;
            lengths[depth] = length;
            open[depth++] = name;
        }
        c = end;
    }
    return depth == 0;
}

/* The number of an attribute within one tag, or fallback. */
static inline double read_number(const char *tag, const char *end, const char *name,
                                 double fallback)
{
    char key[32];
    snprintf(key, sizeof key, " %s=\"", name);
    const char *found = strstr(tag, key);
    return found && found < end ? strtod(found + strlen(key), NULL) : fallback;
}

/* Characters up to the next tag: an entity is one, and so is a sequence of UTF-8. */
static inline size_t read_length(const char *c)
{
    size_t n = 0;
    for (; *c && *c != '<'; c++) {
        n += ((unsigned char)*c & 0xc0) != 0x80;
        if (*c == '&')
            c += strcspn(c, ";");
    }
    return n;
}

static inline void read_add(struct read_figure *figure, struct read_box box)
{
    const double slack = 0.5;
    assert_true(figure->n < READ_BOXES);
    figure->outside += box.left < -slack || box.top < -slack || box.right > figure->width + slack ||
                       box.bottom > figure->height + slack;
    for (size_t i = 0; i < figure->n; i++) {
        const struct read_box *other = &figure->boxes[i];
        if ((box.text || other->text) && box.left + slack < other->right &&
            other->left + slack < box.right && box.top + slack < other->bottom &&
            other->top + slack < box.bottom)
            figure->overlaps++;
    }
    figure->boxes[figure->n++] = box;
}

static inline void read_text(struct read_figure *figure, const char *tag, const char *end)
{
    const double size = read_number(tag, end, "font-size", 12.5);
    const double x = read_number(tag, end, "x", -1), y = read_number(tag, end, "y", -1);
    const double width = 0.55 * size * (double)read_length(end + 1);
    const char *at = strstr(tag, "text-anchor=\"");
    const double left = !at || at > end ? x : at[13] == 'm' ? x - width / 2 : x - width;
    read_add(figure, (struct read_box){left, y - 0.75 * size, left + width, y + 0.2 * size, true});
}

/* Reads the places of a path's absolute commands. */
static inline void read_path(struct read_figure *figure, const char *tag, const char *end)
{
    for (const char *c = strstr(tag, " d=\"") + 4; c < end && *c != '"'; c++)
        if (*c == 'M' || *c == 'L') {
            char *next;
            const double x = strtod(c + 1, &next), y = strtod(next, NULL);
            figure->points_outside +=
                !(x >= 0 && y >= 0 && x <= figure->width && y <= figure->height);
        }
}

static inline void read_figure(struct read_figure *figure, const char *svg)
{
    *figure = (struct read_figure){0};
    double edge = 0; /* of a file of its own: only the paper reaches to (edge, edge) */
    assert_int_equal(
        sscanf(svg, "<svg viewBox=\"%lf %*f %lf %lf\"", &edge, &figure->width, &figure->height), 3);
    figure->width += 2 * edge;
    figure->height += 2 * edge;
    for (const char *tag = svg; (tag = strchr(tag, '<')); tag++) {
        const char *end = strchr(tag, '>');
        if (!strncmp(tag, "<text ", 6))
            read_text(figure, tag, end);
        if (!strncmp(tag, "<circle ", 8)) {
            const double x = read_number(tag, end, "cx", -1), y = read_number(tag, end, "cy", -1);
            const double r = read_number(tag, end, "r", -1);
            read_add(figure, (struct read_box){x - r, y - r, x + r, y + r, false});
        }
        if (!strncmp(tag, "<path ", 6))
            read_path(figure, tag, end);
        if (!strncmp(tag, "<line ", 6)) {
            const double x0 = read_number(tag, end, "x1", -1), x1 = read_number(tag, end, "x2", -1);
            const double y0 = read_number(tag, end, "y1", -1), y1 = read_number(tag, end, "y2", -1);
            figure->points_outside += !(fmin(x0, x1) >= 0 && fmax(x0, x1) <= figure->width &&
                                        fmin(y0, y1) >= 0 && fmax(y0, y1) <= figure->height);
        }
        if (!strncmp(tag, "<rect ", 6)) {
            const double x = read_number(tag, end, "x", -1), y = read_number(tag, end, "y", -1);
            const double w = read_number(tag, end, "width", -1),
                         h = read_number(tag, end, "height", -1);
            figure->points_outside +=
                !(edge < 0 && x == edge) &&
                !(x >= 0 && y >= 0 && w >= 0 && h >= 0 && x + w <= figure->width + 0.5 &&
                  y + h <= figure->height + 0.5);
        }
    }
}

#endif
