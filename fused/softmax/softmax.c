/* softmax: what does it save to scale, mask and normalise rows of logits in one kernel, not three;
 * and when does a row need more than one SM?
 *
 * Method. Rows of N(0,1) logits are scaled by 2.5, cut off behind the length of their row (an
 * eighth of the columns at most, in two rows all of them or all but one), and normalised;
 * arithmetic is fp32. A row masked whole gives zeros, in every way here. Unfused: scale, mask,
 * softmax, each with its result in memory (6 tensors moved, fused 2); unfused_stored: the mask is a
 * tensor that a kernel writes and the addition reads (8). The softmax of the chain is the fused
 * kernel without scale and mask. Rows are any number of columns, padded to 16 bytes. Modes, cache
 * states, the copy: common/operation.h.
 *
 * One row can be spread so (impl=):
 *     resident              one block that holds it in registers, and the rest in shared memory
 *     pair                  likewise in registers alone, so that two blocks share an SM
 *     online                one block that reads twice, and keeps two numbers
 *     cluster8, cluster16   blocks that exchange their parts in distributed shared memory
 *     grid                  blocks all resident that wait for each other in device memory
 *     last                  one launch in which nobody waits: the last to be done finishes alone
 *     two                   two kernels
 * `fused` is the best by shape (softmax_ways.h; a fact of the case says which). `longest` is the
 * longest row that one block holds, found by bisection over launches with right results; `stable`
 * the share of rows made to overflow, or to cancel, that come out right.
 *
 * Inside the timed region: the operations, between two events.
 * Expected of an H200: 131072 x 4096 fp16 as long as a copy, 0.5 ms, the chain three times that.
 * 8192 x 32768 likewise: a row that fills an SM alone is loaded, then stored, and reaches 0.84 of a
 * copy; two at a time, by registers for 16-bit logits instead of exponentials, 0.97.
 * One row of 131072: launch and edge of a graph, 1.2 us; loads, 0.4 us; the arithmetic of an SM's
 * 8192 logits, 0.6 us; shuffles and the cluster's barrier, 0.5 us; stores: 3 us by a cluster. By
 * one SM 12 us: it makes 16 exponentials a cycle, 4 us for each of two reads, and moves 64 bytes a
 * cycle.
 *
 * Traps: -inf minus -inf where a whole row is masked. log2(e) folded into the scale before the
 * greatest logit is subtracted costs a logit of 6e4 three digits. Code that runs once: a block
 * whose threads held 52 vectors each, unrolled, took 39 us where 26 and twice the warps take 19. */
#include "core/draw.h"
#include "core/gpu.h"

PROBE_IMAGE(softmax);
PROBE_IMAGE(softmax_check);

#include "fused/common/quality.h"
#include "fused/softmax/limits.h"
#include "fused/softmax/operation.h"

static const struct probe_metric metrics[] = {
    OPERATION_METRICS(OPERATION_KEYS("rows,cols")),
    OPERATION_EACH_METRICS(OPERATION_KEYS("rows,cols")),
    [LONGEST] = {"longest", "count", PROBE_EXACT, .keys = "type,impl",
                 .what = "elements of the longest row that one block can hold"},
    [STABLE] = {"stable", "ratio", PROBE_HIGHER, .keys = "case,type,impl",
                .what = "share of rows that overflow, cancel or are masked that come out right"},
};

/* --- cases ----------------------------------------------------------------------------------- */

struct setting { /* of some cases: their keys, how they are measured, what a copy takes */
    char keys[64];
    struct condition condition;
    unsigned flags;
    double copy_ns;
};

static struct setting setting_of(struct probe_run *r, const struct tensors *t,
                                 struct condition condition, unsigned flags, bool with_copy)
{
    struct setting s = {.condition = condition, .flags = flags, .copy_ns = NAN};
    const bool by_sm = t->rows == (uint32_t)gpu_facts(r)->n_sm && t->cols == 131072;
    char rows[16] = "sm";
    if (!by_sm)
        snprintf(rows, sizeof rows, "%u", (unsigned)t->rows);
    snprintf(s.keys, sizeof s.keys, "rows=%s,cols=%u,type=%s", rows, (unsigned)t->cols,
             gpu_type_name(t->k->type));
    if (with_copy)
        s.copy_ns = copy_measure(r, s.keys, 2 * (double)t->bytes, condition, flags);
    return s;
}

static void measure_work(struct probe_run *r, const struct work *w, const char *name,
                         const struct setting *s)
{
    if (!w->is_operator && !plan_fits(r, w->t, &w->plan))
        return;
    const struct operation o = operation_of(w, name);
    operation_measure(r, s->keys, &o, s->condition, s->flags, s->copy_ns);
}

static void measure_fused(struct probe_run *r, const struct tensors *t, const struct setting *s)
{
    const struct plan best = plan_best(r, t);
    const struct work unfused = {.t = t, .chain = UNFUSED, .plan = best};
    const struct work fused = {.t = t, .plan = best};
    measure_work(r, &unfused, "unfused", s);
    measure_work(r, &fused, "fused", s);
}

/* The chain that stores its mask, and each kernel of the usual one; and of rows that share an SM
 * what they take one at a time. */
static void measure_chain(struct probe_run *r, const struct tensors *t, const struct setting *s)
{
    const struct work stored = {.t = t, .chain = UNFUSED_STORED, .plan = plan_best(r, t)};
    const struct work scale = {.t = t, .plan.kernel = SCALE, .is_operator = true};
    const struct work mask = {.t = t, .plan.kernel = MASK, .is_operator = true};
    const struct work softmax = {.t = t, .plan = plan_best(r, t)};
    struct operation whole = operation_of(&stored, "unfused_stored");
    struct operation alone = operation_of(&softmax, "softmax");
    const struct work single = {.t = t, .plan = plan_of(r, t, ROW, 1)};
    struct setting once = *s;

    once.flags |= PROBE_ONCE;
    whole.verify = verify_only;
    operation_measure(r, s->keys, &whole, s->condition, once.flags, s->copy_ns);
    measure_work(r, &scale, "scale", &once);
    measure_work(r, &mask, "mask", &once);
    alone.launch = launch_alone;
    alone.verify = NULL;
    operation_measure(r, s->keys, &alone, s->condition, once.flags, s->copy_ns);
    if (softmax.plan.kernel == PAIR)
        measure_work(r, &single, "resident", &once);
}

/* Every way to spread a row that can be launched here; where rows are many, without those that take
 * a launch for each. */
enum { WAYS_MOST = 9, ROWS_EACH = 9 };
static size_t ways_of(struct probe_run *r, const struct tensors *t, struct work *works,
                      const char **names)
{
    const uint32_t parts = parts_of(r, t), n_sm = (uint32_t)gpu_facts(r)->n_sm;
    const struct {
        const char *name;
        enum kernel kernel;
        uint32_t parts;
    } ways[] = {{"resident", t->vectors > SOFTMAX_VECTORS * SOFTMAX_THREADS ? HELD : ROW, 1},
                {"pair", PAIR, 1},
                {"online", ONLINE, 1},
                {"cluster8", CLUSTER, 8},
                {"cluster16", CLUSTER, 16},
                {"grid", GRID, parts < n_sm ? parts : n_sm},
                {"last", LAST, parts},
                {"two", PARTIAL, parts}};
    size_t n = 0;

    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        if (t->rows > ROWS_EACH && (ways[i].kernel == LAST || ways[i].kernel == GRID))
            continue;
        works[n] = (struct work){.t = t, .plan = plan_of(r, t, ways[i].kernel, ways[i].parts)};
        names[n] = ways[i].name;
        n += plan_fits(r, t, &works[n].plan);
    }
    return n;
}
static void measure_ways(struct probe_run *r, const struct tensors *t, const struct setting *s)
{
    struct work works[WAYS_MOST];
    const char *names[WAYS_MOST];
    const size_t n = ways_of(r, t, works, names);
    for (size_t i = 0; i < n; i++)
        measure_work(r, &works[i], names[i], s);
}

/* --- sizes ----------------------------------------------------------------------------------- */

static const struct condition WARM = {false, false}, COLD = {false, true}, STREAM = {true, false};

static void measure_long(struct probe_run *r, const struct kernels *k, uint32_t rows, uint32_t cols,
                         unsigned flags)
{
    const double bytes = 1.0 * rows * cols * (double)gpu_type_size(k->type);
    if (8 * bytes > (double)gpu_facts(r)->free_bytes) {
        probe_note(r, "%ux%u: too little memory", (unsigned)rows, (unsigned)cols);
        return;
    }
    const uint64_t seed = flags & PROBE_ONCE ? FIXED : probe_seed(r);
    const struct shape shape = {rows, cols, operation_sets(r, 2 * bytes), seed};
    struct tensors t = tensors_of(r, k, shape, WITH_MASK);
    const struct setting cold = setting_of(r, &t, COLD, flags, true);
    measure_fused(r, &t, &cold);
    measure_chain(r, &t, &cold);
    tensors_free(r, &t);
}

static void measure_short(struct probe_run *r, const struct kernels *k, uint32_t rows,
                          uint32_t cols, unsigned flags)
{
    const double bytes = 2.0 * rows * cols * (double)gpu_type_size(k->type);
    const struct shape shape = {rows, cols, operation_sets(r, bytes), probe_seed(r)};
    struct tensors t = tensors_of(r, k, shape, WITH_CHAIN);
    const struct setting warm = setting_of(r, &t, WARM, flags, true);
    measure_fused(r, &t, &warm);
    if (rows == 1) {
        const struct setting stream = setting_of(r, &t, STREAM, flags, false);
        measure_fused(r, &t, &stream);
    }
    const struct setting cold = setting_of(r, &t, COLD, flags, true);
    measure_fused(r, &t, &cold);
    tensors_free(r, &t);
}

/* One row, or as many as there are SMs, by every way; a long one by two kernels that forget to
 * merge, too. */
static void measure_spread(struct probe_run *r, const struct kernels *k, uint32_t rows,
                           uint32_t cols, struct condition condition)
{
    const double bytes = 2.0 * rows * cols * (double)gpu_type_size(k->type);
    const size_t sets = condition.cold ? operation_sets(r, bytes) : 1;
    struct tensors t = tensors_of(r, k, (struct shape){rows, cols, sets, FIXED}, FUSED_ONLY);
    const struct setting s = setting_of(r, &t, condition, PROBE_ONCE, false);
    measure_ways(r, &t, &s);
    if (rows == 1 && cols >= LONG_ROW) {
        const struct work unmerged = {
            .t = &t, .plan = plan_of(r, &t, UNMERGED, parts_of(r, &t)), .is_wrong = true};
        measure_work(r, &unmerged, "unmerged", &s);
    }
    tensors_free(r, &t);
}

/* --- does it hold everywhere? ---------------------------------------------------------------- */

static void check_shape(struct probe_run *r, const struct kernels *k, uint32_t rows, uint32_t cols)
{
    const struct shape shape = {rows, cols, 1, probe_seed(r) + cols};
    struct tensors t = tensors_of(r, k, shape, WITH_MASK);
    struct work works[WAYS_MOST + 3];
    const char *names[WAYS_MOST];
    size_t n = ways_of(r, &t, works, names);

    works[n++] = (struct work){.t = &t, .plan = plan_best(r, &t)};
    works[n++] = (struct work){.t = &t, .chain = UNFUSED, .plan = plan_best(r, &t)};
    works[n++] = (struct work){.t = &t, .chain = UNFUSED_STORED, .plan = plan_best(r, &t)};
    for (size_t i = 0; i < n; i++)
        for (int again = 0; again < 2; again++) {
            char when[64];
            snprintf(when, sizeof when, "%ux%u %s %s", (unsigned)rows, (unsigned)cols,
                     gpu_type_name(k->type), kernel_names[works[i].plan.kernel]);
            if (again) /* on the state that the first time has left */
                poison_tensors(r, &t);
            else
                poison(r, &works[i]);
            launch(r, &works[i], 0);
            verify(r, &works[i], when);
        }
    tensors_free(r, &t);
}

/* Random shapes, half of them narrow, with the sizes at which something begins anew among them. */
static void check_shapes(struct probe_run *r, const struct kernels k[3])
{
    static const uint32_t special[] = {1,   2,    7,    8,    9,    31,   127,  255,  256,
                                       257, 1023, 1024, 1025, 4095, 4097, 8191, 8192, 8193};
    enum { SHAPES = 48 };
    uint64_t state = probe_seed(r);

    for (uint32_t i = 0; i < SHAPES; i++) {
        const uint32_t drawn = (uint32_t)draw(&state);
        const uint32_t cols = i < PROBE_LENGTH(special) ? special[i]
                                                        : 1 + drawn / 9 % (i % 2 ? 300 : 9000);
        check_shape(r, &k[i % 3], i % 4 ? 1 + drawn % 9 : 1, cols);
    }
    probe_note(r, "%d shapes by every way, a third in each type, are as in double", SHAPES);
}

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r, const struct kernels *k)
{
    struct tensors t = tensors_of(r, k, (struct shape){1001, 1024, 1, FIXED}, WITH_CHAIN);
    const struct work fused = {.t = &t, .plan = plan_best(r, &t)};
    const struct work unfused = {.t = &t, .chain = UNFUSED, .plan = plan_best(r, &t)};
    const struct quality_pair pair = {.results = {t.out.memory, 1001, 1024, 2},
                                      .launch_unfused = launch,
                                      .launch_fused = launch,
                                      .unfused = &unfused,
                                      .fused = &fused,
                                      .is_wrong = is_wrong};

    if (probe_begin_case(r, PROBE_ONCE,
                         "rows=1001,cols=1024,type=fp16,impl=fused,mode=graph,l2=warm"))
        quality_of_pair(r, &pair);
    tensors_free(r, &t);
}

static void measure_deep(struct probe_run *r, const struct kernels k[3])
{
    static const uint32_t sizes[][2] = {{1, 1024}, {1, 32768}, {1, 524288}, {1, 2097152},
                                        {1024, 1024}, {1024, 4096}, {4096, 4096}};
    for (int type = 0; type < 3; type++) {
        for (size_t i = 0; i < PROBE_LENGTH(sizes); i++)
            measure_short(r, &k[type], sizes[i][0], sizes[i][1], PROBE_DEEP);
        measure_long(r, &k[type], 16384, 8192, PROBE_DEEP);
        measure_long(r, &k[type], 131072, 1024, PROBE_DEEP);
    }
}

static void measure(struct probe_run *r)
{
    static const uint32_t lengths[] = {1024, 4096, 16384, 65536, 131072, 262144, LONG_ROW};
    const struct kernels k[] = {kernels_of(r, GPU_FP16), kernels_of(r, GPU_BF16),
                                kernels_of(r, GPU_FP32)};

    if (probe_is_check_run(r))
        check_shapes(r, k);
    else
        measure_long(r, &k[0], 131072, 4096, 0);
    measure_short(r, &k[0], 1, 131072, 0);
    measure_short(r, &k[0], 32, 32768, 0);
    if (!probe_is_check_run(r))
        measure_long(r, &k[0], 8192, 32768, PROBE_ONCE);
    for (size_t i = 0; i < PROBE_LENGTH(lengths); i++)
        measure_spread(r, &k[0], 1, lengths[i], WARM);
    measure_spread(r, &k[2], 1, LONG_ROW, WARM);
    measure_spread(r, &k[0], (uint32_t)gpu_facts(r)->n_sm, 131072, COLD);
    measure_longest(r, &k[0]);
    measure_longest(r, &k[2]);
    for (int type = 0; type < 3; type++)
        measure_stable(r, &k[type]);
    measure_quality(r, &k[0]);
    if (probe_deep(r))
        measure_deep(r, k);
}

const struct probe probe = {
    .name = "softmax",
    .what = "What does it save to scale, mask and normalise in one kernel, and when by many SMs?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
