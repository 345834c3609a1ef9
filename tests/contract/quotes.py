#!/usr/bin/env python3
"""quotes.py BUILD: the ledger leaves out no claim, and invents none. quotes.tsv lists every sentence of the
articles that the ledger is to judge, with its number. Each number is an entry of report/claims, whose quote
consists of sentences of that number, verbatim, joined by " [...] ". A row with a letter (C50b) quotes what
its number quotes, or another sentence of the article. The clause that a rule tests is words of its quote, in
their order; only a row with a letter has none.
A claim is either open, says what would decide it, and has no rule, or it has a judge and a rule. The
command shows all of them."""
import collections
import os
import sys

import rules
from common import CONTRACT, GOLDEN, check, check_none, finish, read_text, table
JOINED = " [...] "


def quotes():
    """{number: {(article, sentence)}}"""
    listed = collections.defaultdict(set)
    for line in read_text(CONTRACT, "quotes.tsv").splitlines()[1:]:
        number, article, sentence = line.split("\t")
        listed[number].add((article, sentence))
    return listed


def claims():
    found = {}
    for path, text in rules.read_sources().items():
        for name, fields in rules.entries(rules.tokens(text)).items():
            found[name] = {key: rules.text_of(value) if value[0].startswith('"') else value[0]
                           for key, value in fields.items()}
            found[name]["path"] = path
    return found


def apart():
    """{number: {(article, sentence)}} of report/claims/quotes.c."""
    listed = collections.defaultdict(set)
    t = rules.tokens(rules.read_sources()["quotes.c"])
    for i, token in enumerate(t):
        if token == "{" and t[i + 1].startswith('"'):
            article, sentence, ids = [rules.text_of(part) for part in split(t[i + 1:rules.closing(t, i)])][:3]
            for number in ids.split():
                listed[number].add((article, sentence))
    return listed


def split(t):
    """The tokens between commas."""
    parts = [[]]
    for token in t:
        parts += [[]] if token == "," else []
        parts[-1] += [token] if token != "," else []
    return parts


def kept(found, listed):
    """{number: {(article, sentence)}} of the list that a claim of that number quotes."""
    return {n: {(a, s) for a, s in pairs if any(c["article"] == a and s in c["quote"] for name, c in found.items()
                                                if name[:3] == n)} for n, pairs in listed.items()}


def foreign(name, claim, listed):
    """The parts of a quote that are no sentence of its number; of a row with a letter: of its article."""
    own = listed.get(name, set()) if len(name) == 3 else {pair for pairs in listed.values() for pair in pairs}
    parts = [claim["quote"]] if (claim["article"], claim["quote"]) in own else claim["quote"].split(JOINED)
    return [part for part in parts if (claim["article"], part) not in own]


def is_within(clause, quote):
    """Are the parts of the clause in the quote, one behind the other?"""
    at = 0
    for part in clause.split(JOINED):
        at = quote.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def faults_of(found, listed, others):
    """{rule: faults}; a fault names its claim. others: what apart() gives."""
    f = collections.defaultdict(list)
    own = kept(found, listed)
    f["what no claim quotes is in quotes.c"] = [f"{n} {s!r}" for n in listed
                                                for _, s in listed[n] - own[n] - others.get(n, set())]
    f["and nothing else is"] = [f"{n} {s!r}" for n in others for _, s in others[n] - listed.get(n, set()) | others[n] & own.get(n, set())]
    f["every number is a row"] = [n for n in listed if n not in found]
    for name, claim in sorted(found.items()):
        f["every row has a number"] += [name] if name[:3] not in listed else []
        f["quotes are verbatim"] += [f"{name} {part!r}" for part in foreign(name, claim, listed)]
        clause = claim.get("clause")
        f["a clause is words of its quote"] += [name] if clause and not is_within(clause, claim["quote"]) else []
        f["only a row with a letter is ours alone"] += [name] if clause == "" and len(name) == 3 else []
        is_open, is_judged = bool(claim.get("open")), claim.get("judge", "NULL") != "NULL"
        f["a claim is open, or has a judge"] += [name] if is_open == is_judged else []
        f["an open claim has no rule, another has one"] += [name] if is_open == bool(claim.get("rule")) else []
        f["an open claim's rule has no date"] += [name] if is_open and claim.get("since") else []
        f["every claim says what is judged"] += [name] if not claim.get("statement") else []
    return f


def check_planted(found, listed, others):
    """Each rule fails on a fault that is planted for it."""
    some, a_number = next(n for n in found if found[n].get("judge") and len(n) == 3), next(iter(listed))
    opened = next(n for n in found if found[n].get("open"))
    faults = {
        "every number is a row": (a_number, None),
        "every row has a number": ("C00", dict(found[some])),
        "quotes are verbatim": (some, dict(found[some], quote=found[some]["quote"] + " Always.")),
        "a clause is words of its quote": (some, dict(found[some], clause="never said")),
        "only a row with a letter is ours alone": (some, dict(found[some], clause="")),
        "a claim is open, or has a judge": (opened, dict(found[opened], judge="judge_x")),
        "an open claim has no rule, another has one": (some, dict(found[some], rule="")),
        "an open claim's rule has no date": (opened, dict(found[opened], since="2026-11-22")),
        "every claim says what is judged": (some, dict(found[some], statement="")),
    }
    sound = faults_of(found, listed, others)
    some_other = next(n for n in others)
    more = {"what no claim quotes is in quotes.c": {some_other: set()},
            "and nothing else is": {some_other: others[some_other] | {("nobody", "Never said.")}}}
    for rule, plant in more.items():
        seen = faults_of(found, listed, {**others, **plant})[rule]
        check(len(seen) > len(sound[rule]), f"a planted fault is seen: {rule}", rule)
    check_none(sorted(set(sound) ^ set(faults) ^ set(more)), "every rule has a planted fault")
    for rule, (name, claim) in faults.items():
        doctored = {n: c for n, c in {**found, name: claim}.items() if c}
        seen = faults_of(doctored, listed, others)[rule]
        check(len(seen) > len(sound[rule]), f"a planted fault is seen: {rule}", name)


def main():
    found, listed, others = claims(), quotes(), apart()
    for rule, faults in faults_of(found, listed, others).items():
        check_none(faults, rule)
    check_planted(found, listed, others)
    shown = {row["id"]: row["verdict"] for row in table("claims", os.path.join(GOLDEN, "host.json"))}
    check_none(sorted(set(shown) ^ set(found)), "the command shows all of them")
    check_none([n for n in shown if (shown[n] == "OPEN") != bool(found.get(n, {}).get("open"))],
               "and says which are open")
    return finish()


sys.exit(main())
