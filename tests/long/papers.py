#!/usr/bin/env python3
"""papers.py BUILD: what `gpufloor report --tex --plots` writes, set by a real pdflatex and drawn by a real gnuplot.
A paper of class article with booktabs and siunitx takes every file as it lies: no error, no undefined name, nothing
beyond the margin. An unknown name, and one that was not measured, are LaTeX errors that say the name. Each script of
gnuplot ends with 0 and makes a PDF of one page, 86 mm wide, or says why there is none. Of a board's results, of a
host, and of a bundle of special characters. Each check is seen to fail on a planted fault. TAP on stdout."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
GPUFLOOR = os.path.join(BUILD, "bin", "gpufloor")
WIDTH_MM, OFF_MM = 86, 0.6
n_tests = 0


def ok(passed, what, detail=""):
    global n_tests
    n_tests += 1
    print(f"{'ok' if passed else 'not ok'} {n_tests} - {what}")
    if not passed and detail:
        print("\n".join("# " + line for line in str(detail).splitlines()[:12]))


def skip(what, why):
    global n_tests
    n_tests += 1
    print(f"ok {n_tests} - {what} # SKIP {why}")


def run(words, folder):
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=300, text=True, errors="replace", check=False)


# --- LaTeX ---------------------------------------------------------------------------------------------------------

def paper(folder, text=""):
    names = sorted(os.path.basename(path)[:-4] for path in glob.glob(f"{folder}/*.tex"))
    inputs = "\n".join(f"\\input{{{name}}}" for name in names if name not in ("board", "macros", "main"))
    with open(f"{folder}/main.tex", "w", encoding="utf-8") as file:
        file.write("\\documentclass{article}\\usepackage{booktabs}\\usepackage{siunitx}\\input{macros}\n"
                   f"\\begin{{document}}\n\\sloppy\\input{{board}}\n{text}\n{inputs}\n"
                   "\\nocite{*}\\bibliographystyle{plain}\\bibliography{gpufloor}\n\\end{document}\n")


def latex_wrong(folder, text=""):
    paper(folder, text)
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = run(words, folder)
    if done.returncode == 0:
        cited = run(["bibtex", "main"], folder)
        if cited.returncode or "Warning" in cited.stdout:
            return cited.stdout
        run(words, folder)
        done = run(words, folder)
    log = done.stdout.replace("\n", " ") if done.returncode else done.stdout
    wrong = re.findall(r"! .{0,300}|Overfull \\hbox.*|.*Float too large.*|LaTeX Warning: .*undefined.*|multiply defined.*", log)
    return "\n".join(wrong) or (f"exit {done.returncode}" if done.returncode else "")


def latex(what, folder, plant):
    wrong = latex_wrong(folder)
    ok(not wrong, f"{what}: pdflatex sets every file, nothing beyond the margin", wrong)
    if not plant:
        return
    with open(f"{folder}/macros.tex", encoding="utf-8") as file:
        value = re.search(r"hbm-read\\endcsname\{(.*)\}$", file.read(), re.M).group(1)
    same = "\\edef\\held{\\gpufloor{hbm-read}}\\edef\\wanted{%s}\\ifx\\held\\wanted\\else\\errmessage{differs}\\fi"
    ok(not latex_wrong(folder, f"{{{same % value}}}"), f"{what}: \\gpufloor{{hbm-read}} expands to {value}")
    ok("differs" in latex_wrong(folder, f"{{{same % ('9' + value)}}}"), f"{what}: planted: another value")
    for text, said in (("\\gpufloor{hbm-raed}", "hbm-raed"), ("\\gpufloorof{none}{hbm-read}", "'none'")):
        wrong = latex_wrong(folder, text)
        ok(said in wrong and "gpufloor" in wrong, f"{what}: {text} is an error that says so", wrong)
    for fault in ("% of", "a & b", "\\rule{40em}{1pt}", "\u2265", "\\ref{tab:none}",
                  "\\begin{table}\\rule{1pt}{80em}\\end{table}"):
        text = fault if fault != "% of" else "$"
        ok(latex_wrong(folder, text), f"{what}: planted: {text}")


def unmeasured(folder):
    wrong = latex_wrong(folder, "\\gpufloor{hbm-read}")
    ok("hbm-read" in wrong and "not measured" in wrong, "host: a number that was not measured is an error that says why", wrong)


# --- gnuplot -------------------------------------------------------------------------------------------------------

def width_mm(path):
    """Of the only page; a cairo PDF states it in points."""
    with open(path, "rb") as file:
        boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([0-9.]+) ([0-9.]+)\s*\]", file.read())
    return float(boxes[0][0]) / 72 * 25.4 if len(boxes) == 1 else 0.0


def gnuplot_wrong(folder, script):
    name = os.path.basename(script)[:-3]
    if os.path.exists(f"{folder}/{name}.pdf"):
        os.remove(f"{folder}/{name}.pdf")
    done = run(["gnuplot", os.path.basename(script)], folder)
    with open(script, encoding="utf-8") as file:
        is_none = file.read().startswith("print '")
    if is_none:
        return "" if done.returncode == 0 and done.stdout.strip() else f"{name}: {done.stdout}"
    if done.returncode or done.stdout.strip() or not os.path.exists(f"{folder}/{name}.pdf"):
        return f"{name}: exit {done.returncode}: {done.stdout}"
    width = width_mm(f"{folder}/{name}.pdf")
    return "" if abs(width - WIDTH_MM) <= OFF_MM else f"{name}: {width:.1f} mm wide"


def gnuplot(what, folder, plant):
    scripts = sorted(glob.glob(f"{folder}/*.gp"))
    wrong = [one for one in (gnuplot_wrong(folder, script) for script in scripts) if one]
    ok(len(scripts) == (1 if what in ("two boards", "one board twice", "boards of two GPUs") else 10) and not wrong, f"{what}: gnuplot draws every figure, 86 mm wide", "\n".join(wrong))
    for old, new in (("8.6cm", "9cm"), ("curve.tsv", "none.tsv"), ("set output", "set ouput"), ("skip 1", "skip 1000")) if plant else ():
        with open(f"{folder}/curve.gp", encoding="utf-8") as file:
            text = file.read()
        with open(f"{folder}/curve.gp", "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        ok(old in text and gnuplot_wrong(folder, f"{folder}/curve.gp"), f"{what}: planted: {new}")
        with open(f"{folder}/curve.gp", "w", encoding="utf-8") as file:
            file.write(text)


def special(folder):
    """The bundle of special characters that the contract test makes; its labels hold them, too."""
    path = os.path.join(ROOT, "tests/contract/papers.py")
    with open(path, encoding="utf-8") as file:
        text = re.search(r"^SPECIAL = (.*)$", file.read(), re.M).group(1)
    with open(max(glob.glob(f"{ROOT}/results/nvidia-h200/*.json")), encoding="utf-8") as file:
        bundle = json.load(file)
    text = json.loads(json.dumps(eval(text)))  # a literal of our own tree
    bundle["environment"]["gpu"]["name"] = bundle["environment"]["host"]["cpu"] = text
    bundle["environment"]["driver"]["version"] = bundle["suite"]["version"] = text
    with open(f"{folder}/special.json", "w", encoding="utf-8") as file:
        json.dump(bundle, file)
    return f"{folder}/special.json"


def main():
    has_latex = shutil.which("pdflatex") and run(["kpsewhich", "booktabs.sty", "siunitx.sty"], "/").stdout.count(".sty") == 2
    has_gnuplot = shutil.which("gnuplot") is not None
    with tempfile.TemporaryDirectory() as folder:
        for what, *bundles in (("nvidia-h200", f"{ROOT}/results/nvidia-h200"), ("host", f"{ROOT}/tests/golden/host.json"),
                               ("two GPUs", f"{ROOT}/results/2x-nvidia-h200"),
                               ("boards of two GPUs", f"{ROOT}/results/2x-nvidia-h100-80gb-hbm3", f"{ROOT}/results/2x-nvidia-h200"),
                             ("h100", f"{ROOT}/results/nvidia-h100-80gb-hbm3"), ("special", special(folder)),
                               ("two boards", f"{ROOT}/results/nvidia-h100-80gb-hbm3", f"{ROOT}/results/nvidia-h200"),
                               ("one board twice", f"{ROOT}/results/nvidia-h200", f"{ROOT}/results/nvidia-h200")):
            own = f"{folder}/{what}"
            os.mkdir(own)
            done = run([GPUFLOOR, "report", f"--tex={own}/t", f"--plots={own}/p", *bundles], ROOT)
            ok(done.returncode == 0, f"{what}: the files are written", done.stdout)
            if has_latex:
                latex(what, f"{own}/t", what == "nvidia-h200")
                if what == "host":
                    unmeasured(f"{own}/t")
            else:
                skip(f"{what}: LaTeX", "no pdflatex with booktabs and siunitx")
            if has_gnuplot:
                gnuplot(what, f"{own}/p", what == "nvidia-h200")
            else:
                skip(f"{what}: figures", "no gnuplot")
    print(f"1..{n_tests}")


main()
