/* operator: a probe for tests, one fused operator that fills its result, whose bytes the host
 * counts. */
#include "core/gpu.h"
#include "fused/common/operation.h"

enum { BYTES = 1 << 20, VALUE = 7 };
static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("bytes"))};

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct pool *to = self;
    CUDA(cudaMemsetAsync(pool_at(to, set), VALUE, to->bytes, gpu_stream(r)));
}

static void poison(struct probe_run *r, const void *self)
{
    pool_poison(r, self);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct pool *to = self;
    unsigned char *bytes = probe_host_alloc(r, to->bytes);
    size_t wrong = 0;

    gpu_to_host(r, bytes, to->memory, to->bytes);
    for (size_t i = 0; i < to->bytes; i++)
        wrong += bytes[i] != VALUE;
    probe_require(r, wrong == 0, "%s: %zu bytes are wrong", when, wrong);
    return 0;
}

static void measure(struct probe_run *r)
{
    struct pool to = pool_new(r, BYTES, 4, "the result");
    struct operation o = {.name = "fill", .launch = launch, .poison = poison, .verify = verify,
                          .self = &to, .sets = to.sets, .set_bytes = BYTES, .bytes = BYTES};
    static const struct condition warm = {0}, cold = {.cold = true}, stream = {.stream = true};

    /* Here a graph takes the host longer than it says: what the clock of a large product may do. */
    o.power_bound = true;
    operation_measure(r, "bytes=1048576,type=u8", &o, warm, 0, NAN);
    operation_measure(r, "bytes=1048576,type=u8", &o, cold, 0, NAN); /* behind a sweep */
    operation_measure(r, "bytes=1048576,type=u8", &o, stream, 0, NAN);
    o.power_bound = false, o.name = "late";
    operation_measure(r, "bytes=1048576,type=u8", &o, warm, 0, NAN);
    pool_free(r, &to);
}

const struct probe probe = {
    .name = "operator",
    .what = "Does an operator's case say what --energy asks for?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
