/* Arguments of the kernels in two_layers.cu and check.cu, for C and CUDA alike. */
#ifndef FUSED_TWO_LAYERS_ARGS_H
#define FUSED_TWO_LAYERS_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/verdict.h"
#include "fused/common/decoder/decoder.h"

enum {
    LAYERS_OPERATIONS = 4, /* up and down of the first layer, up and down of the second */
    LAYERS_JOINED = 2,     /* of a layer */
    LAYERS_TASKS = 32,     /* of an operation, at most: its first rows by chunk, then the others */
    LAYERS_ITEMS = 4,      /* at most */
    LAYERS_TRIES = 32,     /* messages from the first block to each other one, and back */
    LAYERS_READS = 4096,   /* of the clock, for its step */
};

/* When a task began and ended, by %globaltimer; 0: there is none. */
struct two_layers_task {
    uint64_t begun_ns, ended_ns;
};

struct two_layers_args {
    const char *weights;           /* operation after operation: rows x columns, bf16 */
    uint64_t weight_stride;        /* bytes from operation to operation */
    const float *input;            /* items x model */
    uint64_t *words;               /* items x operations x width: (epoch, fp32) */
    struct two_layers_task *tasks; /* blocks x items x operations x LAYERS_TASKS */
    struct grid_barrier_state *barrier;
    uint32_t model, hidden, width; /* width: the greater of the two */
    uint32_t items, epoch, budget_ns;
    uint32_t
        by_items; /* all operations of an item, then those of the next; 0: operation by operation */
    uint32_t by_layer; /* half of the blocks do the first layer, the others the second */
    uint32_t is_blind; /* planted fault: nobody waits for words */
    float up_scale, down_scale;
    uint32_t pad;
};
ARGS_SIZE(struct two_layers_args, 96);

/* What block 0 found of another block's clock: that, less its own, lies in [low, high]. */
struct two_layers_clock {
    int64_t low_ns, high_ns;
    uint64_t step_ns;   /* the least that the block saw between two readings that differ */
    uint32_t outside;   /* answers from before the question, or from after they came */
    uint32_t backwards; /* readings that were less than the one before */
};
ARGS_SIZE(struct two_layers_clock, 32);

struct two_layers_clock_args {
    struct two_layers_clock *found; /* of each block */
    uint64_t *question, *answer;    /* of each block, 128 bytes apart; 0 before the launch */
    struct grid_barrier_state *barrier;
    uint32_t budget_ns, pad;
};
ARGS_SIZE(struct two_layers_clock_args, 40);

struct two_layers_verify_args {
    const char *weights;
    uint64_t weight_stride;
    const float *input;
    const uint64_t *words;
    struct verdict *verdict;
    uint32_t model, hidden, width, items, epoch;
    float up_scale, down_scale;
    uint32_t pad;
};
ARGS_SIZE(struct two_layers_verify_args, 72);

#endif
