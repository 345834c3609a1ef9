#!/usr/bin/env python3
"""sanitize.py [BUILD]: tests/gpu/sanitize.sh leaves out no program. Its table has one line for each program of the
tree and each tool, in the order of names, and no other; a program whose kernels have a barrier, or shared
memory, is not left out because it had none; where a tool does not look, a reason stands; what is named beside
the table is a program. Without a GPU: whether the tools find nothing is for make sanitize."""
import glob
import os
import re
import subprocess
import sys

from common import FOLDERS, ROOT, check, check_none, finish, read_text

SCRIPT = "tests/gpu/sanitize.sh"
TOOLS = ("memcheck", "synccheck", "racecheck")
WITHOUT = {"no barrier": r"__syncthreads|__syncwarp|named_barrier|cluster_arrive|mbarrier_|grid_barrier|bar\.sync|"
                         r"team_barrier",
           "no shared memory": r"__shared__"}
WORDS = re.compile(r"[a-z].{8,120}")


def programs():
    """{name: its folder} of all folders that hold a program."""
    return {os.path.basename(path): path for folder in FOLDERS for path in glob.glob(os.path.join(ROOT, folder, "*"))
            if os.path.basename(path) != "common" and glob.glob(os.path.join(path, "*.c"))}


def device_code(path):
    return "\n".join(read_text(name) for name in sorted(glob.glob(os.path.join(path, "*.cu*"))))


def wrong_lines(lines, tree):
    """What the table lacks, or has too much."""
    found, wrong = {}, []
    for line in lines:
        parts = line.split("|", 2)
        if len(parts) != 3 or parts[1] not in TOOLS or not parts[2]:
            wrong.append(f"not PROGRAM|TOOL|CASES: {line}")
            continue
        if tuple(parts[:2]) in found:
            wrong.append(f"twice: {line}")
        found[tuple(parts[:2])] = parts[2]
    wanted = [(name, tool) for name in sorted(tree) for tool in TOOLS]
    wrong += [f"no line for {name} and {tool}" for name, tool in wanted if (name, tool) not in found]
    wrong += [f"no such program: {name}" for name, tool in found if name not in tree]
    if not wrong and list(found) != wanted:
        wrong.append("not in the order of names and tools")
    for (name, tool), cases in found.items():
        if cases.startswith("-"):
            reason = cases[1:].strip()
            if not WORDS.fullmatch(reason):
                wrong.append(f"{name}, {tool}: no reason: '{reason}'")
            code = device_code(tree.get(name, ""))
            if reason in WITHOUT and re.search(WITHOUT[reason], code):
                wrong.append(f"{name}, {tool}: '{reason}', but its sources have one")
            if reason == "launches nothing" and code:
                wrong.append(f"{name}, {tool}: '{reason}', but it has kernels")
        elif re.search(r"\s", cases) or cases.count("(") != cases.count(")"):
            wrong.append(f"{name}, {tool}: not a pattern of cases: {cases}")
    return wrong


def main():
    tree = programs()
    said = subprocess.run(["bash", os.path.join(ROOT, SCRIPT), "--table"], stdout=subprocess.PIPE, text=True, check=False)
    lines = said.stdout.splitlines()
    check(len(tree) >= 40, "programs are found", f"{len(tree)}")
    check_none(wrong_lines(lines, tree), "the table has every program, and a reason where a tool does not look")

    # The test sees what it is for.
    first = sorted(tree)[0]
    planted = {
        "a line left out": lines[1:],
        "a program left out": [line for line in lines if not line.startswith(first + "|")],
        "a line twice": lines + lines[-1:],
        "a program that is none": lines + [f"none|{tool}|*" for tool in TOOLS],
        "no reason": [re.sub(r"\|- .*", "|-", line) for line in lines],
        "a barrier that is denied": [re.sub(r"^(harm\|synccheck\|).*", r"\1- no barrier", line) for line in lines],
        "shared memory that is denied": [re.sub(r"^(norm\|racecheck\|).*", r"\1- no shared memory", line) for line in lines],
        "kernels that are denied": [re.sub(r"^(spin\|memcheck\|).*", r"\1- launches nothing", line) for line in lines],
        "another order": lines[3:] + lines[:3],
    }
    for name, changed in planted.items():
        check(wrong_lines(changed, tree), f"found: {name}")

    text = read_text(os.path.join(ROOT, SCRIPT))
    named = re.findall(r"\[([a-z_]+)\]=", text) + re.search(r'^alone="([^"]*)"', text, re.M).group(1).split()
    check_none(sorted(set(named) - set(tree)), "programs named beside the table are programs")
    return finish()


sys.exit(main())
