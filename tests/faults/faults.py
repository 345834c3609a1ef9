#!/usr/bin/env python3
"""faults.py BUILD [--long]: what a program and `gpufloor run` do when a call of CUDA or cuBLAS fails.

The programs are linked with a stand-in for the CUDA runtime (stand_in.h), which lets a chosen call fail. Every place
in core/ from which a call comes gets a fault; with --long each of them gets all faults, and so do the places of every
program. Demanded of a program: exit 1, or 77 where nothing can be measured from the start; one line on stderr that
names the call and the error; the same in a valid run document that is marked; no figure from after the fault. Of
`gpufloor run`: the next probe runs, the bundle is valid, exit 1."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from stand_in import C, CUDA_HOME, ROOT, StandIn
import schema

ERRORS = {"cudaErrorMemoryAllocation": (2, "out of memory"), "cudaErrorIllegalAddress": (700, "illegal memory access"),
          "cudaErrorLaunchTimeout": (702, "timed out"), "cudaErrorECCUncorrectable": (214, "uncorrectable ECC"),
          "cudaErrorDevicesUnavailable": (46, "busy or unavailable")}
AT_START = {"cudaErrorNoDevice": (100, "shows none"), "cudaErrorInsufficientDriver": (35, "too old")}
CUBLAS = {"CUBLAS_STATUS_ALLOC_FAILED": (3, "out of memory"), "CUBLAS_STATUS_EXECUTION_FAILED": (13, "did not run")}
STICKY = (700, 702, 214)
# What these say is a fact of the document, which is then null.
FACTS = ("cudaDriverGetVersion", "cudaRuntimeGetVersion")
# That the library did not start is why its rows are missing; a choice that is refused is left out.
ANSWERS = ("blas_open", "blas_plan_gemm")
LIMIT_S, LATEST_MS = 60, 600
passed = failed = 0


def check(what, complaint):
    global passed, failed
    if complaint:
        failed += 1
        print(f"FAIL {what}\n    {complaint}"[:600])
    else:
        passed += 1


# --- one program --------------------------------------------------------------------------------------------------

def run(stand_in, path, **environment):
    """Exit status, document (None: it is none), lines on stderr."""
    done = subprocess.run([path, "--json"], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          env=stand_in.environment(**environment), cwd=stand_in.work)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    return done.returncode, document, done.stderr.splitlines()


def places(stand_in, path):
    """Call, number and place of each, as they come in an undisturbed run; and the names of its cases."""
    log = os.path.join(stand_in.work, "log")
    try:
        os.unlink(log)
    except FileNotFoundError:
        pass
    try:
        cases = [one["case"] for one in run(stand_in, path, FAULT_LOG=log)[1]["cases"]]
    except (subprocess.TimeoutExpired, TypeError):
        cases = None
    with open(log, encoding="utf-8") as file:
        found = [line.split() for line in file]
    # The address is that of the next instruction.
    asked = "\n".join(hex(int(address, 16) - 1) for _, _, address, _ in found)
    named = subprocess.run(["addr2line", "-e", path], input=asked, capture_output=True, text=True, check=True)
    sites = [re.sub(r"^.*/(?=(core|probes|matmul|fused|links|tests)/)", "", line.split(" ")[0])
             for line in named.stdout.splitlines()]
    return [(call, int(nth), site, float(ms)) for (call, nth, _, ms), site in zip(found, sites)], cases


def names_it(line, call, words):
    name = call if call.startswith("blas") else call.replace("_", "")
    spoken = {"blas_gemm": "cuBLAS: product", "blas_gemm_batched": "cuBLAS: 2 products", "blas_gemv": "matrix-vector"}
    return (spoken.get(call, name) in line.replace("_", "") or spoken.get(call, name) in line) and words in line


def judge(program, outcome, cases, call, nth, words):
    """What is wrong with how a program took a fault; None if nothing is."""
    status, document, said = outcome
    wanted = 77 if (call, nth) == ("cudaGetDeviceCount", 1) else 1
    if status != wanted:
        return f"exit {status}, expected {wanted}; {said[-1:]}"
    if document is None:
        return f"no document; {said[-1:]}"
    complaint = schema.jsonschema and schema.complaint("run", document)
    if complaint:
        return f"the document does not follow the schema: {complaint}"
    if document["status"] != ("skipped" if status == 77 else "failed"):
        return f"the document says {document['status']}"
    said = [line for line in said if ": check failed: " not in line]
    if len(said) != 1 or not said[0].startswith(os.path.basename(program) + ": "):
        return f"expected one line on stderr: {said}"
    if not names_it(said[0], call, words):
        return f"expected {call} and '{words}' in: {said[0]}"
    if document.get("why", "") not in said[0] or not document.get("why"):
        return f"the document's reason is another: {document.get('why')}"
    measured = [one["case"] for one in document["cases"]]
    if cases is not None and measured[:len(cases)] != cases[:len(measured)]:
        return f"cases {measured} are no beginning of {cases}"
    return None


def inject(stand_in, program, path, cases, place, error):
    """Lets one call fail. False if it was not reached."""
    call, nth, site, _ = place
    name, (number, words) = error
    log = os.path.join(stand_in.work, "happened")
    open(log, "w", encoding="utf-8").close()
    try:
        outcome = run(stand_in, path, FAULT=f"{call}:{nth}:{number}", FAULT_LOG=log)
    except subprocess.TimeoutExpired:
        outcome = ("a time-out", None, [])
    if os.path.getsize(log) == 0:
        return False
    complaint = judge(program, outcome, cases, call, nth, words)
    if call in FACTS:
        document = outcome[1] or {}
        environment = document.get("environment", {})
        lost = environment.get("driver", {}).get("cuda") if "Driver" in call else environment.get("runtime", {}).get("cuda")
        if number not in STICKY:
            complaint = None if outcome[0] == 0 and (lost is None or nth == 1) else f"{outcome[0]}, {lost}"
        else:
            complaint = None if outcome[0] in (1, 77) and document.get("why") else f"exit {outcome[0]}"
    elif call in ANSWERS:
        complaint = None if outcome[0] in (0, 1) and outcome[1] else f"exit {outcome[0]}"
    check(f"{program}: {site}: {call} no. {nth}: {name}", complaint)
    return True


def walk(stand_in, program, path, taken, everything):
    """A fault at each place that has had none; at one where a whole walk is asked for, each fault."""
    found, cases = places(stand_in, path)
    check(f"{program} makes calls", None if found else "none")
    missed = n = 0
    for place in found:
        call, _, site, ms = place
        if (call, site) in taken or ms > LATEST_MS:
            continue
        taken.add((call, site))
        errors = list((CUBLAS if call.startswith("blas") else ERRORS).items())
        for error in errors if everything else [errors[n % len(errors)]]:
            n += 1
            missed += not inject(stand_in, program, path, cases, place, error)
    # How often a loop goes round depends on the machine's load, and with it which call is the nth.
    check(f"{program}: the faults happen", f"{missed} of {n} did not" if missed > n // 3 else None)


# --- the start, memory that was asked for, the runner -----------------------------------------------------------------

def start(stand_in, path):
    for name, (number, words) in AT_START.items():
        status, document, said = run(stand_in, path, FAULT=f"cudaGetDeviceCount:1:{number}")
        check(f"at start: {name}", None if status == 77 and len(said) == 1 and words in said[0] and
              document["status"] == "skipped" and not document["cases"] else f"exit {status}: {said}")
    for name, (number, words) in ERRORS.items():
        outcome = run(stand_in, path, FAULT=f"cudaSetDevice:1:{number}")
        check(f"at start: cudaSetDevice: {name}", judge("spin", outcome, [], "cudaSetDevice", 1, words))


def memory(stand_in, path):
    """What was asked for with --set is a usage error; what the program takes by itself is a failure."""
    for arguments, status in ((["--set", "bytes=8"], 2), ([], 1)):
        done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False,
                              env=stand_in.environment(FAULT="cudaMalloc:1:2"))
        check(f"memory is short: {arguments}", None if done.returncode == status and
              "does not fit: this GPU has" in done.stderr and done.stderr.count("\n") == 1
              else f"exit {done.returncode}: {done.stderr}")


def bundle_of(stand_in, name, arguments, **environment):
    """Exit status, bundle, what was said."""
    path = os.path.join(stand_in.work, name + ".json")
    done = subprocess.run([os.path.join(stand_in.work, "bin/gpufloor"), "run", "--quick", "--seed", "1", "--results",
                           "nowhere", "-o", path, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, env=stand_in.environment(**environment), cwd=stand_in.work)
    with open(path, encoding="utf-8") as file:
        bundle = json.load(file)
    return done.returncode, bundle, done.stderr


def runner(stand_in):
    for name, (number, words) in ERRORS.items():
        for call in ("cudaSetDevice:1", "cudaEventRecord:140", "cudaStreamSynchronize:30"):
            what = f"gpufloor run: spin's {call}: {name}"
            status, bundle, said = bundle_of(stand_in, f"{number}-{call}", ["spin", "timers"],
                                             FAULT=f"{call}:{number}", FAULT_PROGRAM="spin")
            runs = {one["probe"]["name"]: one for one in bundle["runs"]}
            check(f"{what}: exit 1", None if status == 1 else f"{status}: {said}")
            check(f"{what}: valid", schema.jsonschema and schema.complaint("bundle", bundle))
            check(f"{what}: complete", None if bundle["complete"] else "it is not")
            check(f"{what}: marked", None if runs["spin"]["status"] == "failed" and words in runs["spin"]["why"] else
                  str(runs["spin"].get("why")))
            check(f"{what}: the next probe is measured", None if runs["timers"]["status"] == "ok" and
                  len(runs["timers"]["cases"]) == 4 else str(runs["timers"].get("why")))
            lines = [line for line in said.splitlines() if line.startswith("FAIL  spin")]
            check(f"{what}: said", None if lines and words in lines[0] else said)


# --- calls whose return nobody looks at -------------------------------------------------------------------------------

def unlooked(path, marked):
    """Lines of a C file where what a call of the runtime returns is dropped."""
    done = subprocess.run(C + ["-include", marked, "-Wunused-result", "-O0", "-S", "-o", os.devnull, path],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    return [line[:160] for line in done.stderr.splitlines() if "unused-result" in line]


def returns(work):
    """With a header in which each call must be used, every host file that knows CUDA is compiled."""
    with open(os.path.join(CUDA_HOME, "include/crt/host_defines.h"), encoding="utf-8") as file:
        text = file.read()
    marked, planted = os.path.join(work, "host_defines.h"), os.path.join(work, "planted.c")
    with open(marked, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^#define CUDARTAPI$", "#define CUDARTAPI __attribute__((warn_unused_result))", text,
                          flags=re.M))
    with open(planted, "w", encoding="utf-8") as file:
        file.write('#include "core/gpu.h"\nvoid f(void);\nvoid f(void)\n{\n    cudaFree(0);\n    CUDA(cudaFree(0));\n}\n')
    check("a planted return that nobody looks at is seen", None if len(unlooked(planted, marked)) == 1 else
          unlooked(planted, marked))
    for folder in ("core", "probes", "matmul", "fused", "links"):
        for where, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(x for x in names if x.endswith(".c")):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as file:
                    if not re.search(r"\bcuda[A-Z]\w+\(", file.read()) or "plugins" in path:
                        continue
                check(f"{os.path.relpath(path, ROOT)} looks at what each call returns",
                      "; ".join(unlooked(path, marked)) or None)


# --- all of it --------------------------------------------------------------------------------------------------------

def main():
    everything = "--long" in sys.argv
    work = tempfile.mkdtemp()
    try:
        stand_in = StandIn(sys.argv[1], work)
        paths = {f"probes/{name}": stand_in.link(f"probes/{name}") for name in ("spin", "null", "timers", "graphs")}
        paths["probes/every"] = stand_in.link_every()
        for name in ("spin", "timers", "graphs", "every"):
            status, document, said = run(stand_in, paths[f"probes/{name}"])
            check(f"{name}: undisturbed, it passes", None if status == 0 and not said and document["cases"] else said)
        start(stand_in, paths["probes/spin"])
        memory(stand_in, paths["probes/every"])
        taken = set()
        for name in ("every", "spin", "graphs", "timers"):
            walk(stand_in, name, paths[f"probes/{name}"], taken, everything)
        os.rename(paths["probes/every"], os.path.join(work, "every"))
        runner(stand_in)
        if everything:
            for folder in ("probes", "matmul", "fused", "links"):
                for name in sorted(os.listdir(os.path.join(stand_in.build, "bin", folder))):
                    if f"{folder}/{name}" not in paths and name != "host_memory":
                        walk(stand_in, name, stand_in.link(f"{folder}/{name}"), taken, False)
        returns(work)
    finally:
        shutil.rmtree(work)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed != 0)


main()
