/* Arguments of the kernels in transpose.cu, for C and CUDA alike. */
#ifndef PROBES_TRANSPOSE_ARGS_H
#define PROBES_TRANSPOSE_ARGS_H

#include <stdint.h>

#include "core/args.h"

/* out[c][r] = in[r][c]. Lengths are in elements. For copies they are in units of 16 bytes, and
 * out[r][c] = in[r][c]. A kernel that checks adds its count to *check. A kernel that only reads
 * XORs all words into it, unless it is NULL. */
struct transpose_args {
    const void *in;
    void *out;
    uint32_t *check;
    uint32_t rows, columns, ld_in, ld_out;
};
ARGS_SIZE(struct transpose_args, 40);

/* out[i * length + j] = in[first[i] + j * step], in elements of two bytes; a block for each line i:
 * rows and columns of operands, which the host then multiplies. */
struct transpose_line_args {
    const uint16_t *in;
    uint16_t *out;
    const uint64_t *first;
    uint64_t step, length;
};
ARGS_SIZE(struct transpose_line_args, 40);

#endif
