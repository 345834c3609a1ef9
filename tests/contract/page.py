#!/usr/bin/env python3
"""page.py BUILD: `gpufloor report --html` without a browser. Pages of the committed boards, of a board
without wgmma and clusters, of three programs, of two GPUs, of a host alone, and of a bundle whose names are markup. Each is
one file under 750 KiB that asks for nothing; its ids are unique, its links have targets, its figures are XML,
and each number that a figure's mark says is one of the report's numbers at three digits. So are pages of two boards: H100
and H200, one board twice, a board of fewer SMs, two hosts; their rows, conditions and claims are those of the
two. Each rule is also tried on a planted fault."""
import copy
import functools
import glob
import html
import html.parser
import json
import math
import os
import re
import resource
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ET

from common import (Ended, GOLDEN, H100, H200, RESULTS, ROOT, check, check_none, finish, newest_whole, of_programs, read,
                    read_text, told, write, write_text)
from layer import layered
from links import linked

SIZE_MOST, SECONDS_MOST, MEMORY_MOST_KIB = 750 * 1024, 3.0, 300 * 1024
PAIR_SECONDS_MOST = 5.0
BOARDS = {"nvidia-h200": 14, "nvidia-h100-80gb-hbm3": 14}  # figures of each
VOID = {"meta", "br", "link", "img", "input", "hr"}


def seen(name, found):
    check(found, f"a planted fault is seen: {name}")


class Reader(html.parser.HTMLParser):
    """Tags that are not closed in order, ids, links, and addresses that a browser would load."""

    def __init__(self, page):
        super().__init__()
        self.open, self.wrong, self.ids, self.links, self.loads = [], [], [], [], []
        self.feed(page)
        self.wrong += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href") and (value or "").startswith("#"):
                self.links.append(urllib.parse.unquote(value[1:]))
            elif name in ("src", "srcset", "href", "xlink:href", "data", "action") or name.startswith("on"):
                self.loads.append(f"<{tag} {name}={value}>")
        if tag in ("script", "iframe", "object", "embed", "link", "img", "base", "form"):
            self.loads.append(f"<{tag}>")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")


@functools.lru_cache(maxsize=4)
def reader_of(page):
    return Reader(page)


# --- the rules ---------------------------------------------------------------------------------------------

def too_large(page):
    size = len(page.encode())
    return [f"{size} bytes"] if size >= SIZE_MOST else []


def malformed(page):
    return reader_of(page).wrong + ([] if page.startswith("<!DOCTYPE html>") else ["no <!DOCTYPE html>"])


def requests(page):
    return reader_of(page).loads + re.findall(r"<script.*?>|url\(.*?\)|@import.{20}", page, re.I)


def twice(page):
    ids = reader_of(page).ids
    return sorted({each for each in ids if ids.count(each) > 1}) if len(ids) != len(set(ids)) else []


def lost_links(page):
    reader = reader_of(page)
    return sorted(set(reader.links) - set(reader.ids))


def figures(page):
    return re.findall(r"<svg.*?</svg>", page, re.S)


def no_xml(page):
    found = []
    for figure in figures(page):
        try:
            ET.fromstring(figure)
        except ET.ParseError as why:
            found.append(f"{why}: {figure[:90]}")
    return found


def widths(page):
    """Each figure is there twice, wide and narrow."""
    wide, narrow = page.count('class="chart wide"'), page.count('class="chart narrow"')
    return [] if wide == narrow else [f"{wide} wide, {narrow} narrow"]


SCALES = {"ns": {"ns": 1, "us": 1e-3, "ms": 1e-6, "s": 1e-9},
          "bytes/s": {"B/s": 1, "KB/s": 1e-3, "MB/s": 1e-6, "GB/s": 1e-9, "TB/s": 1e-12},
          "flop/s": {"GFLOP/s": 1e-9, "TFLOP/s": 1e-12, "Gflop/s": 1e-9, "Tflop/s": 1e-12, "Mflop/s": 1e-6},
          "bytes": {"B": 1, "KiB": 2**-10, "MiB": 2**-20, "GiB": 2**-30},
          "ratio": {"": 1, "%": 100, "x": 1}, "cycles": {"cycles": 1}, "count": {"": 1}}


def is_said(value, said):
    """Are three digits of a value what was said? A last digit may be rounded the other way."""
    return value == said or (said and abs(value / said - 1) <= 0.5 * 10 ** (math.floor(math.log10(abs(said))) - 2)
                             / abs(said) * 1.001)


def numbers_of(report):
    """unit as shown -> all values that the report has in it."""
    values = {}

    def take(number):
        if number and number.get("value") is not None:
            for shown, factor in SCALES.get(number["unit"], {number["unit"]: 1}).items():
                values.setdefault(shown, set()).add(number["value"] * factor)

    def walk(node):
        if isinstance(node, dict):
            if "value" in node and "unit" in node:
                take(node)
            for each in node.values():
                walk(each)
        elif isinstance(node, list):
            for each in node:
                walk(each)
    walk(report)
    return values


def marks_of(page):
    """What marks say of themselves; the tooltip of a text is the text that was too long."""
    said = set()
    for figure in figures(page):
        try:
            tree = ET.fromstring(figure)
        except ET.ParseError:
            continue
        said |= {title.text for each in tree.iter() if each.tag != "text" for title in each.findall("title")}
    return said


def foreign_numbers(page, values):
    """Numbers that marks say, and the report does not. The ledger's boxes say sentences."""
    found = []
    part = re.sub(r'<figure id="figure-claims">.*?</figure>', "", page, flags=re.S)
    for title in sorted(marks_of(part)):
        match = re.fullmatch(r"(-?[\d.]+)(?: (\S+))?", title.rsplit(": ", 1)[1])
        if not match:
            found.append(f"no number: {title}")
        elif not any(is_said(value, float(match[1])) for value in values.get(match[2] or "", ())):
            found.append(title)
    return found


def all_rules(name, page, values):
    check_none(too_large(page), f"{name}: its size")
    check_none(malformed(page), f"{name}: well formed")
    check_none(requests(page), f"{name}: it asks for nothing")
    check_none(twice(page), f"{name}: ids are unique")
    check_none(lost_links(page), f"{name}: links have targets")
    check_none(no_xml(page), f"{name}: figures are XML")
    check_none(widths(page), f"{name}: figures are there in both widths")
    check_none(foreign_numbers(page, values), f"{name}: marks say the report's numbers")


def try_rules(page, values):
    seen("size", too_large(page + "x" * SIZE_MOST))
    seen("an open tag", malformed(page.replace("</main>", "", 1)))
    seen("a script", requests(page.replace("</main>", "<script>1</script></main>", 1)))
    seen("a picture", requests(page.replace("</main>", '<img src="http://x/y.png"></main>', 1)))
    seen("an import", requests(page.replace("<style>", "<style>@import 'http://example.org/a.css';", 1)))
    seen("an id twice", twice(page.replace("</main>", '<p id="memory"></p></main>', 1)))
    seen("a lost link", lost_links(page.replace('id="memory"', 'id="other"', 1)))
    seen("a broken figure", no_xml(page.replace("</text>", "</txet>", 1)))
    seen("a missing figure", widths(page.replace('class="chart narrow"', 'class="chart wide"', 1)))
    mark = re.search(r"<title>[^<]*: ([\d.]+) ns</title>", page)
    fault = page.replace(mark[0], mark[0].replace(f": {mark[1]} ns", f": {float(mark[1]) * 1.013:.6g} ns"))
    seen("a foreign number", foreign_numbers(fault, values))


# --- pages -------------------------------------------------------------------------------------------------

def page_of(folder, name, bundle, *options):
    """The page of a bundle, and the numbers of its report."""
    path = bundle
    if not isinstance(bundle, str):
        path = write(os.path.join(folder, name + ".json"), bundle)
    out = os.path.join(folder, name + ".html")
    ran = Ended("report", f"--html={out}", *options, path)
    check(ran.code == 0 and not ran.out, f"{name}: a page is written", ran)
    return read_text(out), numbers_of(json.loads(told("report", "--format=json", *options, path)))


def other_board(bundle):
    """What a board without wgmma, clusters and a wide bus has of it."""
    other = copy.deepcopy(bundle)
    other["environment"]["gpu"].update(name="NVIDIA L40S", board="nvidia-l40s", cc="8.9", bus_bits=384, n_sm=142)
    other["runs"] = [run for run in other["runs"] if run["probe"]["name"] not in ("sm_to_sm", "sm_to_sm_rate")]
    for run in other["runs"]:
        run["cases"] = [case for case in run["cases"] if "wgmma" not in case["case"]]
        for case in run["cases"]:
            case["metrics"] = [metric for metric in case["metrics"] if not metric["name"].startswith("cluster")]
    return other


def three_programs(bundle):
    return of_programs(bundle, ("memory_latency", "bandwidth", "spin"))


MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def hostile(bundle):
    """Markup wherever a bundle has a free text."""
    other = copy.deepcopy(bundle)
    gpu = other["environment"]["gpu"]
    gpu["name"] = "NVIDIA " + MARKUP
    gpu[MARKUP] = MARKUP
    other["environment"]["host"]["cpu"] = MARKUP
    other["environment"]["driver"]["version"] = MARKUP
    for run in other["runs"][:40]:
        run["probe"]["what"] = MARKUP
        run["notes"] = [MARKUP]
    for run in other["runs"]:
        if run["probe"]["name"] == "memory_latency":
            for case in run["cases"]:
                case["case"] = case["case"].replace("bytes=4096", "bytes=4096,x=" + MARKUP.replace(",", ""))
    return other


def names_of_bundles(page):
    """Markup that came through: tags that the page's own text never has."""
    return re.findall(r"<script|<img", page) + [each for each in reader_of(page).loads if "onerror" in each]


def costs(folder):
    """Of the page of one board, alone: processor time and memory."""
    began, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    told("report", f"--html={folder}/cost.html", H100)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    check(seconds < SECONDS_MOST,
          f"a page takes less than {SECONDS_MOST} s", f"{seconds:.1f} s of the processor, {time.time() - wall:.1f} s")
    check(ended.ru_maxrss < MEMORY_MOST_KIB, "a page takes less than 300 MiB", f"{ended.ru_maxrss} KiB")


def figure_files(folder):
    out = os.path.join(folder, "figures")
    told("report", f"--figures={out}", H100)
    names = sorted(os.listdir(out))
    check(len(names) == BOARDS["nvidia-h100-80gb-hbm3"], "each figure is a file", names)
    for name in names:
        text = read_text(out, name)
        check_none(no_xml(text) + re.findall(r"href=|class=|var\(--|<script", text), f"{name}: alone")


def cited(page):
    cff = read_text(ROOT, "CITATION.cff")
    wanted = [re.search(r'^title: "(.*)"', cff, re.M)[1], re.search(r'name: "(.*)"', cff)[1]]
    return [f"not cited: {each}" for each in wanted if each not in page]


def unprintable(page):
    """What \"print this page\" names, and the tree does not hold."""
    text = re.sub(r"\s+", " ", page)
    named = re.findall(r"Of (\S+) it takes the bundles that begin with ([^<.]*)\.", text)
    commits = set(re.findall(r"git checkout ([0-9a-f]{40})", text))
    missing = [f"{folder}/{name}" for folder, names in named for name in names.split(", ")
               if not glob.glob(os.path.join(ROOT, folder, name + "-*.json"))]
    apart = [commit for commit in commits if not any(commit[:7] in names for _, names in named)]
    return missing + apart if named and commits and "git log --oneline -- " + named[0][0] in text else ["names no bundle"]


# --- two boards --------------------------------------------------------------------------------------------

def pair_of(folder, name, a, b):
    """The page of two boards, their report as JSON, and the rows of both."""
    out = os.path.join(folder, name + ".html")
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = Ended("report", f"--html={out}", a, b)
    check(ran.code == 0 and not ran.out, f"{name}: a page is written", ran)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    check(seconds < PAIR_SECONDS_MOST, f"{name}: it takes less than {PAIR_SECONDS_MOST} s", seconds)
    rows = [{line.split("\t")[0]: line.split("\t") for line in told("report", "--format=tsv", each).splitlines()[1:]}
            for each in (a, b)]
    return read_text(out), json.loads(told("report", "--format=json", a, b)), rows


def section_of(page, name):
    found = re.search(rf'<section id="{name}".*?</section>', page, re.S)
    return found[0] if found else ""


def plain(cell):
    return html.unescape(re.sub("<.*?>", "", cell)).strip()


def undrawn(page, document):
    """Ratios of the table that no mark of the figure says, and marks that the table has not."""
    grid = next(each for each in document["sections"] if each["name"] == "numbers")["grids"][0]
    wanted = {(row["cells"][0]["text"], row["cells"][3]["value"]) for row in grid["rows"]
              if row["cells"][3]["value"] is not None}
    said = {}
    for title in marks_of(page):
        name, number = title.rsplit(": ", 1)
        said[name.replace(" \u2020", "")] = float(number)
    return [name for name, value in wanted if not is_said(value, said.get(name, 0))] + \
           [name for name in said if name not in {name for name, _ in wanted}]


def unlike_rows(page, rows):
    """Rows of the page whose run count or state is not that of the bundles."""
    found = []
    for line in re.findall(r'<tr id="[^"]*"><td>.*?</tr>', page):
        cells = [plain(each) for each in re.findall(r"<td.*?</td>", line)]
        for board, known in enumerate(rows):
            of = known.get(cells[-1])
            said = cells[1 + 5 * board:6 + 5 * board]
            if said[3:] != (["0", "-"] if of is None else of[6:8]):
                found.append(f"{cells[-1]}: {said}")
    return found if '<tr id="' in page else ["no row"]


def unlike_conditions(page, heads):
    """Facts that are not on the page, or bold without a difference, or differ without bold."""
    lines = [[each for each in re.findall(r"<td>(.*?)</td>", line)]
             for line in re.findall(r"<tr><td>.*?</tr>", section_of(page, "conditions"))]
    known = {}
    for cells in lines:
        if len(cells) == 3:
            known.setdefault(cells[0], []).append(cells[1:])
    found = []
    for section, facts in heads[0]["environment"].items():
        if not isinstance(facts, dict):
            continue
        for key, value in facts.items():
            other = (heads[1]["environment"].get(section) or {}).get(key)
            held = known.get(key.replace("_", " "), [])
            differs = value != other
            if not any(("<b>" in a) == ("<b>" in b) == differs and
                       (not isinstance(value, str) or plain(a) == value) for a, b in held):
                found.append(f"{section}.{key}: {held}")
    return found


def unlike_claims(page, document):
    """Claims that differ and lack their words, both sentences or their quote."""
    section = next(each for each in document["sections"] if each["name"] == "claims")
    part, found, own = section_of(page, "claims"), [], ""
    for grid in section["grids"]:
        for row in grid["rows"]:
            claim, board, word, sentence = (cell["text"] for cell in row["cells"])
            own = claim or own
            article = re.search(rf'<article id="{own}">.*?</article>', part, re.S)
            if f">{board} {word}</b>" not in part or not article or f">{board} {word}</span>" not in article[0]:
                found.append(f"{own} {board} {word}")
    ids = {each for note in section["notes"] for each in re.findall(r"\bC\d+[a-z]?", note)}
    return found + [each for each in sorted(ids) if f'<article id="{each}">' not in part]


def environments(*paths):
    started = lambda path: read(path)["started"]
    return [read(max(glob.glob(os.path.join(path, "*.json")), key=started) if os.path.isdir(path) else path)
            for path in paths]


def fewer_sms(bundle):
    """What an A100 states, with a name of markup."""
    other = copy.deepcopy(bundle)
    other["environment"]["gpu"].update(name="NVIDIA A100 " + MARKUP, board="nvidia-a100", cc="8.0", n_sm=108)
    other["runs"] = [run for run in other["runs"] if run["probe"]["name"] not in ("sm_to_sm", "sm_to_sm_rate")]
    return other


def pair_rules(name, pair, heads):
    page, document, rows = pair
    all_rules(name, page, numbers_of(document))
    check_none(undrawn(page, document), f"{name}: each ratio is drawn once")
    check_none(unlike_rows(page, rows) if document["sections"][1]["grids"][0]["rows"] else [], f"{name}: rows of both")
    check_none(unlike_conditions(page, heads), f"{name}: conditions of both")
    check_none(unlike_claims(page, document), f"{name}: claims of both")


def try_pair(pair, heads):
    page, document, rows = pair
    mark = re.search(r"<title>([^<]*): (\d\.\d\d)</title>", page)
    seen("a ratio that is not drawn", undrawn(page.replace(f"<title>{mark[1]}: ", "<title>other: "), document))
    seen("another ratio", undrawn(page.replace(mark[0], f"<title>{mark[1]}: {float(mark[2]) + 0.03:.2f}</title>"), document))
    seen("a row of another state", unlike_rows(page.replace("<td>ok</td>", "<td>lost</td>", 1), rows))
    seen("a fact that differs and is not bold", unlike_conditions(re.sub(
        r"<td><b>(NVIDIA H\w+)[^<]*</b>", r"<td>\1", page), heads))
    seen("a fact that is the same and bold", unlike_conditions(re.sub(
        r"(<td>n sm</td><td>)(\d+)", r"\1<b>\2</b>", page), heads))
    seen("a fact that lacks", unlike_conditions(page.replace("<tr><td>cpu</td>", "<tr><td>xpu</td>"), heads))
    seen("a claim without a word", unlike_claims(re.sub(r">B (?:yes|no|partly)</b>", ">B open</b>", page), document))
    seen("a claim without its quote", unlike_claims(re.sub(r'<article id="C\w+">', '<article id="C0">', page, count=1), document))


def pairs(folder, h100):
    paths = [H100, H200]
    heads = environments(*paths)
    pair = pair_of(folder, "two boards", *paths)
    pair_rules("two boards", pair, heads)
    check(pair[0].count("<figure") == 1, "two boards: one figure", pair[0].count("<figure"))
    try_pair(pair, heads)
    linked = [f'href="{board}.html"' for board in ("h100", "h200")]
    check_none([each for each in linked if each in pair[0]], "two boards: a page of one that is not there is not linked")
    beside = os.path.join(folder, "pages")
    os.mkdir(beside)
    for board in ("h100", "h200"):
        write_text(os.path.join(beside, board + ".html"), "beside")
    pages = pair_of(beside, "beside", *paths)[0]
    check_none([each for each in linked if each not in pages], "two boards: the pages of each, where they lie beside, are linked")
    twice = pair_of(folder, "one board twice", paths[1], paths[1])
    pair_rules("one board twice", twice, [heads[1], heads[1]])
    path = write(os.path.join(folder, "a100.json"), fewer_sms(h100))
    fewer = pair_of(folder, "fewer SMs", paths[1], path)
    pair_rules("fewer SMs", fewer, [heads[1], fewer_sms(h100)])
    check_none(names_of_bundles(fewer[0]), "fewer SMs: markup does not come through")
    host = os.path.join(GOLDEN, "host.json")
    pair_rules("two hosts", pair_of(folder, "two hosts", host, host), environments(host, host))
    out = os.path.join(folder, "ratio")
    told("report", f"--figures={out}", *paths)
    names = os.listdir(out)
    check(names == ["ratio.svg"], "two boards: the figure is a file", names)
    ran = Ended("report", f"--html={folder}/three.html", *paths, host)
    check(ran.is_one_line(), "three boards are refused", ran)


def main():
    newest = newest_whole(H100)
    h100 = read(newest)
    with tempfile.TemporaryDirectory() as folder:
        costs(folder)
        figure_files(folder)
        for board, n in BOARDS.items():
            page, values = page_of(folder, board, os.path.join(RESULTS, board))
            all_rules(board, page, values)
            check(page.count("<figure") == n, f"{board}: all figures", page.count("<figure"))
        try_rules(page, values)
        check_none(cited(page), "it is cited as CITATION.cff says")
        seen("another title", cited(page.replace("gpufloor: a GPU", "gpufloor: the GPU")))
        for name in ("h200", "h100-h200", "2x-h200"):
            check_none(unprintable(read_text(ROOT, "docs", name + ".html")), f"docs/{name}.html: the tree holds what it is made of")
        committed = read_text(ROOT, "docs", "h200.html")
        seen("a bundle that no file is", unprintable(re.sub(r"(begin with \d{4}-\d\d-\d\d-)\w{7}", r"\g<1>0000000", committed)))

        pairs(folder, h100)
        page, values = page_of(folder, "other", other_board(h100))
        all_rules("a board without wgmma", page, values)
        words = re.sub(r"<style>.*?</style>|<details>.*?</details>", "", page, flags=re.S)
        words = re.sub(r'<section id="claims".*?</section>', "", words, flags=re.S)
        check_none(re.findall(r".{30}(?:HBM|H100|H200).{20}", words), "a board without wgmma: its own words")
        check_none(re.findall(r"<text[^>]*>[^<]*another SM", page), "a board without wgmma: no figure of clusters")
        page, values = page_of(folder, "three", three_programs(h100))
        all_rules("three programs", page, values)
        names = re.findall(r'<figure id="figure-(\w+)"', page)
        check({"levels", "curve"} <= set(names) and "sizes" not in names, "three programs: their figures", names)
        page, values = page_of(folder, "layer", layered(h100))
        all_rules("a decoder's layer", page, values)
        check('id="figure-layer"' in page, "a decoder's layer: its figure")
        page, values = page_of(folder, "two", linked(h100))
        all_rules("two GPUs", page, values)
        page, values = page_of(folder, "host", os.path.join(GOLDEN, "host.json"))
        all_rules("a host", page, values)
        check(page.count('class="missing"') > 8,
              "a host: what was not measured takes a line", page.count('class="missing"'))
        page, values = page_of(folder, "hostile", hostile(h100))
        all_rules("markup in names", page, values)
        check_none(names_of_bundles(page), "markup in names: none comes through")
        check("&lt;script&gt;alert(1)" in page, "markup in names: it is shown")
        seen("markup", names_of_bundles(page.replace("&lt;script&gt;", "<script>", 1)))
        ran = Ended("report", "--html=/nowhere/x.html", newest)
        check(ran.code == 2 and "/nowhere/x.html" in ran.err, "a page that cannot be written", ran)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
