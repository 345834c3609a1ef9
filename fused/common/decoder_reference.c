#include "fused/common/decoder/reference.h"

#include <math.h>
#include <string.h>

/* --- numbers ---------------------------------------------------------------------------------- */

static double fp32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

double reference_bf16(uint16_t bits)
{
    return fp32_of((uint32_t)bits << 16);
}

double reference_rounded(double value)
{
    int exponent;
    const double fraction = frexp(value, &exponent); /* 8 bits of it are kept */
    return isfinite(value) ? ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8) : value;
}

static double rounded_if(const struct reference_layer *l, double value)
{
    return l->rounds == ROUNDS_NOT ? value : reference_rounded(value);
}

void reference_widen(const uint32_t *words, uint32_t stride, uint64_t count, uint32_t half,
                     double *to)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t word = words[i * stride];
        const uint64_t low = half ? i / half * 2 * half + i % half : 2 * i;
        to[low] = reference_bf16((uint16_t)word);
        to[low + (half ? half : 1)] = reference_bf16((uint16_t)(word >> 16));
    }
}

void reference_widen_fp32(const uint32_t *words, uint32_t stride, uint64_t count, double *to)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] = fp32_of(words[i * stride]);
}

double reference_distance(const double *values, const double *reference, uint64_t count)
{
    double error = 0, norm = 0;
    for (uint64_t i = 0; i < count; i++) {
        error += (values[i] - reference[i]) * (values[i] - reference[i]);
        norm += reference[i] * reference[i];
    }
    return sqrt(error / norm);
}

/* --- products --------------------------------------------------------------------------------- */

static double dot(const uint16_t *row, const double *x, uint32_t columns)
{
    double sum = 0;
    for (uint32_t i = 0; i < columns; i++)
        sum += reference_bf16(row[i]) * x[i];
    return sum;
}

/* An element of x behind a norm, the norm's factor in it. */
static double normed(const struct reference_layer *l, double residual, double weight, double factor)
{
    if (l->rounds == ROUNDS_BEFORE)
        return reference_rounded(residual * weight) * factor;
    return rounded_if(l, residual * weight * factor);
}

static double factor_of(const struct reference_layer *l, const double *residual)
{
    double squares = 0;
    for (uint32_t i = 0; i < l->shape->hidden; i++)
        squares += residual[i] * residual[i];
    return 1 / sqrt(squares / l->shape->hidden + l->epsilon);
}

/* `n` rows of a matrix, at most ROWS, times the norm of a sequence's residual. What stands behind
 * the norm is computed once for all of them. */
enum { ROWS = 64, CHUNK = 1024 };
static void dot_normed(const struct reference_layer *l, const uint16_t *rows, uint32_t n,
                       const uint16_t *weights, const double *residual, double factor, double *out)
{
    const uint32_t hidden = l->shape->hidden;
    double x[CHUNK];
    for (uint32_t row = 0; row < n; row++)
        out[row] = 0;
    for (uint32_t from = 0; from < hidden; from += CHUNK) {
        const uint32_t count = hidden - from < CHUNK ? hidden - from : CHUNK;
        for (uint32_t i = 0; i < count; i++)
            x[i] = normed(l, residual[from + i], reference_bf16(weights[from + i]), factor);
        for (uint32_t row = 0; row < n; row++) {
            const uint16_t *of = rows + (uint64_t)row * hidden + from;
            double sum = out[row];
            for (uint32_t i = 0; i < count; i++)
                sum += reference_bf16(of[i]) * x[i];
            out[row] = sum;
        }
    }
}

static uint32_t rows_from(uint32_t first, uint32_t end)
{
    return end - first < ROWS ? end - first : ROWS;
}

static const uint16_t *at(const struct reference_layer *l, uint64_t place)
{
    return (const uint16_t *)((const char *)l->weights + place);
}

static const uint16_t *matrix(const struct reference_layer *l, enum decoder_matrix m, uint64_t row)
{
    return at(l, decoder_place(l->shape, (int)m)) + row * decoder_columns(l->shape, m);
}

/* --- the steps -------------------------------------------------------------------------------- */

void reference_qkv(const struct reference_layer *l, const double *residual, double *qkv)
{
    const struct decoder_shape *s = l->shape;
    const uint32_t d = s->head_dim, half = d / 2, heads = s->heads + 2 * s->kv_heads;
    const uint16_t *norm = at(l, decoder_norm_place(s, 0));

    for (uint32_t b = 0; b < l->batch; b++) {
        const double *in = residual + (uint64_t)b * s->hidden;
        double *out = qkv + (uint64_t)b * heads * d;
        const double factor = factor_of(l, in);
        for (uint32_t row = 0; row < heads * d; row += ROWS)
            dot_normed(l, matrix(l, DECODER_QKV, row), rows_from(row, heads * d), norm, in, factor,
                       out + row);
        for (uint32_t head = 0; head < s->heads + s->kv_heads; head++)
            for (uint32_t i = 0; i < half; i++) {
                double *low = out + head * d + i, *high = low + half;
                const double cosine = l->rope[2 * i], sine = l->rope[2 * i + 1], was = *low;
                *low = was * cosine - *high * sine;
                *high = *high * cosine + was * sine;
            }
    }
}

/* A key or a value of a kv head, element i: old ones of the cache, the new one of qkv. */
static double element(const struct reference_layer *l, const double *qkv, uint32_t b, uint32_t kv,
                      int is_value, uint32_t key, uint32_t i)
{
    const struct decoder_shape *s = l->shape;
    const uint32_t d = s->head_dim, head = s->heads + (is_value ? s->kv_heads : 0) + kv;
    const uint64_t half = decoder_cache_half(s, l->batch, l->capacity) / 2;
    const uint64_t row = ((uint64_t)b * s->kv_heads + kv) * l->capacity + key;
    if (key + 1 == l->context)
        return qkv[((uint64_t)b * (s->heads + 2 * s->kv_heads) + head) * d + i];
    return reference_bf16(((const uint16_t *)l->cache)[(is_value ? half : 0) + row * d + i]);
}

static double score(const struct reference_layer *l, const double *qkv, uint32_t b, uint32_t head,
                    uint32_t key)
{
    const struct decoder_shape *s = l->shape;
    const uint32_t d = s->head_dim, kv = head / (s->heads / s->kv_heads);
    const double *q = qkv + ((uint64_t)b * (s->heads + 2 * s->kv_heads) + head) * d;
    double sum = 0;
    for (uint32_t i = 0; i < d; i++)
        sum += q[i] * element(l, qkv, b, kv, 0, key, i);
    return sum / sqrt(d);
}

void reference_attention(const struct reference_layer *l, const double *qkv, double *attention)
{
    const struct decoder_shape *s = l->shape;
    const uint32_t d = s->head_dim, group = s->heads / s->kv_heads;

    for (uint32_t b = 0; b < l->batch; b++)
        for (uint32_t head = 0; head < s->heads; head++) {
            double *out = attention + ((uint64_t)b * s->heads + head) * d;
            double most = -INFINITY, sum = 0;
            for (uint32_t key = 0; key < l->context; key++)
                most = fmax(most, score(l, qkv, b, head, key));
            for (uint32_t i = 0; i < d; i++)
                out[i] = 0;
            for (uint32_t key = 0; key < l->context; key++) {
                const double p = exp(score(l, qkv, b, head, key) - most);
                sum += p;
                for (uint32_t i = 0; i < d; i++)
                    out[i] += p * element(l, qkv, b, head / group, 1, key, i);
            }
            for (uint32_t i = 0; i < d; i++)
                out[i] /= sum;
        }
}

static void multiply(const struct reference_layer *l, enum decoder_matrix m, const double *x,
                     double *out)
{
    const uint32_t columns = decoder_columns(l->shape, m);
    for (uint32_t b = 0; b < l->batch; b++)
        for (uint32_t row = 0; row < l->shape->hidden; row++)
            out[(uint64_t)b * l->shape->hidden + row] =
                dot(matrix(l, m, row), x + (uint64_t)b * columns, columns);
}

void reference_o(const struct reference_layer *l, const double *attention, double *o)
{
    multiply(l, DECODER_O, attention, o);
}

void reference_down(const struct reference_layer *l, const double *h, double *down)
{
    multiply(l, DECODER_DOWN, h, down);
}

void reference_gate_up(const struct reference_layer *l, const double *residual, double *h)
{
    const struct decoder_shape *s = l->shape;
    const uint16_t *norm = at(l, decoder_norm_place(s, 1));

    for (uint32_t b = 0; b < l->batch; b++) {
        const double *in = residual + (uint64_t)b * s->hidden;
        const double factor = factor_of(l, in);
        for (uint32_t row = 0; row < s->ffn; row += ROWS) {
            const uint32_t n = rows_from(row, s->ffn);
            double gate[ROWS], up[ROWS];
            dot_normed(l, matrix(l, DECODER_GATE_UP, row), n, norm, in, factor, gate);
            dot_normed(l, matrix(l, DECODER_GATE_UP, s->ffn + row), n, norm, in, factor, up);
            for (uint32_t i = 0; i < n; i++)
                h[(uint64_t)b * s->ffn + row + i] = gate[i] / (1 + exp(-gate[i])) * up[i];
        }
    }
}

/* --- a layer, and the head -------------------------------------------------------------------- */

static void hand_over(const struct reference_layer *l, double *values, uint64_t each)
{
    for (uint64_t i = 0; i < l->batch * each; i++)
        values[i] = rounded_if(l, values[i]);
}

static void add(const struct reference_layer *l, double *residual, const double *more)
{
    for (uint64_t i = 0; i < (uint64_t)l->batch * l->shape->hidden; i++)
        residual[i] += more[i];
}

void reference_whole_layer(const struct reference_layer *l, double *residual,
                           const struct reference_values *v)
{
    const struct decoder_shape *s = l->shape;
    reference_qkv(l, residual, v->qkv);
    hand_over(l, v->qkv, (uint64_t)(s->heads + 2 * s->kv_heads) * s->head_dim);
    reference_attention(l, v->qkv, v->attention);
    hand_over(l, v->attention, (uint64_t)s->heads * s->head_dim);
    reference_o(l, v->attention, v->o);
    add(l, residual, v->o);
    reference_gate_up(l, residual, v->h);
    hand_over(l, v->h, s->ffn);
    reference_down(l, v->h, v->down);
    add(l, residual, v->down);
}

void reference_head(const struct reference_layer *l, const void *head, const void *norm,
                    const double *residual, double *logits)
{
    const struct decoder_shape *s = l->shape;
    for (uint32_t b = 0; b < l->batch; b++) {
        const double *in = residual + (uint64_t)b * s->hidden;
        const double factor = factor_of(l, in);
        for (uint32_t row = 0; row < s->vocabulary; row += ROWS)
            dot_normed(l, (const uint16_t *)head + (uint64_t)row * s->hidden,
                       rows_from(row, s->vocabulary), (const uint16_t *)norm, in, factor,
                       logits + (uint64_t)b * s->vocabulary + row);
    }
}

uint32_t reference_choice(const double *logits, uint32_t vocabulary)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < vocabulary; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}
