/* One point of the sweep, its memory made when the first of its cases is due. */
#ifndef FUSED_BATCHED_LAYER_POINT_H
#define FUSED_BATCHED_LAYER_POINT_H

#include "fused/batched_layer/check.h"

/* A model's weights, which its batches share; and what a layer is compared with. */
struct family {
    const struct blas *blas;
    char no_blas[320];         /* why there is none */
    struct batched_weights w;
    struct batched_rates rates; /* 0: not measured in this process */
};

enum { POINT_ONE, POINT_SHORT, POINT_LONG, POINT_CHAINS }; /* 1 layer, n, 2n */

struct point {
    struct batched_problem p;
    struct family *family;
    unsigned flags;
    bool is_ready, has_products;
    struct batched_kernels kernels;
    struct batched_tensors t;
    struct batched_products products;
    struct batched_check check;
    uint64_t digest[BATCHED_BITS][POINT_CHAINS]; /* 0: not verified yet */
    double error[BATCHED_BITS];                  /* of one layer */
    double read_ns, graph_ns, graph_kernels;     /* of one layer; 0: not measured */
};

/* Gives it memory, kernels and the products' algorithms, once. */
void point_ready(struct probe_run *r, struct point *q);
void point_free(struct probe_run *r, struct point *q);
struct batched_work point_work(const struct point *q);

/* Verifies a packaging against float64, or against the bits of one of its kind that was. Returns
 * the error of one layer. */
double point_verify(struct probe_run *r, struct point *q, const struct batched_pack *pack);
/* Has a launch of so many layers left the bits of what was verified? */
void point_require_bits(struct probe_run *r, struct point *q, const struct batched_pack *pack,
                        int chain, const char *when);
uint32_t point_layers(const struct point *q, int chain);

#endif
