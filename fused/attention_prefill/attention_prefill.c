/* attention_prefill: what does it save to compute attention over a prompt in one kernel, not three?
 *
 * Method. Out = softmax(Q K^T / sqrt(depth)) V for each of `heads` heads over `context` tokens,
 * N(0,1) inputs, all packed head by head. Unfused: a batched cuBLAS product for the scores, rounded
 * to the type; one kernel that scales, masks and normalises them in place, each row read once and
 * held in registers; a batched cuBLAS product with V. Fused: one kernel that never writes a score:
 * by wgmma (wgmma.cuh) where there is that, else by mma.sync (prefill.cuh); impl=mma is the latter
 * where both can run. Below a causal mask half of the scores count: the fused kernels skip tiles
 * above the diagonal, the unfused softmax does not read them; a library's product cannot skip them,
 * which belongs to what the chain costs. Modes, cache states: common/operation.h; what is done at
 * each shape: common/operator.h.
 *
 * Inside the timed region: the operations, between two events; n and 2n of them.
 * Rate: 4 context^2 depth heads flops, or half of that under a causal mask, over the time: the same
 * count for all, whatever they compute.
 * An H200, 32 heads of 128, causal, 8192 tokens: 1.5 ms by mma.sync (366 Tflop/s;
 * published: 318 to 339 for FlashAttention-2 on an H100), 0.87 ms by wgmma (632;
 * published: up to 738 for FlashAttention-3); unfused 4.3 ms: two whole products, 2 ms, and four
 * passes over 4.3 GB of scores. Memory: unfused grows with the square of the context. Along the
 * curve time grows with the square, too, from 2048 tokens on (70 us; 16384: 3.6 ms, without a mask
 * twice that); 512 tokens take 10 us, as 128 blocks of a few tiles leave SMs idle at the end.
 *
 * Verified, before and after timing: rows of a sample against fp64, in the first round all of them
 * up to 1024 tokens, and eight on the CPU; a fact of each case has the share. impl=values, the
 * second product over the chain's probabilities, must give what the chain gives. impl=scores and
 * impl=softmax are not verified by themselves, only within the chain: the softmax works in place,
 * and when timed goes over its own results.
 *
 * Traps. The error bound is that of roundings (attention_prefill_verify): at long contexts a single
 * key weighs less than the type resolves, so that masks are proved at short and odd ones, by
 * mutants. Long cases are bound by power: N(0,1) inputs, never zeros. */
#include "fused/attention_prefill/attention_prefill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = N_OPERATION_METRICS, FOOTPRINT, STABLE };
#define SIZES "heads,kv_heads,depth,context,mask"
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(OPERATION_KEYS(SIZES)),
    [RATE] = {"rate", "flop/s", PROBE_HIGHER, .keys = OPERATION_KEYS(SIZES),
              .what = "flops that the mask leaves, over the time"},
    [FOOTPRINT] = {"footprint", "bytes", PROBE_LOWER, .keys = SIZES ",type,impl",
                   .what =
                       "device memory that is gone once everything is allocated, by the driver"},
    [STABLE] = {"stable", "ratio", PROBE_HIGHER, .keys = "case,type,impl",
                .what =
                    "share of the rows that are right where scores are far from zero, or masked"},
};

static const char *const masks[] = {
    "default", [PREFILL_CAUSAL] = "causal", [PREFILL_NO_MASK] = "none", NULL};
static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("heads", 4096),
    OPERATOR_SIZE("kv_heads", 4096),
    OPERATOR_SIZE("depth", 128),
    OPERATOR_SIZE("context", 1 << 20),
    {"mask", 0, 0, PREFILL_NO_MASK, "of that shape: causal, which is the default, or none", masks},
    OPERATOR_TYPES(GPU_BF16),
};

/* --- how long does it take? ------------------------------------------------------------------ */

static double copied(const struct operator_set *s, size_t member)
{
    const struct prefill_problem p = prefill_problem_of(&s->shape);
    (void)member;
    return prefill_memory(&p, false);
}

/* A part of the chain is a product of all keys, whatever the mask; the softmax has no rate. */
static double flops_of(const struct prefill_problem *p, enum prefill_part part)
{
    const double product = 2.0 * p->heads * p->depth * (double)p->queries * (double)p->keys;
    return part == PREFILL_SOFTMAX                ? NAN
           : part > PREFILL_CHAIN || p->is_causal ? product
                                                  : 2 * product;
}

static void describe(struct probe_run *r, const struct operator_set *s,
                     const struct operator_form *f)
{
    const struct prefill *t = s->own;
    const enum prefill_part part = (enum prefill_part)f->which;
    const bool is_by_wgmma = part == PREFILL_FUSED && t->wgmma;
    const double flops = flops_of(&t->of, part), ns = probe_median(r, OPERATION_TIME);

    if (!isnan(ns) && !isnan(flops))
        probe_value(r, RATE, flops / ns * 1e9);
    if (part <= PREFILL_VALUES)
        probe_fact(r, "rows verified", "%.2g of all",
                   prefill_share_verified(&t->of, probe_in_full(r) || s->is_fixed));
    if (part >= PREFILL_CHAIN) {
        probe_fact(r, "library", "cuBLAS %s", blas_version(t->blas));
        return;
    }
    probe_fact(r, "instruction", "%s", is_by_wgmma ? "wgmma" : "mma.sync");
    if (is_by_wgmma)
        gpu_kernel_facts(r, t->wgmma, ATTENTION_PREFILL_WGMMA_THREADS,
                         ATTENTION_PREFILL_WGMMA_SHARED);
    else
        gpu_kernel_facts(r, t->mma, ATTENTION_PREFILL_THREADS,
                         ATTENTION_PREFILL_SHARED(t->of.depth));
}

/* --- what becomes of scores that are far from zero? ------------------------------------------- */

/* Scores far from zero: the first dimension of Q and K adds q0 k0 / sqrt(128) to each, which shifts
 * all of a row alike and so changes no probability. All are numbers of both types. */
static const struct adversary {
    const char *name;
    float q0, k0;
    bool one_is_high; /* that of one key has the other sign */
    int causal_end;
} adversaries[] = {
    {"as_drawn", 0, 0, false, 1},       {"all_+60", 32, 21.25f, false, 1},
    {"all_-60", -32, 21.25f, false, 1}, {"all_+1e3", 128, 88, false, 1},
    {"all_-1e3", -128, 88, false, 1},   {"all_-6e4", -1024, 664, false, 1},
    {"one_+6e4", -1024, 664, true, 1}, /* the others -6e4 */
    {"masked", 0, 0, false, -70},      /* whole rows, and whole tiles of the others */
};

/* Of a number that both types hold. */
static uint16_t bits_of(const struct prefill_problem *p, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (prefill_is_bf16(p) || value == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000) + ((bits >> 13 & 0x3ffff) - ((127 - 15) << 10)));
}

static void set_first(struct probe_run *r, const struct prefill_problem *p, const struct pool *pool,
                      float value, bool one_is_high)
{
    uint16_t *host = probe_host_alloc(r, pool->bytes);
    const size_t rows = pool->bytes / 2 / (size_t)p->depth;

    gpu_to_host(r, host, pool->memory, pool->bytes);
    for (size_t i = 0; i < rows; i++)
        host[i * (size_t)p->depth] =
            bits_of(p, one_is_high && i % (size_t)p->keys == 17 ? -value : value);
    gpu_to_device(r, pool->memory, host, pool->bytes);
    free(host);
}

static void measure_stable(struct probe_run *r, enum gpu_type type)
{
    if (!probe_is_due(r, PROBE_TWICE))
        return;
    static const char *const impls[] = {"fused", "mma", "naive"};
    const struct operator_shape shape = {{2, 2, 128, 200, PREFILL_CAUSAL}, (int)type};
    struct operator_set s =
        operator_open(r, &attention_prefill, &shape, OPERATOR_FUSED, 1, OPERATOR_FIXED);
    const struct prefill *t = s.own;
    uint32_t *wrong_rows = gpu_alloc(r, sizeof *wrong_rows, "a count");

    for (size_t i = 0; prefill_has(t, PREFILL_FUSED) && i < PROBE_LENGTH(adversaries); i++)
        for (size_t k = 0; k < PROBE_LENGTH(impls); k++) {
            const struct adversary *a = &adversaries[i];
            const bool is_naive = k == 2;
            const enum prefill_part part = k == 1 ? PREFILL_MMA : PREFILL_FUSED;
            if (!prefill_has(t, part) ||
                !probe_begin_case(r, PROBE_TWICE, "case=%s,type=%s,impl=%s", a->name,
                                  gpu_type_name(type), impls[k]))
                continue;
            set_first(r, &t->of, &t->q, a->q0, false);
            set_first(r, &t->of, &t->k, a->k0, a->one_is_high);
            probe_value(r, STABLE,
                        prefill_share_right(r, t, part, a->causal_end, is_naive, wrong_rows));
        }
    gpu_release(r, wrong_rows);
    operator_close(r, &s);
}

/* --- how much memory? ------------------------------------------------------------------------ */

/* Without what keeps the buffers of a measurement apart, so that what the driver says is gone is
 * what the buffer takes. */
static struct pool bare(struct probe_run *r, size_t bytes, const char *what)
{
    return (struct pool){
        .memory = gpu_alloc(r, bytes, what), .bytes = bytes, .stride = bytes, .sets = 1};
}

/* Allocates, computes once, verifies. */
static double footprint(struct probe_run *r, struct prefill *t, enum prefill_part part)
{
    const struct prefill_problem *p = &t->of;
    const double before = prefill_free_bytes();

    t->q = bare(r, prefill_q_bytes(p), "Q");
    t->k = bare(r, prefill_kv_bytes(p), "K");
    t->v = bare(r, prefill_kv_bytes(p), "V");
    t->out = bare(r, prefill_q_bytes(p), "the result");
    if (t->blas) {
        t->scores = gpu_alloc(r, prefill_scores_bytes(p), "the scores");
        t->workspace = gpu_alloc(r, PREFILL_WORKSPACE, "cuBLAS's workspace");
    }
    const double after = prefill_free_bytes();

    const struct pool *const pools[] = {&t->q, &t->k, &t->v, &t->out};
    for (size_t i = 0; i < 3; i++)
        gpu_fill_normal(r, pools[i]->memory, p->type, pools[i]->bytes / 2, OPERATOR_FIXED + i);
    prefill_launch(r, t, part, 0);
    prefill_check(r, t, part, "once");
    for (size_t i = 0; i < 4; i++)
        gpu_release(r, pools[i]->memory);
    if (t->blas) {
        gpu_release(r, t->scores);
        gpu_release(r, t->workspace);
    }
    return before - after;
}

static void measure_footprint(struct probe_run *r, int context, enum prefill_part part)
{
    const struct prefill_problem p = {32, 32, 128, context, context, true, GPU_BF16};
    const bool is_chain = part == PREFILL_CHAIN;

    if (!probe_begin_case(r, PROBE_TWICE | PROBE_POWER_BOUND,
                          "heads=32,kv_heads=32,depth=128,context=%d,mask=causal,type=bf16,impl=%s",
                          context, is_chain ? "unfused" : "fused"))
        return;
    probe_fact(r, "bytes by count", "%.0f", prefill_memory(&p, is_chain));
    if (prefill_memory(&p, is_chain) >= 0.9 * prefill_free_bytes()) {
        probe_missing(r, FOOTPRINT, "more than this GPU's memory holds");
        return;
    }
    if (is_chain && context > SOFTMAX_ROW_MAX) {
        probe_missing(r, FOOTPRINT, "the softmax of the chain does not take so long a row");
        return;
    }
    struct prefill t = prefill_load(r, p, is_chain);
    if (prefill_has(&t, part))
        probe_value(r, FOOTPRINT, footprint(r, &t, part));
    else
        probe_missing(r, FOOTPRINT, "the kernel or library is not to be had here");
}

static void measure_footprints(struct probe_run *r)
{
    static const int contexts[] = {512, 1024, 2048, 4096, 8192, 16384, 65536};
    for (size_t i = 0; i < PROBE_LENGTH(contexts); i++) {
        measure_footprint(r, contexts[i], PREFILL_FUSED);
        measure_footprint(r, contexts[i], PREFILL_CHAIN);
    }
}

/* --- all of it ------------------------------------------------------------------------------- */

enum { GRAPH = OPERATOR_WARM | OPERATOR_COLD, KERNELS = OPERATOR_MAIN | BY_MMA };
#define SWEEP(context, mask, type, groups, conditions, flags)                                      \
    {                                                                                              \
        {{32, 32, 128, context, mask}, type}, 1, groups, conditions, flags, false                  \
    }
#define CURVE(context, mask, type, groups)                                                         \
    SWEEP(context, mask, type, groups, OPERATOR_COLD, PROBE_THRICE)
#define DEEP(context, mask, groups)                                                                \
    SWEEP(context, mask, GPU_BF16, groups, OPERATOR_COLD, PROBE_DEEP)
static const struct operator_sweep sweeps[] = {
    /* short: where the L2 and the launches could count */
    SWEEP(1024, PREFILL_CAUSAL, GPU_BF16, OPERATOR_MAIN, GRAPH, 0),
    SWEEP(4096, PREFILL_CAUSAL, GPU_FP16, OPERATOR_MAIN | VALUES, OPERATOR_COLD, 0),
    SWEEP(8192, PREFILL_CAUSAL, GPU_BF16, KERNELS, OPERATOR_COLD, 0),
    /* without a mask, where the chain has no scores to compute in vain */
    SWEEP(4096, PREFILL_NO_MASK, GPU_FP16, OPERATOR_MAIN | VALUES, OPERATOR_COLD, 0),
    SWEEP(8192, PREFILL_NO_MASK, GPU_BF16, OPERATOR_MAIN, OPERATOR_COLD, 0),
    /* the rest of what the report's finding takes */
    SWEEP(512, PREFILL_CAUSAL, GPU_BF16, OPERATOR_MAIN, OPERATOR_COLD, 0),
    SWEEP(2048, PREFILL_CAUSAL, GPU_BF16, OPERATOR_MAIN, OPERATOR_COLD, 0),
    /* the rest of the curve, with the chain where it is told beside it */
    CURVE(4096, PREFILL_CAUSAL, GPU_BF16, OPERATOR_MAIN),
    CURVE(16384, PREFILL_CAUSAL, GPU_BF16, OPERATOR_FUSED),
    CURVE(16384, PREFILL_NO_MASK, GPU_BF16, OPERATOR_FUSED),
    CURVE(8192, PREFILL_CAUSAL, GPU_FP16, OPERATOR_FUSED),
    CURVE(512, PREFILL_NO_MASK, GPU_BF16, OPERATOR_MAIN),
    CURVE(1024, PREFILL_NO_MASK, GPU_BF16, OPERATOR_MAIN),
    CURVE(2048, PREFILL_NO_MASK, GPU_BF16, OPERATOR_MAIN),
    CURVE(4096, PREFILL_NO_MASK, GPU_BF16, OPERATOR_MAIN),
    /* what nothing takes: others in fp16, by mma.sync, and parts of the chain */
    SWEEP(512, PREFILL_CAUSAL, GPU_FP16, OPERATOR_FUSED, OPERATOR_COLD, PROBE_DEEP),
    SWEEP(1024, PREFILL_CAUSAL, GPU_FP16, OPERATOR_FUSED, OPERATOR_COLD, PROBE_DEEP),
    SWEEP(2048, PREFILL_CAUSAL, GPU_FP16, OPERATOR_FUSED, OPERATOR_COLD, PROBE_DEEP),
    SWEEP(8192, PREFILL_NO_MASK, GPU_FP16, OPERATOR_FUSED, OPERATOR_COLD, PROBE_DEEP),
    SWEEP(16384, PREFILL_CAUSAL, GPU_FP16, OPERATOR_FUSED, OPERATOR_COLD, PROBE_DEEP),
    SWEEP(1024, PREFILL_CAUSAL, GPU_BF16, OPERATOR_MAIN, OPERATOR_STREAM, PROBE_DEEP),
    DEEP(512, PREFILL_NO_MASK, BY_MMA),
    DEEP(512, PREFILL_CAUSAL, BY_MMA),
    DEEP(1024, PREFILL_NO_MASK, BY_MMA),
    DEEP(2048, PREFILL_NO_MASK, BY_MMA),
    DEEP(2048, PREFILL_CAUSAL, BY_MMA),
    DEEP(4096, PREFILL_NO_MASK, OPERATOR_ALL & ~OPERATOR_MAIN),
    DEEP(4096, PREFILL_CAUSAL, OPERATOR_ALL & ~OPERATOR_MAIN),
    DEEP(8192, PREFILL_NO_MASK, BY_MMA),
    DEEP(16384, PREFILL_NO_MASK, OPERATOR_UNFUSED | BY_MMA),
    DEEP(16384, PREFILL_CAUSAL, OPERATOR_UNFUSED | BY_MMA),
    {{{32, 32, 64, 4096, PREFILL_CAUSAL}, GPU_BF16}, 1, KERNELS, OPERATOR_COLD, PROBE_DEEP, false},
    {{{32, 8, 128, 4096, PREFILL_CAUSAL}, GPU_BF16}, 1, KERNELS, OPERATOR_COLD, PROBE_DEEP, false},
};

static const char *refuses(const struct operator_shape *shape)
{
    const struct prefill_problem p = prefill_problem_of(shape);
    return p.heads % p.kv_heads ? "heads: expected a multiple of kv_heads"
           : p.depth != 128 && (p.depth != 64 || p.type != GPU_BF16)
               ? "depth: expected 128, or 64 in bf16"
               : NULL;
}

static struct quality_results results(const struct operator_set *s, size_t member)
{
    const struct prefill *t = s->own;
    (void)member;
    return (struct quality_results){t->out.memory, (uint64_t)t->of.heads * (uint64_t)t->of.queries,
                                    (uint64_t)t->of.depth, 2};
}

static const char *const only[] = {"attention_prefill"};
const struct fused_operator attention_prefill = {
    .members = only,
    .n_members = 1,
    .dims = {"heads", "kv_heads", "depth", "context", "mask"},
    .words = {[MASK] = masks},
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 200,
    .check_dim = CONTEXT,
    .own_bytes = sizeof(struct prefill),
    .open = prefill_open,
    .reset = prefill_reset,
    .copied = copied,
    .forms = prefill_forms,
    .verify = prefill_verify,
    .check_on_host = prefill_check_on_host,
    .describe = describe,
    .refuses = refuses,
    .quality = {{4, 4, 128, 1001, PREFILL_CAUSAL}, GPU_BF16},
    .quality_types = GPU_BF16,
    .results = results,
    .judge = prefill_judge,
};

static void measure(struct probe_run *r)
{
    if (!operator_measure(r, &attention_prefill))
        return;
    if (probe_is_check_run(r))
        prefill_check_shapes(r);
    measure_stable(r, GPU_BF16);
    measure_stable(r, GPU_FP16);
    if (!probe_is_check_run(r))
        measure_footprints(r);
}

const struct probe probe = {
    .name = "attention_prefill",
    .what = "What does it save to compute attention over a prompt in one kernel, not three?",
    .method = 3,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
