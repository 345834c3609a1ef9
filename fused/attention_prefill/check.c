#include "fused/attention_prefill/check.h"

#include <math.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"

/* --- is it right? ---------------------------------------------------------------------------- */

/* Of a row and a key, that one verification looks at: PRODUCTS_IN_FULL is all of 32 heads and 1024
 * tokens. */
enum { PRODUCTS_MAX = 1 << 24, PRODUCTS_IN_FULL = 1 << 25 };

static uint64_t all_rows(const struct prefill_problem *p)
{
    return (uint64_t)p->heads * (uint64_t)p->queries;
}

static uint32_t rows_looked_at(const struct probe_run *r, const struct prefill_problem *p)
{
    const uint64_t products = probe_in_full(r) ? PRODUCTS_IN_FULL : PRODUCTS_MAX;
    const uint64_t all = all_rows(p), most = products / (uint64_t)p->keys + 2;
    return (uint32_t)(all < most ? all : most);
}

double prefill_share_verified(const struct probe_run *r, const struct prefill_problem *p)
{
    return rows_looked_at(r, p) / (double)all_rows(p);
}

static struct attention_row_args rows_to_look_at(struct probe_run *r,
                                                 const struct prefill_form *form)
{
    const struct prefill_problem *p = &form->t->of;
    return (struct attention_row_args){.of = prefill_args_of(form->t, 0),
                                       .verdict = verdict_clear(r),
                                       .seed = probe_seed(r),
                                       .rows = rows_looked_at(r, p),
                                       .depth = (uint32_t)p->depth,
                                       .is_bf16 = prefill_is_bf16(p),
                                       .is_unfused = form->part >= PREFILL_CHAIN};
}

static struct verdict run_verifier(struct probe_run *r, const struct prefill_form *form,
                                   uint64_t *elements)
{
    const struct attention_row_args a = rows_to_look_at(r, form);
    *elements = (uint64_t)a.rows * a.depth;
    gpu_launch(r, form->t->verify, a.rows, PREFILL_ROW_THREADS, 0, &a);
    return verdict_fetch(r);
}

bool prefill_is_wrong(struct probe_run *r, const void *self)
{
    uint64_t elements;
    return run_verifier(r, self, &elements).wrong > 0;
}

static double number(const struct prefill_problem *p, uint16_t bits)
{
    return prefill_is_bf16(p) ? half_bf16(bits) : half_fp16(bits);
}

/* One row on the CPU, in double, with room for 2 x sees numbers; returns the elements beyond the
 * bound of attention_prefill_verify, but for a constant in place of its last term. */
static int wrong_in_row(const struct prefill_form *form, const uint16_t *q, const uint16_t *k,
                        const uint16_t *v, const uint16_t *out, int sees, double *room)
{
    const struct prefill_problem *of = &form->t->of;
    const double u = prefill_is_bf16(of) ? HALF_BF16_UNIT : HALF_FP16_UNIT;
    double *p = room, *error = room + sees, top = -INFINITY, sum = 0;
    int wrong = 0;

    for (int j = 0; j < sees; j++) {
        p[j] = 0;
        for (int i = 0; i < of->depth; i++)
            p[j] += number(of, q[i]) * number(of, k[j * of->depth + i]) / sqrt(of->depth);
        top = fmax(top, p[j]);
    }
    for (int j = 0; j < sees; j++) {
        error[j] = u + 0x1p-16 + (form->part < PREFILL_CHAIN ? 0 : 1.5 * u * fabs(p[j]));
        p[j] = exp(p[j] - top);
        sum += p[j];
    }
    for (int i = 0; i < of->depth; i++) {
        double o = 0, squares = 0, plain = 0;
        for (int j = 0; j < sees; j++) {
            double x = p[j] / sum, y = number(of, v[j * of->depth + i]), e = x * error[j];
            o += x * y;
            squares += e * e * y * y;
            plain += e * e;
        }
        wrong += !(fabs(number(of, out[i]) - o) <=
                   u * fabs(o) + 4 * sqrt(squares + o * o * plain) + 0x1p-24);
    }
    return wrong;
}

static const void *fetch_part(struct probe_run *r, const struct pool *pool, size_t elements,
                              size_t first)
{
    void *host = probe_host_alloc(r, 2 * elements);
    gpu_to_host(r, host, pool->memory + 2 * first, 2 * elements);
    return host;
}

/* Rows of one head, drawn anew in every run: the first, the last, and others. */
static void check_on_host(struct probe_run *r, const struct prefill_form *form)
{
    const struct prefill_problem *p = &form->t->of;
    const size_t queries = (size_t)p->queries, depth = (size_t)p->depth;
    const size_t head = probe_seed(r) % (size_t)p->heads, keys = (size_t)p->keys;
    const size_t kv = head / (size_t)(p->heads / p->kv_heads);
    const uint16_t *q = fetch_part(r, &form->t->q, queries * depth, head * queries * depth);
    const uint16_t *out = fetch_part(r, &form->t->out, queries * depth, head * queries * depth);
    const uint16_t *k = fetch_part(r, &form->t->k, keys * depth, kv * keys * depth);
    const uint16_t *v = fetch_part(r, &form->t->v, keys * depth, kv * keys * depth);
    double *scratch = probe_host_alloc(r, 2 * sizeof *scratch * keys);
    const int most = probe_is_check_run(r) ? 4 : 8, rows = p->queries < most ? p->queries : most;
    int wrong = 0;

    for (int i = 0; i < rows; i++) {
        int row = i == 0   ? 0
                  : i == 1 ? p->queries - 1
                           : (int)(probe_seed(r) >> i & 0xffff) % p->queries;
        int sees = row + prefill_causal_end(p);
        sees = sees < 0 ? 0 : sees > p->keys ? p->keys : sees;
        wrong += wrong_in_row(form, q + (size_t)row * depth, k, v, out + (size_t)row * depth, sees,
                              scratch);
    }
    probe_require(r, wrong == 0, "%d of %d elements are not as computed on the CPU in double",
                  wrong, rows * p->depth);
    free((void *)q);
    free((void *)out);
    free((void *)k);
    free((void *)v);
    free(scratch);
}

double prefill_verify_by_gpu(struct probe_run *r, const struct prefill_form *form, const char *when)
{
    uint64_t elements;
    struct verdict v = run_verifier(r, form, &elements);
    return verdict_check(r, &v, elements, when);
}

double prefill_verify(struct probe_run *r, const void *self, const char *when)
{
    if (probe_in_full(r))
        check_on_host(r, self);
    return prefill_verify_by_gpu(r, self, when);
}

double prefill_share_right(struct probe_run *r, const struct prefill_form *form, int causal_end,
                           bool is_naive, uint32_t *wrong_rows)
{
    struct attention_row_args a = rows_to_look_at(r, form);
    uint32_t wrong;

    a.of.causal_end = causal_end;
    a.wrong_rows = wrong_rows;
    CUDA(cudaMemsetAsync(wrong_rows, 0, sizeof wrong, gpu_stream(r)));
    prefill_poison(r, form);
    if (is_naive)
        gpu_launch(r, form->t->naive, a.of.heads * a.of.queries, PREFILL_ROW_THREADS, 0, &a);
    else
        prefill_launch_as(r, form, a.of);
    gpu_launch(r, form->t->verify, a.rows, PREFILL_ROW_THREADS, 0, &a);
    gpu_to_host(r, &wrong, wrong_rows, sizeof wrong);
    return 1 - (double)wrong / a.rows;
}

/* --- would a fault be seen? ------------------------------------------------------------------ */

void prefill_check_mutants(struct probe_run *r, const struct prefill_form *form)
{
    static const struct {
        const char *what;
        int32_t causal_end;
        uint32_t share;
        float scale;
    } mutants[] = {{"a mask that ends a key late", 1, 1, 1},
                   {"a mask that ends a key early", -1, 1, 1},
                   {"a mask that ends a tile early", -ATTENTION_PREFILL_KEYS, 1, 1},
                   {"heads that look at others' keys", 0, 2, 1},
                   {"a scale 3 % too large", 0, 1, 1.03f}};

    for (size_t i = 0; i < PROBE_LENGTH(mutants); i++) {
        struct attention_prefill_args a = prefill_args_of(form->t, 0);
        a.causal_end += mutants[i].causal_end;
        a.share *= mutants[i].share;
        a.scale *= mutants[i].scale;
        a.scale_log2 *= mutants[i].scale;
        prefill_poison(r, form);
        prefill_launch_as(r, form, a);
        probe_require(r, prefill_is_wrong(r, form), "verification sees %s", mutants[i].what);
    }
}

/* --- odd shapes ------------------------------------------------------------------------------ */

/* Lengths: 1, primes, tiles and their neighbours; fewer keys than queries, and more; each head
 * of K and V for one to four query heads. */
static struct prefill_problem odd_shape(int i, uint64_t *state)
{
    static const int lengths[] = {1, 2, 7, 31, 63, 64, 65, 127, 128, 129, 191, 193, 257, 300};
    const int n = (int)PROBE_LENGTH(lengths);
    const int kv_heads = 1 + (int)draw_below(state, 3);
    return (struct prefill_problem){.heads = kv_heads * (1 + (int)draw_below(state, 4)),
                                    .kv_heads = kv_heads,
                                    .depth = i % 3 ? 128 : 64,
                                    .queries = lengths[i % n],
                                    .keys = lengths[draw_below(state, (uint64_t)n)],
                                    .is_causal = draw_below(state, 2),
                                    .type = i % 3 == 2 ? GPU_FP16 : GPU_BF16};
}

void prefill_check_shapes(struct probe_run *r, struct prefill_library *library)
{
    static const char *const names[] = {"fused", "mma", "unfused"};
    enum { SHAPES = 45 };

    for (enum prefill_part part = PREFILL_FUSED; part <= PREFILL_CHAIN; part++) {
        uint64_t state = probe_seed(r);
        if (!probe_begin_case(r, 0, "shapes=odd,impl=%s", names[part]))
            continue;
        for (int i = 0; i < SHAPES; i++) {
            const struct prefill_problem p = odd_shape(i, &state);
            struct prefill_tensors t = prefill_tensors_of(
                r, p, part == PREFILL_CHAIN ? library : NULL, PREFILL_ONCE, state);
            const struct prefill_form form = {.t = &t, .part = part};
            if (prefill_has(&t, part)) {
                prefill_poison(r, &form);
                prefill_launch(r, &form, 0);
                prefill_verify(r, &form, "before");
            }
            prefill_tensors_free(r, &t);
        }
    }
    probe_note(r, "%d odd shapes, by each kernel and the chain", SHAPES);
}
