/* bandwidth: what a dependent load costs on one SM while all others stream. */
#include "probes/bandwidth/bandwidth.h"

#include <string.h>

#include "core/gpu.h"
#include "core/permute.h"
#include "probes/bandwidth/loaded_chase.h"

PROBE_IMAGE(bandwidth_loaded_chase);

enum {
    L2_RING_BYTES = 4 * MIB,
    L2_WARP_BYTES = 8192, /* of its own in the L2, per streaming warp */
    L2_WARP_GAP = 17 * 128, /* from there to the next warp's: no power of two */
    LAPS = 2,
    CHASES = 8, /* pairs of stretches per launch */
    SM = 0,     /* on which the chase runs */
};

struct chaser {
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct loaded_chase_args args;
    struct chase_sample *samples;   /* device */
    struct chase_result *result;    /* mapped */
    struct loaded_stream *streamed; /* mapped */
    double full;                    /* bytes/s without any wait */
};

/* One chase; returns the rate of the concurrent streams in bytes/s. */
static double chase(struct probe_run *r, struct chaser *c)
{
    const struct permutation *order = &c->args.order;
    unsigned warps = c->shape.grid.x * LOAD_WARPS;
    double rate = 0;

    memset(c->streamed, 0, warps * sizeof *c->streamed);
    c->args.ticket++;
    gpu_launch_shape(r, c->kernel, &c->shape, &c->args);
    gpu_wait(r);

    c->args.start = (c->args.start + CHASES * CHASE_LOADS) % order->n;
    uint64_t must = (uint64_t)(uintptr_t)c->args.ring;
    must += permute(*order, c->args.start) * RING_SPACING;
    if (c->result->end != must)
        probe_fail(r, "the chase did not end where its ring leads");
    for (unsigned i = 0; i < warps; i++)
        if (c->streamed[i].ns > 0)
            rate += 1e9 * (double)c->streamed[i].bytes / (double)c->streamed[i].ns;
    return rate;
}

static double clock_mhz(const struct chaser *c)
{
    const struct chase_result *at = c->result;
    return 1e3 * (double)(at->tail.cycles - at->lead.cycles) / (double)(at->tail.ns - at->lead.ns);
}

static struct chaser chaser_of(struct probe_run *r, const struct mover *m)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    unsigned n_sm = (unsigned)gpu->n_sm;
    size_t half = gpu->shared_per_sm / 2; /* plus the system's share: one block per SM */
    struct chaser c = {
        .shape = {.grid = {n_sm, 1, 1}, .block = 32 * (LOAD_WARPS + 1), .cooperative = true}};
    uint32_t *words = gpu_alloc(r, 2 * 128, "the words of the chase");

    c.shape.shared = half < gpu->shared_per_block ? half : gpu->shared_per_block;
    c.kernel = gpu_kernel(r, &image_bandwidth_loaded_chase, "loaded_chase",
                          sizeof(struct loaded_chase_args));
    gpu_kernel_shared(c.kernel, c.shape.shared, -1);
    CUDA(cudaMemsetAsync(words, 0, 2 * 128, gpu_stream(r)));
    c.samples = gpu_alloc(r, CHASES * sizeof *c.samples, "samples");
    c.result = gpu_mapped(r, sizeof *c.result);
    c.streamed = gpu_mapped(r, n_sm * LOAD_WARPS * sizeof *c.streamed);
    c.args = (struct loaded_chase_args){.in = m->in,
                                        .samples = c.samples,
                                        .result = c.result,
                                        .streamed = c.streamed,
                                        .arrived = words,
                                        .word = words + 32,
                                        .sm = SM,
                                        .repeats = CHASES};
    return c;
}

/* Makes a ring of the given size, and measures the streams' full rate during a chase. */
static void lay_ring(struct probe_run *r, struct chaser *c, char *ring, size_t bytes)
{
    struct loaded_ring_args a = {
        .ring = ring, .order = permutation_of(bytes / RING_SPACING, probe_seed(r) + bytes)};
    cudaKernel_t kernel =
        gpu_kernel(r, &image_bandwidth_loaded_chase, "loaded_chase_ring", sizeof a);

    gpu_launch(r, kernel, (unsigned)gpu_facts(r)->n_sm * 4, 256, 0, &a);
    gpu_sweep_l2(r);
    c->args.ring = a.ring;
    c->args.order = a.order;
    c->args.start = 0;
    c->args.interval = 0;
    c->args.streams = 1;
    chase(r, c);
    c->full = chase(r, c);
}

static void measure_loaded(struct probe_run *r, struct chaser *c, const char *level, int load)
{
    const double turn = 32.0 * LOAD_LOADS * 16 * LOAD_WARPS * (c->shape.grid.x - 1); /* of all */
    unsigned flags = load % 50 ? PROBE_THRICE : 0; /* the others are points of a curve */
    struct chase_sample s[CHASES];
    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND, "level=%s,load=%d", level, load))
        return;

    c->args.streams = load > 0;
    c->args.interval = 0;
    if (load > 0 && load < 100)
        c->args.interval = (uint32_t)(turn / (c->full * load / 100) * 1e6 * clock_mhz(c));
    while (probe_more(r)) {
        double rate = chase(r, c), mhz = clock_mhz(c);
        gpu_to_host(r, s, c->samples, sizeof s);
        probe_clock(r, mhz);
        for (int i = 0; i < CHASES; i++) {
            probe_sample(r, LOADED, CHASE_SHORT, (double)s[i].short_cycles * 1e3 / mhz);
            probe_sample(r, LOADED, CHASE_LONG, (double)s[i].long_cycles * 1e3 / mhz);
        }
        if (load > 0)
            probe_sample(r, LOADED_RATE, 1, 1e9 / rate);
    }
    probe_fact(r, "bytes_in_flight_per_sm", "%d", load ? 32 * LOAD_LOADS * 16 * LOAD_WARPS : 0);
    probe_fact(r, "interval_cycles", "%u", c->args.interval);
}

void bandwidth_measure_loaded(struct probe_run *r, const struct mover *m)
{
    static const int loads[] = {0, 25, 50, 75, 90, 95, 100};
    bool quick = probe_is_check_run(r);
    size_t ring_bytes = quick ? MIB : 4 * gpu_facts(r)->l2_bytes;
    char *ring = gpu_alloc(r, ring_bytes > L2_RING_BYTES ? ring_bytes : L2_RING_BYTES, "a ring");
    struct chaser c = chaser_of(r, m);

    c.args.elements = (uint32_t)(m->room / 16);
    c.args.apart = 32 * LOAD_LOADS;
    c.args.step = c.args.apart * LOAD_WARPS * c.shape.grid.x;
    lay_ring(r, &c, ring, ring_bytes);
    for (size_t i = 0; i < PROBE_LENGTH(loads); i++)
        measure_loaded(r, &c, "hbm", loads[i]);
    c.args.elements = L2_WARP_BYTES / 16;
    c.args.base = c.args.elements + L2_WARP_GAP / 16;
    c.args.step = c.args.apart;
    c.args.warm_laps = LAPS;
    lay_ring(r, &c, ring, quick ? MIB : L2_RING_BYTES);
    for (size_t i = 0; i < PROBE_LENGTH(loads); i++)
        measure_loaded(r, &c, "l2", loads[i]);
}
