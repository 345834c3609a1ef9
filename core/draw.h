/* What the host draws: shapes, places that are looked at, orders. One generator for all, splitmix64
 * (Steele, Lea, Flood 2014): any 64 bits are a good state to begin with, 0 too, and the same state
 * gives the same draws on every machine. */
#ifndef CORE_DRAW_H
#define CORE_DRAW_H

#include <stdint.h>

/* 64 random bits; moves the state on. */
uint64_t draw(uint64_t *state);

/* 0 .. n-1; by remainder, so that for an n beyond 2^40 small ones come a little too often. */
uint64_t draw_below(uint64_t *state, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53. */
double draw_uniform(uint64_t *state);

/* The bits that draw() makes of a state: neighbours become strangers. */
uint64_t draw_mixed(uint64_t z);

#endif
