/* two_gemv: what does it save to keep what two products at batch 1 hand over on the chip?
 *
 * Method. y = W2 silu(W1 x / sqrt(model)), as in a layer's feed-forward part; W1 is hidden x model,
 * W2 model x hidden, all of bf16 from N(0,1), sums in fp32, the intermediate of `hidden` elements
 * rounded to bf16 in every variant. Where it goes between the products:
 *     impl=fused      in registers: one kernel that stays. A block makes four elements, multiplies
 *                     each into its row of the transposed W2, and has sums of all of y, which are
 *                     added up over the blocks, in a fixed order, behind one barrier of the grid
 *     impl=shared     in shared memory: the same, but a block makes all its elements first
 *     impl=l2         in the L2, within one kernel: a barrier of the grid between the products
 *     impl=kernels    in the L2, between two kernels, the activation in the first
 *     impl=kernels_pdl  likewise, as programmatic dependents, which fetch their first weights
 *                     before they wait (compute capability 9.0)
 *     impl=unfused    as kernels, the activation a kernel of its own
 *     impl=dram       as kernels, but W2's turn comes when half of all sets of weights have gone
 *                     through the L2 since the intermediate was written: so many that it is
 *                     presumed to have left it, which no counter was asked
 *
 * Inside the timed region: the operations, between two events.
 * `bytes` are loads and stores by count, those of the blocks' sums among them (fused, shared),
 * which are written and read in one kernel and never leave the L2. The copy of share_of_copy is one
 * of the bytes without them.
 * Expected on an H200, model 4096 and hidden 14336: 235 MB of weights in 51 us at the rate of a
 * read, and 54.6 us by two kernels, each as fast as matmul/gemv's. One kernel saves an edge, 1.1
 * us, and pays for a cooperative launch (0.35), for a barrier (0.8), and, with the intermediate on
 * the chip, for storing and adding up the blocks' sums: 55.4 us. Against three kernels that is a
 * gain, 55.8, against two a loss. The intermediate is 28 KB. Written and read in memory it is
 * 0.02 % of the bytes, 13 ns: no time can tell where it was, and that is the answer to the claim
 * that its place matters at batch 1.
 *
 * Kernels that stay wait for each other, and are launched cooperatively; their barrier has a
 * budget, and that it was never used up is checked. */
#include <math.h>
#include <stdio.h>

#include "core/draw.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"
#include "fused/two_gemv/args.h"
#include "fused/two_gemv/check.h"
#include "fused/two_gemv/form.h"

enum { INTERMEDIATE = N_OPERATION_METRICS };
#define KEYS OPERATION_KEYS("model,hidden,batch")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [INTERMEDIATE] = {"intermediate", "bytes", PROBE_EXACT, .keys = KEYS,
                      .what = "bytes of the intermediate, once; a place off the chip writes and "
                              "reads it"},
};

static const struct probe_parameter parameters[] = {
    {"model", 0, 0, TWO_MODEL_MAX, "of the one layer to measure; 0: the probe's own layers", NULL},
    {"hidden", 0, 0, 1 << 20, "of the one layer to measure; 0: the probe's own layers", NULL},
};

static const char *const names[N_TWO_GEMV_IMPLS] = {
    [REGISTERS] = "fused",       [SHARED] = "shared",   [L2] = "l2",     [KERNELS] = "kernels",
    [DEPENDENT] = "kernels_pdl", [UNFUSED] = "unfused", [DRAM] = "dram",
};

/* --- how long does it take? ------------------------------------------------------------------- */

static void describe(struct probe_run *r, const void *self)
{
    static const char *const places[] = {"registers",
                                         "shared memory",
                                         "L2, one kernel",
                                         "L2, two kernels",
                                         "L2, two dependent kernels",
                                         "L2, three kernels",
                                         "device memory, presumed"};
    const struct two_gemv_form *form = self;
    const double intermediate = 2.0 * form->l->hidden;
    const double weights = 4.0 * form->l->hidden * form->l->model;
    probe_value(r, INTERMEDIATE, intermediate);
    probe_fact(r, "place", "%s", places[form->impl]);
    probe_fact(r, "share_of_bytes", "%.5f is what two passes over the intermediate would be",
               2 * intermediate / (weights + 2 * intermediate));
    if (form->impl <= L2)
        gpu_kernel_facts(r, form->l->stays[form->impl], TWO_THREADS, 0);
}

/* What the blocks have for each other, in the L2: sums of all of y. */
static double sums_of_blocks(const struct two_gemv_form *form)
{
    return form->impl < L2 ? 4.0 * form->l->model * form->l->blocks : 0;
}

static struct operation operation_of(const struct two_gemv_form *form)
{
    static const unsigned kernels[] = {1, 1, 1, 2, 2, 3, 2}, passes[] = {0, 0, 2, 2, 2, 4, 2};
    const struct two_gemv_layer *l = form->l;
    const double weights = 4.0 * l->model * l->hidden, ends = 4.0 * l->model;
    const double partial = sums_of_blocks(form);

    return (struct operation){
        .name = names[form->impl],
        .launch = two_gemv_launch,
        .poison = two_gemv_poison,
        .verify = two_gemv_verify,
        .describe = describe,
        .self = form,
        .sets = l->sets,
        .set_bytes = weights,
        .bytes = weights + ends + passes[form->impl] * 2.0 * l->hidden + 2 * partial,
        .memory = weights + ends + (passes[form->impl] ? 2.0 * l->hidden : 0) + partial,
        .kernels = kernels[form->impl]};
}

/* Of layers so small that all sets stay in the L2, no place is presumed to be device memory. */
static bool is_told(const struct probe_run *r, const struct operation *o, enum two_gemv_impl impl)
{
    return impl != DRAM || probe_is_check_run(r) ||
           (double)o->sets * o->set_bytes >= 3 * (double)gpu_facts(r)->l2_bytes;
}

static void measure_layer(struct probe_run *r, int model, int hidden, unsigned flags)
{
    if (!probe_is_due(r, flags) && !probe_is_due(r, PROBE_DEEP))
        return;
    struct two_gemv_layer l = two_gemv_layer_of(r, model, hidden, probe_seed(r));
    const struct condition cold = {.cold = true}, stream = {.cold = true, .stream = true};
    char keys[96];

    snprintf(keys, sizeof keys, "model=%d,hidden=%d,batch=1,type=bf16", model, hidden);
    for (enum two_gemv_impl impl = 0; impl < N_TWO_GEMV_IMPLS; impl++) {
        const struct two_gemv_form form = {&l, impl};
        const struct operation o = operation_of(&form);
        if (!two_gemv_is_here(&form) || !is_told(r, &o, impl))
            continue;
        const double moved = o.bytes - 2 * sums_of_blocks(&form);
        const double copy_ns = impl == REGISTERS ? copy_measure(r, keys, moved, cold, flags) : NAN;
        operation_measure(r, keys, &o, cold, flags, copy_ns);
        if (impl == REGISTERS || impl == UNFUSED)
            operation_measure(r, keys, &o, stream, PROBE_DEEP, NAN);
    }
    two_gemv_layer_free(r, &l);
}

/* --- odd shapes, and what the results are worth ----------------------------------------------- */

enum { ODD_SHAPES = 42 };

/* Multiples of eight, which is a vector; a row of W1 and one of W2 must be whole vectors. */
static void check_odd_shapes(struct probe_run *r)
{
    uint64_t state = probe_seed(r);
    if (!probe_begin_case(r, 0, "model=0,hidden=0,batch=1,type=bf16,impl=fused,mode=graph,l2=warm"))
        return;
    for (int i = 0; i < ODD_SHAPES; i++) {
        static const int some[] = {8, 16, 248, 256, 264, 2040, 2048, 2056, 4096, 4104, 8184, 8192};
        const int model =
            i % 2 ? some[draw_below(&state, 12)] : 8 * (1 + (int)draw_below(&state, 256));
        const int hidden =
            i % 3 ? 8 * (1 + (int)draw_below(&state, 40)) : some[draw_below(&state, 6)];
        struct two_gemv_layer l = two_gemv_layer_of(r, model, hidden, state);
        for (enum two_gemv_impl impl = 0; impl < N_TWO_GEMV_IMPLS; impl++) {
            const struct two_gemv_form form = {&l, impl};
            const struct operation o = operation_of(&form);
            if (!two_gemv_is_here(&form))
                continue;
            two_gemv_poison(r, &form);
            o.launch(r, &form, 0);
            two_gemv_verify(r, &form, "an odd shape");
        }
        two_gemv_layer_free(r, &l);
    }
    probe_fact(r, "shapes", "%d of seeded model and hidden, multiples of 8", ODD_SHAPES);
}

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_results(struct probe_run *r)
{
    enum { MODEL = 1000, HIDDEN = 1032 };
    if (!probe_begin_case(r, PROBE_TWICE,
                          "model=%d,hidden=%d,batch=1,type=bf16,impl=fused,mode=graph,l2=warm",
                          MODEL, HIDDEN))
        return;
    struct two_gemv_layer l = two_gemv_layer_of(r, MODEL, HIDDEN, 1);
    const struct two_gemv_form fused = {&l, REGISTERS}, unfused = {&l, UNFUSED};
    const struct quality_results results = {l.y.memory, 1, MODEL, 2};
    void *other = gpu_alloc(r, 2 * MODEL, "the unfused results");

    two_gemv_launch(r, &unfused, 0);
    CUDA(cudaMemcpyAsync(other, l.y.memory, 2 * MODEL, cudaMemcpyDeviceToDevice, gpu_stream(r)));
    two_gemv_poison(r, &fused);
    two_gemv_launch(r, &fused, 0);
    two_gemv_verify(r, &fused, "of a fixed seed");
    quality_distance(r, l.y.memory, other, 2, MODEL);
    quality_digest(r, l.y.memory, 2, MODEL);
    quality_faults(r, &results, two_gemv_is_wrong, &fused);
    gpu_release(r, other);
    two_gemv_layer_free(r, &l);
}

/* The layer of the command line; a size that it does not give is that of the first layer. */
static void measure_given(struct probe_run *r, int model, int hidden)
{
    const int most = two_gemv_most_hidden(r);
    model = model > 0 ? model : 4096;
    hidden = hidden > 0 ? hidden : 14336;
    if (model % 8)
        probe_usage(r, "model=%d: expected a multiple of 8 up to %d", model, TWO_MODEL_MAX);
    if (hidden % 8 || hidden > most)
        probe_usage(r, "hidden=%d: expected a multiple of 8 up to %d", hidden, most);
    measure_layer(r, model, hidden, 0);
}

static void measure(struct probe_run *r)
{
    const int model = (int)probe_parameter(r, "model"), hidden = (int)probe_parameter(r, "hidden");
    if (model > 0 || hidden > 0) {
        measure_given(r, model, hidden);
        return;
    }
    if (probe_is_check_run(r)) {
        measure_layer(r, 1024, 528, 0);
        check_odd_shapes(r);
    } else {
        measure_layer(r, 4096, 14336, 0);
        measure_layer(r, 2048, 8192, PROBE_THRICE);
        if (probe_deep(r))
            measure_layer(r, 8192, 28672, PROBE_DEEP);
    }
    measure_results(r);
}

const struct probe probe = {
    .name = "two_gemv",
    .what = "What does it save to keep on the chip what two products at batch 1 hand over?",
    .method = 4,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
