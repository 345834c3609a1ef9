#!/usr/bin/env python3
"""form.py BUILD: each metric of a committed bundle says its own unit and direction, or its run says them once
by the metric's name: every command prints the same. With figures of seven digits, as programs write them, no
verdict is another one. Where neither says a unit, the bundle is refused in one line."""
import copy
import os
import sys
import tempfile

from common import (Ended, FIGURES, WORDS, board_folders, boards_of_one, check, check_follows, check_none, finish, metrics_of,
                    newest_whole, of_programs, read, rows_of, spread, told, write)

COMMANDS = (("report",), ("report", "--all"), ("report", "--format=json"), ("report", "--all", "--format=tsv"),
            ("floor",), ("report", "--quality"))
OF_ONE = (("claims",), ("claims", "--format=tsv"))  # no claim is judged by runs of several GPUs


def said_once(bundle):
    """A copy in which each run says them, and a metric only where it differs."""
    bundle = copy.deepcopy(bundle)
    for run, _, metric in metrics_of(bundle):
        words = {key: metric[key] for key in WORDS}
        if run.setdefault("metrics", {}).setdefault(metric["name"], words) == words:
            for key in WORDS:
                del metric[key]
    return bundle


def in_seven_digits(bundle):
    bundle = copy.deepcopy(bundle)
    for _, _, metric in metrics_of(bundle):
        for one in (metric, *metric.get("sides", ())):
            for key in {*FIGURES, "resolution"} & one.keys():
                if isinstance(one[key], float):
                    one[key] = int(one[key]) if one[key].is_integer() else float(f"{one[key]:.7g}")
    return bundle


def verdicts(path):
    return [(row["id"], row["verdict"]) for row in rows_of(told("claims", "--format=tsv", path))]


def refused(bundle, work):
    """Neither the metric nor its run says it."""
    few = of_programs(bundle, ("spin", "null"))
    for key, said in zip(WORDS, ("has the unknown unit '(none)'", '"better" must be lower, higher or exact')):
        spoilt = said_once(few)
        run, _, metric = next(metrics_of(spoilt))
        del run["metrics"][metric["name"]][key]
        ended = Ended("report", write(os.path.join(work, "refused.json"), spoilt))
        check(ended.is_one_line() and f"metric {metric['name']}" in ended.err and said in ended.err,
              f"a metric without \"{key}\" is refused", ended)


def main():
    with tempfile.TemporaryDirectory(prefix="gpufloor form ") as work:
        for board, folder in board_folders():
            each = read(newest_whole(folder))
            once, path = said_once(each), os.path.join(work, "bundle.json")
            check(spread(copy.deepcopy(once)) == each != once, f"{board}: the two forms differ, and hold the same")
            check_follows("bundle", once, f"{board}: said once")
            is_one = (board, folder) in boards_of_one()
            commands = COMMANDS + (OF_ONE if is_one else ())
            printed = []
            for bundle in (each, once):
                write(path, bundle)
                printed.append([told(*words, path) for words in commands])
            for words, old, new in zip(commands, *printed):
                check(len(old) > 1000 and old == new, f"{board}: {' '.join(words)} is the same in both forms")
            if not is_one:
                continue
            sound = verdicts(path)
            short = verdicts(write(path, in_seven_digits(once)))
            check_none([f"{old} {new}" for old, new in zip(sound, short) if old != new],
                       f"{board}: seven digits change no verdict")
        refused(each, work)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
