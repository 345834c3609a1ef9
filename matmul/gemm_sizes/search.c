#include "matmul/gemm_sizes/search.h"

#include <string.h>

const char *const sizes_impl_names[TAKES] = {
    [CUBLAS] = "cublas", [LT_FIRST] = "cublaslt", [LT_BEST] = "cublaslt", [OWN_BEST] = "own"};
const char *const sizes_tile_names[TAKES] = {
    [CUBLAS] = "auto", [LT_FIRST] = "first", [LT_BEST] = "best", [OWN_BEST] = "best"};

void sizes_subject_open(struct probe_run *r, struct subject *s)
{
    if (s->open)
        return;
    s->product = product_new(r, &s->shape, s->cold ? 0 : 1);
    s->sets = s->product.sets;
    s->open = true;
}

void sizes_subject_close(struct probe_run *r, struct subject *s)
{
    for (size_t i = 0; i < TAKES; i++)
        if (s->taken[i].found)
            way_close(r, &s->taken[i].way);
    if (s->open)
        product_free(r, &s->product);
    memset(s, 0, sizeof *s);
}

/* --- sampling -------------------------------------------------------------------------------- */

/* Counters would add up what all entrants do: they see the case's own alone. */
void sizes_sample_in_turn(struct probe_run *r, const struct ways *ways, struct entrant *e, size_t n)
{
    const size_t replayed = probe_is_counted(r) ? 1 : n;
    for (size_t k = 0; k < n; k++) {
        e[k].n = way_products(r, &e[k].subject->product, e[k].subject->sets, WAY_SAMPLED_US);
        for (size_t i = 0; i < 2; i++)
            e[k].graph[i] = way_graph(r, ways, &e[k].subject->product, e[k].way, e[k].n << i,
                                      e[k].subject->sets);
    }
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; k < replayed; k++)
                probe_sample(r, e[k].metric, (double)(e[k].n << i),
                             gpu_replay_ns(r, &e[k].graph[i]));
}

void sizes_replay_for_check(struct probe_run *r, const struct entrant *e)
{
    product_poison(r, &e->subject->product);
    CUDA(cudaGraphLaunch(e->graph[0].exec, gpu_stream(r)));
    gpu_wait(r);
}

void sizes_entrants_free(struct entrant *e, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < 2; i++)
            gpu_graph_free(&e[k].graph[i]);
}

/* --- the search ------------------------------------------------------------------------------ */

enum { LIST = 64 };
static const double LARGE = 0x1p36; /* multiply-adds: 4096^3 */
enum { LARGE_TILE = 128 * 128 };

struct way sizes_own_row(size_t row)
{
    if (row < N_MMA)
        return (struct way){.impl = WAY_MMA, .mma = &mma_gemm_tiles[row]};
    if (row < N_MMA + N_WGMMA)
        return (struct way){.impl = WAY_WGMMA, .wgmma = &wgmma_gemm_tiles[row - N_MMA]};
    return (struct way){.impl = WAY_STREAM, .wgmma = &wgmma_stream_tiles[row - N_MMA - N_WGMMA]};
}

/* All of our ways, portable ones first. From 4096^3 on small tiles are left out: they fetch their
 * operands so often that they, and with them the search, would take several times as long. */
static size_t list_own(struct probe_run *r, const struct ways *ways, const struct product *p,
                       struct way *list, size_t max)
{
    size_t kept = 0, n = way_list(r, ways, p, WAY_MMA, BLAS_IN_FP32, list, max);
    n += way_list(r, ways, p, WAY_WGMMA, BLAS_IN_FP32, list + n, max - n);
    n += way_list(r, ways, p, WAY_STREAM, BLAS_IN_FP32, list + n, max - n);
    for (size_t i = 0; i < n; i++) {
        uint32_t tile =
            list[i].mma ? list[i].mma->m * list[i].mma->n : list[i].wgmma->m * list[i].wgmma->n;
        if (multiply_adds(&p->shape) < LARGE || tile >= LARGE_TILE)
            list[kept++] = list[i];
        else
            way_close(r, &list[i]);
    }
    return kept;
}

/* The fastest of a list. Its time is not kept, because the caller samples it anew. The others are
 * closed. */
static struct way fastest(struct probe_run *r, const struct ways *ways, const struct subject *s,
                          struct way *list, size_t n)
{
    const size_t best = ways_fastest(r, ways, &s->product, list, n, s->sets);

    for (size_t i = 0; i < n; i++)
        if (i != best)
            way_close(r, &list[i]);
    return list[best];
}

static bool find(struct probe_run *r, const struct ways *ways, struct subject *s, enum take take,
                 struct way *found)
{
    struct way list[LIST];
    size_t n;

    if (take == CUBLAS || take == LT_FIRST) {
        *found = (struct way){.impl = take == CUBLAS ? WAY_CUBLAS : WAY_CUBLASLT,
                              .accumulate = s->accumulate};
        if (way_open(r, ways, &s->product, found))
            return true;
        way_close(r, found);
        return false;
    }
    n = take == OWN_BEST ? list_own(r, ways, &s->product, list, LIST)
                         : way_list(r, ways, &s->product, WAY_CUBLASLT, s->accumulate, list, LIST);
    if (n > 0)
        *found = fastest(r, ways, s, list, n);
    return n > 0;
}

const struct way *sizes_way(struct probe_run *r, const struct ways *ways, struct subject *s,
                            enum take take)
{
    sizes_subject_open(r, s);
    if (!s->taken[take].sought) {
        s->taken[take].sought = true;
        s->taken[take].found = find(r, ways, s, take, &s->taken[take].way);
    }
    return s->taken[take].found ? &s->taken[take].way : NULL;
}

/* --- facts reported with a time --------------------------------------------------------------- */

void sizes_say_kernel(struct probe_run *r, const struct ways *ways, const struct entrant *e)
{
    struct gpu_node node = gpu_graph_first_kernel(r, &e->graph[0]);
    probe_fact(r, "kernel", "%s", node.kernel);
    probe_fact(r, "blocks", "%u", node.blocks);
    probe_fact(r, "threads", "%u", node.threads);
    probe_fact(r, "kernels", "%zu in a graph of %zu products", node.n_kernels, e->n);
    if (e->way->mma || e->way->wgmma)
        probe_fact(r, "tile", "%s %s", way_names[e->way->impl], way_tile(e->way));
    else
        probe_fact(r, "cublas", "%s", blas_version(ways->blas));
    if (e->way->impl == WAY_CUBLASLT)
        probe_fact(r, "choice", "%d", e->way->choice);
}

void sizes_say_missing(struct probe_run *r, const struct ways *ways, int metric, enum take take)
{
    probe_missing(r, metric,
                  take == OWN_BEST ? "none of our kernels takes this product on this GPU"
                  : ways->blas     ? "cuBLASLt offers nothing for it"
                                   : ways->no_blas);
}
