#include "fused/attention_decode/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"
#include "core/half.h"

/* Dimension 0 of every key becomes a constant, and dimension 0 of the queries is set so that their
 * product is the shift. The rest of the queries adds about N(0,1) to the score. */
void decode_plant(struct probe_run *r, const struct decode_tensors *t,
                  const struct decode_extreme *e)
{
    const struct decode_shape *s = &t->shape;
    const size_t row = (size_t)s->d, bytes = t->k_bytes, q_bytes = 2 * (size_t)(s->heads * s->d);
    const size_t rows = bytes / row / (s->number == DECODE_BF16 ? 2 : 1);
    const double constant = s->number == DECODE_INT8 ? 64 : 256;
    const int smaller = s->number == DECODE_E4M3 ? 7 : s->number == DECODE_INT8 ? 5 : 0;
    uint8_t *k = probe_host_alloc(r, bytes);
    uint16_t *q = probe_host_alloc(r, q_bytes), first;
    float value = (float)(e->shift * sqrt(s->d) / constant), ones[2 * ATTENTION_HEADS];
    uint32_t bits;

    gpu_to_host(r, k, t->cache.memory, bytes);
    gpu_to_host(r, q, t->q, q_bytes);
    for (size_t i = 0; i < rows; i++) {
        const bool high = e->one_high && i % 100 == 50; /* each head has some of these */
        if (s->number == DECODE_BF16)
            memcpy(k + 2 * i * row, &(uint16_t){high ? 0xc380 : 0x4380}, 2);
        else
            k[i * row] = s->number == DECODE_E4M3 ? (high ? 0xf8 : 0x78) : (high ? 0xc0 : 0x40);
    }
    memcpy(&bits, &value, sizeof bits);
    first = (uint16_t)(bits >> 16);
    for (size_t i = 0; i < q_bytes / 2; i++)
        if (i % row == 0)
            q[i] = first;
        else if ((q[i] >> 7 & 255) > smaller)
            q[i] = (uint16_t)(q[i] - (smaller << 7));
    gpu_to_device(r, t->cache.memory, k, bytes);
    gpu_to_device(r, t->q, q, q_bytes);
    for (int i = 0; i < 2 * s->kv_heads; i++)
        ones[i] = 1;
    if (t->scales)
        gpu_to_device(r, t->scales, ones, 2 * (size_t)s->kv_heads * sizeof *ones);
    free(k);
    free(q);
}

/* One query head: out[d] from scores[keys]. Rows are row_elements apart. */
static void attend_on_host(const struct decode_shape *s, const uint16_t *q, const uint16_t *k,
                           const uint16_t *v, size_t row_elements, double *scores, double *out)
{
    double most = -INFINITY, sum = 0;
    for (int key = 0; key < s->context; key++) {
        const uint16_t *row = k + (size_t)key * row_elements;
        double score = 0;
        for (int i = 0; i < s->d; i++)
            score += half_bf16(q[i]) * half_bf16(row[i]);
        scores[key] = score / sqrt(s->d);
        most = fmax(most, scores[key]);
    }
    memset(out, 0, (size_t)s->d * sizeof *out);
    for (int key = 0; key < s->context; key++) {
        const double p = exp(scores[key] - most);
        sum += p;
        for (int i = 0; i < s->d; i++)
            out[i] += p * half_bf16(v[(size_t)key * row_elements + (size_t)i]);
    }
    for (int i = 0; i < s->d; i++)
        out[i] /= sum;
}

void decode_check_on_host(struct probe_run *r, const struct decode_tensors *t)
{
    const struct decode_shape *s = &t->shape;
    const struct kv_cache c = decode_cache(t, 0);
    const size_t d = (size_t)s->d, count = (size_t)(s->batch * s->heads) * d;
    const size_t bytes = t->v_at + t->k_bytes;
    uint16_t *cache = probe_host_alloc(r, bytes), *q = probe_host_alloc(r, 2 * count);
    uint16_t *got = probe_host_alloc(r, 2 * count);
    double *scores = probe_host_alloc(r, (size_t)s->context * sizeof *scores), out[128];
    double error = 0, norm = 0;

    gpu_to_host(r, cache, t->cache.memory, bytes);
    gpu_to_host(r, q, t->q, 2 * count);
    gpu_to_host(r, got, t->out.memory, 2 * count);
    for (size_t row = 0; row < (size_t)(s->batch * s->heads); row++) {
        const size_t head = row % (size_t)s->heads / (size_t)(s->heads / s->kv_heads);
        const size_t at = (row / (size_t)s->heads * c.sequence_stride + head * c.head_stride) / 2;
        attend_on_host(s, q + row * d, cache + at, cache + t->v_at / 2 + at, c.row_stride / 2,
                       scores, out);
        for (size_t i = 0; i < d; i++) {
            const double apart = half_bf16(got[row * d + i]) - out[i];
            error += apart * apart;
            norm += out[i] * out[i];
        }
    }
    probe_require(r, sqrt(error / norm) <= HALF_BF16_UNIT,
                  "%zu outputs are as computed on the CPU in double, error %.2g", count,
                  sqrt(error / norm));
    free(cache);
    free(q);
    free(got);
    free(scores);
}

/* Every way at shapes drawn at random: batches, contexts, groups, layouts, splits. */
void decode_check_shapes(struct probe_run *r, const struct decode_kernels *k)
{
    static const int contexts[] = {1, 2, 15, 16, 17, 31, 33, 127, 128, 129, 251, 509};
    static const int splits[] = {0, 3, 6, 19}; /* 0: chosen; 19: with many heads not all resident */
    static const enum decode_how ways[] = {
        DECODE_ATTEND, DECODE_TICKET, DECODE_MERGE,   DECODE_FUSED,  DECODE_TWO,
        DECODE_THREE,  DECODE_WIDEN,  DECODE_READ,    DECODE_APPEND, DECODE_APPEND_3,
        DECODE_KV,     DECODE_KV_2,   DECODE_KV_PLAIN};
    enum { SHAPES = 48 };
    uint64_t state = probe_seed(r);
    char keys[32];

    for (int i = 0; i < SHAPES; i++) {
        struct decode_shape s = {.d = 128, .number = (enum decode_number)(i % N_DECODE_NUMBERS)};
        s.batch = 1 + (int)draw_below(&state, 3);
        s.kv_heads = 1 + (int)draw_below(&state, 3);
        s.heads = s.kv_heads * (1 + (int)draw_below(&state, 8));
        s.context = contexts[draw_below(&state, PROBE_LENGTH(contexts))];
        s.layout = i < 8 ? DECODE_BY_HEAD : (enum decode_layout)draw_below(&state, 4);
        s.splits = splits[draw_below(&state, PROBE_LENGTH(splits))];
        if (i % 12 == 0) {
            s.d = 64;
            s.number = DECODE_BF16;
            s.layout = DECODE_BY_HEAD;
        }
        const bool wide = decode_takes(&s, DECODE_WIDEN);
        struct decode_tensors t = decode_tensors_of(r, k, s, wide, state);
        for (size_t w = 0; w < PROBE_LENGTH(ways); w++) {
            if (!decode_takes(&s, ways[w]))
                continue;
            const struct decode_way way = {&t, ways[w]};
            const struct operation o = decode_operation(&way, "any");
            snprintf(keys, sizeof keys, "shape=%d", i);
            operation_measure(r, keys, &o, (struct condition){0}, 0, NAN);
            if (ways[w] == DECODE_ATTEND && s.number == DECODE_BF16 && !t.pages)
                decode_check_on_host(r, &t);
        }
        decode_tensors_free(r, &t);
    }
    probe_note(r, "%d random shapes checked", (int)SHAPES);
}
