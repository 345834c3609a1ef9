#include "fused/quantized/matrix.h"

#include <stdio.h>

PROBE_IMAGE(quantized);
PROBE_IMAGE(quantized_weights);

const int quantized_widths[N_WIDTHS] = {1, 8, 16, 32, 64};
const char *const quantized_format_names[N_FORMATS] = {"int4", "int8", "e4m3"};
const int quantized_format_bits[N_FORMATS] = {4, 8, 8};

struct quantized_kernels *quantized_kernels_new(struct probe_run *r)
{
    struct quantized_kernels *k = probe_host_alloc(r, sizeof *k);
    char name[64];
    for (int f = 0; f < N_FORMATS; f++) {
        for (int w = 0; w < N_WIDTHS; w++) {
            snprintf(name, sizeof name, "quantized_%s_%d", quantized_format_names[f],
                     quantized_widths[w]);
            k->fused[f][w] = gpu_kernel(r, &image_quantized, name, sizeof(struct quantized_args));
            gpu_kernel_shared(k->fused[f][w], 64 << 10, -1);
        }
        snprintf(name, sizeof name, "quantized_%s_dequantize", quantized_format_names[f]);
        k->dequantize[f] =
            gpu_kernel(r, &image_quantized, name, sizeof(struct quantized_pack_args));
    }
    k->bf16 = gpu_kernel(r, &image_quantized, "quantized_bf16", sizeof(struct quantized_args));
    k->scalar = gpu_kernel(r, &image_quantized, "quantized_scalar", sizeof(struct quantized_args));
    k->pack = gpu_kernel(r, &image_quantized_weights, "quantize_pack",
                         sizeof(struct quantized_pack_args));
    k->plain = gpu_kernel(r, &image_quantized_weights, "quantize_plain",
                          sizeof(struct quantized_pack_args));
    k->verify = gpu_kernel(r, &image_quantized_weights, "quantize_verify",
                           sizeof(struct quantized_verify_args));
    k->blas = blas_open(r, k->no_blas, sizeof k->no_blas);
    k->workspace = gpu_alloc(r, WORKSPACE, "the workspace");
    k->arrived = gpu_alloc(r, WORKSPACE >> 8, "counters of blocks");
    CUDA(cudaMemsetAsync(k->arrived, 0, WORKSPACE >> 8, gpu_stream(r)));
    return k;
}

unsigned quantized_tiles(const struct quantized_matrix *m)
{
    return (unsigned)(m->rows + QUANTIZED_ROWS - 1) / QUANTIZED_ROWS;
}

/* In 16 rows, weights of so many bits and their scales. */
static size_t tile_bytes(const struct quantized_matrix *m, int bits)
{
    return (size_t)quantized_tiles(m) * QUANTIZED_ROWS * (size_t)m->cols * (size_t)bits / 8;
}

static void pack(struct probe_run *r, struct quantized_matrix *m, enum quantized_format f)
{
    const unsigned warps = quantized_tiles(m) * (unsigned)(m->cols / QUANTIZED_GROUP);
    m->tiles[f] =
        pool_new(r, tile_bytes(m, quantized_format_bits[f]), m->sets, "quantised weights");
    m->scales[f] = pool_new(r, tile_bytes(m, 16) / QUANTIZED_GROUP, m->sets, "their scales");
    for (size_t set = 0; set < m->sets; set++) {
        const struct quantized_pack_args a = {.from = pool_at(&m->original, set),
                                              .to = pool_at(&m->tiles[f], set),
                                              .scales = pool_at(&m->scales[f], set),
                                              .rows = (uint32_t)m->rows,
                                              .columns = (uint32_t)m->cols,
                                              .format = f};
        gpu_launch(r, m->k->pack, (warps + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
                   32 * QUANTIZED_WARPS, 0, &a);
    }
}

static void make_plain(struct probe_run *r, struct quantized_matrix *m)
{
    m->plain = pool_new(r, (size_t)m->rows * (size_t)m->cols / 2, m->sets, "int4, row-major");
    m->plain_scales =
        pool_new(r, 2 * (size_t)m->rows * (size_t)m->cols / QUANTIZED_GROUP, m->sets, "its scales");
    for (size_t set = 0; set < m->sets; set++) {
        const struct quantized_pack_args a = {.from = pool_at(&m->tiles[INT4], set),
                                              .to = pool_at(&m->plain, set),
                                              .scales = pool_at(&m->scales[INT4], set),
                                              .plain_scales = pool_at(&m->plain_scales, set),
                                              .rows = (uint32_t)m->rows,
                                              .columns = (uint32_t)m->cols};
        gpu_launch(r, m->k->plain, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    }
}

struct quantized_matrix quantized_matrix_of(struct probe_run *r, const struct quantized_kernels *k,
                                            int rows, int cols, int batch_max, uint64_t seed)
{
    struct quantized_matrix m = {.k = k, .rows = rows, .cols = cols, .batch_max = batch_max};
    const size_t elements = (size_t)rows * (size_t)cols;

    m.sets = probe_is_check_run(r) ? 2 : operation_sets(r, (double)elements / 2);
    m.original = pool_normal(r, GPU_BF16, elements, m.sets, seed, "the weights");
    m.dequantised = pool_new(r, 2 * elements, m.sets, "dequantised weights");
    for (int f = 0; f < N_FORMATS; f++)
        pack(r, &m, (enum quantized_format)f);
    make_plain(r, &m);
    m.x = gpu_alloc(r, 2 * (size_t)batch_max * (size_t)cols, "x");
    gpu_fill_normal(r, m.x, GPU_BF16, (size_t)batch_max * (size_t)cols, seed + 1);
    m.y = pool_new(r, 2 * (size_t)batch_max * (size_t)rows, m.sets, "y");
    return m;
}

void quantized_matrix_free(struct probe_run *r, struct quantized_matrix *m)
{
    pool_free(r, &m->original);
    pool_free(r, &m->dequantised);
    pool_free(r, &m->plain);
    pool_free(r, &m->plain_scales);
    for (int f = 0; f < N_FORMATS; f++) {
        pool_free(r, &m->tiles[f]);
        pool_free(r, &m->scales[f]);
    }
    pool_free(r, &m->y);
    gpu_release(r, m->x);
}
