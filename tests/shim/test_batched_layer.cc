// faults: thread lane barrier rounding ticket beyond append stale row
//
// The operators of a decoder's layer that are no product, on the CPU: a kernel for each, and those that are
// one; one split of the keys and many, some without a key. Against float64. And the layer in float64 of the
// GPU's checks, operator by operator, against that of the CPU; and what its comparison sees.
#include "tests/shim/shim.h"

#include <cuda_bf16.h>

static inline __nv_bfloat16 __double2bfloat16(double x)
{
    return __float2bfloat16((float)x);
}

#include "core/half.c"
#include "fused/batched_layer/batched_layer.cu"
#include "fused/batched_layer/check.cu"
#include "fused/common/decoder_reference.c"

static const double OPERATOR_ERROR = 4e-3; // half a unit of bf16, relative: numbers are few
static const uint32_t MORE = 5;            // rows of the cache beyond the context, NaN

static void fill(uint16_t *to, uint64_t count, double scale, double around)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] = shim_to_bf16((float)(around + scale * shim_normal()));
}
static uint16_t *numbers(uint64_t count)
{
    uint16_t *to = (uint16_t *)shim_alloc(2 * count);
    fill(to, count, 1, 0);
    return to;
}
static float *singles(uint64_t count)
{
    float *to = (float *)shim_alloc(4 * count);
    for (uint64_t i = 0; i < count; i++)
        to[i] = (float)shim_normal();
    return to;
}
static double *widened(const void *bits, uint64_t count)
{
    double *to = (double *)shim_alloc(8 * count);
    for (uint64_t i = 0; i < count; i++)
        to[i] = half_bf16(((const uint16_t *)bits)[i]);
    return to;
}

struct sizes {
    struct decoder_shape shape;
    uint32_t batch, context, splits;
};

static uint32_t row_of(const struct decoder_shape &s)
{
    return s.heads * s.head_dim;
}
static uint32_t all_heads(const struct decoder_shape &s)
{
    return (s.heads + 2 * s.kv_heads) * s.head_dim;
}

static struct batched_args made(const struct sizes &p)
{
    struct batched_args a = {};
    const struct decoder_shape &s = p.shape;
    const uint64_t b = p.batch, turned = b * (s.heads + s.kv_heads) * s.head_dim;
    a.shape = s, a.batch = p.batch, a.context = p.context, a.capacity = p.context + MORE;
    a.splits = p.splits, a.epsilon = 1e-5f;
    uint16_t *norm = (uint16_t *)shim_alloc(2 * s.hidden);
    fill(norm, s.hidden, 0.1, 1);
    a.norm = norm, a.residual = singles(b * s.hidden);
    a.moved = (float *)shim_alloc(4 * b * s.hidden), a.x = shim_alloc(2 * b * s.hidden);
    a.qkv = numbers(b * all_heads(s)), a.turned = shim_alloc(2 * turned);
    const uint64_t half = decoder_cache_half(&s, p.batch, a.capacity);
    char *cache = (char *)shim_alloc(2 * half);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t row = 0; row < b * s.kv_heads * a.capacity; row++)
            if (row % a.capacity + 1 < p.context)
                fill((uint16_t *)(cache + i * half) + (uint64_t)row * s.head_dim, s.head_dim, 1, 0);
    a.cache = cache;
    float *rope = (float *)shim_alloc(4 * s.head_dim);
    for (uint32_t i = 0; i < s.head_dim / 2; i++) {
        const double angle = (p.context - 1) * pow(500000, -2.0 * i / s.head_dim);
        rope[2 * i] = (float)cos(angle), rope[2 * i + 1] = (float)sin(angle);
    }
    a.rope = rope;
    a.parts = (float *)shim_alloc(4 * b * s.heads * p.splits * (LOOK_STATE + s.head_dim));
    a.tickets = (uint32_t *)shim_alloc(4 * b * s.kv_heads);
    memset(a.tickets, 0, 4 * b * s.kv_heads);
    a.attention = shim_alloc(2 * b * row_of(s)), a.delta = numbers(b * s.hidden);
    a.gate_up = numbers(b * 2 * s.ffn), a.h = shim_alloc(2 * b * s.ffn);
    return a;
}

static uint32_t blocks(uint64_t items, uint32_t threads)
{
    return (uint32_t)((items + threads - 1) / threads);
}

/* --- float64 ------------------------------------------------------------------------------------- */

// q, k and v behind the rotation, in float64.
static double *rotated(const struct batched_args &a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t d = s.head_dim, half = d / 2;
    double *qkv = widened(a.qkv, (uint64_t)a.batch * all_heads(s));
    for (uint32_t head = 0; head < a.batch * (s.heads + 2 * s.kv_heads); head++)
        for (uint32_t i = 0; i < half && head % (s.heads + 2 * s.kv_heads) < s.heads + s.kv_heads;
             i++) {
            double *low = qkv + head * d + i, was = *low;
            *low = was * a.rope[2 * i] - low[half] * a.rope[2 * i + 1];
            low[half] = low[half] * a.rope[2 * i] + was * a.rope[2 * i + 1];
        }
    return qkv;
}

static struct reference_layer layer_of(const struct batched_args &a, const void *weights)
{
    return {&a.shape, a.batch, a.context, a.capacity, weights, a.cache, a.rope, 1e-5, ROUNDS_NOT};
}

static void check_bits(const char *what, const void *bits, const double *right, uint64_t count)
{
    const double *found = widened(bits, count);
    const double error = reference_distance(found, right, count);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        wrong += !(fabs(found[i] - right[i]) <= 0x1.01p-8 * fabs(right[i]) + 8e-3);
    shim_check(error <= OPERATOR_ERROR && wrong == 0, "%s: error %.2g, %zu numbers wrong", what,
               error, (size_t)wrong);
}

static void check_rope(const struct batched_args &a, const double *qkv)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t each = (s.heads + s.kv_heads) * s.head_dim;
    for (uint32_t b = 0; b < a.batch; b++)
        check_bits("rope", (const uint16_t *)a.turned + b * each, qkv + b * all_heads(s), each);
}

// The new rows of the cache; all others are as they were.
static void check_rows(const struct batched_args &a, const double *qkv, const char *was)
{
    const struct decoder_shape &s = a.shape;
    const uint64_t half = decoder_cache_half(&s, a.batch, a.capacity);
    const uint32_t d = s.head_dim, rows = a.batch * s.kv_heads * a.capacity;
    for (uint32_t which = 0; which < 2; which++)
        for (uint32_t row = 0; row < rows; row++) {
            const uint16_t *now =
                (const uint16_t *)((const char *)a.cache + which * half) + row * d;
            const uint32_t pair = row / a.capacity, b = pair / s.kv_heads, kv = pair % s.kv_heads;
            if (row % a.capacity == a.context - 1)
                check_bits("append", now,
                           qkv + b * all_heads(s) + (s.heads + which * s.kv_heads + kv) * d, d);
            else
                shim_check(memcmp(now, was + which * half + row * d * 2, 2 * d) == 0,
                           "row %u of the cache is as it was", row);
        }
}

/* --- attention ----------------------------------------------------------------------------------- */

typedef void kernel(struct batched_args);

static kernel *attention_of(const struct batched_args &a)
{
    return a.shape.head_dim == 64                  ? batched_attention_64_4
           : a.shape.heads / a.shape.kv_heads <= 4 ? batched_attention_128_4
                                                   : batched_attention_128_8;
}
static kernel *look_of_args(const struct batched_args &a)
{
    return a.shape.head_dim == 64                  ? batched_look_64_4
           : a.shape.heads / a.shape.kv_heads <= 4 ? batched_look_128_4
                                                   : batched_look_128_8;
}

// What attention gives of q, k and v as they are handed over: in bf16.
static double *attended(const struct batched_args &a, const double *qkv)
{
    const struct decoder_shape &s = a.shape;
    double *right = (double *)shim_alloc(8ull * a.batch * row_of(s));
    double *handed = (double *)shim_alloc(8ull * a.batch * all_heads(s));
    const struct reference_layer l = layer_of(a, NULL);
    for (uint64_t i = 0; i < (uint64_t)a.batch * all_heads(s); i++)
        handed[i] = reference_rounded(qkv[i]);
    reference_attention(&l, handed, right);
    return right;
}

static void run_apart(struct batched_args &a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t eighth = s.head_dim / 8, pairs = a.batch * s.kv_heads;
    shim_launch(batched_rope, a,
                blocks((uint64_t)a.batch * (s.heads + s.kv_heads) * (eighth / 2), BATCHED_THREADS),
                BATCHED_THREADS, 0);
    if (!shim_fault("append"))
        shim_launch(batched_append, a, blocks(2ull * pairs * eighth, BATCHED_THREADS),
                    BATCHED_THREADS, 0);
    shim_launch(attention_of(a), a, pairs * a.splits, LOOK_THREADS, 0);
    if (a.splits > 1)
        shim_launch(batched_merge, a,
                    blocks((uint64_t)a.batch * s.heads * (s.head_dim / 4), LOOK_THREADS),
                    LOOK_THREADS, 0);
}

static void test_attention(const struct sizes &p)
{
    struct batched_args a = made(p);
    const struct decoder_shape &s = p.shape;
    const uint64_t bytes = 2 * decoder_cache_half(&s, p.batch, a.capacity);
    const uint64_t count = (uint64_t)p.batch * row_of(s);
    const double *qkv = rotated(a), *right = attended(a, qkv);
    char *was = (char *)shim_alloc(bytes);
    memcpy(was, a.cache, bytes);

    if (shim_fault("beyond"))
        a.context++;
    run_apart(a);
    check_rope(a, qkv);
    check_bits("attention", a.attention, right, count);
    check_rows(a, qkv, was);

    for (int i = 0; i < 2; i++) { // the tickets are as they were
        memset(a.attention, 0xff, 2 * count);
        memcpy(a.cache, was, bytes);
        memset(a.parts, 0xff, 4ull * p.batch * s.heads * p.splits * (LOOK_STATE + s.head_dim));
        if (shim_fault("ticket"))
            a.tickets[0] = 1;
        shim_launch(look_of_args(a), a, p.batch * s.kv_heads * p.splits, LOOK_THREADS, 0);
        check_bits("look", a.attention, right, count);
        check_rows(a, qkv, was);
    }
    for (uint32_t pair = 0; pair < p.batch * s.kv_heads; pair++)
        shim_check(a.tickets[pair] == 0, "ticket %u is %u", pair, a.tickets[pair]);
}

/* --- the others ---------------------------------------------------------------------------------- */

static void test_elements(const struct sizes &p)
{
    const struct batched_args a = made(p);
    const struct decoder_shape &s = p.shape;
    const uint64_t count = (uint64_t)p.batch * s.hidden;
    double *right = (double *)shim_alloc(8 * count),
           *h = (double *)shim_alloc(8ull * p.batch * s.ffn);
    size_t wrong = 0;

    shim_launch(batched_norm, a, p.batch, BATCHED_THREADS, 0);
    for (uint32_t b = 0; b < p.batch; b++) {
        double squares = 0;
        for (uint32_t i = 0; i < s.hidden; i++)
            squares += (double)a.residual[b * s.hidden + i] * a.residual[b * s.hidden + i];
        for (uint32_t i = 0; i < s.hidden; i++)
            right[b * s.hidden + i] = a.residual[b * s.hidden + i] /
                                      sqrt(squares / s.hidden + 1e-5) *
                                      half_bf16(((const uint16_t *)a.norm)[i]);
    }
    check_bits("norm", a.x, right, count);

    shim_launch(batched_silu, a, blocks((uint64_t)p.batch * (s.ffn / 8), BATCHED_THREADS),
                BATCHED_THREADS, 0);
    const double *gate_up = widened(a.gate_up, 2ull * p.batch * s.ffn);
    for (uint32_t i = 0; i < p.batch * s.ffn; i++) {
        const double gate = gate_up[i / s.ffn * 2 * s.ffn + i % s.ffn];
        h[i] = gate / (1 + exp(-gate)) * gate_up[i / s.ffn * 2 * s.ffn + s.ffn + i % s.ffn];
    }
    check_bits("silu", a.h, h, (uint64_t)p.batch * s.ffn);

    shim_launch(batched_add, a, blocks(count / 4, BATCHED_THREADS), BATCHED_THREADS, 0);
    for (uint64_t i = 0; i < count; i++)
        wrong += a.moved[i] != a.residual[i] + (float)half_bf16(((const uint16_t *)a.delta)[i]);
    shim_check(wrong == 0, "add: %zu numbers wrong", wrong);
}

/* --- the checks ---------------------------------------------------------------------------------- */

static void check_same(const char *what, const double *found, const double *right, uint64_t count)
{
    const double error = reference_distance(found, right, count);
    shim_check(error <= 1e-12, "%s of the checks: error %.2g", what, error);
}

static void multiply(struct batched_check_args a, enum decoder_matrix m, const char *weights,
                     const double *in, double *out)
{
    a.weights = weights + decoder_place(&a.shape, (int)m);
    a.rows = decoder_units(&a.shape, m) * decoder_unit_rows(m);
    a.columns = decoder_columns(&a.shape, m);
    a.in = in, a.out = out;
    shim_launch(batched_check_multiply, a,
                dim3(blocks(a.rows, CHECK_TILE), blocks(a.batch, CHECK_TILE)), CHECK_THREADS, 0);
}

// What one layer's operators give in float64, by the checks' kernels and by the CPU's reference.
static void test_checks(const struct sizes &p)
{
    const struct batched_args a = made(p);
    const struct decoder_shape &s = p.shape;
    const uint64_t b = p.batch, n = b * s.hidden;
    char *weights = (char *)shim_alloc(decoder_layer_bytes(&s));
    for (int m = 0; m < DECODER_MATRICES; m++)
        fill((uint16_t *)(weights + decoder_place(&s, m)),
             decoder_matrix_bytes(&s, (enum decoder_matrix)m) / 2,
             1 / sqrt(decoder_columns(&s, (enum decoder_matrix)m)), 0);
    for (int which = 0; which < 2; which++)
        fill((uint16_t *)(weights + decoder_norm_place(&s, which)), s.hidden, 0.1, 1);
    const struct reference_layer l = layer_of(a, weights);
    double *residual = (double *)shim_alloc(8 * n), *x = (double *)shim_alloc(8 * n);
    double *qkv = (double *)shim_alloc(8 * b * all_heads(s)),
           *its = (double *)shim_alloc(8 * b * all_heads(s));
    double *seen = (double *)shim_alloc(8 * b * row_of(s)),
           *looked = (double *)shim_alloc(8 * b * row_of(s));
    double *two = (double *)shim_alloc(8 * b * 2 * s.ffn), *h = (double *)shim_alloc(8 * b * s.ffn);
    double *right_h = (double *)shim_alloc(8 * b * s.ffn), *down = (double *)shim_alloc(8 * n);
    double *right_down = (double *)shim_alloc(8 * n);
    for (uint64_t i = 0; i < n; i++)
        residual[i] = a.residual[i];

    struct batched_check_args c = {};
    c.shape = s, c.batch = p.batch, c.context = a.context, c.capacity = a.capacity,
    c.epsilon = 1e-5;
    c.rope = a.rope, c.cache = a.cache;
    c.in = residual, c.out = x, c.columns = s.hidden,
    c.weights = weights + decoder_norm_place(&s, 0);
    shim_launch(batched_check_norm, c, p.batch, CHECK_THREADS, 0);
    multiply(c, DECODER_QKV, weights, x, qkv);
    c.out = qkv;
    shim_launch(batched_check_rotate, c, 2, CHECK_THREADS, 0);
    reference_qkv(&l, residual, its);
    check_same("q, k and v", qkv, its, b * all_heads(s));
    c.in = qkv, c.out = seen, c.scratch = (double *)shim_alloc(8 * 3 * a.context);
    shim_launch(batched_check_attention, c, 3, CHECK_THREADS, 0);
    reference_attention(&l, its, looked);
    check_same("attention", seen, looked, b * row_of(s));
    c.in = residual, c.out = x, c.weights = weights + decoder_norm_place(&s, 1);
    shim_launch(batched_check_norm, c, p.batch, CHECK_THREADS, 0);
    multiply(c, DECODER_GATE_UP, weights, x, two);
    c.in = two, c.out = h;
    shim_launch(batched_check_silu, c, 2, CHECK_THREADS, 0);
    reference_gate_up(&l, residual, right_h);
    check_same("gate and up", h, right_h, b * s.ffn);
    multiply(c, DECODER_DOWN, weights, h, down);
    reference_down(&l, right_h, right_down);
    check_same("down", down, right_down, n);
}

// Rows of heads, new rows of the cache, and the comparison: of a result that is right, and of one that is not.
static void test_comparison(const struct sizes &p)
{
    struct batched_args a = made(p);
    const struct decoder_shape &s = p.shape;
    const uint32_t count = 2 * p.batch * s.kv_heads * s.head_dim;
    double *qkv = rotated(a), *rows = (double *)shim_alloc(8 * count),
           *some = (double *)shim_alloc(8 * count);
    struct verdict verdict = {};
    run_apart(a);

    struct batched_check_args c = {};
    c.shape = s, c.batch = p.batch, c.context = a.context, c.capacity = a.capacity;
    c.in = qkv, c.out = some, c.rows = s.heads, c.columns = 2 * s.kv_heads;
    shim_launch(batched_check_heads, c, 2, CHECK_THREADS, 0);
    c.cache = a.cache, c.out = rows;
    shim_launch(batched_check_new_rows, c, 2, CHECK_THREADS, 0);
    if (shim_fault("row"))
        rows[count - 1] += 1;
    c.in = some, c.verdict = &verdict, c.count = count, c.relative = 0x1p-8, c.absolute = 8e-3;
    shim_launch(batched_check_judge, c, 2, CHECK_THREADS, 0);
    shim_check(verdict.wrong == 0 && verdict.looked_at == count,
               "%zu of %zu rows' numbers are wrong", (size_t)verdict.wrong,
               (size_t)verdict.looked_at);
    rows[3] = -rows[3] - 1;
    verdict = {};
    if (shim_fault("stale"))
        c.count = 3;
    shim_launch(batched_check_judge, c, 2, CHECK_THREADS, 0);
    shim_check(verdict.wrong == 1, "the one number that is wrong is seen");
}

static void shim_test(void)
{
    test_attention({{64, 4, 2, 64, 64, 50}, 2, 70, 3}); // splits of 24 keys, 2 of them with fewer
    test_attention(
        {{64, 3, 1, 128, 64, 50}, 1, 33, 1}); // one split: the new key is a turn of its own
    if (shim.order == 0)
        test_attention({{64, 8, 1, 128, 64, 50}, 1, 41, 32}); // splits without a key
    if (shim.order == 1)
        test_attention({{64, 1, 1, 64, 64, 50}, 3, 2, 1});
    test_elements({{1096, 3, 1, 64, 72, 50}, 3, 9, 1});
    if (shim.order == 2)
        test_checks({{72, 6, 2, 64, 136, 50}, 67, 5, 1});
    test_comparison({{64, 4, 2, 64, 64, 50}, 2, 9, 1});
}
