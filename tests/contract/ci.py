#!/usr/bin/env python3
"""ci.py BUILD: the recipe of docs/CI.md, step by step and word by word, on committed bundles. `make` and
`gpufloor run` are stood in for: a run hands out the next of the bundles given. Bundles of one set pass;
a bundle with a planted slowdown fails by that number, until it is accepted; one whose second run is well
passes; what cannot be read fails. A bundle of one round passes however slow it is, as the page says. And
`gpufloor report --history` on bundles that are doctored: methods are never compared, changes are named.
TAP on stdout."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

GPUFLOOR = os.path.realpath(os.path.join(sys.argv[1], "bin", "gpufloor"))
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "CI.md")
SLOW = "memory_latency.load_time{level=l2,timer=device}"
FIGURES = ("median", "best", "min", "max", "q1", "q3", "p01", "p99", "p999")
n_tests = 0


def ok(passed, what, detail=""):
    global n_tests
    n_tests += 1
    print(f"{'ok' if passed else 'not ok'} {n_tests} - {what}")
    if not passed and detail:
        print("\n".join("# " + line for line in detail.splitlines()[:20]))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, bundle):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bundle, file)
    return path


def scaled(bundle, program, metric_name, case_name, factor, method=None):
    """A copy with one metric's figures multiplied, and with another method of its program."""
    bundle = json.loads(json.dumps(bundle))
    for run in bundle["runs"]:
        if run["probe"]["name"] != program:
            continue
        if method:
            run["probe"]["method"] = method
        for case in run["cases"]:
            for metric in case["metrics"]:
                if metric["name"] == metric_name and case["case"] == case_name:
                    for figure in FIGURES:
                        if metric.get(figure) is not None:
                            metric[figure] *= factor
    return bundle


def slower(bundle, factor=1.05, method=None):
    return scaled(bundle, "memory_latency", "load_time", "level=l2", factor, method)


def steps():
    """(name, commands) of the page's workflow, in order, and the shell blocks outside of it."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    workflow = re.search(r"^```yaml\n(.*?)^```$", text, re.M | re.S).group(1)
    found = []
    for name, inline, block in re.findall(
            r"^      - name: (.*)\n        run: (?:([^|\n].*)\n|\|\n((?:          .*\n|\n)+))", workflow, re.M):
        found.append((name, inline or textwrap.dedent(block)))
    return found, re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)


class Place:
    """A folder in which the recipe runs."""

    def __init__(self, folder):
        self.folder = folder
        self.env = dict(os.environ, STORE=os.path.join(folder, "store"), PATH=folder + "/bin:" + os.environ["PATH"],
                        GITHUB_STEP_SUMMARY=os.path.join(folder, "summary"), LC_ALL="C.UTF-8")
        os.makedirs(os.path.join(folder, "build", "bin"))
        os.makedirs(os.path.join(folder, "bin"))
        self.script("bin/make", "exit 0")
        self.script("build/bin/gpufloor", f"""
            [ "$1" = run ] || exec "{GPUFLOOR}" "$@"
            echo "$@" >>runs
            while [ "$1" != -o ]; do shift; done
            next=$(ls queue | head -n 1)
            [ -n "$next" ] || exit 1
            cp "queue/$next" "$2" && rm "queue/$next" """)

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + textwrap.dedent(text) + "\n")
        os.chmod(path, 0o755)

    def shell(self, commands):
        return subprocess.run(["bash", "-e", "-c", commands], cwd=self.folder, env=self.env, capture_output=True,
                              text=True, check=False)

    def go(self, *bundles):
        """One night: (exit status, name of the step that ended it, what it said, programs of the second run)."""
        shutil.rmtree(os.path.join(self.folder, "queue"), ignore_errors=True)
        os.mkdir(os.path.join(self.folder, "queue"))
        open(os.path.join(self.folder, "runs"), "w", encoding="utf-8").close()
        for i, path in enumerate(bundles):
            shutil.copy(path, os.path.join(self.folder, "queue", f"{i}.json"))
        for name, commands in steps()[0]:
            done = self.shell(commands)
            if done.returncode:
                break
        with open(os.path.join(self.folder, "runs"), encoding="utf-8") as file:
            runs = file.read().splitlines()
        return done.returncode, name, done.stdout + done.stderr, runs

    def start(self, baseline):
        shutil.rmtree(self.env["STORE"], ignore_errors=True)
        os.makedirs(self.env["STORE"])
        shutil.copy(baseline, os.path.join(self.env["STORE"], "baseline.json"))


def check_gate(place, one, work):
    night = place.go(one[0])
    ok(night[:2] == (0, "Gate") and len(night[3]) == 1, "the first night passes: it is the baseline", str(night))
    ok(os.path.exists(place.env["STORE"] + "/baseline.json"), "and is kept")
    for i in range(len(one)):
        old, new, again = one[i:] + one[:i]
        place.start(old)
        night = place.go(new, again)
        ok(night[:2] == (0, "Gate"), f"nothing changed: {os.path.basename(old)} to {os.path.basename(new)} passes",
           str(night))

    place.start(one[0])
    planted = [write(os.path.join(work, f"planted{i}.json"), slower(read(path))) for i, path in enumerate(one[1:] + one[:1])]
    night = place.go(*planted[:2])
    ok(night[0] == 1 and night[1] == "Gate" and night[2].strip() == SLOW, "5 % more for a load from the L2 fails", str(night))
    ok(len(night[3]) == 2 and "memory_latency" in night[3][1].split() and len(night[3][1].split()) < 8,
       "after a second run of the programs that are slower", str(night))
    night = place.go(planted[0], one[2])
    ok(night[:2] == (0, "Gate") and len(night[3]) == 2, "what the second run does not find passes", str(night))
    single = place.shell(next(block for block in steps()[1] if "compare" in block))
    ok(single.returncode == 1 and "SLOWER" in single.stdout, "gated by few numbers, once, it fails", single.stdout)
    accepted = place.shell(next(block for block in steps()[1] if block.startswith("cp")))
    night = place.go(*planted[1:])
    ok(accepted.returncode == 0 and night[:2] == (0, "Gate"), "once accepted it passes", str(night))
    with open(place.env["GITHUB_STEP_SUMMARY"], encoding="utf-8") as file:
        ok("numbers moved by more than 3 %" in file.read(), "what moved is in the summary of the job")
    ok(place.go()[:2] == (1, "Measure"), "a run that fails stops the job")
    with open(place.env["STORE"] + "/baseline.json", "w", encoding="utf-8") as file:
        file.write("{")
    night = place.go(one[1])
    ok(night[0] != 0 and night[1] == "Gate", "a baseline that cannot be read fails", str(night))


def check_quick(one, work):
    quick = read(one[0])
    quick["runs"] = [run for run in quick["runs"] if run["run"]["round"] == 0]
    old = write(os.path.join(work, "quick.json"), quick)
    new = write(os.path.join(work, "quick_slow.json"), slower(quick, 2))
    done = subprocess.run([GPUFLOOR, "compare", old, new], capture_output=True, text=True, check=False)
    ok(done.returncode == 0 and " 0 slower" in done.stdout and "UNSURE" in done.stdout,
       "--quick: twice as slow, and exit 0", done.stdout[-400:])


def history(folder, *words):
    done = subprocess.run([GPUFLOOR, "report", "--history", folder, *words], capture_output=True, text=True,
                          check=False, env=dict(os.environ, LC_ALL="C.UTF-8"))
    return done.returncode, done.stdout, done.stderr


def check_history(one, work):
    folder = os.path.join(work, "history")
    os.mkdir(folder)
    base = read(one[0])
    base["runs"] = [run for run in base["runs"] if run["probe"]["name"] in ("memory_latency", "launch")]
    for i, (factor, method, driver) in enumerate([(1, 7, "1"), (1, 7, "1"), (2, 8, "1"), (2, 8, "2"), (2.2, 8, "2")]):
        bundle = slower(base, factor, method)
        bundle["started"] = f"2026-12-{10 + i}T00:00:00Z"
        bundle["environment"]["driver"]["version"] = driver
        write(os.path.join(folder, f"{9 - i}.json"), bundle)  # dates decide, not names
    status, text, _ = history(folder)
    lines = text.splitlines()
    row = next((line for line in lines if "load, L2 near" in line), "")
    ok(status == 0 and "+10.0 %" in row, "the newest is compared with those of its method", text)
    ok("\u2584|" in row or "\u2585|" in row, "a mark where the method changed", row)
    ok("1 of " in lines[0] and "+10 %" in lines[0], "the finding counts what moved", lines[0])
    ok(["driver" in line for line in lines if line.split()[1:2] == ["2026-12-13"]] == [True] and
       ["driver" in line for line in lines if line.split()[1:2] == ["2026-12-14"]] == [False],
       "a new driver is named, once", text)
    ok(len(lines) <= 45 and max(map(len, lines)) <= 100, "it has at most 45 lines of 100 columns", text)
    status, text, _ = history(folder, "--metric", SLOW.replace("timer=device", "*"))
    rows = [line for line in text.splitlines() if line.strip().startswith("2026-12")]
    ok(status == 0 and len(rows) == 5 and "method 8, was 7" in rows[2] and "%" not in rows[2] and
       "+10.0 %" in rows[4] and "driver" in rows[3], "one metric: a line a bundle", text)
    status, text, _ = history(folder, "--format", "tsv", "--metric", "memory_latency.load_time*")
    table = [line.split("\t") for line in text.splitlines()]
    ok(status == 0 and len({len(line) for line in table}) == 1 and
       [line[7] for line in table if line[0] == SLOW] == ["7", "7", "8", "8", "8"], "TSV has all of it", text[:400])
    ok(history(folder, "--metric", "no.such*")[0] == 2, "no metric matches: exit 2")
    ok(history(os.path.join(ROOT, "tests"))[0] == 2, "no bundle: exit 2")
    ok(history(folder, "--format", "json")[0] == 2, "no JSON: exit 2")
    shutil.copy(os.path.join(ROOT, "tests", "golden", "other_board.json"), folder)
    status, _, said = history(folder)
    ok(status == 2 and "board" in said, "bundles of two boards: exit 2", said)
    many = os.path.join(work, "many")
    os.mkdir(many)
    for i in range(40):
        base["started"] = f"2026-{1 + i // 28:02}-{1 + i % 28:02}T00:00:00Z"
        base["suite"]["commit"] = f"{i:040}"
        write(os.path.join(many, f"{i}.json"), base)
    status, text, _ = history(many)
    ok(status == 0 and len(text.splitlines()) <= 45 and max(map(len, text.splitlines())) <= 100,
       "forty bundles are 45 lines of 100 columns, too", text)


def main():
    one = sorted(glob.glob(os.path.join(ROOT, "results", "nvidia-h200", "*-d1d5746-?.json")))
    ok(len(one) == 3, "there are three bundles of one set")
    names = [name for name, _ in steps()[0]]
    ok(names == ["Build", "Measure", "Show", "Gate"] and len(steps()[1]) == 2, "the page has its steps", str(names))
    with tempfile.TemporaryDirectory() as work:
        place = Place(os.path.join(work, "checkout"))
        check_gate(place, one, work)
        check_quick(one, work)
        check_history(one, work)
    print(f"1..{n_tests}")


main()
