/* The ledger: whether fewer launches make steadier steps, and batches steady work. */
#include <math.h>
#include <stdio.h>

#include "core/document.h"
#include "report/claims/rules.h"

#define STEP(metric, launches, mode, host)                                                         \
    "jitter." metric "{launches=" launches ",mode=" mode ",host=" host "*}"
#define ITEM(metric, load, launch) "jitter." metric "{load=" load ",items=512,launch=" launch "}"

/* --- C68: fewer launches, shorter tails ------------------------------------------------------- */

static const double DELTA = 0.03; /* smaller differences do not count */
static const double FALLS = 0.9, C68_LOADED = 0.8;
enum { FELL, STAYED, UNCLEAR };

enum { OF_512, OF_64 = 3, STREAM = 0, GRAPH, PERSISTENT };
static const struct need tail_needs[] = {
    {NEED_ONE, STEP("step_tail", "512", "stream", "loaded")},
    {NEED_ONE, STEP("step_tail", "512", "graph", "loaded")},
    {NEED_ONE, STEP("step_tail", "512", "persistent", "loaded")},
    {NEED_ONE, STEP("step_tail", "64", "stream", "loaded")},
    {NEED_ONE, STEP("step_tail", "64", "graph", "loaded")},
    {NEED_ONE, STEP("step_tail", "64", "persistent", "loaded")},
    NEEDS_END};

/* The tail of one form over the tail of as many stream launches; reported, and judged by the
 * rule. */
static bool tail_against(const struct bundle *bundle, int launches, int form, const char *what,
                         struct row *ratio, struct finding *f)
{
    if (!rule_take_ratio(bundle, tail_needs[launches + form].id, tail_needs[launches + STREAM].id,
                         ratio, f))
        return false;
    rule_say_row(f->evidence, what, ratio);
    return true;
}

/* From this many launches to a graph or to one persistent kernel, whichever is steadier. */
static int fall_from(const struct row *graph, const struct row *persistent)
{
    enum place by_graph = rule_place(graph, FALLS, INFINITY);
    enum place by_one = rule_place(persistent, FALLS, INFINITY);
    if (by_graph == PLACE_BELOW || by_one == PLACE_BELOW)
        return FELL;
    return by_graph == PLACE_INSIDE && by_one == PLACE_INSIDE ? STAYED : UNCLEAR;
}

static const struct need c68_needs[] = {{NEED_ONE, STEP("step", "8", "stream", "idle")},
                                        {NEED_ONE, STEP("step", "8", "stream", "loaded")},
                                        {NEED_ONE, STEP("host_load", "512", "stream", "loaded")},
                                        {NEED_ONE, STEP("step_tail", "1", "stream", "loaded")},
                                        {NEED_ONE, STEP("step_tail", "1", "persistent", "loaded")},
                                        NEEDS_END};

static void judge_c68(const struct bundle *bundle, struct finding *f)
{
    struct row graph, persistent, idle, loaded, busy, one, same;
    int from_512, from_64;

    rule_say(f->evidence, "p99 / median under host load, over that of the stream");
    if (!tail_against(bundle, OF_512, GRAPH, "512 launches as a graph", &graph, f) ||
        !tail_against(bundle, OF_512, PERSISTENT, "as one kernel", &persistent, f))
        return;
    from_512 = fall_from(&graph, &persistent);
    if (!tail_against(bundle, OF_64, GRAPH, "64 launches as a graph", &graph, f) ||
        !tail_against(bundle, OF_64, PERSISTENT, "as one kernel", &persistent, f) ||
        !RULE_TAKE(bundle, c68_needs, f, &idle, &loaded, &busy, &one, &same))
        return;
    from_64 = fall_from(&graph, &persistent);

    struct row load = rule_ratio(&loaded, &idle), nothing = rule_ratio(&same, &one);
    bool there = busy.low >= C68_LOADED, felt = load.low > 1 + DELTA;
    bool negative = rule_place(&nothing, FALLS, INFINITY) != PLACE_BELOW;
    rule_say_control(f, true, there, "share of all CPUs' time that the busy threads had", &busy);
    rule_say_control(f, true, felt, "they slow a step of 8 launches by", &load);
    rule_say_control(f, false, negative, "one launch against the very same one launch falls, to",
                     &nothing);
    enum claim_verdict verdict = CLAIM_MIXED;
    if (from_512 == FELL && from_64 == FELL)
        verdict = CLAIM_REPRODUCED;
    else if (from_512 == STAYED && from_64 == STAYED)
        verdict = CLAIM_REFUTED;
    rule_conclude(f, verdict, there && felt, negative);
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
    bool positive = queue.low >= C69_QUEUES;
    bool negative = rule_place(&calm, C69_RISES, INFINITY) == PLACE_BELOW;
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
    rule_conclude(f, rule_band(rule_place(&rise, C69_RISES, INFINITY)), positive, negative);
}

/* --- C87: stability next to other work on the GPU --------------------------------------------- */

struct beside { /* one kind of rival */
    struct row tail, slower, device;
    struct row one_p99, many_p99; /* for the reader: a ratio also rises when the median falls */
};

#define LAYER(metric, mode) "jitter." metric "{mode=" mode ",rival=%s,streams=%s,priority=equal"

enum { FORMS = 7 };
static const struct need rival_needs[] = {
    {NEED_ANY, LAYER("layer_wall_tail", "persistent") "}"},
    {NEED_ANY, LAYER("layer_wall_tail", "stream") "}"},
    {NEED_ANY, LAYER("layer_tail", "persistent") "}"},
    {NEED_ANY, LAYER("layer_tail", "stream") "}"},
    {NEED_ANY, LAYER("layer", "stream") ",timer=wall}"},
    {NEED_ANY, LAYER("layer_p99", "persistent") ",timer=wall}"},
    {NEED_ANY, LAYER("layer_p99", "stream") ",timer=wall}"},
    NEEDS_END};
static const struct need alone_needs[] = {
    {NEED_ONE, "jitter.layer{mode=stream,rival=none,streams=0,priority=equal,timer=wall}"},
    NEEDS_END};

static bool take_beside(const struct bundle *bundle, const char *rival, const char *streams,
                        struct beside *b, struct finding *f)
{
    struct row one, many, device_one, device_many, alone, among;
    struct row *const rows[FORMS] = {&one,   &many,       &device_one, &device_many,
                                     &among, &b->one_p99, &b->many_p99};

    for (int i = 0; i < FORMS; i++) {
        char id[DOCUMENT_ID];
        snprintf(id, sizeof id, rival_needs[i].id, rival, streams);
        if (!rule_take(bundle, id, rows[i], f))
            return false;
    }
    if (!RULE_TAKE(bundle, alone_needs, f, &alone))
        return false;
    b->tail = rule_ratio(&one, &many);
    b->device = rule_ratio(&device_one, &device_many);
    b->slower = rule_ratio(&among, &alone);
    return true;
}

static void judge_c87(const struct bundle *bundle, struct finding *f)
{
    static const char *const rivals[] = {"stream", "tensor", "tiny"};
    static const char *const words[] = {"beside two streams that read memory",
                                        "beside two on the tensor cores",
                                        "beside two of trivial kernels"};
    struct beside alone, b;
    bool steadier = true, worse = false, contended = true;

    rule_say(f->evidence, "p99 / median on the host's clock, one fused kernel over eight launches");
    for (int i = 0; i < 3; i++) {
        if (!take_beside(bundle, rivals[i], "2", &b, f))
            return;
        rule_say_row(f->evidence, words[i], &b.tail);
        rule_say_row(f->evidence, "(first to last instruction)", &b.device);
        rule_say_row(f->evidence, "(p99 itself: fused", &b.one_p99);
        rule_say_row(f->evidence, "eight launches", &b.many_p99);
        rule_say(f->evidence, ")");
        rule_say_control(f, true, b.slower.low > 1 + DELTA, "the rivals slow eight launches by",
                         &b.slower);
        contended = contended && b.slower.low > 1 + DELTA;
        steadier = steadier && b.tail.high <= FALLS;
        worse = worse || b.tail.low > 1 + DELTA;
    }
    if (!take_beside(bundle, "none", "0", &alone, f))
        return;
    bool negative = !(alone.tail.high <= FALLS);
    rule_say_control(f, false, negative, "without any rival the ratio falls as far", &alone.tail);
    rule_conclude(f,
                  worse      ? CLAIM_REFUTED
                  : steadier ? CLAIM_REPRODUCED
                             : CLAIM_MIXED,
                  contended, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C68",
     .article = "ai-rng",
     .quote = "Preprocessing and postprocessing: small CPU or GPU kernels can become bottlenecks "
              "at scale; fusing them into fewer launches removes latency jitter.",
     .statement = "Under host load, p99 / median of a step's time falls by 10 % or more when its "
                  "64 or 512 launches become a graph or one kernel.",
     .rule =
         "REPRODUCED when it falls so from both 512 and 64 launches, to a graph or to one kernel; "
         "REFUTED when from neither; else MIXED. Positive controls: the busy threads have at least "
         "0.8 of all CPUs' time, and slow a step of 8 launches by more than 3 %: a load that the "
         "launching thread does not feel, since it keeps a CPU to itself, decides nothing. "
         "Negative control: a step of one launch against the very same step must not fall by the "
         "same rule. 4096 launches, 11 ms a step, are left out; and for time a run has 1000 steps "
         "of 64 launches and 500 of 512, not 10000, which --deep takes.",
     .judge = judge_c68,
     .needs = NEEDS(tail_needs, c68_needs)},
    {.id = "C69",
     .article = "ai-rng",
     .quote =
         "Decoder step scheduling: continuous batching can fuse parts of scheduling and compute so "
         "that the GPU sees a steady stream of work instead of bursty micro-kernels.",
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
     .statement = "Beside other streams on the GPU, p99 / median of a step is smaller for one "
                  "fused kernel than for its eight launches.",
     .rule =
         "On the host's clock, since the GPU's starts with a step's first instruction, after its "
         "wait for SMs; for time 500 steps a run beside readers of memory and 1000 else, not "
         "10000. Beside two streams of each kind (reading memory, tensor cores, trivial kernels): "
         "REPRODUCED when the ratio of the tails is at most 0.9 beside every kind, REFUTED when it "
         "is above 1.03 beside any, else MIXED. Positive control: each kind slows eight launches "
         "by more than 3 %. Negative control: without rivals the ratio must not be at most 0.9.",
     .judge = judge_c87,
     .needs = NEEDS(rival_needs, alone_needs)},
};
CLAIM_SUBJECT(claims);
