/* repeatability: do the same inputs give the same bits every time, and what does a fixed order
 * cost?
 *
 * Method. y = A x in fp32, where A is 64 x 131072 from N(0,1). Each row is shared by 64 blocks,
 * whose partial sums are added in one of four ways:
 *     order=arrival       by atomicAdd on fp32, as they come
 *     order=last_arriver  by the block that comes last, from the first part to the last; one kernel
 *     order=two_kernels   from the first part to the last, by a second kernel
 *     order=fixed_point   by atomicAdd on 64-bit integers, in units of 2^-32, as they come: the
 *                         control, since the order of integer additions does not matter
 * `distinct` counts the different results among 10000 runs on the same inputs; a hash of all 64
 * numbers identifies a result. order=inputs makes 10 runs on 10 different x, whose results must be
 * told apart. Three results are verified against float64: a product before timing, what the timed
 * graphs leave, and the last of the runs.
 *
 * `graph_memory` instantiates and uploads a graph of a given number of empty kernels, and reports
 * by how much the device's free memory falls. The driver takes memory in steps.
 *
 * Inside the timed region of `time`: graphs of n and 2n sums, between two events. The memset that
 * order=arrival and order=fixed_point need is included.
 * Expected: thousands of results for arrival, one for the others. A fixed order costs a graph node,
 * or the last arriver's trip to the L2 and back.
 * Trap: with few blocks in flight even arrivals repeat. 4096 blocks on an H200 do not. */
#include "fused/repeatability/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused/common/operation.h"

PROBE_IMAGE(repeatability);

enum { TIME, DISTINCT, ERROR, GRAPH_MEMORY };
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = "order",
              .what = "one product, warm, by graph"},
    [DISTINCT] = {"distinct", "count", PROBE_LOWER, .keys = "order,runs",
                  .what = "different results of runs on the same inputs"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = "order",
               .what = "relative norm of the difference from float64"},
    [GRAPH_MEMORY] = {"graph_memory", "bytes", PROBE_LOWER, .keys = "nodes",
                      .what = "device memory that an instantiated graph takes"},
};

enum order { ARRIVAL, LAST_ARRIVER, TWO_KERNELS, FIXED_POINT, N_ORDERS };
static const char *const order_names[] = {"arrival", "last_arriver", "two_kernels", "fixed_point"};
enum { RUNS = 10000, RUNS_A_GRAPH = 100, INPUTS = 10, SUMS = 8, NODES_MAX = 4096 };
static const size_t A_BYTES = (size_t)SUM_ROWS * SUM_COLUMNS * sizeof(float);

struct product {
    struct sum_args args;
    struct sum_hash_args hash;
    cudaKernel_t kernel[N_ORDERS], add_up, hash_kernel;
    double *reference; /* SUM_ROWS */
};

static cudaKernel_t kernel_named(struct probe_run *r, const char *name)
{
    return gpu_kernel(r, &image_repeatability, name, sizeof(struct sum_args));
}

static void reference_on_host(struct probe_run *r, struct product *p)
{
    float *a = probe_host_alloc(r, A_BYTES), *x = probe_host_alloc(r, SUM_COLUMNS * sizeof *x);
    gpu_to_host(r, a, p->args.a, A_BYTES);
    gpu_to_host(r, x, p->args.x, SUM_COLUMNS * sizeof *x);
    for (size_t row = 0; row < SUM_ROWS; row++) {
        double sum = 0;
        for (size_t k = 0; k < SUM_COLUMNS; k++)
            sum += (double)a[row * SUM_COLUMNS + k] * (double)x[k];
        p->reference[row] = sum;
    }
    free(a);
    free(x);
}

static struct product product_of(struct probe_run *r)
{
    struct product p = {.reference = probe_host_alloc(r, SUM_ROWS * sizeof(double))};
    float *a = gpu_alloc(r, A_BYTES, "the matrix");
    float *x = gpu_alloc(r, SUM_COLUMNS * sizeof *x, "the vector");

    gpu_fill_normal(r, a, GPU_FP32, (size_t)SUM_ROWS * SUM_COLUMNS, probe_seed(r));
    gpu_fill_normal(r, x, GPU_FP32, SUM_COLUMNS, probe_seed(r) + 1);
    p.args = (struct sum_args){
        .a = a,
        .x = x,
        .y = gpu_alloc(r, SUM_ROWS * sizeof(float), "the result"),
        .partial = gpu_alloc(r, SUM_ROWS * SUM_PARTS * sizeof(float), "partial sums"),
        .fixed = gpu_alloc(r, SUM_ROWS * sizeof(int64_t), "sums in fixed point"),
        .ticket = gpu_alloc(r, SUM_ROWS * sizeof(uint32_t), "tickets")};
    CUDA(cudaMemsetAsync(p.args.ticket, 0, SUM_ROWS * sizeof(uint32_t), gpu_stream(r)));
    p.hash = (struct sum_hash_args){.hash = gpu_alloc(r, RUNS * sizeof(uint64_t), "hashes"),
                                    .run = gpu_alloc(r, sizeof(uint32_t), "a count"),
                                    .runs = RUNS};
    p.kernel[ARRIVAL] = kernel_named(r, "repeatability_atomics");
    p.kernel[LAST_ARRIVER] = kernel_named(r, "repeatability_last_arriver");
    p.kernel[TWO_KERNELS] = kernel_named(r, "repeatability_parts");
    p.kernel[FIXED_POINT] = kernel_named(r, "repeatability_fixed_point");
    p.add_up = kernel_named(r, "repeatability_add_up");
    p.hash_kernel = gpu_kernel(r, &image_repeatability, "repeatability_hash", sizeof p.hash);
    reference_on_host(r, &p);
    return p;
}

static void multiply(struct probe_run *r, const struct product *p, enum order order)
{
    const struct sum_args *a = &p->args;
    if (order == ARRIVAL)
        CUDA(cudaMemsetAsync(a->y, 0, SUM_ROWS * sizeof *a->y, gpu_stream(r)));
    if (order == FIXED_POINT)
        CUDA(cudaMemsetAsync(a->fixed, 0, SUM_ROWS * sizeof *a->fixed, gpu_stream(r)));
    gpu_launch_grid(r, p->kernel[order], (dim3){SUM_PARTS, SUM_ROWS, 1}, SUM_THREADS, 0, a);
    if (order == TWO_KERNELS)
        gpu_launch(r, p->add_up, 1, SUM_ROWS, 0, a);
}

/* Poisons results and partial sums, so that the next launch has to write them. */
static void poison(struct probe_run *r, const struct product *p)
{
    gpu_poison(r, p->args.y, SUM_ROWS * sizeof *p->args.y);
    gpu_poison(r, p->args.fixed, SUM_ROWS * sizeof *p->args.fixed);
    gpu_poison(r, p->args.partial, SUM_ROWS * SUM_PARTS * sizeof *p->args.partial);
}

/* Judges what is in memory now. The bound: 2^-24 for each addition that an element's sum
 * contains. */
static double verify(struct probe_run *r, const struct product *p, enum order order,
                     const char *when)
{
    const double bound = (SUM_PART / SUM_THREADS + 13 + SUM_PARTS) * 0x1p-24 * SUM_COLUMNS * 0.7;
    double error = 0, all = 0, value;
    float y[SUM_ROWS];
    int64_t fixed[SUM_ROWS];
    int wrong = 0;

    gpu_to_host(r, y, p->args.y, sizeof y);
    gpu_to_host(r, fixed, p->args.fixed, sizeof fixed);
    for (int i = 0; i < SUM_ROWS; i++) {
        value = order == FIXED_POINT ? (double)fixed[i] * 0x1p-32 : (double)y[i];
        error += (value - p->reference[i]) * (value - p->reference[i]);
        all += p->reference[i] * p->reference[i];
        wrong += !(fabs(value - p->reference[i]) <= bound);
    }
    probe_require(r, wrong == 0, "%s: %d of %d sums are beyond the error bound", when, wrong,
                  SUM_ROWS);
    return sqrt(error / all);
}

/* --- how many results? ----------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t distinct(struct probe_run *r, const struct product *p, size_t runs)
{
    uint64_t *hash = probe_host_alloc(r, runs * sizeof *hash);
    uint32_t counted;
    size_t n = 1;

    gpu_to_host(r, &counted, p->hash.run, sizeof counted);
    probe_require(r, counted == runs, "%u of %zu runs were hashed", (unsigned)counted, runs);
    gpu_to_host(r, hash, p->hash.hash, runs * sizeof *hash);
    qsort(hash, runs, sizeof *hash, by_value);
    for (size_t i = 1; i < runs; i++)
        n += hash[i] != hash[i - 1];
    free(hash);
    return n;
}

static void hash_result(struct probe_run *r, const struct product *p, enum order order)
{
    struct sum_hash_args a = p->hash;
    a.bits = order == FIXED_POINT ? (const uint32_t *)p->args.fixed : (const uint32_t *)p->args.y;
    a.n = order == FIXED_POINT ? 2 * SUM_ROWS : SUM_ROWS;
    gpu_launch(r, p->hash_kernel, 1, 1, 0, &a);
}

static void count_results(struct probe_run *r, const struct product *p, enum order order)
{
    const size_t runs = probe_is_check_run(r) ? RUNS_A_GRAPH : RUNS;
    struct gpu_graph graph;

    if (!probe_begin_case(r, PROBE_TWICE, "order=%s,runs=%d", order_names[order], RUNS))
        return;
    CUDA(cudaMemsetAsync(p->hash.run, 0, sizeof *p->hash.run, gpu_stream(r)));
    gpu_graph_begin(r);
    for (int i = 0; i < RUNS_A_GRAPH; i++) {
        multiply(r, p, order);
        hash_result(r, p, order);
    }
    graph = gpu_graph_end(r); /* it has run once by now */
    CUDA(cudaMemsetAsync(p->hash.run, 0, sizeof *p->hash.run, gpu_stream(r)));
    poison(r, p);
    for (size_t i = 0; i < runs / RUNS_A_GRAPH; i++)
        CUDA(cudaGraphLaunch(graph.exec, gpu_stream(r)));
    verify(r, p, order, "the last run");
    probe_value(r, DISTINCT, (double)distinct(r, p, runs));
    gpu_graph_free(&graph);
}

/* Checks the hash on different inputs: one that told nothing apart would count one result
 * always. */
static void count_inputs(struct probe_run *r, const struct product *p)
{
    if (!probe_begin_case(r, PROBE_TWICE, "order=inputs,runs=%d", INPUTS))
        return;
    CUDA(cudaMemsetAsync(p->hash.run, 0, sizeof *p->hash.run, gpu_stream(r)));
    for (uint64_t i = 0; i < INPUTS; i++) {
        gpu_fill_normal(r, (void *)p->args.x, GPU_FP32, SUM_COLUMNS, probe_seed(r) + 2 + i);
        multiply(r, p, TWO_KERNELS);
        hash_result(r, p, TWO_KERNELS);
    }
    probe_value(r, DISTINCT, (double)distinct(r, p, INPUTS));
    gpu_fill_normal(r, (void *)p->args.x, GPU_FP32, SUM_COLUMNS, probe_seed(r) + 1);
}

/* --- what does order cost? ------------------------------------------------------------------- */

static void measure_time(struct probe_run *r, const struct product *p, enum order order)
{
    struct gpu_graph graph[2];
    double error = NAN;

    if (!probe_begin_case(r, PROBE_POWER_BOUND, "order=%s", order_names[order]))
        return;
    poison(r, p);
    multiply(r, p, order);
    verify(r, p, order, "before timing");
    for (size_t i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (size_t n = 0; n < (size_t)SUMS << i; n++)
            multiply(r, p, order);
        graph[i] = gpu_graph_end(r);
    }
    gpu_sample_graphs(r, TIME, SUMS, graph);
    for (size_t i = 0; i < 2; i++) {
        poison(r, p);
        CUDA(cudaGraphLaunch(graph[i].exec, gpu_stream(r)));
        error = verify(r, p, order, i ? "the longer timed graph" : "the shorter timed graph");
        gpu_graph_free(&graph[i]);
    }
    probe_value(r, ERROR, error);
}

static void measure_graph_memory(struct probe_run *r, const struct product *p, int nodes)
{
    size_t before, after, whole;
    struct gpu_graph graph;

    if (!probe_begin_case(r, PROBE_TWICE, "nodes=%d", nodes))
        return;
    gpu_wait(r);
    CUDA(cudaMemGetInfo(&before, &whole));
    gpu_graph_begin(r);
    for (int i = 0; i < nodes; i++)
        gpu_launch(r, p->add_up, 1, SUM_ROWS, 0, &p->args);
    graph = gpu_graph_end(r);
    CUDA(cudaMemGetInfo(&after, &whole));
    probe_value(r, GRAPH_MEMORY, before > after ? (double)(before - after) : 0);
    gpu_graph_free(&graph);
}

static void measure(struct probe_run *r)
{
    struct product p = product_of(r);

    measure_graph_memory(r, &p, 1);
    measure_graph_memory(r, &p, NODES_MAX);
    for (enum order order = 0; order < N_ORDERS; order++) {
        measure_time(r, &p, order);
        count_results(r, &p, order);
    }
    count_inputs(r, &p);
}

const struct probe probe = {
    .name = "repeatability",
    .what = "Do the same inputs give the same bits every time, and what does a fixed order cost?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .fixed = "its question is the order in which 64 parts of a row are added, and the kernels are "
             "built for these",
    .measure = measure,
};
