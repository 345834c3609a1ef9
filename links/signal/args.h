/* Arguments of the kernels in signal.cu, for C and CUDA alike. */
#ifndef LINKS_SIGNAL_ARGS_H
#define LINKS_SIGNAL_ARGS_H

#include "core/device/harness.h"
#include "links/common/team.h"

enum { SIGNAL_WARM = 4 /* turns or barriers before the first clock read */ };

/* Where one GPU is told things, in its own memory. Each in a line of its own. */
struct signal_box {
    uint32_t flag; /* a number */
    uint32_t pad_flag[31];
    uint32_t value; /* beside the flag */
    uint32_t pad_value[31];
    uint64_t packet; /* value and number in one */
    uint64_t pad_packet[15];
};
ARGS_SIZE(struct signal_box, 384);

/* Written by each rank, in mapped memory. */
struct signal_result {
    struct harness_stamp lead, tail;
    uint64_t short_cycles, long_cycles; /* n turns or barriers; 2 n of them */
    uint32_t value;                     /* the token's, when it last came here */
    uint32_t pad;
};

/* A token goes round a ring of GPUs: n turns, then 2 n. Its number rises by one each turn. In the
 * end it is sent once more, and nobody waits for it: the next launch begins two numbers on. */
struct ring_args {
    struct team team;
    struct signal_box *mine, *next;
    struct signal_result *result;
    uint32_t first;   /* the number before the first turn */
    uint32_t turns;   /* n */
    uint32_t leads;   /* 1 on the GPU where a turn begins and ends */
    uint32_t awaited; /* the rank before this one in the ring */
};
ARGS_SIZE(struct ring_args, 96);

struct barrier_args {
    struct team team;
    struct signal_result *result;
    uint32_t rounds, pad; /* n */
};
ARGS_SIZE(struct barrier_args, 72);

/* Every block writes the number of the round into its slot of the next rank's memory, crosses the
 * barrier, and reads what the blocks of the rank before it wrote here. In some rounds the stores
 * are late. Slots of even rounds, then of odd ones; a spare word follows each. */
enum {
    ORDER_STRIDE = 2,
    ORDER_LATE_EVERY = 64, /* rounds */
    ORDER_LATE_ADDS = 64,  /* additions to the spare word before the store of a late round */
};
struct order_args {
    struct team team;
    uint32_t *mine, *next; /* 2 x blocks x ORDER_STRIDE */
    uint32_t *wrong;       /* values read that belong to [0] an earlier, [1] a later round */
    uint32_t first, rounds; /* rounds first + 1 to first + rounds */
};
ARGS_SIZE(struct order_args, 88);

#endif
