#include "fused/two_gemv/check.h"

#include <math.h>
#include <stdlib.h>

#include "core/half.h"
#include "core/verdict.h"
#include "fused/two_gemv/args.h"

/* All of it on the CPU in double. */
static void check_on_host(struct probe_run *r, const struct two_gemv_layer *l, size_t set,
                          unsigned roundings)
{
    const size_t model = (size_t)l->model, hidden = (size_t)l->hidden, n = model * hidden;
    uint16_t *up = probe_host_alloc(r, 2 * n), *down = probe_host_alloc(r, 2 * n);
    uint16_t *x = probe_host_alloc(r, 2 * model), *y = probe_host_alloc(r, 2 * model);
    double *h = probe_host_alloc(r, sizeof *h * hidden);
    size_t wrong = 0;

    gpu_to_host(r, up, pool_at(&l->up, set), 2 * n);
    gpu_to_host(r, down, pool_at(&l->down, set), 2 * n);
    gpu_to_host(r, x, l->x, 2 * model);
    gpu_to_host(r, y, pool_at(&l->y, set), 2 * model);
    for (size_t j = 0; j < hidden; j++) {
        double z = 0;
        for (size_t k = 0; k < model; k++)
            z += half_bf16(up[j * model + k]) * half_bf16(x[k]);
        z /= sqrt((double)model);
        h[j] = z / (1 + exp(-z));
    }
    for (size_t i = 0; i < model; i++) {
        double sum = 0, absolute = 0, squared = 0;
        for (size_t j = 0; j < hidden; j++) {
            const double product = half_bf16(down[i * hidden + j]) * h[j];
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        const double bound = 2 * HALF_BF16_UNIT * fabs(sum) +
                             8 * sqrt((double)hidden) * 0x1p-24 * absolute +
                             6 * roundings * 0x1p-9 * sqrt(squared) + 0x1p-25;
        wrong += !(fabs(half_bf16(y[i]) - sum) <= bound);
    }
    probe_require(r, wrong == 0, "%zu of %zu outputs are as computed on the CPU in double",
                  model - wrong, model);
    free(up);
    free(down);
    free(x);
    free(y);
    free(h);
}

static unsigned roundings_of(const struct two_gemv_form *form)
{
    return form->impl == UNFUSED ? 2 : 1;
}

/* Set 0; of dram, the set whose second product was launched with the first of set 0. */
static size_t set_of(const struct two_gemv_form *form)
{
    return form->impl == DRAM ? two_gemv_second_set(form->l, 0) : 0;
}

static struct verdict run_verifier(struct probe_run *r, const struct two_gemv_form *form)
{
    const struct two_gemv_layer *l = form->l;
    const size_t set = set_of(form);
    const struct two_gemv_verify_args a = {.up = pool_at(&l->up, set),
                                           .down = pool_at(&l->down, set),
                                           .x = l->x,
                                           .y = pool_at(&l->y, set),
                                           .h = l->reference,
                                           .verdict = verdict_clear(r),
                                           .model = (uint32_t)l->model,
                                           .hidden = (uint32_t)l->hidden,
                                           .scale = (float)(1 / sqrt(l->model)),
                                           .roundings = roundings_of(form)};
    gpu_launch(r, l->k_reference, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    gpu_launch(r, l->k_verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

bool two_gemv_is_wrong(struct probe_run *r, const void *self)
{
    return run_verifier(r, self).wrong > 0;
}

double two_gemv_verify(struct probe_run *r, const void *self, const char *when)
{
    const struct two_gemv_form *form = self;
    const struct verdict v = run_verifier(r, form);
    if (probe_in_full(r) && (size_t)form->l->model * (size_t)form->l->hidden <= 1 << 20)
        check_on_host(r, form->l, set_of(form), roundings_of(form));
    return verdict_check(r, &v, (uint64_t)form->l->model, when);
}
