/* quantized: weights in all their forms, the kernels, and the ways to multiply. */
#ifndef FUSED_QUANTIZED_QUANTIZED_H
#define FUSED_QUANTIZED_QUANTIZED_H

#include "core/blas.h"
#include "fused/common/operator.h"
#include "fused/quantized/args.h"

enum { ROWS, COLS, BATCH }; /* of a shape; its type is a format, or none */
enum { UNQUANTISED = N_FORMATS, N_TYPES };
extern const char *const quantized_types[];    /* NULL behind the last */
extern const int quantized_type_bits[N_TYPES]; /* of a weight */

/* Groups of forms: the kernel without a fast path; bf16 from the start. */
enum { WITH_SCALAR = OPERATOR_OWN, WITH_FULL = OPERATOR_OWN << 1 };

/* The probe's own metrics, behind those of all operations. */
enum quantized_metric {
    QUANTIZED_ERROR_UNQUANTISED = N_OPERATION_METRICS,
    QUANTIZED_QUALITY_ERROR,
    QUANTIZED_CLAMPED,
    QUANTIZED_SHAPES,
};

/* The fused kernels differ by the columns of x that they take at once. */
enum { N_WIDTHS = 5, WORKSPACE = 32 << 20 /* bytes */ };
extern const int quantized_widths[N_WIDTHS];

/* What all sets share. */
struct quantized_tools {
    cudaKernel_t fused[N_FORMATS][N_WIDTHS], dequantize[N_FORMATS];
    cudaKernel_t bf16, scalar, pack, plain, verify;
    struct blas *blas; /* NULL: see no_blas */
    char no_blas[256];
    void *workspace; /* cuBLAS's, and the sums of blocks that share an output */
    uint32_t *arrived;
};

/* The operator's part of a set; what a type has no use for is empty. */
struct quantized {
    struct pool original, tiles, scales, dequantised, plain, plain_scales, y;
    void *x;
};

/* --- weights.c ------------------------------------------------------------------------------- */

struct quantized_tools *quantized_tools_open(struct probe_run *r);
void quantized_open(struct probe_run *r, struct operator_set *s);

/* Tiles from the first row to the last. */
unsigned quantized_tiles(const struct operator_set *s);

/* --- forms.c --------------------------------------------------------------------------------- */

double quantized_copied(const struct operator_set *s, size_t member);
size_t quantized_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                       struct operator_form *list);
void quantized_describe(struct probe_run *r, const struct operator_set *s,
                        const struct operator_form *f);

/* --- verify.c -------------------------------------------------------------------------------- */

struct verdict quantized_verify(struct probe_run *r, const struct operator_set *s,
                                const struct operator_form *f, bool all, uint64_t *due);
/* Outputs of set 0 against fp64: with the weights that the kernel had, or with the original. */
struct verdict quantized_run_verifier(struct probe_run *r, const struct operator_set *s,
                                      const struct operator_form *f, bool original);
void quantized_check_on_host(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, const char *when);

/* --- formats.c ------------------------------------------------------------------------------- */

/* What formats do to numbers, one product of quantised weights in fp64: cases of
 * QUANTIZED_QUALITY_ERROR and QUANTIZED_CLAMPED for every format, input and calibration. */
void quantized_measure_formats(struct probe_run *r);

#endif
