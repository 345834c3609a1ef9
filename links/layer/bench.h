/* One shape of a layer on all ranks, and what the parts of layer give one another. */
#ifndef LINKS_LAYER_BENCH_H
#define LINKS_LAYER_BENCH_H

#include "fused/common/decoder/model.h"
#include "links/common/teams.h"
#include "links/layer/args.h"

enum { DEALERS = 8 /* blocks on an SM, of kernels that are not timed */ };
enum { STEPS_MOST = 2 /* that are timed */ };
static const float EPSILON = 1e-5f;

/* What each does is said in layer.c. */
enum way { PUSH, NEAR, GRAPH_PUSH, GRAPH_NCCL, WAYS };
extern const char *const way_names[WAYS];
bool way_stays(enum way way); /* a kernel that stays, or a graph */

/* Kernels of a graph. */
enum node {
    EMBED, QKV, ATTENTION, MERGE, O, GATE_UP, DOWN, ADD, HEAD, CHOOSE, BEST, CHOOSE_GATHERED, NODES
};

/* What is timed: chains of layers; and whole steps, each of which feeds its token to the next. */
enum kind { LAYERS, STEPS, KINDS };

struct work {
    uint32_t layers, steps; /* 0 steps: layers alone, from `input` */
};

/* One lap: the times of n and of 2 n, and the slowest rank's clock. */
struct lap {
    double ns[2], mhz[2];
};

/* What one layer leaves in float64, of a residual with this digest. Ways that leave the same bits
 * share it: it takes the host as long as all else. */
struct known {
    uint64_t before;
    double *after;
};

enum { VERIFIED = 4 }; /* layers of a chain */

struct bench {
    struct probe_run *r;
    struct links *links;
    struct teams teams;
    int gpus;
    struct decoder_problem whole, share; /* of all ranks, of one */
    uint32_t layers;      /* n */
    uint32_t step_layers; /* of a whole step */
    uint32_t token;       /* the first; `input` is its embedding */
    uint64_t seed;
    struct links_memory weights, caches, drawn, drawn_cache, rope, input, boxes, mail[2], barrier,
        sum, copy, embedding, head /* whole, on every rank */, head_norm, x, rates;
    struct decoder_near near[LINKS_MOST]; /* in `copy`, of each rank */
    struct links_memory output[WAYS], logits[WAYS], tokens[WAYS];
    char lacks[WAYS][160]; /* why a way cannot be, or "" */
    int stays[GRAPH_PUSH], node[NODES], deal, move, rate; /* kernels */
    float *out, *before, *left, *timed; /* hidden, on the host; timed: what NCCL's graph left */
    float *rated;                       /* the logits of all ranks */
    struct lap *lap[KINDS][WAYS];
    size_t laps[KINDS];
    int graph[KINDS][WAYS][2];
    uint64_t digest[WAYS], chosen[WAYS]; /* of 2 n layers; of two steps: tokens and logits */
    struct known known[VERIFIED];
};

/* In a rank's own memory. */
static inline void *bench_at(const struct links_memory *m, int rank, uint64_t offset)
{
    return m->at[rank][rank] + offset;
}

/* tensors.c: what is where. */
void bench_allocate(struct bench *b);
/* Draws and deals out all that is read, by kernels that were found; mailboxes become empty. */
void bench_fill(struct bench *b);
/* Deals out the drawn layer `set` to `ranks` ranks; 1: whole, in its place in `drawn`. */
void bench_deal_layer(struct bench *b, uint32_t set, int ranks);
/* Cosines and sines of the position; the caller frees them. */
float *bench_angles(const struct bench *b);
/* A rank's rows of the head. */
char *bench_head(const struct bench *b, int rank);
/* A mailbox has a slot for two rows of the residual, and for what a block has chosen. */
uint64_t bench_slots(const struct bench *b);

/* near.c: copies all ranks' weights for NEAR, or says in `lacks` why it cannot be. */
void bench_copy_near(struct bench *b);

/* launch.c: kernels, what they take, and their order. */
void bench_find_kernels(struct bench *b);
/* A chain, or steps, in every rank's stream. */
void bench_launch(const struct bench *b, enum way way, struct work work);
/* One all-reduce alone. */
void bench_launch_sum(const struct bench *b, enum way way);
/* Waits for all ranks; fails the run if a block gave up waiting. */
void bench_wait(const struct bench *b);

/* check.c: is it right? Has the last launch, of 2 n layers or of two steps, left the bits of
 * others? */
void bench_require_bits(struct bench *b, enum way way, const char *when);
void bench_require_choice(struct bench *b, enum way way, const char *when);
/* All but NCCL add in the same order: of these ways, both have left the same bits. */
void bench_require_same(struct bench *b);
/* Nothing is chosen but the first token. */
void bench_forget_choice(const struct bench *b, enum way way, uint32_t token);
/* Layers and steps against float64, behind the two above. Returns the error of one layer; differ:
 * numbers that have not the same bits on all ranks. */
double bench_verify(struct bench *b, enum way way, double *differ);

#endif
