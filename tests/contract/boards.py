#!/usr/bin/env python3
"""boards.py BUILD: `gpufloor report A B` on the committed H100 and H200, and on doctored ones: swapped, the same
board twice, with fewer SMs of another generation, a row 1.3 times off, a row that scales with the pins, rows that
are missing. Two boards of two GPUs, and doctored ones: links twice as fast, four GPUs, one GPU. Every number is a
row's at three digits, every ratio that of two rows, every explanation holds by the facts of the two boards, and
the sentence's counts are those of the table. Each check is seen to fail on a fault planted in what it looks at."""
import copy
import glob
import json
import math
import os
import re
import sys
import tempfile

from common import (H100, H200, RESULTS, ROOT, check, check_schema, count, finish, newest_whole, program_of, read, read_text,
                    scaled, table, told, write)

NEAR, LINES, COLUMNS = 1.05, 105, 100
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GB/s": 1e9,
         "TB/s": 1e12, "TFLOP/s": 1e12}
CHOSEN = ("1024^3 fp16, ours", "read, HBM, one warp on each SM", "256 KiB added, in a kernel",
          "256 KiB added, a node", "1 MiB added, in a kernel", "1 MiB added, a node")  # by round 1, judged on the others


def check_both(what, wrong, subject, spoil):
    """wrong() lists what is wrong: nothing with the subject, something with a spoilt copy."""
    found = wrong(subject)
    check(not found, what, "\n".join(map(str, found)))
    spoilt = spoil(copy.deepcopy(subject))
    check(spoilt != subject and wrong(spoilt), f"{what}: a planted fault is seen")


def report(*words):
    return told("report", *words)


def by_id(path):
    return {row["metric"]: row for row in table("report", path)}


class Pair:
    """The report of two bundles: text, sections of the JSON by name, rows of both."""

    def __init__(self, a, b):
        self.paths = a, b
        self.text = report(a, b)
        self.document = json.loads(report("--format", "json", a, b))
        self.section = {s["name"]: s for s in self.document["sections"]}
        self.rows = by_id(a), by_id(b)

    def table(self, name="numbers"):
        """[label, a, b, ratio, explained] of each row."""
        return [[c.get("text", c) if c["kind"] == "text" else c for c in row["cells"]]
                for row in self.section[name]["grids"][0]["rows"]]

    def row(self, label):
        return next(row for row in self.table() if row[0] == label)

    def fact(self, label):
        return next(row for row in self.table("conditions") if row[0] == label)[3]["value"]


# --- numbers ------------------------------------------------------------------------------------------------

def is_rate(number):
    return number["unit"].endswith("/s") or number["unit"] == "bytes"


def not_of_rows(subject):
    """Values that no row has, and ratios that are not those of the two."""
    rows, table = subject
    wrong = []
    for label, a, b, ratio, *_ in table:
        for number, known in ((a, rows[0]), (b, rows[1])):
            if number["value"] is None:
                continue
            centre = float(known[number["id"]]["centre"]) if number["id"] in known else math.nan
            if not math.isclose(number["value"], centre, rel_tol=0.01 if label in CHOSEN else 1e-6):
                wrong.append(f"{label}: {number['value']} {number['id']} {centre}")
        if a["value"] is None or b["value"] is None:
            if ratio["value"] is not None:
                wrong.append(f"{label}: a ratio of nothing")
            continue
        expected = b["value"] / a["value"] if is_rate(a) else a["value"] / b["value"]
        if ratio["value"] is None or not math.isclose(ratio["value"], expected, rel_tol=1e-9):
            wrong.append(f"{label}: ratio {ratio['value']}, rows say {expected}")
    return wrong


def digits(text):
    return len(text.replace(".", "").lstrip("0"))


def not_as_printed(subject):
    """Rows whose printed numbers are not those of the JSON, at three digits."""
    text, table = subject
    wrong = []
    for label, a, b, ratio, *_ in table:
        line = next((x for x in text.splitlines() if x.startswith("  " + label + " ")), "")
        found = re.findall(r"(?:^|\s)(-|[0-9.]+(?: (?:%s))?)(?=\s|$)" % "|".join(UNITS), line[2 + len(label):])[:3]
        for said, number in zip(found + [""] * 3, (a, b, ratio)):
            if number["value"] is None:
                wrong += [] if said == "-" else [f"{label}: {said!r} for nothing"]
                continue
            value, _, unit = said.partition(" ")
            try:
                is_it = math.isclose(float(value) * UNITS.get(unit, 1), number["value"], rel_tol=5.1e-3)
            except ValueError:
                is_it = False
            if not is_it or (digits(value) > 3 and "." in value):
                wrong.append(f"{label}: {said!r} for {number['value']}")
    return wrong


# --- explanations -------------------------------------------------------------------------------------------

def near(ratio, expected, by=NEAR):
    return abs(math.log(ratio / expected)) <= math.log(by) + 1e-9


def not_explained_so(subject):
    """Explanations that the boards' facts do not bear out. Clocks of rows differ by some per cent."""
    table, pins, sms, l2, links = subject
    wrong = []
    for label, a, b, ratio, said in table:
        x = ratio["value"]
        if x is None:
            wrong += [] if said == "-" else [f"{label}: {said}"]
        elif said.startswith("pins, in part"):
            if not min(1, pins) / NEAR < x < max(1, pins) * NEAR or near(x, pins) or near(x, 1):
                wrong.append(f"{label}: {x} {said}")
        elif said.startswith("pins or"):
            wrong += [] if near(x, pins) else [f"{label}: {x} {said}"]
        elif said.startswith("pins"):
            wrong += [] if near(x, pins) else [f"{label}: {x} {said}"]
        elif said.startswith("L2 size"):
            wrong += [] if near(x, l2) else [f"{label}: {x} {said}"]
        elif said.startswith("links"):
            wrong += [] if near(x, links) else [f"{label}: {x} {said}"]
        elif said.startswith("alike"):
            wrong += [] if near(x, 1) else [f"{label}: {x} {said}"]
        elif said.startswith("between alike and links"):
            if not min(1, links) < x < max(1, links) or near(x, links) or near(x, 1):
                wrong.append(f"{label}: {x} {said}")
        elif said.startswith("clock"):
            wrong += [] if near(x, 1, 1.07) else [f"{label}: {x} {said}"]
        elif said.startswith(("chip", "power")):
            wrong += [] if near(x, sms, 1.10) else [f"{label}: {x} {said}"]
        elif said.startswith("not explained"):
            claimed = re.search(r"\((?:pins|L2 size|links): ([0-9.]+)\)", said)
            expected = float(claimed.group(1)) if claimed else 1
            wrong += [] if not near(x, expected, NEAR / 1.03) else [f"{label}: {x} {said}"]
        else:
            wrong.append(f"{label}: {said!r}")
    return wrong


def miscounted(subject):
    """Counts of the sentence that are not those of the table."""
    finding, table = subject
    said = {word: int(n) for n, word in re.findall(r"(\d+) (?:is|are) (not explained|not on both|the same)", finding)}
    said["pins"] = int((re.search(r"(\d+) follows? the pins", finding) or [0, 0])[1])
    said["n"] = int(re.search(r"of (\d+) number", finding)[1])
    texts = [row[4] for row in table]
    real = {"not explained": sum(t.startswith("not explained") for t in texts),
            "not on both": texts.count("-"), "n": len(texts) - texts.count("-"),
            "pins": sum(bool(re.match(r"pins(, [+-]\d+ %)?$", t)) for t in texts)}
    wrong = [f"{k}: {said.get(k, 0)}, table {v}" for k, v in real.items() if said.get(k, 0) != v]
    parts = re.sub(r";.*", "", finding).split("number", 1)[1]
    total = sum(int(n) for n in re.findall(r"(?<![\d.])(\d+) [a-z]", parts))
    return wrong + ([] if total == said["n"] else [f"parts make {total} of {said['n']}"])


def too_long(text):
    lines = text.splitlines()
    return [f"{len(lines)} lines"] * (len(lines) > LINES) + [x for x in lines if len(x) > COLUMNS]


def judged(text):
    """FASTER and SLOWER are compare's words: here they speak of memory, in a title."""
    return [x for x in text.splitlines() if re.search(r"\b(FASTER|SLOWER)\b(?! MEMORY)", x)]


# --- doctored bundles ---------------------------------------------------------------------------------------

def scaled_row(bundle, probe, case, names, factor):
    return scaled(bundle, lambda run, one, metric: factor if program_of(run) == probe and one["case"] == case and
                  metric["name"] in names else 1)


class Folder:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()

    def put(self, name, bundle):
        return write(os.path.join(self.folder.name, name + ".json"), bundle)


def spoil_ratio(subject):
    subject[1][2][3]["value"] *= 1.01
    return subject


def spoil_value(subject):
    subject[1][2][1]["value"] *= 1.01
    return subject


def spoil_explanation(subject):
    row = next(row for row in subject[0] if row[4].startswith("clock"))
    row[4] = "pins" if not near(row[3]["value"], subject[1]) else "not explained"
    return subject


def check_pair(name, pair, pins, sms, l2, links=1):
    table = pair.table()
    check_both(f"{name}: each number is a row's, each ratio theirs", not_of_rows, (pair.rows, table), spoil_ratio)
    check_both(f"{name}: printed as rows have them, at three digits", not_as_printed, (pair.text, table), spoil_value)
    check_both(f"{name}: explanations hold", not_explained_so, (table, pins, sms, l2, links), spoil_explanation)
    check_both(f"{name}: the sentence counts the table", miscounted, (pair.section["numbers"]["finding"], table),
          lambda s: (re.sub(r"of (\d+)", lambda m: f"of {int(m[1]) + 1}", s[0]), s[1]))
    check_both(f"{name}: {LINES} lines of {COLUMNS} columns", too_long, pair.text, lambda t: t + "x" * 101)
    check_both(f"{name}: no word of compare's", judged, pair.text, lambda t: t + "\nL1 SLOWER by 3 %")


# --- what is held -------------------------------------------------------------------------------------------

def title(pair):
    return pair.section["numbers"]["title"]


def inverted(pair, swapped):
    def wrong(tables):
        return [f"{a[0]}: {a[3]['value']} {b[3]['value']}" for a, b in zip(*tables)
                if a[3]["value"] is not None and not math.isclose(a[3]["value"] * b[3]["value"], 1, rel_tol=1e-9)]

    def spoil(tables):
        tables[0][0][3]["value"] *= 1.001
        return tables
    check_both("swapped: every ratio is inverted", wrong, (pair.table(), swapped.table()), spoil)
    check(title(swapped) == "THE SAME CHIP, SLOWER MEMORY" and title(pair) == "THE SAME CHIP, FASTER MEMORY",
          "titles follow the pins", f"{title(pair)}; {title(swapped)}")
    same = [(a[0], a[4], b[4]) for a, b in zip(pair.table(), swapped.table())
            if a[4].startswith("not explained") != b[4].startswith("not explained")]
    check(not same, "swapped: what is not explained is the same", same)


def doctored(folder, a, b, whole):
    """One change at a time in the second bundle."""
    label = "load, L1"
    off = Pair(a, folder.put("off", scaled_row(whole, "memory_latency", "level=l1", ("load", "load_time"), 1.3)))
    plain = Pair(a, b)
    check(plain.row(label)[4].startswith("clock") and off.row(label)[4] == "not explained",
          "a row 1.3 times off is not explained", off.row(label))
    count = [int(re.search(r"(\d+) (?:is|are) not explained", p.section["numbers"]["finding"])[1])
             for p in (plain, off)]
    check(count[1] == count[0] + 1, "and the sentence counts it", count)

    cluster = "barrier of a cluster of 8, relaxed"
    decode = plain.row("attention, a query over 8192 keys")
    case = next(c["case"] for r in whole["runs"] if r["probe"]["name"] == "attention_decode" for c in r["cases"]
                if decode[2]["id"].startswith("attention_decode.time{" + c["case"]))
    factor = decode[3]["value"] / plain.fact("pins of the memory")
    pins = Pair(a, folder.put("pins", scaled_row(whole, "attention_decode", case, ("time",), factor)))
    check(decode[4] == "pins, in part" and pins.row(decode[0])[4] == "pins",
          "a row that scales with the pins is the pins'", (decode[4], pins.row(decode[0])[4]))
    check(plain.row(cluster)[4].startswith("clock"), "a row of the SMs is not")

    lacking = copy.deepcopy(whole)
    lacking["runs"] = [r for r in lacking["runs"] if program_of(r) != "bandwidth"]
    lack = Pair(a, folder.put("lacking", lacking))
    check(lack.row("read, HBM")[2]["value"] is None and lack.row("read, HBM")[4] == "-"
          and re.search(r"read, HBM +3\.\d\d TB/s +- +- +-$", lack.text, re.M), "what a board lacks is -")
    return lack


def other_generation(folder, a, whole):
    other = copy.deepcopy(whole)
    other["environment"]["gpu"].update(board="nvidia-a100-like", name="NVIDIA A100-like", cc="8.0", n_sm=108)
    pair = Pair(a, folder.put("other", other))
    check(title(pair).startswith("ANOTHER GENERATION (CC 9.0, 8.0)"), "108 SMs of cc 8.0 are another generation",
          title(pair))
    check("THE SAME CHIP" not in pair.text, "and not the same chip")
    check(math.isclose(pair.fact("SMs x clock, MHz"), 108 / 132, rel_tol=0.01), "whose chip is 108/132 as large",
          pair.fact("SMs x clock, MHz"))
    read = pair.row("read, L1")
    check(re.match(r"not explained \(chip: 0\.8[12]\d\)$", read[4]),
          "a rate of all SMs that does not fall with them is not explained", read)
    # The same with the facts of the first: explained by the chip.
    plain = Pair(a, folder.put("plain", whole))
    check(plain.row("read, L1")[4].startswith("chip"), "and with as many SMs it is the chip's")


def same_board(folder, whole):
    changed = scaled_row(whole, "launch", "mode=graph", ("edge",), 1.2)
    twice = Pair(folder.put("first", whole), folder.put("second", changed))
    check(title(twice) == "THE SAME BOARD TWICE" and "gpufloor compare" in twice.text, "one board twice says so",
          title(twice))
    off = [row[0] for row in twice.table() if row[4].startswith("not explained")]
    check(off == ["one more empty kernel in a graph"], "of one board only what changed is not explained", off)


def three(a, b):
    text = report(a, b, a)
    check(max(map(len, text.splitlines())) <= COLUMNS, "three boards keep to the columns")
    line = next(x for x in text.splitlines() if x.startswith("  read, HBM  "))
    check(re.search(r"1\.\d\d pins +1\.00 pins$", line) is not None, "three boards: a ratio each over the first", line)


# --- boards of several GPUs ---------------------------------------------------------------------------------

BETWEEN = ("load, the next GPU's memory", "flag to the next GPU, one way", "barrier of all SMs of all GPUs",
           "16 KiB added, in a kernel", "16 KiB added, NCCL, symmetric", "1 MiB added, a node", "copy engine, both ways",
           "layer of 8B on all GPUs, near", "step of 8B, graph with NCCL")


def said_between(text):
    """What a report says of what lies between GPUs: nothing, or all of it."""
    return [line for line in text.splitlines() if line.startswith("  between GPUs:") or "links of a GPU" in line
            or line.startswith(tuple(f"  {label}  " for label in BETWEEN))]


def with_links(bundle, factor, n=2):
    """A bundle of n GPUs, of which each link carries factor times as much."""
    bundle = copy.deepcopy(bundle)
    environment = bundle["environment"]
    environment["gpus"] = environment["gpus"][:1] * n
    environment["gpu"].update(board=re.sub(r"^\d+x", f"{n}x", environment["gpu"]["board"]),
                              name=re.sub(r"^\d+ x", f"{n} x", environment["gpu"]["name"]))
    for gpu in environment["links"]["nvlinks"]:
        gpu["rates"] = [factor * rate for rate in gpu["rates"]]
    return bundle


def several(folder, one):
    """Boards of two GPUs: what lies between them has rows; not so beside a board of one GPU, or of four."""
    first, second = (os.path.join(RESULTS, f"2x-{os.path.basename(board)}") for board in (H100, H200))
    real = Pair(first, second)
    check_pair("2 x H100, 2 x H200", real, real.fact("pins of the memory"), 1, real.fact("L2"),
               real.fact("links of a GPU"))
    check(len(said_between(real.text)) == 2 + len(BETWEEN), "what lies between GPUs has its rows", said_between(real.text))
    words = [" ".join(pair.text.split()).count("where no factor is known") for pair in (real, one)]
    check(words == [1, 0], "and the words of its explanations", words)
    engine = "copy engine, one way"
    check(real.row(engine)[4].startswith("links") and real.row("load, the next GPU's memory")[4].startswith("alike"),
          "with links as fast, copies follow them, and loads are alike")
    whole = read(newest_whole(second))
    a = folder.put("2x", read(newest_whole(first)))
    fast = Pair(a, folder.put("2x-fast", with_links(whole, 2)))
    check(fast.row(engine)[4] == "not explained (links: 2.00)",
          "copies that do not follow faster links are not explained", fast.row(engine))

    def follows(run, case, metric):
        if program_of(run) == "peer_memory" and metric["name"] == "rate":
            return 2
        return 1 / 1.4 if "bytes=1048576," in case["case"] and program_of(run) == "all_reduce" else 1

    pair = Pair(a, folder.put("2x-follows", with_links(scaled(whole, follows), 2)))
    check_pair("links twice as fast", pair, pair.fact("pins of the memory"), 1, pair.fact("L2"), 2)
    check(pair.row(engine)[4].startswith("links") and pair.row("1 MiB added, a node")[4] == "between alike and links"
          and pair.row("16 KiB added, a node")[4].startswith("alike"),
          "those that do are the links', and sums lie between", [pair.row(x)[3:] for x in (engine, "1 MiB added, a node")])
    four = " ".join(report(a, folder.put("4x", with_links(whole, 1, 4))).split())
    check("What lies between GPUs is not compared: the boards have 2, 4 of them." in four and "between GPUs:" not in four,
          "two GPUs and four are not compared in it")
    beside = report(second, H200)
    check(not said_between(beside) and "What lies between" not in beside and not said_between(one.text),
          "beside a board of one GPU nothing is said of it", said_between(beside))
    judged_by_none(real, folder)


def judged_by_none(real, folder):
    """Boards of several GPUs judge no claim."""
    claims_of = real.section["claims"]
    check("no claim is judged" in claims_of["finding"] and not claims_of["grids"] and not claims_of["notes"],
          "boards of several GPUs compare no claim", claims_of["finding"])
    page = os.path.join(folder.folder.name, "two.html")
    report(f"--html={page}", *real.paths)
    check("<article" not in read_text(page) and "No claim is judged" in read_text(page), "nor does their page")
    report(f"--html={page}", H100, H200)
    check("<article" in read_text(page), "which has them of boards of one GPU")


# --- claims, schema, published ------------------------------------------------------------------------------

def claims(pair):
    """Against the ledger's own words."""
    decided = ("REPRODUCED", "REFUTED", "MIXED")
    a, b = ({row["id"]: row["verdict"] for row in table("claims", path)} for path in pair.paths)
    disputed = {c for c in a if a[c] in decided and b[c] in decided and a[c] != b[c]}
    partial = {c for c in a if (a[c] in decided) != (b[c] in decided)}

    def wrong(section):
        said = {row["cells"][0]["text"] for grid in section["grids"] for row in grid["rows"]} - {""}
        notes = " ".join(section["notes"])
        noted = set(re.findall(r"C\d+[a-z]?", notes))
        return [f"not told: {c}" for c in (disputed | partial) - said - noted] + \
            [f"told: {c}" for c in (said | noted) - disputed - partial]

    def spoil(section):
        section["notes"] = [note.replace(sorted(partial)[0], "C999") for note in section["notes"]]
        return section
    check_both("claims: those that differ, and no other", wrong, pair.section["claims"], spoil)


def published(path):
    text = report("--published", path)
    document = json.loads(report("--published", "--format", "json", path))
    table, sources = document["sections"][0]["grids"]

    def wrong(subject):
        figures, known = subject
        keys = {row["cells"][0]["text"]: row["cells"][1]["text"] for row in known}
        used = [row["cells"][-1]["text"] for row in figures]
        return [k for k in used if k not in keys] + [k for k in keys if k not in used] + \
            [k for k, said in keys.items() if "https://" not in said or len(said) < 80]

    def spoil(subject):
        subject[0][0]["cells"][-1]["text"] = "hearsay"
        return subject
    check_both("published: each figure has a source with address and method, each source a figure", wrong,
          (table["rows"], sources["rows"]), spoil)
    check("not measured by gpufloor" in text and "no verdict" in text, "published figures are marked as others'")
    check(all(row["cells"][1]["kind"] == "number" for row in table["rows"] if row["cells"][0]["text"]),
          "published: ours stands in the first column")
    judges = [path for path in glob.glob(os.path.join(ROOT, "report/claims/*.[ch]")) if "published.h" in read_text(path)]
    check(not judges, "no claim takes a published figure", judges)
    check(max(map(len, text.splitlines())) <= COLUMNS, "published: 100 columns")


def main():
    real = Pair(H100, H200)
    pins, l2 = real.fact("pins of the memory"), real.fact("L2")
    check_pair("H100, H200", real, pins, 1, l2)
    inverted(real, Pair(H200, H100))
    claims(real)
    check_schema("boards", real.document, lambda document: document["sections"][1].pop("finding"))
    folder = Folder()
    first, whole = read(newest_whole(H100)), read(newest_whole(H200))
    a, b = folder.put("a", first), folder.put("b", whole)
    check_pair("one bundle each", Pair(a, b), pins, 1, l2)
    lack = doctored(folder, a, b, whole)
    check_pair("lacking", lack, pins, 1, l2)
    other_generation(folder, a, whole)
    same_board(folder, whole)
    three(a, b)
    several(folder, real)
    published(H200)
    return finish()


sys.exit(main())
