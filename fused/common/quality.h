/* Judges the results of a fused kernel in three ways: their distance from the unfused results, bit
 * for bit; a digest of them; and whether the probe's own verification would notice a fault in
 * them. */
#ifndef FUSED_COMMON_QUALITY_H
#define FUSED_COMMON_QUALITY_H

#include <stdint.h>

#include "core/args.h"

struct quality_found {
    uint64_t differ, most_ulps, digest;
};

struct quality_args {
    const void *a, *b;           /* `count` elements each; b NULL: only the digest of a is made */
    struct quality_found *found; /* zeroed */
    uint64_t count;
    uint32_t size;               /* bytes of an element: 1, 2 or 4, compared as sign and
                                  * magnitude */
    uint32_t pad;
};
ARGS_SIZE(struct quality_args, 40);

enum quality_fault {
    QUALITY_NAN,         /* one element is NaN */
    QUALITY_ZERO,        /* sixteen bytes are zero: a store was skipped */
    QUALITY_LAST_COLUMN, /* the last column holds its neighbour's values */
    QUALITY_LAST_ROW,    /* the last row holds the row before it: a stale row */
    QUALITY_SWAPPED,     /* two rows, or heads, are swapped */
    QUALITY_SHIFTED,     /* a row is shifted by one element */
    QUALITY_SIGN,        /* one element, the greatest of its row, has the wrong sign */
    QUALITY_SCALED,      /* a whole row is too large: by a factor of 2, in fp16 by an eighth */
    N_QUALITY_FAULTS,
};

struct quality_fault_args {
    void *memory; /* rows x columns elements of 1, 2 or 4 bytes, row-major, packed */
    uint64_t rows, columns;
    uint32_t size, fault;
};
ARGS_SIZE(struct quality_fault_args, 32);

#ifndef __CUDACC__

#include "core/gpu.h"

/* Compares the current case's results with the unfused ones: OPERATION_DIFFER and
 * OPERATION_ULPS. */
void quality_distance(struct probe_run *r, const void *result, const void *unfused, size_t size,
                      uint64_t count);

/* OPERATION_DIGEST of results for inputs of a fixed seed. The digest must agree between runs, and
 * it tells one GPU's arithmetic from another's. */
void quality_digest(struct probe_run *r, const void *result, size_t size, uint64_t count);

/* Plants one fault after another in right results, and asks is_wrong() whether verification
 * notices. Records OPERATION_CAUGHT, and as a fact the names of the faults that went unnoticed.
 * Restores the results. Faults that leave the bits unchanged (in a matrix of one row) do not
 * count. */
struct quality_results {
    void *memory; /* packed rows x columns */
    uint64_t rows, columns;
    size_t size;
};
void quality_faults(struct probe_run *r, const struct quality_results *results,
                    bool (*is_wrong)(struct probe_run *r, const void *self), const void *self);

/* All three for the current case. Launches the unfused and the fused form, each with its self, on
 * set 0. Both write to the same place, which is poisoned in between. */
struct quality_pair {
    struct quality_results results;
    void (*launch_unfused)(struct probe_run *r, const void *self, size_t set);
    void (*launch_fused)(struct probe_run *r, const void *self, size_t set);
    const void *unfused, *fused;
    bool (*is_wrong)(struct probe_run *r, const void *fused);
    bool no_distance; /* the results are not sign and magnitude */
};
void quality_of_pair(struct probe_run *r, const struct quality_pair *pair);
#endif

#endif
