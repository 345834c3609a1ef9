#!/usr/bin/env python3
"""house.py BUILD: rules of the source code's structure. Code is in .c and .cu: a header's functions
have at most three lines (except in .cuh, which is device code). A function has at most 70 lines. A
program is a folder with a .c of its name. Outside core/ no program keeps state that could change
unnoticed. What is timed by events begins behind a gate, by gpu_time_start(); files with events of
their own are named here, and why. A line has at most 100 columns, but for a kernel's contract
(`// sass`), which is one line. Each rule is also tried on a planted fault."""
import os
import re
import sys

from common import FOLDERS, ROOT, check, check_none, finish, read_text

PROGRAMS = [folder for folder in FOLDERS if os.path.isdir(os.path.join(ROOT, folder))]
SOURCES = ("core", "report", *PROGRAMS)
LINES_IN_HEADER, LINES_IN_FUNCTION, COLUMNS = 3, 70, 100


def sources(*endings, folders=SOURCES):
    for folder in folders:
        for where, _, files in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(files):
                if name.endswith(endings):
                    path = os.path.join(where, name)
                    yield os.path.relpath(path, ROOT), read_text(path)


def bodies(text):
    """(first line of the head, lines of the whole function, lines between its braces). In the
    tree's style a function's braces are in the first column."""
    lines = text.split("\n")
    begun = None
    for i, line in enumerate(lines):
        if line == "{":
            begun = i
        elif line == "}" and begun is not None:
            head = begun - 1
            while head > 0 and lines[head].startswith((" ", "\t")):
                head -= 1
            yield head + 1, i - head + 1, i - begun - 1
            begun = None


def code_in_header(path, text):
    return [f"{path}:{line}: a body of {inner} lines"
            for line, _, inner in bodies(text) if inner > LINES_IN_HEADER]


def long_function(path, text):
    return [f"{path}:{line}: a function of {whole} lines"
            for line, whole, _ in bodies(text) if whole > LINES_IN_FUNCTION]


def long_line(path, text):
    return [f"{path}:{i}: {len(line)} columns" for i, line in enumerate(text.split("\n"), 1)
            if len(line) > COLUMNS and not line.startswith("// sass")]


STATE = re.compile(r"^\s*static (?!const\b|inline\b|_Noreturn\b)(?:\w+[ *]+)+\w+(\[[^;(]*)?(, [^;(]*)?( = .*)?;$")


def state(path, text):
    """Finds static data that is neither constant nor a function: it is kept from call to call.
    Signal handlers are excepted: they have no other way to tell what they saw."""
    return [f"{path}:{i}: {line.strip()}" for i, line in enumerate(text.split("\n"), 1)
            if STATE.match(line) and "const " not in line.split("=")[0] and "sig_atomic_t" not in line]


OWN_EVENTS = {
    "links/common/hand.c": "a gate in each GPU",
    "probes/host_link/host_link.c": "copies, behind a gate of their own",
    "probes/spin/spin.c": "a gate of its own: no stamp may be between it and the wait",
}
UNGATED = {
    "fused/batched_layer/batched_layer.c": "layers by stream",
    "fused/common/operation.c": "operators by stream",
    "fused/decoder_layer/decoder_layer.c": "layers by stream",
    "probes/edges/edges.c": "a chain submitted while it runs",
}


def own_events(path, text):
    """Times between two events without gpu_time_start()."""
    is_known = path in OWN_EVENTS or path.startswith("core/")
    return [f"{path}:{i}: {line.strip()}" for i, line in enumerate(text.split("\n"), 1)
            if "gpu_elapsed_ns(" in line and not is_known]


def ungated(path, text):
    """Times in which the host has a part, since kernels are launched one by one as a program does it."""
    is_known = path in UNGATED or path.startswith("core/")
    return [f"{path}:{i}: {line.strip()}" for i, line in enumerate(text.split("\n"), 1)
            if "gpu_time_start_ungated(" in line and not is_known]


def no_program(folder):
    return [f"{folder}/{name} has no {name}.c"
            for name in sorted(os.listdir(os.path.join(ROOT, folder)))
            if os.path.isdir(os.path.join(ROOT, folder, name)) and name != "common"
            and not os.path.exists(os.path.join(ROOT, folder, name, name + ".c"))]


def over_all(rule, *endings, **only):
    return [line for path, text in sources(*endings, **only) for line in rule(path, text)]


long = "static int f(int a,\n             int b)\n{\n" + "    a++;\n" * LINES_IN_FUNCTION + "}\n"
check(len(long_function("x.c", long)) == 1, "a planted long function is seen")
check(len(code_in_header("x.h", long)) == 1, "a planted body in a header is seen")
check(len(long_line("x.c", "x" * COLUMNS + "\n" + "x" * (COLUMNS + 1) + "\n")) == 1, "a planted long line is seen")
planted = ["    static cudaEvent_t start, stop;", "static struct verdict *memory;", "static int n = 0;",
           "    static struct watch watch[BLOCKS];"]
missed = [line for line in planted if not state("x.c", line)]
check_none(missed, "planted state is seen")
check_none([line for line in (
    "static const char *const names[] = {", "static int f(void);", "static const int n = 3;",
    "    static const double x[] = {1, 2};", "static struct pair of(int a);") if state("x.c", line)], "what is constant is no state")

check(len(ungated("x.c", "    gpu_time_start_ungated(r);")) == 1, "a planted time without a gate is seen")
check_none([path for path in UNGATED if "gpu_time_start_ungated(" not in read_text(os.path.join(ROOT, path))],
           "files that time without a gate do so")
check(len(own_events("x.c", "    return gpu_elapsed_ns(start, stop);")) == 1, "a planted pair of events is seen")
check_none([path for path in OWN_EVENTS if "gpu_elapsed_ns(" not in read_text(os.path.join(ROOT, path))],
           "files that time by events of their own do so")

template = re.search(r"Copy `(probes/\w+/)`", read_text(os.path.join(ROOT, "CONTRIBUTING.md")))
check(template and not any(path.startswith(template[1]) for path in (*OWN_EVENTS, *UNGATED)),
      "the probe that CONTRIBUTING has copied breaks no rule under another name", template and template[0])
check_none(over_all(long_function, ".c", ".h", ".cu", ".cuh"), "functions fit a screen")
check_none(over_all(long_line, ".c", ".h", ".cu", ".cuh", folders=(*SOURCES, "tests")),
           f"a line has at most {COLUMNS} columns")
check_none(over_all(own_events, ".c", ".h"), "times by events begin behind a gate")
check_none(over_all(ungated, ".c", ".h"), "but for what is launched as a program does it")
check_none(over_all(code_in_header, ".h"), "headers hold declarations")
check_none(over_all(state, ".c", ".h", folders=("report", *PROGRAMS)), "no state outside core/")
for folder in PROGRAMS:
    check_none(no_program(folder), f"each program of {folder}/ is a folder")
sys.exit(finish())
