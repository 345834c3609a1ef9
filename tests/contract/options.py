#!/usr/bin/env python3
"""options.py BUILD: the words of every command. Any two options of a command either both have an
effect, or are refused with exit 2 and one line. Words that are mistyped get one line that names what
may have been meant. Help comes in each of its forms, and a bundle comes from stdin, too.

The options are those of --help. An option has an effect if what the command prints, writes or hands to
its programs differs from what it does without it, for the values below. `run` and `counters` measure
by stand-ins (tests/golden/fake_probe.sh)."""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import (BUILD, Ended, FAKE, GOLDEN, H200, RESULTS, check, finish, of_programs, plant_tree, program_of, read,
                    read_as_one, scaled, script, write)

COUNTED = sorted(name for name in os.listdir(os.path.join(H200, "counters")) if "-norm." in name)[-1]
HELP = {"help", "usage", "version"}
work = tempfile.mkdtemp()
GPUFLOOR = os.path.join(work, "tree/build/bin/gpufloor")


def run(words, program=GPUFLOOR, stdin=None, cwd=work, **environment):
    return tuple(Ended(*words, program=program, seconds=20, cwd=cwd, stdin=stdin, **environment))


def options_of(command):
    """{name: VALUE of --name=VALUE, or None}"""
    status, out, _ = run([command, "--help"], ARGP_HELP_FMT="rmargin=4000")
    found = re.findall(r"^ {2,6}(?:-\S, )?--([a-z-]+)(?:=(\S+))?", out, re.M)
    check(status == 0 and found, f"{command} --help", out)
    return {name: value or None for name, value in found if name not in HELP}


def commands():
    out = run(["--help"])[1].split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", out, re.M)


def plant_whole():
    """A tree with a few programs and few results: the committed ones take seconds to read."""
    plant_tree(os.path.dirname(GPUFLOOR), links={probe: os.path.join(BUILD, "bin/probes", probe)
                                                 for probe in ("null", "spin", "host_memory")})
    os.makedirs(os.path.join(work, "tree/results/nvidia-h200"))
    put("tree/results/nvidia-h200/a.json", of_programs(newest_with("peers"), {"peers", "launch"}))


# --- bundles --------------------------------------------------------------------------------------------

def put(name, document):
    return write(os.path.join(work, name), document)


def newest_with(program):
    for name in sorted(os.listdir(H200), reverse=True):
        if name.endswith(".json"):
            bundle = read(H200, name)
            if program in map(program_of, bundle["runs"]):
                return bundle
    raise SystemExit(f"options.py: no committed bundle has {program}")


def some():
    """Of a committed bundle the runs of some programs: with a fused operator that was counted, products
    beside which a report quotes others' from another bundle, and a run that failed."""
    found = of_programs(newest_with("norm"), {"memory_latency", "launch", "norm", "block_count", "small_gemm",
                                              "spin", "null"})
    gone = next(one for one in found["runs"] if program_of(one) == "memory_latency")
    gone["status"], gone["why"] = "failed", "a check failed"
    return put("some.json", found)


def primitives():
    """What a latency floor rests on."""
    return put("primitives.json", of_programs(read_as_one(H200), {
        "edges", "gemv", "attention_decode", "sm_to_sm", "bandwidth", "instructions", "barriers"}))


def compared():
    """Two bundles: one program is gone, nothing is slower, and an error has grown. And the same under another ECC."""
    old = read(GOLDEN, "small.json")
    for one in old["runs"]:
        for metric in (m for case in one["cases"] for m in case["metrics"] if m["name"] == "submit"):
            metric.update(name="error", unit="ratio")
    new = scaled(old, lambda one, case, metric: 1.05 if program_of(one) == "occupancy" and
                 metric["better"] == "higher" else 2 if metric["name"] == "error" else 1)
    names = set(map(program_of, new["runs"]))
    new = of_programs(new, names - {"census"})
    check({"census", "occupancy"} <= set(names), "the bundles for compare have what they need", names)
    path = put("new.json", new)
    new["environment"]["gpu"]["ecc"] = not new["environment"]["gpu"].get("ecc")
    return put("old.json", old), path, put("ecc.json", new)


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
                    check(False, f"{self.name}: this test has a value for --{name}={value}")
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
            check(status in self.fine, f"{self.name} {word}: accepted alone", said)
            before = self.cache.pop((word,))[1]
            again = self.tried(word)[1]
            check(again == before, f"{self.name} {word}: does the same again",
                  "\n".join(f"{a!r:.170}\n{b!r:.170}" for a, b in zip(before, again) if a != b))
        for (first, one), (second, other) in itertools.combinations(variants, 2):
            if first != second:
                wrong = self.judge(one, other)
                check(not wrong, f"{self.name} {one} {other}: both have an effect, or they are refused", wrong)


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
    same = {("--strict", "--worse"), ("--worse", "--strict")}  # it has what that names
    unseen = {"allow"}  # of its bundles nothing is compared without it: see compared()
    values = {"threshold": "50", "metric": "[loc]*", "allow": "ecc", "results": os.path.join(GOLDEN, "results")}

    def base(self, given):
        old, new, ecc = BUNDLES
        return [old, ecc if "allow" in given else new]


class Claims(Command):
    values = {"counters": os.path.join(H200, "counters", COUNTED), "id": "C[1-4]*", "search": "memory"}
    # no claim that does not hold, or is open, takes those counts
    apart = {("--counters=" + values["counters"], "--verdict=no"), ("--counters=" + values["counters"], "--verdict=open")}

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
        plant_tree(self.tree, stand_ins=self.probes)
        os.makedirs(os.path.join(self.tree, "baselines"))
        for program in ("baselines/peers.py", "baselines/fused_peers.py", "baselines/layer_peers.py",
                        "peer.sh"):
            os.symlink(FAKE, os.path.join(self.tree, program))
        script(os.path.join(self.tree, "python3"), "exit 0")  # it has torch

    def program(self):
        return os.path.join(self.tree, "gpufloor")

    def prepare(self, folder):
        shutil.rmtree(os.path.join(work, self.name, "run"), ignore_errors=True)
        return {"FAKE_WORDS": os.path.join(folder, "words"), "FAKE_GPUS": "0 2",
                "PATH": self.tree + ":" + os.environ["PATH"]}


class Run(Measuring):
    unseen = {"timeout", "require-gpu", "devices"}  # tests/golden/session.sh sees them, tests/faults/states.py the last

    def __init__(self, name):
        super().__init__(name)
        cut, results = os.path.join(work, "cut.json"), os.path.join(work, "boards")
        for board in ("gpu-0", "gpu-2"):
            os.makedirs(os.path.join(results, board))
            run(["run", "--seed=1", "--device=" + board[-1], "--output", os.path.join(results, board, "a.json")],
                program=self.program(), **self.prepare(work))
        whole = read(results, "gpu-0", "a.json")
        whole["complete"], whole["why"] = False, "interrupted"
        whole["runs"] = [one for one in whole["runs"] if one["run"]["round"] < 5]
        put("cut.json", whole)
        self.cut = cut
        self.values = {"continue": "cut.json", "device": "2", "devices": "0", "each": "0,2", "output": "own.json",
                       "results": results, "rounds": "2", "seed": "5", "timeout": "60",
                       "with": os.path.join(self.tree, "peer.sh")}
        # it is of GPU 0, and of no peers
        self.apart = {("--continue=cut.json", other) for other in ("--device=2", "--peers", "--with=" + self.values["with"])}

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
    (["report", "--metric=lunch.*", "SMALL"], "--metric lunch.\\*: no metric matches; did you mean 'launch\\.\\*'\\?"),
    (["report", "--metric=launch.sumbit", "SMALL"], "no metric matches; did you mean 'launch.submit\\*'\\?"),
    (["report", "--metric=launch.submit", "SMALL"], "no metric matches; did you mean 'launch.submit\\*'\\?"),
    (["compare", "--metric=lunch.*", "SMALL", "SMALL"], "no metric to compare; did you mean 'launch\\.\\*'\\?"),
    (["ledger"], "unknown command 'ledger'.*; the ledger is 'gpufloor claims'$"),
    (["page"], "unknown command 'page'.*; a page is written by 'gpufloor report --html=FILE'$"),
    (["report", "--section=small,memry", "SMALL"], "--section memry: expected one of "),
    (["report", "--section=small", "--section=vital", "SMALL"], "--section vital: not together with another"),
    (["report", "nvidia-h200"], "No such file or directory; did you mean '.*results/nvidia-h200'\\?"),
    (["floor", "nvidia-h200"], "No such file or directory; did you mean '.*results/nvidia-h200'\\?"),
    (["report", "SMALL", "COUNTED"], "shows such a document alone: name one file"),
    (["check", "-"], "check: -: expected a file"),
    (["check", H200], "a folder; check takes files: .*/\\*.json"),
    (["claims", "c24"], "c24: No such file or directory; a claim is named by --id=c24"),
    (["claims", "--id=24,C999"], "--id C999: no claim matches"),
    (["claims", "--verdict=maybe"], "--verdict maybe: expected one of yes no partly cant-tell open"),
    (["list", "memory_latncy", "null", "nul"], "unknown probe 'memory_latncy'"),
    (["run", "nulll"], "unknown probe 'nulll'.*; did you mean 'null'\\?"),
    (["counters", "spni"], "unknown probe 'spni'"),
    (["list", "host_memroy"], "unknown probe 'host_memroy'.*; did you mean 'host_memory'\\?"),
    (["report", "COUNTED", "--format=md"], "a document of counters is shown as text, and no option goes with it"),
    (["report", "COUNTED", "--metric=x"], "no option goes with it"),
    (["report", "--history", H200, "SMALL"], "--history, --fleet: of a folder, not together with a bundle"),
    (["report", "--history", RESULTS], "results: holds no .json file; folders in it that do: .*nvidia-h200"),
    (["report", "--fleet", RESULTS], "results: holds no .json file; folders in it that do: .*nvidia-h200"),
    *[([*command, "--results=SMALL", "SMALL"], "--results .*small.json: is a file; expected a folder")
      for command in (["report"], ["check"], ["compare", "SMALL"])],
    (["claims", "--id=24,25", "--verdict=open", H200], "--id 24,25: none of these claims has the verdict open"),
    (["run", "--each=0,0"], "--each: GPU 0 stands there twice"),
]


def words():
    for asked, expected in MEANT:
        asked = [word.replace("SMALL", os.path.join(GOLDEN, "small.json"))
                 .replace("COUNTED", os.path.join(GOLDEN, "counted.json")) for word in asked]
        status, out, said = run(asked)
        check(status == 2 and not out and said.count("\n") == 1 and re.search(expected, said),
              f"{' '.join(asked)}: one line, exit 2", said)
    status, out, said = run(["report", "--search=--headline"])
    check(status == 2 and "--search" in said, "a word that an option takes is none", said)
    status, out, said = run(["claims", "--search", "--headline", os.path.join(GOLDEN, "small.json")])
    check("no quote has it" in said, "a word that an option takes is not looked at", said)


def helps():
    whole = run(["--help"])
    check(whole[0] == 0 and "Commands:" in whole[1] and not whole[2], "--help", whole)
    check(re.search(r"^  run +measure .* report$", whole[1], re.M), "no line of it is folded", whole[1])
    for asked in (["-h"], ["-?"], ["help"], ["help", "--help"][:1]):
        check(run(asked) == whole, " ".join(asked))
    for command in commands():
        expected = run([command, "--help"])
        check(expected[0] == 0 and f"gpufloor {command}" in expected[1], f"{command} --help")
        for asked in ([command, "-h"], [command, "-?"], ["help", command], [command, "--nonsense", "-h"][::2]):
            check(run(asked) == expected, " ".join(asked))
    status, out, said = run([])
    check(status == 2 and not out and said.startswith("Usage: ") and
          all(f"\n  {command} " in said for command in commands()), "alone: a short usage, exit 2", said)
    status, out, said = run(["help", "list", "run"])
    check(status == 2 and said.count("\n") == 1, "help takes one command", said)
    null = os.path.join(BUILD, "bin/probes/null")
    check(run(["-h"], program=null) == run(["--help"], program=null), "a probe takes -h")
    check("-h " in run(["-h"], program=null)[1], "which is help")


def nameless(text):
    """Without the names that a bundle has in a file and from stdin."""
    return text.replace("BUNDLE.json", "-").replace("small.json", "-").replace(GOLDEN + "/", "").replace("stdin", "-")


def stdin():
    small, new = (os.path.join(GOLDEN, name) for name in ("small.json", "small_new.json"))
    with open(small, "rb") as file:
        bundle = file.read()
    for asked in (["report", "--all", "-"], ["report", "--format=tsv", "-"], ["claims", "-"],
                  ["compare", "-", new], ["compare", new, "-"],
                  ["report", "--map=x", "-"], ["report", "--html=/dev/stdout", "-"]):
        expected = run([small if word == "-" else word for word in asked])
        got = run(asked, stdin=bundle)
        check(got[0] == expected[0] and
              [nameless(text) for text in got[1:]] == [nameless(text) for text in expected[1:]], " ".join(asked),
              got[2])
    for text, expected in ((b"", "stdin: empty file"), (b"{", "stdin: not valid JSON"),
                           (bundle[:9000], "stdin: not valid JSON"),
                           (b" " * ((64 << 20) + 1), "stdin: more than 67108864 bytes")):
        status, out, said = run(["report", "-"], stdin=text)
        check(status == 2 and not out and said.count("\n") == 1 and
              expected in said, f"stdin of {len(text)} bytes is refused", said)
    for asked in (["compare", "-", "-"], ["report", "-", "-"], ["claims", "-", "-"]):
        status, out, said = run(asked, stdin=bundle)
        check(status == 2 and "'-' stands there 2 times" in said, f"{' '.join(asked)}: refused", said)
    os.mkfifo(os.path.join(work, "fifo.json"))
    for asked in (["report"], ["claims"], ["compare", small]):
        try:
            status, out, said = run(asked + [os.path.join(work, "fifo.json")])
        except subprocess.TimeoutExpired:
            status, said = None, "waits for ever"
        check(status == 2 and "not a regular file" in said, f"{asked[0]} of a FIFO: refused", said)


def folders():
    """A folder of two boards is none of either."""
    for name, bundle in (("a.json", "results/nvidia-l40s/2026-11-22.json"), ("b.json", "small.json")):
        os.makedirs(os.path.join(work, "two"), exist_ok=True)
        shutil.copy(os.path.join(GOLDEN, bundle), os.path.join(work, "two", name))
    for asked in (["report", "two"], ["claims", "two"], ["floor", "two"], ["compare", "two", SOME],
                  ["compare", SOME, "two"]):
        status, out, said = run(asked)
        check(status == 2 and not out and said.count("\n") == 1 and "expected one board's" in said,
              f"{' '.join(asked)}: refused", said)


plant_whole()
BUNDLES, SOME, PRIMITIVES = compared(), some(), primitives()
words()
helps()
stdin()
folders()
status, _, said = run(["compare", BUNDLES[0], BUNDLES[2]])
check(status == 2 and "--allow ecc" in said, "without --allow=ecc nothing is compared", said)
for command in sys.argv[2:] or commands():
    if command in TRIED:
        TRIED[command](command).walk()
    else:
        check(False, f"{command}: this test knows how to try it (a class of its own above)")
check(set(TRIED) <= set(commands()), "no command is tried that is none", set(TRIED) - set(commands()))
shutil.rmtree(work)
sys.exit(finish())
