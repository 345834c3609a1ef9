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
# attention_decode: its middle round was cut short until the commit after that of the bundle. decoder_layer: the parts of
# `where` missed the layer's time by 4 %, not 3, in one round of two. product_chain: the read of 2048 was in three rounds
# until the commits after that of the bundle, and its products in all. attention_decode again: C62's case was asked for in
# three rounds only, until the commit after that of the bundle.
LOST = {"attention_decode": ("80d6623", "d3bf499"), "decoder_layer": "31e0705", "product_chain": "05f02bd"}
ADDS_UP = "a control of C53: that the operators, each alone, add up to the layer"
NEW = ("05f02bd", "d3bf499")
CURVE = "a point of a curve over contexts or models: C47 and C49 take all of it"
WHERE = "a part of a layer's time, whose spread over rounds is its interval: C62 takes the sum of a step's"
THIRD = "of C70's three fusions; the two others are measured in every round"
VERDICTS = {  # of bundles of this commit, of these, or of any
    "sm_to_sm.dsmem_slowest{size=16}": ("", MAP),
    **{f"epilogue.time{{m=256,n=6144,k=4096,op=qkv,type=bf16,impl={impl},mode=graph,l2=cold,timer=event}}":
       (("80d6623", "d3bf499"), THIRD) for impl in ("fused", "unfused")},
    "attention_decode.time{batch=1,context=1024,heads=32,kv_heads=8,d=64,type=bf16,impl=attention,mode=graph,l2=cold,"
    "timer=event}": ("05f02bd", "C62 takes it; in every round since the commits after that of the bundle"),
    **{f"decoder_layer.layer_time{{model=1b,context={context},batch=1,impl={impl},l2=cold,timer=event}}": (NEW, CURVE)
       for context in (128, 8192, 32768) for impl in ("graph", "dependent", "barrier")},
    **{f"decoder_layer.where{{model=1b,context=1024,impl=values,step={step},part={part},timer=device}}": ("05f02bd", WHERE)
       for step in ("o", "down") for part in ("weights", "activations", "waiting", "tail") if (step, part) != ("down", "tail")},
    **{f"decoder_layer.layer_time{{model=3b,context=1024,batch=1,impl={impl},l2=cold,timer=event}}": (NEW, CURVE)
       for impl in ("graph", "barrier")},
    **{f"batched_layer.operator_time{{model=8b,context=1024,batch=64,impl=graph,operator={operator},l2=cold,timer=event}}":
       ("d3bf499", ADDS_UP) for operator in ("add", "append", "attention", "gate_up", "norm", "o", "qkv", "rope")},
}
# Of a curve in three rounds; since the commits after those of the bundles, by footprints of every round.
HEADLINE = {"capacity, L1", "capacity, L2 partition near the SM", "capacity, L2"}

# --- what findings rest on --------------------------------------------------------------------------------

# Until 2026-11-27 these were asked for in three rounds only: (bundles of these commits, what is in every round since).
SINCE = "in every round since the commits of 2026-11-27"
PROMPT = "attention_prefill.time{{heads=32,kv_heads=32,depth=128,context={},mask=causal,type=bf16,impl=unfused,mode=graph," \
         "l2=cold,timer=event}}"
WEIGHTS = "quantized.time{{rows=4096,cols=14336,batch={},type={},mode=graph,l2=cold,timer=event}}"
FINDINGS = {
    ("ladder", "null.process{context=yes,timer=wall}"): (("80d6623", "28d1d2c", "d3bf499"), SINCE),
    **{("attention", PROMPT.format(context)): ("d3bf499", SINCE) for context in (512, 2048)},
    **{("weights", WEIGHTS.format(batch, form)): (("80d6623", "d3bf499") if batch < 256 else "80d6623", SINCE)
       for batch in (4, 16, 64, 256) for form in ("int4,impl=fused", "bf16,impl=full")},
}
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
    return [one for one in said if not any(is_of(one, number) for number in section["rests"])]


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
    known = {key for key, (of, _) in FINDINGS.items() if commit.startswith(of)}
    check(not few - known, f"{board}: findings rest on times of every round", "\n".join(map(str, sorted(few - known))))
    check(not known - few, f"{board}: no finding is an exception no longer", "\n".join(map(str, sorted(known - few))))
    planted = [copy.deepcopy(section) for section in sections if section["name"] == "memory"]
    for section in planted:
        section["rests"][-1]["runs"] = 6
    check(planted and all(any(seldom(section, rows)) for section in planted), f"{board}: a time of six rounds is seen")


# --- verdicts and the headline ----------------------------------------------------------------------------

def check_board(board, path, commit):
    rests = {part.split(RESTS)[1] for row in table("claims", path)
             for part in row["evidence"].split("; ") if part.startswith(RESTS)}
    known = {name for name, (of, _) in VERDICTS.items() if commit.startswith(of)}
    check(not rests - known, f"{board}: verdicts rest on times of every round", "\n".join(sorted(rests - known)))
    check(not known - rests, f"{board}: no exception is one no longer", "\n".join(sorted(known - rests)))
    few = {row["metric"].split(".")[0] for row in table("report", path) if row["status"] == "few"}
    lost = {program for program, of in LOST.items() if commit.startswith(of)}
    check(few == lost, f"{board}: each case ran as often as is declared", "\n".join(sorted(few ^ lost)))
    shown = {row["figure"] for row in table("report", "--section", "vital", path) if row["status"] in ("once", "thrice")}
    check(shown == HEADLINE, f"{board}: the headline shows figures of every round", "\n".join(sorted(shown ^ HEADLINE)))


def main():
    check(boards_of_one(), "there are committed results")
    for board, folder in boards_of_one():  # boards of several GPUs judge no claim
        path = newest_whole(folder)
        bundle = read(path)
        n = len(programs_of(bundle))
        check(n > 30, f"{board}: a bundle holds all programs ({n})")
        check_board(board, path, bundle["suite"]["commit"])
    for board, folder in board_folders():
        path = newest_whole(folder)
        check_findings(board, path, read(path)["suite"]["commit"])
    return finish()


sys.exit(main())
