/* Which side of the L2, seen from one SM, is the home of a line? The latencies of atomics on many
 * lines form two clusters, near and far. The kernel's arguments are for C and CUDA alike. */
#ifndef PROBES_COMMON_HOME_H
#define PROBES_COMMON_HOME_H

#include <stdint.h>

#include "core/args.h"
#include "probes/common/chase.h"

struct home_args {
    const uint64_t *line;         /* n addresses, of eight bytes each */
    uint64_t n;
    uint64_t *cycles;             /* cycles of each line */
    struct chase_result *result;
    uint32_t *claim;              /* the block that runs stores its ticket */
    uint32_t ticket;              /* differs in every launch */
    uint32_t sm;                  /* %smid of the SM that measures */
};
ARGS_SIZE(struct home_args, 48);

#ifndef __CUDACC__
#include "core/gpu.h"

enum { HOME_LINES = 4096, HOME_TIMES = 3 }; /* most lines at a time; atomics per line */

struct home {
    cudaKernel_t kernel;
    struct home_args args; /* its lists are device memory */
    uint64_t *cycles;      /* host */
};

struct home home_prepare(struct probe_run *r, const struct gpu_image *image, uint32_t sm);

/* The cycles of an atomic at each of n lines: the least of three, since one may meet a refresh. */
void home_ask(struct probe_run *r, struct home *h, const uint64_t *line, size_t n, double *cycles);

/* The border between near and far. The two clusters must be at least a tenth of a latency apart.
 * INFINITY if there is one cluster only. The extreme twentieth at each end is ignored. */
double home_border(struct probe_run *r, const double *cycles, size_t n);

enum { NEAR, FAR, N_SIDES };

struct home_sides {
    uint64_t line[N_SIDES][HOME_LINES];
    size_t n[N_SIDES];
    double border; /* cycles; INFINITY: all are near */
};

/* Splits n lines at the border. If it is NAN, splits them at the gap between their own two
 * clusters. */
struct home_sides *home_part(struct probe_run *r, struct home *h, const uint64_t *line, size_t n,
                             double border);
#endif

#endif
