/* Boards: the kind of GPU, its short name, and what its vendor rates it at. */
#ifndef GPUFLOOR_BOARD_H
#define GPUFLOOR_BOARD_H

#include <stddef.h>

/* "NVIDIA H200" -> "nvidia-h200": lower case, every run of other characters one '-'. Returns slug,
 * which is "unknown" for a name without a letter or digit. */
char *board_slug(char *slug, size_t size, const char *name);

/* Rated dense peak of fp16 products accumulated in fp32, in flop/s, and where the vendor states it.
 */
struct board_peak {
    const char *slug;
    double fp16_fp32_flops;
    const char *source;
};

/* The row of a board, or NULL where none is known for certain. */
const struct board_peak *board_peak(const char *slug);

#endif
