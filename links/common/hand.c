#include "links/common/hand.h"

#include <cuda.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/sides.h"
#include "links/common/wire.h"

/* A stream that is not empty by then hangs: every wait in a kernel ends after a second at most.
 * Rank 0 may be silent while it works with ranks beside these, but never for as long as a run may
 * take. */
static const uint64_t WAIT_NS = 10000000000u, SILENT_NS = 600000000000u;
/* Whom NCCL refuses ends if rank 0 is silent for so long: it may wait in NCCL for this one, for
 * ever, and the end of a process ends it, too (respawn_watch()). */
static const uint64_t REFUSED_NS = 15000000000u;

struct hand hand_open(struct probe_run *r)
{
    return (struct hand){.r = r, .late = gpu_mapped(r, sizeof(uint32_t))};
}

bool hand_answers(enum order_kind kind)
{
    switch (kind) {
    case ORDER_HELLO:
    case ORDER_ALLOCATE:
    case ORDER_ALLOCATE_OWN:
    case ORDER_OPEN:
    case ORDER_MAPPED:
    case ORDER_SHARE:
    case ORDER_KERNEL:
    case ORDER_ELAPSED:
    case ORDER_CLOCK_READ:
    case ORDER_CAPTURED:
    case ORDER_NCCL_OPEN:
    case ORDER_NCCL_JOIN:
    case ORDER_NCCL_WINDOW:
    case ORDER_WAIT: return true;
    default: return hand_reads(kind);
    }
}

bool hand_reads(enum order_kind kind)
{
    return kind == ORDER_READ || kind == ORDER_SIDES || kind == ORDER_NODE ||
           kind == ORDER_NCCL_ID || kind == ORDER_NCCL_VERSION;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Waits until the stream is empty, for a limited time. */
static int drain(struct hand *h)
{
    const uint64_t until = probe_host_ns() + WAIT_NS;
    cudaError_t result;

    do
        result = cudaStreamQuery(gpu_stream(h->r));
    while (result == cudaErrorNotReady && probe_host_ns() < until);
    if (result == cudaErrorNotReady)
        return HAND_STUCK;
    gpu_must(result, "cudaStreamQuery", __FILE__, __LINE__);
    if (!gpu_gate_held(h->r))
        probe_fail(h->r, "the hosts took longer to queue the work than a gate stays closed");
    return *(volatile uint32_t *)h->late ? HAND_LATE : HAND_WELL;
}

static void drain_or_fail(struct hand *h)
{
    if (drain(h) == HAND_STUCK)
        probe_fail(h->r, "the GPU still works after %d s", (int)(WAIT_NS / 1000000000));
}

/* --- memory that other processes can open ---------------------------------------------------- */

/* A handle belongs to the whole allocation, which begins with a guard band. Its length is whole
 * pages of 2 MiB, so that no other allocation shares a page, and thus the handle. */
static void allocate(struct hand *h, size_t bytes, struct answer *answer)
{
    CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr);
    CUdeviceptr base = 0;
    size_t whole = 0;
    char *memory = gpu_alloc(h->r, (bytes + (2u << 20) - 1) >> 21 << 21, "memory for all ranks");

    range = gpu_driver_entry("cuMemGetAddressRange", 3020);
    if (!range || range(&base, &whole, (CUdeviceptr)(uintptr_t)memory) != CUDA_SUCCESS)
        probe_skip(h->r, "no CUDA IPC: the driver does not say where an allocation begins");
    if (!CUDA_GRANTS(cudaIpcGetMemHandle(&answer->memory, pointer(base))))
        probe_skip(h->r, "no CUDA IPC: this driver gives no handle for memory");
    gpu_wait(h->r);
    answer->address = (uint64_t)(uintptr_t)memory;
    answer->number = (double)((uint64_t)(uintptr_t)memory - base);
}

static void open_memory(struct hand *h, const struct order *order, struct answer *answer)
{
    void *base = NULL;
    if (!CUDA_GRANTS(
            cudaIpcOpenMemHandle(&base, order->memory, cudaIpcMemLazyEnablePeerAccess)))
        probe_skip(h->r, "no CUDA IPC: another process's memory cannot be opened");
    answer->address = (uint64_t)(uintptr_t)base + order->at;
}

/* The host's memory that is that file, as this GPU's kernels address it; NULL where it cannot be
 * mapped. It stays until the process ends. */
static void *open_shared(const char *name, size_t bytes)
{
    void *memory = MAP_FAILED, *mapped = NULL;
    const int file = open(name, O_RDWR | O_CLOEXEC);

    if (file >= 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (memory == MAP_FAILED ||
        !CUDA_GRANTS(cudaHostRegister(memory, bytes,
                                      cudaHostRegisterMapped | cudaHostRegisterPortable)) ||
        !CUDA_GRANTS(cudaHostGetDevicePointer(&mapped, memory, 0)))
        return NULL;
    return mapped;
}

/* --- kernels, graphs, time ------------------------------------------------------------------- */

static void find_kernel(struct hand *h, const struct order *order, struct answer *answer)
{
    const struct gpu_image *image = image_find(order->image);
    if (!image || order->index >= HAND_KERNELS)
        probe_fail(h->r, "harness: no image %s, or more than %d kernels", order->image,
                   HAND_KERNELS);
    h->kernel[order->index] = gpu_kernel_if_any(h->r, image, order->kernel, order->bytes);
    answer->number = h->kernel[order->index] != NULL;
}

static void capture(struct hand *h, uint32_t index)
{
    if (index >= HAND_GRAPHS)
        probe_fail(h->r, "harness: more than %d graphs", HAND_GRAPHS);
    h->graph[index] = gpu_graph_end(h->r);
}

static void replay(struct hand *h, uint32_t index)
{
    CUDA(cudaGraphLaunch(h->graph[index].exec, gpu_stream(h->r)));
}

static double elapsed(struct hand *h)
{
    const struct gpu_events pair = gpu_events(h->r);
    drain_or_fail(h);
    return gpu_elapsed_ns(pair.start, pair.stop);
}

static double clock_read(struct hand *h)
{
    drain_or_fail(h);
    return gpu_clock_read(h->r);
}

/* --- NCCL ------------------------------------------------------------------------------------ */

static void do_nccl(struct hand *h, const struct order *o, void *data, struct answer *answer)
{
    struct nccl_call call;
    char why[160];

    switch (o->kind) {
    case ORDER_NCCL_OPEN:
        h->nccl = nccl_open(h->r, why, sizeof why);
        answer->number = h->nccl != NULL;
        break;
    case ORDER_NCCL_ID:
        answer->number = nccl_draw_id(h->r, h->nccl, data);
        break;
    case ORDER_NCCL_JOIN:
        h->is_refused = !nccl_join(h->r, h->nccl, data, (int)o->bytes, (int)o->rank);
        answer->number = !h->is_refused;
        break;
    case ORDER_NCCL_VERSION: snprintf(data, o->bytes, "%s", nccl_version(h->nccl)); break;
    case ORDER_NCCL_WINDOW:
        answer->address = (uint64_t)(uintptr_t)nccl_window(h->nccl, o->bytes);
        break;
    default:
        memcpy(&call, data, sizeof call);
        call.stream = gpu_stream(h->r);
        nccl_enqueue(h->r, h->nccl, &call);
    }
}

static void node(struct hand *h, const struct order *o, void *data)
{
    const struct gpu_node first = gpu_graph_first_kernel(h->r, &h->graph[o->index]);
    memcpy(data, &first, sizeof first);
}

static void find_sides(struct hand *h, const struct order *o, void *data)
{
    const struct sides found = sides_of(h->r, pointer(o->at), o->from);
    memcpy(data, &found, sizeof found);
}

/* Orders that touch memory. */
static void do_memory(struct hand *h, const struct order *o, void *data, struct answer *answer)
{
    switch (o->kind) {
    case ORDER_ALLOCATE: allocate(h, o->bytes, answer); break;
    case ORDER_ALLOCATE_OWN:
        answer->address = (uint64_t)(uintptr_t)gpu_alloc(h->r, o->bytes, "memory of a rank's own");
        break;
    case ORDER_OPEN: open_memory(h, o, answer); break;
    case ORDER_MAPPED: answer->address = (uint64_t)(uintptr_t)gpu_mapped(h->r, o->bytes); break;
    case ORDER_SHARE:
        answer->address = (uint64_t)(uintptr_t)open_shared(o->image, o->bytes);
        break;
    case ORDER_FILL:
        CUDA(cudaMemsetAsync(pointer(o->at), (int)o->from, o->bytes, gpu_stream(h->r)));
        break;
    case ORDER_NORMAL:
        gpu_fill_normal(h->r, pointer(o->at), (enum gpu_type)o->from, o->bytes, o->seed);
        break;
    case ORDER_WRITE:
        drain_or_fail(h);
        CUDA(cudaMemcpyAsync(pointer(o->at), data, o->bytes, cudaMemcpyDefault,
                             gpu_stream(h->r)));
        gpu_wait(h->r);
        break;
    case ORDER_READ:
        drain_or_fail(h);
        CUDA(cudaMemcpyAsync(data, pointer(o->from), o->bytes, cudaMemcpyDefault,
                             gpu_stream(h->r)));
        gpu_wait(h->r);
        break;
    case ORDER_COPY:
        CUDA(cudaMemcpyAsync(pointer(o->at), pointer(o->from), o->bytes, cudaMemcpyDefault,
                             gpu_stream(h->r)));
        break;
    case ORDER_SIDES: find_sides(h, o, data); break;
    default: gpu_sweep_l2(h->r);
    }
}

void hand_do(struct hand *h, const struct order *o, void *data, struct answer *answer)
{
    struct probe_run *r = h->r;

    switch (o->kind) {
    case ORDER_HELLO: answer->address = (uint64_t)(uintptr_t)h->late; break;
    case ORDER_KERNEL: find_kernel(h, o, answer); break;
    case ORDER_SHARED: gpu_kernel_shared(h->kernel[o->index], o->bytes, (int)o->from); break;
    case ORDER_LAUNCH: gpu_launch_shape(r, h->kernel[o->index], &o->shape, data); break;
    case ORDER_HOLD: gpu_gate_close(r); break;
    case ORDER_GO: gpu_gate_open(r); break;
    case ORDER_START: CUDA(cudaEventRecord(gpu_events(r).start, gpu_stream(r))); break;
    case ORDER_STOP: CUDA(cudaEventRecord(gpu_events(r).stop, gpu_stream(r))); break;
    case ORDER_ELAPSED: answer->number = elapsed(h); break;
    case ORDER_CLOCK_START: gpu_clock_start(r); break;
    case ORDER_CLOCK_END: gpu_clock_end(r); break;
    case ORDER_CLOCK_READ: answer->number = clock_read(h); break;
    case ORDER_CAPTURE: gpu_graph_begin(r); break;
    case ORDER_CAPTURED: capture(h, o->index); break;
    case ORDER_REPLAY: replay(h, o->index); break;
    case ORDER_FREE: gpu_graph_free(&h->graph[o->index]); break;
    case ORDER_WAIT: answer->number = drain(h); break;
    case ORDER_NODE: node(h, o, data); break;
    case ORDER_NCCL_OPEN:
    case ORDER_NCCL_ID:
    case ORDER_NCCL_JOIN:
    case ORDER_NCCL_VERSION:
    case ORDER_NCCL_WINDOW:
    case ORDER_NCCL: do_nccl(h, o, data, answer); break;
    default: do_memory(h, o, data, answer);
    }
}

void hand_serve(struct probe_run *r, int socket)
{
    struct hand hand = hand_open(r);
    void *data = probe_host_alloc(r, HAND_DATA);
    struct order order;
    size_t came;

    for (;;) {
        struct answer answer = {0};
        const uint64_t limit_ns = hand.is_refused ? REFUSED_NS : SILENT_NS;
        enum wire how = wire_receive_upto(socket, &order, sizeof order, data, HAND_DATA, &came,
                                          probe_host_ns() + limit_ns);
        hand.is_refused = false;
        if (how == WIRE_OK && order.kind == ORDER_LEAVE)
            break;
        if (how == WIRE_OK) {
            hand_do(&hand, &order, data, &answer);
            if (hand_answers(order.kind))
                how = wire_send(socket, &answer, sizeof answer, data,
                                hand_reads(order.kind) ? order.bytes : 0,
                                probe_host_ns() + SILENT_NS);
        }
        if (how != WIRE_OK)
            probe_fail(r, "rank 0 %s", wire_says(how));
    }
    free(data);
}
