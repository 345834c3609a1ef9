// faults: thread lane grid rounding named full empty length generation beyond
//
// A fused decode kernel on the CPU, built for small sizes and with sizes as arguments: keys that
// are padded, parts without keys, rows that do not divide, several items. Compared with float64.
// What the fixed ones are not built for must be seen to be wrong.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/fixed_sizes/fixed_sizes.cu"

enum { SMALL_CONTEXT = 128, SMALL_SPLITS = 2, SMALL_KV = 1, SMALL_HIDDEN = 40, BLOCKS = 2 };
FIXED_SIZES_KERNEL(small, sizes_fixed<SMALL_CONTEXT, SMALL_SPLITS, SMALL_KV, SMALL_HIDDEN>)
FIXED_SIZES_KERNEL(small_capped, sizes_capped<SMALL_CONTEXT, SMALL_SPLITS, SMALL_KV, SMALL_HIDDEN>)

enum { MOST_SHARED = 96 << 10 };
thread_local uint4 fixed_memory[MOST_SHARED / 16];

static const char *normal_16(size_t n)
{
    uint16_t *memory = (uint16_t *)shim_alloc(2 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = shim_to_bf16((float)shim_normal());
    return (const char *)memory;
}
static const float *normal_32(size_t n)
{
    float *memory = (float *)shim_alloc(4 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = (float)shim_normal();
    return memory;
}

static fixed_sizes_args made(uint32_t capacity, uint32_t kv_heads, uint32_t hidden, uint32_t splits,
                             uint32_t items)
{
    const size_t columns = (size_t)kv_heads * ROW, sets = 2;
    const size_t most = splits > SMALL_SPLITS ? splits : SMALL_SPLITS;
    fixed_sizes_args a = {};
    a.cache_stride = 4 * (uint64_t)kv_heads * capacity * FIXED_DIM;
    a.weight_stride = 2 * hidden * columns;
    a.cache = normal_16(sets * a.cache_stride / 2),
    a.weights = normal_16(sets * a.weight_stride / 2);
    a.q = (const uint16_t *)normal_16(items * columns), a.residual = normal_32((size_t)items * hidden);
    a.states = (float *)shim_alloc(4 * FIXED_GENERATIONS * kv_heads * most * FIXED_GROUP * STATE);
    a.x = (uint32_t *)shim_alloc(2 * FIXED_GENERATIONS * columns);
    a.y = (float *)shim_alloc(4 * (size_t)items * hidden);
    a.barrier = (struct grid_barrier_state *)shim_alloc(sizeof *a.barrier);
    memset(a.barrier, 0, sizeof *a.barrier);
    a.q_scale = (float)(1.4426950408889634 / sqrt((double)FIXED_DIM));
    a.capacity = capacity, a.kv_heads = kv_heads, a.hidden = hidden, a.splits = splits;
    a.sets = sets, a.items = items, a.budget_ns = 1u << 31, a.stages = 3;
    return a;
}

static double bf16_at(const char *memory, uint64_t at)
{
    return half_bf16(((const uint16_t *)memory)[at]);
}

// How many of an item's results are wrong; what they are off by is added.
static size_t wrong_of(const fixed_sizes_args &a, uint32_t item, double *error, double *all)
{
    const size_t columns = (size_t)a.kv_heads * ROW;
    const char *keys = a.cache + item % a.sets * a.cache_stride;
    const char *values = keys + a.cache_stride / 2,
               *w = a.weights + item % a.sets * a.weight_stride;
    double *x = (double *)shim_alloc(8 * columns), *p = (double *)shim_alloc(8 * a.context);
    size_t wrong = 0;
    for (size_t head = 0; head < columns / FIXED_DIM; head++) {
        const uint64_t first = head / FIXED_GROUP * a.capacity * FIXED_DIM;
        const uint16_t *q = a.q + item * columns + head * FIXED_DIM;
        double most = -1e300, sum = 0;
        for (uint32_t i = 0; i < a.context; i++) {
            p[i] = 0;
            for (uint32_t d = 0; d < FIXED_DIM; d++)
                p[i] += half_bf16(q[d]) * bf16_at(keys, first + i * FIXED_DIM + d) * a.q_scale;
            most = fmax(most, p[i]);
        }
        for (uint32_t i = 0; i < a.context; i++)
            sum += p[i] = exp2(p[i] - most);
        for (uint32_t d = 0; d < FIXED_DIM; d++) {
            double row = 0;
            for (uint32_t i = 0; i < a.context; i++)
                row += p[i] * bf16_at(values, first + i * FIXED_DIM + d);
            x[head * FIXED_DIM + d] = row / sum;
        }
    }
    for (size_t i = 0; i < a.hidden; i++) {
        double sum = 0, squared = 0;
        for (size_t j = 0; j < columns; j++) {
            const double product = bf16_at(w, i * columns + j) * x[j];
            sum += product;
            squared += product * product;
        }
        const size_t at = (size_t)item * a.hidden + i;
        const double off = a.y[at] - a.residual[at] - a.scale * sum;
        wrong += !(fabs(off) <= a.scale * 6 * 0x1p-9 * sqrt(squared) + 0x1p-18);
        *error += off * off;
        *all += a.scale * sum * a.scale * sum;
    }
    return wrong;
}

static void poison(const fixed_sizes_args &a)
{
    const size_t columns = (size_t)a.kv_heads * ROW;
    memset(a.x, 0xff, 2 * FIXED_GENERATIONS * columns);
    memset(a.y, 0xff, 4 * (size_t)a.items * a.hidden);
}

static void run_one(void (*kernel)(fixed_sizes_args), fixed_sizes_args a, bool is_right,
                    const char *what)
{
    const uint32_t states = 4 * DECODER_WARPS * FIXED_GROUP * STATE, x = 2 * a.kv_heads * ROW;
    const uint32_t shared = place_of(a.stages).x + (x > states ? x : states), due = a.context;
    double error = 0, all = 0;
    size_t wrong = 0;
    assert(shared <= MOST_SHARED);
    a.scale = (float)sqrt((a.context < 3 ? 1 : a.context / 2.7) / (a.kv_heads * ROW));
    poison(a);
    if (shim_fault("length"))
        a.context += a.context < a.capacity ? 1 : -1; // a key too many, or too few
    if (shim_fault("generation"))
        a.barrier->aborted = 1;
    shim_launch_together(kernel, a, BLOCKS, THREADS, shared);
    a.context = due;
    for (uint32_t item = 0; item < a.items; item++)
        wrong += wrong_of(a, item, &error, &all);
    if (shim_fault("beyond"))
        is_right = true;
    shim_check((wrong == 0) == is_right, "%s at %u keys: %zu of %u results are not as in double",
               what, a.context, wrong, a.items * a.hidden);
    // 0.41 x 2^-8 by rounding the attention's result to the nearest, 0.82 by cutting it off.
    shim_check(!is_right || a.items * a.hidden < 100 || sqrt(error / all) < 0.6 * 0x1p-8,
               "%s at %u keys: it is rounded: %g", what, a.context, sqrt(error / all) * 0x1p8);
    shim_check(a.barrier->aborted == 0, "%s: no block gave up", what);
}

static void shim_test(void)
{
    fixed_sizes_args a = made(SMALL_CONTEXT, SMALL_KV, SMALL_HIDDEN, 3, 3);
    const uint32_t contexts[] = {SMALL_CONTEXT, 77, 1};
    for (uint32_t context : contexts) {
        a.context = context;
        run_one(fixed_sizes_small, a, true, "fixed");
        run_one(fixed_sizes_small_capped, a, true, "capped");
        run_one(fixed_sizes_given, a, true, "given");
    }
    a = made(SMALL_CONTEXT + 32, SMALL_KV, SMALL_HIDDEN, 3, 1);
    a.context = SMALL_CONTEXT + 32; // more than they are built for
    run_one(fixed_sizes_small, a, false, "fixed");
    run_one(fixed_sizes_small_capped, a, false, "capped");
    run_one(fixed_sizes_given, a, true, "given");
    a = made(7, 2, 8, 5, 1); // parts without keys, more of them than blocks; blocks without rows
    a.context = 5;
    run_one(fixed_sizes_given, a, true, "given");
}
