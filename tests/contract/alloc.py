#!/usr/bin/env python3
"""alloc.py BUILD [POINTS]: an allocation that fails, anywhere in gpufloor or in the C library beneath it, ends the
command in one line with exit 2 and nothing on stdout, or does no harm: then all that is printed and written is
the same to the byte. Of each command POINTS allocations fail (30; `make test-long`: 600), one a process: the
first half of them in turn, then every k-th. A run whose memory ends keeps the rounds that are on disk.
Environment: CC."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

from common import GOLDEN, ROOT, check, check_none, count, finish, plant_tree, preloaded, read_text

POINTS = int(sys.argv[2]) if len(sys.argv) > 2 else 30
LINE = b"gpufloor: out of memory\n"


def files_of(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**"), recursive=True)):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def told(work, arguments, at=0, count=None):
    """Exit status, stdout, stderr and files of one command whose allocation number `at` fails. (A path in LD_PRELOAD
    ends at a space: it is one that depends on the folder.)"""
    out = os.path.join(work, "out")
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    env = {**os.environ, "LD_PRELOAD": "../fail.so", "ALLOC_FAIL": str(at)}
    if count:
        env["ALLOC_COUNT"] = count
    ran = subprocess.run([os.path.join(work, "bin", "gpufloor"), *arguments], env=env, cwd=out, capture_output=True,
                         stdin=subprocess.DEVNULL, timeout=60, check=False)
    return ran.returncode, ran.stdout, ran.stderr, files_of(out)


def points_of(n):
    first = min(n, POINTS // 2)
    step = max(1, (n - first) // max(1, POINTS - first))
    return [*range(1, first + 1), *range(first + 1, n + 1, step)]


def is_harmless(got, whole):
    """It ended in one line, or did what it does undisturbed. A file that is left is whole, or empty."""
    if got == whole:
        return True
    status, out, err, files = got
    if status != 2 or out or not err.endswith(LINE) or not whole[2].startswith(err[:-len(LINE)]):
        return False
    return all(not text or text == whole[3].get(name) for name, text in files.items())


def fail_each(work, name, *arguments):
    count = os.path.join(work, "count")
    whole = told(work, arguments, count=count)
    n = int(read_text(count))
    wrong = []
    for at in points_of(n):
        got = told(work, arguments, at)
        if not is_harmless(got, whole):
            wrong.append(f"allocation {at} of {n}: exit {got[0]}, {len(got[1])} bytes (whole: exit {whole[0]}, "
                         f"{len(whole[1])}), {got[2][:120]}")
    check_none(wrong, name)


def fail_run(work):
    """A run of two rounds, by a program that stands in for a probe."""
    arguments = ("run", "--seed=1", "--rounds=2", "--output=one.json", f"--results={work}/none")
    count = os.path.join(work, "count")
    whole = told(work, arguments, count=count)
    check(whole[0] == 0 and "one.json" in whole[3], "run: it measures", whole[:3])
    n = int(read_text(count))
    wrong, kept = [], 0
    for at in points_of(n)[::max(1, POINTS // 15)] + [n * 7 // 10, n * 8 // 10, n * 9 // 10]:
        status, _, err, files = told(work, arguments, at)
        text = files.get("one.json", b"")
        if status not in (0, 2) or (status == 2 and err.count(LINE) != 1):
            wrong.append(f"allocation {at} of {n}: exit {status}, {err[-200:]}")
        if text:
            kept += len(json.loads(text)["runs"]) > 0
    check_none(wrong, "run: it ends in one line, and what is on disk is a bundle")
    check(kept, "run: rounds that were measured are kept", "none is")


def main():
    with tempfile.TemporaryDirectory(prefix="gpufloor alloc ") as work:
        plant_tree(os.path.join(work, "bin"), stand_ins=("null", "good"))
        os.mkdir(os.path.join(work, "none"))
        preloaded(work, os.path.join(ROOT, "tests", "alloc", "fail.c"))
        small, new = (os.path.join(GOLDEN, name) for name in ("small.json", "small_new.json"))
        results = f"--results={work}/none"
        fail_each(work, "report", "report", results, small)
        fail_each(work, "report --all", "report", "--all", results, small)
        fail_each(work, "report --format=json", "report", "--format=json", results, small)
        fail_each(work, "report: two", "report", results, small, new)
        fail_each(work, "compare", "compare", results, small, new)
        fail_each(work, "claims", "claims", small)
        fail_each(work, "claims --format=json", "claims", "--format=json", small)
        fail_each(work, "page", "report", results, "--html=page.html", small)
        fail_each(work, "page: two", "report", results, "--html=page.html", small, new)
        fail_each(work, "tex", "report", results, "--tex=tex", "--plots=plots", small)
        fail_each(work, "list", "list")
        fail_run(work)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
