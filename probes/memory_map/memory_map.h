/* Shared by the files of memory_map: lines of device memory, and the chases and loads on them. */
#ifndef PROBES_MEMORY_MAP_MEMORY_MAP_H
#define PROBES_MEMORY_MAP_MEMORY_MAP_H

#include "core/gpu.h"
#include "probes/common/home.h"
#include "probes/memory_map/args.h"

/* Indices into the table of metrics in memory_map.c. */
enum {
    LOAD, LOAD_TIME, FAR_SHARE, HOME_BYTES, L2, L2_NEAR, L2_FAR, SM_GROUPS, BEST_SM, WORST_SM,
    TLB, TLB_TIME, TLB_REACH, FETCH, FETCH_BYTES, SPAN, LINE_BYTES,
};

enum {
    SM = 0,
    LINE = 128,        /* bytes between lines that share nothing */
    LIST_MAX = 65536,  /* most lines in a ring */
    SAMPLES_MAX = 4096,
    REGION = 64 << 20, /* holds the lines without a page of their own: no TLB misses */
};

/* Chases, and single loads after another load. */
enum kernel { LOAD_L2, LOAD_L1, ATOMIC, BOTH, ASK_L1, ASK_L2, N_KERNELS };

struct mapper {
    cudaKernel_t kernel[N_KERNELS], link;
    char *memory; /* holds all lines */
    size_t room;
    uint64_t *line, *next;         /* host: LIST_MAX each */
    uint64_t *lists[2], *cycles;   /* device: likewise; cycles of single loads */
    struct chase_sample *samples, *copied; /* device, host */
    struct chase_result *result;   /* mapped */
    uint32_t *claim, ticket;
    struct home home;
    size_t home_bytes;
    uint64_t drawn, strayed; /* how often lines were drawn; chases that ended wrong */
};

extern const char map_one_side[]; /* why there is no figure for the far side */

/* --- lines.c ---------------------------------------------------------------------------------- */

/* One address in each of n adjacent strides, somewhere in the first `room` bytes, in random order:
 * at the beginning of the stride, or at a random line inside. */
void map_draw(struct probe_run *r, struct mapper *m, size_t room, size_t n, size_t stride,
              bool inside);

/* Makes the n lines point to each other in a ring, or each to itself. */
void map_link_lines(struct probe_run *r, struct mapper *m, const uint64_t *line, size_t n,
                    bool ring);

/* A chase from each of n addresses, after `warm` untimed steps; the last one must stop at `end`.
 * The samples are in m->copied. */
void map_chase(struct probe_run *r, struct mapper *m, enum kernel kernel, uint32_t sm,
               const uint64_t *start, size_t n, uint64_t warm, uint32_t repeats, uint64_t end);

/* The same along a ring of n lines, from its first. */
void map_walk(struct probe_run *r, struct mapper *m, enum kernel kernel, const uint64_t *line,
              size_t n, uint64_t warm, uint32_t repeats);

/* Known answer: each chase of the case must have ended where its ring leads after that many
 * steps. */
void map_check_ends(struct probe_run *r, struct mapper *m);

/* For n pairs of lines, the cycles of the second load after the first. */
void map_ask(struct probe_run *r, struct mapper *m, enum kernel kernel,
             const struct map_pair *pairs, size_t n, double *cycles);

/* --- sms.c: every SM -------------------------------------------------------------------------- */

void map_measure_sms(struct probe_run *r, struct mapper *m, const struct home_sides *s);

#endif
