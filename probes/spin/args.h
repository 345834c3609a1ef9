/* Arguments of the kernel in spin.cu, for C and CUDA alike. */
#ifndef PROBES_SPIN_ARGS_H
#define PROBES_SPIN_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/harness.h"

struct spin_result {
    uint64_t cycles;                 /* from the first to the last reading of the clock */
    struct harness_stamp lead, tail; /* around the wait */
};

struct spin_args {
    uint64_t asked;             /* cycles to wait */
    uint64_t budget_ns;         /* give up after this time, in case the clock stands still */
    struct spin_result *result; /* mapped host memory, or NULL */
};
ARGS_SIZE(struct spin_args, 24);

#endif
