/* Arguments of the kernels in memory_map.cu, for C and CUDA alike. */
#ifndef PROBES_MEMORY_MAP_ARGS_H
#define PROBES_MEMORY_MAP_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "probes/common/chase.h"

/* The SM that a kernel must run on, and how it reports that it did. */
struct map_turn {
    uint32_t *claim;              /* the block that runs stores its ticket here */
    uint32_t ticket;              /* differs in every launch */
    uint32_t sm;                  /* %smid */
    struct chase_result *result;
};

struct map_link_args {
    const uint64_t *line, *next;  /* stores the address next[i] at line[i] */
    uint64_t n;
};
ARGS_SIZE(struct map_link_args, 24);

struct map_chase_args {
    struct map_turn turn;
    const uint64_t *start;        /* n addresses, one chase from each */
    uint64_t n;
    uint64_t warm;                /* untimed steps before it */
    struct chase_sample *samples; /* n x repeats */
    uint32_t repeats, pad;
};
ARGS_SIZE(struct map_chase_args, 64);

struct map_pair {
    uint64_t touched, asked;
};

struct map_pair_args {
    struct map_turn turn;
    const struct map_pair *pairs; /* n: the first is loaded, then the second, which is timed */
    uint64_t n;
    uint64_t *cycles;             /* of each pair */
};
ARGS_SIZE(struct map_pair_args, 48);

#endif
