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
import sys
import tempfile

import rules
from common import BUILD, Ended, GOLDEN, ROOT, check, finish, read_text, table
BOTH = {"REPRODUCED", "REFUTED"}
WHY = ("it cannot decide, and is ", "in no unit test ")




def reached():
    """({claim: verdicts}, [(claim, verdict, how, sentence)]) over all unit tests that judge claims."""
    found, said = collections.defaultdict(set), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "reached")
        for source in sorted(glob.glob(os.path.join(ROOT, "tests/unit/test_*.c"))):
            text = read_text(source)
            if "test_claims_help.h" not in text and "test_reached.h" not in text:
                continue
            program = os.path.join(BUILD, "tests/unit", os.path.basename(source)[:-2])
            check(os.path.exists(program) and Ended(program=program, seconds=600, REACHED=path).code == 0,
                  f"{os.path.basename(program)} passes")
        for line in read_text(path).splitlines():
            claim, verdict, how, sentence = line.split("\t")
            found[claim].add(verdict)
            said.append((claim, verdict, how, sentence))
    return found, said


def speechless(said):
    """What was said without the claim's words, with a slot that is not filled, or without its form."""
    return sorted({f"{claim} {verdict}: {sentence}" for claim, verdict, how, sentence in said
                   if how == "generic" or (verdict != "NOT TESTABLE" and re.search(r"[{}]|\bnan\b", sentence))
                   or (verdict == "MIXED" and not rules.PARTLY.search(sentence))})


def claims():
    """(claims with a judge, those of them whose rule can decide)"""
    judged = [row["id"] for row in table("claims", os.path.join(GOLDEN, "host.json")) if row["verdict"] != "OPEN"]
    texts = {name: rules.text_of(fields.get("rule", []))
             for source in rules.read_sources().values()
             for name, fields in rules.entries(rules.tokens(source)).items()}
    return judged, {name for name in judged if not texts.get(name, "").startswith("Not testable:")}


def lacks(judged, deciding, found):
    """{claim: what is missing, or too much}"""
    lists = {c: BOTH - found.get(c, set()) if c in deciding else BOTH & found.get(c, set()) for c in judged}
    return {claim: verdicts for claim, verdicts in lists.items() if verdicts}


def main():
    found, said = reached()
    judged, deciding = claims()
    missing = lacks(judged, deciding, found)
    check(len(judged) > 50 and len(found) > 50, "claims and verdicts are found", f"{len(judged)}, {len(found)}")
    for claim in judged:
        check(claim not in missing, claim, WHY[claim in deciding] + " and ".join(sorted(missing.get(claim, []))))
    some = next(c for c in judged if c in deciding and c not in missing)
    for verdict in sorted(BOTH):
        planted = dict(found, **{some: found[some] - {verdict}})
        check(some in lacks(judged, deciding, planted), f"a {verdict} that is not reached is seen")
    lacking = speechless(said)
    check(not lacking, "each verdict has a sentence", "\n".join(lacking))
    for plant in ((some, "REFUTED", "generic", "Does not hold."), (some, "MIXED", "plain", "It is 3."),
                  (some, "REFUTED", "plain", "It is {x}.")):
        check(len(speechless(said + [plant])) > len(lacking), "a sentence without words or form is seen")
    return finish()


sys.exit(main())
