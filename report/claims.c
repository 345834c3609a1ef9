#include "report/claims.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/board.h"
#include "core/document.h"
#include "core/unit.h"

#define GEMM(size) \
    "small_gemm.time{m=" #size ",n=" #size ",k=" #size ",type=fp16,acc=fp32,layout=nn,"
#define CUBLAS "impl=cublas,tile=auto,split=auto,l2=warm,timer=event}"
#define FUSED(impl) "{rows=16384,cols=8192,type=fp16,impl=" impl ",mode=graph,l2=cold"

/* --- saying it -------------------------------------------------------------------------------- */

static void say(char text[CLAIM_TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(char text[CLAIM_TEXT], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, CLAIM_TEXT - used, format, arguments);
    va_end(arguments);
}

/* "32.1 cycles (32.0 to 32.2)" */
static void say_row(char text[CLAIM_TEXT], const char *what, const struct row *row)
{
    char centre[48], low[48], high[48];
    say(text, "%s%s %s (%s to %s)", text[0] ? "; " : "", what,
        unit_format(centre, sizeof centre, row->centre, row->unit, 4),
        unit_format(low, sizeof low, row->low, row->unit, 4),
        unit_format(high, sizeof high, row->high, row->unit, 4));
}

static void not_testable(struct finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void not_testable(struct finding *f, const char *format, ...)
{
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    f->verdict = CLAIM_NOT_TESTABLE;
    say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", why);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* A row that a verdict may rest on: usable, and with an interval, which takes six runs. Otherwise
 * the claim is not testable, and the reason is said. */
static bool take(const struct bundle *bundle, const char *glob, bool best, struct row *row,
                 struct finding *f)
{
    size_t place = 0;
    bool quick = json_is_true(json_object_get(bundle->head, "quick"));
    const struct row *found = best ? NULL : rows_match(&bundle->rows, glob, &place);
    if (best ? !rows_pick(&bundle->rows, glob, row) : !found) {
        not_testable(f, "%s is not in this bundle", glob);
        return false;
    }
    if (found)
        *row = *found;
    if (!row_usable(row))
        not_testable(f, "%s: %s", row->id, row->why ? row->why : row_status_name(row->status));
    else if (isnan(row->low))
        not_testable(f, "%s has %zu usable run%s; a verdict needs 7, or 6 of them%s", row->id,
                     row->n, row->n == 1 ? "" : "s", quick ? " (measured with --quick)" : "");
    return row_usable(row) && !isnan(row->low);
}

/* Formed per run: value of a over value of b in the same round. */
static struct row ratio_of(const struct row *a, const struct row *b)
{
    bool exact = a->better == ROW_EXACT && b->better == ROW_EXACT;
    struct row ratio = {.id = a->id, .unit = "ratio", .better = exact ? ROW_EXACT : ROW_LOWER};
    for (size_t i = 0; i < a->n; i++)
        row_put(&ratio, a->round[i], a->value[i] / row_at(b, a->round[i]), NAN);
    row_finish(&ratio);
    return ratio;
}

/* Work over time: a rate row from a time row in ns. */
static struct row rate_of(const struct row *time, double work, const char *unit)
{
    struct row rate = {.id = time->id, .unit = unit, .better = ROW_HIGHER};
    for (size_t i = 0; i < time->n; i++)
        row_put(&rate, time->round[i], work / time->value[i] * 1e9, NAN);
    row_finish(&rate);
    return rate;
}

/* --- rules ------------------------------------------------------------------------------------ */

enum place { BELOW, INSIDE, ABOVE, STRADDLES };

/* Where a row's interval lies with respect to [least, most]. */
static enum place place_of(const struct row *row, double least, double most)
{
    if (isnan(row->low))
        return STRADDLES;
    if (row->high < least)
        return BELOW;
    if (row->low > most)
        return ABOVE;
    return row->low >= least && row->high <= most ? INSIDE : STRADDLES;
}

static enum claim_verdict verdict_of_band(enum place place)
{
    if (place == STRADDLES)
        return CLAIM_MIXED;
    return place == INSIDE ? CLAIM_REPRODUCED : CLAIM_REFUTED;
}

/* Both controls must come out as they must; without them there is no verdict, whatever the figures
 * say. */
static void conclude(struct finding *f, enum claim_verdict verdict, bool positive, bool negative)
{
    f->verdict = verdict;
    if (!positive || !negative)
        not_testable(f, "%s control did not come out as it must",
                     positive ? "the negative" : "the positive");
}

static void say_control(struct finding *f, bool positive, bool as_it_must, const char *what,
                        const struct row *row)
{
    char value[48];
    say(f->controls, "%s%s control: %s: %s, %s", f->controls[0] ? "; " : "",
        positive ? "positive" : "negative", what,
        unit_format(value, sizeof value, row->centre, row->unit, 4),
        as_it_must ? positive ? "passed" : "failed, as it must" : positive ? "FAILED" : "PASSED");
}

/* --- C10: the latency of L1 ------------------------------------------------------------------- */

static const double C10_LEAST = 31, C10_MOST = 36, C10_ASKED = 20000, C10_CLOCK = 0.005;
static const double C10_CONTROL_LEAST = 150;

static void judge_c10(const struct bundle *bundle, struct finding *f)
{
    struct row l1, spin, control;
    if (!take(bundle, "memory_latency.load{level=l1}", false, &l1, f) ||
        !take(bundle, "spin.waited{asked=20000}", false, &spin, f) ||
        !take(bundle, "memory_latency.control{path=l2}", false, &control, f))
        return;

    bool positive =
        place_of(&spin, C10_ASKED * (1 - C10_CLOCK), C10_ASKED * (1 + C10_CLOCK)) == INSIDE;
    bool negative = place_of(&control, C10_LEAST, C10_MOST) == ABOVE &&
                    control.low > C10_CONTROL_LEAST;
    say_row(f->evidence, "a dependent L1 hit takes", &l1);
    say_control(f, true, positive, "a wait of 20000 cycles reads", &spin);
    say_control(f, false, negative, "the same ring kept out of L1 reads", &control);
    conclude(f, verdict_of_band(place_of(&l1, C10_LEAST, C10_MOST)), positive, negative);
}

/* --- C11: is L1 the fastest? ------------------------------------------------------------------ */

/* a answers faster than b by more than 3 % of b, and by more than a cycle. */
static bool faster(const struct row *a, const struct row *b)
{
    return a->high < b->low - fmax(0.03 * b->centre, 1);
}

static void judge_c11(const struct bundle *bundle, struct finding *f)
{
    struct row shared, l1, l2;
    if (!take(bundle, "memory_latency.load{level=shared}", false, &shared, f) ||
        !take(bundle, "memory_latency.load{level=l1}", false, &l1, f) ||
        !take(bundle, "memory_latency.load{level=l2}", false, &l2, f))
        return;

    enum claim_verdict verdict = CLAIM_MIXED;
    if (faster(&shared, &l1))
        verdict = CLAIM_REFUTED;
    else if (faster(&l1, &shared))
        verdict = CLAIM_REPRODUCED;
    say_row(f->evidence, "shared memory", &shared);
    say_row(f->evidence, "L1", &l1);
    say_control(f, true, faster(&l1, &l2), "L1 is faster than L2, at", &l2);
    say_control(f, false, !faster(&l2, &l1), "L2 is faster than L1, at", &l1);
    conclude(f, verdict, faster(&l1, &l2), !faster(&l2, &l1));
}

/* --- C22: 1024^3 against the rated peak ------------------------------------------------------- */

static const double HALF = 0.5;

static struct row share_of_peak(const struct row *time, double size, double peak)
{
    return rate_of(time, 2 * size * size * size / peak, "ratio");
}

/* Other denominators, for which the rule was not written. */
static void say_other_shares(const struct bundle *bundle, const struct row *time,
                             const struct row *large, struct finding *f)
{
    struct row peak, cold;
    struct finding ignored = {.verdict = CLAIM_MIXED};
    double rate = 2 * 1024.0 * 1024 * 1024 / time->centre * 1e9;
    double large_rate = 2 * 4096.0 * 4096 * 4096 / large->centre * 1e9;

    say(f->evidence, "; beside it: %.3g of the rate at 4096^3", rate / large_rate);
    if (take(bundle, "small_gemm.tensor_peak{type=fp16,acc=fp32*", false, &peak, &ignored))
        say(f->evidence, ", %.3g of the measured mma.sync peak", rate / peak.centre);
    if (take(bundle, GEMM(1024) "*l2=cold,timer=event}", true, &cold, &ignored))
        say(f->evidence, ", %.1f us with cold L2", cold.centre / 1e3);
}

static void judge_c22(const struct bundle *bundle, struct finding *f)
{
    const struct board_peak *peak = board_peak(bundle->board);
    struct row time, small, large;
    char rate[48], rated[48];

    if (!peak) {
        not_testable(f, "the rated dense peak of %s is not in the table of boards",
                     bundle->board ? bundle->board : "a machine without GPU");
        return;
    }
    if (!take(bundle, GEMM(1024) "*l2=warm,timer=event}", true, &time, f) ||
        !take(bundle, GEMM(512) CUBLAS, false, &small, f) ||
        !take(bundle, GEMM(4096) CUBLAS, false, &large, f))
        return;

    double flops = peak->fp16_fp32_flops;
    struct row share = share_of_peak(&time, 1024, flops), small_share, large_share;
    small_share = share_of_peak(&small, 512, flops);
    large_share = share_of_peak(&large, 4096, flops);
    bool positive = place_of(&small_share, 0, HALF) == INSIDE;
    bool negative = place_of(&large_share, 0, HALF) == ABOVE;
    say_row(f->evidence, "best time of 1024^3", &time);
    say(f->evidence, ", %s",
        unit_format(rate, sizeof rate, 2 * 1024.0 * 1024 * 1024 / time.centre * 1e9, "flop/s", 4));
    say_row(f->evidence, "share of the rated dense peak", &share);
    say(f->evidence, ", which is %s (%s); by %s",
        unit_format(rated, sizeof rated, flops, "flop/s", 4), peak->source, time.id);
    say_other_shares(bundle, &time, &large, f);
    say_control(f, true, positive, "512^3 by cuBLAS stays below half, at", &small_share);
    say_control(f, false, negative, "4096^3 by cuBLAS stays below half, at", &large_share);
    conclude(f, verdict_of_band(place_of(&share, 0, HALF)), positive, negative);
}

/* --- C24: more blocks than SMs ---------------------------------------------------------------- */

/* The blocks of the case that a time row belongs to. */
static double blocks_of(const struct bundle *bundle, const struct row *time)
{
    char id[DOCUMENT_ID];
    const char *keys = strchr(time->id, '{'), *timer = strstr(time->id, ",timer=");
    if (!keys || !timer || timer < keys)
        return NAN;
    snprintf(id, sizeof id, "small_gemm.blocks%.*s}", (int)(timer - keys), keys);
    const struct row *blocks = rows_find(&bundle->rows, id);
    return blocks ? blocks->centre : (double)NAN;
}

static void judge_c24(const struct bundle *bundle, struct finding *f)
{
    double at_32 = NAN, at_128 = NAN;
    const struct row *row;
    char tile[32];
    size_t n = 0;

    for (size_t place = 0;
         (row = rows_match(&bundle->rows, GEMM(1024) "impl=mma,*l2=warm,timer=event}", &place));) {
        double blocks = blocks_of(bundle, row);
        if (!row_usable(row) || isnan(blocks))
            continue;
        row_key(row, "tile", tile, sizeof tile);
        say(f->evidence, "%s%.0f blocks (tile %s) %.2f us",
            n++ ? ", " : "1024^3 fp16, own mma.sync: ", blocks, tile, row->centre / 1e3);
        double *best = blocks == 32 ? &at_32 : blocks == 128 ? &at_128 : NULL;
        if (best)
            *best = fmin(*best, row->centre);
    }
    if (!isnan(at_32) && !isnan(at_128))
        say(f->controls, "control: 128 blocks beat 32: %.2f us against %.2f us, %s", at_128 / 1e3,
            at_32 / 1e3, at_128 < at_32 ? "passed" : "FAILED");
    not_testable(f, "no verdict until configurations that fill every SM another way (split-K, "
                 "stream-K, persistent) are measured beside the smaller tiles");
}

/* --- C38: what fusion saves ------------------------------------------------------------------- */

static const double C38_RATIO = 3, C38_WITHIN = 0.10, C38_SHARE_OF_COPY = 0.85;

static enum place about_three(const struct row *ratio)
{
    return place_of(ratio, C38_RATIO * (1 - C38_WITHIN), C38_RATIO * (1 + C38_WITHIN));
}

/* The same ratio in the other regimes, where L2 or the launch decides. */
static void say_other_regimes(const struct bundle *bundle, struct finding *f)
{
    static const char *const keys[] = {"rows", "cols", "mode", "l2"};
    char glob[DOCUMENT_ID], text[4][24];
    const struct row *fused, *unfused;
    int said = 0;

    for (size_t place = 0; said < 8 && (fused = rows_match(
             &bundle->rows, "bias_gelu_scale.time{*type=fp16,impl=fused,*}", &place));) {
        for (int i = 0; i < 4; i++)
            row_key(fused, keys[i], text[i], sizeof text[i]);
        size_t other = 0;
        snprintf(glob, sizeof glob, "bias_gelu_scale.time{rows=%s,cols=%s,type=fp16,impl=unfused,"
                 "mode=%s,l2=%s,*}", text[0], text[1], text[2], text[3]);
        if (!row_usable(fused) || !(unfused = rows_match(&bundle->rows, glob, &other)) ||
            !row_usable(unfused))
            continue;
        say(f->evidence, "%s%sx%s %s %s %.2f",
            said++ ? ", " : "; other regimes, unfused over fused: ", text[0], text[1], text[2],
            text[3], unfused->centre / fused->centre);
    }
}

static void judge_c38(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, scale, fused_bytes, unfused_bytes, copy;
    if (!take(bundle, "bias_gelu_scale.time" FUSED("fused") ",timer=event}", false, &fused, f) ||
        !take(bundle, "bias_gelu_scale.time" FUSED("unfused") ",timer=event}", false, &unfused,
              f) ||
        !take(bundle, "bias_gelu_scale.time" FUSED("scale") ",timer=event}", false, &scale, f) ||
        !take(bundle, "bias_gelu_scale.bytes" FUSED("fused") "*", false, &fused_bytes, f) ||
        !take(bundle, "bias_gelu_scale.bytes" FUSED("unfused") "*", false, &unfused_bytes, f) ||
        !take(bundle, "bias_gelu_scale.share_of_copy" FUSED("fused") "*", false, &copy, f))
        return;

    struct row time_ratio = ratio_of(&unfused, &fused), one_ratio = ratio_of(&scale, &fused);
    struct row bytes_ratio = ratio_of(&unfused_bytes, &fused_bytes);
    bool positive = copy.low >= C38_SHARE_OF_COPY;
    bool negative = about_three(&one_ratio) == BELOW || about_three(&one_ratio) == ABOVE;
    enum place by_time = about_three(&time_ratio), by_bytes = about_three(&bytes_ratio);
    enum claim_verdict verdict = verdict_of_band(by_time == INSIDE ? by_bytes : by_time);

    say(f->evidence, "device-memory regime, 16384x8192 fp16, graph, cold");
    say_row(f->evidence, "three kernels over one, time", &time_ratio);
    say_row(f->evidence, "bytes", &bytes_ratio);
    say_other_regimes(bundle, f);
    say_control(f, true, positive, "the fused kernel is bound by memory, share of a copy", &copy);
    say_control(f, false, negative, "one of the three kernels alone over the fused one",
                &one_ratio);
    conclude(f, verdict, positive, negative);
}

/* --- the ledger ------------------------------------------------------------------------------- */

static const struct claim ledger[] = {
    {"C10", "smallest.ai",
     "Even the L1 cache, considered the fastest local memory on the SM, has a latency of ~33 "
     "cycles.",
     "A dependent L1 hit takes about 33 SM cycles: pure pointer chase, slope.",
     "REPRODUCED when the interval of memory_latency.load{level=l1} lies in 31 to 36 cycles, "
     "REFUTED when it lies outside. Positive control: a wait of 20000 cycles reads as such "
     "within 0.5 %. Negative control: the same ring kept out of L1 must not read so, but above "
     "150 cycles.",
     judge_c10},
    {"C11", "smallest.ai", "considered the fastest local memory on the SM",
     "No memory of the SM other than its registers answers faster than an L1 hit.",
     "REFUTED when shared memory's interval lies below L1's by more than 3 % and a cycle, "
     "REPRODUCED when L1's lies below shared memory's by that. Positive control: L1 reads faster "
     "than L2 by the same rule. Negative control: \"L2 is faster than L1\" must fail.",
     judge_c11},
    {"C22", "smallest.ai",
     "a throughput of approximately 150 TFLOPSless than half of the GPU\u2019s rated 362 TFLOPS",
     "The 1024^3 fp16 product stays below half of the GPU's rated dense peak, whatever GPU it is.",
     "REPRODUCED when the best of all implementations at 1024^3, fp16 with fp32 sums, warm L2, "
     "stays below 0.5 of the board's rated dense peak, REFUTED when it does not. The best is "
     "chosen in the first round and judged on the others. Positive control: 512^3 by cuBLAS "
     "stays below half. Negative control: 4096^3 by cuBLAS must not.",
     judge_c22},
    {"C24", "smallest.ai",
     "when we force Triton to pick block sizes that result in \u2265142 active blocks\u2014fully "
     "engaging every SM\u2014the performance actually gets worse, dropping to ~17 microseconds.",
     "A 1024^3 product with at least as many blocks as SMs is slower than the best with fewer.",
     "Rows only: no verdict until configurations that fill every SM another way are measured "
     "beside the smaller tiles. Control: 128 blocks must beat 32.",
     judge_c24},
    {"C38", "dev.to", "The data movement is dramatically reduced.",
     "Our reading: as three kernels, scale * gelu(x + bias) moves three times the bytes of the "
     "fused kernel and takes three times the time.",
     "REPRODUCED when, at 16384x8192 fp16 by graph and cold (tensors far above the L2), both the "
     "ratio of times and the ratio of bytes lie within 10 % of 3, REFUTED when one lies outside. "
     "Positive control: the fused kernel reaches 0.85 of a copy of the same bytes. Negative "
     "control: one of the three kernels alone over the fused one must not read 3.",
     judge_c38},
};

const struct claim *claim_at(size_t i)
{
    return i < sizeof ledger / sizeof ledger[0] ? &ledger[i] : NULL;
}

void claim_judge(const struct claim *claim, const struct bundle *bundle, struct finding *finding)
{
    *finding = (struct finding){.verdict = CLAIM_NOT_TESTABLE};
    claim->judge(bundle, finding);
    if (!finding->controls[0])
        say(finding->controls, "not reached");
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"REPRODUCED", "REFUTED", "MIXED", "NOT TESTABLE"};
    return names[verdict];
}
