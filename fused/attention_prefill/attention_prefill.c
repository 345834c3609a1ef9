/* attention_prefill: what does it save to compute attention over a prompt in one kernel, not three?
 *
 * Method. Out = softmax(Q K^T / sqrt(depth)) V for each of `heads` heads over `context` tokens,
 * N(0,1) inputs, all packed head by head. Unfused: a batched cuBLAS product for the scores, rounded
 * to the type; one kernel that scales, masks and normalises them in place, each row read once and
 * held in registers; a batched cuBLAS product with V. Fused: one kernel that never writes a score:
 * by wgmma (wgmma.cuh) where there is that, else by mma.sync
 * (prefill.cuh); impl=mma is the latter where both can run. Below a causal mask
 * half of the scores count: the fused kernels skip tiles above the diagonal, the unfused softmax
 * does not read them; a library's product cannot skip them, which belongs to what the chain costs.
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
#include "fused/attention_prefill/check.h"

PROBE_IMAGE(attention_prefill);

enum { RATE = N_OPERATION_METRICS, FOOTPRINT, STABLE };
#define SIZES "heads,kv_heads,depth,context,mask"
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(OPERATION_KEYS(SIZES)),
    [RATE] = {"rate", "flop/s", PROBE_HIGHER, PROBE_EACH, NULL, OPERATION_KEYS(SIZES),
              "flops that the mask leaves, over the time"},
    [FOOTPRINT] = {"footprint", "bytes", PROBE_LOWER, PROBE_EACH, NULL, SIZES ",type,impl",
                   "device memory that is gone once everything is allocated, by the driver"},
    [STABLE] = {"stable", "ratio", PROBE_HIGHER, PROBE_EACH, NULL, "case,type,impl",
                "share of the rows that are right where scores are far from zero, or masked"},
};

/* --- how long does it take? ------------------------------------------------------------------ */

static double flops_of(const struct problem *p)
{
    double all = 4.0 * p->heads * p->depth * (double)p->queries * (double)p->keys;
    return p->is_causal ? all / 2 : all;
}

static void describe(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    const struct problem *p = &w->t->of;
    /* A part of the chain is a product of all keys, whatever the mask; the softmax has no rate. */
    const double flops = w->part <= CHAIN     ? flops_of(p)
                         : w->part == SOFTMAX ? NAN
                         : p->is_causal       ? flops_of(p)
                                              : flops_of(p) / 2;
    const double ns = probe_median(r, OPERATION_TIME);

    if (!isnan(ns) && !isnan(flops))
        probe_value(r, RATE, flops / ns * 1e9);
    if (w->part <= CHAIN || w->part == VALUES)
        probe_fact(r, "rows verified", "%.2g of all", rows_looked_at(r, p) / (double)all_rows(p));
    if (w->part >= CHAIN) {
        probe_fact(r, "library", "cuBLAS %s", blas_version(w->t->blas));
        return;
    }
    probe_fact(r, "instruction", "%s", by_wgmma(w) ? "wgmma" : "mma.sync");
    if (by_wgmma(w))
        gpu_kernel_facts(r, w->t->wgmma, ATTENTION_PREFILL_WGMMA_THREADS,
                         ATTENTION_PREFILL_WGMMA_SHARED);
    else
        gpu_kernel_facts(r, w->t->mma, ATTENTION_PREFILL_THREADS,
                         ATTENTION_PREFILL_SHARED(p->depth));
}

/* Bytes loaded and stored if every tensor passes once; of a softmax below a causal mask half the
 * scores are loaded. What tiles load again comes from the L2 and is not counted. */
static double bytes_of(const struct work *w)
{
    const struct problem *p = &w->t->of;
    const double q = (double)q_bytes(p), kv = (double)kv_bytes(p), scores = (double)scores_bytes(p);
    const double product = q + kv + scores, softmax = scores * (p->is_causal ? 1.5 : 2);

    return w->part <= MMA       ? 2 * q + 2 * kv
           : w->part == CHAIN   ? 2 * product + softmax
           : w->part == SOFTMAX ? softmax
                                : product;
}

static struct operation operation_of(const struct work *w)
{
    static const char *const names[] = {"fused", "mma", "unfused", "scores", "softmax", "values"};
    const struct problem *p = &w->t->of;
    const bool is_judged = w->part <= CHAIN || w->part == VALUES;

    return (struct operation){.name = names[w->part],
                              .launch = launch_part,
                              .poison = w->part == VALUES ? poison_values
                                        : is_judged       ? poison
                                                          : NULL,
                              .verify = is_judged ? verify : NULL,
                              .describe = describe,
                              .self = w,
                              .sets = w->t->q.sets,
                              .set_bytes = memory_of(p, false),
                              .bytes = bytes_of(w),
                              .memory = memory_of(p, w->part >= CHAIN),
                              .kernels = w->part == CHAIN ? 3 : 1,
                              .power_bound = true};
}

static const char *keys_of(const struct problem *p, char keys[128])
{
    snprintf(keys, 128, "heads=%d,kv_heads=%d,depth=%d,context=%d,mask=%s,type=%s", p->heads,
             p->kv_heads, p->depth, p->keys, p->is_causal ? "causal" : "none",
             gpu_type_name(p->type));
    return keys;
}

/* A bit a part. Parts of the chain come behind it, on what it has left. */
enum {
    BOTH = 1 << FUSED | 1 << CHAIN,
    ALL_THREE = BOTH | 1 << MMA,
    BOTH_AND_VALUES = BOTH | 1 << VALUES,
    ALL = ALL_THREE | 1 << VALUES | 1 << SCORES | 1 << SOFTMAX,
};

static void measure_parts(struct probe_run *r, const struct tensors *t, unsigned parts,
                          struct condition c, unsigned flags)
{
    static const enum part order[] = {FUSED, MMA, CHAIN, VALUES, SCORES, SOFTMAX};
    char keys[128];

    for (size_t i = 0; i < PROBE_LENGTH(order); i++) {
        const struct work w = {.t = t, .part = order[i]};
        if (!(parts >> order[i] & 1) || !has(t, order[i]) || (order[i] == MMA && !t->wgmma))
            continue;
        const struct operation o = operation_of(&w);
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
static bool fits(const struct problem *p, bool has_chain)
{
    return memory_of(p, has_chain) < 0.9 * free_bytes();
}

static void measure_problem(struct probe_run *r, struct problem p, unsigned parts, unsigned flags)
{
    if (((flags & PROBE_DEEP) && !probe_deep(r)) || !fits(&p, parts >> CHAIN & 1))
        return;
    struct tensors t = tensors_of(r, p, parts >> CHAIN & 1, FOR_TIMING, probe_seed(r));
    measure_parts(r, &t, parts, (struct condition){.cold = true}, flags);
    if (p.keys == 1024 && p.is_causal) { /* short: where the L2 and the launches could count */
        measure_parts(r, &t, parts, (struct condition){.cold = false}, flags);
        measure_parts(r, &t, parts, (struct condition){.cold = true, .stream = true},
                      flags | PROBE_DEEP);
    }
    tensors_free(r, &t);
}

/* --- what are the results worth? ------------------------------------------------------------- */

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r)
{
    const struct problem p = {4, 4, 128, 1001, 1001, true, GPU_BF16};
    struct tensors t = tensors_of(r, p, true, FOR_ONE_RESULT, 1);
    const struct work fused = {.t = &t, .part = FUSED}, chain = {.t = &t, .part = CHAIN};
    const struct quality_results results = {t.out.memory, 4 * 1001, 128, 2};
    struct pool unfused = buffer(r, t.out.bytes, 1, true, "the unfused result");
    char keys[128];

    if (has(&t, FUSED) && t.blas &&
        probe_begin_case(r, PROBE_ONCE, "%s,impl=fused,mode=graph,l2=warm", keys_of(&p, keys))) {
        launch_chain(r, &chain, 0);
        const double error = verify_by_gpu(r, &chain, "unfused");
        CUDA(cudaMemcpyAsync(unfused.memory, t.out.memory, t.out.bytes, cudaMemcpyDeviceToDevice,
                             gpu_stream(r)));
        poison(r, &fused);
        launch_fused(r, &fused, 0);
        const double own = verify(r, &fused, "before");
        probe_require(r, own <= 2 * error, "the error, %.3g, is at most twice that unfused, %.3g",
                      own, error);
        probe_value(r, OPERATION_ERROR, own);
        quality_distance(r, t.out.memory, unfused.memory, 2, t.out.bytes / 2);
        quality_digest(r, t.out.memory, 2, t.out.bytes / 2);
        quality_faults(r, &results, is_wrong, &fused);
        check_mutants(r, &fused);
        if (t.wgmma)
            check_mutants(r, &(struct work){.t = &t, .part = MMA});
    }
    pool_free(r, &unfused);
    tensors_free(r, &t);
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
static uint16_t bits_of(const struct problem *p, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (is_bf16(p) || value == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000) + ((bits >> 13 & 0x3ffff) - ((127 - 15) << 10)));
}

static void set_first(struct probe_run *r, const struct problem *p, const struct pool *pool,
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

/* Of the rows that come out of the part, or of the control that leaves the maximum out. */
static double share_right(struct probe_run *r, const struct work *w, int causal_end, bool is_naive)
{
    static uint32_t *wrong_rows;
    struct attention_row_args a = rows_to_look_at(r, w);
    uint32_t wrong;

    if (!wrong_rows)
        wrong_rows = gpu_alloc(r, sizeof *wrong_rows, "a count");
    a.of.causal_end = causal_end;
    a.wrong_rows = wrong_rows;
    CUDA(cudaMemsetAsync(wrong_rows, 0, sizeof wrong, gpu_stream(r)));
    poison(r, w);
    if (is_naive)
        gpu_launch(r, w->t->naive, a.of.heads * a.of.queries, PREFILL_ROW_THREADS, 0, &a);
    else
        launch_as(r, w, a.of);
    gpu_launch(r, w->t->verify, a.rows, PREFILL_ROW_THREADS, 0, &a);
    gpu_to_host(r, &wrong, wrong_rows, sizeof wrong);
    return 1 - (double)wrong / a.rows;
}

static void measure_stable(struct probe_run *r, enum gpu_type type)
{
    static const char *const impls[] = {"fused", "mma", "naive"};
    const struct problem p = {2, 2, 128, 200, 200, true, type};
    struct tensors t = tensors_of(r, p, false, FOR_ONE_RESULT, operation_seed(r, PROBE_ONCE));

    for (size_t i = 0; has(&t, FUSED) && i < PROBE_LENGTH(adversaries); i++)
        for (size_t k = 0; k < PROBE_LENGTH(impls); k++) {
            const struct adversary *a = &adversaries[i];
            const bool is_naive = k == 2;
            const struct work w = {.t = &t, .part = k == 1 ? MMA : FUSED};
            if ((k == 1 && !t.wgmma) || !probe_begin_case(r, PROBE_ONCE, "case=%s,type=%s,impl=%s",
                                                          a->name, gpu_type_name(type), impls[k]))
                continue;
            set_first(r, &p, &t.q, a->q0, false);
            set_first(r, &p, &t.k, a->k0, a->one_is_high);
            probe_value(r, STABLE, share_right(r, &w, a->causal_end, is_naive));
        }
    tensors_free(r, &t);
}

/* --- how much memory? ------------------------------------------------------------------------ */

/* Allocates, computes once, verifies. */
static void measure_footprint(struct probe_run *r, int context, enum part part)
{
    const struct problem p = {32, 32, 128, context, context, true, GPU_BF16};
    char keys[128];

    if (!probe_begin_case(r, PROBE_ONCE | PROBE_POWER_BOUND, "%s,impl=%s", keys_of(&p, keys),
                          part == CHAIN ? "unfused" : "fused"))
        return;
    probe_fact(r, "bytes by count", "%.0f", memory_of(&p, part == CHAIN));
    if (!fits(&p, part == CHAIN)) {
        probe_missing(r, FOOTPRINT, "more than this GPU's memory holds");
        return;
    }
    if (part == CHAIN && context > SOFTMAX_ROW_MAX) {
        probe_missing(r, FOOTPRINT, "the softmax of the chain does not take so long a row");
        return;
    }
    const double before = free_bytes();
    struct tensors t =
        tensors_of(r, p, part == CHAIN, FOR_ONE_RESULT, operation_seed(r, PROBE_ONCE));
    const double after = free_bytes();
    const struct work w = {.t = &t, .part = part};
    if (has(&t, part)) {
        launch_part(r, &w, 0);
        verify_by_gpu(r, &w, "once");
        probe_value(r, FOOTPRINT, before - after);
    } else
        probe_missing(r, FOOTPRINT, "the kernel or library is not to be had here");
    tensors_free(r, &t);
}

static void measure_footprints(struct probe_run *r)
{
    static const int contexts[] = {512, 1024, 2048, 4096, 8192, 16384, 65536};
    for (size_t i = 0; i < PROBE_LENGTH(contexts) && !probe_is_check_run(r); i++) {
        measure_footprint(r, contexts[i], FUSED);
        measure_footprint(r, contexts[i], CHAIN);
    }
}

/* --- all of it ------------------------------------------------------------------------------- */

static void measure_deep(struct probe_run *r)
{
    static const struct problem others[] = {{32, 32, 64, 4096, 4096, true, GPU_BF16},
                                            {32, 8, 128, 4096, 4096, true, GPU_BF16}};

    for (int context = 512; context <= 16384; context *= 2)
        for (int is_causal = 0; is_causal < 2; is_causal++) {
            const struct problem p = {32, 32, 128, context, context, is_causal, GPU_BF16};
            if (!is_causal || (context != 1024 && context != 8192))
                measure_problem(r, p, context == 4096 ? ALL : ALL_THREE, PROBE_DEEP);
        }
    for (size_t i = 0; i < PROBE_LENGTH(others); i++)
        measure_problem(r, others[i], ALL_THREE, PROBE_DEEP);
}

static void measure(struct probe_run *r)
{
    const struct problem shorter = {32, 32, 128, 1024, 1024, true, GPU_BF16};
    const struct problem middle = {32, 32, 128, 4096, 4096, true, GPU_FP16};
    const struct problem longer = {32, 32, 128, 8192, 8192, true, GPU_BF16};

    if (probe_is_check_run(r))
        check_shapes(r);
    else {
        measure_problem(r, shorter, BOTH, 0);
        measure_problem(r, middle, BOTH_AND_VALUES, 0);
        measure_problem(r, longer, ALL_THREE, 0);
        measure_deep(r);
    }
    measure_quality(r);
    measure_stable(r, GPU_BF16);
    measure_stable(r, GPU_FP16);
    measure_footprints(r);
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
