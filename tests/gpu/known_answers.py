#!/usr/bin/env python3
"""known_answers.py FOLDER: what the run documents FOLDER/PROBE.json must say, whatever the board.
A line an answer, and a last line `N passed, N failed, N skipped`. Exit 1 when anything failed."""
import json
import math
import sys

counts = {"ok": 0, "FAIL": 0, "skip": 0}


def say(word, line):
    counts[word] += 1
    print(f"{word:4} {line}")


def check(ok, what, found):
    say("ok" if ok else "FAIL", f"{what}: {found}" if not ok else what)


class Run:
    """The figures of one run document; NaN is what was not measured, and passes no check."""

    def __init__(self, probe):
        with open(f"{sys.argv[1]}/{probe}.json") as file:
            self.document = json.load(file)
        self.figures, self.why, self.clocks = {}, {}, {}
        for case in self.document["cases"]:
            self.clocks[case["case"]] = case.get("sm_clock", {})
            for metric in case["metrics"]:
                value = metric.get("median")
                self.figures[metric["name"], case["case"]] = math.nan if value is None else value
                self.why[metric["name"], case["case"]] = metric.get("why")

    def measured(self):
        return self.document["status"] != "skipped"

    def __call__(self, name, case):
        return self.figures.get((name, case), math.nan)

    def all(self, name, part=""):
        return {case: value for (metric, case), value in self.figures.items()
                if metric == name and part in case}


def waits(spin):
    for case, waited in spin.all("waited").items():
        asked = float(case.removeprefix("asked="))
        check(asked <= waited < asked + 100, f"spin waits the {asked:.0f} cycles asked for", waited)
    clock, cycle, during = spin("sm_clock", "source=measured"), spin("cycle_time", ""), spin.clocks.get("", {})
    least, most = (during.get(end, math.nan) for end in ("min_mhz", "max_mhz"))
    check(0.998 * least < 1e3 / cycle < 1.002 * most, "the SM clock of its waits is the inverse of a cycle by events",
          f"{least} to {most} MHz, {cycle} ns")
    check(300e6 < clock < 4000e6, "the SM clock is one of a GPU", f"{clock / 1e6} MHz")


def instructions(run):
    fma = run("latency", "op=fma,type=fp32")
    check(4 <= fma <= 5, "a dependent fp32 FMA takes 4 to 5 cycles", fma)


def levels(latency, sides, clock):
    names = ("shared", "l1", "l2", "hbm")
    cycles = [latency("load", f"level={level}") for level in names]
    times = [latency("load_time", f"level={level}") for level in names]
    for level, one, ns in zip(names[:3], cycles, times):
        check(abs(one / (ns * clock / 1e9) - 1) < 0.02, f"{level}: cycles are ns at the SM clock",
              f"{one} cycles, {ns} ns, {clock / 1e6} MHz")
    far = [sides(name, "level=l2,side=far") for name in ("load", "load_time")]
    why = sides.why.get(("load", "level=l2,side=far"))
    if why:
        say("skip", f"the far side of the L2: {why}")
    else:
        cycles.insert(3, far[0])
        times.insert(3, far[1])
    order = "shared < L1 < L2 < " + ("far L2 < " if len(cycles) == 5 else "") + "device memory"
    for unit, one in (("cycles", cycles), ("ns", times)):
        check(all(a < b for a, b in zip(one, one[1:])), f"{order}, in {unit}", one)


def bandwidth(run):
    gpu = run.document["environment"]["gpu"]
    pins = 2 * gpu["memory_clock_mhz"] * 1e6 * gpu["bus_bits"] / 8
    hbm, l2 = run.all("rate", "level=hbm,"), run.all("rate", "level=l2,")
    for case, rate in hbm.items():
        check(rate < pins, f"less than the pins carry: {case}",
              f"{rate / 1e12} TB/s, the pins carry {pins / 1e12}")
    best = max((rate for case, rate in hbm.items() if "op=read" in case), default=math.nan)
    check(best > 0.5 * pins, "device memory is read at more than half of what the pins carry",
          f"{best / 1e12} TB/s of {pins / 1e12}")
    check(max(l2.values(), default=math.nan) > best, "the L2 is read faster than device memory",
          f"{l2} bytes/s, device memory {best}")


def barriers(run):
    violations, controls = run.all("violations"), run.all("control_violates")
    check(violations and not any(violations.values()), "no barrier lets an old value through",
          violations)
    check(controls and all(value == 1 for value in controls.values()),
          "where a barrier lacks something, old values are seen", controls)


def deadlock(run):
    for launch, refused in (("ordinary", 0), ("cooperative", 1)):
        case = f"scene=alone,launch={launch},blocks=2xcapacity"
        found = run("completed", case), run("refused", case)
        check(found == (0, refused), f"twice what fits, {launch} launch: "
              + ("refused" if refused else "does not complete"), f"completed, refused = {found}")


def layout(run):
    faults = run.all("faults")
    check(faults and all(value == 1 for value in faults.values()),
          "a misaligned load of 16 bytes faults", faults)


spin = Run("spin")
waits(spin)
levels(Run("memory_latency"), Run("memory_map"), spin("sm_clock", "source=measured"))
for answers in (instructions, bandwidth, barriers, deadlock, layout):
    run = Run(answers.__name__)
    if run.measured():
        answers(run)
    else:
        say("skip", f"{answers.__name__}: {run.document.get('why', '')}")
print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
sys.exit(counts["FAIL"] != 0)
