#!/bin/bash
# sanitize.sh BIN: compute-sanitizer's four tools over every kernel of every probe, under --check,
# which launches each once. Non-zero on any finding. 77 without a GPU or without the tool.
#
# The tools slow a kernel down by 10 to 1000; SET_OF and CASE_OF keep shapes small where a probe's
# own are large.
set -u
bin=$(realpath "$1")
cuda=${CUDA_HOME:-/usr/local/cuda}
tool=$(command -v compute-sanitizer || ls "$cuda/bin/compute-sanitizer" 2>/dev/null)
if [ -z "$tool" ]; then
    echo "skipped: compute-sanitizer is not in PATH nor in $cuda/bin"
    exit 77
fi
declare -A set_of=([memory_latency]=max_bytes=1M) case_of=(
    # racecheck takes shared memory of its own, so that fewer blocks fit an SM than the census wants
    [occupancy]='*warps=[1-4],*'
    # our own kernels at the small shapes of --check: what the tools say of cuBLAS is not ours
    [small_gemm]='@(m=[2-9]*impl=mma*|m=192,*impl=mma*|type=*)'
    [bias_gelu_scale]='rows=@(1|7|129),*')
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

# sanitize TOOL PROBE OPTION...
sanitize() {
    local kind=$1 probe=$2 status=0 word=ok began=$SECONDS options=()
    shift 2
    local name
    name=$(basename "$probe")
    [ "${set_of[$name]:-}" ] && options+=("--set=${set_of[$name]}")
    [ "${case_of[$name]:-}" ] && options+=("--case=${case_of[$name]}")
    # null starts children of itself; only what this process launches is of interest.
    timeout "${SANITIZE_SECONDS:-300}" "$tool" --tool "$kind" --error-exitcode 99 --target-processes \
        application-only "$@" "$probe" --check "${options[@]}" >"$log" 2>&1 || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) word=skip ;;
    *) failed=$((failed + 1)) word=FAIL ;;
    esac
    printf '%-5s %-10s %-18s %4d s  %s\n' $word "$kind" "$name" $((SECONDS - began)) \
        "$(grep -E 'SUMMARY|skipped:' "$log" | tail -n 1 | sed 's/^=* *//')"
    [ $word != FAIL ] || { echo "    exit $status"; grep -v '^$' "$log" | head -n 25 | cut -c1-160 | sed 's/^/    /'; }
}

for probe in "$bin"/probes/* "$bin"/matmul/* "$bin"/fused/*; do
    [ -x "$probe" ] || continue
    "$probe" --list --json | grep -q '"needs": "gpu"' || continue
    sanitize memcheck "$probe" --leak-check no
    sanitize racecheck "$probe" --racecheck-report all
    sanitize synccheck "$probe"
    sanitize initcheck "$probe"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$((passed + failed))" -gt 0 ] || exit 77
[ "$failed" = 0 ]
