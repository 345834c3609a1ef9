#!/usr/bin/env python3
"""manual.py BUILD: the manual page and the completion for bash know what --help knows. Every option of
every command is in its part of the page, and the page has no other; the page renders without a warning
where groff or mandoc is. Bash, with the completion sourced, offers every command, option, value,
section and probe."""
import os
import re
import shutil
import subprocess
import sys

from common import BUILD, GOLDEN, GPUFLOOR, ROOT, check, finish, read_text, script, skip

PAGE = os.path.join(ROOT, "install/gpufloor.1")
COMPLETION = os.path.join(ROOT, "install/gpufloor.bash")


def said(*words):
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                            universal_newlines=True, env=dict(os.environ, LC_ALL="C"))
    return result.stdout


def options(*words):
    """The options of what --help prints: each begins a line, or follows a short one."""
    return set(re.findall(r"^ +(?:-\S, )?(--[a-z-]+)", said(*words, "--help"), re.M)) | \
        set(re.findall(r"^ +(-[^-\s])[, ]", said(*words, "--help"), re.M))


commands = re.findall(r"^  ([a-z]+) ", said(GPUFLOOR, "--help").split("Commands:\n")[1], re.M)
everywhere = options(GPUFLOOR)

# --- the page -------------------------------------------------------------------------------------------

page = read_text(PAGE)


def of_page(part):
    text = part.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    lines = [text.split("\n")[i + 1] for i, line in enumerate(text.split("\n")) if line == ".TP"]
    return {word for line in lines for word in re.findall(r"(?:^|, )(-[^-\s,]|--[a-z-]+)", line)}


check(re.findall(r"^\.SS (.*)$", page, re.M) == commands, "the page has every command", commands)
parts = {"": page.split(".SH OPTIONS\n")[1].split(".SH ")[0], "null": page.split(".SH PROGRAMS\n")[1].split(".SH ")[0]}
for command in commands:
    parts[command] = page.split(f".SS {command}\n")[1].split("\n.S")[0]
for name, part in parts.items():
    words = [os.path.join(BUILD, "bin/probes/null")] if name == "null" else [GPUFLOOR] + [name] * bool(name)
    expected = options(*words) - (everywhere if name else set())
    check(expected == of_page(part), f"the page has the options of '{name}', and no other",
          f"only --help: {expected - of_page(part)}; only the page: {of_page(part) - expected}")
check("--planted" in of_page(parts["run"] + "\n.TP\n\\fB\\-\\-planted\\fR\nx"), "a planted option is seen")
for program, words in (("groff", ["-man", "-Tutf8", "-ww", "-b", "-z"]), ("mandoc", ["-T", "lint", "-W", "warning"])):
    if shutil.which(program):
        warned = said(program, *words, PAGE)
        check(not warned, f"{program} has nothing to say", warned)
    else:
        skip(f"the page under {program}", "not installed")

# --- completion -----------------------------------------------------------------------------------------


def complete(*words):
    """What bash offers for the last word; "--a=b" are three words to it."""
    split = [part for word in words for part in re.split("(=)", word) if part or word == ""]
    script = (f"source '{COMPLETION}'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
              "_gpufloor; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return {word for word in said("bash", "-c", script, "-", GPUFLOOR, *split).split("\n") if word}


def expected_words(command, option):
    return set(said(GPUFLOOR, command, f"{option}=?").strip().split(" of ")[-1].replace(",", "").split())


check(complete("") == set(commands) | {"help"}, "commands are offered", complete(""))
check(complete("help", "c") == {one for one in commands if one.startswith("c")}, "of help, too")
for command in commands:
    long = {option for option in options(GPUFLOOR, command) if option.startswith("--")}
    offered = complete(command, "--")
    check({one.rstrip("=") for one in offered} == long, f"every option of {command} is offered",
          f"{long} against {offered}")
    for option, value in re.findall(r"(--[a-z-]+)=(\S*\|\S*)", said(GPUFLOOR, command, "--help")):
        check(complete(command, option + "=") == set(value.split("|")), f"values of {command} {option}")
        check(complete(command, option, "") == set(value.split("|")), f"values of {command} {option}, as a word of its own")
check(complete("report", "--section=") == expected_words("report", "--section"), "sections")
named = said(GPUFLOOR, "report", "--help").split("--section=NAME")[1].split("--short")[0]
check(not [name for name in expected_words("report", "--section") if not re.search(rf"\b{name}\b", named)],
      "the help names each section", named)
check(len(complete("report", "--section=")) > 10 and complete("report", "--section=me") == {"memory"}, "there are many")
check(complete("compare", "--allow=") == expected_words("compare", "--allow") >= {"ecc", "mig"}, "conditions", complete("compare", "--allow="))
check("stalls" in complete("counters", "--counters="), "sets of counters", complete("counters", "--counters="))
names = set(said(GPUFLOOR, "list", "--names").split())
for command in ("list", "run", "counters"):
    check(complete(command, "") == names and "null" in names, f"probes of {command}")
os.chdir(GOLDEN)
check("small.json" in complete("report", "sma") and "small.json" in complete("report", "--all", "small.j"), "bundles")
check("small.json" in complete("run", "--with=sma") and "small.json" in complete("run", "-o", "sma"), "files of an option")
check(complete("report", "--results", "resul") == {"results"}, "folders of an option", complete("report", "--results", "resul"))
sys.exit(finish())
