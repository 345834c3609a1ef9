#include "fused/attention_decode/gemv.h"

PROBE_IMAGE(attention_decode);

enum { GEMV_ROWS = 16384, GEMV_COLUMNS = 2048 };

struct gemv {
    struct pool a;
    void *x;
    float *y;
    cudaKernel_t kernel, verify;
    bool by_columns;
    int rows;
};

static struct decode_gemv_args gemv_of(const struct gemv *g, size_t set)
{
    return (struct decode_gemv_args){.a = pool_at(&g->a, set),
                                     .x = g->x,
                                     .y = g->y,
                                     .rows = (uint32_t)g->rows,
                                     .columns = GEMV_COLUMNS,
                                     .row_stride = g->by_columns ? 1 : GEMV_COLUMNS,
                                     .column_stride = g->by_columns ? (uint32_t)g->rows : 1};
}

static void launch_gemv(struct probe_run *r, const struct gemv *g, size_t set)
{
    const struct decode_gemv_args a = gemv_of(g, set);
    gpu_launch(r, g->kernel, (unsigned)(g->rows / DECODE_GEMV_ROWS), DECODE_GEMV_THREADS, 0, &a);
}

static void poison_gemv(struct probe_run *r, const struct gemv *g)
{
    gpu_poison(r, g->y, (size_t)g->rows * sizeof *g->y);
}

/* Verifies y against the matrix of that set. */
static void verify_gemv(struct probe_run *r, const struct gemv *g, size_t set, const char *when)
{
    struct decode_gemv_args a = gemv_of(g, set);
    a.verdict = verdict_clear(r);
    gpu_launch(r, g->verify, (unsigned)g->rows / 64, 64, 0, &a);
    const struct verdict v = verdict_fetch(r);
    verdict_check(r, &v, (uint64_t)g->rows, when);
}

/* Times one round and two rounds of all sets. y is left as the last set has it. */
static void time_gemv(struct probe_run *r, const struct gemv *g, int metric)
{
    struct gpu_graph graph[2];
    for (size_t i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (size_t j = 0; j < g->a.sets << i; j++)
            launch_gemv(r, g, j % g->a.sets);
        graph[i] = gpu_graph_end(r);
    }
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++)
            probe_sample(r, metric, (double)(g->a.sets << i), gpu_replay_ns(r, &graph[i]));
    gpu_graph_free(&graph[0]);
    gpu_graph_free(&graph[1]);
}

void decode_measure_gemv(struct probe_run *r, int metric)
{
    static const char *const names[] = {"along", "across"}, *const layouts[] = {"rows", "columns"};
    static const char *const kernels[] = {"attention_decode_gemv_along",
                                          "attention_decode_gemv_across"};
    const size_t args = sizeof(struct decode_gemv_args);
    const uint64_t seed = probe_seed(r);
    struct gemv g = {.rows = probe_is_check_run(r) ? 512 : GEMV_ROWS};
    const size_t count = (size_t)g.rows * GEMV_COLUMNS;

    g.a = pool_normal(r, GPU_BF16, count, operation_sets(r, 2 * (double)count), seed, "A");
    g.x = gpu_alloc(r, 2 * GEMV_COLUMNS, "x");
    g.y = gpu_alloc(r, (size_t)g.rows * sizeof *g.y, "y");
    gpu_fill_normal(r, g.x, GPU_BF16, GEMV_COLUMNS, seed + 1);
    g.verify = gpu_kernel(r, &image_attention_decode, "attention_decode_gemv_verify", args);
    for (int which = 0; which < 4; which++) {
        g.kernel = gpu_kernel(r, &image_attention_decode, kernels[which / 2], args);
        g.by_columns = which % 2;
        if (!probe_begin_case(r, PROBE_POWER_BOUND,
                              "rows=%d,columns=%d,type=bf16,layout=%s,impl=%s,l2=cold", g.rows,
                              GEMV_COLUMNS, layouts[which % 2], names[which / 2]))
            continue;
        poison_gemv(r, &g);
        launch_gemv(r, &g, 0);
        verify_gemv(r, &g, 0, "before timing");
        poison_gemv(r, &g);
        time_gemv(r, &g, metric);
        verify_gemv(r, &g, g.a.sets - 1, "after timing");
    }
    pool_free(r, &g.a);
    gpu_release(r, g.x);
    gpu_release(r, g.y);
}
