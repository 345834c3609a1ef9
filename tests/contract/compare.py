#!/usr/bin/env python3
"""compare.py BUILD: what `gpufloor compare` finds, and does not, on the committed bundles of each board.

A set is what one card gave at one commit, bundle after bundle: DATE-COMMIT-1.json, -2 and so on.

Nothing changed: over all pairs within sets, at most 0.3 % of the rows are FASTER, SLOWER, BETTER or WORSE, with the
board's history and without. What is no time, no cycles and no rate is never FASTER or SLOWER. What draws more power, or
errs more, is WORSE, and exit 0 without --worse or --strict. Something changed: a bundle whose times are all 3 % worse, half of them, one
of them; all twice as slow. The bundle lies in the folder of results, or elsewhere; there is a history, or
none. All twice as slow, a row need not be found of which either bundle has one run only, or whose runs scatter by
more than that. Bundles of several GPUs at one commit are of other cards: there at most 1 % of the rows move, and
rows whose runs scatter by a quarter need not be found either. What the host's clock times (timer=wall, copy_rate) is
left out of the shares, since it does not scatter by less than 3 %."""
import collections
import glob
import itertools
import json
import math
import os
import random
import shutil
import sys
import tempfile

from common import (Ended, RESULTS, board_folders, boards_of_one, check, finish, metrics_of, program_of, read, rows_of,
                    scaled, told, write)

FALSE_ALARMS = 0.003
OF_CARDS = 0.01  # the same between cards
FOUND = {"seven": 0.85, "few": 0.60}  # of rows with six runs and more; of those with fewer
ROWS_LEAST, ROWS_LEAST_SEVERAL = 1850, 750  # that are timed in a bundle of all programs, and in one of several GPUs
ONCE = 0.02  # of the rows may have one run in the older bundle, and more in the newer
SCATTER, SCATTER_SHARE = 1.25, 0.01  # runs of two cards so far apart, and of how many rows they may be; of one card by 2
BY_HOST = ("host_link.copy_rate",)  # by the host's clock, though no timer is named
LINKS = ("all_reduce", "layer", "peer_memory", "signal")  # programs of several GPUs


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
        is_host = metric.get("timer") == "wall" or name.startswith(BY_HOST)
        if is_time and not is_host and metric.get("median") and not case.get("discarded"):
            runs[name] += 1
    return runs


def worse(bundle, names, factor):
    """A copy in which the metrics of these names are worse by a factor."""
    return scaled(bundle, lambda run, case, metric: 1 if metric_id(run, case, metric) not in names else
                  factor if metric["better"] == "lower" else 1 / factor)


def moved(verdicts):
    return {name for name, verdict in verdicts.items() if verdict in ("FASTER", "SLOWER", "BETTER", "WORSE")}


def scattered(old, new, by):
    """Rows whose runs of both bundles lie further apart than that."""
    values = collections.defaultdict(list)
    for run, case, metric in itertools.chain(metrics_of(old), metrics_of(new)):
        if metric.get("median"):
            values[metric_id(run, case, metric)].append(metric["median"])
    return {name for name, of in values.items() if max(of) > by * min(of)}


def same_is_same(board, sets, limit, *options):
    rows, found = 0, []
    for one in sets.values():
        for old, new in itertools.combinations(one, 2):
            verdicts, _ = compare(old, new, *options)
            rows += len(verdicts)
            found += [f"{verdicts[m]} {m} ({os.path.basename(new)})" for m in sorted(moved(verdicts))]
    history = "without history" if options else "with history"
    check(rows > 0 and len(found) <= limit * rows,
          f"{board}: {len(found)} of {rows} rows move between bundles of one commit, {history}", "\n".join(found))


def shares_found(what, planted, verdicts, runs):
    for kind, least in FOUND.items():
        names = {m for m in planted if (runs[m] >= 6) == (kind == "seven") and runs[m] >= 2}
        found = {m for m in names if verdicts.get(m) == "SLOWER"}
        if names:
            check(len(found) >= least * len(names), f"{what}: {len(found)} of {len(names)} rows of {kind} "
                  f"runs are found", "\n".join(f"{verdicts.get(m)} {m}" for m in sorted(names - found)))


def check_planted(board, old, new, rows_least=ROWS_LEAST, spared=()):
    bundle, older = read(new), read(old)
    runs, before = timed(bundle), timed(older)
    wild = scattered(older, bundle, 2) & set(runs)
    check(len(wild) <= SCATTER_SHARE * len(runs), f"{board}: {len(wild)} rows scatter by more than 2", sorted(wild))
    check(len(runs) >= rows_least, f"{board}: {len(runs)} rows are timed, and not by the host's clock")
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

        once = [m for m in sorted(runs) if before[m] == 1 < runs[m]]
        check(len(once) <= ONCE * len(runs), f"{board}: {len(once)} rows have one run in the older bundle only", once)
        twice = plant(set(runs), 2)
        for where, options in (("with history", ()), ("without history", ("--results", empty))):
            verdicts, status = compare(old, twice, *options)
            missed = [f"{verdicts[m]} {m}" for m in sorted(runs)
                      if min(runs[m], before[m]) >= 2 and m not in wild.union(spared) and
                      verdicts.get(m) not in (None, "SLOWER", "GONE", "NEW")]
            check(status == 1 and not missed, f"{board}: all twice as slow, {where}: each is SLOWER",
                  "\n".join(missed))


def check_only_changed(board, old, new):
    """What --only-changed leaves out, of a pair that has rows of both kinds."""
    whole = dict(compare(old, new)[0])
    check({"SAME", "UNSURE"} <= set(whole.values()), f"{board}: two runs have rows of both kinds")
    for strict, left_out in (((), {"SAME", "UNSURE"}), (("--strict",), {"SAME"})):
        shown = dict(compare(old, new, "--only-changed", *strict)[0])
        check(shown == {metric: word for metric, word in whole.items() if word not in left_out},
              f"{board}: --only-changed {' '.join(strict)} leaves out {', '.join(sorted(left_out))}")


def check_words(board, path):
    """A bundle against itself, of which some metrics are 20 % worse, or 0: by what word, and with what exit status."""
    bundle = read(path)
    is_worse = lambda run, case, metric: metric.get("better") in ("lower", "higher")
    is_error = lambda run, case, metric: is_worse(run, case, metric) and "error" in metric["name"]
    is_drawn = lambda run, case, metric: metric["unit"] in ("watts", "joules")
    is_share = lambda run, case, metric: metric["unit"] == "ratio" and metric["name"].startswith("share_of_") and \
        program_of(run) == "norm"
    is_time = lambda run, case, metric: (program_of(run), metric["name"]) == ("memory_latency", "load_time")
    is_caught = lambda run, case, metric: metric["name"] == "caught"
    kinds = (("power", is_drawn, 1.2, "WORSE", [0, 1, 1]), ("errors", is_error, 1.2, "WORSE", [0, 1, 1]),
             ("shares of a copy", is_share, 1.2, "WORSE", [1, 1, 1]), ("times", is_time, 1.2, "SLOWER", [1, 1, 1]),
             ("verifiers that catch nothing", is_caught, math.inf, "WORSE", [1, 1, 1]))
    for kind, of, by, word, statuses in kinds:
        changed = scaled(bundle, lambda run, case, metric: 1 if not of(run, case, metric) else
                         by if metric["better"] == "lower" else 1 / by)
        names = {metric_id(run, case, metric) for run, case, metric in metrics_of(bundle) if of(run, case, metric)}
        with tempfile.TemporaryDirectory() as folder:
            other = write(os.path.join(folder, "other.json"), changed)
            found = [compare(path, other, *options) for options in ((), ("--worse",), ("--strict",))]
        verdicts = [found[0][0].get(name) for name in sorted(names)]
        check(word in verdicts and not {"FASTER", "SLOWER", "BETTER", "WORSE"} & set(verdicts) - {word} and
              [status for _, status in found] == statuses, f"{board}: worse {kind} are {word}, exit {statuses}",
              f"{collections.Counter(verdicts)}, exit {[status for _, status in found]}")


def check_several(board, old, new):
    """Bundles of several GPUs: what is found in them, and what they are said to differ in."""
    first, second = read(old), read(new)
    spared = scattered(first, second, SCATTER)
    runs = timed(second)
    wild = spared & set(runs)
    check(len(wild) <= SCATTER_SHARE * len(runs), f"{board}: {len(wild)} rows scatter", sorted(wild))
    check_planted(board, old, new, ROWS_LEAST_SEVERAL, spared)
    verdicts, _ = compare(old, new)
    for program in LINKS:
        of = [verdict for name, verdict in verdicts.items() if name.startswith(program + ".")]
        judged = [verdict for verdict in of if verdict in ("SAME", "FASTER", "SLOWER")]
        check(of and len(judged) >= len(of) / 3, f"{board}: {program}: {len(judged)} of {len(of)} rows are judged", of)

    def differs(change):
        other = json.loads(json.dumps(second))
        change(other["environment"])
        with tempfile.TemporaryDirectory() as folder:
            path = write(os.path.join(folder, "other.json"), other)
            return json.loads(told("compare", "--format", "json", new, path))["conditions"]["differs"]

    def one_down(environment):
        links = environment["links"]["nvlinks"][1]
        links.update(up=links["up"] - 1, rates=links["rates"][1:])

    of = [gpu["id_hash"] for gpu in second["environment"]["gpus"]]
    found = differs(lambda environment: environment["gpus"][-1].update(id_hash="0" * 16))
    check(found == {"card": ["+".join(of), "+".join([*of[:-1], "0" * 16])]},
          f"{board}: another card beside the first", found)
    for hash_of, n in (("0" * 16, 2), (of[-1], 1)):
        with tempfile.TemporaryDirectory() as folder:
            other = json.loads(json.dumps(second))
            other["environment"]["gpus"][-1]["id_hash"] = hash_of
            for name, bundle in (("a", second), ("b", other)):
                write(os.path.join(folder, name + ".json"), bundle)
            cards = json.loads(told("report", "--fleet", folder, "--format", "json"))["cards"]
            check(len(cards) == n, f"{board}: of a fleet they are cards of their own: {n}", cards)
    found = differs(one_down)
    check(found == {"links": ["18+18 NVLinks, 478.1 GB/s", "18+17 NVLinks, 451.6 GB/s"]},
          f"{board}: a link that is down", found)
    check(not differs(lambda environment: None), f"{board}: and nothing else")


def main():
    check(boards_of_one(), "there are committed results")
    n_judged, n_several = 0, 0
    for board, folder in board_folders():
        has_several = (board, folder) not in boards_of_one()
        sets = collections.defaultdict(list)
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            sets[path.rsplit("-", 1)[0]].append(path)
        if all(len(one) < 2 for one in sets.values()):
            print(f"# {board}: no two bundles of one card and commit")
            continue
        n_judged += not has_several
        n_several += has_several
        with tempfile.TemporaryDirectory() as nothing:
            limit = OF_CARDS if has_several else FALSE_ALARMS
            same_is_same(board, sets, limit)
            same_is_same(board, sets, limit, "--results", nothing)
        largest = max(sets.values(), key=lambda one: (len(one) > 1, os.path.getsize(one[0])))
        (check_several if has_several else check_planted)(board, largest[0], largest[-1])
        if not has_several:
            check_only_changed(board, largest[0], largest[-1])
            check_words(board, largest[-1])
    check(n_judged > 0, f"boards with two bundles of one card and commit: {n_judged}")
    check(n_several > 0, f"boards of several GPUs with two bundles of one commit: {n_several}")
    return finish()


sys.exit(main())
