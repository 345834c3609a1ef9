/* Shared by the unit tests: cmocka with the headers that it needs first, and comparing numbers. */
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
    if (isnan(expected)
            ? isnan(actual)
            : actual == expected || fabs(actual - expected) <= tolerance * fabs(expected))
        return;
    print_error("%s is %.17g, expected %.17g\n", what, actual, expected);
    _fail(file, line);
}

#endif
