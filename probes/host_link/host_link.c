/* host_link: what does it cost to move bytes and words to the GPU and back?
 *
 * Method.
 *     copy       host time of one cudaMemcpyAsync and the wait for its stream. timer=event (pinned
 *                only): GPU time from one copy to the next, slope over 16 and 32 of them in a
 *                stream that a gate kernel holds until the last one is queued
 *     copy_rate  of large copies: slope over N and 2N bytes, copied and waited for; `bytes` is N
 *     flag       a resident kernel watches a word in mapped host memory and answers in another one:
 *                host time from writing the question to reading the answer
 *     load       dependent loads of one GPU thread from mapped host memory: slope over 16 and 32 in
 *                cycles, converted by the SM clock of the same launch. level=host: a ring of 1 MiB,
 *                by ld.relaxed.sys, as flags are read. level=host_again: 4 KiB by ld.ca, walked
 *                twice before: the GPU's L1 keeps what it read from the host
 *     call       host time of one call of the runtime that has nothing to wait for, slope over 8
 *                and 16
 *     edge       GPU time from one empty kernel to the next, slope over gated chains of 32 and 64.
 *                by=event: alternating between two streams, each waiting for an event in the other
 *     answer     host time for a kernel to answer the host. The running kernel sees the host's
 *                word, waits 20 us by its own clock, writes a word back as its last act, and ends.
 *                The time includes those 20 us, and ends when the host knows. by=flag polls the
 *                word. The others wait for the stream in the way named (cudaSetDeviceFlags), or for
 *                an event. wakeup = median minus that of by=flag: how much later than possible the
 *                host knows
 *     cpu_share  the share of its time that the waiting thread was on a CPU: the control that the
 *                ways differ
 *
 * Inside the timed region: the calls shown, nothing else. The GPU is idle otherwise.
 * Expected over PCIe 5: 4 bytes in 5 to 7 us either way. Large copies 55 GB/s pinned, a third of
 * that pageable. flag 2 us. load 1.1 us. Calls 0.1 to 0.8 us. wakeup 2 us if the thread spins,
 * 30 us and more if it blocks.
 *
 * Traps. A blocked thread sleeps, and the longer it sleeps, the longer it takes to wake up: --deep
 * also measures a delay of 1 ms. The driver copies pageable memory through pinned buffers of its
 * own, on a CPU whose caches matter: 16 MiB go faster than 256. All contents are drawn at random
 * and compared, on the GPU or on the host, before and after. Of large copies all bytes are compared
 * in the first round, and 1 MiB in the others. */
#include "probes/host_link/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/gpu.h"
#include "core/permute.h"

PROBE_IMAGE(host_link);

enum { COPY, COPY_EVENT, RATE, FLAG, LOAD, CALL, EDGE, ANSWER, WAKEUP, CPU_SHARE };
#define COPY_KEYS "direction,memory,bytes"
static const struct probe_metric metrics[] = {
    [COPY] = {"copy", "ns", PROBE_LOWER, .timer = "wall", .keys = COPY_KEYS,
        .what = "one asynchronous copy and the wait for it"},
    [COPY_EVENT] = {"copy", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = COPY_KEYS, .what = "GPU time from one copy to the next in a stream"},
    [RATE] = {"copy_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = COPY_KEYS,
        .what = "rate of copies of N and 2N bytes"},
    [FLAG] = {"flag", "ns", PROBE_LOWER, .timer = "wall",
        .what = "a word to a running kernel and its answer back"},
    [LOAD] = {"load", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device", .keys = "level",
        .what = "dependent load of the GPU from mapped host memory"},
    [CALL] = {"call", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall", .keys = "name",
        .what = "host time of one call that has nothing to wait for"},
    [EDGE] = {"edge", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = "by",
        .what = "GPU time from one empty kernel to the next, by stream order or by an event"},
    [ANSWER] = {"answer", "ns", PROBE_LOWER, .timer = "wall", .keys = "by,delay_us",
        .what = "from the host's word to its knowledge that the kernel has ended, delay included"},
    [WAKEUP] = {"wakeup", "ns", PROBE_LOWER, .timer = "wall", .keys = "by,delay_us",
        .what = "what this way to wait adds to watching a word in memory"},
    [CPU_SHARE] = {"cpu_share", "ratio", PROBE_LOWER, .keys = "by,delay_us",
        .what = "part of the wait that the thread spends on a CPU"},
};

enum {
    BUDGET_NS = 200000000,
    COPIES = 16,
    ROUNDS = 32, /* questions per launch */
    RING_BYTES = 1 << 20,
    SMALL_RING_BYTES = 4 << 10,
    CALLS = 8,
    CHAIN = 32,
    DELAY_US = 20,
    LONG_DELAY_US = 1000,
    LARGE = 1 << 24, /* from this size on a copy is a rate */
};

struct link {
    cudaKernel_t answer, late, load, load_cached, null, fill, compare;
    uint32_t *host, *words; /* mapped: HOST_WORDS words, a line apart; device: a buffer */
    uint64_t *wrong;
    size_t room; /* of a copy */
    char *pinned, *pageable;
    uint32_t ticket;
    cudaEvent_t start, stop;
};

/* Words in mapped host memory, 256 bytes apart. */
enum { UP = 0, GO = 64, DONE = 128, ASKED = 192, ANSWERED = 256, ABORTED = 320, HOST_WORDS = 384 };

static void write_word(struct link *l, int word, uint32_t value)
{
    __atomic_store_n(&l->host[word], value, __ATOMIC_RELEASE);
}

static uint32_t read_word(const struct link *l, int word)
{
    return __atomic_load_n(&l->host[word], __ATOMIC_ACQUIRE);
}

/* False when the GPU has not written it within the time that its own budget leaves. */
static bool wait_for_word(const struct link *l, int word, uint32_t value)
{
    uint64_t began = probe_host_ns();
    for (unsigned i = 0; read_word(l, word) != value; i++)
        if (i % 1024 == 1023 && probe_host_ns() - began > 2 * (uint64_t)BUDGET_NS)
            return false;
    return true;
}

/* Queues a kernel that ends delay_ns after the word GO holds the ticket. */
static void launch_late(struct probe_run *r, struct link *l, uint64_t delay_ns)
{
    struct link_late_args a = {.up = l->host + UP, .go = l->host + GO, .done = l->host + DONE,
                               .delay_ns = delay_ns, .budget_ns = BUDGET_NS,
                               .ticket = ++l->ticket};
    gpu_launch(r, l->late, 1, 1, 0, &a);
}

static double pair_ns(struct probe_run *r, const struct link *l)
{
    gpu_wait(r);
    return gpu_elapsed_ns(l->start, l->stop);
}

/* --- copies ---------------------------------------------------------------------------------- */

struct copy {
    bool to_gpu, pinned;
    size_t bytes;
};

static void start_copy(struct probe_run *r, const struct link *l, const struct copy *c,
                       size_t bytes)
{
    char *host = c->pinned ? l->pinned : l->pageable;
    CUDA(cudaMemcpyAsync(c->to_gpu ? (void *)l->words : host,
                         c->to_gpu ? host : (const void *)l->words, bytes,
                         c->to_gpu ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                         gpu_stream(r)));
}

/* One copy of fresh random words into a poisoned buffer. Returns whether all have arrived. */
static void check_copy(struct probe_run *r, const struct link *l, const struct copy *c,
                       size_t bytes, const char *when)
{
    uint32_t *host = (uint32_t *)(void *)(c->pinned ? l->pinned : l->pageable);
    uint64_t seed = probe_seed(r) + (uint64_t)when[0], n = bytes / sizeof *host, wrong = 0;
    struct link_words_args a = {.words = l->words, .wrong = l->wrong, .n = n, .seed = seed};
    unsigned blocks = (unsigned)gpu_facts(r)->n_sm * 4;

    if (c->to_gpu) {
        gpu_poison(r, l->words, bytes);
        for (uint64_t i = 0; i < n; i++)
            host[i] = link_word(seed, i);
    } else {
        memset(host, 0xff, bytes);
        gpu_launch(r, l->fill, blocks, 256, 0, &a);
    }
    start_copy(r, l, c, bytes);
    gpu_wait(r);
    if (c->to_gpu) {
        CUDA(cudaMemsetAsync(l->wrong, 0, sizeof wrong, gpu_stream(r)));
        gpu_launch(r, l->compare, blocks, 256, 0, &a);
        gpu_to_host(r, &wrong, l->wrong, sizeof wrong);
    } else {
        for (uint64_t i = 0; i < n; i++)
            wrong += host[i] != link_word(seed, i);
    }
    probe_require(r, wrong == 0, "%llu of %llu words copied %s timing are wrong",
                  (unsigned long long)wrong, (unsigned long long)n, when);
}

static void sample_latency(struct probe_run *r, const struct link *l, const struct copy *c)
{
    while (probe_more(r)) {
        uint64_t t0 = probe_host_ns();

        start_copy(r, l, c, c->bytes);
        gpu_wait(r);

        probe_sample(r, COPY, 1, (double)(probe_host_ns() - t0));
    }
}

static void sample_rate(struct probe_run *r, const struct link *l, const struct copy *c)
{
    while (probe_more(r))
        for (size_t bytes = c->bytes; bytes <= 2 * c->bytes; bytes += c->bytes) {
            uint64_t t0 = probe_host_ns();

            start_copy(r, l, c, bytes);
            gpu_wait(r);

            probe_sample(r, RATE, (double)bytes, (double)(probe_host_ns() - t0));
        }
}

static void sample_chain(struct probe_run *r, const struct link *l, const struct copy *c)
{
    while (probe_more(r))
        for (int n = COPIES; n <= 2 * COPIES; n += COPIES) {
            gpu_gate_close(r);

            CUDA(cudaEventRecord(l->start, gpu_stream(r)));
            for (int i = 0; i < n; i++)
                start_copy(r, l, c, c->bytes);
            CUDA(cudaEventRecord(l->stop, gpu_stream(r)));

            gpu_gate_open(r);
            probe_sample(r, COPY_EVENT, n, pair_ns(r, l));
        }
}

static void measure_copy(struct probe_run *r, struct link *l, unsigned flags, struct copy c)
{
    size_t most = c.bytes >= LARGE ? 2 * c.bytes : c.bytes, some = most < LARGE ? most : LARGE / 16;
    const char *direction = c.to_gpu ? "h2d" : "d2h", *memory = c.pinned ? "pinned" : "pageable";

    if (most > l->room || (probe_is_check_run(r) && most > LARGE) ||
        !probe_begin_case(r, flags, "direction=%s,memory=%s,bytes=%zu", direction, memory, c.bytes))
        return;
    check_copy(r, l, &c, some, "before");
    if (c.bytes >= LARGE)
        sample_rate(r, l, &c);
    else
        sample_latency(r, l, &c);
    check_copy(r, l, &c, probe_in_full(r) ? most : some, "after");
    flags |= c.bytes > 4 ? PROBE_DEEP : 0;
    if (c.pinned && c.bytes < LARGE &&
        probe_begin_case(r, flags, "direction=%s,memory=%s,bytes=%zu", direction, memory, c.bytes))
        sample_chain(r, l, &c);
}

static void measure_copies(struct probe_run *r, struct link *l)
{
    static const struct {
        size_t bytes;
        unsigned flags;
    } sizes[] = {{4, PROBE_THRICE}, {512, PROBE_DEEP}, {4096, PROBE_THRICE}, {16384, PROBE_DEEP},
                 {65536, PROBE_THRICE},
                 {1 << 18, PROBE_DEEP}, {1 << 20, PROBE_DEEP}, {LARGE, 0},
                 {(size_t)1 << 28, PROBE_DEEP}};
    size_t large = probe_deep(r) ? (size_t)1 << 28 : LARGE;

    l->room = probe_is_check_run(r) ? LARGE : 2 * large;
    l->words = gpu_alloc(r, l->room, "the copy");
    if (posix_memalign((void **)&l->pageable, 4096, l->room))
        probe_fail(r, "out of host memory (%zu bytes)", l->room);
    CUDA(cudaHostAlloc((void **)&l->pinned, l->room, cudaHostAllocDefault));
    memset(l->pageable, 1, l->room);
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < PROBE_LENGTH(sizes); i++)
            measure_copy(r, l, sizes[i].flags,
                         (struct copy){.to_gpu = way % 2 == 0, .pinned = way < 2,
                                       .bytes = sizes[i].bytes});
    CUDA(cudaFreeHost(l->pinned));
    free(l->pageable);
    gpu_release(r, l->words);
}

/* --- words ----------------------------------------------------------------------------------- */

static void measure_flag(struct probe_run *r, struct link *l)
{
    if (!probe_begin_case(r, 0, PROBE_NO_KEYS))
        return;
    bool answered = true;
    while (probe_more(r) && answered) {
        uint32_t asked = l->ticket + 1;
        struct link_answer_args a = {.asked = l->host + ASKED, .answered = l->host + ANSWERED,
                                     .aborted = l->host + ABORTED, .budget_ns = BUDGET_NS,
                                     .first = asked, .n = ROUNDS};
        gpu_launch(r, l->answer, 1, 1, 0, &a);
        for (int i = 0; i < ROUNDS && answered; i++, asked++) {
            uint64_t t0 = probe_host_ns();

            write_word(l, ASKED, asked);
            answered = wait_for_word(l, ANSWERED, asked);

            if (i > 0) /* the first one waits for the launch */
                probe_sample(r, FLAG, 1, (double)(probe_host_ns() - t0));
        }
        l->ticket += ROUNDS;
        gpu_wait(r);
    }
    probe_require(r, answered && !read_word(l, ABORTED), "all questions were answered");
}

/* A ring of absolute pointers in mapped host memory, LINK_SPACING bytes apart. */
static char *ring_of(struct probe_run *r, size_t bytes)
{
    char *ring = gpu_mapped(r, bytes);
    uint64_t lines = bytes / LINK_SPACING;
    struct permutation order = permutation_of(lines, probe_seed(r));

    for (uint64_t i = 0; i < lines; i++)
        *(char **)(void *)(ring + permute(order, i) * LINK_SPACING) =
            ring + permute(order, (i + 1) % lines) * LINK_SPACING;
    return ring;
}

static void measure_load(struct probe_run *r, const char *level, unsigned flags,
                         cudaKernel_t kernel, size_t bytes, uint64_t before)
{
    if (!probe_begin_case(r, flags, "level=%s", level))
        return;
    struct link_load_result *result = gpu_mapped(r, sizeof *result);
    char *at = ring_of(r, bytes);
    int astray = 0;

    while (probe_more(r)) {
        struct link_load_args a = {
            .start = (uint64_t)(uintptr_t)at, .result = result, .before = before};
        char *end = at;
        for (uint64_t i = 0; i < before + LINK_SHORT + LINK_LONG; i++)
            end = *(char **)(void *)end;
        gpu_launch(r, kernel, 1, 1, 0, &a);
        gpu_wait(r);
        astray += result->end != (uint64_t)(uintptr_t)end;
        at = end;
        double cycle_ns = (double)(result->tail.ns - result->lead.ns) /
                          (double)(result->tail.cycles - result->lead.cycles);
        probe_clock(r, 1e3 / cycle_ns);
        probe_sample(r, LOAD, LINK_SHORT, (double)result->short_cycles * cycle_ns);
        probe_sample(r, LOAD, LINK_LONG, (double)result->long_cycles * cycle_ns);
    }
    probe_require(r, astray == 0, "%d chases ended where they must not", astray);
    probe_fact(r, "footprint_bytes", "%zu", bytes);
}

/* --- calls and edges ------------------------------------------------------------------------- */

static void call_record(struct probe_run *r, const struct link *l)
{
    CUDA(cudaEventRecord(l->stop, gpu_stream(r)));
}

static void call_query(struct probe_run *r, const struct link *l)
{
    (void)r;
    CUDA(cudaEventQuery(l->stop));
}

static void call_event_synchronize(struct probe_run *r, const struct link *l)
{
    (void)r;
    CUDA(cudaEventSynchronize(l->stop));
}

static void call_wait_event(struct probe_run *r, const struct link *l)
{
    CUDA(cudaStreamWaitEvent(gpu_stream(r), l->stop, 0));
}

static void call_stream_query(struct probe_run *r, const struct link *l)
{
    (void)l;
    CUDA(cudaStreamQuery(gpu_stream(r)));
}

static void call_stream_synchronize(struct probe_run *r, const struct link *l)
{
    (void)l;
    CUDA(cudaStreamSynchronize(gpu_stream(r)));
}

static void measure_calls(struct probe_run *r, const struct link *l)
{
    static const struct {
        const char *name;
        void (*call)(struct probe_run *r, const struct link *l);
    } calls[] = {{"cudaEventRecord", call_record},
                 {"cudaEventQuery", call_query},
                 {"cudaEventSynchronize", call_event_synchronize},
                 {"cudaStreamWaitEvent", call_wait_event},
                 {"cudaStreamQuery", call_stream_query},
                 {"cudaStreamSynchronize", call_stream_synchronize}};

    for (size_t i = 0; i < PROBE_LENGTH(calls); i++) {
        if (!probe_begin_case(r, 0, "name=%s", calls[i].name))
            continue;
        call_record(r, l);
        gpu_wait(r);
        while (probe_more(r))
            for (int n = CALLS; n <= 2 * CALLS; n += CALLS) {
                uint64_t t0 = probe_host_ns();

                for (int k = 0; k < n; k++)
                    calls[i].call(r, l);

                uint64_t t1 = probe_host_ns();
                gpu_wait(r);
                probe_sample(r, CALL, n, (double)(t1 - t0));
            }
    }
}

/* A chain of n kernels queued after a gate: in one stream, or alternating between two. */
static double chain_ns(struct probe_run *r, const struct link *l, cudaStream_t other,
                       cudaEvent_t *hop, int n)
{
    struct link_null_args none = {0};
    cudaStream_t streams[2] = {gpu_stream(r), other ? other : gpu_stream(r)};
    gpu_time_start(r);
    for (int i = 0; i < n; i++) {
        struct gpu_shape one = {.grid = {1, 1, 1}, .block = 1, .stream = streams[i % 2]};
        if (other && i > 0)
            CUDA(cudaStreamWaitEvent(one.stream, hop[i - 1], 0));
        gpu_launch_shape(r, l->null, &one, &none);
        if (other)
            CUDA(cudaEventRecord(hop[i], one.stream));
    }
    if (other)
        CUDA(cudaStreamWaitEvent(streams[0], hop[n - 1], 0));
    return gpu_time_stop(r).ns;
}

static void measure_edges(struct probe_run *r, const struct link *l)
{
    cudaEvent_t hop[2 * CHAIN];
    cudaStream_t other;
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 2 * CHAIN; i++)
        CUDA(cudaEventCreateWithFlags(&hop[i], cudaEventDisableTiming));
    for (int by_event = 0; by_event < 2; by_event++) {
        if (!probe_begin_case(r, 0, "by=%s", by_event ? "event" : "stream"))
            continue;
        while (probe_more(r))
            for (int n = CHAIN; n <= 2 * CHAIN; n += CHAIN)
                probe_sample(r, EDGE, n, chain_ns(r, l, by_event ? other : NULL, hop, n));
    }
    for (int i = 0; i < 2 * CHAIN; i++)
        CUDA(cudaEventDestroy(hop[i]));
    CUDA(cudaStreamDestroy(other));
}

/* --- how does the host learn that the GPU is done? ------------------------------------------- */

static const struct way {
    const char *by;
    enum { WATCH, STREAM, EVENT } how;
    unsigned flags; /* of the device, or of the event */
    unsigned case_flags;
} ways[] = {
    {"flag", WATCH, cudaDeviceScheduleAuto, 0},
    {"spin", STREAM, cudaDeviceScheduleSpin, 0},
    {"yield", STREAM, cudaDeviceScheduleYield, 0},
    {"blocking", STREAM, cudaDeviceScheduleBlockingSync, 0},
    {"auto", STREAM, cudaDeviceScheduleAuto, PROBE_DEEP},
    {"event", EVENT, cudaEventDisableTiming, PROBE_DEEP},
    {"event_blocking", EVENT, cudaEventDisableTiming | cudaEventBlockingSync, PROBE_DEEP},
};

static double thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Returns whether the kernel had really ended when the host believed so. */
static bool sample_answer(struct probe_run *r, struct link *l, const struct way *w,
                          cudaEvent_t event, uint64_t delay_ns)
{
    launch_late(r, l, delay_ns);
    if (w->how == EVENT)
        CUDA(cudaEventRecord(event, gpu_stream(r)));
    bool answered = wait_for_word(l, UP, l->ticket);
    uint64_t before = probe_host_ns(); /* and after: around the thread's clock */
    double cpu0 = thread_cpu_ns();
    uint64_t t0 = probe_host_ns();

    write_word(l, GO, l->ticket);
    if (w->how == WATCH)
        answered = answered && wait_for_word(l, DONE, l->ticket);
    else if (w->how == EVENT)
        CUDA(cudaEventSynchronize(event));
    else
        gpu_wait(r);

    uint64_t t1 = probe_host_ns();
    double cpu = thread_cpu_ns() - cpu0;
    uint64_t after = probe_host_ns();
    answered = answered && read_word(l, DONE) == l->ticket;
    gpu_wait(r);
    probe_sample(r, ANSWER, 1, (double)(t1 - t0));
    if (w->how != WATCH)
        probe_sample(r, CPU_SHARE, 1, cpu / (double)(after - before));
    return answered;
}

static void measure_answers(struct probe_run *r, struct link *l, unsigned flags, int delay_us)
{
    double watched = NAN;
    unsigned before = 0;
    CUDA(cudaGetDeviceFlags(&before));

    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        const struct way *w = &ways[i];
        cudaEvent_t event = NULL;
        if (!probe_begin_case(r, flags | w->case_flags, "by=%s,delay_us=%d", w->by, delay_us))
            continue;
        if (w->how == EVENT)
            CUDA(cudaEventCreateWithFlags(&event, w->flags));
        else
            CUDA(cudaSetDeviceFlags(w->flags));

        int early = 0;
        while (probe_more(r))
            early += !sample_answer(r, l, w, event, 1000 * (uint64_t)delay_us);
        probe_require(r, early == 0, "%d waits ended before the kernel had", early);

        double median = probe_median(r, ANSWER);
        if (w->how == WATCH)
            watched = median;
        else
            probe_value(r, WAKEUP, median - watched);
        CUDA(cudaSetDeviceFlags(before & cudaDeviceScheduleMask));
        if (event)
            CUDA(cudaEventDestroy(event));
    }
}

static void measure(struct probe_run *r)
{
    struct link l = {.host = gpu_mapped(r, HOST_WORDS * sizeof *l.host),
                     .wrong = gpu_alloc(r, sizeof *l.wrong, "a count")};
    const struct gpu_image *image = &image_host_link;

    l.answer = gpu_kernel(r, image, "host_link_answer", sizeof(struct link_answer_args));
    l.late = gpu_kernel(r, image, "host_link_late", sizeof(struct link_late_args));
    l.load = gpu_kernel(r, image, "host_link_load", sizeof(struct link_load_args));
    l.load_cached = gpu_kernel(r, image, "host_link_load_cached", sizeof(struct link_load_args));
    l.null = gpu_kernel(r, image, "host_link_null", sizeof(struct link_null_args));
    l.fill = gpu_kernel(r, image, "host_link_fill", sizeof(struct link_words_args));
    l.compare = gpu_kernel(r, image, "host_link_compare", sizeof(struct link_words_args));
    CUDA(cudaEventCreate(&l.start));
    CUDA(cudaEventCreate(&l.stop));

    measure_copies(r, &l);
    measure_flag(r, &l);
    measure_load(r, "host", 0, l.load, RING_BYTES, 1);
    measure_load(r, "host_again", PROBE_DEEP, l.load_cached, SMALL_RING_BYTES,
                 2 * SMALL_RING_BYTES / LINK_SPACING);
    measure_calls(r, &l);
    measure_edges(r, &l);
    measure_answers(r, &l, 0, DELAY_US);
    measure_answers(r, &l, PROBE_DEEP, LONG_DELAY_US);
    gpu_require_gates_held(r);
}

const struct probe probe = {
    .name = "host_link",
    .what = "What does it cost to get bytes and words across to the GPU and back?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
