/* counters.so: CUPTI's activity records for core/counters.h: when each launch was called, queued,
 * submitted to the GPU, started and ended. The order matters: latency timestamps must be requested
 * before anything initialises CUDA. On Hopper and earlier, tracing of concurrent kernels patches
 * their code, so these times explain a latency but do not measure it. */
#include "core/plugins/counters.h"

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 4 << 20 };

struct call {
    uint32_t id;
    uint64_t called, returned;
};

struct kernel {
    uint32_t id;
    uint64_t queued, submitted, started, ended;
};

/* CUPTI hands buffers over on a thread of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct call *calls;
    struct kernel *kernels;
    size_t n_calls, n_kernels, room_calls, room_kernels, dropped;
} seen;

static void *room_for_one(void *items, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return items;
    size_t more = *room ? 2 * *room : 4096;
    void *grown = realloc(items, more * size);
    if (grown)
        *room = more;
    return grown;
}

static void keep_call(const CUpti_ActivityAPI *api)
{
    struct call *calls = room_for_one(seen.calls, seen.n_calls, &seen.room_calls, sizeof *calls);
    if (!calls) {
        seen.dropped++;
        return;
    }
    seen.calls = calls;
    calls[seen.n_calls++] = (struct call){api->correlationId, api->start, api->end};
}

/* Later versions of the record only append to this one. */
static void keep_kernel(const CUpti_ActivityKernel9 *k)
{
    struct kernel *kernels =
        room_for_one(seen.kernels, seen.n_kernels, &seen.room_kernels, sizeof *kernels);
    if (!kernels) {
        seen.dropped++;
        return;
    }
    seen.kernels = kernels;
    kernels[seen.n_kernels++] =
        (struct kernel){k->correlationId, k->queued, k->submitted, k->start, k->end};
}

static void hand_out(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *records_max = 0;
}

static void take_back(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t dropped = 0;

    (void)size;
    pthread_mutex_lock(&lock);
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        const void *any = record;
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            keep_kernel(any);
        else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME)
            keep_call(any);
    }
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        seen.dropped += dropped;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

const char *records_trace(void)
{
    static const CUpti_CallbackId launches[] = {
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
        CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    };
    CUPTI(cuptiActivityEnableLatencyTimestamps(1));
    CUPTI(cuptiActivityRegisterCallbacks(hand_out, take_back));
    CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++)
        CUPTI(cuptiActivityEnableRuntimeApi(launches[i], 1));
    return NULL;
}

/* --- joining calls and kernels ---------------------------------------------------------------- */

static int by_call(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_start(const void *a, const void *b)
{
    const struct counters_launch *x = a, *y = b;
    return (x->started > y->started) - (x->started < y->started);
}

static void join(struct counters_launch *launches)
{
    if (seen.n_calls > 0)
        qsort(seen.calls, seen.n_calls, sizeof *seen.calls, by_call);
    for (size_t i = 0; i < seen.n_kernels; i++) {
        const struct kernel *k = &seen.kernels[i];
        const struct call key = {.id = k->id};
        const struct call *call =
            seen.n_calls > 0
                ? bsearch(&key, seen.calls, seen.n_calls, sizeof key, by_call) : NULL;
        launches[i] = (struct counters_launch){.called = call ? call->called : 0,
                                               .returned = call ? call->returned : 0,
                                               .queued = k->queued,
                                               .submitted = k->submitted,
                                               .started = k->started,
                                               .ended = k->ended};
    }
    if (seen.n_kernels > 0)
        qsort(launches, seen.n_kernels, sizeof *launches, by_start);
}

/* The launches recorded since the last call, in the order in which the kernels started. The GPU
 * must have finished. The caller frees the launches. */
const char *records_take(struct counters_launch **launches, size_t *n, size_t *dropped)
{
    CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    pthread_mutex_lock(&lock);
    *n = seen.n_kernels;
    *dropped = seen.dropped;
    *launches = calloc(*n + 1, sizeof **launches);
    if (*launches)
        join(*launches);
    seen.n_calls = seen.n_kernels = seen.dropped = 0;
    pthread_mutex_unlock(&lock);
    return *launches ? NULL : "out of memory";
}
