#include "fused/attention_decode/ways.h"

#include <math.h>
#include <stdlib.h>

/* --- launches -------------------------------------------------------------------------------- */

/* Does every block merge a slice of the results, waiting for all others? */
static bool exchanges(const struct decode_tensors *t, enum decode_how how)
{
    return t->exchanges && how != DECODE_TICKET && how != DECODE_MERGE;
}

static struct attention_decode_args attention_of(const struct decode_tensors *t, size_t set,
                                                 enum decode_how how)
{
    const struct decode_shape *s = &t->shape;
    const bool turned = how == DECODE_TWO || how == DECODE_THREE;
    return (struct attention_decode_args){.cache = decode_cache(t, set),
                                          .q = turned ? t->q_turned : t->q,
                                          .out = pool_at(&t->out, set),
                                          .partial = t->partial,
                                          .summary = t->summary,
                                          .ticket = how == DECODE_MERGE ? NULL : t->ticket,
                                          .parts = exchanges(t, how) ? t->parts : NULL,
                                          .aborted = t->aborted,
                                          .turn = how == DECODE_FUSED ? t->turn : NULL,
                                          .k_new = t->k_new,
                                          .v_new = t->v_new,
                                          .keys = (uint32_t)s->context,
                                          .splits = t->splits,
                                          .group = (uint32_t)(s->heads / s->kv_heads),
                                          .scale = 1.442695041f / sqrtf((float)s->d)};
}

static void attend(struct probe_run *r, const struct decode_tensors *t, size_t set,
                   enum decode_how how)
{
    const struct decode_shape *s = &t->shape;
    const struct gpu_shape shape = {.grid = {t->splits, (unsigned)s->kv_heads, (unsigned)s->batch},
                                    .block = ATTENTION_THREADS,
                                    .cooperative = exchanges(t, how)};
    struct attention_decode_args a = attention_of(t, set, how);
    const struct decode_kernels *k = t->kernels;
    cudaKernel_t kernel = how == DECODE_NAIVE ? k->naive
                          : s->d == 64        ? k->attend_d64
                                              : k->attend[decode_is_paged(s)][s->number];
    if (how == DECODE_WIDEN) {
        kernel = k->attend[0][DECODE_BF16];
        a.cache.k = pool_at(&t->wide, set);
        a.cache.v = (char *)a.cache.k + 2 * t->v_at;
        a.cache.k_scale = a.cache.v_scale = NULL;
        a.cache.sequence_stride *= 2;
        a.cache.head_stride *= 2;
        a.cache.row_stride *= 2;
    }
    gpu_launch_shape(r, kernel, &shape, &a);
    if (how == DECODE_MERGE && t->splits > 1)
        gpu_launch_grid(r, k->merge, (dim3){1, shape.grid.y, shape.grid.z}, ATTENTION_THREADS, 0,
                        &a);
}

static struct rope_args rope_of(const struct decode_tensors *t, size_t set)
{
    const struct decode_shape *s = &t->shape;
    return (struct rope_args){.cache = decode_cache(t, set),
                              .q = t->q,
                              .k = t->k_new,
                              .v = t->v_new,
                              .q_to = t->q_turned,
                              .k_to = t->k_turned,
                              .turn = t->turn,
                              .key = (uint32_t)s->context - 1,
                              .batch = (uint32_t)s->batch,
                              .heads = (uint32_t)s->heads};
}

/* Rope of queries (none where `heads` is 0) and keys, then the append; or both in one kernel. */
static void turn_and_append(struct probe_run *r, const struct decode_tensors *t, size_t set,
                            int heads, bool together)
{
    const struct decode_shape *s = &t->shape;
    struct rope_args a = rope_of(t, set);
    a.heads = (uint32_t)heads;
    if (together) {
        decode_launch_rope(r, t, t->kernels->rope_append[s->number], &a, heads + 2 * s->kv_heads);
        return;
    }
    decode_launch_rope(r, t, t->kernels->rope, &a, heads + s->kv_heads);
    a.k = t->k_turned;
    decode_launch_rope(r, t, t->kernels->append[s->number], &a, 2 * s->kv_heads);
}

/* Rope; scale, clamp and cast into a buffer; from there into the cache. */
static void append_in_three(struct probe_run *r, const struct decode_tensors *t, size_t set)
{
    const struct decode_shape *s = &t->shape;
    const size_t rows = (size_t)(s->batch * s->kv_heads * s->d);
    struct rope_args a = rope_of(t, set), cast = a;

    decode_launch_rope(r, t, t->kernels->rope, &a, s->heads + s->kv_heads);
    cast.k = t->k_turned;
    cast.key = 0;
    cast.cache.pages = NULL;
    cast.cache.page_shift = 31;
    cast.cache.k = t->cast;
    cast.cache.v = (char *)t->cast + rows;
    cast.cache.head_stride = (uint64_t)s->d;
    cast.cache.sequence_stride = (uint64_t)(s->d * s->kv_heads);
    decode_launch_rope(r, t, t->kernels->append[s->number], &cast, 2 * s->kv_heads);
    a.k = cast.cache.k;
    a.v = cast.cache.v;
    decode_launch_rope(r, t, t->kernels->store, &a, 2 * s->kv_heads);
}

static void dequantise(struct probe_run *r, const struct decode_tensors *t, size_t set)
{
    const struct decode_shape *s = &t->shape;
    struct decode_dequantise_args a = {.from = pool_at(&t->cache, set),
                                       .to = pool_at(&t->wide, set),
                                       .from_apart = t->v_at,
                                       .to_apart = 2 * t->v_at,
                                       .scale = t->scales,
                                       .head_vectors =
                                           (uint32_t)(decode_room(s) * (size_t)s->d / 8),
                                       .kv_heads = (uint32_t)s->kv_heads};
    const dim3 grid = {(a.head_vectors + 8 * DECODE_THREADS - 1) / (8 * DECODE_THREADS),
                       (unsigned)(s->batch * s->kv_heads), 2};
    gpu_launch_grid(r, t->kernels->dequantise[s->number], grid, DECODE_THREADS, 0, &a);
}

static void read_all(struct probe_run *r, const struct decode_tensors *t, size_t set)
{
    const uint64_t turn = DECODE_THREADS * DECODE_VECTORS;
    struct decode_read_args a = {.from = pool_at(&t->cache, set),
                                 .vectors = (uint64_t)(decode_kv_bytes(&t->shape) / 16)};
    const uint64_t blocks = (a.vectors + turn - 1) / turn, most = 4 * (uint64_t)gpu_facts(r)->n_sm;
    a.vectors = blocks * turn > (t->v_at + t->k_bytes) / 16 ? a.vectors / turn * turn : a.vectors;
    gpu_launch(r, t->kernels->read, (unsigned)(blocks < most ? blocks : most), DECODE_THREADS, 0,
               &a);
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct decode_way *w = self;
    const struct decode_tensors *t = w->t;
    struct rope_args a = rope_of(t, set);

    switch (w->how) {
    case DECODE_TWO:
    case DECODE_THREE: turn_and_append(r, t, set, t->shape.heads, w->how == DECODE_TWO); break;
    case DECODE_WIDEN: dequantise(r, t, set); break;
    case DECODE_READ: read_all(r, t, set); return;
    case DECODE_APPEND: turn_and_append(r, t, set, t->shape.heads, true); return;
    case DECODE_APPEND_3: append_in_three(r, t, set); return;
    case DECODE_KV:
    case DECODE_KV_2: turn_and_append(r, t, set, 0, w->how == DECODE_KV); return;
    case DECODE_KV_PLAIN:
        decode_launch_rope(r, t, t->kernels->append[t->shape.number], &a, 2 * t->shape.kv_heads);
        return;
    case DECODE_UNCLAMPED:
        decode_launch_rope(r, t, t->kernels->append_unclamped[t->shape.number], &a,
                           2 * t->shape.kv_heads);
        return;
    default: break;
    }
    attend(r, t, set, w->how);
}

/* --- what a way does ------------------------------------------------------------------------- */

static bool attends(enum decode_how how)
{
    return how <= DECODE_WIDEN;
}

static bool turns(enum decode_how how)
{
    return how == DECODE_FUSED || how == DECODE_TWO || how == DECODE_THREE ||
           (how >= DECODE_APPEND && how <= DECODE_KV_2);
}

static bool appends(enum decode_how how)
{
    return turns(how) || how >= DECODE_KV_PLAIN;
}

/* With d = 64 there is attention alone, the kernel that does all in one, and what takes bytes. */
bool decode_takes(const struct decode_shape *s, enum decode_how how)
{
    const bool is_8bit = s->number != DECODE_BF16;
    switch (how) {
    case DECODE_ATTEND:
    case DECODE_TICKET:
    case DECODE_FUSED:
    case DECODE_READ: return true;
    case DECODE_NAIVE: return !is_8bit && s->d == 128 && !decode_is_paged(s);
    case DECODE_WIDEN: return is_8bit && s->layout == DECODE_BY_HEAD;
    case DECODE_APPEND_3:
    case DECODE_UNCLAMPED: return is_8bit;
    default: return s->d == 128;
    }
}

/* --- is it right? ---------------------------------------------------------------------------- */

/* All bits of the new row, keys and values, of the set that is verified: NaN, or -1 of int8, which
 * is right for few of its numbers. */
static void poison_new_row(struct probe_run *r, const struct decode_tensors *t)
{
    const struct decode_shape *s = &t->shape;
    const struct kv_cache c = decode_cache(t, 0);
    const size_t batch = (size_t)s->batch, kv_heads = (size_t)s->kv_heads;
    const size_t key = (size_t)s->context - 1, row = (size_t)(s->d * decode_number_bytes(s));
    const bool in_one = c.sequence_stride == kv_heads * c.head_stride; /* heads equally far apart */
    const size_t n = batch * c.pages_of_sequence, height = in_one ? batch * kv_heads : kv_heads;
    uint32_t *pages = c.pages ? probe_host_alloc(r, n * sizeof *pages) : NULL;

    if (pages)
        gpu_to_host(r, pages, c.pages, n * sizeof *pages);
    for (size_t sequence = 0; sequence < (in_one ? 1 : batch); sequence++) {
        const size_t page =
            pages ? pages[sequence * c.pages_of_sequence + (key >> c.page_shift)] : 0;
        const size_t at = sequence * c.sequence_stride + page * c.page_stride +
                          (key & (((size_t)1 << c.page_shift) - 1)) * c.row_stride;
        char *const new_rows[] = {(char *)c.k + at, (char *)c.v + at};
        for (size_t i = 0; i < PROBE_LENGTH(new_rows); i++)
            CUDA(cudaMemset2DAsync(new_rows[i], c.head_stride, 0xff, row, height, gpu_stream(r)));
    }
    free(pages);
}

/* The row of the cache only where the way writes it: for all others it is an input. */
static void poison(struct probe_run *r, const void *self)
{
    const struct decode_way *w = self;
    const struct decode_tensors *t = w->t;
    const struct decode_shape *s = &t->shape;
    const size_t kv = (size_t)(s->batch * s->kv_heads), d = (size_t)s->d;
    const size_t parts = kv * t->splits * ATTENTION_HEADS;

    pool_poison(r, &t->out);
    gpu_poison(r, t->q_turned, 2 * (size_t)(s->batch * s->heads) * d);
    gpu_poison(r, t->k_turned, 2 * kv * d);
    gpu_poison(r, t->cast, 4 * kv * d);
    gpu_poison(r, t->partial, parts * d * sizeof *t->partial);
    gpu_poison(r, t->summary, parts * 2 * sizeof *t->summary);
    if (w->how == DECODE_WIDEN)
        pool_poison(r, &t->wide);
    if (appends(w->how))
        poison_new_row(r, t);
}

static struct decode_verify_args verify_of(struct probe_run *r, const struct decode_way *w)
{
    const struct decode_tensors *t = w->t;
    return (struct decode_verify_args){.cache = decode_cache(t, 0),
                                       .q = t->q,
                                       .turn = turns(w->how) ? t->turn : NULL,
                                       .out = t->out.memory,
                                       .k_new = t->k_new,
                                       .v_new = t->v_new,
                                       .scores = t->scores,
                                       .verdict = verdict_clear(r),
                                       .wrong_rows = t->wrong_rows,
                                       .keys = (uint32_t)t->shape.context,
                                       .group = (uint32_t)(t->shape.heads / t->shape.kv_heads),
                                       .d = (uint32_t)t->shape.d,
                                       .number = t->shape.number,
                                       .scale = 1 / sqrtf((float)t->shape.d)};
}

struct verdict decode_look(struct probe_run *r, const struct decode_way *w, uint32_t *wrong_rows)
{
    const struct decode_shape *s = &w->t->shape;
    struct decode_verify_args a = verify_of(r, w);
    CUDA(cudaMemsetAsync(w->t->wrong_rows, 0, sizeof *wrong_rows, gpu_stream(r)));
    gpu_launch_grid(r, w->t->kernels->verify, (dim3){(unsigned)s->heads, (unsigned)s->batch, 1},
                    DECODE_THREADS, 0, &a);
    gpu_to_host(r, wrong_rows, w->t->wrong_rows, sizeof *wrong_rows);
    return verdict_fetch(r);
}

struct verdict decode_look_at_row(struct probe_run *r, const struct decode_way *w)
{
    const struct decode_shape *s = &w->t->shape;
    struct decode_verify_args a = verify_of(r, w);
    gpu_launch_grid(r, w->t->kernels->verify_row,
                    (dim3){(unsigned)s->kv_heads, (unsigned)s->batch, 1}, (unsigned)s->d, 0, &a);
    return verdict_fetch(r);
}

/* What blocks tell each other by is as it was, for the next launch. */
static void check_handover(struct probe_run *r, const struct decode_tensors *t, const char *when)
{
    const size_t n = (size_t)(t->shape.batch * t->shape.kv_heads);
    const size_t words = n * t->splits * ATTENTION_HEADS * (size_t)t->shape.d * 2;
    uint32_t *host = probe_host_alloc(r, words * sizeof *host), drawn = 0, kept = ~0u, aborted;
    gpu_to_host(r, host, t->ticket, n * sizeof *host);
    for (size_t i = 0; i < n; i++)
        drawn |= host[i];
    probe_require(r, drawn == 0, "%s: every ticket is back at 0", when);
    gpu_to_host(r, host, t->parts, words * sizeof *host);
    for (size_t i = 0; i < words; i++)
        kept &= host[i];
    probe_require(r, kept == ~0u, "%s: every part has been taken away", when);
    gpu_to_host(r, &aborted, t->aborted, sizeof aborted);
    probe_require(r, aborted == 0, "%s: no block waited in vain", when);
    free(host);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct decode_way *w = self;
    const struct decode_shape *s = &w->t->shape;
    double error = NAN;
    if (attends(w->how)) {
        uint32_t wrong_rows;
        struct verdict v = decode_look(r, w, &wrong_rows);
        error = verdict_check(r, &v, (uint64_t)(s->batch * s->heads * s->d), when);
        check_handover(r, w->t, when);
    }
    if (appends(w->how)) {
        struct verdict v = decode_look_at_row(r, w);
        verdict_check(r, &v, 2 * (uint64_t)(s->batch * s->kv_heads * s->d), when);
    }
    return error;
}

/* --- bytes, by count ------------------------------------------------------------------------- */

double decode_new_row_bytes(const struct decode_way *w)
{
    const struct decode_shape *s = &w->t->shape;
    const double numbers = s->batch * s->kv_heads * s->d; /* of a row of keys, or of values */
    const double stored = 2 * numbers * decode_number_bytes(s), given = 2 * numbers * 2,
                 keys = numbers * 2;
    switch (w->how) {
    case DECODE_FUSED: /* attended to without being read again */
    case DECODE_APPEND:
    case DECODE_KV:
    case DECODE_KV_PLAIN:
    case DECODE_UNCLAMPED: return given + stored;
    case DECODE_TWO: return given + stored + stored;
    case DECODE_THREE: /* keys are written and read once more in between */
        return given + 2 * keys + stored + stored;
    case DECODE_KV_2: return given + 2 * keys + stored;
    case DECODE_APPEND_3: return given + 2 * keys + stored + 2 * stored;
    default: return 0;
    }
}

static double bytes_of(const struct decode_way *w)
{
    const struct decode_shape *s = &w->t->shape;
    const double kv = decode_kv_bytes(s), rows = s->batch * s->heads, q = rows * s->d * 2;
    const double parts = exchanges(w->t, w->how) ? rows * w->t->splits * s->d * (8 + 8 + 8)
                         : w->t->splits > 1      ? 2 * rows * w->t->splits * (s->d + 2) * 4
                                                 : 0;
    const double new_rows = decode_new_row_bytes(w), attention = kv + 2 * q + parts;
    const double last = kv / s->context; /* counted as a new row already */
    switch (w->how) {
    case DECODE_ATTEND:
    case DECODE_TICKET:
    case DECODE_MERGE:
    case DECODE_NAIVE: return attention;
    case DECODE_FUSED:
    case DECODE_TWO:
    case DECODE_THREE:
        return attention - last + new_rows + (w->how == DECODE_FUSED ? 0 : 2 * q) + 4 * s->d;
    case DECODE_WIDEN: return kv + 2 * kv + 2 * kv + 2 * q + parts;
    case DECODE_READ: return kv;
    case DECODE_APPEND:
    case DECODE_APPEND_3: return new_rows + 2 * q + 4 * s->d;
    default: return new_rows;
    }
}

static unsigned kernels_of(const struct decode_way *w)
{
    const bool merges = w->how == DECODE_MERGE && w->t->splits > 1;
    return w->how == DECODE_THREE || w->how == DECODE_APPEND_3                                 ? 3
           : w->how == DECODE_TWO || w->how == DECODE_WIDEN || w->how == DECODE_KV_2 || merges ? 2
                                                                                               : 1;
}

double decode_set_bytes(const struct decode_shape *s, enum decode_how how)
{
    const double kv = decode_kv_bytes(s);
    return how == DECODE_WIDEN                  ? 3 * kv /* 8 bits, and 16 */
           : attends(how) || how == DECODE_READ ? kv
                                                : kv / s->context;
}

/* Bytes that have to be allocated for one operation. */
static double memory_of(const struct decode_way *w)
{
    const struct decode_tensors *t = w->t;
    const struct decode_shape *s = &t->shape;
    const enum decode_how how = w->how;
    const double cache = 2 * (double)t->k_bytes, pairs = s->batch * s->kv_heads;
    const double q = 2.0 * s->batch * s->heads * s->d, row = 2 * pairs * s->d; /* keys, or values */
    const bool all_merge = exchanges(t, how);
    const double part = ATTENTION_HEADS * (all_merge ? s->d * 8.0 : (s->d + 2) * 4.0);
    const double ticket = all_merge || how == DECODE_MERGE ? 0 : 4;
    double bytes = cache;

    if (how == DECODE_READ)
        return bytes;
    bytes += (t->scales ? 8.0 * s->kv_heads : 0) +
             (t->pages ? 4.0 * s->batch * decode_cache(t, 0).pages_of_sequence : 0);
    if (attends(how))
        bytes += 2 * q + (t->splits > 1 ? pairs * (t->splits * part + ticket) : 0) +
                 (all_merge ? 4 : 0);
    if (how == DECODE_WIDEN)
        bytes += 2 * cache;
    if (appends(how))
        bytes += 2 * row;
    if (turns(how)) /* cosines and sines */
        bytes += 4 * s->d;
    if (how == DECODE_APPEND || how == DECODE_APPEND_3) /* queries, for attention to come */
        bytes += 2 * q;
    if (how == DECODE_TWO || how == DECODE_THREE)
        bytes += q;
    if (how == DECODE_THREE || how == DECODE_KV_2 || how == DECODE_APPEND_3)
        bytes += row;
    if (how == DECODE_APPEND_3)
        bytes += 2 * pairs * s->d * decode_number_bytes(s);
    return bytes;
}

struct operation decode_operation(const struct decode_way *w, const char *name)
{
    const struct decode_tensors *t = w->t;
    return (struct operation){.name = name,
                              .launch = launch,
                              .poison = poison,
                              .verify = verify,
                              .self = w,
                              .sets = t->cache.sets,
                              .set_bytes = decode_set_bytes(&t->shape, w->how),
                              .bytes = bytes_of(w),
                              .memory = memory_of(w),
                              .kernels = kernels_of(w)};
}
