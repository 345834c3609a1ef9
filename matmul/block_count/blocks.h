/* The blocks of a product: how many there are, what they fetch, where they ran, and when they came
 * how far. A part of block_count.c. */
#ifndef MATMUL_BLOCK_COUNT_BLOCKS_H
#define MATMUL_BLOCK_COUNT_BLOCKS_H

#include "core/gpu.h"
#include "core/stat.h"
#include "matmul/common/way.h"

/* --- how many, and what for ------------------------------------------------------------------- */

struct geometry {
    unsigned tile_m, tile_n, threads;
    unsigned blocks;
    unsigned wide, high;  /* tiles of C */
    unsigned tiles;       /* that are computed */
    unsigned a_block;     /* tiles, or parts of them, that the busiest block computes */
};

static struct geometry geometry_of(const struct product *p, const struct way *w)
{
    const struct product_shape *s = &p->shape;
    struct geometry g = {.tile_m = w->mma ? w->mma->m : w->wgmma->m,
                         .tile_n = w->mma ? w->mma->n : w->wgmma->n,
                         .threads = w->mma ? w->mma->threads : w->wgmma->threads,
                         .a_block = 1};
    uint32_t grid[2];

    g.wide = ((unsigned)s->n + g.tile_n - 1) / g.tile_n;
    g.high = ((unsigned)s->m + g.tile_m - 1) / g.tile_m;
    g.tiles = w->tiles ? w->tiles : g.wide * g.high;
    g.blocks = g.tiles;
    if (w->wgmma) {
        wgmma_gemm_grid(w->wgmma, (uint32_t)s->m, (uint32_t)s->n, grid);
        g.blocks = w->wgmma->persistent || w->impl == WAY_STREAM ? w->blocks : grid[0] * grid[1];
    }
    if (w->wgmma && w->wgmma->persistent)
        g.a_block = (g.tiles + g.blocks - 1) / g.blocks;
    return g;
}

enum { UNSHARED = 4 }; /* k-steps fetched before blocks of a cluster share what they fetch */

/* Bytes of A and B that are asked of the L2. Blocks that share fetch an operand once for both,
 * once they know that the other one is there. */
static double operand_bytes(const struct product *p, const struct way *w, const struct geometry *g)
{
    const struct product_shape *s = &p->shape;
    const bool all = w->tiles == 0;
    const double a_tile = all ? (double)s->m * g->wide : (double)g->tile_m * g->tiles;
    const double b_tile = all ? (double)s->n * g->high : (double)g->tile_n * g->tiles;
    double k = s->k, shared = 0;

    if (w->wgmma && w->wgmma->multicast && k > UNSHARED * WGMMA_GEMM_K_STEP) {
        shared = k - UNSHARED * WGMMA_GEMM_K_STEP;
        k -= shared;
        shared *= 2 * (a_tile / w->wgmma->cluster_n + b_tile / w->wgmma->cluster_m);
    }
    return 2 * k * (a_tile + b_tile) + shared;
}

/* --- what they saw ---------------------------------------------------------------------------- */

/* Of each launch: ns from the first block's start to the last one's; then, medians over blocks,
 * cycles from a block's start to its first operands, to the sending of its last copy, to its last
 * product, and to its end. */
enum { SAW = 5, LOOKS = 9 };

struct sight {
    unsigned busiest, idle;
    double saw[SAW][LOOKS];
};

static double sight_median(double *values, size_t n)
{
    stat_sort(values, n);
    return stat_median(values, n);
}

/* One launch's watch: blocks without a tile left no end. */
static void take_look(const struct wgmma_gemm_watch *watch, size_t blocks, size_t look,
                      struct sight *s)
{
    static double cycles[SAW][WAY_BLOCKS];
    uint64_t first = UINT64_MAX, last = 0;
    size_t n = 0;

    for (size_t i = 0; i < blocks; i++) {
        const struct wgmma_gemm_watch *w = &watch[i];
        if (w->end == 0)
            continue;
        first = w->start_ns < first ? w->start_ns : first;
        last = w->start_ns > last ? w->start_ns : last;
        cycles[1][n] = (double)(w->first_data - w->start);
        cycles[2][n] = (double)(w->fetched - w->start);
        cycles[3][n] = (double)(w->products_done - w->start);
        cycles[4][n++] = (double)(w->end - w->start);
    }
    s->saw[0][look] = (double)(last - first);
    for (size_t i = 1; n > 0 && i < SAW; i++)
        s->saw[i][look] = sight_median(cycles[i], n);
}

static void take_census(struct probe_run *r, const struct wgmma_gemm_watch *watch, size_t blocks,
                        struct sight *s)
{
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    unsigned seen[1024] = {0};

    for (size_t i = 0; i < blocks; i++)
        if (watch[i].end != 0)
            seen[watch[i].sm % PROBE_LENGTH(seen)]++;
    s->busiest = s->idle = 0;
    for (unsigned i = 0; i < n_sm; i++) {
        s->busiest = seen[i] > s->busiest ? seen[i] : s->busiest;
        s->idle += seen[i] == 0;
    }
}

/* Launches the watched twin; false where the tile has none. */
static bool sight_take(struct probe_run *r, const struct ways *ways, const struct product *p,
                       const struct way *w, unsigned blocks, struct sight *s)
{
    static struct wgmma_gemm_watch watch[WAY_BLOCKS];
    struct way twin = *w;
    bool open;

    twin.part = WAY_WATCHED;
    twin.kernel = NULL;
    twin.maps = NULL;
    open = blocks <= WAY_BLOCKS && way_open(r, ways, p, &twin);
    for (size_t i = 0; open && i < LOOKS; i++) {
        CUDA(cudaMemsetAsync(ways->watch, 0, blocks * sizeof *watch, gpu_stream(r)));
        way_multiply(r, ways, p, &twin, 0);
        gpu_to_host(r, watch, ways->watch, blocks * sizeof *watch);
        take_look(watch, blocks, i, s);
        if (i == 0)
            take_census(r, watch, blocks, s);
    }
    way_close(r, &twin);
    return open;
}

#endif
