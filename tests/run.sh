#!/bin/bash
# run.sh BUILD [--long | --update]: every suite of the tests, one line each, failing tests named, and a
# last line `N passed, N failed, N skipped`. Exit 1 when anything failed. With --long it runs the
# campaigns that `make test` has no time for. With --update it rewrites what is generated (golden
# outputs, docs) instead: read the diff.
#
# A suite is a program: exit 0 passed, 77 skipped, anything else failed. It counts as one test unless
# it says more: TAP lines (`ok`, `not ok`), or a last line `N passed, N failed[, N skipped]`. A suite
# whose program is missing fails; nothing is left out in silence. What a suite says in a line `says: TEXT`
# stands behind its numbers. Output of each is kept in BUILD/tests/log/.
#
# SUITE_JOBS suites run at once, and one of them is of those that take longest, as long as there are
# such; lines come in the order of this file. What measures processor time runs alone, at the end.
# Ctrl-C ends all that runs.
#
# Each commit plants a third of the faults in kernels, by its number in the history, and the next commit the
# next third; `--long` plants all. TURN=N runs one of the four parts of --long, TURN=commit the one whose
# turn it is by that number, and there a fifth of the faults.
#
# Environment: NVCC (default: CUDA_HOME's, or the one in PATH; empty: none), FUZZ_SECONDS (60; with
# --long until 200000 mutants and 10000 command lines are tried, 4 hours at most, in a turn 600 s), FUZZ_SEED (1),
# SUITE_SECONDS (1800, with --long and no turn 15000: the longest that one suite may take), ONLY (a shell pattern, also
# @(A|B): only suites whose name matches; that none does is a failure), SUITE_JOBS (default: 2; on one
# core, or where a GPU is: 1).
set -u
shopt -s extglob
export PYTHONDONTWRITEBYTECODE=1 # the tree stays as it is

build=${1:?usage: run.sh BUILD [--long | --update]}
mode=${2:-}
case $mode in
'' | --long | --update) ;;
*) echo "run.sh: expected --long or --update, got '$mode'" >&2; exit 2 ;;
esac
case ${TURN:-commit} in
[1-4] | commit) ;;
*) echo "run.sh: TURN: expected 1, 2, 3, 4 or commit, got '$TURN'" >&2; exit 2 ;;
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
longest=${SUITE_SECONDS:-$([ "$mode" = --long ] && [ -z "${TURN:-}" ] && echo 15000 || echo 1800)}
number=$(git rev-list --count HEAD 2>/dev/null) || number=0 # of this commit
jobs=${SUITE_JOBS:-2}
[ -n "${SUITE_JOBS:-}" ] || { [ "$(nproc)" != 1 ] && [ ! -e /dev/nvidiactl ]; } || jobs=1
# A suite that runs suites itself takes one core.
[ "$jobs" = 1 ] || export SUITE_JOBS=1

# Those that take longest, longest first; and what must have the machine for itself.
long=" long/bare long/toolkits long/fuzz long/no_toolkit long/compilers long/aarch64
    contract/boards contract/telling fuzz contract/ci kernels/planted contract/doctored
    contract/compare states contract/probes shim "
alone=" contract/large contract/page long/planted "

line() { # line WORD NAME REMARK
    printf '%-5s %-22s %s\n' "$1" "$2" "$3"
}

wanted() {
    # shellcheck disable=SC2254 # a pattern
    case $1 in ${ONLY:-*}) matched=1 ;; *) return 1 ;; esac
}

# A suite has a number, in the order of this file: names[n], programs[n], began[n], status[n] when it has
# ended, whys[n] where it was skipped without being run.
names=() programs=() began=() status=() whys=() took=()
printed=0

suite() { # suite NAME PROGRAM ARGUMENT...
    wanted "$1" || return 0
    local n=${#names[@]}
    names[n]=$1
    shift
    programs[n]=$(printf '%q ' "$@")
}

skip() { # skip NAME WHY
    wanted "$1" || return 0
    local n=${#names[@]}
    names[n]=$1 whys[n]=$2 status[n]=77
}

log_of() { echo "$log/${names[$1]//\//-}.log"; }

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

# What suite N said, counted and in one line.
tell() { # tell N
    local name=${names[$1]} file good bad left remark says
    file=$(log_of "$1")
    if [ "${status[$1]}" = missing ]; then
        failed=$((failed + 1))
        line FAIL "$name" "missing: ${whys[$1]#"$root"/}"
        return
    fi
    if [ "${status[$1]}" = 77 ]; then
        skipped=$((skipped + 1))
        line skip "$name" "${whys[$1]-$(tail -n 1 "$file")}"
        return
    fi
    # shellcheck disable=SC2046 # three words
    read -r good bad left <<<$(counts "$file")
    if [ -z "$good" ] && [ "${status[$1]}" = 0 ]; then
        good=1
    fi
    good=${good:-0} bad=${bad:-0} left=${left:-0}
    if [ "${status[$1]}" != 0 ] && [ "$bad" = 0 ]; then
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
    [ "${took[$1]}" -lt 5 ] || remark="$remark, ${took[$1]} s"
    says=$(sed -n 's/^says: //p' "$file" | tail -n 1)
    [ -z "$says" ] || remark="$remark: $says"
    if [ "$bad" = 0 ] && [ "${status[$1]}" = 0 ]; then
        line ok "$name" "$remark"
        return
    fi
    [ "${status[$1]}" != 124 ] || remark="$remark, stopped after $longest s"
    line FAIL "$name" "$bad failed, $remark, exit ${status[$1]}; all of it in ${file#"$root"/}"
    # TAP explains a failure in lines that start with '#', the other suites in indented ones.
    if grep -Eq '^(not ok [0-9]|FAIL )' "$file"; then
        grep -E '^(not ok [0-9]|FAIL |    |# )' "$file" | grep -v '^# \(not \)\?ok' | head -n 40 |
            cut -c1-200 | sed 's/^/      /'
    else
        tail -n 15 "$file" | cut -c1-200 | sed 's/^/      /'
    fi
}

# --- running them -----------------------------------------------------------------------------------------

declare -A running=() # process: number

is_in() { [[ $1 == *[[:space:]]$2[[:space:]]* ]]; }

start() { # start N: in the background, where a shell would have SIGINT ignored
    local -a words
    eval "words=(${programs[$1]})"
    if [ ! -x "${words[0]}" ]; then
        status[$1]=missing whys[$1]=${words[0]}
        return
    fi
    began[$1]=$EPOCHSECONDS
    env --default-signal=INT,QUIT timeout -k 10 "$longest" "${words[@]}" >"$(log_of "$1")" 2>&1 </dev/null &
    running[$!]=$1
}

# The number of the suite that is to start now; nothing where there is none, or it has to wait.
next() {
    local n name busy=
    for n in "${running[@]}"; do
        ! is_in "$long" "${names[n]}" || busy=1
        ! is_in "$alone" "${names[n]}" || return 0
    done
    if [ -z "$busy" ] && [ "$jobs" != 1 ]; then
        for name in $long; do
            for n in "${!names[@]}"; do
                [ "${names[n]}" != "$name" ] || [ -n "${status[n]-}${began[n]-}" ] || { echo "$n"; return; }
            done
        done
    fi
    for n in "${!names[@]}"; do
        [ -n "${status[n]-}${began[n]-}" ] || is_in "$alone" "${names[n]}" || { echo "$n"; return; }
    done
    [ "${#running[@]}" = 0 ] || return 0
    for n in "${!names[@]}"; do
        [ -n "${status[n]-}${began[n]-}" ] || { echo "$n"; return; }
    done
}

run_all() {
    local n pid ended
    while :; do
        while [ "${#running[@]}" -lt "$jobs" ] && n=$(next) && [ -n "$n" ]; do
            start "$n"
        done
        while [ -n "${status[printed]-}" ]; do
            tell "$printed"
            printed=$((printed + 1))
        done
        [ "${#running[@]}" != 0 ] || [ -n "$(next)" ] || return 0
        [ "${#running[@]}" != 0 ] || continue
        ended=0
        wait -n -p pid "${!running[@]}" || ended=$?
        n=${running[$pid]}
        unset "running[$pid]"
        status[n]=$ended took[n]=$((EPOCHSECONDS - began[n]))
    done
}

stop() { # stop STATUS: timeout passes it on to all that its suite has started
    trap '' INT TERM HUP
    [ "${#running[@]}" = 0 ] || kill -TERM "${!running[@]}" 2>/dev/null
    wait
    echo "run.sh: interrupted" >&2
    exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM HUP

finish() {
    run_all
    if [ "$matched" = 0 ]; then
        failed=1
        line FAIL "ONLY=${ONLY:-}" "no suite has such a name"
    fi
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

# The largest bundle of each board: mutants begin with pieces of them.
largest() {
    for board in results/*/; do
        find "$board" -maxdepth 1 -name '*-1.json' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-
    done
}

fuzz() { # fuzz NAME SECONDS
    # shellcheck disable=SC2046 # names of our own, without spaces
    suite "$1" "$build/tests/fuzz" --seed "${FUZZ_SEED:-1}" --seconds "$2" --findings "$build/tests/findings" \
        tests/golden/*.json $(largest) results/*/counters/*.json
}

# --- the campaigns ---------------------------------------------------------------------------------------

if [ "$mode" = --long ]; then
    part=1/1
    [ "${TURN:-}" != commit ] || { TURN=$((number % 4 + 1)) part=$((number / 4 % 5 + 1))/5; }
    turn() { [ "${TURN:-$1}" = "$1" ]; }
    if turn 1; then
        # by hand until all is tried; where a commit takes its turn, for ten minutes
        fuzz long/fuzz "${FUZZ_SECONDS:-$([ -n "${TURN:-}" ] && echo 600 || echo 14400)}"
        suite long/fuzz_planted tests/fuzz/planted.py "$build"
        suite long/page tests/long/page.py "$build"
        suite long/papers tests/long/papers.py "$build"
        suite long/slurm tests/long/slurm.sh "$build"
    fi
    if turn 2; then
        # 8.6 and 8.9 have the code of 8.0 but for its schedule: contracts are held there, faults are not planted.
        if [ -n "$nvcc" ]; then
            suite long/planted tests/kernels/planted.py "$build/tests/sass" "$nvcc" "$part" \
                75 80 90a 100 120
        else
            skip long/planted "no nvcc: no kernel to inspect"
        fi
        suite long/kills tests/golden/kills.py "$gpufloor" 100
        suite long/alloc tests/contract/alloc.py "$build" 600
        suite long/faults tests/faults/faults.py "$build" --long
    fi
    if turn 3; then
        suite long/no_toolkit tests/long/no_toolkit.sh
        suite long/toolkits tests/long/toolkits.sh "$build"
        suite long/aarch64 tests/long/aarch64.sh "$build"
        suite long/compilers tests/long/compilers.sh
    fi
    if turn 4; then
        [ "${TURN:-}" != 4 ] || export SUITE_JOBS=$jobs # it has the machine for itself
        suite long/bare tests/bare --commands bookworm
    fi
    finish
fi

export CMOCKA_MESSAGE_OUTPUT=tap # cmocka: as the other suites

# --- the suites ------------------------------------------------------------------------------------------

for source in tests/unit/test_*.c; do
    stem=$(basename "$source" .c)
    suite "unit/${stem#test_}" "$build/tests/unit/$stem"
done

if [ -n "$nvcc" ]; then
    suite kernels/checker tests/kernels/run.sh "$build/tests/sass" "$nvcc"
    suite kernels/planted tests/kernels/planted.py "$build/tests/sass" "$nvcc" "$((number % 3 + 1))/3"
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
    common) ;; # what the others import
    docs) suite contract/docs "$program" "$gpufloor" ;;
    *) suite "contract/$stem" "$program" "$build" ;;
    esac
done
suite counters/names "$build/tests/names" "$build/bin/counters.so"
suite counters/command tests/counters/command.sh "$build"
suite states tests/states/run.sh "$build"
suite faults tests/faults/faults.py "$build"
suite faults/sizes tests/faults/sizes.py "$build"
suite faults/states tests/faults/states.py "$build"
fuzz fuzz "${FUZZ_SECONDS:-60}"
suite gpu tests/gpu/run.sh "$build/bin"
suite gpu/counters tests/gpu/counters.sh "$build/bin"
finish
