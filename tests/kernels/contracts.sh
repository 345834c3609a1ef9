#!/bin/sh
# contracts.sh SASS BUILD_DIR: checks the contracts of every kernel that gpufloor ships, on all the
# architectures that BUILD_DIR was last built for: cubins of others lie there from before, and may be of other
# sources. Prints the failures, a line per source, and the sum.
set -u
sass=$(realpath "$1") build=$(realpath "$2")
cd "$(dirname "$0")/../.." || exit 2
archs=$(cat "$build/archs") || exit 2
passed=0
failed=0

for source in probes/*/*.cu matmul/*/*.cu fused/*/*.cu links/*/*.cu \
    core/device/*.cu; do
    [ -e "$source" ] || continue
    set --
    for arch in $archs; do
        cubin=$build/${source%.cu}.sm_$arch.cubin
        if [ -e "$cubin" ]; then
            set -- "$@" "$cubin"
        else
            echo "FAIL $source: no cubin of it for sm_$arch in $build"
            failed=$((failed + 1))
        fi
    done
    [ $# -gt 0 ] || continue
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
