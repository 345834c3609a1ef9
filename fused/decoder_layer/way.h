/* The packagings of a decoder's layers, as data: which kernels they launch, in which order. */
#ifndef FUSED_DECODER_LAYER_WAY_H
#define FUSED_DECODER_LAYER_WAY_H

#include "core/packaging.h"
#include "fused/decoder_layer/args.h"
#include "fused/decoder_layer/library.h"
#include "fused/decoder_layer/tensors.h"

#define DECODER_WAY_OF(identifier, name) WAY_##identifier,
enum decoder_way_name { PACKAGING_EACH(DECODER_WAY_OF) DECODER_WAYS };

/* Packagings of one kind add up in the same order and round at the same places: they give the same
 * bits, on any number of blocks. */
enum decoder_bits { BITS_SPLIT, BITS_FUSED, BITS_LIBRARY, DECODER_BITS };

struct decoder_way {
    const char *what;
    unsigned kernels;            /* of one layer; a kernel that stays: of any number of layers */
    const uint8_t *layer, *head; /* enum decoder_kernel, in order; NULL: a kernel that stays */
    enum decoder_bits bits;
    enum decoder_rounds rounds;
    enum decoder_mail_kind mail;
    bool in_graph;               /* timed as a graph; else launched */
    bool has_ring, is_dependent, is_near;
    int min_cc;
};
extern const struct decoder_way decoder_ways[DECODER_WAYS];

const char *way_name(const struct decoder_way *way);

/* What one launch does. */
struct decoder_work {
    uint32_t layers;
    uint32_t steps;       /* whole steps, each feeding its token to the next; 0: layers alone */
    bool keeps_mail;      /* each layer's, as long as there are generations for it */
    bool is_watched;      /* by the twin with stamps; of kernels that stay, at batch 1 */
    uint32_t skew_ns;     /* of that twin: every block waits up to so long before every step */
};

enum decoder_kernel {
    K_EMBED, K_NORM_ATTENTION, K_NORM_FFN, K_NORM_HEAD, K_ADD_NORM, K_ROTATE, K_APPEND,
    K_ROTATE_APPEND, K_ADD, K_ACTIVATE, K_ATTENTION, K_MERGE, K_CHOOSE, K_QKV, K_O, K_GATE_UP,
    K_DOWN, K_HEAD, K_MULTIPLY_QKV, K_MULTIPLY_O, K_MULTIPLY_GATE, K_MULTIPLY_UP, K_MULTIPLY_DOWN,
    K_MULTIPLY_HEAD, DECODER_KERNELS,
    K_LIBRARY = 64, /* + enum decoder_matrix: a product by cuBLASLt */
    K_END = 255,
};

/* The kernels of one problem. NULL where this GPU, or this shape, has none. */
struct decoder_kernels {
    cudaKernel_t plain[DECODER_KERNELS], dependent[DECODER_KERNELS];
    cudaKernel_t stays[DECODER_WAYS], watched[DECODER_WAYS];
};
struct decoder_kernels decoder_kernels_of(struct probe_run *r, const struct decoder_problem *p);

/* One way to run one problem. */
struct decoder_packing {
    const struct decoder_way *way;
    struct decoder_tensors *t;
    const struct decoder_kernels *k;
    const struct decoder_library *library; /* of cublas */
};

/* NULL if it can run here, else why not. */
const char *decoder_lacks(const struct probe_run *r, const struct decoder_packing *p);
bool decoder_can_watch(const struct decoder_packing *p);

/* Launches the work on the run's stream. What is no kernel that stays can be captured in a graph; a
 * kernel that stays begins with an epoch of its own each time. */
void decoder_launch(struct probe_run *r, const struct decoder_packing *p,
                    const struct decoder_work *work);

/* What a launch left in the mail of a layer: words, and how far apart they are. */
struct decoder_left {
    const uint32_t *words;
    uint32_t stride;
    struct decoder_mail at;
};
struct decoder_left decoder_left_by(const struct probe_run *r, const struct decoder_packing *p,
                                    uint32_t layer);

/* Kernels of the graph of some work. */
size_t decoder_count_kernels(struct probe_run *r, const struct decoder_packing *p,
                             const struct decoder_work *work);

#endif
