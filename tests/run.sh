#!/bin/sh
# run.sh BUILD [--long | --update]: every suite of the tests, one line each, failing tests named, and a
# last line `N passed, N failed, N skipped`. Exit 1 when anything failed. With --long it runs the
# campaigns that `make test` has no time for. With --update it rewrites what is generated (golden
# outputs, docs) instead: read the diff.
#
# A suite is a program: exit 0 passed, 77 skipped, anything else failed. It counts as one test unless
# it says more: TAP lines (`ok`, `not ok`), or a last line `N passed, N failed[, N skipped]`. A suite
# whose program is missing fails; nothing is left out in silence. Output of each is kept in
# BUILD/tests/log/.
#
# Environment: NVCC (default: CUDA_HOME's, or the one in PATH; empty: none), FUZZ_SECONDS (60; 300 with
# --long), SUITE_SECONDS (600; 1500 with --long: the longest that one suite may take), ONLY (a shell
# pattern: only suites whose name matches; that none does is a failure).
set -u

build=${1:?usage: run.sh BUILD [--long | --update]}
mode=${2:-}
case $mode in
'' | --long | --update) ;;
*) echo "run.sh: expected --long or --update, got '$mode'" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.." || exit 2
root=$PWD
case $build in /*) ;; *) build=$root/$build ;; esac
[ -d "$build" ] || { echo "run.sh: no folder $build; run make first" >&2; exit 2; }

gpufloor=$build/bin/gpufloor
log=$build/tests/log
mkdir -p "$log" || exit 2
# The Makefile says which nvcc it built with, if any; by hand, the usual places are looked at.
nvcc=${NVCC-$(ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null || command -v nvcc)}

if [ "$mode" = --update ]; then
    status=0
    tests/golden/run.sh "$gpufloor" --update || status=1
    tests/contract/docs.sh "$gpufloor" --update || status=1
    exit $status
fi

passed=0
failed=0
skipped=0
matched=0
longest=${SUITE_SECONDS:-600}
[ "$mode" != --long ] || longest=${SUITE_SECONDS:-1500}

line() { # line WORD NAME REMARK
    printf '%-5s %-22s %s\n' "$1" "$2" "$3"
}

wanted() {
    # shellcheck disable=SC2254 # a pattern
    case $1 in ${ONLY:-*}) matched=1 ;; *) return 1 ;; esac
}

skip() { # skip NAME WHY
    wanted "$1" || return 0
    skipped=$((skipped + 1))
    line skip "$1" "$2"
}

# Numbers that a suite's output gives for itself: "passed failed skipped", or nothing.
counts() {
    awk '
        /^1\.\.[0-9]+/  { planned += substr($1, 4); plan = 1 }
        /^ok [0-9]/     { tap++; if (/# *[Ss][Kk][Ii][Pp]/) skip++; else good++ }
        # cmocka 1.1.5 writes a skipped test as "not ok N # SKIP name".
        /^not ok [0-9]/ { tap++; if (/# *[Ss][Kk][Ii][Pp]/) skip++; else bad++ }
        /^[0-9]+ passed, [0-9]+ failed/ { p = $1; f = $3; s = /skipped/ ? $5 : 0; said = 1 }
        END {
            # A program that died half-way through its plan owes the rest.
            if (planned > tap) bad += planned - tap
            if (said) print p + 0, f + 0, s + 0
            else if (tap || plan) print good + 0, bad + 0, skip + 0
        }' "$1"
}

suite() { # suite NAME PROGRAM ARGUMENT...
    name=$1
    wanted "$name" || return 0
    shift
    file=$log/$(echo "$name" | tr / -).log
    if [ ! -x "$1" ]; then
        failed=$((failed + 1))
        line FAIL "$name" "missing: ${1#"$root"/}"
        return
    fi
    began=$(date +%s)
    status=0
    timeout -k 10 "$longest" "$@" >"$file" 2>&1 </dev/null || status=$?
    took=$(($(date +%s) - began))

    if [ "$status" = 77 ]; then
        skip "$name" "$(tail -n 1 "$file")"
        return
    fi
    # shellcheck disable=SC2046 # three words
    set -- $(counts "$file")
    if [ $# = 0 ] && [ "$status" = 0 ]; then
        set -- 1 0 0
    fi
    good=${1:-0} bad=${2:-0} left=${3:-0}
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
        bad=1
    fi
    if [ "$((good + bad + left))" = 0 ]; then
        bad=1 # a suite without a test is none
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + left))

    remark="$good passed"
    [ "$left" = 0 ] || remark="$remark, $left skipped"
    [ "$took" -lt 5 ] || remark="$remark, $took s"
    if [ "$bad" = 0 ] && [ "$status" = 0 ]; then
        line ok "$name" "$remark"
        return
    fi
    [ "$status" != 124 ] || remark="$remark, stopped after $longest s"
    line FAIL "$name" "$bad failed, $remark, exit $status; all of it in ${file#"$root"/}"
    # TAP explains a failure in lines that start with '#', the other suites in indented ones.
    if grep -Eq '^(not ok [0-9]|FAIL )' "$file"; then
        grep -E '^(not ok [0-9]|FAIL |    |# )' "$file" | grep -v '^# \(not \)\?ok' | head -n 40 |
            cut -c1-200 | sed 's/^/      /'
    else
        tail -n 15 "$file" | cut -c1-200 | sed 's/^/      /'
    fi
}

finish() {
    if [ "$matched" = 0 ]; then
        failed=1
        line FAIL "ONLY=${ONLY:-}" "no suite has such a name"
    fi
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

# --- the campaigns ---------------------------------------------------------------------------------------

if [ "$mode" = --long ]; then
    suite long/fuzz "$build/tests/fuzz" "${FUZZ_SECONDS:-300}" "$(date +%s)" tests/golden/*.json
    suite long/kills tests/golden/kills.py "$gpufloor" 100
    if [ -n "$nvcc" ]; then
        suite long/planted tests/kernels/planted.py "$build/tests/sass" "$nvcc" 75 80 86 89 90a 100 120
    else
        skip long/planted "no nvcc: no kernel to inspect"
    fi
    suite long/page tests/long/page.py "$build"
    suite long/no_toolkit tests/long/no_toolkit.sh
    suite long/compilers tests/long/compilers.sh
    suite long/papers tests/long/papers.py "$build"
    suite long/bare tests/bare --commands bookworm
    finish
fi

# --- the suites ------------------------------------------------------------------------------------------

for source in tests/unit/test_*.c; do
    stem=$(basename "$source" .c)
    CMOCKA_MESSAGE_OUTPUT=tap suite "unit/${stem#test_}" "$build/tests/unit/$stem"
done

if [ -n "$nvcc" ]; then
    suite kernels/checker tests/kernels/run.sh "$build/tests/sass" "$nvcc"
    suite kernels/planted tests/kernels/planted.py "$build/tests/sass" "$nvcc"
    suite kernels/contracts tests/kernels/contracts.sh "$build/tests/sass" "$build"
else
    skip kernels/checker "no nvcc: no kernel to inspect"
    skip kernels/planted "no nvcc: no kernel to inspect"
    skip kernels/contracts "no nvcc: no kernel to inspect"
fi

suite shim tests/shim/run.sh "$build"
suite golden tests/golden/run.sh "$gpufloor"
suite golden/session tests/golden/session.sh "$gpufloor"
suite golden/lost tests/golden/lost.sh "$gpufloor"
suite golden/kills tests/golden/kills.py "$gpufloor"
for program in tests/contract/*.sh tests/contract/*.py; do
    stem=$(basename "${program%.*}")
    case $stem in
    docs) suite contract/docs "$program" "$gpufloor" ;;
    *) suite "contract/$stem" "$program" "$build" ;;
    esac
done
suite counters/names "$build/tests/names" "$build/bin/counters.so"
suite counters/command tests/counters/command.sh "$build"
suite states tests/states/run.sh "$build"
suite fuzz "$build/tests/fuzz" "${FUZZ_SECONDS:-60}" "$(date +%s)" tests/golden/*.json
suite gpu tests/gpu/run.sh "$build/bin"
suite gpu/counters tests/gpu/counters.sh "$build/bin"
finish
