#!/usr/bin/env python3
"""often.py BUILD: how often a case runs, against what rests on it (docs/METHOD.md#runs). On the newest bundle of
each board that holds all programs, a time on which a verdict rests, or which the headline shows, is measured in
every round; so is one on which the finding of a section rests, of several GPUs, too. A finding names what it rests
on (`rests` of the JSON), and no number stands in it that is not of these. Exceptions are listed with their reason;
one that no longer is one must go."""
import copy
import json
import re
import sys

from common import (SCALES, board_folders, boards_of_one, check, finish, newest_whole, programs_of, read, table, told)

RESTS = "rests on two or three rounds of "
MAP = "an extreme of a map, which two rounds must agree on"
ADDS_UP = "a control of C53: that the operators, each alone, add up to the layer"
CURVE = "a point of a curve over contexts or models: C47 and C49 take all of it"
WHERE = "a part of a layer's time, whose spread over rounds is its interval: C62 takes the sum of a step's"
THIRD = "of C70's three fusions; the two others are measured in every round"
VERDICTS = {  # of every bundle that holds the row
    "sm_to_sm.dsmem_slowest{size=16}": MAP,
    **{f"epilogue.time{{m=256,n=6144,k=4096,op=qkv,type=bf16,impl={impl},mode=graph,l2=cold,timer=event}}": THIRD
       for impl in ("fused", "unfused")},
    **{f"decoder_layer.layer_time{{model=1b,context={context},batch=1,impl={impl},l2=cold,timer=event}}": CURVE
       for context in (128, 8192, 32768) for impl in ("graph", "dependent", "barrier")},
    **{f"decoder_layer.where{{model=1b,context=1024,impl=values,step={step},part={part},timer=device}}": WHERE
       for step in ("o", "down") for part in ("weights", "activations", "waiting", "tail")},
    **{f"decoder_layer.layer_time{{model=3b,context=1024,batch=1,impl={impl},l2=cold,timer=event}}": CURVE
       for impl in ("graph", "barrier")},
    **{f"batched_layer.operator_time{{model=8b,context=1024,batch=64,impl=graph,operator={operator},l2=cold,timer=event}}":
       ADDS_UP for operator in ("add", "append", "attention", "gate_up", "norm", "o", "qkv", "rope")},
}
HEADLINE = {}  # commit: its figures of fewer rounds

# --- what findings rest on --------------------------------------------------------------------------------

# Until a commit after that of the bundle these were asked for in three rounds only; since, in every round.
FINDINGS = {  # the bundles' commits
    ("ladder", "null.process{context=yes,timer=wall}"): "28d1d2c",
    ("flight", "occupancy.read_rate{level=hbm,warps=32,loads=1}"): "c7f28fd",
}
LIMITS = {"flight": ("90",), "sizes": ("85",)}  # "90 % takes 32 KiB": what a finding asks for, not what was measured
NO_TIMES = ("verdict", "right", "claims")  # these count
SIZES = ("count", "bytes")  # no time; a capacity is of a curve, as in the headline
PICKED = "small"  # of several kernels: round 1 chose the one that the six others measure (docs/METHOD.md#search-...)
SAYS_SO = "(three rounds)"


def is_of(said, number):
    """Is it that number, to as many digits, or a key of its case?"""
    least = 0.501 * 10 ** -len(said.partition(".")[2])
    keys = [float(key) for key in re.findall(r"=(\d+(?:\.\d+)?)(?=[,}])", number["id"] or "")]
    return float(said) in keys + [key / 1024 for key in keys] or any(
        abs(float(said) - scale * number["value"]) <= least for scale in SCALES.get(number["unit"], (1,)))


def unnamed(section):
    """Numbers of a finding that are of nothing on which it says to rest."""
    said = re.findall(r"(?<![\w.^-])\d+(?:\.\d+)?(?!\w)", section["finding"])
    return [one for one in said if one not in LIMITS.get(section["name"], ()) and
            not any(is_of(one, number) for number in section["rests"])]


def seldom(section, rows):
    """The ids of times on which a finding rests that were measured in fewer rounds, and that it does not say so of."""
    for number in section["rests"]:
        is_picked = section["name"] == PICKED and number["runs"] == 6 and rows.get(number["id"]) == "7"
        if number["unit"] not in SIZES and number["runs"] < 7 and not is_picked and SAYS_SO not in section["finding"]:
            yield number["id"]


def check_findings(board, path, commit):
    rows = {row["metric"]: row["runs"] for row in table("report", path)}
    sections = [section for section in json.loads(told("report", "--format=json", path))["sections"]
                if section["finding"] and section["name"] not in NO_TIMES]
    check(sections and all(section["rests"] for section in sections), f"{board}: findings say what they rest on",
          "\n".join(section["name"] for section in sections if not section["rests"]))
    bad = [f"{section['name']}: {number} in: {section['finding']}" for section in sections for number in unnamed(section)]
    planted = [dict(section, finding=section["finding"] + " It takes 31.7777 ns.") for section in sections]
    check(not bad and all(map(unnamed, planted)), f"{board}: no number of a finding is of anything else", "\n".join(bad))
    few = {(section["name"], name) for section in sections for name in seldom(section, rows)}
    rests = {(section["name"], number["id"]) for section in sections for number in section["rests"]}
    known = {key for key, of in FINDINGS.items() if commit.startswith(of) and key in rests}
    check(not few - known, f"{board}: findings rest on times of every round", "\n".join(map(str, sorted(few - known))))
    check(not known - few, f"{board}: no finding is an exception no longer", "\n".join(map(str, sorted(known - few))))
    planted = [copy.deepcopy(section) for section in sections if section["name"] == "memory"]
    for section in planted:
        section["rests"][-1]["runs"] = 6
    check(planted and all(any(seldom(section, rows)) for section in planted), f"{board}: a time of six rounds is seen")


# --- verdicts and the headline ----------------------------------------------------------------------------

def check_board(board, path, commit):
    """Returns the exceptions that this board needs: a claim whose control failed rests on nothing."""
    rests = {part.split(RESTS)[1] for row in table("claims", path)
             for part in row["evidence"].split("; ") if part.startswith(RESTS)}
    rows = {row["metric"]: row["status"] for row in table("report", path)}
    known = VERDICTS.keys() & rows.keys()
    check(not rests - known, f"{board}: verdicts rest on times of every round", "\n".join(sorted(rests - known)))
    few = [name for name, status in rows.items() if status == "few"]
    check(not few, f"{board}: each case ran as often as is declared", "\n".join(few))
    shown = {row["figure"] for row in table("report", "--section", "vital", path) if row["status"] in ("once", "thrice")}
    thrice = HEADLINE.get(commit[:7], set())
    check(shown == thrice, f"{board}: the headline shows figures of every round", "\n".join(sorted(shown ^ thrice)))
    return known & rests


def main():
    check(boards_of_one(), "there are committed results")
    needed = set()
    for board, folder in boards_of_one():  # boards of several GPUs judge no claim
        path = newest_whole(folder)
        bundle = read(path)
        n = len(programs_of(bundle))
        check(n > 30, f"{board}: a bundle holds all programs ({n})")
        needed |= check_board(board, path, bundle["suite"]["commit"])
    idle = sorted(set(VERDICTS) - needed)
    check(not idle, "no exception is one no longer", "\n".join(idle))
    for board, folder in board_folders():
        path = newest_whole(folder)
        check_findings(board, path, read(path)["suite"]["commit"])
    return finish()


sys.exit(main())
