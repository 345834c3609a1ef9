/* gemm_sizes: a product, the ways to it, the search for the fastest, and how several are sampled in
 * turn. */
#ifndef MATMUL_GEMM_SIZES_SEARCH_H
#define MATMUL_GEMM_SIZES_SEARCH_H

#include <math.h>
#include <string.h>

#include "core/gpu.h"
#include "matmul/common/way.h"

/* Places in the table of metrics in gemm_sizes.c. */
enum {
    TIME,
    LIBRARY_TIME,
    OVER_LIBRARY,
    ERROR,
    LAYOUT_TIME,
    ALIGNED_TIME,
    OVER_ALIGNED,
    OTHER_KERNEL,
    LAYOUT_ERROR,
    OVER_BEST,
    SLOWEST,
    MOVED,
    VARIANTS
};

/* cuBLAS's own choice; the first guess of cuBLASLt's heuristic; the fastest of all that it offers;
 * the fastest of our kernels. */
enum take { CUBLAS, LT_FIRST, LT_BEST, OWN_BEST, TAKES };
static const char *const impl_names[] = {"cublas", "cublaslt", "cublaslt", "own"};
static const char *const tile_names[] = {"auto", "first", "best", "best"};

/* A product in memory and what was found for it, both made when they are first asked for. */
struct subject {
    struct product_shape shape;
    bool cold;                       /* sets of operands in turn, 3 x the L2 of them */
    enum blas_accumulate accumulate; /* of the library */
    bool open;
    struct product product;
    size_t sets; /* that a graph walks */
    struct {
        bool sought, found;
        struct way way;
    } taken[TAKES];
};

static inline double multiply_adds(const struct product_shape *s)
{
    return (double)s->m * s->n * s->k;
}

/* Of fewer outputs the rate of error is too much a matter of the seed to be a figure. */
static inline bool is_large_enough(const struct product_shape *s)
{
    return (double)s->m * s->n >= 0x1p14;
}

static inline void subject_open(struct probe_run *r, struct subject *s)
{
    if (s->open)
        return;
    s->product = product_new(r, &s->shape, s->cold ? 0 : 1);
    s->sets = s->product.sets;
    s->open = true;
}

static inline void subject_close(struct probe_run *r, struct subject *s)
{
    for (size_t i = 0; i < TAKES; i++)
        if (s->taken[i].found)
            way_close(r, &s->taken[i].way);
    if (s->open)
        product_free(r, &s->product);
    memset(s, 0, sizeof *s);
}

/* --- sampling -------------------------------------------------------------------------------- */

/* One of those that are sampled in turn. */
struct entrant {
    struct subject *subject;
    const struct way *way;
    int metric;
    /* private */
    size_t n;
    struct gpu_graph graph[2];
};

/* Replay by replay in turn, so that clock and power are the same for all: above 2048^3 the board's
 * power limit decides how fast a product is. */
static inline void sample_in_turn(struct probe_run *r, const struct ways *ways, struct entrant *e,
                                  size_t n)
{
    for (size_t k = 0; k < n; k++) {
        e[k].n =
            way_products(r, &e[k].subject->product, e[k].subject->sets, WAY_SAMPLED_US);
        for (size_t i = 0; i < 2; i++)
            e[k].graph[i] = way_graph(r, ways, &e[k].subject->product, e[k].way, e[k].n << i,
                                      e[k].subject->sets);
    }
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; k < n; k++)
                probe_sample(r, e[k].metric, (double)(e[k].n << i),
                             gpu_replay_ns(r, &e[k].graph[i]));
}

/* What was timed, once more, into a poisoned result: to be verified. */
static inline void replay_for_check(struct probe_run *r, const struct entrant *e)
{
    product_poison(r, &e->subject->product);
    CUDA(cudaGraphLaunch(e->graph[0].exec, gpu_stream(r)));
    gpu_wait(r);
}

static inline void entrants_free(struct entrant *e, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < 2; i++)
            gpu_graph_free(&e[k].graph[i]);
}

/* --- the search ------------------------------------------------------------------------------ */

enum { LIST = 64 };
static const double LARGE = 0x1p36; /* multiply-adds: 4096^3 */
enum { LARGE_TILE = 128 * 128 };

/* All of ours, portable ones first. From 4096^3 on small tiles take no part: they fetch their
 * operands so often that they take several times as long, and so would the search. */
static inline size_t list_own(struct probe_run *r, const struct ways *ways, const struct product *p,
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

/* The fastest of a list. Its time is not kept: what is reported of it is sampled anew. The others
 * are closed. */
static inline struct way fastest(struct probe_run *r, const struct ways *ways,
                                 const struct subject *s, struct way *list, size_t n)
{
    const size_t best = ways_fastest(r, ways, &s->product, list, n, s->sets);

    for (size_t i = 0; i < n; i++)
        if (i != best)
            way_close(r, &list[i]);
    return list[best];
}

static inline bool find(struct probe_run *r, const struct ways *ways, struct subject *s,
                        enum take take, struct way *found)
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

/* NULL where there is none. */
static inline const struct way *way_of(struct probe_run *r, const struct ways *ways,
                                       struct subject *s, enum take take)
{
    subject_open(r, s);
    if (!s->taken[take].sought) {
        s->taken[take].sought = true;
        s->taken[take].found = find(r, ways, s, take, &s->taken[take].way);
    }
    return s->taken[take].found ? &s->taken[take].way : NULL;
}

/* --- what is said beside a time -------------------------------------------------------------- */

static inline void say_kernel(struct probe_run *r, const struct ways *ways, const struct entrant *e)
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

static inline void say_missing(struct probe_run *r, const struct ways *ways, int metric,
                               enum take take)
{
    probe_missing(r, metric,
                  take == OWN_BEST ? "none of our kernels takes this product on this GPU"
                  : ways->blas     ? "cuBLASLt offers nothing for it"
                                   : ways->no_blas);
}

#endif
