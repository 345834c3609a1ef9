/* occupancy: how many warps does it take to keep the memory busy, what can replace them, and what
 * limits their number?
 *
 * Method. Every SM holds W warps, in one block or in two. The occupancy API says that they fit, and
 * a census of %smid shows that they are spread evenly.
 *     read_rate       every thread has L independent 16-byte loads in flight at a time (1 to 32);
 *                     ld.global.cg. level=l2 reads 16 MiB again and again, or half of a smaller
 *                     L2; level=hbm streams through a buffer of 16 x L2 or more and continues
 *                     where the last launch stopped
 *     path_rate       the same bytes by other paths: path=words, 4-byte loads; cp_async and bulk
 *                     (TMA), copies into a ring of four stages in shared memory, from which the
 *                     warps read all of it into registers. in_flight: bytes per SM, the ring's
 *                     size. Both levels, as above
 *     hit             every warp chases L chains of addresses that stay in shared memory or L1:
 *                     cycles from one load of a chain to the next, so that an SM does warps x loads
 *                     / hit loads per cycle. stride: elements (4 bytes in shared memory, 8 in L1)
 *                     between lanes; in shared memory the number of lanes that one bank serves
 *     fma_rate        every warp has C chains of fp32 multiply-adds, each of which needs the one
 *                     before: what warps and independent instructions do for arithmetic
 *     layers          the same chase with 4 warps and one chain. Its rows are in one piece, or in
 *                     one piece for each layer, 2 MiB apart; the layers are visited in turn
 *                     either way. 16 KiB in all from L1, or 4 MiB from L2
 *     split           the same through more than half of the SM's memory, by ld.global.ca: did the
 *                     carve-out (the percentage that is shared memory) really take it from L1?
 *     resident_warps  the most warps that an SM held at once. Each block uses given amounts of
 *                     registers, local memory and shared memory, and stays until no other block has
 *                     come to its SM for 8 us. Facts: what the occupancy API predicts, and which
 *                     limit binds
 *
 * Inside the timed region: one launch between two events; slope over N and 2N turns of the loop, so
 * that launch and drain cancel. Before that each kernel reads once and XORs all words, and the host
 * knows the right result. Chases must end at the address that was computed for them.
 * Expected by Little's law: rate = bytes in flight / latency, until a limit of the memory is
 * reached. An H200 needs about 11 KB per SM for 4.2 TB/s at 340 ns, and more in practice, since the
 * latency grows with the load. The report derives the bytes in flight, and what the law predicts.
 * Multiply-adds take 4 cycles, so one warp with one chain gives 8 a cycle, and warps x chains = 16
 * the full 128, if there are four warps, one for each quarter of the SM. Shared memory and L1 hold
 * their 23 and 33 cycles up to about 23 and 16 loads in flight, then each load of a warp takes its
 * one or two cycles.
 *
 * The curve has 1 to 64 warps with 1, 2, 4, 8 and 16 loads, chains or multiply-adds each, all in
 * three rounds at least. Left out is what does not fit into registers. What loads of 16 bytes bring
 * in has to lie there: 64 warps of 8 loads, or 32 of 16, would take all of an SM's 256 KiB,
 * addresses not counted, and one warp has at most 255 registers a thread, less than 32 KiB. It has
 * 8 and 16 KiB in flight by loads, more only by copies. A chase needs its chains' addresses and
 * little else, but its kernels are built for 32 warps: those of 4 chains in shared memory and of 8
 * in L1 take 40 registers, where 64 warps leave each thread 32. A ring of one warp has 16 KiB at
 * least, of four 32: a stage is what its warps read at a time. Expected of copies from the L2,
 * before any measurement: by four warps of 128 KiB what loads reach; by one warp no more than from
 * HBM, since it does everything in sequence.
 *
 * Traps. L loads are in flight only until the loop uses them, so the mean is slightly below W x 32
 * x L x 16 bytes. Loads in flight occupy L1, even ld.global.cg: with nearly all of it given to
 * shared memory the same loads are 2 to 7 % slower. A single warp that serves a ring does
 * everything in sequence, about 250 ns per stage on an H200, so that stages must be large. The
 * driver takes a carve-out as a hint, and rounds it up to what one block needs. */
#include "probes/occupancy/occupancy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

PROBE_IMAGE(occupancy);
PROBE_IMAGE(occupancy_chains);

static const struct probe_metric metrics[] = {
    [READ_RATE] = {"read_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,warps,loads",
        .what = "sustained read rate with so many warps an SM and loads a thread in flight"},
    [PATH_RATE] = {"path_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,path,warps,in_flight",
        .what = "the same by 4-byte loads or asynchronous copies"},
    [HIT] = {"hit", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "memory,stride,warps,loads",
        .what = "from one load of a chain to the next, each warp with so many chains"},
    [LAYERS] = {"layers", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "level,layers,placement",
        .what = "a dependent load where rows lie in one piece, or a piece for each layer"},
    [SPLIT] = {"split", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "carveout",
        .what = "a dependent load from a ring that fits L1 only where little is shared memory"},
    [RESIDENT] = {"resident_warps", "count", PROBE_EXACT,
        .keys = "registers,local,shared,block,carveout",
        .what = "most warps seen on an SM at once"},
    [PREDICTED] = {"predicted_warps", "count", PROBE_EXACT,
        .keys = "registers,local,shared,block,carveout",
        .what = "the same as the occupancy API has it"},
    [FMA_INTERVAL] = {"fma_interval", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = "warps,chains",
        .what = "from one dependent fp32 multiply-add of an SM's warps to the next"},
    [FMA_RATE] = {"fma_rate", "ops/cycle", PROBE_HIGHER, .keys = "warps,chains",
        .what = "multiply-adds that an SM finishes in a cycle, each warp with so many chains"},
};

static const struct probe_parameter parameters[] = {
    {.name = "hbm_bytes", .max = (int64_t)1 << 36,
     .what = "the buffer for level=hbm; 0: the least power of two that is 16 x L2"},
};

enum {
    L2_BUFFER = 16 << 20, /* read for level=l2; less where half of the L2 is less */
    TURNS_MIN = 8,
    LAYER_PITCH = 2 << 20,
    LAYERS_MAX = 32,
    LAYERS_L2 = 4 << 20, /* total bytes of the rows, for level=l2; less as above */
    FEW_WARPS = 4,
    STACK = 256,
    RING_EXTRA = 128, /* the ring's barriers */
};
static const double TARGET_NS = 300e3, LATENCY_NS = 800, RATE_GUESS = 4e12;
static const double CHASE_CYCLES = 4e5, SETTLE_NS = 8e3, RESIDE_BUDGET_NS = 2e6;

/* --- one reading kernel ----------------------------------------------------------------------- */

/* A kernel, and how it puts W warps on every SM: one block per SM, or two with half of the warps
 * each where one block may not have so many. The GPU distributes blocks evenly, which the census
 * checks. */
struct way {
    cudaKernel_t kernel;
    unsigned blocks, threads, per_sm;
    size_t shared;          /* bytes: the ring, or none */
    uint32_t stage;         /* bytes per stage; 0 for loads */
    uint32_t turn_elements; /* of 16 bytes, for the whole grid */
};

static struct way way_of(const struct gpu_facts *gpu, cudaKernel_t kernel, int warps,
                         int block_warps, int elements)
{
    unsigned per_sm = warps > block_warps ? 2 : 1, blocks = (unsigned)gpu->n_sm * per_sm;
    return (struct way){.kernel = kernel,
                        .blocks = blocks,
                        .threads = 32 * (unsigned)warps / per_sm,
                        .per_sm = per_sm,
                        .turn_elements = blocks / per_sm * (unsigned)elements};
}

void occupancy_check_census(struct probe_run *r, const struct reader *x, unsigned per_sm)
{
    uint32_t seen[1024];
    int n_sm = gpu_facts(r)->n_sm;
    bool even = true;

    gpu_to_host(r, seen, x->census, (size_t)n_sm * sizeof *seen);
    for (int i = 0; i < n_sm; i++)
        even = even && seen[i] == per_sm;
    probe_require(r, even, "%u block%s on every SM", per_sm, per_sm == 1 ? "" : "s");
    CUDA(cudaMemsetAsync(x->census, 0, (size_t)n_sm * sizeof *seen, gpu_stream(r)));
}

/* Does the kernel read what it claims, and are its blocks where they should be? */
static void check_reads(struct probe_run *r, const struct reader *x, const struct way *w)
{
    uint64_t n = (uint64_t)CHECK_TURNS * w->turn_elements;
    uint32_t expected = n / x->l2_elements % 2 ? x->prefix[x->l2_elements] : 0, found;
    struct occupancy_args a = {.in = x->buffer,
                               .check = x->check,
                               .census = x->census,
                               .mask = x->l2_elements - 1,
                               .turns = CHECK_TURNS,
                               .stage = w->stage};

    CUDA(cudaMemsetAsync(x->check, 0, sizeof found, gpu_stream(r)));
    gpu_launch(r, w->kernel, w->blocks, w->threads, w->shared, &a);
    gpu_to_host(r, &found, x->check, sizeof found);
    expected ^= x->prefix[n % x->l2_elements];
    probe_require(r, found == expected, "%llu bytes read XOR to %08x, as on the host (%08x)",
                  16ull * n, found, expected);
    occupancy_check_census(r, x, w->per_sm);
}

static void measure_way(struct probe_run *r, const struct reader *x, const struct way *w,
                        int metric, bool in_l2)
{
    double turn_ns = fmax(LATENCY_NS, (double)w->turn_elements * 16e9 / RATE_GUESS);
    uint32_t turns = (uint32_t)fmax(TARGET_NS / turn_ns, TURNS_MIN);
    struct occupancy_args a = {.in = x->buffer,
                               .stage = w->stage,
                               .mask = (uint32_t)((in_l2 ? x->l2_elements : x->elements) - 1)};
    const struct gpu_shape shape = {
        .grid = {w->blocks, 1, 1}, .block = w->threads, .shared = w->shared};

    check_reads(r, x, w);
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            probe_sample(r, metric, 16.0 * a.turns * w->turn_elements,
                         gpu_launch_ns(r, w->kernel, &shape, &a));
            a.first = (a.first + a.turns * w->turn_elements) & a.mask;
        }
    /* Reads reach 0.94 of the pin rate: a kernel that skips more than 6 % of them fails here. The
     * XOR of check_reads() finds fewer. */
    if (!in_l2)
        gpu_require_below_pins(r, metric, 1);
}

/* --- loads ------------------------------------------------------------------------------------ */

/* Where neither a verdict nor the headline looks, up to 16 loads are points of a curve. More are
 * left to --deep. --check runs every kernel. */
static unsigned flags_of_loads(const struct probe_run *r, const char *level, int warps, int loads)
{
    bool hbm = !strcmp(level, "hbm"), few = warps == FEW_WARPS, ends = warps == 1 || warps == 64;
    bool shown = (loads == 1 && (ends || few || warps == 16 || (hbm && warps == 32))) ||
                 (loads == 8 && (few || warps == 8 || (hbm && warps >= 32))) ||
                 (hbm && ((loads == 4 && warps == 64) || (loads > 8 && few))) ||
                 (hbm && loads == 32 && (warps == 1 || warps == 2)) || /* for claim C13 */
                 (probe_is_check_run(r) && few);
    return PROBE_POWER_BOUND |
           (shown ? 0 : loads > 16 ? PROBE_DEEP : PROBE_THRICE);
}

bool occupancy_fits(cudaKernel_t kernel, unsigned threads, size_t shared, unsigned per_sm)
{
    int blocks = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel, (int)threads,
                                                       shared));
    return blocks >= (int)per_sm;
}

static void measure_loads(struct probe_run *r, const struct reader *x, const char *level, int loads)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    char name[32];
    snprintf(name, sizeof name, "occupancy_read_%d", loads);
    cudaKernel_t kernel = gpu_kernel(r, &image_occupancy, name, sizeof(struct occupancy_args));
    gpu_kernel_shared(kernel, 0, 0);

    int block_warps = loads > 8 ? 8 : 32; /* the kernels' launch bounds */
    for (int warps = 1; warps <= 2 * block_warps && warps <= gpu->warps_per_sm; warps *= 2) {
        struct way w = way_of(gpu, kernel, warps, block_warps, 32 * warps * loads);
        if (occupancy_fits(kernel, w.threads, 0, w.per_sm) &&
            probe_begin_case(r, flags_of_loads(r, level, warps, loads),
                             "level=%s,warps=%d,loads=%d", level, warps, loads))
            measure_way(r, x, &w, READ_RATE, !strcmp(level, "l2"));
    }
}

/* --- other paths ------------------------------------------------------------------------------ */

/* The number of 4-byte loads, or one of the rings. */
static void path_kernel(char name[40], const char *path, int warps, uint32_t in_flight)
{
    bool words = !strcmp(path, "words");
    snprintf(name, 40, "occupancy_%s_%d", path, words ? (int)in_flight / (128 * warps) : warps);
}

static void measure_path(struct probe_run *r, const struct reader *x, const char *level,
                         const char *path, unsigned flags, int warps, uint32_t in_flight)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    char name[40];
    bool ring = strcmp(path, "words");
    if (!probe_begin_case(r, PROBE_POWER_BOUND | (probe_is_check_run(r) ? 0 : flags),
                          "level=%s,path=%s,warps=%d,in_flight=%u", level, path, warps, in_flight))
        return;
    path_kernel(name, path, warps, in_flight);
    cudaKernel_t kernel =
        gpu_kernel_if_any(r, &image_occupancy, name, sizeof(struct occupancy_args));
    if (!kernel || (ring && in_flight + RING_EXTRA > gpu->shared_per_block)) {
        probe_missing(r, PATH_RATE,
                      kernel ? "more than this GPU's shared memory"
                             : "cp.async needs compute capability 8.0, bulk copies 9.0");
        return;
    }
    struct way w = way_of(gpu, kernel, warps, 32, (int)in_flight / 16);
    if (ring) {
        w.shared = in_flight;
        w.stage = in_flight / OCCUPANCY_STAGES;
        w.turn_elements /= OCCUPANCY_STAGES;
    }
    gpu_kernel_shared(kernel, w.shared, ring ? 100 : 0);
    measure_way(r, x, &w, PATH_RATE, !strcmp(level, "l2"));
}

/* A turn of a ring's warps is 4 KiB by one of them, 8 by four, and a stage is whole turns. */
static void measure_rings(struct probe_run *r, const struct reader *x, const char *path)
{
    measure_path(r, x, "hbm", path, PROBE_DEEP, 1, 16 << 10);
    measure_path(r, x, "hbm", path, PROBE_DEEP, 1, 32 << 10);
    measure_path(r, x, "hbm", path, 0, 1, 64 << 10);
    measure_path(r, x, "hbm", path, 0, 1, 128 << 10);
    measure_path(r, x, "hbm", path, PROBE_DEEP, FEW_WARPS, 32 << 10);
    measure_path(r, x, "hbm", path, 0, FEW_WARPS, 64 << 10);
    measure_path(r, x, "hbm", path, strcmp(path, "bulk") ? PROBE_DEEP : 0, FEW_WARPS, 128 << 10);
    for (uint32_t in_flight = 16 << 10; in_flight <= 128 << 10; in_flight *= 2) {
        const unsigned flags = in_flight < 64 << 10 ? PROBE_DEEP : PROBE_THRICE;
        measure_path(r, x, "l2", path, flags, 1, in_flight);
        if (in_flight > 16 << 10)
            measure_path(r, x, "l2", path, flags, FEW_WARPS, in_flight);
    }
}

static void measure_paths(struct probe_run *r, const struct reader *x)
{
    measure_path(r, x, "hbm", "words", 0, FEW_WARPS, 8 << 10);
    measure_path(r, x, "hbm", "words", PROBE_DEEP, FEW_WARPS, 2 << 10);
    measure_path(r, x, "hbm", "words", PROBE_DEEP, 32, 64 << 10);
    measure_path(r, x, "hbm", "words", PROBE_DEEP, 32, 16 << 10);
    measure_rings(r, x, "cp_async");
    measure_rings(r, x, "bulk");
}

/* --- chases ----------------------------------------------------------------------------------- */

struct chase {
    const char *memory; /* "shared", "l1", "l2" */
    int warps, chains;
    int carveout;
    double step_cycles; /* a guess, for the loop's length */
    struct occupancy_ring ring;
};

static cudaKernel_t chase_kernel(struct probe_run *r, const char *memory, int chains)
{
    char name[40];
    bool added = chains == 2 || chains == 16;
    snprintf(name, sizeof name, "occupancy_chase_%s_%d", memory, chains);
    return gpu_kernel(r, added ? &image_occupancy_chains : &image_occupancy, name,
                      sizeof(struct occupancy_chase_args));
}

static void measure_chase(struct probe_run *r, const struct reader *x, const struct chase *c,
                          int metric)
{
    struct occupancy_chase_args a = {
        .ring = c->ring, .wrong = x->check, .census = x->census, .turns = CHECK_TURNS};
    unsigned n_sm = (unsigned)gpu_facts(r)->n_sm, per_sm = c->warps > 32 ? 2 : 1;
    const struct gpu_shape shape = {.grid = {n_sm * per_sm, 1, 1},
                                    .block = 32 * (unsigned)c->warps / per_sm};
    uint32_t turns = (uint32_t)(CHASE_CYCLES / (c->step_cycles * OCCUPANCY_STEPS)), wrong = 0;
    cudaKernel_t build = gpu_kernel(r, &image_occupancy, "occupancy_ring", sizeof a.ring);

    cudaKernel_t kernel = chase_kernel(r, c->memory, c->chains);
    gpu_kernel_shared(kernel, 0, c->carveout);
    if (a.ring.base)
        gpu_launch(r, build, n_sm, 256, 0, &a.ring);
    CUDA(cudaMemsetAsync(x->check, 0, sizeof wrong, gpu_stream(r)));
    gpu_launch_shape(r, kernel, &shape, &a);
    occupancy_check_census(r, x, per_sm);
    a.census = NULL;
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            double mhz, ns = gpu_launch_clocked_ns(r, kernel, &shape, &a, &mhz);
            probe_sample(r, metric, (double)a.turns * OCCUPANCY_STEPS, ns * mhz / 1e3);
        }
    gpu_to_host(r, &wrong, x->check, sizeof wrong);
    probe_require(r, wrong == 0, "%u chains did not end where they must", wrong);
}

static void measure_hit(struct probe_run *r, const struct reader *x, const char *memory, int stride,
                        int warps, int chains)
{
    bool shared = !strcmp(memory, "shared");
    uint32_t element = shared ? 4 : 8, row = 32 * element * (uint32_t)stride;
    int worst = shared ? 32 : 16; /* all lanes in one bank, or each in a line of its own */
    bool shown = (stride == 1 && warps == FEW_WARPS && (chains == 1 || chains == 8)) ||
                 (stride == 1 && warps == 32 && chains == 8) ||
                 (stride == worst && warps == FEW_WARPS && chains == 1);
    unsigned flags = shown ? 0 : stride == 1 ? PROBE_THRICE : PROBE_DEEP;
    struct chase c = {.memory = memory,
                      .warps = warps,
                      .chains = chains,
                      .carveout = shared ? -1 : 0,
                      .step_cycles = fmax(40, warps * chains * stride),
                      .ring = {.base = shared ? NULL : x->ring,
                               .rows = OCCUPANCY_RING_BYTES / row,
                               .layers = 1,
                               .stride = (uint32_t)stride,
                               .element = element}};

    if (warps > 32 && !occupancy_fits(chase_kernel(r, memory, chains), 16 * (unsigned)warps, 0, 2))
        return; /* too many registers for two blocks */
    if (!probe_begin_case(r, flags, "memory=%s,stride=%d,warps=%d,loads=%d", memory, stride, warps,
                          chains))
        return;
    measure_chase(r, x, &c, HIT);
}

static void measure_hits(struct probe_run *r, const struct reader *x, const char *memory)
{
    for (int stride = 1; stride <= (strcmp(memory, "shared") ? 16 : 32); stride *= 2)
        for (int warps = 1; warps <= gpu_facts(r)->warps_per_sm; warps *= 2)
            for (int chains = 1; chains <= 16; chains *= 2)
                if (stride == 1 || (warps <= 32 && chains != 2 && chains != 16))
                    measure_hit(r, x, memory, stride, warps, chains);
}

/* `bytes`, a power of two, or the part of it that half of the L2 holds. */
static uint32_t up_to_half_l2(struct probe_run *r, uint32_t bytes)
{
    while (bytes > gpu_facts(r)->l2_bytes / 2)
        bytes /= 2;
    return bytes;
}

static void measure_layers(struct probe_run *r, const struct reader *x, const char *level,
                           uint32_t layers, bool apart)
{
    uint32_t bytes = strcmp(level, "l1") ? up_to_half_l2(r, LAYERS_L2) : OCCUPANCY_RING_BYTES;
    uint32_t row = 32 * 8;
    struct chase c = {.memory = level,
                      .warps = FEW_WARPS,
                      .chains = 1,
                      .step_cycles = strcmp(level, "l1") ? 300 : 40,
                      .ring = {.base = x->ring + (apart ? LAYER_PITCH : 0),
                               .pitch = apart ? LAYER_PITCH : bytes / layers,
                               .rows = bytes / row,
                               .layers = layers,
                               .stride = 1,
                               .element = 8}};

    bool shown = layers == LAYERS_MAX || (layers == 1 && !strcmp(level, "l1"));
    if (!probe_begin_case(r, shown ? 0 : PROBE_DEEP, "level=%s,layers=%u,placement=%s", level,
                          layers, apart ? "apart" : "contiguous"))
        return;
    measure_chase(r, x, &c, LAYERS);
}

static void measure_split(struct probe_run *r, const struct reader *x, int carveout)
{
    uint32_t rows = (uint32_t)(gpu_facts(r)->shared_per_sm * 6 / 10 / 256);
    struct chase c = {
        .memory = "l1",
        .warps = FEW_WARPS,
        .chains = 1,
        .carveout = carveout,
        .step_cycles = 40,
        .ring = {.base = x->ring, .rows = rows, .layers = 1, .stride = 1, .element = 8}};

    if (!probe_begin_case(r, 0, "carveout=%d", carveout))
        return;
    probe_fact(r, "ring_bytes", "%u", rows * 256);
    measure_chase(r, x, &c, SPLIT);
}

/* --- residency -------------------------------------------------------------------------------- */

struct resident {
    int registers, local, block, carveout;
    size_t shared;
};

static int attribute_of(enum cudaDeviceAttr which)
{
    int device = 0, value = 0;
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

/* Which resource allows no more than `blocks` blocks, by our own arithmetic and not the API's.
 * Registers are allocated to a warp in units of 256, and each quarter of an SM has its own. */
static const char *limiter(const struct gpu_facts *gpu, const struct resident *c, int registers,
                           int blocks)
{
    int warps = c->block / 32, of_warp = (registers * 32 + 255) / 256 * 256;
    int quarter = attribute_of(cudaDevAttrMaxRegistersPerMultiprocessor) / 4;
    if (gpu->warps_per_sm / warps <= blocks)
        return "warps";
    if (attribute_of(cudaDevAttrMaxBlocksPerMultiprocessor) <= blocks)
        return "block slots";
    if (quarter / of_warp * 4 / warps <= blocks)
        return "registers";
    return "shared memory";
}

/* Launches more blocks than can fit, and returns the most that an SM held. */
static uint32_t most_at_once(struct probe_run *r, const struct reader *x, cudaKernel_t kernel,
                             const struct resident *c, int predicted)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t seen[1024], least = UINT32_MAX, most = 0, *counts = (uint32_t *)(void *)x->ring;
    struct occupancy_reside_args a = {.alive = counts,
                                      .most = counts + n_sm,
                                      .last = (uint64_t *)(void *)(counts + 2 * n_sm),
                                      .in = x->buffer,
                                      .sink = x->check,
                                      .settle_ns = (uint64_t)SETTLE_NS,
                                      .budget_ns = (uint64_t)RESIDE_BUDGET_NS,
                                      .stack_bytes = (uint32_t)c->local};

    /* More blocks than fit, whatever the prediction: the prediction is what this tests. */
    unsigned offered = 2 * (unsigned)predicted;
    unsigned slots = (unsigned)attribute_of(cudaDevAttrMaxBlocksPerMultiprocessor);
    offered = offered > slots + 1 ? offered : slots + 1;
    CUDA(cudaMemsetAsync(counts, 0, n_sm * 16, gpu_stream(r)));
    CUDA(cudaMemsetAsync(x->check, 0, sizeof *x->check, gpu_stream(r)));
    gpu_launch(r, kernel, (unsigned)n_sm * offered, (unsigned)c->block, c->shared, &a);
    gpu_to_host(r, seen, a.most, n_sm * sizeof *seen);
    for (size_t i = 0; i < n_sm; i++) {
        most = seen[i] > most ? seen[i] : most;
        least = seen[i] < least ? seen[i] : least;
    }
    gpu_to_host(r, seen, x->check, sizeof *seen);
    probe_require(r, most < offered, "%u blocks an SM are more than fit", offered);
    probe_require(r, c->local == 0 || seen[0] == 0, "local memory kept what was written to it");
    probe_fact(r, "least_of_any_sm", "%u", least);
    return most;
}

static void measure_resident(struct probe_run *r, const struct reader *x, unsigned flags,
                             struct resident c)
{
    char name[32];
    struct cudaFuncAttributes facts;
    int predicted = 0;
    const struct gpu_facts *gpu = gpu_facts(r);

    snprintf(name, sizeof name, c.local ? "occupancy_reside_stack" : "occupancy_reside_%d",
             c.registers);
    if (c.shared > gpu->shared_per_block ||
        !probe_begin_case(r, flags | PROBE_TWICE,
                          "registers=%d,local=%d,shared=%zu,block=%d,carveout=%d", c.registers,
                          c.local, c.shared, c.block, c.carveout))
        return;
    cudaKernel_t kernel =
        gpu_kernel(r, &image_occupancy, name, sizeof(struct occupancy_reside_args));
    gpu_kernel_shared(kernel, gpu->shared_per_block, c.carveout);
    CUDA(cudaFuncGetAttributes(&facts, (const void *)kernel));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&predicted, (const void *)kernel, c.block,
                                                       c.shared));
    if (predicted == 0)
        return; /* too many registers for a block of this size */
    uint32_t most = most_at_once(r, x, kernel, &c, predicted);
    probe_value(r, RESIDENT, most * (unsigned)c.block / 32);
    probe_value(r, PREDICTED, predicted * c.block / 32);
    probe_fact(r, "limiter", "%s", limiter(gpu, &c, facts.numRegs, (int)most));
    probe_fact(r, "registers", "%d", facts.numRegs);
    probe_fact(r, "local_bytes", "%zu", facts.localSizeBytes);
    probe_require(r, (int)most == predicted || c.carveout < 100,
                  "%u blocks on an SM at once, the occupancy API says %d", most, predicted);
}

static void measure_residency(struct probe_run *r, const struct reader *x)
{
    static const int registers[] = {32, 64, 128, 255}, blocks[] = {32, 256, 64, 128, 512, 1024};
    static const size_t shared[] = {0, 1 << 10, 32 << 10, 8 << 10, 64 << 10, 100 << 10, 227 << 10};
    static const struct resident swept[] = {
        {32, 0, 256, 0, 0},        {32, STACK, 256, 0, 0}, /* no shared memory at all */
        {32, 0, 256, 0, 32 << 10},                         /* bound by shared memory */
        {128, 0, 256, 0, 0},                               /* bound by registers */
        {32, 0, 32, 0, 0},                                 /* bound by block slots */
    };

    for (size_t i = 0; i < PROBE_LENGTH(registers); i++)
        for (size_t k = 0; k < PROBE_LENGTH(blocks); k++)
            for (size_t j = 0; j < PROBE_LENGTH(shared); j++)
                measure_resident(r, x, j < 3 && k < 2 ? 0 : PROBE_DEEP,
                                 (struct resident){registers[i], 0, blocks[k], 100, shared[j]});
    for (size_t i = 0; i < PROBE_LENGTH(swept); i++)
        for (int carveout = -25; carveout <= (swept[i].local ? 100 : 75); carveout += 25) {
            struct resident c = swept[i];
            c.carveout = carveout < 0 ? -1 : carveout; /* -1: the driver decides */
            measure_resident(r, x, 0, c);
        }
}

/* --- the sweep -------------------------------------------------------------------------------- */

static struct reader prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    const uint32_t in_l2 = up_to_half_l2(r, L2_BUFFER);
    size_t bytes = (size_t)probe_parameter(r, "hbm_bytes"), power = in_l2;
    struct reader x = {0};

    while (power < (bytes ? bytes : 16 * gpu->l2_bytes))
        power *= 2;
    x.elements = power / 16;
    x.buffer = gpu_alloc(r, power, "the buffer to read");
    gpu_fill_normal(r, x.buffer, GPU_FP32, power / 4, probe_seed(r));
    x.check = gpu_alloc(r, sizeof *x.check, "a check sum");
    x.census = gpu_alloc(r, (size_t)gpu->n_sm * sizeof *x.census, "the census");
    CUDA(cudaMemsetAsync(x.census, 0, (size_t)gpu->n_sm * sizeof *x.census, gpu_stream(r)));
    x.ring = gpu_alloc(r, (LAYERS_MAX + 1) * (size_t)LAYER_PITCH, "the rings");

    x.l2_elements = in_l2 / 16;
    uint32_t *words = probe_host_alloc(r, in_l2), sum = 0;
    x.prefix = probe_host_alloc(r, (x.l2_elements + 1) * sizeof *x.prefix);
    gpu_to_host(r, words, x.buffer, in_l2);
    for (size_t i = 0; i < 4 * (size_t)x.l2_elements; i++) {
        x.prefix[i / 4] = i % 4 ? x.prefix[i / 4] : sum;
        sum ^= words[i];
    }
    x.prefix[x.l2_elements] = sum;
    return x;
}

static void measure(struct probe_run *r)
{
    static const char *const levels[] = {"l2", "hbm"};
    static const uint32_t layers[] = {1, 8, LAYERS_MAX};
    struct reader x = prepare(r);

    for (size_t level = 0; level < PROBE_LENGTH(levels); level++)
        for (int loads = 1; loads <= 32; loads *= 2)
            measure_loads(r, &x, levels[level], loads);
    measure_paths(r, &x);
    measure_hits(r, &x, "shared");
    measure_hits(r, &x, "l1");
    for (size_t i = 0; i < PROBE_LENGTH(layers); i++)
        for (int apart = 0; apart <= 1; apart++) {
            measure_layers(r, &x, "l1", layers[i], apart);
            measure_layers(r, &x, "l2", layers[i], apart);
        }
    measure_split(r, &x, 0);
    measure_split(r, &x, 100);
    occupancy_measure_fma(r, &x);
    measure_residency(r, &x);
}

const struct probe probe = {
    .name = "occupancy",
    .what = "How many warps keep the memory busy, what replaces them, and what limits them?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
