/* Boards: the kind of GPU, its short name, and what its vendor rates it at. */
#ifndef GPUFLOOR_BOARD_H
#define GPUFLOOR_BOARD_H

#include <stddef.h>

/* "NVIDIA H200" -> "nvidia-h200": lower case, with each run of other characters replaced by one
 * '-'. Returns slug. A name without a letter or digit gives "unknown". */
char *board_slug(char *slug, size_t size, const char *name);

/* Rated dense peak of fp16 products accumulated in fp32, in flop/s, and the vendor's document. */
struct board_peak {
    const char *slug;
    double fp16_fp32_flops;
    const char *source;
};

/* The row of a board, or NULL if its peak is not known for certain. Each GPU of several has the
 * peak of one: that of 2x-nvidia-h200 is nvidia-h200's. */
const struct board_peak *board_peak(const char *slug);

#endif
