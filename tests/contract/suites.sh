#!/bin/bash
# suites.sh BUILD: tests/run.sh on suites made for it: the count, the order of the lines, a suite that fails, that
# skips, that is missing, that takes too long; two at once, and the one that must be alone; ONLY; Ctrl-C. And the
# count of the tests in Python (common.py).
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ONLY SUITE_JOBS SUITE_SECONDS CMOCKA_MESSAGE_OUTPUT
passed=0 failed=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $what"
    head -n 12 "$work/out" | cut -c1-160 | sed 's/^/    /'
}

counted() { # counted LINE...: a test in Python of these lines
    printf '%s\n' 'from common import *' "$@" 'sys.exit(finish())' >"$work/test.py"
    status=0
    PYTHONPATH=tests/contract python3 "$work/test.py" "$work" >"$work/out" 2>&1 || status=$?
}
python_says() { [ "$status" = "$1" ] && [ "$(cat "$work/out")" = "$2" ]; }
counted 'check(1, "a")' 'check_none([], "b")' 'skip("c", "why")'
check "in Python: what passes and what skips" python_says 0 $'skip c: why\n2 passed, 0 failed, 1 skipped'
counted 'check(1, "a")' 'check(0, "b", "it is")'
check "in Python: what fails" python_says 1 $'FAIL b: it is\n1 passed, 1 failed, 0 skipped'
counted 'check_none((n for n in (3, 4)), "b")' 'check("", "c", "\x1b[1m")' 'check_none(["one"], "d")'
check "in Python: what is wrong is listed, and shown" python_says 1 \
    $'FAIL b\n    3\n    4\nFAIL c: \\x1b[1m\nFAIL d: one\n0 passed, 3 failed, 0 skipped'
counted 'check_schema("check", {}, lambda spoilt: None)'
check "in Python: a document that does not follow its schema" test "$status" = \
    "$(python3 -c 'import jsonschema' 2>/dev/null && echo 1 || echo 0)"

in_shell() { # in_shell LINE...: a test in shell of these lines
    printf '%s\n' '. tests/count.sh' "$@" 'echo "$passed passed, $failed failed, $skipped skipped"' >"$work/test.sh"
    bash -u "$work/test.sh" >"$work/out" 2>&1
    status=$?
}
in_shell 'result 0 a' 'result 1 b' 'skip c why' 'remark() { echo more; ls /no_such_place; }' 'result 77 d'
check "in shell: what passes, fails and skips" python_says 0 \
    $'FAIL b\nskip c: why\nFAIL d\n    more\n1 passed, 2 failed, 1 skipped'

mkdir -p "$work/a tree/tests/contract" "$work/a tree/build/tests"
cp tests/run.sh "$work/a tree/tests/"
cd "$work/a tree" || exit 1
made() { # made NAME SCRIPT
    printf '#!/bin/bash\n%s\n' "$2" >"tests/contract/$1.sh"
    chmod +x "tests/contract/$1.sh"
}
start() {
    status=0
    NVCC='' "$@" tests/run.sh build >"$work/out" 2>&1 || status=$?
}
names() { sed -nE 's,^(ok|FAIL|skip) +contract/([a-z]+) .*,\1:\2,p' "$work/out" | grep -v zero | tr '\n' ' '; }
says() { grep -qE -- "$1" "$work/out"; }
is() { [ "$1" = "$2" ]; }
printf '#!/bin/sh\n' >tests/contract/zero.py # one of these there has to be
chmod +x tests/contract/zero.py
# One that waits until another has begun, for at most 20 s.
wait_for='for i in {1..200}; do [ ! -e "$1" ] || exit 0; sleep 0.1; done; echo "nobody made $1"; exit 1'

made bad 'echo "FAIL this one"; echo "    because"; echo "3 passed, 1 failed, 2 skipped"; exit 1'
made counted 'echo "1..3"; echo "ok 1"; echo "ok 2 # SKIP none"; echo "not ok 3"; exit 1'
made good 'echo "says: seven of them"'
made left 'echo "skipped: no GPU"; exit 77'
made mute 'exit 3'
: >tests/contract/none.sh
made slow 'trap "" HUP; sleep 60'
start env ONLY='contract/*' SUITE_SECONDS=1
check "the lines come in order, one for a suite" is "$(names)" \
    "FAIL:bad FAIL:counted ok:good skip:left FAIL:mute FAIL:none FAIL:slow "
check "the last line counts" is "$(tail -n 1 "$work/out")" "6 passed, 5 failed, 4 skipped"
check "a failure is exit 1" is "$status" 1
check "and is explained" says '^      +because'
check "what a suite says stands in its line" says '^ok +contract/good +1 passed: seven of them$'
check "a suite that skips says why" says '^skip .*skipped: no GPU'
check "a missing one is said to be" says '^FAIL .*none .*missing: tests/contract/none.sh'
check "one that takes too long is stopped" says '^FAIL .*slow .*stopped after 1 s'

start env ONLY='contract/@(good|left)'
check "ONLY takes several" is "$(names) $status" "ok:good skip:left  0"
start env ONLY='contract/x*'
check "ONLY that no suite has fails" is "$status $(tail -n 1 "$work/out")" "1 0 passed, 1 failed, 0 skipped"

rm tests/contract/*.sh
made first "set -- '$work/second'; $wait_for"
made second "touch '$work/second'"
start env ONLY='contract/*' SUITE_JOBS=2
check "two run at once" is "$(names)" "ok:first ok:second "
rm "$work/second"
start env ONLY='contract/*' SUITE_JOBS=1 SUITE_SECONDS=2
check "or one after the other" is "$(names)" "FAIL:first ok:second "

rm tests/contract/*.sh
made page "sleep 0.5; [ ! -e '$work/busy' ]"
made quiet "touch '$work/busy'; sleep 1; rm '$work/busy'"
made telling "touch '$work/busy2'; sleep 1; rm '$work/busy2'"
start env ONLY='contract/*' SUITE_JOBS=2
check "what measures time runs alone" is "$(names)" "ok:page ok:quiet ok:telling "

rm tests/contract/*.sh
made first "trap 'touch \"$work/cleared\"; exit 1' TERM; sleep 60 & echo \$! >'$work/pid'; wait"
made second 'sleep 60'
ONLY='contract/*' NVCC='' env --default-signal=INT tests/run.sh build >"$work/out" 2>&1 &
for _ in {1..200}; do
    [ ! -s "$work/pid" ] || break
    sleep 0.1
done
kill -INT $!
status=0
wait $! || status=$?
check "Ctrl-C ends it" is "$status" 130
check "a suite can clear up" test -e "$work/cleared"
gone() {
    for _ in {1..50}; do
        grep -q '^State:.*[^Z] (' "/proc/$(cat "$work/pid")/status" 2>/dev/null || return 0
        sleep 0.1
    done
    false
}
check "and what it started ends, too" gone

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
