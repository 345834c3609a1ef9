#!/usr/bin/env python3
"""text.py BUILD: no text of a document speaks to a terminal or to the format that it is printed in.

Committed bundles and documents of counters get a hostile text in every place that holds a text, and so
do the names of files and a program that joins a run. Every command and format runs over them. The
output then holds no control character, no mark of direction, nothing without width; a table of
Markdown has as many cells in each row, one of TSV as many columns, JSON reads back, HTML and SVG have no
element, attribute or link that the clean bundle's lack, LaTeX no command, BibTeX one entry, and a script
of gnuplot no word outside its strings. Numbers and ids beyond all bounds are shown short, or refused."""
import collections
import csv
import glob
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from common import (GOLDEN, GPUFLOOR, H100, H200, check, check_none, finish, metrics_of, newest_whole, plant_tree, read,
                    script, write, write_text)

MARK = "Zq7"
UNSEEN = "\x1b[31m\x07\x08\x7f\r\n\t\u009b1m\u0085\u202e\u2066\u200b\u200f\u061c\ufeff\u2028\u00ad\U000e0041"
MARKUP = ("<script>alert(1)</script>[x](javascript:y)\\|a|`c`*d*&lt;\"><img src=x onerror=z>'"
          "\\input{p}$%#_^~{}}&\\\\ %s%n ''; system('touch pwned') #")
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
                    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]")
# What a document is read by: of another word it would be refused, or be no document.
KEPT = {"schema", "status", "unit", "better", "gpu_state"}
NAMES = {"name", "case", "timer"}
seen = collections.Counter()  # marks in the outputs of each format: a test of nothing would show here


# --- hostile documents ---------------------------------------------------------------------------------


class Hostile:
    """Replaces the texts of a document. Names of metrics keep their beginning, so that tables find some."""

    def __init__(self, names, short=False):
        self.names, self.n, self.short = names, 0, short

    def text(self, key, value):
        if key in KEPT or (key in NAMES and not self.names):
            return value
        self.n += 1
        if key in NAMES:  # an id has 400 characters at most
            pieces = (UNSEEN[self.n % len(UNSEEN)], MARKUP[:26], "\\|a|`c`*d*", "\">'", "$%#^{}&",
                      "''; system('touch pwned') #")
            return value + (",y=" if key == "case" and value else "") + MARK + pieces[0] + pieces[
                1 + self.n % (len(pieces) - 1)].replace(",", "")
        if value == "":
            return ""
        order = (UNSEEN, MARKUP) if self.n % 2 else (MARKUP, UNSEEN)
        return MARK + order[0] + value[:12] + order[1]

    def walk(self, value, key=""):
        if isinstance(value, str):
            return self.text(key, value)
        if isinstance(value, list):
            return [self.walk(item, key) for item in value]
        if isinstance(value, dict):
            made = {name: self.walk(item, name) for name, item in value.items()}
            if key in ("host", "facts", "cubins"):
                made[MARK + UNSEEN + MARKUP] = MARK
            return made
        return value


def lean(bundle):
    """Two rounds of a committed bundle, without what no report reads."""
    bundle["runs"] = [run for run in bundle["runs"] if run["run"]["round"] in (0, 6)]
    metric = ("name", "unit", "better", "timer", "median", "best", "n", "resolution", "why")
    for run in bundle["runs"]:
        run.pop("nvml", None)
        for case in run["cases"]:
            case.pop("facts", None)
            case["metrics"] = [{key: one[key] for key in metric if key in one}
                               for one in case["metrics"]]
        run["checks"] = run.get("checks", [])[:2]
    return bundle


def with_texts(bundle):
    """Places for texts that the bundle happens to lack."""
    for i, run in enumerate(bundle["runs"]):
        run.setdefault("notes", []).append("a note")
        if i % 9 == 8:
            run["discarded"] = "a cause"
        if i % 9 == 7:
            run["why"], run["status"] = "a reason", "failed"
        for case in run["cases"][:1]:
            for metric in case["metrics"][1:2]:
                metric["median"], metric["why"] = None, "a reason"
    bundle["environment"].setdefault("host", {})["governor"] = "a governor"
    bundle["why"] = "a reason"
    return bundle


# --- what an output must be ----------------------------------------------------------------------------


def unescaped(text):
    """Markdown without what a backslash makes harmless."""
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", text)


def clean(raw):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return raw.decode("latin-1"), [str(error)]
    return text, [f"{text[max(0, at.start() - 30):at.start() + 20]!r}" for at in HIDDEN.finditer(text)]


def is_text(text):
    return [line for line in text.split("\n") if "\t" in line]


def is_md(text):
    cells, fenced = None, False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        if fenced:  # nothing in it is markup
            continue
        line = re.sub(r"\[`([\w-]+)`\]\(METRICS\.md#\1\)", r"\1", line)
        plain = unescaped(line)
        n = plain.count("|") if line.startswith("|") else None
        if n is None or cells is None:
            cells = n
        elif n != cells:
            yield f"{n} bars, expected {cells}: {line}"
        if MARK not in line:
            continue
        rest = plain.replace("**", "").replace("| *", "|").replace("* |", "|")
        for wrong in re.findall(r"[<\[\]`~*]|(?<![A-Za-z0-9])_(?=\w)|&(?=[a-z#])", rest):
            yield f"{wrong} in {line}"


def is_tsv(text):
    rows = [line.split("\t") for line in text.split("\n")[:-1]]
    yield from (f"{len(row)} columns, expected {len(rows[0])}: {row}" for row in rows
                if len(row) != len(rows[0]))
    yield from (cell for row in rows for cell in row if cell.startswith('"'))
    if len(list(csv.reader(io.StringIO(text), delimiter="\t"))) != len(rows):
        yield "a reader finds another number of rows"


def is_json(text):
    yield from re.findall(r"[^\n -~]", text)
    try:
        json.loads(text)
    except ValueError as error:
        yield str(error)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.kinds, self.links, self.open = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.kinds.add(tag)
        self.kinds.update(f"{tag} {name}" for name, _ in attrs)
        self.links.update(value for name, value in attrs if name in ("href", "src", "xlink:href"))
        if tag not in ("br", "meta", "link", "img", "input", "line", "rect", "path", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif tag not in ("line", "rect", "path", "circle"):
            self.kinds.add(f"/{tag} out of place")

    def handle_comment(self, data):
        self.kinds.add("comment")


def page_of(text):
    page = Page()
    page.feed(text)
    page.close()
    return page


def is_html(text, of_clean):
    page, known = page_of(text), page_of(of_clean)
    optional = {"svg title", "b", "a", "a href", "h3", "details", "summary", "code", "caption", "text",
                "ul", "li", "article", "article id", "h4", "blockquote", "p", "p class", "b class", "title", "rect"}
    yield from sorted(page.kinds - known.kinds - optional)
    yield from (link for link in page.links - known.links if not link.startswith("#"))
    yield from page.open


def is_svg(text, of_clean):
    kinds = [set(), set()]
    for i, one in enumerate((text, of_clean)):
        try:
            tree = xml.etree.ElementTree.fromstring(one)
        except xml.etree.ElementTree.ParseError as error:
            yield str(error)
            return
        for element in tree.iter():
            kinds[i].add(element.tag)
            kinds[i].update(element.attrib)
    yield from sorted(kinds[0] - kinds[1])


TEX_SIGNS = re.compile(r"\\(?:text(?:brace(?:left|right)|backslash|ascii(?:tilde|circum|grave)|less|greater|bar)\{\}"
                       r"|[&%$#_{}]|ensuremath\{[^{}]*\}|ldots\{\}|S\{\})")


def is_tex(text, of_clean):
    words = set(re.findall(r"\\[A-Za-z@]+", of_clean))
    rest = TEX_SIGNS.sub("", text)
    yield from sorted(set(re.findall(r"\\[A-Za-z@]+", rest)) - words)
    if rest.count("{") != rest.count("}"):
        yield f"{rest.count('{')} braces opened, {rest.count('}')} closed"
    for line in rest.split("\n"):
        if MARK in line:
            yield from (f"{sign} in {line}" for sign in re.findall(r"[#^_|<>`]|(?<!^)%", line.replace("``", ""))
                        if "{$^" not in line)


def is_bib(text, of_clean):
    depth, begun = 0, 0
    for sign in text:  # BibTeX counts braces, whatever stands before them
        depth += (sign == "{") - (sign == "}")
        begun += sign == "@" and depth == 0
        if depth < 0:
            yield "a brace is closed that is not open"
            return
    if depth or begun != len(re.findall(r"^@", of_clean, re.M)):
        yield f"{begun} entries, {depth} braces left open"


def is_gp(text, _):
    for line in text.split("\n"):
        if line.startswith("#"):
            if line.endswith("\\"):
                yield "a comment goes on: " + line
            continue
        rest = re.sub(r"'(?:[^']|'')*'", "", line)
        yield from (f"{wrong!r} outside of strings: {line}" for wrong in (MARK, "'", "system", "`", "touch")
                    if wrong in rest)


def is_data(text, _):
    for line in text.split("\n"):
        if line and line.count("\t") != 6:
            yield f"{line.count(chr(9))} tabs: {line}"
        if '"' in line:
            yield line


FORMATS = {"text": is_text, "md": is_md, "tsv": is_tsv, "json": is_json}
FILES = {".html": is_html, ".svg": is_svg, ".tex": is_tex, ".bib": is_bib, ".gp": is_gp, ".tsv": is_data}


# --- running -------------------------------------------------------------------------------------------


def run(where, *words, program=GPUFLOOR):
    done = subprocess.run([program, *words], cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C.UTF-8"), check=False)
    return done.returncode, done.stdout, done.stderr


def said(what, where, kind, *words, program=GPUFLOOR, statuses=(0, 1)):
    """One command: its stdout in a format, its stderr as text."""
    status, out, err = run(where, *words, program=program)
    out, wrong = clean(out)
    err, wrong_err = clean(err)
    wrong += [f"stderr: {one}" for one in wrong_err]
    wrong += [f"exit {status}: {err[:150]}"] if status not in statuses else []
    wrong += list(FORMATS[kind](out) if status != 2 else []) + [f"stderr: {one}" for one in is_text(err)]
    seen[kind] += out.count(MARK)
    seen["stderr"] += err.count(MARK)
    check_none(wrong, f"{what}: gpufloor {' '.join(words)[:100]!r}")
    return out + err


def files_of(folder, where, *words):
    """The files that a command writes; stdout and stderr must be clean, too."""
    made = os.path.join(where, folder)
    for old in glob.glob(glob.escape(made) + "*"):
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(made, exist_ok=True)
    status, out, err = run(where, "report", "--results", ".", f"--html={made}.html", f"--figures={made}/figures",
                           f"--tex={made}/tex", f"--plots={made}/plots", *words)
    texts = {}
    for path in [made + ".html"] * os.path.exists(made + ".html") + [os.path.join(base, name) for base, _, names in os.walk(made) for name in names]:
        with open(path, "rb") as file:
            texts[os.path.relpath(path, where).replace(folder, "page", 1)] = file.read()
    return status, out + err, texts


def check_files(what, where, hostile, of_clean):
    status, talk, made = files_of("hostile", where, *hostile)
    _, _, known = files_of("clean", where, *of_clean)
    check(status == 0 and made, f"{what}: files are written", f"exit {status}: {talk[:150]}")
    check_none(clean(talk)[1], f"{what}: what is said meanwhile")
    for name in sorted(made):
        ending = os.path.splitext(name)[1]
        text, wrong = clean(made[name])
        seen[ending] += text.count(MARK)
        of_known = known.get(name, b"" if ending == ".tex" else made[name])
        if ending == ".svg" and name not in known:
            of_known = next(iter(one for other, one in known.items() if other.endswith(".svg")), made[name])
        if ending == ".tex":  # tables and macros share their words
            of_known = b"\n".join(one for other, one in known.items() if other.endswith(".tex"))
        check_none(wrong + list(FILES[ending](text, of_known.decode("utf-8"))), f"{what}: {name}")
    return made


REPORTS = (("text",), ("text", "--all"), ("md", "--all", "--format=md"), ("tsv", "--format=tsv"),
           ("md", "--format=md"), ("json", "--format=json"), ("text", "--gaps"), ("md", "--gaps", "--format=md"),
           ("text", "--headline"),
           ("md", "--short"), ("text", "--published"), ("md", "--published", "--format=md"),
           ("json", "--published", "--format=json"), ("text", "--metric=*"))
LEDGERS = (("text",), ("md", "--format=md"), ("tsv", "--format=tsv"), ("json", "--format=json"),
           ("text", "--id=C*"), ("text", "--search=the"))
COMPARISONS = (("text", "--explain"), ("md", "--format=md", "--explain"), ("tsv", "--format=tsv"),
               ("json", "--format=json"))


def report(*words):
    """Without committed results, where an option takes any."""
    takes_none = ("--all", "--gaps", "--metric=*", "--short", "--published", "--format=tsv")
    return ("report", *words) if set(words) & set(takes_none) else ("report", "--results", ".", *words)


def whole(what, where, path, reports=REPORTS, ledgers=LEDGERS):
    for kind, *words in reports:
        said(what, where, kind, *report(*words), path)
    for kind, *words in ledgers:
        said(what, where, kind, "claims", *words, path)


def sections(what, where, path):
    """Every section that the report has, with the evidence of its cells."""
    _, out, _ = run(where, "report", "--results", ".", "--format=json", path)
    for name in (section["name"] for section in json.loads(out)["sections"]):
        for kind in ("text", "md"):
            said(what, where, kind, "report", "--results", ".", "--section", name, f"--format={kind}", path)


def beside(what, where, a, b):
    for kind in ("text", "md", "json", "tsv"):
        said(what, where, kind, *report(f"--format={kind}"), a, b)
    said(what, where, "text", *report("--all"), a, b)
    said(what, where, "md", *report("--all", "--format=md"), a, b)
    said(what, where, "text", "claims", a, b)
    for kind, *words in COMPARISONS:
        said(what, where, kind, "compare", "--results", where, "--allow=board", "--allow=n_sm", *words, a, b)
        said(what, where, kind, "compare", "--results", where, *words, b, a, statuses=(0, 1, 2))


# --- the tests -----------------------------------------------------------------------------------------


def small_documents(where):
    for name in ("small", "full", "board_a", "troubled", "host", "quick"):
        for names in (False, True):
            bundle = Hostile(names).walk(with_texts(read(os.path.join(GOLDEN, name + ".json"))))
            path = write(os.path.join(where, f"{name}-{names}.json"), bundle)
            is_long = name in ("full", "board_a") or (name == "small" and names)
            whole(f"{name}, names {names}", where, path, REPORTS if is_long else REPORTS[:6],
                  LEDGERS if name == "full" and not names else LEDGERS[:1])
    for names in (False, True):
        beside(f"boards, names {names}", where, os.path.join(where, f"board_a-{names}.json"),
               os.path.join(GOLDEN, "board_b.json"))
    said("another board", where, "text", "compare", os.path.join(GOLDEN, "small.json"), f"{where}/small-False.json", statuses=(2,))
    bundle = Hostile(False).walk(read(os.path.join(GOLDEN, "map.json")))
    bundle["runs"][0]["probe"]["name"] = "golden_alpha"
    for axis in bundle["runs"][0]["cases"][0]["metrics"][1]["grid"]["axes"]:
        axis["name"] = MARK + UNSEEN + MARKUP
    said("map", where, "tsv", "report", "--map=golden_alpha.map", write(f"{where}/map.json", bundle))
    said("no map", where, "text", "report", f"--map=x{UNSEEN}", f"{where}/map.json",
         statuses=(2,))


def counters(where):
    for name in ("counted", "counted_works"):
        for names in (False, True):
            document = Hostile(names).walk(read(os.path.join(GOLDEN, name + ".json")))
            for probe in document["probes"]:
                for set_of in probe.get("counted", []):
                    set_of.setdefault("counters", {})["chip"] = MARK + UNSEEN + MARKUP
            path = write(f"{where}/{name}-{names}.json", document)
            said(f"{name}, names {names}", where, "text", "report", path)
            said(f"{name}, names {names}", where, "text", "claims", "--counters", path, f"{GOLDEN}/full.json",
                 statuses=(2,))
            document["environment"]["gpu"] = read(os.path.join(GOLDEN, "full.json"))["environment"]["gpu"]
            write(path, document)
            for kind in ("text", "tsv"):
                said(f"{name}, names {names}", where, kind, "claims", "--counters", path, f"--format={kind}",
                     os.path.join(GOLDEN, "full.json"))


def refused(where):
    """What is wrong is said in one line, whatever the file and its name hold."""
    name = f"{MARK}{UNSEEN}|<b>'\"$x%_`.json".replace("/", "")
    path = os.path.join(where, name)
    for i, text in enumerate((None, "", "{\x1b", json.dumps({"schema": MARK + UNSEEN}),
                              json.dumps({"schema": "bundle", "schema_version": 1, "environment": {}, "runs": [
                                  {"probe": {"name": MARK + UNSEEN, "method": 1}, "status": UNSEEN}]}))):
        if text is not None:
            write_text(path, text)
        for words in (("report", path), ("report", "--all", path, path), ("compare", path, path), ("claims", path),
                      ("report", f"--html={path}/x", path), ("report", "--history", where + "/" + MARK + UNSEEN)):
            out = said(f"refused {i}", where, "text", *words, statuses=(2,))
            check(out.count("\n") == 1, f"refused {i}: {words[0]} says it in one line", out)
    for other in ("board_a", "small"):
        shutil.copy(os.path.join(GOLDEN, other + ".json"), path)
        said("name of a file", where, "text", "report", "--results", ".", path)
        beside("name of a file", where, path, os.path.join(GOLDEN, other + ".json"))
    check_files("name of a file", where, (path, os.path.join(GOLDEN, "board_b.json")),
                (os.path.join(GOLDEN, "board_a.json"), os.path.join(GOLDEN, "board_b.json")))
    said("not writable", where, "text", "report", "--html", f"{where}/none{UNSEEN}/x.html", path, statuses=(2,))
    said("not writable", where, "text", "report", "--plots", f"{where}/none{UNSEEN}/x", path, statuses=(2,))


def history(where):
    folder = os.path.join(where, f"history{UNSEEN[:4]}")
    os.makedirs(folder)
    for i, name in enumerate(("full", "full", "full")):
        bundle = read(os.path.join(GOLDEN, name + ".json"))
        for _, _, metric in metrics_of(bundle):
            if metric.get("median"):
                metric["median"] *= 1 + 0.1 * i
        bundle["started"] = f"2026-11-2{i}T08:12:00Z"
        board = bundle["environment"]["gpu"].get("board")
        bundle = Hostile(False).walk(bundle)
        if board:
            bundle["environment"]["gpu"]["board"] = MARK + UNSEEN + MARKUP
        write(os.path.join(folder, f"{i}{UNSEEN}|`'.json"), bundle)
    for kind in ("text", "md", "tsv"):
        said("history", where, kind, "report", "--history", folder, f"--format={kind}")
        said("history", where, "text" if kind == "text" else kind, "report", "--history", folder,
             f"--format={kind}", "--metric=memory_latency.*")
    said("folder", where, "text", "report", "--results", where, folder)
    said("its history", where, "text", "compare", "--results", where, folder, os.path.join(GOLDEN, "full.json"),
         statuses=(2,))
    for kind in ("text", "md"):
        said("compared", where, kind, "compare", "--results", where, f"--format={kind}", f"{folder}/0{UNSEEN}|`'.json",
             f"{folder}/1{UNSEEN}|`'.json")


def committed(where):
    """Bundles of a whole board: each section, the page, papers and figures have something to show."""
    paths = []
    for board in (H200, H100):
        bundle = lean(read(newest_whole(board)))
        paths.append(write(os.path.join(where, os.path.basename(board) + ".json"), bundle))
    hostile = []
    for names in (False, True):
        bundle = Hostile(names).walk(read(paths[0]))
        hostile.append(write(os.path.join(where, f"h200-{names}.json"), bundle))
    whole("H200", where, hostile[0], REPORTS[:8], LEDGERS[:2])
    whole("H200, its names", where, hostile[1], REPORTS[:5], LEDGERS[:1])
    for kind in ("text", "md"):
        said("H200", where, kind, "report", "--quality", f"--format={kind}", hostile[0])
    sections("H200", where, hostile[0])
    check_files("H200", where, hostile[:1], paths[:1])
    made = check_files("H200, its names", where, hostile[1:], paths[:1])
    check_files("two boards", where, (hostile[0], paths[1]), paths)
    if shutil.which("gnuplot"):
        plots = os.path.join(where, "hostile", "plots")
        for script in sorted(glob.glob(os.path.join(plots, "*.gp"))):
            subprocess.run(["gnuplot", os.path.basename(script)], cwd=plots, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        check_none(["pwned"] if os.path.exists(plots + "/pwned") else [], "gnuplot runs no command of a bundle")
    check(made, "papers are made of names, too", "none")


MODEL = {"schema": "model", "schema_version": 1, "decode": {
    "layers": 16, "hidden": 2048, "heads": 32, "kv_heads": 8, "head_dim": 64, "ffn": 8192, "vocabulary": 128256,
    "weight_bytes": 2, "cache_bytes": 2}}


def documents(where):
    """What else is told as JSON: a fleet, a floor, what may be contributed."""
    folder = os.path.join(where, "fleet")
    os.mkdir(folder)
    for i, name in enumerate(("0", MARK + UNSEEN, "1" + MARKUP.replace("/", ""))):
        bundle = Hostile(False).walk(lean(read(newest_whole(H200))))
        bundle["environment"]["gpu"].update(board=MARK + UNSEEN, id_hash=f"{i:016x}" + UNSEEN)
        path = write(os.path.join(folder, name + ".json"), bundle)
    write_text(os.path.join(folder, "cut" + UNSEEN + ".json"), "{" + UNSEEN)
    model = write(os.path.join(where, "model.json"), {**MODEL, "name": MARK + UNSEEN})
    said("fleet", where, "json", "report", "--fleet", folder, "--format=json", statuses=(2,))
    check_none(is_json(run(where, "report", "--fleet", folder, "--format=json")[1].decode("utf-8")), "fleet: JSON")
    said("floor", where, "json", "floor", "--format=json", "--model", model, path)
    said("check", where, "json", "check", "--format=json", path)


def not_utf8(where):
    """Names of files are no UTF-8, and texts are cut within a character where a place for them ends. What has them is
    told all the same, and the bytes are seen."""
    def path_of(name):
        return os.path.join(where, "fleet", os.fsdecode(name))

    def json_of(*words, statuses=(0,)):
        status, out, err = run(where, *words)
        wrong = [f"exit {status}: {err[:150]}"] if status not in statuses else list(is_json(out.decode("utf-8")))
        return {} if not check_none(wrong, f"not UTF-8: {words[:2]}") else json.loads(out)

    long_text, model = "\u00e9" * 300, {**MODEL, "name": "\u00e9" * 40 + "x"}
    os.mkdir(os.path.join(where, "fleet"))
    for i, name in enumerate((b"a.json", b"n\xff.json", b"z.json")):
        bundle = lean(read(newest_whole(H200)))
        bundle["environment"]["gpu"]["id_hash"] = f"{i:016x}"
        if i == 1:
            bundle["environment"]["driver"]["version"] = "5" + long_text
            bundle["runs"][0]["notes"].append("/home/" + long_text)
        write(path_of(name), bundle)
    write_text(path_of(b"cut\xff.json"), "{")
    a, n = path_of(b"a.json"), path_of(b"n\xff.json")
    fleet = json_of("report", "--fleet", os.path.join(where, "fleet"), "--format=json", statuses=(2,))
    check([card["file"] for card in fleet["cards"]] == ["a.json", "n\\xff.json", "z.json"] and
          [left["file"] for left in fleet["left_out"]] == ["cut\\xff.json"], "not UTF-8: each file of a fleet is named",
          [fleet["cards"], fleet["left_out"]])
    for words in (("report", "--headline"), ("floor", "--model=" + write(os.path.join(where, "model.json"), model))):
        document = json_of(*words, "--format=json", n)
        path = document.get("bundle", document)["path"]
        check(path == os.path.join(where, "fleet", "n\\xff.json"), f"not UTF-8: {words[0]} names its bundle", path)
    name = document["passes"][0]["model"]
    check(name == "\u00e9" * 31 + "\\xc3", "cut: floor names its model", name)
    boards = json_of("report", "--format=json", a, n)
    check([os.path.basename(bundle["path"]) for bundle in boards["bundles"]] == ["a.json", "n\\xff.json"],
          "not UTF-8: both of two bundles", boards["bundles"])
    one = json_of("check", "--format=json", n, statuses=(1,))["bundles"][0]
    why = [q["why"] for q in one["questions"] if q["question"] == "nothing personal"]
    check(one["path"].endswith("n\\xff.json") and len(why) == 1 and "/home/\u00e9" in why[0], "cut: check says why", one)
    differs = json_of("compare", "--format=json", "--results", where, a, n)["conditions"]["differs"]
    check("\u00e9" in differs.get("driver", ["", ""])[1], "cut: compare says which driver", differs)
    program = plant_tree(os.path.join(where, "tree"), stand_ins=("good",))
    made = path_of(b"run\xff.json")
    status, _, err = run(where, "run", "--quick", "--raw", "--results", ".", "-o", made, program=program)
    raw = read(made).get("raw", {}) if os.path.exists(made) else {}
    check(raw.get("file") == "run\\xff.raw.tsv", "not UTF-8: a run names its raw samples", f"exit {status}: {err} {raw}")


PROGRAM = r"""#!/usr/bin/env python3
import json, os, sys
name = os.path.basename(sys.argv[0]).split(".")[0]
bad = %r
if "--list" in sys.argv:
    if name == "mute":
        sys.exit("mute: " + bad)
    metric = {"name": "time" + bad, "unit": "ns", "better": bad, "keys": bad, "timer": bad, "what": bad}
    number = {"name": bad, "default": 1, "min": 1, "max": 2, "words": [bad, bad], "what": bad}
    print(json.dumps({"schema": "probe", "schema_version": 1, "name": name, "what": bad, "method": 1,
                      "needs": "host", "cubins": {bad: bad}, "metrics": [metric], "parameters": [number]}))
    sys.exit(0)
if name == "garbage":
    print(bad)
    sys.exit("garbage: " + bad)
status = {"fails": "failed", "skips": "skipped"}.get(name, "ok")
metric = {"name": "time", "unit": "ns", "better": "lower", "timer": "wall", "n": 1, "median": 5, "best": 5}
one = {"case": "k=1" + bad[:60], "metrics": [metric]}
if name == "noisy":
    one["discarded"] = bad
print(json.dumps({"schema": "run", "schema_version": 1, "probe": {"name": name, "method": 1, "what": bad},
                  "status": status, "why": bad, "run": {"round": int(sys.argv[sys.argv.index("--round") + 1])},
                  "environment": {"host": {"cpu": bad}}, "cases": [one],
                  "checks": [{"what": bad, "ok": False}], "notes": [bad]}))
print(bad, file=sys.stderr)
sys.exit({"fails": 1, "skips": 77, "breaks": 3}.get(name, 0))
"""


def foreign_programs(where):
    """Programs beside this one, and one that joins with --with, say whatever they like."""
    beside_it = os.path.join(where, "tree", "bin")
    os.makedirs(beside_it + "/probes")
    program = shutil.copy(GPUFLOOR, beside_it + "/gpufloor")
    text = MARK + UNSEEN + MARKUP

    def put(path):
        return script(path, PROGRAM % text)

    names = ["good", "fails", "skips", "breaks", "noisy", "garbage", f"e{UNSEEN[:6]}|`'$_"]
    for name in names + ["mute"]:
        put(os.path.join(beside_it, "probes", name))
    for kind in ("text", "md"):
        said("list", where, kind, "list", f"--format={kind}", program=program)
        said("list", where, kind, "list", "--questions", f"--format={kind}", program=program)
    said("list", where, "json", "list", "--format=json", program=program)
    os.remove(os.path.join(beside_it, "probes", "mute"))
    for i, name in enumerate(("good", "mute", f"e{UNSEEN}|", "breaks")):
        added = put(os.path.join(where, f"added-{name.strip() or i}.py"))
        said("run --with", where, "text", "run", "--quick", "-o", f"{where}/run-{i}.json", "--with", added,
             "--results", ".", program=program, statuses=(0, 1, 2))
    made = f"{where}/run-0.json"
    with open(made, "rb") as file:
        bundle = file.read()
    check(re.fullmatch(rb"[\n -~]*", bundle), "the bundle of a run is ASCII", bundle[:80])
    check(text in json.dumps(json.loads(bundle), ensure_ascii=False).replace( json.dumps(text, ensure_ascii=False)[1:-1], text),
          "and keeps the text as it is")
    whole("what was run", where, made, REPORTS[:6], LEDGERS[:1])
    said("run to stdout", where, "text", "run", "--quick", "-o", f"{where}/x{UNSEEN}/y.json", program=program, statuses=(2,))


def beyond(where):
    """Numbers out of all proportion, ids that would be cut, rounds that no row holds, negative times."""
    source = read(os.path.join(GOLDEN, "full.json"))
    for value in (1e308, -1e308, 5e-324, 1e21):
        bundle = json.loads(json.dumps(source))
        for _, _, metric in metrics_of(bundle):
            metric["median"] = metric["best"] = value
        for key in ("n_sm", "l2_bytes", "memory_bytes", "power_limit_w", "sm_clock_max_mhz", "memory_clock_mhz"):
            bundle["environment"]["gpu"][key] = value
        path = write(f"{where}/beyond.json", bundle)
        other = os.path.join(GOLDEN, "full.json")
        for words in (("report",), ("report", "--all"), ("report", "--all", "--format=md"), ("report", "--format=tsv"),
                      ("report", "--headline"), ("report", "--gaps"), ("report", other), ("report", "--all", other),
                      ("compare", "--allow=n_sm", other), ("claims",), ("claims", "--format=tsv")):
            words = (report(*words[1:]) if words[0] == "report" else words if words[0] == "claims" else
                     (words[0], "--results", ".", *words[1:]))
            out = said(f"{value:g}", where, "tsv" if "--format=tsv" in words else "md" if "--format=md" in words
                       else "text", *words, path)
            check_none(re.findall(r"\d{17,}\.?\d*|\.\d{13,}", out), f"{value:g}: {' '.join(words[:2])} has no long number")

    bundle = json.loads(json.dumps(source))
    case = bundle["runs"][0]["cases"][0]
    for letter in "ab":
        bundle["runs"][0]["cases"].append(dict(case, case="k=" + "x" * 600 + letter))
    out = said("long ids", where, "text", "report", "--all", write(f"{where}/long.json", bundle), statuses=(2,))
    check("characters; at most 400" in out, "long ids are refused by name", out[:150])

    bundle = json.loads(json.dumps(source))
    bundle["runs"] += [dict(bundle["runs"][0], run=dict(bundle["runs"][0]["run"], round=i)) for i in range(7, 40)]
    out = said("40 rounds", where, "text", "report", write(f"{where}/rounds.json", bundle), statuses=(2,))
    check("expected 0 to 31" in out, "40 rounds are refused", out[:150])

    bundle = json.loads(json.dumps(source))
    for _, _, metric in metrics_of(bundle):
        metric["median"] = -5 if metric["unit"] == "ns" else metric["median"]
    path = write(f"{where}/negative.json", bundle)
    out = said("-5 ns", where, "tsv", "report", "--format=tsv", path)
    rows = [line.split("\t") for line in out.split("\n") if "\tns\t-5\t" in line]
    check_none([row for row in rows if row[7] != "negative"] if rows else ["no row"], "-5 ns is not ok")
    out = said("-5 ns", where, "tsv", "claims", "--format=tsv", path)
    judged = [line for line in out.split("\n") if re.search(r"\t(REPRODUCED|REFUTED|MIXED)\t", line)
              and re.search(r"-\d[\d.]* (ns|us)", line)]
    check_none(judged, "no verdict rests on -5 ns")


def main():
    with tempfile.TemporaryDirectory(prefix="gpufloor text ") as where:
        tests = (small_documents, counters, refused, history, foreign_programs, beyond, committed, documents,
                 not_utf8)
        for i, test in enumerate(tests):
            if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
                continue
            folder = os.path.join(where, str(i))
            os.makedirs(folder)
            test(folder)
    if len(sys.argv) == 2:
        # Figures show ids that they know by name alone; tests/unit/test_chart.c has their texts.
        for kind in set((*FORMATS, *FILES, "stderr")) - {".svg", ".tsv"}:
            check(seen[kind], f"hostile texts reached {kind}", dict(seen))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
