/* harm: when is the fused kernel the slower one, and what heals it?
 *
 * Method. Fusions that lose, each beside its unfused chain and beside the same work without the
 * harm; with registers, local memory and resident warps of every kernel.
 *     streams   softmax across 32 arrays (rows), element by element, fp32. One kernel holds 128
 *               values a thread: as they need registers (fused), and capped at 64 and 32, which
 *               spills (cap_64, cap_32). unfused: sums; then each array. 4 arrays fit any cap.
 *               96 arrays are 384 values a thread, which spill at 255 registers without a cap
 *               (fused); with one value of each array a thread (narrow) they fit
 *     wide      softmax of rows of 131072 fp16. One block that holds its row spills (fused); one
 *               that reads it twice (twice) and a cluster of 8 that holds it (cluster) do not
 *     phases    a tile of 96 KiB reversed in shared memory, and a long array scaled: as two
 *               kernels (unfused); as one (fused), whose blocks have the tile's shared memory
 *               throughout; the same with eight vectors a thread in flight, not one (deep)
 *     serial    a row over its root mean square: one block a row (fused), or as many as fill the
 *               GPU in two kernels (unfused); one long row, and many rows
 *     memory, compute   one instruction stream, with all warps that an SM can hold, half, a
 *               quarter, by shared memory that nobody uses: a copy with one vector a thread, and
 *               a chain of 256 multiply-adds. plain: all of them, without that memory
 * Beside the first four, but for the one long row, a copy of as many bytes as the fused kernel
 * moves, and of each kernel what it does by count: what would be predicted of them
 * (report/bundle/derive_fusion.h) is scored with the rest.
 * An operator on its way into a product, repeated for each of its tiles: gelu_in of epilogue.
 *
 * --set what takes one of them, and rows and columns one size of it: streams has 4, 32 or 96
 * arrays, wide rows of 131072, phases tiles of 96 KiB; what those are built for. The long array of
 * phases has 187500 elements for each tile, as many as in the probe's own size.
 *
 * Inside the timed region: the operations, between two events; modes: common/operation.h.
 * Expected on an H200: streams fused 130 us; unfused 1.8 times that by its bytes, 1.5 times if the
 * sums, read again for every four arrays, come from the L2; capped at 32 more than that: its
 * local memory, 1.3 KiB a thread and 2.7 MB an SM, fits no cache. One block reads 0.1 TB/s: the
 * long row takes 15 us in one kernel, 4 in two. Half of the warps of `memory` have half of the
 * bytes in flight, 16 KiB an SM, too few for full bandwidth; `compute` has four independent chains
 * a thread, and needs few warps.
 *
 * `bytes` counts operands and results. It leaves out local memory, whose traffic is the harm that
 * is measured here. */
#include <math.h>
#include <string.h>

#include "core/gpu.h"
#include "fused/harm/args.h"
#include "fused/harm/form.h"

PROBE_IMAGE(harm);
PROBE_IMAGE(harm_spills);

#define KEYS OPERATION_KEYS("what,rows,columns")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    OPERATION_EACH_METRICS(KEYS),
    [HARM_REGISTERS] = {"registers", "count", PROBE_EXACT, .keys = KEYS,
                        .what = "of a thread, in the kernel that does the most"},
    [HARM_LOCAL] = {"local", "bytes", PROBE_EXACT, .keys = KEYS,
                    .what = "local memory of a thread, where spilled registers lie"},
    [HARM_WARPS] = {"warps", "count", PROBE_EXACT, .keys = KEYS,
                    .what = "resident on an SM, as the occupancy API has it"},
};

enum fusion { ALL, STREAMS, WIDE, PHASES, SERIAL, MEMORY, COMPUTE, N_FUSIONS };
static const char *const fusion_words[] = {"all",    "streams", "wide",    "phases",
                                           "serial", "memory",  "compute", NULL};
static const struct probe_parameter parameters[] = {
    {"what", ALL, ALL, N_FUSIONS - 1,
     "the one fusion to measure at one size; all: at its own sizes", fusion_words},
    {"rows", 0, 0, 65535, "of that fusion: arrays, rows or tiles; 0: its own", NULL},
    {"columns", 0, 0, 1 << 28, "of that fusion: elements of each of these, or in all; 0: its own",
     NULL},
};

static const struct condition cold = {.cold = true};

/* --- the cases -------------------------------------------------------------------------------- */

static void measure_streams_unfused(struct probe_run *r, const struct harm_operands *t,
                                    unsigned blocks)
{
    const double columns = t->columns, all = t->rows * columns;
    struct harm_form form = {.t = t, .name = "unfused", .n = 2, .what = HARM_STREAMS};

    /* The input again; two sums an element, written once and read for every four streams. */
    form.extra_bytes = 4 * all + 8 * columns + 2 * all;
    form.kernels[0] = harm_kernel_of(r, &image_harm, "harm_streams_sums", (dim3){blocks, 1, 1},
                                     HARM_STREAM_THREADS);
    form.kernels[0].does = (struct operation_kernel){
        .bytes = 4 * all + 8 * columns, .operations = 4.75 * all, .exponentials = 1.25 * all};
    form.kernels[0].batches = t->rows / 4;
    form.kernels[1] = harm_kernel_of(r, &image_harm, "harm_streams_apply",
                                     (dim3){blocks, t->rows / 4, 1}, HARM_STREAM_THREADS);
    form.kernels[1].does =
        (struct operation_kernel){.bytes = 10 * all, .operations = 3 * all, .exponentials = all};
    form.kernels[1].batches = 1;
    form.kernels[1].holds = true;
    harm_measure(r, form, cold);
}

static void measure_streams(struct probe_run *r, uint32_t streams, uint32_t columns)
{
    struct harm_operands t = harm_operands_of(r, "streams", GPU_FP32, streams, columns, 0);
    const unsigned blocks = (columns / 4 + HARM_STREAM_THREADS - 1) / HARM_STREAM_THREADS;
    const struct {
        uint32_t streams;
        const char *name;
        const struct gpu_image *image;
        const char *kernel;
        unsigned each; /* values of a thread, of each stream */
    } ways[] = {{32, "fused", &image_harm, "harm_streams_32", 4},
                {32, "cap_64", &image_harm_spills, "harm_streams_32_cap_64", 4},
                {32, "cap_32", &image_harm_spills, "harm_streams_32_cap_32", 4},
                {4, "fused", &image_harm, "harm_streams_4", 4},
                {4, "cap_32", &image_harm, "harm_streams_4_cap_32", 4},
                {96, "fused", &image_harm_spills, "harm_streams_96", 4},
                {96, "narrow", &image_harm, "harm_streams_96_narrow", 1}};
    const double all = (double)streams * columns;
    struct harm_form form = {.t = &t, .n = 1, .what = HARM_STREAMS};

    harm_measure_copy(r, &t);
    measure_streams_unfused(r, &t, blocks);
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        const unsigned width = ways[i].each * HARM_STREAM_THREADS;
        if (ways[i].streams != streams)
            continue;
        form.name = ways[i].name;
        form.kernels[0] =
            harm_kernel_of(r, ways[i].image, ways[i].kernel,
                           (dim3){(columns + width - 1) / width, 1, 1}, HARM_STREAM_THREADS);
        form.kernels[0].does =
            (struct operation_kernel){.operations = 5 * all, .exponentials = all + columns};
        form.kernels[0].batches = 1;
        form.kernels[0].holds = true;
        harm_measure(r, form, cold);
    }
    harm_operands_free(r, &t);
}

static void measure_wide(struct probe_run *r, uint32_t rows)
{
    struct harm_operands t = harm_operands_of(r, "wide", GPU_FP16, rows, HARM_ROW_COLUMNS, 0);
    struct harm_form form = {.t = &t, .n = 1, .what = HARM_WIDE};
    const double all = (double)rows * HARM_ROW_COLUMNS;
    const struct operation_kernel once = {.operations = 5 * all, .exponentials = all};

    harm_measure_copy(r, &t);
    form.name = "fused";
    form.kernels[0] = harm_kernel_of(r, &image_harm_spills, "harm_wide_held", (dim3){rows, 1, 1},
                                     HARM_ROW_THREADS);
    form.kernels[0].does = once;
    form.kernels[0].batches = 1;
    form.kernels[0].holds = true;
    harm_measure(r, form, cold);
    form.name = "twice";
    form.kernels[0] =
        harm_kernel_of(r, &image_harm, "harm_wide_twice", (dim3){rows, 1, 1}, HARM_ROW_THREADS);
    form.kernels[0].does =
        (struct operation_kernel){.operations = 7 * all, .exponentials = 2 * all};
    form.kernels[0].batches = 2 * HARM_ROW_COLUMNS / HARM_ROW_THREADS / 32;
    form.extra_bytes = t.bytes / 2;
    harm_measure(r, form, cold);
    form.name = "cluster";
    form.kernels[0] = harm_kernel_of(r, &image_harm, "harm_wide_cluster",
                                     (dim3){rows * HARM_CLUSTER, 1, 1}, HARM_CLUSTER_THREADS);
    form.kernels[0].cluster = HARM_CLUSTER;
    form.kernels[0].does = once;
    form.kernels[0].batches = 1;
    form.kernels[0].holds = true;
    form.extra_bytes = 0;
    harm_measure(r, form, cold);
    harm_operands_free(r, &t);
}

static void measure_phases(struct probe_run *r, uint32_t tiles, uint32_t elements)
{
    const unsigned sm = (unsigned)gpu_facts(r)->n_sm;
    struct harm_operands t = harm_operands_of(r, "phases", GPU_FP32, tiles, HARM_TILE, elements);
    struct harm_form form = {.t = &t, .what = HARM_REVERSED, .what2 = HARM_SCALED};
    const struct {
        const char *name, *kernel;
        unsigned in_flight; /* vectors of a thread, in the second phase */
    } ones[] = {{"fused", "harm_phases_one", 1}, {"deep", "harm_phases_deep", 8}};
    const dim3 every = {2 * sm, 1, 1};
    const double reverse_trips = HARM_TILE / 4 / HARM_PHASE_THREADS / 4; /* of a tile */

    harm_measure_copy(r, &t);
    form.name = "unfused";
    form.n = 2;
    form.kernels[0] = harm_kernel_of(r, &image_harm, "harm_phases_reverse", (dim3){tiles, 1, 1},
                                     HARM_PHASE_THREADS);
    form.kernels[0].shared = 4 * HARM_TILE;
    form.kernels[0].does.bytes = t.bytes - 8.0 * elements;
    form.kernels[0].batches = reverse_trips;
    form.kernels[0].holds = true;
    form.kernels[1] =
        harm_kernel_of(r, &image_harm, "harm_phases_scale",
                       (dim3){elements / 4 / HARM_PHASE_THREADS + 1, 1, 1}, HARM_PHASE_THREADS);
    form.kernels[1].does =
        (struct operation_kernel){.bytes = 8.0 * elements, .operations = elements};
    form.kernels[1].batches = 1;
    harm_measure(r, form, cold);
    form.n = 1;
    for (int i = 0; i < 2; i++) {
        const double at_once = 4.0 * ones[i].in_flight * every.x * HARM_PHASE_THREADS;
        form.name = ones[i].name;
        form.kernels[0] = harm_kernel_of(r, &image_harm, ones[i].kernel, every, HARM_PHASE_THREADS);
        form.kernels[0].shared = 4 * HARM_TILE;
        form.kernels[0].does.operations = elements;
        form.kernels[0].batches =
            ceil((double)tiles / every.x) * reverse_trips + ceil(elements / at_once);
        harm_measure(r, form, cold);
    }
    harm_operands_free(r, &t);
}

static void measure_serial(struct probe_run *r, uint32_t rows, uint32_t columns)
{
    struct harm_operands t = harm_operands_of(r, "serial", GPU_FP16, rows, columns, 0);
    const unsigned sm = (unsigned)gpu_facts(r)->n_sm;
    const unsigned most =
        (columns / 8 + HARM_ROW_THREADS - 1) / HARM_ROW_THREADS; /* 16 bytes each */
    struct harm_form form = {.t = &t, .what = HARM_SERIAL};

    t.parts = rows < sm ? (sm / rows < most ? sm / rows : most) : 1;
    /* Of a part of a row, four vectors of a thread at a time. */
    const double trips = ceil(ceil(columns / 8.0 / t.parts / HARM_ROW_THREADS) / 4);
    const double all = (double)rows * columns;
    if (rows > 1) /* a copy of one row is too short to have a rate */
        harm_measure_copy(r, &t);
    for (int is_cold = rows > 1; is_cold < 2; is_cold++) {
        const struct condition c = {.cold = is_cold};
        form.name = "unfused";
        form.n = 2;
        form.extra_bytes = t.bytes / 2 + 8.0 * rows * t.parts;
        form.kernels[0] = harm_kernel_of(r, &image_harm, "harm_serial_sums",
                                         (dim3){t.parts, rows, 1}, HARM_ROW_THREADS);
        form.kernels[1] = harm_kernel_of(r, &image_harm, "harm_serial_scale",
                                         (dim3){t.parts, rows, 1}, HARM_ROW_THREADS);
        for (int i = 0; i < 2; i++) {
            form.kernels[i].does = (struct operation_kernel){
                .bytes = (1 + i) * t.bytes / 2 + 4.0 * rows * t.parts, .operations = all};
            form.kernels[i].batches = trips;
        }
        harm_measure(r, form, c);
        form.name = "fused";
        form.n = 1;
        form.extra_bytes = t.bytes / 2;
        form.kernels[0] =
            harm_kernel_of(r, &image_harm, "harm_serial_row", (dim3){rows, 1, 1}, HARM_ROW_THREADS);
        form.kernels[0].does.operations = 2 * all;
        form.kernels[0].batches = 2 * ceil(ceil(columns / 8.0 / HARM_ROW_THREADS) / 4);
        harm_measure(r, form, c);
    }
    harm_operands_free(r, &t);
}

/* Shared memory that nobody uses: as much for each block as leaves room for so many of them. */
static size_t room_for(struct probe_run *r, unsigned blocks)
{
    const struct gpu_facts *f = gpu_facts(r);
    const size_t own = f->cc >= 80 ? 1024 : 0, each = f->shared_per_sm / blocks / 1024 * 1024 - own;
    return each < f->shared_per_block ? each : f->shared_per_block;
}

static void measure_occupancy(struct probe_run *r, const char *what, uint32_t elements)
{
    const bool is_compute = !strcmp(what, "compute");
    struct harm_operands t = harm_operands_of(r, what, GPU_FP32, 0, 0, elements);
    const unsigned most = (unsigned)gpu_facts(r)->warps_per_sm * 32 / HARM_PHASE_THREADS;
    const char *const names[] = {"plain", "all", "half", "quarter"};
    struct harm_form form = {.t = &t, .n = 1, .what2 = is_compute ? HARM_TRIED : HARM_SCALED};

    form.kernels[0] =
        harm_kernel_of(r, &image_harm, is_compute ? "harm_compute" : "harm_phases_scale",
                       (dim3){elements / 4 / HARM_PHASE_THREADS + 1, 1, 1}, HARM_PHASE_THREADS);
    form.kernels[0].does.operations = (is_compute ? HARM_TRIALS : 1.0) * elements;
    form.kernels[0].batches = 1;
    for (unsigned part = 0; part < PROBE_LENGTH(names); part++) {
        form.name = names[part];
        form.kernels[0].shared = part ? room_for(r, most >> (part - 1)) : 0;
        harm_measure(r, form, cold);
    }
    harm_operands_free(r, &t);
}

/* --- one size of one of them ------------------------------------------------------------------ */

enum { OF_A_TILE = 187500 /* elements of the second phase, for each tile of the first */ };

/* Why a size is refused; NULL: it is not. */
static const char *why_refused(enum fusion what, uint32_t rows, uint32_t columns)
{
    switch (what) {
    case STREAMS:
        return (rows == 4 || rows == 32 || rows == 96) && columns % 4 == 0
                   ? NULL
                   : "expected 4, 32 or 96 rows, and a multiple of 4 columns";
    case WIDE: return columns == HARM_ROW_COLUMNS ? NULL : "expected 131072 columns";
    case PHASES:
        return rows <= 8192 && columns == HARM_TILE ? NULL
                                                    : "expected 8192 rows at most of 24576 columns";
    case SERIAL: return columns % 8 == 0 ? NULL : "expected a multiple of 8 columns";
    case MEMORY:
    case COMPUTE:
        return rows == 0 && columns % 4 == 0 ? NULL
                                             : "expected no rows, and a multiple of 4 columns";
    default: return "rows and columns are those of one fusion: --set what says of which";
    }
}

static void measure_given(struct probe_run *r, enum fusion what, uint32_t rows, uint32_t columns)
{
    static const uint32_t own[N_FUSIONS][2] = {
        [STREAMS] = {32, 2000000}, [WIDE] = {512, HARM_ROW_COLUMNS}, [PHASES] = {256, HARM_TILE},
        [SERIAL] = {4096, 16384},  [MEMORY] = {0, 48000000},         [COMPUTE] = {0, 48000000}};
    rows = rows ? rows : own[what][0];
    columns = columns ? columns : own[what][1];
    const char *why = why_refused(what, rows, columns);
    if (why)
        probe_usage(r, "what=%s, rows=%u, columns=%u: %s", fusion_words[what], rows, columns, why);
    switch (what) {
    case STREAMS: measure_streams(r, rows, columns); break;
    case WIDE: measure_wide(r, rows); break;
    case PHASES: measure_phases(r, rows, rows * OF_A_TILE); break;
    case SERIAL: measure_serial(r, rows, columns); break;
    default: measure_occupancy(r, fusion_words[what], columns);
    }
}

static void measure(struct probe_run *r)
{
    const enum fusion what = (enum fusion)probe_parameter(r, "what");
    const uint32_t rows = (uint32_t)probe_parameter(r, "rows");
    const uint32_t columns = (uint32_t)probe_parameter(r, "columns");
    if (what != ALL || rows || columns) {
        measure_given(r, what, rows, columns);
        return;
    }
    const bool is_small = probe_is_check_run(r);

    measure_streams(r, 32, is_small ? 5000 : 2000000);
    measure_streams(r, 4, is_small ? 5000 : 16000000);
    measure_streams(r, 96, is_small ? 5000 : 250000);
    measure_wide(r, is_small ? 3 : 512);
    measure_phases(r, 256, is_small ? 40000 : 256 * OF_A_TILE);
    measure_serial(r, 1, is_small ? 10008 : 262144);
    measure_serial(r, is_small ? 5 : 4096, 16384);
    measure_occupancy(r, "memory", is_small ? 40000 : 48000000);
    measure_occupancy(r, "compute", is_small ? 40000 : 48000000);
}

const struct probe probe = {
    .name = "harm",
    .what = "When is the fused kernel the slower one, and what heals it?",
    .method = 4,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
