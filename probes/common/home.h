/* Arguments of the kernel in home.cu, for C and CUDA alike. */
#ifndef PROBES_COMMON_HOME_H
#define PROBES_COMMON_HOME_H

#include <stdint.h>

#include "core/args.h"
#include "probes/common/chase.h"

struct home_args {
    const uint64_t *line;         /* n addresses, of eight bytes each */
    uint64_t n;
    uint64_t *cycles;             /* of each */
    struct chase_result *result;
    uint32_t *claim;              /* the block that runs stores its ticket here */
    uint32_t ticket;              /* differs in every launch */
    uint32_t sm;                  /* %smid from which to ask */
};
ARGS_SIZE(struct home_args, 48);

#endif
