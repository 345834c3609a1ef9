/* The ledger: where an intermediate is kept, and what that saves in device memory traffic. */
#include <math.h>

#include "report/claims/rules.h"

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
static struct row saved_over_predicted(const struct row *times, const struct row *bytes)
{
    struct row saved = {
        .id = times->id, .unit = "ratio", .better = ROW_HIGHER, .once = times->once};
    for (size_t i = 0; i < times->n; i++)
        row_put(&saved, times->round[i],
                (times->value[i] - 1) / (row_at(bytes, times->round[i]) - 1), NAN);
    row_finish(&saved);
    return saved;
}

static const struct need formed_needs[] = {
    {NEED_ANY, CHAIN_TIME("%s")}, {NEED_ANY, TIME("%s")}, NEEDS_END};

/* The same where nothing can be saved: the chain of three kernels over the sum of these three, each
 * timed alone on an input that has left the L2. Above 0 if a part of the intermediates stays on the
 * chip. */
static bool take_nothing(const struct bundle *bundle, const struct row *unfused,
                         const struct row *fused, const struct row *bytes, struct row *nothing,
                         struct finding *f)
{
    static const char *const kernels[N_ALONE] = {"bias", "gelu", "scale"};
    struct row alone[N_ALONE];

    *nothing = (struct row){
        .id = unfused->id, .unit = "ratio", .better = ROW_LOWER, .once = unfused->once};
    for (size_t k = 0; k < N_ALONE; k++)
        if (!rule_take_formed(bundle, &alone[k], f, CHAIN_TIME("%s"), kernels[k]))
            return false;
    for (size_t i = 0; i < unfused->n; i++) {
        const int round = unfused->round[i];
        double saved = -unfused->value[i];
        for (size_t k = 0; k < N_ALONE; k++)
            saved += row_at(&alone[k], round);
        row_put(nothing, round, saved / (row_at(fused, round) * (row_at(bytes, round) - 1)), NAN);
    }
    row_finish(nothing);
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
    rule_say(
        f->evidence,
        "; two products at batch 1: two passes over the intermediate are %.2g of the bytes, %s",
        share, share >= C28_MATERIAL ? "material" : "immaterial");
    for (size_t i = 0; i < 5; i++) {
        if (!rule_take_formed(bundle, &time[i], f, TIME("%s"), impls[i]))
            return false;
        rule_say_row(f->evidence, places[i], &time[i]);
    }
    rule_say(f->evidence,
             "; so little cannot be told by time, in registers or in shared memory: it "
             "takes counters");
    return true;
}

static const struct need c28_needs[] = {
    {NEED_ONE, CHAIN_TIME("fused")},
    {NEED_ONE, CHAIN_TIME("unfused")},
    {NEED_ONE, CHAIN_BYTES("fused")},
    {NEED_ONE, CHAIN_BYTES("unfused")},
    {NEED_ONE, "bias_gelu_scale.share_of_copy" CHAIN "fused,mode=graph,l2=cold}"},
    NEEDS_END};

static void judge_c28(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, fused_bytes, unfused_bytes, copy, nothing;
    if (!RULE_TAKE(bundle, c28_needs, f, &fused, &unfused, &fused_bytes, &unfused_bytes, &copy))
        return;

    struct row times = rule_ratio(&unfused, &fused);
    struct row bytes = rule_ratio(&unfused_bytes, &fused_bytes);
    struct row saved = saved_over_predicted(&times, &bytes);
    const enum place met = rule_place(&saved, 1 - C28_WITHIN, 1 + C28_WITHIN);
    rule_say(f->evidence, "in registers, on the chain of C38, inferred from time");
    rule_say_row(f->evidence, "bytes saved over bytes predicted", &saved);
    if (!take_nothing(bundle, &unfused, &fused, &bytes, &nothing, f) || !say_batch_1(bundle, f))
        return;

    const bool positive = copy.low >= C28_BOUND;
    const bool negative = rule_place(&nothing, -C28_WITHIN, C28_WITHIN) == PLACE_INSIDE;
    rule_say_control(f, true, positive,
                     "time stands for bytes: the chain's fused kernel reaches 0.85 of a copy, at",
                     &copy);
    rule_say_control(
        f, false, negative,
        "the chain of three kernels, whose intermediates go through memory, saves 0.10 "
        "of those bytes against the three alone",
        &nothing);
    rule_conclude(f,
                  met == PLACE_INSIDE                                    ? CLAIM_REPRODUCED
                  : rule_place(&saved, C28_NOT, INFINITY) == PLACE_BELOW ? CLAIM_REFUTED
                                                                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entry ------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C28",
     .article = "dev.to",
     .quote = "Fusion attempts to keep intermediate values as close to registers as possible.",
     .statement = "With the intermediate in registers bytes of device memory fall by two passes "
                  "over it, within 10 %; 'attempts' makes it an aim. Said beside it: whether that "
                  "is material between the two products of a layer at batch 1, in registers, in "
                  "shared memory, in the L2.",
     .rule = "Bytes are inferred from time, where time stands for bytes: on scale * gelu(x + "
             "bias), 16384x8192 fp16, not in the L2, the time that the fused kernel saves, at its "
             "own rate, over the four tensors that it does not move. REPRODUCED within 10 % of 1, "
             "REFUTED below 0.5, MIXED otherwise. Two products and an activation at batch 1 move "
             "an intermediate of 0.02 % of their bytes; that is immaterial (below 5 %), and a "
             "place where time cannot judge: there, in shared memory too, it takes counters, and "
             "that it is in device memory is presumed by how much is read in between. Positive "
             "control: the fused kernel reaches 0.85 of a copy of the same bytes. Negative "
             "control: the chain of three kernels, whose intermediates of 256 MiB go through "
             "memory, must not read as having saved 0.10 of those bytes against the same three "
             "kernels, each timed alone on an input that is not in the L2.",
     .judge = judge_c28,
     .needs = NEEDS(c28_needs, formed_needs, batch_1_needs)},
};
CLAIM_SUBJECT(claims);
