#!/usr/bin/env python3
"""reach.py BUILD: every judge can decide both ways. The unit tests of the ledger write down each verdict that
they reach (tests/unit/test_reached.h). Each claim must be REPRODUCED in one of them and REFUTED in one;
one whose rule begins "Not testable:" must be neither in any. And it says each verdict that it reaches in its
own words (.plain): no sentence is formed without them, and what holds in part says what does and what does
not."""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GPUFLOOR = os.path.join(BUILD, "bin", "gpufloor")
BOTH = {"REPRODUCED", "REFUTED"}
WHY = ("it cannot decide, and is ", "in no unit test ")
passed = failed = 0


def check(ok, name, remark=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}" + (f": {remark}" if remark else ""))


def run(*words, **environment):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))


PARTLY = re.compile(r"\bholds?\b.*\b(does|do) not\b|\b(does|do) not\b.*\bholds?\b|between", re.I | re.S)


def reached():
    """({claim: verdicts}, [(claim, verdict, how, sentence)]) over all unit tests that judge claims."""
    found, told = collections.defaultdict(set), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "reached")
        for source in sorted(glob.glob(os.path.join(ROOT, "tests/unit/test_*.c"))):
            with open(source, encoding="utf-8") as file:
                text = file.read()
            if "test_claims_help.h" not in text and "test_reached.h" not in text:
                continue
            program = os.path.join(BUILD, "tests/unit", os.path.basename(source)[:-2])
            check(os.path.exists(program) and run(program, REACHED=path).returncode == 0,
                  f"{os.path.basename(program)} passes")
        with open(path, encoding="utf-8") as file:
            for line in file:
                claim, verdict, how, sentence = line.rstrip("\n").split("\t")
                found[claim].add(verdict)
                told.append((claim, verdict, how, sentence))
    return found, told


def speechless(told):
    """What was said without the claim's words, with a slot that is not filled, or without its form."""
    return sorted({f"{claim} {verdict}: {sentence}" for claim, verdict, how, sentence in told
                   if how == "generic" or (verdict != "NOT TESTABLE" and re.search(r"[{}]|\bnan\b", sentence))
                   or (verdict == "MIXED" and not PARTLY.search(sentence))})


def claims():
    """(claims with a judge, those of them whose rule can decide)"""
    ledger = run(GPUFLOOR, "claims", "--format=tsv", os.path.join(ROOT, "tests/golden/host.json")).stdout
    judged = [row.split("\t")[0] for row in ledger.splitlines()[1:] if row.split("\t")[1] != "OPEN"]
    texts = {name: rules.text_of(fields.get("rule", []))
             for source in rules.read_sources().values()
             for name, fields in rules.entries(rules.tokens(source)).items()}
    return judged, {name for name in judged if not texts.get(name, "").startswith("Not testable:")}


def lacks(judged, deciding, found):
    """{claim: what is missing, or too much}"""
    lists = {c: BOTH - found.get(c, set()) if c in deciding else BOTH & found.get(c, set()) for c in judged}
    return {claim: verdicts for claim, verdicts in lists.items() if verdicts}


def main():
    found, told = reached()
    judged, deciding = claims()
    missing = lacks(judged, deciding, found)
    check(len(judged) > 50 and len(found) > 50, "claims and verdicts are found", f"{len(judged)}, {len(found)}")
    for claim in judged:
        check(claim not in missing, claim, WHY[claim in deciding] + " and ".join(sorted(missing.get(claim, []))))
    some = next(c for c in judged if c in deciding and c not in missing)
    for verdict in sorted(BOTH):
        planted = dict(found, **{some: found[some] - {verdict}})
        check(some in lacks(judged, deciding, planted), f"a {verdict} that is not reached is seen")
    lacking = speechless(told)
    check(not lacking, "each verdict has a sentence", "\n".join(lacking))
    for plant in ((some, "REFUTED", "generic", "Does not hold."), (some, "MIXED", "plain", "It is 3."),
                  (some, "REFUTED", "plain", "It is {x}.")):
        check(len(speechless(told + [plant])) > len(lacking), "a sentence without words or form is seen")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
