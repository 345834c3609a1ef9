/* Which decoder, at which batch and context: named models, sizes from the command line, what is
 * refused, and what follows from the sizes. Plain C, without CUDA. */
#ifndef FUSED_COMMON_DECODER_MODEL_H
#define FUSED_COMMON_DECODER_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "fused/common/decoder/decoder.h"

struct decoder_model {
    const char *name; /* model=NAME */
    struct decoder_shape shape;
    uint32_t layers;  /* of the whole model */
    uint32_t chain;   /* layers of the shorter timed chain, at least; 0: two */
};
enum { MODEL_1B, MODEL_3B, MODEL_8B, MODEL_70B, DECODER_MODELS };
extern const struct decoder_model decoder_models[DECODER_MODELS];

/* What the sizes are held against. */
struct decoder_machine {
    uint32_t blocks;    /* of a kernel that stays: one on each SM, or fewer */
    uint32_t shared;    /* bytes of shared memory that a block can have */
    bool has_bulk;      /* copies to shared memory in bulk: compute capability 9.0 */
    double free_bytes;  /* of device memory */
    double l2_bytes;
};

/* One point of the sweep. The caller gives model, batch, context, and may give splits and sets;
 * decoder_problem_make() fills in the rest. */
struct decoder_problem {
    struct decoder_model model;
    uint32_t batch, context;
    uint32_t splits;    /* of a head's keys; 0: chosen */
    uint32_t sets;      /* of weights and of caches; 0: chosen */
    uint32_t capacity;  /* rows of a cache */
    uint32_t blocks;    /* of a kernel that stays */
    uint32_t head_dim, group; /* for which the attention kernels are built: 64_4, 128_4, 128_8 */
    uint32_t stages;    /* of the ring; 0: it does not fit, so that only other packagings run */
    uint32_t product_stages; /* of a product's that comes and goes; 0: weights straight from
                              * memory */
};

/* False, with one line in why, where the sizes are refused. */
bool decoder_problem_make(struct decoder_problem *p, const struct decoder_machine *m, char *why,
                          size_t size);

/* Bytes that one layer must read: its matrices, its norms' weights, and all keys and values. */
double decoder_layer_reads(const struct decoder_problem *p);

/* Bytes that one whole step must read: its layers, the head and its norm's weights. */
double decoder_step_reads(const struct decoder_problem *p);

/* Of all memory that a problem takes. */
double decoder_problem_bytes(const struct decoder_problem *p);

/* Layers of the shorter timed chain: as many as the model says, and more where those would not be
 * cold. 0: so many that no chain of them is timed. */
uint32_t decoder_chain_layers(const struct decoder_problem *p, double l2_bytes);

/* Has each SM rows of every product in a copy that lies near? It must hand some over: see
 * edge.cuh. */
bool decoder_near_suits(const struct decoder_shape *s, const struct sides_map *map);

/* Dynamic shared memory of a block; has_residual: of a kernel that stays. */
uint32_t decoder_shared_bytes(const struct decoder_problem *p, uint32_t stages, bool has_residual);

#endif
