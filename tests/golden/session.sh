#!/bin/bash
# Tests of `gpufloor run` and `list` against stand-in probes: crashes, garbage, hangs, interrupts,
# places that cannot be written.
#
#   tests/golden/session.sh BIN
set -u
bin=$(realpath "$1") here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin/probes"
cp "$bin" "$work/bin/gpufloor"
gpufloor=$work/bin/gpufloor
cd "$work" || exit 1
passed=0 failed=0

probes() { # NAME...: exactly these stand beside the program
    rm -f bin/probes/*
    for name in "$@"; do ln -s "$here/fake_probe.sh" "bin/probes/$name"; done
}
measure() { # ARGUMENT...: run, into one.json unless --output says otherwise
    rm -f one.json talk out
    "$gpufloor" run --seed 1 --output one.json --results "$work/results" "$@" >out 2>talk
    status=$?
}
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        echo "ok   $what"
        passed=$((passed + 1))
    else
        echo "FAIL $what: $*"
        sed 's/^/     | /' talk 2>/dev/null | tail -5
        failed=$((failed + 1))
    fi
}
exits() { [ "$status" = "$1" ]; }
says() { grep -q -- "$1" talk; }
holds() { grep -q -- "$1" one.json; }
runs_of() { [ "$(grep -o "\"probe\":{\"name\":\"$1\"" one.json | wc -l)" = "$2" ]; }
value_of() { "$gpufloor" report --format tsv --metric "$1.*" one.json | grep -q -- "$2"; }

probes null good needy
measure
check "host probes run without a GPU" exits 0
check "one line says why there is none" says '^no GPU: libcuda.so.1 not found$'
check "the state is in the bundle" holds '"gpu_state":"no_driver"'
check "seven rounds of each" runs_of good 7
check "what needs a GPU is left out" runs_of needy 0
check "the document reads back" value_of good '103.*100.*106.*99.*7.*ok'
cp one.json kept.json
measure
check "the same seed, the same order" test \
    "$(grep -o '"name":"[a-z]*","m' one.json)" = "$(grep -o '"name":"[a-z]*","m' kept.json)"
measure --quick
check "--quick is one round" runs_of good 1
measure needy
check "nothing to measure is no failure" exits 0
check "and writes nothing" test ! -e one.json
measure good no_such
check "an unknown probe is a usage error" exits 2
check "that names it" says "unknown probe 'no_such'"
check "and nothing is written" test ! -e one.json

facts_of() { [ "$(grep -o '"facts":{[^}]*}' one.json | tr -d '\n')" = "$1" ]; }
probes null telling
first='"facts":{"kernel":"k0","size":"8"}' later='"facts":{"kernel":"k1"}'
measure
check "a fact stands once, and again where it changed" facts_of "$first$later"
python3 -c 'import json; b = json.load(open("one.json")); b.update(complete=False)
b["runs"] = [r for r in b["runs"] if r["run"]["round"] < 2]; json.dump(b, open("cut.json", "w"))'
"$gpufloor" run --continue cut.json --results "$work/results" >out 2>talk && mv cut.json one.json
check "also in a bundle that is continued" facts_of "$first$later"
check "a unit stands once in each run, also there" test "$(grep -o '"unit":"ns"' one.json | wc -l)" = 14
check "beside its cases" test "$(grep -o '"metrics":{"time":{"unit":"ns","better":"lower"}},"cases"' one.json | wc -l)" = 14
check "which has all its rounds" runs_of telling 7

probes null good
mkdir -p elsewhere
for name in peer.sh mute.sh needy.sh good.sh; do ln -s "$here/fake_probe.sh" "elsewhere/$name"; done
measure --with elsewhere/peer.sh
check "--with takes a program into every round" runs_of peer 7
check "beside all others" runs_of good 7
check "and its figures are read" value_of peer '103.*100.*106.*99.*7.*ok'
check "its environment is kept" holds '"peers":{"torch":"1.2.3"}'
measure --with elsewhere/peer.sh null
check "beside those asked for only" test "$(grep -o '"probe":{"name":"[a-z]*"' one.json | sort -u | wc -l)" = 2
measure --with elsewhere/peer.sh peer
check "it can be asked for by its name" runs_of null 0
check "and then runs alone" runs_of peer 7
rm -f one.json
(cd elsewhere && "$gpufloor" run --seed 1 --quick --output ../one.json --with peer.sh peer >../out 2>../talk)
check "a file of this folder needs no ./" runs_of peer 1
measure --with elsewhere/needy.sh
check "without a GPU, what needs one is left out" runs_of needy 0
for wrong in mute.sh nothing good.sh .; do
    measure --with "elsewhere/$wrong" good
    check "--with $wrong is a usage error" exits 2
    check "that names it" says "--with elsewhere/$wrong: "
    check "before anything is measured" test ! -e one.json
done
check "a probe's name cannot be taken" bash -c \
    "'$gpufloor' run --with elsewhere/good.sh 2>&1 | grep -q \"already\""

probes null good crash garbage hang lingers failing skips
measure --rounds 1 --timeout 1
check "a failed probe exits 1" exits 1
check "a crash is recorded with its signal" holds 'killed by signal 11'
check "so is garbage" holds 'printed no run document (stdout: not valid JSON'
check "so is a hang" holds 'timed out after 1 s'
check "a failed check is said" says '^FAIL  failing: a check failed'
check "a skip is no failure" says '^skip  skips'
check "a child left behind does not hold the run up" value_of lingers 'wall}.*100'
check "others are measured all the same" value_of good 'wall}.*100'
check "no child survives" bash -c '! pgrep -f "^sleep 600$"'

probes null good needy
unset FAKE_GPUS
measure --require-gpu --quick
check "--require-gpu without a GPU is a failure" exits 1
check "in one line" says '^gpufloor run: --require-gpu: GPU 0 cannot be measured$'
check "and nothing is measured" test ! -e one.json
export FAKE_GPUS="0 2"
measure --require-gpu --quick
check "--require-gpu with one is none" exits 0
check "it is measured" runs_of needy 1
measure --require-gpu --quick good
check "without a program that needs it, it is not measured" exits 1
check "one line says so" says '^gpufloor run: --require-gpu: no GPU was measured$'
measure --each 0,2
check "--each has no one place" exits 2
each() { # ARGUMENT...: run, into the default place
    rm -rf run talk out log
    FAKE_LOG=$work/log "$gpufloor" run --seed 1 --results "$work/results" "$@" >out 2>talk
    status=$?
}
each --each=0,2 --rounds 2
check "--each measures one GPU after the other" exits 0
check "each into a bundle of its own" bash -c '[ "$(echo run/*)" = "$(echo run/*-gpu-0.json run/*-gpu-2.json)" ]'
check "that holds all its rounds" bash -c \
    'for f in run/*; do [ "$(grep -o "name\":\"needy" "$f" | wc -l)" = 2 ] || exit 1; done'
check "both are looked for before one is measured" test "$(head -n 2 log | tr '\n' .)" = 'null 0.null 0.'
each --each=0,1 --rounds 2
check "a GPU that is not there is a failure" exits 1
check "that is named" says '^gpufloor run: --each: GPU 1 cannot be measured$'
check "nothing is measured" bash -c '! grep -q needy log'
check "and no name is taken" test -z "$(ls run)"
for wrong in '' 0,0 x 0,-1; do
    each --each="$wrong"
    check "--each='$wrong' is a usage error" exits 2
done
each --each=0 --device 2
check "--each beside --device, too" exits 2

rm -rf run log
probes null slow
FAKE_LOG=$work/log "$gpufloor" run --each=0,2 --rounds 30 >out 2>talk &
pid=$!
for _ in $(seq 200); do
    [ "$(cat log 2>/dev/null | grep -c slow)" -ge 2 ] && break
    sleep 0.05
done
check "every GPU's name is taken before the first is measured" test "$(ls run | wc -l)" = 2
kill -INT $pid
wait $pid
status=$?
check "an interrupt ends them all" exits 1
check "the name of the GPU that was not begun is given back" bash -c '[ "$(echo run/*)" = "$(echo run/*-gpu-0.json)" ]'
check "the other keeps its rounds" grep -q '"complete":false,"why":"interrupted in round' run/*
probes null good needy

mkdir -p bin/baselines with without
for name in peers fused_peers layer_peers; do ln -s "$here/fake_probe.sh" "bin/baselines/$name.py"; done
printf '#!/bin/sh\nexit 0\n' >with/python3
printf '#!/bin/sh\nexit 1\n' >without/python3
chmod +x with/python3 without/python3
PATH=$work/with:$PATH measure --peers --rounds 2
check "--peers takes the programs of baselines/ into every round" runs_of peers 2
check "where python3 has torch" runs_of fused_peers 2
check "that of the layer, too" runs_of layer_peers 2
check "beside the others" runs_of good 2
rm -f words
PATH=$work/with:$PATH FAKE_WORDS=$work/words measure --peers --rounds 2 --device 0
check "each is prepared once" test "$(grep -c -- '--prepare --device 0$' words)" = 3
check "before the first round" test "$(head -4 words | grep -c '^[a-z_]*peers --prepare')" = 3
check "no other is" test "$(grep -- --prepare words | grep -vc '^[a-z_]*peers ')" = 0
check "which is said" says '^ready layer_peers  '
PATH=$work/with:$PATH FAKE_STUCK=layer_peers measure --peers --rounds 2 --timeout 1
check "what does not end there is named" says '^warn  layer_peers: --prepare: timed out after 1 s$'
check "and is measured all the same" runs_of layer_peers 2
PATH=$work/without:$PATH measure --peers --rounds 2
check "without torch they are left out" runs_of peers 0
check "one line says so" says '^no peers: python3 has no torch$'
check "the others are measured" runs_of good 2
rm bin/baselines/fused_peers.py
PATH=$work/with:$PATH measure --peers --rounds 2
check "a program that is not there is named" says '^no peers: there is no baselines/fused_peers.py'
unset FAKE_GPUS

FAKE_WORDS=$work/words measure --deep
check "--deep is one round" runs_of good 1
check "of every sweep" grep -q '^good .* --deep' words
check "the bundle says so" holds '"deep":true'
check "and follows the schema" python3 "$here/../schema.py" bundle one.json
measure --deep --quick
check "--deep beside --quick is a usage error" exits 2

probes null noisy
measure --rounds 2
check "a discarded run is repeated three times" runs_of noisy 8
check "repeats are numbered" holds '"repeat":3'
check "the row is discarded with its cause" value_of noisy 'discarded'

probes null slow
FAKE_LOG=$work/log
export FAKE_LOG
for signal in INT TERM; do
    rm -f one.json log
    "$gpufloor" run --rounds 30 --output one.json slow >out 2>talk &
    pid=$!
    for _ in $(seq 200); do # until three runs have begun, ten seconds at most
        [ "$(cat log 2>/dev/null | grep -c slow)" -ge 3 ] && break
        sleep 0.05
    done
    kill -"$signal" $pid
    wait $pid
    status=$?
    check "SIG$signal ends with 1" exits 1
    check "and a bundle that says so" holds '"complete":false,"why":"interrupted in round'
    check "which reads back" value_of slow 'wall}'
done

unset FAKE_LOG
probes null slow good
FAKE_LOG=$work/log "$gpufloor" run --seed 5 --rounds 5 --output half.json slow >out 2>talk &
pid=$!
rm -f log
for _ in $(seq 200); do
    [ "$(cat log 2>/dev/null | grep -c slow)" -ge 3 ] && break
    sleep 0.05
done
kill -INT $pid
wait $pid
cp half.json cut.json
kept=$(grep -o '"run":{"round":[0-9]*}' cut.json | wc -l)
again() { # ARGUMENT...: goes on with half.json
    "$gpufloor" run --results "$work/results" --continue half.json "$@" >out 2>talk
    status=$?
}
again good
check "--continue refuses other probes" exits 2
check "and names the one that is missing" says '^gpufloor run: --continue half.json: is a run of slow, which does not take part now$'
check "and leaves the bundle alone" cmp -s half.json cut.json
again slow good
check "and more probes" exits 2
check "and names the one that is more" says \
    '^gpufloor run: --continue half.json: is no run of good: name its own programs, or none$'
check "and loses no round to it" cmp -s half.json cut.json
sed 's/a CPU/another CPU/' cut.json >half.json
again slow
check "--continue refuses another host" says 'was measured on another host$'
sed 's/"commit":"[0-9a-f]*"/"commit":"0"/' cut.json >half.json
again slow
check "and another commit" says 'is of another commit'
sed 's/"programs":\["slow"\]/"programs":[]/' cut.json >half.json
again
check "and one that does not say what it is a run of" says 'lacks the names of its programs$'
sed 's/"rounds":5/"rounds":2000000000/' cut.json >half.json
again slow
check "and rounds without end" says 'a number of rounds that no run has$'
cp cut.json half.json
again slow --output other.json
check "and a place of its own" exits 2
again # none named: null and good are beside it, and take no part
check "--continue measures what is missing" exits 0
cp half.json one.json
check "of its own probes" holds '"programs":\["slow"\]'
check "all rounds are there, each once" bash -c \
    '[ "$(grep -o "\"run\":{\"round\":[0-9]*}" one.json | sort | uniq -c | grep -c " 1 ")" = 5 ]'
check "of which the whole ones were kept" bash -c "[ $kept -gt 0 ] && [ $kept -lt 5 ]"
check "the bundle is complete" holds '"complete":true'
check "and says when it was continued" holds '"continued":\["20'
check "under the seed that it had" holds '"seed":5'
again slow
check "a complete bundle is refused" says 'is complete: nothing is left to measure$'
export FAKE_LOG=$work/log

probes null good slow
rm -f log one.json
"$gpufloor" run --rounds 4 --raw --output one.json slow good >out 2>talk &
pid=$!
for _ in $(seq 200); do
    [ "$(cat log 2>/dev/null | grep -c good)" -ge 2 ] && break
    sleep 0.05
done
kill -9 $pid
wait $pid 2>/dev/null
grep -q '"sha256":null' one.json && printf 'good\ttime\t\twall\t3\t1' >>one.raw.tsv # a line that was cut
"$gpufloor" run --results "$work/results" --continue one.json slow good >out 2>talk
status=$?
check "a killed run with --raw is continued, too" exits 0
check "each round has its samples once" test "$(cut -f 1,5 one.raw.tsv | sort | uniq -c | grep -vc ' 1 ')" = 0
check "of all rounds" test "$(grep -c '^good' one.raw.tsv) $(grep -c '^slow' one.raw.tsv)" = '4 4'
check "and their hash" holds "\"sha256\":\"$(sha256sum <one.raw.tsv | cut -c1-64)\""
"$gpufloor" run --quick --raw --output=-one.json --results "$work/results" good >out 2>talk
mv -- -one.json dashed.json
check "also of a file whose name begins with -" grep -q "\"sha256\":\"$(sha256sum <-one.raw.tsv | cut -c1-64)\"" dashed.json
rm -f -- dashed.json -one.raw.tsv
mkdir -p aside
sed 's/"complete":true/"complete":false/; s/one.raw.tsv/..\/one.raw.tsv/' one.json >aside/two.json
cp one.raw.tsv kept.tsv
"$gpufloor" run --results "$work/results" --continue aside/two.json slow good >out 2>talk
check "samples elsewhere are refused" says 'names raw samples that are not beside it$'
check "and left alone" cmp one.raw.tsv kept.tsv
rm -f one.raw.tsv kept.tsv

probes null good
rm -f log
echo mine >there.json
measure --output there.json
check "an existing file is refused" exits 2
check "and left alone" grep -q mine there.json
measure --output /proc/no/such.json
check "a place that cannot be written is refused" exits 2
check "before anything is measured" bash -c '! grep -q good log'
measure --rounds 2 --raw
check "--raw keeps the samples" grep -q 'good.*100' one.raw.tsv
check "and names their hash" holds "\"sha256\":\"$(sha256sum <one.raw.tsv | cut -c1-64)\""

probes null spoiler
mkdir spoils tmp
FAKE_SPOILS=$work/spoils TMPDIR=$work/tmp "$gpufloor" run --rounds 1 --output spoils/one.json >out 2>talk
status=$?
check "a folder that vanishes is a failure" exits 1
check "but nothing is lost" test -s tmp/one.json
check "and the place is said" says "kept in $work/tmp/one.json"

probes null good
mkdir -p results/board
sed 's/"name":"good","method":1/"name":"good","method":2/g' kept.json >results/board/a.json
cp results/board/a.json one.json
check "rows by another method are stale in a folder" bash -c \
    "$gpufloor report --format tsv --metric 'good.*' results/board | cut -f8 | grep -qx stale"
"$gpufloor" list good >out 2>talk
status=$?
check "list takes probes" bash -c '[ '$status' = 0 ] && grep -q "^good:" out && ! grep -q "^null:" out'
"$gpufloor" list good no_such >out 2>talk
status=$?
check "and refuses those it does not know" exits 2
check "in one line" says "^gpufloor list: unknown probe 'no_such': expected one"
check "a mute probe does not stop the list" bash -c \
    "ln -s $here/fake_probe.sh bin/probes/mute; $gpufloor list --json | grep -q '\"good\"'"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
