#!/usr/bin/env python3
"""probes.py BUILD: what every probe owes to the caller, and every name that is an interface.

For each program in BUILD/bin/{probes,matmul,fused,links}: --help, --version, --list, bad command lines,
its exit and document where there is no GPU, and an output that cannot be written. If there is a
GPU, it is hidden, so that this test does the same on every machine."""
import glob
import json
import os
import re
import sys
import tempfile

from common import BUILD, Ended, FOLDERS, ROOT, UNITS, check, check_follows, finish, read_text, schema, skip, spread, write_text

PROGRAMS = [folder for folder in FOLDERS if os.path.isdir(os.path.join(ROOT, folder))]
OPTIONS = ("--device", "--set", "--case", "--check", "--deep", "--energy", "--json", "--counters", "--raw", "--seed", "--round",
           "--rounds", "--list", "--help", "--version")
SECONDS = 60

# Names that others depend on: probe, metric, unit, keys in their order.
HELD = [
    ("memory_latency", "load", "cycles", "level"),
    ("memory_latency", "load_time", "ns", "level,timer"),
    ("memory_latency", "curve", "cycles", "bytes"),
    ("memory_latency", "curve_time", "ns", "bytes,timer"),
    ("launch", "submit", "ns", "timer"),
    ("launch", "round_trip", "ns", "timer"),
    ("launch", "edge", "ns", "mode,timer"),
    ("occupancy", "read_rate", "bytes/s", "level,warps,loads"),
    ("host_memory", "load_time", "ns", "level,timer"),
    ("small_gemm", "time", "ns", "m,n,k,type,acc,layout,impl,tile,split,l2,timer"),
    ("small_gemm", "blocks", "count", None),
    ("small_gemm", "blocks_on_busiest_sm", "count", None),
    ("small_gemm", "error", None, None),
    ("bias_gelu_scale", "time", "ns", "rows,cols,type,impl,mode,l2,timer"),
    ("bias_gelu_scale", "share_of_copy", "ratio", None),
    ("bias_gelu_scale", "error", None, None),
]


def start(path, *words, **how):
    return Ended(*words, program=path, seconds=SECONDS, CUDA_VISIBLE_DEVICES="", LC_ALL="C", **how)


def parse(text):
    """The one JSON document of a text, or None; duplicate keys and NaN are errors."""
    def unique(pairs):
        keys = [k for k, _ in pairs]
        if len(set(keys)) != len(keys):
            raise ValueError("duplicate keys")
        return dict(pairs)

    def refuse(word):
        raise ValueError(word)
    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except ValueError:
        return None


# --- one probe ---------------------------------------------------------------------------------------------

def check_words(path, name):
    """--help, --version, --list. Returns the --list --json document."""
    ended = start(path, "--help")
    check(ended.code == 0 and not ended.err, f"{name} --help", str(ended))
    for option in OPTIONS:
        check(re.search(rf"{option}\b(?!-)", ended.out), f"{name} --help tells of {option}")
    ended = start(path, "--version")
    check(ended.code == 0 and re.fullmatch(r"gpufloor \d+\.\d+\.\d+ \((unknow|[0-9a-f]{7}|unknown)\+?\)\n",
                                           ended.out), f"{name} --version", str(ended))
    people = start(path, "--list")
    check(people.code == 0 and people.out and not people.err, f"{name} --list", str(people))
    ended = start(path, "--list", "--json")
    listed = parse(ended.out)
    if not check(ended.code == 0 and isinstance(listed, dict), f"{name} --list --json", str(ended)):
        return None
    check(listed["schema"] == "probe" and listed["name"] == name, f"{name} --list names it")
    check(listed["needs"] in ("host", "gpu if any", "gpu"), f"{name} --list needs", listed["needs"])
    check_metrics(listed, people.out, name)
    return listed


def check_metrics(listed, people, name):
    metrics = listed["metrics"]
    check(metrics, f"{name} has metrics")
    ids = [(m["name"], m["keys"], m.get("timer")) for m in metrics]
    check(len(set(ids)) == len(ids), f"{name}: no metric twice", str(ids))
    for m in metrics:
        which = f"{name}.{m['name']}"
        check(re.fullmatch(r"[a-z][a-z0-9_]*", m["name"]), f"{which} is a name")
        check(re.fullmatch(r"([a-z][a-z0-9_]*(,[a-z][a-z0-9_]*)*)?", m["keys"]), f"{which} keys", m["keys"])
        check(m["unit"] in UNITS, f"{which} has a unit of the closed list", m["unit"])
        check(m["better"] in ("lower", "higher", "exact"), f"{which} has a direction", m["better"])
        check(m["form"] in ("each", "slope", "p99", "p999"), f"{which} has a form", m["form"])
        check(m["unit"] != "ns" or m.get("timer") in ("device", "event", "wall"),
              f"{which} is a time and names its timer", str(m.get("timer")))
        check("timer" not in m["keys"].split(","), f"{which} does not list the timer as a key")
        check(m["what"].strip(), f"{which} says what it is")
        check(f"{name}.{m['name']}" in people and m["what"] in people, f"{which} is in --list")
    for p in listed["parameters"]:
        check(p["min"] <= p["default"] <= p["max"], f"{name} --set {p['name']}: default within bounds")


def lacks_sizes(listed):
    """What an operator owes to who has a size of his own: parameters, or why it takes none; not both."""
    own = [p["name"] for p in listed["parameters"] if p["name"] not in ("gpus", "loopback", "rank")]
    why = listed.get("fixed", "")
    if own and why:
        return f"it takes {', '.join(own)}, and says why it takes no sizes"
    return "" if own or (len(why) > 10 and not why.endswith(".")) else "it takes no size, and does not say why"


def check_sizes(path, folder, name, listed):
    wrong = lacks_sizes(listed)
    check(folder == "probes" or not wrong, f"{name} takes sizes by --set, or says why not", wrong)
    check(folder != "probes" or "fixed" not in listed, f"{name} is no operator: that it takes no sizes needs no reason")
    if "fixed" in listed:
        for option in ("--help", "--list"):
            said = re.sub(r"\s+", " ", start(path, option).out)
            check(f"sizes by --set: {listed['fixed']}" in said, f"{name} {option} says why it takes no sizes", said)


def check_planted_sizes():
    gpus, rows = {"name": "gpus"}, {"name": "rows"}
    for listed, seen in (({"parameters": []}, True), ({"parameters": [gpus]}, True), ({"parameters": [rows]}, False),
                         ({"parameters": [gpus, rows]}, False), ({"parameters": [gpus], "fixed": "it is one word"}, False),
                         ({"parameters": [], "fixed": ""}, True), ({"parameters": [rows], "fixed": "it is one word"}, True)):
        check(bool(lacks_sizes(listed)) == seen, f"planted: {listed}")


def check_bad_lines(path, name, listed):
    """A bad command line: exit 2, a message that names the bad part, nothing on stdout."""
    bad = [("--nonsense",), ("--device=12q",), ("--device=-1",), ("--seed=x",), ("--rounds=0",),
           ("--set=no_such_parameter=1",), ("--set=no_equals_sign",), ("stray",)]
    for p in listed["parameters"]:
        bad += [(f"--set={p['name']}={value}",) for value in
                ("", "12q", "-1", "1.5", "99999999999999999999", "9999999T", p["min"] - 1)]
        if p["max"] < 2 ** 63 - 1:
            bad.append((f"--set={p['name']}={p['max'] + 1}",))
    for words in bad:
        ended = start(path, *words)
        value = words[-1].split("=", 1)[-1] if words[0].startswith("--set") else words[0].split("=")[0]
        check(ended.code == 2 and ended.out == "" and str(value) in ended.err and name in ended.err,
              f"{name} {' '.join(words)}", str(ended))
    said = start(path, "--set=no_such_parameter=1").err.splitlines()[0]
    names = ", ".join(p["name"] for p in listed["parameters"])
    check(said.endswith("has no such parameter" + (names and "; it has " + names)), f"{name}: those it has", said)
    # Good options do not hide a bad one.
    ended = start(path, "--json", "--check", "--nonsense")
    check(ended.code == 2 and ended.out == "", f"{name} --json --check --nonsense", str(ended))
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "missing", "raw.tsv")
        ended = start(path, "--raw", raw)
        check(ended.code == 2 and raw in ended.err and ended.out == "", f"{name} --raw FILE that cannot "
              "be written", str(ended))


def check_private(document_text, name):
    """The document is an allow-list: it says nothing of who and where."""
    for word in {os.uname().nodename, ROOT, os.environ.get("HOME", ""), os.environ.get("USER", "")}:
        if len(word) > 4:
            check(word not in document_text, f"{name} keeps '{word}' to itself")


def check_document(path, name, listed):
    """Without a GPU: skipped with a reason, or measured and checked."""
    ended = start(path, "--json", "--seed=7", "--round=1", "--rounds=3")
    document = parse(ended.out)
    if not check(isinstance(document, dict) and ended.out.count("\n") == 1,
                 f"{name} --json is one line of JSON", str(ended)):
        return
    check_private(ended.out, name)
    check_follows("run", document, f"{name} --json")
    check(document["probe"]["name"] == name and document["probe"]["method"] == listed["method"],
          f"{name}: name and method in the document")
    run = document["run"]
    check((run["seed"], run["round"], run["rounds"]) == (7, 1, 3), f"{name}: seed and round are kept")
    if listed["needs"] == "gpu":
        check(ended.code == 77, f"{name} without a GPU leaves with 77", str(ended))
        check(document["status"] == "skipped" and document.get("why", "").startswith("no GPU: "),
              f"{name} says why it skipped", str(document.get("why")))
        check(document["cases"] == [], f"{name} has no figures without a GPU")
        check(document.get("gpu_state") in ("no_driver", "old_driver", "stub_driver", "no_device",
                                            "not_built"), f"{name}: gpu_state")
        check(ended.err.count("\n") == 1 and document["why"] in ended.err,
              f"{name} says it in one line", ended.err)
        ended = start(path, "--check")
        check(ended.code == 77 and ended.out == "", f"{name} --check without a GPU", str(ended))
        return
    check(ended.code == 0 and document["status"] == "ok" and ended.err == "",
          f"{name} measures without a GPU", f"exit {ended.code}, {ended.err[:300]!r}")
    check(not document["checks"] and document["checks_passed"] > 0, f"{name}: all checks hold",
          str(document["checks"]))
    check_cases(document, name, listed)
    ended = start(path, "--check", "--json")
    document = parse(ended.out)
    check(ended.code == 0 and document and document["run"]["check"] is True, f"{name} --check", str(ended))
    ended = start(path, "--case=no such case")
    check(ended.code == 2 and not ended.out and "no such case" in ended.err,
          f"{name} --case that matches nothing", str(ended))


def check_cases(document, name, listed):
    """Every figure of a document has a name that --list announces."""
    known = {(m["name"], m.get("timer")): m for m in listed["metrics"]}
    seen = set()
    check(document["cases"], f"{name} has cases")
    check(document.get("metrics", {}).keys() == {m["name"] for case in document["cases"] for m in case["metrics"]},
          f"{name} says once what all metrics of a name have", document.get("metrics"))
    spread(document)
    for case in document["cases"]:
        keys = ",".join(re.findall(r"(?:^|,)([a-z0-9_]+)=", case["case"]))
        for m in case["metrics"]:
            which = f"{name}.{m['name']}{{{case['case']}}}"
            said = known.get((m["name"], m.get("timer")))
            check(said is not None, f"{which} is in --list")
            check(which not in seen, f"{which} comes once")
            seen.add(which)
            if said:
                check(m["unit"] == said["unit"] and m["better"] == said["better"], f"{which} as in --list")
                check(keys == said["keys"], f"{which} has the keys of --list", f"{keys} {said['keys']}")
            check(m["median"] is not None or m.get("why"), f"{which}: a value or a why")
            if m["median"] is not None and m.get("min") is not None:
                check(m["min"] <= m["median"] <= m["max"] and m["n"] > 0, f"{which}: order", str(m))
            check(m["unit"] != "ns" or m["median"] is None or m["median"] > 0, f"{which}: positive")


def check_broken_stdout(path, name):
    """A result that cannot be delivered is a failure: not 0, and one line that says so."""
    lines = [("--list",), ("--list", "--json"), ("--check", "--json"), ("--json",), ()]
    for words in lines:
        for way in ("full", "closed"):
            with open("/dev/full", "wb") as full:
                ended = start(path, *words,
                            **({"stdout": full} if way == "full" else {"stdout": None, "before": lambda: os.close(1)}))
            said = ended.err.strip().split("\n")[-1]
            # If a table has nothing to show, nothing is lost: 77 is right.
            fine = ended.code not in (0, "hangs") and said.startswith(f"{name}:") and ended.code != 2
            check(fine, f"{name} {' '.join(words)} with stdout {way}",
                  f"exit {ended.code}, stderr {ended.err[-300:]!r}")


def check_raw(path, name):
    with tempfile.TemporaryDirectory() as folder:
        raw = write_text(os.path.join(folder, "raw.tsv"), "already here\n")
        start(path, "--raw", raw, "--json")
        lines = read_text(raw).splitlines()
        check(len(lines) > 1 and lines[0] == "already here", f"{name} --raw appends", str(lines[:2]))
        check(all(len(x.split("\t")) == 8 and x.startswith(name + "\t") for x in lines[1:]),
              f"{name} --raw has eight columns", str(lines[1:3]))


# --- all of them ----------------------------------------------------------------------------------------------

def sources():
    """(folder, name, whether it needs nvcc) of every probe in the tree: FOLDER/NAME/NAME.c is one."""
    for folder in PROGRAMS:
        for path in sorted(glob.glob(os.path.join(ROOT, folder, "*", "*.c"))):
            home, file = os.path.split(path)
            if file == os.path.basename(home) + ".c":
                yield folder, file[:-2], needs_gpu(home)


def needs_gpu(home):
    """Does a source of the folder say so? The Makefile asks the same."""
    return any("needs = PROBE_GPU," in read_text(path) for path in glob.glob(os.path.join(home, "*.c")))


def built_with_cuda():
    ended = start(os.path.join(BUILD, "bin/probes/null"), "--json")
    document = parse(ended.out) or {}
    return document.get("gpu_state") != "not_built"


def check_held(lists, cuda):
    for probe, metric, unit, keys in HELD:
        which = f"{probe}.{metric}"
        if probe not in lists:
            if cuda or probe == "host_memory":
                check(False, f"{which} is an interface", "its probe is not built")
            else:
                skip(f"{which} is an interface", "no CUDA toolkit")
            continue
        found = [m for m in lists[probe]["metrics"] if m["name"] == metric]
        if not check(found, f"{which} is an interface", "not in --list"):
            continue
        for m in found:
            have = ",".join(filter(None, [m["keys"], "timer" if m.get("timer") else ""]))
            check(unit in (None, m["unit"]), f"{which} is in {unit}", m["unit"])
            check(keys in (None, have), f"{which} has the keys {keys}", have)


def check_explaining(lists, cuda):
    """`run --devices` measures these one-GPU programs, too, beside those of links/."""
    text = read_text(os.path.join(ROOT, "report/cli/devices.c"))
    names = re.findall(r'"(\w+)"', re.search(r"explaining\[\] = \{(.*?)\}", text, re.S).group(1))
    check(len(names) > 5, "--devices has one-GPU programs", str(names))
    for name in names if cuda else ():
        check(name in lists and "gpus" not in [p["name"] for p in lists[name]["parameters"]],
              f"--devices: {name} is a one-GPU program")


def main():
    cuda = built_with_cuda()
    lists, tree = {}, list(sources())
    for folder in PROGRAMS:
        homes = {path.split("/")[-2] for path in glob.glob(os.path.join(ROOT, folder, "*", "*.c"))}
        check({n for f, n, _ in tree if f == folder} == homes - {"common"} != set(),
              f"every folder of {folder}/ with sources is a probe", str(sorted(homes)))
    check(len({n for _, n, _ in tree}) == len(tree), "no two probes share a name")
    for folder, name, needs_nvcc in tree:
        path = os.path.join(BUILD, "bin", folder, name)
        if needs_nvcc and not cuda:
            skip(name, "no CUDA toolkit, so it is not built")
            continue
        if not check(os.access(path, os.X_OK), f"{folder}/{name} is built"):
            continue
        lists[name] = listed = check_words(path, name)
        if not listed:
            del lists[name]
            continue
        check_sizes(path, folder, name, listed)
        check_bad_lines(path, name, listed)
        check_document(path, name, listed)
        check_broken_stdout(path, name)
        if listed["needs"] == "host":
            check_raw(path, name)
    for folder in PROGRAMS:
        for path in glob.glob(os.path.join(BUILD, "bin", folder, "*")):
            check((folder, os.path.basename(path)) in {(f, n) for f, n, _ in tree},
                  f"{path[len(BUILD) + 1:]} has a source", "left over from an earlier build?")
    check_planted_sizes()
    check_held(lists, cuda)
    check_explaining(lists, cuda)
    if schema.jsonschema is None:
        skip("schemas", "python3-jsonschema is not installed")
    return finish()


sys.exit(main())
