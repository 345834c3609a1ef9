// Loads of tensors that a kernel reads once. The host says whether the L2 shall keep what they
// bring (operation_keeps() of operation.h): load_ordinary() if so, else load_once().
//
//     load_group<LOAD_BY_BRANCH, VECTORS>(a.keep, [&](auto load) {
//         for (...)
//             x[i] = load(in + at);
//     });
//
// On Hopper the L2 gives up first what load_once() brings: results that were stored stay there
// instead, where the next kernel finds them. That is right for tensors that fit into the L2. Of
// larger ones no result is found anyway, and what is read had better be kept like any other line.
// On an H200 three copies, each of what the last one stored, take 46.5 us for 32 MiB, and 54.0 with
// loads that are evicted like all others; one of 256 MiB takes 141.9 us, and 134.9 with those.
//
// How to choose was measured against one load that carries a cache policy, which takes ten
// instructions to make on Hopper. 4 multiply-adds of 1 x 1024 take 59 ns less by predicates, and 58
// more by a branch. Softmax of a row of 4096 takes 92 ns less by a branch; norm and bias_gelu_scale
// take as long. Predicates want registers, and where a bias is read, too, some loads would wait for
// others. So they are for the copy and for chains without a bias.
//
// A kernel that moves one vector a thread is for tensors that fit into the L2, and does not choose.
#ifndef FUSED_COMMON_LOAD_GROUP_CUH
#define FUSED_COMMON_LOAD_GROUP_CUH

#include "core/device/load.cuh"

enum load_choice {
    LOAD_ONCE,         // there is none
    LOAD_BY_BRANCH,    // one, around the whole group
    LOAD_BY_PREDICATE, // at each load
};

template <load_choice CHOICE, int VECTORS, typename GROUP>
__device__ __forceinline__ void load_group(bool keep, const GROUP &group)
{
    if constexpr (CHOICE == LOAD_ONCE || VECTORS == 1) {
        group([](const void *p) { return load_once(p); });
    } else if constexpr (CHOICE == LOAD_BY_PREDICATE) {
        group([keep](const void *p) { return keep ? load_ordinary(p) : load_once(p); });
    } else {
        if (keep)
            group([](const void *p) { return load_ordinary(p); });
        else
            group([](const void *p) { return load_once(p); });
    }
}

#endif
