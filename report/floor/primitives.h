/* Primitives: what an estimate of a forward pass takes from a bundle. Each is a measured row; no
 * constant is fitted to a measured pass.
 *
 * A figure has three values: the centre of its row, and both ends of its interval. An estimate is
 * made of all centres, of all fast ends, and of all slow ends. */
#ifndef REPORT_FLOOR_PRIMITIVES_H
#define REPORT_FLOOR_PRIMITIVES_H

#include "report/bundle/bundle.h"

enum corner { CENTRE, FAST, SLOW, CORNERS };

struct corners {
    double at[CORNERS]; /* NaN: not in the bundle */
};

/* A time in ns over an amount, in ascending order of amounts. */
enum { CURVE_POINTS = 48 };
struct node_curve {
    size_t n;
    double amount[CURVE_POINTS];
    struct corners time[CURVE_POINTS];
};

/* How one step of a pass hands over to the next, on the whole GPU. */
enum edge { EDGE_STREAM, EDGE_GRAPH, EDGE_DEPENDENT, EDGE_BARRIER, EDGE_FLAG, EDGES };

/* How all SMs hand words over to all SMs within a kernel, and what the memory does meanwhile. */
enum exchange { EXCHANGE_COUNTER, EXCHANGE_VALUES, EXCHANGES };
enum beside { BESIDE_NOTHING, BESIDE_STREAM, BESIDES };

/* Loads of 16 bytes that a thread has in flight: see primitives.c. */
enum flight { FLIGHT_4, FLIGHT_8, FLIGHT_16, FLIGHTS };

struct primitives {
    struct corners read_rate;   /* bytes/s, the memory read in one long stream */
    double read_rate_best;     /* the fastest read of the memory that the bundle has */
    struct corners edge[EDGES]; /* ns: see primitives.c for each one's row */
    double edge_least;         /* ns: the fastest flag from SM to SM */
    struct corners memory;     /* ns: a load of the idle memory */
    struct corners loaded;     /* how many times as long it takes while the memory streams */
    struct corners ramp;       /* ns: what a step's bytes cost beyond their stream where it asks for
                                 * them only once it has what the step before handed over */
    struct node_curve exchange[EXCHANGES][BESIDES]; /* by words; empty in bundles before the row */
    struct corners near_exchange; /* ns: of 2048 words by values beside a stream from near memory */
    struct corners near_rate;  /* bytes/s: that stream alone; NaN in bundles before these rows */
    struct corners cold;       /* ns more of a graph's kernel among others than of one that is
                                * repeated; 0 in bundles before the row */
    struct corners bulk_rate;  /* bytes/s: copies to shared memory, 64 KiB an SM in flight */
    struct corners flight[FLIGHTS]; /* bytes/s: 8 warps an SM, so many loads of a thread */
    struct corners l2_rate;         /* bytes/s: all SMs read the L2 */
    struct corners issue;           /* ns: an SM issues one instruction of one warp */
    struct corners norm, point, pair, pairs, merge; /* ns: nodes of a graph that are small kernels:
                                 * RMSNorm; SiLU; rope or append; both in one; attention's merge */
    struct corners shared_rate; /* bytes/s: all SMs read their shared memory */
    double tensor_peak;        /* flop/s: the tensor cores alone, 16-bit operands */
    struct node_curve read;         /* a graph node that reads so many bytes, cold */
    struct node_curve product;      /* a product with a vector, by weights in bytes: our kernel,
                                     * cold */
    struct node_curve library;      /* the same by cuBLAS */
    struct node_curve attention[2]; /* one token's attention, by keys and values in bytes: d = 64,
                                     * 128 */
    struct node_curve matrix;       /* a product of matrices, by flops: the library's best kernel */
    struct node_curve prefill;      /* attention over all positions, by flops */
    double sms, shared_bytes, memory_bytes; /* of the whole GPU */
    double waits; /* 1; with 0 an estimate has no gaps between steps, to tell what they cost */
};

void primitives_take(struct primitives *primitives, const struct bundle *bundle);

/* The time at an amount: linear between points. Beyond the last point each further unit takes
 * 1/rate (ns for rate per second); below the first it saves as much, but never more than the time
 * of the first. NaN for an empty curve. */
double curve_at(const struct node_curve *curve, double amount, double rate, enum corner corner);

/* The rows that primitives come from, as needs; ends with NULL. */
extern const char *const primitives_needs[];

#endif
