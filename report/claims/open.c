/* Claims that no program measures yet: what each says, and which measurement would decide it. A
 * claim leaves this file when a subject's file gets its judge. */
#include "report/claims/rules.h"

static const struct claim claims[] = {
    {.id = "C73",
     .article = "8bit.tr",
     .quote = "Kernel optimizations may depend on specific GPU architectures. [...] Profile across "
              "GPU generations to ensure optimizations do not regress on older hardware.",
     .statement = "The best variant of a fixed set of kernels, or the sign of a fusion, differs "
                  "between two boards.",
     .open = "Bundles of two boards or more of different architectures: the best variant of each "
             "operator on each.",
     .waits = "two boards of different generations",
     .needs = NEEDS(NULL)},
    {.id = "C93",
     .article = "ai-rng",
     .quote = "Precision mismatches [...] across hardware generations",
     .statement = "The same operator gives other results on another generation of GPUs.",
     .open = "Digests and errors of the fused operators on boards of two generations, from inputs "
             "of the same seed: which differ in a bit, and by how much.",
     .waits = "two boards of different generations",
     .needs = NEEDS(NULL)},
};

CLAIM_SUBJECT(claims);
