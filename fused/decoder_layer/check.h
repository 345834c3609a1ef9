/* Is what a packaging computes right? Held against float64 on the GPU: each step from what the step
 * before it really handed over, each layer, and the whole chain. */
#ifndef FUSED_DECODER_LAYER_CHECK_H
#define FUSED_DECODER_LAYER_CHECK_H

#include "fused/decoder_layer/way.h"

/* What a chain of layers gives in float64, and how far from it one lands that rounds to bf16
 * where the packagings do: their own error may be twice that. */
struct decoder_chain {
    uint32_t layers;   /* 0: not computed yet */
    bool is_whole;     /* a step: from the token's embedding, and the head behind it */
    double *pure;      /* device memory: the residual; of a step, the logits */
    double moved;      /* norm of what the layers added to the residual; of a step, of the logits */
    double rounded;    /* the rounding chain's error, relative to that */
};

enum { DECODER_CHAINS = 4 };

struct decoder_check {
    const struct decoder_tensors *t;
    double *residual, *x, *raw, *delta, *attention, *h, *scores, *logits; /* device memory */
    struct decoder_chain chain[DECODER_CHAINS];
};
struct decoder_check decoder_check_open(struct probe_run *r, const struct decoder_tensors *t);
void decoder_check_close(struct probe_run *r, struct decoder_check *c);

enum decoder_phase {
    PHASE_QKV, PHASE_ATTENTION, PHASE_O, PHASE_GATE_UP, PHASE_DOWN, DECODER_PHASES
};
extern const char *const decoder_phase_names[DECODER_PHASES];

struct decoder_found {
    double error[DECODER_PHASES]; /* the greatest of all layers: relative Frobenius norms */
    double limit[DECODER_PHASES]; /* of that: 2e-3; of few numbers half a unit in the last place */
    uint64_t wrong[DECODER_PHASES]; /* elements beyond their bound */
};

/* Looks at the mail that a launch of `layers` layers with keeps_mail left, of a kernel that
 * stays, and at what it appended to the caches. is_whole: the layers behind the embedding of
 * `tokens`. */
struct decoder_found decoder_check_phases(struct probe_run *r, struct decoder_check *c,
                                          const struct decoder_packing *p, uint32_t layers,
                                          const uint32_t *tokens);
/* Judges that, by probe_require; returns the greatest error. */
double decoder_require_phases(struct probe_run *r, const struct decoder_found *found,
                              const char *when);
bool decoder_phases_wrong(const struct decoder_found *found);

/* Judges the output of a launch of `layers` layers: relative to what the layers added, 1e-2 for one
 * layer, for more twice the error of a chain that rounds. Returns the error. */
double decoder_require_chain(struct probe_run *r, struct decoder_check *c, uint32_t layers,
                             const char *when);

/* Judges the logits of the first step, and the token: it is the device's greatest, and among
 * those of the reference whose distance from the greatest is within the error. */
double decoder_require_step(struct probe_run *r, struct decoder_check *c, const char *when);

/* The bits of all that a launch leaves: the output, or tokens and logits of the last step. */
uint64_t decoder_digest(struct probe_run *r, const struct decoder_tensors *t, uint32_t steps);

/* The share of planted faults that decoder_check_phases() sees: one in each step's words, of each
 * kind. The packing must be a kernel that stays. */
double decoder_check_faults(struct probe_run *r, struct decoder_check *c,
                            const struct decoder_packing *p);

#endif
