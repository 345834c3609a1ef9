/* Shared by the files of sm_to_sm: metrics. */
#ifndef PROBES_SM_TO_SM_SM_TO_SM_H
#define PROBES_SM_TO_SM_SM_TO_SM_H

#include "core/gpu.h"

/* Indices into the table of metrics in sm_to_sm.c. */
enum {
    DSMEM,
    DSMEM_TIME,
    DSMEM_SELF,
    DSMEM_MAP,
    FASTEST,
    SLOWEST,
    REFERENCE,
    REFERENCE_TIME,
    L2_SIDES,
    SIDE_OF_SM,
    FLAG,
    FLAG_TIME,
    HANDOVER,
    HANDOVER_TIME,
    STALE,
    VISIBLE,
    VISIBLE_TIME,
};

/* --- handover.c: data with a flag, and a store until it is visible ---------------------------- */

/* `shared` bytes keep a second block off an SM. */
void sm_to_sm_measure_handovers(struct probe_run *r, size_t shared);

#endif
