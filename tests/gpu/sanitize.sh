#!/bin/bash
# sanitize.sh BIN [PROBE...]: compute-sanitizer over the kernels of every probe, or of those named,
# under --check, which launches each once. A line for each tool and probe; non-zero on any finding.
# 77 without a GPU or the tool. What the CUDA API answers is not a finding: a program asks whether a
# kernel exists, and reports errors itself.
#
# memcheck looks at every probe, synccheck at all whose kernels have a barrier. initcheck would have
# nothing to find: all memory is poisoned when it is allocated, and so it is written. racecheck
# knows shared memory and barriers of a block only: it is for the probes that race_of names. Of
# those with shared memory it leaves out contention, whose warps store to the same words on purpose;
# barriers, sm_to_sm and sm_to_sm_rate, whose words go from block to block; attention_decode, two_gemv,
# softmax and sampling, whose blocks wait for each other no longer than a budget that the tool
# outlasts, or share clusters' memory, at which it fails; and instructions, small_gemm and what else
# of fused/ does not end in time.
set -u
bin=$(realpath "$1")
shift
only=" $* "
limit_s=${SANITIZE_SECONDS:-60} # for one tool over one probe; racecheck of prefill takes half of it
cuda=${CUDA_HOME:-/usr/local/cuda}
tool=$(command -v compute-sanitizer || ls "$cuda/bin/compute-sanitizer" 2>/dev/null)
if ! why=$("${tool:-compute-sanitizer}" --version 2>&1); then
    echo "skipped: no compute-sanitizer in PATH nor in $cuda/bin that runs: ${why##*$'\n'}"
    exit 77
fi

no_barrier=" bias_gelu_scale deadlock graphs host_link launch launch_shape layout spin timers "
declare -A set_of=([memory_latency]=max_bytes=1M)
declare -A case_of=(
    # one load that must fault, in a process of its own
    [layout]='!(offset=*)'
    # The tools' own local and shared memory lets fewer blocks fit an SM than the occupancy API
    # says: what counts them, and what wants two of 32 warps.
    [occupancy]='!(registers=*|*warps=64,*)'
    # our own kernels at the small shapes of --check: what the tools say of cuBLAS is not ours
    [small_gemm]='@(m=[2-9]*impl=mma*|m=192,*impl=mma*|type=*)'
    [transpose]='rows=*'
    [attention_prefill]='@(shapes=odd,impl=@(fused|mma)|case=*)'
    [bias_gelu_scale]='rows=@(1|7|129),*')
# Without bulk copies that many threads read, which racecheck takes for stores of the thread that
# asked: it does not see the mbarrier at which the others wait. Without loaded_chase, where a
# block's threads poll a word in shared memory. Of edges and jitter what uses shared memory, once:
# racecheck of whole chains does not end in time.
declare -A race_option=([bandwidth]=--kernel-name-exclude=kernel_substring=loaded_chase)
declare -A race_of=(
    [bandwidth]='!(*path=bulk,*|*load=*)'
    [edges]='mode=block_shared,*'
    [jitter]='mode=*,rival=none,*'
    [attention_prefill]='@(shapes=odd,impl=@(fused|mma)|case=*)'
    [harm]='*'
    [memory_latency]='*'
    [occupancy]='!(registers=*|*warps=64,*|*path=bulk,*)'
    [transpose]='*impl=@(padded|vector)')
# synccheck of 100000 blocks that keep sums in shared memory ends the program by an illegal access
# of the tool's own: memcheck and the program alone find none.
declare -A sync_of=([sampling]='!(*batch=100000*)')
# racecheck fails where cuBLAS is loaded: a copy in a folder without the plugin finds none.
alone=" attention_prefill "

work=$(mktemp -d)
log=$work/log
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

say() { # say WORD TOOL PROBE REMARK
    case $1 in
    ok) passed=$((passed + 1)) ;;
    skip) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    printf '%-5s %-10s %-18s %s\n' "$@"
}

# sanitize TOOL PROBE CASES OPTION...
sanitize() {
    local kind=$1 probe=$2 cases=$3 name status=0 began=$SECONDS remark options=()
    shift 3
    name=$(basename "$probe")
    [ -z "${set_of[$name]:-}" ] || options+=("--set=${set_of[$name]}")
    [ -z "$cases" ] || options+=("--case=$cases")
    timeout -k 5 "$limit_s" "$tool" --tool "$kind" --error-exitcode 99 --report-api-errors no \
        --target-processes application-only "$@" "$probe" --check "${options[@]}" >"$log" 2>&1 || status=$?
    remark=$(grep -E 'SUMMARY|skipped:' "$log" | tail -n 1 | sed 's/^=* *//')
    remark="$((SECONDS - began)) s, $remark"
    case $status in
    0) say ok "$kind" "$name" "$remark" ;;
    77) say skip "$kind" "$name" "$remark" ;;
    124 | 137) say FAIL "$kind" "$name" "did not end in $limit_s s" ;;
    *)
        say FAIL "$kind" "$name" "$remark, exit $status"
        grep -v '^$' "$log" | head -n 25 | cut -c1-160 | sed 's/^/    /'
        ;;
    esac
}

for probe in "$bin"/probes/* "$bin"/matmul/* "$bin"/fused/* "$bin"/links/*; do
    [ -x "$probe" ] || continue
    name=$(basename "$probe")
    [[ $only = "  " || $only = *" $name "* ]] || continue
    if ! "$probe" --list --json | grep -q '"needs": "gpu"'; then
        say skip all "$name" "launches nothing of its own"
        continue
    fi
    sanitize memcheck "$probe" "${case_of[$name]:-}" --leak-check no
    [[ $no_barrier = *" $name "* ]] ||
        sanitize synccheck "$probe" "${sync_of[$name]:-${case_of[$name]:-}}"
    if [[ $alone = *" $name "* ]]; then
        mkdir -p "$work/alone"
        cp "$probe" "$work/alone/"
        probe=$work/alone/$name
    fi
    [ -z "${race_of[$name]:-}" ] ||
        sanitize racecheck "$probe" "${race_of[$name]}" --racecheck-report all \
            ${race_option[$name]:+"${race_option[$name]}"}
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$((passed + failed))" -gt 0 ] || exit 77
[ "$failed" = 0 ]
