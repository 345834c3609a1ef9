/* The ledger: what the number of a layer's kernels costs, and what an operator loses inside one
 * large kernel. */
#include <math.h>
#include <stdio.h>

#include "report/claims/layer.h"

/* The share of one time that is gone in another. */
static double gone_of(const double *value, const void *with)
{
    (void)with;
    return 1 - value[1] / value[0];
}

static struct row gone(const struct row *slow, const struct row *fast, struct finding *f)
{
    return rule_formed(f, (const struct row *const[]){slow, fast}, 2, "ratio", gone_of, NULL);
}

/* --- C47: where do launches matter most? ------------------------------------------------------ */

static const double C47_FALLS = 0.03;
enum { C47_POINTS = 3 };

static const struct need c47_needs[] = {{NEED_ANY, LAYER_TIME("%s", "%d", "graph")},
                                        {NEED_ANY, LAYER_TIME("%s", "%d", "barrier")},
                                        NEEDS_END};

struct axis {
    const char *what;
    struct {
        const char *model;
        int context;
    } point[C47_POINTS];
};
static const struct axis by_length = {"context 128 to 32768, 1B",
                                      {{"1b", 128}, {"1b", 8192}, {"1b", 32768}}};
static const struct axis by_size = {"1B to 8B, context 1024",
                                    {{"1b", 1024}, {"3b", 1024}, {"8b", 1024}}};

/* The share of a layer, as a graph of kernels, that is gone when it is one kernel: at each
 * point. */
static bool take_shares(const struct bundle *bundle, const struct axis *axis,
                        struct row share[C47_POINTS], struct finding *f)
{
    for (int i = 0; i < C47_POINTS; i++) {
        struct row graph, one;
        if (!rule_take_formed(bundle, &graph, f, LAYER_TIME("%s", "%d", "graph"),
                              axis->point[i].model, axis->point[i].context) ||
            !rule_take_formed(bundle, &one, f, LAYER_TIME("%s", "%d", "barrier"),
                              axis->point[i].model, axis->point[i].context))
            return false;
        share[i] = gone(&graph, &one, f);
    }
    return true;
}

/* Does the share fall from the first point to the last, and nowhere rise by as much? */
static enum claim_verdict falls(const struct axis *axis, const struct row share[C47_POINTS],
                                struct row *by, struct finding *f)
{
    const double least = RULE_LIMIT(f, C47_FALLS);
    bool rises = false;

    *by = rule_less(f, &share[0], &share[C47_POINTS - 1]);
    for (int i = 1; i < C47_POINTS; i++)
        rises = rises || share[i].low > share[i - 1].high + least;
    rule_say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", axis->what);
    for (int i = 0; i < C47_POINTS; i++)
        rule_say_row(f, i == 0 ? "share" : "then", &share[i]);
    return isnan(by->low)              ? CLAIM_NOT_TESTABLE
           : by->high <= least         ? CLAIM_REFUTED
           : by->low > least && !rises ? CLAIM_REPRODUCED
                                       : CLAIM_MIXED;
}

static void judge_c47(const struct bundle *bundle, struct finding *f)
{
    struct row read[LAYER_MODELS], length[C47_POINTS], size[C47_POINTS], shorter, smaller;
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !take_shares(bundle, &by_length, length, f) || !take_shares(bundle, &by_size, size, f))
        return;
    rule_say(f->evidence, "of a layer as a graph of kernels, what is gone in one kernel with "
                          "barriers");
    const enum claim_verdict a = falls(&by_length, length, &shorter, f);
    const enum claim_verdict b = falls(&by_size, size, &smaller, f);
    const struct row spread = rule_number(size[0].high - size[0].low, "ratio");
    const bool negative = spread.centre < RULE_LIMIT(f, C47_FALLS);
    rule_say_control(f, false, negative, "the share of 1B falls by 0.03 from run to run, too",
                     &spread);
    rule_say_figure(f, "short", &length[0]);
    rule_say_figure(f, "long", &length[C47_POINTS - 1]);
    rule_say_figure(f, "small", &size[0]);
    rule_say_figure(f, "large", &size[C47_POINTS - 1]);
    rule_say_part(f, "more in short sequences", a, &shorter, C47_FALLS);
    rule_say_part(f, "more in small models", b, &smaller, C47_FALLS);
    rule_conclude(f, a == b ? a : CLAIM_MIXED, positive, negative);
}

/* --- C48: do fewer kernels gain most where kernels are tiny? ---------------------------------- */

static const double C48_MORE = 0.10, C48_TINY = 0.25;

static const struct need c48_needs[] = {
    {NEED_ONE, LAYER_TIME("1b", "1024", "stream")},  {NEED_ONE, LAYER_TIME("1b", "1024", "fused")},
    {NEED_ONE, LAYER_TIME("1b", "1024", "graph")},   {NEED_ONE, LAYER_TIME("1b", "1024", "cublas")},
    {NEED_ONE, LAYER_TIME("1b", "1024", "barrier")}, NEEDS_END};

/* How steady a row of kernels is, alone on the GPU: beside it. */
#define C48_TAIL(mode) "jitter.layer_tail{mode=" mode ",rival=none,streams=0,priority=equal}"
static const struct need c48_said[] = {{NEED_ANY, C48_TAIL("stream")},
                                       {NEED_ANY, C48_TAIL("graph")},
                                       {NEED_ANY, C48_TAIL("persistent")},
                                       NEEDS_END};

/* Launched one by one over fused in a graph; over what the better products gain over the others. */
static double most_of(const double *value, const void *with)
{
    (void)with;
    return value[0] / value[1] / fmax(value[2] / value[3], value[3] / value[2]);
}

static void judge_c48(const struct bundle *bundle, struct finding *f)
{
    struct row stream, fused, graph, library, one, read[LAYER_MODELS];
    bool reads;

    if (!layer_take_reads(bundle, read, &reads, f) ||
        !RULE_TAKE(bundle, c48_needs, f, &stream, &fused, &graph, &library, &one))
        return;
    const double more = 1 + RULE_LIMIT(f, C48_MORE);
    const struct row tiny = gone(&stream, &one, f), both = rule_ratio(f, &stream, &fused);
    const struct row alone = rule_ratio(f, &stream, &graph),
                     products = rule_ratio(f, &graph, &library);
    const struct row most =
        rule_formed(f, (const struct row *const[]){&stream, &fused, &graph, &library}, 4, "ratio",
                    most_of, NULL);
    const bool dominate = tiny.low >= RULE_LIMIT(f, C48_TINY);
    rule_say_row(f, "a layer of 1B, launched kernel by kernel, over the same in a graph", &alone);
    rule_say_row(f, "over six fused kernels in a graph", &both);
    rule_say_row(f, "our products over cuBLASLt's, in a graph", &products);
    rule_say_row(f, "the gain of both over that of the better products", &most);
    rule_say_row_beside(bundle, f,
                        "not judged: 99th percentile over median of eight reads of 4 MiB, kernel "
                        "by kernel",
                        c48_said[0].id);
    rule_say_row_beside(bundle, f, "in a graph", c48_said[1].id);
    rule_say_row_beside(bundle, f, "in one kernel", c48_said[2].id);
    rule_say_control(f, true, dominate,
                     "tiny kernels dominate: of the layer 0.25 is gone in one kernel", &tiny);
    const bool negative =
        layer_repeats(&both, more, "from run to run the gain of both grows by 1.1, too", f);
    rule_say_figure(f, "both", &both);
    rule_say_figure(f, "most", &most);
    rule_conclude(f, rule_band(rule_place(&most, more, INFINITY)), reads && dominate, negative);
}

/* --- C49: is latency a matter of the number of kernels? --------------------------------------- */

static const double C49_TENTH = 0.10;
enum { C49_SHAPES = 9, C49_WAYS = 3, C49_CELLS = C49_SHAPES * C49_WAYS };

#define C49_OF(metric) "decoder_layer." metric LAYER_CASE("%s", "%d", "%s") "}"

static const struct need c49_needs[] = {{NEED_ANY, LAYER_TIME("%s", "%d", "%s")},
                                        {NEED_ANY, C49_OF("bytes")},
                                        {NEED_ANY, C49_OF("kernels")},
                                        NEEDS_END};

/* What times are explained by: bytes, and kernels. */
struct design {
    double bytes[C49_CELLS], kernels[C49_CELLS];
};
enum explained { EACH_KERNEL, SHARE_OF_VARIANCE, SHARE_BY_BYTES };
struct question {
    const struct design *by;
    enum explained what;
};

static double mean(const double *value)
{
    double sum = 0;
    for (int i = 0; i < C49_CELLS; i++)
        sum += value[i];
    return sum / C49_CELLS;
}

/* Sum of products of what two lists have beyond their means. */
static double together(const double *a, const double *b)
{
    const double of_a = mean(a), of_b = mean(b);
    double sum = 0;
    for (int i = 0; i < C49_CELLS; i++)
        sum += (a[i] - of_a) * (b[i] - of_b);
    return sum;
}

/* Least squares of time on bytes and kernels: a kernel's time, the share of the variance that
 * kernels explain beside bytes, or the one that bytes explain alone. */
static double explain(const double *time, const void *with)
{
    const struct question *q = with;
    const double *bytes = q->by->bytes, *kernels = q->by->kernels;
    const double bb = together(bytes, bytes), kk = together(kernels, kernels);
    const double bk = together(bytes, kernels), tt = together(time, time);
    const double tb = together(time, bytes), tk = together(time, kernels);
    const double each = (tk - tb * bk / bb) / (kk - bk * bk / bb);
    return q->what == EACH_KERNEL      ? each
           : q->what == SHARE_BY_BYTES ? tb * tb / bb / tt
                                       : each * (tk - tb * bk / bb) / tt;
}

static bool take_cells(const struct bundle *bundle, struct row row[C49_CELLS],
                       struct design *design, struct finding *f)
{
    /* The first is measured as seldom as any: its rounds are those of all. */
    static const struct {
        const char *model;
        int context;
    } shape[C49_SHAPES] = {{"1b", 128}, {"1b", 1024}, {"1b", 8192}, {"1b", 32768}, {"3b", 1024},
                           {"8b", 128}, {"8b", 1024}, {"8b", 8192}, {"8b", 32768}};
    static const char *const impl[C49_WAYS] = {"graph", "dependent", "barrier"};

    for (int i = 0; i < C49_CELLS; i++) {
        const char *model = shape[i / C49_WAYS].model, *way = impl[i % C49_WAYS];
        const int context = shape[i / C49_WAYS].context;
        struct row bytes, kernels;
        if (!rule_take_formed(bundle, &row[i], f, LAYER_TIME("%s", "%d", "%s"), model, context,
                              way) ||
            !rule_take_formed(bundle, &bytes, f, C49_OF("bytes"), model, context, way) ||
            !rule_take_formed(bundle, &kernels, f, C49_OF("kernels"), model, context, way))
            return false;
        design->bytes[i] = bytes.centre;
        design->kernels[i] = kernels.centre;
    }
    return true;
}

static struct row explained(const struct row row[C49_CELLS], const struct design *by,
                            enum explained what, struct finding *f)
{
    const struct row *from[C49_CELLS];
    const struct question question = {by, what};
    for (int i = 0; i < C49_CELLS; i++)
        from[i] = &row[i];
    return rule_formed(f, from, C49_CELLS, what == EACH_KERNEL ? "ns" : "ratio", explain,
                       &question);
}

/* The same numbers of kernels, each dealt to another packaging, in turn from shape to shape. */
static struct design dealt_out(const struct design *design)
{
    struct design other = *design;
    for (int i = 0; i < C49_CELLS; i++) {
        const int shape = i / C49_WAYS;
        other.kernels[i] = design->kernels[shape * C49_WAYS + (i + shape) % C49_WAYS];
    }
    return other;
}

static void judge_c49(const struct bundle *bundle, struct finding *f)
{
    struct row read[LAYER_MODELS], row[C49_CELLS];
    struct design design;
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) || !take_cells(bundle, row, &design, f))
        return;
    const struct design other = dealt_out(&design);
    const struct row each = explained(row, &design, EACH_KERNEL, f);
    const struct row share = explained(row, &design, SHARE_OF_VARIANCE, f);
    const struct row alone = explained(row, &design, SHARE_BY_BYTES, f);
    const struct row dealt = explained(row, &other, SHARE_OF_VARIANCE, f);
    const double tenth = RULE_LIMIT(f, C49_TENTH);
    const bool costs = each.low > 0, none = each.high <= 0, negative = dealt.high < tenth;
    const enum claim_verdict by_share = rule_band(rule_place(&share, tenth, INFINITY));
    rule_say(f->evidence, "least squares over %d shapes by %d packagings", C49_SHAPES, C49_WAYS);
    rule_say_row(f, "a kernel more takes", &each);
    rule_say_row(f, "of the variance kernels explain, beside bytes", &share);
    rule_say_row(f, "bytes alone explain", &alone);
    rule_say_control(f, false, negative,
                     "the same numbers of kernels, dealt to other packagings in turn, explain 0.1",
                     &dealt);
    rule_say_figure(f, "each", &each);
    rule_say_figure(f, "share", &share);
    rule_say_part(f, "add time",
                  costs  ? CLAIM_REPRODUCED
                  : none ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  &each, 0);
    rule_say_part(f, "explain variance", by_share, &share, C49_TENTH);
    rule_conclude(f,
                  none                                    ? CLAIM_REFUTED
                  : costs && by_share == CLAIM_REPRODUCED ? by_share
                                                          : CLAIM_MIXED,
                  positive, negative);
}

/* --- C62: does an operator take longer inside one large kernel? ------------------------------- */

static const double C62_MORE = 1.10, C62_SEEN = 2;
enum { C62_OPERATORS = 6, C62_PARTS = 4, C62_ROWS = 2 * C62_PARTS + 1 };

#define C62_WHERE(model, impl, step, part)                                                         \
    "decoder_layer.where{model=" model ",context=1024,impl=" impl ",step=" step ",part=" part      \
    ",timer=device}"
#define C62_GEMV(m, k) "gemv.time{m=" m ",k=" k ",type=bf16,acc=fp32,impl=own,l2=cold,timer=event}"
#define C62_ATTENTION(context, d)                                                                  \
    "attention_decode.time{batch=1,context=" context ",heads=32,kv_heads=8,d=" d                   \
    ",type=bf16,impl=attention,mode=graph,l2=cold,timer=event}"

static const struct need c62_where[] = {{NEED_ANY, C62_WHERE("%s", "values", "%s", "%s")},
                                        {NEED_ANY, C62_WHERE("%s", "near", "%s", "%s")},
                                        NEEDS_END};
static const struct need c62_needs[] = {
    {NEED_ONE, C62_GEMV("2048", "2048")},     {NEED_ONE, C62_GEMV("2048", "8192")},
    {NEED_ONE, C62_ATTENTION("1024", "64")},  {NEED_ONE, C62_GEMV("4096", "4096")},
    {NEED_ONE, C62_GEMV("4096", "14336")},    {NEED_ONE, C62_ATTENTION("1024", "128")},
    {NEED_ONE, C62_ATTENTION("8192", "128")}, NEEDS_END};

/* The steps of the large kernel that make an operator; the second may be absent. */
static const struct operator_inside {
    const char *what, *model, *step, *then;
} c62_operators[C62_OPERATORS] = {
    {"product of the heads, 1B", "1b", "o", NULL}, {"product down, 1B", "1b", "down", NULL},
    {"attention, 1B", "1b", "attention", "merge"}, {"product of the heads, 8B", "8b", "o", NULL},
    {"product down, 8B", "8b", "down", NULL},      {"attention, 8B", "8b", "attention", "merge"},
};

static double sum_of(const double *value, const void *n)
{
    double sum = 0;
    for (size_t i = 0; i < *(const size_t *)n; i++)
        sum += value[i];
    return sum;
}

/* All that a block does and waits for in an operator's steps. */
static bool take_inside(const struct bundle *bundle, const struct operator_inside *its,
                        const char *impl, struct row *inside, struct finding *f)
{
    static const char *const parts[C62_PARTS] = {"weights", "activations", "waiting", "tail"};
    struct row row[2 * C62_PARTS];
    const struct row *from[2 * C62_PARTS];
    const size_t n = its->then ? 2 * C62_PARTS : C62_PARTS;

    for (size_t i = 0; i < n; i++) {
        from[i] = &row[i];
        if (!rule_take_formed(bundle, &row[i], f, C62_WHERE("%s", "%s", "%s", "%s"), its->model,
                              impl, i < C62_PARTS ? its->step : its->then, parts[i % C62_PARTS]))
            return false;
    }
    *inside = rule_formed(f, from, n, NULL, sum_of, &n);
    return true;
}

/* The same inside impl=near, which is faster than impl=values: the worst of them. */
static void say_near(const struct bundle *bundle, const struct row *alone, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row inside, worst = {.id = NULL};
    char what[CLAIM_WORDS] = "";
    size_t n = 0, slower = 0;
    for (int i = 0; i < C62_OPERATORS; i++) {
        if (!take_inside(bundle, &c62_operators[i], "near", &inside, &aside))
            continue;
        const struct row ratio = rule_ratio(&aside, &inside, &alone[i]);
        n++;
        slower += ratio.low >= C62_MORE;
        if (worst.id && ratio.centre <= worst.centre)
            continue;
        worst = ratio;
        snprintf(what, sizeof what, "at worst %s", c62_operators[i].what);
    }
    if (n == 0)
        return;
    rule_say(f->evidence, "; not judged: inside near %zu of %zu take 1.1 times as long", slower, n);
    rule_say_row(f, what, &worst);
}

static void judge_c62(const struct bundle *bundle, struct finding *f)
{
    struct row alone[C62_OPERATORS], longer, inside[C62_OPERATORS], ratio, worst = {0};
    const char *what = NULL;
    size_t slower = 0, unclear = 0;

    if (!RULE_TAKE(bundle, c62_needs, f, &alone[0], &alone[1], &alone[2], &alone[3], &alone[4],
                   &alone[5], &longer))
        return;
    const double more = RULE_LIMIT(f, C62_MORE), seen = RULE_LIMIT(f, C62_SEEN);
    for (int i = 0; i < C62_OPERATORS; i++) {
        if (!take_inside(bundle, &c62_operators[i], "values", &inside[i], f))
            return;
        ratio = rule_ratio(f, &inside[i], &alone[i]);
        slower += ratio.low >= more;
        unclear += ratio.low < more && ratio.high >= more;
        rule_say(f->evidence, "%s%s", i ? "; " : "", c62_operators[i].what);
        rule_say_row(f, "inside over alone", &ratio);
        if (!what || ratio.centre > worst.centre) {
            worst = ratio;
            what = c62_operators[i].what;
        }
    }
    say_near(bundle, alone, f);
    const struct row larger = rule_ratio(f, &inside[4], &inside[3]);
    const struct row shorter = rule_ratio(f, &alone[5], &longer);
    const bool positive = larger.low >= seen, negative = shorter.high < more;
    rule_say_control(f, true, positive,
                     "inside, the product down of 8B takes twice that of the heads, which has 3.5 "
                     "times fewer bytes",
                     &larger);
    rule_say_control(f, false, negative,
                     "attention to 1024 keys takes 1.1 times that to 8192 keys, both alone",
                     &shorter);
    rule_say_count(f, "slower", slower);
    rule_say_count(f, "all", C62_OPERATORS);
    rule_say_figure(f, "worst", &worst);
    if (slower == 0 && unclear > 0)
        rule_say_part(f, what, CLAIM_MIXED, &worst, C62_MORE);
    rule_conclude(f,
                  slower > 0     ? CLAIM_REPRODUCED
                  : unclear == 0 ? CLAIM_REFUTED
                                 : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

#define READS                                                                                      \
    "Positive control: a read of an 8B layer's bytes takes at least 2.5 times as long as "         \
    "of a 1B layer's, of which it has 3.56 times as many. "
#define SINCE "2026-11-23T14:40Z"

static const struct claim claims[] = {
    {.id = "C47",
     .article = "ai-rng",
     .quote = "Launch overhead matters most when: [...] Batch sizes are small. [...] Sequence "
              "lengths are short. [...] Models are small enough that matmuls are not dominant. "
              "[...] Serving uses micro-batches and strict latency targets. [...] In these cases, "
              "the GPU can show low utilization even though the workload is steady.",
     .clause = "Launch overhead matters most when: [...] Sequence lengths are short. [...] Models "
               "are small enough that matmuls are not dominant.",
     .since = SINCE,
     .plain = {.yes = "Barriers for kernels save {short:%} at 128 keys, {long:%} at 32768; "
                      "{small:%} of 1B, {large:%} of 8B.",
               .no = "Barriers for kernels save no less in long sequences and large models: "
                     "{long:%} at 32768 keys, {large:%} of 8B.",
               .partly = "What barriers for kernels save of a layer's time: {parts}."},
     .surprise = 1,
     .statement = "The share of a layer's time that goes when its kernels become one, with a "
                  "barrier of all SMs where each began, grows towards short sequences and towards "
                  "small models, each varied alone, at batch 1.",
     .rule =
         "A layer at batch 1 as a graph of a kernel for each operator, and as one kernel with a "
         "barrier at each edge: the share of the graph's time that is gone. An axis holds when "
         "the share falls by more than 0.03 from its small end to its large one and nowhere "
         "rises by that; not when it falls by no more: context 128, 8192, 32768 at 1B; 1B, 3B, "
         "8B at 1024. REPRODUCED when both hold, REFUTED when neither does, MIXED otherwise. " READS
         "Negative control: from run to run the share of 1B must not fall by 0.03. Batches are "
         "C47b's.",
     .judge = judge_c47,
     .needs = NEEDS(layer_read_needs, c47_needs)},
    {.id = "C48",
     .article = "ai-rng",
     .quote = "If many tiny kernels dominate, fusion and graph compilation can produce the largest "
              "gains. [...] Fusion and graph compilation reduce the number of launches and can "
              "convert a latency-bound workload into a throughput-stable workload.",
     .clause =
         "If many tiny kernels dominate, fusion and graph compilation can produce the largest "
         "gains.",
     .since = "2026-11-27T09:05Z",
     .plain =
         {.yes =
              "Fusion and a graph gain {both} times in 1B, {most} times what better products gain.",
          .no = "Fusion and a graph gain {both} times in 1B, no more than better products do.",
          .partly = "Between: the gain of fusion and a graph is {most:range} times that of "
                    "better products, against a limit of {C48_MORE:%} more."},
     .surprise = 1,
     .statement = "Where a quarter or more of a layer's time goes with its kernels, a graph and "
                  "fusion gain more than faster matrix-vector products do. How steady step times "
                  "are is not judged.",
     .rule = "A layer of 1B, batch 1, context 1024: kernel by kernel over six fused kernels in a "
             "graph; over it, what the better of our products and cuBLASLt's gain over the others, "
             "in a graph. REPRODUCED above 1.1, REFUTED below, MIXED when the interval contains "
             "it. " READS "Of the time kernel by kernel 0.25 or more is gone in one kernel with "
             "barriers, else tiny kernels do not dominate. Negative control: from run to run the "
             "gain must not grow by 1.1. Until 27 November the limit was 1.03, which the host's "
             "launches "
             "moved by from run to run, too.",
     .judge = judge_c48,
     .needs = NEEDS(layer_read_needs, c48_needs, c48_said)},
    {.id = "C49",
     .article = "8bit.tr",
     .quote = "Inference latency often comes from kernel overhead, not just model size.",
     .since = SINCE,
     .plain = {.yes = "Each kernel more takes {each}, and the number of kernels explains {share:%} "
                      "of how layer times vary.",
               .no =
                   "Beside the bytes of a layer its number of kernels explains nothing: {each} for "
                   "each.",
               .partly = "Kernels {parts}."},
     .surprise = 2,
     .statement =
         "Over eight shapes or more, the number of kernels explains a tenth or more of how "
         "a layer's time varies from shape to shape, beside the bytes that it reads. Where "
         "bytes alone explain over nine tenths, no number of kernels could.",
     .rule = "A layer at batch 1: 1B and 8B at context 128, 1024, 8192 and 32768, 3B at 1024; as a "
             "graph of a kernel for each operator, as six dependent kernels, and as one. Least "
             "squares of time on bytes and kernels, in each run. REPRODUCED when a kernel takes "
             "more than nothing and kernels explain a tenth of the variance or more beside bytes, "
             "REFUTED when a kernel takes nothing, MIXED otherwise. " READS "Negative control: the "
             "same numbers, dealt to other packagings in turn from shape to shape, must explain "
             "less than a tenth.",
     .judge = judge_c49,
     .needs = NEEDS(layer_read_needs, c49_needs)},
    {.id = "C62",
     .article = "ai-rng",
     .quote = "Limited specialization: a fused kernel may be less optimized for a particular "
              "operator than a dedicated kernel.",
     .since = SINCE,
     .plain = {.yes = "Inside one kernel {slower} of {all} operators take 1.1 times as long, "
                      "{worst} times at worst.",
               .no = "Inside one kernel none of {all} operators takes 1.1 times as long: {worst} "
                     "times at worst.",
               .partly = "That an operator takes 1.1 times as long inside one kernel: {parts}."},
     .surprise = 2,
     .statement = "Some operator takes 10 % longer inside the kernel that does a whole layer than "
                  "in the best kernel of its own.",
     .rule = "The product of the heads, the product down, and attention with its merge, of 1B and "
             "8B, batch 1, 1024 keys: all parts of its steps in impl=values, over our "
             "kernel of its own, edge included, not in the L2. REPRODUCED when one takes 1.1 times "
             "as long or more, REFUTED when none does, MIXED otherwise. Positive control: inside, "
             "the product down of 8B takes at least twice that of the heads, of which it has 3.5 "
             "times the bytes. Negative control: attention to 1024 keys must not take 1.1 times "
             "that to 8192.",
     .judge = judge_c62,
     .needs = NEEDS(c62_where, c62_needs)},
};
CLAIM_SUBJECT(claims);
