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

static const struct need shared_needs[] = {
    {NEED_ANY, SHARED("step_p99")}, {NEED_ANY, SHARED("step")}, NEEDS_END};

/* p99 and median of a step, and how far the one is above the other. */
struct tail {
    struct row p99, median, above;
};

static bool take_tail(const struct bundle *bundle, const char *launches, enum form form,
                      struct tail *t, struct finding *f)
{
    if (!rule_take_formed(bundle, &t->p99, f, SHARED("step_p99"), launches, form_names[form],
                          ",timer=wall") ||
        !rule_take_formed(bundle, &t->median, f, SHARED("step"), launches, form_names[form],
                          ",timer=wall"))
        return false;
    t->above = rule_less(&t->p99, &t->median);
    return true;
}

/* What fewer launches do to jitter: it falls, it does not, or that cannot be told. */
enum fall { FELL, STAYED, UNCLEAR };

/* Jitter is p99 - median; the better of a graph and of one kernel counts. */
static enum fall fall_of(const struct tail tails[FORMS], double falls)
{
    size_t stayed = 0;
    for (enum form form = GRAPH; form < FORMS; form++) {
        const struct row ratio = rule_ratio(&tails[form].above, &tails[STREAM].above);
        const enum place place = rule_place(&ratio, falls, INFINITY);
        if (place == PLACE_BELOW)
            return FELL;
        stayed += place == PLACE_INSIDE;
    }
    return stayed == FORMS - 1 ? STAYED : UNCLEAR;
}

static bool say_fall(const struct bundle *bundle, const char *launches, enum fall *fall,
                     struct finding *f)
{
    static const char *const words[FORMS] = {"by stream", "as a graph", "as one kernel"};
    struct tail tails[FORMS];

    for (enum form form = STREAM; form < FORMS; form++) {
        if (!take_tail(bundle, launches, form, &tails[form], f))
            return false;
        rule_say(f->evidence, "%s%s %s %.1f, %.1f, %.2f", form ? ", " : "; ", form ? "" : launches,
                 words[form], tails[form].above.centre / 1e3, tails[form].median.centre / 1e3,
                 tails[form].p99.centre / tails[form].median.centre);
    }
    *fall = fall_of(tails, 1 - RULE_LIMIT(f, FALLS));
    return true;
}

static const struct need c68_needs[] = {
    {NEED_ONE, "jitter.host_load{launches=8,mode=stream,host=shared}"}, NEEDS_END};

static void judge_c68(const struct bundle *bundle, struct finding *f)
{
    struct row busy;
    struct tail many, one, same;
    enum fall from_8, from_64;

    rule_say(f->evidence, "on a shared CPU, p99 - median and median in us, p99 / median");
    if (!say_fall(bundle, "8", &from_8, f) || !say_fall(bundle, "64", &from_64, f) ||
        !RULE_TAKE(bundle, c68_needs, f, &busy) || !take_tail(bundle, "64", STREAM, &many, f) ||
        !take_tail(bundle, "1", STREAM, &one, f) || !take_tail(bundle, "1", PERSISTENT, &same, f))
        return;

    const struct row felt = rule_ratio(&many.p99, &many.median),
                     nothing = rule_ratio(&same.p99, &one.p99);
    const bool there = busy.low >= RULE_LIMIT(f, C68_SHARED);
    const bool is_felt = felt.low >= RULE_LIMIT(f, C68_FELT);
    const bool negative = rule_place(&nothing, 1 - RULE_LIMIT(f, FALLS), INFINITY) != PLACE_BELOW;
    rule_say_control(f, true, there, "share of the launching thread's CPU that another had", &busy);
    rule_say_control(f, true, is_felt, "p99 of a step of 64 launches by stream over its median",
                     &felt);
    rule_say_control(f, false, negative, "p99 of one launch against the very same one falls, to",
                     &nothing);
    enum claim_verdict verdict = CLAIM_MIXED;
    if (from_8 == FELL && from_64 == FELL)
        verdict = CLAIM_REPRODUCED;
    else if (from_8 == STAYED && from_64 == STAYED)
        verdict = CLAIM_REFUTED;
    rule_conclude(f, verdict, there && is_felt, negative);
}

/* --- C69: batches turn bursts into steady work ------------------------------------------------ */

static const double C69_RISES = 1.5, C69_QUEUES = 3;

static const struct need c69_needs[] = {
    {NEED_ONE, ITEM("busy", "600000", "batched")},
    {NEED_ONE, ITEM("busy", "600000", "each_of_8_streams")},
    {NEED_ONE, ITEM("busy", "600000", "each")},
    {NEED_ONE, ITEM("busy", "30000", "batched")},
    {NEED_ONE, ITEM("busy", "30000", "each_of_8_streams")},
    {NEED_ONE, ITEM("latency", "600000", "each_of_8_streams,*")},
    {NEED_ONE, ITEM("latency", "30000", "each_of_8_streams,*")},
    {NEED_ONE, ITEM("latency", "600000", "batched,*")},
    NEEDS_END};

static void judge_c69(const struct bundle *bundle, struct finding *f)
{
    struct row batched, each, one, calm_batched, calm_each, waits, calm_waits, batched_waits;
    if (!RULE_TAKE(bundle, c69_needs, f, &batched, &each, &one, &calm_batched, &calm_each, &waits,
                   &calm_waits, &batched_waits))
        return;

    struct row rise = rule_ratio(&batched, &each), rise_of_one = rule_ratio(&batched, &one);
    struct row calm = rule_ratio(&calm_batched, &calm_each),
               queue = rule_ratio(&waits, &calm_waits);
    const double rises = RULE_LIMIT(f, C69_RISES);
    bool positive = queue.low >= RULE_LIMIT(f, C69_QUEUES);
    bool negative = rule_place(&calm, rises, INFINITY) == PLACE_BELOW;
    rule_say_row(f->evidence,
                 "600000 items/s: busy share, batched over launched one by one on 8 "
                 "streams",
                 &rise);
    rule_say_row(f->evidence, "on one stream", &rise_of_one);
    rule_say_row(f->evidence, "an item's latency in a trace of 512, one by one", &waits);
    rule_say_row(f->evidence, "batched", &batched_waits);
    rule_say_control(f, true, positive, "one by one, the burst makes items wait longer, by",
                     &queue);
    rule_say_control(f, false, negative, "the same at 30000 items/s, all of which any way serves",
                     &calm);
    rule_conclude(f, rule_band(rule_place(&rise, rises, INFINITY)), positive, negative);
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
    const struct row one_above = rule_less(&row[ONE_P99], &row[ONE]);
    const struct row many_above = rule_less(&row[MANY_P99], &row[MANY]);
    const struct row one_tail = rule_ratio(&row[ONE_P99], &row[ONE]);
    const struct row many_tail = rule_ratio(&row[MANY_P99], &row[MANY]);
    b->by_difference = rule_ratio(&one_above, &many_above);
    b->by_ratio = rule_ratio(&one_tail, &many_tail);
    b->slower = rule_ratio(&row[MANY], &alone);
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

    rule_say(f->evidence, "one fused kernel over eight launches, on the host's clock, median and "
                          "p99");
    for (size_t i = 0; i < RIVALS; i++) {
        rule_say(f->evidence, "; beside %s", words[i]);
        if (!take_beside(bundle, rivals[i], "2", &b, f))
            return;
        differences[i] = b.by_difference, ratios[i] = b.by_ratio;
        rule_say_row(f->evidence, "p99 - median", &differences[i]);
        rule_say_row(f->evidence, "p99 / median", &ratios[i]);
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
    rule_conclude(f, by_difference == by_ratio ? by_difference : CLAIM_MIXED, contended, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C68",
     .article = "ai-rng",
     .quote = "Preprocessing and postprocessing: small CPU or GPU kernels can become bottlenecks "
              "at scale; fusing them into fewer launches removes latency jitter.",
     .clause = "fusing them into fewer launches removes latency jitter",
     .since = "2026-11-22T12:20Z",
     .statement = "Where the launching thread shares its CPU, p99 - median of a step's time falls "
                  "by 10 % or more when its 8 or 64 launches become a graph or one kernel.",
     .rule = "A busy thread on the launching thread's own CPU, to which both are bound; a run has "
             "10000 steps of 8 launches and 1500 of 64. REPRODUCED when p99 - median falls so from "
             "both, to a graph or to one kernel; REFUTED when from neither; else MIXED. Positive "
             "controls: the busy thread has at least a quarter of that CPU, and its time slices "
             "show: p99 of a step of 64 launches by stream is at least 4 times its median. (Steps "
             "of 8 take a hundredth of a slice, so that their p99 shows a slice in some runs and "
             "not in others.) Negative control: p99 of a step of one launch must not fall by 10 % "
             "against the very same step.",
     .judge = judge_c68,
     .needs = NEEDS(shared_needs, c68_needs)},
    {.id = "C69",
     .article = "ai-rng",
     .quote =
         "Decoder step scheduling: continuous batching can fuse parts of scheduling and compute so "
         "that the GPU sees a steady stream of work instead of bursty micro-kernels.",
     .clause = "the GPU sees a steady stream of work instead of bursty micro-kernels",
     .statement = "Tiny items in bursts, at the same offered load: launching all that wait at once "
                  "raises the share of SM time that does work by 1.5 or more over a launch each.",
     .rule =
         "Judged at 600000 items a second against a launch each on 8 streams: REPRODUCED when the "
         "ratio of busy shares is at least 1.5, REFUTED below. That load is above what one by one "
         "is served (about 150000 a second on one stream, 300000 on eight), and the ratio follows "
         "from it: load over what is served. Below, all offered work is done in any way, so that "
         "busy shares are equal by definition; an item's latency is not. The queue then grows for "
         "as long as a trace lasts, which is 512 items, the same for each way. Positive control: "
         "launched one by one, items wait at least 3 times as long at that load as at 30000 a "
         "second. Negative control: at 30000 a second the ratio must stay below 1.5.",
     .judge = judge_c69,
     .needs = NEEDS(c69_needs)},
    {.id = "C87",
     .article = "ai-rng",
     .quote = "These gains are often more visible in latency-sensitive systems than in "
              "throughput-only benchmarks because they reduce synchronization points and improve "
              "stability under concurrency.",
     .clause = "improve stability under concurrency",
     .since = "2026-11-22",
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
