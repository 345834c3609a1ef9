/* softmax: one way to spread a row, a chain of kernels, or one kernel of it, as an operation. */
#ifndef FUSED_SOFTMAX_OPERATION_H
#define FUSED_SOFTMAX_OPERATION_H

#include "fused/softmax/ways.h"

/* --- one way, or one kernel, as an operation ------------------------------------------------- */

enum chain { NO_CHAIN, UNFUSED, UNFUSED_STORED };

struct work {
    const struct tensors *t;
    enum chain chain;
    struct plan plan; /* of the whole operator, of which the chain's softmax is a case */
    bool is_operator; /* only the one kernel plan.kernel of the chain */
    bool is_wrong;    /* a control: its results are not to be checked */
};

/* The chain's last kernel: as planned, without scale or mask. */
static void launch_softmax(struct probe_run *r, const struct work *w, const void *in, void *out)
{
    struct softmax_args a = args_of(w->t, &w->plan, in, out);
    a.lengths = NULL;
    a.scale = 1;
    a.exponent = LOG2_E;
    launch_plan(r, w->t, &w->plan, a);
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct tensors *t = w->t;
    void *in = pool_at(&t->in, set), *out = pool_at(&t->out, set);

    if (w->is_operator) {
        launch_operator(r, t, w->plan.kernel, in, NULL, out);
    } else if (w->chain == NO_CHAIN) {
        launch_plan(r, t, &w->plan, args_of(t, &w->plan, in, out));
    } else {
        void *first = pool_at(&t->middle[0], set), *second = pool_at(&t->middle[1], set);
        void *mask = w->chain == UNFUSED_STORED ? pool_at(&t->mask, set) : NULL;
        launch_operator(r, t, SCALE, in, NULL, first);
        if (mask)
            launch_operator(r, t, FILL, NULL, NULL, mask);
        launch_operator(r, t, mask ? ADD : MASK, first, mask, second);
        launch_softmax(r, w, second, out);
    }
}

/* The chain's softmax alone, from the logits. */
static void launch_alone(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    launch_softmax(r, w, pool_at(&w->t->in, set), pool_at(&w->t->out, set));
}

static void poison_tensors(struct probe_run *r, const struct tensors *t)
{
    const struct pool *pools[] = {&t->middle[0], &t->middle[1], &t->mask, &t->out};
    for (size_t i = 0; i < PROBE_LENGTH(pools); i++)
        if (pools[i]->memory)
            pool_poison(r, pools[i]);
}

/* The state, too, as launches before may have been of another number of blocks, whose slots these
 * would take for their own. */
static void poison(struct probe_run *r, const void *self)
{
    const struct tensors *t = ((const struct work *)self)->t;
    poison_tensors(r, t);
    clear_state(r, t);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    uint64_t elements;
    const struct verdict v = run_verifier(r, w->t, w->chain == NO_CHAIN, true, &elements);
    return v.wrong > 0 || v.looked_at != elements;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    uint64_t elements;
    const bool all = probe_in_full(r) || w->t->is_fixed; /* fixed ones alike in every run */
    const struct verdict v = run_verifier(r, w->t, w->chain == NO_CHAIN, all, &elements);
    if (w->is_wrong)
        return verdict_error(&v);
    if (probe_in_full(r))
        check_on_host(r, w->t, w->chain == NO_CHAIN, when);
    probe_require(r, !gave_up(r, w->t), "%s: no block waited for another in vain", when);
    return verdict_check(r, &v, elements, when);
}

/* For what the first and last round alone measure, on other numbers: errors would not agree. */
static double verify_only(struct probe_run *r, const void *self, const char *when)
{
    verify(r, self, when);
    return NAN;
}

static void describe(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    const struct plan *p = &w->plan;
    probe_fact(r, "kernel", "%s, %u blocks a row, %u threads", kernel_names[p->kernel],
               (unsigned)p->parts, (unsigned)p->threads);
    gpu_kernel_facts(r, w->t->k->of[p->kernel], (int)p->threads, p->shared);
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Tensors that the operator moves; ways that keep nothing of a row read it twice. */
static double tensors_moved(const struct plan *p)
{
    return p->kernel == ONLINE || p->kernel == PARTIAL || p->kernel == UNMERGED || p->kernel == LAST
               ? 3
               : 2;
}

/* What blocks leave for each other in device memory: written once, read by those who need it. */
static double parts_moved(const struct tensors *t, const struct plan *p)
{
    const double parts = p->parts, bytes = 8.0 * t->rows * parts;
    return p->kernel == PARTIAL ? bytes * (1 + parts)
           : p->kernel == GRID  ? bytes * (2 + parts)
           : p->kernel == LAST  ? bytes * 2
                                : 0;
}

/* The first two kernels of the chain are plain passes: their bytes are all there is to say. */
static void count_kernels(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    const struct work *w = self;
    const struct tensors *t = w->t;
    const struct plan *p = &w->plan;
    const double tensor = (double)t->bytes, lengths = 4.0 * t->rows;
    const double parts = 8.0 * t->rows * p->parts;
    size_t n = 0;

    if (effort_of(p, p->kernel).exponentials == 0 || w->chain == UNFUSED_STORED)
        return;
    if (w->chain == UNFUSED) {
        each[n++].bytes = 2 * tensor;
        each[n++].bytes = 2 * tensor;
    }
    if (p->kernel == PARTIAL) { /* each block leaves a part, which all blocks of its row read */
        each[n++] = kernel_does(r, t, p, PARTIAL, tensor + lengths + parts);
        each[n++] = kernel_does(r, t, p, FINISH, 2 * tensor + parts * p->parts);
    } else {
        const double bytes = tensors_moved(p) * tensor + lengths + parts_moved(t, p);
        each[n++] = kernel_does(r, t, p, p->kernel, bytes);
    }
}

static struct operation operation_of(const struct work *w, const char *name)
{
    const struct tensors *t = w->t;
    const double tensor = (double)t->bytes, lengths = 4.0 * t->rows;
    const double whole = tensors_moved(&w->plan) * tensor + parts_moved(t, &w->plan);
    const unsigned kernels = w->plan.kernel == PARTIAL || w->plan.kernel == UNMERGED ? 2 : 1;
    struct operation o = {.name = name,
                          .launch = launch,
                          .poison = poison,
                          .verify = w->is_operator ? NULL : verify,
                          .describe = w->is_operator ? NULL : describe,
                          .count = w->is_operator ? NULL : count_kernels,
                          .self = w,
                          .sets = t->in.sets,
                          .set_bytes = 2 * tensor,
                          .bytes = whole + lengths,
                          .memory = 2 * tensor + lengths,
                          .kernels = kernels};
    if (w->is_operator) {
        o.bytes = 2 * tensor + (w->plan.kernel == MASK ? lengths : 0);
        o.kernels = 1;
    } else if (w->chain != NO_CHAIN) {
        o.bytes += (w->chain == UNFUSED ? 4 : 6) * tensor;
        o.memory += (w->chain == UNFUSED ? 2 : 3) * tensor;
        o.kernels += w->chain == UNFUSED ? 2 : 3;
    }
    return o;
}

#endif
