#!/usr/bin/env python3
"""ci_run.py BUILD: .ci/run on a stand-in for `make`: what it calls and with what environment, how it sums the
last lines of both targets, what counts as a failure, and that the quarter of `make test-long` is left out where
`make test` took an hour. The hour has passed before it begins: bash takes SECONDS from the environment."""
import os
import shutil
import sys
import tempfile

from common import ROOT, Ended, check, finish, read_text, script, write_text

TEST, LONG = "5 passed, 0 failed, 2 skipped", "40 passed, 0 failed, 1 skipped"
LEFT_OUT = "make test took {} s: test-long is left out"
HOUR = 3600


class Place:
    """A tree with nothing but .ci/run, and a `make` that says the words chosen for its target."""

    def __init__(self, folder):
        self.tree, self.bin, self.temporary = (os.path.join(folder, name) for name in ("a tree", "bin", "tmp"))
        for path in (os.path.join(self.tree, ".ci"), self.bin, self.temporary):
            os.makedirs(path)
        shutil.copy(os.path.join(ROOT, ".ci", "run"), os.path.join(self.tree, ".ci"))
        script(os.path.join(self.bin, "make"), 'echo "$PWD: $* TURN=$TURN WERROR=$WERROR" >>calls; . "./$1"')

    def run(self, test, test_long="exit 9", seconds=0):
        """How it ended, with `make` and `make test-long` in bash; .calls is what was called."""
        write_text(os.path.join(self.tree, "test"), test)
        write_text(os.path.join(self.tree, "test-long"), test_long)
        write_text(os.path.join(self.tree, "calls"), "")
        ended = Ended(program=os.path.join(self.tree, ".ci", "run"), cwd="/", PATH=self.bin + ":" + os.environ["PATH"],
                      SECONDS=str(seconds), TMPDIR=self.temporary, TURN="1", WERROR="")
        ended.calls = read_text(self.tree, "calls").splitlines()
        ended.lines = ended.out.splitlines() or [""]
        return ended

    def called(self, *targets):
        return [f"{self.tree}: {target} TURN=commit WERROR=-Werror" for target in targets]


def says(line, then="exit 0"):
    return f"echo '{line}'; {then}"


def check_sums(place):
    ended = place.run(says(TEST), says(LONG))
    check(ended.calls == place.called("test", "test-long"),
          "both targets are called, where the tree is, for the commit's turn, with warnings as errors", ended.calls)
    check(ended.code == 0 and ended.lines == [TEST, LONG, "45 passed, 0 failed, 3 skipped"], "both are summed", ended)
    check(not os.listdir(place.temporary), "nothing stays", os.listdir(place.temporary))
    ended = place.run("echo 'ok unit 9 passed'; echo '7 passed, 7 failed, 7 skipped'; echo '  8 passed, 8 failed, 8 skipped'; "
                      f"echo out; echo error >&2; {says(TEST)}", says(LONG))
    check(ended.code == 0 and ended.lines[-1] == "45 passed, 0 failed, 3 skipped", "of each the last line counts", ended)
    check({"out", "error"} <= set(ended.lines), "what make says is seen", ended)


def check_hour(place):
    for seconds in (HOUR + 1, 5 * HOUR):
        ended = place.run(says(TEST), seconds=seconds)
        said = [LEFT_OUT.format(seconds + late) for late in range(120)]  # a slow machine's seconds count, too
        check(ended.calls == place.called("test"), f"{seconds} s: test-long is not called", ended.calls)
        check(ended.code == 0 and len(ended.lines) == 3 and ended.lines[1] in said, f"{seconds} s: a line says so", ended)
        check(ended.lines[-1] == "5 passed, 0 failed, 3 skipped", f"{seconds} s: one more is skipped", ended)
    ended = place.run(says("4 passed, 1 failed, 0 skipped", "exit 2"), seconds=HOUR + 1)
    check(ended.code == 1 and ended.lines[-1] == "4 passed, 1 failed, 1 skipped", "what failed in that hour fails", ended)
    ended = place.run(says(TEST), says(LONG), seconds=HOUR // 2)
    check(ended.code == 0 and ended.calls == place.called("test", "test-long"), "half an hour leaves nothing out", ended)


FAILURES = {  # what a target does: the count that is due where the other one passes nothing
    "failures": (says("3 passed, 2 failed, 1 skipped", "exit 2"), "3 passed, 2 failed, 1 skipped"),
    "failures, and exit 0": (says("3 passed, 2 failed, 1 skipped"), "3 passed, 2 failed, 1 skipped"),
    "exit 1 without failures": (says("3 passed, 0 failed, 1 skipped", "exit 1"), "3 passed, 1 failed, 1 skipped"),
    "no last line": ("echo 'cc: not found'; exit 2", "0 passed, 1 failed, 0 skipped"),
    "no last line, and exit 0": ("exit 0", "0 passed, 1 failed, 0 skipped"),
    "half a last line": (says("3 passed, 0 failed", "exit 2"), "0 passed, 1 failed, 0 skipped"),
    "killed": ("echo begins; kill -KILL $$", "0 passed, 1 failed, 0 skipped"),
}


def check_failures(place):
    nothing = says("0 passed, 0 failed, 0 skipped")
    for what, (does, due) in FAILURES.items():
        for target, words in (("test", (does, nothing)), ("test-long", (nothing, does))):
            ended = place.run(*words)
            check(ended.code == 1 and ended.lines[-1] == due and len(ended.calls) == 2, f"{target}: {what}", ended)
    ended = place.run(FAILURES["failures"][0], FAILURES["killed"][0])
    check(ended.code == 1 and ended.lines[-1] == "3 passed, 3 failed, 1 skipped", "failures of both are summed", ended)


def main():
    with tempfile.TemporaryDirectory() as work:
        place = Place(work)
        check_sums(place)
        check_hour(place)
        check_failures(place)
    return finish()


sys.exit(main())
