#!/usr/bin/env python3
"""ledger.py BUILD: what `gpufloor claims` gives a reader. By default it is at most 150 lines of 100 columns, of
80 on a terminal that has no more; each claim that is decided on the committed bundles is told in its own
words, with a number, and no two variants of a claim are the same; what holds in part says what holds and what
does not; what cannot be told has a class. Each sentence of the articles is found by --search. The JSON follows
its schema, and says what the text says. Verdicts of the boards beside the bundle's own are with it."""
import collections
import fcntl
import glob
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import rules  # noqa: E402  pylint: disable=wrong-import-position
import schema  # noqa: E402  pylint: disable=wrong-import-position

ROOT = os.path.join(HERE, "..", "..")
GOLDEN = os.path.join(ROOT, "tests/golden")
GPUFLOOR = os.path.join(os.path.abspath(sys.argv[1]), "bin", "gpufloor")
LINES, COLUMNS, NARROW = 150, 100, 80
GENERIC = ("Holds: ", "Does not hold: ", "Holds in part: ")
PARTLY = re.compile(r"\bholds?\b.*\b(does|do) not\b|\b(does|do) not\b.*\bholds?\b|between", re.I | re.S)
DECIDED = {"REPRODUCED": "yes", "REFUTED": "no", "MIXED": "partly"}
passed = failed = skipped = 0


def check(ok, name, remark=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}" + (f": {remark}" if remark else ""))


def claims(*words):
    return subprocess.run([GPUFLOOR, "claims", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)


def has_terminals():
    """Not so in a system without devpts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def on_terminal(columns, *words):
    """What is printed on a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([GPUFLOOR, "claims", *words], stdin=subprocess.DEVNULL, stdout=follower) as process:
        os.close(follower)
        said = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            said += piece
        process.wait()
    os.close(leader)
    return said.decode().replace("\r\n", "\n")


def too_long(text, columns):
    return [line for line in text.splitlines() if len(line) > columns]


def faults_of(document):
    """{rule: faults} of a document."""
    f = collections.defaultdict(list)
    for c in document["claims"]:
        verdict, plain = c["verdict"], c["plain"]
        decided = verdict in DECIDED
        f["no sentence is generic"] += [c["id"]] if plain.startswith(GENERIC) else []
        f["every slot is filled"] += [c["id"]] if decided and re.search(r"[{}]|\bnan\b|\binf\b", plain) else []
        f["a decided claim has a number"] += [c["id"]] if decided and not re.search(r"\d", plain) and not c["parts"] else []
        f["partly: what holds, what does not"] += [c["id"]] if verdict == "MIXED" and not PARTLY.search(plain) else []
        f["a class for what cannot be told"] += [c["id"]] if (verdict == "NOT TESTABLE") != bool(c["why"]) else []
        f["a decided claim has figures"] += [c["id"]] if decided and not c["figures"] + c["parts"] else []
        f["a decided claim has both controls, as they must be"] += \
            [c["id"]] if decided and ({k["kind"] for k in c["controls"]} != {"positive", "negative"} or
                                      not all(k["as_it_must"] for k in c["controls"])) else []
    count = collections.Counter(c["verdict"] for c in document["claims"])
    totals = {v.lower().replace(" ", "_"): count[v] for v in (*DECIDED, "NOT TESTABLE", "OPEN")}
    f["the totals are those of the claims"] += [] if totals == document["totals"] else [str(totals)]
    return f


def check_document(board, document):
    for rule, faults in faults_of(document).items():
        check(not faults, f"{board}: {rule}", " ".join(faults))
    plants = {"no sentence is generic": {"plain": "Holds: it."}, "every slot is filled": {"plain": "It is {x}."},
              "a decided claim has a number": {"plain": "It is.", "parts": []},
              "partly: what holds, what does not": {"plain": "It is 3.", "verdict": "MIXED"},
              "a class for what cannot be told": {"verdict": "NOT TESTABLE", "why": None},
              "a decided claim has figures": {"figures": [], "parts": []},
              "a decided claim has both controls, as they must be": {"controls": []},
              "the totals are those of the claims": {"verdict": "OPEN"}}
    sound = next(c for c in document["claims"] if c["verdict"] == "REPRODUCED")
    for rule, plant in plants.items():
        planted = dict(document, claims=[dict(c, **plant) if c is sound else c for c in document["claims"]])
        check(len(faults_of(planted)[rule]) > len(faults_of(document)[rule]), f"a planted fault is seen: {rule}")


def check_schema(document):
    global skipped
    if schema.jsonschema is None:
        skipped += 1
        print("skip the schema of the ledger: no jsonschema")
        return
    validator = schema.validator_of("claims")
    check(not list(validator.iter_errors(document)), "the document follows its schema",
          str(next(validator.iter_errors(document), "")).splitlines()[:1])
    for plant in ({"verdict": "PERHAPS"}, {"surprise": 10}, {"why": {"class": "tired"}}, {"figures": [{}]}):
        planted = dict(document, claims=[dict(document["claims"][0], **plant)])
        check(list(validator.iter_errors(planted)), f"the schema sees {plant}")


def variants():
    """{id: [yes, no, partly]} of the sources, without those that a claim lacks."""
    found = {}
    for text in rules.read_sources().values():
        for name, fields in rules.entries(rules.tokens(text)).items():
            if fields.get("judge", ["NULL"]) != ["NULL"]:
                rule = rules.text_of(fields["rule"])
                said = " ".join(fields.get("plain", [])).split(" . ")
                found[name] = rule, [rules.text_of(rules.tokens(part)) for part in said if '"' in part]
    return found


def check_variants():
    found = variants()
    decided = {n: v for n, (rule, v) in found.items() if not rule.startswith("Not testable:")}
    check(len(decided) > 90, "the sentences are found", str(len(decided)))
    check(not [n for n, v in decided.items() if len(v) < 2], "a claim has words for yes and for no",
          " ".join(n for n, v in decided.items() if len(v) < 2))
    check(not [n for n, v in decided.items() if len(set(v)) < len(v)], "no two variants are the same")
    check(not [n for n, v in decided.items() for s in v if re.search(r"\b(H100|H200|A100|L40S|132|142)\b", s)],
          "no sentence assumes a board")


def check_text(board, folder, document):
    text = claims(folder).stdout
    lines = text.splitlines()
    check(0 < len(lines) <= LINES and not too_long(text, COLUMNS), f"{board}: {LINES} lines of {COLUMNS} columns",
          f"{len(lines)} lines, widest {max(map(len, lines), default=0)}")
    if has_terminals():
        narrow = on_terminal(NARROW, folder)
        check(narrow and not too_long(narrow, NARROW), f"{board}: {NARROW} columns on such a terminal",
              "; ".join(too_long(narrow, NARROW)[:2]))
        check(on_terminal(COLUMNS + 40, folder) == text, f"{board}: no more columns on a wider one")
    flat = " ".join(text.split())
    for c in document["claims"]:
        if c["verdict"] != "OPEN" and not c["id"][3:]:
            check(" ".join(c["plain"].split()) in flat, f"{board}: {c['id']} is in the text")


def check_search():
    with open(os.path.join(HERE, "quotes.tsv"), encoding="utf-8") as file:
        listed = [line.split("\t") for line in file.read().splitlines()[1:]]
    host = os.path.join(GOLDEN, "host.json")
    for number, _, sentence in listed:
        run = claims(host, "--search", sentence.upper() if sentence.isascii() else sentence)
        check(run.returncode == 0 and re.search(rf"^  {number}[a-z]? ", run.stdout, re.M), f"{number} is found",
              sentence[:60])
    none = claims(host, "--search", "never said by anyone")
    check(none.returncode == 2 and not none.stdout and none.stderr.count("\n") == 1, "a text that no quote has")


def check_elsewhere():
    with tempfile.TemporaryDirectory() as results:
        for board, name in (("nvidia-h200", "full.json"), ("nvidia-l40s", "other_board.json")):
            os.mkdir(os.path.join(results, board))
            shutil.copy(os.path.join(GOLDEN, name), os.path.join(results, board, "2026-11-22.json"))
        for path in ("nvidia-h200", "nvidia-h200/2026-11-22.json"):
            own = json.loads(claims("--format=json", os.path.join(results, path)).stdout)
            other = json.loads(claims("--format=json", os.path.join(results, "nvidia-l40s")).stdout)
            theirs = {c["id"]: c["verdict"] for c in other["claims"]}
            check(all(c["elsewhere"] == {"nvidia-l40s": theirs[c["id"]]} for c in own["claims"]),
                  f"the board beside is with {path}")
        shutil.rmtree(os.path.join(results, "nvidia-l40s"))
        own = json.loads(claims("--format=json", os.path.join(results, "nvidia-h200")).stdout)
        check(not any(c["elsewhere"] for c in own["claims"]), "a board alone has nothing beside it")


def main():
    for folder in sorted(glob.glob(os.path.join(ROOT, "results", "*", ""))):
        board = os.path.basename(folder[:-1])
        if board == "schema":
            continue
        document = json.loads(claims("--format=json", folder).stdout)
        check_document(board, document)
        check_schema(document)
        check_text(board, folder, document)
    check_variants()
    check_search()
    check_elsewhere()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
