#!/usr/bin/env python3
"""compare.py BUILD: what `gpufloor compare` finds, and does not, on the committed bundles of each board.

A set is what one card gave at one commit, bundle after bundle: DATE-COMMIT-1.json, -2 and so on.

Nothing changed: over all pairs within sets, at most 0.3 % of the rows are FASTER or SLOWER, with the
board's history and without. Something changed: a bundle whose times are all 3 % worse, half of them, one
of them; all twice as slow. The bundle lies in the folder of results, or elsewhere; there is a history, or
none. What the host's clock times (timer=wall) is left out of the shares, since it does not scatter by
less than 3 %."""
import collections
import glob
import itertools
import os
import random
import shutil
import sys
import tempfile

from common import (Ended, RESULTS, boards_of_one, check, finish, metrics_of, program_of, read, rows_of, scaled,
                    write)

FALSE_ALARMS = 0.003
FOUND = {"seven": 0.85, "few": 0.60}  # of rows with six runs and more; of those with fewer
ROWS_LEAST = 1850  # that are timed in a bundle of all programs


def compare(old, new, *options):
    """({metric: verdict}, exit status) of `gpufloor compare`."""
    ended = Ended("compare", "--format", "tsv", *options, old, new)
    if ended.code not in (0, 1):
        sys.exit(f"compare {old} {new}: {ended}")
    return {row["metric"]: row["verdict"] for row in rows_of(ended.out)}, ended.code


def metric_id(run, case, metric):
    keys = [k for k in (case["case"], "timer=" + metric["timer"] if "timer" in metric else "") if k]
    return f"{program_of(run)}.{metric['name']}" + ("{" + ",".join(keys) + "}" if keys else "")


def timed(bundle):
    """{id: runs} of times, cycles and rates, all but what the host's clock times."""
    runs = collections.Counter()
    for run, case, metric in metrics_of(bundle):
        name = metric_id(run, case, metric)
        is_time = metric["unit"] in ("ns", "cycles") or metric["unit"].endswith(("/s", "/cycle"))
        if is_time and metric.get("timer") != "wall" and metric.get("median") and not case.get("discarded"):
            runs[name] += 1
    return runs


def worse(bundle, names, factor):
    """A copy in which the metrics of these names are worse by a factor."""
    return scaled(bundle, lambda run, case, metric: 1 if metric_id(run, case, metric) not in names else
                  factor if metric["better"] == "lower" else 1 / factor)


def moved(verdicts):
    return {name for name, verdict in verdicts.items() if verdict in ("FASTER", "SLOWER")}


def same_is_same(board, sets, *options):
    rows, found = 0, []
    for one in sets.values():
        for old, new in itertools.combinations(one, 2):
            verdicts, _ = compare(old, new, *options)
            rows += len(verdicts)
            found += [f"{verdicts[m]} {m} ({os.path.basename(new)})" for m in sorted(moved(verdicts))]
    history = "without history" if options else "with history"
    check(rows > 0 and len(found) <= FALSE_ALARMS * rows,
          f"{board}: {len(found)} of {rows} rows move between bundles of a set, {history}", "\n".join(found))


def shares_found(what, planted, verdicts, runs):
    for kind, least in FOUND.items():
        names = {m for m in planted if (runs[m] >= 6) == (kind == "seven") and runs[m] >= 2}
        found = {m for m in names if verdicts.get(m) == "SLOWER"}
        if names:
            check(len(found) >= least * len(names), f"{what}: {len(found)} of {len(names)} rows of {kind} "
                  f"runs are found", "\n".join(f"{verdicts.get(m)} {m}" for m in sorted(names - found)))


def check_planted(board, old, new):
    bundle = read(new)
    runs = timed(bundle)
    check(len(runs) >= ROWS_LEAST, f"{board}: {len(runs)} rows are timed, and not by the host's clock")
    half = set(random.Random(1).sample(sorted(runs), len(runs) // 2))
    quiet, _ = compare(old, new)
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = os.path.join(folder, "planted.json")
        empty = os.path.join(folder, "empty")
        inside = os.path.join(folder, "results", board)
        os.mkdir(empty)
        shutil.copytree(os.path.join(RESULTS, board), inside)

        def plant(names, factor, path=elsewhere):
            return write(path, worse(bundle, names, factor))

        plant(set(runs), 1.03)
        for where, options in (("with history", ()), ("without history", ("--results", empty))):
            verdicts, status = compare(old, elsewhere, *options)
            shares_found(f"{board}: all 3 % worse, {where}", set(runs), verdicts, runs)
            check(status == 1, f"{board}: all 3 % worse, {where}: exit 1")
        # In the place of the bundle that it was made of, in the folder of results.
        path = plant(set(runs), 1.03, os.path.join(inside, os.path.basename(new)))
        verdicts, _ = compare(os.path.join(inside, os.path.basename(old)), path, "--results",
                              os.path.join(folder, "results"))
        shares_found(f"{board}: all 3 % worse, in the folder of results", set(runs), verdicts, runs)

        verdicts, _ = compare(old, plant(half, 1.03))
        shares_found(f"{board}: half of them 3 % worse", half, verdicts, runs)
        others = {m for m in moved(verdicts) - half - moved(quiet) if not m.startswith("derived.")}
        shared = {m for m in others if "share" in m or "gain" in m}  # formed of what was planted
        check(not others - shared, f"{board}: and nothing else", "\n".join(sorted(others - shared)))

        one = next(m for m in sorted(half) if verdicts.get(m) == "SLOWER")
        verdicts, status = compare(old, plant({one}, 1.03))
        found = {m for m in moved(verdicts) - moved(quiet) if not m.startswith("derived.")}
        check(found == {one} and status == 1, f"{board}: one of them 3 % worse", f"{one}\n{found}")

        twice = plant(set(runs), 2)
        for where, options in (("with history", ()), ("without history", ("--results", empty))):
            verdicts, status = compare(old, twice, *options)
            missed = [f"{verdicts[m]} {m}" for m in sorted(runs)
                      if runs[m] >= 2 and verdicts.get(m) not in (None, "SLOWER", "GONE", "NEW")]
            check(status == 1 and not missed, f"{board}: all twice as slow, {where}: each is SLOWER",
                  "\n".join(missed))


def main():
    check(boards_of_one(), "there are committed results")
    n_judged = 0
    for board, folder in boards_of_one():
        sets = collections.defaultdict(list)
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            sets[path.rsplit("-", 1)[0]].append(path)
        if all(len(one) < 2 for one in sets.values()):
            print(f"# {board}: no two bundles of one card and commit")
            continue
        n_judged += 1
        with tempfile.TemporaryDirectory() as nothing:
            same_is_same(board, sets)
            same_is_same(board, sets, "--results", nothing)
        largest = max(sets.values(), key=lambda one: (len(one) > 1, os.path.getsize(one[0])))
        check_planted(board, largest[0], largest[-1])
    check(n_judged > 0, f"boards with two bundles of one card and commit: {n_judged}")
    return finish()


sys.exit(main())
