/* What a product must be: its sums in fp64, on the GPU, and what is said of an output by them. */
#ifndef FUSED_EPILOGUE_REFERENCE_H
#define FUSED_EPILOGUE_REFERENCE_H

#include "core/verdict.h"
#include "fused/epilogue/args.h"
#include "fused/epilogue/product.h"

/* fp64 sums of the looked-at rows of A W^T, all of W. */
struct epilogue_reference {
    struct reference_sum *sum; /* NULL: not computed yet */
    uint32_t m, n, k, looked;
};

/* All rows of a small product, and of larger ones in full runs; else one of every few. */
struct epilogue_reference epilogue_reference_of(struct probe_run *r,
                                                const struct epilogue_product *p);
void epilogue_reference_free(struct probe_run *r, struct epilogue_reference *f);

/* `p` tells the output, n of its columns, which begin at `first` of the reference's; ldc: elements
 * from one row of it to the next; flags: EPILOGUE_... and JUDGE_... */
struct verdict epilogue_run_verifier(struct probe_run *r, const struct epilogue_reference *f,
                                     const struct epilogue_product *p, uint32_t first, uint32_t ldc,
                                     unsigned flags);

#endif
