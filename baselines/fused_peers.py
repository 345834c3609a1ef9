#!/usr/bin/env python3
"""fused_peers: how fast are the fused operators that people compare with: PyTorch's, eager and
compiled?

Optional, like baselines/peers.py: without a python3 with torch and triton it exits with 77 and one
line. `gpufloor run --with baselines/fused_peers.py` adds it to every round.

Method. The operators of fused/'s programs at the sizes of their bars, with the same data types, on
N(0,1); fused_operators.py says what each computes, and what rows and cols are.

    impl=eager    as one writes it in PyTorch: torch.nn.functional where it has the operator
    impl=compile  the same function through torch.compile
    impl=multi_kernel  the same with its option triton.multi_kernel, which also tries to keep a row
                  in registers; softmax only
    impl=flash, impl=cudnn    scaled_dot_product_attention by that backend alone

Cold: a graph of n and one of 2n operations rotate over sets of operands and results, the operands
more than 3 x L2, at most 32 sets. Where an operation touches so few bytes that 32 sets are too few,
it is warm: always the same set.

Results are judged against float64 before the timing and after it, and --check plants faults that
must be found.

Inside the timed region: one replay of a graph between two events, after a kernel that holds the
stream; the slope over the graphs. What prepares operands is outside: int4 weights lie there as
PyTorch's product takes them, and the uniform numbers of sampling are operands.

Measured on an H200 (2bc92e8, seven rounds): compiled, residual and RMSNorm take 265 us (ours 265),
and with codes in fp8 243 (226), LayerNorm 136 (134), bias, GELU and scale 170 (132), softmax over
4096 columns 1403, and 602 with triton.multi_kernel (518). For 8192 tokens, causal, flash takes 1.73
ms and cuDNN 0.99 (0.88); for one query over 8192 keys cuDNN takes 14.5 us and flash 22.6 (12.1). On
an H100 (three rounds, 28 November 2026; gpufloor's row of another card beside it): RMSNorm with
codes compiled 320 us, eager 1654 in eight kernels (ours 318); sampling of 256 x 128256 logits
compiled 565 us in 23 kernels, eager 1087 in 38 (ours 122), of one row 61 and 86 (ours 4.5); int4 at
batch 1, 16 and 256 17.9, 68 and 1018 us (ours 11.8, 18.3 and 103), where by count its kernel reads
all weights once for every 16 x; up, gate and down 86 (ours 77 in two kernels, 80 in one); bias and
GELU behind a product of one row, bf16, 16.9 (ours 12.5).

By itself, as users get it, the compiler goes through a row of softmax several times: 1403 us over
4096 columns, and 602 with triton.multi_kernel. Over 32768 columns and 131072, of 32 rows and one,
both take five kernels. Of one row their times are within 3 % of each other. Of 32 rows the option's
is 12 % shorter (7.87 us, 8.94), and was 2 % shorter on another H200, which compiled anew (dadc3c0,
in the history of the tree). At the norms the option took within 1 % of the compiler's own choice
(one H200, graphs of four, not this program).

Traps. Memory that an operator allocates comes from the graph's own pool. A function that cannot be
captured, a backend that refuses, or operands that cannot be made is left out, and the run says so.
The compiler rounds only what it stores, so that its results are others than those of the same lines
in eager form. Which tokens have occurred is a byte a token here, a bit in ours: 25 % more to read.
The L2 keeps a part of what was read three times its size ago: two_gemv has four sets of weights at
least, as in fused/."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
import peers_core as core  # noqa: E402
from peers_gpu import Gpu, kernels_of  # noqa: E402

TIME = core.Metric("time", "ns", "lower", "slope", "event", "op,rows,cols,type,impl,l2",
                   "one whole operation, edges included")
KERNELS = core.Metric("kernels", "count", "exact", "each", None, TIME.keys, "kernels of it")
ERROR = core.Metric("error", "ratio", "lower", "each", None, TIME.keys,
                    "relative Frobenius norm of the difference from float64; of tokens the share "
                    "that float64 would not draw")
PROBE = {"name": "fused_peers", "what": "How fast are PyTorch's own forms of the fused operators?",
         "method": 2, "needs": "gpu", "min_cc": 80, "metrics": (TIME, KERNELS, ERROR)}
SETS_MAX = 32


# --- sets of operands -----------------------------------------------------------------------------

def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


class Sets:
    """Operands as the function takes them, in as many sets as the L2 asks for; of the first also as
    the judge takes them."""

    def __init__(self, run, gpu, operator):
        self.gpu, self.operator = gpu, operator
        gpu.torch.manual_seed(run.options.seed)
        self.made = operator.make()
        first = operator.pack(*self.made)
        wanted = max(3 * gpu.l2_bytes // bytes_of(first) + 1, operator.least_sets)
        self.cold = wanted <= SETS_MAX
        self.sets = [first] + [operator.pack(*operator.make())
                               for _ in range(wanted - 1 if self.cold else 0)]

    def judged(self, result):
        return self.operator.judge(self.made, result)


# --- measuring ------------------------------------------------------------------------------------

def ways(torch, operator):
    """(impl, function): the implementations that PyTorch has."""
    if operator.backends:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        by_name = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}

        def only(backend):
            def call(*operands):
                with sdpa_kernel([backend]):
                    return operator.function(*operands)
            return call
        return [(name, only(by_name[name])) for name in operator.backends]
    compiled = {"compile": None, **operator.options}
    return [("eager", operator.function)] + [
        (name, torch.compile(operator.function, dynamic=False, options=options))
        for name, options in compiled.items()]


def graph_pair(gpu, sets, function):
    """Graphs of n and 2n operations, each a whole number of turns through the sets, the first set
    last: its result is judged after the timing. Results lie in turns, too: one stays until its set
    comes again, when the next has been made. Returns the graphs, and a list whose first element is
    the last result."""
    n = len(sets.sets)
    kept = [None] * n

    def operations(count):
        for i in range(1, count + 1):
            kept[i % n] = function(*sets.sets[i % n])
    least = 1 if bytes_of(sets.sets[0]) > 2 ** 28 else 8
    least = -(-least // n) * n
    pair = [(count, gpu.graph(lambda: operations(count))) for count in (least, 2 * least)]
    return pair, kept


def judge(run, sets, impl, result, when):
    """The error."""
    error, beyond = judged = sets.judged(result)
    run.check(sets.operator.passes(judged), f"{sets.operator.name} by {impl}{when}: error "
              f"{error:.2g}, {beyond} results beyond their bound")
    return error


def measure_way(run, gpu, sets, impl, function):
    """Gives the result, or None where there is none."""
    o = sets.operator
    if not run.case(f"op={o.name},rows={o.rows},cols={o.cols},type={o.type},impl={impl},"
                    f"l2={'cold' if sets.cold else 'warm'}"):
        return None
    try:
        result = function(*sets.sets[0])
        gpu.torch.cuda.synchronize()
        pair, kept = graph_pair(gpu, sets, function)
    except (RuntimeError, NotImplementedError) as error:
        note = f"{o.name} by {impl} cannot be had here: {core.first_line(error)}"
        run.missing(TIME, note)
        run.notes.append(note)
        return None
    judge(run, sets, impl, result, "")
    kernel, _, _, n_kernels = kernels_of(pair[0][1])
    run.value(KERNELS, n_kernels / pair[0][0])
    run.fact("kernel", kernel[:200])
    while run.more():
        for n, graph in pair:
            run.sample(TIME, n, gpu.timed_ns(run, graph.replay))
    run.value(ERROR, judge(run, sets, impl, kept[0], ", after timing"))
    return result


def check_faults(run, sets, result):
    """Wrong results must be found wrong."""
    o = sets.operator
    for what, wrong in o.faults(o, sets.made, result):
        run.check(not o.passes(sets.judged(wrong)), f"{o.name}, {what}: is seen")


def measure_operator(run, gpu, operator):
    try:
        sets = Sets(run, gpu, operator)
    except RuntimeError as error:
        run.notes.append(f"{operator.name} cannot be had here: {core.first_line(error)}")
        return
    for impl, function in ways(gpu.torch, operator):
        result = measure_way(run, gpu, sets, impl, function)
        if run.options.check and result is not None:
            check_faults(run, sets, result)
        run.close_case()


def measure(run):
    # PyTorch fails to read the choice that triton.multi_kernel has stored, in every process but
    # that which compiled: each process chooses anew.
    os.environ["TORCHINDUCTOR_DISABLE_MULTI_KERNEL_CACHE"] = "1"
    gpu = Gpu(run)
    from fused_operators import operators  # takes torch, which a Gpu has looked for
    for operator in operators(run.options.check):
        measure_operator(run, gpu, operator)
        gpu.torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(core.main(PROBE, measure))
