/* occupancy: how many warps, or how many independent multiply-adds a warp, hide their latency? */
#include "probes/occupancy/chains.h"

#include <math.h>
#include <stdio.h>

#include "probes/occupancy/occupancy.h"

PROBE_IMAGE(occupancy_chains);

enum { FMA_CYCLES = 4, SCHEDULERS = 4 };
static const double FMA_STRETCH_CYCLES = 2e5; /* of the shorter launch */

/* Lanes of an SM: NVIDIA, CUDA C++ Programming Guide, "Arithmetic Instructions". */
static int lanes_of(int cc)
{
    return cc == 75 || cc == 80 ? 64 : 128;
}

/* Turns of the shorter launch: a turn takes as long as its chains or as the SM's lanes need. */
static uint32_t turns_of(const struct gpu_facts *gpu, int warps, int chains)
{
    double chain = (double)OCCUPANCY_FMAS / chains * FMA_CYCLES;
    double lanes = (double)OCCUPANCY_FMAS * warps * 32 / lanes_of(gpu->cc);
    return (uint32_t)fmax(1, FMA_STRETCH_CYCLES / fmax(chain, lanes));
}

static void check_wrong(struct probe_run *r, const struct reader *x, int chains)
{
    uint32_t wrong;
    gpu_to_host(r, &wrong, x->check, sizeof wrong);
    probe_require(r, wrong == 0, "%u chains of %d a warp did not count their multiply-adds", wrong,
                  chains);
}

/* Known answers: a chain takes its latency, and no SM has more lanes than it has. That nothing is
 * faster is asked of whole launches, since a slope looks too fast where the shorter ones alone are
 * slow. All lanes are 0.96 busy, and a dependent multiply-add takes 4.2 cycles: a kernel that skips
 * 5 % of them (all lanes) or 7 % (one chain) fails here, and one that skips any in
 * check_wrong(). */
static void check_fma(struct probe_run *r, int warps, int chains)
{
    const double interval = probe_median(r, FMA_INTERVAL), rate = 32 / interval;
    const double whole = probe_whole(r, FMA_INTERVAL), busy = 32 / whole;
    const int lanes = lanes_of(gpu_facts(r)->cc);
    if (isnan(interval))
        return;
    probe_value(r, FMA_RATE, rate);
    probe_require(r, busy < 1.01 * lanes, "whole launches: %.1f multiply-adds a cycle, of %d lanes",
                  busy, lanes);
    if (warps == 1 && chains == 1)
        probe_require(r, whole > 3.9 && interval < 5,
                      "a dependent multiply-add takes %.2f cycles, of whole launches %.2f",
                      interval, whole);
    /* Two registers an instruction, one from each bank, keep nearly all lanes busy; three without
     * reuse would keep half. */
    if (warps >= 4 * SCHEDULERS && chains >= 4)
        probe_require(r, rate > 0.6 * lanes, "%d warps of %d chains keep %.1f of %d lanes busy",
                      warps, chains, rate, lanes);
}

static void measure_fma(struct probe_run *r, const struct reader *x, const float *operands,
                        int warps, int chains)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    unsigned per_sm = warps > 32 ? 2 : 1;
    const struct gpu_shape shape = {.grid = {(unsigned)gpu->n_sm * per_sm, 1, 1},
                                    .block = 32 * (unsigned)warps / per_sm};
    struct occupancy_fma_args a = {
        .operands = operands, .wrong = x->check, .census = x->census, .turns = CHECK_TURNS};
    uint32_t turns = turns_of(gpu, warps, chains);
    char name[32];

    snprintf(name, sizeof name, "occupancy_fma_%d", chains);
    cudaKernel_t kernel = gpu_kernel(r, &image_occupancy_chains, name, sizeof a);
    if (!occupancy_fits(kernel, shape.block, 0, per_sm) ||
        !probe_begin_case(r, PROBE_THRICE, "warps=%d,chains=%d", warps, chains))
        return;
    CUDA(cudaMemsetAsync(x->check, 0, sizeof *x->check, gpu_stream(r)));
    gpu_launch_shape(r, kernel, &shape, &a);
    check_wrong(r, x, chains);
    occupancy_check_census(r, x, per_sm);
    a.census = NULL;
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            double mhz, ns = gpu_launch_clocked_ns(r, kernel, &shape, &a, &mhz);
            probe_sample(r, FMA_INTERVAL, (double)a.turns * OCCUPANCY_FMAS * warps, ns * mhz / 1e3);
        }
    check_wrong(r, x, chains);
    check_fma(r, warps, chains);
}

void occupancy_measure_fma(struct probe_run *r, const struct reader *x)
{
    float ones[32], *operands = gpu_alloc(r, sizeof ones, "operands of multiply-adds");

    for (size_t i = 0; i < PROBE_LENGTH(ones); i++)
        ones[i] = 1;
    gpu_to_device(r, operands, ones, sizeof ones);
    for (int chains = 1; chains <= 16; chains *= 2)
        for (int warps = 1; warps <= gpu_facts(r)->warps_per_sm; warps *= 2)
            measure_fma(r, x, operands, warps, chains);
}
