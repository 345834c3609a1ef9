/* Shared by the claims on a decoder's layer and a whole step of one token: the ids of their rows,
 * and the controls of all of them. */
#ifndef REPORT_CLAIMS_LAYER_H
#define REPORT_CLAIMS_LAYER_H

#include "report/claims/rules.h"

/* At batch 1, with weights that are not in the L2. */
#define LAYER_CASE(model, context, impl)                                                           \
    "{model=" model ",context=" context ",batch=1,impl=" impl ",l2=cold"
#define LAYER_TIME(model, context, impl)                                                           \
    "decoder_layer.layer_time" LAYER_CASE(model, context, impl) ",timer=event}"
#define STEP_TIME(model, impl)                                                                     \
    "decoder_layer.step_time" LAYER_CASE(model, "1024", impl) ",timer=event}"

#define STEP_ENERGY(model, impl) "decoder_layer.energy" LAYER_CASE(model, "1024", impl) "}"

/* The packagings that are one kernel: barrier, ring, values, near; and of these those that keep the
 * memory busy while steps wait for each other, with the weights where the other packagings have
 * them: ring and values. In near they lie behind each SM's half of the L2. None is `read`. */
#define ONE_KERNEL "[brvn]*[!d]"
#define ONE_STREAM "[rv]*[!d]"

/* The two models that are measured in every round. */
enum { LAYER_1B, LAYER_8B, LAYER_MODELS };
extern const char *const layer_models[LAYER_MODELS];

/* The reads of the bytes of a layer of each, and whether the clock sees that the one is 3.56 times
 * as many: the positive control of all. Its need is layer_read_needs. */
extern const struct need layer_read_needs[];
bool layer_take_reads(const struct bundle *bundle, struct row read[LAYER_MODELS], bool *positive,
                      struct finding *f);

/* A negative control: from run to run a ratio does not change as much as the rule asks. Its
 * greatest run over its least must stay below `most`. */
bool layer_repeats(const struct row *ratio, double most, const char *what, struct finding *f);

/* Said beside a gain over the fastest form of one kernel, which may be near: the same gain over
 * values, whose weights lie where those of the other packagings do. Both are ids, by model. */
void layer_say_values(const struct bundle *bundle, const char *const of[LAYER_MODELS],
                      const char *const values[LAYER_MODELS], struct finding *f);

/* The parts of a verdict, one for each model: what they agree on, else MIXED. Says the parts. */
enum claim_verdict layer_agree(const struct row row[LAYER_MODELS],
                               const enum claim_verdict verdict[LAYER_MODELS], double limit,
                               struct finding *f);

#endif
