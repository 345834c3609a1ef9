#!/bin/bash
# run.sh BUILD: what a person is told on a machine without a usable GPU, for each state that such a
# machine can be in. The states are made with stand-in libraries in LD_LIBRARY_PATH, so that any
# machine, also one with a GPU, shows all of them. Further: no CUDA toolkit, no compiler, and a run
# that is interrupted.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
passed=0 failed=0 skipped=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$work/check" 2>&1; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $what"
    { tail -n 3 "$work/check"; tail -n 4 "$work/said"; } 2>/dev/null | cut -c1-200 | sed 's/^/    /'
}

skip() {
    skipped=$((skipped + 1))
    echo "skip $1: $2"
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

    measured "$name" "$build" "$words" "$reason"
    unset LD_LIBRARY_PATH
}

# measured NAME BUILD WORDS REASON: gpufloor run measures what it can, and says once what it lacks.
measured() {
    local name=$1 bundle=$work/$1.json words=$3 reason=$4
    start "$2/bin/gpufloor" run --quick --output "$bundle" null
    check "$name: gpufloor run leaves with 0" left_with 0
    check "$name: it names the state" said "^no GPU: $words"
    check "$name: and the reason" said "^no GPU: .*$reason"
    check "$name: in one line, once" said_once "no GPU"
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

# --- no toolkit, no compiler -------------------------------------------------------------------------------

# Variables of the make that runs this test would leak into the one below.
make_alone() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES make --no-print-directory B="$work/host" \
        CUDA_HOME=/nonexistent "$@"
}

status=0
make_alone -j2 >"$work/out" 2>"$work/said" </dev/null || status=$?
check "without a toolkit, make builds the rest" left_with 0
check "without a toolkit, make says so" grep -q "no CUDA toolkit" "$work/out"
check "without a toolkit, nothing on stderr" said_lines 0
check "without a toolkit, no GPU probe" test ! -e "$work/host/bin/probes/spin"
check "without a toolkit, the host probes" test -x "$work/host/bin/probes/host_memory"
sed -n 's/^/    /p' "$work/said" | head -n 5
measured not_built "$work/host" "not built" "no CUDA toolkit"

status=0
make_alone CC=/nonexistent/cc help >"$work/out" 2>"$work/said" </dev/null || status=$?
check "without a compiler, the Makefile is read" left_with 0
check "without a compiler, in silence" said_lines 0

# --- a run that is interrupted -------------------------------------------------------------------------------

# interrupt SIGNAL: of a run whose second round has begun.
interrupt() {
    local bundle=$work/$1.json status=0 pid
    "$build/bin/gpufloor" run --rounds 30 --output "$bundle" null >"$work/out" 2>"$work/said" </dev/null &
    pid=$!
    sleep 1
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
