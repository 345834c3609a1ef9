/* Shared by the ledger's judges: taking rows, comparing them with thresholds, reporting the
 * evidence.
 *
 * A subject is one file of this folder: its judges and, at its end, the table of its claims, which
 * CLAIM_SUBJECT() passes to the ledger; no other list names it. The rows that a judge needs are
 * data, named in the claim's entry by NEEDS(c10_needs), and a judge gets no others. It takes them,
 * reports what they say, states both controls, and concludes:
 *
 *     static const struct need c10_needs[] = {
 *         {NEED_ONE, "memory_latency.load{level=l1}"},
 *         {NEED_ONE, "memory_latency.control{path=l2}"},
 *         NEEDS_END};
 *
 *     static void judge_c10(const struct bundle *bundle, struct finding *f)
 *     {
 *         struct row l1, control;
 *         if (!RULE_TAKE(bundle, c10_needs, f, &l1, &control))
 *             return;
 *         bool negative = rule_place(&control, LEAST, MOST) == PLACE_ABOVE;
 *         rule_say_row(f, "a dependent L1 hit takes", &l1);
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

/* Puts a subject's claims into the section that report/claims/claims.c walks. Use it once per
 * file. */
#define CLAIM_SUBJECT(table)                                                                       \
    static const struct claim_subject subject                                                      \
        __attribute__((section("claim_subjects"), used, aligned(sizeof(void *)))) = {              \
            table, sizeof table / sizeof(table)[0]}

/* --- needs ------------------------------------------------------------------------------------ */

// clang-format off
#define NEEDS_END {NEED_ONE, NULL}

/* The lists of a claim's needs, for its entry; NEEDS(NULL) for a claim that takes nothing. */
#define NEEDS(...) (const struct need *const[]){__VA_ARGS__, NULL}
// clang-format on

/* Takes the rows of a list of needs, in its order, into as many rows: by rule_take() or, for
 * NEED_BEST, by rule_take_best(). False at the first that is not available. */
#define RULE_TAKE(bundle, needs, f, ...)                                                           \
    rule_take_rows(bundle, needs, f, (struct row *const[]){__VA_ARGS__},                           \
                   sizeof(char[sizeof(needs) / sizeof(needs)[0] - 1 == RULE_COUNT(__VA_ARGS__)     \
                                   ? (int)RULE_COUNT(__VA_ARGS__)                                  \
                                   : -1]))
#define RULE_COUNT(...) (sizeof((struct row *const[]){__VA_ARGS__}) / sizeof(struct row *))
bool rule_take_rows(const struct bundle *bundle, const struct need *needs, struct finding *f,
                    struct row *const *rows, size_t n);

/* --- figures ----------------------------------------------------------------------------------
 *
 * Every id asked for must be covered by a need of the finding's claim. An id that is not covered is
 * refused: it counts as missing, and the finding says so. */

/* A row that a verdict may use: the first whose id matches, usable, and with an interval. An
 * interval takes six runs, or two runs of a case that is measured in two or three rounds only. The
 * ledger names the times of such cases beside the verdict.
 * Without such a row the claim is not testable, and the evidence says why. */
bool rule_take(const struct bundle *bundle, const char *glob, struct row *row, struct finding *f);

/* The same for the best of all that match: the first round chooses it, the others measure it. */
bool rule_take_best(const struct bundle *bundle, const char *glob, struct row *row,
                    struct finding *f);

/* The same for an id that a need forms: rule_take_formed(bundle, &row, f, SHARE, "8b", 4096). */
bool rule_take_formed(const struct bundle *bundle, struct row *row, struct finding *f,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same for another metric of a row's case. */
bool rule_take_beside(const struct bundle *bundle, const struct row *of, const char *metric,
                      struct row *row, struct finding *f);

/* A counted figure (report/bundle/counted.h) for one unit of a metric's work, where a document of
 * `gpufloor counters` holds the first case that matches:
 *     rule_take_counted(bundle, "dram_bytes", "elementwise_chain.time{...}", &row, f)
 * The need of it is {NEED_COUNTED, "dram_bytes of elementwise_chain.time{...}"}. The row has no
 * runs: its interval runs from the least to the most of three countings. */
bool rule_take_counted(const struct bundle *bundle, const char *figure, const char *glob,
                       struct row *row, struct finding *f);

/* For rows that are reported and not judged: rule_take() and rule_take_formed() without an effect
 * on the finding. */
bool rule_look_up(const struct bundle *bundle, const char *glob, struct row *row,
                  struct finding *f);

/* A finding of the same claim that nobody reads, for functions that take rows which may be
 * missing. */
struct finding rule_aside(struct finding *f);

/* rows_match(), rows_find() and rows_beside(), limited to what the claim needs. */
const struct row *rule_next(const struct bundle *bundle, const char *glob, size_t *next,
                            struct finding *f);
const struct row *rule_find(const struct bundle *bundle, const char *id, struct finding *f);
const struct row *rule_beside(const struct bundle *bundle, const struct row *row,
                              const char *metric, const char *key, const char *value,
                              struct finding *f);

/* The centre of another metric of a row's case; NaN if there is no usable one. */
double rule_centre_beside(const struct bundle *bundle, const struct row *row, const char *metric,
                          struct finding *f);

/* Formed per run: value of a over value of b in the same round. Once-rows count in their rounds.
 * Where too few runs are common to both, the row has no interval, and the finding is NOT TESTABLE,
 * whatever the row is compared with; so give a row that is only said an aside as its finding. */
struct row rule_ratio(struct finding *f, const struct row *a, const struct row *b);

/* The ratio of two rows of which one has no runs, a counted figure or a number: from the least that
 * the intervals allow to the most. */
struct row rule_quotient(const struct row *a, const struct row *b);
struct row rule_number(double value, const char *unit);

/* The ratio of two rows, given by their ids, for each run. */
bool rule_take_ratio(const struct bundle *bundle, const char *above, const char *below,
                     struct row *ratio, struct finding *f);

/* "; WHAT 1.20 (1.19 to 1.21)": the ratio of two rows, given by their ids, that is said beside a
 * verdict and never judged. Nothing where one of them cannot be used. */
void rule_say_ratio_beside(const struct bundle *bundle, struct finding *f, const char *what,
                     const char *above, const char *below);

/* The same for a row as it is. */
void rule_say_row_beside(const struct bundle *bundle, struct finding *f, const char *what,
                        const char *id);

/* Work over time: a rate row from a time row in ns. */
struct row rule_rate(struct finding *f, const struct row *time, double work, const char *unit);

/* a minus b, for each run. */
struct row rule_less(struct finding *f, const struct row *a, const struct row *b);

/* A row formed in each run from the values of at most 32 rows in that run; `with` is handed
 * through. It has the first one's id, and is measured as seldom as the most seldom of them. unit
 * NULL: the first one's. */
struct row rule_formed(struct finding *f, const struct row *const *from, size_t n, const char *unit,
                       double (*of)(const double *value, const void *with), const void *with);

/* --- rules ------------------------------------------------------------------------------------ */

/* A threshold of the rule, by its name in the source: RULE_LIMIT(f, C33_LONG). Every threshold of a
 * verdict or a control is taken this way, and the ledger tells which of them, moved by 10 %, would
 * change the verdict. A tolerance around 1 is a margin: 1 + RULE_LIMIT(f, MARGIN). */
#define RULE_LIMIT(f, limit) rule_limit(f, #limit, limit)
double rule_limit(struct finding *f, const char *name, double value);

/* A count that decides by its share of a whole, named in words: "right signs". A threshold that is
 * moved by 10 % may lie between two counts; so the ledger also tries one less and one more of
 * it. */
size_t rule_tally(struct finding *f, const char *name, size_t count);

/* Where a row's interval lies relative to [least, most]; -INFINITY and INFINITY leave a side open.
 * Straddles: it contains a threshold. Unknown: the row has no interval, and decides nothing. */
enum place { PLACE_BELOW, PLACE_INSIDE, PLACE_ABOVE, PLACE_STRADDLES, PLACE_UNKNOWN };
enum place rule_place(const struct row *row, double least, double most);

/* Inside the band: reproduced; outside: refuted; straddling: mixed; unknown: not testable. */
enum claim_verdict rule_band(enum place place);

/* Does a's interval lie below b's by more than 3 % of b and more than one unit (a cycle, a ns)? The
 * 3 % are a threshold of the rule that asks, by the name FASTER. */
bool rule_faster(struct finding *f, const struct row *a, const struct row *b);

/* Sets the verdict, or NOT TESTABLE if a control did not come out right. positive: did the positive
 * control pass? negative: did the negative control fail, as it must? */
void rule_conclude(struct finding *f, enum claim_verdict verdict, bool positive, bool negative);

/* --- evidence ---------------------------------------------------------------------------------
 *
 * What is said is kept twice: as text, and as data (figures, parts, controls) from which sentences,
 * tables and JSON are made. Nothing that is said changes a verdict. */

/* Appends to a finding's evidence or controls. */
void rule_say(char text[CLAIM_TEXT], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "; WHAT 32.1 cycles (32.0 to 32.2)", and the figure WHAT. */
void rule_say_row(struct finding *f, const char *what, const struct row *row);

/* A figure that the plain sentence calls `key`: without text, for a row that was said already or
 * need not be. */
void rule_say_figure(struct finding *f, const char *key, const struct row *row);
void rule_say_number(struct finding *f, const char *key, double value, const char *unit);
void rule_say_count(struct finding *f, const char *key, size_t count);

/* One of several statements that the verdict is made of, in words that go before "holds": "8192
 * tokens". row: its number, or NULL; limit: NaN where there is no single one. */
void rule_say_part(struct finding *f, const char *what, enum claim_verdict verdict,
                   const struct row *row, double limit);

/* "positive control: WHAT: 2.0e4 cycles, passed"; as_it_must: it came out as its kind must. */
void rule_say_control(struct finding *f, bool positive, bool as_it_must, const char *what,
                      const struct row *row);

/* The same without text, for a control that the judge words itself. */
void rule_say_check(struct finding *f, bool positive, bool as_it_must, const char *what,
                    double value, const char *unit);

/* Why it is NOT TESTABLE, before rule_not_testable() says so, which else calls it missing. The text
 * goes with the class: "an L40S", what is missing, the row, the control, the reason. */
void rule_say_why(struct finding *f, enum claim_why why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the verdict, and adds the reason to the evidence. */
void rule_not_testable(struct finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
