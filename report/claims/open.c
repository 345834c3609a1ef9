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
    {.id = "C92",
     .article = "ai-rng",
     .quote = "Normalization + activation | layer norm or RMS norm with bias and activation | "
              "reduces bandwidth and improves cache use",
     .clause = "improves cache use",
     .statement = "A larger share of the loads of norm, bias and activation is served by L1 or L2 "
                  "when they are one kernel. The rest of the quote is C40's.",
     .open = "Sectors that L1 and L2 serve, by hardware counters, of the fused kernel and of the "
             "kernels that it replaces, where the tensor fits the L2 and where it does not.",
     .waits = "counted bytes and cycles of fused kernels beside separate ones",
     .needs = NEEDS(NULL)},
    {.id = "C93",
     .article = "ai-rng",
     .quote = "Precision mismatches [...] across hardware generations",
     .statement = "The same operator gives other results on another generation of GPUs.",
     .open = "Digests and errors of the fused operators on boards of two generations, from inputs "
             "of the same seed: which differ in a bit, and by how much.",
     .waits = "two boards of different generations",
     .needs = NEEDS(NULL)},
    {.id = "C94",
     .article = "ai-rng",
     .quote = "blocked computation",
     .statement = "A fused attention kernel computes in blocks that stay on the SM: scores never "
                  "reach device memory.",
     .open = "Counted bytes of device memory of attention over a prompt, fused and by three "
             "kernels, against the bytes of its operands.",
     .waits = "counted bytes and cycles of fused kernels beside separate ones",
     .needs = NEEDS(NULL)},
    {.id = "C95",
     .article = "ai-rng",
     .quote = "efficient use of tensor cores",
     .statement =
         "A fused attention kernel keeps the tensor cores busy for more than half of its time.",
     .open = "Counted busy cycles of the tensor pipe during attention over a prompt, beside its "
             "flop/s over the rated peak.",
     .waits = "counted bytes and cycles of fused kernels beside separate ones",
     .needs = NEEDS(NULL)},
};

CLAIM_SUBJECT(claims);
