/* The forms of a fusion that loses, and of its rivals: operands, launches, what makes sure that
 * results are right, and what each kernel does. */
#ifndef FUSED_HARM_FORM_H
#define FUSED_HARM_FORM_H

#include "fused/common/operation.h"
#include "fused/harm/args.h"

enum harm_metric { /* the probe's own */
                   HARM_REGISTERS = N_OPERATION_EACH_METRICS,
                   HARM_LOCAL,
                   HARM_WARPS,
};

/* One launch of an operation, what it takes, and what it does. */
struct harm_kernel {
    cudaKernel_t kernel; /* NULL where this GPU has none */
    dim3 grid;
    unsigned block, cluster;
    size_t shared;
    struct operation_kernel does; /* bytes and arithmetic; its cases add the rest */
    double batches;               /* loads of a thread, one behind the other */
    bool holds;                   /* a block loads all that it works on before it stores any */
};
struct harm_kernel harm_kernel_of(struct probe_run *r, const struct gpu_image *image,
                                  const char *name, dim3 grid, unsigned block);

/* Operands of one case. Rows and columns are those of the first phase, 0 where there is none;
 * `second`: elements of the second, fp32. */
struct harm_operands {
    const char *what, *type;
    struct pool in, out, aside, in2, out2;
    uint64_t stride,
        second; /* in elements: from one row to the next; of the second phase's arrays */
    uint32_t rows, columns, parts;
    size_t sets;
    double bytes; /* read and written by one kernel that does it all */
};
struct harm_operands harm_operands_of(struct probe_run *r, const char *what, enum gpu_type type,
                                      uint32_t rows, uint32_t columns, uint64_t second);
void harm_operands_free(struct probe_run *r, struct harm_operands *t);

/* The kernels that are launched over them, one or two. */
struct harm_form {
    const struct harm_operands *t;
    const char *name;
    struct harm_kernel kernels[2];
    int n;
    double extra_bytes;         /* moved beyond what one kernel must */
    enum harm_what what, what2; /* which reference `out` is held against, and which `out2` */
};

/* A case; nothing where this GPU lacks a kernel or the shared memory for it. */
void harm_measure(struct probe_run *r, struct harm_form form, struct condition c);

/* A copy of as many bytes, for the rate that predictions take from it; in three rounds only, so no
 * share is formed with it. */
void harm_measure_copy(struct probe_run *r, const struct harm_operands *t);

#endif
