/* One point of the sweep: which decoder, how many sequences, how many keys; what follows from the
 * sizes; and what each operator must do, by count. Plain C, without CUDA. */
#ifndef FUSED_BATCHED_LAYER_PROBLEM_H
#define FUSED_BATCHED_LAYER_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

#include "fused/common/decoder/model.h"

/* What the sizes are held against. */
struct batched_machine {
    uint32_t n_sm;
    double free_bytes, l2_bytes;
};

struct batched_problem {
    const char *model;
    struct decoder_shape shape;
    uint32_t batch, context, capacity;
    uint32_t group;               /* for which attention's kernel is built: 4 or 8 */
    uint32_t splits;              /* of a sequence's keys; 0: chosen */
    uint32_t weight_sets, cache_sets; /* 0: chosen, so that more than 3 x L2 lies between two
                                       * uses */
    uint32_t layers;              /* of the shorter timed chain */
};

/* False, with one line in why, where the sizes are refused. The caller gives model, shape, batch
 * and context, and may give splits and sets. */
bool batched_problem_make(struct batched_problem *p, const struct batched_machine *m, char *why,
                          size_t size);

uint64_t batched_cache_bytes(const struct batched_problem *p);

/* Bytes that one layer must read: its matrices, its norms' weights, and all keys and values. */
double batched_layer_reads(const struct batched_problem *p);

/* About how long a read of so many bytes takes on an H200: how much work is timed together depends
 * on it, no figure. */
double batched_read_ns(double bytes);

/* The operators of a layer, as a kernel for each of them takes them; norm and add twice. Behind
 * them those that fusing makes: rope, append and attention as one; products that add to the
 * residual. */
enum batched_operator {
    OP_NORM_ATTENTION, OP_QKV, OP_ROPE, OP_APPEND, OP_ATTENTION, OP_O, OP_ADD_O, OP_NORM_FFN,
    OP_GATE_UP, OP_SILU, OP_DOWN, OP_ADD_DOWN, BATCHED_OPERATORS,
    OP_LOOK = BATCHED_OPERATORS, OP_O_ADDS, OP_DOWN_ADDS, BATCHED_ALL_OPERATORS,
    OP_END = 255,
};
const char *batched_operator_name(enum batched_operator op); /* operator=NAME */

/* Loads and stores, whichever cache serves them, and multiply-adds on tensor cores, each counted as
 * two. */
double batched_bytes(const struct batched_problem *p, enum batched_operator op);
double batched_flops(const struct batched_problem *p, enum batched_operator op);

/* What bounds an operator or a layer from below, in ns. The greater of bytes and arithmetic binds a
 * kernel; launches come on top. */
struct batched_rates {
    double read;   /* bytes/ns */
    double tensor; /* flops/ns */
    double node;   /* ns of a kernel that does nothing, in a graph */
};
struct batched_floors {
    double bytes, arithmetic, launches;
};
struct batched_floors batched_floors_of(const struct batched_problem *p, enum batched_operator op,
                                        double kernels, const struct batched_rates *rates);
/* Of a layer, a kernel for each operator: bytes of those operators that bytes bind, arithmetic of
 * those that arithmetic binds. */
struct batched_floors batched_layer_floors(const struct batched_problem *p, double kernels,
                                           const struct batched_rates *rates);

#endif
