/* One token through a decoder of Llama's kind at small batch: shapes, memory, and how the work is
 * dealt out to blocks. For C and CUDA alike; the device functions are in the .cuh files beside it.
 *
 * A layer is RMSNorm, QKV, rotary embedding, KV append, attention by groups of heads (GQA), O plus
 * residual, RMSNorm, gate and up, SiLU, down plus residual. Weights, keys, values and what goes
 * into a product are bf16; the residual, sums and softmax are fp32. Position context - 1 is the new
 * token's; rows 0 ... context - 2 of the cache are old.
 *
 * Six steps depend on each other: QKV, attention over a split of the keys, the merge of the splits,
 * O, gate and up, down. What a step hands over goes through `mail`, as 32-bit words. */
#ifndef FUSED_COMMON_DECODER_DECODER_H
#define FUSED_COMMON_DECODER_DECODER_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/device/sides.h"

/* The code is in deal.cuh, which kernels include, and which fused/common/decoder.c compiles for the
 * host. */
#ifdef __CUDACC__
#define DECODER_FUNCTION static __host__ __device__ __forceinline__
#else
#define DECODER_FUNCTION
#endif

enum {
    DECODER_THREADS = 256, /* that compute, of a block */
    DECODER_WARPS = DECODER_THREADS / 32,
    DECODER_CHUNK = 1024,  /* elements of a row that the block takes at a time */
    DECODER_TILE_ROWS = 8,
    DECODER_TILE_BYTES = DECODER_TILE_ROWS * DECODER_CHUNK * 2, /* a stage of the ring */
    DECODER_BLOCK_ROWS = 32, /* rows whose sums a thread holds in registers */
    DECODER_UNIT_ROWS = 4, /* rows of a unit, at most */
    DECODER_ROUND = 128,   /* sums that a block finishes at a time: rows x batch */
    DECODER_SPLITS = 16,   /* of the keys of a head, at most */
    DECODER_BATCH = 4,     /* sequences, at most */
    DECODER_STAGES = 13,   /* of the ring, at most */
    DECODER_ALIGN = 256,   /* bytes: where each matrix begins */
};

struct decoder_shape {
    uint32_t hidden, heads, kv_heads, head_dim, ffn, vocabulary;
};

/* The matrices, row-major, in the order in which they lie in a layer's memory; then the two norms'
 * weights, `hidden` bf16 each. DECODER_HEAD is none of a layer's: it and its norm lie apart. */
enum decoder_matrix {
    DECODER_QKV,     /* rows: all q heads, all k heads, all v heads; columns: hidden */
    DECODER_O,       /* hidden x (heads x head_dim) */
    DECODER_GATE_UP, /* rows: all of gate, then all of up; columns: hidden */
    DECODER_DOWN,    /* hidden x ffn */
    DECODER_MATRICES,
    DECODER_HEAD = DECODER_MATRICES, /* vocabulary x hidden */
    DECODER_GATE, DECODER_UP,        /* each half of DECODER_GATE_UP, where it is a product of its
                                      * own */
    DECODER_PLANS
};

/* Rows are dealt out in units that one thread finishes: the two halves of a rotary pair, gate and
 * up of two neighbours of the intermediate, or one row. */
DECODER_FUNCTION uint32_t decoder_unit_rows(enum decoder_matrix m);
DECODER_FUNCTION uint32_t decoder_units(const struct decoder_shape *s, enum decoder_matrix m);
DECODER_FUNCTION uint32_t decoder_columns(const struct decoder_shape *s, enum decoder_matrix m);
/* The matrix's row that is row i in the order in which rows are dealt out. */
DECODER_FUNCTION uint32_t decoder_row(const struct decoder_shape *s, enum decoder_matrix m,
                                      uint32_t i);

/* The last chunk of a row may be shorter. */
DECODER_FUNCTION uint32_t decoder_chunks(uint32_t columns);

/* Which units a block has: blocks take turns at having one more, so that over several matrices all
 * have the same. `turn` is 0 for the first matrix; decoder_next_turn() for each further one. */
struct decoder_share {
    uint32_t first, count;
};
DECODER_FUNCTION struct decoder_share decoder_share_of(uint32_t units, uint32_t blocks,
                                                     uint32_t block, uint32_t turn);
DECODER_FUNCTION uint32_t decoder_next_turn(uint32_t units, uint32_t blocks, uint32_t turn);

/* What both take of a matrix, with the divisions made: a block keeps one for each matrix. */
struct decoder_plan {
    uint64_t place;              /* decoder_place() */
    uint32_t each, more;         /* units / blocks, units % blocks */
    uint32_t unit_rows, columns;
};
DECODER_FUNCTION struct decoder_plan decoder_plan_of(const struct decoder_shape *s,
                                                   enum decoder_matrix m, uint32_t blocks);
DECODER_FUNCTION struct decoder_share decoder_share_by(const struct decoder_plan *p,
                                                       uint32_t blocks, uint32_t block,
                                                       uint32_t turn);
DECODER_FUNCTION uint32_t decoder_turn_after(const struct decoder_plan *p, uint32_t blocks,
                                           uint32_t turn);

/* --- memory ----------------------------------------------------------------------------------- */

DECODER_FUNCTION uint64_t decoder_aligned(uint64_t bytes);
DECODER_FUNCTION uint64_t decoder_matrix_bytes(const struct decoder_shape *s,
                                               enum decoder_matrix m);
/* Of a matrix within a layer; of DECODER_MATRICES: of the norms' weights. */
DECODER_FUNCTION uint64_t decoder_place(const struct decoder_shape *s, int matrix);
DECODER_FUNCTION uint64_t decoder_norm_place(const struct decoder_shape *s, int which);
DECODER_FUNCTION uint64_t decoder_layer_bytes(const struct decoder_shape *s);
/* Keys of a layer: batch x kv_heads x capacity x head_dim; its values follow. */
DECODER_FUNCTION uint64_t decoder_cache_half(const struct decoder_shape *s, uint32_t batch,
                                           uint32_t capacity);

/* Where each step's words begin in the mail of a layer. */
struct decoder_mail {
    uint32_t qkv;       /* batch x (heads + 2 kv_heads) x head_dim/2: i and i + head_dim/2, bf16 */
    uint32_t split;     /* batch x heads x splits x (2 + head_dim): maximum, sum, row; fp32 */
    uint32_t attention; /* batch x heads x head_dim/2: neighbours, bf16 */
    uint32_t o;         /* batch x hidden: what O adds to the residual, fp32 */
    uint32_t h;         /* batch x ffn/2: neighbours of the intermediate, bf16 */
    uint32_t down;      /* batch x hidden: fp32 */
    uint32_t best;      /* batch x blocks x 2: the block's greatest logit, fp32, and its row */
    uint32_t x;         /* one kernel an operator: batch x hidden/2, the norm's result, bf16 */
    uint32_t raw;       /* and batch x rows of a product, fp32: QKV; O; gate and up; down */
    uint32_t words;
};
DECODER_FUNCTION struct decoder_mail decoder_mail_of(const struct decoder_shape *s, uint32_t batch,
                                                   uint32_t splits, uint32_t blocks);

/* Dynamic shared memory of a block, in bytes from its beginning. */
struct decoder_shared {
    uint32_t ring;     /* stages x DECODER_TILE_BYTES */
    uint32_t barriers; /* stages x (full, empty) */
    uint32_t residual; /* batch x hidden fp32 */
    uint32_t x;        /* a product's vector, batch x columns bf16; or what attention needs */
    uint32_t sums;     /* 2 x DECODER_ROUND x DECODER_WARPS fp32 */
    uint32_t rope;     /* head_dim/2 x (cosine, sine) fp32 */
    uint32_t few;      /* 64 fp32 */
    uint32_t plans;    /* DECODER_PLANS */
    uint32_t bytes;
};
DECODER_FUNCTION struct decoder_shared decoder_shared_of(const struct decoder_shape *s,
                                                       uint32_t batch, uint32_t stages,
                                                       int has_residual);

/* --- near ------------------------------------------------------------------------------------- */

/* A copy of the matrices in which each SM's rows lie in the memory behind its own half of the L2
 * (core/sides.h). Rows lie in pairs: chunk c of both is a piece of SIDES_PIECE bytes. Units are
 * dealt out in groups of at least two rows, of which side 0 has the first, the third ..., and side
 * 1 the others. Piece k of a side's rows is in that half of the matrix's k-th SIDES_BOTH bytes
 * whose home is that side. */
DECODER_FUNCTION uint32_t decoder_near_group(enum decoder_matrix m); /* units of a group */
DECODER_FUNCTION uint32_t decoder_near_pairs(enum decoder_matrix m); /* pairs of rows of a group */
DECODER_FUNCTION uint32_t decoder_near_groups(const struct decoder_shape *s, enum decoder_matrix m,
                                              uint32_t side);
DECODER_FUNCTION uint64_t decoder_near_bytes(const struct decoder_shape *s, enum decoder_matrix m);
/* Of a matrix within a layer, and of a layer: as decoder_place() and decoder_layer_bytes(). */
DECODER_FUNCTION uint64_t decoder_near_place(const struct decoder_shape *s, int matrix);
DECODER_FUNCTION uint64_t decoder_near_layer_bytes(const struct decoder_shape *s);
/* The plan of a block that is one of `blocks` on its side; each and more count groups. */
DECODER_FUNCTION struct decoder_plan decoder_near_plan_of(const struct decoder_shape *s,
                                                          enum decoder_matrix m, uint32_t side,
                                                          uint32_t blocks);
/* The share of one of them; its first counts groups, and its count units. */
DECODER_FUNCTION struct decoder_share decoder_near_share_by(const struct decoder_shape *s,
                                                            const struct decoder_plan *p,
                                                            enum decoder_matrix m, uint32_t side,
                                                            uint32_t blocks, uint32_t block,
                                                            uint32_t turn);
/* Unit i of such a share. */
DECODER_FUNCTION uint32_t decoder_near_unit(enum decoder_matrix m, uint32_t side, uint32_t first,
                                            uint32_t i);
/* The first of the two rows, in the order in which rows are dealt out, of a side's pair. */
DECODER_FUNCTION uint32_t decoder_near_row(enum decoder_matrix m, uint32_t side, uint32_t pair);

struct decoder_near {
    const char *weights; /* sets x layer_bytes */
    const char *head;
    uint64_t layer_bytes; /* decoder_near_layer_bytes() */
    struct sides_map map;
};

/* Copies matrix m of a layer, or the head, to where its rows are near: move.cuh. */
struct decoder_move_args {
    const char *from;
    char *to;
    struct decoder_shape shape;
    uint32_t m, unused;
    struct sides_map map;
};
ARGS_SIZE(struct decoder_move_args, 88);

/* The old keys of one split. The last split has the new key besides. */
DECODER_FUNCTION struct decoder_share decoder_keys_of(uint32_t context, uint32_t splits,
                                                      uint32_t split);

/* --- arguments -------------------------------------------------------------------------------- */

/* Moments of one block in one step of one layer, by the SM's clock: see layer.cuh. */
enum decoder_stamp {
    DECODER_BEGUN,     /* it began to wait for what the step before hands over */
    DECODER_ARRIVED,   /* it has that */
    DECODER_COMPUTED,  /* all its tiles are used up */
    DECODER_PUBLISHED, /* it has handed over its own */
    DECODER_STARVED,   /* not a moment: cycles in which its first warp waited for a tile */
    DECODER_STAMPS
};
enum decoder_step {
    DECODER_STEP_QKV, DECODER_STEP_ATTENTION, DECODER_STEP_MERGE, DECODER_STEP_O,
    DECODER_STEP_GATE_UP, DECODER_STEP_DOWN, DECODER_STEPS
};

struct decoder_args {
    const void *weights;     /* sets x decoder_layer_bytes() */
    void *cache;             /* sets x 2 x decoder_cache_half() */
    const void *rope;        /* head_dim/2 x (cosine, sine) of the new token's angles, fp32 */
    const void *input;       /* batch x hidden fp32: what the first layer gets; NULL: an
                              * embedding */
    float *output;           /* batch x hidden fp32: what the last layer leaves; kernels: the
                              * residual */
    const void *embedding;   /* vocabulary x hidden bf16, or NULL: layers alone */
    const void *head;        /* vocabulary x hidden bf16, or NULL */
    const void *head_norm;   /* hidden bf16 */
    float *logits;           /* batch x vocabulary, or NULL */
    uint32_t *tokens;        /* (steps + 1) x batch: the first ones given, then those chosen */
    void *mail;              /* generations x words, of 4 bytes, or of 8 with epochs */
    struct grid_barrier_state *barrier;
    uint64_t *stamps;        /* layers x DECODER_STEPS x blocks x DECODER_STAMPS, or NULL */
    struct decoder_shape shape;
    uint32_t layers, sets;   /* layer l has the weights and the cache of set l % sets */
    uint32_t steps;          /* tokens, one after the other, at the same position; kernels of one
                              * step: how many tokens were chosen before this one */
    uint32_t context, capacity, splits;
    uint32_t generations;    /* of mail: layer l has generation l % generations; at least 2 */
    uint32_t epoch;          /* greater than every epoch of earlier launches into this mail */
    uint32_t stages;         /* of the ring */
    uint32_t layer, batch;   /* of a kernel that is one step of one layer */
    uint32_t budget_ns;      /* a block that waits longer gives up, and sets barrier->aborted */
    uint32_t skew_ns;        /* watched kernels: each block waits up to so long before each step */
    float epsilon;           /* of RMSNorm */
    uint32_t blocks;         /* of the launch that does the head: see decoder_mail */
    uint32_t in_flight;      /* tiles of the ring that a block asks for before they come, at most */
    struct decoder_near near;
};
ARGS_SIZE(struct decoder_args, 256);

#endif
