/* What kernels know of the two halves of the L2: see core/sides.h. For C and CUDA alike. */
#ifndef GPUFLOOR_DEVICE_SIDES_H
#define GPUFLOOR_DEVICE_SIDES_H

#include <stdint.h>

#include "core/args.h"

enum {
    SIDES_PIECE = 4096, /* bytes that have one home */
    SIDES_BOTH = 8192,  /* aligned: a piece of each side, in either order */
    SIDES_BOTH_BITS = 13,
    SIDES_PAGE_BITS = 21,
    SIDES_UNIT_BITS = SIDES_PAGE_BITS - SIDES_BOTH_BITS,
};

struct sides_map {
    const uint32_t *pages; /* a bit for each page from first_page on */
    const uint32_t *sms;   /* of each SM: its rank among those of its side, times 2, + its side */
    uint64_t first_page;   /* address >> SIDES_PAGE_BITS */
    uint32_t mask;         /* bits of the number of SIDES_BOTH in its page whose parity counts */
    uint32_t count[2];     /* SMs of each side */
    uint32_t is_swapped;   /* a control: what is near is called far, and the other way round */
};

/* The least cycles of a few atomics that change nothing, on n words. by_sm: each SM asks for all of
 * them, cycles[sm x n + i]. Else the blocks share them out, and sm[i] says who asked for word i. */
struct sides_ask_args {
    uint32_t *const *word;
    uint32_t *cycles, *sm;
    uint32_t n, by_sm;
};
ARGS_SIZE(struct sides_ask_args, 32);

#endif
