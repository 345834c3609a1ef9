/* two_gemv: what does it save to keep what two products at batch 1 hand over on the chip?
 *
 * Method. y = W2 silu(W1 x / sqrt(model)), as in a layer's feed-forward part; W1 is hidden x model,
 * W2 model x hidden, all of bf16 from N(0,1), sums in fp32, the intermediate of `hidden` elements
 * rounded to bf16 in every variant. Where it goes between the products:
 *     impl=fused      in registers: one kernel that stays. A block makes four elements, multiplies
 *                     each into its row of the transposed W2, and has sums of all of y, which are
 *                     added up over the blocks, in a fixed order, behind one barrier of the grid
 *     impl=shared     in shared memory: the same, but a block makes all its elements first
 *     impl=l2         in the L2, within one kernel: a barrier of the grid between the products
 *     impl=kernels    in the L2, between two kernels, the activation in the first
 *     impl=kernels_pdl  likewise, as programmatic dependents, which fetch their first weights
 *                     before they wait (compute capability 9.0)
 *     impl=unfused    as kernels, the activation a kernel of its own
 *     impl=dram       as kernels, but W2's turn comes when half of all sets of weights have gone
 *                     through the L2 since the intermediate was written: so many that it is
 *                     presumed to have left it, which no counter was asked
 *
 * Inside the timed region: the operations, between two events.
 * `bytes` are loads and stores by count, those of the blocks' sums among them (fused, shared), which
 * are written and read in one kernel and never leave the L2. The copy of share_of_copy is one of the
 * bytes without them.
 * Expected on an H200, model 4096 and hidden 14336: 235 MB of weights in 51 us at the rate of a
 * read, and 54.6 us by two kernels, each as fast as matmul/gemv's. One kernel saves an edge, 1.1
 * us, and pays for a cooperative launch (0.35), for a barrier (0.8), and, with the intermediate on
 * the chip, for storing and adding up the blocks' sums: 55.4 us. Against three kernels that is a
 * gain, 55.8, against two a loss. The intermediate is 28 KB. Written and read in memory it is
 * 0.02 % of the bytes, 13 ns: no time can tell where it was, and that is the answer to the claim
 * that its place matters at batch 1.
 *
 * Kernels that stay wait for each other, and are launched cooperatively; their barrier has a
 * budget, and that it was never used up is checked. */
#include "fused/two_gemv/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"

PROBE_IMAGE(two_gemv);

enum { WEIGHTS = N_OPERATION_METRICS };
#define KEYS OPERATION_KEYS("model,hidden,batch")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [WEIGHTS] = {"intermediate", "bytes", PROBE_EXACT, PROBE_EACH, NULL, KEYS,
                 "bytes of the intermediate, once; a place off the chip writes and reads it"},
};

enum place { REGISTERS, SHARED, L2, KERNELS, DEPENDENT, UNFUSED, DRAM, N_PLACES };
static const char *const names[] = {"fused",       "shared",  "l2",  "kernels",
                                    "kernels_pdl", "unfused", "dram"};
enum { N_SIZES = 3, SETS = 4 };
static const int sizes[N_SIZES] = {2048, 4096, 8192};

/* The layer, its operands in `sets` sets, and the kernels. */
struct layer {
    int model, hidden;
    size_t sets;
    struct pool up, down, turned, h, y; /* turned: W2 transposed */
    void *x;
    double *reference; /* the intermediate in fp64 */
    void *partial;     /* sums of the blocks, in fp32 */
    size_t partial_bytes;
    struct grid_barrier_state *barrier;
    unsigned blocks; /* of a kernel that stays */
    cudaKernel_t stays[3], k_up, k_activate, k_down, k_reference, k_verify;
    cudaKernel_t k_up_dependent, k_down_dependent; /* NULL before compute capability 9.0 */
};

struct work {
    const struct layer *l;
    enum place place;
};

static void load_kernels(struct probe_run *r, struct layer *l)
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

static void turn(struct probe_run *r, struct layer *l)
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

static struct layer layer_of(struct probe_run *r, int model, int hidden, uint64_t seed)
{
    const size_t elements = (size_t)model * (size_t)hidden;
    struct layer l = {.model = model, .hidden = hidden};

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

static void layer_free(struct probe_run *r, struct layer *l)
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

static struct two_gemv_args args_of(const struct layer *l, size_t set)
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
    const struct work *w = self;
    const struct layer *l = w->l;
    struct two_gemv_args a = args_of(l, set);
    const size_t of_block = 4 * ((size_t)l->hidden / l->blocks + 16), all = 2 * (size_t)l->hidden;
    const struct gpu_shape shape = {.grid = {l->blocks, 1, 1},
                                    .block = TWO_THREADS,
                                    .shared = w->place == SHARED ? of_block
                                              : w->place == L2   ? all
                                                                 : 0,
                                    .cooperative = true};

    if (w->place != L2)
        a.down = pool_at(&l->turned, set);
    gpu_launch_shape(r, l->stays[w->place], &shape, &a);
}

/* A block so large that each thread has the same to do in every turn, in as few turns as can be. */
static unsigned threads_of(uint32_t vectors)
{
    for (uint32_t turns = 1;; turns++) {
        uint32_t each = TWO_LOADS * turns, threads = ((vectors + each - 1) / each + 31) / 32 * 32;
        if (threads <= TWO_THREADS)
            return threads;
    }
}

static void launch_up(struct probe_run *r, const struct layer *l, size_t set, bool activate)
{
    struct two_gemv_args a = args_of(l, set);
    a.has_activation = activate;
    gpu_launch(r, l->k_up, (a.hidden + TWO_ROWS - 1) / TWO_ROWS, threads_of(a.model / 8), 0, &a);
}

static void launch_down(struct probe_run *r, const struct layer *l, size_t set)
{
    const struct two_gemv_args a = args_of(l, set);
    gpu_launch(r, l->k_down, (a.model + TWO_ROWS - 1) / TWO_ROWS, threads_of(a.hidden / 8), 0, &a);
}

static void launch_kernels(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct two_gemv_args a = args_of(w->l, set);

    launch_up(r, w->l, set, w->place != UNFUSED);
    if (w->place == UNFUSED)
        gpu_launch(r, w->l->k_activate, (a.hidden + TWO_THREADS - 1) / TWO_THREADS, TWO_THREADS, 0,
                   &a);
    launch_down(r, w->l, set);
}

/* The same as programmatic dependents of each other. */
static void launch_dependent(struct probe_run *r, const void *self, size_t set)
{
    const struct layer *l = ((const struct work *)self)->l;
    const struct two_gemv_args a = args_of(l, set);
    struct gpu_shape shape = {.grid = {(a.hidden + TWO_ROWS - 1) / TWO_ROWS, 1, 1},
                              .block = threads_of(a.model / 8),
                              .dependent = true};
    gpu_launch_shape(r, l->k_up_dependent, &shape, &a);
    shape.grid.x = (a.model + TWO_ROWS - 1) / TWO_ROWS;
    shape.block = threads_of(a.hidden / 8);
    gpu_launch_shape(r, l->k_down_dependent, &shape, &a);
}

/* The first product of a set, the second of that which had its first half of all sets ago. */
static size_t set_before(const struct layer *l, size_t set)
{
    return (set + l->sets / 2) % l->sets;
}

static void launch_dram(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    launch_up(r, w->l, set, true);
    launch_down(r, w->l, set_before(w->l, set));
}

static bool is_here(const struct work *w)
{
    return w->place != DEPENDENT || w->l->k_up_dependent;
}

static void poison(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    pool_poison(r, &w->l->y);
    pool_poison(r, &w->l->h);
    gpu_poison(r, w->l->partial, w->l->partial_bytes);
    for (size_t set = 0; w->place == DRAM && set < w->l->sets; set++)
        launch_up(r, w->l, set, true); /* what its second products read at first */
}

#include "fused/two_gemv/check.h"

/* --- how long does it take? ------------------------------------------------------------------- */

static void describe(struct probe_run *r, const void *self)
{
    static const char *const places[] = {"registers",
                                         "shared memory",
                                         "L2, one kernel",
                                         "L2, two kernels",
                                         "L2, two dependent kernels",
                                         "L2, three kernels",
                                         "device memory, presumed"};
    const struct work *w = self;
    const double intermediate = 2.0 * w->l->hidden, weights = 4.0 * w->l->hidden * w->l->model;
    probe_value(r, WEIGHTS, intermediate);
    probe_fact(r, "place", "%s", places[w->place]);
    probe_fact(r, "share_of_bytes", "%.5f is what two passes over the intermediate would be",
               2 * intermediate / (weights + 2 * intermediate));
    if (w->place <= L2)
        gpu_kernel_facts(r, w->l->stays[w->place], TWO_THREADS, 0);
}

/* What the blocks have for each other, in the L2: sums of all of y. */
static double sums_of_blocks(const struct work *w)
{
    return w->place < L2 ? 4.0 * w->l->model * w->l->blocks : 0;
}

static struct operation operation_of(const struct work *w)
{
    static void (*const launches[])(struct probe_run *, const void *, size_t) = {
        launch_staying,   launch_staying, launch_staying, launch_kernels,
        launch_dependent, launch_kernels, launch_dram};
    static const unsigned kernels[] = {1, 1, 1, 2, 2, 3, 2}, passes[] = {0, 0, 2, 2, 2, 4, 2};
    const struct layer *l = w->l;
    const double weights = 4.0 * l->model * l->hidden, ends = 4.0 * l->model;
    const double partial = sums_of_blocks(w);

    return (struct operation){
        .name = names[w->place],
        .launch = launches[w->place],
        .poison = poison,
        .verify = verify,
        .describe = describe,
        .self = w,
        .sets = l->sets,
        .set_bytes = weights,
        .bytes = weights + ends + passes[w->place] * 2.0 * l->hidden + 2 * partial,
        .memory = weights + ends + (passes[w->place] ? 2.0 * l->hidden : 0) + partial,
        .kernels = kernels[w->place]};
}

static void measure_layer(struct probe_run *r, int model, int hidden, unsigned flags)
{
    struct layer l = layer_of(r, model, hidden, probe_seed(r));
    const struct condition cold = {.cold = true}, stream = {.cold = true, .stream = true};
    char keys[96];

    snprintf(keys, sizeof keys, "model=%d,hidden=%d,batch=1,type=bf16", model, hidden);
    for (enum place place = 0; place < N_PLACES; place++) {
        const struct work w = {&l, place};
        const struct operation o = operation_of(&w);
        if (!is_here(&w))
            continue;
        const double moved = o.bytes - 2 * sums_of_blocks(&w);
        const double copy_ns = place == REGISTERS ? copy_measure(r, keys, moved, cold, flags) : NAN;
        operation_measure(r, keys, &o, cold, flags, copy_ns);
        if (place == REGISTERS || place == UNFUSED)
            operation_measure(r, keys, &o, stream, PROBE_DEEP, NAN);
    }
    layer_free(r, &l);
}

static void measure(struct probe_run *r)
{
    if (probe_is_check_run(r)) {
        measure_layer(r, 1024, 528, 0);
        check_odd_shapes(r);
    } else {
        measure_layer(r, 4096, 14336, 0);
        measure_layer(r, 2048, 8192, 0);
        if (probe_deep(r))
            measure_layer(r, 8192, 28672, PROBE_DEEP);
    }
    measure_results(r);
}

const struct probe probe = {
    .name = "two_gemv",
    .what = "What does it save to keep on the chip what two products at batch 1 hand over?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
