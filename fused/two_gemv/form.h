/* The layer of two_gemv and its forms, which differ in where the intermediate is kept between the
 * two products: operands, kernels, launches. */
#ifndef FUSED_TWO_GEMV_FORM_H
#define FUSED_TWO_GEMV_FORM_H

#include "fused/common/operation.h"

enum { TWO_MODEL_MAX = 8192 }; /* that the kernels are compiled for */
/* The longest intermediate of which every block can have a copy in shared memory (l2). */
int two_gemv_most_hidden(const struct probe_run *r);

/* The layer, its operands in `sets` sets, and the kernels. */
struct two_gemv_layer {
    int model, hidden;
    size_t sets;
    struct pool up, down, turned, h, y; /* turned: W2 transposed */
    void *x;
    double *reference; /* the intermediate in fp64 */
    void *partial;     /* sums of the blocks, in fp32 */
    size_t partial_bytes;
    struct grid_barrier_state *barrier;
    unsigned blocks; /* of a kernel that stays */
    cudaKernel_t stays[3], k_up, k_activate, k_down, k_reference, k_verify;
    cudaKernel_t k_up_dependent, k_down_dependent; /* NULL before compute capability 9.0 */
};
struct two_gemv_layer two_gemv_layer_of(struct probe_run *r, int model, int hidden, uint64_t seed);

/* Checks that no kernel's barrier used up its budget, too. */
void two_gemv_layer_free(struct probe_run *r, struct two_gemv_layer *l);

/* Where the intermediate is; the first three are one kernel that stays. */
enum two_gemv_impl { REGISTERS, SHARED, L2, KERNELS, DEPENDENT, UNFUSED, DRAM, N_TWO_GEMV_IMPLS };

struct two_gemv_form {
    const struct two_gemv_layer *l;
    enum two_gemv_impl impl;
};

/* Whether this GPU has its kernels. */
bool two_gemv_is_here(const struct two_gemv_form *form);

/* Of an operation, whose `self` is a form. */
void two_gemv_launch(struct probe_run *r, const void *self, size_t set);
void two_gemv_poison(struct probe_run *r, const void *self);

/* For DRAM: a launch multiplies W1 of `set`, and W2 of another set, which this returns. The
 * intermediate for that W2 was written half of all sets earlier. */
size_t two_gemv_second_set(const struct two_gemv_layer *l, size_t set);

#endif
