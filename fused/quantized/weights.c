/* quantized: the kernels, and the weights in their forms. */
#include <stdio.h>

#include "fused/quantized/quantized.h"

PROBE_IMAGE(quantized);
PROBE_IMAGE(quantized_weights);

struct quantized_tools *quantized_tools_open(struct probe_run *r)
{
    struct quantized_tools *k = probe_host_alloc(r, sizeof *k);
    char name[64];
    for (int f = 0; f < N_FORMATS; f++) {
        for (int w = 0; w < N_WIDTHS; w++) {
            snprintf(name, sizeof name, "quantized_%s_%d", quantized_types[f], quantized_widths[w]);
            k->fused[f][w] = gpu_kernel(r, &image_quantized, name, sizeof(struct quantized_args));
            gpu_kernel_shared(k->fused[f][w], 64 << 10, -1);
        }
        snprintf(name, sizeof name, "quantized_%s_dequantize", quantized_types[f]);
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

unsigned quantized_tiles(const struct operator_set *s)
{
    return (unsigned)(s->shape.dim[ROWS] + QUANTIZED_ROWS - 1) / QUANTIZED_ROWS;
}

/* In whole tiles, weights of so many bits. */
static size_t tile_bytes(const struct operator_set *s, int bits)
{
    return (size_t)quantized_tiles(s) * QUANTIZED_ROWS * (size_t)s->shape.dim[COLS] * (size_t)bits /
           8;
}

static void pack(struct probe_run *r, struct operator_set *s)
{
    const struct quantized_tools *k = s->of->tools;
    struct quantized *q = s->own;
    const int columns = s->shape.dim[COLS], type = s->shape.type;
    const unsigned warps = quantized_tiles(s) * (unsigned)(columns / QUANTIZED_GROUP);

    q->tiles = operator_tables(r, s, tile_bytes(s, quantized_type_bits[type]), "quantised weights");
    q->scales = operator_tables(r, s, tile_bytes(s, 16) / QUANTIZED_GROUP, "their scales");
    for (size_t set = 0; set < s->sets; set++) {
        const struct quantized_pack_args a = {.from = pool_at(&q->original, set),
                                              .to = pool_at(&q->tiles, set),
                                              .scales = pool_at(&q->scales, set),
                                              .rows = (uint32_t)s->shape.dim[ROWS],
                                              .columns = (uint32_t)columns,
                                              .format = (uint32_t)type};
        gpu_launch(r, k->pack, (warps + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
                   32 * QUANTIZED_WARPS, 0, &a);
    }
}

static void make_plain(struct probe_run *r, struct operator_set *s)
{
    const struct quantized_tools *k = s->of->tools;
    struct quantized *q = s->own;
    const size_t elements = (size_t)s->shape.dim[ROWS] * (size_t)s->shape.dim[COLS];

    q->plain = operator_tables(r, s, elements / 2, "int4, row-major");
    q->plain_scales = operator_tables(r, s, 2 * elements / QUANTIZED_GROUP, "its scales");
    for (size_t set = 0; set < s->sets; set++) {
        const struct quantized_pack_args a = {.from = pool_at(&q->tiles, set),
                                              .to = pool_at(&q->plain, set),
                                              .scales = pool_at(&q->scales, set),
                                              .plain_scales = pool_at(&q->plain_scales, set),
                                              .rows = (uint32_t)s->shape.dim[ROWS],
                                              .columns = (uint32_t)s->shape.dim[COLS]};
        gpu_launch(r, k->plain, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    }
}

void quantized_open(struct probe_run *r, struct operator_set *s)
{
    struct quantized *q = s->own;
    const size_t rows = (size_t)s->shape.dim[ROWS], columns = (size_t)s->shape.dim[COLS];
    const size_t batch = (size_t)s->shape.dim[BATCH];

    q->original = operator_operand(r, s, GPU_BF16, rows * columns, "the weights");
    q->x = operator_vector(r, s, GPU_BF16, batch * columns, "x");
    q->y = operator_result(r, s, 2 * batch * rows, "y");
    if (s->shape.type == UNQUANTISED)
        return;
    pack(r, s);
    if (s->groups & OPERATOR_UNFUSED)
        q->dequantised = operator_result(r, s, 2 * rows * columns, "dequantised weights");
    if (s->groups & WITH_SCALAR && s->shape.type == INT4 && batch == 1)
        make_plain(r, s);
}
