/* Compares results of a norm with the reference, on the GPU and, for some rows, on the CPU. */
#include <stdlib.h>

#include "fused/norm/reference.h"

PROBE_IMAGE(norm_reference);

enum { THREADS = 256, BLOCKS_MAX = 4096, ROWS_LOOKED_AT = 3 };

struct verdict norm_run_verifier(struct probe_run *r, const struct norm_verify_args *results)
{
    struct norm_verify_args a = *results;
    cudaKernel_t kernel = gpu_kernel(r, &image_norm_reference, "norm_verify", sizeof a);
    a.verdict = verdict_clear(r);
    gpu_launch(r, kernel, a.rows < BLOCKS_MAX ? a.rows : BLOCKS_MAX, THREADS, 0, &a);
    return verdict_fetch(r);
}

/* Row number `row` of a device tensor. */
static void fetch(struct probe_run *r, void *to, const void *from, size_t row, size_t bytes)
{
    gpu_to_host(r, to, (const char *)from + row * bytes, bytes);
}

/* The first row, the last, and one in between. */
void norm_check_rows(struct probe_run *r, const struct norm_verify_args *a, const char *when)
{
    const size_t rows = a->rows, cols = a->cols, bytes = 2 * cols;
    uint16_t *part[6], *memory = malloc(6 * bytes);
    size_t wrong = 0, looked_at = 0;

    for (size_t i = 0; i < 6; i++)
        part[i] = memory + i * cols;
    fetch(r, part[4], a->weight, 0, bytes);
    fetch(r, part[5], a->bias, 0, bytes);
    for (size_t i = 0; i < ROWS_LOOKED_AT && i < rows; i++, looked_at++) {
        const size_t row = i == 1 ? rows - 1 : i * 7919 % rows;
        struct norm_row look_at = {.in = part[0],
                                   .residual = part[1],
                                   .sum = part[2],
                                   .out = part[3],
                                   .weight = part[4],
                                   .bias = part[5],
                                   .cols = cols,
                                   .operator_flags = a->operator_flags,
                                   .epsilon = (double)a->epsilon};
        fetch(r, part[0], a->in, row, bytes);
        fetch(r, part[1], a->residual, row, bytes);
        fetch(r, part[2], a->sum, row, bytes);
        fetch(r, part[3], a->out, row, a->scale ? cols : bytes);
        if (a->scale)
            fetch(r, &look_at.scale, a->scale, row, sizeof look_at.scale);
        wrong += norm_row_wrong(&look_at);
    }
    probe_require(r, wrong == 0,
                  "%s: %zu results of %zu rows are not as computed on the CPU in double", when,
                  wrong, looked_at);
    free(memory);
}

uint64_t norm_results(const struct norm_verify_args *a)
{
    const uint64_t elements = (uint64_t)a->rows * a->cols;
    return elements * (a->operator_flags & NORM_RESIDUAL ? 2 : 1) + (a->scale ? a->rows : 0);
}
