#!/usr/bin/env python3
"""links.py BUILD: what is told of a bundle of several GPUs. Runs of links/ are planted into a bundle of one
GPU, of figures that are made here, and the bundle becomes one of two GPUs. The section of what lies between
GPUs is there in each format, fits into 80 columns, and its figures are drawn; the ladder has its steps; claims
and all that only one GPU measures take one line. Without them nothing of it is said, and a board of several
GPUs among the results changes nothing for those of one."""
import copy
import json
import os
import re
import shutil
import sys
import tempfile

from common import (BUILD, H100, H200, Ended, board_folders, boards_of_one, check, check_none, finish, has_terminals, newest_whole,
                    of_programs, on_terminal, program_of, programs_of, read, told, write)
from layer import metric, varied

KEPT = ("memory_latency", "bandwidth", "launch", "spin", "barriers", "edges", "sm_to_sm")
SIZES = (1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20)
FIXED = {"push": 2.1e3, "two_shot": 3.4e3, "nccl": 6e3, "nccl_ll": 5.9e3, "nccl_ll128": 11e3, "nccl_simple": 15e3,
         "nccl_symmetric": 3.5e3}  # ns
BY = {"load": (372e9, 1.127), "store": (369e9, 1.13), "bulk": (370e9, 1.13), "copy_engine": (395e9, 1.065)}
LAYER = {"push": 58e3, "near": 55e3, "graph_push": 74e3, "graph_nccl": 83e3}
STEPS = ("load, another GPU's memory", "flag to another GPU", "barrier of all GPUs, one block each",
         "16 KiB added over all GPUs, in a kernel", "16 KiB added over all GPUs, as a node")


# --- planted runs -------------------------------------------------------------------------------------------

def sums():
    for size in SIZES:
        keys = f"gpus=2,op=all_reduce,bytes={size},type=bf16"
        for impl, fixed in FIXED.items():
            yield f"{keys},impl={impl},mode=graph", [metric("time", "ns", fixed + size / 300, timer="event"),
                                                     metric("differ", "count", 0, "exact")]
        yield f"{keys},impl=push,mode=dependent", [metric("time", "ns", 1.6e3 + size / 300, timer="event")]
        yield f"{keys},impl=push,mode=kernel", [metric("time", "ns", 930 + size / 360, timer="device")]


def copies():
    for level, ns in (("l2", 850), ("hbm", 1010)):
        yield f"gpus=2,level={level}", [metric("load_time", "ns", ns, timer="device")]
    for by, (rate, raw) in BY.items():
        for size in (16, 1 << 16, 1 << 20, 1 << 28):
            ns = 2.3e3 + size / rate * 1e9
            yield f"gpus=2,by={by},directions=one,bytes={size}", [
                metric("transfer_time", "ns", ns, timer="event"), metric("rate", "bytes/s", size / ns * 1e9, "higher"),
                *([metric("raw", "ratio", raw)] if size == 1 << 28 else [])]
        yield f"gpus=2,by={by},directions=both,bytes={1 << 28}", [metric("rate", "bytes/s", 1.9 * rate, "higher")]
        for sms, share in (("1", 0.12), ("4", 0.5), ("16", 0.97), ("64", 0.98), ("all", 0.99)):
            if by != "copy_engine":
                yield f"gpus=2,by={by},sms={sms},bytes={1 << 26}", [metric("sms_rate", "bytes/s", share * rate, "higher")]


def signals():
    for order, ns in (("relaxed", 750), ("packet", 748), ("acquire", 1930)):
        yield f"gpus=2,order={order},via=peer", [metric("one_way", "ns", ns, timer="device")]
    for blocks, ns in (("1", 806), ("sm", 1200)):
        yield f"gpus=2,blocks={blocks}", [metric("barrier", "ns", ns, timer="device")]


def layers():
    for impl, ns in LAYER.items():
        yield f"model=8b,context=1024,gpus=2,impl={impl},l2=cold", [
            metric("time", "ns", ns, timer="event"), metric("step_time", "ns", 32 * ns + 250e3, timer="event"),
            metric("bytes", "bytes", 220217344, "exact"), metric("differ", "count", 0, "exact")]


def linked(bundle):
    """A bundle of two of its GPUs: few of its programs, and those of links/ in each round."""
    two = copy.deepcopy(of_programs(bundle, set(KEPT)))
    gpu = two["environment"]["gpu"]
    two["environment"]["gpus"] = [copy.deepcopy(gpu), copy.deepcopy(gpu)]
    gpu.update(name=f"2 x {gpu['name']}", board=f"2x-{gpu['board']}")
    nvlinks = {"n": 18, "up": 18, "version": 6, "far_end": "switch", "rates": [26.562e9] * 18}
    two["environment"]["links"] = {"gpus": 2, "nvlinks": [nvlinks, nvlinks], "pairs": []}
    like = next(run for run in two["runs"] if run["probe"]["name"] == "memory_latency")
    for name, cases in (("signal", signals), ("peer_memory", copies), ("all_reduce", sums), ("layer", layers)):
        for round_of in range(7):
            run = {key: copy.deepcopy(like[key]) for key in ("schema", "schema_version", "status", "timers", "nvml")}
            run.update(probe={"name": name, "method": 1, "what": "Between GPUs"}, checks_passed=9, checks=[], notes=[],
                       cubins={}, run=dict(like["run"], round=round_of),
                       cases=[{"case": keys, "metrics": varied(metrics, round_of)} for keys, metrics in cases()])
            two["runs"].append(run)
    return two


# --- what is told -------------------------------------------------------------------------------------------

def section_of(document, name):
    return next(s for s in document["sections"] if s["name"] == name)


def labels(section):
    return [row["cells"][0]["text"] for grid in section["grids"] for row in grid["rows"]]


def check_text(text, columns):
    check_none([line for line in text.splitlines() if len(line) > columns], f"{columns} columns hold the report")
    check("BETWEEN GPUS   A word takes" in text, "the section has its finding")
    lines = re.findall(r"^\d* ?(\w[A-Z ?]+)   not measured", text, re.M)
    check_none(lines, "what one GPU has takes no line each")
    said = re.search(r"^OF ONE GPU +(.*?)\n\n", text, re.M | re.S)
    said = " ".join(said.group(1).split()) if said else ""
    check(said.startswith("a run of one GPU has: bytes in flight, small product") and "claims" in said,
          "one line says what a run of one GPU has", said)
    check("CLAIMS" not in text and "cannot be told" not in text, "no claim is judged")
    check("18 of 18 NVLinks of each GPU are up, to a switch: 478 GB/s" in " ".join(text.split()), "its links are told")


def check_forms(path, folder):
    document = json.loads(told("report", "--format=json", path))
    section = section_of(document, "links")
    check(len(section["grids"]) == 5 and not section["missing"], "five tables", len(section["grids"]))
    check({"flag, one way", "16 KiB", "copy engine", "one shot, early start", "one kernel that stays"} <=
          set(labels(section)), "each table has its rows", labels(section))
    check({"in a kernel", "one shot", "NCCL", "loads"} <= {s["name"] for s in section["series"] if s["points"]},
          "the figures have their points")
    check(any("smaller packets" in note for note in section["notes"]), "what the wire says is said")
    check(set(STEPS) <= set(labels(section_of(document, "ladder"))), "the ladder has steps between GPUs")
    check(section_of(document, "claims")["missing"] == "claims are judged by a bundle of one GPU", "why no claim is judged")
    text = told("report", "--format=md", path)
    check("| copy engine |" in text and text.count("## OF ONE GPU") == 1, "Markdown has both")
    tex, figures, page = (os.path.join(folder, name) for name in ("tex", "figures", "page.html"))
    told("report", f"--tex={tex}", f"--figures={figures}", f"--html={page}", path)
    with open(os.path.join(tex, "links.tex"), encoding="utf-8") as lines:
        text = lines.read()
    check("{$^{\\ast}$}" in text and "copy engine &" in text, "LaTeX has the tables, and the mark of the fastest")
    check({"sums.svg", "copies.svg", "ladder.svg"} <= set(os.listdir(figures)), "figures are files", os.listdir(figures))
    with open(page, encoding="utf-8") as lines:
        text = lines.read()
    check('id="figure-sums"' in text and 'id="figure-copies"' in text, "the page has the figures")
    check(text.count('class="missing"') == 1 and 'id="rest"' in text and 'id="claims"' not in text,
          "the page says in one line what a run of one GPU has", text.count('class="missing"'))


def check_alone(one, two, folder):
    """One GPU: nothing of it is said, and results of several GPUs beside its own change nothing."""
    text = told("report", one)
    check(not [words for words in ("BETWEEN GPUS", "OF ONE GPU", "NVLink", *STEPS) if words in text],
          "a report of one GPU says nothing of it")
    results = os.path.join(folder, "results")
    for board in (H200, H100):
        shutil.copytree(board, os.path.join(results, os.path.basename(board)))
    own = os.path.join(results, os.path.basename(H100))
    alone = [told(*words, own) for words in (("claims", "--format=json"), ("report", f"--results={results}"))]
    os.mkdir(os.path.join(results, two["environment"]["gpu"]["board"]))
    write(os.path.join(results, two["environment"]["gpu"]["board"], "2026-11-24-0000000-1.json"), two)
    beside = [told(*words, own) for words in (("claims", "--format=json"), ("report", f"--results={results}"))]
    check(alone[0] == beside[0], "its ledger names no board of several GPUs")
    check(alone[1] == beside[1], "its report is the same beside results of several GPUs")


def check_judged(path, two, folder):
    """Claims are refused. `check` knows how many cards, and which programs such a run has."""
    refused = Ended("claims", path)
    check(refused.is_one_line() and "of one GPU; this is one of 2" in refused.err, "claims of it are refused", refused)
    text = told("check", path, allowed=(0, 1))
    check(" card              2 cards, " in text, "two cards", text)
    lacks = "4: host_link" if os.path.exists(os.path.join(BUILD, "bin", "probes", "launch")) else "2: host_memory"
    check(f"it lacks {lacks}" in text, "programs of one GPU that do not explain a link are not missed", text)
    few = dict(two, runs=[run for run in two["runs"] if program_of(run) == "signal"])
    check("-signal-1.json" in told("check", write(os.path.join(folder, "few.json"), few), allowed=(0, 1)),
          "a bundle that lacks most of them is named by what it has")


def check_committed():
    several = [board for board in board_folders() if board not in boards_of_one()]
    check(len(several) >= 2, "there are results of several GPUs", several)
    for board, folder in several:
        path = newest_whole(folder)
        text = told("check", path)
        check(f"7 rounds of {len(programs_of(read(path)))} programs\n" in text and "its place is" not in text,
              f"{board}: has all programs of such a run, and its name", text)
        check(re.search(r"Two\s+rounds\s+only:\s+on\s+wire[.,]", told("report", path)),
              f"{board}: where only a column is of two rounds, it is named, and no row")


def check_beside():
    """A board of one GPU beside one of two, in both orders, and beside two others."""
    two = newest_whole(dict(board_folders())["2x-nvidia-h200"])
    for paths, said in (((H200, two), "B is of 2 GPUs"), ((two, H200), "A is of 2 GPUs"), ((H200, two, H100), "B is of 2 GPUs")):
        text = told("report", *paths).split("\nCLAIMS ")[-1]
        check(f"{said}, by which no claim is judged." in " ".join(text.split()) and
              ("Only A" in text) == (len(paths) == 3) and not re.search(r"^ {8}B ", text, re.M),
              f"claims are compared among boards of one GPU: {said}", text[:400])
    for words in ([], ["--model", "llama-8b"]):
        text = told("floor", *words, two)
        check(" on one GPU of 2x-nvidia-h200" in text.splitlines()[0], "a floor is of one of its GPUs", text[:100])


def main():
    newest = newest_whole(H100)
    two = linked(read(newest))
    with tempfile.TemporaryDirectory() as folder:
        path = write(os.path.join(folder, "two.json"), two)
        check_text(told("report", path), 100)
        if has_terminals():
            check_text(on_terminal(80, "report", path), 80)
        check_forms(path, folder)
        check_alone(newest, two, folder)
        check_judged(path, two, folder)
        check_committed()
        check_beside()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
