/* Models: what a forward pass at small batch reads and computes, as data.
 *
 * A pass is an encoder over a number of positions, or a number of decode steps of one token per
 * sequence, or one after the other. Weights and caches have bytes per element; a decode layer is
 * that of Llama (RMSNorm, QKV, rope, append, attention, O, RMSNorm, gate and up, SiLU, down), an
 * encoder layer that of a transformer with four square projections and two products of a
 * feed-forward network. */
#ifndef REPORT_FLOOR_MODEL_H
#define REPORT_FLOOR_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/document.h"

struct model_decode {
    double layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;
    double weight_bytes, cache_bytes; /* of one element */
};

struct model_encode {
    double layers, hidden, heads, ffn, positions;
    double weight_bytes;
};

struct model {
    char name[64];
    const char *remark;         /* NULL, or whose example it is */
    struct model_encode encode; /* layers 0: none */
    struct model_decode decode; /* layers 0: none */
};

/* The models that the command knows by name; NULL past the last. */
const struct model *model_at(size_t i);

/* A model by its name, or from a file of schema "model" (docs/FLOOR.md describes it). False, with
 * one line in why. */
bool model_read(struct model *model, const char *name, char why[DOCUMENT_WHY]);

#endif
