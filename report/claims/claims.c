/* The ledger: all claims of report/claims/, in the order of their numbers. */
#include "report/claims/rules.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "report/bundle/instrument.h"

/* The linker marks both ends of the section that CLAIM_SUBJECT() fills. */
extern const struct claim_subject __start_claim_subjects[], __stop_claim_subjects[];

/* Numbers have two digits and are unique: their order is that of their letters. */
const struct claim *claim_after(const struct claim *claim)
{
    const struct claim *next = NULL;
    for (const struct claim_subject *s = __start_claim_subjects; s < __stop_claim_subjects; s++)
        for (size_t i = 0; i < s->n; i++)
            if ((!claim || strcmp(s->claims[i].id, claim->id) > 0) &&
                (!next || strcmp(s->claims[i].id, next->id) < 0))
                next = &s->claims[i];
    return next;
}

const struct claim *claim_at(size_t wanted)
{
    const struct claim *claim = claim_after(NULL);
    while (claim && wanted-- > 0)
        claim = claim_after(claim);
    return claim;
}

size_t claim_place(const struct claim *claim)
{
    size_t smaller = 0;
    for (const struct claim_subject *s = __start_claim_subjects; s < __stop_claim_subjects; s++)
        for (size_t i = 0; i < s->n; i++)
            smaller += strcmp(s->claims[i].id, claim->id) < 0;
    return smaller;
}

/* Is it the first claim of its article? */
static bool is_first(const struct claim *claim)
{
    for (const struct claim_subject *s = __start_claim_subjects; s < __stop_claim_subjects; s++)
        for (size_t i = 0; i < s->n; i++)
            if (strcmp(s->claims[i].id, claim->id) < 0 &&
                !strcmp(s->claims[i].article, claim->article))
                return false;
    return true;
}

const char *claim_article(size_t wanted)
{
    for (const struct claim *claim = claim_after(NULL); claim; claim = claim_after(claim))
        if (is_first(claim) && wanted-- == 0)
            return claim->article;
    return NULL;
}

const char claim_own[] = "ours";

const char *claim_source(size_t i)
{
    const char *const article = claim_article(i);

    if (article)
        return article;
    return i > 0 && claim_article(i - 1) ? claim_own : NULL;
}

bool claim_is_of(const struct claim *claim, const char *source)
{
    const bool is_own = claim->clause && !*claim->clause;

    return is_own ? source == claim_own : !strcmp(claim->article, source);
}

const struct claim *claim_find(const char *id)
{
    for (const struct claim_subject *s = __start_claim_subjects; s < __stop_claim_subjects; s++)
        for (size_t i = 0; i < s->n; i++)
            if (!strcmp(s->claims[i].id, id))
                return &s->claims[i];
    return NULL;
}

/* "24" means C24, "5" C05. */
static bool matches(const char *glob, size_t length, const char *id)
{
    char whole[80];
    const bool is_bare = length > 0 && isdigit((unsigned char)*glob);
    const bool is_short = is_bare && (length < 2 || !isdigit((unsigned char)glob[1]));

    snprintf(whole, sizeof whole, "%s%s%.*s", is_bare ? "C" : "", is_short ? "0" : "", (int)length,
             glob);
    return fnmatch(whole, id, FNM_CASEFOLD) == 0;
}

bool claim_is_wanted(const char *globs, const char *id)
{
    const bool means_all = !globs;
    const char *glob;
    size_t length;

    while (text_word(&globs, &glob, &length))
        if (matches(glob, length, id))
            return true;
    return means_all;
}

const char *claim_unknown(const char *globs, size_t *length)
{
    const char *glob, *const none = globs && !*globs ? globs : NULL;

    while (text_word(&globs, &glob, length)) {
        const struct claim *claim = claim_after(NULL);
        while (claim && !matches(glob, *length, claim->id))
            claim = claim_after(claim);
        if (!claim)
            return glob;
    }
    *length = 0;
    return none;
}

const char *claim_reference(const char *article)
{
    static const char *const references[][2] = {
        {"smallest.ai",
         "Smallest AI, The Limits of Large Fused Kernels on Nvidia GPUs, 3 July 2025"},
        {"dev.to", "Shrijith V., Fused Kernels in LLMs, dev.to"},
        {"8bit.tr", "8bit.tr, Kernel Fusion and Inference Kernels, 5 December 2025"},
        {"ai-rng", "AI-RNG, Kernel Optimization and Operator Fusion Concepts"},
        {claim_own, "gpufloor's own questions, beside those of the articles"},
    };
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
        if (!strcmp(references[i][0], article))
            return references[i][1];
    return article;
}

/* The ways in which a threshold is moved, and a count. */
static const struct {
    double by;
    const char *threshold, *count;
} moves[] = {{0.9, "10 % less for", "one less of the"}, {1.1, "10 % more for", "one more of the"}};

/* Names each threshold that another value, 10 % less or more, would make decide otherwise, and each
 * count that one less or more would. */
static void say_near(const struct bundle *bundle, struct finding *finding)
{
    for (size_t i = 0; i < finding->n_limits; i++)
        for (size_t k = 0; k < sizeof moves / sizeof moves[0]; k++) {
            struct finding other = {.claim = finding->claim,
                                    .verdict = CLAIM_NOT_TESTABLE,
                                    .moved = finding->limit[i],
                                    .by = moves[k].by};
            finding->claim->judge(bundle, &other);
            if (other.verdict != finding->verdict)
                rule_say(finding->evidence, "; near its threshold: with %s %s it is %s",
                         finding->is_count[i] ? moves[k].count : moves[k].threshold,
                         finding->limit[i], claim_verdict_name(other.verdict));
        }
}

void claim_judge(const struct claim *claim, const struct bundle *bundle, struct finding *finding)
{
    *finding = (struct finding){.claim = claim, .verdict = CLAIM_NOT_TESTABLE};
    char why[DOCUMENT_WHY];
    if (!claim->judge) {
        finding->verdict = CLAIM_OPEN;
        rule_say(finding->evidence, "no program measures it yet; what would decide it: %s",
                 claim->open);
        rule_say(finding->controls, "none");
        return;
    }
    if (instrument_holds(bundle, why)) {
        claim->judge(bundle, finding);
        if (finding->verdict != CLAIM_NOT_TESTABLE) {
            say_near(bundle, finding);
            for (size_t i = 0; i < finding->n_seldom; i++)
                rule_say(finding->evidence, "; rests on two or three rounds of %s",
                         finding->seldom[i]);
        }
    } else {
        rule_say_why(finding, WHY_CONTROL, "%s", why);
        rule_not_testable(finding, "%s", why);
    }
    if (!finding->controls[0])
        rule_say(finding->controls, "not reached");
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"REPRODUCED", "REFUTED", "MIXED", "NOT TESTABLE", "OPEN"};
    return names[verdict];
}
