/* core/gpu.h in a build without the CUDA toolkit: only host probes are built then. */
#include "core/run.h"
#include "version_values.h" /* VERSION_NO_CUDA: what make said of the toolkit */

bool gpu_open(struct probe_run *r, const char **state, char why[DOCUMENT_WHY])
{
    (void)r;
    *state = "not_built";
    snprintf(why, DOCUMENT_WHY,
             "not built: " VERSION_NO_CUDA
             "; with a CUDA toolkit from 12.8 on (CUDA_HOME=DIR), make "
             "builds them");
    return false;
}

bool gpu_guards_intact(struct probe_run *r)
{
    (void)r;
    return true;
}

void gpu_close(struct probe_run *r)
{
    (void)r;
}

void counters_open(struct probe_run *r)
{
    static const char why[] = "not built: " VERSION_NO_CUDA;
    r->counters = json_pack("{s:s, s:s}", "status", "refused", "why", why);
    probe_skip(r, "no counters: %s", why);
}

void counters_start(struct probe_run *r)
{
    (void)r;
}

void counters_close(struct probe_run *r)
{
    (void)r;
}
