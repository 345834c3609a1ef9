/* softmax: its kernels, its tensors, and the plans that say how blocks share a row. */
#ifndef FUSED_SOFTMAX_SOFTMAX_H
#define FUSED_SOFTMAX_SOFTMAX_H

#include "fused/common/operator.h"
#include "fused/softmax/args.h"

enum softmax_kernel {
    ROW,
    PAIR,
    ONLINE,
    HELD,
    SHARED,
    CLUSTER,
    PARTIAL,
    FINISH,
    UNMERGED,
    LAST,
    GRID, /* up to here: the whole operator */
    SCALE,
    MASK,
    FILL,
    ADD, /* from SCALE on: the chain */
    NAIVE,
    FINITE, /* wrong on purpose */
    N_KERNELS,
};
extern const char *const softmax_kernel_names[N_KERNELS];

struct softmax_kernels { /* for one type; NULL where the GPU has no clusters */
    cudaKernel_t of[N_KERNELS], verify, adversary, stable;
    uint32_t lanes; /* elements in 16 bytes */
};

#define SOFTMAX_LOG2_E 1.4426950409f /* kernels take exp2() */

/* How the blocks of a launch share the rows. */
struct softmax_plan {
    enum softmax_kernel kernel;     /* PARTIAL means PARTIAL and then FINISH */
    uint32_t parts, slice, threads; /* blocks that share a row; vectors of a block */
    size_t shared;
};

/* What a form computes: the whole operator, the chain of kernels, the chain that stores its mask,
 * that chain's last kernel alone, or another of its kernels alone. */
enum softmax_chain { WHOLE, CHAIN, CHAIN_STORED, CHAIN_LAST, CHAIN_KERNEL };
struct softmax_form {
    enum softmax_chain chain;
    struct softmax_plan plan; /* of the operator, and of the chain's softmax */
};

/* What the operator keeps with a set. */
struct softmax {
    struct softmax_kernels k;
    struct pool in, middle[2], mask, out;
    uint32_t *lengths;           /* one per row: columns from there on are masked; NULL: none */
    void *partial;               /* parts that blocks leave for each other, ... */
    struct softmax_state *state; /* ... and how far the blocks are */
    uint32_t rows, cols, vectors;
    size_t bytes; /* of one tensor, padding included */
    float scale;
    bool keep; /* see fused/common/load_group.cuh */
    struct softmax_form form[OPERATOR_FORMS]; /* the harness's forms point to these */
};

/* Groups of forms. WITH_STORED: the chain that stores its mask, and, where two rows share an SM,
 * one row at a time. WAYS: every way to share a row. */
enum { WITH_STORED = OPERATOR_OWN, WAYS = OPERATOR_OWN << 1 };
enum { LONG_ROW = 1048576 }; /* longer than one block can hold */

extern const struct fused_operator softmax;

/* --- plan.c ---------------------------------------------------------------------------------- */

struct softmax_kernels softmax_load(struct probe_run *r, enum gpu_type type);

struct softmax_plan softmax_plan(struct probe_run *r, const struct softmax *t,
                                 enum softmax_kernel kernel, uint32_t parts);
struct softmax_plan softmax_best_plan(struct probe_run *r, const struct softmax *t);

/* Can this GPU launch the plan? Also raises the kernel's limit of shared memory where it needs
 * it. */
bool softmax_plan_fits(struct probe_run *r, const struct softmax *t, const struct softmax_plan *p);

/* How many blocks must share a row so that all SMs are busy, with 4 KiB or more for each block. */
uint32_t softmax_parts(struct probe_run *r, const struct softmax *t);

struct softmax_args softmax_args_of(const struct softmax *t, const struct softmax_plan *p,
                                    const void *in, void *out);

/* Kernels of a plan: ways that handle one row at a time are launched once per row. */
uint32_t softmax_kernels_of(const struct softmax *t, const struct softmax_plan *p);

/* The whole operator, by plan. */
void softmax_launch(struct probe_run *r, const struct softmax *t, const struct softmax_plan *p,
                    struct softmax_args a);

/* One kernel of the chain. Blocks are small where large ones would leave SMs without a block. */
void softmax_launch_step(struct probe_run *r, const struct softmax *t, enum softmax_kernel which,
                         const void *in, const void *mask, void *out);

/* What one kernel of a plan does while it moves `bytes`; 0 exponentials: not known. */
struct operation_kernel softmax_does(struct probe_run *r, const struct softmax *t,
                                     const struct softmax_plan *p, enum softmax_kernel kernel,
                                     double bytes);

/* --- forms.c, verify.c, limits.c ------------------------------------------------------------- */

void softmax_open(struct probe_run *r, struct operator_set *s);
void softmax_reset(struct probe_run *r, const struct operator_set *s);
double softmax_copied(const struct operator_set *s, size_t member);
size_t softmax_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                     struct operator_form *list);
void softmax_describe(struct probe_run *r, const struct operator_set *s,
                      const struct operator_form *f);
void softmax_count(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   struct operation_kernel *each);

struct verdict softmax_verify(struct probe_run *r, const struct operator_set *s,
                              const struct operator_form *f, bool all, uint64_t *due);
/* The same for tensors: all rows, or every 61st from a random one on. */
struct verdict softmax_run_verifier(struct probe_run *r, const struct softmax *t, bool is_fused,
                                    bool all, uint64_t *due);
void softmax_check_on_host(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, const char *when);

enum { LONGEST = N_OPERATION_EACH_METRICS, STABLE, SHAPES };
/* Measures the longest row that one block holds, and tries the rows on which a softmax goes
 * wrong. */
void softmax_measure_longest(struct probe_run *r, enum gpu_type type);
void softmax_measure_stable(struct probe_run *r, enum gpu_type type);

#endif
