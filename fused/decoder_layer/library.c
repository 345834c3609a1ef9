#include "fused/decoder_layer/library.h"

#include <math.h>

enum {
    WORKSPACE = 32 << 20, /* bytes, as frameworks give it */
    CHOICES = 8,          /* of the heuristic's answers, best guess first, are measured */
    TOGETHER = 8,         /* products in a graph that is timed */
    REPLAYS = 3,
};

static struct blas_gemm gemm_of(const struct probe_run *r, const struct decoder_library *library,
                                const struct decoder_tensors *t, enum decoder_matrix m,
                                uint32_t set)
{
    const struct decoder_shape *s = &t->p.model.shape;
    const struct decoder_mail mail =
        decoder_mail_of(s, t->p.batch, t->p.splits, decoder_product_blocks(r));
    const uint32_t x = m == DECODER_O ? mail.attention : m == DECODER_DOWN ? mail.h : mail.x;
    uint32_t *words = t->mail[MAIL_WORDS];
    return (struct blas_gemm){.type = BLAS_BF16,
                              .accumulate = BLAS_IN_FP32,
                              .layout = "nt",
                              .m = (int)t->p.batch,
                              .n = (int)(decoder_units(s, m) * decoder_unit_rows(m)),
                              .k = (int)decoder_columns(s, m),
                              .a = words + x,
                              .b = t->weights + set * decoder_layer_bytes(s) +
                                   decoder_place(s, (int)m),
                              .c = words + mail.raw,
                              .c_is_fp32 = true,
                              .workspace = library->workspace,
                              .workspace_bytes = WORKSPACE,
                              .stream = gpu_stream(r)};
}

/* ns of a product that rotates over all sets; infinite where cuBLASLt refuses what it offered. */
static double time_of(struct probe_run *r, const struct decoder_library *library,
                      const struct decoder_tensors *t, enum decoder_matrix m, int choice)
{
    double best = INFINITY;
    struct blas_gemm g = gemm_of(r, library, t, m, 0);
    if (!blas_plan_gemm(library->plan[m], choice, &g))
        return best;
    gpu_graph_begin(r);
    for (uint32_t i = 0; i < TOGETHER; i++) {
        g = gemm_of(r, library, t, m, i % t->p.sets);
        blas_plan_gemm(library->plan[m], choice, &g);
    }
    struct gpu_graph graph = gpu_graph_end(r);
    for (int i = 0; i < REPLAYS; i++)
        best = fmin(best, gpu_replay_ns(r, &graph));
    gpu_graph_free(&graph);
    return best;
}

/* Under --check another one in each run. */
static bool choose(struct probe_run *r, struct decoder_library *library,
                   const struct decoder_tensors *t, enum decoder_matrix m)
{
    const struct blas_gemm g = gemm_of(r, library, t, m, 0);
    library->plan[m] = blas_plan(r, library->blas, &g);
    const int all = blas_plan_choices(library->plan[m]), n = all < CHOICES ? all : CHOICES;
    const int first = probe_is_check_run(r) && n > 0 ? (int)(probe_seed(r) % (uint64_t)n) : 0;
    double best = INFINITY;

    for (int i = first; i < n && !(probe_is_check_run(r) && isfinite(best)); i++) {
        const double ns = time_of(r, library, t, m, i);
        if (!(ns < best))
            continue;
        best = ns;
        library->choice[m] = i;
    }
    return isfinite(best);
}

bool decoder_library_open(struct probe_run *r, struct decoder_library *library,
                          const struct blas *blas, const struct decoder_tensors *t)
{
    bool found = true;
    *library = (struct decoder_library){.blas = blas};
    if (!blas)
        return false;
    library->workspace = gpu_alloc(r, WORKSPACE, "cuBLASLt's workspace");
    for (int m = 0; m < DECODER_MATRICES && found; m++)
        found = choose(r, library, t, (enum decoder_matrix)m);
    if (!found)
        decoder_library_close(r, library);
    return found;
}

void decoder_library_close(struct probe_run *r, struct decoder_library *library)
{
    for (int m = 0; m < DECODER_MATRICES; m++)
        blas_plan_free(library->plan[m]);
    if (library->workspace)
        gpu_release(r, library->workspace);
    *library = (struct decoder_library){0};
}

void decoder_library_multiply(struct probe_run *r, const struct decoder_library *library,
                              const struct decoder_tensors *t, enum decoder_matrix m, uint32_t set)
{
    const struct blas_gemm g = gemm_of(r, library, t, m, set);
    if (!blas_plan_gemm(library->plan[m], library->choice[m], &g))
        probe_fail(r, "cuBLASLt refuses what it did before");
}
