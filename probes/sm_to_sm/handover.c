/* sm_to_sm: how long do data take from a producer to a consumer on another SM, inside one kernel;
 * and how long a store until every SM sees it? */
#include "probes/sm_to_sm/handover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/draw.h"
#include "probes/sm_to_sm/sm_to_sm.h"

PROBE_IMAGE(sm_to_sm_handover);

enum {
    BUDGET_NS = 20000000, /* of a launch: a slice of time for another process takes about 2 ms */
    SILENT_NS = 100000,   /* of the control, whose flag never comes */
    FLAG_APART = 32 * 9,
    CONTROL_LAUNCHES = 20,
};

struct hand {
    cudaKernel_t ordered, unordered;
    struct gpu_shape shape;
    struct handover_args args;
    struct handover_result *result; /* mapped */
    uint64_t random;
};

static struct hand prepare(struct probe_run *r, size_t shared)
{
    const size_t words = 2 * (size_t)HANDOVER_WORDS + 2 * FLAG_APART;
    struct hand h = {.shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                               .block = HANDOVER_THREADS,
                               .shared = shared,
                               .cooperative = true},
                     .random = probe_seed(r) + 1};
    uint32_t *memory = gpu_alloc(r, words * sizeof *memory, "payloads and flags");

    CUDA(cudaMemsetAsync(memory, 0, words * sizeof *memory, gpu_stream(r)));
    h.ordered = gpu_kernel(r, &image_sm_to_sm_handover, "sm_to_sm_handover_ordered", sizeof h.args);
    h.unordered =
        gpu_kernel(r, &image_sm_to_sm_handover, "sm_to_sm_handover_unordered", sizeof h.args);
    /* Of the SM's memory the L1 gets what is left: the payload must fit there for the control. */
    gpu_kernel_shared(h.ordered, shared, -1);
    gpu_kernel_shared(h.unordered, shared, -1);
    h.result = gpu_mapped(r, sizeof *h.result);
    h.args = (struct handover_args){
        .payload = {memory, memory + HANDOVER_WORDS},
        .flag = {memory + 2 * HANDOVER_WORDS, memory + 2 * HANDOVER_WORDS + FLAG_APART},
        .result = h.result,
        .budget_ns = BUDGET_NS};
    return h;
}

/* One launch between another pair of SMs; returns the SM clock. */
static double hand_over(struct probe_run *r, struct hand *h, cudaKernel_t kernel)
{
    const uint32_t n_sm = h->shape.grid.x;
    h->args.side[0] = (uint32_t)draw_below(&h->random, n_sm);
    h->args.side[1] = (h->args.side[0] + 1 + (uint32_t)draw_below(&h->random, n_sm - 1)) % n_sm;
    memset(h->result, 0, sizeof *h->result);
    gpu_time_start(r);
    gpu_launch_shape(r, kernel, &h->shape, &h->args);
    double mhz = gpu_time_stop(r).mhz;
    h->args.first += HANDOVER_TRIPS;
    return mhz;
}

static void measure_handover(struct probe_run *r, struct hand *h, uint32_t words, unsigned flags)
{
    const struct handover_result *got = h->result;
    bool came = true, apart = true;
    uint64_t stale = 0;

    if (!probe_begin_case(r, flags, "bytes=%u", 4 * words))
        return;
    h->args.words = words;
    while (probe_more(r)) {
        double mhz = hand_over(r, h, h->ordered);
        double few = (double)got->short_cycles, many = (double)got->long_cycles;
        came = came && got->long_cycles > 0;
        apart = apart && got->sm[0] == h->args.side[0] && got->sm[1] == h->args.side[1];
        stale += got->stale[0] + got->stale[1];
        probe_sample(r, HANDOVER, 2 * HANDOVER_SHORT, few);
        probe_sample(r, HANDOVER, 2 * HANDOVER_LONG, many);
        probe_sample(r, HANDOVER_TIME, 2 * HANDOVER_SHORT, few * 1e3 / mhz);
        probe_sample(r, HANDOVER_TIME, 2 * HANDOVER_LONG, many * 1e3 / mhz);
    }
    probe_require(r, came, "every payload came within %d ms", BUDGET_NS / 1000000);
    probe_require(r, apart, "producer and consumer were on the SMs that were asked for");
    probe_require(r, stale == 0, "%llu words of payloads were stale", (unsigned long long)stale);
}

/* The control that must fail: by plain stores and loads around the same flag a consumer reads what
 * its L1 has kept; and a flag that never comes ends by its budget. */
static void measure_stale(struct probe_run *r, struct hand *h, const char *by)
{
    const bool ordered = !strcmp(by, "acq_rel");
    const uint32_t words = 32, trips = 2 * HANDOVER_TRIPS;
    uint64_t stale = 0;
    bool came = true;

    if (!probe_begin_case(r, PROBE_TWICE, "by=%s", by))
        return;
    h->args.words = words;
    for (int i = 0; i < CONTROL_LAUNCHES; i++) {
        hand_over(r, h, ordered ? h->ordered : h->unordered);
        came = came && h->result->long_cycles > 0;
        stale += h->result->stale[0] + h->result->stale[1];
    }
    probe_value(r, STALE, stale > 0);
    probe_fact(r, "stale_words", "%.4f of all", (double)stale / (CONTROL_LAUNCHES * words * trips));
    probe_require(r, came, "the flags came");
    probe_require(r, ordered == (stale == 0), "%s: %llu words were stale", by,
                  (unsigned long long)stale);
    if (ordered)
        return;
    h->args.mute = 1;
    h->args.budget_ns = SILENT_NS;
    hand_over(r, h, h->ordered);
    probe_require(r, h->result->long_cycles == 0 && h->result->sm[0] == h->args.side[0],
                  "a consumer whose flag never comes gives up");
    h->args.mute = 0;
    h->args.budget_ns = BUDGET_NS;
}

/* --- a store until it is visible -------------------------------------------------------------- */

static const struct {
    const char *by;
    int from_cc;
} ways[] = {
    {"nothing", 0}, {"reading_back", 0}, {"fence", 0}, {"fence_of_system", 0}, {"bulk", 90}};

/* Each line must hold what was stored there last. */
static void check_lines(struct probe_run *r, const struct visible_args *a)
{
    char lines[VISIBLE_LINES * VISIBLE_APART];
    uint32_t wrong = 0, place = 0;

    gpu_to_host(r, lines, a->lines, sizeof lines);
    uint32_t last[VISIBLE_LINES] = {0}, value = a->first;
    const int stretches[] = {1, VISIBLE_SHORT, VISIBLE_LONG};
    for (size_t s = 0; s < PROBE_LENGTH(stretches); s++)
        for (int i = 0; i < stretches[s]; i++)
            last[i % VISIBLE_LINES] = value++;
    for (; place < VISIBLE_LINES; place++) {
        uint32_t found;
        memcpy(&found, lines + place * VISIBLE_APART, sizeof found);
        wrong += found != last[place];
    }
    probe_require(r, wrong == 0, "%u lines do not hold what was stored last", wrong);
}

static void measure_visible(struct probe_run *r, const char *by, double *plain_cycles)
{
    struct visible_args a = {.lines = NULL};
    const bool is_plain = !strcmp(by, "nothing");
    char name[48];

    if (!probe_begin_case(r, PROBE_THRICE, "by=%s", by))
        return;
    snprintf(name, sizeof name, "sm_to_sm_visible_%s", by);
    cudaKernel_t kernel = gpu_kernel(r, &image_sm_to_sm_handover, name, sizeof a);
    a.lines = gpu_alloc(r, VISIBLE_LINES * VISIBLE_APART, "lines to store to");
    a.cycles = gpu_mapped(r, 2 * sizeof *a.cycles);
    while (probe_more(r)) {
        a.first += VISIBLE_STORES;
        gpu_time_start(r);
        gpu_launch(r, kernel, 1, 1, 0, &a);
        double mhz = gpu_time_stop(r).mhz, few = (double)a.cycles[0], many = (double)a.cycles[1];
        probe_sample(r, VISIBLE, VISIBLE_SHORT, few);
        probe_sample(r, VISIBLE, VISIBLE_LONG, many);
        probe_sample(r, VISIBLE_TIME, VISIBLE_SHORT, few * 1e3 / mhz);
        probe_sample(r, VISIBLE_TIME, VISIBLE_LONG, many * 1e3 / mhz);
    }
    check_lines(r, &a);
    gpu_release(r, a.lines);
    const double cycles = probe_median(r, VISIBLE);
    if (is_plain)
        *plain_cycles = cycles;
    else if (!isnan(cycles) && !isnan(*plain_cycles))
        probe_require(r, cycles > 4 * *plain_cycles,
                      "a store by %s takes %.0f cycles, one that is not waited for %.0f", by,
                      cycles, *plain_cycles);
}

void sm_to_sm_measure_handovers(struct probe_run *r, size_t shared)
{
    struct hand h = prepare(r, shared);
    double plain_cycles = NAN;

    measure_handover(r, &h, HANDOVER_WORDS, 0);
    measure_stale(r, &h, "acq_rel");
    measure_stale(r, &h, "relaxed");
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++)
        if (gpu_facts(r)->cc >= ways[i].from_cc)
            measure_visible(r, ways[i].by, &plain_cycles);
}
