/* op=qkv: three products of one x, its queries, keys and values, heads of m x k by W of n x k:
 *
 *     impl=unfused   three products one behind the other
 *     impl=branches  on three parallel branches of the graph
 *     impl=grouped   one launch: our kernel, whose blocks are dealt to the three; where the three
 *                    are of one shape also impl=batched, the library's
 *     impl=fused     one product with the three matrices of weights on top of each other, whose
 *                    rows of output a consumer reads by stride; impl=own is the same by our kernel
 *     impl=split     the same, and a kernel that copies the three apart
 *
 * n in the keys is that of all three. Weights lie in one matrix in every way. */
#ifndef FUSED_EPILOGUE_QKV_H
#define FUSED_EPILOGUE_QKV_H

#include "fused/epilogue/product.h"

/* All shapes and forms; under --check small ones. */
void epilogue_measure_qkv(struct probe_run *r, const struct epilogue_tools *tools);

#endif
