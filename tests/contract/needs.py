#!/usr/bin/env python3
"""needs.py BUILD: every metric id that the report knows by name (`gpufloor claims --needs`) is one
that a program announces (`--list --json`): its metric, and its keys in their order.

The test compares the name as a glob, and the keys without their values, which --list does not give.
Where a need leaves keys out ("*"), any keys may be there; where it leaves none out it must name all
of them. A counted figure, "FIGURE of ID", needs the ID.
Exceptions: a derived figure whose keys are described in words ("keys of the time") is
compared by its name alone. For a program whose cases leave out keys that do not apply to them
(LEAVE_OUT), a need may leave out any key; so may the globs in HIDES. Programs that are not built
here because there is no CUDA toolkit are skipped and named. For each need, a modified list shows
that a renamed metric or key is noticed."""
import fnmatch
import glob
import json
import os
import re
import sys

from common import BUILD, Ended, FOLDERS, GPUFLOOR, H200, ROOT, UNITS, check, finish, skip, told

WORDS = ["*"]  # keys that are described in words
HIDES = ("gemv.read{bytes=*,l2=cold}",)  # globs whose "*" for a value covers further keys, too
LEAVE_OUT = ("instructions",)  # programs whose cases leave out keys that do not apply to them


def run(program, *words):
    ended = Ended(*words, program=program, seconds=60, CUDA_VISIBLE_DEVICES="", LC_ALL="C")
    return ended.out if ended.code == 0 else ""


# --- what programs announce -------------------------------------------------------------------------------

def keys_of(metric):
    """["rows", "cols", ..., "timer"], or WORDS."""
    keys = [re.sub(r"=.*", "", key) for key in metric["keys"].split(",") if key]
    if any(" " in key for key in keys):
        return WORDS
    return keys + (["timer"] if metric.get("timer") else [])


def lists():
    """{program: [(metric, unit, keys)]}, and the programs of the tree that cannot be asked here."""
    listed, absent = {}, set()
    paths = [(os.path.basename(path[:-1]), [os.path.join(BUILD, "bin", os.path.relpath(path[:-1], ROOT))])
             for folder in FOLDERS for path in sorted(glob.glob(os.path.join(ROOT, folder, "*", "")))
             if os.path.basename(path[:-1]) != "common"]
    paths += [(os.path.basename(path)[:-3], [sys.executable, path])
              for path in sorted(glob.glob(os.path.join(ROOT, "baselines", "*.py"))) if os.access(path, os.X_OK)]
    for name, words in paths:
        if not os.path.exists(words[-1]):
            absent.add(name)
            continue
        out = run(*words, "--list", "--json")
        if check(out, f"{name} --list --json"):
            listed[name] = [(m["name"], m["unit"], keys_of(m)) for m in json.loads(out)["metrics"]]
    derived = json.loads(run(GPUFLOOR, "list", "--json", "derived"))["derived"]["metrics"]
    listed["derived"] = [(m["name"].replace("derived.", ""), m["unit"], keys_of(m)) for m in derived]
    return listed, absent


# --- what the report needs ----------------------------------------------------------------------------------

def pattern_of(need):
    """("program glob", "metric glob", glob of keys): '{rows=1,*impl=*,l2=cold*' is 'rows=,*impl=,l2=*'."""
    name, _, keys = need.partition("{")
    program, _, metric = name.partition(".")
    closed = keys.endswith("}")
    parts = keys[:-1].split(",") if closed else keys.split(",") if keys else []
    pattern = []
    for i, part in enumerate(parts):
        key, equals, value = part.partition("=")
        is_open = i + 1 == len(parts) and value.endswith("*") and not (closed and value == "*")
        pattern.append(f"{key}=" + ("*" if is_open else "") if equals else "*")
    return program, metric, ",".join(pattern)


def keys_named(need):
    return [key.lstrip("*") for key in re.findall(r"[{,]([*a-z0-9_]+)=", need)]


def agrees(program, need, keys):
    if program in LEAVE_OUT or need in HIDES:
        rest = iter(keys)
        return all(key in rest for key in keys_named(need))
    return keys is WORDS or fnmatch.fnmatchcase(",".join(key + "=" for key in keys), pattern_of(need)[2])


def is_met(need, listed):
    program, metric, _ = pattern_of(need)
    return any(fnmatch.fnmatchcase(name, program) and fnmatch.fnmatchcase(m, metric) and unit in UNITS and
               agrees(name, need, keys)
               for name, metrics in listed.items() for m, unit, keys in metrics)


# --- lists with one thing changed -----------------------------------------------------------------------------

def doctored(listed, need, change):
    """The same lists, with every metric that the need covers changed."""
    program, metric, _ = pattern_of(need)
    return {name: [change(*m) if fnmatch.fnmatchcase(name, program) and fnmatch.fnmatchcase(m[0], metric)
                   else m for m in metrics]
            for name, metrics in listed.items()}


def renamed(old):
    return lambda m, unit, keys: (m, unit, keys if keys is WORDS else
                                  ["another" if key == old else key for key in keys])


def swapped(one, other):
    exchange = {one: other, other: one}
    return lambda m, unit, keys: (m, unit, keys if keys is WORDS else [exchange.get(key, key) for key in keys])


def check_doctored(need, who, listed):
    """Is a change of its metric, of one of its keys, of their order, or of its unit noticed?"""
    _, metric, _ = pattern_of(need)
    keys = keys_named(need)
    told = not any(k is WORDS for name, metrics in listed.items() for m, _, k in metrics
                   if fnmatch.fnmatchcase(name, pattern_of(need)[0]) and fnmatch.fnmatchcase(m, metric))
    changes = [lambda m, unit, k: ("another", unit, k), lambda m, unit, k: (m, "furlongs", k)]
    changes += [renamed(key) for key in keys if told]
    changes += [swapped(a, b) for a, b in zip(keys, keys[1:]) if told]
    missed = sum(is_met(need, doctored(listed, need, change)) for change in changes)
    check(missed == 0, f"{need} ({who}) sees what is renamed", f"{missed} of {len(changes)} changes unseen")


def main():
    listed, absent = lists()
    lines = run(GPUFLOOR, "claims", "--needs").splitlines()
    check(len(lines) > 100, "gpufloor claims --needs", f"{len(lines)} lines")
    unknown = 0
    for line in lines:
        need, _, who = line.partition("\t")
        need = need.rpartition(" of ")[2]  # a counted figure is one of an announced metric
        program = pattern_of(need)[0]
        if is_met(need, listed):
            check(True, need)
            check_doctored(need, who, listed)
        elif program in absent or (absent and "*" in program):
            unknown += 1
        else:
            check(False, f"{need} ({who})", "no program announces it")
    if unknown:
        skip(f"{unknown} needs", f"of programs that are not built here: {' '.join(sorted(absent))}")
    ledger = run(GPUFLOOR, "claims", "--format=tsv", H200)
    check(ledger, "gpufloor claims results/nvidia-h200")
    refused = [row.split("\t")[0] for row in ledger.splitlines() if "none of the claim's needs" in row]
    check(not refused, "no judge asks for what its claim does not need", " ".join(refused))
    return finish()


sys.exit(main())
