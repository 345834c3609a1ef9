/* Predictions that were written down before a layer was measured: results/BOARD/floor/NAME.tsv, as
 * `gpufloor floor --format tsv` prints them, under the name of the bundle that they rest on. */
#ifndef REPORT_FLOOR_FROZEN_H
#define REPORT_FLOOR_FROZEN_H

#include <stdbool.h>
#include <stddef.h>

enum { FROZEN_CELLS = 512, FROZEN_NAME = 96 };

/* Of one packaging of a model's decode step, in ns; NaN: not predicted. */
struct frozen_cell {
    char model[32], packaging[16]; /* "llama-1b", "ring" */
    double context, batch;
    double layer, step, layer_floor, step_floor;
};

struct frozen {
    char name[FROZEN_NAME]; /* of the bundle that they rest on: "2026-11-22-80d6623-1" */
    struct frozen_cell cell[FROZEN_CELLS];
    size_t n;
};

/* The newest predictions of a board that are not younger than a day, "2026-11-23" or longer. False:
 * there are none, or they cannot be read. The file is untrusted. */
bool frozen_read(struct frozen *frozen, const char *results, const char *board, const char *day);

/* The cell of a packaging; NULL: none. */
const struct frozen_cell *frozen_find(const struct frozen *frozen, const char *model,
                                      double context, const char *packaging);

#endif
