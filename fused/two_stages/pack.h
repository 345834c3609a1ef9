/* Memory of a pair of stages, and the ways to run them over items. */
#ifndef FUSED_TWO_STAGES_PACK_H
#define FUSED_TWO_STAGES_PACK_H

#include "fused/common/operation.h"
#include "fused/two_stages/args.h"
#include "fused/two_stages/halves.h"

enum stages_impl {
    STAGES_ALL,
    STAGES_DEPENDENT,
    STAGES_STREAMS,
    STAGES_GREEN,
    STAGES_STAY,
    STAGES_TURNS,
    STAGES_QUEUE,
    STAGES_STAY_SHARED,
    STAGES_TURNS_SHARED,
    STAGES_QUEUE_SHARED,
    N_STAGES_IMPLS,
};

struct stages_way {
    const char *name, *what;
    bool stays, in_shared, by_halves, lags; /* lags: for items that depend on nothing */
};
extern const struct stages_way stages_ways[N_STAGES_IMPLS];

/* Items that depend on nothing, or a chain: x of each is y of the one before. */
enum stages_order { STAGES_FREE, STAGES_CHAIN, N_STAGES_ORDERS };

struct stages {
    struct decoder_shape shape;
    uint32_t sets, items, epoch; /* items: of the larger amount of work */
    struct pool up, down;
    float *x, *y[N_STAGES_ORDERS];
    void *h, *back;
    size_t h_bytes;
    uint32_t *counters;
    struct grid_barrier_state *state;
    cudaKernel_t k_up, k_down, k_up_dependent, k_down_dependent, k_stay, k_shared;
    struct halves halves; /* of the way that is measured */
};

/* Is this a size that the kernels take? */
bool stages_fits(uint32_t columns);

struct stages stages_open(struct probe_run *r, uint32_t model, uint32_t hidden, uint32_t sets,
                          uint32_t items);
void stages_close(struct probe_run *r, struct stages *s);
void stages_poison(struct probe_run *r, const struct stages *s);

/* NULL, or why this machine has no such packaging. Opens what it needs; stages_end() closes it. */
const char *stages_begin(struct probe_run *r, struct stages *s, enum stages_impl impl, char *why,
                         size_t size);
void stages_end(struct stages *s, enum stages_impl impl);

struct stages_work {
    uint32_t items;
    enum stages_order order;
    uint32_t blind; /* enum two_stages_blind; of the kernels that stay */
};

/* Puts the work on the run's stream; what forks joins again. */
void stages_launch(struct probe_run *r, struct stages *s, enum stages_impl impl,
                   struct stages_work w);

/* The same between two events, in ns. `graph`: of what is in one. */
double stages_time(struct probe_run *r, struct stages *s, enum stages_impl impl,
                   struct stages_work w, const struct gpu_graph *graph);

/* Blocks of the last launch in each half of the SMs. */
void stages_seats(struct probe_run *r, const struct stages *s, uint32_t seats[2]);

#endif
