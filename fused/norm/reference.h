/* RMSNorm and LayerNorm in double, with the operators that may come before and after them: on the
 * GPU for whole tensors, on the CPU for single rows. Also rows that are hard for a LayerNorm. For C
 * and CUDA alike. */
#ifndef FUSED_NORM_REFERENCE_H
#define FUSED_NORM_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

/* The function that an operator computes, for the reference. */
enum {
    NORM_RESIDUAL = 1, /* normalises in + residual, and that sum is a result, too */
    NORM_CENTRED = 2,  /* LayerNorm; else RMSNorm */
    NORM_BIAS = 4,
    NORM_SILU = 8,
    NORM_E4M3 = 16, /* fp8 codes with a scale for each row */
    NORM_INT8 = 32,
    NORM_CHAIN = 64, /* the result of every operator was rounded to the tensors' type */
    NORM_BF16 = 128, /* that type is bf16; else fp16 */
};

struct norm_verify_args {
    const void *in, *residual, *weight, *bias, *sum, *out;
    const float *scale;      /* one per row, with codes; else NULL */
    struct verdict *verdict; /* zeroed, device memory */
    uint32_t rows, cols, operator_flags;
    float epsilon;
};
ARGS_SIZE(struct norm_verify_args, 80);

#ifndef __CUDACC__

#include "core/gpu.h"

/* Compares every result with the reference on the GPU, without judging. The `verdict` of `results`
 * is not used. */
struct verdict norm_run_verifier(struct probe_run *r, const struct norm_verify_args *results);

/* Number of values that are compared: the results, and the sums and scales if there are any. */
uint64_t norm_results(const struct norm_verify_args *a);

/* Compares three rows with the reference on the CPU, by probe_require. */
void norm_check_rows(struct probe_run *r, const struct norm_verify_args *a, const char *when);
#endif

/* One row of operands and results, on the host. */
struct norm_row {
    const uint16_t *in, *residual, *weight, *bias; /* cols each */
    const uint16_t *sum;                           /* result, with NORM_RESIDUAL */
    const void *out;                               /* cols numbers, or codes of a byte */
    float scale;
    size_t cols;
    uint32_t operator_flags;
    double epsilon;
};

/* Number of results of the row that exceed their bound. */
size_t norm_row_wrong(const struct norm_row *row);

/* Makes a row of N(0,1) one of three: all elements 1000 and a little, all the same, one huge
 * outlier. At 1000, fp16 holds multiples of 1/2 and bf16 multiples of 4. So in bf16 only one
 * element in eighty is not 1000: else the variance would not be a small difference of two
 * moments. */
enum norm_adversary { NORM_LARGE_MEAN, NORM_CONSTANT, NORM_OUTLIER, N_NORM_ADVERSARIES };
void norm_make_adversary(uint16_t *row, size_t cols, uint32_t operator_flags,
                         enum norm_adversary adversary);

#endif
