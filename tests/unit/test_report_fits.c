/* The time of a square product as a fixed cost and a rate, against lines that are known. */
#include "core/draw.h"
#include "tests/unit/test_report_help.h"

#include <math.h>
#include <stdio.h>

#include "report/bundle/derive.h"

static const double sizes[] = {128, 256, 512, 1024, 1536, 2048, 4096, 8192};
enum { SIZES = CHECK_LENGTH(sizes) };
static const double FIXED = 1700, RATE = 7e14; /* ns, flop/s */

static double work_of(size_t i)
{
    return 2 * sizes[i] * sizes[i] * sizes[i];
}

static void make(double *work, double *ns, double noise)
{
    uint64_t state = 1;
    for (size_t i = 0; i < SIZES; i++) {
        double shake = 1 + noise * (2 * draw_uniform(&state) - 1);
        work[i] = work_of(i);
        ns[i] = shake * (FIXED + work[i] / RATE * 1e9);
    }
}

static void a_line_is_found(void **unused)
{
    double work[SIZES], ns[SIZES];
    (void)unused;
    make(work, ns, 0);
    struct fit f = derive_fit(work, ns, SIZES);
    assert_close(f.fixed_ns, FIXED, 1e-9);
    assert_close(f.rate, RATE, 1e-9);
    assert_true(f.error < 1e-9);
    make(work, ns, 0.03);
    f = derive_fit(work, ns, SIZES);
    assert_close(f.fixed_ns, FIXED, 0.03);
    assert_close(f.rate, RATE, 0.03);
    assert_true(f.error > 0.003 && f.error < 0.03);
}

/* Errors are relative: 5 % at 8192^3, which are 80 us, must not drown what 128^3 says. */
static void small_sizes_count(void **unused)
{
    double work[SIZES], ns[SIZES];
    (void)unused;
    make(work, ns, 0);
    ns[SIZES - 1] *= 1.05;
    struct fit f = derive_fit(work, ns, SIZES);
    assert_close(f.fixed_ns, FIXED, 0.01);
    assert_close(f.rate, RATE, 0.03);
    ns[0] *= 2; /* and one at 128^3 is not overlooked */
    f = derive_fit(work, ns, SIZES);
    assert_true(f.error > 0.1);
}

static void nothing_to_fit(void **unused)
{
    double work[SIZES], ns[SIZES];
    (void)unused;
    make(work, ns, 0);
    assert_true(isnan(derive_fit(work, ns, 3).fixed_ns));
    assert_true(isnan(derive_fit(work, ns, 0).rate));
    for (size_t i = 0; i < SIZES; i++) /* one size only, eight times */
        work[i] = work[0], ns[i] = ns[0];
    assert_true(isnan(derive_fit(work, ns, SIZES).error));
}

#define TAIL "type=fp16,acc=fp32,layout=nn,impl=own,tile=best,l2=warm,timer=event}"

static void from_rows(void **unused)
{
    struct rows rows = {0};
    char id[160];
    (void)unused;
    for (size_t i = 0; i < SIZES; i++) {
        int n = (int)sizes[i];
        double ns = FIXED + work_of(i) / RATE * 1e9;
        snprintf(id, sizeof id, "gemm_sizes.time{m=%d,n=%d,k=%d," TAIL, n, n, n);
        put_spread(&rows, id, "ns", ROW_LOWER, ns, ns / 1000, 7);
    }
    put_spread(&rows, "gemm_sizes.time{m=1,n=4096,k=4096," TAIL, "ns", ROW_LOWER, 9000, 0, 7);
    put_spread(&rows, "gemm_sizes.time{m=64,n=64,k=64,type=bf16,acc=fp32,layout=nn,impl=own,"
                      "tile=best,l2=warm,timer=event}", "ns", ROW_LOWER, 1500, 0, 7);
    put_spread(&rows, "small_gemm.time{m=64,n=64,k=64," TAIL, "ns", ROW_LOWER, 10, 0, 7);
    derive(&rows, NULL);

    const struct row *row = rows_find(&rows, "derived.fixed_time{" TAIL);
    assert_non_null(row);
    assert_int_equal(row->n, 7);
    assert_close(row->centre, FIXED, 1e-3);
    row = rows_find(&rows, "derived.marginal_flops{" TAIL);
    assert_non_null(row);
    assert_close(row->centre, RATE, 1e-3);
    assert_int_equal(row->better, ROW_HIGHER);
    row = rows_find(&rows, "derived.fit_error{" TAIL);
    assert_non_null(row);
    assert_true(row->centre < 1e-6);
    /* one size of bf16 makes no line */
    assert_null(rows_find(&rows, "derived.fixed_time{type=bf16,acc=fp32,layout=nn,impl=own,"
                                 "tile=best,l2=warm,timer=event}"));
    row = rows_find(&rows, "derived.flops{m=1024,n=1024,k=1024," TAIL);
    assert_non_null(row);
    assert_close(row->centre, work_of(3) / (FIXED * 1e-9 + work_of(3) / RATE), 1e-3);
    rows_free(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found),
        cmocka_unit_test(small_sizes_count),
        cmocka_unit_test(nothing_to_fit),
        cmocka_unit_test(from_rows),
    };
    return cmocka_run_group_tests_name("report fits", tests, NULL, NULL);
}
