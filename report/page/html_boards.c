/* The page of two boards: what B is against A, then the sections of boards.c with their figure. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/page/html.h"

static const char *name_of(const struct summary *summary, char *text, size_t size)
{
    return bundle_fact(summary->bundle, "gpu", "name", text, size, summary->bundle->name);
}

/* A sentence that begins a line. */
static void put_capital(FILE *out, const char *text, void (*put)(FILE *, const char *))
{
    char whole[1200];

    snprintf(whole, sizeof whole, "%s", text);
    whole[0] = (char)toupper((unsigned char)whole[0]);
    put(out, whole);
}

/* --- the head --------------------------------------------------------------------------------- */

/* What gained most and what least, of all that both measured. */
static void put_range(FILE *out, const struct section *numbers)
{
    const struct point *best = NULL, *worst = NULL;
    struct section texts = {0};

    for (size_t i = 0; i < numbers->n_series; i++)
        for (size_t k = 0; k < numbers->series[i].n; k++) {
            const struct point *point = &numbers->series[i].point[k];
            if (!strcmp(numbers->series[i].name, BOARDS_FACTORS))
                continue;
            best = !best || point->y.value > best->y.value ? point : best;
            worst = !worst || point->y.value < worst->y.value ? point : worst;
        }
    if (best && best != worst)
        html_prose(out, section_text(&texts, " B is %s times as good at %s, and %s times at %s.",
                                     section_say(&texts, &best->y, NULL), best->label,
                                     section_say(&texts, &worst->y, NULL), worst->label));
    else if (!best)
        html_prose(out, " no number is measured on both.");
    section_free(&texts);
}

static void put_verdict(FILE *out, const struct page *page)
{
    const struct section *numbers = page_section(page, "numbers");
    char name[240];

    fputs("<p class=\"verdict\"><b>", out);
    html_prose(out, html_name(numbers->title, name, sizeof name));
    fputs(":</b>", out);
    put_range(out, numbers);
    fputs("</p>\n", out);
}

/* Ten ratios with their numbers; of two forms the first that both boards have. */
static void put_tiles(FILE *out, const struct page *page)
{
    static const char *const names[][2] = {
        {"hbm-read", NULL},      {"hbm-load", NULL},    {"l2-read", NULL},
        {"wgmma", "mma-sync"},   {"l1-read", NULL},     {"grid-barrier", NULL},
        {"graph-kernel", NULL},  {"product-1024", "product-1024-mma"},
        {"product-8192-cublas", NULL}, {"decode", NULL}};
    const struct summary *of = page->boards->of;
    struct section texts = {0};

    fputs("<dl class=\"ten\">\n", out);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct summary_entry *entry = summary_find(names[i][0]);
        struct explanation e = boards_explain(&of[0], &of[1], entry);
        if (e.kind == EXPLAINED_ABSENT && names[i][1]) {
            entry = summary_find(names[i][1]);
            e = boards_explain(&of[0], &of[1], entry);
        }
        const struct number a = summary_number(&of[0], entry->name);
        const struct number b = summary_number(&of[1], entry->name);
        fputs("<div><dt>", out);
        html_text(out, section_say(&texts, &e.ratio, NULL));
        fputs(number_there(&e.ratio) ? " <span>times</span></dt><dd>" : "</dt><dd>", out);
        html_prose(out, section_text(&texts, "%s: %s, %s",
                                     section_label(&texts, &of[0], entry->label),
                                     section_say(&texts, &a, NULL), section_say(&texts, &b, NULL)));
        fputs("</dd></div>\n", out);
    }
    fputs("</dl>\n", out);
    section_free(&texts);
}

/* "h200.html": how the page of a board's committed results is called. False: it is not there. */
static bool find_page(const struct summary *summary, const char *folder, char *name, size_t size)
{
    const char *board = summary->bundle->board, *from = board ? strchr(board, '-') : NULL;
    char path[4096];

    if (!from || !summary->is_committed)
        return false;
    snprintf(name, size, "%.*s.html", (int)strcspn(from + 1, "-"), from + 1);
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           access(path, R_OK) == 0;
}

/* Where all that one board says is to be read. */
static void put_pages(FILE *out, const struct page *page, const char *folder)
{
    char name[160], board[160];

    fputs("<p class=\"how\">", out);
    for (size_t i = 0; i < page->boards->n; i++) {
        const struct summary *summary = &page->boards->of[i];
        const char *path = summary->bundle->path ? summary->bundle->path : "BUNDLE";
        const char *slash = strrchr(path, '/');
        fprintf(out, i ? " All of %c alone: " : "All of %c alone: ", (int)('A' + i));
        if (find_page(summary, folder, name, sizeof name)) {
            fputs("<a href=\"", out);
            html_text(out, name);
            fputs("\">the page of ", out);
            html_text(out, name_of(summary, board, sizeof board));
            fputs("</a>.", out);
            continue;
        }
        fputs("<code>gpufloor report --html=FILE ", out);
        fputs(summary->is_committed ? "results/" : "", out);
        html_text(out, slash && slash[1] ? slash + 1 : path);
        fputs("</code>.", out);
    }
    fputs("</p>\n", out);
}

static void put_contents(FILE *out, const struct page *page)
{
    static const char *const parts[][2] = {{"conditions", "Conditions"},
                                           {"cite", "Reproduce and cite"}};
    char name[240];

    fputs("<nav>\n", out);
    for (size_t i = 1; i < page->n_sections; i++) {
        const struct section *section = &page->section[i];
        fprintf(out, "<a href=\"#%s\">%zu ", section->name, i);
        html_text(out, !strcmp(section->name, "numbers")
                           ? "Numbers"
                           : html_name(section->title, name, sizeof name));
        fputs("</a>\n", out);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        fprintf(out, "<a href=\"#%s\">%zu %s</a>\n", parts[i][0], page->n_sections + i,
                parts[i][1]);
    fputs("</nav>\n", out);
}

static void put_head(FILE *out, const struct page *page, const char *folder)
{
    const struct section *head = &page->section[0];
    char name[400], a[160], b[160];

    snprintf(name, sizeof name, "%.160s and %.160s", name_of(&page->boards->of[0], a, sizeof a),
             name_of(&page->boards->of[1], b, sizeof b));
    html_begin(out, name);
    fputs("<h1>", out);
    html_text(out, head->finding);
    fputs("</h1>\n<p class=\"sub\">", out);
    for (size_t i = 0; i < head->n_lines; i++) {
        fputs(i ? "<br>" : "", out);
        html_prose(out, head->lines[i]);
    }
    fputs("</p>\n", out);
    put_verdict(out, page);
    put_tiles(out, page);
    put_contents(out, page);
    put_pages(out, page, folder);
}

/* --- the rows of both ------------------------------------------------------------------------- */

/* "load, HBM: A" without the column: the row is one of both boards. */
static void put_what(FILE *out, const char *what)
{
    char text[300];
    char *column;

    snprintf(text, sizeof text, "%s", what);
    if ((column = strrchr(text, ':')))
        *column = '\0';
    html_prose(out, text);
}

static void put_row(FILE *out, const struct page *page, const struct page_row *row)
{
    fputs("<tr id=\"", out);
    html_text(out, row->anchor);
    fputs("\"><td>", out);
    put_what(out, row->what);
    fputs("</td>", out);
    for (size_t i = 0; i < page->boards->n; i++) {
        const struct row *is = rows_find(&page->boards->of[i].bundle->rows, row->number->id);
        const struct number number = is ? number_of(is) : number_none();
        html_value(out, number.value, is ? number.unit : "");
        html_value(out, number.low, is ? number.unit : "");
        html_value(out, number.high, is ? number.unit : "");
        fprintf(out, "<td>%zu</td><td>%s</td>", is ? number.n : 0,
                is ? row_status_name(number.status) : "-");
    }
    fputs("<td class=\"id\">", out);
    html_text(out, row->number->id);
    fputs("</td></tr>\n", out);
}

static void put_rows(FILE *out, const struct page *page, size_t section)
{
    static const char heads[] = "<th class=\"r\">%c</th><th class=\"r\">low</th><th "
                                "class=\"r\">high</th><th class=\"r\">runs</th><th>status</th>";
    size_t n = 0;

    for (size_t i = 0; i < page->n_rows; i++)
        n += page->row[i].section == section;
    if (n == 0)
        return;
    fprintf(out,
            "<details class=\"rows\"><summary>The %zu row%s this rests on, of both boards: "
            "interval, runs, status, id</summary>\n<div class=\"scroll\" tabindex=\"0\"><table>\n"
            "<thead><tr><th>what</th>",
            n, n == 1 ? "" : "s");
    for (size_t i = 0; i < page->boards->n; i++)
        fprintf(out, heads, (int)('A' + i));
    fputs("<th>id</th></tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < page->n_rows; i++)
        if (page->row[i].section == section)
            put_row(out, page, &page->row[i]);
    fputs("</tbody></table></div></details>\n", out);
}

/* --- sections --------------------------------------------------------------------------------- */

/* The first sentence of the finding; what follows it stands below. */
static void put_heading(FILE *out, const struct section *section, size_t number)
{
    const char *end = strstr(section->finding, ". ");
    char first[400], name[80];

    snprintf(first, sizeof first, "%s%s%.*s",
             !strcmp(section->name, "host") ? html_name(section->title, name, sizeof name) : "",
             !strcmp(section->name, "host") ? ": " : "",
             end ? (int)(end - section->finding) + 1 : (int)strlen(section->finding),
             section->finding);
    fprintf(out, "<div class=\"head\"><h2><span class=\"n\">%zu</span>", number);
    put_capital(out, first, html_finding);
    fputs("</h2></div>\n<div class=\"main\">\n", out);
    if (!end)
        return;
    fputs("<p class=\"how\">", out);
    html_prose(out, end + 2);
    fputs("</p>\n", out);
}

static bool put_section(FILE *out, const struct page *page, size_t i)
{
    const struct section *section = &page->section[i];
    const bool is_claims = !strcmp(section->name, "claims");
    bool fine = true;

    fprintf(out, "<section id=\"%s\"%s>\n<div class=\"body\">\n", section->name,
            is_claims ? " class=\"long\"" : "");
    if (section->missing) {
        fputs("<p>", out);
        html_prose(out, section->missing);
        fputs("</p></div>\n</section>\n", out);
        return true;
    }
    put_heading(out, section, i);
    html_section_figures(out, page, section);
    if (is_claims)
        fine = html_boards_claims(out, page, section);
    fputs("</div>\n", out);
    if (!is_claims) {
        html_tables(out, section);
        html_notes(out, page, i);
    }
    fputs("</div>\n", out);
    put_rows(out, page, i);
    fputs("</section>\n", out);
    return fine;
}

bool html_print_boards(FILE *out, const struct boards *boards, const char *folder)
{
    struct page *page = malloc(sizeof *page);
    bool fine = true;

    if (!page)
        return false;
    page_open_boards(page, boards);
    put_head(out, page, folder);
    for (size_t i = 1; i < page->n_sections; i++)
        fine = put_section(out, page, i) && fine;
    html_boards_conditions(out, page, page->n_sections);
    html_cite(out, page, page->n_sections + 1);
    fputs("</main>\n</body>\n</html>\n", out);
    page_free(page);
    free(page);
    return fine;
}
