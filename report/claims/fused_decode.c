/* The ledger: attention of one token, what fusing saves around it, and what layouts cost it. */
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

/* One graph edge, against which launches saved are held (C29). */
static bool take_edge(const struct bundle *bundle, struct row *edge, struct finding *f)
{
    return rule_take(bundle, GRAPH_EDGE, edge, f);
}

/* Of each run: value of a less value of b. */
static struct row less(const struct row *a, const struct row *b)
{
    struct row d = {.id = a->id, .unit = a->unit, .better = ROW_LOWER, .once = a->once || b->once};
    for (size_t i = 0; i < a->n; i++)
        row_put(&d, a->round[i], a->value[i] - row_at(b, a->round[i]), NAN);
    row_finish(&d);
    return d;
}

static bool take_ratio(const struct bundle *bundle, const char *above, const char *below,
                       struct row *ratio, struct finding *f)
{
    struct row a, b;
    if (!rule_take(bundle, above, &a, f) || !rule_take(bundle, below, &b, f))
        return false;
    *ratio = rule_ratio(&a, &b);
    return true;
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

static void judge_c59(const struct bundle *bundle, struct finding *f)
{
    static const char *const ids[] = {
        TIME(1, 8192, "bf16", "pages_16"), TIME(1, 8192, "bf16", "pages_64"),
        TIME(1, 8192, "bf16", "by_token"), TIME(1, 8192, "bf16", "attention")};
    struct row attention[4], along_rows, along_columns, across_rows, across_columns, read;
    for (size_t i = 0; i < 4; i++)
        if (!rule_take(bundle, ids[i], &attention[i], f))
            return;
    if (!rule_take(bundle, GEMV("rows", "along"), &along_rows, f) ||
        !rule_take(bundle, GEMV("columns", "along"), &along_columns, f) ||
        !rule_take(bundle, GEMV("rows", "across"), &across_rows, f) ||
        !rule_take(bundle, GEMV("columns", "across"), &across_columns, f) ||
        !rule_take(bundle, TIME(1, 8192, "bf16", "read"), &read, f))
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
static const double C67_LEAST_RATE = 1e12, C67_MOST_RATE = 6e12; /* beyond, rows lie in the L2, which is no pass over memory */
enum { C67_FEW = 512, C67_MANY = 1024 };

/* Time for one more appended row, from 512 to 1024 of them. */
static bool take_slope(const struct bundle *bundle, const char *few, const char *many,
                       struct row *slope, struct finding *f)
{
    struct row a, b;
    if (!rule_take(bundle, many, &a, f) || !rule_take(bundle, few, &b, f))
        return false;
    *slope = less(&a, &b);
    for (size_t i = 0; i < slope->n; i++)
        slope->value[i] /= C67_MANY - C67_FEW;
    row_finish(slope);
    return true;
}
#define TAKE_SLOPE(impl, slope)                                                                    \
    take_slope(bundle, TIME(512, 16, "bf16", impl), TIME(1024, 16, "bf16", impl), slope, f)
#define NEW_ROWS(batch, context, impl)                                                             \
    "attention_decode.new_row_bytes" CASE(batch, context, "bf16", impl) "*"

/* Share of the predicted fall in bytes that the slopes show: what `more` takes above `fewer`, in
 * bytes at the rate of the latter, over the count. */
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

static bool judge_launch(const struct bundle *bundle, struct finding *f)
{
    struct row edge, three, fused, bytes, new_rows, kept;
    if (!take_edge(bundle, &edge, f) ||
        !rule_take(bundle, TIME(1, 8192, "bf16", "unfused"), &three, f) ||
        !rule_take(bundle, TIME(1, 8192, "bf16", "fused"), &fused, f) ||
        !rule_take(bundle, "attention_decode.bytes" CASE(1, 8192, "bf16", "fused") "*", &bytes,
                   f) ||
        !rule_take(bundle, NEW_ROWS(1, 8192, "unfused"), &new_rows, f) ||
        !rule_take(bundle, NEW_ROWS(1, 8192, "fused"), &kept, f))
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

static void judge_c67(const struct bundle *bundle, struct finding *f)
{
    struct row two, one, plain, two_bytes, one_bytes;
    if (!TAKE_SLOPE("rope_then_append", &two) || !TAKE_SLOPE("append_kv", &one) ||
        !TAKE_SLOPE("append_plain", &plain) ||
        !rule_take(bundle, NEW_ROWS(1024, 16, "rope_then_append"), &two_bytes, f) ||
        !rule_take(bundle, NEW_ROWS(1024, 16, "append_kv"), &one_bytes, f))
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

/* Does it pay at all, against a cache of bf16? Evidence only. */
static void say_pays(const struct bundle *bundle, struct finding *f)
{
    static const char *const ids[] = {TIME(8, 32768, "e4m3", "attention"),
                                      TIME(8, 32768, "int8", "attention")};
    struct finding ignored = {.verdict = CLAIM_MIXED};
    struct row ratio;
    for (size_t i = 0; i < 2; i++)
        if (take_ratio(bundle, ids[i], TIME(8, 32768, "bf16", "attention"), &ratio, &ignored)) {
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

/* Counts the ratios at or below 0.7, and those at or above 0.95. */
static bool take_ratios(const struct bundle *bundle, int *cut, int *not_cut, struct finding *f)
{
    static const char *const types[] = {"e4m3", "int8"};
    static const int contexts[] = {8192, 32768};
    char id[2][DOCUMENT_ID], what[64];
    struct row ratio;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 2; j++)
            snprintf(id[j], sizeof id[j],
                     "attention_decode.time{batch=1,context=%d,heads=32,kv_heads=8,d=128,type=%s,"
                     "impl=%s,mode=graph,l2=cold,timer=event}",
                     contexts[i % 2], types[i / 2], j ? "dequantised" : "attention");
        if (!take_ratio(bundle, id[0], id[1], &ratio, f))
            return false;
        snprintf(what, sizeof what, "in registers over beforehand, %s, %d keys", types[i / 2],
                 contexts[i % 2]);
        rule_say_row(f->evidence, what, &ratio);
        *cut += rule_place(&ratio, 0, C91_CUTS) == PLACE_INSIDE;
        *not_cut += rule_place(&ratio, C91_NOT, INFINITY) == PLACE_INSIDE;
    }
    return true;
}

static void judge_c91(const struct bundle *bundle, struct finding *f)
{
    struct row edge, apart, together, right[2], wrong[2];
    int cut = 0, not_cut = 0;
    if (!take_ratios(bundle, &cut, &not_cut, f) || !take_edge(bundle, &edge, f) ||
        !rule_take(bundle, TIME(1, 8192, "e4m3", "append_separate"), &apart, f) ||
        !rule_take(bundle, TIME(1, 8192, "e4m3", "append"), &together, f) ||
        !rule_take(bundle, "attention_decode.append_right{type=e4m3,impl=clamped}", &right[0], f) ||
        !rule_take(bundle, "attention_decode.append_right{type=int8,impl=clamped}", &right[1], f) ||
        !rule_take(bundle, "attention_decode.append_right{type=e4m3,impl=unclamped}", &wrong[0],
                   f) ||
        !rule_take(bundle, "attention_decode.append_right{type=int8,impl=unclamped}", &wrong[1], f))
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
    {"C59", "ai-rng",
     "A model that is mathematically identical can run very differently depending on layout.",
     "Best and worst layout of one operator differ 2x or more; operators stand for the model.",
     "Decode attention, bf16, over 8192 keys laid out by head, by token, in pages of 16 and of 64; "
     "and a product of 16384 x 2048, stored by rows or by columns, with a vector, by one kernel: "
     "either with lanes along the rows or with lanes across them. REPRODUCED when slowest over "
     "fastest is 2 or more in any of the three, REFUTED when all are below 1.2, else MIXED. "
     "Positive control: the product by rows with lanes along them reaches 0.7 of the rate of a "
     "kernel that reads half as many bytes and drops them. Negative control: the two layouts, each "
     "with the lanes that suit it, must not differ twofold.",
     judge_c59},
    {"C67", "ai-rng",
     "KV cache updates: kernels that combine attention computation with cache writes can reduce "
     "extra passes over memory.",
     "Bytes moved fall by the passes over the new rows (the article's words); the launch saved is "
     "judged apart.",
     "Bytes are shown by the slope of time from 512 to 1024 appended rows a step, keys and values "
     "alone, cold: rope and append in two kernels against one, at the rate of the latter, against "
     "the count of loads and stores. REPRODUCED when the fall is within 10 % of the count, REFUTED "
     "when it is below half of it, else MIXED; material from 5 % of the attention's bytes. The "
     "launch, apart: rope, append and attention in one kernel instead of three must save a graph "
     "edge. Positive control: the slope of one kernel implies 1 to 6 TB/s. Negative control: "
     "an append without rope, of as many bytes, must not show half of the fall.",
     judge_c67},
    {"C91", "ai-rng",
     "Quantize or dequantize fusion | scale and clamp fused into matmul or attention | reduces "
     "conversion overhead",
     "Dequantising fp8 or int8 keys and values inside decode attention takes at most 0.7 of "
     "dequantise-then-attend from 8 K, and a fused append saves a graph edge; products are C45.",
     "One sequence, 8192 and 32768 keys, e4m3 and int8, a scale for each head, graph, cold. "
     "REPRODUCED when all four ratios are at most 0.7 and rope, scale, clamp, cast and store in "
     "one kernel instead of three saves a graph edge or more, REFUTED when all four are 0.95 or "
     "more, else MIXED. Positive control: rows beyond the range come out saturated. Negative "
     "control: by a cast without the clamp they must come out NaN or wrong.",
     judge_c91},
};
CLAIM_SUBJECT(claims);
