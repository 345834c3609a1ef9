/* The ledger: the article's own product, in Triton, as baselines/peers.py measures it. */
#include <math.h>
#include <string.h>

#include "report/claims/fused.h"

#define PRODUCT "{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define TUNED PRODUCT "impl=triton,tile=tuned,"

/* Two of the claims give a number for one GPU. */
static const char L40S[] = "nvidia-l40s";

static bool is_l40s(const struct bundle *bundle)
{
    return bundle->board && !strcmp(bundle->board, L40S);
}

/* --- C20: 128 blocks ------------------------------------------------------------------------- */

static const double C20_BLOCKS = 128;

static const struct need c20_needs[] = {
    {NEED_ONE, "peers.blocks" TUNED "l2=warm}"},
    {NEED_ONE, "peers.idle_sms" TUNED "l2=warm}"},
    {NEED_ONE, "peers.blocks" PRODUCT "impl=triton,tile=128x64x32,l2=warm}"},
    {NEED_ONE, "peers.blocks" PRODUCT "impl=triton,tile=forced,l2=warm}"},
    {NEED_ONE, "peers.idle_sms" PRODUCT "impl=triton,tile=forced,l2=warm}"},
    NEEDS_END};

static void judge_c20(const struct bundle *bundle, struct finding *f)
{
    struct row tuned, idle, known, forced, none;
    if (!RULE_TAKE(bundle, c20_needs, f, &tuned, &idle, &known, &forced, &none))
        return;

    const bool as_said = tuned.low == C20_BLOCKS && tuned.high == C20_BLOCKS;
    const bool leaves = idle.low >= 1 && tuned.high < forced.low && (as_said || !is_l40s(bundle));
    const bool positive = known.low == C20_BLOCKS && known.high == C20_BLOCKS;
    const bool negative = none.high < 1;
    rule_say_row(f->evidence, "blocks of what Triton's tuner picks", &tuned);
    rule_say_row(f->evidence, "SMs that ran none of them", &idle);
    rule_say_row(f->evidence, "blocks of the best with as many as SMs, or more", &forced);
    rule_say_control(f, true, positive, "the product cut into tiles of 128x64 has 128", &known);
    rule_say_control(f, false, negative, "that best leaves SMs idle, too", &none);
    rule_conclude(f,
                  leaves ? CLAIM_REPRODUCED
                  : idle.high < 1 || (is_l40s(bundle) && tuned.high != C20_BLOCKS) ? CLAIM_REFUTED
                                                                                   : CLAIM_MIXED,
                  positive, negative);
}

/* --- C21, C23: by which clock? ---------------------------------------------------------------- */

#define CLOCK "peers.clock" PRODUCT "impl=%s,clock=%s,timer=event}"
#define BY_TRITON "triton,tile=tuned"
#define BY_CUBLAS "torch,tile=auto"

static const struct need clock_needs[] = {{NEED_ANY, CLOCK}, NEEDS_END};

/* The tutorial's clock is the one that is judged: the author took his kernel and his way to time it
 * from there. The others are said. */
static const char *const clocks[] = {"do_bench", "event_hot", "event_cold", "graph_warm",
                                     "graph_cold"};
enum { DO_BENCH, GRAPH_WARM = 3, N_CLOCKS = 5 };

static bool take_clocks(const struct bundle *bundle, const char *impl, struct row rows[N_CLOCKS],
                        struct finding *f)
{
    for (int i = 0; i < N_CLOCKS; i++)
        if (!rule_take_formed(bundle, &rows[i], f, CLOCK, impl, clocks[i]))
            return false;
    return true;
}

/* --- C21: 13 microseconds -------------------------------------------------------------------- */

static const double C21_LEAST = 12000, C21_MOST = 14500, C21_SAME = 0.05;

static const struct need c21_needs[] = {
    {NEED_ONE, "peers.time" TUNED "l2=warm,timer=event}"},
    {NEED_ONE, "peers.time{m=4096,n=4096,k=4096,type=fp16,acc=fp32,layout=nn,impl=triton,"
               "tile=best,l2=warm,timer=event}"},
    NEEDS_END};

static void judge_c21(const struct bundle *bundle, struct finding *f)
{
    struct row by[N_CLOCKS], time, large;

    if (!RULE_TAKE(bundle, c21_needs, f, &time, &large) || !take_clocks(bundle, BY_TRITON, by, f))
        return;
    const double least = RULE_LIMIT(f, C21_LEAST), most = RULE_LIMIT(f, C21_MOST);
    const double apart = RULE_LIMIT(f, C21_SAME);
    for (int i = 0; i < N_CLOCKS; i++)
        rule_say_row(f->evidence, clocks[i], &by[i]);
    const struct row twice = rule_ratio(&by[GRAPH_WARM], &time);
    const bool positive = rule_place(&twice, 1 - apart, 1 + apart) == PLACE_INSIDE;
    const bool negative = rule_place(&large, least, most) == PLACE_ABOVE;
    rule_say_control(f, true, positive, "graph_warm measured twice agrees within 5 %, at", &twice);
    rule_say_control(f, false, negative, "4096^3 takes 12 to 14.5 us, too:", &large);
    if (is_l40s(bundle))
        rule_conclude(f, rule_band(rule_place(&by[DO_BENCH], least, most)), positive, negative);
    else
        rule_not_testable(f, "recorded and not judged: the claim is about an L40S");
}

/* --- C23: on par with cuBLAS ----------------------------------------------------------------- */

static const double C23_PAR = 0.10;

static enum place on_par(const struct row *ratio, struct finding *f)
{
    const double par = RULE_LIMIT(f, C23_PAR);
    return rule_place(ratio, 1 - par, 1 + par);
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
    struct row triton, torch, cublas, larger, best, ours[N_CLOCKS], theirs[N_CLOCKS];
    if (!RULE_TAKE(bundle, c23_needs, f, &triton, &torch, &cublas, &larger) ||
        !take_clocks(bundle, BY_TRITON, ours, f) || !take_clocks(bundle, BY_CUBLAS, theirs, f))
        return;

    const struct row same = rule_ratio(&torch, &cublas), other = rule_ratio(&triton, &larger);
    const struct row judged = rule_ratio(&ours[DO_BENCH], &theirs[DO_BENCH]);
    const bool positive = on_par(&same, f) == PLACE_INSIDE;
    const enum place far = on_par(&other, f);
    const bool negative = far == PLACE_BELOW || far == PLACE_ABOVE;
    rule_say(f->evidence, "1024^3 fp16, Triton's tuned over cuBLAS as PyTorch calls it");
    for (int i = 0; i < N_CLOCKS; i++) {
        const struct row ratio = rule_ratio(&ours[i], &theirs[i]);
        rule_say_row(f->evidence, clocks[i], &ratio);
    }
    if (RULE_TAKE(bundle, best_needs, &ignored, &best))
        rule_say_row(f->evidence, "by graph, warm, the best of cuBLASLt and our kernels", &best);
    rule_say_control(f, true, positive, "PyTorch's product is cuBLAS's, by graph, at", &same);
    rule_say_control(f, false, negative, "so is a cuBLAS product of 1536^3 Triton's of 1024^3, at",
                     &other);
    rule_conclude(f, rule_band(on_par(&judged, f)), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C20",
     .article = "smallest.ai",
     .quote = "On an Nvidia L40S, with 142 SMs, the optimized Triton kernel selects a "
              "configuration that uses only 128 blocks\u2014meaning 14 SMs remain idle.",
     .clause = "selects a configuration that uses only 128 blocks\u2014meaning 14 SMs remain idle",
     .since = "2026-11-22",
     .statement = "At 1024^3 fp16 the autotuner of Triton's tutorial picks a configuration of "
                  "fewer blocks than there are SMs, 128 on an L40S, so that SMs stay idle; the "
                  "article names no type.",
     .rule = "REPRODUCED when SMs run no block of what the tuner picks, by census, although other "
             "configurations have blocks enough, and on an L40S when it has 128 blocks, too; "
             "REFUTED when every SM runs one, or on an L40S when it has another number; MIXED "
             "when runs differ. Positive control: tiles of 128x64 make 128. Negative control: the "
             "best configuration with as many blocks as SMs must leave none idle.",
     .judge = judge_c20,
     .needs = NEEDS(c20_needs)},
    {.id = "C21",
     .article = "smallest.ai",
     .quote =
         "Despite this underutilization, the kernel achieves an execution time of ~13 microseconds",
     .clause = "the kernel achieves an execution time of ~13 microseconds",
     .since = "2026-11-22",
     .statement = "What the tuner picks takes 12 to 14.5 us by do_bench, the clock of Triton's "
                  "tutorial.",
     .rule = "Judged on an L40S only: REPRODUCED when do_bench reads 12 to 14.5 us, REFUTED when "
             "it does not, MIXED when it straddles. An event pair hot or cold, and the slope of a "
             "graph warm or cold, are said beside it. Positive control: the warm slope measured "
             "twice agrees within 5 %. Negative control: 4096^3 must read more.",
     .judge = judge_c21,
     .needs = NEEDS(c21_needs, clock_needs)},
    {.id = "C23",
     .article = "smallest.ai",
     .quote = "Interestingly, this performance is on par with Nvidia\u2019s highly tuned cuBLAS "
              "library, indicating that even the most optimized matrix multiplication "
              "implementations hit the same ceiling when dealing with small, standalone workloads.",
     .clause = "this performance is on par with Nvidia\u2019s highly tuned cuBLAS library",
     .since = "2026-11-22",
     .statement = "At 1024^3 fp16 Triton's tuned kernel and cuBLAS differ by 10 % or less by "
                  "do_bench, the clock of Triton's tutorial; that the best of all meets a ceiling "
                  "is C22.",
     .rule = "In the same rounds, cuBLAS as PyTorch calls it. REPRODUCED when Triton's time by "
             "do_bench is within 10 % of cuBLAS's, REFUTED when it is not, MIXED when it "
             "straddles; four other clocks are said beside it. Positive control: by the slope of "
             "graphs PyTorch's product is within 10 % of cuBLAS's own. Negative control: cuBLAS at "
             "1536^3, 3.4 times the work, is not.",
     .judge = judge_c23,
     .needs = NEEDS(c23_needs, clock_needs, best_needs)},
};
CLAIM_SUBJECT(claims);
