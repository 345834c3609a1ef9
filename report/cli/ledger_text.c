/* gpufloor claims: the ledger in at most 160 lines, for who wants to know what is true. */
#include <string.h>

#include "report/cli/ledger.h"
#include "report/cli/origin.h"

enum { INDENT = 12, CLASSES = 21, TEXT = 4096 };

/* --- totals ----------------------------------------------------------------------------------- */

void ledger_totals(FILE *out, const struct tellings *t, enum table_format format)
{
    struct table table = table_new("lrrrrrr");
    const char *source;
    size_t count[TELLING_VERDICTS];

    table_cell(&table, "article");
    table_cell(&table, "claims");
    for (int v = 0; v < TELLING_VERDICTS; v++)
        table_cell(&table, "%s", telling_word((enum claim_verdict)v));
    for (size_t i = 0; (source = claim_source(i)); i++) {
        const size_t all = tellings_count(t, source, count);
        if (all == 0)
            continue;
        table_cell(&table, "%s", format == TABLE_MD ? claim_reference(source) : source);
        table_cell(&table, "%zu", all);
        for (int v = 0; v < TELLING_VERDICTS; v++)
            table_cell(&table, "%zu", count[v]);
    }
    table_print(out, &table, format, NULL);
}

/* "33 of 118 claims and questions of ours hold." */
static void print_kept(FILE *out, size_t n, int only)
{
    static const char *const what[] = {"hold", "do not hold", "hold in part", "cannot be told",
                                       "are open"};
    size_t all = 0;

    for (const struct claim *claim = claim_after(NULL); claim; claim = claim_after(claim))
        all++;
    fprintf(out, "%zu of %zu claims and questions of ours %s.\n\n", n, all, what[only]);
}

static void print_sum(FILE *out, const struct tellings *t)
{
    static const char *const what[] = {"hold", "do not", "hold in part", "cannot be told",
                                       "are open"};
    char text[TEXT];
    size_t count[TELLING_VERDICTS], own[TELLING_VERDICTS], used = 0;
    const size_t all = tellings_count(t, NULL, count), n_own = tellings_count(t, claim_own, own);

    used += (size_t)snprintf(text, sizeof text, "%zu claims: ", all - n_own);
    for (int v = 0; v < TELLING_VERDICTS; v++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu %s", v ? ", " : "",
                                 count[v] - own[v], what[v]);
    snprintf(text + used, sizeof text - used,
             "; and %zu questions of ours. b, c: another clause, or such a question. All of a "
             "claim: --id C24; a quote: --search TEXT.", n_own);
    table_wrap(out, text, 0, 0);
    fputs("\n\n", out);
}

/* --- claims ----------------------------------------------------------------------------------- */

/* The claims behind t that have its number and article: an entry. */
static size_t entry_length(const struct tellings *t, size_t first)
{
    size_t n = 1;
    while (first + n < t->n &&
           telling_is_beside(t->telling[first].claim, t->telling[first + n].claim) &&
           !strcmp(t->telling[first].claim->article, t->telling[first + n].claim->article))
        n++;
    return n;
}

/* "b" of "C50b" */
static const char *letter_of(const struct claim *claim)
{
    return claim->id + strcspn(claim->id, "abcdefghijklmnopqrstuvwxyz");
}

/* "C24  yes    128 blocks ..." */
static void print_words(FILE *out, const char *id, enum claim_verdict verdict, const char *text)
{
    const int at = fprintf(out, "%-4s %-6s ", id, telling_word(verdict));
    table_wrap(out, text, (size_t)at, INDENT);
    fputc('\n', out);
}

static bool is_open(const struct telling *t)
{
    return t->finding.verdict == CLAIM_OPEN;
}

/* Do two claims lack the same? */
static bool lack_alike(const struct telling *a, const struct telling *b)
{
    return a->finding.verdict == CLAIM_NOT_TESTABLE && b->finding.verdict == CLAIM_NOT_TESTABLE &&
           a->finding.why == WHY_MISSING && !strcmp(a->sentence, b->sentence);
}

/* Is all that an entry says, but what is open, what an entry before it lacks? Then that one names
 * it. */
static bool is_named_before(const struct tellings *t, size_t first)
{
    const size_t n = entry_length(t, first);
    size_t before = 0;

    while (before < first && !lack_alike(&t->telling[before], &t->telling[first]))
        before += entry_length(t, before);
    for (size_t i = 1; i < n && before < first; i++)
        if (!is_open(&t->telling[first + i]) &&
            !lack_alike(&t->telling[before], &t->telling[first + i]))
            return false;
    return before < first;
}

/* " Also C31, C35.", of the entries behind it that lack what it lacks; "" if there are none. */
static size_t name_others(const struct tellings *t, size_t first, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = first + entry_length(t, first); i < t->n; i += entry_length(t, i))
        if (lack_alike(&t->telling[first], &t->telling[i]) && is_named_before(t, i))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : " Also ",
                                     t->telling[i].claim->id);
    return used ? used + (size_t)snprintf(text + used, size - used, ".") : 0;
}

/* Has a clause of the entry before this one the same to say? */
static bool is_said_by_clause(const struct telling *first, size_t clause)
{
    for (size_t i = 1; i < clause; i++)
        if (lack_alike(&first[i], &first[clause]))
            return true;
    return false;
}

/* "b", or "b, c" where the clauses behind it say the same. */
static size_t put_letters(char *text, size_t size, const struct telling *first, size_t clause,
                          size_t n)
{
    size_t used = (size_t)snprintf(text, size, "%s", letter_of(first[clause].claim));

    for (size_t i = clause + 1; i < n; i++)
        if (lack_alike(&first[clause], &first[i]))
            used += (size_t)snprintf(text + used, size - used, ", %s", letter_of(first[i].claim));
    return used;
}

/* The first claim's sentence; those with another word behind it, and of those with its word the
 * letters: " b no: ..." and " (c too)". What is open stands below. */
static void print_entry(FILE *out, const struct tellings *t, size_t place)
{
    const struct telling *first = &t->telling[place];
    const enum claim_verdict verdict = first->finding.verdict;
    const size_t n = entry_length(t, place);
    char text[TEXT];
    size_t same = 0, used = (size_t)snprintf(text, sizeof text, "%s", first->sentence);

    for (size_t i = 1; i < n; i++)
        if (first[i].finding.verdict == verdict)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", same++ ? ", " : " (",
                                     letter_of(first[i].claim));
    if (same)
        used += (size_t)snprintf(text + used, sizeof text - used, " too)");
    for (size_t i = 1; i < n; i++)
        if (first[i].finding.verdict != verdict && !is_open(&first[i]) &&
            !is_said_by_clause(first, i)) {
            used += (size_t)snprintf(text + used, sizeof text - used, " ");
            used += put_letters(text + used, sizeof text - used, first, i, n);
            used += (size_t)snprintf(text + used, sizeof text - used, " %s: %s",
                                     telling_word(first[i].finding.verdict), first[i].sentence);
        }
    name_others(t, place, text + used, sizeof text - used);
    print_words(out, first->claim->id, verdict, text);
}

/* Has an open claim before it the same reason? */
static bool is_said(const struct tellings *t, size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (is_open(&t->telling[i]) &&
            !strcmp(t->telling[i].claim->waits, t->telling[place].claim->waits))
            return true;
    return false;
}

/* One line for each measurement that lacks, with the claims that wait for it. */
static void print_open(FILE *out, const struct tellings *t)
{
    char text[TEXT];

    for (size_t i = 0; i < t->n; i++) {
        if (!is_open(&t->telling[i]) || is_said(t, i))
            continue;
        const char *waits = t->telling[i].claim->waits;
        size_t used = (size_t)snprintf(text, sizeof text, "needs %s", waits);
        for (size_t k = i + 1, n = 0; k < t->n; k++)
            if (is_open(&t->telling[k]) && !strcmp(t->telling[k].claim->waits, waits))
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                         n++ ? ", " : "; also ", t->telling[k].claim->id);
        print_words(out, t->telling[i].claim->id, CLAIM_OPEN, text);
    }
}

static void print_article(FILE *out, const struct tellings *t, const char *article)
{
    size_t count[TELLING_VERDICTS];

    if (tellings_count(t, article, count) == 0)
        return;
    fprintf(out, "%s\n", claim_reference(article));
    for (size_t i = 0; i < t->n; i += entry_length(t, i))
        if (!strcmp(t->telling[i].claim->article, article) &&
            !is_open(&t->telling[i]) && !is_named_before(t, i))
            print_entry(out, t, i);
    fputc('\n', out);
}

/* --- what cannot be told ---------------------------------------------------------------------- */

static void print_index(FILE *out, const struct tellings *t)
{
    char text[TEXT];
    size_t count[TELLING_VERDICTS];

    tellings_count(t, NULL, count);
    if (count[CLAIM_NOT_TESTABLE] == 0)
        return;
    fputc('\n', out);
    for (enum claim_why why = WHY_OTHER_GPU; why <= WHY_NEVER; why++) {
        size_t n = 0, used = (size_t)snprintf(text, sizeof text, "%s: ", telling_class_line(why));
        for (size_t i = 0; i < t->n; i++)
            if (t->telling[i].finding.verdict == CLAIM_NOT_TESTABLE &&
                t->telling[i].finding.why == why)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", n++ ? ", " : "",
                                         t->telling[i].claim->id);
        if (n == 0)
            continue;
        fprintf(out, "%-9s %-9s ", telling_word(CLAIM_NOT_TESTABLE), telling_class(why));
        table_wrap(out, text, CLASSES, CLASSES);
        fputc('\n', out);
    }
}

void ledger_text(FILE *out, const struct bundle *bundle, const struct tellings *t, int only)
{
    const char *article;

    origin_print(out, bundle, NULL, TABLE_TEXT);
    fputs("\n\n", out);
    if (only != LEDGER_ALL) {
        print_kept(out, t->n, only);
    } else {
        print_sum(out, t);
        ledger_totals(out, t, TABLE_TEXT);
    }
    for (size_t i = 0; only != CLAIM_OPEN && (article = claim_article(i)); i++)
        print_article(out, t, article);
    print_open(out, t);
    print_index(out, t);
}
