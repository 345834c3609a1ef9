/* The ledger: chains of elementwise operators: bytes, arithmetic, and what fusing them gains. */
#include <math.h>
#include <stdio.h>

#include "report/claims/fused.h"

static const double DELTA = 0.03; /* a smaller difference does not count */

/* --- C37, C37a: little arithmetic costs nothing, bytes do ------------------------------------- */

static const double C37_SHORT = 0.10, C37_SAVES = 0.40, C37_SEEN = 2;
enum { NONE, EIGHT, SIXTEEN, MANY, N_FMAS }; /* multiply-adds an element */
static const int fmas[N_FMAS] = {0, 8, 16, 1024};

#define FMAS(shape)                                                                                \
    "elementwise_chain.time{" shape ",chain=fmas,operations=%d,type=%s,impl=fused,mode=graph,*}"
#define C37_LONG "rows=8192,cols=8192"
#define C37_SHARE_OF_COPY                                                                          \
    "elementwise_chain.share_of_copy{" C37_LONG ",chain=fmas,operations=%d,type=fp32,*}"

static const struct need fmas_needs[] = {{NEED_ANY, FMAS("rows=%d,cols=%d")}, NEEDS_END};
static const struct need share_needs[] = {{NEED_ANY, C37_SHARE_OF_COPY}, NEEDS_END};

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
        if (take_fmas(bundle, shapes[i][0], fmas[NONE], "fp32", &none, &ignored) &&
            take_fmas(bundle, shapes[i][0], fmas[SIXTEEN], "fp32", &sixteen, &ignored))
            rule_say(f->evidence, "; at %s 16 take %.0f ns, none %.0f ns", shapes[i][1],
                     sixteen.centre, none.centre);
}

/* 256 MiB of fp32: times, and shares of a copy. */
struct ridge {
    struct row time[N_FMAS], share[N_FMAS];
};

static bool take_ridge(const struct bundle *bundle, struct ridge *g, struct finding *f)
{
    for (int i = 0; i < N_FMAS; i++)
        if (!take_fmas(bundle, C37_LONG, fmas[i], "fp32", &g->time[i], f) ||
            !rule_take_formed(bundle, &g->share[i], f, C37_SHARE_OF_COPY, fmas[i]))
            return false;
    return true;
}

/* Arithmetic is seen where there is much of it: false if all times are equal. */
static bool sees_arithmetic(const struct ridge *g, struct finding *f)
{
    const struct row many = rule_ratio(f, &g->time[MANY], &g->time[NONE]);
    const bool sees = fused_at_least(&many, RULE_LIMIT(f, C37_SEEN));
    rule_say_control(f, true, sees, "1024 multiply-adds over none, time", &many);
    return sees;
}

static void judge_c37(const struct bundle *bundle, struct finding *f)
{
    struct ridge g;
    struct row narrow, narrow_many;
    if (!take_ridge(bundle, &g, f) ||
        !take_fmas(bundle, C37_LONG, fmas[SIXTEEN], "bf16", &narrow, f) ||
        !take_fmas(bundle, C37_LONG, fmas[MANY], "bf16", &narrow_many, f))
        return;

    const struct row by_bytes = rule_ratio(f, &narrow, &g.time[SIXTEEN]);
    const struct row by_work = rule_ratio(f, &g.time[EIGHT], &g.time[SIXTEEN]);
    const struct row many = rule_ratio(f, &narrow_many, &g.time[MANY]);
    const double left = 1 - RULE_LIMIT(f, C37_SAVES), delta = RULE_LIMIT(f, DELTA);
    const bool bound = fused_at_least(&g.share[SIXTEEN], 1 - RULE_LIMIT(f, C37_SHORT));
    const bool sees = sees_arithmetic(&g, f), negative = fused_at_least(&many, left);

    rule_say(f->evidence, "256 MiB of fp32, cold, 16 multiply-adds an element");
    rule_say_row(f, "half the bytes take", &by_bytes);
    rule_say_row(f, "half the arithmetic takes", &by_work);
    rule_say_control(f, true, bound, "it is bound by bandwidth, share of a copy",
                     &g.share[SIXTEEN]);
    rule_say_control(f, false, negative, "with 1024 multiply-adds half the bytes take", &many);
    rule_say_figure(f, "bytes", &by_bytes);
    rule_say_figure(f, "work", &by_work);
    rule_say_part(f, "time saved by half the bytes", rule_band(rule_place(&by_bytes, 0, left)),
                  &by_bytes, left);
    rule_say_part(f, "none by half the arithmetic",
                  rule_band(rule_place(&by_work, 1 - delta, INFINITY)), &by_work, 1 - delta);
    rule_conclude(f,
                  fused_below(&by_bytes, left) && fused_at_least(&by_work, 1 - delta)
                      ? CLAIM_REPRODUCED
                  : by_work.high <= by_bytes.low ? CLAIM_REFUTED
                                                 : CLAIM_MIXED,
                  bound && sees, negative);
}

static void judge_c37a(const struct bundle *bundle, struct finding *f)
{
    struct ridge g;
    if (!take_ridge(bundle, &g, f))
        return;

    const double share = 1 - RULE_LIMIT(f, C37_SHORT), delta = RULE_LIMIT(f, DELTA);
    const struct row most = rule_ratio(f, &g.time[SIXTEEN], &g.time[NONE]);
    int fast = 0, slow = 0, flat = 0, sloped = 0;
    for (int i = EIGHT; i <= SIXTEEN; i++) {
        const struct row over = rule_ratio(f, &g.time[i], &g.time[NONE]);
        const enum place place = rule_place(&over, 1 - delta, 1 + delta);
        fast += fused_at_least(&g.share[i], share);
        slow += fused_below(&g.share[i], share);
        flat += place == PLACE_INSIDE;
        sloped += place == PLACE_BELOW || place == PLACE_ABOVE;
    }
    rule_say_row(f, "256 MiB of fp32, cold, 16 multiply-adds over none, time", &most);
    rule_say_row(f, "share of a copy at 16", &g.share[SIXTEEN]);
    say_short(bundle, f);
    const bool positive = sees_arithmetic(&g, f), negative = fused_below(&g.share[MANY], share);
    rule_say_control(f, false, negative, "with 1024 multiply-adds, share of a copy",
                     &g.share[MANY]);
    rule_say_figure(f, "most", &most);
    rule_say_figure(f, "share", &g.share[SIXTEEN]);
    rule_say_part(f, "the same time as without arithmetic",
                  flat == 2     ? CLAIM_REPRODUCED
                  : sloped == 2 ? CLAIM_REFUTED
                                : CLAIM_MIXED,
                  &most, NAN);
    rule_say_part(f, "the rate of a copy",
                  fast == 2   ? CLAIM_REPRODUCED
                  : slow == 2 ? CLAIM_REFUTED
                              : CLAIM_MIXED,
                  &g.share[SIXTEEN], NAN);
    rule_conclude(f,
                  fast == 2 && flat == 2     ? CLAIM_REPRODUCED
                  : slow == 2 && sloped == 2 ? CLAIM_REFUTED
                                             : CLAIM_MIXED,
                  positive, negative);
}

/* --- chains: C39b, C39, C52 ------------------------------------------------------------------- */

/* A memory-bound chain, fused and unfused. */
struct chain {
    struct row speed_up, bytes, kept; /* unfused over fused: time; bytes; time ratio / byte ratio */
    struct row instructions;          /* unfused over fused */
    struct row share;                 /* of a copy, for the fused kernel */
    struct row share_unfused;         /* of a copy of two tensors */
    struct row unfused, fused;        /* times */
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
    *c = (struct chain){.speed_up = rule_ratio(f, &row[0][0], &row[1][0]),
                        .bytes = rule_ratio(f, &row[0][1], &row[1][1]),
                        .instructions = rule_ratio(f, &row[0][2], &row[1][2]),
                        .share = row[1][3],
                        .share_unfused = row[0][3],
                        .unfused = row[0][0],
                        .fused = row[1][0]};
    c->kept = rule_ratio(f, &c->speed_up, &c->bytes);
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

static const double C39B_KEEPS = 0.8, C39B_LOSES = 0.5, GOOD_KERNEL = 0.85, LONGER = 2;

/* 16 kernels take longer than 4: false if all times are equal. */
static bool sees_kernels(const struct chain *many, const struct chain *few, struct finding *f)
{
    const struct row ratio = rule_ratio(f, &many->unfused, &few->unfused);
    const bool sees = fused_at_least(&ratio, RULE_LIMIT(f, LONGER));
    rule_say_control(f, true, sees, "16 kernels over 4, time", &ratio);
    return sees;
}

static void judge_c39b(const struct bundle *bundle, struct finding *f)
{
    static const struct {
        const char *kind;
        int n;
        const char *what;
    } judged[] = {{"plain", 4, "plain chain of 4"},
                  {"plain", 16, "of 16"},
                  {"activated", 4, "with gelu and silu, of 4"},
                  {"activated", 16, "of 16"}};
    const double keeps = RULE_LIMIT(f, C39B_KEEPS), loses = RULE_LIMIT(f, C39B_LOSES);
    struct chain one, c, four = {0}, sixteen = {0};
    int keep = 0, lose = 0;

    if (!take_chain(bundle, "plain", 1, &one, f))
        return;
    rule_say(f->evidence, "256 MiB tensors, fp16, cold, unfused over fused");
    for (int i = 0; i < 4; i++) {
        if (!take_chain(bundle, judged[i].kind, judged[i].n, &c, f))
            return;
        if (i == 0)
            four = c;
        if (i == 1)
            sixteen = c;
        say_chain(judged[i].what, &c, f);
        char what[48];
        snprintf(what, sizeof what, "%d %s", judged[i].n, judged[i].kind);
        rule_say_part(f, what, rule_band(rule_place(&c.kept, keeps, INFINITY)), &c.kept, keeps);
        rule_say_figure(f, i ? "last" : "first", &c.kept);
        keep += fused_at_least(&c.kept, keeps);
        lose += fused_below(&c.kept, loses);
    }
    say_regimes(bundle, f);

    const struct row control = rule_ratio(f, &one.speed_up, &four.bytes);
    const bool good = fused_at_least(&one.share_unfused, RULE_LIMIT(f, GOOD_KERNEL));
    const bool positive = sees_kernels(&sixteen, &four, f) && good;
    const bool negative = fused_below(&control, keeps);
    rule_say_control(f, true, good, "a kernel of the unfused chain, share of a copy",
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

/* --- C39: what costs, passes over tensors or arithmetic? -------------------------------------- */

static const double C39_WITHIN = 0.10, C39_SEEN = 2;

/* One of the four ratios that are 1 when the time follows the passes, and nothing else. */
static enum place follows(const struct row *ratio, double passes, struct finding *f)
{
    const double within = RULE_LIMIT(f, C39_WITHIN);
    return rule_place(ratio, passes * (1 - within), passes * (1 + within));
}

static void judge_c39(const struct bundle *bundle, struct finding *f)
{
    static const int passes[] = {4, 16};
    enum { LENGTHS = sizeof passes / sizeof *passes };
    struct chain one, plain[LENGTHS], activated[LENGTHS];
    int follow = 0, part_ways = 0;

    if (!take_chain(bundle, "plain", 1, &one, f))
        return;
    rule_say(f->evidence, "256 MiB tensors, fp16, cold, unfused");
    rule_say_row(f, "one kernel, one read and one write", &one.unfused);
    for (int i = 0; i < LENGTHS; i++) {
        char what[80];
        if (!take_chain(bundle, "plain", passes[i], &plain[i], f) ||
            !take_chain(bundle, "activated", passes[i], &activated[i], f))
            return;
        const struct row longer = rule_ratio(f, &plain[i].unfused, &one.unfused);
        const struct row harder = rule_ratio(f, &activated[i].unfused, &plain[i].unfused);
        const enum place by_passes = follows(&longer, passes[i], f);
        const enum place by_gelu = follows(&harder, 1, f);
        follow += (by_passes == PLACE_INSIDE) + (by_gelu == PLACE_INSIDE);
        part_ways += (by_passes == PLACE_BELOW || by_passes == PLACE_ABOVE) +
                     (by_gelu == PLACE_BELOW || by_gelu == PLACE_ABOVE);
        snprintf(what, sizeof what, "%d kernels over one, time", passes[i]);
        rule_say_row(f, what, &longer);
        rule_say_figure(f, i ? "longest" : "longer", &longer);
        snprintf(what, sizeof what, "%d kernels", passes[i]);
        rule_say_part(f, what, rule_band(by_passes), &longer, NAN);
        rule_say_row(f, "the same with gelu and silu over plain ones", &harder);
        rule_say_figure(f, "harder", &harder);
        snprintf(what, sizeof what, "%d with gelu over %d", passes[i], passes[i]);
        rule_say_part(f, what, rule_band(by_gelu), &harder, NAN);
    }
    const struct row arithmetic = rule_ratio(f, &activated[1].fused, &plain[1].fused);
    const struct row same = rule_ratio(f, &plain[1].fused, &one.unfused);
    const bool seen = fused_at_least(&arithmetic, RULE_LIMIT(f, C39_SEEN));
    const bool good = fused_at_least(&one.share_unfused, RULE_LIMIT(f, GOOD_KERNEL));
    const bool negative = follows(&same, passes[1], f) == PLACE_BELOW;
    rule_say_control(f, true, good, "one kernel is as fast as its bytes allow, share of a copy",
                     &one.share_unfused);
    rule_say_control(f, true, seen,
                     "gelu and silu are work: fused, a chain of 16 with them over one without",
                     &arithmetic);
    rule_say_control(f, false, negative,
                     "16 operators in one pass take as long as 16 passes, over one", &same);
    rule_conclude(f,
                  follow == 2 * LENGTHS      ? CLAIM_REPRODUCED
                  : part_ways == 2 * LENGTHS ? CLAIM_REFUTED
                                             : CLAIM_MIXED,
                  good && seen, negative);
}

/* --- C52: do speed-ups follow intensity? ------------------------------------------------------ */

static const double C52_WITHIN = 0.20, C52_SAME = 0.10;

static enum place tracks(const struct chain *c, struct finding *f)
{
    const double within = RULE_LIMIT(f, C52_WITHIN);
    return rule_place(&c->kept, 1 - within, 1 + within);
}

static void judge_c52(const struct bundle *bundle, struct finding *f)
{
    struct chain four, sixteen, above;
    if (!take_chain(bundle, "plain", 4, &four, f) ||
        !take_chain(bundle, "plain", 16, &sixteen, f) ||
        !take_chain(bundle, "activated", 16, &above, f))
        return;

    const double apart = RULE_LIMIT(f, C52_SAME);
    const bool same = rule_place(&four.instructions, 1 - apart, 1 + apart) == PLACE_INSIDE &&
                      rule_place(&sixteen.instructions, 1 - apart, 1 + apart) == PLACE_INSIDE;
    const enum place a = tracks(&four, f), b = tracks(&sixteen, f);
    rule_say(f->evidence, "256 MiB tensors, fp16, cold");
    rule_say_row(f, "arithmetic instructions, unfused over fused", &sixteen.instructions);
    say_chain("plain chain of 4", &four, f);
    say_chain("of 16", &sixteen, f);
    rule_say_row(f, "fused, of 16, share of a copy", &sixteen.share);
    if (!same) {
        rule_not_testable(f, "the two forms differ in their instructions");
        return;
    }
    const bool bound = fused_at_least(&sixteen.share, RULE_LIMIT(f, GOOD_KERNEL));
    const bool positive = sees_kernels(&sixteen, &four, f) && bound;
    const bool negative = tracks(&above, f) == PLACE_BELOW;
    rule_say_control(f, true, bound, "below the ridge: the fused chain of 16, share of a copy",
                     &sixteen.share);
    rule_say_control(f, false, negative,
                     "above it, where 6 activations decide: speed-up over the ratio of intensities",
                     &above.kept);
    rule_say_figure(f, "speed", &sixteen.speed_up);
    rule_say_figure(f, "bytes", &sixteen.bytes);
    rule_say_part(f, "4 operators", rule_band(a), &four.kept, NAN);
    rule_say_part(f, "16", rule_band(b), &sixteen.kept, NAN);
    rule_conclude(f,
                  a == PLACE_INSIDE && b == PLACE_INSIDE ? CLAIM_REPRODUCED
                  : a == b && a != PLACE_STRADDLES       ? CLAIM_REFUTED
                                                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C37",
     .article = "ai-rng",
     .quote = "If it is bandwidth-bound, reducing reads and writes often matters more than "
              "optimizing arithmetic.",
     .since = "2026-11-22",
     .plain = {.yes = "Bound by bandwidth, half the bytes take {bytes:%} of the time, half the "
                      "work {work:%}.",
               .no = "Bound by bandwidth, half the work takes {work:%} of the time, half the bytes "
                     "{bytes:%}.",
               .partly = "Where bandwidth binds: {parts}."},
     .surprise = 1,
     .statement =
         "With 16 multiply-adds an element over 256 MiB, which is bound by bandwidth, halving the "
         "bytes saves 40 % where halving the arithmetic saves nothing measurable.",
     .rule = "8192x8192 fp32 by graph, cold, 16 multiply-adds an element. REPRODUCED when the same "
             "in bf16 takes 40 % less time or better, and half as many multiply-adds less than 3 % "
             "less; REFUTED when halving the arithmetic saves as much as halving the bytes; MIXED "
             "otherwise. Positive controls: it runs at 0.90 of a copy ('if it is "
             "bandwidth-bound'), and 1024 multiply-adds take at least twice the time of none. "
             "Negative control: with 1024 multiply-adds half the bytes must not save 40 %.",
     .judge = judge_c37,
     .needs = NEEDS(fmas_needs, share_needs)},
    {.id = "C37a",
     .article = "ai-rng",
     .quote = "If an operation does little math per element, it is likely bandwidth-bound.",
     .since = "2026-11-22",
     .plain = {.yes = "16 multiply-adds an element take {most} times as long as none, at {share:%} "
                      "of a copy.",
               .no = "16 multiply-adds an element take {most} times as long as none, at only "
                     "{share:%} of a copy.",
               .partly = "With 8 and 16 multiply-adds an element: {parts}."},
     .surprise = 1,
     .statement = "Over 256 MiB up to 16 multiply-adds an element change time by less than 3 %, at "
                  "90 % of a copy or more; 'little' and 'bound' by these figures are ours.",
     .rule =
         "8192x8192 fp32 by graph, cold, 8 and 16 multiply-adds an element. REPRODUCED when both "
         "take as long as none within 3 % and run at 0.90 of a copy or more, REFUTED when neither "
         "does either, MIXED otherwise. Positive control: 1024 multiply-adds take at least twice "
         "the time of none. Negative control: with 1024 it must not run at 0.90 of a copy.",
     .judge = judge_c37a,
     .needs = NEEDS(fmas_needs, share_needs)},
    {.id = "C39",
     .article = "ai-rng",
     .quote = "Elementwise operations often look cheap because they involve few FLOPs. They are "
              "expensive when they cause large tensors to be read and written multiple times.",
     .clause =
         "They are expensive when they cause large tensors to be read and written multiple times.",
     .since = "2026-11-22T13:00Z",
     .plain =
         {.yes =
              "4 elementwise kernels take {longer} times as long as one, 16 take {longest} times.",
          .no = "4 elementwise kernels take {longer} times as long as one, 16 take {longest} "
                "times: not by their passes.",
          .partly = "Elementwise kernels take time by their passes over memory: {parts}."},
     .surprise = 2,
     .statement =
         "Where tensors exceed the L2, a chain of elementwise kernels takes time by its passes "
         "over them and not by its arithmetic: 4 and 16 kernels take 4 and 16 times as long as "
         "one, and as long with gelu and silu as without, each within 10 %.",
     .rule = "16384x8192 fp16 by graph, cold, unfused. Four ratios: the plain chains of 4 and of "
             "16 kernels over one kernel, against 4 and 16; the chains with gelu and silu over the "
             "plain ones of the same length, against 1. REPRODUCED when all four are within 10 %, "
             "REFUTED when none is, MIXED otherwise. Positive controls: one kernel reaches 0.85 of "
             "a copy, and gelu and silu are work that the clock can see: in one fused kernel a "
             "chain of 16 with them takes at least twice as long as one without. Negative control: "
             "16 operators fused into one pass must take less than 16 passes do.",
     .judge = judge_c39,
     .needs = NEEDS(chain_needs)},
    {.id = "C39b",
     .article = "ai-rng",
     .quote = "Elementwise operations often look cheap because they involve few FLOPs. They are "
              "expensive when they cause large tensors to be read and written multiple times.",
     .clause = "",
     .since = "2026-11-22T13:00Z",
     .plain = {.yes = "Fused chains gain {first:%} of what bytes allow for 4 operators, {last:%} "
                      "for 16 with gelu or silu.",
               .no = "Fused chains gain {first:%} of what bytes allow for 4 operators, {last:%} "
                     "for 16 with gelu or silu: too little.",
               .partly = "Fused chains gain what bytes allow: {parts}."},
     .surprise = 3,
     .statement = "Chains of 4 to 16 operations, with and without gelu and silu, gain 0.8 of their "
                  "traffic ratio or more from being fused where tensors exceed the L2.",
     .rule = "16384x8192 fp16 by graph, cold; speed-up over the ratio of bytes, of two chains at 4 "
             "and 16 operators each. REPRODUCED when all four keep 0.8, REFUTED when none keeps "
             "0.5, MIXED otherwise. Positive controls: one kernel of the unfused chain reaches "
             "0.85 of a copy, and 16 of them take at least twice as long as 4. Negative control: a "
             "chain of one does not gain what the bytes of four would allow.",
     .judge = judge_c39b,
     .needs = NEEDS(chain_needs, regime_needs)},
    {.id = "C52",
     .article = "dev.to",
     .quote = "This is why fusion often produces large speedups even when the number of "
              "mathematical operations stays exactly the same.",
     .clause = "fusion often produces large speedups even when the number of mathematical "
               "operations stays exactly the same",
     .since = "2026-11-22",
     .plain = {.yes = "With the same arithmetic 16 fused operators are {speed} times as fast.",
               .no = "With the same arithmetic 16 fused operators are {speed} times as fast, "
                     "despite {bytes} times fewer bytes.",
               .partly = "Fusing speeds up as bytes fall, with the same arithmetic: {parts}."},
     .surprise = 1,
     .statement = "With arithmetic instruction counts equal within 10 %, speed-up follows the "
                  "ratio of arithmetic intensity within 20 % below the ridge.",
     .rule =
         "Plain chains of 4 and 16 operators at 16384x8192 fp16, by graph and cold; instructions "
         "as counted in the cubins, without conversions between fp16 and fp32. REPRODUCED when at "
         "both the speed-up lies within 20 % of the ratio of intensities, REFUTED when at neither "
         "on the same side, MIXED otherwise. Positive controls: the fused chain of 16 is bound by "
         "memory, at 0.85 of a copy, and 16 kernels take at least twice as long as 4. Negative "
         "control: the chain of 16 with gelu and silu, bound by arithmetic, must not follow.",
     .judge = judge_c52,
     .needs = NEEDS(chain_needs)},
};
CLAIM_SUBJECT(claims);
