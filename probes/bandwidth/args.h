/* Arguments of the kernels in bandwidth.cu, for C and CUDA alike. An element is 16 bytes. */
#ifndef PROBES_BANDWIDTH_ARGS_H
#define PROBES_BANDWIDTH_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    /* Global memory: threads per block, and elements that each thread keeps in flight. */
    STREAM_THREADS = 1024, /* read and write */
    STREAM_LOADS = 4,
    COPY_THREADS = 128,
    COPY_LOADS = 2,
    ASYNC_THREADS = 256, /* cp.async; ASYNC_SLOTS steps in the ring */
    ASYNC_LOADS = 4,
    ASYNC_SLOTS = 4,
    BULK_THREADS = 128, /* bulk copies: one thread issues them, all fill and check shared memory */
    BULK_BYTES = 16384, /* of one copy */
    BULK_SLOTS = 4,     /* of the ring in shared memory */

    /* Memory of an SM. */
    LOCAL_THREADS = 512,
    LOCAL_LOADS = 4,
    LOCAL_ELEMENTS = LOCAL_THREADS * LOCAL_LOADS, /* 32 KiB: one pass over shared memory */
    L1_THREADS = 1024,
    REGISTER_THREADS = 1024, /* of 64 registers each: the whole register file */
    REGISTER_SUMS = 48,
    REGISTER_OPERANDS = 4,   /* the number of factors; also of terms */
    REGISTER_ROUNDS = 4,     /* over all sums, per pass */

    /* Sums are gathered in SUM_WORDS words, SUM_SPACING words apart. */
    SUM_WORDS = 64,
    SUM_SPACING = 32,
};

/* How a block goes through memory. It does `turns` pieces, each `step` elements after the last, and
 * wraps round in a range of its own. The range begins at element who x base; the first piece begins
 * at element who x first of the range. `who` is the block's index; it can be the same for a pair of
 * neighbouring SMs, or for all. */
enum bandwidth_who { WHO_BLOCK, WHO_PAIR, WHO_ALL };

struct bandwidth_walk {
    uint32_t base, first, step, range; /* elements; step a power of two, range a multiple of it */
    uint32_t turns;
    uint32_t who;
};

/* What a turn at element `at` adds to the launch's log. */
ARGS_BOTH uint32_t bandwidth_mark(uint32_t at)
{
    uint32_t x = (at + 1) * 0x9e3779b9u;
    return x ^ x >> 15;
}

struct bandwidth_args {
    const void *in;
    void *out;
    uint32_t *sum; /* gains all 32-bit words that are read; NULL: not summed */
    uint32_t *log; /* gains the marks of all turns done; reads by ld leave none */
    struct bandwidth_walk walk;
    uint32_t salt; /* of the pattern that is written; differs in every launch */
    uint32_t pad;
};
ARGS_SIZE(struct bandwidth_args, 64);

struct bandwidth_local {
    uint64_t cycles; /* of all passes */
    uint32_t sm;
    uint32_t wrong;  /* elements of shared memory that are wrong at the end */
};

struct bandwidth_local_args {
    const void *in;
    uint32_t *sum;
    struct bandwidth_local *blocks; /* one each */
    uint32_t elements;              /* that a block reads per pass */
    uint32_t passes;
    uint32_t salt, pad;
};
ARGS_SIZE(struct bandwidth_local_args, 40);

struct bandwidth_verify_args {
    const void *in;    /* what `out` must hold; NULL: the pattern of salt */
    const void *out;
    uint64_t elements;
    uint64_t *result;  /* [0] gains the elements that differ; [1] the sum of all 32-bit words */
    uint32_t period;   /* elements after which the pattern repeats */
    uint32_t salt;
};
ARGS_SIZE(struct bandwidth_verify_args, 40);

#endif
