#!/bin/sh
# deps.sh [build|test]: installs what is missing from Debian or Ubuntu packages, as root or through
# `sudo -n`. With neither it names the packages in one line and leaves with 0: whoever needs one of
# them says so then. Never installs a CUDA toolkit or a driver: those are the owner's choice.
set -u
what=${1:-test}
case $what in build | test) ;; *) echo "deps.sh: expected build or test, got '$what'" >&2; exit 2 ;; esac

cc=${CC:-cc}
missing=

need() { # need PACKAGE CHECK...: lists the package when the check fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

program() {
    command -v "$1"
}

header() { # the compiler is asked only where the usual place does not hold it
    [ -e "/usr/include/$1" ] || echo "#include <$1>" | $cc -E -
}

static_library() { # the compiler prints the bare name of what it does not find
    for path in /usr/lib/*/"$1" /usr/lib/"$1"; do
        [ -e "$path" ] && return 0
    done
    case $($cc -print-file-name="$1") in */*) return 0 ;; esac
    return 1
}

jansson() {
    header jansson.h && static_library libjansson.a
}

python_module() { # looked up, not imported: the import alone takes 0.2 s
    python3 -I -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$1'))"
}

need gcc program "$cc"
need libc6-dev header stdio.h
need make program make
need libjansson-dev jansson
# nvcc preprocesses device code with the host's C++ compiler; tests/shim compiles kernels with it.
if [ "$what" = test ] || program nvcc >/dev/null ||
    [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    need g++ program g++
fi
if [ "$what" = test ]; then
    need libcmocka-dev header cmocka.h
    need python3 program python3
    need python3-jsonschema python_module jsonschema
fi
[ -n "$missing" ] || exit 0

if ! program apt-get >/dev/null; then
    echo "deps: missing, please install what Debian calls:$missing" >&2
    exit 0
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif program sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "deps: missing, and neither root nor sudo to install it: apt-get install$missing" >&2
    exit 0
fi

log=$(mktemp) || exit 0
trap 'rm -f "$log"' EXIT
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$log" 2>&1
}

echo "deps: installing$missing" >&2
apt update || apt update # mirrors are at times in the midst of a change
# shellcheck disable=SC2086 # a list of words
if ! apt install -y --no-install-recommends $missing; then
    for package in $missing; do # one that cannot be had must not keep the others away
        apt install -y --no-install-recommends "$package" ||
            echo "deps: $package could not be installed: $(grep '^[EW]:' "$log" | tail -n 1)" >&2
    done
fi
exit 0
