/* The ledger on the page: six sentences, then every claim with its quote, rule and evidence. */
#include <stdio.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/html.h"

const char *html_word(const char *word)
{
    return !strcmp(word, "yes")      ? "t-yes"
           : !strcmp(word, "no")     ? "t-no"
           : !strcmp(word, "partly") ? "t-partly"
                                     : "t-other";
}

/* The section's last table: id, word, sentence. */
static void put_told(FILE *out, const struct section *section)
{
    const struct grid *grid = section->n_grids ? &section->grid[section->n_grids - 1] : NULL;

    if (!grid || grid->n_columns != 3)
        return;
    fputs("<ul class=\"told\">\n", out);
    for (size_t i = 0; i < grid_rows(grid); i++) {
        const char *id = grid_at(grid, i, 0)->text, *word = grid_at(grid, i, 1)->text;
        fprintf(out, "<li><a href=\"#%s\">%s</a><b class=\"%s\">%s</b><span>", id, id,
                html_word(word), word);
        html_prose(out, grid_at(grid, i, 2)->text);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_part(FILE *out, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(out, "<p class=\"small\">%s: ", name);
    html_prose(out, text);
    fputs("</p>\n", out);
}

static void put_claim(FILE *out, const struct telling *t)
{
    const char *word = telling_word(t->finding.verdict);

    fprintf(out, "<article id=\"%s\"><h4>%s <span class=\"%s\">%s</span></h4>\n", t->claim->id,
            t->claim->id, html_word(word), word);
    fputs("<blockquote>\u201c", out);
    html_prose(out, t->claim->quote);
    fputs("\u201d</blockquote>\n<p>", out);
    html_prose(out, t->sentence);
    fputs("</p>\n", out);
    put_part(out, "Tested", t->claim->statement);
    put_part(out, "Rule", t->claim->rule);
    if (t->finding.verdict != CLAIM_OPEN)
        put_part(out, "Evidence", t->finding.evidence);
    fputs("</article>\n", out);
}

void html_claims(FILE *out, const struct page *page)
{
    const struct tellings *claims = &page->claims;

    put_told(out, page_section(page, "claims"));
    fprintf(
        out,
        "<details><summary>All %zu claims and questions of ours: quote, rule, evidence</summary>\n",
        claims->n);
    const char *article;
    for (size_t i = 0; (article = claim_article(i)); i++) {
        fputs("<h3>", out);
        html_prose(out, claim_reference(article));
        fputs("</h3>\n", out);
        for (size_t k = 0; k < claims->n; k++)
            if (!strcmp(claims->telling[k].claim->article, article))
                put_claim(out, &claims->telling[k]);
    }
    fputs("</details>\n", out);
}
