#include "fused/attention_decode/tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "fused/common/rope.h"

PROBE_IMAGE(attention_decode);

enum {
    APART = 6400, /* bytes between keys and values, so that their distance is no power of two */
    SMALL_TURN = 16 * ATTENTION_WARPS, /* keys of a block in one turn, for bf16 with d = 128 */
};

const char *const decode_number_names[] = {"bf16", "e4m3", "int8", NULL};

static cudaKernel_t kernel_of(struct probe_run *r, const char *name, size_t args)
{
    char whole[80];
    snprintf(whole, sizeof whole, "attention_decode_%s", name);
    return gpu_kernel(r, &image_attention_decode, whole, args);
}

struct decode_kernels decode_kernels_of(struct probe_run *r)
{
    const size_t attention = sizeof(struct attention_decode_args), rope = sizeof(struct rope_args);
    struct decode_kernels k = {.rope = kernel_of(r, "rope", rope),
                               .store = kernel_of(r, "store", rope),
                               .merge = kernel_of(r, "merge", attention),
                               .naive = kernel_of(r, "naive", attention),
                               .attend_d64 = kernel_of(r, "bf16_d64", attention)};
    for (int i = 0; i < N_DECODE_NUMBERS; i++) {
        char name[48];
        k.attend[0][i] = kernel_of(r, decode_number_names[i], attention);
        snprintf(name, sizeof name, "%s_paged", decode_number_names[i]);
        k.attend[1][i] = kernel_of(r, name, attention);
        snprintf(name, sizeof name, "append_%s", decode_number_names[i]);
        k.append[i] = kernel_of(r, name, rope);
        snprintf(name, sizeof name, "rope_append_%s", decode_number_names[i]);
        k.rope_append[i] = kernel_of(r, name, rope);
        if (i == DECODE_BF16)
            continue;
        snprintf(name, sizeof name, "append_%s_unclamped", decode_number_names[i]);
        k.append_unclamped[i] = kernel_of(r, name, rope);
        snprintf(name, sizeof name, "dequantise_%s", decode_number_names[i]);
        k.dequantise[i] = kernel_of(r, name, sizeof(struct decode_dequantise_args));
    }
    k.read = kernel_of(r, "read", sizeof(struct decode_read_args));
    k.verify = kernel_of(r, "verify", sizeof(struct decode_verify_args));
    k.verify_row = kernel_of(r, "verify_row", sizeof(struct decode_verify_args));
    return k;
}

int decode_number_bytes(const struct decode_shape *s)
{
    return s->number == DECODE_BF16 ? 2 : 1;
}

static size_t page_keys(const struct decode_shape *s)
{
    return s->layout == DECODE_PAGES_64 ? 64 : ATTENTION_TILE;
}

bool decode_is_paged(const struct decode_shape *s)
{
    return s->layout >= DECODE_PAGES_16;
}

size_t decode_room(const struct decode_shape *s)
{
    return ((size_t)s->context + page_keys(s) - 1) / page_keys(s) * page_keys(s);
}

double decode_kv_bytes(const struct decode_shape *s)
{
    return 2.0 * s->batch * s->context * s->kv_heads * s->d * decode_number_bytes(s);
}

/* --- tensors --------------------------------------------------------------------------------- */

/* As many blocks as SMs, but every block has at least one turn of keys. */
static void choose_splits(struct decode_tensors *t, int n_sm)
{
    const struct decode_shape *s = &t->shape;
    const int pairs = s->batch * s->kv_heads,
              turn = SMALL_TURN * 256 / (s->d * decode_number_bytes(s));
    int splits = s->splits ? s->splits : n_sm / pairs, most = (s->context + turn - 1) / turn;

    if (splits > most && !s->splits)
        splits = most;
    if (splits > ATTENTION_SPLITS)
        splits = ATTENTION_SPLITS;
    if (splits < 1)
        splits = 1;
    t->splits = (uint32_t)splits;
    t->exchanges = splits > 1 && splits * pairs <= n_sm;
}

/* cos and sin of the last position. */
static void *turn_of(struct probe_run *r, const struct decode_shape *s)
{
    const size_t bytes = (size_t)s->d / 2 * 2 * sizeof(float);
    float *host = probe_host_alloc(r, bytes);
    void *turn = gpu_alloc(r, bytes, "cosines and sines");
    rope_angles(host, (uint32_t)s->d, (uint32_t)s->context - 1);
    gpu_to_device(r, turn, host, bytes);
    free(host);
    return turn;
}

/* One scale per head, all different. They are powers of two, so dequantising to bf16 is exact. */
static float *scales_of(struct probe_run *r, const struct decode_shape *s)
{
    float host[2 * DECODE_KV_HEADS], *scales;
    if (s->number == DECODE_BF16)
        return NULL;
    scales = gpu_alloc(r, 2 * (size_t)s->kv_heads * sizeof *scales, "scales");
    for (int i = 0; i < 2 * s->kv_heads; i++)
        host[i] = s->number == DECODE_E4M3 ? ldexpf(1, -6 - i % 2) : ldexpf(1, -4 - i % 2);
    gpu_to_device(r, scales, host, 2 * (size_t)s->kv_heads * sizeof *scales);
    return scales;
}

/* All pages in random order. */
static uint32_t *pages_of(struct probe_run *r, const struct decode_shape *s, uint64_t seed)
{
    const size_t n = (size_t)s->batch * decode_room(s) / page_keys(s);
    uint32_t *host, *pages;
    if (!decode_is_paged(s))
        return NULL;
    host = probe_host_alloc(r, n * sizeof *host);
    pages = gpu_alloc(r, n * sizeof *pages, "a page table");
    for (size_t i = 0; i < n; i++) {
        const size_t j = draw_below(&seed, i + 1);
        host[i] = host[j];
        host[j] = (uint32_t)i;
    }
    gpu_to_device(r, pages, host, n * sizeof *pages);
    free(host);
    return pages;
}

struct kv_cache decode_cache(const struct decode_tensors *t, size_t set)
{
    const struct decode_shape *s = &t->shape;
    const size_t row = (size_t)(s->d * decode_number_bytes(s)), kv_heads = (size_t)s->kv_heads;
    char *k = pool_at(&t->cache, set);
    struct kv_cache c = {.k = k,
                         .v = k + t->v_at,
                         .pages = t->pages,
                         .sequence_stride = decode_room(s) * kv_heads * row,
                         .page_shift = 31,
                         .head_stride = decode_room(s) * row,
                         .row_stride = (uint32_t)row,
                         .kv_heads = (uint32_t)kv_heads,
                         .k_scale = t->scales,
                         .v_scale = t->scales ? t->scales + kv_heads : NULL};
    if (s->layout == DECODE_BY_TOKEN) {
        c.head_stride = row;
        c.row_stride = (uint32_t)(kv_heads * row);
    } else if (decode_is_paged(s)) {
        c.sequence_stride = 0;
        c.head_stride = page_keys(s) * row;
        c.page_stride = kv_heads * c.head_stride;
        c.page_shift = page_keys(s) == 64 ? 6 : 4;
        c.pages_of_sequence = (uint32_t)(decode_room(s) / page_keys(s));
    }
    return c;
}

void decode_launch_rope(struct probe_run *r, const struct decode_tensors *t, cudaKernel_t kernel,
                        const struct rope_args *a, int rows)
{
    const unsigned threads = a->batch * (unsigned)rows * (unsigned)(t->shape.d / ROPE_EACH);
    gpu_launch(r, kernel, (threads + ROPE_THREADS - 1) / ROPE_THREADS, ROPE_THREADS, 0, a);
}

/* Fills an 8-bit cache with N(0,1), by the kernel that appends: each key as a sequence of its
 * own. */
static void fill_8bit(struct probe_run *r, struct decode_tensors *t, uint64_t seed)
{
    const struct decode_shape *s = &t->shape;
    const size_t rows = (size_t)s->batch * decode_room(s), n = rows * (size_t)(s->kv_heads * s->d);
    void *k = gpu_alloc(r, 2 * n, "keys"), *v = gpu_alloc(r, 2 * n, "values");

    gpu_fill_normal(r, k, GPU_BF16, n, seed);
    gpu_fill_normal(r, v, GPU_BF16, n, seed + 1);
    for (size_t set = 0; set < t->cache.sets; set++) {
        struct rope_args a = {
            .cache = decode_cache(t, set), .k = k, .v = v, .batch = (uint32_t)rows};
        a.cache.pages = NULL;
        a.cache.page_shift = 31;
        a.cache.head_stride = (uint64_t)s->d; /* any order will do: all are alike but for scales */
        a.cache.sequence_stride = (uint64_t)(s->d * s->kv_heads);
        decode_launch_rope(r, t, t->kernels->append[s->number], &a, 2 * s->kv_heads);
    }
    gpu_release(r, k);
    gpu_release(r, v);
}

struct decode_tensors decode_tensors_of(struct probe_run *r, const struct decode_kernels *kernels,
                                        struct decode_shape shape, bool wide, uint64_t seed)
{
    struct decode_tensors t = {.kernels = kernels, .shape = shape};
    const struct decode_shape *s = &t.shape;
    const size_t kv = (size_t)(s->batch * s->kv_heads), rows = (size_t)(s->batch * s->heads);
    const size_t d = (size_t)s->d;
    const size_t sets = operation_sets(r, s->set_bytes > 0 ? s->set_bytes : decode_kv_bytes(s));

    choose_splits(&t, gpu_facts(r)->n_sm);
    const size_t parts = kv * t.splits * ATTENTION_HEADS;
    t.k_bytes =
        (size_t)s->batch * decode_room(s) * (size_t)(s->kv_heads * s->d * decode_number_bytes(s));
    t.v_at = t.k_bytes + APART;
    t.cache = pool_new(r, t.v_at + t.k_bytes, sets, "a cache");
    if (wide)
        t.wide = pool_new(r, 2 * (t.v_at + t.k_bytes), sets, "a dequantised cache");
    t.q = gpu_alloc(r, 2 * rows * d, "queries");
    t.q_turned = gpu_alloc(r, 2 * rows * d, "turned queries");
    t.out = pool_new(r, 2 * rows * d, sets, "outputs");
    t.k_new = gpu_alloc(r, 2 * kv * d, "new keys");
    t.v_new = gpu_alloc(r, 2 * kv * d, "new values");
    t.k_turned = gpu_alloc(r, 2 * kv * d, "turned keys");
    t.cast = gpu_alloc(r, 4 * kv * d, "cast rows");
    t.turn = turn_of(r, s);
    t.scales = scales_of(r, s);
    t.pages = pages_of(r, s, seed);
    t.ticket = gpu_alloc(r, kv * sizeof *t.ticket, "tickets");
    t.parts = gpu_alloc(r, parts * d / 2 * 16, "parts that blocks exchange");
    t.aborted = gpu_alloc(r, sizeof *t.aborted, "a word");
    t.partial = gpu_alloc(r, parts * d * sizeof *t.partial, "partial outputs");
    t.summary = gpu_alloc(r, parts * 2 * sizeof *t.summary, "partial sums");
    t.scores = gpu_alloc(r, rows * (size_t)s->context * sizeof *t.scores, "scores");
    t.wrong_rows = gpu_alloc(r, sizeof *t.wrong_rows, "a count");
    CUDA(cudaMemsetAsync(t.ticket, 0, kv * sizeof *t.ticket, gpu_stream(r)));
    CUDA(cudaMemsetAsync(t.parts, 0xff, parts * d / 2 * 16, gpu_stream(r)));
    CUDA(cudaMemsetAsync(t.aborted, 0, sizeof *t.aborted, gpu_stream(r)));
    gpu_fill_normal(r, t.q, GPU_BF16, rows * d, seed + 2);
    gpu_fill_normal(r, t.k_new, GPU_BF16, kv * d, seed + 3);
    gpu_fill_normal(r, t.v_new, GPU_BF16, kv * d, seed + 4);
    if (s->number == DECODE_BF16)
        gpu_fill_normal(r, t.cache.memory, GPU_BF16, sets * t.cache.stride / 2, seed);
    else
        fill_8bit(r, &t, seed);
    return t;
}

void decode_tensors_free(struct probe_run *r, struct decode_tensors *t)
{
    void *const all[] = {t->q,       t->q_turned, t->k_new,  t->v_new,     t->k_turned,
                         t->cast,    t->turn,     t->ticket, t->parts,     t->aborted,
                         t->partial, t->summary,  t->scores, t->wrong_rows};
    pool_free(r, &t->cache);
    pool_free(r, &t->out);
    if (t->wide.memory)
        pool_free(r, &t->wide);
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        gpu_release(r, all[i]);
    if (t->scales)
        gpu_release(r, t->scales);
    if (t->pages)
        gpu_release(r, t->pages);
}
