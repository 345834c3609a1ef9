#!/usr/bin/env python3
"""options.py BUILD: the words of every command. Any two options of a command either both have an
effect, or are refused with exit 2 and one line. Words that are mistyped get one line that names what
may have been meant. Help comes in each of its forms, and a bundle comes from stdin, too.

The options are those of --help. An option has an effect if what the command prints, writes or hands to
its programs differs from what it does without it, for the values below. `run` and `counters` measure
by stand-ins (tests/golden/fake_probe.sh)."""
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
GOLDEN = os.path.join(ROOT, "tests/golden")
H200 = os.path.join(ROOT, "results/nvidia-h200")
COUNTED = sorted(name for name in os.listdir(os.path.join(H200, "counters")) if "-norm." in name)[-1]
HELP = {"help", "usage", "version"}
passed = failed = 0
work = tempfile.mkdtemp()
GPUFLOOR = os.path.join(work, "tree/build/bin/gpufloor")


def check(name, right, said=""):
    global passed, failed
    if right:
        passed += 1
        return
    failed += 1
    print("FAIL", name)
    for line in str(said).split("\n")[:6]:
        print("    " + line[:180])


def run(words, program=GPUFLOOR, stdin=None, cwd=work, **environment):
    result = subprocess.run([program] + words, cwd=cwd, timeout=20, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C.UTF-8", **environment),
                            **({"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}))
    return result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def options_of(command):
    """{name: VALUE of --name=VALUE, or None}"""
    status, out, _ = run([command, "--help"], ARGP_HELP_FMT="rmargin=4000")
    found = re.findall(r"^ {2,6}(?:-\S, )?--([a-z-]+)(?:=(\S+))?", out, re.M)
    check(f"{command} --help", status == 0 and found, out)
    return {name: value or None for name, value in found if name not in HELP}


def commands():
    out = run(["--help"])[1].split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", out, re.M)


def plant_tree():
    """A tree with a few programs and few results: the committed ones take seconds to read."""
    folder = os.path.dirname(GPUFLOOR)
    os.makedirs(os.path.join(folder, "probes"))
    shutil.copy(os.path.join(BUILD, "bin/gpufloor"), folder)
    for probe in ("null", "spin", "host_memory"):
        if os.path.exists(os.path.join(BUILD, "bin/probes", probe)):
            os.symlink(os.path.join(BUILD, "bin/probes", probe), os.path.join(folder, "probes", probe))
    os.makedirs(os.path.join(work, "tree/results/nvidia-h200"))
    write("tree/results/nvidia-h200/a.json", parts_of(newest_with("peers"), {"peers", "launch"}))


# --- bundles --------------------------------------------------------------------------------------------

def golden(name):
    with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
        return json.load(file)


def write(name, document):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def newest_with(program):
    for name in sorted(os.listdir(H200), reverse=True):
        if name.endswith(".json"):
            with open(os.path.join(H200, name), encoding="utf-8") as file:
                bundle = json.load(file)
            if any(one["probe"]["name"] == program for one in bundle["runs"]):
                return bundle
    raise SystemExit(f"options.py: no committed bundle has {program}")


def parts_of(bundle, programs):
    bundle["runs"] = [one for one in bundle["runs"] if one["probe"]["name"] in programs]
    return bundle


def some():
    """Of a committed bundle the runs of some programs: with a fused operator that was counted, products
    beside which a report quotes others' from another bundle, and a run that failed."""
    found = parts_of(newest_with("norm"), {"memory_latency", "launch", "norm", "small_gemm", "spin", "null"})
    gone = next(one for one in found["runs"] if one["probe"]["name"] == "memory_latency")
    gone["status"], gone["why"] = "failed", "a check failed"
    return write("some.json", found)


def primitives():
    """What a latency floor rests on."""
    return write("primitives.json", parts_of(newest_with("edges"), {
        "edges", "gemv", "attention_decode", "sm_to_sm", "bandwidth", "instructions", "barriers"}))


def compared():
    """Two bundles: one program is gone, and nothing is slower. And the same under another ECC."""
    new = golden("small.json")
    names = sorted({one["probe"]["name"] for one in new["runs"]})
    for one in new["runs"]:
        for case in one["cases"]:
            for metric in case["metrics"]:
                if one["probe"]["name"] == "occupancy" and metric["better"] == "higher":
                    metric["median"], metric["best"] = 1.05 * metric["median"], 1.05 * metric["best"]
    new["runs"] = [one for one in new["runs"] if one["probe"]["name"] != "census"]
    check("the bundles for compare have what they need", {"census", "occupancy"} <= set(names), names)
    path = write("new.json", new)
    new["environment"]["gpu"]["ecc"] = not new["environment"]["gpu"].get("ecc")
    return os.path.join(GOLDEN, "small.json"), path, write("ecc.json", new)


# --- pairs ----------------------------------------------------------------------------------------------

def traces(folder):
    """What a command left in its folder: names and contents, without times."""
    found = []
    for where, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            with open(os.path.join(where, name), encoding="utf-8", errors="replace") as file:
                text = file.read()
            text = re.sub(r'"(started|sha256)":"[^"]*"|"elapsed_s":[0-9.e-]+|--seed \d{10}|"continued":\[[^]]*\]|\d{8}T\d{6}Z', "", text)
            found.append((re.sub(r"\d{8}T\d{6}Z", "TIME", os.path.join(where[len(folder):], name)), text))
    return found


class Command:
    """How a command is tried: its bundles, values for its options, and what is known of them."""
    fine = (0,)
    values = {}
    unseen = set()  # options whose effect this test cannot see; another test does
    same = set()    # pairs of which one wishes what the other implies
    apart = set()   # pairs that these bundles cannot try

    def __init__(self, name):
        self.name, self.options, self.cache = name, options_of(name), {}

    def base(self, given):
        return []

    def prepare(self, folder):
        return {}

    def variants(self):
        """[(name, word)]: one of each option, or one of each of its values."""
        found = []
        for name, value in self.options.items():
            if value and "|" in value:
                found += [(name, f"--{name}={one}") for one in value.split("|")]
            elif value:
                if name not in self.values:
                    check(f"{self.name}: this test has a value for --{name}={value}", False)
                    continue
                found.append((name, f"--{name}={self.values[name]}"))
            else:
                found.append((name, f"--{name}"))
        return found

    def tried(self, *words):
        """(status, what it did, stderr) with these options."""
        if words not in self.cache:
            folder = tempfile.mkdtemp(dir=work)
            environment = self.prepare(folder)
            given = {word.split("=")[0][2:] for word in words}
            status, out, said = run([self.name] + self.base(given) + list(words), cwd=folder,
                                    program=self.program(), **environment)
            hidden = re.compile(re.escape(folder) + r"|\d{8}T\d{6}Z|\d\d:\d\d:\d\d|\d+\.\d s\b|pid \d+|"
                                r"in [0-9.]+ (minutes|seconds)|\"(elapsed_s|seed)\": ?[0-9.e-]+|"
                                r"\"(started|sha256)\": ?\"[^\"]*\"")
            did = (status, hidden.sub("", out), hidden.sub("", said), traces(folder),
                   traces(os.path.join(work, self.name, "run")))
            self.cache[words] = status, did, said
            shutil.rmtree(folder)
        return self.cache[words]

    def program(self):
        return GPUFLOOR

    def refused(self, words):
        status, _, said = self.tried(*words)
        return status == 2 and said.count("\n") == 1 and any(word.split("=")[0] in said for word in words)

    def is_default(self, word):
        return word == "--format=text"

    def judge(self, one, other):
        """None, or what is wrong with two options."""
        if (one, other) in self.apart or (other, one) in self.apart or self.refused((one, other)):
            return None
        status, did, said = self.tried(one, other)
        if status not in self.fine:
            return f"exit {status}: {said}"
        for kept, word in ((one, other), (other, one)):
            name = word.split("=")[0][2:]
            if self.is_default(word) or name in self.unseen or (kept, word) in self.same:
                continue
            if did == self.tried(kept)[1]:
                return f"{word} has no effect beside {kept}"
        return None

    def walk(self):
        variants = self.variants()
        for name, word in variants:
            status, _, said = self.tried(word)
            check(f"{self.name} {word}: accepted alone", status in self.fine, said)
            before = self.cache.pop((word,))[1]
            again = self.tried(word)[1]
            check(f"{self.name} {word}: does the same again", again == before,
                  "\n".join(f"{a!r:.170}\n{b!r:.170}" for a, b in zip(before, again) if a != b))
        for (first, one), (second, other) in itertools.combinations(variants, 2):
            if first != second:
                wrong = self.judge(one, other)
                check(f"{self.name} {one} {other}: both have an effect, or they are refused", not wrong, wrong)


class Report(Command):
    values = {"section": "verdict", "metric": "launch.*", "history": os.path.join(GOLDEN, "results/nvidia-h200"), "html": "page.html",
              "figures": "figures", "tex": "tex", "plots": "plots", "results": os.path.join(GOLDEN, "results"),
              "map": "golden_alpha.map", "fleet": os.path.join(GOLDEN, "results/nvidia-h200")}
    # tab-separated values are every row, as are those of a glob; a map is nothing else
    same = {("--format=tsv", "--all"), ("--metric=launch.*", "--all"), ("--format=md", "--short"),
            ("--short", "--format=md"), ("--map=golden_alpha.map", "--format=tsv")}

    def base(self, given):
        if "map" in given:
            return [os.path.join(GOLDEN, "map.json")]
        return [] if given & {"history", "fleet"} else [SOME]


class Compare(Command):
    fine = (0, 1)
    unseen = {"allow"}  # of its bundles nothing is compared without it: see compared()
    values = {"threshold": "50", "metric": "[loc]*", "allow": "ecc", "results": os.path.join(GOLDEN, "results")}

    def base(self, given):
        old, new, ecc = BUNDLES
        return [old, ecc if "allow" in given else new]


class Claims(Command):
    values = {"counters": os.path.join(H200, "counters", COUNTED), "id": "C[1-4]*", "search": "memory"}

    def base(self, given):
        return [SOME]


class Check(Command):
    fine = (0, 1)
    values = {"results": os.path.join(GOLDEN, "results")}

    def base(self, given):
        return [SOME]


class Floor(Command):
    values = {"model": "llama-8b", "context": "2048", "batch": "2"}

    def base(self, given):
        return [PRIMITIVES]


class List(Command):
    same = {("--format=json", "--json")}

    def base(self, given):
        return ["null", "host_memory"]


class Measuring(Command):
    """By stand-ins that keep the words that they are given."""
    probes = ("null", "good", "needy")

    def __init__(self, name):
        super().__init__(name)
        self.tree = os.path.join(work, name, "bin")
        os.makedirs(os.path.join(self.tree, "probes"))
        os.makedirs(os.path.join(self.tree, "baselines"))
        shutil.copy(GPUFLOOR, self.tree)
        fake = os.path.join(GOLDEN, "fake_probe.sh")
        for probe in self.probes:
            os.symlink(fake, os.path.join(self.tree, "probes", probe))
        for program in ("baselines/peers.py", "baselines/fused_peers.py", "peer.sh"):
            os.symlink(fake, os.path.join(self.tree, program))
        with open(os.path.join(self.tree, "python3"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 0\n")  # it has torch
        os.chmod(os.path.join(self.tree, "python3"), 0o755)

    def program(self):
        return os.path.join(self.tree, "gpufloor")

    def prepare(self, folder):
        shutil.rmtree(os.path.join(work, self.name, "run"), ignore_errors=True)
        return {"FAKE_WORDS": os.path.join(folder, "words"), "FAKE_GPUS": "0 2",
                "PATH": self.tree + ":" + os.environ["PATH"]}


class Run(Measuring):
    unseen = {"timeout", "require-gpu"}  # tests/golden/session.sh sees them
    apart = {("--continue=cut.json", "--device=2")}  # it is of GPU 0

    def __init__(self, name):
        super().__init__(name)
        cut, results = os.path.join(work, "cut.json"), os.path.join(work, "boards")
        for board in ("gpu-0", "gpu-2"):
            os.makedirs(os.path.join(results, board))
            run(["run", "--seed=1", "--device=" + board[-1], "--output", os.path.join(results, board, "a.json")],
                program=self.program(), **self.prepare(work))
        with open(os.path.join(results, "gpu-0", "a.json"), encoding="utf-8") as file:
            whole = json.load(file)
        whole["complete"], whole["why"] = False, "interrupted"
        whole["runs"] = [one for one in whole["runs"] if one["run"]["round"] < 5]
        write("cut.json", whole)
        self.cut = cut
        self.values = {"continue": "cut.json", "device": "2", "each": "0,2", "output": "own.json",
                       "results": results, "rounds": "2", "seed": "5", "timeout": "60",
                       "with": os.path.join(self.tree, "peer.sh")}

    def prepare(self, folder):
        if hasattr(self, "cut"):
            shutil.copy(self.cut, os.path.join(folder, "cut.json"))
        return super().prepare(folder)

    def base(self, given):
        return [] if given & {"continue", "seed"} else ["--seed=1"]


class Counters(Measuring):
    fine = (0, 1)
    values = {"case": "level=*", "set": "bytes=1", "counters": "sm", "output": "own.json", "device": "2",
              "timeout": "60"}
    unseen = {"timeout"}

    def base(self, given):
        return ["good"]


TRIED = {"report": Report, "compare": Compare, "claims": Claims, "check": Check, "floor": Floor, "list": List, "run": Run, "counters": Counters}

# --- words ----------------------------------------------------------------------------------------------

MEANT = [
    (["repotr"], "unknown command 'repotr'.*; did you mean 'report'\\?"),
    (["rep"], "unknown command 'rep'.*; did you mean 'report'\\?"),
    (["hepl"], "unknown command 'hepl'.*; did you mean 'help'\\?"),
    (["help", "lsit"], "unknown command 'lsit'.*; did you mean 'list'\\?"),
    (["measure"], "unknown command 'measure': expected one of list run [a-z ]*$"),
    (["--hlp"], "unknown option '--hlp'; did you mean '--help'\\?"),
    (["run", "--quikc"], "unknown option '--quikc'; did you mean '--quick'\\?"),
    (["run", "--round", "5", "--sede=1"], "unknown option '--sede'; did you mean '--seed'\\?"),
    (["report", "--qualty", "--all"], "unknown option '--qualty'; did you mean '--quality'\\?"),
    (["report", "--nonsense"], "unknown option '--nonsense': expected one that 'gpufloor report --help' shows"),
    (["report", "-x"], "unknown option '-x': expected one that 'gpufloor report --help' shows"),
    (["report", "--h"], "'--h' may be one of --headline --history --html --help"),
    (["report", "--metric"], "--metric: expected --metric=GLOB"),
    (["report", "--all=3"], "--all: takes no value"),
    (["report", "--section=memry"], "--section memry: expected one of .*; did you mean 'memory'\\?"),
    (["report", "--metric=lunch.*", "SMALL"], "--metric lunch.\\*: no metric matches; did you mean 'launch.'\\?"),
    (["report", "--metric=launch.sumbit", "SMALL"], "no metric matches; did you mean 'launch.submit'\\?"),
    (["compare", "--metric=lunch.*", "SMALL", "SMALL"], "no metric to compare; did you mean 'launch.'\\?"),
    (["list", "memory_latncy", "null", "nul"], "unknown probe 'memory_latncy'"),
    (["run", "nulll"], "unknown probe 'nulll'.*; did you mean 'null'\\?"),
    (["counters", "spni"], "unknown probe 'spni'"),
    (["list", "host_memroy"], "unknown probe 'host_memroy'.*; did you mean 'host_memory'\\?"),
    (["report", "COUNTED", "--format=md"], "a document of counters is shown as text, and no option goes with it"),
    (["report", "COUNTED", "--metric=x"], "no option goes with it"),
    (["report", "--history", H200, "SMALL"], "--history, --fleet: of a folder, not together with a bundle"),
    (["run", "--each=0,0"], "--each: GPU 0 stands there twice"),
]


def words():
    for asked, expected in MEANT:
        asked = [{"SMALL": os.path.join(GOLDEN, "small.json"),
                  "COUNTED": os.path.join(GOLDEN, "counted.json")}.get(word, word) for word in asked]
        status, out, said = run(asked)
        check(f"{' '.join(asked)}: one line, exit 2",
              status == 2 and not out and said.count("\n") == 1 and re.search(expected, said), said)
    status, out, said = run(["report", "--search=--headline"])
    check("a word that an option takes is none", status == 2 and "--search" in said, said)
    status, out, said = run(["claims", "--search", "--headline", os.path.join(GOLDEN, "small.json")])
    check("a word that an option takes is not looked at", "no quote has it" in said, said)


def helps():
    whole = run(["--help"])
    check("--help", whole[0] == 0 and "Commands:" in whole[1] and not whole[2], whole)
    check("no line of it is folded", re.search(r"^  run +measure .* report$", whole[1], re.M), whole[1])
    for asked in (["-h"], ["-?"], ["help"], ["help", "--help"][:1]):
        check(" ".join(asked), run(asked) == whole)
    for command in commands():
        expected = run([command, "--help"])
        check(f"{command} --help", expected[0] == 0 and f"gpufloor {command}" in expected[1])
        for asked in ([command, "-h"], [command, "-?"], ["help", command], [command, "--nonsense", "-h"][::2]):
            check(" ".join(asked), run(asked) == expected)
    status, out, said = run([])
    check("alone: a short usage, exit 2", status == 2 and not out and said.startswith("Usage: ") and
          all(f"\n  {command} " in said for command in commands()), said)
    status, out, said = run(["help", "list", "run"])
    check("help takes one command", status == 2 and said.count("\n") == 1, said)
    null = os.path.join(BUILD, "bin/probes/null")
    check("a probe takes -h", run(["-h"], program=null) == run(["--help"], program=null))
    check("which is help", "-h " in run(["-h"], program=null)[1])


def stdin():
    small, new = (os.path.join(GOLDEN, name) for name in ("small.json", "small_new.json"))
    with open(small, "rb") as file:
        bundle = file.read()
    for asked in (["report", "--all", "-"], ["report", "--format=tsv", "-"], ["claims", "-"],
                  ["compare", "-", new], ["compare", new, "-"],
                  ["report", "--map=x", "-"], ["report", "--html=/dev/stdout", "-"]):
        expected = run([small if word == "-" else word for word in asked])
        got = run(asked, stdin=bundle)
        check(" ".join(asked), got[0] == expected[0] and
              [text.replace("small.json", "-").replace(GOLDEN + "/", "").replace("stdin", "-") for text in got[1:]] ==
              [text.replace("small.json", "-").replace(GOLDEN + "/", "").replace("stdin", "-") for text in expected[1:]],
              got[2])
    for text, expected in ((b"", "stdin: empty file"), (b"{", "stdin: not valid JSON"),
                           (bundle[:9000], "stdin: not valid JSON"),
                           (b" " * ((64 << 20) + 1), "stdin: more than 67108864 bytes")):
        status, out, said = run(["report", "-"], stdin=text)
        check(f"stdin of {len(text)} bytes is refused", status == 2 and not out and said.count("\n") == 1 and
              expected in said, said)
    for asked in (["compare", "-", "-"], ["report", "-", "-"], ["claims", "-", "-"]):
        status, out, said = run(asked, stdin=bundle)
        check(f"{' '.join(asked)}: refused", status == 2 and "'-' stands there 2 times" in said, said)
    os.mkfifo(os.path.join(work, "fifo.json"))
    for asked in (["report"], ["claims"], ["compare", small]):
        try:
            status, out, said = run(asked + [os.path.join(work, "fifo.json")])
        except subprocess.TimeoutExpired:
            status, said = None, "waits for ever"
        check(f"{asked[0]} of a FIFO: refused", status == 2 and "not a regular file" in said, said)


plant_tree()
BUNDLES, SOME, PRIMITIVES = compared(), some(), primitives()
words()
helps()
stdin()
status, _, said = run(["compare", BUNDLES[0], BUNDLES[2]])
check("without --allow=ecc nothing is compared", status == 2 and "--allow ecc" in said, said)
for command in sys.argv[2:] or commands():
    if command in TRIED:
        TRIED[command](command).walk()
    else:
        check(f"{command}: this test knows how to try it (a class of its own above)", False)
check("no command is tried that is none", set(TRIED) <= set(commands()), set(TRIED) - set(commands()))
shutil.rmtree(work)
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)
