/* harm: when is the fused kernel the slower one, and what heals it?
 *
 * Method. Fusions that lose, each beside its unfused chain and beside the same work without the
 * harm; with registers, local memory and resident warps of every kernel.
 *     streams   softmax across 32 arrays (rows), element by element, fp32. One kernel holds 128
 *               values a thread: as they need registers (fused), and capped at 64 and 32, which
 *               spills (cap_64, cap_32). unfused: sums; then each array. 4 arrays fit any cap
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
 * Beside the first four, but for the one long row, a copy of as many bytes as the fused kernel moves:
 * what would be predicted of them (report/derive_fusion.h) is scored with the rest.
 * An operator on its way into a product, repeated for each of its tiles: gelu_in of epilogue.
 *
 * Inside the timed region: the operations, between two events; modes: kernels/operation.h.
 * Expected on an H200: streams fused 130 us; unfused 1.8 times that by its bytes, 1.6 as far as sums
 * that are read again for every four arrays come from the L2; capped at 32 more than that: its local
 * memory, 1 KiB a thread and 2 MiB an SM, fits no cache. One block reads 0.1 TB/s: the long row takes
 * 15 us in one kernel, 4 in two. Half of the warps of `memory` have half of the bytes in flight, 16
 * KiB an SM, too few for full bandwidth; `compute` has four independent chains a thread, and needs
 * few warps.
 *
 * Local memory is not in `bytes`, which counts operands and results: that is the harm. */
#include "fused/harm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fused/kernels/operation.h"
#include "fused/kernels/verdict.h"

PROBE_IMAGE(harm);
PROBE_IMAGE(harm_spills);
GPU_ARGS_SIZE(struct harm_args, 64);
GPU_ARGS_SIZE(struct harm_verify_args, 48);

enum { REGISTERS = N_OPERATION_METRICS, LOCAL, WARPS };
#define KEYS OPERATION_KEYS("what,rows,columns")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [REGISTERS] = {"registers", "count", PROBE_EXACT, PROBE_EACH, NULL, KEYS,
                   "of a thread, in the kernel that does the most"},
    [LOCAL] = {"local", "bytes", PROBE_EXACT, PROBE_EACH, NULL, KEYS,
               "local memory of a thread, where spilled registers lie"},
    [WARPS] = {"warps", "count", PROBE_EXACT, PROBE_EACH, NULL, KEYS,
               "resident on an SM, as the occupancy API has it"},
};

/* One launch of an operation, and what it takes. */
struct kernel {
    cudaKernel_t kernel;
    dim3 grid;
    unsigned block, cluster;
    size_t shared;
};

/* Operands of one case, and the kernels that are launched over them, one or two. */
struct operands {
    const char *what, *type;
    struct pool in, out, aside, in2, out2;
    uint64_t stride, stride2; /* in elements; of the arrays of the second phase */
    uint32_t rows, columns, parts;
    size_t sets;
    double bytes; /* read and written by one kernel that does it all */
};
struct work {
    const struct operands *t;
    const char *name;
    struct kernel kernels[2];
    int n;
    double extra_bytes;         /* that two kernels move beyond one */
    enum harm_what what, what2; /* to be looked at in out and out2 */
};

/* --- operands --------------------------------------------------------------------------------- */

static struct operands operands_of(struct probe_run *r, const char *what, enum gpu_type type,
                                   uint32_t rows, uint32_t columns, uint64_t second)
{
    struct operands t = {.what = what, .type = gpu_type_name(type), .rows = rows,
                         .columns = columns, .parts = 1};
    const size_t size = gpu_type_size(type);
    t.stride = ((uint64_t)columns + 63) / 64 * 64 + 64;
    t.stride2 = second;
    t.bytes = 2 * (double)size * rows * columns + 2 * 4 * (double)second;
    t.sets = operation_sets(r, t.bytes);
    if (rows > 0) {
        t.in = pool_normal(r, type, rows * t.stride, t.sets, probe_seed(r), "the input");
        t.out = pool_new(r, size * rows * t.stride, t.sets, "the output");
        t.aside = pool_new(r, 8 * t.stride + 4096, t.sets, "what lies between two kernels");
    }
    if (second > 0) {
        t.in2 = pool_normal(r, GPU_FP32, second, t.sets, probe_seed(r) + 1, "the second input");
        t.out2 = pool_new(r, 4 * second, t.sets, "the second output");
    }
    return t;
}

static void operands_free(struct probe_run *r, struct operands *t)
{
    struct pool *all[] = {&t->in, &t->out, &t->aside, &t->in2, &t->out2};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i]->memory)
            pool_free(r, all[i]);
}

static void *at(const struct pool *p, size_t set)
{
    return p->memory ? pool_at(p, set) : NULL;
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct operands *t = w->t;
    const struct harm_args a = {.in = at(&t->in, set),
                                .out = at(&t->out, set),
                                .aside = at(&t->aside, set),
                                .in2 = at(&t->in2, set),
                                .out2 = at(&t->out2, set),
                                .stride = t->stride,
                                .rows = t->rows,
                                .columns = t->stride2 ? (uint32_t)(t->stride2 / 4) : t->columns,
                                .parts = t->parts};
    for (int i = 0; i < w->n; i++) {
        const struct kernel *k = &w->kernels[i];
        const struct gpu_shape shape = {.grid = k->grid,
                                        .block = k->block,
                                        .shared = k->shared,
                                        .cluster = k->cluster};
        gpu_launch_shape(r, k->kernel, &shape, &a);
    }
}

static void poison(struct probe_run *r, const void *self)
{
    const struct operands *t = ((const struct work *)self)->t;
    const struct pool *all[] = {&t->out, &t->aside, &t->out2};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i]->memory)
            pool_poison(r, all[i]);
}

/* --- is it right? ----------------------------------------------------------------------------- */

/* Everything in full, where an element is cheap; of rows whose every element takes a whole row 64
 * columns; later less. */
static double look(struct probe_run *r, struct harm_verify_args a, const char *when)
{
    const cudaKernel_t kernel = gpu_kernel(r, &image_harm, "harm_verify", sizeof a);
    const bool is_row = a.what == HARM_WIDE || a.what == HARM_SERIAL, in_full = probe_in_full(r);

    a.step = is_row ? (a.columns < 64 ? 1 : a.columns / 64) : in_full || a.columns < 997 ? 1 : 997;
    if (is_row && !in_full && a.rows > 16)
        a.rows = 16;
    a.verdict = verdict_clear(r);
    gpu_launch_grid(r, kernel, (dim3){is_row ? 1 : 256, a.rows < 1024 ? a.rows : 1024, 1}, 64, 0, &a);
    const struct verdict v = verdict_fetch(r);
    return verdict_check(r, &v, (uint64_t)a.rows * (a.columns / a.step), when);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    const struct operands *t = w->t;
    double error = NAN;
    if (t->in.memory)
        error = look(r, (struct harm_verify_args){.in = t->in.memory, .out = t->out.memory,
                                                   .stride = t->stride, .rows = t->rows,
                                                   .columns = t->columns, .what = w->what}, when);
    if (t->in2.memory)
        error = look(r, (struct harm_verify_args){.in = t->in2.memory, .out = t->out2.memory,
                                                   .rows = 1, .columns = (uint32_t)t->stride2,
                                                   .what = w->what2}, when);
    return error;
}

/* --- how long does it take? ------------------------------------------------------------------- */

/* Of the first kernel, which is the whole of a fused one. */
static void describe(struct probe_run *r, const void *self)
{
    const struct kernel *k = &((const struct work *)self)->kernels[0];
    struct cudaFuncAttributes facts;
    int blocks = 0;
    CUDA(cudaFuncGetAttributes(&facts, (const void *)k->kernel));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)k->kernel,
                                                       (int)k->block, k->shared));
    probe_value(r, REGISTERS, facts.numRegs);
    probe_value(r, LOCAL, (double)facts.localSizeBytes);
    probe_value(r, WARPS, blocks * (int)k->block / 32);
    gpu_kernel_facts(r, k->kernel, (int)k->block, k->shared);
}

static const struct condition cold = {.cold = true};

static void keys_of(char keys[96], const struct operands *t)
{
    snprintf(keys, 96, "what=%s,rows=%u,columns=%u,type=%s", t->what, (unsigned)t->rows,
             (unsigned)(t->rows ? t->columns : t->stride2), t->type);
}

static void measure_work(struct probe_run *r, struct work w, struct condition c)
{
    const struct operands *t = w.t;
    const struct operation o = {.name = w.name,
                                .launch = launch,
                                .poison = poison,
                                .verify = verify,
                                .describe = c.stream ? NULL : describe,
                                .self = &w,
                                .sets = t->sets,
                                .set_bytes = t->bytes,
                                .bytes = t->bytes + w.extra_bytes,
                                .kernels = (unsigned)w.n};
    char keys[96];

    for (int i = 0; i < w.n; i++) {
        if (!w.kernels[i].kernel || w.kernels[i].shared > gpu_facts(r)->shared_per_block)
            return;
        if (w.kernels[i].shared)
            gpu_kernel_shared(w.kernels[i].kernel, w.kernels[i].shared, 100);
    }
    keys_of(keys, t);
    operation_measure(r, keys, &o, c, 0, NAN);
}

/* For the rate that predictions take from it; in two rounds only, so no share is formed with it. */
static void measure_copy(struct probe_run *r, const struct operands *t)
{
    char keys[96];
    keys_of(keys, t);
    copy_measure(r, keys, t->bytes, cold, PROBE_ONCE);
}

static struct kernel kernel_of(struct probe_run *r, const struct gpu_image *image, const char *name,
                               dim3 grid, unsigned block)
{
    return (struct kernel){.kernel = gpu_kernel_if_any(r, image, name, sizeof(struct harm_args)),
                           .grid = grid,
                           .block = block};
}

/* --- the cases -------------------------------------------------------------------------------- */

static void measure_streams(struct probe_run *r, uint32_t streams, uint32_t columns)
{
    struct operands t = operands_of(r, "streams", GPU_FP32, streams, columns, 0);
    const unsigned blocks = (columns / 4 + HARM_STREAM_THREADS - 1) / HARM_STREAM_THREADS;
    const struct {
        const char *name;
        const struct gpu_image *image;
        const char *kernel[2]; /* 32 streams, 4 */
    } ways[] = {{"fused", &image_harm, {"harm_streams_32", "harm_streams_4"}},
                {"cap_64", &image_harm_spills, {"harm_streams_32_cap_64", NULL}},
                {"cap_32", streams == 32 ? &image_harm_spills : &image_harm,
                 {"harm_streams_32_cap_32", "harm_streams_4_cap_32"}}};
    struct work w = {.t = &t, .what = HARM_STREAMS};

    measure_copy(r, &t);
    w.name = "unfused";
    w.n = 2;
    /* The input again; two sums an element, written once and read for every four streams. */
    w.extra_bytes = (4.0 * streams + 8 + 2.0 * streams) * columns;
    w.kernels[0] = kernel_of(r, &image_harm, "harm_streams_sums", (dim3){blocks, 1, 1},
                             HARM_STREAM_THREADS);
    w.kernels[1] = kernel_of(r, &image_harm, "harm_streams_apply", (dim3){blocks, streams / 4, 1},
                             HARM_STREAM_THREADS);
    measure_work(r, w, cold);
    w.n = 1;
    w.extra_bytes = 0;
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        w.name = ways[i].name;
        if (!ways[i].kernel[streams == 4])
            continue;
        w.kernels[0] = kernel_of(r, ways[i].image, ways[i].kernel[streams == 4],
                                 (dim3){blocks, 1, 1}, HARM_STREAM_THREADS);
        measure_work(r, w, cold);
    }
    operands_free(r, &t);
}

static void measure_wide(struct probe_run *r, uint32_t rows)
{
    struct operands t = operands_of(r, "wide", GPU_FP16, rows, HARM_ROW_COLUMNS, 0);
    struct work w = {.t = &t, .n = 1, .what = HARM_WIDE};

    measure_copy(r, &t);
    w.name = "fused";
    w.kernels[0] = kernel_of(r, &image_harm_spills, "harm_wide_held", (dim3){rows, 1, 1},
                             HARM_ROW_THREADS);
    measure_work(r, w, cold);
    w.name = "twice";
    w.kernels[0] =
        kernel_of(r, &image_harm, "harm_wide_twice", (dim3){rows, 1, 1}, HARM_ROW_THREADS);
    w.extra_bytes = t.bytes / 2;
    measure_work(r, w, cold);
    w.name = "cluster";
    w.kernels[0] = kernel_of(r, &image_harm, "harm_wide_cluster",
                             (dim3){rows * HARM_CLUSTER, 1, 1}, HARM_CLUSTER_THREADS);
    w.kernels[0].cluster = HARM_CLUSTER;
    w.extra_bytes = 0;
    measure_work(r, w, cold);
    operands_free(r, &t);
}

static void measure_phases(struct probe_run *r, uint32_t elements)
{
    const unsigned sm = (unsigned)gpu_facts(r)->n_sm, tiles = 256;
    struct operands t = operands_of(r, "phases", GPU_FP32, tiles, HARM_TILE, elements);
    struct work w = {.t = &t, .what = HARM_REVERSED, .what2 = HARM_SCALED};
    const char *const ones[][2] = {{"fused", "harm_phases_one"}, {"deep", "harm_phases_deep"}};
    const dim3 every = {2 * sm, 1, 1};

    measure_copy(r, &t);
    w.name = "unfused";
    w.n = 2;
    w.kernels[0] = kernel_of(r, &image_harm, "harm_phases_reverse", (dim3){tiles, 1, 1}, HARM_PHASE_THREADS);
    w.kernels[0].shared = 4 * HARM_TILE;
    w.kernels[1] = kernel_of(r, &image_harm, "harm_phases_scale",
                             (dim3){elements / 4 / HARM_PHASE_THREADS + 1, 1, 1},
                             HARM_PHASE_THREADS);
    measure_work(r, w, cold);
    w.n = 1;
    for (int i = 0; i < 2; i++) {
        w.name = ones[i][0];
        w.kernels[0] = kernel_of(r, &image_harm, ones[i][1], every, HARM_PHASE_THREADS);
        w.kernels[0].shared = 4 * HARM_TILE;
        measure_work(r, w, cold);
    }
    operands_free(r, &t);
}

static void measure_serial(struct probe_run *r, uint32_t rows, uint32_t columns)
{
    struct operands t = operands_of(r, "serial", GPU_FP16, rows, columns, 0);
    const unsigned sm = (unsigned)gpu_facts(r)->n_sm;
    const unsigned most = (columns / 8 + HARM_ROW_THREADS - 1) / HARM_ROW_THREADS; /* 16 bytes each */
    struct work w = {.t = &t, .what = HARM_SERIAL};

    t.parts = rows < sm ? (sm / rows < most ? sm / rows : most) : 1;
    if (rows > 1) /* one block for one row is said to lose beforehand: claim C80's table */
        measure_copy(r, &t);
    for (int is_cold = rows > 1; is_cold < 2; is_cold++) {
        const struct condition c = {.cold = is_cold};
        w.name = "unfused";
        w.n = 2;
        w.extra_bytes = t.bytes / 2 + 8.0 * rows * t.parts;
        w.kernels[0] = kernel_of(r, &image_harm, "harm_serial_sums", (dim3){t.parts, rows, 1},
                                 HARM_ROW_THREADS);
        w.kernels[1] = kernel_of(r, &image_harm, "harm_serial_scale", (dim3){t.parts, rows, 1},
                                 HARM_ROW_THREADS);
        measure_work(r, w, c);
        w.name = "fused";
        w.n = 1;
        w.extra_bytes = t.bytes / 2;
        w.kernels[0] =
            kernel_of(r, &image_harm, "harm_serial_row", (dim3){rows, 1, 1}, HARM_ROW_THREADS);
        measure_work(r, w, c);
    }
    operands_free(r, &t);
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
    struct operands t = operands_of(r, what, GPU_FP32, 0, 0, elements);
    const unsigned most = (unsigned)gpu_facts(r)->warps_per_sm * 32 / HARM_PHASE_THREADS;
    const char *const names[] = {"plain", "all", "half", "quarter"};
    struct work w = {.t = &t, .n = 1, .what2 = is_compute ? HARM_TRIED : HARM_SCALED};

    w.kernels[0] =
        kernel_of(r, &image_harm, is_compute ? "harm_compute" : "harm_phases_scale",
                  (dim3){elements / 4 / HARM_PHASE_THREADS + 1, 1, 1}, HARM_PHASE_THREADS);
    for (unsigned part = 0; part < PROBE_LENGTH(names); part++) {
        w.name = names[part];
        w.kernels[0].shared = part ? room_for(r, most >> (part - 1)) : 0;
        measure_work(r, w, cold);
    }
    operands_free(r, &t);
}

static void measure(struct probe_run *r)
{
    const bool is_small = probe_checking(r);

    measure_streams(r, 32, is_small ? 5000 : 2000000);
    measure_streams(r, 4, is_small ? 5000 : 16000000);
    measure_wide(r, is_small ? 3 : 512);
    measure_phases(r, is_small ? 40000 : 48000000);
    measure_serial(r, 1, is_small ? 10008 : 262144);
    measure_serial(r, is_small ? 5 : 4096, 16384);
    measure_occupancy(r, "memory", is_small ? 40000 : 48000000);
    measure_occupancy(r, "compute", is_small ? 40000 : 48000000);
}

const struct probe probe = {
    .name = "harm",
    .what = "When is the fused kernel the slower one, and what heals it?",
    .method = 2,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
