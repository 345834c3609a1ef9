/* The ways to compute decode attention, and what surrounds it: each an operation of operation.h. */
#ifndef FUSED_ATTENTION_DECODE_WAYS_H
#define FUSED_ATTENTION_DECODE_WAYS_H

#include "fused/attention_decode/tensors.h"

enum decode_how {
    DECODE_ATTEND,    /* attention alone, over q as it is: one kernel */
    DECODE_TICKET,    /* the blocks' shares merged by the last block of a KV head */
    DECODE_MERGE,     /* the same by a second kernel */
    DECODE_NAIVE,     /* exp without the maximum: a control */
    DECODE_FUSED,     /* rope, append and attention in one kernel */
    DECODE_TWO,       /* rope with append; attention */
    DECODE_THREE,     /* rope; append; attention */
    DECODE_WIDEN,     /* dequantise into a bf16 buffer; attention */
    DECODE_READ,      /* read as many bytes of keys and values */
    DECODE_APPEND,    /* rope and append, one kernel */
    DECODE_APPEND_3,  /* rope; cast with clamp; store */
    DECODE_KV,        /* of keys and values alone: rope and append, one kernel */
    DECODE_KV_2,      /* rope; append */
    DECODE_KV_PLAIN,  /* append without rope */
    DECODE_UNCLAMPED, /* append without the clamp: a control */
};

/* One way to do it on one set of tensors: what operation.h calls self. */
struct decode_way {
    const struct decode_tensors *t;
    enum decode_how how;
};

/* Are there kernels for it, at this d, in this type and layout? */
bool decode_takes(const struct decode_shape *s, enum decode_how how);

struct operation decode_operation(const struct decode_way *w, const char *name);
/* Bytes of one set that a way touches: of an append the new row alone. What all sets share, queries
 * and the new row as projected, is none of it. */
double decode_set_bytes(const struct decode_shape *s, enum decode_how how);
/* Bytes of the new row of keys and values, of all sequences, that a way loads and stores. */
double decode_new_row_bytes(const struct decode_way *w);

/* Of the results as they lie there: what verification finds, and outputs with a wrong element. */
struct verdict decode_look(struct probe_run *r, const struct decode_way *w, uint32_t *wrong_rows);
/* Of the row of the cache that was appended. */
struct verdict decode_look_at_row(struct probe_run *r, const struct decode_way *w);

#endif
