/* The page: its frame, the sections in order, and the figures as files. */
#include "report/page/html.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/made.h"
#include "report/page/out.h"
#include "report/page/sections.h"

/* --- texts ------------------------------------------------------------------------------------ */

void html_text(FILE *out, const char *text)
{
    out_put(out, text, OUT_HTML);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* No line may end between a number and its unit. */
static bool is_unit(const char *text)
{
    static const char *const units[] = {"%",   "ns",  "us",  "ms",     "TB/s", "TFLOP/s", "KiB",
                                        "MiB", "GiB", "MHz", "cycles", "SMs",  "blocks"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (!strncmp(text, units[i], strlen(units[i])))
            return true;
    return false;
}

void html_prose(FILE *out, const char *text)
{
    static const struct {
        const char *written, *shown;
    } signs[] = {{"^3", "\u00b3"}, {"+-", "\u00b1"}, {">=", "\u2265"}};
    char one[2] = "", whole[4096];
    size_t used = 0;

    for (const char *at = text ? text : ""; *at && used + 8 < sizeof whole; at++) {
        if (used > 0 && *at == ' ' && is_digit(whole[used - 1]) && is_unit(at + 1)) {
            used += (size_t)snprintf(whole + used, sizeof whole - used, "\u00a0");
            continue;
        }
        const char *shown = NULL;
        for (size_t i = 0; i < sizeof signs / sizeof signs[0] && !shown; i++)
            if (!strncmp(at, signs[i].written, 2))
                shown = signs[i].shown;
        one[0] = *at;
        used += (size_t)snprintf(whole + used, sizeof whole - used, "%s", shown ? shown : one);
        at += shown != NULL;
    }
    whole[used] = '\0';
    html_text(out, whole);
}

const char *html_name(const char *title, char *text, size_t size)
{
    char *gpus;

    snprintf(text, size, "%s", title ? title : "");
    for (char *at = text; at[0] && at[1]; at++)
        at[1] = (char)tolower((unsigned char)at[1]);
    if ((gpus = strstr(text, "gpu")))
        memcpy(gpus, "GPU", 3);
    return text;
}

void html_part(FILE *out, const char *id, size_t number, const char *title)
{
    fprintf(out, "<section id=\"%s\" class=\"long\">\n<h2><span class=\"n\">%zu</span>", id,
            number);
    html_prose(out, title);
    fputs("</h2>\n", out);
}

/* --- one section ------------------------------------------------------------------------------ */

/* Its first sentence is what to do. */
static void put_answer(FILE *out, const char *text)
{
    char first[400];
    const char *end = strstr(text, ". ");
    const size_t length = end ? (size_t)(end - text) + 1 : strlen(text);

    snprintf(first, sizeof first, "%.*s", (int)length, text);
    fputs("<p class=\"answer\"><b>", out);
    html_prose(out, first);
    fputs("</b>", out);
    html_prose(out, length < sizeof first ? text + length : "");
    fputs("</p>\n", out);
}

void html_section_figures(FILE *out, const struct page *page, const struct section *section)
{
    const struct page_figure *figure;
    char title[200], how[600];
    bool is_first = true;

    for (size_t i = 0; (figure = figure_at(i)); i++) {
        if (strcmp(figure->section, section->name))
            continue;
        char *wide = figure_draw(page, figure, CHART_WIDE, false, title, how);
        char *narrow = wide ? figure_draw(page, figure, CHART_NARROW, false, title, how) : NULL;
        if (narrow) {
            fprintf(out, *how ? "<p class=\"how\">" : "");
            html_prose(out, how);
            fprintf(out, *how ? "</p>\n" : "");
            fprintf(out, *title ? "<h3>" : "");
            html_prose(out, title);
            fprintf(out, *title ? "</h3>\n" : "");
            fprintf(out, "<figure id=\"figure-%s\">\n%s%s</figure>\n", figure->name, wide, narrow);
        }
        free(wide);
        free(narrow);
        if (is_first && section->answer > 0 && section->answer <= section->n_notes) {
            put_answer(out, section->note[section->answer - 1]);
        }
        is_first = false;
    }
}

static void put_claims(FILE *out, const struct page *page, const char *ids)
{
    char id[16];
    int length = 0, n = 0;

    for (const char *at = ids; at && sscanf(at, "%15s%n", id, &length) == 1; at += length)
        if (tellings_find(&page->claims, id)) {
            fprintf(out, "%s<a href=\"#%s\">%s</a>", n++ ? " " : "<p>Claims ", id, id);
        }
    if (n > 0)
        fputs("</p>\n", out);
}

/* The metrics of a section's rows, each with a link to its first row. */
static void put_metrics(FILE *out, const struct page *page, size_t i)
{
    enum { SHOWN = 6 };
    const char *shown[SHOWN];
    size_t n = 0;

    for (size_t k = 0; k < page->n_rows && n < SHOWN; k++) {
        const char *id = page->row[k].number->id;
        const size_t length = strcspn(id, "{");
        bool is_new = page->row[k].section == i;
        for (size_t before = 0; before < n && is_new; before++)
            is_new = strncmp(shown[before], id, length) ||
                     (shown[before][length] != '{' && shown[before][length]);
        if (!is_new)
            continue;
        char name[100];
        snprintf(name, sizeof name, "%.*s", (int)length, id);
        fprintf(out, "%s<a href=\"#", n ? ", " : "<p>Rows: ");
        html_text(out, page->row[k].anchor);
        fputs("\">", out);
        html_text(out, name);
        fputs("</a>", out);
        shown[n++] = id;
    }
    if (n > 0)
        fputs("</p>\n", out);
}

void html_notes(FILE *out, const struct page *page, size_t i)
{
    const struct section *section = &page->section[i];

    fputs("<aside>\n", out);
    for (size_t k = 0; k < section->n_notes; k++)
        if (k + 1 != section->answer && k + 1 != section->key) {
            fputs("<p>", out);
            html_prose(out, section->note[k]);
            fputs("</p>\n", out);
        }
    put_metrics(out, page, i);
    put_claims(out, page, section->claims);
    fputs("</aside>\n", out);
}

static void put_missing(FILE *out, const struct section *section, size_t number)
{
    char name[80];
    fprintf(out, "<section id=\"%s\" class=\"missing\"><p>", section->name);
    if (!section->has_no_number)
        fprintf(out, "<span class=\"n\">%zu</span> ", number);
    html_text(out, html_name(section->title, name, sizeof name));
    fputs(": ", out);
    html_prose(out, section->missing);
    fputs("</p></section>\n", out);
}

static bool is_claims(const struct section *section)
{
    return !strcmp(section->name, "claims");
}

/* A finding is a sentence; a heading ends without a full stop. */
void html_finding(FILE *out, const char *finding)
{
    char title[600];
    snprintf(title, sizeof title, "%s", finding);
    const size_t length = strlen(title);
    if (length > 0 && title[length - 1] == '.')
        title[length - 1] = '\0';
    html_prose(out, title);
}

static void put_section(FILE *out, const struct page *page, size_t i)
{
    const struct section *section = &page->section[i];
    char name[80];

    if (section->missing) {
        put_missing(out, section, i);
        return;
    }
    fprintf(out,
            "<section id=\"%s\"%s>\n<div class=\"body\">\n<div class=\"head\"><h2><span "
            "class=\"n\">%zu</span>",
            section->name, is_claims(section) ? " class=\"long\"" : "", i);
    html_finding(out, section->finding ? section->finding
                                       : html_name(section->title, name, sizeof name));
    fputs("</h2></div>\n<div class=\"main\">\n", out);
    html_section_figures(out, page, section);
    if (is_claims(section))
        html_claims(out, page);
    fputs("</div>\n", out);
    if (!is_claims(section))
        html_tables(out, section);
    html_notes(out, page, i);
    fputs("</div>\n", out);
    html_rows(out, page, i);
    fputs("</section>\n", out);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void put_rest(FILE *out, const char *names)
{
    struct section rest = {.name = NULL};

    rest_tell(&rest, names);
    put_missing(out, &rest, 0);
    section_free(&rest);
}

static void put_page(FILE *out, const struct page *page)
{
    const size_t n = page->n_sections;
    char rest[REST_NAMES] = "";

    html_head(out, page);
    for (size_t i = 1; i < n; i++)
        if (!rest_take(rest, page->summary, &page->section[i]))
            put_section(out, page, i);
    if (*rest)
        put_rest(out, rest);
    html_trust(out, page, n);
    html_conditions(out, page, n + 1);
    html_cite(out, page, n + 2);
    fputs("</main>\n</body>\n</html>\n", out);
}

bool html_print(FILE *out, const struct summary *summary)
{
    struct page *page = malloc(sizeof *page);
    const bool opened = page && page_open(page, summary);

    if (opened)
        put_page(out, page);
    if (page)
        page_free(page);
    free(page);
    return opened;
}

/* --- the figures as files --------------------------------------------------------------------- */

static bool write_figure(const char *folder, const char *name, const char *text,
                         char why[DOCUMENT_WHY])
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s.svg", folder, name) >= PATH_MAX) {
        snprintf(why, DOCUMENT_WHY, "%.300s/%s.svg: the path is too long", folder, name);
        return false;
    }
    FILE *out = made_open(path, why);
    if (out)
        fputs(text, out);
    return out && made_close(out, path, why);
}

static bool write_figures(const struct page *page, const char *folder, char why[DOCUMENT_WHY])
{
    const struct page_figure *figure;
    char title[200], how[600];
    bool fine = true;

    if (!made_folder(folder, why))
        return false;
    for (size_t i = 0; fine && (figure = figure_at(i)); i++) {
        char *text = figure_draw(page, figure, CHART_WIDE, true, title, how);
        fine = !text || write_figure(folder, figure->name, text, why);
        free(text);
    }
    return fine;
}

bool html_figures(const struct summary *summary, const char *folder, char why[DOCUMENT_WHY])
{
    struct page *page = malloc(sizeof *page);

    snprintf(why, DOCUMENT_WHY, "out of memory");
    const bool fine = page && page_open(page, summary) && write_figures(page, folder, why);
    if (page)
        page_free(page);
    free(page);
    return fine;
}

bool html_figures_boards(const struct boards *boards, const char *folder, char why[DOCUMENT_WHY])
{
    struct page *page = malloc(sizeof *page);

    snprintf(why, DOCUMENT_WHY, "out of memory");
    if (!page)
        return false;
    page_open_boards(page, boards);
    const bool fine = write_figures(page, folder, why);
    page_free(page);
    free(page);
    return fine;
}
