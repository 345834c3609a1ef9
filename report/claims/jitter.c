/* The ledger: whether fewer launches make steadier steps, and batches steady work. */
#include <math.h>
#include <stdio.h>

#include "core/document.h"
#include "report/claims/rules.h"

#define ITEM(metric, load, launch) "jitter." metric "{load=" load ",items=512,launch=" launch "}"

/* --- C68: fewer launches, shorter tails ------------------------------------------------------- */

static const double FALLS = 0.10; /* or more; less is no fall */
static const double C68_SHARED = 0.25, C68_FELT = 4;

/* One form of a step: its launches by stream, as a graph, or as one kernel. */
enum form { STREAM, GRAPH, PERSISTENT, FORMS };
static const char *const form_names[FORMS] = {"stream", "graph", "persistent"};

#define SHARED(metric) "jitter." metric "{launches=%s,mode=%s,host=shared%s}"

static const struct need shared_needs[] = {{NEED_ANY, SHARED("step_p99")},
                                           {NEED_ANY, SHARED("step_p999")},
                                           {NEED_ANY, SHARED("step")},
                                           NEEDS_END};

/* A quantile high in a step's time, the median, and how far the one is above the other. */
struct tail {
    struct row high, median, above;
};

/* high: "step_p99" or "step_p999". */
static bool take_tail(const struct bundle *bundle, const char *high, const char *launches,
                      enum form form, struct tail *t, struct finding *f)
{
    if (!rule_take_formed(bundle, &t->high, f, SHARED("%s"), high, launches, form_names[form],
                          ",timer=wall") ||
        !rule_take_formed(bundle, &t->median, f, SHARED("step"), launches, form_names[form],
                          ",timer=wall"))
        return false;
    t->above = rule_less(f, &t->high, &t->median);
    return true;
}

/* What fewer launches do to jitter: it falls, it does not, or that cannot be told. */
enum fall { FELL, STAYED, UNCLEAR };

/* Jitter is the tail minus the median; the better of a graph and of one kernel counts. */
static enum fall fall_of(const struct tail tails[FORMS], double falls, struct finding *f)
{
    size_t stayed = 0;
    for (enum form form = GRAPH; form < FORMS; form++) {
        const struct row ratio = rule_ratio(f, &tails[form].above, &tails[STREAM].above);
        const enum place place = rule_place(&ratio, falls, INFINITY);
        if (place == PLACE_BELOW)
            return FELL;
        stayed += place == PLACE_INSIDE;
    }
    return stayed == FORMS - 1 ? STAYED : UNCLEAR;
}

/* The quantile that a time slice of the other thread reaches in every form: a step of 8 launches
 * takes a hundredth of a slice, so that a slice is in one of 100 steps by stream and in fewer by
 * the shorter forms; p99 would show where that share crosses 1 %, and not how long the tail is. */
static const struct {
    const char *launches, *high, *name;
} c68_sizes[] = {{"8", "step_p999", "p999"}, {"64", "step_p99", "p99"}};
enum { C68_SIZES = sizeof c68_sizes / sizeof *c68_sizes };

static const struct need c68_needs[] = {
    {NEED_ONE, "jitter.host_load{launches=8,mode=stream,host=shared}"}, NEEDS_END};

/* One size of step: what fewer launches do to its tail; whether slices show in it by stream; and
 * whether the same rule sees no fall from one launch to the very same one. */
static bool judge_size(const struct bundle *bundle, size_t i, enum fall *fall, bool *positive,
                       bool *negative, struct finding *f)
{
    static const char *const words[FORMS] = {"by stream", "as a graph", "as one kernel"};
    const double falls = 1 - RULE_LIMIT(f, FALLS);
    struct tail tails[FORMS], one, same;

    rule_say(f->evidence, "%s%s launches, %s", i ? "; " : "", c68_sizes[i].launches,
             c68_sizes[i].name);
    for (enum form form = STREAM; form < FORMS; form++) {
        if (!take_tail(bundle, c68_sizes[i].high, c68_sizes[i].launches, form, &tails[form], f))
            return false;
        rule_say(f->evidence, "%s %s %.1f (median %.1f)", form ? "," : "", words[form],
                 tails[form].above.centre / 1e3, tails[form].median.centre / 1e3);
    }
    if (!take_tail(bundle, c68_sizes[i].high, "1", STREAM, &one, f) ||
        !take_tail(bundle, c68_sizes[i].high, "1", PERSISTENT, &same, f))
        return false;
    const struct row felt = rule_ratio(f, &tails[STREAM].high, &tails[STREAM].median);
    const struct row nothing = rule_ratio(f, &same.above, &one.above);
    const struct row by_graph = rule_ratio(f, &tails[GRAPH].above, &tails[STREAM].above);
    const struct row by_one = rule_ratio(f, &tails[PERSISTENT].above, &tails[STREAM].above);
    const struct row *kept = by_one.centre < by_graph.centre ? &by_one : &by_graph;
    char what[96];
    *fall = fall_of(tails, falls, f);
    snprintf(what, sizeof what, "%s of %s", c68_sizes[i].name, c68_sizes[i].launches);
    rule_say_figure(f, i ? "many" : "few", kept);
    rule_say_part(f, what,
                  *fall == FELL     ? CLAIM_REPRODUCED
                  : *fall == STAYED ? CLAIM_REFUTED
                                    : CLAIM_MIXED,
                  kept, falls);
    *positive = felt.low >= RULE_LIMIT(f, C68_FELT);
    *negative = rule_place(&nothing, falls, INFINITY) != PLACE_BELOW;
    snprintf(what, sizeof what, "%s of %s launches by stream over its median", c68_sizes[i].name,
             c68_sizes[i].launches);
    rule_say_control(f, true, *positive, what, &felt);
    snprintf(what, sizeof what, "%s - median of one launch against the very same one falls, to",
             c68_sizes[i].name);
    rule_say_control(f, false, *negative, what, &nothing);
    return true;
}

static void judge_c68(const struct bundle *bundle, struct finding *f)
{
    bool positive[C68_SIZES], negative[C68_SIZES];
    enum fall fall[C68_SIZES];
    struct row busy;

    if (!RULE_TAKE(bundle, c68_needs, f, &busy))
        return;
    const bool there = busy.low >= RULE_LIMIT(f, C68_SHARED);
    rule_say_control(f, true, there, "share of the launching thread's CPU that another had", &busy);
    rule_say(f->evidence, "on a shared CPU, tail - median in us: ");
    for (size_t i = 0; i < C68_SIZES; i++)
        if (!judge_size(bundle, i, &fall[i], &positive[i], &negative[i], f))
            return;
    rule_conclude(f,
                  fall[0] == FELL && fall[1] == FELL       ? CLAIM_REPRODUCED
                  : fall[0] == STAYED && fall[1] == STAYED ? CLAIM_REFUTED
                                                           : CLAIM_MIXED,
                  there && positive[0] && positive[1], negative[0] && negative[1]);
}

/* --- C69: batches turn bursts into steady work ------------------------------------------------ */

static const struct need c69_needs[] = {
    {NEED_ONE, ITEM("busy", "600000", "batched")},
    {NEED_ONE, ITEM("busy", "600000", "each_of_8_streams")},
    {NEED_ONE, ITEM("busy", "600000", "each")},
    {NEED_ONE, ITEM("busy", "30000", "batched")},
    {NEED_ONE, ITEM("busy", "30000", "each_of_8_streams")},
    {NEED_ONE, ITEM("latency", "600000", "each_of_8_streams,*")},
    {NEED_ONE, ITEM("latency", "600000", "batched,*")},
    NEEDS_END};

static void judge_c69(const struct bundle *bundle, struct finding *f)
{
    struct row batched, each, one, calm_batched, calm_each, waits, batched_waits;
    if (!RULE_TAKE(bundle, c69_needs, f, &batched, &each, &one, &calm_batched, &calm_each, &waits,
                   &batched_waits))
        return;

    const struct row rise = rule_ratio(f, &batched, &each);
    rule_say_row(
        f, "recorded and not judged: share of SM time that does work, 600000 items/s, batched",
        &batched);
    rule_say_row(f, "launched one by one on 8 streams", &each);
    rule_say_row(f, "on one stream", &one);
    rule_say_row(f, "batched over 8 streams", &rise);
    rule_say_row(f, "at 30000 items/s batched", &calm_batched);
    rule_say_row(f, "on 8 streams", &calm_each);
    rule_say_row(f, "an item's latency in a trace of 512 at 600000, on 8 streams", &waits);
    rule_say_row(f, "batched", &batched_waits);
    rule_say_why(f, WHY_NEVER, "load over what is served decides the share, whatever was measured");
    rule_not_testable(f, "the share of SM time is the load over what is served, so that no control "
                         "could fail");
}

/* --- C87: stability next to other work on the GPU --------------------------------------------- */

static const double C87_WORSE = 0.03, C87_SLOWED = 0.03;

#define LAYER(metric, mode) "jitter." metric "{mode=" mode ",rival=%s,streams=%s,priority=equal"

enum { ONE, MANY, ONE_P99, MANY_P99, LAYERS };
static const struct need rival_needs[] = {
    {NEED_ANY, LAYER("layer", "persistent") ",timer=wall}"},
    {NEED_ANY, LAYER("layer", "stream") ",timer=wall}"},
    {NEED_ANY, LAYER("layer_p99", "persistent") ",timer=wall}"},
    {NEED_ANY, LAYER("layer_p99", "stream") ",timer=wall}"},
    NEEDS_END};
static const struct need alone_needs[] = {
    {NEED_ONE, "jitter.layer{mode=stream,rival=none,streams=0,priority=equal,timer=wall}"},
    NEEDS_END};

/* One kind of rival: one fused kernel over eight launches, by p99 - median and by p99 / median. */
struct beside {
    struct row by_difference, by_ratio;
    struct row slower; /* eight launches beside it over eight launches alone */
};

static bool take_beside(const struct bundle *bundle, const char *rival, const char *streams,
                        struct beside *b, struct finding *f)
{
    struct row row[LAYERS], alone;

    for (int i = 0; i < LAYERS; i++) {
        char id[DOCUMENT_ID];
        snprintf(id, sizeof id, rival_needs[i].id, rival, streams);
        if (!rule_take(bundle, id, &row[i], f))
            return false;
    }
    if (!RULE_TAKE(bundle, alone_needs, f, &alone))
        return false;
    const struct row one_above = rule_less(f, &row[ONE_P99], &row[ONE]);
    const struct row many_above = rule_less(f, &row[MANY_P99], &row[MANY]);
    const struct row one_tail = rule_ratio(f, &row[ONE_P99], &row[ONE]);
    const struct row many_tail = rule_ratio(f, &row[MANY_P99], &row[MANY]);
    b->by_difference = rule_ratio(f, &one_above, &many_above);
    b->by_ratio = rule_ratio(f, &one_tail, &many_tail);
    b->slower = rule_ratio(f, &row[MANY], &alone);
    rule_say(f->evidence, " (fused %.0f and %.0f us, eight launches %.0f and %.0f)",
             row[ONE].centre / 1e3, row[ONE_P99].centre / 1e3, row[MANY].centre / 1e3,
             row[MANY_P99].centre / 1e3);
    return true;
}

/* Steadier by this measure beside every kind, worse beside any, or neither. */
static enum claim_verdict steadier(const struct row *const ratios, size_t n, struct finding *f)
{
    const double falls = 1 - RULE_LIMIT(f, FALLS), worse = 1 + RULE_LIMIT(f, C87_WORSE);
    size_t below = 0;

    for (size_t i = 0; i < n; i++) {
        if (ratios[i].low > worse)
            return CLAIM_REFUTED;
        below += ratios[i].high <= falls;
    }
    return below == n ? CLAIM_REPRODUCED : CLAIM_MIXED;
}

static void judge_c87(const struct bundle *bundle, struct finding *f)
{
    static const char *const rivals[] = {"stream", "tensor", "tiny"};
    static const char *const words[] = {"two streams that read memory", "two on the tensor cores",
                                        "two of trivial kernels"};
    enum { RIVALS = sizeof rivals / sizeof *rivals };
    struct row differences[RIVALS], ratios[RIVALS];
    struct beside alone, b;
    bool contended = true;
    double longest = 0, worst = 0, shortest = INFINITY, least = INFINITY;

    rule_say(f->evidence, "one fused kernel over eight launches, on the host's clock, median and "
                          "p99");
    for (size_t i = 0; i < RIVALS; i++) {
        rule_say(f->evidence, "; beside %s", words[i]);
        if (!take_beside(bundle, rivals[i], "2", &b, f))
            return;
        differences[i] = b.by_difference, ratios[i] = b.by_ratio;
        longest = fmax(longest, b.by_difference.centre);
        worst = fmax(worst, b.by_ratio.centre);
        shortest = fmin(shortest, b.by_difference.centre);
        least = fmin(least, b.by_ratio.centre);
        rule_say_row(f, "p99 - median", &differences[i]);
        rule_say_row(f, "p99 / median", &ratios[i]);
        const bool slowed = b.slower.low > 1 + RULE_LIMIT(f, C87_SLOWED);
        rule_say_control(f, true, slowed, "the rivals slow eight launches by", &b.slower);
        contended = contended && slowed;
    }
    rule_say(f->evidence, "; alone");
    if (!take_beside(bundle, "none", "0", &alone, f))
        return;
    const enum claim_verdict by_difference = steadier(differences, RIVALS, f);
    const enum claim_verdict by_ratio = steadier(ratios, RIVALS, f);
    const bool negative = !(alone.by_ratio.high <= 1 - RULE_LIMIT(f, FALLS));
    rule_say_control(f, false, negative, "without any rival p99 / median falls as far",
                     &alone.by_ratio);
    rule_say(f->evidence, "; by p99 - median: %s, by p99 / median: %s",
             claim_verdict_name(by_difference), claim_verdict_name(by_ratio));
    struct row far = rule_number(longest, "ratio"), multiple = rule_number(worst, "ratio");
    far.low = shortest;
    multiple.low = least;
    rule_say_number(f, "longest", longest, "ratio");
    rule_say_number(f, "shortest", shortest, "ratio");
    rule_say_number(f, "worst", worst, "ratio");
    rule_say_part(f, "p99 - median", by_difference, &far, NAN);
    rule_say_part(f, "p99 / median", by_ratio, &multiple, NAN);
    rule_conclude(f, by_difference == by_ratio ? by_difference : CLAIM_MIXED, contended, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C68",
     .article = "ai-rng",
     .quote = "Preprocessing and postprocessing: small CPU or GPU kernels can become bottlenecks "
              "at scale; fusing them into fewer launches removes latency jitter.",
     .clause = "fusing them into fewer launches removes latency jitter",
     .since = "2026-11-22T13:00Z",
     .plain = {.yes = "On a shared CPU a graph or one kernel leaves {few:%} of the tail of 8 "
                      "launches, {many:%} of 64.",
               .no = "On a shared CPU a graph or one kernel leaves {few:%} of the tail of 8 "
                     "launches, {many:%} of 64: nothing falls.",
               .partly = "Fusing launches cuts {parts}."},
     .surprise = 5,
     .statement = "Where the launching thread shares its CPU, the tail of a step's time above its "
                  "median falls by 10 % or more when its launches become a graph or one kernel: "
                  "p999 of 8 launches and p99 of 64. p99 falls where slices reach fewer steps than "
                  "one in 100; those that they reach may last as long.",
     .rule = "A busy thread on the launching thread's own CPU, to which both are bound; a run has "
             "10000 steps of 8 launches and 1500 of 64. The tail is p999 for 8, since a slice of "
             "the other thread is in about one step of 100 there and p99 shows it in some runs and "
             "forms only, and p99 for 64, which has too few steps for p999. REPRODUCED when tail - "
             "median falls so from both, to a graph or to one kernel; REFUTED when from neither; "
             "else MIXED. Positive controls: the busy thread has at least a quarter of that CPU, "
             "and its slices show in both: the tail by stream is at least 4 times the median. "
             "Negative control: by the same figures the tail of a step of one launch must not fall "
             "by 10 % against the very same step.",
     .judge = judge_c68,
     .needs = NEEDS(shared_needs, c68_needs)},
    {.id = "C69",
     .article = "ai-rng",
     .quote =
         "Decoder step scheduling: continuous batching can fuse parts of scheduling and compute so "
         "that the GPU sees a steady stream of work instead of bursty micro-kernels.",
     .clause = "the GPU sees a steady stream of work instead of bursty micro-kernels",
     .since = "2026-11-22T13:00Z",
     .statement = "Tiny items in bursts, at the same offered load: launching all that wait at once "
                  "keeps the GPU busy more steadily than a launch each.",
     .rule = "Not testable: the share of SM time that does work is the offered load over the time "
             "until all is served. Below the rate that one by one is served (about 150000 a second "
             "on one stream, 300000 on eight) all ways have the same share, and above it the ratio "
             "of shares is load over served: both by arithmetic, so that no control can fail. What "
             "would decide it is a decoder's own trace. Recorded: the shares, and an item's "
             "latency, which is no matter of arithmetic but not what the sentence is about.",
     .judge = judge_c69,
     .needs = NEEDS(c69_needs)},
    {.id = "C87",
     .article = "ai-rng",
     .quote = "These gains are often more visible in latency-sensitive systems than in "
              "throughput-only benchmarks because they reduce synchronization points and improve "
              "stability under concurrency.",
     .clause = "improve stability under concurrency",
     .since = "2026-11-22",
     .plain = {.yes = "Beside other work one kernel's p99 lies {longest} times as far above its "
                      "median, at most.",
               .no = "Beside other work one kernel's p99 lies {shortest} to {longest} times as far "
                     "above its median.",
               .partly = "Steadier fused: {parts}."},
     .surprise = 5,
     .statement = "Beside other streams on the GPU a step's time is steadier as one fused kernel "
                  "than as its eight launches, by p99 - median and by p99 / median.",
     .rule =
         "On the host's clock, since the GPU's starts with a step's first instruction, after its "
         "wait for SMs; for time 500 steps a run beside readers of memory and 1000 else, not "
         "10000. Beside two streams of each kind (reading memory, tensor cores, trivial kernels), "
         "one fused kernel over eight launches, by each of the two measures: REPRODUCED when at "
         "most 0.9 beside every kind, REFUTED when above 1.03 beside any, else MIXED; MIXED when "
         "the measures differ: a tail that is shorter can still be a larger multiple of a shorter "
         "median. Positive control: each kind slows eight launches by more than 3 %. Negative "
         "control: without rivals p99 / median must not be at most 0.9.",
     .judge = judge_c87,
     .needs = NEEDS(rival_needs, alone_needs)},
};
CLAIM_SUBJECT(claims);
