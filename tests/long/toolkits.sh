#!/bin/bash
# toolkits.sh BUILD: the kernels under the oldest toolkits that PyPI has. It has no whole nvcc older than 13.0.88; of 12.8,
# the floor, it has libnvrtc and ptxas, of which nvcc.py makes cubins. Each must compile every file and keep the
# contracts, but for the differences that toolkits.txt lists, no more and no fewer. Under libnvrtc a kernel
# may also have more other instructions than its contract allows: those bounds are nvcc's. What is older
# than the floor is refused in one line. 13.0 links the programs as well.
#
# Compiled for TOOLKIT_ARCHS (default: 75 90a 120, the oldest, the one that is measured, the newest; all
# seven take 4 minutes of one core more). TOOLKITS names those to try. 77 where PyPI cannot be reached.
set -u
sass=$(realpath "$1/tests/sass")
cd "$(dirname "$0")/../.." || exit 1
archs=${TOOLKIT_ARCHS:-75 90a 120}
table=$PWD/tests/long/toolkits.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/count.sh

remark() { grep -iE -m 6 'error|needed|warning|lacks|FAIL' "$work/out"; }

# What is not x86-64's has other wheels.
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the wheels are x86-64's"; exit 77; }
python3 -m pip --version >/dev/null 2>&1 || { echo "skipped: no pip (make test-long installs it as root)"; exit 77; }

# get NAME: the wheels of a toolkit, into $work/NAME.
get() {
    local packages
    packages=$(awk -F '\t' -v name="$1" '$1 == "toolkit" && $2 == name { print $4 }' "$table")
    # shellcheck disable=SC2086 # a list of words
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$work/$1" $packages \
        >"$work/out" 2>&1 </dev/null && return
    echo "skipped: PyPI gives no $packages: $(grep -m 1 -i error "$work/out" | cut -c1-150)"
    exit 77
}

# A folder as nvcc's, of libnvrtc, ptxas and headers: $work/NAME/toolkit.
gather() { # gather NAME
    local kit=$work/$1/toolkit
    mkdir -p "$kit/bin" "$kit/include" "$kit/lib64"
    cp tests/long/nvcc.py "$kit/bin/nvcc"
    ln -s "$work/$1/nvidia/cuda_nvcc/bin/ptxas" "$kit/bin/ptxas"
    chmod +x "$work/$1/nvidia/cuda_nvcc/bin/ptxas" "$kit/bin/nvcc"
    cp -r "$work/$1"/nvidia/*/include/. "$kit/include/"
    cp -r "$work/$1"/nvidia/cuda_nvrtc/lib/. "$kit/lib64/" 2>/dev/null
}

make_with() { # make_with NAME TOOLKIT VARIABLE=VALUE... TARGET...
    local b=$work/$1/build kit=$2
    shift 2
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u WERROR -u NVCC make -k -j2 --no-print-directory \
        B="$b" CUDA_HOME="$kit" "$@" >"$work/out" 2>&1 </dev/null
}

cubins() { # cubins NAME: what make calls them
    local source arch
    for source in core/device/*.cu probes/*/*.cu matmul/*/*.cu fused/*/*.cu links/*/*.cu; do
        for arch in $archs; do
            echo "$work/$1/build/${source%.cu}.sm_$arch.cubin"
        done
    done
}

# What contracts.sh said on stdin, as lines KERNEL ARCHITECTURE WORD...: the words of what did not hold.
# With the argument libnvrtc, a bound of other instructions is nvcc's own.
differences() {
    sed -nE 's/^FAIL [^ ]*\.cu ([^ ]+) sm_([0-9a]+)  (.*)/\1\t\2\t\3/p; s/^FAIL ([^ ]*\.cu): (no cubin).*/\1\t-\t\2/p' |
        awk -F '\t' -v nvrtc="$1" '{
            n = split($3, parts, "; "); words = ""
            for (i = 1; i <= n; i++) {
                word = parts[i]; sub(/^expected /, "", word); sub(/^this kernel.*/, "missing", word); sub(/[ ,<>=].*/, "", word)
                if (!(nvrtc && word == "other") && !seen[NR word]++) words = words " " word
            }
            if (words != "") print $1 "\t" $2 "\t" substr(words, 2)
        }' | sort
}

contracts() { # contracts NAME LIBNVRTC: as they shall be
    tests/kernels/contracts.sh "$sass" "$work/$1/build" >"$work/said"
    awk -F '\t' -v name="$1" -v archs=" $archs " '$1 == "difference" && $2 == name &&
        index(archs, " " $4 " ") { print $3 "\t" $4 "\t" $5 }' "$table" | sort >"$work/listed"
    differences "$2" <"$work/said" >"$work/found"
    diff "$work/listed" "$work/found" | sed -n 's/^</not found any more:/p; s/^>/FAIL new:/p' >"$work/out"
    cat "$work/out"
    [ ! -s "$work/out" ] && grep -qE '^[1-9][0-9]+ passed' "$work/said"
    result $? "$1: contracts hold on sm_{${archs// /,}}, but for what toolkits.txt lists"
    echo "$1: $(tail -n 1 "$work/said") contracts on $archs; $(wc -l <"$work/found") differ by more than other instructions"
}

below_the_floor() {
    local arch status
    gather 12.6
    CUDA_HOME=$work/12.6/toolkit tests/deps.sh toolkit >"$work/out"
    [ "$(wc -l <"$work/out")" = 1 ] && grep -q 'is 12\.6.*12\.8 or newer is needed$' "$work/out"
    result $? "12.6 is refused in one line"
    printf '.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n' >"$work/k.ptx"
    for arch in 75 100 120; do
        status=0
        "$work/12.6/toolkit/bin/ptxas" -arch=sm_$arch "$work/k.ptx" -o "$work/k.cubin" >"$work/out" 2>&1 || status=1
        [ $((status == 0)) = $((arch == 75)) ]
        result $? "12.6 compiles for 7.5, and not for 10.0 and 12.0, which is why it is refused: sm_$arch"
    done
}

the_floor() {
    gather 12.8
    CUDA_HOME=$work/12.8/toolkit tests/deps.sh toolkit >"$work/out"
    grep -q 'lacks libcudart_static' "$work/out"
    result $? "12.8 is no version to refuse"
    mapfile -t targets < <(cubins 12.8)
    make_with 12.8 "$work/12.8/toolkit" ARCH="$archs" NO_CUDA= "${targets[@]}"
    result $? "12.8 compiles every kernel for $archs"
    contracts 12.8 libnvrtc
}

the_oldest_nvcc() {
    local kit=$work/13.0/nvidia/cu13 own=${NVCC:-}
    chmod +x "$kit"/bin/* "$kit"/nvvm/bin/*
    CUDA_HOME=$kit tests/deps.sh toolkit >"$work/out"
    [ ! -s "$work/out" ]
    result $? "13.0 is taken as a toolkit"
    # Where the machine has a toolkit of its own, make test has compiled all architectures with it.
    [ -z "$own" ] || archs=${TOOLKIT_ARCHS:-90a}
    mapfile -t targets < <(cubins 13.0)
    make_with 13.0 "$kit" ARCH="$archs" WERROR=-Werror "${targets[@]}"
    result $? "13.0 compiles every kernel for $archs"
    contracts 13.0 ''
    make_with 13.0 "$kit" ARCH="$archs" all
    result $? "13.0 links the programs"
    "$work/13.0/build/bin/gpufloor" list >"$work/out" 2>&1 && grep -q '^memory_latency:' "$work/out"
    result $? "and gpufloor lists those that need a GPU"
}

for kit in ${TOOLKITS:-12.6 12.8 13.0}; do
    get "$kit"
    case $kit in
    12.6) below_the_floor ;;
    12.8) the_floor ;;
    13.0) the_oldest_nvcc ;;
    esac
    rm -rf "${work:?}/$kit"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
