/* Claims that no program measures yet: what each says, and which measurement would decide it. A
 * claim leaves this file when a subject's file gets its judge. */
#include "report/claims/rules.h"

static const struct claim claims[] = {
    {.id = "C03",
     .article = "smallest.ai",
     .quote =
         "To avoid this, developers often restrict the number of SMs used, limiting parallelism on "
         "otherwise massive GPUs. [...] Ironically, this underutilization creates a performance "
         "ceiling- especially harmful for single-batch inference, where every millisecond counts.",
     .statement = "A chain of products with barriers between them needs fewer than all SMs to "
                  "finish safely, or is fastest on 0.8 of the SMs or fewer. How often developers "
                  "restrict SMs cannot be measured.",
     .open = "A persistent chain of dependent matrix-vector products with a barrier after each, on "
             "8 to all SMs: does it always finish, and where is it fastest?",
     .waits = "a chain of dependent products with barriers, on 8 to all SMs",
     .needs = NEEDS(NULL)},
    {.id = "C04",
     .article = "smallest.ai",
     .quote = "Even with fusion, the GPU cannot safely scale this computation across all its SMs:",
     .statement = "One small dependent computation on all SMs hangs, goes wrong, or is no faster "
                  "than on a quarter of the SMs.",
     .open = "Strong scaling of the chain of C03 and of one decoder layer, from an eighth of the "
             "SMs to all, with every result checked.",
     .waits = "a chain of dependent products with barriers, on 8 to all SMs",
     .needs = NEEDS(NULL)},
    {.id = "C07",
     .article = "smallest.ai",
     .quote = "This makes it impossible to parallelize the model across layers—for instance, "
              "assigning SM groups to different parts of the pipeline (e.g., encoder vs decoder), "
              "which could reduce overall latency. Without fast on-chip communication, such "
              "pipelining becomes infeasible.",
     .statement = "Two stages on two groups of SMs do not run correctly at a useful rate.",
     .open = "Two stages of products, each on its half of the SMs with a queue in the L2 between "
             "them, against the same on all SMs one after the other: throughput of 256 items, and "
             "the latency of one.",
     .waits = "two stages of products on two halves of the SMs, with a queue between them",
     .needs = NEEDS(NULL)},
    {.id = "C08",
     .article = "smallest.ai",
     .quote = "Each SM, even in a fused kernel, typically ends up working on the same layer at any "
              "point in time",
     .statement = "In a persistent kernel two different operations are never active at once. That "
                  "they typically are not cannot be measured.",
     .open =
         "A persistent kernel of two layers with dependency counters for each tile, whose blocks "
         "record operation, start and end: the share of time in which two operations are active.",
     .waits = "which operation each block runs, in one kernel of two layers",
     .needs = NEEDS(NULL)},
    {.id = "C18",
     .article = "smallest.ai",
     .quote = "In fused kernels where multiple operations share memory-heavy buffers or "
              "intermediate states, the L1 memory becomes the bottleneck, reducing the number of "
              "active warps- and, again, exposing memory latency instead of hiding it.",
     .statement = "In a fused kernel shared memory limits occupancy, and half as many warps cost "
                  "10 % or more.",
     .open = "A fused kernel and its parts with unused shared memory added until half of the warps "
             "fit, nothing else changed, by plain loads and by a pipeline of copies; apart, the "
             "cache part of L1 made smaller than the intermediate.",
     .waits = "a fused kernel with more and more unused shared memory",
     .needs = NEEDS(NULL)},
    {.id = "C19",
     .article = "smallest.ai",
     .quote = "Too few warps per SM = memory latency is exposed. [...] Too many SMs = inter-SM "
              "coordination risks deadlocks. [...] This leads to forced underutilization of the "
              "hardware.",
     .statement = "No number of warps per SM and of SMs has all SMs, no failure, and 80 % of the "
                  "sustained bandwidth.",
     .open = "The chain of C03 over warps per SM and SMs, launched cooperatively: failures, and "
             "the share of the sustained bandwidth in each phase.",
     .waits = "a chain of dependent products with barriers, on 8 to all SMs",
     .needs = NEEDS(NULL)},
    {.id = "C30",
     .article = "smallest.ai",
     .quote = "At first glance, this seems like an effective optimization. These large kernels aim "
              "to: [...] Avoid memory stalls that typically occur between layers during "
              "conventional layer-by-layer execution.",
     .statement = "Some fused form wins back half or more of the time in which memory is idle "
                  "between two dependent products of 32 MiB.",
     .open = "Two dependent matrix-vector products of 32 MiB against one stream of the same bytes: "
             "by stream, by graph, with programmatic launch and prefetch, and in one kernel with "
             "and without prefetch.",
     .waits = "two dependent products of 32 MiB against one stream of the same bytes",
     .needs = NEEDS(NULL)},
    {.id = "C31",
     .article = "smallest.ai",
     .quote = "In scenarios with high batch sizes and uniform input shapes—such as training "
              "pipelines or offline inference—this approach can bring solid performance gains. "
              "[...] While large fused kernels can offer modest gains in training or high-batch "
              "inference scenarios—where inputs are uniform and compute-heavy—the same strategies "
              "break down in real-time, low-batch inference. [...] Fusion techniques aim to reduce "
              "memory access and kernel launch overhead, and they can yield moderate gains in "
              "high-throughput or batched scenarios.",
     .statement = "A fused decoder layer gains less over a graph of kernels at batch 1 than at "
                  "batch 64; that it breaks down is read as no gain at batch 1.",
     .open = "The decoder layer, fused and as a graph of kernels, at batch 1 to 512.",
     .waits = "a decoder layer, fused and as a graph, at several batches and sizes",
     .needs = NEEDS(NULL)},
    {.id = "C32",
     .article = "smallest.ai",
     .quote = "Large fused kernels typically assume static shapes for efficiency, making them "
              "brittle in practice.",
     .statement = "A fused kernel built for fixed sizes fails or loses 20 % at other sizes, or one "
                  "that takes its sizes at run time loses 10 % to it at its own.",
     .open = "One fused decode kernel, built for fixed sizes and with sizes as arguments, at the "
             "sizes it was built for and at others.",
     .waits = "one fused decode kernel at the sizes it was built for and at others",
     .needs = NEEDS(NULL)},
    {.id = "C35",
     .article = "smallest.ai",
     .quote = "In practice, this means that you hit a hard limit on latency, which is nowhere near "
              "the sub-50ms bar required for smooth, human-like interactions.",
     .statement = "One forward pass of a model of 0.5B to 70B parameters takes 50 ms or more. "
                  "Speech pipelines from end to end are not measured.",
     .open =
         "The time of a whole decode step at the layer shapes of 0.5B to 70B models: the decoder "
         "layer times its number, and the links between GPUs where one does not hold the model.",
     .waits = "whole decode steps of models of several sizes",
     .needs = NEEDS(NULL)},
    {.id = "C36",
     .article = "smallest.ai",
     .quote = "To truly unlock sub-50ms latency for natural, fluid conversations, we need more "
              "than better software—we need fundamentally different hardware. [...] all of which "
              "are essential for breaking through the latency floor imposed by conventional GPUs",
     .statement = "There is no such device to measure. A free network between SMs could remove no "
                  "more than the share of the floor that dependence takes.",
     .open = "The decode step of C35, divided into the time that weights stream and the time that "
             "steps wait for each other: it bounds what the named hardware could gain.",
     .waits = "whole decode steps of models of several sizes",
     .needs = NEEDS(NULL)},
    {.id = "C47",
     .article = "ai-rng",
     .quote = "Launch overhead matters most when: [...] Batch sizes are small. [...] Sequence "
              "lengths are short. [...] Models are small enough that matmuls are not dominant. "
              "[...] Serving uses micro-batches and strict latency targets. [...] In these cases, "
              "the GPU can show low utilization even though the workload is steady.",
     .statement = "The share of gaps between kernels grows towards small batches, short sequences, "
                  "small models and small micro-batches, each varied alone.",
     .open = "A decode and a prefill step of whole layers, launched one by one and by graph, along "
             "the four axes: the share of the step in which no kernel runs.",
     .waits = "the part of a step in which no kernel runs, by batch, length and size",
     .needs = NEEDS(NULL)},
    {.id = "C48",
     .article = "ai-rng",
     .quote = "If many tiny kernels dominate, fusion and graph compilation can produce the largest "
              "gains. [...] Fusion and graph compilation reduce the number of launches and can "
              "convert a latency-bound workload into a throughput-stable workload.",
     .statement = "Where gaps take a quarter of a step or more, a graph and fusion gain more than "
                  "a faster matrix-vector product does, and step times vary less.",
     .open = "On the steps of C47, the gain of a graph, of fusion, of both and of a faster product "
             "alone, and the coefficient of variation of step time.",
     .waits = "the part of a step in which no kernel runs, by batch, length and size",
     .needs = NEEDS(NULL)},
    {.id = "C49",
     .article = "8bit.tr",
     .quote = "Inference latency often comes from kernel overhead, not just model size.",
     .statement = "Over eight shapes or more, the number of kernels explains a tenth or more of "
                  "step time beside the bytes of the weights.",
     .open = "Whole decode steps of eight models' shapes and of several numbers of kernels: a "
             "regression of step time on bytes and kernels.",
     .waits = "whole decode steps of models of several sizes",
     .needs = NEEDS(NULL)},
    {.id = "C51",
     .article = "ai-rng",
     .quote = "Kernel boundaries force synchronization points that reduce overlap.",
     .statement = "Device memory is idle for 0.5 us or more at each boundary between two kernels "
                  "that stream.",
     .open = "Two kernels that stream, one after the other, whose blocks record their first and "
             "last load: the time between the last load of one and the first of the next.",
     .waits = "the idle time of memory between two kernels that stream",
     .needs = NEEDS(NULL)},
    {.id = "C53",
     .article = "dev.to",
     .quote =
         "In large-scale AI systems, moving data is often more expensive than computing on it.",
     .statement = "Bytes and launches take over half of the decode time of the layers of 8B and "
                  "70B models up to batch 64, on one GPU.",
     .open = "The decoder layer at batch 1 to 256, operation by operation: which share of its time "
             "is bound by bytes, by arithmetic, by launches; between GPUs, the links.",
     .waits = "a decoder layer, fused and as a graph, at several batches and sizes",
     .needs = NEEDS(NULL)},
    {.id = "C62",
     .article = "ai-rng",
     .quote = "Limited specialization: a fused kernel may be less optimized for a particular "
              "operator than a dedicated kernel.",
     .statement = "Some operator takes 10 % longer inside the persistent kernel than in its best "
                  "kernel of its own.",
     .open = "The decoder layer in one persistent kernel that records the time of each operator, "
             "beside the best kernel of each alone.",
     .waits = "a decoder layer, fused and as a graph, at several batches and sizes",
     .needs = NEEDS(NULL)},
    {.id = "C70",
     .article = "ai-rng",
     .quote = "These gains are often more visible in latency-sensitive systems than in "
              "throughput-only benchmarks because they reduce synchronization points and improve "
              "stability under concurrency.",
     .clause = "These gains are often more visible in latency-sensitive systems than in "
               "throughput-only benchmarks",
     .statement = "The same fusion gains more in the latency of batch 1 than in the throughput of "
                  "batch 256.",
     .open = "The decoder layer, fused and as a graph of kernels, at batch 1 and at batch 256.",
     .waits = "a decoder layer, fused and as a graph, at several batches and sizes",
     .needs = NEEDS(NULL)},
    {.id = "C72",
     .article = "8bit.tr",
     .quote = "Is it worth it for small models? Less so; benefits scale with model size.",
     .statement = "At batch 1 the relative gain of fusion rises with the bytes of the weights, "
                  "from 0.1 to 16 GB.",
     .open = "The decoder layer, fused and as a graph of kernels, at the shapes of models of 0.1 "
             "to 16 GB.",
     .waits = "a decoder layer, fused and as a graph, at several batches and sizes",
     .needs = NEEDS(NULL)},
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
    {.id = "C74",
     .article = "8bit.tr",
     .quote = "Track kernel-level speedups against real workloads, not just microbenchmarks. [...] "
              "Benchmark kernel changes in production-like environments to avoid lab-only gains.",
     .statement = "The gain of a whole step differs by more than 5 points from what the gains of "
                  "its kernels let expect, or some gain of a kernel vanishes in the step.",
     .open = "A whole decode step with each fusion switched on alone, beside the gain of that "
             "kernel by itself.",
     .waits = "whole decode steps of models of several sizes",
     .needs = NEEDS(NULL)},
    {.id = "C88",
     .article = "ai-rng",
     .quote = "They change cost per token by changing throughput per GPU. [...] In practice, "
              "kernel optimization is one of the few levers that can improve both cost and user "
              "experience simultaneously.",
     .statement =
         "Ways to launch one step differ in tokens per second and in joules per token, and the one "
         "with the best latency at batch 1 is also the best in both. Money is not judged.",
     .open = "Whole decode steps of a 1B and an 8B model by stream, by graph, fused and "
             "persistent, over windows of 30 s: tokens per second, joules by the energy counter.",
     .waits = "whole decode steps of models of several sizes",
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
