/* A matrix of weights in all its forms, the vectors that it is multiplied by, and the kernels. */
#ifndef FUSED_QUANTIZED_MATRIX_H
#define FUSED_QUANTIZED_MATRIX_H

#include "core/blas.h"
#include "fused/common/operation.h"
#include "fused/quantized/args.h"

/* The fused kernels differ by the columns of x that they take at once. */
enum { N_WIDTHS = 5, WORKSPACE = 32 << 20 /* bytes */ };
extern const int quantized_widths[N_WIDTHS];

extern const char *const quantized_format_names[N_FORMATS];
extern const int quantized_format_bits[N_FORMATS]; /* of a weight */

struct quantized_kernels {
    cudaKernel_t fused[N_FORMATS][N_WIDTHS], dequantize[N_FORMATS];
    cudaKernel_t bf16, scalar, pack, plain, verify;
    struct blas *blas; /* NULL: see no_blas */
    char no_blas[256];
    void *workspace; /* cuBLAS's, and the sums of blocks that share an output */
    uint32_t *arrived;
};
struct quantized_kernels *quantized_kernels_new(struct probe_run *r);

/* `sets` of each but x. */
struct quantized_matrix {
    const struct quantized_kernels *k;
    int rows, cols, batch_max;
    struct pool original, dequantised, tiles[N_FORMATS], scales[N_FORMATS], plain, plain_scales, y;
    void *x;
    size_t sets;
};
struct quantized_matrix quantized_matrix_of(struct probe_run *r, const struct quantized_kernels *k,
                                            int rows, int cols, int batch_max, uint64_t seed);
void quantized_matrix_free(struct probe_run *r, struct quantized_matrix *m);

/* Tiles from the first row to the last. */
unsigned quantized_tiles(const struct quantized_matrix *m);

#endif
