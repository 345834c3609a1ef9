#!/bin/bash
# counters.sh BIN: known answers of the hardware counters on a real GPU, about half a minute. 77 where
# there is none, or where counters are refused.
#
#   a chase makes exactly the loads that it says, and the level that a case names serves 99 % of them
#   (and, as a control, not those of another case); bytes counted at device memory are those that the
#   probe read; the SM clock by counters is the clock by stamps; each word of "bound by" where it must
#   stand; a fused operator's bytes, for one operation of a pass, are those that it states.
set -u
bin=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
[ -x "$bin/probes/memory_latency" ] || { echo "skipped: no GPU probes: they were not built"; exit 77; }

count() { # count PROBE ARGUMENT...
    local probe=$1 status=0
    shift
    "$bin/gpufloor" counters "$probe" "$@" --output "$probe.json" >out 2>said || status=$?
    [ "$status" != 77 ] || { echo "skipped: $(tail -n 1 said)"; exit 77; }
    [ "$status" = 0 ] || { cat said; exit 1; }
}
count memory_latency --counters sm,loads,memory --set repeats=1024 --case 'level=@(shared|l1|l2|hbm)'
count occupancy --counters sm,memory,paths --case 'level=@(l2|hbm),warps=64,loads=8'
count launch --counters sm,memory --case '@(|mode=stream)'
count small_gemm --counters sm,memory,pipes --case 'type=fp16,acc=fp32'
count bias_gelu_scale --counters memory --case 'rows=16384,cols=8192,type=fp16,impl=fused,mode=graph,l2=cold'

python3 - <<'END'
import json, sys

passed = failed = 0

def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)

def cases(name):
    probe = json.load(open(f"{name}.json"))["probes"][0]
    return probe, {case["case"]: case for case in probe["cases"] if case["metrics"]}

probe, memory = cases("memory_latency")
LOADS = 1024 * (1 + 32 + 64)
for level in ("shared", "l1", "l2", "hbm"):
    case = memory[f"level={level}"]
    served = case["figures"]["served"]
    check(served[level] >= 0.99, f"level={level} served {served}")
    others = [memory[f"level={l}"]["figures"]["served"][level] for l in ("shared", "l1", "l2", "hbm") if l != level]
    check(max(others) < 0.02, f"{level} serves the other levels' loads: {others}")
    check(case["figures"]["bound_by"] == "latency", f"level={level} is bound by {case['figures']['bound_by']}")
    if level != "l1":  # whose ring is warmed in every launch
        loads = case["counters"]["shared_loads"] + case["counters"]["global_loads"]
        check(loads == LOADS, f"level={level}: {loads} loads, of {LOADS}")
clock = memory["level=l2"]["figures"]["sm_clock_mhz"]
timed = [c for c in probe["timed"]["cases"] if c["case"] == "level=l2"][0]["sm_clock"]["median_mhz"]
check(abs(clock / timed - 1) < 0.005, f"SM clock {clock} MHz by counters, {timed} by stamps")

_, occupancy = cases("occupancy")
hbm = occupancy["level=hbm,warps=64,loads=8"]["figures"]
check(abs(hbm["dram_read_of_own_bytes"] - 1) < 0.02, f"device memory read {hbm['dram_read_of_own_bytes']} of what the probe read")
check(hbm["bound_by"] == "bandwidth" and hbm["limit"] == "memory", f"streaming is bound by {hbm['bound_by']}, {hbm['limit']}")
l2 = occupancy["level=l2,warps=64,loads=8"]["figures"]
check(l2["dram_read_of_own_bytes"] < 0.02, f"reading the L2 reads {l2['dram_read_of_own_bytes']} from device memory")
check(l2["bound_by"] == "bandwidth" and "L2" in l2["limit"], f"reading the L2 is bound by {l2['bound_by']}, {l2['limit']}")

probe, launch = cases("launch")
check(launch[""]["figures"]["bound_by"] == "launch", f"empty kernels are bound by {launch['']['figures']['bound_by']}")
seen = [c["launches"] for c in probe["traced"]["cases"] if c["case"] == "mode=stream"][0]
check(seen["usable"] >= 0.9 * seen["kernels"] > 0 and seen["dropped"] == 0, f"launches by stream: {seen}")
check(0 < seen["started_to_ended_ns"] < 10000, f"an empty kernel takes {seen['started_to_ended_ns']} ns")

_, gemm = cases("small_gemm")
peak = gemm["type=fp16,acc=fp32"]["figures"]
check(peak["bound_by"] == "compute" and peak["limit"] == "tensor pipe", f"mma.sync alone is bound by {peak['bound_by']}, {peak['limit']}")
_, fused = cases("bias_gelu_scale")
one = fused["rows=16384,cols=8192,type=fp16,impl=fused,mode=graph,l2=cold"]
stated = [m["median"] for m in one["metrics"] if m["name"] == "bytes"][0]
moved = (one["counters"]["dram_read"] + one["counters"]["dram_write"]) / one["works"]["memory"]["time,event"]
check(one["sweeps"] == 0 and abs(moved / stated - 1) < 0.05, f"an operation moves {moved} bytes, and states {stated}")
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)
END
