/* See core/gpu.h. The harness's own kernels are in core/device/harness.cu. */
#include "core/gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/board.h"
#include "core/device/harness.h"
#include "core/gpu_inside.h"
#include "core/heap.h"
#include "core/mps.h"
#include "core/nvml.h"
#include "core/run.h"

PROBE_IMAGE(harness);

enum {
    GUARD_BYTES = 64 << 10,
    GUARD_BYTE = 0xa5,
    WARM_MS = 10,
    SETTLE_NS = 400000000,
    PLATEAU_NS = 80000000,
    LOOK_NS = 50000,
    TICK_NS = 200000,
    EVENT_PAIRS = 64,
};

/* Relative to the clock. A case may see it move by 0.01. */
static const double SETTLED = 0.005, RISES = 0.001, SLOW = 0.02;

/* gpu_must() is called from CUDA(), which does not know the run. */
static struct probe_run *owner;

void gpu_must(cudaError_t result, const char *call, const char *file, int line)
{
    if (result != cudaSuccess)
        probe_fail(owner, "%s:%d: %s: %s (%s)", file, line, call, cudaGetErrorString(result),
                   cudaGetErrorName(result));
}

/* Errors that say nothing of what was asked for. After most of them every call fails. */
static bool is_fault(cudaError_t result)
{
    switch (result) {
    case cudaErrorMemoryAllocation:
    case cudaErrorInitializationError:
    case cudaErrorCudartUnloading:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorDeviceUninitialized:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorOperatingSystem:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorExternalDevice:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
    case cudaErrorMpsClientTerminated:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorUnknown: return true;
    default: return false;
    }
}

bool gpu_grants(cudaError_t result, const char *call, const char *file, int line)
{
    if (result == cudaSuccess)
        return true;
    if (is_fault(result))
        gpu_must(result, call, file, line);
    (void)!cudaGetLastError(); /* it is answered: no later call shall show it */
    return false;
}

const struct gpu_facts *gpu_facts(const struct probe_run *r)
{
    return &r->gpu->facts;
}

unsigned gpu_even_threads(uint32_t vectors, uint32_t loads, uint32_t most)
{
    for (uint32_t turns = 1;; turns++) {
        const uint32_t each = loads * turns, threads = ((vectors + each - 1) / each + 31) / 32 * 32;
        if (threads <= most)
            return threads;
    }
}

const char *gpu_pci_bus(const struct probe_run *r)
{
    return r->gpu->pci_bus;
}

cudaStream_t gpu_stream(const struct probe_run *r)
{
    return r->gpu->stream;
}

void gpu_wait(struct probe_run *r)
{
    CUDA(cudaStreamSynchronize(r->gpu->stream));
}

/* --- which state is this machine in? --------------------------------------------------------- */

/* 13000 for 13.0; 0 if it is not to be had. */
static int cuda_version(cudaError_t (*of)(int *))
{
    int version = 0;
    return of(&version) == cudaSuccess ? version : 0;
}

/* "13.0"; null if it is not to be had. */
static json_t *cuda_version_text(cudaError_t (*of)(int *))
{
    const int version = cuda_version(of);
    return version ? json_sprintf("%d.%d", version / 1000, version % 1000 / 10) : json_null();
}

/* Error 35 means "no driver" or "driver too old"; the driver's version tells them apart. 34 is the
 * toolkit's stub library; 100 is a driver without a device. */
static bool device_there(int wanted, const char **state, char why[DOCUMENT_WHY])
{
    const int driver = cuda_version(cudaDriverGetVersion);
    const int runtime = cuda_version(cudaRuntimeGetVersion);
    int n = 0;
    cudaError_t result = cudaGetDeviceCount(&n);

    if (result == cudaSuccess && n > wanted)
        return true;
    if (result == cudaSuccess && n > 0) {
        *state = "no_device";
        snprintf(why, DOCUMENT_WHY,
                 "no device: --device %d: this machine has %d GPU%s, numbered from 0", wanted, n,
                 n == 1 ? "" : "s");
    } else if (result == cudaErrorInsufficientDriver && driver == 0) {
        *state = "no_driver";
        snprintf(why, DOCUMENT_WHY, "no driver: libcuda.so.1 was not found");
    } else if (result == cudaErrorInsufficientDriver) {
        *state = "old_driver";
        snprintf(why, DOCUMENT_WHY,
                 "driver too old: it serves CUDA %d.%d, this program needs %d.%d", driver / 1000,
                 driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    } else if (result == cudaErrorStubLibrary) {
        *state = "stub_driver";
        snprintf(why, DOCUMENT_WHY,
                 "stub library: libcuda.so.1 is the CUDA toolkit's stub, not a "
                 "driver (is a stubs folder in LD_LIBRARY_PATH?)");
    } else if (result == cudaErrorNoDevice || (result == cudaSuccess && n == 0)) {
        *state = "no_device";
        snprintf(why, DOCUMENT_WHY,
                 "no device: the driver is there, but shows none (is "
                 "CUDA_VISIBLE_DEVICES empty?)");
    } else {
        *state = "failed";
        snprintf(why, DOCUMENT_WHY, "cudaGetDeviceCount: %s (%s)", cudaGetErrorString(result),
                 cudaGetErrorName(result));
    }
    return false;
}

/* --- facts of the board ---------------------------------------------------------------------- */

static int attribute(int device, enum cudaDeviceAttr which)
{
    int value = 0;
    CUDA(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

static void read_facts(struct gpu_facts *f, int device)
{
    f->cc = 10 * attribute(device, cudaDevAttrComputeCapabilityMajor) +
            attribute(device, cudaDevAttrComputeCapabilityMinor);
    f->n_sm = attribute(device, cudaDevAttrMultiProcessorCount);
    f->warps_per_sm = attribute(device, cudaDevAttrMaxThreadsPerMultiProcessor) / 32;
    f->shared_per_block = (size_t)attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    f->shared_per_sm = (size_t)attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    f->l2_bytes = (size_t)attribute(device, cudaDevAttrL2CacheSize);
    CUDA(cudaMemGetInfo(&f->free_bytes, &f->memory_bytes));
    f->pin_rate = 2e3 * attribute(device, cudaDevAttrMemoryClockRate) *
                  attribute(device, cudaDevAttrGlobalMemoryBusWidth) / 8;
}

/* The UUID leaves this machine only as the first 16 digits of its SHA-256. */
static void hashed_uuid(char text[17], const cudaUUID_t *uuid)
{
    char command[96] = "printf '", *at = command + 8;
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        at += sprintf(at, "%02x", (unsigned char)uuid->bytes[i]);
    strcpy(at, "' | sha256sum");
    FILE *pipe = popen(command, "r");
    if (!pipe || fread(text, 1, 16, pipe) != 16)
        memcpy(text, "0000000000000000", 16);
    text[16] = '\0';
    if (pipe)
        pclose(pipe);
}

/* The driver's own version, from the line that its kernel module shows: "... Module  580.65.06 ..."
 */
static json_t *driver_version(void)
{
    char line[256], version[32];
    json_t *found = NULL;
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    const char *at = file && fgets(line, sizeof line, file) ? strstr(line, "  ") : NULL;

    if (at && sscanf(at, " %31[0-9.]", version) == 1)
        found = json_string(version);
    if (file)
        fclose(file);
    return found ? found : json_null();
}

static json_t *known(int value)
{
    return value < 0 ? json_null() : json_integer(value);
}

/* Why facts are null: by their names, or by "nvml" for all that NVML would know. */
static json_t *unknown_facts(const struct nvml *nvml, const char *why, const char *no_mps)
{
    static const struct {
        const char *name;
        enum nvml_fact fact;
    } facts[] = {{"power_limit_w", NVML_POWER_LIMIT},
                 {"power_limit_default_w", NVML_POWER_LIMIT_DEFAULT},
                 {"application_clock_mhz", NVML_APPLICATION_CLOCK},
                 {"mig", NVML_MIG},
                 {"persistence", NVML_PERSISTENCE},
                 {"held_back_by", NVML_REASONS},
                 {"n_processes", NVML_PROCESSES}};
    json_t *unknown = json_object();

    if (!nvml)
        json_object_set_new(unknown, "nvml", json_string(why));
    for (size_t i = 0; nvml && i < PROBE_LENGTH(facts); i++)
        if (nvml_why_not(nvml, facts[i].fact))
            json_object_set_new(unknown, facts[i].name,
                                json_string(nvml_why_not(nvml, facts[i].fact)));
    if (no_mps)
        json_object_set_new(unknown, "mps", json_string(no_mps));
    return unknown;
}

/* Facts that only NVML knows; null without NVML. Then `unknown` says why. */
static void describe_settings(struct probe_run *r, json_t *gpu)
{
    char why[NVML_WHY];
    const char *no_mps = NULL;
    struct nvml *nvml = nvml_open(r->gpu->pci_bus, why);
    const struct nvml_facts f = nvml_facts(nvml);
    const int mps = mps_is_on(nvml_state(nvml).n_mps, &no_mps);

    json_object_set_new(gpu, "power_limit_w", document_number(f.power_limit_w));
    json_object_set_new(gpu, "power_limit_default_w", document_number(f.power_limit_default_w));
    json_object_set_new(gpu, "application_clock_mhz", document_number(f.application_clock_mhz));
    json_object_set_new(gpu, "mig", known(f.mig));
    json_object_set_new(gpu, "mps", known(mps));
    json_object_set_new(gpu, "persistence", known(f.persistence));
    json_t *unknown = unknown_facts(nvml, why, no_mps);
    if (json_object_size(unknown) > 0)
        json_object_set(gpu, "unknown", unknown);
    json_decref(unknown);
    nvml_close(nvml);
}

/* The settings and the card's hash only in the first round: `gpufloor run` keeps one document's,
 * which it asks for before that, and NVML's start and a shell for sha256sum would take time of
 * every process. */
static void describe_board(struct probe_run *r, int device)
{
    struct cudaDeviceProp properties;
    const struct gpu_facts *f = &r->gpu->facts;
    const bool in_full = r->options.round == 0;
    char cc[32], slug[64], uuid[17];

    CUDA(cudaGetDeviceProperties(&properties, device));
    snprintf(cc, sizeof cc, "%d.%d", f->cc / 10, f->cc % 10);
    board_slug(slug, sizeof slug, properties.name);
    if (in_full)
        hashed_uuid(uuid, &properties.uuid);

    json_object_set_new(
        r->environment, "gpu",
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:i, s:i, s:i, s:b, s:s*}", "name",
                  properties.name, "board", slug, "cc", cc, "n_sm", f->n_sm, "l2_bytes",
                  (json_int_t)f->l2_bytes, "memory_bytes", (json_int_t)f->memory_bytes, "bus_bits",
                  attribute(device, cudaDevAttrGlobalMemoryBusWidth), "memory_clock_mhz",
                  attribute(device, cudaDevAttrMemoryClockRate) / 1000, "sm_clock_max_mhz",
                  attribute(device, cudaDevAttrClockRate) / 1000, "ecc",
                  attribute(device, cudaDevAttrEccEnabled), "id_hash", in_full ? uuid : NULL));
    if (in_full)
        describe_settings(r, json_object_get(r->environment, "gpu"));
    json_object_set_new(r->environment, "driver",
                        json_pack("{s:o, s:o}", "version", driver_version(), "cuda",
                                  cuda_version_text(cudaDriverGetVersion)));
    json_object_set_new(r->environment, "runtime",
                        json_pack("{s:o}", "cuda", cuda_version_text(cudaRuntimeGetVersion)));
}

/* --- timers ---------------------------------------------------------------------------------- */

static void measure_ticks(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    uint64_t *least = gpu_mapped(r, sizeof *least);
    struct harness_tick_args tick = {.out = least, .ns = TICK_NS};
    cudaKernel_t ticker = gpu_kernel(r, &image_harness, "harness_tick", sizeof tick);
    double seen[EVENT_PAIRS], step = INFINITY;

    gpu_launch(r, ticker, 1, 1, 0, &tick);
    gpu_wait(r);
    r->tick_device_ns = (double)*least;

    for (int i = 0; i < EVENT_PAIRS; i++) {
        CUDA(cudaEventRecord(g->start, g->stream));
        CUDA(cudaEventRecord(g->stop, g->stream));
        gpu_wait(r);
        seen[i] = gpu_elapsed_ns(g->start, g->stop);
    }
    stat_sort(seen, EVENT_PAIRS);
    for (int i = 1; i < EVENT_PAIRS; i++)
        if (seen[i] - seen[i - 1] > 0.5 && seen[i] - seen[i - 1] < step)
            step = seen[i] - seen[i - 1];
    r->tick_event_ns = isfinite(step) ? step : r->tick_device_ns;
}

static void keep_busy(struct probe_run *r, unsigned threads, uint64_t ns)
{
    struct gpu *g = r->gpu;
    struct harness_warm_args a = {.sink = g->warm_sink, .ns = ns};
    gpu_launch(r, g->warmer, (unsigned)g->facts.n_sm, threads, 0, &a);
}

/* Each SM's clock, 0 before and 1 after. Counters would count a stamp's own work. */
static void stamp(struct probe_run *r, int which)
{
    struct gpu *g = r->gpu;
    struct harness_stamp_args a = {.out = g->stamp[which], .n_sm = (uint64_t)g->facts.n_sm};
    if (!r->watch)
        gpu_launch(r, g->stamper, (unsigned)g->facts.n_sm, 32, 0, &a);
}

void gpu_clock_start(struct probe_run *r)
{
    stamp(r, 0);
}

void gpu_clock_end(struct probe_run *r)
{
    stamp(r, 1);
}

/* The SM clock from one stamp to the other, in MHz. */
static double clock_between(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    double mhz[1024];
    size_t n = 0;

    gpu_wait(r);
    for (int i = 0; i < g->facts.n_sm && n < PROBE_LENGTH(mhz); i++) {
        const struct harness_stamp *t0 = &g->stamp[0][i], *t1 = &g->stamp[1][i];
        if (t0->ns && t1->ns > t0->ns)
            mhz[n++] = 1e3 * (double)(t1->cycles - t0->cycles) / (double)(t1->ns - t0->ns);
        g->stamp[0][i].ns = g->stamp[1][i].ns = 0;
    }
    if (n == 0)
        probe_fail(r, "harness: no SM shows two moments of its clock");
    stat_sort(mhz, n);
    return stat_median(mhz, n);
}

double gpu_clock_read(struct probe_run *r)
{
    if (r->watch) { /* the counters give the clock */
        gpu_wait(r);
        return attribute(r->options.device, cudaDevAttrClockRate) / 1e3;
    }
    return clock_between(r);
}

/* The clock of small work now: the slower of two readings, since one may be an error of the
 * timer. */
static double clock_of_small_work(struct probe_run *r)
{
    double least = INFINITY;
    for (int i = 0; i < 2; i++) {
        stamp(r, 0);
        keep_busy(r, 32, LOOK_NS);
        stamp(r, 1);
        least = fmin(least, clock_between(r));
    }
    return least;
}

/* Waits until the SM clock is that of small work. Behind heavy work the GPU runs at its power limit
 * with a slower clock, which then rises for some milliseconds: a case of small work that begins
 * meanwhile would see it move. A clock that no longer rises is the new one of small work. */
static void settle(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    const uint64_t began = probe_host_ns();
    uint64_t rose = began, now = began;
    double mhz, most = 0;

    while ((mhz = clock_of_small_work(r)) < r->steady_mhz * (1 - SETTLED)) {
        now = probe_host_ns();
        if (mhz > most * (1 + RISES)) {
            most = mhz;
            rose = now;
        }
        if (now - rose > PLATEAU_NS || now - began > SETTLE_NS) {
            r->steady_mhz = mhz;
            break;
        }
    }
    r->steady_mhz = fmax(mhz, r->steady_mhz);
    r->slow_mhz = mhz < g->most_mhz * (1 - SLOW) ? mhz : 0;
}

/* --- open and close -------------------------------------------------------------------------- */

static void find_own_kernels(struct probe_run *r)
{
    static const char *const fills[] = {"harness_fill_fp16", "harness_fill_bf16",
                                        "harness_fill_fp32"};
    struct gpu *g = r->gpu;
    g->stamper = gpu_kernel(r, &image_harness, "harness_stamp", sizeof(struct harness_stamp_args));
    g->warmer = gpu_kernel(r, &image_harness, "harness_warm", sizeof(struct harness_warm_args));
    g->warm_sink = gpu_mapped(r, sizeof *g->warm_sink);
    g->sweeper = gpu_kernel(r, &image_harness, "harness_sweep", sizeof(struct harness_sweep_args));
    for (size_t i = 0; i < PROBE_LENGTH(fills); i++)
        g->fill[i] = gpu_kernel(r, &image_harness, fills[i], sizeof(struct harness_fill_args));
}

bool gpu_open(struct probe_run *r, const char **state, char why[DOCUMENT_WHY])
{
    owner = r;
    if (!device_there(r->options.device, state, why))
        return false;

    struct gpu *g = r->gpu = calloc(1, sizeof *g);
    if (!g)
        probe_fail(r, "out of host memory");
    heap_keep();
    CUDA(cudaSetDevice(r->options.device));
    CUDA(cudaDeviceGetPCIBusId(g->pci_bus, sizeof g->pci_bus, r->options.device));
    read_facts(&g->facts, r->options.device);
    describe_board(r, r->options.device);
    if (g->facts.cc < probe.min_cc)
        probe_skip(r, "needs compute capability %d.%d, this GPU has %d.%d", probe.min_cc / 10,
                   probe.min_cc % 10, g->facts.cc / 10, g->facts.cc % 10);

    CUDA(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&g->start));
    CUDA(cudaEventCreate(&g->stop));
    for (int i = 0; i < 2; i++)
        g->stamp[i] = gpu_mapped(r, (size_t)g->facts.n_sm * sizeof *g->stamp[i]);
    find_own_kernels(r);
    keep_busy(r, 256, (uint64_t)WARM_MS * 1000000); /* an idle GPU clocks down */
    r->steady_mhz = g->most_mhz = attribute(r->options.device, cudaDevAttrClockRate) / 1e3;
    settle(r);
    r->settle = settle;
    measure_ticks(r);
    return true;
}

static bool guards_intact(struct gpu *g, size_t i)
{
    static unsigned char band[GUARD_BYTES];
    const char *bands[] = {g->allocation[i].base,
                           g->allocation[i].base + GUARD_BYTES + g->allocation[i].bytes};

    for (int side = 0; side < 2; side++) {
        CUDA(cudaMemcpy(band, bands[side], GUARD_BYTES, cudaMemcpyDeviceToHost));
        for (size_t k = 0; k < GUARD_BYTES; k++)
            if (band[k] != GUARD_BYTE)
                return false;
    }
    return true;
}

bool gpu_guards_intact(struct probe_run *r)
{
    bool intact = true;
    for (size_t i = 0; r->gpu && i < ALLOCATIONS_MAX; i++)
        if (r->gpu->allocation[i].base)
            intact = guards_intact(r->gpu, i) && intact;
    return intact;
}

void gpu_close(struct probe_run *r)
{
    free(r->gpu); /* the context goes with the process */
    r->gpu = NULL;
}

/* --- images and kernels ---------------------------------------------------------------------- */

static cudaLibrary_t library_of(struct probe_run *r, const struct gpu_image *image)
{
    struct gpu *g = r->gpu;
    for (size_t i = 0; i < g->n_loaded; i++)
        if (g->loaded[i].image == image)
            return g->loaded[i].library;
    if (g->n_loaded == LIBRARIES_MAX)
        probe_fail(r, "harness: more than %d images", LIBRARIES_MAX);

    cudaLibrary_t library;
    CUDA(cudaLibraryLoadData(&library, image->begin, NULL, NULL, 0, NULL, NULL, 0));
    g->loaded[g->n_loaded].image = image;
    g->loaded[g->n_loaded++].library = library;
    return library;
}

cudaKernel_t gpu_kernel_if_any(struct probe_run *r, const struct gpu_image *image, const char *name,
                               size_t args_size)
{
    cudaKernel_t kernel = NULL;
    struct cudaFuncAttributes facts;
    size_t offset = 0, size = 0;
    cudaError_t result = cudaLibraryGetKernel(&kernel, library_of(r, image), name);

    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorSymbolNotFound) {
        (void)!cudaGetLastError(); /* it is answered */
        return NULL;
    }
    gpu_must(result, "cudaLibraryGetKernel", __FILE__, __LINE__);
    CUDA(cudaFuncGetAttributes(&facts, (const void *)kernel));
    CUDA(cudaFuncGetParamInfo((const void *)kernel, 0, &offset, &size));
    if (size != args_size)
        probe_fail(r, "kernel %s takes %zu bytes of arguments, the host gives %zu", name, size,
                   args_size);
    if (facts.binaryVersion / 10 != r->gpu->facts.cc / 10)
        probe_fail(r, "kernel %s is code for %d, this GPU is %d", name, facts.binaryVersion,
                   r->gpu->facts.cc);
    image_hashes(image, facts.binaryVersion, r->cubins);
    return kernel;
}

cudaKernel_t gpu_kernel(struct probe_run *r, const struct gpu_image *image, const char *name,
                        size_t args_size)
{
    cudaKernel_t kernel = gpu_kernel_if_any(r, image, name, args_size);
    if (!kernel)
        probe_skip(r,
                   "this build has no code of %s for compute capability %d.%d: rebuild with "
                   "ARCH=%d%s",
                   name, r->gpu->facts.cc / 10, r->gpu->facts.cc % 10, r->gpu->facts.cc,
                   r->gpu->facts.cc == 90 ? "a" : "");
    return kernel;
}

void gpu_kernel_shared(cudaKernel_t kernel, size_t shared, int carveout)
{
    CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)shared));
    CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              carveout));
}

void gpu_kernel_clusters(cudaKernel_t kernel)
{
    CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeNonPortableClusterSizeAllowed,
                              1));
}

unsigned gpu_clusters_at_once(cudaKernel_t kernel, unsigned block, size_t shared, unsigned size)
{
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension};
    cudaLaunchConfig_t config = {.gridDim = {size, 1, 1},
                                 .blockDim = {block, 1, 1},
                                 .dynamicSmemBytes = shared,
                                 .attrs = &attribute,
                                 .numAttrs = 1};
    int n = 0;

    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    return CUDA_GRANTS(cudaOccupancyMaxActiveClusters(&n, (const void *)kernel, &config))
               ? (unsigned)n
               : 0;
}

void gpu_kernel_facts(struct probe_run *r, cudaKernel_t kernel, int threads, size_t shared)
{
    struct cudaFuncAttributes facts;
    int blocks = 0;
    CUDA(cudaFuncGetAttributes(&facts, (const void *)kernel));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel, threads,
                                                       shared));
    probe_fact(r, "registers", "%d", facts.numRegs);
    probe_fact(r, "local_bytes", "%zu", facts.localSizeBytes);
    probe_fact(r, "shared_bytes", "%zu", shared + facts.sharedSizeBytes);
    probe_fact(r, "threads", "%d", threads);
    probe_fact(r, "blocks_per_sm", "%d", blocks);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The size was asked for with --set, or is the program's own: then what was measured is kept. */
_Noreturn static void no_memory(struct probe_run *r, size_t bytes, const char *what)
{
    char line[400];
    size_t available = 0, whole = 0;
    bool asked = false;

    (void)!cudaGetLastError(); /* it is answered here */
    CUDA(cudaMemGetInfo(&available, &whole));
    for (size_t i = 0; i < probe.n_parameters; i++)
        asked = asked || r->options.given[i];
    snprintf(line, sizeof line,
             "%s of %zu bytes does not fit: this GPU has %zu bytes free of %zu (cudaMalloc: %s)",
             what, bytes, available, whole, cudaGetErrorString(cudaErrorMemoryAllocation));
    if (asked)
        probe_usage(r, "%s", line);
    probe_fail(r, "%s", line);
}

void *gpu_alloc(struct probe_run *r, size_t bytes, const char *what)
{
    struct gpu *g = r->gpu;
    char *base = NULL;
    size_t slot = 0, padded = (bytes + 255) / 256 * 256;

    while (slot < ALLOCATIONS_MAX && g->allocation[slot].base)
        slot++;
    if (slot == ALLOCATIONS_MAX)
        probe_fail(r, "harness: more than %d allocations", ALLOCATIONS_MAX);
    cudaError_t result = bytes > SIZE_MAX / 2
                             ? cudaErrorMemoryAllocation
                             : cudaMalloc((void **)&base, padded + 2 * GUARD_BYTES);
    if (result == cudaErrorMemoryAllocation)
        no_memory(r, bytes, what);
    gpu_must(result, "cudaMalloc", __FILE__, __LINE__);
    g->allocation[slot].base = base;
    g->allocation[slot].bytes = padded;
    CUDA(cudaMemsetAsync(base, GUARD_BYTE, GUARD_BYTES, g->stream));
    CUDA(cudaMemsetAsync(base + GUARD_BYTES, 0xff, padded, g->stream));
    CUDA(cudaMemsetAsync(base + GUARD_BYTES + padded, GUARD_BYTE, GUARD_BYTES, g->stream));
    return base + GUARD_BYTES;
}

void gpu_release(struct probe_run *r, void *memory)
{
    struct gpu *g = r->gpu;
    gpu_wait(r);
    for (size_t i = 0; memory && i < ALLOCATIONS_MAX; i++)
        if (g->allocation[i].base == (char *)memory - GUARD_BYTES) {
            probe_require(r, guards_intact(g, i),
                          "nothing was written outside a buffer of %zu bytes",
                          g->allocation[i].bytes);
            CUDA(cudaFree(g->allocation[i].base));
            g->allocation[i].base = NULL;
            return;
        }
}

void gpu_poison(struct probe_run *r, void *memory, size_t bytes)
{
    CUDA(cudaMemsetAsync(memory, 0xff, bytes, r->gpu->stream));
}

void gpu_to_host(struct probe_run *r, void *host, const void *device, size_t bytes)
{
    CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, r->gpu->stream));
    gpu_wait(r);
}

void gpu_to_device(struct probe_run *r, void *device, const void *host, size_t bytes)
{
    CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, r->gpu->stream));
    gpu_wait(r);
}

void *gpu_mapped(struct probe_run *r, size_t bytes)
{
    void *memory = NULL;
    (void)r;
    CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
    memset(memory, 0, bytes);
    return memory;
}

/* --- the driver API --------------------------------------------------------------------------- */

void *gpu_driver_entry(const char *name, unsigned version)
{
    void *entry = NULL;
    enum cudaDriverEntryPointQueryResult found;
    const bool is_there = CUDA_GRANTS(cudaGetDriverEntryPointByVersion(
                              name, &entry, version, cudaEnableDefault, &found)) &&
                          found == cudaDriverEntryPointSuccess;
    return is_there ? entry : NULL;
}

/* --- inputs and the L2 ----------------------------------------------------------------------- */

const char *gpu_type_name(enum gpu_type type)
{
    static const char *const names[] = {"fp16", "bf16", "fp32"};
    return names[type];
}

size_t gpu_type_size(enum gpu_type type)
{
    return type == GPU_FP32 ? 4 : 2;
}

void gpu_fill_normal(struct probe_run *r, void *memory, enum gpu_type type, size_t count,
                     uint64_t seed)
{
    struct harness_fill_args a = {.out = memory, .count = count, .seed = seed};
    gpu_launch(r, r->gpu->fill[type], (unsigned)r->gpu->facts.n_sm * 8, 256, 0, &a);
}

void gpu_sweep_l2(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    if (!g->sweep) {
        g->sweep_bytes = (3 * g->facts.l2_bytes + 127) / 128 * 128;
        g->sweep = gpu_alloc(r, g->sweep_bytes + 16, "the L2 sweep");
    }
    struct harness_sweep_args a = {.in = g->sweep,
                                   .bytes = g->sweep_bytes,
                                   .sink = (uint32_t *)(void *)(g->sweep + g->sweep_bytes)};
    gpu_launch(r, g->sweeper, (unsigned)g->facts.n_sm * 2, 1024, 0, &a);
    r->loop.sweeps += r->loop.state == LOOP_WATCHED;
}
