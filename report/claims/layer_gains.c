/* The ledger: what one kernel gains over a graph of kernels, in a layer, in a step, by size of the
 * model and of the batch. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/layer.h"

/* --- C31: do large fused kernels break down at batch 1? --------------------------------------- */

static const double C31_MORE = 0.03;

static const struct need gain_needs[] = {{NEED_ONE, LAYER_TIME("1b", "1024", "graph")},
                                         {NEED_BEST, LAYER_TIME("1b", "1024", ONE_KERNEL)},
                                         {NEED_ONE, LAYER_TIME("8b", "1024", "graph")},
                                         {NEED_BEST, LAYER_TIME("8b", "1024", ONE_KERNEL)},
                                         NEEDS_END};
static const struct need c31_said[] = {{NEED_ANY, LAYER_TIME("1b", "1024", "values")},
                                       {NEED_ANY, LAYER_TIME("8b", "1024", "values")},
                                       NEEDS_END};

static void judge_c31(const struct bundle *bundle, struct finding *f)
{
    struct row graph[LAYER_MODELS], best[LAYER_MODELS], read[LAYER_MODELS], gain[LAYER_MODELS];
    enum claim_verdict each[LAYER_MODELS];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !RULE_TAKE(bundle, gain_needs, f, &graph[LAYER_1B], &best[LAYER_1B], &graph[LAYER_8B],
                   &best[LAYER_8B]))
        return;
    const double more = 1 + RULE_LIMIT(f, C31_MORE);
    for (int i = 0; i < LAYER_MODELS; i++) {
        gain[i] = rule_ratio(f, &graph[i], &best[i]);
        each[i] = rule_band(rule_place(&gain[i], -INFINITY, more));
    }
    const struct row bare = rule_ratio(f, &graph[LAYER_8B], &read[LAYER_8B]);
    const bool negative = bare.low > more;
    rule_say_row(f, "a layer of 1B as a graph of kernels over one kernel", &gain[LAYER_1B]);
    rule_say_row(f, "of 8B", &gain[LAYER_8B]);
    layer_say_values(bundle, (const char *const[]){gain_needs[0].id, gain_needs[2].id},
                     (const char *const[]){c31_said[0].id, c31_said[1].id}, f);
    rule_say_control(f, false, negative,
                     "a bare read of the bytes gains no more than 1.03 over the graph of 8B, at",
                     &bare);
    rule_say_figure(f, "small", &gain[LAYER_1B]);
    rule_say_figure(f, "large", &gain[LAYER_8B]);
    rule_conclude(f, layer_agree(gain, each, 1 + C31_MORE, f), positive, negative);
}

/* --- C70: does a fusion gain more at batch 1 than at batch 256? ------------------------------- */

static const double C70_MORE = 0.03, C70_READS = 1.2;
enum { C70_FUSIONS = 3 };

#define C70_OF(m, n, op, type, impl)                                                               \
    "epilogue.time{m=" m ",n=" n ",k=4096,op=" op ",type=" type ",impl=" impl                      \
    ",mode=graph,l2=cold,timer=event}"
#define C70_TIME(m, n, op, impl) C70_OF(m, n, op, "bf16", impl)
#define C70_GELU(type, impl) C70_OF("1", "4096", "bias_gelu", type, impl)
static const struct need c70_needs[] = {{NEED_ANY, C70_TIME("%d", "%d", "%s", "%s")}, NEEDS_END};
static const struct need c70_said[] = {
    {NEED_ANY, C70_GELU("fp16", "unfused")}, {NEED_ANY, C70_GELU("fp16", "fused")}, NEEDS_END};
static const struct fusion {
    const char *op, *what;
    int n;
} c70_fusions[C70_FUSIONS] = {{"bias_gelu", "product, bias and gelu", 4096},
                              {"bias_residual", "product, bias and residual", 4096},
                              {"qkv", "three products", 6144}};

static bool take_epilogue(const struct bundle *bundle, const struct fusion *fusion, int m,
                          const char *impl, struct row *row, struct finding *f)
{
    return rule_take_formed(bundle, row, f, C70_TIME("%d", "%d", "%s", "%s"), m, fusion->n,
                            fusion->op, impl);
}

/* The gain at batch 1 over the gain at batch 256. */
static double gains_of(const double *value, const void *with)
{
    (void)with;
    return (value[0] / value[1]) / (value[2] / value[3]);
}

/* Another type is another kernel of ours: its gain at batch 1 is said beside the first one's. */
static void say_fp16(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row of[4];
    if (!rule_look_up(bundle, C70_GELU("bf16", "unfused"), &of[0], f) ||
        !rule_look_up(bundle, C70_GELU("bf16", "fused"), &of[1], f) ||
        !rule_look_up(bundle, c70_said[0].id, &of[2], f) ||
        !rule_look_up(bundle, c70_said[1].id, &of[3], f))
        return;
    const struct row apart =
        rule_formed(&aside, (const struct row *const[]){&of[0], &of[1], &of[2], &of[3]}, 4, "ratio",
                    gains_of, NULL);
    rule_say_ratio_beside(bundle, f, "not judged: product, bias and gelu in fp16, gain at batch 1",
                          c70_said[0].id, c70_said[1].id);
    rule_say_row(f, "the gain of bf16 over it", &apart);
}

static void judge_c70(const struct bundle *bundle, struct finding *f)
{
    enum claim_verdict verdict = CLAIM_NOT_TESTABLE;
    struct row row[4], ratio[C70_FUSIONS], grows = {0}, gelu = {0};

    const double more = 1 + RULE_LIMIT(f, C70_MORE);
    for (int i = 0; i < C70_FUSIONS; i++) {
        const struct fusion *its = &c70_fusions[i];
        for (int k = 0; k < 4; k++)
            if (!take_epilogue(bundle, its, k < 2 ? 1 : 256, k % 2 ? "fused" : "unfused", &row[k],
                               f))
                return;
        const struct row small = rule_ratio(f, &row[0], &row[1]),
                         large = rule_ratio(f, &row[2], &row[3]);
        ratio[i] = rule_formed(f, (const struct row *const[]){&row[0], &row[1], &row[2], &row[3]},
                               4, "ratio", gains_of, NULL);
        const enum claim_verdict each = ratio[i].low > more        ? CLAIM_REPRODUCED
                                        : ratio[i].high < 1 / more ? CLAIM_REFUTED
                                                                   : CLAIM_MIXED;
        rule_say(f->evidence, "%s%s", i ? "; " : "", its->what);
        rule_say_row(f, "gain at batch 1", &small);
        rule_say_row(f, "at batch 256", &large);
        rule_say_part(f, its->what, each, &ratio[i], more);
        verdict = i == 0 || verdict == each ? each : CLAIM_MIXED;
        grows = i == 0 ? rule_ratio(f, &row[3], &row[1]) : grows;
        gelu = i == 0 ? small : gelu;
    }
    say_fp16(bundle, f);
    const bool positive = grows.low >= RULE_LIMIT(f, C70_READS);
    rule_say_control(f, true, positive,
                     "256 rows take 1.2 times as long as one, fused product, bias and gelu, at",
                     &grows);
    const bool negative = layer_repeats(
        &gelu, more, "from run to run the first gain at batch 1 grows by 1.03, too, at", f);
    rule_say_figure(f, "gelu", &ratio[0]);
    rule_say_figure(f, "residual", &ratio[1]);
    rule_say_figure(f, "qkv", &ratio[2]);
    rule_conclude(f, verdict, positive, negative);
}

/* --- C72: does the gain grow with the model? -------------------------------------------------- */

static const double C72_MORE = 0.03;

static const struct need c72_needs[] = {{NEED_ONE, STEP_TIME("1b", "graph")},
                                        {NEED_BEST, STEP_TIME("1b", ONE_KERNEL)},
                                        {NEED_ONE, STEP_TIME("8b", "graph")},
                                        {NEED_BEST, STEP_TIME("8b", ONE_KERNEL)},
                                        NEEDS_END};
static const struct need c72_said[] = {
    {NEED_ANY, STEP_TIME("3b", "graph")},  {NEED_ANY, STEP_TIME("3b", "near")},
    {NEED_ANY, STEP_TIME("3b", "values")}, {NEED_ANY, STEP_TIME("1b", "stream")},
    {NEED_ANY, STEP_TIME("1b", "fused")},  {NEED_ANY, STEP_TIME("8b", "stream")},
    {NEED_ANY, STEP_TIME("8b", "fused")},  {NEED_ANY, STEP_TIME("1b", "values")},
    {NEED_ANY, STEP_TIME("8b", "values")}, NEEDS_END};

/* Of 3B, which is measured in three rounds: near is the fastest kernel where a GPU has it. */
static bool take_3b(const struct bundle *bundle, struct row *graph, struct row *one,
                    struct finding *f)
{
    return rule_look_up(bundle, STEP_TIME("3b", "graph"), graph, f) &&
           (rule_look_up(bundle, STEP_TIME("3b", "near"), one, f) ||
            rule_look_up(bundle, STEP_TIME("3b", "values"), one, f));
}

static void say_less(const struct row *slow, const struct row *fast, const char *what,
                     struct finding *f)
{
    struct finding aside = rule_aside(f);
    const struct row less = rule_less(&aside, slow, fast);
    rule_say_row(f, what, &less);
}

/* What is fused beside what is launched kernel by kernel: a ratio, and time. */
static void say_launched(const struct bundle *bundle, const char *stream, const char *fused,
                         const char *what, struct finding *f)
{
    struct row slow, fast;
    if (!rule_look_up(bundle, stream, &slow, f) || !rule_look_up(bundle, fused, &fast, f))
        return;
    rule_say_ratio_beside(bundle, f, what, stream, fused);
    say_less(&slow, &fast, "which takes off", f);
}

/* Beside the verdict: the same in time, and six fused kernels a layer over kernel by kernel. */
static void say_c72(const struct bundle *bundle, const struct row graph[LAYER_MODELS],
                    const struct row best[LAYER_MODELS], struct finding *f)
{
    struct row between[2];
    say_less(&graph[LAYER_1B], &best[LAYER_1B], "not judged: in time the kernel takes off, of 1B",
             f);
    if (take_3b(bundle, &between[0], &between[1], f))
        say_less(&between[0], &between[1], "of 3B", f);
    say_less(&graph[LAYER_8B], &best[LAYER_8B], "of 8B", f);
    say_launched(bundle, STEP_TIME("1b", "stream"), STEP_TIME("1b", "fused"),
                 "a step of 1B kernel by kernel over six fused kernels a layer", f);
    say_launched(bundle, STEP_TIME("8b", "stream"), STEP_TIME("8b", "fused"), "of 8B", f);
}

static void judge_c72(const struct bundle *bundle, struct finding *f)
{
    struct row graph[LAYER_MODELS], best[LAYER_MODELS], read[LAYER_MODELS], gain[LAYER_MODELS];
    struct row between[2];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !RULE_TAKE(bundle, c72_needs, f, &graph[LAYER_1B], &best[LAYER_1B], &graph[LAYER_8B],
                   &best[LAYER_8B]))
        return;
    const double more = 1 + RULE_LIMIT(f, C72_MORE);
    for (int i = 0; i < LAYER_MODELS; i++)
        gain[i] = rule_ratio(f, &graph[i], &best[i]);
    const struct row grows = rule_ratio(f, &gain[LAYER_8B], &gain[LAYER_1B]);
    rule_say_row(f, "a step of 1B as a graph of kernels over one kernel", &gain[LAYER_1B]);
    rule_say_row(f, "of 8B", &gain[LAYER_8B]);
    layer_say_values(bundle, (const char *const[]){c72_needs[0].id, c72_needs[2].id},
                     (const char *const[]){c72_said[7].id, c72_said[8].id}, f);
    if (take_3b(bundle, &between[0], &between[1], f)) {
        struct finding aside = rule_aside(f);
        const struct row its = rule_ratio(&aside, &between[0], &between[1]);
        rule_say_row(f, "of 3B", &its);
    }
    rule_say_row(f, "the gain of 8B over that of 1B", &grows);
    say_c72(bundle, graph, best, f);
    const bool negative = layer_repeats(&gain[LAYER_1B], more,
                                        "the gain of 1B grows by 1.03 from run to run, too, at", f);
    rule_say_figure(f, "small", &gain[LAYER_1B]);
    rule_say_figure(f, "large", &gain[LAYER_8B]);
    rule_say_figure(f, "grows", &grows);
    rule_conclude(f,
                  grows.low > more        ? CLAIM_REPRODUCED
                  : grows.high < 1 / more ? CLAIM_REFUTED
                                          : CLAIM_MIXED,
                  positive, negative);
}

/* --- C74: does a step gain what its layers gain? ---------------------------------------------- */

static const double C74_POINTS = 0.05;
static const double C74_LAYERS[LAYER_MODELS] = {16, 32}, C74_LAYERS_3B = 28;

static const struct need c74_needs[] = {
    {NEED_ANY, STEP_TIME("%s", "%s")}, {NEED_ANY, LAYER_TIME("%s", "1024", "%s")}, NEEDS_END};

/* The gain of a step over the graph's, less what it should be if only its layers changed. */
static double beyond_of(const double *value, const void *layers)
{
    const double expected = value[0] - *(const double *)layers * (value[2] - value[3]);
    return value[0] / value[1] - value[0] / expected;
}

static bool take_beyond(const struct bundle *bundle, const char *model, const double *layers,
                        const char *impl, struct row *beyond, struct finding *f)
{
    struct row row[4];

    if (!rule_take_formed(bundle, &row[0], f, STEP_TIME("%s", "%s"), model, "graph") ||
        !rule_take_formed(bundle, &row[1], f, STEP_TIME("%s", "%s"), model, impl) ||
        !rule_take_formed(bundle, &row[2], f, LAYER_TIME("%s", "1024", "%s"), model, "graph") ||
        !rule_take_formed(bundle, &row[3], f, LAYER_TIME("%s", "1024", "%s"), model, impl))
        return false;
    *beyond = rule_formed(f, (const struct row *const[]){&row[0], &row[1], &row[2], &row[3]}, 4,
                          "ratio", beyond_of, layers);
    return true;
}

enum { C74_IMPLS = 6 };
static const char *const c74_names[LAYER_MODELS] = {"1b", "8b"};
static const char *const c74_impls[C74_IMPLS] = {"fused", "dependent", "barrier",
                                                 "ring",  "values",    "near"};

/* Gains of steps, less what is expected, where each lies, and which way it is of. */
struct beyond {
    struct row row[LAYER_MODELS * C74_IMPLS];
    enum place place[LAYER_MODELS * C74_IMPLS];
    int way[LAYER_MODELS * C74_IMPLS];
    size_t n;
};

/* near is missing on a GPU whose L2 has no halves. */
static bool has_way(const struct bundle *bundle, int model, const char *impl, struct finding *f)
{
    static const char *const near[LAYER_MODELS] = {STEP_TIME("1b", "near"),
                                                   STEP_TIME("8b", "near")};
    struct row step;
    return strcmp(impl, "near") != 0 || rule_look_up(bundle, near[model], &step, f);
}

static bool take_all_beyond(const struct bundle *bundle, double points, struct beyond *b,
                            struct finding *f)
{
    for (int i = 0; i < LAYER_MODELS * C74_IMPLS; i++) {
        const int model = i / C74_IMPLS;
        const char *impl = c74_impls[i % C74_IMPLS];
        if (!has_way(bundle, model, impl, f))
            continue;
        if (!take_beyond(bundle, c74_names[model], &C74_LAYERS[model], impl, &b->row[b->n], f))
            return false;
        b->place[b->n] = rule_place(&b->row[b->n], -points, points);
        b->way[b->n++] = i;
    }
    return true;
}

static size_t count_beyond(const struct beyond *b, enum place place)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->place[i] == place;
    return n;
}

/* The one that makes the verdict: the farthest off of those that are off, else of those whose
 * interval contains the limit, else of all. */
static size_t decides_of(const struct beyond *b, size_t off, size_t unclear)
{
    size_t farthest = b->n;
    for (size_t i = 0; i < b->n; i++) {
        const bool is_off = b->place[i] == PLACE_BELOW || b->place[i] == PLACE_ABOVE;
        const bool counts = off > 0 ? is_off : unclear == 0 || b->place[i] == PLACE_STRADDLES;
        if (counts && (farthest == b->n || fabs(b->row[i].centre) > fabs(b->row[farthest].centre)))
            farthest = i;
    }
    return farthest < b->n ? farthest : 0;
}

/* Of 3B, whose ways are measured in three rounds: the farthest off. */
static void say_c74_of_3b(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row row, farthest = {.id = NULL};
    const char *way = NULL;
    char what[CLAIM_WORDS];
    for (int i = 0; i < C74_IMPLS; i++)
        if (take_beyond(bundle, "3b", &C74_LAYERS_3B, c74_impls[i], &row, &aside) &&
            (!way || fabs(row.centre) > fabs(farthest.centre))) {
            farthest = row;
            way = c74_impls[i];
        }
    if (!way)
        return;
    snprintf(what, sizeof what, "not judged: of 3B, in three rounds, the farthest, by %s", way);
    rule_say_row(f, what, &farthest);
}

static void judge_c74(const struct bundle *bundle, struct finding *f)
{
    struct row read[LAYER_MODELS], library;
    struct beyond b = {.n = 0};
    char what[CLAIM_WORDS];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f))
        return;
    const double points = RULE_LIMIT(f, C74_POINTS);
    if (!take_all_beyond(bundle, points, &b, f) ||
        !take_beyond(bundle, c74_names[LAYER_1B], &C74_LAYERS[LAYER_1B], "cublas", &library, f))
        return;
    const size_t off = count_beyond(&b, PLACE_BELOW) + count_beyond(&b, PLACE_ABOVE);
    const size_t unclear = count_beyond(&b, PLACE_STRADDLES), one = decides_of(&b, off, unclear);
    const bool negative = rule_place(&library, -points, points) == PLACE_INSIDE;
    snprintf(what, sizeof what, "%s, of %s by %s",
             off == 0 && unclear > 0 ? "of the gains that contain the limit the farthest off"
                                     : "the farthest off",
             layer_models[b.way[one] / C74_IMPLS], c74_impls[b.way[one] % C74_IMPLS]);
    rule_say(f->evidence,
             "gains of a step off what its layers' gains let expect, by more than 0.05: "
             "%zu of %zu, and %zu perhaps",
             off, b.n, unclear);
    rule_say_row(f, what, &b.row[one]);
    say_c74_of_3b(bundle, f);
    rule_say_control(f, false, negative,
                     "cuBLASLt's products in the graph of 1B, no fusion, are off by 0.05",
                     &library);
    rule_say_count(f, "off", off);
    rule_say_count(f, "all", b.n);
    rule_say_figure(f, "worst", &b.row[one]);
    if (off == 0 && unclear > 0)
        rule_say_part(f, "a gain that contains the limit", CLAIM_MIXED, &b.row[one], C74_POINTS);
    rule_conclude(f,
                  off > 0        ? CLAIM_REPRODUCED
                  : unclear == 0 ? CLAIM_REFUTED
                                 : CLAIM_MIXED,
                  positive, negative);
}

/* --- C88: does the choice of kernels change tokens per second? -------------------------------- */

static const double C88_MORE = 0.03;

static const struct need c88_needs[] = {{NEED_ONE, STEP_TIME("1b", "fused")},
                                        {NEED_BEST, STEP_TIME("1b", ONE_KERNEL)},
                                        {NEED_ONE, STEP_TIME("8b", "fused")},
                                        {NEED_BEST, STEP_TIME("8b", ONE_KERNEL)},
                                        NEEDS_END};

/* What is said of C88: other ways to launch a step, and layers of larger batches. */
#define C88_BATCHED(batch, impl)                                                                   \
    "batched_layer.layer_time{model=8b,context=1024,batch=" batch ",impl=" impl                    \
    ",l2=cold,timer=event}"
static const struct need c88_said[] = {
    {NEED_ANY, STEP_TIME("1b", "stream")},    {NEED_ANY, STEP_TIME("1b", "graph")},
    {NEED_ANY, STEP_TIME("1b", "dependent")}, {NEED_ANY, STEP_TIME("8b", "stream")},
    {NEED_ANY, STEP_TIME("8b", "graph")},     {NEED_ANY, STEP_TIME("8b", "dependent")},
    {NEED_ANY, C88_BATCHED("%d", "%s")},      NEEDS_END};
static const struct need c88_values[] = {
    {NEED_ANY, STEP_TIME("1b", "values")}, {NEED_ANY, STEP_TIME("8b", "values")}, NEEDS_END};

static void say_c88(const struct bundle *bundle, struct finding *f)
{
    layer_say_values(bundle, (const char *const[]){c88_needs[0].id, c88_needs[2].id},
                     (const char *const[]){c88_values[0].id, c88_values[1].id}, f);
    static const char *const names[] = {"not judged: a step of 1B kernel by kernel",
                                        "in a graph",
                                        "by dependent kernels",
                                        "of 8B kernel by kernel",
                                        "in a graph",
                                        "by dependent kernels"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        rule_say_row_beside(bundle, f, names[i], c88_said[i].id);
    rule_say_ratio_beside(bundle, f, "a layer of 8B at batch 8, kernel by kernel over fused",
                          C88_BATCHED("8", "stream"), C88_BATCHED("8", "fused"));
    rule_say_ratio_beside(bundle, f, "at batch 64", C88_BATCHED("64", "stream"),
                          C88_BATCHED("64", "fused"));
}

static void judge_c88(const struct bundle *bundle, struct finding *f)
{
    struct row fused[LAYER_MODELS], best[LAYER_MODELS], read[LAYER_MODELS], ratio[LAYER_MODELS];
    enum claim_verdict each[LAYER_MODELS];
    bool positive;

    if (!layer_take_reads(bundle, read, &positive, f) ||
        !RULE_TAKE(bundle, c88_needs, f, &fused[LAYER_1B], &best[LAYER_1B], &fused[LAYER_8B],
                   &best[LAYER_8B]))
        return;
    const double more = 1 + RULE_LIMIT(f, C88_MORE);
    for (int i = 0; i < LAYER_MODELS; i++) {
        ratio[i] = rule_ratio(f, &fused[i], &best[i]);
        const enum place place = rule_place(&ratio[i], 1 / more, more);
        each[i] = place == PLACE_INSIDE      ? CLAIM_REFUTED
                  : place == PLACE_STRADDLES ? CLAIM_MIXED
                  : place == PLACE_UNKNOWN   ? CLAIM_NOT_TESTABLE
                                             : CLAIM_REPRODUCED;
    }
    rule_say_row(f, "a step of 1B, six kernels a layer", &fused[LAYER_1B]);
    rule_say_row(f, "the same bits by one kernel", &best[LAYER_1B]);
    rule_say_row(f, "tokens a second, the one over the other", &ratio[LAYER_1B]);
    rule_say_row(f, "of 8B", &ratio[LAYER_8B]);
    say_c88(bundle, f);
    const bool negative = layer_repeats(
        &best[LAYER_1B], more, "one packaging changes by 1.03 from run to run, too, at", f);
    rule_say_figure(f, "small", &ratio[LAYER_1B]);
    rule_say_figure(f, "large", &ratio[LAYER_8B]);
    rule_conclude(f, layer_agree(ratio, each, 1 + C88_MORE, f), positive, negative);
}

/* --- C88b: do joules per token fall where tokens per second rise? ----------------------------- */

static const double C88B_LESS = 0.05, C88B_FASTER = 0.05, C88B_GROWS = 2.5;

static const struct need c88b_needs[] = {
    {NEED_ONE, STEP_ENERGY("1b", "read")},  {NEED_ONE, STEP_ENERGY("1b", "graph")},
    {NEED_ONE, STEP_ENERGY("8b", "graph")}, {NEED_ONE, STEP_TIME("1b", "graph")},
    {NEED_ONE, STEP_TIME("8b", "graph")},   {NEED_BEST, STEP_TIME("1b", "*")},
    {NEED_BEST, STEP_TIME("8b", "*")},      NEEDS_END};
static const struct need c88b_others[] = {{NEED_ANY, STEP_ENERGY("%s", "%s")}, NEEDS_END};

/* A step of one model: of the graph and of the fastest packaging, ns and joules. */
struct spent {
    struct row graph_ns, fastest_ns, graph, fastest;
    struct row less, others; /* joules over the fastest's: the graph's; the fewest of all others */
    bool is_faster;
    enum claim_verdict verdict;
};

static bool take_fastest(const struct bundle *bundle, struct spent *s, struct finding *f)
{
    const struct row *found =
        rule_beside(bundle, &s->fastest_ns, "decoder_layer.energy", NULL, NULL, f);
    if (!found)
        rule_not_testable(f, "the fastest packaging's joules were not measured (%s)",
                          s->fastest_ns.id);
    return found && rule_take(bundle, found->id, &s->fastest, f);
}

/* The fewest joules of all packagings but the fastest. The graph is one. */
static struct row fewest_of_others(const struct bundle *bundle, const char *glob,
                                   const struct spent *s, struct finding *f)
{
    struct row fewest = s->graph;
    const struct row *row;

    for (size_t next = 0; (row = rule_next(bundle, glob, &next, f));)
        if (row_usable(row) && row->centre < fewest.centre && strcmp(row->id, s->fastest.id) &&
            !strstr(row->id, "impl=read"))
            fewest = *row;
    return fewest;
}

/* Does the fastest take fewer joules than the graph, and none fewer than the fastest? */
static bool judge_joules(const struct bundle *bundle, int model, struct spent *s, struct finding *f)
{
    static const char *const globs[LAYER_MODELS] = {STEP_ENERGY("1b", "*"), STEP_ENERGY("8b", "*")};
    const double more = 1 + RULE_LIMIT(f, C88B_LESS);
    const struct row rises = rule_ratio(f, &s->graph_ns, &s->fastest_ns);
    char what[CLAIM_WORDS];

    if (!take_fastest(bundle, s, f))
        return false;
    const struct row fewest = fewest_of_others(bundle, globs[model], s, f);
    s->less = rule_ratio(f, &s->graph, &s->fastest);
    s->others = rule_ratio(f, &fewest, &s->fastest);
    rule_say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", layer_models[model]);
    rule_say_row(f, "joules a token by the graph", &s->graph);
    rule_say_row(f, "by the fastest", &s->fastest);
    rule_say_row(f, "the one over the other", &s->less);
    rule_say_row(f, "the fewest of all others over the fastest", &s->others);
    const enum claim_verdict falls = rule_band(rule_place(&s->less, more, INFINITY)),
                             is_least = rule_band(rule_place(&s->others, 1 / more, INFINITY));
    const bool is_by_others = falls == CLAIM_REPRODUCED && is_least != CLAIM_REPRODUCED;
    s->is_faster = rises.low > 1 + RULE_LIMIT(f, C88B_FASTER);
    snprintf(what, sizeof what, "the fastest of %s makes 1.05 times the tokens of the graph, at",
             layer_models[model]);
    rule_say_control(f, true, s->is_faster, what, &rises);
    snprintf(what, sizeof what, "a model of %s", layer_models[model]);
    s->verdict = is_by_others || is_least == CLAIM_REFUTED ? is_least : falls;
    if (is_by_others)
        rule_say_part(f, what, s->verdict, &s->others, 1 / (1 + C88B_LESS));
    else
        rule_say_part(f, what, s->verdict, &s->less, 1 + C88B_LESS);
    return true;
}

static void judge_c88b(const struct bundle *bundle, struct finding *f)
{
    struct spent of[LAYER_MODELS], *small = &of[LAYER_1B], *large = &of[LAYER_8B];
    struct row read;

    if (!RULE_TAKE(bundle, c88b_needs, f, &read, &small->graph, &large->graph, &small->graph_ns,
                   &large->graph_ns, &small->fastest_ns, &large->fastest_ns) ||
        !judge_joules(bundle, LAYER_1B, small, f) || !judge_joules(bundle, LAYER_8B, large, f))
        return;
    const double more = 1 + RULE_LIMIT(f, C88B_LESS);
    const struct row grows = rule_ratio(f, &large->graph, &small->graph);
    const struct row bare = rule_ratio(f, &read, &small->graph);
    const bool is_seen = grows.low >= RULE_LIMIT(f, C88B_GROWS), is_less = bare.high < 1;
    rule_say_control(f, true, is_seen, "8B takes 2.5 times the joules of 1B or more, at", &grows);
    const bool repeats = layer_repeats(
        &small->graph, more, "from round to round the joules of one change by 1.05, too, at", f);
    rule_say_control(f, false, is_less,
                     "a bare read of the bytes takes the joules of the graph, too, at", &bare);
    rule_say_figure(f, "small", &small->less);
    rule_say_figure(f, "large", &large->less);
    rule_say_figure(f, "other_small", &small->others);
    rule_say_figure(f, "other_large", &large->others);
    rule_conclude(f, small->verdict == large->verdict ? small->verdict : CLAIM_MIXED,
                  is_seen && small->is_faster && large->is_faster, repeats && is_less);
}

/* --- the entries ----------------------------------------------------------------------------- */

#define READS                                                                                      \
    "Positive control: a read of an 8B layer's bytes takes at least 2.5 times as long as "         \
    "of a 1B layer's, of which it has 3.56 times as many. "
#define SINCE "2026-11-23T14:40Z"

static const struct claim claims[] = {
    {.id = "C31",
     .article = "smallest.ai",
     .quote = "In scenarios with high batch sizes and uniform input shapes—such as training "
              "pipelines or offline inference—this approach can bring solid performance gains. "
              "[...] While large fused kernels can offer modest gains in training or high-batch "
              "inference scenarios—where inputs are uniform and compute-heavy—the same strategies "
              "break down in real-time, low-batch inference. [...] Fusion techniques aim to reduce "
              "memory access and kernel launch overhead, and they can yield moderate gains in "
              "high-throughput or batched scenarios.",
     .clause = "the same strategies break down in real-time, low-batch inference",
     .since = "2026-11-24T10:35Z",
     .plain =
         {.yes = "At batch 1 one kernel gains nothing over a graph: {small} times in 1B, {large} "
                 "in 8B.",
          .no = "At batch 1 one kernel does a layer {small} times as fast as a graph in 1B, "
                "{large} in 8B.",
          .partly = "That one kernel gains nothing at batch 1: {parts}."},
     .surprise = 4,
     .statement = "At batch 1 a decoder's layer in one kernel is no faster than as a graph of "
                  "kernels.",
     .rule = "A layer at batch 1, context 1024, of 1B and 8B: a graph of a kernel for each "
             "operator over the fastest form of one kernel. REPRODUCED when that gain is 1.03 or "
             "less for both, REFUTED when it is more for both, MIXED otherwise. " READS
             "Negative control: over the graph of 8B a bare read of the bytes must gain more than "
             "1.03.",
     .judge = judge_c31,
     .needs = NEEDS(layer_read_needs, gain_needs, c31_said)},
    {.id = "C70",
     .article = "ai-rng",
     .quote = "These gains are often more visible in latency-sensitive systems than in "
              "throughput-only benchmarks because they reduce synchronization points and improve "
              "stability under concurrency.",
     .clause = "These gains are often more visible in latency-sensitive systems than in "
               "throughput-only benchmarks",
     .since = "2026-11-28T18:55Z",
     .plain = {.yes = "What fusing gains at batch 1 is {gelu}, {residual} and {qkv} times what it "
                      "gains at batch 256.",
               .no = "What fusing gains at batch 1 is only {gelu}, {residual} and {qkv} times what "
                     "it gains at batch 256.",
               .partly = "That fusing gains more at batch 1 than at batch 256: {parts}."},
     .surprise = 2,
     .statement = "The same fusion gains more at batch 1 than at batch 256.",
     .rule = "Three fusions of a product of 4096 columns: with bias and gelu, with bias and "
             "residual, and three products as one. The gain at batch 1 over the gain at batch 256. "
             "REPRODUCED when it is above 1.03 for all, REFUTED when it is below 1/1.03 for all, "
             "MIXED otherwise. Positive control: 256 rows take at least 1.2 times as long as one. "
             "Negative control: from run to run the gain of the first at batch 1 must not grow by "
             "1.03. Its gain in fp16 is said, not judged: the two types are two kernels.",
     .judge = judge_c70,
     .needs = NEEDS(c70_needs, c70_said)},
    {.id = "C72",
     .article = "8bit.tr",
     .quote = "Is it worth it for small models? Less so; benefits scale with model size.",
     .since = "2026-11-24T10:35Z",
     .plain = {.yes = "One kernel does a step of 1B {small} times as fast as a graph, of 8B, "
                      "larger, {large}.",
               .no = "One kernel does a step of 1B {small} times as fast as a graph, of 8B, "
                     "larger, only {large}.",
               .partly =
                   "Between: the gain of 8B is {grows:range} times that of 1B, against a limit "
                   "of {C72_MORE:%} to either side."},
     .surprise = 4,
     .statement = "At batch 1 one kernel gains more over a graph of kernels in a step of 8B, 16 GB "
                  "of weights, than in one of 1B, 2.5 GB.",
     .rule = "A whole step of one token, batch 1, context 1024: the graph of a kernel for each "
             "operator over the fastest form of one kernel, at 8B over at 1B. REPRODUCED above "
             "1.03, REFUTED below 1/1.03, MIXED otherwise; 3B is said beside them. " READS
             "Negative control: from run to run the gain of 1B must not grow by 1.03.",
     .judge = judge_c72,
     .needs = NEEDS(layer_read_needs, c72_needs, c72_said)},
    {.id = "C74",
     .article = "8bit.tr",
     .quote = "Track kernel-level speedups against real workloads, not just microbenchmarks. [...] "
              "Benchmark kernel changes in production-like environments to avoid lab-only gains.",
     .clause = "lab-only gains",
     .since = "2026-11-28T18:55Z",
     .plain = {.yes = "{off} of {all} ways to fuse gain in a step not what their layers let "
                      "expect: {worst} off.",
               .no = "All {all} ways to fuse gain in a step what their layers let expect, {worst} "
                     "off at worst.",
               .partly = "Whether a step gains what its layers let expect: {parts}."},
     .surprise = 2,
     .statement = "The gain of a whole step differs by more than 5 points from what the gains of "
                  "its layers, measured alone, let expect. That is what the advice warns of; the "
                  "advice itself is no claim.",
     .rule = "Six ways to fuse a layer, of 1B and 8B, over the graph of a kernel for each "
             "operator, batch 1 (the sixth, near, where the GPU's L2 has halves): the gain of a "
             "whole step, less the gain if only its 16 or 32 "
             "layers changed as a chain of layers does. REPRODUCED when one is off by more than "
             "0.05, REFUTED when none is, MIXED otherwise. 3B, measured in three rounds, is said, "
             "not judged. " READS "Negative control: cuBLASLt's "
             "products in the same graph, no fusion, must not be off by 0.05.",
     .judge = judge_c74,
     .needs = NEEDS(layer_read_needs, c74_needs)},
    {.id = "C88",
     .article = "ai-rng",
     .quote = "They change cost per token by changing throughput per GPU. [...] In practice, "
              "kernel optimization is one of the few levers that can improve both cost and user "
              "experience simultaneously.",
     .clause = "changing throughput per GPU",
     .since = "2026-11-28T18:55Z",
     .plain = {.yes = "One kernel makes {small} times the tokens/s of six a layer in 1B, "
                      "{large} in 8B.",
               .no = "One kernel makes as many tokens a second as six a layer: {small} times in "
                     "1B, {large} in 8B.",
               .partly = "That the packaging of the same bits changes tokens a second: {parts}."},
     .surprise = 1,
     .statement = "Ways to launch one step that give the same bits differ in tokens per second, at "
                  "batch 1.",
     .rule = "A whole step of one token, batch 1, context 1024, of 1B and 8B: a graph of six "
             "kernels a layer over the fastest form of one kernel, which gives the same bits. "
             "REPRODUCED when they differ by more than 1.03 for both, REFUTED when for neither, "
             "MIXED otherwise. " READS "Negative control: from run to run one packaging must not "
             "change by 1.03. Steps kernel by kernel, in a graph and by dependent kernels are "
             "said; the first two round elsewhere and give other bits. Batch 64 is not judged: it "
             "has no whole step and no one kernel; a layer of 8B kernel by kernel over fused is "
             "said. Money is not judged, joules are C88b's.",
     .judge = judge_c88,
     .needs = NEEDS(layer_read_needs, c88_needs, c88_said, c88_values)},
    {.id = "C88b",
     .article = "ai-rng",
     .quote =
         "In practice, kernel optimization is one of the few levers that can improve both cost "
         "and user experience simultaneously.",
     .clause = "",
     .since = "2026-11-27T15:02Z",
     .plain = {.yes = "Of those measured the fastest packaging takes the fewest joules a token: "
                      "the graph takes {small} times as many in 1B, {large} in 8B.",
               .no =
                   "Another packaging takes hardly more joules a token than the fastest, or fewer: "
                   "{other_small} times as many in 1B, {other_large} in 8B.",
               .partly = "That the fastest packaging takes the fewest joules a token: {parts}."},
     .surprise = 2,
     .statement = "Joules per token fall where tokens per second rise, and the packaging with the "
                  "best latency at batch 1 is also the best in both, among those whose joules are "
                  "measured: it and the graph, and in 1B dependent kernels. Tokens per second are "
                  "C88's; money is not judged.",
     .rule = "A whole step of one token, batch 1, context 1024, of 1B and 8B: joules of the board "
             "by its energy counter, in three rounds of a third of a second. REPRODUCED when the "
             "graph of a kernel for each operator takes more than 1.05 times the joules of the "
             "packaging with the least time, and none of those whose joules a run measures (the "
             "graph, in 1B also dependent) takes fewer than that one by 1.05, for both models; "
             "REFUTED when one of the two fails, for both; MIXED otherwise. Positive "
             "controls: a step of 8B takes at least 2.5 times the joules of one of 1B; the fastest "
             "makes more than 1.05 times the tokens of the graph. Negative controls: from round to "
             "round the joules of the graph of 1B must not change by 1.05; a bare read of its "
             "bytes must not take its joules.",
     .judge = judge_c88b,
     .needs = NEEDS(c88b_needs, c88b_others)},
};
CLAIM_SUBJECT(claims);
