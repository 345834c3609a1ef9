#include "fused/epilogue/qkv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fused/epilogue/args.h"
#include "fused/epilogue/race.h"
#include "fused/epilogue/reference.h"
#include "fused/epilogue/turns.h"

PROBE_IMAGE(epilogue);

enum { PARTS = 3 };

struct qkv {
    const struct epilogue_tools *tools;
    int m, k, n[PARTS], all;
    uint64_t seed;
    size_t sets;
    bool ready;
    struct pool a, w, out, part[PARTS];
    struct epilogue_reference reference;
    struct epilogue_ways ways[PARTS + 1]; /* of each product and of the one; ours last */
    const struct epilogue_way *best[PARTS + 1], *best_own; /* the latter of the one */
};

enum qkv_impl {
    QKV_FUSED,
    QKV_UNFUSED,
    QKV_BRANCHES,
    QKV_BATCHED,
    QKV_GROUPED,
    QKV_OWN,
    QKV_SPLIT,
    N_QKV_IMPLS,
};

static const char *const qkv_names[] = {"fused",   "unfused", "branches", "batched",
                                        "grouped", "own",     "split"};

struct qkv_form {
    struct qkv *q;
    enum qkv_impl impl;
    int only;                       /* the product that a race is about: a part, or PARTS for all */
    const struct epilogue_way *way; /* in a race */
};

/* Rows of weights above those of a part. */
static int rows_above(const struct qkv *q, int part)
{
    int rows = 0;
    for (int i = 0; i < part; i++)
        rows += q->n[i];
    return rows;
}

static struct epilogue_product qkv_product(const struct qkv *q, int part, size_t set)
{
    const bool all = part == PARTS;
    char *w = pool_at(&q->w, set);
    return (struct epilogue_product){
        .m = q->m,
        .n = all ? q->all : q->n[part],
        .k = q->k,
        .type = GPU_BF16,
        .a = pool_at(&q->a, set),
        .w = all ? w : w + 2 * (size_t)rows_above(q, part) * (size_t)q->k,
        .c = all ? pool_at(&q->out, set) : pool_at(&q->part[part], set)};
}

/* --- the kernels ------------------------------------------------------------------------------ */

static void qkv_must(struct probe_run *r, const struct qkv *q, const struct epilogue_way *w,
                     const struct epilogue_product *p)
{
    if (!epilogue_multiply(r, q->tools, w, p))
        probe_fail(r, "cuBLASLt refuses what it did before");
}

static void launch_branches(struct probe_run *r, const struct qkv *q, size_t set)
{
    const struct epilogue_tools *t = q->tools;
    CUDA(cudaEventRecord(t->fork, t->lane[0]));
    for (int i = 0; i < PARTS; i++) {
        struct epilogue_product p = qkv_product(q, i, set);
        p.lane = i;
        if (i > 0)
            CUDA(cudaStreamWaitEvent(t->lane[i], t->fork, 0));
        qkv_must(r, q, q->best[i], &p);
    }
    for (int i = 1; i < PARTS; i++) {
        CUDA(cudaEventRecord(t->join[i], t->lane[i]));
        CUDA(cudaStreamWaitEvent(t->lane[0], t->join[i], 0));
    }
}

static void launch_grouped(struct probe_run *r, const struct qkv *q, size_t set)
{
    const struct mma_epilogue_tile *t = q->best_own->tile;
    struct mma_epilogue_args a = {.a = pool_at(&q->a, set),
                                  .b = pool_at(&q->w, set),
                                  .m = (uint32_t)q->m,
                                  .k = (uint32_t)q->k,
                                  .lda = (uint32_t)q->k,
                                  .ldb = (uint32_t)q->k};
    for (int i = 0; i < PARTS; i++) {
        const struct epilogue_product p = qkv_product(q, i, set);
        a.part[i] = (struct mma_epilogue_part){
            .c = p.c, .first = (uint32_t)rows_above(q, i) / t->n, .ldc = (uint32_t)p.n};
    }
    gpu_launch_grid(r, q->best_own->kernel,
                    (dim3){(uint32_t)q->all / t->n, ((uint32_t)q->m + t->m - 1) / t->m, 1},
                    epilogue_threads(t, q->k), t->shared, &a);
}

static void launch_batched(struct probe_run *r, const struct qkv *q, size_t set)
{
    struct epilogue_product p = qkv_product(q, 0, set);
    const struct blas_batch batch = {
        .count = PARTS, .b = (long long)p.n * p.k, .c = (long long)p.m * p.n};
    p.c = pool_at(&q->out, set);
    const struct blas_gemm g = epilogue_gemm(q->tools, &p);
    blas_gemm_batched(r, q->tools->blas, &g, &batch);
}

static void launch_split(struct probe_run *r, const struct qkv *q, size_t set)
{
    struct split_args a = {.from = pool_at(&q->out, set), .rows = (uint32_t)q->m};
    for (int i = 0; i < PARTS; i++) {
        a.to[i] = pool_at(&q->part[i], set);
        a.end[i] = (uint32_t)rows_above(q, i + 1) / 8;
    }
    gpu_launch_grid(r, gpu_kernel(r, &image_epilogue, "epilogue_split", sizeof a),
                    (dim3){(a.end[2] + PASS_THREADS - 1) / PASS_THREADS, a.rows, 1}, PASS_THREADS,
                    0, &a);
}

/* A part's products walk all weights of a set before the next set: by its own rows alone they would
 * find themselves in the L2. */
static void race_part(struct probe_run *r, const struct qkv_form *form, size_t set)
{
    const struct qkv *q = form->q;
    struct epilogue_product p = qkv_product(q, form->only, set % q->sets);
    p.w = (char *)pool_at(&q->w, set % q->sets) + 2 * (set / q->sets) * (size_t)p.n * (size_t)p.k;
    qkv_must(r, q, form->way, &p);
}

static void launch_qkv(struct probe_run *r, const void *self, size_t set)
{
    const struct qkv_form *form = self;
    const struct qkv *q = form->q;
    struct epilogue_product p;

    if (form->way) {
        race_part(r, form, set);
        return;
    }
    switch (form->impl) {
    case QKV_UNFUSED:
        for (int i = 0; i < PARTS; i++) {
            p = qkv_product(q, i, set);
            qkv_must(r, q, q->best[i], &p);
        }
        break;
    case QKV_BRANCHES: launch_branches(r, q, set); break;
    case QKV_BATCHED: launch_batched(r, q, set); break;
    case QKV_GROUPED: launch_grouped(r, q, set); break;
    case QKV_FUSED:
    case QKV_OWN:
    case QKV_SPLIT:
        p = qkv_product(q, PARTS, set);
        qkv_must(r, q, form->impl == QKV_OWN ? q->best_own : q->best[PARTS], &p);
        if (form->impl == QKV_SPLIT)
            launch_split(r, q, set);
        break;
    case N_QKV_IMPLS: break;
    }
}

/* --- operands, and the fastest product of each ------------------------------------------------ */

/* The fastest of our kernels for the one product, which the grouped form is made of. */
static const struct epilogue_way *ours_of(struct probe_run *r, const struct qkv *q,
                                          const struct epilogue_race *race, size_t n_library)
{
    const struct epilogue_ways *all = &q->ways[PARTS];
    struct epilogue_ways ours = {.n = all->n - n_library};

    memcpy(ours.way, &all->way[n_library], ours.n * sizeof *ours.way);
    return &all->way[n_library + (probe_is_check_run(r) ? epilogue_checked_way(q->m, ours.n)
                                                        : epilogue_fastest(r, &ours, race))];
}

static void qkv_make(struct probe_run *r, struct qkv *q)
{
    const size_t padded = (size_t)(q->m + ROWS_PADDED - 1) / ROWS_PADDED * ROWS_PADDED;
    const size_t weights = (size_t)q->all * (size_t)q->k;

    q->a = pool_normal(r, GPU_BF16, padded * (size_t)q->k, q->sets, q->seed, "x");
    q->w = pool_normal(r, GPU_BF16, weights, q->sets, q->seed + 1, "weights");
    q->out = pool_new(r, 2 * (size_t)q->m * (size_t)q->all, q->sets, "Q, K and V");
    for (int i = 0; i < PARTS; i++)
        q->part[i] = pool_new(r, 2 * (size_t)q->m * (size_t)q->n[i], q->sets, "Q, K or V");
    const struct shrink_args a = {.memory = q->w.memory, .elements = q->w.sets * q->w.stride / 2};
    gpu_launch(r, epilogue_kernel(r, "shrink", GPU_BF16, false, sizeof a), 1024, 256, 0, &a);

    for (int i = 0; i <= PARTS; i++) {
        const struct epilogue_product p = qkv_product(q, i, 0);
        struct qkv_form racing = {.q = q, .only = i};
        const struct operation o = {
            .launch = launch_qkv, .self = &racing, .sets = q->sets * (size_t)(q->all / p.n)};
        const struct epilogue_race race = {&o, &racing.way};
        if (i > 0 && i < PARTS && q->n[i] == q->n[i - 1]) {
            q->best[i] = q->best[i - 1];
            continue;
        }
        epilogue_add_library(r, q->tools, &p, &q->ways[i]);
        const size_t n_library = q->ways[i].n;
        epilogue_add_own(r, &p, &q->ways[i]);
        if (q->ways[i].n == 0)
            probe_skip(r, "%s", q->tools->no_blas);
        q->best[i] = &q->ways[i].way[epilogue_fastest(r, &q->ways[i], &race)];
        if (i == PARTS && q->ways[i].n > n_library)
            q->best_own = ours_of(r, q, &race, n_library);
    }
    q->ready = true;
}

static void qkv_prepare(struct probe_run *r, const void *self)
{
    struct qkv *q = ((const struct qkv_form *)self)->q;
    if (!q->ready)
        qkv_make(r, q);
    pool_poison(r, &q->out);
    for (int i = 0; i < PARTS; i++)
        pool_poison(r, &q->part[i]);
}

static void qkv_free(struct probe_run *r, struct qkv *q)
{
    if (!q->ready)
        return;
    pool_free(r, &q->a);
    pool_free(r, &q->w);
    pool_free(r, &q->out);
    for (int i = 0; i < PARTS; i++)
        pool_free(r, &q->part[i]);
    epilogue_reference_free(r, &q->reference);
    for (int i = 0; i <= PARTS; i++)
        blas_plan_free(q->ways[i].plan);
}

/* --- is it right? ----------------------------------------------------------------------------- */

static double qkv_verify(struct probe_run *r, const void *self, const char *when)
{
    const struct qkv_form *form = self;
    struct qkv *q = form->q;
    const bool apart = form->impl != QKV_FUSED && form->impl != QKV_OWN;
    double error = 0;

    if (!q->reference.sum) {
        const struct epilogue_product all = qkv_product(q, PARTS, 0);
        q->reference = epilogue_reference_of(r, &all);
    }
    for (int i = apart ? 0 : PARTS; i < (apart ? PARTS : PARTS + 1); i++) {
        struct epilogue_product p = qkv_product(q, i, 0);
        if (form->impl == QKV_BATCHED)
            p.c = q->out.memory + 2 * (size_t)i * (size_t)p.m * (size_t)p.n;
        const uint32_t first = apart ? (uint32_t)rows_above(q, i) : 0;
        const struct verdict v =
            epilogue_run_verifier(r, &q->reference, &p, first, (uint32_t)p.n, 0);
        error =
            fmax(error, verdict_check(r, &v, (uint64_t)q->reference.looked * (uint64_t)p.n, when));
    }
    return error;
}

/* --- how long does it take? ------------------------------------------------------------------- */

static void qkv_describe(struct probe_run *r, const void *self)
{
    const struct qkv_form *form = self;
    const struct qkv *q = form->q;
    probe_fact(r, "parts", "%d, %d and %d columns", q->n[0], q->n[1], q->n[2]);
    if (form->impl == QKV_GROUPED || form->impl == QKV_OWN)
        epilogue_way_fact(r, "by", q->best_own);
    else if (form->impl == QKV_FUSED || form->impl == QKV_SPLIT)
        epilogue_way_fact(r, "by", q->best[PARTS]);
    else if (form->impl != QKV_BATCHED) {
        epilogue_way_fact(r, "q_by", q->best[0]);
        epilogue_way_fact(r, "k_by", q->best[1]);
    }
    if (probe_in_full(r))
        epilogue_nodes_fact(r, launch_qkv, form);
}

static double qkv_set_bytes(const struct qkv *q)
{
    return 2.0 * ((double)q->all * q->k + (double)q->m * q->k + 2.0 * q->m * q->all);
}

static struct operation qkv_operation(const struct qkv_form *form)
{
    const struct qkv *q = form->q;
    const bool three = form->impl == QKV_UNFUSED || form->impl == QKV_BRANCHES;
    const double out = 2.0 * q->m * q->all, in = 2.0 * q->m * q->k;
    return (struct operation){.name = qkv_names[form->impl],
                              .launch = launch_qkv,
                              .poison = qkv_prepare,
                              .verify = qkv_verify,
                              .describe = qkv_describe,
                              .self = form,
                              .sets = q->sets,
                              .set_bytes = qkv_set_bytes(q),
                              .bytes = 2.0 * q->all * q->k + (three ? 3 : 1) * in +
                                       (form->impl == QKV_SPLIT ? 3 : 1) * out,
                              .kernels = three                     ? 3
                                         : form->impl == QKV_SPLIT ? 2
                                                                   : 1};
}

static void measure_qkv_shape(struct probe_run *r, const struct epilogue_tools *tools, int m, int k,
                              const int n[PARTS], unsigned flags)
{
    struct qkv q = {.tools = tools,
                    .m = m,
                    .k = k,
                    .n = {n[0], n[1], n[2]},
                    .all = n[0] + n[1] + n[2],
                    .seed = operation_seed(r, flags)};
    const bool ours = gpu_facts(r)->cc >= 80, equal = n[0] == n[1] && n[1] == n[2];
    struct qkv_form forms[TURNS_MAX];
    struct operation list[TURNS_MAX];
    size_t count = 0;
    char keys[96];

    q.sets = probe_is_check_run(r) ? 1 : operation_sets(r, qkv_set_bytes(&q));
    for (enum qkv_impl i = 0; i < N_QKV_IMPLS; i++) {
        const bool by_us = i == QKV_GROUPED || i == QKV_OWN;
        if ((by_us && !ours) || (i == QKV_BATCHED && (!equal || !tools->blas)))
            continue;
        forms[count] = (struct qkv_form){.q = &q, .impl = i};
        list[count] = qkv_operation(&forms[count]);
        count++;
    }
    snprintf(keys, sizeof keys, "m=%d,n=%d,k=%d,op=qkv,type=bf16", m, q.all, k);
    epilogue_measure_in_turn(r, keys, list, count, flags, NAN);
    qkv_free(r, &q);
}

/* At 256 rows, of seldom shapes, only with --deep. */
static unsigned qkv_seldom(unsigned shape, unsigned rows, int m)
{
    const unsigned flags = shape | rows;
    return (flags & PROBE_DEEP) || (shape && m >= 256) ? PROBE_DEEP : flags;
}

void epilogue_measure_qkv(struct probe_run *r, const struct epilogue_tools *tools)
{
    static const struct {
        int k, n[PARTS]; /* of 1B, 8B, a model whose heads are 1:1, 70B */
        unsigned flags;
    } shapes[] = {{2048, {2048, 512, 512}, PROBE_THRICE},
                  {4096, {4096, 1024, 1024}, 0},
                  {4096, {4096, 4096, 4096}, PROBE_THRICE},
                  {8192, {8192, 1024, 1024}, PROBE_DEEP}};
    static const struct {
        int m;
        unsigned flags;
    } rows[] = {{1, 0}, {4, PROBE_DEEP}, {16, 0}, {256, PROBE_THRICE}, {4096, PROBE_DEEP}};
    static const int small[][PARTS] = {{256, 128, 128}, {128, 128, 128}};

    for (size_t i = 0; probe_is_check_run(r) && i < PROBE_LENGTH(small); i++)
        for (int m = 1; m < 300; m += 71)
            measure_qkv_shape(r, tools, m, 128, small[i], 0);
    for (size_t i = 0; !probe_is_check_run(r) && i < PROBE_LENGTH(shapes); i++)
        for (size_t j = 0; j < PROBE_LENGTH(rows); j++)
            measure_qkv_shape(r, tools, rows[j].m, shapes[i].k, shapes[i].n,
                              qkv_seldom(shapes[i].flags, rows[j].flags, rows[j].m));
}
