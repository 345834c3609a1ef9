/* A copy of a decoder's weights that lies near its SMs: see fused/common/decoder/decoder.h. */
#ifndef FUSED_DECODER_LAYER_NEAR_H
#define FUSED_DECODER_LAYER_NEAR_H

#include "core/sides.h"
#include "fused/common/decoder/model.h"

struct decoder_near_copy {
    struct decoder_near args; /* for kernels */
    struct sides sides;
    char *room, *weights; /* its memory, and where it begins there */
    char why[128];        /* there is no copy, or "" */
};

/* `weights` and `head` lie as plain matrices; head NULL: layers alone. */
struct decoder_near_copy decoder_near_copy_of(struct probe_run *r, const struct decoder_problem *p,
                                              const char *weights, const void *head);
void decoder_near_free(struct probe_run *r, struct decoder_near_copy *copy);

/* Copies anew, each row to the side where it was not: a control. */
void decoder_near_swap(struct probe_run *r, const struct decoder_problem *p,
                       struct decoder_near_copy *copy, const char *weights, const void *head);

#endif
