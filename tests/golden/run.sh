#!/bin/bash
# Golden tests of gpufloor: bundles in, text out.
#
#   tests/golden/run.sh BIN [--update]
#
# NAME.cmd holds the arguments, NAME.out what must come: stdout, then stderr with each line marked,
# then the exit status. --update rewrites the .out files; a person reads the diff.
set -u
bin=$(realpath "$1") update=${2:-}
cd "$(dirname "$0")" || exit 1
export LC_ALL=C.UTF-8 # a curve is drawn with blocks
passed=0 failed=0
got=$(mktemp) said=$(mktemp)
trap 'rm -f "$got" "$said"' EXIT

for cmd in *.cmd; do
    name=${cmd%.cmd}
    eval "set -- $(cat "$cmd")"
    "$bin" "$@" >"$got" 2>"$said" </dev/null
    status=$?
    sed 's/^/stderr: /' "$said" >>"$got"
    echo "exit $status" >>"$got"
    if [ "$update" = --update ]; then
        cmp -s "$got" "$name.out" || { cat "$got" >"$name.out"; echo "new  $name"; }
    elif diff -u "$name.out" "$got" --label "$name.out" --label got; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
