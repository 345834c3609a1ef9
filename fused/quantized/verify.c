/* quantized: are the outputs right? All of them against fp64 on the GPU, some rows on the CPU. */
#include <math.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"
#include "fused/quantized/quantized.h"

enum { SAMPLED = 6 /* rows that the CPU looks at */ };

/* A weight of the tiles as the CPU reads it, from the description in dequantize.cuh. */
static double host_weight(int format, const uint32_t *tiles, const uint16_t *scales, size_t r,
                          size_t column)
{
    const size_t group = column / 128, k = column % 128, t = k / 8 % 4, index = k % 4;
    const size_t step = 4 * (k / 64) + 2 * (k / 32 % 2) + k / 4 % 2, lane = 4 * (r % 8) + t;
    const bool narrow = format == INT4;
    const size_t word = narrow ? step : 2 * step + index / 2;
    const size_t at =
        narrow ? 8 * (index / 2) + 4 * (r / 8) + 16 * (index % 2) : 8 * (r / 8) + 16 * (index % 2);
    const uint32_t *tile = tiles + group * (narrow ? 256 : 512);
    const uint32_t code = tile[word / 4 * 128 + 4 * lane + word % 4] >> at & (narrow ? 15 : 255);
    const double scale = half_bf16(scales[group * 16 + r % 8 * 2 + r / 8]);
    const int exponent = (int)(code >> 3 & 15), fraction = (int)(code & 7);

    if (format == INT4)
        return scale * ((int)code - 8);
    if (format == INT8)
        return scale * (int8_t)code;
    const double v = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    return scale * (code & 128 ? -v : v);
}

/* Some rows, the first and the last among them, of the last column of x, in double on the CPU. */
void quantized_check_on_host(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, const char *when)
{
    const struct quantized *q = s->own;
    const int type = s->shape.type;
    const size_t cols = (size_t)s->shape.dim[COLS], rows = (size_t)s->shape.dim[ROWS];
    const size_t last = (size_t)s->shape.dim[BATCH] - 1, tile_words = cols * 2 * 4;
    const size_t bytes = QUANTIZED_ROWS * cols * (size_t)quantized_type_bits[type] / 8;
    const size_t scale_bytes = 2 * QUANTIZED_ROWS * cols / QUANTIZED_GROUP;

    if (type == UNQUANTISED)
        return;
    uint32_t *tiles = probe_host_alloc(r, 4 * tile_words);
    uint16_t *scales = probe_host_alloc(r, cols), *x = probe_host_alloc(r, 2 * cols), y;
    uint64_t state = probe_seed(r);
    size_t wrong = 0;

    gpu_to_host(r, x, (const char *)q->x + 2 * last * cols, 2 * cols);
    for (size_t i = 0; i < SAMPLED; i++) {
        const size_t row = i == 0 ? 0 : i == 1 ? rows - 1 : draw_below(&state, rows);
        double sum = 0, absolute = 0, squared = 0;
        gpu_to_host(r, tiles, q->tiles.memory + row / QUANTIZED_ROWS * bytes, bytes);
        gpu_to_host(r, scales, q->scales.memory + row / QUANTIZED_ROWS * scale_bytes, scale_bytes);
        gpu_to_host(r, &y, q->y.memory + 2 * (last * rows + row), 2);
        for (size_t k = 0; k < cols; k++) {
            const double product =
                host_weight(type, tiles, scales, row % QUANTIZED_ROWS, k) * half_bf16(x[k]);
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        const double bound = 2 * HALF_BF16_UNIT * fabs(sum) +
                             8 * sqrt((double)cols) * 0x1p-24 * absolute + 0x1p-25 +
                             (f->group == OPERATOR_UNFUSED ? 6 * 0x1p-9 * sqrt(squared) : 0);
        wrong += !(fabs(half_bf16(y) - sum) <= bound);
    }
    probe_require(r, wrong == 0, "%s: %zu of %d outputs are as computed on the CPU in double", when,
                  SAMPLED - wrong, SAMPLED);
    free(tiles);
    free(scales);
    free(x);
}

struct verdict quantized_run_verifier(struct probe_run *r, const struct operator_set *s,
                                      const struct operator_form *f, bool original)
{
    const struct quantized_tools *k = s->of->tools;
    const struct quantized *q = s->own;
    const struct quantized_verify_args a = {
        .weights = q->tiles.memory, /* NULL where weights are not quantised */
        .scales = q->scales.memory,
        .x = q->x,
        .y = q->y.memory,
        .original = original || !q->tiles.memory ? q->original.memory : NULL,
        .verdict = verdict_clear(r),
        .rows = (uint32_t)s->shape.dim[ROWS],
        .columns = (uint32_t)s->shape.dim[COLS],
        .batch = (uint32_t)s->shape.dim[BATCH],
        .format = (uint32_t)s->shape.type,
        .is_rounded = f->group == OPERATOR_UNFUSED};
    gpu_launch(r, k->verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

struct verdict quantized_verify(struct probe_run *r, const struct operator_set *s,
                                const struct operator_form *f, bool all, uint64_t *due)
{
    (void)all;
    *due = (uint64_t)s->shape.dim[ROWS] * (uint64_t)s->shape.dim[BATCH];
    return quantized_run_verifier(r, s, f, false);
}
