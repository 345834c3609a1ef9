#!/bin/bash
# additions.sh BUILD: a new probe is one folder, a new fused operator one folder of at most six
# files, a new claim one entry and its test. Each of tests/additions/ is copied into a copy of the
# tree without a change to any other file. Then it is built, listed and run. And the same probe as a draft:
# a run leaves it out unless it is named, and every list says so; a run that takes it all the same is seen.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
passed=0 failed=0 skipped=0

check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$tree/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        tail -n 12 "$tree/said" | cut -c1-200 | sed 's/^/    /'
    fi
}

# Keeps what is built: objects must be newer than the sources next to them.
cp -a Makefile core probes matmul fused links report tests "$tree/" || exit 1
mkdir "$tree/build" && (cd "$build" && cp -a core report tests core.a bin flags nvflags archs version_values.h \
    fused probes "$tree/build/" 2>/dev/null)
cp -a tests/additions/{probes,fused,report,tests} "$tree/" || exit 1
cd "$tree" || exit 1
make_it() {
    make -j2 --no-print-directory ARCH="$(cat build/archs 2>/dev/null || echo all)" "$@"
}

measures() { # the probe's own document says that it measured
    build/bin/probes/clock_read --json | grep -qE '"status": ?"ok"'
}
is_listed() { # is_listed ID
    build/bin/gpufloor list | grep -qF "$1"
}
check "a probe: one folder is built" make_it build/bin/probes/clock_read
check "a probe: it measures" measures
check "a probe: it is listed" is_listed "clock_read.time"
check "a probe: it joins a run" build/bin/gpufloor run --quick --output one.json clock_read
check "a claim: its entry and its test are built" make_it build/bin/gpufloor build/tests/unit/test_claims_clock_read
check "a claim: its test passes" build/tests/unit/test_claims_clock_read
is_told() { # in the ledger's text: a word, and a sentence of its own or why it cannot be told
    build/bin/gpufloor claims one.json | grep -qE '^Z01  (yes +A reading of the clock takes [0-9.]+ ns|can.t tell )'
}
is_found() { # by its quote
    build/bin/gpufloor claims one.json --search "READING THE CLOCK" | grep -q '^  Z01 '
}
check "a claim: it is in the ledger" is_told
check "a claim: its quote is found" is_found

# --- a draft ---------------------------------------------------------------------------------------------

mkdir probes/clock_draft
sed -e 's/clock_read/clock_draft/g' -e 's/^    \.method = 1,$/&\n    .draft = "its loop is not proved",/' \
    probes/clock_read/clock_read.c >probes/clock_draft/clock_draft.c
holds() { grep -qF -- "$1" said.md; } # what was listed last
lists() { # lists TEXT OPTION...: the list says it
    local text=$1
    shift
    build/bin/gpufloor list "$@" >said.md && holds "$text"
}
names_run() { # names_run PROBE...: the programs of a run without names, of which only these are there
    rm -rf two.json alone && mkdir -p alone/bin/probes && cp build/bin/gpufloor alone/bin/ &&
        cp build/bin/probes/{clock_read,clock_draft} alone/bin/probes/ &&
        alone/bin/gpufloor run --quick --output two.json "$@" &&
        ran=$(grep -oE '"probe": ?\{"name": ?"[a-z_]+"' two.json | grep -oE 'clock_[a-z]+' | sort -u | paste -sd' ')
}
is_left_out() { names_run && [ "$ran" = clock_read ]; }
runs_by_its_name() { names_run clock_draft && [ "$ran" = clock_draft ]; }
runs_beside() { names_run clock_draft clock_read && [ "$ran" = "clock_draft clock_read" ]; }
check "a draft: it is built" make_it build/bin/probes/clock_draft
check "a draft: a run leaves it out" is_left_out
check "a draft: its name runs it" runs_by_its_name
check "a draft: beside another one, too" runs_beside
check "a draft: the list says why" lists 'a draft, run only by its name: its loop is not proved'
check "a draft: one that is none is not said to be" test "$(build/bin/gpufloor list clock_read |
    grep -c 'a draft')" = 0
check "a draft: METRICS.md says why" lists 'A draft, run only by its name: its loop is not proved.' --format md
check "a draft: the questions say so" lists 'host; a draft' --questions
check "a draft: PROBES.md says so" lists '| host; a draft |' --questions --format md
check "a draft: JSON has the text" lists '"draft": "its loop is not proved"' --json clock_draft
check "a draft: JSON of another has none" test "$(build/bin/gpufloor list --json clock_read | grep -c draft)" = 0
check "a draft: it says so itself" eval 'build/bin/probes/clock_draft --list |
    grep -qxF "a draft, run only by its name: its loop is not proved"'
check "a draft: its run says why" grep -qE '"draft": ?"its loop is not proved"' two.json
is_seen() { # is_seen FILE PATTERN REPLACEMENT CHECK: a fault planted there, seen by the check
    cp -p "$1" kept.c && sed -i "s/$2/$3/" "$1" && ! cmp -s "$1" kept.c && make_it build/bin/gpufloor || return 1
    ! eval "$4" || return 1
    mv kept.c "$1" && touch "$1"
}
check "a planted fault is seen: a run takes drafts" is_seen report/cli/devices.c \
    ' && !program->is_draft;' ';' is_left_out
check "a planted fault is seen: no list is of drafts" is_seen report/cli/catalogue.c \
    'is_draft = .*;' 'is_draft = false;' "lists 'host; a draft' --questions"

check "an operator: at most six files" test "$(find fused/doubled -type f | wc -l)" -le 6
if [ -x build/bin/fused/norm ]; then
    check "an operator: one folder is built" make_it build/bin/fused/doubled
    check "an operator: it is listed, with its sizes" is_listed "doubled.share_of_copy"
    check "an operator: its contracts are held" build/tests/sass fused/doubled/doubled.cu \
        build/fused/doubled/doubled.sm_*.cubin
else
    skipped=$((skipped + 1))
    echo "skip an operator: this build has no GPU probes"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
