#include "fused/common/quality.h"

#include <stdio.h>
#include <string.h>

#include "fused/common/operation.h"

PROBE_IMAGE(quality);

enum { THREADS = 256, BLOCKS = 512 };

static struct quality_found compare(struct probe_run *r, const void *a, const void *b, size_t size,
                                    uint64_t count)
{
    struct quality_found *memory = gpu_alloc(r, sizeof *memory, "a comparison");
    cudaKernel_t kernel =
        gpu_kernel(r, &image_quality, "quality_compare", sizeof(struct quality_args));
    struct quality_found found;

    struct quality_args args = {
        .a = a, .b = b, .found = memory, .count = count, .size = (uint32_t)size};
    CUDA(cudaMemsetAsync(memory, 0, sizeof *memory, gpu_stream(r)));
    gpu_launch(r, kernel, BLOCKS, THREADS, 0, &args);
    gpu_to_host(r, &found, memory, sizeof found);
    gpu_release(r, memory);
    return found;
}

void quality_distance(struct probe_run *r, const void *result, const void *unfused, size_t size,
                      uint64_t count)
{
    struct quality_found found = compare(r, result, unfused, size, count);
    probe_value(r, OPERATION_DIFFER, (double)found.differ / (double)count);
    probe_value(r, OPERATION_ULPS, (double)found.most_ulps);
}

void quality_digest(struct probe_run *r, const void *result, size_t size, uint64_t count)
{
    struct quality_found found = compare(r, result, NULL, size, count);
    probe_value(r, OPERATION_DIGEST, (double)(found.digest >> 35));
}

void quality_faults(struct probe_run *r, const struct quality_results *q,
                    bool (*is_wrong)(struct probe_run *r, const void *self), const void *self)
{
    static const char *const names[N_QUALITY_FAULTS] = {
        "nan", "zero", "last_column", "last_row", "swapped", "shifted", "sign", "scaled"};
    const size_t bytes = (size_t)(q->rows * q->columns) * q->size;
    cudaKernel_t plant =
        gpu_kernel(r, &image_quality, "quality_plant", sizeof(struct quality_fault_args));
    void *right = gpu_alloc(r, bytes, "the right results");
    char missed[160] = "";
    int planted = 0, caught = 0;

    CUDA(cudaMemcpyAsync(right, q->memory, bytes, cudaMemcpyDeviceToDevice, gpu_stream(r)));
    probe_require(r, !is_wrong(r, self), "verification accepts the unchanged results");
    for (uint32_t fault = 0; fault < N_QUALITY_FAULTS; fault++) {
        struct quality_fault_args args = {.memory = q->memory,
                                          .rows = q->rows,
                                          .columns = q->columns,
                                          .size = (uint32_t)q->size,
                                          .fault = fault};
        gpu_launch(r, plant, 1, THREADS, 0, &args);
        if (compare(r, q->memory, right, q->size, q->rows * q->columns).differ > 0) {
            bool seen = is_wrong(r, self);
            planted++;
            caught += seen;
            if (!seen)
                snprintf(missed + strlen(missed), sizeof missed - strlen(missed), " %s",
                         names[fault]);
        }
        CUDA(cudaMemcpyAsync(q->memory, right, bytes, cudaMemcpyDeviceToDevice, gpu_stream(r)));
    }
    gpu_release(r, right);
    probe_require(r, planted > 0, "faults can be planted in results");
    probe_value(r, OPERATION_CAUGHT, (double)caught / planted);
    probe_fact(r, "faults", "%d planted, not seen:%s", planted, *missed ? missed : " none");
}

void quality_of_pair(struct probe_run *r, const struct quality_pair *p)
{
    const struct quality_results *q = &p->results;
    const uint64_t count = q->rows * q->columns;
    const size_t bytes = (size_t)count * q->size;
    void *unfused = gpu_alloc(r, bytes, "the unfused results");

    p->launch_unfused(r, p->unfused, 0);
    CUDA(cudaMemcpyAsync(unfused, q->memory, bytes, cudaMemcpyDeviceToDevice, gpu_stream(r)));
    gpu_poison(r, q->memory, bytes);
    p->launch_fused(r, p->fused, 0);
    if (!p->no_distance)
        quality_distance(r, q->memory, unfused, q->size, count);
    quality_digest(r, q->memory, q->size, count);
    quality_faults(r, q, p->is_wrong, p->fused);
    gpu_release(r, unfused);
}
