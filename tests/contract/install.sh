#!/bin/bash
# install.sh BUILD: what `make install` puts under a PREFIX with blanks in it works from there, without
# the tree and whoever calls it; `make uninstall` takes all of it away, and nothing else; `make dist`
# packs the last commit, twice the same, and the package knows that commit without git.
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
chmod 755 "$work"
. tests/count.sh
status=0

remark() { tail -n 3 "$work/check"; tail -n 4 "$work/said"; }

check() { # check WHAT COMMAND...
    local what=$1
    shift
    "$@" >"$work/check" 2>&1
    result $? "$what"
}

left_with() { [ "$status" = "$1" ] || { echo "exit $status, expected $1"; false; }; }
said() { grep -Eq -- "$1" "$work/said" || { echo "expected '$1' on stderr"; false; }; }
printed() { grep -Eq -- "$1" "$work/out" || { echo "expected '$1' on stdout"; false; }; }
said_lines() { [ "$(wc -l <"$work/said")" = "$1" ]; }

start() { # COMMAND...: its outputs go to $work/out and $work/said, its exit status to $status
    status=0
    timeout 300 "$@" >"$work/out" 2>"$work/said" </dev/null || status=$?
}

# With the settings by which BUILD was made, so that nothing is built anew.
read -ra cc <<<"$(sed -n 's/.*-u CPLUS_INCLUDE_PATH \(.*\) -std=c11.*/\1/p' "$build/flags")"
start_make() { # start_make ARGUMENT...
    start env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u PREFIX -u DESTDIR make --no-print-directory \
        B="${build#"$PWD"/}" CC="${cc[*]}" WERROR="$(grep -o -e -Werror "$build/flags")" "$@"
}

# --- install ------------------------------------------------------------------------------------------------

prefix="$work/a prefix" stage="$work/stage"
mkdir -p "$prefix/share/doc/another" "$prefix/bin"
echo other >"$prefix/bin/other"
before=$(find "$prefix" | sort)
umask 077
start_make install PREFIX="$prefix"
umask 022
check "make install" left_with 0
check "it says where" printed "^installed $prefix/bin/gpufloor and [0-9]+ other files"
for file in bin/gpufloor libexec/gpufloor/probes/null libexec/gpufloor/baselines/common/peers_core.py \
    share/gpufloor/results/schema/bundle.schema.json share/gpufloor/CITATION.cff share/man/man1/gpufloor.1 \
    share/bash-completion/completions/gpufloor share/doc/gpufloor/README.md share/doc/gpufloor/docs/READING.md; do
    check "$file is there" test -f "$prefix/$file"
done
check "all programs" test "$(cd "$build/bin" && find . -mindepth 1 -type f ! -name gpufloor | sort)" = \
    "$(cd "$prefix/libexec/gpufloor" && find . -type f ! -path './baselines/*' | sort)"
check "all results" test "$(git ls-files results 2>/dev/null || find results -type f)" = \
    "$(cd "$prefix/share/gpufloor" && find results -type f | LC_ALL=C sort)"
check "for everybody to read, under any umask" test -z \
    "$(find "$prefix" -mindepth 1 ! -perm 755 -type d -o -type f ! -perm 644 ! -perm 755)"
check "programs for everybody to run" test -z "$(find "$prefix/bin/gpufloor" "$prefix"/libexec/gpufloor/[pmfl]* -type f ! -perm 755)"
check "no file names the place or the tree" test -z "$(grep -rlF -e "$prefix" -e "$PWD/" "$prefix" | grep -v '\.so$')"

installed() { # installed ARGUMENT...: in an empty environment and a folder of its own
    start env -i PATH=/usr/bin:/bin LC_ALL=C bash -c 'cd "$1" && shift && exec "$@"' - "$where" "$gpufloor" "$@"
}
mkdir "$work/here"
where=$work/here gpufloor=$prefix/bin/gpufloor
chmod -R a-w "$prefix"
installed list --names
check "list finds the programs" printed '^null$'
check "all of them" test "$(wc -l <"$work/out")" = "$(find "$prefix"/libexec/gpufloor/[pmfl]* -type f | wc -l)"
installed list null
check "which answer" printed '^null: '
installed --help
check "--help" left_with 0
installed report --headline
check "report finds the committed results" printed '^NVIDIA H200 '
installed claims --search memory
check "claims, too" left_with 0
installed report --tex=tex "$PWD/tests/golden/full.json"
check "and what is to be cited" grep -q 'title' "$work/here/tex/gpufloor.bib"
installed run --quick null
check "run measures" left_with 0
check "into a folder here" test -n "$(ls "$work"/here/gpufloor-run/*.json 2>/dev/null)"
check "and says so" said '^wrote gpufloor-run/.*\.json$'
check "nothing was written where it is installed" test -z "$(find "$prefix" -newer "$work/here/tex" -type f)"
ln -s "$prefix/bin/gpufloor" "$work/a link"
gpufloor="$work/a link"
installed list --names
check "through a link" printed '^null$'
if [ -e "$prefix/libexec/gpufloor/blas.so" ]; then
    # Every program looks for its plugins one folder above its own.
    check "plugins are where programs look" test -e "$prefix/libexec/gpufloor/counters.so"
else
    skip "plugins" "none are built here"
fi

if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    mkdir "$work/nobody's" && chmod 777 "$work/nobody's"
    where="$work/nobody's" gpufloor=$prefix/bin/gpufloor
    as_nobody() { start setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH=/usr/bin:/bin bash -c 'cd "$1" && shift && exec "$@"' - "$where" "$@"; }
    as_nobody "$gpufloor" run --quick null
    check "another user can run it" left_with 0
    where=$work/here
    as_nobody "$gpufloor" run --quick null
    check "a folder that he cannot write is refused" left_with 2
    check "before measuring, with what to do" said '^gpufloor run: --output gpufloor-run(: this folder cannot be made|/.*) ?\(?.*Permission denied'
    if setpriv --reuid=65534 --clear-groups test -r "$PWD/install/install.sh" -a -r "$build/bin/gpufloor"; then
        as_nobody env PREFIX="$work/nobody's/own" "$PWD/install/install.sh" install "$build/bin" "$build/bin/probes/null"
        check "another user installs into his own folder" test -x "$work/nobody's/own/bin/gpufloor"
        as_nobody env PREFIX="$prefix" "$PWD/install/install.sh" check
        check "a PREFIX that cannot be written is refused" left_with 1
        check "in one line, with what to do" said '^make install: .* cannot be written: be root, or choose PREFIX='
    else
        skip "installing as another user" "he cannot read this folder"
    fi
else
    skip "other users" "not root, or no setpriv"
fi

# --- again, elsewhere, and away -------------------------------------------------------------------------------

chmod -R u+w "$prefix"
mv "$prefix" "$work/moved"
gpufloor="$work/moved/bin/gpufloor" where=$work/here
installed report --headline
check "it can be moved" printed '^NVIDIA H200 '
mv "$work/moved" "$prefix"
: >"$prefix/libexec/gpufloor/probes/of_before"
echo "f libexec/gpufloor/probes/of_before" >>"$prefix/share/gpufloor/installed"
start_make install PREFIX="$prefix"
check "a second install" left_with 0
check "removes what only the one before had" test ! -e "$prefix/libexec/gpufloor/probes/of_before"
check "and keeps the rest" test -x "$prefix/bin/gpufloor"
echo mine >"$prefix/share/gpufloor/mine"
start_make uninstall PREFIX="$prefix"
check "make uninstall" left_with 0
check "leaves what is not its own" test "$(find "$prefix" | sort)" = \
    "$(printf '%s\n' "$before" "$prefix/share/gpufloor" "$prefix/share/gpufloor/mine" | sort)"
start_make uninstall PREFIX="$prefix"
check "there is nothing to remove twice" left_with 2
check "and it says so" said '^make uninstall: nothing to remove: no '

start_make install PREFIX=/usr DESTDIR="$stage"
check "DESTDIR goes before PREFIX" test -x "$stage/usr/bin/gpufloor"
start_make uninstall PREFIX=/usr DESTDIR="$stage"
check "nothing is left" test -z "$(find "$stage" ! -type d; find "$stage/usr" -mindepth 1)"
start_make install PREFIX=relative
check "a PREFIX from here on is refused" said "^make install: PREFIX 'relative': expected a path from / on"
check "and nothing is written" test ! -e relative

# --- a program that was copied alone ----------------------------------------------------------------------------

mkdir "$work/alone"
cp "$build/bin/gpufloor" "$work/alone/"
gpufloor=$work/alone/gpufloor
for words in list "run null" "list --names"; do
    # shellcheck disable=SC2086 # words
    installed $words
    check "alone, $words: refused" left_with 2
    check "alone, $words: one line says what was looked for, and where" said \
        "^gpufloor [a-z]+: no programs belong to this one: expected the folders probes, matmul, fused and links in $work/alone and $work/libexec/gpufloor \('make' builds"
    check "alone, $words: one line" said_lines 1
done
for words in report claims; do
    installed $words
    check "alone, $words: refused" left_with 2
    check "alone, $words: one line says where results were looked for" said \
        "^gpufloor $words: no committed results: expected nvidia-h200 in .*/results and $work/share/gpufloor/results; name a bundle$"
done
installed report --all "$PWD/tests/golden/small.json"
check "alone it still reads bundles" left_with 0

# --- a package ---------------------------------------------------------------------------------------------------

if commit=$(git rev-parse -q --verify HEAD 2>/dev/null); then
    version=$(sed -n 's/^VERSION := //p' Makefile)
    mkdir "$work/tools"
    printf '#!/bin/sh\nexit 127\n' >"$work/tools/git" && chmod +x "$work/tools/git"
    start env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make --no-print-directory B="$work/dist" dist
    check "make dist" left_with 0
    check "says what it wrote" printed "^$work/dist/gpufloor-$version.tar.gz$"
    cp "$work/dist/gpufloor-$version.tar.gz" "$work/first.tar.gz"
    sleep 1 # gzip and tar know seconds
    start env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS TZ=Asia/Tokyo make --no-print-directory B="$work/dist" dist
    check "twice the same" cmp "$work/first.tar.gz" "$work/dist/gpufloor-$version.tar.gz"
    tar -C "$work" -xzf "$work/first.tar.gz"
    check "in a folder of its name" test -f "$work/gpufloor-$version/Makefile"
    start env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS PATH="$work/tools:$PATH" make -C "$work/gpufloor-$version" B=b b/version_values.h
    check "without git it names its commit" grep -qx "#define VERSION_SHORT \"${commit:0:7}\"" \
        "$work/gpufloor-$version/b/version_values.h"
    start env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$work/gpufloor-$version" dist
    check "it is packed from a checkout only" said '^make dist: expected a git checkout'
else
    skip "make dist" "no git checkout"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
