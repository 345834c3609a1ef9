/* Random numbers of the host, for shapes, orders, and the places that a check looks at. All come
 * from one generator, splitmix64 (Steele, Lea, Flood 2014). Any 64 bits are a good initial state, 0
 * too, and the same state gives the same numbers on every machine. */
#ifndef CORE_DRAW_H
#define CORE_DRAW_H

#include <stdint.h>

/* 64 random bits; advances the state. */
uint64_t draw(uint64_t *state);

/* 0 .. n-1, by remainder: for n above 2^40 small numbers come slightly too often. */
uint64_t draw_below(uint64_t *state, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53. */
double draw_uniform(uint64_t *state);

/* The mixing step of draw(): neighbouring states give unrelated bits. */
uint64_t draw_mixed(uint64_t z);

#endif
