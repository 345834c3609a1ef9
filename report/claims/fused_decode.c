/* The ledger: attention of one token, what fusion saves around it, and what layouts cost it. */
#include <math.h>
#include <stdio.h>

#include "core/document.h"
#include "report/claims/rules.h"

#define CASE(batch, context, type, impl)                                                           \
    "{batch=" #batch ",context=" #context ",heads=32,kv_heads=8,d=128,type=" type ",impl=" impl    \
    ",mode=graph,l2=cold"
#define TIME(batch, context, type, impl)                                                           \
    "attention_decode.time" CASE(batch, context, type, impl) ",timer=event}"
#define GRAPH_EDGE "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}"

static const struct need edge_needs[] = {{NEED_ONE, GRAPH_EDGE}, NEEDS_END};

/* One graph edge, the unit in which saved launches are counted (C29). */
static bool take_edge(const struct bundle *bundle, struct row *edge, struct finding *f)
{
    return RULE_TAKE(bundle, edge_needs, f, edge);
}

/* For each run: value of a minus value of b. */
static struct row less(const struct row *a, const struct row *b)
{
    struct row d = {.id = a->id, .unit = a->unit, .better = ROW_LOWER, .once = a->once || b->once};
    for (size_t i = 0; i < a->n; i++)
        row_put(&d, a->round[i], a->value[i] - row_at(b, a->round[i]), NAN);
    row_finish(&d);
    return d;
}

/* --- C59: layouts ----------------------------------------------------------------------------- */

static const double C59_DIFFERS = 2, C59_SAME = 1.2, C59_OF_READ = 0.7;

#define GEMV(layout, impl)                                                                         \
    "attention_decode.gemv_time{rows=16384,columns=2048,type=bf16,layout=" layout ",impl=" impl    \
    ",l2=cold,timer=event}"

/* The slowest of some rows over the fastest, run by run. */
static struct row worst_over_best(const struct row *rows, size_t n)
{
    struct row ratio = {.id = rows[0].id, .unit = "ratio", .better = ROW_LOWER, .once = true};
    for (size_t i = 0; i < rows[0].n; i++) {
        double least = INFINITY, most = -INFINITY;
        for (size_t j = 0; j < n; j++) {
            const double value = row_at(&rows[j], rows[0].round[i]);
            least = value < least ? value : least;
            most = value > most ? value : most;
            if (isnan(value)) /* a case that this round left out */
                most = NAN, least = NAN;
        }
        row_put(&ratio, rows[0].round[i], most / least, NAN);
    }
    row_finish(&ratio);
    return ratio;
}

static const struct need layout_needs[] = {{NEED_ONE, TIME(1, 8192, "bf16", "pages_16")},
                                           {NEED_ONE, TIME(1, 8192, "bf16", "pages_64")},
                                           {NEED_ONE, TIME(1, 8192, "bf16", "by_token")},
                                           {NEED_ONE, TIME(1, 8192, "bf16", "attention")},
                                           NEEDS_END};
static const struct need c59_needs[] = {
    {NEED_ONE, GEMV("rows", "along")},         {NEED_ONE, GEMV("columns", "along")},
    {NEED_ONE, GEMV("rows", "across")},        {NEED_ONE, GEMV("columns", "across")},
    {NEED_ONE, TIME(1, 8192, "bf16", "read")}, NEEDS_END};

static void judge_c59(const struct bundle *bundle, struct finding *f)
{
    struct row attention[4], along_rows, along_columns, across_rows, across_columns, read;
    if (!RULE_TAKE(bundle, layout_needs, f, &attention[0], &attention[1], &attention[2],
                   &attention[3]) ||
        !RULE_TAKE(bundle, c59_needs, f, &along_rows, &along_columns, &across_rows, &across_columns,
                   &read))
        return;

    const struct row ratios[] = {worst_over_best(attention, 4),
                                 rule_ratio(&along_columns, &along_rows),
                                 rule_ratio(&across_rows, &across_columns)};
    static const char *const what[] = {
        "attention over 8192 keys by head, by token, in pages of 16 and 64, slowest over fastest",
        "a product with a vector, lanes along the rows, matrix stored by columns over by rows",
        "lanes across the rows, by rows over by columns"};
    int differ = 0, same = 0;
    for (size_t i = 0; i < 3; i++) {
        rule_say_row(f->evidence, what[i], &ratios[i]);
        differ += rule_place(&ratios[i], C59_DIFFERS, INFINITY) == PLACE_INSIDE;
        same += rule_place(&ratios[i], 0, C59_SAME) == PLACE_INSIDE;
    }
    /* The product reads 64 MiB, the reading kernel 32. */
    struct row of_read = rule_ratio(&read, &along_rows),
               suited = rule_ratio(&across_columns, &along_rows);
    for (size_t i = 0; i < of_read.n; i++)
        of_read.value[i] *= 2;
    row_finish(&of_read);
    const bool positive = rule_place(&of_read, C59_OF_READ, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&suited, C59_DIFFERS, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, positive, "the product by rows reaches 0.7 of a read's rate",
                     &of_read);
    rule_say_control(f, false, negative,
                     "the two layouts, each with the lanes that suit it, differ twofold", &suited);
    rule_conclude(f,
                  differ > 0  ? CLAIM_REPRODUCED
                  : same == 3 ? CLAIM_REFUTED
                              : CLAIM_MIXED,
                  positive, negative);
}

/* --- C67: the append fused into attention ----------------------------------------------------- */

static const double C67_WITHIN = 0.10, C67_NOT = 0.5, C67_MATERIAL = 0.05, C67_NO_LAUNCH_NS = 200;
/* An H200's pins give 4.8e12: a rate beyond 6e12 is the L2's, not memory's. */
static const double C67_LEAST_RATE = 1e12, C67_MOST_RATE = 6e12;
enum { C67_FEW = 512, C67_MANY = 1024 };

/* The time of an append for %d sequences, by impl. */
#define APPEND                                                                                     \
    "attention_decode.time{batch=%d,context=16,heads=32,kv_heads=8,d=128,type=bf16,"               \
    "impl=%s,mode=graph,l2=cold,timer=event}"

static const struct need slope_needs[] = {{NEED_ANY, APPEND}, NEEDS_END};

/* Time for one more appended row, from 512 to 1024 of them. */
static bool take_slope(const struct bundle *bundle, const char *impl, struct row *slope,
                       struct finding *f)
{
    struct row a, b;
    if (!rule_take_formed(bundle, &a, f, APPEND, C67_MANY, impl) ||
        !rule_take_formed(bundle, &b, f, APPEND, C67_FEW, impl))
        return false;
    *slope = less(&a, &b);
    for (size_t i = 0; i < slope->n; i++)
        slope->value[i] /= C67_MANY - C67_FEW;
    row_finish(slope);
    return true;
}
#define NEW_ROWS(batch, context, impl)                                                             \
    "attention_decode.new_row_bytes" CASE(batch, context, "bf16", impl) "*"

/* The share of the predicted saving of bytes that the slopes show: what `more` takes beyond
 * `fewer`, in bytes at the latter's rate, over the count. */
static struct row fall_of(const struct row *more, const struct row *fewer, double bytes,
                          double predicted)
{
    struct row fall = rule_ratio(more, fewer);
    for (size_t i = 0; i < fall.n; i++)
        fall.value[i] = (fall.value[i] - 1) * bytes / predicted;
    row_finish(&fall);
    return fall;
}

static enum claim_verdict judge_passes(const struct row *fall)
{
    if (rule_place(fall, 1 - C67_WITHIN, 1 + C67_WITHIN) == PLACE_INSIDE)
        return CLAIM_REPRODUCED;
    return rule_place(fall, C67_NOT, INFINITY) == PLACE_BELOW ? CLAIM_REFUTED : CLAIM_MIXED;
}

static const struct need launch_needs[] = {
    {NEED_ONE, TIME(1, 8192, "bf16", "unfused")},
    {NEED_ONE, TIME(1, 8192, "bf16", "fused")},
    {NEED_ONE, "attention_decode.bytes" CASE(1, 8192, "bf16", "fused") "*"},
    {NEED_ONE, NEW_ROWS(1, 8192, "unfused")},
    {NEED_ONE, NEW_ROWS(1, 8192, "fused")},
    NEEDS_END};

static bool judge_launch(const struct bundle *bundle, struct finding *f)
{
    struct row edge, three, fused, bytes, new_rows, kept;
    if (!take_edge(bundle, &edge, f) ||
        !RULE_TAKE(bundle, launch_needs, f, &three, &fused, &bytes, &new_rows, &kept))
        return false;
    const struct row saved = less(&three, &fused), beyond = less(&saved, &edge);
    const double share = (new_rows.centre - kept.centre) / bytes.centre;
    rule_say_row(f->evidence, "launches, judged apart: one kernel instead of three saves", &saved);
    rule_say_row(f->evidence, "a graph edge is", &edge);
    rule_say(f->evidence,
             ": %s; by count the whole fusion saves %.0f bytes a step, %.2g of the "
             "attention's at 8192 keys: %s",
             claim_verdict_name(rule_place(&beyond, 0, INFINITY) == PLACE_INSIDE ? CLAIM_REPRODUCED
                                : saved.high < C67_NO_LAUNCH_NS                  ? CLAIM_REFUTED
                                                                                 : CLAIM_MIXED),
             new_rows.centre - kept.centre, share,
             share >= C67_MATERIAL ? "material" : "immaterial");
    return true;
}

static const struct need c67_needs[] = {{NEED_ONE, NEW_ROWS(1024, 16, "rope_then_append")},
                                        {NEED_ONE, NEW_ROWS(1024, 16, "append_kv")},
                                        NEEDS_END};

static void judge_c67(const struct bundle *bundle, struct finding *f)
{
    struct row two, one, plain, two_bytes, one_bytes;
    if (!take_slope(bundle, "rope_then_append", &two, f) ||
        !take_slope(bundle, "append_kv", &one, f) ||
        !take_slope(bundle, "append_plain", &plain, f) ||
        !RULE_TAKE(bundle, c67_needs, f, &two_bytes, &one_bytes))
        return;

    const double bytes = one_bytes.centre / C67_MANY;
    const double predicted = (two_bytes.centre - one_bytes.centre) / C67_MANY;
    struct row fall = fall_of(&two, &one, bytes, predicted);
    struct row none = fall_of(&plain, &one, bytes, predicted),
               rate = rule_rate(&one, bytes, "bytes/s");
    rule_say_row(f->evidence, "one more row in two kernels takes", &two);
    rule_say_row(f->evidence, "in one", &one);
    rule_say_row(f->evidence, "the fall in bytes that this shows, over that by count", &fall);
    if (!judge_launch(bundle, f))
        return;
    const bool positive = rule_place(&rate, C67_LEAST_RATE, C67_MOST_RATE) == PLACE_INSIDE;
    const bool negative = rule_place(&none, C67_NOT, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, positive, "a row in one kernel moves its bytes at 1 to 6 TB/s",
                     &rate);
    rule_say_control(f, false, negative, "an append without rope, of as many bytes, shows a fall",
                     &none);
    rule_conclude(f, judge_passes(&fall), positive, negative);
}

/* --- C91: an 8-bit cache ---------------------------------------------------------------------- */

static const double C91_CUTS = 0.7, C91_NOT = 0.95, C91_PAYS = 0.75;

static const struct need pays_needs[] = {{NEED_ANY, TIME(8, 32768, "e4m3", "attention")},
                                         {NEED_ANY, TIME(8, 32768, "int8", "attention")},
                                         {NEED_ANY, TIME(8, 32768, "bf16", "attention")},
                                         NEEDS_END};

/* Does it pay at all, compared with a bf16 cache? Evidence only. */
static void say_pays(const struct bundle *bundle, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row ratio;
    for (size_t i = 0; i < 2; i++)
        if (rule_take_ratio(bundle, pays_needs[i].id, pays_needs[2].id, &ratio, &ignored)) {
            rule_say_row(f->evidence,
                         i ? "of int8" : "C91b, 8 sequences of 32768 keys, cache of e4m3 over bf16",
                         &ratio);
            rule_say(f->evidence, ": %s",
                     claim_verdict_name(
                         rule_place(&ratio, 0, C91_PAYS) == PLACE_INSIDE   ? CLAIM_REPRODUCED
                         : rule_place(&ratio, 1, INFINITY) == PLACE_INSIDE ? CLAIM_REFUTED
                                                                           : CLAIM_MIXED));
        }
}

#define OF_CACHE                                                                                   \
    "attention_decode.time{batch=1,context=%d,heads=32,kv_heads=8,d=128,type=%s,impl=%s,"          \
    "mode=graph,l2=cold,timer=event}"

static const struct need dequantised_needs[] = {{NEED_ANY, OF_CACHE}, NEEDS_END};

/* Counts the ratios at or below 0.7, and those at or above 0.95. */
static bool take_ratios(const struct bundle *bundle, int *cut, int *not_cut, struct finding *f)
{
    static const char *const types[] = {"e4m3", "int8"};
    static const int contexts[] = {8192, 32768};
    char id[2][DOCUMENT_ID], what[64];
    struct row ratio;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 2; j++)
            snprintf(id[j], sizeof id[j], OF_CACHE, contexts[i % 2], types[i / 2],
                     j ? "dequantised" : "attention");
        if (!rule_take_ratio(bundle, id[0], id[1], &ratio, f))
            return false;
        snprintf(what, sizeof what, "in registers over beforehand, %s, %d keys", types[i / 2],
                 contexts[i % 2]);
        rule_say_row(f->evidence, what, &ratio);
        *cut += rule_place(&ratio, 0, C91_CUTS) == PLACE_INSIDE;
        *not_cut += rule_place(&ratio, C91_NOT, INFINITY) == PLACE_INSIDE;
    }
    return true;
}

static const struct need c91_needs[] = {
    {NEED_ONE, TIME(1, 8192, "e4m3", "append_separate")},
    {NEED_ONE, TIME(1, 8192, "e4m3", "append")},
    {NEED_ONE, "attention_decode.append_right{type=e4m3,impl=clamped}"},
    {NEED_ONE, "attention_decode.append_right{type=int8,impl=clamped}"},
    {NEED_ONE, "attention_decode.append_right{type=e4m3,impl=unclamped}"},
    {NEED_ONE, "attention_decode.append_right{type=int8,impl=unclamped}"},
    NEEDS_END};

static void judge_c91(const struct bundle *bundle, struct finding *f)
{
    struct row edge, apart, together, right[2], wrong[2];
    int cut = 0, not_cut = 0;
    if (!take_ratios(bundle, &cut, &not_cut, f) || !take_edge(bundle, &edge, f) ||
        !RULE_TAKE(bundle, c91_needs, f, &apart, &together, &right[0], &right[1], &wrong[0],
                   &wrong[1]))
        return;

    const struct row saved = less(&apart, &together), beyond = less(&saved, &edge);
    const bool saves = rule_place(&beyond, 0, INFINITY) == PLACE_INSIDE;
    const bool positive = right[0].low >= 1 && right[1].low >= 1;
    const bool negative = wrong[0].high < 1 && wrong[1].high < 1;
    rule_say_row(f->evidence, "rope, clamp, cast and store in one kernel save, of three", &saved);
    rule_say_row(f->evidence, "a graph edge is", &edge);
    say_pays(bundle, f);
    rule_say_control(f, true, positive, "rows beyond the range saturate, e4m3", &right[0]);
    rule_say_control(f, true, positive, "int8", &right[1]);
    rule_say_control(f, false, negative, "without the clamp they are right, e4m3", &wrong[0]);
    rule_say_control(f, false, negative, "int8", &wrong[1]);
    rule_conclude(f,
                  cut == 4 && saves ? CLAIM_REPRODUCED
                  : not_cut == 4    ? CLAIM_REFUTED
                                    : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C59",
     .article = "ai-rng",
     .quote =
         "A model that is mathematically identical can run very differently depending on layout.",
     .statement =
         "Best and worst layout of one operator differ 2x or more; operators stand for the model.",
     .rule =
         "Decode attention, bf16, over 8192 keys laid out by head, by token, in pages of 16 and of "
         "64; and a product of 16384 x 2048, stored by rows or by columns, with a vector, by one "
         "kernel: either with lanes along the rows or with lanes across them. REPRODUCED when "
         "slowest over fastest is 2 or more in any of the three, REFUTED when all are below 1.2, "
         "else MIXED. Positive control: the product by rows with lanes along them reaches 0.7 of "
         "the rate of a kernel that reads half as many bytes and drops them. Negative control: the "
         "two layouts, each with the lanes that suit it, must not differ twofold.",
     .judge = judge_c59,
     .needs = NEEDS(layout_needs, c59_needs)},
    {.id = "C67",
     .article = "ai-rng",
     .quote = "KV cache updates: kernels that combine attention computation with cache writes can "
              "reduce extra passes over memory.",
     .statement = "Bytes moved fall by the passes over the new rows (the article's words); the "
                  "launch saved is judged apart.",
     .rule = "Bytes are shown by the slope of time from 512 to 1024 appended rows a step, keys and "
             "values alone, into places of the cache that the L2 does not hold: rope and append in "
             "two kernels against one, at the rate of the latter, against the count of loads and "
             "stores. REPRODUCED when the fall is within 10 % of the count, REFUTED when it is "
             "below half of it, else MIXED; material from 5 % of the attention's bytes. The "
             "launch, apart: rope, append and attention in one kernel instead of three must save a "
             "graph edge. Positive control: the slope of one kernel implies 1 to 6 TB/s. Negative "
             "control: an append without rope, of as many bytes, must not show half of the fall.",
     .judge = judge_c67,
     .needs = NEEDS(slope_needs, c67_needs, edge_needs, launch_needs)},
    {.id = "C91",
     .article = "ai-rng",
     .quote = "Quantize or dequantize fusion | scale and clamp fused into matmul or attention | "
              "reduces conversion overhead",
     .statement = "Dequantising fp8 or int8 keys and values inside decode attention takes at most "
                  "0.7 of dequantise-then-attend from 8 K, and a fused append saves a graph edge; "
                  "products are C45.",
     .rule =
         "One sequence, 8192 and 32768 keys, e4m3 and int8, a scale for each head, graph, cold. "
         "REPRODUCED when all four ratios are at most 0.7 and rope, scale, clamp, cast and store "
         "in one kernel instead of three saves a graph edge or more, REFUTED when all four are "
         "0.95 or more, else MIXED. Positive control: rows beyond the range come out saturated. "
         "Negative control: by a cast without the clamp they must come out NaN or wrong.",
     .judge = judge_c91,
     .needs = NEEDS(dequantised_needs, edge_needs, c91_needs, pays_needs)},
};
CLAIM_SUBJECT(claims);
