/* Of several ways to compute the same, the fastest on this GPU: a short search in this process. */
#ifndef FUSED_EPILOGUE_RACE_H
#define FUSED_EPILOGUE_RACE_H

#include "fused/common/operation.h"
#include "fused/epilogue/product.h"

/* The same operation, computed in one of several ways. */
struct epilogue_race {
    const struct operation *operation;
    const struct epilogue_way **slot; /* what the operation computes with */
};

/* Index of the fastest. Each runs once; those within a quarter of the fastest again, in turn: they
 * share clock and power. Of long products the first look sees one after the other slow down as the
 * power limit takes hold. */
size_t epilogue_fastest(struct probe_run *r, const struct epilogue_ways *ways,
                        const struct epilogue_race *race);

/* Under --check all of our kernels have their turn: one row by the product with a vector, which is
 * the last of a list of n, others by tiles. */
size_t epilogue_checked_way(int m, size_t n);

#endif
