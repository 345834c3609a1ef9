/* softmax: the tensors, the ways to spread rows over the GPU, and what makes sure that they are
 * right. */
#ifndef FUSED_SOFTMAX_WAYS_H
#define FUSED_SOFTMAX_WAYS_H

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "fused/common/operation.h"
#include "fused/softmax/args.h"

static const float LOG2_E = 1.4426950409f;
static const float SCALE_BY = 2.5f; /* of N(0,1): logits that spread as those of attention do */

/* --- kernels --------------------------------------------------------------------------------- */

enum kernel {
    ROW, PAIR, ONLINE, HELD, SHARED, CLUSTER, PARTIAL, FINISH, UNMERGED, LAST, GRID, /* all of it */
    SCALE, MASK, FILL, ADD, /* of the chain */
    NAIVE, FINITE,          /* wrong on purpose */
    N_KERNELS,
};
static const char *const kernel_names[] = {
    [ROW] = "row",           [PAIR] = "pair",       [ONLINE] = "online",   [HELD] = "held",
    [SHARED] = "shared",     [CLUSTER] = "cluster", [PARTIAL] = "partial", [FINISH] = "finish",
    [UNMERGED] = "unmerged", [LAST] = "last",       [GRID] = "grid",       [SCALE] = "scale",
    [MASK] = "mask",         [FILL] = "fill",       [ADD] = "add",         [NAIVE] = "naive",
    [FINITE] = "finite",
};

struct kernels { /* of one type */
    enum gpu_type type;
    uint32_t lanes; /* elements in 16 bytes */
    cudaKernel_t of[N_KERNELS], verify, adversary, stable;
};

static cudaKernel_t kernel_of(struct probe_run *r, const struct gpu_image *image,
                              enum gpu_type type, const char *name, size_t args)
{
    char whole[64];
    snprintf(whole, sizeof whole, "softmax_%s_%s", name, gpu_type_name(type));
    return strcmp(name, "cluster") ? gpu_kernel(r, image, whole, args)
                                   : gpu_kernel_if_any(r, image, whole, args);
}

/* There are no clusters before compute capability 9.0: NULL. */
static struct kernels kernels_of(struct probe_run *r, enum gpu_type type)
{
    struct kernels k = {.type = type, .lanes = (uint32_t)(16 / gpu_type_size(type))};
    const size_t verify = sizeof(struct softmax_verify_args);
    const size_t stable = sizeof(struct softmax_stable_args);
    for (enum kernel i = 0; i < N_KERNELS; i++)
        k.of[i] = kernel_of(r, i < NAIVE ? &image_softmax : &image_softmax_check, type,
                            kernel_names[i], sizeof(struct softmax_args));
    k.verify = kernel_of(r, &image_softmax_check, type, "verify", verify);
    k.adversary = kernel_of(r, &image_softmax_check, type, "adversary", stable);
    k.stable = kernel_of(r, &image_softmax_check, type, "stable", stable);
    if (k.of[CLUSTER])
        gpu_kernel_clusters(k.of[CLUSTER]);
    return k;
}

/* --- tensors --------------------------------------------------------------------------------- */

struct tensors {
    const struct kernels *k;
    struct pool in, middle[2], mask, out;
    uint32_t *lengths; /* of each row; NULL: no mask */
    void *partial;
    struct softmax_state *state;
    uint32_t rows, cols, vectors;
    size_t bytes; /* of one tensor, padding included */
    float scale;
    bool is_fixed; /* inputs of the seed FIXED */
};

/* A row keeps seven eighths of its columns or more; two short ones are masked whole, or but for
 * one. */
static void draw_lengths(struct probe_run *r, struct tensors *t, uint64_t seed)
{
    uint32_t *lengths = malloc(t->rows * sizeof *lengths);
    if (!lengths)
        probe_fail(r, "out of memory");
    for (uint32_t i = 0; i < t->rows; i++) {
        /* Knuth's MMIX and not draw(): digests in committed bundles rest on these lengths. */
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        lengths[i] = t->cols - (uint32_t)(seed >> 33) % (t->cols / 8 + 1);
    }
    if (t->rows > 6) {
        lengths[3] = 0;
        lengths[5] = 1;
    }
    gpu_to_device(r, t->lengths, lengths, t->rows * sizeof *lengths);
    free(lengths);
}

/* Before launches of another number of blocks than those so far. */
static void clear_state(struct probe_run *r, const struct tensors *t)
{
    CUDA(cudaMemsetAsync(t->state, 0xff, sizeof *t->state, gpu_stream(r)));
    CUDA(cudaMemsetAsync(t->state, 0, offsetof(struct softmax_state, slots), gpu_stream(r)));
}

struct shape {
    uint32_t rows, cols;
    size_t sets;   /* of buffers */
    uint64_t seed; /* FIXED for what is measured in the first and last round only, and must agree */
};
enum { FIXED = 1 };

/* Operands of the fused kernel; of the chain too; of the chain that stores its mask. */
enum with { FUSED_ONLY, WITH_CHAIN, WITH_MASK };

static struct tensors tensors_of(struct probe_run *r, const struct kernels *k, struct shape shape,
                                 enum with with)
{
    struct tensors t = {.k = k,
                        .rows = shape.rows,
                        .cols = shape.cols,
                        .scale = SCALE_BY,
                        .is_fixed = shape.seed == FIXED};
    const size_t sets = shape.sets, size = gpu_type_size(k->type);
    t.vectors = (t.cols + k->lanes - 1) / k->lanes;
    t.bytes = (size_t)t.rows * t.vectors * 16;

    t.in = pool_normal(r, k->type, t.bytes / size, sets, shape.seed, "the logits");
    for (int i = 0; i < 2 && with >= WITH_CHAIN; i++)
        t.middle[i] = pool_new(r, t.bytes, sets, "an intermediate");
    if (with == WITH_MASK)
        t.mask = pool_new(r, t.bytes, sets, "the mask");
    t.out = pool_new(r, t.bytes, sets, "the output");
    t.lengths = gpu_alloc(r, t.rows * sizeof *t.lengths, "the lengths of rows");
    t.partial = gpu_alloc(r, (size_t)t.rows * SOFTMAX_PARTS * 8, "parts of rows");
    t.state = gpu_alloc(r, sizeof *t.state, "what blocks leave for each other");
    draw_lengths(r, &t, shape.seed + 1);
    clear_state(r, &t);
    return t;
}

static void tensors_free(struct probe_run *r, struct tensors *t)
{
    struct pool *pools[] = {&t->in, &t->middle[0], &t->middle[1], &t->mask, &t->out};
    for (size_t i = 0; i < PROBE_LENGTH(pools); i++)
        if (pools[i]->memory)
            pool_free(r, pools[i]);
    gpu_release(r, t->lengths);
    gpu_release(r, t->partial);
    gpu_release(r, t->state);
}

/* --- how a row is spread --------------------------------------------------------------------- */

struct plan {
    enum kernel kernel; /* PARTIAL stands for it and FINISH */
    uint32_t parts, slice, threads;
    size_t shared;
};

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* Vectors of a thread: four in flight where there is much to do, and in a cluster, whose barrier
 * costs the more the more warps there are; else one, and a row is nearer to its end. */
static uint32_t threads_of(struct probe_run *r, const struct tensors *t, enum kernel kernel,
                           uint32_t parts, uint32_t slice)
{
    const uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm;
    const bool four = kernel == CLUSTER || (uint64_t)t->rows * parts >= 2 * n_sm;
    const uint32_t wanted = round_up(four ? (slice + 3) / 4 : slice, 32);

    if (kernel == HELD || kernel == SHARED || kernel == PAIR)
        return SOFTMAX_HELD_THREADS;
    if (kernel == NAIVE || kernel == FINITE)
        return SOFTMAX_SMALL_THREADS;
    return kernel == LAST || wanted > SOFTMAX_THREADS ? SOFTMAX_THREADS : wanted;
}

static struct plan plan_of(struct probe_run *r, const struct tensors *t, enum kernel kernel,
                           uint32_t parts)
{
    const uint32_t slice = (t->vectors + parts - 1) / parts;
    const uint32_t in_registers = kernel == HELD ? SOFTMAX_HELD * SOFTMAX_HELD_THREADS : 0;
    struct plan p = {kernel, parts, slice, threads_of(r, t, kernel, parts, slice), 0};

    if ((kernel == HELD || kernel == SHARED) && t->vectors > in_registers)
        p.shared = 16 * (size_t)(t->vectors - in_registers);
    return p;
}

/* Can it be launched here? Of a plan with shared memory, this makes it so. */
static bool plan_fits(struct probe_run *r, const struct tensors *t, const struct plan *p)
{
    const cudaKernel_t kernel = t->k->of[p->kernel];
    if (!kernel)
        return false;
    if (p->kernel == HELD || p->kernel == SHARED) {
        struct cudaFuncAttributes own;
        CUDA(cudaFuncGetAttributes(&own, (const void *)kernel));
        if (own.sharedSizeBytes + p->shared > gpu_facts(r)->shared_per_block)
            return false;
        gpu_kernel_shared(kernel, p->shared, -1);
        return true;
    }
    if (p->kernel == CLUSTER && !gpu_clusters_at_once(kernel, p->threads, 0, p->parts))
        return false;
    if (p->kernel == GRID && p->parts > (uint32_t)gpu_facts(r)->n_sm)
        return false;
    if (p->kernel == PAIR)
        return t->vectors <= SOFTMAX_PAIR * SOFTMAX_HELD_THREADS;
    if (p->kernel == ROW || p->kernel == CLUSTER || p->kernel == GRID)
        return p->slice <= SOFTMAX_VECTORS * p->threads;
    return p->parts <= SOFTMAX_PARTS;
}

/* The blocks for one row by which many rows, or one, keep the SMs busy with 4 KiB each or more. */
static uint32_t parts_of(struct probe_run *r, const struct tensors *t)
{
    const uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm;
    uint32_t parts = n_sm / t->rows, most = (t->vectors + 255) / 256;
    parts = parts < most ? parts : most;
    return parts < 1 ? 1 : parts > SOFTMAX_PARTS ? SOFTMAX_PARTS : parts;
}

/* The best way known: a block a row where rows are enough or short, two of them an SM where rows are
 * long; all SMs on one that is long; else the least cluster that keeps the SMs busy, or two kernels
 * where that cannot be. */
static struct plan plan_best(struct probe_run *r, const struct tensors *t)
{
    const uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm;
    struct plan p = plan_of(r, t, GRID, parts_of(r, t));
    uint32_t parts = 2;

    if (t->rows == 1 && t->vectors > 16384 && plan_fits(r, t, &p))
        return p;
    p = plan_of(r, t, PAIR, 1);
    if (plan_fits(r, t, &p) && t->rows >= 2 * n_sm && t->vectors > 2048)
        return p;
    p = plan_of(r, t, ROW, 1);
    if (plan_fits(r, t, &p) && (t->rows >= n_sm / 2 || t->vectors <= 256))
        return p;
    while (parts < SOFTMAX_CLUSTER && t->rows * parts < n_sm * 3 / 2)
        parts *= 2;
    p = plan_of(r, t, CLUSTER, parts);
    return plan_fits(r, t, &p) ? p : plan_of(r, t, PARTIAL, parts_of(r, t));
}

/* --- launches -------------------------------------------------------------------------------- */

static struct softmax_args args_of(const struct tensors *t, const struct plan *p, const void *in,
                                   void *out)
{
    return (struct softmax_args){.in = in,
                                 .out = out,
                                 .lengths = t->lengths,
                                 .partial = t->partial,
                                 .state = t->state,
                                 .cols = t->cols,
                                 .vectors = t->vectors,
                                 .parts = p->parts,
                                 .slice = p->slice,
                                 .scale = t->scale,
                                 .exponent = t->scale * LOG2_E};
}

/* The whole operator, by plan. The ways that know of one row take a launch for each. */
static void launch_plan(struct probe_run *r, const struct tensors *t, const struct plan *p,
                        struct softmax_args a)
{
    const bool one_row = p->kernel == LAST || p->kernel == GRID;
    const struct gpu_shape shape = {.grid = {(one_row ? 1 : t->rows) * p->parts, 1, 1},
                                    .block = p->threads,
                                    .shared = p->shared,
                                    .cluster = p->kernel == CLUSTER ? p->parts : 0,
                                    .cooperative = p->kernel == GRID};

    if (p->kernel == UNMERGED)
        gpu_launch_shape(r, t->k->of[PARTIAL], &shape, &a);
    for (a.row = 0; a.row < (one_row ? t->rows : 1); a.row++)
        gpu_launch_shape(r, t->k->of[p->kernel], &shape, &a);
    if (p->kernel == PARTIAL)
        gpu_launch_shape(r, t->k->of[FINISH], &shape, &a);
}

/* One operator of the chain. Small blocks where large ones would leave SMs without. */
static void launch_operator(struct probe_run *r, const struct tensors *t, enum kernel which,
                            const void *in, const void *mask, void *out)
{
    const uint64_t full = (uint64_t)gpu_facts(r)->n_sm * SOFTMAX_SMALL_THREADS * SOFTMAX_VECTORS;
    const bool is_small = (uint64_t)t->rows * t->vectors < full;
    const uint32_t wanted = round_up((t->vectors + SOFTMAX_VECTORS - 1) / SOFTMAX_VECTORS, 32);
    struct plan p = {.kernel = which, .threads = is_small ? 64 : wanted};

    if (p.threads > SOFTMAX_SMALL_THREADS)
        p.threads = SOFTMAX_SMALL_THREADS;
    p.slice = p.threads * (is_small ? 1 : SOFTMAX_VECTORS);
    p.parts = (t->vectors + p.slice - 1) / p.slice;
    struct softmax_args a = args_of(t, &p, in, out);
    a.mask = mask;
    gpu_launch(r, t->k->of[which], t->rows * p.parts, p.threads, 0, &a);
}

/* --- what a kernel does ----------------------------------------------------------------------- */

/* What a block of a plan does beside the bytes: its arithmetic for each logit, how often a thread
 * waits for loads, and whether it holds what it works on. Of 0 exponentials nothing is said. */
struct effort {
    double operations, exponentials, batches;
    bool holds;
};

static struct effort effort_of(const struct plan *p, enum kernel kernel)
{
    const double each = ceil((double)p->slice / p->threads); /* vectors of a thread */
    const double passed = ceil(each / (2 * SOFTMAX_STREAM_VECTORS));
    const double shared = fmax(each - SOFTMAX_HELD, 0); /* where a row does not fit the registers */

    switch (kernel) {
    case ROW:
    case CLUSTER:
    case GRID: return (struct effort){5, 1, 1, true};
    case PAIR: return (struct effort){7, 2, 1, true};
    case HELD: return (struct effort){7, 2, 1 + ceil(shared / 4), true};
    case ONLINE: return (struct effort){7, 2, 2 * passed, false};
    case PARTIAL: return (struct effort){4, 1, passed, false};
    case FINISH: return (struct effort){3, 1, passed, false};
    default: return (struct effort){0};
    }
}

static struct operation_kernel kernel_does(struct probe_run *r, const struct tensors *t,
                                           const struct plan *p, enum kernel kernel, double bytes)
{
    const struct effort e = effort_of(p, kernel);
    const double logits = (double)t->rows * t->vectors * t->k->lanes;
    const double blocks = (double)t->rows * p->parts;
    int resident = 0;

    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, (const void *)t->k->of[kernel], (int)p->threads, p->shared));
    return (struct operation_kernel){.bytes = bytes,
                                     .blocks = blocks,
                                     .trips = operation_rounds(r, blocks, resident) * e.batches,
                                     .alone = e.holds && operation_at_once(r, blocks, resident) == 1,
                                     .operations = e.operations * logits,
                                     .exponentials = e.exponentials * logits};
}

/* --- is it right? ---------------------------------------------------------------------------- */

static double as_double(enum gpu_type type, const void *elements, size_t i)
{
    return type == GPU_FP16   ? half_fp16(((const uint16_t *)elements)[i])
           : type == GPU_BF16 ? half_bf16(((const uint16_t *)elements)[i])
                              : (double)((const float *)elements)[i];
}

/* A row on the CPU, in double: within two of the least steps of the type, or four where each
 * operator rounds the logits, which are at most 16. */
static size_t wrong_on_host(const struct tensors *t, bool is_fused, const void *in, const void *out,
                            uint32_t length)
{
    const enum gpu_type type = t->k->type;
    const double unit = type == GPU_FP16   ? HALF_FP16_UNIT
                        : type == GPU_BF16 ? HALF_BF16_UNIT
                                           : 0x1p-24;
    const double tiny = type == GPU_FP16 ? 0x1p-24 : 1e-38;
    double most = -INFINITY, sum = 0;
    size_t wrong = 0;

    for (uint32_t i = 0; i < length; i++)
        most = fmax(most, as_double(type, in, i));
    for (uint32_t i = 0; i < length; i++)
        sum += exp((double)t->scale * (as_double(type, in, i) - most));
    for (uint32_t i = 0; i < t->cols; i++) {
        double x = (double)t->scale * (as_double(type, in, i) - most);
        double p = i < length ? exp(x) / sum : 0;
        double bound = p * (2 * unit + 4e-6 + (is_fused ? 0 : 64 * unit)) + tiny;
        wrong += !(fabs(as_double(type, out, i) - p) <= bound);
    }
    return wrong;
}

static void check_on_host(struct probe_run *r, const struct tensors *t, bool is_fused,
                          const char *when)
{
    enum { ROWS = 8, ELEMENTS = 1 << 17 };
    const size_t row_bytes = 16 * (size_t)t->vectors;
    char *in = malloc(row_bytes), *out = malloc(row_bytes);
    uint32_t n = ELEMENTS / t->cols < ROWS ? ELEMENTS / t->cols : ROWS, length;
    size_t wrong = 0;

    if (!in || !out)
        probe_fail(r, "out of memory");
    for (uint32_t i = 0; i < n && i < t->rows; i++) {
        const size_t row = i + 1 == n ? t->rows - 1 : i;
        gpu_to_host(r, in, t->in.memory + row * row_bytes, row_bytes);
        gpu_to_host(r, out, t->out.memory + row * row_bytes, row_bytes);
        gpu_to_host(r, &length, t->lengths + row, sizeof length);
        wrong += wrong_on_host(t, is_fused, in, out, length);
    }
    probe_require(r, wrong == 0, "%s: %zu elements differ from the CPU's in double", when, wrong);
    free(in);
    free(out);
}

/* All rows, or every 61st from a random one on; and how many elements that are. */
static struct verdict run_verifier(struct probe_run *r, const struct tensors *t, bool is_fused,
                                   bool in_full, uint64_t *elements)
{
    const uint64_t step = in_full || t->rows < 1000 ? 1 : 61;
    struct softmax_verify_args a = {.in = t->in.memory,
                                    .out = t->out.memory,
                                    .lengths = t->lengths,
                                    .verdict = verdict_clear(r),
                                    .rows = t->rows,
                                    .first = probe_seed(r) % step,
                                    .step = step,
                                    .cols = t->cols,
                                    .vectors = t->vectors,
                                    .is_fused = is_fused,
                                    .scale = t->scale};
    gpu_launch(r, t->k->verify, t->rows < 4096 ? t->rows : 4096, SOFTMAX_SMALL_THREADS, 0, &a);
    *elements = (t->rows - a.first + step - 1) / step * t->vectors * t->k->lanes;
    return verdict_fetch(r);
}

static bool gave_up(struct probe_run *r, const struct tensors *t)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &t->state->aborted, sizeof aborted);
    return aborted != 0;
}

#endif
