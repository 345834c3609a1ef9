// Which exchanges have kernels: EXCHANGES(KERNEL) says KERNEL(name, wire, exchange) for each.
#ifndef LINKS_ALL_REDUCE_EXCHANGES_CUH
#define LINKS_ALL_REDUCE_EXCHANGES_CUH

#include "links/all_reduce/args.h"
#include "links/common/exchange.cuh"

#define EXCHANGES_BY(KERNEL, wire, type, ranks)                                                    \
    KERNEL(push_##wire##_##type##_##ranks, wire, push_all_reduce<wire, type, ranks>)               \
    KERNEL(two_shot_##wire##_##type##_##ranks, wire, two_shot_all_reduce<wire, type, ranks>)       \
    KERNEL(reduce_scatter_##wire##_##type##_##ranks, wire, push_reduce_scatter<wire, type, ranks>)
#define EXCHANGES_OF(KERNEL, wire, ranks)                                                          \
    EXCHANGES_BY(KERNEL, wire, bf16, ranks)                                                        \
    EXCHANGES_BY(KERNEL, wire, fp32, ranks)                                                        \
    KERNEL(all_gather_##wire##_any_##ranks, wire, push_all_gather<wire, ranks>)
#define EXCHANGES(KERNEL)                                                                          \
    EXCHANGES_OF(KERNEL, packets, 2)                                                               \
    EXCHANGES_OF(KERNEL, packets, 4)                                                               \
    EXCHANGES_OF(KERNEL, plain, 2)                                                                 \
    EXCHANGES_OF(KERNEL, plain, 4)

#endif
