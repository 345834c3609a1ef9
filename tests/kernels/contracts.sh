#!/bin/sh
# contracts.sh SASS BUILD_DIR: checks the contracts of every kernel that gpufloor ships, on all the
# architectures that have cubins in BUILD_DIR. Prints the failures, a line per source, and the sum.
set -u
sass=$(realpath "$1") build=$(realpath "$2")
cd "$(dirname "$0")/../.." || exit 2
passed=0
failed=0

for source in probes/*/*.cu matmul/*/*.cu fused/*/*.cu links/*/*.cu \
    core/device/*.cu; do
    [ -e "$source" ] || continue
    set -- "$build/${source%.cu}".sm_*.cubin
    if [ ! -e "$1" ]; then
        echo "FAIL $source: no cubin of it in $build"
        failed=$((failed + 1))
        continue
    fi
    out=$("$sass" "$source" "$@" 2>&1)
    case $? in
    0 | 1)
        sum=$(echo "$out" | tail -n 1)
        passed=$((passed + ${sum%% *}))
        sum=${sum#*, }
        failed=$((failed + ${sum%% *}))
        echo "$out" | grep '^FAIL'
        echo "$source on $# architectures: $(echo "$out" | tail -n 1)"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $source: $out"
        ;;
    esac
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
