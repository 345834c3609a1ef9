/* The ledger: what launches cost, and how much of that one fused kernel saves. */
#include <math.h>

#include "report/claims/rules.h"

/* --- C29: one large kernel instead of many ---------------------------------------------------- */

#define STEP(mode, blocks, span)                                                                   \
    "edges.step{mode=" mode ",blocks=" blocks ",body=0,span=" span ",timer=event}"
#define IN_ONE_LAUNCH "[gc][ro][iu]*" /* grid_sync and counter, not graph */

static const double C29_ELIMINATED = 0.2, C29_KEPT = 0.5;

/* Judges a ratio of fused to launched steps. */
static enum claim_verdict c29_rule(const struct row *ratio, struct finding *f)
{
    if (rule_place(ratio, 0, RULE_LIMIT(f, C29_ELIMINATED)) == PLACE_INSIDE)
        return CLAIM_REPRODUCED;
    return rule_place(ratio, RULE_LIMIT(f, C29_KEPT), INFINITY) == PLACE_INSIDE ? CLAIM_REFUTED
                                                                                : CLAIM_MIXED;
}

static const struct need control_needs[] = {{NEED_ONE, STEP("graph", "sm", "64-512")},
                                            {NEED_ONE, STEP("stream", "sm", "64-512")},
                                            {NEED_ONE, STEP("block_shared", "1", "64-512")},
                                            {NEED_ONE, "edges.wrong{mode=unwaited,blocks=sm,*}"},
                                            NEEDS_END};

/* A step as many launches take it: by stream, one after the other, or as a graph. */
struct steps {
    struct row graph, stream;
};

/* A step inside one block is known to be cheap, and without a wait the words go wrong; a step in a
 * graph is cheaper than one by stream, but a launch, too. by_stream: what is judged is over a step
 * by stream. */
static bool take_controls(const struct bundle *bundle, bool by_stream, struct steps *s,
                          bool *positive, bool *negative, struct finding *f)
{
    struct row block, wrong;
    if (!RULE_TAKE(bundle, control_needs, f, &s->graph, &s->stream, &block, &wrong))
        return false;
    const struct row *judged = by_stream ? &s->stream : &s->graph;
    const struct row of_block = rule_ratio(f, &block, judged);
    const struct row launched = rule_ratio(f, &s->graph, &s->stream);
    const bool cheap = c29_rule(&of_block, f) == CLAIM_REPRODUCED, seen = wrong.low > 0;
    *positive = cheap && seen;
    *negative = c29_rule(&launched, f) != CLAIM_REPRODUCED;
    rule_say_control(f, true, cheap, "inside one block, over a launched step", &of_block);
    rule_say_control(f, true, seen, "words that go wrong when nothing waits", &wrong);
    rule_say_control(f, false, *negative,
                     "steps in a graph, over steps by stream, pass for eliminated", &launched);
    return true;
}

static const struct need body_needs[] = {
    {NEED_ONE, "edges.step{mode=counter,blocks=sm,body=33554432,*"},
    {NEED_ONE, "edges.step{mode=graph,blocks=sm,body=33554432,*"},
    NEEDS_END};
static const struct need beside_needs[] = {
    {NEED_BEST, STEP("graph_pdl_*", "sm", "64-512")},
    {NEED_ONE, "sm_to_sm.flag_time{path=l2,by=acq_rel,timer=device}"},
    NEEDS_END};

/* Other bodies, another rival, and another way to wait; not judged. */
static void say_beside(const struct bundle *bundle, const struct row *step, struct finding *f)
{
    struct row fused, graph, dependent, flag;
    struct finding ignored = rule_aside(f);

    if (RULE_TAKE(bundle, body_needs, &ignored, &fused, &graph)) {
        const struct row ratio = rule_ratio(&ignored, &fused, &graph);
        rule_say_row(f, "steps that read 32 MiB, fused over graph", &ratio);
    }
    if (!RULE_TAKE(bundle, beside_needs, &ignored, &dependent, &flag))
        return;
    const struct row of_pdl = rule_ratio(&ignored, step, &dependent);
    rule_say_row(f, "over one by a graph with programmatic dependent launch", &of_pdl);
    rule_say_row(f, "from one block to one other, where that is all (C29b)", &flag);
}

static const struct need fused_needs[] = {{NEED_BEST, STEP(IN_ONE_LAUNCH, "sm", "64-512")},
                                          NEEDS_END};

static void judge_c29(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fused;
    struct steps s;
    bool positive, negative;
    if (!RULE_TAKE(bundle, fused_needs, f, &fused) ||
        !take_controls(bundle, true, &s, &positive, &negative, f))
        return;

    const struct row by_stream = rule_ratio(f, &fused, &s.stream),
                     ratio = rule_ratio(&aside, &fused, &s.graph);
    rule_say_row(f, "a dependent step by stream", &s.stream);
    rule_say_row(f, "inside one kernel, all blocks waiting for all", &fused);
    rule_say(f->evidence, ", by %s", fused.id);
    rule_say_row(f, "ratio", &by_stream);
    rule_say_row(f, "not judged: a step in a graph (C29c)", &s.graph);
    rule_say_row(f, "ratio", &ratio);
    rule_say_figure(f, "fused", &fused);
    rule_say_figure(f, "stream", &s.stream);
    rule_say_figure(f, "ratio", &by_stream);
    rule_conclude(f, c29_rule(&by_stream, f), positive, negative);
}

/* --- C29c: against a graph, which is no fusion ------------------------------------------------ */

static const struct need long_needs[] = {{NEED_ONE, STEP("graph", "sm", "512-4096")},
                                         {NEED_ONE, STEP("counter", "sm", "512-4096")},
                                         NEEDS_END};

static void judge_c29c(const struct bundle *bundle, struct finding *f)
{
    struct row fused, graph_long, fused_long;
    struct steps s;
    bool positive, negative;
    if (!RULE_TAKE(bundle, fused_needs, f, &fused) ||
        !RULE_TAKE(bundle, long_needs, f, &graph_long, &fused_long) ||
        !take_controls(bundle, false, &s, &positive, &negative, f))
        return;

    const struct row ratio = rule_ratio(f, &fused, &s.graph);
    const struct row at_length = rule_ratio(f, &fused_long, &graph_long);
    enum claim_verdict verdict = c29_rule(&ratio, f);
    if (c29_rule(&at_length, f) != verdict)
        verdict = CLAIM_MIXED;

    rule_say_row(f, "a dependent step in a graph", &s.graph);
    rule_say_row(f, "inside one kernel, all blocks waiting for all", &fused);
    rule_say(f->evidence, ", by %s", fused.id);
    rule_say_row(f, "ratio", &ratio);
    rule_say_row(f, "ratio from 512 to 4096 steps", &at_length);
    say_beside(bundle, &fused, f);
    rule_say_figure(f, "fused", &fused);
    rule_say_figure(f, "graph", &s.graph);
    rule_say_figure(f, "ratio", &ratio);
    rule_say_figure(f, "at_length", &at_length);
    rule_conclude(f, verdict, positive, negative);
}

/* --- C29b: one block waits for one other ------------------------------------------------------ */

static const struct need c29b_needs[] = {
    {NEED_ONE, "sm_to_sm.flag_time{path=l2,by=acq_rel,timer=device}"}, NEEDS_END};

static void judge_c29b(const struct bundle *bundle, struct finding *f)
{
    struct row flag;
    struct steps s;
    bool positive, negative;
    if (!RULE_TAKE(bundle, c29b_needs, f, &flag) ||
        !take_controls(bundle, false, &s, &positive, &negative, f))
        return;

    const struct row ratio = rule_ratio(f, &flag, &s.graph);
    rule_say_row(f, "a dependent step in a graph", &s.graph);
    rule_say_row(f, "from one block to one other, by release and acquire", &flag);
    rule_say_row(f, "ratio", &ratio);
    rule_say_figure(f, "flag", &flag);
    rule_say_figure(f, "graph", &s.graph);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f, c29_rule(&ratio, f), positive, negative);
}

/* --- C71: a deep queue hides the host --------------------------------------------------------- */

static const double C71_HIDDEN = 0.6, C71_ALIKE = 0.15, C71_WORK = 1.5;

#define QUEUED(depth, work) "launch.queued{depth=" depth ",work_ns=" work ",timer=wall}"

static const struct need c71_needs[] = {{NEED_ONE, QUEUED("1", "0")},
                                        {NEED_ONE, QUEUED("1000", "0")},
                                        {NEED_ONE, "launch.round_trip{timer=wall}"},
                                        {NEED_ONE, QUEUED("1", "20000")},
                                        {NEED_ONE, QUEUED("100", "20000")},
                                        NEEDS_END};

static void judge_c71(const struct bundle *bundle, struct finding *f)
{
    struct row one, deep, trip, busy_one, busy_deep;
    if (!RULE_TAKE(bundle, c71_needs, f, &one, &deep, &trip, &busy_one, &busy_deep))
        return;

    struct row ratio = rule_ratio(f, &deep, &one), same = rule_ratio(f, &one, &trip);
    struct row busy = rule_ratio(f, &busy_deep, &busy_one);
    const double alike = RULE_LIMIT(f, C71_ALIKE), hidden = RULE_LIMIT(f, C71_HIDDEN);
    const struct row work = rule_ratio(f, &busy_one, &one);
    const bool is_trip = rule_place(&same, 1 - alike, 1 + alike) == PLACE_INSIDE;
    const bool clocked = rule_place(&work, RULE_LIMIT(f, C71_WORK), INFINITY) == PLACE_INSIDE;
    bool negative = rule_place(&busy, 0, hidden) == PLACE_ABOVE;
    rule_say_row(f, "a launch that is waited for", &one);
    rule_say_row(f, "one of 1000 in the queue", &deep);
    rule_say_row(f, "ratio", &ratio);
    rule_say_control(f, true, is_trip, "the first is the round trip, ratio", &same);
    rule_say_control(f, true, clocked, "with 20 us of work it takes longer, times", &work);
    rule_say_control(f, false, negative, "kernels of 20 us, queued over waited for", &busy);
    rule_say_figure(f, "one", &one);
    rule_say_figure(f, "deep", &deep);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f, rule_band(rule_place(&ratio, 0, hidden)), is_trip && clocked, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C29",
     .article = "smallest.ai",
     .quote = "Eliminate the latency overhead from launching many discrete kernels,",
     .since = "2026-11-22T13:00Z",
     .plain =
         {.yes = "A step of all SMs costs {fused} in one kernel, {stream} by stream: {ratio:%} is "
                 "left.",
          .no =
              "A step of all SMs costs {fused} in one kernel, {stream} by stream: {ratio:%} stays.",
          .partly = "Between: a step in one kernel takes {ratio:range} of one by stream; limits "
                    "{C29_ELIMINATED}, {C29_KEPT}."},
     .surprise = 7,
     .statement = "A dependency of all blocks on all, inside a fused kernel, costs 20 % or less of "
                  "a step that a stream launches; 20 % is our reading of 'eliminate'.",
     .rule = "The article: \"These large kernels aim to:\". One block an SM, by the slope from 64 "
             "to 512 steps: the cheaper of grid.sync() and "
             "our barrier in one kernel, over the same step launched by stream, kernel by kernel. "
             "REPRODUCED when the ratio is at most 0.2, REFUTED when at least 0.5, else MIXED. "
             "Positive controls: a step inside one block passes for eliminated; without a wait the "
             "words come out wrong. Negative control: a step in a graph, which is launched, too, "
             "must not pass. Said beside it: the same over a graph, which is C29c.",
     .judge = judge_c29,
     .needs = NEEDS(fused_needs, control_needs)},
    {.id = "C29b",
     .article = "smallest.ai",
     .quote = "Eliminate the latency overhead from launching many discrete kernels,",
     .clause = "",
     .since = "2026-11-29T03:00Z",
     .plain = {.yes = "A flag from block to block takes {flag}, a step of a graph {graph}: "
                      "{ratio:%} is left.",
               .no = "A flag from block to block takes {flag}, a step of a graph {graph}: "
                     "{ratio:%} stays.",
               .partly =
                   "A flag from block to block takes {flag}, a step of a graph {graph}. Between: "
                   "{ratio:range} against limits of {C29_ELIMINATED} and {C29_KEPT}."},
     .surprise = 4,
     .statement = "Where a block waits for one other block only, as a fused kernel may arrange it, "
                  "the dependency costs 20 % or less of a graph edge.",
     .rule = "The time from one SM to another, through the L2, of a flag that hands over other "
             "data by release and acquire, over the step of C29c's graph. REPRODUCED when at most "
             "0.2, REFUTED when at least 0.5, else MIXED. The controls of C29c.",
     .judge = judge_c29b,
     .needs = NEEDS(c29b_needs, control_needs)},
    {.id = "C29c",
     .article = "smallest.ai",
     .quote = "Eliminate the latency overhead from launching many discrete kernels,",
     .clause = "",
     .since = "2026-11-29T03:00Z",
     .plain =
         {.yes = "A step of all SMs costs {fused} in one kernel, {graph} in a graph: {ratio:%} is "
                 "left.",
          .no = "A graph's step costs {graph}, one kernel's {ratio:change}.",
          .partly = "A step of all SMs costs {fused} in one kernel, {graph} in a graph. Between: "
                    "{ratio:range}, in long graphs {at_length:range}, against limits of "
                    "{C29_ELIMINATED} and {C29_KEPT}."},
     .surprise = 7,
     .statement = "A dependency of all blocks on all, inside a fused kernel, costs 20 % or less of "
                  "a graph edge, up to 4096 steps: fusion eliminates what a graph leaves.",
     .rule =
         "Another article (ai-rng): \"the system pays launch overhead once\". One block an SM, the "
         "same step by one kernel and by a graph: the "
         "cheaper of grid.sync() and our barrier by the slope from 64 to 512 steps, our barrier by "
         "that from 512 to 4096. REPRODUCED when both ratios are at most 0.2, REFUTED when both "
         "are at least 0.5, else MIXED. Positive controls: a step inside one block passes for "
         "eliminated; without a wait the words come out wrong. Negative control: a step in a "
         "graph, over one by stream, must not pass. Said beside it: programmatic dependent launch, "
         "which needs no fusion.",
     .judge = judge_c29c,
     .needs = NEEDS(fused_needs, long_needs, control_needs, body_needs, beside_needs)},
    {.id = "C71",
     .article = "ai-rng",
     .quote = "Launch overhead is hard to see if benchmarks focus only on end-to-end throughput, "
              "but it becomes visible in profiles.",
     .clause = "Launch overhead is hard to see if benchmarks focus only on end-to-end throughput",
     .since = "2026-11-22",
     .plain = {.yes = "A launch takes {one} when it is waited for, {deep} in a queue of 1000.",
               .no = "A launch takes {one} when it is waited for and {deep} in a queue of 1000: "
                     "not hidden.",
               .partly = "Between: in a queue of 1000 a launch takes {ratio:range} of one that is "
                         "waited for against a limit of {C71_HIDDEN}."},
     .surprise = 1,
     .statement = "Time per launch at a queue depth of 1000 is at most 0.6 of that at depth 1; the "
                  "profile half is not judged.",
     .rule = "REPRODUCED when the ratio is at most 0.6, REFUTED above. Positive controls: depth 1 "
             "reads the round trip within 15 %, and 1.5 times that or more with kernels of 20 us. "
             "Negative control: with kernels of 20 us, which nothing hides, the ratio must stay "
             "above 0.6.",
     .judge = judge_c71,
     .needs = NEEDS(c71_needs)},
};
CLAIM_SUBJECT(claims);
