#!/bin/bash
# additions.sh BUILD: a new probe is one folder, a new fused operator one folder of at most six
# files, a new claim one entry and its test. Each of tests/additions/ is copied into a copy of the
# tree without a change to any other file. Then it is built, listed and run.
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
cp -a Makefile core probes matmul fused report tests "$tree/" || exit 1
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
