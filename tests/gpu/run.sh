#!/bin/bash
# run.sh BIN: known answers on a real GPU, under two minutes. 77 where there is none.
#
#   every probe's own checks (--check); a wait of N cycles measures N; shared memory before L1 before
#   L2 before device memory; no rate above what the memory's pins can carry; the clock by counters is
#   the clock by events; and the same program measured twice is the same to `compare`.
set -u
bin=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin/probes/null" --json >"$work/null.json" 2>"$work/said" || { cat "$work/said"; exit 1; }
why=$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d.get("gpu_why", ""))' \
    "$work/null.json") || exit 1
if [ "$why" ]; then
    echo "skipped: $why"
    exit 77
fi

passed=0 failed=0
result() { # result STATUS NAME FILE
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $2"
        tail -n 8 "$3" | cut -c1-200 | sed 's/^/    /'
    fi
}

for probe in "$bin"/probes/* "$bin"/matmul/* "$bin"/fused/*; do
    [ -x "$probe" ] || continue
    status=0
    timeout 60 "$probe" --check >"$work/out" 2>&1 || status=$?
    # 77: this board is too old for the probe, which says so; not a failure of it.
    [ "$status" != 77 ] || status=0
    result "$status" "$(basename "$probe") --check" "$work/out"
done

for probe in spin memory_latency occupancy; do
    status=0
    timeout 60 "$bin/probes/$probe" --json >"$work/$probe.json" 2>"$work/out" || status=$?
    result "$status" "$probe measures" "$work/out"
done
python3 - "$work" >"$work/known" 2>&1 <<'END'
import json, sys

passed = failed = 0

def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)

def read(probe):
    document = json.load(open(f"{sys.argv[1]}/{probe}.json"))
    figures = {}
    for case in document["cases"]:
        for m in case["metrics"]:
            figures[m["name"], case["case"]] = m["median"]
    return document, figures

document, spin = read("spin")
for (name, case), value in spin.items():
    if name == "waited":
        asked = float(case.split("=")[1])
        check(asked <= value < asked + 100, f"waited {value} cycles, asked for {asked:.0f}")
clock, cycle = spin["sm_clock", "source=measured"], spin["cycle_time", ""]
check(abs(clock * cycle / 1e9 - 1) < 0.005, f"clock {clock / 1e6} MHz, cycle {cycle} ns")
check(300e6 < clock < 4000e6, f"an SM clock of {clock / 1e6} MHz")

document, memory = read("memory_latency")
load = {level: memory["load", f"level={level}"] for level in ("shared", "l1", "l2", "hbm")}
time = {level: memory["load_time", f"level={level}"] for level in load}
for one in (load, time):
    check(one["shared"] < one["l1"] < one["l2"] < one["hbm"], f"the levels' order: {one}")
for level in ("shared", "l1", "l2"):
    check(abs(load[level] / (time[level] * clock / 1e9) - 1) < 0.02,
          f"{level}: {load[level]} cycles are not {time[level]} ns at {clock / 1e6} MHz")

document, occupancy = read("occupancy")
gpu = document["environment"]["gpu"]
pins = 2 * gpu["memory_clock_mhz"] * 1e6 * gpu["bus_bits"] / 8
rates = {case: value for (name, case), value in occupancy.items() if name == "read_rate" and value}
check(rates, "occupancy has read rates")
hbm = {case: rate for case, rate in rates.items() if "level=hbm" in case}
check(max(hbm.values()) < pins, f"{max(hbm.values()) / 1e12} TB/s, the pins carry {pins / 1e12}")
check(max(hbm.values()) > 0.5 * pins, f"{max(hbm.values()) / 1e12} TB/s of {pins / 1e12}: half is missing")
check(max(rates.values()) > max(hbm.values()), "the L2 is read faster than device memory")
print(passed, failed)
END
read -r good bad < <(tail -n 1 "$work/known")
if [[ ! ${good:-} =~ ^[0-9]+$ ]]; then
    result 1 "known answers" "$work/known"
else
    grep '^FAIL' "$work/known"
    passed=$((passed + good)) failed=$((failed + bad))
fi

# A against A. Seven rounds each, as a verdict needs, of probes that are quick.
for side in a b; do
    status=0
    timeout 60 "$bin/gpufloor" run --output "$work/$side.json" spin launch >"$work/out" 2>&1 || status=$?
    result "$status" "gpufloor run, $side" "$work/out"
done
status=0
"$bin/gpufloor" compare --format tsv "$work/a.json" "$work/b.json" >"$work/out" 2>&1 || status=$?
grep -Ew 'FASTER|SLOWER' "$work/out" >"$work/differ" && status=1
result "$status" "A against A: nothing faster, nothing slower" "$work/out"
cat "$work/differ"
same=$(grep -cw SAME "$work/out")
result "$((same == 0))" "A against A: something is the same" "$work/out"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
