/* The GPU side of a probe: images, launches, memory with guard bands, graphs, the SM clock.
 *
 * Kernels are in device-only .cu files, `extern "C" __global__`, and each takes one argument struct
 * by value. The build compiles a cubin for each architecture, embeds the cubins without PTX, and
 * creates a struct gpu_image with their hashes. What runs is therefore what tests/kernels
 * inspected. If a call of this header fails, it ends the run with the expression, its place and
 * CUDA's reason; none returns an error. */
#ifndef GPUFLOOR_GPU_H
#define GPUFLOOR_GPU_H

#include <cuda_runtime_api.h>

#include "core/image.h"
#include "core/probe.h"

/* Declares an image that this .c uses: image_norm is norm/norm.cu, image_norm_passes is
 * norm/passes.cu, image_copy is common/copy.cu. */
#define PROBE_IMAGE(name) extern const struct gpu_image image_##name

/* Ends the run with status "failed" when a CUDA runtime call fails. Evaluates the call once. */
#define CUDA(call) gpu_must((call), #call, __FILE__, __LINE__)
void gpu_must(cudaError_t result, const char *call, const char *file, int line);

/* The same for a call whose refusal is an answer: no such launch, no such entry in this driver.
 * False if it was refused. Ends the run all the same where not the request is at fault, but the
 * GPU, its memory or the driver: that the GPU is lost would else be read as an answer. */
#define CUDA_GRANTS(call) gpu_grants((call), #call, __FILE__, __LINE__)
bool gpu_grants(cudaError_t result, const char *call, const char *file, int line);

struct gpu_facts {
    int cc;                      /* 90 for 9.0 */
    int n_sm;
    int warps_per_sm;            /* maximum resident */
    size_t shared_per_block;     /* bytes, opt-in maximum */
    size_t shared_per_sm;
    size_t l2_bytes;
    size_t memory_bytes;         /* whole */
    size_t free_bytes;           /* at the start of the run */
    double pin_rate;             /* bytes/s: memory clock x bus width x 2 transfers per clock */
};
const struct gpu_facts *gpu_facts(const struct probe_run *r);

/* Threads of a block over so many vectors, whole warps and `most` at most (32 or more): chosen so
 * that each has the same to do in every turn of `loads` vectors, in as few turns as can be. */
unsigned gpu_even_threads(uint32_t vectors, uint32_t loads, uint32_t most);

const char *gpu_pci_bus(const struct probe_run *r); /* "00000000:04:00.0" */

/* The run's stream: all work of the run is ordered on it. */
cudaStream_t gpu_stream(const struct probe_run *r);

/* A kernel of an image. It is loaded and touched here, so that no lazy load falls into a timed
 * region; so do not call it within one. Checks that its one parameter has args_size bytes and that
 * its code is for this architecture, and stores the cubin's hash with the results. If no image fits
 * this GPU, gpu_kernel skips the run and gpu_kernel_if_any returns NULL. */
cudaKernel_t gpu_kernel(struct probe_run *r, const struct gpu_image *image, const char *name,
                        size_t args_size);
cudaKernel_t gpu_kernel_if_any(struct probe_run *r, const struct gpu_image *image, const char *name,
                               size_t args_size);

/* Lets a kernel use `shared` bytes of dynamic shared memory, and sets the carve-out: the percentage
 * of the SM's on-chip memory that is shared memory rather than L1 (-1: the driver decides). */
void gpu_kernel_shared(cudaKernel_t kernel, size_t shared, int carveout);

/* Stores registers per thread and blocks per SM as facts of the case. */
void gpu_kernel_facts(struct probe_run *r, cudaKernel_t kernel, int threads, size_t shared);

/* One launch on the run's stream: exactly one cudaLaunchKernelExC. */
void gpu_launch(struct probe_run *r, cudaKernel_t kernel, unsigned grid, unsigned block,
                size_t shared, const void *args);
void gpu_launch_grid(struct probe_run *r, cudaKernel_t kernel, dim3 grid, unsigned block,
                     size_t shared, const void *args);

/* The same with every launch attribute. grid.x must be a multiple of cluster. A cluster of more
 * than 8 blocks needs gpu_kernel_clusters() first. gpu_try_launch returns the result of the launch
 * call instead of ending the run: use it for launches that are meant to be refused. */
struct gpu_shape {
    dim3 grid;           /* .x, .y, .z blocks, each at least 1 */
    unsigned block;      /* threads */
    size_t shared;       /* bytes of dynamic shared memory */
    unsigned cluster;    /* blocks per cluster (from 9.0 on); 0: no clusters */
    bool cooperative;    /* all blocks are resident at once, or the launch is refused */
    bool dependent;      /* programmatic dependent launch: may start before its predecessor ends */
    cudaStream_t stream; /* NULL: the run's stream */
};
void gpu_launch_shape(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                      const void *args);
cudaError_t gpu_try_launch(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                           const void *args);

/* Allows clusters of 16 blocks for a kernel, if the GPU supports them. */
void gpu_kernel_clusters(cudaKernel_t kernel);

/* How many clusters of `size` blocks of the kernel the GPU can hold at once; 0 if none. */
unsigned gpu_clusters_at_once(cudaKernel_t kernel, unsigned block, size_t shared, unsigned size);

/* An entry point of the driver API, or NULL. The program does not link libcuda, which would keep it
 * from starting on a machine without a driver. */
void *gpu_driver_entry(const char *name, unsigned version);

void gpu_wait(struct probe_run *r); /* waits until the stream is empty */

/* Device memory, at least 256-byte aligned, between two guard bands of 64 KiB. All bytes are 0xff
 * (NaN in every float type). Asking for more than is free ends the run with a usage error that
 * names `what`. gpu_release checks the guard bands; the end of the run checks those of all memory
 * that is still held. */
void *gpu_alloc(struct probe_run *r, size_t bytes, const char *what);
void gpu_release(struct probe_run *r, void *memory);
void gpu_poison(struct probe_run *r, void *memory, size_t bytes);

void gpu_to_host(struct probe_run *r, void *host, const void *device, size_t bytes);
void gpu_to_device(struct probe_run *r, void *device, const void *host, size_t bytes);

/* Zeroed host memory that kernels write across the bus. Valid until the end of the run. */
void *gpu_mapped(struct probe_run *r, size_t bytes);

/* Puts into the document's environment what lies between these devices: their NVLinks with state
 * and rate, and for each ordered pair whether CUDA gives access, atomics and at which rank of
 * performance, whether NVLinks connect them, and the path on PCIe. */
void gpu_describe_peers(struct probe_run *r, const int device[], int n);

enum gpu_type { GPU_FP16, GPU_BF16, GPU_FP32 };
const char *gpu_type_name(enum gpu_type type);
size_t gpu_type_size(enum gpu_type type);

/* A row-major tensor in device memory, as the bulk copies of compute capability 9.0 see it. All
 * counts are in elements. Dimensions are in the order of C: elements of the last one are
 * contiguous. */
enum { GPU_TENSOR_RANK = 3 }; /* at most */
struct gpu_tensor {
    enum gpu_type type;
    const void *base; /* 16-byte aligned */
    unsigned rank;    /* 2: a matrix of size {rows, columns} */
    uint64_t size[GPU_TENSOR_RANK];
    uint64_t stride[GPU_TENSOR_RANK - 1]; /* of all but the last dimension; multiples of 16 bytes */
    uint32_t box[GPU_TENSOR_RANK];        /* what one copy moves; rows of at most 128 bytes */
};

/* Makes the tensor map (CUtensorMap). Copy it into an argument struct or into device memory, where
 * it must be 64-byte aligned. A box is stored in shared memory with the 128-byte swizzle. Elements
 * of a box beyond the end of a dimension load as zero, and stores leave them out. */
enum { GPU_TENSOR_MAP_BYTES = 128 };
void gpu_tensor_map(struct probe_run *r, unsigned char map[GPU_TENSOR_MAP_BYTES],
                    const struct gpu_tensor *tensor);

/* Fills count elements with N(0,1), rounded to the type. Each is a function of seed and index
 * only. */
void gpu_fill_normal(struct probe_run *r, void *memory, enum gpu_type type, size_t count,
                     uint64_t seed);

/* Reads a buffer of its own that is three times as large as the L2, which evicts everything else
 * and leaves no dirty line. */
void gpu_sweep_l2(struct probe_run *r);

/* Sweeps, and makes the L2 forget what the sweep left: its lines are free for what comes next.
 * Loads that ask for no place in the L1 do not push out lines of a sweep, and stay cold after
 * one. */
void gpu_empty_l2(struct probe_run *r);

/* The SM clock of what is queued between the first two calls. Each launches a kernel that reads
 * %clock64 on every SM at an edge of %globaltimer. gpu_clock_read waits for the stream, and returns
 * the median over the SMs of (cycles / time) in MHz. gpu_time_start() and gpu_time_stop() below
 * call all three. */
void gpu_clock_start(struct probe_run *r);
void gpu_clock_end(struct probe_run *r);
double gpu_clock_read(struct probe_run *r);

/* Captures everything that is launched on the stream between begin and end. The graph is
 * instantiated, uploaded and replayed once. gpu_graph_first_kernel tells the name and grid of its
 * first kernel node, which shows what a library chose. */
struct gpu_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};
void gpu_graph_begin(struct probe_run *r);
struct gpu_graph gpu_graph_end(struct probe_run *r);
void gpu_graph_free(struct gpu_graph *graph);
struct gpu_node {
    char kernel[160];
    unsigned blocks, threads;
    size_t n_kernels; /* kernel nodes in the whole graph */
};
struct gpu_node gpu_graph_first_kernel(struct probe_run *r, const struct gpu_graph *graph);

/* The run's own pair of events, for what no call below times. */
struct gpu_events {
    cudaEvent_t start, stop;
};
struct gpu_events gpu_events(const struct probe_run *r);

/* ns between two events that have completed. */
double gpu_elapsed_ns(cudaEvent_t start, cudaEvent_t stop);

/* The time of what is queued between the two calls, by events, with the SM clock of that time:
 *
 *     gpu_time_start(r);          closes the gate (below), reads the clock, records an event
 *     gpu_launch(r, ...);
 *     t = gpu_time_stop(r);       records an event, reads the clock, opens the gate, waits
 *
 * The clock is passed to the sample loop, too. A kernel that takes its own time asks for t.mhz
 * alone.
 *
 * Behind the gate all is in the queue before the first event. So the time is the GPU's; without it,
 * the host's time from the event to the launch is a part, up to 15 us, and a different time in each
 * process. The wait at the gate is not in the clock: a GPU that waits has a faster one. The cost of
 * the events is included (timers.event_floor); a slope over two amounts of work cancels it. At most
 * a thousand launches may lie between, and nothing for which the host waits: no memory is
 * allocated, no kernel of a library runs for the first time. Where each launch waits for its end
 * (CUDA_LAUNCH_BLOCKING, a debugger), the gate opens by itself after 200 ms. The second time
 * running a note says so, and no gate is closed from then on. Nor is one under --check and
 * --counters. */
struct gpu_time {
    double ns, mhz;
};
void gpu_time_start(struct probe_run *r);
/* Without the gate, for kernels launched one by one as a program does it: the host is a part of
 * it. */
void gpu_time_start_ungated(struct probe_run *r);
struct gpu_time gpu_time_stop(struct probe_run *r);

/* One replay, timed so. */
double gpu_replay_ns(struct probe_run *r, const struct gpu_graph *graph);

/* The sample loop over two graphs, one with n units of work and one with 2n, replayed in turn. The
 * value of a PROBE_SLOPE metric is then the time of one unit. */
void gpu_sample_graphs(struct probe_run *r, int metric, double n, const struct gpu_graph graph[2]);

/* One launch on the run's stream, timed so, for a slope over two amounts of work. The second
 * function also returns the SM clock: ns * mhz / 1e3 are cycles. */
double gpu_launch_ns(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                     const void *args);
double gpu_launch_clocked_ns(struct probe_run *r, cudaKernel_t kernel,
                             const struct gpu_shape *shape, const void *args, double *mhz);

/* Requires that the case's samples of `metric` (bytes/s), launches as a whole, moved no more bytes
 * than the memory's pins can. `fetched`: bytes at the pins for each byte of the metric. Where
 * launches reach a share s of the pin rate, it fails when more than 1 - s of their work is left
 * out; whether all is read or written, what the kernels return must say. What a launch wrote last
 * may still be in the L2 when it ends, and has then not gone over the pins: at most the L2's
 * size. */
void gpu_require_below_pins(struct probe_run *r, int metric, double fetched);

/* Mean power of the board while `once` is called again and again, each call putting about `once_ns`
 * of work on the run's stream, and the energy of a call. Some 2 ms are always queued behind what
 * runs, so that the GPU waits only for what takes longer to launch than to run. By NVML's energy
 * counter, which moves every 20 to 100 ms: read from one of its steps to a later one, at least 290
 * ms apart, after 100 ms that are not counted. A thread looks at it all the time. It sees a step
 * late by as long as a look takes: power is known to 0.2 %, and to 2 % in a virtual machine where
 * that is 5 ms. NaN without such a counter, under --check and under --counters. Stores what was
 * read as facts. It takes half a second: for cases of three rounds. */
struct gpu_power {
    double watts, joules;
    const char *why; /* they are NaN; NULL: they are not */
};
struct gpu_power gpu_power(struct probe_run *r, void (*once)(struct probe_run *r, void *what),
                           void *what, double once_ns);

/* The same of a graph that takes `ns` alone, replayed again and again. Where replays in a row take
 * more than 1.1 times that, the GPU waits between them: NaN, with why. A PROBE_POWER_BOUND case,
 * whose clock falls, may take longer. */
struct gpu_power gpu_power_of_graph(struct probe_run *r, const struct gpu_graph *graph, double ns);

/* Do calls in a row take more than 1.1 times the `ns` that one takes alone? Then the GPU waits
 * between them, and joules are not a call's. Stores how much longer they take as a fact. */
bool gpu_power_waits(struct probe_run *r, const struct gpu_power *power, double ns);

/* Stores a case's power as its value of `watts`, and of `joules` that of one of n units of work in
 * a call (n 0: none). Where power is not known, why. Returns whether it is. */
bool gpu_power_value(struct probe_run *r, int watts, int joules, const struct gpu_power *power,
                     double n);

/* A gate in the run's stream: a kernel that holds back everything queued after it until the host
 * opens the gate. A whole chain is thus in the queue before it begins, and the measurement times
 * the GPU and not the host. A stream holds about a thousand launches. Do not queue more than that
 * after a gate, or the host waits for itself. After 200 ms the gate opens by itself, and
 * gpu_gate_held returns false from then on: check it when the stream is empty, and fail, or end the
 * loop by gpu_require_gates_held. Only one gate can be closed at a time. */
void gpu_gate_close(struct probe_run *r);
void gpu_gate_open(struct probe_run *r);
bool gpu_gate_held(const struct probe_run *r);
void gpu_require_gates_held(struct probe_run *r);

/* How far the host's clock (probe_host_ns) and %globaltimer are apart now; they drift. The host
 * asks the GPU sixteen times for its time through mapped memory. Each answer bounds the distance
 * from both sides: by when the host asked, and by when it had the answer. The intersection of all
 * sixteen is +-uncertainty_ns wide, a bound and not an estimate: 640 ns on an H200 over PCIe. Call
 * it with an empty stream. It ends the run when the answers take more than 200 ms. */
struct gpu_host_clock {
    uint64_t timer_minus_host; /* ns, modulo 2^64: %globaltimer = host time + this */
    double uncertainty_ns;
};
struct gpu_host_clock gpu_relate_clocks(struct probe_run *r);

#endif
