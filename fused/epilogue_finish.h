/* The finish of a layer: what is done to x W^T, and the ways through, from everything in the
 * product to a kernel for each operator. */
#ifndef GPUFLOOR_EPILOGUE_FINISH_H
#define GPUFLOOR_EPILOGUE_FINISH_H

#include "core/half.h"
#include "fused/epilogue_layer.h"

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
            own.way[probe_checking(r) ? checked_way(l->m, own.n) : fastest(r, &own, &race)];
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
    if (probe_checking(r) ? l->m % 2 == 1 : fastest(r, &finals, &race) == 1) /* both are checked */
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

/* --- is it right? ---------------------------------------------------------------------------- */

static struct verdict look_at(struct probe_run *r, const struct work *w, unsigned more)
{
    struct layer *l = w->l;
    const bool gelu_in = w->finish->gelu_in && w->chain != PRODUCT;
    const unsigned flags = w->chain != PRODUCT ? w->finish->flags : 0;
    struct product p = product_of(w, 0);

    if (!l->reference[gelu_in].sum) {
        struct product plain = p;
        plain.a = l->a.memory;
        plain.gelu_in = gelu_in;
        l->reference[gelu_in] = reference_of(r, &plain);
    }
    if (flags & EPILOGUE_QUANTISE)
        p.c = l->quantised.memory;
    if (w->chain == UNFUSED || w->chain == ONE_PASS)
        more |= JUDGE_ROUNDED;
    if (w->chain == UNFUSED)
        more |= JUDGE_EACH_ROUNDED;
    if (w->chain == FUSED && is_library(w->way))
        more |= JUDGE_APPROXIMATE;
    return look(r, &l->reference[gelu_in], &p, 0, (uint32_t)l->n, flags | more);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    return look_at(r, self, 0).wrong > 0;
}

static double number(const struct layer *l, uint16_t bits)
{
    return l->type == GPU_FP16 ? half_fp16(bits) : half_bf16(bits);
}

static double fetch_number(struct probe_run *r, const struct layer *l, const void *from, size_t at)
{
    uint16_t bits;
    gpu_to_host(r, &bits, (const uint16_t *)from + at, sizeof bits);
    return number(l, bits);
}

static double gelu_on_host(double z)
{
    return 0.5 * z * (1 + tanh(0.79788456080286536 * (z + 0.044715 * z * z * z)));
}

/* One output on the CPU, in double, by its row of x and its row of W. */
static bool is_right_on_host(struct probe_run *r, const struct work *w, size_t row, size_t column,
                             uint16_t *x, uint16_t *weights)
{
    const struct layer *l = w->l;
    const size_t k = (size_t)l->k, at = row * (size_t)l->n + column;
    const unsigned flags = w->chain == PRODUCT ? 0 : w->finish->flags;
    const bool gelu_in = w->finish->gelu_in && w->chain != PRODUCT;
    const double unit = l->type == GPU_FP16 ? HALF_FP16_UNIT : HALF_BF16_UNIT;
    double sum = 0, absolute = 0, squares = 0, out;
    int8_t byte;

    gpu_to_host(r, x, l->a.memory + 2 * row * k, 2 * k);
    gpu_to_host(r, weights, l->w.memory + 2 * column * k, 2 * k);
    for (size_t i = 0; i < k; i++) {
        const double value = number(l, x[i]), weight = number(l, weights[i]);
        const double term = (gelu_in ? gelu_on_host(value) : value) * weight;
        sum += term;
        absolute += fabs(value * weight);
        squares += term * term;
    }
    /* Roundings of the product, of GELU of x (each within a unit of its term: seven deviations of
     * their sum), of each operator, of GELU's argument, of the result. */
    double bound = 8 * sqrt(l->k) * 0x1p-24 * absolute + (gelu_in ? 4 * unit * sqrt(squares) : 0);
    bound += 3 * unit * fabs(sum);
    if (flags & EPILOGUE_BIAS)
        sum += fetch_number(r, l, l->bias, column);
    bound += 1.2 * unit * fabs(sum) + 0x1p-11 * fabs(sum);
    if (flags & EPILOGUE_GELU)
        sum = gelu_on_host(sum);
    if (flags & EPILOGUE_RESIDUAL)
        sum += fetch_number(r, l, l->residual.memory, at);
    bound += 1.2 * unit * fabs(sum) + 0x1p-20;
    if (!(flags & EPILOGUE_QUANTISE))
        return fabs(fetch_number(r, l, l->out.memory, at) - sum) <= bound;
    gpu_to_host(r, &byte, l->quantised.memory + at, 1);
    out = fmin(fmax((double)QUANTISE_BY * sum, -128), 127);
    return fabs(byte - out) <= 0.5 + 1.2 * (double)QUANTISE_BY * bound;
}

/* The corners, and places between them. */
static void check_on_host(struct probe_run *r, const struct work *w)
{
    enum { PLACES = 12 };
    const size_t m = (size_t)w->l->m, n = (size_t)w->l->n;
    uint16_t *x = probe_host_alloc(r, 2 * (size_t)w->l->k);
    uint16_t *weights = probe_host_alloc(r, 2 * (size_t)w->l->k);
    uint64_t state = probe_seed(r);
    int right = 0;

    for (int i = 0; i < PLACES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t place = (size_t)(state >> 20) % (m * n);
        const size_t row = i < 4 ? (i & 1 ? m - 1 : 0) : place / n;
        const size_t column = i < 4 ? (i & 2 ? n - 1 : 0) : place % n;
        right += is_right_on_host(r, w, row, column, x, weights);
    }
    probe_check(r, right == PLACES, "%d of %d outputs are as computed on the CPU in double", right,
                PLACES);
    free(x);
    free(weights);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    const struct verdict v = look_at(r, w, 0);
    const uint64_t most = probe_in_full(r) ? 4096 : 256, m = (uint64_t)w->l->m;
    if (probe_in_full(r))
        check_on_host(r, w);
    return verdict_check(r, &v, (m < most ? m : most) * (uint64_t)w->l->n, when);
}

/* --- how long does it take? ------------------------------------------------------------------ */

static void describe(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    way_fact(r, "by", w->way);
    if (w->chain != FUSED && w->way == w->l->found[w->finish - finishes].best)
        probe_fact(r, "choice_of", "what the finished product is offered");
    if (!probe_in_full(r))
        return;
    gpu_graph_begin(r);
    launch(r, w, 0);
    struct gpu_graph graph = gpu_graph_end(r);
    const struct gpu_node node = gpu_graph_first_kernel(r, &graph);
    probe_fact(r, "nodes", "%zu, the first %s, %u blocks of %u", node.n_kernels, node.kernel,
               node.blocks, node.threads);
    gpu_graph_free(&graph);
}

/* GELU in its tanh form: five operations, an exponential and a reciprocal. */
static struct operation_kernel gelu_of(double elements)
{
    return (struct operation_kernel){.operations = 5 * elements, .exponentials = 2 * elements};
}

/* Where a product with the operator inside is ours and not the library's: what it repeats counts.
 * In the main loop GELU of x is made once for each column of tiles. */
static struct operation_kernel fused_does(const struct work *w, double in, double out)
{
    const struct layer *l = w->l;
    const struct mma_epilogue_tile *t = w->way->tile;
    const double columns = ceil((double)l->n / t->n);
    struct operation_kernel k = {.operations = out / 2};

    if (w->finish->gelu_in)
        k = gelu_of(in / 2 * columns);
    k.blocks = ceil((double)l->m / t->m) * columns;
    return k;
}

static void count_kernels(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    const struct work *w = self;
    const struct layer *l = w->l;
    const double in = (double)bytes_of(l->m, l->k), out = (double)bytes_of(l->m, l->n);
    const bool gelu_in = w->finish->gelu_in, quantised = w->finish->flags & EPILOGUE_QUANTISE;
    const bool is_fused = w->chain == FUSED;
    struct operation_kernel *product = &each[gelu_in && !is_fused];

    (void)r;
    if ((!gelu_in && !quantised) || w->chain == PRODUCT)
        return;
    if (is_fused) {
        *product = fused_does(w, in, out);
    } else if (gelu_in) {
        each[0] = gelu_of(in / 2);
        each[0].bytes = 2 * in;
    } else {
        each[1] = (struct operation_kernel){.bytes = 1.5 * out, .operations = out / 2};
    }
    product->bytes = in + (double)bytes_of(l->n, l->k) + (is_fused && quantised ? out / 2 : out);
    product->flops = 2.0 * l->m * l->n * l->k;
}

static struct operation operation_of(const struct work *w, const char *name)
{
    const struct layer *l = w->l;
    const double in = (double)bytes_of(l->m, l->k), out = (double)bytes_of(l->m, l->n);
    const double weights = (double)bytes_of(l->n, l->k);
    const unsigned flags = w->chain == PRODUCT ? 0 : w->finish->flags;
    double extra = (flags & EPILOGUE_BIAS ? 2.0 * l->n : 0) +
                   (flags & EPILOGUE_RESIDUAL ? out : 0) -
                   (flags & EPILOGUE_QUANTISE ? out / 2 : 0);
    unsigned passes = 0;

    if (w->chain == UNFUSED || w->chain == ONE_PASS)
        passes = w->finish->gelu_in ? 1 : w->chain == UNFUSED && w->finish->steps[1] ? 2 : 1;
    return (struct operation){.name = name,
                              .launch = launch,
                              .poison = prepare,
                              .verify = verify,
                              .describe = describe,
                              .count = count_kernels,
                              .self = w,
                              .sets = l->sets,
                              .set_bytes = set_bytes(l),
                              .bytes = in + weights + out + extra +
                                       passes * 2 * (w->finish->gelu_in ? in : out),
                              .kernels = 1 + passes,
                              .power_bound = l->m >= 256};
}

#endif
