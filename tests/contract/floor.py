#!/usr/bin/env python3
"""floor.py BUILD: `gpufloor floor` on the committed bundles and on copies that are doctored.

Predictions that are committed (results/BOARD/floor/) are what the program still prints of their bundle.
No prediction is below its floor. A board that is twice as slow in all its rows takes twice as long. Where
a row is missing, what rests on it is unknown, and nothing else changes. Wrong options and model files are
refused in one line."""
import glob
import json
import os
import re
import sys
import tempfile

from common import (Ended, H100, H200, RESULTS, ROOT, check, check_schema, finish, metrics_of, of_programs, read,
                    read_text, scaled, table, told, write)

RATES = ("bytes/s", "bytes/cycle", "flop/s", "ops/s", "ops/cycle", "hertz")
TIMES = ("ns", "cycles")
# A row, and the packagings whose prediction rests on it.
RESTS_ON = {
    "edges.step{mode=stream,": {"stream"},
    "edges.step{mode=graph_pdl_early,": {"dependent"},
    "edges.step{mode=counter,": {"barrier", "ring"},
    "sm_to_sm.flag_time{": {"values"},
    "gemv.time{": {"stream", "graph", "cublas", "fused", "dependent", "barrier"},
    "attention_decode.time{": {"stream", "graph", "cublas", "fused", "dependent", "barrier"},
    "bandwidth.capacity{level=shared": {"ring", "values"},
    "bandwidth.rate{level=shared,op=read": {"ring", "values"},
    "gemm_sizes.time{": set(),
}
PROGRAMS = {start.split(".")[0] for start in RESTS_ON} | {"instructions", "barriers", "attention_prefill"}


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


def check_committed():
    for path in sorted(glob.glob(os.path.join(RESULTS, "*", "floor", "*.tsv"))):
        bundle = os.path.join(os.path.dirname(os.path.dirname(path)),
                              os.path.basename(path)[:-len(".tsv")] + ".json")
        name = os.path.relpath(path, ROOT)
        committed = read_text(path)
        if os.path.exists(bundle):
            check(floor("--format", "tsv", bundle).out == committed, f"{name} is what is still predicted from its bundle")
        else:
            check(committed.startswith("model\tcontext\t"), f"{name}: its bundle is gone")


def check_order(path, board):
    found = cells(path)
    check(len(found) == 4 * 4 * 8, f"{board}: four models, four contexts, eight packagings", len(found))
    wrong = [(key, c) for key, c in found.items() for kind in ("layer", "step")
             if c[f"{kind}_ns"] is None or not c[f"{kind}_floor_ns"] <= c[f"{kind}_fast_ns"] <=
             c[f"{kind}_ns"] <= c[f"{kind}_slow_ns"]]
    check(not wrong, f"{board}: floor <= fast <= centre <= slow, in each cell", wrong[:3])
    wrong = [(model, context, p) for model, context, p in found for longer in ("1024", "8192", "32768")
             if int(longer) > int(context) and
             found[model, longer, p]["step_ns"] < found[model, context, p]["step_ns"]]
    check(not wrong, f"{board}: a longer context never takes less", wrong[:3])


def check_doctored(path, work):
    bundle = of_programs(read(path), PROGRAMS)

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
    gone = floor(write(os.path.join(work, "gone.json"), without(bundle, "bandwidth.rate{level=hbm,op=read")))
    check(gone.is_one_line() and "bandwidth.rate" in gone.err,
          "without the rate of the memory there is no floor: one line, exit 2", gone)


def check_words(path, work):
    for words in (["--model", "llama-1b"], ["--model", "speech"], ["--model", "llama-70b", "--context", "32768"],
                  ["--model", "llama-1b", "--batch", "64"], []):
        status, text, said = floor(*words, path)
        check(status == 0 and not said and max(map(len, text.splitlines())) <= 100,
              f"floor {' '.join(words)}: at most 100 columns", said or text)
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
          all(len(p["packagings"]) == 8 for p in passes), "JSON has every model and packaging")
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
    newest = sorted(glob.glob(os.path.join(H200, "floor", "*.tsv")))[-1]
    bundle = os.path.join(H200, os.path.basename(newest)[:-4] + ".json")
    with tempfile.TemporaryDirectory() as work:
        check_doctored(bundle, work)
        check_words(os.path.join(work, "small.json"), work)
    return finish()


sys.exit(main())
