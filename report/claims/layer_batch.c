/* The ledger: a decoder's layer at batch 1 to 64: what fusing gains, what goes with kernels, and
 * what the layer's time consists of. */
#include <math.h>
#include <stdio.h>

#include "report/claims/rules.h"

#define TIME_OF(model, batch, impl)                                                                \
    "batched_layer.layer_time{model=" model ",context=1024,batch=" batch ",impl=" impl             \
    ",l2=cold,timer=event}"
#define TIME(batch, impl) TIME_OF("8b", batch, impl)
#define CUT(cut, impl)                                                                             \
    "batched_layer.requests_time{model=8b,context=1024,cut=" cut ",impl=" impl                     \
    ",l2=cold,timer=event}"
#define SHARE(model, batch, by)                                                                    \
    "batched_layer.share{model=" model ",context=1024,batch=" batch ",by=" by "}"
#define OPERATOR(operator)                                                                         \
    "batched_layer.operator_time{model=8b,context=1024,batch=64,impl=graph,operator="              \
    operator",l2=cold,timer=event}"
#define CAUGHT "batched_layer.caught{model=small,context=200,batch=5}"

/* --- controls that all three share ------------------------------------------------------------ */

/* Keys and values of 64 sequences make the bytes of an 8B layer 1.6 times as many. */
static const double BATCH_READS = 1.4;

static const struct need batch_controls[] = {
    {NEED_ONE, TIME("1", "read")}, {NEED_ONE, TIME("64", "read")}, {NEED_ONE, CAUGHT}, NEEDS_END};

/* False where a row is missing. */
static bool take_controls(const struct bundle *bundle, bool *positive, struct finding *f)
{
    struct row one, many, caught;
    if (!RULE_TAKE(bundle, batch_controls, f, &one, &many, &caught))
        return false;
    const struct row ratio = rule_ratio(f, &many, &one);
    const bool reads = ratio.low >= RULE_LIMIT(f, BATCH_READS), sees = caught.low >= 1;
    rule_say_control(f, true, reads,
                     "a read of a layer's bytes at batch 64, 1.6 times as many, takes 1.4 times as "
                     "long as at batch 1 or more",
                     &ratio);
    rule_say_control(f, true, sees, "faults planted in what the layer's operators leave are seen",
                     &caught);
    *positive = reads && sees;
    return true;
}

/* --- C31b: does fusing gain less at batch 1? -------------------------------------------------- */

static const double C31B_MORE = 0.02;

static const struct need c31b_needs[] = {{NEED_ONE, TIME("1", "graph")},
                                         {NEED_ONE, TIME("1", "fused")},
                                         {NEED_ONE, TIME("64", "graph")},
                                         {NEED_ONE, TIME("64", "fused")},
                                         NEEDS_END};
static const struct need c31b_said[] = {
    {NEED_ANY, TIME_OF("%s", "%d", "graph")}, {NEED_ANY, TIME_OF("%s", "%d", "fused")}, NEEDS_END};

/* The other points of the curve, most of them in fewer rounds: said, not judged. */
static void say_curve(const struct bundle *bundle, struct finding *f)
{
#define POINT(what, model, batch)                                                                  \
    {                                                                                              \
        what, TIME_OF(model, batch, "graph"), TIME_OF(model, batch, "fused")                       \
    }
    static const struct {
        const char *what, *graph, *fused;
    } points[] = {POINT("not judged: 8B at batch 8", "8b", "8"), POINT("at 256", "8b", "256"),
                  POINT("70B at batch 1", "70b", "1"), POINT("at 8", "70b", "8"),
                  POINT("at 64", "70b", "64")};
#undef POINT
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        rule_say_ratio_beside(bundle, f, points[i].what, points[i].graph, points[i].fused);
}

static void judge_c31b(const struct bundle *bundle, struct finding *f)
{
    struct row graph[2], fused[2];
    bool positive;
    if (!take_controls(bundle, &positive, f) ||
        !RULE_TAKE(bundle, c31b_needs, f, &graph[0], &fused[0], &graph[1], &fused[1]))
        return;
    const double more = 1 + RULE_LIMIT(f, C31B_MORE);
    const struct row small = rule_ratio(f, &graph[0], &fused[0]);
    const struct row large = rule_ratio(f, &graph[1], &fused[1]);
    const struct row ratio = rule_ratio(f, &large, &small);
    const enum claim_verdict verdict = isnan(ratio.low)        ? CLAIM_NOT_TESTABLE
                                       : ratio.low > more      ? CLAIM_REPRODUCED
                                       : ratio.high < 1 / more ? CLAIM_REFUTED
                                                               : CLAIM_MIXED;
    const struct row spread = rule_number(small.high / small.low, "ratio");
    const bool negative = small.low > 0 && spread.centre < more;
    rule_say_row(f, "a layer of 8B as a graph of kernels over fused, at batch 1", &small);
    rule_say_row(f, "at batch 64", &large);
    rule_say_row(f, "so the gain at batch 64 over that at batch 1", &ratio);
    say_curve(bundle, f);
    rule_say_control(f, false, negative, "from run to run the gain at batch 1 grows by 1.02, too",
                     &spread);
    rule_say_figure(f, "small", &small);
    rule_say_figure(f, "large", &large);
    rule_say_figure(f, "more", &ratio);
    rule_conclude(f, verdict, positive, negative);
}

/* --- C47b: where does most go with kernels? --------------------------------------------------- */

static const double C47B_FALLS = 0.02;
enum { C47B_POINTS = 3 };

static const struct need c47b_batches[] = {{NEED_ONE, TIME("1", "graph")},
                                           {NEED_ONE, TIME("1", "fused")},
                                           {NEED_ONE, TIME("8", "graph")},
                                           {NEED_ONE, TIME("8", "fused")},
                                           {NEED_ONE, TIME("64", "graph")},
                                           {NEED_ONE, TIME("64", "fused")},
                                           NEEDS_END};
static const struct need c47b_cuts[] = {{NEED_ONE, CUT("64x1", "graph")},
                                        {NEED_ONE, CUT("64x1", "fused")},
                                        {NEED_ONE, CUT("8x8", "graph")},
                                        {NEED_ONE, CUT("8x8", "fused")},
                                        NEEDS_END};
static const struct need c47b_said[] = {{NEED_ANY, SHARE("8b", "%d", "launches")},
                                        {NEED_ANY, TIME("%d", "stream")},
                                        {NEED_ANY, TIME("%d", "fused")},
                                        NEEDS_END};

/* The share of one time that is gone in another. */
static double gone_of(const double *value, const void *with)
{
    (void)with;
    return 1 - value[1] / value[0];
}

/* Graph and fused at each point become the share that is gone. */
static void shares_of(const struct row *rows, struct row share[C47B_POINTS], struct finding *f)
{
    for (int i = 0; i < C47B_POINTS; i++)
        share[i] = rule_formed(f, (const struct row *const[]){&rows[2 * i], &rows[2 * i + 1]}, 2,
                               "ratio", gone_of, NULL);
}

/* Does the share fall from the first point to the last, and nowhere rise by as much? */
static enum claim_verdict falls(const char *what, const struct row share[C47B_POINTS],
                                struct row *by, struct finding *f)
{
    const double least = RULE_LIMIT(f, C47B_FALLS);
    bool rises = false;

    *by = rule_less(f, &share[0], &share[C47B_POINTS - 1]);
    for (int i = 1; i < C47B_POINTS; i++)
        rises = rises || share[i].low > share[i - 1].high + least;
    rule_say(f->evidence, "; %s", what);
    for (int i = 0; i < C47B_POINTS; i++)
        rule_say_row(f, i == 0 ? "share" : "then", &share[i]);
    return isnan(by->low)              ? CLAIM_NOT_TESTABLE
           : by->high <= least         ? CLAIM_REFUTED
           : by->low > least && !rises ? CLAIM_REPRODUCED
                                       : CLAIM_MIXED;
}

/* Said beside it: what is gone of the layer launched kernel by kernel, and a kernel that does
 * nothing, times the kernels of the graph. */
static void say_launches(const struct bundle *bundle, struct finding *f)
{
    static const char *const eager[C47B_POINTS][3] = {
        {"not judged: gone where kernels fuse, of the layer kernel by kernel, at batch 1",
         TIME("1", "stream"), TIME("1", "fused")},
        {"at 8", TIME("8", "stream"), TIME("8", "fused")},
        {"at 64", TIME("64", "stream"), TIME("64", "fused")}};
    struct finding aside = rule_aside(f);
    struct row slow, fast;
    for (int i = 0; i < C47B_POINTS; i++)
        if (rule_look_up(bundle, eager[i][1], &slow, &aside) &&
            rule_look_up(bundle, eager[i][2], &fast, &aside)) {
            const struct row share = rule_formed(&aside, (const struct row *const[]){&slow, &fast},
                                                 2, "ratio", gone_of, NULL);
            rule_say_row(f, eager[i][0], &share);
        }
    rule_say_row_beside(bundle, f, "as many kernels that do nothing take, of the graph at batch 1",
                        SHARE("8b", "1", "launches"));
    rule_say_row_beside(bundle, f, "at batch 8", SHARE("8b", "8", "launches"));
    rule_say_row_beside(bundle, f, "at batch 64", SHARE("8b", "64", "launches"));
    rule_say_row_beside(bundle, f, "at batch 256", SHARE("8b", "256", "launches"));
}

static void judge_c47b(const struct bundle *bundle, struct finding *f)
{
    struct row of[2 * C47B_POINTS], cut[2 * C47B_POINTS], batch[C47B_POINTS], micro[C47B_POINTS];
    struct row larger, coarser;
    bool positive;
    if (!take_controls(bundle, &positive, f) ||
        !RULE_TAKE(bundle, c47b_batches, f, &of[0], &of[1], &of[2], &of[3], &of[4], &of[5]) ||
        !RULE_TAKE(bundle, c47b_cuts, f, &cut[0], &cut[1], &cut[2], &cut[3]))
        return;
    cut[4] = of[4]; /* 1 x 64 is the layer at batch 64 */
    cut[5] = of[5];
    shares_of(of, batch, f);
    shares_of(cut, micro, f);
    rule_say(f->evidence, "of a layer of 8B as a graph of kernels, what is gone with those that "
                          "fuse into a neighbour");
    const enum claim_verdict a = falls("batch 1, 8, 64", batch, &larger, f);
    const enum claim_verdict b = falls("64 requests as 64 x 1, 8 x 8, 1 x 64", micro, &coarser, f);
    const struct row spread = rule_number(batch[0].high - batch[0].low, "ratio");
    const bool negative = spread.centre < RULE_LIMIT(f, C47B_FALLS);
    say_launches(bundle, f);
    rule_say_control(f, false, negative, "the share at batch 1 falls by 0.02 from run to run, too",
                     &spread);
    rule_say_figure(f, "small", &batch[0]);
    rule_say_figure(f, "large", &batch[C47B_POINTS - 1]);
    rule_say_figure(f, "fine", &micro[0]);
    rule_say_figure(f, "coarse", &micro[C47B_POINTS - 1]);
    rule_say_part(f, "more in small batches", a, &larger, C47B_FALLS);
    rule_say_part(f, "more in small micro-batches", b, &coarser, C47B_FALLS);
    rule_conclude(f, a == b ? a : CLAIM_MIXED, positive, negative);
}

/* --- C53: do bytes and launches take more than arithmetic? ------------------------------------ */

static const double C53_HALF = 0.5, C53_LEAST = 0.85, C53_MOST = 1.15;
enum { C53_POINTS = 6, C53_OPERATORS = 10 };

static const struct need c53_shares[] = {{NEED_ANY, SHARE("%s", "%d", "bytes")},
                                         {NEED_ANY, SHARE("%s", "%d", "launches")},
                                         {NEED_ANY, SHARE("%s", "%d", "arithmetic")},
                                         NEEDS_END};
static const struct need c53_operators[] = {{NEED_ONE, OPERATOR("norm")},
                                            {NEED_ONE, OPERATOR("add")},
                                            {NEED_ONE, OPERATOR("qkv")},
                                            {NEED_ONE, OPERATOR("rope")},
                                            {NEED_ONE, OPERATOR("append")},
                                            {NEED_ONE, OPERATOR("attention")},
                                            {NEED_ONE, OPERATOR("o")},
                                            {NEED_ONE, OPERATOR("gate_up")},
                                            {NEED_ONE, OPERATOR("silu")},
                                            {NEED_ONE, OPERATOR("down")},
                                            NEEDS_END};
static const struct need c53_controls[] = {
    {NEED_ONE, TIME("64", "graph")},
    {NEED_ONE, "batched_layer.bytes_share{model=8b,tokens=4096}"},
    NEEDS_END};

static const struct {
    const char *model, *what;
    int batch;
} c53_points[C53_POINTS] = {{"8b", "8B at batch 1", 1},   {"8b", "8B at batch 8", 8},
                            {"8b", "8B at batch 64", 64}, {"70b", "70B at batch 1", 1},
                            {"70b", "70B at batch 8", 8}, {"70b", "70B at batch 64", 64}};

static double sum_of(const double *value, const void *with)
{
    (void)with;
    return value[0] + value[1];
}

static double rest_of(const double *value, const void *with)
{
    (void)with;
    return 1 - value[0];
}

/* Of a layer's time: bytes and launches, at least; and all that is not arithmetic, at most. */
static bool take_moving(const struct bundle *bundle, int point, struct row *least, struct row *most,
                        struct finding *f)
{
    const char *model = c53_points[point].model;
    const int batch = c53_points[point].batch;
    struct row bytes, launches, arithmetic;
    if (!rule_take_formed(bundle, &bytes, f, SHARE("%s", "%d", "bytes"), model, batch) ||
        !rule_take_formed(bundle, &launches, f, SHARE("%s", "%d", "launches"), model, batch) ||
        !rule_take_formed(bundle, &arithmetic, f, SHARE("%s", "%d", "arithmetic"), model, batch))
        return false;
    *least =
        rule_formed(f, (const struct row *const[]){&bytes, &launches}, 2, "ratio", sum_of, NULL);
    *most = rule_formed(f, (const struct row *const[]){&arithmetic}, 1, "ratio", rest_of, NULL);
    return true;
}

/* Norms and additions are two of each; over the layer. */
static double whole_of(const double *value, const void *with)
{
    double sum = value[0] + value[1];
    (void)with;
    for (int i = 0; i < C53_OPERATORS; i++)
        sum += value[i];
    return sum / value[C53_OPERATORS];
}

/* Operators, each alone, add up to the layer; and arithmetic binds a product of a long prompt. */
static bool take_c53_controls(const struct bundle *bundle, bool *positive, bool *negative,
                              struct finding *f)
{
    struct row of[C53_OPERATORS], layer, prompt;
    const struct row *from[C53_OPERATORS + 1];
    if (!RULE_TAKE(bundle, c53_operators, f, &of[0], &of[1], &of[2], &of[3], &of[4], &of[5], &of[6],
                   &of[7], &of[8], &of[9]) ||
        !RULE_TAKE(bundle, c53_controls, f, &layer, &prompt))
        return false;
    for (int i = 0; i < C53_OPERATORS; i++)
        from[i] = &of[i];
    from[C53_OPERATORS] = &layer;
    const struct row whole = rule_formed(f, from, C53_OPERATORS + 1, "ratio", whole_of, NULL);
    *positive =
        rule_place(&whole, RULE_LIMIT(f, C53_LEAST), RULE_LIMIT(f, C53_MOST)) == PLACE_INSIDE;
    *negative = prompt.high < RULE_LIMIT(f, C53_HALF);
    rule_say_control(f, true, *positive,
                     "the operators of 8B at batch 64, each alone, over the layer", &whole);
    rule_say_control(f, false, *negative,
                     "bytes take half of the time of a product of 4096 tokens, too", &prompt);
    return true;
}

/* Past the batches of the claim: where arithmetic begins to bind. */
static void say_c53_at_256(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row bytes, launches, arithmetic;
    if (!rule_look_up(bundle, SHARE("8b", "256", "bytes"), &bytes, &aside) ||
        !rule_look_up(bundle, SHARE("8b", "256", "launches"), &launches, &aside) ||
        !rule_look_up(bundle, SHARE("8b", "256", "arithmetic"), &arithmetic, &aside))
        return;
    const struct row least = rule_formed(&aside, (const struct row *const[]){&bytes, &launches}, 2,
                                         "ratio", sum_of, NULL);
    rule_say_row(f, "not judged: 8B at batch 256", &least);
    rule_say_row(f, "and operators that arithmetic binds", &arithmetic);
}

static void judge_c53(const struct bundle *bundle, struct finding *f)
{
    struct row least[C53_POINTS], most;
    enum claim_verdict each[C53_POINTS], all = CLAIM_REPRODUCED;
    bool positive, adds_up, negative;
    int worst = 0;
    if (!take_controls(bundle, &positive, f) || !take_c53_controls(bundle, &adds_up, &negative, f))
        return;
    const double half = RULE_LIMIT(f, C53_HALF);
    rule_say(f->evidence,
             "of a layer as a graph of kernels, bytes of the operators that bytes bind, "
             "and launches");
    for (int i = 0; i < C53_POINTS; i++) {
        if (!take_moving(bundle, i, &least[i], &most, f))
            return;
        each[i] = isnan(least[i].low) || isnan(most.low) ? CLAIM_NOT_TESTABLE
                  : least[i].low > half                  ? CLAIM_REPRODUCED
                  : most.high < half                     ? CLAIM_REFUTED
                                                         : CLAIM_MIXED;
        all = each[i] == CLAIM_REFUTED ? CLAIM_REFUTED : all == CLAIM_REPRODUCED ? each[i] : all;
        worst = least[i].centre < least[worst].centre ? i : worst;
        rule_say_row(f, c53_points[i].what, &least[i]);
        rule_say_part(f, c53_points[i].what, each[i], &least[i], half);
    }
    say_c53_at_256(bundle, f);
    rule_say_figure(f, "least", &least[worst]);
    rule_say_figure(f, "small", &least[2]);
    rule_say_figure(f, "large", &least[5]);
    rule_conclude(f, all, positive && adds_up, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

#define SINCE "2026-11-24T10:35Z"
#define CONTROLS                                                                                   \
    "Positive controls: a read of the layer's bytes at batch 64, 1.6 times as many, takes at "     \
    "least 1.4 times as long as at batch 1, and faults planted in what operators leave are seen. "

static const struct claim claims[] = {
    {.id = "C31b",
     .article = "smallest.ai",
     .quote = "In scenarios with high batch sizes and uniform input shapes—such as training "
              "pipelines or offline inference—this approach can bring solid performance gains. "
              "[...] Fusion techniques aim to reduce memory access and kernel launch overhead, and "
              "they can yield moderate gains in high-throughput or batched scenarios.",
     .clause = "",
     .since = SINCE,
     .plain = {.yes =
                   "Fusing gains {small} times in a layer at batch 1, {large} times at batch 64.",
               .no = "Fusing gains no less at batch 1: {small} times, and {large} at batch 64.",
               .partly = "Between: at batch 64 fusing gains {more:range} of its gain at 1, limit "
                         "1.02."},
     .surprise = 3,
     .statement = "A fused decoder layer gains less over a graph of kernels at batch 1 than at "
                  "batch 64. That it breaks down at batch 1 is C31's.",
     .rule =
         "A layer of 8B, context 1024, products by cuBLASLt: as a graph of a kernel for each "
         "operator, over the same with all fused that fuses without a product of our own: rope, "
         "append and attention in one kernel, residuals added by the products. REPRODUCED when "
         "that gain is more than 1.02 times as large at batch 64 as at batch 1, REFUTED when it is "
         "less than 1/1.02 of it, MIXED otherwise. " CONTROLS
         "Negative control: from run to run the gain at batch 1 must not grow by 1.02.",
     .judge = judge_c31b,
     .needs = NEEDS(batch_controls, c31b_needs, c31b_said)},
    {.id = "C47b",
     .article = "ai-rng",
     .quote = "Batch sizes are small. [...] Serving uses micro-batches and strict latency targets.",
     .clause = "",
     .since = "2026-11-28T19:10Z",
     .plain = {.yes = "Fusing takes {small:%} off a layer at batch 1, {large:%} at 64.",
               .no = "Fusing takes {small:%} off a layer at batch 1, {large:%} at 64: hardly more.",
               .partly = "What fusing takes off a layer: {parts}."},
     .surprise = 1,
     .statement = "The share of a layer's time that goes when all but its products is fused grows "
                  "towards small batches and small micro-batches. What launches alone take is said "
                  "beside it, not judged; lengths and sizes are C47's.",
     .rule =
         "The layer and the two packagings of C31b: the share of the graph's time that is gone "
         "where kernels fuse. An axis holds when the share falls by more than 0.02 from its small "
         "end to its large one and nowhere rises by that; not when it falls by no more: batch 1, "
         "8, 64; and 64 requests through one layer in micro-batches, 64 x 1, 8 x 8 and, the layer "
         "at batch 64, 1 x 64; each has its weights from memory. REPRODUCED when both hold, "
         "REFUTED when neither does, "
         "MIXED otherwise. What is gone of the layer launched kernel by kernel is said, not "
         "judged: "
         "three rounds measure it, and the host's launches, of which it is a part, move it from "
         "run to run. " CONTROLS
         "Negative control: from run to run the share at batch 1 must not fall by 0.02.",
     .judge = judge_c47b,
     .needs = NEEDS(batch_controls, c47b_batches, c47b_cuts, c47b_said)},
    {.id = "C53",
     .article = "dev.to",
     .quote =
         "In large-scale AI systems, moving data is often more expensive than computing on it.",
     .since = SINCE,
     .plain = {.yes = "Bytes and launches are {least:%} or more of a layer's time up to batch 64.",
               .no = "Arithmetic is over half of a layer's time: bytes and launches are {least:%}.",
               .partly = "That bytes and launches are over half of a layer's time: {parts}."},
     .surprise = 1,
     .statement = "Bytes and launches take over half of the decode time of the layers of 8B and "
                  "70B models up to batch 64, on one GPU.",
     .rule =
         "A layer of 8B and of 70B, context 1024, batch 1, 8 and 64, as a graph of a kernel for "
         "each operator. The greater of two floors binds an operator: its bytes over the rate of a "
         "read of the layer's, its multiply-adds over the rate of a product of 4096 tokens. "
         "Bytes of those that bytes bind, and the kernels times one that does nothing, over the "
         "layer's time: REPRODUCED when over half at all six points; REFUTED when at one of them "
         "the arithmetic of those that arithmetic binds is; MIXED otherwise. Between GPUs nothing "
         "is judged. " CONTROLS
         "And: the operators of 8B at batch 64, each alone, add up to 0.85 to 1.15 of the layer. "
         "Negative control: of a product of 4096 tokens bytes must be less than half.",
     .judge = judge_c53,
     .needs = NEEDS(batch_controls, c53_shares, c53_operators, c53_controls)},
};
CLAIM_SUBJECT(claims);
