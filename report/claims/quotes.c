/* Sentences of the articles that the claims which judge them do not quote, since another sentence
 * says the same. With the quotes of the claims these are all that the ledger covers. */
#include "report/claims/quotes.h"

static const struct quote quotes[] = {
    {"smallest.ai", "3. No Network-on-Chip (NOC) for Cross-SM Coordination", "C05", NULL},
    {"smallest.ai",
     "This demonstrates a key limitation: Nvidia GPUs are not optimized for low-granularity "
     "workloads, where small units of work must be done with extreme speed.",
     "C26", NULL},
    {"smallest.ai",
     "At first glance, this seems like an effective optimization. These large kernels aim to:",
     "C28 C29", NULL},
    {"8bit.tr", "Kernel fusion reduces memory transfers and improves throughput.", "C28", NULL},
    {"ai-rng",
     "Operator fusion is the idea of combining multiple operators into a single kernel so that "
     "intermediates stay in registers or shared memory and the system pays launch overhead once.",
     "C28 C29", NULL},
    {"dev.to", "The arithmetic is cheap.", "C37", NULL},
    {"dev.to", "The memory traffic is expensive.", "C37", NULL},
    {"dev.to", "But naively, the GPU may:", "C38",
     "an opening of a list: what the list says is judged"},
    {"dev.to", "No intermediate tensors are stored in global memory.", "C38", NULL},
    {"ai-rng",
     "A naive execution path runs each operator as a separate kernel and writes each intermediate "
     "tensor back to memory.",
     "C38", NULL},
    {"ai-rng", "Elementwise chains | add, mul, gelu, silu, clamp | removes intermediate writes",
     "C39", NULL},
    {"8bit.tr", "Layer norm, activation functions, and linear layers benefit from fusion.", "C40",
     NULL},
    {"8bit.tr",
     "Attention kernels are especially sensitive to memory bandwidth and fusion choices.", "C43",
     NULL},
    {"dev.to", "The intermediate attention matrix can be enormous.", "C44", NULL},
    {"dev.to",
     "This single optimization helped unlock much longer context windows for modern LLMs.", "C44",
     NULL},
    {"dev.to", "The bias addition and activation are fused.", "C46", NULL},
    {"ai-rng",
     "Bias and residual fusion | add bias and residual connections during matmul outputs | fewer "
     "kernels, fewer writes",
     "C46", NULL},
    {"dev.to", "Higher arithmetic intensity generally means better GPU utilization.", "C52", NULL},
    {"ai-rng",
     "Many models spend a surprising fraction of time moving data and managing launches rather "
     "than performing arithmetic.",
     "C53", NULL},
    {"dev.to",
     "FlashAttention reorganizes the computation so that large intermediate matrices never need to "
     "be materialized in global memory.",
     "C55", NULL},
    {"ai-rng",
     "Hardware support: whether tensor cores or matrix units accelerate the chosen format.", "C65",
     "a point of a list to check, not a statement"},
    {"ai-rng", "Data movement: whether quantization reduces bandwidth or adds conversion overhead.",
     "C65", "a point of a list to check, not a statement"},
    {"ai-rng", "They change tail latency by reducing launch overhead and synchronization points.",
     "C68", NULL},
    {"dev.to", "may require different strategies.", "C73",
     "which strategies is not said; boards of two generations would show whether the best differ"},
    {"ai-rng",
     "They influence hardware choices because the optimal kernel set differs by architecture.",
     "C73", NULL},
    {"dev.to", "The computation is identical.", "C75", NULL},
    {"ai-rng", "Numerical drift: changing operation order can alter rounding and accumulate error.",
     "C75", NULL},
    {"ai-rng", "numerical differences from reordering", "C75", NULL},
    {"8bit.tr", "Custom kernels can unlock major speedups but increase maintenance cost.",
     "C79 C81", "the speed-up is judged; what maintenance costs cannot be measured"},
    {"dev.to", "which is considerably less pleasant.", "C81",
     "a matter of taste: nothing in it can be measured"},
    {"ai-rng",
     "Debug difficulty: diagnosing correctness issues becomes harder when operators are fused.",
     "C81", "what debugging costs cannot be measured here"},
    {"ai-rng", "Modern high-performance attention kernels generally share traits.", "C82",
     "how generally cannot be measured; the traits are judged one by one"},
    {"ai-rng", "reduces conversion overhead | accuracy drift and calibration needs", "C85", NULL},
};

const struct quote *quote_at(size_t i)
{
    return i < sizeof quotes / sizeof quotes[0] ? &quotes[i] : NULL;
}
