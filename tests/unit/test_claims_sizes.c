/* Claims about products of every size: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

/* --- C26 ------------------------------------------------------------------------------------- */

/* us of the best; another implementation is slower everywhere. */
struct c26 {
    double t128, t256, t512, t1024, t4096, t8192;
};
static const struct c26 h200 = {1.6, 2.0, 2.6, 4.85, 205, 1640};

static void put_square(struct bundle *b, int n, double us)
{
    const double spread = n == 1024 ? 10 * us : 5 * us; /* or ratios would not vary */
    char id[160];
    snprintf(id, sizeof id,
             "gemm_sizes.time{m=%d,n=%d,k=%d,type=fp16,acc=fp32,layout=nn,impl=own,tile=best,"
             "l2=warm,timer=event}", n, n, n);
    put_spread(&b->rows, id, "ns", ROW_LOWER, 1e3 * us, spread, 7);
    snprintf(id, sizeof id,
             "gemm_sizes.time{m=%d,n=%d,k=%d,type=fp16,acc=fp32,layout=nn,impl=cublas,tile=auto,"
             "l2=warm,timer=event}", n, n, n);
    put_spread(&b->rows, id, "ns", ROW_LOWER, 1.2e3 * us, spread, 7);
}

static char board[] = "nvidia-h200";

static enum claim_verdict c26(struct c26 c)
{
    struct bundle b = {.board = board};
    put_square(&b, 128, c.t128);
    put_square(&b, 256, c.t256);
    put_square(&b, 512, c.t512);
    put_square(&b, 1024, c.t1024);
    put_square(&b, 4096, c.t4096);
    if (c.t8192 > 0)
        put_square(&b, 8192, c.t8192);
    return verdict("C26", &b);
}

static void latency_bottoms_out(void **unused)
{
    struct c26 c = h200; /* 3.0 times as long for 512 times the work; 0.447 of the rated peak */
    (void)unused;
    assert_int_equal(c26(c), CLAIM_REPRODUCED);
    c.t128 = 0.5; /* 9.7 times: time still follows */
    assert_int_equal(c26(c), CLAIM_REFUTED);
    c.t128 = 4.85 / 8; /* 8 times, straddling */
    assert_int_equal(c26(c), CLAIM_MIXED);
    c = h200;
    c.t1024 = 4; /* at 0.54 of the peak */
    assert_int_equal(c26(c), CLAIM_REFUTED);
    c.t1024 = 4.341; /* half of it, to the digit */
    assert_int_equal(c26(c), CLAIM_MIXED);
}

static void its_controls(void **unused)
{
    struct c26 c = h200;
    (void)unused;
    c.t8192 = 0;
    assert_int_equal(c26(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.t8192 = 400; /* twice as long for 8 times the work: time does not follow where it must */
    assert_int_equal(c26(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.t4096 = 300; /* not even 4096^3 comes near the peak */
    assert_int_equal(c26(c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c26((struct c26){1, 1, 1, 1, 1, 1}), CLAIM_NOT_TESTABLE); /* a stuck timer */
}

/* --- C58, C86 -------------------------------------------------------------------------------- */

/* Rows of `ld` elements; name changes where other says so. */
static void put_beside(struct bundle *b, const char *impl, int m, int n, int k, const char *layout,
                       int ld, int offset, double over, int other)
{
    char keys[192], id[256];
    snprintf(keys, sizeof keys,
             "{m=%d,n=%d,k=%d,type=fp16,layout=%s,lda=%d,ldb=%d,ldc=%d,offset=%d,impl=%s,l2=warm}",
             m, n, k, layout, ld, ld, ld, offset, impl);
    if (over > 0) {
        snprintf(id, sizeof id, "gemm_sizes.over_aligned%s", keys);
        put_spread(&b->rows, id, "ratio", ROW_LOWER, over, 0.001, 2)->once = true;
        row_finish(&b->rows.row[b->rows.n - 1]);
    }
    snprintf(id, sizeof id, "gemm_sizes.other_kernel%s", keys);
    const double twice[] = {other, other};
    put_values(&b->rows, id, "count", ROW_EXACT, twice, 2)->once = true;
}

struct beside {
    double same, ruler, odd_rows, off, odd_size, large, padded, transposed;
    int other, other_transposed, other_same, other_vector;
};
static const struct beside usual = {1.002, 1.32, 2.5, 1.8, 1.9, 3.0, 1.01, 1.02, 1, 0, 0, 1};

static void put_all(struct bundle *b, struct beside s)
{
    static const char cublas[] = "cublas,tile=auto";
    put_beside(b, cublas, 1024, 1024, 1024, "nn", 1024, 0, s.same, s.other_same);
    put_beside(b, cublas, 1024, 1024, 1536, "nn", 1536, 0, s.ruler, 1);
    put_beside(b, cublas, 1, 1024, 1024, "nn", 1024, 0, 0, s.other_vector);
    put_beside(b, cublas, 1024, 1024, 1024, "nn", 1025, 0, s.odd_rows, s.other);
    put_beside(b, cublas, 1024, 1024, 1024, "nn", 1024, 2, s.off, s.other);
    put_beside(b, cublas, 1024, 1024, 1024, "nn", 1024, 8, s.off, s.other);
    put_beside(b, cublas, 4096, 4096, 4096, "nn", 4097, 0, s.large, s.other);
    put_beside(b, cublas, 1023, 1023, 1023, "nn", 1023, 0, s.odd_size, 1);
    put_beside(b, cublas, 1025, 1025, 1025, "nn", 1025, 0, s.odd_size, 1);
    put_beside(b, cublas, 4095, 4095, 4095, "nn", 4095, 0, s.odd_size, 1);
    put_beside(b, cublas, 1024, 1024, 1024, "nn", 1032, 0, s.padded, 0);
    put_beside(b, cublas, 1024, 1024, 1024, "nt", 1024, 0, s.transposed, s.other_transposed);
    put_beside(b, cublas, 1024, 1024, 1024, "tn", 1024, 0, s.transposed, s.other_transposed);
}

static enum claim_verdict with(const char *id, struct beside s)
{
    struct bundle b = {0};
    put_all(&b, s);
    return verdict(id, &b);
}

static void alignment(void **unused)
{
    struct beside s = usual;
    (void)unused;
    assert_int_equal(with("C58", s), CLAIM_REPRODUCED);
    s.odd_rows = s.off = s.odd_size = 1.03; /* the large ones, measured twice, are said only */
    assert_int_equal(with("C58", s), CLAIM_REFUTED);
    s.off = 1.1;
    assert_int_equal(with("C58", s), CLAIM_MIXED);
    s.odd_rows = 1.2005; /* its interval contains 1.20 */
    assert_int_equal(with("C58", s), CLAIM_MIXED);
    s = usual;
    s.same = 1.06; /* nothing was changed, and it is slower */
    assert_int_equal(with("C58", s), CLAIM_NOT_TESTABLE);
    s = usual;
    s.ruler = 1.1; /* half as much again to do is not seen */
    assert_int_equal(with("C58", s), CLAIM_NOT_TESTABLE);
}

static void selection(void **unused)
{
    struct beside s = usual;
    (void)unused;
    assert_int_equal(with("C86", s), CLAIM_REPRODUCED);
    s.other = 0; /* slow, but by the same kernel */
    assert_int_equal(with("C86", s), CLAIM_REFUTED);
    s.other_transposed = 1; /* another kernel, as fast */
    assert_int_equal(with("C86", s), CLAIM_MIXED);
    s.odd_rows = s.off = 1.01;
    assert_int_equal(with("C86", s), CLAIM_REFUTED);
    s = usual;
    s.other_same = 1;
    assert_int_equal(with("C86", s), CLAIM_NOT_TESTABLE);
    s = usual;
    s.other_vector = 0; /* different names count as the same */
    assert_int_equal(with("C86", s), CLAIM_NOT_TESTABLE);
}

/* --- C79 ------------------------------------------------------------------------------------- */

static void put_over(struct bundle *b, int n, const char *type, const char *impl, double over)
{
    char id[160];
    snprintf(id, sizeof id,
             "gemm_sizes.over_library{m=%d,n=%d,k=%d,type=%s,acc=fp32,layout=nn,%s,l2=warm}", n, n,
             n, type, impl);
    put_spread(&b->rows, id, "ratio", ROW_LOWER, over, 0.002, 7);
}

static enum claim_verdict c79(double at_2048, double at_4096, double at_8192, double loser,
                              double itself)
{
    struct bundle b = {0};
    put_over(&b, 1024, "fp16", "impl=own,tile=best", 0.94);
    put_over(&b, 2048, "fp16", "impl=own,tile=best", at_2048);
    put_over(&b, 4096, "fp16", "impl=own,tile=best", at_4096);
    put_over(&b, 4096, "bf16", "impl=own,tile=best", at_4096);
    put_over(&b, 8192, "fp16", "impl=own,tile=best", at_8192);
    put_over(&b, 2048, "fp16", "impl=mma,tile=32x32", loser);
    put_over(&b, 1024, "fp16", "impl=cublaslt,tile=best", itself);
    return verdict("C79", &b);
}

static void libraries_win(void **unused)
{
    (void)unused;
    assert_int_equal(c79(1.05, 1.04, 1.06, 3, 1), CLAIM_REPRODUCED);
    assert_int_equal(c79(1.05, 1.01, 1.01, 3, 1), CLAIM_MIXED);
    assert_int_equal(c79(1.02, 1.01, 0.9, 3, 1), CLAIM_REFUTED);
    assert_int_equal(c79(1.03, 1.04, 1.06, 3, 1), CLAIM_MIXED);
    assert_int_equal(c79(1.05, 1.04, 1.06, 1.02, 1), CLAIM_NOT_TESTABLE);
    assert_int_equal(c79(1.05, 1.04, 1.06, 3, 1.05), CLAIM_NOT_TESTABLE);
}

/* --- C79b, C79c ------------------------------------------------------------------------------ */

/* us of our kernel, PyTorch's library and its compiler. */
struct ways {
    double custom, library, compiler;
};

static void put_way(struct bundle *b, double us, const char *format, const char *impl)
{
    char id[192];
    snprintf(id, sizeof id, format, impl);
    put_spread(&b->rows, id, "ns", ROW_LOWER, 1e3 * us, us, 7);
}

static void put_ways(struct bundle *b, struct ways w, const char *ours, const char *theirs)
{
    put_way(b, w.custom, ours, "fused");
    put_way(b, w.library, theirs, "eager");
    put_way(b, w.compiler, theirs, "compile");
}

#define OURS(program, op, shape, l2)                                                               \
    program ".time{" op shape ",type=fp16,impl=%s,mode=graph,l2=" l2 ",timer=event}"
#define THEIRS(op, shape, l2)                                                                      \
    "fused_peers.time{op=" op "," shape ",type=fp16,impl=%s,l2=" l2 ",timer=event}"
#define BOTH(program, key, op, shape, l2) OURS(program, key, shape, l2), THEIRS(op, shape, l2)

/* A chain, a norm and a softmax of three shapes; our three separate kernels for the chain. */
static enum claim_verdict c79_of(const char *id, struct ways chain, struct ways norm,
                                 struct ways softmax, double separate)
{
    struct bundle b = {0};
    put_ways(&b, chain,
             BOTH("bias_gelu_scale", "", "bias_gelu_scale", "rows=16384,cols=8192", "cold"));
    put_way(&b, separate, OURS("bias_gelu_scale", "", "rows=16384,cols=8192", "cold"), "unfused");
    put_ways(
        &b, norm,
        BOTH("norm", "op=rmsnorm_residual,", "rmsnorm_residual", "rows=16384,cols=8192", "cold"));
    put_ways(&b, softmax, BOTH("softmax", "", "softmax", "rows=131072,cols=4096", "cold"));
    put_ways(&b, softmax, BOTH("softmax", "", "softmax", "rows=1,cols=131072", "warm"));
    put_ways(&b, softmax, BOTH("softmax", "", "softmax", "rows=32,cols=32768", "warm"));
    return verdict(id, &b);
}

static void custom_and_compiled(void **unused)
{
    const struct ways ours = {130, 600, 170}, alike = {265, 380, 266}, theirs = {265, 600, 170};
    const struct ways library = {265, 130, 170};
    (void)unused;
    assert_int_equal(c79_of("C79b", ours, ours, ours, 390), CLAIM_REPRODUCED);
    assert_int_equal(c79_of("C79b", ours, alike, ours, 390), CLAIM_MIXED);
    assert_int_equal(c79_of("C79b", theirs, theirs, theirs, 390), CLAIM_REFUTED);
    assert_int_equal(c79_of("C79c", theirs, ours, theirs, 390), CLAIM_REPRODUCED);
    assert_int_equal(c79_of("C79c", theirs, ours, ours, 390), CLAIM_REFUTED);
    assert_int_equal(c79_of("C79c", theirs, ours, library, 390), CLAIM_REFUTED);
    assert_int_equal(c79_of("C79c", theirs, ours, alike, 390), CLAIM_MIXED);
    assert_int_equal(c79_of("C79b", ours, ours, ours, 171),
                     CLAIM_NOT_TESTABLE); /* three like one */
    assert_int_equal(c79_of("C79c", (struct ways){130, 200, 170}, ours, theirs, 390),
                     CLAIM_NOT_TESTABLE); /* and so of PyTorch's */
    assert_int_equal(c79_of("C79b", (struct ways){1, 1, 1}, ours, ours, 1), CLAIM_NOT_TESTABLE);
}

/* --- C89 ------------------------------------------------------------------------------------- */

static void put_choice(struct bundle *b, const char *metric, double value)
{
    char id[96];
    snprintf(id, sizeof id, "gemm_sizes.%s}", metric);
    put_spread(&b->rows, id, "ratio", ROW_LOWER, value, 0.001, 7);
}

/* Chosen on the nearest shape, by a rule, on the shape itself; fixed by the others, by all. */
static enum claim_verdict c89(const char *id, double neighbour, double rule, double measured,
                              double elsewhere, double fixed, double worst, double moved)
{
    struct bundle b = {0};
    put_choice(&b, "over_best{by=measured", measured);
    put_choice(&b, "over_best{by=neighbour", neighbour);
    put_choice(&b, "over_best{by=rule", rule);
    put_choice(&b, "over_best{by=fixed_elsewhere", elsewhere);
    put_choice(&b, "over_best{by=fixed", fixed);
    put_choice(&b, "over_best{by=worst", worst);
    put_choice(&b, "slowest_over_best{of=all", 12);
    put_choice(&b, "moved{of=all", moved);
    return verdict(id, &b);
}

static void choosing(void **unused)
{
    (void)unused;
    assert_int_equal(c89("C89", 1.01, 1.2, 1.5, 1.25, 1, 4, 1.01), CLAIM_REPRODUCED);
    assert_int_equal(c89("C89", 1.3, 1.02, 1.5, 1.25, 1, 4, 1.01), CLAIM_REPRODUCED);
    assert_int_equal(c89("C89", 1.25, 1.15, 1, 1.16, 9, 4, 1.01), CLAIM_REFUTED);
    assert_int_equal(c89("C89", 1.25, 1.15, 1, 1.3, 9, 4, 1.01), CLAIM_MIXED); /* ahead, not near */
    assert_int_equal(c89("C89", 1.03, 1.2, 1, 1.25, 9, 4, 1.01), CLAIM_MIXED); /* on the edge */
    assert_int_equal(c89("C89b", 2, 2, 1.005, 1, 1.25, 4, 1.01), CLAIM_REPRODUCED);
    assert_int_equal(c89("C89b", 1, 1, 1.005, 9, 1.02, 4, 1.01), CLAIM_REFUTED);
    assert_int_equal(c89("C89b", 1, 1, 1.10, 9, 1.3, 4, 1.01), CLAIM_MIXED);
    assert_int_equal(c89("C89", 1.01, 1.2, 1, 1.25, 1, 4, 1.05), CLAIM_NOT_TESTABLE);
    assert_int_equal(c89("C89", 1.01, 1.2, 1, 1.25, 1, 1.02, 1.01), CLAIM_NOT_TESTABLE);
    assert_int_equal(c89("C89b", 1, 1, 1.005, 9, 1.25, 1.02, 1.01), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_bottoms_out),
        cmocka_unit_test(its_controls),
        cmocka_unit_test(alignment),
        cmocka_unit_test(selection),
        cmocka_unit_test(libraries_win),
        cmocka_unit_test(custom_and_compiled),
        cmocka_unit_test(choosing),
    };
    return cmocka_run_group_tests_name("claims on products of every size", tests, NULL, NULL);
}
