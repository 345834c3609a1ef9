#!/usr/bin/env python3
"""states.py BUILD: states of a GPU and of the libraries beside it, that a run must detect, mark and say.

The programs run on a stand-in for the CUDA runtime (stand_in.h), under a stand-in for NVML (nvml.c) that plays MIG,
MPS, other processes, throttling, set clocks and a lowered power limit; and with libraries that are missing, that are
no libraries, or that lack what is called."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from stand_in import CC, StandIn, call
import schema

LIMIT_S = 60
passed = failed = 0


def check(what, ok, otherwise=""):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"FAIL {what}\n    {str(otherwise)[:700]}")


class Seen:
    """A `gpufloor run`: its exit status, what it said, its bundle and the report of it."""

    def __init__(self, stand_in, name, arguments=("--quick",), **environment):
        gpufloor, path = os.path.join(stand_in.work, "bin/gpufloor"), os.path.join(stand_in.work, name + ".json")
        if os.path.exists(path):
            os.unlink(path)
        start = {"capture_output": True, "text": True, "timeout": LIMIT_S, "check": False, "cwd": stand_in.work,
                 "env": stand_in.environment(**environment)}
        done = subprocess.run([gpufloor, "run", "--seed", "1", "--results", "nowhere", "-o", path, "spin",
                               *arguments], **start)
        self.name, self.status, self.said, self.bundle, self.report = name, done.returncode, done.stderr, None, ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.bundle = json.load(file)
            self.report = subprocess.run([gpufloor, "report", path], **start).stdout
            wrong = schema.jsonschema and schema.complaint("bundle", self.bundle)
            check(f"{name}: the bundle follows the schema", not wrong, wrong)

    @property
    def gpu(self):
        return self.bundle["environment"]["gpu"]

    @property
    def run(self):
        return self.bundle["runs"][0]

    def lines(self, word):
        """Lines on stderr with the word, and the report's line of states, its continuations joined."""
        state = re.search(r"^  state  +(.*?)\n  (?! )", self.report, re.M | re.S)
        return ([line for line in self.said.splitlines() if word in line],
                " ".join(state.group(1).split()) if state else "")

    def says(self, words, mark):
        """One line of `run` and the line of `report` say it, and the document is marked."""
        said, state = self.lines(words)
        check(f"{self.name}: run says '{words}' in one line", len(said) == 1, self.said)
        check(f"{self.name}: report says '{words}'", words in state, state or self.report[:400])
        check(f"{self.name}: it is marked", mark, json.dumps(self.gpu) + json.dumps(self.run)[:300])


def pipes(stand_in, name, pid):
    """A folder as the control daemon of MPS leaves it."""
    folder = os.path.join(stand_in.work, name)
    os.mkdir(folder)
    os.mkfifo(os.path.join(folder, "control"))
    if pid:
        with open(os.path.join(folder, "nvidia-cuda-mps-control.pid"), "w", encoding="utf-8") as file:
            file.write(f"{pid}\n")
    return folder


def settings(stand_in):
    seen = Seen(stand_in, "healthy")
    check("healthy: exit 0", seen.status == 0, seen.said)
    check("healthy: no warning", "warn" not in seen.said, seen.said)
    check("healthy: no line of states", " state " not in seen.report, seen.report[:400])
    check("healthy: nothing is unknown", "unknown" not in seen.gpu and seen.gpu["mig"] == 0 and seen.gpu["mps"] == 0,
          seen.gpu)
    check("healthy: other processes are counted", seen.run["nvml"]["before"]["n_processes"] == 0, seen.run)

    seen = Seen(stand_in, "mig", NVML_STATE="mig=1")
    seen.says("MIG is on", seen.gpu["mig"] == 1)
    seen = Seen(stand_in, "mig-unknown", NVML_STATE="mig=-")
    check("mig-unknown: null, with why", seen.gpu["mig"] is None and seen.gpu["unknown"] == {"mig": "Not Supported"},
          seen.gpu)

    seen = Seen(stand_in, "power-limit", NVML_STATE="power_limit=500000")
    seen.says("power limit 500 W, by default 700", seen.gpu["power_limit_w"] == 500)
    seen = Seen(stand_in, "power-limit-unknown", NVML_STATE="power_limit_default=! power_limit=500000")
    check("power-limit-unknown: null, with why", seen.gpu["power_limit_default_w"] is None and
          seen.gpu["unknown"]["power_limit_default_w"] == "Unknown Error", seen.gpu)
    seen = Seen(stand_in, "application-clock", NVML_STATE="application_clock=1200")
    seen.says("application clock 1200 MHz of 1980", seen.gpu["application_clock_mhz"] == 1200)

    seen = Seen(stand_in, "locked", STAND_IN_MHZ="1200")
    check("locked: report says so", "never passed 1200 MHz of 1980: locked" in seen.lines("")[1], seen.report[:400])
    clocks = [one["sm_clock"]["max_mhz"] for one in seen.run["cases"] if "sm_clock" in one]
    check("locked: the clock is in the bundle", clocks and max(clocks) < 1210, clocks)


def mps(stand_in):
    seen = Seen(stand_in, "mps", ["--quick", "--shared"], NVML_STATE="mps_processes=1 processes=1")
    seen.says("MPS is on", seen.gpu["mps"] == 1)
    seen = Seen(stand_in, "mps-server", NVML_STATE="mps_processes=1 processes=1")
    check("mps-server: refused, and why", seen.status == 2 and "MPS is on, and its server is one" in seen.said, seen.said)
    alive = pipes(stand_in, "alive", os.getpid())
    seen = Seen(stand_in, "mps-pipe", NVML_STATE="mps_processes=-", CUDA_MPS_PIPE_DIRECTORY=alive)
    seen.says("MPS is on", seen.gpu["mps"] == 1)
    left = pipes(stand_in, "left", None)
    seen = Seen(stand_in, "mps-unknown", NVML_STATE="mps_processes=-", CUDA_MPS_PIPE_DIRECTORY=left)
    seen.says("whether MPS is on is not known", seen.gpu["mps"] is None and "not seen" in seen.gpu["unknown"]["mps"])
    seen = Seen(stand_in, "mps-left", CUDA_MPS_PIPE_DIRECTORY=left)
    check("mps-left: a pipe without a daemon is no MPS", seen.gpu["mps"] == 0 and "MPS" not in seen.said, seen.said)


def processes(stand_in):
    for n in (1, 2, 100):
        seen = Seen(stand_in, f"processes-{n}", NVML_STATE=f"processes={n}")
        check(f"{n} other processes: refused in one line", seen.status == 2 and not seen.bundle and
              f"{n} other process" in seen.said and seen.said.count("\n") == 1, seen.said)
    seen = Seen(stand_in, "shared", ["--quick", "--shared"], NVML_STATE="processes=2")
    check("shared: marked", seen.run.get("shared") is True and seen.run["nvml"]["before"]["n_processes"] == 2, seen.run)
    check("shared: run says so", len(seen.lines("another process was on the GPU in round 1")[0]) == 1, seen.said)
    check("shared: report says so", "another process on the GPU in 1 of 1 runs" in seen.lines("")[1], seen.report[:400])
    seen = Seen(stand_in, "processes-unknown", NVML_STATE="processes=-")
    seen.says("other processes are not seen (Not Supported)", seen.run["nvml"]["before"]["n_processes"] is None)


def throttling(stand_in):
    for bit, words in ((0x8, "hardware slowdown"), (0x10, "sync boost"), (0x20, "thermal"), (0x40, "hardware thermal"),
                       (0x80, "power brake"), (0x60, "thermal, hardware thermal")):
        seen = Seen(stand_in, f"slowed-{bit}", NVML_STATE=f"reasons={bit}")
        check(f"{words}: marked", seen.run.get("slowed_by") == words, seen.run)
        check(f"{words}: run says so", len(seen.lines(f"spin: slowed down ({words}) in round 1")[0]) == 1, seen.said)
        check(f"{words}: report says so", f"slowed down in 1 of 1 runs ({words})" in seen.lines("")[1], seen.report[:400])
    seen = Seen(stand_in, "slowed-twice", ["--rounds", "3"], NVML_STATE="reasons=0x20")
    check("short runs: each is marked", [run.get("slowed_by") for run in seen.bundle["runs"]] == ["thermal"] * 3,
          seen.said)
    for bit, words in ((0x1, ""), (0x2, ""), (0x4, "power cap")):
        seen = Seen(stand_in, f"usual-{bit}", NVML_STATE=f"reasons={bit}")
        check(f"reason {bit}: kept, and no slowdown", "slowed_by" not in seen.run and
              seen.run["nvml"]["before"]["held_back_by"] == words and "slowed" not in seen.said, seen.run)
    seen = Seen(stand_in, "reasons-unknown", NVML_STATE="reasons=-")
    seen.says("what holds the clock back is not known (Not Supported)",
              seen.run["nvml"]["before"]["held_back_by"] is None)


def library(stand_in, folder, name, source=None):
    """A folder with a library of that name: of that source, or bytes that are none."""
    folder = os.path.join(stand_in.work, folder)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    if source is None:
        with open(path, "w", encoding="utf-8") as file:
            file.write("this is no library\n" * 40)
    else:
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        call(CC + ["-fPIC", "-shared", f"-Wl,-soname,{name}", path + ".c", "-o", path])
    return folder


def nvml(stand_in):
    nothing = os.path.join(stand_in.work, "empty")
    os.mkdir(nothing)
    open(os.path.join(nothing, "libnvidia-ml.so.1"), "w", encoding="utf-8").close()
    for name, folder, state, words in (
            ("nvml-missing", nothing, "", "libnvidia-ml.so.1 not found"),
            ("nvml-no-elf", library(stand_in, "text", "libnvidia-ml.so.1"), "", "libnvidia-ml.so.1"),
            ("nvml-old", library(stand_in, "old", "libnvidia-ml.so.1", "int nothing;"), "", "lacks a needed function"),
            ("nvml-unloaded", os.path.join(stand_in.work, "nvml"), "init=9", "Driver Not Loaded")):
        seen = Seen(stand_in, name, LD_LIBRARY_PATH=folder, NVML_STATE=state)
        check(f"{name}: the rest runs", seen.status == 0 and len(seen.run["cases"]) == 6, seen.said)
        said, state = seen.lines(words)
        check(f"{name}: said in one line", len(said) == 1, seen.said)
        check(f"{name}: report says so", words in state, state)
        check(f"{name}: null, with why", seen.gpu["mig"] is None and words in seen.gpu["unknown"]["nvml"], seen.gpu)


def blas(stand_in):
    """The probe that calls cuBLAS, with what dlopen may find in place of blas.so, and of cuBLAS itself."""
    path, plugin = stand_in.link_every(), os.path.join(stand_in.work, "bin/blas.so")
    real = os.path.join(stand_in.build, "bin/blas.so")
    lacks = library(stand_in, "lacks", "libgone.so", "int gone(void); int gone(void) { return 1; }")
    with open(os.path.join(lacks, "plugin.c"), "w", encoding="utf-8") as file:
        file.write("int gone(void); int (*gpufloor_blas)(void) = gone;")
    needs = os.path.join(lacks, "needs.so")
    call(CC + ["-fPIC", "-shared", os.path.join(lacks, "plugin.c"), f"-L{lacks}", "-lgone", "-o", needs])
    cases = [("blas.so missing", None, None, "blas.so was not built"),
             ("blas.so no ELF", os.path.join(library(stand_in, "text", "blas.so"), "blas.so"), None, "invalid ELF"),
             ("blas.so of another project", os.path.join(library(stand_in, "other", "blas.so", "int x;"), "blas.so"),
              None, "undefined symbol"),
             ("a library of blas.so missing", needs, "", "libgone.so: cannot open shared object file")]
    if os.path.exists(real):
        needed = subprocess.run(["readelf", "-d", real], capture_output=True, text=True, check=True).stdout
        for lib in ("libcublas.so", "libcublasLt.so"):
            name = next((x for x in needed.replace("[", " ").replace("]", " ").split() if x.startswith(lib + ".")), None)
            cases += [(f"{name} no ELF", real, library(stand_in, f"text-{lib}", name), name),
                      (f"{name} without a symbol", real, library(stand_in, f"lacks-{lib}", name, "int x;"), name)]
    for what, found, folder, words in cases:
        os.path.exists(plugin) and os.unlink(plugin)
        if found:
            shutil.copy(found, plugin)
        where = ":".join(x for x in (folder, os.path.join(stand_in.work, "nvml")) if x)
        done = subprocess.run([path, "--json"], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env=stand_in.environment(LD_LIBRARY_PATH=where), cwd=stand_in.work)
        check(f"{what}: exit 0", done.returncode == 0, done.stderr)
        check(f"{what}: one line says what is lost", done.stderr.count("\n") == 1 and
              done.stderr.startswith("every: no row of cuBLAS or cuBLASLt: ") and words in done.stderr, done.stderr)
        document = json.loads(done.stdout)
        parts = {one["case"]: one["metrics"] for one in document["cases"]}
        check(f"{what}: the rest is measured", len(parts) == 4 and parts["part=power"][0]["median"], parts)
        check(f"{what}: null, with why", parts["part=library"][0]["median"] is None and
              words in parts["part=library"][0]["why"], parts["part=library"])
        wrong = schema.jsonschema and schema.complaint("run", document)
        check(f"{what}: the document follows the schema", not wrong, wrong)
    os.path.exists(plugin) and os.unlink(plugin)
    seen = Seen(stand_in, "lost", ["--rounds", "2", "every"])
    check("gpufloor run says once what is lost", len(seen.lines("no row of cuBLAS")[0]) == 1 and seen.status == 0, seen.said)


def counters(stand_in):
    path, plugin = os.path.join(stand_in.work, "bin/probes/every"), os.path.join(stand_in.work, "bin/counters.so")
    real = os.path.join(stand_in.build, "bin/counters.so")
    cases = [("counters.so missing", None, None, "counters.so was not built"),
             ("counters.so no ELF", os.path.join(library(stand_in, "text", "counters.so"), "counters.so"), None,
              "invalid ELF"),
             ("counters.so of another project", os.path.join(library(stand_in, "other", "counters.so", "int x;"),
                                                             "counters.so"), None, "undefined symbol")]
    if os.path.exists(real):
        needed = subprocess.run(["readelf", "-d", real], capture_output=True, text=True, check=True).stdout
        for lib in ("libcupti.so", "libnvperf_host.so", "libnvperf_target.so"):
            name = next((x for x in needed.replace("[", " ").replace("]", " ").split() if x.startswith(lib)), None)
            cases += [(f"{name} no ELF", real, library(stand_in, f"text-{lib}", name), name)]
            if lib == "libcupti.so":
                cases += [(f"{name} without a symbol", real, library(stand_in, f"lacks-{lib}", name, "int x;"), "symbol")]
    for what, found, folder, words in cases:
        os.path.exists(plugin) and os.unlink(plugin)
        if found:
            shutil.copy(found, plugin)
        where = ":".join(x for x in (folder, os.path.join(stand_in.work, "nvml")) if x)
        start = {"capture_output": True, "text": True, "timeout": LIMIT_S, "check": False, "cwd": stand_in.work,
                 "env": stand_in.environment(LD_LIBRARY_PATH=where)}
        done = subprocess.run([path, "--json", "--counters", "launches"], **start)
        check(f"{what}: exit 77", done.returncode == 77, done.stderr)
        check(f"{what}: one line", done.stderr.count("\n") == 1 and "no counters: " in done.stderr and
              words in done.stderr, done.stderr)
        document = json.loads(done.stdout)
        check(f"{what}: the document says it", document["counters"]["status"] == "refused" and
              words in document["counters"]["why"] and not document["cases"], document)
        done = subprocess.run([os.path.join(stand_in.work, "bin/gpufloor"), "counters", "every"], **start)
        check(f"{what}: gpufloor counters says it", done.returncode in (0, 77) and words in done.stderr + done.stdout,
              done.stderr + done.stdout)
        done = subprocess.run([path], **start)
        check(f"{what}: times are measured", done.returncode == 0, done.stderr)


def main():
    work = tempfile.mkdtemp()
    try:
        stand_in = StandIn(sys.argv[1], work)
        for name in ("spin", "null"):
            stand_in.link(f"probes/{name}")
        for part in (settings, mps, processes, throttling, nvml, blas, counters):
            part(stand_in)
    finally:
        shutil.rmtree(work)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed != 0)


main()
