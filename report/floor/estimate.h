/* The latency floor of a forward pass, from a bundle's primitives.
 *
 * Three numbers, in ns:
 *   floor    what must cross the memory at the fastest read that the bundle has, or the pass's
 *            multiplications at the fastest tensor rate, or its dependent steps at the fastest flag
 *            from SM to SM, whichever takes longest. A measured pass that is faster refutes it.
 *   serial   each step after the one before: an edge, the start of its bytes, their stream, and
 *            what a product or attention takes beyond a read.
 *   overlap  for packagings that load weights before a step may begin: the weights stream without
 *            a pause as long as what is held ahead has room, and a step begins an edge and its
 *            serial work after the one before.
 * No constant is fitted. How many kernels and steps a layer has, how many bytes a thread and a ring
 * hold, and how many instructions a turn of attention's loop is, is the packagings' design. */
#ifndef REPORT_FLOOR_ESTIMATE_H
#define REPORT_FLOOR_ESTIMATE_H

#include "core/packaging.h"
#include "report/floor/model.h"
#include "report/floor/primitives.h"

/* The ways to pack one decode step, as impl= of decoder_layer. */
#define PACKAGING_OF(identifier, name) PACKAGING_##identifier,
enum packaging_name { PACKAGING_EACH(PACKAGING_OF) PACKAGINGS };
extern const char *const packaging_names[PACKAGINGS];
struct packaging {
    const char *what;
    enum edge edge;
    /* Six a layer; one per operator, fourteen; cuBLAS, with one for each operator between its
     * products, eleven; or one that stays. */
    enum kernels { KERNELS_FUSED, KERNELS_SPLIT, KERNELS_LIBRARY, KERNELS_ONE } kernels;
    /* Of the weights, ahead: by the next kernel's ring, or by that of the kernel that stays. */
    enum held { HELD_NOTHING, HELD_BY_NEXT, HELD_BY_RING } held;
    bool is_near;            /* weights lie behind each SM's own half of the L2 */
    bool is_told_by_overlap; /* the overlap estimate is the prediction, otherwise the serial one */
};
extern const struct packaging packagings[PACKAGINGS];

/* Of one packaging, in ns; NaN where the bundle lacks a primitive, or nothing overlaps. */
struct estimate {
    double serial[CORNERS], overlap[CORNERS];
    double layer_serial[CORNERS], layer_overlap[CORNERS]; /* one layer of a chain */
};

/* What a change would make of the prediction: a share of it. */
struct what_if {
    double half_weights, no_edges, twice_bandwidth;
};

struct pass {
    const struct model *model;
    double context, batch;
    double weight_bytes, cache_bytes; /* of one decode step: the head's weights, and all layers' */
    double edges;                     /* dependent steps that a decode step cannot do without */
    double floor, floor_memory, floor_compute, floor_edges;
    double layer_floor;
    struct estimate by[PACKAGINGS];
    double encode_floor, encode_serial[CORNERS]; /* NaN without an encoder */
    size_t best;                                 /* the packaging that is predicted as fastest */
    double share_weights, share_cache, share_edges; /* of its prediction */
    struct what_if what_if;                             /* of it */
};

/* Fills in a pass; context and batch as given. False when the bundle lacks what even the floor
 * needs; why says what. */
bool pass_estimate(struct pass *pass, const struct model *model, double context, double batch,
                   const struct primitives *primitives, char why[DOCUMENT_WHY]);

/* What is predicted of a packaging: one of its two estimates. */
double estimate_told(const struct estimate *estimate, size_t packaging, enum corner corner);
double estimate_told_layer(const struct estimate *estimate, size_t packaging, enum corner corner);

/* What the design makes of the sizes, as decoder_layer has it: tiles of a ring, and splits of the
 * keys of a head. */
double packaging_tiles(size_t packaging, const struct primitives *primitives,
                       const struct model_decode *model, double batch);
double packaging_splits(const struct primitives *primitives, const struct model_decode *model,
                        double context, double batch);

/* The serial estimate holds for products with a vector; above this batch only the floor is
 * given. */
enum { BATCH_ESTIMATED = 4 };

#endif
