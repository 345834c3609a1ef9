/* The ledger: what keeps a decoder's layer above the time of reading its weights. */
#include <math.h>

#include "report/claims/layer.h"

#define KERNELS(model) "decoder_layer.kernels" LAYER_CASE(model, "1024", "fused") "}"
#define BYTES(model) "decoder_layer.bytes" LAYER_CASE(model, "1024", "read") "}"

/* --- C30: does one kernel win back the time in which memory is idle? -------------------------- */

static const double C30_HALF = 0.5, C30_NONE = 0.2;

/* Of layer by layer, what a packaging takes off what lies above the read. */
static double recovered_of(const double *value, const void *with)
{
    (void)with;
    return (value[0] - value[1]) / (value[0] - value[2]);
}

static struct row recovered(const struct row *slow, const struct row *fast, const struct row *read,
                            struct finding *f)
{
    return rule_formed(f, (const struct row *const[]){slow, fast, read}, 3, "ratio", recovered_of,
                       NULL);
}

static const struct need c30_needs[] = {{NEED_ONE, LAYER_TIME("1b", "1024", "stream")},
                                        {NEED_BEST, LAYER_TIME("1b", "1024", ONE_KERNEL)},
                                        {NEED_ONE, LAYER_TIME("8b", "1024", "stream")},
                                        {NEED_BEST, LAYER_TIME("8b", "1024", ONE_KERNEL)},
                                        {NEED_ONE, LAYER_TIME("1b", "1024", "graph")},
                                        {NEED_ONE, LAYER_TIME("1b", "1024", "cublas")},
                                        NEEDS_END};
static const struct need c30_said[] = {{NEED_ANY, LAYER_TIME("1b", "1024", "dependent")},
                                       {NEED_ANY, LAYER_TIME("1b", "1024", "barrier")},
                                       NEEDS_END};

static void judge_c30(const struct bundle *bundle, struct finding *f)
{
    struct row stream[LAYER_MODELS], best[LAYER_MODELS], read[LAYER_MODELS], graph, library, other;
    struct row share[LAYER_MODELS];
    enum claim_verdict each[LAYER_MODELS];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !RULE_TAKE(bundle, c30_needs, f, &stream[LAYER_1B], &best[LAYER_1B], &stream[LAYER_8B],
                   &best[LAYER_8B], &graph, &library))
        return;
    const double half = RULE_LIMIT(f, C30_HALF), none = RULE_LIMIT(f, C30_NONE);
    for (int i = 0; i < LAYER_MODELS; i++) {
        share[i] = recovered(&stream[i], &best[i], &read[i], f);
        each[i] = share[i].low >= half   ? CLAIM_REPRODUCED
                  : share[i].high < none ? CLAIM_REFUTED
                                         : CLAIM_MIXED;
    }
    rule_say_row(f, "a layer of 1B, kernel by kernel", &stream[LAYER_1B]);
    rule_say_row(f, "a read of its bytes", &read[LAYER_1B]);
    rule_say_row(f, "of the time between them one kernel takes off", &share[LAYER_1B]);
    rule_say_row(f, "of 8B", &share[LAYER_8B]);
    for (size_t i = 0; c30_said[i].id; i++)
        if (rule_look_up(bundle, c30_said[i].id, &other, f)) {
            struct finding aside = rule_aside(f);
            const struct row its = recovered(&stream[LAYER_1B], &other, &read[LAYER_1B], &aside);
            rule_say_row(f,
                         i == 0 ? "of 1B, dependent kernels that fetch ahead"
                                : "one kernel that does not fetch ahead",
                         &its);
        }
    const struct row swapped = recovered(&graph, &library, &read[LAYER_1B], f);
    const bool negative = swapped.high < half;
    rule_say_control(
        f, false, negative,
        "cuBLASLt's products in the same graph, which remove no boundary of ours, take "
        "off half",
        &swapped);
    rule_say_figure(f, "small", &share[LAYER_1B]);
    rule_say_figure(f, "large", &share[LAYER_8B]);
    rule_conclude(f, layer_agree(share, each, C30_HALF, f), positive, negative);
}

/* --- C35: does a step take 50 ms? ------------------------------------------------------------- */

static const double C35_BAR = 50e6, C35_LEAST = 0.9, C35_MOST = 1.5, C35_LAYERS = 32;

static const struct need c35_needs[] = {
    {NEED_BEST, STEP_TIME("8b", "*")}, {NEED_BEST, STEP_TIME("1b", "*")}, NEEDS_END};
static const struct need c35_said[] = {{NEED_BEST, STEP_TIME("3b", "*")}, NEEDS_END};
static const struct need c35_layers[] = {{NEED_ANY, LAYER_TIME("8b", "1024", "*")}, NEEDS_END};

/* How many steps fit in 50 ms: of 8B, and said beside it of 1B and 3B. */
static void say_passes(const struct bundle *bundle, const struct row *step, const struct row *small,
                       struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row between;
    rule_say(f->evidence, "; %.0f of 8B fit in 50 ms, one after the other",
             floor(C35_BAR / step->centre));
    rule_say(f->evidence, ", %.0f of 1B", floor(C35_BAR / small->centre));
    rule_say_count(f, "passes", (size_t)(C35_BAR / step->centre));
    rule_say_count(f, "passes_1b", (size_t)(C35_BAR / small->centre));
    if (!rule_take_best(bundle, c35_said[0].id, &between, &aside))
        return;
    rule_say(f->evidence, ", %.0f of 3B", floor(C35_BAR / between.centre));
    rule_say_count(f, "passes_3b", (size_t)(C35_BAR / between.centre));
    rule_say_row(f, "not judged: a step of 3B", &between);
}

static void judge_c35(const struct bundle *bundle, struct finding *f)
{
    struct row step, small, layer, read[LAYER_MODELS];
    bool reads;

    if (!layer_take_reads(bundle, read, &reads, f) ||
        !RULE_TAKE(bundle, c35_needs, f, &step, &small) ||
        !rule_take_beside(bundle, &step, "decoder_layer.layer_time", &layer, f))
        return;
    const struct row layers = rule_number(C35_LAYERS, "ratio"),
                     of_one = rule_ratio(f, &step, &layer);
    const struct row whole = rule_quotient(&of_one, &layers);
    const double bar = RULE_LIMIT(f, C35_BAR);
    const bool adds_up =
        rule_place(&whole, RULE_LIMIT(f, C35_LEAST), RULE_LIMIT(f, C35_MOST)) == PLACE_INSIDE;
    const bool negative = small.high < bar;
    rule_say_row(f, "a decode step of 8B, the fastest packaging", &step);
    rule_say_row(f, "of 1B", &small);
    say_passes(bundle, &step, &small, f);
    rule_say_control(f, true, adds_up, "a step of 8B over 32 of its layers", &whole);
    rule_say_control(f, false, negative, "a step of 1B takes 50 ms", &small);
    rule_say_figure(f, "step", &step);
    rule_conclude(f, rule_band(rule_place(&step, bar, INFINITY)), reads && adds_up, negative);
}

/* --- C36: what could a free network between SMs take off? ------------------------------------- */

static const double C36_HALF = 0.5;
static const double C36_HEAD = 128256.0 * 2048 * 2, C36_LAYERS = 16; /* bytes; of 1B */

static double waits_of(const double *value, const void *with)
{
    (void)with;
    return 1 - value[1] / value[0];
}

/* The head of 1B: a step without its layers; and the time to read its weights. */
static double head_waits_of(const double *value, const void *with)
{
    const double head = value[0] - C36_LAYERS * value[1];
    (void)with;
    return 1 - value[2] * C36_HEAD / value[3] / head;
}

static const struct need c36_needs[] = {{NEED_BEST, LAYER_TIME("1b", "1024", ONE_KERNEL)},
                                        {NEED_BEST, LAYER_TIME("8b", "1024", ONE_KERNEL)},
                                        {NEED_ONE, BYTES("1b")},
                                        NEEDS_END};
static const struct need c36_steps[] = {{NEED_ANY, STEP_TIME("1b", "*")}, NEEDS_END};

static void judge_c36(const struct bundle *bundle, struct finding *f)
{
    struct row best[LAYER_MODELS], read[LAYER_MODELS], share[LAYER_MODELS], bytes, step;
    enum claim_verdict each[LAYER_MODELS];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !RULE_TAKE(bundle, c36_needs, f, &best[LAYER_1B], &best[LAYER_8B], &bytes) ||
        !rule_take_beside(bundle, &best[LAYER_1B], "decoder_layer.step_time", &step, f))
        return;
    const double half = RULE_LIMIT(f, C36_HALF);
    for (int i = 0; i < LAYER_MODELS; i++) {
        share[i] = rule_formed(f, (const struct row *const[]){&best[i], &read[i]}, 2, "ratio",
                               waits_of, NULL);
        each[i] = rule_band(rule_place(&share[i], half, INFINITY));
    }
    const struct row *const of_head[] = {&step, &best[LAYER_1B], &read[LAYER_1B], &bytes};
    const struct row head = rule_formed(f, of_head, 4, "ratio", head_waits_of, NULL);
    const bool negative = head.high < half;
    rule_say_row(f, "of a layer of 1B, by the fastest kernel, passes while no weights stream",
                 &share[LAYER_1B]);
    rule_say_row(f, "of 8B", &share[LAYER_8B]);
    rule_say_control(f, false, negative,
                     "of the head of 1B, one product in which nothing waits, half passes so, at",
                     &head);
    rule_say_figure(f, "small", &share[LAYER_1B]);
    rule_say_figure(f, "large", &share[LAYER_8B]);
    rule_conclude(f, layer_agree(share, each, C36_HALF, f), positive, negative);
}

/* --- C51: how long is memory idle at a boundary of kernels? ----------------------------------- */

static const double C51_LEAST_NS = 1000, C51_MOST_NS = 100;

static double each_of(const double *value, const void *with)
{
    (void)with;
    return (value[0] - value[1]) / value[2];
}

static struct row each_boundary(const struct row *with, const struct row *without,
                                const struct row *kernels, struct finding *f)
{
    return rule_formed(f, (const struct row *const[]){with, without, kernels}, 3, NULL, each_of,
                       NULL);
}

static const struct need c51_needs[] = {{NEED_ONE, LAYER_TIME("1b", "1024", "fused")},
                                        {NEED_BEST, LAYER_TIME("1b", "1024", ONE_STREAM)},
                                        {NEED_ONE, KERNELS("1b")},
                                        {NEED_ONE, LAYER_TIME("8b", "1024", "fused")},
                                        {NEED_BEST, LAYER_TIME("8b", "1024", ONE_STREAM)},
                                        {NEED_ONE, KERNELS("8b")},
                                        {NEED_ONE, LAYER_TIME("1b", "1024", "ring")},
                                        {NEED_ONE, LAYER_TIME("1b", "1024", "values")},
                                        NEEDS_END};

static void judge_c51(const struct bundle *bundle, struct finding *f)
{
    struct row fused[LAYER_MODELS], stream[LAYER_MODELS], kernels[LAYER_MODELS], read[LAYER_MODELS];
    struct row least[LAYER_MODELS], most[LAYER_MODELS], ring, values;
    enum claim_verdict each[LAYER_MODELS];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !RULE_TAKE(bundle, c51_needs, f, &fused[LAYER_1B], &stream[LAYER_1B], &kernels[LAYER_1B],
                   &fused[LAYER_8B], &stream[LAYER_8B], &kernels[LAYER_8B], &ring, &values))
        return;
    const double long_ns = RULE_LIMIT(f, C51_LEAST_NS), short_ns = RULE_LIMIT(f, C51_MOST_NS);
    for (int i = 0; i < LAYER_MODELS; i++) {
        least[i] = each_boundary(&fused[i], &stream[i], &kernels[i], f);
        most[i] = each_boundary(&fused[i], &read[i], &kernels[i], f);
        each[i] = least[i].low >= long_ns   ? CLAIM_REPRODUCED
                  : most[i].high < short_ns ? CLAIM_REFUTED
                                            : CLAIM_MIXED;
    }
    const struct row none = each_boundary(&ring, &values, &kernels[LAYER_1B], f);
    const bool negative = rule_place(&none, -long_ns, long_ns) == PLACE_INSIDE;
    rule_say_row(f, "a layer of 1B in six kernels", &fused[LAYER_1B]);
    rule_say_row(f, "as one kernel whose weights stream on", &stream[LAYER_1B]);
    rule_say_row(f, "so a boundary costs at least", &least[LAYER_1B]);
    rule_say_row(f, "and, beside a read of the same bytes, at most", &most[LAYER_1B]);
    rule_say_row(f, "of 8B at least", &least[LAYER_8B]);
    rule_say_row(f, "at most", &most[LAYER_8B]);
    rule_say_control(f, false, negative,
                     "between two packagings without a boundary it is 1 us, too", &none);
    rule_say_figure(f, "least", &least[LAYER_1B]);
    rule_say_figure(f, "most", &most[LAYER_1B]);
    rule_say_figure(f, "large", &least[LAYER_8B]);
    rule_conclude(f, layer_agree(least, each, C51_LEAST_NS, f), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

#define READS                                                                                      \
    "Positive control: a read of an 8B layer's bytes takes at least 2.5 times as long as "         \
    "of a 1B layer's, of which it has 3.56 times as many. "
#define SINCE "2026-11-23T14:40Z"

static const struct claim claims[] = {
    {.id = "C30",
     .article = "smallest.ai",
     .quote = "At first glance, this seems like an effective optimization. These large kernels aim "
              "to: [...] Avoid memory stalls that typically occur between layers during "
              "conventional layer-by-layer execution.",
     .clause = "Avoid memory stalls that typically occur between layers during conventional "
               "layer-by-layer execution.",
     .since = "2026-11-24T10:35Z",
     .plain = {.yes = "One kernel takes off {small:%} of the memory stalls of a layer of 1B, "
                      "{large:%} of 8B.",
               .no = "One kernel takes off only {small:%} of the memory stalls of a layer of 1B, "
                     "{large:%} of 8B.",
               .partly = "That one kernel takes off half of what kernel by kernel takes beyond a "
                         "read: {parts}."},
     .surprise = 2,
     .statement = "One persistent kernel wins back half or more of the time by which a decoder's "
                  "layer, kernel by kernel, exceeds a read of the same bytes.",
     .rule =
         "A layer at batch 1, context 1024, weights not in the L2, of 1B and of 8B: by a kernel "
         "for each operator, launched one by one, against a stream of the same bytes. "
         "REPRODUCED when the fastest form in one kernel takes off half or more of the "
         "difference for both, REFUTED below 0.2 for both, MIXED otherwise. " READS
         "Negative control: cuBLASLt's products in place of ours in a graph must not take off "
         "half.",
     .judge = judge_c30,
     .needs = NEEDS(layer_read_needs, c30_needs, c30_said)},
    {.id = "C35",
     .article = "smallest.ai",
     .quote = "In practice, this means that you hit a hard limit on latency, which is nowhere near "
              "the sub-50ms bar required for smooth, human-like interactions.",
     .clause = "you hit a hard limit on latency, which is nowhere near the sub-50ms bar",
     .since = SINCE,
     .plain = {.yes = "A step of an 8B model takes {step} on one GPU.",
               .no = "A step of an 8B model takes {step}: {passes} of them fit in 50 ms, one after "
                     "the other.",
               .partly = "Between: a step of an 8B model takes {step:range} against a limit of 50 "
                         "ms."},
     .surprise = 3,
     .statement = "One decode step of an 8B model takes 50 ms or more on one GPU. Speech pipelines "
                  "from end to end are not measured.",
     .rule =
         "A whole step of one token, batch 1, context 1024, bf16, by the fastest packaging. "
         "REPRODUCED at 50 ms or more, REFUTED below, MIXED when the interval contains it. " READS
         "Positive control: a step is 0.9 to 1.5 times its 32 layers. Negative control: a step "
         "of 1B must not take 50 ms.",
     .judge = judge_c35,
     .needs = NEEDS(layer_read_needs, c35_needs, c35_said, c35_layers)},
    {.id = "C36",
     .article = "smallest.ai",
     .quote = "To truly unlock sub-50ms latency for natural, fluid conversations, we need more "
              "than better software—we need fundamentally different hardware. [...] all of which "
              "are essential for breaking through the latency floor imposed by conventional GPUs",
     .clause = "essential for breaking through the latency floor imposed by conventional GPUs",
     .since = "2026-11-24T10:35Z",
     .plain = {.yes = "A free network between SMs could take off half: {small:%} of a layer of 1B, "
                      "{large:%} of 8B.",
               .no = "A free network between SMs could take off {small:%} of a layer of 1B, "
                     "{large:%} of 8B.",
               .partly = "That half of a layer's time passes while no weights stream, which is all "
                         "that a free network could take off: {parts}."},
     .surprise = 3,
     .statement = "A network between SMs is what would break the floor: half or more of a decoder "
                  "layer's time passes while no weights stream. There is no such hardware to "
                  "measure; computing in memory is not judged.",
     .rule =
         "A layer at batch 1, context 1024, of 1B and 8B, in the fastest form of one kernel: "
         "one less the time of a read of its bytes over its time bounds what a free network "
         "could take off. REPRODUCED at half or more for both, REFUTED below for both, MIXED "
         "otherwise. " READS "Negative control: of the head of 1B, a step less 16 layers, which "
         "is one product, less than half passes so.",
     .judge = judge_c36,
     .needs = NEEDS(layer_read_needs, c36_needs, c36_steps)},
    {.id = "C51",
     .article = "ai-rng",
     .quote = "Kernel boundaries force synchronization points that reduce overlap.",
     .since = "2026-11-29T18:00Z",
     .plain = {.yes = "At a boundary of kernels memory idles {least} to {most} in 1B, {large} or "
                      "more in 8B.",
               .no = "At a boundary of kernels memory idles {most} at most.",
               .partly =
                   "That a boundary of kernels leaves the memory idle for {C51_LEAST_NS} ns or "
                   "more: {parts}."},
     .surprise = 1,
     .statement = "Device memory is idle for 1 us or more at each boundary between the kernels "
                  "of a decoder's layer.",
     .rule = "A layer of 1B and of 8B, batch 1, in six kernels of a graph, each of which starts "
             "when the one before has ended. What it takes beyond the faster of two forms in one "
             "kernel whose weights stream on and lie where the six kernels have them, ring and "
             "values, over six, is the least that a boundary costs in the mean; beyond a read "
             "of the same bytes, the most. REPRODUCED when the least is 1 us or more for both, "
             "REFUTED when the most is below 0.1 us for both, MIXED otherwise. " READS
             "Negative control: between the two such forms, neither of which has a boundary, it "
             "must not be 1 us. Until 27 November the limit was 0.5 us, which waits of two kinds "
             "differed by, too. Until 29 November a third form was among them, near: what it gains "
             "by where its weights lie was counted as the boundaries' cost.",
     .judge = judge_c51,
     .needs = NEEDS(layer_read_needs, c51_needs)},
};
CLAIM_SUBJECT(claims);
