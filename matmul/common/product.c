#include "matmul/common/product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"
#include "core/half.h"

PROBE_IMAGE(product);

enum {
    SETS_MAX = 64,
    SAMPLED = 4096,
    ALIGNMENT = 256,
    /* Tiles x k-steps of 16: the first round verifies all of C up to 4096^3, a later one up to
     * 2048^3 and an eighth of it at 4096^3. */
    VERIFY_ALL = 1 << 24,
    VERIFY_LATER = 1 << 21,
};

/* Rows and row length of A, B and C as they are stored. */
static void stored(const struct product_shape *s, size_t rows[3], size_t columns[3])
{
    const bool at = s->layout[0] == 't', bt = s->layout[1] == 't';
    rows[0] = (size_t)(at ? s->k : s->m), columns[0] = (size_t)(at ? s->m : s->k);
    rows[1] = (size_t)(bt ? s->n : s->k), columns[1] = (size_t)(bt ? s->k : s->n);
    rows[2] = (size_t)s->m, columns[2] = (size_t)s->n;
}

double product_bytes(const struct product_shape *s)
{
    return 2 * ((double)s->m * s->k + (double)s->k * s->n + (double)s->m * s->n);
}

bool product_is_long(const struct product_shape *s)
{
    return (double)s->m * s->n * s->k > 0x1p33; /* of 2048^3 */
}

bool product_is_cold(const struct probe_run *r, const struct product *p)
{
    return (double)p->sets * product_bytes(&p->shape) >= 3 * (double)gpu_facts(r)->l2_bytes;
}

/* --- sizes from the command line ------------------------------------------------------------- */

enum { LONGEST_ASKED = 1000000 }; /* a grid has at most 65535 rows of 16 outputs */
static const double ELEMENTS_MAX = 0x1p31, WORK_MAX = 0x1p42;

const char *product_why_refused(int64_t m, int64_t n, int64_t k)
{
    const double longest =
        fmax(fmax((double)m * (double)n, (double)m * (double)k), (double)n * (double)k);
    if (m < 1 || n < 1 || k < 1)
        return "m, n and k must all be given, and each be 1 at least";
    if (m > LONGEST_ASKED || n > LONGEST_ASKED || k > LONGEST_ASKED)
        return "m, n and k must each be 1000000 at most";
    if (longest >= ELEMENTS_MAX)
        return "each of A, B and C must have fewer than 2^31 elements";
    if ((double)m * (double)n * (double)k > WORK_MAX)
        return "m x n x k must be 2^42 at most, or all ways together take minutes";
    return NULL;
}

bool product_asked(struct probe_run *r, struct product_shape *shape)
{
    static const char *const sizes[] = {"m", "n", "k"};
    int64_t size[3];
    bool any = false;

    for (size_t i = 0; i < PROBE_LENGTH(sizes); i++) {
        size[i] = probe_parameter(r, sizes[i]);
    }
    for (size_t i = 0; i < probe.n_parameters; i++) /* its type, too, or its layout */
        any = any || probe_parameter_given(r, probe.parameters[i].name);
    if (!any)
        return false;
    const char *why = product_why_refused(size[0], size[1], size[2]);
    if (why)
        probe_usage(r, "a product of %lld x %lld x %lld: %s", (long long)size[0],
                    (long long)size[1], (long long)size[2], why);
    shape->m = (int)size[0], shape->n = (int)size[1], shape->k = (int)size[2];
    return true;
}

/* --- the reference on the CPU ---------------------------------------------------------------- */

/* Outputs that the CPU computes, too. Of a small product: all. Of a larger one: random ones, the
 * corners, and the last row and column; if these are long, evenly spaced ones of them. */
struct chosen {
    bool whole;
    size_t random, step, n;
};

static struct chosen choose_outputs(const struct product_shape *s)
{
    const size_t all = (size_t)s->m * (size_t)s->n, edge = (size_t)(s->m + s->n);
    const size_t affordable = ((size_t)1 << 22) / (size_t)s->k + 1;
    struct chosen p = {.whole = (double)all * s->k <= 0x1p23, .n = all};

    if (!p.whole) {
        p.random = affordable < SAMPLED ? affordable : SAMPLED;
        p.step = edge / p.random + 1;
        p.n = p.random + edge / p.step + 2;
    }
    return p;
}

/* Index of the i-th of them, row * n + column. */
static size_t chosen_output(const struct product_shape *s, const struct chosen *p, size_t i,
                            uint64_t *state)
{
    const size_t m = (size_t)s->m, n = (size_t)s->n, corner = i - p->random;
    const size_t e = (i - p->random - 2) * p->step;

    if (p->whole)
        return i;
    if (i < p->random)
        return draw_below(state, m * n);
    return corner < 2 ? corner * (n - 1) : e < n ? (m - 1) * n + e : (e - n) * n + n - 1;
}

static uint16_t *fetch(struct probe_run *r, const void *from, size_t rows, size_t ld)
{
    uint16_t *host = probe_host_alloc(r, 2 * rows * ld);
    gpu_to_host(r, host, from, 2 * rows * ld);
    return host;
}

static void reference_on_host(struct probe_run *r, struct product *p)
{
    const struct product_shape *s = &p->shape;
    const size_t n = (size_t)s->n;
    const struct chosen chosen = choose_outputs(s);
    const bool at = s->layout[0] == 't', bt = s->layout[1] == 't';
    const size_t a_row = at ? 1 : (size_t)s->lda, a_column = at ? (size_t)s->lda : 1;
    const size_t b_row = bt ? 1 : (size_t)s->ldb, b_column = bt ? (size_t)s->ldb : 1;
    double *value = probe_host_alloc(r, 65536 * sizeof *value);
    uint64_t state = probe_seed(r);
    size_t rows[3], columns[3];

    for (uint32_t bits = 0; bits < 65536; bits++)
        value[bits] = s->type == GPU_FP16 ? half_fp16((uint16_t)bits) : half_bf16((uint16_t)bits);
    stored(s, rows, columns);
    uint16_t *a = fetch(r, p->a, rows[0], (size_t)s->lda);
    uint16_t *b = fetch(r, p->b, rows[1], (size_t)s->ldb);

    p->n_outputs = chosen.n;
    p->outputs = probe_host_alloc(r, p->n_outputs * sizeof *p->outputs);
    p->reference = probe_host_alloc(r, p->n_outputs * sizeof *p->reference);
    size_t *left = probe_host_alloc(r, 2 * p->n_outputs * sizeof *left),
           *right = left + p->n_outputs;
    for (size_t i = 0; i < p->n_outputs; i++) {
        p->outputs[i] = chosen_output(s, &chosen, i, &state);
        p->reference[i] = 0;
        left[i] = p->outputs[i] / n * a_row;
        right[i] = p->outputs[i] % n * b_column;
    }
    /* k outside: the outputs then take their operands from few lines, each of which is used many
     * times while it is in a cache. One output after another takes a line of B for each k. */
    for (size_t k = 0; k < (size_t)s->k; k++)
        for (size_t i = 0; i < p->n_outputs; i++)
            p->reference[i] +=
                value[a[left[i] + k * a_column]] * value[b[right[i] + k * b_row]];
    free(left);
    free(a);
    free(b);
    free(value);
}

static void check_on_host(struct probe_run *r, const struct product *p, const char *when)
{
    const struct product_shape *s = &p->shape;
    const size_t n = (size_t)s->n, ldc = (size_t)s->ldc;
    const double unit = s->type == GPU_FP16 ? HALF_FP16_UNIT : HALF_BF16_UNIT;
    uint16_t *c = fetch(r, p->c, (size_t)s->m, ldc);
    size_t wrong = 0, touched = 0, furthest = 0;

    for (size_t i = 0; i < p->n_outputs; i++) {
        /* sum |a b| of N(0,1) operands is 2/pi k on average; twice that bounds it safely here */
        double bound = 2 * unit * fabs(p->reference[i]) + 8 * sqrt(s->k) * 0x1p-24 * 1.3 * s->k;
        uint16_t bits = c[p->outputs[i] / n * ldc + p->outputs[i] % n];
        double value = s->type == GPU_FP16 ? half_fp16(bits) : half_bf16(bits);
        wrong += !(fabs(value - p->reference[i]) <= bound);
    }
    for (size_t row = 0; row + 1 < (size_t)s->m; row++)
        for (size_t column = n; column < ldc; column++)
            if (c[row * ldc + column] != 0xffff) {
                touched++;
                furthest = column - n + 1 > furthest ? column - n + 1 : furthest;
            }
    probe_require(r, wrong == 0, "%s: %zu of %zu outputs are as computed on the CPU in double",
                  when, p->n_outputs - wrong, p->n_outputs);
    probe_require(r, touched == 0,
                  "%s: %zu elements between the rows of C were written, up to %zu behind a row",
                  when, touched, furthest);
    free(c);
}

/* --- operands -------------------------------------------------------------------------------- */

struct product product_new(struct probe_run *r, const struct product_shape *shape, size_t sets)
{
    static const char *const what[] = {"operand A", "operand B", "the product"};
    struct product p = {.shape = *shape};
    int *const ld[] = {&p.shape.lda, &p.shape.ldb, &p.shape.ldc};
    const size_t shift[] = {2 * (size_t)shape->a_shift, 2 * (size_t)shape->b_shift, 0};
    size_t rows[3], columns[3], step[3];

    stored(shape, rows, columns);
    for (size_t i = 0; i < 3; i++) {
        if (*ld[i] == 0)
            *ld[i] = (int)columns[i];
        step[i] =
            (2 * rows[i] * (size_t)*ld[i] + shift[i] + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    }
    size_t wanted = 3 * gpu_facts(r)->l2_bytes / (step[0] + step[1] + step[2]) + 1;
    p.sets = sets ? sets : wanted > SETS_MAX ? SETS_MAX : wanted;
    for (size_t i = 0; i < 3; i++) {
        p.bytes[i] = p.sets * step[i];
        p.memory[i] = gpu_alloc(r, p.bytes[i], what[i]);
        if (i < 2)
            gpu_fill_normal(r, p.memory[i], shape->type, p.bytes[i] / 2, probe_seed(r) + 1 + i);
    }
    p.a = p.memory[0] + shift[0], p.b = p.memory[1] + shift[1], p.c = p.memory[2];
    p.a_step = step[0], p.b_step = step[1], p.c_step = step[2];
    if (probe_in_full(r))
        reference_on_host(r, &p);
    return p;
}

void product_free(struct probe_run *r, struct product *p)
{
    for (size_t i = 0; i < 3; i++)
        gpu_release(r, p->memory[i]);
    free(p->outputs);
    free(p->reference);
    memset(p, 0, sizeof *p);
}

void product_poison(struct probe_run *r, const struct product *p)
{
    gpu_poison(r, p->memory[2], p->bytes[2]);
}

/* --- the whole tensor on the GPU ------------------------------------------------------------- */

static struct verdict run_verifier(struct probe_run *r, const struct product *p, double most)
{
    const struct product_shape *s = &p->shape;
    const bool at = s->layout[0] == 't', bt = s->layout[1] == 't';
    const unsigned x = ((unsigned)s->n + PRODUCT_TILE - 1) / PRODUCT_TILE;
    const unsigned y = ((unsigned)s->m + PRODUCT_TILE - 1) / PRODUCT_TILE;
    const double work = (double)x * y * ((double)s->k / PRODUCT_TILE);
    const struct product_verify_args args = {
        .a = p->a,
        .b = p->b,
        .c = p->c,
        .verdict = verdict_clear(r),
        .a_row = at ? 1 : (uint64_t)s->lda,
        .a_column = at ? (uint64_t)s->lda : 1,
        .b_row = bt ? 1 : (uint64_t)s->ldb,
        .b_column = bt ? (uint64_t)s->ldb : 1,
        .c_row = (uint64_t)s->ldc,
        .m = (uint32_t)s->m,
        .n = (uint32_t)s->n,
        .k = (uint32_t)s->k,
        .every = work > most ? (uint32_t)ceil(work / most) : 1,
    };
    cudaKernel_t kernel = gpu_kernel(
        r, &image_product, s->type == GPU_FP16 ? "product_verify_fp16" : "product_verify_bf16",
        sizeof args);

    gpu_launch_grid(r, kernel, (dim3){x, y, 1}, PRODUCT_TILE * PRODUCT_TILE, 0, &args);
    return verdict_fetch(r);
}

struct verdict product_run_verifier(struct probe_run *r, const struct product *p)
{
    return run_verifier(r, p, VERIFY_ALL);
}

double product_verify(struct probe_run *r, const struct product *p, const char *when)
{
    struct verdict verdict = run_verifier(r, p, probe_in_full(r) ? VERIFY_ALL : VERIFY_LATER);
    double error = verdict_error(&verdict);

    probe_require(r, verdict.looked_at > 0 && verdict.wrong == 0,
                  "%s: %llu of %llu outputs looked at are beyond the error bound", when,
                  (unsigned long long)verdict.wrong, (unsigned long long)verdict.looked_at);
    probe_require(r, error < PRODUCT_ERROR(p->shape.type), "%s: relative error %.2g", when, error);
    if (p->outputs)
        check_on_host(r, p, when);
    return error;
}
