/* Derived figures: capacities from curves whose capacities are known, Little's law, flop/s. */
#include "core/draw.h"
#include "tests/unit/test_report_help.h"

#include <stdio.h>

#include "report/bundle/derive.h"
#include "report/bundle/derive_occupancy.h"
#include "report/bundle/derive_product.h"

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
        double shake = 1 + noise * (2 * draw_uniform(&state) - 1);
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

/* Figures published for a GH200: L1 to 225 KiB, near L2 to 28 MiB, far to 58 MiB, then DRAM. */
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
    assert_int_equal(row->better, ROW_LOWER);
    assert_null(rows_find(&rows, "derived.bytes_in_flight{level=l2,warps=8,loads=2}"));
    row = rows_find(&rows, "derived.flops{m=1024,n=512,k=256,timer=event}");
    assert_non_null(row);
    assert_close(row->centre, 2.0 * 1024 * 512 * 256 / 1e-6, 1e-9);
    assert_int_equal(row->better, ROW_HIGHER);
    rows_free(&rows);
    json_decref(gpu);
}

/* Some footprints in all of seven rounds, the others in three. The capacity of the L2 by the
 * former. */
static const struct row *capacity_by_few(struct rows *rows, const double *few, size_t n_few)
{
    struct made made;
    char id[96];
    make(&made, gh200, CHECK_LENGTH(gh200), 0.25, 8, 0, 15);
    for (size_t i = 0; i < made.curve.n; i++) {
        bool is_few = false;
        for (size_t k = 0; k < n_few; k++)
            is_few = is_few || (i > 0 && made.bytes[i - 1] < few[k] && made.bytes[i] >= few[k]);
        snprintf(id, sizeof id, "memory_latency.curve{bytes=%.0f}", made.bytes[i]);
        struct row *row = rows_get(rows, id, "cycles", ROW_LOWER);
        row->thrice = !is_few;
        for (int round = 0; round < 7; round += is_few ? 1 : 3)
            row_put(row, round, made.cycles[i], made.cycles[i]);
        row_finish(row);
    }
    json_t *gpu = json_pack("{s:i, s:f}", "n_sm", 100, "l2_bytes", 60 * MIB);
    derive(rows, gpu);
    json_decref(gpu);
    return rows_find(rows, "derived.capacity{level=l2}");
}

/* They count where they say what the whole curve says: then in every round. */
static void few_footprints_of_every_round(void **unused)
{
    const double few[] = {190 * KIB, 208 * KIB, 227 * KIB, 512 * KIB, 1 * MIB,  24 * MIB, 26 * MIB,
                          28 * MIB,  31 * MIB,  42 * MIB,  50 * MIB,  54 * MIB, 59 * MIB, 64 * MIB,
                          128 * MIB, 256 * MIB};
    const double far_off[] = {190 * KIB, 208 * KIB, 227 * KIB, 512 * KIB, 1 * MIB,   24 * MIB,
                              26 * MIB,  28 * MIB,  31 * MIB,  42 * MIB,  128 * MIB, 180 * MIB,
                              256 * MIB, 512 * MIB};
    struct rows by_few = {0}, by_whole = {0}, by_too_few = {0};
    (void)unused;
    const struct row *row = capacity_by_few(&by_few, few, CHECK_LENGTH(few));
    assert_non_null(row);
    assert_int_equal(row->n, 7);
    assert_false(row->thrice);
    assert_close(row->centre, knee(58 * MIB, 0.25), 0.05);
    assert_close(row->resolution, row->centre * 0.045, 0.15); /* eight footprints an octave */

    row = capacity_by_few(&by_whole, far_off, CHECK_LENGTH(far_off)); /* none near the L2's end */
    assert_non_null(row);
    assert_int_equal(row->n, 3);
    assert_true(row->thrice);
    assert_close(row->centre, knee(58 * MIB, 0.25), 0.05);

    row = capacity_by_few(&by_too_few, few, 11); /* too few for any capacity */
    assert_non_null(row);
    assert_int_equal(row->n, 3);
    assert_true(row->thrice);
    rows_free(&by_few);
    rows_free(&by_whole);
    rows_free(&by_too_few);
}

/* --- Little's law as a prediction ------------------------------------------------------------- */

static void little_by_hand(void **unused)
{
    (void)unused;
    /* 4 warps of 2 loads: 4 KiB on each of 100 SMs in 400 ns; 128 KiB would need more than 4e12. */
    assert_close(derive_little_rate(4096, 400, 100, 4e12), 1.024e12, 1e-9);
    assert_close(derive_little_rate(131072, 400, 100, 4e12), 4e12, 1e-9);
    assert_true(isnan(derive_little_rate(4096, 400, 100, NAN)));
    assert_true(isnan(derive_little_rate(4096, NAN, 100, 4e12)));
    assert_true(isnan(derive_little_hit(8, NAN, 256, 128)));
    assert_true(isnan(derive_little_hit(8, 32, 256, NAN)));
    assert_true(isnan(derive_little_fma(1, 1, NAN, 128)));
    assert_true(isnan(derive_little_fma(1, 1, 4, NAN)));
    /* 8 loads of 256 bytes pass in 16 cycles while one takes 32; 32 of them take 64. */
    assert_close(derive_little_hit(8, 32, 256, 128), 32, 1e-9);
    assert_close(derive_little_hit(32, 32, 256, 128), 64, 1e-9);
    /* 8 a cycle for each chain; one warp has a quarter of the lanes, sixteen have them all. */
    assert_close(derive_little_fma(1, 1, 4, 128), 8, 1e-9);
    assert_close(derive_little_fma(1, 16, 4, 128), 32, 1e-9);
    assert_close(derive_little_fma(2, 4, 4, 128), 64, 1e-9);
    assert_close(derive_little_fma(8, 1, 4, 128), 64, 1e-9);
    assert_close(derive_little_fma(64, 16, 4, 128), 128, 1e-9);
}

static void put_thrice(struct rows *rows, const char *id, const char *unit, double value)
{
    struct row *row = rows_get(rows, id, unit, ROW_HIGHER);
    assert_non_null(row);
    row->thrice = true;
    for (int round = 0; round < 7; round += 3)
        row_put(row, round, value, value);
    row_finish(row);
}

static void little_from_rows(void **unused)
{
    struct rows rows = {0};
    (void)unused;
    json_t *gpu = json_pack("{s:i}", "n_sm", 100);
    put_thrice(&rows, "occupancy.read_rate{level=hbm,warps=4,loads=2}", "bytes/s", 9e11);
    put_thrice(&rows, "occupancy.read_rate{level=hbm,warps=64,loads=4}", "bytes/s", 3.9e12);
    put_thrice(&rows, "occupancy.read_rate{level=l2,warps=4,loads=2}", "bytes/s", 3e12);
    put_thrice(&rows, "occupancy.hit{memory=l1,stride=1,warps=16,loads=2}", "cycles", 70);
    put_thrice(&rows, "occupancy.hit{memory=l1,stride=2,warps=16,loads=2}", "cycles", 140);
    put_thrice(&rows, "occupancy.fma_rate{warps=2,chains=2}", "ops/cycle", 31);
    put_spread(&rows, "memory_latency.load_time{level=hbm,timer=device}", "ns", ROW_LOWER, 400, 0,
               7);
    put_spread(&rows, "memory_latency.load{level=l1}", "cycles", ROW_LOWER, 32, 0, 7);
    put_spread(&rows, "bandwidth.rate{level=hbm,op=read,path=ld,bytes=1024}", "bytes/s", ROW_HIGHER,
               3e12, 0, 7);
    put_spread(&rows, "bandwidth.rate{level=hbm,op=read,path=ld,bytes=4096}", "bytes/s", ROW_HIGHER,
               4e12, 0, 7);
    put_spread(&rows, "bandwidth.sm_rate{level=l1,op=read,path=ld,bytes=64}", "bytes/cycle",
               ROW_HIGHER, 128, 0, 7);
    put_spread(&rows, "instructions.latency{op=fma,type=fp32}", "cycles", ROW_LOWER, 4, 0, 7);
    put_spread(&rows, "instructions.throughput{op=fma,type=fp32}", "ops/cycle", ROW_HIGHER, 127, 0,
               7);
    derive(&rows, gpu);

    const struct row *row = rows_find(&rows, "derived.little_rate{level=hbm,warps=4,loads=2}");
    assert_non_null(row);
    assert_close(row->centre, 1.024e12, 1e-9);
    assert_int_equal(row->n, 3);
    assert_int_equal(row->status, ROW_THRICE);
    row = rows_find(&rows, "derived.little_rate{level=hbm,warps=64,loads=4}");
    assert_non_null(row);
    assert_close(row->centre, 4e12, 1e-9); /* the buffer of most bytes is the limit */
    assert_null(rows_find(&rows, "derived.little_rate{level=l2,warps=4,loads=2}"));
    row = rows_find(&rows, "derived.little_hit{memory=l1,stride=1,warps=16,loads=2}");
    assert_non_null(row);
    assert_close(row->centre, 64, 1e-9);
    assert_null(rows_find(&rows, "derived.little_hit{memory=l1,stride=2,warps=16,loads=2}"));
    row = rows_find(&rows, "derived.little_fma{warps=2,chains=2}");
    assert_non_null(row);
    assert_close(row->centre, 32, 1e-9);
    rows_free(&rows);
    json_decref(gpu);
}

/* A point of a curve does not displace what every round measured, unless there is nothing else. */
static void a_point_is_not_picked(void **unused)
{
    struct rows rows = {0};
    struct row picked;
    (void)unused;
    put_thrice(&rows, "occupancy.read_rate{level=hbm,warps=64,loads=2}", "bytes/s", 4.7e12);
    put_thrice(&rows, "occupancy.read_rate{level=hbm,warps=16,loads=2}", "bytes/s", 4.8e12);
    assert_true(rows_pick(&rows, "occupancy.read_rate{level=hbm,*}", &picked));
    assert_close(picked.centre, 4.8e12, 1e-9);
    put_spread(&rows, "occupancy.read_rate{level=hbm,warps=4,loads=32}", "bytes/s", ROW_HIGHER,
               4.6e12, 0, 7);
    put_spread(&rows, "occupancy.read_rate{level=hbm,warps=1,loads=1}", "bytes/s", ROW_HIGHER, 1e11,
               0, 7);
    assert_true(rows_pick(&rows, "occupancy.read_rate{level=hbm,*}", &picked));
    assert_close(picked.centre, 4.6e12, 1e-9);
    rows_free(&rows);
}

/* --- the model of a product ------------------------------------------------------------------- */

/* Round figures: 64 bytes/ns in, 32 out, 2 GHz. */
static const struct product_chip round_chip = {.l2_ns = 100,
                                               .copy_ns = 150,
                                               .read_rate = 64,
                                               .write_rate = 32,
                                               .ghz = 2,
                                               .wgmma_cycles = 128,
                                               .shared_bytes = 128,
                                               .exchange_bytes = 16};

static double of_row(double m, double n, double k, double split, double on_busiest, double rounds)
{
    const struct product_row row = {m, n, k, split, on_busiest, rounds, .empty_ns = 700};
    return derive_product_ns(&round_chip, &row);
}

static void products_by_hand(void **unused)
{
    (void)unused;
    /* 2 x 1024 x 192 = 393216 bytes in 6144 ns; products 64 x 64 cycles = 2048 ns are hidden;
     * but those of the last of 16 k-steps, 128; 16 KiB out in 512. 700 + 350 + 6144 + 128 + 512 */
    assert_close(of_row(128, 64, 1024, 1, 1, 1), 7834, 1e-9);
    assert_close(of_row(64, 128, 1024, 1, 1, 1), 7834, 1e-9);
    /* Two of them, at the same time or one after another. */
    assert_close(of_row(128, 64, 1024, 1, 2, 1), 700 + 478 + 2 * 6656, 1e-9);
    assert_close(of_row(128, 64, 1024, 1, 2, 2), 700 + 2 * 478 + 2 * 6656, 1e-9);
    /* 256 x 256: 2 x 1024 x 512 bytes take 16384 ns, products 64 x 4 x 128 cycles as long. */
    assert_close(of_row(256, 256, 1024, 1, 1, 1), 700 + 350 + 16384 + 1024 + 4096, 1e-9);
    /* Split in two: half of k (4096), products 2048 in 8 steps, 32 KiB of sums at 16 bytes a cycle
     * (1024), half of C. */
    assert_close(of_row(128, 128, 1024, 2, 1, 1), 700 + 350 + 256 + 4096 + 1024 + 512, 1e-9);
}

/* With all bytes there at once, products take over; few rows are bound by shared memory: 64 + 32
 * rows of 32 bytes in 24 cycles, where the tensor cores need 16. */
static void products_take_over(void **unused)
{
    struct product_chip chip = round_chip;
    struct product_row row = {128, 64, 1024, 1, 1, 1, .empty_ns = 0};
    (void)unused;
    chip.read_rate = chip.write_rate = 1e12;
    assert_close(derive_product_ns(&chip, &row), 350 + 2048, 1e-6);
    row.tile_m = 32;
    row.tile_n = 256;
    assert_close(derive_product_ns(&chip, &row), 350 + 64 * 4 * 24 / 2.0, 1e-6);
}

static void put_figures(struct rows *rows, double n_sm)
{
    put_spread(rows, "memory_latency.load_time{level=l2,timer=device}", "ns", ROW_LOWER, 100, 0, 7);
    put_spread(rows, "memory_latency.load{level=l2}", "cycles", ROW_LOWER, 200, 0, 7);
    put_spread(rows, "memory_latency.async_time{level=l2,path=bulk,timer=device}", "ns", ROW_LOWER,
               150, 0, 7);
    put_spread(rows, "bandwidth.in_step{level=l2,sms=2,bytes=8388608}", "bytes/s", ROW_HIGHER,
               64e9 * n_sm, 0, 7);
    put_spread(rows, "bandwidth.rate{level=l2,op=write,path=bulk,bytes=1}", "bytes/s", ROW_HIGHER,
               32e9 * n_sm, 0, 7);
    put_spread(rows, "bandwidth.sm_rate{level=shared,op=read,path=ld,bytes=32768}", "bytes/cycle",
               ROW_HIGHER, 128, 0, 7);
    put_spread(rows,
               "instructions.reciprocal_throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,"
               "a=shared}",
               "cycles", ROW_LOWER, 128, 0, 7);
}

#define TILE(metric, tile, split)                                                                  \
    "block_count." metric "{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,impl=wgmma,tile="   \
    tile ",split=" split ",grid=tiles,tiles=all,resident=max,l2=warm"

static void put_tile_row(struct rows *rows, double time_ns, double empty_ns)
{
    const double one[] = {1, 1, 1, 1, 1, 1, 1}, two[] = {2, 2, 2, 2, 2, 2, 2};
    put_spread(rows, TILE("time", "64x128_alone", "1") ",timer=event}", "ns", ROW_LOWER, time_ns, 7,
               7);
    put_spread(rows, TILE("empty", "64x128_alone", "1") ",timer=event}", "ns", ROW_LOWER, empty_ns,
               0, 7);
    put_values(rows, TILE("blocks_on_busiest_sm", "64x128_alone", "1") "}", "count", ROW_EXACT, two,
               7);
    put_values(rows, TILE("tiles_on_busiest_sm", "64x128_alone", "1") "}", "count", ROW_EXACT, two,
               7);
    put_values(rows, TILE("blocks_at_once", "64x128_alone", "1") "}", "count", ROW_EXACT, one, 7);
}

static void products_from_rows(void **unused)
{
    struct rows rows = {0};
    json_t *gpu = json_pack("{s:i}", "n_sm", 100);
    const double in_two_rounds = 700 + 2 * 478 + 2 * 6656;
    size_t place = 0;
    (void)unused;
    put_figures(&rows, 100);
    put_tile_row(&rows, 15000, 700);
    derive(&rows, gpu);
    assert_null(rows_match(&rows, "derived.predicted_time{*", &place)); /* no sm_to_sm_rate */

    put_spread(&rows, "sm_to_sm_rate.stream_per_sm{op=write,size=2,active=all}", "bytes/cycle",
               ROW_HIGHER, 16, 0, 7);
    derive(&rows, gpu);
    place = 0;
    const struct row *row = rows_match(&rows, "derived.predicted_time{*=64x128_alone,*}", &place);
    assert_non_null(row);
    assert_int_equal(row->n, 7);
    assert_close(row->centre, in_two_rounds, 1e-9);
    place = 0;
    row = rows_match(&rows, "derived.prediction_error{*tile=64x128_alone,*}", &place);
    assert_non_null(row);
    assert_close(row->centre, 1 - in_two_rounds / 15000, 1e-9);
    assert_close(row->low, 1 - in_two_rounds / 14993, 1e-9); /* of each round its own */
    rows_free(&rows);
    json_decref(gpu);
}

/* An H200's figures, and times of a graph node there. Checks what the model predicts of them today,
 * not that it is right: see derive_product.h. */
static void products_of_an_h200(void **unused)
{
    static const struct product_chip h200 = {.l2_ns = 142.8,
                                             .copy_ns = 166.9,
                                             .read_rate = 16.45e3 / 132,
                                             .write_rate = 4.814e3 / 132,
                                             .ghz = 1.98,
                                             .wgmma_cycles = 128,
                                             .shared_bytes = 128,
                                             .exchange_bytes = 18.16};
    static const struct {
        struct product_row row;
        double us, within;
    } rows[] = {
        {{128, 64, 1024, 1, 1, 1, 700}, 4.81, 0.02},   {{32, 256, 1024, 1, 1, 1, 700}, 6.23, 0.06},
        {{16, 512, 1024, 1, 1, 1, 700}, 11.1, 0.08},   {{64, 64, 1024, 1, 2, 1, 700}, 5.57, 0.06},
        {{128, 128, 1024, 2, 1, 1, 700}, 6.12, 0.25}, /* the sum takes longer than its bytes do */
        {{64, 128, 1024, 1, 1, 1, 700}, 6.00, 0.21},  /* which blocks are neighbours matters */
        {{32, 64, 512, 1, 1, 1, 700}, 2.61, 0.22},
        {{96, 192, 1536, 1, 1, 1, 700}, 11.45, 0.20},
        {{256, 128, 2048, 1, 1, 1, 700}, 25.5, 0.24},
    };
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++)
        assert_close(derive_product_ns(&h200, &rows[i].row), rows[i].us * 1e3, rows[i].within);
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
        cmocka_unit_test(few_footprints_of_every_round),
        cmocka_unit_test(little_by_hand),
        cmocka_unit_test(little_from_rows),
        cmocka_unit_test(a_point_is_not_picked),
        cmocka_unit_test(products_by_hand),
        cmocka_unit_test(products_take_over),
        cmocka_unit_test(products_from_rows),
        cmocka_unit_test(products_of_an_h200),
    };
    return cmocka_run_group_tests_name("report derive", tests, NULL, NULL);
}
