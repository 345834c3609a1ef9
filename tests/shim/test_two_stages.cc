// faults: thread lane rounding named full empty wait chain slot epoch seat room
//
// Two stages on two halves of the SMs, on the CPU: the queue, both stages on all blocks in turn and with a
// lag, weights from memory and in shared memory, and a kernel for each stage; streams and chains of items;
// shapes that do not divide, on few blocks and many. Compared with float64 item by item, and with each
// other bit by bit.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/two_stages/two_stages.cu"

enum { MOST_SHARED = 200 << 10 };
thread_local uint4 two_stages_memory[MOST_SHARED / 16];

struct problem {
    uint32_t model, hidden, blocks, items, sets;
};

static uint16_t narrowed(double x)
{
    return (uint16_t)(bf16::narrow(make_float2((float)x, 0)) & 0xffff);
}

static const char *normal_matrix(const struct problem &p)
{
    const uint64_t n = (uint64_t)p.sets * p.model * p.hidden;
    uint16_t *w = (uint16_t *)shim_alloc(2 * n);
    for (uint64_t i = 0; i < n; i++)
        w[i] = narrowed(shim_normal());
    return (const char *)w;
}

static uint64_t h_bytes(const struct problem &p)
{
    return 4ull * STAGES_SLOTS * p.hidden + 2ull * p.items * p.hidden;
}

static struct two_stages_args made(const struct problem &p)
{
    struct two_stages_args a = {};
    a.shape.hidden = p.model, a.shape.ffn = p.hidden, a.shape.heads = a.shape.kv_heads = 1;
    a.up = normal_matrix(p), a.down = normal_matrix(p);
    a.up_stride = a.down_stride = 2ull * p.model * p.hidden;
    float *x = (float *)shim_alloc(4ull * p.items * p.model);
    for (uint32_t i = 0; i < p.items * p.model; i++)
        x[i] = (float)shim_normal();
    a.x = x;
    a.h = shim_alloc(h_bytes(p));
    a.back = shim_alloc(8ull * p.model);
    a.y = (float *)shim_alloc(4ull * p.items * p.model);
    a.counters = (uint32_t *)shim_alloc(4 * STAGES_COUNTERS * STAGES_COUNTER);
    a.state = (struct grid_barrier_state *)shim_alloc(sizeof *a.state);
    memset(a.state, 0, sizeof *a.state);
    a.up_scale = (float)(2 / sqrt(p.model)), a.down_scale = (float)(2 / sqrt(p.hidden));
    a.sets = p.sets, a.items = p.items, a.epoch = 1, a.budget_ns = 1u << 31;
    return a;
}

/* --- float64 ------------------------------------------------------------------------------------ */

static double weight(const char *w, uint64_t at) { return half_bf16(((const uint16_t *)w)[at]); }

// What one item differs from double, squared and summed, is added to `error`, and y to `all`.
static void check_item(const struct two_stages_args &a, uint32_t item, double *error, double *all)
{
    const uint64_t model = a.shape.hidden, hidden = a.shape.ffn, set = item % a.sets * model * hidden;
    const float *x = a.is_chain && item > 0 ? a.y + (item - 1) * model : a.x + item * model;
    double *h = (double *)shim_alloc(sizeof *h * hidden);
    uint32_t wrong = 0;
    for (uint64_t j = 0; j < hidden; j++) {
        double z = 0;
        for (uint64_t k = 0; k < model; k++)
            z += weight(a.up, set + j * model + k) * half_bf16(narrowed(x[k]));
        z *= 2 / sqrt(model);
        h[j] = z / (1 + fabs(z));
    }
    for (uint64_t i = 0; i < model; i++) {
        double sum = 0, squared = 0;
        for (uint64_t j = 0; j < hidden; j++) {
            const double product = weight(a.down, set + i * hidden + j) * h[j];
            sum += product;
            squared += product * product;
        }
        const double scale = 2 / sqrt(hidden);
        const double off = a.y[item * model + i] - scale * sum;
        *error += off * off;
        *all += scale * sum * scale * sum;
        // Up to 2^-8 of each element of h, independent: at least five standard deviations.
        wrong += !(fabs(off) <= scale * 6 * 0x1p-9 * sqrt(squared) + 0x1p-18);
    }
    shim_check(wrong == 0, "item %u, %u of %u as in double", item,
               (uint32_t)(model - wrong), (uint32_t)model);
}

/* --- the packagings ----------------------------------------------------------------------------- */

static void stays(struct two_stages_args a, uint32_t blocks, bool in_shared, const char *what)
{
    const uint32_t most = a.shape.hidden > a.shape.ffn ? a.shape.hidden : a.shape.ffn;
    const uint32_t rows = in_shared ? 4 * (a.shape.hidden * a.shape.ffn + 2 * most * blocks) / blocks * 2 : 0;
    a.stages = in_shared ? 0 : 3;
    const uint32_t beside = place_of(a).bytes + 16, shared = beside + rows;
    assert(shared <= MOST_SHARED);
    a.slots = STAGES_SLOTS;
    a.shared = shim_fault("room") ? beside : shared;
    if (shim_fault("wait"))
        a.blind |= BLIND_SECOND;
    if (shim_fault("chain"))
        a.blind |= BLIND_CHAIN;
    if (shim_fault("slot"))
        a.blind |= BLIND_SLOT;
    if (shim_fault("seat") && a.first_sms)
        a.first_sms = blocks; // nobody does the second stage
    memset(a.counters, 0, 4 * STAGES_COUNTERS * STAGES_COUNTER);
    shim_launch_together(in_shared ? two_stages_shared : two_stages_stay, a, blocks,
                         in_shared ? DECODER_THREADS : THREADS, shared);
    shim_check(a.state->aborted == 0, "%s: no block gave up", what);
}

static void by_kernels(struct two_stages_args a, uint32_t blocks)
{
    a.stages = 4;
    const uint32_t shared = place_of(a).bytes;
    a.slots = a.items;
    for (a.item = 0; a.item < a.items; a.item++) {
        shim_launch(two_stages_up, a, blocks, THREADS, shared);
        shim_launch(a.item % 2 ? two_stages_down : two_stages_down_dependent, a, blocks, THREADS,
                    shared);
    }
}

static void compare(const struct two_stages_args &a, const float *expected, const char *what)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < a.items * a.shape.hidden; i++)
        differ += memcmp(&a.y[i], &expected[i], sizeof *expected) != 0;
    shim_check(differ == 0, "%s: %u results differ from a kernel for each stage", what, differ);
}

static void check_problem(const struct problem &p, bool is_chain)
{
    struct two_stages_args a = made(p);
    const uint64_t bytes = 4ull * p.items * p.model;
    float *expected = (float *)shim_alloc(bytes);
    a.is_chain = is_chain;
    by_kernels(a, p.blocks);
    double error = 0, all = 0;
    for (uint32_t item = 0; item < p.items; item++)
        check_item(a, item, &error, &all);
    // 0.41 x 2^-8 by rounding h to the nearest, 0.82 by cutting it off.
    shim_check(p.items * p.model < 300 || sqrt(error / all) < 0.6 * 0x1p-8,
               "h is rounded to the nearest: %g", sqrt(error / all) * 0x1p8);
    memcpy(expected, a.y, bytes);
    memset(a.h, 0xff, h_bytes(p)); // words of kernels have no epochs
    for (uint32_t way = 0; way < 6; way++) {
        static const char *const names[] = {"stay", "turns", "queue"};
        struct two_stages_args own = a;
        const bool in_shared = way >= 3;
        own.first_sms = way % 3 == 2 ? (p.blocks + 1) / 2 : 0;
        own.lag = way % 3 == 1;
        if ((own.lag && is_chain) || (in_shared && p.sets > 1))
            continue;
        memset(a.y, 0xff, bytes);
        stays(own, p.blocks, in_shared, names[way % 3]);
        compare(own, expected, names[way % 3]);
        if (!shim_fault("epoch"))
            a.epoch += p.items;
    }
}

// Where shared memory has no room for the rows, the launch says so and ends.
static void check_room(void)
{
    const struct problem p = {24, 40, 2, 2, 1};
    struct two_stages_args a = made(p);
    const uint32_t shared = place_of(a).bytes + 16;
    a.slots = STAGES_SLOTS;
    a.shared = shared + 5 * 2 * p.model; // of 20 rows and 12
    memset(a.counters, 0, 4 * STAGES_COUNTERS * STAGES_COUNTER);
    const uint64_t began = shim.clock;
    shim_launch_together(two_stages_shared, a, p.blocks, DECODER_THREADS, shared + 40 * 2 * p.hidden);
    shim_check(a.state->aborted != 0 && shim.clock - began < 1 << 28,
               "a block without room for its rows gives up, before its time is spent");
}

static void shim_test(void)
{
    check_room();
    const struct problem problems[] = {
        {64, 40, 3, 5, 2},   // fewer rows than threads, blocks that do not divide, sets in turn
        {24, 40, 2, 5, 1},   // from shared memory, too
        {8, 16, 5, 2, 1},
        {8, 16, 12, 5, 1},   // more blocks than a stage has rows: some have none
        {8, 1032, 2, 1, 1},  // a row of a chunk and a short one, and more than one round of rows
    };
    for (const struct problem &p : problems)
        for (int is_chain = 0; is_chain < (p.items > 1 ? 2 : 1); is_chain++)
            check_problem(p, is_chain);
}
