#!/usr/bin/env python3
"""ledger.py BUILD: what `gpufloor claims` gives a reader. By default it is at most 160 lines of 100 columns, of
80 on a terminal that has no more; each claim that is decided on the committed bundles is told in its own
words, with a number, and no two variants of a claim are the same; what holds in part says what holds and what
does not; what cannot be told has a class. Each sentence of the articles is found by --search. The JSON follows
its schema, and says what the text says. Verdicts of the boards beside the bundle's own are with it."""
import collections
import glob
import json
import os
import re
import shutil
import sys
import tempfile

import rules
from common import (CONTRACT, Ended, GOLDEN, boards_of_one, check, check_schema, finish, has_terminals,
                    newest_whole, of_programs, on_terminal, programs_of, read, read_text, write)
LINES, COLUMNS, NARROW = 160, 100, 80
LACKING = 12  # lines more where the newest bundle holds some programs only, and older ones lack rows
GENERIC = ("Holds: ", "Does not hold: ", "Holds in part: ")
DECIDED = {"REPRODUCED": "yes", "REFUTED": "no", "MIXED": "partly"}


def claims(*words):
    return Ended("claims", *words)


def unrounded(plain):
    """Numbers of a sentence with more digits than three, but for the ends of a range that only more digits tell
    apart, and for a percentage near 100, where a place behind the point tells."""
    def three(text, off):  # what stands there is rounded, so that a third digit may be either of two
        return float(f"{float(text) * (1 + off):.3g}")

    said = re.sub(r"(-?\d+\.\d{3,4})(?: \w+)? to (-?\d+\.\d{3,4})",
                  lambda m: " " if {three(m[1], o) for o in (-1e-5, 1e-5)} & {three(m[2], o) for o in (-1e-5, 1e-5)}
                  else m[0], plain)
    said = re.sub(r"-?(?:99|100)\.\d %", " ", said)
    return [n for n in re.findall(r"\d+\.\d+", said) if len(n.replace(".", "").lstrip("0")) > 3]


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
        f["numbers have three digits"] += [f"{c['id']} {n}" for n in unrounded(plain)] if decided else []
        f["partly: what holds, what does not"] += [c["id"]] if verdict == "MIXED" and not rules.PARTLY.search(plain) else []
        f["a class for what cannot be told"] += [c["id"]] if (verdict == "NOT TESTABLE") != bool(c["why"]) else []
        f["a decided claim has figures"] += [c["id"]] if decided and not c["figures"] + c["parts"] else []
        f["a decided claim has both controls, as they must be"] += \
            [c["id"]] if decided and ({k["kind"] for k in c["controls"]} != {"positive", "negative"} or
                                      not all(k["as_it_must"] for k in c["controls"])) else []
    counted = collections.Counter(c["verdict"] for c in document["claims"])
    totals = {v.lower().replace(" ", "_"): counted[v] for v in (*DECIDED, "NOT TESTABLE", "OPEN")}
    own = collections.Counter(c["verdict"] for c in document["claims"] if c["clause"] == "")
    own = {v.lower().replace(" ", "_"): own[v] for v in (*DECIDED, "NOT TESTABLE", "OPEN")}
    f["the totals are those of the claims"] += [] if totals == document["totals"] else [str(totals)]
    f["own questions are counted apart"] += [] if own == document["own"] else [str(own)]
    return f


def check_document(board, document):
    for rule, faults in faults_of(document).items():
        check(not faults, f"{board}: {rule}", " ".join(faults))
    plants = {"no sentence is generic": {"plain": "Holds: it."}, "every slot is filled": {"plain": "It is {x}."},
              "a decided claim has a number": {"plain": "It is.", "parts": []},
              "numbers have three digits": {"plain": "It is 17 %, -10.478 % at 32768."},
              "partly: what holds, what does not": {"plain": "It is 3.", "verdict": "MIXED"},
              "a class for what cannot be told": {"verdict": "NOT TESTABLE", "why": None},
              "a decided claim has figures": {"figures": [], "parts": []},
              "a decided claim has both controls, as they must be": {"controls": []},
              "the totals are those of the claims": {"verdict": "OPEN"},
              "own questions are counted apart": {"clause": ""}}
    sound = next(c for c in document["claims"] if c["verdict"] == "REPRODUCED")
    for rule, plant in plants.items():
        planted = dict(document, claims=[dict(c, **plant) if c is sound else c for c in document["claims"]])
        check(len(faults_of(planted)[rule]) > len(faults_of(document)[rule]), f"a planted fault is seen: {rule}")


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
    text = claims(folder).out
    lines = text.splitlines()
    newest = max((read(path) for path in glob.glob(os.path.join(folder, "*.json"))), key=lambda b: b["started"])
    most = LINES + (0 if len(programs_of(newest)) > 30 else LACKING)
    check(0 < len(lines) <= most and not too_long(text, COLUMNS), f"{board}: {most} lines of {COLUMNS} columns",
          f"{len(lines)} lines, widest {max(map(len, lines), default=0)}")
    if has_terminals():
        narrow = on_terminal(NARROW, "claims", folder)
        check(narrow and not too_long(narrow, NARROW), f"{board}: {NARROW} columns on such a terminal",
              "; ".join(too_long(narrow, NARROW)[:2]))
        check(on_terminal(COLUMNS + 40, "claims", folder) == text, f"{board}: no more columns on a wider one")
    flat = " ".join(text.split())
    for c in document["claims"]:
        if c["verdict"] != "OPEN" and not c["id"][3:]:
            check(" ".join(c["plain"].split()) in flat, f"{board}: {c['id']} is in the text")


def check_search():
    listed = [line.split("\t") for line in read_text(CONTRACT, "quotes.tsv").splitlines()[1:]]
    host = os.path.join(GOLDEN, "host.json")
    for number, _, sentence in listed:
        run = claims(host, "--search", sentence.upper() if sentence.isascii() else sentence)
        check(run.code == 0 and re.search(rf"^  {number}[a-z]? ", run.out, re.M), f"{number} is found",
              sentence[:60])
    none = claims(host, "--search", "never said by anyone")
    check(none.is_one_line(), "a text that no quote has")


def check_verdicts(board, folder, document):
    """Ids in any case, as numbers, several; and only the claims of a verdict, in each format."""
    for asked, ids in (("c24", ["C24"]), ("24", ["C24"]), ("5,C24b", ["C05", "C24b"]), ("C1?", None)):
        found = [c["id"] for c in json.loads(claims("--id", asked, "--format=json", folder).out)["claims"]]
        check(found == (ids or [c["id"] for c in document["claims"] if re.fullmatch("C1.", c["id"])]),
              f"{board}: --id {asked}", found)
    for verdict, word in dict(DECIDED, OPEN="open", **{"NOT TESTABLE": "cant-tell"}).items():
        wanted = [c["id"] for c in document["claims"] if c["verdict"] == verdict]
        rows = claims(f"--verdict={word}", "--format=tsv", folder).out.splitlines()[1:]
        check([row.split("\t")[:2] for row in rows] == [[one, verdict] for one in wanted],
              f"{board}: --verdict={word} as rows", rows)
        text = claims(f"--verdict={word}", folder).out
        others = {c["id"] for c in document["claims"]} - set(wanted)
        check(f"\n{len(wanted)} of {len(document['claims'])} claims " in text and
              not set(re.findall(r"^(C\d\d\w?) ", text, re.M)) & others, f"{board}: --verdict={word}", text)
    check(claims("--verdict=can't tell", folder).out == claims("--verdict=cant-tell", folder).out,
          f"{board}: the words of the ledger are taken, too")


def check_elsewhere():
    with tempfile.TemporaryDirectory() as results:
        for board, name in (("nvidia-h200", "full.json"), ("nvidia-l40s", "other_board.json")):
            os.mkdir(os.path.join(results, board))
            shutil.copy(os.path.join(GOLDEN, name), os.path.join(results, board, "2026-11-22.json"))
        for path in ("nvidia-h200", "nvidia-h200/2026-11-22.json"):
            own = json.loads(claims("--format=json", os.path.join(results, path)).out)
            other = json.loads(claims("--format=json", os.path.join(results, "nvidia-l40s")).out)
            theirs = {c["id"]: c["verdict"] for c in other["claims"]}
            check(all(c["elsewhere"] == {"nvidia-l40s": theirs[c["id"]]} for c in own["claims"]),
                  f"the board beside is with {path}")
        shutil.rmtree(os.path.join(results, "nvidia-l40s"))
        own = json.loads(claims("--format=json", os.path.join(results, "nvidia-h200")).out)
        check(not any(c["elsewhere"] for c in own["claims"]), "a board alone has nothing beside it")


def clauses_apart(text, document):
    """Entries whose clauses lack alike, and do not say so once: "b, c can't tell: Not measured: ..."."""
    flat, alike = " ".join(text.split()), collections.defaultdict(list)
    for c in document["claims"]:
        if c["verdict"] == "NOT TESTABLE" and c["why"]["class"] == "missing" and c["id"][3:]:
            alike[c["id"][:3], c["plain"]].append(c["id"][3:])
    return [f"{entry} {letters}" for (entry, plain), letters in alike.items()
            if len(letters) > 1 and flat.count(f"{', '.join(letters)} can't tell: {plain}") != 1], len(alike)


def check_clauses():
    """A bundle without the libraries' rows, as most users have it."""
    bundle = read(newest_whole(boards_of_one()[0][1]))
    plain = of_programs(bundle, [name for name in programs_of(bundle) if not name.endswith("peers")])
    with tempfile.TemporaryDirectory() as work:
        path = write(os.path.join(work, "plain.json"), plain)
        document, text = json.loads(claims("--format=json", path).out), claims(path).out
    apart, n = clauses_apart(text, document)
    check(n > 2 and not apart, "clauses that lack alike say so once", " ".join(apart))
    said = re.search(r"[b-z](?:,\s+[b-z])+\s+can't\s+tell:\s+Not\s+measured", text)
    check(said, "a bundle without peers has such clauses")
    check(said and clauses_apart(text.replace(said[0], said[0][1:], 1), document)[0],
          "a planted fault is seen: a clause that is left out")


def check_bundles(board, folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        name, document = os.path.basename(path), json.loads(claims("--format=json", path).out)
        bad = faults_of(document)["numbers have three digits"]
        check(not bad, f"{board}/{name}: numbers have three digits", " ".join(bad))


def main():
    for board, folder in boards_of_one():
        check_bundles(board, folder)
        document = json.loads(claims("--format=json", folder).out)
        check_document(board, document)
        check_schema("claims", document, *(lambda spoilt, plant=plant: spoilt["claims"][0].update(plant) for plant in (
            {"verdict": "PERHAPS"}, {"surprise": 10}, {"why": {"class": "tired"}}, {"figures": [{}]})))
        check_text(board, folder, document)
    board, folder = boards_of_one()[0]
    newest = newest_whole(folder)
    check_verdicts(board, newest, json.loads(claims("--format=json", newest).out))
    check_variants()
    check_clauses()
    check_search()
    check_elsewhere()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
