#!/usr/bin/env python3
"""peers.py BUILD: the programs in baselines/ answer as probes do, and compute from samples what core
computes.

Whatever this machine has, torch and triton are stand-ins here: missing, broken, or without a GPU.
The script's own --check, on a GPU, checks what it measures. Its statistics are compared with
core's: host probes in C write their raw samples and their figures, and both must agree."""
import importlib.util
import json
import math
import os
import re
from subprocess import PIPE
import sys
import tempfile
import time
import types

from common import BUILD, Ended, ROOT, check, check_follows, finish, script, spread, write_text

SCRIPTS = tuple(os.path.join(ROOT, "baselines", name) for name in ("peers.py", "fused_peers.py", "layer_peers.py"))
OPTIONS = ("--device", "--set", "--case", "--check", "--prepare", "--deep", "--quick", "--json", "--counters", "--raw", "--seed", "--round",
           "--rounds", "--list", "--help", "--version")


# --- as a probe does ---------------------------------------------------------------------------------------

STANDS_IN = {
    "no torch": {"torch": "raise ModuleNotFoundError(\"No module named 'torch'\")"},
    "no triton": {"torch": "", "triton": "raise ModuleNotFoundError(\"No module named 'triton'\")"},
    "a broken torch": {"torch": "raise OSError('/opt/x/libcudart.so.13: no such file\\nand more')"},
    "no GPU": {"torch": "__version__ = '2.11.0'\nclass version: cuda = '13.0'\n"
               "class cuda:\n    is_available = staticmethod(lambda: False)",
               "triton": "import sys\n__version__ = '3.6.0'\n__path__ = []\n"
               "sys.modules['triton.testing'] = sys.modules['peers_stamp'] = sys"},
}
REASONS = {"no torch": "needs torch and triton in this python3: No module named 'torch'",
           "no triton": "needs torch and triton in this python3: No module named 'triton'",
           "a broken torch": "needs torch and triton in this python3: libcudart.so.13: no such file",
           "no GPU": "no GPU: torch 2.11.0 finds none"}


def start(script, folder, *words, stdout=PIPE):
    return Ended(*words, program=script, seconds=60, stdout=stdout, PYTHONPATH=folder, LC_ALL="C")


def check_words(script, name, folder):
    ended = start(script, folder, "--help")
    check(ended.code == 0 and not ended.err, "--help", ended.err)
    for option in OPTIONS:
        check(re.search(rf"{option}\b(?!-)", ended.out), f"--help tells of {option}")
    ended = start(script, folder, "--list", "--json")
    listed = json.loads(ended.out)
    check(listed["schema"] == "probe" and listed["name"] == name and listed["needs"] == "gpu",
          "--list --json names it", ended.out[:200])
    check(listed["prepares"] is True, "and says that it can prepare")
    people = start(script, folder, "--list").out
    for m in listed["metrics"]:
        check(f"{name}.{m['name']}{{{m['keys']}" in people and m["what"] in people,
              f"{m['name']} is in --list")
        check(m["unit"] in ("ns", "count", "ratio") and m["form"] in ("each", "slope"), "unit and form")
    for words in (("--nonsense",), ("--device=12q",), ("--device=-1",), ("--seed=x",), ("--rounds=0",),
                  ("--round=-1",), ("--set=a=1",), ("stray",), ("--json", "--check", "--nonsense")):
        ended = start(script, folder, *words)
        said = words[-1].split("=")[0]
        check(ended.code == 2 and not ended.out and said in ended.err,
              f"{' '.join(words)}: usage", f"exit {ended.code}, {ended.err[-200:]!r}")
    raw = os.path.join(folder, "missing", "raw.tsv")
    ended = start(script, folder, "--raw", raw)
    check(ended.code == 2 and raw in ended.err, "--raw FILE that cannot be written", ended.err)
    for words in (("--list",), ("--json",)):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ended = start(script, folder, *words, stdout=full)
        check(ended.code == 1 and "not written in full" in ended.err.split("\n")[-2],
              f"{words[0]} into a full disk is no success", f"{ended.code} {ended.err!r}")


def check_skipped(script, name, folder, what):
    """One clear line, exit 77, and a document that is valid and private."""
    ended = start(script, folder, "--json", "--seed=7", "--round=1", "--rounds=3")
    check(ended.code == 77, f"{what}: leaves with 77", f"{ended.code} {ended.err[-200:]}")
    check(ended.err == f"{name}: skipped: {REASONS[what]}\n", f"{what}: one line", repr(ended.err))
    document = json.loads(ended.out)
    check_follows("run", document, f"{what}: the document")
    check(document["status"] == "skipped" and document["why"] == REASONS[what], f"{what}: and why")
    check(document["cases"] == [] and document["probe"]["name"] == name, f"{what}: no figures")
    run = document["run"]
    check((run["seed"], run["round"], run["rounds"]) == (7, 1, 3), f"{what}: seed and round are kept")
    for word in {os.uname().nodename, ROOT, os.environ.get("HOME", "")}:
        check(len(word) <= 4 or word not in ended.out, f"{what}: keeps '{word}' to itself")
    ended = start(script, folder, "--check")
    check(ended.code == 77 and not ended.out, f"{what}: --check too", ended.err)
    ended = start(script, folder, "--json", "--prepare")
    check(ended.code == 77 and not ended.out, f"{what}: --prepare prints no document", ended.out)


# --- as core does ------------------------------------------------------------------------------------------

def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def near(a, b):
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1.1e-6, abs_tol=1e-9))


def check_probe_in_c(core, path):
    """Computes each figure of a probe's document from the raw samples of the same run, and
    compares."""
    name = os.path.basename(path)
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "raw.tsv")
        said = Ended("--json", "--raw", raw, program=path, seconds=60, CUDA_VISIBLE_DEVICES="")
        document, samples = spread(json.loads(said.out)), {}
        with open(raw, encoding="utf-8") as file:
            for line in file:
                _, metric, keys, timer, _, work, value, _ = line.rstrip("\n").split("\t")
                samples.setdefault((metric, keys, timer), []).append((float(work), float(value)))
    listed = json.loads(Ended("--list", "--json", program=path).out)
    forms = {(m["name"], m.get("timer") or "-"): m["form"] for m in listed["metrics"]}
    ticks = {timer: facts["step_ns"] for timer, facts in document["timers"].items()}
    seen = set()
    for one in document["cases"]:
        for m in one["metrics"]:
            key = m["name"], one["case"], m.get("timer", "-")
            if key not in samples:  # a value, not sampled
                continue
            form = forms[(key[0], key[2])]
            seen.add(form)
            ours = core.figures_of(core.Metric(m["name"], m["unit"], m["better"], form, key[2], "", ""),
                                   samples[key], ticks[key[2]])
            sides = zip(ours.pop("sides", []), m.pop("sides", []))
            wrong = [k for k in set(ours) | set(m) - {"name", "unit", "better", "timer"}
                     if not near(ours.get(k), m.get(k))]
            check(not wrong, f"{name}.{key[0]}{{{key[1]}}}: as core has it", f"{wrong} {ours} {m}")
            for a, b in sides:
                check(a.keys() == b.keys() and all(near(a[k], b[k]) for k in b),
                      f"{name}.{key[0]}{{{key[1]}}}: both sides", f"{a} {b}")
    return seen


def check_known_answers(core):
    """Known answers that do not come from core."""
    check(core.median_ranks(5, 0.95) is None, "five values hold no interval")
    check(core.median_ranks(7, 0.95) == (1, 7) and core.median_ranks(10, 0.95) == (2, 9), "ranks of 7 and 10")
    check(core.narrow([100.0] * 20, 0) and not core.narrow([90.0, 110.0] * 10, 0), "narrow, and not narrow")
    check(core.narrow([90.0, 110.0] * 10, 40), "within a tick is narrow enough")
    check(core.without_glitches([1, 9, 1, 1, 5, 5]) == [1, 1, 1, 1, 5, 5], "a lone odd clock is a glitch")
    check("p99" not in core.figures_of(core.Metric("t", "ns", "lower", "each", None, "", ""),
                                       [(1, 1.0)] * 499, 0), "no p99 of 499 samples")
    check(core.tail([1.0] * 500, 0.99) == 1 and math.isnan(core.tail([1.0] * 4999, 0.999)), "p99 of 500")
    slope = core.Metric("t", "ns", "lower", "slope", "event", "", "")
    figures = core.figures_of(slope, [(10, 120.0), (20, 220.0), (10, 100.0), (20, 230.0), (10, 110.0),
                                      (20, 210.0)], 32)
    check(figures["median"] == (220 - 110) / 10 and figures["best"] == (210 - 100) / 10
          and figures["mad"] == 2 and figures["resolution"] == 3.2, "a slope", str(figures))
    figures = core.figures_of(slope, [(8, 100.0), (16, 90.0)], 32)
    check(figures["median"] is None and figures["best"] is None and "less time" in figures["why"],
          "more work in less time is no time", str(figures))
    try:
        core.figures_of(slope, [(1, 1.0), (2, 2.0), (3, 3.0)], 0)
        check(False, "a slope needs two amounts of work")
    except core.Leave:
        check(True, "a slope needs two amounts of work")


def check_capture(core):
    """A capture that fails is ended, and what went wrong is what is raised."""
    sys.modules["peers_core"] = core
    gpu_module = load(os.path.join(ROOT, "baselines/common/peers_gpu.py"))
    calls = []

    class Graph:
        def __init__(self, keep_graph):
            calls.append(keep_graph)

        def capture_begin(self, capture_error_mode):
            calls.append(capture_error_mode)

        def capture_end(self):
            calls.append("end")
            raise RuntimeError("the capture is invalid")

    gpu = object.__new__(gpu_module.Gpu)
    gpu.torch = types.SimpleNamespace(cuda=types.SimpleNamespace(CUDAGraph=Graph))
    try:
        gpu.graph(lambda: 1 / 0)
        check(False, "a capture that fails raises")
    except ZeroDivisionError:
        check(calls == [True, "thread_local", "end"], "a capture that fails is ended", str(calls))


def check_loop(core):
    """How many passes the loop makes, for each reason to stop."""
    metric = core.Metric("t", "ns", "lower", "each", "event", "", "")
    probe = {"name": "p", "method": 1, "what": "", "metrics": (metric,)}
    for values, words, passes, stopped in (([5.0], [], 22, "stable"), ([1.0, 2.0], [], 1002, "count"),
                                           ([5.0], ["--check"], 1, "check"),
                                           ([5.0], ["--prepare"], 1, "prepared")):
        run = core.Run(probe, core.options_of(dict(probe, needs="gpu"), words))
        core.CASE_S, n = 1e9, 0
        run.case("a=1")
        while run.more():
            run.sample(metric, 1, values[n % len(values)])
            n += 1
        run.close_case()
        document = run.document("2026-11-22T15:27:46Z", 1.0)
        check_follows("run", document, f"the document that ends by {stopped}")
        check(document.get("metrics", {}) == ({} if words else {"t": {"unit": "ns", "better": "lower"}}) and
              not any("unit" in m or "better" in m for one in run.cases for m in one["metrics"]),
              f"{stopped}: unit and direction are said once", str(document)[:200])
        kept = run.cases[0]["metrics"][0]["n"] if run.cases else 0
        check(n == passes and run.stopped == stopped, f"the loop ends: {stopped}", f"{n} {run.stopped}")
        check(kept == (n - 2 if not words else 0), f"{stopped}: warm-up is thrown away", str(kept))


def check_limit(core):
    """Passes of 5 ms whose clock falls, as at the power limit: what comes before 50 ms is dropped."""
    metric = core.Metric("t", "ns", "lower", "each", "event", "", "")
    probe = {"name": "p", "method": 1, "what": "", "metrics": (metric,), "needs": "gpu"}
    for falls, words, passes, dropped in ((6, [], 10 + 7, [1980]), (100, [], 7, []), (0, [], 10 + 7, [1500]),
                                          (3, ["--quick"], 5, [])):
        core.time = time
        run, now = core.Run(probe, core.options_of(probe, words)), [0.0]
        core.CASE_S, core.time = 0.032, types.SimpleNamespace(monotonic=lambda: now[0])
        run.steady_mhz, n = 1980, 0
        run.case("a=1")
        while run.more():
            run.sample(metric, 1, 100 if n % 2 else 200)
            run.clock(1980 if n < falls else 1500)
            now[0] += 0.00501
            n += 1
        run.close_case()
        one = run.cases[0]
        check(n - 2 == passes and one["stopped"] == "time" and one["metrics"][0]["n"] == (5 if words else 7),
              f"a clock that falls at {falls}: how many passes, and how many are kept", f"{n} {one}")
        check([loop["max_mhz"] for loop in one.get("dropped_loops", [])] == dropped,
              f"a clock that falls at {falls}: what is dropped is said", str(one))
    core.time = time


def main():
    with tempfile.TemporaryDirectory() as root:
        for i, (what, modules) in enumerate(STANDS_IN.items()):
            folder = os.path.join(root, str(i))
            os.mkdir(folder)
            for name, text in modules.items():
                write_text(os.path.join(folder, name + ".py"), text + "\n")
            for script in SCRIPTS:
                name = os.path.basename(script)[:-3]
                if i == 0:
                    check_words(script, name, folder)
                check_skipped(script, name, folder, what)
    core = load(os.path.join(ROOT, "baselines/common/peers_core.py"))
    check_known_answers(core)
    check_loop(core)
    check_limit(core)
    check_capture(core)
    forms = set()
    for name in ("null", "host_memory"):
        forms |= check_probe_in_c(core, os.path.join(BUILD, "bin/probes", name))
    check(forms == {"each", "slope"}, "both forms were held against core", str(forms))
    return finish()


sys.exit(main())
