/* Published figures beside ours. */
#include "report/page/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/unit.h"

enum { DIGITS = 4 }; /* of a figure of others: all that it states */

/* "1.34 us": as many digits as the source states, without zeros that it does not. */
static char *exactly(char *text, size_t size, double value, const char *unit)
{
    unit_format(text, size, value, unit, DIGITS);
    char *end = text + strcspn(text, " "), *last = end;

    if (!memchr(text, '.', (size_t)(end - text)))
        return text;
    while (last[-1] == '0')
        last--;
    last -= last[-1] == '.';
    memmove(last, end, strlen(end) + 1);
    return text;
}

/* "142 to 150 ns" */
static const char *value_of(struct section *s, const struct published *p)
{
    char low[48], high[48];

    exactly(low, sizeof low, p->low, p->unit);
    exactly(high, sizeof high, p->high, p->unit);
    if (p->low == p->high)
        return section_text(s, "%s", low);
    const char *unit = strchr(low, ' '), *other = strchr(high, ' ');
    const bool is_alike = unit && other && !strcmp(unit, other);
    return section_text(s, "%.*s to %s", (int)(is_alike ? (size_t)(unit - low) : strlen(low)), low,
                        high);
}

static void put_figure(struct grid *grid, struct section *s, const struct boards *boards,
                       const struct published *p, bool is_first)
{
    const struct summary_entry *entry = summary_find(p->name);

    grid_text(grid, is_first && entry ? section_label(s, &boards->of[0], entry->label) : "");
    for (size_t i = 0; i < boards->n; i++) {
        const struct number ours = summary_number(&boards->of[i], p->name);
        if (is_first)
            grid_number(grid, &ours);
        else
            grid_text(grid, "");
    }
    grid_text(grid, value_of(s, p));
    grid_text(grid, p->board);
    grid_text(grid, p->what);
    grid_text(grid, p->source);
}

/* Source and method of each, a line a source. */
static void tabulate_sources(struct section *s)
{
    static const struct column columns[] = {{NULL, "source", NULL, 'l'},
                                            {NULL, "what it is, and how it measured", NULL, 'l'}};
    const struct published_source *source;
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; (source = published_source_at(i)); i++) {
        const char *year = source->year ? section_text(s, ", %d", source->year) : "";
        grid_text(grid, source->key);
        grid_text(grid, section_text(s, "%s: %s%s. %s %s", source->authors, source->title, year,
                                     source->url, source->method));
    }
}

/* The name of the board, shorter: "H200" of "NVIDIA H200". */
static const char *head_of(struct section *s, const struct summary *summary)
{
    static const char maker[] = "NVIDIA ";
    char name[160];

    const char *shown = bundle_fact(summary->bundle, "gpu", "name", name, sizeof name,
                                    summary->bundle->name);
    return section_text(s, "%.20s", strncmp(shown, maker, strlen(maker)) ? shown
                                                                         : shown + strlen(maker));
}

void published_section(const struct boards *boards, struct section *s)
{
    struct column columns[SECTION_COLUMNS] = {{NULL, NULL, NULL, 'l'}};
    const struct published *p;
    size_t n = 1;

    s->name = "published";
    s->title = "PUBLISHED";
    s->has_no_number = true;
    for (size_t i = 0; i < boards->n; i++)
        columns[n++] =
            (struct column){i ? NULL : "measured", head_of(s, &boards->of[i]), NULL, 'r'};
    columns[n++] = (struct column){"published, not measured", "by gpufloor", NULL, 'l'};
    columns[n++] = (struct column){NULL, "GPU", NULL, 'l'};
    columns[n++] = (struct column){NULL, "of what", NULL, 'l'};
    columns[n++] = (struct column){NULL, "source", NULL, 'l'};
    struct grid *grid = section_grid(s, columns, n);
    size_t i = 0;
    for (; (p = published_at(i)); i++)
        put_figure(grid, s, boards, p, i == 0 || strcmp(p->name, published_at(i - 1)->name) != 0);
    tabulate_sources(s);
    s->finding = section_text(s, "%zu figures of others, published, not measured by gpufloor; no "
                                 "verdict rests on one.", i);
    section_note(s, "Methods differ, from source to source and from ours; each source's method "
                    "stands beside it.");
}
