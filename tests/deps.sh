#!/bin/sh
# deps.sh build|test|long: installs what is missing from Debian or Ubuntu packages, as root or through
# `sudo -n`. Where it cannot, one line says why and what to do; it leaves with 1 only when nothing can
# be built without what is missing. Never installs a CUDA toolkit or a driver: those are the owner's
# choice. `long` is what only `make test-long` needs.
#
# deps.sh check: whether the host programs can be built here: 0, or 1 and one line.
# deps.sh toolkit: what keeps kernels from being compiled here, in one line; nothing where they can be.
#
# Environment: CC, CUDA_HOME, CCBIN (nvcc's host compiler; default: its own choice).
set -u
what=${1:-test}
case $what in
build | test | long | check | toolkit) ;;
*) echo "deps.sh: expected build, test, long, check or toolkit, got '$what'" >&2; exit 2 ;;
esac
cc=${CC:-cc}
cuda=${CUDA_HOME:-/usr/local/cuda}
floor=12.8

program() {
    command -v "$1"
}
daemon() { # its folder is not in everybody's PATH
    PATH=$PATH:/usr/sbin:/sbin command -v "$1"
}

# --- the toolkit -----------------------------------------------------------------------------------------

toolkit() {
    nvcc=$cuda/bin/nvcc
    [ -x "$nvcc" ] || { echo "no CUDA toolkit"; return; }
    # shellcheck disable=SC2086 # a compiler and its flags
    case "$(uname -m) $($cc -dumpmachine 2>/dev/null)" in
    'x86_64 aarch64-'* | 'aarch64 x86_64-'*)
        echo "$cc compiles for another machine than the CUDA toolkit in $cuda"
        return
        ;;
    esac
    said=$("$nvcc" --version 2>&1)
    version=$(echo "$said" | sed -n 's/.*, V//p')
    if [ -z "$version" ]; then
        echo "$nvcc does not run: $(echo "$said" | worst | cut -c1-150)"
    elif [ "$(printf '%s\n' "$floor" "$version" | sort -V | head -n 1)" != "$floor" ]; then
        echo "the CUDA toolkit in $cuda is $version, and $floor or newer is needed"
    elif ! [ -e "$cuda/include/cuda_runtime_api.h" ] ||
        ! { [ -e "$cuda/lib64/libcudart_static.a" ] || [ -e "$cuda/lib/libcudart_static.a" ]; }; then
        echo "the CUDA toolkit in $cuda lacks libcudart_static.a or cuda_runtime_api.h"
    else
        work=$(mktemp -d) || return
        said=$(env -u CPATH -u CPLUS_INCLUDE_PATH "$nvcc" ${CCBIN:+-ccbin "$CCBIN"} -cubin -arch=sm_80 \
            -x cu /dev/null -o "$work/x" 2>&1) ||
            echo "nvcc $version cannot compile with ${CCBIN:-the host compiler in PATH}" \
                "(CXX=... names another): $(echo "$said" | worst | cut -c1-150)"
        rm -rf "$work"
    fi
}

# The line that tells most of a compiler's output: the first error, else the first line.
worst() {
    awk '/[Ee]rror|not found|No such/ && !bad { bad = $0 } NR == 1 { first = $0 }
        END { sub(/^.*error:? *-- */, "", bad); sub(/ The nvcc flag.*/, "", bad); print bad ? bad : first }' | tr -d '"`$\\#' # it goes through make and a C string
}

if [ "$what" = toolkit ]; then
    toolkit
    exit 0
fi

# --- what is missing ---------------------------------------------------------------------------------------

header() { # where there is no compiler yet to ask, the usual place is looked at
    compiler >/dev/null || { [ -e "/usr/include/$1" ]; return; }
    # As the Makefile has it: what CPATH names comes after the system's. CPPFLAGS may hold quotes.
    echo "#include <$1>" | eval "env -u CPATH -u C_INCLUDE_PATH $cc ${CPPFLAGS:-} -E -" ||
        echo "#include <$1>" | eval "$cc ${CPPFLAGS:-} -E -"
}

static_jansson() {
    compiler >/dev/null || { ls /usr/lib/*/libjansson.a; return; }
    echo 'int main(void) { return 0; }' | # LDFLAGS may hold quotes, too
        eval "$cc -x c - -x none ${LDFLAGS:-} -l:libjansson.a -o /dev/null"
}

jansson() {
    header jansson.h && static_jansson
}

compiler() {
    for word in $cc; do # words before the first flag: wrappers, and the compiler
        case $word in -*) break ;; esac
        program "$word" || return 1
    done
}

sanitizers() { # for the fuzzed reader of bundles
    # shellcheck disable=SC2086 # a compiler and its flags
    echo 'int main(void) { return 0; }' | $cc -x c - -fsanitize=address,undefined -o /dev/null
}
sanitizer_package() { # of clang; gcc's come with it
    version=$($cc --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
    case $version in
    '') echo gcc ;;
    7 | 8 | 9 | 1[0-3]) echo "libclang-common-$version-dev" ;;
    *) echo "libclang-rt-$version-dev" ;;
    esac
}

python_module() { # looked up, not imported: the import alone takes 0.2 s
    python3 -I -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$1'))"
}

# A gcc of another version than cc's, and the package of one: the newest that there is.
second_gcc() {
    own=$($cc -dumpversion 2>/dev/null)
    for n in 16 15 14 13 12 11 10; do
        [ "$n" = "${own%%.*}" ] || { program "gcc-$n" && return 0; }
    done
    return 1
}
second_gcc_package() {
    own=$($cc -dumpversion 2>/dev/null)
    apt-cache search --names-only '^gcc-1[0-9]$' 2>/dev/null | cut -d' ' -f1 | sort -rV |
        grep -vx "gcc-${own%%.*}" | head -n 1
}

# The package of a program that the user named: Debian calls it the same, but for a path.
package_of() { # package_of DEFAULT PROGRAM
    case ${2%% *} in cc | c++ | */*) echo "$1" ;; *) echo "${2%% *}" ;; esac
}

missing=
need() { # need PACKAGE CHECK...: lists the package when the check fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

needed_to_build() {
    need "$(package_of gcc "$cc")" compiler
    need libc6-dev header stdio.h
    need make program make
    need libjansson-dev jansson
}

look() {
    missing=
    needed_to_build
    [ "$what" != check ] || return 0
    # nvcc preprocesses device code with the host's C++ compiler; tests/shim compiles kernels with it.
    if [ "$what" != build ] || [ -x "$cuda/bin/nvcc" ]; then
        need "$(package_of g++ "${CCBIN:-g++}")" program "${CCBIN:-g++}"
    fi
    [ "$what" != build ] || return 0
    need libcmocka-dev header cmocka.h
    need "$(sanitizer_package)" sanitizers
    need python3 program python3
    need python3-jsonschema python_module jsonschema
    [ "$what" = long ] || return 0
    need clang program clang
    need debootstrap program debootstrap
    need python3-pip python_module pip
    if [ "$(uname -m)" = x86_64 ]; then
        need gcc-aarch64-linux-gnu program aarch64-linux-gnu-gcc
        need libc6-dev-arm64-cross [ -e /usr/aarch64-linux-gnu/include/stdio.h ]
        need qemu-user program qemu-aarch64
    fi
    need slurm-wlm daemon slurmctld
    need munge daemon munged
    second_gcc >/dev/null || missing="$missing $(second_gcc_package)"
}

# Says why something is still missing, once; 1 when it is something that every build needs.
leave() { # leave WHY
    wanted=$missing
    missing=
    needed_to_build
    if [ -n "$missing" ]; then
        case $missing in *jansson*) own=" (a copy of jansson's own may be named by CPATH and LIBRARY_PATH)" ;; esac
        echo "deps: cannot build: missing$missing: $1${own:-}" >&2
        exit 1
    fi
    echo "deps: going on without$wanted: $1" >&2
    exit 0
}

look
[ -n "${missing# }" ] || exit 0
[ "$what" != check ] || leave "'make deps' installs it, as root or by sudo"
program apt-get >/dev/null || leave "no apt-get here; these are Debian's names"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif program sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    leave "neither root nor sudo to install it with: have somebody run apt-get install$missing"
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$log" 2>&1
}

echo "deps: installing$missing" >&2
apt update || apt update # mirrors are at times in the midst of a change
[ "$what" != long ] || look # apt knows the packages' names only now
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $missing || for package in $missing; do
    # one that cannot be had must not keep the others away
    apt install -y --no-install-recommends "$package"
done
look
# apt's own error: that of the network, which makes packages unknown, before any other.
[ -z "${missing# }" ] || leave "$(grep -iE 'failed to fetch|could not resolve|temporary failure|could not connect' "$log" |
    head -n 1 | grep . || grep '^[EW]:' "$log" | tail -n 1)"
exit 0
