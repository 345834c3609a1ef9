#!/bin/bash
# docs.sh GPUFLOOR [--update]: the generated documents are what the program prints. docs/METRICS.md,
# docs/PROBES.md, docs/COMPATIBILITY.md, docs/CLAIMS.md, docs/H200.md, the pages docs/h200.html,
# docs/h100-h200.html, docs/2x-h200.html and docs/4x-h200.html, the figures in docs/figures/, install/gpufloor.1, and between
# markers README's parts and the tables of docs/FLOOR.md. --update rewrites them.
set -u
gpufloor=$(realpath "$1")
update=${2:-}
cd "$(dirname "$0")/../.." || exit 1
results=results/nvidia-h200
between=results/2x-nvidia-h200
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

fail() {
    failed=$((failed + 1))
    echo "FAIL $1"
}

# print FILE ARGUMENT...: what the program prints, into FILE; empty output is a failure.
print() {
    local file=$1
    shift
    "$gpufloor" "$@" >"$file" 2>"$work/said" </dev/null && [ -s "$file" ] && return
    fail "gpufloor $*: exit $?, $(head -n 1 "$work/said")"
    return 1
}

# same PAGE NEW: PAGE holds what NEW holds.
same() {
    if [ -n "$update" ]; then
        cmp -s "$1" "$2" || { cp "$2" "$1" && echo "new  $1"; }
    elif [ ! -e "$1" ]; then
        fail "$1 is missing: make test-update writes it"
    elif diff -u --label "$1" --label generated "$1" "$2" >"$work/diff"; then
        passed=$((passed + 1))
    else
        fail "$1 is not what gpufloor prints: make test-update, and read the diff"
        head -n 12 "$work/diff" | sed 's/^/    /'
    fi
}

# with PAGE NAME FILE: PAGE, with FILE between its markers <!-- NAME --> and the closing one of NAME's
# first word, each on a line of its own.
with() {
    awk -v name="$2" -v file="$3" '
        BEGIN { split(name, words, " "); opens = "<!-- " name " -->"; closes = "<!-- /" words[1] " -->" }
        $0 == closes { inside = 0 }
        !inside { print }
        $0 == opens {
            inside = 1
            while ((getline line <file) > 0) print line
        }' "$1"
}

# A build without CUDA knows only half of the metrics, and not which rows are by other kernels than this tree's: of a
# folder of bundles it may take another one. There each document is printed, and none is compared.
has_kernels=
! "$gpufloor" list 2>/dev/null | grep -q '^memory_latency:' || has_kernels=yes
same_here() {
    if [ -n "$has_kernels" ]; then
        same "$@"
    else
        skipped=$((skipped + 1))
        echo "skip $1: no GPU probes are built"
    fi
}

print "$work/METRICS.md" list --format md && same_here docs/METRICS.md "$work/METRICS.md"
print "$work/PROBES.md" list --questions --format md && same_here docs/PROBES.md "$work/PROBES.md"
if [ -z "$has_kernels" ] || tests/compatibility.py "$gpufloor" >"$work/COMPATIBILITY.md"; then
    same_here docs/COMPATIBILITY.md "$work/COMPATIBILITY.md"
else
    fail "tests/compatibility.py: exit $?"
fi

# compatibility EXIT GREP WHAT: of a build of sm_90a whose one kernel a folder says $said, and in which a cubin of sm_80
# lies from before, tests/compatibility.py exits so, and prints a line like that.
compatibility() {
    local status=0
    printf '#!/bin/sh\ncase "$*" in *sm_80*) echo "cubins from before are read"; exit 2 ;; esac\n%s\n' "$said" \
        >"$work/build/tests/sass"
    tests/compatibility.py "$gpufloor" "$work/build" >"$work/out" 2>&1 || status=$?
    if [ "$status" = "$1" ] && grep -q "$2" "$work/out"; then
        passed=$((passed + 1))
    else
        fail "tests/compatibility.py, $3: exit $status, $(head -n 1 "$work/out")"
    fi
}
mkdir -p "$work/build/tests" "$work/build/core/device"
: >"$work/build/tests/sass" && chmod +x "$work/build/tests/sass"
: >"$work/build/core/device/harness.sm_80.cubin"
echo 90a >"$work/build/archs"
sources=$(find core/device probes matmul fused links -name '*.cu' | wc -l)
# shellcheck disable=SC2016 # $1 is that script's
said='echo "ok    $1 kernel sm_90a  ldg=1"'
compatibility 0 "^| 9.0 | sm_90a | $sources |" "a contract a source"
# shellcheck disable=SC2016
said='echo "FAIL  $1 kernel sm_90a  expected ldg=1"; exit 1'
compatibility 1 "^$sources contracts do not hold, the first of core/device: kernel sm_90a" "contracts that do not hold"
said='echo "sass: no such cubin" >&2; exit 2'
compatibility 2 "^sass: no such cubin" "a cubin that cannot be read"
print "$work/H200.md" report --section vital --format md $results && same_here docs/H200.md "$work/H200.md"
print "$work/CLAIMS.md" claims --format md $results && same_here docs/CLAIMS.md "$work/CLAIMS.md"
if "$gpufloor" report --html="$work/h200.html" --figures="$work/figures" $results; then
    same_here docs/h200.html "$work/h200.html"
    mkdir -p docs/figures
    for figure in "$work"/figures/*.svg; do
        same_here "docs/figures/$(basename "$figure")" "$figure"
    done
else
    fail "gpufloor report --html --figures: exit $?"
fi
if "$gpufloor" report --html="$work/h100-h200.html" results/nvidia-h100-80gb-hbm3 $results; then
    same_here docs/h100-h200.html "$work/h100-h200.html"
else
    fail "gpufloor report --html of two boards: exit $?"
fi
# Of what several GPUs have no figure repeats one of a single GPU, whose rows are in its own page.
for several in 2x 4x; do
    if "$gpufloor" report --html="$work/$several-h200.html" --figures="$work/$several" results/$several-nvidia-h200; then
        same_here docs/$several-h200.html "$work/$several-h200.html"
    else
        fail "gpufloor report --html --figures of several GPUs, $several: exit $?"
    fi
done
for figure in sums copies; do
    same_here docs/figures/$figure.svg "$work/2x/$figure.svg"
done
if install/man.py "$gpufloor" >"$work/gpufloor.1"; then
    same install/gpufloor.1 "$work/gpufloor.1"
else
    fail "install/man.py: exit $?"
fi
if [ ! -e README.md ]; then
    fail "README.md is missing"
elif [ "$(grep -cxE '<!-- /?(short|links) -->' README.md)" != 4 ]; then
    fail "README.md lacks its markers <!-- short -->, <!-- /short -->, <!-- links --> or <!-- /links -->, one of each"
elif print "$work/short" report --short $results; then
    with README.md short "$work/short" >"$work/README.md"
    if print "$work/links" report --short $between; then
        with "$work/README.md" links "$work/links" >"$work/README.next"
        mv "$work/README.next" "$work/README.md"
    fi
    same_here README.md "$work/README.md"
fi

cp docs/FLOOR.md "$work/FLOOR.md"
for board in nvidia-h200 nvidia-h100-80gb-hbm3; do
    print "$work/floor" floor --format md "results/$board" || continue
    with "$work/FLOOR.md" "floor $board" "$work/floor" >"$work/FLOOR.next"
    mv "$work/FLOOR.next" "$work/FLOOR.md"
done
same_here docs/FLOOR.md "$work/FLOOR.md"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
