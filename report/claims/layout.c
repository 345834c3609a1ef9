/* The ledger: what the layout of the data costs. */
#include <math.h>
#include <stdio.h>

#include "core/document.h"
#include "report/claims/rules.h"

#define READ(level, offset, width, in_flight)                                                      \
    "layout.read_rate{level=" level ",offset=" #offset ",width=" #width ",in_flight=" #in_flight "}"
#define PASS(ld, impl)                                                                             \
    "transpose.pass_time{rows=8192,columns=8192,ld=" #ld ",type=fp32,impl=" impl ",*}"
#define PRODUCT(layout) "transpose.product_" layout "{m=4096,n=4096,k=4096,type=fp16,l2=cold,*}"

/* --- C56: does a transpose force a movement? -------------------------------------------------- */

static const double C56_COPY = 0.9, C56_ABSORBED = 0.05;

static const struct need transpose_needs[] = {
    {NEED_BEST, PASS(8200, "[npv]*")}, {NEED_BEST, PASS(8200, "[cm]*")}, NEEDS_END};

/* The fastest transpose over the faster copy, with rows that are no power of two apart. */
static bool take_transpose(const struct bundle *bundle, struct row *ratio, struct row *copy,
                           struct finding *f)
{
    struct row best;
    if (!RULE_TAKE(bundle, transpose_needs, f, &best, copy))
        return false;
    *ratio = rule_ratio(f, &best, copy);
    rule_say_row(f, "fastest transpose", &best);
    rule_say_row(f, "over the faster copy", ratio);
    return true;
}

static const struct need product_needs[] = {{NEED_ANY, PRODUCT("nn")},
                                            {NEED_ANY, PRODUCT("tn")},
                                            {NEED_ANY, PRODUCT("nt")},
                                            {NEED_ANY, PRODUCT("after")},
                                            NEEDS_END};
static const struct need c56_needs[] = {{NEED_ONE, PASS(8200, "read")}, NEEDS_END};

static const struct need padded_needs[] = {{NEED_ONE, PASS(8200, "padded")}, NEEDS_END};

static void judge_c56(const struct bundle *bundle, struct finding *f)
{
    struct row cost, copy, read, padded, tn, nt, explicit;
    if (!take_transpose(bundle, &cost, &copy, f) || !RULE_TAKE(bundle, c56_needs, f, &read) ||
        !rule_take_ratio(bundle, PRODUCT("tn"), PRODUCT("nn"), &tn, f) ||
        !rule_take_ratio(bundle, PRODUCT("nt"), PRODUCT("nn"), &nt, f) ||
        !rule_take_ratio(bundle, PRODUCT("after"), PRODUCT("nn"), &explicit, f) ||
        !RULE_TAKE(bundle, padded_needs, f, &padded))
        return;

    struct row half = rule_ratio(f, &read, &copy), tiles = rule_ratio(f, &padded, &copy);
    const double of_copy = RULE_LIMIT(f, C56_COPY), most = 1 + RULE_LIMIT(f, C56_ABSORBED);
    enum place moves = rule_place(&cost, of_copy, INFINITY);
    enum place of_tn = rule_place(&tn, 0, most), of_nt = rule_place(&nt, 0, most);
    bool positive = rule_place(&tiles, of_copy, INFINITY) == PLACE_INSIDE;
    bool not_a_copy = rule_place(&half, of_copy, INFINITY) == PLACE_BELOW;
    bool not_absorbed = rule_place(&explicit, 0, most) == PLACE_ABOVE;
    rule_say_row(f, "a product of 4096^3 with A stored transposed over not", &tn);
    rule_say_row(f, "with B", &nt);
    rule_say_control(f, true, positive, "the plain transpose by tiles, over a copy", &tiles);
    rule_say_control(f, false, not_a_copy, "reading alone costs 0.9 of a copy, at", &half);
    rule_say_control(f, false, not_absorbed, "a transpose before the product is absorbed, at",
                     &explicit);
    bool absorbed = of_tn == PLACE_INSIDE && of_nt == PLACE_INSIDE;
    bool forced = of_tn == PLACE_ABOVE && of_nt == PLACE_ABOVE;
    rule_say(f->evidence, "; it moves: %s; forced: %s", claim_verdict_name(rule_band(moves)),
             claim_verdict_name(forced     ? CLAIM_REPRODUCED
                                : absorbed ? CLAIM_REFUTED
                                           : CLAIM_MIXED));
    rule_say_figure(f, "cost", &cost);
    rule_say_figure(f, "tn", &tn);
    rule_say_figure(f, "nt", &nt);
    rule_say_part(f, "a transpose takes a copy's time", rule_band(moves), &cost, of_copy);
    rule_say_part(f, "a product needs one",
                  forced     ? CLAIM_REPRODUCED
                  : absorbed ? CLAIM_REFUTED
                             : CLAIM_MIXED,
                  &tn, NAN);
    rule_conclude(f,
                  moves == PLACE_INSIDE && forced    ? CLAIM_REPRODUCED
                  : moves == PLACE_BELOW && absorbed ? CLAIM_REFUTED
                                                     : CLAIM_MIXED,
                  positive, not_a_copy && not_absorbed);
}

/* --- C57: what strides cost ------------------------------------------------------------------- */

static const double C57_MODEL = 1.2, C57_HIDDEN = 2, C57_FULL = 0.85, C57_WIDE = 1.2;
enum { C57_SECTOR = 8 }; /* floats */

#define STRIDED "layout.strided_rate{level=hbm,stride=%d}"
#define STRUCTS "layout.struct_rate{level=hbm,fields=8,width=4}"

static const struct need stride_needs[] = {{NEED_ANY, STRIDED},
                                           {NEED_ANY, STRUCTS},
                                           {NEED_ANY, READ("hbm", 0, 16, 65536)},
                                           {NEED_ANY, READ("l2", 0, 16, 16384)},
                                           {NEED_ANY, READ("l2", 0, 1, 16384)},
                                           NEEDS_END};
static const struct need of_model_needs[] = {{NEED_ONE, "layout.strided_rate{level=hbm,stride=1}"},
                                             NEEDS_END};

static double of_sector(const double *value, const void *with)
{
    (void)with;
    return C57_SECTOR * value[0] / value[1];
}

/* Useful rate over what the sector model predicts: an eighth of the rate of stride 1. */
static bool take_of_model(const struct bundle *bundle, const char *id, struct row *of_model,
                          struct finding *f)
{
    struct row rate, whole;
    if (!rule_take(bundle, id, &rate, f) || !RULE_TAKE(bundle, of_model_needs, f, &whole))
        return false;
    *of_model =
        rule_formed(f, (const struct row *const[]){&rate, &whole}, 2, "ratio", of_sector, NULL);
    return true;
}

static void judge_c57(const struct bundle *bundle, struct finding *f)
{
    static const int strides[] = {8, 16, 32};
    struct row of_model, full, hidden, wide;
    const double model = RULE_LIMIT(f, C57_MODEL), seen = RULE_LIMIT(f, C57_HIDDEN);
    const double whole = RULE_LIMIT(f, C57_FULL);
    char id[DOCUMENT_ID], what[48];
    int n_within = 0, n_hidden = 0;

    for (int i = 0; i < 3; i++) {
        snprintf(id, sizeof id, STRIDED, strides[i]);
        if (!take_of_model(bundle, id, &of_model, f))
            return;
        snprintf(what, sizeof what, "stride %d, over the sector model", strides[i]);
        rule_say_row(f, what, &of_model);
        rule_say_figure(f, i ? "last" : "first", &of_model);
        snprintf(what, sizeof what, "%d floats", strides[i]);
        rule_say_part(f, what, rule_band(rule_place(&of_model, 0, model)), &of_model, model);
        n_within += rule_place(&of_model, 0, model) == PLACE_INSIDE;
        n_hidden += rule_place(&of_model, 0, seen) == PLACE_ABOVE;
    }
    if (!rule_take_ratio(bundle, of_model_needs[0].id, READ("hbm", 0, 16, 65536), &full, f) ||
        !take_of_model(bundle, STRUCTS, &hidden, f) ||
        !rule_take_ratio(bundle, READ("l2", 0, 16, 16384), READ("l2", 0, 1, 16384), &wide, f))
        return;

    const bool alike = rule_place(&full, whole, 1 / whole) == PLACE_INSIDE;
    const bool clocked = rule_place(&wide, RULE_LIMIT(f, C57_WIDE), INFINITY) == PLACE_INSIDE;
    bool negative = rule_place(&hidden, 0, seen) == PLACE_ABOVE;
    rule_say_control(f, true, alike, "stride 1 over 16-byte loads", &full);
    rule_say_control(f, true, clocked, "16-byte over 1-byte loads from L2", &wide);
    rule_say_control(f, false, negative,
                     "the same loads, when the rest of each sector is used too, stay within 1.2 of "
                     "the model, at",
                     &hidden);
    rule_conclude(f,
                  n_within == 3  ? CLAIM_REPRODUCED
                  : n_hidden > 0 ? CLAIM_REFUTED
                                 : CLAIM_MIXED,
                  alike && clocked, negative);
}

/* --- C84: does the layout decide whether wide loads can be used? ------------------------------ */

static const double C84_FASTER = 0.10, C84_SAME = 0.03;

#define FAULTS "layout.faults{offset=%d,width=16}"
#define ROWS "layout.rows_rate{level=hbm,columns=16384,ld=16388,width=16}"

static const struct need fault_needs[] = {{NEED_ANY, FAULTS}, NEEDS_END};
static const struct need wide_needs[] = {{NEED_ONE, READ("l2", 0, 16, 16384)},
                                         {NEED_ONE, READ("l2", 0, 1, 16384)},
                                         {NEED_ONE, READ("hbm", 0, 16, 65536)},
                                         {NEED_ONE, ROWS},
                                         NEEDS_END};

/* Does a 16-byte load fault at this offset? */
static bool take_fault(const struct bundle *bundle, int offset, bool *faults, struct finding *f)
{
    struct row row;
    if (!rule_take_formed(bundle, &row, f, FAULTS, offset))
        return false;
    *faults = row.centre == 1;
    return true;
}

/* At offset 0 and in rows 65552 bytes apart, 16-byte loads run, for they have a rate. That it is
 * the rate of wide loads is seen where the width decides, in the L2. */
static bool take_wide(const struct bundle *bundle, bool *positive, bool *negative,
                      struct finding *f)
{
    struct row wide, bytes, aligned, gap;

    if (!RULE_TAKE(bundle, wide_needs, f, &wide, &bytes, &aligned, &gap))
        return false;
    const struct row faster = rule_ratio(f, &wide, &bytes), same = rule_ratio(f, &gap, &aligned);
    *positive = rule_place(&faster, 1 + RULE_LIMIT(f, C84_FASTER), INFINITY) == PLACE_INSIDE;
    const double faster_by = 1 + RULE_LIMIT(f, C84_FASTER);
    *negative = rule_place(&same, 1 / faster_by, faster_by) == PLACE_INSIDE;
    rule_say_control(f, true, *positive, "16-byte over 1-byte loads from L2", &faster);
    rule_say_control(f, false, *negative,
                     "16-byte loads of rows with a gap run at another rate than without, at",
                     &same);
    return true;
}

static void judge_c84(const struct bundle *bundle, struct finding *f)
{
    bool at_4, at_8, positive, negative;

    if (!take_fault(bundle, 4, &at_4, f) || !take_fault(bundle, 8, &at_8, f))
        return;
    rule_say(f->evidence,
             "16-byte loads %s at an offset of 4 bytes, %s at 8, and run at 0 and in rows of a "
             "multiple of 16",
             at_4 ? "fault" : "run", at_8 ? "fault" : "run");
    rule_say_part(f, "4 bytes", at_4 ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL, NAN);
    rule_say_part(f, "8 bytes", at_8 ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL, NAN);
    if (take_wide(bundle, &positive, &negative, f))
        rule_conclude(f,
                      at_4 && at_8   ? CLAIM_REPRODUCED
                      : at_4 || at_8 ? CLAIM_MIXED
                                     : CLAIM_REFUTED,
                      positive, negative);
}

/* --- C84b: and is a wide load faster? --------------------------------------------------------- */

static const struct need width_needs[] = {{NEED_ANY, READ("hbm", 0, 16, 65536)},
                                          {NEED_ANY, READ("hbm", 0, 4, 65536)},
                                          {NEED_ANY, READ("hbm", 0, 16, 16384)},
                                          {NEED_ANY, READ("hbm", 0, 4, 16384)},
                                          {NEED_ANY, READ("l2", 0, 16, 65536)},
                                          {NEED_ANY, READ("l2", 0, 4, 65536)},
                                          NEEDS_END};

static void judge_c84b(const struct bundle *bundle, struct finding *f)
{
    static const char *const what[] = {"16-byte over 4-byte loads, device memory, 64 KiB in flight",
                                       "16 KiB in flight", "L2, 64 KiB in flight"};
    enum { PLACES = sizeof what / sizeof *what };
    const double faster = 1 + RULE_LIMIT(f, C84_FASTER), same = RULE_LIMIT(f, C84_SAME);
    struct row ratio;
    int n_faster = 0, n_same = 0;
    bool positive, negative;

    for (int i = 0; i < PLACES; i++) {
        if (!rule_take_ratio(bundle, width_needs[2 * i].id, width_needs[2 * i + 1].id, &ratio, f))
            return;
        rule_say_row(f, what[i], &ratio);
        rule_say_figure(f, i == 1 ? "little" : i == 0 ? "much" : "l2", &ratio);
        rule_say_part(f,
                      i == 1   ? "16 KiB"
                      : i == 0 ? "64 KiB in flight"
                               : "64 KiB from L2",
                      rule_place(&ratio, faster, INFINITY) == PLACE_INSIDE     ? CLAIM_REPRODUCED
                      : rule_place(&ratio, 1 - same, 1 + same) == PLACE_INSIDE ? CLAIM_REFUTED
                                                                               : CLAIM_MIXED,
                      &ratio, faster);
        n_faster += rule_place(&ratio, faster, INFINITY) == PLACE_INSIDE;
        n_same += rule_place(&ratio, 1 - same, 1 + same) == PLACE_INSIDE;
    }
    if (take_wide(bundle, &positive, &negative, f))
        rule_conclude(f,
                      n_faster > 0       ? CLAIM_REPRODUCED
                      : n_same == PLACES ? CLAIM_REFUTED
                                         : CLAIM_MIXED,
                      positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C56",
     .article = "ai-rng",
     .quote = "Transposes inserted between operators that force real memory movement.",
     .clause = "force real memory movement",
     .since = "2026-11-22",
     .plain = {.yes = "A transpose takes {cost} times as long as a copy, a product of transposed "
                      "data {tn} times as long.",
               .no = "A transpose takes {cost} times as long as a copy, a product of transposed "
                     "data {tn} times as long: neither costs.",
               .partly = "{parts}."},
     .surprise = 4,
     .statement = "An explicit transpose costs 0.9 of a copy or more; 'force' fails if the "
                  "consumer absorbs it at 5 % or less.",
     .rule =
         "Of a matrix of 8192 x 8192 floats, rows 8200 apart, the fastest of three transposes "
         "(chosen in the first round) takes 0.9 of the faster copy's time or more: it moves. A "
         "product of 4096^3, fp16, takes at most 1.05 of its time when A, and when B, is stored "
         "transposed: nothing forces it. REPRODUCED when it moves and neither is absorbed, REFUTED "
         "when it does not move and both are absorbed, MIXED otherwise. Positive control: the "
         "plain transpose by tiles takes 0.9 of a copy or more. Negative controls: reading alone "
         "must not, and a transpose before the product must not pass as absorbed.",
     .judge = judge_c56,
     .needs = NEEDS(transpose_needs, c56_needs, product_needs, padded_needs)},
    {.id = "C57",
     .article = "ai-rng",
     .quote = "Strides that force scattered reads.",
     .since = "2026-11-22",
     .plain = {.yes = "Every 8th float comes at {first} times an eighth of the full rate, every "
                      "32nd at {last}.",
               .no = "Every 8th float comes at {first} times an eighth of the full rate, every "
                     "32nd at {last}: faster than sectors allow.",
               .partly = "Strides leave an eighth of the full rate or less: {parts}."},
     .surprise = 1,
     .statement =
         "Useful bandwidth at strides of 8 to 32 floats falls to 1.2x of the 32-byte sector model "
         "or less; device memory answers by 64 bytes, so that it may be half.",
     .rule = "The model: a sector of 32 bytes is fetched whole, so that a stride of 8 floats or "
             "more leaves an eighth of the rate of stride 1. REPRODUCED when at strides 8, 16 and "
             "32, from device memory, the useful rate is at most 1.2 of that, REFUTED when at any "
             "it is above 2, MIXED otherwise. Positive controls: stride 1 is within 0.85 and "
             "1/0.85 of what 16-byte loads do; these are 1.2 times as fast as 1-byte loads from L2 "
             "or more. Negative control: the same loads, 32 bytes apart, when the lanes go on to "
             "use the rest of each sector, must be above 2.",
     .judge = judge_c57,
     .needs = NEEDS(of_model_needs, stride_needs)},
    {.id = "C84",
     .article = "ai-rng",
     .quote = "Data layout choices determine whether memory access is coalesced and whether "
              "vectorized instructions can be used.",
     .clause = "whether vectorized instructions can be used",
     .since = "2026-11-29T03:00Z",
     .plain = {.yes = "A 16-byte load faults 4 and 8 bytes off its alignment, and runs on it.",
               .no = "A 16-byte load runs 4 and 8 bytes off its alignment, too.",
               .partly = "A 16-byte load faults off its alignment: {parts}."},
     .statement =
         "A 16-byte load can be used where the data are aligned to 16 bytes, and cannot where they "
         "are not: by construction, as the instruction set demands it; coalescing is C57.",
     .rule = "REPRODUCED when a 16-byte load faults at an offset of 4 bytes and at one of 8, "
             "REFUTED when at neither, MIXED when at one. Positive control: aligned, 16-byte loads "
             "run as such: from L2 they are 1.10 times as fast as 1-byte loads. Negative control: "
             "16-byte loads of rows with a gap, whose addresses stay multiples of 16, must not be "
             "1.10 times as fast as of rows without, nor as slow.",
     .judge = judge_c84,
     .needs = NEEDS(fault_needs, wide_needs)},
    {.id = "C84b",
     .article = "ai-rng",
     .quote = "Data layout choices determine whether memory access is coalesced and whether "
              "vectorized instructions can be used.",
     .clause = "",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "16-byte loads are {much}, {little} and, from L2, {l2} times as fast as 4-byte ones.",
          .no = "16-byte loads are as fast as 4-byte ones with equal bytes in flight: {much} and "
                "{l2} times.",
          .partly = "16-byte loads beat 4-byte ones: {parts}."},
     .surprise = 4,
     .statement = "At equal bytes in flight 16-byte loads are 1.10 times as fast as 4-byte ones or "
                  "more: width is more than a way to get bytes in flight.",
     .rule = "From device memory with 64 and with 16 KiB in flight an SM, and from L2 with 64. "
             "REPRODUCED when 16-byte loads are 1.10 times as fast at any of the three, REFUTED "
             "when within 3 % at each, MIXED otherwise. The controls of C84.",
     .judge = judge_c84b,
     .needs = NEEDS(wide_needs, width_needs)},
};
CLAIM_SUBJECT(claims);
