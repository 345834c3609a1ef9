#include "core/half.h"

#include <math.h>
#include <string.h>

double half_fp16(uint16_t bits)
{
    /* As a float with the exponent of its own bias, 15, which is then scaled to that of a float,
     * 127. The scaling also makes a normal float of a number that is subnormal as fp16. */
    uint32_t wide = (uint32_t)(bits & 0x7fff) << 13;
    float value;
    if ((bits & 0x7c00) == 0x7c00)
        return bits & 1023 ? (double)NAN : bits >> 15 ? -(double)INFINITY : (double)INFINITY;
    memcpy(&value, &wide, sizeof value);
    return (bits >> 15 ? -0x1p112 : 0x1p112) * (double)value;
}

double half_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t half_to_bf16(float value)
{
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}
