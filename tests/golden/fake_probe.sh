#!/bin/bash
# Stands in for a probe in session.sh, lost.sh and kills.py; what it does follows from the name that it
# is called by.
name=$(basename "$0") round=0 device=0 words=$*
name=${name%%.*}
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=yes ;;
    --round) round=$2 ;;
    --device) device=$2 ;;
    --prepare) prepare=yes ;;
    --raw) printf '%s\ttime\t\twall\t%s\t1\t100\n' "$name" "$round" >>"$2" ;;
    esac
    shift
done
if [ "${CUDA_VISIBLE_DEVICES:-}" ]; then # the place in that list
    device=$(printf '%s' "$CUDA_VISIBLE_DEVICES" | cut -d, -f$((device + 1)))
fi
needs=host prepares=false
case $name in needy | *peers) needs=gpu ;; esac
case $name in *peers) prepares=true ;; esac
[ "$name" = null ] && needs='gpu if any'
if [ "${list:-}" ]; then
    [ "$name" = mute ] && exit 1
    printf '{"schema":"probe","schema_version":1,"name":"%s","what":"a stand-in","method":1,' "$name"
    printf '"needs":"%s","min_cc":0,"cubins":{"fake.sm_90a":"aa"},"metrics":[],"parameters":[],' "$needs"
    printf '"prepares":%s}\n' "$prepares"
    exit 0
fi
if [ "${prepare:-}" ]; then
    [ "${FAKE_WORDS:-}" ] && echo "$name $words" >>"$FAKE_WORDS"
    [ "$name" = "${FAKE_STUCK:-}" ] && sleep 600
    exit 0
fi
[ "${FAKE_LOG:-}" ] && echo "$name $round" >>"$FAKE_LOG"
[ "${FAKE_WORDS:-}" ] && echo "$name $words" >>"$FAKE_WORDS"

environment='{"host":{"cpu":"a CPU"}}'
found='"gpu_state":"no_driver","gpu_why":"libcuda.so.1 not found",'
case " ${FAKE_GPUS:-} " in *" $device "*)
    environment='{"host":{"cpu":"a CPU"},"gpu":{"name":"A GPU","board":"gpu-'$device'","id_hash":"'$device'"}}'
    found=
    ;;
esac
[ "$name" = peer ] && environment='{"peers":{"torch":"1.2.3"}}'

# document STATUS EXTRA_OF_RUN EXTRA_OF_CASE
document() {
    printf '{"schema":"run","schema_version":1,"probe":{"name":"%s","method":1,"what":"a stand-in"},' "$name"
    printf '"status":"%s",%s"run":{"round":%s},"environment":%s,' "$1" "$2" "$round" "$environment"
    printf '"metrics":{"time":{"unit":"ns","better":"lower"}},'
    printf '"cases":[{"case":"",%s"metrics":[{"name":"time",' "$3"
    printf '"timer":"wall","n":1,"median":%s,"best":99}]%s}],"checks":[],"notes":[]}\n' "$((100 + round))" \
        "${facts:-}"
}
case $name in
telling) facts=',"facts":{"kernel":"k'$((round > 3))'","size":"8"}' ;;
esac
case $name in
null) document ok "$found" '' ;;
crash) document ok '' '' && kill -SEGV $$ ;;
garbage) head -c 300000 /dev/urandom ;;
hang) sleep 600 & sleep 600 ;;
lingers) document ok '' '' && sleep 600 & exit 0 ;;
noisy) document ok '' '"discarded":"SM clock moved by 3.0 % (1920 to 1980 MHz)",' ;;
failing) document failed '"why":"a check failed",' '' && echo "failing: check failed" >&2 && exit 1 ;;
skips) document skipped '"why":"needs something else",' '' && exit 77 ;;
huge) document ok "\"extra\":\"$(head -c 40000000 /dev/zero | tr '\0' x)\"," '' ;;
slow) sleep 0.3 && document ok '' '' ;;
brood) sleep "${FAKE_SLEEP:-60}" >/dev/null 2>&1 & sleep 0.05 && document ok '' '' ;;
stray) setsid sleep 5 >/dev/null 2>&1 </dev/null & sleep 0.1 && document ok '' '' ;;
filler) # of the second round on
    [ "$round" = 0 ] || dd if=/dev/zero of="$FAKE_FILLS/zeros$round" bs=64k count=1024 2>/dev/null
    document ok '' ''
    ;;
usurper) # of the second round on
    [ "$round" = 0 ] || { echo mine >"$FAKE_FILE.new" && mv "$FAKE_FILE.new" "$FAKE_FILE"; }
    document ok '' ''
    ;;
spoiler) rm -rf "$FAKE_SPOILS" && document ok '' '' ;;
*) document ok '' '' ;;
esac
