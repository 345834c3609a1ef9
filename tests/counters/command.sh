#!/bin/bash
# command.sh BUILD: runs `gpufloor counters` against stand-in probes. Checks what it prints, what it
# writes, and how it exits when there is no GPU, when counters are refused, when a probe fails or is
# used wrongly. Also runs the probes themselves where there is no GPU.
set -u
build=$(realpath "$1") here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin/probes"
cp "$build/bin/gpufloor" "$work/bin/gpufloor"
for name in good launch nogpu refused crash failing picky; do
    ln -s "$here/fake_probe.sh" "$work/bin/probes/$name"
done
export FAKE_LOG=$work/log CUDA_VISIBLE_DEVICES=
cd "$work" || exit 1
passed=0 failed=0 skipped=0

count() { # count ARGUMENT...: into one.json
    rm -f one.json log talk out
    touch log
    bin/gpufloor counters --output one.json "$@" >out 2>talk </dev/null
    status=$?
}
check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >check 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what: $*"
        tail -n 5 check talk 2>/dev/null | sed 's/^/    /'
    fi
}
exits() { [ "$status" = "$1" ] || { echo "exit $status"; false; }; }
says() { grep -q -- "$1" talk; }
lines() { [ "$(wc -l <"$1")" = "$2" ]; }
called() { grep -qx -- "$1" log; }
holds() { # holds EXPRESSION: true of the document d
    python3 -c "import json; d = json.load(open('one.json')); p = d['probes'][0]; assert $1"
}
follows_schema() { python3 "$here/../schema.py" counters one.json; }

count good
check "a cross-check exits 0" exits 0
check "its tables" diff -u "$here/good.out" out
check "times are taken in a process without counters" called 'good --json --device 0 --seed [0-9]*'
for set in sm loads memory paths pipes stalls; do
    check "$set is read in a process of its own" called "good --json --device 0 --seed [0-9]* --counters $set"
done
check "all with one seed" test "$(grep -o 'seed [0-9]*' log | sort -u | wc -l)" = 1
check "no other process" lines log 7
check "the document is whole" holds 'd["status"] == "ok" and d["schema"] == "counters"'
check "it holds times" holds 'p["timed"]["cases"][0]["metrics"][0]["median"] == 1000'
check "and counters" holds 'p["cases"][0]["counters"]["dram_read"] == 2048'
check "of all sets" holds 'len(p["counted"]) == 6 and p["cases"][0]["passes"] == 30'
check "the least of each" holds 'p["cases"][0]["counters_least"]["dram_read"] == 2048'
check "and the most" holds 'p["cases"][0]["counters_most"]["time"] == 9000'
check "the work of a pass, set by set" holds \
    'p["cases"][0]["works"] == {s: {"time,event": w} for s, w in
        dict(sm=1, loads=2, memory=3, paths=1, pipes=1, stalls=1).items()}'
check "and whether it swept the L2" holds 'p["cases"][0]["sweeps"] == 0'
check "and what they come to" holds 'p["cases"][0]["figures"]["bound_by"] == "bandwidth"'
check "the machine stands there once" holds '"environment" not in p["timed"] and "gpu" in d["environment"]'
check "it follows the schema" follows_schema
cp out text
count --format json good
check "--format json prints what it writes" python3 -c \
    'import json; assert json.load(open("out")) == json.load(open("one.json"))'
count --case 'level=*' --set a=1 --set b=2 --counters sm,loads --device 3 good
check "options are handed on" called \
    'good --json --device 3 --seed [0-9]* --case level=\* --set a=1 --set b=2 --counters loads'
check "only the sets asked for" lines log 3
count launch
check "launches are traced" called 'launch --json --device 0 --seed [0-9]* --counters launches'
check "their tables" diff -u "$here/launch.out" out
check "share of usable records" grep -q ' 200  *75.0 %' out
count --launches good
check "for others when asked" called 'good --json --device 0 --seed [0-9]* --counters launches'

count nogpu
check "no GPU: 77" exits 77
check "in one line" lines talk 1
check "that says why" says '^gpufloor counters: nogpu: no GPU: no driver: libcuda.so.1 was not found$'
check "and nothing else" test ! -s out -a ! -e one.json
count refused
check "refused counters: 77" exits 77
check "with the reason" says 'refused: no counters: .*INSUFFICIENT_PRIVILEGES'
check "what was timed is kept" holds 'd["status"] == "refused" and "timed" in p and "PRIVILEGES" in d["why"]'
check "and follows the schema" follows_schema
count crash
check "a probe that dies under counters: 1" exits 1
check "and is named with its signal" says 'crash: killed by signal 11'
count failing good
check "a failed check: 1" exits 1
check "and no further probe" bash -c '! grep -q good log'
count --set x=1 picky
check "an unknown parameter: 2" exits 2
check "in the probe's words" says 'picky: --set x=1: picky has no such parameter'

usage() { # usage WORDS ARGUMENT...
    local words=$1
    shift
    count "$@"
    check "counters $*: 2" exits 2
    check "counters $*: one line" lines talk 1
    check "counters $*: says what was expected" says "$words"
    check "counters $*: no probe is run" test ! -s log
}
usage "expected a probe"
usage "unknown probe 'no_such'" no_such
usage "unknown probe 'no_such'" good no_such
usage "--format xml: expected text or json" --format xml good
usage "--format md: expected text or json" --format md good
usage "--counters l3: expected some of sm, loads" --counters l3 good
usage "--counters sm,: expected some of sm, loads" --counters sm, good
usage "--set x: expected NAME=VALUE" --set x good
usage "--timeout 0: expected a whole number" --timeout 0 good
usage "--device -1: expected a whole number" --device=-1 good
echo mine >there.json
bin/gpufloor counters --output there.json good >out 2>talk
status=$?
check "an existing file is refused" exits 2
check "and left alone" grep -qx mine there.json
check "before anything is measured" test ! -s out

# Without --output: many that begin in one second, and find the same name free, write a document each.
together=()
for ((i = 0; i < 12; i++)); do
    bin/gpufloor counters good >/dev/null 2>>talk </dev/null &
    together+=($!)
done
failures=0
for one in "${together[@]}"; do
    wait "$one" || failures=$((failures + 1))
done
check "twelve at once exit 0" test $failures = 0
check "each has a document of its own" test "$(find run -name '*.json' | wc -l)" = 12
for document in run/*.json; do
    check "$document is whole" python3 "$here/../schema.py" counters "$document"
done
check "and nothing else is left" test "$(find run -type f | wc -l)" = 12

# The probes themselves, where no GPU can be seen.
if [ -x "$build/bin/probes/launch" ]; then
    "$build/bin/probes/launch" --counters sm --json >one.json 2>talk
    status=$?
    check "a probe without a GPU: 77" exits 77
    check "in one line" lines talk 1
    check "its document follows the schema" python3 "$here/../schema.py" run one.json
    "$build/bin/gpufloor" counters launch >out 2>talk
    status=$?
    check "the command without a GPU: 77" exits 77
    check "in one line of its own" lines talk 1
    check "that names the state" says '^gpufloor counters: launch: no GPU: '
    "$build/bin/probes/launch" --counters launches >out 2>talk
    status=$?
    check "no launches without a GPU: 77" exits 77
    check "and that is the reason" says 'skipped: no GPU: '
    mkdir -p alone/probes
    cp "$build/bin/probes/launch" alone/probes/
    alone/probes/launch --counters sm --json >one.json 2>talk
    status=$?
    check "without CUPTI: 77" exits 77
    check "and says so" says 'no counters: counters.so was not built'
    check "in the document too" python3 -c 'import json
assert json.load(open("one.json"))["counters"]["status"] == "refused"'
else
    skipped=$((skipped + 1))
    echo "skip probes without a GPU: no CUDA toolkit"
fi
"$build/bin/probes/host_memory" --counters sm >out 2>talk
status=$?
check "a host probe has no counters: 77" exits 77

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
