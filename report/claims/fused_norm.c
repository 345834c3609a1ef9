/* The ledger: norms fused with their neighbours, and passes through memory. */
#include <math.h>

#include "report/claims/fused.h"

#define LONG "rows=16384,cols=8192,type=fp16,impl="
#define TIME(op, size_and_impl, l2)                                                                \
    "norm.time{op=" op "," size_and_impl ",mode=graph,l2=" l2 ",timer=event}"
#define COLD(op, impl) TIME(op, LONG impl, "cold")
#define SHARE(op, impl) "norm.share_of_copy{op=" op "," LONG impl ",mode=graph,l2=cold*"

static const double MEMORY_BOUND = 0.85; /* share of a copy */
static const double CHAIN_LONGER = 2;    /* a chain of three kernels over one of them */

/* False if all times are equal. */
static bool sees_chain(const struct row *chain, const struct row *one, struct finding *f)
{
    const struct row ratio = rule_ratio(f, chain, one);
    const bool sees = fused_at_least(&ratio, RULE_LIMIT(f, CHAIN_LONGER));
    rule_say_control(f, true, sees, "three kernels over one of them, time", &ratio);
    return sees;
}

static bool is_bound(const struct row *share, struct finding *f)
{
    const bool bound = fused_at_least(share, RULE_LIMIT(f, MEMORY_BOUND));
    rule_say_control(f, true, bound, "the fused kernel is bound by memory, share of a copy", share);
    return bound;
}

/* --- C40, C40b: norm, bias and activation in one kernel --------------------------------------- */

static const double C40_GAIN = 1.3, C40_NONE = 1.05;

#define CHAIN "rmsnorm_bias_silu"
#define ROW "rows=1,cols=4096,type=fp16,impl="
#define QUANTISED(impl)                                                                            \
    TIME("rmsnorm_residual_fp8", "rows=1,cols=8192,type=fp16,impl=" impl, "cold")

static const struct need quantised_needs[] = {{NEED_ONE, QUANTISED("fused")},
                                              {NEED_ONE, QUANTISED("unfused")},
                                              {NEED_ONE, QUANTISED("narrow")},
                                              NEEDS_END};

/* "Fused" says little about a kernel with too few threads: vLLM's issue 32957, made again. */
static void say_too_few_threads(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fused, unfused, narrow;
    if (RULE_TAKE(bundle, quantised_needs, &aside, &fused, &unfused, &narrow))
        rule_say(
            f->evidence,
            "; RMSNorm with residual and fp8 codes, one row of 8192, cold: three kernels %.2f us, "
            "one %.2f us, one with a single warp for the row %.2f us",
            unfused.centre / 1e3, fused.centre / 1e3, narrow.centre / 1e3);
}

static const struct need c40_needs[] = {{NEED_ONE, COLD(CHAIN, "fused")},
                                        {NEED_ONE, COLD(CHAIN, "unfused")},
                                        {NEED_ONE, COLD(CHAIN, "silu")},
                                        {NEED_ONE, SHARE(CHAIN, "fused")},
                                        NEEDS_END};
static const struct need c40_counted[] = {COUNTED_BYTES(COLD(CHAIN, "fused")),
                                          COUNTED_BYTES(COLD(CHAIN, "unfused")),
                                          COUNTED_BYTES(COLD(CHAIN, "silu")), NEEDS_END};

static void judge_c40(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, silu, share;
    if (!RULE_TAKE(bundle, c40_needs, f, &fused, &unfused, &silu, &share))
        return;

    const struct fused_counted counted = {COLD(CHAIN, "unfused"), COLD(CHAIN, "fused"),
                                          COLD(CHAIN, "silu")};
    const double gain = RULE_LIMIT(f, C40_GAIN);
    const struct row time = rule_ratio(f, &unfused, &fused), one = rule_ratio(f, &silu, &fused);
    const struct row moved = fused_moved(
        bundle, &counted, "silu(rmsnorm(x) + bias), 16384x8192 fp16, cold, three kernels over one",
        &time, f);
    const bool bound = is_bound(&share, f), sees = sees_chain(&unfused, &silu, f);
    const bool negative = fused_below(&one, gain);
    rule_say_control(f, false, negative, "one of the three kernels alone over the fused one", &one);
    const bool told = fused_counters_tell(bundle, &counted, gain, "and by counters", f);
    rule_say_figure(f, "moved", &moved);
    rule_conclude(f,
                  fused_at_least(&moved, gain)                   ? CLAIM_REPRODUCED
                  : fused_below(&moved, RULE_LIMIT(f, C40_NONE)) ? CLAIM_REFUTED
                                                                 : CLAIM_MIXED,
                  bound && sees, negative && told);
}

static const struct need row_needs[] = {{NEED_ONE, TIME(CHAIN, ROW "fused", "cold")},
                                        {NEED_ONE, TIME(CHAIN, ROW "unfused", "cold")},
                                        NEEDS_END};

static void judge_c40b(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, silu, share, row_fused, row_unfused;
    if (!RULE_TAKE(bundle, c40_needs, f, &fused, &unfused, &silu, &share) ||
        !RULE_TAKE(bundle, row_needs, f, &row_fused, &row_unfused))
        return;

    const double gain = RULE_LIMIT(f, C40_GAIN), no_gain = RULE_LIMIT(f, C40_NONE);
    const struct row large = rule_ratio(f, &unfused, &fused), one = rule_ratio(f, &silu, &fused);
    const struct row row = rule_ratio(f, &row_unfused, &row_fused);
    const bool gains = fused_at_least(&large, gain) && fused_at_least(&row, gain);
    const bool none = fused_below(&large, no_gain) || fused_below(&row, no_gain);

    rule_say(f->evidence, "silu(rmsnorm(x) + bias), fp16, graph, three kernels over one");
    rule_say_row(f, "16384x8192, time", &large);
    rule_say_row(f, "one row of 4096, cold, time", &row);
    say_too_few_threads(bundle, f);
    const bool bound = is_bound(&share, f), sees = sees_chain(&unfused, &silu, f);
    const bool negative = fused_below(&one, gain);
    rule_say_control(f, false, negative, "one of the three kernels alone over the fused one", &one);
    rule_say_figure(f, "large", &large);
    rule_say_figure(f, "row", &row);
    rule_say_part(f, "256 MiB", rule_band(rule_place(&large, gain, INFINITY)), &large, gain);
    rule_say_part(f, "one row", rule_band(rule_place(&row, gain, INFINITY)), &row, gain);
    rule_conclude(f,
                  gains  ? CLAIM_REPRODUCED
                  : none ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  bound && sees, negative);
}

/* --- C40a: cache use -------------------------------------------------------------------------- */

static const double C40A_BETTER = 0.10, C40A_STREAM = 0.10;

#define READS(impl)                                                                                \
    {NEED_COUNTED, "dram_read of " COLD(CHAIN, impl)},                                             \
    {                                                                                              \
        NEED_COUNTED, "l2_read of " COLD(CHAIN, impl)                                              \
    }
static const struct need reads_needs[] = {READS("fused"), READS("unfused"), READS("silu"),
                                          NEEDS_END};

/* Of the bytes that the L1s read from the L2, the share that device memory had to supply. */
static void judge_c40a(const struct bundle *bundle, struct finding *f)
{
    struct row read[3], asked[3], share[3];
    if (!RULE_TAKE(bundle, reads_needs, f, &read[0], &asked[0], &read[1], &asked[1], &read[2],
                   &asked[2]))
        return;

    for (int i = 0; i < 3; i++)
        share[i] = rule_quotient(&read[i], &asked[i]);
    const struct row change = rule_quotient(&share[0], &share[1]);
    const struct row none = rule_quotient(&share[2], &share[1]);
    const double better = RULE_LIMIT(f, C40A_BETTER), stream = RULE_LIMIT(f, C40A_STREAM);
    const bool positive = rule_place(&share[2], 1 - stream, 1 + stream) == PLACE_INSIDE;
    const bool negative = fused_at_least(&none, 1 - better);
    rule_say(f->evidence, "silu(rmsnorm(x) + bias), 16384x8192 fp16, cold: share of what the L1s "
                          "read that device memory supplies");
    rule_say_row(f, "one kernel", &share[0]);
    rule_say_row(f, "three", &share[1]);
    rule_say_control(f, true, positive, "a kernel that reads each element once, share", &share[2]);
    rule_say_control(f, false, negative, "its share over that of the three", &none);
    rule_say_figure(f, "one", &share[0]);
    rule_say_figure(f, "three", &share[1]);
    rule_say_figure(f, "change", &change);
    rule_conclude(f,
                  fused_below(&change, 1 - better) ? CLAIM_REPRODUCED
                  : fused_at_least(&change, 1)     ? CLAIM_REFUTED
                                                   : CLAIM_MIXED,
                  positive, negative);
}

/* --- C92: which loads do the caches serve? ---------------------------------------------------- */

static const double C92_MORE = 0.1, C92_ALL = 0.98, C92_NONE = 0.1;
static const double SECTOR_BYTES = 32;

#define SERVED(time)                                                                               \
    {NEED_COUNTED, "l1_sectors of " time},                                                         \
    {                                                                                              \
        NEED_COUNTED, "dram_read of " time                                                         \
    }
#define SMALL(impl, l2) TIME("layernorm", "rows=1024,cols=4096,type=fp16,impl=" impl, l2)
static const struct need served_needs[] = {SERVED(COLD(CHAIN, "fused")),
                                           SERVED(COLD(CHAIN, "unfused")),
                                           SERVED(SMALL("fused", "cold")),
                                           SERVED(SMALL("unfused", "cold")),
                                           SERVED(SMALL("unfused", "warm")),
                                           SERVED(COLD(CHAIN, "silu")),
                                           NEEDS_END};

/* Of the bytes that loads ask of the L1s, the share that device memory does not have to supply. */
static struct row served(const struct row *sectors, const struct row *from_memory)
{
    const struct row sector = rule_number(1 / SECTOR_BYTES, "bytes");
    const struct row asked = rule_quotient(sectors, &sector);
    struct row share = rule_quotient(from_memory, &asked);
    const double low = share.low;

    share.centre = 1 - share.centre;
    share.low = 1 - share.high;
    share.high = 1 - low;
    return share;
}

static struct row more_than(const struct row *a, const struct row *b)
{
    struct row more = *a;
    more.centre -= b->centre;
    more.low -= b->high;
    more.high -= b->low;
    more.stale |= b->stale;
    return more;
}

static void judge_c92(const struct bundle *bundle, struct finding *f)
{
    enum { LARGE, LARGE_OF_THREE, FITS, FITS_OF_THREE, IN_L2, ONE_READ, N };
    struct row sectors[N], read[N], share[N];
    const double least = RULE_LIMIT(f, C92_MORE);
    if (!RULE_TAKE(bundle, served_needs, f, &sectors[0], &read[0], &sectors[1], &read[1],
                   &sectors[2], &read[2], &sectors[3], &read[3], &sectors[4], &read[4],
                   &sectors[5], &read[5]))
        return;

    for (int i = 0; i < N; i++)
        share[i] = served(&sectors[i], &read[i]);
    const struct row large = more_than(&share[LARGE], &share[LARGE_OF_THREE]);
    const struct row fits = more_than(&share[FITS], &share[FITS_OF_THREE]);
    const bool gain = fused_at_least(&large, least) && fused_at_least(&fits, least);
    const bool none = fused_below(&large, least) && fused_below(&fits, least);
    const bool positive = fused_at_least(&share[IN_L2], RULE_LIMIT(f, C92_ALL));
    const bool negative = fused_below(&share[ONE_READ], RULE_LIMIT(f, C92_NONE));
    rule_say(f->evidence, "share of what loads ask that L1 and L2 serve, by counters, fp16, cold");
    rule_say_row(f, "silu(rmsnorm(x) + bias) of 16384x8192, one kernel", &share[LARGE]);
    rule_say_row(f, "three", &share[LARGE_OF_THREE]);
    rule_say_row(f, "LayerNorm of 1024x4096, one kernel", &share[FITS]);
    rule_say_row(f, "three, whose later passes hit the L2", &share[FITS_OF_THREE]);
    rule_say_control(f, true, positive, "what lies in the L2 is served by it", &share[IN_L2]);
    rule_say_control(f, false, negative, "a kernel that reads each element once", &share[ONE_READ]);
    rule_say_figure(f, "large", &large);
    rule_say_figure(f, "fits", &fits);
    rule_say_part(f, "256 MiB", rule_band(rule_place(&large, least, INFINITY)), &large, least);
    rule_say_part(f, "8 MiB", rule_band(rule_place(&fits, least, INFINITY)), &fits, least);
    rule_conclude(f,
                  gain   ? CLAIM_REPRODUCED
                  : none ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- C42: passes through memory --------------------------------------------------------------- */

static const double C42_PASSES = 1.5, C42_NONE = 1.1, C42_ONE = 0.1, C42_LONGER = 0.05;
static const double C42_BYTES = 4.0 * 16384 * 8192; /* one read and one write */

static const struct need c42_needs[] = {{NEED_ONE, COLD("layernorm", "fused")},
                                        {NEED_ONE, COLD("layernorm", "unfused")},
                                        {NEED_ONE, COLD(CHAIN, "unfused")},
                                        {NEED_ONE, COLD(CHAIN, "silu")},
                                        {NEED_ONE, COLD(CHAIN, "fused")},
                                        {NEED_ONE, SHARE("layernorm", "fused")},
                                        NEEDS_END};
static const struct need c42_counted[] = {COUNTED_BYTES(COLD("layernorm", "fused")),
                                          COUNTED_BYTES(COLD("layernorm", "unfused")),
                                          COUNTED_BYTES(COLD(CHAIN, "fused")), NEEDS_END};

struct passes {
    struct row fused, kernels, share;
    struct row same;        /* another fused kernel over this one */
    struct row chain, silu; /* another chain, and one of its kernels */
};

static bool take_passes(const struct bundle *bundle, struct passes *p, struct finding *f)
{
    struct row other;
    if (!RULE_TAKE(bundle, c42_needs, f, &p->fused, &p->kernels, &p->chain, &p->silu, &other,
                   &p->share))
        return false;
    p->same = rule_ratio(f, &other, &p->fused);
    return true;
}

static void judge_c42(const struct bundle *bundle, struct finding *f)
{
    struct passes p;
    if (!take_passes(bundle, &p, f))
        return;

    const struct fused_counted counted = {COLD("layernorm", "unfused"), COLD("layernorm", "fused"),
                                          COLD(CHAIN, "fused")};
    const double passes = RULE_LIMIT(f, C42_PASSES);
    const struct row time = rule_ratio(f, &p.kernels, &p.fused);
    const struct row moved =
        fused_moved(bundle, &counted,
                    "LayerNorm of 16384x8192 fp16, graph, cold, three kernels over one", &time, f);
    const bool bound = is_bound(&p.share, f), sees = sees_chain(&p.chain, &p.silu, f);
    const bool negative = fused_below(&p.same, passes);
    rule_say_control(f, false, negative,
                     "another fused kernel that reads once, RMSNorm with bias and SiLU, over it",
                     &p.same);
    const bool told = fused_counters_tell(bundle, &counted, passes, "and by counters", f);
    rule_say_figure(f, "moved", &moved);
    rule_conclude(f,
                  fused_at_least(&moved, passes)                 ? CLAIM_REPRODUCED
                  : fused_below(&moved, RULE_LIMIT(f, C42_NONE)) ? CLAIM_REFUTED
                                                                 : CLAIM_MIXED,
                  bound && sees, negative && told);
}

/* --- C42a: the fused kernel makes one pass ---------------------------------------------------- */

/* Time over that of the best copy of as many bytes. */
static struct row over_copy(const struct row *share)
{
    struct row over = *share;
    over.better = ROW_LOWER;
    for (size_t i = 0; i < over.n; i++)
        over.value[i] = 1 / over.value[i];
    row_finish(&over);
    return over;
}

/* The bytes that one kernel moves, and that three do, over one read and one write. False where they
 * are not counted; the evidence then says why. */
static bool take_counted_passes(const struct bundle *bundle, struct row *one, struct row *three,
                                struct finding *f)
{
    const struct row count = rule_number(C42_BYTES, "bytes");
    struct finding aside = rule_aside(f);
    struct row of_one, of_three;

    if (!rule_take_counted(bundle, "dram_bytes", COLD("layernorm", "fused"), &of_one, &aside) ||
        !rule_take_counted(bundle, "dram_bytes", COLD("layernorm", "unfused"), &of_three, &aside)) {
        fused_say_not_counted(&aside, f);
        return false;
    }
    *one = rule_quotient(&of_one, &count);
    *three = rule_quotient(&of_three, &count);
    return true;
}

static void judge_c42a(const struct bundle *bundle, struct finding *f)
{
    struct passes p;
    struct row passes, three;
    if (!take_passes(bundle, &p, f))
        return;

    const struct row time = rule_ratio(f, &p.kernels, &p.fused), by_time = over_copy(&p.share);
    const double one = 1 + RULE_LIMIT(f, C42_ONE);
    const bool positive = sees_chain(&p.chain, &p.silu, f);
    bool negative = fused_at_least(&time, one);
    rule_say_control(f, false, negative, "three kernels, which make three passes, over it", &time);
    if (take_counted_passes(bundle, &passes, &three, f)) {
        const bool told = fused_at_least(&three, one);
        rule_say_row(f, "bytes of device memory by counters, which decide", &passes);
        rule_say_control(f, false, told, "and by counters over one read and one write", &three);
        negative = negative && told;
    } else
        passes = by_time;
    rule_say_row(f,
                 "fused LayerNorm of 16384x8192 fp16, graph, cold, over one read and one write: "
                 "time",
                 &by_time);
    rule_say_figure(f, "passes", &passes);
    rule_conclude(f,
                  fused_below(&passes, one)                            ? CLAIM_REPRODUCED
                  : fused_at_least(&passes, RULE_LIMIT(f, C42_PASSES)) ? CLAIM_REFUTED
                                                                       : CLAIM_MIXED,
                  positive, negative);
}

/* --- C42b: does reading again take time within one kernel? ------------------------------------ */

static const struct need loop_needs[] = {{NEED_ONE, COLD("layernorm", "three_pass")}, NEEDS_END};

#define MIDDLING "rows=1024,cols=4096,type=fp16,impl="
static const struct need cached_needs[] = {
    {NEED_ONE, TIME("layernorm", MIDDLING "fused", "warm")},
    {NEED_ONE, TIME("layernorm", MIDDLING "three_pass", "warm")},
    NEEDS_END};

static void say_in_cache(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fused, three;
    if (RULE_TAKE(bundle, cached_needs, &aside, &fused, &three))
        rule_say(f->evidence, "; 1024x4096 in the L2, three loads over one: %.2f",
                 three.centre / fused.centre);
}

static void judge_c42b(const struct bundle *bundle, struct finding *f)
{
    struct passes p;
    struct row loop;
    if (!take_passes(bundle, &p, f) || !RULE_TAKE(bundle, loop_needs, f, &loop))
        return;

    const struct row by_loop = rule_ratio(f, &loop, &p.fused);
    const double longer = 1 + RULE_LIMIT(f, C42_LONGER);
    rule_say_row(f,
                 "LayerNorm of 16384x8192 fp16, graph, cold, one kernel that loads its row three "
                 "times over one that loads it once, time",
                 &by_loop);
    say_in_cache(bundle, f);
    const bool bound = is_bound(&p.share, f), sees = sees_chain(&p.chain, &p.silu, f);
    const bool negative = fused_below(&p.same, longer);
    rule_say_control(f, false, negative,
                     "another fused kernel that reads once, RMSNorm with bias and SiLU, over it",
                     &p.same);
    rule_say_figure(f, "loop", &by_loop);
    rule_conclude(f,
                  fused_at_least(&by_loop, longer) ? CLAIM_REPRODUCED
                  : fused_below(&by_loop, longer)  ? CLAIM_REFUTED
                                                   : CLAIM_MIXED,
                  bound && sees, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

#define C40_QUOTE                                                                                  \
    "Normalization + activation | layer norm or RMS norm with bias and activation | reduces "      \
    "bandwidth and improves cache use"
#define C42_QUOTE "Naively these can involve multiple passes through memory."

static const struct claim claims[] = {
    {.id = "C40",
     .article = "ai-rng",
     .quote = C40_QUOTE,
     .clause = "reduces bandwidth",
     .since = "2026-11-29T18:40Z",
     .plain = {.yes = "As three kernels norm, bias and activation move {moved} times what one "
                      "kernel moves.",
               .no = "As three kernels norm, bias and activation move only {moved} times what one "
                     "kernel moves.",
               .partly = "Between: as three kernels norm, bias and activation move {moved:range} "
                         "times what one moves against limits of {C40_NONE} and {C40_GAIN}."},
     .surprise = 1,
     .statement =
         "Norm, bias and activation as three kernels move at least 1.3 times the bytes of device "
         "memory that one kernel moves; where bytes are not counted, time decides in their stead.",
     .rule =
         "silu(rmsnorm(x) + bias) at 16384x8192 fp16 (256 MiB a tensor), by graph, cold, three "
         "kernels over one: bytes of device memory by hardware counters; where these are not "
         "counted, time, which bytes decide there. REPRODUCED when the ratio is 1.3 or more, "
         "REFUTED below 1.05, else MIXED. Positive controls: the fused kernel reaches 0.85 of a "
         "copy of the same bytes, and three kernels take at least twice as long as one of them. "
         "Negative control: one of the three kernels alone over the fused one must stay below 1.3, "
         "in time and, where bytes are counted, in bytes (since 29 November).",
     .judge = judge_c40,
     .needs = NEEDS(c40_needs, c40_counted)},
    {.id = "C40a",
     .article = "ai-rng",
     .quote = C40_QUOTE,
     .clause = "improves cache use",
     .since = "2026-11-22",
     .plain = {.yes = "Of what the L1s miss, device memory supplies {one:%} to one fused kernel, "
                      "{three:%} to three: the L2 does more.",
               .no = "Of what the L1s miss, device memory supplies {one:%} to one fused kernel, "
                     "{three:%} to three: the L2 does no more.",
               .partly = "Between: the part that device memory supplies changes to {change:range} "
                         "of itself; the limit is {C40A_BETTER:%} less."},
     .surprise = 3,
     .statement = "Of the bytes that the L1s read from the L2, device memory supplies a smaller "
                  "share when norm, bias and activation are one kernel, and the L2 a larger one. "
                  "What the L1s serve themselves is C92's.",
     .rule = "silu(rmsnorm(x) + bias) at 16384x8192 fp16, cold, by hardware counters: bytes read "
             "from device memory over bytes that the L1s read from the L2, fused over unfused. "
             "REPRODUCED when the share falls by 10 % or more, REFUTED when it does not fall, "
             "MIXED between. Without counters NOT TESTABLE. Positive control: a kernel that reads "
             "each element once has a share of 1 within 10 %. Negative control: that kernel must "
             "not read as falling by 10 % against the three.",
     .judge = judge_c40a,
     .needs = NEEDS(reads_needs)},
    {.id = "C40b",
     .article = "ai-rng",
     .quote = C40_QUOTE,
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "Norm, bias and activation fused are {large} times as fast over 256 MiB, "
                      "{row} times in one row.",
               .no = "Norm, bias and activation fused are {large} times as fast over 256 MiB, "
                     "{row} times in one row: no gain in one.",
               .partly = "Norm, bias and activation gain from one kernel: {parts}."},
     .surprise = 1,
     .statement = "Fused norm, bias and activation is 1.3x or more as fast as 3 kernels in a "
                  "graph, at 256 MiB and at one row.",
     .rule = "silu(rmsnorm(x) + bias) as three kernels over one, fp16, by graph, cold. REPRODUCED "
             "when the ratio of times is 1.3 or more both at 16384x8192 and at one row of 4096, "
             "REFUTED when either is below 1.05, else MIXED. Controls as for C40.",
     .judge = judge_c40b,
     .needs = NEEDS(c40_needs, row_needs, quantised_needs)},
    {.id = "C92",
     .article = "ai-rng",
     .quote = C40_QUOTE,
     .clause = "improves cache use",
     .since = "2026-11-27T15:02Z",
     .plain =
         {.yes = "L1 and L2 serve a larger share of what one fused norm loads: by {large} of all, "
                 "{fits} where the L2 holds it.",
          .no = "L1 and L2 hardly serve a larger share of what one fused norm loads: by {large} of "
                "all, {fits} where the L2 holds it.",
          .partly = "L1 and L2 serve a larger share of what one fused norm loads: {parts}."},
     .surprise = 1,
     .statement =
         "L1 or L2 serve a larger share of a norm's loads when it is one kernel: of a large "
         "one with bias and activation, and of a LayerNorm that the L2 holds. What passes "
         "from the L2 to the SMs is C40a's.",
     .rule =
         "1 - bytes read from device memory over 32 bytes for each sector that loads ask of the "
         "L1s, by hardware counters, one kernel minus three, fp16, cold: silu(rmsnorm(x) + "
         "bias) of 16384x8192, and LayerNorm of 1024x4096, which the L2 holds. REPRODUCED when "
         "both are 0.1 or more, REFUTED when neither is, MIXED otherwise. Without counters NOT "
         "TESTABLE. Positive control: of LayerNorm warm in the L2 the caches serve 0.98 or "
         "more to three kernels. Negative control: of a kernel that reads each element once, "
         "from memory, they must serve less than 0.1. The limits were set with counts of "
         "earlier kernels in sight: 0.67 and 0.40 of the one, 0.67 and 0.80 of the other.",
     .judge = judge_c92,
     .needs = NEEDS(served_needs)},
    {.id = "C42",
     .article = "dev.to",
     .quote = C42_QUOTE,
     .clause = "can involve multiple passes through memory",
     .since = "2026-11-29T18:40Z",
     .plain = {.yes = "As three kernels LayerNorm moves {moved} times what one kernel moves.",
               .no = "As three kernels LayerNorm moves only {moved} times what one kernel moves.",
               .partly = "Between: as three kernels LayerNorm moves {moved:range} times what one "
                         "moves against limits of {C42_NONE} and {C42_PASSES}."},
     .surprise = 1,
     .statement = "LayerNorm as three kernels moves at least 1.5 times the bytes of device memory "
                  "that one kernel moves; 'can': one naive form suffices; where bytes are not "
                  "counted, time decides in their stead.",
     .rule =
         "LayerNorm of 16384x8192 fp16, by graph, cold, three passes as three kernels over one "
         "kernel: bytes of device memory by hardware counters; where these are not counted, time, "
         "which bytes decide there. REPRODUCED when the ratio is 1.5 or more, REFUTED below 1.1, "
         "else MIXED. Positive controls: the fused kernel reaches 0.85 of a copy of the same "
         "bytes, and the three kernels of C40 take at least twice as long as one of them. Negative "
         "control: another fused kernel that reads once must not take 1.5 times as long, nor, "
         "where "
         "bytes are counted, move 1.5 times as many (since 29 November).",
     .judge = judge_c42,
     .needs = NEEDS(c42_needs, c42_counted)},
    {.id = "C42a",
     .article = "dev.to",
     .quote = "Optimized kernels perform much of the work in one fused operation.",
     .since = "2026-11-29T18:40Z",
     .plain = {.yes = "A fused LayerNorm comes to {passes} times one read and one write.",
               .no = "A fused LayerNorm comes to {passes} times one read and one write: more than "
                     "one pass.",
               .partly = "Between: a fused LayerNorm comes to {passes:range} times one read and "
                         "one write; the limits are {C42_ONE:%} more and {C42_PASSES}."},
     .surprise = 1,
     .statement = "A fused LayerNorm makes one pass: it moves at most 1.1 times one read and one "
                  "write; where bytes are not counted, time decides in their stead.",
     .rule =
         "16384x8192 fp16, by graph, cold: bytes of device memory by hardware counters over one "
         "read and one write; where these are not counted, time over that of the best copy of as "
         "many bytes. REPRODUCED below 1.1, REFUTED from 1.5 on, else MIXED. Positive control: the "
         "three kernels of C40 take at least twice as long as one of them. Negative control: the "
         "three kernels must not stay below 1.1 of the fused kernel's time nor, where bytes are "
         "counted, of one read and one write (since 29 November).",
     .judge = judge_c42a,
     .needs = NEEDS(c42_needs, c42_counted)},
    {.id = "C42b",
     .article = "dev.to",
     .quote = C42_QUOTE,
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "A kernel that loads its row three times takes {loop} times as long as one "
                      "that loads once.",
               .no = "Loading a row three times in one kernel takes {loop} times as long: caches "
                     "serve it.",
               .partly = "Between: three loads of a row instead of one take {loop:range} times as "
                         "long; the limit is {C42_LONGER:%} more."},
     .surprise = 6,
     .statement = "One kernel that loads its row three times takes 1.05 times as long as one that "
                  "loads it once, or longer, although the L1 can serve it.",
     .rule =
         "LayerNorm of 16384x8192 fp16, by graph, cold. REPRODUCED at 1.05 or more, REFUTED below, "
         "MIXED when the interval contains it. Controls as for C42, the negative one at 1.05.",
     .judge = judge_c42b,
     .needs = NEEDS(c42_needs, loop_needs, cached_needs)},
};
CLAIM_SUBJECT(claims);
