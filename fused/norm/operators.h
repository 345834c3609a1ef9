/* The operators of norm as data: the kernels that compute each, fused and as a chain, and what
 * these kernels load and store. */
#ifndef FUSED_NORM_OPERATORS_H
#define FUSED_NORM_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

enum norm_form {
    ROWS,     /* keeps a row in registers; three kernels for long rows, few rows, short rows */
    ELEMENTS, /* element by element; two kernels for many elements, few elements */
    PASSES,   /* a block per row, which reads memory in every pass */
    NARROW,   /* a warp per row, however long the row */
};

/* Index of a form's kernel. A launch also has blocks, threads and blocks of a cluster; 1: none. */
enum { BLOCK, FEW, WARP, CLUSTER, LONG = 0, SMALL = 1, N_LAUNCH_FORMS = 4 };
struct norm_launch {
    unsigned form, blocks, threads, cluster;
};

/* `vectors` is the number of 16-byte vectors of a row. `cluster` is the number of blocks that share
 * a row where rows are few; 0: chosen here. */
struct norm_launch norm_launch_of(enum norm_form form, unsigned rows, unsigned vectors,
                                  unsigned n_sm, unsigned cluster);

enum norm_kernel {
    RMSNORM_RESIDUAL, RMSNORM_RESIDUAL_FP8, RMSNORM_RESIDUAL_INT8, RMSNORM_BIAS_SILU, LAYERNORM,
    LAYERNORM_SILU, RMSNORM, QUANTISE_FP8, QUANTISE_INT8, ADD, BIAS, SILU, TWO_PASS, THREE_PASS,
    MEAN, VARIANCE, NORMALISE, FP8_NARROW, N_NORM_KERNELS
};

struct norm_kernel_facts {
    const char *name;
    enum norm_form form;
    int element_bytes; /* loaded and stored per element, */
    int columns;       /* vectors of cols 16-bit numbers loaded, */
    int row_floats;    /* floats loaded and stored per row */
};
extern const struct norm_kernel_facts norm_kernels[N_NORM_KERNELS];

/* The tensors that a kernel reads and writes. */
enum norm_tensor { IN, OTHER, SUM, MIDDLE, MIDDLE2, OUT, N_TENSORS };

/* Properties of a variant: ROUNDS, results are rounded between its kernels; PART, it is one kernel
 * of the chain and does not compute the whole operator; UNSAFE, it is wrong on rows of large mean;
 * FOR_FEW, FOR_MANY, it is for few rows or for many. */
enum { ROUNDS = 1, PART = 2, UNSAFE = 4, FOR_FEW = 8, FOR_MANY = 16 };
enum { STEPS_MAX = 3, VARIANTS_MAX = 6 };

struct norm_variant {
    const char *name; /* NULL after the last one */
    int properties, steps;
    struct {
        enum norm_kernel kernel;
        enum norm_tensor in, out;
    } step[STEPS_MAX];
};

struct norm_operator {
    const char *name;
    uint32_t flags; /* NORM_RESIDUAL ... of reference.h */
    struct norm_variant variant[VARIANTS_MAX]; /* the fused kernel, the chain, others */
};
enum { RESIDUAL, RESIDUAL_FP8, RESIDUAL_INT8, BIAS_SILU, LAYER, LAYER_SILU, N_OPERATORS };
extern const struct norm_operator norm_operators[N_OPERATORS];

/* Are the results codes of one byte, rather than 16-bit numbers? */
bool norm_gives_codes(const struct norm_operator *o);

/* Bytes that a variant loads and stores; bytes that the fused kernel loads and stores of its
 * tensors alone; bytes of everything that a variant touches. */
double norm_bytes(const struct norm_variant *v, int rows, int cols);
double norm_tensor_bytes(const struct norm_operator *o, int rows, int cols);
double norm_memory(const struct norm_operator *o, const struct norm_variant *v, int rows, int cols);

#endif
