/* softmax: its tensors, and its forms, the ways to compute it. */
#include <stddef.h>
#include <stdlib.h>

#include "fused/softmax/softmax.h"

static const float SCALE_BY = 2.5f; /* times N(0,1): logits spread as those of attention do */

/* --- tensors --------------------------------------------------------------------------------- */

/* A row keeps at least seven eighths of its columns. Two rows are short: one is masked whole, the
 * other keeps one column. */
static void draw_lengths(struct probe_run *r, struct softmax *t, uint64_t seed)
{
    uint32_t *lengths = probe_host_alloc(r, t->rows * sizeof *lengths);

    for (uint32_t i = 0; i < t->rows; i++) {
        /* Knuth's MMIX instead of draw(): digests in committed bundles depend on these lengths. */
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        lengths[i] = t->cols - (uint32_t)(seed >> 33) % (t->cols / 8 + 1);
    }
    if (t->rows > 6) {
        lengths[3] = 0;
        lengths[5] = 1;
    }
    gpu_to_device(r, t->lengths, lengths, t->rows * sizeof *lengths);
    free(lengths);
}

/* Needed before launches of a different number of blocks than the last ones, because they would
 * mistake the slots that those left for their own. */
void softmax_reset(struct probe_run *r, const struct operator_set *s)
{
    const struct softmax *t = s->own;
    CUDA(cudaMemsetAsync(t->state, 0xff, sizeof *t->state, gpu_stream(r)));
    CUDA(cudaMemsetAsync(t->state, 0, offsetof(struct softmax_state, slots), gpu_stream(r)));
}

static size_t tensor_bytes(const struct operator_set *s)
{
    const size_t row = (size_t)s->shape.dim[1] * gpu_type_size((enum gpu_type)s->shape.type);
    return (size_t)s->shape.dim[0] * ((row + 15) / 16 * 16);
}

double softmax_copied(const struct operator_set *s, size_t member)
{
    (void)member;
    return 2 * (double)tensor_bytes(s);
}

void softmax_open(struct probe_run *r, struct operator_set *s)
{
    const uint64_t seed = s->seed; /* before the operands advance it */
    const enum gpu_type type = (enum gpu_type)s->shape.type;
    struct softmax *t = s->own;

    t->k = softmax_load(r, type);
    t->rows = (uint32_t)s->shape.dim[0];
    t->cols = (uint32_t)s->shape.dim[1];
    t->vectors = (t->cols + t->k.lanes - 1) / t->k.lanes;
    t->bytes = tensor_bytes(s);
    t->scale = SCALE_BY;
    t->keep = operation_keeps(r, (double)t->bytes);
    t->in = operator_operand(r, s, type, t->bytes / gpu_type_size(type), "the logits");
    for (int i = 0; i < 2 && s->groups & (OPERATOR_UNFUSED | WITH_STORED); i++)
        t->middle[i] = operator_result(r, s, t->bytes, "an intermediate");
    if (s->groups & WITH_STORED)
        t->mask = operator_result(r, s, t->bytes, "the mask");
    t->out = operator_result(r, s, t->bytes, "the output");
    t->lengths = operator_table(r, s, t->rows * sizeof *t->lengths, "the lengths of rows");
    t->partial = operator_table(r, s, (size_t)t->rows * SOFTMAX_PARTS * 8, "parts of rows");
    t->state = operator_table(r, s, sizeof *t->state, "what blocks leave for each other");
    draw_lengths(r, t, seed + 1);
    softmax_reset(r, s);
}

/* --- launches -------------------------------------------------------------------------------- */

/* The chain's last kernel: the planned softmax without scale or mask. */
static void launch_last(struct probe_run *r, const struct softmax *t, const struct softmax_plan *p,
                        const void *in, void *out)
{
    struct softmax_args a = softmax_args_of(t, p, in, out);
    a.lengths = NULL;
    a.scale = 1;
    a.exponent = SOFTMAX_LOG2_E;
    softmax_launch(r, t, p, a);
}

static void launch(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   size_t set)
{
    const struct softmax *t = s->own;
    const struct softmax_form *form = f->plan;
    const struct softmax_plan *p = &form->plan;
    void *in = pool_at(&t->in, set), *out = pool_at(&t->out, set);

    if (form->chain == WHOLE) {
        softmax_launch(r, t, p, softmax_args_of(t, p, in, out));
    } else if (form->chain == CHAIN_KERNEL) {
        softmax_launch_step(r, t, p->kernel, in, NULL, out);
    } else if (form->chain == CHAIN_LAST) {
        launch_last(r, t, p, in, out);
    } else {
        void *first = pool_at(&t->middle[0], set), *second = pool_at(&t->middle[1], set);
        void *mask = form->chain == CHAIN_STORED ? pool_at(&t->mask, set) : NULL;
        softmax_launch_step(r, t, SCALE, in, NULL, first);
        if (mask)
            softmax_launch_step(r, t, FILL, NULL, NULL, mask);
        softmax_launch_step(r, t, mask ? ADD : MASK, first, mask, second);
        launch_last(r, t, p, second, out);
    }
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Tensors that the operator moves. Ways that keep nothing of a row read it twice. */
static double tensors_moved(const struct softmax_plan *p)
{
    return p->kernel == ONLINE || p->kernel == PARTIAL || p->kernel == UNMERGED || p->kernel == LAST
               ? 3
               : 2;
}

/* Bytes that blocks leave for each other in device memory: written once, read by every block that
 * needs them. */
static double parts_moved(const struct softmax *t, const struct softmax_plan *p)
{
    const double parts = p->parts, bytes = 8.0 * t->rows * parts;
    return p->kernel == PARTIAL ? bytes * (1 + parts)
           : p->kernel == GRID  ? bytes * (2 + parts)
           : p->kernel == LAST  ? bytes * 2
                                : 0;
}

/* The first two kernels of the chain are plain passes, fully described by their bytes. */
void softmax_count(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   struct operation_kernel *each)
{
    const struct softmax_form *form = f->plan;
    const struct softmax *t = s->own;
    const struct softmax_plan *p = &form->plan;
    const double tensor = (double)t->bytes, lengths = 4.0 * t->rows;
    const double parts = 8.0 * t->rows * p->parts;
    size_t n = 0;

    if (form->chain == CHAIN_STORED || form->chain == CHAIN_KERNEL ||
        softmax_does(r, t, p, p->kernel, 0).exponentials == 0)
        return;
    if (form->chain == CHAIN) {
        each[n++].bytes = 2 * tensor;
        each[n++].bytes = 2 * tensor;
    }
    if (p->kernel == PARTIAL) { /* each block leaves a part; all blocks of its row read it */
        each[n++] = softmax_does(r, t, p, PARTIAL, tensor + lengths + parts);
        each[n++] = softmax_does(r, t, p, FINISH, 2 * tensor + parts * p->parts);
    } else {
        const double bytes = tensors_moved(p) * tensor + lengths + parts_moved(t, p);
        each[n++] = softmax_does(r, t, p, p->kernel, bytes);
    }
}

/* --- forms ----------------------------------------------------------------------------------- */

/* For the kernels before the last: tensors that they move, number of kernels, tensors they
 * leave. */
static const struct {
    double moved, left;
    unsigned kernels;
} before[] = {[CHAIN] = {4, 2, 2},
              [CHAIN_STORED] = {6, 3, 3},
              [CHAIN_LAST] = {0, 0, 0},
              [CHAIN_KERNEL] = {0, 0, 0}};

/* Adds a form if the GPU can launch it. */
static void add(struct probe_run *r, const struct operator_set *s, const char *name, unsigned group,
                enum softmax_chain chain, struct softmax_plan plan, struct operator_form *list,
                size_t *n)
{
    struct softmax *t = s->own;
    const double tensor = (double)t->bytes, lengths = 4.0 * t->rows;
    const bool is_step = chain == CHAIN_KERNEL;
    struct softmax_form *form = &t->form[*n];

    if (!is_step && !softmax_plan_fits(r, t, &plan))
        return;
    *form = (struct softmax_form){chain, plan};
    list[(*n)++] = (struct operator_form){
        .name = name,
        .group = group,
        .is_wrong = plan.kernel == UNMERGED,
        .bytes = is_step ? 2 * tensor + (plan.kernel == MASK ? lengths : 0)
                         : tensors_moved(&plan) * tensor + parts_moved(t, &plan) + lengths +
                               before[chain].moved * tensor,
        .memory = 2 * tensor + lengths + before[chain].left * tensor,
        .kernels = before[chain].kernels + softmax_kernels_of(t, &plan),
        .launch = launch,
        .plan = form};
}

/* Every way to share a row; where there are many rows, without the ways that need a launch per
 * row. */
static void add_ways(struct probe_run *r, const struct operator_set *s, struct operator_form *list,
                     size_t *n)
{
    enum { ROWS_EACH = 9 };
    const struct softmax *t = s->own;
    const uint32_t parts = softmax_parts(r, t), n_sm = (uint32_t)gpu_facts(r)->n_sm;
    const struct {
        const char *name;
        enum softmax_kernel kernel;
        uint32_t parts;
    } ways[] = {{"resident", t->vectors > SOFTMAX_VECTORS * SOFTMAX_THREADS ? HELD : ROW, 1},
                {"pair", PAIR, 1},
                {"online", ONLINE, 1},
                {"cluster8", CLUSTER, 8},
                {"cluster16", CLUSTER, 16},
                {"grid", GRID, parts < n_sm ? parts : n_sm},
                {"last", LAST, parts},
                {"two", PARTIAL, parts},
                {"unmerged", UNMERGED, parts}}; /* a control, on a row that no single block holds */

    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        const enum softmax_kernel kernel = ways[i].kernel;
        if (t->rows > ROWS_EACH && (kernel == LAST || kernel == GRID))
            continue;
        if (kernel == UNMERGED && (t->rows > 1 || t->cols < LONG_ROW))
            continue;
        add(r, s, ways[i].name, WAYS, WHOLE, softmax_plan(r, t, kernel, ways[i].parts), list, n);
    }
}

size_t softmax_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                     struct operator_form *list)
{
    const struct softmax *t = s->own;
    const struct softmax_plan best = softmax_best_plan(r, t);
    const struct softmax_plan scale = {.kernel = SCALE}, mask = {.kernel = MASK};
    size_t n = 0;

    (void)member;
    add(r, s, "unfused", OPERATOR_UNFUSED, CHAIN, best, list, &n);
    add(r, s, "fused", OPERATOR_FUSED, WHOLE, best, list, &n);
    add(r, s, "unfused_stored", WITH_STORED, CHAIN_STORED, best, list, &n);
    add(r, s, "scale", OPERATOR_PARTS, CHAIN_KERNEL, scale, list, &n);
    add(r, s, "mask", OPERATOR_PARTS, CHAIN_KERNEL, mask, list, &n);
    add(r, s, "softmax", OPERATOR_PARTS, CHAIN_LAST, best, list, &n);
    if (best.kernel == PAIR && !(s->groups & WAYS))
        add(r, s, "resident", WITH_STORED, WHOLE, softmax_plan(r, t, ROW, 1), list, &n);
    if (s->groups & WAYS)
        add_ways(r, s, list, &n);
    return n;
}

void softmax_describe(struct probe_run *r, const struct operator_set *s,
                      const struct operator_form *f)
{
    const struct softmax *t = s->own;
    const struct softmax_form *form = f->plan;
    const struct softmax_plan *p = &form->plan;
    if (form->chain == CHAIN_KERNEL)
        return;
    probe_fact(r, "kernel", "%s, %u blocks a row, %u threads", softmax_kernel_names[p->kernel],
               (unsigned)p->parts, (unsigned)p->threads);
    gpu_kernel_facts(r, t->k.of[p->kernel], (int)p->threads, p->shared);
}
