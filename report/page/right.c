/* Are fused results right? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/quality.h"
#include "report/page/sections.h"
#include "report/page/take.h"

enum { ERROR, DIFFER, CAUGHT, DISTINCT, TIME };
const char *const right_needs[] = {
    [ERROR] = "*.error{*impl=%s,*", /* these three as quality_count() takes them */
    [DIFFER] = "*.differ{*",
    [CAUGHT] = "*.caught{*",
    [DISTINCT] = "repeatability.distinct{order=%s,*}",
    [TIME] = "repeatability.time{order=%s,*}",
    NULL,
};

/* "The same bits as unfused: 3 of 14 kernels. Planted faults are all seen in 15 of 15." */
static void note_bits(const struct quality *q, struct section *s)
{
    const char *said = "";

    if (q->compared > 0)
        said =
            section_text(s, "The same bits as unfused: %zu of %zu kernels.", q->same, q->compared);
    if (q->planted > 0)
        said = section_text(s, "%s%sPlanted faults are all seen in %zu of %zu.", said,
                            *said ? " " : "", q->seen, q->planted);
    if (*said)
        section_note(s, "%s", said);
}

/* The faster of the two ways to add in a fixed order. */
static const char *fixed_order(const struct summary *summary)
{
    const struct number last = take_number(summary, right_needs[TIME], "last_arriver");
    const struct number two = take_number(summary, right_needs[TIME], "two_kernels");
    return last.value < two.value ? "last_arriver" : "two_kernels";
}

/* "Sums by atomics: 10000 results in 10000 runs; in a fixed order 1, for 6 % more time; ..." */
static void note_sums(const struct summary *summary, struct section *s)
{
    const char *order = fixed_order(summary);
    const struct row *atomics = take_row(summary, right_needs[DISTINCT], "arrival");
    const struct row *fixed = take_row(summary, right_needs[DISTINCT], order);
    const struct row *integers = take_row(summary, right_needs[DISTINCT], "fixed_point");
    const struct number slow = take_number(summary, right_needs[TIME], order);
    const struct number fast = take_number(summary, right_needs[TIME], "arrival");
    const double more = slow.value / fast.value - 1;
    const char *said, *time = "";

    if (!atomics)
        return;
    said = section_text(s, "Sums by atomics: %.0f result%s in %.0f runs", atomics->centre,
                        atomics->centre == 1 ? "" : "s", take_key(atomics, "runs"));
    if (fixed && isfinite(more))
        time = section_text(s, " in %.0f %% %s time", 100 * fabs(more), more < 0 ? "less" : "more");
    if (fixed)
        said = section_text(s, "%s; in a fixed order %.0f,%s", said, fixed->centre, time);
    if (integers)
        said = section_text(s, "%s; in integers %.0f", said, integers->centre);
    section_note(s, "%s.", said);
}

void section_right(const struct summary *summary, struct section *s)
{
    const struct quality q = quality_count(&summary->bundle->rows);

    s->name = "right";
    s->title = "RIGHT?";
    if (q.errors == 0 && q.compared == 0) {
        section_missing(s, summary, "*.error{*impl=fused,*");
        return;
    }
    if (q.errors > 0 && q.worse == 0)
        s->finding = section_text(s,
                                  "Fused results err no more than unfused ones (float64, within "
                                  "3 %%) in %zu of %zu cases.",
                                  q.errors, q.errors);
    else if (q.errors > 0)
        s->finding = section_text(s,
                                  "Fused results err more than unfused ones (float64, by over "
                                  "3 %%) in %zu of %zu cases.",
                                  q.worse, q.errors);
    note_bits(&q, s);
    note_sums(summary, s);
    s->claims = "C75 C75b C76";
}
