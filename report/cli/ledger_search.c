/* gpufloor claims --search, and of several bundles side by side. */
#include <stdlib.h>
#include <string.h>

#include "report/claims/quotes.h"
#include "report/cli/ledger.h"

enum { LABEL = 16, SCREEN_TEXT = 2048 };

/* --- search ----------------------------------------------------------------------------------- */

static void print_quote(FILE *out, const char *quote, const char *article)
{
    char text[SCREEN_TEXT];
    snprintf(text, sizeof text, "\"%s\"", quote);
    table_wrap(out, text, 0, 1);
    fprintf(out, "\n  %s\n", claim_reference(article));
}

static void print_found(FILE *out, const struct telling *t)
{
    fprintf(out, "  %-5s%-10s", t->claim->id, telling_word(t->finding.verdict));
    table_wrap(out, t->sentence, LABEL + 1, LABEL + 1);
    fputc('\n', out);
}

/* Is the id one of "C28 C29"? */
static bool is_among(const char *ids, const char *id)
{
    const size_t length = strlen(id);
    for (const char *at = ids; (at = strstr(at, id)); at += length)
        if ((at == ids || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

/* Did a claim before this one quote the same? It was printed with that. */
static bool is_printed(const struct claim *claim)
{
    const struct claim *other = claim_after(NULL);
    for (; other && other != claim; other = claim_after(other))
        if (!strcmp(other->quote, claim->quote) && !strcmp(other->article, claim->article))
            return true;
    return false;
}

static void print_judging(FILE *out, const struct bundle *bundle, const struct claim *quoted,
                          const struct quote *other)
{
    struct telling *t = calloc(1, sizeof *t);
    const struct claim *claim;

    for (claim = claim_after(NULL); t && claim; claim = claim_after(claim))
        if (quoted
                ? !strcmp(claim->quote, quoted->quote) && !strcmp(claim->article, quoted->article)
                : is_among(other->ids, claim->id)) {
            telling_judge(t, claim, bundle);
            print_found(out, t);
        }
    free(t);
}

bool ledger_search(FILE *out, const struct bundle *bundle, const char *text)
{
    const struct claim *claim;
    const struct quote *quote;
    size_t n = 0;

    for (claim = claim_after(NULL); claim; claim = claim_after(claim)) {
        if (!strcasestr(claim->quote, text) || is_printed(claim))
            continue;
        fputs(n++ ? "\n" : "", out);
        print_quote(out, claim->quote, claim->article);
        print_judging(out, bundle, claim, NULL);
    }
    for (size_t i = 0; (quote = quote_at(i)); i++) {
        if (!strcasestr(quote->sentence, text))
            continue;
        fputs(n++ ? "\n" : "", out);
        print_quote(out, quote->sentence, quote->article);
        if (quote->apart)
            fprintf(out, "  not judged: %s\n", quote->apart);
        print_judging(out, bundle, NULL, quote);
    }
    return n > 0;
}

/* --- side by side ----------------------------------------------------------------------------- */

static const char *name_of(const struct bundle *bundle)
{
    return bundle->board ? bundle->board : bundle->name;
}

static bool differs(const struct tellings *t, size_t n, size_t i)
{
    for (size_t k = 1; k < n; k++)
        if (t[k].telling[i].finding.verdict != t[0].telling[i].finding.verdict)
            return true;
    return false;
}

/* "c5" columns: the id, a word for each bundle, and the first one's sentence of what is claimed. */
static void print_differing(FILE *out, const struct bundle *bundles, const struct tellings *t,
                            size_t n)
{
    char align[16] = "l", quote[64];
    for (size_t k = 0; k <= n; k++)
        align[k + 1] = 'l';
    struct table table = table_new(align);

    table_cell(&table, "claim");
    for (size_t k = 0; k < n; k++)
        table_cell(&table, "%s", name_of(&bundles[k]));
    table_cell(&table, "quote");
    for (size_t i = 0; i < t[0].n; i++) {
        if (!differs(t, n, i))
            continue;
        table_cell(&table, "%s", t[0].telling[i].claim->id);
        for (size_t k = 0; k < n; k++)
            table_cell(&table, "%s", telling_word(t[k].telling[i].finding.verdict));
        table_cell(&table, "%s", telling_quote(t[0].telling[i].claim, 6, quote, sizeof quote));
    }
    table_print(out, &table, TABLE_TEXT, NULL);
}

static void print_counts(FILE *out, const struct bundle *bundles, const struct tellings *t,
                         size_t n)
{
    struct table table = table_new("lrrrrr");
    size_t count[TELLING_VERDICTS];

    table_cell(&table, "bundle");
    for (int v = 0; v < TELLING_VERDICTS; v++)
        table_cell(&table, "%s", telling_word((enum claim_verdict)v));
    for (size_t k = 0; k < n; k++) {
        tellings_count(&t[k], NULL, count);
        table_cell(&table, "%s", name_of(&bundles[k]));
        for (int v = 0; v < TELLING_VERDICTS; v++)
            table_cell(&table, "%zu", count[v]);
    }
    table_print(out, &table, TABLE_TEXT, NULL);
}

bool ledger_compare(FILE *out, const struct bundle *bundles, size_t n, const char *glob)
{
    struct tellings *t = calloc(n, sizeof *t);
    size_t different = 0;
    bool opened = t != NULL;

    for (size_t k = 0; k < n && opened; k++)
        opened = tellings_open(&t[k], &bundles[k], glob);
    for (size_t i = 0; opened && i < t[0].n; i++)
        different += differs(t, n, i);
    if (opened) {
        fprintf(out, "%zu of %zu claims and questions of ours have another word\n\n", different,
                t[0].n);
        print_differing(out, bundles, t, n);
        print_counts(out, bundles, t, n);
    }
    for (size_t k = 0; t && k < n; k++)
        tellings_free(&t[k]);
    free(t);
    return opened;
}
