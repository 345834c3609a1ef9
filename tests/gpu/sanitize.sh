#!/bin/bash
# sanitize.sh BIN [PROBE...]: compute-sanitizer over the kernels of every probe, or of those named,
# under --check, which launches each once. A line for each tool and probe; non-zero on any finding.
# 77 without a GPU or the tool. What the CUDA API answers is not a finding: a program asks whether a
# kernel exists, and reports errors itself. sanitize.sh --table prints what it would run, and why not.
#
# The table below has a line for each program of the tree and each tool, and a reason where the tool does
# not look at it (tests/contract/sanitize.py). memcheck looks at every probe, synccheck at all whose
# kernels have a barrier. initcheck would have nothing to find: all memory is poisoned when it is
# allocated, and so it is written. racecheck knows shared memory and barriers of a block only.
# Programs of links/ put all ranks on one GPU.
set -u
# PROGRAM|TOOL|cases, or - and why not; * is all
table() {
    cat <<'END'
all_reduce|memcheck|*
all_reduce|synccheck|*
all_reduce|racecheck|- not tried on a GPU: ranks wait for each other no longer than a budget that the tool outlasts
attention_decode|memcheck|*
attention_decode|synccheck|*
attention_decode|racecheck|- its blocks wait for each other no longer than a budget that the tool outlasts
attention_prefill|memcheck|@(shapes=odd,impl=@(fused|mma)|case=*)
attention_prefill|synccheck|@(shapes=odd,impl=@(fused|mma)|case=*)
attention_prefill|racecheck|@(shapes=odd,impl=@(fused|mma)|case=*)
bandwidth|memcheck|*
bandwidth|synccheck|*
bandwidth|racecheck|!(*path=bulk,*|*load=*)
barriers|memcheck|*
barriers|synccheck|*
barriers|racecheck|- words in shared memory go from block to block
batched_layer|memcheck|*
batched_layer|synccheck|*
batched_layer|racecheck|- not tried on a GPU
bias_gelu_scale|memcheck|rows=@(1|7|129),*
bias_gelu_scale|synccheck|- no barrier
bias_gelu_scale|racecheck|- no shared memory
block_count|memcheck|*
block_count|synccheck|*
block_count|racecheck|- not tried on a GPU
contention|memcheck|*
contention|synccheck|*
contention|racecheck|- warps store to the same words on purpose
deadlock|memcheck|*
deadlock|synccheck|- no barrier
deadlock|racecheck|- no shared memory
decoder_layer|memcheck|*
decoder_layer|synccheck|*
decoder_layer|racecheck|- not tried on a GPU: its blocks wait for each other no longer than a budget that the tool outlasts
edges|memcheck|*
edges|synccheck|*
edges|racecheck|mode=block_shared,*
elementwise_chain|memcheck|*
elementwise_chain|synccheck|*
elementwise_chain|racecheck|- no shared memory
epilogue|memcheck|*
epilogue|synccheck|*
epilogue|racecheck|- does not end in time
fixed_sizes|memcheck|*
fixed_sizes|synccheck|*
fixed_sizes|racecheck|- not tried on a GPU: its blocks wait for each other no longer than a budget that the tool outlasts
gemm_chain|memcheck|*
gemm_chain|synccheck|*
gemm_chain|racecheck|- not tried on a GPU
gemm_sizes|memcheck|*
gemm_sizes|synccheck|*
gemm_sizes|racecheck|- not tried on a GPU
gemv|memcheck|*
gemv|synccheck|*
gemv|racecheck|- not tried on a GPU
graphs|memcheck|*
graphs|synccheck|- no barrier
graphs|racecheck|- no shared memory
harm|memcheck|*
harm|synccheck|*
harm|racecheck|*
host_link|memcheck|*
host_link|synccheck|- no barrier
host_link|racecheck|- no shared memory
host_memory|memcheck|- launches nothing
host_memory|synccheck|- launches nothing
host_memory|racecheck|- launches nothing
instructions|memcheck|*
instructions|synccheck|*
instructions|racecheck|- does not end in time
jitter|memcheck|*
jitter|synccheck|*
jitter|racecheck|mode=*,rival=none,*
launch|memcheck|*
launch|synccheck|- no barrier
launch|racecheck|- no shared memory
launch_shape|memcheck|*
launch_shape|synccheck|- no barrier
launch_shape|racecheck|- no shared memory
layer|memcheck|*
layer|synccheck|*
layer|racecheck|- not tried on a GPU: ranks wait for each other no longer than a budget that the tool outlasts
layout|memcheck|!(offset=*)
layout|synccheck|- no barrier
layout|racecheck|- no shared memory
memory_latency|memcheck|*
memory_latency|synccheck|*
memory_latency|racecheck|*
memory_map|memcheck|*
memory_map|synccheck|*
memory_map|racecheck|- no shared memory
norm|memcheck|*
norm|synccheck|*
norm|racecheck|- does not end in time
null|memcheck|- launches nothing
null|synccheck|- launches nothing
null|racecheck|- launches nothing
occupancy|memcheck|!(registers=*|*warps=64,*)
occupancy|synccheck|!(registers=*|*warps=64,*)
occupancy|racecheck|!(registers=*|*warps=64,*|*path=bulk,*)
peer_memory|memcheck|*
peer_memory|synccheck|*
peer_memory|racecheck|- tiles in shared memory are read and written by bulk copies only
product_chain|memcheck|*
product_chain|synccheck|*
product_chain|racecheck|- not tried on a GPU: its blocks wait for each other no longer than a budget that the tool outlasts
quantized|memcheck|*
quantized|synccheck|*
quantized|racecheck|- does not end in time
repeatability|memcheck|*
repeatability|synccheck|*
repeatability|racecheck|- does not end in time
sampling|memcheck|*
sampling|synccheck|!(*batch=100000*)
sampling|racecheck|- shares clusters' memory, at which the tool fails
shared_room|memcheck|*
shared_room|synccheck|*
shared_room|racecheck|*
signal|memcheck|*
signal|synccheck|*
signal|racecheck|- no shared memory
sm_to_sm|memcheck|*
sm_to_sm|synccheck|*
sm_to_sm|racecheck|- words in shared memory go from block to block
sm_to_sm_rate|memcheck|*
sm_to_sm_rate|synccheck|*
sm_to_sm_rate|racecheck|- words in shared memory go from block to block
small_gemm|memcheck|@(m=[2-9]*impl=mma*|m=192,*impl=mma*|type=*)
small_gemm|synccheck|@(m=[2-9]*impl=mma*|m=192,*impl=mma*|type=*)
small_gemm|racecheck|- does not end in time
softmax|memcheck|*
softmax|synccheck|*
softmax|racecheck|- its blocks wait for each other no longer than a budget that the tool outlasts
spin|memcheck|*
spin|synccheck|- no barrier
spin|racecheck|- no shared memory
timers|memcheck|*
timers|synccheck|- no barrier
timers|racecheck|- no shared memory
transpose|memcheck|rows=*
transpose|synccheck|rows=*
transpose|racecheck|*impl=@(padded|vector)
two_gemv|memcheck|*
two_gemv|synccheck|*
two_gemv|racecheck|- its blocks wait for each other no longer than a budget that the tool outlasts
two_layers|memcheck|*
two_layers|synccheck|*
two_layers|racecheck|- not tried on a GPU: its blocks wait for each other no longer than a budget that the tool outlasts
two_stages|memcheck|*
two_stages|synccheck|*
two_stages|racecheck|- not tried on a GPU: its blocks wait for each other no longer than a budget that the tool outlasts
END
}

# cases PROGRAM TOOL
cases() { table | awk -F '|' -v p="$1" -v t="$2" '$1 == p && $2 == t { sub(/^[^|]*\|[^|]*\|/, ""); print }'; }

if [ "${1-}" = --table ]; then
    table
    exit
fi

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

# What the table's cases are for:
# layout without the load that must fault, in a process of its own. The tools' own local and shared memory
# lets fewer blocks fit an SM than the occupancy API says: occupancy without what counts them, and what
# wants two of 32 warps. small_gemm's own kernels at the small shapes of --check: what the tools say of
# cuBLAS is not ours. synccheck of 100000 blocks that keep sums in shared memory ends the program by an
# illegal access of the tool's own: memcheck and the program alone find none. racecheck without bulk
# copies that many threads read, which it takes for stores of the thread that asked: it does not see the
# mbarrier at which the others wait. Without loaded_chase, where a block's threads poll a word in shared
# memory. Of edges and jitter what uses shared memory, once: racecheck of whole chains does not end in time.
declare -A set_of=([memory_latency]=max_bytes=1M [all_reduce]=loopback=1 [peer_memory]=loopback=1
    [signal]=loopback=1)
declare -A whose=([all_reduce]=all [peer_memory]=all [signal]=all) # a process for each rank
declare -A race_option=([bandwidth]=--kernel-name-exclude=kernel_substring=loaded_chase)
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
        --target-processes "${whose[$name]:-application-only}" "$@" "$probe" --check "${options[@]}" >"$log" 2>&1 || status=$?
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

# look TOOL PROBE CASES
look() {
    local kind=$1 probe=$2 cases=$3 name options=()
    name=$(basename "$probe")
    [ "$cases" != '*' ] || cases=
    case $kind in
    memcheck) options=(--leak-check no) ;;
    racecheck)
        options=(--racecheck-report all ${race_option[$name]:+"${race_option[$name]}"})
        if [[ $alone = *" $name "* ]]; then
            mkdir -p "$work/alone"
            cp "$probe" "$work/alone/"
            probe=$work/alone/$name
        fi
        ;;
    esac
    sanitize "$kind" "$probe" "$cases" "${options[@]}"
}

for probe in "$bin"/probes/* "$bin"/matmul/* "$bin"/fused/* "$bin"/links/*; do
    [ -x "$probe" ] || continue
    name=$(basename "$probe")
    [[ $only = "  " || $only = *" $name "* ]] || continue
    for kind in memcheck synccheck racecheck; do
        shapes=$(cases "$name" "$kind")
        case $shapes in
        '') say FAIL "$kind" "$name" "the table has no line for it" ;;
        -*) say skip "$kind" "$name" "${shapes#- }" ;;
        *) look "$kind" "$probe" "$shapes" ;;
        esac
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$((passed + failed))" -gt 0 ] || exit 77
[ "$failed" = 0 ]
