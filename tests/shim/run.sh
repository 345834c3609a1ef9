#!/bin/sh
# run.sh BUILD [TEST]: kernels on the CPU, under ASan and UBSan; see shim.h. Every test_*.cc must
# pass, and must fail with each planted fault that its first line names. Needs g++ and nothing of
# CUDA.
set -u
build=${1:?usage: run.sh BUILD [TEST]}
case $build in /*) ;; *) build=$PWD/$build ;; esac
cd "$(dirname "$0")/../.." || exit 2
cxx=${CXX:-g++}
command -v "$cxx" >/dev/null || { echo "no $cxx to compile kernels for the CPU"; exit 77; }
work=$build/tests/shim
mkdir -p "$work" || exit 2

if [ $# = 1 ]; then # all of them, two at a time
    printf '%s\n' tests/shim/test_*.cc | xargs -P 2 -I@ "$0" "$build" @ >"$work/all" 2>&1
    grep -v '^[0-9]* passed, ' "$work/all"
    awk '/^[0-9]+ passed, / { p += $1; f += $3; n++ }
        END { print p + 0 " passed, " f + 0 " failed"; exit f > 0 || n == 0 }' "$work/all"
    exit
fi

# ASan does not know the stack of a fiber; it says so once. So it must keep no stacks of its own.
export ASAN_OPTIONS=detect_stack_use_after_return=0:detect_leaks=0
source=$2 stem=$(basename "$2" .cc)
program=$work/$stem log=$work/$stem.log
passed=0
failed=0

fail() { # fail WHY
    failed=$((failed + 1))
    echo "FAIL $stem: $1"
    head -n 15 "$log" | sed 's/^/    /'
}

run() { # run [FAULT]: sets status
    status=0
    SHIM_FAULT=${1-} timeout 300 "$program" >"$log" 2>&1 || status=$?
}

if ! $cxx -std=c++17 -x c++ -O1 -g1 -D_GNU_SOURCE -Itests/shim -I. -w \
    -fno-strict-aliasing -ffp-contract=off -fsanitize=address,undefined \
    -fno-sanitize-recover=all -o "$program" "$source" -lm >"$log" 2>&1; then
    fail "does not compile"
else
    run
    if [ "$status" = 0 ]; then passed=$((passed + 1)); else fail "exit $status"; fi
    faults=$(sed -n '1s|^// faults: *||p' "$source")
    [ -n "$faults" ] || fail "its first line names no fault that it catches"
    for fault in $faults; do
        run "$fault"
        case $status in
        0) fail "passes with the fault '$fault' planted" ;;
        12[4-7]) fail "does not end with the fault '$fault' planted: exit $status" ;;
        *) passed=$((passed + 1)) ;;
        esac
    done
fi
echo "$passed passed, $failed failed"
