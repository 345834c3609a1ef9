#include "matmul/block_count/blocks.h"

#include <stdlib.h>

#include "core/stat.h"

/* --- how many, and what for ------------------------------------------------------------------- */

struct geometry blocks_geometry(const struct product *p, const struct way *w)
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

enum { UNSHARED = 4 }; /* k-steps fetched before the blocks of a cluster share their fetches */

double blocks_operand_bytes(const struct product *p, const struct way *w, const struct geometry *g)
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

double blocks_median(double values[BLOCKS_WATCHED])
{
    stat_sort(values, BLOCKS_WATCHED);
    return stat_median(values, BLOCKS_WATCHED);
}

/* Times one of the watched launches. Blocks without a tile have recorded no end. `cycles` has room
 * for one value per block. */
static void time_launch(const struct wgmma_gemm_watch *watch, size_t blocks, size_t launch,
                        double *cycles, struct blocks_seen *s)
{
    uint64_t first = UINT64_MAX, last = 0;

    for (size_t i = 0; i < blocks; i++) {
        if (watch[i].end == 0)
            continue;
        first = watch[i].start_ns < first ? watch[i].start_ns : first;
        last = watch[i].start_ns > last ? watch[i].start_ns : last;
    }
    s->moment[0][launch] = (double)(last - first);
    for (size_t moment = 1; moment < BLOCKS_MOMENTS; moment++) {
        size_t n = 0;
        for (size_t i = 0; i < blocks; i++) {
            const struct wgmma_gemm_watch *w = &watch[i];
            const uint64_t at[] = {0, w->first_data, w->fetched, w->products_done, w->end};
            if (w->end != 0)
                cycles[n++] = (double)(at[moment] - w->start);
        }
        if (n > 0) {
            stat_sort(cycles, n);
            s->moment[moment][launch] = stat_median(cycles, n);
        }
    }
}

static void take_census(struct probe_run *r, const struct wgmma_gemm_watch *watch, size_t blocks,
                        struct blocks_seen *s)
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

bool blocks_watch(struct probe_run *r, const struct ways *ways, const struct product *p,
                  const struct way *w, unsigned blocks, struct blocks_seen *s)
{
    struct wgmma_gemm_watch *watch = probe_host_alloc(r, blocks * sizeof *watch);
    double *cycles = probe_host_alloc(r, blocks * sizeof *cycles);
    struct way twin = *w;
    bool open;

    twin.part = WAY_WATCHED;
    twin.kernel = NULL;
    twin.maps = NULL;
    open = blocks <= WAY_BLOCKS && way_open(r, ways, p, &twin);
    for (size_t i = 0; open && i < BLOCKS_WATCHED; i++) {
        CUDA(cudaMemsetAsync(ways->watch, 0, blocks * sizeof *watch, gpu_stream(r)));
        way_multiply(r, ways, p, &twin, 0);
        gpu_to_host(r, watch, ways->watch, blocks * sizeof *watch);
        time_launch(watch, blocks, i, cycles, s);
        if (i == 0)
            take_census(r, watch, blocks, s);
    }
    way_close(r, &twin);
    free(cycles);
    free(watch);
    return open;
}
