/* The top of the page: the board, the verdict, ten numbers, the contents. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/html.h"
#include "report/page/sections.h"

/* --- the board and the verdict ---------------------------------------------------------------- */

/* "NAME | a | b" without its name as "a, b."; the first line's name is the page's title. */
static void put_machine(FILE *out, const struct section *head)
{
    static const char bar[] = " | ";

    fputs("<p class=\"sub\">", out);
    for (size_t i = 0; i < head->n_lines; i++) {
        const char *at = head->lines[i];
        if (i == 0)
            at = strstr(at, bar) ? strstr(at, bar) + strlen(bar) : strchr(at, '\0');
        bool begins = i > 0;
        for (const char *end; (end = strstr(at, bar)); at = end + strlen(bar)) {
            char part[200];
            snprintf(part, sizeof part, "%.*s, ", (int)(end - at), at);
            part[0] = begins ? (char)toupper((unsigned char)part[0]) : part[0];
            begins = false;
            html_prose(out, part);
        }
        html_prose(out, at);
        fputs(i + 1 < head->n_lines ? ". " : ".", out);
    }
    fputs("</p>\n", out);
}

static void board_name(const struct section *head, char *text, size_t size)
{
    const char *line = head->n_lines ? head->lines[0] : "gpufloor", *bar = strstr(line, " | ");
    snprintf(text, size, "%.*s", bar ? (int)(bar - line) : (int)strlen(line), line);
}

static void put_verdict(FILE *out, const struct section *head)
{
    static const struct {
        const char *title, *words, *class;
    } verdicts[] = {{"NORMAL", "This card is normal.", "good"},
                    {"UNLIKE ITS BOARD", "This card is unlike its board.", "bad"},
                    {"NOT RELIABLE", "Not reliable:", "bad"},
                    {"NEW BOARD", "A new board:", ""},
                    {"COMMITTED", "A reference:", ""}};
    const struct grid *grid = head->n_grids ? &head->grid[0] : NULL;
    const char *words = head->title, *class = "";
    bool is_unlike = false;
    char name[80];

    html_name(head->title, name, sizeof name);
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
        if (!strcmp(verdicts[i].title, head->title)) {
            snprintf(name, sizeof name, "%s", verdicts[i].words);
            class = verdicts[i].class;
        }
    words = name;
    fprintf(out, "<p class=\"verdict\"><b class=\"%s\">", class);
    html_text(out, words);
    fputs(strchr(".:", words[strlen(words) - 1]) ? "</b> " : ":</b> ", out);
    html_prose(out, head->finding);
    fputs("</p>\n", out);
    for (size_t i = 0; grid && i < grid_rows(grid); i++) { /* what is unlike, row by row */
        const struct cell *key = grid_at(grid, i, 0), *text = grid_at(grid, i, 1);
        const bool goes_on = is_unlike && !*key->text;
        if (strcmp(key->text, "unlike") && !goes_on) {
            is_unlike = false;
            continue;
        }
        fputs(is_unlike ? "<li>Unlike: " : "<ul class=\"off\"><li>Unlike: ", out);
        html_prose(out, text->text);
        is_unlike = true;
        const struct cell *next = grid_at(grid, i + 1, 0);
        fputs(next && next->text && !*next->text ? "</li>\n" : "</li></ul>\n", out);
    }
}

/* --- ten numbers ------------------------------------------------------------------------------ */

struct tile {
    struct number number;
    const char *shown, *label;
};
enum { TILES = 10, TILES_LEAST = 3 };

static const char *cell_of(struct section *texts, const struct number *number, const char *shown)
{
    char text[48];
    return section_text(texts, "%s", number_cell(text, sizeof text, number, shown));
}

static void take_loads(const struct summary *summary, struct section *texts, struct tile *tiles)
{
    const struct number cycles = summary_take(summary, "memory_latency.load{level=l1}", PICK_FIRST);
    const struct number far = summary_number(summary, "l2-far-load");
    const struct number loaded = summary_number(summary, "hbm-loaded");
    const struct number rate = summary_number(summary, "hbm-read");
    const double share = rate.value / summary_pins(summary);
    const char *memory = summary_memory_name(summary);

    tiles[0] = (struct tile){summary_number(summary, "l1-load"), "ns", "a load that hits L1"};
    if (number_there(&cycles))
        tiles[0].label =
            section_text(texts, "a load that hits L1, %s", section_say(texts, &cycles, NULL));
    tiles[1] = (struct tile){summary_number(summary, "l2-load"), "ns", "a load that hits the L2"};
    if (number_there(&far))
        tiles[1].label = section_text(texts, "a load that hits the near side of the L2; %s the far",
                                      cell_of(texts, &far, "ns"));
    tiles[2] = (struct tile){summary_number(summary, "hbm-load"), "ns",
                             section_text(texts, "a load from %s", memory)};
    if (number_there(&loaded))
        tiles[2].label = section_text(texts, "a load from %s; %s while all other SMs stream",
                                      memory, cell_of(texts, &loaded, "ns"));
    tiles[3] = (struct tile){rate, NULL, section_text(texts, "read from %s", memory)};
    if (isfinite(share))
        tiles[3].label =
            section_text(texts, "read from %s, %.0f %% of its pins", memory, 100 * share);
}

/* The fastest product that is not quoted, and what of it is fixed. */
static void take_product(const struct page *page, struct section *texts, struct tile *tile)
{
    const struct section *small = page_section(page, "small");
    const struct series *all = small ? section_find(small, "time over blocks") : NULL;
    const struct series *fixed = small ? section_find(small, "fixed cost") : NULL;

    *tile = (struct tile){number_none(), "us", "a product of 1024^3, fp16"};
    for (size_t i = 0; all && i < all->n; i++)
        if (!all->point[i].y.quoted &&
            (!number_there(&tile->number) || all->point[i].y.value < tile->number.value))
            tile->number = all->point[i].y;
    if (fixed && fixed->n == 2 && number_there(&tile->number))
        tile->label = section_text(
            texts, "a product of 1024^3, fp16; %.0f to %.0f %% of it do not grow with k",
            100 * fixed->point[0].y.value / tile->number.value,
            100 * fixed->point[1].y.value / tile->number.value);
}

static struct number take_gain_of(const struct page *page, const char *label)
{
    const struct section *fusion = page_section(page, "fusion");
    const struct series *gains = fusion ? section_find(fusion, "gain") : NULL;

    for (size_t i = 0; gains && i < gains->n; i++)
        if (!strcmp(gains->point[i].label, label))
            return gains->point[i].y;
    return number_none();
}

static void take_tiles(const struct page *page, struct section *texts, struct tile *tiles)
{
    const struct summary *summary = page->summary;
    const struct section *flight = page_section(page, "flight");
    const struct series *full = flight ? section_find(flight, "the memory is full") : NULL;
    const struct number two = summary_number(summary, "grid-barrier");
    const struct number sync = summary_number(summary, "grid-sync");
    const struct number graph = summary_number(summary, "step-graph");

    take_loads(summary, texts, tiles);
    tiles[4] = (struct tile){full ? number_formed(full->point[0].x, "bytes", &full->point[0].y)
                                  : number_none(),
                             NULL,
                             section_text(texts, "in flight on each SM, at least, to get there%s",
                                          flight ? section_flight_need(texts, flight) : "")};
    tiles[5] =
        (struct tile){sync.value < two.value || !number_there(&two) ? sync : two, "us",
                      section_text(texts, "a barrier of all %.0f SMs", summary_sms(summary))};
    tiles[6] = (struct tile){
        summary_number(summary, "step-kernel"), "us",
        number_there(&graph)
            ? section_text(texts, "a step of all SMs inside one kernel; %s in a graph",
                           section_say(texts, &graph, "us"))
            : "a step of all SMs inside one kernel"};
    tiles[7] = (struct tile){summary_number(summary, "round-trip"), "us",
                             "from submit to done, as the CPU sees it"};
    take_product(page, texts, &tiles[8]);
    tiles[9] = (struct tile){take_gain_of(page, "scale * gelu(x + bias)"), "x",
                             "faster by fusing bias, gelu and scale"};
}

static void put_tiles(FILE *out, const struct page *page)
{
    struct section texts = {0};
    struct tile tiles[TILES];
    size_t there = 0;

    take_tiles(page, &texts, tiles);
    for (size_t i = 0; i < TILES; i++)
        there += number_there(&tiles[i].number);
    fputs(there >= TILES_LEAST ? "<dl class=\"ten\">\n" : "", out);
    for (size_t i = 0; i < TILES && there >= TILES_LEAST; i++) {
        char text[64];
        number_say(text, sizeof text, &tiles[i].number, tiles[i].shown);
        char *unit = strrchr(text, ' ');
        if (unit)
            *unit++ = '\0';
        fputs("<div><dt>", out);
        html_text(out, text);
        fputs(" <span>", out);
        html_text(out, unit ? unit : "");
        fputs("</span></dt><dd>", out);
        html_prose(out, number_there(&tiles[i].number) ? tiles[i].label : "not measured");
        fputs("</dd></div>\n", out);
    }
    fputs(there >= TILES_LEAST ? "</dl>\n" : "", out);
    section_free(&texts);
}

/* --- the contents ----------------------------------------------------------------------------- */

static void put_contents(FILE *out, const struct page *page)
{
    static const char *const parts[][2] = {
        {"trust", "Trust"}, {"conditions", "Conditions"}, {"cite", "Reproduce and cite"}};
    char name[80];

    fputs("<nav>\n", out);
    for (size_t i = 1; i < page->n_sections; i++) {
        const struct section *section = &page->section[i];
        if (section->missing)
            continue;
        fprintf(out, "<a href=\"#%s\">%zu ", section->name, i);
        html_text(out, html_name(section->title, name, sizeof name));
        fputs("</a>\n", out);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        fprintf(out, "<a href=\"#%s\">%zu %s</a>\n", parts[i][0], page->n_sections + i,
                parts[i][1]);
    fputs("</nav>\n", out);
}

void html_begin(FILE *out, const char *name)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    html_text(out, name);
    fputs(", measured by gpufloor</title>\n", out);
    html_style(out);
    fputs("</head>\n<body>\n<main>\n", out);
}

void html_head(FILE *out, const struct page *page)
{
    const struct section *head = &page->section[0];
    char name[200];

    board_name(head, name, sizeof name);
    html_begin(out, name);
    fputs("<h1>", out);
    html_text(out, name);
    fputs("</h1>\n", out);
    put_machine(out, head);
    put_verdict(out, head);
    put_tiles(out, page);
    put_contents(out, page);
}
