/* The ledger: weights of 4 and 8 bits in products. */
#include <math.h>

#include "report/claims/fused.h"

/* One product of the 8B layer's down matrix and a vector, weights not in the L2. */
#define LAYER "{rows=4096,cols=14336,batch=1,"
#define TIME(type, impl)                                                                           \
    "quantized.time" LAYER "type=" type ",impl=" impl ",mode=graph,l2=cold,timer=event}"
#define BYTES(type, impl) "quantized.bytes" LAYER "type=" type ",impl=" impl ",mode=graph,l2=cold}"

static const char *const formats[] = {"int4", "int8", "e4m3"};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static const struct need time_needs[] = {{NEED_ANY, TIME("%s", "%s")}, NEEDS_END};
static const struct need bytes_needs[] = {{NEED_ANY, BYTES("%s", "%s")}, NEEDS_END};

static bool take_time(const struct bundle *bundle, const char *type, const char *impl,
                      struct row *row, struct finding *f)
{
    return rule_take_formed(bundle, row, f, TIME("%s", "%s"), type, impl);
}

/* --- C45: converting inside the product or before it ---------------------------------------- */

static const double C45_CUTS = 0.70, C45_IDLE = 0.95;

static void judge_c45(const struct bundle *bundle, struct finding *f)
{
    struct row full, cublas, int4, ratio;
    const double cut = RULE_LIMIT(f, C45_CUTS), not_cut = RULE_LIMIT(f, C45_IDLE);
    size_t cuts = 0, idle = 0;

    if (!take_time(bundle, "bf16", "full", &full, f) ||
        !take_time(bundle, "bf16", "full_cublas", &cublas, f) ||
        !take_time(bundle, "int4", "unfused", &int4, f))
        return;
    rule_say(f->evidence, "4096 x 14336, batch 1: inside the product over before it");
    for (size_t i = 0; i < N_FORMATS; i++) {
        struct row fused, unfused;
        if (!take_time(bundle, formats[i], "fused", &fused, f) ||
            !take_time(bundle, formats[i], "unfused", &unfused, f))
            return;
        ratio = rule_ratio(f, &fused, &unfused);
        rule_say_row(f, formats[i], &ratio);
        rule_say_figure(f, formats[i], &ratio);
        rule_say_part(f, formats[i], rule_band(rule_place(&ratio, 0, cut)), &ratio, cut);
        cuts += fused_below(&ratio, cut);
        idle += fused_at_least(&ratio, not_cut);
    }
    /* The pass writes and reads bf16 weights, so it must cost more than a product with them. */
    struct row pass = rule_ratio(f, &full, &int4), neither = rule_ratio(f, &full, &cublas);
    const bool positive = fused_below(&pass, cut), negative = fused_at_least(&neither, cut);
    rule_say_control(f, true, positive,
                     "leaving the conversion out, bf16 over int4 before it, saves as much", &pass);
    rule_say_control(f, false, negative,
                     "two products of bf16, neither of which converts, differ as much", &neither);
    rule_conclude(f,
                  cuts == N_FORMATS   ? CLAIM_REPRODUCED
                  : idle == N_FORMATS ? CLAIM_REFUTED
                                      : CLAIM_MIXED,
                  positive, negative);
}

/* --- C64: when is a quantised path slower than full precision? ------------------------------- */

static const double DELTA = 0.03, C64_CONVERTS = 2;

static const struct need best_needs[] = {{NEED_BEST, TIME("bf16", "full*")}, NEEDS_END};
static const struct need moved_needs[] = {
    {NEED_ONE, BYTES("int4", "unfused")}, {NEED_ONE, BYTES("bf16", "full")}, NEEDS_END};

static void judge_c64(const struct bundle *bundle, struct finding *f)
{
    struct row full, fused, converted, int8, bytes, full_bytes;
    if (!RULE_TAKE(bundle, best_needs, f, &full) ||
        !take_time(bundle, "int4", "fused", &fused, f) ||
        !take_time(bundle, "int4", "unfused", &converted, f) ||
        !take_time(bundle, "int8", "fused", &int8, f) ||
        !RULE_TAKE(bundle, moved_needs, f, &bytes, &full_bytes))
        return;

    const double slower = 1 + RULE_LIMIT(f, DELTA), twice = RULE_LIMIT(f, C64_CONVERTS);
    const struct row with = rule_ratio(f, &converted, &full),
                     without = rule_ratio(f, &fused, &full);
    const struct row moved = rule_ratio(f, &bytes, &full_bytes),
                     other = rule_ratio(f, &int8, &full);
    const struct row conversion = rule_ratio(f, &converted, &fused);
    const bool moves = fused_at_least(&moved, twice), takes = fused_at_least(&conversion, twice);
    const bool negative = fused_below(&other, slower);

    rule_say_row(f, "4096 x 14336, batch 1: bf16 by its best kernel", &full);
    rule_say_row(f, "int4 by a conversion of its own and then bf16, over that", &with);
    rule_say_row(f, "int4 without", &without);
    rule_say_control(f, true, moves, "the conversion moves at least twice the bytes of bf16",
                     &moved);
    rule_say_control(f, true, takes, "and takes twice the time of int4 without it", &conversion);
    rule_say_control(f, false, negative, "int8 without a conversion reads slower than bf16, at",
                     &other);
    rule_say_figure(f, "with", &with);
    rule_say_figure(f, "without", &without);
    rule_say_part(f, "slower with a conversion", rule_band(rule_place(&with, slower, INFINITY)),
                  &with, slower);
    rule_say_part(f, "not slower without", rule_band(rule_place(&without, 0, slower)), &without,
                  slower);
    rule_conclude(f,
                  fused_at_least(&with, slower)
                      ? (without.high < slower ? CLAIM_REPRODUCED : CLAIM_MIXED)
                  : with.high < slower ? CLAIM_REFUTED
                                       : CLAIM_MIXED,
                  moves && takes, negative);
}

/* --- C65: what does the gain depend on? ------------------------------------------------------ */

static const double C65_SPREAD = 1.5, C65_GOOD = 0.7;

/* In addition to the verdict: how the times of all paths follow their bytes. */
static void say_bytes(const struct bundle *bundle, const struct row *full, struct finding *f)
{
    static const char *const types[] = {"int4", "int8", "int4", "int8"};
    static const char *const impls[] = {"fused", "fused", "unfused", "unfused"};
    struct finding ignored = rule_aside(f);
    struct row full_bytes, time, bytes;

    if (!rule_take(bundle, BYTES("bf16", "full"), &full_bytes, &ignored))
        return;
    rule_say(f->evidence, "; bytes moved and time over those of bf16");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (rule_take_formed(bundle, &bytes, &ignored, BYTES("%s", "%s"), types[i], impls[i]) &&
            take_time(bundle, types[i], impls[i], &time, &ignored))
            rule_say(f->evidence, "%s %s %s %.2f and %.2f", i ? "," : ":", types[i], impls[i],
                     bytes.centre / full_bytes.centre, time.centre / full->centre);
}

/* What a runtime does that has no kernel for a format: a pass that converts the weights, and the
 * product that it has. Both parts are good kernels. */
static void judge_c65(const struct bundle *bundle, struct finding *f)
{
    struct row full, cublas, fused, fallback, bytes, full_bytes;
    if (!take_time(bundle, "bf16", "full", &full, f) ||
        !take_time(bundle, "bf16", "full_cublas", &cublas, f) ||
        !take_time(bundle, "int4", "fused", &fused, f) ||
        !take_time(bundle, "int4", "unfused", &fallback, f) ||
        !RULE_TAKE(bundle, moved_needs, f, &bytes, &full_bytes))
        return;

    const double apart = RULE_LIMIT(f, C65_SPREAD);
    const struct row spread = rule_ratio(f, &fallback, &fused), gain = rule_ratio(f, &full, &fused);
    const struct row bf16 = rule_ratio(f, &cublas, &full);
    const struct row rate = rule_rate(f, &fallback, bytes.centre, "bytes/s");
    const struct row full_rate = rule_rate(f, &full, full_bytes.centre, "bytes/s");
    const struct row of_rate = rule_ratio(f, &rate, &full_rate);
    const bool gains = fused_at_least(&gain, apart);
    const bool good = fused_at_least(&of_rate, RULE_LIMIT(f, C65_GOOD));
    const bool negative = rule_place(&bf16, 1 / apart, apart) == PLACE_INSIDE;
    rule_say_row(f,
                 "int4, 4096 x 14336, batch 1: converted to bf16 and multiplied, over one kernel",
                 &spread);
    say_bytes(bundle, &full, f);
    rule_say(f->evidence, "; hardware: not testable with one GPU");
    rule_say_control(f, true, gains, "bf16 over the faster int4 kernel gains 1.5 or more", &gain);
    rule_say_control(f, true, good, "the fallback is no slow kernel: its rate over bf16's",
                     &of_rate);
    rule_say_control(f, false, negative, "two good kernels of bf16 are 1.5 times apart", &bf16);
    rule_say_figure(f, "spread", &spread);
    rule_conclude(f, rule_band(rule_place(&spread, apart, INFINITY)), gains && good, negative);
}

/* --- C85: what do formats and calibration do to results? ------------------------------------- */

static const double C85_APART = 2, C85_BF16 = 0.0017, C85_WITHIN = 0.10;
static const char *const inputs[] = {"normal", "student_t3", "channel_x100", "mean_8"};
static const char *const calibrations[] = {"absmax", "percentile"};
static const char *const q_formats[] = {"int8", "e4m3", "e5m2", "int4_g32", "int4_g128"};
enum {
    N_INPUTS = sizeof inputs / sizeof *inputs,
    N_CALIBRATIONS = sizeof calibrations / sizeof *calibrations,
    N_Q_FORMATS = sizeof q_formats / sizeof *q_formats,
    N_OF_8_BITS = 3, /* the first three */
};

#define QUALITY(metric) "quantized." metric "{format=%s,input=%s,calibration=%s}"

static const struct need quality_needs[] = {
    {NEED_ANY, QUALITY("quality_error")}, {NEED_ANY, QUALITY("clamped")}, NEEDS_END};

static bool take_quality(const struct bundle *bundle, const char *metric, const char *format,
                         const char *input, const char *calibration, struct row *row,
                         struct finding *f)
{
    return rule_take_formed(bundle, row, f, QUALITY("%s"), metric, format, input, calibration);
}

/* How far the errors of one input are apart: by calibration, within the format that depends on it
 * most; and between 8-bit formats with the same calibration. Also the largest error over bf16's. */
struct apart {
    double by_calibration, by_format, over_bf16; /* by_*: lower ends of intervals */
};

static bool take_apart(const struct bundle *bundle, const char *input, struct apart *apart,
                       struct finding *f)
{
    struct row error[N_Q_FORMATS][N_CALIBRATIONS], bf16;
    if (!take_quality(bundle, "quality_error", "bf16", input, "none", &bf16, f))
        return false;
    for (size_t i = 0; i < N_Q_FORMATS; i++)
        for (size_t c = 0; c < N_CALIBRATIONS; c++)
            if (!take_quality(bundle, "quality_error", q_formats[i], input, calibrations[c],
                              &error[i][c], f))
                return false;
    for (size_t i = 0; i < N_Q_FORMATS; i++)
        for (size_t c = 0; c < N_CALIBRATIONS; c++) {
            apart->over_bf16 = fmax(apart->over_bf16, error[i][c].high / bf16.low);
            for (size_t d = 0; d < N_CALIBRATIONS; d++)
                apart->by_calibration =
                    fmax(apart->by_calibration, error[i][c].low / error[i][d].high);
            for (size_t j = 0; i < N_OF_8_BITS && j < N_OF_8_BITS; j++)
                apart->by_format = fmax(apart->by_format, error[i][c].low / error[j][c].high);
        }
    return true;
}

static void judge_c85(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row bf16, absmax, eighth, clamped, none, unscaled;
    const double apart_by = RULE_LIMIT(f, C85_APART), tolerance = RULE_LIMIT(f, C85_WITHIN);
    double calibrated = 0, formatted = 0, worst = 0;
    bool depends = false, within = true;

    if (!take_quality(bundle, "quality_error", "bf16", "normal", "none", &bf16, f) ||
        !take_quality(bundle, "quality_error", "int8", "normal", "absmax", &absmax, f) ||
        !take_quality(bundle, "quality_error", "int8", "normal", "eighth", &eighth, f) ||
        !take_quality(bundle, "clamped", "int8", "normal", "absmax", &none, f) ||
        !take_quality(bundle, "clamped", "int8", "normal", "eighth", &clamped, f))
        return;
    rule_say(f->evidence, "errors, median over seven draws, apart by calibration within a format, "
                          "and by format of 8 bits");
    for (size_t i = 0; i < N_INPUTS; i++) {
        struct apart apart = {0};
        if (!take_apart(bundle, inputs[i], &apart, f))
            return;
        depends |= apart.by_calibration >= apart_by || apart.by_format >= apart_by;
        within &= apart.over_bf16 <= apart_by;
        calibrated = fmax(calibrated, apart.by_calibration);
        formatted = fmax(formatted, apart.by_format);
        worst = fmax(worst, apart.over_bf16);
        rule_say(f->evidence, "; %s %.3g and %.3g times, at most %.3g times bf16's", inputs[i],
                 apart.by_calibration, apart.by_format, apart.over_bf16);
    }
    rule_say_row(f, "int8 on normal numbers", &absmax);
    if (rule_take_formed(bundle, &unscaled, &aside, QUALITY("%s"), "quality_error", "int8",
                         "normal", "none"))
        rule_say_row(f, "not judged: without any scale, which nobody would ship", &unscaled);
    rule_say(f->evidence, "; inputs are synthetic: what a trained model makes of it was not seen");

    const bool positive =
        rule_place(&bf16, C85_BF16 * (1 - tolerance), C85_BF16 * (1 + tolerance)) == PLACE_INSIDE;
    const bool negative = clamped.low > none.high && eighth.low > absmax.high;
    rule_say_control(f, true, positive, "bf16 reads 0.17 % within a tenth of it, at", &bf16);
    rule_say_control(f, false, negative, "an eighth of the scale clamps no more and errs no more",
                     &clamped);
    rule_say_number(f, "calibrated", calibrated, "ratio");
    rule_say_number(f, "formatted", formatted, "ratio");
    rule_say_number(f, "worst", worst, "ratio");
    rule_conclude(f,
                  depends  ? CLAIM_REPRODUCED
                  : within ? CLAIM_REFUTED
                           : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C45",
     .article = "ai-rng",
     .quote = "Quantize or dequantize fusion | scale and clamp fused into matmul or attention | "
              "reduces conversion overhead",
     .clause = "fused into matmul or attention | reduces conversion overhead",
     .plain = {.yes = "Converted inside the product int4 takes {int4:%}, int8 {int8:%}, fp8 "
                      "{e4m3:%} of the time.",
               .no = "Converted inside the product int4 takes {int4:%}, int8 {int8:%}, fp8 "
                     "{e4m3:%} of the time: no less.",
               .partly = "Converted inside the product weights take {C45_CUTS:%} of the time or "
                         "less: {parts}."},
     .surprise = 1,
     .statement = "Dequantising inside the product takes at most 0.7 of dequantise-then-product at "
                  "batch 1; narrowed to weights, attention is C91.",
     .rule =
         "int4, int8 and e4m3 weights, 4096 x 14336, batch 1, by graph, weights not in the L2. "
         "REPRODUCED when for every format the kernel that dequantises in registers takes at most "
         "0.70 of a pass that dequantises followed by the bf16 product, REFUTED when for every one "
         "it takes 0.95 or more, MIXED otherwise. Positive control: a bf16 product that needs no "
         "pass takes at most 0.70 of pass and product. Negative control: two bf16 products, ours "
         "and cuBLAS's, which both convert nothing, must not be 0.70 apart.",
     .judge = judge_c45,
     .needs = NEEDS(time_needs)},
    {.id = "C64",
     .article = "ai-rng",
     .quote = "A naive quantization path can be slower than full precision if it introduces extra "
              "conversions or forces fallback kernels.",
     .clause = "can be slower than full precision if it introduces extra conversions",
     .since = "2026-11-22",
     .plain = {.yes = "int4 weights converted first take {with} times as long as bf16, used as "
                      "they are {without}.",
               .no = "int4 weights converted first take {with} times as long as bf16: they are not "
                     "slower.",
               .partly = "int4 weights against bf16: {parts}."},
     .surprise = 4,
     .statement = "int4 weights that a pass converts before the product are slower than bf16, and "
                  "not slower without that pass; 'can': one common path suffices.",
     .rule = "int4 weights, 4096 x 14336, batch 1, weights not in the L2, against the better of "
             "two bf16 products. REPRODUCED when a conversion pass before the bf16 product is "
             "slower than bf16 by more than 3 %, and the kernel without it is not; MIXED when that "
             "is slower too; REFUTED when the conversion is not slower. A runtime without a kernel "
             "for a format takes that path; kernels of a library that are slow for another cause "
             "are not measured, and not judged. Positive controls: the conversion moves at least "
             "twice the bytes of bf16, and takes at least twice the time of int4 without it. "
             "Negative control: int8 without a conversion must not read slower than bf16.",
     .judge = judge_c64,
     .needs = NEEDS(time_needs, best_needs, moved_needs)},
    {.id = "C65",
     .article = "ai-rng",
     .quote = "Kernel availability: whether the runtime has efficient kernels for the quantized "
              "operators.",
     .since = "2026-11-22",
     .plain = {.yes = "Without a kernel of their own int4 weights take {spread} times as long.",
               .no = "Without a kernel of their own int4 weights take {spread} times as long, less "
                     "than {C65_SPREAD}.",
               .partly = "Between: without a kernel of their own int4 weights take {spread:range} "
                         "times as long against a limit of {C65_SPREAD}."},
     .surprise = 1,
     .statement = "The gain of one format differs 1.5x or more between a runtime that has a kernel "
                  "for it and one that converts and multiplies. That it differs between GPUs is "
                  "not testable with one; that it follows the bytes moved is said beside it.",
     .rule =
         "int4 weights, 4096 x 14336, batch 1, weights not in the L2. Without a kernel for the "
         "format a runtime converts the weights and multiplies bf16; both parts are measured as "
         "good kernels. REPRODUCED when that takes 1.5 times as long as the one kernel or longer, "
         "REFUTED when less. Positive controls: the one kernel takes bf16's time over 1.5 or less, "
         "and the other way moves its bytes at 0.7 of bf16's rate or more. Negative control: two "
         "good kernels of one format, bf16 by ours and by cuBLAS, must not be 1.5 times apart.",
     .judge = judge_c65,
     .needs = NEEDS(time_needs, bytes_needs, moved_needs)},
    {.id = "C85",
     .article = "ai-rng",
     .quote = "Calibration and accuracy: whether the format preserves output quality in the target "
              "workload.",
     .clause = "whether the format preserves output quality",
     .since = "2026-11-22T13:00Z",
     .plain = {.yes = "Errors of 8-bit formats are {formatted} times apart, of one format's "
                      "calibrations {calibrated}.",
               .no = "No format or calibration errs more than {worst} times as much as bf16.",
               .partly =
                   "Errors {C85_APART} times apart: does not hold ({formatted} by format, "
                   "{calibrated} by calibration); near bf16's: does not either ({worst} times)."},
     .surprise = 1,
     .statement = "Error against the unquantised float64 result differs 2x or more by calibration "
                  "or format; synthetic inputs stand for the target workload.",
     .rule =
         "Products with 1024 x 4096 weights in int8, int4 in groups of 32 and 128, e4m3 and e5m2, "
         "drawn normal, from Student's t of three degrees, with one channel times 100, with a mean "
         "of 8; scales from the greatest magnitude of a group or from the 99.9th percentile of a "
         "row; each error the median over seven draws of fixed seeds. REPRODUCED when for some "
         "input a format's two calibrations, or two formats of 8 bits with the same calibration, "
         "are at least 2 times apart; REFUTED when every error stays within 2 times bf16's; MIXED "
         "otherwise. Positive control: bf16 on normal numbers reads 0.17 % within a tenth of it. "
         "Negative control: an eighth of the scale must raise clamp count and error.",
     .judge = judge_c85,
     .needs = NEEDS(quality_needs)},
};
CLAIM_SUBJECT(claims);
