/* Arguments of the kernel in many.cu, for C and CUDA alike. */
#ifndef PROBES_CONTENTION_MANY_H
#define PROBES_CONTENTION_MANY_H

#include <stdint.h>

#include "core/args.h"
#include "probes/contention/args.h"

struct many_args {
    uint32_t *words;   /* the first thread's word; zero before the case */
    struct contention_sample *samples; /* of each block; 0: the others did not come */
    uint32_t *sm;      /* %smid of each block */
    uint32_t *arrived; /* all blocks of all launches */
    uint32_t due;      /* how many will have arrived when this launch's last block has */
    uint32_t apart;    /* words from one thread's to the next one's; 0: all share one */
    uint32_t lanes;    /* of each block that add: 1 or 32 */
    uint32_t zero;     /* 0, unknown to the compiler */
    uint64_t budget_ns;
};
ARGS_SIZE(struct many_args, 56);

#endif
