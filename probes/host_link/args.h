/* Arguments of the kernels in host_link.cu, for C and CUDA alike. */
#ifndef PROBES_HOST_LINK_ARGS_H
#define PROBES_HOST_LINK_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/harness.h"

enum {
    LINK_SPACING = 128, /* bytes from one entry of a ring in host memory to the next */
    LINK_SHORT = 16,    /* dependent loads between the first two clock reads */
    LINK_LONG = 32,     /* and between the next two */
};

/* The i-th word that is copied. */
ARGS_BOTH uint32_t link_word(uint64_t seed, uint64_t i)
{
    uint64_t z = (i + seed) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    return (uint32_t)(z >> 32);
}

struct link_words_args {
    uint32_t *words; /* device */
    uint64_t *wrong; /* device; counts the words that are not link_word() */
    uint64_t n, seed;
};
ARGS_SIZE(struct link_words_args, 32);

struct link_answer_args {
    const uint32_t *asked; /* mapped host memory, like all fields below */
    uint32_t *answered;
    uint32_t *aborted;  /* set when the budget is spent */
    uint64_t budget_ns; /* of the whole launch */
    uint32_t first, n;  /* answers asked = first, first + 1, ... */
};
ARGS_SIZE(struct link_answer_args, 40);

struct link_load_result {
    struct harness_stamp lead, tail; /* around all of it */
    uint64_t short_cycles, long_cycles;
    uint64_t end; /* where the chase stopped */
};

struct link_load_args {
    uint64_t start;                  /* address in mapped host memory to begin at */
    struct link_load_result *result; /* mapped */
    uint64_t before;                 /* loads that are not timed, at least 1 */
};
ARGS_SIZE(struct link_load_args, 24);

struct link_late_args {
    uint32_t *up;       /* all three are mapped. The kernel's first act: writes the ticket here */
    const uint32_t *go; /* the delay begins when it holds the ticket */
    uint32_t *done;     /* the kernel's last act: writes the ticket here */
    uint64_t delay_ns, budget_ns;
    uint32_t ticket, pad;
};
ARGS_SIZE(struct link_late_args, 48);

struct link_null_args {
    uint64_t unused;
};
ARGS_SIZE(struct link_null_args, 8);

#endif
