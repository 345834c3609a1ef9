/* The ledger: where an intermediate is kept, and what that saves in device memory traffic. */
#include <math.h>

#include "report/claims/fused.h"

#define LAYER "{model=4096,hidden=14336,batch=1,type=bf16,impl="
#define TIME(impl) "two_gemv.time" LAYER impl ",mode=graph,l2=cold,timer=event}"
#define CHAIN "{rows=16384,cols=8192,type=fp16,impl="
#define CHAIN_TIME(impl) "bias_gelu_scale.time" CHAIN impl ",mode=graph,l2=cold,timer=event}"
#define CHAIN_BYTES(impl) "bias_gelu_scale.bytes" CHAIN impl ",mode=graph,l2=cold}"

/* --- C28: does an intermediate on the chip save bytes of device memory? ---------------------- */

static const double C28_WITHIN = 0.10, C28_NOT = 0.50, C28_BOUND = 0.85, C28_MATERIAL = 0.05;
enum { N_ALONE = 3 };

/* Saved bytes as derived from the saved time, at the fused kernel's own rate, over the predicted
 * bytes: (t_unfused / t_fused - 1) / (bytes_unfused / bytes_fused - 1), formed per run. */
static double saved_of(const double *value, const void *with)
{
    (void)with;
    return (value[0] - 1) / (value[1] - 1);
}

static struct row saved_over_predicted(const struct row *times, const struct row *bytes,
                                       struct finding *f)
{
    return rule_formed(f, (const struct row *const[]){times, bytes}, 2, "ratio", saved_of, NULL);
}

static const struct need formed_needs[] = {
    {NEED_ANY, CHAIN_TIME("%s")}, {NEED_ANY, TIME("%s")}, NEEDS_END};

/* The same where nothing can be saved: the chain of three kernels over the sum of these three, each
 * timed alone on an input that has left the L2. Above 0 if a part of the intermediates stays on the
 * chip. */
static double nothing_of(const double *value, const void *with)
{
    double saved =
        -value[0]; /* of the chain; then the fused kernel, bytes, and the kernels alone */
    (void)with;
    for (size_t k = 0; k < N_ALONE; k++)
        saved += value[3 + k];
    return saved / (value[1] * (value[2] - 1));
}

static bool take_nothing(const struct bundle *bundle, const struct row *unfused,
                         const struct row *fused, const struct row *bytes, struct row *nothing,
                         struct finding *f)
{
    static const char *const kernels[N_ALONE] = {"bias", "gelu", "scale"};
    struct row alone[N_ALONE];

    for (size_t k = 0; k < N_ALONE; k++)
        if (!rule_take_formed(bundle, &alone[k], f, CHAIN_TIME("%s"), kernels[k]))
            return false;
    const struct row *const from[] = {unfused, fused, bytes, &alone[0], &alone[1], &alone[2]};
    *nothing = rule_formed(f, from, sizeof from / sizeof from[0], "ratio", nothing_of, NULL);
    return true;
}

static const struct need batch_1_needs[] = {
    {NEED_ONE, "two_gemv.intermediate" LAYER "dram,mode=graph,l2=cold}"},
    {NEED_ONE, "two_gemv.bytes" LAYER "dram,mode=graph,l2=cold}"},
    NEEDS_END};

/* At batch 1: how much two passes over the intermediate would cost, and what each place for it
 * costs. */
static bool say_batch_1(const struct bundle *bundle, struct finding *f)
{
    static const char *const impls[] = {"fused", "shared", "l2", "kernels", "dram"};
    static const char *const places[] = {"in registers", "in shared memory",
                                         "in the L2, one kernel", "in the L2, two kernels",
                                         "in device memory, as its distance lets presume"};
    struct row intermediate, bytes, time[5];

    if (!RULE_TAKE(bundle, batch_1_needs, f, &intermediate, &bytes))
        return false;
    const double share = 2 * intermediate.centre / bytes.centre;
    rule_say(f->evidence,
             "two products at batch 1: two passes over the intermediate are %.2g of the bytes, %s",
             share, share >= C28_MATERIAL ? "material" : "immaterial");
    for (size_t i = 0; i < 5; i++) {
        if (!rule_take_formed(bundle, &time[i], f, TIME("%s"), impls[i]))
            return false;
        rule_say_row(f, places[i], &time[i]);
    }
    rule_say(f->evidence, "; so little cannot be told by time: it takes counters");
    return true;
}

static const struct need c28_needs[] = {
    {NEED_ONE, CHAIN_TIME("fused")},
    {NEED_ONE, CHAIN_TIME("unfused")},
    {NEED_ONE, CHAIN_BYTES("fused")},
    {NEED_ONE, CHAIN_BYTES("unfused")},
    {NEED_ONE, "bias_gelu_scale.share_of_copy" CHAIN "fused,mode=graph,l2=cold}"},
    NEEDS_END};
static const struct need c28_counted[] = {COUNTED_BYTES(CHAIN_TIME("fused")),
                                          COUNTED_BYTES(CHAIN_TIME("unfused")),
                                          COUNTED_BYTES(CHAIN_TIME("scale")), NEEDS_END};

/* What is left of the bytes' ratio when one is taken off, over what was predicted. */
static struct row counted_over_predicted(const struct row *ratio, const struct row *bytes)
{
    struct row saved = rule_number((ratio->centre - 1) / (bytes->centre - 1), "ratio");
    saved.low = (ratio->low - 1) / (bytes->centre - 1);
    saved.high = (ratio->high - 1) / (bytes->centre - 1);
    saved.stale = ratio->stale;
    return saved;
}

static void judge_c28(const struct bundle *bundle, struct finding *f)
{
    const struct fused_counted of = {CHAIN_TIME("unfused"), CHAIN_TIME("fused"),
                                     CHAIN_TIME("scale")};
    struct row fused, unfused, fused_bytes, unfused_bytes, copy, nothing, counted;
    if (!RULE_TAKE(bundle, c28_needs, f, &fused, &unfused, &fused_bytes, &unfused_bytes, &copy))
        return;

    const struct row times = rule_ratio(f, &unfused, &fused);
    const struct row bytes = rule_ratio(f, &unfused_bytes, &fused_bytes);
    struct row saved = saved_over_predicted(&times, &bytes, f);
    const bool by_count = fused_counted_ratio(bundle, &of, &counted, f);
    rule_say(f->evidence, "%sin registers, on the chain of C38", f->evidence[0] ? "; " : "");
    rule_say_row(f, "bytes saved over bytes predicted, inferred from time", &saved);
    if (by_count) {
        rule_say_row(f, "bytes of device memory by counters, three kernels over one", &counted);
        saved = counted_over_predicted(&counted, &bytes);
        rule_say_row(f, "saved over predicted, by counters, which decide", &saved);
    }
    if (!take_nothing(bundle, &unfused, &fused, &bytes, &nothing, f))
        return;

    const double within = RULE_LIMIT(f, C28_WITHIN);
    const bool positive = fused_at_least(&copy, RULE_LIMIT(f, C28_BOUND));
    const bool negative = rule_place(&nothing, -within, within) == PLACE_INSIDE;
    rule_say_control(f, true, positive,
                     "time stands for bytes: the chain's fused kernel reaches 0.85 of a copy, at",
                     &copy);
    rule_say_control(
        f, false, negative,
        "the chain of three kernels, whose intermediates go through memory, saves 0.10 "
        "of those bytes against the three alone",
        &nothing);
    const bool told = fused_counters_tell(bundle, &of, 1 + within,
                                          "by counters one of the three over the one", f);
    rule_say_figure(f, "saved", &saved);
    rule_conclude(f,
                  rule_place(&saved, 1 - within, 1 + within) == PLACE_INSIDE ? CLAIM_REPRODUCED
                  : fused_below(&saved, RULE_LIMIT(f, C28_NOT))              ? CLAIM_REFUTED
                                                                             : CLAIM_MIXED,
                  positive, negative && told);
}

/* --- C28a: in shared memory ------------------------------------------------------------------- */

static const double C28A_CHAIN = 2;

static const struct need c28a_counted[] = {COUNTED_BYTES(TIME("shared")),
                                           COUNTED_BYTES(TIME("dram")),
                                           COUNTED_BYTES(TIME("kernels")), NEEDS_END};
static const struct need c28a_needs[] = {
    {NEED_ONE, CHAIN_TIME("unfused")}, {NEED_ONE, CHAIN_TIME("scale")}, NEEDS_END};

/* What `more` moves beyond `fewer`, over the bytes of two passes over the intermediate. */
static struct row beyond(const struct row *more, const struct row *fewer, double passes)
{
    struct row saved = rule_number((more->centre - fewer->centre) / passes, "ratio");
    saved.low = (more->low - fewer->high) / passes;
    saved.high = (more->high - fewer->low) / passes;
    saved.stale = more->stale || fewer->stale;
    return saved;
}

static void judge_c28a(const struct bundle *bundle, struct finding *f)
{
    struct row intermediate, bytes, unfused, scale, shared, dram, l2;
    if (!say_batch_1(bundle, f) || !RULE_TAKE(bundle, batch_1_needs, f, &intermediate, &bytes) ||
        !RULE_TAKE(bundle, c28a_needs, f, &unfused, &scale) ||
        !RULE_TAKE(bundle, c28a_counted, f, &shared, &dram, &l2))
        return;

    const double passes = 2 * intermediate.centre, within = RULE_LIMIT(f, C28_WITHIN);
    const struct row saved = beyond(&dram, &shared, passes), none = beyond(&l2, &shared, passes);
    const struct row chain = rule_ratio(f, &unfused, &scale);
    const struct row total = rule_quotient(&shared, &bytes);
    rule_say_row(f, "bytes saved over bytes predicted, by counters", &saved);
    const bool sees = rule_place(&total, 1 - within, 1 + within) == PLACE_INSIDE;
    const bool chain_costs = fused_at_least(&chain, RULE_LIMIT(f, C28A_CHAIN));
    const bool positive = sees && chain_costs;
    const bool negative = rule_place(&none, -within, within) == PLACE_INSIDE;
    rule_say_control(f, true, sees, "bytes by counters over bytes by count, of the whole layer",
                     &total);
    rule_say_control(f, true, chain_costs, "three kernels of a chain take longer than one, times",
                     &chain);
    rule_say_control(f, false, negative,
                     "an intermediate that stays in the L2 saves 0.10 of them, too", &none);
    rule_say_figure(f, "saved", &saved);
    rule_conclude(f,
                  rule_place(&saved, 1 - within, 1 + within) == PLACE_INSIDE ? CLAIM_REPRODUCED
                  : fused_below(&saved, RULE_LIMIT(f, C28_NOT))              ? CLAIM_REFUTED
                                                                             : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C28",
     .article = "dev.to",
     .quote = "Fusion attempts to keep intermediate values as close to registers as possible.",
     .clause = "keep intermediate values as close to registers as possible",
     .since = "2026-11-29T18:40Z",
     .plain = {.yes = "Kept in registers, intermediates save {saved:%} of the bytes that they cost "
                      "in memory.",
               .no = "Kept in registers, intermediates save only {saved:%} of the bytes that they "
                     "cost in memory.",
               .partly =
                   "Between: kept in registers, intermediates save {saved:range} of the bytes that "
                   "they cost against limits of {C28_NOT} and {C28_WITHIN:%} off 1."},
     .surprise = 2,
     .statement = "With the intermediate in registers bytes of device memory fall by two passes "
                  "over it, within 10 %; 'attempts' makes it an aim; where bytes are not counted, "
                  "time decides in their stead.",
     .rule = "scale * gelu(x + bias), 16384x8192 fp16, not in the L2: bytes of device memory that "
             "the fused kernel saves, over the four tensors that it does not move. Bytes are "
             "counted by hardware counters; where they are not, they are inferred from time, at "
             "the fused kernel's own rate. REPRODUCED within 10 % of 1, REFUTED below 0.5, MIXED "
             "otherwise. Positive control: the fused kernel reaches 0.85 of a copy of the same "
             "bytes. Negative control: the chain of three kernels, whose intermediates of 256 MiB "
             "go through memory, must not read as having saved 0.10 of those bytes against the "
             "same three kernels, each timed alone on an input that is not in the L2; where bytes "
             "are counted, one of the three must not move 1.1 times those of the fused one "
             "(since 29 November).",
     .judge = judge_c28,
     .needs = NEEDS(c28_needs, formed_needs, c28_counted)},
    {.id = "C28a",
     .article = "smallest.ai",
     .quote = "Reduce global DRAM usage by keeping intermediate activations in shared memory,",
     .since = "2026-11-22",
     .plain =
         {.yes = "Kept in shared memory, what passes between two products saves {saved:%} of its "
                 "bytes of device memory.",
          .no = "Kept in shared memory, what passes between two products saves only {saved:%} of "
                "its bytes of device memory.",
          .partly =
              "Between: kept in shared memory, what passes between two products saves "
              "{saved:range} of its bytes against limits of {C28_NOT} and {C28_WITHIN:%} off 1."},
     .surprise = 2,
     .statement = "With the intermediate of two products at batch 1 in shared memory, bytes of "
                  "device memory fall by two passes over it, within 10 %.",
     .rule = "Two products and an activation, bf16, batch 1, weights not in the L2. The "
             "intermediate is 0.02 % of the bytes: time cannot judge it, so that without hardware "
             "counters it is NOT TESTABLE. By counters: what the form with the intermediate in "
             "device memory moves beyond the form with it in shared memory, over two passes. "
             "REPRODUCED within 10 % of 1, REFUTED below 0.5, MIXED otherwise. Positive controls: "
             "counters see the bytes of the whole layer within 10 %, and three kernels of C38 take "
             "at least twice as long as one of them. Negative control: the form whose intermediate "
             "stays in the L2 must not read as moving 0.10 of those bytes.",
     .judge = judge_c28a,
     .needs = NEEDS(formed_needs, batch_1_needs, c28a_needs, c28a_counted)},
};
CLAIM_SUBJECT(claims);
