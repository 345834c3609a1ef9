/* The calls of the CUDA runtime that the programs make, on the host's memory; see stand_in.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/faults/stand_in.h"

enum { ALLOCATIONS_MAX = 4096, EVENT_NS = 500, SET_BYTES_A_NS = 1000 };
static const size_t SHARED_MOST = (size_t)1 << 30; /* more is set at its edges only, and not
                                                    * shared */
static const size_t MEMORY = (size_t)140 << 30, FREE = (size_t)139 << 30;
static const size_t LARGE = 16 << 20, EDGE = 1 << 20; /* of what is large, only the edges are set */

/* --- errors in words -------------------------------------------------------------------------- */

static const struct {
    cudaError_t error;
    const char *name, *words;
} errors[] = {
#define ERROR(name, words) {name, #name, words}
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
#undef ERROR
};

static size_t error_index(cudaError_t error)
{
    size_t i = sizeof errors / sizeof errors[0];
    while (i > 0 && errors[i - 1].error != error)
        i--;
    return i;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error_index(error) ? errors[error_index(error) - 1].name : "cudaErrorUnknown";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error_index(error) ? errors[error_index(error) - 1].words : "unrecognized error code";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

/* --- the board -------------------------------------------------------------------------------- */

/* STAND_IN_GPUS=2 are so many; of them CUDA_VISIBLE_DEVICES shows some. STAND_IN_PEERS=1: each
 * reaches the others' memory, also from other processes. */
static int number_of(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

/* The number that a visible device has on this machine; -1: there is none. */
static int physical(int device)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    const int n = number_of("STAND_IN_GPUS", 1);

    for (int i = 0; list && *list; i++) {
        const int at = atoi(list);
        if (i == device)
            return at < n ? at : -1;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return !getenv("CUDA_VISIBLE_DEVICES") && device >= 0 && device < n ? device : -1;
}

static int current;

cudaError_t cudaDriverGetVersion(int *version)
{
    ENTER();
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    ENTER();
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    ENTER();
    for (*n = 0; physical(*n) >= 0; ++*n)
        ;
    return *n > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    ENTER();
    if (physical(device) < 0)
        return cudaErrorInvalidValue;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    ENTER();
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    ENTER();
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    ENTER();
    *flags = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int device)
{
    ENTER();
    snprintf(bus, (size_t)size, "0000:%02x:00.0", 4 + physical(device));
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER();
    *can = device != peer && number_of("STAND_IN_PEERS", 0);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr which, int device,
                                      int peer)
{
    ENTER();
    (void)device, (void)peer;
    *value = which == cudaDevP2PAttrNativeAtomicSupported;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    ENTER();
    (void)device;
    switch (which) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMultiProcessorCount: *value = STAND_IN_SMS; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 << 10; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrL2CacheSize: *value = 60 << 20; break;
    case cudaDevAttrMemoryClockRate: *value = 3201000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 6016; break;
    case cudaDevAttrClockRate: *value = 1980000; break;
    default: *value = 1; break;
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    ENTER();
    memset(properties, 0, sizeof *properties);
    const int other = number_of("STAND_IN_OTHER", -1) == physical(device); /* another board */
    snprintf(properties->name, sizeof properties->name, "NVIDIA Stand-in%s", other ? " 2" : "");
    properties->uuid.bytes[0] = (char)physical(device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER();
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    ENTER();
    (void)limit;
    *value = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    ENTER();
    (void)limit, (void)value;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    stand_in_wait();
    return cudaSuccess;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Where GPUs reach each other, memory is a file that another process can open. */
static struct {
    void *memory;
    size_t bytes;
    int file; /* -1: none */
} held[ALLOCATIONS_MAX];
static size_t held_bytes;

static cudaError_t take(void **memory, size_t bytes, bool shared)
{
    size_t i = 0;
    while (i < ALLOCATIONS_MAX && held[i].memory)
        i++;
    if (i == ALLOCATIONS_MAX || bytes > FREE - held_bytes)
        return cudaErrorMemoryAllocation;
    held[i].file = shared ? memfd_create("stand_in", 0) : -1;
    if (held[i].file >= 0 && ftruncate(held[i].file, (off_t)bytes) != 0)
        return cudaErrorMemoryAllocation;
    *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                   held[i].file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   held[i].file, 0);
    if (*memory == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    held[i].memory = *memory;
    held[i].bytes = bytes;
    held_bytes += bytes;
    return cudaSuccess;
}

static cudaError_t give_back(void *memory)
{
    size_t i = 0;
    while (i < ALLOCATIONS_MAX && (!memory || held[i].memory != memory))
        i++;
    if (i == ALLOCATIONS_MAX)
        return memory ? cudaErrorInvalidValue : cudaSuccess;
    munmap(memory, held[i].bytes ? held[i].bytes : 1);
    if (held[i].file >= 0)
        close(held[i].file);
    held[i].memory = NULL;
    held_bytes -= held[i].bytes;
    return cudaSuccess;
}

/* Whose file it is, and which; of the GPU with that number. */
struct handle {
    pid_t pid;
    int file, gpu;
    size_t bytes;
};

/* STAND_IN_LOSES="writes 0 1": what the first GPU writes to memory of the second stays with it.
 * "word 0 1": a word of it becomes another on the way. "loads 0 1": it arrives, and is loaded as
 * zeros. */
static enum stand_in_loss loss_between(int from, int to)
{
    static const char *const names[] = {
        [STAND_IN_WRITES] = "writes", [STAND_IN_WORD] = "word", [STAND_IN_LOADS] = "loads"};
    const char *text = getenv("STAND_IN_LOSES");
    char what[16];
    int loses_from, loses_to;

    if (!text || sscanf(text, "%15s %d %d", what, &loses_from, &loses_to) != 3 ||
        loses_from != from || loses_to != to)
        return STAND_IN_NOTHING;
    enum stand_in_loss loss = STAND_IN_LOADS;
    while (loss > STAND_IN_NOTHING && strcmp(names[loss], what))
        loss--;
    return loss;
}

/* Memory of another process on the way to which something is lost. */
static struct {
    const char *memory;
    size_t bytes;
    enum stand_in_loss loss;
} lossy[64];
static size_t n_lossy;

enum stand_in_loss stand_in_loss(const void *memory)
{
    for (size_t i = 0; i < n_lossy; i++)
        if ((uintptr_t)memory - (uintptr_t)lossy[i].memory < lossy[i].bytes)
            return lossy[i].loss;
    return STAND_IN_NOTHING;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory)
{
    ENTER();
    memset(handle, 0, sizeof *handle);
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++)
        if (held[i].memory == memory && memory && held[i].file >= 0) {
            const struct handle mine = {getpid(), held[i].file, physical(current), held[i].bytes};
            memcpy(handle, &mine, sizeof mine);
            return cudaSuccess;
        }
    return cudaErrorNotSupported;
}

cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned flags)
{
    ENTER();
    struct handle of;
    char path[64];
    (void)flags;
    memcpy(&of, &handle, sizeof of);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)of.pid, of.file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    const enum stand_in_loss loss = loss_between(physical(current), of.gpu);
    const int map = loss == STAND_IN_WRITES ? MAP_PRIVATE : MAP_SHARED;
    *memory = file < 0 ? MAP_FAILED
                       : mmap(NULL, of.bytes, PROT_READ | PROT_WRITE, map, file, 0);
    if (file >= 0)
        close(file);
    if (*memory == MAP_FAILED || n_lossy == sizeof lossy / sizeof lossy[0])
        return cudaErrorNotSupported;
    if (loss != STAND_IN_NOTHING) {
        lossy[n_lossy].memory = *memory;
        lossy[n_lossy].bytes = of.bytes;
        lossy[n_lossy++].loss = loss;
    }
    return cudaSuccess;
}

/* STAND_IN_HOST=0: memory of the host that is there already cannot be mapped. =-1: the process of
 * the second GPU is killed when it tries. */
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    ENTER();
    (void)memory, (void)bytes, (void)flags;
    if (number_of("STAND_IN_HOST", 1) < 0 && physical(current) == 1)
        raise(SIGKILL);
    return number_of("STAND_IN_HOST", 1) ? cudaSuccess : cudaErrorNotSupported;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    ENTER();
    (void)flags;
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *whole)
{
    ENTER();
    *available = FREE - held_bytes;
    *whole = MEMORY;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    ENTER();
    stand_in_wait_at_gate();
    return take(memory, bytes, number_of("STAND_IN_PEERS", 0) && bytes < SHARED_MOST);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    ENTER();
    stand_in_wait_at_gate();
    (void)flags;
    return take(memory, bytes, false);
}

cudaError_t cudaFree(void *memory)
{
    ENTER();
    stand_in_wait_at_gate();
    return give_back(memory);
}

cudaError_t cudaFreeHost(void *memory)
{
    ENTER();
    stand_in_wait_at_gate();
    return give_back(memory);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    ENTER();
    stand_in_wait_at_gate();
    (void)kind;
    memmove(to, from, bytes);
    return cudaSuccess;
}

static void set(void *memory, int value, size_t bytes)
{
    const size_t edge = bytes > LARGE ? EDGE : bytes;
    memset(memory, value, edge);
    memset((char *)memory + bytes - edge, value, edge);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    ENTER();
    stand_in_wait_at_gate();
    set(memory, value, bytes);
    return cudaSuccess;
}

/* --- graphs and streams ----------------------------------------------------------------------- */

/* What is done on a stream: now, or at each replay of the graph that captures it. */
struct CUgraphNode_st {
    enum cudaGraphNodeType type;
    struct stand_in_kernel *kernel;
    dim3 grid, block;
    const void *args; /* in a graph, a copy */
    void *to;
    const void *from;
    size_t bytes;
    int value;
};

struct CUgraph_st {
    struct CUgraphNode_st **nodes;
    size_t n, room;
};

struct CUstream_st {
    struct CUgraph_st *captured; /* NULL: nothing is being captured */
};

struct CUevent_st {
    uint64_t ns;
};

static void perform(const struct CUgraphNode_st *node)
{
    stand_in_links_wait(); /* one after the other */
    if (node->type == cudaGraphNodeTypeKernel)
        stand_in_run(node->kernel, node->args);
    else if (node->type == cudaGraphNodeTypeMemset) {
        set(node->to, node->value, node->bytes);
        stand_in_now_ns += node->bytes / SET_BYTES_A_NS;
    } else
        memmove(node->to, node->from, node->bytes);
}

static void add_to(struct CUgraph_st *graph, const struct CUgraphNode_st *node)
{
    if (graph->n == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 64;
        graph->nodes = realloc(graph->nodes, graph->room * sizeof *graph->nodes);
    }
    const size_t bytes = node->kernel ? node->kernel->args_size : 0;
    struct CUgraphNode_st *copy = graph->nodes[graph->n++] = malloc(sizeof *node + bytes);
    *copy = *node;
    copy->args = bytes ? memcpy(copy + 1, node->args, bytes) : NULL;
}

static cudaError_t queue(cudaStream_t stream, const struct CUgraphNode_st *node)
{
    if (stream && stream->captured)
        add_to(stream->captured, node);
    else {
        stand_in_submit();
        perform(node);
    }
    return cudaSuccess;
}

static struct CUgraph_st *copied(const struct CUgraph_st *graph)
{
    struct CUgraph_st *copy = calloc(1, sizeof *copy);
    for (size_t i = 0; i < graph->n; i++)
        add_to(copy, graph->nodes[i]);
    return copy;
}

static void drop(struct CUgraph_st *graph)
{
    for (size_t i = 0; i < graph->n; i++)
        free(graph->nodes[i]);
    free(graph->nodes);
    free(graph);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ENTER();
    (void)kind;
    return queue(stream, &(struct CUgraphNode_st){.type = cudaGraphNodeTypeMemcpy, .to = to,
                                                  .from = from, .bytes = bytes});
}

/* A node a row. */
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_row, const void *from, size_t from_row,
                              size_t bytes, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t said = cudaSuccess;
    ENTER();
    (void)kind;
    for (size_t i = 0; i < n && said == cudaSuccess; i++)
        said = queue(stream, &(struct CUgraphNode_st){.type = cudaGraphNodeTypeMemcpy,
                                                      .to = (char *)to + i * to_row,
                                                      .from = (const char *)from + i * from_row,
                                                      .bytes = bytes});
    return said;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    ENTER();
    return queue(stream, &(struct CUgraphNode_st){.type = cudaGraphNodeTypeMemset, .to = memory,
                                                  .value = value, .bytes = bytes});
}

cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    ENTER();
    (void)stream;
    for (size_t row = 0; row < height; row++)
        memset((char *)memory + row * pitch, value, width);
    return cudaSuccess;
}

static cudaError_t new_stream(cudaStream_t *stream)
{
    *stream = calloc(1, sizeof **stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    ENTER();
    (void)flags;
    return new_stream(stream);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    ENTER();
    (void)flags, (void)priority;
    return new_stream(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ENTER();
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER();
    (void)stream;
    stand_in_wait();
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    ENTER();
    (void)stream;
    stand_in_links_wait();
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ENTER();
    (void)stream, (void)event, (void)flags;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    ENTER();
    (void)mode;
    stream->captured = calloc(1, sizeof *stream->captured);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    ENTER();
    *graph = stream->captured;
    stream->captured = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    ENTER();
    *n = !nodes || graph->n < *n ? graph->n : *n;
    if (nodes)
        memcpy(nodes, graph->nodes, *n * sizeof *nodes);
    return cudaSuccess;
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    ENTER();
    *n = 1;
    *nodes = graph->nodes[0];
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    ENTER();
    *type = node->type;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    ENTER();
    drop(graph);
    return cudaSuccess;
}

/* An executable graph is the copy of a graph, and knows whose. STAND_IN_LATE_US=2000: the host
 * takes so long to launch one. */
struct CUgraphExec_st {
    struct CUgraph_st *copy;
    const struct CUgraph_st *of;
};

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    ENTER();
    stand_in_wait_at_gate();
    (void)flags;
    *exec = calloc(1, sizeof **exec);
    **exec = (struct CUgraphExec_st){.copy = copied(graph), .of = graph};
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    (void)exec, (void)stream;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    (void)stream;
    usleep((useconds_t)number_of("STAND_IN_LATE_US", 0));
    stand_in_submit();
    for (size_t i = 0; i < exec->copy->n; i++)
        perform(exec->copy->nodes[i]);
    return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    ENTER();
    memset(info, 0, sizeof *info);
    drop(exec->copy);
    exec->copy = copied(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params)
{
    ENTER();
    for (size_t i = 0; i < exec->of->n; i++)
        if (exec->of->nodes[i] == node)
            memcpy(exec->copy->nodes[i] + 1, params->kernelParams[0], node->kernel->args_size);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    ENTER();
    drop(exec->copy);
    free(exec);
    return cudaSuccess;
}

/* --- events ----------------------------------------------------------------------------------- */

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    ENTER();
    *event = calloc(1, sizeof **event);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    ENTER();
    (void)flags;
    *event = calloc(1, sizeof **event);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    ENTER();
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER();
    (void)stream;
    stand_in_submit();
    event->ns = stand_in_now_ns;
    stand_in_now_ns += EVENT_NS;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ENTER();
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ENTER();
    stand_in_wait_at_gate();
    (void)event;
    return cudaSuccess;
}

/* STAND_IN_EVENTS=1.01: they say so many times what passed. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop)
{
    ENTER();
    const char *times = getenv("STAND_IN_EVENTS");
    *ms = (float)((double)(stop->ns - start->ns) * (times ? atof(times) : 1) / 1e6);
    return cudaSuccess;
}

/* --- kernels ---------------------------------------------------------------------------------- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit,
                                void **jit_values, unsigned n_jit, enum cudaLibraryOption *options,
                                void **values, unsigned n)
{
    ENTER();
    stand_in_wait_at_gate();
    (void)jit, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n;
    *library = (cudaLibrary_t)(uintptr_t)code;
    return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    ENTER();
    stand_in_wait_at_gate();
    const long size = stand_in_args_size(library, name);
    if (size < 0)
        return cudaErrorSymbolNotFound;
    struct stand_in_kernel *made = calloc(1, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->args_size = (size_t)size;
    *kernel = (cudaKernel_t)made;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    ENTER();
    (void)kernel;
    memset(attributes, 0, sizeof *attributes);
    attributes->binaryVersion = 90;
    attributes->numRegs = 32;
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

cudaError_t cudaFuncGetParamInfo(const void *kernel, size_t i, size_t *offset, size_t *size)
{
    ENTER();
    (void)i;
    *offset = 0;
    *size = ((const struct stand_in_kernel *)kernel)->args_size;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute which, int value)
{
    ENTER();
    (void)kernel, (void)which, (void)value;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *kernel, int threads,
                                                          size_t shared)
{
    ENTER();
    (void)kernel;
    *n = threads > 0 ? 2048 / threads : 1;
    *n = *n > 32 ? 32 : *n;
    *n = shared > 0 && (228u << 10) / (unsigned)(shared + 1024) < (unsigned)*n
             ? (int)((228u << 10) / (unsigned)(shared + 1024))
             : *n;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int *n, const void *kernel,
                                           const cudaLaunchConfig_t *config)
{
    ENTER();
    (void)kernel, (void)config;
    *n = 8;
    return cudaSuccess;
}

static cudaError_t launch(const void *kernel, dim3 grid, dim3 block, void **parameters,
                          cudaStream_t stream)
{
    struct CUgraphNode_st node = {.type = cudaGraphNodeTypeKernel, .grid = grid, .block = block};
    node.kernel = (struct stand_in_kernel *)(uintptr_t)kernel;
    node.args = parameters[0];
    return queue(stream, &node);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **parameters)
{
    ENTER();
    return launch(kernel, config->gridDim, config->blockDim, parameters, config->stream);
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **parameters,
                             size_t shared, cudaStream_t stream)
{
    ENTER();
    (void)shared;
    return launch(kernel, grid, block, parameters, stream);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    const int error = stand_in_enter(__func__, __builtin_return_address(0));
    (void)grid, (void)block, (void)shared, (void)stream;
    return (unsigned)error;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    ENTER();
    *grid = *block = (dim3){1, 1, 1};
    *shared = 0;
    memset(stream, 0, sizeof(cudaStream_t));
    return cudaSuccess;
}

/* --- the driver's calls ----------------------------------------------------------------------- */

static CUresult driver_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++)
        if (held[i].memory && at - (CUdeviceptr)(uintptr_t)held[i].memory < held[i].bytes) {
            *base = (CUdeviceptr)(uintptr_t)held[i].memory;
            *bytes = held[i].bytes;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult driver_current(CUcontext *context)
{
    *context = (CUcontext)(uintptr_t)1;
    return CUDA_SUCCESS;
}

static CUresult driver_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    params->gridDimX = node->grid.x, params->gridDimY = node->grid.y;
    params->gridDimZ = node->grid.z;
    params->blockDimX = node->block.x, params->blockDimY = node->block.y;
    params->blockDimZ = node->block.z;
    params->kern = (CUkernel)node->kernel;
    return CUDA_SUCCESS;
}

static CUresult driver_name(const char **name, const void *kernel)
{
    *name = ((const struct stand_in_kernel *)kernel)->name;
    return CUDA_SUCCESS;
}

static CUresult driver_tensor_map(void *map)
{
    memset(map, 0, 128);
    return CUDA_SUCCESS;
}

static CUresult driver_function(CUfunction *function, CUkernel kernel)
{
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

static CUresult cuLaunchKernel_(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                void **parameters, void **extra)
{
    ENTER_DRIVER();
    (void)shared, (void)extra;
    return (CUresult)launch(f, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, parameters, stream);
}

static CUresult cuLaunchKernelEx_(const CUlaunchConfig *config, CUfunction f, void **parameters,
                                  void **extra)
{
    ENTER_DRIVER();
    (void)extra;
    return (CUresult)launch(f, (dim3){config->gridDimX, config->gridDimY, config->gridDimZ},
                            (dim3){config->blockDimX, config->blockDimY, config->blockDimZ},
                            parameters, config->hStream);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    ENTER();
    static const struct {
        const char *name;
        void (*call)(void);
    } known[] = {
        {"cuMemGetAddressRange", (void (*)(void))driver_range},
        {"cuCtxGetCurrent", (void (*)(void))driver_current},
        {"cuGraphKernelNodeGetParams", (void (*)(void))driver_params},
        {"cuKernelGetName", (void (*)(void))driver_name},
        {"cuFuncGetName", (void (*)(void))driver_name},
        {"cuTensorMapEncodeTiled", (void (*)(void))driver_tensor_map},
        {"cuKernelGetFunction", (void (*)(void))driver_function},
        {"cuLaunchKernel", (void (*)(void))cuLaunchKernel_},
        {"cuLaunchKernelEx", (void (*)(void))cuLaunchKernelEx_},
    };
    (void)version, (void)flags;
    *entry = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(known[i].name, name))
            memcpy(entry, &known[i].call, sizeof *entry);
    *found = *entry ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
