/* core/half.h: every one of the 65536 patterns of both types, against a conversion that goes
 * another way: the bits of the float that has the same value, after IEEE 754-2019 section 3.4. */
#include "core/half.h"

#include <string.h>

#include "tests/unit/check.h"

static double float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Widens the fields: exponent bias 15 -> 127, fraction shifted left by 13; subnormals are made
 * normal by shifting until the leading bit falls out. */
static double fp16_by_bits(uint32_t bits)
{
    uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31)
        return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) {
        if (fraction == 0)
            return float_of(sign);
        for (exponent = 1; !(fraction & 1024); exponent--)
            fraction <<= 1;
        fraction &= 1023;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

static double bf16_by_fields(uint32_t bits)
{
    int exponent = (int)(bits >> 7 & 255), fraction = (int)(bits & 127);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 255)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -126 - 7);
    return sign * ldexp(128 + fraction, exponent - 127 - 7);
}

static void assert_pattern(double actual, double expected, uint32_t bits)
{
    bool same = isnan(expected) ? isnan(actual)
                                : actual == expected && !signbit(actual) == !signbit(expected);
    if (!same)
        fail_msg("pattern 0x%04x is %.17g, expected %.17g", (unsigned)bits, actual, expected);
}

static void all_fp16(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++)
        assert_pattern(half_fp16((uint16_t)bits), fp16_by_bits(bits), bits);
}

static void all_bf16(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++)
        assert_pattern(half_bf16((uint16_t)bits), bf16_by_fields(bits), bits);
}

/* Each number comes back, and what lies between two goes to the nearer one, or to the even one. */
static void to_bf16(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const uint32_t more = bits + 1;
        if ((bits & 0x7fff) >= 0x7f80)
            continue;
        const uint32_t even = bits & 1 ? more : bits;
        const struct {
            uint32_t wide, expected;
        } near[] = {{bits << 16, bits},
                    {bits << 16 | 0x7fff, bits},
                    {bits << 16 | 0x8000, even},
                    {bits << 16 | 0x8001, more}};
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(half_to_bf16((float)float_of(near[i].wide)), near[i].expected);
    }
}

/* Values that anyone can look up. */
static void known(void **state)
{
    (void)state;
    assert_same(half_fp16(0x3c00), 1);
    assert_same(half_fp16(0xc000), -2);
    assert_same(half_fp16(0x7bff), 65504);
    assert_same(half_fp16(0x0400), 0x1p-14);
    assert_same(half_fp16(0x0001), 0x1p-24);
    assert_same(half_fp16(0x3555), 0.333251953125);
    assert_same(half_bf16(0x3f80), 1);
    assert_same(half_bf16(0xc000), -2);
    assert_same(half_bf16(0x7f7f), 0x1.fep127);
    assert_same(half_bf16(0x4049), 3.140625);
}

static void units(void **state)
{
    (void)state;
    assert_same(2 * HALF_FP16_UNIT, half_fp16(0x3c01) - 1);
    assert_same(2 * HALF_BF16_UNIT, half_bf16(0x3f81) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_fp16),
        cmocka_unit_test(all_bf16),
        cmocka_unit_test(to_bf16),
        cmocka_unit_test(known),
        cmocka_unit_test(units),
    };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
