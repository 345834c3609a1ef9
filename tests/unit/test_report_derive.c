/* Derived figures: capacities from curves whose capacities are known, Little's law, flop/s. */
#include "tests/unit/test_report_help.h"

#include <stdio.h>

#include "report/derive.h"

enum { POINTS_MAX = 256 };
#define KIB 1024.0
#define MIB (1024.0 * 1024)

struct level {
    double from_bytes, cycles; /* the latency from that footprint on */
};

/* Between levels the latency climbs over `octaves` around each level's start. */
static double latency(const struct level *levels, size_t n, double octaves, double bytes)
{
    double value = levels[0].cycles;
    for (size_t i = 1; i < n; i++) {
        double place = log2(bytes / levels[i].from_bytes) / octaves + 0.5;
        double share = place < 0 ? 0 : place > 1 ? 1 : place;
        value += share * (levels[i].cycles - levels[i - 1].cycles);
    }
    return value;
}

struct made {
    double bytes[POINTS_MAX], cycles[POINTS_MAX];
    struct curve curve;
};

/* tail: cycles per octave that TLB misses add beyond 80 MiB. */
static void make(struct made *made, const struct level *levels, size_t n, double octaves,
                 double per_octave, double noise, double tail)
{
    size_t i = 0;
    uint64_t state = 1;
    for (double b = 4 * KIB; b <= 2048 * MIB * 1.001; b *= pow(2, 1 / per_octave), i++) {
        double shake = 1 + noise * (2 * check_uniform(&state) - 1);
        made->bytes[i] = floor(b / 128) * 128;
        made->cycles[i] = shake * (latency(levels, n, octaves, b) +
                                   tail * fmax(0, log2(b / (80 * MIB))));
    }
    made->curve = (struct curve){.n = i, .bytes = made->bytes, .cycles = made->cycles};
}

/* Where a rise that is centred on `bytes` and as wide as made above has come up by a tenth. */
static double knee(double bytes, double octaves)
{
    return bytes * exp2(-0.4 * octaves);
}

/* What is published for a GH200: L1 to 225 KiB, near L2 to 28 MiB, far to 58 MiB, then DRAM. */
static const struct level gh200[] = {{0, 32}, {225 * KIB, 275}, {28 * MIB, 505}, {58 * MIB, 615}};

static void two_partitions(void **unused)
{
    const double noises[] = {0, 0.003, 0.01}, grids[] = {3.5, 4, 6, 8};
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(noises); i++)
        for (size_t k = 0; k < CHECK_LENGTH(grids); k++) {
            struct made made;
            make(&made, gh200, CHECK_LENGTH(gh200), 0.25, grids[k], noises[i], 15);
            struct capacities c = derive_capacities(made.curve, 60 * MIB);
            assert_close(c.l1, knee(225 * KIB, 0.25), 0.10);
            assert_close(c.l2_near, knee(28 * MIB, 0.25), 0.10);
            assert_close(c.l2, knee(58 * MIB, 0.25), 0.10);
        }
}

static void a_sloping_far_plateau(void **unused)
{
    /* 480 at 36 MB to 530 at 60 MB, as printed. */
    const struct level sloping[] = {{0, 32},         {225 * KIB, 275}, {28 * MIB, 480},
                                    {38 * MIB, 495}, {46 * MIB, 515},  {58 * MIB, 615}};
    struct made made;
    (void)unused;
    make(&made, sloping, CHECK_LENGTH(sloping), 0.3, 6, 0.002, 15);
    struct capacities c = derive_capacities(made.curve, 60 * MIB);
    assert_close(c.l2_near, knee(28 * MIB, 0.3), 0.10);
    assert_close(c.l2, knee(58 * MIB, 0.3), 0.10);
}

static void one_partition(void **unused)
{
    /* An L2 of one piece: as on most boards, and with an unknown size, too. */
    const struct level plain[] = {{0, 33}, {128 * KIB, 270}, {40 * MIB, 560}};
    const double stated[] = {40 * MIB, 0, 48 * MIB};
    struct made made;
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(stated); i++) {
        make(&made, plain, CHECK_LENGTH(plain), 0.3, 4, 0.01, 10);
        struct capacities c = derive_capacities(made.curve, stated[i]);
        assert_close(c.l1, knee(128 * KIB, 0.3), 0.10);
        assert_close(c.l2, knee(40 * MIB, 0.3), 0.10);
        assert_true(isnan(c.l2_near));
    }
}

static void a_step_of_the_tlb_is_no_capacity(void **unused)
{
    const struct level tlb[] = {{0, 33}, {128 * KIB, 270}, {40 * MIB, 560}, {1024 * MIB, 900}};
    struct made made;
    (void)unused;
    make(&made, tlb, CHECK_LENGTH(tlb), 0.3, 4, 0.003, 0);
    struct capacities c = derive_capacities(made.curve, 40 * MIB);
    assert_close(c.l2, knee(40 * MIB, 0.3), 0.10);
    assert_true(isnan(c.l2_near));
}

static void a_shoulder_behind_the_l1_is_no_partition(void **unused)
{
    /* The L1's rise as an H200 once showed it: half way up it rested for a third of an octave. */
    const struct level rough[] = {{0, 32}, {240 * KIB, 170}, {420 * KIB, 275}, {28 * MIB, 505},
                                  {58 * MIB, 660}};
    struct made made;
    (void)unused;
    make(&made, rough, CHECK_LENGTH(rough), 0.25, 8, 0.003, 15);
    struct capacities c = derive_capacities(made.curve, 60 * MIB);
    assert_close(c.l1, knee(240 * KIB, 0.25), 0.10);
    assert_close(c.l2_near, knee(28 * MIB, 0.25), 0.10);
    assert_close(c.l2, knee(58 * MIB, 0.25), 0.10);
}

static void a_lone_outlier_is_no_step(void **unused)
{
    struct made made;
    (void)unused;
    make(&made, gh200, CHECK_LENGTH(gh200), 0.25, 4, 0.003, 15);
    made.cycles[40] *= 1.6;
    made.cycles[10] *= 3;
    struct capacities c = derive_capacities(made.curve, 60 * MIB);
    assert_close(c.l1, knee(225 * KIB, 0.25), 0.10);
    assert_close(c.l2_near, knee(28 * MIB, 0.25), 0.10);
    assert_close(c.l2, knee(58 * MIB, 0.25), 0.10);
}

static void a_tenth_is_exact_on_a_line(void **unused)
{
    /* One ramp over an octave, straight in the logarithm of the footprint. */
    const struct level two[] = {{0, 100}, {1 * MIB, 500}};
    struct made made;
    struct step steps[4];
    (void)unused;
    make(&made, two, CHECK_LENGTH(two), 1, 4, 0, 0);
    assert_int_equal(derive_steps(made.curve, steps, 4), 1);
    assert_close(steps[0].from_cycles, 100, 1e-9);
    assert_close(steps[0].to_cycles, 500, 1e-9);
    assert_close(steps[0].bytes, knee(1 * MIB, 1), 1e-3); /* footprints are whole lines */
}

static void nothing_to_find(void **unused)
{
    const struct level flat[] = {{0, 100}};
    struct made made;
    (void)unused;
    make(&made, flat, 1, 1, 4, 0.01, 0);
    struct capacities c = derive_capacities(made.curve, 60 * MIB);
    assert_true(isnan(c.l1) && isnan(c.l2_near) && isnan(c.l2));
    made.curve.n = 5;
    c = derive_capacities(made.curve, 0);
    assert_true(isnan(c.l1));
    made.curve.n = 0;
    c = derive_capacities(made.curve, 0);
    assert_true(isnan(c.l1));
}

static void from_rows(void **unused)
{
    struct rows rows = {0};
    struct made made;
    char id[96];
    (void)unused;
    json_t *gpu = json_pack("{s:i, s:f}", "n_sm", 100, "l2_bytes", 60 * MIB);
    make(&made, gh200, CHECK_LENGTH(gh200), 0.25, 4, 0, 15);
    for (size_t i = 0; i < made.curve.n; i++) {
        snprintf(id, sizeof id, "memory_latency.curve{bytes=%.0f}", made.bytes[i]);
        put_spread(&rows, id, "cycles", ROW_LOWER, made.cycles[i], made.cycles[i] / 1000, 7);
    }
    put_spread(&rows, "memory_latency.load_time{level=hbm,timer=device}", "ns", ROW_LOWER, 500, 0,
               7);
    put_spread(&rows, "occupancy.read_rate{level=hbm,warps=8,loads=2}", "bytes/s", ROW_HIGHER, 4e12,
               0, 7);
    put_spread(&rows, "occupancy.read_rate{level=l2,warps=8,loads=2}", "bytes/s", ROW_HIGHER, 4e12,
               0, 7);
    put_spread(&rows, "small_gemm.time{m=1024,n=512,k=256,timer=event}", "ns", ROW_LOWER, 1000, 0,
               7);
    derive(&rows, gpu);

    const struct row *row = rows_find(&rows, "derived.capacity{level=l2_near}");
    assert_non_null(row);
    assert_int_equal(row->n, 7);
    assert_close(row->centre, knee(28 * MIB, 0.25), 0.10);
    /* Four footprints an octave: 19 % from one to the next, half of which is the tick. */
    assert_close(row->resolution, row->centre * 0.095, 0.15);
    row = rows_find(&rows, "derived.bytes_in_flight{level=hbm,warps=8,loads=2}");
    assert_non_null(row);
    assert_close(row->centre, 4e12 * 500e-9 / 100, 1e-9); /* 20 kB on each SM */
    assert_null(rows_find(&rows, "derived.bytes_in_flight{level=l2,warps=8,loads=2}"));
    row = rows_find(&rows, "derived.flops{m=1024,n=512,k=256,timer=event}");
    assert_non_null(row);
    assert_close(row->centre, 2.0 * 1024 * 512 * 256 / 1e-6, 1e-9);
    assert_int_equal(row->better, ROW_HIGHER);
    rows_free(&rows);
    json_decref(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_partitions),
        cmocka_unit_test(a_sloping_far_plateau),
        cmocka_unit_test(one_partition),
        cmocka_unit_test(a_step_of_the_tlb_is_no_capacity),
        cmocka_unit_test(a_shoulder_behind_the_l1_is_no_partition),
        cmocka_unit_test(a_lone_outlier_is_no_step),
        cmocka_unit_test(a_tenth_is_exact_on_a_line),
        cmocka_unit_test(nothing_to_find),
        cmocka_unit_test(from_rows),
    };
    return cmocka_run_group_tests_name("report derive", tests, NULL, NULL);
}
