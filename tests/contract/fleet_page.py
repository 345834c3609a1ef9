#!/usr/bin/env python3
"""fleet_page.py BUILD: the commands of docs/FLEET.md, word by word. `gpufloor run` is stood in for: it hands out
the bundle of the task's card; `sbatch` and `srun` start the tasks of an array or of nodes one after
the other, and the Kubernetes Job's command runs in a shell. `report --fleet` then finds the card that is
odd. tests/long/slurm.sh has the same under a real Slurm."""
import os
import re
import shutil
import sys
import tempfile

import fleet
from common import Checkout, ROOT, check, finish, read_text, script, write, write_text

PAGE = os.path.join(ROOT, "docs", "FLEET.md")
TASKS = 16
PROGRAMS = ("spin", "memory_latency", "barriers")


def blocks():
    """(the script, shell blocks after it, the Job) of the page."""
    text = read_text(PAGE)
    shell = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    return shell[0], shell[1:], re.search(r"^```yaml\n(.*?)^```$", text, re.M | re.S).group(1)


class Place(Checkout):
    """The folder in which the page's commands run; a run hands out the bundle of the task's card."""

    def __init__(self, folder):
        super().__init__(folder, """\
            echo "$*" >>runs
            while [ "$1" != -o ]; do shift; done
            [ ! -e "$2" ] || { echo "$2 exists" >&2; exit 2; }
            exec cp "queue/$TASK.json" "$2" """)
        # The array and its name are read from the script, as sbatch does.
        script(self.path("bin/sbatch"), """\
            [ "$1" = --wait ] && shift
            last=$(sed -n 's/^#SBATCH --array=0-//p' "$1")
            grep -q '^#SBATCH --gres=gpu:1$' "$1" || exit 1
            script=$1
            shift
            job=$(date +%N)
            for task in $(seq 0 "$last"); do
                TASK=$task SLURMD_NODENAME=node$((task / 8)) CUDA_VISIBLE_DEVICES=$((task % 8)) \\
                    SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$task bash "$script" "$@" || exit 1
            done""")
        script(self.path("bin/srun"), """\
            for option in --nodes=2 --ntasks-per-node=8 --gpus-per-task=1; do
                [ "$1" = "$option" ] || exit 1
                shift
            done
            for task in $(seq 0 15); do
                TASK=$task SLURMD_NODENAME=node$((task / 8)) SLURM_LOCALID=$((task % 8)) SLURM_JOB_ID=17 "$@" || exit 1
            done""")
        for task in range(TASKS):
            how = {"plant": fleet.slow_sm, "by": 1.1} if task == 11 else {}
            write(self.path("queue", f"{task}.json"), fleet.card(PROGRAMS, task + 1, **how))

    def files(self):
        return sorted(os.listdir(self.path("fleet"))) if os.path.isdir(self.path("fleet")) else []

    def clear(self):
        shutil.rmtree(self.path("fleet"))


def check_report(place, commands, what):
    done = place.shell(commands)
    check(done.returncode == 0 and f"1 of {TASKS} cards is odd: node1" in done.stdout and "(0000000c)" in done.stdout,
          f"{what}: the report finds the odd card", done.stdout + done.stderr)
    check("slower" in read_text(place.path("fleet.tsv")), f"{what}: and the table holds it")


def check_slurm(place, array, shell, report):
    write_text(place.path("fleet.sbatch"), array)
    quick, whole = shell[0].splitlines()
    done = place.shell(quick)
    names = place.files()
    check(done.returncode == 0 and len(names) == TASKS and all(re.match(r"node[01]-gpu[0-7]-\d+-\d+\.json$", n) for n in names),
          "the array writes a file a task, by node, GPU, job and task", f"{names}\n{done.stderr}")
    runs = read_text(place.path("runs")).splitlines()
    check(all("--require-gpu --quick -o" in run for run in runs), "the words after the script reach gpufloor run", str(runs[:2]))
    done = place.shell(whole)
    check(done.returncode == 0 and len(place.files()) == 2 * TASKS, "a second job writes beside the first", done.stderr)
    check_report(place, report, "two jobs of an array")
    place.clear()
    done = place.shell(shell[1])
    check(done.returncode == 0 and len(place.files()) == TASKS, "srun: a file a task", str(place.files()) + done.stderr)
    check_report(place, report, "srun")
    place.clear()


def check_kubernetes(place, job, report):
    for line in ("completionMode: Indexed", "completions: 16", "parallelism: 16", "restartPolicy: Never",
                 "limits: {nvidia.com/gpu: 1}", "- {name: fleet, mountPath: /fleet}", "command: [/bin/sh, -c]"):
        check(line in job, f"the Job has {line}")
    command = re.search(r"args:\n +- (.*)\n", job).group(1)
    local = command.replace("/gpufloor/", "./").replace('"/fleet/', '"fleet/')
    os.mkdir(place.path("fleet"))
    done = [place.shell(f"sh -c '{local}'", TASK=str(i), NODE=f"node{i // 8}", JOB_COMPLETION_INDEX=str(i))
            for i in range(TASKS)]
    check(all(one.returncode == 0 for one in done) and len(place.files()) == TASKS, "Kubernetes: a file a pod",
          str(place.files()) + done[0].stderr)
    check(place.shell(f"sh -c '{local}'", TASK="0", NODE="node0", JOB_COMPLETION_INDEX="0").returncode != 0,
          "and none is overwritten")
    check_report(place, report, "Kubernetes")


def main():
    array, shell, job = blocks()
    check(len(shell) == 3, "the page has its blocks", str(shell))
    with tempfile.TemporaryDirectory() as work:
        place = Place(os.path.join(work, "a checkout"))
        check_slurm(place, array, shell, shell[2])
        check_kubernetes(place, job, shell[2])
    return finish()


sys.exit(main())
