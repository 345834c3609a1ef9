/* Predictions that were written down before a layer was measured, as `gpufloor floor --format tsv`
 * prints them: results/BOARD/floor/DAY-from-BUNDLE.tsv, by the day on which they were made and the
 * name of the bundle that they rest on; of the bundle's day, BUNDLE.tsv. */
#ifndef REPORT_FLOOR_FROZEN_H
#define REPORT_FLOOR_FROZEN_H

#include <stdbool.h>
#include <stddef.h>

enum { FROZEN_CELLS = 512, FROZEN_NAME = 96, FROZEN_DAY = 10 };

/* Of one packaging of a model's decode step, in ns; NaN: not predicted. */
struct frozen_cell {
    char model[32], packaging[16]; /* "llama-1b", "ring" */
    double context, batch;
    double layer, step, layer_floor, step_floor;
};

struct frozen {
    char name[FROZEN_NAME];   /* of the file, without its ending */
    char day[FROZEN_DAY + 1]; /* on which they were made: "2026-11-23" */
    const char *bundle;       /* that they rest on, of name: "2026-11-27-4a747a3-1" */
    struct frozen_cell cell[FROZEN_CELLS];
    size_t n;
};

/* The newest predictions of a board that were made before the day on which something was measured,
 * "2026-11-23" or longer: what was made on that day may have been made with it in view. False:
 * there are none, or they cannot be read. The file is untrusted. */
bool frozen_read(struct frozen *frozen, const char *results, const char *board,
                 const char *measured);

/* The cell of a packaging; NULL: none. */
const struct frozen_cell *frozen_find(const struct frozen *frozen, const char *model,
                                      double context, const char *packaging);

#endif
