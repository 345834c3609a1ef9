/* The host's side of home.cu, for the probes of this folder: on which side of the L2, seen from one
 * SM, do lines have their homes? What an atomic takes there falls into two heaps, near and far. */
#ifndef PROBES_COMMON_HOME_HOST_H
#define PROBES_COMMON_HOME_HOST_H

#include <math.h>
#include <string.h>

#include "core/stat.h"
#include "probes/common/chase_host.h"
#include "probes/common/home.h"

enum { HOME_LINES = 4096, HOME_TIMES = 3 }; /* most lines at a time; the least of so many counts */

struct home {
    cudaKernel_t kernel;
    struct home_args args; /* its lists are device memory */
    uint64_t *cycles;      /* host */
};

static inline struct home home_prepare(struct probe_run *r, const struct gpu_image *image,
                                       uint32_t sm)
{
    const size_t list = HOME_LINES * sizeof(uint64_t);
    struct home h = {.kernel = gpu_kernel(r, image, "home_ask", sizeof h.args),
                     .args = {.line = gpu_alloc(r, list, "lines whose homes are sought"),
                              .cycles = gpu_alloc(r, list, "their latencies"),
                              .result = gpu_mapped(r, sizeof *h.args.result),
                              .claim = gpu_alloc(r, sizeof *h.args.claim, "a claim"),
                              .sm = sm},
                     .cycles = probe_host_alloc(r, list)};
    return h;
}

/* What an atomic takes at each of n lines: the least of three, since one may meet a refresh. */
static inline void home_ask(struct probe_run *r, struct home *h, const uint64_t *line, size_t n,
                            double *cycles)
{
    uint32_t ticket = h->args.ticket;

    h->args.n = n;
    gpu_to_device(r, (void *)(uintptr_t)h->args.line, line, n * sizeof *line);
    for (int turn = 0; turn < HOME_TIMES; turn++) {
        chase_launch(r, h->kernel, 32, &h->args, &h->args.ticket, &ticket, h->args.result);
        gpu_to_host(r, h->cycles, h->args.cycles, n * sizeof *h->cycles);
        for (size_t i = 0; i < n; i++)
            cycles[i] = fmin(turn ? cycles[i] : INFINITY, (double)h->cycles[i]);
    }
}

/* Between the two heaps lies a gap of at least a tenth of a latency; INFINITY where there is one
 * heap. The twentieth at each end may lie where it likes. */
static inline double home_border(struct probe_run *r, const double *cycles, size_t n)
{
    double *sorted = probe_host_alloc(r, n * sizeof *sorted), widest = 0, border = INFINITY;

    memcpy(sorted, cycles, n * sizeof *sorted);
    stat_sort(sorted, n);
    for (size_t i = n / 20; i + 1 < n - n / 20; i++)
        if (sorted[i + 1] - sorted[i] > widest) {
            widest = sorted[i + 1] - sorted[i];
            border = (sorted[i + 1] + sorted[i]) / 2;
        }
    return widest > 0.1 * stat_median(sorted, n) ? border : (double)INFINITY;
}

enum { NEAR, FAR, N_SIDES };

struct home_sides {
    uint64_t line[N_SIDES][HOME_LINES];
    size_t n[N_SIDES];
    double border; /* cycles; INFINITY: all are near */
};

/* Parts n lines at the border, or where it is NAN at the gap between their own two heaps. */
static inline struct home_sides *home_part(struct probe_run *r, struct home *h,
                                           const uint64_t *line, size_t n, double border)
{
    struct home_sides *s = probe_host_alloc(r, sizeof *s);
    double cycles[HOME_LINES];

    home_ask(r, h, line, n, cycles);
    s->border = isnan(border) ? home_border(r, cycles, n) : border;
    s->n[NEAR] = s->n[FAR] = 0;
    for (size_t i = 0; i < n; i++) {
        int side = cycles[i] > s->border ? FAR : NEAR;
        s->line[side][s->n[side]++] = line[i];
    }
    return s;
}

#endif
