/* Load on the host or the GPU while jitter measures: busy threads on all CPUs, and other streams of
 * the same process that always have work. */
#ifndef PROBES_JITTER_LOAD_H
#define PROBES_JITTER_LOAD_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/gpu.h"
#include "probes/jitter/args.h"

/* Busy-waits by the host's clock. */
void jitter_let_pass(uint64_t ns);

/* --- the host: busy threads ------------------------------------------------------------------- */

enum { THREADS_MAX = 256 };

struct crowd {
    pthread_t thread[THREADS_MAX];
    atomic_bool stop;
    uint64_t began;
    int n, n_cpus;
    cpu_set_t before; /* the CPUs that the calling thread might use */
    bool bound;       /* to one of them, until the end */
};

/* A busy thread for every CPU that this process may use. */
void jitter_crowd_begin(struct crowd *c);

/* One busy thread on the calling thread's own CPU, to which both are bound: the scheduler cannot
 * keep a CPU free for the thread that launches. */
void jitter_neighbour_begin(struct crowd *c);

/* The share of these CPUs' time that the threads got: it shows whether the host was loaded. */
double jitter_crowd_load(const struct crowd *c);

void jitter_crowd_end(struct crowd *c);

/* --- the GPU: rival streams ------------------------------------------------------------------- */

enum rival_kind { STREAMER, TENSOR, TINY, NONE };
enum { STREAMS_MAX = 8 };
extern const char *const jitter_rival_names[];

/* A stream that always has work, and the thread that feeds it. The thread must not end the run: its
 * errors are kept until it has been joined. */
struct rival {
    struct probe_run *r;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct rival_args args;
    int batch; /* kernels between two events */
    cudaEvent_t event[2];
    pthread_t thread;
    atomic_bool *stop;
    atomic_long finished; /* kernels */
    cudaError_t error;
    const char *call; /* the last one, or that which failed */
};

struct rivals {
    cudaKernel_t kernel[NONE];
    struct rival rival[STREAMS_MAX];
    atomic_bool stop;
    int n;
    void *in[STREAMS_MAX]; /* what each streamer reads */
    uint32_t *sink;
};

void jitter_rivals_make(struct probe_run *r, const struct gpu_image *image, struct rivals *all);

void jitter_rivals_begin(struct probe_run *r, struct rivals *all, enum rival_kind kind,
                         int streams);

/* The kernels that all of them together have finished so far. */
long jitter_rivals_finished(struct rivals *all);

void jitter_rivals_end(struct rivals *all);

#endif
