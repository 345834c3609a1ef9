// faults: thread lane barrier rounding aside part
//
// The kernels of fused/harm on the CPU against double, at the least sizes that --set takes and at
// odd ones: softmax across streams of one vector and of many, tiles fewer than blocks, rows shorter
// than a block, more parts of a row than it has vectors.
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/harm/harm.cu"
#include "fused/harm/spills.cu"

thread_local float tile[HARM_TILE];

static float *normal_32(size_t n)
{
    float *memory = (float *)shim_alloc(4 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = (float)shim_normal();
    return memory;
}
static uint16_t *normal_16(size_t n)
{
    uint16_t *memory = (uint16_t *)shim_alloc(2 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = shim_to_fp16((float)shim_normal());
    return memory;
}

static void expect(double found, double due, double bound, size_t *wrong)
{
    *wrong += !(fabs(found - due) <= bound * fabs(due) + 1e-30);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void check_streams(const harm_args &a, const char *what)
{
    const float *in = (const float *)a.in, *out = (const float *)a.out;
    size_t wrong = 0;
    for (size_t i = 0; i < a.columns; i++) {
        double sum = 0;
        for (size_t s = 0; s < a.rows; s++)
            sum += exp((double)in[s * a.stride + i]);
        for (size_t s = 0; s < a.rows; s++)
            expect(out[s * a.stride + i], exp((double)in[s * a.stride + i]) / sum, 0x1p-19, &wrong);
    }
    shim_check(wrong == 0, "%s, %u streams of %u: %zu are not as in double", what, a.rows,
               a.columns, wrong);
    memset(a.out, 0xff, 4 * (a.rows - 1) * a.stride + 4 * a.columns);
}

// Streams lie one behind the other, so that a thread beyond the columns would be seen.
static void try_streams(uint32_t streams, uint32_t columns)
{
    harm_args a = {};
    const size_t n = (size_t)streams * columns;
    const unsigned wide = (columns / 4 + HARM_STREAM_THREADS - 1) / HARM_STREAM_THREADS;
    const unsigned narrow = (columns + HARM_STREAM_THREADS - 1) / HARM_STREAM_THREADS;
    a.in = normal_32(n), a.out = shim_alloc(4 * n), a.aside = shim_alloc(8 * columns);
    a.rows = streams, a.columns = columns, a.stride = columns;
    const struct {
        uint32_t streams;
        void (*kernel)(harm_args);
        unsigned grid;
    } ways[] = {{4, harm_streams_4, wide},   {4, harm_streams_4_cap_32, wide},
                {32, harm_streams_32, wide}, {32, harm_streams_32_cap_32, wide},
                {96, harm_streams_96, wide}, {96, harm_streams_96_narrow, narrow}};
    for (const auto &way : ways)
        if (way.streams == streams) {
            shim_launch(way.kernel, a, way.grid, HARM_STREAM_THREADS, 0);
            check_streams(a, "fused");
        }
    shim_launch(harm_streams_sums, a, wide, HARM_STREAM_THREADS, 0);
    if (shim_fault("aside"))
        ((float *)a.aside)[columns - 1] += 0.5f;
    shim_launch(harm_streams_apply, a, dim3(wide, streams / 4), HARM_STREAM_THREADS, 0);
    check_streams(a, "unfused");
}

/* --- phases, and fewer warps ------------------------------------------------------------------ */

static void check_phases(const harm_args &a, const char *what)
{
    const float *in = (const float *)a.in, *out = (const float *)a.out;
    const float *in2 = (const float *)a.in2, *out2 = (const float *)a.out2;
    size_t wrong = 0;
    for (size_t i = 0; i < (size_t)a.rows * HARM_TILE; i++)
        wrong += out[i] != in[i / HARM_TILE * HARM_TILE + HARM_TILE - 1 - i % HARM_TILE];
    for (size_t i = 0; i < 4 * (size_t)a.columns; i++)
        expect(out2[i], 2 * (double)in2[i] + 1, 0x1p-20, &wrong);
    shim_check(wrong == 0, "%s, %u tiles and %u vectors: %zu are not right", what, a.rows, a.columns,
               wrong);
    memset(a.out, 0xff, 4 * (size_t)a.rows * HARM_TILE);
    memset(a.out2, 0xff, 16 * (size_t)a.columns);
}

static void try_phases(uint32_t tiles, uint32_t vectors, unsigned blocks)
{
    harm_args a = {};
    a.in = normal_32((size_t)tiles * HARM_TILE), a.out = shim_alloc(4 * (size_t)tiles * HARM_TILE);
    a.in2 = normal_32(4 * (size_t)vectors), a.out2 = shim_alloc(16 * (size_t)vectors);
    a.stride = HARM_TILE, a.rows = tiles, a.columns = vectors;
    shim_launch(harm_phases_reverse, a, tiles, HARM_PHASE_THREADS, 4 * HARM_TILE);
    shim_launch(harm_phases_scale, a, vectors / HARM_PHASE_THREADS + 1, HARM_PHASE_THREADS, 0);
    check_phases(a, "unfused");
    shim_launch(harm_phases_one, a, blocks, HARM_PHASE_THREADS, 4 * HARM_TILE);
    check_phases(a, "one");
    shim_launch(harm_phases_deep, a, blocks, HARM_PHASE_THREADS, 4 * HARM_TILE);
    check_phases(a, "deep");
}

static void try_compute(uint32_t vectors)
{
    harm_args a = {};
    const float *in = normal_32(4 * (size_t)vectors);
    float *out = (float *)shim_alloc(16 * (size_t)vectors);
    size_t wrong = 0;
    a.in2 = in, a.out2 = out, a.columns = vectors;
    shim_launch(harm_compute, a, vectors / HARM_PHASE_THREADS + 1, HARM_PHASE_THREADS, 0);
    for (size_t i = 0; i < 4 * (size_t)vectors; i++) {
        double due = in[i];
        for (int k = 0; k < HARM_TRIALS; k++)
            due = 0.9f * due + 0.1f;
        expect(out[i], due, 0x1p-19, &wrong);
    }
    shim_check(wrong == 0, "compute, %u vectors: %zu are not as in double", vectors, wrong);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void check_rows(const harm_args &a, bool is_softmax, const char *what)
{
    const uint16_t *in = (const uint16_t *)a.in, *out = (const uint16_t *)a.out;
    size_t wrong = 0;
    for (size_t row = 0; row < a.rows; row++) {
        const uint16_t *x = in + row * a.stride, *y = out + row * a.stride;
        double sum = 0;
        for (size_t i = 0; i < a.columns; i++)
            sum += is_softmax ? exp(half_fp16(x[i])) : half_fp16(x[i]) * half_fp16(x[i]);
        const double by = is_softmax ? 1 / sum : 1 / sqrt(sum / a.columns);
        for (size_t i = 0; i < a.columns; i++) {
            const double due = (is_softmax ? exp(half_fp16(x[i])) : half_fp16(x[i])) * by;
            wrong += !(fabs(half_fp16(y[i]) - due) <= 0x1.08p-11 * fabs(due) + 0x1p-25);
        }
    }
    shim_check(wrong == 0, "%s, %u x %u: %zu are not as in double", what, a.rows, a.columns, wrong);
    memset(a.out, 0xff, 2 * (size_t)a.rows * a.stride);
}

static harm_args rows_of(uint32_t rows, uint32_t columns)
{
    harm_args a = {};
    const size_t n = (size_t)rows * columns;
    a.in = normal_16(n), a.out = shim_alloc(2 * n);
    a.rows = rows, a.columns = columns, a.stride = columns;
    return a;
}

static void try_serial(uint32_t rows, uint32_t columns, uint32_t parts)
{
    harm_args a = rows_of(rows, columns);
    a.aside = shim_alloc(4 * (size_t)rows * parts), a.parts = parts;
    shim_launch(harm_serial_row, a, rows, HARM_ROW_THREADS, 0);
    check_rows(a, false, "serial in one kernel");
    shim_launch(harm_serial_sums, a, dim3(parts, rows), HARM_ROW_THREADS, 0);
    if (shim_fault("part"))
        ((float *)a.aside)[rows * parts - 1] *= 1.01f;
    shim_launch(harm_serial_scale, a, dim3(parts, rows), HARM_ROW_THREADS, 0);
    check_rows(a, false, "serial in two");
}

static void try_wide(uint32_t rows)
{
    const harm_args a = rows_of(rows, HARM_ROW_COLUMNS);
    shim_launch(harm_wide_held, a, rows, HARM_ROW_THREADS, 0);
    check_rows(a, true, "wide, held");
    shim_launch(harm_wide_twice, a, rows, HARM_ROW_THREADS, 0);
    check_rows(a, true, "wide, twice");
}

static void shim_test(void)
{
    const uint32_t streams[] = {4, 32, 96};
    for (uint32_t n : streams) {
        try_streams(n, 4);   // one vector
        try_streams(n, 516); // a block and a vector of the next
    }
    try_phases(1, 1, 3); // blocks without a tile, threads without a vector
    try_phases(3, 5003, 2);
    try_compute(1);
    try_compute(257);
    try_serial(1, 8, 1);
    try_serial(3, 8 * 7, 1);
    try_serial(2, 8 * 1031, 5); // parts that do not divide
    try_wide(1);
}
