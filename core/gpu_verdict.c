/* The host's half of core/verdict.h. */
#include <math.h>

#include "core/gpu_inside.h"
#include "core/run.h"
#include "core/verdict.h"

struct verdict *verdict_clear(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    if (!g->verdict)
        g->verdict = gpu_alloc(r, sizeof *g->verdict, "a verdict");
    CUDA(cudaMemsetAsync(g->verdict, 0, sizeof *g->verdict, g->stream));
    return g->verdict;
}

struct verdict verdict_fetch(struct probe_run *r)
{
    struct verdict v;
    gpu_to_host(r, &v, r->gpu->verdict, sizeof v);
    return v;
}

double verdict_error(const struct verdict *v)
{
    return sqrt(v->error_squared / v->reference_squared);
}

double verdict_check(struct probe_run *r, const struct verdict *v, uint64_t elements,
                     const char *when)
{
    probe_require(r, v->looked_at == elements, "%s: %llu of %llu elements were looked at", when,
                  (unsigned long long)v->looked_at, (unsigned long long)elements);
    probe_require(r, v->wrong == 0, "%s: %llu of %llu elements are beyond the error bound", when,
                  (unsigned long long)v->wrong, (unsigned long long)v->looked_at);
    return verdict_error(v);
}
