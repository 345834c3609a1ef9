/* A fused operator, measured at many shapes in many forms.
 *
 * operation.h times one form at one shape. The work before and after that is the same for every
 * operator, so this file does it once. An operator supplies only what is its own:
 *
 *     its shapes   a table of sweeps, and odd shapes for --check; or one shape, which the
 *                  command line gives: --set rows=4096 --set cols=8192 --set type=bf16
 *     open()       its memory: inputs, which the harness draws, and results, which it poisons; the
 *                  harness frees both
 *     forms()      the ways to compute it: launch, bytes, kernels
 *     verify...()  the right results: a kernel that compares with float64, and a check on the CPU
 *
 *     const struct fused_operator gelu = {.dims = {"rows", "cols"}, .open = open, ...};
 *     static void measure(struct probe_run *r) { operator_measure(r, &gelu); }
 *
 * operator_measure() runs each sweep three times: in a graph with a warm L2, in a graph with a cold
 * L2, and launch by launch in a stream. It times the copy first, which is the reference of
 * share_of_copy. Then it times each form, and verifies it before and after. Last it measures the
 * quality of the results, on inputs of a fixed seed. Under --check each form runs once at the
 * sweeps' shapes, cut to a few rows, and twice at odd shapes. */
#ifndef FUSED_COMMON_OPERATOR_H
#define FUSED_COMMON_OPERATOR_H

#include "core/verdict.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"

enum {
    OPERATOR_DIMS = 6,
    OPERATOR_POOLS = 16,
    OPERATOR_FORMS = 16,
    OPERATOR_SM = -1, /* a dimension equal to the GPU's number of SMs; "sm" in keys */
};

struct operator_shape {
    int dim[OPERATOR_DIMS]; /* in the order of the operator's dims */
    int type;               /* enum gpu_type, or an index into operator.types */
};

/* Groups of forms, so that a sweep can take some of them. OPERATOR_OWN and above are the operator's
 * own. */
enum {
    OPERATOR_FUSED = 1,
    OPERATOR_UNFUSED = 2,
    OPERATOR_PARTS = 4, /* kernels of the chain, each alone: by graph only, verified with the
                         * chain */
    OPERATOR_OWN = 8,
    OPERATOR_MAIN = OPERATOR_FUSED | OPERATOR_UNFUSED,
    OPERATOR_ALL = 0xffff,
};

/* How a sweep is timed. A set smaller than 3 x L2 can be timed warm; larger ones are always cold.
 * Streams are timed warm where the sweep is timed warm by graph, else cold. */
enum { OPERATOR_WARM = 1, OPERATOR_COLD = 2, OPERATOR_STREAM = 4 };

/* The copy that shares are formed against: none; one that this sweep times under its own keys; or
 * the last copy of as many bytes that an earlier sweep timed. */
enum operator_copy { OPERATOR_NO_COPY, OPERATOR_COPY, OPERATOR_COPY_BEFORE };

struct operator_sweep {
    struct operator_shape shape;
    unsigned members;            /* bits, for an operator that is a family */
    unsigned groups;             /* of forms */
    unsigned conditions;         /* OPERATOR_WARM ... */
    unsigned flags;              /* of probe_begin_case */
    enum operator_copy has_copy; /* true: OPERATOR_COPY */
};

/* The operands and the results of one shape. */
struct operator_set {
    const struct fused_operator *of;
    struct operator_shape shape; /* with OPERATOR_SM replaced by the number of SMs */
    unsigned groups;             /* of the forms that will be launched */
    size_t sets;                 /* of buffers, to rotate over */
    bool is_fixed;               /* the inputs are the same in every run */
    void *own;                   /* own_bytes for the operator's use, zeroed before open() */
    uint64_t seed;               /* of the next input to be drawn */
    /* private */
    struct {
        struct pool pool;
        bool is_result;
    } pools[OPERATOR_POOLS];
    size_t n_pools;
    struct operator_copies *copies; /* that were timed last */
};

/* For open(): memory that the harness frees. Inputs are N(0,1) in a type, each drawn from the next
 * seed. An operand has one buffer per set; a vector (weights, a bias) has one buffer for all sets.
 * Results and scratch memory are poisoned before verification and before timing. */
struct pool operator_operand(struct probe_run *r, struct operator_set *s, enum gpu_type type,
                             size_t count, const char *what);
void *operator_vector(struct probe_run *r, struct operator_set *s, enum gpu_type type, size_t count,
                      const char *what);
struct pool operator_result(struct probe_run *r, struct operator_set *s, size_t bytes,
                            const char *what);
void *operator_scratch(struct probe_run *r, struct operator_set *s, size_t bytes, const char *what);
/* Memory that the operator itself fills, in open() or in reset(): one buffer, or one per set. */
void *operator_table(struct probe_run *r, struct operator_set *s, size_t bytes, const char *what);
struct pool operator_tables(struct probe_run *r, struct operator_set *s, size_t bytes,
                            const char *what);

struct operator_form {
    const char *name; /* impl=NAME; "fused" and "unfused" are the two forms of OPERATOR_MAIN */
    unsigned group;
    bool is_thrice; /* measured in the first, middle and last round only */
    bool is_wrong;  /* a control with wrong results: its error is measured but nothing is
                     * required */
    double bytes, memory; /* as in struct operation, and so are these: */
    unsigned kernels;
    bool power_bound;
    void (*launch)(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   size_t set);
    /* Private words of the operator about this form. */
    int which;
    const void *plan;
    size_t member; /* index in the family; the harness fills it in */
};

struct fused_operator {
    const char *family;              /* "op": the key of its members; NULL: a single operator */
    const char *const *members;      /* their names */
    size_t n_members;                /* at least 1 */
    const char *dims[OPERATOR_DIMS]; /* keys: "rows", "cols" */
    /* Names of a dimension's values; NULL: the values are numbers. */
    const char *const *words[OPERATOR_DIMS];
    const char *const *types; /* names of types; NULL: the names of enum gpu_type */
    const struct operator_sweep *sweeps;
    size_t n_sweeps;
    int check_rows; /* under --check this is the most of a sweep's first dimension, ... */
    int check_dim;  /* ... or of another dimension, where it is not the first */

    size_t own_bytes;
    void (*open)(struct probe_run *r, struct operator_set *s);
    const void *tools; /* what all sets share, such as a library; may be NULL */
    /* Called after the results are poisoned; NULL: nothing to do. */
    void (*reset)(struct probe_run *r, const struct operator_set *s);
    /* Bytes of a set that the fused form moves; the copy moves as many. */
    double (*copied)(const struct operator_set *s, size_t member);
    /* Bytes that change from set to set. They decide how many sets are cold; NULL: what is
     * copied. */
    double (*rotated)(const struct operator_set *s);
    /* Fills in at most OPERATOR_FORMS forms, the fused and the unfused one among them. Returns
     * their number. */
    size_t (*forms)(struct probe_run *r, const struct operator_set *s, size_t member,
                    struct operator_form *forms);
    /* Compares set 0 with float64 on the GPU, all of it or a sample; *due: elements to compare. */
    struct verdict (*verify)(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, bool all, uint64_t *due);
    /* Compares set 0 with float64 on the CPU, by probe_require. Called in runs that verify in
     * full. */
    void (*check_on_host)(struct probe_run *r, const struct operator_set *s,
                          const struct operator_form *f, const char *when);
    void (*describe)(struct probe_run *r, const struct operator_set *s,
                     const struct operator_form *f); /* records facts of the case; may be NULL */
    void (*count)(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                  struct operation_kernel *each); /* may be NULL */

    /* Returns why a shape is refused, or NULL if it is accepted. May be NULL. */
    const char *(*refuses)(const struct operator_shape *shape);
    /* The i-th of n_odd odd shapes; some of them are drawn at random. */
    size_t n_odd;
    struct operator_shape (*odd)(size_t i, uint64_t *state);

    /* The shape at which the quality of results is measured, where both main forms exist, ... */
    struct operator_shape quality;
    int quality_types; /* ... in the first type; with --deep and --check in all types up to this */
    struct quality_results (*results)(const struct operator_set *s, size_t member);
    bool (*no_distance)(size_t member); /* results are not sign and magnitude; may be NULL */
    /* Adds more to the case of quality; may be NULL. */
    void (*judge)(struct probe_run *r, const struct operator_set *s,
                  const struct operator_form *unfused, const struct operator_form *fused);
    void (*adversaries)(struct probe_run *r, struct operator_set *s); /* hard inputs; may be NULL */
};

/* Measures everything and returns true. If --set gives one shape, measures only that and returns
 * false; the probe then has nothing to add. */
bool operator_measure(struct probe_run *r, const struct fused_operator *o);

/* Parts of operator_measure(), for an operator that does more. operator_forms() calls forms() and
 * fills in the members. */
size_t operator_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                      struct operator_form forms[OPERATOR_FORMS]);
enum { OPERATOR_FIXED = 1 }; /* the seed of inputs that are the same in every run */
struct operator_set operator_open(struct probe_run *r, const struct fused_operator *o,
                                  const struct operator_shape *shape, unsigned groups, size_t sets,
                                  uint64_t seed);
void operator_close(struct probe_run *r, struct operator_set *s);
void operator_sweep(struct probe_run *r, const struct fused_operator *o,
                    const struct operator_sweep *w);

/* Poisons the results, launches one form on set 0 and compares: is any element wrong? */
bool operator_is_wrong(struct probe_run *r, const struct operator_set *s,
                       const struct operator_form *f);

/* Command-line parameters: one per dimension, and the type. */
// clang-format off
#define OPERATOR_SIZE(dim, most) \
    {dim, 0, 0, most, dim " of the one shape to measure; 0: the probe's own shapes", NULL}
#define OPERATOR_TYPES(last) \
    {"type", GPU_FP16, GPU_FP16, last, "of that shape's elements", operator_type_words}
// clang-format on
extern const char *const operator_type_words[];

#endif
