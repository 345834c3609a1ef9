#!/usr/bin/env python3
"""planted.py BUILD [WORD]: the fuzzer must find each fault that is planted in a copy of the tree, and
say of which class it is. With WORD only those faults whose name has it. BUILD holds the fuzzer's
objects, so that only the changed file is built anew.

The shipped files have no hooks for it: a copy is changed. A fault is an exact piece of text and what
stands in its place. A piece that is no longer there, or is there more than once, fails: the fault
would no longer be planted. The last line is `N passed, N failed`.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MUTANTS, LINES = 8000, 800  # fewer than a minute's of make test; a number, so that load changes nothing

# (what, class, file, piece, what stands in its place, a word of what must be said)
FAULTS = [
    ("a read out of bounds behind the parser", "crash", "report/bundle/rows.c",
     "    if (row->n == 0) {\n        row->status = status_without_value(row);",
     "    if (row->n == 0 && row->why) {\n        row->status = status_without_value(row);", "rows.c"),
    ("a loop without end", "hang", "report/bundle/rows.c",
     "    if (row->stale)\n        return ROW_STALE;",
     "    for (volatile int spin = row->centre < 0; spin;)\n        ;\n"
     "    if (row->stale)\n        return ROW_STALE;", "processor time"),
    ("an exit status that has no meaning", "status", "report/cli/ledger.c",
     "no claim matches\\n\", (int)length, unknown);\n        return EXIT_TROUBLE;",
     "no claim matches\\n\", (int)length, unknown);\n        return 3;", "exit status 3"),
    ("an error without a word", "silent", "report/cli/report.c",
     "    if (misused(&o)) {\n        out_say(\"gpufloor report: %s\\n\", misused(&o));",
     "    if (misused(&o)) {", "not a word"),
    ("a line said twenty times", "lines", "report/cli/compare.c",
     "        out_say(\"gpufloor compare: history: %s\\n\", why);",
     "        for (int i = 0; i < 20; i++)\n"
     "            out_say(\"gpufloor compare: history: %s\\n\", why);", "20 lines"),
    ("a FIFO that is waited for", "hang", "report/cli/counter_table.c",
     "open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)", "open(path, O_RDONLY | O_CLOEXEC)", "waited"),
    ("a wrong digit of the plain reader", "readers", "core/parse.c",
     "        return json_integer(is_negative ? -(json_int_t)digits : (json_int_t)digits);",
     "        return json_integer(is_negative ? -(json_int_t)digits : (json_int_t)digits + (digits == 7));",
     "otherwise than jansson"),
]


def copy_tree(folder):
    for name in ("core", "report", "tests/fuzz"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("Makefile", "LICENSE"):
        shutil.copy2(ROOT / name, folder / name)
    (folder / "tests/deps.sh").symlink_to(ROOT / "tests/deps.sh")
    shutil.copytree(build / "fuzzed", folder / "build/fuzzed", symlinks=True)
    for name in ("flags", "nvflags", "archs", "checked", "version_values.h"):
        if (build / name).exists():
            shutil.copy2(build / name, folder / "build" / name)


def make(folder):
    # Other flags than those that the objects were built with (-Werror) are no reason to build all anew.
    made = subprocess.run(["make", "-s", "-C", folder, "-o", "build/flags", "build/tests/fuzz"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return "" if made.returncode == 0 else "does not build: " + made.stdout[-600:]


def fuzz(folder, share=1, more=()):
    seeds = sorted((ROOT / "tests/golden").glob("*.json"))
    return subprocess.run([folder / "build/tests/fuzz", "--seed", "1", "--mutants", str(MUTANTS // share),
                           "--lines", str(LINES // share), "--first", "--findings", folder / "findings", *more, *seeds], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, errors="replace")


def found(folder, fault):
    """Complaints."""
    what, kind, name, piece, instead, word = fault
    path = folder / name
    text = path.read_text(encoding="utf-8")
    if text.count(piece) != 1:
        return f"{name}: found {text.count(piece)} times, not once: {piece}"
    path.write_text(text.replace(piece, instead), encoding="utf-8")
    wrong = make(folder)
    said = "" if wrong else fuzz(folder)
    path.write_text(text, encoding="utf-8")
    if wrong:
        return wrong
    if said.returncode != 1 or f"FAIL {kind} " not in said.stdout or word not in said.stdout:
        return f"expected '{kind}' with '{word}', exit 1; exit {said.returncode}: {said.stdout[-1500:]}"
    if not any(folder.glob(f"findings/1-*-{kind}/*/m.json")):
        return "its inputs are not kept"
    shutil.rmtree(folder / "findings", ignore_errors=True)
    return ""


def slow(folder):
    """Complaints, where the program takes so long that hardly anything is tried in the time."""
    path, piece = folder / "report/cli/main.c", "int main(int argc, char **argv)\n{\n"
    text = path.read_text(encoding="utf-8")
    if text.count(piece) != 1:
        return f"report/cli/main.c: found {text.count(piece)} times, not once: {piece}"
    path.write_text("#include <unistd.h>\n" + text.replace(piece, piece + "    usleep(900000);\n"), encoding="utf-8")
    said = make(folder) or fuzz(folder, more=("--seconds", "10"))
    path.write_text(text, encoding="utf-8")
    if isinstance(said, str):
        return said
    ok = said.returncode == 1 and "FAIL too little was tried: at least 20 mutants" in said.stdout
    return "" if ok else f"expected 'too little', exit 1; exit {said.returncode}: {said.stdout[-1500:]}"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_tree(folder)
        for fault in faults:
            wrong = found(folder, fault)
            failed += bool(wrong)
            print(f"FAIL {fault[0]}: {wrong}" if wrong else f"found {fault[0]}", flush=True)
        wrong = slow(folder)
        failed += bool(wrong)
        print(f"FAIL a program that is too slow: {wrong}" if wrong else "found a program that is too slow", flush=True)
        wrong = make(folder)
        said = None if wrong else fuzz(folder, 4)
        if wrong or said.returncode:
            failed += 1
            print("FAIL control, the tree as it is:", wrong or said.stdout[-1500:])
    print(f"{len(faults) + 2 - failed} passed, {failed} failed")
    return failed > 0


if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
faults = [fault for fault in FAULTS if len(sys.argv) == 2 or sys.argv[2] in fault[0]]
build = pathlib.Path(os.path.abspath(sys.argv[1]))
sys.exit(main())
