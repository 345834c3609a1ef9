/* transpose: what does it cost to transpose a matrix in memory, and is it ever necessary?
 *
 * Method. A matrix of 8192 x 8192, with rows `ld` elements apart in input and output, goes through
 * device memory once. impl=
 *     memcpy   cudaMemcpyAsync of the same number of bytes in one piece
 *     copy     our own kernel, row by row, 16-byte loads and stores
 *     read     its reading half alone
 *     naive    transposed, neighbouring lanes writing a row apart
 *     padded   by tiles of 32 x 32 in shared memory, with padded rows
 *     vector   by tiles of 16 x 16 squares of 16-byte vectors; every access is of 16 bytes
 * share_of_copy is the time of the better of the two copies divided by the time of this one. Two
 * matrices take turns. The products are cuBLAS's, fp16: both operands stored as the product has
 * them (nn), A stored transposed (tn), B stored transposed (nt), and A stored transposed and first
 * transposed back by our vector kernel (after). The sets of operands that take turns fill the L2
 * three times, so that operands come from device memory. m=1 is one token times a weight matrix
 * that is far larger than the L2.
 *
 * Inside the timed region: events around a number of passes, or one and two products; slope. The
 * layouts of a product are sampled in turn: a product runs at the board's power limit, and this way
 * all layouts meet the same clock. Every element of a transposed matrix is compared with its source
 * before and after the timing, and the bytes between the rows must be unchanged; the comparison
 * must also detect a poisoned matrix. Products: 512 random outputs against float64 on the CPU,
 * before and after.
 * Expected on an H200: 130 us for the copy's 537 MB, 5 to 17 % more by tiles, eight times as much
 * by naive; products within 5 % of each other.
 *
 * Traps. If rows do not begin on a line of 128 bytes (ld=8200), tiles touch more lines than they
 * fill. */
#include "probes/transpose/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "core/draw.h"
#include "core/gpu.h"
#include "core/half.h"

PROBE_IMAGE(transpose);
PROBE_IMAGE(transpose_lines);

enum { PASS_TIME, SHARE, NN, TN, NT, AFTER };
static const struct probe_metric metrics[] = {
    [PASS_TIME] = {"pass_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "rows,columns,ld,type,impl", .what = "a matrix copied, read or transposed"},
    [SHARE] = {"share_of_copy", "ratio", PROBE_HIGHER, .keys = "rows,columns,ld,type,impl",
        .what = "the better copy's time over this one's"},
    [NN] = {"product_nn", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "m,n,k,type,l2", .what = "cuBLAS, both operands stored as the product has them"},
    [TN] = {"product_tn", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "m,n,k,type,l2", .what = "the same, A stored transposed"},
    [NT] = {"product_nt", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "m,n,k,type,l2", .what = "the same, B stored transposed"},
    [AFTER] = {"product_after", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "m,n,k,type,l2", .what = "A stored transposed, and first turned by our kernel"},
};

enum {
    MATRIX = 8192,
    MATRICES = 2,
    PASSES = 2,
    GAP = (3 << 20) + 4352, /* between matrices, so that their distance is no power of two */
    MOST_SETS = 8,
    ROWS_CHECKED = 512,
    WORKSPACE = 32 << 20,
    SAMPLED = 512,
};

/* When a case runs: in every round, in the first and last, or with --deep. --check has
 * everything. */
enum show { ALWAYS, ONCE, DEEP };

static unsigned flags_of(const struct probe_run *r, enum show show)
{
    static const unsigned flags[] = {0, PROBE_THRICE, PROBE_DEEP};
    return PROBE_POWER_BOUND | (probe_is_check_run(r) ? 0 : flags[show]);
}

/* --- a matrix through memory ------------------------------------------------------------------ */

struct matrix {
    enum gpu_type type;
    uint32_t edge, ld; /* square; elements from row to row, of both sides */
    char *in, *out;    /* n of them, `bytes` apart, take turns */
    size_t bytes;
    uint32_t n, *check;
};

/* One of our kernels, ready to go; none for memcpy. */
struct way {
    const char *impl;
    cudaKernel_t kernel;
    dim3 grid;
    struct transpose_args args; /* complete but for the matrix and the place of a check's count */
};

/* "copy", "read", "differ" go by rows of 16 bytes, the others by type. */
static struct way way_of(struct probe_run *r, const struct matrix *m, const char *impl)
{
    char name[40];
    bool by_rows = strcspn(impl, "crd") == 0, checks = strcspn(impl, "wd") == 0;
    uint32_t vector = 16 / (uint32_t)gpu_type_size(m->type), unit = by_rows ? vector : 1;
    uint32_t tile = *impl == 'v' ? 16 * vector : 32;
    struct way w = {.impl = impl,
                    .grid = {m->edge / tile, m->edge / tile, 1},
                    .args = {.rows = m->edge,
                             .columns = m->edge / unit,
                             .ld_in = m->ld / unit,
                             .ld_out = m->ld / unit}};
    if (by_rows)
        w.grid = (dim3){(w.args.columns + 1023) / 1024, m->edge, 1};
    if (checks)
        w.grid = (dim3){(unsigned)gpu_facts(r)->n_sm * 8, 1, 1};
    snprintf(name, sizeof name, "transpose_%s_%s", impl, by_rows ? "rows" : gpu_type_name(m->type));
    if (strcmp(impl, "memcpy"))
        w.kernel = gpu_kernel(r, &image_transpose, name, sizeof w.args);
    return w;
}

static void pass(struct probe_run *r, const struct matrix *m, const struct way *w, uint32_t which)
{
    size_t bytes = m->edge * (size_t)m->edge * gpu_type_size(m->type);
    struct transpose_args a = w->args;
    a.in = m->in + which * m->bytes;
    a.out = m->out + which * m->bytes;
    if (w->kernel)
        gpu_launch_grid(r, w->kernel, w->grid, 256, 0, &a);
    else
        CUDA(cudaMemcpyAsync(a.out, a.in, bytes, cudaMemcpyDeviceToDevice, gpu_stream(r)));
}

/* The value that a kernel leaves in *check, which was 0. */
static uint32_t left_by(struct probe_run *r, const struct matrix *m, const struct way *w)
{
    struct way checking = *w;
    uint32_t found;
    checking.args.check = m->check;
    CUDA(cudaMemsetAsync(m->check, 0, sizeof found, gpu_stream(r)));
    pass(r, m, &checking, 0);
    gpu_to_host(r, &found, m->check, sizeof found);
    return found;
}

/* Some rows of matrix 0 without the gaps between them: their words XORed, as read and as computed
 * here. */
static void check_read(struct probe_run *r, const struct matrix *m, struct way w)
{
    size_t size = gpu_type_size(m->type), row = m->ld * size / 4, n = m->edge * size / 4;
    uint32_t *host = probe_host_alloc(r, ROWS_CHECKED * row * 4), sum = 0;

    w.grid.y = ROWS_CHECKED;
    uint32_t found = left_by(r, m, &w);
    gpu_to_host(r, host, m->in, ROWS_CHECKED * row * 4);
    for (size_t y = 0; y < ROWS_CHECKED; y++)
        for (size_t x = 0; x < n; x++)
            sum ^= host[y * row + x];
    probe_require(r, found == sum, "read: words XOR to %08x, as on the host (%08x)", found, sum);
    free(host);
}

static void check_pass(struct probe_run *r, const struct matrix *m, const struct way *w)
{
    bool copies = !strcmp(w->impl, "copy");
    uint32_t vector = 16 / (uint32_t)gpu_type_size(m->type);
    uint32_t all = m->edge * m->edge / (copies ? vector : 1);
    struct way judge = way_of(r, m, copies ? "differ" : "wrong");

    if (!strcmp(w->impl, "read"))
        check_read(r, m, *w);
    if (!strcmp(w->impl, "read") || !w->kernel)
        return;
    gpu_poison(r, m->out, m->bytes);
    uint32_t seen = left_by(r, m, &judge);
    pass(r, m, w, 0);
    uint32_t amiss = left_by(r, m, &judge);
    probe_require(r, amiss == 0 && seen == all,
                  "%s: %u elements wrong of %u; of a poisoned matrix %u", w->impl, amiss, all,
                  seen);
}

/* Returns the median time, for the share. */
static double measure_pass(struct probe_run *r, const struct matrix *m, enum show show,
                           const char *impl, double copy_ns)
{
    uint32_t which = 0;
    if (!probe_begin_case(r, flags_of(r, show), "rows=%u,columns=%u,ld=%u,type=%s,impl=%s", m->edge,
                          m->edge, m->ld, gpu_type_name(m->type), impl))
        return NAN;
    struct way w = way_of(r, m, impl);
    check_pass(r, m, &w);
    while (probe_more(r))
        for (int n = PASSES; n <= 2 * PASSES; n += PASSES) {
            gpu_time_start(r);
            for (int i = 0; i < n; i++)
                pass(r, m, &w, which++ % m->n);
            probe_sample(r, PASS_TIME, n, gpu_time_stop(r).ns);
        }
    double ns = probe_median(r, PASS_TIME);
    if (!isnan(copy_ns))
        probe_value(r, SHARE, copy_ns / ns);
    check_pass(r, m, &w);
    return ns;
}

static void measure_matrix(struct probe_run *r, enum gpu_type type, uint32_t gap, enum show show)
{
    static const char *const impls[] = {"vector", "padded", "read", "naive"};
    size_t size = gpu_type_size(type);
    struct matrix m = {.type = type, .edge = probe_is_check_run(r) ? 1024 : MATRIX, .n = MATRICES};

    if (!probe_is_due(r, flags_of(r, show)))
        return;
    m.ld = m.edge + gap;
    m.bytes = (m.edge * (size_t)m.ld * size + GAP) / 256 * 256;
    m.in = gpu_alloc(r, 2 * m.n * m.bytes, "the matrices");
    m.out = m.in + m.n * m.bytes;
    m.check = gpu_alloc(r, sizeof *m.check, "a count");
    gpu_fill_normal(r, m.in, type, m.n * m.bytes / size, probe_seed(r));
    double copy_ns = measure_pass(r, &m, show, "memcpy", NAN);
    copy_ns = fmin(copy_ns, measure_pass(r, &m, show, "copy", NAN));
    for (size_t i = 0; i < PROBE_LENGTH(impls); i++) {
        bool slow = !strcmp(impls[i], "naive");
        measure_pass(r, &m, show == ALWAYS && slow ? ONCE : show, impls[i], copy_ns);
    }
    gpu_release(r, m.in);
    gpu_release(r, m.check);
}

/* --- a product that takes it as it is --------------------------------------------------------- */

/* The matrix stored as the product has it and the one stored transposed are different matrices, so
 * that a product with the wrong one does not pass. */
struct operands {
    char *a[2], *b[2], *c;
    char *turned; /* output of a transpose before the product */
};

struct product {
    const struct blas *blas;
    int m, n, k;
    struct operands set[MOST_SETS]; /* take turns */
    unsigned n_sets, last;          /* the one that was used last */
    char *workspace;
    struct way turn; /* of a matrix of k x k */
};

/* Uses the next set of operands. */
static void multiply(struct probe_run *r, struct product *p, int layout)
{
    bool turn_a = layout == TN, turn_b = layout == NT;
    p->last = (p->last + 1) % p->n_sets;
    const struct operands *set = &p->set[p->last];
    struct blas_gemm gemm = {.type = BLAS_FP16,
                             .layout = {turn_a ? 't' : 'n', turn_b ? 't' : 'n', 0},
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = layout == AFTER ? set->turned : set->a[turn_a],
                             .b = set->b[turn_b],
                             .c = set->c,
                             .workspace = p->workspace,
                             .workspace_bytes = WORKSPACE,
                             .stream = gpu_stream(r)};
    const struct matrix m = {.in = set->a[1], .out = set->turned};
    if (layout == AFTER)
        pass(r, &m, &p->turn, 0);
    blas_gemm(r, p->blas, &gemm);
}

/* Lines of a matrix, one behind the other. The GPU gathers them: whole, a B of 16384 x 16384
 * takes new pages of the host for a second. */
static uint16_t *fetch_lines(struct probe_run *r, const void *matrix,
                             const uint64_t first[SAMPLED], size_t step, size_t length)
{
    const size_t bytes = 2 * SAMPLED * length;
    uint16_t *host = probe_host_alloc(r, bytes);
    struct transpose_line_args a = {.in = matrix, .step = step, .length = length};
    uint64_t *places = gpu_alloc(r, SAMPLED * sizeof *places, "where lines begin");
    cudaKernel_t kernel = gpu_kernel(r, &image_transpose_lines, "transpose_lines", sizeof a);

    a.first = places;
    a.out = gpu_alloc(r, bytes, "lines of an operand");
    gpu_to_device(r, places, first, SAMPLED * sizeof *places);
    gpu_launch(r, kernel, SAMPLED, 256, 0, &a);
    gpu_to_host(r, host, a.out, bytes);
    gpu_release(r, a.out);
    gpu_release(r, places);
    return host;
}

/* Random outputs of the last product against float64 on the CPU, from A and B as stored. */
static void check_product(struct probe_run *r, const struct product *p, int layout)
{
    bool turn_a = layout == TN || layout == AFTER, turn_b = layout == NT;
    const struct operands *set = &p->set[p->last];
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k, amiss = 0;
    double from_sums = 8 * sqrt((double)k) * 0x1p-24 * 1.3 * (double)k; /* see small_gemm */
    uint64_t state = probe_seed(r), left[SAMPLED], right[SAMPLED], output[SAMPLED];

    for (int i = 0; i < SAMPLED; i++) {
        const size_t row = draw_below(&state, m), column = draw_below(&state, n);
        left[i] = turn_a ? row : row * k;
        right[i] = turn_b ? column * k : column;
        output[i] = row * n + column;
    }
    uint16_t *a = fetch_lines(r, set->a[turn_a], left, turn_a ? m : 1, k);
    uint16_t *b = fetch_lines(r, set->b[turn_b], right, turn_b ? 1 : n, k);
    uint16_t *c = fetch_lines(r, set->c, output, 1, 1);
    for (size_t i = 0; i < SAMPLED; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += half_fp16(a[i * k + j]) * half_fp16(b[i * k + j]);
        double bound = 2 * HALF_FP16_UNIT * fabs(sum) + from_sums;
        amiss += !(fabs(half_fp16(c[i]) - sum) <= bound);
    }
    probe_require(r, amiss == 0, "%zu of %d outputs are not as computed on the CPU in double",
                  amiss, SAMPLED);
    free(a);
    free(b);
    free(c);
}

static void poison_outputs(struct probe_run *r, const struct product *p)
{
    for (unsigned i = 0; i < p->n_sets; i++) {
        gpu_poison(r, p->set[i].c, 2 * (size_t)p->m * (size_t)p->n);
        gpu_poison(r, p->set[i].turned, 2 * (size_t)p->m * (size_t)p->k);
    }
}

/* Checks each layout, from poisoned memory. */
static void check_layouts(struct probe_run *r, struct product *p, const int *layouts,
                          size_t n_layouts)
{
    for (size_t i = 0; i < n_layouts; i++) {
        poison_outputs(r, p);
        multiply(r, p, layouts[i]);
        if (probe_in_full(r))
            check_product(r, p, layouts[i]);
    }
}

/* The current case: all layouts in turn. */
static void measure_layouts(struct probe_run *r, struct product *p, const int *layouts,
                            size_t n_layouts)
{
    check_layouts(r, p, layouts, n_layouts);
    poison_outputs(r, p);
    while (probe_more(r))
        for (size_t i = 0; i < n_layouts; i++)
            for (int n = 1; n <= 2; n++) {
                gpu_time_start(r);
                for (int k = 0; k < n; k++)
                    multiply(r, p, layouts[i]);
                probe_sample(r, layouts[i], n, gpu_time_stop(r).ns);
            }
    if (probe_in_full(r)) { /* check the last one timed, and that the operands are unchanged */
        check_product(r, p, layouts[n_layouts - 1]);
        check_layouts(r, p, layouts, n_layouts);
    }
}

static void make_operands(struct probe_run *r, const struct product *p, struct operands *set)
{
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    uint64_t seed = probe_seed(r) + 4 * (uint64_t)(set - p->set);
    for (int turned = 0; turned <= 1; turned++) {
        set->a[turned] = gpu_alloc(r, 2 * m * k, "A");
        set->b[turned] = gpu_alloc(r, 2 * n * k, "B");
        gpu_fill_normal(r, set->a[turned], GPU_FP16, m * k, ++seed);
        gpu_fill_normal(r, set->b[turned], GPU_FP16, n * k, ++seed);
    }
    set->c = gpu_alloc(r, 2 * m * n, "C");
    set->turned = gpu_alloc(r, 2 * m * k, "A, transposed");
}

static void measure_products(struct probe_run *r, enum show show, int m, int edge)
{
    static const int layouts[] = {NN, NT, TN, AFTER}; /* A is one row where m is 1 */
    char why[160] = "";
    struct product p = {.m = m, .n = edge, .k = edge};
    struct matrix square = {.type = GPU_FP16, .edge = (uint32_t)edge, .ld = (uint32_t)edge};
    size_t bytes = 2 * (size_t)edge * (2 * (size_t)m + (size_t)edge); /* of A, B and C */

    if (!probe_begin_case(r, flags_of(r, show), "m=%d,n=%d,k=%d,type=fp16,l2=cold", m, edge, edge))
        return;
    p.blas = blas_open(r, why, sizeof why);
    if (!p.blas) {
        probe_missing(r, NN, why);
        return;
    }
    p.n_sets = probe_is_check_run(r) ? 2 : (unsigned)(3 * gpu_facts(r)->l2_bytes / bytes) + 1;
    p.n_sets = p.n_sets < MOST_SETS ? p.n_sets : MOST_SETS;
    p.workspace = gpu_alloc(r, WORKSPACE, "cuBLAS's workspace");
    p.turn = way_of(r, &square, "vector");
    for (unsigned i = 0; i < p.n_sets; i++)
        make_operands(r, &p, &p.set[i]);
    probe_fact(r, "footprint_bytes", "%zu", p.n_sets * bytes);
    measure_layouts(r, &p, layouts, m > 1 ? 4 : 2);
    for (unsigned i = 0; i < p.n_sets; i++) {
        for (int turned = 0; turned <= 1; turned++) {
            gpu_release(r, p.set[i].a[turned]);
            gpu_release(r, p.set[i].b[turned]);
        }
        gpu_release(r, p.set[i].c);
        gpu_release(r, p.set[i].turned);
    }
    gpu_release(r, p.workspace);
}

static void measure(struct probe_run *r)
{
    measure_matrix(r, GPU_FP32, 8, ALWAYS);
    measure_matrix(r, GPU_FP32, 0, ONCE);
    measure_matrix(r, GPU_FP16, 8, DEEP);
    measure_matrix(r, GPU_FP16, 0, DEEP);
    measure_products(r, ALWAYS, probe_is_check_run(r) ? 512 : 4096,
                     probe_is_check_run(r) ? 512 : 4096);
    measure_products(r, ONCE, 1, probe_is_check_run(r) ? 512 : 16384);
}

const struct probe probe = {
    .name = "transpose",
    .what = "What does it cost to turn a matrix round in memory, and does anything force it?",
    .method = 3,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
