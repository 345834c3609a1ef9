/* attention_prefill: are results right, and would a fault be seen? */
#include <math.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"
#include "fused/attention_prefill/attention_prefill.h"

/* --- is it right? ---------------------------------------------------------------------------- */

/* Of a row and a key, that one verification looks at: PRODUCTS_IN_FULL is all of 32 heads and 1024
 * tokens. */
enum { PRODUCTS_MAX = 1 << 24, PRODUCTS_IN_FULL = 1 << 25, DEPTH_MOST = 128 };

static uint32_t rows_looked_at(const struct prefill_problem *p, bool in_full)
{
    const uint64_t products = in_full ? PRODUCTS_IN_FULL : PRODUCTS_MAX;
    const uint64_t all = (uint64_t)p->heads * (uint64_t)p->queries;
    const uint64_t most = products / (uint64_t)p->keys + 2;
    return (uint32_t)(all < most ? all : most);
}

double prefill_share_verified(const struct prefill_problem *p, bool all)
{
    return rows_looked_at(p, all) / ((double)p->heads * p->queries);
}

static struct attention_row_args rows_to_look_at(struct probe_run *r, const struct prefill *t,
                                                 enum prefill_part part, bool in_full)
{
    return (struct attention_row_args){.of = prefill_args_of(t, 0),
                                       .verdict = verdict_clear(r),
                                       .seed = probe_seed(r),
                                       .rows = rows_looked_at(&t->of, in_full),
                                       .depth = (uint32_t)t->of.depth,
                                       .is_bf16 = prefill_is_bf16(&t->of),
                                       .is_unfused = part >= PREFILL_CHAIN};
}

static struct verdict run_verifier(struct probe_run *r, const struct prefill *t,
                                   enum prefill_part part, bool in_full, uint64_t *due)
{
    const struct attention_row_args a = rows_to_look_at(r, t, part, in_full);
    *due = (uint64_t)a.rows * a.depth;
    gpu_launch(r, t->verify, a.rows, PREFILL_ROW_THREADS, 0, &a);
    return verdict_fetch(r);
}

struct verdict prefill_verify(struct probe_run *r, const struct operator_set *s,
                              const struct operator_form *f, bool all, uint64_t *due)
{
    return run_verifier(r, s->own, (enum prefill_part)f->which, all, due);
}

double prefill_check(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                     const char *when)
{
    uint64_t due;
    const struct verdict v = run_verifier(r, t, part, probe_in_full(r), &due);
    return verdict_check(r, &v, due, when);
}

static double number(const struct prefill_problem *p, uint16_t bits)
{
    return prefill_is_bf16(p) ? half_bf16(bits) : half_fp16(bits);
}

/* One row on the CPU, in double, with room for 2 x sees numbers; returns the elements beyond the
 * bound of attention_prefill_verify, but for a constant in place of its last term. Key by key and
 * value by value as they lie in memory: this is most of the first round's time. */
static int wrong_in_row(const struct prefill_problem *of, bool is_unfused, const float *q,
                        const float *k, const float *v, const float *out, int sees, double *room)
{
    const double u = prefill_is_bf16(of) ? HALF_BF16_UNIT : HALF_FP16_UNIT;
    double *p = room, *error = room + sees, top = -INFINITY, sum = 0, plain = 0;
    double o[DEPTH_MOST] = {0}, squares[DEPTH_MOST] = {0};
    int wrong = 0;

    for (int j = 0; j < sees; j++) {
        double product[4] = {0}; /* a sum of its own for every fourth: one would wait for itself */
        for (int i = 0; i < of->depth; i += 4)
            for (int c = 0; c < 4; c++)
                product[c] += (double)q[i + c] * (double)k[j * of->depth + i + c];
        p[j] = (product[0] + product[1] + product[2] + product[3]) / sqrt(of->depth);
        top = fmax(top, p[j]);
    }
    for (int j = 0; j < sees; j++) {
        error[j] = u + 0x1p-16 + (is_unfused ? 1.5 * u * fabs(p[j]) : 0);
        p[j] = exp(p[j] - top);
        sum += p[j];
    }
    for (int j = 0; j < sees; j++) {
        const double x = p[j] / sum, e = x * error[j];
        const float *y = v + j * of->depth;
        plain += e * e;
        for (int i = 0; i < of->depth; i++) {
            o[i] += x * (double)y[i];
            squares[i] += e * (double)y[i] * (e * (double)y[i]);
        }
    }
    for (int i = 0; i < of->depth; i++)
        wrong += !(fabs((double)out[i] - o[i]) <=
                   u * fabs(o[i]) + 4 * sqrt(squares[i] + o[i] * o[i] * plain) + 0x1p-24);
    return wrong;
}

/* As fp32, which holds each of them. */
static float *fetch_part(struct probe_run *r, const struct prefill_problem *p,
                         const struct pool *pool, size_t elements, size_t first)
{
    uint16_t *bits = probe_host_alloc(r, 2 * elements);
    float *numbers = probe_host_alloc(r, elements * sizeof *numbers);
    gpu_to_host(r, bits, pool->memory + 2 * first, 2 * elements);
    for (size_t i = 0; i < elements; i++)
        numbers[i] = (float)number(p, bits[i]);
    free(bits);
    return numbers;
}

/* Rows of one head, drawn anew in every run: the first, the last, and others. */
void prefill_check_on_host(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, const char *when)
{
    const struct prefill *t = s->own;
    const struct prefill_problem *p = &t->of;
    const size_t queries = (size_t)p->queries, depth = (size_t)p->depth;
    const size_t head = probe_seed(r) % (size_t)p->heads, keys = (size_t)p->keys;
    const size_t kv = head / (size_t)(p->heads / p->kv_heads);
    float *k = fetch_part(r, p, &t->k, keys * depth, kv * keys * depth);
    float *v = fetch_part(r, p, &t->v, keys * depth, kv * keys * depth);
    double *scratch = probe_host_alloc(r, 2 * sizeof *scratch * keys);
    const int most = probe_is_check_run(r) ? 4 : 8, rows = p->queries < most ? p->queries : most;
    int wrong = 0;

    for (int i = 0; i < rows; i++) {
        int row = i == 0   ? 0
                  : i == 1 ? p->queries - 1
                           : (int)(probe_seed(r) >> i & 0xffff) % p->queries;
        int sees = row + prefill_causal_end(p);
        sees = sees < 0 ? 0 : sees > p->keys ? p->keys : sees;
        const size_t first = (head * queries + (size_t)row) * depth;
        float *q = fetch_part(r, p, &t->q, depth, first);
        float *out = fetch_part(r, p, &t->out, depth, first);
        wrong += wrong_in_row(p, f->which >= PREFILL_CHAIN, q, k, v, out, sees, scratch);
        free(q);
        free(out);
    }
    probe_require(r, wrong == 0, "%s: %d of %d elements are not as computed on the CPU in double",
                  when, wrong, rows * p->depth);
    free(k);
    free(v);
    free(scratch);
}

double prefill_share_right(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                           int causal_end, bool is_naive, uint32_t *wrong_rows)
{
    struct attention_row_args a = rows_to_look_at(r, t, part, true);
    uint32_t wrong;

    a.of.causal_end = causal_end;
    a.wrong_rows = wrong_rows;
    CUDA(cudaMemsetAsync(wrong_rows, 0, sizeof wrong, gpu_stream(r)));
    pool_poison(r, &t->out);
    if (is_naive)
        gpu_launch(r, t->naive, a.of.heads * a.of.queries, PREFILL_ROW_THREADS, 0, &a);
    else
        prefill_launch_as(r, t, part, a.of);
    gpu_launch(r, t->verify, a.rows, PREFILL_ROW_THREADS, 0, &a);
    gpu_to_host(r, &wrong, wrong_rows, sizeof wrong);
    return 1 - (double)wrong / a.rows;
}

/* --- would a fault be seen? ------------------------------------------------------------------ */

static void check_mutants(struct probe_run *r, const struct prefill *t, enum prefill_part part)
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
        struct attention_prefill_args a = prefill_args_of(t, 0);
        uint64_t due;
        a.causal_end += mutants[i].causal_end;
        a.share *= mutants[i].share;
        a.scale *= mutants[i].scale;
        a.scale_log2 *= mutants[i].scale;
        pool_poison(r, &t->out);
        prefill_launch_as(r, t, part, a);
        probe_require(r, run_verifier(r, t, part, true, &due).wrong > 0, "verification sees %s",
                      mutants[i].what);
    }
}

static double error_of(struct probe_run *r, const struct operator_set *s,
                       const struct operator_form *f)
{
    const struct prefill *t = s->own;
    pool_poison(r, &t->out);
    f->launch(r, s, f, 0);
    if (probe_in_full(r))
        prefill_check_on_host(r, s, f, f->name);
    return prefill_check(r, t, (enum prefill_part)f->which, f->name);
}

void prefill_judge(struct probe_run *r, const struct operator_set *s,
                   const struct operator_form *unfused, const struct operator_form *fused)
{
    const double theirs = error_of(r, s, unfused), own = error_of(r, s, fused);

    probe_require(r, own <= 2 * theirs, "the error, %.3g, is at most twice that unfused, %.3g", own,
                  theirs);
    probe_value(r, OPERATION_ERROR, own);
    check_mutants(r, s->own, PREFILL_FUSED);
    if (prefill_has(s->own, PREFILL_MMA))
        check_mutants(r, s->own, PREFILL_MMA);
}

/* --- odd shapes ------------------------------------------------------------------------------ */

/* Lengths: 1, primes, tiles and their neighbours; fewer keys than queries, and more; each head
 * of K and V for one to four query heads. */
static struct operator_shape odd_shape(int i, uint64_t *state)
{
    static const int lengths[] = {1, 2, 7, 31, 63, 64, 65, 127, 128, 129, 191, 193, 257, 300};
    const int n = (int)PROBE_LENGTH(lengths);
    const int kv_heads = 1 + (int)draw_below(state, 3);
    const int heads = kv_heads * (1 + (int)draw_below(state, 4));
    const int keys = lengths[draw_below(state, (uint64_t)n)];
    const int mask = draw_below(state, 2) ? PREFILL_CAUSAL : PREFILL_NO_MASK;
    return (struct operator_shape){{heads, kv_heads, i % 3 ? 128 : 64, keys, mask, lengths[i % n]},
                                   i % 3 == 2 ? GPU_FP16 : GPU_BF16};
}

/* A case for each form, and not the harness' odd shapes of all: so the tools that look for races
 * can leave out the library. */
void prefill_check_shapes(struct probe_run *r)
{
    static const struct operator_form forms[] = {
        {"fused", OPERATOR_FUSED, .which = PREFILL_FUSED},
        {"mma", BY_MMA, .which = PREFILL_MMA},
        {"unfused", OPERATOR_UNFUSED, .which = PREFILL_CHAIN}};
    enum { SHAPES = 45 };

    for (const struct operator_form *f = forms; f < forms + PROBE_LENGTH(forms); f++) {
        const enum prefill_part part = (enum prefill_part)f->which;
        uint64_t state = probe_seed(r);
        if (!probe_begin_case(r, 0, "shapes=odd,impl=%s", f->name))
            continue;
        for (int i = 0; i < SHAPES; i++) {
            const struct operator_shape shape = odd_shape(i, &state);
            struct operator_set s =
                operator_open(r, &attention_prefill, &shape, f->group, 1, state);
            if (prefill_has(s.own, part)) {
                prefill_launch(r, s.own, part, 0);
                prefill_check_on_host(r, &s, f, f->name);
                prefill_check(r, s.own, part, f->name);
            }
            operator_close(r, &s);
        }
    }
    probe_note(r, "%d odd shapes, by each kernel and the chain", SHAPES);
}
