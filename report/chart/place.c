#include "report/chart/place.h"

#include <math.h>
#include <string.h>

enum { LINES = 4, LINE_BYTES = 256 }; /* a label's; what is beyond is left out */
#define GAP 2.0                       /* between a label and anything else */

void place_add(struct places *places, double x, double y, enum svg_at at)
{
    if (places->n < PLACES)
        places->list[places->n++] = (struct place){x, y, at, false};
}

void place_around(struct places *places, double x, double y, double radius, size_t lines,
                  enum chart_side side, bool far)
{
    /* A mark takes up to 1.3 of its radius; a note is held off the line that it names. */
    const double edge = radius > 0 ? 1.3 * radius : 4;
    const double aside = edge + 4, more = SVG_LINE * ((double)lines - 1);
    const double middle = y + 0.35 * SVG_EM - more / 2;
    const double above = y - edge - 5.5 - more, below = y + edge + 0.8 * SVG_EM + 3;
    const struct place sides[] = {[CHART_RIGHT] = {x + aside, middle, SVG_START, false},
                                  [CHART_LEFT] = {x - aside, middle, SVG_END, false},
                                  [CHART_ABOVE] = {x, above, SVG_MIDDLE, false},
                                  [CHART_BELOW] = {x, below, SVG_MIDDLE, false}};
    static const double reach[] = {26, 42, 60, 80};

    place_add(places, sides[side].x, sides[side].y, sides[side].at);
    /* Then the opposite side, and the other two. */
    for (unsigned i = 1; i < 4; i++) {
        const struct place *next = &sides[(unsigned)side ^ i];
        place_add(places, next->x, next->y, next->at);
    }
    /* The corners, near the point and then a little off, where steep lines leave room. */
    for (double off = 0; off < 3; off++) {
        place_add(places, x - edge + 7 * off, above, SVG_START);
        place_add(places, x + edge - 7 * off, above, SVG_END);
        place_add(places, x - edge + 7 * off, below, SVG_START);
        place_add(places, x + edge - 7 * off, below, SVG_END);
    }
    places->to_x = x;
    places->to_y = y;
    const size_t near = places->n;
    for (size_t i = 0; far && i < sizeof reach / sizeof reach[0]; i++)
        for (int at = 0; at < 3; at++) {
            static const enum svg_at ats[] = {SVG_MIDDLE, SVG_END, SVG_START};
            const double dx = at == 0 ? 0 : at == 1 ? 6 : -6;
            place_add(places, x + dx, below + reach[i], ats[at]);
            place_add(places, x + dx, above - reach[i], ats[at]);
        }
    for (size_t i = near; i < places->n; i++)
        places->list[i].far = true;
}

size_t place_lines(const char *text)
{
    size_t n = 1;
    for (const char *c = text; c && *c; c++)
        n += *c == '\n';
    return n < LINES ? n : LINES;
}

/* Copies line number `which` of a text; a label of one line is the whole text. */
static void line_of(char line[LINE_BYTES], const char *text, size_t which, size_t lines)
{
    while (which-- > 0)
        text += strcspn(text, "\n") + 1;
    const size_t n = lines == 1 ? strlen(text) : strcspn(text, "\n");
    const size_t kept = n < LINE_BYTES - 1 ? n : LINE_BYTES - 1;
    memcpy(line, text, kept);
    line[kept] = '\0';
}

static struct svg_box label_box(const struct place *place, const char *text, size_t lines,
                                struct svg_style style)
{
    char line[LINE_BYTES];
    struct svg_box all = {0};

    style.at = place->at;
    for (size_t i = 0; i < lines; i++) {
        line_of(line, text, i, lines);
        const struct svg_box box =
            svg_text_box(place->x, place->y + SVG_LINE * (double)i, line, style);
        if (i == 0)
            all = box;
        all.left = fmin(all.left, box.left);
        all.right = fmax(all.right, box.right);
        all.bottom = box.bottom;
    }
    return all;
}

/* Whether a segment enters a box: Liang and Barsky's clipping leaves some of it. */
static bool crosses(const struct svg_segment *line, const struct svg_box *box)
{
    const double dx = line->x1 - line->x0, dy = line->y1 - line->y0;
    const double p[4] = {-dx, dx, -dy, dy};
    const double q[4] = {line->x0 - box->left, box->right - line->x0, line->y0 - box->top,
                         box->bottom - line->y0};
    double from = 0, to = 1;

    for (int i = 0; i < 4; i++) {
        if (p[i] == 0 && q[i] < 0)
            return false;
        if (p[i] < 0)
            from = fmax(from, q[i] / p[i]);
        if (p[i] > 0)
            to = fmin(to, q[i] / p[i]);
    }
    return from <= to;
}

static int crossings(const struct svg *svg, const struct svg_box *box)
{
    int n = 0;
    for (size_t i = 0; i < svg->n_lines && n < 1000; i++)
        n += crosses(&svg->lines[i], box);
    return n;
}

static void draw(struct svg *svg, const struct places *places, const struct place *place,
                 const struct svg_box *box, const char *text, struct svg_style style)
{
    const size_t lines = places->one_line ? 1 : place_lines(text);
    char line[LINE_BYTES];

    if (place->far) {
        const bool above = box->bottom < places->to_y;
        svg_line(svg,
                 (struct svg_segment){places->to_x, above ? box->bottom + 1 : box->top - 1,
                                      places->to_x, places->to_y + (above ? -7 : 7)},
                 CHART_SECONDARY, 1, CHART_SOLID);
    }
    style.at = place->at;
    for (size_t i = 0; i < lines; i++) {
        line_of(line, text, i, lines);
        svg_text(svg, place->x, place->y + SVG_LINE * (double)i, line, style);
    }
}

bool place_label(struct svg *svg, const struct places *places, const char *text,
                 struct svg_style style)
{
    const size_t lines = places->one_line ? 1 : place_lines(text);
    int best = -1, fewest = 0;

    if (!text || !*text || places->n == 0)
        return true;
    for (size_t i = 0; i < places->n; i++) {
        const struct svg_box box = label_box(&places->list[i], text, lines, style);
        const struct svg_box room = {box.left - GAP, box.top - GAP / 2, box.right + GAP,
                                     box.bottom + GAP / 2};
        const bool within = box.left >= places->within.left && box.top >= places->within.top &&
                            box.right <= places->within.right &&
                            box.bottom <= places->within.bottom;

        if (svg->form.careless) {
            draw(svg, places, &places->list[i], &box, text, style);
            return true;
        }
        if (!within || !svg_is_free(svg, room))
            continue;
        /* A far place is better than a crossing. */
        const int cost = 2 * crossings(svg, &box) + places->list[i].far;
        if (best < 0 || cost < fewest) {
            best = (int)i;
            fewest = cost;
        }
    }
    if (best < 0)
        return false;
    const struct svg_box box = label_box(&places->list[best], text, lines, style);
    draw(svg, places, &places->list[best], &box, text, style);
    return true;
}
