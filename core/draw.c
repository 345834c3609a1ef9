#include "core/draw.h"

static const uint64_t STEP = 0x9e3779b97f4a7c15u;

uint64_t draw_mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t draw(uint64_t *state)
{
    return draw_mixed(*state += STEP);
}

uint64_t draw_below(uint64_t *state, uint64_t n)
{
    return draw(state) % n;
}

double draw_uniform(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}
