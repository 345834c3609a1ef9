/* Rotary position embedding: see rope.h. */
#include "fused/common/rope.h"

#include <math.h>

enum { BASE = 500000 };

void rope_angles(float *table, uint32_t d, uint32_t position)
{
    for (uint32_t i = 0; i < d / 2; i++) {
        const double angle = position * pow(BASE, -2.0 * i / d);
        table[2 * i] = (float)cos(angle);
        table[2 * i + 1] = (float)sin(angle);
    }
}
