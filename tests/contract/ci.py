#!/usr/bin/env python3
"""ci.py BUILD: the recipe of docs/CI.md, step by step and word by word, on committed bundles. `make` and
`gpufloor run` are stood in for: a run hands out the next of the bundles given. Bundles of one set pass;
a bundle with a planted slowdown fails by that number, until it is accepted; one whose second run is well
passes; what cannot be read fails. A bundle of one round passes however slow it is, as the page says. And
`gpufloor report --history` on bundles that are doctored: methods are never compared, changes are named.
What the page says of the two newest bundles is so: how many numbers they have (within 5 %), how many of them
moved (within a factor of 2), what share is UNSURE at 1 and at 3 % (within 2 points).
TAP on stdout."""
import glob
import os
import re
import shutil
import sys
import tempfile
import textwrap

from common import (Checkout, Ended, GOLDEN, H200, ROOT, check, finish, newest_several, of_programs, program_of, read, read_text, rows_of,
                    scaled, script, table, write, write_text)

PAGE = os.path.join(ROOT, "docs", "CI.md")
SLOW = "memory_latency.load_time{level=l2,timer=device}"


def slower(bundle, factor=1.05, method=None):
    """A copy with one metric's figures multiplied, and with another method of its program."""
    changed = scaled(bundle, lambda run, case, metric: factor if
                     (program_of(run), metric["name"], case["case"]) == ("memory_latency", "load_time", "level=l2") else 1)
    for run in changed["runs"]:
        if method and program_of(run) == "memory_latency":
            run["probe"]["method"] = method
    return changed


def steps():
    """(name, commands) of the page's workflow, in order, and the shell blocks outside of it."""
    text = read_text(PAGE)
    workflow = re.search(r"^```yaml\n(.*?)^```$", text, re.M | re.S).group(1)
    found = []
    for name, inline, block in re.findall(
            r"^      - name: (.*)\n        run: (?:([^|\n].*)\n|\|\n((?:          .*\n|\n)+))", workflow, re.M):
        found.append((name, inline or textwrap.dedent(block)))
    return found, re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)


class Place(Checkout):
    """A checkout whose runs hand out the bundles of a queue, one after the other."""

    def __init__(self, folder):
        super().__init__(folder, """\
            echo "$@" >>runs
            while [ "$1" != -o ]; do shift; done
            next=$(ls queue | head -n 1)
            [ -n "$next" ] || exit 1
            cp "queue/$next" "$2" && rm "queue/$next" """, STORE=os.path.join(folder, "store"),
                         GITHUB_STEP_SUMMARY=os.path.join(folder, "summary"))
        script(self.path("bin/make"), "exit 0")

    def go(self, *bundles):
        """One night: (exit status, name of the step that ended it, what it said, programs of the second run)."""
        shutil.rmtree(self.path("queue"))
        os.mkdir(self.path("queue"))
        write_text(self.path("runs"), "")
        for i, path in enumerate(bundles):
            shutil.copy(path, self.path("queue", f"{i}.json"))
        for name, commands in steps()[0]:
            done = self.shell(commands)
            if done.returncode:
                break
        return done.returncode, name, done.stdout + done.stderr, read_text(self.path("runs")).splitlines()

    def start(self, baseline):
        shutil.rmtree(self.env["STORE"], ignore_errors=True)
        os.makedirs(self.env["STORE"])
        shutil.copy(baseline, os.path.join(self.env["STORE"], "baseline.json"))


def check_gate(place, one, work):
    night = place.go(one[0])
    check(night[:2] == (0, "Gate") and len(night[3]) == 1, "the first night passes: it is the baseline", str(night))
    check(os.path.exists(place.env["STORE"] + "/baseline.json"), "and is kept")
    for i in range(len(one)):
        old, new, again = (one[i:] + one * 2)[:3]  # of two, the second run is the older bundle
        place.start(old)
        night = place.go(new, again)
        check(night[:2] == (0, "Gate"), f"nothing changed: {os.path.basename(old)} to {os.path.basename(new)} passes",
              str(night))

    place.start(one[0])
    planted = [write(os.path.join(work, f"planted{i}.json"), slower(read(path))) for i, path in enumerate((one[1:] + one)[:3])]
    night = place.go(*planted[:2])
    check(night[0] == 1 and night[1] == "Gate" and night[2].strip() == SLOW, "5 % more for a load from the L2 fails", str(night))
    check(len(night[3]) == 2 and "memory_latency" in night[3][1].split() and len(night[3][1].split()) < 8,
          "after a second run of the programs that are slower", str(night))
    night = place.go(planted[0], (one * 2)[2])
    check(night[:2] == (0, "Gate") and len(night[3]) == 2, "what the second run does not find passes", str(night))
    single = place.shell(next(block for block in steps()[1] if "compare" in block))
    check(single.returncode == 1 and "SLOWER" in single.stdout, "gated by few numbers, once, it fails", single.stdout)
    accepted = place.shell(next(block for block in steps()[1] if block.startswith("cp")))
    night = place.go(*planted[1:])
    check(accepted.returncode == 0 and night[:2] == (0, "Gate"), "once accepted it passes", str(night))
    check("numbers moved by more than 3 %" in read_text(place.env["GITHUB_STEP_SUMMARY"]),
          "what moved is in the summary of the job")
    check(place.go()[:2] == (1, "Measure"), "a run that fails stops the job")
    write_text(place.env["STORE"] + "/baseline.json", "{")
    night = place.go(one[1])
    check(night[0] != 0 and night[1] == "Gate", "a baseline that cannot be read fails", str(night))


def check_quick(one, work):
    quick = read(one[0])
    quick["runs"] = [run for run in quick["runs"] if run["run"]["round"] == 0]
    old = write(os.path.join(work, "quick.json"), quick)
    new = write(os.path.join(work, "quick_slow.json"), slower(quick, 2))
    status, text, _ = Ended("compare", old, new)
    check(status == 0 and " 0 slower" in text and "UNSURE" in text, "--quick: twice as slow, and exit 0", text[-400:])


def said_of_the_two(page):
    """Of two like bundles, as the page says: [moved, numbers, per cent UNSURE at 1 %, at 3 %]."""
    page = re.sub(r"\s+", " ", page)
    return [float(word) for pattern in (r"(\d+) of (\d+) numbers moved", r"At 1 %, ([\d.]+) % of .*?; at 3 %, ([\d.]+) %")
            for word in re.search(pattern, page).groups()]


def found_of_the_two(old, new):
    """The same, as `compare` has it."""
    verdicts, at_three = ([row["verdict"] for row in rows_of(Ended("compare", "--format", "tsv", *words, old, new).out)]
                          for words in ((), ("--threshold", "3")))
    n_moved = sum(verdict in ("FASTER", "SLOWER", "BETTER", "WORSE") for verdict in verdicts)
    return [n_moved, len(verdicts), *(100 * of.count("UNSURE") / len(of) for of in (verdicts, at_three))]


def untrue(said, found):
    """What the page says, and is not so."""
    is_so = (max(said[0], found[0]) <= 2 * min(said[0], found[0]), abs(said[1] / found[1] - 1) <= 0.05,
             abs(said[2] - found[2]) <= 2, abs(said[3] - found[3]) <= 2)
    names = ("numbers that moved", "numbers", "% UNSURE at 1 %", "% UNSURE at 3 %")
    return [f"{name}: {a}, not {b:.4g}" for name, a, b, so in zip(names, said, found, is_so) if not so]


def check_page(one):
    """The page on two like bundles. It once had 5 in 10000, 14 % and 7 %, and the bundles twice that, 17.5 % and 9.5 %."""
    found = found_of_the_two(*one[:2])
    bad = untrue(said_of_the_two(read_text(PAGE)), found)
    check(not bad, "what the page says of two like bundles is so", "\n".join(bad))
    far = (3 * found[0] + 1, 1.1 * found[1], found[2] - 3.5, found[3] - 2.5)
    planted = [untrue(found[:i] + [far[i]] + found[i + 1:], found) for i in range(4)]
    check([len(bad) for bad in planted] == [1, 1, 1, 1], "planted: each number that is not so is seen", planted)


def history(folder, *words):
    return Ended("report", "--history", folder, *words)


def check_history(one, work):
    folder = os.path.join(work, "history")
    os.mkdir(folder)
    base = of_programs(read(one[0]), ("memory_latency", "launch"))
    for i, (factor, method, driver) in enumerate([(1, 7, "1"), (1, 7, "1"), (2, 8, "1"), (2, 8, "2"), (2.2, 8, "2")]):
        bundle = slower(base, factor, method)
        bundle["started"] = f"2026-12-{10 + i}T00:00:00Z"
        bundle["environment"]["driver"]["version"] = driver
        write(os.path.join(folder, f"{9 - i}.json"), bundle)  # dates decide, not names
    status, text, _ = history(folder)
    lines = text.splitlines()
    row = next((line for line in lines if "load, L2 near" in line), "")
    check(status == 0 and "+10.0 %" in row, "the newest is compared with those of its method", text)
    check("\u2584|" in row or "\u2585|" in row, "a mark where the method changed", row)
    check("1 of " in lines[0] and "+10 %" in lines[0], "the finding counts what moved", lines[0])
    check(["driver" in line for line in lines if line.split()[1:2] == ["2026-12-13"]] == [True] and
          ["driver" in line for line in lines if line.split()[1:2] == ["2026-12-14"]] == [False],
          "a new driver is named, once", text)
    check(len(lines) <= 45 and max(map(len, lines)) <= 100, "it has at most 45 lines of 100 columns", text)
    status, text, _ = history(folder, "--metric", SLOW.replace("timer=device", "*"))
    rows = [line for line in text.splitlines() if line.strip().startswith("2026-12")]
    check(status == 0 and len(rows) == 5 and "method 8, was 7" in rows[2] and "%" not in rows[2] and
          "+10.0 %" in rows[4] and "driver" in rows[3], "one metric: a line a bundle", text)
    status, text, _ = history(folder, "--format", "tsv", "--metric", "memory_latency.load_time*")
    table = [line.split("\t") for line in text.splitlines()]
    check(status == 0 and len({len(line) for line in table}) == 1 and
          [line[7] for line in table if line[0] == SLOW] == ["7", "7", "8", "8", "8"], "TSV has all of it", text[:400])
    check(history(folder, "--metric", "no.such*").code == 2, "no metric matches: exit 2")
    check(history(os.path.join(ROOT, "tests")).code == 2, "no bundle: exit 2")
    check(history(folder, "--format", "json").code == 2, "no JSON: exit 2")
    shutil.copy(os.path.join(GOLDEN, "other_board.json"), folder)
    status, _, said = history(folder)
    check(status == 2 and "board" in said, "bundles of two boards: exit 2", said)
    many = os.path.join(work, "many")
    os.mkdir(many)
    for i in range(40):
        base["started"] = f"2026-{1 + i // 28:02}-{1 + i % 28:02}T00:00:00Z"
        base["suite"]["commit"] = f"{i:040}"
        write(os.path.join(many, f"{i}.json"), base)
    status, text, _ = history(many)
    check(status == 0 and len(text.splitlines()) <= 45 and max(map(len, text.splitlines())) <= 100,
          "forty bundles are 45 lines of 100 columns, too", text)


def check_zeros(one, work):
    """A number that is 0 at first, and stays so or not; bundles that do not say what their driver and toolkit were."""
    base = of_programs(read(one[0]), ("memory_latency",))
    for name, factors, change, strip in (("stays", (0, 0, 0), "+0.0 %", "\u2585" * 3),
                                         ("rises", (0, 0, 1), "from 0", "\u2585" * 2 + "\u2588"),
                                         ("falls", (1, 1, 0), "-100.0 %", "\u2585" * 2 + "\u2581")):
        folder = os.path.join(work, name)
        os.mkdir(folder)
        for i, factor in enumerate(factors):
            bundle = slower(base, factor)
            bundle["started"] = f"2026-12-{10 + i}T00:00:00Z"
            bundle["environment"].pop("driver")
            bundle["environment"].pop("runtime")
            write(os.path.join(folder, f"{i}.json"), bundle)
        text = history(folder).out
        row = next((line for line in text.splitlines() if "load, L2 near" in line), "")
        check(row.endswith(f"  {change}") and f" {strip} " in row, f"a number that {name}: {change}", row)
        check(("1 of" in text and "one from 0" in text) == (name == "rises") and "inf" not in text and "nan" not in text,
              f"a number that {name}: the finding says so", text)
        text = history(folder, "--metric", SLOW).out
        rows = [line for line in text.splitlines() if line.strip().startswith("2026-12")]
        check(len(rows) == 3 and rows[2].endswith(f"{change}  ") and all(row.split()[2:4] == ["-", "-"] for row in rows),
              f"a number that {name}: a line a bundle, '-' for what it does not say", text)


def main():
    one = newest_several(H200)[:3]
    check(len(one) >= 2, "there are two bundles of one set, or three")
    names = [name for name, _ in steps()[0]]
    check(names == ["Build", "Measure", "Show", "Gate"] and len(steps()[1]) == 2, "the page has its steps", str(names))
    with tempfile.TemporaryDirectory() as work:
        place = Place(os.path.join(work, "checkout"))
        check_gate(place, one, work)
        check_quick(one, work)
        check_page(one)
        check_history(one, work)
        check_zeros(one, work)
    return finish()


sys.exit(main())
