/* Arguments of the kernels in timers.cu, for C and CUDA alike. */
#ifndef PROBES_TIMERS_ARGS_H
#define PROBES_TIMERS_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum { TIMERS_READS = 32, TIMERS_EXCHANGES = 32 };

struct reads_args {
    uint64_t *out; /* [0] cycles from the first to the last of TIMERS_READS + 1 readings; mapped */
};
ARGS_SIZE(struct reads_args, 8);

/* The mailbox of one SM, on a line of its own. */
struct timers_mailbox {
    uint32_t ping, pong;
    uint64_t stamp;
    char pad[112];
};
ARGS_SIZE(struct timers_mailbox, 128);

struct skew_args {
    struct timers_mailbox *mail; /* one per SM, zeroed, device memory */
    int64_t *offset;             /* one per SM: its %globaltimer less SM 0's, ns; mapped */
    uint64_t *round_trip;        /* one per SM: shortest round trip, ns; mapped. 0: none */
    uint64_t budget_ns;
    uint32_t n_sm, pad;
};
ARGS_SIZE(struct skew_args, 40);

#endif
