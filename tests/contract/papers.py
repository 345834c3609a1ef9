#!/usr/bin/env python3
"""papers.py BUILD: what `gpufloor report --tex=DIR --plots=DIR` writes, without TeX and without gnuplot (those are
in tests/long/papers.py). Of the committed results of each board, of one bundle, of three programs only, of a host
and of a bundle whose texts are made of special characters: all files are there, each number of a table and of the
points is one of `report --format=json` and is marked as that says, text is escaped, the names of macros.tex are
those of summary.c. Of two boards (H100 and H200, one twice, a host, of two GPUs each): the table of
both, their macros under both names, the points of the ratios. Paths that cannot be written are one line and exit 2. Each check is seen to fail on a planted
fault."""
import copy
import glob
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile

from common import (Ended, GOLDEN, H100, H200, RESULTS, ROOT, board_folders, boards_of_one, check, finish, newest_whole, of_programs, read,
                    read_text, script, table, told, write, write_text)
from layer import layered

SPECIAL = "A&B %d $1 #2 _{3}_ ~^\\ <|> \"`[*]' 4.5 us \u2265\u00d7\u2020\u00b5\u00e9\u4e2d \a\n\\input{x}"
TEX = "attention board claims curve flight fusion ladder layer links macros memory right sampling sizes small-product weights"
PLOTS = "curve flight ladder blocks waves sizes fusion decode sums copies"
BETWEEN = {"sums": {"NCCL", "NCCL, symmetric", "two shots", "one shot", "one shot, early start", "in a kernel"},
           "copies": {"copy engine", "bulk copies", "stores", "loads"}}  # their lines, of several GPUs
SCALE = {("ns", "us"): 1e-3, ("ns", "ms"): 1e-6, ("ns", "s"): 1e-9, ("bytes/s", "TB/s"): 1e-12, ("bytes/s", "GB/s"): 1e-9,
         ("flop/s", "TFLOP/s"): 1e-12, ("bytes", "KiB"): 2**-10, ("bytes", "MiB"): 2**-20, ("bytes", "GiB"): 2**-30,
         ("bytes", "B"): 1, ("hertz", "MHz"): 1e-6, ("ratio", "%"): 100, ("bytes/cycle", "B/cycle"): 1}


def run(*words):
    return Ended("report", *words)


def texts_of(folder):
    """{file: text} of both folders."""
    files = {}
    for path in glob.glob(f"{folder}/[tp]/*"):
        with open(path, encoding="utf-8", newline="") as file:
            files[os.path.basename(path)] = file.read()
    return files


def print_one(bundle, folder):
    """{file: text} of both folders, and the report as JSON."""
    done = run(f"--tex={folder}/t", f"--plots={folder}/p", bundle)
    if any(done):
        sys.exit(f"{bundle}: {done}")
    return texts_of(folder), json.loads(told("report", "--format", "json", bundle))


# --- checks: each returns what is wrong ----------------------------------------------------------------------------

def names_wrong(files):
    wanted = {f"{n}.tex" for n in TEX.split()} | {"gpufloor.bib"} | {f"{n}.{e}" for n in PLOTS.split() for e in ("tsv", "gp")}
    return sorted(wanted ^ set(files)) + sorted(n for n, text in files.items() if not text.endswith("\n"))


def cells(tex):
    """Rows of each tabular: below its first \\midrule, without lines across it."""
    for body in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", tex, re.S):
        body = body.split("\\midrule\n", 1)[1].split("\\bottomrule")[0]
        yield [re.split(r"(?<!\\) & ", line[:-3]) for line in body.splitlines()
               if line.endswith(" \\\\") and not line.startswith("\\multicolumn")]


def cell_wrong(text, cell, shown, rounds):
    """Is a number of the JSON printed as `text`, and with its marks?"""
    marks = set(re.findall(r"\\d+agger", "".join(re.findall(r"\{\$\^\{.*?\}\$\}", text))))
    text = re.sub(r"\{\$\^\{.*?\}\$\}", "", text).strip()
    if cell["value"] is None:
        return text != "{--}" or bool(marks)
    few = cell["once"] or 1 < cell["runs"] <= 3 and cell["runs"] < rounds
    if marks != ({"\\ddagger"} if few else set()) | ({"\\dagger"} if cell["quoted"] else set()):
        return True
    found = re.match(r"-?[0-9]+(?:\.([0-9]+))?", text)
    if not found:
        return True
    unit = text[found.end():].replace("\\ensuremath{\\mu}s", "us").replace("\\%", "%").strip("~ ").split(" ")[0].rstrip(";")
    scale = SCALE.get((cell["unit"], shown or unit), 1)
    close = 0.5000001 * 10 ** -len(found.group(1) or "")
    return abs(float(found.group()) - cell["value"] * scale) > close


def tables_wrong(files, told):
    wrong = []
    for section in told["sections"][1:]:
        name = "small-product" if section["name"] == "small" else section["name"]
        tex = files[name + ".tex"]
        tables = list(cells(tex))
        if len(tables) != len(section["grids"]) or not section["grids"] and not tex.startswith("% "):
            wrong.append(f"{name}: {len(tables)} tables")
            continue
        for table, grid in zip(tables, section["grids"]):
            kept = [i for i in range(len(grid["columns"])) if not any(
                row["cells"][i] and row["cells"][i]["kind"] == "bar" for row in grid["rows"])]
            if len(table) != len(grid["rows"]) or any(len(row) != len(kept) for row in table):
                wrong.append(f"{name}: rows or columns lack")
                continue
            for row, line in zip(grid["rows"], table):
                for i, text in zip(kept, line):
                    cell = row["cells"][i]
                    if cell["kind"] == "number" and cell_wrong(text, cell, grid["columns"][i]["shown"],
                                                               told["bundle"]["rounds"]):
                        wrong.append(f"{name}: {text} is not {cell['value']} {cell['unit']}")
    return wrong


def numbers(node, found):
    """(id, value) of every number in the JSON."""
    if isinstance(node, dict):
        if isinstance(node.get("value"), (int, float)):
            found.add((node["id"] or "", f"{node['value']:.7g}"))
        for one in node.values():
            numbers(one, found)
    elif isinstance(node, list):
        for one in node:
            numbers(one, found)
    return found


def sevens(text):
    """How a number that is written with nine digits may be written with seven."""
    return {f"{float(text) * (1 + by):.7g}" for by in (-5e-9, 0, 5e-9)}


def points_wrong(files, told):
    known, wrong = numbers(told["sections"], set()), []
    for name in PLOTS.split():
        lines, script = files[name + ".tsv"].splitlines(), files[name + ".gp"]
        blocks = 0 if len(lines) < 2 else 1 + sum(1 for i in range(2, len(lines)) if lines[i - 1:i + 1] == ["", ""])
        if lines[0] != "id\tx\tcentre\tlow\thigh\tlabel\tseries":
            wrong.append(f"{name}: {lines[0]}")
        for line in filter(None, lines[1:]):
            row = line.split("\t")
            if len(row) != 7 or not known & {(row[0], seven) for seven in sevens(row[2])} or not float(row[3]) <= float(row[2]) <= float(row[4]) \
                    and "NaN" not in row[3:5]:
                wrong.append(f"{name}: {line}")
        used = {int(i) for i in re.findall(r" index (\d+)", script)}
        if used != set(range(blocks)) or blocks and f"set output '{name}.pdf'" not in script:
            wrong.append(f"{name}: {blocks} blocks, drawn {used}")
        if not blocks and not script.startswith("print '"):
            wrong.append(f"{name}: no points and no reason")
    return wrong


def between_wrong(files, has_several):
    """What lies between GPUs: each line is there, and each has its points and a name; of one GPU a reason."""
    wrong = []
    for name, lines in BETWEEN.items():
        blocks = [block.splitlines() for block in files[name + ".tsv"].split("\n", 1)[1].split("\n\n\n")]
        found = {row.split("\t")[6] for block in blocks for row in block}
        script = files[name + ".gp"]
        if has_several:
            wrong += sorted(lines ^ found) + [f"{name}: a line of {len(block)} points" for block in blocks if len(block) < 3]
            wrong += [f"{name}: {line} is not named" for line in lines if f" title '{line}'" not in script]
        elif found or "two GPUs" not in script:
            wrong.append(f"{name}: {script}")
    if has_several and "'links, headers included' at graph 0, first 478.116 " not in files["copies.gp"]:
        wrong.append("copies: what the links carry is not there")
    return wrong


def text_wrong(files):
    """What would end a line, a group or a column: LaTeX's reserved characters without a backslash, and others."""
    wrong = []
    for name, text in files.items():
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text) or "\t" in text and not name.endswith(".tsv"):
            wrong.append(f"{name}: a control character")
        lines = [line for line in text.splitlines() if not line.startswith("%" if name.endswith(".tex") else "#")]
        bare = re.sub(r"\\[\\&%$#_{}]", "", "\n".join(lines))
        if name.endswith(".tex"):
            inner = re.sub(r"\{\$\^\{(\\ast)?(\\d?dagger)*\}\$\}", "", bare) if name != "macros.tex" else bare
            if re.search(r"(?<! )&|&(?! )|[%\"<>|`](?!`)(?<!``)", inner.replace("``", "")) or "$" in inner.replace(
                    "table-space-text-post={$^{\\dagger}$}", "") or bare.count("{") != bare.count("}"):
                wrong.append(f"{name}: a reserved character")
            if name != "macros.tex" and ("#" in bare or re.search(r"(?<!\\ensuremath\{)\^(?!\{\\(?:d|ast))", bare)) or "\\input" in bare:
                wrong.append(f"{name}: a reserved character")
            if any(c > "\x7f" and not "\u00c0" <= c <= "\u00ff" for c in "".join(lines)):
                wrong.append(f"{name}: a character that pdflatex cannot set")
        if name.endswith(".gp") and any(line.count("'") % 2 for line in lines):
            wrong.append(f"{name}: a string that does not end")
    return wrong


def plain_of(text):
    """An id as it stands in TeX, without the escapes."""
    text = text.replace(r"\textbraceleft{}", "{").replace(r"\textbraceright{}", "}")
    return re.sub(r"\\([{}_%])", r"\1", re.sub(r"\{([*\[\]])\}", r"\1", text))


def macros_wrong(files, told):
    with open(os.path.join(ROOT, "report/page/summary.c"), encoding="utf-8") as file:
        entries = re.findall(r'^    \{"([a-z0-9-]+)", "(.*?)\}\},$', file.read(), re.M | re.S)
    names = [name for name, _ in entries]
    best = {name for name, of in entries if "PICK_BEST" in of}  # no row's own median
    defined = re.findall(r"^\\expandafter\\def\\csname gpufloor@[^@]+@([a-z0-9-]+)\\endcsname\{(.*)\}$", files["macros.tex"], re.M)
    wrong = [] if [name for name, _ in defined] == names and len(names) > 20 else ["names differ from summary.c"]
    ids = dict(re.findall(r"gpufloor@[^@]+@([a-z0-9-]+)@id\\endcsname\{(.*)\}$", files["macros.tex"], re.M))
    values, n_held = {}, 0
    for section in told["sections"]:
        for number in section["grids"]:
            for row in number["rows"]:
                for cell in row["cells"]:
                    if cell and cell["kind"] == "number" and cell["id"]:
                        values.setdefault(cell["id"], []).append(dict(cell, once=False, runs=7, quoted=False))
    for name, text in defined:
        held = values.get(plain_of(ids.get(name, "")), [])
        if held and name not in best and all(cell_wrong(text, cell, None, 7) for cell in held):
            wrong.append(f"{name}: {text} is not {held[0]['value']}")
        n_held += bool(held)
    return wrong if n_held or not ids else wrong + ["no macro has a number of the tables"]


def bib_wrong(files, told, path):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest() if os.path.isfile(path) else ""
    text, commit = files["gpufloor.bib"].replace("\\allowbreak ", ""), told["bundle"]["commit"]
    return [] if text.startswith("@misc{gpufloor-") and (not re.fullmatch("[0-9a-f]+", commit) or commit in text) and digest in text and \
        "The gpufloor authors" in text else [text]


def check_all(what, bundle, folder):
    files, report = print_one(bundle, folder)
    for name, wrong in (("all files are there", names_wrong(files)), ("numbers of tables", tables_wrong(files, report)),
                        ("numbers of figures", points_wrong(files, report)), ("text is escaped", text_wrong(files)),
                        ("macros", macros_wrong(files, report))):
        check(not wrong, f"{what}: {name}", "\n".join(wrong))
    if os.path.isfile(bundle):
        wrong = bib_wrong(files, report, bundle)
        check(not wrong, f"{what}: commit and SHA-256 are cited", "\n".join(wrong))
    else:
        check("SHA" not in files["gpufloor.bib"] and report["bundle"]["commit"] in files["gpufloor.bib"],
              f"{what}: a folder has no SHA-256")
    return files, report


def planted(files, told, path):
    """Each fault must be seen by the check that is named."""
    def changed(name, old, new):
        if not re.search(old, files[name]):
            return files
        return dict(files, **{name: re.sub(old, new, files[name], count=1)})
    faults = (
        ("a file lacks", names_wrong, dict((k, v) for k, v in files.items() if k != "sizes.tex")),
        ("a file too many", names_wrong, dict(files, more="\n")),
        ("a digit of a table", lambda f: tables_wrong(f, told), changed("memory.tex", r"& 1", "& 2")),
        ("a dagger lacks", lambda f: tables_wrong(f, told), changed("attention.tex", r"\{\$\^\{\\ddagger\}\$\}", "")),
        ("a dagger too many", lambda f: tables_wrong(f, told), changed("memory.tex", r"(& \d+) ", r"\1{$^{\\dagger}$} ")),
        ("a row lacks", lambda f: tables_wrong(f, told), changed("ladder.tex", r"load, L1 [^\n]*\n", "")),
        ("a unit is wrong", lambda f: tables_wrong(f, told), changed("ladder.tex", r"(\d)~ns", r"\1~ms")),
        ("a number of a figure", lambda f: points_wrong(f, told), changed("ladder.tsv", r"(\t\d+\t)(\d)", r"\g<1>9\2")),
        ("an interval beside its number", lambda f: points_wrong(f, told),
         changed("sizes.tsv", r"(\n[^\t\n]*\t[^\t\n]+\t[^\t\n]+\t)(\d[^\t]*)", r"\g<1>9\2")),
        ("a block is not drawn", lambda f: points_wrong(f, told), changed("sizes.gp", r" index 1", " index 99")),
        ("a bare %", text_wrong, changed("memory.tex", r"\\%", "%")),
        ("a bare _", lambda f: text_wrong(f), changed("board.tex", r"Measured", "Measured &x")),
        ("a bare $", text_wrong, changed("board.tex", r"Measured", "Measured $")),
        ("a bare brace", text_wrong, changed("board.tex", r"Measured", "Measured {")),
        ("a control character", text_wrong, changed("claims.tex", r"caption", "capt\a")),
        ("a sign that is not Latin", text_wrong, changed("claims.tex", r"caption\{", "caption{\u4e2d")),
        ("a quote in a script", text_wrong, changed("curve.gp", r"KiB'", "KiB")),
        ("a name lacks", lambda f: macros_wrong(f, told), changed("macros.tex", r"(?m)^\\expandafter.*hbm-read\\endcsname.*\n", "")),
        ("a wrong macro", lambda f: macros_wrong(f, told), changed("macros.tex", r"(hbm-load\\endcsname\{)", r"\g<1>9")),
        ("another SHA-256", lambda f: bib_wrong(f, told, path), changed("gpufloor.bib", r"allowbreak [0-9a-f]", "allowbreak x")),
    )
    for what, seen_by, faulty in faults:
        check(faulty != files and seen_by(faulty), f"planted: {what}")


# --- two boards ------------------------------------------------------------------------------------------------------

def pair_wrong(files, told, singles):
    """What is wrong with the files of two boards; `singles` are the macros of each alone."""
    wrong = sorted({"board.tex", "compare.tex", "gpufloor.bib", "macros.tex", "ratio.gp", "ratio.tsv"} ^ set(files))
    if wrong:
        return wrong
    numbers_section = next(s for s in told["sections"] if s["name"] == "numbers")
    grid, tables = numbers_section["grids"][0], list(cells(files["compare.tex"]))
    rows = tables[0] if tables else []
    if len(rows) != len(grid["rows"]):
        wrong.append(f"compare.tex: {len(rows)} rows of {len(grid['rows'])}")
    for row, line in zip(grid["rows"], rows):
        for column, (cell, text) in enumerate(zip(row["cells"], line)):
            rounds = told["bundles"][1 if column == 2 else 0]["rounds"]
            if cell["kind"] == "number" and cell_wrong(text, cell, grid["columns"][column]["shown"], rounds):
                if not (cell["value"] is None and "--" in text):
                    wrong.append(f"compare.tex: {text} is not {cell['value']}")
    for i, bundle in enumerate(told["bundles"]):
        if rows and f"\n{'AB'[i]}: " not in files["compare.tex"] or rows and bundle["commit"][:7] not in files["compare.tex"]:
            wrong.append(f"compare.tex: the foot lacks {'AB'[i]}")
    ratios = {(row["cells"][0]["text"], f"{row['cells'][3]['value']:.7g}") for row in grid["rows"] if row["cells"][3]["value"]}
    points = [line.split("\t") for line in files["ratio.tsv"].splitlines()[1:] if line]
    if len(points) != len(ratios) or not all(ratios & {(p[5], seven) for seven in sevens(p[2])} for p in points) or sorted(float(p[1]) for p in points) != list(range(len(ratios))):
        wrong.append("ratio.tsv: not the ratios of the table, by rank")
    by_rank = [float(p[2]) for p in sorted(points, key=lambda p: float(p[1]))]
    if by_rank != sorted(by_rank, reverse=True):
        wrong.append("ratio.tsv: ranks do not follow the ratios")
    names = re.findall(r"\\def\\gpufloorboard\{(.*)\}", files["macros.tex"])
    keys = re.findall(r"@misc\{(.*),", files["gpufloor.bib"])
    if len(set(names)) != 2 or keys != [f"gpufloor-{name}" for name in names]:
        wrong.append(f"boards are called {names}, {keys}")
    values = re.findall(r"gpufloor@([^@]+)@([a-z0-9-]+)\\endcsname\{(.*)\}$", files["macros.tex"], re.M)
    for name, single in zip(names, singles):
        if [(n, v) for board, n, v in values if board == name and "missing" not in v] != \
                [(n, v) for _, n, v in re.findall(r"gpufloor@([^@]+)@([a-z0-9-]+)\\endcsname\{(.*)\}$", single, re.M)
                 if "missing" not in v]:
            wrong.append(f"macros.tex: {name} has other values than alone")
    return wrong + text_wrong(files)


def print_pair(a, b, folder):
    done, singles = run(f"--tex={folder}/t", f"--plots={folder}/p", a, b), []
    for i, one in enumerate((a, b)):
        run(f"--tex={folder}/{i}", one)
        singles.append(read_text(folder, str(i), "macros.tex"))
    check(not any(done), f"{os.path.basename(folder)}: written", done)
    return texts_of(folder), json.loads(told("report", "--format", "json", a, b)), singles


def pairs(folder, few):
    host = f"{GOLDEN}/host.json"
    for name, a, b in (("two boards", H100, H200), ("one board twice", few, few), ("two hosts", host, host),
                       ("boards of two GPUs", *(os.path.join(RESULTS, f"2x-{os.path.basename(board)}") for board in (H100, H200)))):
        os.mkdir(f"{folder}/{name}")
        files, report, singles = print_pair(a, b, f"{folder}/{name}")
        wrong = pair_wrong(files, report, singles)
        check(not wrong, f"{name}: table, points, macros and entries are those of both", "\n".join(wrong))
        if name == "boards of two GPUs":
            lines = {row.split("\t")[6] for row in files["ratio.tsv"].splitlines()[1:] if row}
            check({"links", "alike"} <= lines and all(f" title '{line}'" in files["ratio.gp"] for line in lines),
                  f"{name}: ratios that follow the links, or are alike, have marks of their own", lines)
        if name != "two boards":
            continue
        for what, file, old, new in (
                ("a digit of the table", "compare.tex", r"& 1", "& 2"), ("a ratio", "ratio.tsv", r"(\t\d+\t)(\d)", r"\g<1>9\2"),
                ("a rank", "ratio.tsv", r"\t0\t", "\t7\t"), ("a foot lacks", "compare.tex", r"\nB: ", "\n"),
                ("a row lacks", "compare.tex", r"load, L1 [^\n]*\n", ""), ("a macro", "macros.tex", r"(hbm-load\\endcsname\{)", r"\g<1>9"),
                ("one key twice", "gpufloor.bib", "gpufloor-nvidia-h200", "gpufloor-nvidia-h100-80gb-hbm3"),
                ("a dagger too many", "compare.tex", r"(load, L1 & [0-9.]+)", r"\1{$^{\\dagger}$}")):
            faulty = dict(files, **{file: re.sub(old, new, files[file], count=1)})
            check(faulty != files and pair_wrong(faulty, report, singles), f"planted: two boards: {what}")


def doctored(whole, folder):
    few = of_programs(whole, ("memory_latency", "launch", "spin"))
    special = copy.deepcopy(few)
    special["environment"]["gpu"]["name"] = special["environment"]["host"]["cpu"] = SPECIAL
    special["environment"]["host"]["kernel"] = special["environment"]["driver"]["version"] = SPECIAL
    special["suite"]["commit"] = special["suite"]["version"] = SPECIAL
    return write(f"{folder}/few.json", few), write(f"{folder}/special.json", special)


def planted_between(files):
    """Faults in the figures of several GPUs."""
    faults = (("a line lacks", "sums.tsv", r"(?s)\n\n\n[^\n]*impl=two_shot.*?\n\n\n", "\n\n\n"), ("a point lacks", "copies.tsv", r"(?m)^.*by=load.*\n(?=.*by=load)", ""),
              ("a name lacks", "sums.gp", r" title 'in a kernel'", ""), ("another rate of the links", "copies.gp", r"first 478", "first 479"))
    for what, name, old, new in faults:
        faulty = dict(files, **{name: re.sub(old, new, files[name])})
        check(faulty != files and between_wrong(faulty, True), f"planted: between GPUs: {what}")


def paths(bundle, folder):
    os.makedirs(f"{folder}/in/old")
    write_text(f"{folder}/in/outside", "kept")
    write_text(f"{folder}/in/old/memory.tex", "old")
    os.symlink("../outside", f"{folder}/in/old/ladder.tex")
    done = run(f"--tex={folder}/in/old", bundle)
    check(done.code == 0 and read_text(folder, "in/outside") == "kept" and read_text(folder, "in/old/memory.tex") != "old"
          and sorted(os.listdir(f"{folder}/in")) == ["old", "outside"], "files are replaced; nothing outside is written")
    for option in ("--tex", "--plots"):
        for bad in (f"{folder}/in/outside", f"{folder}/in/outside/x", f"{folder}/no/such/folder", "/proc/none", ""):
            done = run(f"{option}={bad}", bundle)
            check(done.is_one_line() and "gpufloor report: " in done.err, f"{option}={os.path.basename(bad)}: one line and exit 2",
                  done)
    for more in (["--all"], ["--section", "memory"], [bundle, bundle], ["--gaps"], ["--map", "x.y"]):
        done = run(f"--tex={folder}/more", *more, bundle)
        check(done.is_one_line() and not os.path.exists(f"{folder}/more"),
              f"--tex with {more[0] if more[0][0] == '-' else 'three bundles'} is refused", done)


def bundles_stay(bundle, folder):
    """A bundle that is given where a file or a folder is asked for to be written: refused, and it stays."""
    own, name = f"{folder}/own", f"{folder}/own/bundle.json"
    os.mkdir(own)
    shutil.copy(bundle, name)
    kept = read_text(name)
    for option, path in (("--html", name), ("--html", own), ("--figures", own), ("--tex", own), ("--plots", own), ("--tex", name)):
        for words in ([option, path], [f"{option}={path}"]):
            done = run(*words)
            check(done.is_one_line() and f"holds a bundle; expected {option}=" in done.err and os.listdir(own) == ["bundle.json"]
                  and read_text(name) == kept, f"{' '.join(words)}: refused, and the bundle stays", done)
    for more in ([name], [name, bundle]):
        done = run(f"--html={name}", *more)
        check(done.is_one_line() and "is not overwritten" in done.err and read_text(name) == kept,
              f"--html=BUNDLE of {len(more)}: refused, and the bundle stays", done)
    for ending, option in (("svg", "--figures"), ("tex", "--tex"), ("tsv", "--plots")):
        done = run(f"{option}={own}", name)
        check(done.code == 0 and read_text(name) == kept and any(file.endswith(ending) for file in os.listdir(own)),
              f"{option} of a bundle that is named, beside it", done)
    one = next(path for path in sorted(os.listdir(own)) if path.endswith(".tex"))
    write_text(f"{own}/{one}", " \n" + kept)
    done = run(f"--tex={own}", name)
    check(done.is_one_line() and one in done.err and read_text(own, one) == " \n" + kept, "nor one of another name", done)
    os.mkdir(f"{folder}/web")
    write_text(f"{folder}/web/package.json", "{}")
    for option in ("--figures", "--tex", "--plots"):
        done = run(f"{option}={folder}/web")
        check(done.code == 0 and read_text(folder, "web/package.json") == "{}", f"{option} beside JSON that is no bundle", done)
    done = run(f"--html={folder}/page.html", name)
    page = read_text(folder, "page.html")
    check(done.code == 0 and run(f"--html={folder}/page.html", name).code == 0 and read_text(folder, "page.html") == page,
          "a page takes the place of an earlier one", done)


def main():
    newest = newest_whole(H200)
    with tempfile.TemporaryDirectory() as folder:
        for board, path in board_folders():
            os.mkdir(f"{folder}/{board}")
            files, _ = check_all(board, path, f"{folder}/{board}")
            has_several = (board, path) not in boards_of_one()
            wrong = between_wrong(files, has_several)
            check(not wrong, f"{board}: figures of what lies between GPUs", "\n".join(wrong))
            if has_several:
                planted_between(files)
        few, special = doctored(read(newest), folder)
        for what, bundle in (("one bundle", newest), ("three programs", few), ("a decoder's layer", write(f"{folder}/layer.json", layered(read(newest)))), ("host", f"{GOLDEN}/host.json"),
                             ("special characters", special)):
            os.mkdir(f"{folder}/{what}")
            files, report = check_all(what, bundle, f"{folder}/{what}")
            if bundle == newest:
                planted(files, report, bundle)
            if bundle == special:
                check("A\\&B \\%d \\$1 \\#2 \\_\\textbraceleft{}3\\textbraceright{}\\_ \\textasciitilde{}" in files["board.tex"] and "\u00e9?" in files["board.tex"],
                      "special characters: each is escaped", files["board.tex"])
        pairs(folder, few)
        paths(f"{GOLDEN}/host.json", folder)
        bundles_stay(few, folder)
    return finish()


sys.exit(main())
