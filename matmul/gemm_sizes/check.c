#include "matmul/gemm_sizes/check.h"

#include <math.h>
#include <stdio.h>

#include "core/draw.h"

/* --- random shapes --------------------------------------------------------------------------- */

enum { SHAPES = 200, ROWS_EACH = 6, LONGEST = 400 };

static int number_below(uint64_t *state, int n)
{
    return (int)draw_below(state, (uint64_t)n);
}

/* Draws 1 to LONGEST; in half of the draws small numbers are as likely as large ones. */
static int draw_length(uint64_t *state)
{
    const int uniform = number_below(state, LONGEST), octave = number_below(state, 1 << 20);
    return 1 + (number_below(state, 2) ? uniform : (int)(pow(LONGEST, octave * 0x1p-20) - 1));
}

static int padded(uint64_t *state, int columns)
{
    return (columns + 7) / 8 * 8 + 8 * number_below(state, 3);
}

/* Four kinds of shape: anything, packed and sometimes at an odd address, which only a library
 * takes; the same with rows on 16-byte boundaries; multiples of 8; and multiples of every tile,
 * which all of our kernels take. */
static struct product_shape random_shape(uint64_t *state, int kind)
{
    static const char *const layouts[] = {"nn", "nt", "tn"};
    struct product_shape s = {.m = draw_length(state),
                              .n = draw_length(state),
                              .k = draw_length(state),
                              .type = number_below(state, 2) ? GPU_FP16 : GPU_BF16,
                              .layout = layouts[number_below(state, 3)]};

    if (kind == 0 && number_below(state, 4) == 0) {
        s.a_shift = number_below(state, 8);
        s.b_shift = number_below(state, 8);
    } else if (kind == 1) {
        s.n = number_below(state, 2) ? (s.n + 7) / 8 * 8 : s.n;
        s.lda = padded(state, s.layout[0] == 't' ? s.m : s.k);
        s.ldb = padded(state, s.layout[1] == 't' ? s.k : s.n);
        s.ldc = padded(state, s.n);
    } else if (kind == 2) {
        s.m = (s.m + 7) / 8 * 8, s.n = (s.n + 7) / 8 * 8, s.k = (s.k + 7) / 8 * 8;
    } else if (kind == 3) {
        s.m = 256 * (1 + number_below(state, 2)), s.n = 128 * (1 + number_below(state, 3));
        s.k = 64 * (4 + number_below(state, 3)), s.layout = "nn";
    }
    return s;
}

/* Poisons, multiplies, and judges the result. */
static void check_way(struct probe_run *r, const struct ways *ways, const struct product *p,
                      const struct way *w)
{
    const struct product_shape *s = &p->shape;
    char text[160];

    snprintf(text, sizeof text, "%d x %d x %d %s %s, rows %d, %d, %d, shifts %d, %d, by %s %s",
             s->m, s->n, s->k, gpu_type_name(s->type), s->layout, s->lda, s->ldb, s->ldc,
             s->a_shift, s->b_shift, way_names[w->impl], way_tile(w));
    product_poison(r, p);
    way_multiply(r, ways, p, w, 0);
    product_verify(r, p, text);
}

/* Does this GPU have what a row needs? */
static bool row_is_here(const struct probe_run *r, const struct way *w)
{
    const struct gpu_facts *f = gpu_facts(r);
    if (w->wgmma)
        return f->cc == 90 && w->wgmma->shared <= f->shared_per_block;
    return (int)w->mma->min_cc <= f->cc && (!w->mma->tma || f->cc / 10 <= 10) &&
           w->mma->shared <= f->shared_per_block;
}

void sizes_check_random_shapes(struct probe_run *r, const struct ways *ways)
{
    uint64_t state = probe_seed(r);
    size_t taken[N_OWN] = {0}, products = 0;

    for (size_t i = 0; i < SHAPES; i++) {
        const struct product_shape shape = random_shape(&state, (int)(i % 4));
        struct product p = product_new(r, &shape, 1);
        for (int impl = WAY_CUBLAS; impl <= WAY_CUBLASLT; impl++) {
            struct way w = {.impl = (enum way_impl)impl};
            if (way_open(r, ways, &p, &w)) {
                check_way(r, ways, &p, &w);
                products++;
            }
            way_close(r, &w);
        }
        for (size_t k = 0; k < ROWS_EACH; k++) {
            size_t row = (i / 4 * ROWS_EACH + k) % PROBE_LENGTH(taken);
            struct way w = sizes_own_row(row);
            if (way_open(r, ways, &p, &w)) {
                check_way(r, ways, &p, &w);
                taken[row]++, products++;
            }
            way_close(r, &w);
        }
        product_free(r, &p);
    }
    for (size_t row = 0; row < PROBE_LENGTH(taken); row++) {
        const struct way w = sizes_own_row(row);
        probe_require(r, taken[row] > 0 || !row_is_here(r, &w), "%s %s computed %zu random shapes",
                      way_names[w.impl], way_tile(&w), taken[row]);
    }
    probe_note(r, "%d random shapes, %zu products", SHAPES, products);
}

/* --- faults that must be found ---------------------------------------------------------------- */

bool sizes_is_right(struct probe_run *r, const struct product *p)
{
    struct verdict v = product_run_verifier(r, p);
    return v.looked_at == (uint64_t)p->shape.m * (uint64_t)p->shape.n && v.wrong == 0 &&
           verdict_error(&v) < PRODUCT_ERROR(p->shape.type);
}

/* Opens a way for one product and judges its result as that of another, which may be the same: is
 * it right? */
static bool is_right_by(struct probe_run *r, const struct ways *ways, const struct product *judged,
                        const struct product *computed, struct way w)
{
    bool right = false;
    product_poison(r, judged);
    if (way_open(r, ways, computed, &w)) {
        way_multiply(r, ways, computed, &w, 0);
        right = sizes_is_right(r, judged);
    }
    way_close(r, &w);
    return right;
}

void sizes_check_that_faults_are_seen(struct probe_run *r, const struct ways *ways)
{
    const struct product_shape shape = {
        .m = 256, .n = 128, .k = 2048, .type = GPU_FP16, .layout = "nn"};
    struct product p = product_new(r, &shape, 1), shorter = p;
    const struct way in_fp16 = {.impl = WAY_CUBLASLT, .accumulate = BLAS_IN_FP16};
    struct way w = {.impl = WAY_CUBLASLT};
    const size_t n = (size_t)shape.n, column = 2 * (n - 1);

    if (!ways->blas)
        w = sizes_own_row(0);
    shorter.shape.k -= 64; /* with the same distance between rows */
    probe_require(r, !is_right_by(r, ways, &p, &p, in_fp16),
                  "sums in fp16 are told from sums in fp32");
    probe_require(r, !is_right_by(r, ways, &p, &shorter, w), "a missing k-step is seen");
    probe_require(r, is_right_by(r, ways, &p, &p, w) || !(ways->blas || row_is_here(r, &w)),
                  "and the same product done right is right");
    CUDA(cudaMemset2DAsync(p.c + column, 2 * n, 0xff, 2, (size_t)shape.m, gpu_stream(r)));
    probe_require(r, !sizes_is_right(r, &p), "a last column that was skipped is seen");
    product_free(r, &p);
}

/* --- sizes from the command line ------------------------------------------------------------- */

void sizes_check_refused(struct probe_run *r)
{
    static const struct {
        int64_t m, n, k;
        bool refused;
    } cases[] = {{0, 1, 1, true},
                 {1, 0, 1, true},
                 {1, 1, 0, true},
                 {-1, -1, 1, true},
                 {INT64_MAX, INT64_MAX, INT64_MAX, true},
                 {1000001, 1, 1, true},
                 {1000000, 1000000, 1, true},
                 {1000000, 1, 2148, true},
                 {1 << 15, 1 << 15, 1 << 15, true},
                 {1, 1, 1, false},
                 {1000000, 2147, 1, false},
                 {1 << 14, 1 << 14, 1 << 14, false}};
    char said[256] = "";

    for (size_t i = 0; i < PROBE_LENGTH(cases); i++)
        probe_require(r,
                      (product_why_refused(cases[i].m, cases[i].n, cases[i].k) != NULL) ==
                          cases[i].refused,
                      "%lld x %lld x %lld is %srefused", (long long)cases[i].m,
                      (long long)cases[i].n, (long long)cases[i].k, cases[i].refused ? "" : "not ");
    probe_require(r, probe_respawn(r, "m", 0, 30000, said, sizeof said) == 2,
                  "--set m=0 ends with status 2 and: %s", said);
}
