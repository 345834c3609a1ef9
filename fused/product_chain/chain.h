/* Memory of a chain of products, and its launches. */
#ifndef FUSED_PRODUCT_CHAIN_CHAIN_H
#define FUSED_PRODUCT_CHAIN_CHAIN_H

#include "fused/common/operation.h"
#include "fused/product_chain/args.h"

enum {
    CHAIN_INPUTS = 4, /* x of product 0, in turn: what a launch leaves is of no use to the next */
    CHAIN_BUDGET_NS = 200000000 /* of a wait at a barrier */
};

struct chain {
    uint32_t n, sets, products; /* products: of a launch, at most */
    struct pool weights;
    char *x; /* CHAIN_INPUTS x n */
    void *y;
    uint32_t *sms, *words;
    uint64_t *stamps, *began; /* began: of the last launch, on the host */
    struct grid_barrier_state *state;
    cudaKernel_t k_chain, k_read;
    uint32_t next, launches; /* the set that no launch had for longest, and how many launches */
};

/* Is this a size that the kernels take on this GPU? */
bool chain_fits(const struct probe_run *r, uint32_t n);

struct chain chain_open(struct probe_run *r, uint32_t n, uint32_t sets, uint32_t products);
void chain_close(struct probe_run *r, struct chain *c);
void chain_poison(struct probe_run *r, const struct chain *c);

struct chain_work {
    uint32_t blocks, warps, products;
    uint32_t late, blind; /* as in struct product_chain_args */
    bool is_read;         /* the same bytes, without barriers */
    bool is_ordinary;     /* not launched cooperatively */
    uint32_t budget_ns;
    uint32_t first, input; /* set and x of product 0: by chain_turn() */
};

/* The work of the next launch: sets and inputs go on where the last launch left off. */
struct chain_work chain_turn(struct chain *c, struct chain_work w);

/* One launch; the second returns what the call did, for launches that may be refused. */
void chain_launch(struct probe_run *r, const struct chain *c, const struct chain_work *w);
cudaError_t chain_try(struct probe_run *r, const struct chain *c, const struct chain_work *w);

/* One launch between two events, in ns. */
double chain_time(struct probe_run *r, const struct chain *c, const struct chain_work *w);

/* When block 0 began each product of the last launch, in ns. Valid until the next call. */
const uint64_t *chain_stamps(struct probe_run *r, const struct chain *c, uint32_t products);

#endif
