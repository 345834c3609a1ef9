/* A fused operator, measured at many shapes in many forms.
 *
 * operation.h times one form at one shape. What comes before and after is the same for every operator,
 * and stands here once; an operator says only what is its own:
 *
 *     its shapes   a table of sweeps, and odd shapes for --check; or, from the command line, one shape:
 *                  --set rows=4096 --set cols=8192 --set type=bf16
 *     open()       its memory: inputs, which are drawn, and results, which are poisoned and freed for it
 *     forms()      the ways to compute it: launch, bytes, kernels
 *     verify...()  what is right: a kernel that compares with float64, and a check on the CPU
 *
 *     const struct fused_operator gelu = {.dims = {"rows", "cols"}, .sweeps = ..., .open = open, ...};
 *     static void measure(struct probe_run *r) { operator_measure(r, &gelu); }
 *
 * operator_measure() runs each sweep by graph warm and cold and by stream; the copy first, which is the
 * reference of share_of_copy, then each form, verified before it is timed and after. Then come the
 * results' quality, for inputs of a fixed seed. Under --check each form runs once, at the sweeps'
 * shapes cut to a few rows, and twice at odd ones. */
#ifndef FUSED_COMMON_OPERATOR_H
#define FUSED_COMMON_OPERATOR_H

#include "core/verdict.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"

enum {
    OPERATOR_DIMS = 6,
    OPERATOR_POOLS = 16,
    OPERATOR_FORMS = 16,
    OPERATOR_SM = -1, /* as a dimension: as many as the GPU has SMs; "sm" in keys */
};

struct operator_shape {
    int dim[OPERATOR_DIMS]; /* as the operator names them */
    int type;               /* enum gpu_type, or what operator.types names */
};

/* Groups of forms, so that a sweep can take some; from OPERATOR_OWN on the operator's own. */
enum {
    OPERATOR_FUSED = 1,
    OPERATOR_UNFUSED = 2,
    OPERATOR_PARTS =
        4, /* kernels of the chain, each alone: by graph only, verified with the chain */
    OPERATOR_OWN = 8,
    OPERATOR_MAIN = OPERATOR_FUSED | OPERATOR_UNFUSED,
    OPERATOR_ALL = 0xffff,
};

/* How a sweep is timed. Warm only where a set is smaller than 3 x L2; by stream warm where it is so
 * by graph, else cold. */
enum { OPERATOR_WARM = 1, OPERATOR_COLD = 2, OPERATOR_STREAM = 4 };

/* What shares are formed against: a copy that the sweep times under its own keys; the last of as many
 * bytes that a sweep before it has timed. */
enum operator_copy { OPERATOR_NO_COPY, OPERATOR_COPY, OPERATOR_COPY_BEFORE };

struct operator_sweep {
    struct operator_shape shape;
    unsigned members;            /* bits, of an operator that is a family */
    unsigned groups;             /* of forms */
    unsigned conditions;         /* OPERATOR_WARM ... */
    unsigned flags;              /* of probe_begin_case */
    enum operator_copy has_copy; /* true: OPERATOR_COPY */
};

/* The operands and the results of one shape. */
struct operator_set {
    const struct fused_operator *of;
    struct operator_shape shape; /* OPERATOR_SM replaced */
    unsigned groups;             /* of the forms that will be launched */
    size_t sets;                 /* of buffers, to rotate over */
    bool is_fixed;               /* the inputs are the same in every run */
    void *own;                   /* own_bytes of the operator's, zeroed before open() */
    uint64_t seed;               /* of the next input */
    /* private */
    struct {
        struct pool pool;
        bool is_result;
    } pools[OPERATOR_POOLS];
    size_t n_pools;
    struct operator_copies *copies; /* that were timed last */
};

/* For open(): memory that the harness frees. Inputs are N(0,1) in a type, each by the next seed; of an operand there are as many as sets, of a vector (weights, a bias) there is one. Results
 * and scratch are poisoned before they are verified and before they are timed. */
struct pool operator_operand(struct probe_run *r, struct operator_set *s, enum gpu_type type,
                             size_t count, const char *what);
void *operator_vector(struct probe_run *r, struct operator_set *s, enum gpu_type type, size_t count,
                      const char *what);
struct pool operator_result(struct probe_run *r, struct operator_set *s, size_t bytes,
                            const char *what);
void *operator_scratch(struct probe_run *r, struct operator_set *s, size_t bytes, const char *what);
/* Memory that the operator fills itself, in open() or in reset(): one, or as many as sets. */
void *operator_table(struct probe_run *r, struct operator_set *s, size_t bytes, const char *what);
struct pool operator_tables(struct probe_run *r, struct operator_set *s, size_t bytes,
                            const char *what);

struct operator_form {
    const char *name; /* impl=NAME; "fused" and "unfused" are the two of OPERATOR_MAIN */
    unsigned group;
    bool is_once;  /* in the first and last round only */
    bool is_wrong; /* a control that goes wrong: its error is measured, and nothing required */
    double bytes, memory; /* as in struct operation, and so are these: */
    unsigned kernels;
    bool power_bound;
    void (*launch)(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   size_t set);
    /* The operator's own words for it. */
    int which;
    const void *plan;
    size_t member; /* of the family; filled in by the harness */
};

struct fused_operator {
    const char *family;              /* "op": the key of its members; NULL: it is one operator */
    const char *const *members;      /* their names */
    size_t n_members;                /* at least 1 */
    const char *dims[OPERATOR_DIMS]; /* keys: "rows", "cols" */
    const char *const *words[OPERATOR_DIMS]; /* names of a dimension's values; NULL: a number */
    const char *const *types;        /* names of types; NULL: those of enum gpu_type */
    const struct operator_sweep *sweeps;
    size_t n_sweeps;
    int check_rows; /* under --check no first dimension of a sweep is longer, ... */
    int check_dim;  /* ... or another one, where it is not the first */

    size_t own_bytes;
    void (*open)(struct probe_run *r, struct operator_set *s);
    const void *tools; /* the operator's own, alike for all sets: a library; may be NULL */
    /* Before launches whose results are verified or timed; NULL: nothing to do. */
    void (*reset)(struct probe_run *r, const struct operator_set *s);
    /* Bytes of a set that the fused form moves, and so does the copy. */
    double (*copied)(const struct operator_set *s, size_t member);
    /* Bytes that change from set to set, which decide what is cold; NULL: what is copied. */
    double (*rotated)(const struct operator_set *s);
    /* Fills in at most OPERATOR_FORMS, the fused one and the unfused one among them. Returns how
     * many. */
    size_t (*forms)(struct probe_run *r, const struct operator_set *s, size_t member,
                    struct operator_form *forms);
    /* Compares set 0 with float64 on the GPU, all of it or a sample; *due: elements to look at. */
    struct verdict (*verify)(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, bool all, uint64_t *due);
    /* Compares set 0 with float64 on the CPU, by probe_require; in runs that verify in full. */
    void (*check_on_host)(struct probe_run *r, const struct operator_set *s,
                          const struct operator_form *f, const char *when);
    void (*describe)(struct probe_run *r, const struct operator_set *s,
                     const struct operator_form *f); /* facts of the case; may be NULL */
    void (*count)(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                  struct operation_kernel *each); /* may be NULL */

    /* Why a shape is not taken; NULL: it is. May be NULL. */
    const char *(*refuses)(const struct operator_shape *shape);
    /* The i-th odd shape of n_odd, some of them drawn. */
    size_t n_odd;
    struct operator_shape (*odd)(size_t i, uint64_t *state);

    /* The shape whose results' quality is measured, where both main forms are to be had, ... */
    struct operator_shape quality;
    int quality_types; /* ... in the first type; with --deep and --check in those up to this */
    struct quality_results (*results)(const struct operator_set *s, size_t member);
    bool (*no_distance)(size_t member); /* its results are no sign and magnitude; may be NULL */
    /* What else is to be said in the case of quality; may be NULL. */
    void (*judge)(struct probe_run *r, const struct operator_set *s,
                  const struct operator_form *unfused, const struct operator_form *fused);
    void (*adversaries)(struct probe_run *r, struct operator_set *s); /* hard inputs; may be NULL */
};

/* All of it: true; or the one shape that --set gives: false, and the probe has nothing to add. */
bool operator_measure(struct probe_run *r, const struct fused_operator *o);

/* The parts of it, for what an operator does besides. operator_forms() is its forms(), members filled
 * in. */
size_t operator_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                      struct operator_form forms[OPERATOR_FORMS]);
enum { OPERATOR_FIXED = 1 }; /* the seed of inputs that are the same in every run */
struct operator_set operator_open(struct probe_run *r, const struct fused_operator *o,
                                  const struct operator_shape *shape, unsigned groups, size_t sets,
                                  uint64_t seed);
void operator_close(struct probe_run *r, struct operator_set *s);
void operator_sweep(struct probe_run *r, const struct fused_operator *o,
                    const struct operator_sweep *w);

/* Poisons, launches one form on set 0, compares: is any element wrong? */
bool operator_is_wrong(struct probe_run *r, const struct operator_set *s,
                       const struct operator_form *f);

/* Parameters of the command line, one a dimension, and the type. */
#define OPERATOR_SIZE(dim, most)                                                                   \
    {                                                                                              \
        dim, 0, 0, most, dim " of the one shape to measure; 0: the probe's own shapes", NULL       \
    }
#define OPERATOR_TYPES(last)                                                                       \
    {                                                                                              \
        "type", GPU_FP16, GPU_FP16, last, "of that shape's elements", operator_type_words          \
    }
extern const char *const operator_type_words[];

#endif
