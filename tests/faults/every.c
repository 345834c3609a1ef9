/* every: a probe for tests, which makes each call of core/gpu.h, core/sides.h and core/blas.h
 * once. */
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "core/device/harness.h"
#include "core/gpu.h"
#include "core/sides.h"
#include "core/verdict.h"

PROBE_IMAGE(harness);

enum { FIRST, SECOND, LIBRARY, POWER, ENERGY };
static const struct probe_metric metrics[] = {
    [FIRST] = {"first", "ns", PROBE_LOWER, .timer = "event", .what = "a launch"},
    [SECOND] = {"second", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .what = "a node of a graph"},
    [LIBRARY] = {"library", "count", PROBE_EXACT, .what = "choices of cuBLASLt"},
    [POWER] = {"power", "watts", PROBE_LOWER, .what = "of the board"},
    [ENERGY] = {"energy", "joules", PROBE_LOWER, .what = "of a launch"},
};
static const struct probe_parameter parameters[] = {
    {"bytes", 1 << 20, 1, INT64_MAX, "of the memory that is asked for", NULL},
};

struct all {
    cudaKernel_t fill;
    struct harness_fill_args args;
    struct gpu_shape shape;
};

static void once(struct probe_run *r, void *what)
{
    const struct all *a = what;
    gpu_launch_shape(r, a->fill, &a->shape, &a->args);
}

static void measure_first(struct probe_run *r, struct all *a, uint64_t *memory)
{
    const uint64_t written = 7;
    uint64_t read = 0;

    if (!probe_begin_case(r, 0, "part=first"))
        return;
    gpu_kernel_shared(a->fill, 1024, -1);
    gpu_kernel_clusters(a->fill);
    gpu_kernel_facts(r, a->fill, 256, 0);
    probe_fact(r, "clusters", "%u", gpu_clusters_at_once(a->fill, 256, 0, 2));
    while (probe_more(r))
        probe_sample(r, FIRST, 1, gpu_launch_ns(r, a->fill, &a->shape, &a->args));
    gpu_poison(r, memory, sizeof *memory);
    gpu_to_device(r, memory, &written, sizeof written);
    gpu_to_host(r, &read, memory, sizeof read);
    probe_require(r, read == written, "memory keeps what is written");
    gpu_sweep_l2(r);
    gpu_empty_l2(r);
    gpu_gate_close(r);
    gpu_gate_open(r);
    gpu_wait(r);
    probe_require(r, gpu_gate_held(r), "the gate held");
}

static void measure_second(struct probe_run *r, struct all *a)
{
    struct gpu_graph graph[2];

    if (!probe_begin_case(r, 0, "part=second"))
        return;
    for (int i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (int n = 0; n < 8 << i; n++)
            gpu_launch(r, a->fill, 1, 256, 0, &a->args);
        graph[i] = gpu_graph_end(r);
    }
    const struct gpu_node node = gpu_graph_first_kernel(r, &graph[0]);
    probe_require(r, !strcmp(node.kernel, "harness_fill_fp32"), "the graph's kernel has its name");
    gpu_sample_graphs(r, SECOND, 8, graph);
    for (int i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

static void measure_library(struct probe_run *r, void *memory)
{
    char why[400];
    unsigned char map[GPU_TENSOR_MAP_BYTES];
    const struct gpu_tensor tensor = {.type = GPU_FP16, .base = memory, .rank = 2,
                                      .size = {64, 64}, .stride = {64}, .box = {8, 64}};
    const struct blas_gemm gemm = {.layout = "nn", .m = 8, .n = 8, .k = 8, .a = memory,
                                   .b = memory, .c = memory, .stream = gpu_stream(r)};
    const struct blas_gemv gemv = {.rows = 8, .columns = 8, .a = memory, .x = memory,
                                   .y = memory, .stream = gpu_stream(r)};

    if (!probe_begin_case(r, 0, "part=library"))
        return;
    gpu_tensor_map(r, map, &tensor);
    struct blas *blas = blas_open(r, why, sizeof why);
    if (!blas) {
        probe_missing(r, LIBRARY, why);
        return;
    }
    probe_fact(r, "cublas", "%s", blas_version(blas));
    blas_gemm(r, blas, &gemm);
    blas_gemm_batched(r, blas, &gemm, &(struct blas_batch){.count = 2});
    blas_gemv(r, blas, &gemv);
    struct blas_plan *plan = blas_plan(r, blas, &gemm);
    probe_value(r, LIBRARY, blas_plan_choices(plan));
    for (int i = 0; i < blas_plan_choices(plan); i++)
        probe_require(r, blas_plan_gemm(plan, i, &gemm), "cuBLASLt takes what it offered");
    blas_plan_free(plan);
}

static void measure_power(struct probe_run *r, struct all *a)
{
    if (!probe_begin_case(r, PROBE_THRICE, "part=power"))
        return;
    verdict_clear(r);
    const struct verdict v = verdict_fetch(r);
    verdict_check(r, &v, 0, "nothing");
    const struct gpu_power power = gpu_power(r, once, a, 2000);
    if (power.why) {
        probe_missing(r, POWER, power.why);
        return;
    }
    probe_value(r, POWER, power.watts);
    probe_value(r, ENERGY, power.joules);
}

static void measure_sides(struct probe_run *r)
{
    const size_t bytes = (size_t)2 << SIDES_PAGE_BITS;
    char *room = gpu_alloc(r, bytes + SIDES_BOTH, "memory with two sides");
    const char *memory = (const char *)(((uintptr_t)room + SIDES_BOTH - 1) / SIDES_BOTH *
                                        SIDES_BOTH);
    struct sides sides = sides_of(r, memory, bytes);

    probe_require(r, !sides.why[0], "the two sides of the L2 are found");
    probe_require(r, sides.map.mask == 0x2d && sides.map.count[1] == sides.map.count[0],
                  "half of the SMs are on each side, and the bits that count are those");
    sides_free(r, &sides);
    gpu_release(r, room);
}

static void measure(struct probe_run *r)
{
    const size_t bytes = (size_t)probe_parameter(r, "bytes");
    void *memory = gpu_alloc(r, bytes, "the memory");
    struct all a = {.args = {memory, 256, probe_seed(r)},
                    .shape = {.grid = {1, 1, 1}, .block = 256, .cluster = 1, .dependent = true}};

    gpu_fill_normal(r, memory, GPU_FP32, 256, probe_seed(r));
    a.fill = gpu_kernel(r, &image_harness, "harness_fill_fp32", sizeof a.args);
    measure_first(r, &a, memory);
    measure_second(r, &a);
    measure_library(r, memory);
    measure_power(r, &a);
    measure_sides(r);
    gpu_release(r, memory);
}

const struct probe probe = {
    .name = "every",
    .what = "Does each call of core/gpu.h say how it failed?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
