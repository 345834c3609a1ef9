/* Are the results of a chain right? In float64 on the GPU, and a part of them on the CPU. */
#ifndef FUSED_PRODUCT_CHAIN_CHECK_H
#define FUSED_PRODUCT_CHAIN_CHECK_H

#include "core/verdict.h"
#include "fused/product_chain/chain.h"

struct chain_check {
    cudaKernel_t k_verify, k_words;
    uint16_t *found, *expected; /* y on the host; that of the first grid */
    size_t n_expected;          /* elements of it; 0: no grid has run */
};

/* compared: products, at most, of a launch that chain_require() gets. */
struct chain_check chain_check_open(struct probe_run *r, const struct chain *c, uint32_t compared);
void chain_check_close(struct chain_check *k);

/* Of all results of a launch, without a judgement. */
struct verdict chain_verdict(struct probe_run *r, const struct chain_check *k,
                             const struct chain *c, const struct chain_work *w);

/* Did a block wait longer than its budget since this was last asked? */
bool chain_gave_up(struct probe_run *r, const struct chain *c);

/* On how many SMs the blocks of the last launch were. */
uint32_t chain_sms(struct probe_run *r, const struct chain *c, uint32_t blocks);

/* Requires the results to be right, that nobody gave up, and that each block had an SM of its own;
 * of launches that begin with set 0 and input 0, the bits of the first one. Returns the error. */
double chain_require(struct probe_run *r, struct chain_check *k, const struct chain *c,
                     const struct chain_work *w, const char *when);

/* Requires that a read of these products read each word once. */
void chain_require_words(struct probe_run *r, const struct chain_check *k, const struct chain *c,
                         const struct chain_work *w, const char *when);

#endif
