#!/usr/bin/env python3
"""layer_peers: how fast is a decoder's layer in PyTorch, in a graph, eager and compiled?

Optional, like baselines/peers.py: without a python3 with torch and triton it exits with 77 and one
line. `gpufloor run --with baselines/layer_peers.py` adds it to every round. Its keys are those of
the probe decoder_layer, whose rows it stands beside.

Method. A layer of Llama's kind as one writes it in PyTorch: weights, keys and values in bf16, the
residual and the norms in fp32; one new token behind context - 1 old ones, at a fixed position.
    impl=eager     each operator by itself
    impl=compile   torch.compile, as it comes
    impl=autotune  torch.compile(mode="max-autotune-no-cudagraphs"): products of one row become
                   Triton kernels, whose tiles are searched
All three are captured in graphs. A layer hands on the residual and what is still to be added to it,
so that the addition can be fused with the next norm, as it would be if the chain were compiled as a
whole. A chain feeds one layer to the next; each has weights and a cache of its own, and more than 3
x L2 lie between two uses. A step is the embedding of a token, all layers, the head and the choice
of the next token; 1b alone, under --deep.

Inside the timed region: one replay of a graph between two events, after a kernel that holds the
stream; the slope over graphs of n and 2n layers, or of one and two steps.

What is checked: in the timed graph, before and after timing, each layer against float64 from what
the layer before it handed over: the row that it appended, its attention's share, and the whole. The
new row of each cache is NaN until a layer writes it.

Expected on an H200: reading a layer takes 27 us (1b) and 95 us (8b). The layer of cuBLAS's products
and a kernel for each operator, in a graph, is the nearest of ours to `compile`.
Measured on an H200 (2bc92e8, seven rounds): compiled, a layer takes 55.7 us (1b) and 136 us (8b),
with searched tiles 57.4 and 129; that of cuBLAS's products 59.0 and 143, ours in one kernel 30.3
and 100. So the search made 1b slower there. Tiles of other searches, on other H200s, took 50.6 and
126 (9fcd464) and 53.6 and 129 (dadc3c0, both in the history of the tree); what is not searched
differs by 1.0 % at most.

Traps. What was compiled, and the tiles that were found, stay in the folder of torch's compiler
(TORCHINDUCTOR_CACHE_DIR). `--prepare` fills it, which takes minutes where it is empty; `gpufloor
run` asks for that before the first round. All rounds thus judge the choice of one search, which no
round made."""
import math
import os
import sys
from collections import namedtuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
import peers_core as core  # noqa: E402
from peers_gpu import Gpu, kernels_of  # noqa: E402

KEYS = "model,context,batch,impl,l2"
LAYER_TIME = core.Metric("layer_time", "ns", "lower", "slope", "event", KEYS,
                         "one layer of a chain")
STEP_TIME = core.Metric("step_time", "ns", "lower", "slope", "event", KEYS,
                        "one whole step: embedding, all layers, head, choice of a token")
KERNELS = core.Metric("kernels", "count", "exact", "each", None, KEYS, "of one layer")
ERROR = core.Metric("error", "ratio", "lower", "each", None, KEYS,
                    "of one layer, relative to what it adds to the residual, from float64")
PROBE = {"name": "layer_peers", "what": "How fast is a decoder's layer in PyTorch, in a graph?",
         "method": 1, "needs": "gpu", "min_cc": 80,
         "metrics": (LAYER_TIME, STEP_TIME, KERNELS, ERROR)}

Model = namedtuple("Model", "name layers hidden heads kv_heads head_dim ffn vocabulary")
MODELS = (Model("1b", 16, 2048, 32, 8, 64, 8192, 128256),
          Model("8b", 32, 4096, 32, 8, 128, 14336, 128256))
SMALL = Model("small", 3, 576, 9, 3, 64, 2064, 1003)  # for --check
CONTEXT, SMALL_CONTEXT, CHAIN, COLD = 1024, 200, 16, 3
EPSILON, ROPE_BASE, NORM_SPREAD = 1e-5, 500000, 1 / 8
ERROR_MAX = 1e-2

# Of one layer; keys and values: 1 x kv_heads x context x head_dim, the new token's row last.
Weights = namedtuple("Weights", "norm1 qkv o norm2 gate_up down keys values")
Vocabulary = namedtuple("Vocabulary", "embedding norm head first")


# --- a layer in PyTorch ---------------------------------------------------------------------------

def turns(torch, model, context, device):
    """The new token's cosines and sines, head_dim each, in float64."""
    half = torch.arange(0, model.head_dim, 2, dtype=torch.float64, device=device)
    angle = (context - 1) * ROPE_BASE ** (-half / model.head_dim)
    angle = torch.cat((angle, angle))
    return angle.cos(), angle.sin()


def functions_of(torch, model, rope):
    """layer(x, delta, weights): the residual, and what is still to be added to it.
    head(x, delta, vocabulary): the next token, and the logits."""
    f, split = torch.nn.functional, (model.heads, model.kv_heads, model.kv_heads)
    cosine, sine = (t.float() for t in rope)

    def norm(x, weight):
        return f.rms_norm(x, (model.hidden,), weight, EPSILON).bfloat16()

    def rotated(x):
        low, high = x.chunk(2, -1)
        return (x * cosine + torch.cat((-high, low), -1) * sine).bfloat16()

    def layer(x, delta, w):
        x = x + delta
        qkv = f.linear(norm(x, w.norm1), w.qkv).view(1, sum(split), 1, model.head_dim)
        q, k, v = qkv.split(split, 1)
        w.keys[:, :, -1:] = rotated(k)
        w.values[:, :, -1:] = v
        attention = f.scaled_dot_product_attention(rotated(q), w.keys, w.values, enable_gqa=True)
        x = x + f.linear(attention.reshape(1, model.heads * model.head_dim), w.o)
        gate, up = f.linear(norm(x, w.norm2), w.gate_up).chunk(2, -1)
        return x, f.linear(f.silu(gate) * up, w.down)

    def head(x, delta, vocabulary):
        logits = f.linear(norm(x + delta, vocabulary.norm), vocabulary.head)
        return logits.argmax(-1), logits

    return layer, head


def ways(torch):
    """(impl, what it makes of a function)."""
    def compiled(mode):
        return lambda f: torch.compile(f, fullgraph=True, dynamic=False, mode=mode)
    return (("eager", lambda f: f), ("compile", compiled(None)),
            ("autotune", compiled("max-autotune-no-cudagraphs")))


# --- the same in float64 --------------------------------------------------------------------------

class Reference:
    """Written apart from the above: pairs turn as complex numbers, groups of heads by einsum."""

    def __init__(self, torch, model, rope):
        self.torch, self.model = torch, model
        self.turn = self.torch.complex(*(t[:model.head_dim // 2] for t in rope))

    def norm(self, x, weight):
        return x * (x.square().mean() + EPSILON).rsqrt() * weight.double()

    def rows(self, x, w):
        """q of all heads, the new k and v: heads x head_dim each."""
        torch, m = self.torch, self.model
        qkv = (w.qkv.double() @ self.norm(x, w.norm1)).view(-1, m.head_dim)
        turning, v = qkv[:m.heads + m.kv_heads], qkv[m.heads + m.kv_heads:]
        turned = torch.complex(*(t.contiguous() for t in turning.chunk(2, -1))) * self.turn
        qk = torch.cat((turned.real, turned.imag), -1)
        return qk[:m.heads], qk[m.heads:], v

    def attention(self, q, k, v, w):
        torch, m = self.torch, self.model
        keys, values = (torch.cat((old[0, :, :-1].double(), new[:, None]), 1)
                        for old, new in ((w.keys, k), (w.values, v)))
        q = q.view(m.kv_heads, -1, m.head_dim)
        scores = torch.einsum("hgd,hkd->hgk", q, keys) / math.sqrt(m.head_dim)
        return torch.einsum("hgk,hkd->hgd", scores.softmax(-1), values).reshape(-1)

    def mlp(self, x, w):
        gate, up = (w.gate_up.double() @ self.norm(x, w.norm2)).chunk(2)
        return w.down.double() @ (gate / (1 + (-gate).exp()) * up)

    def errors(self, before, after, w):
        """Of the rows that were appended, of what attention adds, of what the layer adds."""
        x = sum(t[0].double() for t in before)
        q, k, v = self.rows(x, w)
        middle = x + w.o.double() @ self.attention(q, k, v, w)
        right = middle + self.mlp(middle, w)
        appended = self.torch.cat((w.keys[0, :, -1], w.values[0, :, -1])).double()
        pairs = ((appended, self.torch.cat((k, v)), 0), (after[0][0].double(), middle, x),
                 (sum(t[0].double() for t in after), right, x))
        return [((is_ - must).norm() / (must - base).norm()).item() for is_, must, base in pairs]

    def logits_error(self, last, logits, vocabulary):
        x = self.norm(sum(t[0].double() for t in last), vocabulary.norm)
        right = vocabulary.head.double() @ x
        return ((logits[0].double() - right).norm() / right.norm()).item()


# --- one model's memory ---------------------------------------------------------------------------

class Problem:
    """Drawn as decoder_layer does: weights of N(0, 1/columns), norms of 1 +- 1/8."""

    def __init__(self, run, gpu, model, context):
        self.gpu, self.torch, self.model, self.context = gpu, gpu.torch, model, context
        self.device = gpu.stamps.device
        self.bits = self.torch.Generator(self.device).manual_seed(run.options.seed)
        self.layers = [self.weights() for _ in range(model.layers if model is SMALL else CHAIN)]
        while self.is_warm():
            self.layers.append(self.weights())
        rope = turns(self.torch, model, context, self.device)
        self.functions = functions_of(self.torch, model, rope)
        self.reference = Reference(self.torch, model, rope)
        self.x = self.normal(1, model.hidden).float()
        self.nothing = self.torch.zeros_like(self.x).bfloat16()
        self.vocabulary, self.given = None, [self.x, self.nothing]

    def normal(self, *shape, by=1.0):
        torch = self.torch
        return torch.randn(shape, dtype=torch.bfloat16, device=self.device,
                           generator=self.bits).mul_(by)

    def matrix(self, rows, columns):
        return self.normal(rows, columns, by=columns ** -0.5)

    def norm(self):
        return (1 + self.normal(self.model.hidden, by=NORM_SPREAD)).float()

    def weights(self):
        m = self.model
        row, rows = m.heads * m.head_dim, (m.heads + 2 * m.kv_heads) * m.head_dim
        w = Weights(self.norm(), self.matrix(rows, m.hidden), self.matrix(m.hidden, row),
                    self.norm(), self.matrix(2 * m.ffn, m.hidden), self.matrix(m.hidden, m.ffn),
                    *(self.normal(1, m.kv_heads, self.context, m.head_dim) for _ in range(2)))
        self.poison_rows(w)
        return w

    def is_warm(self):
        """Is what lies between two uses of a layer no more than 3 x the L2?"""
        between = (len(self.layers) - 1) * sum(t.nbytes for t in self.layers[0])
        return self.model is not SMALL and between <= COLD * self.gpu.l2_bytes

    def give_vocabulary(self):
        m = self.model
        first = self.torch.randint(m.vocabulary, (1,), device=self.device, generator=self.bits)
        self.vocabulary = Vocabulary(self.normal(m.vocabulary, m.hidden), self.norm(),
                                     self.matrix(m.vocabulary, m.hidden), first)
        self.given.append(first)

    @staticmethod
    def poison_rows(w):
        w.keys[:, :, -1] = math.nan
        w.values[:, :, -1] = math.nan

    def poison(self, left):
        """All that was handed over, but what it began with."""
        if isinstance(left, (list, tuple)):
            for part in left:
                self.poison(part)
        elif all(left is not t for t in self.given):
            left.fill_(math.nan if left.is_floating_point() else 0)

    # what is timed: both return all that was handed over, to be verified

    def chain(self, layer, n):
        handed = [(self.x, self.nothing)]
        for i in range(n):
            handed.append(layer(*handed[-1], self.layers[i % len(self.layers)]))
        return handed

    def steps(self, layer, head, n):
        token, left = self.vocabulary.first, []
        for _ in range(n):
            x = self.torch.nn.functional.embedding(token, self.vocabulary.embedding).float()
            handed = [(x, self.nothing)]
            for i in range(self.model.layers):
                handed.append(layer(*handed[-1], self.layers[i % len(self.layers)]))
            chosen, logits = head(*handed[-1], self.vocabulary)
            left.append((token, handed, chosen, logits))
            token = chosen
        return left


# --- is it right? ---------------------------------------------------------------------------------

def verify_chain(run, problem, handed, when):
    """Each layer of the last turn through the sets. Returns the greatest error of a layer."""
    worst = [0.0, 0.0, 0.0]
    first = max(1, len(handed) - len(problem.layers))
    for i in range(first, len(handed)):
        w = problem.layers[(i - 1) % len(problem.layers)]
        found = problem.reference.errors(handed[i - 1], handed[i], w)
        worst = [b if math.isnan(b) or b > a else a for a, b in zip(worst, found)]
    for what, error in zip(("the new row", "attention", "a layer"), worst):
        run.check(error < ERROR_MAX, f"{when}: relative error of {what} {error:.2g}")
    return worst[2]


def verify_steps(run, problem, left, when):
    token, handed, chosen, logits = left[-1]
    verify_chain(run, problem, handed, when)
    error = problem.reference.logits_error(handed[-1], logits, problem.vocabulary)
    run.check(error < ERROR_MAX, f"{when}: relative error of the logits {error:.2g}")
    run.check(bool((logits[0, chosen] == logits.max()).item()), f"{when}: the greatest is chosen")
    embedded = problem.vocabulary.embedding[token].float()
    run.check(bool((embedded == handed[0][0]).all().item()), f"{when}: the token is embedded")


def check_faults(run, problem):
    """Wrong layers must be found wrong: a key that is seen nowhere, a head in its neighbour's
    place, a token one place too early, a sum that is left out, and a part of the MLP."""
    torch, m, layer, w = problem.torch, problem.model, problem.functions[0], problem.layers[0]
    before = problem.x, problem.normal(1, m.hidden)

    def is_right(weights=w, layer=layer, spoil=lambda x, delta: (x, delta)):
        Problem.poison_rows(w)
        after = spoil(*layer(*before, weights))
        return all(error < ERROR_MAX for error in problem.reference.errors(before, after, w))
    early = turns(torch, m, problem.context - 1, problem.device)
    gate = w.gate_up.clone()
    gate[:16] = 0
    short = w._replace(keys=w.keys[:, :, 1:], values=w.values[:, :, 1:])
    run.check(is_right(), "a right layer is right")
    for what, fault in (
            ("a key that is left out", {"weights": short}),
            ("heads beside their place", {"weights": w._replace(qkv=w.qkv.roll(m.head_dim, 0))}),
            ("a token a place too early", {"layer": functions_of(torch, m, early)[0]}),
            ("a sum that is left out", {"spoil": lambda x, delta: (x - before[1], delta)}),
            ("a part of the MLP", {"weights": w._replace(gate_up=gate)})):
        run.check(not is_right(**fault), f"{what} is seen")


# --- measuring ------------------------------------------------------------------------------------

class Work:
    """Graphs of n and 2n of what `launch(n)` does, and what they hand over."""

    def __init__(self, gpu, metric, n, launch, verify):
        self.metric, self.verify, self.left, self.graphs = metric, verify, {}, []
        for count in (n, 2 * n):
            def captured(count=count):
                self.left[count] = launch(count)
            self.graphs.append((count, gpu.graph(captured)))

    def sample(self, run, gpu):
        for n, graph in self.graphs:
            run.sample(self.metric, n, gpu.timed_ns(run, graph.replay))

    def verified(self, run, problem, when):
        """Replays each on poisoned rows and outputs, and verifies. Returns a layer's error."""
        for n, graph in self.graphs:
            for w in problem.layers:
                Problem.poison_rows(w)
            problem.poison(self.left[n])
            graph.replay()
            problem.torch.cuda.synchronize()
            error = self.verify(run, problem, self.left[n], f"{when}, {n}")
        return error

    def kernels(self):
        (n, one), (_, two) = self.graphs
        return (kernels_of(two)[3] - kernels_of(one)[3]) / n


def works_of(run, gpu, problem, way):
    """A chain; and whole steps where there is a vocabulary. What is compiled runs before it is
    captured, on what a chain begins with and on what a layer hands over."""
    layer, head = (way(f) for f in problem.functions)
    problem.chain(layer, 2)
    works = [Work(gpu, LAYER_TIME, len(problem.layers), lambda n: problem.chain(layer, n),
                  verify_chain)]
    if problem.vocabulary:
        problem.steps(layer, head, 1)
        works.append(Work(gpu, STEP_TIME, 1, lambda n: problem.steps(layer, head, n),
                          verify_steps))
    return works


def measure_way(run, gpu, problem, impl, way):
    name = problem.model.name
    if not run.case(f"model={name},context={problem.context},batch=1,impl={impl},l2=cold"):
        return
    gpu.torch.compiler.reset()
    try:
        works = works_of(run, gpu, problem, way)
    except (RuntimeError, NotImplementedError) as error:
        note = f"{name} by {impl} cannot be had here: {core.first_line(error)}"
        run.missing(LAYER_TIME, note)
        run.notes.append(note)
        return
    for work in works:
        work.verified(run, problem, f"{name} by {impl}, before timing")
    run.value(KERNELS, works[0].kernels())
    run.fact("chain", f"{len(problem.layers)} and {2 * len(problem.layers)} layers")
    while run.more():
        for work in works:
            work.sample(run, gpu)
    for work in reversed(works):
        error = work.verified(run, problem, f"{name} by {impl}, after timing")
    run.value(ERROR, error)


def measure(run):
    gpu = Gpu(run)
    for model in (SMALL,) if run.options.check else MODELS:
        try:
            problem = Problem(run, gpu, model, SMALL_CONTEXT if model is SMALL else CONTEXT)
        except gpu.torch.OutOfMemoryError as error:
            run.notes.append(f"{model.name} is not measured: {core.first_line(error)}")
            continue
        if model is SMALL or (run.options.deep and model is MODELS[0]):
            problem.give_vocabulary()
        for impl, way in ways(gpu.torch):
            measure_way(run, gpu, problem, impl, way)
            run.close_case()
        if model is SMALL:
            check_faults(run, problem)
        del problem
        gpu.torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(core.main(PROBE, measure))
