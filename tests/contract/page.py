#!/usr/bin/env python3
"""page.py BUILD: `gpufloor report --html` without a browser. Pages of the committed boards, of a board
without wgmma and clusters, of three programs, of a host alone, and of a bundle whose names are markup. Each is
one file under 700 KB that asks for nothing; its ids are unique, its links have targets, its figures are XML,
and each number that a figure's mark says is one of the report's numbers at three digits. Each rule is also
tried on a planted fault."""
import copy
import functools
import glob
import html.parser
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ET

GPUFLOOR = os.path.join(sys.argv[1], "bin", "gpufloor")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SIZE_MOST, SECONDS_MOST, MEMORY_MOST_KIB = 700_000, 3.0, 300 * 1024
BOARDS = {"nvidia-h200": 13, "nvidia-h100-80gb-hbm3": 13}  # figures of each
VOID = {"meta", "br", "link", "img", "input", "hr"}
passed = failed = 0


def check(name, found):
    global passed, failed
    passed, failed = passed + (not found), failed + bool(found)
    if found:
        print("FAIL", name)
        for line in found[:12]:
            print("    " + str(line)[:180])


def seen(name, found):
    check(f"a planted fault is seen: {name}", [] if found else ["it is not"])


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
def read(page):
    return Reader(page)


# --- the rules ---------------------------------------------------------------------------------------------

def too_large(page):
    size = len(page.encode())
    return [f"{size} bytes"] if size >= SIZE_MOST else []


def malformed(page):
    return read(page).wrong + ([] if page.startswith("<!DOCTYPE html>") else ["no <!DOCTYPE html>"])


def requests(page):
    return read(page).loads + re.findall(r"<script.*?>|url\(.*?\)|@import.{20}", page, re.I)


def twice(page):
    ids = read(page).ids
    return sorted({each for each in ids if ids.count(each) > 1}) if len(ids) != len(set(ids)) else []


def lost_links(page):
    reader = read(page)
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
    check(f"{name}: its size", too_large(page))
    check(f"{name}: well formed", malformed(page))
    check(f"{name}: it asks for nothing", requests(page))
    check(f"{name}: ids are unique", twice(page))
    check(f"{name}: links have targets", lost_links(page))
    check(f"{name}: figures are XML", no_xml(page))
    check(f"{name}: figures are there in both widths", widths(page))
    check(f"{name}: marks say the report's numbers", foreign_numbers(page, values))


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
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(bundle, file)
    out = os.path.join(folder, name + ".html")
    ran = subprocess.run([GPUFLOOR, "report", f"--html={out}", *options, path], capture_output=True, text=True,
                         check=False)
    check(f"{name}: a page is written", [] if ran.returncode == 0 and not ran.stdout else [ran.stderr, ran.stdout])
    said = subprocess.run([GPUFLOOR, "report", "--format=json", *options, path], check=True, capture_output=True,
                          text=True).stdout
    with open(out, encoding="utf-8") as file:
        return file.read(), numbers_of(json.loads(said))


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
    return dict(bundle, runs=[run for run in bundle["runs"]
                              if run["probe"]["name"] in ("memory_latency", "bandwidth", "spin")])


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
    return re.findall(r"<script|<img", page) + [each for each in read(page).loads if "onerror" in each]


def costs(folder):
    """Of the page of one board, alone: processor time and memory."""
    path = os.path.join(ROOT, "results", "nvidia-h100-80gb-hbm3")
    began, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run([GPUFLOOR, "report", f"--html={folder}/cost.html", path], check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    check(f"a page takes less than {SECONDS_MOST} s",
          [] if seconds < SECONDS_MOST else [f"{seconds:.1f} s of the processor, {time.time() - wall:.1f} s"])
    check("a page takes less than 300 MiB", [] if ended.ru_maxrss < MEMORY_MOST_KIB else [f"{ended.ru_maxrss} KiB"])


def figure_files(folder):
    out = os.path.join(folder, "figures")
    path = os.path.join(ROOT, "results", "nvidia-h100-80gb-hbm3")
    subprocess.run([GPUFLOOR, "report", f"--figures={out}", path], check=True)
    names = sorted(os.listdir(out))
    check("each figure is a file", [] if len(names) == BOARDS["nvidia-h100-80gb-hbm3"] else [names])
    for name in names:
        with open(os.path.join(out, name), encoding="utf-8") as file:
            text = file.read()
        check(f"{name}: alone", no_xml(text) + re.findall(r"href=|class=|var\(--|<script", text))


def cited(page):
    with open(os.path.join(ROOT, "CITATION.cff"), encoding="utf-8") as file:
        cff = file.read()
    wanted = [re.search(r'^title: "(.*)"', cff, re.M)[1], re.search(r'name: "(.*)"', cff)[1]]
    return [f"not cited: {each}" for each in wanted if each not in page]


def main():
    newest = glob.glob(os.path.join(ROOT, "results", "nvidia-h100-80gb-hbm3", "*.json"))[0]
    with open(newest, encoding="utf-8") as file:
        h100 = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        costs(folder)
        figure_files(folder)
        for board, n in BOARDS.items():
            page, values = page_of(folder, board, os.path.join(ROOT, "results", board))
            all_rules(board, page, values)
            check(f"{board}: all figures", [] if page.count("<figure") == n else [page.count("<figure")])
        try_rules(page, values)
        check("it is cited as CITATION.cff says", cited(page))
        seen("another title", cited(page.replace("gpufloor: a GPU", "gpufloor: the GPU")))

        page, values = page_of(folder, "other", other_board(h100))
        all_rules("a board without wgmma", page, values)
        words = re.sub(r"<style>.*?</style>|<details>.*?</details>", "", page, flags=re.S)
        words = re.sub(r'<section id="claims".*?</section>', "", words, flags=re.S)
        check("a board without wgmma: its own words", re.findall(r".{30}(?:HBM|H100|H200).{20}", words))
        check("a board without wgmma: no figure of clusters", re.findall(r"<text[^>]*>[^<]*another SM", page))
        page, values = page_of(folder, "three", three_programs(h100))
        all_rules("three programs", page, values)
        names = re.findall(r'<figure id="figure-(\w+)"', page)
        check("three programs: their figures", [] if {"levels", "curve"} <= set(names) and "sizes" not in names
              else names)
        page, values = page_of(folder, "host", os.path.join(ROOT, "tests", "golden", "host.json"))
        all_rules("a host", page, values)
        check("a host: what was not measured takes a line",
              [] if page.count('class="missing"') > 8 else [page.count('class="missing"')])
        page, values = page_of(folder, "hostile", hostile(h100))
        all_rules("markup in names", page, values)
        check("markup in names: none comes through", names_of_bundles(page))
        check("markup in names: it is shown", [] if "&lt;script&gt;alert(1)" in page else ["it is not"])
        seen("markup", names_of_bundles(page.replace("&lt;script&gt;", "<script>", 1)))
        ran = subprocess.run([GPUFLOOR, "report", "--html=/nowhere/x.html", newest], capture_output=True, text=True,
                             check=False)
        check("a page that cannot be written", [] if ran.returncode == 2 and "/nowhere/x.html" in ran.stderr
              else [ran.stderr])
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
