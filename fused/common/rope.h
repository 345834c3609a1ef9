/* Rotary position embedding: the angles of one position. */
#ifndef FUSED_COMMON_ROPE_H
#define FUSED_COMMON_ROPE_H

#include <stdint.h>

/* Fills table[d]: cosine and sine of each of the d / 2 pairs of a head of d numbers at a position,
 * base 500000 as in Llama 3. */
void rope_angles(float *table, uint32_t d, uint32_t position);

#endif
