#include "matmul/common/wgmma_gemm.h"

void wgmma_gemm_boxes(const struct wgmma_gemm_tile *t, const char *layout,
                      struct wgmma_gemm_box box[3])
{
    uint32_t a_parts = t->multicast ? t->cluster_n : 1, b_parts = t->multicast ? t->cluster_m : 1;

    box[0].rows = (layout[0] == 't' ? 64 : t->m) / a_parts;
    box[1].rows = (layout[1] == 't' ? t->n : 64) / b_parts;
    box[2].rows = t->out;
    box[0].columns = box[1].columns = box[2].columns = 64;
}

void wgmma_gemm_grid(const struct wgmma_gemm_tile *t, uint32_t m, uint32_t n, uint32_t grid[2])
{
    uint32_t high = t->m * t->cluster_m, wide = t->n * t->cluster_n;

    grid[0] = (n + wide - 1) / wide * t->cluster;
    grid[1] = (m + high - 1) / high;
    if (t->persistent) {
        grid[0] *= grid[1];
        grid[1] = 1;
    }
}
