/* The ledger in short: how many published claims hold here, and six that teach most. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/claims/telling.h"
#include "report/page/sections.h"

const char *const claims_needs[] = {NULL}; /* each claim names its own */

enum { TOLD = 6, NAMED = 12 }; /* sentences; claims that are named and not counted */

/* --- totals ----------------------------------------------------------------------------------- */

static const char *add_count(struct section *s, const char *said, size_t n, const char *words)
{
    return n == 0 ? said : section_text(s, "%s%s %zu %s", said, *said ? "," : "", n, words);
}

/* Of the articles' sentences: "73 claims: 33 hold here, 18 do not, ..." */
static void find(const struct tellings *t, struct section *s)
{
    static const char *const words[][2] = {
        [CLAIM_REPRODUCED] = {"holds here", "hold here"},
        [CLAIM_REFUTED] = {"does not", "do not"},
        [CLAIM_MIXED] = {"holds in part", "hold in part"},
        [CLAIM_NOT_TESTABLE] = {"cannot be told", "cannot be told"},
        [CLAIM_OPEN] = {"is open", "are open"},
    };
    size_t count[TELLING_VERDICTS], own[TELLING_VERDICTS];
    const size_t n_all = tellings_count(t, NULL, count), n_own = tellings_count(t, claim_own, own);
    const char *said = "";

    for (int verdict = 0; verdict < TELLING_VERDICTS; verdict++) {
        const size_t n = count[verdict] - own[verdict];
        said = add_count(s, said, n, words[verdict][n != 1]);
    }
    s->finding = section_text(s, "%zu claims:%s.", n_all - n_own, said);
}

/* An article with its title, without the date: "AUTHOR, TITLE, 3 July 2025". */
static const char *title_of(const char *article, struct section *s)
{
    const char *whole = claim_reference(article), *comma = strrchr(whole, ',');
    const bool has_date = comma && comma[1] == ' ' && comma[2] >= '0' && comma[2] <= '9';
    return has_date ? section_text(s, "%.*s", (int)(comma - whole), whole) : whole;
}

static void put_count(struct grid *grid, size_t n)
{
    struct number count = number_none();
    count.value = (double)n;
    count.status = ROW_OK;
    grid_number(grid, &count);
}

static void tabulate(const struct tellings *t, struct section *s)
{
    size_t count[TELLING_VERDICTS];
    const size_t n_own = tellings_count(t, claim_own, count);
    const char *head =
        n_own ? section_text(s, "article (%zu questions of ours apart)", n_own) : "article";
    struct column columns[1 + TELLING_VERDICTS] = {{NULL, head, NULL, 'l'}};
    const char *article;

    for (int verdict = 0; verdict < TELLING_VERDICTS; verdict++)
        columns[1 + verdict] =
            (struct column){NULL, telling_word((enum claim_verdict)verdict), "", 'r'};
    struct grid *grid = section_grid(s, columns, 1 + TELLING_VERDICTS);
    for (size_t i = 0; (article = claim_article(i)); i++) {
        if (tellings_count(t, article, count) == 0)
            continue;
        grid_text(grid, title_of(article, s));
        for (int verdict = 0; verdict < TELLING_VERDICTS; verdict++)
            put_count(grid, count[verdict]);
    }
}

/* --- sentences -------------------------------------------------------------------------------- */

static bool is_decided(const struct telling *one)
{
    return one->finding.verdict == CLAIM_REPRODUCED || one->finding.verdict == CLAIM_REFUTED ||
           one->finding.verdict == CLAIM_MIXED;
}

/* Both decide, and not alike. */
static bool differs(const struct telling *one, const struct tellings *committed)
{
    const struct telling *other = tellings_find(committed, one->claim->id);
    return other && is_decided(one) && is_decided(other) &&
           other->finding.verdict != one->finding.verdict;
}

/* Those whose verdict is another than the board's committed one, then the most surprising. */
static size_t choose(const struct tellings *t, const struct tellings *committed,
                     const struct telling *chosen[TOLD])
{
    const struct telling *one;
    size_t n = 0;

    for (size_t i = 0; i < t->n && n < TOLD; i++)
        if (differs(&t->telling[i], committed))
            chosen[n++] = &t->telling[i];
    for (size_t i = 0; n < TOLD && (one = tellings_surprising(t, i)); i++)
        if (!differs(one, committed))
            chosen[n++] = one;
    return n;
}

static void tell(const struct tellings *t, const struct tellings *committed, struct section *s)
{
    static const struct column columns[] = {{NULL, "claim", NULL, 'l'},
                                            {NULL, "holds", NULL, 'l'},
                                            {NULL, "what was found", NULL, 'l'}};
    const struct telling *chosen[TOLD];
    const size_t n = choose(t, committed, chosen);

    if (n == 0)
        return;
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < n; i++) {
        grid_text(grid, chosen[i]->claim->id);
        grid_text(grid, telling_word(chosen[i]->finding.verdict));
        grid_text(grid, section_text(s, "%s", chosen[i]->sentence)); /* outlives the ledger */
    }
}

/* " C20 C21", or how many they are. */
static const char *say_untold(const struct tellings *t, enum claim_why why, struct section *s)
{
    const char *ids = "";
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->telling[i].finding.verdict == CLAIM_NOT_TESTABLE &&
            t->telling[i].finding.why == why) {
            ids = section_text(s, "%s %s", ids, t->telling[i].claim->id);
            n++;
        }
    return n > NAMED ? section_text(s, " %zu claims", n) : ids;
}

/* "Can't tell: not measured here: C20 C21; no run can tell: C81." */
static void note(const struct tellings *t, struct section *s)
{
    const char *said = "";

    for (enum claim_why why = WHY_OTHER_GPU; why <= WHY_NEVER; why++) {
        const char *untold = say_untold(t, why, s);
        if (*untold)
            said = section_text(s, "%s%s %s:%s", said, *said ? ";" : "", telling_class_line(why),
                                untold);
    }
    if (*said)
        section_note(s, "Can't tell:%s.", said);
}

/* How often the board's committed results have another verdict. */
static void note_differing(const struct tellings *t, const struct tellings *committed,
                           struct section *s)
{
    const char *ids = "";

    for (size_t i = 0; i < t->n; i++)
        if (differs(&t->telling[i], committed))
            ids = section_text(s, "%s %s", ids, t->telling[i].claim->id);
    if (*ids)
        section_note(s, "Another verdict than in the committed results of this board:%s.", ids);
}

void section_claims(const struct summary *summary, struct section *s)
{
    struct tellings judged = {0}, committed = {0};
    const struct tellings *t = summary->claims ? summary->claims : &judged;

    s->name = "claims";
    s->title = "CLAIMS";
    if (bundle_gpus(summary->bundle) > 1) {
        s->missing = "claims are judged by a bundle of one GPU";
        return;
    }
    if ((t == &judged && !tellings_open(&judged, summary->bundle, NULL)) ||
        (summary->committed && !tellings_open(&committed, summary->committed, NULL))) {
        s->missing = "not judged: memory is short";
    } else if (!tellings_surprising(t, 0)) {
        s->missing = "not measured: no claim can be told from this bundle; `claims` says why";
    } else {
        find(t, s);
        tabulate(t, s);
        tell(t, &committed, s);
        note(t, s);
        note_differing(t, &committed, s);
    }
    tellings_free(&judged);
    tellings_free(&committed);
}
