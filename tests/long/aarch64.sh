#!/bin/bash
# aarch64.sh BUILD: the host part for 64-bit Arm. Debian's cross compiler builds it without a warning, with jansson
# and cmocka from arm64 packages in a folder of this test's own. Where qemu-user is here, the unit tests pass
# under it, a host probe measures, and gpufloor report prints what BUILD's gpufloor prints, byte for byte.
# Kernels are not built: a cross compiler's nvcc is nobody's yet (docs/COMPATIBILITY.md).
# 77 without the compiler or the packages.
set -u
native=$(realpath "$1/bin/gpufloor")
cd "$(dirname "$0")/../.." || exit 1
cc=aarch64-linux-gnu-gcc
bundle=results/nvidia-h100-80gb-hbm3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/count.sh
skip() { echo "skipped: $1"; exit 77; }

remark() { grep -E 'warning:|error:|^not ok|FAIL|differ' "$work/out" | head -n 8; }

command -v $cc >/dev/null || skip "no $cc (make test-long installs it as root)"
[ "$(uname -m)" != aarch64 ] || skip "this machine is one: make test is this test"
mirror=$(grep -rhoE '(URIs: *|^deb (\[[^]]*\] )?)https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list \
    /etc/apt/sources.list.d 2>/dev/null | grep -oE 'https?://[^ ]+' | head -n 1)
[ -n "$mirror" ] || skip "no Debian mirror in apt's sources"

# --- jansson and cmocka for arm64, by apt with lists of its own: dpkg is told nothing --------------------------

suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
mkdir -p "$work"/apt/{lists,cache/archives}/partial "$work/apt/parts" "$work/root"
: >"$work/apt/status"
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$key] $mirror $suite main" >"$work/apt/sources.list"
apt_get() {
    (cd "$work/apt" && apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= \
        -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" \
        -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts="$work/apt/parts" \
        -o Acquire::Languages=none "$@") >"$work/out" 2>&1 </dev/null
}
{ apt_get update && apt_get download libjansson-dev libjansson4 libcmocka-dev libcmocka0; } ||
    skip "no arm64 packages: $(grep -m 1 '^[EW]:' "$work/out" | cut -c1-150)"
for package in "$work"/apt/*.deb; do
    dpkg -x "$package" "$work/root" || exit 1
done

# --- build ---------------------------------------------------------------------------------------------------------

lib=$work/root/usr/lib/aarch64-linux-gnu
clean_make() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u NVCC make -j2 --no-print-directory CC=$cc \
        B="$work/build" CPPFLAGS="-isystem '$work/root/usr/include' -isystem '$work/root/usr/include/aarch64-linux-gnu'" \
        LDFLAGS="-L'$lib'" "$@" >"$work/out" 2>&1 </dev/null
}
units=$(ls tests/unit/test_*.c | sed "s,\(.*\)\.c,$work/build/\1,")
# shellcheck disable=SC2086 # a list of words
clean_make WERROR=-Werror all $units
result $? "$cc builds the host part without a warning"
if [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    grep -q "^$cc compiles for another machine than the CUDA toolkit" "$work/out"
    result $? "and make says why it builds no kernel"
fi
file=$work/build/bin/gpufloor
[ "$(od -An -tu2 -j18 -N2 "$file" 2>/dev/null | tr -d ' ')" = 183 ]
result $? "gpufloor is a program for aarch64"

# --- run ------------------------------------------------------------------------------------------------------------

if ! command -v qemu-aarch64 >/dev/null; then
    skipped=1
    echo "skip running it: no qemu-aarch64 (make test-long installs qemu-user as root)"
else
    arm() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$lib" "$@"; }
    skip_one() {
        skipped=$((skipped + 1))
        echo "skip under qemu: $1"
    }
    # A program under qemu can start another only where the kernel knows qemu (binfmt_misc).
    starts=
    "$work/build/bin/probes/null" --help >/dev/null 2>&1 && starts=1
    for unit in $units; do
        case ${unit##*/} in
        test_chart_layout) skip_one "test_chart_layout: it lays out so much that it takes minutes"; continue ;;
        test_respawn | test_links) [ -n "$starts" ] || { skip_one "${unit##*/}: it starts itself"; continue; } ;;
        esac
        arm "$unit" >"$work/out" 2>&1 </dev/null
        result $? "under qemu: $(basename "$unit")"
    done
    # Both stand alone, so that neither has programs to ask.
    mkdir "$work/native" "$work/arm" && cp "$native" "$work/native/" && cp "$file" "$work/arm/" || exit 1
    native=$work/native/gpufloor file=$work/arm/gpufloor
    for format in text json; do
        "$native" report --format $format $bundle >"$work/of_native" 2>&1
        arm "$file" report --format $format $bundle >"$work/of_arm" 2>&1
        cmp "$work/of_native" "$work/of_arm" >"$work/out" 2>&1
        result $? "under qemu: gpufloor report --format $format, byte for byte"
    done
    "$native" claims --format tsv $bundle >"$work/of_native" 2>&1
    arm "$file" claims --format tsv $bundle >"$work/of_arm" 2>&1
    cmp "$work/of_native" "$work/of_arm" >"$work/out" 2>&1
    result $? "under qemu: gpufloor claims, byte for byte"
    if [ -n "$starts" ]; then
        arm "$work/build/bin/probes/null" --json >"$work/run.json" 2>"$work/out"
    else
        skip_one "null: it starts processes"
        arm "$work/build/bin/probes/host_memory" --json >"$work/run.json" 2>"$work/out"
    fi
    result $? "under qemu: a host probe measures"
    tests/schema.py run "$work/run.json" >"$work/out" 2>&1
    result $? "and its document follows the schema"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
