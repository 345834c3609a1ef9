// faults: thread lane rounding full empty named append key epoch merge near
//
// Layers of a decoder on the CPU: the kernels that stay, by plain words behind a barrier of the grid and
// by words with epochs, with a ring, from memory, and from a copy that lies near, and the six steps as
// kernels; on shapes that do not divide, on few blocks and many. Compared with float64 step by step, and with each other bit by bit.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/decoder_layer/decoder_layer.cu"
#include "fused/decoder_layer/fill.cu"
#include "fused/decoder_layer/kernels.cu"
#include "fused/common/decoder_reference.c"

enum { MOST_SHARED = 108 << 10 };
thread_local uint4 decoder_memory[MOST_SHARED / 16];

struct problem {
    struct decoder_shape shape;
    uint32_t batch, context, splits, blocks, layers, sets, stages;
};

static const uint32_t CAPACITY_MORE = 5; // rows of the cache beyond the context, NaN

static uint16_t narrowed(double x)
{
    return (uint16_t)(bf16::narrow(make_float2((float)x, 0)) & 0xffff);
}
static void fill(uint16_t *to, uint64_t count, double scale, double around)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] = narrowed(around + scale * shim_normal());
}

/* --- memory ------------------------------------------------------------------------------------- */

static struct decoder_args made(const struct problem &p)
{
    struct decoder_args a = {};
    const struct decoder_shape &s = p.shape;
    const uint64_t layer = decoder_layer_bytes(&s);
    a.shape = s;
    a.layers = p.layers, a.sets = p.sets, a.steps = 1, a.batch = p.batch;
    a.context = p.context, a.capacity = p.context + CAPACITY_MORE;
    a.splits = p.splits, a.blocks = p.blocks, a.stages = p.stages;
    a.in_flight = 2, a.generations = p.layers, a.epoch = 1, a.budget_ns = 1u << 31, a.epsilon = 1e-5f;
    char *weights = (char *)shim_alloc(p.sets * layer);
    for (uint32_t set = 0; set < p.sets; set++) {
        for (int m = 0; m < DECODER_MATRICES; m++) {
            const enum decoder_matrix matrix = (enum decoder_matrix)m;
            fill((uint16_t *)(weights + set * layer + decoder_place(&s, m)),
                 decoder_matrix_bytes(&s, matrix) / 2, 1 / sqrt(decoder_columns(&s, matrix)), 0);
        }
        for (int which = 0; which < 2; which++)
            fill((uint16_t *)(weights + set * layer + decoder_norm_place(&s, which)), s.hidden, 0.1,
                 1);
    }
    a.weights = weights;
    const uint64_t half = decoder_cache_half(&s, p.batch, a.capacity);
    char *cache = (char *)shim_alloc(p.sets * 2 * half);
    for (uint32_t i = 0; i < 2 * p.sets; i++)
        for (uint32_t row = 0; row < p.batch * s.kv_heads * a.capacity; row++)
            if (row % a.capacity + 1 < p.context)
                fill((uint16_t *)(cache + i * half) + (uint64_t)row * s.head_dim, s.head_dim, 1, 0);
    a.cache = cache;
    float *rope = (float *)shim_alloc(4 * s.head_dim);
    for (uint32_t i = 0; i < s.head_dim / 2; i++) {
        const double angle = (p.context - 1) * pow(500000, -2.0 * i / s.head_dim);
        rope[2 * i] = (float)cos(angle);
        rope[2 * i + 1] = (float)sin(angle);
    }
    a.rope = rope;
    float *input = (float *)shim_alloc(4 * p.batch * s.hidden);
    for (uint32_t i = 0; i < p.batch * s.hidden; i++)
        input[i] = p.context == 2 ? (float)(3e-3 * shim_normal()) : (float)shim_normal(); // beside epsilon
    a.input = input;
    a.output = (float *)shim_alloc(4 * p.batch * s.hidden);
    const struct decoder_mail mail = decoder_mail_of(&s, p.batch, p.splits, p.blocks);
    a.mail = shim_alloc(8ull * a.generations * mail.words);
    memset(a.mail, 0, 8ull * a.generations * mail.words);
    a.barrier = (struct grid_barrier_state *)shim_alloc(sizeof *a.barrier);
    memset(a.barrier, 0, sizeof *a.barrier);
    return a;
}

// A head and an embedding, for whole steps.
static void with_head(struct decoder_args &a, const struct problem &p, uint32_t steps)
{
    const uint64_t count = (uint64_t)p.shape.vocabulary * p.shape.hidden;
    uint16_t *embedding = (uint16_t *)shim_alloc(2 * count), *head = (uint16_t *)shim_alloc(2 * count);
    uint16_t *norm = (uint16_t *)shim_alloc(2 * p.shape.hidden);
    fill(embedding, count, 1, 0);
    fill(head, count, 1 / sqrt(p.shape.hidden), 0);
    fill(norm, p.shape.hidden, 0.1, 1);
    a.embedding = embedding, a.head = head, a.head_norm = norm;
    a.logits = (float *)shim_alloc(4ull * p.batch * p.shape.vocabulary);
    a.tokens = (uint32_t *)shim_alloc(4 * (steps + 1) * p.batch);
    for (uint32_t b = 0; b < p.batch; b++)
        a.tokens[b] = (7 * b + 3) % p.shape.vocabulary;
    a.steps = steps;
}

// A copy of the weights, two thirds of whose SMs are on side 1. Which piece is home where, is as the
// address says with these bits; they need not be a GPU's.
static void near(struct decoder_args &a, const struct problem &p)
{
    const uint64_t layer = decoder_near_layer_bytes(&p.shape), bytes = p.sets * layer;
    const uint64_t all = bytes + (a.head ? decoder_near_bytes(&p.shape, DECODER_HEAD) : 0);
    char *room = (char *)shim_alloc(all + SIDES_BOTH);
    char *weights = (char *)(((uintptr_t)room + SIDES_BOTH - 1) / SIDES_BOTH * SIDES_BOTH);
    const uint64_t pages = (all >> SIDES_PAGE_BITS) + 2;
    uint32_t *bits = (uint32_t *)shim_alloc(4 * (pages / 32 + 1));
    uint32_t *sms = (uint32_t *)shim_alloc(4 * p.blocks);
    struct sides_map map = {bits, sms, (uint64_t)weights >> SIDES_PAGE_BITS, 0x55, {0, 0}, 0};
    for (uint64_t i = 0; i <= pages / 32; i++)
        bits[i] = 0x5a3c96e1;
    for (uint32_t sm = 0; sm < p.blocks; sm++) {
        const uint32_t side = sm % 3 > 0;
        sms[sm] = 2 * map.count[side]++ + side;
    }
    a.near = {weights, weights + bytes, layer, map};
    memset(room, 0xff, all + SIDES_BOTH);
    for (uint32_t set = 0; set <= p.sets; set++)
        for (int m = set < p.sets ? 0 : DECODER_HEAD;
             m < DECODER_MATRICES || (m == DECODER_HEAD && set == p.sets && a.head); m++) {
            const struct decoder_move_args move = {
                m == DECODER_HEAD ? (const char *)a.head
                                  : (const char *)a.weights + set * decoder_layer_bytes(&p.shape) +
                                        decoder_place(&p.shape, m),
                weights + set * layer + (m == DECODER_HEAD ? 0 : decoder_near_place(&p.shape, m)),
                p.shape, (uint32_t)m, 0, map};
            shim_launch(decoder_move_near, move, 3, FILL_THREADS, 0);
        }
    if (shim_fault("near")) // an SM takes the other side's pieces for its own
        sms[0] ^= 1;
}

static void forget(struct decoder_args &a, const struct problem &p)
{
    memset(a.output, 0xff, 4 * p.batch * p.shape.hidden);
    if (a.logits)
        memset(a.logits, 0xff, 4ull * p.batch * p.shape.vocabulary);
}

/* --- the packagings ----------------------------------------------------------------------------- */

template <typename KERNEL>
static void stays(KERNEL kernel, const struct decoder_args &a, const struct problem &p,
                  uint32_t threads, uint32_t stages)
{
    struct decoder_args own = a;
    own.stages = stages;
    const uint32_t shared = decoder_shared_of(&p.shape, p.batch, stages, 1).bytes;
    assert(shared <= MOST_SHARED);
    shim.most_loads = 0;
    shim_launch_together(kernel, own, p.blocks, threads, shared);
    shim_check(a.barrier->aborted == 0, "no block gave up");
    shim_check(shim.most_loads <= a.in_flight, "%u tiles in flight, and %u at most", shim.most_loads,
               a.in_flight);
}

// The six steps of each layer, and the head, as kernels; B = 1.
static void by_kernels(const struct decoder_args &a, const struct problem &p)
{
    struct decoder_args k = a;
    const uint32_t n = p.blocks, units = p.batch * p.shape.kv_heads * p.splits;
    const uint32_t shared = decoder_shared_of(&p.shape, p.batch, p.stages, 0).bytes;
    assert(shared <= MOST_SHARED);
    k.stages = p.stages;
    k.steps = 0;
    shim_launch(decoder_embed, k, p.batch, DECODER_THREADS, 0);
    for (uint32_t step = 0; step < a.steps; step++) {
        for (k.layer = 0; k.layer < a.layers; k.layer++) {
            shim_launch(decoder_qkv_b1, k, n, PRODUCT_THREADS, shared);
            shim_launch(p.shape.head_dim == 64 ? decoder_attention_64_4 : decoder_attention_128_8, k,
                        units, DECODER_THREADS, 0);
            if (p.splits > 1)
                shim_launch(decoder_merge, k, n, DECODER_THREADS, 0);
            shim_launch(decoder_o_b1, k, n, PRODUCT_THREADS, shared);
            shim_launch(decoder_gate_up_b1_dependent, k, n, PRODUCT_THREADS, shared);
            shim_launch(decoder_down_b1, k, n, PRODUCT_THREADS, shared);
        }
        k.steps = step;
        if (a.head) {
            shim_launch(decoder_head_b1, k, n, PRODUCT_THREADS, shared);
            shim_launch(decoder_choose, k, 1, DECODER_THREADS, 0);
        }
    }
}

/* --- against float64 ------------------------------------------------------------------------------ */

static struct reference_layer layer_of(const struct decoder_args &a, const struct problem &p,
                                       uint32_t layer)
{
    const uint64_t half = decoder_cache_half(&p.shape, p.batch, a.capacity);
    return {&p.shape, p.batch, p.context, a.capacity,
            (const char *)a.weights + layer % p.sets * decoder_layer_bytes(&p.shape),
            (const char *)a.cache + layer % p.sets * 2 * half, (const float *)a.rope, a.epsilon,
            ROUNDS_BEFORE};
}

static struct reference_values values_of(const struct problem &p)
{
    const struct decoder_shape &s = p.shape;
    return {(double *)shim_alloc(8 * p.batch * (s.heads + 2 * s.kv_heads) * s.head_dim),
            (double *)shim_alloc(8 * p.batch * s.heads * s.head_dim),
            (double *)shim_alloc(8 * p.batch * s.hidden), (double *)shim_alloc(8 * p.batch * s.ffn),
            (double *)shim_alloc(8 * p.batch * s.hidden)};
}

static double distance(const float *values, const double *reference, uint32_t n)
{
    double *wide = (double *)shim_alloc(8 * n);
    for (uint32_t i = 0; i < n; i++)
        wide[i] = values[i];
    return reference_distance(wide, reference, n);
}

// The residual behind all layers, in float64 with the kernels' roundings.
static double *expected(const struct decoder_args &a, const struct problem &p)
{
    const uint32_t n = p.batch * p.shape.hidden;
    const struct reference_values values = values_of(p);
    double *residual = (double *)shim_alloc(8 * n);
    for (uint32_t i = 0; i < n; i++)
        residual[i] = ((const float *)a.input)[i];
    for (uint32_t l = 0; l < p.layers; l++) {
        const struct reference_layer layer = layer_of(a, p, l);
        reference_whole_layer(&layer, residual, &values);
    }
    return residual;
}

// What the words of a layer's attention say, against float64 from the same words of q, k and v.
static void check_attention(const struct decoder_args &a, const struct problem &p, uint32_t layer,
                            const char *which)
{
    const struct decoder_shape &s = p.shape;
    const struct decoder_mail mail = decoder_mail_of(&s, p.batch, p.splits, p.blocks);
    const uint32_t *words = (const uint32_t *)a.mail + 2 * (uint64_t)layer * mail.words;
    const struct reference_values v = values_of(p);
    const uint32_t qkv = p.batch * (s.heads + 2 * s.kv_heads) * s.head_dim / 2;
    const uint32_t n = p.batch * s.heads * s.head_dim;
    double *found = (double *)shim_alloc(8 * n);
    const struct reference_layer l = layer_of(a, p, layer);

    reference_widen(words + 2 * mail.qkv, 2, qkv, s.head_dim / 2, v.qkv);
    reference_attention(&l, v.qkv, v.attention);
    reference_widen(words + 2 * mail.attention, 2, n / 2, 0, found);
    const double error = reference_distance(found, v.attention, n);
    shim_check(error <= 2e-3, "%s: attention of layer %u: error %.2g", which, layer, error);
}

// The new key and value of every head stand in the cache, as the mail of the last layer of the set has
// them; what lies behind them is NaN still.
static void check_cache(const struct decoder_args &a, const struct problem &p)
{
    const struct decoder_shape &s = p.shape;
    const uint64_t half = decoder_cache_half(&s, p.batch, a.capacity);
    const struct decoder_mail mail = decoder_mail_of(&s, p.batch, p.splits, p.blocks);
    int missing = 0, other = 0, beyond = 0;
    for (uint32_t i = 0; i < 2 * p.sets; i++) {
        const uint32_t layer = i / 2 + (p.layers - 1 - i / 2) / p.sets * p.sets;
        const uint32_t *words = (const uint32_t *)a.mail + 2 * ((uint64_t)layer * mail.words + mail.qkv);
        for (uint32_t row = 0; row < p.batch * s.kv_heads * a.capacity; row++) {
            const uint16_t *at = (const uint16_t *)((const char *)a.cache + i * half) +
                                 (uint64_t)row * s.head_dim;
            const uint32_t place = row % a.capacity, of = row / a.capacity;
            const uint32_t head = s.heads + i % 2 * s.kv_heads + of % s.kv_heads;
            const uint32_t from = (of / s.kv_heads * (s.heads + 2 * s.kv_heads) + head) * s.head_dim / 2;
            for (uint32_t d = 0; d < s.head_dim; d++) {
                const uint32_t word = words[2 * (from + d % (s.head_dim / 2))];
                missing += place + 1 == p.context && at[d] == 0xffff;
                other += place + 1 == p.context && at[d] != (uint16_t)(word >> 16 * (2 * d / s.head_dim));
                beyond += place >= p.context && at[d] != 0xffff;
            }
        }
    }
    shim_check(missing == 0 && other == 0 && beyond == 0,
               "the cache: %d missing, %d not as handed over, %d beyond the context", missing, other,
               beyond);
}

static void check_output(const struct decoder_args &a, const struct problem &p,
                         const double *reference, const float *first, const char *which)
{
    const uint32_t n = p.batch * p.shape.hidden;
    const double error = distance(a.output, reference, n);
    shim_check(error <= 2e-3, "%s: hidden %u, context %u, %u blocks: error %.2g", which,
               p.shape.hidden, p.context, p.blocks, error);
    if (first != a.output)
        shim_check(memcmp(first, a.output, 4 * n) == 0, "%s: the same bits as from memory", which);
}

// Something in the inputs that float64 does not know of, so that the comparison must fail.
static void plant(struct decoder_args &a, const struct problem &p)
{
    const uint64_t half = decoder_cache_half(&p.shape, p.batch, a.capacity);
    if (shim_fault("key")) // one old value
        ((uint16_t *)((char *)a.cache + half))[0] ^= 0x4000;
    if (shim_fault("merge")) // one split too few
        a.splits = p.splits > 2 ? p.splits - 1 : p.splits;
    if (shim_fault("append")) // a key at another position than the angles are for
        a.context--;
}

static void test_chain(const struct problem &p)
{
    struct decoder_args a = made(p);
    const uint32_t n = p.batch * p.shape.hidden;
    const double *reference = expected(a, p);
    const bool is_64 = p.shape.head_dim == 64;
    float *first = (float *)shim_alloc(4 * n);

    plant(a, p);
    if (p.batch == 1) {
        stays(is_64 ? decoder_barrier_64_4 : decoder_barrier_128_8, a, p, DECODER_THREADS, 0);
        memcpy(first, a.output, 4 * n);
        check_output(a, p, reference, a.output, "barrier");
        forget(a, p);
        stays(is_64 ? decoder_ring_64_4 : decoder_ring_128_8, a, p, DECODER_THREADS + 32, 3);
        check_output(a, p, reference, first, "ring");
        forget(a, p);
        by_kernels(a, p);
        check_output(a, p, reference, first, "kernels");
        forget(a, p);
    }
    memset(a.mail, 0, 8ull * a.generations *
                          decoder_mail_of(&p.shape, p.batch, p.splits, p.blocks).words);
    if (shim_fault("epoch")) // words of a launch before, which this one takes for its own
        for (uint64_t i = 0; i < a.generations * (uint64_t)decoder_mail_of(&p.shape, p.batch,
                                                                          p.splits, p.blocks).words;
             i++)
            ((uint32_t *)a.mail)[2 * i + 1] = 1;
    stays(p.batch == 2 ? decoder_values_64_4_b2
          : is_64      ? decoder_values_64_4_watched
                       : decoder_values_128_8,
          a, p, DECODER_THREADS + 32, p.stages);
    check_output(a, p, reference, p.batch == 1 ? first : a.output, "values");
    for (uint32_t layer = 0; layer < p.layers; layer++)
        check_attention(a, p, layer, "values");
    check_cache(a, p);
    if (p.batch > 1 || p.blocks < 3)
        return;
    forget(a, p);
    near(a, p);
    a.epoch += p.layers;
    stays(is_64 ? decoder_near_64_4 : decoder_near_128_8, a, p, DECODER_THREADS + 32, p.stages);
    check_output(a, p, reference, first, "near");
}

// Whole steps: each feeds its token; the logits of the last one.
static void test_steps(const struct problem &p, uint32_t steps)
{
    struct decoder_args a = made(p);
    with_head(a, p, steps);
    const uint64_t n = (uint64_t)p.batch * p.shape.vocabulary;
    float *logits = (float *)shim_alloc(4 * n);
    uint32_t *tokens = (uint32_t *)shim_alloc(4 * (steps + 1));
    double *residual = (double *)shim_alloc(8 * p.shape.hidden), *right = (double *)shim_alloc(8 * n);
    const struct reference_values values = values_of(p);

    plant(a, p);
    stays(decoder_values_64_4, a, p, DECODER_THREADS + 32, p.stages);
    memcpy(logits, a.logits, 4 * n);
    memcpy(tokens, a.tokens, 4 * (steps + 1));
    forget(a, p);
    a.epoch += steps * p.layers;
    by_kernels(a, p);
    shim_check(memcmp(logits, a.logits, 4 * n) == 0, "kernels and values have the same logits");
    for (uint32_t i = 0; i <= steps; i++)
        shim_check(tokens[i] == a.tokens[i], "token %u: %u and %u", i, tokens[i], a.tokens[i]);
    forget(a, p);
    stays(decoder_barrier_64_4, a, p, DECODER_THREADS, 0); // reads the head without a ring: not beyond it
    shim_check(memcmp(logits, a.logits, 4 * n) == 0, "barrier and values have the same logits");
    forget(a, p);
    near(a, p);
    a.epoch += steps * p.layers;
    stays(decoder_near_64_4, a, p, DECODER_THREADS + 32, p.stages);
    shim_check(memcmp(logits, a.logits, 4 * n) == 0, "near and values have the same logits");
    for (uint32_t i = 0; i < p.shape.hidden; i++)
        residual[i] = reference_bf16(
            ((const uint16_t *)a.embedding)[(uint64_t)tokens[steps - 1] * p.shape.hidden + i]);
    for (uint32_t l = 0; l < p.layers; l++) {
        const struct reference_layer layer = layer_of(a, p, l);
        reference_whole_layer(&layer, residual, &values);
    }
    const struct reference_layer last = layer_of(a, p, 0);
    reference_head(&last, a.head, a.head_norm, residual, right);
    shim_check(distance(logits, right, (uint32_t)n) <= 4e-3, "the logits as in float64");
    shim_check(logits[tokens[steps]] >= logits[reference_choice(right, p.shape.vocabulary)],
               "the token of the greatest logit");
}

// Two sequences of their own, each as it is alone; rows that are equal, of which the lower one is the
// token; and logits that are NaN, which choose none. Nothing is read beyond the embedding.
static void test_choice(void)
{
    const struct problem p = {{64, 2, 1, 64, 32, 300}, 2, 4, 1, 4, 1, 1, 3};
    const uint32_t vocabulary = p.shape.vocabulary, hidden = p.shape.hidden;
    struct decoder_args a = made(p);
    with_head(a, p, 1);
    uint16_t *head = (uint16_t *)a.head;
    float *logits = (float *)shim_alloc(4 * 2 * vocabulary);

    stays(decoder_values_64_4_b2, a, p, DECODER_THREADS + 32, p.stages);
    memcpy(logits, a.logits, 4 * 2 * vocabulary);
    for (uint32_t b = 0; b < 2; b++) {
        uint32_t best = 0;
        for (uint32_t row = 1; row < vocabulary; row++)
            best = logits[b * vocabulary + row] > logits[b * vocabulary + best] ? row : best;
        shim_check(a.tokens[2 + b] == best, "sequence %u: token %u, and %u is the best", b, a.tokens[2 + b],
                   best);
    }
    shim_check(a.tokens[2] != a.tokens[3], "the two sequences choose other tokens");
    double *residual = (double *)shim_alloc(8 * 2 * hidden), *right = (double *)shim_alloc(8 * 2 * vocabulary);
    for (uint32_t i = 0; i < 2 * hidden; i++)
        residual[i] = reference_bf16(
            ((const uint16_t *)a.embedding)[(uint64_t)a.tokens[i / hidden] * hidden + i % hidden]);
    const struct reference_values values = values_of(p);
    const struct reference_layer layer = layer_of(a, p, 0);
    reference_whole_layer(&layer, residual, &values);
    reference_head(&layer, a.head, a.head_norm, residual, right);
    shim_check(distance(logits, right, 2 * vocabulary) <= 4e-3, "two sequences' logits as in float64");

    // The best row of the first sequence everywhere, but for some rows: of another block, warp and lane.
    const uint32_t best = a.tokens[2];
    for (uint32_t row = 5; row < vocabulary; row++)
        memcpy(head + row * hidden, head + best * hidden, 2 * hidden);
    forget(a, p);
    a.epoch += 1;
    stays(decoder_values_64_4_b2, a, p, DECODER_THREADS + 32, p.stages);
    shim_check(a.tokens[2] == (best < 5 ? best : 5), "of equal rows %u is chosen", a.tokens[2]);

    // A token's embedding that is NaN makes all logits NaN. The token that none is asks for a row that is.
    struct problem alone = p;
    alone.batch = 1;
    struct decoder_args n = made(alone);
    with_head(n, alone, 2);
    memset((uint16_t *)n.embedding + n.tokens[0] * hidden, 0xff, 2 * hidden);
    stays(decoder_values_64_4, n, alone, DECODER_THREADS + 32, p.stages);
    shim_check(n.tokens[1] == ~0u || n.tokens[1] < vocabulary, "token %u of NaN", n.tokens[1]);
}

static void test_whole_steps(void)
{
    const struct problem p = {{64, 2, 1, 64, 96, 77}, 1, 21, 3, 4, 1, 1, 3};
    test_steps(p, 2);
}

// A pass takes some of the shapes: all of them in each order of threads would take a minute.
static void shim_test(void)
{
    if (shim.order != 1)
        test_chain({{64, 2, 1, 64, 96, 50}, 1, 70, 3, 5, 2, 1, 3});
    if (shim.order == 0)
        test_whole_steps();
    if (shim.order != 2)
        test_choice();
    if (shim.order == 1)
        test_chain({{72, 8, 1, 128, 48, 50}, 1, 2, 1, 3, 2, 2, 3});
    if (shim.order == 1)
        test_chain({{64, 4, 2, 64, 64, 50}, 2, 19, 2, 8, 2, 1, 3});
    if (shim.order == 2)
        test_chain({{40, 3, 1, 64, 2064, 50}, 1, 90, 4, 5, 1, 1, 3});
}
