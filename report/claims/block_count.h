/* Shared by the judges of block_count's claims: the rows of the 1024^3 product. */
#ifndef REPORT_CLAIMS_BLOCK_COUNT_H
#define REPORT_CLAIMS_BLOCK_COUNT_H

#include "report/claims/rules.h"

#define CUBE_KEYS "m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define CUBE_OF(impl, tile, split, grid)                                                           \
    "block_count.time{" CUBE_KEYS "impl=" impl ",tile=" tile ",split=" split ",grid=" grid         \
    ",tiles=all,resident=max,l2=warm,timer=event}"
#define CUBE_WGMMA(tile, split, grid) CUBE_OF("wgmma", tile, split, grid)
#define CUBE_MMA(tile) CUBE_OF("mma", tile, "1", "tiles")

/* Our kernels: the one by wgmma, and the portable one by mma.sync. They are never mixed. */
enum cube_kernel { CUBE_BY_WGMMA, CUBE_BY_MMA, CUBE_KERNELS };
extern const char *const cube_kernel_names[CUBE_KERNELS];

/* Groups of rows: from the sweep of tiles, those with fewer blocks than SMs and those with at least
 * as many; tiles split along k into at least as many; grids of their own size, persistent or
 * stream-K, with work for every SM. */
enum cube_group { CUBE_FEW, CUBE_MANY, CUBE_SPLIT, CUBE_PERSISTENT, CUBE_OTHER };

/* The fastest of a group. The first round chooses it, the others measure it. parts: only among rows
 * that have parts. False, with nothing said, if there is none. */
bool cube_best(const struct bundle *bundle, enum cube_kernel kernel, enum cube_group group,
               bool parts, struct row *best, struct finding *f);

/* The one of the sweep of tiles with the fewest blocks: it leaves most SMs without work. */
bool cube_fewest(const struct bundle *bundle, enum cube_kernel kernel, struct row *fewest,
                 struct finding *f);

/* "128x64 (128 blocks) 4.81", in us */
void cube_say(const struct bundle *bundle, const struct row *time, struct finding *f);

/* Where the time of one tile of 128x64 for each block goes, at 1024^3. */
struct cube_cost {
    struct row whole, empty; /* the product; the same kernel with nothing to do */
    struct row fixed[2];     /* of the whole, what does not grow with k: at least, at most */
    double idle_sms, idle_ns; /* SMs without a block; what they cost at most: their share of the
                               * whole */
    double waits_ns;         /* for operands */
    struct row wave[2];      /* as many tiles as SMs, and one more */
};

/* False where a row of it is missing. `f` is an aside of C24b's finding, or such a finding. */
bool cube_cost(const struct bundle *bundle, struct cube_cost *cost, struct finding *f);

/* More blocks against fewer: does it take longer by what C24 lets count? REFUTED: it does not;
 * MIXED: the interval holds the threshold. */
enum claim_verdict cube_slower(const struct row *ratio, struct finding *f);

/* The metrics that these functions take. */
extern const struct need cube_needs[];

#endif
