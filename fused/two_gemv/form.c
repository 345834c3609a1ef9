#include "fused/two_gemv/form.h"

#include <math.h>
#include <stdio.h>

#include "fused/two_gemv/args.h"

PROBE_IMAGE(two_gemv);

enum { N_SIZES = 3, SETS = 4 };
static const int sizes[N_SIZES] = {2048, 4096, TWO_MODEL_MAX};

/* --- the layer -------------------------------------------------------------------------------- */

/* In bf16, beside what else a block has in shared memory and what the system takes of it. */
int two_gemv_most_hidden(const struct probe_run *r)
{
    enum { BESIDE = 2048 };
    const struct gpu_facts *f = gpu_facts(r);
    const size_t room = f->shared_per_sm / TWO_BLOCKS;
    return (int)((room < f->shared_per_block ? room : f->shared_per_block) - BESIDE) / 16 * 8;
}

static void load_kernels(struct probe_run *r, struct two_gemv_layer *l)
{
    static const char *const kept[] = {"registers", "shared", "l2"};
    const size_t size = sizeof(struct two_gemv_args);
    char name[64];
    int of = 0;

    while (sizes[of] < l->model)
        of++;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "two_gemv_%s_%d", kept[i], sizes[of]);
        l->stays[i] = gpu_kernel(r, &image_two_gemv, name, size);
        if (2 * (size_t)l->hidden > 40 << 10)
            gpu_kernel_shared(l->stays[i], 2 * (size_t)l->hidden, -1);
    }
    l->k_up = gpu_kernel(r, &image_two_gemv, "two_gemv_up", size);
    l->k_activate = gpu_kernel(r, &image_two_gemv, "two_gemv_activate", size);
    l->k_down = gpu_kernel(r, &image_two_gemv, "two_gemv_down", size);
    l->k_up_dependent = gpu_kernel_if_any(r, &image_two_gemv, "two_gemv_up_dependent", size);
    l->k_down_dependent = gpu_kernel_if_any(r, &image_two_gemv, "two_gemv_down_dependent", size);
    l->k_reference =
        gpu_kernel(r, &image_two_gemv, "two_gemv_reference", sizeof(struct two_gemv_verify_args));
    l->k_verify =
        gpu_kernel(r, &image_two_gemv, "two_gemv_verify", sizeof(struct two_gemv_verify_args));
}

static void turn(struct probe_run *r, struct two_gemv_layer *l)
{
    cudaKernel_t kernel = gpu_kernel(r, &image_two_gemv, "two_gemv_transpose",
                                     sizeof(struct two_gemv_transpose_args));
    for (size_t set = 0; set < l->sets; set++) {
        const struct two_gemv_transpose_args a = {.from = pool_at(&l->down, set),
                                                  .to = pool_at(&l->turned, set),
                                                  .rows = (uint32_t)l->model,
                                                  .columns = (uint32_t)l->hidden};
        gpu_launch(r, kernel, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    }
}

struct two_gemv_layer two_gemv_layer_of(struct probe_run *r, int model, int hidden, uint64_t seed)
{
    const size_t elements = (size_t)model * (size_t)hidden;
    struct two_gemv_layer l = {.model = model, .hidden = hidden};

    l.sets = probe_is_check_run(r) ? 2 : operation_sets(r, 4 * (double)elements);
    l.sets = l.sets < SETS && !probe_is_check_run(r) ? SETS : l.sets;
    l.blocks = TWO_BLOCKS * (unsigned)gpu_facts(r)->n_sm;
    load_kernels(r, &l);
    l.up = pool_normal(r, GPU_BF16, elements, l.sets, seed, "W1");
    l.down = pool_normal(r, GPU_BF16, elements, l.sets, seed + 1, "W2");
    l.turned = pool_new(r, 2 * elements, l.sets, "W2 transposed");
    l.h = pool_new(r, 2 * (size_t)hidden, l.sets, "the intermediate");
    l.y = pool_new(r, 2 * (size_t)model, l.sets, "y");
    l.x = gpu_alloc(r, 2 * (size_t)model, "x");
    gpu_fill_normal(r, l.x, GPU_BF16, (size_t)model, seed + 2);
    l.reference = gpu_alloc(r, 8 * (size_t)hidden, "the intermediate in fp64");
    l.partial_bytes = l.blocks * ((size_t)model * 4 + TWO_GAP * 16);
    l.partial = gpu_alloc(r, l.partial_bytes, "sums of the blocks");
    l.barrier = gpu_alloc(r, sizeof *l.barrier, "the grid barrier");
    CUDA(cudaMemsetAsync(l.barrier, 0, sizeof *l.barrier, gpu_stream(r)));
    turn(r, &l);
    return l;
}

void two_gemv_layer_free(struct probe_run *r, struct two_gemv_layer *l)
{
    struct pool *const pools[] = {&l->up, &l->down, &l->turned, &l->h, &l->y};
    uint32_t aborted;

    gpu_to_host(r, &aborted, &l->barrier->aborted, sizeof aborted);
    probe_require(r, !aborted, "no block waited for others longer than its budget");
    for (size_t i = 0; i < PROBE_LENGTH(pools); i++)
        pool_free(r, pools[i]);
    gpu_release(r, l->x);
    gpu_release(r, l->reference);
    gpu_release(r, l->partial);
    gpu_release(r, l->barrier);
}

/* --- the variants ----------------------------------------------------------------------------- */

static struct two_gemv_args args_of(const struct two_gemv_layer *l, size_t set)
{
    return (struct two_gemv_args){.up = pool_at(&l->up, set),
                                  .down = pool_at(&l->down, set),
                                  .x = l->x,
                                  .h = pool_at(&l->h, set),
                                  .y = pool_at(&l->y, set),
                                  .partial = l->partial,
                                  .barrier = l->barrier,
                                  .model = (uint32_t)l->model,
                                  .hidden = (uint32_t)l->hidden,
                                  .scale = (float)(1 / sqrt(l->model)),
                                  .has_activation = 1};
}

/* One kernel that stays. Its shared memory: the intermediate's elements of a block's turns, or,
 * read back from the L2, all of them. */
static void launch_staying(struct probe_run *r, const void *self, size_t set)
{
    const struct two_gemv_form *form = self;
    const struct two_gemv_layer *l = form->l;
    struct two_gemv_args a = args_of(l, set);
    const size_t of_block = 4 * ((size_t)l->hidden / l->blocks + 16), all = 2 * (size_t)l->hidden;
    const struct gpu_shape shape = {.grid = {l->blocks, 1, 1},
                                    .block = TWO_THREADS,
                                    .shared = form->impl == SHARED ? of_block
                                              : form->impl == L2   ? all
                                                                   : 0,
                                    .cooperative = true};

    if (form->impl != L2)
        a.down = pool_at(&l->turned, set);
    gpu_launch_shape(r, l->stays[form->impl], &shape, &a);
}

static unsigned threads_of(uint32_t vectors)
{
    return gpu_even_threads(vectors, TWO_LOADS, TWO_THREADS);
}

static void launch_up(struct probe_run *r, const struct two_gemv_layer *l, size_t set,
                      bool activate)
{
    struct two_gemv_args a = args_of(l, set);
    a.has_activation = activate;
    gpu_launch(r, l->k_up, (a.hidden + TWO_ROWS - 1) / TWO_ROWS, threads_of(a.model / 8), 0, &a);
}

static void launch_down(struct probe_run *r, const struct two_gemv_layer *l, size_t set)
{
    const struct two_gemv_args a = args_of(l, set);
    gpu_launch(r, l->k_down, (a.model + TWO_ROWS - 1) / TWO_ROWS, threads_of(a.hidden / 8), 0, &a);
}

static void launch_kernels(struct probe_run *r, const void *self, size_t set)
{
    const struct two_gemv_form *form = self;
    const struct two_gemv_args a = args_of(form->l, set);

    launch_up(r, form->l, set, form->impl != UNFUSED);
    if (form->impl == UNFUSED)
        gpu_launch(r, form->l->k_activate, (a.hidden + TWO_THREADS - 1) / TWO_THREADS, TWO_THREADS,
                   0, &a);
    launch_down(r, form->l, set);
}

/* The same as programmatic dependents of each other. */
static void launch_dependent(struct probe_run *r, const void *self, size_t set)
{
    const struct two_gemv_layer *l = ((const struct two_gemv_form *)self)->l;
    const struct two_gemv_args a = args_of(l, set);
    struct gpu_shape shape = {.grid = {(a.hidden + TWO_ROWS - 1) / TWO_ROWS, 1, 1},
                              .block = threads_of(a.model / 8),
                              .dependent = true};
    gpu_launch_shape(r, l->k_up_dependent, &shape, &a);
    shape.grid.x = (a.model + TWO_ROWS - 1) / TWO_ROWS;
    shape.block = threads_of(a.hidden / 8);
    gpu_launch_shape(r, l->k_down_dependent, &shape, &a);
}

size_t two_gemv_second_set(const struct two_gemv_layer *l, size_t set)
{
    return (set + l->sets / 2) % l->sets;
}

static void launch_dram(struct probe_run *r, const void *self, size_t set)
{
    const struct two_gemv_form *form = self;
    launch_up(r, form->l, set, true);
    launch_down(r, form->l, two_gemv_second_set(form->l, set));
}

void two_gemv_launch(struct probe_run *r, const void *self, size_t set)
{
    static void (*const launches[])(struct probe_run *, const void *, size_t) = {
        [REGISTERS] = launch_staying, [SHARED] = launch_staying,      [L2] = launch_staying,
        [KERNELS] = launch_kernels,   [DEPENDENT] = launch_dependent, [UNFUSED] = launch_kernels,
        [DRAM] = launch_dram};
    launches[((const struct two_gemv_form *)self)->impl](r, self, set);
}

bool two_gemv_is_here(const struct two_gemv_form *form)
{
    return form->impl != DEPENDENT || form->l->k_up_dependent;
}

void two_gemv_poison(struct probe_run *r, const void *self)
{
    const struct two_gemv_form *form = self;
    pool_poison(r, &form->l->y);
    pool_poison(r, &form->l->h);
    gpu_poison(r, form->l->partial, form->l->partial_bytes);
    for (size_t set = 0; form->impl == DRAM && set < form->l->sets; set++)
        launch_up(r, form->l, set, true); /* what its second products read at first */
}
