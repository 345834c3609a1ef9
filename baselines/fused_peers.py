#!/usr/bin/env python3
"""fused_peers: how fast are the fused operators that people compare with: PyTorch's, eager and
compiled?

Optional, like baselines/peers.py: without a python3 with torch and triton it exits with 77 and one
line. `gpufloor run --with baselines/fused_peers.py` adds it to every round.

Method. The operators of fused/'s probes at the sizes of their bars, with the same data types,
    N(0,1). impl=eager    as one writes it in PyTorch: torch.nn.functional where it has the operator
    impl=compile  the same function through torch.compile impl=flash, impl=cudnn
    scaled_dot_product_attention by that backend alone
Cold: a graph of n and one of 2n operations rotate over sets of operands, more than 3 x L2, at most
32 sets. Where an operation touches so few bytes that 32 sets are too few, it is warm: always the
same set.

Inside the timed region: one replay of a graph between two events, after a kernel that holds the
stream; the slope over the graphs. Expected on an H200 (two single runs): compiled norms reach 0.97
of a copy's rate, bias, GELU and scale 0.76, softmax over 4096 columns 0.40. For 8192 tokens,
causal, flash takes 1.71 ms and cuDNN 1.0 ms; for one query over 8192 keys cuDNN takes 14.5 us and
flash 22 us.

Traps. Memory that an operator allocates comes from the graph's own pool. A function that cannot be
captured, or a backend that refuses, is left out, and the run says so."""
import math
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
                    "relative Frobenius norm of the difference from float64")
PROBE = {"name": "fused_peers", "what": "How fast are PyTorch's own forms of the fused operators?",
         "method": 1, "needs": "gpu", "min_cc": 80, "metrics": (TIME, KERNELS, ERROR)}
SETS_MAX = 32


class Operator:
    """name, rows and cols (for attention: heads, keys), how to make a set of operands, the function,
    the same in float64, and the largest error that passes."""

    def __init__(self, name, rows, cols, make, function, error_max, backends=None):
        self.name, self.rows, self.cols, self.make = name, rows, cols, make
        self.function, self.error_max, self.backends = function, error_max, backends


def operators(torch, check):
    f, half, bf16 = torch.nn.functional, torch.float16, torch.bfloat16
    small = (64, 512) if check else None

    def normal(*shape, dtype=half):
        return torch.randn(*shape, dtype=dtype, device="cuda")

    def rows(name, r, c, function, error_max, extra=lambda r, c: ()):
        r, c = small or (r, c)
        return Operator(name, r, c, lambda: (normal(r, c),) + extra(r, c), function, error_max)

    def gelu_scale(x, bias):
        return f.gelu(x + bias, approximate="tanh") * 1.25

    def rmsnorm(x, residual, weight):
        sum_ = x + residual
        return f.rms_norm(sum_, (x.shape[-1],), weight, 1e-6), sum_

    def layernorm(x, weight, bias):
        return f.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)

    def softmax(x, mask):
        return torch.softmax(x * 0.125 + mask, -1)

    def vector(_, c):
        return (normal(c),)

    def mask(_, c):  # a quarter of each row is masked
        m = torch.zeros(c, dtype=half, device="cuda")
        m[c - c // 4:] = -math.inf
        return (m,)

    found = [
        rows("bias_gelu_scale", 16384, 8192, gelu_scale, 1e-3, vector),
        rows("rmsnorm_residual", 16384, 8192, rmsnorm, 1e-3,
             lambda r, c: (normal(r, c), normal(c))),
        rows("layernorm", 16384, 8192, layernorm, 1e-3, lambda r, c: (normal(c), normal(c))),
        rows("softmax", 131072, 4096, softmax, 2e-3, mask),
        rows("softmax", 1, 131072, softmax, 2e-3, mask),
        rows("softmax", 32, 32768, softmax, 2e-3, mask)]

    def attention(name, queries, keys, heads, kv_heads, causal):
        queries, keys = (min(queries, 128), 128) if check else (queries, keys)

        def make():
            return (normal(1, heads, queries, 128, dtype=bf16),
                    normal(1, kv_heads, keys, 128, dtype=bf16),
                    normal(1, kv_heads, keys, 128, dtype=bf16))

        def attend(q, k, v):
            return f.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                  enable_gqa=heads != kv_heads)
        return Operator(name, heads, keys, make, attend, 1e-2, ("flash", "cudnn"))

    return found + [attention("attention_prefill", 8192, 8192, 32, 32, True),
                    attention("attention_decode", 1, 8192, 32, 8, False)]


# --- a set of operands, and is the result right? ---------------------------------------------------

def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


class Sets:
    def __init__(self, run, gpu, operator):
        self.gpu, self.operator = gpu, operator
        gpu.torch.manual_seed(run.options.seed)
        first = operator.make()
        wanted = 3 * gpu.l2_bytes // bytes_of(first) + 1
        self.cold = wanted <= SETS_MAX
        self.sets = [first] + [operator.make() for _ in range(wanted - 1 if self.cold else 0)]

    def error(self, result):
        """Compares with float64 on the GPU; attention by blocks of query rows, or its scores would
        not fit."""
        torch, result = self.gpu.torch, result if isinstance(result, tuple) else (result,)
        operands = [t.double() for t in self.sets[0]]
        if self.operator.name.startswith("attention"):
            q, k, v = operands
            step, off, all_ = max(1, q.shape[2] // 8), 0.0, 0.0
            for at in range(0, q.shape[2], step):
                at = min(at, q.shape[2] - min(16, q.shape[2]))
                rows = slice(at, at + min(16, q.shape[2]))
                kk, vv = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
                scores = q[:, :, rows] @ kk.mT / math.sqrt(q.shape[-1])
                if q.shape[2] > 1:
                    columns = torch.arange(kk.shape[2], device="cuda")
                    line = torch.arange(rows.start, rows.stop, device="cuda")
                    scores = scores.masked_fill(columns[None, :] > line[:, None], -math.inf)
                right = torch.softmax(scores, -1) @ vv
                off += (result[0][:, :, rows].double() - right).square().sum().item()
                all_ += right.square().sum().item()
            return math.sqrt(off / all_)
        off = all_ = 0.0
        chunk = max(1, 2 ** 26 // self.sets[0][0].shape[-1])
        for at in range(0, self.sets[0][0].shape[0], chunk):
            cut = [t[at:at + chunk] if t.dim() > 1 else t for t in self.sets[0]]
            right = self.operator.function(*(t.double() for t in cut))
            right = right if isinstance(right, tuple) else (right,)
            for is_, must in zip(result, right):
                off += (is_[at:at + chunk].double() - must).square().sum().item()
                all_ += must.square().sum().item()
        return math.sqrt(off / all_)


# --- measuring -------------------------------------------------------------------------------------

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
    return [("eager", operator.function), ("compile", torch.compile(operator.function, dynamic=False))]


def graph_pair(gpu, sets, function):
    """Graphs of n and 2n operations, each a whole number of turns through the sets."""
    keep, n = [], len(sets.sets)
    least = 1 if bytes_of(sets.sets[0]) > 2 ** 28 else 8
    n = -(-least // n) * n
    pair = [(count, gpu.graph(lambda: keep.append(
        [function(*sets.sets[i % len(sets.sets)]) for i in range(count)][-1])))
        for count in (n, 2 * n)]
    return pair, keep


def measure_way(run, gpu, sets, impl, function):
    o, torch = sets.operator, gpu.torch
    type_name = {torch.float16: "fp16", torch.bfloat16: "bf16"}[sets.sets[0][0].dtype]
    if not run.case(f"op={o.name},rows={o.rows},cols={o.cols},type={type_name},impl={impl},"
                    f"l2={'cold' if sets.cold else 'warm'}"):
        return
    try:
        result = function(*sets.sets[0])
        torch.cuda.synchronize()
        pair, keep = graph_pair(gpu, sets, function)
    except (RuntimeError, NotImplementedError) as error:
        note = f"{o.name} by {impl} cannot be had here: {core.first_line(error)}"
        run.missing(TIME, note)
        run.notes.append(note)
        return
    error = sets.error(result)
    run.check(error < o.error_max, f"{o.name} by {impl}: relative error {error:.2g}")
    kernel, _, _, n_kernels = kernels_of(pair[0][1])
    run.value(KERNELS, n_kernels / pair[0][0])
    run.fact("kernel", kernel[:200])
    while run.more():
        for n, graph in pair:
            run.sample(TIME, n, gpu.timed_ns(run, graph.replay))
    if len(sets.sets) == 1:  # the graph's last result belongs to the set that is verified
        error = sets.error(keep[-1])
        run.check(error < o.error_max, f"{o.name} by {impl}, after timing: {error:.2g}")
    run.value(ERROR, error)


def check_faults(run, gpu, sets):
    """Wrong results must be found wrong: a column that is not written, a row in its neighbour's
    place."""
    right = sets.operator.function(*sets.sets[0])
    spoiled = right.clone()
    spoiled[:, -1] = 0
    limit = sets.operator.error_max
    run.check(sets.error(right) < limit, "a right result is right")
    run.check(not sets.error(spoiled) < limit, "a missing column is seen")
    run.check(not sets.error(right.roll(1, 0)) < limit, "rows beside their place are seen")


def measure(run):
    gpu = Gpu(run)
    for operator in operators(gpu.torch, run.options.check):
        sets = Sets(run, gpu, operator)
        for impl, function in ways(gpu.torch, operator):
            measure_way(run, gpu, sets, impl, function)
            run.close_case()
        if run.options.check and operator.name == "bias_gelu_scale":
            check_faults(run, gpu, sets)
        del sets
        gpu.torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(core.main(PROBE, measure))
