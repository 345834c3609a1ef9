#!/bin/bash
# compilers.sh: all host code under clang and under a second gcc, optimised (which finds more than a look
# at the syntax does), warnings being failures; and what each of them builds passes the unit tests.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}
. tests/count.sh

remark() { grep -E 'warning:|error:|^not ok|FAIL' "$work/out" | head -n 8; }

# Files that need CUDA's headers, one by one: all of which no object was made yet.
compile_gpu_files() { # compile_gpu_files CC
    find core probes matmul fused links -name '*.c' | while read -r file; do
        [ -e "$work/$1/${file%.c}.o" ] || echo "$file"
    done | xargs -P 2 -I@ "$1" -c -o /dev/null -O2 -std=c11 -D_GNU_SOURCE -I. -I"$work/$1" \
            -Icore/plugins/compat -isystem "$cuda/include" -isystem "$cuda/extras/CUPTI/include" -Wall -Wextra \
            -Wshadow -Wconversion -Wstrict-prototypes -Wno-enum-float-conversion -Werror @ >"$work/out" 2>&1
}

try() { # try CC
    local cc=$1 unit werror=-Werror
    # gcc 11 takes an array for the literal beside it, where it clones a function and drops an argument.
    [ "$cc" != gcc-11 ] || werror="-Werror -Wno-error=stringop-overread"
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES make -j2 CC="$cc" B="$work/$cc" WERROR="$werror" \
        CUDA_HOME=/nonexistent all tests >"$work/out" 2>&1 </dev/null
    result $? "$cc builds the host part without a warning"
    for unit in "$work/$cc"/tests/unit/test_*[a-z]; do
        [ -x "$unit" ] || continue
        "$unit" >"$work/out" 2>&1 </dev/null
        result $? "$cc: $(basename "$unit")"
    done
    if [ -e "$cuda/include/cuda_runtime_api.h" ]; then
        compile_gpu_files "$cc"
        result $? "$cc compiles what calls CUDA without a warning"
    else
        skipped=$((skipped + 1))
        echo "skip $cc on what calls CUDA: no CUDA toolkit"
    fi
}

own=$(cc -dumpversion)
second=
for n in 10 11 12 13 14 15 16; do
    [ "$n" = "${own%%.*}" ] || ! command -v "gcc-$n" >/dev/null || second=gcc-$n
done
for cc in clang ${second:-gcc-other}; do
    if command -v "$cc" >/dev/null; then
        try "$cc"
    else
        skipped=$((skipped + 1))
        echo "skip $cc: not installed (make test-long installs it as root)"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
