#include "fused/product_chain/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"

PROBE_IMAGE(product_chain_check);

enum { ON_HOST = 1 << 20 }; /* weights, at most, that are multiplied on the CPU */

struct chain_check chain_check_open(struct probe_run *r, const struct chain *c, uint32_t compared)
{
    const size_t size = sizeof(struct product_chain_verify_args);
    const size_t bytes = (size_t)compared * c->n * 2;
    return (struct chain_check){
        .k_verify = gpu_kernel(r, &image_product_chain_check, "product_chain_verify", size),
        .k_words = gpu_kernel(r, &image_product_chain_check, "product_chain_words", size),
        .found = probe_host_alloc(r, bytes),
        .expected = probe_host_alloc(r, bytes)};
}

void chain_check_close(struct chain_check *k)
{
    free(k->found);
    free(k->expected);
}

static struct product_chain_verify_args args_of(const struct chain *c, const struct chain_work *w)
{
    return (struct product_chain_verify_args){.weights = c->weights.memory,
                                              .stride = c->weights.stride,
                                              .x = c->x + 2 * (size_t)c->n * w->input,
                                              .y = c->y,
                                              .words = c->words,
                                              .scale = (float)(2 / sqrt(c->n)),
                                              .n = c->n,
                                              .sets = c->sets,
                                              .first = w->first,
                                              .products = w->products};
}

struct verdict chain_verdict(struct probe_run *r, const struct chain_check *k,
                             const struct chain *c, const struct chain_work *w)
{
    struct product_chain_verify_args a = args_of(c, w);
    a.verdict = verdict_clear(r);
    gpu_launch(r, k->k_verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

bool chain_gave_up(struct probe_run *r, const struct chain *c)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &c->state->aborted, sizeof aborted);
    CUDA(cudaMemsetAsync(c->state, 0, sizeof *c->state, gpu_stream(r)));
    return aborted != 0;
}

uint32_t chain_sms(struct probe_run *r, const struct chain *c, uint32_t blocks)
{
    uint32_t *of = probe_host_alloc(r, blocks * sizeof *of), distinct = 0;
    gpu_to_host(r, of, c->sms, blocks * sizeof *of);
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t before = 0;
        while (before < i && of[before] != of[i])
            before++;
        distinct += before == i;
    }
    free(of);
    return distinct;
}

/* --- on the CPU ------------------------------------------------------------------------------- */

/* Of some rows of a product, those that are not as in double. x: what it took; y: of these rows. */
static size_t check_product(const uint16_t *w, const uint16_t *x, const uint16_t *y, size_t n,
                            size_t rows)
{
    const double scale = (float)(2 / sqrt((double)n));
    size_t wrong = 0;
    for (size_t row = 0; row < rows; row++) {
        double z = 0, absolute = 0;
        for (size_t i = 0; i < n; i++) {
            const double one = half_bf16(w[row * n + i]) * half_bf16(x[i]);
            z += one;
            absolute += fabs(one);
        }
        z *= scale;
        const double expected = z / (1 + fabs(z));
        const double bound = 1.01 * 0x1p-8 * fabs(expected) +
                             8 * sqrt((double)n) * 0x1p-24 * scale * absolute + 0x1p-26;
        wrong += !(fabs(half_bf16(y[row]) - expected) <= bound);
    }
    return wrong;
}

/* Of the first and the last product all rows; of a large matrix the first rows and the last. */
static void check_on_host(struct probe_run *r, const struct chain_check *k, const struct chain *c,
                          const struct chain_work *w)
{
    const size_t n = c->n, most = ON_HOST / n, part = most < n ? most : n;
    uint16_t *rows = probe_host_alloc(r, 2 * part * n), *x = probe_host_alloc(r, 2 * n);
    size_t wrong = 0;

    for (uint32_t end = 0; end < 2; end++) {
        const uint32_t product = end == 0 ? 0 : w->products - 1;
        const char *set = pool_at(&c->weights, (w->first + product) % c->sets);
        const size_t first = end == 0 ? 0 : n - part;
        const uint16_t *y = k->found + product * n;
        if (product == 0)
            gpu_to_host(r, x, c->x + 2 * n * w->input, 2 * n);
        else
            memcpy(x, y - n, 2 * n);
        gpu_to_host(r, rows, set + 2 * n * first, 2 * part * n);
        wrong += check_product(rows, x, y + first, n, part);
    }
    probe_require(r, wrong == 0, "%zu results are not as computed on the CPU in double", wrong);
    free(rows);
    free(x);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The order of sums is the same on all grids. */
static void require_bits(struct probe_run *r, struct chain_check *k, const struct chain *c,
                         const struct chain_work *w, const char *when)
{
    const size_t n = (size_t)w->products * c->n;
    size_t differ = 0;
    if (w->first != 0 || w->input != 0)
        return;
    const size_t known = k->n_expected < n ? k->n_expected : n;
    for (size_t i = 0; i < known; i++)
        differ += k->found[i] != k->expected[i];
    probe_require(r, differ == 0, "%s: %zu of %zu results differ from those of the first grid",
                  when, differ, known);
    if (n <= k->n_expected)
        return;
    memcpy(k->expected + known, k->found + known, 2 * (n - known));
    k->n_expected = n;
}

double chain_require(struct probe_run *r, struct chain_check *k, const struct chain *c,
                     const struct chain_work *w, const char *when)
{
    const size_t n = (size_t)w->products * c->n;
    const struct verdict v = chain_verdict(r, k, c, w);
    const uint32_t sms = chain_sms(r, c, w->blocks);
    const bool is_first = k->n_expected == 0; /* of the grids, all of which give its bits */

    probe_require(r, !chain_gave_up(r, c), "%s: no block waited longer than its budget", when);
    probe_require(r, sms == w->blocks, "%s: each of %u blocks has an SM of its own: %u SMs", when,
                  w->blocks, sms);
    gpu_to_host(r, k->found, c->y, 2 * n);
    require_bits(r, k, c, w, when);
    if (is_first && probe_in_full(r))
        check_on_host(r, k, c, w);
    return verdict_check(r, &v, n, when);
}

void chain_require_words(struct probe_run *r, const struct chain_check *k, const struct chain *c,
                         const struct chain_work *w, const char *when)
{
    const struct product_chain_verify_args a = args_of(c, w);
    uint32_t sum[2];
    for (int i = 0; i < 2; i++) {
        CUDA(cudaMemsetAsync(c->words, 0, sizeof *c->words, gpu_stream(r)));
        if (i == 0)
            chain_launch(r, c, w);
        else
            gpu_launch(r, k->k_words, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
        gpu_to_host(r, &sum[i], c->words, sizeof sum[i]);
    }
    probe_require(r, sum[0] == sum[1], "%s: the read has each word once: sum %u, expected %u", when,
                  sum[0], sum[1]);
}
