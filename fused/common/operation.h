/* Times one way to compute a fused operator. All probes of this folder share this file.
 *
 * An operation is a sequence of launches on one set of buffers: the fused kernel, the unfused chain
 * of kernels, a library's call, or a plain copy. operation_measure() makes the case, verifies the
 * operation, times it, and verifies it again:
 *
 *     mode=graph   n and 2n whole operations in a graph; the slope is the time of one operation,
 *                  graph edges included
 *     mode=stream  the same operations launched one by one: the cost for a program that submits
 *                  work as it goes
 *     l2=warm      every operation uses the same set
 *     l2=cold      operations rotate over the sets, so that 3 x L2 of other bytes pass between two
 *                  uses of one set; where there are too few sets for that, each set is used once,
 *                  after a sweep that reads 3 x L2
 *
 * share_of_copy divides the time of a copy by the time of a form. The copy moves as many bytes as
 * the fused operator, half of them read and half written. A form that mostly reads can exceed 1.
 *
 * --energy replays the longer graph for half a second more, one replay behind the other, and reads
 * what the board takes meanwhile (gpu_power()).
 *
 * Every probe has the metrics of OPERATION_METRICS, under the same names and keys:
 *
 *     SIZES...,type=T,impl=NAME,mode=graph|stream,l2=warm|cold
 *
 * impl=fused is the probe's best fused kernel, impl=unfused is one good kernel per operator, and
 * impl=copy and impl=memcpy are the copies. Common names let the report compute shares, predictions
 * and the table of quality over all probes. */
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
    OPERATION_POWER,
    OPERATION_ENERGY,
    N_OPERATION_METRICS, /* a probe's own metrics start here */
};

/* A probe that tells what each kernel of an operation does, for the predictions of
 * report/bundle/derive_fusion.h, has these metrics next. Its own start at
 * N_OPERATION_EACH_METRICS. */
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
                                         "results for inputs of a fixed seed"),                    \
    [OPERATION_POWER] = {.name = "power", .unit = "watts", .keys = k,                             \
                         .what = "with --energy: of the board while it does so all the time, by " \
                                 "NVML's energy counter"},                                        \
    [OPERATION_ENERGY] = {.name = "energy", .unit = "joules", .keys = k,                          \
                          .what = "with --energy: that the board takes for one whole operation"}
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

/* Equal buffers, one per set. Their distance is never a power of two. New buffers are poisoned. */
struct pool {
    char *memory;
    size_t bytes, stride, sets; /* bytes of one set; distance of two sets; number of sets */
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

/* Seed of a case's inputs. It differs from run to run. A case that is measured in the first and the
 * last round only has one seed for all runs, because the two rounds' figures must agree. */
static inline uint64_t operation_seed(const struct probe_run *r, unsigned flags)
{
    return flags & PROBE_TWICE ? 1 : probe_seed(r);
}

/* Does the command line name a parameter of this program? Then its one shape is measured, and no
 * other. */
bool operation_is_given(const struct probe_run *r);

/* Number of buffer sets to rotate over when one set has this many bytes: enough for 3 x L2, at most
 * 32. */
size_t operation_sets(const struct probe_run *r, double bytes_of_a_set);

/* Should the L2 keep what is loaded once (load_group.cuh)? Where a tensor is larger than the L2. */
static inline bool operation_keeps(const struct probe_run *r, double tensor_bytes)
{
    return tensor_bytes > (double)gpu_facts(r)->l2_bytes;
}

/* What one kernel of an operation does, by count; 0 means not known. */
struct operation_kernel {
    double bytes;        /* loads and stores */
    double blocks;
    double trips;        /* on the busiest SM: waves of its blocks x dependent loads of a thread */
    double alone;        /* 1: one block at a time on an SM, which loads all before it stores any */
    double spilled;      /* bytes of local memory, loaded and stored */
    double local;        /* bytes of local memory that the threads of an SM have */
    double operations;   /* fp32 additions, products, comparisons; an FMA counts once */
    double exponentials; /* and reciprocals */
    double flops;        /* on tensor cores */
};
enum { OPERATION_EACH_MAX = 4 };

struct operation {
    const char *name; /* impl=NAME */
    /* Launches all of it on the run's stream; must be capturable. */
    void (*launch)(struct probe_run *r, const void *self, size_t set);
    /* Fills the outputs of every set with NaN, before the first launch and again before the timed
     * launches: those must not depend on what earlier launches left. Behind the second time the L2
     * is swept. NULL: nothing to do. */
    void (*poison)(struct probe_run *r, const void *self);
    /* Judges set 0 by probe_require and returns the relative error. NULL: not verified. That is for
     * single kernels of a chain, which are verified as steps of the whole chain. */
    double (*verify)(struct probe_run *r, const void *self, const char *when);
    /* Records facts of the case (registers, the library's kernel) and own values; may be NULL. */
    void (*describe)(struct probe_run *r, const void *self);
    /* Fills in what each kernel does, for at most OPERATION_EACH_MAX kernels. NULL: nothing. For
     * probes with OPERATION_EACH_METRICS. */
    void (*count)(struct probe_run *r, const void *self, struct operation_kernel *each);
    const void *self;
    size_t sets;      /* number of sets that launch() accepts */
    double set_bytes; /* of one set, whatever part this operation touches: decides what is cold */
    double bytes;     /* loads and stores of one operation by count, whichever cache serves them */
    double memory;    /* bytes: a set's operands, results, intermediates, workspace; 0: unknown */
    unsigned kernels; /* launched for one operation; 0: unknown */
    bool power_bound; /* matrix products and the like; long streams are recognised by their bytes */
};

struct condition {
    bool stream; /* launched one by one; else in a graph */
    bool cold;
};

/* Makes the case "SIZES,type=..,impl=..,mode=..,l2=.." (`keys` is the part before ",impl=") with
 * the flags of probe_begin_case. Verifies the operation, times it, and verifies what the timed
 * launches left. copy_ns is the time of the best copy of as many bytes as the fused operator moves;
 * NaN: no share is computed. Returns the median in ns, or NaN when the case is left out or only
 * checked. */
double operation_measure(struct probe_run *r, const char *keys, const struct operation *o,
                         struct condition c, unsigned flags, double copy_ns);

/* Records what each kernel does, as cases of their own: the operation's keys plus kernel=0, 1... */
void operation_count(struct probe_run *r, const char *keys, const struct operation *o,
                     struct condition c, unsigned flags);

/* An SM holds `resident` blocks of a launch at a time. How many blocks the busiest SM runs at a
 * time, and in how many waves its blocks come. */
static inline double operation_at_once(const struct probe_run *r, double blocks, double resident)
{
    return fmin(resident, ceil(blocks / gpu_facts(r)->n_sm));
}
static inline double operation_rounds(const struct probe_run *r, double blocks, double resident)
{
    return resident < 1 ? 0 : ceil(ceil(blocks / gpu_facts(r)->n_sm) / resident);
}

/* Times the best copy of `bytes` in total (half read, half written): our kernel or cudaMemcpyAsync
 * (a long one also with 1 MiB more, scaled). Each is a case with the same keys, and with the mode,
 * cache state and rotation of what it is compared with. Returns ns. */
double copy_measure(struct probe_run *r, const char *keys, double bytes, struct condition c,
                    unsigned flags);

#endif
