#include "fused/epilogue/operation.h"

#include <math.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"

/* --- is it right? ----------------------------------------------------------------------------- */

struct verdict epilogue_look_at(struct probe_run *r, const struct epilogue_form *form,
                                unsigned more)
{
    struct epilogue_layer *l = form->l;
    const bool gelu_in = form->finish->gelu_in && form->chain != PRODUCT;
    const unsigned flags = form->chain != PRODUCT ? form->finish->flags : 0;
    struct epilogue_product p = epilogue_product_of(form, 0);

    if (!l->reference[gelu_in].sum) {
        struct epilogue_product plain = p;
        plain.a = l->a.memory;
        plain.gelu_in = gelu_in;
        l->reference[gelu_in] = epilogue_reference_of(r, &plain);
    }
    if (flags & EPILOGUE_QUANTISE)
        p.c = l->quantised.memory;
    if (form->chain == UNFUSED || form->chain == ONE_PASS)
        more |= JUDGE_ROUNDED;
    if (form->chain == UNFUSED)
        more |= JUDGE_EACH_ROUNDED;
    if (form->chain == FUSED && epilogue_is_library(form->way))
        more |= JUDGE_APPROXIMATE;
    return epilogue_run_verifier(r, &l->reference[gelu_in], &p, 0, (uint32_t)l->n, flags | more);
}

bool epilogue_is_wrong(struct probe_run *r, const void *self)
{
    return epilogue_look_at(r, self, 0).wrong > 0;
}

static double number(const struct epilogue_layer *l, uint16_t bits)
{
    return l->type == GPU_FP16 ? half_fp16(bits) : half_bf16(bits);
}

static double fetch_number(struct probe_run *r, const struct epilogue_layer *l, const void *from,
                           size_t at)
{
    uint16_t bits;
    gpu_to_host(r, &bits, (const uint16_t *)from + at, sizeof bits);
    return number(l, bits);
}

static double gelu_on_host(double z)
{
    return 0.5 * z * (1 + tanh(0.79788456080286536 * (z + 0.044715 * z * z * z)));
}

/* One output on the CPU, in double, by its row of x and its row of W. */
static bool is_right_on_host(struct probe_run *r, const struct epilogue_form *form, size_t row,
                             size_t column, uint16_t *x, uint16_t *weights)
{
    const struct epilogue_layer *l = form->l;
    const size_t k = (size_t)l->k, at = row * (size_t)l->n + column;
    const unsigned flags = form->chain == PRODUCT ? 0 : form->finish->flags;
    const bool gelu_in = form->finish->gelu_in && form->chain != PRODUCT;
    const double unit = l->type == GPU_FP16 ? HALF_FP16_UNIT : HALF_BF16_UNIT;
    double sum = 0, absolute = 0, squares = 0, out;
    int8_t byte;

    gpu_to_host(r, x, l->a.memory + 2 * row * k, 2 * k);
    gpu_to_host(r, weights, l->w.memory + 2 * column * k, 2 * k);
    for (size_t i = 0; i < k; i++) {
        const double value = number(l, x[i]), weight = number(l, weights[i]);
        const double term = (gelu_in ? gelu_on_host(value) : value) * weight;
        sum += term;
        absolute += fabs(value * weight);
        squares += term * term;
    }
    /* Roundings of the product, of GELU of x (each within a unit of its term: seven deviations of
     * their sum), of each operator, of GELU's argument, of the result. */
    double bound = 8 * sqrt(l->k) * 0x1p-24 * absolute + (gelu_in ? 4 * unit * sqrt(squares) : 0);
    bound += 3 * unit * fabs(sum);
    if (flags & EPILOGUE_BIAS)
        sum += fetch_number(r, l, l->bias, column);
    bound += 1.2 * unit * fabs(sum) + 0x1p-11 * fabs(sum);
    if (flags & EPILOGUE_GELU)
        sum = gelu_on_host(sum);
    if (flags & EPILOGUE_RESIDUAL)
        sum += fetch_number(r, l, l->residual.memory, at);
    bound += 1.2 * unit * fabs(sum) + 0x1p-20;
    if (!(flags & EPILOGUE_QUANTISE))
        return fabs(fetch_number(r, l, l->out.memory, at) - sum) <= bound;
    gpu_to_host(r, &byte, l->quantised.memory + at, 1);
    out = fmin(fmax((double)QUANTISE_BY * sum, -128), 127);
    return fabs(byte - out) <= 0.5 + 1.2 * (double)QUANTISE_BY * bound;
}

/* The corners, and elements between them. */
static void check_on_host(struct probe_run *r, const struct epilogue_form *form)
{
    enum { ELEMENTS = 12 };
    const size_t m = (size_t)form->l->m, n = (size_t)form->l->n;
    uint16_t *x = probe_host_alloc(r, 2 * (size_t)form->l->k);
    uint16_t *weights = probe_host_alloc(r, 2 * (size_t)form->l->k);
    uint64_t state = probe_seed(r);
    int right = 0;

    for (int i = 0; i < ELEMENTS; i++) {
        const size_t element = draw_below(&state, m * n);
        const size_t row = i < 4 ? (i & 1 ? m - 1 : 0) : element / n;
        const size_t column = i < 4 ? (i & 2 ? n - 1 : 0) : element % n;
        right += is_right_on_host(r, form, row, column, x, weights);
    }
    probe_require(r, right == ELEMENTS, "%d of %d outputs are as computed on the CPU in double",
                  right, ELEMENTS);
    free(x);
    free(weights);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct epilogue_form *form = self;
    const struct verdict v = epilogue_look_at(r, form, 0);
    const uint64_t most = probe_in_full(r) ? 4096 : 256, m = (uint64_t)form->l->m;
    if (probe_in_full(r))
        check_on_host(r, form);
    return verdict_check(r, &v, (m < most ? m : most) * (uint64_t)form->l->n, when);
}

/* --- how long does it take? ------------------------------------------------------------------- */

static void describe(struct probe_run *r, const void *self)
{
    const struct epilogue_form *form = self;
    epilogue_way_fact(r, "by", form->way);
    if (form->chain != FUSED && form->way == form->l->found[form->finish - epilogue_finishes].best)
        probe_fact(r, "choice_of", "what the finished product is offered");
    if (probe_in_full(r))
        epilogue_nodes_fact(r, epilogue_launch, form);
}

/* GELU in its tanh form: five operations, an exponential and a reciprocal. */
static struct operation_kernel gelu_of(double elements)
{
    return (struct operation_kernel){.operations = 5 * elements, .exponentials = 2 * elements};
}

/* Where a product with the operator inside is ours and not the library's: what it repeats counts.
 * In the main loop GELU of x is made once for each column of tiles. */
static struct operation_kernel fused_does(const struct epilogue_form *form, double in, double out)
{
    const struct epilogue_layer *l = form->l;
    const struct mma_epilogue_tile *t = form->way->tile;
    const double columns = ceil((double)l->n / t->n);
    struct operation_kernel k = {.operations = out / 2};

    if (form->finish->gelu_in)
        k = gelu_of(in / 2 * columns);
    k.blocks = ceil((double)l->m / t->m) * columns;
    return k;
}

static void count_kernels(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    const struct epilogue_form *form = self;
    const struct epilogue_layer *l = form->l;
    const double in = (double)epilogue_bytes(l->m, l->k), out = (double)epilogue_bytes(l->m, l->n);
    const bool gelu_in = form->finish->gelu_in, quantised = form->finish->flags & EPILOGUE_QUANTISE;
    const bool is_fused = form->chain == FUSED;
    struct operation_kernel *product = &each[gelu_in && !is_fused];

    (void)r;
    if ((!gelu_in && !quantised) || form->chain == PRODUCT)
        return;
    if (is_fused) {
        *product = fused_does(form, in, out);
    } else if (gelu_in) {
        each[0] = gelu_of(in / 2);
        each[0].bytes = 2 * in;
    } else {
        each[1] = (struct operation_kernel){.bytes = 1.5 * out, .operations = out / 2};
    }
    product->bytes =
        in + (double)epilogue_bytes(l->n, l->k) + (is_fused && quantised ? out / 2 : out);
    product->flops = 2.0 * l->m * l->n * l->k;
}

struct operation epilogue_operation(const struct epilogue_form *form, const char *name)
{
    const struct epilogue_layer *l = form->l;
    const double in = (double)epilogue_bytes(l->m, l->k), out = (double)epilogue_bytes(l->m, l->n);
    const double weights = (double)epilogue_bytes(l->n, l->k);
    const unsigned flags = form->chain == PRODUCT ? 0 : form->finish->flags;
    double extra = (flags & EPILOGUE_BIAS ? 2.0 * l->n : 0) +
                   (flags & EPILOGUE_RESIDUAL ? out : 0) -
                   (flags & EPILOGUE_QUANTISE ? out / 2 : 0);
    unsigned passes = 0;

    if (form->chain == UNFUSED || form->chain == ONE_PASS)
        passes = form->finish->gelu_in                              ? 1
                 : form->chain == UNFUSED && form->finish->steps[1] ? 2
                                                                    : 1;
    return (struct operation){.name = name,
                              .launch = epilogue_launch,
                              .poison = epilogue_prepare,
                              .verify = verify,
                              .describe = describe,
                              .count = count_kernels,
                              .self = form,
                              .sets = l->sets,
                              .set_bytes = epilogue_set_bytes(l),
                              .bytes = in + weights + out + extra +
                                       passes * 2 * (form->finish->gelu_in ? in : out),
                              .kernels = 1 + passes,
                              .power_bound = l->m >= 256};
}
