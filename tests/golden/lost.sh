#!/bin/bash
# What `gpufloor run` measured is never lost: against stand-in probes, with closed pipes, full disks,
# places that cannot be written, eight runs at once. tests/golden/kills.py has the kills.
#
#   tests/golden/lost.sh BIN
set -u
bin=$(realpath "$1") here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/bin/probes" "$work/small"
cp "$bin" "$work/bin/gpufloor"
gpufloor=$work/bin/gpufloor
cd "$work" || exit 1
unset FAKE_LOG FAKE_GPUS TMPDIR
passed=0 failed=0 skipped=0 status=0

probes() { # NAME...: exactly these stand beside the program
    rm -rf bin/probes/* run ./*.json ./*.tsv
    for name in "$@"; do ln -s "$here/fake_probe.sh" "bin/probes/$name"; done
}
measure() { # ARGUMENT...: its outputs go to out and talk
    local seed=(--seed 1)
    [ "${1:-}" != --continue ] || seed=() # the bundle has one
    rm -f log
    FAKE_LOG=$work/log timeout 60 "$gpufloor" run ${seed[@]+"${seed[@]}"} --results "$work/results" "$@" >out 2>talk
    status=$?
}
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        echo "ok   $what"
        passed=$((passed + 1))
    else
        echo "FAIL $what: $*"
        sed 's/^/     | /' talk 2>/dev/null | tail -n 5
        failed=$((failed + 1))
    fi
}
exits() { [ "$status" = "$1" ]; }
says() { grep -q -- "$1" talk; }
silent_on() { ! grep -q -- "$1" talk; }
none_measured() { ! grep -qv '^null 0$' log; } # but for the look for a GPU
is_valid() { "$gpufloor" report "$1" && python3 "$here/../schema.py" bundle "$1"; }
# rounds FILE COMPLETE N: a valid bundle with N runs of `good`
rounds() {
    is_valid "$1" && grep -q "\"complete\":$2" "$1" &&
        [ "$(grep -o '"probe":{"name":"good"' "$1" | wc -l)" = "$3" ]
}
none_runs() { ! pgrep -f "^[^ ]*bash $work/bin/probes/"; }
none_beside() { [ -z "$(find "$work" -name '*.tmp' -o -name '*.trial')" ]; }

# --- documents that are too large together

probes null good huge
measure --rounds 2 --output large.json
check "a document with which the bundle could not be read is a failure" exits 1
check "and it is named" grep -q "printed a document of 4[0-9]* bytes" large.json
check "and the bundle can be read" rounds large.json true 2

# --- closed pipes

probes null good slow
timeout 60 "$gpufloor" run --rounds 2 --output one.json 2>&1 | true
check "a closed pipe: the bundle is complete" rounds one.json true 2
timeout 60 "$gpufloor" run --rounds 2 --output two.json >/dev/full 2>/dev/full
status=$?
check "a full stdout is trouble" exits 2
check "and the bundle is complete" rounds two.json true 2
timeout 60 "$gpufloor" run --rounds 2 --output three.json <&- >&- 2>&-
check "closed descriptors: the bundle is complete" rounds three.json true 2
"$gpufloor" --help >/dev/full 2>talk
status=$?
check "--help on a full disk is trouble" exits 2
check "and says so" says 'stdout could not be written'

# --- while it runs, and eight at once

probes null good slow
"$gpufloor" run --rounds 30 --output one.json >out_of_first 2>talk_of_first &
pid=$!
for _ in $(seq 100); do
    grep -q '"why":"not ended: holds [1-9]' one.json 2>/dev/null && break
    sleep 0.05
done
check "rounds are on disk while others are measured" grep -q 'not ended: holds [1-9]' one.json
check "in a valid bundle" is_valid one.json
cp one.json before.json
measure --continue one.json
check "a run that goes on is not continued" exits 2
check "and it says why" says 'one.json: is held by a run that goes on$'
check "nothing is measured" none_measured
kill -9 $pid
wait $pid 2>/dev/null
check "after that run was killed, its rounds are there" grep -q 'not ended: holds [1-9]' one.json
for _ in $(seq 40); do none_runs >/dev/null && break; sleep 0.05; done
check "and no probe of it" none_runs

probes null good
for i in 1 2 3 4 5 6 7 8; do
    { timeout 60 "$gpufloor" run --rounds 2 >"out$i" 2>&1; echo "exit $?" >>"out$i"; } &
done
wait
check "eight at once: all end well" test "$(cat out? | grep -c '^exit 0$')" = 8
check "each says another file" test "$(sed -n 's/^wrote //p' out? | sort -u | wc -l)" = 8
for file in run/*.json; do
    check "$(basename "$file" | cut -d- -f2-): whole" rounds "$file" true 2
done
check "there are eight" test "$(find run -type f | wc -l)" = 8
for i in 1 2 3 4 5 6 7 8; do
    { timeout 60 "$gpufloor" run --rounds 2 --output same.json >"out$i" 2>&1; echo "exit $?" >>"out$i"; } &
done
wait
check "eight want one name: one has it" test "$(cat out? | grep -c '^exit 0$')" = 1
check "the others are refused" test "$(cat out? | grep -c '^exit 2$')" = 7
check "before they measure" test "$(cat out? | grep -c '^round 1/2')" = 1
check "it is whole" rounds same.json true 2
check "nothing is left beside" none_beside

# --- places that cannot be written

probes null good
measure --output ''
check "no name is refused" exits 2
check "in plain words" says "^gpufloor run: --output '': expected the name of a file$"
check "before anything is measured" none_measured
ln -s nowhere/at/all.json dangling.json
measure --output dangling.json
check "a link that leads nowhere is refused" exits 2
check "before anything is measured" none_measured
check "and stays" test -L dangling.json
echo taken >run
measure
check "a folder that cannot be made is refused" exits 2
check "with its cause, and what to do" says "/run: this folder cannot be made (Not a directory): choose a place with"
check "before anything is measured" none_measured
rm run

# --- another file takes the place

probes null good usurper
mkdir -p other
FAKE_FILE=$work/one.json TMPDIR=$work/other measure --rounds 3 --output one.json
check "a file that another put there is left alone" grep -qx mine one.json
check "it is a failure" exits 1
check "that is said when it is seen, and at the end" test "$(grep -c 'another file took its place' talk)" = 2
check "and nothing is lost" rounds other/one.json true 3

# --- full disks

if mount -t tmpfs -o size=24m none "$work/small" 2>/dev/null; then
    probes null good filler
    FAKE_FILLS=$work/small TMPDIR=$work/small measure --rounds 3 --output small/one.json
    check "a disk that gets full is a failure" exits 1
    check "the rounds before are there" rounds small/one.json false 1
    check "all rounds are on stdout" bash -c "grep '^{' out >small.json"
    check "whole" rounds small.json true 3
    check "no file is said that is not there" silent_on '^wrote'
    check "what failed is said" says '^warn  round 2 could not be written: .*No space left'
    check "nothing is left beside" none_beside
    rm -f small/zeros*
    FAKE_FILLS=/nonexistent measure --continue small/one.json
    check "with space it can be continued" rounds small/one.json true 3
    rm -f small/*
    mkdir spare
    FAKE_FILLS=$work/small TMPDIR=$work/spare measure --rounds 3 --output small/one.json
    check "what does not fit is kept elsewhere" rounds spare/one.json true 3
    check "and the place is said" says "^wrote $work/spare/one.json$"
    dd if=/dev/zero of=small/zeros bs=64k count=1024 2>/dev/null
    measure --output small/two.json
    check "a full disk is refused" exits 2
    check "before anything is measured" none_measured
    check "and leaves nothing" test ! -e small/two.json
    mount -o remount,ro "$work/small"
    measure --output small/two.json
    check "a disk that is read only is refused" says 'small/two.json: Read-only file system$'
    umount "$work/small"
else
    skipped=$((skipped + 1))
    echo "skip full disks: not allowed to mount one"
fi

# --- what a program leaves behind

probes null good stray brood
measure --rounds 2 --output one.json
check "what a program leaves behind is named" says '^warn  stray: left a process behind: sleep (pid [0-9]*)$'
check "each process once" test "$(grep -c 'left a process behind' talk)" = 2
check "and in the bundle" grep -q '"notes":\["left a process behind: sleep"\]' one.json
check "what stays in the group is ended, and not named" silent_on 'brood: left'
check "the bundle is valid" rounds one.json true 2

# --- the progress line

probes null a_stand_in_with_a_name_that_is_longer_than_any_terminal slow
if python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    widths="30 200"
else # a system without devpts
    widths=
    skipped=$((skipped + 1))
    echo "skip the line's width: no terminal can be had here"
fi
for columns in $widths; do
    python3 "$here/terminal.py" $columns "$gpufloor" run --rounds 2 --output "$columns.json" >seen
    check "a terminal of $columns columns: the line is drawn" grep -q 'round 1/2' seen
    check "and no wider" python3 -c "import re
lines = re.split('[\r\n]', open('seen', newline='').read().split('ok  ')[0])
drawn = [re.sub('\x1b.K', '', line) for line in lines if 'round' in line]
assert drawn and all(len(line) < $columns for line in drawn), drawn"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
