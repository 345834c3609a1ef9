/* The ways to pack a decoder's layers into kernels: one list, in one order, for what measures them,
 * what predicts them, and what shows both. */
#ifndef GPUFLOOR_PACKAGING_H
#define GPUFLOOR_PACKAGING_H

/* X(identifier, name) of each. */
// clang-format off
#define PACKAGING_EACH(X)                                                                          \
    X(STREAM, "stream") X(GRAPH, "graph") X(CUBLAS, "cublas") X(FUSED, "fused")                    \
    X(DEPENDENT, "dependent") X(BARRIER, "barrier") X(RING, "ring") X(VALUES, "values")  \
    X(NEAR, "near")
// clang-format on

/* The names in that order, for the initialiser of an array. */
#define PACKAGING_NAME(identifier, name) name,
#define PACKAGING_NAMES PACKAGING_EACH(PACKAGING_NAME)

#endif
