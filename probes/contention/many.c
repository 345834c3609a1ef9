/* contention: what does an atomic addition take until its answer, when many SMs add at once? */
#include "probes/contention/many.h"

#include <stdio.h>

#include "core/stat.h"
#include "probes/contention/contention.h"

PROBE_IMAGE(contention_many);

enum {
    N_PLACES = 16,
    LINE_WORDS = 32,
    SMS_MOST = 1024,
    BUDGET_NS = 20000000, /* a slice of time for another process takes about 2 ms */
    WHOLE_GPU = 0,
};

struct many {
    cudaKernel_t kernel;
    size_t shared, place_words;
    struct many_args args;
    uint32_t *words, *seen;            /* device, host: N_PLACES places */
    struct contention_sample *samples; /* host */
    uint32_t *sm;
};

static struct many prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    size_t n_sm = (size_t)gpu->n_sm, half = gpu->shared_per_sm / 2 + 128;
    struct many m = {.shared = half < gpu->shared_per_block ? half : gpu->shared_per_block,
                     .place_words = n_sm * LINE_WORDS};
    size_t words = N_PLACES * m.place_words;

    m.kernel = gpu_kernel(r, &image_contention_many, "contention_many", sizeof m.args);
    gpu_kernel_shared(m.kernel, m.shared, 100);
    m.words = gpu_alloc(r, words * sizeof *m.words, "words that many SMs add to");
    m.seen = probe_host_alloc(r, words * sizeof *m.seen);
    m.samples = probe_host_alloc(r, n_sm * sizeof *m.samples);
    m.sm = probe_host_alloc(r, n_sm * sizeof *m.sm);
    m.args.samples = gpu_alloc(r, n_sm * sizeof *m.samples, "samples");
    m.args.sm = gpu_alloc(r, n_sm * sizeof *m.sm, "SMs");
    m.args.arrived = gpu_alloc(r, LINE_WORDS * sizeof *m.args.arrived, "arrivals");
    m.args.budget_ns = BUDGET_NS;
    return m;
}

/* The median over the blocks of one launch; 0 if a block did not meet the others. */
static double median_of(const struct many *m, unsigned blocks, bool is_long)
{
    double cycles[SMS_MOST];
    for (unsigned i = 0; i < blocks; i++) {
        cycles[i] = (double)(is_long ? m->samples[i].long_cycles : m->samples[i].short_cycles);
        if (m->samples[i].long_cycles == 0)
            return 0;
    }
    stat_sort(cycles, blocks);
    return stat_median(cycles, blocks);
}

static bool are_apart(const struct many *m, unsigned blocks)
{
    bool seen[SMS_MOST] = {false};
    for (unsigned i = 0; i < blocks; i++) {
        if (m->sm[i] >= SMS_MOST || seen[m->sm[i]])
            return false;
        seen[m->sm[i]] = true;
    }
    return true;
}

/* Each word must hold the additions of the threads that share it, over all launches at its
 * place. */
static void check_words(struct probe_run *r, const struct many *m, unsigned blocks,
                        uint64_t launches)
{
    const struct many_args *a = &m->args;
    const uint32_t threads = blocks * a->lanes, words = a->apart ? threads : 1;
    uint32_t wrong = 0;

    gpu_to_host(r, m->seen, m->words, N_PLACES * m->place_words * sizeof *m->seen);
    for (uint64_t place = 0; place < N_PLACES; place++) {
        uint64_t times = launches / N_PLACES + (place < launches % N_PLACES);
        uint64_t due = times * STEPS * (a->apart ? 1 : threads);
        for (uint32_t i = 0; i < words; i++)
            wrong += m->seen[place * m->place_words + i * a->apart] != (uint32_t)due;
    }
    probe_require(r, wrong == 0, "%u words do not hold the number of additions", wrong);
}

static void sample(struct probe_run *r, const struct many *m, unsigned blocks, double mhz)
{
    const double few = median_of(m, blocks, false), many = median_of(m, blocks, true);

    if (many == 0)
        probe_require(r, false, "all blocks met within %d ms", BUDGET_NS / 1000000);
    if (!are_apart(m, blocks))
        probe_require(r, false, "each of the %u blocks had an SM of its own", blocks);
    probe_sample(r, ATOMIC_MANY, STEPS_SHORT, few);
    probe_sample(r, ATOMIC_MANY, STEPS_LONG, many);
    probe_sample(r, ATOMIC_MANY_TIME, STEPS_SHORT, few * 1e3 / mhz);
    probe_sample(r, ATOMIC_MANY_TIME, STEPS_LONG, many * 1e3 / mhz);
}

/* sms: WHOLE_GPU for all. */
static void measure_many(struct probe_run *r, struct many *m, bool each, unsigned sms,
                         uint32_t lanes)
{
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm, blocks = sms == WHOLE_GPU ? n_sm : sms;
    const struct gpu_shape shape = {
        .grid = {blocks, 1, 1}, .block = 32, .shared = m->shared, .cooperative = true};
    struct many_args *a = &m->args;
    char name[16] = "sm";
    uint64_t launches = 0;

    if (sms != WHOLE_GPU)
        snprintf(name, sizeof name, "%u", sms);
    if (blocks > n_sm || !probe_begin_case(r, PROBE_THRICE, "counter=%s,sms=%s,lanes=%u",
                                           each ? "each" : "one", name, lanes))
        return;
    CUDA(cudaMemsetAsync(m->words, 0, N_PLACES * m->place_words * sizeof *m->words, gpu_stream(r)));
    CUDA(cudaMemsetAsync(a->arrived, 0, LINE_WORDS * sizeof *a->arrived, gpu_stream(r)));
    a->lanes = lanes;
    a->apart = each ? LINE_WORDS : 0;
    a->due = 0;
    while (probe_more(r)) {
        a->words = m->words + launches++ % N_PLACES * m->place_words;
        a->due += blocks;
        gpu_time_start(r);
        gpu_launch_shape(r, m->kernel, &shape, a);
        double mhz = gpu_time_stop(r).mhz;
        gpu_to_host(r, m->samples, a->samples, blocks * sizeof *m->samples);
        gpu_to_host(r, m->sm, a->sm, blocks * sizeof *m->sm);
        sample(r, m, blocks, mhz);
    }
    probe_require(r, true, "all blocks met, each on an SM of its own");
    check_words(r, m, blocks, launches);
}

void contention_measure_many(struct probe_run *r)
{
    static const unsigned sms[] = {1, 2, 8, 32, WHOLE_GPU};
    struct many m = prepare(r);

    for (size_t i = 0; i < PROBE_LENGTH(sms); i++)
        measure_many(r, &m, false, sms[i], 1);
    measure_many(r, &m, true, WHOLE_GPU, 1);
    measure_many(r, &m, false, WHOLE_GPU, 32);
}
