/* The finish of a layer: what is done to x W^T, and the ways through, from everything in the
 * product to a kernel for each operator. */
#ifndef FUSED_EPILOGUE_FINISH_H
#define FUSED_EPILOGUE_FINISH_H

#include "fused/epilogue/layer.h"

/* What is to be done to x and to the product. */
struct finish {
    const char *name;
    unsigned flags;
    bool gelu_in;
    unsigned steps[2]; /* the operators one by one, as kernels behind the product */
    unsigned when[4];  /* flags of its cases: bf16 below 256 rows, below 4096, beyond; fp16 */
};
static const struct finish finishes[] = {
    {"bias_gelu",
     EPILOGUE_BIAS | EPILOGUE_GELU,
     false,
     {EPILOGUE_BIAS, EPILOGUE_GELU},
     {0, 0, 0, 0}},
    {"bias_residual",
     EPILOGUE_BIAS | EPILOGUE_RESIDUAL,
     false,
     {EPILOGUE_BIAS, EPILOGUE_RESIDUAL},
     {0, 0, 0, PROBE_DEEP}},
    {"bias",
     EPILOGUE_BIAS,
     false,
     {EPILOGUE_BIAS},
     {PROBE_DEEP, PROBE_DEEP, PROBE_DEEP, PROBE_DEEP}},
    {"quantise",
     EPILOGUE_QUANTISE,
     false,
     {EPILOGUE_QUANTISE},
     {PROBE_DEEP, PROBE_DEEP, PROBE_ONCE, PROBE_DEEP}},
    {"gelu_in", 0, true, {0}, {PROBE_DEEP, PROBE_ONCE, PROBE_ONCE, PROBE_DEEP}},
};
enum { N_FINISHES = PROBE_LENGTH(finishes) };

enum { N_PASSES = 9 };
static const char *const pass_names[N_PASSES] = {[EPILOGUE_BIAS] = "bias",
                                                 [EPILOGUE_GELU] = "gelu",
                                                 [EPILOGUE_RESIDUAL] = "residual",
                                                 [EPILOGUE_QUANTISE] = "quantise",
                                                 [EPILOGUE_BIAS | EPILOGUE_GELU] = "bias_gelu",
                                                 [EPILOGUE_BIAS | EPILOGUE_RESIDUAL] =
                                                     "bias_residual"};

/* A layer's operands and results, made when its first case is, and what was found fastest. */
struct layer {
    const struct tools *tools;
    int m, n, k;
    enum gpu_type type;
    uint64_t seed;
    bool ready;
    size_t sets;
    struct pool a, middle, w, residual, out, quantised;
    void *bias;
    cudaKernel_t pass[N_PASSES][2]; /* [flags][is_small] */
    struct reference reference[2];  /* [gelu_in] */
    struct found {
        bool searched;
        struct ways library;
        struct way own;
        const struct way *best, *best_own, *best_library; /* NULL: none */
        const struct way *product; /* NULL: not chosen yet; with this finish behind it, or none */
    } found[N_FINISHES + 1];       /* the last: the product alone */
};

enum { ANY, OWN, LIBRARY };

/* One way through: passes before, the product with part of the finish inside, passes behind. */
struct work {
    struct layer *l;
    const struct finish *finish;
    enum chain { FUSED, UNFUSED, ONE_PASS, PRODUCT } chain;
    int whose;
    const struct way *way; /* found when the case is made, or in the running of a race */
};

static size_t bytes_of(int rows, int columns)
{
    return 2 * (size_t)rows * (size_t)columns;
}

static double set_bytes(const struct layer *l)
{
    return (double)(bytes_of(l->n, l->k) + bytes_of(l->m, l->k) + 2 * bytes_of(l->m, l->n));
}

static void layer_make(struct probe_run *r, struct layer *l)
{
    const size_t padded = (size_t)(l->m + ROWS_PADDED - 1) / ROWS_PADDED * ROWS_PADDED;
    const size_t out = bytes_of(l->m, l->n);

    l->a = pool_normal(r, l->type, padded * (size_t)l->k, l->sets, l->seed, "x");
    l->w = pool_normal(r, l->type, (size_t)l->n * (size_t)l->k, l->sets, l->seed + 1, "weights");
    l->residual = pool_normal(r, l->type, out / 2, l->sets, l->seed + 2, "the residual");
    l->out = pool_new(r, out, l->sets, "the output");
    l->quantised = pool_new(r, out / 2, l->sets, "the quantised output");
    l->middle = pool_new(r, l->a.bytes, l->sets, "GELU of x");
    for (int i = 0; i < N_PASSES; i++)
        for (int is_small = 0; pass_names[i] && is_small < 2; is_small++)
            l->pass[i][is_small] =
                typed_kernel(r, pass_names[i], l->type, is_small, sizeof(struct pass_args));
    l->bias = gpu_alloc(r, 2 * (size_t)l->n, "the bias");
    gpu_fill_normal(r, l->bias, l->type, (size_t)l->n, l->seed + 3);
    const struct shrink_args a = {.memory = l->w.memory, .elements = l->w.sets * l->w.stride / 2};
    gpu_launch(r, typed_kernel(r, "shrink", l->type, false, sizeof a), 1024, 256, 0, &a);
    l->ready = true;
}

static void layer_free(struct probe_run *r, struct layer *l)
{
    struct pool *const pools[] = {&l->a, &l->w, &l->residual, &l->out, &l->quantised, &l->middle};
    if (!l->ready)
        return;
    for (size_t i = 0; i < PROBE_LENGTH(pools); i++)
        pool_free(r, pools[i]);
    gpu_release(r, l->bias);
    for (int i = 0; i < 2; i++)
        reference_free(r, &l->reference[i]);
    for (int i = 0; i <= N_FINISHES; i++)
        blas_plan_free(l->found[i].library.plan);
}

/* --- the kernels ----------------------------------------------------------------------------- */

static unsigned flags_inside(const struct work *w)
{
    return w->chain == FUSED ? w->finish->flags : 0;
}

static bool activates_inside(const struct work *w)
{
    return w->chain == FUSED && w->finish->gelu_in;
}

static struct product product_of(const struct work *w, size_t set)
{
    const struct layer *l = w->l;
    const bool activated = w->finish->gelu_in && w->chain != PRODUCT && !activates_inside(w);
    const bool quantised = flags_inside(w) & EPILOGUE_QUANTISE;
    return (struct product){.m = l->m,
                            .n = l->n,
                            .k = l->k,
                            .type = l->type,
                            .flags = flags_inside(w),
                            .gelu_in = activates_inside(w),
                            .a = pool_at(activated ? &l->middle : &l->a, set),
                            .w = pool_at(&l->w, set),
                            .bias = l->bias,
                            .residual = pool_at(&l->residual, set),
                            .c = pool_at(quantised ? &l->quantised : &l->out, set)};
}

/* One kernel over a matrix of `rows` x `columns`. */
static void pass(struct probe_run *r, const struct layer *l, unsigned flags, const void *in,
                 void *out, const void *residual, int columns)
{
    const struct pass_args a = {.in = in,
                                .out = out,
                                .bias = l->bias,
                                .residual = residual,
                                .rows = (uint32_t)l->m,
                                .row_vectors = (uint32_t)columns / 8,
                                .scale = QUANTISE_BY};
    const bool is_small =
        (uint64_t)a.rows * a.row_vectors < (uint64_t)gpu_facts(r)->n_sm * PASS_THREADS * PASS_ROWS;
    const unsigned threads = is_small ? PASS_SMALL_THREADS : PASS_THREADS;
    const unsigned rows = is_small ? 1 : PASS_ROWS;
    gpu_launch_grid(r, l->pass[flags][is_small],
                    (dim3){(a.row_vectors + threads - 1) / threads, (a.rows + rows - 1) / rows, 1},
                    threads, 0, &a);
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct layer *l = w->l;
    const struct product p = product_of(w, set);

    if (p.a == pool_at(&l->middle, set))
        pass(r, l, EPILOGUE_GELU, pool_at(&l->a, set), pool_at(&l->middle, set), NULL, l->k);
    if (!multiply(r, l->tools, w->way, &p))
        probe_fail(r, "cuBLASLt refuses what it did before");
    if (w->chain != UNFUSED && w->chain != ONE_PASS)
        return;
    for (int i = 0; i < 2; i++) {
        const unsigned flags = w->chain == ONE_PASS ? w->finish->flags : w->finish->steps[i];
        if (flags == 0 || (i > 0 && w->chain == ONE_PASS))
            break;
        pass(r, l, flags, p.c, flags & EPILOGUE_QUANTISE ? pool_at(&l->quantised, set) : p.c,
             p.residual, l->n);
    }
}

/* --- the fastest product --------------------------------------------------------------------- */

static void search(struct probe_run *r, struct work *w, struct found *found)
{
    const struct product p = product_of(w, 0);
    struct layer *l = w->l;
    struct work racing = {
        .l = w->l, .finish = w->finish, .chain = w->chain == FUSED ? FUSED : PRODUCT};
    const struct operation o = {.launch = launch, .self = &racing, .sets = l->sets};
    const struct race race = {&o, &racing.way};
    struct ways own = {.n = 0}, finals = {.n = 0};

    found->searched = true;
    add_library(r, l->tools, &p, &found->library);
    if (found->library.n > 0)
        found->best_library = &found->library.way[fastest(r, &found->library, &race)];
    add_own(r, &p, &own);
    if (own.n > 0) {
        found->own =
            own.way[probe_is_check_run(r) ? checked_way(l->m, own.n) : fastest(r, &own, &race)];
        found->best_own = &found->own;
    }
    found->best = found->best_library ? found->best_library : found->best_own;
    if (!found->best_library || !found->best_own)
        return;
    finals.way[finals.n++] = *found->best_library;
    finals.way[finals.n++] = *found->best_own;
    found->best = fastest(r, &finals, &race) == 1 ? found->best_own : found->best_library;
}

static struct found *found_of(const struct work *w)
{
    return &w->l->found[w->chain == FUSED ? (size_t)(w->finish - finishes) : N_FINISHES];
}

/* The fastest product, or the finished one's algorithm without its epilogue where that is faster:
 * the two searches have different lists, and the one of the product alone can have missed it. */
static const struct way *product_for(struct probe_run *r, struct layer *l,
                                     const struct finish *finish)
{
    struct work finished = {.l = l, .finish = finish, .chain = FUSED};
    struct work racing = {.l = l, .finish = finish, .chain = PRODUCT};
    const struct operation o = {.launch = launch, .self = &racing, .sets = l->sets};
    const struct race race = {&o, &racing.way};
    const struct product p = product_of(&racing, 0);
    struct found *const inside = found_of(&finished), *const alone = found_of(&racing);
    struct ways finals = {.n = 0};

    if (!inside->searched)
        search(r, &finished, inside);
    inside->product = alone->best;
    if (finish->gelu_in || !alone->best || !inside->best) /* that kernel does GELU of x always */
        return inside->product;
    if (!multiply(r, l->tools, inside->best, &p)) /* an algorithm for that epilogue only */
        return inside->product;
    finals.way[finals.n++] = *alone->best;
    finals.way[finals.n++] = *inside->best;
    if (probe_is_check_run(r) ? l->m % 2 == 1
                              : fastest(r, &finals, &race) == 1) /* both are checked */
        inside->product = inside->best;
    return inside->product;
}

/* Before each case: everything that it needs, and NaN where it writes. */
static void prepare(struct probe_run *r, const void *self)
{
    struct work *w = (struct work *)(uintptr_t)self;
    struct layer *l = w->l;
    struct found *found = found_of(w), *inside = &l->found[w->finish - finishes];

    if (!l->ready)
        layer_make(r, l);
    if (!found->searched)
        search(r, w, found);
    w->way = w->whose == OWN       ? found->best_own
             : w->whose == LIBRARY ? found->best_library
             : w->chain == FUSED   ? found->best
             : inside->product     ? inside->product
                                   : product_for(r, l, w->finish);
    if (!w->way)
        probe_skip(r, "%s", l->tools->no_blas);
    pool_poison(r, &l->out);
    pool_poison(r, &l->quantised);
}

#endif
