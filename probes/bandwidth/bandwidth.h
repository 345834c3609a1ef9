/* Shared by the files of bandwidth: the buffers that are moved, and checks of what was read. */
#ifndef PROBES_BANDWIDTH_BANDWIDTH_H
#define PROBES_BANDWIDTH_BANDWIDTH_H

#include "core/gpu.h"
#include "probes/bandwidth/args.h"

/* Indices into the table of metrics in bandwidth.c. */
enum { RATE, SM_RATE, IN_STEP, CURVE, LOADED, LOADED_RATE, CAPACITY, POWER, ENERGY };

enum { MIB = 1 << 20, SUM_BYTES = SUM_WORDS * SUM_SPACING * 4, N_FORMS = 9 };
static const size_t GIB = (size_t)1 << 30;

enum op { READ, WRITE, COPY };
extern const char *const bandwidth_op_names[];

struct mover {
    cudaKernel_t kernel[N_FORMS], verify; /* forms: streams.c */
    char *in, *out;   /* `room` bytes each */
    size_t room;
    uint32_t *sum, *log; /* SUM_WORDS words each, SUM_SPACING words apart */
    uint64_t *result; /* of a verification */
    struct bandwidth_local *blocks; /* mapped, one each */
    uint32_t salt;
};

/* --- bandwidth.c ------------------------------------------------------------------------------ */

/* Counts the elements that differ from other memory or from a pattern; also sums all 32-bit
 * words. */
uint64_t bandwidth_run_verifier(struct probe_run *r, const struct mover *m,
                                struct bandwidth_verify_args a, uint64_t *sum);

/* The sum of all words of the first `bytes` that are read, by a kernel that is not timed. */
uint64_t bandwidth_sum_of(struct probe_run *r, const struct mover *m, size_t bytes);

/* Zeroes m->sum and m->log; requires that what was gathered in one of them has the expected sum. */
void bandwidth_clear_sums(struct probe_run *r, const struct mover *m);
void bandwidth_check_sum(struct probe_run *r, const uint32_t *gathered, uint32_t must,
                         const char *what);

/* --- streams.c: global memory ----------------------------------------------------------------- */

/* The kernels of all forms; NULL if this GPU has none. */
void bandwidth_find_forms(struct probe_run *r, cudaKernel_t kernel[N_FORMS]);
void bandwidth_measure_streams(struct probe_run *r, struct mover *m);
void bandwidth_measure_powers(struct probe_run *r, struct mover *m);

/* --- local.c: the memory of an SM ------------------------------------------------------------- */

void bandwidth_measure_locals(struct probe_run *r, struct mover *m);

/* --- loaded.c: a load while the others stream ------------------------------------------------- */

void bandwidth_measure_loaded(struct probe_run *r, const struct mover *m);

#endif
