/* The ledger: the article's own product, in Triton, as baselines/peers.py measures it. */
#include <math.h>
#include <string.h>

#include "report/claims/rules.h"

#define PRODUCT "{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define TUNED PRODUCT "impl=triton,tile=tuned,"

/* Two of the claims give a number for one GPU; on others they can be neither right nor wrong. */
static const char L40S[] = "nvidia-l40s";

static void conclude_for_l40s(const struct bundle *bundle, struct finding *f,
                              enum claim_verdict verdict, bool positive, bool negative)
{
    if (!bundle->board || strcmp(bundle->board, L40S) != 0)
        rule_not_testable(f, "recorded and not judged: the claim is about an L40S");
    else
        rule_conclude(f, verdict, positive, negative);
}

/* --- C20: 128 blocks ------------------------------------------------------------------------- */

static const double C20_BLOCKS = 128;

static const struct need c20_needs[] = {
    {NEED_ONE, "peers.blocks" TUNED "l2=warm}"},
    {NEED_ONE, "peers.idle_sms" TUNED "l2=warm}"},
    {NEED_ONE, "peers.blocks" PRODUCT "impl=triton,tile=128x64x32,l2=warm}"},
    {NEED_ONE, "peers.blocks" PRODUCT "impl=triton,tile=forced,l2=warm}"},
    NEEDS_END};

static void judge_c20(const struct bundle *bundle, struct finding *f)
{
    struct row tuned, idle, known, forced;
    if (!RULE_TAKE(bundle, c20_needs, f, &tuned, &idle, &known, &forced))
        return;

    const bool positive = known.low == C20_BLOCKS && known.high == C20_BLOCKS;
    const bool negative = forced.low != C20_BLOCKS || forced.high != C20_BLOCKS;
    rule_say_row(f->evidence, "blocks of what Triton's tuner picks", &tuned);
    rule_say_row(f->evidence, "SMs that ran none of them", &idle);
    rule_say_control(f, true, positive, "the product cut into tiles of 128x64 has 128", &known);
    rule_say_control(f, false, negative, "the best with as many blocks as SMs has 128", &forced);
    conclude_for_l40s(bundle, f, rule_band(rule_place(&tuned, C20_BLOCKS, C20_BLOCKS)), positive,
                      negative);
}

/* --- C21: 13 microseconds -------------------------------------------------------------------- */

static const double C21_LEAST = 12000, C21_MOST = 14500, C21_SAME = 0.05;

#define CLOCK "peers.clock" TUNED "clock=%s,timer=event}"

static const struct need clock_needs[] = {{NEED_ANY, CLOCK}, NEEDS_END};
static const struct need c21_needs[] = {
    {NEED_ONE, "peers.time" TUNED "l2=warm,timer=event}"},
    {NEED_ONE, "peers.time{m=4096,n=4096,k=4096,type=fp16,acc=fp32,layout=nn,impl=triton,"
               "tile=best,l2=warm,timer=event}"},
    NEEDS_END};

static void judge_c21(const struct bundle *bundle, struct finding *f)
{
    static const char *const clocks[] = {"do_bench", "event_hot", "event_cold", "graph_warm",
                                         "graph_cold"};
    struct row by[5], time, large;
    size_t inside = 0, straddle = 0;

    if (!RULE_TAKE(bundle, c21_needs, f, &time, &large))
        return;
    for (size_t i = 0; i < 5; i++) {
        if (!rule_take_formed(bundle, &by[i], f, CLOCK, clocks[i]))
            return;
        const enum place place = rule_place(&by[i], C21_LEAST, C21_MOST);
        rule_say_row(f->evidence, clocks[i], &by[i]);
        inside += place == PLACE_INSIDE;
        straddle += place == PLACE_STRADDLES;
    }
    const struct row twice = rule_ratio(&by[3], &time);
    const bool positive = rule_place(&twice, 1 - C21_SAME, 1 + C21_SAME) == PLACE_INSIDE;
    const bool negative = rule_place(&large, C21_LEAST, C21_MOST) == PLACE_ABOVE;
    rule_say_control(f, true, positive, "graph_warm measured twice agrees within 5 %, at", &twice);
    rule_say_control(f, false, negative, "4096^3 takes 12 to 14.5 us, too:", &large);
    conclude_for_l40s(bundle, f,
                      inside > 0     ? CLAIM_REPRODUCED
                      : straddle > 0 ? CLAIM_MIXED
                                     : CLAIM_REFUTED,
                      positive, negative);
}

/* --- C23: on par with cuBLAS ----------------------------------------------------------------- */

static const double C23_PAR = 0.10;

static enum place on_par(const struct row *ratio)
{
    return rule_place(ratio, 1 - C23_PAR, 1 + C23_PAR);
}

#define CUBLAS(n)                                                                                  \
    "gemm_sizes.time{m=" #n ",n=" #n ",k=" #n ",type=fp16,acc=fp32,layout=nn,impl=cublas,"         \
    "tile=auto,l2=warm,timer=event}"

static const struct need best_needs[] = {
    {NEED_BEST, "gemm_sizes.time" PRODUCT "impl=*,tile=*,l2=warm,*"}, NEEDS_END};
static const struct need c23_needs[] = {
    {NEED_ONE, "peers.time" TUNED "l2=warm,timer=event}"},
    {NEED_ONE, "peers.time" PRODUCT "impl=torch,tile=auto,l2=warm,timer=event}"},
    {NEED_ONE, CUBLAS(1024)},
    {NEED_ONE, CUBLAS(1536)},
    NEEDS_END};

static void judge_c23(const struct bundle *bundle, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row triton, torch, cublas, larger, best;
    if (!RULE_TAKE(bundle, c23_needs, f, &triton, &torch, &cublas, &larger))
        return;

    const struct row ratio = rule_ratio(&triton, &cublas), same = rule_ratio(&torch, &cublas);
    const struct row other = rule_ratio(&triton, &larger);
    const bool positive = on_par(&same) == PLACE_INSIDE;
    const bool negative = on_par(&other) == PLACE_BELOW || on_par(&other) == PLACE_ABOVE;
    rule_say_row(f->evidence, "1024^3 fp16, warm, by slope: Triton's tuned over cuBLAS", &ratio);
    rule_say_row(f->evidence, "Triton", &triton);
    rule_say_row(f->evidence, "cuBLAS", &cublas);
    if (RULE_TAKE(bundle, best_needs, &ignored, &best))
        rule_say_row(f->evidence, "the best of cuBLASLt and our kernels", &best);
    rule_say_control(f, true, positive, "PyTorch, which calls cuBLAS, is on par with it, at",
                     &same);
    rule_say_control(f, false, negative, "so is a cuBLAS product of 1536^3, at", &other);
    rule_conclude(f, rule_band(on_par(&ratio)), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C20",
     .article = "smallest.ai",
     .quote = "On an Nvidia L40S, with 142 SMs, the optimized Triton kernel selects a "
              "configuration that uses only 128 blocks\u2014meaning 14 SMs remain idle.",
     .statement = "At 1024^3 fp16 the autotuner of Triton's tutorial picks a configuration of 128 "
                  "blocks; the article names no type.",
     .rule = "Judged on an L40S only: REPRODUCED when the graph of what the tuner picks holds 128 "
             "blocks a product, REFUTED when it holds another number. Positive control: tiles of "
             "128x64 make 128. Negative control: the best configuration with as many blocks as SMs "
             "does not.",
     .judge = judge_c20,
     .needs = NEEDS(c20_needs)},
    {.id = "C21",
     .article = "smallest.ai",
     .quote =
         "Despite this underutilization, the kernel achieves an execution time of ~13 microseconds",
     .statement = "What the tuner picks takes 12 to 14.5 us by one of five clocks.",
     .rule = "Judged on an L40S only: REPRODUCED when do_bench, an event pair hot or cold, or the "
             "slope of a graph warm or cold reads 12 to 14.5 us, REFUTED when none does, MIXED "
             "when one straddles. Positive control: the warm slope measured twice agrees within 5 "
             "%. Negative control: 4096^3 must read more.",
     .judge = judge_c21,
     .needs = NEEDS(c21_needs, clock_needs)},
    {.id = "C23",
     .article = "smallest.ai",
     .quote = "Interestingly, this performance is on par with Nvidia\u2019s highly tuned cuBLAS "
              "library, indicating that even the most optimized matrix multiplication "
              "implementations hit the same ceiling when dealing with small, standalone workloads.",
     .statement = "At 1024^3 fp16 Triton's tuned kernel and cuBLAS differ by 10 % or less; that "
                  "the best of all meets a ceiling is C22.",
     .rule = "Warm, by the slope of graphs, in the same rounds. REPRODUCED when Triton's time is "
             "within 10 % of that of cuBLAS's own choice, REFUTED when it is not. Positive "
             "control: PyTorch's product, which cuBLAS computes, is within 10 %. Negative control: "
             "cuBLAS at 1536^3, 3.4 times the work, is not.",
     .judge = judge_c23,
     .needs = NEEDS(c23_needs, best_needs)},
};
CLAIM_SUBJECT(claims);
