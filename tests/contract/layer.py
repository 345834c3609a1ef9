#!/usr/bin/env python3
"""layer.py BUILD: what is told of a decoder's layer. In a whole committed bundle, runs of decoder_layer are
planted in place of its own, of figures that are made here: what must be told of them is known, whatever was
measured last. The section has each packaging of each model, says what the frozen predictions of the board said
and how many of them hold, and where the time goes; the page has the time line; the ledger's claims on it are
decided. Without those runs, or with a part of them, nothing of it is said and nothing else changes."""
import copy
import glob
import itertools
import json
import os
import re
import sys
import tempfile

from common import H200, check, check_none, finish, newest_whole, of_programs, read, read_text, told, write

WAYS = ("read", "stream", "graph", "fused", "dependent", "barrier", "ring", "values", "near", "cublas")
KERNELS = dict(stream=14, graph=14, cublas=12, fused=6, dependent=6, barrier=1, ring=1, values=1, near=1, read=1)
BEYOND = dict(read=0, stream=48e3, graph=36e3, cublas=34e3, fused=24e3, dependent=9e3, barrier=10.4e3, ring=2e3,
              values=1.4e3, near=0.9e3)  # ns of a 1B layer beyond a read of its bytes
MODELS = {"1b": (16, 123.7e6, 115e3, 1.0), "3b": (28, 205.5e6, 175e3, 1.02), "8b": (32, 440.4e6, 232e3, 1.05)}
CACHES = {128: -1.8e6, 1024: 0, 8192: 14.7e6, 32768: 65e6}  # bytes of a 1B layer beyond those at 1024
STEPS, PARTS = ("qkv", "attention", "merge", "o", "gate_up", "down"), ("weights", "activations", "waiting", "tail")
SHARES = (0.11, 0.04, 0.01, 0.08, 0.5, 0.26)  # of a layer, of its steps; the parts of each: 0.8, 0.05, 0.05, 0.1
RATE = 4630  # bytes/ns
# Watts of the board that does step after step, in three rounds.
PEERS = dict(eager=(29, 94e3), compile=(13, 57e3), autotune=(11, 49e3))  # PyTorch's: kernels, ns of a 1B layer
WATTS = {"1b": dict(read=500, graph=400, dependent=450, near=500), "8b": dict(graph=540, near=560)}
ROUNDS = {7: range(7), 3: (0, 3, 6), 2: (0, 6)}
CLAIMS = ("C30", "C31", "C35", "C36", "C47", "C48", "C49", "C51", "C62", "C72", "C74", "C88", "C88b")


# --- planted runs -------------------------------------------------------------------------------------------

def layer_ns(model, context, way):
    _, size, _, grows = MODELS[model]
    return (size + CACHES[context] * (1 if model == "1b" else 2)) / RATE + BEYOND[way] * grows


def joules(model, way):
    layers, _, head, _ = MODELS[model]
    return 1e-9 * WATTS[model][way] * (layers * layer_ns(model, 1024, way) + head)


def metric(name, unit, value, better="lower", timer=None):
    made = {"name": name, "unit": unit, "better": better, "n": 9, "median": value, "best": value}
    return dict(made, timer=timer) if timer else made


def cases():
    """(rounds, keys, metrics)"""
    for model, (layers, size, head, _) in MODELS.items():
        for context in CACHES:
            main = context == 1024 and model != "3b"
            if model == "3b" and context != 1024:
                continue
            for way in WAYS if main else ("read", "graph", "dependent", "barrier", "values"):
                ns, read_ns = layer_ns(model, context, way), layer_ns(model, context, "read")
                made = [metric("layer_time", "ns", ns, timer="event"),
                        metric("bytes", "bytes", round(read_ns * RATE), "exact")]
                if way != "read":
                    made += [metric("share_of_read", "ratio", read_ns / ns, "higher"), metric("error", "ratio", 0.00296),
                             metric("kernels", "count", KERNELS[way], "exact")]
                    if context == 1024:
                        made.append(metric("step_time", "ns", layers * ns + head, timer="event"))
                keys = f"model={model},context={context},batch=1,impl={way},l2=cold"
                yield 7 if main else 3, keys, made
                if main and way in WATTS[model]:
                    watts = WATTS[model][way]
                    yield 3, keys, [metric("power", "watts", watts), metric("energy", "joules", joules(model, way))]
        for way in ("barrier", "ring", "values") if model != "3b" else ():
            keys = f"model={model},context=1024,impl={way}"
            yield 2, keys, [metric("closes", "ratio", 0.99),
                            metric("barrier_under_load", "ns", 1100 if way == "barrier" else 1600, timer="device")]
            for step, share in zip(STEPS, SHARES):
                for part, of in zip(PARTS, (0.8, 0.05, 0.05, 0.1)):
                    yield 2, f"{keys},step={step},part={part}", [
                        metric("where", "ns", 0.99 * share * of * layer_ns(model, 1024, way), timer="device")]


def varied(metrics, round_of):
    """From run to run times differ a little, each in its own way."""
    out = copy.deepcopy(metrics)
    for i, made in enumerate(out):
        if made["unit"] == "ns":
            by = 1 + 0.0004 * ((round_of * 3 + i * 5) % 7 - 3)
            made.update(median=made["median"] * by, best=made["best"] * by)
    return out


def peer_cases():
    """PyTorch's layers of two models, in every round."""
    for model in ("1b", "8b"):
        for impl, (kernels, ns) in PEERS.items():
            yield 7, f"model={model},context=1024,batch=1,impl={impl},l2=cold", [
                metric("layer_time", "ns", ns * MODELS[model][1] / MODELS["1b"][1], timer="event"),
                metric("kernels", "count", kernels, "exact")]


def bare(bundle):
    """The bundle without its runs of decoder_layer, and of PyTorch's layers."""
    return dict(bundle, runs=[run for run in bundle["runs"] if run["probe"]["name"] not in ("decoder_layer", "layer_peers")])


def layered(bundle, keep=lambda keys, metrics: metrics):
    """The bundle, with a planted run of decoder_layer and one of PyTorch's layers in each round, and no other."""
    other = copy.deepcopy(bare(bundle))
    like = next(run for run in other["runs"] if run["probe"]["name"] == "gemv")
    for round_of, (program, planted) in itertools.product(range(7), (("decoder_layer", cases), ("layer_peers", peer_cases))):
        run = {key: like[key] for key in ("schema", "schema_version", "status", "timers", "nvml")}
        run.update(probe={"name": program, "method": 1, "what": "A layer"}, checks_passed=9, checks=[], notes=[],
                   cubins={}, run=dict(like["run"], round=round_of), cases=[])
        for rounds, keys, metrics in planted():
            kept = keep(keys, varied(metrics, round_of))
            if round_of in ROUNDS[rounds] and kept:
                run["cases"].append({"case": keys, "metrics": kept, "power_bound": True,
                                     **({"once": True} if rounds == 2 else {"thrice": True} if rounds == 3 else {})})
        other["runs"].append(run)
    return other


# --- what is told -------------------------------------------------------------------------------------------

def section_of(path):
    return next(s for s in json.loads(told("report", "--format=json", path))["sections"] if s["name"] == "layer")


def cells(section, grid):
    return {("read" if "read of" in row["cells"][0]["text"] else row["cells"][0]["text"].split(":")[0]): [c.get("value") if c else None for c in row["cells"][1:]]
            for row in section["grids"][grid]["rows"]}


def near(a, b):
    return a is not None and abs(a / b - 1) < 0.002


def predictions_before(day):
    """The H200's newest file of predictions that was made before a day."""
    return max(path for path in glob.glob(os.path.join(H200, "floor", "*.tsv")) if os.path.basename(path)[:10] < day[:10])


def check_tables(section, measured):
    layers, steps, spent, where = (cells(section, i) for i in range(4))
    peers = {way: layers.pop(way) for way in list(layers) if way.startswith("PyTorch")}
    shown = dict(zip(("eager", "compile", "autotune"), ("PyTorch, eager", "PyTorch, compiled", "PyTorch, tiles searched")))
    check(len(peers) == 3 and all(
        peers[shown[impl]][0] == kernels and near(peers[shown[impl]][1], ns) and peers[shown[impl]][3] is None and
        near(peers[shown[impl]][2], layer_ns("1b", 1024, "read") / ns) and
        near(peers[shown[impl]][6], layer_ns("8b", 1024, "read") / peers[shown[impl]][5])
        for impl, (kernels, ns) in PEERS.items()), "PyTorch's layers stand beside them, with their share of the same read", peers)
    check(len(layers) == 10 and all(near(layers[way][1], layer_ns("1b", 1024, way)) and
                                   near(layers[way][5], layer_ns("8b", 1024, way)) for way in WAYS if way != "read"),
          "each packaging has its layer", layers)
    check(all(near(layers[way][2], layer_ns("1b", 1024, "read") / layer_ns("1b", 1024, way)) and
              layers[way][0] == KERNELS[way] for way in WAYS if way != "read"), "its share of the read, its kernels", layers)
    check(layers["ring"][3] is None and near(layers["values"][3], layer_ns("3b", 1024, "values")),
          "what was not measured of 3B is missing", layers)
    lines = [line.split("\t") for line in read_text(predictions_before(measured)).splitlines()[1:]]
    said = {(line[0], line[1], line[3]): (float(line[4]), float(line[7])) for line in lines}
    check(all(near(steps[way][1], said["llama-1b", "1024", way][1]) and near(1 + steps[way][2], steps[way][1] / steps[way][0])
              for way in WAYS if way != "read"), "each step stands beside what was predicted of it", steps)
    within = [abs(ns / predicted - 1) for (model, context, way), (layer, step) in said.items() if model[6:] in MODELS
              for ns, predicted in pairs_of(model[6:], int(context), way, layer, step)]
    n = sum(off <= 0.15 for off in within)
    count = f"Of {len(within)} layers and steps {n} ({100 * n / len(within):.0f} %) are within 15 %"
    check(any(count in note for note in section["notes"]), "how many predictions hold is counted", count + str(section["notes"]))
    check(any("none is below its floor" in note for note in section["notes"]), "none is below its floor")
    all_of = [sum(line[k] for name, line in where.items() if name != "all") for k in range(10)]
    check({way: [model for model, at in (("1b", 0), ("8b", 2)) if line[at] is not None] for way, line in spent.items()} ==
          {way: [model for model in WATTS if way in WATTS[model]] for way in WATTS["1b"]} and
          all(near(spent[way][at], joules(model, way)) and near(spent[way][at + 1], WATTS[model][way])
              for model, at in (("1b", 0), ("8b", 2)) for way in WATTS[model]), "joules and watts of a step", spent)
    check(all(near(a, b) for a, b in zip(where["all"], all_of)) and near(where["all"][4], sum(where["all"][:4])) and
          near(where["all"][4], 0.99 * layer_ns("1b", 1024, "values")), "where the time goes adds up", where)


def pairs_of(model, context, way, layer, step):
    """(predicted, measured) of what the planted bundle has of a packaging."""
    if model == "3b" and (context != 1024 or way not in ("graph", "dependent", "barrier", "values")):
        return
    if context != 1024 and way not in ("graph", "dependent", "barrier", "values"):
        return
    ns = layer_ns(model, context, way)
    yield layer, ns
    if context == 1024:
        yield step, MODELS[model][0] * ns + MODELS[model][2]


def check_days(bundle, folder):
    """Predictions are held against what was measured on a later day only, and the section says both days."""
    for day, said in (("2026-11-22", None), ("2026-11-23", "on 2026-11-22, by `gpufloor floor` of 2026-11-22-80d6623-1"),
                      ("2026-11-24", "on 2026-11-23, by `gpufloor floor` of 2026-11-23-31e0705-1"),
                      ("2026-11-27", "on 2026-11-24, by `gpufloor floor` of 2026-11-23-31e0705-1"),
                      ("2026-11-28", "on 2026-11-27, by `gpufloor floor` of 2026-11-27-4a747a3-1")):
        other = layered(of_programs(bundle, {"gemv"}))
        other["started"] = f"{day}T12:00:00Z"
        notes = " ".join(section_of(write(os.path.join(folder, "day.json"), other))["notes"])
        check((f"said: {said}, and measured on {day}." if said else "was not written down before the day") in notes,
              f"measured on {day}: {said or 'nothing was said before'}", notes)


def check_below(bundle, folder):
    """A step that is faster than its floor refutes it, and the section says so."""
    def faster(keys, metrics):
        return [dict(m, median=m["median"] / 2, best=m["best"] / 2) if m["name"] == "step_time" and "impl=values" in keys
                and "1b" in keys else m for m in metrics]
    section = section_of(write(os.path.join(folder, "below.json"), layered(bundle, faster)))
    check(any("1 are below their floor, which refutes it" in note for note in section["notes"]),
          "one below its floor is seen", section["notes"])


def check_page(path, folder, plain):
    out = os.path.join(folder, "layer.html")
    told("report", f"--html={out}", path)
    page = read_text(out)
    figure = re.search(r'<figure id="figure-layer">.*?</figure>', page, re.S)
    check(figure and figure[0].count("<svg") == 2, "the page has the time line, in both widths")
    titles = re.findall(r"<title>(1B, \w+), (\w+): weights: ([\d.]+) (\w+)</title>", figure[0] if figure else "")
    check({(form, step) for form, step, _, _ in titles} == {(f"1B, {way}", step) for way in ("barrier", "ring", "values")
                                                            for step in STEPS}, "of every step in every form", titles)
    told("report", f"--html={out}", plain)
    check("figure-layer" not in read_text(out), "a page without a layer has none")


def check_partly(bundle, folder):
    """Without a part of the rows the section says the rest; a bundle without any is as it was."""
    kinds = {"layers alone": lambda keys, metrics: [m for m in metrics if m["name"] == "layer_time"],
             "one model": lambda keys, metrics: metrics if "model=8b" in keys else [],
             "one packaging": lambda keys, metrics: metrics if "impl=graph" in keys else [],
             "no read": lambda keys, metrics: metrics if "impl=read" not in keys else [],
             "where alone": lambda keys, metrics: metrics if "step=" in keys else []}
    for name, keep in kinds.items():
        path = write(os.path.join(folder, "partly.json"), layered(bundle, keep))
        text = told("report", "--section", "layer", path)
        check(text.startswith("13 DECODER LAYER") and "nan" not in text and ("not measured" in text) == (name == "where alone"),
              f"{name}: the section says the rest", text[:300])
        if name == "one packaging":
            check(told("report", path) and told("claims", path), f"{name}: report and ledger are whole")


def main():
    bundle = read(newest_whole(H200))
    with tempfile.TemporaryDirectory() as folder:
        plain = write(os.path.join(folder, "plain.json"), bare(bundle))
        path = write(os.path.join(folder, "planted.json"), layered(bundle))
        section = section_of(path)
        check_tables(section, bundle["started"])
        check_days(bundle, folder)
        check(re.match(r"A layer runs at 96\.7 % of a read in 1B, 99\.0 % in 8B; a step of 8B takes 3\.31 ms\.$", section["finding"] or ""), "its finding", section["finding"])
        check_below(bundle, folder)
        text, before = told("report", path), told("report", plain)
        head = [line for line in text.splitlines() if re.match(r"\d+ DECODER", line)]
        check(len(head) == 1 and "DECODER" not in before, "the whole report has it where it was measured, and else not", head)
        check(len(text.splitlines()) <= 205 and all(len(line) <= 100 for line in text.splitlines()),
              "with it the report keeps to 205 lines of 100 columns", f"{len(text.splitlines())} lines")
        other = section_of(plain)
        check(other["missing"] and not other["grids"], "where no layer was measured the section says so", other)
        check_page(path, folder, plain)
        check_partly(bundle, folder)
        verdicts = {c["id"]: c["verdict"] for c in json.loads(told("claims", "--format=json", path))["claims"]}
        check_none([f"{c}: {verdicts[c]}" for c in CLAIMS if verdicts[c] in ("NOT TESTABLE", "OPEN")],
                   "the ledger decides what rests on it")
        verdicts = {c["id"]: c["verdict"] for c in json.loads(told("claims", "--format=json", plain))["claims"]}
        check_none([c for c in CLAIMS if verdicts[c] != "NOT TESTABLE"], "without it none of them")
        tex = os.path.join(folder, "tex")
        told("report", f"--tex={tex}", path)
        check("values" in read_text(tex, "layer.tex"), "the papers' table has it")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
