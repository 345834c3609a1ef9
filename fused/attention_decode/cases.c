/* attention_decode: one way at one shape, and the cases that the claims ask for. */
#include "fused/attention_decode/cases.h"

#include <math.h>
#include <stdio.h>

static const struct condition cold = {.cold = true};
static const struct decode_reference none = {NAN, NAN};

/* --- one way, timed -------------------------------------------------------------------------- */

struct decode_shape decode_shape_of(int batch, int context, enum decode_number number)
{
    return (struct decode_shape){
        .batch = batch, .context = context, .heads = 32, .kv_heads = 8, .d = 128, .number = number};
}

void decode_keys_of(const struct decode_shape *s, char *keys, size_t size)
{
    snprintf(keys, size, "batch=%d,context=%d,heads=%d,kv_heads=%d,d=%d,type=%s", s->batch,
             s->context, s->heads, s->kv_heads, s->d, decode_number_names[s->number]);
}

double decode_measure_way(struct probe_run *r, const struct decode_tensors *t, enum decode_how how,
                          const char *name, struct condition c, unsigned flags,
                          struct decode_reference reference)
{
    const struct decode_way way = {t, how};
    const struct operation o = decode_operation(&way, name);
    const double new_rows = decode_new_row_bytes(&way);
    char keys[128];

    decode_keys_of(&t->shape, keys, sizeof keys);
    const double ns = operation_measure(r, keys, &o, c, flags, reference.copy_ns);
    if (isnan(ns))
        return NAN;
    if (!isnan(reference.read_ns) && how != DECODE_READ)
        probe_value(r, SHARE_OF_READ, reference.read_ns / ns);
    if (new_rows > 0 && !c.stream)
        probe_value(r, NEW_ROW_BYTES, new_rows);
    probe_fact(r, "splits", "%u", t->splits);
    return ns;
}

void decode_measure_ways(struct probe_run *r, const struct decode_kernels *k,
                         struct decode_shape shape, const struct decode_named_way *ways, size_t n,
                         unsigned flags)
{
    bool wide = false;
    shape.set_bytes = decode_kv_bytes(&shape);
    for (size_t i = 0; i < n; i++) {
        wide |= ways[i].how == DECODE_WIDEN;
        shape.set_bytes = fmin(shape.set_bytes, decode_set_bytes(&shape, ways[i].how));
    }
    struct decode_tensors t = decode_tensors_of(r, k, shape, wide, operation_seed(r, flags));
    for (size_t i = 0; i < n; i++)
        decode_measure_way(r, &t, ways[i].how, ways[i].name, cold, flags, none);
    decode_tensors_free(r, &t);
}

/* --- what the claims ask --------------------------------------------------------------------- */

/* Attention by context, and by batch at 8192 keys: what decode_measure_8bit, the shares and the
 * headline leave out of the curves. A cache of a type is compared with a read of as many bytes. */
void decode_measure_curves(struct probe_run *r, const struct decode_kernels *k)
{
    static const int contexts[] = {1024, 4096, 65536, 131072}, batches[] = {2, 4, 16, 32};
    for (size_t i = 0; i < PROBE_LENGTH(contexts); i++) {
        struct decode_reference reference = none;
        for (enum decode_number n = DECODE_E4M3; n < N_DECODE_NUMBERS; n++) {
            const struct decode_shape shape = decode_shape_of(1, contexts[i], n);
            struct decode_tensors t =
                decode_tensors_of(r, k, shape, false, operation_seed(r, PROBE_THRICE));
            if (n == DECODE_E4M3)
                reference.read_ns =
                    decode_measure_way(r, &t, DECODE_READ, "read", cold, PROBE_THRICE, none);
            decode_measure_way(r, &t, DECODE_ATTEND, "attention", cold, PROBE_THRICE, reference);
            decode_tensors_free(r, &t);
        }
    }
    for (size_t i = 0; i < PROBE_LENGTH(batches); i++)
        DECODE_MEASURE_WAYS(r, k, decode_shape_of(batches[i], 8192, DECODE_BF16), PROBE_THRICE,
                            {DECODE_ATTEND, "attention"});
    for (enum decode_number n = DECODE_E4M3; n < N_DECODE_NUMBERS; n++)
        for (int batch = 8; batch <= 64; batch *= 8)
            DECODE_MEASURE_WAYS(r, k, decode_shape_of(batch, 8192, n), PROBE_THRICE,
                                {DECODE_ATTEND, "attention"});
}

/* An 8-bit cache, dequantised in registers or beforehand. In every round, as verdicts rest on
 * it. */
void decode_measure_8bit(struct probe_run *r, const struct decode_kernels *k)
{
    DECODE_MEASURE_WAYS(r, k, decode_shape_of(1, 8192, DECODE_E4M3), 0,
                        {DECODE_WIDEN, "dequantised"});
    DECODE_MEASURE_WAYS(r, k, decode_shape_of(1, 8192, DECODE_E4M3), 0, {DECODE_APPEND, "append"},
                        {DECODE_APPEND_3, "append_separate"});
    DECODE_MEASURE_WAYS(r, k, decode_shape_of(1, 8192, DECODE_INT8), 0,
                        {DECODE_ATTEND, "attention"}, {DECODE_WIDEN, "dequantised"});
    for (enum decode_number n = DECODE_BF16; n <= DECODE_E4M3; n++)
        DECODE_MEASURE_WAYS(r, k, decode_shape_of(8, 32768, n), 0, {DECODE_ATTEND, "attention"});
}

void decode_measure_8bit_beside(struct probe_run *r, const struct decode_kernels *k)
{
    for (enum decode_number n = DECODE_E4M3; n < N_DECODE_NUMBERS; n++)
        DECODE_MEASURE_WAYS(r, k, decode_shape_of(1, 32768, n), PROBE_THRICE,
                            {DECODE_ATTEND, "attention"}, {DECODE_WIDEN, "dequantised"});
    DECODE_MEASURE_WAYS(r, k, decode_shape_of(8, 32768, DECODE_INT8), PROBE_THRICE,
                        {DECODE_ATTEND, "attention"});
}

void decode_measure_layouts(struct probe_run *r, const struct decode_kernels *k)
{
    static const struct decode_named_way ways[] = {[DECODE_BY_TOKEN] = {DECODE_ATTEND, "by_token"},
                                                   [DECODE_PAGES_16] = {DECODE_ATTEND, "pages_16"},
                                                   [DECODE_PAGES_64] = {DECODE_ATTEND, "pages_64"}};
    for (enum decode_layout l = DECODE_BY_TOKEN; l <= DECODE_PAGES_64; l++) {
        struct decode_shape shape = decode_shape_of(1, 8192, DECODE_BF16);
        shape.layout = l;
        decode_measure_ways(r, k, shape, &ways[l], 1, PROBE_THRICE);
    }
}

/* New rows of many sequences: the slope from 512 to 1024 sequences is the cost of a pass over
 * them. */
void decode_measure_new_rows(struct probe_run *r, const struct decode_kernels *k)
{
    for (int batch = 512; batch <= 1024; batch *= 2)
        DECODE_MEASURE_WAYS(r, k, decode_shape_of(batch, 16, DECODE_BF16), 0,
                            {DECODE_KV, "append_kv"}, {DECODE_KV_2, "rope_then_append"},
                            {DECODE_KV_PLAIN, "append_plain"});
}

void decode_measure_steps_beside(struct probe_run *r, const struct decode_kernels *k)
{
    DECODE_MEASURE_WAYS(r, k, decode_shape_of(64, 1024, DECODE_BF16), PROBE_THRICE,
                        {DECODE_FUSED, "fused"}, {DECODE_TWO, "two"}, {DECODE_THREE, "unfused"});
    DECODE_MEASURE_WAYS(r, k, decode_shape_of(1, 1024, DECODE_BF16), PROBE_THRICE,
                        {DECODE_FUSED, "fused"}, {DECODE_TWO, "two"}, {DECODE_THREE, "unfused"});
}

static const struct model {
    const char *name;
    int d, layers;
    double weights; /* of all layers and of the last product */
} model_8b = {"8b", 128, 32, 32 * 218103808.0 + 128256.0 * 4096},
  model_1b = {"1b", 64, 16, 16 * 60817408.0 + 128256.0 * 2048};

/* ns of attention in all layers; 8192 keys of one sequence with d = 128 have been measured
 * already. */
static double attention_ns(struct probe_run *r, const struct decode_kernels *k,
                           struct decode_measured m, const struct model *of, int batch, int context,
                           unsigned flags)
{
    struct decode_shape shape = decode_shape_of(batch, context, DECODE_BF16);
    if (of->d == 128 && batch == 1 && context == 8192)
        return of->layers * m.at_8192_ns;
    shape.d = of->d;
    struct decode_tensors t = decode_tensors_of(r, k, shape, false, operation_seed(r, flags));
    const double ns = decode_measure_way(r, &t, DECODE_ATTEND, "attention", cold, flags, none);
    decode_tensors_free(r, &t);
    return of->layers * ns;
}

static void measure_token(struct probe_run *r, const struct decode_kernels *k,
                          struct decode_measured m, const struct model *of, int context,
                          unsigned flags)
{
    const double ns = attention_ns(r, k, m, of, 1, context, flags);
    if (probe_begin_case(r, flags, "shape=%s,context=%d", of->name, context))
        probe_value(r, SHARE_OF_TOKEN, ns / (ns + 2 * of->weights / m.read_rate));
}

/* Weights are read once for all sequences of a batch, keys and values for each. */
static void measure_step_share(struct probe_run *r, const struct decode_kernels *k,
                               struct decode_measured m, int batch, int context)
{
    const struct model *of = &model_8b;
    const struct decode_shape shape = decode_shape_of(batch, context, DECODE_BF16);
    const double ns = attention_ns(r, k, m, of, batch, context, 0);
    const double kv = of->layers * decode_kv_bytes(&shape), weights = 2 * of->weights;

    if (!probe_begin_case(r, 0, "shape=%s,batch=%d,context=%d", of->name, batch, context))
        return;
    probe_value(r, SHARE_OF_STEP, ns / (ns + weights / m.read_rate));
    probe_value(r, BYTE_SHARE, kv / (kv + weights));
}

/* In every round, as verdicts rest on it. */
void decode_measure_shares(struct probe_run *r, const struct decode_kernels *k,
                           struct decode_measured m)
{
    measure_token(r, k, m, &model_8b, 1024, 0);
    measure_token(r, k, m, &model_8b, 8192, 0);
    measure_token(r, k, m, &model_8b, 131072, 0);
    measure_token(r, k, m, &model_1b, 1024, 0);
    measure_step_share(r, k, m, 1, 8192);
    measure_step_share(r, k, m, 8, 8192);
    measure_step_share(r, k, m, 64, 1024);
    measure_step_share(r, k, m, 64, 8192);
}

void decode_measure_shares_beside(struct probe_run *r, const struct decode_kernels *k,
                                  struct decode_measured m)
{
    static const int contexts[] = {4096, 8192, 32768, 131072};
    measure_token(r, k, m, &model_8b, 4096, PROBE_THRICE);
    measure_token(r, k, m, &model_8b, 32768, PROBE_THRICE);
    for (size_t i = 0; i < PROBE_LENGTH(contexts); i++)
        measure_token(r, k, m, &model_1b, contexts[i], PROBE_THRICE);
}
