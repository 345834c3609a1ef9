/* Of the page of two boards: the claims on which they differ, and the conditions of both. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/boards_claims.h"
#include "report/page/emit.h"
#include "report/page/html.h"

/* --- claims ----------------------------------------------------------------------------------- */

/* "C79c" at the start of a text: its length; 0: none stands there. */
static size_t id_length(const char *at)
{
    size_t n = 1;

    if (*at != 'C' || !isdigit((unsigned char)at[1]))
        return 0;
    while (isdigit((unsigned char)at[n]))
        n++;
    return n + (islower((unsigned char)at[n]) != 0);
}

/* A text in which each claim leads to its quote. */
static void put_linked(FILE *out, const char *text)
{
    char part[400];

    while (*text) {
        size_t n = id_length(text);
        if (n > 0) {
            fprintf(out, "<a href=\"#%.*s\">%.*s</a>", (int)n, text, (int)n, text);
        } else {
            while (text[n] && n + 1 < sizeof part && !(n > 0 && id_length(text + n)))
                n++;
            snprintf(part, sizeof part, "%.*s", (int)n, text);
            html_prose(out, part);
        }
        text += n;
    }
}

/* The rows of the section's table: claim, board, word, sentence. */
static void put_told(FILE *out, const struct grid *grid)
{
    const char *id = "";

    fputs("<ul class=\"told\">\n", out);
    for (size_t i = 0; i < grid_rows(grid); i++) {
        const char *own = grid_at(grid, i, 0)->text, *word = grid_at(grid, i, 2)->text;
        id = *own ? own : id;
        fputs("<li><span>", out);
        put_linked(out, own);
        fprintf(out, "</span><b class=\"%s\">", html_word(word));
        html_text(out, grid_at(grid, i, 1)->text);
        fprintf(out, " %s</b><span>", word);
        html_prose(out, grid_at(grid, i, 3)->text);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_part(FILE *out, const char *name, const char *text)
{
    fprintf(out, "<p class=\"small\">%s: ", name);
    html_prose(out, text);
    fputs("</p>\n", out);
}

/* A claim with what both boards say of it. */
static void put_claim(FILE *out, const struct telling *const of[2])
{
    const struct claim *claim = of[0]->claim;

    fprintf(out, "<article id=\"%s\"><h4>%s", claim->id, claim->id);
    for (size_t i = 0; i < 2; i++) {
        const char *word = telling_word(of[i]->finding.verdict);
        fprintf(out, " <span class=\"%s\">%c %s</span>", html_word(word), (int)('A' + i), word);
    }
    fputs("</h4>\n<blockquote>\u201c", out);
    html_prose(out, claim->quote);
    fputs("\u201d</blockquote>\n", out);
    for (size_t i = 0; i < 2; i++) {
        fprintf(out, "<p>%c: ", (int)('A' + i));
        html_prose(out, of[i]->sentence);
        fputs("</p>\n", out);
    }
    put_part(out, "Tested", claim->statement);
    put_part(out, "Rule", claim->rule);
    for (size_t i = 0; i < 2; i++)
        if (of[i]->finding.verdict != CLAIM_OPEN && *of[i]->finding.evidence)
            put_part(out, i ? "Evidence of B" : "Evidence of A", of[i]->finding.evidence);
    fputs("</article>\n", out);
}

static void put_claims(FILE *out, const struct tellings of[2])
{
    size_t n = 0;

    for (size_t i = 0; i < of[0].n; i++)
        n += boards_differ(&of[0].telling[i], &of[1].telling[i]);
    if (n == 0)
        return;
    fprintf(out, "<details><summary>The %zu claim%s: quote, rule, evidence of both</summary>\n", n,
            n == 1 ? "" : "s");
    for (size_t i = 0; i < of[0].n; i++)
        if (boards_differ(&of[0].telling[i], &of[1].telling[i]))
            put_claim(out, (const struct telling *const[]){&of[0].telling[i], &of[1].telling[i]});
    fputs("</details>\n", out);
}

bool html_boards_claims(FILE *out, const struct page *page, const struct section *section)
{
    struct tellings of[2] = {{0}};
    bool fine = true;

    if (section->n_grids > 0)
        put_told(out, &section->grid[0]);
    for (size_t i = 0; i < section->n_notes; i++) {
        fputs("<p class=\"how\">", out);
        put_linked(out, section->note[i]);
        fputs("</p>\n", out);
    }
    if (!boards_judge(page->boards))
        return true;
    for (size_t i = 0; i < 2; i++)
        fine = tellings_open(&of[i], page->boards->of[i].bundle, NULL) && fine;
    if (fine)
        put_claims(out, of);
    tellings_free(&of[0]);
    tellings_free(&of[1]);
    return fine;
}

/* --- conditions ------------------------------------------------------------------------------- */

static void put_value(FILE *out, const json_t *value, bool differs)
{
    fputs(differs ? "<td><b>" : "<td>", out);
    if (json_is_string(value)) {
        html_text(out, json_string_value(value));
    } else if (!value || json_is_null(value)) {
        fputs("-", out);
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        html_text(out, text);
        free(text);
    }
    fputs(differs ? "</b></td>" : "</td>", out);
}

static void put_fact(FILE *out, const char *key, const json_t *a, const json_t *b)
{
    const bool differs = !a || !b || !json_equal(a, b);
    char name[80];

    snprintf(name, sizeof name, "%s", key);
    for (char *at = name; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    fputs("<tr><td>", out);
    html_text(out, name);
    fputs("</td>", out);
    put_value(out, a, differs);
    put_value(out, b, differs);
    fputs("</tr>\n", out);
}

/* The facts of A, then those that only B has. */
static void put_facts(FILE *out, const char *title, json_t *a, json_t *b)
{
    const char *key;
    json_t *value;

    if (json_object_size(a) + json_object_size(b) == 0)
        return;
    fputs("<h3>", out);
    html_text(out, title);
    fputs("</h3>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"both\">\n<thead><tr>"
          "<th></th><th>A</th><th>B</th></tr></thead>\n<tbody>\n",
          out);
    json_object_foreach(a, key, value) put_fact(out, key, value, json_object_get(b, key));
    json_object_foreach(b, key, value) if (!json_object_get(a, key))
        put_fact(out, key, NULL, value);
    fputs("</tbody></table></div>\n", out);
}

static void put_dates(FILE *out, const json_t *a, const json_t *b)
{
    json_t *of[2] = {json_pack("{s:O?}", "started", json_object_get(a, "started")),
                     json_pack("{s:O?}", "started", json_object_get(b, "started"))};

    put_facts(out, "date", of[0], of[1]);
    json_decref(of[0]);
    json_decref(of[1]);
}

void html_boards_conditions(FILE *out, const struct page *page, size_t number)
{
    const struct boards *boards = page->boards;
    const json_t *a = boards->of[0].bundle->head, *b = boards->of[1].bundle->head;
    json_t *of[2] = {json_object_get(a, "environment"), json_object_get(b, "environment")};
    const struct section *facts = &page->section[0];
    const char *key;
    json_t *value;

    html_part(out, "conditions", number, "Under these conditions");
    fputs("<p class=\"how\">Bold: not the same on both.</p>\n", out);
    html_tables(out, facts);
    json_object_foreach(of[0], key, value) if (json_is_object(value))
        put_facts(out, key, value, json_object_get(of[1], key));
    json_object_foreach(of[1], key,
                        value) if (json_is_object(value) && !json_object_get(of[0], key))
        put_facts(out, key, NULL, value);
    put_facts(out, "suite", json_object_get(a, "suite"), json_object_get(b, "suite"));
    put_dates(out, a, b);
    for (size_t i = 0; i < facts->n_notes; i++)
        if (strncmp(facts->note[i], "Programs", 8) == 0) {
            fputs("<p>", out);
            html_prose(out, facts->note[i]);
            fputs("</p>\n", out);
        }
    fputs("</section>\n", out);
}
