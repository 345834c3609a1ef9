#!/usr/bin/env python3
"""planted.py SASS NVCC [PART/PARTS] [ARCH...]: every fault of planted/*.py, put into a copy of a shipped kernel's
source, must be caught by the contract above that kernel, and by the word that the fault names. With 2/3 it is the
second of three, the fifth, the eighth, and so on.

The shipped files have no hooks for it: a copy is changed. A fault is an exact piece of text and what
stands in its place. A piece that is no longer there, or is there more than once, fails: the fault
would no longer be planted. Architectures: sm_90a, or those named, as far as the fault names them.
Where several are named, each kernel must also pass as it is, built in the same way; for one,
contracts.sh shows that.
The last line is `N passed, N failed`.
"""
import concurrent.futures
import importlib.util
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL = ["75", "80", "86", "89", "90a", "100", "120"]


def families():
    for path in sorted(pathlib.Path(__file__).with_name("planted").glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for fault in module.FAULTS:
            yield path.stem, fault


def built_for(fault):
    since = fault.get("since", "75")
    return [a for a in ALL[ALL.index(since):] if a not in fault.get("without", [])]


def change(folder, source, changes, keep):
    """A copy of the source, and of each file that is changed, in the folder. Returns complaints."""
    texts = {source: (ROOT / source).read_text()}
    wrong = []
    if keep:  # the other kernels that macros make only cost time: NAME, or MACROS(NAME of a MACRO that matches
        macros, name = keep.split("(") if "(" in keep else (r"\w+_KERNELS", keep)
        texts[source] = re.sub(r"^(?:%s)\((?!%s\b).*\n" % (macros, name), "", texts[source], flags=re.M)
    for name, old, new in changes:
        text = texts.setdefault(name, (ROOT / name).read_text())
        if text.count(old) != 1:
            wrong.append(f"{name}: found {text.count(old)} times, not once: {old.strip()}")
        texts[name] = text.replace(old, new)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return wrong


def inspect(fault, changes, arch):
    """What the gate says of the changed source: (complaints, lines)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = fault["source"]
        wrong = change(folder, source, changes, fault.get("keep"))
        if wrong:
            return wrong, []
        cubin = folder / f"planted.sm_{arch}.cubin"
        built = subprocess.run([nvcc, "-std=c++17", "-O3", "-w", f"-I{folder}", f"-I{ROOT}", "-cubin",
                                f"-arch=sm_{arch}", folder / source, "-o", cubin], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if built.returncode:
            return ["does not compile: " + built.stdout[-600:]], []
        said = subprocess.run([sass, folder / source, cubin], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        return [], said.stdout.splitlines()


def of_kernel(lines, kernel, arch):
    return [line for line in lines if f" {kernel} sm_{arch} " in line]


def caught(family, fault, arch):
    wrong, lines = inspect(fault, fault["changes"], arch)
    if not fault["caught"]:
        wrong.append("says of no kernel that it must be caught there")
    for kernel, word in fault["caught"].items():
        found = of_kernel(lines, kernel, arch)
        if not wrong and not any(line.startswith("FAIL") and word in line for line in found):
            wrong.append(f"{kernel}: expected '{word}', found: {' '.join(found) or 'nothing'}")
    return f"{family}: {fault['name']} sm_{arch}", wrong


def control(source, keep, kernels, arch):
    wrong, lines = inspect({"source": source, "keep": keep}, [], arch)
    for kernel in sorted(kernels):
        found = of_kernel(lines, kernel, arch)
        if not wrong and not any(line.startswith("ok") for line in found):
            wrong.append(f"{kernel}: expected it to pass, found: {' '.join(found) or 'nothing'}")
    return f"control: {source} sm_{arch}", wrong


def self_test():
    """What must not count as caught: a fault that is none, and one that is no longer planted."""
    harmless = {"name": "none", "source": "probes/spin/spin.cu", "caught": {"spin_wait": "expected"}}
    old = "// Kernel of spin:"
    assert caught("self-test", {**harmless, "changes": [("probes/spin/spin.cu", old, old + " ")]},
                  archs[0])[1], "a comment counts as a fault that was caught"
    assert caught("self-test", {**harmless, "changes": [("probes/spin/spin.cu", "no such text", "")]},
                  archs[0])[1], "a fault that is not planted counts as caught"
    assert caught("self-test", {**harmless, "caught": {}, "changes": [("probes/spin/spin.cu", old, old + " ")]},
                  archs[0])[1], "a fault of no kernel counts as caught"


def main():
    self_test()
    tasks, controls = [], {}
    for family, fault in itertools.islice(families(), part - 1, None, parts):
        for arch in [a for a in built_for(fault) if a in archs]:
            tasks.append((caught, family, fault, arch))
            controls.setdefault((fault["source"], fault.get("keep"), arch), set()).update(fault["caught"])
    if len(archs) > 1:
        tasks += [(control, source, keep, kernels, arch)
                  for (source, keep, arch), kernels in controls.items()]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for name, wrong in pool.map(lambda task: task[0](*task[1:]), tasks):
            failed += bool(wrong)
            for text in wrong:
                print(f"FAIL {name}: {text}")
    if parts > 1:
        print(f"says: part {part} of {parts} of the faults")
    print(f"{len(tasks) - failed} passed, {failed} failed")
    return failed > 0 or not tasks


if len(sys.argv) < 3:
    sys.exit(__doc__)
sass, nvcc = os.path.abspath(sys.argv[1]), sys.argv[2]
archs = sys.argv[3:]
part, parts = map(int, archs.pop(0).split("/")) if archs and "/" in archs[0] else (1, 1)
archs = archs or ["90a"]
sys.exit(main())
