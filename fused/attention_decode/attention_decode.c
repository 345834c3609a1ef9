/* attention_decode: how long does one token's attention take, and what does it save to fuse it with
 * the rotary embedding (rope), the append to the cache, and the dequantising of the cache?
 *
 * Method. One query per sequence, with 4 query heads per KV head, over a cache of keys and values.
 * Rope is in the half-split form. The ways, as impl=
 *     attention    attention alone, in one kernel: the keys are split over blocks, and each block
 *                  merges a slice of the outputs; by ticket where not all blocks are resident
 *     ticket       the same, merged by the last block of a KV head
 *     merge        the same, merged by a second kernel
 *     unfused      rope; append; attention: three kernels
 *     two          rope with append; attention
 *     fused        all in one kernel: the new row goes from the projections to the cache and,
 *                  without a detour through it, into the attention
 *     dequantised  a kernel turns an 8-bit cache into a bf16 buffer, and attention takes that: two
 *                  kernels; all other ways dequantise 8-bit types in registers
 *     append, append_separate   rope, scale, clamp, cast, store in one kernel, or in three
 *     append_kv, rope_then_append, append_plain   keys and values alone, of many sequences
 *     by_token, pages_16, pages_64   attention over other layouts of the cache; in all other cases
 *                  the rows of a head are adjacent
 *     read         reads the same keys and values and drops them; share_of_read compares with it
 * A shape of the command line (--set context=.. and others) is measured by all ways that accept it.
 * type is the type of the cache; everything else is bf16, and sums are fp32. An 8-bit cache has one
 * scale per head.
 *
 * Inside the timed region: the operations, between two events; see common/operation.h. Queries and
 * the new row are always warm, because a projection has just written them. The new row's place in
 * the cache is as cold as the rest of it. Appends touch nothing else there, so they run after a
 * sweep.
 *
 * Expected on an H200: 8192 keys are 33.5 MB, 7.5 us; a kernel that drops them takes 9 us. The work
 * before the first load and after the last (two products, merges over warps and over blocks) adds 3
 * to 3.5 us. Of that, the merge over 16 blocks takes
 *     0.7 us by slices: a store and a load through the L2, with all SMs at work (12.0 us in all,
 *     11.3 us if no block merges);
 *     1.45 us by ticket: two trips come before the load, and one SM does it.
 * 65536 keys run above 4 TB/s. Of an 8-bit cache 131072 keys take 64 to 70 us, half of bf16's 121,
 * and 1024 keys save nothing; a batch of B sequences of 8192 keys takes what B x 8192 keys of one
 * do. A new row is 4 KiB, so fusing it saves launches, not bytes.
 *
 * Traps. These caches fit the L2: a run over 8192 keys that does not rotate them times the L2. A
 * fused append races with the block that reads the row; here that block takes the row from the
 * projections itself. When a graph is replayed, a ticket must be back at its start, so it wraps,
 * and the parts must have been cleared. A warp without a key still has outputs to merge. The
 * maximum of an empty block is -inf, and -inf minus -inf is NaN. An H200 runs these kernels at 1840
 * MHz and kernels that only read at 1980 MHz; share_of_read contains that difference.
 *
 * Derived here: share_of_token, attention's share of one decode step. The 8B shape has 32 layers of
 * 218 million weights and 525 million in the last product; the 1B shape has 16 layers of 61 million
 * and 263 million, with d = 64. All else in the step is the time to read the bf16 weights at the
 * rate of impl=read, without launches and norms. The result is therefore an upper bound of the
 * share. share_of_step is the same for a step of several sequences: their keys and values grow with
 * the batch and the weights do not. byte_share is that share by count of bytes. */
#include "fused/attention_decode/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fused/attention_decode/cases.h"
#include "fused/attention_decode/gemv.h"
#include "fused/attention_decode/reference.h"
#include "fused/attention_decode/ways.h"
#include "fused/common/quality.h"

#define KEYS OPERATION_KEYS("batch,context,heads,kv_heads,d")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [SHARE_OF_READ] = {"share_of_read", "ratio", PROBE_HIGHER, .keys = KEYS,
                       .what = "time to read the keys and values over the time of the operation"},
    [NEW_ROW_BYTES] = {"new_row_bytes", "bytes", PROBE_EXACT, .keys = KEYS,
                       .what = "loads and stores of the new rows of keys and values, by count"},
    [SHARE_OF_TOKEN] = {"share_of_token", "ratio", PROBE_LOWER, .keys = "shape,context",
                        .what =
                            "attention's share of a decode step, all else at the rate of a read"},
    [SHARE_OF_STEP] = {"share_of_step", "ratio", PROBE_LOWER, .keys = "shape,batch,context",
                       .what = "the same for a step of a batch of sequences"},
    [BYTE_SHARE] =
        {"byte_share", "ratio", PROBE_EXACT, .keys = "shape,batch,context",
         .what = "of the bytes of that step, by count: keys and values over these and all weights"},
    [STABLE] = {"stable", "ratio", PROBE_HIGHER, .keys = "case,type,impl",
                .what = "share of the outputs that are right where scores are extreme"},
    [APPEND_RIGHT] =
        {"append_right", "ratio", PROBE_HIGHER, .keys = "type,impl",
         .what = "share of the numbers that are right where rows exceed the cache's range"},
    [GEMV_TIME] = {"gemv_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event",
                   .keys = "rows,columns,type,layout,impl,l2",
                   .what = "a product of a matrix with a vector"},
};

/* One shape to measure instead of the probe's own; parameters not given have these values. */
static const struct probe_parameter parameters[] = {
    {"batch", 1, 1, 65535, "sequences of the one shape to measure", NULL},
    {"context", 8192, 1, 1 << 20, "of that shape: keys of a sequence, the new one included", NULL},
    {"heads", 32, 1, DECODE_HEADS, "of its queries", NULL},
    {"kv_heads", 8, 1, DECODE_KV_HEADS, "of its keys and values", NULL},
    {"d", 128, 64, 128, "of its heads: 128, or with a bf16 cache 64", NULL},
    {"type", DECODE_BF16, DECODE_BF16, DECODE_INT8, "of its cache: bf16, e4m3 or int8",
     decode_number_names},
};

static const struct condition cold = {.cold = true}, warm = {0};
static const struct decode_reference none = {NAN, NAN};

/* --- the headline ---------------------------------------------------------------------------- */

/* All ways to compute a step. Returns the time of attention alone. */
static double measure_step(struct probe_run *r, const struct decode_kernels *k,
                           struct decode_shape shape)
{
    static const struct decode_named_way ways[] = {
        {DECODE_ATTEND, "attention"}, {DECODE_TICKET, "ticket"}, {DECODE_MERGE, "merge"},
        {DECODE_FUSED, "fused"},      {DECODE_TWO, "two"},       {DECODE_THREE, "unfused"},
        {DECODE_WIDEN, "dequantised"}};
    const struct condition stream = {.stream = true, .cold = true};
    const double kv = decode_kv_bytes(&shape), turn = 16 * DECODE_THREADS * DECODE_VECTORS;
    const bool wide = decode_takes(&shape, DECODE_WIDEN);
    struct decode_tensors t = decode_tensors_of(r, k, shape, wide, probe_seed(r));
    struct decode_reference reference = none;
    char keys[128];
    double attention_ns = NAN;

    decode_keys_of(&shape, keys, sizeof keys);
    reference.copy_ns = copy_measure(r, keys, kv, cold, 0);
    if (fmod(kv, turn) == 0) /* the reading kernel takes whole turns only */
        reference.read_ns = decode_measure_way(r, &t, DECODE_READ, "read", cold, 0, none);
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        const enum decode_how how = ways[i].how;
        if (!decode_takes(&shape, how))
            continue;
        const double ns = decode_measure_way(r, &t, how, ways[i].name, cold, 0, reference);
        if (how != DECODE_ATTEND)
            continue;
        attention_ns = ns;
        if (kv < 3 * (double)gpu_facts(r)->l2_bytes)
            decode_measure_way(r, &t, how, ways[i].name, warm, 0, none);
    }
    decode_measure_way(r, &t, DECODE_FUSED, "fused", stream, 0, none);
    if (decode_takes(&shape, DECODE_THREE))
        decode_measure_way(r, &t, DECODE_THREE, "unfused", stream, 0, none);
    decode_tensors_free(r, &t);
    return attention_ns;
}

/* The long context; returns the rate of the reading kernel, in bytes/ns. */
static double measure_long(struct probe_run *r, const struct decode_kernels *k)
{
    struct decode_tensors t =
        decode_tensors_of(r, k, decode_shape_of(1, 65536, DECODE_BF16), false, probe_seed(r));
    struct decode_reference reference = none;
    reference.read_ns = decode_measure_way(r, &t, DECODE_READ, "read", cold, 0, none);
    decode_measure_way(r, &t, DECODE_ATTEND, "attention", cold, 0, reference);
    const double rate = decode_kv_bytes(&t.shape) / reference.read_ns;
    decode_tensors_free(r, &t);
    return rate;
}

/* --- extreme scores -------------------------------------------------------------------------- */

/* Returns false in a round that leaves out its cases; all other cases of two rounds are then left
 * out, too. */
static bool measure_stable(struct probe_run *r, const struct decode_kernels *k)
{
    static const struct decode_extreme extremes[] = {
        {"shift_0", 0, false, 300, 3},           {"shift_60", 60, false, 300, 3},
        {"shift_-60", -60, false, 300, 3},       {"shift_1000", 1000, false, 300, 3},
        {"shift_-1000", -1000, false, 300, 3},   {"shift_60000", 60000, false, 300, 3},
        {"shift_-60000", -60000, false, 300, 3}, {"one_high", -60000, true, 300, 3},
        {"last_masked", -1000, false, 33, 3}, /* two of three blocks have no key */
    };
    bool any = false;
    for (enum decode_number n = DECODE_BF16; n < N_DECODE_NUMBERS; n++)
        for (int naive = 0; naive <= (n == DECODE_BF16); naive++)
            for (size_t i = 0; i < PROBE_LENGTH(extremes); i++) {
                const struct decode_extreme *e = &extremes[i];
                struct decode_shape shape = decode_shape_of(1, e->context, n);
                struct decode_tensors t;
                uint32_t wrong;
                if (!probe_begin_case(r, PROBE_TWICE, "case=%s,type=%s,impl=%s", e->name,
                                      decode_number_names[n], naive ? "naive" : "attention"))
                    continue;
                any = true;
                shape.splits = e->splits;
                t = decode_tensors_of(r, k, shape, false, operation_seed(r, PROBE_TWICE));
                const struct decode_way way = {&t, naive ? DECODE_NAIVE : DECODE_ATTEND};
                const struct operation o = decode_operation(&way, "");
                decode_plant(r, &t, e);
                o.poison(r, o.self);
                o.launch(r, o.self, 0);
                decode_look(r, &way, &wrong);
                probe_value(r, STABLE, 1 - (double)wrong / shape.heads);
                probe_require(r, naive || wrong == 0, "%s: %u rows are wrong", e->name, wrong);
                decode_tensors_free(r, &t);
            }
    return any;
}

/* --- rows beyond the range ------------------------------------------------------------------- */

static void measure_append(struct probe_run *r, const struct decode_kernels *k)
{
    for (enum decode_number n = DECODE_E4M3; n < N_DECODE_NUMBERS; n++) {
        struct decode_tensors t = decode_tensors_of(r, k, decode_shape_of(1, 64, n), false,
                                                    operation_seed(r, PROBE_TWICE));
        const size_t count = (size_t)(t.shape.kv_heads * t.shape.d);
        uint16_t *x = probe_host_alloc(r, 2 * count);
        gpu_to_host(r, x, t.k_new, 2 * count);
        for (size_t i = 0; i < count; i++)
            x[i] = (uint16_t)(x[i] + (10 << 7)); /* times 1024 */
        gpu_to_device(r, t.k_new, x, 2 * count);
        gpu_to_device(r, t.v_new, x, 2 * count);
        free(x);
        for (int unclamped = 0; unclamped < 2; unclamped++) {
            const struct decode_way way = {&t, unclamped ? DECODE_UNCLAMPED : DECODE_KV_PLAIN};
            const struct operation o = decode_operation(&way, "");
            if (!probe_begin_case(r, PROBE_TWICE, "type=%s,impl=%s", decode_number_names[n],
                                  unclamped ? "unclamped" : "clamped"))
                continue;
            if (!unclamped) /* the control overwrites a right row, so every error is its own */
                o.poison(r, o.self);
            o.launch(r, o.self, 0);
            const struct verdict v = decode_look_at_row(r, &way);
            probe_value(r, APPEND_RIGHT, 1 - (double)v.wrong / (double)v.looked_at);
            probe_require(r, unclamped == (v.wrong > 0), "%s, %s: %llu numbers are wrong",
                          decode_number_names[n], unclamped ? "unclamped" : "clamped",
                          (unsigned long long)v.wrong);
        }
        decode_tensors_free(r, &t);
    }
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool is_wrong(struct probe_run *r, const void *self)
{
    uint32_t rows;
    return decode_look(r, self, &rows).wrong > 0;
}

/* Inputs of a fixed seed: every run on this GPU gets the same bits. */
static void measure_quality(struct probe_run *r, const struct decode_kernels *k)
{
    struct decode_tensors t =
        decode_tensors_of(r, k, decode_shape_of(1, 1000, DECODE_BF16), false, 1);
    const struct decode_way fused = {&t, DECODE_FUSED}, unfused = {&t, DECODE_THREE};
    const struct operation o = decode_operation(&fused, ""), u = decode_operation(&unfused, "");
    const size_t count = (size_t)(t.shape.heads * t.shape.d);
    const struct quality_results results = {t.out.memory, (uint64_t)t.shape.heads,
                                            (uint64_t)t.shape.d, 2};
    char keys[128];

    decode_keys_of(&t.shape, keys, sizeof keys);
    if (probe_begin_case(r, PROBE_TWICE, "%s,impl=fused,mode=graph,l2=warm", keys)) {
        void *before = gpu_alloc(r, 2 * count, "the unfused results");
        u.poison(r, u.self);
        u.launch(r, u.self, 0);
        CUDA(cudaMemcpyAsync(before, t.out.memory, 2 * count, cudaMemcpyDeviceToDevice,
                             gpu_stream(r)));
        o.poison(r, o.self);
        o.launch(r, o.self, 0);
        quality_distance(r, t.out.memory, before, 2, count);
        quality_digest(r, t.out.memory, 2, count);
        quality_faults(r, &results, is_wrong, &fused);
        gpu_release(r, before);
    }
    decode_tensors_free(r, &t);
}

/* --- all ------------------------------------------------------------------------------------- */

static void measure_deep(struct probe_run *r, const struct decode_kernels *k)
{
    static const int contexts[] = {128, 512, 2048, 16384, 131072}, batches[] = {1, 8, 64};
    static const struct decode_named_way steps[] = {{DECODE_ATTEND, "attention"},
                                                    {DECODE_FUSED, "fused"},
                                                    {DECODE_TWO, "two"},
                                                    {DECODE_THREE, "unfused"}};
    for (size_t b = 0; b < PROBE_LENGTH(batches); b++)
        for (size_t i = 0; i < PROBE_LENGTH(contexts); i++)
            for (enum decode_number n = DECODE_BF16; n < N_DECODE_NUMBERS; n++) {
                const struct decode_shape s = decode_shape_of(batches[b], contexts[i], n);
                const size_t known = s.batch == 1 && s.context == 131072; /* attention is done */
                if (decode_kv_bytes(&s) > 5e9)
                    continue;
                if (n == DECODE_BF16)
                    decode_measure_ways(r, k, s, steps + known, PROBE_LENGTH(steps) - known,
                                        PROBE_DEEP);
                else
                    DECODE_MEASURE_WAYS(r, k, s, PROBE_DEEP, {DECODE_ATTEND, "attention"},
                                        {DECODE_WIDEN, "dequantised"});
            }
}

/* Why a shape is refused; NULL: it is not. A short grid dimension counts the KV heads of all
 * sequences, and 32 bits count the threads that fill a cache. */
static const char *refuses(const struct decode_shape *s)
{
    if (s->heads % s->kv_heads != 0 || s->heads > ATTENTION_HEADS * s->kv_heads)
        return "heads: expected 1 to 8 for each of kv_heads";
    if (s->d != 128 && (s->d != 64 || s->number != DECODE_BF16))
        return "d: expected 128, or with a bf16 cache 64";
    if (s->batch * s->kv_heads > 65535)
        return "batch: expected at most 65535 by kv_heads";
    if ((int64_t)s->batch * s->kv_heads * s->context > 1 << 27)
        return "context: expected at most 2^27 by batch and kv_heads";
    return NULL;
}

static void measure_given(struct probe_run *r, const struct decode_kernels *k)
{
    static const struct decode_named_way appends[] = {{DECODE_KV, "append_kv"},
                                                      {DECODE_KV_2, "rope_then_append"},
                                                      {DECODE_KV_PLAIN, "append_plain"},
                                                      {DECODE_APPEND, "append"},
                                                      {DECODE_APPEND_3, "append_separate"}};
    const struct decode_shape s = {.batch = (int)probe_parameter(r, "batch"),
                                   .context = (int)probe_parameter(r, "context"),
                                   .heads = (int)probe_parameter(r, "heads"),
                                   .kv_heads = (int)probe_parameter(r, "kv_heads"),
                                   .d = (int)probe_parameter(r, "d"),
                                   .number = (enum decode_number)probe_parameter(r, "type")};
    const char *why = refuses(&s);
    char keys[128];

    decode_keys_of(&s, keys, sizeof keys);
    if (why)
        probe_usage(r, "%s: %s", keys, why);
    measure_step(r, k, s);
    if (!decode_takes(&s, DECODE_APPEND))
        return;
    /* Appends touch so little of a set that the number of sets is large. */
    const double sets = (double)operation_sets(r, decode_set_bytes(&s, DECODE_APPEND));
    if (2 * sets * decode_kv_bytes(&s) > (double)gpu_facts(r)->free_bytes)
        probe_note(r, "%s: too little memory for appends alone", keys);
    else
        decode_measure_ways(r, k, s, appends, PROBE_LENGTH(appends) - (s.number == DECODE_BF16), 0);
}

static void measure(struct probe_run *r)
{
    const struct decode_kernels k = decode_kernels_of(r);
    struct decode_measured m = {0};

    if (operation_is_given(r)) {
        measure_given(r, &k);
        return;
    }
    if (probe_is_check_run(r)) {
        decode_check_shapes(r, &k);
    } else {
        m.at_8192_ns = measure_step(r, &k, decode_shape_of(1, 8192, DECODE_BF16));
        DECODE_MEASURE_WAYS(r, &k, decode_shape_of(1, 8192, DECODE_E4M3), 0,
                            {DECODE_ATTEND, "attention"});
        m.read_rate = measure_long(r, &k);
    }
    if (!probe_is_check_run(r)) { /* short work first: long work moves the clock */
        decode_measure_new_rows(r, &k);
        decode_measure_8bit(r, &k);
        decode_measure_shares(r, &k, m);
    }
    decode_measure_gemv(r, GEMV_TIME);
    if (measure_stable(r, &k) || probe_in_full(r)) {
        measure_append(r, &k);
        measure_quality(r, &k);
    }
    if (probe_is_check_run(r))
        return;
    if (probe_is_due(r, PROBE_THRICE)) { /* else not even their tensors */
        decode_measure_8bit_beside(r, &k);
        decode_measure_curves(r, &k);
        decode_measure_layouts(r, &k);
        decode_measure_steps_beside(r, &k);
        decode_measure_shares_beside(r, &k, m);
    }
    if (probe_deep(r))
        measure_deep(r, &k);
}

const struct probe probe = {
    .name = "attention_decode",
    .what = "How long does one token's attention take, and what does fusing save around it?",
    .method = 4,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
