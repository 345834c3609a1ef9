/* Empties the L2; see core/gpu.h. The kernel is in core/device/empty_l2.cu, a file of its own: a
 * probe that does not use it does not link it. */
#include "core/device/empty_l2.h"
#include "core/gpu_inside.h"
#include "core/run.h"

PROBE_IMAGE(empty_l2);

void gpu_empty_l2(struct probe_run *r)
{
    gpu_sweep_l2(r);

    const struct empty_l2_args a = {.memory = r->gpu->sweep, .lines = r->gpu->sweep_bytes / 128};
    gpu_launch(r, gpu_kernel(r, &image_empty_l2, "empty_l2", sizeof a),
               (unsigned)r->gpu->facts.n_sm * 2, 1024, 0, &a);
}
