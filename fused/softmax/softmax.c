/* softmax: what does it save to scale, mask and normalise rows of logits in one kernel instead of
 * three, and when does a row need more than one SM?
 *
 * Method. Rows of N(0,1) logits are scaled by 2.5, masked beyond the length of their row, and
 * normalised. The mask takes at most an eighth of the columns; in two rows it takes all of them or
 * all but one. Arithmetic is fp32. A row masked whole gives zeros, in every way here. Rows have any
 * number of columns, padded to 16 bytes.
 *     fused            one kernel; moves 2 tensors
 *     unfused          scale, mask, softmax, each with its result in memory; moves 6 tensors
 *     unfused_stored   a kernel writes the mask as a tensor, which is then added; moves 8 tensors
 * The softmax of the chain is the fused kernel without scale and mask. Modes, cache states, the
 * copy: common/operation.h, common/operator.h.
 *
 * One row can be spread in these ways (impl=):
 *     resident              one block that holds it in registers, and the rest in shared memory
 *     pair                  the same in registers alone, so that two blocks share an SM
 *     online                one block that reads the row twice and keeps two numbers of it
 *     cluster8, cluster16   blocks that exchange their parts in distributed shared memory
 *     grid                  blocks, all resident, that wait for each other in device memory
 *     last                  one launch in which no block waits: the last to arrive finishes alone
 *     two                   two kernels
 * `fused` takes the best way for the shape (softmax_best_plan; a fact of the case names it).
 * `longest` is the longest row that one block holds, found by bisection over launches with right
 * results. `stable` is the share of rows, made to overflow or to cancel, that come out right.
 *
 * Inside the timed region: the operations, between two events.
 * Expected on an H200:
 *   131072 x 4096 fp16 takes as long as a copy, 0.5 ms, and the chain three times that.
 *   8192 x 32768 likewise. A row that fills an SM alone is loaded first and stored afterwards: 0.84
 *   of a copy's rate. With two rows an SM it is 0.97; they fit because a thread keeps 16-bit logits
 *   in its registers instead of exponentials.
 *   One row of 131072 takes 3 us by a cluster: launch and edge of a graph 1.2 us, loads 0.4 us, the
 *   arithmetic of an SM's 8192 logits 0.6 us, shuffles and the cluster's barrier 0.5 us, then the
 *   stores. By one SM it takes 12 us. An SM makes 16 exponentials a cycle, 4 us for each of two
 *   passes, and moves 64 bytes a cycle.
 *
 * Traps. -inf minus -inf, where a whole row is masked. Folding log2(e) into the scale before the
 * greatest logit is subtracted costs a logit of 6e4 three digits. Unrolled code that runs once: a
 * block whose threads held 52 vectors each took 39 us; with 26 vectors and twice the warps it takes
 * 19 us. */
#include "fused/softmax/softmax.h"

#include "core/draw.h"
#include "fused/common/campaign.h"

static const struct probe_metric metrics[] = {
    OPERATION_METRICS(OPERATION_KEYS("rows,cols")),
    OPERATION_EACH_METRICS(OPERATION_KEYS("rows,cols")),
    [LONGEST] = {"longest", "count", PROBE_EXACT, .keys = "type,impl",
                 .what = "elements of the longest row that one block can hold"},
    [STABLE] = {"stable", "ratio", PROBE_HIGHER, .keys = "case,type,impl",
                .what = "share of rows that overflow, cancel or are masked that come out right"},
    CAMPAIGN_METRICS(SHAPES),
};

static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("rows", 1 << 24), OPERATOR_SIZE("cols", 1 << 24), OPERATOR_TYPES(GPU_FP32)};

enum {
    CHAINS = OPERATOR_MAIN | OPERATOR_PARTS | WITH_STORED,
    GRAPH = OPERATOR_WARM | OPERATOR_COLD,
    ANY = GRAPH | OPERATOR_STREAM,
};
#define LONG(rows, cols, type, flags)                                                              \
    {                                                                                              \
        {{rows, cols}, type}, 1, CHAINS, OPERATOR_COLD, flags, true                                \
    }
#define SHORT(rows, cols, type, conditions, flags)                                                 \
    {                                                                                              \
        {{rows, cols}, type}, 1, OPERATOR_MAIN, conditions, flags, true                            \
    }
/* One row, or as many rows as there are SMs, by every way. */
#define SPREAD(rows, cols, type, condition, flags)                                                 \
    {                                                                                              \
        {{rows, cols}, type}, 1, WAYS, condition, flags, false                                     \
    }
#define DEEP(type)                                                                                 \
    SHORT(1, 1024, type, ANY, PROBE_DEEP), SHORT(1, 32768, type, ANY, PROBE_DEEP),                 \
        SHORT(1, 524288, type, ANY, PROBE_DEEP), SHORT(1, 2097152, type, ANY, PROBE_DEEP),         \
        SHORT(1024, 1024, type, GRAPH, PROBE_DEEP), SHORT(1024, 4096, type, GRAPH, PROBE_DEEP),    \
        SHORT(4096, 4096, type, GRAPH, PROBE_DEEP), LONG(16384, 8192, type, PROBE_DEEP),           \
        LONG(131072, 1024, type, PROBE_DEEP)

static const struct operator_sweep sweeps[] = {
    LONG(131072, 4096, GPU_FP16, 0),
    SHORT(1, 131072, GPU_FP16, ANY, 0),
    SHORT(32, 32768, GPU_FP16, GRAPH, 0),
    LONG(8192, 32768, GPU_FP16, PROBE_THRICE),
    SPREAD(1, 1024, GPU_FP16, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(1, 4096, GPU_FP16, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(1, 16384, GPU_FP16, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(1, 65536, GPU_FP16, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(1, 131072, GPU_FP16, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(1, 262144, GPU_FP16, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(1, LONG_ROW, GPU_FP16, OPERATOR_WARM, 0),
    SPREAD(1, LONG_ROW, GPU_FP32, OPERATOR_WARM, PROBE_THRICE),
    SPREAD(OPERATOR_SM, 131072, GPU_FP16, OPERATOR_COLD, PROBE_THRICE),
    DEEP(GPU_FP16),
    DEEP(GPU_BF16),
    DEEP(GPU_FP32),
};

/* Half of the shapes are narrow. Sizes at which the way changes are among them. */
static struct operator_shape odd(size_t i, uint64_t *state)
{
    static const int special[] = {1,   2,    7,    8,    9,    31,   127,  255,  256,
                                  257, 1023, 1024, 1025, 4095, 4097, 8191, 8192, 8193};
    const int drawn = 1 + (int)draw_below(state, i % 2 ? 300 : 9000);
    return (struct operator_shape){
        {i % 4 ? 1 + (int)draw_below(state, 9) : 1, i < PROBE_LENGTH(special) ? special[i] : drawn},
        (int)(i % 3)};
}

static struct quality_results results(const struct operator_set *s, size_t member)
{
    const struct softmax *t = s->own;
    (void)member;
    return (struct quality_results){t->out.memory, t->rows, t->cols, 2};
}

static const char *const only[] = {"softmax"};
const struct fused_operator softmax = {
    .members = only,
    .n_members = 1,
    .dims = {"rows", "cols"},
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 40,
    .own_bytes = sizeof(struct softmax),
    .open = softmax_open,
    .reset = softmax_reset,
    .copied = softmax_copied,
    .forms = softmax_forms,
    .verify = softmax_verify,
    .check_on_host = softmax_check_on_host,
    .describe = softmax_describe,
    .count = softmax_count,
    .n_odd = 48,
    .odd = odd,
    .quality = {{1001, 1024}, GPU_FP16},
    .quality_types = GPU_FP16,
    .results = results,
};

static void measure(struct probe_run *r)
{
    if (!operator_measure(r, &softmax))
        return;
    softmax_measure_longest(r, GPU_FP16);
    softmax_measure_longest(r, GPU_FP32);
    for (enum gpu_type type = GPU_FP16; type <= GPU_FP32; type++)
        softmax_measure_stable(r, type);
    campaign_of_odd_shapes(r, &softmax, 48, SHAPES);
}

const struct probe probe = {
    .name = "softmax",
    .what = "What does it save to scale, mask and normalise in one kernel, and when by many SMs?",
    .method = 3,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
