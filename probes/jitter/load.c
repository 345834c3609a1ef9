#include "probes/jitter/load.h"

#include <time.h>

enum { SETTLE_NS = 2000000 }; /* until they have started */

void jitter_let_pass(uint64_t ns)
{
    for (uint64_t began = probe_host_ns(); probe_host_ns() - began < ns;)
        ;
}

/* --- the host: busy threads ------------------------------------------------------------------- */

static void *spin_until(void *stop)
{
    while (!atomic_load_explicit((atomic_bool *)stop, memory_order_relaxed))
        ;
    return NULL;
}

/* A busy thread for each of n_cpus CPUs. They may use the CPUs that the calling thread may use. */
static void begin(struct crowd *c)
{
    atomic_init(&c->stop, false);
    c->began = probe_host_ns();
    for (c->n = 0; c->n < c->n_cpus && c->n < THREADS_MAX; c->n++)
        if (pthread_create(&c->thread[c->n], NULL, spin_until, &c->stop) != 0)
            break;
    jitter_let_pass(SETTLE_NS);
}

void jitter_crowd_begin(struct crowd *c)
{
    const bool known = sched_getaffinity(0, sizeof c->before, &c->before) == 0;
    c->n_cpus = known ? CPU_COUNT(&c->before) : 1;
    c->bound = false;
    begin(c);
}

void jitter_neighbour_begin(struct crowd *c)
{
    const int cpu = sched_getcpu();
    cpu_set_t own;

    c->n_cpus = 1;
    c->bound = cpu >= 0 && sched_getaffinity(0, sizeof c->before, &c->before) == 0;
    CPU_ZERO(&own);
    if (c->bound) {
        CPU_SET((size_t)cpu, &own);
        c->bound = sched_setaffinity(0, sizeof own, &own) == 0;
    }
    begin(c);
}

double jitter_crowd_load(const struct crowd *c)
{
    double busy_ns = 0, ns = (double)(probe_host_ns() - c->began);
    for (int i = 0; i < c->n; i++) {
        clockid_t clock;
        struct timespec used;
        if (pthread_getcpuclockid(c->thread[i], &clock) == 0 && clock_gettime(clock, &used) == 0)
            busy_ns += 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
    }
    return busy_ns / (ns * c->n_cpus);
}

void jitter_crowd_end(struct crowd *c)
{
    atomic_store(&c->stop, true);
    while (c->n > 0)
        pthread_join(c->thread[--c->n], NULL);
    if (c->bound)
        sched_setaffinity(0, sizeof c->before, &c->before);
    c->bound = false;
}

/* --- the GPU: rival streams ------------------------------------------------------------------- */

enum { RIVAL_BYTES = 256 << 20, RIVAL_TURNS = 4000, TINY_BATCH = 64 };

const char *const jitter_rival_names[] = {
    [STREAMER] = "stream", [TENSOR] = "tensor", [TINY] = "tiny", [NONE] = "none"};

/* The first call that fails is told when the rival has ended. */
static void note(struct rival *v, cudaError_t result, const char *call)
{
    v->error = result;
    v->call = call;
}

static void *be_rival(void *argument)
{
    struct rival *v = argument;
    for (int turn = 0; !v->error && !atomic_load(v->stop); turn++) {
        for (int i = 0; i < v->batch && !v->error; i++)
            note(v, gpu_try_launch(v->r, v->kernel, &v->shape, &v->args), "cudaLaunchKernelExC");
        if (!v->error)
            note(v, cudaEventRecord(v->event[turn % 2], v->shape.stream), "cudaEventRecord");
        if (!v->error && turn > 0)
            note(v, cudaEventSynchronize(v->event[(turn - 1) % 2]), "cudaEventSynchronize");
        if (turn > 0)
            atomic_fetch_add(&v->finished, v->batch);
    }
    return NULL;
}

void jitter_rivals_make(struct probe_run *r, const struct gpu_image *image, struct rivals *all)
{
    static const char *const names[] = {"jitter_rival_stream", "jitter_rival_tensor",
                                        "jitter_rival_tiny"};
    for (int i = 0; i < NONE; i++)
        all->kernel[i] = gpu_kernel(r, image, names[i], sizeof(struct rival_args));
    for (int i = 0; i < (probe_deep(r) ? STREAMS_MAX : 2); i++) {
        all->in[i] = gpu_alloc(r, RIVAL_BYTES, "what a rival stream reads");
        gpu_fill_normal(r, all->in[i], GPU_FP32, RIVAL_BYTES / 4, probe_seed(r) + 1 + (unsigned)i);
    }
    all->sink = gpu_alloc(r, sizeof *all->sink, "a sink");
    gpu_wait(r);
}

void jitter_rivals_begin(struct probe_run *r, struct rivals *all, enum rival_kind kind, int streams)
{
    unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    atomic_init(&all->stop, false);
    for (all->n = 0; kind != NONE && all->n < streams; all->n++) {
        struct rival *v = &all->rival[all->n];
        *v = (struct rival){.r = r,
                            .kernel = all->kernel[kind],
                            .shape = {.grid = {2 * n_sm, 1, 1}, .block = RIVAL_THREADS},
                            .args = {.in = all->in[all->n],
                                     .sink = all->sink,
                                     .elements = RIVAL_BYTES / 16,
                                     .turns = RIVAL_TURNS},
                            .batch = kind == TINY ? TINY_BATCH : 1,
                            .stop = &all->stop};
        if (kind == TINY)
            v->shape.grid.x = 1, v->shape.block = 32;
        CUDA(cudaStreamCreateWithFlags(&v->shape.stream, cudaStreamNonBlocking));
        for (int i = 0; i < 2; i++)
            CUDA(cudaEventCreateWithFlags(&v->event[i],
                                          cudaEventDisableTiming | cudaEventBlockingSync));
        if (pthread_create(&v->thread, NULL, be_rival, v) != 0)
            probe_fail(r, "no thread for a rival stream");
    }
    jitter_let_pass(all->n > 0 ? SETTLE_NS : 0);
}

long jitter_rivals_finished(struct rivals *all)
{
    long sum = 0;
    for (int i = 0; i < all->n; i++)
        sum += atomic_load(&all->rival[i].finished);
    return sum;
}

void jitter_rivals_end(struct rivals *all)
{
    atomic_store(&all->stop, true);
    for (int i = 0; i < all->n; i++)
        pthread_join(all->rival[i].thread, NULL);
    for (int i = 0; i < all->n; i++) {
        struct rival *v = &all->rival[i];
        gpu_must(v->error, v->call, __FILE__, __LINE__);
        CUDA(cudaStreamSynchronize(v->shape.stream));
        CUDA(cudaStreamDestroy(v->shape.stream));
        CUDA(cudaEventDestroy(v->event[0]));
        CUDA(cudaEventDestroy(v->event[1]));
    }
    all->n = 0;
}
