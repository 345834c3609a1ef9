#!/bin/bash
# no_toolkit.sh: `make` and `make test` in a copy of this tree from which no CUDA toolkit can be seen,
# as on most machines. What needs one must be skipped, and everything else must pass.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        tail -n 4 "$work/out" | cut -c1-200 | sed 's/^/    /'
    fi
}

mkdir "$work/tree"
tar --exclude=./build -cf - . | tar -C "$work/tree" -xf - || exit 1
cd "$work/tree" || exit 1
# A folder of PATH that holds an nvcc is left out, but for those that hold everything else, too.
kept=
while read -r -d : folder; do
    case $folder in */usr/bin | /bin) ;; *) [ ! -e "$folder/nvcc" ] || continue ;; esac
    kept=$kept${kept:+:}$folder
done <<<"$PATH:"
hidden() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u ONLY -u NVCC -u SUITE_SECONDS PATH="$kept" \
        CUDA_HOME=/nonexistent FUZZ_SECONDS=10 make --no-print-directory "$@" >"$work/out" 2>&1 </dev/null
}
last() { tail -n 1 "$work/out"; }
skips() { grep -q "^skip  *$1 .*$2" "$work/out"; }

check "make passes" hidden -j2
check "make says what it could not build" grep -q '^no CUDA toolkit: built the host probes' "$work/out"
check "it built no GPU probe" test ! -e build/bin/probes/memory_latency
# The suites in which a toolkit makes a difference: those of programs, of what is built and of what is skipped.
# long/bare runs every suite without one.
HERE='@(unit/*|kernels/*|golden|contract/@(additions|alloc|docs|install|leftovers|links|manual|needs|operators|peers'
HERE+='|probes|suites|tree)|counters/*|states|faults|faults/*|gpu|gpu/*)'
check "make test passes" hidden ONLY="$HERE" test
check "its last line is the count" grep -Eq '^[0-9]+ passed, 0 failed, [0-9]+ skipped$' <(last)
check "kernels are skipped" skips kernels/contracts nvcc
check "known answers of a GPU are skipped" skips gpu 'skipped: '
check "counters on a GPU are skipped" skips gpu/counters 'no GPU probes'
grep -A8 -E '^FAIL' "$work/out" | cut -c1-200 | sed 's/^/    /'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
