/* The claims on which boards differ: those that both decide, with both sentences; then those that
 * only some decide, by why the others cannot. */
#include "report/page/boards_claims.h"

#include <stdlib.h>
#include <string.h>

#include "report/claims/telling.h"

enum { SHOWN = 8 }; /* sentences; further claims by their ids */

/* Of the boards that have one GPU: by runs of several no claim is judged. */
struct ledgers {
    struct tellings of[BOARDS_MOST];
    char letter[BOARDS_MOST]; /* that the board has in the report */
    size_t n;
};

static const struct telling *at(const struct ledgers *ledgers, size_t board, size_t i)
{
    return &ledgers->of[board].telling[i];
}

static bool is_decided(const struct telling *t)
{
    return t->finding.verdict == CLAIM_REPRODUCED || t->finding.verdict == CLAIM_REFUTED ||
           t->finding.verdict == CLAIM_MIXED;
}

bool boards_differ(const struct telling *a, const struct telling *b)
{
    return a->finding.verdict != b->finding.verdict && (is_decided(a) || is_decided(b));
}

/* Two boards decide a claim, and not alike. */
static bool is_disputed(const struct ledgers *l, size_t i)
{
    const struct telling *first = NULL;

    for (size_t board = 0; board < l->n; board++) {
        const struct telling *t = at(l, board, i);
        if (is_decided(t) && first && t->finding.verdict != first->finding.verdict)
            return true;
        if (is_decided(t) && !first)
            first = t;
    }
    return false;
}

/* "B C": the boards that decide it; "" where all do, or none. */
static const char *deciders(struct section *s, const struct ledgers *l, size_t i)
{
    const char *letters = "";
    size_t n = 0;

    for (size_t board = 0; board < l->n; board++)
        if (is_decided(at(l, board, i))) {
            letters = section_text(s, "%s%s%c", letters, n ? " " : "", l->letter[board]);
            n++;
        }
    return n == l->n ? "" : letters;
}

/* Why the first of those that do not decide it cannot. */
static const char *lack(const struct ledgers *l, size_t i)
{
    for (size_t board = 0; board < l->n; board++)
        if (at(l, board, i)->finding.verdict == CLAIM_NOT_TESTABLE)
            return telling_class_line(at(l, board, i)->finding.why);
    return "";
}

/* --- disputed --------------------------------------------------------------------------------- */

static void put_sentences(struct grid *grid, struct section *s, const struct ledgers *l, size_t i)
{
    for (size_t board = 0; board < l->n; board++) {
        const struct telling *t = at(l, board, i);
        grid_text(grid, board ? "" : t->claim->id);
        grid_text(grid, section_text(s, "%c", l->letter[board]));
        grid_text(grid, telling_word(t->finding.verdict));
        grid_text(grid, section_text(s, "%s", t->sentence)); /* outlives the ledger */
    }
}

static size_t tabulate(struct section *s, const struct ledgers *l)
{
    static const struct column columns[] = {{NULL, "claim", NULL, 'l'}, {NULL, NULL, NULL, 'l'},
                                            {NULL, "holds", NULL, 'l'},
                                            {NULL, "what was found", NULL, 'l'}};
    struct grid *grid = NULL;
    const char *others = "";
    size_t n = 0;

    for (size_t i = 0; i < l->of[0].n; i++) {
        if (!is_disputed(l, i))
            continue;
        if (n++ >= SHOWN / l->n) {
            others = section_text(s, "%s %s", others, at(l, 0, i)->claim->id);
            continue;
        }
        if (!grid)
            grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
        put_sentences(grid, s, l, i);
    }
    if (*others)
        section_note(s, "And%s.", others);
    return n;
}

/* --- decided by some -------------------------------------------------------------------------- */

/* The ids behind claim i that the same boards decide, and the others cannot for the same reason. */
static const char *alike(struct section *s, const struct ledgers *l, size_t i, bool *is_told)
{
    const char *who = deciders(s, l, i), *ids = "";

    for (size_t k = i; k < l->of[0].n; k++)
        if (!is_told[k] && !is_disputed(l, k) && !strcmp(deciders(s, l, k), who) &&
            !strcmp(lack(l, k), lack(l, i))) {
            ids = section_text(s, "%s %s", ids, at(l, 0, k)->claim->id);
            is_told[k] = true;
        }
    return ids;
}

static size_t say_partial(struct section *s, const struct ledgers *l)
{
    bool *is_told = calloc(l->of[0].n ? l->of[0].n : 1, sizeof *is_told);
    size_t n = 0;

    for (size_t i = 0; is_told && i < l->of[0].n; i++) {
        const char *who = deciders(s, l, i);
        if (*who && !is_disputed(l, i))
            n++;
        if (!*who || is_told[i] || is_disputed(l, i))
            continue;
        const char *why = lack(l, i), *ids = alike(s, l, i, is_told);
        section_note(s, "Only %s decides (elsewhere: %s):%s.", who, why, ids);
    }
    free(is_told);
    return n;
}

/* --- the section ------------------------------------------------------------------------------ */

static bool open_ledgers(struct ledgers *l, const struct boards *boards)
{
    for (size_t i = 0; i < boards->n; i++) {
        if (bundle_gpus(boards->of[i].bundle) > 1)
            continue;
        if (!tellings_open(&l->of[l->n], boards->of[i].bundle, NULL))
            return false;
        l->letter[l->n++] = (char)('A' + i);
    }
    return true;
}

static size_t judging(const struct boards *boards)
{
    size_t n = 0;
    for (size_t i = 0; i < boards->n; i++)
        n += bundle_gpus(boards->of[i].bundle) == 1;
    return n;
}

/* "B is of 2 GPUs, C of 4", of the boards of several; "" where all have one. */
static const char *say_several(struct section *s, const struct boards *boards)
{
    const char *said = "";

    for (size_t i = 0; i < boards->n; i++)
        if (bundle_gpus(boards->of[i].bundle) > 1)
            said = section_text(s, "%s%s%c %s %zu%s", said, *said ? ", " : "", (int)('A' + i),
                                *said ? "of" : "is of", bundle_gpus(boards->of[i].bundle),
                                *said ? "" : " GPUs");
    return said;
}

static void find(struct section *s, size_t n, size_t n_disputed, size_t n_partial)
{
    s->finding = "what one board decides the others decide, and alike.";
    if (n_disputed + n_partial > 0)
        s->finding = section_text(
            s,
            "of %zu claims %zu %s another verdict from board to board, %zu %s "
            "one from some boards only.",
            n, n_disputed, n_disputed == 1 ? "gets" : "get", n_partial,
            n_partial == 1 ? "gets" : "get");
}

bool boards_judge(const struct boards *boards)
{
    return judging(boards) >= 2;
}

void boards_claims(const struct boards *boards, struct section *s)
{
    struct ledgers l = {.n = 0};

    s->name = "claims";
    s->title = "CLAIMS";
    s->has_no_number = true;
    if (judging(boards) == 0) {
        s->finding = "no claim is judged by runs of several GPUs; a run of one GPU has them.";
        return;
    }
    const char *const several = say_several(s, boards);
    if (!boards_judge(boards)) {
        s->finding = section_text(s, "%s, by which no claim is judged.", several);
        return;
    }
    if (!open_ledgers(&l, boards)) {
        s->missing = "not judged: memory is short";
    } else {
        const size_t n_disputed = tabulate(s, &l), n_partial = say_partial(s, &l);
        find(s, l.of[0].n, n_disputed, n_partial);
        if (*several)
            section_note(s, "%s, by which no claim is judged.", several);
    }
    for (size_t i = 0; i < l.n; i++)
        tellings_free(&l.of[i]);
}
