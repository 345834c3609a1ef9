#!/bin/bash
# Stands in for a probe in command.sh; its name decides what it does.
name=$(basename "$0") counters=
echo "$name $*" >>"${FAKE_LOG:-/dev/null}"
while [ $# -gt 0 ]; do
    case $1 in --counters) counters=$2 ;; --set) set=$2 ;; esac
    shift
done

# document STATUS EXTRA CASES
gpu='"gpu":{"name":"A GPU","board":"a-gpu"}'
[ "$name" != nogpu ] || gpu='"host":{}'
document() {
    printf '{"schema":"run","schema_version":1,"probe":{"name":"%s","method":1,"what":"a stand-in"},' "$name"
    printf '"status":"%s",%s"run":{"round":0},"environment":{"suite":{"version":"0"},' "$1" "$2"
    printf '%s},"metrics":{"time":{"unit":"ns","better":"lower"}},"cases":[%s],"checks":[],"notes":[]}\n' "$gpu" "$3"
}
# case KEYS MEDIAN EXTRA: of one metric, in ns
case_of() {
    printf '{"case":"%s","metrics":[{"name":"time","timer":"event",' "$1"
    printf '"n":10,"median":%s,"best":%s%s}]%s}' "$2" "$2" "$3" "$4"
}
sm='"time":9000,"sm_clock":1e9,"l2_clock":17e8,"dram_clock":32e8,"sys_clock":16e8,"sm_active_least":0'
sm=$sm',"sm_active_most":900,"sm_active":1800,"warps":4,"issue":25,"instructions":7,"blocks":2'
loads='"shared_loads":0,"global_loads":1000,"l1_sectors":1000,"l1_hits":5,"l2_sectors":995,"l2_hits":995'
memory='"dram_read":2048,"dram_write":0,"dram_busy":1,"l2_busy":70,"l1_busy":9'
memory=$memory',"memory_sm_elapsed":9000,"memory_sm_active":9000'
pipes='"tensor_busy":0,"fma_busy":3,"alu_busy":4,"fp64_busy":0,"xu_busy":0'
stalls='"stalled_long_scoreboard":300,"stalled_wait":100,"stalled_selected":50'
paths='"l2_out_busy":65,"l1_in_busy":50,"paths_sm_elapsed":9000,"paths_sm_active":9000'
how='"counters":{"status":"ok","chip":"GH100","set":"'$counters'","passes":1},'

if [ -z "$counters" ]; then
    case $name in
    nogpu) document skipped '"why":"no GPU: no driver: libcuda.so.1 was not found",' '' && exit 77 ;;
    failing) document failed '"why":"a check failed",' '' && echo "failing: check failed" >&2 && exit 1 ;;
    picky) echo "picky: --set $set: picky has no such parameter" >&2 && exit 2 ;;
    esac
    document ok '' "$(case_of level=l2 1000 '' '')"
    exit 0
fi
case $name:$counters in
refused:*)
    why='no counters: cuptiProfilerGetCounterAvailability: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)'
    document skipped "\"why\":\"$why\",\"counters\":{\"status\":\"refused\",\"why\":\"$why\"}," ''
    exit 77
    ;;
crash:*) kill -SEGV $$ ;;
*:launches)
    seen='"launches":{"kernels":200,"usable":150,"dropped":0,"call_ns":3000,"called_to_queued_ns":2000'
    seen=$seen',"queued_to_submitted_ns":3400,"submitted_to_started_ns":500,"started_to_ended_ns":600'
    seen=$seen',"start_to_next_start_ns":null},"passes":20'
    document ok '"counters":{"status":"ok"},' "$(case_of level=l2 1500 '' ",$seen")"
    ;;
*)
    case $counters in loads) work=2 ;; memory) work=3 ;; *) work=1 ;; esac # of a pass of this process
    document ok "$how" "$(case_of level=l2 1100 ",\"pass_value\":1100,\"pass_work\":$work" \
        ",\"counters\":{${!counters}},\"counters_least\":{${!counters}},\"counters_most\":{${!counters}},\"sweeps\":0,\"passes\":5")"
    ;;
esac
