#!/usr/bin/env python3
"""names.py BUILD: a run without --output takes a name of its own, also where another program takes that name just
after the run has found it free. A library makes that certain: the N-th look for a file that is not there finds
none, and then makes it. Environment: CC."""
import os
import re
import sys
import tempfile

from common import Ended, check, finish, plant_tree, preloaded, read, write_text

# Old C libraries have lstat() only as __lxstat().
TAKER = """#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int look(const char *path, struct stat *facts)
{
    static int n;
    const char *at = getenv("TAKEN_AT");
    const int there = fstatat(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW), why = errno;
    const size_t length = strlen(path);
    if (there != 0 && at && length > 5 && !strcmp(path + length - 5, ".json") && ++n == atoi(at))
        close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
    errno = why;
    return there;
}
int lstat(const char *path, struct stat *facts) { return look(path, facts); }
int __lxstat(int version, const char *path, struct stat *facts) { return (void)version, look(path, facts); }
"""


def run(work, library, *words, at):
    return Ended("run", "--rounds=1", "--seed=1", f"--results={work}/none", *words, program=f"{work}/bin/gpufloor",
                 cwd=work, LD_PRELOAD=library, TAKEN_AT=str(at))


def main():
    with tempfile.TemporaryDirectory() as work:
        plant_tree(os.path.join(work, "bin"), stand_ins=("null", "good"))
        library = preloaded(work, write_text(os.path.join(work, "take.c"), TAKER))
        ended = run(work, library, at=1)
        wrote = re.search(r"^wrote (\S+-2\.json)$", ended.out + ended.err, re.M)
        check(ended.code == 0 and wrote, "a name that another takes meanwhile: the run takes the next", str(ended))
        if wrote:
            path = os.path.join(work, wrote[1])
            check(read(path)["complete"], "its bundle is whole", path)
            check(os.path.getsize(path.replace("-2.json", ".json")) == 0, "and what the other has made is left alone")
        ended = run(work, library, "--output", "one.json", at=1)
        check(ended.code == 2 and ended.err.endswith("one.json: cannot be written: File exists\n") and
              os.path.getsize(os.path.join(work, "one.json")) == 0,
              "a name that was asked for, and that another takes meanwhile, is refused", str(ended))
        ended = run(work, library, "--output", "two.json", at=99)
        check(ended.code == 0, "the library does nothing else", str(ended))
    return finish()


sys.exit(main())
