#!/bin/bash
# Stands in for a probe in session.sh; what it does follows from the name that it is called by.
name=$(basename "$0") round=0
name=${name%%.*}
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=yes ;;
    --round) round=$2 ;;
    --raw) printf '%s\ttime\t\twall\t%s\t1\t100\n' "$name" "$round" >>"$2" ;;
    esac
    shift
done
needs=host
[ "$name" = needy ] && needs=gpu
[ "$name" = null ] && needs='gpu if any'
if [ "${list:-}" ]; then
    [ "$name" = mute ] && exit 1
    printf '{"schema":"probe","schema_version":1,"name":"%s","what":"a stand-in","method":1,' "$name"
    printf '"needs":"%s","min_cc":0,"cubins":{"fake.sm_90a":"aa"},"metrics":[],"parameters":[]}\n' "$needs"
    exit 0
fi
[ "${FAKE_LOG:-}" ] && echo "$name $round" >>"$FAKE_LOG"

environment='{"host":{"cpu":"a CPU"}}'
[ "$name" = peer ] && environment='{"peers":{"torch":"1.2.3"}}'

# document STATUS EXTRA_OF_RUN EXTRA_OF_CASE
document() {
    printf '{"schema":"run","schema_version":1,"probe":{"name":"%s","method":1,"what":"a stand-in"},' "$name"
    printf '"status":"%s",%s"run":{"round":%s},"environment":%s,' "$1" "$2" "$round" "$environment"
    printf '"cases":[{"case":"",%s"metrics":[{"name":"time","unit":"ns","better":"lower",' "$3"
    printf '"timer":"wall","n":1,"median":%s,"best":99}]}],"checks":[],"notes":[]}\n' "$((100 + round))"
}
case $name in
null) document ok '"gpu_state":"no_driver","gpu_why":"libcuda.so.1 not found",' '' ;;
crash) document ok '' '' && kill -SEGV $$ ;;
garbage) head -c 300000 /dev/urandom ;;
hang) sleep 600 & sleep 600 ;;
lingers) document ok '' '' && sleep 600 & exit 0 ;;
noisy) document ok '' '"discarded":"SM clock moved by 3.0 % (1920 to 1980 MHz)",' ;;
failing) document failed '"why":"a check failed",' '' && echo "failing: check failed" >&2 && exit 1 ;;
skips) document skipped '"why":"needs something else",' '' && exit 77 ;;
slow) sleep 0.3 && document ok '' '' ;;
spoiler) rm -rf "$FAKE_SPOILS" && document ok '' '' ;;
*) document ok '' '' ;;
esac
