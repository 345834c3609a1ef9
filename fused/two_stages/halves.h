/* Two streams, one for each stage: ordinary ones, or those of two green contexts with half of the
 * SMs each. */
#ifndef FUSED_TWO_STAGES_HALVES_H
#define FUSED_TWO_STAGES_HALVES_H

#include "core/gpu.h"

struct halves {
    cudaStream_t stream[2];
    unsigned sms[2];    /* of each; of ordinary streams: for as many SMs they have blocks */
    cudaEvent_t *event; /* n of them, without times */
    size_t n;
    void *green[2]; /* CUgreenCtx, or NULL */
};

void halves_open_streams(struct probe_run *r, struct halves *h, size_t events);

/* False where driver or GPU have no green contexts, with the reason in `why`. */
bool halves_open_green(struct probe_run *r, struct halves *h, size_t events, char *why,
                       size_t size);

void halves_close(struct halves *h);

#endif
