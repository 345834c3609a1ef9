#!/usr/bin/env python3
"""man.py GPUFLOOR: prints the manual page gpufloor.1, in the macros of man(7). Commands and options are
those of --help. `make test-update` writes it to install/gpufloor.1; tests/contract/docs.sh and
tests/contract/manual.py hold it."""
import os
import re
import subprocess
import sys

GPUFLOOR = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# One line for each option, and none that is folded.
ENVIRONMENT = dict(os.environ, LC_ALL="C", ARGP_HELP_FMT="rmargin=4000,opt-doc-col=60")
OPTION = re.compile(r"^ {2,6}(?:-(?P<short>\S)(?:, )?)?(?:--(?P<long>[a-z-]+)(?:=(?P<value>\S+))?)?(?: {2,}(?P<doc>.*))?$")
MONTHS = ("January February March April May June July August September October November "
          "December").split()

HEAD = """.\\" Written by install/man.py: make test-update.
.TH GPUFLOOR 1 {date} "gpufloor {version}" "User Commands"
.SH NAME
gpufloor \\- how fast can an NVIDIA GPU possibly answer
.SH SYNOPSIS
.B gpufloor
.I COMMAND
.RI [ ARGUMENT ...]
.br
.B gpufloor help
.RI [ COMMAND ]
.SH DESCRIPTION
gpufloor measures each thing that an answer of a GPU is made of: a load, a barrier, a launch, a small
product, a fused operator.
Small programs measure, each in a process of its own;
.B gpufloor run
runs them in rounds, and writes one file, a bundle.
The other commands read bundles: they report, compare, and judge published claims.
.PP
Results go to standard output, talk to standard error.
A bundle that is named
.B \\-
is read from standard input.
A folder in place of a bundle stands for each program's newest measurement in it.
.PP
The beginning of a long option is enough where no other option begins so.
Options of which one would have no effect are refused.
"""

TAIL = """.SH EXIT STATUS
.TP
.B 0
Fine. Also of
.B gpufloor run
where nothing that was asked for can be measured here; see
.BR \\-\\-require\\-gpu .
.TP
.B 1
A program failed, a metric is slower, a check does not hold.
.TP
.B 2
A wrong option, or a file that cannot be read or written.
.TP
.B 77
No GPU, or it cannot be measured or counted here.
.SH ENVIRONMENT
.TP
.B TMPDIR
A bundle whose place cannot be written at the end goes there; else to
.IR /tmp .
.TP
.B COLUMNS
Columns of a text that is not printed to a terminal, from 60 on, where a command wraps it.
.SH FILES
What belongs to gpufloor is found from the program's own place, PREFIX/bin:
.TP
.I PREFIX/libexec/gpufloor
The programs that measure, in the folders
.IR probes ,
.I matmul
and
.IR fused ;
the plugins for cuBLAS and for hardware counters; programs in Python that join a run.
.TP
.I PREFIX/share/gpufloor/results
Committed results, a folder for each board.
.TP
.I PREFIX/share/doc/gpufloor
How a number is measured, how to read one, all metrics, all claims.
.TP
.I gpufloor\\-run/
Bundles of an installed gpufloor, in the folder where it was started; those of a source tree go to its
.IR build/run/ .
.SH EXAMPLES
.TP
Measure this machine; ten minutes on an H200:
.B gpufloor run
.TP
Two programs, one round, into one file:
.B gpufloor run \\-\\-quick \\-\\-output=new.json memory_latency launch
.TP
The answers of a bundle:
.B gpufloor report new.json
.TP
Did a change matter?
.B gpufloor compare old.json new.json
.TP
A bundle that was packed:
.B zcat old.json.gz | gpufloor report \\-
.SH SEE ALSO
.IR PREFIX/share/doc/gpufloor/README.md ,
.BR nvidia\\-smi (1)
"""


def said(*words):
    return subprocess.run(words, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def paragraph(text):
    """Sentences, each on a line."""
    return "\n".join(escape(line) for line in re.sub(r"([.:;]) (?=[A-Z])", r"\1\n", text).split("\n"))


def options(lines):
    """Of what --help prints. An option without a description shares that of the next."""
    for line in lines:
        found = OPTION.match(line)
        if not found or not (found["short"] or found["long"]):
            continue
        names = [f"\\fB\\-{escape(found['short'])}\\fR"] if found["short"] else []
        if found["long"]:
            value = f"=\\fI{escape(found['value'])}\\fR" if found["value"] else ""
            names.append(f"\\fB\\-\\-{escape(found['long'])}\\fR{value}")
        yield ", ".join(names), found["doc"] or ""


def section(program, *words):
    """Usage, description, options, and what follows them, of one --help."""
    lines = said(program, *words, "--help").split("\n")
    first = next(i for i, line in enumerate(lines) if OPTION.match(line) and line.strip())
    last = max(i for i, line in enumerate(lines) if OPTION.match(line) and line.strip())
    head = [line for line in lines[1:first] if line]
    tail = [line for line in lines[last + 1:] if line and not line.startswith("Mandatory or optional")]
    usage = lines[0][len("Usage: "):].replace(" [OPTION...]", "")
    return usage, head, list(options(lines[first:last + 1])), tail


def print_options(found, besides=()):
    for names, doc in (one for one in found if one not in besides):
        print(".TP\n" + names)
        print(paragraph(doc) if doc else "\\&")


def released():
    """The date of the newest version, as man(7) has it."""
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        day, month, year = re.search(r"^## [0-9.]+, (\d+) (\w+) (\d{4})$", file.read(), re.M).groups()
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"


def main():
    version = said(GPUFLOOR, "--version").split()[1]
    whole = said(GPUFLOOR, "--help").split("Commands:\n")[1].split("\n\n")[0]
    commands = [line.split()[0] for line in whole.split("\n") if line.startswith("  ")]

    print(HEAD.format(date=released(), version=version), end="")
    print(".SH OPTIONS\nEach command, and each program that measures, takes these:")
    everywhere = section(GPUFLOOR)[2]
    print_options(everywhere)
    print(".SH COMMANDS")
    for command in commands:
        usage, head, found, tail = section(GPUFLOOR, command)
        print(f".SS {command}\n.B {escape(usage)}\n.PP")
        for text in head:
            print(paragraph(text))
        print_options(found, everywhere)
        for text in tail:
            print(".PP\n" + paragraph(text))
    probe = os.path.join(os.path.dirname(GPUFLOOR), "probes", "null")
    print(".SH PROGRAMS\nEach program that measures can be run by hand, and has these options:")
    _, _, found, tail = section(probe)
    print_options(found, everywhere)
    for text in tail:
        print(".PP\n" + paragraph(text))
    print(TAIL, end="")


main()
