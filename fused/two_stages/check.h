/* Are the results of a packaging right? In float64 on the GPU, and where they are few on the CPU */
#ifndef FUSED_TWO_STAGES_CHECK_H
#define FUSED_TWO_STAGES_CHECK_H

#include "core/verdict.h"
#include "fused/two_stages/pack.h"

struct stages_check {
    cudaKernel_t k_reference, k_verify;
    double *h;                        /* items x ffn */
    float *expected[N_STAGES_ORDERS]; /* y of the first packaging, on the host */
    float *found;                     /* y, on the host */
    bool has_expected;
};

struct stages_check stages_check_open(struct probe_run *r, const struct stages *s);
void stages_check_close(struct probe_run *r, struct stages_check *c);

/* Of the first w.items results, without a judgement. */
struct verdict stages_verdict(struct probe_run *r, const struct stages_check *c,
                              const struct stages *s, struct stages_work w);

/* Requires them to be right, that nobody gave up, and, of all but the first packaging, the bits of
 * the first. Returns the error. */
double stages_require(struct probe_run *r, struct stages_check *c, const struct stages *s,
                      struct stages_work w, const char *when);

/* Did a block wait longer than its budget since this was last asked? */
bool stages_gave_up(struct probe_run *r, const struct stages *s);

#endif
