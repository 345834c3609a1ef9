#!/usr/bin/env python3
"""leftovers.py BUILD: a run that is killed in the middle of a write leaves NAME.json.PID.tmp or .PID.trial. A later run
into the same folder removes it, and says so in one line. It touches nothing else: what a living process
writes, what somebody holds, what is another's or only has such a name. A library makes the kill certain: it
kills the program at its N-th fsync(). Environment: CC."""
import fcntl
import os
import re
import subprocess
import sys
import tempfile

from common import Ended, check, finish, plant_tree, preloaded, read, write_text

KILLER = """#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int fsync(int descriptor)
{
    static int n;
    const char *at = getenv("KILL_AT");
    (void)descriptor;
    if (at && ++n == atoi(at))
        kill(getpid(), SIGKILL);
    return 0;
}
"""
REMOVED = re.compile(r"^removed (\S+?)(?: and (\d+) more)?, which (?:a run|runs) that (?:was|were) killed had left$", re.M)


class Folder:
    """A folder of bundles, and a gpufloor that measures by stand-ins."""

    def __init__(self, work, name):
        self.path = os.path.join(work, name)
        os.mkdir(self.path)
        self.work, self.program = work, os.path.join(work, "bin", "gpufloor")

    def run(self, *words, **environment):
        return Ended("run", "--rounds=2", "--seed=1", f"--results={self.work}/none", *words, program=self.program,
                     cwd=self.path, **environment)

    def killed(self, at, *words):
        return self.run(*words, LD_PRELOAD=f"{self.work}/kill.so", KILL_AT=str(at)).code

    def others(self):
        return sorted(name for name in os.listdir(self.path) if not name.endswith((".json", ".raw.tsv")))


def gone_pid():
    """Of a process that has ended."""
    with subprocess.Popen(["true"]) as child:
        child.wait()
        return child.pid


def check_killed(work):
    """At the trial, at the first document, and at that of each round."""
    seen = set()
    for at in range(1, 9):
        folder = Folder(work, f"killed-{at}")
        code, left = folder.killed(at, "-o", "one.json"), folder.others()
        if code == 0:
            break
        check(code == -9, f"fsync {at}: killed", code)
        ended = folder.run("-o", "two.json")
        said = REMOVED.findall(ended.err)
        check(ended.code == 0 and read(folder.path, "two.json")["complete"], f"fsync {at}: the next run measures", ended)
        check(not folder.others(), f"fsync {at}: nothing is left", folder.others())
        check([name for name, _ in said] == ["./" + name for name in left], f"fsync {at}: it says what it removed", ended)
        seen |= {name.rsplit(".", 1)[1] for name in left}
    check(at > 3 and seen == {"tmp", "trial"}, "kills left files of both kinds", f"{at} {seen}")
    folder = Folder(work, "twice")
    folder.killed(1, "-o", "one.json"), folder.killed(2, "-o", "one.json")
    left = folder.others()
    said = REMOVED.findall(folder.run("-o", "two.json").err)
    check(len(left) == 2 and [n for _, n in said] == ["1"] and not folder.others(), "two are removed in one line", said)


def check_continued(work):
    folder = Folder(work, "continued")
    for at in range(2, 9):
        folder.killed(at, "-o", "one.json")
        if folder.others() and os.path.exists(f"{folder.path}/one.json"):
            break
        for name in os.listdir(folder.path):
            os.unlink(f"{folder.path}/{name}")
    check(folder.others(), "a round was not written whole", os.listdir(folder.path))
    ended = Ended("run", f"--results={work}/none", "--continue=one.json", program=folder.program, cwd=folder.path)
    check(ended.code == 0 and not folder.others() and REMOVED.search(ended.err), "--continue clears up, too", ended)


def check_kept(work):
    """Names and files that are not such."""
    folder, gone = Folder(work, "kept"), gone_pid()
    document = '{"schema":"bundle"'
    with subprocess.Popen(["sleep", "60"]) as alive:
        kept = {f"a.json.{alive.pid}.tmp": document, f"a.json.{os.getpid()}.trial": "", "a.json.1.tmp": document,
                f"a.json.{gone}.tmp2": "", f"a.json.{gone}": "", f"a.{gone}.tmp": document, "a.json.tmp": document,
                f"a.json.{gone}x.tmp": document, f".json.{gone}.tmp": document, f"other.json.{gone}.tmp": '{"mine": 1}',
                f"b.raw.tsv.{gone}.tmp": "mine", f"a.json.9{gone:09}.tmp": document}
        for name, text in kept.items():
            write_text(os.path.join(folder.path, name), text)
        os.symlink("target", os.path.join(folder.path, f"link.json.{gone}.tmp"))
        os.mkdir(os.path.join(folder.path, f"folder.json.{gone}.tmp"))
        os.mkfifo(os.path.join(folder.path, f"fifo.json.{gone}.tmp"))
        if os.geteuid() == 0:  # only then is there another user's
            os.chown(write_text(os.path.join(folder.path, f"theirs.json.{gone}.tmp"), document), 12345, -1)
        held = write_text(os.path.join(folder.path, f"held.json.{gone}.tmp"), document)
        before = folder.others()
        with open(held, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            ended = folder.run("-o", "one.json")
            check(ended.code == 0 and folder.others() == before and not REMOVED.search(ended.err),
                  "nothing else is touched", sorted(set(before) ^ set(folder.others())))
        ended = folder.run("-o", "two.json")
        check(sorted(set(before) - set(folder.others())) == [os.path.basename(held)] and
              [name for name, _ in REMOVED.findall(ended.err)] == ["./" + os.path.basename(held)],
              "but what nobody holds any longer", sorted(set(before) ^ set(folder.others())))
        alive.kill()
    for name, text in ((f"x.json.{gone}.tmp", ""), (f"x.json.{gone}.trial", "\0" * 9),
                       (f"x.raw.tsv.{gone}.tmp", "probe\tm")):
        write_text(os.path.join(folder.path, name), text)
        folder.run("-o", name + ".json")
        check(name not in folder.others(), f"{name.replace(str(gone), 'PID')} of a process that is gone is removed")


def check_own_number(work):
    """In a container each run may be process 1: what one of its own number left gives way before the first write."""
    folder = Folder(work, "own")
    begin = """printf '\\0' >one.json.$$.trial; printf '{"schema":"' >one.json.$$.tmp
               printf '{"schema":"' >two.json.$$.tmp; printf 'probe\\t' >one.raw.tsv.$$.tmp; exec "$@" """
    ended = Ended("-c", begin, "sh", folder.program, "run", "--quick", "-o", "one.json", program="sh", cwd=folder.path)
    check(ended.code == 0 and read(folder.path, "one.json")["complete"], "what its own number left stops no run", ended)
    check(not folder.others() and len(REMOVED.findall(ended.err)) == 1, "nor stays there", [folder.others(), str(ended)])


def main():
    with tempfile.TemporaryDirectory() as work:
        plant_tree(os.path.join(work, "bin"), stand_ins=("null", "good"))
        preloaded(work, write_text(os.path.join(work, "kill.c"), KILLER))
        check_killed(work)
        check_continued(work)
        check_kept(work)
        check_own_number(work)
    return finish()


sys.exit(main())
