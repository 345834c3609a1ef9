#include "fused/decoder_layer/way.h"

#include <stdio.h>

PROBE_IMAGE(decoder_layer);
PROBE_IMAGE(decoder_layer_kernels);

enum { PRODUCER_THREADS = 32, BUDGET_NS = 200000000, IN_FLIGHT = 4 };
static const float EPSILON = 1e-5f;

/* --- the packagings --------------------------------------------------------------------------- */

static const uint8_t split_layer[] = {K_NORM_ATTENTION, K_MULTIPLY_QKV,  K_ROTATE,      K_APPEND,
                                      K_ATTENTION,      K_MERGE,         K_MULTIPLY_O,  K_ADD,
                                      K_NORM_FFN,       K_MULTIPLY_GATE, K_MULTIPLY_UP, K_ACTIVATE,
                                      K_MULTIPLY_DOWN,  K_ADD,           K_END};
static const uint8_t split_head[] = {K_NORM_HEAD, K_MULTIPLY_HEAD, K_CHOOSE, K_END};
static const uint8_t fused_layer[] = {K_QKV, K_ATTENTION, K_MERGE, K_O, K_GATE_UP, K_DOWN, K_END};
static const uint8_t fused_head[] = {K_HEAD, K_CHOOSE, K_END};
static const uint8_t library_layer[] = {
    K_NORM_ATTENTION, K_LIBRARY + DECODER_QKV,  K_ROTATE_APPEND, K_ATTENTION,
    K_MERGE,          K_LIBRARY + DECODER_O,    K_ADD_NORM,      K_LIBRARY + DECODER_GATE_UP,
    K_ACTIVATE,       K_LIBRARY + DECODER_DOWN, K_ADD,           K_END};

const struct decoder_way decoder_ways[DECODER_WAYS] = {
    [WAY_STREAM] = {.what = "a kernel for each operator, launched one by one",
                    .kernels = 14,
                    .layer = split_layer,
                    .head = split_head,
                    .bits = BITS_SPLIT,
                    .rounds = ROUNDS_AFTER,
                    .min_cc = 80},
    [WAY_GRAPH] = {.what = "the same kernels, in a graph",
                   .kernels = 14,
                   .layer = split_layer,
                   .head = split_head,
                   .bits = BITS_SPLIT,
                   .rounds = ROUNDS_AFTER,
                   .in_graph = true,
                   .min_cc = 80},
    [WAY_FUSED] = {.what = "a kernel for each step, in a graph",
                   .kernels = 6,
                   .layer = fused_layer,
                   .head = fused_head,
                   .bits = BITS_FUSED,
                   .rounds = ROUNDS_BEFORE,
                   .in_graph = true,
                   .min_cc = 80},
    [WAY_DEPENDENT] = {.what = "the same, as programmatic dependents that ask for weights early",
                       .kernels = 6,
                       .layer = fused_layer,
                       .head = fused_head,
                       .bits = BITS_FUSED,
                       .rounds = ROUNDS_BEFORE,
                       .in_graph = true,
                       .is_dependent = true,
                       .min_cc = 90},
    [WAY_BARRIER] = {.what = "one kernel, a barrier of the grid at each edge",
                     .kernels = 1,
                     .bits = BITS_FUSED,
                     .rounds = ROUNDS_BEFORE,
                     .min_cc = 80},
    [WAY_RING] = {.what = "one kernel, weights through a ring in shared memory",
                  .kernels = 1,
                  .bits = BITS_FUSED,
                  .rounds = ROUNDS_BEFORE,
                  .has_ring = true,
                  .min_cc = 90},
    [WAY_VALUES] = {.what = "the ring, and values with their epochs in place of barriers",
                    .kernels = 1,
                    .bits = BITS_FUSED,
                    .rounds = ROUNDS_BEFORE,
                    .mail = MAIL_EPOCHS,
                    .has_ring = true,
                    .min_cc = 90},
    [WAY_NEAR] = {.what = "the same, with weights in the memory behind each SM's half of the L2",
                  .kernels = 1,
                  .bits = BITS_FUSED,
                  .rounds = ROUNDS_BEFORE,
                  .mail = MAIL_EPOCHS,
                  .has_ring = true,
                  .is_near = true,
                  .min_cc = 90},
    [WAY_CUBLAS] = {.what = "products by cuBLASLt, a kernel for each operator between, in a graph",
                    .kernels = 11,
                    .layer = library_layer,
                    .head = split_head,
                    .bits = BITS_LIBRARY,
                    .rounds = ROUNDS_AFTER,
                    .in_graph = true,
                    .min_cc = 80},
};

const char *way_name(const struct decoder_way *way)
{
    static const char *const names[DECODER_WAYS] = {PACKAGING_NAMES};
    return names[way - decoder_ways];
}

/* --- the kernels ------------------------------------------------------------------------------ */

enum grid { GRID_PRODUCT, GRID_ATTENTION, GRID_SEQUENCES, GRID_ELEMENTS, GRID_ONE };

static const struct {
    const char *name;
    enum grid grid;
} kernels[DECODER_KERNELS] = {
    [K_EMBED] = {"embed", GRID_SEQUENCES},
    [K_NORM_ATTENTION] = {"norm_attention", GRID_SEQUENCES},
    [K_NORM_FFN] = {"norm_ffn", GRID_SEQUENCES},
    [K_NORM_HEAD] = {"norm_head", GRID_SEQUENCES},
    [K_ADD_NORM] = {"add_norm", GRID_SEQUENCES},
    [K_ROTATE] = {"rotate", GRID_ELEMENTS},
    [K_APPEND] = {"append", GRID_ELEMENTS},
    [K_ROTATE_APPEND] = {"rotate_append", GRID_ELEMENTS},
    [K_ADD] = {"add", GRID_ELEMENTS},
    [K_ACTIVATE] = {"activate", GRID_ELEMENTS},
    [K_ATTENTION] = {"attention", GRID_ATTENTION},
    [K_MERGE] = {"merge", GRID_ELEMENTS},
    [K_CHOOSE] = {"choose", GRID_ONE},
    [K_QKV] = {"qkv", GRID_PRODUCT},
    [K_O] = {"o", GRID_PRODUCT},
    [K_GATE_UP] = {"gate_up", GRID_PRODUCT},
    [K_DOWN] = {"down", GRID_PRODUCT},
    [K_HEAD] = {"head", GRID_PRODUCT},
    [K_MULTIPLY_QKV] = {"multiply_qkv", GRID_PRODUCT},
    [K_MULTIPLY_O] = {"multiply_o", GRID_PRODUCT},
    [K_MULTIPLY_GATE] = {"multiply_gate", GRID_PRODUCT},
    [K_MULTIPLY_UP] = {"multiply_up", GRID_PRODUCT},
    [K_MULTIPLY_DOWN] = {"multiply_down", GRID_PRODUCT},
    [K_MULTIPLY_HEAD] = {"multiply_head", GRID_PRODUCT},
};

/* Of a kernel that comes and goes. */
static uint32_t shared_of(const struct decoder_problem *p, enum decoder_kernel which)
{
    const bool is_product = kernels[which].grid == GRID_PRODUCT;
    const bool has_vector = kernels[which].grid == GRID_ATTENTION || which == K_CHOOSE;
    return is_product   ? decoder_shared_bytes(p, p->product_stages, false)
           : has_vector ? decoder_shared_bytes(p, 0, false)
                        : 0;
}

static cudaKernel_t step_kernel(struct probe_run *r, const struct decoder_problem *p,
                                enum decoder_kernel which, bool is_dependent)
{
    char name[64], suffix[16] = "";
    if (kernels[which].grid == GRID_PRODUCT)
        snprintf(suffix, sizeof suffix, "_b%u", p->batch);
    if (kernels[which].grid == GRID_ATTENTION)
        snprintf(suffix, sizeof suffix, "_%u_%u", p->head_dim, p->group);
    snprintf(name, sizeof name, "decoder_%s%s%s", kernels[which].name, suffix,
             is_dependent ? "_dependent" : "");
    const cudaKernel_t kernel =
        gpu_kernel_if_any(r, &image_decoder_layer_kernels, name, sizeof(struct decoder_args));
    if (kernel)
        gpu_kernel_shared(kernel, shared_of(p, which), -1);
    return kernel;
}

static cudaKernel_t staying_kernel(struct probe_run *r, const struct decoder_problem *p,
                                   const struct decoder_way *way, bool is_watched)
{
    char name[64], batch[16] = "";
    if (p->batch > 1)
        snprintf(batch, sizeof batch, "_b%u", p->batch);
    if (gpu_facts(r)->cc < way->min_cc || (way->has_ring && p->stages == 0))
        return NULL;
    snprintf(name, sizeof name, "decoder_%s_%u_%u%s%s", way_name(way), p->head_dim, p->group, batch,
             is_watched ? "_watched" : "");
    const cudaKernel_t kernel =
        gpu_kernel_if_any(r, &image_decoder_layer, name, sizeof(struct decoder_args));
    if (kernel)
        gpu_kernel_shared(kernel, decoder_shared_bytes(p, way->has_ring ? p->stages : 0, true), -1);
    return kernel;
}

static bool has_dependent(enum decoder_kernel which)
{
    return which >= K_ATTENTION && which <= K_HEAD;
}

struct decoder_kernels decoder_kernels_of(struct probe_run *r, const struct decoder_problem *p)
{
    struct decoder_kernels k = {{0}, {0}, {0}, {0}};
    for (enum decoder_kernel i = 0; i < DECODER_KERNELS; i++) {
        k.plain[i] = step_kernel(r, p, i, false);
        if (has_dependent(i) && gpu_facts(r)->cc >= decoder_ways[WAY_DEPENDENT].min_cc)
            k.dependent[i] = step_kernel(r, p, i, true);
    }
    for (int w = 0; w < DECODER_WAYS; w++)
        if (!decoder_ways[w].layer) {
            k.stays[w] = staying_kernel(r, p, &decoder_ways[w], false);
            if (p->batch == 1)
                k.watched[w] = staying_kernel(r, p, &decoder_ways[w], true);
        }
    return k;
}

const char *decoder_lacks(const struct probe_run *r, const struct decoder_packing *p)
{
    const struct decoder_way *way = p->way;
    if (gpu_facts(r)->cc < way->min_cc)
        return way->min_cc == 90 ? "needs compute capability 9.0" : "needs compute capability 8.0";
    if (way->bits == BITS_LIBRARY && !p->library)
        return "cuBLASLt is not to be had";
    if (way->has_ring && p->t->p.stages == 0)
        return "shared memory has no room for three stages of a ring beside the vectors";
    if (way->is_near && p->t->near.why[0])
        return p->t->near.why;
    if (!way->layer && !p->k->stays[way - decoder_ways])
        return "no kernel was built for this head dimension, group and batch";
    for (int i = 0; way->layer && way->layer[i] != K_END; i++)
        if (way->layer[i] < DECODER_KERNELS && !p->k->plain[way->layer[i]])
            return "no kernel was built for this head dimension, group and batch";
    return NULL;
}

bool decoder_can_watch(const struct decoder_packing *p)
{
    return p->k->watched[p->way - decoder_ways] != NULL;
}

/* --- launches --------------------------------------------------------------------------------- */

static struct decoder_args args_of(const struct probe_run *r, const struct decoder_packing *p,
                                   const struct decoder_work *work)
{
    const struct decoder_tensors *t = p->t;
    const bool whole = work->steps > 0;
    return (struct decoder_args){
        .weights = t->weights,
        .cache = t->cache,
        .rope = t->rope,
        .input = whole ? NULL : t->input,
        .output = t->output,
        .embedding = whole ? t->embedding : NULL,
        .head = whole ? t->head : NULL,
        .head_norm = whole ? t->head_norm : NULL,
        .logits = whole ? t->logits : NULL,
        .tokens = t->tokens,
        .mail = t->mail[p->way->mail],
        .barrier = t->barrier,
        .stamps = work->is_watched && work->layers <= t->generations ? t->stamps : NULL,
        .shape = t->p.model.shape,
        .layers = work->layers,
        .sets = t->p.sets,
        .steps = whole ? work->steps : 1,
        .context = t->p.context,
        .capacity = t->p.capacity,
        .splits = t->p.splits,
        .generations = work->keeps_mail ? t->generations : 2,
        .stages = p->way->has_ring ? t->p.stages : p->way->layer ? t->p.product_stages : 0,
        .in_flight = IN_FLIGHT,
        .batch = t->p.batch,
        .budget_ns = BUDGET_NS,
        .skew_ns = work->skew_ns,
        .epsilon = EPSILON,
        .blocks = p->way->layer ? decoder_product_blocks(r) : t->p.blocks,
        .near = t->near.args};
}

static unsigned blocks_for(const struct probe_run *r, const struct decoder_problem *p,
                           enum decoder_kernel which)
{
    const struct decoder_shape *s = &p->model.shape;
    const uint32_t most = decoder_product_blocks(r);
    uint32_t blocks = most;
    if (kernels[which].grid == GRID_ATTENTION)
        return p->batch * s->kv_heads * p->splits;
    if (kernels[which].grid == GRID_SEQUENCES)
        return p->batch;
    if (kernels[which].grid == GRID_ONE)
        return 1;
    if (which == K_MERGE) /* a warp for each word */
        blocks = (p->batch * s->heads * s->head_dim / 2 + DECODER_WARPS - 1) / DECODER_WARPS;
    else if (kernels[which].grid == GRID_ELEMENTS) {
        const uint32_t elements = which == K_ADD        ? s->hidden
                                  : which == K_ACTIVATE ? s->ffn / 2
                                                        : decoder_units(s, DECODER_QKV);
        blocks = (p->batch * elements + DECODER_THREADS - 1) / DECODER_THREADS;
    }
    return blocks < most ? blocks : most;
}

static void launch_kernel(struct probe_run *r, const struct decoder_packing *p,
                          enum decoder_kernel which, const struct decoder_args *a)
{
    const cudaKernel_t dependent = p->way->is_dependent ? p->k->dependent[which] : NULL;
    const bool has_producer = kernels[which].grid == GRID_PRODUCT && a->stages > 0;
    const struct gpu_shape shape = {.grid = {blocks_for(r, &p->t->p, which), 1, 1},
                                    .block = DECODER_THREADS +
                                             (has_producer ? PRODUCER_THREADS : 0),
                                    .shared = shared_of(&p->t->p, which),
                                    .dependent = dependent != NULL};
    gpu_launch_shape(r, dependent ? dependent : p->k->plain[which], &shape, a);
}

static void launch_all(struct probe_run *r, const struct decoder_packing *p, const uint8_t *list,
                       const struct decoder_args *a)
{
    for (; *list != K_END; list++)
        if (*list >= K_LIBRARY)
            decoder_library_multiply(r, p->library, p->t, (enum decoder_matrix)(*list - K_LIBRARY),
                                     a->layer % a->sets);
        else if (*list != K_MERGE || a->splits > 1)
            launch_kernel(r, p, (enum decoder_kernel) * list, a);
}

static void launch_steps(struct probe_run *r, const struct decoder_packing *p,
                         const struct decoder_work *work)
{
    struct decoder_args a = args_of(r, p, work);
    a.steps = 0;
    launch_kernel(r, p, K_EMBED, &a);
    do {
        for (a.layer = 0; a.layer < work->layers; a.layer++)
            launch_all(r, p, p->way->layer, &a);
        if (work->steps > 0)
            launch_all(r, p, p->way->head, &a);
    } while (++a.steps < work->steps);
}

static void launch_staying(struct probe_run *r, const struct decoder_packing *p,
                           const struct decoder_work *work)
{
    const int way = (int)(p->way - decoder_ways);
    const struct decoder_problem *problem = &p->t->p;
    struct decoder_args a = args_of(r, p, work);
    const struct gpu_shape shape = {.grid = {problem->blocks, 1, 1},
                                    .block =
                                        DECODER_THREADS + (p->way->has_ring ? PRODUCER_THREADS : 0),
                                    .shared = decoder_shared_bytes(problem, a.stages, true),
                                    .cooperative = true};
    a.epoch = p->t->epoch;
    p->t->epoch += a.steps * a.layers;
    gpu_launch_shape(r, work->is_watched ? p->k->watched[way] : p->k->stays[way], &shape, &a);
}

void decoder_launch(struct probe_run *r, const struct decoder_packing *p,
                    const struct decoder_work *work)
{
    if (p->way->layer)
        launch_steps(r, p, work);
    else
        launch_staying(r, p, work);
}

struct decoder_left decoder_left_by(const struct probe_run *r, const struct decoder_packing *p,
                                    uint32_t layer)
{
    const struct decoder_problem *problem = &p->t->p;
    const uint32_t blocks = p->way->layer ? decoder_product_blocks(r) : problem->blocks;
    struct decoder_left left = {.stride = p->way->mail == MAIL_EPOCHS ? 2 : 1};
    left.at = decoder_mail_of(&problem->model.shape, problem->batch, problem->splits, blocks);
    left.words = p->t->mail[p->way->mail];
    if (!p->way->layer)
        left.words += (uint64_t)(layer % p->t->generations) * left.at.words * left.stride;
    return left;
}

size_t decoder_count_kernels(struct probe_run *r, const struct decoder_packing *p,
                             const struct decoder_work *work)
{
    gpu_graph_begin(r);
    decoder_launch(r, p, work);
    struct gpu_graph graph = gpu_graph_end(r);
    const size_t n = gpu_graph_first_kernel(r, &graph).n_kernels;
    gpu_graph_free(&graph);
    return n;
}
