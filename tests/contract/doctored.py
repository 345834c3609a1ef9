#!/usr/bin/env python3
"""doctored.py BUILD: what the ledger says of bundles that no instrument made. The committed bundles of
each board are read as one; then every time is the same, every figure is 1, or -1, or times are 0: no claim
may be decided. Nor where every kernel does nothing: its times are those of an empty launch, no SM writes
down a cycle, nothing that a kernel computes is a number, and each check fails that asks for something done
(but empty launches are what EMPTY measures). One run of seven reads three times as long: no verdict may turn from REPRODUCED to REFUTED
or back. The bundle itself decides most of its claims, or nothing would be shown."""
import collections
import copy
import json
import random
import sys
import tempfile

from common import (FIGURES, boards_of_one, check, finish, metrics_of, program_of, read_as_one, table, told, write)



def doctored(bundle, figure):
    bundle = copy.deepcopy(bundle)
    for run, _, metric in metrics_of(bundle):
        for name in FIGURES:
            if metric.get(name) is not None:
                metric[name] = figure(metric, metric[name], run["run"]["round"])
    return bundle


EMPTY_NS = 2000.0  # an empty launch
EMPTY = ("launch", "launch_shape", "null")  # programs whose kernels do nothing, by intention


def dead(bundle):
    """The bundle of kernels that return at once. Times differ as those of empty launches do: by some per cent
    between cases, by less between runs. What the host counts stays."""
    bundle = copy.deepcopy(bundle)
    draw = random.Random(1)
    case_ns = collections.defaultdict(lambda: EMPTY_NS * draw.uniform(0.97, 1.03))
    for run in bundle["runs"]:
        if not run.get("cubins") or program_of(run) in EMPTY:
            continue
        for case in run["cases"]:
            for metric in case["metrics"]:
                key = program_of(run), case["case"], metric["name"], metric.get("timer")
                empty = case_ns[key] * draw.uniform(0.998, 1.002)
                for name in FIGURES:
                    if metric.get(name) is not None:
                        metric[name] = empty_figure(metric, metric[name], empty)
                if metric.get("median") is None:
                    metric["why"] = "not a finite number in this run"
        run["status"], run["why"] = "failed", "a check failed"  # each of these programs has one that sees it
    return bundle


def empty_figure(metric, value, empty):
    unit = metric["unit"]
    if unit == "ns":
        return empty
    if unit.endswith("/s"):
        return value * 1e6 / empty  # the work is the host's word; its time was about a millisecond
    return value if metric["better"] == "exact" else None


def verdicts(bundle):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        return {row["id"]: row["verdict"] for row in table("claims", write(file.name, bundle))}


def undecided(folder):
    """Of the claims whose rows a board has: how many there are, and the ids that cannot be told."""
    claims = [c for c in json.loads(told("claims", "--format", "json", folder))["claims"]
              if c["verdict"] != "OPEN" and (c.get("why") or {}).get("class") != "missing"]
    return len(claims), [c["id"] for c in claims if c["verdict"] == "NOT TESTABLE"]


NOTHING = {
    "all times are equal": lambda m, x, r: 1000.0 if m["unit"] == "ns" or "timer" in m else x,
    "all times and rates are equal":
        lambda m, x, r: 1000.0 if m["unit"] in ("ns", "cycles") or m["unit"].endswith("/s") else x,
    "all figures are 1": lambda m, x, r: 1.0,
    "all figures are -1": lambda m, x, r: -1.0,
    "all times are 0": lambda m, x, r: 0.0 if m["unit"] == "ns" else x,
    "all times are negative": lambda m, x, r: -x if m["unit"] in ("ns", "cycles") else x,
}


def decided_of(bundle):
    return [f"{v} {c}" for c, v in verdicts(bundle).items() if v not in ("NOT TESTABLE", "OPEN")]


def needs_only_empty(claim):
    """Does the claim rest on programs alone whose kernels do nothing, and on the host?"""
    own = {line.split("\t")[0].split(".")[0] for line in told("claims", "--needs").splitlines()
           if claim in line.partition("\t")[2].split(" ")}
    return own <= set(EMPTY)


def outlier(metric, value, run):
    return 3 * value if run == 3 and metric["unit"] in ("ns", "cycles") else value


def main():
    for board, folder in boards_of_one():  # boards of several GPUs judge no claim
        bundle = read_as_one(folder)
        sound = verdicts(bundle)
        n, untold = undecided(folder)
        check(n >= 90 and len(untold) <= n / 10, f"{board}: of {n} claims with rows: {' '.join(untold)}")
        for what, figure in NOTHING.items():
            decided = decided_of(doctored(bundle, figure))
            check(not decided, f"{board}: {what}: {len(decided)} claims are decided", "\n".join(decided))
        decided = [c for c in decided_of(dead(bundle)) if not needs_only_empty(c.split()[-1])]
        check(not decided, f"{board}: every kernel does nothing: {len(decided)} claims are decided",
              "\n".join(decided))
        pair = {"REPRODUCED", "REFUTED"}
        turned = [c for c, v in verdicts(doctored(bundle, outlier)).items()
                  if {v, sound[c]} == pair]
        check(not turned, f"{board}: one run of seven three times as long: {len(turned)} verdicts turn",
              "\n".join(turned))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
