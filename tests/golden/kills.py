#!/usr/bin/env python3
"""kills.py BIN [KILLS [SEED]]: `gpufloor run` against stand-in probes is killed at random moments, by
one signal after the other; every second time when two rounds are over. After each kill: every round
that was whole is in the bundle, each run once; every file is valid; the bundle is complete only if it
holds all rounds; no process is left, not even one that a probe had started; and `--continue`
measures what is missing."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.dont_write_bytecode = True
import schema  # noqa: E402

KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
SIGNALS = ("INT", "TERM", "HUP", "PIPE", "KILL")
PROBES, ROUNDS = ("null", "good", "brood"), 12
WHOLE_S, GONE_S = 1.4, 5.0  # a run takes about so long; what was killed is gone by then
passed = failed = 0


def check(ok, what, remark=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}" + (f": {remark}" if remark else ""))


def runs_of(bundle):
    """How often each (round, probe) was run."""
    runs = {}
    for run in bundle["runs"]:
        key = (run["run"]["round"], run["probe"]["name"])
        runs[key] = runs.get(key, 0) + 1
    return runs


def begun(log):
    """Rounds of which the log of the stand-ins knows; in the first line null looked for a GPU."""
    try:
        with open(log, encoding="utf-8") as file:
            return len({line.split()[1] for line in file.readlines()[1:]})
    except OSError:
        return 0


def left_over(marks):
    """Command lines of processes that hold one of these words, once all had time to go."""
    until = time.monotonic() + GONE_S
    while True:
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    words = file.read().decode(errors="replace").replace("\0", " ").strip()
            except OSError:
                continue
            if words and any(mark in words for mark in marks):
                found.append(words)
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.02)


def check_file(path, what, n_begun):
    """Every round before the last that had begun was whole."""
    try:
        with open(path, encoding="utf-8") as file:
            bundle = json.load(file)
    except (OSError, ValueError) as error:
        check(n_begun == 0 and isinstance(error, FileNotFoundError), f"{what}: a bundle", error)
        return None
    if schema.jsonschema:
        complaint = schema.complaint("bundle", bundle)
        check(complaint is None, f"{what}: follows the schema", complaint)
    runs = runs_of(bundle)
    lacks = [(r, p) for r in range(n_begun - 1) for p in PROBES if runs.get((r, p)) != 1]
    check(not lacks, f"{what}: whole rounds are kept", f"{lacks} of {n_begun - 1}")
    check(max(runs.values(), default=1) == 1, f"{what}: each run once", runs)
    everything = len(runs) == ROUNDS * len(PROBES)
    # A kill between the last round and the end leaves all rounds, and says that the run did not end.
    whole = f"not ended: holds {ROUNDS} of {ROUNDS} rounds"
    check(bundle["complete"] == everything or (everything and bundle.get("why") == whole), f"{what}: complete or not",
          (bundle["complete"], bundle.get("why")))
    check(bundle["complete"] or bundle.get("why"), f"{what}: says why it is not")
    return bundle


def kill_once(gpufloor, folder, draw, number):
    name, within = SIGNALS[number % len(SIGNALS)], number % 2 == 0
    after_s = draw.uniform(0, WHOLE_S / 2 if within else WHOLE_S)
    what = f"kill {number} (SIG{name} after {after_s:.3f} s{' of rounds' if within else ''})"
    bundle, log = os.path.join(folder, "one.json"), os.path.join(folder, "log")
    mark = f"{draw.randrange(600, 700)}.{draw.randrange(10 ** 9)}"
    os.mkdir(folder)
    environment = dict(os.environ, FAKE_LOG=log, FAKE_SLEEP=mark)
    environment.pop("FAKE_GPUS", None)
    words = [gpufloor, "run", "--rounds", str(ROUNDS), "--results", folder]
    process = subprocess.Popen(words + ["--output", bundle], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while within and begun(log) < 3 and process.poll() is None:
        time.sleep(0.01)
    time.sleep(after_s)
    process.send_signal(getattr(signal, f"SIG{name}"))
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"{what}: ends")
    check(not left_over((mark, gpufloor, os.path.join(os.path.dirname(gpufloor), "probes"))),
          f"{what}: no process is left")
    found = check_file(bundle, what, begun(log))
    others = set(os.listdir(folder)) - {"one.json", "log"}
    check(not others or (name == "KILL" and all(o.endswith((".tmp", ".trial")) for o in others)),
          f"{what}: nothing is left beside", others)
    if not found or found["complete"]:
        return
    ended = subprocess.run(words[:2] + ["--results", folder, "--continue", bundle], env=environment,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check(ended.returncode == 0, f"{what}: continued", ended.stderr[-300:])
    others = set(os.listdir(folder)) - {"one.json", "log"}
    check(not others, f"{what}: nothing is left beside after that", others)
    check_file(bundle, f"{what}, continued", ROUNDS + 1)


def main():
    draw = random.Random(SEED)
    work = tempfile.mkdtemp()
    os.makedirs(os.path.join(work, "bin/probes"))
    gpufloor = shutil.copy(sys.argv[1], os.path.join(work, "bin/gpufloor"))
    for name in PROBES:
        os.symlink(os.path.join(HERE, "fake_probe.sh"), os.path.join(work, "bin/probes", name))
    for number in range(KILLS):
        kill_once(gpufloor, os.path.join(work, str(number)), draw, number)
    shutil.rmtree(work)
    print(f"{KILLS} kills, seed {SEED}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
