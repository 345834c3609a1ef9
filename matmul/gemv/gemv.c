/* gemv: how close does a layer at batch 1, a matrix-vector product, come to a read of its weights?
 *
 * Method. y = W x, with W row-major (a dot product runs along memory, as in PyTorch's Linear), all
 * in bf16 from N(0,1), sums in fp32. The matrices are those of Llama 3 1B, 8B and 70B. They are
 * multiplied by our own kernel (gemv.cu), and by cuBLAS with its own choice of kernel, asked for a
 * product of one column (cublas_gemm) or for a matrix-vector product (cublas_gemv). The time of a
 * product is the slope over graphs of n and 2n of them: it includes the edge to the next one, and
 * nothing of the replay. The denominator of share_of_read is a kernel that reads the same bytes
 * from the same sets, in the same process and in the same kind of graph, so that it has the same
 * edge.
 *     l2=cold  rotates over sets of weights: at least 512 MiB and 3 x the L2 pass before one set
 *              comes again. x stays in the L2, because what runs before a layer has just written it
 *     l2=warm  the same weights again and again, where they are smaller than the L2
 * one_warp is a product starved of warps, the negative control of claim C14. own_1_warp and
 * own_8_warps are our kernel with so many warps a block, at 2048 x 2048, where its own choice is 2:
 * do more warps make a short product faster? Eight have the same loads in flight together as two,
 * one has half of them.
 *
 * Every output of every timed set is poisoned with NaN and afterwards compared with fp64 on the
 * GPU; 64 rows of set 0 are compared with fp64 on the CPU. Before the timing a read returns the sum
 * of what it read, which is checked. While timed, it adds up and drops the sum.
 *
 * Inside the timed region: one graph replay between two events.
 * Expected on an H200: 117 MB (14336 x 4096, and 4096 x 14336) in 27.7 us, where a read takes 26.9
 * us and cuBLAS 30 to 31; 34 MB in 9.2 us, where a read takes 8.6 us and cuBLAS 12 to 13. A product
 * takes 0.6 us (8 MB) to 1.3 us (470 MB) longer than a read; where this time goes was not measured.
 *
 * Traps. A short read does not measure the memory: 8 MiB come at 2.7 TB/s, 1 GiB at 4.6 TB/s. So
 * both denominators are needed. Hints to evict weights first could leave older sets in the L2 until
 * their turn; they gained nothing and are not used. Loads that are together in the source are not
 * always in flight together: without a number of blocks in __launch_bounds__ the assembler saves
 * registers, and waits after three of twelve loads (tests/kernels checks this). */
#include "matmul/gemv/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "core/draw.h"
#include "core/gpu.h"
#include "core/half.h"

PROBE_IMAGE(gemv);

enum { TIME, RATE, SHARE, ERROR, READ };
#define KEYS "m,k,type,acc,impl,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = KEYS,
        .what = "one product, edge included"},
    [RATE] = {"rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = KEYS,
        .what = "bytes of weights, x and y over that time"},
    [SHARE] = {"share_of_read", "ratio", PROBE_HIGHER, .keys = KEYS,
        .what = "that rate over the rate of a read of the weights in the same way"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "relative Frobenius norm of the difference from float64"},
    [READ] = {"read", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "bytes,path,l2",
        .what = "so many bytes read and added up, nothing else; edge included"},
};

enum {
    MIB = 1 << 20,
    SAMPLED = 62, /* random rows that the CPU checks, besides the first and the last */
    SETS_MAX = 256,
    READS_MAX = 16,
    PIECE = 16 * READ_LOADS * READ_THREADS, /* bytes that one block reads */
    LONGEST = 1 << 16,
    WORKSPACE = 32 << 20,
    GAP = 20480,     /* bytes between two sets of weights */
    X_MAX = 1 << 16, /* elements */
};
static const size_t ROOM = (size_t)1280 * MIB;
static const double GRAPH_BYTES = 512.0 * MIB; /* least bytes of weights in the shorter graph */
static const double BF16_ERROR = 4e-3;

/* --- what is measured ------------------------------------------------------------------------ */

enum implementation { OWN, CUBLAS, CUBLAS_GEMV, ONE_WARP, OWN_OF_1, OWN_OF_8 };
static const char *const names[] = {"own",      "cublas_gemm", "cublas_gemv",
                                    "one_warp", "own_1_warp",  "own_8_warps"};

/* The layers of Llama 3: rows are outputs. */
struct layer {
    int m, k;
    unsigned flags;
};
static const struct layer layers[] = {
    {2048, 8192, 0},           /* 1B: down */
    {16384, 2048, 0},          /* gate and up */
    {3072, 2048, PROBE_DEEP},  /* q, k, v */
    {2048, 2048, 0},           /* o */
    {4096, 4096, 0},           /* 8B: o */
    {6144, 4096, 0},           /* q, k, v */
    {14336, 4096, 0},          /* gate, or up */
    {28672, 4096, PROBE_DEEP}, /* both */
    {4096, 14336, 0},          /* down */
    {8192, 8192, 0},           /* 70B: o */
    {10240, 8192, PROBE_DEEP}, /* q, k, v */
    {28672, 8192, PROBE_DEEP}, /* gate, or up */
    {8192, 28672, 0},          /* down */
    {LONGEST, 8192, 0},        /* 1 GiB, only read: the sustained rate */
};

struct matrix {
    int m, k;
    size_t bytes, step; /* of one set of weights; from one set to the next */
    size_t sets;
    char *y; /* sets, y_step bytes apart */
    size_t y_step;
    uint32_t rows[SAMPLED + 2];                           /* that the CPU checks */
    double reference[SAMPLED + 2], absolute[SAMPLED + 2]; /* sum w x, sum |w x| */
    size_t n_rows;
};

struct gemv {
    struct blas *blas;
    char no_blas[256];
    void *workspace;
    cudaKernel_t own, one_warp, read, verify, sum;
    char *weights; /* `room` bytes, for all matrices */
    size_t room;
    char *x;
    uint32_t *sums, *total;
    struct {
        size_t bytes;
        double rate; /* bytes/s */
    } reads[READS_MAX];
    size_t n_reads;
};

static struct gemv prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    struct gemv g = {.room = probe_is_check_run(r) ? 16 * MIB : ROOM};

    while (g.room > gpu->free_bytes / 2)
        g.room /= 2;
    g.own = gpu_kernel(r, &image_gemv, "gemv_own", sizeof(struct gemv_args));
    g.one_warp = gpu_kernel(r, &image_gemv, "gemv_one_warp", sizeof(struct gemv_args));
    g.read = gpu_kernel(r, &image_gemv, "gemv_read", sizeof(struct gemv_read_args));
    g.verify = gpu_kernel(r, &image_gemv, "gemv_verify", sizeof(struct gemv_verify_args));
    g.sum = gpu_kernel(r, &image_gemv, "gemv_sum", sizeof(struct gemv_sum_args));
    g.blas = blas_open(r, g.no_blas, sizeof g.no_blas);
    g.workspace = gpu_alloc(r, WORKSPACE, "cuBLAS's workspace");
    g.weights = gpu_alloc(r, g.room + PIECE, "the weights");
    gpu_fill_normal(r, g.weights, GPU_BF16, (g.room + PIECE) / 2, probe_seed(r));
    g.x = gpu_alloc(r, 2 * X_MAX, "x");
    gpu_fill_normal(r, g.x, GPU_BF16, X_MAX, probe_seed(r) + 1);
    g.sums = gpu_alloc(r, (g.room / PIECE + 1) * sizeof *g.sums, "sums of a read");
    g.total = gpu_alloc(r, sizeof *g.total, "a sum");
    return g;
}

/* --- the matrix and its reference ------------------------------------------------------------ */

/* Rows that the CPU checks: random ones, the first and the last. */
static void reference_on_host(struct probe_run *r, const struct gemv *g, struct matrix *m)
{
    size_t row_bytes = 2 * (size_t)m->k;
    uint16_t *w = probe_host_alloc(r, row_bytes), *x = probe_host_alloc(r, row_bytes);
    uint64_t state = probe_seed(r);

    gpu_to_host(r, x, g->x, row_bytes);
    m->n_rows = SAMPLED + 2;
    for (size_t i = 0; i < m->n_rows; i++) {
        m->rows[i] = i < SAMPLED ? (uint32_t)draw_below(&state, (uint64_t)m->m)
                                 : (uint32_t)((i - SAMPLED) * ((size_t)m->m - 1));
        gpu_to_host(r, w, g->weights + m->rows[i] * row_bytes, row_bytes);
        for (int k = 0; k < m->k; k++) {
            double product = half_bf16(w[k]) * half_bf16(x[k]);
            m->reference[i] += product;
            m->absolute[i] += fabs(product);
        }
    }
    free(w);
    free(x);
}

/* As many sets of weights as fit, all with the same x: what wrote x has just left it in the L2. */
static struct matrix matrix_of(struct probe_run *r, const struct gemv *g, int rows, int columns)
{
    struct matrix m = {.m = rows,
                       .k = columns,
                       .bytes = 2 * (size_t)rows * (size_t)columns,
                       .y_step = (2 * (size_t)rows + 255) / 256 * 256};

    m.step = (m.bytes + 255) / 256 * 256 + GAP;
    m.sets = (g->room + GAP) / m.step; /* the last one needs no gap */
    m.sets = m.sets > SETS_MAX ? SETS_MAX : m.sets;
    if (m.sets == 0)
        return m;
    m.y = gpu_alloc(r, m.sets * m.y_step, "y");
    if (probe_in_full(r))
        reference_on_host(r, g, &m);
    return m;
}

/* --- is it right? ---------------------------------------------------------------------------- */

/* The error allowed to a sum accumulated in fp32 and rounded once to bf16. */
static double bound_of(double reference, double absolute, int k)
{
    return 2 * HALF_BF16_UNIT * fabs(reference) + 8 * sqrt(k) * 0x1p-24 * absolute + 0x1p-25;
}

static void check_on_host(struct probe_run *r, const struct matrix *m)
{
    uint16_t *y = probe_host_alloc(r, m->y_step);
    size_t wrong = 0;

    gpu_to_host(r, y, m->y, 2 * (size_t)m->m);
    for (size_t i = 0; i < m->n_rows; i++) {
        double bound = bound_of(m->reference[i], m->absolute[i], m->k);
        wrong += !(fabs(half_bf16(y[m->rows[i]]) - m->reference[i]) <= bound);
    }
    probe_require(r, wrong == 0, "%zu of %zu outputs are as computed on the CPU in double",
                  m->n_rows - wrong, m->n_rows);
    free(y);
}

/* Compares all outputs of the first sets with fp64 on the GPU. Returns the relative error. */
static double verify(struct probe_run *r, const struct gemv *g, const struct matrix *m, size_t sets,
                     const char *when)
{
    const struct gemv_verify_args a = {.weights = g->weights,
                                       .x = g->x,
                                       .y = m->y,
                                       .weights_step = m->step,
                                       .y_step = m->y_step,
                                       .verdict = verdict_clear(r),
                                       .rows = (uint32_t)m->m,
                                       .vectors = (uint32_t)m->k / GEMV_VECTOR};
    const dim3 grid = {(a.rows + VERIFY_WARPS - 1) / VERIFY_WARPS, (unsigned)sets, 1};

    gpu_launch_grid(r, g->verify, grid, 32 * VERIFY_WARPS, 0, &a);
    const struct verdict verdict = verdict_fetch(r);
    const double error = verdict_error(&verdict);
    probe_require(r, verdict.wrong == 0, "%s: %llu outputs beyond the error bound", when,
                  (unsigned long long)verdict.wrong);
    probe_require(r, error < BF16_ERROR, "%s: relative error %.2g", when, error);
    return error;
}

/* --- a product ------------------------------------------------------------------------------- */

static unsigned threads_of(uint32_t vectors)
{
    return gpu_even_threads(vectors, GEMV_LOADS, GEMV_THREADS);
}

static void multiply(struct probe_run *r, const struct gemv *g, const struct matrix *m,
                     enum implementation impl, size_t set)
{
    const char *w = g->weights + set * m->step;
    char *y = m->y + set * m->y_step;
    const struct gemv_args a = {.weights = w,
                                .x = g->x,
                                .y = y,
                                .rows = (uint32_t)m->m,
                                .vectors = (uint32_t)m->k / GEMV_VECTOR};

    if (impl == CUBLAS) {
        const struct blas_gemm gemm = {.type = BLAS_BF16,
                                       .layout = "nt", /* y^T = x^T W^T */
                                       .m = 1,
                                       .n = m->m,
                                       .k = m->k,
                                       .a = g->x,
                                       .b = w,
                                       .c = y,
                                       .workspace = g->workspace,
                                       .workspace_bytes = WORKSPACE,
                                       .stream = gpu_stream(r)};
        blas_gemm(r, g->blas, &gemm);
    } else if (impl == CUBLAS_GEMV) {
        const struct blas_gemv gemv = {.type = BLAS_BF16,
                                       .rows = m->m,
                                       .columns = m->k,
                                       .a = w,
                                       .x = g->x,
                                       .y = y,
                                       .stream = gpu_stream(r)};
        blas_gemv(r, g->blas, &gemv);
    } else if (impl == ONE_WARP) {
        gpu_launch(r, g->one_warp, (unsigned)gpu_facts(r)->n_sm, 32, 0, &a);
    } else {
        const unsigned threads = impl == OWN_OF_1   ? 32
                                 : impl == OWN_OF_8 ? GEMV_THREADS
                                                    : threads_of(a.vectors);
        gpu_launch(r, g->own, (a.rows + GEMV_ROWS - 1) / GEMV_ROWS, threads, 0, &a);
    }
}

/* Launches in the shorter graph. */
static size_t launches(const struct probe_run *r, const struct matrix *m)
{
    double n = ceil(GRAPH_BYTES / (double)m->bytes);
    if (probe_is_check_run(r))
        return 2;
    return n < 4 ? 4 : n > SETS_MAX ? SETS_MAX : (size_t)n;
}

/* Has all of a set left the L2 when its turn comes again? */
static bool is_cold(struct probe_run *r, const struct matrix *m)
{
    size_t n = launches(r, m) < m->sets ? launches(r, m) : m->sets;
    return n * m->bytes >= 3 * gpu_facts(r)->l2_bytes;
}

static void sample_products(struct probe_run *r, const struct gemv *g, const struct matrix *m,
                            enum implementation impl, size_t sets)
{
    size_t n = launches(r, m);
    double bytes = (double)m->bytes + 2.0 * m->k + 2.0 * m->m;
    struct gpu_graph graph[2];

    for (size_t i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (size_t k = 0; k < n << i; k++)
            multiply(r, g, m, impl, k % sets);
        graph[i] = gpu_graph_end(r);
    }
    struct gpu_node node = gpu_graph_first_kernel(r, &graph[0]);
    probe_fact(r, "kernel", "%s", node.kernel);
    probe_fact(r, "blocks", "%u", node.blocks);
    probe_fact(r, "threads", "%u", node.threads);
    gpu_poison(r, m->y, m->sets * m->y_step);
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++) {
            double ns = gpu_replay_ns(r, &graph[i]);
            probe_sample(r, TIME, (double)(n << i), ns);
            probe_sample(r, RATE, (double)(n << i) * bytes, ns);
        }
    for (size_t i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

/* --- a plain read ----------------------------------------------------------------------------- */

/* Bytes in whole pieces. If a matrix does not end with a piece, the last one reaches beyond it, and
 * the case's bytes include that. */
static size_t read_bytes(const struct matrix *m)
{
    return (m->bytes + PIECE - 1) / PIECE * PIECE;
}

static void read_set(struct probe_run *r, const struct gemv *g, const struct matrix *m, size_t set,
                     uint32_t *sums)
{
    const struct gemv_read_args a = {.in = g->weights + set * m->step, .sums = sums};
    gpu_launch(r, g->read, (unsigned)(read_bytes(m) / PIECE), READ_THREADS, 0, &a);
}

/* The sum of the words that a read returns must be the sum that a plain kernel finds and, where
 * there is not too much to copy, the host's. */
static void check_read(struct probe_run *r, const struct gemv *g, const struct matrix *m)
{
    size_t bytes = read_bytes(m), blocks = bytes / PIECE;
    const struct gemv_sum_args a = {.in = g->weights, .vectors = bytes / 16, .sum = g->total};
    bool by_host_too = bytes <= 16 * MIB;
    uint32_t *words = probe_host_alloc(r, by_host_too ? bytes : blocks * sizeof *words);
    uint32_t sum = 0, plain, by_host = 0;

    read_set(r, g, m, 0, g->sums);
    gpu_to_host(r, words, g->sums, blocks * sizeof *words);
    for (size_t i = 0; i < blocks; i++)
        sum += words[i];
    CUDA(cudaMemsetAsync(g->total, 0, sizeof plain, gpu_stream(r)));
    gpu_launch(r, g->sum, (unsigned)gpu_facts(r)->n_sm * 4, 512, 0, &a);
    gpu_to_host(r, &plain, g->total, sizeof plain);
    probe_require(r, sum == plain, "the words add up to %08x, must be %08x", sum, plain);
    if (by_host_too) {
        gpu_to_host(r, words, a.in, bytes);
        for (size_t i = 0; i < bytes / sizeof *words; i++)
            by_host += words[i];
        probe_require(r, by_host == plain, "host and GPU agree on the sum of %zu bytes", bytes);
    }
    free(words);
}

/* The measured rate of a read of this many bytes; NaN where it was not measured. */
static double read_rate(const struct gemv *g, size_t bytes)
{
    for (size_t i = 0; i < g->n_reads; i++)
        if (g->reads[i].bytes == bytes)
            return g->reads[i].rate;
    return NAN;
}

static void measure_read(struct probe_run *r, struct gemv *g, const struct matrix *m,
                         unsigned flags)
{
    size_t n = launches(r, m), bytes = read_bytes(m);
    struct gpu_graph graph[2];

    if (!isnan(read_rate(g, bytes)) || /* of a matrix with as many bytes */
        !probe_begin_case(r, flags | PROBE_POWER_BOUND, "bytes=%zu,path=ld,l2=cold", bytes))
        return;
    check_read(r, g, m);
    for (size_t i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (size_t k = 0; k < n << i; k++)
            read_set(r, g, m, k % m->sets, NULL);
        graph[i] = gpu_graph_end(r);
    }
    gpu_sample_graphs(r, READ, (double)n * (double)bytes, graph);
    for (size_t i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
    /* The largest reach 0.95 of it: left out, 5 % show here, and less in the sums of
     * check_read(). */
    gpu_require_below_pins(r, READ, 1);

    double rate = probe_median(r, READ);
    if (isnan(rate) || g->n_reads == READS_MAX)
        return;
    g->reads[g->n_reads].bytes = bytes;
    g->reads[g->n_reads++].rate = rate;
}

/* With one set of weights, or with as many as there are. */
static void measure_product(struct probe_run *r, const struct gemv *g, const struct matrix *m,
                            enum implementation impl, bool cold, unsigned flags)
{
    size_t sets = cold ? m->sets : 1, used = 2 * launches(r, m) < sets ? 2 * launches(r, m) : sets;

    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND,
                          "m=%d,k=%d,type=bf16,acc=fp32,impl=%s,l2=%s", m->m, m->k, names[impl],
                          cold ? "cold" : "warm"))
        return;
    if (!g->blas && (impl == CUBLAS || impl == CUBLAS_GEMV)) {
        probe_missing(r, TIME, g->no_blas);
        return;
    }
    gpu_poison(r, m->y, m->sets * m->y_step);
    multiply(r, g, m, impl, 0);
    verify(r, g, m, 1, "before timing");
    if (m->n_rows)
        check_on_host(r, m);

    sample_products(r, g, m, impl, sets);

    probe_value(r, ERROR, verify(r, g, m, used, "after timing"));
    double rate = probe_median(r, RATE), read = read_rate(g, read_bytes(m));
    if (cold && !isnan(rate) && !isnan(read))
        probe_value(r, SHARE, rate / read);
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Leaves out a layer if memory holds too few sets of it to be cold. */
static bool measure_layer(struct probe_run *r, struct gemv *g, const struct layer *l)
{
    struct matrix m = matrix_of(r, g, l->m, l->k);
    bool is_control = l->m == 4096 && l->k == 4096, is_short = l->m == 2048 && l->k == 2048;

    if (!is_cold(r, &m) && !probe_is_check_run(r)) {
        gpu_release(r, m.y);
        return false;
    }
    measure_read(r, g, &m, l->flags);
    if (l->m != LONGEST) {
        measure_product(r, g, &m, OWN, true, l->flags);
        measure_product(r, g, &m, CUBLAS, true, l->flags);
        measure_product(r, g, &m, CUBLAS_GEMV, true, l->flags | PROBE_DEEP);
        if (is_control || probe_is_check_run(r))
            measure_product(r, g, &m, ONE_WARP, true, l->flags);
        if (is_short || probe_is_check_run(r)) {
            measure_product(r, g, &m, OWN_OF_1, true, l->flags);
            measure_product(r, g, &m, OWN_OF_8, true, l->flags);
        }
        if (m.bytes < gpu_facts(r)->l2_bytes)
            measure_product(r, g, &m, OWN, false, l->flags | PROBE_THRICE); /* beside cold ones */
    }
    gpu_release(r, m.y);
    return true;
}

static void measure_asked(struct probe_run *r, struct gemv *g, struct layer l)
{
    if (l.k % GEMV_VECTOR || !l.m || !l.k)
        probe_usage(r, "%d x %d: both must be given, and k be a multiple of %d, which is 16 bytes",
                    l.m, l.k, GEMV_VECTOR);
    if (!measure_layer(r, g, &l))
        probe_usage(r, "%d x %d: %d sets, or as many as fit into %zu bytes, must be 3 x the L2",
                    l.m, l.k, SETS_MAX, g->room);
}

static void measure(struct probe_run *r)
{
    static const struct layer odd[] = {{1, 8, 0},       {3, 40, 0},      {33, 1016, 0},
                                       {129, 2056, 0},  {1000, 4104, 0}, {17, 28680, 0},
                                       {2048, 2048, 0}, {7, 14336, 0}};
    const struct layer asked = {(int)probe_parameter(r, "m"), (int)probe_parameter(r, "k"), 0};
    struct gemv g = prepare(r);

    if (asked.m || asked.k) {
        measure_asked(r, &g, asked);
        return;
    }
    for (size_t i = 0; probe_is_check_run(r) && i < PROBE_LENGTH(odd); i++)
        measure_layer(r, &g, &odd[i]);
    for (size_t i = 0; !probe_is_check_run(r) && i < PROBE_LENGTH(layers); i++)
        if (!(layers[i].flags & PROBE_DEEP) || probe_deep(r))
            measure_layer(r, &g, &layers[i]);
}

static const struct probe_parameter parameters[] = {
    {.name = "m", .max = 1 << 20,
     .what = "rows of a matrix, to be measured instead of all others, with k"},
    {.name = "k", .max = X_MAX,
     .what = "its columns, a multiple of 8"},
};

const struct probe probe = {
    .name = "gemv",
    .what = "How near does a matrix times a vector come to a mere read of the weights?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
