/* core/permute.h: a bijection at every size, whose ring is one cycle that no prefetcher can
 * guess. */
#include "core/permute.h"

#include <stdlib.h>

#include "tests/unit/check.h"

/* 1, 2, small primes, powers of two and of four and their neighbours, and a size of a real ring. */
static const uint64_t sizes[] = {1,   2,   3,   4,   5,    7,    8,    13,   15,    16,
                                 17,  31,  63,  64,  65,   97,   128,  255,  256,   257,
                                 509, 512, 999, 1000, 1021, 1024, 4095, 4096, 4097, 65537,
                                 131072, 262147, 1000003};

static void bijection(void **state)
{
    (void)state;
    for (size_t k = 0; k < CHECK_LENGTH(sizes); k++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            uint64_t n = sizes[k];
            struct permutation p = permutation_of(n, seed * 0x123456789abcdefu);
            unsigned char *seen = calloc(n, 1);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t x = permute(p, i);
                assert_true(x < n);
                assert_false(seen[x]);
                seen[x] = 1;
            }
            free(seen);
        }
}

/* The ring as the probes build it: line permute(i) points to line permute(i + 1). */
static void one_cycle(void **state)
{
    (void)state;
    for (size_t k = 0; k < CHECK_LENGTH(sizes); k++) {
        uint64_t n = sizes[k], steps = 0, at = 0;
        struct permutation p = permutation_of(n, 42);
        uint64_t *next = malloc(n * sizeof *next);
        for (uint64_t i = 0; i < n; i++)
            next[permute(p, i)] = permute(p, (i + 1) % n);
        do {
            at = next[at];
            steps++;
        } while (at != 0 && steps <= n);
        assert_int_equal(steps, n);
        free(next);
    }
}

static void seeds_differ(void **state)
{
    enum { N = 4096 };
    struct permutation a = permutation_of(N, 1), b = permutation_of(N, 2);
    int same = 0;
    (void)state;
    for (uint64_t i = 0; i < N; i++)
        same += permute(a, i) == permute(b, i);
    assert_true(same < 16); /* one is expected by chance */
    assert_int_equal(permute(a, 7), permute(permutation_of(N, 1), 7));
}

/* Neighbours in time are no neighbours in memory, and no stride is frequent. */
static void unpredictable(void **state)
{
    enum { N = 65536 };
    struct permutation p = permutation_of(N, 9);
    unsigned *strides = calloc(N, sizeof *strides), near = 0, most = 0;
    double moved = 0;
    (void)state;
    for (uint64_t i = 0; i + 1 < N; i++) {
        uint64_t a = permute(p, i), b = permute(p, i + 1), distance = a > b ? a - b : b - a;
        near += distance <= 16;
        moved += (double)distance;
        strides[distance]++;
        most = strides[distance] > most ? strides[distance] : most;
    }
    free(strides);
    assert_true(near < 3 * 2 * 16);             /* 32 by chance, at most three times that */
    assert_close(moved / N, N / 3.0, 0.02);     /* mean distance of two random places */
    assert_true(most < 20);                     /* two by chance */
}

/* Far beyond what can be stored: elements of the range, all different. */
static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void huge(void **state)
{
    enum { SAMPLES = 20000 };
    static const uint64_t many[] = {((uint64_t)1 << 33) + 5, ((uint64_t)1 << 40) - 1,
                                    (uint64_t)1 << 62};
    uint64_t *got = malloc(SAMPLES * sizeof *got);
    (void)state;
    for (size_t k = 0; k < CHECK_LENGTH(many); k++) {
        struct permutation p = permutation_of(many[k], 3);
        for (uint64_t i = 0; i < SAMPLES; i++) {
            got[i] = permute(p, i);
            assert_true(got[i] < many[k]);
        }
        qsort(got, SAMPLES, sizeof *got, ascending);
        for (size_t i = 1; i < SAMPLES; i++)
            assert_true(got[i] != got[i - 1]);
        assert_true(got[SAMPLES - 1] > many[k] / 2);
    }
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bijection),   cmocka_unit_test(one_cycle), cmocka_unit_test(seeds_differ),
        cmocka_unit_test(unpredictable), cmocka_unit_test(huge),
    };
    return cmocka_run_group_tests_name("permute", tests, NULL, NULL);
}
