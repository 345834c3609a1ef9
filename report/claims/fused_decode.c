/* The ledger: attention of one token, what fusion saves around it, and what layouts cost it. */
#include <math.h>
#include <stdio.h>

#include "core/document.h"
#include "report/claims/fused.h"

#define CASE(batch, context, type, impl)                                                           \
    "{batch=" #batch ",context=" #context ",heads=32,kv_heads=8,d=128,type=" type ",impl=" impl    \
    ",mode=graph,l2=cold"
#define TIME(batch, context, type, impl)                                                           \
    "attention_decode.time" CASE(batch, context, type, impl) ",timer=event}"
#define GRAPH_EDGE "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}"

/* --- C59: layouts ----------------------------------------------------------------------------- */

static const double C59_DIFFERS = 2, C59_SAME = 1.2, C59_OF_READ = 0.7, C59_BEYOND = 0.2;

#define GEMV(layout, impl)                                                                         \
    "attention_decode.gemv_time{rows=16384,columns=2048,type=bf16,layout=" layout ",impl=" impl    \
    ",l2=cold,timer=event}"

/* The slowest of some rows over the fastest; NaN where a run has left one out. */
static double spread_of(const double *value, const void *n)
{
    double least = value[0], most = value[0];
    for (size_t i = 0; i < *(const size_t *)n; i++) {
        if (isnan(value[i]))
            return NAN;
        least = fmin(least, value[i]);
        most = fmax(most, value[i]);
    }
    return most / least;
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

/* Layouts of the cache, measured in three rounds: said and not judged. */
static void say_attention(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row rows[4];
    if (!RULE_TAKE(bundle, layout_needs, &aside, &rows[0], &rows[1], &rows[2], &rows[3]))
        return;
    const size_t n = 4;
    const struct row *const from[] = {&rows[0], &rows[1], &rows[2], &rows[3]};
    const struct row ratio = rule_formed(&aside, from, n, "ratio", spread_of, &n);
    rule_say_row(f,
                 "not judged: attention over 8192 keys by head, by token, in pages of 16 and 64, "
                 "slowest over fastest",
                 &ratio);
}

static void judge_c59(const struct bundle *bundle, struct finding *f)
{
    struct row along_rows, along_columns, across_rows, across_columns, read;
    if (!RULE_TAKE(bundle, c59_needs, f, &along_rows, &along_columns, &across_rows, &across_columns,
                   &read))
        return;

    const struct row ratios[] = {rule_ratio(f, &along_columns, &along_rows),
                                 rule_ratio(f, &across_rows, &across_columns)};
    static const char *const what[] = {
        "a product with a vector, lanes along the rows, matrix stored by columns over by rows",
        "lanes across the rows, by rows over by columns"};
    const double twofold = RULE_LIMIT(f, C59_DIFFERS), alike = RULE_LIMIT(f, C59_SAME);
    int differ = 0, same = 0;
    for (size_t i = 0; i < 2; i++) {
        rule_say_row(f, what[i], &ratios[i]);
        differ += fused_at_least(&ratios[i], twofold);
        same += fused_below(&ratios[i], alike);
    }
    say_attention(bundle, f);
    /* The product reads 64 MiB, the reading kernel 32. */
    struct row of_read = rule_ratio(f, &read, &along_rows);
    const struct row suited = rule_ratio(f, &across_columns, &along_rows);
    for (size_t i = 0; i < of_read.n; i++)
        of_read.value[i] *= 2;
    row_finish(&of_read);
    const bool positive = rule_place(&of_read, RULE_LIMIT(f, C59_OF_READ),
                                     1 + RULE_LIMIT(f, C59_BEYOND)) == PLACE_INSIDE;
    const bool negative = fused_below(&suited, twofold);
    rule_say_control(f, true, positive, "the product by rows runs at 0.7 to 1.2 of a read's rate",
                     &of_read);
    rule_say_control(f, false, negative,
                     "the two layouts, each with the lanes that suit it, differ twofold", &suited);
    rule_say_figure(f, "along", &ratios[0]);
    rule_say_figure(f, "across", &ratios[1]);
    rule_say_part(f, "lanes along the rows",
                  fused_at_least(&ratios[0], twofold) ? CLAIM_REPRODUCED
                  : fused_below(&ratios[0], alike)    ? CLAIM_REFUTED
                                                      : CLAIM_MIXED,
                  &ratios[0], twofold);
    rule_say_part(f, "lanes across them",
                  fused_at_least(&ratios[1], twofold) ? CLAIM_REPRODUCED
                  : fused_below(&ratios[1], alike)    ? CLAIM_REFUTED
                                                      : CLAIM_MIXED,
                  &ratios[1], twofold);
    rule_conclude(f,
                  differ > 0  ? CLAIM_REPRODUCED
                  : same == 2 ? CLAIM_REFUTED
                              : CLAIM_MIXED,
                  positive, negative);
}

/* --- C67: the append fused into attention ----------------------------------------------------- */

static const double C67_WITHIN = 0.10, C67_NOT = 0.5, C67_MATERIAL = 0.05;
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
    *slope = rule_less(f, &a, &b);
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
                          double predicted, struct finding *f)
{
    struct row fall = rule_ratio(f, more, fewer);
    for (size_t i = 0; i < fall.n; i++)
        fall.value[i] = (fall.value[i] - 1) * bytes / predicted;
    row_finish(&fall);
    return fall;
}

static enum claim_verdict judge_passes(const struct row *fall, struct finding *f)
{
    const double within = RULE_LIMIT(f, C67_WITHIN), little = RULE_LIMIT(f, C67_NOT);
    if (rule_place(fall, 1 - within, 1 + within) == PLACE_INSIDE)
        return CLAIM_REPRODUCED;
    return fused_below(fall, little) ? CLAIM_REFUTED : CLAIM_MIXED;
}

static const struct need c67_needs[] = {
    {NEED_ONE, NEW_ROWS(1024, 16, "rope_then_append")},
    {NEED_ONE, NEW_ROWS(1024, 16, "append_kv")},
    {NEED_ONE, NEW_ROWS(1, 8192, "unfused")},
    {NEED_ONE, NEW_ROWS(1, 8192, "fused")},
    {NEED_ONE, "attention_decode.bytes" CASE(1, 8192, "bf16", "fused") "*"},
    NEEDS_END};

static void judge_c67(const struct bundle *bundle, struct finding *f)
{
    struct row two, one, plain, two_bytes, one_bytes, new_rows, kept, all;
    if (!take_slope(bundle, "rope_then_append", &two, f) ||
        !take_slope(bundle, "append_kv", &one, f) ||
        !take_slope(bundle, "append_plain", &plain, f) ||
        !RULE_TAKE(bundle, c67_needs, f, &two_bytes, &one_bytes, &new_rows, &kept, &all))
        return;

    const double bytes = one_bytes.centre / C67_MANY;
    const double predicted = (two_bytes.centre - one_bytes.centre) / C67_MANY;
    const double share = (new_rows.centre - kept.centre) / all.centre;
    const struct row fall = fall_of(&two, &one, bytes, predicted, f);
    const struct row none = fall_of(&plain, &one, bytes, predicted, f);
    const struct row rate = rule_rate(f, &one, bytes, "bytes/s");
    rule_say_row(f, "one more row in two kernels takes", &two);
    rule_say_row(f, "in one", &one);
    rule_say_row(f, "the fall in bytes that this shows, over that by count", &fall);
    rule_say(f->evidence,
             "; bytes not counted: the L2 is swept between two operations; of attention over 8192 "
             "keys the fall is %.2g of the bytes, %s",
             share, share >= C67_MATERIAL ? "material" : "immaterial");
    const bool positive = rule_place(&rate, RULE_LIMIT(f, C67_LEAST_RATE),
                                     RULE_LIMIT(f, C67_MOST_RATE)) == PLACE_INSIDE;
    const bool negative = fused_below(&none, RULE_LIMIT(f, C67_NOT));
    rule_say_control(f, true, positive, "a row in one kernel moves its bytes at 1 to 6 TB/s",
                     &rate);
    rule_say_control(f, false, negative, "an append without rope, of as many bytes, shows a fall",
                     &none);
    rule_say_figure(f, "two", &two);
    rule_say_figure(f, "one", &one);
    rule_say_figure(f, "fall", &fall);
    rule_conclude(f, judge_passes(&fall, f), positive, negative);
}

/* --- C67b: the launches that it saves --------------------------------------------------------- */

static const double C67B_WHOLE = 1, C67B_NONE = 0.2;

static const struct need c67b_needs[] = {{NEED_ONE, GRAPH_EDGE},
                                         {NEED_ONE, TIME(1, 8192, "bf16", "unfused")},
                                         {NEED_ONE, TIME(1, 8192, "bf16", "fused")},
                                         {NEED_ONE, TIME(1, 8192, "bf16", "attention")},
                                         NEEDS_END};

static void judge_c67b(const struct bundle *bundle, struct finding *f)
{
    struct row edge, three, fused, attention;
    if (!RULE_TAKE(bundle, c67b_needs, f, &edge, &three, &fused, &attention))
        return;

    const struct row saved = rule_less(f, &three, &fused), extra = rule_less(f, &three, &attention);
    const struct row beside = rule_less(f, &fused, &attention);
    const struct row edges = rule_ratio(f, &saved, &edge), seen = rule_ratio(f, &extra, &edge);
    const struct row none = rule_ratio(f, &beside, &edge);
    const double whole = RULE_LIMIT(f, C67B_WHOLE);
    const bool positive = fused_at_least(&seen, whole), negative = fused_below(&none, whole);
    rule_say_row(f, "rope, append and attention in one kernel save, of three", &saved);
    rule_say_row(f, "a graph edge is", &edge);
    rule_say_row(f, "saved, in edges", &edges);
    rule_say_control(f, true, positive,
                     "three kernels take an edge more than attention alone, in "
                     "edges",
                     &seen);
    rule_say_control(f, false, negative, "so does the one kernel, which has none more, in edges",
                     &none);
    rule_say_figure(f, "saved", &saved);
    rule_say_figure(f, "edges", &edges);
    rule_conclude(f,
                  fused_at_least(&edges, whole)                   ? CLAIM_REPRODUCED
                  : fused_below(&edges, RULE_LIMIT(f, C67B_NONE)) ? CLAIM_REFUTED
                                                                  : CLAIM_MIXED,
                  positive, negative);
}

/* --- C91: an 8-bit cache ---------------------------------------------------------------------- */

static const double C91_CUTS = 0.7, C91_NOT = 0.95, C91_SEEN = 4;

#define OF_CACHE                                                                                   \
    "attention_decode.time{batch=1,context=%d,heads=32,kv_heads=8,d=128,type=%s,impl=%s,"          \
    "mode=graph,l2=cold,timer=event}"

static const struct need dequantised_needs[] = {{NEED_ANY, OF_CACHE}, NEEDS_END};
static const char *const cache_types[] = {"e4m3", "int8"};

static bool take_cut(const struct bundle *bundle, int context, const char *type, struct row *ratio,
                     struct finding *f)
{
    char id[2][DOCUMENT_ID], what[64];
    for (int j = 0; j < 2; j++)
        snprintf(id[j], sizeof id[j], OF_CACHE, context, type, j ? "dequantised" : "attention");
    if (!rule_take_ratio(bundle, id[0], id[1], ratio, f))
        return false;
    snprintf(what, sizeof what, "%s, %d keys", type, context);
    rule_say_row(f, what, ratio);
    return true;
}

/* Longer caches, measured in three rounds: said and not judged. */
static void say_longer(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row ratio;
    for (int i = 0; i < 2; i++)
        if (take_cut(bundle, 32768, cache_types[i], &ratio, &aside))
            rule_say(f->evidence, "; not judged: %s, 32768 keys %.3f", cache_types[i],
                     ratio.centre);
}

static const struct need c91_needs[] = {
    {NEED_ONE, GRAPH_EDGE},
    {NEED_ONE, TIME(1, 8192, "e4m3", "append_separate")},
    {NEED_ONE, TIME(1, 8192, "e4m3", "append")},
    {NEED_ONE, TIME(8, 32768, "e4m3", "attention")},
    {NEED_ONE, TIME(1, 8192, "e4m3", "attention")},
    {NEED_ONE, "attention_decode.append_right{type=e4m3,impl=clamped}"},
    {NEED_ONE, "attention_decode.append_right{type=int8,impl=clamped}"},
    {NEED_ONE, "attention_decode.append_right{type=e4m3,impl=unclamped}"},
    {NEED_ONE, "attention_decode.append_right{type=int8,impl=unclamped}"},
    NEEDS_END};

static void judge_c91(const struct bundle *bundle, struct finding *f)
{
    struct row edge, apart, together, much, little, right[2], wrong[2], ratio;
    const double cuts = RULE_LIMIT(f, C91_CUTS), idle = RULE_LIMIT(f, C91_NOT);
    int cut = 0, not_cut = 0;
    rule_say(f->evidence, "dequantised in registers over beforehand");
    for (int i = 0; i < 2; i++) {
        if (!take_cut(bundle, 8192, cache_types[i], &ratio, f))
            return;
        rule_say_figure(f, cache_types[i], &ratio);
        rule_say_part(f, cache_types[i], rule_band(rule_place(&ratio, 0, cuts)), &ratio, cuts);
        cut += fused_below(&ratio, cuts);
        not_cut += fused_at_least(&ratio, idle);
    }
    if (!RULE_TAKE(bundle, c91_needs, f, &edge, &apart, &together, &much, &little, &right[0],
                   &right[1], &wrong[0], &wrong[1]))
        return;

    say_longer(bundle, f);
    const struct row saved = rule_less(f, &apart, &together), beyond = rule_less(f, &saved, &edge);
    const struct row grows = rule_ratio(f, &much, &little);
    const bool saves = fused_at_least(&beyond, 0);
    const bool sees = fused_at_least(&grows, RULE_LIMIT(f, C91_SEEN));
    const bool positive = sees && right[0].low >= 1 && right[1].low >= 1;
    const bool negative = wrong[0].high < 1 && wrong[1].high < 1;
    rule_say_row(f, "rope, clamp, cast and store in one kernel save, of three", &saved);
    rule_say_row(f, "a graph edge is", &edge);
    rule_say_control(f, true, right[0].low >= 1, "rows beyond the range saturate, e4m3", &right[0]);
    rule_say_control(f, true, right[1].low >= 1, "int8", &right[1]);
    rule_say_control(f, true, sees, "32 times the keys take longer, times", &grows);
    rule_say_control(f, false, negative, "without the clamp they are right, e4m3", &wrong[0]);
    rule_say_control(f, false, negative, "int8", &wrong[1]);
    rule_say_figure(f, "saved", &saved);
    rule_say_part(f, "an append that saves a launch", saves ? CLAIM_REPRODUCED : CLAIM_REFUTED,
                  &saved, NAN);
    rule_conclude(f,
                  cut == 2 && saves ? CLAIM_REPRODUCED
                  : not_cut == 2    ? CLAIM_REFUTED
                                    : CLAIM_MIXED,
                  positive, negative);
}

/* --- C91b: does an 8-bit cache pay? ----------------------------------------------------------- */

static const double C91B_PAYS = 0.75, C91B_READ = 1.5;

static const struct need c91b_needs[] = {{NEED_ONE, TIME(8, 32768, "e4m3", "attention")},
                                         {NEED_ONE, TIME(8, 32768, "bf16", "attention")},
                                         {NEED_ONE, TIME(1, 8192, "bf16", "attention")},
                                         {NEED_ONE, TIME(1, 65536, "bf16", "attention")},
                                         {NEED_ONE, TIME(1, 65536, "bf16", "read")},
                                         NEEDS_END};

static void judge_c91b(const struct bundle *bundle, struct finding *f)
{
    struct row narrow, wide, little, attention, read;
    if (!RULE_TAKE(bundle, c91b_needs, f, &narrow, &wide, &little, &attention, &read))
        return;

    const struct row ratio = rule_ratio(f, &narrow, &wide), grows = rule_ratio(f, &wide, &little);
    const struct row same = rule_ratio(f, &read, &attention);
    const double pays = RULE_LIMIT(f, C91B_PAYS);
    const bool positive = fused_at_least(&grows, RULE_LIMIT(f, C91_SEEN));
    const bool negative =
        fused_at_least(&same, pays) && fused_below(&same, RULE_LIMIT(f, C91B_READ));
    rule_say_row(f, "attention, 8 sequences of 32768 keys, cache of e4m3 over bf16", &ratio);
    rule_say_control(f, true, positive, "32 times the keys take longer, bf16, times", &grows);
    rule_say_control(f, false, negative,
                     "a kernel that reads as many bytes as attention pays against it", &same);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f,
                  fused_below(&ratio, pays)   ? CLAIM_REPRODUCED
                  : fused_at_least(&ratio, 1) ? CLAIM_REFUTED
                                              : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C59",
     .article = "ai-rng",
     .quote =
         "A model that is mathematically identical can run very differently depending on layout.",
     .clause = "mathematically identical can run very differently depending on layout",
     .since = "2026-11-22",
     .plain = {.yes = "A product takes {along} or {across} times as long in the layout that does "
                      "not suit it.",
               .no = "A product takes {along} or {across} times as long in the other layout: no "
                     "difference.",
               .partly = "The other layout makes a product take twice the time: {parts}."},
     .surprise = 1,
     .statement = "Two layouts of one operator's operand differ 2x or more; an operator stands for "
                  "the model.",
     .rule = "A product of 16384 x 2048, bf16, not in the L2, stored by rows or by columns, with a "
             "vector, by one kernel: either with lanes along the rows or with lanes across them. "
             "REPRODUCED when slower over faster is 2 or more in one of the two, REFUTED when both "
             "are below 1.2, else MIXED. Layouts of a cache under decode attention are said beside "
             "it. Positive control: the product by rows with lanes along them runs at 0.7 to 1.2 "
             "of the rate of a kernel that reads half as many bytes and drops them. Negative "
             "control: the two layouts, each with the lanes that suit it, must not differ twofold.",
     .judge = judge_c59,
     .needs = NEEDS(layout_needs, c59_needs)},
    {.id = "C67",
     .article = "ai-rng",
     .quote = "KV cache updates: kernels that combine attention computation with cache writes can "
              "reduce extra passes over memory.",
     .clause = "reduce extra passes over memory",
     .since = "2026-11-22",
     .plain = {.yes = "One kernel instead of two saves {fall:%} of the passes over new rows.",
               .no = "One kernel instead of two saves only {fall:%} of the passes over new rows.",
               .partly = "One kernel saves {fall:range} of the passes over new rows: between, "
                         "limits {C67_NOT} and {C67_WITHIN:%} off 1."},
     .surprise = 2,
     .statement = "Bytes moved fall by the passes over the new rows.",
     .rule = "Bytes are shown by the slope of time from 512 to 1024 appended rows a step, keys and "
             "values alone, into places of the cache that the L2 does not hold, in every round: "
             "rope and append in two kernels against one, at the rate of the latter, against the "
             "count of loads and stores. Hardware counters cannot tell: the L2 is swept between "
             "two operations. REPRODUCED when the fall is within 10 % of the count, REFUTED when "
             "it is below half of it, else MIXED; called material from 5 % of the attention's "
             "bytes. Positive control: the slope of one kernel implies 1 to 6 TB/s. Negative "
             "control: an append without rope, of as many bytes, must not show half of the fall.",
     .judge = judge_c67,
     .needs = NEEDS(slope_needs, c67_needs)},
    {.id = "C67b",
     .article = "ai-rng",
     .quote = "KV cache updates: kernels that combine attention computation with cache writes can "
              "reduce extra passes over memory.",
     .clause = "",
     .since = "2026-11-22",
     .plain =
         {.yes = "Rope, append and attention in one kernel save {saved}, {edges} graph steps.",
          .no = "Rope, append and attention in one kernel save {saved}, only {edges} steps of a "
                "graph.",
          .partly = "Between: rope, append and attention in one kernel save {edges:range} steps of "
                    "a graph against limits of {C67B_NONE} and {C67B_WHOLE}."},
     .surprise = 1,
     .statement = "Rope, append and attention in one kernel instead of three save a graph edge.",
     .rule =
         "One sequence of 8192 keys, bf16, by graph, cold, in edges of a graph. REPRODUCED when 1 "
         "or more are saved, REFUTED when fewer than 0.2, else MIXED. Positive control: the three "
         "kernels take an edge or more beyond attention alone. Negative control: the one kernel, "
         "launched as often as attention alone, must take less than an edge beyond it.",
     .judge = judge_c67b,
     .needs = NEEDS(c67b_needs)},
    {.id = "C91",
     .article = "ai-rng",
     .quote = "Quantize or dequantize fusion | scale and clamp fused into matmul or attention | "
              "reduces conversion overhead",
     .clause = "scale and clamp fused into matmul or attention | reduces conversion overhead",
     .since = "2026-11-22",
     .plain = {.yes = "Read in attention fp8 keys take {e4m3:%}, int8 keys {int8:%} of converting "
                      "them first.",
               .no = "Read in attention fp8 keys take {e4m3:%}, int8 keys {int8:%} of converting "
                     "them first: no less.",
               .partly = "8-bit keys read in attention take {C91_CUTS:%} of the time of converting "
                         "first: {parts}."},
     .surprise = 1,
     .statement = "Dequantising fp8 or int8 keys and values inside decode attention takes at most "
                  "0.7 of dequantise-then-attend at 8192 keys, and a fused append saves a graph "
                  "edge; products are C45.",
     .rule = "One sequence, 8192 keys, e4m3 and int8, a scale for each head, graph, cold. "
             "REPRODUCED when both ratios are below 0.7 and rope, scale, clamp, cast and store in "
             "one kernel instead of three saves a graph edge or more, REFUTED when both are 0.95 "
             "or more, else MIXED. Positive controls: rows beyond the range come out saturated, "
             "and 32 times the keys take at least 4 times as long. Negative control: by a cast "
             "without the clamp the rows must come out NaN or wrong.",
     .judge = judge_c91,
     .needs = NEEDS(dequantised_needs, c91_needs)},
    {.id = "C91b",
     .article = "ai-rng",
     .quote = "Quantize or dequantize fusion | scale and clamp fused into matmul or attention | "
              "reduces conversion overhead",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "Attention over an fp8 cache takes {ratio:%} of the time over a bf16 one.",
               .no = "Attention over an fp8 cache takes {ratio:%} of the time over a bf16 one: it "
                     "does not pay.",
               .partly = "Between: attention over an fp8 cache takes {ratio:range} of the time "
                         "over a bf16 one against limits of {C91B_PAYS} and 1."},
     .surprise = 2,
     .statement = "An 8-bit cache, dequantised inside decode attention, takes at most 0.75 of the "
                  "time of a bf16 cache.",
     .rule = "8 sequences of 32768 keys, e4m3 over bf16, graph, cold. REPRODUCED below 0.75, "
             "REFUTED from 1 on, else MIXED. Positive control: 32 times the keys take at least 4 "
             "times as long. Negative control: at 65536 keys of bf16 a kernel that only reads, of "
             "as many bytes, must take 0.75 to 1.5 of attention's time.",
     .judge = judge_c91b,
     .needs = NEEDS(c91b_needs)},
};
CLAIM_SUBJECT(claims);
