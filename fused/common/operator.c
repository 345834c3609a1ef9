#include "fused/common/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const operator_type_words[] = {"fp16", "bf16", "fp32", NULL};

enum { KEYS_MAX = 128 };

/* --- memory ---------------------------------------------------------------------------------- */

static struct pool *add(struct probe_run *r, struct operator_set *s, struct pool pool,
                        bool is_result)
{
    if (s->n_pools == OPERATOR_POOLS)
        probe_fail(r, "an operator has more than %d buffers", OPERATOR_POOLS);
    s->pools[s->n_pools].pool = pool;
    s->pools[s->n_pools].is_result = is_result;
    return &s->pools[s->n_pools++].pool;
}

struct pool operator_operand(struct probe_run *r, struct operator_set *s, enum gpu_type type,
                             size_t count, const char *what)
{
    return *add(r, s, pool_normal(r, type, count, s->sets, s->seed++, what), false);
}

void *operator_vector(struct probe_run *r, struct operator_set *s, enum gpu_type type, size_t count,
                      const char *what)
{
    return add(r, s, pool_normal(r, type, count, 1, s->seed++, what), false)->memory;
}

struct pool operator_result(struct probe_run *r, struct operator_set *s, size_t bytes,
                            const char *what)
{
    return *add(r, s, pool_new(r, bytes, s->sets, what), true);
}

void *operator_scratch(struct probe_run *r, struct operator_set *s, size_t bytes, const char *what)
{
    return add(r, s, pool_new(r, bytes, 1, what), true)->memory;
}

void *operator_table(struct probe_run *r, struct operator_set *s, size_t bytes, const char *what)
{
    return add(r, s, pool_new(r, bytes, 1, what), false)->memory;
}

struct pool operator_tables(struct probe_run *r, struct operator_set *s, size_t bytes,
                            const char *what)
{
    return *add(r, s, pool_new(r, bytes, s->sets, what), false);
}

static void resolve(struct probe_run *r, struct operator_shape *shape)
{
    for (size_t i = 0; i < OPERATOR_DIMS; i++)
        if (shape->dim[i] == OPERATOR_SM)
            shape->dim[i] = gpu_facts(r)->n_sm;
}

struct operator_set operator_open(struct probe_run *r, const struct fused_operator *o,
                                  const struct operator_shape *shape, unsigned groups, size_t sets,
                                  uint64_t seed)
{
    struct operator_set s = {.of = o,
                             .shape = *shape,
                             .groups = groups,
                             .sets = sets,
                             .is_fixed = seed == OPERATOR_FIXED,
                             .seed = seed};

    resolve(r, &s.shape);
    s.own = calloc(1, o->own_bytes);
    if (!s.own)
        probe_fail(r, "out of memory");
    o->open(r, &s);
    return s;
}

void operator_close(struct probe_run *r, struct operator_set *s)
{
    for (size_t i = 0; i < s->n_pools; i++)
        pool_free(r, &s->pools[i].pool);
    free(s->own);
    *s = (struct operator_set){0};
}

/* --- one form, as an operation ---------------------------------------------------------------- */

struct subject {
    const struct operator_set *s;
    const struct operator_form *f;
};

size_t operator_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                      struct operator_form forms[OPERATOR_FORMS])
{
    const size_t n = s->of->forms(r, s, member, forms);
    for (size_t i = 0; i < n; i++)
        forms[i].member = member;
    return n;
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct subject *u = self;
    u->f->launch(r, u->s, u->f, set);
}

static void poison_results(struct probe_run *r, const struct operator_set *s)
{
    for (size_t i = 0; i < s->n_pools; i++)
        if (s->pools[i].is_result)
            pool_poison(r, &s->pools[i].pool);
}

static void poison(struct probe_run *r, const void *self)
{
    const struct operator_set *s = ((const struct subject *)self)->s;
    poison_results(r, s);
    if (s->of->reset)
        s->of->reset(r, s);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    const struct subject *u = self;
    uint64_t due;
    const struct verdict v = u->s->of->verify(r, u->s, u->f, true, &due);
    return v.wrong > 0 || v.looked_at != due;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct subject *u = self;
    const struct fused_operator *o = u->s->of;
    const bool all = probe_in_full(r) || u->s->is_fixed; /* fixed inputs: the same in every run */
    uint64_t due;
    const struct verdict v = o->verify(r, u->s, u->f, all, &due);

    if (u->f->is_wrong)
        return verdict_error(&v);
    if (o->check_on_host && probe_in_full(r))
        o->check_on_host(r, u->s, u->f, when);
    return verdict_check(r, &v, due, when);
}

static void describe(struct probe_run *r, const void *self)
{
    const struct subject *u = self;
    u->s->of->describe(r, u->s, u->f);
}

static void count(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    const struct subject *u = self;
    u->s->of->count(r, u->s, u->f, each);
}

bool operator_is_wrong(struct probe_run *r, const struct operator_set *s,
                       const struct operator_form *f)
{
    const struct subject u = {s, f};
    poison(r, &u);
    f->launch(r, s, f, 0);
    return is_wrong(r, &u);
}

static void measure_form(struct probe_run *r, const struct subject *u, const char *keys,
                         struct condition c, unsigned flags, double copy_ns)
{
    const struct operator_form *f = u->f;
    const struct fused_operator *of = u->s->of;
    const double copied = of->copied(u->s, f->member);
    const bool is_part = f->group == OPERATOR_PARTS;
    const struct operation o = {.name = f->name,
                                .launch = launch,
                                .poison = poison,
                                .verify = is_part ? NULL : verify,
                                .describe = of->describe ? describe : NULL,
                                .count = of->count ? count : NULL,
                                .self = u,
                                .sets = u->s->sets,
                                .set_bytes = of->rotated ? of->rotated(u->s) : copied,
                                .bytes = f->bytes,
                                .memory = f->memory,
                                .kernels = f->kernels,
                                .power_bound = f->power_bound};
    operation_measure(r, keys, &o, c, flags | (f->is_thrice ? PROBE_THRICE : 0),
                      is_part ? copy_ns * f->bytes / copied : copy_ns);
}

/* --- a sweep ---------------------------------------------------------------------------------- */

/* "op=NAME,rows=1,cols=2,type=fp16" */
static void keys_of(const struct fused_operator *o, const struct operator_shape *shape,
                    size_t member, char keys[KEYS_MAX])
{
    size_t n = 0;
    if (o->family)
        n += (size_t)snprintf(keys, KEYS_MAX, "%s=%s,", o->family, o->members[member]);
    for (size_t i = 0; i < OPERATOR_DIMS && o->dims[i]; i++) {
        const int value = shape->dim[i];
        const char *word = value == OPERATOR_SM ? "sm" : o->words[i] ? o->words[i][value] : NULL;
        n += (size_t)(word ? snprintf(keys + n, KEYS_MAX - n, "%s=%s,", o->dims[i], word)
                           : snprintf(keys + n, KEYS_MAX - n, "%s=%d,", o->dims[i], value));
    }
    snprintf(keys + n, KEYS_MAX - n, "type=%s",
             (o->types ? o->types : operator_type_words)[shape->type]);
}

struct operator_copies {
    double bytes[2], ns[2]; /* [cold] */
};

/* One copy serves all members that load and store the same number of bytes. NaN: none. */
static double copy_of(struct probe_run *r, struct operator_set *s, size_t member, const char *keys,
                      struct condition c, const struct operator_sweep *w)
{
    const double bytes = s->of->copied(s, member);
    struct operator_copies *last = s->copies;

    if (w->has_copy == OPERATOR_NO_COPY || c.stream)
        return NAN;
    if (last->bytes[c.cold] == bytes)
        return last->ns[c.cold];
    if (w->has_copy == OPERATOR_COPY_BEFORE)
        return NAN;
    last->bytes[c.cold] = bytes;
    last->ns[c.cold] = copy_measure(r, keys, bytes, c, w->flags);
    return last->ns[c.cold];
}

static void measure_member(struct probe_run *r, struct operator_set *s, size_t member,
                           const struct operator_sweep *w, struct condition c)
{
    struct operator_form forms[OPERATOR_FORMS];
    const size_t n = s->own ? operator_forms(r, s, member, forms) : 0;
    char keys[KEYS_MAX];

    keys_of(s->of, &w->shape, member, keys);
    const double copy_ns = copy_of(r, s, member, keys, c, w);
    for (size_t i = 0; i < n; i++) {
        const struct subject u = {s, &forms[i]};
        if (forms[i].group & w->groups & (c.stream ? OPERATOR_MAIN : OPERATOR_ALL))
            measure_form(r, &u, keys, c, w->flags, copy_ns);
    }
}

static bool is_wanted(const struct fused_operator *o, const struct operator_sweep *w, size_t member)
{
    return o->n_members == 1 || w->members >> member & 1;
}

/* The fewest bytes that any member moves of a set: decides how many sets are cold. */
static double least_copied(const struct fused_operator *o, const struct operator_sweep *w,
                           const struct operator_set *s)
{
    double least = INFINITY;
    for (size_t member = 0; member < o->n_members; member++)
        if (is_wanted(o, w, member))
            least = fmin(least, o->copied(s, member));
    return least;
}

static void sweep_member(struct probe_run *r, struct operator_set *s, size_t member,
                         const struct operator_sweep *w)
{
    const bool is_warm = w->conditions & OPERATOR_WARM &&
                         s->of->copied(s, member) < 3 * (double)gpu_facts(r)->l2_bytes;
    if (is_warm)
        measure_member(r, s, member, w, (struct condition){.cold = false});
    if (w->conditions & OPERATOR_COLD)
        measure_member(r, s, member, w, (struct condition){.cold = true});
    if (w->conditions & OPERATOR_STREAM) { /* beside the graphs, on which verdicts rest */
        struct operator_sweep beside = *w;
        beside.flags |= PROBE_THRICE;
        measure_member(r, s, member, &beside, (struct condition){.stream = true, .cold = !is_warm});
    }
}

static void sweep(struct probe_run *r, const struct fused_operator *o,
                  const struct operator_sweep *w, struct operator_copies *copies)
{
    struct operator_set sketch = {.of = o, .shape = w->shape};
    char keys[KEYS_MAX];

    resolve(r, &sketch.shape);
    const double least = o->rotated ? o->rotated(&sketch) : least_copied(o, w, &sketch);
    const size_t sets = w->conditions == OPERATOR_WARM ? 1 : operation_sets(r, least);
    keys_of(o, &w->shape, 0, keys);
    if (4 * least * (double)sets > (double)gpu_facts(r)->free_bytes) {
        probe_note(r, "%s: too little memory", keys);
        return;
    }
    /* Where none of its cases is due, only the copies are told of it: which sweep measures a copy
     * must be the same in every round. Buffers of a dozen sweeps took 0.9 s of a round that
     * measures none. */
    struct operator_set s =
        probe_is_due(r, w->flags)
            ? operator_open(r, o, &w->shape, w->groups, sets, operation_seed(r, w->flags))
            : sketch;
    s.copies = copies;
    if (w->has_copy == OPERATOR_COPY) /* under its own keys */
        *copies = (struct operator_copies){0};
    for (size_t member = 0; member < o->n_members; member++)
        if (is_wanted(o, w, member))
            sweep_member(r, &s, member, w);
    operator_close(r, &s);
}

void operator_sweep(struct probe_run *r, const struct fused_operator *o,
                    const struct operator_sweep *w)
{
    struct operator_copies none = {0};
    sweep(r, o, w, &none);
}

/* --- what are the results worth? -------------------------------------------------------------- */

static const struct operator_form *form_of(const struct operator_form *forms, size_t n,
                                           unsigned group)
{
    for (size_t i = 0; i < n; i++)
        if (forms[i].group == group)
            return &forms[i];
    return NULL;
}

/* Inputs of a fixed seed: every run on this GPU gets the same bits. */
static void measure_quality(struct probe_run *r, const struct fused_operator *o, int type)
{
    struct operator_shape shape = o->quality;
    struct operator_form forms[OPERATOR_FORMS];
    char keys[KEYS_MAX];

    if (!probe_is_due(r, PROBE_TWICE) && !(o->adversaries && probe_in_full(r)))
        return;
    shape.type = type;
    struct operator_set s = operator_open(r, o, &shape, OPERATOR_MAIN, 1, OPERATOR_FIXED);
    for (size_t member = 0; member < o->n_members; member++) {
        const size_t n = operator_forms(r, &s, member, forms);
        const struct subject fused = {&s, form_of(forms, n, OPERATOR_FUSED)};
        const struct subject unfused = {&s, form_of(forms, n, OPERATOR_UNFUSED)};
        if (!fused.f || !unfused.f) /* a library is not installed */
            continue;
        const struct quality_pair pair = {.results = o->results(&s, member),
                                          .launch_unfused = launch,
                                          .launch_fused = launch,
                                          .unfused = &unfused,
                                          .fused = &fused,
                                          .is_wrong = is_wrong,
                                          .no_distance = o->no_distance && o->no_distance(member)};
        keys_of(o, &shape, member, keys);
        if (!probe_begin_case(r, PROBE_TWICE, "%s,impl=fused,mode=graph,l2=warm", keys))
            continue;
        quality_of_pair(r, &pair);
        if (o->judge)
            o->judge(r, &s, unfused.f, fused.f);
    }
    if (o->adversaries && probe_in_full(r))
        o->adversaries(r, &s);
    operator_close(r, &s);
}

/* --- --check ---------------------------------------------------------------------------------- */

/* Runs one form twice; the second run meets the state that the first has left. */
static bool fails_at(struct probe_run *r, const struct operator_set *s,
                     const struct operator_form *f)
{
    const struct subject u = {s, f};
    bool failed = operator_is_wrong(r, s, f);
    poison_results(r, s);
    f->launch(r, s, f, 0);
    failed = is_wrong(r, &u) || failed;
    if (s->of->check_on_host)
        s->of->check_on_host(r, s, f, f->name);
    return failed;
}

static void check_shape(struct probe_run *r, const struct fused_operator *o,
                        const struct operator_shape *shape, uint64_t seed)
{
    struct operator_set s = operator_open(r, o, shape, OPERATOR_ALL, 1, seed);
    struct operator_form forms[OPERATOR_FORMS];
    char wrong[256] = "", keys[KEYS_MAX];

    for (size_t member = 0; member < o->n_members; member++) {
        const size_t n = operator_forms(r, &s, member, forms);
        for (size_t i = 0; i < n; i++)
            if (forms[i].group != OPERATOR_PARTS && !forms[i].is_wrong &&
                fails_at(r, &s, &forms[i]))
                snprintf(wrong + strlen(wrong), sizeof wrong - strlen(wrong), " %s %s",
                         o->family ? o->members[member] : "", forms[i].name);
    }
    keys_of(o, shape, 0, keys);
    probe_require(r, !*wrong, "%s: every form is right; wrong:%s", keys, wrong);
    operator_close(r, &s);
}

static void check_odd_shapes(struct probe_run *r, const struct fused_operator *o)
{
    uint64_t state = probe_seed(r);
    size_t refused = 0;

    for (size_t i = 0; i < o->n_odd; i++) {
        const struct operator_shape shape = o->odd(i, &state);
        if (o->refuses && o->refuses(&shape))
            refused++;
        else
            check_shape(r, o, &shape, state);
    }
    probe_note(r, "%zu odd shapes: %zu taken by every form, %zu refused", o->n_odd,
               o->n_odd - refused, refused);
}

static struct operator_shape cut(const struct fused_operator *o, const struct operator_sweep *w)
{
    struct operator_shape shape = w->shape;
    if (shape.dim[o->check_dim] > o->check_rows)
        shape.dim[o->check_dim] = o->check_rows;
    return shape;
}

static bool holds_all(unsigned all, unsigned some)
{
    return (all & some) == some;
}

/* Has an earlier sweep run all of this one's forms at the same shape, once both are cut to a few
 * rows? */
static bool is_cut_alike(const struct fused_operator *o, size_t i)
{
    const struct operator_sweep *w = &o->sweeps[i];
    const struct operator_shape shape = cut(o, w);

    for (size_t k = 0; k < i; k++) {
        const struct operator_sweep *before = &o->sweeps[k];
        const struct operator_shape other = cut(o, before);
        if (!(before->flags & PROBE_DEEP) && !memcmp(&shape, &other, sizeof shape) &&
            holds_all(before->members, w->members) && holds_all(before->groups, w->groups) &&
            holds_all(before->conditions, w->conditions))
            return true;
    }
    return false;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The one shape of the command line, or its type. */
static bool is_given(const struct probe_run *r, const struct fused_operator *o)
{
    if (probe_parameter_given(r, "type"))
        return true;
    for (size_t i = 0; i < OPERATOR_DIMS && o->dims[i]; i++)
        if (probe_parameter(r, o->dims[i]) > 0)
            return true;
    return false;
}

static void measure_given(struct probe_run *r, const struct fused_operator *o)
{
    struct operator_sweep w = {.members = ~0u,
                               .groups = OPERATOR_ALL,
                               .conditions = OPERATOR_WARM | OPERATOR_COLD | OPERATOR_STREAM,
                               .has_copy = o->sweeps[0].has_copy};
    for (size_t i = 0; i < OPERATOR_DIMS && o->dims[i]; i++) {
        const int64_t given = probe_parameter(r, o->dims[i]);
        w.shape.dim[i] = given > 0 ? (int)given : o->sweeps[0].shape.dim[i];
    }
    w.shape.type = (int)probe_parameter(r, "type");
    const char *why = o->refuses ? o->refuses(&w.shape) : NULL;
    char keys[KEYS_MAX];
    keys_of(o, &w.shape, 0, keys);
    if (why)
        probe_usage(r, "%s: %s", keys, why);
    operator_sweep(r, o, &w);
}

bool operator_measure(struct probe_run *r, const struct fused_operator *o)
{
    const bool is_full = probe_is_check_run(r) || probe_deep(r);
    struct operator_copies copies = {0};

    if (is_given(r, o)) {
        measure_given(r, o);
        return false;
    }
    for (size_t i = 0; i < o->n_sweeps; i++) {
        struct operator_sweep w = o->sweeps[i];
        if (w.flags & PROBE_DEEP && !probe_deep(r))
            continue;
        if (probe_is_check_run(r) && is_cut_alike(o, i))
            continue;
        if (probe_is_check_run(r))
            w.shape = cut(o, &w);
        sweep(r, o, &w, &copies);
    }
    for (int type = o->quality.type; type <= (is_full ? o->quality_types : o->quality.type); type++)
        measure_quality(r, o, type);
    if (probe_is_check_run(r) && o->n_odd > 0)
        check_odd_shapes(r, o);
    return true;
}
