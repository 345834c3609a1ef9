// faults: thread lane named rounding wait parity epoch half
//
// Two layers in one kernel that stays, on the CPU: with a barrier of the grid, by words that are
// polled, two items in turn, a layer on each half of the blocks; shapes that do not divide. Every
// word against float64, and a begin and an end of every task; and the messages about the clock.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/two_layers/two_layers.cu"

enum { MOST_SHARED = 40 << 10 };
thread_local uint4 two_layers_memory[MOST_SHARED / 16];

struct problem {
    uint32_t model, hidden, blocks;
};

static double rounded(float x)
{
    return half_bf16(half_to_bf16(x));
}

static two_layers_args made(const problem &p, uint32_t items)
{
    const uint32_t width = p.model > p.hidden ? p.model : p.hidden;
    const size_t n = (size_t)LAYERS_OPERATIONS * p.model * p.hidden;
    uint16_t *w = (uint16_t *)shim_alloc(2 * n);
    float *input = (float *)shim_alloc(4 * (size_t)items * p.model);
    two_layers_args a = {};
    for (size_t i = 0; i < n; i++)
        w[i] = shim_to_bf16((float)shim_normal());
    for (size_t i = 0; i < (size_t)items * p.model; i++)
        input[i] = (float)shim_normal();
    a.weights = (const char *)w, a.weight_stride = 2ull * p.model * p.hidden, a.input = input;
    a.words = (uint64_t *)shim_alloc(8 * (size_t)items * LAYERS_OPERATIONS * width);
    const size_t tasks = (size_t)p.blocks * items * LAYERS_OPERATIONS * LAYERS_TASKS;
    a.tasks = (struct two_layers_task *)shim_alloc(tasks * sizeof *a.tasks);
    memset(a.tasks, 0, tasks * sizeof *a.tasks);
    a.barrier = (struct grid_barrier_state *)shim_alloc(sizeof *a.barrier);
    memset(a.barrier, 0, sizeof *a.barrier);
    a.model = p.model, a.hidden = p.hidden, a.width = width, a.items = items, a.epoch = 1;
    a.budget_ns = 1u << 31;
    a.up_scale = (float)(2 / sqrt((double)p.model)),
    a.down_scale = (float)(2 / sqrt((double)p.hidden));
    return a;
}

// As two_layers_verify has it.
static size_t wrong_of(const two_layers_args &a, uint32_t item, uint32_t operation)
{
    const uint32_t columns = operation % 2 ? a.hidden : a.model,
                   rows = operation % 2 ? a.model : a.hidden;
    const uint16_t *w = (const uint16_t *)(a.weights + operation * a.weight_stride);
    const uint64_t *words = a.words + ((size_t)item * LAYERS_OPERATIONS + operation) * a.width;
    size_t wrong = 0;
    for (uint32_t i = 0; i < rows; i++) {
        double sum = 0, absolute = 0;
        for (uint32_t j = 0; j < columns; j++) {
            const float x = operation ? __uint_as_float((uint32_t)(words - a.width)[j])
                                      : a.input[(size_t)item * a.model + j];
            const double product = half_bf16(w[(size_t)i * columns + j]) * rounded(x);
            sum += product;
            absolute += fabs(product);
        }
        const double scale = operation % 2 ? a.down_scale : a.up_scale, z = scale * sum;
        const double found = __uint_as_float((uint32_t)words[i]);
        wrong += (uint32_t)(words[i] >> 32) != a.epoch ||
                 !(fabs(found - z / (1 + fabs(z))) <=
                   8 * sqrt((double)columns) * 0x1p-24 * scale * absolute + 0x1p-21);
    }
    return wrong;
}

// Every task of the blocks that have rows, and no other, was stamped.
static size_t unstamped(const two_layers_args &a, uint32_t blocks)
{
    size_t bad = 0;
    for (uint32_t block = 0; block < blocks; block++)
        for (uint32_t n = 0; n < a.items * LAYERS_OPERATIONS; n++) {
            const uint32_t operation = n % LAYERS_OPERATIONS, of = a.by_layer ? blocks / 2 : blocks;
            const uint32_t columns = operation % 2 ? a.hidden : a.model;
            const uint32_t rows = operation % 2 ? a.model : a.hidden;
            const bool has_part = !a.by_layer || operation / 2 == block % 2;
            const uint32_t count =
                decoder_share_of(rows, of, a.by_layer ? block / 2 : block, 0).count;
            const uint32_t due = !has_part || count == 0
                                     ? 0
                                     : decoder_chunks(columns) + (count > DECODER_BLOCK_ROWS);
            const two_layers_task *task =
                a.tasks + ((size_t)block * a.items * LAYERS_OPERATIONS + n) * LAYERS_TASKS;
            for (uint32_t i = 0; i < LAYERS_TASKS; i++)
                bad += (task[i].begun_ns != 0) != (i < due) ||
                       (task[i].ended_ns != 0) != (i < due) || task[i].ended_ns < task[i].begun_ns;
        }
    return bad;
}

// Does a task of an operation begin before all tasks of the operations before it have ended?
static bool is_early(const two_layers_args &a, uint32_t blocks)
{
    uint64_t ended[LAYERS_OPERATIONS] = {0};
    const uint32_t n = blocks * a.items * LAYERS_OPERATIONS * LAYERS_TASKS;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *of = &ended[i / LAYERS_TASKS % LAYERS_OPERATIONS];
        *of = a.tasks[i].ended_ns > *of ? a.tasks[i].ended_ns : *of;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t operation = i / LAYERS_TASKS % LAYERS_OPERATIONS;
        if (operation > 0 && a.tasks[i].begun_ns && a.tasks[i].begun_ns < ended[operation - 1])
            return true;
    }
    return false;
}

static void check_way(const problem &p, const char *what, uint32_t items, bool by_items,
                      bool by_layer, bool has_barrier)
{
    two_layers_args a = made(p, items);
    const uint32_t shared = 2 * SUMS * 4 + 2 * a.width;
    size_t wrong = 0;
    assert(shared <= MOST_SHARED);
    a.by_items = by_items, a.by_layer = by_layer;
    a.is_blind = shim_fault("wait");
    if (shim_fault("parity"))
        a.by_layer = by_layer ? 0 : 1;
    shim_launch_together(has_barrier ? two_layers_barrier : two_layers_values, a, p.blocks,
                         DECODER_THREADS, shared);
    a.by_layer = by_layer;
    if (shim_fault("epoch"))
        a.epoch++;
    for (uint32_t n = 0; n < items * LAYERS_OPERATIONS; n++)
        wrong += wrong_of(a, n / LAYERS_OPERATIONS, n % LAYERS_OPERATIONS);
    if (shim_fault("half")) // of the last task
        a.tasks[(LAYERS_OPERATIONS - 1) * LAYERS_TASKS].ended_ns = 0;
    const size_t bad = unstamped(a, p.blocks);
    const bool early = is_early(a, p.blocks);
    shim_check(!has_barrier || !early, "%s: an operation begins before the last has ended", what);
    shim_check(wrong == 0, "%s: %zu words are not as in double", what, wrong);
    shim_check(bad == 0, "%s: %zu tasks are not stamped as they must", what, bad);
    shim_check(a.barrier->aborted == 0, "%s: no block gave up", what);
}

static void check_clock(uint32_t blocks)
{
    two_layers_clock_args a = {};
    a.found = (struct two_layers_clock *)shim_alloc(blocks * sizeof *a.found);
    a.question = (uint64_t *)shim_alloc(128 * blocks),
    a.answer = (uint64_t *)shim_alloc(128 * blocks);
    a.barrier = (struct grid_barrier_state *)shim_alloc(sizeof *a.barrier);
    memset(a.question, 0, 128 * blocks), memset(a.answer, 0, 128 * blocks);
    memset(a.barrier, 0, sizeof *a.barrier);
    a.budget_ns = 1u << 31;
    shim_launch_together(two_layers_clock, a, blocks, 32, 0);
    for (uint32_t i = 0; i < blocks; i++) {
        shim_check(a.found[i].step_ns > 0 && a.found[i].step_ns < 1u << 31 &&
                       a.found[i].backwards == 0,
                   "block %u sees the clock go on", i);
        shim_check(i == 0 || (a.found[i].outside == 0 && a.found[i].low_ns <= 0 &&
                              a.found[i].high_ns >= 0 && a.found[i].high_ns < 1ll << 40),
                   "one clock: block %u is between %lld and %lld", i, (long long)a.found[i].low_ns,
                   (long long)a.found[i].high_ns);
    }
    shim_check(a.barrier->aborted == 0, "every question is answered");
}

static void shim_test(void)
{
    const problem few = {40, 72, 2}, wide = {8, 136, 2}; // more than 32 rows of a block
    check_way(few, "turns", 2, false, false, false);
    check_way(few, "halves", 2, true, true, false);
    check_way(wide, "barrier", 1, false, false, true);
    const problem least = {8, 8, 10};
    check_way(least, "turns", 2, false, false, false); // blocks without a row
    check_way(least, "halves", 4, true, true, false);
    check_clock(3);
}
