#!/usr/bin/env python3
"""compatibility.py GPUFLOOR [BUILD]: prints docs/COMPATIBILITY.md. Contracts are counted in the cubins of BUILD
(default: GPUFLOOR's) by BUILD/tests/sass; what programs need is what they say; boards are those of the committed
bundles. Of an architecture that BUILD was not last built for, the page keeps what it says: its cubins there may be of
other sources. `make test` builds all. Exit 1: contracts do not hold, and there is nothing to print before they do."""
import collections
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
GPUFLOOR = os.path.realpath(sys.argv[1])
BUILD = os.path.realpath(sys.argv[2]) if len(sys.argv) > 2 else os.path.dirname(os.path.dirname(GPUFLOOR))
os.chdir(ROOT)
PAGE = "docs/COMPATIBILITY.md"
NOBODY = "nobody yet"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def dotted(arch):
    """"9.0" for "90a"."""
    digits = arch.rstrip("a")
    return f"{digits[:-1]}.{digits[-1]}"


ARCHS = re.search(r"^ALL_ARCHS := (.*)$", read("Makefile"), re.M).group(1).split()
FLOOR = re.search(r"^floor=(.*)$", read("tests/deps.sh"), re.M).group(1)
TRIED = re.search(r"TOOLKIT_ARCHS:-([^}]*)\}\n", read("tests/long/toolkits.sh")).group(1).split()
TOOLKITS = [line.split("\t") for line in read("tests/long/toolkits.txt").splitlines() if not line.startswith("#")]


def table(head, rows, right=0):
    """Columns from `right` on hold numbers."""
    print("| " + " | ".join(head) + " |")
    print("|" + "".join("---:|" if right and i >= right else "---|" for i in range(len(head))))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def rows_of_page(section):
    """The table rows of a section of the page as it is, as lists of cells."""
    if not os.path.exists(PAGE):
        return []
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", read(PAGE), re.M | re.S)
    rows = [line.strip("| ").split(" | ") for line in text.group(1).splitlines() if line.startswith("| ")] if text else []
    return rows[1:]


# --- the cubins -----------------------------------------------------------------------------------------------

class Contracts:
    """Of every kernel: folder, name, architecture, whether it holds, and the instructions that it names."""

    def __init__(self):
        sources = sorted(path for folder in ("probes", "matmul", "fused", "links", "core")
                         for path in glob.glob(f"{folder}/*/*.cu") if folder != "core" or "/device/" in path)
        self.folders = sorted({os.path.dirname(path) for path in sources})
        sass = os.path.join(BUILD, "tests", "sass")
        built = read(os.path.join(BUILD, "archs")).split() if os.path.exists(sass) else []
        self.built = [arch for arch in ARCHS if arch in built]
        self.lines = []
        for path in sources if self.built else []:
            said = subprocess.run([sass, path] + [self.cubin(path, arch) for arch in self.built], text=True,
                                  stdout=subprocess.PIPE, check=False)
            if said.returncode > 1:
                sys.exit(said.returncode)  # it has said why
            for word, kernel, arch, rest in re.findall(r"^(ok|FAIL) +\S+ (\S+) sm_(\w+) +(.*)$", said.stdout, re.M):
                found = set(re.findall(r"\b([a-z]+)\d*(?:\.\w+)*=[1-9]", rest))
                self.lines.append((os.path.dirname(path), kernel, arch, word == "ok", found))

    @staticmethod
    def cubin(path, arch):
        return os.path.join(BUILD, f"{path[:-3]}.sm_{arch}.cubin")

    def broken(self):
        return [f"{folder}: {kernel} sm_{arch}" for folder, kernel, arch, holds, _ in self.lines if not holds]

    def cell(self, arch, folder=None):
        """How many hold; "-" for none."""
        return sum(line[2] == arch and folder in (None, line[0]) for line in self.lines) or "-"

    def not_everywhere(self, needs):
        """(folder, architectures, kernels, of how many, one of them, instructions that no contract has elsewhere)"""
        where, groups = collections.defaultdict(set), collections.defaultdict(list)
        for folder, kernel, arch, _, _ in self.lines:
            where[folder, kernel].add(arch)
        for (folder, kernel), archs in where.items():
            if len(archs) < len(ARCHS):
                groups[folder, tuple(arch for arch in ARCHS if arch in archs)].append(kernel)
        for (folder, archs), kernels in sorted(groups.items()):
            if archs == tuple(arch for arch in ARCHS if float(dotted(arch)) >= needs.get(folder, 0)):
                continue  # where its program runs at all
            mine = set().union(*[line[4] for line in self.lines if line[0] == folder and line[1] in kernels])
            elsewhere = set().union(*[line[4] for line in self.lines if line[2] not in archs])
            yield (folder, ", ".join(map(dotted, archs)), len(kernels), sum(key[0] == folder for key in where),
                   min(kernels), ", ".join(sorted(mine - elsewhere)).upper() or "-")


# --- bundles and programs ---------------------------------------------------------------------------------------

def bundles():
    found = []
    for path in sorted(glob.glob("results/*/*.json")):
        with open(path, encoding="utf-8") as file:
            bundle = json.load(file)
        if bundle.get("schema") == "bundle":  # results/schema/
            found.append(bundle)
    return found


def listed():
    return json.loads(subprocess.run([GPUFLOOR, "list", "--json"], capture_output=True, text=True,
                                     check=True).stdout)["probes"]


def folders():
    return {path.split("/")[1]: os.path.dirname(path) for path in glob.glob("*/*/*.c")}


def differences():
    """(kernels, compute capabilities, words, why) that toolkits.txt lists for 12.8."""
    where, rows = collections.defaultdict(list), collections.defaultdict(list)
    for kind, _, kernel, arch, *rest in TOOLKITS:
        if kind == "difference":
            where[(kernel, *rest)].append(arch)
    for (kernel, *rest), archs in where.items():
        rows[(", ".join(dotted(arch) for arch in ARCHS if arch in archs), *rest)].append(kernel)
    return [(", ".join(kernels), *key) for key, kernels in sorted(rows.items())]


def need_of(probe):
    """As a cell: the lowest compute capability, or that no GPU is needed."""
    need = {"host": "no GPU", "gpu if any": "no GPU"}.get(probe["needs"])
    return need or dotted(str(probe["min_cc"] or ARCHS[0]))


def said_of_architectures():
    """(program, what it says): the reasons for a case left out that name a compute capability."""
    for path in sorted(glob.glob("*/*/*.c")):
        if path.split("/")[0] in ("probes", "matmul", "fused", "links"):
            for text in re.findall(r'"(?:[^"\\\n]|\\.|"\s*")*"', read(path)):
                text = re.sub(r'"\s*"', "", text).strip('"')
                if re.search(r"compute capability \d", text):
                    yield path.split("/")[1], text


def findings():
    """What FINDINGS.md says of an architecture, in its own headlines."""
    for text in re.findall(r"^\*\*(.+?)\*\*", read("docs/FINDINGS.md"), re.M | re.S):
        if re.search(r"\b(on|of) (7\.5|8\.[069]|9\.0|10\.0|12\.0)\b", text):
            yield " ".join(text.split())


# --- the page ------------------------------------------------------------------------------------------------------

def architectures(contracts, measured):
    kept = {row[0]: row for row in rows_of_page("Architectures")}
    for arch in ARCHS:
        mine = [b for b in measured if b["environment"]["gpu"]["cc"] == dotted(arch)]
        tried = " ".join(kit[1] for kit in TOOLKITS if kit[0] == "toolkit" and kit[2] != "refused" and arch in TRIED)
        yield (dotted(arch), f"sm_{arch}",
               contracts.cell(arch) if arch in contracts.built else kept.get(dotted(arch), ["?"] * 3)[2], tried or "-",
               " ".join(sorted({re.search(r"nvcc ([0-9.]+)", b["suite"]["build"]).group(1) for b in mine})) or NOBODY,
               len({b["environment"]["gpu"]["name"] for b in mine}) or NOBODY)


def programs(contracts, measured, boards):
    kept = {row[0]: row for row in rows_of_page("Programs")}
    listing = {probe["name"]: probe for probe in listed()}
    rows = [(name, need_of(probe), folders()[name]) for name, probe in listing.items()]
    rows += [(folder, "-", folder) for folder in contracts.folders if folder.endswith("/common")]
    for name, need, folder in rows:
        cells = [contracts.cell(arch, folder) if arch in contracts.built else
                 kept.get(name, ["?"] * (2 + len(ARCHS)))[2 + i] for i, arch in enumerate(ARCHS)]
        runs = [sum(any(r["probe"]["name"] == name and r["status"] == "ok" for r in b["runs"]) for b in measured
                    if b["environment"]["gpu"]["name"] == board) or "-" for board in boards]
        yield [name, need] + cells + runs


def main():
    contracts, measured = Contracts(), bundles()
    if contracts.broken():
        sys.exit(f"{len(contracts.broken())} contracts do not hold, the first of {contracts.broken()[0]}")
    needs = {folders()[probe["name"]]: (probe["min_cc"] or 0) / 10 for probe in listed()}
    boards = sorted({b["environment"]["gpu"]["name"] for b in measured})
    print("# Compatibility\n\nGenerated by `tests/compatibility.py` from the cubins and their contracts, what programs "
          "say of themselves,\nand the committed bundles.\n\n## Architectures\n")
    print(f"The build needs a CUDA Toolkit of {FLOOR} or newer. `make test` compiles for all seven with the toolkit of "
          "the\nmachine. No PTX is embedded: a program runs where one of these cubins does, and says so where none does.\n"
          "A contract says what ptxas must have made of a kernel (`tests/kernels/sass.c`).\n")
    table(["compute capability", "cubin", "contracts that hold", "compiled by `make test-long`", "nvcc of bundles", "boards"],
          architectures(contracts, measured))
    print("\n## Boards\n")
    table(["board", "compute capability", "driver", "cards", "bundles", "commits", "newest"],
          [(board, *[" ".join(sorted(set(map(of, mine)))) for of in
                     (lambda b: b["environment"]["gpu"]["cc"], lambda b: b["environment"]["driver"]["version"])],
            len({b["environment"]["gpu"]["id_hash"] for b in mine}), len(mine),
            " ".join(sorted({b["suite"]["commit"][:7] for b in mine})), max(b["started"][:10] for b in mine))
           for board in boards for mine in [[b for b in measured if b["environment"]["gpu"]["name"] == board]]])
    print("\n## Programs\n\nContracts that hold, by compute capability, of the kernels in the program's folder; `-`: no "
          "contracted kernel there.\nThe last columns count the bundles that hold a good run of it.\n")
    table(["program", "needs"] + list(map(dotted, ARCHS)) + boards, programs(contracts, measured, boards), 2)
    print("\n## Kernels of some architectures\n\nAll other kernels are built wherever their program runs. Named are instructions that "
          "no contract has elsewhere: HGMMA, IGMMA and\nQGMMA are wgmma, LDGSTS is cp.async, UBLKCP and UTMALDG are bulk "
          "copies.\n")
    table(["folder", "built for", "kernels", "of", "for example", "instructions"],
          contracts.not_everywhere(needs) if contracts.built == ARCHS else rows_of_page("Kernels of some architectures"))
    print("\n## Known limits\n\n`make test-long` compiles with toolkits from PyPI: "
          f"{', '.join(kit[1] + ' (' + kit[2] + ')' for kit in TOOLKITS if kit[0] == 'toolkit')}.\nPyPI has no nvcc of "
          "CUDA 12. In its place libnvrtc compiles for 12.8, which is not nvcc in all: the bounds of other\ninstructions "
          "are not held to there. Further contracts that do not hold then:\n")
    table(["kernels", "compute capability", "words", "why"], differences())
    print("\nWhat programs say where a case is left out:\n")
    table(["program", "says"], sorted(set(said_of_architectures())))
    for text in findings():
        print(f"\nMeasured ([FINDINGS](FINDINGS.md)): {text}")
    print("""
## 64-bit Arm

The host part is built for aarch64 by `make test-long`, without a warning. Under qemu its unit tests pass, but
for one that is too slow there and two that start themselves, and `gpufloor report` prints the same bytes as on x86-64.
`make CC=aarch64-linux-gnu-gcc` builds it anywhere. Kernels for Arm hosts (GH200, GB200: 9.0 and 10.0) are the same cubins. The CUDA part was built and run on none:
untested. Jetson (7.2, 8.7, 11.0) is not supported: nobody has tried the cubins of 8.0 on it.""")


main()
