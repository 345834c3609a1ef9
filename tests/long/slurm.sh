#!/bin/bash
# slurm.sh BUILD: the Slurm commands of docs/FLEET.md under a real Slurm: one node, munge, slurmctld and
# slurmd in the foreground on 127.0.0.1, all of it in a temporary folder, with files that stand for GPUs.
# An array of host programs is measured; then recorded bundles are handed out, one a task, and
# `report --fleet` finds the card that is odd. Leaves with 77 and the reason where Slurm cannot run.
set -u
build=$(realpath "${1:?usage: slurm.sh BUILD}")
root=$(realpath "$(dirname "$0")/../..")
PATH=$PATH:/usr/sbin:/sbin
cards=8
passed=0 failed=0
work=

leave() {
    echo "$1"
    exit 77
}

for program in munged slurmctld slurmd sbatch srun scontrol sinfo; do
    command -v $program >/dev/null || leave "no $program: make test-long installs slurm-wlm and munge, as root"
done
[ "$(id -u)" = 0 ] || leave "slurmd starts tasks as root only"

daemons=()
finish() {
    local pid
    for pid in "${daemons[@]}"; do
        kill "$pid" 2>/dev/null
    done
    for pid in "${daemons[@]}"; do
        for _ in $(seq 50); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    [ -z "$work" ] || rm -rf "$work"
}
trap finish EXIT
work=$(mktemp -d) || exit 1
chmod 755 "$work" # munge trusts no socket in a closed folder

ok() { # ok STATUS WHAT: of the last command
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        echo "ok   $2"
    else
        failed=$((failed + 1))
        echo "FAIL $2"
        tail -n 12 "$work/out" 2>/dev/null | sed 's/^/    /'
    fi
}

# --- the daemons -------------------------------------------------------------------------------------

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

host=$(hostname -s)
mkdir "$work/state" "$work/spool" "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 600 "$work/munge/key"
for ((i = 0; i < cards; i++)); do ln -s /dev/null "$work/gpu$i"; done
echo "Name=gpu File=$work/gpu[0-$((cards - 1))]" >"$work/gres.conf"
echo "CgroupAutomount=no" >"$work/cgroup.conf"
cat >"$work/slurm.conf" <<END
ClusterName=gpufloor
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
ReturnToService=2
SlurmdParameters=config_overrides
MailProg=/bin/true
KillWait=5
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cards Gres=gpu:$cards State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
export SLURM_CONF=$work/slurm.conf

start() { # start NAME COMMAND...: in the background, with its own log
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    daemons+=($!)
}

# wait_for SECONDS COMMAND...
wait_for() {
    local tries=$(($1 * 5))
    shift
    while ! "$@" >"$work/out" 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.2
    done
}

is_idle() {
    [ "$(sinfo -h -o %T)" = idle ]
}

start munged munged --foreground --force --socket="$work/munge/socket" --key-file="$work/munge/key" \
    --pid-file="$work/munge/pid" --seed-file="$work/munge/seed" --log-file="$work/munge/log"
wait_for 10 test -S "$work/munge/socket" ||
    leave "munged does not start here: $(tail -n 1 "$work/munged.log" | cut -c1-150)"
start slurmctld slurmctld -D -i -f "$SLURM_CONF"
# A machine may have fewer processors than cards: with config_overrides the configured number counts.
start slurmd slurmd -D -N "$host" -f "$SLURM_CONF"
wait_for 30 is_idle ||
    leave "Slurm does not start here: $(grep -h -e fatal -e 'error:' "$work"/slurmd.log "$work"/slurmctld.log |
        grep -v -i -e pmi -e state | sort | head -n 2 | tr '\n' ';' | cut -c1-250)"

# --- the page's commands ------------------------------------------------------------------------------

block() { # block N: the page's N-th block of shell
    awk -v n="$1" '/^```sh$/ { k++; inside = k == n; next } /^```$/ { inside = 0 } inside' "$root/docs/FLEET.md"
}

checkout="$work/a checkout"
mkdir "$checkout"
ln -s "$build" "$checkout/build"
cd "$checkout" || exit 1
block 1 | sed "s/^#SBATCH --array=0-15$/#SBATCH --array=0-$((cards - 1))/" >fleet.sbatch
grep -q "array=0-$((cards - 1))" fleet.sbatch
ok $? "the page has its array"

# Host programs: no GPU is here, so that --require-gpu would refuse.
timeout 100 sbatch --wait fleet.sbatch --rounds=1 null >"$work/out" 2>&1
ok $? "sbatch: an array of host programs ends well"
n=$(find fleet -name '*.json' | wc -l)
[ "$n" = "$cards" ]
ok $? "it wrote $n of $cards bundles"
[ "$(find fleet -name "$host-gpu*.json" | sed 's/.*-gpu\([0-9]*\)-.*/\1/' | sort -u | wc -l)" = "$cards" ]
ok $? "each task had a GPU of its own"
"$build/bin/gpufloor" report --fleet fleet >"$work/out" 2>&1
[ $? = 2 ] && grep -q 'no GPU was measured' "$work/out"
ok $? "report --fleet says that no GPU was measured"
timeout 60 sbatch --wait fleet.sbatch --require-gpu --rounds=1 null >"$work/out" 2>&1
[ $? = 1 ]
ok $? "--require-gpu: the job fails where there is none"

# Recorded bundles: the fifth card has a slow SM.
rm -r fleet build
mkdir -p build/bin queue
(cd "$root/tests/contract" && python3 - "$build" "$checkout/queue" "$cards") <<'END' || exit 1
import json, sys
folder, cards = sys.argv[2], int(sys.argv[3])
sys.path.insert(0, ".")
import fleet
for i in range(cards):
    how = {"plant": fleet.slow_sm, "by": 1.1} if i == 4 else {}
    with open(f"{folder}/{i}.json", "w", encoding="utf-8") as file:
        json.dump(fleet.card(("spin", "memory_latency", "barriers"), i + 1, **how), file)
END
cat >build/bin/gpufloor <<END
#!/bin/bash
[ "\$1" = run ] || exec "$build/bin/gpufloor" "\$@"
while [ "\$1" != -o ]; do shift; done
[ ! -e "\$2" ] || exit 2
exec cp "queue/\$CUDA_VISIBLE_DEVICES.json" "\$2"
END
chmod +x build/bin/gpufloor

report() { # report WHAT: what lies in fleet/
    bash -e -c "$(block 4)" >"$work/out" 2>&1 &&
        grep -q "1 of $cards cards is odd: .*(00000005)" "$work/out" && [ -s fleet.tsv ]
    ok $? "$1: report --fleet finds the odd card"
    rm -rf fleet
}

block 2 >commands
timeout 100 bash -e commands >"$work/out" 2>&1
ok $? "sbatch: the page's two lines end well"
n=$(find fleet -name '*.json' | wc -l)
[ "$n" = $((2 * cards)) ]
ok $? "they wrote $n of $((2 * cards)) bundles"
report sbatch

block 3 | sed "s/--nodes=2 --ntasks-per-node=8/--nodes=1 --ntasks-per-node=$cards/" >commands
timeout 60 bash -e commands >"$work/out" 2>&1
ok $? "srun: the page's line ends well"
report srun

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
