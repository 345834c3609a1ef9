/* Memory and launches of fixed_sizes, and whether the results are right. */
#ifndef FUSED_FIXED_SIZES_PROBLEM_H
#define FUSED_FIXED_SIZES_PROBLEM_H

#include "core/verdict.h"
#include "fused/common/operation.h"
#include "fused/fixed_sizes/args.h"

enum fixed_impl { IMPL_FIXED, IMPL_CAPPED, IMPL_GIVEN, IMPL_AGAIN, N_IMPLS };
extern const struct fixed_way {
    const char *name, *kernel, *what;
} fixed_ways[N_IMPLS];

struct sizes {
    uint32_t context, capacity, kv_heads, hidden;
};

struct problem {
    struct sizes
        of; /* of the point that is measured; capacity, kv_heads, hidden at most the first */
    uint32_t sets, items, most_context;
    struct pool cache, weights;
    uint16_t *q;
    float *residual, *states, *y;
    uint32_t *x;
    size_t states_bytes, x_bytes, y_count;
    struct grid_barrier_state *barrier;
    cudaKernel_t kernel[N_IMPLS], check[4];
    double *scores, *attention, *expected;
};

/* `most`: the greatest context, and the other sizes, that it is for. */
struct problem problem_open(struct probe_run *r, struct sizes most, uint32_t sets, uint32_t items);
void problem_close(struct probe_run *r, struct problem *p);

/* Goes to another context, and computes what is due there in double. */
void problem_at(struct probe_run *r, struct problem *p, uint32_t context, uint32_t capacity);

void problem_poison(struct probe_run *r, const struct problem *p);

/* Launches the kernel over so many items; with the time between two events, in ns. */
void problem_launch(struct probe_run *r, const struct problem *p, enum fixed_impl impl,
                    uint32_t items);
double problem_time(struct probe_run *r, const struct problem *p, enum fixed_impl impl,
                    uint32_t items);

/* What its kernel is like, as facts of the case. */
void problem_facts(struct probe_run *r, const struct problem *p, enum fixed_impl impl);

/* Of all items; without a judgement, and with one, which returns the error. */
struct verdict problem_verdict(struct probe_run *r, const struct problem *p);
double problem_require(struct probe_run *r, const struct problem *p, const char *when);
bool problem_gave_up(struct probe_run *r, const struct problem *p);

#endif
