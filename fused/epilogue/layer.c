#include "fused/epilogue/layer.h"

#include "fused/epilogue/race.h"

const struct epilogue_finish epilogue_finishes[N_FINISHES] = {
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
     {PROBE_DEEP, PROBE_DEEP, PROBE_THRICE, PROBE_DEEP}},
    {"gelu_in", 0, true, {0}, {PROBE_DEEP, PROBE_THRICE, PROBE_THRICE, PROBE_DEEP}},
};

static const char *const pass_names[N_PASSES] = {[EPILOGUE_BIAS] = "bias",
                                                 [EPILOGUE_GELU] = "gelu",
                                                 [EPILOGUE_RESIDUAL] = "residual",
                                                 [EPILOGUE_QUANTISE] = "quantise",
                                                 [EPILOGUE_BIAS | EPILOGUE_GELU] = "bias_gelu",
                                                 [EPILOGUE_BIAS | EPILOGUE_RESIDUAL] =
                                                     "bias_residual"};

/* --- operands and results --------------------------------------------------------------------- */

size_t epilogue_bytes(int rows, int columns)
{
    return 2 * (size_t)rows * (size_t)columns;
}

double epilogue_set_bytes(const struct epilogue_layer *l)
{
    return (double)(epilogue_bytes(l->n, l->k) + epilogue_bytes(l->m, l->k) +
                    2 * epilogue_bytes(l->m, l->n));
}

static void layer_make(struct probe_run *r, struct epilogue_layer *l)
{
    const size_t padded = (size_t)(l->m + ROWS_PADDED - 1) / ROWS_PADDED * ROWS_PADDED;
    const size_t out = epilogue_bytes(l->m, l->n);

    l->a = pool_normal(r, l->type, padded * (size_t)l->k, l->sets, l->seed, "x");
    l->w = pool_normal(r, l->type, (size_t)l->n * (size_t)l->k, l->sets, l->seed + 1, "weights");
    l->residual = pool_normal(r, l->type, out / 2, l->sets, l->seed + 2, "the residual");
    l->out = pool_new(r, out, l->sets, "the output");
    l->quantised = pool_new(r, out / 2, l->sets, "the quantised output");
    l->middle = pool_new(r, l->a.bytes, l->sets, "GELU of x");
    for (int i = 0; i < N_PASSES; i++)
        for (int is_small = 0; pass_names[i] && is_small < 2; is_small++)
            l->pass[i][is_small] =
                epilogue_kernel(r, pass_names[i], l->type, is_small, sizeof(struct pass_args));
    l->bias = gpu_alloc(r, 2 * (size_t)l->n, "the bias");
    gpu_fill_normal(r, l->bias, l->type, (size_t)l->n, l->seed + 3);
    const struct shrink_args a = {.memory = l->w.memory, .elements = l->w.sets * l->w.stride / 2};
    gpu_launch(r, epilogue_kernel(r, "shrink", l->type, false, sizeof a), 1024, 256, 0, &a);
    l->ready = true;
}

void epilogue_layer_free(struct probe_run *r, struct epilogue_layer *l)
{
    struct pool *const pools[] = {&l->a, &l->w, &l->residual, &l->out, &l->quantised, &l->middle};
    if (!l->ready)
        return;
    for (size_t i = 0; i < PROBE_LENGTH(pools); i++)
        pool_free(r, pools[i]);
    gpu_release(r, l->bias);
    for (int i = 0; i < 2; i++)
        epilogue_reference_free(r, &l->reference[i]);
    for (int i = 0; i <= N_FINISHES; i++)
        blas_plan_free(l->found[i].library.plan);
}

/* --- the kernels ------------------------------------------------------------------------------ */

static unsigned flags_inside(const struct epilogue_form *form)
{
    return form->chain == FUSED ? form->finish->flags : 0;
}

static bool activates_inside(const struct epilogue_form *form)
{
    return form->chain == FUSED && form->finish->gelu_in;
}

struct epilogue_product epilogue_product_of(const struct epilogue_form *form, size_t set)
{
    const struct epilogue_layer *l = form->l;
    const bool activated =
        form->finish->gelu_in && form->chain != PRODUCT && !activates_inside(form);
    const bool quantised = flags_inside(form) & EPILOGUE_QUANTISE;
    return (struct epilogue_product){.m = l->m,
                                     .n = l->n,
                                     .k = l->k,
                                     .type = l->type,
                                     .flags = flags_inside(form),
                                     .gelu_in = activates_inside(form),
                                     .a = pool_at(activated ? &l->middle : &l->a, set),
                                     .w = pool_at(&l->w, set),
                                     .bias = l->bias,
                                     .residual = pool_at(&l->residual, set),
                                     .c = pool_at(quantised ? &l->quantised : &l->out, set)};
}

/* One kernel over a matrix of `rows` x `columns`. */
static void pass(struct probe_run *r, const struct epilogue_layer *l, unsigned flags,
                 const void *in, void *out, const void *residual, int columns)
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

void epilogue_launch(struct probe_run *r, const void *self, size_t set)
{
    const struct epilogue_form *form = self;
    const struct epilogue_layer *l = form->l;
    const struct epilogue_product p = epilogue_product_of(form, set);

    if (p.a == pool_at(&l->middle, set))
        pass(r, l, EPILOGUE_GELU, pool_at(&l->a, set), pool_at(&l->middle, set), NULL, l->k);
    if (!epilogue_multiply(r, l->tools, form->way, &p))
        probe_fail(r, "cuBLASLt refuses what it did before");
    if (form->chain != UNFUSED && form->chain != ONE_PASS)
        return;
    for (int i = 0; i < 2; i++) {
        const unsigned flags =
            form->chain == ONE_PASS ? form->finish->flags : form->finish->steps[i];
        if (flags == 0 || (i > 0 && form->chain == ONE_PASS))
            break;
        pass(r, l, flags, p.c, flags & EPILOGUE_QUANTISE ? pool_at(&l->quantised, set) : p.c,
             p.residual, l->n);
    }
}

/* --- the fastest product ---------------------------------------------------------------------- */

static void search(struct probe_run *r, struct epilogue_form *form, struct epilogue_found *found)
{
    const struct epilogue_product p = epilogue_product_of(form, 0);
    struct epilogue_layer *l = form->l;
    struct epilogue_form racing = {
        .l = form->l, .finish = form->finish, .chain = form->chain == FUSED ? FUSED : PRODUCT};
    const struct operation o = {.launch = epilogue_launch, .self = &racing, .sets = l->sets};
    const struct epilogue_race race = {&o, &racing.way};
    struct epilogue_ways own = {.n = 0}, finals = {.n = 0};

    found->searched = true;
    epilogue_add_library(r, l->tools, &p, &found->library);
    if (found->library.n > 0)
        found->best_library = &found->library.way[epilogue_fastest(r, &found->library, &race)];
    epilogue_add_own(r, &p, &own);
    if (own.n > 0) {
        found->own = own.way[probe_is_check_run(r) ? epilogue_checked_way(l->m, own.n)
                                                   : epilogue_fastest(r, &own, &race)];
        found->best_own = &found->own;
    }
    found->best = found->best_library ? found->best_library : found->best_own;
    if (!found->best_library || !found->best_own)
        return;
    finals.way[finals.n++] = *found->best_library;
    finals.way[finals.n++] = *found->best_own;
    found->best = epilogue_fastest(r, &finals, &race) == 1 ? found->best_own : found->best_library;
}

static struct epilogue_found *found_of(const struct epilogue_form *form)
{
    return &form->l->found[form->chain == FUSED ? (size_t)(form->finish - epilogue_finishes)
                                                : N_FINISHES];
}

/* The fastest product, or the finished one's algorithm without its epilogue where that is faster:
 * the two searches have different lists, and the one of the product alone can have missed it. */
static const struct epilogue_way *product_for(struct probe_run *r, struct epilogue_layer *l,
                                              const struct epilogue_finish *finish)
{
    struct epilogue_form finished = {.l = l, .finish = finish, .chain = FUSED};
    struct epilogue_form racing = {.l = l, .finish = finish, .chain = PRODUCT};
    const struct operation o = {.launch = epilogue_launch, .self = &racing, .sets = l->sets};
    const struct epilogue_race race = {&o, &racing.way};
    const struct epilogue_product p = epilogue_product_of(&racing, 0);
    struct epilogue_found *const inside = found_of(&finished), *const plain = found_of(&racing);
    struct epilogue_ways finals = {.n = 0};

    if (!inside->searched)
        search(r, &finished, inside);
    inside->product = plain->best;
    if (finish->gelu_in || !plain->best || !inside->best) /* that kernel does GELU of x always */
        return inside->product;
    if (!epilogue_multiply(r, l->tools, inside->best, &p)) /* an algorithm for that epilogue only */
        return inside->product;
    finals.way[finals.n++] = *plain->best;
    finals.way[finals.n++] = *inside->best;
    if (probe_is_check_run(r) ? l->m % 2 == 1
                              : epilogue_fastest(r, &finals, &race) == 1) /* both are checked */
        inside->product = inside->best;
    return inside->product;
}

void epilogue_prepare(struct probe_run *r, const void *self)
{
    struct epilogue_form *form = (struct epilogue_form *)(uintptr_t)self;
    struct epilogue_layer *l = form->l;
    struct epilogue_found *found = found_of(form),
                          *inside = &l->found[form->finish - epilogue_finishes];

    if (!l->ready)
        layer_make(r, l);
    if (!found->searched)
        search(r, form, found);
    form->way = form->whose == OWN       ? found->best_own
                : form->whose == LIBRARY ? found->best_library
                : form->chain == FUSED   ? found->best
                : inside->product        ? inside->product
                                         : product_for(r, l, form->finish);
    if (!form->way)
        probe_skip(r, "%s", l->tools->no_blas);
    pool_poison(r, &l->middle);
    pool_poison(r, &l->out);
    pool_poison(r, &l->quantised);
}
