/* Tensor maps, which only the driver can encode; see core/gpu.h. */
#include <cudaTypedefs.h>
#include <stdio.h>
#include <string.h>

#include "core/gpu.h"

_Static_assert(sizeof(CUtensorMap) == GPU_TENSOR_MAP_BYTES, "the size is part of the ABI");

/* The driver wants the innermost dimension first, and strides in bytes. */
static CUresult encode(PFN_cuTensorMapEncodeTiled_v12000 with, CUtensorMap *map,
                       const struct gpu_tensor *t)
{
    static const CUtensorMapDataType types[] = {[GPU_FP16] = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                                [GPU_BF16] = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                                [GPU_FP32] = CU_TENSOR_MAP_DATA_TYPE_FLOAT32};
    cuuint64_t size[GPU_TENSOR_RANK], stride[GPU_TENSOR_RANK - 1];
    cuuint32_t box[GPU_TENSOR_RANK], step[GPU_TENSOR_RANK];

    for (unsigned i = 0; i < t->rank; i++) {
        const unsigned outer = t->rank - 1 - i;
        size[i] = t->size[outer];
        box[i] = t->box[outer];
        step[i] = 1;
        if (i > 0)
            stride[i - 1] = t->stride[outer] * gpu_type_size(t->type);
    }
    return with(map, types[t->type], t->rank, (void *)(uintptr_t)t->base, size, stride, box, step,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

void gpu_tensor_map(struct probe_run *r, unsigned char map[GPU_TENSOR_MAP_BYTES],
                    const struct gpu_tensor *t)
{
    const PFN_cuTensorMapEncodeTiled_v12000 with =
        gpu_driver_entry("cuTensorMapEncodeTiled", 12000);
    CUtensorMap encoded;
    char sizes[96];
    int end = 0;

    if (t->rank < 2 || t->rank > GPU_TENSOR_RANK)
        probe_fail(r, "harness: a tensor map of rank %u", t->rank);
    const CUresult result = with ? encode(with, &encoded, t) : CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS) {
        for (unsigned i = 0; i < t->rank; i++)
            end += snprintf(sizes + end, sizeof sizes - (size_t)end, "%s%llu", i ? " x " : "",
                            (unsigned long long)t->size[i]);
        probe_fail(r, "a tensor map of %s elements was refused (driver error %d)", sizes,
                   (int)result);
    }
    memcpy(map, &encoded, sizeof encoded);
}
