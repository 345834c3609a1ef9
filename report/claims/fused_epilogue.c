/* The ledger: operators fused into a product's epilogue, and three products made one. */
#include <math.h>

#include "report/claims/fused.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define EPILOGUE(metric)                                                                           \
    "epilogue." metric "{m=%d,n=%d,k=%d,op=%s,type=%s,impl=%s,mode=graph,l2=cold"
#define TIME EPILOGUE("time") ",timer=event}"
#define BYTES EPILOGUE("bytes") "}"

static const struct need time_needs[] = {{NEED_ANY, TIME}, NEEDS_END};
static const struct need bytes_needs[] = {{NEED_ANY, BYTES}, NEEDS_END};

static bool take_time(const struct bundle *bundle, struct row *row, struct finding *f, int m, int n,
                      int k, const char *op, const char *type, const char *impl)
{
    return rule_take_formed(bundle, row, f, TIME, m, n, k, op, type, impl);
}

/* --- C46: bias, activation and residual in the product's epilogue ----------------------------- */

/* One layer with one epilogue, computed in four ways. */
struct layer {
    struct row fused, one_pass, unfused, product;
};

static bool take_layer(const struct bundle *bundle, struct layer *l, struct finding *f, int m,
                       const char *op, const char *type)
{
    static const char *const names[] = {"fused", "one_pass", "unfused", "product"};
    struct row *const rows[] = {&l->fused, &l->one_pass, &l->unfused, &l->product};

    for (size_t i = 0; i < COUNT(rows); i++)
        if (!take_time(bundle, rows[i], f, m, 4096, 4096, op, type, names[i]))
            return false;
    return true;
}

struct tally {
    int cells, faster, not_faster, slower, seen, impossible;
    double most; /* the product alone over the product with its epilogue */
};

/* By more than 3 %, round by round: the four are timed in turn, so the power limit affects all of
 * them alike in a round. */
static const double C46_DELTA = 0.03;
static bool is_faster_in_turn(const struct row *a, const struct row *b, struct finding *f)
{
    return rule_ratio(f, b, a).low > 1 + RULE_LIMIT(f, C46_DELTA);
}

static void count_layer(struct tally *t, const struct layer *l, struct finding *f, int m,
                        const char *op, const char *type)
{
    const struct row gain = rule_ratio(f, &l->one_pass, &l->fused);

    t->cells++;
    t->faster += is_faster_in_turn(&l->fused, &l->one_pass, f);
    t->not_faster += gain.high <= 1 + RULE_LIMIT(f, C46_DELTA);
    t->most = fmax(t->most, rule_ratio(f, &l->product, &l->fused).centre);
    t->slower += is_faster_in_turn(&l->one_pass, &l->fused, f);
    t->seen += is_faster_in_turn(&l->product, &l->unfused, f);
    t->impossible += is_faster_in_turn(&l->unfused, &l->one_pass, f) ||
                     is_faster_in_turn(&l->fused, &l->product, f);
    rule_say(f->evidence, "; %s %s m=%d %.3f (%.3f to %.3f), %.2f of two kernels behind it", op,
             type, m, gain.centre, gain.low, gain.high, l->unfused.centre / l->fused.centre);
}

static void judge_c46(const struct bundle *bundle, struct finding *f)
{
    static const struct {
        const char *op, *type;
        int rows[6]; /* ended by a 0 */
    } columns[] = {{"bias_gelu", "bf16", {1, 16, 256, 4096, 16384}},
                   {"bias_residual", "bf16", {1, 16, 256, 4096}},
                   {"bias_gelu", "fp16", {1, 256, 4096}}};
    struct tally t = {0};
    struct layer l;

    rule_say(f->evidence, "4096 x 4096, product and one kernel over the product finished inside");
    for (size_t j = 0; j < COUNT(columns); j++)
        for (const int *m = columns[j].rows; *m; m++) {
            if (!take_layer(bundle, &l, f, *m, columns[j].op, columns[j].type))
                return;
            count_layer(&t, &l, f, *m, columns[j].op, columns[j].type);
        }
    rule_say(f->evidence, "; faster in %d of %d, slower in %d", t.faster, t.cells, t.slower);
    rule_say(f->controls,
             "positive control: two kernels behind the product are seen in %d of %d, all needed",
             t.seen, t.cells);
    rule_say(
        f->controls,
        "; negative control: two kernels read faster than one, or the finished product than "
        "the product alone, by more than 3 %% in %d, none allowed; the latter by %.1f %% at most",
        t.impossible, 100 * (t.most - 1));
    rule_say_check(f, true, t.seen == t.cells, "two kernels behind the product are seen", t.seen,
                   "count");
    rule_say_check(f, false, t.impossible == 0, "two kernels read faster than one", t.impossible,
                   "count");
    rule_say_count(f, "cells", (size_t)t.cells);
    rule_say_count(f, "faster", (size_t)t.faster);
    rule_say_count(f, "not", (size_t)t.not_faster);
    rule_say_count(f, "slower", (size_t)t.slower);
    rule_conclude(f,
                  t.faster == t.cells       ? CLAIM_REPRODUCED
                  : t.not_faster == t.cells ? CLAIM_REFUTED
                                            : CLAIM_MIXED,
                  t.seen == t.cells, t.impossible == 0);
}

/* --- C90: three products of one input made one ------------------------------------------------ */

static const double C90_SHORTER = 0.05, C90_NEAR = 0.03;

struct projections {
    struct row fused, unfused, branches, grouped, own, split, fused_bytes, unfused_bytes;
    struct row batched; /* only if the three have the same shape */
    bool has_batched;
};

static bool take_projections(const struct bundle *bundle, struct projections *p, struct finding *f,
                             int m, int n, int k)
{
    static const char *const names[] = {"fused", "unfused", "branches", "grouped", "own", "split"};
    struct row *const rows[] = {&p->fused,   &p->unfused, &p->branches,
                                &p->grouped, &p->own,     &p->split};
    struct finding ignored = rule_aside(f);

    for (size_t i = 0; i < COUNT(rows); i++)
        if (!take_time(bundle, rows[i], f, m, n, k, "qkv", "bf16", names[i]))
            return false;
    p->has_batched = take_time(bundle, &p->batched, &ignored, m, n, k, "qkv", "bf16", "batched");
    return rule_take_formed(bundle, &p->fused_bytes, f, BYTES, m, n, k, "qkv", "bf16", "fused") &&
           rule_take_formed(bundle, &p->unfused_bytes, f, BYTES, m, n, k, "qkv", "bf16", "unfused");
}

/* Cells in which another way comes within 3 % of the one product, and in which it does not; in the
 * rest its interval holds the limit. */
struct nearness {
    int near, far;
};

/* In how many of the cells: the one product takes at most 0.95 of three, is faster than them, has
 * another way near it. */
struct projection_tally {
    int cells, shorter, faster, by_bytes, split_seen, false_gains;
    struct nearness parallel, one_launch;
};

/* By the ratio of each round. Below: it is near. */
static enum place nearness_of(struct finding *f, const struct projections *p,
                              const struct row *other)
{
    const struct row ratio = rule_ratio(f, other, &p->fused);
    return rule_place(&ratio, 1 + RULE_LIMIT(f, C90_NEAR), INFINITY);
}

/* The nearer of the kernels that compute the three products in one launch: grouped, or batched by
 * cuBLAS. */
static enum place nearness_of_one_launch(struct finding *f, const struct projections *p)
{
    const enum place grouped = nearness_of(f, p, &p->grouped);
    const enum place batched = p->has_batched ? nearness_of(f, p, &p->batched) : PLACE_INSIDE;

    if (grouped == PLACE_BELOW || batched == PLACE_BELOW)
        return PLACE_BELOW;
    return grouped == PLACE_INSIDE && batched == PLACE_INSIDE ? PLACE_INSIDE : PLACE_STRADDLES;
}

static void count_near(struct nearness *n, enum place place)
{
    n->near += place == PLACE_BELOW;
    n->far += place == PLACE_INSIDE;
}

static void say_projections(const struct projections *p, struct finding *f, int m, int n)
{
    rule_say(f->evidence, "; n=%d m=%d %.2f of the time (branches %.2f, grouped %.2f), %.4f bytes",
             n, m, p->fused.centre / p->unfused.centre, p->branches.centre / p->unfused.centre,
             p->grouped.centre / p->unfused.centre,
             p->fused_bytes.centre / p->unfused_bytes.centre);
}

static void count_projections(struct projection_tally *t, const struct projections *p,
                              struct finding *f, int m)
{
    const struct row ratio = rule_ratio(f, &p->fused, &p->unfused);
    const struct row none = rule_ratio(f, &p->own, &p->grouped);
    const double bytes = p->fused_bytes.centre / p->unfused_bytes.centre;
    const double most = 1 - RULE_LIMIT(f, C90_SHORTER);

    rule_say_figure(f, m == 1 ? "row" : "rows", &ratio);
    t->cells++;
    t->shorter += ratio.high <= most;
    t->faster += rule_faster(f, &p->fused, &p->unfused);
    count_near(&t->parallel, nearness_of(f, p, &p->branches));
    count_near(&t->one_launch, nearness_of_one_launch(f, p));
    t->by_bytes += 1 - bytes >= 0.5 * (1 - ratio.centre);
    t->split_seen += m == 1 && rule_faster(f, &p->fused, &p->split);
    t->false_gains += none.high <= most;
}

/* Shapes and rows that are measured in three rounds: said and not judged. */
static void say_others(const struct bundle *bundle, struct finding *f)
{
    static const int others[][3] = {
        {1, 3072, 2048}, {16, 3072, 2048}, {256, 6144, 4096}, {1, 12288, 4096}, {16, 12288, 4096}};
    struct finding aside = rule_aside(f);
    struct projections p;

    rule_say(f->evidence, "; not judged");
    for (size_t i = 0; i < COUNT(others); i++)
        if (take_projections(bundle, &p, &aside, others[i][0], others[i][1], others[i][2]))
            say_projections(&p, f, others[i][0], others[i][1]);
}

static bool count_all(const struct bundle *bundle, struct projection_tally *t, struct finding *f)
{
    static const int rows[] = {1, 16};
    struct projections p;

    rule_say(f->evidence, "one product over the three in sequence");
    for (size_t j = 0; j < COUNT(rows); j++) {
        if (!take_projections(bundle, &p, f, rows[j], 6144, 4096))
            return false;
        say_projections(&p, f, rows[j], 6144);
        count_projections(t, &p, f, rows[j]);
    }
    return true;
}

static bool say_split(const struct projection_tally *t, struct finding *f)
{
    rule_say(f->controls, "positive control: a copy behind the one product is seen at one row: %s",
             t->split_seen ? "passed" : "FAILED");
    rule_say_check(f, true, t->split_seen == 1, "a copy behind the one product is seen at one row",
                   t->split_seen, "count");
    return t->split_seen == 1;
}

static void judge_c90(const struct bundle *bundle, struct finding *f)
{
    struct projection_tally t = {0};

    if (!count_all(bundle, &t, f))
        return;
    rule_say(f->evidence,
             "; at most 0.95 in %d of %d; parallel branches come within 3 %% in %d, do not in %d; "
             "the bytes saved are half of the gain in %d",
             t.shorter, t.cells, t.parallel.near, t.parallel.far, t.by_bytes);
    say_others(bundle, f);
    const bool positive = say_split(&t, f);
    rule_say(f->controls,
             "; negative control: our one product against our three in one launch, the same "
             "blocks, reads at most 0.95 in %d cases, none allowed",
             t.false_gains);
    rule_say_check(f, false, t.false_gains == 0, "one product gains over three in one launch",
                   t.false_gains, "count");
    rule_say_count(f, "cells", (size_t)t.cells);
    rule_say_count(f, "shorter", (size_t)t.shorter);
    rule_say_count(f, "parallel", (size_t)t.parallel.near);
    rule_conclude(f,
                  t.faster == 0 || t.parallel.near == t.cells              ? CLAIM_REFUTED
                  : t.shorter == t.cells && t.parallel.far == t.cells ? CLAIM_REPRODUCED
                                                                           : CLAIM_MIXED,
                  positive, t.false_gains == 0);
}

/* --- C90b: is it the one launch? -------------------------------------------------------------- */

static void judge_c90b(const struct bundle *bundle, struct finding *f)
{
    struct projection_tally t = {0};

    if (!count_all(bundle, &t, f))
        return;
    rule_say(f->evidence, "; three products in one launch come as near as 3 %% in %d of %d",
             t.one_launch.near, t.cells);
    const bool positive = say_split(&t, f);
    rule_say(f->controls,
             "; negative control: three launches in sequence come as near in %d, none allowed",
             t.cells - t.faster);
    rule_say_check(f, false, t.faster == t.cells, "three launches come as near", t.cells - t.faster,
                   "count");
    rule_say_count(f, "cells", (size_t)t.cells);
    rule_say_count(f, "one", (size_t)t.one_launch.near);
    rule_say_count(f, "far", (size_t)t.one_launch.far);
    rule_conclude(f,
                  t.one_launch.near == t.cells  ? CLAIM_REPRODUCED
                  : t.one_launch.far == t.cells ? CLAIM_REFUTED
                                                : CLAIM_MIXED,
                  positive, t.faster == t.cells);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C46",
     .article = "8bit.tr",
     .quote = "Layer norm, activation functions, and linear layers benefit from fusion.",
     .clause = "linear layers benefit from fusion",
     .since = "2026-11-22",
     .plain = {.yes = "Bias, GELU or residual is faster inside the product in all {cells} cases.",
               .no =
                   "Bias, GELU or residual is faster inside the product in none of {cells} cases.",
               .partly =
                   "Bias or GELU faster in the product: holds in {faster} of {cells} cases, does "
                   "not in {not}."},
     .surprise = 2,
     .statement = "Bias and GELU, and bias and residual, in the epilogue of a product are faster "
                  "than in a kernel of their own, for 1 to 16384 rows.",
     .rule = "A 4096 x 4096 layer by graph, weights out of the L2; the best epilogue (each "
             "algorithm that cuBLASLt offers, and our own kernel) against the best product and one "
             "kernel behind it that does both operators in place, timed in turn, so that ratios "
             "are taken round by round: faster is a ratio whose interval lies above 1.03. "
             "REPRODUCED when faster at 1, 16, 256, 4096 and 16384 rows with bias and GELU in "
             "bf16, at 1, 256 and 4096 in fp16, and at 1, 16, 256 and 4096 with bias and residual "
             "in bf16; REFUTED when no interval goes beyond 1.03; MIXED otherwise. Positive "
             "control: two kernels behind the product are slower than the product alone, "
             "everywhere. Negative control: two kernels behind it must not read faster than one, "
             "nor the finished product than the product alone, by more than 3 %.",
     .judge = judge_c46,
     .needs = NEEDS(time_needs)},
    {.id = "C90",
     .article = "ai-rng",
     .quote = "Attention blocks | QKV projection, attention score, softmax, value aggregation | "
              "large speedups because attention is bandwidth-heavy",
     .clause = "QKV projection",
     .since = "2026-11-29T03:00Z",
     .plain = {.yes = "One product for Q, K, V takes {row:%} of three's time at 1 row, {rows:%} at "
                      "16, parallel launches more.",
               .no = "One product for Q, K, V takes {row:%} of three's time at 1 row, {rows:%} at "
                     "16: no gain over parallel launches.",
               .partly = "One product for Q, K, V beats three: holds in {shorter} of {cells} "
                         "cases; three in parallel: in {parallel} does not."},
     .surprise = 4,
     .statement =
         "One product over concatenated Q, K and V weights of an 8B layer takes at most 0.95 of "
         "three products, launched one by one, at 1 and 16 rows, and parallel launches do not do "
         "as well; projection and attention in one kernel are not covered.",
     .rule = "bf16, by graph, weights out of the L2, timed in turn in every round, each product by "
             "the best of cuBLASLt's algorithms, cuBLAS and our kernels. REPRODUCED when the one "
             "product takes at most 0.95 of the three in sequence at 1 and at 16 rows, and three "
             "parallel branches of the graph do not come within 3 % of it. REFUTED when it is "
             "nowhere faster by more than 3 %, or when the branches come as near at both row "
             "counts: then fusion is not needed. MIXED otherwise. One launch that computes the "
             "three is a fusion of them, and no rival: C90b. Said beside it: whether the bytes "
             "saved, two more readings of the input, are half of the gain; other shapes, and 256 "
             "rows. Positive control: a copy behind the one product is seen. Negative control: our "
             "kernel's one product must not read 0.95 of the same blocks writing three outputs.",
     .judge = judge_c90,
     .needs = NEEDS(time_needs, bytes_needs)},
    {.id = "C90b",
     .article = "ai-rng",
     .quote = "Attention blocks | QKV projection, attention score, softmax, value aggregation | "
              "large speedups because attention is bandwidth-heavy",
     .clause = "",
     .since = "2026-11-29T03:00Z",
     .plain =
         {.yes = "Three products in one launch come as near as 3 % in {one} of {cells} cases.",
          .no = "Three products in one launch come as near as 3 % in only {one} of {cells} cases.",
          .partly = "One launch of three within 3 % of one product: holds in {one} of {cells} "
                    "cases, does not in {far}."},
     .surprise = 4,
     .statement =
         "What makes one product over Q, K and V faster than three is that it is one launch: three "
         "products in one launch, each with weights and results of its own, are as fast.",
     .rule =
         "The figures of C90, at 1 and 16 rows. REPRODUCED when at both three products in one "
         "launch (our grouped kernel, or cuBLAS batched where the shapes are alike) come within 3 "
         "% of the one product, REFUTED when at neither, MIXED otherwise. Positive control: as for "
         "C90. Negative control: at neither may three launches in sequence come within 3 % of it.",
     .judge = judge_c90b,
     .needs = NEEDS(time_needs, bytes_needs)},
};
CLAIM_SUBJECT(claims);
