/* The ways to multiply by a matrix: how each is launched. */
#ifndef FUSED_QUANTIZED_FORM_H
#define FUSED_QUANTIZED_FORM_H

#include "fused/quantized/matrix.h"

enum quantized_impl { FUSED, UNFUSED, FULL, FULL_CUBLAS, SCALAR, N_QUANTIZED_IMPLS };

struct quantized_form {
    const struct quantized_matrix *m;
    enum quantized_impl impl;
    enum quantized_format format;
    int batch;
};

/* Whether its weights are quantised. */
bool quantized_is_quantised(const struct quantized_form *form);

/* How the fused kernel is launched. With one column a block takes 16 rows; with more, 16 or 32 for
 * each of its warps, and blocks share an output along the columns, so that every SM has two. */
struct quantized_shape {
    int width; /* index of quantized_widths */
    dim3 grid;
    unsigned threads, groups; /* groups: of a block, along the columns */
    size_t shared, partial;   /* bytes: of a block; of all sums that blocks hand to each other */
};
struct quantized_shape quantized_shape_of(struct probe_run *r, const struct quantized_form *form);

/* Of an operation, whose `self` is a form. */
void quantized_launch(struct probe_run *r, const void *self, size_t set);
void quantized_poison(struct probe_run *r, const void *self);

#endif
