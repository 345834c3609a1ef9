/* Shared by the files of edges: metrics, the words of a chain, and what its steps read. */
#ifndef PROBES_EDGES_EDGES_H
#define PROBES_EDGES_EDGES_H

#include "core/gpu.h"
#include "probes/edges/args.h"

/* Indices into the table of metrics in edges.c. */
enum {
    STEP,
    CHAIN,
    WRONG,
    DIFFERENT,
    EXCHANGE,
    STREAMED,
    TAKEN_WRONG,
    BESIDE,
    STREAMED_BESIDE,
    STREAMED_ALONE,
};

enum {
    SHORT = 64, /* steps */
    MIDDLE = 512,
    LONG = 4096,
    WAIT_BUDGET_NS = 50000000,
    MEMORY_BODIES = 32, /* the memory that is streamed is so many times the body */
    STEP_BODIES = 8,    /* of them a step reads, where it reads more than the L2 holds */
};

struct span {
    int low, high;
};

struct ladder {
    struct edges_args a;
    uint32_t *census;       /* of the device */
    uint32_t *first, *room; /* host: the start of every chain; room for four rows */
    const void *body;       /* random, of body_chunks chunks, a power of two */
    const void *memory;     /* NULL until edges_memory() */
    uint32_t body_chunks;
    uint32_t *chunk_sum;    /* host: every chunk of the body, xored */
};

/* --- edges.c ---------------------------------------------------------------------------------- */

/* MEMORY_BODIES times the body, of which the L2 holds some per cent at most, made when it is first
 * asked for: each part has the body's chunks in another order. */
const void *edges_memory(struct probe_run *r, struct ladder *l);

/* All words of a chunk of the memory, xored; those of the body are the first. */
uint32_t edges_chunk_sum(const struct ladder *l, uint32_t chunk);

/* Stores how many blocks there were, and on how many different SMs, by the census. */
void edges_note_sms(struct probe_run *r, const struct ladder *l, unsigned blocks);

/* Did no wait in a kernel take longer than its budget? */
bool edges_check_waits(struct probe_run *r, const struct ladder *l);

/* --- exchange.c ------------------------------------------------------------------------------- */

enum {
    EXCHANGE_WORDS_MOST = 8192,
    EXCHANGE_TILES_MOST = 1 << 18, /* that a block streams in a launch */
};

struct exchange_site {
    struct exchange_args a;                        /* .epoch: the next that no launch has used */
    uint32_t *first;                               /* host */
    uint32_t *tiles, *sums;                        /* of the device */
    uint32_t *row[2], *expected, *digests, *found; /* host; found: two for each block */
};

struct exchange_site exchange_prepare(struct probe_run *r, const struct ladder *l);

/* The digests of a block's threads, to `expected`: all blocks take the same. */
void exchange_digests(const struct exchange_site *s, uint32_t words, uint32_t exchanges);

/* --- exchange.c, beside.c and different.c ----------------------------------------------------- */

void edges_measure_exchanges(struct probe_run *r, struct ladder *l);
void edges_measure_beside(struct probe_run *r, struct ladder *l);
void edges_measure_different(struct probe_run *r, struct ladder *l);

#endif
