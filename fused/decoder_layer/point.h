/* One point of the sweep, its memory made when the first of its cases is due; and the metrics. */
#ifndef FUSED_DECODER_LAYER_POINT_H
#define FUSED_DECODER_LAYER_POINT_H

#include "fused/decoder_layer/check.h"

enum {
    LAYER_TIME,
    STEP_TIME,
    SHARE_OF_READ,
    BYTES,
    ERROR,
    KERNELS,
    CAUGHT,
    WHERE,
    CLOSES,
    TIMELINE,
    BARRIER_UNDER_LOAD,
    ENDURED,
    POWER,
    ENERGY,
};

enum { BARE_READ = DECODER_WAYS, CONSUMERS }; /* what takes power: a packaging, or the read */

struct point {
    struct decoder_problem p;
    uint32_t layers, steps; /* n of the slopes; steps 0: layers alone */
    uint32_t held;          /* layers of a chain of which each step is checked by itself */
    unsigned flags;
    const bool *is_power_due; /* of each consumer, in three rounds; else with --deep. NULL: never */
    bool is_ready;
    struct decoder_kernels kernels;
    struct decoder_tensors t;
    struct decoder_check check;
    uint64_t digest[DECODER_BITS][2], chosen[DECODER_BITS][2]; /* of n and 2n layers, and steps */
    double read_ns, layer_ns[DECODER_WAYS];
};

/* Makes its memory, once. */
void point_ready(struct probe_run *r, struct point *q);
void point_free(struct probe_run *r, struct point *q);

/* Begins a case of it and makes its memory; false: the case is not due. */
bool point_begin(struct probe_run *r, struct point *q, const char *impl, unsigned flags);

/* A launch that finds no number of an earlier one. */
void point_launch_poisoned(struct probe_run *r, const struct decoder_packing *p,
                           struct decoder_work work);
/* The first packaging of a kind gives the bits; all others, and later launches, must agree. */
void point_require_bits(struct probe_run *r, const struct decoder_packing *p, uint64_t *known,
                        uint32_t steps, const char *when);
/* One layer, n layers twice, 2n layers; a step, and 2n of them. Returns the error of one layer. */
double point_verify(struct probe_run *r, struct point *q, const struct decoder_packing *p);

/* power.c: joules of step upon step; p NULL: of reads of as many bytes. lacks: why it cannot run
 * here, or NULL; step_ns: what a step takes. */
void point_measure_power(struct probe_run *r, struct point *q, const struct decoder_packing *p,
                         const char *lacks, double step_ns);

/* watch.c: where the time goes in a kernel that stays. The parts are points of a figure, whose
 * spread between rounds is shown. The timeline is a map. */
void point_measure_where(struct probe_run *r, struct point *q, enum decoder_way_name name);

#endif
