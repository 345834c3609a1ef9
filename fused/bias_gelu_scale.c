/* bias_gelu_scale: what does it save to compute scale * gelu(x + bias) in one kernel, not three?
 *
 * Method. x is rows x cols fp16, N(0,1); bias has cols elements; gelu in the tanh form; arithmetic in
 * fp32. Unfused: three kernels, each with its result in memory; fused: one. All are made from one
 * skeleton with 16-byte accesses, four in flight a thread, and so is the copy; the copy that counts
 * is the better of that and cudaMemcpyAsync, timed in the same process on the same bytes, by the
 * same mode and with the same rotation of buffers.
 *     mode=graph   n and 2n whole operations in a graph; the slope is one operation, edges included
 *     mode=stream  the same, launched one by one: what a program pays that submits as it goes
 *     l2=warm      always the same buffers
 *     l2=cold      buffers rotated past 3 x L2; where 32 sets are too few for that, a reading sweep
 *                  of 3 x L2 goes before each replay, outside the timed region
 *
 * Inside the timed region: the operations, between two events.
 * Expected: unfused moves three times the bytes, and takes three times as long where bytes are what
 * takes time (above 3 x L2); where launches are, three times the launches; in between, what the L2
 * gives. An H200: 16384 x 8192, 125 us fused, 375 us unfused.
 *
 * Bytes are counted, not measured: 2 or 6 tensors, and the bias once a kernel that reads it. Buffers
 * are never a power of two apart: the guard bands lie between them. */
#include "fused/bias_gelu_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/gpu.h"
#include "core/half.h"

PROBE_IMAGE(bias_gelu_scale);
GPU_ARGS_SIZE(struct gelu_args, 40);
GPU_ARGS_SIZE(struct gelu_verify_args, 56);

enum { TIME, SHARE, ERROR, BYTES };
#define KEYS "rows,cols,type,impl,mode,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS, "one whole operation"},
    [SHARE] = {"share_of_copy", "ratio", PROBE_HIGHER, PROBE_EACH, NULL, KEYS,
               "time of a copy of the same tensor over the time of the operation"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, PROBE_EACH, NULL, KEYS,
               "relative Frobenius norm of the difference from float64"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, PROBE_EACH, NULL, KEYS,
               "bytes that one operation loads and stores, by count"},
};

enum implementation { MEMCPY, COPY, FUSED, UNFUSED, BIAS, GELU, SCALE, N_IMPLEMENTATIONS };
static const char *const implementation_name[] = {"memcpy", "copy", "fused", "unfused",
                                                  "bias",   "gelu", "scale"};
enum { STREAM_BYTES = 4 << 20, SETS_MAX = 32, SAMPLED = 4096, OPERATIONS = 16 };
static const float SCALE_BY = 1.25f;

struct tensors { /* a pool of `sets` tensors each, `stride` bytes from one to the next */
    char *in, *middle[2], *out, *bias;
    size_t bytes, stride, sets;
    int rows, cols;
};

struct kernels {
    cudaKernel_t of[2][N_IMPLEMENTATIONS], verify; /* [is_small][which]; MEMCPY and UNFUSED: none */
    struct gelu_verdict *verdict;
    cudaEvent_t start, stop;
};

/* One point of the sweep. */
struct point {
    enum implementation impl;
    bool graph, cold;
    double copy_ns; /* the better copy of this mode and cache state */
};

static struct kernels prepare(struct probe_run *r)
{
    struct kernels k = {.verdict = gpu_alloc(r, sizeof(struct gelu_verdict), "a verdict")};
    for (int i = COPY; i < N_IMPLEMENTATIONS; i++)
        for (int is_small = 0; is_small < 2 && i != UNFUSED; is_small++) {
            char name[64];
            snprintf(name, sizeof name, "bias_gelu_scale_%s%s", implementation_name[i],
                     is_small ? "_small" : "");
            k.of[is_small][i] =
                gpu_kernel(r, &image_bias_gelu_scale, name, sizeof(struct gelu_args));
        }
    k.verify = gpu_kernel(r, &image_bias_gelu_scale, "bias_gelu_scale_verify",
                          sizeof(struct gelu_verify_args));
    CUDA(cudaEventCreate(&k.start));
    CUDA(cudaEventCreate(&k.stop));
    return k;
}

static struct tensors tensors_of(struct probe_run *r, int rows, int cols)
{
    struct tensors t = {.rows = rows, .cols = cols, .bytes = 2 * (size_t)rows * (size_t)cols};
    size_t wanted = 3 * gpu_facts(r)->l2_bytes / (2 * t.bytes) + 1;

    t.sets = wanted > SETS_MAX ? SETS_MAX : wanted;
    t.stride = (t.bytes + 255) / 256 * 256;
    t.in = gpu_alloc(r, t.sets * t.stride, "the input");
    t.middle[0] = gpu_alloc(r, t.sets * t.stride, "an intermediate");
    t.middle[1] = gpu_alloc(r, t.sets * t.stride, "an intermediate");
    t.out = gpu_alloc(r, t.sets * t.stride, "the output");
    t.bias = gpu_alloc(r, 2 * (size_t)cols, "the bias");
    gpu_fill_normal(r, t.in, GPU_FP16, t.sets * t.stride / 2, probe_seed(r));
    gpu_fill_normal(r, t.bias, GPU_FP16, (size_t)cols, probe_seed(r) + 1);
    return t;
}

static void tensors_free(struct probe_run *r, const struct tensors *t)
{
    gpu_release(r, t->in);
    gpu_release(r, t->middle[0]);
    gpu_release(r, t->middle[1]);
    gpu_release(r, t->out);
    gpu_release(r, t->bias);
}

/* The small form where four vectors a thread would leave SMs without a block. */
static void launch(struct probe_run *r, const struct kernels *k, enum implementation which,
                   const struct tensors *t, const char *in, char *out)
{
    struct gelu_args a = {.in = in,
                          .out = out,
                          .bias = t->bias,
                          .vectors = t->bytes / 16,
                          .row_vectors = (uint32_t)t->cols / GELU_VECTOR,
                          .scale = SCALE_BY};
    bool is_small = a.vectors < (uint64_t)gpu_facts(r)->n_sm * GELU_THREADS * GELU_VECTORS;
    unsigned threads = is_small ? GELU_SMALL_THREADS : GELU_THREADS;
    uint64_t each = threads * (is_small ? 1 : GELU_VECTORS);
    gpu_launch(r, k->of[is_small][which], (unsigned)((a.vectors + each - 1) / each), threads, 0,
               &a);
}

/* One whole operation on one set of buffers. */
static void operate(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                    enum implementation impl, size_t set)
{
    char *in = t->in + set * t->stride, *out = t->out + set * t->stride;
    char *first = t->middle[0] + set * t->stride, *second = t->middle[1] + set * t->stride;

    switch (impl) {
    case MEMCPY:
        CUDA(cudaMemcpyAsync(out, in, t->bytes, cudaMemcpyDeviceToDevice, gpu_stream(r)));
        break;
    case UNFUSED:
        launch(r, k, BIAS, t, in, first);
        launch(r, k, GELU, t, first, second);
        launch(r, k, SCALE, t, second, out);
        break;
    default: launch(r, k, impl, t, in, out); break;
    }
}

static void operate_many(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                         const struct point *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        operate(r, k, t, p->impl, p->cold ? i % t->sets : 0);
}

/* --- is it right? ---------------------------------------------------------------------------- */

/* The same formula on the CPU, in double, at random places and at the ends. */
static void check_on_host(struct probe_run *r, const struct tensors *t, bool is_fused)
{
    uint16_t *in = probe_host_alloc(r, t->bytes), *out = probe_host_alloc(r, t->bytes);
    uint16_t *bias = probe_host_alloc(r, 2 * (size_t)t->cols);
    size_t n = t->bytes / 2, wrong = 0, all = n <= 1 << 20 ? n : SAMPLED;
    uint64_t state = probe_seed(r);

    gpu_to_host(r, in, t->in, t->bytes);
    gpu_to_host(r, out, t->out, t->bytes);
    gpu_to_host(r, bias, t->bias, 2 * (size_t)t->cols);
    for (size_t k = 0; k < all; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t i = all == n ? k : k < 2 ? k * (n - 1) : (size_t)(state >> 20) % n;
        double x = half_fp16(in[i]) + half_fp16(bias[i % (size_t)t->cols]);
        double u = 0.79788456080286536 * (x + 0.044715 * x * x * x);
        double reference = (double)SCALE_BY * 0.5 * x * (1 + tanh(u));
        double bound = HALF_FP16_UNIT *
                           (is_fused ? 1.01 * fabs(reference)
                                     : 1.13 * (double)SCALE_BY * fabs(x) + 2.02 * fabs(reference)) +
                       0x1p-23;
        wrong += !(fabs(half_fp16(out[i]) - reference) <= bound);
    }
    probe_check(r, wrong == 0, "%zu of %zu elements are as computed on the CPU in double",
                all - wrong, all);
    free(in);
    free(out);
    free(bias);
}

static double verify(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                     enum gelu_kind kind, const char *when)
{
    struct gelu_verdict verdict;
    struct gelu_verify_args a = {.in = t->in,
                                 .out = t->out,
                                 .bias = t->bias,
                                 .kind = kind,
                                 .verdict = k->verdict,
                                 .elements = t->bytes / 2,
                                 .cols = (uint32_t)t->cols,
                                 .scale = SCALE_BY};
    CUDA(cudaMemsetAsync(k->verdict, 0, sizeof verdict, gpu_stream(r)));
    gpu_launch(r, k->verify, (unsigned)gpu_facts(r)->n_sm * 4, 256, 0, &a);
    gpu_to_host(r, &verdict, k->verdict, sizeof verdict);
    probe_check(r, verdict.wrong == 0, "%s: %llu elements beyond the error bound", when,
                (unsigned long long)verdict.wrong);
    return sqrt(verdict.error_squared / verdict.reference_squared);
}

/* --- how long does it take? ------------------------------------------------------------------ */

static double stream_ns(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                        const struct point *p, size_t n)
{
    gpu_clock_start(r);

    CUDA(cudaEventRecord(k->start, gpu_stream(r)));
    operate_many(r, k, t, p, n);
    CUDA(cudaEventRecord(k->stop, gpu_stream(r)));

    gpu_clock_stop(r);
    return gpu_elapsed_ns(k->start, k->stop);
}

/* Too few bytes in all sets to be cold by rotation alone. */
static bool needs_sweep(struct probe_run *r, const struct tensors *t, bool cold)
{
    return cold && t->sets * 2 * t->bytes < 3 * gpu_facts(r)->l2_bytes;
}

static void sample(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                   const struct point *p)
{
    bool sweep = needs_sweep(r, t, p->cold);
    size_t least = t->bytes > (size_t)64 << 20 ? 1 : t->bytes > 8 << 20 ? 4 : OPERATIONS;
    size_t n = p->cold ? (least + t->sets - 1) / t->sets * t->sets : least;
    struct gpu_graph graph[2] = {0};

    for (size_t i = 0; p->graph && i < 2; i++) {
        gpu_graph_begin(r);
        operate_many(r, k, t, p, n << i);
        graph[i] = gpu_graph_end(r);
    }
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++) {
            if (sweep)
                gpu_sweep_l2(r);
            probe_sample(r, TIME, (double)(n << i),
                         p->graph ? gpu_replay_ns(r, &graph[i]) : stream_ns(r, k, t, p, n << i));
        }
    for (size_t i = 0; p->graph && i < 2; i++)
        gpu_graph_free(&graph[i]);
}

static size_t bytes_of(const struct tensors *t, enum implementation impl)
{
    size_t bias = 2 * (size_t)t->cols;
    bool reads_bias = impl == FUSED || impl == UNFUSED || impl == BIAS;
    return (impl == UNFUSED ? 6 : 2) * t->bytes + (reads_bias ? bias : 0);
}

/* Far above what the L2 holds: where bytes decide. */
static bool is_long(const struct tensors *t)
{
    return t->bytes >= 32 << 20;
}

static double measure_point(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                            struct point p)
{
    enum gelu_kind kind = p.impl == FUSED     ? GELU_FUSED
                          : p.impl == UNFUSED ? GELU_UNFUSED
                                              : GELU_COPY;
    bool whole = p.impl <= UNFUSED; /* the three kernels alone are verified as parts of unfused */
    bool streams = t->bytes >= STREAM_BYTES || needs_sweep(r, t, p.cold);
    if (!probe_case(r, streams ? PROBE_POWER_BOUND : 0,
                    "rows=%d,cols=%d,type=fp16,impl=%s,mode=%s,l2=%s", t->rows, t->cols,
                    implementation_name[p.impl], p.graph ? "graph" : "stream",
                    p.cold ? "cold" : "warm"))
        return NAN;

    gpu_poison(r, t->out, t->sets * t->stride);
    gpu_poison(r, t->middle[0], t->sets * t->stride);
    gpu_poison(r, t->middle[1], t->sets * t->stride);
    operate(r, k, t, p.impl, 0);
    if (whole)
        verify(r, k, t, kind, "before timing");
    if (kind != GELU_COPY && p.graph && probe_in_full(r))
        check_on_host(r, t, kind == GELU_FUSED);

    sample(r, k, t, &p);

    double ns = probe_median(r, TIME);
    if (whole) {
        double error = verify(r, k, t, kind, "after timing");
        if (kind != GELU_COPY)
            probe_value(r, ERROR, error);
    }
    if (p.impl > COPY && !isnan(ns))
        probe_value(r, SHARE, p.copy_ns / ns);
    if (p.graph)
        probe_value(r, BYTES, (double)bytes_of(t, p.impl));
    return ns;
}

/* All implementations in one mode and cache state, the copies first. */
static void measure_all(struct probe_run *r, const struct kernels *k, const struct tensors *t,
                        bool graph, bool cold)
{
    struct point p = {.graph = graph, .cold = cold, .copy_ns = INFINITY};
    for (p.impl = 0; p.impl < N_IMPLEMENTATIONS; p.impl++) {
        if (p.impl >= BIAS && !(graph && cold && is_long(t)))
            continue; /* the single kernels: where bytes decide */
        double ns = measure_point(r, k, t, p);
        if (p.impl <= COPY)
            p.copy_ns = fmin(p.copy_ns, ns);
    }
}

static void measure_size(struct probe_run *r, const struct kernels *k, int rows, int cols)
{
    struct tensors t = tensors_of(r, rows, cols);
    bool can_be_warm = 2 * t.bytes < 3 * gpu_facts(r)->l2_bytes;

    for (int graph = 1; graph >= 0; graph--)
        for (int cold = can_be_warm ? 0 : 1; cold <= 1; cold++)
            measure_all(r, k, &t, graph, cold);
    tensors_free(r, &t);
}

static void measure(struct probe_run *r)
{
    static const int sizes[][2] = {{1, 4096}, {1024, 4096}, {4096, 4096}, {16384, 8192}};
    static const int odd[][2] = {{1, 8}, {7, 64}, {129, 1024}, {1001, 8192}};
    struct kernels k = prepare(r);

    for (size_t i = 0; i < PROBE_LENGTH(sizes); i++)
        measure_size(r, &k, sizes[i][0], sizes[i][1]);
    for (size_t i = 0; probe_checking(r) && i < PROBE_LENGTH(odd); i++)
        measure_size(r, &k, odd[i][0], odd[i][1]);
}

const struct probe probe = {
    .name = "bias_gelu_scale",
    .what = "What does it save to compute scale * gelu(x + bias) in one kernel, not three?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
