#!/usr/bin/env python3
"""check.py BUILD: `gpufloor check` on a committed bundle into which one fault is planted at a time: the
question that it is about changes its answer, and no other does. The newest committed bundle of each board
may be contributed. Unreadable files are trouble, and the others are answered all the same."""
import copy
import glob
import json
import os
import sys
import tempfile

from common import (Ended, H200, RESULTS, ROOT, check, check_schema, finish, metrics_of, newest_set, of_programs,
                    program_of, read, scaled, write, write_text)

BOARD, NAME = "nvidia-h200", os.path.basename(newest_set(H200)[0])
STEM = NAME[:-len("-1.json")]
# A part of a bundle: every question is asked, and each file is read in a moment.
PROGRAMS = ("spin", "null", "memory_latency", "launch", "memory_map")


def gpufloor(*words):
    return Ended("check", *words)


def runs_of(bundle, program):
    return [run for run in bundle["runs"] if program_of(run) == program]


def scale(bundle, program, name, factor, case):
    changed = scaled(bundle, lambda run, one, metric: factor if (program_of(run), metric["name"], one["case"]) ==
                     (program, name, case) else 1)
    bundle["runs"] = changed["runs"]


def exact_rows(bundle, n):
    """The first run's metrics that must be equal in all runs."""
    found = [metric for run, _, metric in metrics_of(bundle) if run["run"]["round"] == 0 and
             metric["better"] == "exact" and metric.get("median") is not None]
    assert len(found) >= n
    return found[:n]


def disagree(bundle, n):
    for metric in exact_rows(bundle, n):
        metric["median"] += 1


def lose(bundle, n):
    for run in runs_of(bundle, "memory_latency"):
        for one in run["cases"][:n]:
            one["discarded"] = "SM clock moved by 1.3 % (1955 to 1980 MHz)"
            one["metrics"] = one["metrics"][:1]


def note(bundle, text):
    bundle["runs"][0]["notes"].append(text)


def put(bundle, path, value):
    *way, last = path.split(".")
    for key in way:
        bundle = bundle[key]
    bundle[last] = value


def repeat(bundle, n):
    for run in bundle["runs"][:n]:
        run["run"]["repeat"] = 1


def changed_cubins(bundle, runs):
    for run in runs:
        run["cubins"] = {image: "0" * 64 for image in run["cubins"]}


def setting(path, value):
    return lambda b: put(b, path, value)


GPU = "environment.gpu."
# (what is planted, question, its answer, how)
FAULTS = [
    ("a date of another shape", "document", "no", setting("started", f"{NAME[:10]} 15:27:46")),
    ("an interrupted run", "rounds", "no", setting("complete", False)),
    ("--quick", "rounds", "no", setting("quick", True)),
    ("--deep", "rounds", "no", setting("deep", True)),
    ("--energy", "rounds", "no", setting("energy", True)),
    ("six rounds asked for", "rounds", "no", setting("rounds", 6)),
    ("a round of one program missing", "rounds", "no",
     lambda b: b["runs"].remove(next(r for r in runs_of(b, "launch") if r["run"]["round"] == 3))),
    ("no hash of the card", "card", "no", setting(GPU + "id_hash", "")),
    ("no driver", "card", "no", setting("environment.driver.version", None)),
    ("a run of another card", "card", "no",
     lambda b: b["runs"][3].update(environment={"gpu": {"name": "x", "board": "x", "id_hash": "0" * 16}})),
    ("a run of another driver", "card", "no",
     lambda b: b["runs"][3].update(environment={"driver": {"version": "1.2"}})),
    ("changed sources", "code", "no", setting("suite.dirty", True)),
    ("two builds in one bundle", "code", "no", lambda b: changed_cubins(b, runs_of(b, "launch")[1:2])),
    ("other kernels than the tree's", "code", "note", lambda b: changed_cubins(b, runs_of(b, "launch"))),
    ("a foreign process", "processes", "no", lambda b: b["runs"][5].update(shared=True)),
    ("a run repeated for a foreign process", "processes", "no",
     lambda b: b["runs"][5].update(discarded="another process was on the GPU")),
    ("--shared", "processes", "no", setting("shared", True)),
    ("NVML not read", "processes", "note", lambda b: [run.pop("nvml") for run in b["runs"]]),
    ("MIG", "MIG", "no", setting(GPU + "mig", 1)),
    ("MIG not recorded", "MIG", "note", setting(GPU + "mig", None)),
    ("MPS", "MPS", "no", setting(GPU + "mps", True)),
    ("MPS recorded, and off", "MPS", "ok", setting(GPU + "mps", False)),
    ("a limit of the clock", "clocks", "no", setting(GPU + "application_clock_mhz", 1500)),
    ("a clock that is never reached", "clocks", "no",
     lambda b: scale(b, "spin", "sm_clock", 0.8, "source=measured")),
    ("a hot card", "clocks", "no", lambda b: put(b["runs"][9], "nvml.after.held_back_by", "power cap, thermal")),
    ("ECC off", "ECC", "no", setting(GPU + "ecc", False)),
    ("ECC not recorded", "ECC", "note", setting(GPU + "ecc", None)),
    ("a power limit that was lowered", "power limit", "no", setting(GPU + "power_limit_default_w", 750.0)),
    ("a power limit as shipped", "power limit", "ok", setting(GPU + "power_limit_default_w", 700.0)),
    ("a failed check", "checks", "no",
     lambda b: b["runs"][2]["checks"].append({"what": "the sum", "ok": False})),
    ("a wait that is 1 % off", "instrument", "no", lambda b: scale(b, "spin", "waited", 1.01, "asked=200000")),
    ("a stuck timer", "instrument", "no",
     lambda b: [metric.update(median=1000.0) for _, _, metric in metrics_of(b) if metric.get("timer") == "device"]),
    ("six rows that disagree", "agreement", "no", lambda b: disagree(b, 6)),
    ("five rows that disagree", "agreement", "note", lambda b: disagree(b, 5)),
    ("six cases lost to the clock", "clock losses", "no", lambda b: lose(b, 6)),
    ("one case lost to the clock", "clock losses", "note", lambda b: lose(b, 1)),
    ("a failed run", "runs", "no", lambda b: runs_of(b, "launch")[0].update(status="failed", why="killed")),
    ("a repeated run", "runs", "note", lambda b: repeat(b, 1)),
    ("a tenth of the runs repeated", "runs", "no", lambda b: repeat(b, 4)),
    ("8.2 MB", "size", "no", lambda b: note(b, "x" * 8100000)),
    ("a path", "nothing personal", "no", lambda b: note(b, "cannot open /home/ada/gpufloor/x")),
    ("a path as an address", "nothing personal", "no", lambda b: note(b, "see file:///home/ada/x")),
    ("a path of a server", "nothing personal", "no", lambda b: note(b, "//nas/home/ada/x")),
    ("a path after others that say nothing", "nothing personal", "no", lambda b: note(b, "a//b, /dev/shm/x, /srv/ada/x")),
    ("no path", "nothing personal", "ok", lambda b: note(b, "1 GB/s of ./a//b; /usr/lib/x; https://docs.nvidia.com/cuda/x.html")),
    ("a path of Windows", "nothing personal", "no", lambda b: note(b, "C:\\Users\\ada")),
    ("flags with a path", "nothing personal", "no", setting("suite.build", "gcc -O2 -I/opt/ada/include; nvcc 13")),
    ("a host's name", "nothing personal", "no", setting("environment.host.hostname", "node17")),
    ("a serial number among the facts", "nothing personal", "no",
     lambda b: b["runs"][1].update(serial="1650522000123")),
    ("a program that is called like this machine", "nothing personal", "ok",
     lambda b: b.update(programs=[os.uname().nodename])),
    ("an address of mail", "nothing personal", "no", lambda b: note(b, "ask ada@lab")),
    ("an address of mail behind a clock", "nothing personal", "no",
     lambda b: note(b, "2 SMs @ 1980 MHz, mail ada@example.org")),
    ("clocks alone", "nothing personal", "ok", lambda b: note(b, "2 SMs @ 1980 MHz, 1 @ 1965")),
    ("an address of the network", "nothing personal", "no", lambda b: note(b, "from 10.0.17.4")),
    ("a UUID", "nothing personal", "no", setting(GPU + "name", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")),
    ("an escape", "text", "no", lambda b: note(b, "\x1b[31mred")),
    ("a mark that turns text round", "text", "no", lambda b: note(b, "\u202egnp.exe")),
    *[(f"U+{ord(unseen):04X}", "text", "no", lambda b, unseen=unseen: note(b, "a" + unseen))
      for unseen in "\x7f\x9b\u00ad\u200b\u3164\ue000\ufe0f\ufeff\U000e0041\U000f0000"],
    ("letters of other languages", "text", "ok", lambda b: note(b, "\u00e9\u4e2d\u0434\U0001f600")),
]


def answers_of(document):
    return {q["question"]: q["answer"] for q in document["questions"]}


def check_planted(base, work):
    paths = []
    for i, bundle in enumerate([base] + [None] * len(FAULTS)):
        if bundle is None:
            bundle = copy.deepcopy(base)
            FAULTS[i - 1][3](bundle)
        folder = os.path.join(work, str(i), BOARD)
        os.makedirs(folder)
        paths.append(write(os.path.join(folder, NAME), bundle))
    status, text, said = gpufloor("--format", "json", *paths)
    documents = json.loads(text)["bundles"]
    check(status == 1 and len(documents) == len(paths) and not said, "each bundle is answered", said)
    check_schema("check", json.loads(text), lambda document: document["bundles"][0]["questions"][0].pop("answer"))
    sound = answers_of(documents[0])
    check(documents[0]["may_be_contributed"] and "no" not in sound.values(), "the base may be contributed", str(sound))
    for (what, question, answer, _), document in zip(FAULTS, documents[1:]):
        got = answers_of(document)
        others = {q: a for q, a in got.items() if a != sound[q] and q != question}
        check(got[question] == answer and not others, f"{what}: {question}: {answer}, and no other answer changes",
              f"{question}: {got[question]}, others: {others}\n" +
           "\n".join(f"{q['question']}: {q['why']}" for q in document["questions"] if q["question"] in (question, *others)))
        check(document["may_be_contributed"] == (answer != "no"), f"{what}: may{' not' * (answer == 'no')}")
    return paths


def check_names(base, work):
    place = os.path.join(work, "elsewhere.json")
    results = os.path.join(work, "results")
    os.makedirs(os.path.join(results, BOARD))
    os.symlink(os.path.join(ROOT, "results", "schema"), os.path.join(results, "schema"))
    write(place, of_programs(base, ("launch", "spin")))
    for taken, expected in ((None, 1), (1, 2), (2, 3)):
        if taken:
            for part in ("", "-launch-spin"):
                write_text(os.path.join(results, BOARD, f"{STEM}{part}-{taken}.json"), "")
        status, text, _ = gpufloor("--results", results, place)
        check(status == 0 and f"results/{BOARD}/{STEM}-launch-spin-{expected}.json" in " ".join(text.split()),
              f"a name elsewhere: number {expected} is free", text)
    check("ok    nothing personal" in text and text.endswith("\nmay be contributed\n"), "it ends with the sentence", text)
    os.unlink(os.path.join(results, "schema"))
    status, text, _ = gpufloor("--results", results, place)
    check(status == 0 and "note  nothing personal" in text, "without the schema a note says so", text)


def check_committed():
    for path in sorted(glob.glob(os.path.join(ROOT, "results", "nvidia-*", NAME))):
        status, text, said = gpufloor(path)
        check(status == 0 and "\n  no " not in text and text.endswith("\nmay be contributed\n") and
              max(map(len, text.splitlines())) <= max(100, len(path)),
              f"{os.path.relpath(path, ROOT)} may be contributed", text + said)


def check_report(base, work):
    """A clock that is limited stands in the head of the report, too."""
    path = os.path.join(work, "limited.json")
    for limit, said in ((1500, True), (1980, False), (None, False)):
        bundle = copy.deepcopy(base)
        if limit:
            bundle["environment"]["gpu"]["application_clock_mhz"] = limit
        text = Ended("report", "--headline", write(path, bundle)).out
        check(("application clock 1500 MHz of 1980" in text) == said and "driver" in text,
              f"report: a limit of {limit} MHz is {'named' if said else 'not named'}", text[:400])


def check_trouble(sound, work):
    bad = write_text(os.path.join(work, "bad.json"), "{")
    for path in (bad, os.path.join(work, "none.json"), work):
        status, text, said = gpufloor(path, sound)
        check(status == 2 and said.count("\n") == 1 and said.startswith("gpufloor check: " + path) and
              "may be contributed" in text, f"{os.path.basename(path) or 'a folder'}: trouble, and the next is answered",
              said + text)
    check(gpufloor().code == 2 and gpufloor("--format", "tsv", sound).code == 2, "usage: exit 2")


def main():
    base = of_programs(read(RESULTS, BOARD, NAME), PROGRAMS)
    with tempfile.TemporaryDirectory() as work:
        paths = check_planted(base, work)
        check_names(base, work)
        check_committed()
        check_report(base, work)
        check_trouble(paths[0], work)
    return finish()


sys.exit(main())
