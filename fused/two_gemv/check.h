/* two_gemv.c, its second half: is it right, also at odd shapes, and what are the results worth?
 * Included there once. */

static struct operation operation_of(const struct work *w);

/* --- is it right? ----------------------------------------------------------------------------- */

/* All of it on the CPU in double. */
static void check_on_host(struct probe_run *r, const struct layer *l, size_t set,
                          unsigned roundings)
{
    const size_t model = (size_t)l->model, hidden = (size_t)l->hidden, n = model * hidden;
    uint16_t *up = probe_host_alloc(r, 2 * n), *down = probe_host_alloc(r, 2 * n);
    uint16_t *x = probe_host_alloc(r, 2 * model), *y = probe_host_alloc(r, 2 * model);
    double *h = probe_host_alloc(r, sizeof *h * hidden);
    size_t wrong = 0;

    gpu_to_host(r, up, pool_at(&l->up, set), 2 * n);
    gpu_to_host(r, down, pool_at(&l->down, set), 2 * n);
    gpu_to_host(r, x, l->x, 2 * model);
    gpu_to_host(r, y, pool_at(&l->y, set), 2 * model);
    for (size_t j = 0; j < hidden; j++) {
        double z = 0;
        for (size_t k = 0; k < model; k++)
            z += half_bf16(up[j * model + k]) * half_bf16(x[k]);
        z /= sqrt((double)model);
        h[j] = z / (1 + exp(-z));
    }
    for (size_t i = 0; i < model; i++) {
        double sum = 0, absolute = 0, squared = 0;
        for (size_t j = 0; j < hidden; j++) {
            const double product = half_bf16(down[i * hidden + j]) * h[j];
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        const double bound = 2 * HALF_BF16_UNIT * fabs(sum) +
                             8 * sqrt((double)hidden) * 0x1p-24 * absolute +
                             6 * roundings * 0x1p-9 * sqrt(squared) + 0x1p-25;
        wrong += !(fabs(half_bf16(y[i]) - sum) <= bound);
    }
    probe_require(r, wrong == 0, "%zu of %zu outputs are as computed on the CPU in double",
                  model - wrong, model);
    free(up);
    free(down);
    free(x);
    free(y);
    free(h);
}

static unsigned roundings_of(const struct work *w)
{
    return w->place == UNFUSED ? 2 : 1;
}

/* Set 0; of dram, the set whose second product was launched with the first of set 0. */
static size_t set_of(const struct work *w)
{
    return w->place == DRAM ? set_before(w->l, 0) : 0;
}

static struct verdict run_verifier(struct probe_run *r, const struct work *w)
{
    const struct layer *l = w->l;
    const size_t set = set_of(w);
    const struct two_gemv_verify_args a = {.up = pool_at(&l->up, set),
                                           .down = pool_at(&l->down, set),
                                           .x = l->x,
                                           .y = pool_at(&l->y, set),
                                           .h = l->reference,
                                           .verdict = verdict_clear(r),
                                           .model = (uint32_t)l->model,
                                           .hidden = (uint32_t)l->hidden,
                                           .scale = (float)(1 / sqrt(l->model)),
                                           .roundings = roundings_of(w)};
    gpu_launch(r, l->k_reference, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    gpu_launch(r, l->k_verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    return run_verifier(r, self).wrong > 0;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    const struct verdict v = run_verifier(r, w);
    if (probe_in_full(r) && (size_t)w->l->model * (size_t)w->l->hidden <= 1 << 20)
        check_on_host(r, w->l, set_of(w), roundings_of(w));
    return verdict_check(r, &v, (uint64_t)w->l->model, when);
}

/* --- odd shapes, and what the results are worth ----------------------------------------------- */

enum { ODD_SHAPES = 42 };

/* Multiples of eight, which is a vector; a row of W1 and one of W2 must be whole vectors. */
static void check_odd_shapes(struct probe_run *r)
{
    uint64_t state = probe_seed(r);
    if (!probe_begin_case(r, 0, "model=0,hidden=0,batch=1,type=bf16,impl=fused,mode=graph,l2=warm"))
        return;
    for (int i = 0; i < ODD_SHAPES; i++) {
        static const int some[] = {8, 16, 248, 256, 264, 2040, 2048, 2056, 4096, 4104, 8184, 8192};
        const int model = i % 2 ? some[draw_below(&state, 12)] : 8 * (1 + (int)draw_below(&state, 256));
        const int hidden = i % 3 ? 8 * (1 + (int)draw_below(&state, 40)) : some[draw_below(&state, 6)];
        struct layer l = layer_of(r, model, hidden, state);
        for (enum place place = 0; place < N_PLACES; place++) {
            const struct work w = {&l, place};
            const struct operation o = operation_of(&w);
            if (!is_here(&w))
                continue;
            poison(r, &w);
            o.launch(r, &w, 0);
            verify(r, &w, "an odd shape");
        }
        layer_free(r, &l);
    }
    probe_fact(r, "shapes", "%d of seeded model and hidden, multiples of 8", ODD_SHAPES);
}

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_results(struct probe_run *r)
{
    enum { MODEL = 1000, HIDDEN = 1032 };
    if (!probe_begin_case(r, PROBE_ONCE,
                          "model=%d,hidden=%d,batch=1,type=bf16,impl=fused,mode=graph,l2=warm",
                          MODEL, HIDDEN))
        return;
    struct layer l = layer_of(r, MODEL, HIDDEN, 1);
    const struct work fused = {&l, REGISTERS}, unfused = {&l, UNFUSED};
    const struct quality_results results = {l.y.memory, 1, MODEL, 2};
    void *other = gpu_alloc(r, 2 * MODEL, "the unfused results");

    launch_kernels(r, &unfused, 0);
    CUDA(cudaMemcpyAsync(other, l.y.memory, 2 * MODEL, cudaMemcpyDeviceToDevice, gpu_stream(r)));
    poison(r, &fused);
    launch_staying(r, &fused, 0);
    verify(r, &fused, "of a fixed seed");
    quality_distance(r, l.y.memory, other, 2, MODEL);
    quality_digest(r, l.y.memory, 2, MODEL);
    quality_faults(r, &results, is_wrong, &fused);
    gpu_release(r, other);
    layer_free(r, &l);
}
