#!/bin/bash
# run.sh BUILD: what a person is told on a machine without a usable GPU, for each state that such a
# machine can be in. The states are made with stand-in libraries in LD_LIBRARY_PATH, so that any
# machine, also one with a GPU, shows all of them. Further: what make says where the toolkit, the
# compiler, a library, the network or the right to write is missing; and a run that is interrupted.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
. tests/count.sh

remark() { tail -n 3 "$work/check"; tail -n 4 "$work/said"; }

check() { # check WHAT COMMAND...
    local what=$1
    shift
    "$@" >"$work/check" 2>&1
    result $? "$what"
}

# Runs a command; its outputs go to $work/out and $work/said, its exit status to $status.
start() {
    status=0
    timeout 60 "$@" >"$work/out" 2>"$work/said" </dev/null || status=$?
}

left_with() { [ "$status" = "$1" ] || { echo "exit $status, expected $1"; false; }; }
printed_nothing() { [ ! -s "$work/out" ]; }
said_lines() { [ "$(wc -l <"$work/said")" = "$1" ]; }
said() { grep -Eq -- "$1" "$work/said" || { echo "expected '$1' on stderr"; false; }; }
said_once() { [ "$(grep -o -- "$1" "$work/said" | wc -l)" = 1 ] || { echo "expected '$1' once"; false; }; }

# field FILE KEY: a field of the top of a JSON document.
field() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$1" "$2"
}
has_field() { [ "$(field "$1" "$2")" = "$3" ] || { echo "$2 is $(field "$1" "$2"), expected $3"; false; }; }

follows_schema() { tests/schema.py "$1" "$2"; } # true where python has no jsonschema

# --- the states of a driver -------------------------------------------------------------------------------

# A libcuda.so.1 that knows the two functions which tell the states apart.
library() { # library FOLDER DRIVER_VERSION RESULT_OF_INIT
    mkdir -p "$work/$1"
    printf 'int cuDriverGetVersion(int *v) { *v = %s; return 0; }\nint cuInit(unsigned f) { (void)f; %s }\n' \
        "$2" "return $3;" | $cc -x c -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$work/$1/libcuda.so.1" -
}

# state NAME FOLDER WORDS REASON: a GPU probe and gpufloor run, with FOLDER's libcuda.so.1.
state() {
    local name=$1 where=$work/$2 words=$3 reason=$4
    export LD_LIBRARY_PATH=$where
    start "$build/bin/probes/spin"
    check "$name: a GPU probe leaves with 77" left_with 77
    check "$name: nothing on stdout" printed_nothing
    check "$name: one line on stderr" said_lines 1
    check "$name: which says what it is" said "^spin: skipped: no GPU: .*$reason"

    start "$build/bin/probes/spin" --json
    cp "$work/out" "$work/$name.run.json"
    check "$name: a document all the same" has_field "$work/$name.run.json" status skipped
    check "$name: it names the state" has_field "$work/$name.run.json" gpu_state "$name"
    check "$name: it follows the schema" follows_schema run "$work/$name.run.json"

    measured "$name" "$build" "no GPU: $words" "$reason"
    unset LD_LIBRARY_PATH
}

# measured NAME BUILD WORDS REASON: gpufloor run measures what it can, and says once what it lacks.
measured() {
    local name=$1 bundle=$work/$1.json words=$3 reason=$4
    start "$2/bin/gpufloor" run --quick --output "$bundle" null
    check "$name: gpufloor run leaves with 0" left_with 0
    check "$name: it names the state" said "^$words"
    check "$name: and the reason" said "^${words%%:*}: .*$reason"
    check "$name: in one line, once" said_once "${words%%:*}"
    check "$name: the bundle is whole" has_field "$bundle" complete True
    check "$name: the bundle names the state" has_field "$bundle" gpu_state "$name"
    check "$name: the bundle follows the schema" follows_schema bundle "$bundle"
    start "$2/bin/gpufloor" report "$bundle"
    check "$name: the bundle can be reported" left_with 0

    start "$2/bin/gpufloor" run --quick --output "$work/none.json" spin
    check "$name: asked for a GPU probe only: no failure, no bundle" test "$status" != 1 -a ! -e "$work/none.json"
}

stub=
for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64/stubs "${CUDA_HOME:-/usr/local/cuda}"/lib/stubs; do
    [ -z "$stub" ] && [ -e "$folder/libcuda.so" ] && stub=$folder/libcuda.so
done

if [ -x "$build/bin/probes/spin" ]; then
    mkdir -p "$work/none"
    : >"$work/none/libcuda.so.1" # where there is a driver, this keeps the loader from finding it
    state no_driver none "no driver" "libcuda.so.1 was not found"
    library old 12040 0
    state old_driver old "driver too old" "too old.* CUDA 12\.4, .* needs [0-9]+\.[0-9]"
    library without 99990 100
    state no_device without "no device" "shows none"
    if [ "$stub" ]; then
        mkdir -p "$work/stub"
        cp "$stub" "$work/stub/libcuda.so.1"
        state stub_driver stub "stub library" "stub"
    else
        skip stub_driver "the toolkit here has no stub of libcuda"
    fi
    library broken 99990 999 # a driver that is there and fails: none of the four
    export LD_LIBRARY_PATH=$work/broken
    start "$build/bin/probes/spin"
    check "a driver that fails: 77, and CUDA's own words" said "^spin: skipped: no GPU: .*cudaError"
    check "a driver that fails: leaves with 77" left_with 77
    unset LD_LIBRARY_PATH
else
    skip "states of a driver" "no CUDA toolkit, so there is no GPU probe"
fi

# --- toolkits ----------------------------------------------------------------------------------------------

# Variables of the make that runs this test would leak into the one below.
make_alone() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u CXX -u WERROR make --no-print-directory \
        B="$work/host" CUDA_HOME=/nonexistent "$@"
}
start_make() { # start_make ARGUMENT...
    status=0
    make_alone "$@" >"$work/out" 2>"$work/said" </dev/null || status=$?
}
printed() { grep -Eq -- "$1" "$work/out" || { echo "expected '$1' on stdout"; false; }; }

start_make -j2
check "without a toolkit, make builds the rest" left_with 0
check "without a toolkit, make says so" printed "^no CUDA toolkit: built the host probes"
check "without a toolkit, nothing on stderr" said_lines 0
check "without a toolkit, no GPU probe" test ! -e "$work/host/bin/probes/spin"
check "without a toolkit, the host probes" test -x "$work/host/bin/probes/host_memory"
sed -n 's/^/    /p' "$work/said" | head -n 5
# Whether there is a GPU, nobody asked: that the probes are missing is what is to be said.
measured not_built "$work/host" "GPU probes: not built" "no CUDA toolkit; .*12\.8"
start "$work/host/bin/gpufloor" run --quick --output "$work/again.json" null
check "without a toolkit, it is not said that there is no GPU" bash -c "! grep -q 'no GPU' '$work/said'"

# A stand-in toolkit: nvcc says its version and ends as told, and keeps a list of how it was called.
fake_toolkit() { # fake_toolkit FOLDER VERSION_LINE SCRIPT
    mkdir -p "$work/$1/bin" "$work/$1/include" "$work/$1/lib64"
    : >"$work/$1/include/cuda_runtime_api.h"
    : >"$work/$1/lib64/libcudart_static.a"
    printf '#!/bin/sh\necho "$@" >>%s/called\ncase $1 in --version) echo "%s"; exit ;; esac\n%s\n' \
        "$work/$1" "$2" "$3" >"$work/$1/bin/nvcc"
    chmod +x "$work/$1/bin/nvcc"
}
# toolkit NAME WORDS ARGUMENT...: make says the words, once, and builds the rest.
toolkit() {
    local name=$1 words=$2
    shift 2
    start_make CUDA_HOME="$work/$name" "$@"
    check "$name: make builds the rest" left_with 0
    check "$name: says what is the matter" printed "^$words.*: built the host probes"
    check "$name: in one line" test "$(grep -c . "$work/out")" -le "$(($(grep -c '^  cc' "$work/out") + 1))"
    check "$name: nothing on stderr" said_lines 0
    start "$work/host/bin/gpufloor" run --quick --output "$work/$name.json" null
    check "$name: a run says it, too" said "^GPU probes: not built: $words"
}
fake_toolkit old_toolkit "Cuda compilation tools, release 12.4, V12.4.131" "exit 0"
toolkit old_toolkit "the CUDA toolkit in .*old_toolkit is 12\.4\.131, and 12\.8 or newer is needed"
fake_toolkit broken_toolkit "" "exit 127"
toolkit broken_toolkit ".*broken_toolkit/bin/nvcc does not run"
fake_toolkit half_toolkit "Cuda compilation tools, release 13.0, V13.0.88" "exit 0"
rm "$work/half_toolkit/lib64/libcudart_static.a"
toolkit half_toolkit "the CUDA toolkit in .*half_toolkit lacks libcudart_static.a"
fake_toolkit strange_host "Cuda compilation tools, release 13.0, V13.0.88" \
    'echo "In file included from x:" >&2; echo "host_config.h:137:2: error: #error -- unsupported GNU version!" >&2; exit 1'
toolkit strange_host "nvcc 13\.0\.88 cannot compile with g\+\+-99 .*CXX=.*unsupported GNU version" \
    CXX="ccache g++-99 -m64"
check "CXX names nvcc's host compiler" grep -q -- '-ccbin g++-99 ' "$work/strange_host/called"
rm "$work/strange_host/called"
start_make CUDA_HOME="$work/strange_host" host
check "without CXX, nvcc takes its own" bash -c "! grep -q -- -ccbin '$work/strange_host/called'"

# The real toolkit, a header and a library spoiled: what needs them is left out; in CI that is an error.
real=${CUDA_HOME:-/usr/local/cuda}
plugin() { # plugin NAME.so ARGUMENT...
    local name=$1
    shift
    rm -f "$work/host/bin/$name"
    start_make CUDA_HOME="$work/thin" "$work/host/bin/$name" "$@"
}
if [ -e "$real/include/cupti_range_profiler.h" ] || [ -d "$real/extras/CUPTI" ]; then
    mkdir -p "$work/thin/lib64" "$work/thin/include"
    for part in "$real"/* "$real"/lib64/* "$real"/include/*; do
        part=${part#"$real"/}
        case $part in
        include | lib64) ;;
        include/cublas_v2.h) echo "#error no cublas" >"$work/thin/$part" ;;
        lib64/libnvperf_host.so) echo "no library" >"$work/thin/$part" ;;
        *) ln -s "$real/$part" "$work/thin/$part" ;;
        esac
    done
    for name in blas.so counters.so; do
        lost="no row of cuBLAS"
        [ $name = blas.so ] || lost="no gpufloor counters"
        plugin $name
        check "$name that cannot be built: make goes on" left_with 0
        check "$name that cannot be built: in one line" said_lines 1
        check "$name that cannot be built: says what is lost" said "^left out .*$name, without it $lost.*: .*error"
        check "$name that cannot be built: is not there" test ! -e "$work/host/bin/$name"
        plugin $name WERROR=-Werror
        check "$name that cannot be built: an error in CI" left_with 2
    done
    # Headers of others, among them a real <string>, wherever an environment can name them.
    rm "$work/thin/lib64/libnvperf_host.so"
    ln -s "$real/lib64/libnvperf_host.so" "$work/thin/lib64/"
    mkdir "$work/foreign"
    for header in string string.h jansson.h cuda.h cuda_runtime_api.h cupti.h; do
        echo "#error the $header of another" >"$work/foreign/$header"
    done
    export CPATH=$work/foreign: C_INCLUDE_PATH=$work/foreign CPLUS_INCLUDE_PATH=$work/foreign
    plugin counters.so WERROR=-Werror
    unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
    check "CPATH and its like do not lead counters.so astray" left_with 0
    check "counters.so is there" test -e "$work/host/bin/counters.so"
else
    skip "plugins that cannot be built" "no CUDA toolkit with CUPTI"
fi

# --- compiler, packages, tree --------------------------------------------------------------------------------

start_make CC=/nonexistent/cc help
check "without a compiler, the Makefile is read" left_with 0
check "without a compiler, in silence" said_lines 0

# Stand-ins for apt-get, for a user who is not root, and for a compiler that knows no jansson.
mkdir -p "$work/tools"
tool() { # tool NAME SCRIPT
    printf '#!/bin/sh\n%s\n' "$2" >"$work/tools/$1"
    chmod +x "$work/tools/$1"
}
tool no_jansson "case \"\$*\" in *libjansson*) exit 1 ;; *-E*) in=\$(cat); case \$in in *jansson*) exit 1 ;; esac
    echo \"\$in\" | $cc \"\$@\"; exit ;; esac; exec $cc \"\$@\""
tool apt-get 'case "$*" in
*update*) echo "W: Failed to fetch http://mirror/dists/InRelease  Temporary failure resolving mirror" >&2 ;;
*) echo "E: Unable to locate package libjansson-dev" >&2; exit 100 ;;
esac'
tool sudo 'exec "$@"'
start_deps() { # start_deps ARGUMENT...
    start env PATH="$work/tools:$PATH" CC="$work/tools/no_jansson" "$@"
}
start_deps tests/deps.sh build
check "offline: cannot be built without jansson" left_with 1
check "offline: two lines" said_lines 2
check "offline: apt's own error" said "^deps: cannot build: missing libjansson-dev: .*Temporary failure resolving"
tool sudo 'exit 1'
tool id 'echo 1000'
start_deps tests/deps.sh build
check "no jansson and not root: cannot be built" left_with 1
check "no jansson and not root: one line" said_lines 1
check "no jansson and not root: what to do" said "^deps: cannot build: missing libjansson-dev: .*apt-get install libjansson-dev"
start_make CC="$work/tools/no_jansson" B="$work/bare" "$work/bare/core/stat.o"
check "no jansson: make stops" left_with 2
check "no jansson: before any error of a compiler" said "^deps: cannot build: missing libjansson-dev"
check "no jansson: says it once" said_once libjansson-dev
start env PATH="$work/tools:$PATH" CC=cc-of-no-one tests/deps.sh build
check "a compiler that is not there is named" said "cannot build: missing .*cc-of-no-one"

start_make B=/proc/gpufloor
check "a tree that cannot be written: make stops" left_with 2
check "a tree that cannot be written: one line" said_lines 1
check "a tree that cannot be written: what to do" said "cannot write to /proc/gpufloor/.* copy this folder"
start_make B="$work/untouched" help
check "make help writes nothing" test ! -e "$work/untouched"
check "make help lists" printed '^  make test-long '

version() { # version FOLDER: of a build of that tree
    start_make -C "$1" B="$work/version" "$work/version/version_values.h"
    sed -n 's/^#define VERSION_SHORT "\(.*\)"$/\1/p' "$work/version/version_values.h"
}
mkdir -p "$work/outer/copy"
cp -r Makefile LICENSE core report tests probes matmul fused links "$work/outer/copy/"
check "a copy without its history" test "$(version "$work/outer/copy")" = unknown
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    commit=$(git rev-parse HEAD)
    git init -q "$work/outer"
    git -C "$work/outer" -c user.name=x -c user.email=x commit -q --allow-empty -m other
    check "another repository around it is not its own" test "$(version "$work/outer/copy")" = unknown
    mkdir "$work/archive"
    git archive HEAD | tar -C "$work/archive" -xf -
    check "an archive knows its commit" test "$(version "$work/archive")" = "${commit:0:7}"
    touch "$work/archive/core/stat.c"
    check "an archive that was touched" test "$(version "$work/archive")" = "${commit:0:7}+"
else
    skip "archives" "no git checkout"
fi

mkdir "$work/alone"
cp "$build/bin/gpufloor" "$work/alone/"
start "$work/alone/gpufloor" list
check "a program that was copied alone says what it misses" said "^gpufloor list: no programs belong to this one"
start env ONLY='unti/*' tests/run.sh "$build"
check "ONLY that matches nothing fails" left_with 1
check "ONLY that matches nothing says so" printed "^FAIL .*unti"

# --- a run that is interrupted -------------------------------------------------------------------------------

# interrupt SIGNAL: of a run whose first round is on disk.
interrupt() {
    local bundle=$work/$1.json status=0 pid
    "$build/bin/gpufloor" run --rounds 30 --output "$bundle" null >"$work/out" 2>"$work/said" </dev/null &
    pid=$!
    for _ in $(seq 400); do
        grep -q '"why":"not ended: holds [1-9]' "$bundle" 2>/dev/null && break
        sleep 0.05
    done
    check "SIG$1: the run was under way" kill "-$1" $pid
    wait $pid || status=$?
    check "SIG$1: leaves with 1" left_with 1
    check "SIG$1: the bundle says that it is not complete" has_field "$bundle" complete False
    check "SIG$1: the bundle follows the schema" follows_schema bundle "$bundle"
    check "SIG$1: it holds what was measured" python3 -c \
        'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["runs"])' "$bundle"
    start "$build/bin/gpufloor" report "$bundle"
    check "SIG$1: it can be reported" left_with 0
}
interrupt INT
interrupt TERM
check "no temporary file is left" test -z "$(find "$work" -maxdepth 1 -name '*.tmp' -o -name '*.trial')"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
