/* Arguments of the kernels of all_reduce, for C and CUDA alike. */
#ifndef LINKS_ALL_REDUCE_ARGS_H
#define LINKS_ALL_REDUCE_ARGS_H

#include "core/device/harness.h"
#include "links/common/exchange.h"

enum {
    EXCHANGE_WARM = 4,      /* rounds of a chain before its first clock read */
    EXCHANGE_THREADS_LEAST = 64, /* of a block; more where blocks of so many would be more than
                                  * SMs */
    EXCHANGE_THREADS = 512, /* of a block, at most */
};

/* Written by the first thread of a rank, in mapped memory. */
struct chain_result {
    struct harness_stamp lead, tail;
    uint64_t short_cycles, long_cycles; /* n rounds and a barrier; 2 n rounds and a barrier */
};

/* Vectors are in units of the payload of a slot. A chain does n rounds, then 2 n. */
struct exchange_args {
    struct exchange x;
    const void *from;
    void *to; /* may be from */
    uint64_t units;
    float scale;     /* of sums: 1, or in a chain 1 / ranks, so that they stay what they are */
    uint32_t rounds; /* n of a chain */
    struct chain_result *result; /* of a chain; mapped */
};
ARGS_SIZE(struct exchange_args, 176);

/* Rounds on vectors that every rank can compute for every other, in each round others. */
struct campaign_args {
    struct exchange x;
    uint64_t units;
    uint32_t rounds, seed;
    uint32_t *wrong; /* units that are not what they should be */
};
ARGS_SIZE(struct campaign_args, 160);

#endif
