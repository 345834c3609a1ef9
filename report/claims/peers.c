/* The ledger: the article's own product, in Triton, as baselines/peers.py measures it. */
#include <math.h>
#include <string.h>

#include "report/claims/rules.h"

#define PRODUCT "{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define TUNED PRODUCT "impl=triton,tile=tuned,"

/* One of the claims gives a number for one GPU; on others it can be neither right nor wrong. */
static const char L40S[] = "nvidia-l40s";

/* --- C20: fewer blocks than SMs --------------------------------------------------------------- */

static const double C20_BLOCKS = 128;

static const struct need c20_needs[] = {
    {NEED_ONE, "peers.blocks" TUNED "l2=warm}"},
    {NEED_ONE, "peers.idle_sms" TUNED "l2=warm}"},
    {NEED_ONE, "peers.blocks" PRODUCT "impl=triton,tile=128x64x32,l2=warm}"},
    {NEED_ONE, "peers.idle_sms" PRODUCT "impl=triton,tile=forced,l2=warm}"},
    NEEDS_END};

/* The mechanism holds or not on any GPU; the number of blocks is that of the
 * author's. */
static void judge_c20(const struct bundle *bundle, struct finding *f)
{
    struct row tuned, idle, known, forced;
    if (!RULE_TAKE(bundle, c20_needs, f, &tuned, &idle, &known, &forced))
        return;

    const bool positive = known.low == C20_BLOCKS && known.high == C20_BLOCKS;
    const bool negative = forced.low == 0 && forced.high == 0;
    const bool authors_board = bundle->board && strcmp(bundle->board, L40S) == 0;
    const bool authors_number = tuned.low == C20_BLOCKS && tuned.high == C20_BLOCKS;
    rule_say_row(f, "blocks of what Triton's tuner picks", &tuned);
    rule_say(f->evidence, ", %s the article's 128", authors_number ? "as" : "not");
    rule_say_row(f, "SMs that ran none of them", &idle);
    rule_say_control(f, true, positive, "the product cut into tiles of 128x64 has 128", &known);
    rule_say_control(f, false, negative, "the best with as many blocks as SMs leaves SMs idle, at",
                     &forced);
    rule_say_figure(f, "blocks", &tuned);
    rule_say_figure(f, "idle", &idle);
    rule_conclude(f,
                  idle.high == 0 || (authors_board && !authors_number) ? CLAIM_REFUTED
                  : idle.low > 0                                       ? CLAIM_REPRODUCED
                                                                       : CLAIM_MIXED,
                  positive, negative);
}

/* --- the clocks of C21 and C23 ---------------------------------------------------------------- */

/* Both are judged by the clock of Triton's own tutorial, which the article's kernel is from; the
 * article names none. The others are said beside it. */
enum { CLOCKS = 5 };
#define CLOCK_NEEDS(impl, tile)                                                                    \
    {                                                                                              \
        {NEED_ONE, CLOCK(impl, tile, "do_bench")}, {NEED_ONE, CLOCK(impl, tile, "event_hot")},     \
            {NEED_ONE, CLOCK(impl, tile, "event_cold")},                                           \
            {NEED_ONE, CLOCK(impl, tile, "graph_warm")},                                           \
            {NEED_ONE, CLOCK(impl, tile, "graph_cold")}, NEEDS_END                                 \
    }
#define CLOCK(impl, tile, clock)                                                                   \
    "peers.clock" PRODUCT "impl=" impl ",tile=" tile ",clock=" clock ",timer=event}"

static const struct need triton_needs[] = CLOCK_NEEDS("triton", "tuned");
static const struct need torch_needs[] = CLOCK_NEEDS("torch", "auto");
static const char *const clocks[CLOCKS] = {"do_bench", "event pair hot", "event pair cold",
                                           "slope of graphs, warm", "slope of graphs, cold"};

/* --- C21: 13 microseconds -------------------------------------------------------------------- */

static const double C21_LEAST = 12000, C21_MOST = 14500, C21_SAME = 0.05;

static const struct need c21_needs[] = {
    {NEED_ONE, "peers.time" TUNED "l2=warm,timer=event}"},
    {NEED_ONE, "peers.time{m=4096,n=4096,k=4096,type=fp16,acc=fp32,layout=nn,impl=triton,"
               "tile=best,l2=warm,timer=event}"},
    NEEDS_END};

static bool is_authors(const struct bundle *bundle)
{
    return bundle->board && strcmp(bundle->board, L40S) == 0;
}

static void judge_c21(const struct bundle *bundle, struct finding *f)
{
    struct row by[CLOCKS], time, large;

    if (!RULE_TAKE(bundle, triton_needs, f, &by[0], &by[1], &by[2], &by[3], &by[4]) ||
        !RULE_TAKE(bundle, c21_needs, f, &time, &large)) {
        if (!is_authors(bundle))
            rule_say_why(f, WHY_OTHER_GPU, "an L40S");
        return;
    }
    for (size_t i = 0; i < CLOCKS; i++)
        rule_say_row(f, clocks[i], &by[i]);
    const double least = RULE_LIMIT(f, C21_LEAST), most = RULE_LIMIT(f, C21_MOST);
    const double same = RULE_LIMIT(f, C21_SAME);
    const struct row twice = rule_ratio(f, &by[3], &time);
    const bool positive = rule_place(&twice, 1 - same, 1 + same) == PLACE_INSIDE;
    const bool negative = rule_place(&large, least, most) == PLACE_ABOVE;
    rule_say_control(f, true, positive, "the warm slope measured twice agrees within 5 %, at",
                     &twice);
    rule_say_control(f, false, negative, "4096^3 takes 12 to 14.5 us, too:", &large);
    rule_say_figure(f, "time", &by[0]);
    if (!is_authors(bundle)) {
        rule_say_why(f, WHY_OTHER_GPU, "an L40S");
        rule_not_testable(f, "recorded and not judged: the claim is about an L40S");
    } else
        rule_conclude(f, rule_band(rule_place(&by[0], least, most)), positive, negative);
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
    {NEED_ONE, "peers.time" PRODUCT "impl=torch,tile=auto,l2=warm,timer=event}"},
    {NEED_ONE, CUBLAS(1024)},
    {NEED_ONE, CUBLAS(1536)},
    NEEDS_END};

static void judge_c23(const struct bundle *bundle, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row triton[CLOCKS], torch[CLOCKS], slope, cublas, larger, best;
    if (!RULE_TAKE(bundle, triton_needs, f, &triton[0], &triton[1], &triton[2], &triton[3],
                   &triton[4]) ||
        !RULE_TAKE(bundle, torch_needs, f, &torch[0], &torch[1], &torch[2], &torch[3], &torch[4]) ||
        !RULE_TAKE(bundle, c23_needs, f, &slope, &cublas, &larger))
        return;

    struct row ratio[CLOCKS];
    rule_say(f->evidence, "1024^3 fp16, Triton's tuned over PyTorch's, which is cuBLAS's");
    for (size_t i = 0; i < CLOCKS; i++) {
        ratio[i] = rule_ratio(f, &triton[i], &torch[i]);
        rule_say_row(f, clocks[i], &ratio[i]);
    }
    rule_say_row(f, "cuBLAS by slope", &cublas);
    if (RULE_TAKE(bundle, best_needs, &ignored, &best))
        rule_say_row(f, "the best of cuBLASLt and our kernels", &best);
    const struct row same = rule_ratio(f, &slope, &cublas), other = rule_ratio(f, &larger, &cublas);
    const bool positive = on_par(&same, f) == PLACE_INSIDE;
    const bool negative = on_par(&other, f) == PLACE_ABOVE;
    rule_say_control(f, true, positive, "PyTorch's product is on par with cuBLAS's by slope, at",
                     &same);
    rule_say_control(f, false, negative, "so is a cuBLAS product of 1536^3, at", &other);
    rule_say_figure(f, "ratio", &ratio[0]);
    rule_conclude(f, rule_band(on_par(&ratio[0], f)), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C20",
     .article = "smallest.ai",
     .quote = "On an Nvidia L40S, with 142 SMs, the optimized Triton kernel selects a "
              "configuration that uses only 128 blocks\u2014meaning 14 SMs remain idle.",
     .clause = "uses only 128 blocks\u2014meaning 14 SMs remain idle",
     .since = "2026-11-22",
     .plain = {.yes = "Triton's tuner picks {blocks} blocks and leaves {idle} SMs idle.",
               .no = "Triton's tuner picks {blocks} blocks and leaves {idle} SMs idle: not as the "
                     "article has it.",
               .partly = "Between: Triton's tuner picks {blocks:range} blocks and leaves "
                         "{idle:range} SMs idle against a limit of 0."},
     .surprise = 2,
     .statement =
         "At 1024^3 fp16 the autotuner of Triton's tutorial picks a configuration of fewer blocks "
         "than there are SMs, so that SMs stay idle; on an L40S of 128 blocks.",
     .rule = "By mechanism on any GPU. REPRODUCED when SMs run no block of what the tuner picks, "
             "counted in the launch, and on an L40S its graph holds 128 blocks a product; REFUTED "
             "when none is idle, or on an L40S the number is another. Positive control: tiles of "
             "128x64 make 128 blocks. Negative control: the best configuration with as many blocks "
             "as SMs leaves none idle.",
     .judge = judge_c20,
     .needs = NEEDS(c20_needs)},
    {.id = "C21",
     .article = "smallest.ai",
     .quote =
         "Despite this underutilization, the kernel achieves an execution time of ~13 microseconds",
     .clause = "the kernel achieves an execution time of ~13 microseconds",
     .since = "2026-11-22",
     .plain = {.yes = "Triton's tuned 1024^3 product takes {time} by its own clock.",
               .no = "Triton's tuned 1024^3 product takes {time} by its own clock, not "
                     "{C21_LEAST:ns} to {C21_MOST:ns}.",
               .partly = "Between: Triton's tuned 1024^3 product takes {time:range} against limits "
                         "of {C21_LEAST:ns} and {C21_MOST:ns}."},
     .statement = "What the tuner picks takes 12 to 14.5 us by Triton's own clock.",
     .rule = "Judged on an L40S only, by do_bench, the clock of Triton's tutorial, as C23 is: the "
             "article names none. REPRODUCED when it reads 12 to 14.5 us, REFUTED when it does "
             "not. Event pairs, hot and cold, and slopes of graphs, warm and cold, are said beside "
             "it. Positive control: the warm slope measured twice agrees within 5 %. Negative "
             "control: 4096^3 must read more.",
     .judge = judge_c21,
     .needs = NEEDS(triton_needs, c21_needs)},
    {.id = "C23",
     .article = "smallest.ai",
     .quote = "Interestingly, this performance is on par with Nvidia\u2019s highly tuned cuBLAS "
              "library, indicating that even the most optimized matrix multiplication "
              "implementations hit the same ceiling when dealing with small, standalone workloads.",
     .clause = "this performance is on par with Nvidia\u2019s highly tuned cuBLAS library",
     .since = "2026-11-22",
     .plain =
         {.yes = "Triton's 1024^3 product takes {ratio} times as long as cuBLAS's by Triton's "
                 "clock: on par within {C23_PAR:%}.",
          .no =
              "Triton's 1024^3 product takes {ratio} times as long as cuBLAS's by Triton's clock.",
          .partly = "Between: Triton's 1024^3 product takes {ratio:range} times as long as "
                    "cuBLAS's against a limit of {C23_PAR:%} either way."},
     .surprise = 4,
     .statement = "At 1024^3 fp16 Triton's tuned kernel and cuBLAS differ by 10 % or less by "
                  "Triton's own clock; that the best of all meets a ceiling is C22.",
     .rule = "By do_bench, the clock of Triton's tutorial, as C21 is; the other four are said "
             "beside it. REPRODUCED when Triton's time is within 10 % of that of PyTorch's "
             "product, which cuBLAS computes, REFUTED when it is not. Positive control: PyTorch's "
             "product is within 10 % of our call of cuBLAS, by slope. Negative control: cuBLAS at "
             "1536^3, 3.4 times the work, is not.",
     .judge = judge_c23,
     .needs = NEEDS(triton_needs, torch_needs, c23_needs, best_needs)},
};
CLAIM_SUBJECT(claims);
