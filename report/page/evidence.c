#include "report/page/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

enum { FEW_ROUNDS = 3, SHORT_COMMIT = 7 };

struct evidence evidence_new(const struct summary *summary)
{
    return (struct evidence){.summary = summary};
}

bool evidence_is_few(const struct evidence *e, const struct number *number)
{
    const size_t rounds =
        (size_t)(e->summary->bundle->n_rounds > 0 ? e->summary->bundle->n_rounds : 0);
    return number->once || (number->n > 1 && number->n <= FEW_ROUNDS && number->n < rounds);
}

/* The program that measured it: of a derived number that of its key, if it has one. */
static void program_of(const struct number *number, char *text, size_t size)
{
    static const char derived[] = "derived.", key[] = "{probe=";
    const char *at = number->id ? number->id : "", *from = strstr(at, key);

    if (!strncmp(at, derived, sizeof derived - 1) && from)
        at = from + sizeof key - 1;
    snprintf(text, size, "%.*s", (int)strcspn(at, ".,}"), at);
}

static void add_source(struct evidence *e, const char *commit, const char *card, bool quoted)
{
    struct evidence_source source = {.quoted = quoted};

    snprintf(source.commit, sizeof source.commit, "%.*s", SHORT_COMMIT,
             commit ? commit : "unknown");
    snprintf(source.card, sizeof source.card, "%s", card ? card : "");
    for (size_t i = 0; i < e->n_sources; i++)
        if (!strcmp(e->source[i].commit, source.commit) &&
            !strcmp(e->source[i].card, source.card) && e->source[i].quoted == quoted)
            return;
    if (e->n_sources < EVIDENCE_SOURCES)
        e->source[e->n_sources++] = source;
}

static void take_source(struct evidence *e, const struct number *number)
{
    char program[64];

    if (!number->id)
        return;
    program_of(number, program, sizeof program);
    const struct part *part = bundle_part(e->summary->bundle, program);
    if (!part && number->quoted)
        part = bundle_part(e->summary->committed, program);
    if (part)
        add_source(e, part->commit, part->card, number->quoted);
}

void evidence_take(struct evidence *e, const struct number *number)
{
    if (!number_there(number) || !number->id)
        return;
    const double spread = number_spread(number);
    const bool is_few = evidence_is_few(e, number);

    e->n++;
    e->n_few += is_few;
    e->n_quoted += number->quoted;
    if (!is_few && !number->quoted && number->n > 0) {
        e->most_runs = number->n > e->most_runs ? number->n : e->most_runs;
        e->least_runs = e->least_runs == 0 || number->n < e->least_runs ? number->n : e->least_runs;
    }
    if (isfinite(spread) && strcmp(number->unit, "count") != 0 && e->n_spreads < EVIDENCE_SPREADS)
        e->spread[e->n_spreads++] = spread;
    take_source(e, number);
}

/* --- words ------------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say_rounds(const struct evidence *e, char *text, size_t size)
{
    if (e->most_runs == 1)
        text_append(text, size, "One round.");
    else if (e->most_runs > 1 && e->least_runs == e->most_runs)
        text_append(text, size, "Medians of %zu rounds.", e->most_runs);
    else if (e->most_runs > 1)
        text_append(text, size, "Medians of %zu to %zu rounds.", e->least_runs, e->most_runs);
}

static void say_interval(const struct evidence *e, char *text, size_t size)
{
    double sorted[EVIDENCE_SPREADS];

    if (e->n_spreads == 0) {
        text_append(text, size, e->n > 0 ? " No intervals." : "");
        return;
    }
    memcpy(sorted, e->spread, e->n_spreads * sizeof sorted[0]);
    qsort(sorted, e->n_spreads, sizeof sorted[0], ascending);
    text_append(text, size,
           " Interval (95 %% or more, order statistics): +-%.2g %% or less for half of the "
           "numbers, +-%.2g %% at most.",
           100 * sorted[(e->n_spreads - 1) / 2], 100 * sorted[e->n_spreads - 1]);
}

static void say_sources(const struct evidence *e, bool quoted, char *text, size_t size)
{
    bool any = false;

    for (size_t i = 0; i < e->n_sources; i++) {
        const struct evidence_source *source = &e->source[i];
        if (source->quoted != quoted)
            continue;
        text_append(text, size, "%scommit %s", any ? "; " : "", source->commit);
        if (*source->card)
            text_append(text, size, ", card%s %s", strchr(source->card, '+') ? "s" : "",
                        source->card);
        any = true;
    }
}

char *evidence_say(const struct evidence *e, const char *few, const char *quoted, char *text,
                   size_t size)
{
    struct evidence own = *e;
    const struct bundle *bundle = e->summary->bundle;
    char card[BUNDLE_CARDS];
    bool has_own = false;

    text[0] = '\0';
    for (size_t i = 0; i < e->n_sources; i++)
        has_own = has_own || !e->source[i].quoted;
    if (!has_own)
        add_source(&own, document_get_text(json_object_get(bundle->head, "suite"), "commit", NULL),
                   bundle_cards(bundle->head, CARD_WHOLE, card), false);
    say_rounds(e, text, size);
    say_interval(e, text, size);
    if (e->n_few > 0)
        text_append(text, size, " %s two or three rounds.", few);
    if (e->n_quoted > 0) {
        text_append(text, size, " %s another card of this board: ", quoted);
        say_sources(&own, true, text, size);
        text_append(text, size, ".");
    }
    text_append(text, size, "%sgpufloor ", *text ? " " : "");
    say_sources(&own, false, text, size);
    text_append(text, size, ".");
    return text;
}
