#!/usr/bin/env python3
"""compare.py BUILD: `gpufloor compare` on the committed bundles of each board.

1. Bundles of one machine and one commit, measured one after another. No metric that the GPU's
   clocks time may be FASTER or SLOWER between any two of them. Of all metrics, including those that
   the host paces, at most 1 % may be (up to 0.8 % was seen: copies and launches of a virtual
   machine's host in one bundle of three).
2. The same without history. tau contains three times the standard deviation of the committed
   bundles, so a set of three that is itself the history could never move. (The rank test alone
   would let 0.06 % through if runs were independent of their bundle.)
3. One of them against a copy of another in which a tenth of the metrics was made 3 % worse. At
   least 90 % of those must be found, and nothing else that the GPU times. The changed metrics are
   drawn from those that the GPU times and that do not scatter: runs of metrics paced by the host or
   the power limit differ by more than 3 % among themselves.
TAP on stdout."""
import copy
import glob
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

GPUFLOOR = os.path.join(sys.argv[1], "bin", "gpufloor")
SCALE, SHARE, FOUND, FALSE_ALARMS, SCATTER = 1.03, 0.10, 0.90, 0.01, 0.015
FIGURES = ("median", "best", "min", "max", "q1", "q3", "p01", "p99", "p999")
n_tests = 0


def ok(passed, what, detail=""):
    global n_tests
    n_tests += 1
    print(f"{'ok' if passed else 'not ok'} {n_tests} - {what}")
    if not passed and detail:
        print("\n".join("# " + line for line in detail.splitlines()[:20]))


def verdicts(old, new, *options):
    """{metric: verdict} of `gpufloor compare`."""
    run = subprocess.run([GPUFLOOR, "compare", "--format", "tsv", *options, old, new],
                         capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"compare {old} {new}: exit {run.returncode}: {run.stderr}")
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    place = rows[0].index("verdict")
    return {row[0]: row[place] for row in rows[1:]}


def metric_id(probe, case, metric):
    keys = [k for k in (case["case"], "timer=" + metric["timer"] if "timer" in metric else "") if k]
    return f"{probe}.{metric['name']}" + ("{" + ",".join(keys) + "}" if keys else "")


def metrics(bundle):
    for run in bundle["runs"]:
        for case in run["cases"]:
            for metric in case["metrics"]:
                yield metric_id(run["probe"]["name"], case, metric), case, metric


def paced_by_host(name):
    return ("timer=wall" in name or "mode=stream" in name
            or name.startswith(("null.", "host_memory.", "host_link.", "jitter.")))


def eligible(bundle):
    """Metrics measured in every run and timed by the GPU: no counts, no errors of random inputs.
    Their own runs must lie within 1.5 %: if they scatter by 3 %, as at the power limit, 3 % cannot
    be detected."""
    values, skipped = {}, set()
    for name, case, metric in metrics(bundle):
        if (case.get("once") or metric["better"] == "exact" or not metric.get("median")
                or metric["name"].startswith("error") or paced_by_host(name)):
            skipped.add(name)
        values.setdefault(name, []).append(metric.get("median") or 0)
    return sorted(name for name, v in values.items() if len(v) >= 6 and name not in skipped
                  and max(v) - min(v) <= SCATTER * max(v))


def scaled(bundle, names):
    """A copy in which the metrics of these names are 3 % worse."""
    worse = copy.deepcopy(bundle)
    for name, _, metric in metrics(worse):
        if name in names:
            factor = SCALE if metric["better"] == "lower" else 1 / SCALE
            for figure in FIGURES:
                if metric.get(figure) is not None:
                    metric[figure] *= factor
    return worse



def started(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["started"]


def check_board(folder):
    board = os.path.basename(folder)
    paths = sorted(glob.glob(os.path.join(folder, "*.json")))
    ok(len(paths) >= 3, f"{board}: three bundles or more", f"{len(paths)} in {folder}")
    # A set is what one commit measured on one machine, with the same probes: DATE-COMMIT-1.json, -2
    # and so on; with a few probes only, DATE-COMMIT-PROBES-1.json.
    sets = {}
    for path in paths:
        sets.setdefault(path.rsplit("-", 1)[0], []).append(path)
    for old, new in (pair for one in sets.values() for pair in itertools.permutations(one, 2)):
        found = verdicts(old, new)
        moved = [f"{v} {m}" for m, v in found.items() if v in ("FASTER", "SLOWER")]
        by_gpu = [line for line in moved if not paced_by_host(line.split(" ", 1)[1])]
        pair = f"{board}: {os.path.basename(old)} against {os.path.basename(new)}"
        ok(not by_gpu, pair + ": nothing that the GPU times is faster or slower", "\n".join(by_gpu))
        ok(len(moved) <= FALSE_ALARMS * len(found),
           f"{pair}: {len(moved)} of {len(found)} move, the host's included", "\n".join(moved))
        with tempfile.TemporaryDirectory() as nothing:
            found = verdicts(old, new, "--results", nothing)
        moved = [f"{v} {m}" for m, v in found.items() if v in ("FASTER", "SLOWER")]
        ok(len(moved) <= FALSE_ALARMS * len(found),
           f"{pair}: without history, {len(moved)} of {len(found)} move", "\n".join(moved))

    threes = [stem for stem in sets if len(sets[stem]) >= 3]
    newest = sets[max(threes, key=lambda stem: started(sets[stem][0]))]
    old, new = newest[0], newest[-1]
    with open(new, encoding="utf-8") as file:
        bundle = json.load(file)
    names = eligible(bundle)
    chosen = set(random.Random(1).sample(names, max(1, round(SHARE * len(names)))))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scaled(bundle, chosen), file)
        file.flush()
        found = verdicts(old, file.name)
    slower = {m for m, v in found.items() if v == "SLOWER" and not m.startswith("derived.")}
    missed = chosen - slower
    ok(len(missed) <= (1 - FOUND) * len(chosen),
       f"{board}: {len(chosen) - len(missed)} of {len(chosen)} metrics made 3 % worse are found",
       "\n".join(f"{found.get(m)} {m}" for m in sorted(missed)))
    other = {m for m in slower - chosen if not paced_by_host(m)}
    ok(not other, f"{board}: and no other that the GPU times", "\n".join(sorted(other)))


def main():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    boards = [d for d in sorted(glob.glob(os.path.join(root, "results", "*")))
              if os.path.isdir(d) and os.path.basename(d) != "schema"]
    ok(bool(boards), "there are committed results")
    for board in boards:
        check_board(board)
    print(f"1..{n_tests}")


main()
