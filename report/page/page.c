/* What a page consists of: its sections, the ledger, and the rows that they show. */
#include "report/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"

/* --- rows ------------------------------------------------------------------------------------- */

/* An id as the name of a place in the page: what links could not hold becomes '_'. */
static char *anchor_of(const struct page *page, size_t section, const char *id, bool again)
{
    char *anchor = NULL;

    if (asprintf(&anchor, "%s%s%s", again ? page->section[section].name : "", again ? "/" : "",
                 id) < 0)
        return NULL;
    for (char *at = strchr(anchor, '\0') - strlen(id); *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._{}=,:+-", *at))
            *at = '_';
    if (!strchr(anchor, '.')) /* no metric: such a name could be that of a section */
        *anchor = '_';
    return anchor;
}

static bool is_row(const struct page *page, size_t section, const char *id)
{
    for (size_t i = 0; i < page->n_rows; i++)
        if (page->row[i].section == section && !strcmp(page->row[i].number->id, id))
            return true;
    return false;
}

static bool is_shown(const struct page *page, const char *anchor)
{
    for (size_t i = 0; i < page->n_rows; i++)
        if (!strcmp(page->row[i].anchor, anchor))
            return true;
    return false;
}

static void add_row(struct page *page, size_t section, const struct number *number,
                    const char *what)
{
    if (!number_there(number) || !number->id || is_row(page, section, number->id))
        return;
    if (page->n_rows == page->rows_room) {
        const size_t room = page->rows_room ? 2 * page->rows_room : 256;
        struct page_row *rows = realloc(page->row, room * sizeof *rows);
        if (!rows)
            return;
        page->row = rows;
        page->rows_room = room;
    }
    char *anchor = anchor_of(page, section, number->id, false);
    if (anchor && is_shown(page, anchor)) {
        free(anchor);
        anchor = anchor_of(page, section, number->id, true);
    }
    if (anchor && !is_shown(page, anchor))
        page->row[page->n_rows++] = (struct page_row){section, number, what, anchor};
    else
        free(anchor);
}

static void add_grid(struct page *page, size_t i, const struct grid *grid)
{
    struct section *section = &page->section[i];
    char name[240], heading[120];

    for (size_t k = 0; k < grid->n_cells; k++) {
        const struct cell *cell = &grid->cell[k];
        if (cell->kind != CELL_NUMBER)
            continue;
        emit_row_name(name, sizeof name, grid, k / grid->n_columns);
        emit_heading(heading, sizeof heading, grid, k % grid->n_columns);
        add_row(page, i, &cell->number,
                section_text(section, "%s%s%s", name, *name && *heading ? ": " : "", heading));
    }
}

static void add_rows(struct page *page, size_t i)
{
    const struct section *section = &page->section[i];

    for (size_t k = 0; k < section->n_grids; k++)
        add_grid(page, i, &section->grid[k]);
    for (size_t k = 0; k < section->n_series; k++) {
        const struct series *series = &section->series[k];
        if (!strcmp(series->name, "load, ns")) /* not drawn: that axis is formed from the cycles */
            continue;
        for (size_t p = 0; p < series->n; p++)
            add_row(page, i, &series->point[p].y,
                    series->point[p].label ? series->point[p].label : series->name);
    }
}

const char *page_anchor(const struct page *page, const struct section *section,
                        const struct number *number)
{
    if (!number->id)
        return NULL;
    for (size_t i = 0; i < page->n_rows; i++)
        if (&page->section[page->row[i].section] == section &&
            !strcmp(page->row[i].number->id, number->id))
            return page->row[i].anchor;
    return NULL;
}

/* --- all of it -------------------------------------------------------------------------------- */

const struct section *page_section(const struct page *page, const char *name)
{
    for (size_t i = 0; i < page->n_sections; i++)
        if (!strcmp(page->section[i].name, name))
            return &page->section[i];
    return NULL;
}

bool page_open(struct page *page, const struct summary *summary)
{
    const struct section_entry *entry;

    *page = (struct page){.summary = summary};
    if (bundle_gpus(summary->bundle) == 1 && !tellings_open(&page->claims, summary->bundle, NULL))
        return false;
    struct summary judged = *summary; /* the section of claims judges nothing again */
    judged.claims = &page->claims;
    for (size_t i = 0; i < PAGE_SECTIONS && (entry = section_at(i)); i++) {
        page->section[i].name = entry->name;
        entry->build(&judged, &page->section[i]);
        page->n_sections++;
    }
    for (size_t i = 0; i < page->n_sections; i++)
        add_rows(page, i);
    return true;
}

void page_open_boards(struct page *page, const struct boards *boards)
{
    boards_builder *build;

    *page = (struct page){.summary = &boards->of[0], .boards = boards};
    for (size_t i = 0; i < PAGE_SECTIONS && (build = boards_section_at(i)); i++) {
        build(boards, &page->section[i]);
        page->n_sections++;
    }
    for (size_t i = 0; i < page->n_sections; i++)
        add_rows(page, i);
}

void page_free(struct page *page)
{
    for (size_t i = 0; i < page->n_rows; i++)
        free(page->row[i].anchor);
    free(page->row);
    for (size_t i = 0; i < page->n_sections; i++)
        section_free(&page->section[i]);
    tellings_free(&page->claims);
}
