#!/bin/sh
# run.sh SASS NVCC: tests of the contract checker itself. Every file of faults/ has one planted
# fault. Its first line says how the checker must exit and what it must print (and on which
# architectures, if not on 90a and 120). good_*.cu must pass on all. Also tested: unknown opcodes,
# files that are no proper cubins, and the driver contracts.sh.
set -u
sass=$1
nvcc=$2
cd "$(dirname "$0")/faults" || exit 2
case $sass in /*) ;; *) sass=$OLDPWD/$sass ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# compile FILE.cu ARCH...: two at a time, $work/FILE.sm_ARCH.cubin.
compile() {
    source=$1
    shift
    printf '%s\n' "$@" | xargs -P 2 -I@ "$nvcc" -std=c++17 -w -cubin -arch=sm_@ "$source" \
        -o "$work/${source%.cu}.sm_@.cubin"
}

# expect NAME STATUS TEXT COMMAND...: runs it and looks for the exit status and the text.
expect() {
    name=$1 status=$2 text=$3
    shift 3
    got=0
    "$@" >"$work/out" 2>&1 || got=$?
    if [ "$got" = "$status" ] && grep -qF -- "$text" "$work/out"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $name: expected exit $status and '$text', got exit $got and:"
    sed 's/^/    /' "$work/out"
}

for source in *.cu; do
    first=$(head -n 1 "$source")
    case $first in
    "// expect "*) ;;
    *) continue ;;
    esac
    planted=${first#// expect }
    status=${planted%%:*} archs="90a 120"
    case $status in
    *" on "*) archs=${status#* on } status=${status%% *} ;;
    esac
    # shellcheck disable=SC2086
    compile "$source" $archs
    # Each architecture on its own, so that a failure of one cannot hide the other's.
    for arch in $archs; do
        say=$(echo "${planted#*: }" | sed "s/sm_90a/sm_$arch/")
        expect "${source%.cu} sm_$arch" "$status" "$say" \
            "$sass" "$source" "$work/${source%.cu}.sm_$arch.cubin"
    done
done

for good in good_stream:14 good_chase:28; do
    count=${good#*:} good=${good%:*}
    compile "$good.cu" 75 80 86 89 90a 100 120
    expect "$good on all architectures" 0 "$count passed, 0 failed" \
        "$sass" "$good.cu" "$work/$good".sm_*.cubin
done
cubin=$work/$good.sm_90a.cubin
expect "unknown opcode" 1 "found opcode 0x981 at" "$sass" --forget=LDG "$good.cu" "$cubin"

broken=$work/broken.sm_90a.cubin
size=$(wc -c <"$cubin")
for bytes in 0 3 63 64 200 $((size / 2)) $((size - 3000)) $((size - 1000)); do
    head -c "$bytes" "$cubin" >"$broken"
    expect "cubin cut to $bytes bytes" 2 "cubin" "$sass" "$good.cu" "$broken"
done
cp "$good.cu" "$broken"
expect "text in place of a cubin" 2 "not a cubin" "$sass" "$good.cu" "$broken"
cp /bin/sh "$broken"
expect "a program in place of a cubin" 2 "not a cubin" "$sass" "$good.cu" "$broken"
cp "$cubin" "$work/wrong.sm_80.cubin"
expect "another architecture than named" 2 "its name says sm_80" \
    "$sass" "$good.cu" "$work/wrong.sm_80.cubin"
cp "$cubin" "$work/unknown.sm_70.cubin"
expect "an architecture without table" 2 "known architecture" \
    "$sass" "$good.cu" "$work/unknown.sm_70.cubin"
expect "no such file" 2 "cannot be opened" "$sass" "$good.cu" "$work/none.sm_90a.cubin"
expect "no arguments" 2 "usage:" "$sass"

# The driver: of no build; without any cubin; with one of another architecture than the build's; with a failure;
# with a file that is no cubin.
mkdir -p "$work/build/core/device"
expect "driver and no build" 2 "archs" ../contracts.sh "$sass" "$work/build"
echo 90a >"$work/build/archs"
expect "driver without cubins" 1 "core/device/harness.cu: no cubin of it for sm_90a" \
    ../contracts.sh "$sass" "$work/build"
cp "$work/$good.sm_80.cubin" "$work/build/core/device/harness.sm_80.cubin"
expect "driver and a cubin from before" 1 "core/device/harness.cu: no cubin of it for sm_90a" \
    ../contracts.sh "$sass" "$work/build"
cp "$cubin" "$work/build/core/device/harness.sm_90a.cubin"
expect "driver and a failure" 1 "good_ca sm_90a  expected a contract" \
    ../contracts.sh "$sass" "$work/build"
: >"$work/build/core/device/harness.sm_90a.cubin"
expect "driver and no cubin" 1 "FAIL core/device/harness.cu: sass:" \
    ../contracts.sh "$sass" "$work/build"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
