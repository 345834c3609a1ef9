/* Shared by the files of occupancy: metrics, and the census of blocks. */
#ifndef PROBES_OCCUPANCY_OCCUPANCY_H
#define PROBES_OCCUPANCY_OCCUPANCY_H

#include "core/gpu.h"
#include "probes/occupancy/args.h"

/* Indices into the table of metrics in occupancy.c. */
enum { READ_RATE, PATH_RATE, HIT, LAYERS, SPLIT, RESIDENT, PREDICTED, FMA_INTERVAL, FMA_RATE };

enum { CHECK_TURNS = 3 }; /* of the launch that is checked and not timed */

struct reader {
    void *buffer;
    uint64_t elements;    /* of 16 bytes, in the whole buffer */
    uint32_t l2_elements; /* of them are read for level=l2 */
    uint32_t *prefix;     /* host: XOR of all words of the first i elements, up to l2_elements */
    uint32_t *check, *census;
    char *ring; /* of the chases in global memory */
};

/* --- occupancy.c ------------------------------------------------------------------------------ */

/* Are there exactly per_sm blocks on every SM? Clears the census. */
void occupancy_check_census(struct probe_run *r, const struct reader *x, unsigned per_sm);

/* Are the blocks on an SM at the same time, or one after another? The census cannot tell. */
bool occupancy_fits(cudaKernel_t kernel, unsigned threads, size_t shared, unsigned per_sm);

/* --- chains.c: multiply-adds ------------------------------------------------------------------ */

void occupancy_measure_fma(struct probe_run *r, const struct reader *x);

#endif
