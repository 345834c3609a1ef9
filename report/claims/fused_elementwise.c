/* The ledger: chains of elementwise operators, and what their values cost in registers. */
#include <math.h>

#include "report/claims/rules.h"

static const double DELTA = 0.03; /* a smaller difference does not count */

/* --- C37: little arithmetic costs nothing ----------------------------------------------------- */

static const double C37_SHARE = 0.90, C37_SAVES = 0.40;
enum { C37_MOST = 16, C37_FMAS = 5 };
static const int c37_fmas[C37_FMAS] = {0, 2, 4, 8, 16};

#define FMAS(shape)                                                                                \
    "elementwise_chain.time{" shape ",chain=fmas,operations=%d,type=%s,impl=fused,mode=graph,*}"
#define C37_LONG "rows=8192,cols=8192"
#define C37_SHARE_OF_COPY                                                                          \
    "elementwise_chain.share_of_copy{" C37_LONG ",chain=fmas,operations=%d,type=fp32,*}"

static const struct need fmas_needs[] = {{NEED_ANY, FMAS("rows=%d,cols=%d")}, NEEDS_END};
static const struct need c37_needs[] = {{NEED_ANY, C37_SHARE_OF_COPY}, NEEDS_END};

static bool take_fmas(const struct bundle *bundle, const char *shape, int n, const char *type,
                      struct row *time, struct finding *f)
{
    return rule_take_formed(bundle, time, f, FMAS("%s"), shape, n, type);
}

/* Below the L2's size: the cost of multiply-adds there. */
static void say_short(const struct bundle *bundle, struct finding *f)
{
    static const char *const shapes[][2] = {{"rows=1,cols=1024", "4 KiB"},
                                            {"rows=4096,cols=1024", "16 MiB, warm"}};
    struct finding ignored = rule_aside(f);
    struct row none, sixteen;

    for (int i = 0; i < 2; i++)
        if (take_fmas(bundle, shapes[i][0], 0, "fp32", &none, &ignored) &&
            take_fmas(bundle, shapes[i][0], C37_MOST, "fp32", &sixteen, &ignored))
            rule_say(f->evidence, "; at %s 16 take %.0f ns, none %.0f ns", shapes[i][1],
                     sixteen.centre, none.centre);
}

/* The share saved by going from b to a: is it inside [least, most]? */
static enum place saved(const struct row *a, const struct row *b, double least, double most,
                        const char *what, struct finding *f)
{
    const struct row ratio = rule_ratio(a, b);
    if (what)
        rule_say_row(f->evidence, what, &ratio);
    return rule_place(&ratio, 1 - most, 1 - least);
}

/* Compares halving the bytes with halving the arithmetic, at n multiply-adds. */
static bool bytes_matter(const struct row *whole, const struct row *half_bytes,
                         const struct row *half_work, const char *const what[2], struct finding *f)
{
    const bool by_bytes =
        saved(half_bytes, whole, C37_SAVES, 1, what ? what[0] : NULL, f) == PLACE_INSIDE;
    const bool by_work =
        saved(half_work, whole, -INFINITY, DELTA, what ? what[1] : NULL, f) == PLACE_INSIDE;
    return by_bytes && by_work;
}

static void judge_c37(const struct bundle *bundle, struct finding *f)
{
    static const char *const at_4[] = {"at 4, half the bytes take", "half the arithmetic"};
    static const char *const at_16[] = {"at 16, half the bytes", "half the arithmetic"};
    struct row time[C37_FMAS], share[C37_FMAS], narrow_4, narrow_16, many, half, narrow_many;
    int flat = 0, fast = 0;

    for (int i = 0; i < C37_FMAS; i++)
        if (!take_fmas(bundle, C37_LONG, c37_fmas[i], "fp32", &time[i], f) ||
            !rule_take_formed(bundle, &share[i], f, C37_SHARE_OF_COPY, c37_fmas[i]))
            return;
    if (!take_fmas(bundle, C37_LONG, 4, "bf16", &narrow_4, f) ||
        !take_fmas(bundle, C37_LONG, 16, "bf16", &narrow_16, f) ||
        !take_fmas(bundle, C37_LONG, 1024, "fp32", &many, f) ||
        !take_fmas(bundle, C37_LONG, 512, "fp32", &half, f) ||
        !take_fmas(bundle, C37_LONG, 1024, "bf16", &narrow_many, f))
        return;

    for (int i = 0; i < C37_FMAS; i++) {
        const struct row over = rule_ratio(&time[i], &time[0]);
        flat += rule_place(&over, 1 - DELTA, 1 + DELTA) == PLACE_INSIDE;
        fast += rule_place(&share[i], C37_SHARE, INFINITY) == PLACE_INSIDE;
    }
    const struct row most = rule_ratio(&time[C37_FMAS - 1], &time[0]);
    const struct row many_over = rule_ratio(&many, &time[0]);
    rule_say_row(f->evidence, "256 MiB of fp32, cold, 16 multiply-adds over none, time", &most);
    rule_say_row(f->evidence, "share of a copy at 16", &share[C37_FMAS - 1]);
    const bool b_4 = bytes_matter(&time[2], &narrow_4, &time[1], at_4, f);
    const bool b_16 = bytes_matter(&time[4], &narrow_16, &time[3], at_16, f);
    say_short(bundle, f);

    const bool a = flat == C37_FMAS && fast == C37_FMAS, b = b_4 && b_16;
    const bool positive = rule_place(&share[0], C37_SHARE, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&many_over, 1 - DELTA, 1 + DELTA) == PLACE_ABOVE &&
                          !bytes_matter(&many, &narrow_many, &half, NULL, f);
    rule_say_control(f, true, positive, "without arithmetic, share of a copy", &share[0]);
    rule_say_control(f, false, negative, "1024 multiply-adds over none, time", &many_over);
    rule_conclude(f,
                  a && b   ? CLAIM_REPRODUCED
                  : a || b ? CLAIM_MIXED
                           : CLAIM_REFUTED,
                  positive, negative);
}

/* --- chains: C39, C52 ------------------------------------------------------------------------- */

/* A memory-bound chain, fused and unfused. */
struct chain {
    struct row speed_up, bytes, kept; /* unfused over fused: time; bytes; time ratio / byte ratio */
    struct row instructions;          /* unfused over fused */
    struct row share;                 /* of a copy, for the fused kernel */
    struct row share_unfused;         /* of a copy of two tensors */
};

#define CHAIN(metric)                                                                              \
    "elementwise_chain." metric "{rows=16384,cols=8192,chain=%s,operations=%d,type=fp16,impl=%s,"  \
    "mode=graph,l2=cold*"

static const struct need chain_needs[] = {{NEED_ANY, CHAIN("time")},
                                          {NEED_ANY, CHAIN("bytes")},
                                          {NEED_ANY, CHAIN("instructions")},
                                          {NEED_ANY, CHAIN("share_of_copy")},
                                          NEEDS_END};

static bool take_chain(const struct bundle *bundle, const char *kind, int n, struct chain *c,
                       struct finding *f)
{
    struct row row[2][4];
    static const char *const impls[] = {"unfused", "fused"};
    static const char *const metrics[] = {"time", "bytes", "instructions", "share_of_copy"};

    for (int i = 0; i < 2; i++)
        for (int m = 0; m < 4; m++)
            if (!rule_take_formed(bundle, &row[i][m], f, CHAIN("%s"), metrics[m], kind, n,
                                  impls[i]))
                return false;
    *c = (struct chain){.speed_up = rule_ratio(&row[0][0], &row[1][0]),
                        .bytes = rule_ratio(&row[0][1], &row[1][1]),
                        .instructions = rule_ratio(&row[0][2], &row[1][2]),
                        .share = row[1][3],
                        .share_unfused = row[0][3]};
    c->kept = rule_ratio(&c->speed_up, &c->bytes);
    return true;
}

static void say_chain(const char *what, const struct chain *c, struct finding *f)
{
    rule_say(f->evidence, "; %s: %.2f times faster of %.2f in bytes", what, c->speed_up.centre,
             c->bytes.centre);
}

#define REGIME                                                                                     \
    "elementwise_chain.time{rows=%s,cols=4096,chain=plain,operations=16,type=fp16,impl=%s,"        \
    "mode=graph,l2=%s,*}"

static const struct need regime_needs[] = {{NEED_ANY, REGIME}, NEEDS_END};

/* Does the cost of an unfused chain follow its passes? Also the other regimes. */
static void say_regimes(const struct bundle *bundle, struct finding *f)
{
    static const char *const where[][3] = {{"1", "warm", "one row"},
                                           {"2048", "warm", "16 MiB tensors, warm"},
                                           {"2048", "cold", "cold"}};
    struct finding ignored = rule_aside(f);
    struct row time[2];

    for (int i = 0; i < 3; i++) {
        bool found = true;
        for (int fused = 0; fused < 2; fused++)
            found = found && rule_take_formed(bundle, &time[fused], &ignored, REGIME, where[i][0],
                                              fused ? "fused" : "unfused", where[i][1]);
        if (found)
            rule_say(f->evidence, "; plain chain of 16, %s: %.1f", where[i][2],
                     time[0].centre / time[1].centre);
    }
}

static const double C39_KEEPS = 0.8, C39_LOSES = 0.5, GOOD_KERNEL = 0.85;

static void judge_c39(const struct bundle *bundle, struct finding *f)
{
    static const struct {
        const char *kind;
        int n;
        const char *what;
    } judged[] = {{"plain", 4, "plain chain of 4"},
                  {"plain", 16, "of 16"},
                  {"activated", 4, "with gelu and silu, of 4"},
                  {"activated", 16, "of 16"}};
    struct chain one, c, four = {0};
    int keep = 0, lose = 0;

    if (!take_chain(bundle, "plain", 1, &one, f))
        return;
    rule_say(f->evidence, "256 MiB tensors, fp16, cold, unfused over fused");
    for (int i = 0; i < 4; i++) {
        if (!take_chain(bundle, judged[i].kind, judged[i].n, &c, f))
            return;
        if (i == 0)
            four = c;
        say_chain(judged[i].what, &c, f);
        keep += rule_place(&c.kept, C39_KEEPS, INFINITY) == PLACE_INSIDE;
        lose += rule_place(&c.kept, -INFINITY, C39_LOSES) == PLACE_INSIDE;
    }
    say_regimes(bundle, f);

    const struct row control = rule_ratio(&one.speed_up, &four.bytes);
    const bool positive = rule_place(&one.share_unfused, GOOD_KERNEL, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&control, C39_KEEPS, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, positive, "a kernel of the unfused chain, share of a copy",
                     &one.share_unfused);
    rule_say_control(f, false, negative,
                     "a chain of one gains as much as one of four, share of the bytes' ratio",
                     &control);
    rule_conclude(f,
                  keep == 4   ? CLAIM_REPRODUCED
                  : lose == 4 ? CLAIM_REFUTED
                              : CLAIM_MIXED,
                  positive, negative);
}

static const double C52_WITHIN = 0.20, C52_SAME = 0.10;

static enum place tracks(const struct chain *c)
{
    return rule_place(&c->kept, 1 - C52_WITHIN, 1 + C52_WITHIN);
}

static void judge_c52(const struct bundle *bundle, struct finding *f)
{
    struct chain four, sixteen, above;
    if (!take_chain(bundle, "plain", 4, &four, f) ||
        !take_chain(bundle, "plain", 16, &sixteen, f) ||
        !take_chain(bundle, "activated", 16, &above, f))
        return;

    const bool same = rule_place(&four.instructions, 1 - C52_SAME, 1 + C52_SAME) == PLACE_INSIDE &&
                      rule_place(&sixteen.instructions, 1 - C52_SAME, 1 + C52_SAME) == PLACE_INSIDE;
    const enum place a = tracks(&four), b = tracks(&sixteen);
    rule_say(f->evidence, "256 MiB tensors, fp16, cold");
    rule_say_row(f->evidence, "arithmetic instructions, unfused over fused", &sixteen.instructions);
    say_chain("plain chain of 4", &four, f);
    say_chain("of 16", &sixteen, f);
    rule_say_row(f->evidence, "fused, of 16, share of a copy", &sixteen.share);
    if (!same) {
        rule_not_testable(f, "the two forms differ in their instructions");
        return;
    }
    const bool positive = rule_place(&sixteen.share, GOOD_KERNEL, INFINITY) == PLACE_INSIDE;
    const bool negative = tracks(&above) == PLACE_BELOW;
    rule_say_control(f, true, positive, "below the ridge: the fused chain of 16, share of a copy",
                     &sixteen.share);
    rule_say_control(f, false, negative,
                     "above it, where 6 activations decide: speed-up over the ratio of intensities",
                     &above.kept);
    rule_conclude(f,
                  a == PLACE_INSIDE && b == PLACE_INSIDE ? CLAIM_REPRODUCED
                  : a == b && a != PLACE_STRADDLES       ? CLAIM_REFUTED
                                                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- C83: registers that values take ---------------------------------------------------------- */

static const double C83_RISES = 0.5, C83_FLAT = 0.05, C83_LIVE = 0.8;

#define LIFE(metric) "elementwise_chain." metric "{life=%s,steps=%d,elements=1}"

static const struct need life_needs[] = {
    {NEED_ANY, LIFE("registers")}, {NEED_ANY, LIFE("resident_warps")}, NEEDS_END};

static bool take_life(const struct bundle *bundle, const char *metric, const char *life, int steps,
                      struct row *row, struct finding *f)
{
    return rule_take_formed(bundle, row, f, LIFE("%s"), metric, life, steps);
}

/* Registers per value, from a chain of `from` values to one of `to`. */
static bool take_slope(const struct bundle *bundle, const char *life, int from, int to,
                       struct row *slope, struct finding *f)
{
    struct row few, many;
    if (!take_life(bundle, "registers", life, from, &few, f) ||
        !take_life(bundle, "registers", life, to, &many, f))
        return false;
    *slope = (struct row){.id = many.id, .unit = "ratio", .better = ROW_LOWER, .once = many.once};
    for (size_t i = 0; i < many.n; i++)
        row_put(slope, many.round[i],
                (many.value[i] - row_at(&few, many.round[i])) / (double)(to - from), NAN);
    row_finish(slope);
    return true;
}

static void judge_c83(const struct bundle *bundle, struct finding *f)
{
    struct row dependent, live, inputs, few, many, warps_1, warps_64;
    if (!take_slope(bundle, "dependent", 4, 64, &dependent, f) ||
        !take_slope(bundle, "live", 4, 64, &live, f) ||
        !take_slope(bundle, "inputs", 16, 64, &inputs, f) ||
        !take_life(bundle, "registers", "dependent", 1, &few, f) ||
        !take_life(bundle, "registers", "dependent", 64, &many, f) ||
        !take_life(bundle, "resident_warps", "dependent", 1, &warps_1, f) ||
        !take_life(bundle, "resident_warps", "dependent", 64, &warps_64, f))
        return;

    const bool rises = rule_place(&dependent, C83_RISES, INFINITY) == PLACE_INSIDE;
    const bool flat = rule_place(&dependent, -INFINITY, C83_FLAT) == PLACE_INSIDE;
    const bool positive = rule_place(&live, C83_LIVE, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&inputs, C83_RISES, INFINITY) == PLACE_BELOW;
    rule_say(f->evidence, "a dependent chain of 1 takes %.0f registers, one of 64 %.0f", few.centre,
             many.centre);
    rule_say_row(f->evidence, "registers a value from 4 to 64", &dependent);
    rule_say(f->evidence, "; resident warps an SM %.0f and %.0f: %s", warps_1.centre,
             warps_64.centre,
             warps_64.high < warps_1.low ? "occupancy is lost" : "no occupancy is lost");
    rule_say_control(f, true, positive, "values kept to the end take registers, each", &live);
    rule_say_control(f, false, negative,
                     "values loaded and added up one by one, from 16 to 64, take registers, each",
                     &inputs);
    rule_conclude(f,
                  rises  ? CLAIM_REPRODUCED
                  : flat ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C37",
     .article = "ai-rng",
     .quote = "If it is bandwidth-bound, reducing reads and writes often matters more than "
              "optimizing arithmetic.",
     .statement = "For 256 MiB, up to 16 multiply-adds per element change time by less than 3 %, "
                  "at 90 % of a copy or more; halving the bytes saves 40 % where halving the "
                  "arithmetic saves nothing measurable.",
     .rule = "8192x8192 fp32 by graph, cold. First, 2, 4, 8 and 16 multiply-adds an element take "
             "as long as none within 3 %, and each runs at 0.90 of a copy or more. Second, at 4 "
             "and at 16, the same in bf16 takes 40 % less time or better, and half as many "
             "multiply-adds less than 3 % less. REPRODUCED when both hold, REFUTED when neither "
             "does, MIXED otherwise. Positive control: without arithmetic it runs at 0.90 of a "
             "copy. Negative control: with 1024 multiply-adds neither holds.",
     .judge = judge_c37,
     .needs = NEEDS(fmas_needs, c37_needs)},
    {.id = "C39",
     .article = "ai-rng",
     .quote = "Elementwise operations often look cheap because they involve few FLOPs. They are "
              "expensive when they cause large tensors to be read and written multiple times.",
     .statement = "Chains of 4 to 16 operations, with and without gelu and silu, gain 0.8 of their "
                  "traffic ratio or more from being fused where tensors exceed the L2.",
     .rule =
         "16384x8192 fp16 by graph, cold; speed-up over the ratio of bytes, of two chains at 4 and "
         "16 operators each. REPRODUCED when all four keep 0.8, REFUTED when none keeps 0.5, MIXED "
         "otherwise. Positive control: one kernel of the unfused chain reaches 0.85 of a copy. "
         "Negative control: a chain of one does not gain what the bytes of four would allow.",
     .judge = judge_c39,
     .needs = NEEDS(chain_needs, regime_needs)},
    {.id = "C52",
     .article = "dev.to",
     .quote = "This is why fusion often produces large speedups even when the number of "
              "mathematical operations stays exactly the same.",
     .statement = "With arithmetic instruction counts equal within 10 %, speed-up follows the "
                  "ratio of arithmetic intensity within 20 % below the ridge.",
     .rule = "Plain chains of 4 and 16 operators at 16384x8192 fp16, by graph and cold; "
             "instructions as counted in the cubins, without conversions between fp16 and fp32. "
             "REPRODUCED when at both the speed-up lies within 20 % of the ratio of intensities, "
             "REFUTED when at neither on the same side, MIXED otherwise. Positive control: the "
             "fused chain of 16 is bound by memory, at 0.85 of a copy. Negative control: the chain "
             "of 16 with gelu and silu, bound by arithmetic, must not follow.",
     .judge = judge_c52,
     .needs = NEEDS(chain_needs)},
    {.id = "C83",
     .article = "dev.to",
     .quote = "Every intermediate value consumes registers.",
     .statement = "Registers per thread rise by at least half a register per operation of a "
                  "dependent chain; values all kept live are the control.",
     .rule = "Registers as loaded, one element a thread, chains of 4 and 64 operators. REPRODUCED "
             "when a dependent chain takes 0.5 registers a value or more, REFUTED when 0.05 or "
             "fewer, MIXED between. Positive control: values that are all kept to the end take 0.8 "
             "each or more. Negative control: values that are loaded and added up, from 16 to 64, "
             "take fewer than 0.5 each.",
     .judge = judge_c83,
     .needs = NEEDS(life_needs)},
};
CLAIM_SUBJECT(claims);
