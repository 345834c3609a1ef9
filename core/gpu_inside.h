/* Internal to core/gpu*.c: what a run holds of its GPU. Probes do not include this. */
#ifndef GPUFLOOR_GPU_INSIDE_H
#define GPUFLOOR_GPU_INSIDE_H

#include "core/device/harness.h"
#include "core/gpu.h"
#include "core/verdict.h"

enum { ALLOCATIONS_MAX = 256, LIBRARIES_MAX = 16 };

struct gpu {
    struct gpu_facts facts;
    char pci_bus[32];
    cudaStream_t stream;
    cudaEvent_t start, stop;
    struct {
        char *base;
        size_t bytes;
    } allocation[ALLOCATIONS_MAX];
    struct {
        const struct gpu_image *image;
        cudaLibrary_t library;
    } loaded[LIBRARIES_MAX];
    size_t n_loaded;
    struct harness_stamp *stamp[2]; /* mapped host memory, one per SM */
    cudaKernel_t stamper, fill[3], sweeper, warmer;
    float *warm_sink;
    double most_mhz; /* the greatest SM clock that the card has */
    char *sweep;             /* 3 x L2, allocated at first use */
    size_t sweep_bytes;
    struct verdict *verdict; /* likewise */
    cudaKernel_t gatekeeper, answerer; /* these and the fields below: made at first use */
    uint32_t *gate, gate_ticket; /* mapped: [0] opens the gate of that ticket, [1] was late */
    bool has_closed;              /* what is timed is behind a gate */
    bool is_gateless;             /* gpu_time_start() closes none any more */
    unsigned n_late, n_forgiven;  /* gates of it that opened by themselves: running, and in all */
    uint32_t late_before;         /* gate[1] before the one that is closed */
    uint32_t *asked;             /* mapped */
    uint64_t *answer;            /* mapped, in a page of its own */
};

#endif
