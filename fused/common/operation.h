/* One way to compute a fused operator, timed: what all probes of this folder share.
 *
 * An operation is a sequence of launches on one set of buffers: the fused kernel, the unfused chain of
 * kernels, a library's call, a plain copy. operation_measure() makes the case, has it verified, times
 * it, and has it verified again:
 *
 *     mode=graph   n and 2n whole operations in a graph; the slope is one operation, edges included
 *     mode=stream  the same, launched one by one: what a program pays that submits as it goes
 *     l2=warm      always the same set
 *     l2=cold      set after set, so that 3 x L2 of other bytes lie between two uses of one; where
 *                  the sets are too few for that, each is used once behind a reading sweep of 3 x L2
 *
 * share_of_copy sets the copy of what the fused operator moves, half read and half written, against
 * each form of it: what mostly reads may pass 1.
 *
 * Every probe has the metrics of OPERATION_METRICS under the same names and keys,
 *
 *     SIZES...,type=T,impl=NAME,mode=graph|stream,l2=warm|cold
 *
 * with impl=fused for its best fused kernel, impl=unfused for one good kernel per operator, and
 * impl=copy, impl=memcpy for the copies; so that shares, predictions and the table of quality can be
 * formed over all of them. */
#ifndef FUSED_COMMON_OPERATION_H
#define FUSED_COMMON_OPERATION_H

#include <math.h>

#include "core/gpu.h"

enum operation_metric {
    OPERATION_TIME,
    OPERATION_SHARE,
    OPERATION_BYTES,
    OPERATION_KERNELS,
    OPERATION_MEMORY,
    OPERATION_ERROR,
    OPERATION_DIFFER,
    OPERATION_ULPS,
    OPERATION_CAUGHT,
    OPERATION_DIGEST,
    N_OPERATION_METRICS, /* a probe's own metrics begin here */
};

/* A probe that says what each kernel of an operation does, for predictions (report/bundle/derive_fusion.h),
 * has these next, and its own from N_OPERATION_EACH_METRICS on. */
enum operation_each_metric {
    OPERATION_EACH_BYTES = N_OPERATION_METRICS,
    OPERATION_EACH_BLOCKS,
    OPERATION_EACH_TRIPS,
    OPERATION_EACH_ALONE,
    OPERATION_EACH_SPILLED,
    OPERATION_EACH_LOCAL,
    OPERATION_EACH_OPERATIONS,
    OPERATION_EACH_EXPONENTIALS,
    OPERATION_EACH_FLOPS,
    N_OPERATION_EACH_METRICS,
};
#define OPERATION_KEYS(sizes) sizes ",type,impl,mode,l2"
#define OPERATION_METRICS(k) OPERATION_METRICS_TIMED(k, "one whole operation")
#define OPERATION_METRICS_TIMED(k, time_text) /* with a text for the time */                      \
    [OPERATION_TIME] = {.name = "time", .unit = "ns", .form = PROBE_SLOPE, .timer = "event",      \
                        .keys = k, .what = time_text},                                            \
    [OPERATION_SHARE] = {.name = "share_of_copy", .unit = "ratio", .better = PROBE_HIGHER,        \
                         .keys = k, .what = "time of the best copy of the fused operator's bytes " \
                                            "over the time of the operation"},                    \
    [OPERATION_BYTES] = OPERATION_COUNT("bytes", "bytes", k, "loads and stores by count, "        \
                                        "whichever cache serves them"),                           \
    [OPERATION_KERNELS] = OPERATION_COUNT("kernels", "count", k, "kernels of one operation"),     \
    [OPERATION_MEMORY] = OPERATION_COUNT("memory", "bytes", k, "operands, results, "              \
                                         "intermediates and workspace of one operation"),         \
    [OPERATION_ERROR] = {.name = "error", .unit = "ratio", .keys = k,                             \
                         .what = "relative Frobenius norm of the difference from float64"},       \
    [OPERATION_DIFFER] = {.name = "differ", .unit = "ratio", .keys = k,                           \
                          .what = "share of the results that differ in a bit from the unfused "   \
                                  "ones"},                                                        \
    [OPERATION_ULPS] = {.name = "ulps", .unit = "ulps", .keys = k,                                \
                        .what = "greatest distance of a result from the unfused one"},            \
    [OPERATION_CAUGHT] = {.name = "caught", .unit = "ratio", .better = PROBE_HIGHER, .keys = k,   \
                          .what = "share of planted faults that verification sees"},              \
    [OPERATION_DIGEST] = OPERATION_COUNT("digest", "count", k, "29 bits of a hash of the "        \
                                         "results for inputs of a fixed seed")
#define OPERATION_COUNT(metric, of_unit, k, text) /* exact, by count */ \
    {.name = metric, .unit = of_unit, .better = PROBE_EXACT, .keys = k, .what = text}

#define OPERATION_EACH_METRICS(k) OPERATION_EACH_METRICS_OF(k ",kernel")
#define OPERATION_EACH_METRICS_OF(k) /* of one kernel of an operation */                           \
    [OPERATION_EACH_BYTES] = OPERATION_COUNT("kernel_bytes", "bytes", k, "loads and stores of "    \
                                             "one kernel of the operation by count"),              \
    [OPERATION_EACH_BLOCKS] = OPERATION_COUNT("blocks", "count", k, "blocks of that kernel"),      \
    [OPERATION_EACH_TRIPS] = OPERATION_COUNT("trips", "count", k, "times that the busiest SM "     \
                                             "waits for loads, one behind the other"),             \
    [OPERATION_EACH_ALONE] = OPERATION_COUNT("alone", "count", k, "1: an SM has one block at a "   \
                                             "time, which loads all it works on before it stores " \
                                             "any"),                                               \
    [OPERATION_EACH_SPILLED] = OPERATION_COUNT("spilled", "bytes", k, "loads and stores of local " \
                                               "memory"),                                          \
    [OPERATION_EACH_LOCAL] = OPERATION_COUNT("sm_local", "bytes", k, "local memory of the "        \
                                             "threads resident on an SM"),                         \
    [OPERATION_EACH_OPERATIONS] = OPERATION_COUNT("operations", "count", k, "fp32 additions, "     \
                                                  "products and comparisons"),                     \
    [OPERATION_EACH_EXPONENTIALS] = OPERATION_COUNT("exponentials", "count", k, "exponentials "    \
                                                    "and reciprocals"),                            \
    [OPERATION_EACH_FLOPS] = OPERATION_COUNT("flops", "count", k, "of its product, on tensor "     \
                                             "cores")

/* Equal buffers, one a set, never a power of two apart; poisoned when new. */
struct pool {
    char *memory;
    size_t bytes, stride, sets; /* of one set; from one to the next; how many */
    void *spacer;               /* private */
};
struct pool pool_new(struct probe_run *r, size_t bytes, size_t sets, const char *what);
struct pool pool_normal(struct probe_run *r, enum gpu_type type, size_t count, size_t sets,
                        uint64_t seed, const char *what); /* filled with N(0,1) */
void pool_free(struct probe_run *r, struct pool *p);
void pool_poison(struct probe_run *r, const struct pool *p);
static inline void *pool_at(const struct pool *p, size_t set)
{
    return p->memory + set * p->stride;
}

/* Seed of a case's inputs: another in every run, but one for all runs of a case that is measured in the
 * first and the last round only, whose figures must agree. */
static inline uint64_t operation_seed(const struct probe_run *r, unsigned flags)
{
    return flags & PROBE_ONCE ? 1 : probe_seed(r);
}

/* Sets of buffers to rotate over, one of them having so many bytes: enough for 3 x L2, at most 32. */
size_t operation_sets(const struct probe_run *r, double bytes_of_a_set);

/* What one kernel of an operation does, by count; 0: not known. */
struct operation_kernel {
    double bytes;        /* loads and stores */
    double blocks;
    double trips;        /* on the busiest SM: rounds of its blocks x loads in sequence of a thread */
    double alone;        /* 1: one block an SM at a time, which loads all before it stores any */
    double spilled;      /* bytes of local memory, loaded and stored */
    double local;        /* bytes of local memory that the threads of an SM have */
    double operations;   /* fp32 additions, products, comparisons; one that does two counts once */
    double exponentials; /* and reciprocals */
    double flops;        /* on tensor cores */
};
enum { OPERATION_EACH_MAX = 4 };

struct operation {
    const char *name; /* impl=NAME */
    /* Launches all of it on the run's stream; must be capturable. */
    void (*launch)(struct probe_run *r, const void *self, size_t set);
    /* Fills what it writes with NaN, every set, before the first launch and again before those that
     * are timed, which must need nothing of what launches before them left; NULL: nothing to do. */
    void (*poison)(struct probe_run *r, const void *self);
    /* Judges set 0 by probe_require and returns the relative error; NULL: not verified, which is for
     * the single kernels of a chain: as its steps they are verified with the whole. */
    double (*verify)(struct probe_run *r, const void *self, const char *when);
    /* Facts of the case (registers, the library's kernel), values of the probe's own; may be NULL. */
    void (*describe)(struct probe_run *r, const void *self);
    /* Says what each of its kernels does, OPERATION_EACH_MAX at most; NULL: nothing. For probes with
     * OPERATION_EACH_METRICS. */
    void (*count)(struct probe_run *r, const void *self, struct operation_kernel *each);
    const void *self;
    size_t sets;      /* that launch() takes */
    double set_bytes; /* of one set, whatever this operation touches of it: decides what is cold */
    double bytes;     /* loads and stores of one operation by count, whichever cache serves them */
    double memory;    /* bytes of operands, results, intermediates, workspace of one set; 0: not said */
    unsigned kernels; /* launched for one operation; 0: not said */
    bool power_bound; /* products and the like; long streams are found out by their bytes */
};

struct condition {
    bool stream; /* launch by launch; else by graph */
    bool cold;
};

/* Makes the case "SIZES,type=..,impl=..,mode=..,l2=.." (`keys` is all before ",impl="), with flags of
 * probe_begin_case, verifies, times, verifies what was timed. copy_ns: the best copy of as many bytes as
 * the fused operator moves, for the share; NaN: no share. Returns the median in ns; NaN when left
 * out or checking. */
double operation_measure(struct probe_run *r, const char *keys, const struct operation *o,
                         struct condition c, unsigned flags, double copy_ns);

/* What each kernel does, as cases of their own: the operation's keys and kernel=0, 1... */
void operation_count(struct probe_run *r, const char *keys, const struct operation *o,
                     struct condition c, unsigned flags);

/* Of a launch whose blocks fit an SM `resident` at a time: how many the busiest SM has at a time, and
 * in how many rounds they come. */
static inline double operation_at_once(const struct probe_run *r, double blocks, double resident)
{
    return fmin(resident, ceil(blocks / gpu_facts(r)->n_sm));
}
static inline double operation_rounds(const struct probe_run *r, double blocks, double resident)
{
    return resident < 1 ? 0 : ceil(ceil(blocks / gpu_facts(r)->n_sm) / resident);
}

/* The sample loop alone, for a case that the caller has made. */
void operation_sample(struct probe_run *r, const struct operation *o, struct condition c);

/* The best copy of `bytes` in all (half read, half written), ours or cudaMemcpyAsync (a long one 1 MiB
 * longer, too, in proportion), each a case of the same keys; same mode, cache state and rotation as
 * what it is compared with. In ns. */
double copy_measure(struct probe_run *r, const char *keys, double bytes, struct condition c,
                    unsigned flags);

#endif
