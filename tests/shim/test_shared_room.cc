// faults: thread lane barrier rounding wait stage part
//
// A fused kernel and its parts, by plain loads, by copies that run ahead and through the cache,
// each kernel of fused/shared_room/shared_room.cu on the CPU against double: rows of less than a
// tile and of several, blocks without all their rows, unused shared memory behind what is used.
#include "tests/shim/shim.h"

#include "core/device/async.cuh"
#include "core/half.c"

// Waits for nothing, or for a tile too few.
template <int pending> static void planted_wait(void)
{
    if (shim_fault("stage"))
        cp_async_wait<pending + 1>();
    else if (!shim_fault("wait"))
        cp_async_wait<pending>();
}
#define cp_async_wait planted_wait
#include "fused/shared_room/shared_room.cu"

enum { MOST_SHARED = 256 << 10, UNUSED = 4 << 10 };
thread_local uint4 room_memory[MOST_SHARED / 16];

static const uint16_t *normal(size_t n)
{
    uint16_t *memory = (uint16_t *)shim_alloc(2 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = shim_to_bf16((float)shim_normal());
    return memory;
}

static shared_room_args made(uint32_t rows, uint32_t columns, uint32_t blocks)
{
    const size_t n = (size_t)rows * columns;
    shared_room_args a = {};
    a.x = normal(n), a.residual = normal(n);
    a.h = (float *)shim_alloc(4 * (size_t)(rows > blocks ? rows : blocks) * columns);
    a.y = shim_alloc(2 * n);
    a.rows = rows, a.columns = columns, a.looks = 1, a.epsilon = 1e-5f;
    a.inverse = a.inverse_looks = 1 / (float)columns;
    return a;
}

// As shared_room_verify has it.
static void check(const shared_room_args &a, const char *what)
{
    const uint16_t *x = (const uint16_t *)a.x, *residual = (const uint16_t *)a.residual;
    const uint16_t *y = (const uint16_t *)a.y;
    size_t wrong = 0;
    for (size_t row = 0; row < a.rows; row++) {
        const size_t first = row * a.columns;
        double sum = 0, square = 0;
        for (size_t i = first; i < first + a.columns; i++)
            sum += half_bf16(x[i]) + half_bf16(residual[i]);
        const double mean = sum / a.columns;
        for (size_t i = first; i < first + a.columns; i++)
            square += pow(half_bf16(x[i]) + half_bf16(residual[i]) - mean, 2);
        const double scale = 1 / sqrt(square / a.columns + 1e-5);
        for (size_t i = first; i < first + a.columns; i++) {
            const double due = (half_bf16(x[i]) + half_bf16(residual[i]) - mean) * scale;
            wrong += !(fabs(half_bf16(y[i]) - due) <= fabs(due) * 0x1.08p-8 + 1e-5);
        }
    }
    shim_check(wrong == 0, "%s, %u x %u: %zu results are not as in double", what, a.rows, a.columns,
               wrong);
    memset(a.y, 0xff, 2 * (size_t)a.rows * a.columns);
}

static void check_shape(uint32_t rows, uint32_t columns)
{
    enum { BLOCKS = 3 };
    const size_t row = 4 * columns, ring = ROOM_STAGES * 2 * ROOM_THREADS * 16;
    const uint32_t in_rows = (rows + ROOM_ROWS - 1) / ROOM_ROWS;
    shared_room_args a = made(rows, columns, BLOCKS);
    assert(ring + row + UNUSED <= MOST_SHARED);

    shim_launch(room_plain, a, rows, ROOM_THREADS, row);
    check(a, "plain");
    shim_launch(room_plain, a, rows, ROOM_THREADS, row + UNUSED);
    check(a, "plain, with unused shared memory");
    shim_launch(room_pipe, a, in_rows, ROOM_THREADS, ring + row);
    check(a, "pipe");
    shim_launch(room_sum, a, rows, ROOM_THREADS, 0);
    if (shim_fault("part"))
        a.h[columns / 2] += 0.25f;
    shim_launch(room_norm_plain, a, rows, ROOM_THREADS, row);
    check(a, "sum and norm");
    shim_launch(room_norm_pipe, a, in_rows, ROOM_THREADS, ring + row + UNUSED);
    check(a, "sum and norm by copies");
    for (a.looks = 1; a.looks < 18; a.looks += 16) {
        a.inverse_looks = 1 / ((float)columns * (float)a.looks);
        shim_launch(room_cached, a, BLOCKS, ROOM_THREADS, 0);
        check(a, "cached");
    }
}

static void shim_test(void)
{
    check_shape(3, 8);    // most threads have nothing; a block has three rows
    check_shape(9, 264);  // and one of the third block
    check_shape(5, 2056); // a tile and a short one
    check_shape(4, 6144); // tiles that are full
    check_shape(1, 8 * 1009);
    check_shape(1, 58096); // the longest row that an H200's shared memory holds
}
