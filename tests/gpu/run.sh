#!/bin/bash
# run.sh BIN: known answers on a real GPU, under two minutes, a line a step. 77 where there is none.
#
#   every probe's own checks (--check); what known_answers.py knows of some of their cases: waits,
#   the order of the memory's levels, what no rate, no barrier and no launch may do; and the same
#   program measured twice is the same to `compare`.
set -u
bin=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin/probes/null" --json >"$work/null.json" 2>"$work/said" || { cat "$work/said"; exit 1; }
why=$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d.get("gpu_why", ""))' \
    "$work/null.json") || exit 1
if [ "$why" ]; then
    echo "skipped: $why"
    exit 77
fi

passed=0 failed=0 skipped=0 lap=${EPOCHREALTIME/[.,]/}
result() { # result STATUS NAME FILE: a line, with the seconds since the last one
    local now=${EPOCHREALTIME/[.,]/} took
    printf -v took '%d.%d s' $(((now - lap) / 1000000)) $(((now - lap) / 100000 % 10))
    lap=$now
    case $1 in
    0)
        passed=$((passed + 1))
        echo "ok   $2, $took"
        ;;
    77) # this board is too old for the probe, which says so
        skipped=$((skipped + 1))
        echo "skip $2: $(tail -n 1 "$3")"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $2: exit $1, $took"
        tail -n 8 "$3" | cut -c1-200 | sed 's/^/    /'
        ;;
    esac
}

for probe in "$bin"/probes/* "$bin"/matmul/* "$bin"/fused/* "$bin"/links/*; do
    [ -x "$probe" ] || continue
    if "$probe" --list --json | grep -q '"draft"'; then # its author does not vouch for it yet
        skipped=$((skipped + 1))
        echo "skip $(basename "$probe") --check: a draft"
        continue
    fi
    timeout 30 "$probe" --check >"$work/out" 2>&1
    result $? "$(basename "$probe") --check" "$work/out"
done

# Of each probe the cases that known_answers.py asks for.
while read -r probe cases; do
    timeout 20 "$bin/probes/$probe" --json --case "$cases" >"$work/$probe.json" 2>"$work/out" \
        </dev/null
    result $? "$probe measures $cases" "$work/out"
done <<'END'
spin *
instructions op=fma,type=fp32
memory_latency level=@(shared|l1|l2|hbm)
memory_map level=l2,side=*
bandwidth level=@(l2|hbm),op=@(read|write),*
barriers scope=*
deadlock scene=alone,*,blocks=2xcapacity
layout offset=4,width=16
END
"$here/known_answers.py" "$work" >"$work/known" 2>&1
read -r good _ bad _ left _ < <(tail -n 1 "$work/known" | tr -d ,)
if [[ ${good:-} =~ ^[0-9]+$ && ${left:-} =~ ^[0-9]+$ ]]; then
    sed '$d' "$work/known"
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
else
    result 1 "known answers" "$work/known"
fi

# A against A. Seven rounds each, as a verdict needs, of probes that are quick and that the GPU's
# own clocks time: what the host paces does move from one minute to the next.
for side in a b; do
    timeout 60 "$bin/gpufloor" run --output "$work/$side.json" spin instructions \
        >"$work/out" 2>&1 && [ -s "$work/$side.json" ]
    result $? "gpufloor run, $side" "$work/out"
done
timeout 20 "$bin/gpufloor" compare --format tsv "$work/a.json" "$work/b.json" >"$work/out" 2>&1
[ $? -le 1 ] # 2 is trouble; what came out slower is named below
result $? "gpufloor compare" "$work/out"
grep -Ew 'FASTER|SLOWER|BETTER|WORSE' "$work/out" >"$work/differ"
result $(($? == 0)) "A against A: nothing faster, nothing slower" "$work/differ"
grep -w SAME "$work/out" >"$work/same"
result $? "A against A: something is the same" "$work/out"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
