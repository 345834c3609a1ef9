/* gemm_sizes: a product, the ways to compute it, the search for the fastest, and sampling several
 * in turn. */
#ifndef MATMUL_GEMM_SIZES_SEARCH_H
#define MATMUL_GEMM_SIZES_SEARCH_H

#include "core/gpu.h"
#include "matmul/common/way.h"

/* Indices into the table of metrics in gemm_sizes.c. */
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
    VARIANTS,
    POWER,
    ENERGY,
};

/* cuBLAS's own choice; the first guess of cuBLASLt's heuristic; the fastest of all that it offers;
 * the fastest of our kernels. */
enum take { CUBLAS, LT_FIRST, LT_BEST, OWN_BEST, TAKES };
extern const char *const sizes_impl_names[TAKES], *const sizes_tile_names[TAKES];

/* A product in memory and what was found for it. Both are made when they are first needed. */
struct subject {
    struct product_shape shape;
    bool cold;                       /* rotates over sets of operands, 3 x the L2 in all */
    enum blas_accumulate accumulate; /* for the library */
    bool open;
    struct product product;
    size_t sets; /* that a graph rotates over */
    struct {
        bool sought, found;
        struct way way;
    } taken[TAKES];
};

static inline double multiply_adds(const struct product_shape *s)
{
    return (double)s->m * s->n * s->k;
}

/* With fewer outputs the relative error depends too much on the seed to be a figure. */
static inline bool is_large_enough(const struct product_shape *s)
{
    return (double)s->m * s->n >= 0x1p14;
}

void sizes_subject_open(struct probe_run *r, struct subject *s);
void sizes_subject_close(struct probe_run *r, struct subject *s);

/* --- sampling -------------------------------------------------------------------------------- */

/* One of several that are sampled in turn. */
struct entrant {
    struct subject *subject;
    const struct way *way;
    int metric;
    /* private */
    size_t n;
    struct gpu_graph graph[2];
};

/* Replays them one after another, in turn, so that clock and power are the same for all: above
 * 2048^3 the board's power limit decides how fast a product is. */
void sizes_sample_in_turn(struct probe_run *r, const struct ways *ways, struct entrant *e,
                          size_t n);

/* Replays the timed graph once more, into a poisoned result, for verification. */
void sizes_replay_for_check(struct probe_run *r, const struct entrant *e);

void sizes_entrants_free(struct entrant *e, size_t n);

/* --- the search ------------------------------------------------------------------------------ */

/* Our kernels, numbered through all tables. */
enum {
    N_MMA = PROBE_LENGTH(mma_gemm_tiles),
    N_WGMMA = PROBE_LENGTH(wgmma_gemm_tiles),
    N_STREAM = PROBE_LENGTH(wgmma_stream_tiles),
    N_OWN = N_MMA + N_WGMMA + N_STREAM,
};
struct way sizes_own_row(size_t row);

/* The opened way that a take finds for a product; NULL where there is none. */
const struct way *sizes_way(struct probe_run *r, const struct ways *ways, struct subject *s,
                            enum take take);

/* --- facts reported with a time --------------------------------------------------------------- */

void sizes_say_kernel(struct probe_run *r, const struct ways *ways, const struct entrant *e);
void sizes_say_missing(struct probe_run *r, const struct ways *ways, int metric, enum take take);

#endif
