# count.sh, to be sourced by a test in shell: counts what passed, failed and was skipped. The test's own remark(), if it
# has one, prints what more there is of a failure; its last line is `"$passed passed, $failed failed, $skipped skipped"`.
# shellcheck shell=bash disable=SC2034 # the last line is the test's own
passed=0 failed=0 skipped=0

result() { # result STATUS WHAT
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $2"
    if declare -F remark >/dev/null; then
        remark 2>/dev/null | cut -c1-200 | sed 's/^/    /'
    fi
}

skip() { # skip WHAT WHY
    skipped=$((skipped + 1))
    echo "skip $1: $2"
}
