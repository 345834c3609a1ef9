#!/usr/bin/env python3
"""peers: how fast are the products that people compare with: Triton's tutorial, and PyTorch?

Optional. It needs a python3 with torch and triton. Where they are missing it exits with 77 and one
line, like any probe, and nothing of the suite needs it. `gpufloor run --with baselines/peers.py`
adds it to every round. Its rows are those of the probe `peers`, and no others.

Method. C = A x B, row-major, fp16 and bf16 operands from N(0,1), sums in fp32, as in small_gemm.c.
    impl=triton  the method of Triton's tutorial 03 (peers_kernels.py), with each of the tutorial's
                 own configurations below. Seven of them were compiled for comparison with the
                 tutorial's kernel, fp16 for sm_90: the machine code has the same number of copies,
                 loads and products
    impl=torch   torch.matmul, without sums in reduced precision
At 1024^3 fp16 every configuration is a row (tile=128x64x64: rows, columns, step of K). Two more are
chosen as the tutorial does, by triton.autotune, whose clock is do_bench:
    tile=tuned   the best of all: claim C20 is about its blocks
    tile=forced  the best of those with at least as many blocks as SMs: claim C24
For other products tile=best: each configuration is replayed four times, and the one with the least
time is measured anew.
    l2=warm      the same operands again and again
    l2=cold      rotates over sets of operands, more than 3 x L2

Inside the timed region of `time`: one replay of a graph of products between two events; the slope
over graphs of n and 2n products. `clock` times one product by five clocks (claim C21):
    do_bench     triton.testing.do_bench: writes 256 MB of zeros before each call, so the product is
                 cold and follows dirty lines
    event_hot    an event, the call, an event, on operands that are in the L2; its launch is inside
    event_cold   the same on rotated sets
    graph_warm, graph_cold   as `time`
Before all but do_bench a kernel holds the stream for 200 us, until Python has queued everything
after it. So the GPU is timed, and not the interpreter. Where that was too short it holds it for
longer from then on, 5 ms at most. The fact queued_late counts the samples for which that was so.

Expected on an H200 at 1024^3 fp16: by graph_warm torch takes as long as cuBLAS (5.24 us), Triton
5.9 us; by do_bench 9.8 and 11.0 us (the tutorial's own table for such a GPU has 11.5 and 14).
`tuned` has 128 blocks; `forced` has 256 and takes 8.6 us.

Traps. Python takes 30 to 100 us for a launch: work that is not queued behind other work times that.
A configuration whose shared memory does not fit cannot be launched; it is left out, and the run
says so."""
import hashlib
import math
import os
import random
import sys
from collections import namedtuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
import peers_core as core  # noqa: E402
from peers_gpu import Gpu, kernels_of  # noqa: E402

TIME = core.Metric("time", "ns", "lower", "slope", "event", "m,n,k,type,acc,layout,impl,tile,l2",
                   "one product, edge included")
BLOCKS = core.Metric("blocks", "count", "exact", "each", None, TIME.keys, "thread blocks of it")
IDLE = core.Metric("idle_sms", "count", "exact", "each", None, TIME.keys,
                   "SMs that ran none, by census; only where a tile was tuned")
ERROR = core.Metric("error", "ratio", "lower", "each", None, TIME.keys,
                    "relative Frobenius norm of the difference from float64")
CLOCK = core.Metric("clock", "ns", "lower", "each", "event",
                    "m,n,k,type,acc,layout,impl,tile,clock",
                    "one product by clock=do_bench, event_hot, event_cold")
CLOCK_SLOPE = core.Metric("clock", "ns", "lower", "slope", "event", CLOCK.keys,
                          "one product by clock=graph_warm, graph_cold")
PROBE = {"name": "peers", "what": "How fast are Triton's tutorial product and PyTorch's here?",
         "method": 2, "needs": "gpu", "min_cc": 80,
         "metrics": (TIME, BLOCKS, IDLE, ERROR, CLOCK, CLOCK_SLOPE)}

# get_cuda_autotune_config() of python/tutorials/03-matrix-multiplication.py in triton-lang/triton,
# at commit 7649d87cce6c, in the same order. GROUP_SIZE_M is 8 in all.
Configuration = namedtuple("Configuration", "m n step stages warps")
CONFIGURATIONS = tuple(Configuration(*row) for row in (
    (128, 256, 64, 3, 8),
    (64, 256, 32, 4, 4),
    (128, 128, 32, 4, 4),
    (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4),
    (128, 32, 32, 4, 4),
    (64, 32, 32, 5, 2),
    (32, 64, 32, 5, 2),
    (128, 256, 128, 3, 8),  # from here on: the ones that the tutorial calls good for fp8
    (256, 128, 128, 3, 8),
    (256, 64, 128, 4, 4),
    (64, 256, 128, 4, 4),
    (128, 128, 128, 4, 4),
    (128, 64, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (128, 32, 64, 4, 4)))
GROUP = 8

SIZE, OTHER_SIZES = 1024, (512, 2048, 4096)
REPLAYS, SETS_MAX, SAMPLED = 20, 256, 512  # SAMPLED: places that the CPU checks
SEARCH_REPLAYS = 4
PAD_ELEMENTS = 2176  # between sets, so that no two buffers lie a power of two apart
UNIT = {"fp16": 2.0 ** -11, "bf16": 2.0 ** -8}
ERROR_MAX = {"fp16": 5e-4, "bf16": 4e-3}


# --- a product, and is it right? ------------------------------------------------------------------

class Product:
    """Its operands in as many sets as amount to 3 x the L2; and its float64 reference."""

    def __init__(self, run, gpu, m, n, k, type_name):
        torch = gpu.torch
        self.m, self.n, self.k, self.type, self.gpu = m, n, k, type_name, gpu
        self.half = {"fp16": torch.float16, "bf16": torch.bfloat16}[type_name]
        moved = 2 * (m * k + k * n + m * n)
        self.sets = min(SETS_MAX, 3 * gpu.l2_bytes // moved + 1)
        random_bits = torch.Generator(gpu.stamps.device).manual_seed(run.options.seed)
        self.a, self.b, self.c = (self.matrices(random_bits, *shape)
                                  for shape in ((m, k), (k, n), (m, n)))
        a, b = self.a[0].double(), self.b[0].double()
        self.reference, self.magnitude = a @ b, a.abs() @ b.abs()
        if run.options.check or run.options.round == 0:
            self.reference_on_host(run)
        else:
            self.places = None

    def matrices(self, random_bits, rows, columns):
        torch, step = self.gpu.torch, rows * columns + PAD_ELEMENTS
        flat = torch.randn(self.sets * step, dtype=self.half, device="cuda", generator=random_bits)
        return [flat[i * step:i * step + rows * columns].view(rows, columns)
                for i in range(self.sets)]

    def reference_on_host(self, run):
        """float64 on the CPU at random places, the four corners among them."""
        draw = random.Random(run.options.seed)
        places = [(r, c) for r in (0, self.m - 1) for c in (0, self.n - 1)]
        places += [(draw.randrange(self.m), draw.randrange(self.n)) for _ in range(SAMPLED - 4)]
        rows, columns = (self.gpu.torch.tensor(side) for side in zip(*places))
        a, b = self.a[0].cpu().double(), self.b[0].cpu().double()
        self.places, self.host = (rows, columns), (a[rows] * b.T[columns]).sum(1)

    def poison(self):
        for c in self.c:
            c.fill_(math.nan)

    def verdict(self, c):
        """(outputs beyond the bound of matmul/common/product.h, relative error). NaN counts as
        wrong."""
        off = (c.double() - self.reference).abs()
        bound = (2 * UNIT[self.type] * self.reference.abs()
                 + 8 * math.sqrt(self.k) * 2.0 ** -24 * self.magnitude)
        error = (off.norm() / self.reference.norm()).item()
        return int((~(off <= bound)).sum().item()), error

    def right(self, c):
        wrong, error = self.verdict(c)
        return wrong == 0 and error < ERROR_MAX[self.type]

    def verify(self, run, when):
        """Compares set 0 with float64: all of it on the GPU, places on the CPU. Returns the
        error."""
        wrong, error = self.verdict(self.c[0])
        run.check(wrong == 0, f"{when}: {wrong} outputs beyond the error bound")
        run.check(error < ERROR_MAX[self.type], f"{when}: relative error {error:.2g}")
        if self.places:
            c = self.c[0].cpu().double()[self.places]
            bound = (2 * UNIT[self.type] * self.host.abs()
                     + 8 * math.sqrt(self.k) * 2.0 ** -24 * 1.3 * self.k)
            held = int(((c - self.host).abs() <= bound).sum())
            run.check(held == SAMPLED, f"{when}: {held} of {SAMPLED} outputs are as computed on "
                      "the CPU in double")
        return error


# --- the ways to compute it -----------------------------------------------------------------------

class Torch:
    impl, tile, configuration = "torch", "auto", None

    def __init__(self, gpu):
        self.gpu = gpu

    def launch(self, p, i):
        self.gpu.torch.matmul(p.a[i], p.b[i], out=p.c[i])


class Triton:
    impl = "triton"

    def __init__(self, gpu, configuration, tile=None):
        self.gpu, self.configuration = gpu, configuration
        self.tile = tile or "{0.m}x{0.n}x{0.step}".format(configuration)

    def blocks(self, p):
        return -(-p.m // self.configuration.m) * -(-p.n // self.configuration.n)

    def launch(self, p, i, counted=False):
        f = self.configuration
        return self.gpu.kernels.product[(self.blocks(p),)](
            p.a[i], p.b[i], p.c[i], self.gpu.seen, p.m, p.n, p.k, p.k, p.n, p.n, TILE_M=f.m,
            TILE_N=f.n, STEP=f.step, GROUP=GROUP, COUNTED=counted, num_warps=f.warps,
            num_stages=f.stages)

    def describe(self, run, p):
        """The compiled configuration, and the hash of the machine code that runs."""
        compiled, f = self.launch(p, 0), self.configuration
        name = f"triton_{p.type}_{f.m}x{f.n}x{f.step}.sm_{self.gpu.cc}"
        run.cubins[name] = hashlib.sha256(compiled.asm["cubin"]).hexdigest()
        run.fact("configuration", f"{f.m}x{f.n}x{f.step}, {f.stages} stages, {f.warps} warps")
        run.fact("registers", compiled.n_regs)
        run.fact("spills", compiled.n_spills)
        run.fact("shared_bytes", compiled.metadata.shared)

    def count(self, run, p):
        """A twin that counts its blocks on each SM. Returns the number of SMs that ran none."""
        self.gpu.seen.zero_()
        self.launch(p, 0, counted=True)
        seen = self.gpu.seen.tolist()
        run.check(sum(seen) == self.blocks(p), f"{sum(seen)} blocks were counted on the SMs")
        return seen.count(0)


def launchable(run, gpu, p):
    """Every configuration that this GPU can launch, each compiled and run once."""
    ways = []
    for way in (Triton(gpu, configuration) for configuration in CONFIGURATIONS):
        try:
            way.launch(p, 0)
            ways.append(way)
        except gpu.triton.runtime.errors.OutOfResources as error:
            note = f"triton {way.tile} cannot be launched here: {str(error).split('. ')[0]}"
            if note not in run.notes:
                run.notes.append(note)
    gpu.torch.cuda.synchronize()
    return ways


def graph_pair(gpu, p, way, cold):
    """Graphs of n and 2n products, as small_gemm.c makes them: [(products, graph), ...]."""
    sets, least = p.sets if cold else 1, 2 if p.m > 2 * SIZE else REPLAYS
    n = -(-least // sets) * sets
    return [(count, gpu.graph(lambda: [way.launch(p, i % sets) for i in range(count)]))
            for count in (n, 2 * n)]


def fastest(run, gpu, p, ways):
    """The slope over two graphs, from the least of a few replays of each, as in ways_fastest()."""
    def quick_ns(way):
        pair = graph_pair(gpu, p, way, cold=False)
        least = [min(gpu.timed_ns(run, graph.replay) for _ in range(SEARCH_REPLAYS))
                 for _, graph in pair]
        return (least[1] - least[0]) / (pair[1][0] - pair[0][0])
    chosen = ways[0] if run.options.check else min(ways, key=quick_ns)
    return Triton(gpu, chosen.configuration, "best")


def tuned(run, gpu, p, ways):
    """The tutorial's autotuner's choice among all, and among those with a block for every SM."""
    forced = [w for w in ways if w.blocks(p) >= gpu.n_sm]
    if not run.options.check:
        known = {(w.configuration.m, w.configuration.n, w.configuration.step): w for w in ways}
        make = gpu.triton.Config
        tuner = gpu.triton.autotune(
            [make({"TILE_M": f.m, "TILE_N": f.n, "STEP": f.step, "GROUP": GROUP},
                  num_stages=f.stages, num_warps=f.warps) for f in CONFIGURATIONS],
            key=["m", "n", "k"])(gpu.kernels.product)
        tuner[lambda f: (-(-p.m // f["TILE_M"]) * -(-p.n // f["TILE_N"]),)](
            p.a[0], p.b[0], p.c[0], gpu.seen, p.m, p.n, p.k, p.k, p.n, p.n, COUNTED=False)
        took = {known[tile]: ms[0] for config, ms in tuner.configs_timings.items()
                if (tile := tuple(config.kwargs[x] for x in ("TILE_M", "TILE_N", "STEP"))) in known}
        ways = sorted(took, key=took.get)
        forced = [w for w in ways if w in forced]
    return [Triton(gpu, found[0].configuration, tile)
            for found, tile in ((ways, "tuned"), (forced, "forced")) if found]


# --- measuring ------------------------------------------------------------------------------------

def keys_of(p, way):
    return (f"m={p.m},n={p.n},k={p.k},type={p.type},acc=fp32,layout=nn,impl={way.impl},"
            f"tile={way.tile}")


def sample_slope(run, gpu, metric, pair):
    while run.more():
        for n, graph in pair:
            run.sample(metric, n, gpu.timed_ns(run, graph.replay))


def measure_time(run, gpu, p, way, cold):
    if not run.case(f"{keys_of(p, way)},l2={'cold' if cold else 'warm'}"):
        return
    p.poison()
    way.launch(p, 0)
    p.verify(run, "before timing")

    pair = graph_pair(gpu, p, way, cold)
    kernel, blocks, threads, n_kernels = kernels_of(pair[0][1])
    blocks = blocks * n_kernels / pair[0][0]
    run.value(BLOCKS, blocks)
    run.fact("kernel", kernel[:200])
    run.fact("threads", threads)
    if way.configuration:
        way.describe(run, p)
        run.check(blocks == way.blocks(p), f"the graph holds {blocks:g} blocks a product")
    if way.tile in ("tuned", "forced"):
        run.value(IDLE, way.count(run, p))
    p.poison()
    sample_slope(run, gpu, TIME, pair)
    run.value(ERROR, p.verify(run, "after timing"))


def measure_clocks(run, gpu, p, way):
    keys, one = keys_of(p, way), 0
    if run.case(f"{keys},clock=do_bench") and not run.options.check:
        run.taken(CLOCK, [ms * 1e6 for ms in gpu.triton.testing.do_bench(
            lambda: way.launch(p, 0), return_mode="all")])
    for clock, sets in (("event_hot", 1), ("event_cold", p.sets)):
        if run.case(f"{keys},clock={clock}"):
            while run.more():
                one = (one + 1) % sets
                run.sample(CLOCK, 1, gpu.timed_ns(run, lambda: way.launch(p, one)))
    for clock, cold in (("graph_warm", False), ("graph_cold", True)):
        if run.case(f"{keys},clock={clock}"):
            sample_slope(run, gpu, CLOCK_SLOPE, graph_pair(gpu, p, way, cold))


def measure_size(run, gpu, size, type_name):
    p = Product(run, gpu, size, size, size, type_name)
    ways, choices = launchable(run, gpu, p), []
    if type_name == "fp16" and (size == SIZE or run.options.check):
        choices = tuned(run, gpu, p, ways)
    elif not run.options.deep:
        ways = [fastest(run, gpu, p, ways)]
    for way in [Torch(gpu)] + ways + choices:
        for cold in (False, True):
            measure_time(run, gpu, p, way, cold)
    for way in [Torch(gpu)] + choices if choices else []:
        measure_clocks(run, gpu, p, way)
    run.close_case()  # before a search moves the clock once more


def check_shapes(run, gpu):
    """Shapes that the kernels were not tuned for: three tiles by two, with five steps of K."""
    for type_name in ("fp16", "bf16"):
        for f in CONFIGURATIONS:
            p, way = Product(run, gpu, 3 * f.m, 2 * f.n, 5 * f.step, type_name), Triton(gpu, f)
            p.poison()
            try:
                way.launch(p, 0)
            except gpu.triton.runtime.errors.OutOfResources:
                continue
            p.verify(run, f"{way.tile} {type_name}")


def check_faults(run, gpu):
    """Wrong products must be found wrong: a dropped step of K, a last column that is not written,
    and fp16 sums, rounded every 16 of K as tensor cores with fp16 accumulators do."""
    p = Product(run, gpu, 512, 512, 512, "fp16")
    right = (p.a[0].double() @ p.b[0].double()).half()
    run.check(p.right(right), "a product rounded from float64 is right")
    run.check(not p.right((p.a[0][:, :-32].double() @ p.b[0][:-32].double()).half()),
              "a product without its last step of K is seen to be wrong")
    short = right.clone()
    short[:, -1] = math.nan
    run.check(not p.right(short), "a product without its last column is seen to be wrong")
    sums = gpu.torch.zeros_like(right)
    for step in range(0, p.k, 16):
        part = p.a[0][:, step:step + 16].double() @ p.b[0][step:step + 16].double()
        sums = (sums.double() + part).half()
    run.check(not p.right(sums), "fp16 sums are seen to be wrong")


def measure(run):
    gpu = Gpu(run)
    import peers_kernels  # after the Gpu, which says what is missing
    gpu.kernels = peers_kernels
    for type_name in ("fp16", "bf16"):
        for size in (512,) if run.options.check else (SIZE,) + OTHER_SIZES:
            measure_size(run, gpu, size, type_name)
    if run.options.check:
        check_shapes(run, gpu)
        check_faults(run, gpu)


if __name__ == "__main__":
    sys.exit(core.main(PROBE, measure))
