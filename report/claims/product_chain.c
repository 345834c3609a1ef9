/* The ledger: a chain of dependent products on few SMs and on all. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/layer.h"

/* n, impl, SMs, warps on each, where the weights are. */
#define POINT(n, impl, sms, warps, l2) "{n=" n ",impl=" impl ",sms=" sms ",warps=" warps ",l2=" l2
#define TIME(n, impl, sms, warps, l2)                                                              \
    "product_chain.product_time" POINT(n, impl, sms, warps, l2) ",timer=event}"
#define PHASE(metric, n, impl, sms, warps, l2)                                                     \
    "product_chain." metric POINT(n, impl, sms, warps, l2) ",timer=device}"
#define CAUGHT(sms) "product_chain.caught" POINT("3072", "unwaited", sms, "32", "warm") "}"
#define CAMPAIGN(metric, launch, sms, products)                                                    \
    "product_chain." metric "{n=512,launch=" launch ",sms=" sms ",warps=16,products=" products "}"
#define FULL "[13]*"          /* warps: 16 or 32 */
#define UP_TO_0_8 "0.[1258]*" /* SMs: an eighth, a quarter, half and 0.8 of them */

/* --- campaigns and controls, which the three claims share ------------------------------------- */

/* On all SMs, and on 8, where the same kernel must work: did every barrier let through, and how
 * many results were wrong? And what must not: one block more than fits, chains without barriers. */
static const struct need safe_needs[] = {
    {NEED_ONE, CAMPAIGN("completed", "cooperative", "1xsm", "100000")},
    {NEED_ONE, CAMPAIGN("completed", "cooperative", "8", "100000")},
    {NEED_ONE, CAMPAIGN("wrong", "cooperative", "8", "100000")},
    {NEED_ONE, CAMPAIGN("completed", "ordinary", "1xsm+1", "1000")},
    {NEED_ONE, CAMPAIGN("completed", "ordinary", "1xsm", "1000")},
    {NEED_ONE, CAMPAIGN("refused", "cooperative", "1xsm+1", "1000")},
    {NEED_ONE, CAUGHT("1xsm")},
    {NEED_ONE, CAUGHT("8")},
    NEEDS_END};
static const struct need right_needs[] = {
    {NEED_ONE, CAMPAIGN("wrong", "cooperative", "1xsm", "100000")}, NEEDS_END};

struct safety {
    bool is_safe;            /* all SMs finish, and every result is right */
    bool positive, negative; /* controls */
};

/* False where a row is missing. */
static bool take_safety(const struct bundle *bundle, struct finding *f, struct safety *s)
{
    struct row all, few, few_wrong, more, plain, refused, seen, few_seen, wrong;
    if (!RULE_TAKE(bundle, safe_needs, f, &all, &few, &few_wrong, &more, &plain, &refused, &seen,
                   &few_seen))
        return false;
    const bool ends = all.low > 0;
    if (ends && !RULE_TAKE(bundle, right_needs, f, &wrong)) /* nothing is compared of what hangs */
        return false;
    s->is_safe = ends && wrong.high <= 0;
    rule_say(f->evidence, "100000 products with barriers on all SMs %s",
             !ends        ? "do not finish"
             : s->is_safe ? "finish, all results right"
                          : "finish wrong");

    const bool works = few.low > 0 && few_wrong.high <= 0;
    const bool hangs = more.high <= 0 && plain.low > 0, is_refused = refused.low > 0;
    const bool is_seen = seen.low > 0 && few_seen.low > 0;
    rule_say_control(f, true, works, "8 SMs finish as many, all results right", &few);
    rule_say_control(f, false, hangs,
                     "of a plain launch one block more than fits finishes, or without it none does",
                     &more);
    rule_say_control(f, false, is_refused,
                     "launched cooperatively, that block is accepted, refused", &refused);
    rule_say_control(f, false, is_seen, "a chain without barriers is taken for a right one, seen",
                     &seen);
    s->positive = works;
    s->negative = hangs && is_refused && is_seen;
    return true;
}

/* Without safety nothing else is asked: the claim holds, if the controls came out. */
static bool is_unsafe(struct finding *f, const struct safety *s)
{
    if (s->is_safe)
        return false;
    rule_say_part(f, "all SMs hang or go wrong", CLAIM_REPRODUCED, NULL, NAN);
    rule_conclude(f, CLAIM_REPRODUCED, s->positive, s->negative);
    return true;
}

/* --- C03: is a chain fastest on fewer than all SMs? ------------------------------------------- */

static const double C03_MARGIN = 0.03, C03_SLOWER = 2;

/* In each state: the best of few, the best of all, and 8 SMs. */
static const struct need c03_needs[] = {{NEED_BEST, TIME("3072", "ahead", UP_TO_0_8, FULL, "warm")},
                                        {NEED_BEST, TIME("3072", "ahead", "1xsm", FULL, "warm")},
                                        {NEED_ONE, TIME("3072", "ahead", "8", "32", "warm")},
                                        {NEED_BEST, TIME("4096", "ahead", UP_TO_0_8, FULL, "cold")},
                                        {NEED_BEST, TIME("4096", "ahead", "1xsm", FULL, "cold")},
                                        {NEED_ONE, TIME("4096", "ahead", "8", "32", "cold")},
                                        NEEDS_END};

/* What is said and not judged. */
static const struct need c03_beside[] = {{NEED_ANY, TIME("3072", "ahead", "*", "*", "warm")},
                                         {NEED_ANY, TIME("4096", "ahead", "*", "*", "cold")},
                                         {NEED_ANY, CAMPAIGN("completed", "cooperative", "*", "*")},
                                         {NEED_ANY, CAMPAIGN("wrong", "cooperative", "*", "*")},
                                         NEEDS_END};

/* Are fewer SMs faster? few over all, and the control: 8 SMs over all. */
static enum claim_verdict judge_few(struct finding *f, const char *what, const char *key,
                                    const struct row *few, const struct row *all)
{
    const double least = 1 - RULE_LIMIT(f, C03_MARGIN);
    const struct row ratio = rule_ratio(f, few, all);
    const enum place place = rule_place(&ratio, least, INFINITY);
    const enum claim_verdict verdict = place == PLACE_INSIDE  ? CLAIM_REFUTED
                                       : place == PLACE_BELOW ? CLAIM_REPRODUCED
                                                              : rule_band(place);
    char text[96];
    snprintf(text, sizeof text, "%s: the best time on 0.8 of the SMs or fewer, over that on all",
             what);
    rule_say_row(f, text, &ratio);
    rule_say_figure(f, key, &ratio);
    rule_say_part(f, what, verdict, &ratio, least);
    return verdict;
}

static bool is_slower(struct finding *f, const char *what, const struct row *few,
                      const struct row *all)
{
    const struct row ratio = rule_ratio(f, few, all);
    const bool passes = rule_place(&ratio, RULE_LIMIT(f, C03_SLOWER), INFINITY) == PLACE_INSIDE;
    rule_say_control(f, true, passes, what, &ratio);
    return passes;
}

static void judge_c03(const struct bundle *bundle, struct finding *f)
{
    struct safety safe;
    struct row near[3], cold[3];
    if (!take_safety(bundle, f, &safe) || is_unsafe(f, &safe) ||
        !RULE_TAKE(bundle, c03_needs, f, &near[0], &near[1], &near[2], &cold[0], &cold[1],
                   &cold[2]))
        return;

    const enum claim_verdict of[] = {
        judge_few(f, "fewer SMs faster, weights in the L2", "near", &near[0], &near[1]),
        judge_few(f, "fewer SMs faster, weights in memory", "cold", &cold[0], &cold[1])};
    const bool slower = is_slower(f, "in the L2, 8 SMs take over all", &near[2], &near[1]);
    const bool slower_cold = is_slower(f, "from memory, 8 SMs take over all", &cold[2], &cold[1]);
    rule_say_row(f, "all SMs, in the L2", &near[1]);
    rule_say_row(f, "from device memory", &cold[1]);
    rule_conclude(f, of[0] == of[1] ? of[0] : CLAIM_MIXED, safe.positive && slower && slower_cold,
                  safe.negative);
}

/* --- C04: does a small computation gain by all SMs? ------------------------------------------- */

static const double C04_GAIN = 1.5, C04_NONE = 1.03, C04_SEEN = 1.2;

/* A quarter, all, and an eighth with as many warps; of a smaller one a quarter and all; and a read
 * of the larger one's weights by a quarter and by all, without barriers. */
static const struct need c04_needs[] = {{NEED_BEST, TIME("3072", "ahead", "0.25xsm", FULL, "warm")},
                                        {NEED_BEST, TIME("3072", "ahead", "1xsm", FULL, "warm")},
                                        {NEED_ONE, TIME("3072", "ahead", "0.125xsm", "32", "warm")},
                                        {NEED_ONE, TIME("3072", "ahead", "0.25xsm", "32", "warm")},
                                        {NEED_BEST, TIME("2048", "ahead", "0.25xsm", FULL, "warm")},
                                        {NEED_BEST, TIME("2048", "ahead", "1xsm", FULL, "warm")},
                                        {NEED_ONE, TIME("3072", "read", "0.25xsm", "32", "warm")},
                                        {NEED_ONE, TIME("3072", "read", "1xsm", "32", "warm")},
                                        NEEDS_END};
static const struct need c04_beside[] = {{NEED_ANY, TIME("1024", "ahead", "*", "32", "warm")},
                                         {NEED_ANY, TIME("4096", "ahead", "*", "32", "warm")},
                                         {NEED_ANY, TIME("4096", "ahead", "*", "32", "cold")},
                                         {NEED_ANY, TIME("2048", "read", "*", "32", "warm")},
                                         NEEDS_END};

/* The gain of all SMs over a quarter: REFUTED at `least` or more, REPRODUCED below C04_NONE. */
static enum claim_verdict judge_gain(struct finding *f, const char *what, const char *key,
                                     const struct row *gain, double least)
{
    const double none = RULE_LIMIT(f, C04_NONE);
    const enum place at_least = rule_place(gain, least, INFINITY);
    const enum place at_most = rule_place(gain, -INFINITY, none);
    const enum claim_verdict verdict = at_least == PLACE_UNKNOWN  ? CLAIM_NOT_TESTABLE
                                       : at_least == PLACE_INSIDE ? CLAIM_REFUTED
                                       : at_most == PLACE_INSIDE  ? CLAIM_REPRODUCED
                                                                  : CLAIM_MIXED;
    rule_say_row(f, what, gain);
    rule_say_figure(f, key, gain);
    rule_say_part(f, what, verdict, gain, least);
    return verdict;
}

static void judge_c04(const struct bundle *bundle, struct finding *f)
{
    enum { QUARTER, ALL, EIGHTH_FULL, QUARTER_FULL, SMALL_QUARTER, SMALL_ALL, READ_QUARTER, READ };
    struct safety safe;
    struct row of[8];
    if (!take_safety(bundle, f, &safe) || is_unsafe(f, &safe) ||
        !RULE_TAKE(bundle, c04_needs, f, &of[QUARTER], &of[ALL], &of[EIGHTH_FULL],
                   &of[QUARTER_FULL], &of[SMALL_QUARTER], &of[SMALL_ALL], &of[READ_QUARTER],
                   &of[READ]))
        return;

    const struct row gain = rule_ratio(f, &of[QUARTER], &of[ALL]);
    const struct row small = rule_ratio(f, &of[SMALL_QUARTER], &of[SMALL_ALL]);
    const struct row eighth = rule_ratio(f, &of[EIGHTH_FULL], &of[QUARTER_FULL]);
    const struct row alone = rule_ratio(f, &of[READ_QUARTER], &of[READ]);
    const enum claim_verdict parts[] = {
        judge_gain(f, "no gain of all SMs over a quarter, 3072 x 3072", "gain", &gain,
                   RULE_LIMIT(f, C04_GAIN)),
        judge_gain(f, "no gain of all SMs over a quarter, 2048 x 2048", "small", &small,
                   RULE_LIMIT(f, C04_NONE))};
    const bool seen = rule_place(&eighth, RULE_LIMIT(f, C04_SEEN), INFINITY) == PLACE_INSIDE;
    const bool allows = rule_place(&alone, RULE_LIMIT(f, C04_GAIN), INFINITY) == PLACE_INSIDE;
    rule_say_control(f, true, seen, "a quarter of the SMs is faster than an eighth", &eighth);
    rule_say_control(f, true, allows, "a read of 3072 x 3072 weights by all SMs over a quarter",
                     &alone);
    rule_say_figure(f, "read", &alone);
    rule_say_ratio_beside(bundle, f, "a read of 2048 x 2048",
                          TIME("2048", "read", "0.25xsm", "32", "warm"),
                          TIME("2048", "read", "1xsm", "32", "warm"));
    rule_say_ratio_beside(bundle, f, "not judged: 1024 x 1024",
                          TIME("1024", "ahead", "0.25xsm", "32", "warm"),
                          TIME("1024", "ahead", "1xsm", "32", "warm"));
    rule_say_ratio_beside(bundle, f, "4096 x 4096", TIME("4096", "ahead", "0.25xsm", "32", "warm"),
                          TIME("4096", "ahead", "1xsm", "32", "warm"));
    rule_say_ratio_beside(bundle, f, "4096 x 4096 from device memory",
                          TIME("4096", "ahead", "0.25xsm", "32", "cold"),
                          TIME("4096", "ahead", "1xsm", "32", "cold"));
    rule_conclude(f, parts[0] == parts[1] ? parts[0] : CLAIM_MIXED, safe.positive && seen && allows,
                  safe.negative);
}

/* --- C19: is the GPU forced to idle? ---------------------------------------------------------- */

static const double C19_SHARE = 0.8, C19_READ = 0.85;

/* The best of all that use all SMs, the read of the same bytes, and four warps an SM. */
static const struct need c19_needs[] = {
    {NEED_BEST, TIME("4096", "[ab]*", "1xsm", "*", "cold")}, /* ahead, ahead_all, behind */
    {NEED_ONE, TIME("4096", "read", "1xsm", "32", "cold")},
    {NEED_ONE, TIME("4096", "ahead", "1xsm", "4", "cold")},
    {NEED_ONE, "product_chain.share_of_pins" POINT("4096", "read", "1xsm", "32", "cold") "}"},
    NEEDS_END};
static const struct need c19_tail[] = {
    {NEED_ANY, PHASE("phase_p99", "4096", "[ab]*", "1xsm", "*", "cold")}, NEEDS_END};
static const struct need c19_beside[] = {
    {NEED_ANY, PHASE("phase_time", "4096", "ahead", "1xsm", "*", "cold")}, NEEDS_END};

/* Decoder's layers in one kernel on all SMs, a read of their bytes, the greater one as a kernel for
 * each operator, and whether faults in the one kernel are seen. */
static const struct need c19_layer[] = {
    {NEED_BEST, LAYER_TIME("1b", "1024", ONE_KERNEL)},
    {NEED_ONE, LAYER_TIME("1b", "1024", "read")},
    {NEED_BEST, LAYER_TIME("8b", "1024", ONE_KERNEL)},
    {NEED_ONE, LAYER_TIME("8b", "1024", "read")},
    {NEED_ONE, LAYER_TIME("8b", "1024", "graph")},
    {NEED_ONE, "decoder_layer.caught{model=small,context=200,impl=values}"},
    NEEDS_END};

/* The share of the rate of the read: at least C19_SHARE refutes. */
static enum claim_verdict judge_share(struct finding *f, const char *what, const char *key,
                                      const struct row *share)
{
    const double least = RULE_LIMIT(f, C19_SHARE);
    const enum place place = rule_place(share, least, INFINITY);
    const enum claim_verdict verdict = place == PLACE_INSIDE  ? CLAIM_REFUTED
                                       : place == PLACE_BELOW ? CLAIM_REPRODUCED
                                                              : rule_band(place);
    rule_say_row(f, what, share);
    rule_say_figure(f, key, share);
    rule_say_part(f, what, verdict, share, least);
    return verdict;
}

/* The slowest of 100 phases of the chain whose whole is taken. */
static bool take_tail(const struct bundle *bundle, const struct row *whole, struct row *tail,
                      struct finding *f)
{
    const char *keys = strchr(whole->id, '{'), *timer = strstr(whole->id, ",timer=");

    return keys && timer &&
           rule_take_formed(bundle, tail, f, "product_chain.phase_p99%.*s,timer=device}",
                            (int)(timer - keys), keys);
}

/* A chain that reaches it in no point is the claim's; one that does, but not in each phase, is in
 * between. */
static enum claim_verdict judge_chain(const struct bundle *bundle, struct finding *f,
                                      bool *positive, bool *negative)
{
    struct row best, longest, read, starved, pins;
    if (!RULE_TAKE(bundle, c19_needs, f, &best, &read, &starved, &pins) ||
        !take_tail(bundle, &best, &longest, f))
        return CLAIM_NOT_TESTABLE;

    const struct row share = rule_ratio(f, &read, &best), tail = rule_ratio(f, &read, &longest);
    const struct row few = rule_ratio(f, &read, &starved);
    const enum claim_verdict whole = judge_share(f, "a chain", "share", &share);
    const enum claim_verdict each = judge_share(f, "in one phase of 100", "each", &tail);
    *positive = rule_place(&pins, RULE_LIMIT(f, C19_READ), 1) == PLACE_INSIDE;
    *negative = rule_place(&few, -INFINITY, RULE_LIMIT(f, C19_SHARE)) == PLACE_INSIDE;
    rule_say_control(f, true, *positive, "the read comes near the rate of the memory's pins",
                     &pins);
    rule_say_control(f, false, *negative, "four warps an SM reach it as well", &few);
    return whole == CLAIM_REPRODUCED || whole == each ? whole : CLAIM_MIXED;
}

/* One point that reaches it refutes; all that do not are the claim's. */
static enum claim_verdict any_of(enum claim_verdict a, enum claim_verdict b)
{
    if (a == CLAIM_NOT_TESTABLE || b == CLAIM_NOT_TESTABLE)
        return CLAIM_NOT_TESTABLE;
    if (a == CLAIM_REFUTED || b == CLAIM_REFUTED)
        return CLAIM_REFUTED;
    return a == b ? a : CLAIM_MIXED;
}

static enum claim_verdict judge_layers(const struct bundle *bundle, struct finding *f,
                                       bool *positive, bool *negative)
{
    struct row small, small_read, large, large_read, graph, caught;
    if (!RULE_TAKE(bundle, c19_layer, f, &small, &small_read, &large, &large_read, &graph, &caught))
        return CLAIM_NOT_TESTABLE;

    const struct row of_1b = rule_ratio(f, &small_read, &small);
    const struct row of_8b = rule_ratio(f, &large_read, &large);
    const struct row apart = rule_ratio(f, &large_read, &graph);
    const enum claim_verdict verdict = judge_share(f, "a layer of 1B", "small", &of_1b);
    const enum claim_verdict other = judge_share(f, "a layer of 8B", "large", &of_8b);
    *positive = caught.low >= 1;
    *negative = rule_place(&apart, -INFINITY, RULE_LIMIT(f, C19_SHARE)) == PLACE_INSIDE;
    rule_say_control(f, true, *positive, "faults planted in the layer are seen", &caught);
    rule_say_control(f, false, *negative, "the layer as a kernel for each operator reaches it",
                     &apart);
    return any_of(verdict, other);
}

static void judge_c19(const struct bundle *bundle, struct finding *f)
{
    struct safety safe;
    bool near = false, few = false, seen = false, apart = false;
    if (!take_safety(bundle, f, &safe) || is_unsafe(f, &safe))
        return;

    const enum claim_verdict chain = judge_chain(bundle, f, &near, &few);
    const enum claim_verdict layers = judge_layers(bundle, f, &seen, &apart);
    if (chain == CLAIM_NOT_TESTABLE || layers == CLAIM_NOT_TESTABLE)
        return;
    rule_conclude(f, any_of(chain, layers), safe.positive && near && seen,
                  safe.negative && few && apart);
}

/* --- the entries ------------------------------------------------------------------------------ */

#define SAFELY                                                                                     \
    "Positive control: 8 SMs finish as many products, all right. Negative controls: of a plain "   \
    "launch one block more than fits must not finish, where without it all do; launched "          \
    "cooperatively it must be refused; and chains without barriers must be seen to be wrong, on "  \
    "8 SMs and on all. "

static const struct claim claims[] = {
    {.id = "C03",
     .article = "smallest.ai",
     .quote =
         "To avoid this, developers often restrict the number of SMs used, limiting parallelism on "
         "otherwise massive GPUs. [...] Ironically, this underutilization creates a performance "
         "ceiling- especially harmful for single-batch inference, where every millisecond counts.",
     .clause = "restrict the number of SMs used [...] this underutilization creates a performance "
               "ceiling",
     .since = "2026-11-24T10:20Z",
     .plain =
         {.yes = "A chain of products with barriers needs fewer SMs than all: {parts}.",
          .no = "On all SMs a chain of products ends; fewer take at best {near:%} as long "
                "(memory: {cold:%}).",
          .partly =
              "A chain of products is faster on fewer SMs, by more than {C03_MARGIN:%}: {parts}."},
     .surprise = 4,
     .statement = "A chain of products with barriers between them needs fewer than all SMs to "
                  "finish safely, or is fastest on 0.8 of the SMs or fewer. How often developers "
                  "restrict SMs cannot be measured.",
     .rule = "A persistent chain of dependent matrix-vector products with a barrier of the grid "
             "after each, launched cooperatively, one block an SM, of 32 warps, on 0.8 of the SMs "
             "and on all of 16 or 32, the better: "
             "weights in the L2 (3072 x 3072), and in device memory (4096 x 4096, cold). "
             "REPRODUCED when 100000 products on all SMs do not finish or a result is wrong, or "
             "when an eighth, a quarter, half or 0.8 of the SMs take less than 0.97 of the time of "
             "all in both places; REFUTED when they finish, all right, and the best of these takes "
             "0.97 of it or more in both; else MIXED. " SAFELY
             "And a positive control in each place: 8 SMs take twice as long as all or more.",
     .judge = judge_c03,
     .needs = NEEDS(safe_needs, right_needs, c03_needs, c03_beside)},
    {.id = "C04",
     .article = "smallest.ai",
     .quote = "Even with fusion, the GPU cannot safely scale this computation across all its SMs:",
     .since = "2026-11-24T10:20Z",
     .plain = {.yes = "A small chain of products cannot use all SMs: {parts}.",
               .no = "All SMs get a chain of products right, {small} to {gain} times as fast as a "
                     "quarter.",
               .partly = "Of a small chain of products: {parts}."},
     .surprise = 6,
     .statement = "One small dependent computation on all SMs hangs, goes wrong, or is no faster "
                  "than on a quarter of the SMs.",
     .rule =
         "The chain of C03 with weights in the L2. REPRODUCED when 100000 products on all SMs do "
         "not finish or a result is wrong, or when all SMs are less than 1.03 times as fast as a "
         "quarter of them, with 3072 x 3072 weights and with 2048 x 2048. REFUTED when they "
         "finish, all right, and all SMs are 1.5 times as fast or more with 3072 x 3072, and 1.03 "
         "times with 2048 x 2048; else MIXED. Of smaller products nothing is asked: their time is "
         "the barrier's; nor of weights in device memory, whose rate fewer SMs reach. " SAFELY
         "And positive controls: a quarter of the SMs is 1.2 times as fast as an eighth or more, "
         "and "
         "all SMs read the 3072 x 3072 weights, without barriers, 1.5 times as fast as a quarter "
         "or "
         "more: the L2 allows the gain that is asked.",
     .judge = judge_c04,
     .needs = NEEDS(safe_needs, right_needs, c04_needs, c04_beside)},
    {.id = "C19",
     .article = "smallest.ai",
     .quote = "Too few warps per SM = memory latency is exposed. [...] Too many SMs = inter-SM "
              "coordination risks deadlocks. [...] This leads to forced underutilization of the "
              "hardware.",
     .clause = "This leads to forced underutilization of the hardware.",
     .since = "2026-11-28T19:00Z",
     .plain = {.yes = "No kernel on all SMs is both safe and near the rate of a read: {parts}.",
               .no =
                   "One kernel on all SMs can reach {C19_SHARE:%} of a plain read's rate: "
                   "{share:%} in a "
                   "chain of products, {small:%} in a decoder layer of 1B, {large:%} in one of 8B.",
               .partly =
                   "One kernel on all SMs stays below {C19_SHARE:%} of a read's rate: {parts}."},
     .surprise = 6,
     .statement = "No number of warps per SM and of SMs has all SMs, no failure, and 80 % of the "
                  "sustained bandwidth.",
     .rule =
         "Three chains of dependent steps, each in one kernel on all SMs, with weights in device "
         "memory, cold. One is the chain of C03 with 4096 x 4096 weights (33.6 MB a phase), with "
         "4, 8, 16 or 32 warps on each SM, weights asked for before the barrier or behind it, the "
         "best. The others are decoder layers of 1B and of 8B, batch 1, context 1024, in which "
         "words say whether they are there, in place of barriers. REPRODUCED when 100000 products "
         "on all SMs do not finish or a result is wrong, or when none of the three reaches 0.8 of "
         "the rate at which the same bytes are read without a wait. REFUTED when they finish, all "
         "right, and one of the three reaches 0.8, the chain as a whole and in 99 phases of 100. "
         "Else MIXED. Limits: the 100000 products are of 512 x 512; the results of layers are "
         "checked, but 100000 of them in one launch, of 1B, are for --deep alone; a phase of a "
         "layer is the whole layer, 124 or 440 MB. "
         "That few warps expose latency is C13's, that coordination deadlocks C02's. " SAFELY
         "And positive controls: the read of the chain's weights reaches 0.85 of the rate of the "
         "pins or more, and faults planted in a layer are seen. And negative ones: four warps an "
         "SM, and the layer of 8B as a kernel for each operator, must stay below 0.8.",
     .judge = judge_c19,
     .needs = NEEDS(safe_needs, right_needs, c19_needs, c19_tail, c19_beside, c19_layer)},
};
CLAIM_SUBJECT(claims);
