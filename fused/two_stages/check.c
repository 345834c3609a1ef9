#include "fused/two_stages/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"

PROBE_IMAGE(two_stages_check);

enum { ON_HOST = 1 << 20, HOST_ITEMS = 3 }; /* weights of a matrix, items: of a check on the CPU */

struct stages_check stages_check_open(struct probe_run *r, const struct stages *s)
{
    const size_t size = sizeof(struct two_stages_verify_args);
    const size_t bytes = 4 * (size_t)s->items * s->shape.hidden;
    struct stages_check c = {
        .k_reference = gpu_kernel(r, &image_two_stages_check, "two_stages_reference", size),
        .k_verify = gpu_kernel(r, &image_two_stages_check, "two_stages_verify", size),
        .h = gpu_alloc(r, 8 * (size_t)s->items * s->shape.ffn, "h in fp64"),
        .found = probe_host_alloc(r, bytes)};
    for (int order = 0; order < N_STAGES_ORDERS; order++)
        c.expected[order] = probe_host_alloc(r, bytes);
    return c;
}

void stages_check_close(struct probe_run *r, struct stages_check *c)
{
    gpu_release(r, c->h);
    free(c->found);
    for (int order = 0; order < N_STAGES_ORDERS; order++)
        free(c->expected[order]);
}

struct verdict stages_verdict(struct probe_run *r, const struct stages_check *c,
                              const struct stages *s, struct stages_work w)
{
    const struct two_stages_verify_args a = {.up = s->up.memory,
                                             .down = s->down.memory,
                                             .up_stride = s->up.stride,
                                             .down_stride = s->down.stride,
                                             .x = s->x,
                                             .y = s->y[w.order],
                                             .h = c->h,
                                             .verdict = verdict_clear(r),
                                             .up_scale = (float)(2 / sqrt(s->shape.hidden)),
                                             .down_scale = (float)(2 / sqrt(s->shape.ffn)),
                                             .hidden = s->shape.hidden,
                                             .ffn = s->shape.ffn,
                                             .sets = s->sets,
                                             .items = w.items,
                                             .is_chain = w.order == STAGES_CHAIN};
    gpu_launch(r, c->k_reference, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    gpu_launch(r, c->k_verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

bool stages_gave_up(struct probe_run *r, const struct stages *s)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &s->state->aborted, sizeof aborted);
    CUDA(cudaMemsetAsync(s->state, 0, sizeof *s->state, gpu_stream(r)));
    return aborted != 0;
}

/* --- on the CPU ------------------------------------------------------------------------------- */

static double rounded(float x)
{
    return half_bf16(half_to_bf16(x));
}

/* One item; x and y are what the kernels took and left. Returns how many of y are wrong. */
static size_t check_item(const struct decoder_shape *s, const uint16_t *up, const uint16_t *down,
                         const float *x, const float *y, double *h)
{
    const size_t model = s->hidden, hidden = s->ffn;
    size_t wrong = 0;
    for (size_t j = 0; j < hidden; j++) {
        double z = 0;
        for (size_t k = 0; k < model; k++)
            z += half_bf16(up[j * model + k]) * rounded(x[k]);
        z *= 2 / sqrt((double)model);
        h[j] = z / (1 + fabs(z));
    }
    for (size_t i = 0; i < model; i++) {
        double sum = 0, absolute = 0, squared = 0;
        for (size_t j = 0; j < hidden; j++) {
            const double product = half_bf16(down[i * hidden + j]) * h[j];
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        const double scale = 2 / sqrt((double)hidden);
        const double bound =
            scale * (8 * sqrt((double)hidden) * 0x1p-24 * absolute + 6 * 0x1p-9 * sqrt(squared)) +
            0x1p-23;
        wrong += !(fabs((double)y[i] - scale * sum) <= bound);
    }
    return wrong;
}

static void check_on_host(struct probe_run *r, const struct stages_check *c, const struct stages *s,
                          struct stages_work w)
{
    const size_t n = (size_t)s->shape.hidden * s->shape.ffn, model = s->shape.hidden;
    uint16_t *up = probe_host_alloc(r, 2 * n), *down = probe_host_alloc(r, 2 * n);
    float *x = probe_host_alloc(r, 4 * model);
    double *h = probe_host_alloc(r, sizeof *h * s->shape.ffn);
    size_t wrong = 0;

    for (uint32_t item = 0; item < w.items && item < HOST_ITEMS; item++) {
        gpu_to_host(r, up, pool_at(&s->up, item % s->sets), 2 * n);
        gpu_to_host(r, down, pool_at(&s->down, item % s->sets), 2 * n);
        gpu_to_host(r, x, s->x + item * model, 4 * model);
        if (w.order == STAGES_CHAIN && item > 0)
            memcpy(x, c->found + (item - 1) * model, 4 * model);
        wrong += check_item(&s->shape, up, down, x, c->found + item * model, h);
    }
    probe_require(r, wrong == 0, "%zu results are not as computed on the CPU in double", wrong);
    free(up);
    free(down);
    free(x);
    free(h);
}

/* --- all of it -------------------------------------------------------------------------------- */

double stages_require(struct probe_run *r, struct stages_check *c, const struct stages *s,
                      struct stages_work w, const char *when)
{
    const size_t n = (size_t)w.items * s->shape.hidden;
    const struct verdict v = stages_verdict(r, c, s, w);
    const float *expected = c->expected[w.order];
    size_t differ = 0;

    probe_require(r, !stages_gave_up(r, s), "%s: no block waited longer than its budget", when);
    gpu_to_host(r, c->found, s->y[w.order], 4 * n);
    if (!c->has_expected)
        memcpy(c->expected[w.order], c->found, 4 * n);
    for (size_t i = 0; i < n; i++)
        differ += memcmp(&c->found[i], &expected[i], sizeof *expected) != 0;
    probe_require(r, differ == 0, "%s: %zu of %zu results differ from those of all SMs", when,
                  differ, n);
    if (probe_in_full(r) && (size_t)s->shape.hidden * s->shape.ffn <= ON_HOST)
        check_on_host(r, c, s, w);
    return verdict_check(r, &v, n, when);
}
