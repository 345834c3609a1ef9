"""Does for peers what core/gpu.c and core/gpu_launch.c do for a probe in C: finds a GPU, captures
graphs, times a piece of work between two events and reads the SM clock around it. It uses torch and
triton, which are imported when a Gpu is made."""
import ctypes
import math
import os
import time
import warnings

import peers_core as core

HOLD_NS, HOLD_MOST_NS, EVENT_PAIRS = 200000, 5000000, 64


class Gpu:
    """torch, triton, and how a piece of work is timed: as gpu_replay_ns() of core/gpu_launch.c."""

    def __init__(self, run):
        os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # paths in a cubin would change its hash
        try:
            import torch
            import triton
            import triton.testing
            import peers_stamp
        except Exception as error:  # a broken installation raises more than ImportError
            raise core.Leave(core.SKIPPED, "needs torch and triton in this python3: "
                             + core.first_line(error))
        self.torch, self.triton, self.stamping = torch, triton, peers_stamp
        run.environment["peers"].update(torch=torch.__version__, triton=triton.__version__,
                                        cuda=str(torch.version.cuda))
        self.find(run)
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.stamps = torch.zeros((2, self.n_sm, 2), dtype=torch.int64, device="cuda")
        self.seen = torch.zeros(self.n_sm, dtype=torch.int32, device="cuda")
        self.hold_ns, self.watched, self.late, self.timed = HOLD_NS, None, 0, 0
        self.warm_up()
        run.ticks["event"] = self.event_tick_ns()

    def find(self, run):
        """Exits with 77 if torch has no such GPU."""
        torch, device = self.torch, run.options.device
        warnings.simplefilter("ignore")  # about an old driver: the reason below says it better
        if not torch.cuda.is_available():
            raise core.Leave(core.SKIPPED, f"no GPU: torch {torch.__version__} finds none")
        if device >= torch.cuda.device_count():
            raise core.Leave(core.SKIPPED, f"no GPU: no device: --device {device}: this machine "
                             f"has {torch.cuda.device_count()}, numbered from 0")
        torch.cuda.set_device(device)
        facts = torch.cuda.get_device_properties(device)
        self.cc = 10 * facts.major + facts.minor
        self.n_sm, self.l2_bytes = facts.multi_processor_count, facts.L2_cache_size
        run.steady_mhz = getattr(facts, "clock_rate", 0) / 1e3  # else the greatest that is seen
        if self.cc < run.probe["min_cc"]:
            raise core.Leave(core.SKIPPED, "needs compute capability 8.0, this GPU has "
                             f"{facts.major}.{facts.minor}")
        if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
            raise core.Leave(core.SKIPPED, f"needs torch 2.8 or newer, this is {torch.__version__}")

    def warm_up(self):
        """An idle GPU lowers its clock: runs some 25 ms of products."""
        x = self.torch.randn((4096, 4096), dtype=self.torch.float16, device="cuda")
        for _ in range(100):
            self.torch.matmul(x, x)
        self.torch.cuda.synchronize()

    def event_tick_ns(self):
        """The least step between the times of empty pairs of events."""
        seen = sorted(self.elapsed_ns(lambda: None) for _ in range(EVENT_PAIRS))
        steps = [b - a for a, b in zip(seen, seen[1:]) if b - a > 0.5]
        return min(steps) if steps else 32.0

    def elapsed_ns(self, work):
        self.start.record()
        work()
        self.stop.record()
        self.torch.cuda.synchronize()
        return self.start.elapsed_time(self.stop) * 1e6

    def stamp(self, which, hold_ns):
        self.stamping.stamp[(self.n_sm,)](self.stamps[which], hold_ns, num_warps=1)

    def timed_ns(self, run, work):
        """ns of `work` between two events, the SM clock read around it."""
        began = time.perf_counter_ns()
        self.stamp(0, self.hold_ns)

        self.start.record()
        work()
        self.stop.record()

        self.watch(run, time.perf_counter_ns() - began)
        self.stamp(1, 0)
        self.torch.cuda.synchronize()
        first, last = self.stamps.tolist()
        mhz = [1e3 * (c1 - c0) / (t1 - t0)
               for (c0, t0), (c1, t1) in zip(first, last) if t1 > t0 > 0]
        if not mhz:
            raise core.Leave(core.FAILED, "harness: no SM shows two moments of its clock")
        run.clock(core.median(sorted(mhz)))
        return self.start.elapsed_time(self.stop) * 1e6

    def watch(self, run, queued_ns):
        """Records as a fact of the case: was everything queued before the stream was released?
        Where it was not, the case's next pieces hold the stream for twice as long as that took."""
        if run.keys != self.watched:
            self.hold_ns, self.watched, self.late, self.timed = HOLD_NS, run.keys, 0, 0
        self.late, self.timed = self.late + (queued_ns > self.hold_ns), self.timed + 1
        if queued_ns > self.hold_ns:
            self.hold_ns = min(2 * queued_ns, HOLD_MOST_NS)
        if run.keys:
            run.fact("queued_late", f"{self.late} of {self.timed}")

    @staticmethod
    def abandon(graph):
        """Ends a capture that has failed: nothing could use the stream otherwise."""
        try:
            graph.capture_end()
        except RuntimeError:
            pass  # what is wrong is being raised already

    def graph(self, work):
        """A graph of what `work` launches, replayed once."""
        graph = self.torch.cuda.CUDAGraph(keep_graph=True)
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        except BaseException:
            self.abandon(graph)
            raise
        graph.capture_end()
        graph.instantiate()
        graph.replay()
        self.torch.cuda.synchronize()
        return graph


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h."""
    _fields_ = [("func", ctypes.c_void_p), ("grid", ctypes.c_uint * 3),
                ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("params", ctypes.c_void_p), ("extra", ctypes.c_void_p),
                ("kern", ctypes.c_void_p), ("ctx", ctypes.c_void_p)]


def kernels_of(graph):
    """(name of the first kernel, its blocks, its threads, kernels in all) of a captured graph, as
    gpu_graph_first_kernel() of core/gpu_launch.c reads them."""
    driver, n = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t()
    handle = ctypes.c_void_p(graph.raw_cuda_graph())
    driver.cuGraphGetNodes(handle, None, ctypes.byref(n))
    nodes = (ctypes.c_void_p * n.value)()
    driver.cuGraphGetNodes(handle, nodes, ctypes.byref(n))
    found = []
    for node in nodes:
        kind = ctypes.c_int(-1)
        driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))
        if kind.value == 0:  # CU_GRAPH_NODE_TYPE_KERNEL
            found.append(ctypes.c_void_p(node))
    one, name = KernelNode(), ctypes.c_char_p()
    if not found or driver.cuGraphKernelNodeGetParams_v2(found[0], ctypes.byref(one)):
        raise core.Leave(core.FAILED, "harness: the graph of a product shows no kernel")
    kern, func = ctypes.c_void_p(one.kern), ctypes.c_void_p(one.func)
    if not (kern and driver.cuKernelGetName(ctypes.byref(name), kern) == 0):
        driver.cuFuncGetName(ctypes.byref(name), func)
    return ((name.value or b"?").decode("ascii", "replace"), math.prod(one.grid),
            math.prod(one.block), len(found))
