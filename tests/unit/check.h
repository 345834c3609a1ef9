/* What the unit tests share: cmocka with the headers that it wants first, and numbers. */
#ifndef GPUFLOOR_CHECK_H
#define GPUFLOOR_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CHECK_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Equal within a relative tolerance; tolerance 0 means the very same number. NaN equals NaN. */
#define assert_close(actual, expected, tolerance) \
    check_close((actual), (expected), (tolerance), #actual, __FILE__, __LINE__)
#define assert_same(actual, expected) assert_close(actual, expected, 0)
#define assert_nan(actual) assert_close(actual, (double)NAN, 0)

static inline void check_close(double actual, double expected, double tolerance, const char *what,
                               const char *file, int line)
{
    if (isnan(expected) ? isnan(actual)
                        : actual == expected || fabs(actual - expected) <= tolerance * fabs(expected))
        return;
    print_error("%s is %.17g, expected %.17g\n", what, actual, expected);
    _fail(file, line);
}

/* splitmix64 (Steele et al. 2014): the same numbers on every machine. */
static inline uint64_t check_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in [0, 1). */
static inline double check_uniform(uint64_t *state)
{
    return (double)(check_random(state) >> 11) * 0x1p-53;
}

#endif
