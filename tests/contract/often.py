#!/usr/bin/env python3
"""often.py BUILD: how often a case runs, against what rests on it (docs/METHOD.md#runs). On the newest bundle of
each board that holds all programs, a time on which a verdict rests, or which the headline shows, is measured in
every round. Exceptions are listed with their reason; one that no longer is one must go. TAP on stdout."""
import glob
import json
import os
import subprocess
import sys

GPUFLOOR = os.path.join(sys.argv[1], "bin", "gpufloor")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RESTS = "rests on two or three rounds of "
MAP = "an extreme of a map, which two rounds must agree on"
LOST = {"attention_decode": "80d6623"}  # its middle round was cut short until the commit after that of the bundle
VERDICTS = {  # of bundles of this commit, or of any
    "sm_to_sm.dsmem_slowest{size=16}": ("", MAP),
}
HEADLINE = {"capacity, L1", "capacity, L2 partition near the SM", "capacity, L2"}  # of a curve: three rounds
n_tests = 0


def ok(passed, what, detail=""):
    global n_tests
    n_tests += 1
    print(f"{'ok' if passed else 'not ok'} {n_tests} - {what}")
    if not passed and detail:
        print("\n".join("# " + line for line in detail.splitlines()[:20]))


def table(*words):
    run = subprocess.run([GPUFLOOR, *words, "--format", "tsv"], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def programs(path):
    with open(path, encoding="utf-8") as file:
        bundle = json.load(file)
    return len({run["probe"]["name"] for run in bundle["runs"]}), bundle["started"], bundle["suite"]["commit"]


def check(board, path, commit):
    rests = {part.split(RESTS)[1] for row in table("claims", path)
             for part in row["evidence"].split("; ") if part.startswith(RESTS)}
    known = {name for name, (of, _) in VERDICTS.items() if commit.startswith(of)}
    ok(not rests - known, f"{board}: verdicts rest on times of every round", "\n".join(sorted(rests - known)))
    ok(not known - rests, f"{board}: no exception is one no longer", "\n".join(sorted(known - rests)))
    few = {row["metric"].split(".")[0] for row in table("report", path) if row["status"] == "few"}
    lost = {program for program, of in LOST.items() if commit.startswith(of)}
    ok(few == lost, f"{board}: each case ran as often as is declared", "\n".join(sorted(few ^ lost)))
    shown = {row["figure"] for row in table("report", "--section", "vital", path) if row["status"] in ("once", "thrice")}
    ok(shown == HEADLINE, f"{board}: the headline shows figures of every round", "\n".join(sorted(shown ^ HEADLINE)))


def main():
    results = os.path.join(ROOT, "results")
    boards = [d for d in sorted(os.listdir(results)) if d != "schema" and os.path.isdir(os.path.join(results, d))]
    ok(bool(boards), "there are committed results")
    for board in boards:
        n, _, commit, path = max((*programs(path), path) for path in glob.glob(os.path.join(results, board, "*.json")))
        ok(n > 30, f"{board}: a bundle holds all programs ({n})")
        check(board, path, commit)
    print(f"1..{n_tests}")


main()
