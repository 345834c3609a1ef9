// Rows and columns of an operand, for a check on the host. In a file of its own, so that the cubin
// of the timed kernels does not change.
#include "probes/transpose/args.h"

// sass: none not a timed kernel
extern "C" __global__ void transpose_lines(const __grid_constant__ struct transpose_line_args a)
{
    const uint16_t *line = a.in + a.first[blockIdx.x];
    for (uint64_t j = threadIdx.x; j < a.length; j += blockDim.x)
        a.out[blockIdx.x * a.length + j] = line[j * a.step];
}
