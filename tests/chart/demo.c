/* demo: prints a page with each kind of figure on invented data, to be looked at in a browser and
 * read by tests/contract/chart.py. `demo NAME` prints that figure alone, as a file of its own. */
#include "report/chart/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Tables leave out what they do not need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void levels(FILE *out, enum chart_width width, bool standalone)
{
    static const struct level {
        const char *name, *size, *time, *brief, *rate;
        double ns, loaded, tbs;
        bool inside, rule;
    } levels[] = {
        {"registers", "256 KiB an SM", "2.02 ns = 4 cycles", "2.02 = 4 cy", "265", 2.02, NAN, 265,
         true, false},
        {"shared memory", "228 KiB an SM", "11.6 ns = 23 cycles", "11.6 = 23 cy", "33.4", 11.6, NAN,
         33.4, true, false},
        {"L1", "221 KiB an SM", "16.2 ns = 32 cycles", "16.2 = 32 cy", "33.2", 16.2, NAN, 33.2,
         true, false},
        {"another SM's shared", "cluster of 2 to 16", "97.0 ns", "97.0", "4.10", 97, NAN, 4.1,
         false, true},
        {"L2, near side", "27.5 MiB", "143 ns, loaded 208", "143 (208)", "9.21", 143, 208, 9.21,
         false, true},
        {"L2, far side", "59.0 MiB in all", "231 ns", "231", NULL, 231, NAN, NAN, false, false},
        {"HBM", "140 GiB", "334 ns, loaded 611", "334 (611)", "4.63", 334, 611, 4.63, false, true},
        {"host memory", NULL, "1145 ns", "1145", "0.0556", 1145, NAN, 0.0556, false, true},
    };
    struct chart_dot dots[LENGTH(levels)][3];
    struct chart_row rows[LENGTH(levels)];
    for (size_t i = 0; i < LENGTH(levels); i++) {
        const struct level *is = &levels[i];
        const enum chart_role role = is->inside ? CHART_COMPUTE : CHART_MEMORY;
        dots[i][0] =
            (struct chart_dot){is->ns, role, CHART_DOT, is->time, "memory_latency.load_time"};
        dots[i][1] = (struct chart_dot){is->loaded, role, CHART_CIRCLE, is->time,
                                        "bandwidth.loaded_latency"};
        dots[i][2] = (struct chart_dot){is->tbs, role, CHART_SQUARE, is->rate, "bandwidth.rate"};
        rows[i] = (struct chart_row){.label = is->name,
                                     .aside = is->size,
                                     .strong = true,
                                     .rule = is->rule,
                                     .on = {{dots[i], 2, is->time, is->brief, .joined = true},
                                            {dots[i] + 2, 1, is->rate, NULL}}};
    }
    const struct chart_rows chart = {
        .title = "A load takes 16 ns from L1, 143 from the L2, 334 from HBM",
        .height = 360,
        .axes = {{"one dependent load, ns", CHART_LOG10}, {"read rate, TB/s", CHART_LOG10}},
        .n_axes = 2,
        .aside = "size",
        .rows = rows,
        .n_rows = LENGTH(rows)};
    chart_rows(out, &chart, width, standalone);
}

static void curve(FILE *out, enum chart_width width, bool standalone)
{
    static char titles[80][64];
    struct chart_point points[80];
    size_t n = 0;
    for (double bytes = 4096; bytes <= 2147483648.0 && n < 80; bytes *= 1.19, n++) {
        const double mb = bytes / 1048576;
        double cycles = mb < 0.216  ? 32
                        : mb < 0.5  ? 32 + 251 * pow((mb - 0.216) / 0.284, 0.6)
                        : mb < 27.5 ? 283
                        : mb < 59   ? fmin(514, 283 + (mb - 27.5) * 22)
                                    : fmin(661, 514 + (mb - 59) * 30);
        snprintf(titles[n], sizeof titles[n], "%.1f KiB: %.0f cycles", bytes / 1024, cycles);
        points[n] = (struct chart_point){bytes, cycles, .title = titles[n],
                                         .anchor = "memory_latency.curve"};
    }
    static const struct chart_point notes[] = {
        {3e4, 32, .label = "L1 32", .strong = true, .side = CHART_ABOVE},
        {3.5e6, 283, .label = "L2, near side 283", .brief = "L2 near 283", .strong = true,
         .side = CHART_ABOVE},
        {1e9, 661, .label = "HBM 661", .strong = true, .side = CHART_BELOW}};
    const struct chart_series series[] = {
        {points, n, NULL, CHART_MEMORY, CHART_DOT, CHART_SOLID, .radius = 2},
        {notes, LENGTH(notes), NULL, CHART_INK, CHART_NO_MARK, CHART_NO_LINE}};
    static const struct chart_reference references[] = {
        {226304, true, CHART_DOTTED, "L1: 221 KiB", NULL, true},
        {28835840, true, CHART_DOTTED, "one side of the L2: 27.5 MiB", "27.5 MiB", true},
        {61865984, true, CHART_DOTTED, "all of the L2: 59.0 MiB", "59", true}};
    static const struct chart_band band = {28835840, 61865984, true,
                                           "514 is no level: half of\nthe lines hit far, half miss",
                                           "mixture"};
    const struct chart_xy chart = {.title = "Latency steps up at 221 KiB, 27.5 MiB and 59 MiB",
                                   .height = 360,
                                   .x = {"footprint", CHART_LOG2, .format = chart_bytes},
                                   .y = {"cycles of a dependent load", CHART_LINEAR, .zero = true},
                                   .right = {"ns", CHART_LINEAR},
                                   .right_factor = 1 / 1.98,
                                   .series = series,
                                   .n_series = 2,
                                   .references = references,
                                   .n_references = 3,
                                   .bands = &band,
                                   .n_bands = 1};
    chart_xy(out, &chart, width, standalone);
}

static void flight(FILE *out, enum chart_width width, bool standalone)
{
    static const struct chart_point loads[] = {
        {0.5, 0.171, .title = "1 warp x 1 load: 0.171", .label = "1 warp x 1 load",
         .brief = "1 x 1"},
        {2, 0.688, .title = "4 x 1: 0.688", .label = "4 warps x 1", .brief = "4 x 1"},
        {8, 2.46, .title = "16 x 1: 2.46", .label = "16 warps x 1 load", .brief = "16 x 1"},
        {16, 3.1, .title = "4 x 8: 3.10", .label = "4 warps x 8 loads", .brief = "4 x 8"},
        {32, 4.46, .title = "64 x 1: 4.46", .label = "64 x 1"},
        {32, 4.25, .title = "8 x 8: 4.25", .label = "8 x 8"},
        {32, 4.08, .title = "4 x 16: 4.08", .label = "4 x 16"}};
    static const struct chart_point copies[] = {
        {64, 4.55, .title = "1 warp, 64 KiB: 4.55"},
        {128, 4.6, .title = "1 warp, 128 KiB: 4.60",
         .label = "1 warp, 128 KiB in flight\nby bulk copies: 99 % of the best",
         .brief = "1 warp, bulk copies:\n99 % of the best", .strong = true, .side = CHART_BELOW}};
    struct chart_point law[40];
    for (size_t i = 0; i < 40; i++)
        law[i] = (struct chart_point){0.4 * pow(11.4 / 0.4, (double)i / 39),
                                      4.63 * 0.4 * pow(11.4 / 0.4, (double)i / 39) / 11.4};
    law[30].label = "Little's law: bytes in flight / 334 ns";
    law[30].brief = "Little's law";
    law[30].side = CHART_LEFT;
    const struct chart_series series[] = {
        {law, 40, NULL, CHART_INK, CHART_NO_MARK, CHART_DASHED},
        {loads, LENGTH(loads), NULL, CHART_MEMORY, CHART_DOT, CHART_NO_LINE},
        {copies, LENGTH(copies), NULL, CHART_LAUNCH, CHART_DIAMOND, CHART_NO_LINE}};
    static const struct chart_reference references[] = {
        {4.81, false, CHART_DOTTED, "pins 4.81", NULL, false},
        {4.63, false, CHART_DASHED, "sustained 4.63", NULL, false},
        {11.4, true, CHART_DOTTED, "11.4 KiB", NULL, true, true}};
    const struct chart_xy chart = {.title = "Bytes in flight fill the memory, not warps",
                                   .height = 390,
                                   .x = {"KiB in flight on each SM", CHART_LOG2},
                                   .y = {"TB/s read from HBM", .zero = true},
                                   .series = series,
                                   .n_series = LENGTH(series),
                                   .references = references,
                                   .n_references = 3};
    chart_xy(out, &chart, width, standalone);
}

static void ladder(FILE *out, enum chart_width width, bool standalone)
{
    static const struct step {
        const char *name, *text;
        double ns;
        enum chart_role role;
    } steps[] = {{"multiply-add, fp32", "2.02 ns = 4 cycles", 2.02, CHART_COMPUTE},
                 {"load, shared memory", "11.6 ns = 23 cycles", 11.6, CHART_MEMORY},
                 {"tensor product, mma.sync m16n8k16", "12.1 ns = 24 cycles", 12.1, CHART_COMPUTE},
                 {"barrier of a block, 8 warps", "14.2 ns = 28 cycles", 14.2, CHART_SYNCHRONISE},
                 {"load, L2 near", "143 ns", 143, CHART_MEMORY},
                 {"flag from SM to SM through the L2", "246 ns", 246, CHART_SYNCHRONISE},
                 {"load, HBM", "334 ns", 334, CHART_MEMORY},
                 {"one more small kernel in a graph", "495 ns", 495, CHART_LAUNCH},
                 {"barrier of all SMs, two counters", "830 ns", 830, CHART_SYNCHRONISE},
                 {"step of all SMs: stream", "2.04 us", 2040, CHART_LAUNCH},
                 {"submit to done, empty kernel", "8.17 us", 8170, CHART_HOST},
                 {"graph of 1024 kernels", "735 us", 735000, CHART_LAUNCH}};
    static const struct chart_key keys[] = {{"compute", CHART_COMPUTE, CHART_SQUARE},
                                            {"memory", CHART_MEMORY, CHART_DOT},
                                            {"synchronise", CHART_SYNCHRONISE, CHART_DIAMOND},
                                            {"launch", CHART_LAUNCH, CHART_CIRCLE},
                                            {"host", CHART_HOST, CHART_OPEN_SQUARE}};
    struct chart_dot dots[LENGTH(steps)];
    struct chart_row rows[LENGTH(steps)];
    for (size_t i = 0; i < LENGTH(steps); i++) {
        enum chart_mark mark = CHART_DOT;
        for (size_t k = 0; k < LENGTH(keys); k++)
            mark = keys[k].role == steps[i].role ? keys[k].mark : mark;
        dots[i] = (struct chart_dot){steps[i].ns, steps[i].role, mark, steps[i].text, "ladder"};
        rows[i] = (struct chart_row){.label = steps[i].name,
                                     .on = {{&dots[i], 1, steps[i].text, NULL, .strong = true}}};
    }
    const struct chart_rows chart = {
        .title = "From 4 cycles to a millisecond",
        .axes = {{NULL, CHART_LOG10, .low = 1.6, .high = 1e6, .format = chart_ns}},
        .n_axes = 1,
        .keys = keys,
        .n_keys = LENGTH(keys),
        .rows = rows,
        .n_rows = LENGTH(rows)};
    chart_rows(out, &chart, width, standalone);
}

static void blocks(FILE *out, enum chart_width width, bool standalone)
{
    static const struct chart_point ours[] = {
        {32, 12.46, "32 blocks: 12.46"},
        {64, 7.1, "64 blocks: 7.10"},
        {128, 4.82, "128 blocks: 4.82", "b128", "128 blocks: 4.82", NULL, true, CHART_BELOW},
        {256, 5.56, "256 blocks: 5.56", NULL, "256: 5.56", NULL, true, CHART_BELOW},
        {512, 6.66, "512 blocks: 6.66"}};
    static const struct chart_point mma[] = {{64, 10.7, "64: 10.7"},
                                             {128, 6.52, "128: 6.52"},
                                             {256, 7.4, "256: 7.4"},
                                             {512, 9.5, "512: 9.5"},
                                             {1024, 11.95, "1024: 11.95"}};
    static const struct chart_point triton[] = {{32, 12.9, "32: 12.9"},
                                                {64, 8.2, "64: 8.2"},
                                                {128, 5.88, "128: 5.88"},
                                                {256, 8.56, "256: 8.56"},
                                                {512, 11, "512: 11"}};
    static const struct chart_point cublas[] = {{128, 5.17, "cuBLAS: 5.17", NULL, "cuBLAS 5.17"}};
    static const struct chart_point streamk[] = {
        {132, 9.95, "stream-K: 9.95", NULL, "stream-K 9.95"}};
    const struct chart_series series[] = {
        {mma, 5, "gpufloor, mma.sync", CHART_LIBRARY, CHART_DOT, CHART_SOLID, .faint = true},
        {triton, 5, "Triton (quoted)", CHART_QUOTED, CHART_CIRCLE, CHART_SOLID, .faint = false},
        {ours, 5, "gpufloor, wgmma", CHART_OURS, CHART_DOT, CHART_SOLID, .strong = true},
        {cublas, 1, NULL, CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_NO_LINE},
        {streamk, 1, NULL, CHART_OURS, CHART_DIAMOND, CHART_NO_LINE}};
    static const struct chart_reference sms = {132, true, CHART_DOTTED, "132 SMs", NULL, true};
    static const struct chart_band fixed = {
        0, 2.16, false, "2.16 us do not depend on the work: launch, first load, last store",
        "2.16 us do not depend on the work"};
    const struct chart_xy chart = {.title =
                                       "128 blocks beat 256, although 4 of the 132 SMs stand idle",
                                   .height = 400,
                                   .x = {"thread blocks", CHART_LOG2},
                                   .y = {"us for one product, L2 warm", .zero = true},
                                   .series = series,
                                   .n_series = 5,
                                   .references = &sms,
                                   .n_references = 1,
                                   .bands = &fixed,
                                   .n_bands = 1};
    chart_xy(out, &chart, width, standalone);
}

static void time_bars(FILE *out, enum chart_width width, bool standalone)
{
    static const struct chart_segment first[] = {
        {0.83, "0.83", "first operands", "load", "first operands: 0.83 us", "t1", CHART_LIBRARY,
         true},
        {1.41, "1.41", "fetch and multiply", "multiply", "fetch and multiply: 1.41 us", "t1",
         CHART_MEMORY, false},
        {0.74, "0.74", "last products", NULL, "last products: 0.74 us", "t1", CHART_MEMORY, true},
        {0.60, "0.60", "store C", "store", "store: 0.60 us", "t1", CHART_LIBRARY, true},
        {1.25, "1.25", "next launch", "launch", "next launch: 1.25 us", "t1", CHART_LAUNCH, true}};
    static const struct chart_segment second[] = {
        {0.65, "0.65", NULL, NULL, "first operands: 0.65 us", "t1", CHART_LIBRARY, true},
        {2.93, "2.93", NULL, NULL, "fetch and multiply: 2.93 us", "t1", CHART_MEMORY, false},
        {0.46, "0.46", NULL, NULL, "last products: 0.46 us", "t1", CHART_MEMORY, true},
        {0.45, "0.45", NULL, NULL, "store: 0.45 us", "t1", CHART_LIBRARY, true},
        {1.08, "1.08", NULL, NULL, "next launch: 1.08 us", "t1", CHART_LAUNCH, true}};
    static const struct chart_bar bars[] = {
        {"128 blocks of 128x64", "4.83 us", first, 5},
        {"256 blocks of 64x64, two on each SM", "5.57 us", second, 5}};
    const struct chart_bars chart = {"Where the 4.83 us go, seen from one block", bars, 2};
    chart_bars(out, &chart, width, standalone);
}

static void tiles(char text[CHART_TEXT], double value)
{
    snprintf(text, CHART_TEXT, value == 132 ? "132 SMs" : value == 264 ? "2 x 132" : "%.0f", value);
}

static void waves(FILE *out, enum chart_width width, bool standalone)
{
    static const struct chart_point points[] = {
        {96, 5.2, "96 tiles: 5.20 us", NULL, "96: 5.20", NULL, false, CHART_BELOW},
        {128, 5.6, "128 tiles: 5.6 us"},
        {132, 6.12, "132 tiles: 6.12 us", NULL, "132: 6.12", NULL, true, CHART_LEFT},
        {133, 9.67, "133 tiles: 9.67 us", NULL, "133: 9.67, +58 %", NULL, true, CHART_RIGHT},
        {264, 11.2, "264 tiles: 11.2 us", NULL, "264: 11.2", NULL, false, CHART_BELOW},
        {265, 14.3, "265 tiles: 14.3 us", NULL, "265: 14.3", NULL, true, CHART_LEFT}};
    static const double ticks[] = {96, 132, 264};
    static const struct chart_reference sms[] = {{132, true, CHART_DOTTED, NULL, NULL, false},
                                                 {264, true, CHART_DOTTED, NULL, NULL, false}};
    const struct chart_series series = {points,    6,           NULL,          CHART_OURS,
                                        CHART_DOT, CHART_SOLID, .strong = true};
    const struct chart_xy chart = {.title = "One tile more than there are SMs costs 58 %",
                                   .height = 250,
                                   .height_narrow = 250,
                                   .x = {"tiles", .format = tiles, .ticks = ticks, .n_ticks = 3},
                                   .y = {"us for so many tiles of 128x64", .zero = true},
                                   .series = &series,
                                   .n_series = 1,
                                   .references = sms,
                                   .n_references = 2};
    chart_xy(out, &chart, width, standalone);
}

static void fusion(FILE *out, enum chart_width width, bool standalone)
{
    static const struct op {
        const char *name, *aside;
        double gain, model;
        const char *text;
    } ops[] = {{"16 plain operators, 256 MiB", "2095 to 133 us", 15.8, 16, "15.8 x"},
               {"int4 weights into a product, 4096x14336", "66.0 to 9.48", 6.96, 7.86, "6.96 x"},
               {"scale * gelu(x + bias), 256 MiB", "394 to 132", 2.98, 3, "2.98 x"},
               {"attention, one token over 8192 keys", "40.1 to 12.0", 3.3, NAN, "3.3 x"},
               {"two products, 4096", "195 to 201", 0.97, 1.1, "0.97 x"},
               {"64 operators that spill", "12 to 70", 0.17, 1, "0.17 x"}};
    struct chart_dot dots[LENGTH(ops)][2];
    struct chart_row rows[LENGTH(ops)];
    for (size_t i = 0; i < LENGTH(ops); i++) {
        dots[i][0] = (struct chart_dot){ops[i].model, CHART_SECONDARY, CHART_TICK, "model", NULL};
        dots[i][1] = (struct chart_dot){ops[i].gain, ops[i].gain < 1 ? CHART_LAUNCH : CHART_MEMORY,
                                        CHART_DOT, ops[i].name, "f"};
        rows[i] = (struct chart_row){.label = ops[i].name,
                                     .aside = ops[i].aside,
                                     .on = {{dots[i], 2, ops[i].text, NULL, .strong = true}}};
    }
    static const struct chart_key keys[] = {
        {"measured", CHART_MEMORY, CHART_DOT},
        {"loss", CHART_LAUNCH, CHART_DOT},
        {"what the bytes and launches say", CHART_SECONDARY, CHART_TICK}};
    const struct chart_rows chart = {
        .title = "Fusing gains what it saves in bytes and launches",
        .axes = {{"times faster", CHART_LOG10, .low = 0.12, .high = 24}},
        .n_axes = 1,
        .one = 1,
        .aside = "apart, fused",
        .keys = keys,
        .n_keys = 3,
        .rows = rows,
        .n_rows = LENGTH(rows)};
    chart_rows(out, &chart, width, standalone);
}

static void decode(FILE *out, enum chart_width width, bool standalone)
{
    static const struct chart_point measured[] = {
        {1024, 4.4, "1024: 4.4 us"},
        {2048, 5.4, "2048: 5.4"},
        {8192, 12.0, "8192: 12.0", NULL, "8k keys: 72 % of the rate", NULL, true, CHART_ABOVE},
        {32768, 37, "32768: 37"},
        {65536, 73, "65536: 73", NULL, "92 %", NULL, true, CHART_ABOVE}};
    static const struct chart_point model[] = {{1024, 1.05}, {65536, 67}};
    static const struct chart_point rival[] = {
        {1024, 9, "1024: 9"}, {8192, 14.4, "8192: 14.4"}, {65536, 80, "65536: 80"}};
    const struct chart_series series[] = {
        {model, 2, "bytes / rate", CHART_SECONDARY, CHART_NO_MARK, CHART_DASHED},
        {rival, 3, "cuDNN", CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_SOLID, .faint = true},
        {measured, 5, "gpufloor", CHART_OURS, CHART_DOT, CHART_SOLID, .strong = true}};
    const struct chart_xy chart = {.title = "Decode",
                                   .height = 340,
                                   .x = {"keys", CHART_LOG2},
                                   .y = {"us for one token's attention", CHART_LOG10},
                                   .series = series,
                                   .n_series = 3};
    chart_xy(out, &chart, width, standalone);
}

static void trust(FILE *out, enum chart_width width, bool standalone)
{
    struct chart_point points[60];
    for (size_t i = 0; i < 60; i++) {
        const double spread = 0.001 * pow(10, (double)i / 12);
        points[i] = (struct chart_point){spread, 100 / (1 + pow(0.26 / spread, 0.72)), NULL};
    }
    static const struct chart_point named[] = {
        {0.26, 50, "half: 0.26 %", NULL, "half within 0.26 %", NULL, true, CHART_RIGHT},
        {5.5, 90, "nine in ten: 5.5 %", NULL, "nine in ten within 5.5 %", NULL, true, CHART_RIGHT}};
    const struct chart_series series[] = {
        {points, 60, NULL, CHART_MEMORY, CHART_NO_MARK, CHART_SOLID},
        {named, 2, NULL, CHART_MEMORY, CHART_DOT, CHART_NO_LINE}};
    const struct chart_xy chart = {.title = "Half of all rows repeat within 0.26 %",
                                   .height = 210,
                                   .height_narrow = 230,
                                   .x = {"spread of a row, %", CHART_LOG10},
                                   .y = {"% of rows", .low = 0, .high = 100},
                                   .series = series,
                                   .n_series = 2};
    chart_xy(out, &chart, width, standalone);
}

static void claims(FILE *out, enum chart_width width, bool standalone)
{
    static const enum chart_role roles[] = {CHART_NO, CHART_PARTLY, CHART_YES, CHART_UNKNOWN};
    static const size_t counts[3][4] = {{11, 3, 6, 3}, {3, 7, 22, 5}, {2, 3, 6, 0}};
    static const char *const titles[] = {"Smallest AI: The Limits of Large Fused Kernels",
                                         "AI-RNG: Kernel Optimization and Operator Fusion",
                                         "dev.to: Fused Kernels in LLMs"};
    static char names[128][8];
    struct chart_box boxes[128];
    struct chart_group groups[3];
    size_t n = 0;
    for (size_t g = 0; g < 3; g++) {
        const size_t first = n;
        for (size_t r = 0; r < 4; r++)
            for (size_t k = 0; k < counts[g][r]; k++, n++) {
                snprintf(names[n], sizeof names[n], "C%02zu%s", n % 100, n % 9 == 4 ? "b" : "");
                boxes[n] = (struct chart_box){names[n], "a claim: verdict", names[n], roles[r]};
            }
        groups[g] = (struct chart_group){titles[g], boxes + first, n - first};
    }
    static const struct chart_key keys[] = {{"no", CHART_NO, 0},
                                            {"partly", CHART_PARTLY, 0},
                                            {"yes", CHART_YES, 0},
                                            {"cannot be told", CHART_UNKNOWN, 0}};
    const struct chart_boxes chart = {"73 published claims", keys, 4, groups, 3};
    chart_boxes(out, &chart, width, standalone);
}

static void ratio(FILE *out, enum chart_width width, bool standalone)
{
    static const struct chart_dot dots[] = {
        {1.0, CHART_LIBRARY, CHART_SQUARE, "L1: 1.00", NULL},
        {1.43, CHART_MEMORY, CHART_DOT, "HBM: 1.43", NULL},
        {0.93, CHART_LAUNCH, CHART_DIAMOND, "graph: 0.93", NULL}};
    static const struct chart_row rows[] = {
        {.label = "load, L1", .on = {{dots, 1, "1.00", NULL}}},
        {.label = "read, HBM", .on = {{dots + 1, 1, "1.43", NULL}}},
        {.label = "one more kernel in a graph", .rule = true, .on = {{dots + 2, 1, "0.93", NULL}}},
        {.label = "missing here", .on = {{NULL, 0, "-", NULL}}}};
    static const struct chart_reference lines[] = {
        {1.0, true, CHART_DOTTED, "chip 1.00", NULL, false},
        {1.43, true, CHART_DOTTED, "pins 1.43", NULL, false}};
    const struct chart_rows chart = {.title = "H200 over H100",
                                     .axes = {{"times", CHART_LOG10, .low = 0.8, .high = 1.8}},
                                     .n_axes = 1,
                                     .one = 1,
                                     .references = lines,
                                     .n_references = 2,
                                     .rows = rows,
                                     .n_rows = 4};
    chart_rows(out, &chart, width, standalone);
}

static void empty(FILE *out, enum chart_width width, bool standalone)
{
    const struct chart_xy chart = {.title = "Nothing",
                                   .height = 160,
                                   .height_narrow = 160,
                                   .x = {"x", CHART_LOG2},
                                   .y = {"y"}};
    chart_xy(out, &chart, width, standalone);
}

static const struct figure {
    const char *name;
    void (*draw)(FILE *out, enum chart_width width, bool standalone);
} figures[] = {{"levels", levels}, {"curve", curve},    {"flight", flight}, {"ladder", ladder},
               {"blocks", blocks}, {"time", time_bars}, {"waves", waves},   {"fusion", fusion},
               {"decode", decode}, {"claims", claims},  {"trust", trust},   {"ratio", ratio},
               {"empty", empty}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < LENGTH(figures); i++)
        if (!strcmp(argv[1], figures[i].name)) {
            figures[i].draw(stdout, CHART_WIDE, true);
            return 0;
        }
    if (argc > 1) {
        fprintf(stderr, "demo: no figure '%s'\n", argv[1]);
        return 2;
    }
    puts("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"/><title>charts</title>"
         "<meta name=\"viewport\" content=\"width=device-width\"/><style>");
    chart_style(stdout);
    puts("body{background:var(--bg);color:var(--ink);font:16px/24px Inter,system-ui;margin:20px "
         "auto;padding:0 10px;max-width:900px}"
         "h2{font-size:20px;margin:36px 0 12px}</style></head><body>");
    for (size_t i = 0; i < LENGTH(figures); i++) {
        printf("<h2>%s</h2>\n", figures[i].name);
        figures[i].draw(stdout, CHART_WIDE, false);
        figures[i].draw(stdout, CHART_NARROW, false);
    }
    puts("</body></html>");
}
