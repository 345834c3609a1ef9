/* Arguments of the kernels in shared_room.cu and check.cu, for C and CUDA alike. */
#ifndef FUSED_SHARED_ROOM_ARGS_H
#define FUSED_SHARED_ROOM_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum {
    ROOM_THREADS = 256,
    ROOM_VECTOR = 8, /* elements that a thread takes at a time: 16 bytes of bf16 */
    ROOM_STAGES = 2, /* tiles of a block in flight, where copies bring them */
    ROOM_ROWS = 4,   /* of a block, one after the other, where copies bring them */
    ROOM_SCRATCH = 64, /* bytes of a block beside its row: the sums of its warps */
};

struct shared_room_args {
    const void *x, *residual; /* rows x columns bf16 */
    float *h;                 /* their sum: rows x columns, or a row for each block that stays */
    void *y;                  /* rows x columns bf16 */
    uint32_t rows, columns;
    uint32_t looks; /* of the kernel that stays: how often it reads h for the variance */
    float epsilon;
    float inverse, inverse_looks; /* 1 / columns, 1 / (columns x looks) */
};
ARGS_SIZE(struct shared_room_args, 56);

struct shared_room_verify_args {
    const void *x, *residual, *y;
    struct verdict *verdict;
    uint32_t rows, columns;
    float epsilon;
    uint32_t pad;
};
ARGS_SIZE(struct shared_room_verify_args, 48);

#endif
