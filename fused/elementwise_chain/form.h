/* Chains of elementwise operators as an operator of operator.h: operands, launches, verification.
 * One shape is a tensor and a chain upon it; see elementwise_chain.c. */
#ifndef FUSED_ELEMENTWISE_CHAIN_FORM_H
#define FUSED_ELEMENTWISE_CHAIN_FORM_H

#include "fused/common/operator.h"
#include "fused/elementwise_chain/args.h"

enum { CHAIN_ROWS, CHAIN_COLS, CHAIN_KIND, CHAIN_LENGTH }; /* dimensions of a shape */
/* As CHAIN_KIND, beside enum chain_kind: no chain, but each operator by itself. */
enum { CHAIN_NONE = N_CHAIN_KINDS };
extern const char *const chain_names[N_CHAIN_KINDS + 2]; /* NULL behind the last */

enum { CHAIN_SINGLES = CHAIN_FMA /* operators that have a kernel of their own */ };
/* Groups of those: the ones with the most instructions, and the others. */
enum { CHAIN_MOST = OPERATOR_OWN, CHAIN_OTHERS = OPERATOR_OWN << 1 };

/* The operator's part of a set: operands, results, kernels. */
struct chain {
    struct pool in, middle[2], out; /* middle: of a chain unfused, written in turn */
    void *bias;                     /* NULL for multiply-adds */
    size_t bytes;                   /* of a tensor */
    cudaKernel_t fused[2], single[N_CHAIN_OPERATORS][2], verify; /* [operator][is_small] */
};

void chain_open(struct probe_run *r, struct operator_set *s);
double chain_copied(const struct operator_set *s, size_t member);
size_t chain_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                   struct operator_form *list);
struct verdict chain_verify(struct probe_run *r, const struct operator_set *s,
                            const struct operator_form *f, bool all, uint64_t *due);
void chain_check_on_host(struct probe_run *r, const struct operator_set *s,
                         const struct operator_form *f, const char *when);
void chain_describe(struct probe_run *r, const struct operator_set *s,
                    const struct operator_form *f);
void chain_count(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                 struct operation_kernel *each);
struct quality_results chain_results(const struct operator_set *s, size_t member);

#endif
