/* The ledger: one product of a matrix and a vector, which is what batch 1 makes of a layer. */
#include <math.h>
#include <stdio.h>

#include "report/claims/rules.h"

/* --- C14: is there too little work at batch 1? ------------------------------------------------ */

static const double C14_COLLAPSED = 0.70, C14_FULL = 0.85;

/* A matrix of Llama-class layers, rows x columns, bf16: all that are measured. */
struct matrix {
    const char *layer;
    int m, k;
};
static const struct matrix judged[] = {
    {"1B o", 2048, 2048},     {"1B down", 2048, 8192},    {"1B gate and up", 16384, 2048},
    {"8B o", 4096, 4096},     {"8B q, k, v", 6144, 4096}, {"8B gate or up", 14336, 4096},
    {"8B down", 4096, 14336}, {"70B o", 8192, 8192},      {"70B down", 8192, 28672},
};

/* The best product's rate, as a share of the sustained rate and of a read of its own bytes. */
struct reached {
    struct row of_sustained, of_read;
};

#define PRODUCT "gemv.rate{m=%d,k=%d,type=bf16,acc=fp32,impl=*,l2=cold}"
#define LIBRARY "gemv.rate{m=%d,k=%d,type=bf16,acc=fp32,impl=cublas*,l2=cold}"
#define READ "gemv.read{bytes=%zu,*l2=cold}"

static const struct need reached_needs[] = {
    {NEED_ANY, PRODUCT}, {NEED_ANY, LIBRARY}, {NEED_ANY, READ}, NEEDS_END};

static bool take_reached(const struct bundle *bundle, const struct matrix *m,
                         const struct row *sustained, struct reached *s, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row product, library, read;
    char glob[128];

    snprintf(glob, sizeof glob, PRODUCT, m->m, m->k);
    if (!rule_take_best(bundle, glob, &product, f))
        return false;
    if (!rule_take_formed(bundle, &read, f, READ, 2 * (size_t)m->m * (size_t)m->k))
        return false;
    s->of_sustained = rule_ratio(f, &product, sustained);
    s->of_read = rule_ratio(f, &product, &read);
    rule_say(f->evidence, "; %s (%d x %d) %.3f and %.3f", m->layer, m->m, m->k, s->of_read.centre,
             s->of_sustained.centre);
    snprintf(glob, sizeof glob, LIBRARY, m->m, m->k);
    if (rule_take_best(bundle, glob, &library, &aside)) {
        const struct row of_sustained = rule_ratio(&aside, &library, sustained);
        rule_say(f->evidence, " (cuBLAS %.3f)", of_sustained.centre);
    }
    return true;
}

static const struct need c14_needs[] = {
    {NEED_BEST, "gemv.read{bytes=*,l2=cold}"},
    {NEED_ONE, "gemv.read{bytes=469762048,*l2=cold}"},
    {NEED_ONE, "gemv.rate{m=4096,k=4096,*impl=one_warp,l2=cold}"},
    NEEDS_END};

/* The share of the sustained rate decides. The share of a read of the same bytes is reported with
 * it: if the first is low and the second is not, the layer is short, and no product could be
 * faster. */
static void judge_c14(const struct bundle *bundle, struct finding *f)
{
    const size_t n = sizeof judged / sizeof *judged;
    const double limit = RULE_LIMIT(f, C14_COLLAPSED);
    struct row sustained, starved, longest;
    struct reached s;
    size_t above = 0, collapsed = 0;
    double lowest = INFINITY, highest = 0;

    if (!RULE_TAKE(bundle, c14_needs, f, &sustained, &longest, &starved))
        return;
    rule_say_row(f, "sustained", &sustained);
    rule_say(f->evidence, "; the best product over a read of its bytes and over sustained");
    for (size_t i = 0; i < n; i++) {
        if (!take_reached(bundle, &judged[i], &sustained, &s, f))
            return;
        const enum place place = rule_place(&s.of_sustained, limit, INFINITY);
        collapsed += place == PLACE_BELOW;
        above += place == PLACE_INSIDE;
        lowest = fmin(lowest, s.of_sustained.centre);
        highest = fmax(highest, s.of_sustained.centre);
    }

    struct row full = rule_ratio(f, &longest, &sustained),
               least = rule_ratio(f, &starved, &sustained);
    bool positive = rule_place(&full, RULE_LIMIT(f, C14_FULL), INFINITY) == PLACE_INSIDE;
    bool negative = rule_place(&least, limit, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, positive,
                     "a read of 448 MiB in the same way reaches 0.85 of "
                     "sustained, at",
                     &full);
    rule_say_control(f, false, negative,
                     "a product by one warp an SM with one load in flight "
                     "reaches 0.70 of it, at",
                     &least);
    rule_say_number(f, "lowest", lowest, "ratio");
    rule_say_number(f, "highest", highest, "ratio");
    rule_say_count(f, "n", (size_t)n);
    rule_say_count(f, "below", (size_t)collapsed);
    rule_say_count(f, "above", (size_t)above);
    rule_conclude(f,
                  above == n       ? CLAIM_REFUTED
                  : collapsed == n ? CLAIM_REPRODUCED
                                   : CLAIM_MIXED,
                  positive, negative);
}

/* --- C14b: would more warps help where the rate is low? --------------------------------------- */

static const double C14B_FASTER = 0.10, C14B_SAME = 0.03, C14B_STARVED = 0.5;

#define OF(m, k, impl) "gemv.rate{m=" #m ",k=" #k ",type=bf16,acc=fp32,impl=" impl ",l2=cold}"

static const struct need c14b_needs[] = {
    {NEED_ONE, OF(2048, 2048, "own_8_warps")}, {NEED_ONE, OF(2048, 2048, "own")},
    {NEED_ONE, OF(2048, 2048, "own_1_warp")},  {NEED_ONE, OF(4096, 4096, "one_warp")},
    {NEED_ONE, OF(4096, 4096, "own")},         {NEED_ONE, OF(8192, 28672, "own")},
    {NEED_BEST, "gemv.read{bytes=*,l2=cold}"}, NEEDS_END};

static void judge_c14b(const struct bundle *bundle, struct finding *f)
{
    struct row eight, two, one, starved, fed, longest, sustained;

    if (!RULE_TAKE(bundle, c14b_needs, f, &eight, &two, &one, &starved, &fed, &longest, &sustained))
        return;
    const double faster = 1 + RULE_LIMIT(f, C14B_FASTER);
    const struct row more = rule_ratio(f, &eight, &two), fewer = rule_ratio(f, &one, &two);
    const struct row known = rule_ratio(f, &starved, &fed),
                     room = rule_ratio(f, &sustained, &longest);
    const bool positive = rule_place(&known, 0, RULE_LIMIT(f, C14B_STARVED)) == PLACE_INSIDE;
    const bool negative = rule_place(&room, faster, INFINITY) == PLACE_BELOW;

    rule_say_row(f, "2048 x 2048, our kernel by two warps a block", &two);
    rule_say_row(f, "by eight, the same loads in flight, times as fast", &more);
    rule_say_row(f, "by one, half of the loads in flight", &fewer);
    rule_say_control(f, true, positive,
                     "one warp an SM with one load in flight at 4096 x 4096, times as fast as ours",
                     &known);
    rule_say_control(f, false, negative, "8192 x 28672 has room for 1.10, sustained over its rate",
                     &room);
    rule_say_figure(f, "more", &more);
    rule_conclude(f,
                  rule_place(&more, faster, INFINITY) == PLACE_INSIDE ? CLAIM_REPRODUCED
                  : rule_place(&more, 0, 1 + RULE_LIMIT(f, C14B_SAME)) == PLACE_INSIDE
                      ? CLAIM_REFUTED
                      : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C14",
     .article = "smallest.ai",
     .quote =
         "But in batch-1 real-time workloads, the amount of available work is too small. The "
         "result? There just aren\u2019t enough warps to keep the SMs busy\u2014so memory latency "
         "becomes visible, and performance collapses well below the hardware's theoretical peak.",
     .clause = "performance collapses well below the hardware's theoretical peak",
     .since = "2026-11-22T13:00Z",
     .plain = {.yes = "All {n} Llama matrices are read below {C14_COLLAPSED:%} of full rate at "
                      "batch 1, at {highest:%} at best.",
               .no = "None of {n} Llama matrices is read below {C14_COLLAPSED:%} of full rate at "
                     "batch 1: {lowest:%} to {highest:%}.",
               .partly = "Below {C14_COLLAPSED:%} of full rate at batch 1: holds for {below} of "
                         "{n} Llama matrices, for {above} does not."},
     .surprise = 5,
     .statement =
         "The best product of a matrix and a vector at batch 1 stays below 70 % of the sustained "
         "read bandwidth; measured against the peak of bandwidth, as the peak of arithmetic is out "
         "of reach at one multiply-add a weight, with any number of warps.",
     .rule =
         "The measured matrices of 1B, 8B and 70B Llama-class layers, from 8 to 448 MiB, bf16, "
         "weights not in the L2, each by the best implementation, chosen in the first round and "
         "judged on the others, against the sustained read bandwidth, measured in the same process "
         "and launched in the same way. REPRODUCED when every one stays below 0.70 of it; REFUTED "
         "when none does; MIXED otherwise. Said beside it, and not judged: the share of a read of "
         "the same bytes, and cuBLAS's share of the sustained rate. Positive control: a read of "
         "448 MiB, launched in the same way, reaches 0.85 of the sustained. Negative control: a "
         "product by one warp an SM with one load in flight must not reach 0.70 of it.",
     .judge = judge_c14,
     .needs = NEEDS(reached_needs, c14_needs)},
    {.id = "C14b",
     .article = "smallest.ai",
     .quote =
         "But in batch-1 real-time workloads, the amount of available work is too small. The "
         "result? There just aren\u2019t enough warps to keep the SMs busy\u2014so memory latency "
         "becomes visible, and performance collapses well below the hardware's theoretical peak.",
     .clause = "There just aren\u2019t enough warps to keep the SMs busy",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "Four times the warps, as many loads in flight: a product of 2048 x 2048 is {more} "
              "times as fast.",
          .no = "4 times the warps for the same loads do not help 2048 x 2048: {more} times the "
                "rate.",
          .partly = "Between: four times the warps, as many loads in flight, make a product of "
                    "2048 x 2048 {more:range} times as fast; the limits are {C14B_SAME:%} and "
                    "{C14B_FASTER:%} more."},
     .surprise = 5,
     .statement = "Where a product at batch 1 is slow because it is short, 2048 x 2048, more warps "
                  "make it faster by 10 % or more, by themselves: as many loads are in flight.",
     .rule = "Our kernel, bf16, weights not in the L2, with eight warps a block instead of two: "
             "the same blocks and the same loads in flight. REPRODUCED when it is 1.10 times as "
             "fast or more; REFUTED when by no more than 3 %; MIXED otherwise. Positive control: "
             "where warps are known to be missing, by one warp an SM with one load in flight, the "
             "rate is less than half of our kernel's. Negative control: at 8192 x 28672 even the "
             "sustained rate must not be 1.10 times our kernel's.",
     .judge = judge_c14b,
     .needs = NEEDS(c14b_needs)},
};
CLAIM_SUBJECT(claims);
