/* What the ledger's judges share: taking rows, comparing them with thresholds, saying the evidence.
 *
 * A subject is one file of this folder: its judges, and at its end the table of its claims, which
 * CLAIM_SUBJECT() hands to the ledger; no list elsewhere names it. A judge takes the rows that it
 * needs, says what they read, states both controls, and concludes:
 *
 *     static void judge_c10(const struct bundle *bundle, struct finding *f)
 *     {
 *         struct row l1, control;
 *         if (!rule_take(bundle, "memory_latency.load{level=l1}", &l1, f) ||
 *             !rule_take(bundle, "memory_latency.control{path=l2}", &control, f))
 *             return;
 *         bool negative = rule_place(&control, LEAST, MOST) == PLACE_ABOVE;
 *         rule_say_row(f->evidence, "a dependent L1 hit takes", &l1);
 *         rule_say_control(f, false, negative, "the same ring kept out of L1 reads", &control);
 *         rule_conclude(f, rule_band(rule_place(&l1, LEAST, MOST)), true, negative);
 *     }
 */
#ifndef REPORT_CLAIMS_RULES_H
#define REPORT_CLAIMS_RULES_H

#include "report/claims/claims.h"

struct claim_subject {
    const struct claim *claims;
    size_t n;
};

/* Puts a subject's claims into the section that report/claims/claims.c walks. Once a file. */
#define CLAIM_SUBJECT(table)                                                                     \
    static const struct claim_subject subject                                                    \
        __attribute__((section("claim_subjects"), used, aligned(sizeof(void *)))) = {            \
            table, sizeof table / sizeof(table)[0]}

/* --- figures ---------------------------------------------------------------------------------- */

/* A row that a verdict may rest on: the first whose id matches, usable, and with an interval, which
 * takes six runs, or two of a case that is measured in the first and last round only. Otherwise the
 * claim is not testable, and the reason is said. */
bool rule_take(const struct bundle *bundle, const char *glob, struct row *row, struct finding *f);

/* The same of the best of all that match: chosen in the first round, judged on the others. */
bool rule_take_best(const struct bundle *bundle, const char *glob, struct row *row,
                    struct finding *f);

/* Formed per run: value of a over value of b in the same round. Once-rows count in their rounds. */
struct row rule_ratio(const struct row *a, const struct row *b);

/* Work over time: a rate row from a time row in ns. */
struct row rule_rate(const struct row *time, double work, const char *unit);

/* --- rules ------------------------------------------------------------------------------------ */

/* Where a row's interval lies with respect to [least, most]; -INFINITY and INFINITY leave a side
 * open. Straddles: it holds a threshold, or there is no interval. */
enum place { PLACE_BELOW, PLACE_INSIDE, PLACE_ABOVE, PLACE_STRADDLES };
enum place rule_place(const struct row *row, double least, double most);

/* Inside the band: reproduced; outside: refuted; straddling: mixed. */
enum claim_verdict rule_band(enum place place);

/* a's interval lies below b's by more than 3 % of b and more than one unit (a cycle, a ns). */
bool rule_faster(const struct row *a, const struct row *b);

/* The verdict, or NOT TESTABLE when a control did not come out as it must: positive says whether
 * the positive control passed, negative whether the negative one failed as it has to. */
void rule_conclude(struct finding *f, enum claim_verdict verdict, bool positive, bool negative);

/* --- saying it -------------------------------------------------------------------------------- */

/* Appends to a finding's evidence or controls. */
void rule_say(char text[CLAIM_TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "; WHAT 32.1 cycles (32.0 to 32.2)" */
void rule_say_row(char text[CLAIM_TEXT], const char *what, const struct row *row);

/* "positive control: WHAT: 2.0e4 cycles, passed"; as_it_must: it came out as this kind must. */
void rule_say_control(struct finding *f, bool positive, bool as_it_must, const char *what,
                      const struct row *row);

/* Sets the verdict, and adds the reason to the evidence. */
void rule_not_testable(struct finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
