/* softmax: are the results right? The GPU compares all rows with float64, the CPU some. */
#include <math.h>
#include <stdlib.h>

#include "core/half.h"
#include "fused/softmax/softmax.h"

static double as_double(enum gpu_type type, const void *elements, size_t i)
{
    return type == GPU_FP16   ? half_fp16(((const uint16_t *)elements)[i])
           : type == GPU_BF16 ? half_bf16(((const uint16_t *)elements)[i])
                              : (double)((const float *)elements)[i];
}

/* Checks a row on the CPU, in double. The relative error may be 2 unit roundoffs of the type; where
 * each operator rounds the logits, which are at most 16, another 4 x 16. */
static size_t wrong_on_host(const struct softmax *t, enum gpu_type type, bool is_fused,
                            const void *in, const void *out, uint32_t length)
{
    const double unit = type == GPU_FP16   ? HALF_FP16_UNIT
                        : type == GPU_BF16 ? HALF_BF16_UNIT
                                           : 0x1p-24;
    const double tiny = type == GPU_FP16 ? 0x1p-24 : 1e-38;
    double most = -INFINITY, sum = 0;
    size_t wrong = 0;

    for (uint32_t i = 0; i < length; i++)
        most = fmax(most, as_double(type, in, i));
    for (uint32_t i = 0; i < length; i++)
        sum += exp((double)t->scale * (as_double(type, in, i) - most));
    for (uint32_t i = 0; i < t->cols; i++) {
        double x = (double)t->scale * (as_double(type, in, i) - most);
        double p = i < length ? exp(x) / sum : 0;
        double bound = p * (2 * unit + 4e-6 + (is_fused ? 0 : 64 * unit)) + tiny;
        wrong += !(fabs(as_double(type, out, i) - p) <= bound);
    }
    return wrong;
}

void softmax_check_on_host(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, const char *when)
{
    enum { ROWS = 8, ELEMENTS = 1 << 17 };
    const struct softmax *t = s->own;
    const bool is_fused = ((const struct softmax_form *)f->plan)->chain == WHOLE;
    const size_t row_bytes = 16 * (size_t)t->vectors;
    char *in = probe_host_alloc(r, row_bytes), *out = probe_host_alloc(r, row_bytes);
    uint32_t n = ELEMENTS / t->cols < ROWS ? ELEMENTS / t->cols : ROWS, length;
    n = n > 0 ? n : 1; /* a long row is looked at whole */
    size_t wrong = 0;

    for (uint32_t i = 0; i < n && i < t->rows; i++) {
        const size_t row = i + 1 == n ? t->rows - 1 : i;
        gpu_to_host(r, in, t->in.memory + row * row_bytes, row_bytes);
        gpu_to_host(r, out, t->out.memory + row * row_bytes, row_bytes);
        gpu_to_host(r, &length, t->lengths + row, sizeof length);
        wrong += wrong_on_host(t, (enum gpu_type)s->shape.type, is_fused, in, out, length);
    }
    probe_require(r, wrong == 0, "%s: %zu elements differ from the CPU's in double", when, wrong);
    free(in);
    free(out);
}

struct verdict softmax_run_verifier(struct probe_run *r, const struct softmax *t, bool is_fused,
                                    bool all, uint64_t *due)
{
    const uint64_t step = all || t->rows < 1000 ? 1 : 61;
    struct softmax_verify_args a = {.in = t->in.memory,
                                    .out = t->out.memory,
                                    .lengths = t->lengths,
                                    .verdict = verdict_clear(r),
                                    .rows = t->rows,
                                    .first = probe_seed(r) % step,
                                    .step = step,
                                    .cols = t->cols,
                                    .vectors = t->vectors,
                                    .is_fused = is_fused,
                                    .scale = t->scale};
    gpu_launch(r, t->k.verify, t->rows < 4096 ? t->rows : 4096, SOFTMAX_SMALL_THREADS, 0, &a);
    *due = (t->rows - a.first + step - 1) / step * t->vectors * t->k.lanes;
    return verdict_fetch(r);
}

struct verdict softmax_verify(struct probe_run *r, const struct operator_set *s,
                              const struct operator_form *f, bool all, uint64_t *due)
{
    const struct softmax *t = s->own;
    const bool is_fused = ((const struct softmax_form *)f->plan)->chain == WHOLE;
    const struct verdict v = softmax_run_verifier(r, t, is_fused, all, due);
    uint32_t aborted;
    gpu_to_host(r, &aborted, &t->state->aborted, sizeof aborted);
    probe_require(r, !aborted, "%s: no block waited for another in vain", f->name);
    return v;
}
