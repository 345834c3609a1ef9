#!/bin/bash
# tree.sh BUILD: rules of the source tree that no compiler enforces. Dependencies point one way
# (probes, matmul, fused -> core; links -> fused/common -> core; report -> core), a program never includes
# another, host code compiles without a word under gcc and under clang, and scripts parse.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0 skipped=0

# check NAME COMMAND...: the command must print nothing.
check() {
    local name=$1 out
    shift
    out=$("$@" 2>&1)
    if [ -z "$out" ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $name"
    head -n 12 <<<"$out" | cut -c1-200 | sed 's/^/    /'
}

# Lines of the form FILE:#include "x" in the C and CUDA files of a folder.
includes() {
    find "$@" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort | xargs grep -H '^#include "'
}

core_knows_only_core() {
    includes core | grep -v '#include "core/' | grep -v 'version_values.h'
}

report_knows_only_core() {
    includes report | grep -v -e '#include "core/' -e '#include "report/'
}

# report/cli -> report/claims, report/floor -> report/bundle -> core; report/cli -> report/chart, which draws and knows
# nothing of what it draws.
report_folders_point_one_way() {
    includes report/bundle | grep -e '#include "report/\(cli\|claims\|chart\|floor\)/'
    includes report/claims | grep -e '#include "report/\(cli\|chart\|floor\)/'
    includes report/floor | grep -v -e ':#include "report/\(floor\|bundle\)/' -e ':#include "core/'
    includes report/chart | grep -v ':#include "report/chart/'
}

# A judge gets rows from rules.c alone, which checks them against the claim's needs.
judges_take_by_rule() {
    grep -nE '\brows_(find|match|beside|pick)\b|bundle->rows' report/claims/*.c | grep -v '^report/claims/rules\.c:'
}

# A program may include core/, its own folder, and common/ of its group, which knows no program. Those
# of links/ may take what they compute on one GPU from fused/common/: the one arrow between folders.
programs_know_no_other() {
    local file included
    for file in {probes,matmul,fused,links}/*/*.{c,cu,h,cuh}; do
        [ -e "$file" ] || continue
        sed -n 's/^#include "\(.*\)"$/\1/p' "$file" | while read -r included; do
            case $included in core/* | "${file%/*}"/* | "${file%%/*}"/common/*) continue ;; esac
            case ${file%%/*}:$included in links:fused/common/*) continue ;; esac
            echo "$file includes $included"
        done
    done
}

# The program that reports measures nothing: it links no CUDA. And no probe links libcuda: without
# that library it would not start.
links_no_driver() {
    local file
    for file in "$build"/bin/gpufloor "$build"/bin/*/*; do
        readelf -d "$file" | grep -E 'NEEDED.*(libcuda|libcudart|libjansson)' | sed "s|^|$file |"
    done
}

# No driver may compile measured code, because its version is unknown. A fatbin is a header (magic,
# version, its size, size of the rest) and entries of the same shape; their first field is 1 for
# PTX, 2 for a cubin.
keeps_no_ptx() {
    python3 - "$build" <<'END'
import glob, struct, sys
for path in glob.glob(f"{sys.argv[1]}/**/*.fatbin", recursive=True):
    data = open(path, "rb").read()
    magic, _, at, _ = struct.unpack_from("<IHHQ", data)
    kinds = []
    while magic == 0xBA55ED50 and at + 16 <= len(data):
        kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
        kinds.append(kind)
        at += head + size
    if not kinds or set(kinds) != {2}:
        print(f"{path}: entries of the kinds {kinds}, expected cubins (2) only")
END
}

# Compiles every host file with one compiler, two at a time, with the flags of the Makefile.
compiles_under() {
    local cuda=${CUDA_HOME:-/usr/local/cuda}/include
    local cupti=${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/include
    find core probes matmul fused links report tests/unit tests/chart tests/counters -name '*.c' | while read -r file; do
        # Those that need CUDA's headers, at whatever depth, where there are none.
        [ -e "$cuda/cuda_runtime_api.h" ] && [ -e "$cupti/cupti.h" -o -e "$cuda/cupti.h" ] ||
            ! "$1" -MM -MG -D_GNU_SOURCE -I. -I"$build" "$file" | grep -qE ' (cuda|cublas|cupti)' || continue
        echo "$file"
    done | xargs -P 2 -n 4 "$1" -fsyntax-only -std=c11 -D_GNU_SOURCE -I. -I"$build" -isystem "$cuda" \
        -isystem "$cupti" -Icore/plugins/compat \
        -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wno-enum-float-conversion -Werror
}

scripts_parse() {
    local file
    find tests install .ci -type f -perm -u+x | while read -r file; do
        case $(head -n 1 "$file") in
        '#!/bin/sh') sh -n "$file" ;;
        '#!/bin/bash') bash -n "$file" ;;
        '#!/usr/bin/env python3') python3 -c "import ast, sys; ast.parse(open('$file').read())" ;;
        *) echo "$file: unknown first line" ;;
        esac
    done
}

check "core includes only core" core_knows_only_core
check "report includes only report and core" report_knows_only_core
check "report's folders point one way" report_folders_point_one_way
check "judges take rows by rule" judges_take_by_rule
check "no program includes another" programs_know_no_other
check "nothing links a driver, a runtime or jansson dynamically" links_no_driver
check "no PTX is embedded" keeps_no_ptx
check "scripts parse" scripts_parse
if command -v clang >/dev/null; then
    check "host code compiles under clang" compiles_under clang
else
    skipped=$((skipped + 1))
    echo "skip host code under clang: no clang"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
