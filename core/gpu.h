/* The GPU side of a probe: images, launches, memory with guard bands, graphs, the SM clock.
 *
 * Kernels live in device-only .cu files, `extern "C" __global__`, one by-value argument struct each.
 * The build makes a cubin per architecture, embeds them without PTX, and leaves a struct gpu_image
 * with their hashes: what runs is what tests/kernels inspected. Every call here that fails ends the
 * run with the expression, the place and CUDA's reason; none returns an error. */
#ifndef GPUFLOOR_GPU_H
#define GPUFLOOR_GPU_H

#include <cuda_runtime_api.h>

#include "core/image.h"
#include "core/probe.h"

/* Names an image that this .c uses: image_norm of norm/norm.cu, image_norm_passes of norm/passes.cu,
 * image_copy of common/copy.cu. */
#define PROBE_IMAGE(name) extern const struct gpu_image image_##name

/* Ends the run with status failed when a runtime call fails. Evaluates the call once. */
#define CUDA(call) gpu_must((call), #call, __FILE__, __LINE__)
void gpu_must(cudaError_t result, const char *call, const char *file, int line);

struct gpu_facts {
    int cc;                      /* 90 for 9.0 */
    int n_sm;
    int warps_per_sm;            /* most that can be resident */
    size_t shared_per_block;     /* bytes, opt-in maximum */
    size_t shared_per_sm;
    size_t l2_bytes;
    size_t memory_bytes;         /* whole */
    size_t free_bytes;           /* when the run began */
    double pin_rate;             /* bytes/s: memory clock x bus width x 2 transfers a clock */
};
const struct gpu_facts *gpu_facts(const struct probe_run *r);
const char *gpu_pci_bus(const struct probe_run *r); /* "00000000:04:00.0" */

/* The stream on which everything of this run is ordered. */
cudaStream_t gpu_stream(const struct probe_run *r);

/* A kernel of an image, loaded and touched, so that no lazy load falls into a timed region. Checks
 * that its one parameter has args_size bytes and that its code is of this architecture; stores the
 * cubin's hash with the results. gpu_kernel skips the run where no image fits this GPU;
 * gpu_kernel_if_any returns NULL there. */
cudaKernel_t gpu_kernel(struct probe_run *r, const struct gpu_image *image, const char *name,
                        size_t args_size);
cudaKernel_t gpu_kernel_if_any(struct probe_run *r, const struct gpu_image *image, const char *name,
                               size_t args_size);

/* Lets a kernel use `shared` bytes of dynamic shared memory, and sets the carve-out: the share of
 * the SM's memory that is shared rather than L1, in per cent (-1: leave it to the driver). */
void gpu_kernel_shared(cudaKernel_t kernel, size_t shared, int carveout);

/* Registers a thread and blocks that fit one SM, as facts of the case. */
void gpu_kernel_facts(struct probe_run *r, cudaKernel_t kernel, int threads, size_t shared);

/* One launch on the run's stream: exactly one cudaLaunchKernelExC. */
void gpu_launch(struct probe_run *r, cudaKernel_t kernel, unsigned grid, unsigned block,
                size_t shared, const void *args);
void gpu_launch_grid(struct probe_run *r, cudaKernel_t kernel, dim3 grid, unsigned block,
                     size_t shared, const void *args);

/* The same with all that a launch can be asked for. grid.x must be a multiple of cluster; a cluster
 * above 8 blocks needs gpu_kernel_clusters() first. gpu_try_launch returns what the launch call said
 * instead of ending the run: for launches that are meant to be refused. */
struct gpu_shape {
    dim3 grid;           /* .x, .y, .z blocks, each at least 1 */
    unsigned block;      /* threads */
    size_t shared;       /* bytes of dynamic shared memory */
    unsigned cluster;    /* blocks in a cluster; 0: no clusters (compute capability 9.0 and up) */
    bool cooperative;    /* all blocks resident at once, or the launch is refused */
    bool dependent;      /* programmatic dependent launch: may start before its predecessor ends */
    cudaStream_t stream; /* NULL: the run's stream */
};
void gpu_launch_shape(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                      const void *args);
cudaError_t gpu_try_launch(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                           const void *args);

/* Lets a kernel run in clusters of 16 blocks, where the GPU can do that. */
void gpu_kernel_clusters(cudaKernel_t kernel);

/* Clusters of `size` blocks of the kernel that the GPU holds at once; 0 where it cannot. */
unsigned gpu_clusters_at_once(cudaKernel_t kernel, unsigned block, size_t shared, unsigned size);

/* An entry point of the driver API, or NULL: linking libcuda would keep this program from starting
 * where there is no driver. */
void *gpu_driver_entry(const char *name, unsigned version);

void gpu_wait(struct probe_run *r); /* until the stream is empty */

/* Device memory, 256-byte aligned at least, all bytes 0xff (NaN in every float type), between two
 * guard bands of 64 KiB. Asking for more than is free ends the run with a usage error that names
 * `what`. gpu_release checks the bands; so does the end of the run, for what is left. */
void *gpu_alloc(struct probe_run *r, size_t bytes, const char *what);
void gpu_release(struct probe_run *r, void *memory);
void gpu_poison(struct probe_run *r, void *memory, size_t bytes);

void gpu_to_host(struct probe_run *r, void *host, const void *device, size_t bytes);
void gpu_to_device(struct probe_run *r, void *device, const void *host, size_t bytes);

/* Zeroed host memory that kernels write through the bus; until the end of the run. */
void *gpu_mapped(struct probe_run *r, size_t bytes);

enum gpu_type { GPU_FP16, GPU_BF16, GPU_FP32 };
const char *gpu_type_name(enum gpu_type type);
size_t gpu_type_size(enum gpu_type type);

/* A row-major tensor in device memory, as the bulk copies of compute capability 9.0 see it. All
 * counts are of elements. Dimensions stand as in C: elements of the last one lie side by side. */
enum { GPU_TENSOR_RANK = 3 }; /* at most */
struct gpu_tensor {
    enum gpu_type type;
    const void *base; /* 16-byte aligned */
    unsigned rank;    /* 2: a matrix, whose sizes are {rows, columns} */
    uint64_t size[GPU_TENSOR_RANK];
    uint64_t stride[GPU_TENSOR_RANK - 1]; /* of all but the last dimension; 16 bytes or multiples */
    uint32_t box[GPU_TENSOR_RANK];        /* what one copy takes; at most 128 bytes side by side */
};

/* Its tensor map (CUtensorMap), to be copied into an argument struct or into device memory, 64-byte
 * aligned there. A box is laid down in shared memory with the 128-byte swizzle. What it has beyond
 * the end of a dimension is zero when loaded, and left out when stored. */
enum { GPU_TENSOR_MAP_BYTES = 128 };
void gpu_tensor_map(struct probe_run *r, unsigned char map[GPU_TENSOR_MAP_BYTES],
                    const struct gpu_tensor *tensor);

/* count elements of N(0,1), rounded to the type, a function of seed and index alone. */
void gpu_fill_normal(struct probe_run *r, void *memory, enum gpu_type type, size_t count,
                     uint64_t seed);

/* Reads three times the L2 from a buffer of its own, so that nothing else is left there and no line
 * stays dirty. */
void gpu_sweep_l2(struct probe_run *r);

/* The SM clock of one sample: both put a kernel into the stream that reads, on every SM,
 * %clock64 at an edge of %globaltimer. stop waits for the stream, hands the median over the SMs of
 * (cycles / time) to the sample loop, and returns it in MHz. Between them lies the timed region. */
void gpu_clock_start(struct probe_run *r);
double gpu_clock_stop(struct probe_run *r);

/* Capture of everything launched on the stream between begin and end; the graph is instantiated,
 * uploaded and replayed once. Kernel and grid of its first kernel node, for what a library chose. */
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

/* One replay between two events, the SM clock read around it:
 *
 *     gpu_clock_start(r);
 *     cudaEventRecord(start); cudaGraphLaunch(exec); cudaEventRecord(stop);
 *     gpu_clock_stop(r);
 *
 * Returns ns between the events. Their own cost goes by the slope over two graphs. */
double gpu_replay_ns(struct probe_run *r, const struct gpu_graph *graph);

/* The sample loop over two graphs, of n units of work and of 2n, replayed in turn: a PROBE_SLOPE
 * metric's value is then one unit. */
void gpu_sample_graphs(struct probe_run *r, int metric, double n, const struct gpu_graph graph[2]);

/* The same around one launch on the run's stream: for the slope over two amounts of work. The
 * second one also tells the SM clock: ns * mhz / 1e3 are cycles. */
double gpu_launch_ns(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                     const void *args);
double gpu_launch_clocked_ns(struct probe_run *r, cudaKernel_t kernel,
                             const struct gpu_shape *shape, const void *args, double *mhz);

/* A gate in the run's stream: a kernel that holds whatever is queued behind it until the host opens
 * it, so that a chain is in the queue as a whole before it begins, and the GPU is timed and not the
 * host. A stream holds about a thousand launches: no more than that fits behind a gate, or the host
 * waits for itself. After 200 ms it opens by itself, and gpu_gate_held, asked when the stream is
 * empty, says no from then on: such a probe fails its check. One gate at a time. */
void gpu_gate_close(struct probe_run *r);
void gpu_gate_open(struct probe_run *r);
bool gpu_gate_held(const struct probe_run *r);

/* The host's clock (probe_host_ns) against %globaltimer, as they are now; they drift apart.
 * The host asks the GPU sixteen times for its time through mapped memory. Each answer bounds the
 * distance from both sides, by when the host asked and when it had the answer; what all sixteen
 * leave open is +-uncertainty_ns, a bound and no estimate: 640 ns on an H200 over PCIe. To be
 * called with an empty stream; ends the run when the answers take more than 200 ms. */
struct gpu_host_clock {
    uint64_t timer_minus_host; /* ns, modulo 2^64: add to a host time for %globaltimer */
    double uncertainty_ns;
};
struct gpu_host_clock gpu_relate_clocks(struct probe_run *r);

#endif
