// What two_layers.cu computes, in double: every operation from the words that the one before left.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/two_layers/args.h"

// A row of an operation of an item a warp. An epoch that is not the launch's is wrong.
// sass: none not a timed kernel
extern "C" __global__ void
two_layers_verify(const __grid_constant__ struct two_layers_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const uint64_t of_item = 2ull * (a.model + a.hidden), n = a.items * of_item;
    struct verdict own = {};
    for (uint64_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < n; i += warps) {
        const uint32_t item = (uint32_t)(i / of_item);
        uint32_t row = (uint32_t)(i % of_item), operation = 0;
        while (row >= (operation % 2 ? a.model : a.hidden))
            row -= operation++ % 2 ? a.model : a.hidden;
        const uint32_t columns = operation % 2 ? a.hidden : a.model;
        const uint64_t *words =
            a.words + ((uint64_t)item * LAYERS_OPERATIONS + operation) * a.width;
        const __nv_bfloat16 *w = (const __nv_bfloat16 *)(a.weights + operation * a.weight_stride) +
                                 (uint64_t)row * columns;
        const double scale = operation % 2 ? a.down_scale : a.up_scale;
        double sum = 0, absolute = 0;
        for (uint32_t j = lane; j < columns; j += 32) {
            const float x = operation == 0 ? a.input[(uint64_t)item * a.model + j]
                                           : __uint_as_float((uint32_t)(words - a.width)[j]);
            const double product = (double)bf16::one(w[j]) * (double)bf16::one(bf16::one(x));
            sum += product;
            absolute += fabs(product);
        }
        const double z = scale * warp_reduce<adding>(sum);
        absolute = scale * warp_reduce<adding>(absolute);
        if (lane == 0) {
            const float found = __uint_as_float((uint32_t)words[row]);
            judge(&own, (uint32_t)(words[row] >> 32) == a.epoch ? found : nan(""),
                  z / (1 + fabs(z)), 8 * sqrt((double)columns) * 0x1p-24 * absolute + 0x1p-21);
        }
    }
    if (lane == 0)
        deliver(a.verdict, &own);
}
