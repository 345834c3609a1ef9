"""Builds what the tests of this folder run: the programs, linked with a stand-in for the CUDA runtime
(stand_in.h) in place of the real one, beside a copy of gpufloor, a stand-in for blas.so and one for
libnvidia-ml. Nothing of it needs a GPU."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests"))
CUDA_HOME = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
CC = (os.environ.get("CC") or "cc").split()
C = CC + ["-std=c11", "-D_GNU_SOURCE", "-I.", "-Ibuild", "-isystem", os.path.join(CUDA_HOME, "include"), "-O1", "-g",
          "-Wall", "-Wextra", "-Wno-enum-float-conversion", "-Wno-cast-function-type"]


def call(command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr.strip():
        sys.exit(f"FAIL {' '.join(command)[:200]}\n{done.stderr[:2000]}\n0 passed, 1 failed")



def is_built(program, name):
    """Is it an object of a source that is there? Those of a source that has gone stay in a build folder."""
    source = re.sub(r"\.image\.o$", ".cu", name) if name.endswith(".image.o") else re.sub(r"\.o$", ".c", name)
    return name.endswith(".o") and os.path.exists(os.path.join(ROOT, program, source))


class StandIn:
    """A folder with bin/gpufloor, bin/FOLDER/NAME, bin/blas.so and nvml/libnvidia-ml.so.1."""

    def __init__(self, build, work):
        self.build, self.work = os.path.realpath(build), work
        for name in ("bin/probes", "bin/matmul", "bin/fused", "bin/links", "nvml"):
            os.makedirs(os.path.join(work, name))
        if not os.path.exists(os.path.join(build, "bin/probes/spin")):
            print("no CUDA toolkit, so there is no GPU probe")
            sys.exit(77)
        self.objects = []
        for name in ("inject", "kernels", "links", "nodes", "peers", "cudart"):
            self.objects.append(os.path.join(work, name + ".o"))
            call(C + ["-c", f"tests/faults/{name}.c", "-o", self.objects[-1]])
        call(C + ["-fPIC", "-shared", "-fvisibility=hidden", "tests/faults/blas.c", "tests/faults/inject.c", "-o",
                  os.path.join(work, "bin/blas.so")])
        call(C + ["-fPIC", "-shared", "-Wl,-soname,libnvidia-ml.so.1", "tests/faults/nvml.c", "-o",
                  os.path.join(work, "nvml/libnvidia-ml.so.1")])
        call(C + ["-fPIC", "-shared", "tests/faults/nccl.c", "-o", os.path.join(work, "libnccl.so.2")])
        call(["cp", os.path.join(self.build, "bin/nccl.so"), os.path.join(work, "bin/nccl.so")])
        call(["cp", os.path.join(self.build, "bin/gpufloor"), os.path.join(work, "bin/gpufloor")])

    def link(self, program, objects=None):
        """Links FOLDER/NAME; of `objects` in place of those of its folder. At fixed addresses, so that a place can be
        named. Returns its path."""
        folder, group = os.path.join(self.build, program), program.split("/", maxsplit=1)[0]
        common = [os.path.join(self.build, x, "common.a") for x in (group, *(["fused"] if group == "links" else []))]
        objects = objects or [os.path.join(folder, x) for x in sorted(os.listdir(folder)) if is_built(program, x)]
        path, core = os.path.join(self.work, "bin", program), os.path.join(self.build, "core.a")
        call(CC + ["-no-pie", "-o", path, *objects, *common, core, *self.objects, core, "-l:libjansson.a", "-lm", "-ldl", "-lpthread"])
        return path

    def link_every(self):
        """The probe of this folder, which makes each call of core/gpu.h."""
        made = os.path.join(self.work, "every.o")
        call(C + ["-c", "tests/faults/every.c", "-o", made])
        return self.link("probes/every", [made])

    def link_operator(self):
        """The probe of this folder that times one operator of fused/."""
        made = os.path.join(self.work, "operator.o")
        call(C + ["-c", "tests/faults/operator.c", "-o", made])
        return self.link("fused/operator", [made])

    def link_ranks(self):
        """The probe of this folder with a process for each GPU."""
        made = os.path.join(self.work, "ranks.o")
        call(C + ["-c", "tests/faults/ranks.c", "-o", made])
        return self.link("links/ranks", [made])

    def environment(self, **more):
        """Of a process: no variable of another test, the stand-in for NVML found first."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FAULT", "NVML_", "CUDA_", "NCCL_"))}
        kept["GPUFLOOR_NCCL"] = os.path.join(self.work, "libnccl.so.2")
        kept["LD_LIBRARY_PATH"] = os.path.join(self.work, "nvml")
        kept["CUDA_MPS_PIPE_DIRECTORY"] = os.path.join(self.work, "no_mps")
        return {**kept, **{k: str(v) for k, v in more.items()}}
