/* The metrics of attention_decode, one way at one shape, and the cases that the claims ask for. */
#ifndef FUSED_ATTENTION_DECODE_CASES_H
#define FUSED_ATTENTION_DECODE_CASES_H

#include "fused/attention_decode/ways.h"

enum {
    SHARE_OF_READ = N_OPERATION_METRICS,
    NEW_ROW_BYTES,
    SHARE_OF_TOKEN,
    SHARE_OF_STEP,
    BYTE_SHARE,
    STABLE,
    APPEND_RIGHT,
    GEMV_TIME,
};

/* 32 query heads over 8 of keys and values, d = 128. */
struct decode_shape decode_shape_of(int batch, int context, enum decode_number number);
void decode_keys_of(const struct decode_shape *s, char *keys, size_t size);

struct
    decode_reference { /* the time of a copy and of a read of the same bytes; NaN: not measured */
    double copy_ns, read_ns;
};

/* Returns ns, or NaN if the case is left out. */
double decode_measure_way(struct probe_run *r, const struct decode_tensors *t, enum decode_how how,
                          const char *name, struct condition c, unsigned flags,
                          struct decode_reference reference);

struct decode_named_way {
    enum decode_how how;
    const char *name;
};

/* Measures some ways at one shape, each cold. */
void decode_measure_ways(struct probe_run *r, const struct decode_kernels *k,
                         struct decode_shape shape, const struct decode_named_way *ways, size_t n,
                         unsigned flags);
#define DECODE_MEASURE_WAYS(r, k, shape, flags, ...)                                               \
    decode_measure_ways(r, k, shape, (const struct decode_named_way[]){__VA_ARGS__},               \
                        PROBE_LENGTH(((const struct decode_named_way[]){__VA_ARGS__})), flags)

/* Results that later cases need. */
struct decode_measured {
    double at_8192_ns; /* attention alone, bf16, cold */
    double read_rate;  /* bytes/ns of the reading kernel over the long context */
};

/* In every round, as verdicts rest on them. */
void decode_measure_8bit(struct probe_run *r, const struct decode_kernels *k);
void decode_measure_new_rows(struct probe_run *r, const struct decode_kernels *k);
void decode_measure_shares(struct probe_run *r, const struct decode_kernels *k,
                           struct decode_measured m);

/* In the first, the middle and the last round, beside them. */
void decode_measure_8bit_beside(struct probe_run *r, const struct decode_kernels *k);
void decode_measure_curves(struct probe_run *r, const struct decode_kernels *k);
void decode_measure_layouts(struct probe_run *r, const struct decode_kernels *k);
void decode_measure_steps_beside(struct probe_run *r, const struct decode_kernels *k);
void decode_measure_shares_beside(struct probe_run *r, const struct decode_kernels *k,
                                  struct decode_measured m);

#endif
