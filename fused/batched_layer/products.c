#include "fused/batched_layer/products.h"

#include <math.h>

enum {
    WORKSPACE = 32 << 20, /* bytes, as frameworks give it */
    CHOICES = 8,          /* of the heuristic's answers, best guess first, are measured */
    TOGETHER = 6,         /* products in a graph that is timed */
    REPLAYS = 2,
};

/* --- the search ------------------------------------------------------------------------------- */

/* Launches choice i of a plan; false if cuBLASLt refuses it. `number`: of the products in a row. */
typedef bool launch_function(struct probe_run *r, const void *self, int choice, int number);

/* ns of a choice; infinite where cuBLASLt refuses what it offered. */
static double time_of(struct probe_run *r, launch_function *launch, const void *self, int choice,
                      int together)
{
    double best = INFINITY;
    if (!launch(r, self, choice, 0))
        return best;
    gpu_graph_begin(r);
    for (int i = 0; i < together; i++)
        launch(r, self, choice, i);
    struct gpu_graph graph = gpu_graph_end(r);
    for (int i = 0; i < REPLAYS; i++)
        best = fmin(best, gpu_replay_ns(r, &graph));
    gpu_graph_free(&graph);
    return best;
}

/* -1: none runs. Under --check another one in each run. */
static int choose(struct probe_run *r, const struct blas_plan *plan, launch_function *launch,
                  const void *self, int together)
{
    const int all = blas_plan_choices(plan), n = all < CHOICES ? all : CHOICES;
    const int first = probe_is_check_run(r) && n > 0 ? (int)(probe_seed(r) % (uint64_t)n) : 0;
    double best = INFINITY;
    int chosen = -1;

    for (int i = first; i < n && !(probe_is_check_run(r) && chosen >= 0); i++) {
        const double ns = time_of(r, launch, self, i, together);
        if (!(ns < best))
            continue;
        best = ns;
        chosen = i;
    }
    return chosen;
}

/* --- of a layer ------------------------------------------------------------------------------- */

static struct blas_gemm gemm_of(const struct probe_run *r, const struct batched_products *products,
                                const struct batched_tensors *t, enum batched_product which,
                                uint32_t set, const float *residual)
{
    const struct decoder_shape *s = &t->p.shape;
    const struct {
        enum decoder_matrix m;
        const void *x;
        enum batched_operator op;
        const float *added;
    } of[BATCHED_PRODUCTS] = {
        [PRODUCT_QKV] = {DECODER_QKV, t->x[0], OP_QKV, NULL},
        [PRODUCT_O] = {DECODER_O, t->attention, OP_O, NULL},
        [PRODUCT_GATE_UP] = {DECODER_GATE_UP, t->x[1], OP_GATE_UP, NULL},
        [PRODUCT_DOWN] = {DECODER_DOWN, t->h, OP_DOWN, NULL},
        [PRODUCT_O_ADDS] = {DECODER_O, t->attention, OP_O_ADDS, residual},
        [PRODUCT_DOWN_ADDS] = {DECODER_DOWN, t->h, OP_DOWN_ADDS, t->middle},
    };
    const enum decoder_matrix m = of[which].m;
    const struct batched_result c = batched_result_of(t, of[which].op);
    return (struct blas_gemm){.type = BLAS_BF16,
                              .accumulate = BLAS_IN_FP32,
                              .layout = "nt",
                              .m = (int)t->p.batch,
                              .n = (int)(decoder_units(s, m) * decoder_unit_rows(m)),
                              .k = (int)decoder_columns(s, m),
                              .a = of[which].x,
                              .b = batched_layer_at(t, set) + decoder_place(s, (int)m),
                              .c = c.memory,
                              .c_is_fp32 = c.is_fp32,
                              .workspace = products->workspace,
                              .workspace_bytes = WORKSPACE,
                              .stream = gpu_stream(r),
                              .epilogue = {.added = of[which].added}};
}

struct searched {
    const struct batched_products *products;
    const struct batched_tensors *t;
    enum batched_product which;
};

static bool launch_searched(struct probe_run *r, const void *self, int choice, int number)
{
    const struct searched *s = self;
    const uint32_t set = (uint32_t)number % s->t->p.weight_sets;
    const struct blas_gemm g = gemm_of(r, s->products, s->t, s->which, set, s->t->input);
    return blas_plan_gemm(s->products->plan[s->which], choice, &g);
}

bool batched_products_open(struct probe_run *r, struct batched_products *products,
                           const struct blas *blas, const struct batched_tensors *t)
{
    bool found = true;
    *products = (struct batched_products){.workspace = NULL};
    products->workspace = gpu_alloc(r, WORKSPACE, "cuBLASLt's workspace");
    for (enum batched_product i = 0; i < BATCHED_PRODUCTS && found; i++) {
        const struct blas_gemm g = gemm_of(r, products, t, i, 0, t->input);
        const struct searched self = {products, t, i};
        products->plan[i] = blas_plan(r, blas, &g);
        products->choice[i] = choose(r, products->plan[i], launch_searched, &self, TOGETHER);
        found = products->choice[i] >= 0;
    }
    if (!found)
        batched_products_close(r, products);
    return found;
}

void batched_products_close(struct probe_run *r, struct batched_products *products)
{
    for (int i = 0; i < BATCHED_PRODUCTS; i++)
        blas_plan_free(products->plan[i]);
    if (products->workspace)
        gpu_release(r, products->workspace);
    *products = (struct batched_products){.workspace = NULL};
}

void batched_multiply(struct probe_run *r, const struct batched_products *products,
                      const struct batched_tensors *t, enum batched_product which, uint32_t set,
                      const float *residual)
{
    const struct blas_gemm g = gemm_of(r, products, t, which, set, residual);
    if (!blas_plan_gemm(products->plan[which], products->choice[which], &g))
        probe_fail(r, "cuBLASLt refuses what it did before");
}

/* --- a large one ------------------------------------------------------------------------------ */

static bool launch_large(struct probe_run *r, const void *self, int choice, int number)
{
    const struct batched_large *large = self;
    (void)r, (void)number;
    return blas_plan_gemm(large->plan, choice, &large->gemm);
}

bool batched_large_open(struct probe_run *r, struct batched_large *large, const struct blas *blas,
                        const struct batched_weights *w, uint32_t tokens, uint64_t seed)
{
    const struct decoder_shape *s = &w->shape;
    const size_t columns = s->hidden, rows = 2 * (size_t)s->ffn;
    void *x = gpu_alloc(r, 2 * tokens * columns, "a prompt");
    gpu_fill_normal(r, x, GPU_BF16, tokens * columns, seed);
    *large = (struct batched_large){
        .flops = 2.0 * tokens * (double)columns * (double)rows,
        .gemm = {.type = BLAS_BF16,
                 .accumulate = BLAS_IN_FP32,
                 .layout = "nt",
                 .m = (int)tokens,
                 .n = (int)rows,
                 .k = (int)columns,
                 .a = x,
                 .b = w->memory + decoder_place(s, DECODER_GATE_UP),
                 .c = gpu_alloc(r, 2 * tokens * rows, "a large product"),
                 .workspace = gpu_alloc(r, WORKSPACE, "cuBLASLt's workspace"),
                 .workspace_bytes = WORKSPACE,
                 .stream = gpu_stream(r)}};
    large->plan = blas_plan(r, blas, &large->gemm);
    large->choice = choose(r, large->plan, launch_large, large, 1);
    if (large->choice >= 0)
        return true;
    batched_large_close(r, large);
    return false;
}

void batched_large_launch(struct probe_run *r, const struct batched_large *large)
{
    if (!launch_large(r, large, large->choice, 0))
        probe_fail(r, "cuBLASLt refuses what it did before");
}

void batched_large_close(struct probe_run *r, struct batched_large *large)
{
    blas_plan_free(large->plan);
    gpu_release(r, (void *)(uintptr_t)large->gemm.a);
    gpu_release(r, large->gemm.c);
    gpu_release(r, large->gemm.workspace);
    *large = (struct batched_large){.plan = NULL};
}
