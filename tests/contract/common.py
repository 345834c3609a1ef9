"""What the tests in Python of this folder share, and no suite itself: where things are, the count of what passed and
failed, documents and their figures, gpufloor as a command, terminals, folders with programs that stand in.

A test is called with BUILD, says each failure in a line `FAIL NAME: REMARK` (what more there is, indented), and ends
with sys.exit(finish())."""
import fcntl
import glob
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import textwrap

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.realpath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build")
GPUFLOOR = os.path.join(BUILD, "bin", "gpufloor")
CONTRACT = os.path.join(ROOT, "tests", "contract")
GOLDEN = os.path.join(ROOT, "tests", "golden")
RESULTS = os.path.join(ROOT, "results")
H100, H200 = (os.path.join(RESULTS, board) for board in ("nvidia-h100-80gb-hbm3", "nvidia-h200"))
FOLDERS = ("probes", "matmul", "fused", "links")  # of programs, as far as the tree has them
UNITS = set("ns cycles bytes bytes/s bytes/cycle flop/s ops/s ops/cycle hertz count ratio ulps watts "
            "joules celsius".split())
FIGURES = ("median", "best", "min", "max", "q1", "q3", "p01", "p99", "p999")  # of a metric in one run
SCALES = {"ns": (1, 1e-3, 1e-6, 1e-9), "bytes/s": (1e-9, 1e-12), "flop/s": (1e-12,), "hertz": (1e-6, 1e-9),
          "bytes": (1, 2**-10, 2**-20, 2**-30), "ratio": (1, 100), "cycles": (1,), "bytes/cycle": (1,)}  # of what is told
LINES_SAID, COLUMNS_SAID = 12, 300  # of a remark, at most

sys.path.append(os.path.join(ROOT, "tests"))
import schema  # noqa: E402  pylint: disable=wrong-import-position

# --- the count --------------------------------------------------------------------------------------------

count = {"passed": 0, "failed": 0, "skipped": 0}


def visible(text):
    """What a terminal would not show becomes its number."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def check(right, name, remark=""):
    """Counts one test; a remark is a text, or a list of what is wrong. Returns whether it is right."""
    count["passed" if right else "failed"] += 1
    if not right:
        lines = remark.splitlines() if isinstance(remark, str) else [str(one) for one in remark] \
            if isinstance(remark, (list, tuple, set)) else [str(remark)]
        one = len(lines) == 1 and len(lines[0]) <= COLUMNS_SAID
        print(visible(f"FAIL {name}" + (f": {lines[0]}" if one else "")))
        for line in [] if one else lines[:LINES_SAID]:
            print("    " + visible(line[:COLUMNS_SAID]))
    return bool(right)


def check_none(found, name):
    """Nothing may be found."""
    found = list(found)
    return check(not found, name, found)


def skip(name, why):
    count["skipped"] += 1
    print(f"skip {name}: {why}")


def finish():
    """The last line; the exit status."""
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] else 0


def follows_schema(kind, document):
    """Where python3-jsonschema is not installed, everything does."""
    return schema.jsonschema is None or schema.complaint(kind, document) is None


def check_follows(kind, document, name):
    """One document of many: the test says once that there is no jsonschema."""
    if schema.jsonschema is not None:
        wrong = schema.complaint(kind, document)
        check(wrong is None, f"{name} follows the schema", wrong)


def check_schema(kind, document, *spoils):
    """The document follows results/schema/KIND.schema.json; a copy that one of `spoils` was called with does not."""
    if schema.jsonschema is None:
        skip(f"the schema of {kind}", "python3-jsonschema is not installed")
        return
    wrong = schema.complaint(kind, document)
    check(wrong is None, f"{kind}: the JSON follows its schema", wrong)
    for number, spoil in enumerate(spoils, 1):
        spoilt = json.loads(json.dumps(document))
        spoil(spoilt)
        check(not follows_schema(kind, spoilt), f"{kind}: the schema sees planted fault {number}")


# --- documents --------------------------------------------------------------------------------------------

def read_text(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def preloaded(folder, source):
    """Builds a library for LD_PRELOAD, beside others in that folder, from a file in C; its path. Environment: CC."""
    library = os.path.join(folder, os.path.basename(source)[:-2] + ".so")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-fPIC", "-shared", "-o", library, source], check=True)
    return library


WORDS = ("unit", "better")  # that a run says once of all metrics of a name, or each metric itself


def spread(document):
    """A document in which each metric says its own unit and direction."""
    for run in document.get("runs", [document]):
        said = run.pop("metrics", {}) if "cases" in run else {}
        for metric in (metric for case in run.get("cases", []) for metric in case["metrics"]):
            metric.update({key: word for key, word in said.get(metric["name"], {}).items() if key not in metric})
    return document


def read(*path):
    return spread(json.loads(read_text(*path)))


def write(path, document):
    return write_text(path, json.dumps(document))


def script(path, text):
    """A program of bash, or of what its first line says."""
    text = textwrap.dedent(text)
    write_text(path, text if text.startswith("#!") else "#!/bin/bash\n" + text + "\n")
    os.chmod(path, 0o755)
    return path


def board_folders():
    """[(board, its folder)] of the committed results."""
    return [(os.path.basename(folder[:-1]), folder) for folder in sorted(glob.glob(os.path.join(RESULTS, "*", "")))
            if not folder.endswith("/schema/")]


def boards_of_one():
    """The same, of one GPU. Boards of several, 2x-..., hold other programs, and no claim is judged by them."""
    return [(board, folder) for board, folder in board_folders() if not re.match(r"\d+x-", board)]


def program_of(run):
    return run["probe"]["name"]


def programs_of(bundle):
    return set(map(program_of, bundle["runs"]))


def newest_whole(folder):
    """The path of the bundle with the most programs; of several the newest."""
    def order(path):
        bundle = read(path)
        return len(programs_of(bundle)), bundle["started"], path

    return max(glob.glob(os.path.join(folder, "*.json")), key=order)


def set_of(path):
    """The paths of its set: bundles of its folder that share all but their number."""
    return sorted(glob.glob(re.sub(r"-\d+\.json$", "-*.json", path)))


def newest_set(folder):
    """The set of the newest whole bundle."""
    return set_of(newest_whole(folder))


def newest_several(folder):
    """Of the newest set that has two bundles or more of the same programs, these; empty: there is none."""
    sets = [[other for other in set_of(path) if programs_of(read(other)) == programs_of(read(path))]
            for path in glob.glob(os.path.join(folder, "*-1.json"))]
    return max((paths for paths in sets if len(paths) > 1), key=lambda paths: read(paths[0])["started"], default=[])


def read_as_one(folder):
    """One bundle: each program's runs of the newest that has them."""
    bundles = [read(path) for path in glob.glob(os.path.join(folder, "*.json"))]
    bundles.sort(key=lambda bundle: bundle["started"], reverse=True)
    one, seen = bundles[0], programs_of(bundles[0])
    for bundle in bundles[1:]:
        one["runs"] += [run for run in bundle["runs"] if program_of(run) not in seen]
        seen |= programs_of(bundle)
    return one


def of_programs(bundle, programs):
    """The bundle, with the runs of these programs only."""
    return dict(bundle, runs=[run for run in bundle["runs"] if program_of(run) in programs])


def metrics_of(bundle):
    """(run, case, metric) of each metric of each run."""
    for run in bundle["runs"]:
        for case in run.get("cases", []):
            for metric in case["metrics"]:
                yield run, case, metric


def scaled(bundle, factor):
    """A copy whose figures are multiplied by factor(run, case, metric)."""
    changed = json.loads(json.dumps(bundle))
    for run, case, metric in metrics_of(changed):
        by = factor(run, case, metric)
        for figure in FIGURES:
            if by != 1 and metric.get(figure) is not None:
                metric[figure] *= by
    return changed


# --- the command ------------------------------------------------------------------------------------------

class Ended:
    """How a program ended: .code (or "hangs"), .out and .err as text."""

    def __init__(self, *words, program=GPUFLOOR, seconds=120, cwd=None, stdin=None, stdout=subprocess.PIPE,
                 before=None, **environment):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        try:
            done = subprocess.run([program, *words], stdout=stdout, stderr=subprocess.PIPE, cwd=cwd, env=environment,
                                  timeout=seconds, check=False, preexec_fn=before, **given)
            self.code, out, err = done.returncode, done.stdout or b"", done.stderr
        except subprocess.TimeoutExpired as late:
            self.code, out, err = "hangs", late.stdout or b"", late.stderr or b""
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def __iter__(self):
        return iter((self.code, self.out, self.err))

    def __str__(self):
        return f"exit {self.code}, stdout {self.out[:200]!r}, stderr {self.err[:400]!r}"

    def is_one_line(self, code=2):
        """Refused: this exit, one line on stderr, nothing on stdout."""
        return self.code == code and not self.out and self.err.count("\n") == 1


def told(*words, allowed=(0,), **environment):
    """What gpufloor prints; it must succeed."""
    ended = Ended(*words, **environment)
    if ended.code not in allowed:
        sys.exit(f"gpufloor {' '.join(words)}: {ended}")
    return ended.out


def rows_of(tsv):
    """The rows of a table, each a dictionary by its head."""
    rows = [line.split("\t") for line in tsv.splitlines()]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def table(*words):
    return rows_of(told(*words, "--format", "tsv"))


# --- terminals --------------------------------------------------------------------------------------------

def has_terminals():
    """Not so in a system without devpts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def on_terminal(columns, *words):
    """What gpufloor prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([GPUFLOOR, *words], stdin=subprocess.DEVNULL, stdout=theirs,
                          env=dict(os.environ, LC_ALL="C.UTF-8")) as child:
        os.close(theirs)
        out = b""
        try:
            while part := os.read(ours, 65536):
                out += part
        except OSError:  # the other end is closed
            pass
        child.wait()
    os.close(ours)
    return out.decode().replace("\r\n", "\n")


# --- trees of stand-ins -----------------------------------------------------------------------------------

FAKE = os.path.join(GOLDEN, "fake_probe.sh")


def plant_tree(folder, stand_ins=(), links=None):
    """A copy of gpufloor in a folder of its own, and programs beside it: `stand_ins` are names of
    tests/golden/fake_probe.sh, which does what its name says; `links` are
    {NAME: PATH}. Returns the path of gpufloor."""
    os.makedirs(os.path.join(folder, "probes"))
    with open(GPUFLOOR, "rb") as source, open(os.path.join(folder, "gpufloor"), "wb") as copy:
        copy.write(source.read())
    os.chmod(os.path.join(folder, "gpufloor"), 0o755)
    for name, path in {**{name: FAKE for name in stand_ins}, **(links or {})}.items():
        if os.path.exists(path):
            os.symlink(path, os.path.join(folder, "probes", name))
    return os.path.join(folder, "gpufloor")


class Checkout:
    """A folder in which the commands of a page run, word by word. Its `gpufloor run` does what `measures` says, in
    bash; any other command is gpufloor's own."""

    def __init__(self, folder, measures, **environment):
        self.folder = folder
        for name in ("build/bin", "bin", "queue"):
            os.makedirs(self.path(name))
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "CUDA_VISIBLE"))}
        self.env.update(LC_ALL="C.UTF-8", PATH=self.path("bin") + ":" + os.environ["PATH"], **environment)
        script(self.path("build/bin/gpufloor"),
               f'[ "$1" = run ] || exec "{GPUFLOOR}" "$@"\n' + textwrap.dedent(measures))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def shell(self, commands, **environment):
        return subprocess.run(["bash", "-e", "-c", commands], cwd=self.folder, env={**self.env, **environment},
                              capture_output=True, text=True, check=False)
