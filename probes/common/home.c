#include "probes/common/home.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"
#include "core/stat.h"

struct home home_prepare(struct probe_run *r, const struct gpu_image *image, uint32_t sm)
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

void home_ask(struct probe_run *r, struct home *h, const uint64_t *line, size_t n, double *cycles)
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

double home_border(struct probe_run *r, const double *cycles, size_t n)
{
    double *sorted = probe_host_alloc(r, n * sizeof *sorted), width;

    memcpy(sorted, cycles, n * sizeof *sorted);
    stat_sort(sorted, n);
    const double border = stat_border(sorted, n / 20, n - n / 20, &width);
    return width > 0.1 * stat_median(sorted, n) ? border : (double)INFINITY;
}

struct home_sides *home_part(struct probe_run *r, struct home *h, const uint64_t *line, size_t n,
                             double border)
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
