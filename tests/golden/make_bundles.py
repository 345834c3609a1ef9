#!/usr/bin/env python3
"""Makes the bundles of the golden tests. They are committed; run this only to change them.

Figures are invented, near what an H200 shows, with a seeded spread between runs. Nothing here was
measured."""
import copy
import json
import math
import os
import shutil
import random

ROUNDS = 7
GPU = {"name": "NVIDIA H200", "board": "nvidia-h200", "cc": "9.0", "n_sm": 132,
       "l2_bytes": 62914560, "memory_bytes": 150754820096, "bus_bits": 6144,
       "memory_clock_mhz": 3201, "sm_clock_max_mhz": 1980, "ecc": True, "mig": False,
       "power_limit_w": 700.0, "id_hash": "00112233aabbccdd"}
HOST = {"cpu": "Invented CPU 9000", "n_cpu": 16, "kernel": "Linux 6.1.0", "machine": "x86_64",
        "governor": None, "virtualisation": "hypervisor"}
SUITE = {"version": "0.1.0", "commit": "a1b2c3d" + "0" * 33, "dirty": False, "build": "gcc 12.2.0 -O2"}


def metric(name, unit, value, better="lower", timer=None, resolution=None):
    m = {"name": name, "unit": unit, "better": better}
    if timer:
        m["timer"] = timer
    m["n"] = 100
    best = value if better == "exact" else value * (1.01 if better == "higher" else 0.99)
    m.update(median=float("%.7g" % value), best=float("%.7g" % best))
    if better != "exact":
        m["mad"] = float("%.3g" % (value * 0.001))
    if resolution:
        m["resolution"] = resolution
    return m


class Figures:
    """One probe's cases: key -> metrics, with a spread between runs."""

    def __init__(self, name, method, what):
        self.name, self.method, self.what, self.cases = name, method, what, []

    def add(self, case, *metrics, **flags):
        self.cases.append((case, metrics, flags))
        return self

    def run(self, dice, round_, spread=0.002):
        cases = []
        for case, metrics, flags in self.cases:
            if flags.get("once") and round_ not in (0, ROUNDS - 1):
                continue
            made = []
            for m in metrics:
                exact = m.get("better") == "exact"
                factor = 1 if exact else 1 + dice.uniform(-spread, spread)
                made.append(metric(m["name"], m["unit"], m["value"] * factor,
                                   m.get("better", "lower"), m.get("timer"), m.get("resolution")))
            one = {"case": case, "metrics": made}
            one.update(flags)
            cases.append(one)
        return {"schema": "run", "schema_version": 1,
                "probe": {"name": self.name, "method": self.method, "what": self.what},
                "status": "ok",
                "run": {"round": round_, "rounds": ROUNDS, "seed": 1,
                        "started": "2026-11-21T08:12:03Z", "elapsed_s": 0.5},
                "cubins": {self.name + ".sm_90a": "%064x" % sum(self.name.encode())},
                "cases": cases, "checks": [], "notes": []}


def m(name, unit, value, better="lower", timer=None, resolution=None):
    return dict(name=name, unit=unit, value=value, better=better, timer=timer, resolution=resolution)


def curve(bytes_):
    """L1, near L2, far L2, DRAM with a TLB tail: the shape published for a GH200."""
    at = math.log2(bytes_)
    steps = [(math.log2(225 << 10), 0.12, 32.0, 272.0), (math.log2(29 << 20), 0.12, 272.0, 500.0),
             (math.log2(58 << 20), 0.06, 500.0, 625.0)]
    value = 32.0
    for place, width, low, high in steps:
        value += (high - low) / (1 + math.exp(-(at - place) / (width / 2)))
    return value + max(0.0, at - math.log2(80 << 20)) * 12


def footprints():
    sizes = [int((4 << 10) * 2 ** (i / 4)) // 128 * 128 for i in range(77)]
    return sizes + [2 << 30] if sizes[-1] < 2 << 30 else sizes


def memory_latency():
    f = Figures("memory_latency", 1, "How long does one dependent load take?")
    for level, cycles in (("shared", 23.0), ("l1", 32.1), ("l2", 272.0), ("hbm", 610.0)):
        f.add("level=" + level, m("load", "cycles", cycles, resolution=0.03),
              m("load_time", "ns", cycles / 1.98, timer="device", resolution=1.0))
    f.add("path=l2", m("control", "cycles", 271.0, resolution=0.03))
    for size in footprints():
        f.add("bytes=%d" % size, m("curve", "cycles", curve(size), resolution=0.03))
    return f


def small_gemm():
    f = Figures("small_gemm", 1, "How fast is a small product?")
    keys = "m=%d,n=%d,k=%d,type=fp16,acc=fp32,layout=nn,impl=%s,tile=%s,split=auto,l2=%s"

    def product(size, impl, tile, l2, us, blocks):
        f.add(keys % (size, size, size, impl, tile, l2), m("time", "ns", us * 1e3, timer="event"),
              m("blocks", "count", blocks, better="exact"), power_bound=size >= 4096)
    product(512, "cublas", "auto", "warm", 3.4, 64)
    product(1024, "cublas", "auto", "warm", 5.2, 128)
    product(1024, "cublas", "auto", "cold", 9.5, 128)
    product(4096, "cublas", "auto", "warm", 190.0, 1024)
    for blocks, tile, us in ((32, "256x128", 13.2), (64, "128x128", 7.7), (128, "128x64", 5.9),
                             (256, "64x64", 6.6), (512, "64x32", 9.6)):
        product(1024, "mma", tile, "warm", us, blocks)
    f.add("type=fp16,acc=fp32", m("tensor_peak", "flop/s", 620e12, better="higher"), power_bound=True)
    return f


def bias_gelu_scale():
    f = Figures("bias_gelu_scale", 1, "What does fusing three operators save?")
    keys = "rows=%d,cols=%d,type=fp16,impl=%s,mode=graph,l2=%s"
    for rows, cols, l2, fused, unfused in ((1, 4096, "warm", 1.2, 2.9), (16384, 8192, "cold", 130, 390)):
        size = rows * cols * 4
        for impl, us, passes in (("fused", fused, 1), ("unfused", unfused, 3), ("scale", fused * 1.01, 1)):
            f.add(keys % (rows, cols, impl, l2), m("time", "ns", us * 1e3, timer="event"),
                  m("share_of_copy", "ratio", min(0.95, 0.95 * fused * passes / us), better="higher"),
                  m("bytes", "bytes", size * passes, better="exact"),
                  power_bound=rows > 1)
    return f


def others():
    return [
        Figures("spin", 1, "Does a known wait read as such?").add(
            "asked=20000", m("waited", "cycles", 20012.0, resolution=1.0)),
        Figures("launch", 1, "What does it cost to start an empty kernel?")
        .add("", m("submit", "ns", 2100.0, timer="wall", resolution=20.0),
             m("round_trip", "ns", 6200.0, timer="wall", resolution=20.0))
        .add("mode=stream", m("edge", "ns", 1300.0, timer="event"))
        .add("mode=graph", m("edge", "ns", 820.0, timer="event")),
        Figures("occupancy", 1, "How many loads must be in flight?")
        .add("level=hbm,warps=16,loads=4", m("read_rate", "bytes/s", 3.9e12, "higher"), power_bound=True)
        .add("level=hbm,warps=64,loads=4", m("read_rate", "bytes/s", 4.2e12, "higher"), power_bound=True)
        .add("level=l2,warps=64,loads=8", m("read_rate", "bytes/s", 7.1e12, "higher"), power_bound=True),
    ]


def host_probes():
    return [
        Figures("host_memory", 1, "How long does a dependent load take on the CPU?")
        .add("level=l1", m("load_time", "ns", 1.2, timer="wall", resolution=0.01))
        .add("level=dram", m("load_time", "ns", 110.0, timer="wall", resolution=0.01)),
        Figures("null", 1, "What does the harness itself cost?")
        .add("context=no", m("process", "ns", 650e3, timer="wall", resolution=20.0)),
    ]


def bundle(probes, seed, rounds=ROUNDS, gpu=True, spread=0.002, started="2026-11-21T08:12:00Z"):
    dice = random.Random(seed)
    runs = []
    for round_ in range(rounds):
        order = list(probes)
        dice.shuffle(order)
        for probe in order:
            run = probe.run(dice, round_, spread)
            run["run"]["rounds"] = rounds
            runs.append(run)
    environment = {"host": HOST}
    if gpu:
        environment.update(gpu=GPU, driver={"version": "580.159", "cuda": "13.0"},
                           runtime={"cuda": "13.0", "nvcc": "13.0"})
    return {"schema": "bundle", "schema_version": 1, "suite": SUITE, "environment": environment,
            "started": started, "elapsed_s": 60.0, "seed": seed, "rounds": rounds,
            "quick": rounds == 1, "complete": True, "harness": {}, "runs": runs}


def write(name, document):
    with open(name, "w", encoding="utf-8") as out:
        json.dump(document, out, separators=(",", ":"), ensure_ascii=False)
        out.write("\n")


def each(document, probe, name, change, case=None):
    """Applies change(metric, run) to every value of a metric."""
    for run in document["runs"]:
        if run["probe"]["name"] != probe:
            continue
        for one in run["cases"]:
            for item in one["metrics"]:
                if item["name"] == name and (case is None or one["case"] == case):
                    change(item, run)


def scale(factor):
    def change(item, _run):
        item["median"] *= factor
        item["best"] *= factor
    return change


def small_probes():
    """A bundle that a person can read: what `compare` and the statuses need, and no more."""
    return [
        Figures("launch", 1, "What does it cost to start an empty kernel?")
        .add("", m("submit", "ns", 2100.0, timer="wall", resolution=2.0),
             m("round_trip", "ns", 6200.0, timer="wall", resolution=2.0))
        .add("mode=stream", m("edge", "ns", 1300.0, timer="event"))
        .add("mode=graph", m("edge", "ns", 820.0, timer="event")),
        Figures("occupancy", 1, "How many loads must be in flight?")
        .add("level=hbm,warps=64,loads=4", m("read_rate", "bytes/s", 4.2e12, "higher"), power_bound=True)
        .add("level=l2,warps=64,loads=8", m("read_rate", "bytes/s", 7.1e12, "higher"), power_bound=True),
        Figures("census", 1, "Where do blocks land?")
        .add("tile=64x64", m("blocks", "count", 256, "exact"))
        .add("tile=128x64", m("blocks", "count", 128, "exact"))
        .add("map=sm", m("hops", "count", 40.0), once=True),
        Figures("moved", 1, "A probe whose method changes").add("", m("time", "ns", 100.0, timer="event")),
    ]


def changed(old):
    """The same machine later: one of each verdict."""
    new = copy.deepcopy(old)
    new["started"] = "2026-12-01T08:12:00Z"
    new["environment"]["driver"]["version"] = "590.44"
    new["suite"] = dict(SUITE, commit="b" * 40)
    each(new, "launch", "submit", scale(0.90))
    each(new, "launch", "edge", scale(1.05), case="mode=stream")
    each(new, "occupancy", "read_rate", scale(0.93), case="level=hbm,warps=64,loads=4")
    dice = random.Random(99)
    each(new, "launch", "round_trip", lambda item, run: scale(1 + dice.uniform(-0.04, 0.05))(item, run))
    each(new, "census", "blocks", scale(2), case="tile=64x64")
    for run in new["runs"]:
        if run["probe"]["name"] == "moved":
            run["probe"]["method"] = 2
        if run["probe"]["name"] == "launch":
            run["cubins"]["launch.sm_90a"] = "f" * 64
            run["cases"] = [c for c in run["cases"] if c["case"] != "mode=graph"]
            run["cases"].append({"case": "mode=program", "metrics": [metric("edge", "ns", 700.0,
                                                                            timer="event")]})
    return new


def troubled(small):
    """Everything that can keep a figure from standing."""
    t = copy.deepcopy(small)
    t["complete"] = False
    t["why"] = "interrupted in round 7 of 7"
    cause = "SM clock moved by 3.1 % (1920 to 1980 MHz)"
    for run in t["runs"]:
        name, round_ = run["probe"]["name"], run["run"]["round"]
        if name == "launch":
            for one in run["cases"]:
                if one["case"] == "mode=stream" or (one["case"] == "mode=graph" and round_ < 3):
                    one["discarded"] = cause
        if name == "occupancy":
            run["status"], run["why"] = "failed", "a check failed"
        if name == "census":
            for one in run["cases"]:
                if one["case"] == "tile=64x64" and round_ == 3:
                    one["metrics"][0].update(median=255.0, best=255.0)
                if one["case"] == "tile=128x64":
                    one["metrics"][0].update(median=None, best=None, why="no kernel of this tile fits")
        if name == "moved":
            run["status"], run["why"], run["cases"] = "skipped", "needs compute capability 10.0", []
    again = copy.deepcopy(next(r for r in t["runs"] if r["probe"]["name"] == "launch"
                               and r["run"]["round"] == 0))
    again["discarded"] = "another process was on the GPU"
    again["run"]["repeat"] = 1
    t["runs"].append(again)
    hostile = copy.deepcopy(next(r for r in small["runs"] if r["probe"]["name"] == "moved"))
    hostile["probe"] = {"name": "esc\u001b[31m\tape|d", "method": 1, "what": "a name\nthat misbehaves"}
    t["runs"].append(hostile)
    return t


def board_probes(clock=1.0, pins=1.0, l2=1.0, odd=1.0, decode=1.0):
    """What `report A B` compares: figures that scale with the clock, with the pins, with neither (odd), between both
    (decode)."""
    return [
        Figures("memory_latency", 1, "How long does one dependent load take?")
        .add("level=l1", m("load_time", "ns", 16.2 / clock, timer="device", resolution=0.01))
        .add("level=l2", m("load_time", "ns", 143 / clock, timer="device", resolution=0.01))
        .add("level=hbm", m("load_time", "ns", 334 / clock, timer="device", resolution=0.01)),
        Figures("bandwidth", 1, "How fast does each level of memory stream?")
        .add("level=l2,op=read,path=ld,bytes=16777216", m("rate", "bytes/s", 7.8e12 * l2, "higher"))
        .add("level=hbm,op=read,path=ld,bytes=4294967296", m("rate", "bytes/s", 3.2e12 * pins, "higher"))
        .add("level=hbm,op=copy,path=ld,bytes=4294967296", m("rate", "bytes/s", 3.0e12 * pins, "higher")),
        Figures("launch", 1, "What does it cost to start an empty kernel?")
        .add("", m("submit", "ns", 2100.0, timer="wall", resolution=2.0))
        .add("mode=graph", m("edge", "ns", 820.0 / odd, timer="event")),
        Figures("attention_decode", 1, "What does one query cost?")
        .add("batch=1,context=8192,heads=32,kv_heads=8,d=128,type=bf16,impl=attention,mode=graph,l2=cold",
             m("time", "ns", 15000 / decode, timer="event")),
    ]


def boards():
    """Two boards of one generation: the second has faster memory, and no figure of the L2's rate."""
    a = bundle(board_probes(), 40)
    a["environment"]["gpu"] = dict(GPU, name="NVIDIA Alpha", board="nvidia-alpha", bus_bits=4096)
    probes = board_probes(pins=1.5, odd=1.3, decode=1.2)
    probes[1].cases = probes[1].cases[1:]
    b = bundle(probes, 41)
    b["environment"]["gpu"] = dict(GPU, name="NVIDIA Beta", board="nvidia-beta", l2_bytes=2 * GPU["l2_bytes"])
    b["environment"]["driver"] = {"version": "590.44", "cuda": "13.0"}
    c = bundle(board_probes(clock=0.7, pins=0.8, l2=0.7, odd=0.7, decode=0.75), 42)
    c["environment"]["gpu"] = dict(GPU, name="NVIDIA Gamma", board="nvidia-gamma", cc="8.0", n_sm=108,
                                   sm_clock_max_mhz=1386, bus_bits=3277)
    return a, b, c


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    os.makedirs("results/nvidia-h200", exist_ok=True)
    os.makedirs("mixed", exist_ok=True)
    os.makedirs("bad_history/nvidia-h200", exist_ok=True)
    full_probes = [memory_latency(), small_gemm(), bias_gelu_scale()] + others() + host_probes()
    full = bundle(full_probes, 1)
    write("full.json", full)
    quick = bundle(others() + host_probes() + [small_gemm()], 2, rounds=1)
    write("quick.json", quick)
    write("host.json", bundle(host_probes(), 3, gpu=False))

    small = bundle(small_probes(), 4)
    write("small.json", small)
    write("small_new.json", changed(small))
    write("troubled.json", troubled(small))
    other = copy.deepcopy(small)
    other["environment"]["gpu"] = dict(GPU, name="NVIDIA L40S", board="nvidia-l40s", n_sm=142)
    write("other_board.json", other)
    os.makedirs("results/nvidia-l40s", exist_ok=True)
    shutil.copy("other_board.json", "results/nvidia-l40s/2026-11-22.json")
    for i in range(3):
        committed = bundle(small_probes(), 10 + i, started="2026-11-2%dT00:00:00Z" % i)
        each(committed, "launch", "edge", scale(1 + 0.03 * i), case="mode=stream")
        if i == 2:
            committed["runs"] = [r for r in committed["runs"] if r["probe"]["name"] != "moved"]
        # A set of two of one card, and one bundle of another card.
        committed["suite"] = dict(SUITE, commit="c" * 40)
        committed["environment"]["gpu"] = dict(GPU, id_hash="%016x" % (7 + i // 2))
        write("results/nvidia-h200/2026-11-2%d.json" % i, committed)

    for name, made in zip("abc", boards()):
        write(f"board_{name}.json", made)

    def folder_probe(name, what, unit, value):
        return Figures(name, 1, what).add("", m("time", unit, value, timer="wall"))
    alpha = folder_probe("golden_alpha", "In every bundle", "ns", 100.0)
    beta = folder_probe("golden_beta", "Only in the older bundle", "ns", 200.0)
    older = bundle([alpha, beta], 20, started="2026-11-20T00:00:00Z")
    older["suite"] = dict(older["suite"], commit="0ld0ld0" + "0" * 33)
    older["environment"]["gpu"] = dict(GPU, id_hash="ffeeddccbbaa9988")
    write("mixed/2026-11-20.json", older)
    alpha = folder_probe("golden_alpha", "In every bundle", "ns", 90.0)
    write("mixed/2026-11-21.json", bundle([alpha], 21, started="2026-11-21T00:00:00Z"))

    mapped = bundle([folder_probe("golden_alpha", "Has a map", "cycles", 250.0)], 30)
    mapped["runs"][0]["cases"][0]["metrics"].append(
        dict(metric("map", "cycles", 250.0), grid={
            "axes": [{"name": "sm", "at": [0, 1]}, {"name": "slice", "at": [0, 5, 9]}],
            "values": [200.5, 300, None, 210, 310]}))  # one value short
    write("map.json", mapped)

    alpha = folder_probe("golden_alpha", "In every bundle", "ns", 80.0)
    failed = bundle([alpha], 22, started="2026-11-22T00:00:00Z")
    failed["runs"][3]["status"], failed["runs"][3]["why"] = "failed", "a check failed"
    write("mixed/2026-11-22.json", failed)

    write("newer.json", dict(small, schema_version=2, runs=[]))
    write("run_document.json", small["runs"][0])
    write("nothing.json", dict(small, runs=[]))
    write("no_runs.json", {k: v for k, v in small.items() if k != "runs"})
    bad = copy.deepcopy(small)
    bad["runs"] = bad["runs"][:1]
    bad["runs"][0]["cases"] = [{"case": "", "metrics": [dict(metric("x", "ns", 1.0), unit="furlongs")]}]
    write("bad_unit.json", bad)
    open("empty.json", "w").close()
    with open("not_json.json", "w") as out:
        out.write("metric unit centre\n")
    with open("small.json", "rb") as whole, open("truncated.json", "wb") as out:
        out.write(whole.read()[:3000])
    shutil.copy("truncated.json", "bad_history/nvidia-h200/2026-11-20.json")


if __name__ == "__main__":
    main()
