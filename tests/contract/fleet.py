#!/usr/bin/env python3
"""fleet.py BUILD: `gpufloor report --fleet` on fleets that are made of a committed bundle: each card has its
own factor on each row, and one card a planted fault. The fault is found, by its card, its rows and its
direction; clean fleets show about as many odd cards as is said. Bundles of another board, commit, method
or ECC mode are never mixed in, broken files are named."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from common import (Ended, H200, ROOT, check, finish, metrics_of, newest_whole, of_programs, program_of, read, scaled,
                    table, write, write_text)

BASE = newest_whole(H200)
KEPT = ("median", "best")
CASE = ("case", "metrics", "once", "thrice", "power_bound")
METRIC = ("name", "unit", "better", "timer", "n", "resolution", *KEPT)
SOME = ("spin", "memory_latency", "bandwidth", "barriers", "launch", "gemv")
FEW = ("spin", "memory_latency", "barriers", "launch")
NOISE = 0.002  # of a card in a row: standard deviation
kept = {}


def base(programs):
    """The committed bundle with a few programs and what is asked of them here, as text."""
    if programs not in kept:
        bundle = of_programs(read(BASE), programs)
        for run in bundle["runs"]:
            run["checks"] = run["notes"] = []
            run["cases"] = [{key: case[key] for key in CASE if key in case} for case in run["cases"]]
            for case in run["cases"]:
                case["metrics"] = [{key: metric[key] for key in METRIC if key in metric} for metric in case["metrics"]]
        kept[programs] = json.dumps(bundle)
    return kept[programs]


def slow_dram(program, case, metric, by):
    """Device memory slower: rates of it fall, times of reading it grow."""
    if program == "bandwidth" and "level=hbm" in case and metric["unit"] == "bytes/s":
        return 1 / by
    return by if program == "gemv" and "l2=cold" in case and metric["unit"] == "ns" else 1


def slow_sm(program, case, metric, by):
    """The SM on which one block runs: its loads and barriers take longer."""
    inside = program == "memory_latency" and ("level=l1" in case or "level=shared" in case)
    inside = inside or (program == "barriers" and metric["name"].startswith("block"))
    return by if inside and metric["unit"] in ("ns", "cycles") else 1


def card(programs, seed, noise=NOISE, plant=None, by=1.0, change=None):
    """The bundle of one card. Its factors depend on the seed alone."""
    draw = random.Random(seed)
    factors = {}

    def factor(run, case, metric):
        if metric["better"] == "exact":
            return 1
        key = program_of(run), case["case"], metric["name"], metric.get("timer")
        if key not in factors:
            factors[key] = 1 + noise * draw.gauss(0, 1)
        return factors[key] * (plant(program_of(run), case["case"], metric, by) if plant else 1)
    bundle = scaled(json.loads(base(programs)), factor)
    bundle["environment"]["gpu"]["id_hash"] = f"{seed:08x}{seed:08x}"
    if change:
        change(bundle)
    return bundle


class Fleet:
    """A folder of bundles."""

    def __init__(self, work, name):
        self.folder = os.path.join(work, name)
        os.mkdir(self.folder)

    def put(self, name, bundle):
        write(os.path.join(self.folder, name + ".json"), bundle)
        return self

    def cards(self, n, programs, first=1, **how):
        for i in range(n):
            self.put(f"node{i}", card(programs, first + i, **how))
        return self

    def report(self, *words):
        return Ended("report", "--fleet", self.folder, *words)

    def json(self, *words):
        status, text, said = self.report("--format", "json", *words)
        return json.loads(text) if status in (0, 2) and text else {"error": said}


def odd(document):
    """{file: {row: direction}} of odd cards."""
    found = {}
    for row in document["rows"]:
        for i, direction in row["odd"]:
            found.setdefault(document["cards"][i]["file"], {})[row["row"]] = direction
    return found


def is_readable(text):
    lines = text.splitlines()
    return len(lines) <= 60 and max(map(len, lines)) <= 100


def check_planted(work):
    fleet = Fleet(work, "planted").cards(16, SOME)
    status, text, _ = fleet.report()
    check(status == 0 and text.startswith("FLEET  no card of 16 is odd") and "16 of 16 cards agree within" in text,
          "16 clean cards: none is odd", text)
    for what, plant, by, direction, least in (("device memory 3 % slower", slow_dram, 1.03, "slower", 6),
                                              ("one SM 10 % slower", slow_sm, 1.10, "slower", 3),
                                              ("device memory 3 % faster", slow_dram, 1 / 1.03, "faster", 6)):
        fleet.put("node7", card(SOME, 8, plant=plant, by=by))
        found = odd(fleet.json())
        rows = found.get("node7.json", {})
        check(set(found) == {"node7.json"} and len(rows) >= least and set(rows.values()) == {direction},
              f"{what}: that card, in {len(rows)} rows, {direction}", str(found))
        programs = {row.split(".")[0] for row in rows if "." in row}
        planted = {"bandwidth", "gemv", "derived"} if plant is slow_dram else {"memory_latency", "barriers"}
        check(programs <= planted, f"{what}: and in no row of another program", str(rows))
        status, text, _ = fleet.report()
        check(status == 0 and "1 of 16 cards is odd: node7.json (00000008)" in text and "15 of 16 cards agree" in text and
           is_readable(text) and f" {direction}" in text, f"{what}: the text says so, within 60 lines of 100 columns", text)
    check(len(fleet.json("--all")["rows"]) > 2 * len(fleet.json()["rows"]), "--all has more rows")
    metric = fleet.json("--metric", "bandwidth.rate{level=hbm*")
    check({row["row"].split("{")[0] for row in metric["rows"]} == {"bandwidth.rate"} and "node7.json" in odd(metric),
          "--metric chooses rows", str(metric)[:300])
    status, text, _ = fleet.report("--format", "tsv")
    table = [line.split("\t") for line in text.splitlines()]
    check(status == 0 and {len(line) for line in table} == {10} and len(table) == 1 + 16 * len(fleet.json()["rows"]) and
          {line[4] for line in table if line[9] == "faster"} == {"node7.json"}, "TSV: a line a row and card", text[:300])
    status, text, _ = fleet.report("--format", "md")
    check(status == 0 and text.startswith("**1 of 16") and "| " in text and len(text.splitlines()) <= 60, "Markdown", text)
    path = os.path.join(work, "fleet.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(fleet.json(), file)
    done = subprocess.run([os.path.join(ROOT, "tests", "schema.py"), "fleet", path], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, "JSON follows its schema", done.stdout + done.stderr)


def check_zeros(two):
    """Rows that are 0 on both cards have no distance: they stand behind all others, in whose order they are nothing."""
    def zeros(bundle):
        for n, (_, _, metric) in enumerate(metrics_of(bundle)):
            if n % 3 == 0 and metric["better"] != "exact":
                metric.update({key: 0 for key in KEPT if metric.get(key) is not None})
    for i in range(2):
        two.put(f"node{i}", card(FEW, 1 + i, change=zeros))
    rows = [(row["median"], row["values"]) for row in two.json("--all")["rows"]]
    far = [abs(values[0] - values[1]) / median if median else 0 for median, values in rows if None not in values]
    check(0 in far and far[0] > 0 and far == sorted(far, reverse=True), "two cards: the farthest row comes first, zeros last",
          str(far)[:300])


def check_small(work):
    one = Fleet(work, "one").cards(1, FEW)
    check("one card" in one.report().out, "one card: nothing to compare with")
    two = Fleet(work, "two").cards(2, FEW)
    status, text, _ = two.report()
    check(status == 0 and "two cards agree" in text, "two clean cards agree", text)
    two.put("node1", card(FEW, 2, plant=slow_sm, by=1.1))
    status, text, _ = two.report()
    check(status == 0 and "two cards differ here, and none can be called odd" in text and "load, L1" in text and
       "node0.json (00000001) and node1.json (00000002)" in text and is_readable(text) and not odd(two.json()), "two cards: none is odd", text)
    check_zeros(two)
    for n in (3, 5):
        fleet = Fleet(work, f"few{n}").cards(n, FEW, noise=0.0005)
        check("no card of" in fleet.report().out, f"{n} clean cards: none is odd", fleet.report().out)
        fleet.put("node1", card(FEW, 2, noise=0.0005, plant=slow_sm, by=1.1))
        status, text, _ = fleet.report()
        check(status == 0 and set(odd(fleet.json())) == {"node1.json"} and "the threshold is weak" in
              " ".join(text.split()), f"{n} cards: one SM 10 % slower is found, and the threshold called weak", text)


def check_hundred(work):
    fleet = Fleet(work, "hundred").cards(100, FEW)
    found = odd(fleet.json())
    check(len(found) <= 1, f"100 clean cards: {len(found)} odd", str(found))
    fleet.put("node42", card(FEW, 43, plant=slow_sm, by=1.02))
    found = odd(fleet.json())
    status, text, _ = fleet.report()
    check("node42.json" in found and len(found) <= 2 and is_readable(text) and status == 0,
          "100 cards: one SM 2 % slower is found", str(found) + text)
    document = fleet.json()
    check(document["threshold"] < 8 and document["expected_by_chance"] <= 0.0501, "the threshold of 100 cards is low",
          str(document["threshold"]))


def check_false_alarms(work):
    """Scatter beyond the floor of 1 %, so that the threshold alone decides."""
    alarms, tables, expected = 0, 12, 0
    for seed in range(tables):
        fleet = Fleet(work, f"clean{seed}").cards(10, FEW, first=1000 * (seed + 1), noise=0.01)
        document = fleet.json()
        alarms += sum(map(len, odd(document).values()))
        expected += document["expected_by_chance"]
        shutil.rmtree(fleet.folder)
    check(alarms <= 5 and expected < 5, f"{tables} clean fleets of 10: {alarms} odd cells, {expected:.2f} expected")


def put(*way):
    *keys, last, value = way

    def change(bundle):
        for key in keys:
            bundle = bundle[key]
        bundle[last] = value
    return change


def check_mixed(work):
    fleet = Fleet(work, "mixed").cards(6, FEW)
    clean = fleet.json()
    gpu = ("environment", "gpu")
    slow = {"plant": slow_sm, "by": 1.5}
    for what, change in (("another board", put(*gpu, "board", "nvidia-h100")),
                         ("another commit", put("suite", "commit", "1" * 40)),
                         ("changed sources", put("suite", "dirty", True)),
                         ("another ECC mode", put(*gpu, "ecc", False)),
                         ("--quick", put("quick", True))):
        fleet.put("other", card(FEW, 77, change=change, **slow))
        document = fleet.json()
        status, text, _ = fleet.report()
        check(status == 0 and not odd(document) and len(document["cards"]) == 6 and document["rows"] == clean["rows"] and
              [left["file"] for left in document["left_out"]] == ["other.json"] and "left out" in text and
              "other.json" in text, f"{what} is named and left out", text)

    def another_method(bundle):
        for run in bundle["runs"]:
            if program_of(run) == "memory_latency":
                run["probe"]["method"] += 1

    def other_kernels(bundle):
        for run in bundle["runs"]:
            if program_of(run) == "memory_latency":
                run["cubins"] = {image: "0" * 64 for image in run["cubins"]}
    for what, change in (("another method", another_method), ("other kernels", other_kernels)):
        fleet.put("other", card(FEW, 77, change=change, **slow))
        document = fleet.json()
        rows = odd(document).get("other.json", {})
        check(rows and document["other_code"] > 0 and all(not row.startswith("memory_latency") for row in rows) and
           document["cards"][0]["lacks"] > 0, f"{what}: those rows are left out, and others are judged", str(odd(document)))
    os.unlink(os.path.join(fleet.folder, "other.json"))

    fleet.put("again", card(FEW, 1, change=put("started", "2026-11-23T00:00:00Z")))
    document = fleet.json()
    check(len(document["cards"]) == 6 and sorted(c["files"] for c in document["cards"]) == [1] * 5 + [2],
          "two files of a card are one card", str(document["cards"]))
    for first, last in ((slow, {"noise": 0}), ({"noise": 0}, slow)):
        fleet.put("again", card(FEW, 1, **first)).put("zagain", card(FEW, 1, **last))
        check(not odd(fleet.json()), "of three files of a card the median counts", str(odd(fleet.json())))
    for name in ("again", "zagain"):
        os.unlink(os.path.join(fleet.folder, name + ".json"))

    fleet.put("node3", card(FEW, 4, change=put("environment", "driver", "version", "999.1")))
    text = fleet.report().out
    check("driver: 580.159.04 on 5 cards; 999.1 on node3.json" in " ".join(text.split()), "another driver is named", text)

    def fewer(bundle):
        bundle["runs"] = [run for run in bundle["runs"] if program_of(run) != "barriers"]
    fleet.put("node3", card(FEW, 4, change=fewer))
    text = fleet.report().out
    check("lacks" in text and "node3.json (00000004)" in text and "no card of 6 is odd" in text, "what a card lacks is said", text)


def check_broken(work):
    fleet = Fleet(work, "broken").cards(5, FEW)
    clean = fleet.json()["rows"]
    fleet.put("unended", card(FEW, 9, change=lambda b: b.update(complete=False, why="interrupted in round 3 of 7")))
    fleet.put("nogpu", card(FEW, 9, change=lambda b: b["environment"].pop("gpu")))
    status, text, _ = fleet.report()
    check(status == 0 and "unended.json: interrupted in round 3 of 7" in text and "nogpu.json: no GPU was measured" in text and
          fleet.json()["rows"] == clean, "what is not complete, and what has no GPU, is named and left out", text)
    write_text(os.path.join(fleet.folder, "cut.json"), base(FEW)[:5000])
    write_text(os.path.join(fleet.folder, "empty.json"), "")
    status, text, said = fleet.report()
    check(status == 2 and "cut.json: not valid JSON" in text and "empty.json: empty file" in text and
          "2 files could not be read" in said and said.count("\n") == 1 and "no card of 5" in text,
          "broken files are named, the others are judged, and the exit is 2", text + said)
    nothing = Fleet(work, "nothing")
    check(nothing.report().is_one_line(), "an empty folder: exit 2", nothing.report())
    nothing.put("nogpu", card(FEW, 9, change=lambda b: b["environment"].pop("gpu")))
    status, text, said = nothing.report()
    check(status == 2 and not text and "no GPU was measured" in said, "no bundle of a GPU: exit 2", said)
    for words in (("--section", "memory"), ("--history", "x"), ("--all", "--metric", "x"), ("--metric", "no.such")):
        check(fleet.report(*words).is_one_line(), f"{' '.join(words)}: exit 2", fleet.report(*words))


def main():
    with tempfile.TemporaryDirectory() as work:
        check_planted(work)
        check_small(work)
        check_hundred(work)
        check_false_alarms(work)
        check_mixed(work)
        check_broken(work)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
