#!/bin/sh
# install.sh check: whether PREFIX is a place that can be written.
# install.sh is-others BIN: whether what stands in BIN was built by another user, as before `sudo make
#     install`: then it is installed as it is.
# install.sh install BIN FILE...: gpufloor, and those of these programs and plugins that are there, with
#     results, documents, man page and completion.
# install.sh uninstall: removes what install put there, and the folders that it made, once they are empty.
#
# Run by `make install` and `make uninstall`. Environment: PREFIX; DESTDIR, which goes before it and is
# known to no installed file. What is installed finds its parts from its own place: the whole can be
# moved. A list of its files stands in share/gpufloor/installed; a later install removes what it no
# longer has.
set -eu
umask 022 # for everybody to read, whoever installs

say() {
    echo "make install: $*" >&2
}

what=${1:?usage: install.sh check | is-others BIN | install BIN FILE... | uninstall}
prefix=${PREFIX:-/usr/local}
case $prefix in /*) ;; *) say "PREFIX '$prefix': expected a path from / on"; exit 2 ;; esac
root=${DESTDIR:-}$prefix
listed=share/gpufloor/installed
cd "$(dirname "$0")/.."

# The folder, or the nearest one above it that is there.
nearest() {
    at=$1
    while [ ! -d "$at" ]; do at=$(dirname "$at"); done
    echo "$at"
}

check() {
    for part in bin libexec share share/man/man1 share/bash-completion/completions share/doc; do
        folder=$(nearest "$root/$part")
        [ -w "$folder" ] || { say "$folder cannot be written: be root, or choose PREFIX=\$HOME/.local"; exit 1; }
    done
}

# --- the list --------------------------------------------------------------------------------------------

# Lines "f FILE" and "d FOLDER", from PREFIX on. Folders are those that install made, in their order.
old_list() {
    [ ! -e "$root/$listed" ] || cat "$root/$listed"
}

put_folder() { # put_folder PATH, with those above it as far as PREFIX
    [ ! -d "$root/$1" ] || return 0
    [ "$1" = . ] || put_folder "$(dirname "$1")"
    echo "d $1" >>"$work/folders"
    mkdir -p "$root/$1" || exit 1
}

put() { # put MODE SOURCE PATH; leaves at the first failure, also where `set -e` does not hold
    put_folder "$(dirname "$3")"
    echo "f $3" >>"$work/files"
    install -m "$1" -- "$2" "$root/$3" || exit 1
}

# --- what goes where -------------------------------------------------------------------------------------

put_programs() {
    bin=$1
    shift
    put 755 "$bin/gpufloor" bin/gpufloor
    for file in "$@"; do
        [ -f "$file" ] || continue # what this machine cannot build
        case $file in *.so) mode=644 ;; *) mode=755 ;; esac
        put $mode "$file" "libexec/gpufloor/${file#"$bin"/}"
    done
    for file in baselines/*.py baselines/common/*.py; do
        if [ -x "$file" ]; then mode=755; else mode=644; fi
        put $mode "$file" "libexec/gpufloor/$file"
    done
}

put_data() {
    find results -type f ! -name '.*' | sort >"$work/results"
    while read -r file; do
        put 644 "$file" "share/gpufloor/$file"
    done <"$work/results"
    put 644 CITATION.cff share/gpufloor/CITATION.cff
    put 644 install/gpufloor.1 share/man/man1/gpufloor.1
    put 644 install/gpufloor.bash share/bash-completion/completions/gpufloor
    for file in README.md CHANGELOG.md CONTRIBUTING.md LICENSE CITATION.cff docs/*.* docs/figures/*.*; do
        put 644 "$file" "share/doc/gpufloor/$file"
    done
}

# Files of the list $1 that the list $2 has not.
remove_but() {
    sed -n 's/^f //p' "$1" | while read -r file; do
        grep -qxF "f $file" "$2" || rm -f -- "$root/$file"
    done
}

remove_folders() { # of the list $1: the last one first
    sed -n '1!G;h;$p' "$1" | sed -n 's/^d //p' | while read -r folder; do
        rmdir -- "$root/${folder#.}" 2>/dev/null || true
    done
}

case $what in
check) check ;;
is-others) [ -e "$2/gpufloor" ] && [ ! -O "$2/gpufloor" ] ;;
install | uninstall)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    : >"$work/none"
    old_list >"$work/old"
    ;;
*) say "expected check, is-others, install or uninstall, got '$what'"; exit 2 ;;
esac

case $what in
install)
    shift
    : >"$work/files"
    grep '^d ' "$work/old" >"$work/folders" || true
    put_folder "$(dirname $listed)"
    status=0
    (put_programs "$@" && put_data) || status=$?
    echo "f $listed" >>"$work/files"
    # Of an install that failed half-way, old and new files are listed: uninstall removes both.
    [ $status = 0 ] || grep '^f ' "$work/old" >>"$work/files" || true
    sort -u "$work/files" | cat "$work/folders" - >"$work/new"
    install -m 644 -- "$work/new" "$root/$listed"
    [ $status = 0 ] || exit $status
    remove_but "$work/old" "$work/new"
    remove_folders "$work/folders"
    echo "installed $prefix/bin/gpufloor and $(($(wc -l <"$work/files") - 1)) other files; 'make uninstall' removes them"
    ;;
uninstall)
    [ -s "$work/old" ] || { echo "make uninstall: nothing to remove: no $root/$listed" >&2; exit 1; }
    folder=$(nearest "$root/$(dirname $listed)")
    [ -w "$folder" ] || { echo "make uninstall: $folder cannot be written: be root" >&2; exit 1; }
    remove_but "$work/old" "$work/none"
    remove_folders "$work/old"
    echo "removed $prefix/bin/gpufloor and what belongs to it"
    ;;
esac
