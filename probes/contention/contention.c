/* contention: what do memory accesses cost when they collide?
 *
 * Method. There are three ways to collide. Each is measured by a chain of dependent accesses of one
 * warp (latency) and by a loop of all 32 warps of one SM (throughput):
 *     bank      shared memory. ways=w: each bank that is used holds w of the 32 words that a warp
 *               asks for; ways=broadcast: all lanes ask for the same word.
 *     sector    global memory, from L1 (ld.ca) or L2 (ld.cg), all hits. The 32 lanes ask for
 *               `sectors` different sectors of 32 bytes, in `lines` lines of 128 bytes. In the loop
 *               all warps ask the L1 for the same lines; from the L2 each asks for its own.
 *     atomic    additions, and compare-and-swap. The chain: each operand is the old content that
 *               the operation before returned; lanes=1, or 32 lanes with a word each in one line.
 *               The rate: every thread adds to a counter again and again. kind=atom uses the old
 *               content, kind=red does not ask for it; op=cas_u32 adds by compare-and-swap until it
 *               succeeds. counter= says who shares one: each thread, each warp or each sm has its
 *               own, or one is for all. Shared memory: one SM. Global memory: all SMs.
 *     atomic_many  the chain of additions again, now on `sms` SMs at once, lanes=1 or 32 of a warp
 *               on each: to one word of all, or to a word and line of each thread. Median over SMs
 * Chains use the slope over 32 and 64 accesses, loops the slope over n and 2n turns. `interval` is
 * the time from one access of a warp to its next while all warps of an SM access; rates follow from
 * it.
 *
 * Inside the timed region: the accesses, and in a chain at most three other instructions. Stores,
 * and additions without an answer, end with a load of the same address, which is served after them.
 * Expected (figures-of-others, cycles): shared memory 23 to 30; each further way adds 1 or 2 in a
 * chain, and one cycle in a loop. L1: one line per cycle, and at most four sectors. Additions in
 * shared memory: 25 to 37, plus one cycle per lane if lanes share a counter; an addition of floats
 * is a loop of load and swap. Global: 380, between near and far. Of many SMs one word takes 0.7
 * adds a cycle (atomic_rate), so that one lane of each of 132 SMs still fits into the latency, 200
 * to 300 ns, while 32 lanes of each must wait for 4224 additions, 3 us.
 * Verified: chains end where they must; sums of loads equal the sums of the data; stored words are
 * there; counters hold exactly the number of additions; no bank serves more than a word per cycle.
 *
 * Traps. The compiler merges additions of a constant to one address into one addition per warp, and
 * turns red +1 in shared memory into an increment by a population count: here addresses and operand
 * come from registers. The compiler hoists loads that cannot change out of their loop. Shared
 * memory has no float addition. Warps that ask the L2 for the same lines are answered together: by
 * the counters, a quarter to three quarters of their sectors reach the L2. Warps do not end at the
 * same time: they differ by 500 to 3500 cycles, and the stretches must be long against that. */
#include "probes/contention/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/contention/contention.h"

PROBE_IMAGE(contention);
PROBE_IMAGE(contention_atomics);

static const struct probe_metric metrics[] = {
    [BANK_LATENCY] = {"bank_latency", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "ways",
        .what = "dependent load from shared memory with so many words of a bank at once"},
    [BANK_LOAD] = {"bank_load_interval", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "ways",
        .what = "cycles of an SM for each such load of a warp, all warps loading"},
    [BANK_LOAD_RATE] = {"bank_load_rate", "bytes/cycle", PROBE_HIGHER, .keys = "ways",
        .what = "the same as bytes that lanes get in a cycle"},
    [BANK_STORE] = {"bank_store_interval", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "ways", .what = "cycles of an SM for each such store of a warp, all warps storing"},
    [BANK_STORE_RATE] = {"bank_store_rate", "bytes/cycle", PROBE_HIGHER, .keys = "ways",
        .what = "the same as bytes that lanes store in a cycle"},
    [SECTOR_LATENCY] = {"sector_latency", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "level,sectors,lines", .what = "dependent load of a warp from so many sectors"},
    [SECTOR_TIME] = {"sector_latency_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE,
        .timer = "device", .keys = "level,sectors,lines", .what = "the same in ns"},
    [SECTOR_INTERVAL] = {"sector_interval", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "level,sectors,lines",
        .what = "cycles of an SM for each such load of a warp, all warps loading"},
    [SECTOR_RATE] = {"sector_rate", "ops/cycle", PROBE_HIGHER, .keys = "level,sectors,lines",
        .what = "the same as sectors in a cycle"},
    [ATOMIC_LATENCY] = {"atomic_latency", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "space,op,lanes", .what = "dependent atomic operation"},
    [ATOMIC_TIME] = {"atomic_latency_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE,
        .timer = "device", .keys = "space,op,lanes", .what = "the same in ns"},
    [ATOMIC_INTERVAL] = {"atomic_interval", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "space,op,kind,counter",
        .what = "cycles of an SM for each atomic operation of a warp, all warps adding"},
    [ATOMIC_SM_RATE] = {"atomic_sm_rate", "ops/cycle", PROBE_HIGHER,
        .keys = "space,op,kind,counter",
        .what = "atomic operations that an SM finishes in a cycle"},
    [ATOMIC_RATE] = {"atomic_rate", "ops/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "space,op,kind,counter", .what = "additions to global memory by all SMs"},
    [ATOMIC_MANY] = {"atomic_many", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "counter,sms,lanes",
        .what = "an addition to global memory and its answer, while so many SMs do the same"},
    [ATOMIC_MANY_TIME] = {"atomic_many_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE,
        .timer = "device", .keys = "counter,sms,lanes", .what = "the same in ns"},
};

enum {
    REGION = L2_SETS * SET_BYTES + 33 * 128,
    REGIONS = 64, /* each pass uses another one for its rings, to meet all slices of the L2 */
    WARPS = ALL_THREADS / 32,
    PLACES = 64, /* for atomics; each pass uses another one */
    PLACE_APART = 1057 * 128,
    BANK_STRETCH = 1 << 18,
    L1_STRETCH = 5 << 18,
    L2_STRETCH = 1 << 18,
    FAR = 32, /* words between counters that share no line */
};

struct bench {
    char *memory; /* REGIONS rings, or counters */
    size_t bytes;
    struct contention_result *result; /* device */
    uint32_t *errors, *found;
};

static cudaKernel_t find(struct probe_run *r, const char *name)
{
    const struct gpu_image *image =
        strstr(name, "_chain_") || strstr(name, "_add_") || strstr(name, "_cas_") ||
                !strcmp(name, "contention_count")
            ? &image_contention_atomics
            : &image_contention;
    cudaKernel_t kernel = gpu_kernel(r, image, name, sizeof(struct contention_args));
    if (strstr(name, "_l1"))
        gpu_kernel_shared(kernel, 0, 0); /* no shared memory: all for the L1 */
    return kernel;
}

static struct bench prepare(struct probe_run *r)
{
    size_t counters = (size_t)gpu_facts(r)->n_sm * ALL_THREADS * sizeof(uint32_t);
    size_t spread = (size_t)gpu_facts(r)->n_sm * WARPS * FAR * sizeof(uint32_t);
    struct bench b = {.bytes = (size_t)REGIONS * REGION + WARPS * WARP_BYTES};

    counters += (size_t)PLACES * PLACE_APART;
    spread += (size_t)PLACES * PLACE_APART;
    b.bytes = counters > b.bytes ? counters : b.bytes;
    b.bytes = spread > b.bytes ? spread : b.bytes;
    b.memory = gpu_alloc(r, b.bytes, "rings and counters");
    b.result = gpu_alloc(r, sizeof *b.result, "results");
    b.errors = gpu_alloc(r, sizeof *b.errors, "a count of errors");
    b.found = gpu_alloc(r, sizeof *b.found, "a count of counters");
    CUDA(cudaMemsetAsync(b.errors, 0, sizeof *b.errors, gpu_stream(r)));
    return b;
}

static struct contention_args args_of(const struct bench *b, struct spread spread)
{
    return (struct contention_args){.memory = b->memory,
                                    .result = b->result,
                                    .errors = b->errors,
                                    .found = b->found,
                                    .spread = spread,
                                    .sets = SETS,
                                    .one = 1,
                                    .warm = 2};
}

static void check_errors(struct probe_run *r, const struct bench *b)
{
    uint32_t errors;
    gpu_to_host(r, &errors, b->errors, sizeof errors);
    probe_require(r, errors == 0, "every access found what it must (%u threads did not)", errors);
    CUDA(cudaMemsetAsync(b->errors, 0, sizeof *b->errors, gpu_stream(r)));
}

/* Records a chain's samples, with the SM clock during it. in_ns < 0: within the SM, cycles only. */
static void sample_chain(struct probe_run *r, const struct bench *b, cudaKernel_t kernel,
                         const struct contention_args *a, int in_cycles, int in_ns,
                         struct contention_result *result)
{
    gpu_time_start(r);
    gpu_launch(r, kernel, 1, 32, 0, a);
    double mhz = gpu_time_stop(r).mhz;
    gpu_to_host(r, result, b->result, sizeof *result);

    for (int i = 0; i < REPEATS; i++) {
        double few = (double)result->sample[i].short_cycles;
        double many = (double)result->sample[i].long_cycles;
        probe_sample(r, in_cycles, STEPS_SHORT, few);
        probe_sample(r, in_cycles, STEPS_LONG, many);
        if (in_ns >= 0) {
            probe_sample(r, in_ns, STEPS_SHORT, few * 1e3 / mhz);
            probe_sample(r, in_ns, STEPS_LONG, many * 1e3 / mhz);
        }
    }
}

/* Records a loop's samples: the accesses per warp and turn; the longer stretch has twice as many
 * turns. */
static void sample_loop(struct probe_run *r, const struct bench *b, cudaKernel_t kernel,
                        const struct contention_args *a, int metric, double accesses)
{
    struct contention_result result;

    accesses *= (double)a->turns * WARPS;
    gpu_launch(r, kernel, 1, ALL_THREADS, 0, a);
    gpu_to_host(r, &result, b->result, sizeof result);
    probe_sample(r, metric, accesses, (double)result.sample[0].short_cycles);
    probe_sample(r, metric, 2 * accesses, (double)result.sample[0].long_cycles);
}

/* Turns of a loop in which an access occupies an SM for the given number of cycles: enough for
 * `stretch` cycles in the shorter stretch, or 256 if accesses are cheap. */
static uint32_t turns_of(struct probe_run *r, uint32_t cycles, uint32_t stretch)
{
    uint32_t turns = cycles < 8 ? 256 : stretch / (SETS * WARPS * cycles);
    return probe_is_check_run(r) ? turns / 32 : turns;
}

/* A rate per cycle: `amount` per access. */
static void value_of_interval(struct probe_run *r, int rate, int interval, double amount)
{
    double cycles = probe_median(r, interval);
    if (isfinite(cycles))
        probe_value(r, rate, amount / cycles);
}

/* A bank serves one word per cycle, which limits these rates. Checked within 1 %, since it is a
 * slope: 0.9983 cycles was seen. A bank that serves two would give 0.5. */
static void check_banks(struct probe_run *r, uint32_t ways)
{
    const double loads = probe_median(r, BANK_LOAD), stores = probe_median(r, BANK_STORE);
    if (isfinite(loads) && isfinite(stores))
        probe_require(r, loads > 0.99 * ways && stores > 0.99 * ways,
                      "%u words of a bank: loaded in %.4f cycles, stored in %.4f", ways, loads,
                      stores);
}

static void measure_banks(struct probe_run *r, const struct bench *b)
{
    static const char *const names[] = {"broadcast", "1", "2", "4", "8", "16", "32"};
    cudaKernel_t chase = find(r, "contention_bank_chase"), load = find(r, "contention_bank_load"),
                 store = find(r, "contention_bank_store");
    struct contention_result result;

    for (size_t i = 0; i < PROBE_LENGTH(names); i++) {
        uint32_t run = i == 0 ? 32 : 32u >> (i - 1);
        struct spread spread = {.run = run, .far = 32, .near = i == 0 ? 0 : 1};
        struct contention_args a = args_of(b, spread);
        a.turns = turns_of(r, 32 / run, BANK_STRETCH);
        if (!probe_begin_case(r, PROBE_THRICE, "ways=%s", names[i]))
            continue;
        while (probe_more(r)) {
            sample_chain(r, b, chase, &a, BANK_LATENCY, -1, &result);
            sample_loop(r, b, load, &a, BANK_LOAD, SETS);
            sample_loop(r, b, store, &a, BANK_STORE, SETS);
        }
        value_of_interval(r, BANK_LOAD_RATE, BANK_LOAD, 32 * sizeof(uint32_t));
        value_of_interval(r, BANK_STORE_RATE, BANK_STORE, 32 * sizeof(uint32_t));
        check_banks(r, 32 / run);
        check_errors(r, b);
    }
}

static void measure_sectors(struct probe_run *r, const struct bench *b, const char *level,
                            const char *chase_name, const char *load_name)
{
    cudaKernel_t chase = find(r, chase_name), load = find(r, load_name);
    struct contention_result result;
    bool in_l2 = !strcmp(level, "l2");
    uint32_t region = 0;

    for (uint32_t packed = 0; packed < 2; packed++)
        for (uint32_t sectors = packed ? 2 : 1; sectors <= 32; sectors *= 2) {
            uint32_t apart = packed ? 32 : 128;
            uint32_t lines = sectors * apart < 128 ? 1 : sectors * apart / 128;
            struct contention_args a =
                args_of(b, (struct spread){.run = 32 / sectors, .far = apart});
            a.turns = turns_of(r, lines, in_l2 ? L2_STRETCH : L1_STRETCH);
            bool end = sectors == 1 || sectors == 32;
            if (!probe_begin_case(r, in_l2 && !end ? PROBE_DEEP : PROBE_THRICE,
                                  "level=%s,sectors=%u,lines=%u", level, sectors, lines))
                continue;
            while (probe_more(r)) {
                if (in_l2)
                    a.memory = b->memory + (size_t)(region++ % REGIONS) * REGION;
                a.sets = in_l2 ? L2_SETS : SETS;
                sample_chain(r, b, chase, &a, SECTOR_LATENCY, SECTOR_TIME, &result);
                a.sets = SETS;
                sample_loop(r, b, load, &a, SECTOR_INTERVAL, SETS);
            }
            value_of_interval(r, SECTOR_RATE, SECTOR_INTERVAL, sectors);
            check_errors(r, b);
        }
}

/* --- atomics ---------------------------------------------------------------------------------- */

/* What a chain leaves in memory, and the value that its last operation returned, as bits. */
static void expected_chain(const char *op, uint32_t *memory, uint32_t *value)
{
    static const int stretches[] = {1, STEPS_SHORT, STEPS_LONG};
    bool swaps = !strcmp(op, "cas_u32"), floats = !strcmp(op, "add_f32");
    uint32_t m[CHAIN_WORDS], v = swaps ? CHAIN_SWAP_FROM : 1;
    float mf[CHAIN_WORDS] = {0}, vf = 1;

    for (int k = 0; k < CHAIN_WORDS; k++)
        m[k] = swaps ? CHAIN_SWAP_FROM : 0;
    for (size_t s = 0; s < PROBE_LENGTH(stretches); s++)
        for (int i = 0; i < stretches[s]; i++) {
            uint32_t old = m[i % CHAIN_WORDS];
            float old_f = mf[i % CHAIN_WORDS];
            m[i % CHAIN_WORDS] = !swaps ? old + v : old == v ? CHAIN_SWAP_TO : old;
            mf[i % CHAIN_WORDS] = old_f + vf;
            v = old;
            vf = old_f;
        }
    *memory = 0;
    for (int k = 0; k < CHAIN_WORDS; k++) {
        if (floats)
            memcpy(&m[k], &mf[k], sizeof m[k]);
        *memory = 3 * *memory + m[k];
    }
    if (floats)
        memcpy(&v, &vf, sizeof v);
    *value = v;
}

static void measure_chain(struct probe_run *r, const struct bench *b, unsigned flags,
                          const char *space, const char *op, uint32_t lanes)
{
    char name[64];
    uint32_t memory, value;
    struct contention_args a = args_of(b, (struct spread){.run = 1, .far = 1});
    struct contention_result result;
    bool right = true;

    if (!probe_begin_case(r, flags, "space=%s,op=%s,lanes=%u", space, op, lanes))
        return;
    snprintf(name, sizeof name, "contention_chain_%s_%s", space, op);
    cudaKernel_t kernel = find(r, name);
    expected_chain(op, &memory, &value);
    a.lanes = lanes;
    for (uint32_t pass = 0; probe_more(r); pass++) {
        a.memory = b->memory + (size_t)(pass % PLACES) * PLACE_APART;
        sample_chain(r, b, kernel, &a, ATOMIC_LATENCY, ATOMIC_TIME, &result);
        for (int i = 0; i < REPEATS; i++)
            right = right && result.memory[i] == memory && result.value[i] == value;
    }
    probe_require(r, right, "a chain of %d operations leaves what it must", STEPS);
    check_errors(r, b);
}

/* Who shares a counter: runs of `share` threads. Each run's counter has a line of its own, unless
 * every thread has one. */
static const struct sharing {
    const char *name;
    uint32_t run;
} sharings[] = {{"each", 1}, {"warp", 32}, {"sm", ALL_THREADS}, {"one", 0}};

static void measure_shared(struct probe_run *r, const struct bench *b, unsigned flags,
                           const char *op, const char *kind, const struct sharing *s)
{
    char name[64];
    bool one = s->run == ALL_THREADS;
    struct contention_args a =
        args_of(b, (struct spread){.run = s->run, .far = one ? 0 : s->run == 1 ? 1 : 33});

    if (!probe_begin_case(r, flags, "space=shared,op=%s,kind=%s,counter=%s", op, kind, s->name))
        return;
    snprintf(name, sizeof name, "contention_shared_%s_%s", op, kind);
    cudaKernel_t kernel = find(r, name);
    a.share = s->run;
    a.turns = s->run == 1 ? 256 : strcmp(op, "add_u32") ? 4 : 32;
    while (probe_more(r))
        sample_loop(r, b, kernel, &a, ATOMIC_INTERVAL, ADDS);
    value_of_interval(r, ATOMIC_SM_RATE, ATOMIC_INTERVAL, 32);
    check_errors(r, b);
}

/* Times one launch; then checks and clears every counter. */
static double add_global_ns(struct probe_run *r, cudaKernel_t kernel, cudaKernel_t count,
                            const struct contention_args *a)
{
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                                    .block = ALL_THREADS};
    double ns = gpu_launch_ns(r, kernel, &shape, a);

    gpu_launch_shape(r, count, &shape, a);
    return ns;
}

static void measure_global(struct probe_run *r, const struct bench *b, unsigned flags,
                           const char *op, const char *kind, const struct sharing *s)
{
    char name[64];
    uint32_t threads = (uint32_t)gpu_facts(r)->n_sm * ALL_THREADS, found, launches = 0;
    uint32_t run = s->run ? s->run : threads, turns = s->run == 1 ? 64 : s->run ? 16 : 1;
    struct contention_args a =
        args_of(b, (struct spread){.run = run, .far = s->run == 1 ? 1 : FAR});

    if (!probe_begin_case(r, flags, "space=global,op=%s,kind=%s,counter=%s", op, kind, s->name))
        return;
    snprintf(name, sizeof name, "contention_global_%s_%s", op, kind);
    cudaKernel_t kernel = find(r, name), count = find(r, "contention_count");
    a.share = run;
    a.words = threads / run * a.spread.far;
    a.floats = !strcmp(op, "add_f32");
    CUDA(cudaMemsetAsync(b->memory, 0, b->bytes, gpu_stream(r)));
    CUDA(cudaMemsetAsync(b->found, 0, sizeof *b->found, gpu_stream(r)));
    for (uint32_t pass = 0; probe_more(r); pass++)
        for (uint32_t i = 0; i < 2; i++) {
            a.turns = (i ^ pass) & 1 ? 2 * turns : turns;
            a.memory = b->memory + (size_t)(pass % PLACES) * PLACE_APART;
            double ns = add_global_ns(r, kernel, count, &a);
            probe_sample(r, ATOMIC_RATE, (double)threads * a.turns * ADDS, ns);
            launches++;
        }
    gpu_to_host(r, &found, b->found, sizeof found);
    probe_require(r, found == launches * (threads / run),
                  "%u counters hold the number of additions, of %u", found,
                  launches * (threads / run));
    check_errors(r, b);
    probe_fact(r, "threads_on_a_counter", "%u", run);
}

static void measure_atomics(struct probe_run *r, const struct bench *b)
{
    static const char *const ops[] = {"add_u32", "add_f32", "cas_u32"};
    static const char *const kinds[] = {"atom", "red"};

    for (size_t i = 0; i < PROBE_LENGTH(ops); i++)
        for (uint32_t lanes = 1; lanes <= 32; lanes += 31) {
            const unsigned shown = i == 0 ? 0 : PROBE_THRICE; /* an addition is in the report */
            measure_chain(r, b, PROBE_THRICE, "shared", ops[i], lanes);
            measure_chain(r, b, lanes > 1 ? PROBE_DEEP : shown, "global", ops[i], lanes);
        }
    for (size_t i = 0; i < PROBE_LENGTH(ops); i++)
        for (size_t kind = 0; kind < PROBE_LENGTH(kinds); kind++)
            for (size_t s = 0; s < PROBE_LENGTH(sharings); s++) {
                bool cas = !strcmp(ops[i], "cas_u32"), plain = i == 0 && kind == 1;
                bool end = sharings[s].run == 1 || sharings[s].run == 0;
                if (cas && (kind > 0 || s == 3))
                    continue; /* a swap always returns; on all SMs it takes seconds */
                if (sharings[s].run > 0)
                    measure_shared(r, b, cas && s > 0 ? PROBE_DEEP : PROBE_THRICE, ops[i],
                                   kinds[kind], &sharings[s]);
                measure_global(r, b,
                               plain || (end && kind == (size_t)!cas) ? PROBE_THRICE : PROBE_DEEP,
                               ops[i], kinds[kind], &sharings[s]);
            }
}

static void measure(struct probe_run *r)
{
    struct bench b = prepare(r);

    measure_banks(r, &b);
    measure_sectors(r, &b, "l1", "contention_sector_chase_l1", "contention_sector_load_l1");
    measure_sectors(r, &b, "l2", "contention_sector_chase_l2", "contention_sector_load_l2");
    measure_atomics(r, &b);
    contention_measure_many(r);
}

const struct probe probe = {
    .name = "contention",
    .what = "What do accesses cost that get in each other's way?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
