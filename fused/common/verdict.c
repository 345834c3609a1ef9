#include "fused/common/verdict.h"

#include <math.h>

static struct verdict *memory;

struct verdict *verdict_clear(struct probe_run *r)
{
    if (!memory)
        memory = gpu_alloc(r, sizeof *memory, "a verdict");
    CUDA(cudaMemsetAsync(memory, 0, sizeof *memory, gpu_stream(r)));
    return memory;
}

struct verdict verdict_fetch(struct probe_run *r)
{
    struct verdict v;
    gpu_to_host(r, &v, memory, sizeof v);
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
