/* attention_prefill: what does it save to compute attention over a prompt in one kernel, not three?
 *
 * Method. Out = softmax(Q K^T / sqrt(depth)) V for each of `heads` heads over `context` tokens,
 * N(0,1) inputs, all packed head by head. Unfused: a batched cuBLAS product for the scores, rounded
 * to the type; one kernel that scales, masks and normalises them in place, each row read once and
 * held in registers; a batched cuBLAS product with V. Fused: one kernel that never writes a score:
 * by wgmma (wgmma.cuh) where there is that, else by mma.sync (prefill.cuh); impl=mma is the latter
 * where both can run. Below a causal mask half of the scores count: the fused kernels skip tiles
 * above the diagonal, the unfused softmax does not read them; a library's product cannot skip them,
 * which belongs to what the chain costs.
 *
 * Inside the timed region: the operations, between two events; n and 2n of them.
 * Rate: 4 context^2 depth heads flops, or half of that under a causal mask, over the time: the same
 * count for all, whatever they compute.
 * An H200, 32 heads of 128, causal, 8192 tokens: 1.5 ms by mma.sync (366 Tflop/s;
 * published: 318 to 339 for FlashAttention-2 on an H100), 0.94 ms by wgmma (586;
 * published: up to 738 for FlashAttention-3); unfused 4.3 ms: two whole products, 2 ms, and four
 * passes over 4.3 GB of scores. Memory: unfused grows with the square of the context.
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
#include "fused/attention_prefill/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused/attention_prefill/check.h"
#include "fused/attention_prefill/form.h"
#include "fused/common/quality.h"

enum { RATE = N_OPERATION_METRICS, FOOTPRINT, STABLE };
#define SIZES "heads,kv_heads,depth,context,mask"
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(OPERATION_KEYS(SIZES)),
    [RATE] = {"rate", "flop/s", PROBE_HIGHER, .keys = OPERATION_KEYS(SIZES),
        .what = "flops that the mask leaves, over the time"},
    [FOOTPRINT] = {"footprint", "bytes", PROBE_LOWER, .keys = SIZES ",type,impl",
        .what = "device memory that is gone once everything is allocated, by the driver"},
    [STABLE] = {"stable", "ratio", PROBE_HIGHER, .keys = "case,type,impl",
        .what = "share of the rows that are right where scores are far from zero, or masked"},
};

/* --- how long does it take? ------------------------------------------------------------------ */

static double flops_of(const struct prefill_problem *p)
{
    double all = 4.0 * p->heads * p->depth * (double)p->queries * (double)p->keys;
    return p->is_causal ? all / 2 : all;
}

static void describe(struct probe_run *r, const void *self)
{
    const struct prefill_form *form = self;
    const struct prefill_problem *p = &form->t->of;
    /* A part of the chain is a product of all keys, whatever the mask; the softmax has no rate. */
    const double flops = form->part <= PREFILL_CHAIN     ? flops_of(p)
                         : form->part == PREFILL_SOFTMAX ? NAN
                         : p->is_causal                  ? flops_of(p)
                                                         : flops_of(p) / 2;
    const double ns = probe_median(r, OPERATION_TIME);

    if (!isnan(ns) && !isnan(flops))
        probe_value(r, RATE, flops / ns * 1e9);
    if (form->part <= PREFILL_CHAIN || form->part == PREFILL_VALUES)
        probe_fact(r, "rows verified", "%.2g of all", prefill_share_verified(r, p));
    if (form->part >= PREFILL_CHAIN) {
        probe_fact(r, "library", "cuBLAS %s", blas_version(form->t->blas));
        return;
    }
    probe_fact(r, "instruction", "%s", prefill_is_by_wgmma(form) ? "wgmma" : "mma.sync");
    if (prefill_is_by_wgmma(form))
        gpu_kernel_facts(r, form->t->wgmma, ATTENTION_PREFILL_WGMMA_THREADS,
                         ATTENTION_PREFILL_WGMMA_SHARED);
    else
        gpu_kernel_facts(r, form->t->mma, ATTENTION_PREFILL_THREADS,
                         ATTENTION_PREFILL_SHARED(p->depth));
}

/* Bytes loaded and stored if every tensor passes once; of a softmax below a causal mask half the
 * scores are loaded. What tiles load again comes from the L2 and is not counted. */
static double bytes_of(const struct prefill_form *form)
{
    const struct prefill_problem *p = &form->t->of;
    const double q = (double)prefill_q_bytes(p), kv = (double)prefill_kv_bytes(p);
    const double scores = (double)prefill_scores_bytes(p);
    const double product = q + kv + scores, softmax = scores * (p->is_causal ? 1.5 : 2);

    return form->part <= PREFILL_MMA       ? 2 * q + 2 * kv
           : form->part == PREFILL_CHAIN   ? 2 * product + softmax
           : form->part == PREFILL_SOFTMAX ? softmax
                                           : product;
}

static struct operation operation_of(const struct prefill_form *form)
{
    static const char *const names[] = {"fused", "mma", "unfused", "scores", "softmax", "values"};
    const struct prefill_problem *p = &form->t->of;
    const bool is_judged = form->part <= PREFILL_CHAIN || form->part == PREFILL_VALUES;

    return (struct operation){.name = names[form->part],
                              .launch = prefill_launch,
                              .poison = form->part == PREFILL_VALUES ? prefill_poison_values
                                        : is_judged                  ? prefill_poison
                                                                     : NULL,
                              .verify = is_judged ? prefill_verify : NULL,
                              .describe = describe,
                              .self = form,
                              .sets = form->t->q.sets,
                              .set_bytes = prefill_memory(p, false),
                              .bytes = bytes_of(form),
                              .memory = prefill_memory(p, form->part >= PREFILL_CHAIN),
                              .kernels = form->part == PREFILL_CHAIN ? 3 : 1,
                              .power_bound = true};
}

static const char *keys_of(const struct prefill_problem *p, char keys[128])
{
    snprintf(keys, 128, "heads=%d,kv_heads=%d,depth=%d,context=%d,mask=%s,type=%s", p->heads,
             p->kv_heads, p->depth, p->keys, p->is_causal ? "causal" : "none",
             gpu_type_name(p->type));
    return keys;
}

/* A bit a part. Parts of the chain come behind it, on what it has left. */
enum {
    BOTH = 1 << PREFILL_FUSED | 1 << PREFILL_CHAIN,
    ALL_THREE = BOTH | 1 << PREFILL_MMA,
    BOTH_AND_VALUES = BOTH | 1 << PREFILL_VALUES,
    ALL = ALL_THREE | 1 << PREFILL_VALUES | 1 << PREFILL_SCORES | 1 << PREFILL_SOFTMAX,
};

static void measure_parts(struct probe_run *r, const struct prefill_tensors *t, unsigned parts,
                          struct condition c, unsigned flags)
{
    static const enum prefill_part order[] = {PREFILL_FUSED,  PREFILL_MMA,    PREFILL_CHAIN,
                                              PREFILL_VALUES, PREFILL_SCORES, PREFILL_SOFTMAX};
    char keys[128];

    for (size_t i = 0; i < PROBE_LENGTH(order); i++) {
        const struct prefill_form form = {.t = t, .part = order[i]};
        if (!(parts >> order[i] & 1) || !prefill_has(t, order[i]) ||
            (order[i] == PREFILL_MMA && !t->wgmma))
            continue;
        const struct operation o = operation_of(&form);
        operation_measure(r, keys_of(&t->of, keys), &o, c, flags, NAN);
    }
}

static double free_bytes(void)
{
    size_t available = 0, all = 0;
    CUDA(cudaMemGetInfo(&available, &all));
    return (double)available;
}

/* With a tenth to spare. */
static bool fits(const struct prefill_problem *p, bool has_chain)
{
    return prefill_memory(p, has_chain) < 0.9 * free_bytes();
}

/* parts: a bit each, with that of the chain among them. */
static void measure_problem(struct probe_run *r, struct prefill_library *library,
                            struct prefill_problem p, unsigned parts, unsigned flags)
{
    if (((flags & PROBE_DEEP) && !probe_deep(r)) || !fits(&p, true))
        return;
    struct prefill_tensors t = prefill_tensors_of(r, p, library, PREFILL_TIMED, probe_seed(r));
    measure_parts(r, &t, parts, (struct condition){.cold = true}, flags);
    if (p.keys == 1024 && p.is_causal) { /* short: where the L2 and the launches could count */
        measure_parts(r, &t, parts, (struct condition){.cold = false}, flags);
        measure_parts(r, &t, parts, (struct condition){.cold = true, .stream = true},
                      flags | PROBE_DEEP);
    }
    prefill_tensors_free(r, &t);
}

/* --- what are the results worth? ------------------------------------------------------------- */

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r, struct prefill_library *library)
{
    const struct prefill_problem p = {4, 4, 128, 1001, 1001, true, GPU_BF16};
    struct prefill_tensors t = prefill_tensors_of(r, p, library, PREFILL_ONCE, 1);
    const struct prefill_form fused = {.t = &t, .part = PREFILL_FUSED};
    const struct prefill_form chain = {.t = &t, .part = PREFILL_CHAIN};
    const struct quality_results results = {t.out.memory, 4 * 1001, 128, 2};
    void *unfused = gpu_alloc(r, t.out.bytes, "the unfused result");
    char keys[128];

    if (prefill_has(&t, PREFILL_FUSED) && t.blas &&
        probe_begin_case(r, PROBE_ONCE, "%s,impl=fused,mode=graph,l2=warm", keys_of(&p, keys))) {
        prefill_launch(r, &chain, 0);
        const double error = prefill_verify_by_gpu(r, &chain, "unfused");
        CUDA(cudaMemcpyAsync(unfused, t.out.memory, t.out.bytes, cudaMemcpyDeviceToDevice,
                             gpu_stream(r)));
        prefill_poison(r, &fused);
        prefill_launch(r, &fused, 0);
        const double own = prefill_verify(r, &fused, "before");
        probe_require(r, own <= 2 * error, "the error, %.3g, is at most twice that unfused, %.3g",
                      own, error);
        probe_value(r, OPERATION_ERROR, own);
        quality_distance(r, t.out.memory, unfused, 2, t.out.bytes / 2);
        quality_digest(r, t.out.memory, 2, t.out.bytes / 2);
        quality_faults(r, &results, prefill_is_wrong, &fused);
        prefill_check_mutants(r, &fused);
        if (t.wgmma)
            prefill_check_mutants(r, &(struct prefill_form){.t = &t, .part = PREFILL_MMA});
    }
    gpu_release(r, unfused);
    prefill_tensors_free(r, &t);
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
    static const char *const impls[] = {"fused", "mma", "naive"};
    const struct prefill_problem p = {2, 2, 128, 200, 200, true, type};
    struct prefill_tensors t =
        prefill_tensors_of(r, p, NULL, PREFILL_ONCE, operation_seed(r, PROBE_ONCE));
    uint32_t *wrong_rows = gpu_alloc(r, sizeof *wrong_rows, "a count");

    for (size_t i = 0; prefill_has(&t, PREFILL_FUSED) && i < PROBE_LENGTH(adversaries); i++)
        for (size_t k = 0; k < PROBE_LENGTH(impls); k++) {
            const struct adversary *a = &adversaries[i];
            const bool is_naive = k == 2;
            const struct prefill_form form = {.t = &t,
                                              .part = k == 1 ? PREFILL_MMA : PREFILL_FUSED};
            if ((k == 1 && !t.wgmma) || !probe_begin_case(r, PROBE_ONCE, "case=%s,type=%s,impl=%s",
                                                          a->name, gpu_type_name(type), impls[k]))
                continue;
            set_first(r, &p, &t.q, a->q0, false);
            set_first(r, &p, &t.k, a->k0, a->one_is_high);
            probe_value(r, STABLE,
                        prefill_share_right(r, &form, a->causal_end, is_naive, wrong_rows));
        }
    gpu_release(r, wrong_rows);
    prefill_tensors_free(r, &t);
}

/* --- how much memory? ------------------------------------------------------------------------ */

/* Allocates, computes once, verifies. */
static void measure_footprint(struct probe_run *r, struct prefill_library *library, int context,
                              enum prefill_part part)
{
    const struct prefill_problem p = {32, 32, 128, context, context, true, GPU_BF16};
    const bool is_chain = part == PREFILL_CHAIN;
    char keys[128];

    if (!probe_begin_case(r, PROBE_ONCE | PROBE_POWER_BOUND, "%s,impl=%s", keys_of(&p, keys),
                          is_chain ? "unfused" : "fused"))
        return;
    probe_fact(r, "bytes by count", "%.0f", prefill_memory(&p, is_chain));
    if (!fits(&p, is_chain)) {
        probe_missing(r, FOOTPRINT, "more than this GPU's memory holds");
        return;
    }
    if (is_chain && context > SOFTMAX_ROW_MAX) {
        probe_missing(r, FOOTPRINT, "the softmax of the chain does not take so long a row");
        return;
    }
    const double before = free_bytes();
    struct prefill_tensors t = prefill_tensors_of(r, p, is_chain ? library : NULL, PREFILL_ONCE,
                                                  operation_seed(r, PROBE_ONCE));
    const double after = free_bytes();
    const struct prefill_form form = {.t = &t, .part = part};
    if (prefill_has(&t, part)) {
        prefill_launch(r, &form, 0);
        prefill_verify_by_gpu(r, &form, "once");
        probe_value(r, FOOTPRINT, before - after);
    } else
        probe_missing(r, FOOTPRINT, "the kernel or library is not to be had here");
    prefill_tensors_free(r, &t);
}

static void measure_footprints(struct probe_run *r, struct prefill_library *library)
{
    static const int contexts[] = {512, 1024, 2048, 4096, 8192, 16384, 65536};
    for (size_t i = 0; i < PROBE_LENGTH(contexts) && !probe_is_check_run(r); i++) {
        measure_footprint(r, library, contexts[i], PREFILL_FUSED);
        measure_footprint(r, library, contexts[i], PREFILL_CHAIN);
    }
}

/* --- all of it ------------------------------------------------------------------------------- */

static void measure_deep(struct probe_run *r, struct prefill_library *library)
{
    static const struct prefill_problem others[] = {{32, 32, 64, 4096, 4096, true, GPU_BF16},
                                                    {32, 8, 128, 4096, 4096, true, GPU_BF16}};

    for (int context = 512; context <= 16384; context *= 2)
        for (int is_causal = 0; is_causal < 2; is_causal++) {
            const struct prefill_problem p = {32, 32, 128, context, context, is_causal, GPU_BF16};
            if (!is_causal || (context != 1024 && context != 8192))
                measure_problem(r, library, p, context == 4096 ? ALL : ALL_THREE, PROBE_DEEP);
        }
    for (size_t i = 0; i < PROBE_LENGTH(others); i++)
        measure_problem(r, library, others[i], ALL_THREE, PROBE_DEEP);
}

static void measure(struct probe_run *r)
{
    const struct prefill_problem shorter = {32, 32, 128, 1024, 1024, true, GPU_BF16};
    const struct prefill_problem middle = {32, 32, 128, 4096, 4096, true, GPU_FP16};
    const struct prefill_problem longer = {32, 32, 128, 8192, 8192, true, GPU_BF16};
    struct prefill_library library = {0};

    if (probe_is_check_run(r))
        prefill_check_shapes(r, &library);
    else {
        measure_problem(r, &library, shorter, BOTH, 0);
        measure_problem(r, &library, middle, BOTH_AND_VALUES, 0);
        measure_problem(r, &library, longer, ALL_THREE, 0);
        measure_deep(r, &library);
    }
    measure_quality(r, &library);
    measure_stable(r, GPU_BF16);
    measure_stable(r, GPU_FP16);
    measure_footprints(r, &library);
}

const struct probe probe = {
    .name = "attention_prefill",
    .what = "What does it save to compute attention over a prompt in one kernel, not three?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
