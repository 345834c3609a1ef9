#!/usr/bin/env python3
"""telling.py BUILD: what `gpufloor report` tells of real bundles and of doctored ones. The folder of each
board's committed results, its newest bundles, and bundles made of the newest one: of a GPU without wgmma
and clusters, of three programs only, with GDDR, with more SMs, where 256 blocks win, where fusing loses
everywhere. Of several GPUs what lies between them, too. Each must keep to 205 lines (made ones: 210) of 100 columns (of
80 on such a terminal), speak of no other board, and print only numbers that its rows hold, at three
digits, or that a rule listed here forms of them. The findings must change as the rows do. Each check is
seen to fail on a fault planted in what was printed.
TAP on stdout."""
import copy
import glob
import itertools
import json
import math
import os
import re
import statistics
import sys
import tempfile

from common import (FIGURES, SCALES, board_folders, boards_of_one, check, check_schema, finish, has_terminals, metrics_of,
                    newest_set, of_programs, on_terminal, program_of, read, table, told, write)
from layer import layered

LINES, COLUMNS, NARROW = 205, 100, 80
MADE_LINES = LINES + 5  # of a bundle made here: what surprises most takes longer sentences on a board that never was
MINE = ("memory", "curve", "flight", "ladder", "small", "links")  # whose every number is formed anew here
LOAD_TIME = "memory_latency.load_time{level=hbm"


def report(*words, **environment):
    return told("report", *words, **environment)


# --- bundles ----------------------------------------------------------------------------------------------

def doctored(bundle, keep=lambda probe, case, metric: True, figure=lambda probe, case, metric, value: value,
             **gpu):
    bundle = copy.deepcopy(bundle)
    bundle["environment"]["gpu"].update(gpu)
    for run in bundle["runs"]:
        name = run["probe"]["name"]
        for case in run["cases"]:
            case["metrics"] = [m for m in case["metrics"] if keep(name, case["case"], m["name"])]
            for metric in case["metrics"]:
                of_all = metric["unit"] == "count" and metric.get("median") == 132.0
                for key in FIGURES:
                    if of_all and "n_sm" in gpu and metric.get(key) is not None:
                        metric[key] = float(gpu["n_sm"])  # what was true of all SMs
                    elif metric.get(key) is not None:
                        metric[key] = figure(name, case["case"], metric, metric[key])
        run["cases"] = [case for case in run["cases"] if case["metrics"]]
    bundle["runs"] = [run for run in bundle["runs"] if run["cases"]]
    return bundle


def no_hopper(probe, case, metric):
    """Is it a case that a GPU without clusters, bulk copies and wgmma has?"""
    words = probe + " " + case + " " + metric
    return not re.search(r"wgmma|cluster|dsmem|bulk|_tma|multicast|sm_to_sm_rate|mbarrier|pdl|fp8", words)


def no_wgmma(probe, case, metric):
    return "wgmma" not in case


def few_blocks_lose(probe, case, metric, value):
    lower = probe in ("block_count", "small_gemm") and "tile=64x64,split=1" in case and metric["unit"] == "ns"
    return value * 0.7 if lower else value


def fusing_loses(probe, case, metric, value):
    """Every fused kernel takes thirty times as long."""
    fused = re.search(r"impl=(fused|attention|inside)", case) and metric["unit"] == "ns" and metric["name"] == "time"
    return value * 30 if fused else value


def made_of(newest):
    board = lambda name, **more: dict(name="NVIDIA " + name, board="nvidia-" + name.lower().replace(" ", "-"), **more)
    own = [newest["environment"]["gpu"]["name"].split()[1], r"\b132\b"]
    return {
        "a GPU of cc 8.0": (doctored(newest, no_hopper, **board("A100", cc="8.0", n_sm=108)),
                            own + ["wgmma", "cluster", "dsmem"]),
        "three programs": (of_programs(newest, ("memory_latency", "launch", "spin")), []),
        "256 blocks that win": (doctored(newest, figure=few_blocks_lose), []),
        "fusing that loses": (doctored(newest, figure=fusing_loses), []),
        "an L40S": (doctored(newest, no_hopper, **board("L40S", cc="8.9", n_sm=142, bus_bits=384)),
                    own + ["HBM", "wgmma", "cluster"]),
        "an RTX 4090": (doctored(newest, no_hopper, **board("RTX 4090", cc="8.9", n_sm=128, bus_bits=384)),
                        own + ["HBM", "wgmma", "cluster"]),
        "a decoder's layer": (layered(newest), []),
        "a B200": (doctored(newest, no_wgmma, **board("B200", cc="10.0", n_sm=148)), own + ["wgmma"]),
    }


# --- numbers ----------------------------------------------------------------------------------------------

def scaled(value, scale):
    """As it is printed: divided by a thousand, not times a thousandth, or a tie would be another."""
    return value / round(1 / scale) if scale < 1 else value * scale


def three(value):
    """How three digits of it may be written."""
    if not math.isfinite(value):
        return set()
    texts = {f"{value:.0f}", f"{value:.1f}", f"{value:.2f}"} if abs(value) >= 0.02 else set()
    if value:
        digits = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-9))
        texts |= {f"{value:.{d}f}" for d in (digits, digits + 1, max(0, digits - 1))}
    return texts


def counted_blocks(folder):
    """(the id of a library's idle SMs, blocks of one product) of the newest counters of products, if no SM had two blocks and
    one had none."""
    for program in ("small_gemm", "gemm_sizes"):
        for path in sorted(glob.glob(os.path.join(folder, "counters", f"*-{program}.json")))[-1:]:
            for case in read(path)["probes"][0]["cases"]:
                counters, (metric, products) = case["counters"], next(iter(case["works"]["sm"].items()))
                if counters["blocks_least"] == 0 and counters["blocks_most"] == products:
                    timer = metric.replace("time,", "timer=")
                    yield f"blocks_least of {program}.time{{{case['case']},{timer}}}", counters["blocks"] / products


class Rows:
    """The rows of a bundle, and what may be formed of them."""

    def __init__(self, path, bundle):
        lines = [line.split("\t") for line in report("--format", "tsv", path).splitlines()[1:]]
        self.unit = {line[0]: line[1] for line in lines}
        self.centre = {line[0]: float(line[2]) if line[2] != "-" else math.nan for line in lines}
        gpu = bundle["environment"].get("gpu", {})
        self.sms = gpu.get("n_sm", math.nan)
        self.clock = next((v for k, v in self.centre.items() if k.startswith("spin.sm_clock{source=measured")),
                          1e6 * gpu.get("sm_clock_max_mhz", math.nan))
        self.pins = 2e6 * gpu.get("memory_clock_mhz", math.nan) * gpu.get("bus_bits", math.nan) / 8
        self.gpu = gpu
        self.counted = dict(counted_blocks(path)) if os.path.isdir(path) else {}

    def first(self, start, *parts):
        return next((v for k, v in self.centre.items() if k.startswith(start) and all(p in k for p in parts)
                     and math.isfinite(v)), math.nan)

    def best(self, start, *parts):
        found = [v for k, v in self.centre.items() if k.startswith(start) and all(p in k for p in parts)]
        return max(found, default=math.nan)

    def formed(self, section, number, base):
        """The values that a cell of a section may have, by its id and its unit; base: the best time."""
        name, row = number["id"] or "", self.centre.get(number["id"], math.nan)
        key = lambda k: float(m.group(1)) if (m := re.search(rf"[{{,]{k}=(\d+)", name)) else math.nan
        unit, own = number["unit"], self.unit.get(name)
        if not name:  # a fact of the board
            yield from (float(v) for v in self.gpu.values() if isinstance(v, (int, float)))
        if own == unit:
            yield row
        if own == "cycles" and unit == "ns":
            yield row / self.clock * 1e9
        if section == "memory" and unit == "bytes/cycle":
            yield row / self.sms / self.clock
        if section == "memory" and unit == "bytes":
            yield from (float(m) for k in self.centre if k.startswith("memory_latency.constant{")
                        for m in re.findall(r"bytes=(\d+)", k))
        if section == "flight" and unit == "bytes/s" and name.startswith(LOAD_TIME):
            yield from self.law(self.flying(), row)
        elif section == "flight":
            flying = key("in_flight") if "in_flight" in name else key("warps") * key("loads") * 512
            best = max(self.best("occupancy.read_rate{level=hbm"), self.best("occupancy.path_rate{level=hbm"))
            yield {"bytes": flying, "ratio": row / best, "ns": flying * self.sms / row * 1e9}.get(unit, math.nan)
        if section == "small":
            yield {"flop/s": 2 * 1024**3 / row * 1e9}.get(unit, math.nan)
            if unit == "ratio":
                yield row / base
            if name in self.counted:
                yield self.sms - self.counted[name]
        if section == "links":
            yield from self.between(name, unit, row)
        if section == "curve" and not name:  # a level: the median of its points
            points = [v for k, v in self.centre.items() if k.startswith("memory_latency.curve{")]
            yield from ((a + b) / 2 for a in points for b in points)

    def law(self, flying, load):
        """Rates of the memory by Little's law, by bytes in flight on an SM and the latency of a load in ns."""
        most = [v for k, v in self.centre.items() if k.startswith("bandwidth.rate{level=hbm,op=read,path=ld")]
        return {min(each * self.sms / load * 1e9, limit) for each in flying for limit in most}

    def flying(self):
        """Bytes in flight on each SM of the ways to read the memory."""
        whole = lambda k, name: int(m.group(1)) if (m := re.search(rf"[{{,]{name}=(\d+)", k)) else 0
        return {whole(k, "in_flight") or 512 * whole(k, "warps") * whole(k, "loads") for k in self.centre
                if k.startswith(("occupancy.read_rate{level=hbm", "occupancy.path_rate{level=hbm"))}

    def sweep(self, name):
        """[(bytes, value)] of the row's case over its sizes."""
        pattern = re.compile(re.sub(r"bytes=\d+", r"bytes=(\\d+)", re.escape(name)))
        return sorted((int(m.group(1)), value) for key, value in self.centre.items()
                      if math.isfinite(value) and (m := pattern.fullmatch(key)))

    def model(self, name):
        """A fixed time and a rate from the ends of a sweep, and how far a time between them is off at worst."""
        (first, least), *middle, (last, most) = self.sweep(name)
        rate = (last - first) / (most - least)  # bytes/ns
        fixed = least - first / rate
        return fixed, rate * 1e9, max(((fixed + n / rate) / ns - 1 for n, ns in middle), key=abs)

    def hbm_read(self):
        return [v for k, v in self.centre.items() if k.startswith("bandwidth.rate{level=hbm,op=read,path=ld")][-1]

    def between(self, name, unit, row):
        """What a cell between GPUs may be formed of: its row with others."""
        if name.startswith("peer_memory.rate{") and unit == "ratio":
            yield row / self.centre[re.sub("by=[a-z_]+", "by=copy_engine", name)]
        if name.startswith("peer_memory.raw{") and unit == "bytes/s":
            yield row * self.centre[name.replace(".raw{", ".rate{")]
        if name.startswith(("peer_memory.transfer_time{", "all_reduce.time{")) and len(self.sweep(name)) > 2:
            fixed, rate, worst = self.model(name)
            yield {"ns": fixed, "bytes/s": rate, "ratio": worst}.get(unit, math.nan)
        if name.startswith("layer.time{") and unit == "ratio":
            read = name.replace(".time{", ".bytes{").replace(",timer=event", "")
            yield self.centre[read] / self.hbm_read() / row * 1e9
        if name.startswith("layer.step_time{") and unit == "count":
            yield 1e9 / row

    def slower_by_nccl(self):
        """The time of a layer in a graph with NCCL over that in one kernel."""
        layer = {impl: self.first("layer.time{model=8b,context=1024", f"impl={impl},")
                 for impl in ("push", "near", "graph_nccl")}
        return layer["graph_nccl"] / min(layer["push"], layer["near"])

    def said_between(self):
        """Numbers that sentences and texts between GPUs form; none where there are none."""
        for name in [k for k in self.centre if k.startswith(("peer_memory.transfer_time{", "all_reduce.time{"))]:
            size, sweep = int(re.search(r"bytes=(\d+)", name).group(1)), self.sweep(name)
            if len(sweep) > 2 and sweep[0][0] == size:
                fixed, rate, _ = self.model(name)
                yield from (fixed * rate * 1e-9 / 2**10, fixed * rate * 1e-9 / 2**20)
            yield from (size / 2**10, size / 2**20)
        if math.isfinite(self.slower_by_nccl()):
            yield from (self.slower_by_nccl(), 90, 64)
        yield sum(k.startswith(("all_reduce.differ{", "layer.differ{")) for k in self.centre)

    def fixed(self):
        """us of a product of 1024^3 by 128x64 at k = 0, by the lines through two neighbours of three times; the less first."""
        at = {k: self.first(f"block_count.time{{m=1024,n=1024,k={k},", "impl=wgmma,tile=128x64,", "grid=tiles,tiles=all",
                            "l2=warm") / 1e3 for k in (512, 1024, 2048)}
        return sorted((2 * at[512] - at[1024], 2 * at[1024] - at[2048]))

    def sentences(self):
        """Numbers that sentences form."""
        rate, load = self.best("bandwidth.rate{level=hbm,op=read,path=ld"), self.first("memory_latency.load_time{level=hbm")
        rate = list(v for k, v in self.centre.items() if k.startswith("bandwidth.rate{level=hbm,op=read,path=ld"))[-1:] \
            or [rate]
        yield rate[0] * load * 1e-9 / self.sms / 1024
        yield 100 * rate[0] / self.pins
        step = lambda mode: self.first(f"edges.step{{mode={mode},blocks=sm,body=0,span=64-512")
        yield 100 * abs(1 - step("counter") / step("graph"))
        cube = lambda k, *p: self.first("block_count.time{m=1024,n=1024,k=" + k, "tile=128x64,", "grid=tiles", "l2=warm", *p)
        whole, idle = cube("1024"), self.first("block_count.idle_sms{m=1024", "tile=128x64,")
        yield from (*self.fixed(), whole * idle / self.sms / 1e3, whole / 1e3)
        wave = [self.first("block_count.time{m=4096", f"tiles={t},") for t in ("sm", "sm+1")]
        yield 100 * (wave[1] / wave[0] - 1)
        times = [v for k, v in self.centre.items() if k.startswith("block_count.time{m=1024,n=1024,k=1024")]
        for a in times:
            for b in times:
                if 1 <= a / b < 2:
                    yield from (100 * (a / b - 1), (a - b) / 1e3)
        for k, v in self.centre.items():
            if k.startswith("block_count.products_share{m=1024,n=1024,k=1024"):
                yield 100 * (1 - v)
            if k.startswith("block_count.operand_bytes{m=1024,n=1024,k=1024"):
                yield from (100 * (w / v - 1) for m, w in self.centre.items() if w > v and m.startswith(
                    "block_count.operand_bytes{m=1024,n=1024,k=1024"))


# Series of numbers that sentences form, too (said() holds these), and of cycles at the clock of their case, which no
# row holds.
OF_SENTENCES = ("fixed cost", "one tile more than SMs", "a block of few", "a block of many")


def numbers_in(section, grids_only=False):
    """Every number cell of a section of the JSON."""
    for grid in section["grids"]:
        for row in grid["rows"]:
            yield from (c for c in row["cells"] if c and c["kind"] != "text" and c["value"] is not None)
    for series in section["series"]:
        if not grids_only and series["name"] not in OF_SENTENCES:
            yield from (p["y"] for p in series["points"])


def unfounded_cells(told, rows, name):
    """Cells of the sections whose value no row has and no rule forms."""
    bad = []
    for section in told["sections"]:
        if section["name"] not in MINE:
            continue
        own = [cell for cell in numbers_in(section) if not cell["quoted"]]
        base = min((c["value"] for c in numbers_in(section, grids_only=True) if c["unit"] == "ns"
                    and "l2=warm" in (c["id"] or "") and not c["quoted"]), default=math.nan)
        for cell in own:
            if not any(math.isclose(cell["value"], v, rel_tol=1e-6) for v in rows.formed(section["name"], cell, base)
                       if math.isfinite(v)):
                bad.append(f"{name}: {section['name']}: {cell['value']} {cell['unit']} {cell['id']}")
    return bad


def unlawful_rows(told, rows):
    """Rows of what is in flight beside which another rate stands than Little's law has for their bytes."""
    grids = next((section["grids"] for section in told["sections"] if section["name"] == "flight"), [])
    for cells in (row["cells"] for grid in grids for row in grid["rows"]):
        flying, law = cells[0], next((c for c in cells if c and (c.get("id") or "").startswith(LOAD_TIME)), None)
        if law and law["value"] is not None and not any(
                math.isclose(law["value"], v, rel_tol=1e-6) for v in rows.law({flying["value"]}, rows.centre[law["id"]])):
            yield f"{flying['value']} bytes in flight: {law['value']}"


def said(told, rows):
    """The texts that numbers of sentences, lines and tables may have."""
    allowed = set("0 1 2 3 4 5 6 7 8 16 24 32 95 100 1024".split())
    for section in told["sections"]:
        for cell in numbers_in(section):
            for scale in SCALES.get(cell["unit"], (1,)):
                allowed |= three(scaled(abs(cell["value"]), scale))
            for end in ("low", "high"):
                if cell[end] is not None and cell["value"]:
                    allowed |= three(100 * abs(cell[end] / cell["value"] - 1))
    for value in itertools.chain(rows.sentences(), rows.said_between()):
        allowed |= three(value)
    for name, value in rows.centre.items():
        if name.startswith(("derived.capacity", "block_count.", "sm_to_sm.", "memory_latency.")):
            for scale in SCALES.get(rows.unit[name], (1,)):
                allowed |= three(scaled(value, scale))
            if ".first_data" in name or ".fetched" in name or ".products_done" in name or ".end" in name:
                allowed |= three(value / rows.clock * 1e6)
                allowed |= {f"{value / mhz:.2f}" for mhz in range(1000, int(rows.clock / 1e6) + 5)}
        allowed |= set(re.findall(r"\d+", name)) if name.startswith(("block_count", "small_gemm", "sm_to_sm.")) else set()
    for value in rows.gpu.values():
        if isinstance(value, (int, float)):
            for scale in (1, 2**-10, 2**-20, 2**-30):
                allowed |= three(value * scale)
    curve = [v for k, v in rows.centre.items() if k.startswith("memory_latency.curve{")]
    return allowed | set().union(*(three(v) for v in curve), set())


def unfounded_words(text, told, rows):
    """Numbers of the text of the sections that stand nowhere else."""
    allowed, bad = said(told, rows), []
    numbers = {s["number"]: s["name"] for s in told["sections"]}
    name = None
    for line in text.splitlines():
        if head := re.match(r"(\d+) [A-Z]", line):
            name = numbers.get(int(head.group(1)))
            line = line[head.end():]
        if line.startswith("NEXT"):
            break
        if name not in MINE:
            continue
        line = re.sub(r"m16n8k16|LL128|fp\d+|1024\^3|sm_\d+|\d+[KMG]\b|\d+x\d+\w*|L[12]|SM has", " ", line)
        line = re.sub(r"(\d+ [num]?s )+100 ms$|1 ns +100 ns.*", " ", line)
        bad += [f"{n} in: {line.strip()}" for n in re.findall(r"\d+(?:\.\d+)?", line) if n not in allowed]
    return bad


def fixed_cost(text):
    """The least and the most of a product that does not grow with k, as the text says it; none where it says nothing."""
    found = re.search(r"(\S+) to (\S+) of the \S+ us of \S+ do not grow with k", re.sub(r"\s+", " ", text))
    return [float(word) for word in found.groups()] if found else []


def is_fixed_cost(said, formed):
    """The centre of a formed row is that of its runs: it may be apart from what centres form."""
    return len(said) == 2 and all(math.isclose(a, b, abs_tol=0.02) for a, b in zip(said, formed))


def check_fixed(name, bundle, text, rows, folder):
    """Of three times over k two lines are told; where the deepest product takes 2 % longer, the least is another."""
    slower = doctored(bundle, figure=lambda probe, case, metric, value: 1.02 * value if (probe, metric["name"]) == (
        "block_count", "time") and "k=2048," in case else value)
    path = write(os.path.join(folder, "slower.json"), slower)
    other = Rows(path, slower)
    check(is_fixed_cost(fixed_cost(text), rows.fixed()) and not is_fixed_cost(fixed_cost(text), other.fixed())
          and is_fixed_cost(fixed_cost(report(path)), other.fixed()), f"{name}: the fixed cost by two lines over k",
          f"{fixed_cost(text)}, not {rows.fixed()}; planted {other.fixed()}")


def check_need(name, text, rows):
    """The least in flight by which nine tenths of the best rate are measured."""
    rates = {k: v for k, v in rows.centre.items() if math.isfinite(v)
             and k.startswith(("occupancy.read_rate{level=hbm", "occupancy.path_rate{level=hbm"))}
    flying = lambda k: int(m.group(1)) if (m := re.search(r"in_flight=(\d+)", k)) else math.prod(
        int(re.search(rf"[{{,]{key}=(\d+)", k).group(1)) for key in ("warps", "loads")) * 512
    least = lambda share: min(flying(k) for k, v in rates.items() if v >= share * max(rates.values())) / 1024
    told = re.search(r"measured, 90 % takes (\S+) KiB", re.sub(r"\s+", " ", text))
    check(told and float(told[1]) == least(0.9) != least(0.5), f"{name}: how much in flight 90 % of the rate takes",
          f"{told and told[0]}, not {least(0.9)}; 50 %: {least(0.5)}")


def clocks_of(bundle):
    """{id of a metric: the SM clocks of its runs}, of cases of which none was discarded."""
    clocks, discarded = {}, set()
    for run, case, metric in metrics_of(bundle):
        keys = ",".join(part for part in (case["case"], f"timer={metric['timer']}" if "timer" in metric else "") if part)
        name = f"{program_of(run)}.{metric['name']}" + (f"{{{keys}}}" if keys else "")
        if "discarded" in run or "discarded" in case:
            discarded.add(name)
        elif metric.get("median") is not None:
            clocks.setdefault(name, []).append(case.get("sm_clock", {}).get("median_mhz"))
    return {name: of_runs for name, of_runs in clocks.items() if name not in discarded}


def wrong_clocks(rows, bundle):
    """Rows whose clock_mhz is not the median of their runs' clocks; and how many have one."""
    clocks, wrong, n = clocks_of(bundle), [], 0
    for row in rows:
        of_runs = [mhz for mhz in clocks.get(row["metric"], []) if mhz is not None]
        n += row["clock_mhz"] != "-"
        if row["metric"] in clocks and (row["clock_mhz"] != "-" if not of_runs else not math.isclose(
                float(row["clock_mhz"].replace("-", "nan")), statistics.median(of_runs), rel_tol=1e-6)):
            wrong.append(f"{row['metric']}: {row['clock_mhz']}, not of {of_runs}")
    return wrong, n


def check_clocks(board, path, bundle):
    rows = table("report", "--all", path)
    wrong, n = wrong_clocks(rows, bundle)
    planted = [dict(row, clock_mhz="1000" if row["clock_mhz"] != "-" else "-") for row in rows]
    check(n > 500 and not wrong and wrong_clocks(planted, bundle)[0], f"{board}: a row has its case's clock",
          wrong or f"{n} rows")


# --- checks -----------------------------------------------------------------------------------------------

def too_long(text, most):
    return len(text.splitlines()) > most


def too_wide(text, columns):
    return [line for line in text.splitlines() if len(line) > columns]


def spoken(text, words):
    return [w for w in words if re.search(w, text)]


def finding(told, name):
    section = next(s for s in told["sections"] if s["name"] == name)
    return section["finding"] or section["missing"] or ""


def look_at(name, path, bundle, words, most=LINES):
    text, told = report(path), json.loads(report("--format", "json", path))
    rows = Rows(path, bundle)
    check(not too_long(text, most) and too_long(text + "x\n" * most, most), f"{name}: at most {most} lines",
          f"{len(text.splitlines())} lines")
    check(not too_wide(text, COLUMNS) and too_wide(text + "x" * 101, COLUMNS), f"{name}: at most {COLUMNS} columns",
          "\n".join(too_wide(text, COLUMNS)))
    if has_terminals() and (words or os.path.isdir(path)):
        narrow = on_terminal(NARROW, "report", path)
        check(narrow and not too_wide(narrow, NARROW) and too_wide(text, NARROW),
              f"{name}: at most {NARROW} columns on a terminal of so many", "\n".join(too_wide(narrow, NARROW)))
    if words:
        check(not spoken(text, words) and spoken(text + f" {words[0]} 132 HBM wgmma cluster dsmem", words) == words,
              f"{name}: speaks of no other GPU",
              "\n".join(line for line in text.splitlines() if spoken(line, words)))
    bad = unfounded_cells(told, rows, name)
    planted = copy.deepcopy(told)
    cell = next((c for s in planted["sections"] if s["name"] in MINE for c in numbers_in(s)), {"value": 1})
    cell["value"] *= 1.01
    check(not bad and unfounded_cells(planted, rows, name), f"{name}: cells are rows, or formed of them", "\n".join(bad))
    bad = list(unlawful_rows(told, rows))
    planted = copy.deepcopy(told)
    ways = [row["cells"] for s in planted["sections"] if s["name"] == "flight" for g in s["grids"] for row in g["rows"]]
    if len(ways) > 1 and ways[0][4]["value"]:
        ways[0][4]["value"], ways[1][4]["value"] = ways[1][4]["value"], ways[0][4]["value"]
        check(list(unlawful_rows(planted, rows)), f"{name}: planted: Little's law of another row")
    check(not bad, f"{name}: Little's law is that of each row's bytes", "\n".join(bad))
    bad = unfounded_words(text, told, rows)
    spoilt = re.sub(r"(LADDER .*)", r"\1 It takes 31.7777 ns.", text)
    check(not bad and unfounded_words(spoilt, told, rows), f"{name}: sentences have numbers of rows", "\n".join(bad))
    return told


def look_between(board, path, bundle):
    """A fault in any kind of cell between GPUs is seen, and one in a sentence of theirs."""
    told, text = json.loads(report("--format", "json", path)), report(path)
    rows = Rows(path, bundle)
    links = next(i for i, section in enumerate(told["sections"]) if section["name"] == "links")
    kinds = {}
    for i, cell in enumerate(numbers_in(told["sections"][links])):
        if cell["value"]:
            kinds.setdefault((re.sub("{.*", "", cell["id"]), cell["unit"]), i)
    check(len(kinds) >= 12, f"{board}: kinds of numbers between GPUs: {len(kinds)}")
    ratio = rows.slower_by_nccl()
    times = re.search(r"takes (\d\.\d\d)\s+times that", text)
    check(times and abs(float(times[1]) - ratio) <= 0.00501, f"{board}: how much longer a layer takes by NCCL", ratio)
    for (metric, unit), i in kinds.items():
        planted = copy.deepcopy(told)
        list(numbers_in(planted["sections"][links]))[i]["value"] *= 1.01
        check(unfounded_cells(planted, rows, board), f"{board}: planted: {metric} in {unit}")
    for old, new in ((r"takes (1\.\d\d) times", "takes 71.7777 times"), (r"(\d+) of \d+ kinds", "76543 of 76543 kinds"),
                     (r"A word takes \d+", "A word takes 76543")):
        spoilt = re.sub(old, new, re.sub(r"(?<=\S)\n +(?=\S)", " ", text))
        check(new in spoilt and unfounded_words(spoilt, told, rows), f"{board}: planted: {new}")


def look_at_doctored(newest, real):
    folder = tempfile.TemporaryDirectory()
    told = {}
    for name, (bundle, words) in made_of(newest).items():
        path = write(os.path.join(folder.name, name.replace(" ", "_") + ".json"), bundle)
        told[name] = look_at(name, path, bundle, words, MADE_LINES)
    word = lambda name, section, pattern: bool(re.search(pattern, finding(told[name], section)))
    beats = r"\d+ blocks beat \d+, although \d+ of"
    check(re.search(beats, finding(real, "small")) and word("256 blocks that win", "small", r"256 blocks are fastest")
          and not word("256 blocks that win", "small", beats), "the finding of small products follows the rows",
          finding(real, "small") + "\n" + finding(told["256 blocks that win"], "small"))
    gains = r"gains up to"
    check(re.search(gains, finding(real, "fusion")) and not word("fusing that loses", "fusion", gains),
          "the finding of fusion follows the rows",
          finding(real, "fusion") + "\n" + finding(told["fusing that loses"], "fusion"))
    check(finding(told["three programs"], "flight").startswith("not measured: ")
          and not finding(real, "flight").startswith("not measured"), "what is not measured is told so")
    check(word("an L40S", "memory", "from DRAM") and re.search("from HBM", finding(real, "memory")),
          "the memory has its name")
    folder.cleanup()


def main():
    doctored_one = False
    for board, folder in board_folders():
        has_several = (board, folder) not in boards_of_one()
        newest = newest_set(folder)
        bundle = read(newest[0])
        look_at(board, folder, bundle, [])
        if has_several:
            look_between(board, folder, bundle)
        for path in newest:
            real = look_at(os.path.basename(path), path, bundle, [])
        check_clocks(board, newest[0], bundle)
        if not has_several:
            with tempfile.TemporaryDirectory() as work:
                check_fixed(board, bundle, report(newest[0]), Rows(newest[0], bundle), work)
                check_need(board, report(newest[0]), Rows(newest[0], bundle))
        check_schema("report", json.loads(report("--format", "json", newest[0])),
                     lambda document: document["sections"][0].pop("finding"))
        if bundle["environment"]["gpu"]["n_sm"] == 132 and not doctored_one and not has_several:
            look_at_doctored(bundle, real)  # 132 SMs: what the words of made_of() ask for
            doctored_one = True
        check(report("--section", "curve", newest[0], LC_ALL="C").isascii()
              and not report("--section", "curve", newest[0]).isascii(), f"{board}: without UTF-8 a curve is ASCII")
    return finish()


sys.exit(main())
