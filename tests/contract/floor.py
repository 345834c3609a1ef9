#!/usr/bin/env python3
"""floor.py BUILD: `gpufloor floor` on the committed bundles and on copies that are doctored.

Predictions that are committed (results/BOARD/floor/) have the bytes that they were committed with; a board's
newest are what the program still prints of their bundle. How many of them hold is what docs/FLOOR.md says, and how
long a turn of attention's loop is, is counted in the cubin. No prediction is below its floor. A board that is twice
as slow in all its rows takes twice as long. Where a row is missing, what rests on it is unknown or told without it,
and nothing else changes. Wrong options and model files are refused in one line."""
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

from common import (BUILD, Ended, H100, H200, RESULTS, ROOT, check, check_schema, finish, metrics_of, of_programs,
                    read, read_as_one, read_text, rows_of, scaled, skip, table, told, write)

RATES = ("bytes/s", "bytes/cycle", "flop/s", "ops/s", "ops/cycle", "hertz")
TIMES = ("ns", "cycles")
# Never changed: the first digits of each file's SHA-256.
FROZEN = {
    "nvidia-h100-80gb-hbm3/floor/2026-11-22-80d6623-1.tsv": "4233821888ebd970",
    "nvidia-h200/floor/2026-11-22-80d6623-1.tsv": "0473cc0e60164950",
    "nvidia-h100-80gb-hbm3/floor/2026-11-23-from-2026-11-22-80d6623-1.tsv": "5f6310452b83c951",
    "nvidia-h200/floor/2026-11-23-from-2026-11-23-31e0705-1.tsv": "0367d3b71fdaf950",
    "nvidia-h100-80gb-hbm3/floor/2026-11-24-from-2026-11-22-80d6623-1.tsv": "d58e29924719130b",
    "nvidia-h200/floor/2026-11-24-from-2026-11-23-31e0705-1.tsv": "428111ff94992b4f",
    "nvidia-h200/floor/2026-11-27-from-2026-11-27-4a747a3-1.tsv": "038a147aa1f534a1",
    "nvidia-h100-80gb-hbm3/floor/2026-11-28-from-2026-11-28-c7f28fd-1.tsv": "9b02033a41f64ce4",
}
# A row, and the packagings whose prediction rests on it.
NODES, ONE = {"stream", "graph", "cublas", "fused", "dependent"}, {"barrier", "ring", "values", "near"}
ALL = NODES | ONE
RESTS_ON = {
    "edges.step{mode=stream,": {"stream"},
    "edges.step{mode=graph,blocks=sm,body=0,": ALL,
    "edges.step{mode=graph_pdl_early,": {"dependent"},
    "edges.step{mode=counter,blocks=sm,body=0,": {"barrier", "ring"},
    "edges.step{mode=counter,blocks=sm,body=33554432,": {"barrier"},
    "sm_to_sm.flag_time{": {"values", "near"},
    "gemv.time{": ALL,
    "gemv.read{": ALL,
    "attention_decode.time{": ALL,
    "norm.time{": {"stream", "graph", "cublas"},
    "two_gemv.time{": {"stream", "graph", "cublas"},
    "occupancy.path_rate{level=hbm,path=bulk,": ALL - {"barrier", "near"},
    "occupancy.read_rate{": NODES | {"barrier"},
    "memory_latency.load_time{level=hbm": ALL - {"dependent"},
    "memory_latency.load_time{level=l2": {"barrier"},
    "bandwidth.loaded_latency{level=hbm,": {"ring", "values", "near"},
    "bandwidth.rate{level=l2,op=read,": ONE,
    "instructions.throughput{op=fma,type=fp32": ALL,
    "bandwidth.capacity{level=shared": {"ring", "values", "near"},
    "bandwidth.rate{level=shared,op=read": {"ring", "values", "near"},
    "gemm_sizes.time{": set(),
    "edges.exchange_beside{among=all,words=2048,stream=near,": {"near"},
    "edges.streamed_alone{among=all,words=2048,stream=near,": {"near"},
}
# Rows that later bundles have: what each moves in a bundle that has all of them.
LATER = {
    "edges.exchange{mode=values,words=4096,stream=hbm": {"values"},
    "edges.exchange{mode=values,words=4096,stream=none": {"values", "near"},
    "edges.exchange{mode=counter,words=2048,stream=hbm": {"ring"},
    "edges.exchange{mode=counter,words=2048,stream=none": {"barrier", "ring"},
    "edges.different{mode=graph,kernels=14,reads=16777216": NODES - {"dependent"},
    "edges.different{mode=graph_pdl_early,": set(),
    "edges.step{mode=counter,blocks=sm,body=268435456,": {"barrier"},
    "edges.step{mode=graph,blocks=sm,body=268435456,": set(),
}
PROGRAMS = {start.split(".")[0] for start in RESTS_ON} | {"attention_prefill"}


def floor(*words):
    return Ended("floor", *words)


def cells(path, *words):
    """{(model, context, packaging): {column: value or None}}"""
    found = {}
    for row in table("floor", *words, path):
        key = row["model"], row["context"], row["packaging"]
        found[key] = {name: None if value == "-" else float(value) for name, value in row.items()
                      if name.endswith("_ns")}
    return found


def slowed(bundle, factor):
    changed = scaled(bundle, lambda run, case, metric: factor if metric["unit"] in TIMES else
                     1 / factor if metric["unit"] in RATES else 1)
    for _, _, metric in metrics_of(changed):
        if metric["unit"] in TIMES:
            metric.pop("sides", None)
    return changed


def without(bundle, start):
    """A copy without the metrics whose id begins so; a case keeps the others."""
    name, _, keys = start.partition("{")
    program, metric_name = name.split(".")
    bundle = json.loads(json.dumps(bundle))
    for run in bundle["runs"]:
        if run["probe"]["name"] == program:
            for case in run.get("cases", []):
                if case["case"].startswith(keys):
                    case["metrics"] = [m for m in case["metrics"] if m["name"] != metric_name]
    return bundle


def without_later(bundle):
    for start in ("edges.exchange{", *LATER):
        bundle = without(bundle, start)
    return bundle


def bundle_of(path):
    """That a file of predictions rests on."""
    name = os.path.basename(path)[:-len(".tsv")]
    return os.path.join(os.path.dirname(os.path.dirname(path)), name.split("-from-")[-1] + ".json")


def check_committed():
    found = {os.path.relpath(path, RESULTS) for path in glob.glob(os.path.join(RESULTS, "*", "floor", "*.tsv"))}
    check(found == set(FROZEN), "each file of predictions is known, and none is gone", sorted(found ^ set(FROZEN)))
    for name in sorted(found & set(FROZEN)):
        digest = hashlib.sha256(read_text(os.path.join(RESULTS, name)).encode()).hexdigest()
        check(digest.startswith(FROZEN[name]), f"{name} is as it was committed", digest)
    for board in sorted({name.split("/")[0] for name in found}):
        newest = os.path.join(RESULTS, max(name for name in found if name.startswith(board + "/")))
        frozen = read_text(newest)
        told_now = [line for line in floor("--format", "tsv", bundle_of(newest)).out.splitlines(keepends=True)
                    if "\tnear\t" in frozen or "\tnear\t" not in line]  # a packaging that older files lack
        check("".join(told_now) == frozen, f"{os.path.relpath(newest, ROOT)} is what is still predicted from its bundle")


def centres(bundle):
    """{id: its centre}, of all rows that have one."""
    rows = (line.split("\t") for line in told("report", "--all", "--format=tsv", bundle).splitlines()[1:])
    return {row[0]: float(row[2]) for row in rows if row[2] not in ("-", "")}


def within(predicted, rows, judged):
    """How many of the layers and steps there are that are judged, and of how many the prediction is within 15 %."""
    n = hold = 0
    for name, measured in rows.items():
        key = re.match(r"decoder_layer\.(layer|step)_time\{model=(\w+),context=(\d+),batch=1,impl=(\w+),", name)
        cell = (f"llama-{key[2]}", key[3], key[4]) if key else None
        if cell in judged:
            n += 1
            hold += abs(predicted[cell][f"{key[1]}_ns"] / measured - 1) <= 0.15
    return n, hold


def check_documented():
    """What docs/FLOOR.md says of the H200's newest layers: how many were predicted on the last day before, as the
    report counts them, and of those of which something was said on 2026-11-24, how many the rows explain now, and how
    many without the later rows."""
    rows = centres(H200)
    newest = max(path for path in glob.glob(os.path.join(H200, "floor", "*.tsv")) if "\tnear\t" not in read_text(path))
    frozen = {(row["model"], row["context"], row["packaging"]): {name: float(row[name] if row[name] != "-" else "nan")
                                                                 for name in ("layer_ns", "step_ns")}
              for row in rows_of(read_text(newest))}
    n, hold = within(cells(H200), rows, frozen)
    with tempfile.TemporaryDirectory() as work:
        older = cells(write(os.path.join(work, "older.json"), without_later(of_programs(read_as_one(H200), PROGRAMS))))
    before = within(older, rows, frozen)[1]
    section = next(s for s in json.loads(told("report", "--format=json", H200))["sections"] if s["name"] == "layer")
    said = re.search(r"Of (\d+) layers and steps (\d+) \((\d+) %\)", " ".join(section["notes"]))
    text = " ".join(read_text(os.path.join(ROOT, "docs", "FLOOR.md")).split())
    check(said and int(said[1]) >= n and f"**{said[2]} of {said[1]} ({said[3]} %) were predicted" in text,
          "docs/FLOOR.md says how many were predicted", said and said[0])
    check(f"**{hold} of {n} ({100 * hold / n:.1f} %) are explained" in text,
          "docs/FLOOR.md says how many are explained", (n, hold))
    check(f"{before} of {n} ({100 * before / n:.1f} %) without them" in text,
          "docs/FLOOR.md says how many without the later rows", (n, before))


def check_turns(work):
    """The instructions of a turn of attention's loop: its loads and products, and what the contract checker counts
    beside them."""
    sass = os.path.join(BUILD, "tests", "sass")
    cubin = os.path.join(BUILD, "fused", "decoder_layer", "kernels.sm_90a.cubin")
    if not os.path.exists(sass) or not os.path.exists(cubin):
        skip("a turn of attention's loop", "the cubin, or the checker of contracts, is not built")
        return
    code = read_text(os.path.join(ROOT, "report", "floor", "estimate.c"))
    said = re.search(r"\? (\d+) : m->head_dim > 64 \? (\d+) : (\d+);", code)
    for kernel, loads, products, turn in (("128_8", 8, 24, said[1]), ("128_4", 8, 20, said[2]), ("64_4", 4, 10, said[3])):
        source = os.path.join(work, "kernels.cu")
        with open(source, "w", encoding="utf-8") as out:
            out.write(f"// sass-loop: kernel=decoder_attention_{kernel} ldg128na={loads} hmma={products} guarded<=9 "
                      "other<=1 arch=90a\nX\n")
        lines = subprocess.run([sass, source, cubin], capture_output=True, text=True, check=False).stdout
        found = re.search(rf"decoder_attention_{kernel} sm_90a  expected other<=1, found (\d+)", lines)
        check(found and int(found[1]) + loads + products == int(turn),
              f"a turn of attention's loop, {kernel}: {turn} instructions", found and found[0])


def check_order(path, board):
    found = cells(path)
    check(len(found) == 4 * 4 * 9, f"{board}: four models, four contexts, nine packagings", len(found))
    wrong = [(key, c) for key, c in found.items() for kind in ("layer", "step")
             if c[f"{kind}_ns"] is None or not c[f"{kind}_floor_ns"] <= c[f"{kind}_fast_ns"] <=
             c[f"{kind}_ns"] <= c[f"{kind}_slow_ns"]]
    check(not wrong, f"{board}: floor <= fast <= centre <= slow, in each cell", wrong[:3])
    wrong = [(model, context, p) for model, context, p in found for longer in ("1024", "8192", "32768")
             if int(longer) > int(context) and
             found[model, longer, p]["step_ns"] < found[model, context, p]["step_ns"]]
    check(not wrong, f"{board}: a longer context never takes less", wrong[:3])


def check_doctored(path, work):
    """A bundle without the later rows: what each other row is needed for, and that nothing else moves."""
    older = without_later(read(path))
    path, bundle = write(os.path.join(work, "older.json"), older), of_programs(older, PROGRAMS)

    def doctored(changed):
        return cells(write(os.path.join(work, "doctored.json"), changed), "--context", "1024")

    known = doctored(bundle)
    os.rename(os.path.join(work, "doctored.json"), os.path.join(work, "small.json"))
    check(known == cells(path, "--context", "1024"), "the other programs' rows play no part")
    twice = doctored(slowed(bundle, 2))
    # cycles become ns by the clock that the board states, which is as it was: they double, too
    wrong = [(key, name, value, twice[key][name]) for key, columns in known.items()
             for name, value in columns.items() if abs(twice[key][name] / value - 2) > 1e-6]
    check(not wrong, "twice as slow in all rows: twice as long in all cells", wrong[:3])
    for start, packagings in RESTS_ON.items():
        found = doctored(without(bundle, start))
        lost = {key[2] for key in known if found[key]["step_ns"] is None}
        check(lost == packagings, f"without {start}...}}: {', '.join(sorted(packagings)) or 'nothing'} lost",
              sorted(lost))
        moved = [key for key in known for column, value in known[key].items()
                 if found[key][column] is not None and found[key][column] != value and
                 not column.endswith("floor_ns")]
        check(not moved, f"without {start}...}}: nothing else moves", moved[:3])
    check_later(work)
    gone = floor(write(os.path.join(work, "gone.json"), without(bundle, "bandwidth.rate{level=hbm,op=read")))
    check(gone.is_one_line() and "bandwidth.rate" in gone.err,
          "without the rate of the memory there is no floor: one line, exit 2", gone)


def check_later(work):
    """A bundle with the later rows: each moves what is said of it, and what it lacks is told without it."""
    bundle = of_programs(read_as_one(H200), PROGRAMS)

    def doctored(changed):
        return cells(write(os.path.join(work, "later.json"), changed), "--context", "1024")

    known = doctored(bundle)
    check(known == cells(H200, "--context", "1024"),
          "the newest runs of each program are what the folder has")
    for start, packagings in LATER.items():
        found = doctored(without(bundle, start))
        lost = [key for key in known if found[key]["step_ns"] is None]
        moved = {key[2] for key in known if found[key]["step_ns"] != known[key]["step_ns"]}
        check(not lost and moved == packagings,
              f"without {start}...}}: {', '.join(sorted(packagings)) or 'nothing'} moves", (lost[:3], sorted(moved)))

    def without_exchanges(*streams):
        changed = json.loads(json.dumps(bundle))
        for run in changed["runs"]:
            for case in run["cases"]:
                if case["case"].startswith("mode=values,words=") and any(f"stream={s}," in case["case"] for s in streams):
                    case["metrics"] = []
        return {key: cell for key, cell in doctored(changed).items() if key[2] == "values"}

    neither = without_exchanges("none", "hbm")
    check(without_exchanges("none") == neither == without_exchanges("hbm"), "half of the exchanges' rows are none")
    no_l2 = doctored(without(bundle, "bandwidth.rate{level=l2,op=read,"))
    lost = {key[0] for key in known if key[2] in ONE and no_l2[key]["step_ns"] is None}
    moved = [key for key in known if no_l2[key]["step_ns"] not in (None, known[key]["step_ns"])]
    check(lost == {"llama-70b"} and not moved, "without the L2's rate only what is beyond the longest exchange is lost",
          (sorted(lost), moved[:3]))


def check_words(path, work):
    for words in (["--model", "llama-1b"], ["--model", "speech"], ["--model", "llama-70b", "--context", "32768"],
                  ["--model", "llama-1b", "--batch", "64"], []):
        status, text, said = floor(*words, path)
        check(text.endswith("\n") and not text.endswith("\n\n"), f"floor {' '.join(words)}: ends with a line")
        check(status == 0 and not said and max(map(len, text.splitlines())) <= 100,
              f"floor {' '.join(words)}: at most 100 columns", said or text)
    text = " ".join(told("floor", path).split())
    check(all(f" {column}: " in text for column in ("floor", "near", "values", "dependent", "graph", "in 50 ms")),
          "without a model the columns are explained", text[-600:])
    for model, helps_less in (("llama-1b", True), ("llama-8b", True)):
        text = " ".join(told("floor", "--model", model, path).split())
        half, fast, unit = re.search(r"With half as many bytes per weight it would be ([0-9.]+) \S+, with twice the bandwidth "
                                     r"([0-9.]+) (\S+), with no wait", text).groups()
        check(float(half) < float(fast) and ("helps less: " in text) == helps_less,
              f"{model}: what bytes and bandwidth would change has its numbers, and why", (half, fast, unit))
    no_ring = [batch for batch in "1234" if "no ring of three tiles fits" in
               " ".join(told("floor", "--model", "llama-8b", "--batch", batch, path).split())]
    rows = cells(path, "--model", "llama-8b", "--batch", "4")
    check(no_ring == ["4"] and rows["llama-8b", "1024", "ring"]["step_ns"] is None,
          "it is said where a ring does not fit in an SM", no_ring)
    status, text, _ = floor("--model", "llama-1b", path)
    found = cells(path, "--model", "llama-1b")["llama-1b", "1024", "ring"]
    row = next(line.split() for line in text.splitlines() if line.startswith("  ring "))
    check(abs(float(row[3]) * 1e3 / found["step_ns"] - 1) < 0.01 and row[4] == "us",
          "the table holds what TSV has in full", row)
    least = re.search(r"at least (\d+) us", text)
    check(least and abs(int(least[1]) * 1e3 / found["step_floor_ns"] - 1) < 0.01, "so does the first sentence",
          text[:200])
    document = json.loads(told("floor", "--format", "json", path))
    passes = document["passes"]
    check({p["model"] for p in passes} == {"llama-1b", "llama-3b", "llama-8b", "llama-70b", "speech"} and
          all(len(p["packagings"]) == 9 for p in passes), "JSON has every model and packaging")
    check_schema("floor", document, lambda spoilt: spoilt["passes"][0]["packagings"][0].update(told_by="feeling"))
    wrong = write(os.path.join(work, "wrong.json"), {"schema": "model", "schema_version": 1, "decode": {"layers": -1}})
    for words in (["--model", "gpt"], ["--model", wrong], ["--model", work], ["--context", "0"],
                  ["--batch", "x"], ["--format", "html"], [path], ["--model", "./none"]):
        status, text, said = floor(*words, path)
        check(status == 2 and not text and said.startswith("gpufloor floor: ") and
              len([line for line in said.splitlines() if not line.startswith("Try ")]) == 1,
              f"floor {os.path.basename(' '.join(words))}: one line, exit 2", said)


def main():
    check_committed()
    for path in (H200, H100):
        check_order(path, os.path.basename(path))
    bundle = bundle_of(max(glob.glob(os.path.join(H200, "floor", "*.tsv"))))
    with tempfile.TemporaryDirectory() as work:
        check_documented()
        check_doctored(bundle, work)
        check_words(os.path.join(work, "small.json"), work)
        check_turns(work)
    return finish()


sys.exit(main())
