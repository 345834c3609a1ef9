/* softmax: its kernels, their launches, and how blocks share a row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fused/softmax/softmax.h"

PROBE_IMAGE(softmax);
PROBE_IMAGE(softmax_check);

/* --- kernels --------------------------------------------------------------------------------- */

const char *const softmax_kernel_names[N_KERNELS] = {
    [ROW] = "row",           [PAIR] = "pair",       [ONLINE] = "online",   [HELD] = "held",
    [SHARED] = "shared",     [CLUSTER] = "cluster", [PARTIAL] = "partial", [FINISH] = "finish",
    [UNMERGED] = "unmerged", [LAST] = "last",       [GRID] = "grid",       [SCALE] = "scale",
    [MASK] = "mask",         [FILL] = "fill",       [ADD] = "add",         [NAIVE] = "naive",
    [FINITE] = "finite",
};

static cudaKernel_t kernel_of(struct probe_run *r, const struct gpu_image *image,
                              enum gpu_type type, const char *name, size_t args)
{
    char whole[64];
    snprintf(whole, sizeof whole, "softmax_%s_%s", name, gpu_type_name(type));
    return strcmp(name, "cluster") ? gpu_kernel(r, image, whole, args)
                                   : gpu_kernel_if_any(r, image, whole, args);
}

/* GPUs below compute capability 9.0 have no clusters: NULL there. */
struct softmax_kernels softmax_load(struct probe_run *r, enum gpu_type type)
{
    struct softmax_kernels k = {.lanes = (uint32_t)(16 / gpu_type_size(type))};
    const size_t verify = sizeof(struct softmax_verify_args);
    const size_t stable = sizeof(struct softmax_stable_args);
    for (enum softmax_kernel i = 0; i < N_KERNELS; i++)
        k.of[i] = kernel_of(r, i < NAIVE ? &image_softmax : &image_softmax_check, type,
                            softmax_kernel_names[i], sizeof(struct softmax_args));
    k.verify = kernel_of(r, &image_softmax_check, type, "verify", verify);
    k.adversary = kernel_of(r, &image_softmax_check, type, "adversary", stable);
    k.stable = kernel_of(r, &image_softmax_check, type, "stable", stable);
    if (k.of[CLUSTER])
        gpu_kernel_clusters(k.of[CLUSTER]);
    return k;
}

/* --- how a row is spread --------------------------------------------------------------------- */

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* Threads of a block. A thread takes four vectors where there is much to do, and in a cluster,
 * whose barrier costs more with more warps. Else it takes one vector, and the row is done
 * sooner. */
static uint32_t threads_of(struct probe_run *r, const struct softmax *t, enum softmax_kernel kernel,
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

struct softmax_plan softmax_plan(struct probe_run *r, const struct softmax *t,
                                 enum softmax_kernel kernel, uint32_t parts)
{
    const uint32_t slice = (t->vectors + parts - 1) / parts;
    const uint32_t in_registers = kernel == HELD ? SOFTMAX_HELD * SOFTMAX_HELD_THREADS : 0;
    struct softmax_plan p = {kernel, parts, slice, threads_of(r, t, kernel, parts, slice), 0};

    if ((kernel == HELD || kernel == SHARED) && t->vectors > in_registers)
        p.shared = 16 * (size_t)(t->vectors - in_registers);
    return p;
}

bool softmax_plan_fits(struct probe_run *r, const struct softmax *t, const struct softmax_plan *p)
{
    const cudaKernel_t kernel = t->k.of[p->kernel];
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

uint32_t softmax_parts(struct probe_run *r, const struct softmax *t)
{
    const uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm;
    uint32_t parts = n_sm / t->rows, most = (t->vectors + 255) / 256;
    parts = parts < most ? parts : most;
    return parts < 1 ? 1 : parts > SOFTMAX_PARTS ? SOFTMAX_PARTS : parts;
}

/* The best way known. Many rows or short rows: a block per row, two blocks an SM where rows are
 * long. A single long row: all SMs on it. Else: the smallest cluster that keeps the SMs busy, or
 * two kernels where there is no such cluster. */
struct softmax_plan softmax_best_plan(struct probe_run *r, const struct softmax *t)
{
    const uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm;
    struct softmax_plan p = softmax_plan(r, t, GRID, softmax_parts(r, t));
    uint32_t parts = 2;

    if (t->rows == 1 && t->vectors > 16384 && softmax_plan_fits(r, t, &p))
        return p;
    p = softmax_plan(r, t, PAIR, 1);
    if (softmax_plan_fits(r, t, &p) && t->rows >= 2 * n_sm && t->vectors > 2048)
        return p;
    p = softmax_plan(r, t, ROW, 1);
    if (softmax_plan_fits(r, t, &p) && (t->rows >= n_sm / 2 || t->vectors <= 256))
        return p;
    while (parts < SOFTMAX_CLUSTER && t->rows * parts < n_sm * 3 / 2)
        parts *= 2;
    p = softmax_plan(r, t, CLUSTER, parts);
    return softmax_plan_fits(r, t, &p) ? p : softmax_plan(r, t, PARTIAL, softmax_parts(r, t));
}

/* --- launches -------------------------------------------------------------------------------- */

struct softmax_args softmax_args_of(const struct softmax *t, const struct softmax_plan *p,
                                    const void *in, void *out)
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
                                 .exponent = t->scale * SOFTMAX_LOG2_E,
                                 .keep = t->keep};
}

static bool takes_one_row(const struct softmax_plan *p)
{
    return p->kernel == LAST || p->kernel == GRID;
}

uint32_t softmax_kernels_of(const struct softmax *t, const struct softmax_plan *p)
{
    if (takes_one_row(p))
        return t->rows;
    return p->kernel == PARTIAL || p->kernel == UNMERGED ? 2 : 1;
}

void softmax_launch(struct probe_run *r, const struct softmax *t, const struct softmax_plan *p,
                    struct softmax_args a)
{
    const bool one_row = takes_one_row(p);
    const struct gpu_shape shape = {.grid = {(one_row ? 1 : t->rows) * p->parts, 1, 1},
                                    .block = p->threads,
                                    .shared = p->shared,
                                    .cluster = p->kernel == CLUSTER ? p->parts : 0,
                                    .cooperative = p->kernel == GRID};

    if (p->kernel == UNMERGED)
        gpu_launch_shape(r, t->k.of[PARTIAL], &shape, &a);
    for (a.row = 0; a.row < (one_row ? t->rows : 1); a.row++)
        gpu_launch_shape(r, t->k.of[p->kernel], &shape, &a);
    if (p->kernel == PARTIAL)
        gpu_launch_shape(r, t->k.of[FINISH], &shape, &a);
}

void softmax_launch_step(struct probe_run *r, const struct softmax *t, enum softmax_kernel which,
                         const void *in, const void *mask, void *out)
{
    const uint64_t full = (uint64_t)gpu_facts(r)->n_sm * SOFTMAX_SMALL_THREADS * SOFTMAX_VECTORS;
    const bool is_small = (uint64_t)t->rows * t->vectors < full;
    const uint32_t wanted = round_up((t->vectors + SOFTMAX_VECTORS - 1) / SOFTMAX_VECTORS, 32);
    struct softmax_plan p = {.kernel = which, .threads = is_small ? 64 : wanted};

    if (p.threads > SOFTMAX_SMALL_THREADS)
        p.threads = SOFTMAX_SMALL_THREADS;
    p.slice = p.threads * (is_small ? 1 : SOFTMAX_VECTORS);
    p.parts = (t->vectors + p.slice - 1) / p.slice;
    struct softmax_args a = softmax_args_of(t, &p, in, out);
    a.mask = mask;
    gpu_launch(r, t->k.of[which], t->rows * p.parts, p.threads, 0, &a);
}

/* --- what a kernel does ----------------------------------------------------------------------- */

/* What a block of a plan does besides moving bytes: arithmetic per logit, how often a thread waits
 * for loads, and whether it holds its slice. 0 exponentials: not known. */
struct effort {
    double operations, exponentials, batches;
    bool holds;
};

static struct effort effort_of(const struct softmax_plan *p, enum softmax_kernel kernel)
{
    const double each = ceil((double)p->slice / p->threads); /* vectors per thread */
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

struct operation_kernel softmax_does(struct probe_run *r, const struct softmax *t,
                                     const struct softmax_plan *p, enum softmax_kernel kernel,
                                     double bytes)
{
    const struct effort e = effort_of(p, kernel);
    const double logits = (double)t->rows * t->vectors * t->k.lanes;
    const double blocks = (double)t->rows * p->parts;
    int resident = 0;

    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, (const void *)t->k.of[kernel],
                                                       (int)p->threads, p->shared));
    return (struct operation_kernel){.bytes = bytes,
                                     .blocks = blocks,
                                     .trips = operation_rounds(r, blocks, resident) * e.batches,
                                     .alone =
                                         e.holds && operation_at_once(r, blocks, resident) == 1,
                                     .operations = e.operations * logits,
                                     .exponentials = e.exponentials * logits};
}
