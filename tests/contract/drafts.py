#!/usr/bin/env python3
"""drafts.py BUILD: no claim is judged by a draft. A program says in its run document that it is one. Each board's
committed results are read as one bundle, and programs of it are called drafts: all, and on the board with the most
claims half, in as many ways as tell any two programs apart. Then the ledger says what it says of the bundle
without these programs, and where it decides no more, that a draft measured it. Nothing is derived of their rows.
Counters documents of drafts count for nothing, too. The committed bundles hold no program that is a draft here, and
does not say so. The last line counts the tests."""
import glob
import json
import os
import sys
import tempfile

from common import (BUILD, Ended, FOLDERS, H200, board_folders, boards_of_one, check, finish, of_programs, program_of, read, read_text, skip,
                    told, write)
from doctored import read_as_one

WHY = "it is not proved"
OF_DERIVED = {"C80"}  # takes nothing but derived rows: of these drafts have none


def drafts(bundle, programs):
    """The bundle, in which these programs are drafts; the runs are the bundle's but for that word."""
    runs = [dict(run, probe=dict(run["probe"], draft=WHY)) if program_of(run) in programs else run
            for run in bundle["runs"]]
    return dict(bundle, runs=runs)


def ledger(folder, bundle, *words):
    path = write(os.path.join(folder, "bundle.json"), bundle)
    return {c["id"]: c for c in json.loads(told("claims", "--format=json", *words, path))["claims"]}


def verdicts(claims):
    return {name: c["verdict"] for name, c in claims.items()}


def decided(claims):
    return {name for name, c in claims.items() if c["verdict"] in ("REPRODUCED", "REFUTED", "MIXED")}


def halves(programs):
    """Sets of programs: of any two programs, one set holds only one."""
    programs = sorted(programs)
    for bit in range((len(programs) - 1).bit_length()):
        yield {name for i, name in enumerate(programs) if (i >> bit) & 1 != bit & 1}


def differ(own, other):
    """Ids whose verdicts differ."""
    return sorted(name for name in own if own[name] != other[name])


def derived(folder, bundle):
    path = write(os.path.join(folder, "bundle.json"), bundle)
    rows = [line.split("\t") for line in told("report", "--format=tsv", path).splitlines()]
    return {row[0] for row in rows if row[0].startswith("derived.") and row[2] != "-"}


def check_board(board, folder, work):
    bundle = read_as_one(folder)
    programs = {program_of(run) for run in bundle["runs"]}
    whole = ledger(work, bundle)
    none = ledger(work, drafts(bundle, programs))
    check(decided(whole) and not decided(none), f"{board}: drafts alone decide nothing", sorted(decided(none)))
    other = {name for name in decided(whole) if none[name]["why"]["class"] != "draft" or WHY not in
             none[name]["why"]["what"]}
    check(other <= OF_DERIVED, f"{board}: and that is why", sorted(other))
    check(derived(work, bundle) and not derived(work, drafts(bundle, programs)), f"{board}: nothing is derived of drafts")
    for i, half in enumerate(halves(programs) if os.path.samefile(folder, H200) else []):
        own, without = ledger(work, drafts(bundle, half)), ledger(work, of_programs(bundle, programs - half))
        check(not differ(verdicts(own), verdicts(without)), f"{board}: as without drafts, half {i}",
              differ(verdicts(own), verdicts(without)))
        check(differ(verdicts(whole), verdicts(without)), f"{board}: half {i} would decide something")


def check_counters(work):
    """A claim by counters, where the document of these says that the program was a draft."""
    for board, folder in boards_of_one():
        files = sorted(glob.glob(os.path.join(folder, "counters", "*.json")))
        if not files:
            continue
        bundle = read_as_one(folder)
        alone = ledger(work, bundle)
        words = [f"--counters={path}" for path in files]
        counted = ledger(work, bundle, *words)
        for i, path in enumerate(files):
            document = read(path)
            for probe in document["probes"]:
                probe["timed"]["probe"]["draft"] = WHY
            words[i] = "--counters=" + write(os.path.join(work, f"counters{i}.json"), document)
        by_drafts = ledger(work, bundle, *words)
        check(decided(counted) - decided(alone), f"{board}: counters decide something")
        check(not decided(by_drafts) - decided(alone), f"{board}: of drafts they decide nothing",
              sorted(decided(by_drafts) - decided(alone)))


def check_committed():
    listed = [json.loads(Ended("--list", "--json", program=path).out) for folder in FOLDERS
              for path in sorted(glob.glob(os.path.join(BUILD, "bin", folder, "*"))) if os.access(path, os.X_OK)]
    here = {one["name"] for one in listed if "draft" in one}
    if "memory_latency" not in {one["name"] for one in listed}:
        skip("drafts of the tree", "no GPU probes are built")
        return
    if not here:
        skip("drafts of the tree", "there are none")
        return
    for board, folder in board_folders():
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            held = {program_of(run) for run in read(path)["runs"] if "draft" not in run["probe"]}
            check(not held & here, f"{board}/{os.path.basename(path)}: no draft that does not say so", sorted(held & here))
    for one in listed:
        if "draft" not in one:
            continue
        path = next(p for f in FOLDERS for p in glob.glob(os.path.join(BUILD, "bin", f, one["name"])))
        said = json.loads(Ended("--json", program=path).out)
        check(said["probe"].get("draft") == one["draft"], f"{one['name']}: its run says that it is a draft")
        break


def main():
    with tempfile.TemporaryDirectory() as work:
        for board, folder in boards_of_one():
            check_board(board, folder, work)
        check_counters(work)
    check_committed()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
